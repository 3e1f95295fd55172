/*
 * Arrays of more dimensions than the compiler's have lose those of size one: gradients of enlarged
 * pictures reshape to ten and more, most of them empty words.
 */
#include "import/expand/squeeze.h"

#include "import/expand/site.h"

static bool is_deep(const struct hlo_type *t)
{
    if (hlo_type_is_tuple(t)) {
        for (int i = 0; i < t->part_count; i++)
            if (is_deep(&t->part[i]))
                return true;
        return false;
    }
    return t->rank > SQUEEZE_RANK_MAX;
}

/* dimensions that stay, in all arrays that are too deep */
static bool stays(const struct hlo_type *t, int d)
{
    return t->rank <= SQUEEZE_RANK_MAX || t->dim[d] != 1;
}

/* the place of dimension d among those that stay */
static int place_of(const struct hlo_type *t, int d)
{
    int place = 0;

    for (int k = 0; k < d; k++)
        place += stays(t, k);
    return place;
}

static struct hlo_type squeezed(struct arena *a, const struct hlo_type *t)
{
    struct hlo_type made;
    int64_t *dim;

    if (!is_deep(t))
        return *t;
    if (hlo_type_is_tuple(t)) {
        struct hlo_type *part = arena_array(a, (size_t)t->part_count, sizeof(*part));

        for (int i = 0; i < t->part_count; i++)
            part[i] = squeezed(a, &t->part[i]);
        return hlo_tuple_type(a, t->part_count, part);
    }
    dim = arena_array(a, (size_t)t->rank + 1, sizeof(*dim));
    for (int d = 0; d < t->rank; d++)
        if (stays(t, d))
            dim[place_of(t, d)] = t->dim[d];
    made = hlo_array_type(a, t->element, place_of(t, t->rank), dim);
    return made;
}

static struct arena *arena_of(const struct expand_site *s) { return s->b->module->arena; }

/* those of a list that stay, numbered anew */
static struct hlo_ints kept_dims(struct expand_site *s, const struct hlo_type *t, struct hlo_ints l)
{
    int64_t *item = arena_array(arena_of(s), (size_t)l.count + 1, sizeof(*item));
    int count = 0;

    for (int i = 0; i < l.count; i++)
        if (stays(t, (int)l.item[i]))
            item[count++] = place_of(t, (int)l.item[i]);
    return (struct hlo_ints){count, item};
}

/* a list with an entry for each dimension */
static struct hlo_ints kept_entries(struct expand_site *s, const struct hlo_type *t,
                                    struct hlo_ints l)
{
    int64_t *item = arena_array(arena_of(s), (size_t)l.count + 1, sizeof(*item));
    int count = 0;

    for (int d = 0; d < l.count && d < t->rank; d++)
        if (stays(t, d))
            item[count++] = l.item[d];
    return (struct hlo_ints){count, item};
}

static int apply(struct expand_site *s, struct hlo_instruction *i, const int *operand)
{
    i->type = HLO_TYPE(squeezed(arena_of(s), i->type));
    return hlo_copy_instruction(s->b, i, operand);
}

static int reshape(struct expand_site *s)
{
    struct hlo_type t = squeezed(arena_of(s), s->from->type);

    return hlo_reshape(s->b, s->operand[0], t.rank, t.dim);
}

/* dimensions of the operand go where those of the result stay; it loses the others */
static int broadcast(struct expand_site *s)
{
    const struct hlo_type *from = expand_operand_type(s, 0), *to = s->from->type;
    struct hlo_type t = squeezed(arena_of(s), to);
    int64_t *dim = arena_array(arena_of(s), (size_t)from->rank + 1, sizeof(*dim));
    int64_t *dims = arena_array(arena_of(s), (size_t)from->rank + 1, sizeof(*dims));
    int count = 0;

    for (int d = 0; d < from->rank; d++) {
        int at = (int)hlo_detail(s->from)->dims.item[d];

        if (!stays(to, at) || !stays(from, d))
            continue;
        dim[count] = from->dim[d];
        dims[count++] = place_of(to, at);
    }
    return hlo_broadcast(s->b, hlo_reshape(s->b, s->operand[0], count, dim), t.rank, t.dim, dims);
}

/* of the results each is what it is with its dimensions of size one, if it has room for them */
static int reduce(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    const struct hlo_type *from = expand_operand_type(s, 0);
    struct hlo_type t = squeezed(arena_of(s), from), wanted = squeezed(arena_of(s), i.type);
    int64_t *kept = arena_array(arena_of(s), (size_t)t.rank + 1, sizeof(*kept));
    int rank = 0, x;

    if (hlo_type_is_tuple(i.type) || s->from->operand_count != 2)
        return expand_refuse(s, "reduces several arrays of more than %d dimensions",
                             SQUEEZE_RANK_MAX);
    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->dims = kept_dims(s, from, i.detail->dims);
    for (int d = 0; d < t.rank; d++) {
        bool is_reduced = false;

        for (int k = 0; k < hlo_detail(&i)->dims.count; k++)
            is_reduced = is_reduced || hlo_detail(&i)->dims.item[k] == d;
        if (!is_reduced)
            kept[rank++] = t.dim[d];
    }
    i.type = HLO_TYPE(hlo_array_type(arena_of(s), t.element, rank, kept));
    x = hlo_detail(&i)->dims.count ? hlo_copy_instruction(s->b, &i, s->operand) : s->operand[0];
    return hlo_reshape(s->b, x, wanted.rank, wanted.dim);
}

