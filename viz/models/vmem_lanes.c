/* A kernel's buffers as lanes of equal height. */
#include "viz/models/model_vmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_address(const void *a, const void *b)
{
    const struct vmem_lane *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static bool is_vector(const struct ntrace_buffer *b)
{
    return strcmp(b->kind, "vector") == 0 || strcmp(b->kind, "spills") == 0;
}

static const char vectors[] = "values of the kernel";

/* one lane for each copy of the buffer, as many as there is room for */
static int add_copies(const struct ntrace_buffer *b, struct vmem_lane *to, int room)
{
    const int64_t each = b->bytes / b->copies;
    int count = 0;

    for (; count < b->copies && count < room; count++) {
        to[count] = (struct vmem_lane){.address = b->address + count * each,
                                       .end = b->address + (count + 1) * each};
        if (is_vector(b))
            snprintf(to[count].name, sizeof(to[count].name), "%s", vectors);
        else if (b->copies > 1)
            snprintf(to[count].name, sizeof(to[count].name), "%.60s [%d]", b->name, count);
        else
            snprintf(to[count].name, sizeof(to[count].name), "%.60s", b->name);
    }
    return count;
}

static bool is_one_lane(const struct vmem_lane *a, const struct vmem_lane *b)
{
    return b->address < a->end || (strcmp(a->name, b->name) == 0 && strcmp(a->name, vectors) == 0);
}

int vmem_lanes(const struct ntrace_listing *l, struct vmem_lane *to, int most)
{
    int count = 0, kept = 0;

    for (int i = 0; l && i < l->buffer_count; i++) {
        if (count == most) {            /* what is beyond is not told apart */
            if (l->buffer[i].address + l->buffer[i].bytes > to[most - 1].end)
                to[most - 1].end = l->buffer[i].address + l->buffer[i].bytes;
            continue;
        }
        count += add_copies(&l->buffer[i], to + count, most - count);
    }
    qsort(to, (size_t)count, sizeof(*to), by_address);
    for (int i = 0; i < count; i++) {
        if (kept && is_one_lane(&to[kept - 1], &to[i])) {
            to[kept - 1].end = to[i].end > to[kept - 1].end ? to[i].end : to[kept - 1].end;
            continue;
        }
        to[kept++] = to[i];
    }
    return kept;
}

double vmem_lane_share(const struct vmem_lane *lane, int count, double address)
{
    for (int i = 0; i < count; i++) {
        if (address < (double)lane[i].address)
            return (double)i / count;
        if (address < (double)lane[i].end)
            return (i + (address - (double)lane[i].address) /
                            (double)(lane[i].end - lane[i].address)) / count;
    }
    return 1;
}

int64_t vmem_lane_address(const struct vmem_lane *lane, int count, double share)
{
    int i = (int)(share * count);

    i = i < 0 ? 0 : i < count ? i : count - 1;
    return lane[i].address + (int64_t)((share * count - i) * (double)(lane[i].end - lane[i].address));
}

const struct vmem_lane *vmem_lane_of(const struct vmem_lane *lane, int count, int64_t address)
{
    int i = 0;

    while (i + 1 < count && address >= lane[i].end)
        i++;
    return &lane[i];
}
