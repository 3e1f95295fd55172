/* Dots of any dimensions and types, as products of matrices. */
#include "import/lanes/gemm.h"
#include "import/eval/handlers.h"
#include "import/eval/operand.h"

#include <string.h>

/* what becomes of an operand's dimensions: order of batch, free and contracted ones */
struct side {
    int order[EVAL_RANK_MAX];
    int64_t batch, free, contract;
};

static bool is_listed(const struct hlo_ints *l, int d)
{
    for (int k = 0; k < l->count; k++)
        if (l->item[k] == d)
            return true;
    return false;
}

static int add_dims(struct side *s, int n, const struct value *v, const struct hlo_ints *l,
                    int64_t *size)
{
    *size = 1;
    for (int k = 0; k < l->count; k++) {
        s->order[n++] = (int)l->item[k];
        *size *= v->dim[l->item[k]];
    }
    return n;
}

static int add_free(struct side *s, int n, const struct value *v, const struct hlo_ints *batch,
                    const struct hlo_ints *contract)
{
    s->free = 1;
    for (int d = 0; d < v->rank; d++)
        if (!is_listed(batch, d) && !is_listed(contract, d)) {
            s->order[n++] = d;
            s->free *= v->dim[d];
        }
    return n;
}

static void lhs_side(const struct call *c, struct side *s)
{
    const struct hlo_dot *d = hlo_detail(c->i)->dot;
    int n = add_dims(s, 0, c->operand[0], &d->lhs_batch, &s->batch);

    n = add_free(s, n, c->operand[0], &d->lhs_batch, &d->lhs_contract);
    add_dims(s, n, c->operand[0], &d->lhs_contract, &s->contract);
}

static void rhs_side(const struct call *c, struct side *s)
{
    const struct hlo_dot *d = hlo_detail(c->i)->dot;
    int n = add_dims(s, 0, c->operand[1], &d->rhs_batch, &s->batch);

    n = add_dims(s, n, c->operand[1], &d->rhs_contract, &s->contract);
    add_free(s, n, c->operand[1], &d->rhs_batch, &d->rhs_contract);
}

static int check_sides(const struct call *c, const struct side *l, const struct side *r)
{
    if (l->batch != r->batch || l->contract != r->contract)
        return call_fail(c, "%lld batches of %lld times %lld of %lld", (long long)l->batch,
                         (long long)l->contract, (long long)r->batch, (long long)r->contract);
    if (l->free > INT32_MAX || r->free > INT32_MAX || l->contract > INT32_MAX)
        return call_fail(c, "a side of the product has more than %d elements", INT32_MAX);
    return 0;
}

static int multiply(struct call *c, const struct side *ls, const struct side *rs,
                    enum hlo_element e, struct value *x, struct value *y)
{
    int64_t dim[3] = { ls->batch, ls->free, rs->free };
    size_t bytes = hlo_element_bytes(e);
    struct value *z = x && y ? call_array(c, e, 3, dim) : NULL;

    for (int64_t b = 0; z && b < ls->batch; b++)
        gemm(lane_of(e), ls->free, rs->free, ls->contract,
             (char *)x->data + (size_t)(b * ls->free * ls->contract) * bytes,
             (char *)y->data + (size_t)(b * rs->free * rs->contract) * bytes,
             (char *)z->data + (size_t)(b * ls->free * rs->free) * bytes);
    value_drop(&c->ev->pool, x);
    value_drop(&c->ev->pool, y);
    return operand_store(c, z);
}

int eval_dot(struct call *c)
{
    enum hlo_element e = gemm_element(c->i->type->element, c->operand[0]->element,
                                      c->operand[1]->element);
    struct side ls, rs;

    lhs_side(c, &ls);
    rhs_side(c, &rs);
    if (check_sides(c, &ls, &rs))
        return -1;
    return multiply(c, &ls, &rs, e, operand_ordered(c, operand_as(c, 0, e), ls.order),
                    operand_ordered(c, operand_as(c, 1, e), rs.order));
}
