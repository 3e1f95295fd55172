/*
 * Rounds put together: a span is one pass, its first `pop_delay` rounds straight
 * code that pops the end of the span before, the others a loop; or, where
 * passes are shorter than the units' latency, all passes of a column in
 * straight code. docs/gemm.md.
 */
#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

/* ----- the loop */

static int pointer_count(const struct dot_code *d)
{
    return d->s->epilogue ? d->s->epilogue->pointer_count : 0;
}

static int64_t lhs_step(const struct dot_code *d)
{
    return d->lhs_tiles * d->s->lhs.side_step;
}

/* the rows of the body, from the last one up, in which a pointer may advance */
static int pointer_row(const struct dot_code *d, int number)
{
    int branch = d->b.ii - 1 - (int)d->chip->core_branch_delay_bundles;
    int row = d->b.ii - 1, free = row == branch ? 1 : 2;

    for (; number > 0; number--) {
        if (--free > 0)
            continue;
        row--;
        free = row == branch ? 1 : 2;
    }
    return row;
}

/* pointers and the counter at fixed places of the body, so that offsets are known */
static bool put_loop_control(struct dot_code *d, const struct dot_results *own)
{
    int pointers = 2 + (own->use == USE_EPILOGUE ? pointer_count(d) : 0);

    if (pointer_row(d, pointers - 1) < 2) {
        d->b.is_too_long = true;
        return false;
    }
    bundler_add_at(&d->b, 0, isa_ssub(S_LOOP, R(S_LOOP), I(1)));
    bundler_add_at(&d->b, 1, isa_scmp_gt(P_LOOP, R(S_LOOP), I(0)));
    for (int i = 0; i < pointers; i++) {
        int sreg = i == 0 ? S_LHS : i == 1 ? S_SUM : S_OUT + i - 2;
        int64_t step = i == 0   ? lhs_step(d)
                       : i == 1 ? d->s->group_rows
                                : d->s->epilogue->pointer[i - 2].round_step;

        d->advanced_at[sreg] = pointer_row(d, i);
        bundler_add_at(&d->b, d->advanced_at[sreg], isa_sadd(sreg, R(sreg), I(step)));
    }
    return 1 < d->b.ii - 1 - (int)d->chip->core_branch_delay_bundles;
}

static const struct dot_place loop_place = {.is_loop = true};

/* the body; true when the compare comes before the branch and counts this round */
static bool put_loop(struct dot_code *d, const struct dot_results *own, bool is_last)
{
    bool is_counted;
    int64_t round = d->pop_delay;

    dot_begin(d, "loop", d->ii);
    is_counted = put_loop_control(d, own);
    rounds_begin_whole(&d->rounds);
    d->from_rows = round % d->s->rounds;
    dot_push_round(d, round, true, is_last);
    dot_pop_round(d, round, 0, own, &loop_place);
    return is_counted;
}

/* ----- passes */

struct span {
    struct dot_results last, own;       /* of the span before, of all passes of this one */
    bool next_is_last;                  /* the first pass of the next span, of its column */
    bool begins_column, ends_column;
    bool is_first;                      /* of a step */
    int loop_label;
};

/* of pass `pass` of a span: only the last one of a column has an epilogue */
static struct dot_results results_of(const struct dot_code *d, const struct span *t, int pass,
                                     bool is_last_span)
{
    const struct dot_results *how = is_last_span ? &t->last : &t->own;
    struct dot_results r = *how;

    if (d->span == 1)
        return r;
    if (!dot_ends_column(d, pass))
        r.use = how->use == USE_NONE ? USE_NONE : USE_SUM;
    if (pass % d->passes > 0)
        r.source = SOURCE_MEMORY;
    return r;
}

static int64_t pass_weights(const struct dot_code *d)   /* VMEM rows from pass to pass */
{
    const struct dot_step *s = d->s;

    return d->splits * d->halves * s->rhs.depth_step
           * (s->is_rhs_transposed ? 1 : 128 / matrix_rows(s->rhs_type));
}

