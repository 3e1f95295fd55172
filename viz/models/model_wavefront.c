/*
 * Follows pushes and pops of a matrix unit, and computes which row is at which diagonal of the
 * systolic array.
 */
#include "viz/models/model_wavefront.h"

#include "isa/matrix.h"
#include "sim/chip/limits.h"

#include <assert.h>
#include <string.h>

static int most(int a, int b) { return a > b ? a : b; }
static int least(int a, int b) { return a < b ? a : b; }

/* cycles from the first of eight rows to the last, in the slowest type that the chip takes */
static int group_cycles(const struct chip *chip)
{
    int cycles = 0;

    for (int type = 0; type < MATRIX_TYPE_COUNT; type++)
        cycles = most(cycles, chip_matmul_cycles(chip, (enum matrix_type)type) * 8 /
                              matrix_rows((enum matrix_type)type));
    return cycles - 1;
}

void wavefront_init(struct wavefront *w, const struct chip *chip,
                    const struct isa_program *program, int unit)
{
    *w = (struct wavefront){
        .program = program, .unit = unit,
        .size = (int)chip->mxu_size, .tiles_per_group = chip_mxu_halves(chip),
        .latency_cycles = (int)chip->mxu_latency_cycles,
        .latch_cycles = (int)chip->mxu_latch_cycles,
        .fifo_depth = (int)chip->mxu_fifo_depth, .accumulators = (int)chip->mxu_accumulators,
    };
    assert(w->size <= WAVE_SIZE_MAX);
    w->span_cycles = least(2 * w->size - 2, most(0, w->latency_cycles - 1 - group_cycles(chip)));
}

void wavefront_fini(struct wavefront *w)
{
    mem_free(w->op);
    w->op = NULL;
    w->count = w->capacity = 0;
}

void wavefront_restart(struct wavefront *w, cycle_t from, bool is_from_start)
{
    w->count = 0;
    w->known_from = w->known_end = from;
    w->is_from_start = is_from_start;
    w->result_count = w->pop_count = w->older_results = 0;
    w->latch_count = 0;
    memset(w->rows_of_gain, 0, sizeof(w->rows_of_gain));
    memset(w->latches_of_staging, 0, sizeof(w->latches_of_staging));
    memset(w->rows_of_staging, 0, sizeof(w->rows_of_staging));
    memset(w->weights_of_gain, 0, sizeof(w->weights_of_gain));
    memset(w->kind_count, 0, sizeof(w->kind_count));
}

int wavefront_delay(const struct wavefront *w, int diagonal)
{
    return (int)((int64_t)diagonal * w->span_cycles / (2 * w->size - 2));
}

int wavefront_diagonal_length(const struct wavefront *w, int diagonal)
{
    return diagonal < w->size ? diagonal + 1 : 2 * w->size - 1 - diagonal;
}

int wavefront_result_tiles(const struct wavefront *w, const struct wave_op *o)
{
    return o->kind == WAVE_MULTIPLY ? w->tiles_per_group * o->rows / 8 : 0;
}

cycle_t wavefront_result_ready(const struct wavefront *w, const struct wave_op *o, int tile)
{
    return o->enters + w->latency_cycles + o->tile_cycles * tile / wavefront_result_tiles(w, o);
}

size_t wavefront_after(const struct wavefront *w, cycle_t t)
{
    size_t low = 0, high = w->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->op[middle].start <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- feeding ---- */

/* tiles that are ready by `t`, of those that were fed */
static int64_t results_ready(const struct wavefront *w, cycle_t t)
{
    int64_t ready = w->result_count;
    size_t i = w->count;

    while (i-- > 0 && w->op[i].start + w->latency_cycles + WAVE_OP_CYCLES_MAX > t)
        for (int tile = 0; tile < wavefront_result_tiles(w, &w->op[i]); tile++)
            ready -= wavefront_result_ready(w, &w->op[i], tile) > t;
    return ready;
}

static void feed_multiply(struct wavefront *w, struct wave_op *o)
{
    o->enters = o->start + (o->latches >= 0 ? w->latch_cycles : 0);
    if (o->latches >= 0) {
        w->rows_of_gain[o->reg] = 0;
        w->weights_of_gain[o->reg] = ++w->latch_count;
        w->latches_of_staging[o->latches]++;
        w->rows_of_staging[o->latches] = 0;
    }
    o->rows_before = w->rows_of_gain[o->reg];
    o->weights = w->weights_of_gain[o->reg];
    o->results_before = w->result_count;
    w->rows_of_gain[o->reg] += o->rows;
    w->result_count += wavefront_result_tiles(w, o);
}

static void feed_push(struct wavefront *w, struct wave_op *o)
{
    o->weights = w->latches_of_staging[o->reg];
    o->rows_before = w->rows_of_staging[o->reg];
    w->rows_of_staging[o->reg] += o->rows;
}

/* a pop takes what is there: where fewer results are known, the FIFO held older ones */
static void feed_pop(struct wavefront *w, struct wave_op *o)
{
    int64_t ready = results_ready(w, o->start);

    o->results_before = w->pop_count++;
    if (w->pop_count - ready > w->older_results)
        w->older_results = w->pop_count - ready;
}

static bool is_wave_op(const struct matrix_op *m)
{
    return m->kind == MATRIX_PUSH || m->kind == MATRIX_MULTIPLY || m->kind == MATRIX_POP;
}

static const enum wave_kind kind_of[] = {
    [MATRIX_PUSH] = WAVE_PUSH, [MATRIX_MULTIPLY] = WAVE_MULTIPLY, [MATRIX_POP] = WAVE_POP,
};

static void append(struct wavefront *w, const struct trace_event *e, const struct matrix_op *m)
{
    struct wave_op *o;

    w->op = mem_grow(w->op, &w->capacity, w->count + 1, sizeof(*w->op));
    o = &w->op[w->count];
    *o = (struct wave_op){
        .kind = kind_of[m->kind], .bundle = e->bundle, .op = e->op - 1, .start = e->start,
        .end = e->end, .enters = e->start, .rows = matrix_rows(m->type), .mode = m->mode,
        .reg = m->kind == MATRIX_PUSH ? m->staging : m->gain,
        .latches = m->kind == MATRIX_MULTIPLY ? m->staging : -1, .is_xpose = m->is_xpose,
        .accumulator = m->accumulator, .number = w->kind_count[kind_of[m->kind]]++,
    };
    if (o->kind == WAVE_MULTIPLY) {
        feed_multiply(w, o);
        o->tile_cycles = (int)(o->end - o->enters) + m->uses_prep;
    } else if (o->kind == WAVE_POP) {
        feed_pop(w, o);
    } else {
        feed_push(w, o);
    }
    w->count++;
}

void wavefront_feed(struct wavefront *w, const struct trace_event *e)
{
    const struct isa_op *op;
    struct matrix_op m;

    if (e->op == 0 || e->op > w->program->op_count)
        return;
    op = &w->program->op[e->op - 1];
    if (isa_info((enum isa_opcode)op->code)->unit != UNIT_MXU || op->unit_index != w->unit)
        return;
    m = matrix_op_of_isa(op);
    if (is_wave_op(&m))
        append(w, e, &m);
}
