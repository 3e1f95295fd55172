/* Where cycles went: what a trace tells by bundle and reason is what the machine counted. */
#include "tests/test.h"

#include "report/explain/explain_places.h"
#include "sim/observe/inspect.h"
#include "stack/module/op_bench.h"
#include "tests/generate/random_program.h"
#include "tests/rigs/ntrace_rig.h"

/* of one core: each bundle's cycles, and each reason's sum, by bundles and by operations */
static void assert_places(struct ntrace *s, const struct machine *m, int core)
{
    const struct core_counters *c = machine_counters(m, core);
    struct explain_input in = {.place_core = core};
    cycle_t stall[2][STALL_COUNT] = {{0}}, issue[2] = {0};
    struct arena a;

    arena_init(&a);
    assert_true(explain_places_of_trace(s, 0, machine_cycles(m), &a, &in));
    for (size_t i = 0; i < in.place_count; i++) {
        const struct explain_place *p = &in.place[i];
        cycle_t waited = 0;

        issue[p->is_bundle] += p->issue_cycles;
        for (int r = 0; r < STALL_COUNT; r++) {
            stall[p->is_bundle][r] += p->stall_cycles[r];
            waited += p->stall_cycles[r];
        }
        if (!p->is_bundle)
            continue;
        assert_int_equal(p->issue_cycles, machine_bundle_count(m, core, p->bundle));
        assert_int_equal(waited, machine_bundle_stall(m, core, p->bundle));
    }
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(issue[kind], c->issue_cycles);
        for (int r = 0; r < STALL_COUNT; r++)
            assert_int_equal(stall[kind][r], c->stall_cycles[r]);
    }
    arena_fini(&a);
}

static void run_traced(struct machine *m)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "places"};
    struct ntrace *s;
    struct tee t;
    struct err e;

    tee_open(&t, m, &o);
    assert_int_equal(machine_run(m, &e), 0);
    s = tee_read(&t);
    for (int core = 0; core < machine_core_count(m); core++)
        if (machine_counters(m, core)->issue_cycles > 0)
            assert_places(s, m, core);
    ntrace_close(s);
    tee_close(&t);
}

TEST(places_of_random_programs_are_the_machines_counts)
{
    for (uint64_t i = 0; i < 6; i++) {
        const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1,
                                                .cycle_limit = 1000000};
        struct random_programs r;
        struct machine *m;
        struct err e;

        random_programs_make(&r, i % 2 ? "tiny" : "v3", random_seed(i),
                             &(struct random_options){.for_timing = true});
        m = machine_create(&r.slice, &r.chip, &options, &e);
        assert_non_null(m);
        random_programs_load(&r, m);
        run_traced(m);
        machine_destroy(m);
        random_programs_free(&r);
    }
}

TEST(iterations_that_were_not_simulated_count_as_often)
{
    const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct isa_program program;
    struct slice slice;
    struct machine *m;
    struct arena a;
    struct chip chip;
    struct err e;

    arena_init(&a);
    assert_int_equal(chip_load_builtin(&chip, "v3", NULL, &a, &e), 0);
    assert_int_equal(slice_parse(&slice, "v3", &e), 0);
    m = machine_create(&slice, &chip, &options, &e);
    assert_non_null(m);
    assert_int_equal(op_bench_program(2048, 512, 512, &chip, &a, &program, NULL, &e), 0);
    assert_int_equal(machine_load(m, 0, &program, &e), 0);
    run_traced(m);
    assert_true(machine_memo_stats(m).iterations > 0);
    machine_destroy(m);
    arena_fini(&a);
}

TEST(a_trace_without_bundles_tells_no_places)
{
    const struct ntrace_options o = {.level = TRACE_STEP, .title = "steps"};
    const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1,
                                            .cycle_limit = 1000000};
    struct explain_input in = {.place_count = 7};
    struct random_programs r;
    struct ntrace *s;
    struct machine *m;
    struct arena a;
    struct tee t;
    struct err e;

    arena_init(&a);
    random_programs_make(&r, "tiny", random_seed(1), &(struct random_options){.for_timing = true});
    m = machine_create(&r.slice, &r.chip, &options, &e);
    assert_non_null(m);
    random_programs_load(&r, m);
    tee_open(&t, m, &o);
    assert_int_equal(machine_run(m, &e), 0);
    assert_int_equal(ntrace_writer_close(t.writer, &e), 0);
    s = ntrace_open(t.path, &e);
    assert_non_null(s);
    assert_false(explain_places_of_trace(s, 0, machine_cycles(m), &a, &in));
    assert_int_equal(in.place_count, 7);
    ntrace_close(s);
    tee_close(&t);
    machine_destroy(m);
    random_programs_free(&r);
    arena_fini(&a);
}

TEST(the_table_of_operations_tells_waits_for_copies_apart)
{
    static const char text[] =
        "{\"tables\": {\"ops\": ["
        "{\"framework_op\": \"(none)\", \"category\": \"call\", \"issue_cycles\": 5,"
        " \"stall_cycles\": 7, \"dma_stall_cycles\": 0, \"ici_bytes\": 0},"
        "{\"framework_op\": \"all-reduce\", \"category\": \"all-reduce\", \"issue_cycles\": 10,"
        " \"stall_cycles\": 900, \"dma_stall_cycles\": 800, \"ici_bytes\": 64},"
        "{\"framework_op\": \"copies\", \"category\": \"copy-done\", \"issue_cycles\": 1,"
        " \"stall_cycles\": 300, \"dma_stall_cycles\": 300, \"ici_bytes\": 0},"
        "{\"framework_op\": \"IDLE\", \"category\": \"IDLE\", \"cycles\": 40}]}}";
    json_t *stats = json_loads(text, 0, NULL);
    struct explain_input in = {0};
    size_t index[1];
    struct arena a;

    arena_init(&a);
    assert_non_null(stats);
    explain_places_of_ops(stats, &a, &in);
    assert_int_equal(in.place_count, 3);
    assert_string_equal(in.place[0].note, "");
    assert_int_equal(in.place[0].other_stall_cycles, 7);
    assert_int_equal(explain_top_places(&in, CAUSE_ICI_BYTES, false, index, 1), 1);
    assert_int_equal(index[0], 1);
    assert_int_equal(explain_place_cycles(&in.place[1], CAUSE_ICI_BYTES), 800);
    assert_int_equal(explain_top_places(&in, CAUSE_HBM_BYTES, false, index, 1), 1);
    assert_int_equal(index[0], 2);
    json_decref(stats);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_random_programs_are_the_machines_counts),
        cmocka_unit_test(iterations_that_were_not_simulated_count_as_often),
        cmocka_unit_test(a_trace_without_bundles_tells_no_places),
        cmocka_unit_test(the_table_of_operations_tells_waits_for_copies_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
