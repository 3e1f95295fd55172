/* Arithmetic of scalars and vectors, element by element. */
#include "stack/mosaic/run_impl.h"

#include <math.h>
#include <string.h>

#include "base/floats.h"

static float f_of(uint32_t word)
{
    float f;

    memcpy(&f, &word, sizeof(f));
    return f;
}

static uint32_t w_of(float f)
{
    uint32_t word;

    memcpy(&word, &f, sizeof(word));
    return word;
}

/* element i of an operand as an integer; of a scalar all its bits */
static int64_t int_at(struct mosaic_run *r, const struct mosaic_value *v, int64_t i)
{
    return v->type.kind == MOSAIC_SCALAR ? mosaic_datum(r, v)->integer
                                         : (int64_t)(int32_t)mosaic_words(r, v)[i];
}

static void put_int(struct mosaic_run *r, const struct mosaic_op *op, int64_t i, int64_t x)
{
    x = mosaic_wrap(op->result[0]->type.element, x);
    if (op->result[0]->type.kind == MOSAIC_SCALAR)
        mosaic_set_int(r, op->result[0], x);
    else
        mosaic_datum(r, op->result[0])->word[i] = (uint32_t)x;
}

static int64_t count_of(struct mosaic_run *r, const struct mosaic_op *op)
{
    mosaic_out(r, op);
    return mosaic_elements(&op->result[0]->type);
}

int mosaic_eval_constant(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *a = mosaic_attr(op, "value");
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t n = mosaic_elements(t);
    uint32_t *to;

    if (!a)
        return mosaic_stop(r, op, "a constant without a value");
    if (t->kind == MOSAIC_SCALAR && !mosaic_is_float(t)) {
        mosaic_set_int(r, op->result[0], mosaic_wrap(t->element, a->integer));
        return 0;
    }
    to = mosaic_out(r, op);
    if (t->kind == MOSAIC_SCALAR) {
        to[0] = w_of((float)a->number);
        return 0;
    }
    if (a->kind != MOSAIC_ATTR_ELEMENTS || (!a->is_splat && a->count != n))
        return mosaic_stop(r, op, "its elements are not there");
    for (int64_t i = 0; i < n; i++)
        to[i] = a->element[a->is_splat ? 0 : i];
    return 0;
}

/* ----- integers */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t leading_zeros(uint32_t x, int bits)
{
    return x ? __builtin_clz(x) - (32 - bits) : bits;
}

/* a of b by the operation, ua and ub the same without sign; what divides by zero gives -1 */
static int64_t integer(enum mosaic_code c, int64_t a, int64_t b, uint64_t ua, uint64_t ub)
{
    switch (c) {
    case MOSAIC_ADDI: return (int64_t)((uint64_t)a + (uint64_t)b);
    case MOSAIC_SUBI: return (int64_t)((uint64_t)a - (uint64_t)b);
    case MOSAIC_MULI: return (int64_t)((uint64_t)a * (uint64_t)b);
    case MOSAIC_DIVSI: return b == 0 ? -1 : b == -1 ? (int64_t)-(uint64_t)a : a / b;
    case MOSAIC_DIVUI: return ub == 0 ? -1 : (int64_t)(ua / ub);
    case MOSAIC_REMSI: return b == 0 || b == -1 ? 0 : a % b;
    case MOSAIC_REMUI: return ub == 0 ? 0 : (int64_t)(ua % ub);
    case MOSAIC_CEILDIVSI: return b == 0 ? -1 : -floor_div(-a, b);
    case MOSAIC_FLOORDIVSI: return b == 0 ? -1 : floor_div(a, b);
    case MOSAIC_ANDI: return a & b;
    case MOSAIC_ORI: return a | b;
    case MOSAIC_XORI: return a ^ b;
    case MOSAIC_SHLI: return ub > 63 ? 0 : (int64_t)((uint64_t)a << ub);
    case MOSAIC_SHRSI: return a >> (ub > 63 ? 63 : ub);
    case MOSAIC_SHRUI: return ub > 63 ? 0 : (int64_t)(ua >> ub);
    case MOSAIC_MINSI: return a < b ? a : b;
    case MOSAIC_MAXSI: return a > b ? a : b;
    case MOSAIC_MINUI: return ua < ub ? a : b;
    case MOSAIC_MAXUI: return ua > ub ? a : b;
    case MOSAIC_ABSI: return a < 0 ? (int64_t)-(uint64_t)a : a;
    case MOSAIC_CTPOP: return __builtin_popcountll(ua);
    default: return 0;
    }
}

static uint64_t without_sign(enum mosaic_element e, int64_t x)
{
    int bits = e == MOSAIC_I1 ? 1 : e == MOSAIC_INDEX ? 64 : mosaic_element_bits(e);

    return bits >= 64 ? (uint64_t)x : (uint64_t)x & ((UINT64_C(1) << bits) - 1);
}