/* a transpose of what stays; dimensions of size one have no order */
static int transpose(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;

    i.detail = HLO_COPIED_DETAIL(&i);
    i.detail->dims = kept_dims(s, expand_operand_type(s, 0), i.detail->dims);
    return apply(s, &i, s->operand);
}

/* SLICE's three lists; PAD's stand in their place */
static void keep_entries(struct expand_site *s, const struct hlo_type *from,
                         struct hlo_detail *own)
{
    own->start = kept_entries(s, from, own->start);
    own->limit = kept_entries(s, from, own->limit);
    own->stride = kept_entries(s, from, own->stride);
}

static int by_dimensions(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    const struct hlo_type *from = expand_operand_type(s, 0);
    struct hlo_type wanted = squeezed(arena_of(s), i.type);
    int64_t *dim = arena_array(arena_of(s), (size_t)from->rank + 1, sizeof(*dim));
    struct hlo_detail *own;
    int rank = 0;

    for (int d = 0; d < from->rank; d++)
        if (!stays(from, d) && i.type->dim[d] != 1)
            return expand_refuse(s, "gives a dimension of size 1 another size, in more than %d "
                                 "dimensions", SQUEEZE_RANK_MAX);
    own = i.detail = HLO_COPIED_DETAIL(&i);
    if (i.op == OPCODE_REVERSE || i.op == OPCODE_CONCATENATE)
        own->dims = kept_dims(s, from, own->dims);
    if (i.op == OPCODE_SLICE || i.op == OPCODE_PAD)
        keep_entries(s, from, own);
    for (int d = 0; d < from->rank; d++)        /* what it has made of size one goes behind it */
        if (stays(from, d))
            dim[rank++] = i.type->dim[d];
    i.type = HLO_TYPE(hlo_array_type(arena_of(s), i.type->element, rank, dim));
    return hlo_reshape(s->b, hlo_copy_instruction(s->b, &i, s->operand), wanted.rank, wanted.dim);
}

static int iota(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    struct hlo_type t = squeezed(arena_of(s), i.type);

    if (!stays(s->from->type, (int)i.index))
        return hlo_constant_int(s->b, &t, 0);
    i.index = place_of(s->from->type, (int)i.index);
    return apply(s, &i, NULL);
}

static int constant(struct expand_site *s)
{
    struct hlo_literal *l;

    if (hlo_type_is_tuple(s->from->type) || !s->from->literal)
        return expand_refuse(s, "a constant that is a tuple");
    l = arena_copy(arena_of(s), s->from->literal, 1, sizeof(*l));
    l->type = squeezed(arena_of(s), &l->type);
    return hlo_constant_literal(s->b, l);
}

static int same(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;

    return apply(s, &i, s->operand);
}

static expand_function *rule_of(const struct hlo_instruction *i)
{
    switch (i->op) {
    case OPCODE_RESHAPE: case OPCODE_BITCAST:
        return reshape;
    case OPCODE_BROADCAST:
        return broadcast;
    case OPCODE_REDUCE:
        return reduce;
    case OPCODE_TRANSPOSE:
        return transpose;
    case OPCODE_REVERSE: case OPCODE_CONCATENATE: case OPCODE_SLICE: case OPCODE_PAD:
        return by_dimensions;
    case OPCODE_IOTA:
        return iota;
    case OPCODE_CONSTANT:
        return constant;
    case OPCODE_GATHER: case OPCODE_SCATTER: case OPCODE_DOT: case OPCODE_CONVOLUTION:
    case OPCODE_DYNAMIC_SLICE: case OPCODE_DYNAMIC_UPDATE_SLICE: case OPCODE_REDUCE_WINDOW:
    case OPCODE_SELECT_AND_SCATTER: case OPCODE_SORT:
        return NULL;
    default:                            /* elements, structure */
        return same;
    }
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct expand_site s = {.b = b, .from = from, .operand = operand, .old = r->old, .err = r->err};
    const struct hlo_computation *c = &r->old->computation[b->computation];
    bool touches = is_deep(from->type);
    expand_function *rule;
    int made;

    for (int k = 0; k < from->operand_count; k++)
        touches = touches || is_deep(c->instruction[from->operand[k]].type);
    if (!touches)
        return EXPAND_KEEP;
    rule = rule_of(from);
    made = rule ? rule(&s) : expand_refuse(&s, "nothing expands it for more than %d dimensions",
                                           SQUEEZE_RANK_MAX);
    if (made == EXPAND_FAILED)
        r->status = -1;
    return made;
}

int squeeze_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e)
{
    struct hlo_rewrite r = {.visit = visit};

    return hlo_rewrite_module(old, made, a, &r, e);
}
