/* The commands that move the machine, each of which sets a goal for debug_go. */
#include "cli/debug/debug.h"

#include "base/units.h"

#include <string.h>

#define STEPS_MAX (1 << 30)

static struct debug_goal goal_for(const struct debugger *d)
{
    return (struct debug_goal){.until = CYCLE_NEVER, .core = d->core};
}

static int expect_core_running(const struct debugger *d, struct core_view *v, struct err *e)
{
    if (debug_expect_running(d, e))
        return -1;
    machine_core(d->m, d->core, v);
    if (v->activity == CORE_HAS_NO_PROGRAM)
        return err_set(e, "core %d has no program", d->core);
    if (v->activity == CORE_HAS_HALTED)
        return err_set(e, "core %d has halted; core N selects another", d->core);
    return 0;
}

static bool has_stopped(const struct debugger *d, struct debug_goal *goal,
                        struct core_view *v)
{
    machine_core(d->m, goal->core, v);
    return v->activity == CORE_HAS_HALTED || v->activity == CORE_HAS_FAULTED;
}

/* ---- bundles and cycles ---- */

static bool has_issued(const struct debugger *d, struct debug_goal *goal)
{
    struct core_view v;

    return has_stopped(d, goal, &v) || v.issued >= goal->issued;
}

int debug_command_step(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    struct core_view v;
    int64_t count = 1;

    if (debug_parse_only_number(args->text, "the count", 1, STEPS_MAX, &count, e)
        || expect_core_running(d, &v, e))
        return -1;
    goal.is_reached = has_issued;
    goal.issued = v.issued + count;
    debug_go(d, &goal);
    return 0;
}

int debug_step_bundle(struct debugger *d, void (*report)(struct debugger *d, const void *context),
                      const void *context, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    struct core_view v;

    if (expect_core_running(d, &v, e))
        return -1;
    goal.is_reached = has_issued;
    goal.issued = v.issued + 1;
    goal.report = report;
    goal.context = context;
    debug_go(d, &goal);
    return 0;
}

int debug_command_cycle(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    int64_t count = 1;

    if (debug_parse_only_number(args->text, "the count", 1, INT64_MAX / 4, &count, e)
        || debug_expect_running(d, e))
        return -1;
    goal.until = d->cycle + count;
    debug_go(d, &goal);
    return 0;
}

/* ---- to a bundle ---- */

static bool is_at_op(const struct debugger *d, struct debug_goal *goal)
{
    const struct isa_program *p = machine_program(d->m, goal->core);
    struct core_view v;

    if (has_stopped(d, goal, &v))
        return true;
    return v.issued > goal->issued && v.bundle < p->bundle_count
           && debug_has_op(p, v.bundle, goal->name);
}

int debug_command_next(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    const char *at = args->text;
    char name[DEBUG_WORD_MAX];
    struct core_view v;

    if (!debug_next_word(&at, name))
        return err_set(e, "which operation? for example: next vmatmul");
    if (debug_expect_end(at, e) || !debug_is_op_name(name, e) || expect_core_running(d, &v, e))
        return -1;
    goal.is_reached = is_at_op;
    goal.issued = v.issued;
    goal.name = name;
    debug_go(d, &goal);
    return 0;
}

static bool is_at_other_note(const struct debugger *d, struct debug_goal *goal)
{
    const struct isa_program *p = machine_program(d->m, goal->core);
    struct core_view v;

    if (has_stopped(d, goal, &v))
        return true;
    return v.bundle < p->bundle_count && p->bundle[v.bundle].note != goal->first;
}

int debug_command_source(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    const struct isa_program *p;
    struct core_view v;

    if (debug_expect_end(args->text, e) || expect_core_running(d, &v, e))
        return -1;
    p = machine_program(d->m, d->core);
    if (p->note_count == 0)
        return err_set(e, "the program of core %d names no source operations", d->core);
    goal.is_reached = is_at_other_note;
    goal.first = v.bundle < p->bundle_count ? p->bundle[v.bundle].note : 0;
    debug_go(d, &goal);
    return 0;
}

static bool is_at_bundle(const struct debugger *d, struct debug_goal *goal)
{
    struct core_view v;

    return has_stopped(d, goal, &v) || (v.issued > goal->issued && v.bundle == goal->first);
}

static int until_cycle(struct debugger *d, const char *word, struct err *e)
{
    struct debug_goal goal = goal_for(d);

    if (debug_parse_number(word, "the cycle", d->cycle + 1, INT64_MAX / 4, &goal.until, e))
        return -1;
    debug_go(d, &goal);
    return 0;
}

