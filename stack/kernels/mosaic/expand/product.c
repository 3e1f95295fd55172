/*
 * Products that the matrix units do not make at once.
 *
 * Those of other dimensions are products of matrices (dims.c). An exact product of f32 is six of bf16:
 * each operand is the sum of three bf16, and the products of those are summed up but for the three
 * smallest, the small ones first; beside an operand that is bf16 already it is three. A product of integers on a chip whose units have none is one of bf16,
 * which holds all of 8 bits, over as many elements as f32 counts exactly. An integer operand beside a
 * float one becomes a float first.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

#include <string.h>

#include "sim/chip/limits.h"

#define EXACT_DEPTH 1024                /* 2^24 / (2^7 * 2^7) */
#define PARTS 3
#define ATTRS_MAX 16

/* a product of these operands instead, without its precision */
static expanded product_of(struct expand *e, const struct mosaic_op *op,
                           const struct expand_dot *dot, expanded a, expanded b, expanded sum)
{
    const expanded operand[] = {a, b, sum};
    struct mosaic_attr attr[ATTRS_MAX];
    int count = 0;

    for (int i = 0; i < op->attr_count && count < ATTRS_MAX; i++)
        if (strcmp(op->attr[i].name, "precision") &&
            (!dot->numbers || strcmp(op->attr[i].name, "dimension_numbers")))
            attr[count++] = op->attr[i];
    if (dot->numbers && count < ATTRS_MAX)
        attr[count++] = (struct mosaic_attr){.name = "dimension_numbers",
                                             .kind = MOSAIC_ATTR_TEXT, .text = dot->numbers};
    return expand_op(e, MOSAIC_MATMUL, &sum->type, operand, 3, attr, count);
}

/* bf16 has all values of 8-bit floats */
static expanded as_bf16(struct expand *e, expanded x)
{
    struct mosaic_type t = expand_type(&x->type, MOSAIC_BF16);

    return mosaic_is_fp8(x->type.element) ? expand_op1(e, MOSAIC_EXTF, &t, x) : x;
}

/* a vector as the sum of so many of bf16, the largest first: three where it is f32, else itself */
static int split(struct expand *e, expanded x, expanded *part)
{
    const struct mosaic_type wide = x->type, narrow = expand_type(&wide, MOSAIC_BF16);

    if (wide.element != MOSAIC_F32) {
        part[0] = as_bf16(e, x);
        return 1;
    }
    for (int i = 0; i < PARTS; i++) {
        part[i] = expand_op1(e, MOSAIC_TRUNCF, &narrow, x);
        if (i < PARTS - 1)
            x = expand_op2(e, MOSAIC_SUBF, &wide, x, expand_op1(e, MOSAIC_EXTF, &wide, part[i]));
    }
    return PARTS;
}

static expanded exact(struct expand *e, const struct mosaic_op *op, const struct expand_dot *dot)
{
    static const int terms[][2] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
    expanded a[PARTS], b[PARTS], sum;
    int lhs = split(e, dot->lhs, a), rhs = split(e, dot->rhs, b);

    sum = expand_constant(e, &dot->sum->type, 0);
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
        if (terms[i][0] < lhs && terms[i][1] < rhs)
            sum = product_of(e, op, dot, a[terms[i][0]], b[terms[i][1]], sum);
    return mosaic_is_zero(op->operand[2]) ? sum : expand_op2(e, MOSAIC_ADDF, &dot->sum->type, sum,
                                                             dot->sum);
}

/* `size` elements of dimension `dim` from `first` on */
static expanded part_of(struct expand *e, expanded x, int dim, int64_t first, int64_t size)
{
    int64_t *offsets = arena_array(e->a, (size_t)x->type.rank, sizeof(*offsets));
    struct mosaic_type t = x->type;
    struct mosaic_attr attr = {.name = "offsets", .kind = MOSAIC_ATTR_INTS, .count = t.rank,
                               .ints = offsets};

    if (size == t.dim[dim])
        return x;
    offsets[dim] = first;
    t.dim[dim] = size;
    return expand_op(e, MOSAIC_STRIDED_SLICE, &t, &x, 1, &attr, 1);
}

