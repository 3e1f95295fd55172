/* Keeps ranges of a store as references to pages, which writers copy, and as bytes at both ends. */
#include "sim/fastpath/held_ranges.h"

#include "base/arena.h"

#include <string.h>

#define PAGE HBM_STORE_PAGE_BYTES
#define SAMPLES 32                      /* of a range, about */
#define SAMPLE_BYTES 64

/* A range in three parts; each may be empty. */
struct held_range {
    int64_t first, pages_first, pages_end, end;
    struct hbm_hold *pages;             /* NULL: none */
    unsigned char *head, *tail;         /* of the room below */
};

struct held_ranges {
    unsigned char *room;
    size_t count;
    struct held_range range[];
};

static struct held_range parts_of(const struct range *r)
{
    struct held_range h = {.first = r->first, .pages_first = (r->first + PAGE - 1) / PAGE * PAGE,
                           .pages_end = r->end / PAGE * PAGE, .end = r->end};

    if (h.pages_first >= h.pages_end)
        h.pages_first = h.pages_end = r->end;
    return h;
}

static size_t head_bytes(const struct held_range *h)
{
    return (size_t)(h->pages_first - h->first);
}

static size_t tail_bytes(const struct held_range *h)
{
    return (size_t)(h->end - h->pages_end);
}

static void take(struct held_range *h, const struct hbm_store *s, unsigned char *room)
{
    h->head = room;
    h->tail = room + head_bytes(h);
    hbm_store_read(s, h->first, h->head, head_bytes(h));
    hbm_store_read(s, h->pages_end, h->tail, tail_bytes(h));
    if (h->pages_first < h->pages_end)
        h->pages = hbm_store_hold(s, h->pages_first, (size_t)(h->pages_end - h->pages_first));
}

struct held_ranges *held_ranges_take(const struct hbm_store *s, const struct range *range,
                                     size_t count)
{
    struct held_ranges *h = mem_alloc(sizeof(*h) + count * sizeof(h->range[0]));
    size_t bytes = 0;

    h->count = count;
    for (size_t i = 0; i < count; i++) {
        h->range[i] = parts_of(&range[i]);
        bytes += head_bytes(&h->range[i]) + tail_bytes(&h->range[i]);
    }
    h->room = mem_alloc(bytes + 1);
    bytes = 0;
    for (size_t i = 0; i < count; i++) {
        take(&h->range[i], s, h->room + bytes);
        bytes += head_bytes(&h->range[i]) + tail_bytes(&h->range[i]);
    }
    return h;
}

void held_ranges_free(struct held_ranges *h)
{
    for (size_t i = 0; h && i < h->count; i++)
        hbm_hold_free(h->range[i].pages);
    if (h)
        mem_free(h->room);
    mem_free(h);
}

static bool bytes_match(const struct hbm_store *s, int64_t address, const unsigned char *bytes,
                        size_t count)
{
    unsigned char now[4096];
    size_t done, part;

    for (done = 0; done < count; done += part) {
        part = count - done < sizeof(now) ? count - done : sizeof(now);
        hbm_store_read(s, address + (int64_t)done, now, part);
        if (memcmp(now, bytes + done, part) != 0)
            return false;
    }
    return true;
}

bool held_ranges_match(const struct held_ranges *h, struct hbm_store *s)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct held_range *r = &h->range[i];

        if (!bytes_match(s, r->first, r->head, head_bytes(r))
            || !bytes_match(s, r->pages_end, r->tail, tail_bytes(r)))
            return false;
    }
    for (size_t i = 0; i < h->count; i++)
        if (h->range[i].pages && !hbm_store_match(s, h->range[i].pages_first, h->range[i].pages))
            return false;
    return true;
}

void held_ranges_put(const struct held_ranges *h, struct hbm_store *s)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct held_range *r = &h->range[i];

        hbm_store_write(s, r->first, r->head, head_bytes(r));
        hbm_store_write(s, r->pages_end, r->tail, tail_bytes(r));
        if (r->pages)
            hbm_store_put(s, r->pages_first, r->pages);
    }
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

uint64_t held_ranges_sample(const struct hbm_store *s, const struct range *range, size_t count)
{
    uint64_t sum = 0, word[SAMPLE_BYTES / sizeof(uint64_t)];

    for (size_t i = 0; i < count; i++) {
        int64_t step = (range[i].end - range[i].first) / SAMPLES, at = range[i].first;

        step = step < SAMPLE_BYTES ? SAMPLE_BYTES : step;
        for (; at + SAMPLE_BYTES <= range[i].end; at += step) {
            hbm_store_read(s, at, word, SAMPLE_BYTES);
            for (size_t k = 0; k < sizeof(word) / sizeof(word[0]); k++)
                sum = mix(sum, word[k]);
        }
    }
    return sum;
}
