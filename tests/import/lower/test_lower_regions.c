/*
 * Are reductions, windows, scatters and sorts with any computation the same graphs as the host
 * evaluator says, whether the compiler has a kind for them or not?
 */
#include "import/hlo_text/hlo_text.h"
#include "tests/rigs/lower_rig.h"
#include "tests/test.h"

#define BODIES \
    "HloModule m\n" \
    "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }\n" \
    "max { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] maximum(a, b) }\n" \
    "ge { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n" \
    "  ROOT r = pred[] compare(a, b), direction=GE }\n" \
    "iadd { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b) }\n" \
    "second { a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1) }\n" \
    "norm { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = f32[] multiply(a, a)\n" \
    "  t = f32[] multiply(b, b)\n  u = f32[] add(s, t)\n  ROOT r = f32[] sqrt(u) }\n"

static void try_all(const char *const *text, size_t count, struct lower_trial t)
{
    for (size_t k = 0; k < count; k++)
        for (uint64_t n = 0; n < 2; n++) {
            t.text = text[k];
            t.seed = lower_seed() + n;
            t.slice = n == 0 ? "v5e" : NULL;
            lower_try(&t);
        }
}
#define TRY_AS(trial, ...) try_all((const char *const[]){__VA_ARGS__}, \
                                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
                                   trial)
#define TRY(...) TRY_AS((struct lower_trial){0}, __VA_ARGS__)

TEST(reductions_by_known_operations_take_their_start_in)
{
    TRY(BODIES "ENTRY e { x = f32[5,6,7] parameter(0)\n"
        "  c1 = f32[] constant(3)\n  a = f32[6] reduce(x, c1), dimensions={0,2}, to_apply=add\n"
        "  c2 = f32[] constant(0.5)\n  b = f32[5,7] reduce(x, c2), dimensions={1}, to_apply=max\n"
        "  c3 = f32[] constant(0)\n  c = f32[] reduce(x, c3), dimensions={0,1,2}, to_apply=add\n"
        "  ROOT t = (f32[6], f32[5,7], f32[]) tuple(a, b, c) }\n",
        "HloModule m\n"                 /* a maximum written otherwise, two at once */
        "two { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
        "  k = s32[] parameter(3)\n  s = f32[] add(a, b)\n  m = s32[] multiply(i, k)\n"
        "  ROOT t = (f32[], s32[]) tuple(s, m) }\n"
        "mx { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
        "  c = pred[] compare(b, a), direction=GT\n  ROOT r = s32[] select(c, b, a) }\n"
        "ENTRY e { x = f32[4,9] parameter(0)\n  y = s32[4,9] parameter(1)\n"
        "  c4 = f32[] constant(1)\n  c5 = s32[] constant(1)\n"
        "  r = (f32[4], s32[4]) reduce(x, y, c4, c5),"
        " dimensions={1}, to_apply=two\n"
        "  c6 = s32[] constant(-3)\n  q = s32[9] reduce(y, c6), dimensions={0}, to_apply=mx\n"
        "  ROOT t = ((f32[4], s32[4]), s32[9]) tuple(r, q) }\n");
}

TEST(reductions_by_anything_else_are_halved)
{
    TRY(BODIES "ENTRY e { x = f32[5,6,7] parameter(0)\n"
        "  c7 = f32[] constant(3)\n  a = f32[6] reduce(x, c7), dimensions={0,2}, to_apply=norm\n"
        "  c8 = f32[] constant(0)\n  b = f32[5,6] reduce(x, c8), dimensions={2}, to_apply=norm\n"
        "  ROOT t = (f32[6], f32[5,6]) tuple(a, b) }\n",
        "HloModule m\n"
        ""                 /* complex products, of which the parts depend on each other */
        "mul { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] parameter(2)\n"
        "  d = f32[] parameter(3)\n  ac = f32[] multiply(a, c)\n  bd = f32[] multiply(b, d)\n"
        "  ad = f32[] multiply(a, d)\n  bc = f32[] multiply(b, c)\n  r = f32[] subtract(ac, bd)\n"
        "  i = f32[] add(ad, bc)\n  ROOT t = (f32[], f32[]) tuple(r, i) }\n"
        "ENTRY e { x = f32[11,3] parameter(0)\n  y = f32[11,3] parameter(1)\n"
        "  c9 = f32[] constant(1)\n  c10 = f32[] constant(0)\n"
        "  ROOT r = (f32[3], f32[3]) reduce(x, y, c9, c10),"
        " dimensions={0}, to_apply=mul }\n");
}

