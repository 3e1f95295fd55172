/*
 * The passes of a step: 128 (or 256) of k by all rows of the block.
 *
 * As in stack/kernels/dot/kernel_dot_step.c, round r pushes a group of rows into every unit and
 * pops what round r - pop_delay has pushed: the first `pop_delay` rounds of a pass, straight
 * code, pop the end of the pass before and push the weights of the next; the
 * others are a loop (conv_round.c). Between passes conv_levels.c goes on over
 * features and taps.
 *
 * Accumulators stand in for the FIFO where a unit has them: as many rounds as
 * fit are the body of the loop, straight code, and each round pops the
 * accumulators that it pushes into.
 */
#include <string.h>

#include "isa/matrix.h"
#include "stack/kernels/conv/conv_passes.h"

#define WEIGHT_TILES 16                 /* of a slot */

/* ----- weights of the next pass: an item is 8 rows (swapped: columns) for a column of units */

static int64_t weight_items(const struct conv_plan *p)
{
    return p->slots * WEIGHT_TILES * p->unit_columns;
}

static void load_weight(struct conv_gen *g, int to, int64_t tile)
{
    bundler_add(&g->b, isa_vld(to, isa_rows_at(R(S_WEIGHTS), tile * CONV_TILE_ROWS)));
}

static void weight_item(struct conv_gen *g, int64_t item)
{
    const struct conv_plan *p = g->p;
    int column = (int)(item % p->unit_columns), v = conv_v_weights(p) + (int)(item % 4) * 2;
    int64_t tile = p->slots * WEIGHT_TILES - 1 - item / p->unit_columns;
    int64_t column_stride = p->passes * p->slots * WEIGHT_TILES;
    int64_t at = column * p->halves * column_stride, upper = column_stride;

    if (p->is_rhs_swapped) {
        at += tile / WEIGHT_TILES * column_stride + tile % WEIGHT_TILES;
        upper = WEIGHT_TILES;
    } else {
        at += tile;
    }
    load_weight(g, v, at);
    if (p->halves > 1)
        load_weight(g, v + 1, at + upper);
    for (int row = 0; row < p->unit_rows; row++) {
        int unit = row * p->unit_columns + column;

        if (p->halves > 1)
            bundler_add(&g->b, isa_vmatprep_subr(unit, v + 1, MATRIX_F32));
        bundler_add(&g->b,
                    isa_vmatpush(unit, v, (int)p->halves - 1, MATRIX_F32, p->is_rhs_swapped, 0));
    }
}

static void put_weights(struct conv_gen *g, int64_t first, int64_t end)
{
    for (int64_t item = first; item < end; item++)
        weight_item(g, item);
}

/* to the weights of the pass behind; behind the last, to the first */
static void advance_weights(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    int64_t pass = p->slots * WEIGHT_TILES * CONV_TILE_ROWS;
    int64_t columns = p->unit_columns * p->halves;
    int64_t end = p->weights_row + p->column_groups * columns * p->passes * pass;

    bundler_add(&g->b, isa_sadd(S_WEIGHTS, R(S_WEIGHTS), I(pass)));
    bundler_add(&g->b, isa_ssub(S_WEIGHTS_LEFT, R(S_WEIGHTS_LEFT), I(1)));
    bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_WEIGHTS_LEFT), I(0)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_sadd(S_WEIGHTS, R(S_WEIGHTS),
                                               I((columns - 1) * p->passes * pass))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_WEIGHTS_LEFT, I(p->passes))));
    bundler_add(&g->b, isa_scmp_ge(P_TEMP, R(S_WEIGHTS), I(end)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_WEIGHTS, I(p->weights_row))));
}

/* operations of stages first..end-1 of a round of the loop, before or behind it */
static void put_part(struct conv_gen *g, int64_t round, int first, int end)
{
    rounds_begin(&g->rounds, first, end);
    conv_push_round(g, round, S_BASE0, conv_rows_offset(g->p, round), false);
    conv_pop_round(g, round, S_PASS_RESULT, (round - g->pop_delay) * conv_round_sums(g->p), P_ADD);
}

