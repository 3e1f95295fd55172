/*
 * A round: rows of the left operand into the units, results of earlier rows
 * out of them, added to their sums or handed to the epilogue.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "stack/kernels/dot/kernel_dot_impl.h"

int64_t dot_span_rounds(const struct dot_code *d)
{
    return d->span * d->s->rounds;
}

bool dot_ends_column(const struct dot_code *d, int64_t pass)
{
    return pass % d->passes == d->passes - 1;
}

void dot_begin(struct dot_code *d, const char *note, int ii)
{
    rounds_open(&d->rounds, note, ii);
    d->from_rows = 0;
    d->paced_from = d->paced_next = 0;
    for (int64_t i = 0; i < d->span_columns * d->passes * d->s->rounds; i++)
        d->transposed_at[i] = -1;
    for (int64_t i = 0; i < d->trf_count; i++)
        d->trf_popped_at[i] = -1;
    for (int64_t i = 0; i < d->s->rounds; i++)
        for (int r = 0; r < DOT_RESULTS_MAX; r++)
            d->touched_at[i][r] = d->stored_at[i][r] = -1;
}

static int later_of(int a, int b) { return a > b ? a : b; }

/* ----- operations of a round */

/*
 * In a loop, an operation of a later stage works on an earlier round than its
 * pointer's; and so does one that stands behind the pointer's advance.
 */
static void correct_offset(struct dot_code *d, int base, int operand, int64_t step)
{
    const struct bundler_placed *placed = &d->b.placed[d->b.placed_count - 1];
    int64_t rounds = rounds_stage(&d->rounds) + (placed->at > d->advanced_at[base]);

    if (d->b.ii && !d->b.is_too_long)
        bundler_last(&d->b)->operand[operand].value -= (int32_t)(rounds * step);
}

static int put_load(struct dot_code *d, int to, int base, int64_t offset, int64_t step, int pred,
                    int not_before)
{
    int at = rounds_put(&d->rounds, not_before, isa_if(pred, isa_vld(to, isa_rows_at(R(base), offset))));

    if (at >= 0)
        correct_offset(d, base, 2, step);
    return at;
}

static int put_store(struct dot_code *d, int from, int base, int64_t offset, int64_t step,
                     int not_before)
{
    int at = rounds_put(&d->rounds, not_before, isa_vst(isa_rows_at(R(base), offset), from));

    if (at >= 0)
        correct_offset(d, base, 1, step);
    return at;
}

/* ----- rows in */

static struct isa_op multiply(const struct dot_code *d, int unit, int from, int64_t round,
                              bool latches, bool has_prep, int part)
{
    enum matrix_type type = d->unpacks_rows ? MATRIX_F32 : d->s->lhs_type;
    int64_t groups = matrix_rows(type) / 8, per_round = d->s->group_rows / 8;
    int accumulator = (int)(round % d->s->rounds * per_round + part * groups);

    return d->has_accumulators
               ? isa_vmatmul_acc(unit, from, has_prep, (int)type, latches, 0, accumulator)
               : isa_vmatmul(unit, from, has_prep, (int)type, latches, 0);
}

/*
 * Left-hand rows into a unit; of a wide array the prep register takes the upper
 * half of k first, right before: from then on the array waits for the rest.
 */
static int put_multiply(struct dot_code *d, const struct isa_op *rows, int upper, int not_before)
{
    struct isa_op prep =
        isa_vmatprep_mubr(rows->unit_index, upper, rows->operand[1 + MULTIPLY_TYPE].value);

    return upper < 0 ? rounds_put(&d->rounds, not_before, *rows)
                     : rounds_put_pair(&d->rounds, not_before, &prep, rows);
}

/*
 * Weights go into units while their arrays have the round before: rows of the next round in the same
 * bundle would wait for the array, and the weights with them, and then the other unit for this one.
 */
static int behind_weights(const struct dot_code *d)
{
    int last = -1;

    for (int u = 0; u < d->s->units && !d->b.ii && dot_units_keep_pace(d); u++)
        last = later_of(last, d->b.last_push[0][u]);
    return last + 1;
}

/*
 * The time from which a round may be pushed: its accumulators are empty; or the
 * FIFO has room, and the pops keep pace, lest the array idle behind the last
 * push. And all units have had the round before: a bundle that waits for one
 * unit must hold nothing that the other could have had long ago.
 */
