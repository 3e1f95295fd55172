/*
 * Tabulates how long each operation of a program occupies its unit, as sim/core/timing*.c take it.
 */
#include "sim/chip/limits.h"
#include "sim/machine/machine_impl.h"
#include "sim/observe/trace.h"

#include <assert.h>

static uint32_t busy_cycles(const struct chip *chip, const struct decoded_op *o)
{
    switch (o->timing) {
    case TIMING_EUP: return (uint32_t)chip->eup_issue_cycles;
    case TIMING_REDUCE: case TIMING_PERMUTE: return (uint32_t)chip->xlu_issue_cycles;
    case TIMING_XPOSE: case TIMING_XPOSE_END:
        return (uint32_t)chip_xpose_issue_cycles(chip, o->o[ISA_XPOSE_TYPE]);
    case TIMING_MATPUSH: return o->matrix->cycles;
    case TIMING_MATMUL: return o->matrix->enter_cycles + o->matrix->cycles;
    default: return TRACKS_SIMPLE >> o->track & 1u;
    }
}

static const struct decoded_program *find_program(const struct machine *m,
                                                  const struct isa_program *p)
{
    for (size_t i = 0; i < m->program_count; i++)
        if (m->program[i]->source == p)
            return m->program[i];
    return NULL;
}

struct trace_op *trace_op_table(const struct machine *m, const struct isa_program *p,
                                struct arena *a)
{
    const struct decoded_program *decoded = find_program(m, p);
    struct trace_op *table = arena_array(a, p->op_count, sizeof(*table));

    assert(decoded);
    for (uint32_t i = 0; i < decoded->op_count; i++) {
        const struct decoded_op *o = &decoded->op[i];

        if (o->code != OP_COUNT)
            table[o->source] = (struct trace_op){.code = o->code, .track = o->track,
                                                 .busy_cycles = busy_cycles(&m->chip, o)};
    }
    return table;
}
