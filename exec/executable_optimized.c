/*
 * The optimised graph of an executable, by way of its text, which readers of HLO read. Its entry has
 * the parameters and results of the program: clients take their number and types from it.
 */
#include "exec/executable_impl.h"

#include "base/text.h"
#include "import/hlo_text/hlo_text.h"
#include "import/program/build.h"

#include <stdlib.h>
#include <string.h>

static const struct hlo_computation *entry_of(const struct hlo_module *m)
{
    return &m->computation[m->entry];
}

static const struct hlo_type *parameter_type(const struct hlo_module *m, int number)
{
    return entry_of(m)->instruction[entry_of(m)->parameter[number]].type;
}

static const struct hlo_type *result_type(const struct hlo_module *m)
{
    return entry_of(m)->instruction[entry_of(m)->root].type;
}

static bool has_same_parameters(const struct hlo_module *a, const struct hlo_module *b)
{
    int count = entry_of(a)->parameter_count;

    if (count != entry_of(b)->parameter_count)
        return false;
    for (int i = 0; i < count; i++)
        if (!hlo_type_equal(parameter_type(a, i), parameter_type(b, i)))
            return false;
    return true;
}

/* the graph gives a tuple, of one result as well */
static bool gives_one_in_tuple(const struct hlo_module *m, const struct hlo_type *wanted)
{
    const struct hlo_type *t = result_type(m);

    return t->part_count == 1 && hlo_type_is_tuple(t) && hlo_type_equal(&t->part[0], wanted);
}

static void take_out_of_tuple(struct hlo_computation *c)
{
    int result = c->instruction[c->root].operand[0];

    if (c->root == c->count - 1)
        c->count--;
    c->root = result;
}

/* ----- where cores have other arrays than the program */

struct interface {
    const struct executable *x;
    struct hlo_builder b;
    const struct hlo_computation *inner;
    int *argument;                      /* of the inner computation; -1: not there yet */
    int parameter, result;              /* leaves so far */
    int results;                        /* the inner computation's tuple */
};

static int custom_call(struct interface *f, const char *target, const struct hlo_type *t, int count,
                       const int *operand)
{
    struct hlo_instruction i = {.op = OPCODE_CUSTOM_CALL, .type = t, .operand_count = count,
                                .operand = operand, .detail = HLO_NEW_DETAIL};

    i.detail->target = target;
    i.detail->target_bytes = strlen(target);
    return hlo_add(f->b.module, f->b.computation, &i);
}

static const struct hlo_type *inner_parameter(const struct interface *f, int number)
{
    return f->inner->instruction[f->inner->parameter[number]].type;
}

/* an array of the program as those that cores have of it */
static void split_leaf(struct interface *f, int value)
{
    const struct lowered_leaf *leaf = &f->x->graph.lowered.parameter[f->parameter++];
    struct arena *a = f->b.module->arena;
    struct hlo_type *part = arena_array(a, (size_t)leaf->count + 1, sizeof(*part)), tuple;
    int count = 0, parts;

    for (int i = 0; i < leaf->count; i++)
        if (leaf->graph[i] >= 0)
            part[count++] = *inner_parameter(f, leaf->graph[i]);
    if (count == 0)
        return;
    if (count == 1 && hlo_type_equal(&part[0], hlo_type_of(&f->b, value))) {
        for (int i = 0; i < leaf->count; i++)
            if (leaf->graph[i] >= 0)
                f->argument[leaf->graph[i]] = value;
        return;
    }
    tuple = hlo_tuple_type(a, count, part);
    parts = custom_call(f, "systole.split", &tuple, 1, &value);
    count = 0;
    for (int i = 0; i < leaf->count; i++)
        if (leaf->graph[i] >= 0)
            f->argument[leaf->graph[i]] = hlo_tuple_element(&f->b, parts, count++);
}

static void split(struct interface *f, int value)
{
    struct hlo_type t = *hlo_type_of(&f->b, value);

    if (!hlo_type_is_tuple(&t)) {
        split_leaf(f, value);
        return;
    }
    for (int i = 0; i < t.part_count; i++)
        split(f, hlo_tuple_element(&f->b, value, i));
}

