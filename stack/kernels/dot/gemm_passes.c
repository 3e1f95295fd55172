/*
 * A pass: one tile of weights per matrix unit, all rows of a block through
 * them. Round r pushes 16 rows and pops what round r - lag pushed: the first
 * `lag` rounds of a pass, straight code, pop the end of the pass before, and
 * load the weights of the next one; the rest is a loop.
 *
 * With accumulators all rounds are straight, because their numbers stand in
 * the operations, and only a pass with the first tile of a chunk pops: what
 * all passes before it have summed.
 */
#include <assert.h>
#include <string.h>

#include "isa/matrix.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/gemm_impl.h"

#define ROUND_ROWS 8                    /* VMEM rows of a packed tile of 16 rows */
#define RESULT_ROWS 16                  /* and of its results */
#define V_ROWS 0                        /* left-hand tiles; unpacked: 2 and 3 */
#define V_HALVES 2
#define V_POPPED GEMM_V_POPPED

static int v_sum(const struct gemm *g, int result) { return V_POPPED + g->results + result; }
static int v_weights(const struct gemm *g) { return V_POPPED + 2 * g->results; }

static enum matrix_type type_of(const struct gemm *g)
{
    return g->p->is_packed ? MATRIX_BF16 : MATRIX_F32;
}

/* ----- a round */

/* operation `ordinal` of the round is of a stage that is not left out */
static bool is_wanted(const struct gemm *g, int ordinal)
{
    return g->stage[ordinal] >= g->first_stage && g->stage[ordinal] < g->end_stage;
}

/* Places the operation unless its stage is left out; returns its time, or -1. */
static int put_round_op(struct gemm *g, int not_before, struct isa_op op)
{
    int ordinal = g->ordinal++, at;

    assert(ordinal < GEMM_ROUND_OPS_MAX);
    if (!is_wanted(g, ordinal))
        return -1;
    at = bundler_add_after(&g->b, not_before, op);
    if (g->b.ii)
        g->stage[ordinal] = at / g->b.ii;
    return at;
}

/* in a loop, an operation of a later stage works on an earlier round than the pointer's */
static void correct_offset(struct gemm *g, int operand, int step)
{
    if (g->b.ii && !g->b.is_too_long)
        bundler_last(&g->b)->operand[operand].value -= g->stage[g->ordinal - 1] * step;
}

static void put_load(struct gemm *g, int to, int base, int64_t offset, int step, int pred)
{
    if (put_round_op(g, 0, isa_if(pred, isa_vld(to, isa_rows_at(R(base), offset)))) >= 0)
        correct_offset(g, 2, step);
}

static void put_store(struct gemm *g, int from, int base, int64_t offset, int step)
{
    if (put_round_op(g, 0, isa_vst(isa_rows_at(R(base), offset), from)) >= 0)
        correct_offset(g, 1, step);
}

static struct isa_op multiply(const struct gemm *g, int unit, int from, int64_t round,
                              bool latches)
{
    int prep = (int)g->p->halves - 1, type = (int)type_of(g);

    return g->p->has_accumulators
               ? isa_vmatmul_acc(unit, from, prep, type, latches, 0, (int)(2 * round))
               : isa_vmatmul(unit, from, prep, type, latches, 0);
}

/*
 * Left-hand rows into a unit; of a wide array the prep register takes the upper
 * half of k first, right before: from then on the array waits for the rest.
 */
static int put_multiply(struct gemm *g, const struct isa_op *rows, int not_before)
{
    struct isa_op prep = isa_vmatprep_mubr(rows->unit_index, V_ROWS + 1, MATRIX_BF16);
    int first = g->ordinal, at;

    if (g->p->halves == 1)
        return put_round_op(g, not_before, *rows);
    if (!is_wanted(g, first) || !is_wanted(g, first + 1)) {
        put_round_op(g, not_before, prep);
        return put_round_op(g, not_before, *rows);
    }
    at = bundler_put_pair(&g->b, &prep, rows, not_before);
    if (g->b.ii) {
        g->stage[first] = at / g->b.ii;
        g->stage[first + 1] = (at + 1) / g->b.ii;
    }
    g->ordinal += 2;
    return at + 1;
}

/*
 * The time from which a round may be pushed: its accumulators are empty; or the
 * FIFO has room, and the pops keep pace, lest the array idle behind the last
 * push. And all units have had the round before: a bundle that waits for one
 * unit must hold nothing that the other could have had long ago.
 */
