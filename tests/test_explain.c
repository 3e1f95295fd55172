/* Causes of hand-made launches (tests/toy.c): sums, the cause that dominates, and predictions. */
#include "tests/test.h"

#include "base/rng.h"
#include "report/explain_print.h"
#include "report/explain_rules.h"
#include "tests/toy.h"

#include <math.h>

struct fixture {
    struct toy t;
    struct explain_input in;
    struct explain x;
    struct arena a;
};

/* a toy whose cores issue 1,000 bundles, each with a full load slot, and wait for nothing */
static void quiet(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    arena_init(&f->a);
    toy_init(&f->t);
    for (int i = 0; i < 2; i++) {
        struct core_counters *c = &f->t.counters[i];

        memset(c->stall_cycles, 0, sizeof(c->stall_cycles));
        memset(c->op_count, 0, sizeof(c->op_count));
        c->issue_cycles = 1000;
        c->idle_cycles = 0;
        c->matmul_flops = c->matmul_cycles = 0;
        for (int u = 0; u < c->unit_count; u++)
            c->unit[u].busy_cycles = c->unit[u].op_count = 0;
        c->unit[TRACK_LOAD].op_count = 1000;
        memset(&f->t.memory[i], 0, sizeof(f->t.memory[i]));
    }
    f->t.chip.dma_read_ns = f->t.chip.dma_write_ns = 500;
    f->t.chip.dma_core_gbps = 100;
    f->t.chip.dma_local_gbps = 100;
    f->t.chip.dma_local_ns = 100;
    f->t.chip.sync_resume_cycles = 7;
    f->t.chip.ici_hop_ns = 400;
    f->t.chip.hbm_banks = 4;
    f->t.chip.hbm_trp_ps = f->t.chip.hbm_trcd_ps = 14000;
    f->t.chip.hbm_trfc_ps = 260000;
    f->t.view.model_flops = 0;
    f->t.view.input_bytes = 0;
    f->in = (struct explain_input){.view = &f->t.view, .passes = 1};
}

static void both(struct fixture *f, enum stall_reason r, cycle_t cycles)
{
    for (int i = 0; i < 2; i++)
        f->t.counters[i].stall_cycles[r] = cycles;
}

static void both_op(struct fixture *f, enum isa_opcode op, int64_t count)
{
    for (int i = 0; i < 2; i++)
        f->t.counters[i].op_count[op] = count;
}

/* 6,000 cycles of rows in one matrix unit, of which `useful` of 100 are the model's */
static void multiply(struct fixture *f, int useful)
{
    for (int i = 0; i < 2; i++) {
        struct core_counters *c = &f->t.counters[i];

        c->matmul_cycles = c->unit[TRACK_MXU].busy_cycles = 6000;
        c->matmul_flops = 6000LL * 2 * 128 * 128;
        c->unit[TRACK_LOAD].op_count = 100;
    }
    f->t.view.model_flops = 6000LL * 2 * 128 * 128 * useful / 100;
    both(f, STALL_MXU, 9000);
}

/* whatever happened, the step is 10,000 cycles of two cores and every cycle has a cause */
static void explain(struct fixture *f)
{
    cycle_t cycles = 0, core_cycles = 0, host = 0;

    explain_make(&f->in, &f->a, &f->x);
    for (int c = 0; c < CAUSE_COUNT; c++) {
        assert_true(f->x.row[c].core_cycles >= 0);
        if (cause_is_host((enum cause)c)) {
            host += f->x.row[c].cycles;
            continue;
        }
        cycles += f->x.row[c].cycles;
        core_cycles += f->x.row[c].core_cycles;
        assert_true(f->x.row[c].gain_cycles <= (double)f->x.row[c].cycles);
    }
    assert_int_equal(cycles, 10000);
    assert_int_equal(core_cycles, 20000);
    assert_int_equal(host, f->x.host_cycles);
}

