/*
 * What units, FIFOs and registers of a chip mean for a step: who takes which
 * tiles, in which order results come, how many rounds may be under way.
 */
#include <string.h>

#include "base/units.h"
#include "sim/limits.h"
#include "stack/kernel_dot_impl.h"

#define STRAIGHT_ROUNDS_MAX 1024        /* of a stretch without a loop */

int dot_halves(const struct chip *chip)
{
    return chip_mxu_halves(chip);
}

/* cycles that a round keeps a unit's array */
static int64_t round_cycles(const struct dot_step *s)
{
    enum matrix_type type = s->lhs_type;

    if (!chip_matmul_cycles(s->chip, type))
        type = MATRIX_F32;
    return chip_matmul_cycles(s->chip, type) * s->group_rows / matrix_rows(type);
}

static int64_t weight_cycles(const struct dot_step *s)
{
    enum matrix_type type = s->rhs_type;
    int64_t factor = s->is_rhs_transposed ? s->chip->mxu_push_xpose_factor : 1;

    if (!chip_push_cycles(s->chip, type))
        type = MATRIX_F32;
    return factor * chip_push_cycles(s->chip, type) * s->chip->mxu_size / matrix_rows(type);
}

/* ----- what the units and registers allow */

static void place_tiles(struct dot_code *d)
{
    const struct dot_step *s = d->s;
    int first = 0;

    for (int u = 0; u < s->units; u++) {
        int share = s->by_rows ? s->width : s->width / s->units + (u < s->width % s->units);

        d->unit_first[u] = s->by_rows ? 0 : first;
        d->unit_tiles[u] = share;
        first += share;
    }
}

/* in the order in which each unit gives them */
static void list_results(struct dot_code *d)
{
    const struct dot_step *s = d->s;

    d->column_rows = s->rounds * s->group_rows * (s->by_rows ? s->units : 1);
    for (int part = 0; part < s->group_rows / 8; part++)
        for (int half = 0; half < d->halves; half++)
            for (int u = 0; u < s->units; u++) {
                int tile = half < d->unit_tiles[u] ? d->unit_first[u] + half : -1;
                int64_t row = (tile < 0 ? 0 : tile) * d->column_rows + part * 8
                              + (s->by_rows ? u * s->rounds * s->group_rows : 0);

                if (d->unit_tiles[u] > 0)
                    d->result[d->result_count++] = (struct dot_result){u, part, tile, row};
            }
}

static int least(int a, int b) { return a < b ? a : b; }

static int give_registers(struct dot_code *d, struct err *e)
{
    int all = (int)d->chip->core_vregs, next = 0, wide = all > 32 ? 2 : 1;
    int lhs = d->lhs_tiles * d->halves * (d->s->by_rows ? d->s->units : 1);

    d->weight_set = d->unpacks_weights ? 3 : d->halves;
    d->weights_count = d->unpacks_weights ? 3 : 4;
    d->lhs_count = d->unpacks_rows ? least(lhs, 2) : least(lhs, 4 * wide);
    d->sum_count = least(d->result_count, 4 * wide);
    d->v_lhs = next;
    next += d->lhs_count * (d->unpacks_rows ? 3 : 1);
    d->v_sum = next;
    next += d->sum_count;
    d->v_weights = next;
    next += d->weights_count * d->weight_set;
    d->v_popped = next;
    d->popped_count = least(d->result_count, all - next);
    next += d->popped_count;
    d->v_pool = next;
    d->pool_count = all - next;
    if (d->popped_count < 1 || d->lhs_count < d->halves)
        return err_set(e, "a product needs more vector registers than the %d that the chip has",
                       all);
    return 0;
}

static void choose_lag(struct dot_code *d)
{
    int64_t most = d->chip->mxu_fifo_depth / (d->s->group_rows / 8 * d->halves) - 2;

    d->lag = div_up(d->chip->mxu_latency_cycles, round_cycles(d->s)) + 1;
    if (d->lag > most)
        d->lag = most > 1 ? most : 1;
    d->stretch = 1;
    if (d->has_accumulators) {
        d->lag = d->s->rounds;
        return;
    }
    if (d->s->rounds < d->lag && d->passes * d->s->rounds <= STRAIGHT_ROUNDS_MAX)
        d->stretch = d->passes;
    if (d->lag > dot_stretch_rounds(d))
        d->lag = dot_stretch_rounds(d);
}

int dot_code_init(struct dot_code *d, const struct dot_step *s, struct arena *a, struct err *e)
{
    int64_t rounds;

    memset(d, 0, sizeof(*d));
    d->s = s;
    d->chip = s->chip;
    d->halves = dot_halves(s->chip);
    d->passes = (int)div_up(s->depth_tiles, d->halves);
    d->last_is_half = s->depth_tiles % d->halves != 0;
    d->has_accumulators = s->chip->mxu_accumulators > 0;
    d->unpacks_rows = !chip_matmul_cycles(s->chip, s->lhs_type);
    d->unpacks_weights = !chip_push_cycles(s->chip, s->rhs_type);
    d->lhs_tiles = s->group_rows / matrix_rows(s->lhs_type);
    place_tiles(d);
    list_results(d);
    choose_lag(d);
    rounds = dot_stretch_rounds(d);
    d->pushed_at = arena_array(a, (size_t)rounds + 1, sizeof(int));
    d->popped_at = arena_array(a, (size_t)rounds + 1, sizeof(int));
    d->touched_at = arena_array(a, (size_t)s->rounds + 1, sizeof(*d->touched_at));
    d->stored_at = arena_array(a, (size_t)s->rounds + 1, sizeof(*d->stored_at));
    return give_registers(d, e);
}

int dot_step_check(const struct dot_step *s, struct err *e)
{
    const struct chip *chip = s->chip;
    int halves = dot_halves(chip), per_unit = s->by_rows ? s->width : (s->width + s->units - 1)
                                                                       / s->units;

    if (per_unit > halves || s->units > chip->mxu_count || s->rounds > DOT_ROUNDS_MAX
        || s->group_rows < matrix_rows(s->lhs_type))
        return err_set(e, "a column of %d tiles does not go into %d units", s->width, s->units);
    if (chip->mxu_accumulators > 0
        && s->rounds * s->group_rows / 8 > chip->mxu_accumulators)
        return err_set(e, "%lld rows do not go into the accumulators of a unit",
                       (long long)(s->rounds * s->group_rows));
    if (chip->mxu_accumulators == 0
        && chip->mxu_fifo_depth < 2 * s->group_rows / 8 * halves)
        return err_set(e, "the FIFO of a unit has no room for two rounds of results");
    return 0;
}

int64_t dot_step_cycles(const struct dot_step *s)
{
    int64_t passes = div_up(s->depth_tiles, dot_halves(s->chip)), pass;
    int64_t results = s->group_rows / 8 * (s->by_rows ? s->units * s->width : s->width);
    int64_t stores = s->chip->slots_store + s->chip->slots_misc_store;
    int64_t slots = div_up(results, stores > 0 ? stores : 1), rows = round_cycles(s);

    if (slots > rows)
        rows = slots;
    pass = s->rounds * rows > weight_cycles(s) ? s->rounds * rows : weight_cycles(s);
    return s->columns * passes * (pass + 12 + s->gap_cycles) + weight_cycles(s)
           + s->chip->mxu_latency_cycles + 60;
}
