/* Words what the card beside the pointer says of the timeline. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "isa/disasm.h"
#include "isa/matrix.h"
#include "viz/view/quantity.h"
#include "viz/timeline/timeline.h"

static const char *const stall_meaning[STALL_COUNT] = {
#define STALL(id, name, meaning) meaning,
#include "sim/results/stalls.def"
};

struct hover {
    struct timeline *t;
    const struct view *v;
    const struct lane *lane;
    struct arena *a;
    double from, end;                   /* cycles of the pixel */
    const struct isa_program *program;
    const char *text;
    struct trace_dma dma;
    bool has_dma;
};

static const char *when(const struct hover *h, cycle_t start, cycle_t end)
{
    double cycle_s = chip_cycle_seconds(ntrace_info(h->t->run)->chip);

    return arena_printf(h->a, "%s (%s) from cycle %s (%s)",
                        quantity_cycles((double)(end - start)).text,
                        quantity_seconds((double)(end - start) * cycle_s).text,
                        text_thousands(start).text, quantity_seconds((double)start * cycle_s).text);
}

/* "bundle 17, line 42 of x.tasm, for dense_1/MatMul" */
static const char *where(const struct hover *h, uint32_t bundle)
{
    const struct isa_program *p = h->program;
    const struct isa_bundle *b;
    const char *line = "", *note = "";

    if (!p || bundle >= p->bundle_count)
        return "";
    b = &p->bundle[bundle];
    if (b->line)
        line = arena_printf(h->a, ", line %u of %s", b->line, p->name ? p->name : "the source");
    if (b->note && b->note <= p->note_count)
        note = arena_printf(h->a, "\nfor %s", p->note[b->note - 1]);
    return arena_printf(h->a, "bundle %u%s%s", bundle, line, note);
}

static const char *ops_of(const struct hover *h, uint32_t bundle, const char *indent)
{
    const struct isa_program *p = h->program;
    const struct isa_bundle *b;
    const char *text = "";
    char op[256];

    if (!p || bundle >= p->bundle_count)
        return "";
    b = &p->bundle[bundle];
    for (uint32_t i = 0; i < b->op_count; i++) {
        isa_print_op(p, &p->op[b->first_op + i], op, sizeof(op));
        text = arena_printf(h->a, "%s\n%s%s", text, indent, op);
    }
    return text;
}

/* "; 65,536 FLOP" lines of a product; "" of everything else */
static const char *product_text(const struct hover *h, const struct trace_event *e)
{
    const struct chip *chip = ntrace_info(h->t->run)->chip;
    const struct isa_op *op = &h->program->op[e->op - 1];
    struct matrix_op m;
    double count;

    if (isa_info((enum isa_opcode)op->code)->unit != UNIT_MXU)
        return "";
    m = matrix_op_of_isa(op);
    if (m.kind != MATRIX_MULTIPLY)
        return "";
    count = 2.0 * matrix_rows(m.type) * (double)chip->mxu_size * (double)chip->mxu_size;
    return arena_printf(h->a, "\n%d rows of %s through %lldx%lld: %s, %s", matrix_rows(m.type),
                        matrix_type_name(m.type), (long long)chip->mxu_size,
                        (long long)chip->mxu_size, quantity_flops(count).text,
                        quantity_flop_rate(count / ((double)(e->end - e->start)
                                                    * chip_cycle_seconds(chip))).text);
}

static const char *event_text(const struct hover *h, const struct trace_event *e)
{
    const struct isa_program *p = h->program;
    char op[256] = "";

    if (e->track == TRACK_IS_STALL)
        return arena_printf(h->a, "%s: %s\n%s\n%s waits:%s",
                            stall_name((enum stall_reason)e->stall), stall_meaning[e->stall],
                            when(h, e->start, e->end),
                            where(h, e->bundle), ops_of(h, e->bundle, "  "));
    if (e->track == TRACK_IS_BUNDLE)
        return arena_printf(h->a, "%s\nissued at cycle %lld%s", where(h, e->bundle),
                            (long long)e->start, ops_of(h, e->bundle, "  "));
    if (!p || !e->op || e->op > p->op_count)
        return when(h, e->start, e->end);
    isa_print_op(p, &p->op[e->op - 1], op, sizeof(op));
    return arena_printf(h->a, "%s\n%s%s\n%s\n%s", op, when(h, e->start, e->end),
                        product_text(h, e), where(h, e->bundle),
                        e->code < OP_COUNT ? isa_info((enum isa_opcode)e->code)->meaning : "");
}

