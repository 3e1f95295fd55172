/*
 * What the placement came to, for reports: every buffer with what it holds and
 * when.
 */
#include "stack/plan.h"

#include "base/units.h"

/* bytes of the elements that a value in this buffer has; values that share one have the same */
static int64_t element_bytes(const struct plan *p, int buffer)
{
    int64_t bytes = 0;

    for (int i = 0; i < p->graph->node_count; i++) {
        const struct value *v = &p->value[i];
        int64_t own = v->rows * v->columns * (TILE_BYTES / (TILE_ROWS * TILE_COLUMNS));

        if (v->buffer == buffer && own > bytes)
            bytes = own;
    }
    return bytes;
}

static int64_t part_bytes(const struct plan *p, int buffer)
{
    int64_t bytes = 0;

    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffer[i].parent == buffer)
            bytes += element_bytes(p, i);
    return bytes;
}

/* of scratch no element is padding */
static int64_t content_bytes(const struct plan *p, int buffer)
{
    int64_t own = element_bytes(p, buffer), parts = part_bytes(p, buffer);

    return own ? own : parts ? parts : p->buffer[buffer].tile_count * TILE_BYTES;
}

void place_describe(const struct plan *p, struct compiled *out)
{
    out->kernel_count = p->kernel_count;
    out->vmem = arena_array(p->arena, (size_t)p->buffer_count + 1, sizeof(*out->vmem));
    for (int i = 0; i < p->buffer_count; i++) {
        const struct buffer *b = &p->buffer[i];

        if (b->last_kernel < b->first_kernel)
            continue;                   /* nothing touches it: it has no place */
        out->vmem[out->vmem_count++] = (struct compiled_range){
            .name = b->name, .inside = b->parent < 0 ? NULL : p->buffer[b->parent].name,
            .address = b->row * VMEM_ROW_BYTES, .bytes = content_bytes(p, i),
            .padded_bytes = b->tile_count * TILE_BYTES,
            .first_kernel = b->first_kernel, .last_kernel = b->last_kernel};
    }
}