#define ARGMAX_JAX \
    "HloModule m\n" \
    "best { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n" \
    "  k = s32[] parameter(3)\n  g = pred[] compare(a, b), direction=GT\n" \
    "  n = pred[] compare(a, a), direction=NE\n  o = pred[] or(g, n)\n" \
    "  v = f32[] select(o, a, b)\n  q = pred[] compare(a, b), direction=EQ\n" \
    "  l = pred[] compare(i, k), direction=LT\n  w = pred[] and(q, l)\n  p = pred[] or(o, w)\n" \
    "  x = s32[] select(p, i, k)\n  ROOT t = (f32[], s32[]) tuple(v, x) }\n"

TEST(places_of_extremes_are_found_however_they_are_written)
{
    TRY(ARGMAX_JAX
        "ENTRY e { x = f32[6,40] parameter(0)\n  y = s32[6,40] iota(), iota_dimension=1\n"
        "  c11 = f32[] constant(-inf)\n  c12 = s32[] constant(0)\n"
        "  ROOT r = (f32[6], s32[6]) reduce(x, y, c11, c12),"
        " dimensions={1}, to_apply=best }\n",
        "HloModule m\n"                 /* the least, places counted in s64, one row spread */
        "best { a = s32[] parameter(0)\n  i = s64[] parameter(1)\n  b = s32[] parameter(2)\n"
        "  k = s64[] parameter(3)\n  g = pred[] compare(a, b), direction=LE\n"
        "  v = s32[] select(g, a, b)\n  q = pred[] compare(a, b), direction=EQ\n"
        "  n = s64[] minimum(i, k)\n  z = s64[] select(g, i, k)\n  x = s64[] select(q, n, z)\n"
        "  ROOT t = (s32[], s64[]) tuple(v, x) }\n"
        "ENTRY e { x = s32[6,40] parameter(0)\n  c = s64[6] iota(), iota_dimension=0\n"
        "  y = s64[6,40] broadcast(c), dimensions={0}\n"
        "  c13 = s32[] constant(2147483647)\n  c14 = s64[] constant(0)\n"
        "  ROOT r = (s32[40], s64[40]) reduce(x, y, c13, c14),"
        " dimensions={0}, to_apply=best }\n",
        ARGMAX_JAX                      /* other places: carried along */
        "ENTRY e { x = f32[6,13] parameter(0)\n  y = s32[6,13] parameter(1)\n"
        "  z = s32[6,13] iota(), iota_dimension=0\n"
        "  c15 = f32[] constant(0)\n  c16 = s32[] constant(7)\n"
        "  ROOT r = (f32[6], s32[6]) reduce(x, z, c15, c16),"
        " dimensions={1}, to_apply=best }\n");
}

