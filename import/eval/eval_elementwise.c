/* Operations on each element by itself. */
#include "import/lanes/apply.h"
#include "import/eval/handlers.h"
#include "import/eval/region.h"

#include <math.h>
#include <string.h>

/* one number, which all elements of the result are made with */
static bool is_one(const struct value *v, const struct value *result)
{
    return v->is_splat || (v->rank == 0 && result->rank > 0);
}

/* cut off where a bounded result is smaller, a size of one repeated; NULL with the error set */
static struct value *cut(struct call *c, struct value *v, const struct value *result)
{
    struct value *made = call_array(c, v->element, result->rank, result->dim);
    struct stride_copy s = { .rank = result->rank };

    if (!made)
        return NULL;
    value_strides(v, s.from_step);
    value_strides(made, s.to_step);
    for (int d = 0; d < s.rank; d++) {
        s.dim[d] = result->dim[d];
        if (v->dim[d] < s.dim[d])
            s.from_step[d] = 0;
    }
    stride_copy(s, value_element_bytes(v), made->data, v->data);
    return made;
}

/* Operand k in the result's sizes, or one number; NULL with the error set. The caller's to drop. */
static struct value *fitted(struct call *c, int k, const struct value *result)
{
    struct value *v = c->operand[k];

    if (is_one(v, result) ||
        (v->rank == result->rank &&
         !memcmp(v->dim, result->dim, (size_t)v->rank * sizeof(*v->dim))))
        return value_hold(v);
    if (v->rank == result->rank)
        return cut(c, v, result);
    call_fail(c, "operand %d has another rank than the result", k);
    return NULL;
}

enum { SPLAT_BLOCK = 2048 };

/* block by block, with operands that are one number everywhere in a block of their own */
static void apply_splats(const struct apply *a, struct value *to, struct value *const *from)
{
    _Alignas(64) char room[APPLY_OPERANDS_MAX][SPLAT_BLOCK * LANE_BYTES_MAX];
    int64_t n = value_count(to), width = n, block;
    const void *data[APPLY_OPERANDS_MAX];
    bool has_one[APPLY_OPERANDS_MAX];

    for (int k = 0; k < a->operand_count; k++) {
        has_one[k] = n > 1 && is_one(from[k], to);
        if (has_one[k] && width > SPLAT_BLOCK)
            width = SPLAT_BLOCK;
    }
    for (int k = 0; k < a->operand_count; k++)
        if (has_one[k])
            stride_fill(room[k], from[k]->data, value_element_bytes(from[k]), width);
    for (int64_t i = 0; i < n; i += block) {
        block = n - i < width ? n - i : width;
        for (int k = 0; k < a->operand_count; k++)
            data[k] = has_one[k] ? room[k]
                                 : (char *)from[k]->data +
                                       (size_t)i * value_element_bytes(from[k]);
        apply_array(a, (char *)to->data + (size_t)i * value_element_bytes(to), data, block);
    }
}

/* all operands are one number each: so is the result */
static bool apply_to_numbers(struct call *c, const struct apply *a)
{
    _Alignas(16) char element[LANE_BYTES_MAX];
    int64_t dim[EVAL_RANK_MAX];
    const void *data[APPLY_OPERANDS_MAX];

    for (int k = 0; k < a->operand_count; k++) {
        if (!c->operand[k]->is_splat)
            return false;
        data[k] = c->operand[k]->data;
    }
    apply_array(a, element, data, 1);
    call_dims(c, c->i->type, dim);
    c->result = value_splat(&c->ev->pool, c->i->type->element, c->i->type->rank, dim, element);
    return true;
}

static int apply_to(struct call *c, const struct apply *a)
{
    struct value *from[APPLY_OPERANDS_MAX] = { NULL };
    int status = 0;

    for (int k = 0; k < a->operand_count && !status; k++) {
        from[k] = fitted(c, k, c->result);
        status = from[k] ? 0 : -1;
    }
    if (!status)
        apply_splats(a, c->result, from);
    for (int k = 0; k < a->operand_count; k++)
        value_drop(&c->ev->pool, from[k]);
    return status;
}

/* the operand whose place the result may take: as large, and read only where it is written */
static int place_of_result(const struct call *c)
{
    for (int k = 0; k < c->i->operand_count; k++)
        if (value_element_bytes(c->operand[k]) == hlo_element_bytes(c->i->type->element) &&
            c->operand[k]->rank == c->i->type->rank && call_may_overwrite(c, k))
            return k;
    return 0;
}

