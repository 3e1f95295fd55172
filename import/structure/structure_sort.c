/*
 * Sorts in the form that the compiler knows: by the first operand, stable. An order of several keys
 * is a sort for each of them, the least significant first. A comparison that is no such order is
 * carried out by a network of exchanges over whole arrays.
 */
#include "import/structure/structure_impl.h"

#include "import/structure/structure_order.h"

#include <string.h>

#define OPERANDS_MAX 256
#define SORTED_MAX 8                    /* arrays that one sort of the graph puts in order */

struct sorting {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int count, dim;
    int array[OPERANDS_MAX];
};

bool structure_sorts(const struct hlo_module *m, int computation, enum hlo_direction *direction)
{
    struct order o;

    if (!order_find(m, computation, &o) || o.count != 1 || o.key[0].operand != 0 ||
        o.key[0].view != ORDER_NUMBER)
        return false;
    *direction = o.key[0].is_falling ? HLO_GT : HLO_LT;
    return true;
}

static int as_result(const struct sorting *s)
{
    return hlo_type_is_tuple(s->from->type) ? hlo_tuple(s->b, s->count, s->array) : s->array[0];
}

/* an array in whose order of numbers this key's order is */
static int key_array(struct sorting *s, const struct order_key *k)
{
    struct hlo_builder *b = s->b;
    int x = s->array[k->operand];
    struct hlo_type t = *hlo_type_of(b, x);

    if (t.element == ELEMENT_PRED)
        return hlo_convert(b, x, ELEMENT_S32);
    if (k->view == ORDER_OTHER_SIGN)
        return hlo_bitcast_convert(b, x, t.element == ELEMENT_S32 ? ELEMENT_U32 : ELEMENT_S32);
    if (k->view != ORDER_TOTAL)
        return x;
    return structure_total_order(b, x);
}

/* a comparison of the first of `count` pairs of these scalars */
static int first_less(struct sorting *s, const int *array, int count, bool is_falling)
{
    struct hlo_builder own = *s->b;
    int x = 0, y = 0;

    own.computation = hlo_add_computation(own.module, "order");
    for (int k = 0; k < count; k++)
        for (int side = 0; side < 2; side++) {
            struct hlo_type t = hlo_scalar_type(hlo_type_of(s->b, array[k])->element);
            int p = hlo_parameter(&own, 2 * k + side, &t);

            x = k == 0 && side == 0 ? p : x;
            y = k == 0 && side == 1 ? p : y;
        }
    hlo_compare(&own, is_falling ? HLO_GT : HLO_LT, x, y);
    return own.computation;
}

/* `count` arrays in the order of `key`, which may be the first of them */
static void sort_some(struct sorting *s, int key, int *array, int count, bool is_falling)
{
    int operand[SORTED_MAX], extra = key == array[0] ? 0 : 1, body, made;
    struct hlo_type part[SORTED_MAX];
    struct hlo_instruction i = {.op = OPCODE_SORT,
                                .operand_count = count + extra,
                                .operand = operand,
                                .place = s->b->place,
                                .line = s->b->line,
                                .col = hlo_column(s->b->col),
                                .detail = &(struct hlo_detail){.is_stable = true,
                                                               .dims = hlo_detail(s->from)->dims,
                                                               .computation_count = 1,
                                                               .computation = &body}};

    operand[0] = key;
    for (int k = 0; k < count; k++)
        operand[k + extra] = array[k];
    for (int k = 0; k < i.operand_count; k++) {
        part[k] = *hlo_type_of(s->b, operand[k]);
        part[k].layout = NULL;
    }
    body = first_less(s, operand, i.operand_count, is_falling);
    i.type = HLO_TYPE(
        i.operand_count > 1 ? hlo_tuple_type(s->b->module->arena, i.operand_count, part) : part[0]);
    made = hlo_add(s->b->module, s->b->computation, &i);
    for (int k = 0; k < count; k++)
        array[k] = i.operand_count > 1 ? hlo_tuple_element(s->b, made, k + extra) : made;
}

