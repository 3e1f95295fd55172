/* Corner cases of operations: a line of HLO each, with the numbers that its result must be. */
#include "import/eval/eval.h"
#include "import/read/read.h"
#include "tests/test.h"

#include <math.h>

enum { NUMBERS_MAX = 24 };

struct eval_case {
    const char *name, *computations;    /* before the entry; NULL: none */
    const char *body;                   /* the entry's instructions, the last one ROOT */
    int count;
    double want[NUMBERS_MAX];           /* NAN: any NaN */
    double tolerance;                   /* relative */
};

#define ADD_F32 "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
#define MAX_S32 "max { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] maximum(a, b) }\n"

static const struct eval_case cases[] = {
    { "unsigned division by zero is all ones", NULL,
      "x = u8[3] constant({7, 0, 255}) y = u8[3] constant({0, 5, 16}) ROOT z = u8[3] divide(x, y)",
      3, { 255, 0, 15 }, 0 },
    { "the smallest integer has no negative", NULL,
      "x = s8[2] constant({-128, 5}) ROOT z = s8[2] negate(x)", 2, { -128, -5 }, 0 },
    { "powers of integers wrap, negative ones are zero but of one", NULL,
      "x = s32[5] constant({3, -2, 1, -1, 2}) y = s32[5] constant({4, 3, -9, -3, -1}) "
      "ROOT z = s32[5] power(x, y)", 5, { 81, -8, 1, -1, 0 }, 0 },
    { "leading zeros and ones counted in four bits", NULL,
      "x = u4[3] constant({0, 1, 8}) ROOT z = u4[3] count-leading-zeros(x)", 3, { 4, 3, 0 }, 0 },
    { "ones of a negative number of four bits", NULL,
      "x = s4[2] constant({-1, 5}) ROOT z = s4[2] popcnt(x)", 2, { 4, 2 }, 0 },
    { "a logical shift of a negative number of four bits", NULL,
      "x = s4[2] constant({-8, -1}) y = s4[2] constant({3, 1}) "
      "ROOT z = s4[2] shift-right-logical(x, y)", 2, { 1, 7 }, 0 },
    { "floats to integers go towards zero and stay inside", NULL,
      "x = f32[6] constant({1.9, -1.9, 300, -300, nan, inf}) ROOT z = s8[6] convert(x)",
      6, { 1, -1, 127, -128, 0, 127 }, 0 },
    { "floats to unsigned integers are never negative", NULL,
      "x = f32[3] constant({-5, 1e20, 3}) ROOT z = u64[3] convert(x)",
      3, { 0, 18446744073709551615.0, 3 }, 0 },
    { "floats to four bits", NULL,
      "x = f32[3] constant({9, -9, 2.5}) ROOT z = s4[3] convert(x)", 3, { 7, -8, 2 }, 0 },
    { "f64 becomes f16 in one rounding", NULL,
      "x = f64[1] constant({1.00048828126}) ROOT z = f16[1] convert(x)", 1, { 1.0009765625 }, 0 },
    { "beyond the largest f8e4m3fn there is no number", NULL,
      "x = f32[3] constant({448, 1000, 0.001953125}) y = f8e4m3fn[3] convert(x) "
      "ROOT z = f32[3] convert(y)", 3, { 448, NAN, 0.001953125 }, 0 },
    { "f8e5m2 has infinities", NULL,
      "x = f32[2] constant({57344, 1e6}) y = f8e5m2[2] convert(x) ROOT z = f32[2] convert(y)",
      2, { 57344, INFINITY }, 0 },
    { "rounding to even and away from zero", NULL,
      "x = f32[4] constant({0.5, 1.5, -2.5, 2.5}) a = f32[4] round-nearest-even(x) "
      "b = f32[4] round-nearest-afz(x) ROOT z = f32[8] concatenate(a, b), dimensions={0}",
      8, { 0, 2, -2, 2, 1, 2, -3, 3 }, 0 },
    { "the sign of zeros and of no number", NULL,
      "x = f32[3] constant({-3, 0, nan}) ROOT z = f32[3] sign(x)", 3, { -1, 0, NAN }, 0 },
    { "a total order has zeros of both signs and NaN", NULL,
      "x = f32[3] constant({-0, 1, nan}) y = f32[3] constant({0, nan, nan}) "
      "ROOT z = pred[3] compare(x, y), direction=LT, type=TOTALORDER", 3, { 1, 1, 0 }, 0 },
    { "fewer bits of mantissa and exponent", NULL,
      "x = f32[4] constant({1.0625, 3.1, 1e10, 1e-10}) "
      "ROOT z = f32[4] reduce-precision(x), exponent_bits=5, mantissa_bits=3",
      4, { 1.0, 3.0, INFINITY, 0 }, 0 },
    { "bits of one number become two of half the width", NULL,
      "x = s32[1] constant({65538}) ROOT z = s16[1,2] bitcast-convert(x)", 2, { 2, 1 }, 0 },
    { "bits of a byte become two of four bits", NULL,
      "x = u8[1] constant({177}) ROOT z = u4[1,2] bitcast-convert(x)", 2, { 1, 11 }, 0 },
    { "a complex product, quotient and root", NULL,
      "x = c64[2] constant({(1, 2), (-4, 0)}) y = c64[2] constant({(3, -1), (0, 1)}) "
      "p = c64[2] multiply(x, y) q = c64[2] divide(x, y) s = c64[2] sqrt(x) "
      "ROOT z = c64[6] concatenate(p, q, s), dimensions={0}",
      12, { 5, 5, 0, -4, 0.1, 0.7, 0, 4, 1.27201965, 0.78615138, 0, 2 }, 1e-6 },
    { "the size of a complex number does not overflow", NULL,
      "x = c64[1] constant({(3e30, 4e30)}) ROOT z = f32[1] abs(x)", 1, { 5e30 }, 1e-6 },
    { "the next number of bf16", NULL,
      "x = bf16[3] constant({1, 0, -1}) y = bf16[3] constant({2, -1, 0}) "
      "ROOT z = bf16[3] custom-call(x, y), custom_call_target=\"chlo.next_after\"",
      3, { 1.0078125, -9.183549615799121e-41, -0.99609375 }, 0 },
    { "clamp with scalars as bounds", NULL,
      "lo = f32[] constant(-1) hi = f32[] constant(1) x = f32[4] constant({-5, 0.5, 5, nan}) "
      "ROOT z = f32[4] clamp(lo, x, hi)", 4, { -1, 0.5, 1, NAN }, 0 },
    { "padding of both signs with elements between", NULL,
      "x = s32[4] constant({1, 2, 3, 4}) v = s32[] constant(9) "
      "ROOT z = s32[6] pad(x, v), padding=-1_0_1", 6, { 9, 2, 9, 3, 9, 4 }, 0 },
    { "padding that leaves only itself", NULL,
      "x = s32[2] constant({1, 2}) v = s32[] constant(9) ROOT z = s32[1] pad(x, v), padding=3_-4",
      1, { 9 }, 0 },
    { "slices by steps, reversed", NULL,
      "x = s32[7] constant({0, 1, 2, 3, 4, 5, 6}) y = s32[3] slice(x), slice={[1:7:2]} "
      "ROOT z = s32[3] reverse(y), dimensions={0}", 3, { 5, 3, 1 }, 0 },
    { "a dynamic slice is kept inside", NULL,
      "x = s32[5] constant({0, 1, 2, 3, 4}) i = s32[] constant(9) "
      "ROOT z = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}", 2, { 3, 4 }, 0 },
    { "an update before the start is kept inside", NULL,
      "x = s32[4] constant({0, 1, 2, 3}) u = s32[2] constant({8, 9}) i = s32[] constant(-3) "
      "ROOT z = s32[4] dynamic-update-slice(x, u, i)", 4, { 8, 9, 2, 3 }, 0 },
    { "a transpose of three dimensions", NULL,
      "x = s32[1,2,3] constant({{{1, 2, 3}, {4, 5, 6}}}) "
      "ROOT z = s32[3,1,2] transpose(x), dimensions={2,0,1}", 6, { 1, 4, 2, 5, 3, 6 }, 0 },
    { "an iota along the first dimension", NULL, "ROOT z = s32[2,3] iota(), iota_dimension=0",
      6, { 0, 0, 0, 1, 1, 1 }, 0 },
    { "a gather of rows, its indices kept inside", NULL,
      "x = s32[3,2] constant({{1, 2}, {3, 4}, {5, 6}}) i = s32[3] constant({2, -4, 7}) "
      "ROOT z = s32[3,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}",
      6, { 5, 6, 1, 2, 5, 6 }, 0 },
    { "a gather with batches on both sides", NULL,
      "x = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}}) i = s32[2,2,1] constant({{{0}, {2}}, {{1}, {1}}}) "
      "ROOT z = s32[2,2] gather(x, i), offset_dims={}, collapsed_slice_dims={1}, "
      "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
      "index_vector_dim=2, slice_sizes={1,1}", 4, { 1, 3, 5, 5 }, 0 },
    { "a scatter adds twice at one place and leaves away what is outside",
      "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n",
      "x = s32[3] constant({1, 2, 3}) i = s32[4,1] constant({{0}, {0}, {3}, {-1}}) "
      "u = s32[4] constant({10, 20, 30, 40}) ROOT z = s32[3] scatter(x, i, u), "
      "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=add", 3, { 31, 2, 3 }, 0 },
    { "a scatter by any computation, in order",
      "f { a = f32[] parameter(0) b = f32[] parameter(1) t = f32[] constant(2) "
      "m = f32[] multiply(a, t) ROOT s = f32[] subtract(m, b) }\n",
      "x = f32[2] constant({1, 5}) i = s32[3,1] constant({{0}, {0}, {1}}) "
      "u = f32[3] constant({1, 10, 2}) ROOT z = f32[2] scatter(x, i, u), update_window_dims={}, "
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
      2, { -8, 8 }, 0 },
    { "the first largest element and its place",
      "f { v = f32[] parameter(0) i = s32[] parameter(1) w = f32[] parameter(2) j = s32[] parameter(3) "
      "gt = pred[] compare(v, w), direction=GT eq = pred[] compare(v, w), direction=EQ "
      "lt = pred[] compare(i, j), direction=LT b = pred[] and(eq, lt) c = pred[] or(gt, b) "
      "m = f32[] select(c, v, w) n = s32[] select(c, i, j) ROOT t = (f32[], s32[]) tuple(m, n) }\n",
      "x = f32[5] constant({1, 7, 3, 7, 2}) i = s32[5] iota(), iota_dimension=0 "
      "a = f32[] constant(-inf) b = s32[] constant(0) "
      "r = (f32[], s32[]) reduce(x, i, a, b), dimensions={0}, to_apply=f "
      "ROOT z = s32[] get-tuple-element(r), index=1", 1, { 1 }, 0 },
    { "a reduction over the outer and the inner dimension", ADD_F32,
      "x = f32[2,2,2] constant({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}) i = f32[] constant(100) "
      "ROOT z = f32[2] reduce(x, i), dimensions={0,2}, to_apply=add", 2, { 114, 122 }, 0 },
    { "a reduction of nothing", ADD_F32,
      "x = f32[0,2] constant({}) i = f32[] constant(5) "
      "ROOT z = f32[2] reduce(x, i), dimensions={0}, to_apply=add", 2, { 5, 5 }, 0 },
    { "windows with dilation of both and padding", ADD_F32,
      "x = f32[3] constant({1, 2, 4}) i = f32[] constant(0) ROOT z = f32[4] reduce-window(x, i), "
      "window={size=2 pad=1_1 lhs_dilate=2 rhs_dilate=3}, to_apply=add", 4, { 2, 1, 4, 2 }, 0 },
    { "a cumulative sum as one long window", ADD_F32,
      "x = f32[13] constant({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) i = f32[] constant(0) "
      "ROOT z = f32[13] reduce-window(x, i), window={size=13 pad=12_0}, to_apply=add",
      13, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 }, 0 },
    { "a long window that is shorter than its line", MAX_S32,
      "x = s32[16] constant({1, 9, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1, 1, 20}) "
      "i = s32[] constant(-99) "
      "ROOT z = s32[4] reduce-window(x, i), window={size=13}, to_apply=max", 4,
      { 9, 9, 8, 20 }, 0 },
    { "windows that overlap choose and add",
      ADD_F32 "ge { a = f32[] parameter(0) b = f32[] parameter(1) "
      "ROOT s = pred[] compare(a, b), direction=GE }\n",
      "x = f32[5] constant({1, 5, 2, 5, 0}) s = f32[4] constant({1, 10, 100, 1000}) "
      "i = f32[] constant(0) ROOT z = f32[5] select-and-scatter(x, s, i), window={size=2}, "
      "select=ge, scatter=add", 5, { 0, 11, 0, 1100, 0 }, 0 },
    { "two arrays sorted by the first, downwards, stable",
      "f { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) "
      "d = s32[] parameter(3) ROOT s = pred[] compare(a, b), direction=GT }\n",
      "x = s32[6] constant({2, 1, 2, 3, 1, 2}) i = s32[6] iota(), iota_dimension=0 "
      "r = (s32[6], s32[6]) sort(x, i), dimensions={0}, is_stable=true, to_apply=f "
      "ROOT z = s32[6] get-tuple-element(r), index=1", 6, { 3, 0, 2, 5, 1, 4 }, 0 },
    { "a sort by two keys",
      "f { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) "
      "d = s32[] parameter(3) l = pred[] compare(a, b), direction=LT "
      "e = pred[] compare(a, b), direction=EQ m = pred[] compare(c, d), direction=LT "
      "n = pred[] and(e, m) ROOT s = pred[] or(l, n) }\n",
      "x = s32[4] constant({2, 1, 2, 1}) y = s32[4] constant({4, 3, 2, 1}) "
      "r = (s32[4], s32[4]) sort(x, y), dimensions={0}, to_apply=f "
      "ROOT z = s32[4] get-tuple-element(r), index=1", 4, { 1, 3, 2, 4 }, 0 },
    { "floats with zeros and NaN sorted in total order",
      "f { a = f32[] parameter(0) b = f32[] parameter(1) "
      "ROOT s = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n",
      "x = f32[5] constant({nan, 1, -inf, -2, 0}) ROOT z = f32[5] sort(x), dimensions={0}, "
      "to_apply=f", 5, { -INFINITY, -2, 0, 1, NAN }, 0 },
    { "a convolution with negative padding, steps and dilation", NULL,
      "x = f32[1,5,1] constant({{{1}, {2}, {3}, {4}, {5}}}) k = f32[2,1,1] constant({{{1}}, {{10}}}) "
      "ROOT z = f32[1,2,1] convolution(x, k), window={size=2 stride=1 pad=0_-1 rhs_dilate=2}, "
      "dim_labels=b0f_0io->b0f", 2, { 31, 42 }, 1e-6 },
    { "a convolution with a reversed kernel and a dilated input", NULL,
      "x = f32[1,2,1] constant({{{1}, {2}}}) k = f32[2,1,1] constant({{{1}}, {{10}}}) "
      "ROOT z = f32[1,4,1] convolution(x, k), window={size=2 pad=1_1 lhs_dilate=2 rhs_reversal=1}, "
      "dim_labels=b0f_0io->b0f", 4, { 1, 10, 2, 20 }, 1e-6 },
    { "a convolution of groups of features", NULL,
      "x = s32[1,1,4] constant({{{1, 2, 3, 4}}}) k = s32[1,2,2] constant({{{1, 10}, {2, 20}}}) "
      "ROOT z = s32[1,1,2] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, "
      "feature_group_count=2", 2, { 5, 110 }, 0 },
    { "a convolution of one feature for each group", NULL,
      "x = f32[1,2,2] constant({{{1, 2}, {3, 4}}}) k = f32[2,1,2] constant({{{1, 10}}, {{100, 1000}}}) "
      "ROOT z = f32[1,1,2] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f, "
      "feature_group_count=2", 2, { 301, 4020 }, 1e-6 },
    { "a convolution of groups of images", NULL,
      "x = f32[2,1,1] constant({{{3}}, {{5}}}) k = f32[1,1,2] constant({{{1, 10}}}) "
      "ROOT z = f32[1,1,2] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, "
      "batch_group_count=2", 2, { 3, 50 }, 1e-6 },
    { "a convolution without spatial dimensions", NULL,
      "x = f32[2,2] constant({{1, 2}, {3, 4}}) k = f32[2,1] constant({{1}, {10}}) "
      "ROOT z = f32[2,1] convolution(x, k), dim_labels=bf_io->bf", 2, { 21, 43 }, 1e-6 },
    { "a dot of predicates and of bytes into words", NULL,
      "x = s8[1,2] constant({{100, 100}}) y = s8[2,1] constant({{100}, {100}}) "
      "ROOT z = s32[1,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
      1, { 20000 }, 0 },
    { "a ragged dot of rows", NULL,
      "x = f32[4,1] constant({{1}, {2}, {3}, {4}}) y = f32[2,1,1] constant({{{10}}, {{100}}}) "
      "g = s32[2] constant({1, 2}) ROOT z = f32[4,1] ragged-dot(x, y, g), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
      "rhs_group_dims={0}", 4, { 10, 200, 300, 0 }, 1e-6 },
    { "a map by any computation",
      "f { a = f32[] parameter(0) b = f32[] parameter(1) m = f32[] multiply(a, b) "
      "ROOT n = f32[] negate(m) }\n",
      "x = f32[2] constant({1, 2}) y = f32[2] constant({3, 4}) "
      "ROOT z = f32[2] map(x, y), dimensions={0}, to_apply=f", 2, { -3, -8 }, 0 },
    { "a computation of scalars with a loop inside",
      "c { s = (f32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=1 "
      "n = s32[] constant(3) ROOT l = pred[] compare(i, n), direction=LT }\n"
      "b { s = (f32[], s32[]) parameter(0) x = f32[] get-tuple-element(s), index=0 "
      "i = s32[] get-tuple-element(s), index=1 o = s32[] constant(1) j = s32[] add(i, o) "
      "y = f32[] add(x, x) ROOT t = (f32[], s32[]) tuple(y, j) }\n"
      "f { a = f32[] parameter(0) z = s32[] constant(0) t = (f32[], s32[]) tuple(a, z) "
      "w = (f32[], s32[]) while(t), condition=c, body=b "
      "ROOT r = f32[] get-tuple-element(w), index=0 }\n",
      "x = f32[2] constant({1, 3}) ROOT z = f32[2] map(x), dimensions={0}, to_apply=f",
      2, { 8, 24 }, 0 },
    { "a branch out of range is the last one",
      "p { a = s32[] parameter(0) ROOT r = s32[] negate(a) }\n"
      "q { a = s32[] parameter(0) ROOT r = s32[] add(a, a) }\n",
      "i = s32[] constant(-7) x = s32[] constant(5) "
      "ROOT z = s32[] conditional(i, x, x), branch_computations={p, q}", 1, { 10 }, 0 },
    { "a transform of real numbers and back, of odd length", NULL,
      "x = f32[5] constant({1, 2, 3, 4, 5}) y = c64[3] fft(x), fft_type=RFFT, fft_length={5} "
      "ROOT z = f32[5] fft(y), fft_type=IRFFT, fft_length={5}", 5, { 1, 2, 3, 4, 5 }, 1e-6 },
    { "a transform of two dimensions", NULL,
      "x = c64[2,2] constant({{(1, 0), (2, 0)}, {(3, 0), (4, 0)}}) "
      "ROOT z = c64[2,2] fft(x), fft_type=FFT, fft_length={2,2}", 8,
      { 10, 0, -2, 0, -4, 0, 0, 0 }, 1e-6 },
    { "a factor of a matrix that has one", NULL,
      "x = f32[2,2] constant({{4, 2}, {2, 5}}) ROOT z = f32[2,2] cholesky(x), lower=true",
      4, { 2, 0, 1, 2 }, 1e-6 },
    { "a solve from the right with the transposed matrix", NULL,
      "a = f32[2,2] constant({{2, 0}, {1, 4}}) b = f32[1,2] constant({{2, 9}}) "
      "ROOT z = f32[1,2] triangular-solve(a, b), left_side=false, lower=true, "
      "transpose_a=TRANSPOSE", 2, { 1, 2 }, 1e-6 },
    { "pivots and permutation of a factorization", NULL,
      "x = f32[2,2] constant({{1, 2}, {4, 2}}) r = (f32[2,2], s32[2], s32[2]) custom-call(x), "
      "custom_call_target=\"LuDecomposition\" a = f32[2,2] get-tuple-element(r), index=0 "
      "p = s32[2] get-tuple-element(r), index=2 c = f32[2] convert(p) d = f32[1,2] reshape(c) "
      "ROOT z = f32[3,2] concatenate(a, d), dimensions={0}", 6, { 4, 2, 0.25, 1.5, 1, 0 }, 1e-6 },
    { "the largest elements by an approximate search, exactly",
      "f { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) "
      "d = s32[] parameter(3) ROOT s = pred[] compare(a, b), direction=GT }\n",
      "x = f32[5] constant({3, 9, 1, 7, 5}) i = s32[5] iota(), iota_dimension=0 "
      "a = f32[] constant(-inf) b = s32[] constant(-1) "
      "r = (f32[2], s32[2]) custom-call(x, i, a, b), custom_call_target=\"ApproxTopK\", "
      "called_computations={f}, backend_config={\"reduction_dim\":0,\"top_k\":2} "
      "ROOT z = s32[2] get-tuple-element(r), index=1", 2, { 1, 3 }, 0 },
    { "random bits of Philox", NULL,
      "s = u64[2] constant({0, 0}) r = (u64[2], u32[4]) rng-bit-generator(s), "
      "algorithm=rng_philox ROOT z = u32[4] get-tuple-element(r), index=1",
      4, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }, 0 },
    { "random bits of Threefry", NULL,
      "s = u64[2] constant({0, 0}) r = (u64[2], u64[1]) rng-bit-generator(s), "
      "algorithm=rng_three_fry b = u64[1] get-tuple-element(r), index=1 "
      "ROOT z = u32[1,2] bitcast-convert(b)", 2, { 0x6b200159, 0x99ba4efe }, 0 },
    { "a bounded array is as long as it is told", ADD_F32,
      "x = f32[4] constant({1, 2, 3, 4}) n = s32[] constant(2) "
      "y = f32[<=4] set-dimension-size(x, n), dimensions={0} i = f32[] constant(0) "
      "ROOT z = f32[] reduce(y, i), dimensions={0}, to_apply=add", 1, { 3 }, 0 },
    { "two bounded dimensions keep their sizes in a reshape", NULL,
      "x = f32[1,4,5] constant({{{1,2,3,4,5},{6,7,8,9,10},{11,12,13,14,15},{16,17,18,19,20}}}) "
      "n = s32[] constant(2) m = s32[] constant(3) "
      "u = f32[1,<=4,5] set-dimension-size(x, n), dimensions={1} "
      "v = f32[1,<=4,<=5] set-dimension-size(u, m), dimensions={2} "
      "w = f32[<=4,1,<=5] reshape(v) a = s32[] get-dimension-size(w), dimensions={0} "
      "b = s32[] get-dimension-size(w), dimensions={2} "
      "ra = s32[1] reshape(a) rb = s32[1] reshape(b) ROOT z = s32[2] concatenate(ra, rb), dimensions={0}", 2, { 2, 3 }, 0 },
};

