/* Reads the program of systole exec, and makes the values that it starts from. */
#include "cli/exec/exec.h"

#include <stdlib.h>
#include <string.h>

/* leaves of one parameter or of the result, named and typed */
static void add_leaves(struct exec_program *p, const struct hlo_type *t, const char *name,
                       struct exec_tensor *to, int *count)
{
    int leaves = hlo_type_leaves(t);

    for (int i = 0; i < leaves; i++) {
        struct exec_tensor *x = &to[(*count)++];

        x->type = *hlo_type_leaf(t, i);
        x->name = arena_printf(&p->arena, leaves > 1 ? "%s, part %d" : "%s", name, i);
    }
}

static void list_parameters(struct exec_program *p, const struct hlo_computation *entry)
{
    int leaves = 0;

    for (int i = 0; i < entry->parameter_count; i++)
        leaves += hlo_type_leaves(&entry->instruction[entry->parameter[i]].type);
    p->parameter = arena_array(&p->arena, (size_t)leaves + 1, sizeof(*p->parameter));
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct hlo_instruction *n = &entry->instruction[entry->parameter[i]];

        add_leaves(p, &n->type, arena_printf(&p->arena, "parameter %d (%s)", i, n->name),
                   p->parameter, &p->parameter_count);
    }
}

static void list_results(struct exec_program *p, const struct hlo_computation *entry)
{
    const struct hlo_type *t = &entry->instruction[entry->root].type;
    int leaves = hlo_type_leaves(t);

    p->result = arena_array(&p->arena, (size_t)(leaves + exec_pair_count(p) + 1),
                            sizeof(*p->result));
    for (int i = 0; i < exec_pair_count(p); i++)
        p->result[leaves + i].type = *exec_pair_type(p, i);
    for (int i = 0; i < leaves; i++) {
        p->result[i].type = *hlo_type_leaf(t, i);
        p->result[i].name = arena_printf(&p->arena, "result %d", i);
    }
    p->result_count = leaves;
}

/*
 * Exact forms are tens of instructions for one. The highest precision includes them where that costs
 * nothing that anybody waits for; in timing mode nobody sees the values.
 */
static bool wants_exact(const struct exec_options *o, const struct hlo_module *m)
{
    enum { SMALL = 300 };            /* instructions */
    int64_t count = 0;

    for (int c = 0; c < m->computation_count; c++)
        count += m->computation[c].count;
    return o->run.engine.mode != MODE_TIMING &&
           (o->precision == EXEC_EXACT || (o->precision == EXEC_HIGHEST && count <= SMALL));
}

int exec_load(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    const struct hlo_computation *entry;

    *p = (struct exec_program){0};
    arena_init(&p->arena);
    if (program_graph_read(&p->graph, o->file, o->precision != EXEC_AS_PROGRAM, &p->arena, e) ||
        program_graph_cut(&p->graph, &p->arena, e))
        return -1;
    p->graph.is_exact = wants_exact(o, p->graph.module);
    if (o->backend == EXEC_ON_CORES && !o->compare && exec_take_out_checks(p, e))
        return -1;
    entry = &p->graph.module->computation[p->graph.module->entry];
    list_parameters(p, entry);
    list_results(p, entry);
    return o->carry ? exec_parse_carry(o->carry, p, e) : 0;
}

void exec_unload(struct exec_program *p)
{
    program_graph_fini(&p->graph);
    arena_fini(&p->arena);
}

/* "3=zeros" */
static int take_input(const struct exec_options *o, struct exec_program *p, const char *text,
                      struct err *e)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end != '=' || !end[1])
        return err_set(e, "--input is \"%s\", wanted is N=WHAT, a parameter's number and a .npy "
                       "file, random, zeros, ones or iota", text);
    if (number < 0 || number >= p->parameter_count)
        return err_set(e, "--input %s: the program has %d parameters, 0 to %d", text,
                       p->parameter_count, p->parameter_count - 1);
    return exec_fill(&p->parameter[number], end + 1, (uint64_t)o->seed + (uint64_t)number,
                     &p->arena, e);
}

/* "3 of 10 inputs are random (--seed 1)": nobody should take them for given ones */
static int fill_rest(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    int random = 0;

    for (int i = 0; i < p->parameter_count; i++) {
        if (p->parameter[i].data || p->parameter[i].type.element == ELEMENT_TOKEN)
            continue;
        if (exec_fill(&p->parameter[i], "random", (uint64_t)o->seed + (uint64_t)i, &p->arena, e))
            return -1;
        random++;
    }
    if (random && !o->is_quiet)
        printf("%d of %d inputs are random (--seed %lld)\n", random, p->parameter_count,
               (long long)o->seed);
    return 0;
}

int exec_make_inputs(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    if (o->inputs && exec_read_safetensors(o->inputs, p->parameter, p->parameter_count, &p->arena,
                                           e))
        return -1;
    for (int i = 0; i < o->input.count; i++) {
        if (take_input(o, p, o->input.item[i], e))
            return -1;
    }
    return fill_rest(o, p, e);
}
