#include "tests/rigs/same_launch.h"

#include "sim/observe/inspect.h"
#include "tests/test.h"

#define SMEM_BYTES 1024                 /* that are compared */

struct pair {
    struct machine *one, *other;
    const char *what;
    int core;
};

static void same(const struct pair *p, const char *name, int64_t index, int64_t one, int64_t other)
{
    if (one != other)
        fail_msg("%s: core %d: %s %lld is %lld, and %lld", p->what, p->core, name,
                 (long long)index, (long long)one, (long long)other);
}

static void compare_counters(const struct pair *p)
{
    const struct core_counters *one = machine_counters(p->one, p->core);
    const struct core_counters *other = machine_counters(p->other, p->core);
    int i;

    same(p, "cycles", 0, one->cycles, other->cycles);
    same(p, "issued", 0, one->issue_cycles, other->issue_cycles);
    same(p, "idle", 0, one->idle_cycles, other->idle_cycles);
    for (i = 0; i < STALL_COUNT; i++)
        same(p, stall_name((enum stall_reason)i), i, one->stall_cycles[i], other->stall_cycles[i]);
    for (i = 0; i < one->unit_count; i++) {
        same(p, "busy", i, one->unit[i].busy_cycles, other->unit[i].busy_cycles);
        same(p, "waiting", i, one->unit[i].waiting_cycles, other->unit[i].waiting_cycles);
        same(p, "unit idle", i, one->unit[i].idle_cycles, other->unit[i].idle_cycles);
        same(p, "unit operations", i, one->unit[i].op_count, other->unit[i].op_count);
    }
    for (i = 0; i < OP_COUNT; i++)
        same(p, "operations", i, one->op_count[i], other->op_count[i]);
    if (memcmp(one, other, sizeof(*one)) != 0)
        fail_msg("%s: core %d: counters differ", p->what, p->core);
}

static void compare_bundles(const struct pair *p)
{
    const struct isa_program *program = machine_program(p->one, p->core);
    uint32_t i;

    for (i = 0; program && i < program->bundle_count; i++) {
        same(p, "count of bundle", i, machine_bundle_count(p->one, p->core, i),
             machine_bundle_count(p->other, p->core, i));
        same(p, "stall of bundle", i, machine_bundle_stall(p->one, p->core, i),
             machine_bundle_stall(p->other, p->core, i));
        if (memcmp(machine_bundle_copies(p->one, p->core, i),
                   machine_bundle_copies(p->other, p->core, i), sizeof(struct bundle_copies)) != 0)
            fail_msg("%s: core %d: copies of bundle %u differ", p->what, p->core, (unsigned)i);
    }
}

static void compare_state(const struct pair *p)
{
    struct core_view one, other;
    int i;

    machine_core(p->one, p->core, &one);
    machine_core(p->other, p->core, &other);
    same(p, "bundle", 0, one.bundle, other.bundle);
    same(p, "now", 0, one.now, other.now);
    for (i = 0; i < ISA_SREG_COUNT; i++)
        same(p, "s", i, machine_scalar(p->one, p->core, i), machine_scalar(p->other, p->core, i));
    for (i = 0; i < ISA_PRED_COUNT; i++)
        same(p, "p", i, machine_predicate(p->one, p->core, i),
             machine_predicate(p->other, p->core, i));
    for (i = 0; i < machine_chip(p->one)->sync_flags; i++)
        same(p, "flag", i, machine_flag(p->one, p->core, i), machine_flag(p->other, p->core, i));
}

static void compare_smem(const struct pair *p)
{
    unsigned char one[SMEM_BYTES], other[SMEM_BYTES];
    struct err e;

    if (machine_smem_read(p->one, p->core, 0, one, sizeof(one), &e)
        || machine_smem_read(p->other, p->core, 0, other, sizeof(other), &e))
        fail_msg("%s", e.msg);
    if (memcmp(one, other, sizeof(one)) != 0)
        fail_msg("%s: core %d: smem differs", p->what, p->core);
}

static void compare_faults(const struct pair *p)
{
    const struct fault *one = machine_fault(p->one), *other = machine_fault(p->other);

    if (one->kind != other->kind || strcmp(one->msg, other->msg) != 0)
        fail_msg("%s: \"%s\", and \"%s\"", p->what, one->msg, other->msg);
    same(p, "cycle of the fault", 0, one->cycle, other->cycle);
}

void assert_same_launch(const struct rig *one, const struct rig *other, const char *what)
{
    struct pair p = {.one = one->m, .other = other->m, .what = what};

    compare_faults(&p);
    same(&p, "cycles of the machine", 0, machine_cycles(p.one), machine_cycles(p.other));
    for (p.core = 0; p.core < machine_core_count(p.one); p.core++) {
        compare_state(&p);
        compare_bundles(&p);
        compare_counters(&p);
        compare_smem(&p);
    }
}
