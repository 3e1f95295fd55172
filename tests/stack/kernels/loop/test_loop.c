/* Do loop fusions compute what the interpreter does, for any shape, type, layout and chip? */
#include "tests/test.h"

#include <math.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/kernel_rig.h"
#include "stack/kernels/registry.h"

static struct shape shape_of(enum graph_dtype t, int rank, const int64_t *dim)
{
    return shape_make(t, rank, dim);
}

struct body {
    struct arena arena;
    struct graph g;
};

static struct graph *open_body(struct body *b, const char *name)
{
    arena_init(&b->arena);
    graph_init(&b->g, &b->arena, name);
    return &b->g;
}

static void close_body(struct body *b)
{
    graph_fini(&b->g);
    arena_fini(&b->arena);
}

static void check(struct kernel_rig *r, struct body *b, uint64_t seed)
{
    kernel_rig_open(r, &b->g);
    kernel_rig_check(r, seed);
    kernel_rig_close(r);
    close_body(b);
}

/* x + y of equal shapes */
static void check_add(const char *chip, enum graph_dtype t, int rank, const int64_t *dim)
{
    struct kernel_rig r = {.chip = chip};
    struct body b;
    struct graph *g = open_body(&b, "add");
    int x = graph_parameter(g, shape_of(t, rank, dim), "x");
    int y = graph_parameter(g, shape_of(t, rank, dim), "y");

    if (t == DTYPE_BF16)
        graph_output(g, graph_convert(g, graph_binary(g, HLO_ADD, graph_convert(g, x, DTYPE_F32),
                                                      graph_convert(g, y, DTYPE_F32)), t),
                     "out", -1);
    else
        graph_output(g, graph_binary(g, HLO_ADD, x, y), "out", -1);
    check(&r, &b, 3);
}

TEST(sums_of_equal_shapes)
{
    static const int64_t shapes[][3] = {{7, 1, 1}, {1000, 1, 1}, {9, 129, 1}, {257, 128, 1},
                                        {3, 17, 200}, {2, 1, 1000}};
    static const int ranks[] = {1, 1, 2, 2, 3, 3};
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_S8};

    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t t = 0; t < COUNT_OF(types); t++)
            check_add(i % 2 ? "v3" : "v6e", types[t], ranks[i], shapes[i]);
}

/* (x + row[C]) * column[N] + scalar */
static void check_broadcasts(const char *chip, int64_t n, int64_t c, enum graph_dtype t)
{
    struct kernel_rig r = {.chip = chip};
    struct body b;
    struct graph *g = open_body(&b, "broadcasts");
    struct shape s = shape_of(DTYPE_F32, 2, (int64_t[]){n, c});
    int x = graph_parameter(g, shape_of(t, 2, s.dim), "x");
    int row = graph_parameter(g, shape_of(DTYPE_F32, 1, &c), "row");
    int column = graph_parameter(g, shape_of(t, 1, &n), "column");
    int scalar = graph_parameter(g, shape_scalar(DTYPE_F32), "scalar");

    x = graph_convert(g, x, DTYPE_F32);
    column = graph_convert(g, column, DTYPE_F32);
    x = graph_binary(g, HLO_ADD, x, graph_broadcast(g, row, s, (int[]){1}));
    x = graph_binary(g, HLO_MULTIPLY, x, graph_broadcast(g, column, s, (int[]){0}));
    x = graph_binary(g, HLO_ADD, x, graph_broadcast(g, scalar, s, NULL));
    graph_output(g, x, "out", -1);
    check(&r, &b, 5);
}

TEST(rows_columns_and_scalars_are_spread)
{
    check_broadcasts("v3", 64, 256, DTYPE_F32);
    check_broadcasts("v6e", 1000, 129, DTYPE_BF16);
    check_broadcasts("v5e", 9, 1000, DTYPE_F32);
    check_broadcasts("v2", 300, 7, DTYPE_BF16);
}

/* x[b,n,c] * column[b,n]: values along lanes in memory, along rows where they are needed */
static cycle_t check_columns(const char *chip, enum graph_dtype t, int64_t b, int64_t n, int64_t c,
                             int64_t vmem_rows)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .spoils_padding = true};
    struct shape s = shape_of(DTYPE_F32, 3, (int64_t[]){b, n, c});
    struct body body;
    struct graph *g = open_body(&body, "columns");
    int x = graph_convert(g, graph_parameter(g, shape_of(t, 3, s.dim), "x"), DTYPE_F32);
    int v = graph_convert(g, graph_parameter(g, shape_of(t, 2, s.dim), "v"), DTYPE_F32);

    x = graph_binary(g, HLO_MULTIPLY, x, graph_broadcast(g, v, s, (int[]){0, 1}));
    graph_output(g, graph_convert(g, x, t), "out", -1);
    check(&r, &body, 13);
    return r.cycles;
}

