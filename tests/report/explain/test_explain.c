/* Causes of hand-made launches (tests/rigs/explain_rig.h): sums, and the cause that dominates. */
#include "tests/test.h"

#include "base/rng.h"
#include "tests/rigs/explain_rig.h"

#include <math.h>

static void assert_worst(struct explain_rig *f, enum cause wanted, cycle_t cycles)
{
    explain_rig_explain(f);
    assert_true(f->x.core_count > 0);
    assert_string_equal(cause_info(f->x.ranked[0])->key, cause_info(wanted)->key);
    assert_int_equal(f->x.row[wanted].cycles, cycles);
    assert_true(strlen(f->x.row[wanted].why) > 0);
    arena_fini(&f->a);
}

TEST(each_stall_with_one_cause_becomes_that_cause)
{
    static const struct { enum stall_reason reason; enum cause cause; } pairs[] = {
        {STALL_OPERAND, CAUSE_OPERAND}, {STALL_BANK, CAUSE_OPERAND},
        {STALL_STORE_LOAD, CAUSE_OPERAND}, {STALL_TRANSFER, CAUSE_OPERAND},
        {STALL_DIVIDE, CAUSE_OPERAND}, {STALL_FENCE, CAUSE_OPERAND},
        {STALL_STAGING, CAUSE_WEIGHTS}, {STALL_RESULT, CAUSE_RESULT}, {STALL_XLU, CAUSE_XLU},
        {STALL_EUP, CAUSE_EUP}, {STALL_CMEM, CAUSE_CMEM}, {STALL_SYNC, CAUSE_RESUME},
        {STALL_BRANCH, CAUSE_BRANCH}, {STALL_DELAY, CAUSE_KERNELS},
        {STALL_DMA_QUEUE, CAUSE_SMALL_DMAS}, {STALL_FETCH, CAUSE_KERNELS}, {STALL_MXU, CAUSE_UNDERFILL},
    };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct explain_rig f;

        explain_rig_quiet(&f);
        explain_rig_stall(&f, pairs[i].reason, 9000);
        assert_worst(&f, pairs[i].cause, 9000);
    }
}

TEST(idle_cores_are_an_imbalance)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_stall(&f, STALL_OPERAND, 1000);
    f.t.counters[0].idle_cycles = 8000;
    f.t.counters[1].stall_cycles[STALL_OPERAND] += 8000;
    explain_rig_explain(&f);
    assert_int_equal(f.x.row[CAUSE_IDLE].cycles, 4000);
    assert_int_equal(f.x.row[CAUSE_IDLE].core_cycles, 8000);
    arena_fini(&f.a);
}

TEST(products_at_the_peak_are_useful)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_multiply(&f, 100);
    explain_rig_explain(&f);
    assert_int_equal(f.x.row[CAUSE_USEFUL].cycles, 6000);
    assert_int_equal(f.x.row[CAUSE_PADDING].cycles, 0);
    arena_fini(&f.a);
}

TEST(flops_the_model_did_not_ask_for_are_padding)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_multiply(&f, 10);
    explain_rig_stall(&f, STALL_MXU, 5500);
    explain_rig_stall(&f, STALL_OPERAND, 3500);
    assert_worst(&f, CAUSE_PADDING, 5400);
}

TEST(products_narrower_than_the_array_fill_it_partly)
{
    static const struct explain_product narrow = {.m = 1024, .n = 1, .k = 128, .count = 1};
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_multiply(&f, 10);
    explain_rig_stall(&f, STALL_MXU, 5500);
    explain_rig_stall(&f, STALL_OPERAND, 3500);
    f.in.product = &narrow;
    f.in.product_count = 1;
    assert_worst(&f, CAUSE_UNDERFILL, 5400);
}

TEST(three_passes_leave_a_third_useful)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_multiply(&f, 33);
    f.in.passes = 3;
    explain_rig_explain(&f);
    assert_int_equal(f.x.row[CAUSE_USEFUL].cycles, 1980);
    assert_int_equal(f.x.row[CAUSE_PASSES].cycles, 4000);
    assert_int_equal(f.x.row[CAUSE_PADDING].cycles, 20);
    arena_fini(&f.a);
}