/* all elements of a result as numbers, complex ones as two */
static int numbers_of(const struct eval_array *a, double *to)
{
    enum hlo_element e = a->type.element, part = e;
    int64_t n = hlo_type_elements(&a->type);

    if (hlo_element_is_complex(e)) {
        part = e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;
        n *= 2;
    }
    assert_true(n <= NUMBERS_MAX);
    for (int k = 0; k < n; k++) {
        const char *at = (const char *)a->data + (size_t)k * hlo_element_bytes(part);

        to[k] = e == ELEMENT_U64 ? (double)(uint64_t)hlo_element_load_int(e, at)
                                 : hlo_element_load(part, at);
    }
    return (int)n;
}

static bool is_right(double got, double want, double tolerance)
{
    return isnan(want) ? isnan(got)
                       : got == want || fabs(got - want) <= tolerance * (1 + fabs(want));
}

static int run_case(const struct eval_case *c)
{
    struct eval_settings s = { .step_limit = 100000 };
    struct eval_array result, *output[1] = { &result };
    double got[NUMBERS_MAX];
    struct hlo_module *m;
    struct arena a;
    struct err e = { .msg = "" };
    char *text;
    int wrong = 0, count;

    arena_init(&a);
    text = arena_printf(&a, "HloModule test\n\n%s\nENTRY main {\n%s\n}\n",
                        c->computations ? c->computations : "", c->body);
    m = program_read_bytes(text, strlen(text), c->name, &a, &e);
    if (!m || eval_run(m, &s, NULL, output, &a, NULL, &e)) {
        printf("%s: %s\n", c->name, e.msg);
        wrong = 1;
    } else {
        count = numbers_of(&result, got);
        wrong = count != c->count;
        for (int k = 0; k < count && k < c->count; k++)
            if (!is_right(got[k], c->want[k], c->tolerance)) {
                printf("%s: number %d is %.17g for %.17g\n", c->name, k, got[k], c->want[k]);
                wrong = 1;
            }
    }
    program_free(m);
    arena_fini(&a);
    return wrong;
}

TEST(each_case_has_its_numbers)
{
    int wrong = 0;

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        wrong += run_case(&cases[k]);
    assert_int_equal(wrong, 0);
}

TEST(a_call_of_another_platform_is_refused_by_its_name)
{
    static const char text[] = "HloModule m\n\nENTRY e {\n  x = f32[2] constant({1, 2})\n"
        "  ROOT y = f32[2] custom-call(x), custom_call_target=\"__cublas$gemm\"\n}\n";
    struct eval_settings s = { .step_limit = 0 };
    struct eval_array result, *output[1] = { &result };
    struct hlo_module *m;
    struct arena a;
    struct err e = { .msg = "" };

    arena_init(&a);
    m = program_read_bytes(text, strlen(text), "m.hlo", &a, &e);
    assert_non_null(m);
    assert_int_equal(eval_run(m, &s, NULL, output, &a, NULL, &e), -1);
    assert_non_null(strstr(e.msg, "__cublas$gemm"));
    assert_int_equal(e.line, 5);
    program_free(m);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_has_its_numbers),
        cmocka_unit_test(a_call_of_another_platform_is_refused_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
