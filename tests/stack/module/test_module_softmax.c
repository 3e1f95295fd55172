/*
 * Does a softmax go into the kernel of the product that reads its weights, where arrays lie in VMEM,
 * whichever way its rows lie; and only there?
 */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "stack/nn/nn.h"

enum { HEADS = 6, SIZE = 32 };

/* q, k and v [heads, positions, size], or with positions along lanes, as heads in rows lie */
static int operand(const char *name, int64_t positions, bool is_turned)
{
    int64_t dim[] = {HEADS, is_turned ? SIZE : positions, is_turned ? positions : SIZE};
    int x = graph_parameter(&g, shape_make(DTYPE_BF16, 3, dim), name);

    return is_turned ? graph_transpose(&g, x, (int[]){0, 2, 1}) : x;
}

static int attention(int64_t positions, bool is_turned, bool is_stored)
{
    struct graph_dot score = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                              .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    struct graph_dot mix = score;
    int q = operand("q", positions, is_turned), k = operand("k", positions, is_turned);
    int v = operand("v", positions, is_turned), w;

    mix.rhs_contract[0] = 1;
    w = graph_dot_general(&g, q, k, &score, DTYPE_BF16, PRECISION_DEFAULT);
    w = nn_softmax(&g, nn_scale(&g, w, 0.25));
    if (is_stored)
        graph_output(&g, w, "weights", -1);
    w = graph_dot_general(&g, w, v, &mix, DTYPE_BF16, PRECISION_DEFAULT);
    return is_turned ? graph_transpose(&g, w, (int[]){0, 2, 1}) : w;
}

static int kernels(const char *slice, enum codegen policy, int64_t positions, bool is_turned,
                   bool is_stored)
{
    struct module_rig r = {.slice = slice, .codegen = policy, .relative = 4e-2, .absolute = 2e-2,
                           .uses_fractions = true, .spoils_vmem = true, .check_races = true};

    graph_output(&g, attention(positions, is_turned, is_stored), "o", -1);
    module_rig_check(&r, &g, (uint64_t)positions);
    one_graph_again();
    return r.kernel_count;
}

TEST(weights_are_made_in_the_kernel_that_reads_them)
{
    static const int64_t positions[] = {32, 40, 128, 200};

    for (size_t i = 0; i < sizeof(positions) / sizeof(*positions); i++)
        for (int is_turned = 0; is_turned < 2; is_turned++) {
            int expected = positions[i] < 128 || is_turned ? 2 : 3;     /* turned back at the end */

            assert_int_equal(kernels("v6e", CODEGEN_XLA, positions[i], is_turned, false), expected);
            assert_int_equal(kernels("v5e", CODEGEN_XLA, positions[i], is_turned, false), expected);
            kernels("v7x", CODEGEN_XLA, positions[i], is_turned, false);
        }
}

TEST(weights_that_somebody_wants_are_stored)
{
    assert_int_equal(kernels("v6e", CODEGEN_XLA, 32, false, true), 3);
    assert_int_equal(kernels("v6e", CODEGEN_BEST, 32, false, false), 3);
    assert_int_equal(kernels("v3-8", CODEGEN_XLA, 32, false, false), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(weights_are_made_in_the_kernel_that_reads_them),
        RUN(weights_that_somebody_wants_are_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
