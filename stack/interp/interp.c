/*
 * Evaluates a graph node by node for all devices, with values in slots that are freed after their
 * last reader.
 */
#include "stack/interp/interp.h"

#include "stack/interp/interp_ops.h"

#include <cblas.h>
#include <string.h>

/*
 * Values of nodes live in slots that are used again once their last reader has
 * run: fresh memory is slow to touch the first time. A slot has room for all devices.
 */
struct slot {
    char *data;
    size_t bytes;                       /* of one device */
    bool is_free;
};

struct interp {
    const struct graph *g;
    enum interp_dot dot;
    bool is_wide;
    int device_count;
    void ***value;                      /* by device, by node */
    int *slot_of;                       /* by node; -1: a parameter's */
    int *last_use;                      /* by node: the last reader, or node_count for outputs */
    struct slot *slot;
    size_t slot_count, slot_capacity;
    struct interp_room room[2];
    const struct interp_trip *trip;     /* the innermost loop around this graph, or NULL */
};

/* inputs and outputs by device, by number */
static int run_graph(const struct graph *g, const struct interp *like, void *const *const *input,
                     void *const *const *output, struct err *e);

void *interp_room_of(struct interp_room *r, size_t bytes)
{
    if (r->bytes < bytes) {
        mem_free(r->data);
        *r = (struct interp_room){mem_alloc(bytes), bytes};
    }
    return r->data;
}

static int take_slot(struct interp *in, size_t bytes)
{
    int best = -1;

    bytes = (bytes + 63) / 64 * 64;
    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slot[i].is_free && in->slot[i].bytes >= bytes &&
            (best < 0 || in->slot[i].bytes < in->slot[best].bytes))
            best = (int)i;
    if (best < 0) {
        in->slot = mem_grow(in->slot, &in->slot_capacity, in->slot_count + 1, sizeof(*in->slot));
        best = (int)in->slot_count++;
        in->slot[best] = (struct slot){
            .data = mem_alloc(bytes * (size_t)in->device_count), .bytes = bytes};
    }
    in->slot[best].is_free = false;
    return best;
}

static void find_last_uses(struct interp *in)
{
    const struct graph *g = in->g;

    for (int i = 0; i < g->node_count; i++) {
        in->last_use[i] = i;
        for (int k = 0; k < g->node[i].operand_count; k++)
            in->last_use[g->node[i].operand[k]] = i;
    }
    for (int i = 0; i < g->output_count; i++)
        in->last_use[g->output[i].node] = g->node_count;
}

static void release(struct interp *in, int node, int reader)
{
    if (in->last_use[node] == reader && in->slot_of[node] >= 0)
        in->slot[in->slot_of[node]].is_free = true;
}

static size_t shape_bytes(const struct interp *in, const struct shape *s)
{
    return (size_t)shape_elems(s) * interp_elem_bytes(in->is_wide, s->dtype);
}

/* of the value, or of all parts of a tuple */
static size_t value_bytes(const struct interp *in, const struct graph_node *n)
{
    size_t bytes = 0;

    if (n->tuple_count == 0)
        return shape_bytes(in, &n->shape);
    for (int i = 0; i < n->tuple_count; i++)
        bytes += interp_part_bytes(in->is_wide, &n->tuple[i]);
    return bytes;
}

static void run_tuple(const struct interp *in, const struct graph_node *n, void *const *value,
                      void *to)
{
    const struct graph_node *a = &in->g->node[n->operand[0]];

    if (n->op == HLO_GET_TUPLE_ELEMENT) {
        memcpy(to, interp_part(in->is_wide, a, value[n->operand[0]], n->dim),
               shape_bytes(in, &n->shape));
        return;
    }
    for (int i = 0; i < n->operand_count; i++)
        memcpy(interp_part(in->is_wide, n, to, i), value[n->operand[i]],
               shape_bytes(in, &n->tuple[i]));
}

/* ---- calls, of all devices at once ---- */

/* `count` pointers of each device */
static void ***make_table(const struct interp *in, int count)
{
    void ***table = mem_alloc((size_t)in->device_count * sizeof(*table));

    for (int d = 0; d < in->device_count; d++)
        table[d] = mem_alloc(((size_t)count + 1) * sizeof(**table));
    return table;
}

