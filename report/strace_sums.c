#include "report/strace_sums.h"

static bool is_there(const struct strace *t, enum strace_series series, int index)
{
    const int count[STRACE_SERIES_COUNT] = {t->meta.core_count, t->meta.chip_count,
                                            t->meta.link_count};

    return index >= 0 && index < count[series];
}

void strace_sum(struct strace *t, enum strace_series series, int index, cycle_t from,
                cycle_t end, int64_t *to)
{
    memset(to, 0, (size_t)series_count(series) * sizeof(*to));
    if (is_there(t, series, index))
        exact_sum(t, series, index, later(from, 0), end < t->info.cycles ? end : t->info.cycles,
                  to);
}

void strace_cells(struct strace *t, enum strace_series series, int index, cycle_t from,
                  cycle_t width_cycles, size_t count, int64_t *to)
{
    for (size_t i = 0; i < count; i++)
        strace_sum(t, series, index, from + (cycle_t)i * width_cycles,
                   from + (cycle_t)(i + 1) * width_cycles,
                   to + i * (size_t)series_count(series));
}

struct note_sum {
    int64_t *to;
    cycle_t from, end;
};

static bool add_note(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    struct note_sum *s = context;
    cycle_t first = later(start, s->from), last = end < s->end ? end : s->end;

    s->to[note] += later(last - first, 0);
    return true;
}

void strace_note_cycles(struct strace *t, int core, cycle_t from, cycle_t end, int64_t *to)
{
    struct note_sum s = {.to = to, .from = from, .end = end};

    strace_walk_ops(t, core, from, end, add_note, &s);
}