TEST(beside_products_full_slots_are_vector_work_and_empty_ones_are_not)
{
    struct explain_rig f;

    for (int full = 0; full < 2; full++) {
        explain_rig_quiet(&f);
        explain_rig_multiply(&f, 100);
        for (int i = 0; i < 2; i++) {
            f.t.counters[i].issue_cycles = 9000;
            f.t.counters[i].matmul_cycles = f.t.counters[i].unit[TRACK_MXU].busy_cycles = 600;
            f.t.counters[i].unit[TRACK_LOAD].op_count = full ? 8100 : 900;
        }
        explain_rig_stall(&f, STALL_MXU, 1000);
        assert_worst(&f, full ? CAUSE_VECTOR : CAUSE_ISSUE, 9000);
    }
}

TEST(without_products_full_slots_are_the_useful_work)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_stall(&f, STALL_OPERAND, 9000);
    for (int i = 0; i < 2; i++)
        f.t.counters[i].unit[TRACK_LOAD].op_count = 800;
    explain_rig_explain(&f);
    assert_int_equal(f.x.row[CAUSE_USEFUL].cycles, 800);
    assert_int_equal(f.x.row[CAUSE_ISSUE].cycles, 200);
    arena_fini(&f.a);
}

TEST(few_long_copies_wait_for_bandwidth)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_copy(&f, 8, 200000);                /* 16,000 cycles at 100 GB/s, one start of 500 */
    explain_rig_explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_HBM_BYTES);
    assert_int_equal(f.x.row[CAUSE_HBM_START].cycles, 8993 * 500 / (8993 + 500));
    arena_fini(&f.a);
}

TEST(many_short_copies_are_small_copies)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_copy(&f, 17, 512);
    explain_rig_stall(&f, STALL_HBM, 8881);
    explain_rig_stall(&f, STALL_SYNC, 119);          /* 17 waits */
    explain_rig_explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_SMALL_DMAS);
    assert_true(f.x.row[CAUSE_SMALL_DMAS].cycles > 8700);
    arena_fini(&f.a);
}

TEST(a_lone_long_wait_is_the_start_of_a_copy)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_copy(&f, 1, 50000);                 /* 500 cycles of bytes, not small */
    explain_rig_explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_HBM_START);
    arena_fini(&f.a);
}

TEST(conflicts_of_rows_and_refreshes_have_a_cause)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_copy(&f, 1, 50000);
    for (int i = 0; i < 2; i++) {
        f.t.memory[i].row_conflicts = 6000;     /* 28 ns each over 16 banks: 10,500 cycles */
        f.t.memory[i].run_count = 6000;
    }
    explain_rig_explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_HBM_ROWS);
    arena_fini(&f.a);
}

TEST(waits_for_links_divide_into_bytes_distance_and_other_cores)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_exchange(&f, 5, 8000000);           /* 8,000 cycles of bytes, 2,000 of distance */
    assert_worst(&f, CAUSE_ICI_BYTES, 7200);
    explain_rig_quiet(&f);
    explain_rig_exchange(&f, 40, 1000000);          /* 1,000 and 16,000 */
    assert_worst(&f, CAUSE_ICI_HOPS, 9000 * 16 / 17);
    explain_rig_quiet(&f);
    explain_rig_exchange(&f, 1, 100000);            /* 100 and 400: the rest is another core's */
    assert_worst(&f, CAUSE_ICI_CORES, 8500);
}

TEST(a_mesh_says_whether_a_torus_would_help)
{
    struct explain_rig f;

    for (int even = 0; even < 2; even++) {
        explain_rig_quiet(&f);
        explain_rig_exchange(&f, 5, 8000000);
        f.t.slice.dim[0] = 4;
        f.t.wire[1].busy_ps = even ? 8000000 : 1000000;
        explain_rig_explain(&f);
        assert_non_null(strstr(f.x.row[CAUSE_ICI_BYTES].why,
                               even ? "wraparound would change nothing" : "of a torus goes back"));
        arena_fini(&f.a);
    }
}

TEST(spills_are_what_places_with_their_note_cost)
{
    static const struct explain_place places[] = {
        {.note = "dot.1", .issue_cycles = 400},
        {.note = "dot.1 (spills)", .issue_cycles = 600,
         .stall_cycles = {[STALL_STORE_LOAD] = 8000}},
    };
    struct explain_rig f;
    size_t index[2];

    explain_rig_quiet(&f);
    explain_rig_stall(&f, STALL_STORE_LOAD, 9000);
    f.in.place = places;
    f.in.place_count = 2;
    assert_int_equal(explain_top_places(&f.in, CAUSE_SPILLS, false, index, 2), 1);
    assert_int_equal(index[0], 1);
    assert_worst(&f, CAUSE_SPILLS, 8600);
}

