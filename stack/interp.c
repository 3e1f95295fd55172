#include "stack/interp.h"

#include "stack/interp_ops.h"

#include <cblas.h>
#include <string.h>

/*
 * Values of nodes live in slots that are used again once their last reader has
 * run: fresh memory is slow to touch the first time.
 */
struct slot {
    void *data;
    size_t bytes;
    bool is_free;
};

struct interp {
    const struct graph *g;
    enum interp_dot dot;
    bool is_wide;
    void **value;                       /* by node */
    int *slot_of;                       /* by node; -1: a parameter's */
    int *last_use;                      /* by node: the last reader, or node_count for outputs */
    struct slot *slot;
    size_t slot_count, slot_capacity;
    struct interp_room room[2];
};

static int run_graph(const struct graph *g, enum interp_dot dot, void *const *input,
                     void *const *output, struct err *e);

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

    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slot[i].is_free && in->slot[i].bytes >= bytes &&
            (best < 0 || in->slot[i].bytes < in->slot[best].bytes))
            best = (int)i;
    if (best < 0) {
        in->slot = mem_grow(in->slot, &in->slot_capacity, in->slot_count + 1, sizeof(*in->slot));
        best = (int)in->slot_count++;
        in->slot[best] = (struct slot){.data = mem_alloc(bytes), .bytes = bytes};
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

static void *part_of(const struct interp *in, const struct graph_node *tuple, void *value,
                     int part)
{
    char *at = value;

    for (int i = 0; i < part; i++)
        at += interp_part_bytes(in->is_wide, &tuple->tuple[i]);
    return at;
}

static void run_tuple(const struct interp *in, const struct graph_node *n, void *to)
{
    const struct graph_node *a = &in->g->node[n->operand[0]];

    if (n->op == HLO_GET_TUPLE_ELEMENT) {
        memcpy(to, part_of(in, a, in->value[n->operand[0]], n->dim),
               shape_bytes(in, &n->shape));
        return;
    }
    for (int i = 0; i < n->operand_count; i++)
        memcpy(part_of(in, n, to, i), in->value[n->operand[i]], shape_bytes(in, &n->tuple[i]));
}

static int run_loop(const struct interp *in, const struct graph_node *n, void *const *input,
                    void *const *output, struct err *e)
{
    size_t count = (size_t)n->operand_count;
    void **state = mem_alloc(count * sizeof(*state));
    int result = 0;

    for (size_t i = 0; i < count; i++) {
        const struct shape *s = &in->g->node[n->operand[i]].shape;

        state[i] = mem_alloc(shape_bytes(in, s));
        memcpy(output[i], input[i], shape_bytes(in, s));
    }
    for (int64_t trip = 0; trip < n->count && result == 0; trip++) {
        for (size_t i = 0; i < count; i++)
            memcpy(state[i], output[i], shape_bytes(in, &in->g->node[n->operand[i]].shape));
        result = run_graph(n->called[0], in->dot, state, output, e);
    }
    for (size_t i = 0; i < count; i++)
        mem_free(state[i]);
    mem_free(state);
    return result;
}

static int run_call(const struct interp *in, const struct graph_node *n, void *to, struct err *e)
{
    size_t results = n->tuple_count ? (size_t)n->tuple_count : 1;
    void **input = mem_alloc(((size_t)n->operand_count + 1) * sizeof(*input));
    void **output = mem_alloc(results * sizeof(*output));
    int result;

    for (int i = 0; i < n->operand_count; i++)
        input[i] = in->value[n->operand[i]];
    for (size_t i = 0; i < results; i++)
        output[i] = part_of(in, n, to, (int)i);
    result = n->op == HLO_WHILE ? run_loop(in, n, input, output, e)
                                : run_graph(n->called[0], in->dot, input, output, e);
    mem_free(input);
    mem_free(output);
    return result;
}

static int run_node(struct interp *in, const struct graph_node *n, void *to, struct err *e)
{
    struct interp_call c = {.g = in->g, .n = n, .value = in->value, .to = to,
                            .room = in->room, .is_wide = in->is_wide,
                            .rounds_dots = in->dot == INTERP_DOT_BF16};

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
    case KIND_TUPLE: run_tuple(in, n, to); break;
    case KIND_CALL: return run_call(in, n, to, e);
    case KIND_COLLECTIVE:               /* one replica has it all */
        for (int i = 0; i < n->operand_count; i++)
            memcpy(part_of(in, n, to, i), in->value[n->operand[i]],
                   shape_bytes(in, call_shape(&c, i)));
        break;
    }
    return 0;
}

static int run_all(struct interp *in, void *const *input, struct err *e)
{
    const struct graph *g = in->g;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        in->slot_of[i] = -1;
        if (n->op == HLO_PARAMETER) {
            in->value[i] = input[n->parameter_index];
            continue;
        }
        in->slot_of[i] = take_slot(in, value_bytes(in, n));
        in->value[i] = in->slot[in->slot_of[i]].data;
        if (run_node(in, n, in->value[i], e) != 0)
            return -1;
        release(in, i, i);              /* nobody reads it */
        for (int k = 0; k < n->operand_count; k++)
            release(in, n->operand[k], i);
    }
    return 0;
}

/* outputs go to arrays of the caller's, which are not the inputs */
static int run_graph(const struct graph *g, enum interp_dot dot, void *const *input,
                     void *const *output, struct err *e)
{
    size_t count = (size_t)g->node_count;
    struct interp in = {.g = g, .dot = dot, .is_wide = dot == INTERP_WIDE};
    int result;

    in.value = mem_alloc(count * sizeof(*in.value));
    in.slot_of = mem_alloc(count * sizeof(*in.slot_of));
    in.last_use = mem_alloc(count * sizeof(*in.last_use));
    find_last_uses(&in);
    result = run_all(&in, input, e);
    for (int i = 0; i < g->output_count && result == 0; i++)
        memcpy(output[i], in.value[g->output[i].node],
               shape_bytes(&in, &g->node[g->output[i].node].shape));
    for (size_t i = 0; i < in.slot_count; i++)
        mem_free(in.slot[i].data);
    for (int i = 0; i < 2; i++)
        mem_free(in.room[i].data);
    mem_free(in.slot);
    mem_free(in.value);
    mem_free(in.slot_of);
    mem_free(in.last_use);
    return result;
}

int interp_run(const struct graph *g, enum interp_dot dot, const struct interp_value *input,
               struct interp_value *output, struct arena *a, struct err *e)
{
    void **in = mem_alloc(((size_t)g->parameter_count + 1) * sizeof(*in));
    void **out = mem_alloc(((size_t)g->output_count + 1) * sizeof(*out));
    int result;

    openblas_set_num_threads(1);        /* the same bits on every run */
    for (int i = 0; i < g->parameter_count; i++)
        in[i] = input[i].data;
    for (int i = 0; i < g->output_count; i++) {
        const struct shape *s = &g->node[g->output[i].node].shape;

        out[i] = arena_alloc(a, (size_t)shape_elems(s) *
                                    interp_elem_bytes(dot == INTERP_WIDE, s->dtype));
        output[i].data = out[i];
    }
    result = run_graph(g, dot, in, out, e);
    mem_free(in);
    mem_free(out);
    return result;
}
