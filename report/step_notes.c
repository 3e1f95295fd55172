/*
 * Cycles by source operation, out of a trace.
 *
 * Every cycle before the core halts belongs to the bundle that was issued or
 * waiting last, and so to that bundle's note. Only events that start when
 * their bundle issues mark a bundle: stalls, and operations of units without a
 * queue before them.
 */
#include "report/step_table.h"

#include "base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_LINES 20                   /* the rest is summed in one line */

struct mark {
    cycle_t start;
    size_t index;                       /* keeps the order of events at one cycle */
    uint32_t note;                      /* 0 = none */
};

struct total {
    cycle_t cycles;
    uint32_t note;
};

static bool starts_at_issue(const struct trace_event *e)
{
    if (e->track < 0)
        return true;
    switch (isa_info((enum isa_opcode)e->code)->unit) {
    case UNIT_SCALAR: case UNIT_VALU: case UNIT_LOAD: case UNIT_STORE: case UNIT_MISC:
    case UNIT_DMA:
        return true;
    default:
        return false;
    }
}

static int compare_marks(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_totals(const void *x, const void *y)
{
    const struct total *a = x, *b = y;

    if (a->cycles != b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return a->note < b->note ? -1 : a->note > b->note;
}

static size_t gather_marks(const struct report_view *v, struct mark *mark)
{
    size_t count = 0;

    for (size_t i = 0; i < v->trace[0].count; i++) {
        const struct trace_event *e = &v->trace[0].event[i];

        if (!starts_at_issue(e))
            continue;
        assert(e->bundle < v->program->bundle_count);
        mark[count] = (struct mark){e->start, i, v->program->bundle[e->bundle].note};
        count++;
    }
    qsort(mark, count, sizeof(*mark), compare_marks);
    return count;
}

static void sum_totals(const struct report_view *v, struct total *total, struct mark *mark)
{
    size_t count = gather_marks(v, mark);
    cycle_t end = v->core[0]->cycles - v->core[0]->idle_cycles;

    for (uint32_t n = 0; n <= v->program->note_count; n++)
        total[n].note = n;
    for (size_t i = 0; i < count; i++) {
        cycle_t next = i + 1 < count ? mark[i + 1].start : end;

        if (next > mark[i].start)
            total[mark[i].note].cycles += next - mark[i].start;
    }
    if (count)
        total[0].cycles += mark[0].start;
}

static void print_total(const struct report_view *v, const char *name, cycle_t cycles, FILE *to)
{
    char number[32];

    fprintf(to, "  %-48.48s %14s %6.1f %%\n", name,
            text_thousands(cycles, number, sizeof(number)),
            view_percent((double)cycles, (double)v->cycles));
}

void step_notes_print(const struct report_view *v, FILE *to)
{
    struct arena a;
    struct total *total;
    cycle_t rest = 0;

    if (!v->trace || !v->program || v->program->note_count == 0)
        return;
    arena_init(&a);
    total = arena_array(&a, (size_t)v->program->note_count + 1, sizeof(*total));
    sum_totals(v, total, arena_array(&a, v->trace[0].count, sizeof(struct mark)));
    qsort(total, (size_t)v->program->note_count + 1, sizeof(*total), compare_totals);
    fprintf(to, "\ncycles of core 0 by source operation\n");
    for (uint32_t n = 0; n <= v->program->note_count; n++) {
        if (n >= NOTE_LINES)
            rest += total[n].cycles;
        else if (total[n].cycles > 0)
            print_total(v, total[n].note ? v->program->note[total[n].note - 1] : "(none)",
                        total[n].cycles, to);
    }
    if (rest > 0)
        print_total(v, "(all others)", rest, to);
    arena_fini(&a);
}
