/*
 * How arrays lie at the entry of a program, where XLA gives them a compact layout: the order of
 * dimensions in which they are padded least. [tokens, heads, 64] of bf16 is as much padding as
 * elements row-major, and none with tokens along lanes.
 *
 * That holds for what only moves read or make, whose kernels take any order, as long as they stream
 * then, too; other kernels have their arrays row-major. A transpose that alone reads a parameter
 * costs nothing where the parameter lies as it has it. What a kernel of Pallas reads or makes is
 * copied from or to such an array, as XLA does it.
 *
 * Tiles of narrow types have 8 rows on a TPU, or fewer where there are no more, and 16 or 32 here: an
 * array of 8 heads of bf16 is padded here alone. Where a transpose before a kernel of Pallas reads it, a
 * TPU moves its elements. Here it lies as the transpose has it, and is copied.
 */
#include "stack/module/module_impl.h"

#include "base/units.h"
#include "stack/hlo/bitcast.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/move/kernel_move.h"
#include "stack/kernels/registry.h"

#include <string.h>

enum { FAR_TIMES = 2, SLOWER_TIMES_MAX = 2, COMPACT_BYTES_MIN = 1 << 20 };

/* row-major, but the last two dimensions are these */
static void order_with(int rank, int row, int lane, int *minor_first)
{
    int at = rank;

    for (int d = 0; d < rank; d++)
        if (d != row && d != lane)
            minor_first[--at] = d;
    minor_first[1] = row;
    minor_first[0] = lane;
}

static int64_t bytes_in_order(const struct shape *s, const int *minor_first)
{
    struct array a;

    array_init(&a, "", s, minor_first);
    return a.bytes;
}

/* The least bytes, and the order that has them; of equal ones that which leaves most in place. */
static int64_t compact_order(const struct shape *s, int *best)
{
    int order[GRAPH_RANK_MAX];
    int64_t least, bytes;

    order_with(s->rank, s->rank - 2, s->rank - 1, best);
    least = bytes_in_order(s, best);
    for (int lane = s->rank - 1; lane >= 0; lane--)
        for (int row = s->rank - 1; row >= 0; row--) {
            if (row == lane)
                continue;
            order_with(s->rank, row, lane, order);
            bytes = bytes_in_order(s, order);
            if (bytes < least) {
                least = bytes;
                memcpy(best, order, sizeof(order));
            }
        }
    return least;
}

/* mostly padding row-major, and not in another order */
static bool is_far(const struct shape *s)
{
    int order[GRAPH_RANK_MAX];

    return s->rank >= 2 && bytes_in_order(s, NULL) >= FAR_TIMES * compact_order(s, order);
}

static bool is_move(const struct graph *g, const struct graph_node *n)
{
    const struct shape *from = n->operand_count ? &g->node[n->operand[0]].shape : NULL;

    if (n->op == HLO_FUSION)
        return kernel_kind_of(n->called[0]) == &kernel_move;
    if (n->op == HLO_RESHAPE)
        return !array_is_bitcast(from, &n->shape) && (is_far(from) || is_far(&n->shape));
    return n->op == HLO_TRANSPOSE || n->op == HLO_COPY;
}

/*
 * The dimension of the operand that each of the node's is, where it only puts them into another
 * order: a transpose, or a reshape in which sizes of 1 change places. False: it does more.
 */
static bool find_dims(const struct graph *g, const struct graph_node *n, int *dims)
{
    const struct shape *from = &g->node[n->operand[0]].shape;
    int next[2] = {0, 0};               /* of the operand, larger than 1 and not */

    if (n->op == HLO_TRANSPOSE) {
        memcpy(dims, n->dims, (size_t)n->shape.rank * sizeof(*dims));
        return true;
    }
    if (n->op != HLO_RESHAPE || from->rank != n->shape.rank)
        return false;
    for (int d = 0; d < n->shape.rank; d++) {
        bool is_one = n->shape.dim[d] == 1;
        int *at = &next[is_one];

        while (*at < from->rank && (from->dim[*at] == 1) != is_one)
            ++*at;
        if (*at == from->rank || from->dim[*at] != n->shape.dim[d])
            return false;
        dims[d] = (*at)++;
    }
    return true;
}

