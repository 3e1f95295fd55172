/* The step table and what it says of a hand-made launch (tests/rigs/toy.c). */
#include "tests/test.h"

#include "report/view/bound.h"
#include "report/tables/breakdown.h"
#include "report/tables/step_table.h"
#include "report/tables/table.h"
#include "tests/rigs/toy.h"

#include <math.h>

static char *print_table(const struct report_view *v)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    step_table_print(v, to);
    fclose(to);
    return text;
}

static const char golden[] =
"  MXU 48.0 % of peak, 31.5 of 65.5 TFLOP/s; HBM 31.2 % of peak, 80.0 of 256.0 GB/s\n"
"  10,000 cycles = 10.000 us\n"
"  device time 12.000 us, with the launch of a program\n"
"  host time 114.0 us: 100 us of dispatch, 64,000 B of input over PCIe in 2.0 us, then the device\n"
"\n"
"step breakdown, mean of 2 cores\n"
"  compute                          4,650   46.5 %  #########             a matrix unit is busy\n"
"  exposed vector                     850    8.5 %  ##                    "
"none is: other units work or are waited for\n"
"  exposed HBM                      3,000   30.0 %  ######                "
"waits for copies to or from HBM\n"
"  exposed ICI                      1,000   10.0 %  ##                    "
"waits for another core or the network\n"
"  idle                               500    5.0 %  #                     "
"the core has halted, others have not\n"
"\n"
"where the cycles went                      core 0        mean of 2 cores\n"
"  issue                            4,000   40.0 %         4,000   40.0 %\n"
"  MXU                              1,500   15.0 %           750    7.5 %\n"
"    mxu_busy                       1,000   10.0 %           500    5.0 %\n"
"    result_fifo                      500    5.0 %           250    2.5 %\n"
"  vector                             500    5.0 %           250    2.5 %\n"
"    operand                          500    5.0 %           250    2.5 %\n"
"  HBM                              2,000   20.0 %         3,000   30.0 %\n"
"    hbm_wait                       2,000   20.0 %         3,000   30.0 %\n"
"  ICI                              1,000   10.0 %         1,000   10.0 %\n"
"    ici_wait                       1,000   10.0 %         1,000   10.0 %\n"
"  other                              500    5.0 %           500    5.0 %\n"
"    sync_wait                          0    0.0 %           250    2.5 %\n"
"    branch                           500    5.0 %           250    2.5 %\n"
"  idle                               500    5.0 %           500    5.0 %\n"
"  all                             10,000  100.0 %        10,000  100.0 %\n"
"\n"
"units (mean)       busy    waiting       idle     operations     per slot\n"
"  scalar         30.0 %      0.0 %     70.0 %          4,000       0.2000\n"
"  valu           20.0 %      5.0 %     75.0 %          2,500       0.1250\n"
"  load           10.0 %      0.0 %     90.0 %          1,000       0.1000\n"
"  mxu0           48.0 %     10.0 %     42.0 %            600       0.0600\n"
"  mxu0.push      26.0 %      0.0 %     74.0 %            320       0.0320\n"
"  dma            50.0 %      0.0 %     50.0 %             20       0.0020\n"
"\n"
"MXU, all cores\n"
"  issued        314,572,800 FLOP: 31.4573 TFLOP/s of 65.5 peak (48.00 %)\n"
"  of the model  200,000,000 FLOP: 63.6 % of those issued, 30.52 % of peak\n"
"\n"
"HBM, all chips\n"
"  read          600,000 B\n"
"  written       200,000 B\n"
"  rate          80.00 GB/s of 256.0 peak (31.25 %)\n"
"  row hits      90.0 % of 2,000 runs\n"
"\n"
"ICI (links between chips), mean of a core\n"
"  sent          40,960 B\n"
"  received      40,960 B\n"
"  gradients     40,000 B to all-reduce: a ring moves at least 40,000 B over each link\n"
"  busiest link  chip 1 to 0: used 20.00 % of the time, 40,960 B payload in 45,056 B\n"
"\n"
"source operations of one core\n"
"  category     framework_op  occurrences  total_time_us  self_time_pct  dma_stall_pct  "
"flop_rate_gflops  hbm_bw_gib_per_s  bound_by  cycles\n"
"  convolution  dot.1               2,000          4.600           46.0            0.0  "
"         34192.7               0.0  Compute    4,600\n"
"  copy-done    add \"two\"           1,000          4.000           40.0           75.0  "
"             0.0              93.1  HBM        4,000\n"
"  call         (none)                400          0.900            9.0            0.0  "
"             0.0               0.0  latency      900\n"
"  IDLE         IDLE                    1          0.500            5.0                 "
"                                                 500\n"
"\n"
"bound by MXU: the matrix units are busy 48.0 % of the time, "
"more than any other resource (next: HBM, 31.2 %); cores wait 55.0 % of their cycles\n";

