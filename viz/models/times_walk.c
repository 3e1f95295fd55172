/*
 * Walks over records with their repeat counts, descending into repeats only where the interval
 * cuts them.
 */
#include "viz/models/times_walk.h"

#define DEPTH_MOST 32                   /* of repeats in windows of repeats */

struct interval {
    struct ntrace *run;
    int core, depth;
    cycle_t from, end;
    int64_t times;
    times_fn *fn;
    void *context;
    int64_t *records;
};

static void walk(struct interval *s);

static void walk_part(const struct interval *s, cycle_t from, cycle_t end, int64_t times)
{
    struct interval part = *s;

    part.from = from;
    part.end = end;
    part.times = s->times * times;
    part.depth = s->depth + 1;
    if (part.times > 0 && end > from && part.depth <= DEPTH_MOST)
        walk(&part);
}

/* the part of the repeat that lies in the interval: whole periods, and pieces at both ends */
static void walk_repeat(const struct interval *s, const struct trace_repeat *r)
{
    const cycle_t from = later(s->from, r->at) - r->at, last = r->at + r->period * r->count;
    const cycle_t end = (s->end < last ? s->end : last) - r->at, window = r->at - r->period;
    const cycle_t first_whole = round_up(from, r->period), end_whole = end / r->period * r->period;

    if (end <= from)
        return;
    if (first_whole > end_whole) {      /* within one period */
        walk_part(s, window + from % r->period, window + from % r->period + (end - from), 1);
        return;
    }
    if (first_whole > from)
        walk_part(s, window + from % r->period, r->at, 1);
    walk_part(s, window, window + end % r->period, 1);
    walk_part(s, window, r->at, (end_whole - first_whole) / r->period);
}

static bool take(void *context, const struct trace_record *r, const struct trace_repeat *repeat)
{
    struct interval *s = context;

    ++*s->records;
    if (repeat)
        walk_repeat(s, repeat);
    else if (r->at < s->end)
        s->fn(s->context, r, s->times);
    return true;
}

static void walk(struct interval *s)
{
    ntrace_walk_records(s->run, s->core, s->from, s->end, take, s);
}

int64_t times_walk(struct ntrace *run, int core, cycle_t from, cycle_t end, times_fn *fn,
                   void *context)
{
    int64_t records = 0;
    struct interval s = {.run = run, .core = core, .from = from, .end = end, .times = 1, .fn = fn,
                         .context = context, .records = &records};

    walk(&s);
    return records;
}
