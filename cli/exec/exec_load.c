/* Reads the program of systole exec, and makes the values that it starts from. */
#include "cli/exec/exec.h"

#include <stdio.h>
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
        leaves += hlo_type_leaves(entry->instruction[entry->parameter[i]].type);
    p->parameter = arena_array(&p->arena, (size_t)leaves + 1, sizeof(*p->parameter));
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct hlo_instruction *n = &entry->instruction[entry->parameter[i]];

        add_leaves(p, n->type, arena_printf(&p->arena, "parameter %d (%s)", i, hlo_name(n)),
                   p->parameter, &p->parameter_count);
    }
}

static void list_results(struct exec_program *p, const struct hlo_computation *entry)
{
    const struct hlo_type *t = entry->instruction[entry->root].type;
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
 * nothing that anybody waits for: all of them in a small program, functions and small sums in any
 * but the largest. For a quotient, a root or a product that is off by its last bit moves what is
 * computed from differences of such by much more. In timing mode nobody sees the values.
 */
static enum exact_form wanted_exact(const struct exec_options *o, const struct hlo_module *m)
{
    enum { SMALL = 300, LARGE = 60000 };                /* instructions */
    int64_t count = 0;

    for (int c = 0; c < m->computation_count; c++)
        count += m->computation[c].count;
    if (o->run.engine.mode == MODE_TIMING || o->precision == EXEC_AS_PROGRAM)
        return EXACT_NOTHING;
    if (o->precision == EXEC_EXACT || count <= SMALL)
        return EXACT_ALL;
    return count <= LARGE ? EXACT_SMALL : EXACT_NOTHING;
}

int exec_load(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    const struct hlo_computation *entry;

    *p = (struct exec_program){0};
    arena_init(&p->arena);
    if (program_graph_read(&p->graph, o->file, o->precision != EXEC_AS_PROGRAM, &p->arena, e))
        return -1;
    if (o->assumes_constants)
        program_graph_assume(&p->graph, &p->arena);
    if (p->graph.assumed && !o->is_quiet)
        printf(PROGRAM_ASSUMED, p->graph.assumed, p->graph.first_assumed);
    if (program_graph_cut(&p->graph, &p->arena, e))
        return -1;
    p->graph.exact = wanted_exact(o, p->graph.module);
    if (o->backend == EXEC_ON_CORES && !o->compare && exec_take_out_checks(p, e))
        return -1;
    entry = &p->graph.module->computation[p->graph.module->entry];
    list_parameters(p, entry);
    list_results(p, entry);
    exec_find_queues(o, p);
    return o->carry ? exec_parse_carry(o->carry, p, e) : 0;
}

void exec_unload(struct exec_program *p)
{
    exec_free_queues(p);
    program_graph_fini(&p->graph);
    arena_fini(&p->arena);
}

/* "3=zeros" of --input or --infeed */
static int take_input(const struct exec_options *o, struct exec_program *p, const char *option,
                      struct exec_tensors of, const char *text, struct err *e)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end != '=' || !end[1])
        return err_set(e, "--%s is \"%s\", wanted is N=WHAT, a number and a .npy file, random, "
                       "zeros, ones or iota", option, text);
    if (of.count == 0)
        return err_set(e, "--%s %s: the program has none", option, text);
    if (number < 0 || number >= of.count)
        return err_set(e, "--%s %s: the program has %d %ss, counted from 0", option, text, of.count,
                       of.item == p->parameter ? "parameter" : option);
    return exec_fill(&of.item[number], end + 1, (uint64_t)o->seed + (uint64_t)number,
                     &p->arena, e);
}

#define MADE_UP_MAX (UINT64_C(4) << 30) /* bytes */

static int fill_infeeds(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    for (int i = 0; i < p->infeed_count; i++) {
        struct exec_tensor *t = &p->infeed[i];

        if (t->data)
            continue;
        if (hlo_type_bytes(&t->type) > MADE_UP_MAX)
            return err_set(e, "%s takes %lld entries, %lld MiB, which are too many to be made up: "
                           "--infeed %d=FILE brings fewer", t->name, (long long)t->type.dim[0],
                           (long long)(hlo_type_bytes(&t->type) >> 20), i);
        if (exec_fill(t, "random", (uint64_t)o->seed + 1000003 + (uint64_t)i, &p->arena, e))
            return -1;
        t->is_made_up = true;
    }
    return 0;
}

/* "3 of 10 inputs are random (--seed 1)": nobody should take them for given ones */
void exec_tell_inputs(const struct exec_options *o, const struct exec_program *p)
{
    if (o->is_quiet)
        return;
    if (p->made_up)
        printf("%d of %d inputs are random (--seed %lld)\n", p->made_up, p->parameter_count,
               (long long)o->seed);
    for (int i = 0; i < p->infeed_count; i++)
        if (p->infeed[i].is_made_up)
            printf("%s: %lld random entries\n", p->infeed[i].name,
                   (long long)p->infeed[i].type.dim[0]);
}

/* what nobody has given is random; its values are made when a backend asks for them */
static int count_made_up(struct exec_program *p, struct err *e)
{
    for (int i = 0; i < p->parameter_count; i++) {
        if (p->parameter[i].data || p->parameter[i].type.element == ELEMENT_TOKEN)
            continue;
        if (p->parameter[i].type.element == ELEMENT_OPAQUE)
            return err_set(e, "%s is opaque: it has no values that could be given",
                           p->parameter[i].name);
        p->made_up++;
    }
    return 0;
}

int exec_make_up(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    for (int i = 0; i < p->parameter_count; i++) {
        if (!p->parameter[i].data && p->parameter[i].type.element != ELEMENT_TOKEN &&
            exec_fill(&p->parameter[i], "random", (uint64_t)o->seed + (uint64_t)i, &p->arena, e))
            return -1;
    }
    return 0;
}

int exec_make_inputs(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    const struct exec_tensors parameters = {p->parameter, p->parameter_count};
    const struct exec_tensors infeeds = {p->infeed, p->infeed_count};

    if (o->inputs && exec_read_safetensors(o->inputs, parameters, infeeds, &p->arena, e))
        return -1;
    for (int i = 0; i < o->input.count; i++) {
        if (take_input(o, p, "input", parameters, o->input.item[i], e))
            return -1;
    }
    for (int i = 0; i < o->infeed.count; i++) {
        if (take_input(o, p, "infeed", infeeds, o->infeed.item[i], e))
            return -1;
    }
    return exec_check_queues(p, e) || count_made_up(p, e) || fill_infeeds(o, p, e) ? -1 : 0;
}