static int room_at(const struct gemm *g, int64_t round)
{
    int64_t depth = g->chip->mxu_fifo_depth / (2 * g->p->halves);
    int64_t popping = round + g->p->lag - depth;
    int at = 0;

    if (g->b.ii)
        return 0;
    if (g->p->has_accumulators)
        popping = round;
    else if (popping < round - 2)
        popping = round - 2;
    if (popping >= 0 && popping <= round)
        at = g->popped_at[popping] + 1;
    if (round > 0 && g->pushed_at[round - 1] >= at)
        at = g->pushed_at[round - 1] + 1;
    return at;
}

static void push_round(struct gemm *g, int64_t round)
{
    const struct gemm_plan *p = g->p;
    int64_t offset = (round - g->from_rows) * ROUND_ROWS;
    int room = room_at(g, round), last = -1;

    for (int half = 0; half < p->halves; half++)
        put_load(g, V_ROWS + half, S_ROWS, offset + half * p->block_rows / 2, ROUND_ROWS,
                 ISA_PRED_ALWAYS);
    if (!p->is_packed) {
        put_round_op(g, 0, isa_vunpack_c_l(V_HALVES, R(V_ROWS)));
        put_round_op(g, 0, isa_vunpack_c_h(V_HALVES + 1, R(V_ROWS)));
    }
    for (int part = 0; part < (p->is_packed ? 1 : 2); part++)
        for (int unit = 0; unit < p->units; unit++) {
            struct isa_op rows = multiply(g, unit, p->is_packed ? V_ROWS : V_HALVES + part, round,
                                          round == 0 && part == 0 && !g->b.ii);
            int at = put_multiply(g, &rows, room);

            last = at > last ? at : last;
        }
    if (!g->b.ii)
        g->pushed_at[round] = last;
}

/* not before the push whose result it is, where that is in this section */
static int result_at(const struct gemm *g, int64_t round)
{
    bool is_own = !g->p->has_accumulators && round >= g->p->lag && !g->b.ii;

    return is_own ? g->pushed_at[round - g->p->lag] + 1 : 0;
}

static int put_pop(struct gemm *g, int unit, int to, int64_t round, int group)
{
    return put_round_op(g, result_at(g, round),
                        g->p->has_accumulators ? isa_vpop_mrb(unit, to, 0, (int)(2 * round) + group)
                                               : isa_vpop_mrf(unit, to, 0));
}

/* results of round `round` - lag; they lie `first` rounds behind the base register */
static void pop_round(struct gemm *g, int64_t round, int base, int64_t first, int pred)
{
    const struct gemm_plan *p = g->p;
    int64_t offset = (round + first) * RESULT_ROWS;
    int result = 0, at = 0;

    for (int group = 0; group < 2; group++)
        for (int half = 0; half < p->halves; half++)
            for (int unit = 0; unit < p->units; unit++, result++) {
                int64_t row = offset + (unit * p->halves + half) * p->block_rows + 8 * group;
                int popped = V_POPPED + result, sum = v_sum(g, result);

                at = put_pop(g, unit, popped, round, group);
                put_load(g, sum, base, row, RESULT_ROWS, pred);
                put_round_op(g, 0, isa_vadd_f32(popped, R(sum), R(popped)));
                put_store(g, popped, base, row, RESULT_ROWS);
            }
    if (!g->b.ii)
        g->popped_at[round] = at;
}

/* the sums of a first pass are added to zeros */
static void clear_sums(struct gemm *g, int pred)
{
    for (int result = 0; result < g->results; result++)
        bundler_add(&g->b, isa_unless(pred, isa_vmov(v_sum(g, result), I(0))));
}

/* ----- weights of the next pass */

#define WEIGHT_REGISTERS 9              /* sets of them take turns */

/* one push into a unit's staging register each */
int64_t gemm_weight_items(const struct gemm *g)
{
    return g->p->units * (g->p->is_packed ? g->p->array / 16 : 16);
}

static void load_weights(struct gemm *g, int to, int column_tile, int64_t group)
{
    int64_t row = (column_tile * g->p->chunk_depth / 16 + group) * 8;

    bundler_add(&g->b, isa_vld(to, isa_rows_at(R(S_WEIGHTS), row)));
}

static void push_weights(struct gemm *g, int unit, int from)
{
    bundler_add(&g->b, isa_vmatpush(unit, from, (int)g->p->halves - 1, (int)type_of(g), 0, 0));
}

