/* The pass that takes bounded dimensions out of a program. */
#include "import/types/sized.h"

static bool is_bounded(const struct hlo_type *t, int d) { return t->is_bounded && t->is_bounded[d]; }

static bool has_bounds(const struct hlo_type *t)
{
    if (hlo_type_is_tuple(t)) {
        for (int i = 0; i < t->part_count; i++)
            if (has_bounds(&t->part[i]))
                return true;
        return false;
    }
    for (int d = 0; d < t->rank; d++)
        if (is_bounded(t, d))
            return true;
    return false;
}

struct hlo_type sized_bound(struct arena *a, const struct hlo_type *t)
{
    return has_bounds(t) ? hlo_array_type(a, t->element, t->rank, t->dim) : *t;
}

struct hlo_type sized_type(struct arena *a, const struct hlo_type *t)
{
    struct hlo_type *part;
    int count = 0;

    if (!has_bounds(t))
        return *t;
    if (hlo_type_is_tuple(t)) {
        part = arena_array(a, (size_t)t->part_count, sizeof(*part));
        for (int i = 0; i < t->part_count; i++)
            part[i] = sized_type(a, &t->part[i]);
        return hlo_tuple_type(a, t->part_count, part);
    }
    part = arena_array(a, (size_t)t->rank + 1, sizeof(*part));
    part[count++] = sized_bound(a, t);
    for (int d = 0; d < t->rank; d++)
        if (is_bounded(t, d))
            part[count++] = hlo_scalar_type(ELEMENT_S32);
    return hlo_tuple_type(a, count, part);
}

struct sized sized_take(struct hlo_builder *b, const struct hlo_type *t, int x)
{
    struct sized v = {.x = x};
    int part = 1;

    for (int d = 0; d < t->rank && d < SIZED_RANK_MAX; d++)
        v.size[d] = is_bounded(t, d) ? hlo_tuple_element(b, x, part++) : -1;
    if (part > 1)
        v.x = hlo_tuple_element(b, x, 0);
    return v;
}

struct sized sized_operand(struct expand_site *s, int operand)
{
    return sized_take(s->b, expand_operand_type(s, operand), s->operand[operand]);
}

int sized_size(struct hlo_builder *b, const struct sized *v, int dim)
{
    return v->size[dim] >= 0 ? v->size[dim]
                             : ar_scalar(b, ELEMENT_S32, hlo_type_of(b, v->x)->dim[dim]);
}

int sized_make(struct hlo_builder *b, const struct hlo_type *t, struct sized v)
{
    int part[SIZED_RANK_MAX + 1], count = 1;

    part[0] = v.x;
    for (int d = 0; d < t->rank; d++)
        if (is_bounded(t, d))
            part[count++] = sized_size(b, &v, d);
    return count == 1 ? v.x : hlo_tuple(b, count, part);
}

int sized_fill(struct hlo_builder *b, const struct sized *v, int value, const bool *mask)
{
    struct hlo_type numbers = ar_type(b, v->x, ELEMENT_S32);
    int x = v->x;

    for (int d = 0; d < numbers.rank; d++) {
        int at;

        if (v->size[d] < 0 || (mask && !mask[d]))
            continue;
        at = hlo_iota(b, &numbers, d);
        x = ar_sel(b, ar_lt(b, at, ar_spread(b, v->size[d], at)), x, ar_spread(b, value, x));
    }
    return x;
}

int sized_apply(struct expand_site *s, const int *operand)
{
    struct hlo_instruction i = *s->from;
    struct arena *a = s->b->module->arena;

    i.type = HLO_TYPE(hlo_type_is_tuple(i.type) ? sized_type(a, i.type) : sized_bound(a, i.type));
    return hlo_copy_instruction(s->b, &i, operand);
}

/* structure: the same with deeper tuples */
static int copy_structure(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;

    i.type = HLO_TYPE(sized_type(s->b->module->arena, i.type));
    return hlo_copy_instruction(s->b, &i, sized_operands(s));
}

static int set_size(struct expand_site *s)
{
    struct sized v = sized_operand(s, 0);

    v.size[hlo_detail(s->from)->dims.item[0]] = hlo_convert(s->b, s->operand[1], ELEMENT_S32);
    return sized_make(s->b, s->from->type, v);
}

static int get_size(struct expand_site *s)
{
    struct sized v = sized_operand(s, 0);

    return hlo_convert(s->b, sized_size(s->b, &v, (int)hlo_detail(s->from)->dims.item[0]),
                       s->from->type->element);
}