/* ----- a pass */

static void straight_round(struct conv_gen *g, int64_t round, bool pops_last)
{
    const struct conv_plan *p = g->p;
    bool is_last = round < g->pop_delay;
    int64_t sums =
        (is_last ? p->rounds - g->pop_delay + round : round - g->pop_delay) * conv_round_sums(p);

    if (round == g->pop_delay)
        conv_clear_sums(g, P_ADD);
    rounds_begin_whole(&g->rounds);
    if (p->has_accumulators && is_last && pops_last)
        conv_pop_round(g, round, S_LAST_RESULT, sums, P_LAST_ADD);
    conv_push_round(g, round, S_BASE0, conv_rows_offset(p, round), round == 0);
    if (is_last ? pops_last && !p->has_accumulators : true)
        conv_pop_round(g, round, is_last ? S_LAST_RESULT : S_PASS_RESULT, sums,
                  is_last ? P_LAST_ADD : P_ADD);
}

static void enter_loop(struct conv_gen *g, bool is_counted)
{
    int64_t ahead = g->straight + g->rounds.stages - 1;
    struct odometer o;

    for (int64_t round = g->straight; round < ahead; round++)
        put_part(g, round, 0, (int)(ahead - round));
    conv_odometer_of(g->p, &o);
    if (g->p->has_accumulators)
        conv_odometer_group(&o, g->ring);
    conv_set_odometer(g, &o, g->p->has_accumulators ? 1 : ahead);
    bundler_add(&g->b, isa_sadd(S_RESULT, R(S_PASS_RESULT),
                                I((ahead - g->pop_delay) * conv_round_sums(g->p))));
    bundler_add(&g->b, isa_sadd(S_ROWS, R(S_BASE0), I(conv_rows_offset(g->p, ahead))));
    bundler_add(&g->b, isa_smov(S_LOOP, I(is_counted ? g->loops : g->loops - 1)));
    if (!is_counted)
        bundler_add(&g->b, isa_pmov(P_LOOP, I(g->loops > 1)));
}

/* the rounds of a pass before its loop, with the weights of the next pass, and into the loop */
static void straight_code(struct conv_gen *g, const char *note, bool pops_last)
{
    int64_t items = weight_items(g->p);

    rounds_open(&g->rounds, note, 0);
    if (pops_last)
        conv_clear_sums(g, P_LAST_ADD);
    for (int64_t round = 0; round < g->straight; round++) {
        straight_round(g, round, pops_last);
        put_weights(g, items * round / g->straight, items * (round + 1) / g->straight);
    }
    if (g->loops) {
        if (g->straight == g->pop_delay)
            conv_clear_sums(g, P_ADD);
        enter_loop(g, g->p->has_accumulators ||
                          1 < g->ii - 1 - (int)g->chip->core_branch_delay_bundles);
    }
    advance_weights(g);
}

static void pipelined_loop(struct conv_gen *g)
{
    conv_here(g, g->label_loop);
    conv_put_loop(g);
    conv_end_loop(g, g->label_loop);
}

/* accumulators: `ring` rounds are straight code */
static void ring_loop(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    struct odometer o;

    conv_here(g, g->label_loop);
    rounds_open(&g->rounds, "loop", 0);
    for (int64_t round = 0; round < g->ring; round++) {
        rounds_begin_whole(&g->rounds);
        conv_pop_round(g, round, S_RESULT, round * conv_round_sums(p), P_ADD);
        conv_push_round(g, round, S_ROWS, conv_rows_offset(p, round), false);
    }
    conv_odometer_of(p, &o);
    conv_odometer_group(&o, g->ring);
    conv_put_odometer(g, &o);
    bundler_add(&g->b, isa_sadd(S_RESULT, R(S_RESULT), I(g->ring * conv_round_sums(p))));
    bundler_add(&g->b, isa_ssub(S_LOOP, R(S_LOOP), I(1)));
    bundler_add(&g->b, isa_scmp_gt(P_LOOP, R(S_LOOP), I(0)));
    bundler_end_branch(&g->b, g->label_loop, P_LOOP, false);
}

