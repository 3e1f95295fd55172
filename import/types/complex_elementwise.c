/* Which functions of complex.h an operation of HLO is. */
#include "import/types/complex.h"

typedef struct repr_value unary_function(struct hlo_builder *b, struct repr_value x);
typedef struct repr_value binary_function(struct hlo_builder *b, struct repr_value x,
                                          struct repr_value y);

static const struct { enum hlo_opcode op; unary_function *function; } unary_table[] = {
    {OPCODE_EXPONENTIAL, complex_exp},      {OPCODE_EXPONENTIAL_MINUS_ONE, complex_expm1},
    {OPCODE_LOG, complex_log},              {OPCODE_LOG_PLUS_ONE, complex_log1p},
    {OPCODE_SQRT, complex_sqrt},            {OPCODE_RSQRT, complex_rsqrt},
    {OPCODE_SINE, complex_sine},            {OPCODE_COSINE, complex_cosine},
    {OPCODE_TANH, complex_tanh},            {OPCODE_SIGN, complex_sign},
};
static const struct { enum hlo_opcode op; binary_function *function; } binary_table[] = {
    {OPCODE_MULTIPLY, complex_multiply}, {OPCODE_DIVIDE, complex_divide},
    {OPCODE_POWER, complex_power},
};

static int part_by_part(struct expand_site *s, struct repr_value x, struct repr_value y)
{
    struct repr_value z = {.count = 2};

    for (int p = 0; p < 2; p++)
        z.part[p] = s->from->operand_count == 1 ? hlo_unary(s->b, s->from->op, x.part[p])
                                                : hlo_binary(s->b, s->from->op, x.part[p], y.part[p]);
    return repr_make(s->b, z);
}

static int compare(struct expand_site *s, struct repr_value x, struct repr_value y)
{
    int real = hlo_compare(s->b, s->from->direction, x.part[0], y.part[0]);
    int imaginary = hlo_compare(s->b, s->from->direction, x.part[1], y.part[1]);

    if (s->from->direction == HLO_EQ)
        return ar_and(s->b, real, imaginary);
    if (s->from->direction == HLO_NE)
        return ar_or(s->b, real, imaginary);
    return expand_refuse(s, "complex numbers have no order");
}

static int unary(struct expand_site *s, struct repr_value x)
{
    struct hlo_builder *b = s->b;
    struct repr_value sine;

    switch (s->from->op) {
    case OPCODE_REAL:
        return x.part[0];
    case OPCODE_IMAG:
        return x.part[1];
    case OPCODE_ABS:
        return complex_abs(b, x);
    case OPCODE_NEGATE:
        return part_by_part(s, x, x);
    case OPCODE_IS_FINITE:
        return ar_and(b, hlo_unary(b, s->from->op, x.part[0]), hlo_unary(b, s->from->op, x.part[1]));
    case OPCODE_CBRT: {
        int third = ar_num(b, x.part[0], 1.0 / 3), zero = ar_num(b, x.part[0], 0);

        return repr_make(b, complex_power(b, x, complex_make(third, zero)));
    }
    case OPCODE_LOGISTIC: {
        int one = ar_num(b, x.part[0], 1), zero = ar_num(b, x.part[0], 0);
        int real = ar_neg(b, x.part[0]), imaginary = ar_neg(b, x.part[1]);
        struct repr_value e = complex_exp(b, complex_make(real, imaginary));

        e.part[0] = ar_addn(b, e.part[0], 1);
        return repr_make(b, complex_divide(b, complex_make(one, zero), e));
    }
    case OPCODE_TAN:
        sine = complex_sine(b, x);
        return repr_make(b, complex_divide(b, sine, complex_cosine(b, x)));
    default:
        break;
    }
    for (size_t i = 0; i < sizeof(unary_table) / sizeof(unary_table[0]); i++)
        if (unary_table[i].op == s->from->op)
            return repr_make(b, unary_table[i].function(b, x));
    return expand_refuse(s, "nothing expands it for complex numbers");
}

int complex_elementwise(struct expand_site *s)
{
    enum hlo_element e = expand_operand_type(s, 0)->element;
    struct repr_value x, y;

    if (s->from->op == OPCODE_COMPLEX && s->from->type->element == ELEMENT_C64)
        return repr_make(s->b, complex_make(s->operand[0], s->operand[1]));
    x = repr_operand(s, 0);
    if (s->from->op == OPCODE_COMPLEX) {        /* of two sums */
        y = repr_operand(s, 1);
        return repr_make(s->b, (struct repr_value){4, {x.part[0], x.part[1], y.part[0], y.part[1]}});
    }
    if (e == ELEMENT_C128 && (s->from->op == OPCODE_REAL || s->from->op == OPCODE_IMAG))
        return repr_make(s->b, complex_make(x.part[s->from->op == OPCODE_REAL ? 0 : 2],
                                            x.part[s->from->op == OPCODE_REAL ? 1 : 3]));
    if (e == ELEMENT_C128)
        return expand_refuse(s, "nothing expands it for c128; c64 is the widest complex type here, as "
                             "on a TPU: convert to it before");
    if (s->from->operand_count == 1)
        return unary(s, x);
    y = repr_operand(s, 1);
    if (s->from->op == OPCODE_COMPARE)
        return compare(s, x, y);
    if (s->from->op == OPCODE_ADD || s->from->op == OPCODE_SUBTRACT)
        return part_by_part(s, x, y);
    for (size_t i = 0; i < sizeof(binary_table) / sizeof(binary_table[0]); i++)
        if (binary_table[i].op == s->from->op)
            return repr_make(s->b, binary_table[i].function(s->b, x, y));
    return expand_refuse(s, "nothing expands it for complex numbers");
}