TEST(windows_are_short_or_long_and_combine_by_anything)
{
    TRY(BODIES "ENTRY e { x = f32[2,9,10,3] parameter(0)\n"
        "  c17 = f32[] constant(-inf)\n  a = f32[2,4,5,3] reduce-window(x, c17),"
        " window={size=1x3x2x1 stride=1x2x2x1}, to_apply=max\n"
        "  c18 = f32[] constant(0)\n  b = f32[2,9,10,3] reduce-window(x, c18),"
        " window={size=1x3x3x1 pad=0_0x1_1x1_1x0_0}, to_apply=add\n"
        "  c19 = f32[] constant(1)\n"
        "  c = f32[2,1,1,3] reduce-window(x, c19), window={size=1x9x10x1},"
        " to_apply=add\n"
        "  c20 = f32[] constant(0.5)\n  d = f32[2,5,6,3] reduce-window(x, c20),"
        " window={size=1x3x4x1 stride=1x2x2x1 pad=0_0x1_1x2_3x0_0 rhs_dilate=1x1x1x1},"
        " to_apply=norm\n"
        "  ROOT t = (f32[2,4,5,3], f32[2,9,10,3], f32[2,1,1,3], f32[2,5,6,3]) tuple(a, b, c,"
        " d) }\n",
        BODIES "ENTRY e { x = f32[3,150] parameter(0)\n"   /* cumulative, from both ends */
        "  c21 = f32[] constant(0)\n"
        "  a = f32[3,150] reduce-window(x, c21), window={size=1x150 pad=0_0x149_0},"
        " to_apply=add\n"
        "  c22 = f32[] constant(-inf)\n  b = f32[3,150] reduce-window(x, c22),"
        " window={size=1x150 pad=0_0x0_149}, to_apply=max\n"
        "  c23 = f32[] constant(0)\n  c = f32[3,44] reduce-window(x, c23),"
        " window={size=1x21 stride=1x3 pad=0_0x2_20 rhs_dilate=1x2}, to_apply=add\n"
        "  ROOT t = (f32[3,150], f32[3,150], f32[3,44]) tuple(a, b, c) }\n",
        "HloModule m\n"                 /* of bf16, rounded once */
        "badd { a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  ROOT r = bf16[] add(a, b) }\n"
        "ENTRY e { x = bf16[70,3] parameter(0)\n  z = bf16[] constant(0)\n"
        "  ROOT a = bf16[70,3] reduce-window(x, z), window={size=70x1 pad=69_0x0_0},"
        " to_apply=badd }\n",
        "HloModule m\n"                 /* several arrays: the greatest with its place */
        "best { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
        "  k = s32[] parameter(3)\n  g = pred[] compare(a, b), direction=GE\n"
        "  v = f32[] select(g, a, b)\n  x = s32[] select(g, i, k)\n"
        "  ROOT t = (f32[], s32[]) tuple(v, x) }\n"
        "ENTRY e { x = f32[8,8] parameter(0)\n  y = s32[8,8] iota(), iota_dimension=1\n"
        "  c24 = f32[] constant(-inf)\n  ROOT r = (f32[4,4], s32[4,4]) reduce-window(x, y, c24,"
        " s32[] constant(0)), window={size=2x2 stride=2x2}, to_apply=best }\n");
}

TEST(windows_that_choose_and_scatter)
{
    TRY(BODIES "lt { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT r = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = f32[2,8,9] parameter(0)\n  s = f32[2,4,4] parameter(1)\n"
        "  c25 = f32[] constant(0)\n  a = f32[2,8,9] select-and-scatter(x, s, c25),"
        " window={size=1x2x3 stride=1x2x2}, select=ge, scatter=add\n"
        "  c26 = f32[] constant(2)\n  b = f32[2,8,9] select-and-scatter(x, s, c26),"
        " window={size=1x3x3 stride=1x2x2 pad=0_0x0_1x0_0}, select=ge, scatter=add\n"
        "  c27 = f32[] constant(-9)\n  c = f32[2,8,9] select-and-scatter(x, s, c27),"
        " window={size=1x3x3 stride=1x2x2 pad=0_0x0_1x0_0}, select=lt, scatter=max\n"
        "  ROOT t = (f32[2,8,9], f32[2,8,9], f32[2,8,9]) tuple(a, b, c) }\n");
}