/* the event of the lane under the pointer: the one that begins last */
static const struct trace_event *event_at(const struct hover *h)
{
    int64_t tile = (int64_t)h->from / SPANS_TILE_CYCLES;
    const struct trace_event *e, *found = NULL;
    int track = h->lane->kind == LANE_STALLS ? TRACK_IS_STALL
                : h->lane->kind == LANE_BUNDLES ? TRACK_IS_BUNDLE : h->lane->unit;
    size_t count;

    e = spans_tile(h->t->spans, h->lane->index, tile, &count);
    for (size_t i = 0; i < count; i++)
        if (e[i].track == track && (double)e[i].start < h->end && (double)e[i].end > h->from
            && (!found || e[i].start >= found->start))
            found = &e[i];
    return found;
}

static bool op_at(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    struct hover *h = context;

    if (note && h->program && note <= h->program->note_count) {
        h->text = arena_printf(h->a, "%s\n%s", h->program->note[note - 1], when(h, start, end));
        return false;
    }
    return true;
}

/* one that is wide enough by itself; else those with most cycles around here */
static const char *ops_text(struct hover *h)
{
    double middle = (h->from + h->end) / 2, half = 4 * (h->end - h->from);
    cycle_t from = (cycle_t)fmax(middle - half, 0), end = (cycle_t)ceil(middle + half);
    uint32_t count = h->program ? h->program->note_count : 0, note, most;
    int64_t *cycles = arena_array(h->a, count + 1, sizeof(*cycles));
    int shown;

    if (h->end - h->from < 64) {
        ntrace_walk_ops(h->t->run, h->lane->index, (cycle_t)h->from, (cycle_t)ceil(h->end), op_at,
                        h);
        return h->text;
    }
    ntrace_note_cycles(h->t->run, h->lane->index, from, end, cycles);
    h->text = arena_printf(h->a, "operations in the %s around here",
                           quantity_cycles((double)(end - from)).text);
    for (shown = 0; shown < 8; shown++) {
        for (note = 1, most = 0; note <= count; note++)
            if (cycles[note] > 0 && (!most || cycles[note] > cycles[most]))
                most = note;
        if (!most)
            break;
        h->text = arena_printf(h->a, "%s\n%s %s", h->text,
                               quantity_percent((double)cycles[most] / (double)(end - from)).text,
                               h->program->note[most - 1]);
        cycles[most] = 0;
    }
    return shown ? h->text : "";
}

static bool dma_at(void *context, const struct trace_dma *d)
{
    struct hover *h = context;

    h->dma = *d;                        /* the last one to begin */
    h->has_dma = true;
    return true;
}

static const char *dma_text(const struct hover *h)
{
    const struct trace_dma *d = &h->dma;
    double seconds = (double)(d->done_at - d->started_at)
                     * chip_cycle_seconds(ntrace_info(h->t->run)->chip);

    return arena_printf(h->a, "copy %u: %s, %s while under way\n%s\nqueued for %s\n%s%s\n"
                        "its flag %d of core %d is raised when it is done", d->number,
                        text_bytes(d->bytes).text,
                        quantity_rate(seconds > 0 ? (double)d->bytes / seconds : 0).text,
                        when(h, d->issued_at, d->done_at),
                        quantity_cycles((double)(d->started_at - d->issued_at)).text,
                        where(h, d->bundle), ops_of(h, d->bundle, "  "), d->flag, d->target);
}

/* shares of the pixel's cycles */
static const char *column_text(const struct hover *h)
{
    int64_t cell[NTRACE_CELL_COUNT] = {0};
    cycle_t from = (cycle_t)floor(h->from), end = (cycle_t)ceil(h->end);
    double all = (double)(end - from);
    const char *text;

    ntrace_sum(h->t->run, NTRACE_CORE, h->lane->index, from, end, cell);
    text = arena_printf(h->a, "%s from cycle %s", quantity_cycles(all).text,
                        text_thousands(from).text);
    if (h->lane->kind == LANE_UNIT)
        return arena_printf(h->a, "%s is busy for %s of these\n%s",
                            ntrace_unit_name(h->t->run, h->lane->unit),
                            quantity_percent((double)cell[NTRACE_CELL_UNIT + h->lane->unit]
                                             / all).text, text);
    text = arena_printf(h->a, "%s\nissue %s", text,
                        quantity_percent((double)cell[NTRACE_CELL_ISSUE] / all).text);
    for (int i = 0; i < STALL_COUNT; i++)
        if (cell[NTRACE_CELL_STALL + i])
            text = arena_printf(h->a, "%s\n%s %s: %s", text, stall_name((enum stall_reason)i),
                                quantity_percent((double)cell[NTRACE_CELL_STALL + i] / all).text,
                                stall_meaning[i]);
    return text;
}

