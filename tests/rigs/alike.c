#include "tests/rigs/alike.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/test.h"

#define CYCLE_LIMIT 1000000             /* far above what any scene takes */
#define TIMED (OUTCOME_FAULT | OUTCOME_TIMES | OUTCOME_COUNTS | OUTCOME_SCALARS)
#define VALUED (OUTCOME_FAULT | OUTCOME_COUNTS | OUTCOME_SCALARS | OUTCOME_VALUES)
#define TRACED (OUTCOME_ALL | OUTCOME_TRACE)

enum { PAUSED, ONCE, TWICE, THRICE };

/* A way to run, and what must come out as in the plain way (of traces: as the first with one). */
static const struct way {
    const char *name;
    int parts;
    int launches;                       /* of which the last counts; PAUSED: one, with pauses */
    struct machine_options options;
} ways[] = {
    {"2 threads", OUTCOME_ALL, ONCE, {.thread_count = 2}},
    {"3 threads", OUTCOME_ALL, ONCE, {.thread_count = 3}},
    {"8 threads", OUTCOME_ALL, ONCE, {.thread_count = 8}},
    {"simd c", OUTCOME_ALL, ONCE, {.thread_count = 1, .simd = "c"}},
    {"simd avx2", OUTCOME_ALL, ONCE, {.thread_count = 1, .simd = "avx2"}},
    {"simd avx512", OUTCOME_ALL, ONCE, {.thread_count = 1, .simd = "avx512"}},
    {"simd avx512bf16", OUTCOME_ALL, ONCE, {.thread_count = 1, .simd = "avx512bf16"}},
    {"launched again", OUTCOME_ALL, TWICE, {.thread_count = 1}},
    {"no memo", OUTCOME_ALL, ONCE, {.thread_count = 1, .no_memo = true}},
    {"trace", TRACED, ONCE, {.thread_count = 1}},
    {"trace, 3 threads", TRACED, ONCE, {.thread_count = 3}},
    {"pauses", OUTCOME_ALL, PAUSED, {.thread_count = 1}},
    {"pauses, trace, 2 threads", TRACED, PAUSED, {.thread_count = 2}},
    {"races checked", OUTCOME_ALL, ONCE, {.thread_count = 1, .check_races = true}},
    {"races checked, 3 threads", OUTCOME_ALL, ONCE, {.thread_count = 3, .check_races = true}},
    {"timing", TIMED, ONCE, {.thread_count = 1, .mode = MODE_TIMING}},
    {"timing, no memo", TIMED, ONCE,
     {.thread_count = 1, .mode = MODE_TIMING, .no_memo = true}},
    {"timing, launched thrice", TIMED, THRICE, {.thread_count = 1, .mode = MODE_TIMING}},
    {"timing, trace", TIMED | OUTCOME_TRACE, ONCE, {.thread_count = 1, .mode = MODE_TIMING}},
    {"timing, trace, no memo", TIMED | OUTCOME_TRACE, ONCE,
     {.thread_count = 1, .mode = MODE_TIMING, .no_memo = true}},
    {"timing, trace, pauses, 2 threads", TIMED | OUTCOME_TRACE, PAUSED,
     {.thread_count = 2, .mode = MODE_TIMING}},
    {"timing, trace, launched thrice", TIMED | OUTCOME_TRACE, THRICE,
     {.thread_count = 1, .mode = MODE_TIMING}},
    {"timing, pauses, 2 threads", TIMED, PAUSED, {.thread_count = 2, .mode = MODE_TIMING}},
    {"functional", VALUED, ONCE, {.thread_count = 1, .mode = MODE_FUNCTIONAL}},
    {"functional, launched again", VALUED, TWICE,
     {.thread_count = 1, .mode = MODE_FUNCTIONAL}},
    {"functional, 3 threads", VALUED, ONCE, {.thread_count = 3, .mode = MODE_FUNCTIONAL}},
    {"functional, pauses", VALUED, PAUSED, {.thread_count = 1, .mode = MODE_FUNCTIONAL}},
};

