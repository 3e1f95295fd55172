/*
 * What units, FIFOs and registers of a chip mean for a step: who takes which
 * tiles, in which order results come, how many rounds may be under way.
 */
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

#define STRAIGHT_ROUNDS_MAX 1024        /* of a span without a loop; so that squares are transposed */
#define TRANSPOSED_ROUNDS_MAX 256       /* beside it, where a loop would do as well: */
#define TILE 128
#define UNITS_OF_CHIPS 4                /* at most, without --set */
#define PARTS_MIN 4                     /* the first two are waited for at once */
#define PARTS_MAX 32                    /* a flag for each */

int dot_halves(const struct chip *chip)
{
    return chip_mxu_halves(chip);
}

bool dot_units_keep_pace(const struct dot_code *d)
{
    return d->has_accumulators && d->s->keeps_pace;
}

int dot_splits(const struct dot_step *s) { return s->splits > 1 ? s->splits : 1; }

int64_t dot_step_passes(const struct dot_step *s)
{
    return div_up(s->depth_tiles, dot_halves(s->chip) * dot_splits(s));
}

int64_t dot_round_cycles(const struct dot_step *s)
{
    enum matrix_type type = s->lhs_type;

    if (!chip_matmul_cycles(s->chip, type))
        type = MATRIX_F32;
    return chip_matmul_cycles(s->chip, type) * s->group_rows / matrix_rows(type);
}

bool dot_epilogue_is_slow(const struct dot_step *s)
{
    return s->epilogue_cycles > dot_round_cycles(s);
}

/* rounds that cover the latency of a unit, as far as its FIFO holds their results */
static int64_t pop_delay_of(const struct dot_step *s)
{
    int64_t most = s->chip->mxu_fifo_depth / (s->group_rows / 8 * dot_halves(s->chip)) - 2;
    int64_t pop_delay = div_up(s->chip->mxu_latency_cycles, dot_round_cycles(s)) + 1;

    return pop_delay <= most ? pop_delay : most > 1 ? most : 1;
}

bool dot_step_takes_parts(const struct dot_step *s)
{
    int halves = dot_halves(s->chip);

    return dot_splits(s) == 1 && s->depth_tiles % halves == 0
           && s->depth_tiles / halves >= PARTS_MIN
           && s->depth_tiles / halves <= PARTS_MAX
           && (s->chip->mxu_accumulators > 0 || s->rounds >= pop_delay_of(s));
}

/* columns in straight code, so many that their rounds cover the latency: a divisor of all */
static int columns_of_span(const struct dot_step *s)
{
    int64_t each = dot_step_passes(s) * s->rounds, count = 1;

    if (s->transpose.span_columns)
        return s->transpose.span_columns;

    for (int64_t i = 2; i <= s->columns && count * each < pop_delay_of(s); i++)
        if (s->columns % i == 0 && i * each <= DOT_SPAN_ROUNDS_MAX)
            count = i;
    return (int)count;
}

/* rows of the contraction that a pass has, taken over all of them: the last one may have fewer */
static int64_t pass_rows(const struct dot_step *s)
{
    int64_t all = s->rhs_depth ? s->rhs_depth : s->depth_tiles * TILE;

    return div_up(all, div_up(s->depth_tiles, dot_halves(s->chip)));
}

/* of a pass, into each unit */
static int64_t weight_cycles(const struct dot_step *s)
{
    enum matrix_type type = s->rhs_type;
    int64_t tiles = s->by_rows ? s->width : div_up(s->width, s->units / dot_splits(s));
    int64_t rows = tiles * TILE;
    int64_t factor = s->is_rhs_transposed ? s->chip->mxu_push_xpose_factor : 1;

    if (!chip_push_cycles(s->chip, type))
        type = MATRIX_F32;
    if (s->valid_columns && s->valid_columns < rows)
        rows = s->valid_columns;
    if (!s->is_rhs_transposed)
        rows = pass_rows(s);
    return factor * chip_push_cycles(s->chip, type) * div_up(rows, matrix_rows(type));
}

/* ----- what the units and registers allow */