static int join(struct interface *f, const struct hlo_type *t)
{
    struct arena *a = f->b.module->arena;
    const struct lowered_leaf *leaf;
    int *x, count = 0;

    if (hlo_type_is_tuple(t)) {
        x = arena_array(a, (size_t)t->part_count + 1, sizeof(*x));
        for (int i = 0; i < t->part_count; i++)
            x[i] = join(f, &t->part[i]);
        return hlo_tuple(&f->b, t->part_count, x);
    }
    leaf = &f->x->graph.lowered.result[f->result++];
    x = arena_array(a, (size_t)leaf->count + 1, sizeof(*x));
    for (int i = 0; i < leaf->count; i++)
        if (leaf->graph[i] >= 0)
            x[count++] = hlo_tuple_element(&f->b, f->results, leaf->graph[i]);
    if (count == 1 && hlo_type_equal(hlo_type_of(&f->b, x[0]), t))
        return x[0];
    return custom_call(f, "systole.join", t, count, x);
}

static void add_interface(const struct executable *x, struct hlo_module *m)
{
    const struct hlo_module *program = x->graph.device;
    struct interface f = {.x = x, .b = {.module = m}};
    int inner = m->entry, count = entry_of(m)->parameter_count;

    m->entry = f.b.computation = hlo_add_computation(m, entry_of(program)->name);
    f.inner = &m->computation[inner];
    f.argument = arena_array(m->arena, (size_t)count + 1, sizeof(*f.argument));
    for (int i = 0; i < count; i++)
        f.argument[i] = -1;
    for (int i = 0; i < entry_of(program)->parameter_count; i++)
        hlo_parameter(&f.b, i, parameter_type(program, i));
    for (int i = 0; i < entry_of(program)->parameter_count; i++)
        split(&f, i);
    for (int i = 0; i < count; i++)     /* what the host has sent before */
        if (f.argument[i] < 0)
            f.argument[i] = custom_call(&f, "systole.queue", inner_parameter(&f, i), 0, NULL);
    f.results = hlo_call(&f.b, inner, count, f.argument);
    m->computation[m->entry].root = join(&f, result_type(program));
}

/* what clients see of it is the program's */
static void fit_boundary(const struct executable *x, struct hlo_module *m)
{
    const struct hlo_module *program = x->graph.device;
    bool is_same = has_same_parameters(m, program);

    if (is_same && gives_one_in_tuple(m, result_type(program)))
        take_out_of_tuple(&m->computation[m->entry]);
    else if (!is_same || !hlo_type_equal(result_type(m), result_type(program)))
        add_interface(x, m);
    m->alias_count = 0;
    for (int i = 0; i < program->alias_count; i++)
        MEM_ADD(m->alias, m->alias_count, m->alias_capacity) = program->alias[i];
    m->replica_count = program->replica_count;
    m->partition_count = program->partition_count;
}

static struct hlo_module *program_of(const struct executable *x, const struct graph *g,
                                     struct arena *a, struct err *e)
{
    struct hlo_module *m;
    size_t bytes;
    char *text;
    FILE *to = text_memory(&text, &bytes);

    graph_dump(g, to);
    text_memory_end(to, &text);
    m = hlo_text_read(text, bytes, arena_strdup(a, g->name), a, e);
    free(text);
    if (m)
        fit_boundary(x, m);
    return m;
}

/* A module that was found on disk has no graph: the passes make it again, but no kernels. */
static struct hlo_module *planned_program(const struct executable *x, struct arena *a,
                                          struct err *e)
{
    struct module_settings s = executable_module_settings(x);
    struct module m;

    s.is_plan = true;
    if (s.replica_count > 1) {
        s.slice = &x->slice;
        s.device_core = x->loaded.core;
    }
    if (module_compile(&x->graph.lowered.graph, &s, a, &m, e))
        return NULL;
    return program_of(x, &m.graph, a, e);
}

const struct hlo_module *executable_optimized(const struct executable *x, struct arena *a,
                                              struct err *e)
{
    if (x->settings.is_host)
        return x->graph.device;
    return x->loaded.was_found ? planned_program(x, a, e)
                               : program_of(x, &x->loaded.module.graph, a, e);
}