/* short and long ones; the launch ends at the latest at the cycle limit */
static void run_with_pauses(struct machine *m, uint64_t seed)
{
    struct rng rng;
    cycle_t until = 0;

    rng_init(&rng, seed);
    machine_start(m);
    do {
        static const uint32_t longest[] = {1, 3, 50, 1000, 5000};
        cycle_t next = machine_next_cycle(m);

        until += 1 + rng_below(&rng, longest[rng_below(&rng, COUNT_OF(longest))]);
        if (rng_below(&rng, 3) == 0 && next != CYCLE_NEVER && next >= until)
            until = next + 1;
    } while (machine_advance(m, until) == MACHINE_PAUSED);
    machine_finish(m);
}

/* false where the host has no such SIMD path */
static bool launch(const struct scene *s, const struct way *w, struct outcome *o)
{
    struct machine_options options = w->options;
    struct trace_log log;
    struct machine *m;
    struct err e = {.line = 0};

    options.cycle_limit = CYCLE_LIMIT;
    m = machine_create(s->slice, s->chip, &options, &e);
    if (!m && options.simd)
        return false;
    if (!m)
        fail_msg("%s: %s", s->name, e.msg);
    if (w->parts & OUTCOME_TRACE)
        trace_log_open(&log, m);
    for (int i = 0; i < w->launches; i++) {
        s->load(s, m);
        machine_run(m, &e);
    }
    if (w->launches == PAUSED) {
        s->load(s, m);
        run_with_pauses(m, s->seed);
    }
    if (w->parts & OUTCOME_TRACE)
        trace_log_check(&log, m);
    outcome_take(o, m, w->parts & OUTCOME_TRACE ? &log : NULL, w->parts, s->range,
                 s->range_count);
    if (w->parts & OUTCOME_TRACE)
        trace_log_close(&log);
    machine_destroy(m);
    return true;
}

/* The plain launch, and the first with a trace, which others are held against. */
struct base {
    struct outcome plain, traced;
    bool has_trace;
};

/* the first way with a trace is what the others with one are held against */
static bool is_wanted(const struct scene *s, const struct way *w, const struct base *b)
{
    return !s->only_way || strcmp(s->only_way, w->name) == 0
           || ((w->parts & OUTCOME_TRACE) && !b->has_trace);
}

static bool makes_sense(const struct scene *s, const struct way *w)
{
    if (w->options.mode == MODE_TIMING && s->needs_lanes)
        return false;
    if (w->options.simd && strcmp(w->options.simd, "c") == 0 && s->is_large && !test_is_long())
        return false;
    return !s->has_races || (w->options.mode != MODE_FUNCTIONAL && !w->options.check_races);
}

static bool is_alike(const struct scene *s, const struct way *w, struct base *b, char *what,
                     size_t what_bytes)
{
    char difference[120];
    struct outcome o;
    bool is_same;

    if (!launch(s, w, &o))
        return true;
    is_same = outcome_same(&b->plain, &o, w->parts & ~OUTCOME_TRACE, difference,
                           sizeof(difference));
    if (is_same && (w->parts & OUTCOME_TRACE) && b->has_trace)
        is_same = outcome_same(&b->traced, &o, OUTCOME_TRACE, difference, sizeof(difference));
    if (!is_same)
        snprintf(what, what_bytes, "%s: %s", w->name, difference);
    if ((w->parts & OUTCOME_TRACE) && !b->has_trace) {
        b->has_trace = true;
        b->traced = o;
    } else {
        outcome_free(&o);
    }
    return is_same;
}

bool alike(const struct scene *s, char *what, size_t what_bytes)
{
    static const struct way plain = {"plain", OUTCOME_ALL, ONCE, {.thread_count = 1}};
    struct base b = {.has_trace = false};
    bool is_same;

    launch(s, &plain, &b.plain);
    is_same = b.plain.fault[0] == '\0';
    if (!is_same)
        snprintf(what, what_bytes, "plain: %s", b.plain.fault);
    for (size_t i = 0; i < COUNT_OF(ways) && is_same; i++)
        if (makes_sense(s, &ways[i]) && is_wanted(s, &ways[i], &b))
            is_same = is_alike(s, &ways[i], &b, what, what_bytes);
    outcome_free(&b.plain);
    if (b.has_trace)
        outcome_free(&b.traced);
    return is_same;
}
