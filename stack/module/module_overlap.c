/*
 * Sums over replicas beside the kernels that do not wait for them.
 *
 * Between two loops' ends the steps are put into a new order: a sum starts when what it adds is
 * there, as the only one under way; it goes on, part by part, between kernels where something
 * has arrived by the predicted times of both; what reads it comes when it is done. Gradients that
 * are summed are made as soon as they can be. Kernels keep their order else, so that the
 * gradients of one bucket come before the update of another. All replicas have the same program,
 * and so the same order of parts: whoever waits, waits for what stands earlier in the others'
 * lists, and compute kernels end by themselves.
 */
#include "stack/module/module_impl.h"

#include "stack/kernels/comm/kernel_collective_spread.h"
#include "stack/kernels/registry.h"

#include <string.h>

#define PATIENCE 0.02                   /* of the next kernel, that a part may wait */

enum choice { BY_GAIN, TOGETHER, SPREAD };

struct node {                           /* a step of the region */
    struct module_step step;
    int *reader;                        /* nodes that must come behind it */
    int reader_count, follows;          /* follows: how many it must come behind, */
    int waits_for;                      /* of which so many are not done */
    size_t reader_capacity;
    int ready_since;                    /* how many were done when it waited for nothing more */
    bool is_chosen;                     /* so it must be */
    bool is_done, is_solo;              /* solo: it needs what a sum under way has of SMEM */
    bool is_for_sums;                   /* nobody else waits for its results */
    enum choice choice;                 /* of a sum: how it is done */
    double cycles;
};

struct region {
    struct module_plan *plan;
    struct node *node;
    int count, first, done;             /* first: the lowest that is not done */
    struct module_step *order;          /* the steps as they will be */
    int order_count;
    size_t order_capacity;
    double now, gap, cycles_per_ns;     /* core cycles; the gap between kernels */
    int flying;                         /* the sum under way; -1: none */
    int phase;                          /* of its phases, the next one */
    double ready;                       /* when that need not wait */
    int parts, first_part;              /* its; where they begin in the order */
    int cut[SPREAD_CUTS_MOST];
    bool *is_blocked;                   /* by node: it waits for sums that are not done */
};

/* ----- who waits for whom */

static bool touch(const struct module_plan *p, const struct module_value *x,
                  const struct module_value *y)
{
    int64_t a, b;

    if (module_plan_buffer(p, x) != module_plan_buffer(p, y))
        return false;
    a = module_plan_offset(p, x);
    b = module_plan_offset(p, y);
    return a < b + y->array.bytes && b < a + x->array.bytes;
}

static bool any_touch(const struct module_plan *p, struct module_value **x, int count_x,
                      struct module_value **y, int count_y)
{
    for (int i = 0; i < count_x; i++)
        for (int k = 0; k < count_y; k++)
            if (touch(p, x[i], y[k]))
                return true;
    return false;
}

static bool must_follow(const struct module_plan *p, const struct module_step *a,
                        const struct module_step *b)
{
    return any_touch(p, a->result, a->result_count, b->operand, b->operand_count) ||
           any_touch(p, a->result, a->result_count, b->result, b->result_count) ||
           any_touch(p, a->operand, a->operand_count, b->result, b->result_count);
}

static void add_reader(struct node *n, int reader)
{
    n->reader = mem_grow(n->reader, &n->reader_capacity, (size_t)n->reader_count + 1,
                         sizeof(*n->reader));
    n->reader[n->reader_count++] = reader;
}

static bool reads(const struct module_plan *p, const struct module_step *s,
                  const struct module_step *from)
{
    return any_touch(p, from->result, from->result_count, s->operand, s->operand_count);
}

static void find_order(struct region *r)
{
    for (int i = r->count - 1; i >= 0; i--) {
        struct node *n = &r->node[i];
        int readers = 0, others = 0;

        for (int k = i + 1; k < r->count; k++) {
            struct node *next = &r->node[k];

            if (!must_follow(r->plan, &n->step, &next->step))
                continue;
            add_reader(n, k);
            next->follows++;
            if (reads(r->plan, &next->step, &n->step)) {
                readers++;
                others += !next->step.sums && !next->is_for_sums;
            }
        }
        n->is_for_sums = readers > 0 && others == 0;
    }
}

/* ----- the new order */