/* bytes of a row-major array in tiles of 8 rows, or of 1, 2, 4 where there are no more */
static int64_t bytes_in_small_tiles(const struct shape *s)
{
    int64_t rows = s->dim[s->rank - 2], tile = 1, count = array_element_bytes(s->dtype);

    while (tile < rows && tile < 8)
        tile *= 2;
    for (int d = 0; d < s->rank - 2; d++)
        count *= s->dim[d];
    return count * round_up(rows, tile) * round_up(s->dim[s->rank - 1], 128);
}

/* a kernel that the program brings, which has its arrays row-major and nothing else */
static bool is_brought(const struct graph_node *n) { return n->op == HLO_MOSAIC; }

/* the arrays of the entry that are this module's to lay out */
static bool is_ours(const struct module_settings *s, const struct graph_node *n)
{
    return n->shape.rank >= 2 && !s->kept && !s->is_entry_given &&
           !(s->place && n->op == HLO_PARAMETER && s->place[n->parameter_index] >= 0);
}

static bool is_output(const struct graph *g, int node)
{
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == node)
            return true;
    return false;
}

static bool is_given_back(const struct graph *g, int parameter)
{
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == parameter ||
            g->output[i].alias_parameter == g->node[parameter].parameter_index)
            return true;
    return false;
}

/* a reshape that leaves out sizes of 1 in front of all others: so many; 0: it is none */
static int ones_left_out(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    const struct shape *from;
    int count;

    if (n->op != HLO_RESHAPE)
        return 0;
    from = &g->node[n->operand[0]].shape;
    count = from->rank - n->shape.rank;
    if (count < 1 || n->shape.rank < 2)
        return 0;
    for (int d = 0; d < from->rank; d++)
        if (from->dim[d] != (d < count ? 1 : n->shape.dim[d - count]))
            return 0;
    return count;
}

/*
 * How many read the node, also through a reshape that leaves out ones, and the last of them; -1: one
 * that is no move does, too.
 */
static int count_moves(const struct graph *g, int node, int *reader)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++) {
            int through;

            if (g->node[i].operand[k] != node)
                continue;
            through = ones_left_out(g, i) && !is_output(g, i) ? count_moves(g, i, reader) : 0;
            if (through < 0 || (!through && !is_move(g, &g->node[i])))
                return -1;
            if (!through)
                *reader = i;
            count += through ? through : 1;
        }
    return count;
}

/* the order of the reader's operand in which it is row-major, in dimensions of the parameter */
static void order_of_reader(const struct graph *g, int reader, int parameter, int *minor_first)
{
    const struct graph_node *n = &g->node[reader];
    int ones = g->node[parameter].shape.rank - n->shape.rank, dims[GRAPH_RANK_MAX];

    find_dims(g, n, dims);
    for (int i = 0; i < n->shape.rank; i++)
        minor_first[i] = dims[n->shape.rank - 1 - i] + ones;
    for (int d = 0; d < ones; d++)
        minor_first[n->shape.rank + d] = ones - 1 - d;
}

/* the parameter that the node is, or names */
static int parameter_of(const struct graph *g, int node)
{
    return ones_left_out(g, node) ? g->node[node].operand[0] : node;
}

int module_entry_reader(const struct module_settings *s, const struct graph *g, int node)
{
    int parameter = parameter_of(g, node), reader = -1, order[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX];
    const struct graph_node *n = &g->node[parameter];
    struct array plain;
    int64_t turned, compact;

    if (n->op != HLO_PARAMETER || !is_ours(s, n) || count_moves(g, parameter, &reader) != 1 ||
        !find_dims(g, &g->node[reader], dims) || is_given_back(g, parameter) ||
        is_output(g, reader))
        return -1;
    array_init(&plain, n->name, &n->shape, NULL);
    turned = bytes_in_order(&g->node[reader].shape, NULL);
    compact = plain.bytes < COMPACT_BYTES_MIN ? turned : compact_order(&n->shape, order);
    if (plain.bytes >= 2 * array_payload_bytes(&plain))
        return turned <= plain.bytes && turned < FAR_TIMES * compact ? reader : -1;
    return turned == compact && compact < plain.bytes ? reader : -1;
}

