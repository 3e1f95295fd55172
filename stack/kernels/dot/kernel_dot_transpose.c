/*
 * Squares of a left operand, contracted along its rows, through the cross-lane
 * units beside the passes of a step's first column. Rounds of a pass transpose what
 * a later one needs, as many tiles each and in the order in which its rounds need them; results are
 * popped so many rounds later that nothing waits for them, of the last squares in the rounds of the
 * pass itself.
 */
#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

#define TILE 128
#define PACE_MAX 2                      /* times the rounds of a pass */

struct transposes {
    int64_t groups;                     /* tiles of a square */
    int64_t per_pass, all;              /* tiles that a pass needs; beside passes */
    int64_t pace;                       /* rounds over which those of a pass are spread */
    int64_t pop_delay;                  /* rounds from a push to its pop */
    int units;                          /* that take squares in turn */
};

static enum isa_vxpose_cont_x0 type_of(const struct dot_step *s)
{
    int rows = matrix_rows(s->lhs_type);

    return rows == 8 ? VXPOSE_CONT_B32 : rows == 16 ? VXPOSE_CONT_B16 : VXPOSE_CONT_B8;
}

/* the round beside which tile number `i` is pushed */
static int64_t pushed_at(const struct transposes *t, int64_t i)
{
    return ((i + 1) * t->pace - 1) / t->per_pass;
}

/* tiles of unit `unit` among the first `count` */
static int64_t of_unit(const struct transposes *t, int64_t count, int64_t unit)
{
    int64_t together = t->groups * t->units;

    return count / together * t->groups + (count % together + t->units - 1 - unit) / t->units;
}

/* tiles behind which work is when `rounds` of them are done */
static int64_t reached(const struct transposes *t, int64_t rounds)
{
    int64_t count = rounds <= 0 ? 0 : rounds * t->per_pass / t->pace;

    return count < t->all ? count : t->all;
}

/* A square's results are in the FIFO from its last push on; in a round pops come first. */
static bool fits_fifo(const struct dot_step *s, const struct transposes *t, int64_t count)
{
    int64_t together = t->groups * t->units;

    for (int64_t i = 0; i < count; i++) {
        int64_t within = i % together, unit = within % t->units;
        int64_t results = (i / together + 1) * t->groups;

        if (within / t->units == t->groups - 1 &&
            results - of_unit(t, reached(t, pushed_at(t, i) + 1 - t->pop_delay), unit)
                > s->chip->xlu_fifo_depth)
            return false;
    }
    return true;
}

/* cycles that a unit takes for a square */
static int64_t busy_cycles(const struct dot_step *s, const struct transposes *t)
{
    int64_t busy = t->groups * chip_xpose_issue_cycles(s->chip, (int)type_of(s));

    return busy > s->chip->xlu_xpose_gap_cycles ? busy : s->chip->xlu_xpose_gap_cycles;
}

/* cycles from one square of a unit to its next */
static int64_t spread_cycles(const struct dot_step *s, const struct transposes *t)
{
    return t->groups * t->units * t->pace * dot_round_cycles(s) / t->per_pass;
}

static int64_t pop_delay_of(const struct dot_step *s, const struct transposes *t)
{
    int64_t busy = busy_cycles(s, t), spread = spread_cycles(s, t);

    return div_up((busy > spread ? busy : spread) + s->chip->xlu_xpose_cycles, dot_round_cycles(s))
           + 1;
}

static struct transposes transposes_of(const struct dot_step *s, int64_t squares, int halves)
{
    struct transposes t = {.groups = TILE / matrix_rows(s->lhs_type),
                           .units = (int)s->chip->xlu_count};

    if (squares * halves % t.units)
        t.units = 1;
    t.per_pass = squares * halves * t.groups;
    t.all = div_up(s->depth_tiles, halves) * t.per_pass;
    for (t.pace = s->rounds; t.pace <= PACE_MAX * s->rounds; t.pace++) {
        t.pop_delay = pop_delay_of(s, &t);
        if (spread_cycles(s, &t) >= busy_cycles(s, &t) && fits_fifo(s, &t, t.per_pass))
            break;
    }
    return t;
}

/* a tile's places; the pass, and its round, that reads what it becomes */
struct place { int64_t from, to; int unit; int64_t pass, round, group; };

/*
 * tile number `i` of those transposed beside passes: units take squares in turn, of a side all
 * that a pass needs before the next
 */
static struct place place_of(const struct dot_code *d, const struct transposes *t, int64_t i)
{
    const struct dot_step *s = d->s;
    const struct dot_transpose *transpose = &s->transpose;
    int64_t together = t->groups * t->units, within = i % together;
    int64_t square = i / together * t->units + within % t->units, group = within / t->units;
    int64_t each = transpose->squares * d->halves, pass = transpose->passes_before + square / each;
    int64_t side = square % each / d->halves, depth = pass * d->halves + square % d->halves;

