/*
 * When a loop is worth a look, and how iterations are added.
 *
 * Visits of a head are timed, which costs next to nothing. Only where the time
 * between them repeats does the core keep an anchor, and `period` visits later
 * compare and walk. A head that does not repay that is left alone for twice as
 * many visits each time.
 */
#include "sim/fastpath/memo.h"
#include "sim/observe/record.h"

#include "base/arena.h"

#include <string.h>

#define HEADS 64                        /* loops under observation */
#define PLACES 4                        /* where one is looked for */
#define TIMES 32                        /* of visits that are kept: above 2 * MEMO_PERIOD_MAX */
#define VISITS_MAX 24                   /* without a repetition: not a steady loop */
#define REST_MAX 64                     /* visits */
#define BACKOFF_FIRST 16                /* visits */
#define BACKOFF_MAX (1u << 20)
#define LOOK_BUNDLES 300                /* what a look costs, in bundles simulated, */
#define WALK_BUNDLES 3                  /* and its walk, per bundle of the path */

struct head {
    uint32_t pc;
    uint32_t last;                      /* bundle of the loop that a visit has come from */
    bool is_used;
    uint32_t ignored;                   /* visits still to pass without a look */
    uint32_t rest;                      /* likewise, but timed: until a pipeline is even */
    uint32_t backoff;                   /* how many they will be the next time */
    uint32_t visits;                    /* timed since the last look */
    struct visit {
        cycle_t at;
        uint64_t occupancy;             /* memo_occupancy */
    } visit[TIMES];
    uint32_t period;                    /* of the anchor; 0: none taken */
    uint32_t anchored_at;               /* `visits` when it was, */
    int64_t anchored_bundles;           /* and bundles that were not simulated up to then */
    uint32_t last_tried;                /* period that failed, 0: none */
    uint32_t failures;                  /* since a success */
    uint32_t differences;               /* of the state, in a row, with last_tried + 1 */
    struct memo_anchor *anchor;
};

struct memo {
    struct head head[HEADS];
    struct memo_anchor *now;            /* at the visit that is being looked at */
    struct memo_walk *walk;
    struct machine_memo_stats stats;
};

struct memo *memo_create(void)
{
    struct memo *m = mem_alloc(sizeof(*m));

    m->now = mem_alloc(sizeof(*m->now));
    return m;
}

void memo_destroy(struct memo *m)
{
    if (!m)
        return;
    for (int i = 0; i < HEADS; i++)
        memo_free_anchor(m->head[i].anchor);
    memo_free_anchor(m->now);
    memo_walk_destroy(m->walk);
    mem_free(m);
}

/* the times seen so far belong to something else */
static void forget_visits(struct head *h)
{
    h->visits = 0;
    h->rest = 0;
    h->period = 0;
}

void memo_forget(struct memo *m)
{
    for (int i = 0; i < HEADS; i++)
        forget_visits(&m->head[i]);
}

void memo_reset(struct memo *m)
{
    for (int i = 0; i < HEADS; i++)
        m->head[i].is_used = false;
    if (m->walk)
        m->walk->program = NULL;
    memset(&m->stats, 0, sizeof(m->stats));
}

const struct machine_memo_stats *memo_stats(const struct memo *m)
{
    return &m->stats;
}

/* its place, or NULL; a head that finds a few places taken takes the first of them */
static struct head *find_head(struct memo *m, uint32_t pc)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        struct head *h = &m->head[(pc + i) % HEADS];

        if (!h->is_used || h->pc == pc)
            return h;
    }
    return NULL;
}

static struct head *head_of(struct memo *m, uint32_t pc)
{
    struct head *h = find_head(m, pc);

    if (h && h->is_used)
        return h;
    h = h ? h : &m->head[pc % HEADS];
    *h = (struct head){.pc = pc, .is_used = true, .backoff = BACKOFF_FIRST, .anchor = h->anchor};
    return h;
}

static void leave_alone(struct head *h)
{
    forget_visits(h);
    h->last_tried = 0;
    h->failures = h->differences = 0;
    h->ignored = h->backoff;
    if (h->backoff < BACKOFF_MAX)
        h->backoff *= 2;
}

static const struct visit *visit_of(const struct head *h, uint32_t visits_ago)
{
    return &h->visit[(h->visits - 1 - visits_ago) % TIMES];
}

static bool seems_to_repeat(const struct head *h, uint32_t period)
{
    const struct visit *last = visit_of(h, 0), *before = visit_of(h, period);

    return h->visits > 2 * period && last->occupancy == before->occupancy
           && last->at - before->at == before->at - visit_of(h, 2 * period)->at;
}

