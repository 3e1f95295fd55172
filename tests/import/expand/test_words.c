/* Integers of 64 bits in pairs of words: every operation, to the last bit. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

#define TWO(op) "  " op "_s = s64[40] " op "(a, b)\n  " op "_u = u64[40] " op "(c, d)\n"

static void check(const char *text)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 5; i++)
        expand_rig_check(&(struct expand_rig){.text = text}, seed + (uint64_t)i);
}

TEST(arithmetic_wraps_as_it_should)
{
    check("HloModule m\nENTRY e {\n  a = s64[40] parameter(0)\n  b = s64[40] parameter(1)\n"
          "  c = u64[40] parameter(2)\n  d = u64[40] parameter(3)\n"
          TWO("add") TWO("subtract") TWO("multiply") TWO("divide") TWO("remainder") TWO("maximum")
          TWO("minimum") TWO("and") TWO("or") TWO("xor")
          "  ROOT t = (s64[40], u64[40], s64[40], u64[40], s64[40], u64[40], s64[40], u64[40], s64[40],"
          " u64[40], s64[40], u64[40], s64[40], u64[40], s64[40], u64[40], s64[40], u64[40], s64[40], u64[40]) "
          "tuple(add_s, add_u, subtract_s, subtract_u, multiply_s, multiply_u, divide_s, divide_u, "
          "remainder_s, remainder_u, maximum_s, maximum_u, minimum_s, minimum_u, and_s, and_u, or_s, or_u, "
          "xor_s, xor_u)\n}\n");
}

TEST(functions_of_one_number)
{
    check("HloModule m\nENTRY e {\n  a = s64[40] parameter(0)\n  c = u64[40] parameter(1)\n"
          "  n = s64[40] negate(a)\n  b = s64[40] abs(a)\n  s = s64[40] sign(a)\n  o = s64[40] not(a)\n"
          "  p = u64[40] popcnt(c)\n  z = u64[40] count-leading-zeros(c)\n"
          "  ROOT t = (s64[40], s64[40], s64[40], s64[40], u64[40], u64[40]) tuple(n, b, s, o, p, z)\n}\n");
}

TEST(shifts_of_any_count)
{
    uint64_t seed = expand_rig_seed();
    const char *text =
        "HloModule m\nENTRY e {\n  a = s64[200] parameter(0)\n  b = s8[200] parameter(1)\n"
        "  n = s64[200] convert(b)\n  l = s64[200] shift-left(a, n)\n"
        "  r = s64[200] shift-right-arithmetic(a, n)\n  u = s64[200] shift-right-logical(a, n)\n"
        "  ROOT t = (s64[200], s64[200], s64[200]) tuple(l, r, u)\n}\n";

    for (int bits = 1; bits <= 8; bits++)
        expand_rig_check(&(struct expand_rig){.text = text, .integer_bits = bits + 50 * (bits == 8)},
                         seed + (uint64_t)bits);
}

TEST(comparisons_and_selections)
{
    check("HloModule m\nENTRY e {\n  a = s64[60] parameter(0)\n  b = s64[60] parameter(1)\n"
          "  c = u64[60] parameter(2)\n  d = u64[60] parameter(3)\n"
          "  p = pred[60] compare(a, b), direction=LT\n  q = pred[60] compare(c, d), direction=GE\n"
          "  r = pred[60] compare(a, b), direction=NE\n  s = s64[60] select(p, a, b)\n"
          "  l = s64[] constant(-1000)\n  h = s64[] constant(5000000000)\n  k = s64[60] clamp(l, a, h)\n"
          "  ROOT t = (pred[60], pred[60], pred[60], s64[60], s64[60]) tuple(p, q, r, s, k)\n}\n");
}

TEST(conversions_of_integers)
{
    check("HloModule m\nENTRY e {\n  a = s64[60] parameter(0)\n  b = u64[60] parameter(1)\n"
          "  c = s32[60] parameter(2)\n  d = u32[60] parameter(3)\n  x = s16[60] parameter(4)\n"
          "  p = pred[60] parameter(5)\n"
          "  r0 = s32[60] convert(a)\n  r1 = u32[60] convert(a)\n  r2 = s16[60] convert(b)\n"
          "  r3 = u8[60] convert(a)\n  r4 = pred[60] convert(a)\n  r5 = s64[60] convert(c)\n"
          "  r6 = u64[60] convert(c)\n  r7 = s64[60] convert(d)\n  r8 = s64[60] convert(x)\n"
          "  r9 = s64[60] convert(p)\n  r10 = u64[60] convert(a)\n"
          "  ROOT t = (s32[60], u32[60], s16[60], u8[60], pred[60], s64[60], u64[60], s64[60], s64[60], "
          "s64[60], u64[60]) tuple(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10)\n}\n");
}

TEST(conversions_to_floats_round_once)
{
    check("HloModule m\nENTRY e {\n  a = s64[200] parameter(0)\n  b = u64[200] parameter(1)\n"
          "  r0 = f32[200] convert(a)\n  r1 = f32[200] convert(b)\n"
          "  ROOT t = (f32[200], f32[200]) tuple(r0, r1)\n}\n");
}

TEST(conversions_from_floats)
{
    static const double sizes[] = {4, 1e6, 1e12, 1e19, 1e25};
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 5; i++)
        expand_rig_check(&(struct expand_rig){.text =
            "HloModule m\nENTRY e {\n  a = f32[200] parameter(0)\n  r0 = s64[200] convert(a)\n"
            "  r1 = u64[200] convert(a)\n  ROOT t = (s64[200], u64[200]) tuple(r0, r1)\n}\n",
            .low = -sizes[i], .high = sizes[i], .has_specials = true}, seed + (uint64_t)i);
}

TEST(reductions_of_any_kind)
{
    check("HloModule m\n"
          "add { x = s64[] parameter(0)\n y = s64[] parameter(1)\n ROOT z = s64[] add(x, y) }\n"
          "max { x = s64[] parameter(0)\n y = s64[] parameter(1)\n ROOT z = s64[] maximum(x, y) }\n"
          "arg { x = s64[] parameter(0)\n i = s64[] parameter(1)\n y = s64[] parameter(2)\n"
          " j = s64[] parameter(3)\n p = pred[] compare(x, y), direction=GE\n"
          " v = s64[] select(p, x, y)\n k = s64[] select(p, i, j)\n ROOT t = (s64[], s64[]) tuple(v, k) }\n"
          "ENTRY e {\n  a = s64[7,9] parameter(0)\n  z = s64[] constant(3)\n  i = s64[7,9] iota(), iota_dimension=1\n"
          "  s = s64[7] reduce(a, z), dimensions={1}, to_apply=add\n"
          "  m = s64[9] reduce(a, z), dimensions={0}, to_apply=max\n"
          "  w = s64[7,9] reduce-window(a, z), window={size=1x3 pad=0_0x1_1}, to_apply=add\n"
          "  q = (s64[7], s64[7]) reduce(a, i, z, z), dimensions={1}, to_apply=arg\n"
          "  q0 = s64[7] get-tuple-element(q), index=0\n  q1 = s64[7] get-tuple-element(q), index=1\n"
          "  ROOT t = (s64[7], s64[9], s64[7,9], s64[7], s64[7]) tuple(s, m, w, q0, q1)\n}\n");
}

TEST(data_that_moves)
{
    check("HloModule m\n"
          "lt { x = s64[] parameter(0)\n y = s64[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
          " ROOT p = pred[] compare(x, y), direction=LT }\n"
          "add { x = s64[] parameter(0)\n y = s64[] parameter(1)\n ROOT z = s64[] add(x, y) }\n"
          "ENTRY e {\n  a = s64[6,5] parameter(0)\n  i = s64[] parameter(1)\n  k = s64[4,1] parameter(2)\n"
          "  n = s32[6,5] iota(), iota_dimension=0\n  z = s64[] constant(-7)\n"
          "  o = (s64[6,5], s32[6,5]) sort(a, n), dimensions={0}, is_stable=true, to_apply=lt\n"
          "  o0 = s64[6,5] get-tuple-element(o), index=0\n  o1 = s32[6,5] get-tuple-element(o), index=1\n"
          "  t = s64[5,6] transpose(a), dimensions={1,0}\n  p = s64[9,5] pad(a, z), padding=1_2x0_0\n"
          "  d = s64[2,5] dynamic-slice(a, i, i), dynamic_slice_sizes={2,5}\n"
          "  u = s64[6,5] dynamic-update-slice(a, d, i, z)\n"
          "  g = s64[4,5] gather(a, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
          "index_vector_dim=1, slice_sizes={1,5}\n"
          "  s = s64[6,5] scatter(a, k, g), update_window_dims={1}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
          "  c = s64[15,5] concatenate(a, p), dimensions={0}\n  r = s64[6,5] reverse(a), dimensions={1}\n"
          "  ROOT x = (s64[6,5], s32[6,5], s64[5,6], s64[9,5], s64[2,5], s64[6,5], s64[4,5], s64[6,5], "
          "s64[15,5], s64[6,5]) tuple(o0, o1, t, p, d, u, g, s, c, r)\n}\n");
}

TEST(loops_and_branches_carry_pairs)
{
    check("HloModule m\n"
          "body { s = (s64[3], s64[]) parameter(0)\n x = s64[3] get-tuple-element(s), index=0\n"
          " n = s64[] get-tuple-element(s), index=1\n y = s64[3] multiply(x, x)\n o = s64[] constant(1)\n"
          " k = s64[] add(n, o)\n ROOT t = (s64[3], s64[]) tuple(y, k) }\n"
          "cond { s = (s64[3], s64[]) parameter(0)\n n = s64[] get-tuple-element(s), index=1\n"
          " l = s64[] constant(5)\n ROOT p = pred[] compare(n, l), direction=LT }\n"
          "yes { x = s64[3] parameter(0)\n ROOT y = s64[3] negate(x) }\n"
          "no { x = s64[3] parameter(0)\n ROOT y = s64[3] abs(x) }\n"
          "ENTRY e {\n a = s64[3] parameter(0)\n p = pred[] parameter(1)\n z = s64[] constant(0)\n"
          " i = (s64[3], s64[]) tuple(a, z)\n w = (s64[3], s64[]) while(i), condition=cond, body=body\n"
          " g = s64[3] get-tuple-element(w), index=0\n"
          " c = s64[3] conditional(p, g, a), true_computation=yes, false_computation=no\n"
          " ROOT t = (s64[3], s64[3]) tuple(g, c)\n}\n");
}

TEST(powers_and_bits)
{
    uint64_t seed = expand_rig_seed();

    expand_rig_check(&(struct expand_rig){.text =
        "HloModule m\nENTRY e {\n a = s64[60] parameter(0)\n b = s64[60] parameter(1)\n"
        " c = u32[60,2] parameter(2)\n p = s64[60] power(a, b)\n v = u64[60] bitcast-convert(c)\n"
        " w = u16[60,4] bitcast-convert(a)\n ROOT t = (s64[60], u64[60], u16[60,4]) tuple(p, v, w)\n}\n",
        .integer_bits = 3}, seed);
}

TEST(numbers_that_fit_are_computed_short)
{
    check("HloModule m\nadd { x = s64[] parameter(0)\n y = s64[] parameter(1)\n ROOT z = s64[] add(x, y) }\n"
          "ENTRY e {\n a = s64[60] iota(), iota_dimension=0\n p = s32[60] parameter(0)\n b = s64[60] convert(p)\n"
          " q = s16[60] parameter(1)\n h = s64[60] convert(q)\n c = s64[] constant(-3)\n C = s64[60] broadcast(c), dimensions={}\n"
          " z = s64[] constant(0)\n m = s64[60] multiply(a, C)\n n = s64[60] multiply(b, C)\n d = s64[60] divide(h, a)\n"
          " r = s64[60] remainder(b, C)\n v = s64[60] divide(b, C)\n s = s64[60] add(b, b)\n u = s64[] reduce(h, z), dimensions={0}, to_apply=add\n"
          " w = s64[] reduce(b, z), dimensions={0}, to_apply=add\n k = pred[60] compare(h, m), direction=GT\n"
          " g = f32[60] convert(h)\n t = s64[60] subtract(C, b)\n x = s64[60] abs(b)\n y = s64[60] negate(b)\n"
          " ROOT o = (s64[60], s64[60], s64[60], s64[60], s64[60], s64[60], s64[], s64[], pred[60], f32[60], "
          "s64[60], s64[60], s64[60]) tuple(m, n, d, r, v, s, u, w, k, g, t, x, y)\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_wraps_as_it_should), cmocka_unit_test(functions_of_one_number),
        cmocka_unit_test(shifts_of_any_count), cmocka_unit_test(comparisons_and_selections),
        cmocka_unit_test(conversions_of_integers), cmocka_unit_test(conversions_to_floats_round_once),
        cmocka_unit_test(conversions_from_floats), cmocka_unit_test(reductions_of_any_kind),
        cmocka_unit_test(data_that_moves), cmocka_unit_test(loops_and_branches_carry_pairs),
        cmocka_unit_test(powers_and_bits),
        cmocka_unit_test(numbers_that_fit_are_computed_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
