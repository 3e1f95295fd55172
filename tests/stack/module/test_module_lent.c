/*
 * A result has its place for the whole program. Is that place lent, before the result is written,
 * to what is no larger, and to nothing else, as XLA does it, and do values stay what they are? The
 * products are too large for a v3's VMEM, so they lie in HBM.
 */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

enum { ROWS = 4096, COLUMNS = 1024, FEW = 64, PRODUCT_BYTES = ROWS * COLUMNS * 4 };

static int parameter(int64_t rows, int64_t columns, const char *name)
{
    return graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){rows, columns}), name);
}

static int dot(int x, int y) { return graph_dot(&g, x, y, 1, 0, PRECISION_DEFAULT); }

/* bytes of HBM beside the parameters' */
static int64_t used_bytes(struct module_rig *r)
{
    struct module_settings s = {.codegen = CODEGEN_XLA, .replica_count = 1};
    static struct chip chip;
    static struct module m;
    struct err e = {0};
    int64_t bytes;

    if (chip_load_builtin(&chip, r->slice, NULL, &arena, &e))
        fail_msg("%s", e.msg);
    s.chip = &chip;
    if (module_compile(&g, &s, &arena, &m, &e))
        fail_msg("%s", e.msg);
    bytes = m.hbm_bytes;
    for (int i = 0; i < g.parameter_count; i++)
        bytes -= m.parameter[i]->bytes;
    r->uses_fractions = true;
    r->relative = 5e-2;                 /* operands are rounded to bf16, sums reach thousands */
    r->absolute = 200;
    module_rig_check(r, &g, 1);
    return bytes;
}

/* a product that a small one is made of, of which the result is made, of so many columns */
static int64_t bytes_with_result_of(int64_t columns)
{
    struct module_rig r = {.slice = "v3"};
    int large = dot(parameter(ROWS, FEW, "u"), parameter(FEW, COLUMNS, "v"));
    int small = dot(large, parameter(COLUMNS, FEW, "w"));

    graph_output(&g, dot(small, parameter(FEW, columns, "z")), "y", -1);
    return used_bytes(&r);
}

TEST(what_is_dead_before_a_result_is_written_takes_its_place)
{
    int64_t bytes = bytes_with_result_of(COLUMNS);

    assert_in_range(bytes, PRODUCT_BYTES, PRODUCT_BYTES + PRODUCT_BYTES / 4);
}

TEST(what_is_larger_than_a_result_does_not_take_its_place)
{
    int64_t bytes = bytes_with_result_of(COLUMNS - 128);

    assert_true(bytes >= PRODUCT_BYTES + ROWS * (COLUMNS - 128) * 4);
}

TEST(what_a_result_is_made_of_keeps_off_its_place)
{
    struct module_rig r = {.slice = "v3"};
    int large = dot(parameter(ROWS, FEW, "u"), parameter(FEW, COLUMNS, "v"));

    graph_output(&g, dot(large, parameter(COLUMNS, COLUMNS, "w")), "y", -1);
    assert_true(used_bytes(&r) >= 2 * (int64_t)PRODUCT_BYTES);
}

/* of a large product that a small one reads first, whose maxima are taken off each row of it */
static int less_maxima(int large)
{
    int small = dot(large, parameter(COLUMNS, FEW, "w"));
    int most = graph_reduce(&g, REDUCE_MAX, small, 1u << 1);

    return graph_binary(&g, HLO_SUBTRACT, large,
                        graph_broadcast(&g, most, g.node[large].shape, (int[]){0}));
}

TEST(what_a_result_is_made_of_element_by_element_lies_in_its_place)
{
    struct module_rig r = {.slice = "v3"};
    int large = dot(parameter(ROWS, FEW, "u"), parameter(FEW, COLUMNS, "v"));
    int64_t bytes;

    graph_output(&g, less_maxima(large), "y", -1);
    bytes = used_bytes(&r);
    assert_in_range(bytes, PRODUCT_BYTES, PRODUCT_BYTES + PRODUCT_BYTES / 4);
}

/* a product that is no loop, element by element, reads it last */
TEST(what_is_read_again_keeps_off_the_place_of_a_result)
{
    struct module_rig r = {.slice = "v3"};
    int large = dot(parameter(ROWS, FEW, "u"), parameter(FEW, COLUMNS, "v"));
    int y = less_maxima(large);

    graph_output(&g, y, "y", -1);
    graph_output(&g, dot(graph_binary(&g, HLO_ADD, y, large), parameter(COLUMNS, FEW, "z")), "z",
                 -1);
    assert_true(used_bytes(&r) >= 2 * (int64_t)PRODUCT_BYTES);
}

/* large products one after the other: each takes the place when the one before is dead */
TEST(several_take_the_place_one_after_the_other)
{
    struct module_rig r = {.slice = "v3"};
    int small = parameter(ROWS, FEW, "u"), v = parameter(FEW, COLUMNS, "v");
    int w = parameter(COLUMNS, FEW, "w");

    for (int i = 0; i < 2; i++)
        small = dot(dot(small, v), w);
    graph_output(&g, dot(small, parameter(FEW, COLUMNS, "z")), "y", -1);
    assert_true(used_bytes(&r) < PRODUCT_BYTES + PRODUCT_BYTES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(what_is_dead_before_a_result_is_written_takes_its_place),
        RUN(what_is_larger_than_a_result_does_not_take_its_place),
        RUN(what_a_result_is_made_of_keeps_off_its_place),
        RUN(what_a_result_is_made_of_element_by_element_lies_in_its_place),
        RUN(what_is_read_again_keeps_off_the_place_of_a_result),
        RUN(several_take_the_place_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
