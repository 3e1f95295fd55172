/*
 * A time for each operation of a loop's body, modulo the II (iterative
 * modulo scheduling): operations with the longest path behind them first, each
 * at the earliest time at which what it needs is there and a slot of the
 * II is free; where there is none, it takes its place from those that
 * stand there, which are then placed again.
 */
#include "stack/backend/modulo.h"

#include <stdlib.h>
#include <string.h>

#include "sim/chip/limits.h"

#define NEVER (-1)
#define TRIES_PER_OP 8                  /* placings, before the II is given up */
#define FAR (1 << 28)
#define HEIGHT_PASSES 40
#define RUN_AHEAD 16                    /* bundles before those that come first in the source */
#define USERS_PER_OP 4                  /* registers that an operation reads at most */
#define MASK_WEIGHT 4                   /* of masks there are a quarter as many as of vectors */

struct placing {
    const struct modulo_body *l;
    int ii, count;
    int *time, *last_time;              /* now; when placed before */
    int *height, *op_of_rank, *rank;
    int first_rank;                     /* no operation of a lower rank waits */
    int front;                          /* latest time so far, MODULO_IN_ORDER */
    struct isa_slots slots;
    int (*used)[SLOT_COUNT];            /* by row of the II */
    int *all_used;
    uint16_t *full;                     /* by row: bits of slots that take no more */
    int *owner;                         /* by unit and row: operation + 1, 0 = free */
    enum modulo_order order;
    int *maker;                         /* by vector register: operation that writes it, or -1 */
    int *first_user, *next_user;        /* by vector register; USERS_PER_OP * operation + operand */
};

static int floor_div(int a, int b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static int row_of(const struct placing *p, int time)
{
    return time - floor_div(time, p->ii) * p->ii;
}

static enum isa_slot slot_of(const struct placing *p, int i)
{
    return isa_info(p->l->block->op[i].op.code)->slot;
}

/*
 * Heights by relaxation; false when some cycle of edges does not fit the II. One pass
 * finds all paths within a round, so that paths over more rounds than there are passes are
 * taken for such a cycle.
 */
static bool find_heights(const struct modulo_body *l, int ii, int *height)
{
    int count = l->block->op_count;

    memset(height, 0, (size_t)count * sizeof(int));
    for (int pass = 0; pass < HEIGHT_PASSES; pass++) {
        bool is_changed = false;

        for (int i = count - 1; i >= 0; i--)
            for (int k = l->first_out[i]; k >= 0; k = l->edge[k].next_out) {
                const struct modulo_edge *e = &l->edge[k];
                int through = height[e->to] + e->delay - e->distance * ii;

                if (through > height[i]) {
                    height[i] = through;
                    is_changed = true;
                }
            }
        if (!is_changed)
            return true;
    }
    return false;
}

int modulo_mii(const struct modulo_body *l, struct arena *a)
{
    int *height = arena_array(a, (size_t)l->block->op_count, sizeof(int));
    int most = 1, low = l->res_mii;

    for (size_t k = 0; k < l->edge_count; k++)
        most += l->edge[k].delay;
    if (find_heights(l, low, height))
        return low;
    while (low + 1 < most) {            /* `low` is too short, `most` is not */
        int middle = low + (most - low) / 2;

        if (find_heights(l, middle, height))
            most = middle;
        else
            low = middle;
    }
    return most;
}

static bool has_slot(const struct placing *p, int i, int time)
{
    return !(p->full[row_of(p, time)] >> slot_of(p, i) & 1);
}

static void note_full(struct placing *p, int row)
{
    int ops[SLOT_COUNT];

    memcpy(ops, p->used[row], sizeof(ops));
    p->full[row] = 0;
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        ops[slot]++;
        if (p->all_used[row] >= ISA_BUNDLE_OP_MAX || !isa_slots_fit(&p->slots, ops))
            p->full[row] |= (uint16_t)(1u << slot);
        ops[slot]--;
    }
}

static int *owner_of(const struct placing *p, int i, int time)
{
    return &p->owner[p->l->use[i].unit * p->ii + row_of(p, time)];
}

static bool has_unit(const struct placing *p, int i, int time)
{
    if (p->l->use[i].unit < 0)
        return true;
    for (int k = 0; k < p->l->use[i].busy; k++)
        if (*owner_of(p, i, time + k))
            return false;
    return true;
}