/* each size is the smallest that an operand has */
static int elementwise(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int rank = s->from->type->rank, *operand;
    struct sized result = {0};

    operand = arena_array(b->module->arena, (size_t)s->from->operand_count + 1, sizeof(int));
    for (int d = 0; d < rank; d++)
        result.size[d] = -1;
    for (int k = 0; k < s->from->operand_count; k++) {
        struct sized v = sized_operand(s, k);

        operand[k] = v.x;
        for (int d = 0; d < rank && expand_operand_type(s, k)->rank == rank; d++) {
            if (v.size[d] >= 0)
                result.size[d] = result.size[d] < 0 ? v.size[d]
                                                    : ar_min(b, result.size[d], v.size[d]);
        }
    }
    result.x = sized_apply(s, operand);
    return sized_make(b, s->from->type, result);
}

static expand_function *rule_of(enum hlo_opcode op)
{
    switch (op) {
    case OPCODE_PARAMETER: case OPCODE_TUPLE: case OPCODE_GET_TUPLE_ELEMENT: case OPCODE_CALL:
    case OPCODE_FUSION: case OPCODE_WHILE: case OPCODE_CONDITIONAL: case OPCODE_OPT_BARRIER:
    case OPCODE_ADD_DEPENDENCY: case OPCODE_AFTER_ALL: case OPCODE_DOMAIN:
        return copy_structure;
    case OPCODE_SET_DIMENSION_SIZE:
        return set_size;
    case OPCODE_GET_DIMENSION_SIZE:
        return get_size;
    case OPCODE_RESHAPE: case OPCODE_DYNAMIC_RESHAPE: case OPCODE_BITCAST:
        return sized_reshape;
    case OPCODE_BROADCAST: case OPCODE_TRANSPOSE: case OPCODE_REVERSE: case OPCODE_CONCATENATE:
    case OPCODE_SLICE: case OPCODE_PAD: case OPCODE_DYNAMIC_SLICE:
    case OPCODE_DYNAMIC_UPDATE_SLICE: case OPCODE_IOTA:
        return sized_move;
    case OPCODE_GATHER: case OPCODE_SCATTER: case OPCODE_DOT: case OPCODE_CONVOLUTION:
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW: case OPCODE_SORT: case OPCODE_CUSTOM_CALL:
        return sized_across;
    default:
        return elementwise;
    }
}

/* what says nothing but how elements are computed, one by one */
static bool is_elementwise(const struct hlo_instruction *i)
{
    unsigned others = hlo_opcode_attributes(i->op) & ~(unsigned)(HLO_HAS_COMPARISON | HLO_HAS_BITS);

    return !hlo_type_is_tuple(i->type) && hlo_detail(i)->computation_count == 0 && others == 0
           && i->operand_count > 0 && i->operand_count <= 3;
}

static int made_of(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                   const int *operand)
{
    struct expand_site s = {.b = b, .from = from, .operand = operand, .old = r->old, .err = r->err};
    const struct hlo_computation *c = &r->old->computation[b->computation];
    bool touches = has_bounds(from->type) || from->op == OPCODE_SET_DIMENSION_SIZE
                   || from->op == OPCODE_GET_DIMENSION_SIZE || from->op == OPCODE_DYNAMIC_RESHAPE;
    expand_function *rule = rule_of(from->op);
    int made;

    for (int k = 0; k < from->operand_count; k++)
        touches = touches || has_bounds(c->instruction[from->operand[k]].type);
    if (!touches)
        return EXPAND_KEEP;
    if (from->type->rank > SIZED_RANK_MAX || (rule == elementwise && !is_elementwise(from)))
        made = expand_refuse(&s, "nothing expands it for arrays of a bounded size");
    else
        made = rule(&s);
    if (made == EXPAND_FAILED)
        r->status = -1;
    return made;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const struct hlo_computation *c = &r->old->computation[b->computation];
    const struct hlo_type *const *wanted = r->user;
    int made = made_of(r, b, from, operand);

    if (from != &c->instruction[c->root] || made == EXPAND_FAILED)
        return made;
    if (made == EXPAND_KEEP)
        made = hlo_copy_instruction(b, from, operand);
    return sized_result(b, made, from->type, wanted[b->computation]);
}

static const struct hlo_type *mapped_list(struct arena *a, const struct hlo_type *t, int count)
{
    struct hlo_type *mapped = arena_array(a, (size_t)count + 1, sizeof(*mapped));

    for (int i = 0; t && i < count; i++)
        mapped[i] = sized_type(a, &t[i]);
    return t ? mapped : NULL;
}

int sized_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                  struct err *e)
{
    struct hlo_rewrite r = {.visit = visit, .user = sized_wanted(old, a)};

    if (hlo_rewrite_module(old, made, a, &r, e))
        return -1;
    made->entry_parameter = mapped_list(a, old->entry_parameter, old->entry_parameter_count);
    made->entry_result = mapped_list(a, old->entry_result, 1);
    return 0;
}