int mosaic_eval_integer(struct mosaic_run *r, const struct mosaic_op *op)
{
    enum mosaic_element e = op->result[0]->type.element;
    int64_t n = count_of(r, op);
    int last = op->operand_count - 1;

    for (int64_t i = 0; i < n; i++) {
        int64_t a = int_at(r, op->operand[0], i), b = int_at(r, op->operand[last], i);
        uint64_t ua = without_sign(e, a);

        put_int(r, op, i, op->code == MOSAIC_CTLZ
                              ? leading_zeros((uint32_t)ua, e == MOSAIC_INDEX ? 32 : mosaic_element_bits(e))
                              : integer(op->code, a, b, ua, without_sign(e, b)));
    }
    return 0;
}

int mosaic_eval_cmpi(struct mosaic_run *r, const struct mosaic_op *op)
{
    enum mosaic_element e = op->operand[0]->type.element;
    int64_t n = count_of(r, op), predicate = mosaic_int(op, "predicate", 0);

    for (int64_t i = 0; i < n; i++) {
        int64_t a = int_at(r, op->operand[0], i), b = int_at(r, op->operand[1], i);
        uint64_t ua = without_sign(e, a), ub = without_sign(e, b);
        const bool holds[] = {ua == ub, ua != ub, a < b, a <= b, a > b, a >= b,
                              ua < ub, ua <= ub, ua > ub, ua >= ub};

        put_int(r, op, i, predicate >= 0 && predicate < 10 && holds[predicate]);
    }
    return 0;
}

/* ----- floats */