int eval_elementwise(struct call *c)
{
    struct apply a;

    if (!apply_init(&a, c->i, c->operand[c->i->op == OPCODE_SELECT ? 1 : 0]->element))
        return call_fail(c, "it has no meaning for elements of %s",
                         hlo_element_name(c->operand[0]->element));
    if (apply_to_numbers(c, &a))
        return 0;
    if (call_result_over(c, place_of_result(c)))
        return -1;
    return apply_to(c, &a);
}

/* a scalar predicate chooses one operand as it is */
int eval_select(struct call *c)
{
    if (c->operand[0]->rank == 0 && c->i->type->rank > 0) {
        c->result = value_hold(c->operand[value_int(c->operand[0], 0) ? 1 : 2]);
        return 0;
    }
    return eval_elementwise(c);
}

int eval_convert(struct call *c)
{
    if (c->operand[0]->element == c->i->type->element)
        return eval_same(c);
    return eval_elementwise(c);
}

/* the low bits first: elements of few bits become one of many, or the reverse */
static void repack(char *to, int to_bits, const char *from, int from_bits, int64_t bits)
{
    int to_unit = to_bits < 8 ? to_bits : 8, from_unit = from_bits < 8 ? from_bits : 8;

    for (int64_t b = 0; b < bits; b++) {
        uint8_t byte = (uint8_t)from[b / from_unit];
        int64_t at = b / to_unit;

        if (b % to_unit == 0)
            to[at] = 0;
        if (byte >> (b % from_unit) & 1)
            to[at] = (char)((uint8_t)to[at] | 1u << (b % to_unit));
    }
}

/* elements of other widths: the ratio is a dimension that comes or goes at the end */
int eval_bitcast_convert(struct call *c)
{
    enum hlo_element to = c->i->type->element, from = c->operand[0]->element;
    int64_t bits = value_count(c->operand[0]) * hlo_element_bits(from);

    if ((int)hlo_element_bytes(to) * 8 == hlo_element_bits(to) &&
        (int)hlo_element_bytes(from) * 8 == hlo_element_bits(from))
        return call_result_view(c, 0);
    if (call_result(c))
        return -1;
    repack(c->result->data, hlo_element_bits(to), c->operand[0]->data, hlo_element_bits(from),
           bits);
    lane_narrow(to, c->result->data, c->result->data,
                lane_is_narrow(to) && hlo_element_is_integer(to) ? value_count(c->result) : 0);
    return 0;
}

/* a float towards or away from zero: away if its fraction, as bits, is above the random number */
static int64_t stochastic(double x, uint64_t random, int bits)
{
    double size = fabs(x), whole = trunc(size), limit = ldexp(size - whole, bits);

    whole += (double)random < limit;
    return x != x ? 0 : whole >= 0x1p62 ? (x < 0 ? INT64_MIN : INT64_MAX)
                                        : (int64_t)(x < 0 ? -whole : whole);
}

int eval_stochastic_convert(struct call *c)
{
    struct value *x = c->operand[0], *random = c->operand[1];
    int bits = hlo_element_bits(random->element);
    enum hlo_element e = c->i->type->element;
    int64_t high = ((int64_t)1 << (hlo_element_bits(e) < 64 ? hlo_element_bits(e) - 1 : 62)) - 1;

    if (!hlo_element_is_integer(e) || !hlo_element_is_float(x->element))
        return call_fail(c, "it makes integers of floats");
    if (hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED)
        high = 2 * high + 1;
    if (call_result(c))
        return -1;
    for (int64_t k = 0; k < value_count(x); k++) {
        size_t at = (size_t)k;
        double value = hlo_element_load(x->element,
                                        (char *)x->data + at * value_element_bytes(x));
        uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
        int64_t y = stochastic(value, (uint64_t)value_int(random, k) & mask, bits);
        int64_t low = hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED ? 0 : -high - 1;

        hlo_element_store_int(e, clamp_int(y, low, high),
                              (char *)c->result->data + at * hlo_element_bytes(e));
    }
    return 0;
}

int eval_map(struct call *c)
{
    struct region *r = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    const void *in[64];
    void *out[1];

    if (c->i->operand_count > 64)
        return call_fail(c, "more than 64 operands");
    if (call_result(c))
        return -1;
    for (int k = 0; k < c->i->operand_count; k++)
        in[k] = c->operand[k]->data;
    out[0] = c->result->data;
    return region_run(c, r, value_count(c->result), in, out);
}