/* cycles by the cost model, with what is left beside a sum; arrays have no places yet */
static void predict(struct region *r, struct node *n)
{
    struct kernel_job job =
        module_plan_job(r->plan, &n->step, true, module_plan_scoped_bytes(r->plan->settings));
    const struct kernel_kind *kind = kernel_kind_of(n->step.body);
    struct tiling t[2] = {{.predicted_cycles = 0}};    /* of one alone any would do */

    if (n->step.sums || !kind)
        return;
    n->is_solo = kind->tilings(&job, t, 2) == 0;
    n->cycles = (double)t[0].predicted_cycles + r->gap;
}

static struct module_step *add_order(struct region *r, const struct module_step *s)
{
    r->order = mem_grow(r->order, &r->order_capacity, (size_t)r->order_count + 1,
                        sizeof(*r->order));
    r->order[r->order_count] = *s;
    return &r->order[r->order_count++];
}

static void finish(struct region *r, int index)
{
    struct node *n = &r->node[index];

    n->is_done = true;
    r->done++;
    for (int i = 0; i < n->reader_count; i++)
        if (--r->node[n->reader[i]].waits_for == 0)
            r->node[n->reader[i]].ready_since = r->done;
    while (r->first < r->count && r->node[r->first].is_done)
        r->first++;
}

/* sums in the order in which they become possible; kernels in theirs, gradients first */
static bool goes_first(const struct node *a, const struct node *b)
{
    if (a->step.sums)
        return a->ready_since < b->ready_since;
    return a->is_for_sums && !b->is_for_sums;
}

/* that waits for nothing, a sum or a kernel; -1: there is none */
static int find_ready(const struct region *r, bool is_sum)
{
    int best = -1;

    for (int i = r->first; i < r->count; i++) {
        const struct node *n = &r->node[i];

        if (!n->is_done && n->waits_for == 0 && (n->step.sums != NULL) == is_sum &&
            !(n->is_solo && r->flying >= 0) && (best < 0 || goes_first(n, &r->node[best])))
            best = i;
    }
    return best;
}

/* cycles of all kernels that need no sum which is not done */
static double free_cycles(struct region *r)
{
    double cycles = 0;

    memset(r->is_blocked, 0, (size_t)r->count * sizeof(*r->is_blocked));
    for (int i = r->first; i < r->count; i++) {
        const struct node *n = &r->node[i];

        if (n->is_done)
            continue;
        for (int k = 0; k < n->reader_count && (n->step.sums || r->is_blocked[i]); k++)
            r->is_blocked[n->reader[k]] = true;
        if (!n->step.sums && !r->is_blocked[i])
            cycles += n->cycles;
    }
    return cycles;
}

/* whether its parts and what nothing hides take less than the best algorithm by itself */
static bool gains(struct region *r, const struct kernel_spread_times *t)
{
    double parts = 0, flights = 0, hidden = free_cycles(r) / r->cycles_per_ns;

    for (int i = 0; i <= t->cuts; i++)
        parts += t->part_ns[i];
    for (int i = 0; i < t->cuts; i++)
        flights += t->flight_ns[i];
    return parts + (flights > hidden ? flights - hidden : 0) < t->together_ns;
}

static bool chooses_spread(struct region *r, const struct node *sum)
{
    return sum->choice == BY_GAIN ? gains(r, sum->step.sums->spread) : sum->choice == SPREAD;
}

static struct kernel_sums *add_part(struct region *r)
{
    struct module_step *part = add_order(r, &r->node[r->flying].step);
    const struct kernel_sums *all = part->sums;

    part->sums = arena_alloc(r->plan->arena, sizeof(*part->sums));
    *part->sums = *all;
    part->sums->part = r->parts++;
    return part->sums;
}

/* all parts know where the list is cut */
static void end_sum(struct region *r)
{
    int cuts = r->parts - 1;
    int *cut = arena_array(r->plan->arena, (size_t)cuts + 1, sizeof(*cut));

    memcpy(cut, r->cut, (size_t)cuts * sizeof(*cut));
    for (int i = r->first_part; i < r->order_count; i++)
        if (r->order[i].sums) {
            r->order[i].sums->cut = cut;
            r->order[i].sums->cut_count = cuts;
        }
    finish(r, r->flying);
    r->flying = -1;
}