TEST(host_times_are_beside_the_step)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_stall(&f, STALL_OPERAND, 9000);
    f.t.view.input_bytes = 2 * 16 * 50000;      /* 50 us over two links of 16 GB/s */
    explain_rig_explain(&f);
    assert_int_equal(f.x.row[CAUSE_INPUT].cycles, 50000);
    assert_int_equal(f.x.row[CAUSE_DISPATCH].cycles, 100000);
    assert_int_equal(f.x.row[CAUSE_LAUNCH].cycles, 2000);
    assert_int_equal(f.x.ranked[f.x.core_count], CAUSE_DISPATCH);
    arena_fini(&f.a);
}

/* the reference is the sum of the counters; no mixture may lose or invent a cycle */
TEST(any_mixture_adds_up)
{
    struct rng r;

    rng_init(&r, 5);
    for (int n = 0; n < 300; n++) {
        struct explain_rig f;

        explain_rig_quiet(&f);
        for (int i = 0; i < 2; i++) {
            struct core_counters *c = &f.t.counters[i];
            cycle_t left = 10000;

            c->issue_cycles = 1 + (cycle_t)rng_uniform(&r, 0, 3000);
            left -= c->issue_cycles;
            for (int s = 0; s < STALL_COUNT; s++) {
                c->stall_cycles[s] = (cycle_t)rng_uniform(&r, 0, (float)left / 4);
                left -= c->stall_cycles[s];
            }
            c->idle_cycles = left;
            c->matmul_cycles = (cycle_t)rng_uniform(&r, 0, 9000);
            c->unit[TRACK_MXU].busy_cycles = (cycle_t)rng_uniform(&r, 0, 10000);
            c->matmul_flops = c->matmul_cycles * 2 * 128 * 128;
            c->hbm_read_bytes = (int64_t)rng_uniform(&r, 0, 1e6);
            c->op_count[OP_DMA_HBM_VMEM] = (int64_t)rng_uniform(&r, 0, 50);
            c->op_count[OP_DMA_VMEM_REMOTE] = (int64_t)rng_uniform(&r, 0, 50);
        }
        f.t.view.model_flops = (int64_t)rng_uniform(&r, 0, 1e8);
        explain_rig_explain(&f);
        arena_fini(&f.a);
    }
}

TEST(a_gain_leaves_the_next_resource_its_time)
{
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_stall(&f, STALL_EUP, 9000);
    for (int i = 0; i < 2; i++)
        f.t.memory[i].busy_ps = 4 * 6000000;    /* all four channels for 6,000 cycles */
    explain_rig_explain(&f);
    assert_int_equal(f.x.row[CAUSE_EUP].cycles, 9000);
    assert_true(fabs(f.x.row[CAUSE_EUP].gain_cycles - 4000.0) < 1e-6);
    assert_int_equal(f.x.row[CAUSE_EUP].limit, BOUND_HBM);
    arena_fini(&f.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stall_with_one_cause_becomes_that_cause),
        cmocka_unit_test(idle_cores_are_an_imbalance),
        cmocka_unit_test(products_at_the_peak_are_useful),
        cmocka_unit_test(flops_the_model_did_not_ask_for_are_padding),
        cmocka_unit_test(products_narrower_than_the_array_fill_it_partly),
        cmocka_unit_test(three_passes_leave_a_third_useful),
        cmocka_unit_test(beside_products_full_slots_are_vector_work_and_empty_ones_are_not),
        cmocka_unit_test(without_products_full_slots_are_the_useful_work),
        cmocka_unit_test(few_long_copies_wait_for_bandwidth),
        cmocka_unit_test(many_short_copies_are_small_copies),
        cmocka_unit_test(a_lone_long_wait_is_the_start_of_a_copy),
        cmocka_unit_test(conflicts_of_rows_and_refreshes_have_a_cause),
        cmocka_unit_test(waits_for_links_divide_into_bytes_distance_and_other_cores),
        cmocka_unit_test(a_mesh_says_whether_a_torus_would_help),
        cmocka_unit_test(spills_are_what_places_with_their_note_cost),
        cmocka_unit_test(host_times_are_beside_the_step),
        cmocka_unit_test(any_mixture_adds_up),
        cmocka_unit_test(a_gain_leaves_the_next_resource_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
