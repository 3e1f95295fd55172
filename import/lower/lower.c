/* From a program to a graph: makes it simple, lowers its entry, and tells what stands for what. */
#include "import/lower/lower.h"

#include "import/expand/ranks.h"
#include "import/lower/lower_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a pass, and the module before it is no longer needed */
static int next(int (*pass)(const struct hlo_module *, struct hlo_module *, struct arena *,
                            struct err *),
                struct hlo_module *m, struct arena *a, struct err *e)
{
    struct hlo_module made;
    int status = pass(m, &made, a, e);

    hlo_module_fini(m);
    *m = made;
    return status;
}

/* structure, then types, then the structure that the change of types has made */
static int simplify(const struct hlo_module *m, enum exact_form exact, struct arena *a,
                    struct hlo_module *out, struct expand_boundary *boundary, struct err *e)
{
    struct hlo_module typed;
    int status;

    if (structure_inline(m, out, a, e) != 0 ||
        (exact && next(exact == EXACT_ALL ? exact_sums : exact_small_sums, out, a, e) != 0) ||
        next(structure_simplify, out, a, e) != 0)
        return -1;
    status = expand_program(out, &typed, a, boundary, e);
    hlo_module_fini(out);
    *out = typed;
    if (status != 0 || (exact && next(exact_functions, out, a, e) != 0) ||
        next(structure_inline, out, a, e) != 0 ||
        next(structure_simplify, out, a, e) != 0)
        return -1;
    return next(ranks_rewrite, out, a, e);
}

/* names of nodes are "operation.number": a parameter must not be called like one */
static const char *parameter_name(struct lower *l, const char *name)
{
    size_t length = strlen(name);

    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    if (length < 2 || name[length - 1] != '.')
        return name;
    for (int op = 0; op < HLO_COUNT; op++) {
        const char *known = graph_op_name((enum graph_op)op);

        if (strlen(known) == length - 1 && strncmp(known, name, length - 1) == 0)
            return arena_printf(l->arena, "%s_", name);
    }
    return name;
}

/* the entry's parameters as the graph's, leaf by leaf; number[] of each leaf */
static struct lower_value *make_parameters(struct lower *l, struct graph *g, int *number,
                                           struct lowered_order *order)
{
    const struct hlo_computation *c = &l->module->computation[l->module->entry];
    struct lower_value *value = arena_array(l->arena, (size_t)c->parameter_count + 1,
                                            sizeof(*value));
    struct lower_scope s = {.l = l, .c = c, .g = g};
    int leaf = 0;

    s.value = arena_array(l->arena, (size_t)c->count + 1, sizeof(*s.value));
    for (int p = 0; p < c->parameter_count; p++) {
        const struct hlo_instruction *i = &c->instruction[c->parameter[p]];
        const char *name = parameter_name(l, hlo_name_in(l->arena, i));
        int count = hlo_type_leaves(i->type);

        s.now = i;
        g->source = hlo_name_in(l->arena, i);
        value[p] = (struct lower_value){count, arena_array(l->arena, (size_t)count + 1,
                                                           sizeof(int))};
        for (int k = 0; k < count; k++, leaf++) {
            const struct hlo_type *t = hlo_type_leaf(i->type, k);

            number[leaf] = lower_is_empty(t) ? -1 : g->parameter_count;
            value[p].node[k] = lower_is_empty(t) ? NODE_NONE : lower_parameter_in_order(
                l, g, lower_shape(&s, t), t,
                hlo_type_is_tuple(i->type) ? arena_printf(l->arena, "%s{%d}", name, k) : name,
                &order[leaf]);
        }
    }
    return value;
}

static int entry_leaves(const struct hlo_module *m)
{
    const struct hlo_computation *c = &m->computation[m->entry];
    int count = 0;

    for (int p = 0; p < c->parameter_count; p++)
        count += hlo_type_leaves(c->instruction[c->parameter[p]].type);
    return count;
}

/* number of a path's leaf among those of a type; -1: it leads nowhere, or to a tuple */
static int leaf_of(const struct hlo_type *t, struct hlo_ints path)
{
    int leaf = 0;

    for (int k = 0; k < path.count; k++) {
        if (!hlo_type_is_tuple(t) || path.item[k] < 0 || path.item[k] >= t->part_count)
            return -1;
        for (int part = 0; part < path.item[k]; part++)
            leaf += hlo_type_leaves(&t->part[part]);
        t = &t->part[path.item[k]];
    }
    return hlo_type_is_tuple(t) ? -1 : leaf;
}