/* all arrays in the order of `key`: as many at a time as a sort takes, which is stable, so that
 * each time elements go the same way */
static void sort_by(struct sorting *s, int key, bool is_falling)
{
    int done = 0;

    while (done < s->count) {
        int room = SORTED_MAX - (key != s->array[done]);
        int count = s->count - done < room ? s->count - done : room;

        sort_some(s, key, s->array + done, count, is_falling);
        done += count;
    }
}

/* ---- any comparison: a bitonic network along a dimension in front ---- */

static void to_front(struct sorting *s, bool back)
{
    int rank = hlo_type_of(s->b, s->array[0])->rank;
    int64_t order[STRUCTURE_RANK_MAX];

    if (s->dim == 0)
        return;
    for (int d = 0; d < rank; d++) {
        if (back)
            order[d] = d < s->dim ? d + 1 : d == s->dim ? 0 : d;
        else
            order[d] = d == 0 ? s->dim : d <= s->dim ? d - 1 : d;
    }
    for (int k = 0; k < s->count; k++)
        s->array[k] = hlo_transpose(s->b, s->array[k], order);
}

/* rows that are there no more than to make the length a power of two */
static void lengthen(struct sorting *s, int64_t length, int64_t power)
{
    for (int k = 0; length < power && k < s->count; k++) {
        struct hlo_type t = *hlo_type_of(s->b, s->array[k]), e = hlo_scalar_type(t.element);
        int64_t low[STRUCTURE_RANK_MAX] = {0}, high[STRUCTURE_RANK_MAX] = {0};

        high[0] = power - length;
        s->array[k] = hlo_pad(s->b, s->array[k], hlo_constant(s->b, &e, 0.0), low, high, NULL);
    }
}

/* halves [blocks, 2, distance, ..] of blocks in which neighbours are `distance` apart */
static int half(struct hlo_builder *b, int x, int64_t distance, int which)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t dim[STRUCTURE_RANK_MAX] = {t.dim[0] / (2 * distance), 2, distance};

    for (int d = 1; d < t.rank; d++)
        dim[2 + d] = t.dim[d];
    return hlo_slice_dim(b, hlo_reshape(b, x, t.rank + 2, dim), 1, which, which + 1);
}

/* pred like x: whether the first of two stands before the second; place is the last array */
static int is_before(struct sorting *s, const int *x, const int *y, int64_t length, int64_t power)
{
    struct hlo_builder *b = s->b;
    int argument[2 * OPERANDS_MAX], less, more, tie, places = s->count - 1, end, in_x, in_y;
    int only_x;
    struct hlo_type t;

    for (int k = 0; k < places; k++) {
        argument[2 * k] = x[k];
        argument[2 * k + 1] = y[k];
    }
    structure_lift(b, hlo_detail(s->from)->computation[0], argument, &less, 1);
    for (int k = 0; k < places; k++) {
        argument[2 * k] = y[k];
        argument[2 * k + 1] = x[k];
    }
    structure_lift(b, hlo_detail(s->from)->computation[0], argument, &more, 1);
    tie = hlo_unary(b, OPCODE_NOT, more);
    tie = hlo_binary(b, OPCODE_AND, tie, hlo_compare(b, HLO_LT, x[places], y[places]));
    less = hlo_binary(b, OPCODE_OR, less, tie);
    if (length == power)
        return less;
    t = *hlo_type_of(b, x[places]);
    end = hlo_constant_int(b, &t, length);
    in_x = hlo_compare(b, HLO_LT, x[places], end);
    in_y = hlo_compare(b, HLO_LT, y[places], end);
    less = hlo_binary(b, OPCODE_AND, less, in_x);       /* both there: as compared */
    less = hlo_binary(b, OPCODE_AND, less, in_y);
    only_x = hlo_binary(b, OPCODE_AND, in_x, hlo_unary(b, OPCODE_NOT, in_y));
    return hlo_binary(b, OPCODE_OR, less, only_x);
}