/* the next period to try after the one that failed last, 0 if none repeats */
static uint32_t period_of(const struct head *h)
{
    for (uint32_t i = 0; i < MEMO_PERIOD_MAX; i++) {
        uint32_t period = (h->last_tried + i) % MEMO_PERIOD_MAX + 1;

        if (seems_to_repeat(h, period))
            return period;
    }
    return 0;
}

static void set_anchor(struct head *h, struct core *c, uint32_t period)
{
    if (!h->anchor)
        h->anchor = mem_alloc(sizeof(*h->anchor));
    memo_take_anchor(h->anchor, c, h->pc, h->last);
    h->period = period;
    h->anchored_at = h->visits;
    h->anchored_bundles = c->memo->stats.bundles;
}

static bool is_same_state(const struct memo_anchor *a, const struct memo_anchor *b)
{
    return a->word_count == b->word_count
           && memcmp(a->word, b->word, a->word_count * sizeof(*a->word)) == 0;
}

/* visits until the times that differ have passed, as results in a FIFO do: a guess */
static uint32_t visits_to_rest(const struct memo_anchor *a, const struct memo_anchor *b,
                               uint32_t period)
{
    cycle_t most = 0, cycles_per_visit = (b->now - a->now) / period, visits;

    for (size_t i = 0; i < a->word_count && i < b->word_count; i++)
        if (a->word[i] != b->word[i] && later(a->word[i], b->word[i]) > most)
            most = later(a->word[i], b->word[i]);
    visits = cycles_per_visit > 0 ? most / cycles_per_visit : 0;
    return visits < REST_MAX ? (uint32_t)visits : REST_MAX;
}

/* bundles issue before the limit and before a pause */
static int64_t within_time(const struct core *c, int64_t iterations, cycle_t cycles)
{
    cycle_t end = c->limit < c->stop_at ? c->limit : c->stop_at;
    int64_t most = (end - c->now) / cycles;

    return iterations < most ? iterations : most;
}

static void add_counts(struct core *c, const struct memo_walk *w, int64_t n)
{
    for (uint32_t i = 0; i < w->length; i++) {
        const struct decoded_bundle *b = &c->program->bundle[w->pc[i]];
        const struct decoded_op *op = &c->program->op[b->first_op];

        c->bundle_count[w->pc[i]] += (uint64_t)n;
        for (uint32_t j = 0; b->has_guard && j < b->op_count; j++)
            if (op[j].is_guarded && (w->live[i] >> j & 1u) && op[j].code != OP_COUNT)
                c->guarded_count[op[j].source] += (uint64_t)n;
    }
}

static void add_cycles(struct core *c, const struct memo_anchor *before,
                       const struct memo_anchor *now, int64_t n)
{
    for (uint32_t i = 0; i < STALL_COUNT; i++)
        c->stall_cycles[i] += n * (now->stall_cycles[i] - before->stall_cycles[i]);
    for (uint32_t i = 0; i < MACHINE_UNIT_MAX; i++) {
        c->waiting_cycles[i] += n * (now->waiting_cycles[i] - before->waiting_cycles[i]);
        c->busy_cycles[i] += n * (now->busy_cycles[i] - before->busy_cycles[i]);
    }
    for (uint32_t i = 0; i <= now->last - now->first; i++)
        c->bundle_stall[now->first + i] += n * (now->bundle_stall[i] - before->bundle_stall[i]);
    c->cmem_read_bytes += n * (now->cmem_read_bytes - before->cmem_read_bytes);
}

static void add_steps(struct core *c, const struct memo_anchor *before,
                      const struct memo_anchor *now, int64_t n)
{
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        c->s[i] = (int32_t)((uint32_t)now->s[i]
                            + (uint32_t)n * ((uint32_t)now->s[i] - (uint32_t)before->s[i]));
    for (int i = 0; i < now->store_count; i++)
        c->store[(c->store_count - 1 - (uint32_t)i) % STORE_RING].rows.first +=
            n * (now->store_first[i] - before->store_first[i]);
}

/* heads on the path miss visits: what they have seen does not go together any more */
static void forget_heads_on(struct memo *m, const struct memo_walk *w)
{
    struct head *h;

    for (uint32_t i = 1; i < w->length; i++)
        if (w->pc[i] <= w->pc[i - 1] && (h = find_head(m, w->pc[i])) != NULL)
            forget_visits(h);
}

