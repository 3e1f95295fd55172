/*
 * Squares of a left operand, contracted along its rows, through the cross-lane
 * units beside the passes of a step's first column. Rounds of a pass transpose what
 * a later one needs, as many tiles each; results are popped so many rounds
 * later that nothing waits for them.
 */
#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

#define TILE 128

struct transposes {
    int64_t groups;                     /* tiles of a square */
    int64_t per_pass, all;              /* tiles that a pass needs; beside passes */
    int64_t pop_delay;                  /* rounds from a push to its pop */
    int units;                          /* that take squares in turn */
};

static enum isa_vxpose_cont_x0 type_of(const struct dot_step *s)
{
    int rows = matrix_rows(s->lhs_type);

    return rows == 8 ? VXPOSE_CONT_B32 : rows == 16 ? VXPOSE_CONT_B16 : VXPOSE_CONT_B8;
}

static struct transposes transposes_of(const struct dot_step *s, int64_t squares, int halves)
{
    const struct chip *chip = s->chip;
    struct transposes t = {.groups = TILE / matrix_rows(s->lhs_type),
                           .units = (int)chip->xlu_count};
    int64_t busy, spread;

    if (squares * halves % t.units)
        t.units = 1;
    t.per_pass = squares * halves * t.groups;
    busy = t.groups * chip_xpose_issue_cycles(chip, (int)type_of(s));
    if (busy < chip->xlu_xpose_gap_cycles)
        busy = chip->xlu_xpose_gap_cycles;
    spread = t.groups * t.units * s->rounds * dot_round_cycles(s) / t.per_pass;
    t.pop_delay =
        div_up((busy > spread ? busy : spread) + chip->xlu_xpose_cycles, dot_round_cycles(s)) + 1;
    return t;
}

int dot_transpose_passes(const struct dot_step *s, int64_t squares)
{
    struct dot_step transposing = *s;
    struct dot_code *d;
    struct transposes t;
    struct arena a;
    struct err e;
    int64_t passes = 0;

    transposing.transpose.passes_before = 1;
    arena_init(&a);
    d = arena_alloc(&a, sizeof(*d));
    if (dot_code_init(d, &transposing, &a, &e) == 0 && d->span > 1 && d->s->lhs_row_tiles == 0) {
        t = transposes_of(s, squares, d->halves);
        passes = 1 + div_up(t.pop_delay, s->rounds);
        if (passes >= d->passes || d->last_is_half
            || (t.pop_delay + 1) * div_up(t.per_pass, s->rounds) + t.groups * t.units
                   > s->chip->xlu_fifo_depth * t.units)
            passes = 0;
    }
    arena_fini(&a);
    return (int)passes;
}

struct place { int64_t from, to; int unit; int64_t pass, group; };

/* tile number `i` of those transposed beside passes: units take squares in turn */
static struct place place_of(const struct dot_code *d, const struct transposes *t, int64_t i)
{
    const struct dot_transpose *transpose = &d->s->transpose;
    int64_t together = t->groups * t->units, within = i % together;
    int64_t square = i / together * t->units + within % t->units, group = within / t->units;
    int64_t depth = transpose->passes_before * d->halves + square / transpose->squares;
    int64_t side = square % transpose->squares;

    return (struct place){.from = transpose->from.row + depth * transpose->from.depth_step +
                                  side * transpose->from.side_step + group * transpose->group_step,
                          .to = depth * d->s->lhs.depth_step + side * transpose->to_square_step +
                                group * transpose->to_group_step,
                          .unit = (int)(within % t->units),
                          .pass = depth / d->halves,
                          .group = group};
}

/* where the transposed operand is new */
static int put(struct dot_code *d, int not_before, struct isa_op op)
{
    return bundler_add_after(&d->b, not_before, isa_if(d->s->transpose.is_new, op));
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
    put(d, not_before, isa_vld(v, isa_rows_at(R(base), p.from)));
    put(d, not_before, transposed);
}

static void pop(struct dot_code *d, const struct transposes *t, int64_t i, int not_before)
{
    struct place p = place_of(d, t, i);
    int v = d->v_transpose + 1 + (int)(i % (DOT_TRANSPOSE_REGISTERS - 1)), at;

    put(d, not_before, isa_vpop_trf(p.unit, v));
    at = put(d, not_before, isa_vst(isa_rows_at(R(S_LHS_PASS), p.to), v));
    if (at > d->transposed_at[p.pass])
        d->transposed_at[p.pass] = at;
}

/* tiles behind which work is when `rounds` of them are done */
static int64_t reached(const struct transposes *t, int64_t per_pass_rounds, int64_t rounds)
{
    int64_t count = rounds <= 0 ? 0 : rounds * t->per_pass / per_pass_rounds;

    return count < t->all ? count : t->all;
}

void dot_put_transposes(struct dot_code *d, int64_t round)
{
    const struct dot_step *s = d->s;
    struct transposes t = transposes_of(s, s->transpose.squares, d->halves);
    int before = d->rounds.pushed_at[round];

    t.all = (d->passes - s->transpose.passes_before) * t.per_pass;
    for (int64_t i = reached(&t, s->rounds, round - t.pop_delay);
         i < reached(&t, s->rounds, round + 1 - t.pop_delay); i++)
        pop(d, &t, i, before);
    for (int64_t i = reached(&t, s->rounds, round); i < reached(&t, s->rounds, round + 1); i++)
        push(d, &t, i, before);
}
