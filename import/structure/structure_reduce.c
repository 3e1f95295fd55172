/*
 * Reductions in the forms that the compiler knows. One of several arrays whose results do not
 * depend on each other is taken apart; the place of an extreme keeps its pair; what is left is
 * halved: neighbours along the reduced dimension are combined by the body over whole arrays, until
 * one is left.
 */
#include "import/structure/structure_impl.h"

#include "import/structure/structure_scalar.h"

#include <math.h>
#include <string.h>

#define ARRAYS_MAX 32

struct reduction {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int body;                           /* of the module that is being written */
    int count;                          /* arrays */
    int array[ARRAYS_MAX], init[ARRAYS_MAX];
    int64_t reduced;                    /* elements that become one */
};

static bool is_reduced(const struct hlo_instruction *from, int dim)
{
    for (int k = 0; k < hlo_detail(from)->dims.count; k++)
        if (hlo_detail(from)->dims.item[k] == dim)
            return true;
    return false;
}

static bool is_known(enum hlo_opcode op)
{
    return op == OPCODE_ADD || op == OPCODE_MULTIPLY || op == OPCODE_MAXIMUM ||
           op == OPCODE_MINIMUM || op == OPCODE_AND || op == OPCODE_OR;
}

/* all of the body's results are operations of their own operands */
static bool is_separate(const struct reduction *r)
{
    for (int k = 0; k < r->count; k++)
        if (!is_known(structure_combines(r->b->module, r->body, k)))
            return false;
    return true;
}

static int reduce_separately(struct reduction *r)
{
    int result[ARRAYS_MAX];

    for (int k = 0; k < r->count; k++) {
        enum hlo_opcode op = structure_combines(r->b->module, r->body, k);
        int body = hlo_scalar_computation(r->b->module, op, hlo_type_of(r->b, r->array[k])->element);

        result[k] = hlo_reduce(r->b, r->array[k], r->init[k], hlo_detail(r->from)->dims.count,
                               hlo_detail(r->from)->dims.item, body);
    }
    return hlo_type_is_tuple(r->from->type) ? hlo_tuple(r->b, r->count, result) : result[0];
}

/* all reduced dimensions as one in front of the others */
static int to_front(struct reduction *r, int x)
{
    struct hlo_type t = *hlo_type_of(r->b, x);
    int64_t order[STRUCTURE_RANK_MAX], dim[STRUCTURE_RANK_MAX];
    int rank = 0, kept = 1;

    for (int reduced = 1; reduced >= 0; reduced--)
        for (int d = 0; d < t.rank; d++)
            if (is_reduced(r->from, d) == (bool)reduced)
                order[rank++] = d;
    dim[0] = r->reduced;
    for (int d = 0; d < t.rank; d++)
        if (!is_reduced(r->from, d))
            dim[kept++] = t.dim[d];
    for (int d = 0; d < t.rank; d++)
        if (order[d] != d) {
            x = hlo_transpose(r->b, x, order);
            break;
        }
    return hlo_reshape(r->b, x, kept, dim);
}

/* rows start, start + stride, .. of dimension 0 */
static int rows(struct hlo_builder *b, int x, int64_t start, int64_t limit, int64_t stride)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t low[STRUCTURE_RANK_MAX] = {0}, high[STRUCTURE_RANK_MAX], step[STRUCTURE_RANK_MAX];

    for (int d = 0; d < t.rank; d++) {
        high[d] = t.dim[d];
        step[d] = 1;
    }
    low[0] = start;
    high[0] = limit;
    step[0] = stride;
    return hlo_slice(b, x, low, high, step);
}

/* neighbours become one; the last of an odd number stays as it is */
static void halve(struct reduction *r, int64_t length)
{
    int64_t pairs = length / 2;
    int argument[2 * ARRAYS_MAX], result[ARRAYS_MAX];

    for (int k = 0; k < r->count; k++) {
        argument[k] = rows(r->b, r->array[k], 0, 2 * pairs - 1, 2);
        argument[r->count + k] = rows(r->b, r->array[k], 1, 2 * pairs, 2);
    }
    structure_lift(r->b, r->body, argument, result, r->count);
    for (int k = 0; k < r->count; k++)
        r->array[k] = length % 2 == 0 ? result[k] :
            hlo_concatenate(r->b, 2, (int[]){result[k], rows(r->b, r->array[k], length - 1,
                                                             length, 1)}, 0);
}

/* body(init, array) */
static void start_with_init(struct reduction *r)
{
    int argument[2 * ARRAYS_MAX];

    for (int k = 0; k < r->count; k++) {
        struct hlo_type t = *hlo_type_of(r->b, r->array[k]);

        argument[k] = hlo_splat(r->b, r->init[k], &t);
        argument[r->count + k] = r->array[k];
    }
    structure_lift(r->b, r->body, argument, r->array, r->count);
}