/* f32: an item is half of a packed tile, the upper half first; units take turns */
static void unpacked_item(struct gemm *g, int64_t item)
{
    int64_t units = g->p->units, group = 7 - item / (2 * units), part = item / units % 2;
    int unit = (int)(item % units);
    int set = v_weights(g) + (int)((item / (2 * units) * units + unit) % 3) * 3;

    if (units > 3)                      /* too few sets: unpack for each half anew */
        set = v_weights(g) + (int)(item % 3) * 3;
    if (part == 0 || units > 3) {
        load_weights(g, set, unit, group);
        bundler_add(&g->b, isa_vunpack_c_l(set + 1, R(set)));
        bundler_add(&g->b, isa_vunpack_c_h(set + 2, R(set)));
    }
    push_weights(g, unit, part == 0 ? set + 2 : set + 1);
}

static void packed_item(struct gemm *g, int64_t item)
{
    const struct gemm_plan *p = g->p;
    int64_t group = p->array / 16 - 1 - item / p->units;
    int unit = (int)(item % p->units), v = v_weights(g) + (int)(item % 4) * 2;

    load_weights(g, v, unit * p->halves, group);
    if (p->halves > 1) {
        load_weights(g, v + 1, unit * p->halves + 1, group);
        bundler_add(&g->b, isa_vmatprep_subr(unit, v + 1, MATRIX_BF16));
    }
    push_weights(g, unit, v);
}

void gemm_put_weights(struct gemm *g, int64_t first, int64_t end)
{
    for (int64_t item = first; item < end; item++)
        if (g->p->is_packed)
            packed_item(g, item);
        else
            unpacked_item(g, item);
}

/* to the pass behind the one whose weights were loaded: the next k, or the next columns */
void gemm_advance_weights(struct gemm *g)
{
    const struct gemm_plan *p = g->p;
    int64_t column_tiles = p->units * p->halves;

    bundler_add(&g->b, isa_sadd(S_WEIGHTS, R(S_WEIGHTS), I(p->array / 2)));
    bundler_add(&g->b, isa_ssub(S_WEIGHT_TILES, R(S_WEIGHT_TILES), I(1)));
    bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_WEIGHT_TILES), I(0)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_sadd(S_WEIGHTS, R(S_WEIGHTS),
                                               I((column_tiles - 1) * p->chunk_depth / 2))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_WEIGHT_TILES, I(p->depth_tiles))));
}

/* ----- the loop */

static void every_stage(struct gemm *g)
{
    memset(g->stage, 0, sizeof(g->stage));
    g->first_stage = 0;
    g->end_stage = INT32_MAX;
}

static void begin(struct gemm *g, const char *note, int ii)
{
    bundler_begin(&g->b, note, ii);
    g->from_rows = 0;
    for (int i = 0; i < GEMM_ROUNDS_MAX; i++)
        g->pushed_at[i] = g->popped_at[i] = -1;
}

static void put_round(struct gemm *g, int64_t round, int base, int64_t first, int pred, bool pops)
{
    g->ordinal = 0;
    push_round(g, round);
    if (pops)
        pop_round(g, round, base, first, pred);
}

/* pointers and the counter at fixed places of the body, so that offsets are known */
static bool put_loop_control(struct gemm *g)
{
    int last = g->b.ii - 1;

    bundler_add_at(&g->b, last, isa_sadd(S_ROWS, R(S_ROWS), I(ROUND_ROWS)));
    bundler_add_at(&g->b, last, isa_sadd(S_RESULT, R(S_RESULT), I(RESULT_ROWS)));
    bundler_add_at(&g->b, 0, isa_ssub(S_LOOP, R(S_LOOP), I(1)));
    bundler_add_at(&g->b, 1, isa_scmp_gt(P_LOOP, R(S_LOOP), I(0)));
    return 1 < last - (int)g->chip->core_branch_delay_bundles;
}

/* the body; true when the compare comes before the branch and counts this round */
static bool put_loop(struct gemm *g)
{
    bool is_counted;

    every_stage(g);
    begin(g, "loop", g->ii);
    is_counted = put_loop_control(g);
    put_round(g, 0, S_RESULT, 0, P_ADD, true);
    return is_counted;
}

/* the least II at which no value is overwritten before its last use */
static void choose_ii(struct gemm *g)
{
    int least = (int)g->chip->core_branch_delay_bundles + 1;

    for (g->ii = least < 3 ? 3 : least;; g->ii++) {
        put_loop(g);
        bundler_drop(&g->b);
        if (!g->b.is_too_long)
            break;
    }
    g->stages = 1;
    for (int i = 0; i < g->ordinal; i++)
        if (g->stage[i] >= g->stages)
            g->stages = g->stage[i] + 1;
}

