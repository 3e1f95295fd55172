/* Energy: the table, one operation at a time, and a real launch, each against sums made by hand. */
#include "tests/test.h"

#include "report/energy/energy.h"
#include "tests/rigs/rig.h"

#include <math.h>

static void costs_of(const char *name, struct chip *chip, struct energy_costs *c)
{
    struct err e;

    assert_int_equal(chip_load_builtin(chip, name, NULL, NULL, &e), 0);
    energy_costs_of(chip, c);
}

static struct energy of_text(struct rig *r, const char *chip, const char *text)
{
    struct energy_costs c;
    struct chip costly;
    const struct isa_program *p = rig_assemble(r, text);

    costs_of(chip, &costly, &c);
    return energy_of_op(&c, &r->chip, &p->op[0]);
}

static void expect(const struct energy *e, enum energy_component c, int64_t fj)
{
    if (e->fj[c] != fj)
        fail_msg("%s: %lld fJ, expected %lld", energy_component_name(c), (long long)e->fj[c],
                 (long long)fj);
}

TEST(at_7_nm_the_costs_are_those_of_the_table)
{
    struct energy_costs c;
    struct chip chip;

    costs_of("v4", &chip, &c);
    assert_true(c.node_nm == 7.0 && !c.is_node_assumed);
    assert_int_equal(c.fj[ENERGY_F32_ADD], 380);
    assert_int_equal(c.fj[ENERGY_BF16_MUL], 210);
    assert_int_equal(c.fj[ENERGY_VMEM_BYTE], 1750);     /* 14 pJ per 8 bytes */
    assert_int_equal(c.fj[ENERGY_HBM_BYTE], 43750);     /* 350 pJ per 8 bytes */
    costs_of("v6e", &chip, &c);
    assert_true(c.node_nm == 7.0 && c.is_node_assumed && c.tdp_w == 0.0);
    assert_string_equal(c.measured, "");
    assert_int_equal(c.bundle_bytes, chip.core_bundle_bytes);
}

TEST(at_16_nm_the_costs_lie_on_the_line_between_7_and_45_on_logarithmic_scales)
{
    struct energy_costs c;
    struct chip chip;
    double share = log(16.0 / 7) / log(45.0 / 7);

    costs_of("v3", &chip, &c);
    assert_true(c.node_nm == 16.0 && c.tdp_w == 450.0);
    assert_string_equal(c.measured, chip.energy_measured);
    assert_int_equal(c.fj[ENERGY_F32_ADD], llround(380 * pow(900.0 / 380, share)));
    assert_int_equal(c.fj[ENERGY_INT8_MUL], llround(70 * pow(200.0 / 70, share)));
    /* no figure for bf16 at 45 nm: as f32 */
    assert_int_equal(c.fj[ENERGY_BF16_MUL], llround(210 * pow(3700.0 / 1310, share)));
    assert_int_equal(c.fj[ENERGY_HBM_BYTE], 43750);
    assert_int_equal(c.fj[ENERGY_ICI_BYTE], 40000);
}

TEST(every_constant_and_component_has_a_name_and_every_constant_a_source)
{
    static const struct { const char *name, *source; } constants[] = {
#define ENERGY(id, name, at_45nm, at_7nm, source) {name, source},
#include "report/energy/energy.def"
    };

    for (int i = 0; i < ENERGY_CONSTANT_COUNT; i++) {
        assert_true(strlen(constants[i].name) > 3);
        assert_true(strlen(constants[i].source) > 6);
    }
    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++) {
        assert_non_null(energy_component_key((enum energy_component)i));
        assert_true(strlen(energy_component_meaning((enum energy_component)i)) > 6);
    }
}