static void place_tiles(struct dot_code *d)
{
    const struct dot_step *s = d->s;
    int first = 0;

    for (int u = 0; u < s->units; u++) {
        int units = d->split_units, of = u % units;
        int share = s->by_rows ? s->width : s->width / units + (of < s->width % units);

        first = of == 0 ? 0 : first;
        d->unit_first[u] = s->by_rows ? 0 : first;
        d->unit_tiles[u] = share;
        d->some_have_two |= share > 1 && !s->is_rhs_transposed;
        first += share;
    }
}

/* the result of the first part of the units for the same tile, which has passes before `unit`'s */
static int first_of(const struct dot_code *d, int unit, int part, int tile)
{
    for (int i = 0; i < d->result_count && tile >= 0 && unit >= d->split_units; i++)
        if (d->result[i].unit == unit % d->split_units && d->result[i].part == part
            && d->result[i].tile == tile)
            return i;
    return -1;
}

/* in the order in which each unit gives them */
static void list_results(struct dot_code *d)
{
    const struct dot_step *s = d->s;

    d->column_rows = s->rounds * s->group_rows * (s->by_rows ? s->units : 1);
    if (s->sum_tile_step)
        d->column_rows = s->sum_tile_step;
    for (int part = 0; part < s->group_rows / 8; part++)
        for (int half = 0; half < d->halves; half++)
            for (int u = 0; u < s->units; u++) {
                int tile = half < d->unit_tiles[u] ? d->unit_first[u] + half : -1;
                int64_t row = (tile < 0 ? 0 : tile) * d->column_rows + part * 8
                              + (s->by_rows ? u * s->rounds * s->group_rows : 0);

                if (d->unit_tiles[u] > 0)
                    d->result[d->result_count++] = (struct dot_result){
                        .unit = u, .part = part, .tile = tile, .row = row,
                        .into = first_of(d, u, part, tile),
                        .is_whole = u / d->split_units == d->splits - 1};
            }
}

static int least(int a, int b) { return a < b ? a : b; }

/* registers that take turns: as many in every round, for a loop's rounds have the same ones */
static int turns(int values, int most)
{
    int count = least(values, most);

    while (count > 1 && values % count)
        count--;
    return count;
}

static bool needs_lane_bits(const struct dot_step *s)
{
    return s->lhs_depth % TILE || (s->is_rhs_transposed && s->rhs_depth % TILE);
}

static bool needs_row_bits(const struct dot_step *s)
{
    return !s->is_rhs_transposed && s->rhs_depth % matrix_rows(s->rhs_type);
}

/* squares beside passes */
static bool transposes(const struct dot_step *s)
{
    return s->transpose.passes_before || s->transpose.span_columns;
}

/* results that stay until they are stored or computed with; all where no unit adds to another's */
static int own_results(const struct dot_code *d) { return d->result_count / d->splits; }

static void give_popped(struct dot_code *d)
{
    int own = 0, added = 0, kept = d->splits > 1 ? own_results(d) : d->popped_count;

    for (int i = 0; i < d->result_count; i++)
        d->result[i].popped = d->v_popped + (d->splits == 1 || d->result[i].unit < d->split_units
                                                 ? own++ % kept
                                                 : kept + added++ % DOT_ADDED_REGISTERS);
}

static int give_registers(struct dot_code *d, struct err *e)
{
    int needed = own_results(d) + (d->splits > 1 ? DOT_ADDED_REGISTERS : 0);
    int all = (int)d->chip->core_vregs, next = 0, wide = all > 32 ? 2 : 1;
    int lhs = d->lhs_tiles * d->halves * (d->s->by_rows ? d->s->units : d->splits);

    d->weight_set = d->unpacks_weights ? 2 : d->halves;
    d->weights_count = d->unpacks_weights ? 3 : 4;
    d->lhs_count = turns(lhs, d->unpacks_rows ? 2 : 4 * wide);
    d->sum_count = turns(own_results(d), 4 * wide);
    if (d->splits > 1 && d->passes == 1 && d->s->first_step < 0)
        d->sum_count = 0;
    d->v_lhs = next;
    next += d->lhs_count * (d->unpacks_rows ? 3 : 1);
    d->v_sum = next;
    next += d->sum_count;
    d->v_weights = next;
    next += d->weights_count * d->weight_set;
    d->v_lane_bits = needs_lane_bits(d->s) ? next++ : -1;
    d->v_row_bits = needs_row_bits(d->s) ? next++ : -1;
    d->v_transpose = transposes(d->s) ? next : -1;
    next += transposes(d->s) ? DOT_TRANSPOSE_REGISTERS : 0;
    d->v_popped = next;
    d->popped_count = least(needed, all - next);
    next += d->popped_count;
    d->v_pool = next;
    d->pool_count = all - next;
    if (d->popped_count < (d->splits > 1 ? needed : 1) || d->lhs_count < d->halves)
        return err_set(e, "a product needs more vector registers than the %d that the chip has",
                       all);
    give_popped(d);
    return 0;
}

