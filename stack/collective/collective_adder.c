/*
 * VMEM[to] = VMEM[from] + VMEM[to]: a software-pipelined loop over rounds of
 * some tiles, and straight code for what is less than a round.
 *
 * The loop overlaps two rounds. Its times come from the bundler; the first
 * round's front and the last one's back stand as straight code around it, so
 * that nothing is loaded that is not added. Pointers go on somewhere in the
 * body; an operation behind that, or in the second of its rounds, has its
 * offset corrected.
 */
#include <assert.h>
#include <string.h>

#include "stack/collective/collective_code.h"

#define TILE_ROWS 8
#define TILES_MAX 8
#define OPS_MAX (TILES_MAX * 10)
#define TILE_REGISTERS 4
#define II_MAX 64

struct adder {
    struct bundler *b;
    enum collective_type type;
    int tiles, ii, delay;
    int op_count;
    struct isa_op op[OPS_MAX];          /* of a round */
    int at[OPS_MAX];
    int branch_at, count_at, again_at, from_at, to_at;  /* scalar operations, in the body */
    int scalars[II_MAX + 1];            /* of them, by bundle; the last is none */
};

static void add_op(struct adder *d, struct isa_op op)
{
    assert(d->op_count < OPS_MAX);
    d->op[d->op_count++] = op;
}

/* ----- one tile, in registers v.. */

static void sum_tile(struct adder *d, int v)
{
    if (d->type == COLLECTIVE_F32) {
        add_op(d, isa_vadd_f32(v, R(v), R(v + 1)));
        return;
    }
    if (d->b->chip->valu_bf16) {
        add_op(d, isa_varith_bf16(v, R(v), R(v + 1), VARITH_BF16_ADD));
        return;
    }
    for (int i = 0; i < 2; i++) {       /* low halves behind, high halves in place */
        add_op(d, isa_vunpack_i_bf16(v + 2 + i, R(v + i), VUNPACK_I_BF16_L));
        add_op(d, isa_vunpack_i_bf16(v + i, R(v + i), VUNPACK_I_BF16_H));
    }
    add_op(d, isa_vadd_f32(v + 2, R(v + 2), R(v + 3)));
    add_op(d, isa_vadd_f32(v, R(v), R(v + 1)));
    add_op(d, isa_vpack_i_bf16(v, R(v), R(v + 2)));
}

/* `rows` of them, at `offset` from the pointers */
static void add_tile(struct adder *d, int v, int offset, int rows)
{
    int mask = (1 << rows) - 1;

    add_op(d, isa_vld(v, isa_rows_some(R(S_FROM), offset, mask)));
    add_op(d, isa_vld(v + 1, isa_rows_some(R(S_TO), offset, mask)));
    sum_tile(d, v);
    add_op(d, isa_vst(isa_rows_some(R(S_TO), offset, mask), v));
}

/* ----- the loop */

/* a bundle of the body for a scalar operation, at `first` or behind; the II: none */
static int scalar_room(struct adder *d, int first, int step)
{
    int at = first;

    while (at >= 0 && at < d->ii && d->scalars[at] >= (int)d->b->chip->slots_scalar)
        at += step;
    if (at < 0 || at >= d->ii)
        return d->ii;
    d->scalars[at]++;
    return at;
}

static bool place_scalars(struct adder *d)
{
    memset(d->scalars, 0, sizeof(d->scalars));
    d->branch_at = d->ii - 1 - d->delay;
    d->scalars[d->branch_at]++;
    d->count_at = scalar_room(d, d->branch_at, 1);
    if (d->count_at >= d->ii - 1) {     /* no room for the compare behind it */
        d->scalars[d->count_at]--;
        d->count_at = scalar_room(d, 0, 1);
    }
    d->again_at = scalar_room(d, d->count_at + 1, 1);
    d->from_at = scalar_room(d, d->ii - 1, -1);
    d->to_at = scalar_room(d, d->ii - 1, -1);
    return d->count_at < d->ii && d->again_at < d->ii && d->from_at < d->ii
           && d->to_at < d->ii;
}