TEST(scatters_combine_by_anything_and_drop_what_lies_outside)
{
    TRY_AS(((struct lower_trial){.low = -2, .high = 9}),
        BODIES "ENTRY e { x = f32[7,5] parameter(0)\n  i = s32[6,1] parameter(1)\n"
        "  u = f32[6,5] parameter(2)\n"
        "  a = f32[7,5] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
        "  b = f32[7,5] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second\n"
        "  c = f32[7,5] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=norm\n"
        "  ROOT t = (f32[7,5], f32[7,5], f32[7,5]) tuple(a, b, c) }\n",
        "HloModule m\n"                 /* two arrays at once, a difference, indices of s64 */
        "two { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
        "  k = s32[] parameter(3)\n  s = f32[] subtract(a, b)\n  m = s32[] maximum(i, k)\n"
        "  ROOT t = (f32[], s32[]) tuple(s, m) }\n"
        "ENTRY e { x = f32[7,8] parameter(0)\n  y = s32[7,8] parameter(1)\n"
        "  i = s64[5,2] parameter(2)\n  u = f32[5,2,3] parameter(3)\n"
        "  v = s32[5,2,3] parameter(4)\n"
        "  ROOT a = (f32[7,8], s32[7,8]) scatter(x, y, i, u, v), update_window_dims={1,2},"
        " inserted_window_dims={}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1,"
        " to_apply=two }\n");
}

/* as gradients of sorts and of take_along_axis along any dimension have them */
TEST(each_place_of_a_batch_has_its_own_index)
{
    TRY(BODIES "ENTRY e { x = f32[6,9,5] parameter(0)\n  u = s32[6,9,5,1] parameter(1)\n"
        "  g = f32[6,9,5] gather(x, u), offset_dims={}, collapsed_slice_dims={0},"
        " start_index_map={0}, operand_batching_dims={1,2}, start_indices_batching_dims={1,2},"
        " index_vector_dim=3, slice_sizes={1,1,1}\n"
        "  s = f32[6,9,5] scatter(x, u, g), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, input_batching_dims={1,2},"
        " scatter_indices_batching_dims={1,2}, index_vector_dim=3, to_apply=add\n"
        "  ROOT t = (f32[6,9,5], f32[6,9,5]) tuple(g, s) }\n");
}

/* as x.at[:].add(y) has them */
TEST(indices_without_numbers_say_the_origin)
{
    TRY(BODIES "ENTRY e { x = f32[4,6] parameter(0)\n  y = f32[4,5] parameter(1)\n"
        "  i = s32[0] constant({})\n  j = s32[3,0] parameter(2)\n"
        "  a = f32[4,6] scatter(x, i, y), update_window_dims={0,1}, inserted_window_dims={},"
        " scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add\n"
        "  b = f32[4,6] scatter(x, i, y), update_window_dims={0,1}, inserted_window_dims={},"
        " scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=norm\n"
        "  c = f32[3,2,6] gather(x, j), offset_dims={1,2}, collapsed_slice_dims={},"
        " start_index_map={}, index_vector_dim=1, slice_sizes={2,6}\n"
        "  ROOT t = (f32[4,6], f32[4,6], f32[3,2,6]) tuple(a, b, c) }\n");
}

TEST(gathers_clamp_what_lies_outside)
{
    TRY_AS(((struct lower_trial){.low = -2, .high = 9}),
        "HloModule m\n"
        "ENTRY e { x = f32[7,8] parameter(0)\n  i = s32[3,2] parameter(1)\n"
        "  k = u8[4] parameter(2)\n  l = s64[5,1] parameter(3)\n"
        "  a = f32[3,2,3] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={},"
        " start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,3}\n"
        "  b = f32[4,8] gather(x, k), offset_dims={1}, collapsed_slice_dims={0},"
        " start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n"
        "  c = f32[7,5] gather(x, l), offset_dims={0}, collapsed_slice_dims={1},"
        " start_index_map={1}, index_vector_dim=1, slice_sizes={7,1}\n"
        "  f = s64[1,1] slice(l), slice={[1:2], [0:1]}\n  s = s64[] reshape(f)\n"
        "  c28 = s64[] constant(3)\n"
        "  d = f32[2,8] dynamic-slice(x, s, c28), dynamic_slice_sizes={2,8}\n"
        "  ROOT t = (f32[3,2,3], f32[4,8], f32[7,5], f32[2,8]) tuple(a, b, c, d) }\n");
}