/* a parameter's leaf among all parameters' */
static int parameter_leaf(const struct hlo_module *m, const struct hlo_alias *alias)
{
    const struct hlo_computation *c = &m->computation[m->entry];
    int first = 0, leaf;

    if (alias->parameter < 0 || alias->parameter >= c->parameter_count)
        return -1;
    for (int p = 0; p < alias->parameter; p++)
        first += hlo_type_leaves(c->instruction[c->parameter[p]].type);
    leaf = leaf_of(c->instruction[c->parameter[alias->parameter]].type, alias->parameter_path);
    return leaf < 0 ? -1 : first + leaf;
}

static const char *leaf_name(const struct lower *l, const struct hlo_module *m,
                             const struct expand_leaf *leaf, int number, int of_result)
{
    const struct hlo_computation *c = &m->computation[m->entry];
    const struct hlo_instruction *i;
    int first = 0;

    if (leaf->parameter < 0)
        return of_result > 1 ? arena_printf(l->arena, "result{%d}", number) : "result";
    for (int p = 0; p < leaf->parameter; p++)
        first += hlo_type_leaves(c->instruction[c->parameter[p]].type);
    i = &c->instruction[c->parameter[leaf->parameter]];
    return hlo_type_is_tuple(i->type)
               ? arena_printf(l->arena, "%s{%d}", hlo_name(i), number - first)
               : hlo_name_in(l->arena, i);
}

/* what stands for the leaves as they were read, by the numbers of the expanded program's leaves */
static struct lowered_leaf *tell_leaves(struct lower *l, const struct hlo_module *m,
                                        const struct expand_leaf *leaf, int count,
                                        const int *number, const struct lowered_order *order,
                                        int numbers)
{
    struct lowered_leaf *told = arena_array(l->arena, (size_t)count + 1, sizeof(*told));

    for (int k = 0; k < count; k++) {
        int *graph;

        told[k] = (struct lowered_leaf){.leaf = leaf[k], .alias = -1,
                                        .count = leaf[k].parts + leaf[k].sizes};
        told[k].name = leaf_name(l, m, &leaf[k], k, count);
        graph = arena_array(l->arena, (size_t)told[k].count + 1, sizeof(*graph));
        for (int p = 0; p < told[k].count; p++)
            graph[p] = leaf[k].first + p < numbers ? number[leaf[k].first + p] : -1;
        told[k].graph = graph;
        if (told[k].leaf.parts && leaf[k].first < numbers)
            told[k].order = order[leaf[k].first];
    }
    return told;
}

static bool is_aliased(const struct graph *g, int parameter)
{
    for (int k = 0; k < g->output_count; k++)
        if (g->output[k].alias_parameter == parameter)
            return true;
    return false;
}

/* the result's arrays take the places of the parameter's, where they are alike */
static void alias(struct lowered *out, struct lowered_leaf *result, int parameter)
{
    const struct lowered_leaf *from = &out->parameter[parameter];
    struct graph *g = &out->graph;

    if (from->count != result->count || !hlo_type_equal(&from->leaf.type, &result->leaf.type) ||
        from->order.rank != result->order.rank ||
        memcmp(from->order.order, result->order.order, sizeof(from->order.order)) != 0)
        return;
    for (int p = 0; p < from->count; p++)
        if (from->graph[p] < 0 || result->graph[p] < 0 || is_aliased(g, from->graph[p]))
            return;
    result->alias = parameter;
    for (int p = 0; p < from->count; p++)
        g->output[result->graph[p]].alias_parameter = from->graph[p];
}

static void tell_aliases(const struct hlo_module *m, struct lowered *out)
{
    const struct hlo_computation *c = &m->computation[m->entry];

    for (int k = 0; k < m->alias_count; k++) {
        int result = leaf_of(c->instruction[c->root].type, m->alias[k].output);
        int parameter = parameter_leaf(m, &m->alias[k]);

        if (result >= 0 && parameter >= 0 && result < out->result_count &&
            parameter < out->parameter_count)
            alias(out, &out->result[result], parameter);
    }
}

static int make_outputs(struct lower *l, struct graph *g, const struct lower_value *root,
                        int *number, struct lowered_order *order)
{
    const struct hlo_computation *c = &l->module->computation[l->module->entry];
    const struct hlo_type *type = c->instruction[c->root].type;

    g->unit = 0;                        /* how a result lies is no kernel's business */
    for (int k = 0; k < root->count; k++) {
        int node = root->node[k];

        number[k] = node == NODE_NONE ? -1 : g->output_count;
        if (node == NODE_NONE)
            continue;
        graph_output(g, lower_result_in_order(l, g, node, hlo_type_leaf(type, k), &order[k]),
                     root->count > 1 ? arena_printf(l->arena, "result{%d}", k) : "result", -1);
    }
    return root->count;
}