/* weights of the pass behind `pass` of a span, which S_WEIGHTS points to where that is 0 */
static int64_t weights_behind(const struct dot_code *d, int pass)
{
    int64_t next = pass + 1;

    if (d->span == 1)
        return 0;
    return next / d->passes * d->s->rhs_column_step + (next % d->passes - 1) * pass_weights(d);
}

static void put_next_weights(struct dot_code *d, const struct span *t, int pass, int64_t round)
{
    int64_t rounds = d->straight < d->s->rounds ? d->straight : d->s->rounds;
    int64_t items = dot_weight_items(d);
    bool is_end = pass == d->span - 1, wraps = is_end && t->ends_column;
    bool is_last = is_end ? t->next_is_last : dot_ends_column(d, pass + 1);

    /* of all units at once, so that none is ahead of the others */
    int64_t together = dot_units_keep_pace(d) ? d->s->units : 1, sets = items / together;

    dot_put_weights(d, wraps ? S_NEXT_WEIGHTS : S_WEIGHTS, wraps ? 0 : weights_behind(d, pass),
                    is_last, sets * round / rounds * together,
                    sets * (round + 1) / rounds * together);
}

/* a span's columns are counted from where pointers stand, at the first one of that before */
static int64_t popped_column(const struct dot_code *d, const struct span *t, int pass,
                             bool is_last)
{
    int64_t first = !is_last && t->begins_column ? d->span_columns : 0;

    return d->span == 1 ? first : first + pass / d->passes;
}

/* before the first rows of a pass nothing goes into the units for a while */
static void put_gap(struct dot_code *d, int64_t round)
{
    bundler_add_after(&d->b, round > 0 ? d->rounds.pushed_at[round - 1] + 1 : 0,
                      isa_vdelay(I(d->s->gap_cycles)));
}

/* rounds before the loop: the end of the span before is popped, weights are loaded */
static void put_straight_rounds(struct dot_code *d, const struct span *t)
{
    int64_t all = dot_span_rounds(d);

    for (int64_t round = 0; round < d->straight; round++) {
        bool is_last = round < d->pop_delay;
        int64_t popped = is_last ? round - d->pop_delay + all : round - d->pop_delay;
        int pass = (int)(popped / d->s->rounds), pushed = (int)(round / d->s->rounds);
        struct dot_results how = results_of(d, t, pass, is_last);
        struct dot_place at = {.columns = popped_column(d, t, pass, is_last)};

        if (d->s->gap_cycles && round % d->s->rounds == 0)
            put_gap(d, round);
        rounds_begin_whole(&d->rounds);
        if (d->has_accumulators) {      /* they must be empty first */
            how = t->last;
            dot_pop_round(d, round, round, &how, &at);
        }
        dot_push_round(d, round, false,
                       d->span == 1 ? t->ends_column : dot_ends_column(d, pushed));
        if (!d->has_accumulators)
            dot_pop_round(d, round, popped % d->s->rounds, &how, &at);
        put_next_weights(d, t, pushed, round % d->s->rounds);
        if (d->s->transpose.span_columns)
            dot_put_batch_transposes(d, round, t->is_first);
        else if (t->is_first && d->v_transpose >= 0)
            dot_put_transposes(d, round);
    }
}

/* operations of stages first..last-1 of a round of the loop, before or behind it */
static void put_part(struct dot_code *d, const struct span *t, int64_t round, int first,
                     int last, bool is_behind)
{
    struct dot_place at = {.is_loop = is_behind, .columns = !is_behind && t->begins_column};
    int64_t end = d->straight + d->loops + d->rounds.stages - 1;       /* pointers are there, behind it */

    d->from_rows = is_behind ? end : 0;
    if (is_behind)
        at.round = end - d->pop_delay;
    rounds_begin(&d->rounds, first, last);
    dot_push_round(d, round, is_behind, t->ends_column);
    dot_pop_round(d, round, round - d->pop_delay, &t->own, &at);
}