static void assert_worst(struct fixture *f, enum cause wanted, cycle_t cycles)
{
    explain(f);
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
        {STALL_DMA_QUEUE, CAUSE_SMALL_DMAS}, {STALL_MXU, CAUSE_UNDERFILL},
    };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct fixture f;

        quiet(&f);
        both(&f, pairs[i].reason, 9000);
        assert_worst(&f, pairs[i].cause, 9000);
    }
}

TEST(idle_cores_are_an_imbalance)
{
    struct fixture f;

    quiet(&f);
    both(&f, STALL_OPERAND, 1000);
    f.t.counters[0].idle_cycles = 8000;
    f.t.counters[1].stall_cycles[STALL_OPERAND] += 8000;
    explain(&f);
    assert_int_equal(f.x.row[CAUSE_IDLE].cycles, 4000);
    assert_int_equal(f.x.row[CAUSE_IDLE].core_cycles, 8000);
    arena_fini(&f.a);
}

TEST(products_at_the_peak_are_useful)
{
    struct fixture f;

    quiet(&f);
    multiply(&f, 100);
    explain(&f);
    assert_int_equal(f.x.row[CAUSE_USEFUL].cycles, 6000);
    assert_int_equal(f.x.row[CAUSE_PADDING].cycles, 0);
    arena_fini(&f.a);
}

TEST(flops_the_model_did_not_ask_for_are_padding)
{
    struct fixture f;

    quiet(&f);
    multiply(&f, 10);
    both(&f, STALL_MXU, 5500);
    both(&f, STALL_OPERAND, 3500);
    assert_worst(&f, CAUSE_PADDING, 5400);
}

TEST(products_narrower_than_the_array_fill_it_partly)
{
    static const struct explain_product narrow = {.m = 1024, .n = 1, .k = 128, .count = 1};
    struct fixture f;

    quiet(&f);
    multiply(&f, 10);
    both(&f, STALL_MXU, 5500);
    both(&f, STALL_OPERAND, 3500);
    f.in.product = &narrow;
    f.in.product_count = 1;
    assert_worst(&f, CAUSE_UNDERFILL, 5400);
}

TEST(three_passes_leave_a_third_useful)
{
    struct fixture f;

    quiet(&f);
    multiply(&f, 33);
    f.in.passes = 3;
    explain(&f);
    assert_int_equal(f.x.row[CAUSE_USEFUL].cycles, 1980);
    assert_int_equal(f.x.row[CAUSE_PASSES].cycles, 4000);
    assert_int_equal(f.x.row[CAUSE_PADDING].cycles, 20);
    arena_fini(&f.a);
}

TEST(beside_products_full_slots_are_vector_work_and_empty_ones_are_not)
{
    struct fixture f;

    for (int full = 0; full < 2; full++) {
        quiet(&f);
        multiply(&f, 100);
        for (int i = 0; i < 2; i++) {
            f.t.counters[i].issue_cycles = 9000;
            f.t.counters[i].matmul_cycles = f.t.counters[i].unit[TRACK_MXU].busy_cycles = 600;
            f.t.counters[i].unit[TRACK_LOAD].op_count = full ? 8100 : 900;
        }
        both(&f, STALL_MXU, 1000);
        assert_worst(&f, full ? CAUSE_VECTOR : CAUSE_ISSUE, 9000);
    }
}

TEST(without_products_full_slots_are_the_useful_work)
{
    struct fixture f;

    quiet(&f);
    both(&f, STALL_OPERAND, 9000);
    for (int i = 0; i < 2; i++)
        f.t.counters[i].unit[TRACK_LOAD].op_count = 800;
    explain(&f);
    assert_int_equal(f.x.row[CAUSE_USEFUL].cycles, 800);
    assert_int_equal(f.x.row[CAUSE_ISSUE].cycles, 200);
    arena_fini(&f.a);
}

static void copy(struct fixture *f, int64_t copies, int64_t bytes_each)
{
    both_op(f, OP_DMA_HBM_VMEM, copies);
    for (int i = 0; i < 2; i++)
        f->t.counters[i].hbm_read_bytes = f->t.memory[i].read_bytes = copies * bytes_each;
    both(f, STALL_HBM, 8993);
    both(f, STALL_SYNC, 7);
}