/* registers, memory: what placed operations demand */
static void find_bounds(const struct placing *p, int i, int *earliest, int *latest)
{
    const struct modulo_body *l = p->l;

    for (int k = l->first_in[i]; k >= 0; k = l->edge[k].next_in) {
        const struct modulo_edge *e = &l->edge[k];
        int at = e->from == i || p->time[e->from] == NEVER ? 0
                 : p->time[e->from] + e->delay - e->distance * p->ii;

        *earliest = at > *earliest ? at : *earliest;
    }
    for (int k = l->first_out[i]; k >= 0; k = l->edge[k].next_out) {
        const struct modulo_edge *e = &l->edge[k];
        int at = e->to == i || p->time[e->to] == NEVER ? FAR
                 : p->time[e->to] - e->delay + e->distance * p->ii;

        *latest = at < *latest ? at : *latest;
    }
}

/*
 * A pop of an interleaved FIFO: pops of two results lie as many whole IIs
 * apart, rounded down, as their pushes do. Bounds by result `other`.
 */
static void bound_by_result(const struct placing *p, const struct modulo_fifo *f, int mine,
                            int other, int *low, int *high)
{
    int push = p->time[f->push[mine]], other_push = p->time[f->push[other]];
    int other_pop = p->time[f->pop[other]], intervals;

    if (other == mine || push == NEVER || other_push == NEVER || other_pop == NEVER)
        return;
    intervals = floor_div(other_push - push, p->ii);
    *low = other_pop - (intervals + 1) * p->ii + 1;
    *high = other_pop - intervals * p->ii - 1;
}

static const struct modulo_fifo *fifo_of_pop(const struct placing *p, int i)
{
    const struct modulo_fifo *f =
        p->l->fifo_of[i] >= 0 ? &p->l->fifo[p->l->fifo_of[i]] : NULL;

    return f && f->pop[p->l->result_of[i]] == i ? f : NULL;
}

static void find_pop_bounds(const struct placing *p, int i, int *earliest, int *latest)
{
    const struct modulo_fifo *f = fifo_of_pop(p, i);

    for (int k = 0; f && k < f->count; k++) {
        int low = 0, high = FAR;

        bound_by_result(p, f, p->l->result_of[i], k, &low, &high);
        *earliest = low > *earliest ? low : *earliest;
        *latest = high < *latest ? high : *latest;
    }
}

static void book(struct placing *p, int i, int by)
{
    int row = row_of(p, p->time[i]);

    p->used[row][slot_of(p, i)] += by;
    p->all_used[row] += by;
    note_full(p, row);
    for (int k = 0; p->l->use[i].unit >= 0 && k < p->l->use[i].busy; k++)
        *owner_of(p, i, p->time[i] + k) = by > 0 ? i + 1 : 0;
}

static void take_out(struct placing *p, int i)
{
    const struct modulo_fifo *f = p->l->fifo_of[i] >= 0 ? &p->l->fifo[p->l->fifo_of[i]] : NULL;

    if (p->time[i] == NEVER)
        return;
    book(p, i, -1);
    p->time[i] = NEVER;
    if (p->rank[i] < p->first_rank)
        p->first_rank = p->rank[i];
    if (f && f->push[p->l->result_of[i]] == i)
        take_out(p, f->pop[p->l->result_of[i]]);
}

/* the place of a pop among others follows from its push's: it is found again behind that */
static void put(struct placing *p, int i, int time)
{
    const struct modulo_fifo *f = p->l->fifo_of[i] >= 0 ? &p->l->fifo[p->l->fifo_of[i]] : NULL;

    if (f && f->push[p->l->result_of[i]] == i)
        take_out(p, f->pop[p->l->result_of[i]]);
    p->time[i] = p->last_time[i] = time;
    p->front = time > p->front ? time : p->front;
    book(p, i, 1);
}

/* out with those in whose place i stands at `time` */
static void make_slot(struct placing *p, int i, int time)
{
    int row = row_of(p, time);

    for (int k = 0; k < p->count && !has_slot(p, i, time); k++)
        if (p->time[k] != NEVER && row_of(p, p->time[k]) == row &&
            (slot_of(p, k) == slot_of(p, i) || p->all_used[row] >= ISA_BUNDLE_OP_MAX))
            take_out(p, k);
    for (int k = 0; k < p->count && !has_slot(p, i, time); k++)
        if (p->time[k] != NEVER && row_of(p, p->time[k]) == row)
            take_out(p, k);
    for (int k = 0; p->l->use[i].unit >= 0 && k < p->l->use[i].busy; k++)
        if (*owner_of(p, i, time + k))
            take_out(p, *owner_of(p, i, time + k) - 1);
}

