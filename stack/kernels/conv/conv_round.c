/*
 * A round of a pass: a group of rows into every unit, the results of another
 * out of them; and the loop of rounds, which is software-pipelined as in
 * stack/kernels/dot/kernel_dot_round.c. Rows are walked over pixels and batch by an odometer in
 * the loop's scalar slots; so a round's rows are loaded in the bundles in which
 * the pointer stands at them. Sums lie in the order of the rounds.
 */
#include <assert.h>
#include <string.h>

#include "stack/kernels/conv/conv_passes.h"

#define WEIGHT_REGISTERS 8
#define II_MAX 400

/* ----- registers */

static bool unpacks(const struct conv_plan *p) { return p->is_lhs_bf16 && !p->is_packed; }
static int pushes(const struct conv_plan *p) { return unpacks(p) ? p->subs : p->parts; }

static int v_rows(const struct conv_plan *p, int row, int slot, int part)
{
    return (row * p->slots + slot) * p->parts + part;
}

static int v_unpacked(const struct conv_plan *p, int row, int part)
{
    return p->unit_rows * p->slots * p->parts + row * 2 + part;
}

static int v_popped(const struct conv_plan *p, int result)
{
    return p->unit_rows * (p->slots * p->parts + (unpacks(p) ? 2 : 0)) + result;
}

static int results(const struct conv_plan *p)
{
    return p->subs * p->halves * p->unit_columns * p->unit_rows;
}

static int v_sum(const struct conv_plan *p, int result)
{
    return v_popped(p, results(p)) + result;
}

int conv_v_weights(const struct conv_plan *p) { return v_sum(p, results(p)); }

int conv_vector_registers(const struct conv_plan *p)
{
    return conv_v_weights(p) + WEIGHT_REGISTERS;
}

/* ----- where rows and sums lie */

/* VMEM rows from a pass's first rows to those of a round */
int64_t conv_rows_offset(const struct conv_plan *p, int64_t round)
{
    int64_t tiles = 0;

    for (int i = 0; i < WALK_LEVELS; i++) {
        tiles += round % p->walk[i].count * p->walk[i].stride;
        round /= p->walk[i].count;
    }
    return tiles * CONV_TILE_ROWS;
}

int64_t conv_round_sums(const struct conv_plan *p) { return p->subs * CONV_TILE_ROWS; }

int64_t conv_phase_sums(const struct conv_plan *p)
{
    return p->unit_rows * p->rounds * conv_round_sums(p);
}

int64_t conv_column_sums(const struct conv_plan *p) { return p->phase_count * conv_phase_sums(p); }

/* ----- a round */

/* in a loop, an operation of a later stage works on an earlier round than the pointer's */
static void correct_offset(struct conv_gen *g, int operand)
{
    if (g->b.ii && !g->b.is_too_long)
        bundler_last(&g->b)->operand[operand].value -=
            (int32_t)(rounds_stage(&g->rounds) * conv_round_sums(g->p));
}

static void load_sum(struct conv_gen *g, int to, int base, int64_t offset, int pred)
{
    if (rounds_put(&g->rounds, 0, isa_if(pred, isa_vld(to, isa_rows_at(R(base), offset)))) >= 0)
        correct_offset(g, 2);
}

static void store_sum(struct conv_gen *g, int from, int base, int64_t offset)
{
    if (rounds_put(&g->rounds, 0, isa_vst(isa_rows_at(R(base), offset), from)) >= 0)
        correct_offset(g, 1);
}

/* rows must be loaded in the round that the pointer stands at */
static void load_rows(struct conv_gen *g, int to, int base, int64_t offset)
{
    int64_t stride = g->p->shape.is_pixels ? g->p->shape.width_stride : 1;
    int at = rounds_put(&g->rounds, 0, isa_vld(to, isa_rows_apart(R(base), offset, (int)stride)));

    if (g->b.ii && at >= g->b.ii)
        g->b.is_too_long = true;
}

static enum matrix_type rows_type(const struct conv_plan *p)
{
    return p->is_lhs_bf16 && p->is_packed ? MATRIX_BF16 : MATRIX_F32;
}

