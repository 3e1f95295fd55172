/*
 * Holds a module to HLO's rules: what it refers to is there, types of results are those that
 * operands give (infer.h), names are unique, calls go one way.
 */
#include "import/program/infer.h"
#include "import/program/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct verifier {
    const struct hlo_module *m;
    const struct hlo_computation *c;
    const struct hlo_instruction *i;
    struct arena arena;                 /* of types that are worked out */
    struct err *err;
};

#define FAIL(v, ...) err_at((v)->err, (v)->m->file, (v)->i->line, (v)->i->col, __VA_ARGS__)
#define FAIL_COMPUTATION(v, ...) \
    err_at((v)->err, (v)->m->file, (v)->c->line, (v)->c->col, __VA_ARGS__)

static const char *name_of(const struct verifier *v) { return v->i->label ? hlo_name(v->i) : "?"; }

static int check_layout(struct verifier *v, const struct hlo_type *t)
{
    const struct hlo_ints order = t->layout->minor_to_major;

    if (order.count && order.count != t->rank)
        return FAIL(v, "%.80s: the layout has %d dimensions, and the type %d", name_of(v),
                    order.count, t->rank);
    for (int n = 0; n < order.count; n++) {
        for (int before = 0; before < n; before++) {
            if (order.item[before] == order.item[n])
                return FAIL(v, "%.80s: the layout names dimension %" PRId64 " twice", name_of(v),
                            order.item[n]);
        }
        if (order.item[n] < 0 || order.item[n] >= t->rank)
            return FAIL(v, "%.80s: the layout names dimension %" PRId64 " of %d", name_of(v),
                        order.item[n], t->rank);
    }
    return 0;
}

static int check_type(struct verifier *v, const struct hlo_type *t, int depth)
{
    if (depth > HLO_NESTING_MAX)
        return FAIL(v, "%.80s: tuples are nested too deeply", name_of(v));
    if (t->element >= ELEMENT_COUNT)
        return FAIL(v, "%.80s has no type", name_of(v));
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] < 0 && t->dim[d] != HLO_UNBOUNDED)
            return FAIL(v, "%.80s: dimension %d is negative", name_of(v), d);
    }
    for (int p = 0; p < t->part_count; p++) {
        if (check_type(v, &t->part[p], depth + 1))
            return -1;
    }
    return t->layout ? check_layout(v, t) : 0;
}

/* Operands and computations that the instruction names are there. */
static int check_references(struct verifier *v, int index)
{
    const struct hlo_instruction *i = v->i;

    if (i->op >= OPCODE_COUNT)
        return FAIL(v, "%.80s has no operation", name_of(v));
    for (int n = 0; n < i->operand_count; n++) {
        if (i->operand[n] < 0 || i->operand[n] >= index)
            return FAIL(v, "%.80s: operand %d does not stand before it", name_of(v), n);
    }
    for (int n = 0; n < hlo_detail(i)->computation_count; n++) {
        if (hlo_detail(i)->computation[n] < 0 ||
            hlo_detail(i)->computation[n] >= v->m->computation_count)
            return FAIL(v, "%.80s: there is no computation %d", name_of(v),
                        hlo_detail(i)->computation[n]);
    }
    for (int n = 0; n < hlo_detail(i)->control.count; n++) {
        if (hlo_detail(i)->control.item[n] < 0 || hlo_detail(i)->control.item[n] >= v->c->count)
            return FAIL(v, "%.80s: control predecessor %d is not there", name_of(v), n);
    }
    return 0;
}

/* Parts of an instruction that its operation must have. */
static int check_parts(struct verifier *v)
{
    unsigned has = hlo_opcode_attributes(v->i->op);
    const struct {
        unsigned group;
        const void *part;
        const char *name;
    } parts[] = {
        {HLO_HAS_GATHER, hlo_detail(v->i)->gather, "dimension numbers"},
        {HLO_HAS_DOT, hlo_detail(v->i)->dot, "dimension numbers"},
        {HLO_HAS_CONV, hlo_detail(v->i)->conv, "dimension labels"},
        {HLO_HAS_GROUPS, hlo_detail(v->i)->groups, "groups"},
        {HLO_HAS_TARGET, v->i->op == OPCODE_CUSTOM_CALL ? hlo_detail(v->i)->target : "", "target"}};

    for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++) {
        if ((has & parts[n].group) && !parts[n].part)
            return FAIL(v, "%.80s (%s) has no %s", name_of(v), hlo_opcode_name(v->i->op),
                        parts[n].name);
    }
    return 0;
}