int debug_command_until(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    const char *at = args->text;
    char word[DEBUG_WORD_MAX];
    struct core_view v;

    if (!debug_next_word(&at, word))
        return err_set(e, "until where? @CYCLE, a label, :LINE or a bundle");
    if (debug_expect_end(at, e) || debug_expect_running(d, e))
        return -1;
    if (word[0] == '@')
        return until_cycle(d, word + 1, e);
    if (expect_core_running(d, &v, e)
        || debug_find_bundle(d, d->core, word, &goal.first, e))
        return -1;
    goal.is_reached = is_at_bundle;
    goal.issued = v.issued;
    debug_go(d, &goal);
    return 0;
}

/* ---- out of a loop ---- */

static bool is_outside(const struct debugger *d, struct debug_goal *goal)
{
    struct core_view v;

    return has_stopped(d, goal, &v) || v.bundle < goal->first || v.bundle > goal->last;
}

/* the shortest backward branch around `bundle`, with its delay bundles */
static bool find_loop(const struct debugger *d, const struct isa_program *p, uint32_t bundle,
                      struct debug_goal *goal)
{
    uint32_t delay = (uint32_t)machine_chip(d->m)->core_branch_delay_bundles;
    bool is_found = false;

    for (uint32_t i = 0; i < p->bundle_count; i++)
        for (uint32_t j = 0; j < p->bundle[i].op_count; j++) {
            const struct isa_op *op = &p->op[p->bundle[i].first_op + j];
            uint32_t first = (uint32_t)op->operand[0].value, last = i + delay;

            if (op->code != OP_SBR || first > i || bundle < first || bundle > last
                || (is_found && last - first >= goal->last - goal->first))
                continue;
            goal->first = first;
            goal->last = last;
            is_found = true;
        }
    return is_found;
}

int debug_command_out(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    struct core_view v;

    if (debug_expect_end(args->text, e) || expect_core_running(d, &v, e))
        return -1;
    if (!find_loop(d, machine_program(d->m, d->core), v.bundle, &goal))
        return err_set(e, "bundle %u is in no loop", (unsigned)v.bundle);
    fprintf(d->out, "out of the loop of bundles %u..%u\n", (unsigned)goal.first,
            (unsigned)goal.last);
    goal.is_reached = is_outside;
    debug_go(d, &goal);
    return 0;
}

/* ---- to the next event ---- */

static uint64_t mixed(uint64_t signature, uint64_t value)
{
    return (signature ^ value) * 0x9e3779b97f4a7c15u + (signature >> 29);
}

/* flags, copies started and under way, which cores wait or have halted */
static uint64_t signature_of(const struct debugger *d)
{
    uint64_t sum = 0;
    struct core_view v;

    for (int i = 0; i < d->core_count; i++) {
        machine_core(d->m, i, &v);
        sum = mixed(sum, (uint64_t)v.activity);
        sum = mixed(sum, (uint64_t)machine_copies_issued(d->m, i));
        sum = mixed(sum, (uint64_t)machine_copy_count(d->m, i));
        for (int flag = 0; flag < machine_chip(d->m)->sync_flags; flag++)
            sum = mixed(sum, (uint32_t)machine_flag(d->m, i, flag));
    }
    return sum;
}

static bool has_event(const struct debugger *d, struct debug_goal *goal)
{
    return signature_of(d) != goal->signature;
}

int debug_command_event(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);

    if (debug_expect_end(args->text, e) || debug_expect_running(d, e))
        return -1;
    goal.is_reached = has_event;
    goal.signature = signature_of(d);
    debug_go(d, &goal);
    return 0;
}

/* `first`: it has waited since */
static bool has_woken(const struct debugger *d, struct debug_goal *goal)
{
    struct core_view v;

    if (has_stopped(d, goal, &v))
        return true;
    if (v.activity == CORE_WAITS) {
        goal->first = 1;
        return false;
    }
    return goal->first == 1;
}

int debug_command_wake(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);
    struct core_view v;

    if (debug_expect_end(args->text, e) || expect_core_running(d, &v, e))
        return -1;
    goal.is_reached = has_woken;
    goal.first = v.activity == CORE_WAITS;
    debug_go(d, &goal);
    return 0;
}

/* ---- to the next stop, to the end ---- */

int debug_command_continue(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);

    if (debug_expect_end(args->text, e) || debug_expect_running(d, e))
        return -1;
    debug_go(d, &goal);
    return 0;
}

int debug_command_finish(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = goal_for(d);

    if (debug_expect_end(args->text, e) || debug_expect_running(d, e))
        return -1;
    goal.ignores_stops = true;
    debug_go(d, &goal);
    return 0;
}
