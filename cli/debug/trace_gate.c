/*
 * A sink that passes a trace on only for cycles that nobody has been told yet, however often the
 * machine goes back.
 */
#include "cli/debug/trace_gate.h"

#include <string.h>

static void begin(void *context, const struct trace_launch *l)
{
    struct trace_gate *g = context;

    if (!g->has_begun && g->to->begin)
        g->to->begin(g->to->context, l);
    g->has_begun = true;
}

static void core(void *context, int number, const struct trace_record *r, size_t count)
{
    struct trace_gate *g = context;

    if (g->is_open && g->to->core)
        g->to->core(g->to->context, number, r, count);
}

static void repeat(void *context, int number, const struct trace_repeat *r)
{
    struct trace_gate *g = context;

    if (g->is_open && g->to->repeat)
        g->to->repeat(g->to->context, number, r);
}

static void dma(void *context, int number, const struct trace_dma *d)
{
    struct trace_gate *g = context;

    if (g->is_open && g->to->dma)
        g->to->dma(g->to->context, number, d);
}

static void hbm(void *context, int chip, const struct trace_hbm *h)
{
    struct trace_gate *g = context;

    if (g->is_open && g->to->hbm)
        g->to->hbm(g->to->context, chip, h);
}

static void link(void *context, int number, const struct trace_link *l)
{
    struct trace_gate *g = context;

    if (g->is_open && g->to->link)
        g->to->link(g->to->context, number, l);
}

static void end(void *context, const struct machine *m)
{
    struct trace_gate *g = context;

    if (g->to->end)
        g->to->end(g->to->context, m);
}

void trace_gate_init(struct trace_gate *g, const struct trace_sink *to)
{
    memset(g, 0, sizeof(*g));
    g->to = to;
    g->is_open = true;
    g->sink = (struct trace_sink){.context = g, .wants_access = to->wants_access, .begin = begin,
                                  .core = core, .repeat = repeat, .dma = dma, .hbm = hbm,
                                  .link = link, .end = end};
}

void trace_gate_close(struct trace_gate *g)
{
    g->is_open = false;
}

enum machine_status trace_gate_advance(struct trace_gate *g, struct machine *m, cycle_t until)
{
    enum machine_status status = MACHINE_PAUSED;

    if (!g->is_open) {
        status = machine_advance(m, until < g->told_until ? until : g->told_until);
        if (until <= g->told_until || status != MACHINE_PAUSED)
            return status;
        g->is_open = true;
    }
    status = machine_advance(m, until);
    if (until > g->told_until)
        g->told_until = until;
    return status;
}
