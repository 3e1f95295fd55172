/* Is code that like kernels share the code that each would have been given by itself? */
#include "tests/rigs/kernel_rig.h"
#include "tests/test.h"

#include <string.h>

#include "base/memo.h"
#include "base/units.h"
#include "stack/kernels/registry.h"

static struct memo_key key_of(int number, int bytes)
{
    static const unsigned char zeros[64];
    struct memo_key k = {0};

    memo_key_add(&k, &number, sizeof(number));
    memo_key_add(&k, zeros, (size_t)bytes);
    return k;
}

/* many, of lengths that differ where nothing else does */
static void test_keys(void **state)
{
    struct memo m;
    int *values;

    (void)state;
    memo_init(&m);
    values = arena_array(&m.arena, 600, sizeof(*values));
    for (int i = 0; i < 600; i++) {
        struct memo_key k = key_of(i / 3, i % 3);

        assert_null(memo_find(&m, &k));
        memo_keep(&m, &k, &values[i]);
        memo_key_fini(&k);
    }
    for (int i = 0; i < 600; i++) {
        struct memo_key k = key_of(i / 3, i % 3);

        assert_ptr_equal(memo_find(&m, &k), &values[i]);
        memo_key_fini(&k);
    }
    memo_fini(&m);
}

static void assert_same_program(const struct isa_program *x, const struct isa_program *y)
{
    assert_int_equal(x->op_count, y->op_count);
    assert_int_equal(x->bundle_count, y->bundle_count);
    for (uint32_t i = 0; i < x->op_count; i++) {
        assert_int_equal(x->op[i].code, y->op[i].code);
        assert_int_equal(x->op[i].pred, y->op[i].pred);
        assert_int_equal(x->op[i].pred_is_negated, y->op[i].pred_is_negated);
        assert_int_equal(x->op[i].unit_index, y->op[i].unit_index);
        for (int k = 0; k < x->op[i].operand_count; k++)
            assert_int_equal(x->op[i].operand[k].value, y->op[i].operand[k].value);
    }
    for (uint32_t i = 0; i < x->bundle_count; i++) {
        assert_int_equal(x->bundle[i].first_op, y->bundle[i].first_op);
        assert_int_equal(x->bundle[i].op_count, y->bundle[i].op_count);
    }
}

static void move_arrays(struct kernel_rig *r, int64_t bytes)
{
    for (int i = 0; i < r->job.operand_count; i++)
        r->operand[i].address += bytes;
}

/* alone; then in company, once for operands that lie elsewhere and once more in its own place */
static void check(const char *chip, const struct graph *g, size_t parts)
{
    struct kernel_rig r = {.chip = chip};
    struct segment elsewhere, again;
    size_t entries;
    struct memo m;
    struct err e;

    kernel_rig_open(&r, g);
    memo_init(&m);
    r.job.memo = &m;
    move_arrays(&r, 64 << 20);
    assert_int_equal(kernel_compile(&r.job, &r.arena, &elsewhere, &e), 0);
    entries = m.entry_count;
    assert_int_equal(entries, parts);
    move_arrays(&r, -(64 << 20));
    assert_int_equal(kernel_compile(&r.job, &r.arena, &again, &e), 0);
    assert_int_equal(m.entry_count, entries);
    memo_fini(&m);
    assert_same_program(&again.program, &r.segment.program);
    assert_int_equal(again.stats.overlapped_loops, r.segment.stats.overlapped_loops);
    assert_int_equal(again.stats.vreg_peak, r.segment.stats.vreg_peak);
    r.job.memo = NULL;
    kernel_rig_close(&r);
}

static void test_kernels(void **state)
{
    static const char *const chips[] = {"v3", "v6e"};
    static const size_t parts[] = {1, 2};       /* the step; of an operand that is turned, a loop */
    int64_t dims[] = {1024, 1024};
    struct shape s = shape_make(DTYPE_F32, 2, dims);

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (int turns = 0; turns < 2; turns++) {
            struct graph_dot dot = {.contract_count = 1};
            struct graph g;
            struct arena a;
            int x, y;

            arena_init(&a);
            graph_init(&g, &a, "kernel");
            x = graph_parameter(&g, s, "x");
            y = graph_parameter(&g, s, "y");
            dot.lhs_contract[0] = !turns;
            x = graph_dot_general(&g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
            graph_output(&g, graph_binary(&g, HLO_ADD, x, y), "out", -1);
            check(chips[c], &g, parts[turns]);
            graph_fini(&g);
            arena_fini(&a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys),
                                       cmocka_unit_test(test_kernels)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
