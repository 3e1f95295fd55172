/*
 * How the passes of a convolution walk over the rows of a block: lines of pixels, places of
 * windows, rows that units share; how many passes there are, and how far behind its pushes a pass
 * pops.
 */
#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/conv/conv_impl.h"

#define TILE_ROWS 8                     /* VMEM rows of a tile */
#define POP_DELAY_MAX 64

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* passes along a dimension meet a place each; a single one needs those of its outputs alone */
static int64_t passes_along(const struct conv_plan *p, int dim)
{
    return dim == p->along ? p->spread : p->taps[dim];
}

int64_t conv_place_step(const struct conv_plan *p, int dim)
{
    return p->shape.dim[dim].phases == 1 && passes_along(p, dim) == 1 ? p->shape.dim[dim].step : 1;
}

int64_t conv_places(const struct conv_plan *p, int dim)
{
    const struct conv_dim *d = &p->shape.dim[dim];

    if (conv_place_step(p, dim) == d->step && d->phases == 1 && passes_along(p, dim) == 1)
        return p->q[dim];
    return dim == p->along ? (p->q[dim] - 1) * d->step + (p->spread - 1) * d->tap_stride + 1
                           : conv_span(p, dim);
}

int64_t conv_tile_count(const struct conv_plan *p)    /* of transposed rows */
{
    int64_t tiles = p->groups * p->parts;

    for (int i = 0; i < CONV_SPATIAL; i++)
        tiles *= conv_places(p, i);
    return tiles;
}

int64_t conv_lead_rows(const struct conv_plan *p)
{
    return p->shape.width_pad > 0 ? p->shape.width_pad : 0;
}

/* VMEM rows of a line: those that are made, those that passes read */
static int64_t line_rows(const struct conv_plan *p)
{
    const struct conv_shape *s = &p->shape;
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t lead = conv_lead_rows(p), made, read;

    if (p->is_dense) {
        made = w->box[2] * s->batch;
        read = p->groups * p->group_rows + (p->taps[2] - 1) * s->dim[2].tap_stride * s->batch;
    } else {
        made = lead + w->box[BOX_ROWS] * w->array->tile_rows;
        read = lead - s->width_pad + (p->groups * p->group_rows - 1) * s->width_stride +
               (s->dim[2].taps - 1) * s->dim[2].tap_stride + 1;
    }
    return read > made ? read : made;
}

/* lines, as f32: VMEM rows, so that a tap is an offset of rows */
static void walk_lines(struct conv_plan *p)
{
    const struct conv_shape *s = &p->shape;
    const struct conv_window *w = &p->window[WINDOW_LHS];

    p->line_tiles = div_up(line_rows(p), TILE_ROWS);
    p->base[2] = 0;
    p->base[1] = p->line_tiles;
    p->base[0] = p->base[1] * w->box[1];
    p->slot_stride = p->base[0] * w->box[0];
    p->feature_stride = p->slots * p->slot_stride;
    if (p->pair_level >= 0)
        p->slot_stride = s->dim[p->pair_level].tap_stride * p->base[p->pair_level];
    p->walk[0] = (struct conv_walk){p->groups, p->subs * (p->is_dense ? 1 : s->width_stride)};
    for (int i = 0; i < CONV_SPATIAL; i++)
        p->walk[CONV_SPATIAL - i] = (struct conv_walk){p->q[i], s->dim[i].step * p->base[i]};
    if (p->is_dense)                    /* along a line they are groups */
        p->walk[1].count = 1;
}

