/* Reads registers, FIFOs, units and counters of a paused machine's cores without changing them. */
#include "sim/observe/inspect.h"

#include "sim/machine/machine_impl.h"
#include "sim/core/timing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)MEMORY_HBM == SPACE_HBM && (int)MEMORY_VMEM == SPACE_VMEM
               && (int)MEMORY_SMEM == SPACE_SMEM && (int)MEMORY_CMEM == SPACE_CMEM
               && (int)MEMORY_HOST == SPACE_HOST,
               "memories have the same numbers inside");

static const struct core *core_at(const struct machine *m, int core)
{
    assert(core >= 0 && core < m->core_count);
    return &m->core[core];
}

bool machine_knows_lanes(const struct machine *m)
{
    return m->options.mode != MODE_TIMING;
}

/* ---- registers ---- */

const uint32_t *machine_vector(const struct machine *m, int core, int number)
{
    assert(number >= 0 && number < ISA_VREG_MAX);
    return core_at(m, core)->own[number];
}

int32_t machine_scalar(const struct machine *m, int core, int number)
{
    const struct core *c = core_at(m, core);

    assert(number >= 0 && number < ISA_SREG_COUNT);
    return c->program ? c->s[number] : 0;
}

bool machine_predicate(const struct machine *m, int core, int number)
{
    assert(number >= 0 && number < ISA_PRED_COUNT);
    return core_at(m, core)->p[number] != 0;
}

void machine_mask(const struct machine *m, int core, int number, struct mask_view *to)
{
    const struct mask *mask = &core_at(m, core)->m[number];

    assert(number >= 0 && number < ISA_MASK_COUNT);
    memcpy(to->low, mask->low, sizeof(to->low));
    memcpy(to->high, mask_high(mask), sizeof(to->high));
}

const int32_t *machine_index_rows(const struct machine *m, int core, int number)
{
    assert(number >= 0 && number < 2);
    return core_at(m, core)->iar[number];
}

cycle_t machine_ready_at(const struct machine *m, int core, enum register_kind kind, int number)
{
    static const int first[] = {[REGISTER_SCALAR] = REG_S, [REGISTER_PREDICATE] = REG_P,
                                [REGISTER_MASK] = REG_M, [REGISTER_VECTOR] = REG_V};

    assert(number >= 0 && first[kind] + number < REG_COUNT);
    return core_at(m, core)->ready_at[first[kind] + number];
}

/* ---- where a core stands ---- */

static int64_t issued_by(const struct core *c)
{
    int64_t count = c->now;

    for (int i = 0; i < STALL_COUNT; i++)
        count -= c->stall_cycles[i];
    return count;
}

static void view_wait(const struct core *c, struct core_view *to)
{
    to->activity = CORE_WAITS;
    to->issues_at = CYCLE_NEVER;
    to->wait.code = (enum isa_opcode)c->wait_code;
    to->wait.flag = c->wait_flag;
    to->wait.value = c->wait_value;
}

void machine_core(const struct machine *m, int core, struct core_view *to)
{
    static const enum core_activity activity[] = {
        [CORE_EMPTY] = CORE_HAS_NO_PROGRAM, [CORE_RUNNING] = CORE_IS_READY,
        [CORE_PAUSED] = CORE_IS_READY, [CORE_BLOCKED] = CORE_WAITS,
        [CORE_HALTED] = CORE_HAS_HALTED, [CORE_FAULTED] = CORE_HAS_FAULTED};
    const struct core *c = core_at(m, core);

    *to = (struct core_view){.activity = activity[c->state], .bundle = c->pc, .now = c->now,
                             .issues_at = c->now, .reason = STALL_COUNT};
    if (!c->program)
        return;
    if (c->pc < c->program->bundle_count)
        to->line = c->program->source->bundle[c->pc].line;
    to->issued = issued_by(c);
    to->branch_in = c->branch_in;
    to->branch_target = c->branch_target;
    if (c->is_resumed) {
        to->issues_at = c->pending.at + c->bank_extra;
        to->reason = c->bank_extra > 0 ? STALL_BANK : c->pending.reason;
    }
    if (to->activity == CORE_WAITS)
        view_wait(c, to);
}

