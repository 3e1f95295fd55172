/*
 * Rows in lines, as f32 in VMEM. Of pixels, for small batches: one row of VMEM for each pixel,
 * zeros around them; a tap along the line is then an offset of rows, and a stride of the window one
 * between sublanes. Dense ones, for batches that end inside a tile: the images of each pixel
 * without what pads them, pixel by pixel; a tap is an offset of as many rows as there are images.
 */
#include "stack/kernels/conv/conv_nest.h"

#define CLEARED 16                      /* tiles in straight code */
#define TILE_ROWS 8                     /* VMEM rows of a tile */
#define TILES_AT_ONCE 64                /* of the window, dense: in straight code */

void conv_clear_lines(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    int64_t tiles = p->feature_blocks * p->feature_stride, rounds = tiles / CLEARED;
    int64_t row = p->rows_row + rounds * CLEARED * TILE_ROWS;
    int again;

    conv_begin(g, "borders");
    bundler_add(&g->b, isa_vmov(NEST_V_ZERO, I(0)));
    bundler_add(&g->b, isa_smov(NEST_TO, I(p->rows_row)));
    for (int64_t i = 0; i < tiles % CLEARED; i++)
        bundler_add(&g->b, isa_vst(isa_rows_at(R(NEST_TO), row - p->rows_row + i * TILE_ROWS),
                                   NEST_V_ZERO));
    conv_end(g);
    if (rounds == 0)
        return;
    again = conv_loop(g, NEST_COUNT, rounds);
    conv_begin(g, NULL);
    for (int64_t i = 0; i < CLEARED; i++)
        bundler_add(&g->b, isa_vst(isa_rows_at(R(NEST_TO), i * TILE_ROWS), NEST_V_ZERO));
    bundler_add(&g->b, isa_sadd(NEST_TO, R(NEST_TO), I(CLEARED * TILE_ROWS)));
    conv_loop_end(g, again, NEST_COUNT);
}

/* 8 pixels from `x` on, of which those of the line are stored */
static void store_pixels(struct nest_body *b, const struct conv_plan *p, int64_t x, int v)
{
    int64_t rows = p->shape.width - x;

    if (rows > 0)
        bundler_add(&b->g->b, isa_vst(isa_rows_some(R(b->to), conv_lead_rows(p) + x,
                                                    rows < TILE_ROWS ? (1 << rows) - 1 : 0xff),
                                      v));
}

/* 8 images of pixel `x` from `image` on, as far as there are so many */
static void store_images(struct nest_body *b, const struct conv_plan *p, int64_t x, int64_t image,
                         int v)
{
    int64_t rows = p->shape.batch - image;

    if (rows > 0)
        bundler_add(&b->g->b, isa_vst(isa_rows_some(R(b->to), x * p->shape.batch + image,
                                                    rows < TILE_ROWS ? (1 << rows) - 1 : 0xff),
                                      v));
}

/* tile `i` of a column of them, as f32: pixels of a line, or images of pixel `x` */
static void put_tile(struct nest_body *b, const struct conv_plan *p, int64_t x, int64_t i)
{
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t height = w->array->tile_rows;
    int v = conv_nest_load(b, x * w->pitch[2] + i * w->pitch[BOX_ROWS], 0xff);

    for (int part = 0; part < height / TILE_ROWS; part++) {
        int64_t first = i * height + part * TILE_ROWS;
        int rows = v;

        if (height > TILE_ROWS) {
            rows = conv_nest_vector(b);
            bundler_add(&b->g->b, isa_make_d_v(part ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, rows, R(v)));
        }
        if (p->is_dense)
            store_images(b, p, x, first, rows);
        else
            store_pixels(b, p, first, rows);
    }
}

/* pixels in straight code */
static int64_t pixels_at_once(const struct conv_plan *p)
{
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t count = p->is_dense ? w->box[2] : 1;

    while (count > 1 && (w->box[2] % count || count * w->box[BOX_ROWS] > TILES_AT_ONCE))
        count--;
    return count;
}

void conv_prepare_lines(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t pixels = pixels_at_once(p);
    struct conv_nest n = {0};
    struct nest_body b = {.g = g};

    conv_nest_level(&n, w->box[BOX_LANES], TILE_ROWS, p->slot_stride * TILE_ROWS);
    for (int i = 0; i < 2; i++)
        conv_nest_level(&n, w->box[i], w->pitch[i] * TILE_ROWS, p->base[i] * TILE_ROWS);
    conv_nest_level(&n, w->box[2] / pixels, pixels * w->pitch[2] * TILE_ROWS,
                    pixels * p->shape.batch);
    conv_begin(g, "lines");
    g->temp = NEST_COUNT;
    conv_nest_enter(g, &n, conv_buffer_row(g, WINDOW_LHS), p->rows_row);
    b.from = NEST_FROM + n.levels;
    b.to = NEST_TO + n.levels;
    for (int64_t x = 0; x < pixels; x++)
        for (int64_t i = 0; i < w->box[BOX_ROWS]; i++)
            put_tile(&b, p, x, i);
    conv_nest_leave(g, &n);
}
