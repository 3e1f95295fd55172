/*
 * What of a step's communication is exposed: programs of a few bundles with counts made by hand.
 */
#include "report/tables/communication.h"
#include "tests/test.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

struct line {                           /* a bundle of one operation */
    uint32_t note;                      /* 0: none */
    enum isa_opcode code;
    int64_t count;
    cycle_t stall_cycles;
};

static const char *const notes[] = {"dense", "all-reduce/bucket_1", "all-reduce/bucket_2"};

static struct report_view view_of(const struct line *line, uint32_t count)
{
    struct isa_program *p = arena_alloc(&arena, sizeof(*p));
    struct isa_bundle *bundle = arena_array(&arena, count, sizeof(*bundle));
    struct isa_op *op = arena_array(&arena, count, sizeof(*op));
    struct view_bundle *done = arena_array(&arena, count, sizeof(*done));
    int64_t *executed = arena_array(&arena, count, sizeof(*executed));
    struct core_counters *core = arena_alloc(&arena, sizeof(*core));
    const struct core_counters **cores = arena_array(&arena, 1, sizeof(core));

    *core = (struct core_counters){.cycles = 0};
    for (uint32_t i = 0; i < count; i++) {
        bundle[i] = (struct isa_bundle){.first_op = i, .op_count = 1, .note = line[i].note};
        op[i] = (struct isa_op){.code = (uint16_t)line[i].code, .pred = ISA_PRED_ALWAYS};
        done[i] = (struct view_bundle){.count = line[i].count,
                                       .stall_cycles = line[i].stall_cycles};
        executed[i] = line[i].count;
        core->cycles += line[i].count + line[i].stall_cycles;
    }
    cores[0] = core;
    *p = (struct isa_program){.bundle = bundle, .op = op, .note = (const char **)notes,
                              .bundle_count = count, .op_count = count,
                              .note_count = COUNT_OF(notes)};
    return (struct report_view){.mode = MODE_TIMING, .ops_program = p, .bundle = done,
                                .executed = executed, .core = cores, .core_count = 1};
}

static void check(const struct report_view *v, cycle_t total, cycle_t hidden, int count)
{
    struct communication c;

    communication_of_launch(v, &arena, &c);
    assert_int_equal(c.total, total);
    assert_int_equal(c.hidden, hidden);
    assert_int_equal(c.exposed, total - hidden);
    assert_int_equal(c.count, count);
}

#define SIGNAL OP_VSYNCADD_R
#define OTHER OP_SMOV

TEST(what_stands_between_parts_is_hidden)
{
    static const struct line lines[] = {
        {1, OTHER, 100, 7}, {2, SIGNAL, 3, 0}, {1, OTHER, 50, 5}, {0, OTHER, 1, 9},
        {2, OTHER, 4, 20}, {1, OTHER, 1000, 0},
    };
    struct report_view v = view_of(lines, COUNT_OF(lines));
    struct communication c;

    check(&v, 3 + 55 + 10 + 24, 65, 1);
    communication_of_launch(&v, &arena, &c);
    assert_string_equal(c.collective[0].op->name, "all-reduce/bucket_1");
    assert_int_equal(c.collective[0].parts, 2);
}

TEST(in_one_piece_all_is_exposed)
{
    static const struct line lines[] = {
        {1, OTHER, 100, 7}, {2, SIGNAL, 3, 0}, {2, OTHER, 4, 20}, {1, OTHER, 1000, 0},
    };
    struct report_view v = view_of(lines, COUNT_OF(lines));

    check(&v, 27, 0, 1);
}

/* a cycle in which both are in flight counts once */
TEST(two_in_flight_share_cycles)
{
    static const struct line lines[] = {
        {2, SIGNAL, 1, 0}, {1, OTHER, 10, 0}, {3, SIGNAL, 2, 0}, {1, OTHER, 20, 0},
        {2, OTHER, 4, 0}, {1, OTHER, 40, 0}, {3, OTHER, 8, 0},
    };
    struct report_view v = view_of(lines, COUNT_OF(lines));
    struct communication c;

    check(&v, 85, 70, 2);
    communication_of_launch(&v, &arena, &c);
    assert_int_equal(c.collective[0].total, 37);
    assert_int_equal(c.collective[0].hidden, 32);       /* the other's parts too */
    assert_int_equal(c.collective[1].total, 74);
}

/* bundles that never issued, copies within the core, bundles without a name */
TEST(nothing_else_is_communication)
{
    static const struct line lines[] = {
        {1, OTHER, 100, 7}, {2, SIGNAL, 0, 0}, {3, OP_DMA_HBM_VMEM, 4, 20}, {0, SIGNAL, 5, 5},
    };
    struct report_view v = view_of(lines, COUNT_OF(lines));

    check(&v, 0, 0, 0);
    v.mode = MODE_FUNCTIONAL;
    check(&v, 0, 0, 0);
    v.mode = MODE_TIMING;
    v.ops_core = -1;
    check(&v, 0, 0, 0);
}

#define RUN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(what_stands_between_parts_is_hidden), RUN(in_one_piece_all_is_exposed),
        RUN(two_in_flight_share_cycles), RUN(nothing_else_is_communication),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