static void set_loop_pointers(struct dot_code *d, const struct span *t, int64_t ahead)
{
    int64_t columns = t->begins_column;

    bundler_add(&d->b, isa_sadd(S_LHS, R(S_LHS_PASS), I(ahead * lhs_step(d))));
    bundler_add(&d->b, isa_sadd(S_SUM, R(S_SUM_COLUMN),
                                I((ahead - d->pop_delay) * d->s->group_rows +
                                  columns * d->s->sum_column_step)));
    for (int i = 0; i < pointer_count(d) && t->own.use == USE_EPILOGUE; i++) {
        const struct dot_pointer *p = &d->s->epilogue->pointer[i];

        bundler_add(&d->b,
                    isa_sadd(S_OUT + i, R(S_OUT_COLUMN + i),
                             I((ahead - d->pop_delay) * p->round_step + columns * p->column_step)));
    }
}

static void enter_loop(struct dot_code *d, const struct span *t, bool is_counted)
{
    int64_t ahead = d->straight + d->rounds.stages - 1;

    for (int64_t round = d->straight; round < ahead; round++)
        put_part(d, t, round, 0, (int)(ahead - round), false);
    set_loop_pointers(d, t, ahead);
    bundler_add(&d->b, isa_smov(S_LOOP, I(is_counted ? d->loops : d->loops - 1)));
    if (!is_counted)
        bundler_add(&d->b, isa_pmov(P_LOOP, I(d->loops > 1)));
}

/* what the last rounds of the loop have left */
static void leave_loop(struct dot_code *d, const struct span *t)
{
    for (int64_t round = d->straight + d->loops; round < d->s->rounds; round++)
        put_part(d, t, round, (int)(d->straight + d->loops + d->rounds.stages - 1 - round), INT32_MAX,
                 true);
    rounds_begin_whole(&d->rounds);
}

/* the least II at which no value is overwritten before its last use */
static void choose_ii(struct dot_code *d, const struct span *t)
{
    int64_t rounds = d->s->rounds;

    d->loops = 0;
    d->straight = dot_span_rounds(d);
    if (d->has_accumulators || d->span > 1 || d->chip->core_branch_delay_bundles < 1
        || d->chip->slots_scalar < 2 || rounds <= d->pop_delay)
        return;
    d->ii = (int)d->chip->core_branch_delay_bundles + 1;
    for (d->ii = d->ii < 4 ? 4 : d->ii;; d->ii++) {
        put_loop(d, &t->own, t->ends_column);
        bundler_drop(&d->b);
        if (!d->b.is_too_long)
            break;
    }
    rounds_count_stages(&d->rounds);
    rounds -= d->s->lhs_row_tiles > 0;  /* the last round is not as those of the loop */
    if (rounds - d->pop_delay >= d->rounds.stages) {
        d->straight = d->pop_delay;
        d->loops = rounds - d->pop_delay - (d->rounds.stages - 1);
    }
}

static void advance_column(struct dot_code *d)
{
    if (d->s->sum_column_step)
        bundler_add(&d->b, isa_sadd(S_SUM_COLUMN, R(S_SUM_COLUMN),
                                    I(d->span_columns * d->s->sum_column_step)));
    for (int i = 0; i < pointer_count(d); i++)
        if (d->s->epilogue->pointer[i].column_step)
            bundler_add(&d->b,
                        isa_sadd(S_OUT_COLUMN + i, R(S_OUT_COLUMN + i),
                                 I(d->span_columns * d->s->epilogue->pointer[i].column_step)));
}

/* pointers for the next span, behind everything that has used them */
static void advance_span(struct dot_code *d, const struct span *t)
{
    int64_t depth = d->splits * d->halves * d->s->lhs.depth_step;
    int64_t rows = !t->ends_column ? depth
                   : d->span_columns * d->s->lhs_column_step - (d->span == 1 ? d->passes - 1 : 0)
                     * depth;

    if (rows)
        bundler_add(&d->b, isa_sadd(S_LHS_PASS, R(S_LHS_PASS), I(rows)));
    if (d->s->transpose.span_columns)
        bundler_add(&d->b, isa_sadd(S_SQUARES, R(S_SQUARES),
                                    I(d->s->transpose.batches * d->s->transpose.batch_step)));
    if (t->ends_column)
        bundler_add(&d->b, isa_sadd(S_WEIGHTS, R(S_NEXT_WEIGHTS), I(pass_weights(d))));
    else
        bundler_add(&d->b, isa_sadd(S_WEIGHTS, R(S_WEIGHTS), I(pass_weights(d))));
}

