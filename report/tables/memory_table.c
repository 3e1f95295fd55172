/* Fills memory.csv: buffers as they were placed, and how full each memory gets. */
#include "report/tables/tables.h"

#include <stdlib.h>
#include <string.h>

struct peak {
    int64_t bytes;
    uint32_t bundle;                    /* the first at which so much is live */
};

static bool counts(const struct report_buffer *b, enum memory memory)
{
    return b->memory == memory && !b->inside;
}

static bool is_live(const struct report_buffer *b, uint32_t bundle)
{
    return b->first_bundle <= bundle && bundle <= b->last_bundle;
}

static int64_t live_bytes(const struct report_view *v, enum memory memory, uint32_t bundle)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < v->buffer_count; i++)
        if (counts(&v->buffer[i], memory) && is_live(&v->buffer[i], bundle))
            bytes += v->buffer[i].padded_bytes;
    return bytes;
}

/* a memory is fullest where some buffer's life begins */
static struct peak find_peak(const struct report_view *v, enum memory memory)
{
    struct peak p = {0};

    for (size_t i = 0; i < v->buffer_count; i++) {
        uint32_t bundle = v->buffer[i].first_bundle;
        int64_t bytes;

        if (!counts(&v->buffer[i], memory))
            continue;
        bytes = live_bytes(v, memory, bundle);
        if (bytes > p.bytes || (bytes == p.bytes && bundle < p.bundle))
            p = (struct peak){bytes, bundle};
    }
    return p;
}

/* "VMEM": memory_name has it in small letters */
static const char *name_of(enum memory memory)
{
    static const char *const names[MEMORY_COUNT] = {
        [MEMORY_HBM] = "HBM", [MEMORY_VMEM] = "VMEM", [MEMORY_SMEM] = "SMEM",
        [MEMORY_CMEM] = "CMEM", [MEMORY_HOST] = "host"};

    return names[memory];
}

static void add_buffer(const struct report_view *v, const struct report_buffer *b,
                       const struct peak *p, struct table *t)
{
    int64_t padding = b->padded_bytes - b->bytes;

    table_add_row(t);
    table_put_text(t, COL_MEMORY_MEMORY, name_of(b->memory));
    table_put_text(t, COL_MEMORY_NAME, b->name);
    table_put_text(t, COL_MEMORY_INSIDE, b->inside);
    table_put_int(t, COL_MEMORY_OFFSET, b->offset_bytes);
    table_put_int(t, COL_MEMORY_BYTES, b->bytes);
    table_put_int(t, COL_MEMORY_PADDED, b->padded_bytes);
    table_put_int(t, COL_MEMORY_PADDING, padding);
    table_put_real(t, COL_MEMORY_PADDING_PCT,
                   view_percent((double)padding, (double)b->padded_bytes));
    table_put_int(t, COL_MEMORY_FIRST, b->first_bundle);
    table_put_int(t, COL_MEMORY_LAST, b->last_bundle);
    table_put_text(t, COL_MEMORY_AT_PEAK, is_live(b, p->bundle) ? "yes" : "no");
    table_put_int(t, COL_MEMORY_PEAK, p->bytes);
    table_put_int(t, COL_MEMORY_SIZE, v->memory_bytes[b->memory]);
}

static int compare(const void *x, const void *y)
{
    const struct report_buffer *a = x, *b = y;

    if (a->offset_bytes != b->offset_bytes)
        return a->offset_bytes < b->offset_bytes ? -1 : 1;
    if (!a->inside != !b->inside)
        return a->inside ? 1 : -1;
    if (a->first_bundle != b->first_bundle)
        return a->first_bundle < b->first_bundle ? -1 : 1;
    return strcmp(a->name, b->name);
}

void table_fill_memory(const struct report_view *v, struct table *t)
{
    struct report_buffer *b = arena_array(t->arena, v->buffer_count + 1, sizeof(*b));

    if (v->buffer_count)
        memcpy(b, v->buffer, v->buffer_count * sizeof(*b));
    qsort(b, v->buffer_count, sizeof(*b), compare);
    for (int m = 0; m < MEMORY_COUNT; m++) {
        struct peak p = find_peak(v, (enum memory)m);

        for (size_t i = 0; i < v->buffer_count; i++)
            if (b[i].memory == (enum memory)m)
                add_buffer(v, &b[i], &p, t);
    }
}
