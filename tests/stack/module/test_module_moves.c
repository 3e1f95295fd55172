/* Does a small array that a move takes come into VMEM beside the kernels before, where arrays lie there? */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

/* two arrays [positions, size, heads] become [heads, positions, size], each by a kernel */
static struct module_rig turned(const char *slice, int64_t heads)
{
    struct module_rig r = {.slice = slice, .spoils_vmem = true, .check_races = true};
    struct shape s = shape_make(DTYPE_BF16, 3, (int64_t[]){32, 16, heads});

    r.codegen = CODEGEN_XLA;
    for (int i = 0; i < 2; i++) {
        int x = graph_parameter(&g, s, i ? "y" : "x");

        graph_output(&g, graph_transpose(&g, x, (int[]){2, 0, 1}), i ? "v" : "u", -1);
    }
    module_rig_check(&r, &g, 1);
    one_graph_again();
    return r;
}

TEST(what_the_next_move_takes_comes_beside_this_one)
{
    assert_int_equal(turned("v6e", 192).prefetch_count, 1);
    assert_int_equal(turned("v5e", 40).prefetch_count, 1);
    assert_int_equal(turned("v3-8", 192).prefetch_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {RUN(what_the_next_move_takes_comes_beside_this_one)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