/* where the next column's weights are; behind the last one the first ones once more */
static void find_next_column(struct dot_code *d)
{
    int64_t passes = d->span == 1 ? d->passes : 1;      /* that S_WEIGHTS is behind the first */

    dot_begin(d, "next column", 0);
    bundler_add(&d->b,
                isa_sadd(S_NEXT_WEIGHTS, R(S_WEIGHTS),
                         I(d->span_columns * d->s->rhs_column_step - passes * pass_weights(d))));
    bundler_add(&d->b, isa_scmp_eq(P_MORE, R(S_COLUMNS), I(1)));
    bundler_add(&d->b, isa_if(P_MORE, isa_sadd(S_NEXT_WEIGHTS, R(S_NEXT_WEIGHTS),
                                               I(-d->s->columns * d->s->rhs_column_step))));
    bundler_end(&d->b);
}

/*
 * What the last rounds of a column's loop have left goes beside the first ones of the next column,
 * where a column is one pass and nothing of it waits in VMEM.
 */
static bool leaves_late(const struct dot_code *d, const struct span *t)
{
    return d->loops && d->passes == 1 && t->own.use == USE_EPILOGUE
           && t->own.source == SOURCE_ZERO && dot_epilogue_is_slow(d->s);
}

/* the rounds of a span before its loop, and into it */
static void straight_code(struct dot_code *d, const struct span *t, const char *note)
{
    dot_begin(d, note, 0);
    if (!t->is_first && leaves_late(d, t))
        leave_loop(d, t);
    d->b.eup_under_way = 0;             /* the rounds of the span before are all out */
    put_straight_rounds(d, t);
    if (!t->begins_column && !t->ends_column)
        dot_start_part(d);
    if (d->loops)
        enter_loop(d, t, 1 < d->ii - 1 - (int)d->chip->core_branch_delay_bundles);
    if (t->begins_column)
        advance_column(d);
}

/*
 * A span, its pointers advanced for the next one; left with its last section
 * open. The first one of a step has no results to pop: it has straight code of
 * its own, `first`.
 */
static void put_span(struct dot_code *d, struct span *t, bool has_first)
{
    struct span first = *t;

    choose_ii(d, t);
    if (has_first && t->ends_column)
        find_next_column(d);
    if (has_first) {
        first.last.use = USE_NONE;
        first.is_first = true;
        straight_code(d, &first, "first pass");
        bundler_end_branch(&d->b, d->label_base + t->loop_label, ISA_PRED_ALWAYS, false);
        bundler_label(&d->b, d->label_base + LABEL_COLUMN, "column");
    }
    if (t->ends_column)
        find_next_column(d);
    straight_code(d, t, "pass");
    bundler_end(&d->b);
    bundler_label(&d->b, d->label_base + t->loop_label, d->loops ? "loop" : "pass_end");
    if (d->loops) {
        put_loop(d, &t->own, t->ends_column);
        bundler_end_branch(&d->b, d->label_base + t->loop_label, P_LOOP, false);
    }
    dot_begin(d, "next pass", 0);
    if (d->loops && !leaves_late(d, t))
        leave_loop(d, t);
    advance_span(d, t);
    if (!t->ends_column)
        dot_await_part(d);
}

/* ----- the step */

static struct dot_results kind(enum dot_use use, enum dot_source source, int guard)
{
    return (struct dot_results){use, source, guard};
}

static void set_base(struct dot_code *d, int to, int base, int64_t row)
{
    if (base < 0)
        bundler_add(&d->b, isa_smov(to, I(row)));
    else
        bundler_add(&d->b, isa_sadd(to, R(base), I(row)));
}

