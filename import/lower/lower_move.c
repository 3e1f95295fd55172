/* Lowers operations that move elements by a fixed rule. */
#include "import/lower/lower_impl.h"

#include <string.h>

static bool has_rank(struct lower_scope *s, int rank)
{
    if (rank <= GRAPH_RANK_MAX)
        return true;
    lower_refuse(s, "%d dimensions are more than %d", rank, GRAPH_RANK_MAX);
    return false;
}

/* dimensions that do not rise are put in order by a transposition first */
void lower_broadcast(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .shape = lower_shape(s, i->type)};
    int a = lower_operand(s, 0), order[GRAPH_RANK_MAX], rank = hlo_detail(i)->dims.count;
    bool is_rising = true;

    if (!has_rank(s, rank))
        return;
    for (int d = 0; d < rank; d++) {
        int at = d;

        is_rising =
            is_rising && (d == 0 || hlo_detail(i)->dims.item[d] > hlo_detail(i)->dims.item[d - 1]);
        for (; at > 0 && hlo_detail(i)->dims.item[order[at - 1]] > hlo_detail(i)->dims.item[d];
             at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    for (int d = 0; d < rank; d++)
        n.dims[d] = (int)hlo_detail(i)->dims.item[order[d]];
    if (!is_rising && a != NODE_NONE) {
        struct graph_node t = {.op = HLO_TRANSPOSE};

        memcpy(t.dims, order, (size_t)rank * sizeof(*order));
        a = lower_add(s, &t, &a, 1);
    }
    lower_set(s, lower_add(s, &n, &a, 1));
}

static int reshaped(struct lower_scope *s, int a, struct shape shape)
{
    if (a != NODE_NONE && shape_equal(&s->g->node[a].shape, &shape))
        return a;
    return lower_add(s, &(struct graph_node){.op = HLO_RESHAPE, .shape = shape}, &a, 1);
}

void lower_reshape(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    (void)op;
    lower_set(s, reshaped(s, lower_operand(s, 0), lower_shape(s, i->type)));
}

/* the same bytes: the operand as it lies, taken apart as the result lies */
void lower_bitcast(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct hlo_type *from = s->c->instruction[i->operand[0]].type;
    struct graph_node lie = {.op = HLO_TRANSPOSE}, stand = {.op = HLO_TRANSPOSE};
    struct shape shape = lower_shape(s, i->type), flat = shape;
    int a = lower_operand(s, 0), order[GRAPH_RANK_MAX];

    (void)op;
    if (!has_rank(s, from->rank) || !has_rank(s, i->type->rank))
        return;
    if (from->element != i->type->element) {
        lower_refuse(s, "bytes of %s taken for %s", hlo_element_name(from->element),
                     hlo_element_name(i->type->element));
        return;
    }
    if (!hlo_type_physical_order(from, lie.dims))
        a = lower_add(s, &lie, &a, 1);
    if (hlo_type_physical_order(i->type, order)) {
        lower_set(s, reshaped(s, a, shape));
        return;
    }
    for (int k = 0; k < shape.rank; k++) {
        flat.dim[k] = shape.dim[order[k]];
        stand.dims[order[k]] = k;
    }
    a = reshaped(s, a, flat);
    lower_set(s, lower_add(s, &stand, &a, 1));
}

void lower_transpose(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op};

    if (!has_rank(s, hlo_detail(i)->dims.count))
        return;
    for (int d = 0; d < hlo_detail(i)->dims.count; d++)
        n.dims[d] = (int)hlo_detail(i)->dims.item[d];
    lower_set(s, lower_add_operands(s, &n));
}

void lower_reverse(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .dim = hlo_detail(i)->dims.count};

    if (!has_rank(s, hlo_detail(i)->dims.count))
        return;
    for (int d = 0; d < hlo_detail(i)->dims.count; d++)
        n.dims[d] = (int)hlo_detail(i)->dims.item[d];
    lower_set(s, hlo_detail(i)->dims.count ? lower_add_operands(s, &n) : lower_operand(s, 0));
}

void lower_concatenate(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .dim = (int)hlo_detail(i)->dims.item[0]};
    int count = 0, *operand = mem_alloc((size_t)i->operand_count * sizeof(*operand));

    for (int k = 0; k < i->operand_count; k++)
        if (lower_operand(s, k) != NODE_NONE)
            operand[count++] = lower_operand(s, k);
    lower_set(s, count == 1 ? operand[0] : lower_add(s, &n, operand, count));
    mem_free(operand);
}

void lower_slice(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op};

    if (!has_rank(s, i->type->rank))
        return;
    for (int d = 0; d < i->type->rank; d++) {
        n.start[d] = hlo_detail(i)->start.item[d];
        n.limit[d] = hlo_detail(i)->limit.item[d];
        n.stride[d] = hlo_detail(i)->stride.count ? hlo_detail(i)->stride.item[d] : 1;
    }
    lower_set(s, lower_add_operands(s, &n));
}

/* where nothing is left of the operand, the result is all padding */
void lower_pad(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op};
    struct graph_node spread = {.op = HLO_BROADCAST, .shape = lower_shape(s, i->type)};

    if (!has_rank(s, i->type->rank))
        return;
    if (lower_operand(s, 0) == NODE_NONE) {
        lower_set(s, lower_add(s, &spread, (int[]){lower_operand(s, 1)}, 1));
        return;
    }
    for (int d = 0; d < i->type->rank; d++) {
        n.low[d] = hlo_detail(i)->low.item[d];
        n.high[d] = hlo_detail(i)->high.item[d];
        n.interior[d] = hlo_detail(i)->interior.count ? hlo_detail(i)->interior.item[d] : 0;
    }
    lower_set(s, lower_add_operands(s, &n));
}

void lower_tuple(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    int count = hlo_type_leaves(i->type), n = 0;
    int *node = mem_alloc(((size_t)count + 1) * sizeof(*node));

    (void)op;
    for (int k = 0; k < i->operand_count; k++) {
        const struct lower_value *v = lower_leaves(s, k);

        for (int l = 0; l < v->count && n < count; l++)
            node[n++] = v->node[l];
    }
    lower_set_leaves(s, n, node);
    mem_free(node);
}

void lower_tuple_element(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct hlo_type *t = s->c->instruction[i->operand[0]].type;
    int first = 0;

    (void)op;
    for (int k = 0; k < i->index; k++)
        first += hlo_type_leaves(&t->part[k]);
    lower_set_leaves(s, hlo_type_leaves(i->type), lower_leaves(s, 0)->node + first);
}

void lower_token(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    (void)i;
    (void)op;
    lower_set(s, NODE_NONE);
}