static const char *hbm_text(const struct hover *h)
{
    int64_t cell[NTRACE_HBM_COUNT] = {0};
    cycle_t from = (cycle_t)floor(h->from), end = (cycle_t)ceil(h->end);
    const struct chip *chip = ntrace_info(h->t->run)->chip;
    double seconds = (double)(end - from) * chip_cycle_seconds(chip);

    ntrace_sum(h->t->run, NTRACE_HBM, h->lane->index, from, end, cell);
    return arena_printf(h->a, "HBM of chip %d at cycle %s\nread %s, written %s\nits peak is %s",
                        h->lane->index, text_thousands(from).text,
                        quantity_rate((double)cell[NTRACE_HBM_READ_BYTES] / seconds).text,
                        quantity_rate((double)cell[NTRACE_HBM_WRITE_BYTES] / seconds).text,
                        quantity_rate(chip_hbm_peak_bytes_per_second(chip)).text);
}

static const char *link_text(const struct hover *h)
{
    int64_t cell[NTRACE_LINK_COUNT] = {0};
    cycle_t from = (cycle_t)floor(h->from), end = (cycle_t)ceil(h->end);
    double seconds = (double)(end - from)
                     * chip_cycle_seconds(ntrace_info(h->t->run)->chip);
    int a, b;

    ntrace_link_ends(h->t->run, h->lane->index, &a, &b);
    ntrace_sum(h->t->run, NTRACE_LINK, h->lane->index, from, end, cell);
    return arena_printf(h->a, "link from chip %d to chip %d\nbusy for %s of the time, payload %s",
                        a, b,
                        quantity_percent((double)cell[NTRACE_LINK_BUSY_PS] * 1e-12 / seconds).text,
                        quantity_rate((double)cell[NTRACE_LINK_PAYLOAD_BYTES] / seconds).text);
}

static const char *lane_text(struct hover *h, int width)
{
    cycle_t from = (cycle_t)h->from, end = (cycle_t)ceil(h->end);
    const struct trace_event *e;

    switch (h->lane->kind) {
    case LANE_OPS:
        return ops_text(h);
    case LANE_DMA:
        ntrace_walk_dmas(h->t->run, h->lane->index, from, end, dma_at, h);
        return h->has_dma ? dma_text(h) : "";
    case LANE_CHIP:
    case LANE_HBM:
        return hbm_text(h);
    case LANE_LINK:
        return link_text(h);
    default:
        if (h->lane->kind == LANE_CORE || !timeline_is_near(h->v, width))
            return column_text(h);
        e = event_at(h);
        return e ? event_text(h, e) : "";
    }
}

static const char *step_text(const struct view *v, double at, struct arena *a)
{
    const struct ntrace_info *i = ntrace_info(v->run);
    const struct ntrace_launch *l;

    if (!i->launch_count)
        return "";
    l = &i->launch[timeline_launch_at(i, at)];
    return arena_printf(a, "%s\n%s = %s%s%s", *l->name ? l->name : "launch",
                        quantity_cycles((double)l->cycles).text,
                        quantity_seconds((double)l->cycles * chip_cycle_seconds(i->chip)).text,
                        l->is_faulted ? "\n" : "", l->is_faulted ? l->fault : "");
}

const char *timeline_hover(struct timeline *t, const struct view *v, const struct draw_list *d,
                           struct rect area, int x, int y, struct arena *a)
{
    struct timeline_places p = timeline_places(v, d, area);
    struct axis axis = axis_of_view(v, p.lanes);
    const struct lane *l = timeline_lane_at(t, &p, y);
    struct hover h = {.t = t, .v = v, .lane = l, .a = a, .from = axis_cycle(&axis, x),
                      .end = axis_cycle(&axis, x + 1), .text = ""};

    if (rect_has(p.legend, x, y)) {
        enum stall_reason r = timeline_legend_at(v, d, p.legend, x, y);

        return r < STALL_COUNT ? arena_printf(a, "%s: %s", stall_name(r), stall_meaning[r]) : "";
    }
    if (x < p.lanes.x || x >= p.lanes.x + p.lanes.w)
        return "";
    if (rect_has(p.steps, x, y))
        return step_text(v, h.from, a);
    if (!l || h.from < 0 || h.from >= (double)ntrace_info(t->run)->cycles)
        return "";
    if (l->kind <= LANE_DMA)
        h.program = ntrace_program(t->run, l->index);
    return lane_text(&h, p.lanes.w);
}
