/* Lowers operations that move elements by computed places, and sorts. */
#include "import/lower/lower_impl.h"

#include "stack/hlo/graph_shape.h"

/* scalars of s32 or u32 behind the first `arrays` operands; other integers are converted */
static int *operands_and_starts(struct lower_scope *s, int arrays)
{
    int count = s->now->operand_count, *operand = arena_array(s->l->arena, (size_t)count + 1,
                                                              sizeof(*operand));

    for (int i = 0; i < count; i++) {
        operand[i] = lower_operand(s, i);
        if (i >= arrays && operand[i] != NODE_NONE &&
            s->g->node[operand[i]].shape.dtype != DTYPE_U32)
            operand[i] = graph_convert(s->g, operand[i], DTYPE_S32);
    }
    return operand;
}

void lower_dynamic_slice(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op};

    if (hlo_detail(i)->sizes.count > GRAPH_RANK_MAX) {
        lower_refuse(s, "%d dimensions are more than %d", hlo_detail(i)->sizes.count,
                     GRAPH_RANK_MAX);
        return;
    }
    for (int d = 0; d < hlo_detail(i)->sizes.count; d++)
        n.sizes[d] = hlo_detail(i)->sizes.item[d];
    lower_set(s, lower_add(s, &n, operands_and_starts(s, 1), i->operand_count));
}

/* an update without elements changes nothing */
void lower_dynamic_update_slice(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    if (lower_operand(s, 1) == NODE_NONE)
        lower_set(s, lower_operand(s, 0));
    else
        lower_set(s, lower_add(s, &(struct graph_node){.op = (enum graph_op)op},
                               operands_and_starts(s, 2), i->operand_count));
}

static int copy_list(struct hlo_ints from, int *to)
{
    for (int i = 0; i < from.count && i < GRAPH_RANK_MAX; i++)
        to[i] = (int)from.item[i];
    return from.count;
}

static bool has_room(const struct hlo_gather *d)
{
    return d->offset_dims.count <= GRAPH_RANK_MAX && d->collapsed_dims.count <= GRAPH_RANK_MAX &&
           d->start_index_map.count <= GRAPH_RANK_MAX &&
           d->operand_batching.count <= GRAPH_RANK_MAX &&
           d->indices_batching.count <= GRAPH_RANK_MAX;
}

static const struct graph_gather *numbers_of(struct lower_scope *s, const struct hlo_gather *d,
                                             struct hlo_ints sizes)
{
    struct graph_gather *g = arena_alloc(s->l->arena, sizeof(*g));

    if (!has_room(d) || sizes.count > GRAPH_RANK_MAX) {
        lower_refuse(s, "more than %d dimensions", GRAPH_RANK_MAX);
        return NULL;
    }
    g->offset_count = copy_list(d->offset_dims, g->offset_dims);
    g->collapsed_count = copy_list(d->collapsed_dims, g->collapsed_dims);
    g->map_count = copy_list(d->start_index_map, g->start_index_map);
    g->batching_count = copy_list(d->operand_batching, g->operand_batching);
    copy_list(d->indices_batching, g->indices_batching);
    g->index_vector_dim = (int)d->index_vector_dim;
    for (int i = 0; i < sizes.count; i++)
        g->slice_sizes[i] = sizes.item[i];
    return g;
}

void lower_gather(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct graph_gather *g = numbers_of(s, hlo_detail(i)->gather, hlo_detail(i)->sizes);

    if (g)
        lower_set(s, lower_add_operands(s, &(struct graph_node){.op = (enum graph_op)op,
                                                                .gather = g}));
}

/* a kind from the operation of two scalars; false: the graph has none */
bool lower_reduce_kind(enum hlo_opcode op, bool is_pred, enum graph_reduce *kind)
{
    static const struct { enum hlo_opcode op; enum graph_reduce kind, of_pred; } kinds[] = {
        {OPCODE_ADD, REDUCE_ADD, REDUCE_OR}, {OPCODE_MAXIMUM, REDUCE_MAX, REDUCE_OR},
        {OPCODE_MINIMUM, REDUCE_MIN, REDUCE_AND}, {OPCODE_MULTIPLY, REDUCE_MUL, REDUCE_AND},
        {OPCODE_AND, REDUCE_AND, REDUCE_AND}, {OPCODE_OR, REDUCE_OR, REDUCE_OR},
        {OPCODE_PARAMETER, REDUCE_REPLACE, REDUCE_REPLACE}};

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if (kinds[k].op == op) {
            *kind = is_pred ? kinds[k].of_pred : kinds[k].kind;
            return true;
        }
    return false;
}

void lower_scatter(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct graph_gather *g = numbers_of(s, hlo_detail(i)->gather, (struct hlo_ints){0});
    struct graph_node n = {.op = (enum graph_op)op, .gather = g};
    enum hlo_opcode combines = structure_combines(s->l->module, hlo_detail(i)->computation[0], 0);

    if (!g)
        return;
    if (i->operand_count != 3 ||
        !lower_reduce_kind(combines, i->type->element == ELEMENT_PRED, &n.reduce_kind)) {
        lower_refuse(s, "a scatter with this computation");
        return;
    }
    if (lower_operand(s, 1) == NODE_NONE || lower_operand(s, 2) == NODE_NONE)
        lower_set(s, lower_operand(s, 0));
    else
        lower_set(s, lower_add_operands(s, &n));
}

/* the only result, or each of them */
void lower_set_results(struct lower_scope *s, int node, int count)
{
    int *result;

    if (s->g->node[node].tuple_count == 0) {
        lower_set(s, node);
        return;
    }
    result = mem_alloc((size_t)count * sizeof(*result));
    for (int k = 0; k < count; k++)
        result[k] = graph_tuple_element(s->g, node, k);
    lower_set_leaves(s, count, result);
    mem_free(result);
}

void lower_sort(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .dim = (int)hlo_detail(i)->dims.item[0]};
    enum hlo_direction direction;

    if (!structure_sorts(s->l->module, hlo_detail(i)->computation[0], &direction)) {
        lower_refuse(s, "a sort with this comparison");
        return;
    }
    n.direction = direction == HLO_LT ? COMPARE_LT : COMPARE_GT;
    lower_set_results(s, lower_add_operands(s, &n), i->operand_count);
}

void lower_topk(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .count = i->index};

    lower_set_results(s, lower_add_operands(s, &n), 2);
}
