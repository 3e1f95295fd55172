/*
 * The issue loop of a launch that is repeated (sim/fastpath/replay.h): what bundles compute,
 * in their order. Nothing waits but for what flags say, no time goes by, nobody
 * counts, and no bundle can fail that has not failed in the launch that was
 * simulated; so units and FIFOs have no clocks here. At the halt the entries that
 * are left in them count as pushed and not popped, as they are.
 */
#include "sim/core/core.h"
#include "sim/observe/host_watch.h"
#include "sim/core/issue.h"
#include "sim/fastpath/origins.h"
#include "sim/fastpath/replay.h"
#include "sim/core/vregs.h"

static void settle_fifo(struct fifo *f)
{
    f->pushed = f->written;
    f->popped = f->read;
}

/* the timing side of all units, from the contents side */
static void settle_units(struct core *c)
{
    settle_fifo(&c->v2s);
    settle_fifo(&c->drf);
    for (int i = 0; i < RESULT_FIFO_COUNT; i++)
        if (c->fifo[i])
            settle_fifo(c->fifo[i]);
    for (int i = 0; i < c->chip->xlu_count; i++) {
        c->xlu[i].is_open = c->xlu[i].row_count > 0;
        c->xlu[i].pushed_rows = c->xlu[i].row_count;
    }
}

static void advance(struct core *c)
{
    if (c->halts) {
        c->state = CORE_HALTED;
        settle_units(c);
        return;
    }
    if (c->branch_in > 0 && --c->branch_in == 0)
        c->pc = c->branch_target;
    else
        c->pc++;
}

static inline void execute(struct core *c, const struct decoded_bundle *b)
{
    const struct decoded_op *op = &c->program->op[b->first_op];
    const uint8_t *list = decoded_execs(c->program, b), *end = list + b->exec_count;

    if (c->live == ~0u)
        for (; list < end; list++)
            op[*list].exec(c, &op[*list]);
    else
        for (; list < end; list++)
            if (c->live >> *list & 1u)
                op[*list].exec(c, &op[*list]);
}

/* a bundle whose questions are answered */
static inline void issue(struct core *c, const struct decoded_bundle *b)
{
    if (c->origins)
        origins_bundle(c->origins, c, b);
    if (c->watch)
        host_execute(c, b, decoded_execs(c->program, b), b->exec_count);
    else
        execute(c, b);
    vregs_drop(c, b);
    if (c->state == CORE_RUNNING)
        advance(c);
}

static inline const struct decoded_bundle *here(const struct core *c)
{
    return &c->program->bundle[c->pc];
}

void replay_run_values(struct core *c)
{
    if (c->is_resumed) {
        c->is_resumed = false;
        if (!replay_settle(c, here(c)))
            return;
        issue(c, here(c));
    }
    while (c->state == CORE_RUNNING) {
        const struct decoded_bundle *b = here(c);

        c->live = b->has_guard ? issue_guards_that_hold(c, b) : ~0u;
        c->sync_done = 0;
        if (b->has_sync && !replay_settle(c, b))
            return;
        issue(c, b);
    }
}