static void put_pointers(struct adder *d)
{
    int rows = d->tiles * TILE_ROWS;

    bundler_add_at(d->b, d->from_at, isa_sadd(S_FROM, R(S_FROM), I(rows)));
    bundler_add_at(d->b, d->to_at, isa_sadd(S_TO, R(S_TO), I(rows)));
}

/*
 * Rounds of the loop that are still to come when a round decides on a branch:
 * that of the next round if the branch is earlier in the body, as it mostly is.
 */
static int rounds_known(const struct adder *d)
{
    return d->again_at < d->branch_at ? 1 : 2;
}

static void put_loop_scalars(struct adder *d)
{
    bundler_add_at(d->b, d->branch_at, isa_if(P_AGAIN, isa_sbr(LABEL_ADD)));
    bundler_add_at(d->b, d->count_at, isa_sadd(S_COUNT, R(S_COUNT), I(-1)));
    bundler_add_at(d->b, d->again_at, isa_scmp_gt(P_AGAIN, R(S_COUNT), I(0)));
    put_pointers(d);
}

/* tries the II; the times of all operations, which overlap two rounds at most */
static bool find_times(struct adder *d)
{
    bool fits = place_scalars(d);

    if (!fits)
        return false;
    bundler_begin(d->b, NULL, d->ii);
    put_loop_scalars(d);
    for (int i = 0; i < d->op_count && fits; i++) {
        d->at[i] = bundler_add(d->b, d->op[i]);
        fits = !d->b->is_too_long && d->at[i] < 2 * d->ii;
    }
    bundler_drop(d->b);
    return fits;
}

static void make_round(struct adder *d, int tiles)
{
    d->tiles = tiles;
    d->op_count = 0;
    for (int i = 0; i < tiles; i++)
        add_tile(d, TILE_REGISTERS * i, TILE_ROWS * i, TILE_ROWS);
}

/* the shortest II for rounds of so many tiles; false: none */
static bool find_ii(struct adder *d, int tiles)
{
    if (TILE_REGISTERS * tiles > d->b->chip->core_vregs)
        return false;
    make_round(d, tiles);
    for (d->ii = d->delay + 1; d->ii <= II_MAX; d->ii++)
        if (find_times(d))
            return true;
    return false;
}

/* the operation with the offset that it needs at its time; `moves`: pointers go on in this body */
static struct isa_op corrected(const struct adder *d, int i, bool moves)
{
    struct isa_op op = d->op[i];
    int base = op.code == OP_VLD ? 1 : 0, row = d->at[i] % d->ii;
    int steps = d->at[i] / d->ii;

    if (op.code != OP_VLD && op.code != OP_VST)
        return op;
    steps += moves && row > (op.operand[base].value == S_FROM ? d->from_at : d->to_at);
    op.operand[base + 1].value -= steps * d->tiles * TILE_ROWS;
    return op;
}

/* operations of stages first..end - 1 into the open section */
static void put_stages(struct adder *d, int first, int end, bool moves)
{
    for (int i = 0; i < d->op_count; i++) {
        int stage = d->at[i] / d->ii;
        struct isa_op op = corrected(d, i, moves);

        if (stage >= first && stage < end)
            bundler_add_at(d->b, d->at[i] % d->ii, op);
    }
}

/* what is decided before the first round; an addition without rounds goes elsewhere */
static void put_setup(const struct adder *d)
{
    struct bundler *b = d->b;

    bundler_begin(b, "add", 0);
    bundler_add(b, isa_scmp_le(P_SLOW, R(S_C), I(0)));
    bundler_add(b, isa_sld(S_REST, R(S_ROW), I(4 * WORD_REST)));
    bundler_add(b, isa_sadd(S_COUNT, R(S_C), I(-rounds_known(d))));
    bundler_add(b, isa_scmp_le(P_ONCE, R(S_C), I(1)));
    bundler_add(b, isa_smov(S_FROM, R(S_A)));
    bundler_add(b, isa_smov(S_TO, R(S_B)));
    bundler_add_after(b, 0, isa_scmp_gt(P_AGAIN, R(S_COUNT), I(0)));
    bundler_end_branch(b, LABEL_SLOW, P_SLOW, false);
}