static int check_groups(struct verifier *v)
{
    const struct hlo_groups *g = hlo_detail(v->i)->groups;
    int64_t ids = 0;

    if (!g)
        return 0;
    for (int n = 0; n < g->size.count; n++) {
        if (g->size.item[n] < 0)
            return FAIL(v, "%.80s: a group has a negative size", name_of(v));
        ids += g->size.item[n];
    }
    if (ids != g->id.count || g->pair.count % 2)
        return FAIL(v, "%.80s: its groups are not whole", name_of(v));
    return 0;
}

/* What the instruction is, and what its operands make of it. */
static int check_result(struct verifier *v)
{
    struct hlo_type made;
    char is[200], gives[200];

    if (hlo_infer_type(v->m, v->c, v->i, &v->arena, &made, v->err))
        return -1;
    if (hlo_types_agree(v->m, v->i->type, &made))
        return 0;
    return FAIL(v, "%.80s (%s): its type is %s, but what it is made of gives %s", name_of(v),
                hlo_opcode_name(v->i->op), hlo_type_print(v->i->type, is, sizeof(is)),
                hlo_type_print(&made, gives, sizeof(gives)));
}

static int check_sharding(struct verifier *v)
{
    int leaves = hlo_type_leaves(v->i->type);

    if (hlo_detail(v->i)->sharding_count <= 1 || hlo_detail(v->i)->sharding_count == leaves)
        return 0;
    return FAIL(v, "%.80s: %d shardings for %d arrays", name_of(v),
                hlo_detail(v->i)->sharding_count, leaves);
}

struct numbered { int64_t number; int at; };  /* a made name, and whose it is */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* the first text that stands twice, NULL: none does; sorts them */
static const char *find_twice(const char **name, int count)
{
    qsort(name, (size_t)count, sizeof(*name), compare_names);
    for (int n = 1; n < count; n++) {
        if (strcmp(name[n - 1], name[n]) == 0)
            return name[n];
    }
    return NULL;
}

/* Made names differ by their numbers; a text may be what a number is made to. */
static const char *find_number_twice(const struct hlo_computation *c, struct numbered *made,
                                     int count)
{
    qsort(made, (size_t)count, sizeof(*made), compare_numbers);
    for (int n = 1; n < count; n++) {
        if (made[n - 1].number == made[n].number &&
            c->instruction[made[n - 1].at].op == c->instruction[made[n].at].op)
            return hlo_name(&c->instruction[made[n].at]);
    }
    for (int n = 0; n < c->count && count; n++) {
        struct numbered key = {hlo_number_said(&c->instruction[n]), n}, *found;

        if (key.number < 0 || hlo_name_number(&c->instruction[n]) >= 0)
            continue;
        found = bsearch(&key, made, (size_t)count, sizeof(key), compare_numbers);
        if (found && strcmp(hlo_name(&c->instruction[n]),
                            hlo_name(&c->instruction[found->at])) == 0)
            return hlo_name(&c->instruction[n]);
    }
    return NULL;
}

static int check_names(struct verifier *v)
{
    size_t count = (size_t)v->c->count;
    const char **name = mem_alloc(count * sizeof(*name)), *twice;
    struct numbered *made = mem_alloc(count * sizeof(*made));
    int names = 0, numbers = 0;

    for (int n = 0; n < v->c->count; n++) {
        const struct hlo_instruction *i = &v->c->instruction[n];

        if (hlo_name_number(i) >= 0)
            made[numbers++] = (struct numbered){hlo_name_number(i), n};
        else
            name[names++] = hlo_name(i);
    }
    twice = find_twice(name, names);
    if (!twice)
        twice = find_number_twice(v->c, made, numbers);
    mem_free(made);
    mem_free(name);
    return twice ? FAIL_COMPUTATION(v, "%.80s: \"%.80s\" is the name of two instructions",
                                    v->c->name, twice)
                 : 0;
}

static int check_parameters(struct verifier *v)
{
    const struct hlo_computation *c = v->c;
    int count = 0;

    for (int n = 0; n < c->count; n++)
        count += c->instruction[n].op == OPCODE_PARAMETER;
    if (count != c->parameter_count)
        return FAIL_COMPUTATION(v, "%.80s has %d parameters, and lists %d", c->name, count,
                                c->parameter_count);
    for (int p = 0; p < count; p++) {
        int at = c->parameter[p];

        if (at < 0 || at >= c->count || c->instruction[at].op != OPCODE_PARAMETER
            || c->instruction[at].index != p)
            return FAIL_COMPUTATION(v, "%.80s has no parameter %d", c->name, p);
    }
    return 0;
}

/* What calls rely on: parameters, a result, references that lead somewhere. */
static int check_frame(struct verifier *v)
{
    if (v->c->count < 1 || v->c->root < 0 || v->c->root >= v->c->count)
        return FAIL_COMPUTATION(v, "%.80s has no result", v->c->name);
    for (int n = 0; n < v->c->count; n++) {
        v->i = &v->c->instruction[n];
        if (check_references(v, n) || check_type(v, v->i->type, 0) || check_parts(v)
            || check_groups(v) || check_sharding(v))
            return -1;
    }
    return check_parameters(v) || check_names(v) ? -1 : 0;
}