TEST(columns_are_transposed_128_rows_at_a_time)
{
    /* 1.5 MB at 450 GB/s take 3,300 cycles of v3 */
    assert_in_range(check_columns("v3", DTYPE_BF16, 1, 768, 512, 0), 3300, 6000);
    check_columns("v6e", DTYPE_BF16, 3, 512, 256, 1500);
    check_columns("v5e", DTYPE_F32, 2, 1000, 130, 1200);
    check_columns("v3", DTYPE_F32, 9, 136, 130, 1200);
    check_columns("v3", DTYPE_S8, 5, 300, 256, 900);
}

/* sums and maxima of x[b,n,c] along c: columns of sublanes that go into rows of lanes */
static cycle_t check_row_sums(const char *chip, enum graph_dtype t, int64_t b, int64_t n, int64_t c,
                              int64_t vmem_rows)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .spoils_padding = true,
                           .any_zero = true};
    struct body body;
    struct graph *g = open_body(&body, "row sums");
    int x = graph_parameter(g, shape_of(DTYPE_F32, 3, (int64_t[]){b, n, c}), "x");
    int sum = graph_reduce(g, REDUCE_ADD, x, 4), most = graph_reduce(g, REDUCE_MAX, x, 4);

    graph_output(g, graph_convert(g, sum, t), "sum", -1);
    graph_output(g, graph_unary(g, HLO_NEGATE, most), "most", -1);
    check(&r, &body, 17);
    return r.cycles;
}

TEST(columns_of_results_go_into_their_row_together)
{
    /* 128 tiles; with two rows loaded and stored for each it is 6,500, with columns 4,600 */
    assert_in_range(check_row_sums("v3", DTYPE_F32, 8, 128, 128, 0), 1000, 4500);
    check_row_sums("v6e", DTYPE_F32, 3, 512, 256, 2500);
    check_row_sums("v5e", DTYPE_BF16, 2, 1000, 130, 0);
    check_row_sums("v3", DTYPE_F32, 9, 136, 130, 2500);
    check_row_sums("v3", DTYPE_BF16, 5, 300, 20, 0);
}

/*
 * What is computed of sums of x[b,n,c] over c and of columns, for results that are columns; and of
 * a column, for all of x.
 */
static cycle_t check_column_work(const char *chip, enum graph_dtype t, int64_t b, int64_t n,
                                 int64_t c, int64_t vmem_rows)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .spoils_padding = true,
                           .any_zero = true};
    struct shape s = shape_of(DTYPE_F32, 3, (int64_t[]){b, n, c}), flat = shape_of(t, 2, s.dim);
    struct shape one = shape_of(DTYPE_F32, 1, &b), f32 = shape_of(DTYPE_F32, 2, s.dim);
    struct body body;
    struct graph *g = open_body(&body, "column work");
    int x = graph_parameter(g, s, "x"), k = graph_parameter(g, flat, "k"), is_in, sum, most, y;

    flat.dtype = DTYPE_PRED;
    is_in = graph_parameter(g, flat, "is_in");
    y = graph_broadcast(g, graph_parameter(g, one, "one"), f32, (int[]){0});
    k = graph_convert(g, k, DTYPE_F32);
    k = graph_binary(g, HLO_ADD, graph_binary(g, HLO_MULTIPLY, k, k), y);
    sum = graph_reduce(g, REDUCE_ADD, x, 4);
    most = graph_reduce(g, REDUCE_MAX, x, 4);
    y = graph_binary(g, HLO_ADD, graph_binary(g, HLO_MULTIPLY, k, most), sum);
    graph_output(g, graph_select(g, is_in, y, graph_unary(g, HLO_NEGATE, sum)), "y", -1);
    graph_output(g, graph_convert(g, most, t), "most", -1);
    graph_output(g, graph_compare(g, COMPARE_GT, y, k), "is_more", -1);
    y = graph_binary(g, HLO_SUBTRACT, x, graph_broadcast(g, k, s, (int[]){0, 1}));
    s.dtype = DTYPE_PRED;
    is_in = graph_broadcast(g, is_in, s, (int[]){0, 1});
    graph_output(g, graph_select(g, is_in, y, x), "z", -1);
    check(&r, &body, 23);
    return r.cycles;
}

TEST(columns_are_computed_as_they_lie_in_rows)
{
    /* 128 tiles; with registers for 8 elements throughout it is 10,700 */
    assert_in_range(check_column_work("v3", DTYPE_F32, 8, 128, 128, 0), 1000, 9400);
    check_column_work("v6e", DTYPE_F32, 9, 384, 100, 2500);
    check_column_work("v5e", DTYPE_BF16, 5, 256, 7, 0);
    check_column_work("v3", DTYPE_BF16, 17, 128, 128, 2500);
    check_column_work("v3", DTYPE_F32, 3, 136, 128, 0);
    check_column_work("v3", DTYPE_F32, 3, 256, 130, 0);
}

