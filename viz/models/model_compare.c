/* Matches the parts, reasons and source operations of two launches, and ranks their differences. */
#include "viz/models/model_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void compare_model_fini(struct compare_model *m)
{
    for (int i = 0; i < COMPARE_LIST_COUNT; i++)
        mem_free(m->row[i]);
    mem_free(m->side[0].color);
    mem_free(m->side[1].color);
    memset(m, 0, sizeof(*m));
}

/* of `cycles` of one side, in the unit of the differences: cycles, or µs */
static double compare_model_time(const struct compare_model *m, int side, double cycles)
{
    return m->has_two_clocks ? cycles / m->side[side].mhz : cycles;
}

/* ---- rows ---- */

static struct compare_row *add_row(struct compare_model *m, enum compare_list list,
                                   enum compare_kind kind, int index, const char *name)
{
    m->row[list] = mem_grow(m->row[list], &m->capacity[list], m->count[list] + 1,
                            sizeof(**m->row));
    m->row[list][m->count[list]] = (struct compare_row){.kind = kind, .index = index,
                                                        .name = name};
    return &m->row[list][m->count[list]++];
}

static void add(struct compare_model *m, enum compare_list list, enum compare_kind kind,
                int index, const char *name, cycle_t a, cycle_t b)
{
    struct compare_row *r;

    if (a == 0 && b == 0)
        return;
    r = add_row(m, list, kind, index, name);
    r->cycles[0] = a;
    r->cycles[1] = b;
}

/* what the rows before do not tell, as of a trace that was cut short */
static void add_rest(struct compare_model *m, enum compare_list list)
{
    cycle_t rest[2];

    for (int side = 0; side < 2; side++) {
        rest[side] = m->side[side].cycles;
        for (size_t i = 0; i < m->count[list]; i++)
            rest[side] -= m->row[list][i].cycles[side];
    }
    add(m, list, COMPARE_REST, 0, "(not in the trace)", rest[0], rest[1]);
}

static void add_parts(struct compare_model *m)
{
    const struct step_parts *a = &m->side[0].parts, *b = &m->side[1].parts;

    for (int i = 0; i <= BREAKDOWN_LAST_ON_CORE; i++)
        add(m, COMPARE_PARTS, COMPARE_PART, i, breakdown_text((enum breakdown_part)i)->name,
            a->parts.part[i], b->parts.part[i]);
}

static void add_reasons(struct compare_model *m)
{
    const struct step_parts *a = &m->side[0].parts, *b = &m->side[1].parts;

    add(m, COMPARE_REASONS, COMPARE_ISSUE, 0, "issue", a->issue_cycles, b->issue_cycles);
    for (int i = 0; i < STALL_COUNT; i++)
        add(m, COMPARE_REASONS, COMPARE_STALL, i, stall_name((enum stall_reason)i),
            a->stall_cycles[i], b->stall_cycles[i]);
    add(m, COMPARE_REASONS, COMPARE_IDLE, 0, "idle", a->parts.part[BREAKDOWN_IDLE],
        b->parts.part[BREAKDOWN_IDLE]);
    add_rest(m, COMPARE_REASONS);
}

/* ---- source operations ---- */

struct named {
    const char *name;
    cycle_t cycles;
    uint32_t note;
    int side;
};

static int by_name(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    const int names = strcmp(a->name, b->name);

    if (names != 0)
        return names;
    return a->side != b->side ? a->side - b->side : a->note < b->note ? -1 : a->note > b->note;
}

static uint32_t note_count(const struct compare_model *m, int side)
{
    const struct isa_program *p = ntrace_program(m->side[side].run, m->core);

    return p ? p->note_count : 0;
}

static struct named *take_notes(struct compare_model *m, int side, struct named *to)
{
    struct compare_side *s = &m->side[side];
    const struct isa_program *p = ntrace_program(s->run, m->core);
    const uint32_t count = s->note_count = note_count(m, side);
    int64_t *cycles = mem_alloc((count + 1u) * sizeof(*cycles));

    mem_free(s->color);
    s->color = mem_alloc((count + 1u) * sizeof(*s->color));
    if (p)
        ntrace_note_cycles(s->run, m->core, s->start, s->start + s->cycles, cycles);
    for (uint32_t n = 0; n <= count; n++)
        *to++ = (struct named){n ? p->note[n - 1] : "(none)", cycles[n], n, side};
    mem_free(cycles);
    return to;
}