static int room_at(const struct dot_code *d, int64_t round)
{
    int64_t depth = d->chip->mxu_fifo_depth / (d->s->group_rows / 8 * d->halves);
    int64_t popping = round + d->pop_delay - depth;

    if (d->has_accumulators)
        popping = round;
    else if (popping < round - 2)
        popping = round - 2;
    return later_of(rounds_room_at(&d->rounds, round, popping), behind_weights(d));
}

static int next_lhs(struct dot_code *d)
{
    int count = d->unpacks_rows ? 3 : 1, v = d->v_lhs + d->next_lhs * count;

    d->next_lhs = (d->next_lhs + 1) % d->lhs_count;
    return v;
}

/* the time from which rows of a round, transposed in this section, stand in memory */
static int transposed_at(const struct dot_code *d, int64_t round)
{
    int64_t columns = d->s->transpose.span_columns ? d->span_columns : 1;  /* else all have those rows */

    return d->b.ii ? 0 : d->transposed_at[round % (columns * d->passes * d->s->rounds)] + 1;
}

/* one tile of rows, lower and upper half of k, to units first..end-1 */
static int push_tile(struct dot_code *d, int64_t round, int tile, int64_t offset, int64_t step,
                     int base, bool is_last, int first, int end, int not_before)
{
    const struct dot_step *s = d->s;
    int upper = -1, lower, last = -1, there = transposed_at(d, round);
    int room = later_of(room_at(d, round), not_before);
    bool latches = round % s->rounds == 0 && tile == 0 && !d->b.ii;

    lower = next_lhs(d);
    put_load(d, lower, base, offset, step, ISA_PRED_ALWAYS, there);
    if (d->halves > 1 && !(is_last && d->last_is_half)) {
        upper = next_lhs(d);
        put_load(d, upper, base, offset + s->lhs.depth_step, step, ISA_PRED_ALWAYS, there);
    }
    if (is_last && d->v_lane_bits >= 0 && s->lhs_depth) {
        int v = upper >= 0 ? upper : lower;

        rounds_put(&d->rounds, 0, isa_vand_u32(v, R(v), R(d->v_lane_bits)));
    }
    if (d->unpacks_rows) {
        rounds_put(&d->rounds, 0, isa_vunpack_c_l(lower + 1, R(lower)));
        rounds_put(&d->rounds, 0, isa_vunpack_c_h(lower + 2, R(lower)));
    }
    for (int part = 0; part < (d->unpacks_rows ? 2 : 1); part++)
        for (int unit = first; unit < end; unit++) {
            int from = d->unpacks_rows ? lower + 1 + part : lower;
            struct isa_op rows = multiply(d, unit, from, round, latches && part == 0, upper >= 0,
                                          d->unpacks_rows ? part : tile);
            int at;

            if (d->unit_tiles[unit] == 0)
                continue;
            if (d->unpacks_rows)
                rows.operand[1 + MULTIPLY_CHOICES].value += (int32_t)tile * 2;
            at = put_multiply(d, &rows, upper, room);
            last = at > last ? at : last;
        }
    return last;
}

/* rows of the last round that the left operand does not have: its last tile stands for them */
static int64_t tiles_beyond(const struct dot_code *d, int64_t round, int tile)
{
    int64_t beyond = round % d->s->rounds * d->lhs_tiles + tile + 1 - d->s->lhs_row_tiles;

    return d->s->lhs_row_tiles && !d->b.ii && beyond > 0 ? beyond : 0;
}

void dot_push_round(struct dot_code *d, int64_t round, bool in_loop, bool is_last)
{
    const struct dot_step *s = d->s;
    int64_t step = d->lhs_tiles * s->lhs.side_step, pass = round / s->rounds;
    int64_t deep = d->halves * s->lhs.depth_step;       /* of a pass of a unit */
    int64_t offset = (round % s->rounds - d->from_rows) * step
                     + pass % d->passes * d->splits * deep
                     + pass / d->passes * s->lhs_column_step;
    int sets = s->by_rows ? s->units : d->splits, units = s->units / sets;
    /* where results are what takes long, a push that waited would hold up what is computed of them */
    int apart = d->splits > 1 ? (int)dot_round_cycles(s) / d->lhs_tiles : 0;
    int pushed_at[DOT_UNITS_MAX], last = -1;

    for (int tile = 0; tile < d->lhs_tiles; tile++)
        for (int set = 0; set < sets; set++) {
            int64_t row = offset + (tile - tiles_beyond(d, round, tile)) * s->lhs.side_step
                          + set * (s->by_rows ? s->lhs_unit_step : deep);
            bool is_end = is_last && (s->by_rows || set == sets - 1);
            int at = push_tile(d, round, tile, row, step, in_loop ? S_LHS : S_LHS_PASS, is_end,
                               set * units, (set + 1) * units, tile ? pushed_at[set] + apart : 0);

            pushed_at[set] = at;
            last = at > last ? at : last;
        }
    if (!d->b.ii)
        d->rounds.pushed_at[round] = last;
}