/* x * y, or x * a single value of type t */
static cycle_t check_single(const char *chip, bool is_single, enum graph_dtype t, bool in_vmem)
{
    struct kernel_rig r = {.chip = chip, .operands_in_vmem = in_vmem ? 3 : 0};
    struct shape s = shape_of(DTYPE_F32, 1, (int64_t[]){300});
    struct body b;
    struct graph *g = open_body(&b, "single");
    int x = graph_parameter(g, s, "x"), y;

    if (is_single)
        y = graph_broadcast(g, graph_convert(g, graph_parameter(g, shape_scalar(t), "y"),
                                             DTYPE_F32), s, NULL);
    else
        y = graph_parameter(g, s, "y");
    graph_output(g, graph_binary(g, HLO_MULTIPLY, x, y), "out", -1);
    check(&r, &b, 17);
    return r.cycles;
}

TEST(single_values_come_by_scalar_memory)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_U32,
                                             DTYPE_S8, DTYPE_U8, DTYPE_PRED};
    cycle_t array = check_single("v3", false, DTYPE_F32, false);

    /* the cross-lane unit alone would take 138 cycles more */
    assert_in_range(check_single("v3", true, DTYPE_F32, false), 1, array + 60);
    for (size_t i = 0; i < COUNT_OF(types); i++)
        check_single("v6e", true, types[i], i % 2);
}

/* halves of one array multiplied, and a part of a vector added: x[:, :n] * x[:, n:] + v[n:] */
static void check_slices(const char *chip, int64_t rows, int64_t n, enum graph_dtype t,
                         uint32_t operands_in_vmem)
{
    struct kernel_rig r = {.chip = chip, .operands_in_vmem = operands_in_vmem,
                           .spoils_padding = true};
    struct body b;
    struct graph *g = open_body(&b, "slices");
    struct shape s = shape_of(DTYPE_F32, 2, (int64_t[]){rows, n});
    int x = graph_parameter(g, shape_of(t, 2, (int64_t[]){rows + 64, 2 * n}), "x");
    int v = graph_parameter(g, shape_of(DTYPE_F32, 1, (int64_t[]){2 * n}), "v");
    int low = graph_slice(g, x, (int64_t[]){0, 0}, (int64_t[]){rows, n}, (int64_t[]){1, 1});
    int high = graph_slice(g, x, (int64_t[]){64, n}, (int64_t[]){rows + 64, 2 * n},
                           (int64_t[]){1, 1});
    int part = graph_slice(g, v, (int64_t[]){n}, (int64_t[]){2 * n}, (int64_t[]){1});

    x = graph_binary(g, HLO_MULTIPLY, graph_convert(g, low, DTYPE_F32),
                     graph_convert(g, high, DTYPE_F32));
    x = graph_binary(g, HLO_ADD, x, graph_broadcast(g, part, s, (int[]){1}));
    graph_output(g, x, "out", -1);
    assert_ptr_equal(kernel_kind_of(g), kernel_kind_named("loop"));
    check(&r, &b, 11);
}

TEST(slices_of_whole_tiles_are_windows_that_begin_further_on)
{
    check_slices("v3", 40, 256, DTYPE_F32, 0);
    check_slices("v6e", 200, 1024, DTYPE_BF16, 0);
    check_slices("v6e", 77, 384, DTYPE_BF16, 3);
    check_slices("v5e", 1, 128, DTYPE_F32, 1);
}

TEST(a_slice_that_begins_inside_a_tile_is_a_move)
{
    struct body b;
    struct graph *g = open_body(&b, "slice");
    struct shape s = shape_of(DTYPE_F32, 2, (int64_t[]){16, 256});
    struct err e;
    int x = graph_slice(g, graph_parameter(g, s, "x"), (int64_t[]){4, 0}, (int64_t[]){12, 256},
                        (int64_t[]){1, 1});

    graph_output(g, graph_unary(g, HLO_NEGATE, x), "out", -1);
    assert_ptr_equal(kernel_kind_of(g), kernel_kind_named("move"));
    assert_int_equal(kernel_kind_named("loop")->check_supported(g, NULL, &e), -1);
    assert_string_equal(e.msg, "a loop cannot make slice of part of a tile");
    close_body(&b);
}

static void check_reduce(const char *chip, enum graph_reduce kind, enum graph_dtype t, int rank,
                         const int64_t *dim, uint32_t mask)
{
    struct kernel_rig r = {.chip = chip};
    struct body b;
    struct graph *g = open_body(&b, "reduce");
    int x = graph_parameter(g, shape_of(t, rank, dim), "x");

    if (t == DTYPE_BF16)
        x = graph_convert(g, x, DTYPE_F32);
    graph_output(g, graph_reduce(g, kind, x, mask), "out", -1);
    check(&r, &b, 7);
}

