/* The pass over a program: each instruction goes to the rule of its kind. */
#include "import/types/repr.h"

#include "import/types/int_ranges.h"

enum expand_form repr_form(enum hlo_element e)
{
    enum hlo_element part;
    int parts;

    return expand_form_of(e, &part, &parts);
}

bool repr_is_same(const struct hlo_type *t)
{
    if (hlo_type_is_tuple(t)) {
        for (int i = 0; i < t->part_count; i++)
            if (!repr_is_same(&t->part[i]))
                return false;
        return true;
    }
    return repr_form(t->element) == EXPAND_SAME;
}

struct hlo_type repr_type(struct arena *a, const struct hlo_type *t)
{
    struct hlo_type part[REPR_PARTS_MAX], *mapped;
    enum hlo_element element;
    int parts;

    if (repr_is_same(t))
        return *t;
    if (!hlo_type_is_tuple(t)) {
        expand_form_of(t->element, &element, &parts);
        for (int i = 0; i < parts; i++)
            part[i] = hlo_array_type(a, element, t->rank, t->dim);
        return parts == 1 ? part[0] : hlo_tuple_type(a, parts, part);
    }
    mapped = arena_array(a, (size_t)t->part_count + 1, sizeof(*mapped));
    for (int i = 0; i < t->part_count; i++)
        mapped[i] = repr_type(a, &t->part[i]);
    return hlo_tuple_type(a, t->part_count, mapped);
}

struct repr_value repr_take(struct hlo_builder *b, enum hlo_element e, int x)
{
    enum hlo_element element;
    struct repr_value v;

    expand_form_of(e, &element, &v.count);
    v.part[0] = x;
    for (int i = 0; i < v.count && v.count > 1; i++) {
        const struct hlo_instruction *from =
            &b->module->computation[b->computation].instruction[x];

        v.part[i] = from->op == OPCODE_TUPLE ? from->operand[i] : hlo_tuple_element(b, x, i);
    }
    return v;
}

int repr_make(struct hlo_builder *b, struct repr_value v)
{
    return v.count == 1 ? v.part[0] : hlo_tuple(b, v.count, v.part);
}

struct repr_value repr_operand(struct expand_site *s, int operand)
{
    return repr_take(s->b, expand_operand_type(s, operand)->element, s->operand[operand]);
}

bool repr_fits(const struct expand_site *s, int operand)
{
    return int_ranges_fit(s->user, s->b->computation, s->from->operand[operand]);
}

bool repr_result_fits(const struct expand_site *s)
{
    const struct hlo_computation *c = &s->old->computation[s->b->computation];
    long at = s->from - c->instruction;

    return at >= 0 && at < c->count && int_ranges_fit(s->user, s->b->computation, (int)at);
}

int repr_copy(struct expand_site *s)
{
    struct hlo_instruction i = *s->from;
    int leaves = hlo_type_leaves(i.type);

    i.type = HLO_TYPE(repr_type(s->b->module->arena, i.type));
    if (hlo_detail(&i)->sharding_count > 1 &&
        hlo_detail(&i)->sharding_count == leaves) { /* each part as the whole */
        struct hlo_sharding *sharding;
        int to = 0;

        sharding = arena_array(s->b->module->arena, (size_t)hlo_type_leaves(i.type),
                               sizeof(*sharding));
        for (int n = 0; n < leaves; n++) {
            struct hlo_type own = repr_type(s->b->module->arena, hlo_type_leaf(s->from->type, n));

            for (int k = 0; k < hlo_type_leaves(&own); k++)
                sharding[to++] = hlo_detail(s->from)->sharding[n];
        }
        hlo_own_detail(s->b->module->arena, &i)->sharding = sharding;
        i.detail->sharding_count = to;
    }
    return hlo_copy_instruction(s->b, &i, s->operand);
}

