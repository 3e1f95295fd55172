/*
 * The windows of a step: of each array the box that it works on, where the
 * first lies and how it moves along the grid.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/conv/conv_body.h"

#define LANES ARRAY_LANES
#define TILE_ROWS 8                     /* VMEM rows of a tile */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void view(struct conv_window *w, const struct array *a, const struct conv_shape *s,
                 enum conv_role role)
{
    w->array = a;
    for (int i = 0; i < CONV_SPATIAL; i++) {
        int dim = s->spatial_dim[role][i];

        w->size[i] = dim < 0 ? 1 : a->shape.dim[dim];
        w->stride[i] = dim < 0 ? 0 : array_outer_stride(a, dim);
    }
    w->size[BOX_ROWS] = a->tiles_down;
    w->stride[BOX_ROWS] = a->tiles_across;
    w->size[BOX_LANES] = a->tiles_across;
    w->stride[BOX_LANES] = 1;
}

static void finish_window(struct conv_window *w, int buffers)
{
    int64_t pitch = 1;

    for (int i = BOX_DIMS - 1; i >= 0; i--) {
        w->pitch[i] = pitch;
        pitch *= w->box[i];
    }
    w->tiles = pitch;
    w->buffers = buffers;
}

static int64_t rows_of(const struct array *a) { return a->tile_rows; }

static void lhs_window(struct conv_plan *p, const struct array *a)
{
    struct conv_window *w = &p->window[WINDOW_LHS];
    bool is_rows = p->shape.mode == CONV_ROWS;
    int batch = is_rows ? BOX_ROWS : BOX_LANES, features = is_rows ? BOX_LANES : BOX_ROWS;

    view(w, a, &p->shape, CONV_LHS);
    for (int i = 0; i < CONV_SPATIAL; i++) {
        const struct conv_dim *d = &p->shape.dim[i];

        w->box[i] = conv_span(p, i);
        w->origin[i] = d->lowest;
        w->move[i][GRID_O0 + i] = p->q[i] * d->step;
        w->move[i][GRID_T0 + i] = p->taps[i] / d->tap_step * d->tap_stride;
    }
    w->box[batch] = is_rows ? p->batch_tiles * p->parts : p->batch_tiles;
    w->move[batch][GRID_B] = w->box[batch];
    if (p->shape.is_pixels) {           /* whole lines */
        w->box[2] = 1;
        w->origin[2] = 0;
        w->move[2][GRID_T2] = 0;
        w->box[BOX_ROWS] = w->size[BOX_ROWS];
    }
    if (p->is_dense)
        w->box[BOX_ROWS] = w->size[BOX_ROWS];
    w->box[features] = p->contracted;
    w->move[features][GRID_C] = p->contracted;
    if (p->is_diagonal)
        w->move[BOX_LANES][GRID_F] = w->box[BOX_LANES];
}

/* taps of a dimension, up to the last partner of one */
static int64_t paired_taps(const struct conv_dim *d)
{
    int64_t taps = d->taps;

    for (int64_t r = 0; r < d->phases; r++) {
        const struct conv_phase *f = &d->phase[r];
        int64_t end = f->first + (round_up(f->count, 2) - 1) * d->tap_step + 1;

        if (f->count && end > taps)
            taps = end;
    }
    return taps;
}

static void rhs_window(struct conv_plan *p, const struct array *a)
{
    struct conv_window *w = &p->window[WINDOW_RHS];
    bool is_rows = p->shape.mode == CONV_ROWS;
    int64_t inputs = is_rows ? p->contracted * LANES : p->contracted * (p->is_lhs_bf16 ? 16 : 8);
    int in = p->is_rhs_swapped ? BOX_LANES : BOX_ROWS;
    int out = p->is_rhs_swapped ? BOX_ROWS : BOX_LANES;
    int64_t in_unit = in == BOX_ROWS ? rows_of(a) : LANES;
    int64_t out_unit = out == BOX_ROWS ? rows_of(a) : LANES;

    view(w, a, &p->shape, CONV_RHS);
    for (int i = 0; i < CONV_SPATIAL; i++) {
        w->box[i] = i == p->pair_level && p->taps[i] == p->shape.dim[i].taps
                        ? paired_taps(&p->shape.dim[i]) : p->taps[i];
        w->origin[i] = p->shape.dim[i].is_reversed ? p->shape.dim[i].taps - w->box[i] : 0;
        w->move[i][GRID_T0 + i] = p->shape.dim[i].is_reversed ? -p->taps[i] : p->taps[i];
    }
    w->box[in] = least(div_up(inputs, in_unit), w->size[in]);
    w->move[in][GRID_C] = w->box[in];
    w->box[out] = least(conv_column_tiles(p) * LANES / out_unit, w->size[out]);
    w->move[out][GRID_F] = conv_column_tiles(p) * LANES / out_unit;
}