TEST(step_table_of_hand_made_launch_is_as_recorded)
{
    struct toy t;
    char header[200];
    char *text;

    toy_init(&t);
    text = print_table(&t.view);
    snprintf(header, sizeof(header), "one step on %s; Toy at 1000 MHz\n",
             slice_print(&t.slice).text);
    assert_true(strncmp(text, header, strlen(header)) == 0);
    assert_string_equal(text + strlen(header), golden);
    free(text);
}

/* as if all rows had been s8, at twice the rate: the same share of twice the peak */
TEST(peak_is_that_of_the_types_multiplied)
{
    struct toy t;
    char *text;

    toy_init(&t);
    for (int i = 0; i < 2; i++) {
        t.counters[i].matmul_flops *= 2;
        t.counters[i].matmul_cycles = 600 * 8;
    }
    text = print_table(&t.view);
    assert_non_null(strstr(text, "629,145,600 FLOP: 62.9146 TFLOP/s of 131.1 peak (48.00 %)\n"));
    free(text);
}

TEST(every_stall_reason_has_a_group)
{
    for (int r = 0; r < STALL_COUNT; r++) {
        assert_true(view_stall_group((enum stall_reason)r) > GROUP_NONE);
        assert_true(view_stall_group((enum stall_reason)r) < GROUP_COUNT);
    }
}

TEST(groups_issue_and_idle_add_up_to_the_cycles)
{
    struct toy t;
    cycle_t sum = 0;

    toy_init(&t);
    for (int i = 0; i < 2; i++)
        sum += t.counters[i].issue_cycles + t.counters[i].idle_cycles;
    for (int g = GROUP_NONE + 1; g < GROUP_COUNT; g++)
        sum += view_group_cycles(&t.view, (enum view_group)g);
    assert_int_equal(sum, 2 * t.view.cycles);
}

TEST(parts_of_a_step_add_up_on_every_core)
{
    static const cycle_t wanted[2][BREAKDOWN_PART_COUNT] = {
        {4800, 1700, 2000, 1000, 500, 2000, 102000},
        {4500, 0, 4000, 1000, 500, 2000, 102000}}; /* mxu0 finished rows in 300 cycles of waits */
    struct breakdown b, sum;
    struct toy t;

    toy_init(&t);
    breakdown_of_launch(&t.view, &sum);
    for (int core = 0; core < 2; core++) {
        breakdown_of_core(&t.view, core, &b);
        for (int p = 0; p < BREAKDOWN_PART_COUNT; p++) {
            assert_int_equal(b.part[p], wanted[core][p]);
            assert_int_equal(sum.part[p], wanted[0][p] + wanted[1][p]);
        }
        assert_int_equal(breakdown_core_cycles(&b), t.view.cycles);
        /* 114 us at 1000 MHz: the step as the host sees it */
        assert_int_equal(breakdown_cycles(&b), 114000);
    }
}

TEST(busy_unit_of_a_breakdown_is_an_array_and_not_its_port)
{
    struct toy t;

    toy_init(&t);
    t.counters[0].unit[TRACK_PUSH].busy_cycles = 9000;
    assert_int_equal(breakdown_mxu_busy_cycles(&t.counters[0]), 4800);
    t.counters[0].unit_count = TRACK_MXU;
    assert_int_equal(breakdown_mxu_busy_cycles(&t.counters[0]), 0);
}

TEST(picoseconds_of_many_cycles_do_not_overflow)
{
    struct chip c = {.chip_clock_mhz = 940};

    assert_int_equal(view_ps(&c, 940), 1000000);
    assert_int_equal(view_ps(&c, 1), 1063);
    assert_true(view_ps(&c, 4000000000000000LL) == 4255319148936170212LL);
}