/* goes on until it would wait, or to its end, waiting */
static void run_part(struct region *r, bool to_the_end)
{
    struct kernel_sums *s = add_part(r);
    const struct kernel_spread_times *t = s->spread;
    double from = r->now;

    do {
        r->now = r->now > r->ready ? r->now : r->ready;
        r->now += t->part_ns[r->phase] * r->cycles_per_ns;
        if (r->phase < t->cuts)
            r->ready = r->now + t->flight_ns[r->phase] * r->cycles_per_ns;
        r->phase++;
    } while (to_the_end && r->phase <= t->cuts);
    s->part_cycles = (int64_t)(r->now - from);
    if (r->phase > t->cuts)
        end_sum(r);
    else
        r->cut[r->parts - 1] = t->cut[r->phase - 1];
}

/* a stage is only where blocks wait in it */
static void set_bucket(struct region *r, const struct module_step *sum)
{
    const struct kernel_spread_times *t = sum->sums->spread;

    if (t)
        r->plan->buffer[sum->sums->bucket].bytes =
            sum->sums->is_spread ? t->bytes : t->together_bytes;
}

static void start_sum(struct region *r, int index, bool is_last)
{
    struct kernel_sums *s = r->node[index].step.sums;

    s->is_spread = s->spread && (!is_last || r->node[index].is_chosen) &&
                   chooses_spread(r, &r->node[index]);
    set_bucket(r, &r->node[index].step);
    if (!s->is_spread) {
        add_order(r, &r->node[index].step);
        r->now += s->spread ? s->spread->together_ns * r->cycles_per_ns : 0;
        finish(r, index);
        return;
    }
    r->flying = index;
    r->phase = r->parts = 0;
    r->ready = 0;
    r->first_part = r->order_count;
    run_part(r, false);
}

static void run_kernel(struct region *r, int index)
{
    add_order(r, &r->node[index].step);
    r->now += r->node[index].cycles;
    finish(r, index);
}

/* A wait is short that is a small part of the kernel which would run instead of it. */
static bool is_ready(const struct region *r, int kernel)
{
    return r->ready <= r->now + r->gap + PATIENCE * r->node[kernel].cycles;
}

/* what comes next */
static void advance(struct region *r)
{
    int kernel = find_ready(r, false), sum = r->flying < 0 ? find_ready(r, true) : -1;

    if (sum >= 0 && !(kernel >= 0 && r->node[kernel].is_solo))
        start_sum(r, sum, kernel < 0);
    else if (r->flying >= 0 && (kernel < 0 || is_ready(r, kernel)))
        run_part(r, kernel < 0);
    else
        run_kernel(r, kernel);
}

/* the whole order: its predicted cycles */
static double arrange(struct region *r)
{
    r->first = r->done = r->order_count = 0;
    r->flying = -1;
    r->now = 0;
    for (int i = 0; i < r->count; i++) {
        r->node[i].is_done = false;
        r->node[i].waits_for = r->node[i].follows;
        r->node[i].ready_since = 0;
    }
    while (r->first < r->count)
        advance(r);
    return r->now;
}

/* ----- gathers that wait for scatters */

static bool has_scatters(const struct region *r)
{
    for (int i = 0; i < r->count; i++)
        if (r->node[i].step.sums && r->node[i].step.sums->spread &&
            r->node[i].step.sums->op != HLO_ALL_REDUCE)
            return true;
    return false;
}

/*
 * A scatter that is hidden well may leave nothing to hide the gather behind it. So the other way
 * is tried for each sum, and kept where the whole is predicted to be shorter.
 */
static void arrange_best(struct region *r)
{
    double best = arrange(r), cycles;

    for (int i = 0; i < r->count && has_scatters(r); i++) {
        struct node *n = &r->node[i];

        if (!n->step.sums || !n->step.sums->spread || n->is_chosen)
            continue;
        n->choice = n->step.sums->is_spread ? TOGETHER : SPREAD;
        cycles = arrange(r);
        if (cycles < best) {
            best = cycles;
            continue;
        }
        n->choice = BY_GAIN;
        arrange(r);
    }
}

/* ----- the sums of a launch, and those of another program that they are to be like */