static void free_table(const struct interp *in, void ***table)
{
    for (int d = 0; d < in->device_count; d++)
        mem_free(table[d]);
    mem_free(table);
}

static void copy_state(const struct interp *in, const struct graph_node *n, int device,
                       void *const *const *from, void *const *const *to)
{
    for (int i = 0; i < n->operand_count; i++)
        memcpy(to[device][i], from[device][i],
               shape_bytes(in, &in->g->node[n->operand[i]].shape));
}

/* where devices go different ways, what they do together has no meaning: -1 */
static int check_ways(const struct interp *in, const struct graph_node *n, const int32_t *way,
                      struct err *e)
{
    for (int d = 1; d < in->device_count; d++)
        if ((way[d] != 0) != (way[0] != 0) &&
            (graph_has_collective(n->called[0]) || graph_has_collective(n->called[1])))
            return err_set(e, "%s: devices 0 and %d go different ways, and there are collectives "
                           "on one of them", n->name, d);
    return 0;
}

/* which devices go on, and whether any does */
static int run_condition(const struct interp *in, const struct graph_node *n,
                         void *const *const *state, int32_t *goes_on, bool *any, struct err *e)
{
    void ***output = make_table(in, 1);
    int result;

    for (int d = 0; d < in->device_count; d++)
        output[d][0] = &goes_on[d];
    result = run_graph(n->called[1], in, state, (void *const *const *)output, e);
    *any = false;
    for (int d = 0; d < in->device_count; d++)
        *any |= goes_on[d] != 0;
    free_table(in, output);
    return result;
}

/* `output` is the state; a device that does not go on keeps what it has */
static int run_trips(const struct interp *around, const struct graph_node *n,
                     void *const *const *output, void *const *const *before,
                     void *const *const *after, int32_t *goes_on, struct err *e)
{
    bool has_condition = n->count == GRAPH_TRIPS_UNKNOWN;
    struct interp_trip trip = {.outer = around->trip};
    struct interp inside = *around, *in = &inside;

    inside.trip = &trip;
    for (; has_condition || trip.done < n->count; trip.done++) {
        bool any = true, all = true;

        for (int d = 0; d < in->device_count; d++)
            goes_on[d] = 1;
        if (has_condition && (run_condition(in, n, output, goes_on, &any, e) ||
                              check_ways(in, n, goes_on, e)))
            return -1;
        if (!any)
            return 0;
        for (int d = 0; d < in->device_count; d++) {
            copy_state(in, n, d, output, before);
            all &= goes_on[d] != 0;
        }
        if (run_graph(n->called[0], in, before, all ? output : after, e))
            return -1;
        for (int d = 0; d < in->device_count && !all; d++)
            if (goes_on[d])
                copy_state(in, n, d, after, output);
    }
    return 0;
}

static void ***make_state(const struct interp *in, const struct graph_node *n)
{
    void ***state = make_table(in, n->operand_count);

    for (int d = 0; d < in->device_count; d++)
        for (int i = 0; i < n->operand_count; i++)
            state[d][i] = mem_alloc(shape_bytes(in, &in->g->node[n->operand[i]].shape));
    return state;
}

static void free_state(const struct interp *in, const struct graph_node *n, void ***state)
{
    for (int d = 0; d < in->device_count; d++)
        for (int i = 0; i < n->operand_count; i++)
            mem_free(state[d][i]);
    free_table(in, state);
}

static int run_loop(const struct interp *in, const struct graph_node *n,
                    void *const *const *input, void *const *const *output, struct err *e)
{
    void ***before = make_state(in, n), ***after = make_state(in, n);
    int32_t *goes_on = mem_alloc((size_t)in->device_count * sizeof(*goes_on));
    int result;

    for (int d = 0; d < in->device_count; d++)
        copy_state(in, n, d, input, output);
    result = run_trips(in, n, output, (void *const *const *)before, (void *const *const *)after,
                       goes_on, e);
    mem_free(goes_on);
    free_state(in, n, before);
    free_state(in, n, after);
    return result;
}