TEST(reductions_over_any_dimensions)
{
    static const int64_t dims[][3] = {{5, 9, 129}, {3, 40, 256}, {20, 8, 7}};

    for (size_t i = 0; i < COUNT_OF(dims); i++)
        for (uint32_t mask = 1; mask < 8; mask++)
            check_reduce(mask % 2 ? "v3" : "v6e", REDUCE_ADD, i == 1 ? DTYPE_BF16 : DTYPE_F32, 3,
                         dims[i], mask);
}

TEST(reductions_of_every_kind_and_type)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_S32, DTYPE_U32};
    const int64_t dim[] = {2, 19, 150};

    for (int kind = REDUCE_ADD; kind <= REDUCE_ARGMIN; kind++)
        for (size_t t = 0; t < COUNT_OF(types); t++)
            for (int d = 0; d < 3; d++) {
                bool is_logic = kind == REDUCE_AND || kind == REDUCE_OR;

                check_reduce("v5e", (enum graph_reduce)kind, types[t] == DTYPE_F32 && is_logic
                                                                 ? DTYPE_PRED : types[t],
                             3, dim, 1u << d);
            }
    for (int kind = REDUCE_ADD; kind <= REDUCE_MUL; kind++)
        check_reduce("v3", (enum graph_reduce)kind, DTYPE_F32, 1, (int64_t[]){1000}, 1);
}

/* rows with no number, some, several extremes, and nothing beyond an infinity */
static void fill_row(float *x, int64_t row, int64_t n, struct rng *r)
{
    static const float any[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, 2.5f, -2.5f};

    for (int64_t i = 0; i < n; i++)
        x[i] = row % 6 == 0   ? -INFINITY
               : row % 6 == 1 ? INFINITY
               : row % 6 == 2 ? any[rng_below(r, 2)]
               : row % 6 == 3 ? rng_uniform(r, -1, 1)
                              : any[rng_below(r, COUNT_OF(any))];
    if (row % 6 == 5)
        x[rng_below(r, (uint32_t)n)] = x[n - 1] = NAN;
}

static void check_places(const char *chip, int rank, const int64_t *dim)
{
    struct kernel_rig r = {.chip = chip, .spoils_padding = true};
    int64_t n = dim[rank - 1], rows = rank > 1 ? dim[0] : 1;
    struct rng random;
    struct body b;
    struct graph *g = open_body(&b, "places");
    int x = graph_parameter(g, shape_of(DTYPE_F32, rank, dim), "x");
    float *values = arena_array(&b.arena, (size_t)(rows * n), sizeof(*values));

    rng_init(&random, (uint64_t)n);
    for (int64_t i = 0; i < rows; i++)
        fill_row(values + i * n, rank > 1 ? i : 5, n, &random);
    r.input[0] = values;
    graph_output(g, graph_reduce(g, REDUCE_ARGMAX, x, 1u << (rank - 1)), "most", -1);
    graph_output(g, graph_reduce(g, REDUCE_ARGMIN, x, 1u << (rank - 1)), "least", -1);
    check(&r, &b, 7);
}

/* the first of equals, and of what is no number: within a row of lanes, and beyond it */
TEST(extremes_are_found_where_the_interpreter_has_them)
{
    static const int64_t dims[][2] = {{50, 10}, {50, 128}, {19, 300}, {13, 1}};

    for (size_t i = 0; i < COUNT_OF(dims); i++) {
        check_places("v3", 2, dims[i]);
        check_places("v6e", 2, dims[i]);
    }
    check_places("v3", 1, (int64_t[]){1000});
}

static cycle_t reduce_cycles(enum graph_reduce kind)
{
    struct kernel_rig r = {.chip = "v3"};
    struct body b;
    struct graph *g = open_body(&b, "reduce");
    int x = graph_parameter(g, shape_of(DTYPE_F32, 2, (int64_t[]){64, 10}), "x");
    cycle_t cycles;

    graph_output(g, graph_reduce(g, kind, x, 2), "out", -1);
    kernel_rig_open(&r, g);
    cycles = kernel_rig_time(&r);
    kernel_rig_close(&r);
    close_body(&b);
    return cycles;
}

/*
 * Eight registers of rows take a reduction each; turned lane by lane, seven times with the index
 * beside the key, each would wait 14 times for the cross-lane unit.
 */
TEST(the_place_of_a_maximum_takes_one_reduction_as_the_maximum_does)
{
    cycle_t of_maximum = reduce_cycles(REDUCE_MAX);

    assert_in_range(reduce_cycles(REDUCE_ARGMAX), 1, of_maximum + 400);
}

TEST(a_linear_array_is_reduced_in_steps)
{
    struct kernel_rig r = {.chip = "v3", .vmem_rows = 1024};
    const int64_t n = 128 * 4000 - 5;   /* 2 MB through 0.5 MB of VMEM */
    struct body b;
    struct graph *g = open_body(&b, "linear");
    int x = graph_parameter(g, shape_of(DTYPE_F32, 1, &n), "x");

    graph_output(g, graph_reduce(g, REDUCE_ADD, x, 1), "sum", -1);
    graph_output(g, graph_reduce(g, REDUCE_ARGMAX, x, 1), "place", -1);
    kernel_rig_open(&r, g);
    assert_true(r.segment.cost.steps > 1);
    kernel_rig_check(&r, 3);
    kernel_rig_close(&r);
    close_body(&b);
}

