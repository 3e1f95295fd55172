/*
 * Replays a core's records against the table of occupancy, and tells an interval for each
 * operation that keeps a unit busy.
 */
#include "sim/observe/trace_expand.h"

#include "sim/core/program.h"

static void tell(const struct trace_expander *e, const struct trace_event *event)
{
    e->event(e->context, event);
}

/* operation `index` of the program, in a bundle that issues at `at` */
static void expand_op(struct trace_expander *e, uint32_t bundle, uint32_t index, cycle_t at)
{
    const struct trace_op *op = &e->op[index];
    cycle_t start = later(at, e->busy_until[op->track]);

    e->busy_until[op->track] = start + op->busy_cycles;
    tell(e, &(struct trace_event){.start = start, .end = start + op->busy_cycles,
                                  .bundle = bundle, .op = 1 + index, .code = op->code,
                                  .track = op->track});
}

/* what keeps no unit busy; a copy's time is told by its own stream */
static void expand_pop(struct trace_expander *e, uint32_t bundle, uint32_t index, cycle_t at)
{
    const struct trace_op *op = &e->op[index];

    if (e->wants_ops && op->track != TRACK_DMA)
        tell(e, &(struct trace_event){.start = at, .end = at, .bundle = bundle, .op = 1 + index,
                                      .code = op->code, .track = op->track});
}

/* units that are busy for just this cycle may have several operations of a bundle */
static void expand_ops(struct trace_expander *e, uint32_t bundle, uint32_t live, cycle_t at)
{
    const struct isa_bundle *b = &e->program->bundle[bundle];
    uint32_t told = 0;

    for (uint32_t i = 0; i < b->op_count; i++) {
        const struct trace_op *op = &e->op[b->first_op + i];
        uint32_t track = 1u << op->track;

        if (!(live >> i & 1u))
            continue;
        if (op->busy_cycles == 0) {
            expand_pop(e, bundle, b->first_op + i, at);
            continue;
        }
        if (!(track & TRACKS_SIMPLE)) {
            expand_op(e, bundle, b->first_op + i, at);
            continue;
        }
        if ((told & track) == 0 || e->wants_ops)
            tell(e, &(struct trace_event){.start = at, .end = at + 1, .bundle = bundle,
                                          .op = 1 + b->first_op + i, .code = op->code,
                                          .track = op->track});
        told |= track;
    }
}

static void expand_run(struct trace_expander *e, const struct trace_record *r)
{
    for (int64_t i = 0; i < r->value; i++) {
        uint32_t bundle = r->bundle + (uint32_t)i;
        cycle_t at = r->at + i;

        if (e->wants_bundles)
            tell(e, &(struct trace_event){.start = at, .end = at + 1, .bundle = bundle,
                                          .track = TRACK_IS_BUNDLE});
        expand_ops(e, bundle, i == 0 && e->has_live && e->live_at == at ? e->live : ~0u, at);
    }
    e->has_live = false;
}

static void expand(struct trace_expander *e, const struct trace_record *r)
{
    switch (r->kind) {
    case TRACE_RUN:
        expand_run(e, r);
        break;
    case TRACE_LIVE:
        e->live = (uint32_t)r->value;
        e->live_at = r->at;
        e->has_live = true;
        break;
    case TRACE_STALL:
        tell(e, &(struct trace_event){.start = r->at, .end = r->at + r->value,
                                      .bundle = r->bundle, .track = TRACK_IS_STALL,
                                      .stall = r->reason});
        break;
    case TRACE_MARK:
        tell(e, &(struct trace_event){.start = r->at, .end = r->at, .bundle = r->bundle,
                                      .code = OP_VTRACE, .track = TRACK_IS_MARK,
                                      .bytes = r->value});
        break;
    default:
        break;
    }
}

void trace_expand(struct trace_expander *e, const struct trace_record *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expand(e, &r[i]);
}
