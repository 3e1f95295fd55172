/* Types of what is done element by element, and of what has no operands. */
#include "import/program/infer_impl.h"

#include <inttypes.h>

/* of an operand, without its layout, which belongs to one array in one place */
static int like(struct infer *x, int operand)
{
    *x->t = *infer_operand(x, operand);
    x->t->layout = NULL;
    return 0;
}

static int like_with(struct infer *x, int operand, enum hlo_element e)
{
    like(x, operand);
    x->t->element = e;
    return 0;
}

int infer_parameter(struct infer *x)
{
    return x->i->index < 0 ? infer_fail(x, "its number is negative") : infer_given(x);
}

int infer_constant(struct infer *x)
{
    if (!x->i->literal)
        return infer_fail(x, "it has no literal");
    *x->t = x->i->literal->type;
    return 0;
}

int infer_iota(struct infer *x)
{
    if (infer_want_type(x))
        return -1;
    if (x->i->index < 0 || x->i->index >= x->i->type->rank)
        return infer_fail(x, "its dimension is %" PRId64 ", and it has %d", x->i->index,
                          x->i->type->rank);
    return infer_given(x);
}

int infer_device_id(struct infer *x)
{
    *x->t = hlo_scalar_type(ELEMENT_U32);
    return 0;
}

int infer_same(struct infer *x) { return like(x, 0); }
int infer_first(struct infer *x) { return like(x, 0); }

int infer_abs(struct infer *x) { return infer_real_part(x); }

int infer_real_part(struct infer *x)
{
    enum hlo_element e = infer_operand(x, 0)->element;

    return like_with(x, 0, e == ELEMENT_C64 ? ELEMENT_F32 : e == ELEMENT_C128 ? ELEMENT_F64 : e);
}

int infer_predicate(struct infer *x) { return like_with(x, 0, ELEMENT_PRED); }

int infer_convert(struct infer *x)
{
    if (infer_want_type(x))
        return -1;
    if (hlo_element_kind(x->i->type->element) == ELEMENT_KIND_NONE)
        return infer_fail(x, "nothing is converted to %s", hlo_element_name(x->i->type->element));
    return like_with(x, 0, x->i->type->element);
}

/* Of other widths there is a last dimension more, or less: of the parts of each element. */
int infer_bitcast_convert(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0), *to = x->i->type;
    struct infer_dims d = {0};
    int from_bits, to_bits, rank = from->rank;

    if (infer_want_type(x))
        return -1;
    if (hlo_element_kind(to->element) == ELEMENT_KIND_NONE)
        return infer_fail(x, "there are no bits of %s", hlo_element_name(to->element));
    from_bits = from->element == ELEMENT_PRED ? 8 : hlo_element_bits(from->element);
    to_bits = to->element == ELEMENT_PRED ? 8 : hlo_element_bits(to->element);
    if (from_bits % to_bits && to_bits % from_bits)
        return infer_fail(x, "%d bits are not made of pieces of %d", from_bits, to_bits);
    if (to_bits > from_bits) {
        rank--;
        if (rank < 0 || !infer_dim_agrees(from->dim[rank], to_bits / from_bits))
            return infer_fail(x, "the last dimension must have %d elements of %d bits",
                              to_bits / from_bits, from_bits);
    }
    for (int k = 0; k < rank; k++) {
        if (infer_copy_dim(x, &d, from, k))
            return -1;
    }
    if (to_bits < from_bits && infer_add_dim(x, &d, from_bits / to_bits, false))
        return -1;
    *x->t = infer_make(x, &d, to->element);
    return 0;
}

int infer_reduce_precision(struct infer *x)
{
    if (hlo_detail(x->i)->exponent_bits < 1)
        return infer_fail(x, "it needs at least one bit of exponent");
    return like(x, 0);
}

static int check_alike(struct infer *x, int a, int b)
{
    const struct hlo_type *left = infer_operand(x, a), *right = infer_operand(x, b);
    char first[120], second[120];

    if (infer_elements_agree(x, left, right) && left->part_count == right->part_count
        && infer_dims_agree(left, right))
        return 0;
    return infer_fail(x, "operands %d and %d are %s and %s", a, b,
                      hlo_type_print(left, first, sizeof(first)),
                      hlo_type_print(right, second, sizeof(second)));
}

/* A dimension that is bounded in one operand is so in the result. */
static int like_both(struct infer *x, int a, int b)
{
    const struct hlo_type *left = infer_operand(x, a), *right = infer_operand(x, b);
    struct infer_dims d = {0};

    if (check_alike(x, a, b))
        return -1;
    if (!left->is_bounded && !right->is_bounded)
        return like(x, a);
    for (int k = 0; k < left->rank; k++) {
        bool is_bounded = (left->is_bounded && left->is_bounded[k])
                          || (right->is_bounded && right->is_bounded[k]);

        if (infer_add_dim(x, &d, left->dim[k] == HLO_UNBOUNDED ? right->dim[k] : left->dim[k],
                          is_bounded))
            return -1;
    }
    *x->t = infer_make(x, &d, left->element);
    return 0;
}

int infer_binary(struct infer *x) { return like_both(x, 0, 1); }

int infer_compare(struct infer *x)
{
    if (like_both(x, 0, 1))
        return -1;
    x->t->element = ELEMENT_PRED;
    return 0;
}

int infer_complex(struct infer *x)
{
    enum hlo_element e = infer_operand(x, 0)->element;

    if (e != ELEMENT_F32 && e != ELEMENT_F64)
        return infer_fail(x, "complex numbers are made of f32 or f64");
    if (like_both(x, 0, 1))
        return -1;
    x->t->element = e == ELEMENT_F64 ? ELEMENT_C128 : ELEMENT_C64;
    return 0;
}

int infer_stochastic_convert(struct infer *x)
{
    if (!infer_dims_agree(infer_operand(x, 0), infer_operand(x, 1)))
        return infer_fail(x, "there must be as many random bits as elements");
    return infer_convert(x);
}

int infer_clamp(struct infer *x)
{
    for (int n = 0; n < 3; n += 2) {
        const struct hlo_type *bound = infer_operand(x, n), *t = infer_operand(x, 1);

        if (!infer_elements_agree(x, bound, t) || (bound->rank > 0 && !infer_dims_agree(bound, t)))
            return infer_fail(x, "operand %d is no bound of such elements", n);
    }
    return like(x, 1);
}

int infer_select(struct infer *x)
{
    const struct hlo_type *which = infer_operand(x, 0);

    if (which->rank > 0 && !infer_dims_agree(which, infer_operand(x, 1)))
        return infer_fail(x, "it needs one predicate, or as many as elements");
    return like_both(x, 1, 2);
}
