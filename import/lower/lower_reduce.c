/* Lowers reductions and windows. The graph's start at their identity: another start comes after. */
#include "import/lower/lower_impl.h"

/* the elementwise operation that combines two results of this kind */
static enum graph_op combining(enum graph_reduce kind)
{
    switch (kind) {
    case REDUCE_MAX: return HLO_MAXIMUM;
    case REDUCE_MIN: return HLO_MINIMUM;
    case REDUCE_MUL: return HLO_MULTIPLY;
    case REDUCE_AND: return HLO_AND;
    case REDUCE_OR: return HLO_OR;
    default: return HLO_ADD;
    }
}

/* a constant that changes nothing; of maxima the lowest number is as good as minus infinity */
static bool is_identity(const struct lower_scope *s, int node, enum graph_reduce kind)
{
    const struct graph_node *n = &s->g->node[node];

    if (n->op != HLO_CONSTANT || n->literal)
        return false;
    return n->value == graph_identity(kind, n->shape.dtype);
}

static int combine_start(struct lower_scope *s, enum graph_reduce kind, int node, int start)
{
    struct graph_node spread = {.op = HLO_BROADCAST, .shape = s->g->node[node].shape};

    if (is_identity(s, start, kind))
        return node;
    if (spread.shape.rank > 0)
        start = lower_add(s, &spread, &start, 1);
    return lower_add(s, &(struct graph_node){.op = combining(kind)}, (int[]){node, start}, 2);
}

static int all_start(struct lower_scope *s, const struct hlo_type *t, int start)
{
    struct graph_node spread = {.op = HLO_BROADCAST, .shape = lower_shape(s, t)};

    return spread.shape.rank ? lower_add(s, &spread, &start, 1) : start;
}

/* values and their places: the place by a kind of its own, the value by the usual one */
static void reduce_extreme(struct lower_scope *s, const struct hlo_instruction *i, uint32_t mask)
{
    enum hlo_direction direction = HLO_GT;
    struct graph_node value = {.op = HLO_REDUCE, .reduce_mask = mask}, place = value;
    int a = lower_operand(s, 0), result[2];

    if (!structure_extreme(s->l->module, hlo_detail(i)->computation[0], &direction)) {
        lower_refuse(s, "a reduction of %d arrays by this computation", i->operand_count / 2);
        return;
    }
    value.reduce_kind = direction == HLO_GT ? REDUCE_MAX : REDUCE_MIN;
    place.reduce_kind = direction == HLO_GT ? REDUCE_ARGMAX : REDUCE_ARGMIN;
    result[0] = lower_add(s, &value, &a, 1);
    result[1] = lower_add(s, &place, &a, 1);
    lower_set_leaves(s, 2, result);
}

void lower_reduce(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    enum hlo_opcode combines = structure_combines(s->l->module, hlo_detail(i)->computation[0], 0);
    struct graph_node n = {.op = (enum graph_op)op};
    int a = lower_operand(s, 0), start = lower_operand(s, 1);

    for (int d = 0; d < hlo_detail(i)->dims.count; d++)
        n.reduce_mask |= 1u << (hlo_detail(i)->dims.item[d] & 31);
    if (i->operand_count == 4) {
        reduce_extreme(s, i, n.reduce_mask);
        return;
    }
    if (i->operand_count != 2 || combines == OPCODE_PARAMETER ||
        !lower_reduce_kind(combines, i->type->element == ELEMENT_PRED, &n.reduce_kind)) {
        lower_refuse(s, "a reduction by this computation");
        return;
    }
    if (start == NODE_NONE || a == NODE_NONE) {
        lower_set(s, all_start(s, i->type, start));
        return;
    }
    if (hlo_detail(i)->dims.count == 0)
        lower_set(s, combine_start(s, n.reduce_kind, a, start));
    else
        lower_set(s, combine_start(s, n.reduce_kind, lower_add(s, &n, &a, 1), start));
}

void lower_reduce_window(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    enum hlo_opcode combines = structure_combines(s->l->module, hlo_detail(i)->computation[0], 0);
    struct graph_node n = {.op = (enum graph_op)op, .window = lower_windows(s, i)};
    int a = lower_operand(s, 0), start = lower_operand(s, 1);

    if (i->operand_count != 2 || combines == OPCODE_PARAMETER ||
        !lower_reduce_kind(combines, i->type->element == ELEMENT_PRED, &n.reduce_kind)) {
        lower_refuse(s, "a window with this computation");
        return;
    }
    if (a == NODE_NONE)
        lower_set(s, all_start(s, i->type, start));
    else
        lower_set(s, combine_start(s, n.reduce_kind, lower_add(s, &n, &a, 1), start));
}

void lower_select_and_scatter(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .window = lower_windows(s, i)};
    int operand[2] = {lower_operand(s, 0), lower_operand(s, 1)};
    enum hlo_direction direction;

    if (!structure_selects(s->l->module, hlo_detail(i)->computation[0], &direction) ||
        structure_combines(s->l->module, hlo_detail(i)->computation[1], 0) != OPCODE_ADD) {
        lower_refuse(s, "a window with these computations");
        return;
    }
    n.direction = direction == HLO_GE ? COMPARE_GE : COMPARE_LE;
    lower_set(s, combine_start(s, REDUCE_ADD, lower_add(s, &n, operand, 2),
                               lower_operand(s, 2)));
}
