/* What an array of too many dimensions is kept as, and which rule an operation on it has. */
#include "import/expand/ranks.h"

#include "import/expand/ranks_impl.h"

static int kept_rank(const struct hlo_type *t)
{
    int rank = 0;

    for (int d = 0; d < t->rank; d++)
        rank += t->dim[d] != 1;
    return rank;
}

bool ranks_is_deep(const struct hlo_type *t)
{
    for (int k = 0; hlo_type_is_tuple(t) && k < t->part_count; k++)
        if (ranks_is_deep(&t->part[k]))
            return true;
    return !hlo_type_is_tuple(t) && t->rank > RANKS_MAX;
}

struct hlo_type ranks_type(struct arena *a, const struct hlo_type *t)
{
    int64_t dim[RANKS_MAX];
    int rank = 0;

    if (!ranks_is_deep(t))
        return *t;
    if (hlo_type_is_tuple(t)) {
        struct hlo_type *part = arena_array(a, (size_t)t->part_count, sizeof(*part));

        for (int k = 0; k < t->part_count; k++)
            part[k] = ranks_type(a, &t->part[k]);
        return hlo_tuple_type(a, t->part_count, part);
    }
    if (kept_rank(t) > RANKS_MAX) {
        dim[0] = hlo_type_elements(t);
        return hlo_array_type(a, t->element, 1, dim);
    }
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] != 1)
            dim[rank++] = t->dim[d];
    return hlo_array_type(a, t->element, rank, dim);
}

void ranks_group(struct ranks_view *v, int rank, const int64_t *dim, const int *kind)
{
    int count = 0, last = RANKS_ALONE;
    bool merges;

    for (int d = 0; d < rank; d++)
        count += dim[d] != 1 || kind[d] == RANKS_ALONE;
    merges = count > RANKS_MAX;
    v->rank = 0;
    for (int d = 0; d < rank; d++) {
        v->group[d] = -1;
        if (dim[d] == 1 && kind[d] != RANKS_ALONE)
            continue;
        if (!merges || v->rank == 0 || kind[d] == RANKS_ALONE || kind[d] != last)
            v->dim[v->rank++] = 1;
        v->group[d] = v->rank - 1;
        v->dim[v->rank - 1] *= dim[d];
        last = kind[d];
    }
}

struct hlo_ints ranks_ints(struct expand_site *s, int count, const int64_t *item)
{
    return (struct hlo_ints){count, arena_copy(s->b->module->arena, item, (size_t)count,
                                               sizeof(*item))};
}

int ranks_see(struct expand_site *s, int x, int rank, const int64_t *dim)
{
    return hlo_reshape(s->b, x, rank, dim);
}

int ranks_keep(struct expand_site *s, int x, const struct hlo_type *t)
{
    struct hlo_type kept = ranks_type(s->b->module->arena, t);

    return hlo_reshape(s->b, x, kept.rank, kept.dim);
}

int64_t ranks_product(const int64_t *dim, int from, int to)
{
    int64_t product = 1;

    for (int d = from; d < to; d++)
        product *= dim[d];
    return product;
}

bool ranks_has(struct hlo_ints list, int64_t x)
{
    for (int k = 0; k < list.count; k++)
        if (list.item[k] == x)
            return true;
    return false;
}

static int reshape(struct expand_site *s) { return ranks_keep(s, s->operand[0], s->from->type); }

/* the same operation on arrays as they are kept: elementwise, tuples, loops */
static int same(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    struct hlo_type kept = ranks_type(s->b->module->arena, i.type);

    i.type = HLO_TYPE(kept);
    if (i.op == OPCODE_CONSTANT && i.literal) {
        struct hlo_literal *l = arena_copy(s->b->module->arena, i.literal, 1, sizeof(*l));

        if (hlo_type_is_tuple(i.type))
            return expand_refuse(s, "a constant that is a tuple");
        l->type = kept;
        i.literal = l;
    }
    return hlo_copy_instruction(s->b, &i, s->operand);
}

static expand_function *rule_of(const struct hlo_instruction *i)
{
    switch (i->op) {
    case OPCODE_RESHAPE: case OPCODE_BITCAST: return reshape;
    case OPCODE_BROADCAST: return ranks_broadcast;
    case OPCODE_REDUCE: return ranks_reduce;
    case OPCODE_TRANSPOSE: return ranks_permute;
    case OPCODE_SLICE: return ranks_slice;
    case OPCODE_PAD: return ranks_pad;
    case OPCODE_REVERSE: return ranks_reverse;
    case OPCODE_CONCATENATE: case OPCODE_SORT: case OPCODE_ALL_GATHER: case OPCODE_REDUCE_SCATTER:
        return ranks_along;
    case OPCODE_TOPK: return ranks_top;
    case OPCODE_IOTA: return ranks_iota;
    case OPCODE_DOT: return ranks_dot;
    case OPCODE_DYNAMIC_SLICE: return ranks_dynamic_slice;
    case OPCODE_DYNAMIC_UPDATE_SLICE: return ranks_dynamic_update;
    case OPCODE_REDUCE_WINDOW: return ranks_window;
    case OPCODE_GATHER: return ranks_gather;
    case OPCODE_SCATTER: return ranks_scatter;
    case OPCODE_CONVOLUTION: case OPCODE_SELECT_AND_SCATTER: case OPCODE_ALL_TO_ALL:
        return NULL;
    default: return same;               /* elements, structure */
    }
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct expand_site s = {.b = b, .from = from, .operand = operand, .old = r->old, .err = r->err};
    const struct hlo_computation *c = &r->old->computation[b->computation];
    bool touches = ranks_is_deep(from->type);
    expand_function *rule = rule_of(from);
    int made;

    for (int k = 0; k < from->operand_count; k++)
        touches = touches || ranks_is_deep(c->instruction[from->operand[k]].type);
    if (!touches)
        return EXPAND_KEEP;
    for (int k = -1; k < from->operand_count; k++) {
        const struct hlo_type *t = k < 0 ? from->type : c->instruction[from->operand[k]].type;

        if (!hlo_type_is_tuple(t) && t->rank > RANKS_READ_MAX)
            rule = NULL;
    }
    made = rule ? rule(&s) : expand_refuse(&s, "nothing expands it for more than %d dimensions",
                                           RANKS_MAX);
    if (made == EXPAND_FAILED)
        r->status = -1;
    return made;
}

int ranks_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                  struct err *e)
{
    struct hlo_rewrite r = {.visit = visit};

    return hlo_rewrite_module(old, made, a, &r, e);
}
