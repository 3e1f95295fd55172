/* Arrays of a bounded size: what is beyond the size never shows in what is there. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

static void check(const char *text)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 12; i++)
        expand_rig_check(&(struct expand_rig){.text = text, .bound = 1e-5, .floor = 1},
                         seed + (uint64_t)i);
}

#define ADD "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"

TEST(elements_and_sizes)
{
    check("HloModule m\nENTRY e {\n a = f32[<=12,5] parameter(0)\n n = s32[] get-dimension-size(a), dimensions={0}\n"
          " b = f32[<=12,5] multiply(a, a)\n c = f32[12,5] parameter(1)\n k = s32[] constant(7)\n"
          " d = f32[<=12,5] set-dimension-size(c, k), dimensions={0}\n t = f32[5,<=12] transpose(d), dimensions={1,0}\n"
          " r = f32[<=12,5] reverse(a), dimensions={0}\n s = f32[<=4,5] slice(a), slice={[2:9:2],[0:5]}\n"
          " ROOT o = (s32[], f32[<=12,5], f32[<=12,5], f32[5,<=12], f32[<=12,5], f32[<=4,5]) "
          "tuple(n, b, d, t, r, s)\n}\n");
}

TEST(reductions_see_what_is_there)
{
    check("HloModule m\n" ADD "max { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
          "ENTRY e {\n a = f32[<=12,5] parameter(0)\n b = f32[5,<=12] parameter(1)\n z = f32[] constant(0)\n"
          " l = f32[] constant(-inf)\n s = f32[5] reduce(a, z), dimensions={0}, to_apply=add\n"
          " m = f32[<=12] reduce(a, l), dimensions={1}, to_apply=max\n w = f32[] reduce(b, l), dimensions={0,1}, to_apply=max\n"
          " ROOT o = (f32[5], f32[<=12], f32[]) tuple(s, m, w)\n}\n");
}

TEST(products_and_pieces)
{
    check("HloModule m\nENTRY e {\n a = f32[4,<=9] parameter(0)\n n = s32[] get-dimension-size(a), dimensions={1}\n"
          " c = f32[9,6] parameter(1)\n b = f32[<=9,6] set-dimension-size(c, n), dimensions={0}\n"
          " d = f32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          " k = f32[4,<=18] concatenate(a, a), dimensions={1}\n v = f32[] constant(3)\n"
          " p = f32[4,<=12] pad(a, v), padding=0_0x1_2\n"
          " ROOT o = (f32[4,6], f32[4,<=18], f32[4,<=12]) tuple(d, k, p)\n}\n");
}

TEST(reshapes_keep_the_order_of_what_is_there)
{
    check("HloModule m\nENTRY e {\n a = f32[<=12,5] parameter(0)\n b = f32[5,<=12] parameter(1)\n"
          " f = f32[<=60] reshape(a)\n g = f32[<=60] reshape(b)\n h = f32[<=12,1,5] reshape(a)\n"
          " ROOT o = (f32[<=60], f32[<=60], f32[<=12,1,5]) tuple(f, g, h)\n}\n");
}

TEST(gathers_and_scatters)
{
    check("HloModule m\n" ADD "ENTRY e {\n a = f32[8,5] parameter(0)\n i = s32[<=12] parameter(1)\n"
          " g = f32[<=12,5] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
          "index_vector_dim=1, slice_sizes={1,5}\n"
          " s = f32[8,5] scatter(a, i, g), update_window_dims={1}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
          " ROOT o = (f32[<=12,5], f32[8,5]) tuple(g, s)\n}\n");
}

TEST(sorts_leave_the_end_behind)
{
    check("HloModule m\nlt { x = s64[] parameter(0)\n y = s64[] parameter(1)\n u = f32[] parameter(2)\n"
          " v = f32[] parameter(3)\n ROOT p = pred[] compare(x, y), direction=GT }\n"
          "ENTRY e {\n a = s64[<=12] parameter(0)\n n = s32[] get-dimension-size(a), dimensions={0}\n"
          " c = f32[12] parameter(1)\n b = f32[<=12] set-dimension-size(c, n), dimensions={0}\n"
          " o = (s64[<=12], f32[<=12]) sort(a, b), dimensions={0}, is_stable=true, to_apply=lt\n"
          " x = s64[<=12] get-tuple-element(o), index=0\n y = f32[<=12] get-tuple-element(o), index=1\n"
          " ROOT t = (s64[<=12], f32[<=12]) tuple(x, y)\n}\n");
}

TEST(forms_that_leave_an_operation_behind_keep_the_size)
{
    check("HloModule m\n" ADD "ENTRY e {\n a = f32[<=12,5] parameter(0)\n z = f32[] constant(0)\n"
          " b = f32[<=60] reshape(a)\n ROOT r = f32[<=60] reduce-window(b, z), window={size=60 pad=59_0}, to_apply=add\n}\n");
    check("HloModule m\nlargest { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n"
          " j = s32[] parameter(3)\n g = pred[] compare(a, b), direction=GT\n v = f32[] select(g, a, b)\n"
          " w = s32[] select(g, i, j)\n ROOT t = (f32[], s32[]) tuple(v, w) }\n"
          "ENTRY e {\n a = f32[<=12,5] parameter(0)\n n = s32[] get-dimension-size(a), dimensions={0}\n"
          " i = s32[12,5] iota(), iota_dimension=0\n j = s32[<=12,5] set-dimension-size(i, n), dimensions={0}\n"
          " low = f32[] constant(-inf)\n z = s32[] constant(0)\n"
          " ROOT r = (f32[5], s32[5]) reduce(a, j, low, z), dimensions={0}, to_apply=largest\n}\n");
    check("HloModule m\nENTRY e {\n a = f32[<=12,5] parameter(0)\n b = f32[<=12,5] negate(a)\n"
          " ROOT r = pred[<=12,5] compare(a, b), direction=LE, type=TOTALORDER\n}\n");
}

TEST(samples_of_a_convolution)
{
    check("HloModule m\nENTRY e {\n x = f32[<=6,8,8,3] parameter(0)\n k = f32[3,3,3,4] parameter(1)\n"
          " ROOT y = f32[<=6,8,8,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n}\n");
}

/* one branch bounds one dimension, the other another; a call gives its body what is whole */
TEST(branches_leave_what_the_conditional_bounds)
{
    check("HloModule m\ntall { x = (f32[4,6], s32[]) parameter(0)\n a = f32[4,6] get-tuple-element(x), index=0\n"
          " n = s32[] get-tuple-element(x), index=1\n"
          " b = f32[<=4,6] set-dimension-size(a, n), dimensions={0}\n ROOT o = (f32[<=4,6]) tuple(b)\n}\n"
          "wide { x = (f32[4,6], s32[]) parameter(0)\n a = f32[4,6] get-tuple-element(x), index=0\n"
          " n = s32[] get-tuple-element(x), index=1\n c = f32[4,6] negate(a)\n"
          " b = f32[4,<=6] set-dimension-size(c, n), dimensions={1}\n ROOT o = (f32[4,<=6]) tuple(b)\n}\n"
          "twice { x = f32[<=4,<=6] parameter(0)\n ROOT y = f32[<=4,<=6] add(x, x)\n}\n"
          "ENTRY e {\n a = f32[4,6] parameter(0)\n p = s32[] parameter(1)\n z = s32[] constant(0)\n"
          " g = pred[] compare(p, z), direction=GT\n n = s32[] constant(3)\n"
          " t = (f32[4,6], s32[]) tuple(a, n)\n"
          " c = (f32[<=4,<=6]) conditional(g, t, t), true_computation=tall, false_computation=wide\n"
          " y = f32[<=4,<=6] get-tuple-element(c), index=0\n"
          " i = s32[] get-dimension-size(y), dimensions={0}\n j = s32[] get-dimension-size(y), dimensions={1}\n"
          " r = f32[4,<=6] set-dimension-size(a, n), dimensions={1}\n"
          " w = f32[<=4,<=6] call(r), to_apply=twice\n"
          " ROOT o = (f32[<=4,<=6], s32[], s32[], f32[<=4,<=6]) tuple(y, i, j, w)\n}\n");
}