TEST(sorts_by_any_order)
{
    TRY("HloModule m\n"                 /* by the second operand, falling */
        "by { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n  ROOT r = pred[] compare(c, d), direction=GT }\n"
        "ENTRY e { x = f32[3,20] parameter(0)\n  y = s32[3,20] parameter(1)\n"
        "  ROOT s = (f32[3,20], s32[3,20]) sort(x, y), dimensions={1}, is_stable=true,"
        " to_apply=by }\n",
        "HloModule m\n"                 /* two keys */
        "by { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n"
        "  d = f32[] parameter(3)\n  l = pred[] compare(a, b), direction=LT\n"
        "  e = pred[] compare(a, b), direction=EQ\n  g = pred[] compare(c, d), direction=GT\n"
        "  f = pred[] and(e, g)\n  ROOT r = pred[] or(l, f) }\n"
        "ENTRY e { x = s32[30,2] parameter(0)\n  y = f32[30,2] parameter(1)\n"
        "  ROOT s = (s32[30,2], f32[30,2]) sort(x, y), dimensions={0}, is_stable=true,"
        " to_apply=by }\n",
        "HloModule m\n"                 /* by distance: no order of keys */
        "by { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n  x = f32[] abs(a)\n  y = f32[] abs(b)\n"
        "  ROOT r = pred[] compare(x, y), direction=LT }\n"
        "ENTRY e { x = f32[2,21] parameter(0)\n  y = s32[2,21] parameter(1)\n"
        "  ROOT s = (f32[2,21], s32[2,21]) sort(x, y), dimensions={1}, is_stable=true,"
        " to_apply=by }\n",
        "HloModule m\n"
        "by { a = s64[] parameter(0)\n  b = s64[] parameter(1)\n"
        "  ROOT r = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = s64[17] parameter(0)\n"
        "  ROOT s = s64[17] sort(x), dimensions={0}, to_apply=by }\n",
        "HloModule m\n"
        "by { a = pred[] parameter(0)\n  b = pred[] parameter(1)\n  c = s32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n  ROOT r = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = pred[17] parameter(0)\n  y = s32[17] parameter(1)\n"
        "  ROOT s = (pred[17], s32[17]) sort(x, y), dimensions={0}, is_stable=true,"
        " to_apply=by }\n");
    TRY_AS(((struct lower_trial){.has_nan = true}),
        "HloModule m\n"                 /* IEEE's total order: -0 before 0 */
        "by { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n"
        "  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n"
        "ENTRY e { x = f32[40] parameter(0)\n  y = s32[40] iota(), iota_dimension=0\n"
        "  ROOT s = (f32[40], s32[40]) sort(x, y), dimensions={0}, is_stable=true,"
        " to_apply=by }\n");
}

TEST(the_greatest_and_the_least)
{
    TRY("HloModule m\n"
        "ENTRY e { x = f32[3,20] parameter(0)\n  y = s32[3,20] parameter(1)\n"
        "  a = (f32[3,4], s32[3,4]) topk(x), k=4, largest=true\n"
        "  b = (s32[3,4], s32[3,4]) topk(y), k=4, largest=false\n"
        "  ROOT t = ((f32[3,4], s32[3,4]), (s32[3,4], s32[3,4])) tuple(a, b) }\n");
}

TEST(products_of_any_integers)
{
    TRY("HloModule m\n"
        "ENTRY e { x = s32[5,30] parameter(0)\n  y = s32[30,6] parameter(1)\n"
        "  p = pred[5,30] parameter(2)\n  q = pred[30,6] parameter(3)\n"
        "  b = s8[30,6] parameter(4)\n"
        "  f = f32[5,30] parameter(5)\n"
        "  a = s32[5,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  c = pred[5,6] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  d = f32[5,6] dot(f, b), lhs_contracting_dims={1}, rhs_contracting_dims={0},"
        " operand_precision={highest,highest}\n"
        "  x8 = s8[5,30] convert(x)\n"
        "  g = s32[5,6] dot(x8, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  u = u8[30,6] convert(b)\n"
        "  h = s32[5,6] dot(x8, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  x64 = s64[5,30] convert(x)\n  y64 = s64[30,6] convert(y)\n"
        "  i = s64[5,6] dot(x64, y64), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  ROOT t = (s32[5,6], pred[5,6], f32[5,6], s32[5,6], s32[5,6], s64[5,6])"
        " tuple(a, c, d, g, h, i) }\n");
}