static void result_window(struct conv_plan *p, struct conv_window *w, const struct array *a)
{
    view(w, a, &p->shape, CONV_RESULT);
    for (int i = 0; i < CONV_SPATIAL; i++) {
        w->box[i] = p->q[i] * p->shape.dim[i].phases;
        w->move[i][GRID_O0 + i] = w->box[i];
    }
    w->box[BOX_ROWS] = p->out_groups * p->group_rows / rows_of(a);
    w->move[BOX_ROWS][GRID_B] = w->box[BOX_ROWS];
    w->box[BOX_LANES] = least(conv_column_tiles(p), w->size[BOX_LANES]);
    w->move[BOX_LANES][GRID_F] = conv_column_tiles(p);
}

/* The input as a result: of each box what no other holds; it leaves from the input's window. */
static void made_window(struct conv_plan *p, const struct array *a)
{
    const struct conv_window *lhs = &p->window[WINDOW_LHS];
    struct conv_window *w = &p->window[WINDOW_OUT + p->made_out];

    *w = *lhs;
    view(w, a, &p->shape, CONV_LHS);
    for (int i = 0; i < CONV_SPATIAL; i++) {
        w->origin[i] = 0;
        w->box[i] = p->q[i] * p->shape.dim[i].step;
        w->row -= lhs->origin[i] * lhs->pitch[i] * TILE_ROWS;
    }
}

/* a linear array, all of it */
static void vector_window(struct conv_window *w, const struct array *a)
{
    w->array = a;
    for (int i = 0; i < BOX_DIMS; i++)
        w->size[i] = w->box[i] = 1;
    w->size[BOX_ROWS] = w->box[BOX_ROWS] = a->tile_count;
    w->stride[BOX_ROWS] = 1;
}

static bool moves(const struct conv_plan *p, const struct conv_window *w)
{
    for (int i = 0; i < BOX_DIMS; i++)
        for (int g = 0; g < GRID_DIMS; g++)
            if (w->move[i][g] && p->count[g] > 1)
                return true;
    return false;
}

void conv_make_windows(struct conv_plan *p, const struct conv_body *b)
{
    memset(p->window, 0, sizeof(p->window));
    memset(p->is_used, 0, sizeof(p->is_used));
    lhs_window(p, p->job->operand[b->lhs]);
    rhs_window(p, p->job->operand[b->rhs]);
    p->is_used[WINDOW_LHS] = p->is_used[WINDOW_RHS] = true;
    for (int i = 0; i < p->out_count; i++) {
        p->is_used[WINDOW_OUT + i] = true;
        if (i == p->made_out)
            continue;
        if (p->is_of_features[i])
            vector_window(&p->window[WINDOW_OUT + i], p->job->result[i]);
        else
            result_window(p, &p->window[WINDOW_OUT + i], p->job->result[i]);
    }
    for (int i = 0; i < p->extra_count; i++) {
        struct conv_window *w = &p->window[WINDOW_EXTRA + i];
        const struct array *a = p->job->operand[b->extra[i].operand];

        if (b->extra[i].kind == EXTRA_FULL)
            result_window(p, w, a);
        else
            vector_window(w, a);
        p->is_used[WINDOW_EXTRA + i] = true;
    }
    for (int i = 0; i < p->maker_count; i++) {
        struct conv_window *w = &p->window[WINDOW_MAKER + i];
        const struct array *a = p->job->operand[b->maker[i].operand];

        if (b->maker[i].kind == EXTRA_FULL) {
            *w = p->window[b->maker[i].role == CONV_LHS ? WINDOW_LHS : WINDOW_RHS];
            view(w, a, &p->shape, b->maker[i].role);
        } else {
            vector_window(w, a);
        }
        p->is_used[WINDOW_MAKER + i] =
            b->maker[i].operand != (b->maker[i].role == CONV_LHS ? b->lhs : b->rhs);
    }
    for (int i = 0; i < WINDOW_COUNT; i++)
        if (p->is_used[i])
            finish_window(&p->window[i], moves(p, &p->window[i]) ? 2 : 1);
    if (p->made_out >= 0)
        made_window(p, p->job->result[p->made_out]);
}
