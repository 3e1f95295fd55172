/* Gathers what the compiler knows of a training step, for the tables of its report. */
#include "cli/train/train.h"

#include "base/units.h"
#include "exec/module_tables.h"

#include <string.h>

#define TEXT_CHARS 200

/* ---- source operations ---- */

static struct report_source *source_of(struct report_step *step, struct report_source *list,
                                       const char *name)
{
    for (size_t i = 0; i < step->source_count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    list[step->source_count] = (struct report_source){.name = name, .text = ""};
    return &list[step->source_count++];
}

/* "dot f32[64,512]; add f32[64,512]": the operations in their order, as far as a line goes */
static const char *add_text(const char *text, const struct graph_node *n, struct arena *a)
{
    char shape[96];

    if (strlen(text) > TEXT_CHARS)
        return text;
    return arena_printf(a, "%s%s%s %s", text, *text ? "; " : "", graph_op_name(n->op),
                        shape_print(&n->shape, shape, sizeof(shape)));
}

static void list_sources(struct train_run *t, const struct graph *g, struct report_step *step)
{
    struct report_source *list = arena_array(&t->arena, (size_t)g->node_count + 1, sizeof(*list));

    step->source = list;
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct report_source *s;

        if (graph_op_kind(n->op) == KIND_SOURCE || !*n->source)
            continue;
        s = source_of(step, list, n->source);
        s->text = add_text(s->text, n, &t->arena);
        if (n->op == HLO_DOT || n->op == HLO_CONVOLUTION)
            s->product_flops += graph_node_flops(g, i);
    }
}

static void list_layers(struct train_run *t, struct report_step *step)
{
    const struct model *m = &t->model;
    struct report_layer *list = arena_array(&t->arena, (size_t)m->layer_count + 1, sizeof(*list));

    for (int i = 0; i < m->layer_count; i++)
        list[i] = (struct report_layer){.name = m->layer[i]->name, .scope = m->layer[i]->name};
    step->layer = list;
    step->layer_count = (size_t)m->layer_count;
}

int64_t train_vmem_bytes(const struct module *m)
{
    int64_t rows = 0;

    for (int k = 0; k < m->kernel_count; k++)
        rows = later(rows, m->kernel[k].segment->cost.vmem_rows);
    if (m->resident_count + m->prefetch_count == 0)
        return rows * ARRAY_ROW_BYTES;
    return rows * ARRAY_ROW_BYTES + m->vmem_peak_bytes - KERNEL_VMEM_BYTES;
}

void train_fill_tables(struct train_run *t, const struct strategy_program *p,
                       struct report_step *step)
{
    list_sources(t, strategy_program_graph(p), step);
    list_layers(t, step);
    module_list_buffers(strategy_program_module(p), &t->arena, step);
}