/* softmax over the last dimension, of rows of n */
TEST(softmax_is_one_kernel)
{
    static const int64_t sizes[][2] = {{16, 128}, {100, 200}, {9, 1000}, {3, 7}};

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct kernel_rig r = {.chip = i % 2 ? "v6e" : "v3", .values = RIG_UNIFORM, .ulp = 64};
        struct body b;
        struct graph *g = open_body(&b, "softmax");
        struct shape s = shape_of(DTYPE_F32, 2, sizes[i]);
        int x = graph_parameter(g, s, "x"), m, e, sum;

        m = graph_reduce(g, REDUCE_MAX, x, 2);
        e = graph_unary(g, HLO_EXP, graph_binary(g, HLO_SUBTRACT, x,
                                                 graph_broadcast(g, m, s, (int[]){0})));
        sum = graph_reduce(g, REDUCE_ADD, e, 2);
        graph_output(g, graph_binary(g, HLO_DIVIDE, e, graph_broadcast(g, sum, s, (int[]){0})),
                     "out", -1);
        check(&r, &b, 11 + i);
    }
}

/* of a bias over samples: samples are innermost, and each block of it is fetched once */
static void check_bias(const char *chip, enum graph_reduce kind)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = 3072, .values = RIG_WHOLE};
    struct body b;
    struct graph *g = open_body(&b, "bias");
    struct shape s = shape_of(DTYPE_F32, 3, (int64_t[]){6, 512, 512});
    int x = graph_parameter(g, s, "x"), y;
    int64_t bytes = 0;

    y = graph_parameter(g, shape_of(DTYPE_F32, 2, &s.dim[1]), "bias");
    y = graph_binary(g, HLO_ADD, x, graph_broadcast(g, y, s, (int[]){1, 2}));
    graph_output(g, y, "out", -1);
    if (kind != REDUCE_REPLACE)
        graph_output(g, graph_reduce(g, kind, y, 1), "sum", -1);
    kernel_rig_open(&r, g);
    kernel_rig_check(&r, 21);
    assert_true(r.segment.cost.steps > 1);
    for (int i = 0; i < g->parameter_count; i++)
        bytes += r.operand[i].bytes;
    for (int i = 0; i < g->output_count; i++)
        bytes += r.result_array[i].bytes;
    assert_in_range(r.segment.cost.hbm_bytes, bytes, bytes + bytes / 16);       /* blocks overlap */
    kernel_rig_close(&r);
    close_body(&b);
}

TEST(what_is_spread_over_samples_is_fetched_once)
{
    check_bias("v3", REDUCE_REPLACE);
    check_bias("v6e", REDUCE_REPLACE);
    check_bias("v6e", REDUCE_MAX);
}

static int over_lanes(struct graph *g, int column, struct shape s)
{
    return graph_broadcast(g, column, s, (int[]){0, 1});
}

/*
 * Reductions of x[b,n,c] over c that come back to all of it: through arithmetic with a column, as
 * a predicate, beside a result of the same rows, and once more behind a sum over n.
 */
static void check_lifted(const char *chip, int64_t b, int64_t n, int64_t c, int64_t vmem_rows)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .spoils_padding = true,
                           .any_zero = true};
    struct shape s = shape_of(DTYPE_F32, 3, (int64_t[]){b, n, c}), mask = s;
    struct body body;
    struct graph *g = open_body(&body, "lifted");
    int x = graph_parameter(g, s, "x"), is_in, column, most, d, sum, is_more, z;

    mask.dtype = DTYPE_PRED;
    is_in = graph_parameter(g, mask, "is_in");
    column = graph_parameter(g, shape_of(DTYPE_F32, 2, s.dim), "column");
    x = graph_select(g, is_in, x, graph_unary(g, HLO_NEGATE, x));
    most = graph_reduce(g, REDUCE_MAX, x, 4);
    is_more = graph_compare(g, COMPARE_GT, most, column);
    d = graph_binary(g, HLO_ADD, graph_binary(g, HLO_MULTIPLY, most, column), column);
    d = graph_binary(g, HLO_SUBTRACT, x, over_lanes(g, d, s));
    sum = graph_reduce(g, REDUCE_ADD, d, 4);
    graph_output(g, graph_select(g, over_lanes(g, is_more, mask), d, over_lanes(g, sum, s)), "d",
                 -1);
    graph_output(g, graph_binary(g, HLO_ADD, sum, most), "column out", -1);
    z = graph_reduce(g, REDUCE_ADD, d, 2);
    z = graph_binary(g, HLO_ADD, graph_broadcast(g, z, s, (int[]){0, 2}), over_lanes(g, sum, s));
    graph_output(g, graph_binary(g, HLO_SUBTRACT, z,
                                 over_lanes(g, graph_reduce(g, REDUCE_MIN, z, 4), s)),
                 "z", -1);
    check(&r, &body, 19);
}