/* queues of the host as arrays of the entry */
static int write_queues(struct lower *l, const struct hlo_module *m, struct hlo_module *made,
                        const struct structure_queues *q, struct err *e)
{
    int64_t entries = l->settings->queue_entries ? l->settings->queue_entries
                                                 : LOWER_QUEUE_ENTRIES;
    struct hlo_module plain;
    int status;

    if (structure_inline(m, &plain, l->arena, e) != 0)
        return -1;
    status = structure_queues(&plain, made, l->arena, q, entries, e);
    hlo_module_fini(&plain);
    return status;
}

/* the graph, as far as it goes: what is refused is in l */
static int lower_plain(struct lower *l, const struct hlo_module *m, struct lowered *out,
                       struct err *e)
{
    struct hlo_module simple;
    struct expand_boundary boundary;
    struct lower_scope s = {.l = l, .g = &out->graph};
    struct lower_value *parameter;
    struct lowered_order *order;
    int *number, leaves, *output;

    if (simplify(m, l->settings->exact, l->arena, &simple, &boundary, e) != 0)
        return -1;
    l->module = &simple;
    graph_init(&out->graph, l->arena, m->name);
    leaves = entry_leaves(&simple);
    number = arena_array(l->arena, (size_t)leaves + 1, sizeof(*number));
    order = arena_array(l->arena, (size_t)leaves + 1, sizeof(*order));
    parameter = make_parameters(l, &out->graph, number, order);
    lower_computation(&s, simple.entry, parameter, simple.computation[simple.entry].parameter_count);
    out->parameter = tell_leaves(l, m, boundary.parameter, boundary.parameter_count, number,
                                 order, leaves);
    out->parameter_count = boundary.parameter_count;
    output = arena_array(l->arena, (size_t)s.value[s.c->root].count + 1, sizeof(*output));
    order = arena_array(l->arena, (size_t)s.value[s.c->root].count + 1, sizeof(*order));
    leaves = make_outputs(l, &out->graph, &s.value[s.c->root], output, order);
    out->result = tell_leaves(l, m, boundary.result, boundary.result_count, output, order, leaves);
    out->result_count = boundary.result_count;
    tell_aliases(m, out);
    l->module = m;
    hlo_module_fini(&simple);
    return 0;
}

static int lower_entry(struct lower *l, const struct hlo_module *m, struct lowered *out,
                       struct err *e)
{
    struct hlo_module queued;
    int status;

    if (m->entry < 0)
        return err_set(e, "%s: has no entry computation", m->name);
    structure_find_queues(m, l->arena, &out->queues);
    if (out->queues.count == 0)
        return lower_plain(l, m, out, e);
    if (write_queues(l, m, &queued, &out->queues, e) != 0)
        return -1;
    status = lower_plain(l, &queued, out, e);
    hlo_module_fini(&queued);
    return status;
}

static int compare_refusals(const void *a, const void *b)
{
    const struct lower_refusal *x = a, *y = b;

    return (x->line > y->line) - (x->line < y->line);
}

static void end(struct lower *l)
{
    mem_free(l->refusal);
}

int lower_program(const struct hlo_module *m, const struct lower_settings *s, struct arena *a,
                  struct lowered *out, struct err *e)
{
    struct lower l = {.settings = s, .arena = a};
    int status;

    memset(out, 0, sizeof(*out));
    status = lower_entry(&l, m, out, e);
    if (status == 0 && l.refusal_count > 0) {
        const struct lower_refusal *r = &l.refusal[0];
        char others[64] = "";

        bool has_source = *r->source && strcmp(r->source, r->instruction) != 0;

        if (l.refusal_count > 1)
            snprintf(others, sizeof(others), " (and %d more)", l.refusal_count - 1);
        status = err_at(e, r->file, r->line, r->col, "%s: %s: %s%s%s%s", r->instruction,
                        r->opcode, r->reason, has_source ? "; it is from " : "",
                        has_source ? r->source : "", others);
    }
    if (status == 0)
        status = lower_tables(&out->graph, s->known, e);
    if (status == 0)
        status = graph_verify(&out->graph, e);
    if (status != 0)
        graph_fini(&out->graph);
    end(&l);
    return status;
}

int lower_unsupported(const struct hlo_module *m, const struct lower_settings *s, struct arena *a,
                      struct lower_refusals *out, struct err *e)
{
    struct lower l = {.settings = s, .arena = a};
    struct lowered lowered = {0};
    int status = lower_entry(&l, m, &lowered, e);

    graph_fini(&lowered.graph);
    if (l.refusal_count)
        qsort(l.refusal, (size_t)l.refusal_count, sizeof(*l.refusal), compare_refusals);
    *out = (struct lower_refusals){.count = l.refusal_count,
                                   .item = arena_copy(a, l.refusal, (size_t)l.refusal_count,
                                                      sizeof(*l.refusal))};
    end(&l);
    return status;
}
