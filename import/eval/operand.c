/* Converts, rounds and orders operands of dots and convolutions. */
#include "import/eval/operand.h"
#include "import/lanes/stride.h"

#include <string.h>

/* is it a product of f16, whose bits no single bf16 holds? Cores take three passes for both sides */
static bool has_f16(const struct call *c)
{
    return c->operand[0]->element == ELEMENT_F16 || c->operand[1]->element == ELEMENT_F16;
}

/* Does the program, or the chip that is asked for, round f32 operands to bf16 first? */
static bool rounds_to_bf16(const struct call *c, int k)
{
    const char *algorithm = hlo_detail(c->i)->dot ? hlo_detail(c->i)->dot->algorithm : NULL;

    if (algorithm)
        return !strncmp(algorithm, "dot_bf16_bf16", 13) && !strstr(algorithm, "_x");
    return c->ev->s.precision == EVAL_BF16_DEFAULT &&
           c->i->precision[k] == HLO_PRECISION_DEFAULT && !has_f16(c);
}

struct value *operand_as(struct call *c, int k, enum hlo_element e)
{
    struct value *v = c->operand[k], *made;
    bool is_complex = e == ELEMENT_C64;         /* products of two numbers each */
    bool is_rounded = (e == ELEMENT_F32 || is_complex) && v->element == e && k < 2 &&
                      rounds_to_bf16(c, k);

    if (v->element == e && !is_rounded)
        return value_hold(v);
    made = call_array(c, e, v->rank, v->dim);
    if (!made)
        return NULL;
    lane_convert(e, made->data, v->element, v->data, value_count(v));
    if (is_rounded)
        lane_round(ELEMENT_BF16, made->data, value_count(v) * (is_complex ? 2 : 1));
    return made;
}

struct value *operand_ordered(struct call *c, struct value *v, const int *order)
{
    struct stride_copy s = { .rank = v ? v->rank : 0 };
    int64_t step[EVAL_RANK_MAX];
    struct value *made;
    int last = -1;
    bool is_same = true;

    if (!v)
        return NULL;
    value_strides(v, step);
    for (int d = 0; d < v->rank; d++) {
        s.dim[d] = v->dim[order[d]];
        s.from_step[d] = step[order[d]];
        is_same &= s.dim[d] == 1 || order[d] > last;
        last = s.dim[d] == 1 ? last : order[d];
    }
    if (is_same) {                              /* only sizes of one change places */
        made = value_view(&c->ev->pool, v, v->element, v->rank, s.dim);
        value_drop(&c->ev->pool, v);
        return made;
    }
    made = call_array(c, v->element, v->rank, s.dim);
    if (made) {
        value_strides(made, s.to_step);
        stride_copy(s, value_element_bytes(v), made->data, v->data);
    }
    value_drop(&c->ev->pool, v);
    return made;
}

int operand_store(struct call *c, struct value *product)
{
    enum hlo_element e = c->i->type->element;
    int64_t dim[EVAL_RANK_MAX];

    if (!product)
        return -1;
    call_dims(c, c->i->type, dim);
    if (product->element == e) {
        c->result = value_view(&c->ev->pool, product, e, c->i->type->rank, dim);
    } else {
        c->result = call_array(c, e, c->i->type->rank, dim);
        if (c->result)
            lane_convert(e, c->result->data, product->element, product->data,
                         value_count(product));
    }
    value_drop(&c->ev->pool, product);
    return c->result ? 0 : -1;
}