static struct isa_op multiply(const struct conv_gen *g, int unit, int v, bool latches,
                              int accumulator)
{
    const struct conv_plan *p = g->p;
    int prep = (int)p->slots - 1, type = (int)rows_type(p), mask = CONV_MASK_OF_SLOT;

    if (p->has_accumulators)
        return g->has_masks
                   ? isa_vmatmul_acc_msk(unit, mask, v, prep, type, latches, 0, accumulator)
                   : isa_vmatmul_acc(unit, v, prep, type, latches, 0, accumulator);
    return g->has_masks ? isa_vmatmul_msk(unit, mask, v, prep, type, latches, 0)
                        : isa_vmatmul(unit, v, prep, type, latches, 0);
}

/* rows into a unit; of a wide array the prep register takes the upper half of k right before */
static int put_multiply(struct conv_gen *g, const struct isa_op *rows, int upper, int not_before)
{
    int type = (int)rows_type(g->p), unit = rows->unit_index;
    struct isa_op prep = g->has_masks
                             ? isa_vmatprep_mubr_msk(unit, CONV_MASK_OF_SLOT + 1, upper, type)
                             : isa_vmatprep_mubr(unit, upper, type);

    return g->p->slots == 1 ? rounds_put(&g->rounds, not_before, *rows)
                            : rounds_put_pair(&g->rounds, not_before, &prep, rows);
}

/*
 * The time from which a round may be pushed: its accumulators are empty; or the
 * FIFO has room, and the pops keep pace. And all units have had the round before.
 */
static int room_at(const struct conv_gen *g, int64_t round)
{
    const struct conv_plan *p = g->p;
    int64_t depth = g->chip->mxu_fifo_depth / (p->subs * p->halves);
    int64_t popping = p->has_accumulators ? round : round + g->pop_delay * p->delay - depth;

    if (!p->has_accumulators && popping < round - 2)
        popping = round - 2;
    return rounds_room_at(&g->rounds, round, popping);
}

static void load_round(struct conv_gen *g, int base, int64_t offset)
{
    const struct conv_plan *p = g->p;
    int64_t part_stride = p->shape.is_pixels            ? p->shape.width_stride
                          : p->shape.mode == CONV_TRANSPOSED || p->is_dense
                              ? 1 : p->window[WINDOW_LHS].pitch[BOX_ROWS];

    for (int part = 0; part < p->parts; part++)     /* in the order of the pushes */
        for (int row = 0; row < p->unit_rows; row++)
            for (int slot = 0; slot < p->slots; slot++)
                load_rows(g, v_rows(p, row, slot, part), base,
                          offset + CONV_TILE_ROWS * (row * p->split_stride + slot * p->slot_stride +
                                                part * part_stride));
    for (int row = 0; row < p->unit_rows && unpacks(p); row++) {
        rounds_put(&g->rounds, 0, isa_vunpack_c_l(v_unpacked(p, row, 0), R(v_rows(p, row, 0, 0))));
        rounds_put(&g->rounds, 0, isa_vunpack_c_h(v_unpacked(p, row, 1), R(v_rows(p, row, 0, 0))));
    }
}

/* rows of `round`, whose first is `offset` behind `base` */
void conv_push_round(struct conv_gen *g, int64_t round, int base, int64_t offset, bool latches)
{
    const struct conv_plan *p = g->p;
    int room = room_at(g, round), last = -1;
    int rows_per_push = p->subs / pushes(p);

    load_round(g, base, offset);
    for (int part = 0; part < pushes(p); part++)
        for (int unit = 0; unit < p->unit_rows * p->unit_columns; unit++) {
            int row = unit / p->unit_columns;
            int v = unpacks(p) ? v_unpacked(p, row, part) : v_rows(p, row, 0, part);
            struct isa_op rows = multiply(g, unit, v, latches && part == 0,
                                          (int)(round % g->ring) * p->subs + part * rows_per_push);
            int at = put_multiply(g, &rows, p->slots > 1 ? v_rows(p, row, 1, part) : 0, room);

            last = at > last ? at : last;
        }
    if (!g->b.ii)
        g->rounds.pushed_at[round] = last;
}

static int result_at(const struct conv_gen *g, int64_t round)
{
    bool is_own = !g->p->has_accumulators && round >= g->pop_delay && !g->b.ii;

    return is_own ? g->rounds.pushed_at[round - g->pop_delay] + 1 : 0;
}

