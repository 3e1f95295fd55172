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

static void add_op(struct adder *d, enum isa_opcode code, int count,
                   const struct isa_operand *operand)
{
    assert(d->op_count < OPS_MAX);
    d->op[d->op_count++] = bundler_op(code, 0, count, operand);
}
#define OP(d, code, ...) \
    add_op(d, code, (int)(sizeof((struct isa_operand[]){__VA_ARGS__}) \
                          / sizeof(struct isa_operand)), (struct isa_operand[]){__VA_ARGS__})

/* ----- one tile, in registers v.. */

static void sum_tile(struct adder *d, int v)
{
    if (d->type == COLLECTIVE_F32) {
        OP(d, OP_VADD_F32, REG(v), REG(v), REG(v + 1));
        return;
    }
    if (d->b->chip->valu_bf16) {
        OP(d, OP_VARITH_BF16, REG(v), REG(v), REG(v + 1), IMM(0));
        return;
    }
    for (int i = 0; i < 2; i++) {       /* low halves behind, high halves in place */
        OP(d, OP_VUNPACK_I_BF16, REG(v + 2 + i), REG(v + i), IMM(0));
        OP(d, OP_VUNPACK_I_BF16, REG(v + i), REG(v + i), IMM(1));
    }
    OP(d, OP_VADD_F32, REG(v + 2), REG(v + 2), REG(v + 3));
    OP(d, OP_VADD_F32, REG(v), REG(v), REG(v + 1));
    OP(d, OP_VPACK_I_BF16, REG(v), REG(v), REG(v + 2));
}

/* `rows` of them, at `offset` from the pointers */
static void add_tile(struct adder *d, int v, int offset, int rows)
{
    struct isa_operand mask = IMM((1 << rows) - 1);

    OP(d, OP_VLD, REG(v), REG(S_FROM), IMM(offset), IMM(1), mask);
    OP(d, OP_VLD, REG(v + 1), REG(S_TO), IMM(offset), IMM(1), mask);
    sum_tile(d, v);
    OP(d, OP_VST, REG(S_TO), IMM(offset), IMM(1), mask, REG(v));
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

static void put_scalar(struct adder *d, int guard, enum isa_opcode code, int count,
                       const struct isa_operand *operand, int at)
{
    struct isa_op op = bundler_op(code, 0, count, operand);

    op.pred = (uint8_t)guard;
    bundler_put_at(d->b, &op, at);
}
#define SCALAR(d, guard, at, code, ...) \
    put_scalar(d, guard, code, (int)(sizeof((struct isa_operand[]){__VA_ARGS__}) \
                                     / sizeof(struct isa_operand)), \
               (struct isa_operand[]){__VA_ARGS__}, at)

static void put_pointers(struct adder *d)
{
    int rows = d->tiles * TILE_ROWS;

    SCALAR(d, ISA_PRED_ALWAYS, d->from_at, OP_SADD, REG(S_FROM), REG(S_FROM), IMM(rows));
    SCALAR(d, ISA_PRED_ALWAYS, d->to_at, OP_SADD, REG(S_TO), REG(S_TO), IMM(rows));
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
    SCALAR(d, P_AGAIN, d->branch_at, OP_SBR, IMM(LABEL_ADD));
    SCALAR(d, ISA_PRED_ALWAYS, d->count_at, OP_SADD, REG(S_COUNT), REG(S_COUNT), IMM(-1));
    SCALAR(d, ISA_PRED_ALWAYS, d->again_at, OP_SCMP_GT, REG(P_AGAIN), REG(S_COUNT), IMM(0));
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
        d->at[i] = bundler_put(d->b, &d->op[i], 0);
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
            bundler_put_at(d->b, &op, d->at[i] % d->ii);
    }
}

/* what is decided before the first round; an addition without rounds goes elsewhere */
static void put_setup(const struct adder *d)
{
    struct bundler *b = d->b;

    bundler_begin(b, "add", 0);
    PUT(b, OP_SCMP_LE, REG(P_SLOW), REG(S_C), IMM(0));
    PUT(b, OP_SLD, REG(S_REST), REG(S_ROW), IMM(4 * WORD_REST));
    PUT(b, OP_SADD, REG(S_COUNT), REG(S_C), IMM(-rounds_known(d)));
    PUT(b, OP_SCMP_LE, REG(P_ONCE), REG(S_C), IMM(1));
    PUT(b, OP_SMOV, REG(S_FROM), REG(S_A));
    PUT(b, OP_SMOV, REG(S_TO), REG(S_B));
    PUT_AT_LEAST(b, ISA_PRED_ALWAYS, 0, OP_SCMP_GT, REG(P_AGAIN), REG(S_COUNT), IMM(0));
    bundler_end_branch(b, LABEL_SLOW, P_SLOW, false);
}

static void put_loop(struct adder *d)
{
    struct bundler *b = d->b;

    bundler_begin(b, NULL, 0);          /* the first round's front */
    put_pointers(d);
    SCALAR(d, P_ONCE, d->branch_at, OP_SBR, IMM(LABEL_DRAIN));
    put_stages(d, 0, 1, true);
    bundler_end(b);
    bundler_label(b, LABEL_ADD, "add");
    bundler_begin(b, "adding loop", d->ii);
    put_loop_scalars(d);
    put_stages(d, 0, 2, true);
    bundler_end(b);
    bundler_label(b, LABEL_DRAIN, "drain");
    bundler_begin(b, "add", 0);         /* the last one's back */
    PUT(b, OP_SCMP_EQ, REG(P_WHOLE), REG(S_REST), IMM(0));
    put_stages(d, 1, 2, false);
    bundler_end_branch(b, LABEL_NEXT, P_WHOLE, false);
}

/* ----- what is less than a round: by the bits of its number of rows */

static void put_piece(struct adder *d, int rows, int guard)
{
    d->op_count = 0;
    for (int row = 0; row < rows; row += TILE_ROWS)
        add_tile(d, TILE_REGISTERS * (row / TILE_ROWS), row, rows < TILE_ROWS ? rows : TILE_ROWS);
    for (int i = 0; i < d->op_count; i++) {
        d->op[i].pred = (uint8_t)guard;
        bundler_put(d->b, &d->op[i], 0);
    }
    PUT_IF(d->b, guard, OP_SADD, REG(S_FROM), REG(S_FROM), IMM(rows));
    PUT_IF(d->b, guard, OP_SADD, REG(S_TO), REG(S_TO), IMM(rows));
}

static void put_rest(struct adder *d)
{
    int guard = P_REST, rows;

    bundler_label(d->b, LABEL_REST, "rest");
    bundler_begin(d->b, "add the rest", 0);
    for (rows = d->tiles * TILE_ROWS / 2; rows > 0; rows /= 2, guard++) {
        PUT(d->b, OP_SAND, REG(S_TEMP), REG(S_REST), IMM(rows));
        PUT(d->b, OP_SCMP_NE, REG(guard), REG(S_TEMP), IMM(0));
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
