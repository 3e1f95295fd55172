/*
 * Timing mode's loop: carries out the steps of a bundle one by one, and hands over to the issue
 * loop what they cannot do.
 */
#include "sim/core/stream.h"

#include "sim/core/issue.h"
#include "sim/core/timing.h"

/* What the steps of a bundle hand on. */
struct flow {
    struct issue_time t;                /* its time so far, */
    cycle_t at;                         /* and when it issues */
    bool has_odd_rows;
};

static inline void begin(struct flow *f, cycle_t now)
{
    *f = (struct flow){.t = {now, STALL_COUNT}};
}

static inline void wait_for_registers(const struct core *c, const struct stream_step *s,
                                      struct flow *f)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (c->ready_at[s->reg[i]] > f->t.at)
            f->t = (struct issue_time){c->ready_at[s->reg[i]], STALL_OPERAND};
}

/* first row of an access; one that may be out of range is noted */
static inline int64_t first_row(const struct core *c, const struct stream_step *s, struct flow *f)
{
    int64_t first = (int64_t)c->s[s->a] + c->s[s->b];

    if ((uint64_t)first >= (uint64_t)(c->vmem_rows - s->first_to_last))
        f->has_odd_rows = true;
    return first;
}

static inline void wait_for_load(struct core *c, const struct stream_step *s, struct flow *f)
{
    cycle_t settled = f->t.at - c->store_gap_cycles;
    int64_t first = first_row(c, s, f);

    if (c->last_store_at >= settled
        && (*timing_store_bucket(c, first) >= settled || c->wide_store_at >= settled
            || *timing_store_bucket(c, first + s->first_to_last) >= settled)) {
        struct access_rows rows = timing_rows(c, s->op, 1);
        struct issue_time t = f->t;

        timing_wait_for_stores(c, &rows, &t);
        f->t = t;
    }
}

/* false after a fault */
static inline bool wait_for_pop(struct core *c, const struct stream_step *s, struct flow *f)
{
    struct fifo *fifo = c->fifo[s->pop.fifo];
    uint32_t slot = fifo->popped & fifo->mask;

    if (fifo->pushed == fifo->popped || fifo->code[slot] != s->pop.key) {
        c->issue_at = c->now;
        timing_refuse_pop(c, s->op);
        return false;
    }
    issue_not_before(&f->t, fifo->ready_at[slot], (enum stall_reason)s->pop.reason);
    fifo->popped++;
    return true;
}

static inline bool wait_for_any(struct core *c, const struct stream_step *s, struct flow *f)
{
    struct issue_time t = f->t;

    c->issue_at = c->now;
    timing_wait(c, s->op, &t);
    f->t = t;
    return c->state == CORE_RUNNING;
}

static inline void take_store(struct core *c, const struct stream_step *s, struct flow *f)
{
    struct store_record *r = &c->store[c->store_count++ % STORE_RING];
    int64_t first = first_row(c, s, f);

    r->at = f->at;
    r->rows = timing_rows(c, s->op, 0);
    c->last_store_at = f->at;
    *timing_store_bucket(c, first) = f->at;
    *timing_store_bucket(c, first + s->first_to_last) = f->at;
}

static inline void write_results(struct core *c, const struct stream_step *s, cycle_t at)
{
    for (uint32_t i = 0; i < s->count; i++)
        c->ready_at[s->result[i].reg] = at + s->result[i].latency;
}

/* the rest of the bundle by the issue loop, from its issue on */
static void hand_over(struct core *c, const struct flow *f, const struct decoded_bundle *b)
{
    struct issue_time t = f->t;

    c->bank_extra = b->bank_extra;
    issue_finish(c, b, &t);
}

/* false when the bundle does not issue here */
static inline bool issue(struct core *c, const struct stream_step *s, struct flow *f,
                         cycle_t end_at)
{
    const struct decoded_bundle *b;

    if (c->delay_until >= f->t.at)
        issue_not_before(&f->t, c->delay_until, STALL_DELAY);
    c->issue_at = f->at = f->t.at + s->bank_extra;
    if (f->at == c->now && f->at < end_at)
        return true;
    b = &c->program->bundle[c->pc];
    if (f->at >= end_at) {
        hand_over(c, f, b);
        return false;
    }
    issue_charge(c, b, &f->t, f->at);
    return true;
}

/* after a fault, or with an address that may be one: every operation, as the loop does it */
static inline const struct stream_step *execute_all(struct core *c, const struct stream_step *s,
                                                    const struct flow *f)
{
    if (!issue_execute(c, &c->program->bundle[c->pc], f->at))
        return NULL;
    return s + s->count;
}

static inline const struct stream_step *next_bundle(struct core *c, const struct stream_step *s,
                                                    const struct flow *f)
{
    c->now = f->at + 1;
    c->bundle_count[c->pc]++;
    if (c->branch_in > 0 && --c->branch_in == 0) {
        issue_jump(c);
        return &c->program->step[c->program->bundle[c->pc].first_step];
    }
    c->pc++;
    return s + 1;
}

void stream_run(struct core *c)
{
    const struct stream_step *s = &c->program->step[c->program->bundle[c->pc].first_step];
    const cycle_t end_at = c->limit < c->stop_at ? c->limit : c->stop_at;
    int32_t *x = c->s;
    struct flow f;

    begin(&f, c->now);
    c->live = ~0u;
    c->resume_cycles = 0;
    for (;; s++) {
        switch (s->kind) {
        case STEP_GUARDS:
            c->live = issue_guards_that_hold(c, &c->program->bundle[c->pc]);
            break;
        case STEP_UNLESS:
            s += !(c->live >> s->bit & 1u);
            break;
        case STEP_REGISTERS: wait_for_registers(c, s, &f); break;
        case STEP_LOAD: wait_for_load(c, s, &f); break;
        case STEP_POP:
            if (!wait_for_pop(c, s, &f))
                return;
            break;
        case STEP_WAIT:
            if (!wait_for_any(c, s, &f))
                return;
            break;
        case STEP_ISSUE:
            if (!issue(c, s, &f, end_at))
                return;
            break;
        case STEP_STORE: take_store(c, s, &f); break;
        case STEP_TAKE: timing_take(c, s->op, f.at); break;
        case STEP_RESULTS: write_results(c, s, f.at); break;
        case STEP_BODY:
            if (!f.has_odd_rows && c->state == CORE_RUNNING)
                break;
            s = execute_all(c, s, &f);
            if (!s)
                return;
            s--;
            break;
        case STEP_MOVE: x[s->to] = x[s->a]; break;
        case STEP_ADD: x[s->to] = (int32_t)((uint32_t)x[s->a] + (uint32_t)x[s->b]); break;
        case STEP_SUBTRACT: x[s->to] = (int32_t)((uint32_t)x[s->a] - (uint32_t)x[s->b]); break;
        case STEP_AND: x[s->to] = x[s->a] & x[s->b]; break;
        case STEP_LESS: c->p[s->to] = x[s->a] < x[s->b]; break;
        case STEP_BRANCH: exec_SBR(c, s->op); break;
        case STEP_EXECUTE:
            s->op->exec(c, s->op);
            if (c->state != CORE_RUNNING) {
                c->now = f.at;
                return;
            }
            break;
        case STEP_GUARDED:
            issue_commit_guarded(c, &c->program->bundle[c->pc], f.at);
            c->live = ~0u;
            break;
        case STEP_NEXT:
            s = next_bundle(c, s, &f) - 1;
            begin(&f, c->now);
            break;
        case STEP_LEAVE: return;
        default: __builtin_unreachable();
        }
    }
}
