/* Gathers what the compiler knows of a training step, for the tables of its report. */
#include "cli/train/train.h"

#include "base/units.h"

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

/* ---- memory ---- */

/* buffers of a module: arrays as its kernels touch them, windows of kernels */
struct buffers {
    const struct module *m;
    struct report_step *step;
    struct report_buffer *list;
    const struct array **array;         /* by buffer; NULL: none */
};

/* before kernel `k`; the end behind the last */
static uint32_t first_bundle(const struct module *m, int k)
{
    return k < m->kernel_count ? m->linked[0].first_bundle[m->kernel[k].item]
                               : m->linked[0].program.bundle_count;
}

static struct report_buffer *add_buffer(struct buffers *b, enum memory memory, const char *name,
                                        int64_t offset_bytes, int64_t bytes)
{
    struct report_buffer *r = &b->list[b->step->buffer_count++];

    *r = (struct report_buffer){.memory = memory, .name = name, .offset_bytes = offset_bytes,
                                .bytes = bytes, .padded_bytes = bytes,
                                .last_bundle = b->m->linked[0].program.bundle_count - 1};
    return r;
}

static struct report_buffer *find_array(struct buffers *b, const struct array *a)
{
    for (size_t i = 0; i < b->step->buffer_count; i++)
        if (b->array[i] && b->array[i]->space == a->space && b->array[i]->address == a->address &&
            strcmp(b->array[i]->name, a->name) == 0)
            return &b->list[i];
    return NULL;
}

static struct report_buffer *add_array(struct buffers *b, const struct array *a, const char *name)
{
    struct report_buffer *r;

    b->array[b->step->buffer_count] = a;
    r = add_buffer(b, a->space == SPACE_HBM ? MEMORY_HBM : MEMORY_VMEM, name, a->address,
                   array_payload_bytes(a));
    r->padded_bytes = a->bytes;
    return r;
}

/* what kernel `k` reads or makes lives from the first kernel that touches it to the last */
static void touch(struct buffers *b, const struct array *a, int k)
{
    struct report_buffer *r = find_array(b, a);

    if (!r) {
        r = add_array(b, a, a->name);
        r->first_bundle = first_bundle(b->m, k);
        r->last_bundle = 0;
    }
    if (r->last_bundle < first_bundle(b->m, k + 1) - 1)
        r->last_bundle = first_bundle(b->m, k + 1) - 1;
}

static void list_kernels(struct buffers *b)
{
    for (int k = 0; k < b->m->kernel_count; k++) {
        const struct module_kernel *kernel = &b->m->kernel[k];
        int64_t bytes = kernel->segment->cost.vmem_rows * ARRAY_ROW_BYTES;
        struct report_buffer *r;

        for (int i = 0; i < kernel->job.operand_count; i++)
            touch(b, kernel->job.operand[i], k);
        for (int i = 0; i < kernel->job.result_count; i++)
            touch(b, kernel->job.result[i], k);
        if (bytes == 0)
            continue;
        r = add_buffer(b, MEMORY_VMEM, arena_printf(b->m->graph.arena, "windows of %s",
                                                    kernel->name),
                       kernel->job.vmem_row * ARRAY_ROW_BYTES, bytes);
        r->first_bundle = first_bundle(b->m, k);
        r->last_bundle = first_bundle(b->m, k + 1) - 1;
    }
}

static size_t room_for(const struct module *m)
{
    size_t count = (size_t)(m->graph.parameter_count + m->graph.output_count + m->kernel_count);

    for (int k = 0; k < m->kernel_count; k++)
        count += (size_t)(m->kernel[k].job.operand_count + m->kernel[k].job.result_count);
    return count + 1;
}

static void list_buffers(struct train_run *t, const struct module *m, struct report_step *step)
{
    size_t room = room_for(m);
    struct buffers b = {.m = m, .step = step,
                        .list = arena_array(&t->arena, room, sizeof(*b.list)),
                        .array = arena_array(&t->arena, room, sizeof(*b.array))};

    for (int i = 0; i < m->graph.parameter_count; i++)
        add_array(&b, m->parameter[i], m->parameter[i]->name);
    for (int i = 0; i < m->graph.output_count; i++)
        if (m->graph.output[i].alias_parameter < 0)
            add_array(&b, m->output[i], m->graph.output[i].name);
    list_kernels(&b);
    add_buffer(&b, MEMORY_SMEM, "words of the launcher", 0, SMEM_ABI_BYTES);
    step->buffer = b.list;
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
    list_buffers(t, strategy_program_module(p), step);
}