TEST(arrays_without_bounds_are_refused)
{
    expand_rig_refused("HloModule m\nENTRY e {\n x = f32[?,8] parameter(0)\n ROOT y = f32[?,8] negate(x)\n}\n",
                       "dimension 0 has no bound");
}

TEST(sizes_of_a_dynamic_reshape_that_are_no_scalars_are_refused)
{
    expand_rig_refused("HloModule m\nENTRY e {\n x = f32[<=3,4] parameter(0)\n n = s32[1] constant({8})\n"
                       " ROOT y = f32[<=12] dynamic-reshape(x, n)\n}\n", "are to be scalars");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_and_sizes), cmocka_unit_test(reductions_see_what_is_there),
        cmocka_unit_test(products_and_pieces),
        cmocka_unit_test(reshapes_keep_the_order_of_what_is_there),
        cmocka_unit_test(gathers_and_scatters), cmocka_unit_test(sorts_leave_the_end_behind),
        cmocka_unit_test(forms_that_leave_an_operation_behind_keep_the_size),
        cmocka_unit_test(samples_of_a_convolution),
        cmocka_unit_test(branches_leave_what_the_conditional_bounds),
        cmocka_unit_test(arrays_without_bounds_are_refused),
        cmocka_unit_test(sizes_of_a_dynamic_reshape_that_are_no_scalars_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