static void begin_step(struct dot_code *d)
{
    const struct dot_step *s = d->s;

    dot_begin(d, "first weights", 0);
    dot_begin_parts(d);
    dot_put_bits(d);
    set_base(d, S_WEIGHTS, s->rhs.base, s->rhs.row);
    set_base(d, S_LHS_PASS, s->lhs.base, s->lhs.row);
    if (s->transpose.span_columns)
        set_base(d, S_SQUARES, s->transpose.from.base,
                 s->transpose.from.row + s->transpose.lead * s->transpose.batch_step);
    set_base(d, S_SUM_COLUMN, -1, s->sum_row - d->span_columns * s->sum_column_step);
    for (int i = 0; i < pointer_count(d); i++) {
        const struct dot_pointer *p = &s->epilogue->pointer[i];
        int base = p->base;

        if (base >= 0 && p->base_scale) {
            base = S_OUT_COLUMN + i;
            bundler_add(&d->b, isa_smul(base, R(p->base), I(p->base_scale)));
            bundler_add(&d->b,
                        isa_smin_max(base, R(base), I(p->base_max), SMIN_MAX_MIN, SMIN_MAX_S32));
        }
        set_base(d, S_OUT_COLUMN + i, base, p->row - d->span_columns * p->column_step);
    }
    bundler_add(&d->b, isa_smov(S_COLUMNS, I(s->columns / d->span_columns)));
    if (s->first_step >= 0)
        bundler_add(&d->b, isa_pneg(P_LATER, s->first_step));
    d->v_zero = -1;
    d->is_first_pass = true;
    dot_put_weights(d, S_WEIGHTS, 0, d->passes == 1, 0, dot_weight_items(d));
    d->is_first_pass = false;
    bundler_add(&d->b, isa_sadd(S_WEIGHTS, R(S_WEIGHTS), I(pass_weights(d))));
    bundler_end(&d->b);
}

/* results of the last span */
static void drain(struct dot_code *d, const struct span *t)
{
    int64_t all = dot_span_rounds(d);

    dot_begin(d, "drain", 0);
    if (leaves_late(d, t))
        leave_loop(d, t);
    for (int64_t round = 0; round < d->pop_delay; round++) {
        int64_t popped = round - d->pop_delay + all;
        int pass = (int)(popped / d->s->rounds);
        struct dot_results how = results_of(d, t, pass, true);
        const struct dot_place at = {.columns = popped_column(d, t, pass, true)};

        rounds_begin_whole(&d->rounds);
        dot_pop_round(d, round, popped % d->s->rounds, &how, &at);
    }
    bundler_end(&d->b);
}

/* passes between the first and the last one of a column, `count` of them */
static void middle_passes(struct dot_code *d, struct span *t, int64_t count, int label,
                          bool next_is_last)
{
    if (count < 1)
        return;
    t->next_is_last = next_is_last;
    t->loop_label = LABEL_LOOP + label;
    dot_begin(d, NULL, 0);
    bundler_add(&d->b, isa_smov(S_PASSES, I(count)));
    bundler_end(&d->b);
    bundler_label(&d->b, d->label_base + LABEL_MIDDLE + label, "middle");
    put_span(d, t, false);
    bundler_add(&d->b, isa_pmov(P_LAST_ADD, I(1)));
    if (count == 1) {
        bundler_end(&d->b);
        return;
    }
    bundler_add(&d->b, isa_ssub(S_PASSES, R(S_PASSES), I(1)));
    bundler_add(&d->b, isa_scmp_gt(P_MORE, R(S_PASSES), I(0)));
    bundler_end_branch(&d->b, d->label_base + LABEL_MIDDLE + label, P_MORE, false);
}

static void end_column(struct dot_code *d)
{
    bundler_add(&d->b, isa_ssub(S_COLUMNS, R(S_COLUMNS), I(1)));
    bundler_add(&d->b, isa_scmp_gt(P_MORE, R(S_COLUMNS), I(0)));
    bundler_end_branch(&d->b, d->label_base + LABEL_COLUMN, P_MORE, false);
}

/* all passes of some columns are one span */
static struct span one_span(struct dot_code *d, const struct dot_results *first,
                            enum dot_use use)
{
    struct span t = {.begins_column = true, .ends_column = true, .loop_label = LABEL_LOOP,
                     .next_is_last = d->passes == 1};

    t.last = t.own = kind(use, first->source, first->guard);
    put_span(d, &t, true);
    end_column(d);
    return t;
}