/* pred: blocks of `distance` that are to rise, of a network that is at runs of `run` */
static int rises(struct hlo_builder *b, const struct hlo_type *like, int64_t distance, int64_t run)
{
    struct hlo_type count = hlo_array_type(b->module->arena, ELEMENT_S32, like->rank, like->dim);
    int block = hlo_iota(b, &count, 0);
    int bit = hlo_binary(b, OPCODE_AND, block, hlo_constant_int(b, &count, run / (2 * distance)));

    return hlo_compare(b, HLO_EQ, bit, hlo_constant_int(b, &count, 0));
}

static void exchange(struct sorting *s, int64_t distance, int64_t run, int64_t length,
                     int64_t power)
{
    struct hlo_builder *b = s->b;
    int x[OPERANDS_MAX], y[OPERANDS_MAX], keeps;
    struct hlo_type t;

    for (int k = 0; k < s->count; k++) {
        x[k] = half(b, s->array[k], distance, 0);
        y[k] = half(b, s->array[k], distance, 1);
    }
    t = *hlo_type_of(b, x[0]);
    keeps = is_before(s, x, y, length, power);
    keeps = hlo_compare(b, HLO_EQ, keeps, rises(b, &t, distance, run));
    for (int k = 0; k < s->count; k++) {
        struct hlo_type whole = *hlo_type_of(b, s->array[k]);
        int near = hlo_select(b, keeps, x[k], y[k]), far = hlo_select(b, keeps, y[k], x[k]);
        int pair[2] = {near, far};

        s->array[k] = hlo_reshape(b, hlo_concatenate(b, 2, pair, 1), whole.rank, whole.dim);
    }
}

static int sort_by_network(struct sorting *s)
{
    struct hlo_type t, places;
    int64_t length, power = 1;

    to_front(s, false);
    t = *hlo_type_of(s->b, s->array[0]);
    length = t.dim[0];
    while (power < length)
        power *= 2;
    lengthen(s, length, power);
    t = *hlo_type_of(s->b, s->array[0]);
    places = hlo_array_type(s->b->module->arena, ELEMENT_S32, t.rank, t.dim);
    s->array[s->count++] = hlo_iota(s->b, &places, 0);
    for (int64_t run = 2; run <= power; run *= 2)
        for (int64_t distance = run / 2; distance > 0; distance /= 2)
            exchange(s, distance, run, length, power);
    s->count--;
    for (int k = 0; length < power && k < s->count; k++)
        s->array[k] = hlo_slice_dim(s->b, s->array[k], 0, 0, length);
    to_front(s, true);
    return as_result(s);
}

static bool is_network(const struct sorting *s)
{
    const struct hlo_type *t = hlo_type_of(s->b, s->array[0]);

    return s->count < OPERANDS_MAX && t->rank + 2 <= STRUCTURE_RANK_MAX &&
           structure_can_lift(s->b->module, hlo_detail(s->from)->computation[0]);
}

int structure_sort(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                   const struct hlo_instruction *from, const int *operand)
{
    struct sorting s = {.b = b, .from = from, .count = from->operand_count,
                        .dim = (int)hlo_detail(from)->dims.item[0]};
    enum hlo_direction direction;
    struct order o;

    (void)rewrite;
    if (s.count > OPERANDS_MAX)
        return -1;
    memcpy(s.array, operand, (size_t)s.count * sizeof(*operand));
    if (hlo_type_of(b, operand[0])->rank == 0 || hlo_type_of(b, operand[0])->dim[s.dim] <= 1)
        return as_result(&s);
    if (structure_sorts(b->module, hlo_detail(from)->computation[0], &direction) &&
        hlo_type_of(b, operand[0])->element != ELEMENT_PRED && s.count <= SORTED_MAX)
        return -1;
    if (!order_find(b->module, hlo_detail(from)->computation[0], &o))
        return is_network(&s) ? sort_by_network(&s) : -1;
    for (int k = o.count - 1; k >= 0; k--)
        sort_by(&s, key_array(&s, &o.key[k]), o.key[k].is_falling);
    return as_result(&s);
}
