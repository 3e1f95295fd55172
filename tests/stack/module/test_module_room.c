/*
 * Does what stays in VMEM between kernels leave room for the argument that a product copies in, as
 * XLA is seen to?
 */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "stack/nn/nn.h"

/* arrays of 1 MiB, and so much room for arrays; those that stay between kernels */
static int64_t residents(const char *slice_set, enum codegen policy, int layers)
{
    struct module_rig r = {.slice = "v5e", .set = slice_set, .codegen = policy, .absolute = 1e-3,
                           .relative = 1e-3, .spoils_vmem = true, .check_races = true};
    const struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){512, 512});
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    int x = graph_parameter(&g, s, "x");

    for (int i = 0; i < layers; i++) {
        int w = graph_parameter(&g, s, names[i]);

        x = nn_relu(&g, graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT));
    }
    graph_output(&g, x, "z", -1);
    module_rig_check(&r, &g, 3);
    one_graph_again();
    return r.resident_count;
}

TEST(what_is_between_two_products_keeps_off_the_place_of_an_argument)
{
    /* 33.5 and 34 MiB, 32 of them for kernels */
    assert_int_equal(residents("vmem.bytes=35127296", CODEGEN_XLA, 2), 0);
    assert_int_equal(residents("vmem.bytes=35651584", CODEGEN_XLA, 2), 1);
    assert_int_equal(residents("vmem.bytes=35127296", CODEGEN_BEST, 2), 1);
}

/* of five arrays two are there while a product runs, and its weights */
TEST(each_product_has_room_for_its_own)
{
    assert_int_equal(residents("vmem.bytes=35127296", CODEGEN_XLA, 6), 0);
    assert_in_range(residents("vmem.bytes=35651584", CODEGEN_XLA, 6), 2, 3);
    assert_int_equal(residents("vmem.bytes=36700160", CODEGEN_XLA, 6), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(what_is_between_two_products_keeps_off_the_place_of_an_argument),
        RUN(each_product_has_room_for_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
