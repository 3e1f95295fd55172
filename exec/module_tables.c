/* What the compiler knows of a program's memory and kernels, for the tables of its report. */
#include "exec/module_tables.h"

#include <string.h>

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

/* what a kernel that the program brings keeps, buffer by buffer; its vectors share what is left */
static void list_kernel(struct buffers *b, int k)
{
    const struct module_kernel *kernel = &b->m->kernel[k];
    const struct segment *s = kernel->segment;
    int64_t first = kernel->job.vmem_row, end = first + s->cost.vmem_rows;
    struct arena *a = b->m->graph.arena;

    for (int i = 0; i < s->buffer_count; i++) {
        const struct kernel_buffer *from = &s->buffer[i];
        struct report_buffer *r;

        if (from->kind == BUFFER_VECTOR)
            continue;
        r = add_buffer(b, MEMORY_VMEM,
                       arena_printf(a, "%s%s of %s", from->name,
                                    from->copies > 1 ? ", two buffers," : "", kernel->name),
                       from->row * ARRAY_ROW_BYTES, from->rows * ARRAY_ROW_BYTES);
        r->first_bundle = first_bundle(b->m, k);
        r->last_bundle = first_bundle(b->m, k + 1) - 1;
        if (first < from->row + from->rows)
            first = from->row + from->rows;
    }
    if (first < end) {
        struct report_buffer *r = add_buffer(b, MEMORY_VMEM,
                                             arena_printf(a, "values of %s", kernel->name),
                                             first * ARRAY_ROW_BYTES,
                                             (end - first) * ARRAY_ROW_BYTES);

        r->first_bundle = first_bundle(b->m, k);
        r->last_bundle = first_bundle(b->m, k + 1) - 1;
    }
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
        if (kernel->segment->buffer_count) {
            list_kernel(b, k);
            continue;
        }
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
        count += (size_t)(m->kernel[k].job.operand_count + m->kernel[k].job.result_count) +
                 (size_t)m->kernel[k].segment->buffer_count;
    return count + 1;
}

void module_list_buffers(const struct module *m, struct arena *a, struct report_step *step)
{
    size_t room = room_for(m);
    struct buffers b = {.m = m, .step = step,
                        .list = arena_array(a, room, sizeof(*b.list)),
                        .array = arena_array(a, room, sizeof(*b.array))};

    for (int i = 0; i < m->graph.parameter_count; i++)
        add_array(&b, m->parameter[i], m->parameter[i]->name);
    for (int i = 0; i < m->graph.output_count; i++)
        if (m->graph.output[i].alias_parameter < 0)
            add_array(&b, m->output[i], m->graph.output[i].name);
    list_kernels(&b);
    add_buffer(&b, MEMORY_SMEM, "words of the launcher", 0, SMEM_ABI_BYTES);
    step->buffer = b.list;
}

/* ----- sources */

enum { NAMES_CHARS = 160 };             /* of a list of names, as far as a line goes */

static bool has_name(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ';'))
            return true;
    return false;
}

static const char *add_name(const char *list, const char *name, struct arena *a)
{
    if (!*name || strlen(list) > NAMES_CHARS || has_name(list, name))
        return list;
    return arena_printf(a, "%s%s%s", list, *list ? "; " : "", name);
}

/* a kernel is made of the nodes of its body, or of one */
static const char *add_kernel(const char *list, const struct module_kernel *k, struct arena *a)
{
    const struct graph *body = k->job.body;

    for (int i = 0; body && i < body->node_count; i++)
        if (graph_op_kind(body->node[i].op) != KIND_SOURCE)
            list = add_name(list, body->node[i].source, a);
    return *list ? list : add_name(list, k->source, a);
}

void module_list_sources(const struct module *m, struct arena *a, struct report_step *step)
{
    struct report_source *list = arena_array(a, (size_t)m->kernel_count + 1, sizeof(*list));

    for (int k = 0; k < m->kernel_count; k++) {
        const struct module_kernel *kernel = &m->kernel[k];
        const char *name = *kernel->source ? kernel->source : kernel->name;
        size_t i = 0;

        while (i < step->source_count && strcmp(list[i].name, name) != 0)
            i++;
        if (i == step->source_count)
            list[step->source_count++] = (struct report_source){.name = name, .text = ""};
        list[i].text = add_kernel(list[i].text, kernel, a);
        list[i].product_flops += kernel->flops;
    }
    step->source = list;
}
