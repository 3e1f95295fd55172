/*
 * Adds up what a core's units do in a run of bundles, as differences of prefix sums over the
 * program.
 */
#include "report/native_trace/ntrace_tally.h"

#include "sim/core/program.h"

#include <string.h>

_Static_assert(TRACKS_SIMPLE < 1u << TALLY_SIMPLE, "simple tracks have a column each");

static void add_bundle(struct ntrace_tally_program *t, uint32_t bundle)
{
    const struct isa_bundle *b = &t->program->bundle[bundle];
    uint32_t seen = 0, *row = t->simple[bundle + 1];

    memcpy(row, t->simple[bundle], sizeof(t->simple[0]));
    t->first_long[bundle + 1] = t->first_long[bundle];
    for (uint32_t i = 0; i < b->op_count; i++) {
        const struct trace_op *op = &t->op[b->first_op + i];
        uint32_t bit = 1u << op->track;

        if (op->busy_cycles == 0)
            continue;
        if (bit & TRACKS_SIMPLE) {
            row[op->track] += !(seen & bit);
            seen |= bit;
        } else {
            t->long_op[t->first_long[bundle + 1]++] =
                (struct ntrace_tally_long){bundle, op->busy_cycles, (uint32_t)op->track};
        }
    }
}

void ntrace_tally_prepare(struct ntrace_tally_program *t, const struct isa_program *p,
                          const struct trace_op *op, struct arena *a)
{
    size_t count = p->bundle_count;

    *t = (struct ntrace_tally_program){.program = p, .op = op, .bundle_count = p->bundle_count};
    t->simple = arena_array(a, count + 1, sizeof(*t->simple));
    t->first_long = arena_array(a, count + 1, sizeof(*t->first_long));
    t->long_op = arena_array(a, p->op_count, sizeof(*t->long_op));
    t->note_end = arena_array(a, count + 1, sizeof(*t->note_end));
    for (uint32_t i = 0; i < p->bundle_count; i++)
        add_bundle(t, i);
    for (uint32_t i = p->bundle_count; i-- > 0;)
        t->note_end[i] = i + 1 < p->bundle_count && p->bundle[i].note == p->bundle[i + 1].note
                         ? t->note_end[i + 1] : i + 1;
}

static inline void add_long(struct ntrace_tally *t, unsigned track, uint32_t busy_cycles,
                            cycle_t at)
{
    t->busy_until[track] = later(t->busy_until[track], at) + busy_cycles;
    t->value[NTRACE_CELL_UNIT + track] += busy_cycles;
    t->long_tracks |= 1u << track;
}

void ntrace_tally_run(struct ntrace_tally *t, const struct ntrace_tally_program *p, uint32_t bundle,
                      int64_t count, cycle_t at)
{
    const uint32_t *from = p->simple[bundle], *to = p->simple[bundle + (uint32_t)count];
    const struct ntrace_tally_long *o = &p->long_op[p->first_long[bundle]];
    const struct ntrace_tally_long *end = &p->long_op[p->first_long[bundle + (uint32_t)count]];

    t->value[NTRACE_CELL_ISSUE] += count;
    for (uint32_t i = 0; i < TALLY_SIMPLE; i++)
        t->value[NTRACE_CELL_UNIT + i] += to[i] - from[i];
    for (; o < end; o++)
        add_long(t, o->track, o->busy_cycles, at + (o->bundle - bundle));
}

void ntrace_tally_live(struct ntrace_tally *t, const struct ntrace_tally_program *p,
                       uint32_t bundle, uint64_t live, cycle_t at)
{
    const struct isa_bundle *b = &p->program->bundle[bundle];
    uint32_t seen = 0;

    t->value[NTRACE_CELL_ISSUE]++;
    for (uint32_t i = 0; i < b->op_count; i++) {
        const struct trace_op *op = &p->op[b->first_op + i];

        if (op->busy_cycles == 0 || !(live >> (i & 63) & 1))
            continue;
        if (!(1u << op->track & TRACKS_SIMPLE)) {
            add_long(t, (unsigned)op->track, op->busy_cycles, at);
            continue;
        }
        t->value[NTRACE_CELL_UNIT + op->track] += !(seen >> op->track & 1u);
        seen |= 1u << op->track;
    }
}

static void move_overhang(struct ntrace_tally *t, cycle_t border, int sign)
{
    for (uint32_t left = t->long_tracks; left; left &= left - 1) {
        int track = __builtin_ctz(left);

        if (t->busy_until[track] > border)
            t->value[NTRACE_CELL_UNIT + track] += sign * (t->busy_until[track] - border);
    }
}

void ntrace_tally_cut(struct ntrace_tally *t, cycle_t border) { move_overhang(t, border, -1); }
void ntrace_tally_carry(struct ntrace_tally *t, cycle_t border) { move_overhang(t, border, 1); }