static void choose_pop_delay(struct dot_code *d)
{
    d->pop_delay = pop_delay_of(d->s);
    d->span = d->span_columns = 1;
    if (d->has_accumulators) {
        d->pop_delay = d->s->rounds;
        return;
    }
    if (d->passes * d->s->rounds <= (d->s->rounds < d->pop_delay        ? STRAIGHT_ROUNDS_MAX
                                     : transposes(d->s)          ? TRANSPOSED_ROUNDS_MAX
                                                                 : 0)) {
        d->span_columns = columns_of_span(d->s);
        d->span = d->span_columns * d->passes;
    }
    if (d->pop_delay > dot_span_rounds(d))
        d->pop_delay = dot_span_rounds(d);
}

int dot_code_init(struct dot_code *d, const struct dot_step *s, struct arena *a, struct err *e)
{
    int64_t rounds;

    memset(d, 0, sizeof(*d));
    d->s = s;
    d->chip = s->chip;
    d->halves = dot_halves(s->chip);
    d->splits = dot_splits(s);
    d->split_units = s->units / d->splits;
    d->passes = (int)dot_step_passes(s);
    d->last_is_half = s->depth_tiles % d->halves != 0;
    d->last_differs = d->last_is_half || s->rhs_depth;
    d->has_accumulators = s->chip->mxu_accumulators > 0;
    d->unpacks_rows = !chip_matmul_cycles(s->chip, s->lhs_type);
    d->unpacks_weights = !chip_push_cycles(s->chip, s->rhs_type);
    d->lhs_tiles = s->group_rows / matrix_rows(s->lhs_type);
    place_tiles(d);
    list_results(d);
    choose_pop_delay(d);
    rounds = dot_span_rounds(d);
    rounds_init(&d->rounds, &d->b, DOT_ROUND_OPS_MAX, rounds + 1, a);
    d->touched_at = arena_array(a, (size_t)s->rounds + 1, sizeof(*d->touched_at));
    d->stored_at = arena_array(a, (size_t)s->rounds + 1, sizeof(*d->stored_at));
    d->transposed_at = arena_array(a, (size_t)(d->span_columns * d->passes * d->s->rounds),
                                   sizeof(int));
    d->trf_count = s->transpose.passes_before
                       ? d->passes * d->halves * s->transpose.squares * (TILE / matrix_rows(s->lhs_type))
                       : 0;
    d->trf_popped_at = arena_array(a, (size_t)d->trf_count + 1, sizeof(int));
    return give_registers(d, e);
}

