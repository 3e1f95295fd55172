/*
 * Rows of pixels, for small batches: the lines of the window as f32 in VMEM, one row of VMEM for
 * each pixel, zeros around them. A tap along the line is then an offset of rows, and a stride of
 * the window one between sublanes.
 */
#include "stack/conv_nest.h"

#define CLEARED 16                      /* tiles in straight code */
#define TILE_ROWS 8                     /* VMEM rows of a tile */

void conv_clear_lines(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    int64_t tiles = p->feature_blocks * p->feature_stride, rounds = tiles / CLEARED;
    int64_t row = p->rows_row + rounds * CLEARED * TILE_ROWS;
    int again;

    conv_begin(g, "borders");
    PUT(g, OP_VMOV, REG(NEST_V_ZERO), IMM(0));
    PUT(g, OP_SMOV, REG(NEST_TO), IMM(p->rows_row));
    for (int64_t i = 0; i < tiles % CLEARED; i++)
        PUT(g, OP_VST, REG(NEST_TO), IMM(row - p->rows_row + i * TILE_ROWS), IMM(1), IMM(0xff),
            REG(NEST_V_ZERO));
    conv_end(g);
    if (rounds == 0)
        return;
    again = conv_loop(g, NEST_COUNT, rounds);
    conv_begin(g, NULL);
    for (int64_t i = 0; i < CLEARED; i++)
        PUT(g, OP_VST, REG(NEST_TO), IMM(i * TILE_ROWS), IMM(1), IMM(0xff), REG(NEST_V_ZERO));
    PUT(g, OP_SADD, REG(NEST_TO), REG(NEST_TO), IMM(CLEARED * TILE_ROWS));
    conv_loop_end(g, again, NEST_COUNT);
}

/* 8 pixels from `x` on, of which those of the line are stored */
static void store_pixels(struct nest_body *b, const struct conv_plan *p, int64_t x, int v)
{
    int64_t rows = p->shape.width - x;

    if (rows > 0)
        PUT(b->g, OP_VST, REG(b->to), IMM(conv_lead_rows(p) + x), IMM(1),
            IMM(rows < TILE_ROWS ? (1 << rows) - 1 : 0xff), REG(v));
}

static void line_body(struct nest_body *b, const struct conv_plan *p)
{
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t height = w->array->tile_rows;

    for (int64_t i = 0; i < w->box[BOX_ROWS]; i++) {
        int v = conv_nest_load(b, i * w->pitch[BOX_ROWS], 0xff);

        for (int part = 0; part < height / TILE_ROWS; part++) {
            int pixels = v;

            if (height > TILE_ROWS) {
                pixels = conv_nest_vector(b);
                PUT(b->g, part ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, REG(pixels), REG(v));
            }
            store_pixels(b, p, i * height + part * TILE_ROWS, pixels);
        }
    }
}

void conv_prepare_lines(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    const struct conv_window *w = &p->window[WINDOW_LHS];
    struct nest n = {0};
    struct nest_body b = {.g = g};

    conv_nest_level(&n, w->box[BOX_LANES], TILE_ROWS, p->slot_stride * TILE_ROWS);
    for (int i = 0; i < 2; i++)
        conv_nest_level(&n, w->box[i], w->pitch[i] * TILE_ROWS, p->base[i] * TILE_ROWS);
    conv_begin(g, "lines");
    g->temp = NEST_COUNT;
    conv_nest_enter(g, &n, conv_buffer_row(g, WINDOW_LHS), p->rows_row);
    b.from = NEST_FROM + n.levels;
    b.to = NEST_TO + n.levels;
    line_body(&b, p);
    conv_nest_leave(g, &n);
}
