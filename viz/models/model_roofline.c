/*
 * Counts FLOP and bytes by source operation from records, piece by piece, and places the points
 * under the roofs.
 */
#include "viz/models/model_roofline.h"

#include "base/units.h"
#include "isa/matrix.h"
#include "report/view/bound.h"
#include "sim/observe/inspect.h"
#include "sim/chip/limits.h"
#include "viz/models/times_walk.h"

#include <stdlib.h>
#include <string.h>

#define TILE_BYTES 4096                 /* of one vector load or store */
#define PIECE_CYCLES 65536              /* counted at first between two looks at the budget */

static void forget(struct roofline_model *m)
{
    mem_free(m->op);
    mem_free(m->note);
    mem_free(m->by_note);
    mem_free(m->of_bundle);
    m->op = NULL;
    m->note = NULL;
    m->by_note = m->of_bundle = NULL;
    m->program = NULL;
    m->op_count = 0;
}

void roofline_model_fini(struct roofline_model *m)
{
    forget(m);
    memset(m, 0, sizeof(*m));
}

/* ---- what a bundle does ---- */

static void add_op(const struct chip *chip, struct roof_work *w, const struct isa_op *op,
                   int64_t times)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    if (info->slot == SLOT_LOAD)
        w->bytes[ROOF_VMEM_READ] += times * TILE_BYTES;
    if (info->slot == SLOT_STORE)
        w->bytes[ROOF_VMEM_WRITE] += times * TILE_BYTES;
    if (info->unit == UNIT_MXU) {
        const struct matrix_op m = matrix_op_of_isa(op);

        if (m.kind != MATRIX_MULTIPLY)
            return;
        w->matmul_cycles += times * chip_matmul_cycles(chip, m.type);
        w->flops += times * 2 * matrix_rows(m.type) * chip->mxu_size * chip->mxu_size;
    }
}

static void add_work(struct roof_work *to, const struct roof_work *w, int64_t times)
{
    to->cycles += times * w->cycles;
    to->matmul_cycles += times * w->matmul_cycles;
    to->flops += times * w->flops;
    for (int i = 0; i < ROOF_MEMORY_COUNT; i++)
        to->bytes[i] += times * w->bytes[i];
}

/* cores of one program share the table */
static void learn_bundles(struct roofline_model *m, const struct isa_program *p)
{
    if (m->program == p)
        return;
    m->program = p;
    mem_free(m->of_bundle);
    m->of_bundle = mem_alloc((p->bundle_count + 1u) * sizeof(*m->of_bundle));
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        m->of_bundle[i].cycles = 1;
        for (uint32_t k = 0; k < p->bundle[i].op_count; k++)
            add_op(&m->chip, &m->of_bundle[i], &p->op[p->bundle[i].first_op + k], 1);
    }
}

/* ---- counting ---- */

static int core_of_turn(const struct roofline_model *m, int turn)
{
    return turn == 0 ? m->core : turn <= m->core ? turn - 1 : turn;
}

/* what is added to: the sum and, of the core looked at, the source operation */
struct counting {
    struct roofline_model *model;
    struct ntrace *run;
    int core;
    cycle_t from, end;
    int64_t looked_at;
};

static void count(struct counting *x, uint32_t bundle, const struct roof_work *w, int64_t times)
{
    struct roofline_model *m = x->model;
    const uint32_t note = m->program->bundle[bundle].note;

    add_work(&m->sum, w, times);
    if (m->turn == 0 && note <= m->program->note_count)
        add_work(&m->by_note[note], w, times);
}

/* what its guards kept the bundle from doing */
static void count_dead(struct counting *x, const struct trace_record *r, int64_t times)
{
    const struct isa_program *p = x->model->program;
    const struct isa_bundle *b = &p->bundle[r->bundle];
    struct roof_work dead = {0};

    for (uint32_t k = 0; k < b->op_count && k < 64; k++)
        if (!((uint64_t)r->value >> k & 1))
            add_op(&x->model->chip, &dead, &p->op[b->first_op + k], 1);
    count(x, r->bundle, &dead, -times);
}

