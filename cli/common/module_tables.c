/* What the compiler knows of a program's memory, for the tables of its report. */
#include "cli/common/module_tables.h"

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