/* ----- results out */

/*
 * Results are popped behind the push of their round, `pop_delay` rounds after their own: any
 * earlier, and what stands behind the pop would wait with it for the unit.
 */
static int result_at(const struct dot_code *d, int64_t round)
{
    if (d->has_accumulators || d->b.ii)
        return 0;
    /* of a round whose rows go in later, in the loop: the one before it */
    while (round > 0 && d->rounds.pushed_at[round] < 0)
        round--;
    return d->rounds.pushed_at[round] >= 0 ? d->rounds.pushed_at[round] : 0;
}

/* what is computed of a round's results, for each set of its rows and tile of the column */
static int chains_of(const struct dot_code *d)
{
    return (d->s->epilogue ? d->s->epilogue->sets : 1) * d->s->width;
}

static int chain_of(const struct dot_code *d, const struct dot_result *r)
{
    int parts = d->s->group_rows / 8, sets = d->s->epilogue ? d->s->epilogue->sets : 1;

    return r->part / (parts / sets) * d->s->width + r->tile;
}

/*
 * In a loop what is computed of the tiles of a round begins one tile after the other, evenly over
 * the II: begun all at once, the last ones would wait for slots with all of their registers. Where
 * units share passes, rounds are long, and it does so in straight code.
 */
static int start_of(const struct dot_code *d, int unit, int chain)
{
    int units = d->s->by_rows ? d->s->units : 1, chains = chains_of(d);
    int64_t rounds = d->chip->mxu_fifo_depth / (d->s->group_rows / 8 * d->halves);
    int64_t all = d->b.ii ? d->b.ii : d->splits > 1 ? d->s->epilogue_cycles : 0;

    /* only where it is long; and a round's results stay in the FIFO for up to one round more */
    if (!dot_epilogue_is_slow(d->s) || (!d->has_accumulators && d->pop_delay + 2 > rounds))
        return 0;
    return d->paced_from + (int)all * ((units > 1 ? unit : 0) * chains + chain) / (units * chains);
}

/* a result leaves its unit as late as those behind it can wait */
static int pop_at(const struct dot_code *d, int i)
{
    int at = INT_MAX;

    for (int k = i; k < d->result_count; k++) {
        const struct dot_result *r = &d->result[k];
        int start = r->unit == d->result[i].unit && r->tile >= 0
                        ? start_of(d, r->unit, chain_of(d, r)) : INT_MAX;

        at = start < at ? start : at;
    }
    return at == INT_MAX ? 0 : at;
}

static int put_pop(struct dot_code *d, const struct dot_result *r, int to, int64_t round,
                   int64_t rows, int not_before)
{
    bool is_integer = matrix_is_integer(d->s->lhs_type);
    int accumulator = (int)(rows * (d->s->group_rows / 8)) + r->part;

    return rounds_put(&d->rounds, later_of(not_before, result_at(d, round)),
                        d->has_accumulators ? isa_vpop_mrb(r->unit, to, is_integer, accumulator)
                                            : isa_vpop_mrf(r->unit, to, is_integer));
}

static int64_t sum_offset(const struct dot_code *d, int64_t rows, const struct dot_place *at)
{
    return (rows - at->round) * d->s->group_rows + at->columns * d->s->sum_column_step;
}

/* the sum of a result into register `to`: what stood in VMEM, or zero */
static void put_sum(struct dot_code *d, int i, int popped, int64_t rows,
                    const struct dot_results *how, const struct dot_place *at)
{
    enum isa_opcode add = matrix_is_integer(d->s->lhs_type) ? OP_VADD_S32 : OP_VADD_F32;
    int64_t offset = sum_offset(d, rows, at) + d->result[i].row;
    int sum, when;

    if (how->source == SOURCE_ZERO) {
        rounds_put(&d->rounds, 0, isa_make_d_vv(add, popped, R(popped), I(0)));
        return;
    }
    sum = d->v_sum + i % d->sum_count;
    if (how->source == SOURCE_GUARDED)
        rounds_put(&d->rounds, 0, isa_vmov(sum, I(0)));
    when = put_load(d, sum, at->is_loop ? S_SUM : S_SUM_COLUMN, offset, d->s->group_rows,
                    how->source == SOURCE_GUARDED ? how->guard : ISA_PRED_ALWAYS,
                    d->b.ii ? 0 : d->stored_at[rows][i] + 1);
    if (!d->b.ii)
        d->touched_at[rows][i] = later_of(when, d->touched_at[rows][i]);
    rounds_put(&d->rounds, 0, isa_make_d_vv(add, popped, R(sum), R(popped)));
}