TEST(few_long_copies_wait_for_bandwidth)
{
    struct fixture f;

    quiet(&f);
    copy(&f, 8, 200000);                /* 16,000 cycles at 100 GB/s, one start of 500 */
    explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_HBM_BYTES);
    assert_int_equal(f.x.row[CAUSE_HBM_START].cycles, 8993 * 500 / (8993 + 500));
    arena_fini(&f.a);
}

TEST(many_short_copies_are_small_copies)
{
    struct fixture f;

    quiet(&f);
    copy(&f, 17, 512);
    both(&f, STALL_HBM, 8881);
    both(&f, STALL_SYNC, 119);          /* 17 waits */
    explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_SMALL_DMAS);
    assert_true(f.x.row[CAUSE_SMALL_DMAS].cycles > 8700);
    arena_fini(&f.a);
}

TEST(a_lone_long_wait_is_the_start_of_a_copy)
{
    struct fixture f;

    quiet(&f);
    copy(&f, 1, 50000);                 /* 500 cycles of bytes, not small */
    explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_HBM_START);
    arena_fini(&f.a);
}

TEST(conflicts_of_rows_and_refreshes_have_a_cause)
{
    struct fixture f;

    quiet(&f);
    copy(&f, 1, 50000);
    for (int i = 0; i < 2; i++) {
        f.t.memory[i].row_conflicts = 6000;     /* 28 ns each over 16 banks: 10,500 cycles */
        f.t.memory[i].run_count = 6000;
    }
    explain(&f);
    assert_int_equal(f.x.ranked[0], CAUSE_HBM_ROWS);
    arena_fini(&f.a);
}

static void exchange(struct fixture *f, int64_t messages, ps_t link_busy_ps)
{
    both_op(f, OP_DMA_VMEM_REMOTE, messages);
    f->t.wire[0].busy_ps = f->t.wire[1].busy_ps = link_busy_ps;
    both(f, STALL_ICI, 9000);
}

TEST(waits_for_links_divide_into_bytes_distance_and_other_cores)
{
    struct fixture f;

    quiet(&f);
    exchange(&f, 5, 8000000);           /* 8,000 cycles of bytes, 2,000 of distance */
    assert_worst(&f, CAUSE_ICI_BYTES, 7200);
    quiet(&f);
    exchange(&f, 40, 1000000);          /* 1,000 and 16,000 */
    assert_worst(&f, CAUSE_ICI_HOPS, 9000 * 16 / 17);
    quiet(&f);
    exchange(&f, 1, 100000);            /* 100 and 400: the rest is another core's */
    assert_worst(&f, CAUSE_ICI_CORES, 8500);
}

TEST(a_mesh_says_whether_a_torus_would_help)
{
    struct fixture f;

    for (int even = 0; even < 2; even++) {
        quiet(&f);
        exchange(&f, 5, 8000000);
        f.t.slice.dim[0] = 4;
        f.t.wire[1].busy_ps = even ? 8000000 : 1000000;
        explain(&f);
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
    struct fixture f;
    size_t index[2];

    quiet(&f);
    both(&f, STALL_STORE_LOAD, 9000);
    f.in.place = places;
    f.in.place_count = 2;
    assert_int_equal(explain_top_places(&f.in, CAUSE_SPILLS, false, index, 2), 1);
    assert_int_equal(index[0], 1);
    assert_worst(&f, CAUSE_SPILLS, 8600);
}

TEST(host_times_are_beside_the_step)
{
    struct fixture f;

    quiet(&f);
    both(&f, STALL_OPERAND, 9000);
    f.t.view.input_bytes = 2 * 16 * 50000;      /* 50 us over two links of 16 GB/s */
    explain(&f);
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
        struct fixture f;

        quiet(&f);
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
        explain(&f);
        arena_fini(&f.a);
    }
}

