/* Connects a launch's cores, HBM and links to the sink, and translates what HBM and links tell. */
#include "sim/observe/tracing.h"

#include "sim/machine/machine_impl.h"
#include "sim/observe/record.h"

#include <assert.h>

_Static_assert((int)TRACE_ROW_HIT == HBM_ROW_HIT && (int)TRACE_ROW_CLOSED == HBM_ROW_CLOSED
               && (int)TRACE_ROW_CONFLICT == HBM_ROW_CONFLICT, "rows have the same numbers");

void tracing_create(struct machine *m)
{
    m->tracing = arena_array(&m->arena, 1, sizeof(*m->tracing));
}

void machine_set_trace(struct machine *m, const struct trace_sink *sink)
{
    assert(!sink || m->options.mode != MODE_FUNCTIONAL);
    m->tracing->next = sink;
}

static void tell_hbm(void *context, const struct hbm_run *r)
{
    const struct traced_chip *c = context;
    const struct trace_sink *sink = c->machine->tracing->sink;
    const struct trace_hbm h = {.asked_at = r->asked_at, .data_at = r->data_at,
                                .end_at = r->end_at, .channel = (int16_t)r->channel,
                                .bank = (int16_t)r->bank, .row = (uint8_t)r->row,
                                .is_write = r->is_write, .has_met_refresh = r->has_met_refresh,
                                .bytes = r->bytes};

    sink->hbm(sink->context, c->chip, &h);
}

static void tell_link(void *context, const struct net_use *u)
{
    const struct tracing *t = ((struct machine *)context)->tracing;
    const struct trace_link l = {.start = u->start, .end = u->end,
                                 .payload_bytes = u->payload_bytes, .wire_bytes = u->wire_bytes,
                                 .core = t->link_core, .dma = t->link_dma};

    t->sink->link(t->sink->context, u->link, &l);
}

static void watch(struct machine *m)
{
    struct tracing *t = m->tracing;
    bool wants_hbm = t->sink && t->sink->hbm, wants_links = t->sink && t->sink->link;

    if (wants_hbm && !t->chip)
        t->chip = arena_array(&m->arena, (size_t)m->chip_count, sizeof(*t->chip));
    for (int i = 0; i < m->chip_count; i++) {
        if (wants_hbm)
            t->chip[i] = (struct traced_chip){m, i};
        hbm_watch(m->hbm[i], wants_hbm ? tell_hbm : NULL, wants_hbm ? &t->chip[i] : NULL);
    }
    if (m->net)
        net_watch(m->net, wants_links ? tell_link : NULL, m);
}

void tracing_reset(struct machine *m, cycle_t resumed_at)
{
    m->tracing->is_begun = false;
    m->tracing->resumed_at = resumed_at;
}

void tracing_begin(struct machine *m)
{
    struct tracing *t = m->tracing;
    const struct trace_launch launch = {.machine = m, .resumed_at = t->resumed_at};

    if (t->is_begun)
        return;
    t->is_begun = true;
    t->sink = t->next;
    watch(m);
    for (int i = 0; i < m->core_count; i++) {
        struct core *c = &m->core[i];

        c->recorder = record_begin(c->recorder, c, c->program ? t->sink : NULL);
        c->tells_accesses = c->recorder && t->sink->wants_access;
    }
    if (t->sink && t->sink->begin)
        t->sink->begin(t->sink->context, &launch);
}

static void hand_over(void *context, int core)
{
    struct machine *m = context;

    if (m->core[core].recorder)
        record_hand_over(&m->core[core]);
}

void tracing_hand_over(struct machine *m)
{
    if (m->tracing->sink)
        machine_parallel(m, m->core_count, hand_over, m);
}

void tracing_end(struct machine *m)
{
    const struct trace_sink *sink = m->tracing->sink;

    if (sink && sink->end)
        sink->end(sink->context, m);
    m->tracing->sink = NULL;
}

void tracing_names_sender(struct machine *m, int core, uint32_t dma)
{
    m->tracing->link_core = core;
    m->tracing->link_dma = dma;
}

void tracing_tells_copy(struct machine *m, const struct core *c, const struct dma *d)
{
    const struct trace_sink *sink = m->tracing->sink;
    struct trace_dma told;

    if (!sink || !sink->dma)
        return;
    told = (struct trace_dma){
        .issued_at = d->issued_at, .done_at = clock_cycle_at(c->clock_mhz, m->now_ps),
        .started_at = clock_cycle_at(c->clock_mhz, d->started_ps), .bundle = d->bundle,
        .code = (uint16_t)d->code, .source_space = d->source_space,
        .destination_space = d->destination_space, .target = d->target,
        .source_address = d->source, .destination_address = d->destination, .bytes = d->bytes,
        .run_bytes = d->run_bytes, .flag = d->flag, .number = d->number};
    sink->dma(sink->context, c->number, &told);
}