TEST(sums_over_one_tile_of_lanes_stay_in_registers)
{
    check_lifted("v3", 2, 16, 128, 0);
    check_lifted("v3", 1, 136, 7, 0);
    check_lifted("v5e", 3, 40, 100, 0);
    check_lifted("v6e", 9, 130, 128, 3000);
    check_lifted("v3", 2, 40, 130, 0);  /* two tiles: they do not */
}

/* ----- cycles */

static int softmax_of(struct graph *g, struct shape s)
{
    int dims[] = {0, 1}, last = s.rank - 1;
    int x = graph_parameter(g, s, "x"), m = graph_reduce(g, REDUCE_MAX, x, 1u << last), e, sum;

    x = graph_binary(g, HLO_SUBTRACT, x, graph_broadcast(g, m, s, dims));
    e = graph_unary(g, HLO_EXP, x);
    sum = graph_reduce(g, REDUCE_ADD, e, 1u << last);
    return graph_binary(g, HLO_DIVIDE, e, graph_broadcast(g, sum, s, dims));
}

static int add_of(struct graph *g, struct shape s)
{
    int x = graph_parameter(g, s, "x");

    return graph_binary(g, HLO_ADD, x, graph_parameter(g, s, "y"));
}

static int column_sums_of(struct graph *g, struct shape s)
{
    return graph_reduce(g, REDUCE_ADD, graph_parameter(g, s, "x"), 1);
}

/* over the rows of matrices, whose lanes are other vectors; `type`: of the result */
static int softmax_of_rows(struct graph *g, struct shape s, enum graph_dtype type)
{
    int dims[] = {0, 2};
    int x = graph_parameter(g, s, "x"), m = graph_reduce(g, REDUCE_MAX, x, 1u << 1), e, sum;

    x = graph_binary(g, HLO_SUBTRACT, x, graph_broadcast(g, m, s, dims));
    e = graph_unary(g, HLO_EXP, x);
    sum = graph_reduce(g, REDUCE_ADD, e, 1u << 1);
    return graph_convert(g, graph_binary(g, HLO_DIVIDE, e, graph_broadcast(g, sum, s, dims)), type);
}

static int softmax_of_columns(struct graph *g, struct shape s)
{
    return softmax_of_rows(g, s, DTYPE_BF16);
}

/* x + 1 where x lies; NULL: the cheapest boxes; `may`: those asked for update nothing twice */
static void check_update(const struct tiling *t, int rank, const int64_t *dim, bool in_vmem,
                         int64_t vmem_rows, bool may)
{
    struct kernel_rig r = {.chip = "v3", .tiling = t, .alias = {1}, .may_refuse = true,
                           .operands_in_vmem = in_vmem, .results_in_vmem = in_vmem,
                           .vmem_rows = vmem_rows};
    struct body b;
    struct graph *g = open_body(&b, "update");
    struct shape s = shape_of(DTYPE_F32, rank, dim);
    int x = graph_parameter(g, s, "x");

    graph_output(g, graph_binary(g, HLO_ADD, x, graph_splat(g, x, 1)), "y", -1);
    kernel_rig_open(&r, g);
    assert_int_equal(r.refusal[0] == 0, may);
    if (may)
        kernel_rig_check(&r, 3);
    kernel_rig_close(&r);
    close_body(&b);
}

static void check_boxes(int64_t lanes, int64_t rows, bool in_vmem, bool may)
{
    struct tiling t = {.count = 2, .size = {lanes, rows}};

    check_update(&t, 2, (int64_t[]){160, 3 * 128}, in_vmem, 0, may);
}

/* 20 groups of rows, 3 of lanes; boxes move along lanes first */
TEST(boxes_of_updates_in_place_overlap_only_where_nothing_is_read_again)
{
    const int64_t odd[] = {7, 13 * 8, 3 * 128};

    check_boxes(3, 6, false, true);
    check_boxes(2, 5, false, true);
    check_boxes(1, 5, false, true);
    check_boxes(1, 6, false, false);
    check_boxes(2, 20, true, false);
    check_boxes(3, 6, true, false);
    check_boxes(3, 5, true, true);
    check_update(NULL, 3, odd, false, 1200, true);
    check_update(NULL, 3, odd, true, 0, true);
}

/* cycles told and simulated alike, at least `gbps` from and to HBM, at most `most` cycles */
/* a function of a function: exponential, then reciprocal */
static int logistic_of(struct graph *g, struct shape s)
{
    return graph_unary(g, HLO_LOGISTIC, graph_parameter(g, s, "x"));
}