static int reduce_by_halves(struct reduction *r)
{
    for (int k = 0; k < r->count; k++)
        r->array[k] = to_front(r, r->array[k]);
    for (int64_t length = r->reduced; length > 1; length = (length + 1) / 2)
        halve(r, length);
    for (int k = 0; k < r->count; k++) {
        struct hlo_type t = *hlo_type_of(r->b, r->array[k]);

        r->array[k] = hlo_reshape(r->b, r->array[k], t.rank - 1, t.dim + 1);
    }
    start_with_init(r);
    return hlo_type_is_tuple(r->from->type) ? hlo_tuple(r->b, r->count, r->array) : r->array[0];
}

/* dimensions of one element: nothing is combined but the start */
static int reduce_single(struct reduction *r)
{
    for (int k = 0; k < r->count; k++) {
        const struct hlo_type *t = hlo_type_is_tuple(r->from->type) ? &r->from->type->part[k]
                                                                     : r->from->type;

        r->array[k] = hlo_reshape(r->b, r->array[k], t->rank, t->dim);
    }
    start_with_init(r);
    return hlo_type_is_tuple(r->from->type) ? hlo_tuple(r->b, r->count, r->array) : r->array[0];
}

/* ---- the place of an extreme ---- */

/* counts up along `dim`: an iota, spread or converted */
static bool counts_along(const struct hlo_builder *b, int x, int dim)
{
    const struct hlo_instruction *i = structure_at(b, x);

    switch (i->op) {
    case OPCODE_IOTA:
        return i->index == dim;
    case OPCODE_CONVERT: case OPCODE_COPY:
        return hlo_element_is_integer(structure_at(b, i->operand[0])->type->element) &&
               counts_along(b, i->operand[0], dim);
    case OPCODE_BROADCAST:
        for (int d = 0; d < hlo_detail(i)->dims.count; d++)
            if (hlo_detail(i)->dims.item[d] == dim)
                return counts_along(b, i->operand[0], d);
        return false;
    case OPCODE_RESHAPE: {
        const struct hlo_type *t = structure_at(b, i->operand[0])->type;
        int64_t length = 1;
        int along = -1;

        for (int d = 0; d < t->rank; d++) {
            length *= t->dim[d];
            along = t->dim[d] > 1 ? d : along;
        }
        return along >= 0 && t->dim[along] == length && i->type->dim[dim] == length &&
               counts_along(b, i->operand[0], along);
    }
    default:
        return false;
    }
}

static bool is_extreme(const struct reduction *r, enum hlo_direction *direction)
{
    return r->count == 2 && hlo_detail(r->from)->dims.count == 1 &&
           structure_extreme(r->b->module, r->body, direction) &&
           counts_along(r->b, r->array[1], (int)hlo_detail(r->from)->dims.item[0]);
}

/* a constant below (above) all values: the first element is at least as extreme */
static bool starts_at_end(const struct hlo_builder *b, int init, enum hlo_direction direction)
{
    const struct hlo_instruction *i = structure_at(b, init);
    enum hlo_element e = i->type->element;
    double value, bits = hlo_element_bits(e);

    if (i->op != OPCODE_CONSTANT || !i->literal || !i->literal->data)
        return false;
    value = hlo_element_load(e, i->literal->data);
    if (hlo_element_is_float(e))
        return isinf(value) && (value < 0.0) == (direction == HLO_GT);
    if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED)
        return direction == HLO_GT ? value <= -exp2(bits - 1) : value >= exp2(bits - 1) - 1.0;
    return direction == HLO_GT ? value == 0.0 : value >= exp2(bits) - 1.0;
}

/* (greatest, its s32 place) of values and a count: the body that structure_extreme knows */
static int extreme_body(struct hlo_builder *from, enum hlo_element e, enum hlo_direction direction)
{
    struct hlo_module *m = from->module;
    struct hlo_type value = hlo_scalar_type(e), place = hlo_scalar_type(ELEMENT_S32);
    struct hlo_builder b = {.module = m, .place = from->place, .line = from->line,
                            .col = from->col};
    int a, i, c, k, takes, ties, first;

    b.computation = hlo_add_computation(m, "extreme");
    a = hlo_parameter(&b, 0, &value);
    i = hlo_parameter(&b, 1, &place);
    c = hlo_parameter(&b, 2, &value);
    k = hlo_parameter(&b, 3, &place);
    takes = hlo_compare(&b, direction, a, c);
    if (hlo_element_is_float(e))
        takes = hlo_binary(&b, OPCODE_OR, takes, hlo_compare(&b, HLO_NE, a, a));
    ties = hlo_compare(&b, HLO_EQ, a, c);
    first = hlo_binary(&b, OPCODE_AND, ties, hlo_compare(&b, HLO_LT, i, k));
    first = hlo_binary(&b, OPCODE_OR, takes, first);
    a = hlo_select(&b, takes, a, c);
    i = hlo_select(&b, first, i, k);
    hlo_tuple(&b, 2, (int[]){a, i});
    return b.computation;
}

