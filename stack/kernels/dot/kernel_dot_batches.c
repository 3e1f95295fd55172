/*
 * Squares of a left operand with batches, contracted along its rows, through the cross-lane units
 * beside the passes: those of the first span's batches before the step, those of every later span
 * beside the one before it. Units take squares in turn, as fast as they can; a square's results are
 * popped when they are there, all of them before the span ends.
 */
#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

#define TILE 128

struct schedule {                       /* in rounds, from a unit's square to its next one */
    int64_t groups;                     /* tiles of a square as it comes out */
    int64_t squares;                    /* of all batches of a span */
    int64_t period, latency;            /* from square to square; from its last push to its pops */
    int64_t units;
};

/* squares whose results may wait in a unit's FIFO, beside those that go in and come out */
static int64_t waiting_max(const struct schedule *t, const struct chip *chip)
{
    return chip->xlu_fifo_depth / t->groups - 3;
}

static struct schedule schedule_of(const struct dot_step *s, int64_t squares)
{
    const struct chip *chip = s->chip;
    struct schedule t = {.groups = TILE / matrix_rows(s->lhs_type), .squares = squares,
                         .units = chip->xlu_count};
    int64_t issue = matrix_rows(s->lhs_type) == 8 ? chip->xlu_xpose_issue_cycles
                                                  : chip->xlu_xpose_packed_issue_cycles;
    int64_t in = s->transpose.tiles * issue, out = t.groups * chip->xlu_xpose_pop_cycles;
    int64_t busy = in > out ? in : out;

    if (chip->xlu_xpose_gap_cycles > busy)
        busy = chip->xlu_xpose_gap_cycles;
    t.period = div_up(busy, dot_round_cycles(s));
    t.latency = div_up(chip->xlu_xpose_cycles, dot_round_cycles(s)) + 1;
    if (waiting_max(&t, chip) > 0 && t.period * waiting_max(&t, chip) < t.latency)
        t.period = div_up(t.latency, waiting_max(&t, chip));
    return t;
}

/* rounds until the last square has come out */
static int64_t rounds_of(const struct schedule *t)
{
    return (div_up(t->squares, t->units) + 1) * t->period + t->latency;
}

int dot_transpose_columns(const struct dot_step *s, int at_once, int64_t squares, int64_t tiles)
{
    int64_t each = div_up(s->depth_tiles, dot_halves(s->chip)) * s->rounds;
    struct dot_step transposing = *s;

    transposing.transpose = (struct dot_transpose){.tiles = tiles};
    for (int64_t i = 2; i < s->columns && i * each <= DOT_SPAN_ROUNDS_MAX
                        && s->chip->mxu_accumulators == 0; i++) {
        struct schedule t = schedule_of(&transposing, i * at_once * squares * s->depth_tiles);

        if (s->columns % i == 0 && rounds_of(&t) <= i * each
            && waiting_max(&t, s->chip) > 0)
            return (int)i;
    }
    return 0;
}

/* where the tiles of square number `i` of a span come from, and go to */
struct place { int64_t from, to; };

static struct place place_of(const struct dot_code *d, int64_t i)
{
    const struct dot_transpose *x = &d->s->transpose;
    int64_t each = x->squares * d->s->depth_tiles, batch = i / each;
    int64_t depth = i % each / x->squares, side = i % x->squares;

    return (struct place){
        .from = batch * x->batch_step + depth * x->from.depth_step + side * x->from.side_step,
        .to = (x->batches + batch) * x->to_batch_step + depth * d->s->lhs.depth_step
              + side * x->to_square_step};
}

/* nothing is left to transpose in the last span */
static void put(struct dot_code *d, int not_before, struct isa_op op)
{
    bundler_add_after(&d->b, not_before, isa_unless(P_MORE, op));
}

static void push(struct dot_code *d, const struct schedule *t, int64_t square, int64_t tile,
                 int not_before)
{
    const struct dot_transpose *x = &d->s->transpose;
    int rows = matrix_rows(d->s->lhs_type);
    enum isa_vxpose_cont_x0 type = rows == 8    ? VXPOSE_CONT_B32
                                   : rows == 16 ? VXPOSE_CONT_B16 : VXPOSE_CONT_B8;
    struct isa_op op = isa_vxpose_cont((int)(square % t->units), d->v_transpose, TILE, type);

    op.code = x->tiles == 1             ? OP_VXPOSE_ONE
              : tile == 0               ? OP_VXPOSE_START
              : tile == x->tiles - 1    ? OP_VXPOSE_END
                                        : OP_VXPOSE_CONT;
    put(d, not_before, isa_vld(d->v_transpose, isa_rows_at(R(S_SQUARES), place_of(d, square).from
                                                                       + tile * x->group_step)));
    put(d, not_before, op);
}

static void pop(struct dot_code *d, const struct schedule *t, int64_t square, int64_t tile,
                int not_before)
{
    int v = d->v_transpose + 1 + (int)(square % t->units % (DOT_TRANSPOSE_REGISTERS - 1));

    put(d, not_before, isa_vpop_trf((int)(square % t->units), v));
    put(d, not_before, isa_vst(isa_rows_at(R(S_LHS_PASS), place_of(d, square).to
                                           + tile * d->s->transpose.to_group_step), v));
}

void dot_put_batch_transposes(struct dot_code *d, int64_t round)
{
    const struct dot_transpose *x = &d->s->transpose;
    struct schedule t = schedule_of(d->s, x->batches * x->squares * d->s->depth_tiles);
    int before = d->rounds.pushed_at[round];

    for (int64_t i = 0; i < t.squares; i++) {
        int64_t start = i / t.units * t.period, end = start + t.period + t.latency;

        for (int64_t tile = 0; tile < t.groups; tile++)
            if (end + tile * t.period / t.groups == round)
                pop(d, &t, i, tile, before);
    }
    for (int64_t i = 0; i < t.squares; i++)
        for (int64_t tile = 0; tile < x->tiles; tile++)
            if (i / t.units * t.period + tile * t.period / x->tiles == round)
                push(d, &t, i, tile, before);
}