/* out with those that must come later than they do, now that i stands at `time` */
static void push_on(struct placing *p, int i, int time)
{
    const struct modulo_body *l = p->l;
    const struct modulo_fifo *f = fifo_of_pop(p, i);

    for (int k = l->first_out[i]; k >= 0; k = l->edge[k].next_out) {
        const struct modulo_edge *e = &l->edge[k];

        if (e->to != i && p->time[e->to] != NEVER &&
            p->time[e->to] < time + e->delay - e->distance * p->ii)
            take_out(p, e->to);
    }
    for (int k = 0; f && k < f->count; k++) {
        int low = 0, high = FAR;

        bound_by_result(p, f, l->result_of[i], k, &low, &high);
        if (time < low || time > high)
            take_out(p, f->pop[k]);
    }
}

static void place_op(struct placing *p, int i)
{
    int earliest = 0, latest = FAR, pop_earliest, time;

    find_bounds(p, i, &earliest, &latest);
    if (p->order == MODULO_IN_ORDER && p->last_time[i] == NEVER && p->front - RUN_AHEAD > earliest)
        earliest = p->front - RUN_AHEAD;
    pop_earliest = earliest;
    find_pop_bounds(p, i, &pop_earliest, &latest);
    for (time = pop_earliest; time < pop_earliest + p->ii && time <= latest; time++)
        if (has_slot(p, i, time) && has_unit(p, i, time)) {
            put(p, i, time);
            return;
        }
    time = p->last_time[i] >= earliest ? p->last_time[i] + 1 : earliest;
    make_slot(p, i, time);
    push_on(p, i, time);
    put(p, i, time);
}

static int compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void rank_ops(struct placing *p, enum modulo_order order, struct arena *a)
{
    int64_t *key = arena_array(a, (size_t)p->count, sizeof(*key));

    for (int i = 0; i < p->count; i++)
        key[i] = (order == MODULO_BY_PATH || order == MODULO_LATE ? (int64_t)(FAR - p->height[i]) << 32 : 0) | i;
    qsort(key, (size_t)p->count, sizeof(*key), compare_keys);
    for (int k = 0; k < p->count; k++) {
        p->op_of_rank[k] = (int)(key[k] & INT32_MAX);
        p->rank[p->op_of_rank[k]] = k;
    }
}

static bool place_all(struct placing *p)
{
    for (int tries = TRIES_PER_OP * p->count; tries > 0; tries--) {
        while (p->first_rank < p->count && p->time[p->op_of_rank[p->first_rank]] != NEVER)
            p->first_rank++;
        if (p->first_rank == p->count)
            return true;
        place_op(p, p->op_of_rank[p->first_rank]);
    }
    return false;
}

/* never more wait than all results that are alive in any bundle of an II, each by itself */
static bool surely_fits(const struct placing *p, const struct modulo_fifo *f)
{
    int most = 0;

    for (int i = 0; i < f->count; i++)
        most += (p->time[f->pop[i]] - p->time[f->push[i]]) / p->ii + 1;
    return most <= f->depth;
}

/* results in the FIFO at once, a popped one to the end of its bundle */
static bool fits_depth(const struct placing *p, const struct modulo_fifo *f)
{
    if (surely_fits(p, f))
        return true;
    for (int row = 0; row < p->ii; row++) {
        int waiting = 0;

        for (int i = 0; i < f->count; i++)
            waiting += floor_div(p->time[f->pop[i]] - row, p->ii)
                       - floor_div(p->time[f->push[i]] - 1 - row, p->ii);
        if (waiting > f->depth)
            return false;
    }
    return true;
}

static bool fit_depths(const struct placing *p)
{
    for (int f = 0; f < p->l->fifo_count; f++)
        if (!fits_depth(p, &p->l->fifo[f]))
            return false;
    return true;
}

/* latest use of a vector register by an operation other than i; -1: none */
static int last_other_use(const struct placing *p, int v, int i)
{
    int last = -1;

    for (int k = p->first_user[v]; k >= 0; k = p->next_user[k]) {
        int user = k / USERS_PER_OP;

        if (user != i && p->time[user] > last)
            last = p->time[user];
    }
    return last;
}

/* what makes the register comes behind the operation that moves: neither pops nor carries */
static bool follows(const struct placing *p, int v)
{
    int maker = p->maker[v];

    return p->order == MODULO_LATE && maker >= 0 && p->l->use[maker].unit < 0;
}

/* by how many bundles registers are held longer when i moves from `was` to `time` */
static int longer_lives(const struct placing *p, int i, int was, int time)
{
    const struct depend_regs *r = &p->l->block->regs[i];
    const int *fixed = p->l->block->v_fixed;
    bool makes = r->v_write >= 0 || r->m_write >= 0;    /* a store is better early */
    int longer = 0;

    for (int k = 0; k < r->v_read_count; k++) {
        int last = last_other_use(p, r->v_read[k], i);

        if (fixed[r->v_read[k]] < 0 && r->v_read[k] != r->v_write && last < time &&
            !(makes && follows(p, r->v_read[k])))
            longer += time - (last > was ? last : was);
    }
    if (r->v_write >= 0 && fixed[r->v_write] < 0)
        longer -= time - was;
    if (r->m_write >= 0)
        longer -= MASK_WEIGHT * (time - was);
    return longer;
}