static void count_record(void *context, const struct trace_record *r, int64_t times)
{
    struct counting *x = context;
    const uint32_t bundles = x->model->program->bundle_count;

    if (r->bundle >= bundles)
        return;
    if (r->kind == TRACE_LIVE)
        count_dead(x, r, times);
    if (r->kind == TRACE_STALL)
        count(x, r->bundle, &(struct roof_work){.cycles = r->value}, times);
    if (r->kind != TRACE_RUN)
        return;
    for (int64_t i = 0; i < r->value && r->bundle + i < bundles; i++)
        count(x, r->bundle + (uint32_t)i, &x->model->of_bundle[r->bundle + i], times);
    x->looked_at += r->value;
}

static int chip_of(const struct counting *x, int core)
{
    return core / (int)ntrace_info(x->run)->chip->chip_cores;
}

static bool count_copy(void *context, const struct trace_dma *d)
{
    struct counting *x = context;
    struct roof_work w = {0};

    x->looked_at++;
    if (d->issued_at < x->from || d->issued_at >= x->end
        || d->bundle >= x->model->program->bundle_count)
        return true;
    w.bytes[ROOF_HBM] = d->bytes * ((d->source_space == MEMORY_HBM)
                                    + (d->destination_space == MEMORY_HBM));
    if (chip_of(x, d->target) != chip_of(x, x->core))
        w.bytes[ROOF_ICI] = d->bytes;
    count(x, d->bundle, &w, 1);
    x->model->sum.bytes[ROOF_ICI] -= w.bytes[ROOF_ICI];         /* count_message has it */
    return true;
}

/* of copies and flags, as they leave the chip */
static bool count_message(void *context, const struct trace_link *l)
{
    struct counting *x = context;
    const double ps_per_cycle = 1e6 / (double)x->model->chip.chip_clock_mhz;
    const double start = (double)l->start / ps_per_cycle;

    x->looked_at++;
    if (l->core == x->core && start >= (double)x->from && start < (double)x->end)
        x->model->sum.bytes[ROOF_ICI] += l->payload_bytes;
    return true;
}

static void count_messages(struct counting *x)
{
    const int links = ntrace_info(x->run)->link_count;
    int from, to;

    for (int i = 0; i < links; i++) {
        ntrace_link_ends(x->run, i, &from, &to);
        if (from == chip_of(x, x->core))
            ntrace_walk_links(x->run, i, x->from, x->end, count_message, x);
    }
}

/* ---- points ---- */

static void fill_point(const struct roofline_model *m, struct roofline_point *p,
                       const struct roof_work *w, double cycles, double cores)
{
    p->seconds = cycles / (double)m->chip.chip_clock_mhz * 1e-6;
    p->share = cycles / (double)(m->end - m->from);
    p->flops = (double)w->flops / cores;
    for (int i = 0; i < ROOF_MEMORY_COUNT; i++)
        p->bytes[i] = (double)w->bytes[i] / cores;
    p->use[ROOF_COMPUTE] = cycles > 0 ? (double)w->matmul_cycles / cores
                                            / (double)m->chip.mxu_count / cycles : 0;
    roofline_point_place(p, &m->roofs);
}

struct ranked {
    cycle_t cycles;
    uint32_t note;
};