static expanded of_integers(struct expand *e, const struct mosaic_op *op,
                            const struct expand_dot *dot)
{
    const struct mosaic_dot *d = &dot->d;
    const struct mosaic_type whole = dot->sum->type, floats = expand_type(&whole, MOSAIC_F32);
    struct mosaic_type t = expand_type(&dot->lhs->type, MOSAIC_BF16);
    int64_t depth = t.dim[d->lhs_contract];
    expanded a = expand_op1(e, MOSAIC_SITOFP, &t, dot->lhs), b, sum = dot->sum;

    t = expand_type(&dot->rhs->type, MOSAIC_BF16);
    b = expand_op1(e, MOSAIC_SITOFP, &t, dot->rhs);
    for (int64_t first = 0; first < depth; first += EXACT_DEPTH) {
        int64_t size = depth - first < EXACT_DEPTH ? depth - first : EXACT_DEPTH;
        expanded x = part_of(e, a, d->lhs_contract, first, size);
        expanded y = part_of(e, b, d->rhs_contract, first, size);
        expanded z = product_of(e, op, dot, x, y, expand_constant(e, &floats, 0));

        sum = expand_op2(e, MOSAIC_ADDI, &whole, expand_op1(e, MOSAIC_FPTOSI, &whole, z), sum);
    }
    return sum;
}

static enum matrix_type fp8_matrix(enum mosaic_element e)
{
    return e == MOSAIC_F8E5M2     ? MATRIX_F8E5M2
           : e == MOSAIC_F8E4M3FN ? MATRIX_F8E4M3FN
                                  : MATRIX_F8E4M3B11FNUZ;
}

/* the units of this chip take both operands as they are */
static bool is_native(const struct chip *chip, enum mosaic_element a, enum mosaic_element b)
{
    return a == b && chip_matmul_cycles(chip, fp8_matrix(a)) && chip_push_cycles(chip, fp8_matrix(a));
}

/* an integer operand beside a float one: in the float's type, bf16 where that is an 8-bit one */
static expanded as_float(struct expand *e, expanded x, enum mosaic_element other)
{
    struct mosaic_type t = expand_type(&x->type, other == MOSAIC_F32 ? MOSAIC_F32 : MOSAIC_BF16);

    return mosaic_is_float(&x->type) ? x : expand_op1(e, MOSAIC_SITOFP, &t, x);
}

/* what the units take in place of these types; NULL: they take them */
static expanded of_types(struct expand *e, const struct mosaic_op *op, struct expand_dot *dot)
{
    const struct mosaic_type *a = &op->operand[0]->type, *b = &op->operand[1]->type;
    const struct mosaic_type lhs = dot->lhs->type, rhs = dot->rhs->type;
    bool is_mixed = mosaic_is_float(a) != mosaic_is_float(b);

    if (is_mixed) {
        dot->lhs = as_bf16(e, as_float(e, dot->lhs, rhs.element));
        dot->rhs = as_bf16(e, as_float(e, dot->rhs, lhs.element));
    }
    if (dot->d.is_exact && mosaic_is_float(&dot->lhs->type) && mosaic_is_float(&dot->rhs->type) &&
        (dot->lhs->type.element == MOSAIC_F32 || dot->rhs->type.element == MOSAIC_F32))
        return exact(e, op, dot);
    if (is_mixed)
        return product_of(e, op, dot, dot->lhs, dot->rhs, dot->sum);
    if ((mosaic_is_fp8(a->element) || mosaic_is_fp8(b->element)) &&
        !is_native(e->chip, a->element, b->element)) {
        expanded x = as_bf16(e, dot->lhs);

        return product_of(e, op, dot, x, as_bf16(e, dot->rhs), dot->sum);
    }
    if (expand_wider(a->element) != MOSAIC_I8 || expand_wider(b->element) != MOSAIC_I8 ||
        op->result[0]->type.element != MOSAIC_I32 || chip_matmul_cycles(e->chip, MATRIX_S8))
        return NULL;
    return of_integers(e, op, dot);
}

bool expand_product(struct expand *e, const struct mosaic_op *op, expanded *result)
{
    struct expand_dot dot;
    struct mosaic_dot d;
    struct err ignored;
    bool is_other;

    if (mosaic_dot_of(op, &d, &ignored))
        return false;
    is_other = expand_dims(e, op, &d, &dot);
    *result = of_types(e, op, &dot);
    if (!*result && is_other)
        *result = product_of(e, op, &dot, dot.lhs, dot.rhs, dot.sum);
    if (is_other)
        *result = expand_undo_dims(e, op, *result);
    return *result != NULL;
}