static void add_ops(struct compare_model *m)
{
    const size_t count = (size_t)note_count(m, 0) + note_count(m, 1) + 2;
    struct named *named = mem_alloc(count * sizeof(*named));
    size_t i, next;

    take_notes(m, 1, take_notes(m, 0, named));
    qsort(named, count, sizeof(*named), by_name);
    for (i = 0; i < count; i = next) {
        struct compare_row row = {.kind = COMPARE_OP, .name = named[i].name};

        row.color = named[i].side == 0 ? named[i].note : m->side[0].note_count + named[i].note;
        row.color = strcmp(row.name, "(none)") == 0 ? 0 : row.color;
        for (next = i; next < count && strcmp(named[next].name, named[i].name) == 0; next++) {
            row.cycles[named[next].side] += named[next].cycles;
            m->side[named[next].side].color[named[next].note] = row.color;
        }
        if (row.cycles[0] || row.cycles[1])
            *add_row(m, COMPARE_OPS, COMPARE_OP, 0, row.name) = row;
    }
    mem_free(named);
    add(m, COMPARE_OPS, COMPARE_IDLE, 0, "(halted)", m->side[0].parts.parts.part[BREAKDOWN_IDLE],
        m->side[1].parts.parts.part[BREAKDOWN_IDLE]);
    add_rest(m, COMPARE_OPS);
}

/* ---- differences ---- */

static int by_difference(const void *x, const void *y)
{
    const struct compare_row *a = x, *b = y;
    const double da = fabs(a->difference), db = fabs(b->difference);
    const cycle_t sa = a->cycles[0] + a->cycles[1], sb = b->cycles[0] + b->cycles[1];

    if (da != db)
        return da > db ? -1 : 1;
    if (sa != sb)
        return sa > sb ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void rank(struct compare_model *m, enum compare_list list)
{
    const struct compare_side *a = &m->side[0], *b = &m->side[1];

    for (size_t i = 0; i < m->count[list]; i++) {
        struct compare_row *r = &m->row[list][i];

        r->difference = compare_model_time(m, 1, (double)(r->cycles[1] - r->cycles[0]));
    }
    if (m->has_two_clocks)
        add_row(m, list, COMPARE_CLOCK, 0, "clock")->difference =
            (double)a->cycles * (1 / b->mhz - 1 / a->mhz);
    if (m->count[list] > 0)
        qsort(m->row[list], m->count[list], sizeof(**m->row), by_difference);
}

static void load_side(struct compare_model *m, int side, struct ntrace *run, size_t launch)
{
    const struct ntrace_info *info = ntrace_info(run);
    struct compare_side *s = &m->side[side];

    s->run = run;
    s->launch = launch;
    s->start = info->launch[launch].start;
    s->cycles = info->launch[launch].cycles;
    s->mhz = (double)info->chip->chip_clock_mhz;
    steps_model_launch(run, m->core, launch, &s->parts);
}

void compare_model_load(struct compare_model *m, struct ntrace *run, size_t launch,
                        struct ntrace *other, size_t other_launch, int core)
{
    m->core = core;
    memset(m->count, 0, sizeof(m->count));
    load_side(m, 0, run, launch);
    load_side(m, 1, other, other_launch);
    m->has_two_clocks = m->side[0].mhz != m->side[1].mhz;
    m->difference = compare_model_time(m, 1, (double)m->side[1].cycles)
                    - compare_model_time(m, 0, (double)m->side[0].cycles);
    add_parts(m);
    add_reasons(m);
    add_ops(m);
    for (int i = 0; i < COMPARE_LIST_COUNT; i++)
        rank(m, (enum compare_list)i);
}

const char *compare_model_refusal(struct ntrace *run, struct ntrace *other, int core,
                                  struct arena *a)
{
    if (!other)
        return "One run is open. To see two beside each other, with where the difference of their "
               "times comes from: systole-view RUN OTHER --panel compare";
    for (int side = 0; side < 2; side++) {
        const struct ntrace_info *i = ntrace_info(side ? other : run);
        const char *name = side ? "The second run" : "The first run";

        if (i->launch_count == 0)
            return arena_printf(a, "%s has no launch that has ended.", name);
        if (i->level < TRACE_OP)
            return arena_printf(a, "%s has only launches: record it with --trace-level op or "
                                "bundle.", name);
        if (core >= i->core_count)
            return arena_printf(a, "%s has no core %d, only 0 to %d: PageUp goes to the one "
                                "before.", name, core, i->core_count - 1);
    }
    return NULL;
}