static int by_cycles(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;

    if (a->cycles != b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return a->note < b->note ? -1 : a->note > b->note;
}

static void make_ops(struct roofline_model *m, const struct isa_program *p)
{
    struct ranked *rank = mem_alloc((p->note_count + 1u) * sizeof(*rank));

    for (uint32_t n = 0; n <= p->note_count; n++)
        if (m->by_note[n].cycles > 0)
            rank[m->op_count++] = (struct ranked){m->by_note[n].cycles, n};
    qsort(rank, m->op_count, sizeof(*rank), by_cycles);
    m->op = mem_alloc((m->op_count + 1) * sizeof(*m->op));
    m->note = mem_alloc((m->op_count + 1) * sizeof(*m->note));
    for (size_t i = 0; i < m->op_count; i++) {
        const uint32_t note = m->note[i] = rank[i].note;

        m->op[i].name = note ? p->note[note - 1] : "(none)";
        fill_point(m, &m->op[i], &m->by_note[note], (double)rank[i].cycles, 1);
    }
    mem_free(rank);
}

static bool is_launch(const struct roofline_model *m)
{
    const struct ntrace_info *info = ntrace_info(m->run);

    for (size_t i = 0; i < info->launch_count; i++)
        if (info->launch[i].start == m->from && m->end - m->from == info->launch[i].cycles)
            return true;
    return false;
}

static void make_step(struct roofline_model *m)
{
    m->step = (struct roofline_point){.name = is_launch(m) ? "whole step" : "all of it"};
    m->has_step = m->core_count > 0;
    if (m->has_step)
        fill_point(m, &m->step, &m->sum, (double)(m->end - m->from), m->core_count);
}

/* ---- the way through the cores ---- */

void roofline_model_restart(struct roofline_model *m, struct ntrace *run, int core, cycle_t from,
                            cycle_t end)
{
    const struct ntrace_info *info = ntrace_info(run);
    const struct isa_program *p = ntrace_program(run, core);

    forget(m);
    *m = (struct roofline_model){.run = run, .core = core, .from = from, .end = end,
                                 .chip = *info->chip, .roofs = roofline_roofs_of_chip(info->chip),
                                 .has_bundles = info->level >= TRACE_BUNDLE, .done = from,
                                 .piece = PIECE_CYCLES};
    m->by_note = mem_alloc(((p ? p->note_count : 0) + 1u) * sizeof(*m->by_note));
}

static void end_turn(struct roofline_model *m, const struct isa_program *p)
{
    int64_t cell[NTRACE_CELL_COUNT];

    ntrace_sum(m->run, NTRACE_CORE, core_of_turn(m, m->turn), m->from, m->end, cell);
    m->core_count += cell[NTRACE_CELL_ISSUE] > 0;
    if (m->turn == 0 && p)
        make_ops(m, p);
    m->has_ops = true;
    m->turn++;
    m->done = m->from;
}

/* a piece of the core whose turn it is; how much was looked at */
static int64_t count_piece(struct roofline_model *m, const struct isa_program *p)
{
    const int core = core_of_turn(m, m->turn);
    struct counting x = {.model = m, .run = m->run, .core = core, .from = m->done};

    x.end = m->end - m->done > m->piece ? m->done + m->piece : m->end;
    m->done = x.end;
    if (!p)
        return 1;
    learn_bundles(m, p);
    x.looked_at += times_walk(m->run, core, x.from, x.end, count_record, &x);
    ntrace_walk_dmas(m->run, core, x.from, x.end, count_copy, &x);
    count_messages(&x);
    return x.looked_at;
}

bool roofline_model_advance(struct roofline_model *m, int64_t budget)
{
    const int cores = ntrace_info(m->run)->core_count;
    int64_t used = 0;

    while (m->has_bundles && m->turn < cores && used < budget) {
        const struct isa_program *p = ntrace_program(m->run, core_of_turn(m, m->turn));
        const int64_t now = count_piece(m, p);

        used += now + 1;
        if (now < budget / 4 && m->piece < INT64_MAX / 4)
            m->piece *= 2;              /* a long loop that was not simulated */
        if (m->done >= m->end)
            end_turn(m, p);
    }
    if (m->has_bundles && m->turn >= cores && !m->has_step)
        make_step(m);
    return !m->has_bundles || m->turn >= cores;
}

const char *roofline_model_bound(const struct roofline_point *p)
{
    return p->use[p->bound] < BOUND_LATENCY_BELOW ? bound_name(BOUND_LATENCY)
                                                  : roofline_roof_name(p->bound);
}