/* what another part of the units has for the same result, of a later pass */
static void add_to(struct dot_code *d, int i, int popped)
{
    enum isa_opcode add = matrix_is_integer(d->s->lhs_type) ? OP_VADD_S32 : OP_VADD_F32;
    int sum = d->result[i].popped;

    rounds_put(&d->rounds, 0, isa_make_d_vv(add, sum, R(sum), R(popped)));
}

static void store_sum(struct dot_code *d, int i, int64_t rows, const struct dot_place *at)
{
    int popped = d->result[i].popped;
    int64_t offset = sum_offset(d, rows, at) + d->result[i].row;
    int when = put_store(d, popped, at->is_loop ? S_SUM : S_SUM_COLUMN, offset,
                         d->s->group_rows, d->b.ii ? 0 : d->touched_at[rows][i] + 1);

    if (!d->b.ii)
        d->touched_at[rows][i] = d->stored_at[rows][i] =
            later_of(when, d->touched_at[rows][i]);
}

/* an operation of the epilogue, its addresses set to this round's place */
static void put_epilogue_op(struct dot_code *d, const struct isa_op *from, int64_t rows,
                            const struct dot_place *at, int not_before)
{
    const struct isa_info *info = isa_info((enum isa_opcode)from->code);
    struct isa_op op = *from;
    int base = info->slot == SLOT_LOAD ? 1 : info->slot == SLOT_STORE ? 0 : -1, pointer;
    const struct dot_pointer *p;

    if (base < 0) {
        rounds_put(&d->rounds, not_before, op);
        return;
    }
    pointer = op.operand[base].value - S_OUT;
    p = &d->s->epilogue->pointer[pointer];
    op.operand[base].value = (at->is_loop ? S_OUT : S_OUT_COLUMN) + pointer;
    op.operand[base + 1].value += (int32_t)((rows - at->round) * p->round_step
                                            + at->columns * p->column_step);
    if (rounds_put(&d->rounds, not_before, op) >= 0)
        correct_offset(d, (at->is_loop ? S_OUT : S_OUT_COLUMN) + pointer, base + 1, p->round_step);
}

static void put_epilogue(struct dot_code *d, int64_t rows, const struct dot_place *at)
{
    const struct dot_epilogue *e = d->s->epilogue;
    int all = d->s->by_rows ? d->s->units : 1;

    for (int i = 0; i < all * e->op_count; i++) {
        int op = i % e->op_count, chain = chains_of(d) - 1, start;

        while (chain > 0 && e->first_op[chain] > op)
            chain--;
        start = start_of(d, i / e->op_count, chain);
        if (d->b.ii && e->is_late[op])
            start = later_of(start, d->b.last_eup_push);
        if (d->b.ii || rows < d->s->rounds - 1 || !e->is_edge[op])
            put_epilogue_op(d, &d->epilogue[i], rows, at, start);
    }
}

void dot_pop_round(struct dot_code *d, int64_t round, int64_t rows,
                   const struct dot_results *how, const struct dot_place *at)
{
    int last = 0;

    if (how->use == USE_NONE)
        return;
    if (!d->b.ii && how->use == USE_EPILOGUE && d->splits > 1) {
        d->paced_from = later_of(d->paced_next, result_at(d, round));
        d->paced_next = d->paced_from + (int)d->s->epilogue_cycles;
    }
    for (int i = 0; i < d->result_count; i++) {
        const struct dot_result *r = &d->result[i];
        int popped = r->popped;

        last = put_pop(d, r, popped, round, rows, how->use == USE_EPILOGUE ? pop_at(d, i) : 0);
        if (r->tile < 0)
            continue;
        if (r->into < 0)
            put_sum(d, i, popped, rows, how, at);
        else
            add_to(d, r->into, popped);
        if (how->use == USE_SUM && r->is_whole)
            store_sum(d, r->into < 0 ? i : r->into, rows, at);
    }
    if (how->use == USE_EPILOGUE)
        put_epilogue(d, rows, at);
    if (!d->b.ii)
        d->rounds.popped_at[round] = last;
}