static void list_sums(struct module_plan *p)
{
    p->sum_count = 0;
    p->sums = arena_array(p->arena, (size_t)p->step_count + 1, sizeof(*p->sums));
    p->sum = arena_array(p->arena, (size_t)p->step_count + 1, sizeof(*p->sum));
    for (int i = 0; i < p->step_count; i++) {
        const struct module_step *s = &p->step[i];
        struct module_sum *sum = &p->sum[p->sum_count];

        if (!s->sums)
            continue;
        *sum = (struct module_sum){.source = s->source, .op = s->sums->op};
        for (int k = 0; k < s->operand_count; k++)
            sum->bytes += s->operand[k]->array.bytes;
        p->sums[p->sum_count++] = s->sums;
    }
}

static bool is_like(const struct module_sum *a, const struct module_sum *b)
{
    return a->op == b->op && a->bytes == b->bytes && strcmp(a->source, b->source) == 0;
}

/*
 * What the program of one round has for this sum: where several are alike, the one of its turn, for
 * rounds follow each other. NULL: none.
 */
static const struct module_sum *sum_of_round(const struct module_plan *p,
                                             const struct kernel_sums *sums)
{
    const struct module *as = p->settings->sums_as;
    int index = 0, turn = 0, alike = 0;

    if (!as)
        return NULL;
    while (p->sums[index] != sums)
        index++;
    for (int i = 0; i < index; i++)
        turn += is_like(&p->sum[i], &p->sum[index]);
    for (int i = 0; i < as->sum_count; i++)
        alike += is_like(&as->sum[i], &p->sum[index]);
    turn = alike ? turn % alike : 0;
    for (int i = 0; i < as->sum_count; i++)
        if (is_like(&as->sum[i], &p->sum[index]) && turn-- == 0)
            return &as->sum[i];
    return NULL;
}

static void choose_as_round(struct region *r)
{
    for (int i = 0; i < r->count; i++) {
        struct node *n = &r->node[i];
        const struct module_sum *as = n->step.sums ? sum_of_round(r->plan, n->step.sums) : NULL;

        n->is_chosen = as != NULL;
        if (as)
            n->choice = as->is_spread ? SPREAD : TOGETHER;
    }
}

/* ----- the regions of a launch */

static bool has_sums(const struct module_plan *p, int begin, int end)
{
    for (int i = begin; i < end; i++)
        if (p->step[i].sums)
            return true;
    return false;
}

/* steps begin..end - 1 give way to the new order: the end of that */
static int replace(struct region *r, int begin, int end)
{
    struct module_plan *p = r->plan;

    while (end > begin)
        module_plan_remove_step(p, --end);
    for (int i = 0; i < r->order_count; i++)
        module_plan_insert_step(p, begin + i, r->order[i]);
    return begin + r->order_count;
}

static int spread(struct module_plan *p, int begin, int end)
{
    const struct chip *c = p->settings->chip;
    struct region r = {.plan = p, .count = end - begin,
                       .cycles_per_ns = 1e-3 * (double)c->chip_clock_mhz};

    r.gap = (double)c->launch_kernel_ns * r.cycles_per_ns;
    r.node = mem_alloc((size_t)r.count * sizeof(*r.node));
    r.is_blocked = mem_alloc((size_t)r.count * sizeof(*r.is_blocked));
    for (int i = 0; i < r.count; i++) {
        r.node[i].step = p->step[begin + i];
        predict(&r, &r.node[i]);
    }
    find_order(&r);
    choose_as_round(&r);
    arrange_best(&r);
    end = replace(&r, begin, end);
    for (int i = 0; i < r.count; i++)
        mem_free(r.node[i].reader);
    mem_free(r.node);
    mem_free(r.is_blocked);
    mem_free(r.order);
    return end;
}

void module_plan_overlap(struct module_plan *p)
{
    list_sums(p);
    if (p->settings->sums_wait || p->settings->megacore)
        return;
    for (int begin = 0, end; begin < p->step_count; begin = end + 1) {
        for (end = begin; end < p->step_count && p->step[end].kind == STEP_KERNEL; end++)
            ;
        if (has_sums(p, begin, end))
            end = spread(p, begin, end);
    }
    for (int i = 0; i < p->sum_count; i++)
        p->sum[i].is_spread = p->sums[i]->is_spread;
}

bool module_plan_is_beside_sum(const struct module_plan *p, int step)
{
    while (--step >= 0 && p->step[step].kind == STEP_KERNEL) {
        const struct kernel_sums *sums = p->step[step].sums;

        if (sums)
            return sums->part < sums->cut_count;
    }
    return false;
}
