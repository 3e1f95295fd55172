/* Finds the rule of an operation's type, and what all rules use. */
#include "import/program/infer_impl.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>

static const struct {
    int (*rule)(struct infer *);
    unsigned elements;
} rules[OPCODE_COUNT] = {
#define INFER(op, rule, elements) [OPCODE_##op] = {infer_##rule, INFER_##elements},
#include "import/program/infer.def"
};

int infer_fail(struct infer *x, const char *fmt, ...)
{
    char rule[400];
    va_list args;

    va_start(args, fmt);
    text_print_args(rule, sizeof(rule), fmt, args);
    va_end(args);
    return err_at(x->err, x->m->file, x->i->line, x->i->col, "%.80s (%s): %s",
                  x->i->label ? hlo_name(x->i) : "it", hlo_opcode_name(x->i->op), rule);
}

const struct hlo_type *infer_operand(const struct infer *x, int n)
{
    return x->c->instruction[x->i->operand[n]].type;
}

bool infer_has_type(const struct infer *x) { return x->i->type->element != ELEMENT_COUNT; }

int infer_want_type(struct infer *x)
{
    return infer_has_type(x) ? 0 : infer_fail(x, "its type must be written");
}

int infer_given(struct infer *x)
{
    *x->t = *x->i->type;
    return infer_want_type(x);
}

static unsigned set_of(const struct hlo_type *t)
{
    static const unsigned sets[] = {
        [ELEMENT_KIND_PREDICATE] = INFER_PRED, [ELEMENT_KIND_SIGNED] = INFER_INT,
        [ELEMENT_KIND_UNSIGNED] = INFER_INT,   [ELEMENT_KIND_FLOAT] = INFER_FLOAT,
        [ELEMENT_KIND_COMPLEX] = INFER_COMPLEX, [ELEMENT_KIND_NONE] = INFER_OTHER,
    };

    return sets[hlo_element_kind(t->element)];
}

bool infer_dim_agrees(int64_t a, int64_t b)
{
    return a == b || a == HLO_UNBOUNDED || b == HLO_UNBOUNDED;
}

bool infer_dims_agree(const struct hlo_type *a, const struct hlo_type *b)
{
    bool agree = a->rank == b->rank;

    for (int d = 0; agree && d < a->rank; d++)
        agree = infer_dim_agrees(a->dim[d], b->dim[d]);
    return agree;
}

bool infer_elements_mix(const struct hlo_type *a, const struct hlo_type *b)
{
    return a->element == b->element
           || (hlo_element_is_float(a->element) && hlo_element_is_float(b->element));
}

static bool agree(const struct hlo_type *a, const struct hlo_type *b, bool may_mix)
{
    bool is_same = a->part_count == b->part_count && infer_dims_agree(a, b)
                   && (may_mix ? infer_elements_mix(a, b) : a->element == b->element);

    for (int p = 0; is_same && p < a->part_count; p++)
        is_same = agree(&a->part[p], &b->part[p], may_mix);
    return is_same;
}

bool hlo_types_agree(const struct hlo_module *m, const struct hlo_type *a, const struct hlo_type *b)
{
    return agree(a, b, m->is_scheduled);
}

bool infer_elements_agree(const struct infer *x, const struct hlo_type *a, const struct hlo_type *b)
{
    return x->m->is_scheduled ? infer_elements_mix(a, b) : a->element == b->element;
}

int infer_check_operands(struct infer *x, int low, int high)
{
    int count = x->i->operand_count;

    if (count >= low && (high < 0 || count <= high))
        return 0;
    if (low == high)
        return infer_fail(x, "it has %d operands, and needs %d", count, low);
    return infer_fail(x, "it has %d operands, and needs at least %d", count, low);
}

int infer_check_rank(struct infer *x, int operand, int rank)
{
    const struct hlo_type *t = infer_operand(x, operand);

    if (!hlo_type_is_tuple(t) && t->rank == rank)
        return 0;
    return infer_fail(x, "operand %d has %d dimensions, and needs %d", operand, t->rank, rank);
}

int infer_check_scalar(struct infer *x, int operand) { return infer_check_rank(x, operand, 0); }

int infer_check_dims(struct infer *x, const char *what, struct hlo_ints dims, int rank)
{
    for (int n = 0; n < dims.count; n++) {
        if (dims.item[n] < 0 || dims.item[n] >= rank)
            return infer_fail(x, "%s name dimension %" PRId64 ", and there are %d", what,
                              dims.item[n], rank);
        for (int before = 0; before < n; before++) {
            if (dims.item[before] == dims.item[n])
                return infer_fail(x, "%s name dimension %" PRId64 " twice", what, dims.item[n]);
        }
    }
    return 0;
}

int infer_add_dim(struct infer *x, struct infer_dims *d, int64_t size, bool is_bounded)
{
    if (d->rank == INFER_RANK_MAX)
        return infer_fail(x, "the result has more than %d dimensions", INFER_RANK_MAX);
    d->dim[d->rank] = size;
    d->is_bounded[d->rank++] = is_bounded;
    return 0;
}

int infer_copy_dim(struct infer *x, struct infer_dims *d, const struct hlo_type *t, int dim)
{
    return infer_add_dim(x, d, t->dim[dim], t->is_bounded && t->is_bounded[dim]);
}

struct hlo_type infer_make(struct infer *x, const struct infer_dims *d, enum hlo_element e)
{
    struct hlo_type t = hlo_array_type(x->arena, e, d->rank, d->dim);
    bool is_any = false;

    for (int k = 0; k < d->rank; k++)
        is_any |= d->is_bounded[k];
    if (is_any)
        t.is_bounded = arena_copy(x->arena, d->is_bounded, (size_t)d->rank, sizeof(bool));
    return t;
}

static int check_elements(struct infer *x, unsigned elements)
{
    for (int n = 0; n < x->i->operand_count; n++) {
        const struct hlo_type *t = infer_operand(x, n);

        unsigned taken = n == 0 ? elements : elements & INFER_OTHER ? INFER_ANY : INFER_ARRAY;

        if (!(set_of(t) & taken))
            return infer_fail(x, "it takes no %s as operand %d", hlo_element_name(t->element), n);
    }
    return 0;
}

int hlo_infer_type(const struct hlo_module *m, const struct hlo_computation *c,
                   const struct hlo_instruction *i, struct arena *a, struct hlo_type *t,
                   struct err *e)
{
    struct infer x = {m, c, i, a, t, e};
    int arity = hlo_opcode_arity(i->op), computations = hlo_opcode_computations(i->op);

    *t = (struct hlo_type){.rank = 0};
    if (arity >= 0 && infer_check_operands(&x, arity, arity))
        return -1;
    if (computations >= 0 && hlo_detail(i)->computation_count != computations)
        return infer_fail(&x, "it calls %d computations, and needs %d",
                          hlo_detail(i)->computation_count, computations);
    if (!rules[i->op].rule)
        return infer_given(&x);
    if (check_elements(&x, rules[i->op].elements))
        return -1;
    return rules[i->op].rule(&x);
}
