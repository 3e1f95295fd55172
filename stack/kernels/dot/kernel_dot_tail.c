/*
 * The end of a contraction that the grid cuts and that ends inside a square of 128: in the step that
 * has it, zeros take the place of what the last boxes of both operands hold behind it, where they
 * lie. So no step copies them, and squares of a left operand are transposed beside the passes.
 */
#include "stack/kernels/dot/kernel_dot_prepare.h"

#include "base/units.h"
#include "stack/backend/emitters.h"

#define TILE 128

enum { S_ROW_LOOP, S_TILE_LOOP, S_FROM, S_FROM_ROW };

struct tail {
    struct vcode *c;
    struct dot_place from;
    int64_t rows, lanes;                /* tiles of the box */
    int64_t left;                       /* of the contraction in the last step */
    int per_tile;                       /* rows in a tile */
};

static bool is_integer(const struct dot_problem *p, bool is_rhs)
{
    return is_rhs && matrix_is_integer(p->rhs_type);
}

bool dot_masks_tail(const struct dot_grid *g, bool is_rhs)
{
    const struct dot_problem *p = g->p;

    return p->k % TILE != 0 && g->depth * TILE < p->k && dot_terms(p) == 1 && !is_integer(p, is_rhs);
}

int dot_keep_rows(struct vcode *c, int tile, int64_t rows, int per_tile)
{
    int64_t per_word = per_tile / 8, words = rows / per_word;
    int64_t part = rows % per_word * (32 / per_word);   /* bits of the word behind them */
    int bits = -1;

    if (part) {
        int mask = emit_vcmask(c, (TILE - 1) << 13 | words << 10 | words);

        bits = emit_vsel(c, mask, I((1 << part) - 1), I(0));
    }
    if (words) {
        int mask = emit_vcmask(c, (TILE - 1) << 13 | (words - 1) << 10);

        bits = emit_vsel(c, mask, I(-1), part ? R(bits) : I(0));
    }
    return emit_vand_u32(c, R(tile), R(bits));
}

static void begin(struct tail *t, int64_t rows, int64_t first_row)
{
    if (t->from.base < 0)
        emit_smov(t->c, S_FROM_ROW, I(t->from.row + first_row * t->from.row_step));
    else
        emit_sadd(t->c, S_FROM_ROW, R(t->from.base), I(t->from.row + first_row * t->from.row_step));
    vcode_loop_begin(t->c, S_ROW_LOOP, rows);
    emit_smov(t->c, S_FROM, R(S_FROM_ROW));
}

static void end(struct tail *t)
{
    vcode_loop_step(t->c, S_FROM_ROW, t->from.row_step);
    vcode_loop_end(t->c, S_ROW_LOOP);
}

/* contracted along the rows: of the tile where it ends some stay, those behind are zeros */
static void mask_rows(struct tail *t, int64_t rows, int64_t first_row, int64_t kept)
{
    if (rows == 0)
        return;
    vcode_begin_block(t->c);
    begin(t, rows, first_row);
    vcode_loop_begin(t->c, S_TILE_LOOP, t->lanes);
    if (kept)
        emit_vst(t->c, isa_rows_at(R(S_FROM), 0),
                 dot_keep_rows(t->c, emit_vld(t->c, isa_rows_at(R(S_FROM), 0), 0), kept, t->per_tile),
                 0);
    else
        emit_vst(t->c, isa_rows_at(R(S_FROM), 0), emit_vmov(t->c, I(0)), 0);
    vcode_loop_step(t->c, S_FROM, t->from.lane_step);
    vcode_loop_end(t->c, S_TILE_LOOP);
    end(t);
}

/* contracted along the lanes: the same of each row of tiles */
static void mask_lanes(struct tail *t)
{
    int64_t first = t->left / TILE, at = first * t->from.lane_step;
    int sequence, mask, tile;

    vcode_begin_block(t->c);
    begin(t, t->rows, 0);
    sequence = vcode_vreg(t->c);
    vcode_put(t->c, isa_vlaneseq(sequence));
    mask = emit_vcmp_lt_s32(t->c, R(emit_vand_u32(t->c, R(sequence), I(TILE - 1))),
                            I(t->left % TILE));
    tile = emit_vld(t->c, isa_rows_at(R(S_FROM), at), 0);
    emit_vst(t->c, isa_rows_at(R(S_FROM), at), emit_vsel(t->c, mask, R(tile), I(0)), 0);
    for (int64_t i = first + 1; i < t->lanes; i++)
        emit_vst(t->c, isa_rows_at(R(S_FROM), i * t->from.lane_step), emit_vmov(t->c, I(0)), 0);
    end(t);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

void dot_mask_tail(struct dot_grid *g, bool is_rhs, struct vcode *c)
{
    const struct dot_problem *p = g->p;
    const struct dot_matrix *m = is_rhs ? &p->rhs : &p->lhs;
    bool along_lanes = is_rhs ? p->is_rhs_transposed : !p->is_lhs_transposed;
    int per_tile = matrix_rows(is_rhs ? p->rhs_type : p->lhs_type);
    int64_t free = is_rhs ? g->tiles * TILE : g->groups * p->group_rows, depth = g->depth * TILE;
    struct tail t = {.c = c, .from = dot_place_of(g, is_rhs), .per_tile = per_tile,
                     .left = p->k - (div_up(p->k, depth) - 1) * depth};
    int64_t whole = t.left / per_tile, kept = t.left % per_tile;

    t.rows = smaller(div_up(along_lanes ? free : depth, per_tile), m->row_tiles);
    t.lanes = smaller(div_up(along_lanes ? depth : free, TILE), m->lane_tiles);
    if (along_lanes) {
        mask_lanes(&t);
    } else {
        mask_rows(&t, kept > 0, whole, kept);
        mask_rows(&t, t.rows - whole - (kept > 0), whole + (kept > 0), 0);
    }
    vcode_begin_block(c);
}