static void check_cycles(const char *chip, int (*make)(struct graph *g, struct shape s),
                         struct shape s, bool in_vmem, double gbps, cycle_t most)
{
    struct kernel_rig r = {.chip = chip, .operands_in_vmem = in_vmem ? 3 : 0,
                           .results_in_vmem = in_vmem};
    struct body b;
    struct graph *g = open_body(&b, "timed");
    double seconds;

    graph_output(g, make(g, s), "out", -1);
    kernel_rig_open(&r, g);
    kernel_rig_time(&r);
    seconds = (double)r.cycles / (double)r.machine_chip.chip_clock_mhz / 1e6;
    print_message("%s: told %lld, simulated %lld cycles, %.0f GB/s\n", chip,
                  (long long)r.segment.cost.total_cycles, (long long)r.cycles,
                  (double)r.segment.cost.hbm_bytes / seconds / 1e9);
    assert_in_range(r.segment.cost.total_cycles, r.cycles * 88 / 100, r.cycles * 112 / 100);
    assert_true((double)r.segment.cost.hbm_bytes / seconds / 1e9 >= gbps);
    assert_in_range(r.cycles, 1, most);
    kernel_rig_close(&r);
    close_body(&b);
}

TEST(cycles_are_told_within_an_eighth_and_memory_streams)
{
    struct shape large = shape_of(DTYPE_F32, 2, (int64_t[]){8192, 1024});
    struct shape rows = shape_of(DTYPE_F32, 2, (int64_t[]){512, 512});
    struct shape heads = shape_of(DTYPE_F32, 3, (int64_t[]){24, 328, 328});
    struct shape keys = shape_of(DTYPE_F32, 2, (int64_t[]){4096, 128});

    /* the port of a v3 core has 450 GB/s */
    check_cycles("v3", add_of, large, false, 420, 1 << 20);
    check_cycles("v3", column_sums_of, large, false, 400, 1 << 20);
    check_cycles("v5e", add_of, large, false, 700, 1 << 20);
    check_cycles("v6e", add_of, large, false, 1200, 1 << 20);
    check_cycles("v3", softmax_of, rows, false, 0, 9000);
    /* 24 x 41 x 3 registers, of which each takes 3 1/3 stores, 2 per cycle, and XLU and EUP */
    check_cycles("v6e", softmax_of, heads, true, 0, 5 * 24 * 41 * 3);
    /* of one tile of lanes: two reductions of 8 cycles a register, and nothing else */
    check_cycles("v3", softmax_of, keys, true, 0, 512 * 17);
    /* two functions a register, one per cycle, and a block's latencies every 32 registers */
    check_cycles("v6e", logistic_of, heads, true, 0, 4 * 24 * 41 * 3);
}

/* maximum, powers, sums and quotients of several heads overlap: slots are full, or nearly */
TEST(phases_of_a_softmax_over_rows_overlap)
{
    struct shape heads = shape_of(DTYPE_F32, 3, (int64_t[]){32, 328, 128});

    /* 6.5 slots of a register, of four in a bundle, and the ends; phases apart take 2.2 cycles */
    check_cycles("v6e", softmax_of_columns, heads, true, 0, 32 * 41 * 21 / 10);
    for (int i = 0; i < 12; i++) {
        static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
        struct kernel_rig r = {.chip = chips[i % 4], .values = RIG_UNIFORM, .ulp = 64,
                               .operands_in_vmem = i % 3 == 0};
        struct rng random;
        struct body b;
        struct graph *g = open_body(&b, "softmax");
        int64_t size[3];

        rng_init(&random, (uint64_t)(4100 + i));
        size[0] = 1 + (int64_t)rng_below(&random, 9);
        size[1] = 9 + (int64_t)rng_below(&random, 330);
        size[2] = 1 + (int64_t)rng_below(&random, 300);
        print_message("%s: %lldx%lldx%lld\n", r.chip, (long long)size[0], (long long)size[1],
                      (long long)size[2]);
        graph_output(g, softmax_of_rows(g, shape_of(DTYPE_F32, 3, size), i % 2 ? DTYPE_F32 : DTYPE_BF16),
                     "out", -1);
        check(&r, &b, (uint64_t)(31 + i));
    }
}

/*
 * y = x + column + row number, also narrow: groups have as many rows as a tile of the narrow type,
 * and the last one has too few tiles of x and y.
 */
static struct graph *parts_body(struct body *b, enum graph_dtype narrow, int rank,
                                const int64_t *dim)
{
    struct graph *g = open_body(b, "parts");
    struct shape s = shape_of(DTYPE_S32, rank, dim);
    int rows = rank == 1 ? 0 : rank - 2;
    int x = graph_parameter(g, s, "x");
    int column = graph_parameter(g, shape_of(DTYPE_S32, 1, &dim[rows]), "column");
    int old = graph_parameter(g, shape_of(narrow, rank, dim), "old");
    int y = graph_binary(g, HLO_ADD, x, graph_iota(g, s, rows));

    y = graph_binary(g, HLO_ADD, y, graph_broadcast(g, column, s, &rows));
    graph_output(g, y, "y", -1);
    y = graph_binary(g, HLO_ADD, y, graph_convert(g, old, DTYPE_S32));
    graph_output(g, graph_convert(g, y, narrow), "narrow", -1);
    return g;
}