static int put_pop(struct conv_gen *g, int unit, int to, int64_t round, int sub)
{
    int accumulator = (int)((round % g->ring) * g->p->subs) + sub;

    return rounds_put(&g->rounds, result_at(g, round),
                        g->p->has_accumulators ? isa_vpop_mrb(unit, to, 0, accumulator)
                                               : isa_vpop_mrf(unit, to, 0));
}

/* what round `round` finds ready, to the sums `offset` behind `base` */
void conv_pop_round(struct conv_gen *g, int64_t round, int base, int64_t offset, int pred)
{
    const struct conv_plan *p = g->p;
    int result = 0, at = 0;

    for (int sub = 0; sub < p->subs; sub++)
        for (int half = 0; half < p->halves; half++)
            for (int unit = 0; unit < p->unit_rows * p->unit_columns; unit++, result++) {
                int row = unit / p->unit_columns, column = unit % p->unit_columns;
                int64_t to = offset + (column * p->halves + half) * conv_column_sums(p) +
                             row * p->rounds * conv_round_sums(p) + sub * CONV_TILE_ROWS;
                int popped = v_popped(p, result), sum = v_sum(p, result);

                at = put_pop(g, unit, popped, round, sub);
                load_sum(g, sum, base, to, pred);
                rounds_put(&g->rounds, 0, isa_vadd_f32(popped, R(sum), R(popped)));
                store_sum(g, popped, base, to);
            }
    if (!g->b.ii)
        g->rounds.popped_at[round] = at;
}

void conv_clear_sums(struct conv_gen *g, int pred)
{
    for (int result = 0; result < results(g->p); result++)
        bundler_add(&g->b, isa_unless(pred, isa_vmov(v_sum(g->p, result), I(0))));
}

/* ----- the walk of the loop, `unit` rounds at a time */

/* levels whose strides go on from one to the next are one; a level of one is none */
void conv_odometer_of(const struct conv_plan *p, struct odometer *o)
{
    o->levels = 0;
    for (int i = 0; i < WALK_LEVELS; i++) {
        struct conv_walk *last = o->levels ? &o->level[o->levels - 1] : NULL;

        if (p->walk[i].count == 1)
            continue;
        if (last && last->count * last->stride == p->walk[i].stride)
            last->count *= p->walk[i].count;
        else
            o->level[o->levels++] = p->walk[i];
    }
    if (o->levels == 0)
        o->level[o->levels++] = (struct conv_walk){1, 0};
}

/* groups of `unit` rounds, which must divide the levels; false where they do not */
bool conv_odometer_group(struct odometer *o, int64_t unit)
{
    int from = 0;

    while (from < o->levels - 1 && unit >= o->level[from].count &&
           unit % o->level[from].count == 0)
        unit /= o->level[from++].count;
    if (o->level[from].count % unit)
        return false;
    o->level[from].count /= unit;
    o->level[from].stride *= unit;
    o->levels -= from;
    memmove(o->level, o->level + from, (size_t)o->levels * sizeof(*o->level));
    return true;
}

static void note_late(struct conv_gen *g, int at)
{
    if (g->b.ii && at >= g->b.ii)
        g->b.is_too_long = true;
}

/* the pointer to the next rounds; in a pipelined loop all of it within the II */
void conv_put_odometer(struct conv_gen *g, const struct odometer *o)
{
    int last = o->levels - 1;

    note_late(
        g, bundler_add(&g->b, isa_sadd(S_ROWS, R(S_ROWS), I(o->level[0].stride * CONV_TILE_ROWS))));
    for (int i = 0; i < last; i++) {
        int64_t jump = o->level[i + 1].stride - o->level[i].count * o->level[i].stride;
        int pred = P_WALK0 + i, left = S_WALK0 + i, at;

        if (i == 0)
            note_late(g, bundler_add(&g->b, isa_ssub(left, R(left), I(1))));
        else
            note_late(g, bundler_add(&g->b, isa_if(pred - 1, isa_ssub(left, R(left), I(1)))));
        note_late(g, bundler_add(&g->b, isa_scmp_eq(pred, R(left), I(0))));
        note_late(g, bundler_add(&g->b, isa_if(pred, isa_sadd(S_ROWS, R(S_ROWS),
                                                              I(jump * CONV_TILE_ROWS)))));
        at = bundler_add(&g->b, isa_if(pred, isa_smov(left, I(o->level[i].count))));
        note_late(g, at);
    }
}