/* those that read the node are kernels that the program brings, all of them */
static bool is_for_brought(const struct graph *g, int node)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        if (graph_dims_have(g->node[i].operand, g->node[i].operand_count, node)) {
            if (!is_brought(&g->node[i]))
                return false;
            count++;
        }
    return count > 0 && !is_output(g, node);
}

bool module_entry_moves(const struct graph *g, int reader)
{
    const struct shape *s = &g->node[g->node[reader].operand[0]].shape;

    return g->node[reader].op == HLO_TRANSPOSE && array_element_bytes(s->dtype) < 4 &&
           is_for_brought(g, reader) &&
           bytes_in_small_tiles(s) <= bytes_in_order(&g->node[reader].shape, NULL);
}

/* the compact order where it is less than row-major */
static bool takes_compact(const struct shape *s, int *order)
{
    int64_t plain = bytes_in_order(s, NULL);

    return plain >= COMPACT_BYTES_MIN && compact_order(s, order) < plain;
}

/* of the move that streams from arrays that lie so to such a result; INT64_MAX: none does */
static int64_t body_cycles(const struct module_plan *p, const struct graph *body,
                         const struct array *const *operand, int count, const struct array *result)
{
    const struct module_settings *s = p->settings;
    struct kernel_job job = {.chip = s->chip, .codegen = s->codegen, .name = "", .source = "",
                             .body = body, .operand = operand, .operand_count = count,
                             .result = &result, .result_count = 1, .core_count = 1,
                             .vmem_rows = module_plan_scoped_bytes(s) / ARRAY_ROW_BYTES,
                             .flag_count = 2 * PIPELINE_WINDOW_MAX};

    return move_stream.cost(&job);
}

/*
 * The move reads `from`, or all of its operands as they lie, and makes `to`, or a row-major array, in
 * not many times what it takes between row-major ones: a reshape may split what then lies along lanes.
 */
static bool streams(const struct module_plan *p, const struct graph *g, int move, int operand,
                    const struct array *from, const struct array *to)
{
    const struct graph_node *n = &g->node[move];
    const struct graph *body = n->called[0];
    const struct array **list;
    struct array *plain, result;
    int64_t cycles, usual;
    struct arena a;

    arena_init(&a);
    if (n->op != HLO_FUSION) {
        struct graph *alone = kernel_body_of(g, move, &a);

        graph_freeze(alone);            /* its nodes end with the arena */
        body = alone;
    }
    list = arena_array(&a, (size_t)n->operand_count, sizeof(*list));
    plain = arena_array(&a, (size_t)n->operand_count, sizeof(*plain));
    for (int i = 0; i < n->operand_count; i++) {
        array_init(&plain[i], "", &body->node[body->parameter[i]].shape, NULL);
        list[i] = !from ? &p->node[n->operand[i]]->array : n->operand[i] == operand ? from : &plain[i];
    }
    array_init(&result, "", &n->shape, NULL);
    cycles = body_cycles(p, body, list, n->operand_count, to ? to : &result);
    for (int i = 0; i < n->operand_count; i++)
        list[i] = &plain[i];
    usual = body_cycles(p, body, list, n->operand_count, &result);
    arena_fini(&a);
    return cycles < INT64_MAX && cycles / SLOWER_TIMES_MAX <= usual;
}

/* a copy of an array that lies like this to one that lies like that */
static bool copy_streams(const struct module_plan *p, const struct array *from, const struct array *to)
{
    struct graph body;
    struct arena a;
    bool is_fine;

    arena_init(&a);
    module_copy_body(&body, &from->shape, &a);
    is_fine = body_cycles(p, &body, &from, 1, to) < INT64_MAX;
    arena_fini(&a);
    return is_fine;
}

/* an array of what a reshape leaves of this one without its ones in front */
static void rename_array(const struct array *from, int ones, const struct shape *shape, struct array *to)
{
    int order[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < from->shape.rank; i++)
        if (from->order[i] >= ones)
            order[count++] = from->order[i] - ones;
    array_init(to, to->name, shape, order);
}