static void leave_loop(struct conv_gen *g)
{
    for (int64_t round = g->straight + g->loops; round < g->p->rounds; round++)
        put_part(g, round, (int)(g->straight + g->loops + g->rounds.stages - 1 - round), INT32_MAX);
    rounds_begin_whole(&g->rounds);
}

/* the pass that has just been pushed joins those under way; the oldest is popped next */
static void advance_queue(struct conv_gen *g)
{
    int last = (int)g->p->delay - 1;

    for (int i = last; i > 0; i--)
        bundler_add(&g->b, isa_smov(S_QUEUE + i, R(S_QUEUE + i - 1)));
    bundler_add(&g->b, isa_smov(S_QUEUE, R(S_PASS_RESULT)));
    bundler_add(&g->b, isa_sshll(S_QUEUE_ADDS, R(S_QUEUE_ADDS), I(1)));
    bundler_add(&g->b, isa_if(P_ADD, isa_sadd(S_QUEUE_ADDS, R(S_QUEUE_ADDS), I(1))));
    bundler_add(&g->b, isa_ssub(S_FILLED, R(S_FILLED), I(1)));
}

/* the i-th of those under way to S_LAST_RESULT */
static void take_from_queue(struct conv_gen *g, int i)
{
    bundler_add(&g->b, isa_smov(S_LAST_RESULT, R(S_QUEUE + i)));
    bundler_add(&g->b, isa_sshrl(S_LOOP, R(S_QUEUE_ADDS), I(i)));
    bundler_add(&g->b, isa_sand(S_LOOP, R(S_LOOP), I(1)));
    bundler_add(&g->b, isa_scmp_ne(P_LAST_ADD, R(S_LOOP), I(0)));
}

static void advance_pass(struct conv_gen *g, const struct live_phase *list, int live)
{
    advance_queue(g);
    take_from_queue(g, (int)g->p->delay - 1);
    conv_advance(g, list, live);
    bundler_add(&g->b, isa_pneg(P_TEMP, P_WRAP));
    bundler_add(&g->b, isa_por(P_ADD, P_TEMP, P_LATER));
    bundler_add(&g->b, isa_ssub(S_LEFT, R(S_LEFT), I(1)));
    bundler_add(&g->b, isa_scmp_gt(P_NEXT, R(S_LEFT), I(0)));
}

/* ----- all passes of a step */

/* whether sums of this step are added to those of the one before */
static void set_later(struct conv_gen *g)
{
    static const int grids[] = {GRID_C, GRID_T0, GRID_T1, GRID_T2};

    conv_begin(g, "passes");
    bundler_add(&g->b, isa_pmov(P_LATER, I(0)));
    for (size_t i = 0; i < sizeof(grids) / sizeof(*grids); i++) {
        struct conv_value index;

        if (g->p->count[grids[i]] == 1)
            continue;
        index = conv_load_word(g, conv_index_word(g, false, grids[i]));
        bundler_add(&g->b, isa_scmp_gt(P_TEMP, conv_operand(index), I(0)));
        bundler_add(&g->b, isa_por(P_LATER, P_LATER, P_TEMP));
    }
    conv_end(g);
}