/* every pass is a span: the first one, those between, the last one of a column */
static struct span many_spans(struct dot_code *d, const struct dot_results *first,
                              enum dot_use use)
{
    bool adds = !d->has_accumulators;
    struct dot_results none = kind(USE_NONE, SOURCE_ZERO, 0);
    struct dot_results end = adds ? kind(use, SOURCE_MEMORY, 0)
                                  : kind(use, first->source, first->guard);
    struct dot_results more = adds ? kind(USE_SUM, SOURCE_MEMORY, 0) : none;
    struct span t = {.last = end, .own = adds ? *first : none, .begins_column = true,
                     .next_is_last = d->passes == 2,
                     .loop_label = LABEL_LOOP};
    int odd = d->last_differs && d->passes > 2;         /* loads what the last pass takes */

    t.own.use = adds ? USE_SUM : USE_NONE;
    put_span(d, &t, true);
    if (first->source == SOURCE_GUARDED)
        bundler_add(&d->b, isa_pmov(P_LAST_ADD, R(P_LATER)));
    else
        bundler_add(&d->b, isa_pmov(P_LAST_ADD, I(0)));
    bundler_end(&d->b);
    t = (struct span){.last = adds ? kind(USE_SUM, SOURCE_GUARDED, P_LAST_ADD) : none,
                      .own = more};
    middle_passes(d, &t, d->passes - 2 - odd, 1, false);
    middle_passes(d, &t, odd, 2, true);
    t.own = end;
    t.ends_column = true;
    t.next_is_last = false;
    t.loop_label = LABEL_LOOP + 3;
    if (!adds)
        t.own = none;
    put_span(d, &t, false);
    end_column(d);
    t.last = end;
    return t;
}

static void put_step(struct dot_code *d)
{
    const struct dot_step *s = d->s;
    enum dot_use use = s->adds_up ? USE_SUM : USE_EPILOGUE;
    enum dot_source source = s->first_step >= 0 ? SOURCE_GUARDED : SOURCE_ZERO;
    struct dot_results first = kind(use, source, P_LATER);
    struct span t;

    begin_step(d);
    t = d->span == d->span_columns * d->passes ? one_span(d, &first, use)
                                           : many_spans(d, &first, use);
    drain(d, &t);
}

static int put_one(struct dot_code *d, const struct dot_step *s, int label_base, struct arena *a,
                   struct err *e)
{
    struct bundler b = d->b;

    if (dot_code_init(d, s, a, e) || dot_epilogue_registers(d, a, e))
        return -1;
    d->b = b;
    d->label_base = label_base;
    put_step(d);
    return 0;
}

/* where `is_last` is false: the step that leaves its sums in VMEM */
static int put_both(struct dot_code *d, const struct dot_step *s, int is_last, struct arena *a,
                    struct err *e)
{
    struct dot_step plain = *s, last = *s;

    plain.adds_up = true;
    plain.epilogue = NULL;
    last.parts.count = 0;               /* the contraction goes on behind the first step */
    bundler_begin(&d->b, "product", 0);
    bundler_end_branch(&d->b, LABEL_LAST_STEP, is_last, false);
    if (put_one(d, &plain, 0, a, e))
        return -1;
    bundler_begin(&d->b, NULL, 0);
    bundler_end_branch(&d->b, LABEL_STEP_END, ISA_PRED_ALWAYS, false);
    bundler_label(&d->b, LABEL_LAST_STEP, "last_step");
    return put_one(d, &last, LABEL_COUNT, a, e);
}

int dot_step_code(const struct dot_step *s, int is_last, struct arena *a,
                  struct isa_program *out, struct err *e)
{
    struct dot_code *d = arena_alloc(a, sizeof(*d));
    int status;

    if (dot_step_check(s, e))
        return -1;
    bundler_init(&d->b, s->chip);
    status = is_last < 0 ? put_one(d, s, 0, a, e) : put_both(d, s, is_last, a, e);
    if (status == 0) {
        bundler_label(&d->b, LABEL_STEP_END, "step_end");
        bundler_begin(&d->b, NULL, 0);
        d->b.length = 1;
        bundler_end(&d->b);
        bundler_finish(&d->b, "product", a, out);
    }
    bundler_fini(&d->b);
    return status;
}