static int check_results(struct verifier *v)
{
    for (int n = 0; n < v->c->count; n++) {
        v->i = &v->c->instruction[n];
        if (check_result(v))
            return -1;
    }
    return 0;
}

/* The part of a type at the end of a path; NULL: there is none. */
static const struct hlo_type *follow(const struct hlo_type *t, struct hlo_ints path)
{
    for (int n = 0; t && n < path.count; n++)
        t = path.item[n] >= 0 && path.item[n] < t->part_count ? &t->part[path.item[n]] : NULL;
    return t;
}

static int check_aliases(struct verifier *v)
{
    for (int n = 0; n < v->m->alias_count; n++) {
        const struct hlo_alias *a = &v->m->alias[n];
        bool is_there = a->parameter >= 0 && a->parameter < v->c->parameter_count;

        if (!is_there
            || !follow(v->c->instruction[v->c->parameter[a->parameter]].type, a->parameter_path)
            || !follow(v->c->instruction[v->c->root].type, a->output))
            return FAIL_COMPUTATION(v, "input_output_alias %d is of a parameter %" PRId64
                                    " or a result that %.80s has not", n, a->parameter,
                                    v->c->name);
    }
    return 0;
}

static int check_entry_layout(struct verifier *v)
{
    const struct hlo_module *m = v->m;
    char says[200], is[200];

    if (!m->entry_result)
        return 0;
    if (m->entry_parameter_count != v->c->parameter_count)
        return FAIL_COMPUTATION(v, "entry_computation_layout has %d parameters, and %.80s has %d",
                                m->entry_parameter_count, v->c->name, v->c->parameter_count);
    for (int p = 0; p <= v->c->parameter_count; p++) {
        bool is_result = p == v->c->parameter_count;
        int at = is_result ? v->c->root : v->c->parameter[p];
        const struct hlo_type *said = is_result ? m->entry_result : &m->entry_parameter[p];

        v->i = &v->c->instruction[at];
        if (!hlo_types_agree(m, v->i->type, said))
            return FAIL(v, "%.80s is %s, but entry_computation_layout says %s", name_of(v),
                        hlo_type_print(v->i->type, is, sizeof(is)),
                        hlo_type_print(said, says, sizeof(says)));
    }
    return 0;
}

static int check_entry(struct verifier *v)
{
    if (v->m->entry == -1)              /* a text that was cut by its origin */
        return 0;
    v->c = &v->m->computation[0];
    if (v->m->entry < -1 || v->m->entry >= v->m->computation_count)
        return FAIL_COMPUTATION(v, "the module has no entry");
    v->c = &v->m->computation[v->m->entry];
    return check_aliases(v) || check_entry_layout(v) ? -1 : 0;
}

static int check_computation_names(struct verifier *v)
{
    int count = v->m->computation_count;
    const char **name = mem_alloc((size_t)count * sizeof(*name)), *twice;

    for (int n = 0; n < count; n++)
        name[n] = v->m->computation[n].name ? v->m->computation[n].name : "";
    twice = find_twice(name, count);
    mem_free(name);
    v->c = v->m->computation;
    return twice ? FAIL_COMPUTATION(v, "\"%.80s\" is the name of two computations", twice) : 0;
}

static int check_calls(struct verifier *v)
{
    size_t room = (size_t)v->m->computation_count + 1;
    int *order = mem_alloc(room * sizeof(*order)), status = hlo_call_order(v->m, order);

    v->c = &v->m->computation[order[0]];
    if (status)
        status = FAIL_COMPUTATION(v, "%.80s calls itself by way of %.80s", v->c->name,
                                  v->m->computation[order[v->m->computation_count > 1]].name);
    mem_free(order);
    return status;
}

static int check_module(struct verifier *v)
{
    if (v->m->computation_count < 1)
        return err_at(v->err, v->m->file, 0, 0, "the module has no computation");
    for (int n = 0; n < v->m->computation_count; n++) {
        v->c = &v->m->computation[n];
        if (check_frame(v))
            return -1;
    }
    if (check_computation_names(v) || check_calls(v))
        return -1;
    for (int n = 0; n < v->m->computation_count; n++) {
        v->c = &v->m->computation[n];
        if (check_results(v))
            return -1;
    }
    return check_entry(v);
}

int hlo_verify(const struct hlo_module *m, struct err *e)
{
    struct verifier v = {.m = m, .err = e};
    int status;

    arena_init(&v.arena);
    status = check_module(&v);
    arena_fini(&v.arena);
    return status;
}
