/*
 * Every operation with every operand at its extremes, run on a machine: it
 * halts or is a fault that says something, and nothing worse.
 */
#include "isa/check.h"
#include "sim/chip/limits.h"
#include "tests/generate/isa_samples.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define SETUP_BUNDLES 6

static struct rig rig;
static struct isa_limits limits;
static int run_count, fault_count, sample_count;

static struct isa_op move_to(int sreg, int32_t value)
{
    return (struct isa_op){.code = OP_SMOV, .pred = ISA_PRED_ALWAYS, .operand_count = 2,
                           .operand = {{sreg, OPERAND_REG, 0}, {value, OPERAND_IMM, 0}}};
}

/* the scalar registers that samples name hold extremes, which change from run to run */
static void run_sample(const struct isa_op *op)
{
    static const int32_t values[] = {0, 1, -1, INT32_MIN, INT32_MAX, 16, 3, 512, -32, 100000};
    struct isa_op ops[SETUP_BUNDLES];
    struct isa_bundle bundle[SETUP_BUNDLES];
    struct isa_program p = {.name = "sample", .op = ops, .bundle = bundle,
                            .op_count = SETUP_BUNDLES, .bundle_count = SETUP_BUNDLES};
    struct err e;

    if (sample_count++ % 3 != 0)        /* a third of them is enough, and quick */
        return;
    ops[0] = move_to(1, values[run_count % 10]);
    ops[1] = move_to(0, values[run_count / 10 % 10]);
    ops[2] = move_to(16, values[run_count / 3 % 10]);
    ops[3] = *op;
    for (int i = 4; i < SETUP_BUNDLES; i++)
        ops[i] = (struct isa_op){.code = OP_SHALT, .pred = ISA_PRED_ALWAYS};
    for (uint32_t i = 0; i < SETUP_BUNDLES; i++)
        bundle[i] = (struct isa_bundle){.first_op = i, .op_count = 1, .line = i + 1};
    if (isa_check(&p, &limits, &e))
        return;
    if (machine_load(rig.m, 0, &p, &e))
        fail_msg("%s", e.msg);
    run_count++;
    if (rig_run(&rig) == 0)
        return;
    fault_count++;
    assert_int_not_equal(machine_fault(rig.m)->kind, FAULT_NONE);
    assert_true(strlen(rig.err.msg) > 20);
}

static void run_all(const char *slice)
{
    const struct rig_options options = {.cycle_limit = 200000};

    rig_open(&rig, slice, &options);
    chip_isa_limits(&rig.chip, &limits);
    run_count = fault_count = sample_count = 0;
    isa_samples(run_sample);
    assert_true(run_count > 4 * OP_COUNT);
    assert_true(fault_count > 100 && fault_count < run_count / 2);
    rig_close(&rig);
}

TEST(operations_at_their_edges_halt_or_fault_on_a_v4)
{
    run_all("v4");
}

TEST(operations_at_their_edges_halt_or_fault_on_the_teaching_chip)
{
    run_all("tiny");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_at_their_edges_halt_or_fault_on_a_v4),
        cmocka_unit_test(operations_at_their_edges_halt_or_fault_on_the_teaching_chip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