static void put_loop(struct adder *d)
{
    struct bundler *b = d->b;

    bundler_begin(b, NULL, 0);          /* the first round's front */
    put_pointers(d);
    bundler_add_at(d->b, d->branch_at, isa_if(P_ONCE, isa_sbr(LABEL_DRAIN)));
    put_stages(d, 0, 1, true);
    bundler_end(b);
    bundler_label(b, LABEL_ADD, "add");
    bundler_begin(b, "adding loop", d->ii);
    put_loop_scalars(d);
    put_stages(d, 0, 2, true);
    bundler_end(b);
    bundler_label(b, LABEL_DRAIN, "drain");
    bundler_begin(b, "add", 0);         /* the last one's back */
    bundler_add(b, isa_scmp_eq(P_WHOLE, R(S_REST), I(0)));
    put_stages(d, 1, 2, false);
    bundler_end_branch(b, LABEL_NEXT, P_WHOLE, false);
}

/* ----- what is less than a round: by the bits of its number of rows */

static void put_piece(struct adder *d, int rows, int guard)
{
    d->op_count = 0;
    for (int row = 0; row < rows; row += TILE_ROWS)
        add_tile(d, TILE_REGISTERS * (row / TILE_ROWS), row, rows < TILE_ROWS ? rows : TILE_ROWS);
    for (int i = 0; i < d->op_count; i++)
        bundler_add(d->b, isa_if(guard, d->op[i]));
    bundler_add(d->b, isa_if(guard, isa_sadd(S_FROM, R(S_FROM), I(rows))));
    bundler_add(d->b, isa_if(guard, isa_sadd(S_TO, R(S_TO), I(rows))));
}

static void put_rest(struct adder *d)
{
    int guard = P_REST, rows;

    bundler_label(d->b, LABEL_REST, "rest");
    bundler_begin(d->b, "add the rest", 0);
    for (rows = d->tiles * TILE_ROWS / 2; rows > 0; rows /= 2, guard++) {
        bundler_add(d->b, isa_sand(S_TEMP, R(S_REST), I(rows)));
        bundler_add(d->b, isa_scmp_ne(guard, R(S_TEMP), I(0)));
    }
    for (rows = d->tiles * TILE_ROWS / 2, guard = P_REST; rows > 0; rows /= 2, guard++)
        put_piece(d, rows, guard);
    bundler_end_branch(d->b, LABEL_NEXT, ISA_PRED_ALWAYS, false);
}

int collective_adder(struct bundler *b, enum collective_type type, struct collective_code *code)
{
    struct adder d = {.b = b, .type = type, .delay = b->limits.branch_delay_bundles};
    size_t from = b->bundle_count;
    struct collective_overheads *o = &code->costs;
    int four;

    if (!find_ii(&d, 4))
        return -1;
    four = d.ii;
    /* more tiles to a round where that is quicker: the body must hold a branch and its delay */
    if (!find_ii(&d, TILES_MAX) || d.ii >= 2 * four)
        find_ii(&d, 4);
    put_setup(&d);
    code->setup_cycles = collective_bundles_since(b, &from);
    put_loop(&d);
    o->op_cycles[COLLECTIVE_ADD] = code->setup_cycles + collective_bundles_since(b, &from)
                                   - 2 * d.ii;
    code->round_tiles = d.tiles;
    o->add_round_bytes = d.tiles * TILE_ROWS * 512;
    o->add_round_cycles = d.ii;
    put_rest(&d);
    o->add_rest_cycles = collective_bundles_since(b, &from);
    return 0;
}
