/*
 * Ends a core's open run of bundles at each stall, jump or failed guard, and hands full buffers of
 * records on.
 */
#include "sim/observe/record.h"

#include "base/arena.h"
#include "sim/core/timing.h"

struct recorder *record_begin(struct recorder *old, const struct core *c,
                              const struct trace_sink *sink)
{
    struct recorder *r = old;

    if (!sink || !sink->core) {
        mem_free(old);
        return NULL;
    }
    if (!r)
        r = mem_alloc(sizeof(*r));
    r->sink = sink;
    r->core = c->number;
    r->run_bundle = c->pc;
    r->run_at = c->now;
    r->count = r->inside_count = 0;
    return r;
}

static void hand_over(struct recorder *r)
{
    if (r->count > 0)
        r->sink->core(r->sink->context, r->core, r->record, r->count);
    r->count = 0;
}

static inline void put(struct recorder *r, const struct trace_record *record)
{
    if (r->count == RECORD_MAX)
        hand_over(r);
    r->record[r->count++] = *record;
}

/* what happened inside a run that has ended; the bundle at `end` may have some already */
static void put_inside(struct recorder *r, cycle_t end)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->inside_count; i++)
        if (r->inside[i].at < end)
            put(r, &r->inside[i]);
        else
            r->inside[kept++] = r->inside[i];
    r->inside_count = kept;
}

/* the bundles before `end` have issued; the next run begins with `bundle` */
static inline void end_run(struct recorder *r, cycle_t end, uint32_t bundle)
{
    if (end > r->run_at)
        put(r, &(struct trace_record){.at = r->run_at, .value = end - r->run_at,
                                      .bundle = r->run_bundle, .kind = TRACE_RUN});
    if (r->inside_count > 0)
        put_inside(r, end);
    r->run_at = end;
    r->run_bundle = bundle;
}

void record_hand_over(struct core *c)
{
    struct recorder *r = c->recorder;

    end_run(r, c->now, c->pc);
    r->inside_count = 0;                /* of a bundle that has faulted */
    hand_over(r);
}

static void put_stall(struct recorder *r, uint32_t bundle, cycle_t from, cycle_t to,
                      enum stall_reason reason)
{
    if (to > from)
        put(r, &(struct trace_record){.at = from, .value = to - from, .bundle = bundle,
                                      .kind = TRACE_STALL, .reason = (uint8_t)reason});
}

void record_stall(struct core *c, const struct issue_time *t, cycle_t at)
{
    struct recorder *r = c->recorder;
    cycle_t resumed_from = t->at - c->resume_cycles;

    end_run(r, c->now, c->pc);
    put_stall(r, c->pc, c->now, resumed_from, t->reason);
    put_stall(r, c->pc, resumed_from, t->at, STALL_SYNC);
    put_stall(r, c->pc, t->at, at, STALL_BANK);
    r->run_at = at;
}

/* by the order in which the operations are written, which is not that of their execution */
void record_live(struct core *c, const struct decoded_bundle *b, cycle_t at)
{
    const struct isa_bundle *source = &c->program->source->bundle[c->pc];
    const struct decoded_op *op = &c->program->op[b->first_op];
    const uint8_t *guarded = decoded_guarded(c->program, b);
    uint32_t live = (1u << source->op_count) - 1;

    for (uint32_t i = 0; i < b->guarded_count; i++)
        if (!(c->live >> guarded[i] & 1u) && op[guarded[i]].code != OP_COUNT)
            live &= ~(1u << (op[guarded[i]].source - source->first_op));
    end_run(c->recorder, at, c->pc);
    put(c->recorder, &(struct trace_record){.at = at, .value = live, .bundle = c->pc,
                                            .kind = TRACE_LIVE});
}

static void put_in(struct core *c, const struct trace_record *record)
{
    struct recorder *r = c->recorder;

    if (r->inside_count == RECORD_INSIDE_MAX)
        end_run(r, record->at, c->pc);
    r->inside[r->inside_count++] = *record;
}

void record_mark(struct core *c, int32_t marker)
{
    put_in(c, &(struct trace_record){.at = c->issue_at, .value = marker, .bundle = c->pc,
                                     .kind = TRACE_MARK});
}

/* the rows of a load or store: its base stands among its operands behind what it loads */
static void record_access(struct core *c, const struct decoded_op *o, cycle_t at)
{
    bool is_load = o->timing == TIMING_LOAD || o->timing == TIMING_LOAD_IAR;
    bool is_scattered = o->timing == TIMING_LOAD_IAR || o->timing == TIMING_STORE_IAR;
    uint32_t first_op = c->program->source->bundle[c->pc].first_op;
    struct trace_record record = {.at = at, .bundle = c->pc, .kind = TRACE_ACCESS,
                                  .op = (uint8_t)(o->source - first_op)};
    int base = is_load ? 1 : 0;

    if (!is_scattered) {
        record.value = (int64_t)c->s[o->o[base]] + c->s[o->o[base + 1]];
        record.stride = o->o[base + 2];
        record.mask = (uint8_t)o->o[base + 3];
        put_in(c, &record);
        return;
    }
    for (int i = 0; i < 8; i++) {
        if (!((uint32_t)o->o[base + 2] >> i & 1u))
            continue;
        record.value = (int64_t)c->s[o->o[base]] + c->s[o->o[base + 1]] + c->iar[o->o[4]][i];
        record.mask = (uint8_t)(1u << i);
        put_in(c, &record);
    }
}

void record_accesses(struct core *c, const struct decoded_bundle *b, cycle_t at)
{
    const struct decoded_op *op = &c->program->op[b->first_op];

    for (uint32_t i = 0; i < b->special_count; i++) {
        uint16_t index = c->program->special[b->first_special + i];

        if ((c->live >> index & 1u) && op[index].timing >= TIMING_LOAD
            && op[index].timing <= TIMING_STORE_IAR)
            record_access(c, &op[index], at);
    }
}

void record_jump(struct core *c)
{
    end_run(c->recorder, c->now, c->pc);
}

void record_halt(struct core *c)
{
    end_run(c->recorder, c->now, c->pc);
    put(c->recorder, &(struct trace_record){.at = c->now, .bundle = c->pc, .kind = TRACE_HALT});
}

void record_repeat(struct core *c, const struct trace_repeat *repeat)
{
    struct recorder *r = c->recorder;

    hand_over(r);
    if (r->sink->repeat)
        r->sink->repeat(r->sink->context, r->core, repeat);
}

void record_resume(struct core *c)
{
    c->recorder->run_at = c->now;
}
