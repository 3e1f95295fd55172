/*
 * Gathers the bundles and source operations with the most cycles, from a trace's records or from
 * the table of a run folder.
 */
#include "report/explain/explain_places.h"

#include "report/view/run_folder.h"

#include <string.h>

/* ----- the table of source operations */

static bool sends_to_cores(const json_t *row)
{
    const char *category = run_text(row, "category");

    return strncmp(category, "all-reduce", 10) == 0 ||
           strncmp(category, "collective-permute", 18) == 0 || run_int(row, "ici_bytes") > 0;
}

static bool read_op(const json_t *row, struct arena *a, struct explain_place *p)
{
    const char *name = run_text(row, "framework_op");
    cycle_t stalls = run_int(row, "stall_cycles"), copies = run_int(row, "dma_stall_cycles");

    *p = (struct explain_place){.note = strcmp(name, "(none)") == 0 ? "" : arena_strdup(a, name),
                                .issue_cycles = run_int(row, "issue_cycles")};
    if (p->issue_cycles <= 0 || copies < 0 || stalls < copies)
        return false;                   /* the row of idle cycles, or no such table */
    p->stall_cycles[sends_to_cores(row) ? STALL_ICI : STALL_HBM] = copies;
    p->other_stall_cycles = stalls - copies;
    return true;
}

void explain_places_of_ops(const json_t *stats, struct arena *a, struct explain_input *in)
{
    json_t *rows = json_object_get(json_object_get(stats, "tables"), "ops"), *row;
    struct explain_place *place = arena_array(a, json_array_size(rows) + 1, sizeof(*place));
    size_t i;

    in->place = place;
    in->place_count = 0;
    json_array_foreach(rows, i, row)
        in->place_count += read_op(row, a, &place[in->place_count]);
}

/* ----- the trace */

#define REPEATS_MAX 100000              /* more, windows within windows, are no real trace */

struct tally {
    struct ntrace *trace;
    const struct isa_program *program;
    int core;
    struct explain_place *bundle;       /* by its index */
    cycle_t from, end;                  /* of the walk under way, */
    int64_t weight;                     /* and how often it counts */
    struct trace_repeat *repeat;
    size_t repeat_count, repeat_capacity;
    bool is_broken;
};

static void count_run(struct tally *t, const struct trace_record *r)
{
    for (int64_t i = 0; i < r->value; i++) {
        if (r->bundle + i >= t->program->bundle_count) {
            t->is_broken = true;
            return;
        }
        if (r->at + i >= t->from && r->at + i < t->end)
            t->bundle[r->bundle + i].issue_cycles += t->weight;
    }
}

static void count_stall(struct tally *t, const struct trace_record *r)
{
    cycle_t from = r->at > t->from ? r->at : t->from;
    cycle_t end = r->at + r->value < t->end ? r->at + r->value : t->end;

    if (r->bundle >= t->program->bundle_count || r->reason >= STALL_COUNT)
        t->is_broken = true;
    else if (end > from)
        t->bundle[r->bundle].stall_cycles[r->reason] += (end - from) * t->weight;
}

static bool count_record(void *context, const struct trace_record *r,
                         const struct trace_repeat *repeat)
{
    struct tally *t = context;

    if (t->repeat_count == REPEATS_MAX) {
        t->is_broken = true;
    } else if (repeat) {
        t->repeat = mem_grow(t->repeat, &t->repeat_capacity, t->repeat_count + 1,
                             sizeof(*t->repeat));
        t->repeat[t->repeat_count] = *repeat;
        t->repeat[t->repeat_count++].count *= t->weight;
    } else if (r->kind == TRACE_RUN) {
        count_run(t, r);
    } else if (r->kind == TRACE_STALL) {
        count_stall(t, r);
    }
    return !t->is_broken;
}

static void walk(struct tally *t, cycle_t from, cycle_t end, int64_t weight)
{
    t->from = from;
    t->end = end;
    t->weight = weight;
    ntrace_walk_records(t->trace, t->core, from, end, count_record, t);
}

/* what a repeat stands for is its window, so many times more; a window may hold repeats */
static void walk_all(struct tally *t, cycle_t from, cycle_t end)
{
    walk(t, from, end, 1);
    for (size_t i = 0; i < t->repeat_count && !t->is_broken; i++) {
        struct trace_repeat r = t->repeat[i];

        walk(t, r.at - r.period, r.at, r.count);
    }
    mem_free(t->repeat);
}

/* bundles with cycles to the front, source operations behind them */
static void gather(const struct tally *t, struct arena *a, struct explain_input *in)
{
    const struct isa_program *p = t->program;
    struct explain_place *place = arena_array(a, (size_t)p->bundle_count + p->note_count + 1,
                                              sizeof(*place));
    struct explain_place *note = place + p->bundle_count;
    size_t count = 0;

    for (uint32_t n = 0; n <= p->note_count; n++)
        note[n].note = n ? p->note[n - 1] : "";
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        struct explain_place *b = &t->bundle[i], *of = &note[p->bundle[i].note];

        of->issue_cycles += b->issue_cycles;
        for (int r = 0; r < STALL_COUNT; r++)
            of->stall_cycles[r] += b->stall_cycles[r];
        b->note = of->note;
        b->is_bundle = true;
        b->bundle = i;
        b->line = p->bundle[i].line;
        place[count++] = *b;
    }
    in->place = place;
    in->place_count = count + p->note_count + 1;
}

bool explain_places_of_trace(struct ntrace *s, cycle_t from, cycle_t end, struct arena *a,
                             struct explain_input *in)
{
    struct tally t = {.trace = s, .core = in->place_core,
                      .program = ntrace_program(s, in->place_core)};

    if (!t.program || ntrace_info(s)->level < TRACE_BUNDLE)
        return false;
    t.bundle = arena_array(a, (size_t)t.program->bundle_count + 1, sizeof(*t.bundle));
    walk_all(&t, from, end);
    if (!t.is_broken)
        gather(&t, a, in);
    return !t.is_broken;
}