/* all devices run each branch that one of them takes; what the others make there goes nowhere */
static int run_branches(const struct interp *in, const struct graph_node *n,
                        const int32_t *is_true, void *const *const *input,
                        void *const *const *output, struct err *e)
{
    int results = n->tuple_count ? n->tuple_count : 1, status = 0;
    void ***to = make_table(in, results);

    for (int which = 0; which < 2 && status == 0; which++) {
        char **unused = mem_alloc((size_t)in->device_count * sizeof(*unused));
        bool any = false;

        for (int d = 0; d < in->device_count; d++) {
            bool is_taken = (is_true[d] != 0) == (which == 0);

            any |= is_taken;
            unused[d] = mem_alloc(value_bytes(in, n));
            for (int i = 0; i < results; i++)
                to[d][i] = is_taken ? output[d][i] : interp_part(in->is_wide, n, unused[d], i);
        }
        if (any)
            status = run_graph(n->called[which], in, input, (void *const *const *)to, e);
        for (int d = 0; d < in->device_count; d++)
            mem_free(unused[d]);
        mem_free(unused);
    }
    free_table(in, to);
    return status;
}

static int run_conditional(const struct interp *in, const struct graph_node *n,
                           void *const *const *input, void *const *const *output, struct err *e)
{
    int32_t *is_true = mem_alloc((size_t)in->device_count * sizeof(*is_true));
    void ***arguments = make_table(in, n->operand_count);
    int status;

    for (int d = 0; d < in->device_count; d++) {
        is_true[d] = *(const int32_t *)input[d][0];
        for (int i = 1; i < n->operand_count; i++)
            arguments[d][i - 1] = input[d][i];
    }
    status = check_ways(in, n, is_true, e);
    if (status == 0)
        status = run_branches(in, n, is_true, (void *const *const *)arguments, output, e);
    mem_free(is_true);
    free_table(in, arguments);
    return status;
}

static int run_call(const struct interp *in, const struct graph_node *n, int node, struct err *e)
{
    int results = n->tuple_count ? n->tuple_count : 1, result;
    void ***input = make_table(in, n->operand_count), ***output = make_table(in, results);
    void *const *const *from = (void *const *const *)input;
    void *const *const *to = (void *const *const *)output;

    for (int d = 0; d < in->device_count; d++) {
        for (int i = 0; i < n->operand_count; i++)
            input[d][i] = in->value[d][n->operand[i]];
        for (int i = 0; i < results; i++)
            output[d][i] = interp_part(in->is_wide, n, in->value[d][node], i);
    }
    result = n->op == HLO_MOSAIC        ? interp_mosaic(n, in->is_wide, in->device_count, from, to, e)
             : n->op == HLO_WHILE       ? run_loop(in, n, from, to, e)
             : n->op == HLO_CONDITIONAL ? run_conditional(in, n, from, to, e)
                                        : run_graph(n->called[0], in, from, to, e);
    free_table(in, input);
    free_table(in, output);
    return result;
}

/* ---- nodes ---- */

static int run_node(struct interp *in, const struct graph_node *n, int device, void *to,
                    struct err *e)
{
    struct interp_call c = {.g = in->g, .n = n, .value = in->value[device], .to = to,
                            .room = in->room, .is_wide = in->is_wide, .device = device,
                            .trip = in->trip, .rounds_dots = in->dot == INTERP_DOT_BF16};

    if (n->operand_count > 0)
        c.type = call_shape(&c, 0)->dtype;
    switch (graph_op_kind(n->op)) {
    case KIND_SOURCE: interp_source(&c); break;
    case KIND_UNARY:
    case KIND_BINARY:
    case KIND_OTHER: interp_elementwise(&c); break;
    case KIND_SHAPE: interp_move(&c); break;
    case KIND_DOT: return interp_dot(&c, e);
    case KIND_CONV: return interp_convolution(&c, e);
    case KIND_REDUCE: interp_reduce(&c); break;
    case KIND_WINDOW: interp_window(&c); break;
    case KIND_INDEX: interp_index(&c); break;
    case KIND_SORT: interp_sort(&c); break;
    case KIND_TUPLE: run_tuple(in, n, c.value, to); break;
    case KIND_CALL:
    case KIND_COLLECTIVE: break;        /* of all devices at once: run_everywhere */
    case KIND_MESSAGE:
        return err_set(e, "%s: the interpreter runs one program; a %s is between several", n->name,
                       graph_op_name(n->op));
    }
    return 0;
}

