/* Do annotated listings say of each bundle what it cost, and are they still programs? */
#include "tests/test.h"

#include "isa/asm.h"
#include "report/annotate/annotate.h"
#include "tests/rigs/rig.h"

static const char text[] =
    "k0:\n"
    ".note one\n"
    "{ s1 = smov 5 }\n"
    "again: { s1 = sadd.s32 s1, -1 }\n"
    "{ p1 = scmp.gt.s32.totalorder s1, 0 ;; v1 = vld [vmem:0x0] }\n"
    "{ sbr.rel (p1) target = again ;; v2 = vmul.f32 v1, v1 }\n"
    "{ vst [vmem:0x0] v2 }\n"
    ".note two\n"
    "k1:\n"
    "{ vpow2.f32 v1 }\n"
    "{ v3 = vpop.eup }\n"
    "{ vdelay 20 }\n"
    "{ }\n"
    "{ shalt }\n";

static void on_core(void *context, int core, const struct trace_record *r, size_t count)
{
    if (core == 0)
        annotate_count(context, r, count);
}

static void run(struct rig *r, const struct isa_program *p, struct annotate_counts *c)
{
    struct trace_sink sink = {.context = c, .core = on_core, .wants_access = true};

    annotate_counts_init(c, p->bundle_count, &r->arena);
    machine_set_trace(r->m, &sink);
    assert_int_equal(machine_load(r->m, 0, p, &r->err), 0);
    assert_int_equal(machine_run(r->m, &r->err), 0);
    machine_set_trace(r->m, NULL);
}

TEST(counts_of_bundles_add_up_to_the_counters)
{
    struct annotate_counts c;
    const struct core_counters *counters;
    cycle_t waited[STALL_COUNT] = {0};
    int64_t issued = 0;
    struct rig r;

    rig_open(&r, "v3", &(struct rig_options){.mode = MODE_TIMING});
    run(&r, rig_assemble(&r, text), &c);
    counters = machine_counters(r.m, 0);
    for (uint32_t b = 0; b < c.bundle_count; b++) {
        issued += c.issued[b];
        for (int s = 0; s < STALL_COUNT; s++)
            waited[s] += c.waited[b][s];
    }
    assert_int_equal(issued, counters->issue_cycles);
    assert_memory_equal(waited, counters->stall_cycles, sizeof(waited));
    assert_int_equal(c.issued[0], 1);
    assert_int_equal(c.issued[2], 5);
    assert_int_equal(c.waited[6][STALL_EUP], r.chip.eup_latency_cycles - 1);
    assert_int_equal(c.waited[8][STALL_DELAY], 20);
    rig_close(&r);
}

static const char *tell(const void *context, int kernel)
{
    return kernel ? context : "the first one";
}

/* the text as a string, from the arena */
static char *print(struct rig *r, const struct isa_program *p, const struct annotate_counts *c)
{
    FILE *f = tmpfile();
    char *printed;
    size_t size;

    assert_non_null(f);
    annotate_print(p, c, tell, "the second one", f);
    size = (size_t)ftell(f);
    rewind(f);
    printed = arena_alloc(&r->arena, size + 1);
    assert_int_equal(fread(printed, 1, size, f), size);
    fclose(f);
    return printed;
}

static void assert_says(const char *printed, const char *part)
{
    if (!strstr(printed, part))
        fail_msg("no \"%s\" in:\n%s", part, printed);
}

TEST(what_is_printed_assembles_to_the_same_program)
{
    const struct isa_program *p, *again;
    struct annotate_counts c;
    struct rig r;

    rig_open(&r, "v3", &(struct rig_options){.mode = MODE_TIMING});
    p = rig_assemble(&r, text);
    run(&r, p, &c);
    for (int i = 0; i < 2; i++) {
        again = rig_assemble(&r, print(&r, p, i ? &c : NULL));
        assert_int_equal(again->bundle_count, p->bundle_count);
        assert_int_equal(again->op_count, p->op_count);
        assert_memory_equal(again->op, p->op, p->op_count * sizeof(*p->op));
        for (uint32_t b = 0; b < p->bundle_count; b++)
            assert_int_equal(again->bundle[b].note, p->bundle[b].note);
    }
    rig_close(&r);
}

TEST(kernels_have_a_heading_with_their_sums)
{
    struct annotate_counts c;
    const struct isa_program *p;
    char *printed;
    struct rig r;

    rig_open(&r, "v3", &(struct rig_options){.mode = MODE_TIMING});
    p = rig_assemble(&r, text);
    run(&r, p, &c);
    printed = print(&r, p, &c);
    assert_says(printed, "// k0: the first one\n");
    assert_says(printed, "// k1: the second one\n"
                         "// k1: 38 cycles up to the next kernel: 5 issued, 33 waited "
                         "(eup 13, delay 20)\n");
    assert_says(printed, "/*         1        13 eup               */    0x6 : { v3 = vpop.eup }");
    assert_says(printed, ".note two\nk1:\n");
    assert_null(strstr(print(&r, p, NULL), "/*"));
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_bundles_add_up_to_the_counters),
        cmocka_unit_test(what_is_printed_assembles_to_the_same_program),
        cmocka_unit_test(kernels_have_a_heading_with_their_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