/* counters as they are when `done` groups of rounds have gone */
void conv_set_odometer(struct conv_gen *g, const struct odometer *o, int64_t done)
{
    for (int i = 0; i < o->levels - 1; i++) {
        bundler_add(&g->b, isa_smov(S_WALK0 + i, I(o->level[i].count - done % o->level[i].count)));
        done /= o->level[i].count;
    }
}

/* ----- the loop */

static bool put_loop_control(struct conv_gen *g)
{
    int last = g->b.ii - 1;

    bundler_add_at(&g->b, last, isa_sadd(S_RESULT, R(S_RESULT), I(conv_round_sums(g->p))));
    bundler_add_at(&g->b, 0, isa_ssub(S_LOOP, R(S_LOOP), I(1)));
    bundler_add_at(&g->b, 1, isa_scmp_gt(P_LOOP, R(S_LOOP), I(0)));
    return 1 < last - (int)g->chip->core_branch_delay_bundles;
}

/* takes the slot that the branch will have */
static void keep_branch_slot(struct conv_gen *g)
{
    int at = g->b.ii - 1 - (int)g->chip->core_branch_delay_bundles;

    g->b.row[at][SLOT_SCALAR]++;
}

void conv_end_loop(struct conv_gen *g, int label)
{
    int at = g->b.ii - 1 - (int)g->chip->core_branch_delay_bundles;

    g->b.row[at][SLOT_SCALAR]--;
    bundler_end_branch(&g->b, label, P_LOOP, false);
}

/* the body; true when the compare comes before the branch and counts this round */
bool conv_put_loop(struct conv_gen *g)
{
    struct odometer o;
    bool is_counted;

    conv_odometer_of(g->p, &o);
    rounds_open(&g->rounds, "loop", g->ii);
    is_counted = put_loop_control(g);
    keep_branch_slot(g);
    rounds_begin_whole(&g->rounds);
    conv_push_round(g, 0, S_ROWS, 0, false);
    conv_put_odometer(g, &o);
    conv_pop_round(g, 0, S_RESULT, 0, P_ADD);
    return is_counted;
}

/* the least II at which no value is overwritten before its last use */
static void choose_ii(struct conv_gen *g)
{
    int least = (int)g->chip->core_branch_delay_bundles + 1;

    for (g->ii = least < 3 ? 3 : least; g->ii < II_MAX; g->ii++) {
        conv_put_loop(g);
        bundler_drop(&g->b);
        if (!g->b.is_too_long)
            break;
    }
    rounds_count_stages(&g->rounds);
}

/* accumulators: the rounds of the body, as many as cover the latency if they divide all rounds */
static void choose_ring(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    int64_t most = g->chip->mxu_accumulators / p->subs, ring = p->pop_delay;
    struct odometer o;

    for (int64_t want = p->pop_delay; want <= most && want <= p->rounds; want++) {
        conv_odometer_of(p, &o);
        if (p->rounds % want == 0 && conv_odometer_group(&o, want)) {
            ring = want;
            break;
        }
    }
    for (; ring > 1; ring--) {
        conv_odometer_of(p, &o);
        if (p->rounds % ring == 0 && conv_odometer_group(&o, ring))
            break;
    }
    g->ring = g->pop_delay = g->straight = ring;
    g->loops = p->rounds / ring - 1;
}

void conv_passes_init(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;

    rounds_init(&g->rounds, &g->b,
                16 + 4 * results(p) + 4 * p->unit_rows * p->slots * (p->parts + 2) +
                    2 * p->units * p->subs, p->rounds + 1, g->a);
    g->straight = p->rounds;
    g->loops = 0;
    g->ring = 1;
    g->pop_delay = p->pop_delay;
    if (p->has_accumulators) {
        choose_ring(g);
        return;
    }
    choose_ii(g);
    if (g->ii < II_MAX && p->rounds - p->pop_delay >= g->rounds.stages) {
        g->straight = p->pop_delay;
        g->loops = p->rounds - p->pop_delay - (g->rounds.stages - 1);
    }
}