static int reduce_pair(struct hlo_builder *b, int values, int places, int low, int zero, int body,
                       const struct hlo_instruction *from)
{
    struct hlo_instruction i = {.op = OPCODE_REDUCE,
                                .operand_count = 4,
                                .operand = (int[]){values, places, low, zero},
                                .place = b->place,
                                .line = b->line,
                                .col = hlo_column(b->col),
                                .detail = &(struct hlo_detail){.dims = hlo_detail(from)->dims,
                                                               .computation_count = 1,
                                                               .computation = &body}};
    struct hlo_type part[2] = {from->type->part[0], from->type->part[1]};

    part[1].element = ELEMENT_S32;
    i.type = HLO_TYPE(hlo_tuple_type(b->module->arena, 2, part));
    return hlo_add(b->module, b->computation, &i);
}

static int reduce_extreme(struct reduction *r, enum hlo_direction direction)
{
    struct hlo_builder *b = r->b;
    struct hlo_type counted = *hlo_type_of(b, r->array[0]), word = hlo_scalar_type(ELEMENT_S32);
    enum hlo_element e = counted.element, places = hlo_type_of(b, r->array[1])->element;
    int place, zero, pair, part[2], argument[4], result[2];

    counted = hlo_array_type(b->module->arena, ELEMENT_S32, counted.rank, counted.dim);
    place = hlo_iota(b, &counted, (int)hlo_detail(r->from)->dims.item[0]);
    zero = hlo_constant_int(b, &word, 0);
    pair = reduce_pair(b, r->array[0], place, r->init[0], zero, extreme_body(b, e, direction),
                       r->from);
    part[0] = hlo_tuple_element(b, pair, 0);
    part[1] = hlo_convert(b, hlo_tuple_element(b, pair, 1), places);
    if (starts_at_end(b, r->init[0], direction))
        return hlo_tuple(b, 2, part);
    for (int k = 0; k < 2; k++) {
        struct hlo_type t = *hlo_type_of(b, part[k]);

        argument[k] = hlo_splat(b, r->init[k], &t);
        argument[2 + k] = part[k];
    }
    structure_lift(b, r->body, argument, result, 2);
    return hlo_tuple(b, 2, result);
}

/* already the form that we write */
static bool is_written(const struct reduction *r)
{
    enum hlo_direction direction;

    return structure_at(r->b, r->array[1])->op == OPCODE_IOTA &&
           structure_at(r->b, r->array[1])->type->element == ELEMENT_S32 &&
           starts_at_end(r->b, r->init[0], is_extreme(r, &direction) ? direction : HLO_GT);
}

static bool take(struct reduction *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    *r = (struct reduction){.b = b, .from = from, .body = hlo_detail(from)->computation[0],
                            .count = from->operand_count / 2, .reduced = 1};
    if (r->count > ARRAYS_MAX)
        return false;
    for (int k = 0; k < r->count; k++) {
        r->array[k] = operand[k];
        r->init[k] = operand[r->count + k];
    }
    for (int d = 0; d < hlo_detail(from)->dims.count; d++)
        r->reduced *= hlo_type_of(b, operand[0])->dim[hlo_detail(from)->dims.item[d]];
    return true;
}

int structure_reduce(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                     const struct hlo_instruction *from, const int *operand)
{
    struct reduction r;
    enum hlo_direction direction;

    (void)rewrite;
    if (!take(&r, b, from, operand))
        return -1;
    if (r.reduced == 0) {               /* nothing but the start is left */
        int result[ARRAYS_MAX];

        for (int k = 0; k < r.count; k++)
            result[k] = hlo_splat(b, r.init[k], hlo_type_is_tuple(from->type)
                                                    ? &from->type->part[k] : from->type);
        return hlo_type_is_tuple(from->type) ? hlo_tuple(b, r.count, result) : result[0];
    }
    if (r.reduced == 1 && structure_can_lift(b->module, r.body))
        return reduce_single(&r);
    if (is_separate(&r))
        return r.count == 1 && structure_at(b, operand[0])->type->rank ? -1 : reduce_separately(&r);
    if (is_extreme(&r, &direction))
        return is_written(&r) ? -1 : reduce_extreme(&r, direction);
    return structure_can_lift(b->module, r.body) ? reduce_by_halves(&r) : -1;
}