    return (struct place){.from = transpose->from.row + depth * transpose->from.depth_step +
                                  side * transpose->from.side_step + group * transpose->group_step,
                          .to = depth * s->lhs.depth_step + side * transpose->to_square_step +
                                group * transpose->to_group_step,
                          .unit = (int)(within % t->units),
                          .pass = pass,
                          .round = (side * t->groups + group) * matrix_rows(s->lhs_type) /
                                   s->group_rows % s->rounds,    /* units may share the rows */
                          .group = group};
}

/* the round beside which tile number `i` is popped */
static int64_t popped_at(const struct transposes *t, int64_t i)
{
    return t->pop_delay + pushed_at(t, i);
}

/* whether each tile is stored in a round before the one that reads it */
static bool are_in_time(const struct dot_code *d, const struct transposes *t)
{
    int64_t all = (d->passes - d->s->transpose.passes_before) * t->per_pass;

    for (int64_t i = 0; i < all; i++) {
        struct place p = place_of(d, t, i);

        if (popped_at(t, i) >= p.pass * d->s->rounds + p.round)
            return false;
    }
    return true;
}

int dot_transpose_passes(const struct dot_step *s, int64_t squares)
{
    struct dot_step transposing = *s;
    struct dot_code *d;
    struct transposes t;
    struct arena a;
    struct err e;
    int64_t passes = 0;

    transposing.transpose = (struct dot_transpose){.passes_before = 1, .squares = squares};
    arena_init(&a);
    d = arena_alloc(&a, sizeof(*d));
    if (dot_code_init(d, &transposing, &a, &e) == 0 && d->span > 1 && d->s->lhs_row_tiles == 0) {
        t = transposes_of(s, squares, d->halves);
        while (transposing.transpose.passes_before <= div_up(t.pop_delay, s->rounds) &&
               !are_in_time(d, &t))
            transposing.transpose.passes_before++;
        passes = transposing.transpose.passes_before;
        if (!are_in_time(d, &t) || !fits_fifo(s, &t, t.all))
            passes = 0;
        if (passes >= d->passes || d->last_is_half || t.pace > PACE_MAX * s->rounds)
            passes = 0;
    }
    arena_fini(&a);
    return (int)passes;
}

/* where the transposed operand is new */
static int put(struct dot_code *d, int not_before, struct isa_op op)
{
    return bundler_add_after(&d->b, not_before, isa_if(d->s->transpose.is_new, op));
}

/* when the FIFO has room for the square whose last tile is number `i` */
static int room_at(const struct dot_code *d, const struct transposes *t, int64_t i, int not_before)
{
    int64_t together = t->groups * t->units, results = (i / together + 1) * t->groups;
    int64_t last = results - d->chip->xlu_fifo_depth - 1;       /* of the unit, to be popped before */
    int at;

    if (last < 0)
        return not_before;
    at = d->trf_popped_at[last / t->groups * together + last % t->groups * t->units + i % t->units];
    return at >= not_before ? at + 1 : not_before;
}

static void push(struct dot_code *d, const struct transposes *t, int64_t i, int not_before)
{
    struct place p = place_of(d, t, i);
    int base = d->s->transpose.from.base, v = d->v_transpose;
    struct isa_op transposed = isa_vxpose_cont(p.unit, v, TILE, type_of(d->s));

    transposed.code = p.group == 0               ? OP_VXPOSE_START
                  : p.group == t->groups - 1 ? OP_VXPOSE_END
                                             : OP_VXPOSE_CONT;

    if (base < 0) {                     /* the rows' own place is known */
        base = S_LHS_PASS;
        p.from -= d->s->lhs.row;
    }
    if (p.group == t->groups - 1)
        not_before = room_at(d, t, i, not_before);
    put(d, not_before, isa_vld(v, isa_rows_at(R(base), p.from)));
    put(d, not_before, transposed);
}

static void pop(struct dot_code *d, const struct transposes *t, int64_t i, int not_before)
{
    struct place p = place_of(d, t, i);
    int v = d->v_transpose + 1 + (int)(i % (DOT_TRANSPOSE_REGISTERS - 1)), at;

    d->trf_popped_at[i] = put(d, not_before, isa_vpop_trf(p.unit, v));
    at = put(d, not_before, isa_vst(isa_rows_at(R(S_LHS_PASS), p.to), v));
    if (at > d->transposed_at[p.pass * d->s->rounds + p.round])
        d->transposed_at[p.pass * d->s->rounds + p.round] = at;
}

void dot_put_transposes(struct dot_code *d, int64_t round)
{
    const struct dot_step *s = d->s;
    struct transposes t = transposes_of(s, s->transpose.squares, d->halves);
    int before = d->rounds.pushed_at[round];

    t.all = (d->passes - s->transpose.passes_before) * t.per_pass;
    for (int64_t i = reached(&t, round - t.pop_delay);
         i < reached(&t, round + 1 - t.pop_delay); i++)
        pop(d, &t, i, before);
    for (int64_t i = reached(&t, round); i < reached(&t, round + 1); i++)
        push(d, &t, i, before);
}
