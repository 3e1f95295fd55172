/*
 * Squares of a left operand with batches, contracted along its rows, through the cross-lane units
 * beside the passes: those of the first batches before the step, all others beside the passes of as
 * many batches before theirs. Units take squares in turn, as fast as they can; a square's results are
 * popped when they are there, of the last ones of a span in the next one.
 */
#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

#define TILE 128

struct schedule {                       /* in rounds, from a unit's square to its next one */
    int64_t groups;                     /* tiles of a square as it comes out */
    int64_t squares;                    /* of all batches of a span */
    int64_t period, latency;            /* from square to square; from its last push to its pops */
    int64_t in, out;                    /* over which its pushes and its pops are spread */
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
    int64_t busy = in > out ? in : out, round = dot_round_cycles(s);

    if (chip->xlu_xpose_gap_cycles > busy)
        busy = chip->xlu_xpose_gap_cycles;
    t.period = div_up(busy, round);
    t.in = div_up(in, round);
    t.out = div_up(out, round);
    t.latency = div_up(chip->xlu_xpose_cycles, round) + 1;
    if (waiting_max(&t, chip) > 0 && t.period * waiting_max(&t, chip) < t.latency)
        t.period = div_up(t.latency, waiting_max(&t, chip));
    return t;
}

static int64_t start_of(const struct schedule *t, int64_t square)
{
    return square / t->units * t->period;
}

/* the round beside which its first results are popped */
static int64_t results_at(const struct schedule *t, int64_t square)
{
    return start_of(t, square) + t->in + t->latency;
}

/* columns before the one of its own from which on a square must be on its way; -1: more than a span */
static int lead_of(const struct schedule *t, int64_t columns, int64_t each)
{
    int64_t of_column = t->squares / columns, lead = 1;

    if (start_of(t, t->squares - 1) + t->in > columns * each)
        return -1;
    for (int64_t j = 0; j < columns; j++) {
        int64_t end = results_at(t, (j + 1) * of_column - 1) + t->out, before = div_up(end, each) - j;

        lead = before > lead ? before : lead;
    }
    return lead <= columns ? (int)lead : -1;
}

static int64_t rounds_of_column(const struct dot_step *s)
{
    return div_up(s->depth_tiles, dot_halves(s->chip)) * s->rounds;
}

/* spread over its period a square is in nobody's way; where that comes later by columns, at once */
static struct schedule best_schedule(const struct dot_step *s, int64_t columns, int64_t squares,
                                     int *lead)
{
    struct schedule at_once = schedule_of(s, columns * squares), spread = at_once;
    int64_t each = rounds_of_column(s);

    spread.in = spread.out = spread.period;
    *lead = lead_of(&at_once, columns, each);
    return lead_of(&spread, columns, each) == *lead ? spread : at_once;
}

int dot_transpose_columns(const struct dot_step *s, int at_once, int64_t squares, int64_t tiles,
                          int *lead)
{
    struct dot_step transposing = *s;

    transposing.transpose = (struct dot_transpose){.tiles = tiles};
    for (int64_t i = 2; i <= s->columns && i * rounds_of_column(s) <= DOT_SPAN_ROUNDS_MAX
                        && s->chip->mxu_accumulators == 0; i++) {
        struct schedule t = best_schedule(&transposing, i, at_once * squares * s->depth_tiles, lead);

        if (s->columns % i == 0 && waiting_max(&t, s->chip) > 0 && *lead > 0 && *lead < s->columns)
            return (int)i;
    }
    return 0;
}

/* where the tiles of square number `i` of a span come from, and go to */
struct place { int64_t batch, from, to, depth, side; };

static struct place place_of(const struct dot_code *d, int64_t i)
{
    const struct dot_transpose *x = &d->s->transpose;
    int64_t each = x->squares * d->s->depth_tiles, batch = i / each;
    struct place p = {.batch = x->lead + batch, .depth = i % each / x->squares, .side = i % x->squares};