static void set_registers(struct conv_gen *g, const struct live_phase *list)
{
    const struct conv_plan *p = g->p;

    set_later(g);
    conv_begin(g, NULL);
    g->temp = S_TEMP;
    if (p->shape.is_pixels)
        bundler_add(&g->b,
                    isa_smov(S_LHS, I(p->rows_row + conv_lead_rows(p) - p->shape.width_pad)));
    else if (p->shape.mode == CONV_ROWS && !p->is_dense)
        bundler_add(&g->b, isa_smov(S_LHS, conv_operand(conv_buffer_row(g, WINDOW_LHS))));
    else
        bundler_add(&g->b, isa_smov(S_LHS, I(p->rows_row)));
    conv_end(g);
    conv_begin(g, NULL);
    conv_set_phase(g, &list[0], ISA_PRED_ALWAYS, true);
    bundler_add(&g->b, isa_smov(S_K0, I(p->feature_blocks)));
    bundler_add(&g->b, isa_smov(S_PHASE, I(0)));
    bundler_add(&g->b, isa_smov(S_PASS_RESULT, I(p->sums_row + list[0].sums)));
    bundler_add(&g->b, isa_smov(S_LEFT, I(p->passes * p->column_groups)));
    bundler_add(&g->b, isa_smov(S_WEIGHTS, I(p->weights_row)));
    bundler_add(&g->b, isa_smov(S_WEIGHTS_LEFT, I(p->passes)));
    bundler_add(&g->b, isa_pmov(P_ADD, R(P_LATER)));
    bundler_add(&g->b, isa_smov(S_QUEUE_ADDS, I(0)));
    bundler_add(&g->b, isa_smov(S_FILLED, I(p->delay)));
    bundler_add(&g->b, isa_pmov(P_LAST_ADD, R(P_LATER)));
    conv_end(g);
    conv_begin(g, "first weights");
    put_weights(g, 0, weight_items(p));
    advance_weights(g);
    conv_end(g);
}

static void drain(struct conv_gen *g)
{
    int64_t first = g->p->rounds - g->pop_delay;

    for (int i = (int)g->p->delay - 1; i >= 0; i--) {
        rounds_open(&g->rounds, "drain", 0);
        take_from_queue(g, i);
        bundler_end(&g->b);
        rounds_open(&g->rounds, NULL, 0);
        conv_clear_sums(g, P_LAST_ADD);
        for (int64_t round = 0; round < g->pop_delay; round++) {
            rounds_begin_whole(&g->rounds);
            conv_pop_round(g, round, S_LAST_RESULT, (first + round) * conv_round_sums(g->p),
                           P_LAST_ADD);
        }
        bundler_end(&g->b);
    }
}

void conv_passes(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    struct live_phase *list = arena_array(g->a, (size_t)p->phase_count, sizeof(*list));
    int live = conv_live_phases(p, list), pass = conv_label(g), end = conv_label(g);
    int first = conv_label(g);

    if (live == 0)
        return;                         /* no tap meets an element: all sums are zero */
    g->has_masks = conv_needs_masks(p);
    g->label_loop = conv_label(g);
    set_registers(g, list);
    conv_set_masks(g, list, live);
    conv_here(g, first);
    straight_code(g, "first pass", false);
    bundler_end_branch(&g->b, g->loops ? g->label_loop : end, ISA_PRED_ALWAYS, false);
    conv_here(g, pass);
    straight_code(g, "pass", true);
    bundler_end(&g->b);
    if (g->loops && p->has_accumulators)
        ring_loop(g);
    else if (g->loops)
        pipelined_loop(g);
    conv_here(g, end);
    rounds_open(&g->rounds, "next pass", 0);
    if (g->loops && !p->has_accumulators)
        leave_loop(g);
    advance_pass(g, list, live);
    bundler_end(&g->b);
    conv_set_masks(g, list, live);
    if (p->delay > 1) {
        rounds_open(&g->rounds, NULL, 0);
        bundler_add(&g->b, isa_scmp_gt(P_TEMP, R(S_FILLED), I(0)));
        bundler_add(&g->b, isa_pand(P_TEMP, P_TEMP, P_NEXT));
        bundler_end_branch(&g->b, first, P_TEMP, false);
    }
    rounds_open(&g->rounds, NULL, 0);
    bundler_end_branch(&g->b, pass, P_NEXT, false);
    drain(g);
}
