/*
 * Where the limit of events cuts. A trace that has too many ends early, on all
 * its tracks at once: what is there can be trusted, and a window finds the rest.
 */
#include "report/export/export_copies.h"

#include <string.h>

#define BUCKET_COUNT 4096

static int64_t issued_bundles(const struct export_run *r, cycle_t first, cycle_t end)
{
    int64_t sum[NTRACE_CELL_COUNT], bundles = 0;

    if (end <= first)
        return 0;
    for (int core = 0; core < r->info->core_count; core++) {
        if (!export_has_core(r, core))
            continue;
        ntrace_sum(r->t, NTRACE_CORE, core, first, end, sum);
        bundles += sum[NTRACE_CELL_ISSUE];
    }
    return bundles;
}

/* a slice per bundle at least, so that nothing behind this needs to be counted */
static cycle_t bound_by_bundles(const struct export_run *r)
{
    cycle_t low = r->options.first, high = r->end;

    if (issued_bundles(r, low, high) <= r->options.event_limit)
        return high;
    while (high - low > 1) {
        cycle_t middle = low + (high - low) / 2;

        if (issued_bundles(r, r->options.first, middle) <= r->options.event_limit)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct histogram {
    cycle_t first, width;
    int64_t count[BUCKET_COUNT];
};

static void count_slice(void *context, const struct export_track *t, const struct export_slice *s)
{
    struct histogram *h = context;
    cycle_t bucket = s->start > h->first ? (s->start - h->first) / h->width : 0;

    (void)t;
    if (bucket < BUCKET_COUNT)
        h->count[bucket]++;
}

/* counts what begins before r->end; moves r->end back where that is too much; whether to repeat */
static bool cut(struct export_run *r, struct histogram *h)
{
    const struct export_sink sink = {.context = h, .nests = true, .counts_only = true,
                                     .slice = count_slice};
    int64_t sum = 0;
    cycle_t end;
    int i = 0;

    memset(h, 0, sizeof(*h));
    h->first = r->options.first;
    h->width = (r->end - h->first) / BUCKET_COUNT + 1;
    export_walk(r, &sink);
    while (i < BUCKET_COUNT && sum + h->count[i] <= r->options.event_limit)
        sum += h->count[i++];
    if (i == BUCKET_COUNT)
        return false;
    end = h->first + (i ? i : 1) * h->width;
    if (i == 0 && h->width == 1)
        end = h->first;
    r->end = end < r->end ? end : r->end;
    return i == 0 && h->width > 1;
}

void export_plan(struct export_run *r)
{
    struct histogram *h;

    if (r->options.event_limit == 0)
        return;
    h = mem_alloc(sizeof(*h));
    if (r->options.level >= TRACE_BUNDLE && (r->kinds >> EXPORT_BUNDLES & 1u))
        r->end = bound_by_bundles(r);
    while (cut(r, h))
        ;
    mem_free(h);
    r->result.left_out_cycles = r->options.end - r->end;
    r->result.left_out_bundles = issued_bundles(r, r->end, r->options.end);
}