void gemm_prepare_passes(struct gemm *g)
{
    const struct gemm_plan *p = g->p;

    g->results = 2 * p->halves * p->units;
    g->straight = p->rounds;
    g->loops = 0;
    every_stage(g);
    /* the body's last bundle advances two pointers, so that the branch must stand before it */
    if (p->has_accumulators || g->chip->core_branch_delay_bundles < 1 ||
        g->chip->slots_scalar < 2)
        return;
    choose_ii(g);
    if (p->rounds - p->lag >= g->stages) {
        g->straight = p->lag;
        g->loops = p->rounds - p->lag - (g->stages - 1);
    }
}

/* operations of stages first..end-1 of a round of the loop, before or behind it */
static void put_part(struct gemm *g, int64_t round, int first, int end, bool is_behind)
{
    int64_t at = is_behind ? g->p->rounds : 0;

    g->first_stage = first;
    g->end_stage = end;
    g->from_rows = at;
    put_round(g, round, is_behind ? S_RESULT : S_BLOCK_RESULT,
              is_behind ? -g->p->rounds : -g->p->lag, P_ADD, true);
}

/* ----- passes */

/* what the rounds before the loop need beside themselves: weights, a share per round */
static void put_straight_rounds(struct gemm *g, bool pops_last, bool pops_own)
{
    const struct gemm_plan *p = g->p;
    int64_t items = gemm_weight_items(g), rounds = g->straight;

    for (int64_t round = 0; round < rounds; round++) {
        bool is_last = round < p->lag;

        if (p->has_accumulators && pops_last) {     /* they must be empty first */
            g->ordinal = 0;
            pop_round(g, round, S_LAST_RESULT, 0, P_LAST_ADD);
            push_round(g, round);
        } else {
            if (round == p->lag)
                clear_sums(g, P_ADD);
            put_round(g, round, is_last ? S_LAST_RESULT : S_BLOCK_RESULT,
                      is_last ? p->rounds - p->lag : -p->lag, is_last ? P_LAST_ADD : P_ADD,
                      is_last ? pops_last : pops_own);
        }
        gemm_put_weights(g, items * round / rounds, items * (round + 1) / rounds);
    }
}

static void enter_loop(struct gemm *g, bool is_counted)
{
    int64_t ahead = g->straight + g->stages - 1;

    for (int64_t round = g->straight; round < ahead; round++)
        put_part(g, round, 0, (int)(ahead - round), false);
    bundler_add(&g->b, isa_sadd(S_RESULT, R(S_BLOCK_RESULT), I((ahead - g->p->lag) * 16)));
    bundler_add(&g->b, isa_sadd(S_ROWS, R(S_ROWS), I(ahead * ROUND_ROWS)));
    bundler_add(&g->b, isa_smov(S_LOOP, I(is_counted ? g->loops : g->loops - 1)));
    if (!is_counted)
        bundler_add(&g->b, isa_pmov(P_LOOP, I(g->loops > 1)));
}

/* the rounds of a pass before its loop, and into it */
static void straight_code(struct gemm *g, const char *note, bool pops_last)
{
    int stage[GEMM_ROUND_OPS_MAX];

    memcpy(stage, g->stage, sizeof(stage));
    every_stage(g);
    begin(g, note, 0);
    if (g->p->has_accumulators && pops_last)
        clear_sums(g, P_LAST_ADD);
    put_straight_rounds(g, pops_last, !g->p->has_accumulators);
    memcpy(g->stage, stage, sizeof(stage));
    if (!g->p->has_accumulators && g->straight == g->p->lag)
        clear_sums(g, P_ADD);
    if (g->loops)
        enter_loop(g, 1 < g->ii - 1 - (int)g->chip->core_branch_delay_bundles);
    else
        bundler_add(&g->b, isa_sadd(S_ROWS, R(S_ROWS), I(g->p->rounds * ROUND_ROWS)));
    gemm_advance_weights(g);
}

static void loop_code(struct gemm *g)
{
    bundler_label(&g->b, LABEL_LOOP, "loop");
    put_loop(g);
    bundler_end_branch(&g->b, LABEL_LOOP, P_LOOP, false);
}

/* what the last rounds of the loop have left */
static void leave_loop(struct gemm *g)
{
    for (int64_t round = g->straight + g->loops; round < g->p->rounds; round++) {
        int first = (int)(g->straight + g->loops + g->stages - 1 - round);

        put_part(g, round, first, INT32_MAX, true);
    }
    g->first_stage = 0;
    g->end_stage = INT32_MAX;
}