static void move_late(struct placing *p, int i)
{
    const struct modulo_fifo *f = fifo_of_pop(p, i);
    int earliest = 0, latest = FAR, was = p->time[i];

    find_bounds(p, i, &earliest, &latest);
    find_pop_bounds(p, i, &earliest, &latest);
    if (latest == FAR || (p->l->fifo_of[i] >= 0 && !f))
        return;
    book(p, i, -1);
    for (int time = latest; time >= was; time--) {
        if (time > was && (!has_slot(p, i, time) || !has_unit(p, i, time) ||
                           longer_lives(p, i, was, time) > 0))
            continue;
        p->time[i] = time;
        if (time == was || !f || fits_depth(p, f))
            break;
    }
    book(p, i, 1);
}

static void find_users(struct placing *p, struct arena *a)
{
    const struct code_block *b = p->l->block;

    p->first_user = arena_array(a, (size_t)b->v_count + 1, sizeof(int));
    p->next_user = arena_array(a, (size_t)p->count * USERS_PER_OP, sizeof(int));
    p->maker = arena_array(a, (size_t)b->v_count + 1, sizeof(int));
    for (int v = 0; v < b->v_count; v++)
        p->first_user[v] = p->maker[v] = -1;
    for (int i = 0; i < p->count; i++)
        if (b->regs[i].v_write >= 0)
            p->maker[b->regs[i].v_write] = i;
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < b->regs[i].v_read_count; k++) {
            int user = i * USERS_PER_OP + k;

            p->next_user[user] = p->first_user[b->regs[i].v_read[k]];
            p->first_user[b->regs[i].v_read[k]] = user;
        }
}

/* the later a value is made, the shorter it lives; chains follow their ends */
static void move_all_late(struct placing *p, struct arena *a)
{
    int64_t *key = arena_array(a, (size_t)p->count, sizeof(*key));

    find_users(p, a);
    for (int i = 0; i < p->count; i++)
        key[i] = ((int64_t)(FAR - p->time[i]) << 32) | (int64_t)(p->count - 1 - i);
    qsort(key, (size_t)p->count, sizeof(*key), compare_keys);
    for (int k = 0; k < p->count; k++)
        move_late(p, p->count - 1 - (int)(key[k] & INT32_MAX));
    if (p->order == MODULO_LATE) {      /* what did not follow after all is looked at again */
        p->order = MODULO_BY_PATH;
        move_all_late(p, a);
    }
}

static void take_schedule(const struct placing *p, struct modulo_schedule *s)
{
    int first = FAR, last = 0;

    for (int i = 0; i < p->count; i++)
        first = p->time[i] < first ? p->time[i] : first;
    s->ii = p->ii;
    s->time = p->time;
    for (int i = 0; i < p->count; i++) {
        s->time[i] -= first;
        last = s->time[i] > last ? s->time[i] : last;
    }
    s->stages = last / p->ii + 1;
    s->span = last + 1;
}

bool modulo_place(const struct modulo_body *l, int ii, enum modulo_order order,
                  struct modulo_schedule *s, struct arena *a)
{
    size_t count = (size_t)l->block->op_count, rows = (size_t)ii;
    struct placing p = {.l = l, .ii = ii, .count = (int)count, .order = order};

    p.time = arena_array(a, count, sizeof(int));
    p.last_time = arena_array(a, count, sizeof(int));
    p.height = arena_array(a, count, sizeof(int));
    p.op_of_rank = arena_array(a, count, sizeof(int));
    p.rank = arena_array(a, count, sizeof(int));
    p.used = arena_array(a, rows, sizeof(*p.used));
    p.all_used = arena_array(a, rows, sizeof(int));
    p.full = arena_array(a, rows, sizeof(*p.full));
    p.owner = arena_array(a, rows * (size_t)l->unit_count + 1, sizeof(int));
    for (size_t i = 0; i < count; i++)
        p.time[i] = p.last_time[i] = NEVER;
    for (size_t i = 0; i < count; i++)
        if (l->use[i].unit >= 0 && l->use[i].busy > ii)
            return false;
    chip_slots(l->chip, &p.slots);
    for (int row = 0; row < ii; row++)
        note_full(&p, row);
    if (!find_heights(l, ii, p.height))
        return false;
    rank_ops(&p, order, a);
    if (!place_all(&p) || !fit_depths(&p))
        return false;
    move_all_late(&p, a);
    take_schedule(&p, s);
    return true;
}