    p.from = batch * x->batch_step + p.depth * x->from.depth_step + p.side * x->from.side_step;
    p.to = p.batch * x->to_batch_step + p.depth * d->s->lhs.depth_step + p.side * x->to_square_step;
    return p;
}

/* batches behind a span's own are not there in the last one */
static int put(struct dot_code *d, const struct place *p, int not_before, struct isa_op op)
{
    bool is_own = p->batch < d->s->transpose.batches;

    return bundler_add_after(&d->b, not_before, is_own ? op : isa_unless(P_MORE, op));
}

static void push(struct dot_code *d, const struct schedule *t, int64_t square, int64_t tile,
                 int not_before)
{
    const struct dot_transpose *x = &d->s->transpose;
    struct place p = place_of(d, square);
    int rows = matrix_rows(d->s->lhs_type);
    enum isa_vxpose_cont_x0 type = rows == 8    ? VXPOSE_CONT_B32
                                   : rows == 16 ? VXPOSE_CONT_B16 : VXPOSE_CONT_B8;
    struct isa_op op = isa_vxpose_cont((int)(square % t->units), d->v_transpose, TILE, type);

    op.code = x->tiles == 1             ? OP_VXPOSE_ONE
              : tile == 0               ? OP_VXPOSE_START
              : tile == x->tiles - 1    ? OP_VXPOSE_END
                                        : OP_VXPOSE_CONT;
    put(d, &p, not_before,
        isa_vld(d->v_transpose, isa_rows_at(R(S_SQUARES), p.from + tile * x->group_step)));
    put(d, &p, not_before, op);
}

/* rows of this span are loaded behind the store */
static void note_store(struct dot_code *d, const struct place *p, int64_t tile, int at)
{
    const struct dot_transpose *x = &d->s->transpose;
    int64_t rounds = d->s->rounds, column = p->batch * x->span_columns / x->batches;
    int64_t row = (p->side * (TILE / matrix_rows(d->s->lhs_type)) + tile)
                  * matrix_rows(d->s->lhs_type);
    int64_t round = (column * d->passes + p->depth / d->halves) * rounds
                    + row / d->s->group_rows % rounds;

    if (p->batch < x->batches && at > d->transposed_at[round])
        d->transposed_at[round] = at;
}

static void pop(struct dot_code *d, const struct schedule *t, int64_t square, int64_t tile,
                int not_before, bool is_of_span_before)
{
    const struct dot_transpose *x = &d->s->transpose;
    int v = d->v_transpose + 1 + (int)(square % t->units % (DOT_TRANSPOSE_REGISTERS - 1));
    struct place p = place_of(d, square);

    if (is_of_span_before) {
        p.batch -= x->batches;
        p.to -= x->batches * x->to_batch_step;
    }
    put(d, &p, not_before, isa_vpop_trf((int)(square % t->units), v));
    note_store(d, &p, tile,
               put(d, &p, not_before, isa_vst(isa_rows_at(R(S_LHS_PASS), p.to + tile * x->to_group_step), v)));
}

void dot_put_batch_transposes(struct dot_code *d, int64_t round, bool is_first)
{
    const struct dot_transpose *x = &d->s->transpose;
    int64_t all = dot_span_rounds(d), each = x->batches / x->span_columns;
    int before = d->rounds.pushed_at[round], lead;
    struct schedule t = best_schedule(d->s, x->span_columns, each * x->squares * d->s->depth_tiles, &lead);

    for (int behind = is_first ? 0 : 1; behind >= 0; behind--)
        for (int64_t i = 0; i < t.squares; i++)
            for (int64_t tile = 0; tile < t.groups; tile++)
                if (results_at(&t, i) + tile * t.out / t.groups == round + behind * all)
                    pop(d, &t, i, tile, before, behind);
    for (int64_t i = 0; i < t.squares; i++)
        for (int64_t tile = 0; tile < x->tiles; tile++)
            if (start_of(&t, i) + tile * t.in / x->tiles == round)
                push(d, &t, i, tile, before);
}
