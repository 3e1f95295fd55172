/* Computes the bytes that one side of a copy touches, as pieces. */
#include "sim/check/race_impl.h"

#include "base/arena.h"

#include <stdlib.h>

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* into order, and those that touch into one */
static void sort_pieces(struct side *s)
{
    size_t kept = 0;

    qsort(s->piece, s->count, sizeof(*s->piece), compare_extents);
    for (size_t i = 1; i < s->count; i++) {
        struct extent *last = &s->piece[kept], next = s->piece[i];

        if (next.first > last->end)
            s->piece[++kept] = next;
        else if (next.end > last->end)
            last->end = next.end;
    }
    s->count = kept + 1;
}

struct side race_side_of(const struct dma *d, bool is_write)
{
    struct side s = {.space = is_write ? d->destination_space : d->source_space,
                     .is_write = is_write};
    bool is_sorted = true;
    struct dma_piece p;

    for (int64_t done = 0; done < d->bytes; done += p.bytes) {
        struct extent *last = s.count > 0 ? &s.piece[s.count - 1] : NULL;

        p = dma_piece(d, is_write, done, d->bytes - done);
        if (last && p.address >= last->first && p.address + p.bytes <= last->end)
            continue;                   /* a stride of 0 */
        if (last && p.address == last->end) {
            last->end += p.bytes;
            continue;
        }
        is_sorted = is_sorted && (!last || p.address > last->end);
        MEM_ADD(s.piece, s.count, s.capacity) = (struct extent){p.address, p.address + p.bytes};
    }
    if (!is_sorted)
        sort_pieces(&s);
    return s;
}

const struct extent *race_side_piece_in(const struct side *s, const struct extent *e)
{
    size_t low = 0, high = s->count;

    if (e->end <= s->piece[0].first || e->first >= s->piece[s->count - 1].end)
        return NULL;
    while (low < high) {                /* the first that ends behind e->first */
        size_t middle = (low + high) / 2;

        if (s->piece[middle].end > e->first)
            high = middle;
        else
            low = middle + 1;
    }
    return s->piece[low].first < e->end ? &s->piece[low] : NULL;
}

bool race_sides_meet(const struct side *a, const struct side *b, struct extent *of_a,
                     struct extent *of_b)
{
    size_t i = 0, j = 0;

    if (a->space != b->space || (!a->is_write && !b->is_write))
        return false;
    while (i < a->count && j < b->count) {
        *of_a = a->piece[i];
        *of_b = b->piece[j];
        if (of_a->first < of_b->end && of_b->first < of_a->end)
            return true;
        if (of_a->end <= of_b->first)
            i++;
        else
            j++;
    }
    return false;
}