const struct isa_program *machine_program(const struct machine *m, int core)
{
    const struct core *c = core_at(m, core);

    return c->program ? c->program->source : NULL;
}

int64_t machine_bundle_count(const struct machine *m, int core, uint32_t bundle)
{
    const struct core *c = core_at(m, core);

    assert(c->program && bundle < c->program->bundle_count);
    return (int64_t)c->bundle_count[bundle];
}

cycle_t machine_bundle_stall(const struct machine *m, int core, uint32_t bundle)
{
    const struct core *c = core_at(m, core);

    assert(c->program && bundle < c->program->bundle_count);
    return c->bundle_stall[bundle];
}

const struct bundle_copies *machine_bundle_copies(const struct machine *m, int core,
                                                  uint32_t bundle)
{
    const struct core *c = core_at(m, core);

    assert(c->program && bundle < c->program->bundle_count);
    return &c->bundle_copies[bundle];
}

int64_t machine_op_executed(const struct machine *m, int core, uint32_t bundle, int op)
{
    const struct core *c = core_at(m, core);
    const struct isa_program *p = machine_program(m, core);
    uint32_t first = p->bundle[bundle].first_op;
    const struct isa_op *o = &p->op[first + (uint32_t)op];

    assert(op < p->bundle[bundle].op_count);
    if (o->pred == ISA_PRED_ALWAYS && !o->pred_is_negated)
        return (int64_t)c->bundle_count[bundle];
    return (int64_t)c->guarded_count[first + (uint32_t)op];
}

cycle_t machine_stall_cycles(const struct machine *m, int core, enum stall_reason reason)
{
    return core_at(m, core)->stall_cycles[reason];
}

void machine_op_counts(const struct machine *m, int core, int64_t count[OP_COUNT])
{
    const struct core *c = core_at(m, core);

    memset(count, 0, OP_COUNT * sizeof(*count));
    for (uint32_t i = 0; c->program && i < c->program->bundle_count; i++) {
        const struct decoded_bundle *b = &c->program->bundle[i];

        for (uint32_t j = 0; j < b->op_count; j++) {
            const struct decoded_op *o = &c->program->op[b->first_op + j];

            if (o->code != OP_COUNT)
                count[o->code] += (int64_t)(o->is_guarded ? c->guarded_count[o->source]
                                                          : c->bundle_count[i]);
        }
    }
}

/* ---- units ---- */

int machine_unit_count(const struct machine *m)
{
    return track_count(&m->chip);
}

static cycle_t free_at(const struct core *c, int unit)
{
    int xlus = (int)c->chip->xlu_count, mxus = (int)c->chip->mxu_count;

    if (unit == TRACK_EUP)
        return c->eup_free_at;
    if (unit == TRACK_DMA)
        return c->dma_issue_at;
    if (unit < TRACK_XLU)
        return c->now;
    unit -= TRACK_XLU;
    if (unit < xlus)
        return c->xlu[unit].free_at;
    unit -= xlus;
    return unit < mxus ? c->mxu[unit].array_free_at : c->mxu[unit - mxus].port_free_at;
}

void machine_unit(const struct machine *m, int core, int unit, struct unit_view *to)
{
    assert(unit >= 0 && unit < machine_unit_count(m));
    *to = (struct unit_view){track_name(&m->chip, unit), free_at(core_at(m, core), unit)};
}

/*
 * ---- FIFOs ----
 *
 * The timing side has taken out what the next bundle pops as soon as its time is
 * known. The contents side has not, but in mode timing it is not there.
 */

enum { FIFO_V2S, FIFO_DRF, FIFO_EUP, FIFO_CMEM, FIFO_XLU };

int machine_fifo_count(const struct machine *m)
{
    return FIFO_XLU + (int)(m->chip.xlu_count + m->chip.mxu_count);
}

static const struct fifo *fifo_at(const struct core *c, int fifo)
{
    int xlus = (int)c->chip->xlu_count;

    switch (fifo) {
    case FIFO_V2S: return &c->v2s;
    case FIFO_DRF: return &c->drf;
    case FIFO_EUP: return &c->eup;
    case FIFO_CMEM: return &c->crf;
    default: break;
    }
    fifo -= FIFO_XLU;
    return fifo < xlus ? &c->xlu[fifo].result : &c->mxu[fifo - xlus].result;
}