/* all moves that read the node, where it lies as `array` */
static bool readers_stream(const struct module_plan *p, const struct graph *g, int node,
                           const struct array *array)
{
    for (int i = 0; i < g->node_count; i++) {
        int ones = ones_left_out(g, i);

        if (!graph_dims_have(g->node[i].operand, g->node[i].operand_count, node))
            continue;
        if (ones && !is_output(g, i)) {
            struct array renamed = {.name = array->name};

            rename_array(array, ones, &g->node[i].shape, &renamed);
            if (!readers_stream(p, g, i, &renamed))
                return false;
        } else if (!streams(p, g, i, node, array, NULL)) {
            return false;
        }
    }
    return true;
}

/* of an array that such a kernel has row-major: it lies at the entry in this order, or another */
static bool is_turned_at_entry(const struct module_plan *p, const struct graph_node *n, int *order,
                               bool is_result)
{
    struct array compact, plain;

    if (!is_ours(p->settings, n) || !takes_compact(&n->shape, order))
        return false;
    array_init(&compact, n->name, &n->shape, order);
    array_init(&plain, n->name, &n->shape, NULL);
    return is_result ? copy_streams(p, &plain, &compact) : copy_streams(p, &compact, &plain);
}

static void lay_out(struct module_plan *p, struct module_value *v, const int *order)
{
    struct shape shape = v->array.shape;

    array_init(&v->array, v->array.name, &shape, order);
    p->buffer[v->buffer].bytes = v->array.bytes;
}

void module_lay_out_parameter(struct module_plan *p, const struct graph *g, int parameter)
{
    const struct graph_node *n = &g->node[parameter];
    int reader = module_entry_reader(p->settings, g, parameter), order[GRAPH_RANK_MAX];

    if (reader >= 0) {
        order_of_reader(g, reader, parameter, order);
    } else {
        struct array compact;

        if (!is_ours(p->settings, n) || is_given_back(g, parameter) ||
            count_moves(g, parameter, &reader) < 1 || !takes_compact(&n->shape, order))
            return;
        array_init(&compact, n->name, &n->shape, order);
        if (!readers_stream(p, g, parameter, &compact))
            return;
    }
    lay_out(p, p->parameter[n->parameter_index], order);
}

void module_lay_out_renamed(struct module_plan *p, const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    int ones = ones_left_out(g, node);

    if (ones)
        rename_array(&p->node[n->operand[0]]->array, ones, &n->shape, &p->node[node]->array);
}

void module_lay_out_result(struct module_plan *p, const struct graph *g, int output)
{
    int node = g->output[output].node, reader, order[GRAPH_RANK_MAX];
    const struct graph_node *n = &g->node[node];
    struct array compact;

    if (!is_ours(p->settings, n) || !is_move(g, n) || g->output[output].alias_parameter >= 0 ||
        count_moves(g, node, &reader) != 0 || !takes_compact(&n->shape, order))
        return;
    array_init(&compact, n->name, &n->shape, order);
    if (streams(p, g, node, NODE_NONE, NULL, &compact))
        lay_out(p, p->output[output], order);
}

struct module_value *module_copy_parameter(struct module_plan *p, const struct graph *g, int parameter)
{
    const struct graph_node *n = &g->node[parameter];
    struct module_value *own = p->parameter[n->parameter_index], *copy;
    int order[GRAPH_RANK_MAX];

    if (is_given_back(g, parameter) || !is_for_brought(g, parameter) ||
        !is_turned_at_entry(p, n, order, false))
        return own;
    lay_out(p, own, order);
    copy = module_plan_new_value(p, n->name, &n->shape, BUFFER_TEMPORARY, -1);
    module_plan_add_copy(p, own, copy);
    return copy;
}

struct module_value *module_copy_result(struct module_plan *p, const struct graph *g, int output)
{
    const struct graph_node *n = &g->node[g->output[output].node];
    const struct graph_node *maker = n->op == HLO_GET_TUPLE_ELEMENT ? &g->node[n->operand[0]] : n;
    struct module_value *made = p->node[g->output[output].node], *own;
    int order[GRAPH_RANK_MAX];

    if (!is_brought(maker) || g->output[output].alias_parameter >= 0 ||
        !is_turned_at_entry(p, n, order, true))
        return NULL;
    own = module_plan_new_value(p, g->output[output].name, &n->shape, BUFFER_OUTPUT, -1);
    lay_out(p, own, order);
    module_plan_add_copy(p, made, own);
    return own;
}