TEST(custom_calls_that_are_operations)
{
    struct lower_settings settings = {.device_count = 1};
    struct lowered l;
    struct arena a;
    struct err e;
    struct hlo_module *m;

    arena_init(&a);
    m = lower_read("HloModule m\n"
                   "ENTRY e { x = s64[9] parameter(0)\n  y = f32[3,20] parameter(1)\n"
                   "  l = u32[9] custom-call(x), custom_call_target=\"X64SplitLow\"\n"
                   "  h = u32[9] custom-call(x), custom_call_target=\"X64SplitHigh\"\n"
                   "  c = s64[9] custom-call(h, l), custom_call_target=\"X64Combine\"\n"
                   "  k = (f32[3,4], s32[3,4]) custom-call(y), custom_call_target=\"TopK\"\n"
                   "  ROOT t = (s64[9], (f32[3,4], s32[3,4])) tuple(c, k) }\n", &a);
    if (lower_program(m, &settings, &a, &l, &e) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(l.result_count, 3);
    assert_int_equal(l.result[0].count, 2);
    graph_fini(&l.graph);
    hlo_text_fini(m);
    arena_fini(&a);
}

TEST(maps_total_orders_and_smaller_floats)
{
    TRY(BODIES "ENTRY e { x = f32[5,6] parameter(0)\n  y = f32[5,6] parameter(1)\n"
        "  a = f32[5,6] map(x, y), dimensions={0,1}, to_apply=norm\n"
        "  b = f32[5,6] reduce-precision(x), exponent_bits=5, mantissa_bits=10\n"
        "  c = f32[5,6] reduce-precision(y), exponent_bits=8, mantissa_bits=3\n"
        "  d = bf16[5,6] parameter(2)\n  f = bf16[5,6] reduce-precision(d), exponent_bits=4,"
        " mantissa_bits=3\n"
        "  ROOT t = (f32[5,6], f32[5,6], f32[5,6], bf16[5,6]) tuple(a, b, c, f) }\n");
    TRY_AS(((struct lower_trial){.has_nan = true}),
        "HloModule m\n"
        "ENTRY e { x = f32[50] parameter(0)\n  y = f32[50] parameter(1)\n"
        "  a = pred[50] compare(x, y), direction=LT, type=TOTALORDER\n"
        "  b = pred[50] compare(x, y), direction=EQ, type=TOTALORDER\n"
        "  c = pred[50] compare(x, y), direction=GE\n"
        "  ROOT t = (pred[50], pred[50], pred[50]) tuple(a, b, c) }\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_by_known_operations_take_their_start_in),
        cmocka_unit_test(reductions_by_anything_else_are_halved),
        cmocka_unit_test(places_of_extremes_are_found_however_they_are_written),
        cmocka_unit_test(windows_are_short_or_long_and_combine_by_anything),
        cmocka_unit_test(windows_that_choose_and_scatter),
        cmocka_unit_test(scatters_combine_by_anything_and_drop_what_lies_outside),
        cmocka_unit_test(each_place_of_a_batch_has_its_own_index),
        cmocka_unit_test(indices_without_numbers_say_the_origin),
        cmocka_unit_test(gathers_clamp_what_lies_outside),
        cmocka_unit_test(sorts_by_any_order),
        cmocka_unit_test(the_greatest_and_the_least),
        cmocka_unit_test(products_of_any_integers),
        cmocka_unit_test(custom_calls_that_are_operations),
        cmocka_unit_test(maps_total_orders_and_smaller_floats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