static void walk_places(struct conv_plan *p)
{
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t pitch = p->groups * p->parts;

    p->walk[0] = (struct conv_walk){p->groups, p->parts};
    if (p->shape.mode == CONV_ROWS) {
        p->walk[0].stride = p->parts * w->pitch[BOX_ROWS];
        p->feature_stride = p->slots;
        p->slot_stride = 1;
        if (p->pair_level >= 0)
            p->slot_stride = p->shape.dim[p->pair_level].tap_stride * w->pitch[p->pair_level];
    }
    for (int i = CONV_SPATIAL - 1; i >= 0; i--) {
        const struct conv_dim *d = &p->shape.dim[i];

        p->base[i] = p->shape.mode == CONV_ROWS ? w->pitch[i] : pitch;
        p->walk[CONV_SPATIAL - i] = (struct conv_walk){p->q[i], d->step * p->base[i]};
        if (p->shape.mode == CONV_TRANSPOSED)
            p->walk[CONV_SPATIAL - i].stride /= conv_place_step(p, i);
        pitch *= p->shape.mode == CONV_TRANSPOSED ? conv_places(p, i) : 1;
    }
    if (p->shape.mode == CONV_TRANSPOSED) {
        p->slot_stride = conv_tile_count(p);
        p->feature_stride = p->slots * p->slot_stride;
    }
}

static void split_rows(struct conv_plan *p)
{
    for (; p->unit_rows > 1; p->unit_rows--)
        for (int i = WALK_LEVELS - 1; i >= (p->shape.batch_groups > 1 || p->is_dense); i--)
            if (p->walk[i].count % p->unit_rows == 0) {
                p->split_level = i;
                p->walk[i].count /= p->unit_rows;
                p->split_stride = p->walk[i].count * p->walk[i].stride;
                return;
            }
    p->split_level = WALK_LEVELS - 1;
    p->split_stride = 0;
}

void conv_walk_rows(struct conv_plan *p)
{
    if (conv_has_lines(p))
        walk_lines(p);
    else
        walk_places(p);
    split_rows(p);
    p->rounds = 1;
    for (int i = 0; i < WALK_LEVELS; i++)
        p->rounds *= p->walk[i].count;
}

static int64_t phase_taps(const struct conv_plan *p, int dim, int64_t r)
{
    return dim == p->along ? p->spread : conv_step_taps(p, dim, r);
}

int64_t conv_phase_passes(const struct conv_plan *p, const int64_t *r)
{
    int64_t passes = p->feature_blocks;

    for (int i = 0; i < CONV_SPATIAL; i++)
        passes *= conv_level_count(p, i, r[i]);
    return passes;
}

void conv_count_passes(struct conv_plan *p)
{
    const struct conv_dim *d = p->shape.dim;

    p->phase_count = 0;
    p->passes = 0;
    for (int64_t r0 = 0; r0 < d[0].phases; r0++)
        for (int64_t r1 = 0; r1 < d[1].phases; r1++)
            for (int64_t r2 = 0; r2 < d[2].phases; r2++) {
                p->phase_count++;
                p->passes += conv_phase_passes(p, (const int64_t[]){r0, r1, r2});
            }
}

int64_t conv_level_count(const struct conv_plan *p, int dim, int64_t r)
{
    int64_t taps = phase_taps(p, dim, r);

    return dim == p->pair_level ? div_up(taps, 2) : taps;
}

bool conv_has_many_taps(const struct conv_plan *p)
{
    return p->shape.mode == CONV_TRANSPOSED && p->feature_blocks == 1 && p->along >= 0;
}

void conv_choose_pop_delay(struct conv_plan *p)
{
    const struct chip *chip = p->chip;
    int64_t cycles = p->is_lhs_bf16 && p->is_packed
                         ? chip_matmul_cycles(chip, MATRIX_BF16) * p->group_rows / 16
                         : chip_matmul_cycles(chip, MATRIX_F32) * p->subs;
    int64_t depth = p->has_accumulators ? chip->mxu_accumulators / p->subs
                                        : chip->mxu_fifo_depth / (p->subs * p->halves) - 2;

    p->pop_delay = div_up(chip->mxu_latency_cycles, cycles) + 1;
    p->pop_delay = least(p->pop_delay, POP_DELAY_MAX);
    if (p->pop_delay > depth)
        p->pop_delay = depth > 1 ? depth : 1;
    p->delay = 1;
    if (p->pop_delay <= p->rounds)
        return;
    if (!p->has_accumulators)
        p->delay = least(div_up(p->pop_delay, p->rounds), least(depth / p->rounds, CONV_DELAY_MAX));
    p->delay = least(p->delay, p->passes * p->column_groups);
    if (p->delay < 1)
        p->delay = 1;
    p->pop_delay = p->rounds;
}
