/* Feeds a wavefront from a run with what a picture needs, and not more. */
#include "viz/models/model_wavefront.h"

#define HISTORY_CYCLES 131072           /* fed before what is looked at: weights, FIFO */
#define KEEP_OPS 500000                 /* above that, starts again */

/* what overlaps known_end was fed when it began */
static bool feed_event(void *context, const struct trace_event *e)
{
    struct wavefront *w = context;

    if (e->start >= w->known_end)
        wavefront_feed(w, e);
    return true;
}

static cycle_t launch_start(const struct ntrace_info *info, cycle_t t)
{
    cycle_t start = 0;

    for (size_t i = 0; i < info->launch_count && info->launch[i].start <= t; i++)
        start = info->launch[i].start;
    return start;
}

static void restart_before(struct wavefront *w, struct ntrace *run, cycle_t from)
{
    cycle_t start = launch_start(ntrace_info(run), from);

    wavefront_restart(w, later(start, from - HISTORY_CYCLES), from - HISTORY_CYCLES <= start);
}

void wavefront_gather(struct wavefront *w, struct ntrace *run, int core, cycle_t from,
                      cycle_t end)
{
    const bool has_history = w->is_from_start || from >= w->known_from + HISTORY_CYCLES / 2;
    const bool has_launch = launch_start(ntrace_info(run), from) <= w->known_from;

    if (w->known_end == 0 || from < w->known_from || !has_history || !has_launch ||
        from > w->known_end + HISTORY_CYCLES || w->count > KEEP_OPS)
        restart_before(w, run, from);
    if (end <= w->known_end)
        return;
    ntrace_walk_core(run, core, w->known_end, end, false, true, feed_event, w);
    w->known_end = end;
}