static const struct fifo *popped_by(const struct core *c, const struct decoded_op *o)
{
    return o->timing == TIMING_POP ? c->fifo[o->pop.fifo] : NULL;
}

/* entries that a bundle which has not issued has taken out */
static uint32_t taken_early(const struct core *c, const struct fifo *f)
{
    const struct decoded_program *p = c->program;
    const struct decoded_bundle *b;
    uint32_t count = 0;

    if (!p || c->pc >= p->bundle_count || !(c->is_resumed || c->state == CORE_BLOCKED))
        return 0;
    b = &p->bundle[c->pc];
    for (uint32_t i = 0; i < b->op_count; i++)
        count += (c->live >> i & 1u) && popped_by(c, &p->op[b->first_op + i]) == f;
    return count;
}

static uint32_t first_entry(const struct machine *m, const struct core *c,
                            const struct fifo *f)
{
    return f->word || machine_knows_lanes(m) ? f->read : f->popped - taken_early(c, f);
}

void machine_fifo(const struct machine *m, int core, int fifo, struct fifo_view *to)
{
    static const char *const names[FIFO_XLU] = {"v2s", "drf", "eup", "cmem"};
    const struct core *c = core_at(m, core);
    const struct fifo *f = fifo_at(c, fifo);
    int xlus = (int)m->chip.xlu_count, unit = fifo - FIFO_XLU;

    if (fifo < FIFO_XLU)
        snprintf(to->name, sizeof(to->name), "%s", names[fifo]);
    else
        snprintf(to->name, sizeof(to->name), "%s%d", unit < xlus ? "xlu" : "mxu",
                 unit < xlus ? unit : unit - xlus);
    to->depth = f->depth;
    to->count = (f->word || machine_knows_lanes(m) ? f->written : f->pushed)
                - first_entry(m, c, f);
}

void machine_fifo_entry(const struct machine *m, int core, int fifo, uint32_t index,
                        struct fifo_entry *to)
{
    const struct core *c = core_at(m, core);
    const struct fifo *f = fifo_at(c, fifo);
    uint32_t slot = (first_entry(m, c, f) + index) & f->mask;

    *to = (struct fifo_entry){.ready_at = f->ready_at[slot]};
    if (f->word) {
        to->pop = fifo == FIFO_V2S ? OP_SPOP : OP_SPOP_DRF;
        to->data = &f->word[slot];
        return;
    }
    to->pop = (enum isa_opcode)(f->code[slot] & ((1u << POP_KEY_CODE_BITS) - 1));
    to->data = machine_knows_lanes(m) ? f->tile[slot] : NULL;
}

static const struct accumulator *accumulator_at(const struct core *c, int64_t place)
{
    int64_t each = c->chip->mxu_accumulators;

    return &c->mxu[place / each].accumulator[place % each];
}

static bool holds_sum(const struct machine *m, const struct accumulator *a)
{
    return machine_knows_lanes(m) ? a->written != 0 : a->has_sum;
}

int machine_accumulator_count(const struct machine *m, int core)
{
    const struct core *c = core_at(m, core);
    int64_t places = m->chip.mxu_count * m->chip.mxu_accumulators;
    int count = 0;

    for (int64_t i = 0; i < places; i++)
        count += holds_sum(m, accumulator_at(c, i));
    return count;
}

void machine_accumulator(const struct machine *m, int core, int index,
                         struct accumulator_view *to)
{
    const struct core *c = core_at(m, core);
    int64_t each = m->chip.mxu_accumulators, place = 0;
    const struct accumulator *a;
    bool is_wide = chip_mxu_halves(&m->chip) > 1;

    while (!holds_sum(m, a = accumulator_at(c, place)) || index-- > 0)
        place++;
    *to = (struct accumulator_view){
        .unit = (int)(place / each), .number = (int)(place % each), .is_integer = a->is_integer,
        .ready_at = is_wide ? later(a->ready_at[0], a->ready_at[1]) : a->ready_at[0]};
    if (!machine_knows_lanes(m))
        return;
    to->half[0] = c->mxu[to->unit].sum[to->number][0];
    to->half[1] = is_wide ? c->mxu[to->unit].sum[to->number][1] : NULL;
}
