/*
 * Products in types that the matrix units have: operands of one float type, s8 or u8. Predicates
 * are counted as floats; other integers are multiplied elementwise and summed, so that they wrap.
 */
#include "import/structure/structure_impl.h"

struct product {
    struct hlo_builder *b;
    const struct hlo_dot *d;
    int side[2];
    int64_t batch, free[2], contract;   /* elements */
};

static bool has(struct hlo_ints list, int64_t x)
{
    for (int k = 0; k < list.count; k++)
        if (list.item[k] == x)
            return true;
    return false;
}

/* [batch, free, contracted] */
static int as_matrices(struct product *p, int which)
{
    struct hlo_ints batch = which ? p->d->rhs_batch : p->d->lhs_batch;
    struct hlo_ints contract = which ? p->d->rhs_contract : p->d->lhs_contract;
    struct hlo_type t = *hlo_type_of(p->b, p->side[which]);
    int64_t order[STRUCTURE_RANK_MAX];
    int rank = 0;

    p->batch = p->contract = p->free[which] = 1;
    for (int k = 0; k < batch.count; k++) {
        p->batch *= t.dim[batch.item[k]];
        order[rank++] = batch.item[k];
    }
    for (int d = 0; d < t.rank; d++)
        if (!has(batch, d) && !has(contract, d)) {
            p->free[which] *= t.dim[d];
            order[rank++] = d;
        }
    for (int k = 0; k < contract.count; k++) {
        p->contract *= t.dim[contract.item[k]];
        order[rank++] = contract.item[k];
    }
    return hlo_reshape(p->b, hlo_transpose(p->b, p->side[which], order), 3,
                       (int64_t[]){p->batch, p->free[which], p->contract});
}

static int multiply_and_sum(struct product *p, const struct hlo_instruction *from)
{
    struct hlo_builder *b = p->b;
    enum hlo_element e = from->type->element;
    int x = as_matrices(p, 0), y = as_matrices(p, 1), sum;
    int64_t all[4] = {p->batch, p->free[0], p->free[1], p->contract};
    struct hlo_type scalar = hlo_scalar_type(e);

    x = hlo_broadcast(b, hlo_convert(b, x, e), 4, all, (int64_t[]){0, 1, 3});
    y = hlo_broadcast(b, hlo_convert(b, y, e), 4, all, (int64_t[]){0, 2, 3});
    x = hlo_binary(b, OPCODE_MULTIPLY, x, y);
    sum = hlo_constant_int(b, &scalar, 0);
    sum = hlo_reduce(b, x, sum, 1, (int64_t[]){3},
                     hlo_scalar_computation(b->module, OPCODE_ADD, e));
    return hlo_reshape(b, sum, from->type->rank, from->type->dim);
}

static int with_types(struct hlo_builder *b, const struct hlo_instruction *from,
                      const int *operand, enum hlo_element e, enum hlo_element result)
{
    struct hlo_instruction i = *from;
    int x = hlo_convert(b, operand[0], e), y = hlo_convert(b, operand[1], e), side[2] = {x, y};

    i.type = HLO_TYPE(hlo_array_type(b->module->arena, result, from->type->rank, from->type->dim));
    i.label = 0;
    return hlo_copy_instruction(b, &i, side);
}

/* a sum of predicates is true where any product is */
static int of_predicates(struct hlo_builder *b, const struct hlo_instruction *from,
                         const int *operand)
{
    int count = with_types(b, from, operand, ELEMENT_BF16, ELEMENT_F32);
    struct hlo_type t = *hlo_type_of(b, count);

    return hlo_compare(b, HLO_GT, count, hlo_constant(b, &t, 0.0));
}

static bool is_plain_float(enum hlo_element e)
{
    return e == ELEMENT_F32 || e == ELEMENT_BF16;
}

/* products that stay as they are until types are changed */
static bool is_float_product(enum hlo_element x, enum hlo_element y)
{
    if (!hlo_element_is_float(x) || !hlo_element_is_float(y))
        return false;
    return x == y || (is_plain_float(x) && is_plain_float(y)) || x == ELEMENT_F16 ||
           y == ELEMENT_F16;
}

int structure_dot(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                  const struct hlo_instruction *from, const int *operand)
{
    struct product p = {.b = b, .d = hlo_detail(from)->dot, .side = {operand[0], operand[1]}};
    enum hlo_element x = hlo_type_of(b, operand[0])->element;
    enum hlo_element y = hlo_type_of(b, operand[1])->element, to = from->type->element;
    bool is_float = hlo_element_is_float(x) || hlo_element_is_float(y);

    (void)rewrite;
    if (hlo_element_is_complex(x) || hlo_element_is_complex(y) || hlo_element_is_complex(to) ||
        hlo_type_elements(hlo_type_of(b, operand[0])) == 0 ||
        hlo_type_elements(hlo_type_of(b, operand[1])) == 0)
        return -1;
    if (to == ELEMENT_PRED)
        return of_predicates(b, from, operand);
    if (is_float_product(x, y))
        return hlo_element_is_float(to) ? -1 :
            hlo_convert(b, with_types(b, from, operand, ELEMENT_F32, ELEMENT_F32), to);
    if (is_float)                       /* the other one in the type that has all its numbers */
        return hlo_convert(b, with_types(b, from, operand, ELEMENT_F32, ELEMENT_F32), to);
    if (x == y && (x == ELEMENT_S8 || x == ELEMENT_U8))
        return to == ELEMENT_S32 ? -1
                                 : hlo_convert(b, with_types(b, from, operand, x, ELEMENT_S32), to);
    if (hlo_element_is_float(to))       /* integers summed as floats */
        return with_types(b, from, operand, ELEMENT_F32, to);
    return multiply_and_sum(&p, from);
}
