/* Data of a bounded size that moves: sizes go where their dimensions go. */
#include "import/types/sized.h"

static int constant(struct hlo_builder *b, int64_t value)
{
    return ar_scalar(b, ELEMENT_S32, value);
}

static int at_least_zero(struct hlo_builder *b, int x) { return ar_max(b, x, constant(b, 0)); }

static void no_sizes(struct sized *v)
{
    for (int d = 0; d < SIZED_RANK_MAX; d++)
        v->size[d] = -1;
}

/* a size like this one, ends moved and elements between */
static int padded_size(struct hlo_builder *b, int size, int64_t ends, int64_t interior)
{
    int gaps = at_least_zero(b, ar_addi(b, size, -1));

    gaps = ar_mul(b, gaps, constant(b, interior));
    return at_least_zero(b, ar_addi(b, ar_add(b, size, gaps), ends));
}

static int sliced_size(struct hlo_builder *b, int size, int64_t start, int64_t limit, int64_t stride)
{
    int end = ar_min(b, size, constant(b, limit));
    int rest = at_least_zero(b, ar_addi(b, end, -start));

    return stride == 1 ? rest : ar_div(b, ar_addi(b, rest, stride - 1), constant(b, stride));
}

/* the pieces one behind the other, each over what lay beyond the size of the one before */
static struct sized concatenated(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int dim = (int)hlo_detail(s->from)->dims.item[0], rank = s->from->type->rank,
        zero = constant(b, 0);
    struct hlo_type t = sized_bound(b->module->arena, s->from->type);
    int start[SIZED_RANK_MAX];
    struct sized result;

    no_sizes(&result);
    for (int d = 0; d < rank; d++)
        start[d] = zero;
    result.x = hlo_constant_int(b, &t, 0);
    for (int k = 0; k < s->from->operand_count; k++) {
        struct sized v = sized_operand(s, k);

        result.x = hlo_dynamic_update_slice(b, result.x, v.x, start);
        start[dim] = ar_add(b, start[dim], sized_size(b, &v, dim));
        for (int d = 0; d < rank; d++)
            if (d != dim && v.size[d] >= 0)
                result.size[d] = v.size[d];
    }
    result.size[dim] = start[dim];
    return result;
}

/* backwards from the size, not from the bound: twice in a row, a window of it is what is wanted */
static int reversed(struct hlo_builder *b, const struct sized *v, int dim)
{
    struct hlo_type t = *hlo_type_of(b, v->x);
    int start[SIZED_RANK_MAX], zero = constant(b, 0), x, twice;
    int64_t along = dim;

    x = hlo_reverse(b, v->x, 1, &along);
    if (v->size[dim] < 0)
        return x;
    for (int d = 0; d < t.rank; d++)
        start[d] = d == dim ? ar_sub(b, constant(b, t.dim[dim]), v->size[dim]) : zero;
    twice = hlo_concatenate(b, 2, (int[]){x, x}, dim);
    return hlo_dynamic_slice(b, twice, start, t.dim);
}

static struct sized padded(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    struct sized v = sized_operand(s, 0);

    v.x = sized_fill(b, &v, s->operand[1], NULL);
    for (int d = 0; d < s->from->type->rank; d++)
        if (v.size[d] >= 0)
            v.size[d] = padded_size(
                b, v.size[d], hlo_detail(s->from)->low.item[d] + hlo_detail(s->from)->high.item[d],
                hlo_detail(s->from)->interior.item ? hlo_detail(s->from)->interior.item[d] : 0);
    v.x = sized_apply(s, (int[]){v.x, s->operand[1]});
    return v;
}

/* a start is clamped so that the slice lies within the size */
static int clamped_start(struct hlo_builder *b, int start, int size, int64_t length)
{
    struct hlo_type t = *hlo_type_of(b, start);
    int last = at_least_zero(b, ar_addi(b, size, -length));

    start = hlo_convert(b, start, ELEMENT_S32);
    return hlo_convert(b, ar_min(b, at_least_zero(b, start), last), t.element);
}

static struct sized dynamic_slice(struct expand_site *s, int first, const int64_t *length)
{
    struct hlo_builder *b = s->b;
    struct sized v = sized_operand(s, 0);
    int operand[SIZED_RANK_MAX + 2], rank = expand_operand_type(s, 0)->rank;

    operand[0] = v.x;
    if (first == 2)
        operand[1] = sized_operand(s, 1).x;
    for (int d = 0; d < rank; d++) {
        operand[first + d] = s->operand[first + d];
        if (v.size[d] >= 0)
            operand[first + d] = clamped_start(b, operand[first + d], v.size[d], length[d]);
    }
    v.x = sized_apply(s, operand);
    return v;
}

int sized_move(struct expand_site *s)
{
    const struct hlo_instruction *i = s->from;
    struct hlo_builder *b = s->b;
    struct sized v, result;

    no_sizes(&result);
    switch (i->op) {
    case OPCODE_CONCATENATE:
        return sized_make(b, i->type, concatenated(s));
    case OPCODE_PAD:
        return sized_make(b, i->type, padded(s));
    case OPCODE_DYNAMIC_SLICE:
        return sized_make(b, i->type, dynamic_slice(s, 1, hlo_detail(i)->sizes.item));
    case OPCODE_DYNAMIC_UPDATE_SLICE:
        return sized_make(b, i->type, dynamic_slice(s, 2, expand_operand_type(s, 1)->dim));
    case OPCODE_IOTA:
        result.x = sized_apply(s, s->operand);
        return sized_make(b, i->type, result);
    default:
        break;
    }
    v = sized_operand(s, 0);
    if (i->op == OPCODE_REVERSE) {
        for (int k = 0; k < hlo_detail(i)->dims.count; k++)
            v.x = reversed(b, &v, (int)hlo_detail(i)->dims.item[k]);
        return sized_make(b, i->type, v);
    }
    for (int d = 0; d < expand_operand_type(s, 0)->rank; d++) {
        if (v.size[d] < 0)
            continue;
        if (i->op == OPCODE_BROADCAST)
            result.size[hlo_detail(i)->dims.item[d]] = v.size[d];
        else if (i->op == OPCODE_SLICE)
            result.size[d] = sliced_size(
                b, v.size[d], hlo_detail(i)->start.item[d], hlo_detail(i)->limit.item[d],
                hlo_detail(i)->stride.item ? hlo_detail(i)->stride.item[d] : 1);
    }
    for (int d = 0; i->op == OPCODE_TRANSPOSE && d < i->type->rank; d++)
        result.size[d] = v.size[hlo_detail(i)->dims.item[d]];
    result.x = sized_apply(s, &v.x);
    return sized_make(b, i->type, result);
}