static float min_of(float a, float b, bool wants_nan)
{
    if (isnan(a) || isnan(b))
        return wants_nan ? NAN : isnan(a) ? b : a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

float mosaic_float(enum mosaic_code c, float a, float b)
{
    switch (c) {
    case MOSAIC_ADDF: return a + b;
    case MOSAIC_SUBF: return a - b;
    case MOSAIC_MULF: return a * b;
    case MOSAIC_DIVF: return a / b;
    case MOSAIC_REMF: return fmodf(a, b);
    case MOSAIC_MINIMUMF: return min_of(a, b, true);
    case MOSAIC_MAXIMUMF: return -min_of(-a, -b, true);
    case MOSAIC_MINNUMF: return min_of(a, b, false);
    case MOSAIC_MAXNUMF: return -min_of(-a, -b, false);
    case MOSAIC_NEGF: return -a;
    case MOSAIC_ABSF: return fabsf(a);
    case MOSAIC_CEIL: return ceilf(a);
    case MOSAIC_COS: return cosf(a);
    case MOSAIC_ERF: return erff(a);
    case MOSAIC_EXP: return expf(a);
    case MOSAIC_EXP2: return exp2f(a);
    case MOSAIC_FLOOR: return floorf(a);
    case MOSAIC_MATH_LOG: return logf(a);
    case MOSAIC_LOG2: return log2f(a);
    case MOSAIC_LOG1P: return log1pf(a);
    case MOSAIC_EXPM1: return expm1f(a);
    case MOSAIC_ROUND: return roundf(a);
    case MOSAIC_ROUNDEVEN: return nearbyintf(a);
    case MOSAIC_RSQRT: return 1 / sqrtf(a);
    case MOSAIC_SIN: return sinf(a);
    case MOSAIC_SQRT: return sqrtf(a);
    case MOSAIC_TAN: return tanf(a);
    case MOSAIC_TANH: return tanhf(a);
    case MOSAIC_POWF: return powf(a, b);
    case MOSAIC_ATAN2: return atan2f(a, b);
    case MOSAIC_RECIPROCAL: return 1 / a;
    default: return NAN;
    }
}

int mosaic_eval_float(struct mosaic_run *r, const struct mosaic_op *op)
{
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    const uint32_t *b = mosaic_words(r, op->operand[op->operand_count - 1]);
    enum mosaic_element e = op->result[0]->type.element;
    int64_t n = mosaic_elements(&op->result[0]->type);
    uint32_t *to = mosaic_out(r, op);

    for (int64_t i = 0; i < n; i++)
        to[i] = w_of(mosaic_round(e, mosaic_float(op->code, f_of(a[i]), f_of(b[i]))));
    return 0;
}

/*
 * Predicate 6 is MLIR's "ordered and not equal", with which JAX writes x != y; isnan is x != x. As in
 * JAX's interpret mode, and as the unit's vcmp.ne, no number differs from what is none.
 */
int mosaic_eval_cmpf(struct mosaic_run *r, const struct mosaic_op *op)
{
    const uint32_t *wa = mosaic_words(r, op->operand[0]), *wb = mosaic_words(r, op->operand[1]);
    int64_t n = count_of(r, op), predicate = mosaic_int(op, "predicate", 0);

    for (int64_t i = 0; i < n; i++) {
        float a = f_of(wa[i]), b = f_of(wb[i]);
        bool o = !isnan(a) && !isnan(b);
        const bool holds[] = {false, o && a == b, o && a > b, o && a >= b, o && a < b,
                              o && a <= b, !o || a != b, o, !o || a == b, !o || a > b,
                              !o || a >= b, !o || a < b, !o || a <= b, !o || a != b, !o, true};

        put_int(r, op, i, predicate >= 0 && predicate < 16 && holds[predicate]);
    }
    return 0;
}

int mosaic_eval_weird(struct mosaic_run *r, const struct mosaic_op *op)
{
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    int64_t n = count_of(r, op);

    for (int64_t i = 0; i < n; i++)
        put_int(r, op, i, !isfinite(f_of(a[i])));
    return 0;
}

/* ----- both */

int mosaic_eval_select(struct mosaic_run *r, const struct mosaic_op *op)
{
    bool is_scalar = op->operand[0]->type.kind == MOSAIC_SCALAR;
    const uint32_t *a, *b;
    uint32_t *to;

    if (is_scalar) {
        mosaic_copy_value(r, op->result[0], op->operand[int_at(r, op->operand[0], 0) ? 1 : 2]);
        return 0;
    }
    to = mosaic_out(r, op);
    a = mosaic_words(r, op->operand[1]);
    b = mosaic_words(r, op->operand[2]);
    for (int64_t i = 0; i < mosaic_elements(&op->result[0]->type); i++)
        to[i] = mosaic_words(r, op->operand[0])[i] ? a[i] : b[i];
    return 0;
}

int mosaic_eval_same(struct mosaic_run *r, const struct mosaic_op *op)
{
    mosaic_copy_value(r, op->result[0], op->operand[0]);
    return 0;
}

/* a float as an integer: what does not fit becomes the nearest that does, NaN zero */
static int64_t to_integer(enum mosaic_element e, float x, bool is_unsigned)
{
    int bits = e == MOSAIC_INDEX ? 64 : mosaic_element_bits(e);
    double low = is_unsigned ? 0 : -ldexp(1, bits - 1);
    double high = ldexp(1, is_unsigned ? bits : bits - 1) - 1;

    if (isnan(x))
        return 0;
    return (int64_t)((double)x < low ? low : (double)x > high ? high : (double)x);
}

static bool rounds_to_nearest(const struct mosaic_op *op)
{
    return strcmp(mosaic_text(op, "rounding_mode", "towards_zero"), "to_nearest_even") == 0;
}

static int from_float(struct mosaic_run *r, const struct mosaic_op *op, bool is_unsigned)
{
    enum mosaic_element e = op->result[0]->type.element;
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    int64_t n = count_of(r, op);
    uint32_t *to = mosaic_out(r, op);

    for (int64_t i = 0; i < n; i++) {
        float x = f_of(a[i]);

        if (mosaic_is_float(&op->result[0]->type))
            to[i] = w_of(mosaic_round(e, x));
        else
            put_int(r, op, i, to_integer(e, rounds_to_nearest(op) ? nearbyintf(x) : x,
                                         is_unsigned));
    }
    return 0;
}

static int from_integer(struct mosaic_run *r, const struct mosaic_op *op, bool is_unsigned)
{
    enum mosaic_element from = op->operand[0]->type.element, e = op->result[0]->type.element;
    int64_t n = count_of(r, op);
    uint32_t *to = mosaic_out(r, op);

    for (int64_t i = 0; i < n; i++) {
        int64_t a = int_at(r, op->operand[0], i);
        uint64_t u = without_sign(from, a);

        if (mosaic_is_float(&op->result[0]->type))
            to[i] = w_of(mosaic_round(e, is_unsigned ? (float)u : (float)a));
        else
            put_int(r, op, i, is_unsigned ? (int64_t)u : a);
    }
    return 0;
}

int mosaic_eval_convert(struct mosaic_run *r, const struct mosaic_op *op)
{
    enum mosaic_code c = op->code;
    bool is_unsigned = c == MOSAIC_EXTUI || c == MOSAIC_UITOFP || c == MOSAIC_FPTOUI ||
                       c == MOSAIC_TPU_UITOFP || c == MOSAIC_TPU_FPTOUI ||
                       c == MOSAIC_INDEX_CASTUI;

    return mosaic_is_float(&op->operand[0]->type) ? from_float(r, op, is_unsigned)
                                                  : from_integer(r, op, is_unsigned);
}

/* the same bits as another type of the same width */
int mosaic_eval_arith_bitcast(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type, *t = &op->result[0]->type;
    int64_t n = count_of(r, op);
    uint32_t *to = mosaic_out(r, op);

    if (mosaic_element_bits(from->element) != 32 || mosaic_element_bits(t->element) != 32)
        return mosaic_stop(r, op, "bits of %s as %s; those of 32 bits are made",
                           mosaic_element_name(from->element), mosaic_element_name(t->element));
    for (int64_t i = 0; i < n; i++) {
        uint32_t w = mosaic_is_float(from) ? mosaic_words(r, op->operand[0])[i]
                                           : (uint32_t)int_at(r, op->operand[0], i);

        if (mosaic_is_float(t))
            to[i] = w;
        else
            put_int(r, op, i, (int32_t)w);
    }
    return 0;
}
