/*
 * A loop over row tiles: what an iteration asks for is learnt by writing it to nowhere, then it is
 * written as a loop of as many as follow each other evenly, and the rest behind it.
 */
#include "stack/kernels/mosaic/product.h"

#define WORK_OF_ITERATION 8             /* tiles that are read or written, at least */
#define UNROLL_MAX 8
#define OPS_OF_ITERATION 512            /* at most, where several row tiles are one: what more compute
                                           at once leaves no registers to overlap iterations with */
#define RUNS_OF_BLOCK 16                 /* short ones that are one block, */
#define OPS_OF_BLOCK 512                /* of at most so many operations */

static void restart(struct tiler *t)
{
    t->memo_count = t->loaded_count = 0;
    t->next_unit = t->wanted_at = 0;
    t->lane_index = t->row_index = -1;
    t->arrays_met = 0;
    tile_lives_begin(t);
}

/* the values of one iteration */
static bool put_iteration(struct tiler *t, int64_t row, int64_t parts)
{
    restart(t);
    return t->body(t, row, parts) && !t->is_failed;
}

static bool put_nowhere(struct tiler *t, int64_t row, int64_t parts)
{
    struct vcode nowhere;
    bool is_right;

    vcode_init(&nowhere, t->l->a);
    t->c = &nowhere;
    is_right = put_iteration(t, row, parts);
    t->ops_written = 0;
    t->rows_written = parts;
    for (size_t i = 0; i < nowhere.block_count; i++)
        t->ops_written += (int64_t)nowhere.block[i].op_count;
    t->c = &t->l->code;
    vcode_fini(&nowhere);
    return is_right;
}

/* what an iteration asks for */
static bool rehearse(struct tiler *t, int64_t row, int64_t parts)
{
    bool is_right = put_nowhere(t, row, parts);

    if (is_right && t->is_too_small) {
        t->is_crowded = true;
        t->is_too_small = false;
        t->pointer_count = 0;
        is_right = put_nowhere(t, row, parts);
    }
    return is_right;
}

static void set_pointers(struct tiler *t)
{
    struct lower *l = t->l;

    for (int i = 0; i < t->pointer_count; i++) {
        const struct tile_pointer *p = &t->pointer[i];

        if (p->has_offset)
            emit_sld(&l->code, p->reg, NONE, I(p->smem));
        else
            emit_smov(&l->code, p->reg, I(p->value));
    }
}

/* so many row tiles of an iteration that the loop has enough to overlap */
static int64_t step_of(const struct tiler *t, int64_t run, int64_t work)
{
    int64_t step = t->parts;

    while (step < run && run % (2 * step) == 0 && work * step < WORK_OF_ITERATION &&
           step / t->parts < UNROLL_MAX && t->ops_written / t->rows_written * 2 * step <= OPS_OF_ITERATION)
        step *= 2;
    return step;
}

#define LOOP_COUNTER (TILE_POINTERS_MAX)        /* behind the pointers' registers */

static bool put_run(struct tiler *t, int64_t first, int64_t run, int64_t work)
{
    struct lower *l = t->l;
    int64_t rounds;

    t->step = step_of(t, run, work);
    rounds = run / t->step;
    t->is_moving = rounds > 1;
    t->pointer_count = 0;
    if (!rehearse(t, first, rounds ? t->step : run))
        return false;
    pallas_begin_block(l);
    set_pointers(t);
    pulled_latch(t, rounds > 1);
    if (rounds > 1) {
        pallas_begin_block(l);
        vcode_loop_begin(&l->code, LOOP_COUNTER, rounds);
        if (!put_iteration(t, first, t->step))
            return false;
        if (t->hoists)
            tile_hoist(t, l->code.block_count - 1);
        for (int i = 0; i < t->pointer_count; i++)
            if (t->pointer[i].step)
                vcode_loop_step(&l->code, t->pointer[i].reg, t->pointer[i].step);
        vcode_loop_end(&l->code, LOOP_COUNTER);
        t->marks_latches = false;
        scalar_forget(l);
        if (run % t->step == 0)
            return true;
        /* the rest, by itself: pointers stand behind the rounds */
        return put_run(t, first + rounds * t->step, run % t->step, work);
    }
    if (rounds && !put_iteration(t, first, t->step))
        return false;
    pallas_begin_block(l);
    if (rounds && run % t->step)
        return put_run(t, first + t->step, run % t->step, work);
    return rounds ? true : put_iteration(t, first, run);
}

/* ----- runs that are too short for loops: several in one block, so that they overlap */

/* what all of them ask for; asked again where registers for addresses turn out to be too few */
static bool rehearse_all(struct tiler *t, int64_t first, int64_t run, int64_t count)
{
    bool was_crowded;

    do {
        was_crowded = t->is_crowded;
        t->pointer_count = 0;
        for (int64_t i = 0; i < count; i++)
            if (!rehearse(t, first + i * run, run))
                return false;
    } while (t->is_crowded != was_crowded);
    return true;
}

static bool put_runs(struct tiler *t, int64_t first, int64_t run, int64_t count)
{
    t->step = run;
    t->is_moving = false;
    if (!rehearse_all(t, first, run, count))
        return false;
    pallas_begin_block(t->l);
    set_pointers(t);
    pulled_latch(t, false);
    for (int64_t i = 0; i < count; i++)
        if (!put_iteration(t, first + i * run, run))
            return false;
    pallas_begin_block(t->l);
    return true;
}

/* how many runs from `first` on are one block; 1: each is a loop, or has enough to overlap */
static int64_t runs_together(const struct tiler *t, int64_t left, int64_t run, int64_t work)
{
    int64_t ops = t->ops_written / t->rows_written * run, count = left / run;

    if (count < 2 || step_of(t, run, work) < run || run % t->parts)
        return 1;
    count = count < RUNS_OF_BLOCK ? count : RUNS_OF_BLOCK;
    while (count > 1 && count * ops > OPS_OF_BLOCK)
        count--;
    return count;
}

int tile_loop(struct tiler *t, int64_t all, int64_t work)
{
    int64_t run;

    t->run = all;
    t->parts = 1;
    t->step = all;
    t->is_moving = all > 1;
    t->product_count = t->units_used = t->spills_taken = 0;
    t->all = all;
    if (!rehearse(t, 0, 1) ||           /* what goes on evenly, how many rows a tile has */
        !pulled_load(t))
        return -1;
    /* fewer than a packed tile has: what goes into it is made in one piece, one after the other */
    run = t->run < t->parts ? t->parts : t->run;
    for (int64_t first = 0, count; first < all; first += count * run) {
        count = runs_together(t, all - first, run, work);
        if (count > 1 ? !put_runs(t, first, run, count)
                      : !put_run(t, first, all - first < run ? all - first : run, work))
            return -1;
    }
    return 0;
}