/* which rule; structure, which NULL stands for, is copied with other types */
static expand_function *rule_of(const struct hlo_instruction *i)
{
    switch (i->op) {
    case OPCODE_PARAMETER: case OPCODE_TUPLE: case OPCODE_GET_TUPLE_ELEMENT: case OPCODE_CALL:
    case OPCODE_FUSION: case OPCODE_WHILE: case OPCODE_CONDITIONAL: case OPCODE_OPT_BARRIER:
    case OPCODE_DOMAIN: case OPCODE_ADD_DEPENDENCY: case OPCODE_AFTER_ALL: case OPCODE_INFEED:
    case OPCODE_OUTFEED: case OPCODE_SEND: case OPCODE_SEND_DONE: case OPCODE_RECV:
    case OPCODE_RECV_DONE: case OPCODE_ASYNC_START: case OPCODE_ASYNC_UPDATE:
    case OPCODE_ASYNC_DONE: case OPCODE_COPY_START: case OPCODE_COPY_DONE:
        return repr_copy;
    case OPCODE_CONSTANT:
        return repr_constant;
    case OPCODE_IOTA:
        return repr_iota;
    case OPCODE_CONVERT:
        return repr_convert;
    case OPCODE_BITCAST_CONVERT:
        return repr_bitcast;
    case OPCODE_DOT: case OPCODE_CONVOLUTION:
        return repr_product;
    case OPCODE_REDUCE: case OPCODE_REDUCE_WINDOW: case OPCODE_SORT: case OPCODE_SCATTER:
    case OPCODE_SELECT_AND_SCATTER: case OPCODE_MAP: case OPCODE_SCAN: case OPCODE_ALL_REDUCE:
    case OPCODE_REDUCE_SCATTER: case OPCODE_TOPK:
        return repr_region;
    case OPCODE_COPY: case OPCODE_BITCAST: case OPCODE_BROADCAST: case OPCODE_RESHAPE:
    case OPCODE_TRANSPOSE: case OPCODE_REVERSE: case OPCODE_CONCATENATE: case OPCODE_SLICE:
    case OPCODE_PAD: case OPCODE_DYNAMIC_SLICE: case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_GATHER: case OPCODE_SELECT: case OPCODE_ALL_GATHER: case OPCODE_ALL_TO_ALL:
    case OPCODE_COLLECTIVE_PERMUTE: case OPCODE_COLLECTIVE_BROADCAST: case OPCODE_CUSTOM_CALL:
        return repr_move;
    default:
        return repr_elementwise;
    }
}

static bool touches(struct hlo_rewrite *r, const struct hlo_builder *b,
                    const struct hlo_instruction *from)
{
    if (!repr_is_same(from->type))
        return true;
    for (int k = 0; k < from->operand_count; k++)
        if (!repr_is_same(r->old->computation[b->computation].instruction[from->operand[k]].type))
            return true;
    return false;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct expand_site s = {.b = b, .from = from, .operand = operand, .old = r->old, .err = r->err,
                            .user = r->user};
    int made;

    if (from->op == OPCODE_REDUCE_PRECISION || from->op == OPCODE_BITCAST_CONVERT)
        made = rule_of(from)(&s);       /* the compiler has no such operation, or of words only */
    else if (!touches(r, b, from))
        return EXPAND_KEEP;
    else
        made = rule_of(from)(&s);
    if (made == EXPAND_FAILED)
        r->status = -1;
    return made;
}

/* the same path in the deeper tuple, with every way on to its leaves */
static void expand_alias(struct hlo_module *m, const struct hlo_alias *from,
                         const struct hlo_type *t)
{
    int leaves = hlo_type_leaves(t);
    struct arena *a = m->arena;

    for (int n = 0; n < leaves; n++) {
        struct hlo_alias own = *from;
        int64_t *path = arena_array(a, (size_t)from->output.count + 1, sizeof(*path));
        int64_t *inner = arena_array(a, (size_t)from->parameter_path.count + 1, sizeof(*inner));

        for (int i = 0; i < from->output.count; i++)
            path[i] = from->output.item[i];
        for (int i = 0; i < from->parameter_path.count; i++)
            inner[i] = from->parameter_path.item[i];
        path[from->output.count] = inner[from->parameter_path.count] = n;
        if (leaves > 1) {
            own.output = (struct hlo_ints){from->output.count + 1, path};
            own.parameter_path = (struct hlo_ints){from->parameter_path.count + 1, inner};
        }
        MEM_ADD(m->alias, m->alias_count, m->alias_capacity) = own;
    }
}

static const struct hlo_type *at_path(const struct hlo_type *t, struct hlo_ints path)
{
    for (int i = 0; i < path.count && hlo_type_is_tuple(t); i++)
        t = &t->part[path.item[i]];
    return t;
}

static void expand_aliases(const struct hlo_module *old, struct hlo_module *made)
{
    const struct hlo_computation *entry = &old->computation[old->entry];
    int count = made->alias_count;

    made->alias_count = 0;
    for (int i = 0; i < count; i++) {
        struct hlo_alias alias = old->alias[i];
        const struct hlo_type *t = at_path(entry->instruction[entry->root].type, alias.output);
        struct hlo_type mapped = repr_type(made->arena, t);

        if (hlo_type_is_tuple(t))
            MEM_ADD(made->alias, made->alias_count, made->alias_capacity) = alias;
        else
            expand_alias(made, &alias, &mapped);
    }
}

static const struct hlo_type *mapped_list(struct arena *a, const struct hlo_type *t, int count)
{
    struct hlo_type *mapped = arena_array(a, (size_t)count + 1, sizeof(*mapped));

    for (int i = 0; t && i < count; i++)
        mapped[i] = repr_type(a, &t[i]);
    return t ? mapped : NULL;
}

int repr_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                 struct err *e)
{
    struct int_ranges ranges;
    struct hlo_rewrite r = {.visit = visit, .user = &ranges};

    int_ranges_find(&ranges, old, a);
    if (hlo_rewrite_module(old, made, a, &r, e))
        return -1;
    expand_aliases(old, made);
    made->entry_parameter = mapped_list(a, old->entry_parameter, old->entry_parameter_count);
    made->entry_result = mapped_list(a, old->entry_result, 1);
    return 0;
}