TEST(vector_operations_pay_for_lanes_and_for_their_registers)
{
    struct rig r;
    struct energy e;
    int64_t byte = 95;

    rig_open(&r, "v6e", &(struct rig_options){0});
    e = of_text(&r, "v4", "{ v2 = vadd.f32 v0, v1 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VPU, 1024 * 380);
    expect(&e, ENERGY_OF_VREG, 3 * 4096 * byte);
    e = of_text(&r, "v4", "{ v2 = vadd.f32 v0, 1.0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VREG, 2 * 4096 * byte);
    e = of_text(&r, "v4", "{ v2 = vmul.f32 v0, v1 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VPU, 1024 * 1310);
    e = of_text(&r, "v4", "{ v2 = vmul.bf16 v0, v1 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VPU, 2048 * 210);
    e = of_text(&r, "v4", "{ v2 = vadd.s32 v0, v1 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VPU, 1024 * 30);
    e = of_text(&r, "v4", "{ v2 = vmul.u32 v0, v1 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VPU, 1024 * 1480);
    e = of_text(&r, "v4", "{ v2 = vld [vmem:0] }\n{ shalt }\n");
    expect(&e, ENERGY_OF_VMEM, 4096 * 1750);
    expect(&e, ENERGY_OF_VREG, 4096 * byte);
    expect(&e, ENERGY_OF_VPU, 0);
    e = of_text(&r, "v4", "{ s2 = sadd.s32 s0, s1 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_SCALAR, 30);
    assert_int_equal(energy_total_fj(&e), 30);
    rig_close(&r);
}

TEST(matrix_operations_pay_for_every_element_of_the_array_by_type)
{
    struct rig r;
    struct energy e;

    rig_open(&r, "v6e", &(struct rig_options){0});
    e = of_text(&r, "v4", "{ vmatmul.bf16.gmra.mrb[0].mxu0 v0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_MXU_BF16, 16LL * 256 * 256 * (210 + 380));
    e = of_text(&r, "v4", "{ vmatmul.f32.gmra.mrb[0].mxu0 v0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_MXU_BF16, 8LL * 256 * 256 * (210 + 380));
    e = of_text(&r, "v4", "{ vmatmul.s8.gmra.mrb[0].mxu0 v0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_MXU_INT8, 32LL * 256 * 256 * (70 + 30));
    expect(&e, ENERGY_OF_MXU_BF16, 0);
    e = of_text(&r, "v4", "{ vmatmul.u4.gmra.mrb[0].mxu0 v0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_MXU_INT4, 64LL * 256 * 256 * (18 + 30));
    e = of_text(&r, "v4", "{ vmatmul.f8e5m2.gmra.mrb[0].mxu0 v0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_MXU_FP8, 32LL * 256 * 256 * (105 + 380));
    e = of_text(&r, "v4", "{ vmatpush1.bf16.msra.mxu0 v0 }\n{ shalt }\n");
    expect(&e, ENERGY_OF_MXU_DATA, 4096 * 95);
    rig_close(&r);
}

/* a loop, guards, and copies both ways */
static const char program[] =
    "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] ;; s1 = smov 0 }\n"
    "{ dma.done.wait [sflag:0], 256 }\n"
    "{ vsyncadd [sflag:0], -256 }\n"
    "loop:\n"
    "{ v0 = vld [vmem:0] ;; s1 = sadd.s32 s1, 1 }\n"
    "{ v1 = vadd.f32 v0, v0 ;; p1 = scmp.lt.s32.totalorder s1, 10 }\n"
    "{ sbr.rel (p1) target = loop }\n"
    "{ vst [vmem:0] v1 }\n"
    "{ v2 = vmul.f32 (p1) v0, v0 }\n"
    "{ dma.vmem_to_hbm 0, 128, 512, [sflag:1] }\n"
    "{ dma.done.wait [sflag:1], 128 }\n"
    "{ vsyncadd [sflag:1], -128 }\n"
    "{ shalt }\n";

TEST(a_launch_costs_what_its_operations_bundles_and_bytes_cost)
{
    struct rig r;
    struct energy_costs c;
    struct energy e;
    int64_t issued = 0, loads = 0, stores = 0, adds = 0, copied = 0, on_bus = 0, sum = 0;

    rig_open(&r, "tiny-2", &(struct rig_options){0});
    for (int core = 0; core < 2; core++)
        rig_load(&r, core, program);
    assert_int_equal(rig_run(&r), 0);
    energy_costs_of(&r.chip, &c);
    e = energy_of_launch(&c, r.m);
    for (int core = 0; core < 2; core++) {
        const struct core_counters *n = machine_counters(r.m, core);

        issued += n->issue_cycles;
        loads += n->op_count[OP_VLD];
        stores += n->op_count[OP_VST];
        adds += n->op_count[OP_VADD_F32];
        copied += n->hbm_read_bytes + n->hbm_write_bytes;
        assert_int_equal(n->op_count[OP_VMUL_F32], 0);
    }
    assert_int_equal(adds, 20);
    assert_int_equal(copied, 2 * (256 + 128) * 32);
    for (int chip = 0; chip < r.slice.chip_count; chip++)
        on_bus += machine_hbm_stats(r.m, chip)->read_bytes +
                  machine_hbm_stats(r.m, chip)->write_bytes;
    expect(&e, ENERGY_OF_VPU, adds * 1024 * 380);
    expect(&e, ENERGY_OF_VREG, (3 * adds + loads + stores) * 4096 * 95);
    expect(&e, ENERGY_OF_VMEM, ((loads + stores) * 4096 + copied) * 1750);
    expect(&e, ENERGY_OF_HBM, on_bus * 43750);
    expect(&e, ENERGY_OF_FETCH, issued * 41 * 1063);
    expect(&e, ENERGY_OF_ICI, 0);
    expect(&e, ENERGY_OF_MXU_BF16, 0);
    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++)
        sum += e.fj[i];
    assert_true(sum == energy_total_fj(&e) && sum > 0);
    rig_close(&r);
}

TEST(bytes_on_links_are_paid_for_on_every_hop)
{
    static const char sender[] =
        "{ dma.vmem_to_vmem.remote 0, 128, 0, [sflag:2], [sflag:3], 3 }\n"
        "{ dma.done.wait [sflag:3], 128 }\n{ vsyncadd [sflag:3], -128 }\n{ shalt }\n";
    static const char waiter[] =
        "{ dma.done.wait [sflag:2], 128 }\n{ vsyncadd [sflag:2], -128 }\n{ shalt }\n";
    struct rig r;
    struct energy_costs c;
    struct energy e;
    int64_t wire = 0;

    rig_open(&r, "tiny-4", &(struct rig_options){0});
    rig_load(&r, 0, sender);
    rig_load(&r, 3, waiter);
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    for (int i = 0; i < net_link_count(machine_net(r.m)); i++)
        wire += net_link(machine_net(r.m), i)->wire_bytes;
    assert_true(wire >= 128 * 32);
    energy_costs_of(&r.chip, &c);
    e = energy_of_launch(&c, r.m);
    expect(&e, ENERGY_OF_ICI, wire * 40000);
    expect(&e, ENERGY_OF_VMEM, 2 * 128 * 32 * 1750);    /* out of one, into the other */
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_7_nm_the_costs_are_those_of_the_table),
        cmocka_unit_test(
            at_16_nm_the_costs_lie_on_the_line_between_7_and_45_on_logarithmic_scales),
        cmocka_unit_test(every_constant_and_component_has_a_name_and_every_constant_a_source),
        cmocka_unit_test(vector_operations_pay_for_lanes_and_for_their_registers),
        cmocka_unit_test(matrix_operations_pay_for_every_element_of_the_array_by_type),
        cmocka_unit_test(a_launch_costs_what_its_operations_bundles_and_bytes_cost),
        cmocka_unit_test(bytes_on_links_are_paid_for_on_every_hop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