int dot_step_check(const struct dot_step *s, struct err *e)
{
    const struct chip *chip = s->chip;
    int halves = dot_halves(chip), splits = dot_splits(s), units = s->units / splits;
    int per_unit = s->by_rows ? s->width : (s->width + units - 1) / units;

    if (splits > 1 && (s->by_rows || s->units % splits || chip->mxu_accumulators > 0
                       || div_up(s->depth_tiles, halves) % splits))
        return err_set(e, "passes that %d parts of %d units do not share", splits, s->units);
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

int64_t dot_step_flops(const struct dot_step *s)
{
    int64_t size = s->chip->mxu_size, passes = dot_step_passes(s), wide = s->width * dot_splits(s);
    int64_t units = s->by_rows || wide > s->units ? s->units : wide;

    return 2 * size * size * s->rounds * s->group_rows * units * passes * s->columns;
}

/* pushes into all units, of the weights of a pass */
static int64_t weight_pushes(const struct dot_step *s)
{
    bool unpacks = !chip_push_cycles(s->chip, s->rhs_type);
    int64_t tiles = dot_halves(s->chip) * s->chip->mxu_size / matrix_rows(s->rhs_type);

    if (s->is_rhs_transposed)
        tiles = (s->by_rows ? s->width : div_up(s->width, s->units)) * TILE
                / matrix_rows(s->rhs_type);
    return tiles * s->units * (unpacks ? 2 : 1);
}

/*
 * What the slots of bundles allow, where many units share them: a pass takes no fewer cycles than
 * the fullest kind of slot has bundles. Of as few units as chips have the times above have been
 * held against simulated and measured ones, and stand.
 */
static int64_t slot_cycles(const struct dot_step *s)
{
    const struct chip *chip = s->chip;
    bool unpacks = !chip_matmul_cycles(chip, s->lhs_type);
    int64_t tiles = s->group_rows / matrix_rows(s->lhs_type) * dot_halves(chip);
    int64_t lhs = tiles * (s->by_rows ? s->units : 1);
    int64_t results = s->group_rows / 8 * (s->by_rows ? s->units * s->width : s->width);
    int64_t sums = chip->mxu_accumulators == 0 && s->depth_tiles > dot_halves(chip) ? results : 0;
    int64_t weights = weight_pushes(s);
    int64_t loads = s->rounds * (lhs + sums) + weights;
    int64_t pushes = s->rounds * tiles * s->units * (unpacks ? 2 : 1) + weights;
    int64_t load_cycles = div_up(loads, chip->slots_load + chip->slots_misc_load);
    int64_t push_cycles = div_up(pushes, chip->slots_push);
    int64_t pop_cycles = div_up(s->rounds * results, chip->slots_pop);
    int64_t most = load_cycles > push_cycles ? load_cycles : push_cycles;

    return most > pop_cycles ? most : pop_cycles;
}

/*
 * Bundles that a round's results take: each is stored, and its sum loaded before where a pass before
 * left one. A slot that may serve as either is one of both.
 */
static int64_t memory_cycles(const struct dot_step *s)
{
    const struct chip *chip = s->chip;
    int64_t results = s->group_rows / 8 * (s->by_rows ? s->units * s->width : s->width);
    int64_t stores = chip->slots_store + chip->slots_misc_store;
    int64_t shared = chip->slots_misc_load > chip->slots_misc_store ? chip->slots_misc_load
                                                                    : chip->slots_misc_store;
    int64_t lhs = s->group_rows / matrix_rows(s->lhs_type) * dot_halves(chip) *
                  (s->by_rows ? s->units : dot_splits(s));
    int64_t sums = chip->mxu_accumulators == 0 && dot_step_passes(s) > 1 ? results : 0;
    int64_t storing = div_up(results, stores > 0 ? stores : 1);
    int64_t all = div_up(results + sums + lhs, chip->slots_load + chip->slots_store + shared);

    return storing > all ? storing : all;
}

int64_t dot_pass_cycles(const struct dot_step *s)
{
    int64_t slots = memory_cycles(s), rows = dot_round_cycles(s), cycles;

    if (slots > rows)
        rows = slots;
    /* seen on v3: units whose rows are unpacked apart wait for one another; XLA's keep their gap */
    if (s->by_rows && s->units > 1 && s->gap_cycles == 0
        && !chip_matmul_cycles(s->chip, s->lhs_type))
        rows += rows / 4;
    cycles = s->rounds * rows > weight_cycles(s) ? s->rounds * rows : weight_cycles(s);
    if (s->units > UNITS_OF_CHIPS && slot_cycles(s) > cycles)
        cycles = slot_cycles(s);
    return cycles + 12 + s->gap_cycles;
}

int64_t dot_step_cycles(const struct dot_step *s)
{
    int64_t passes = dot_step_passes(s), pass = dot_pass_cycles(s);
    int64_t epilogue = s->rounds * s->epilogue_cycles;
    int64_t span = columns_of_span(s)
                   * (passes * pass + (epilogue > pass ? epilogue - pass : 0));

    if (span < s->chip->mxu_latency_cycles && s->chip->mxu_accumulators == 0)
        span = s->chip->mxu_latency_cycles;             /* its results come no earlier */
    return s->columns / columns_of_span(s) * span + weight_cycles(s)
           + s->chip->mxu_latency_cycles + 60;
}