/* operations of one cycle are counted by bundle, but for those with a guard */
static void tell(struct core *c, const struct memo_anchor *before, int64_t n)
{
    const struct memo_anchor *now = c->memo->now;
    const struct memo_walk *w = c->memo->walk;
    struct trace_repeat r = {.at = c->now, .period = now->now - before->now, .count = n,
                             .issue_cycles = w->length};
    uint32_t tracks;

    for (uint32_t i = 0; i < STALL_COUNT; i++)
        r.stall_cycles[i] = now->stall_cycles[i] - before->stall_cycles[i];
    for (uint32_t i = 0; i < MACHINE_UNIT_MAX; i++)
        r.busy_cycles[i] = now->busy_cycles[i] - before->busy_cycles[i];
    for (uint32_t i = 0; i < w->length; i++)
        for (tracks = c->program->bundle[w->pc[i]].busy_tracks; tracks; tracks &= tracks - 1)
            r.busy_cycles[__builtin_ctz(tracks)]++;
    record_repeat(c, &r);
}

static void skip(struct core *c, struct head *h, int64_t n)
{
    struct memo *m = c->memo;
    cycle_t cycles = m->now->now - h->anchor->now;

    if (c->recorder)
        tell(c, h->anchor, n);
    add_counts(c, m->walk, n);
    add_cycles(c, h->anchor, m->now, n);
    add_steps(c, h->anchor, m->now, n);
    memo_shift_times(c, n * cycles);
    if (c->recorder)
        record_resume(c);
    m->stats.skips++;
    m->stats.iterations += n * h->period;
    m->stats.bundles += n * m->walk->length;
    forget_heads_on(m, m->walk);        /* itself, if it takes more than one visit */
}

/* the state differed: the same period again when it has settled, then the next */
static void wait_for_state(struct memo *m, struct head *h, uint32_t period)
{
    h->rest = visits_to_rest(h->anchor, m->now, period);
    h->last_tried = ++h->differences < 2 ? period - 1 : period % MEMO_PERIOD_MAX;
    if (h->differences >= 2)
        h->differences = 0;
}

/* n periods less to simulate, against the look; loops inside may have been cut short already */
static bool is_worth_it(const struct memo *m, const struct head *h, int64_t n)
{
    int64_t length = m->walk->length, simulated;

    simulated = length - (m->stats.bundles - h->anchored_bundles);
    return n * simulated >= LOOK_BUNDLES + WALK_BUNDLES * length;
}

/* a period has gone by since the anchor */
static void look(struct core *c, struct head *h)
{
    struct memo *m = c->memo;
    uint32_t period = h->period;
    bool is_same, is_worth = false;
    int64_t n = 0;

    m->stats.looks++;
    memo_take_anchor(m->now, c, h->anchor->first, h->anchor->last);
    if (!m->walk)
        m->walk = memo_walk_create();
    is_same = is_same_state(h->anchor, m->now);
    if (is_same)
        n = memo_walk(m->walk, c, h->anchor, m->now, period);
    if (n > 0)
        n = within_time(c, n, m->now->now - h->anchor->now);
    if (n > 0) {
        is_worth = is_worth_it(m, h, n);
        skip(c, h, n);
    }
    h->period = 0;
    if (is_worth) {
        forget_visits(h);
        h->backoff = BACKOFF_FIRST;
        h->last_tried = period - 1;
        h->failures = h->differences = 0;
    } else if (n > 0 || ++h->failures > 2 * MEMO_PERIOD_MAX) {
        leave_alone(h);
    } else if (is_same) {
        h->last_tried = period % MEMO_PERIOD_MAX;
    } else {
        wait_for_state(m, h, period);
    }
}

void memo_visit(struct core *c, uint32_t end)
{
    struct head *h;
    uint32_t period;

    if (c->recorder && c->recorder->sink->wants_access)
        return;                         /* the rows of an iteration are not those of the next */
    h = head_of(c->memo, c->pc);
    if (h->ignored > 0) {
        h->ignored--;
        return;
    }
    if (end > h->last)
        h->last = end;
    h->visit[h->visits++ % TIMES] = (struct visit){c->now, memo_occupancy(c)};
    if (h->period > 0) {
        if (h->visits - h->anchored_at < h->period)
            return;
        look(c, h);
        return;
    }
    if (h->rest > 0) {
        h->rest--;
        return;
    }
    period = h->last - h->pc < MEMO_PATH_MAX ? period_of(h) : 0;
    if (period > 0)
        set_anchor(h, c, period);
    else if (h->visits > VISITS_MAX)
        leave_alone(h);
}