static void check_parts(const char *chip, enum graph_dtype narrow, int rank, const int64_t *dim,
                        int64_t vmem_rows, bool is_cut)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .spoils_padding = true,
                           .alias = {1, narrow == DTYPE_S8 ? 3 : 0}, .index_end = 3};
    struct body b;
    struct graph *g = parts_body(&b, narrow, rank, dim);
    int64_t rows = rank == 1 ? div_up(dim[0], 128) : dim[rank - 2];

    kernel_rig_open(&r, g);
    assert_int_equal(r.segment.tiling.size[1] < div_up(rows, narrow == DTYPE_S8 ? 32 : 16), is_cut);
    kernel_rig_check(&r, 5);
    kernel_rig_close(&r);
    close_body(&b);
}

/* 6283 f32 tiles down, but 3142 bf16 ones: such arrays did not go through VMEM in pieces */
TEST(the_last_group_of_rows_may_miss_tiles_and_the_others_are_cut)
{
    const int64_t small = 1200, all = 0;

    check_parts("v3", DTYPE_BF16, 2, (int64_t[]){1601, 100}, small, true);
    check_parts("v6e", DTYPE_BF16, 2, (int64_t[]){1605, 300}, small, true);
    check_parts("v5e", DTYPE_S8, 2, (int64_t[]){1605, 130}, small, true);
    check_parts("v3", DTYPE_S8, 3, (int64_t[]){3, 333, 130}, small, true);
    check_parts("v6e", DTYPE_BF16, 4, (int64_t[]){2, 2, 199, 257}, small, true);
    check_parts("v3", DTYPE_BF16, 1, (int64_t[]){100 * 2048 + 5}, 900, true);
    check_parts("v3", DTYPE_BF16, 2, (int64_t[]){5, 100}, all, false);
}

/* a sum over such rows keeps them whole: its parts would have to meet */
TEST(sums_over_rows_that_miss_tiles_are_not_parted)
{
    struct kernel_rig r = {.chip = "v3", .vmem_rows = 1200, .may_refuse = true};
    struct body b;
    struct graph *g = open_body(&b, "sums");
    int x = graph_parameter(g, shape_of(DTYPE_F32, 2, (int64_t[]){1601, 100}), "x");
    int y = graph_parameter(g, shape_of(DTYPE_BF16, 2, (int64_t[]){1601, 100}), "y");

    x = graph_binary(g, HLO_ADD, x, graph_convert(g, y, DTYPE_F32));
    graph_output(g, graph_reduce(g, REDUCE_ADD, x, 1), "sum", -1);
    kernel_rig_open(&r, g);
    assert_non_null(strstr(r.refusal, "no tiling goes with these layouts"));
    kernel_rig_close(&r);
    close_body(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_equal_shapes),
        cmocka_unit_test(rows_columns_and_scalars_are_spread),
        cmocka_unit_test(single_values_come_by_scalar_memory),
        cmocka_unit_test(columns_are_transposed_128_rows_at_a_time),
        cmocka_unit_test(columns_of_results_go_into_their_row_together),
        cmocka_unit_test(columns_are_computed_as_they_lie_in_rows),
        cmocka_unit_test(slices_of_whole_tiles_are_windows_that_begin_further_on),
        cmocka_unit_test(a_slice_that_begins_inside_a_tile_is_a_move),
        cmocka_unit_test(reductions_over_any_dimensions),
        cmocka_unit_test(reductions_of_every_kind_and_type),
        cmocka_unit_test(extremes_are_found_where_the_interpreter_has_them),
        cmocka_unit_test(the_place_of_a_maximum_takes_one_reduction_as_the_maximum_does),
        cmocka_unit_test(a_linear_array_is_reduced_in_steps),
        cmocka_unit_test(softmax_is_one_kernel),
        cmocka_unit_test(phases_of_a_softmax_over_rows_overlap),
        cmocka_unit_test(what_is_spread_over_samples_is_fetched_once),
        cmocka_unit_test(sums_over_one_tile_of_lanes_stay_in_registers),
        cmocka_unit_test(boxes_of_updates_in_place_overlap_only_where_nothing_is_read_again),
        cmocka_unit_test(the_last_group_of_rows_may_miss_tiles_and_the_others_are_cut),
        cmocka_unit_test(sums_over_rows_that_miss_tiles_are_not_parted),
        cmocka_unit_test(cycles_are_told_within_an_eighth_and_memory_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