TEST(a_gain_leaves_the_next_resource_its_time)
{
    struct fixture f;

    quiet(&f);
    both(&f, STALL_EUP, 9000);
    for (int i = 0; i < 2; i++)
        f.t.memory[i].busy_ps = 4 * 6000000;    /* all four channels for 6,000 cycles */
    explain(&f);
    assert_int_equal(f.x.row[CAUSE_EUP].cycles, 9000);
    assert_true(fabs(f.x.row[CAUSE_EUP].gain_cycles - 4000.0) < 1e-6);
    assert_int_equal(f.x.row[CAUSE_EUP].limit, BOUND_HBM);
    arena_fini(&f.a);
}

static const struct explain_change *find(const struct explain_change *c, size_t count,
                                         const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(c[i].key, key) == 0)
            return &c[i];
    return NULL;
}

TEST(a_larger_batch_pays_exchanges_once_for_four_steps)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct fixture f;
    size_t count;

    quiet(&f);
    exchange(&f, 5, 8000000);
    f.in.command = EXPLAIN_TRAIN;
    f.in.batch = 512;
    explain(&f);
    count = explain_changes(&f.x, &f.a, change);
    c = find(change, count, "batch");
    assert_ptr_equal(c, &change[0]);
    assert_string_equal(explain_change_text(c, &f.a), "--batch 2048");
    assert_true(fabs(c->gain_cycles - 0.75 * 9000) < 1e-6);
    assert_ptr_equal(explain_change_for(change, count, CAUSE_ICI_BYTES), c);
    assert_non_null(find(change, count, "links"));
    assert_null(find(change, count, "eup"));    /* nothing waits for it */
    arena_fini(&f.a);
}

TEST(sizes_that_fill_the_units_do_more_work_in_the_same_cycles)
{
    static const struct explain_product narrow = {.m = 1000, .n = 1, .k = 128, .count = 1};
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct fixture f;

    quiet(&f);
    multiply(&f, 10);
    f.in.command = EXPLAIN_GEMM;
    f.in.product = &narrow;
    f.in.product_count = 1;
    explain(&f);
    assert_true(explain_changes(&f.x, &f.a, change) > 0);
    assert_string_equal(explain_change_text(&change[0], &f.a), "2016x128x128");
    assert_true(fabs(change[0].work - 2016.0 * 128 / 2000) < 1e-9);
    assert_true(fabs(change[0].gain_cycles - 10000 * (1 - 1 / change[0].work)) < 1e-6);
    arena_fini(&f.a);
}

TEST(one_pass_instead_of_six_keeps_a_sixth_of_the_rows)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct fixture f;

    quiet(&f);
    multiply(&f, 16);
    f.in.command = EXPLAIN_TRAIN;
    f.in.passes = 6;
    explain(&f);
    c = find(change, explain_changes(&f.x, &f.a, change), "precision");
    assert_non_null(c);
    assert_string_equal(explain_change_text(c, &f.a), "--precision default");
    assert_int_equal(f.x.row[CAUSE_PASSES].cycles, 5000);
    /* 40 of 6,000 cycles are padding, 3,000 are a unit's that is waited for */
    assert_true(fabs(c->gain_cycles - (5000 + 5.0 / 6 * (40 + 3000))) < 1e-6);
    arena_fini(&f.a);
}

TEST(larger_products_move_half_the_bytes_for_the_same_work)
{
    static const struct explain_product full = {.m = 1024, .n = 128, .k = 128, .count = 1};
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct fixture f;
    size_t count;

    quiet(&f);
    copy(&f, 8, 200000);
    f.in.command = EXPLAIN_GEMM;
    f.in.product = &full;
    f.in.product_count = 1;
    explain(&f);
    count = explain_changes(&f.x, &f.a, change);
    assert_null(find(change, count, "sizes"));  /* they are whole already */
    c = find(change, count, "larger");
    assert_non_null(c);
    assert_string_equal(explain_change_text(c, &f.a), "4096x256x256");
    assert_true(fabs(c->gain_cycles - (0.75 * 8993 + 0.875 * 7)) < 1e-6);
    arena_fini(&f.a);
}