/* pointers for the next pass: the next k of these rows, or the first k for the next columns */
static void advance_pass(struct gemm *g)
{
    const struct gemm_plan *p = g->p;

    bundler_add(&g->b, isa_ssub(S_TILES, R(S_TILES), I(1)));
    bundler_add(&g->b, isa_scmp_eq(P_WRAP, R(S_TILES), I(0)));
    if (p->halves > 1)
        bundler_add(&g->b, isa_sadd(S_ROWS, R(S_ROWS), I(p->block_rows / 2)));
    bundler_add(&g->b, isa_if(P_WRAP, isa_smov(S_ROWS, R(S_A))));
    bundler_add(&g->b, isa_if(P_WRAP, isa_smov(S_TILES, I(p->depth_tiles))));
    if (p->has_accumulators) {
        bundler_add(&g->b, isa_if(P_WRAP, isa_smov(S_LAST_RESULT, R(S_BLOCK_RESULT))));
        bundler_add(&g->b, isa_if(P_WRAP, isa_pmov(P_LAST_ADD, R(P_LATER))));
    } else {
        bundler_add(&g->b, isa_smov(S_LAST_RESULT, R(S_BLOCK_RESULT)));
        bundler_add(&g->b, isa_pmov(P_LAST_ADD, R(P_ADD)));
        bundler_add(&g->b, isa_pneg(P_TEMP, P_WRAP));
        bundler_add(&g->b, isa_por(P_ADD, P_TEMP, P_LATER));
    }
    bundler_add(&g->b, isa_if(P_WRAP, isa_sadd(S_BLOCK_RESULT, R(S_BLOCK_RESULT),
                                               I(p->units * p->halves * p->block_rows))));
    bundler_add(&g->b, isa_ssub(S_PASSES, R(S_PASSES), I(1)));
    bundler_add(&g->b, isa_scmp_gt(P_NEXT, R(S_PASSES), I(0)));
}

/* with accumulators: passes that only add, and those that pop what was summed before */
static void accumulating_passes(struct gemm *g)
{
    bundler_label(&g->b, LABEL_ADD_PASS, "add_pass");
    straight_code(g, "pass", false);
    bundler_end_branch(&g->b, LABEL_PASS_END, ISA_PRED_ALWAYS, false);
    bundler_label(&g->b, LABEL_PASS, "pop_pass");
    straight_code(g, "pass with results", true);
    bundler_end(&g->b);
    bundler_label(&g->b, LABEL_PASS_END, "pass_end");
    begin(g, "next pass", 0);
    advance_pass(g);
    bundler_add(&g->b, isa_pneg(P_TEMP, P_WRAP));
    bundler_add(&g->b, isa_pand(P_TEMP, P_TEMP, P_NEXT));
    bundler_end_branch(&g->b, LABEL_ADD_PASS, P_TEMP, false);
    begin(g, NULL, 0);
    bundler_end_branch(&g->b, LABEL_PASS, P_NEXT, false);
}

void gemm_passes(struct gemm *g)
{
    int after_first = g->loops ? LABEL_LOOP : LABEL_PASS_END;

    if (g->p->has_accumulators) {
        accumulating_passes(g);
        return;
    }
    bundler_label(&g->b, LABEL_FIRST, "first_pass");
    straight_code(g, "first pass", false);
    bundler_end_branch(&g->b, after_first, ISA_PRED_ALWAYS, false);
    bundler_label(&g->b, LABEL_PASS, "pass");
    straight_code(g, "pass", true);
    bundler_end(&g->b);
    if (g->loops)
        loop_code(g);
    bundler_label(&g->b, LABEL_PASS_END, "pass_end");
    begin(g, "next pass", 0);
    if (g->loops)
        leave_loop(g);
    advance_pass(g);
    bundler_end_branch(&g->b, LABEL_PASS, P_NEXT, false);
}

void gemm_drain(struct gemm *g)
{
    const struct gemm_plan *p = g->p;

    every_stage(g);
    begin(g, "drain", 0);
    if (p->has_accumulators)
        clear_sums(g, P_LAST_ADD);
    for (int64_t round = 0; round < p->lag; round++) {
        g->ordinal = 0;
        pop_round(g, round, S_LAST_RESULT, p->rounds - p->lag, P_LAST_ADD);
    }
    bundler_end(&g->b);
}