TEST(bound_is_the_most_used_resource)
{
    struct toy t;
    struct bound b;

    toy_init(&t);
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_MXU);
    assert_true(fabs(b.use[BOUND_MXU] - 0.48) < 1e-9);
    assert_true(fabs(b.use[BOUND_PUSH] - 0.26) < 1e-9);
    assert_true(fabs(b.use[BOUND_VALU] - 0.125) < 1e-9);
    assert_true(fabs(b.use[BOUND_HBM] - 0.3125) < 1e-9);
    assert_true(fabs(b.use[BOUND_ICI] - 0.2) < 1e-9);
    assert_non_null(strstr(b.sentence, "48.0 %"));
    assert_non_null(strstr(b.sentence, "HBM, 31.2 %"));

    t.memory[1].busy_ps = 36000000;
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_HBM);
    assert_non_null(strstr(b.sentence, "90.0 %"));
    assert_non_null(strstr(b.sentence, "MXU, 48.0 %"));

    t.wire[0].busy_ps = 9500000;
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_ICI);
}

/* 2500 operations in 20000 slots, and 2 x 300 that take one beside their own */
TEST(transcendental_operations_fill_slots_of_the_vector_alu)
{
    struct toy t;
    struct bound b;

    toy_init(&t);
    for (int i = 0; i < 2; i++) {
        t.counters[i].op_count[OP_VPOW2] = 300;
        t.counters[i].op_count[OP_VRCP] = 300;
        t.counters[i].op_count[OP_VPOP_EUP] = 600;      /* these do not */
    }
    bound_find(&t.view, &b);
    assert_true(fabs(b.use[BOUND_VALU] - 0.155) < 1e-9);
}

TEST(bound_is_latency_when_nothing_is_used_much)
{
    struct toy t;
    struct bound b;

    toy_init(&t);
    for (int i = 0; i < 2; i++) {
        t.counters[i].unit[TRACK_MXU].busy_cycles = 2900;
        t.memory[i].busy_ps = 4000000;
    }
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_LATENCY);
    assert_int_equal(b.highest, BOUND_MXU);
    assert_string_equal(bound_name(b.by), "latency");
    assert_non_null(strstr(b.sentence, "29.0 %"));
    assert_non_null(strstr(b.sentence, "hbm_wait (30.0 %)"));
}

TEST(documentation_names_every_stall_reason_resource_and_column)
{
    char *text = toy_read_text("docs/report.md"), name[64];

    for (int r = 0; r < STALL_COUNT; r++) {
        snprintf(name, sizeof(name), "| `%s` |", stall_name((enum stall_reason)r));
        if (!strstr(text, name))
            fail_msg("docs/report.md has no line %s", name);
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        const struct table_field *info = column_info(c);
        char line[200];

        snprintf(line, sizeof(line), "| `%s` | %s |\n", info->name, info->meaning);
        if (!strstr(text, line))
            fail_msg("docs/report.md has no line %s", line);
    }
    for (int r = 0; r <= BOUND_LATENCY; r++) {
        snprintf(name, sizeof(name), "| `%s` |", bound_name((enum bound_resource)r));
        if (!strstr(text, name))
            fail_msg("docs/report.md has no line %s", name);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_table_of_hand_made_launch_is_as_recorded),
        cmocka_unit_test(peak_is_that_of_the_types_multiplied),
        cmocka_unit_test(every_stall_reason_has_a_group),
        cmocka_unit_test(groups_issue_and_idle_add_up_to_the_cycles),
        cmocka_unit_test(parts_of_a_step_add_up_on_every_core),
        cmocka_unit_test(busy_unit_of_a_breakdown_is_an_array_and_not_its_port),
        cmocka_unit_test(picoseconds_of_many_cycles_do_not_overflow),
        cmocka_unit_test(bound_is_the_most_used_resource),
        cmocka_unit_test(transcendental_operations_fill_slots_of_the_vector_alu),
        cmocka_unit_test(bound_is_latency_when_nothing_is_used_much),
        cmocka_unit_test(documentation_names_every_stall_reason_resource_and_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