static int run_everywhere(struct interp *in, int node, struct err *e)
{
    const struct graph_node *n = &in->g->node[node];
    struct interp_devices all = {.g = in->g, .n = n, .node = node, .is_wide = in->is_wide,
                                 .device_count = in->device_count,
                                 .value = (void *const *const *)in->value};

    if (graph_op_kind(n->op) == KIND_CALL)
        return run_call(in, n, node, e);
    if (graph_op_kind(n->op) == KIND_COLLECTIVE) {
        interp_collective(&all);
        return 0;
    }
    for (int d = 0; d < in->device_count; d++)
        if (run_node(in, n, d, in->value[d][node], e) != 0)
            return -1;
    return 0;
}

static void place_value(struct interp *in, int node)
{
    const struct slot *s;

    in->slot_of[node] = take_slot(in, value_bytes(in, &in->g->node[node]));
    s = &in->slot[in->slot_of[node]];
    for (int d = 0; d < in->device_count; d++)
        in->value[d][node] = s->data + (size_t)d * s->bytes;
}

static int run_all(struct interp *in, void *const *const *input, struct err *e)
{
    const struct graph *g = in->g;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        in->slot_of[i] = -1;
        if (n->op == HLO_PARAMETER) {
            for (int d = 0; d < in->device_count; d++)
                in->value[d][i] = input[d][n->parameter_index];
            continue;
        }
        place_value(in, i);
        if (run_everywhere(in, i, e) != 0)
            return -1;
        release(in, i, i);              /* nobody reads it */
        for (int k = 0; k < n->operand_count; k++)
            release(in, n->operand[k], i);
    }
    return 0;
}

static void copy_outputs(const struct interp *in, void *const *const *output)
{
    const struct graph *g = in->g;

    for (int d = 0; d < in->device_count; d++)
        for (int i = 0; i < g->output_count; i++)
            memcpy(output[d][i], in->value[d][g->output[i].node],
                   shape_bytes(in, &g->node[g->output[i].node].shape));
}

/* outputs go to arrays of the caller's, which are not the inputs */
static int run_graph(const struct graph *g, const struct interp *like, void *const *const *input,
                     void *const *const *output, struct err *e)
{
    size_t count = (size_t)g->node_count;
    struct interp in = {.g = g, .dot = like->dot, .is_wide = like->is_wide,
                        .device_count = like->device_count, .trip = like->trip};
    int result;

    in.value = make_table(&in, g->node_count);
    in.slot_of = mem_alloc(count * sizeof(*in.slot_of));
    in.last_use = mem_alloc(count * sizeof(*in.last_use));
    find_last_uses(&in);
    result = run_all(&in, input, e);
    if (result == 0)
        copy_outputs(&in, output);
    for (size_t i = 0; i < in.slot_count; i++)
        mem_free(in.slot[i].data);
    for (int i = 0; i < 2; i++)
        mem_free(in.room[i].data);
    mem_free(in.slot);
    free_table(&in, in.value);
    mem_free(in.slot_of);
    mem_free(in.last_use);
    return result;
}

int interp_run_devices(const struct graph *g, enum interp_dot dot, int device_count,
                       const struct interp_value *const *input, struct interp_value *const *output,
                       struct arena *a, struct err *e)
{
    struct interp like = {.dot = dot, .is_wide = dot == INTERP_WIDE, .device_count = device_count};
    void ***in, ***out;
    int result;

    if (graph_check_devices(g, device_count, e))
        return -1;
    openblas_set_num_threads(1);        /* the same bits on every run */
    in = make_table(&like, g->parameter_count);
    out = make_table(&like, g->output_count);
    for (int d = 0; d < device_count; d++) {
        for (int i = 0; i < g->parameter_count; i++)
            in[d][i] = input[d][i].data;
        for (int i = 0; i < g->output_count; i++) {
            const struct shape *s = &g->node[g->output[i].node].shape;

            out[d][i] = output[d][i].data = arena_alloc(a, shape_bytes(&like, s));
        }
    }
    result = run_graph(g, &like, (void *const *const *)in, (void *const *const *)out, e);
    free_table(&like, in);
    free_table(&like, out);
    return result;
}

int interp_run(const struct graph *g, enum interp_dot dot, const struct interp_value *input,
               struct interp_value *output, struct arena *a, struct err *e)
{
    return interp_run_devices(g, dot, 1, &input, &output, a, e);
}