TEST(parameters_that_are_as_wanted_are_not_set_again)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct fixture f;

    quiet(&f);
    copy(&f, 1, 50000);
    f.t.chip.dma_write_ns = 0;
    f.t.chip.dma_issue_cycles = 1;
    explain(&f);
    c = find(change, explain_changes(&f.x, &f.a, change), "copy-start");
    assert_non_null(c);
    assert_string_equal(explain_change_text(c, &f.a), "--set dma.read_ns=0");
    arena_fini(&f.a);
}

TEST(xprofs_rules_speak_at_its_thresholds)
{
    struct explain_rule rule[EXPLAIN_RULE_COUNT];
    struct fixture f;

    quiet(&f);
    exchange(&f, 5, 8000000);
    explain(&f);
    explain_rules(&f.x, rule);
    assert_true(fabs(rule[5].percent - 90.0) < 1e-9);
    assert_true(explain_rule_speaks(&rule[5]));
    assert_true(explain_rule_speaks(&rule[2]));         /* matrix units below 50 % */
    assert_false(explain_rule_speaks(&rule[6]));        /* no core idles */
    rule[0].percent = 99.0;
    assert_true(explain_rule_speaks(&rule[0]));         /* memory is below 50 % */
    rule[0].is_silent = true;
    assert_false(explain_rule_speaks(&rule[0]));
    rule[5].percent = 29.9;
    assert_false(explain_rule_speaks(&rule[5]));
    arena_fini(&f.a);
}

static char *print(const struct explain_text *t, bool is_json)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    if (is_json)
        assert_int_equal(explain_print_json(t, to), 0);
    else
        explain_print_text(t, to);
    fclose(to);
    return text;
}

TEST(the_first_three_lines_are_the_answer)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct fixture f;
    struct explain_text t = {.x = &f.x, .title = "toy", .change = change, .top = 3};
    char *text;

    quiet(&f);
    both(&f, STALL_EUP, 9000);
    explain(&f);
    t.change_count = explain_changes(&f.x, &f.a, change);
    text = print(&t, false);
    assert_true(strstr(text, "90 % of the step goes to vector work, mostly waiting for the "
                                 "transcendental unit: 9,000 cycles.\n") == text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    free(text);
    arena_fini(&f.a);
}

TEST(json_has_the_same_sums)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct fixture f;
    struct explain_text t = {.x = &f.x, .title = "toy", .change = change};
    json_t *root, *cause;
    json_int_t sum = 0;
    size_t i;
    char *text;

    quiet(&f);
    exchange(&f, 5, 8000000);
    explain(&f);
    t.change_count = explain_changes(&f.x, &f.a, change);
    text = print(&t, true);
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "causes"), i, cause)
        if (strcmp(json_string_value(json_object_get(cause, "family")), "host") != 0)
            sum += toy_get_int(cause, "cycles");
    assert_int_equal(sum, toy_get_int(root, "step_cycles"));
    assert_int_equal(json_array_size(json_object_get(root, "changes")), t.change_count);
    json_decref(root);
    free(text);
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
        cmocka_unit_test(a_larger_batch_pays_exchanges_once_for_four_steps),
        cmocka_unit_test(sizes_that_fill_the_units_do_more_work_in_the_same_cycles),
        cmocka_unit_test(one_pass_instead_of_six_keeps_a_sixth_of_the_rows),
        cmocka_unit_test(larger_products_move_half_the_bytes_for_the_same_work),
        cmocka_unit_test(parameters_that_are_as_wanted_are_not_set_again),
        cmocka_unit_test(xprofs_rules_speak_at_its_thresholds),
        cmocka_unit_test(the_first_three_lines_are_the_answer),
        cmocka_unit_test(json_has_the_same_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
