/*
 * Does what is computed before and behind a product come out right, in the product's own kernel?
 * Random operands and results made of arrays of all shapes, against the interpreter. Values are
 * whole numbers and few enough that every sum is exact in any order.
 */
#include "tests/rigs/kernel_rig.h"
#include "tests/test.h"

#include "base/units.h"
#include "stack/hlo/precision.h"

#include <stdlib.h>

struct maker {
    struct graph *g;
    struct arena *a;
    uint64_t state;
    bool has_blocks;                    /* few of which go with sums over them */
};

static int draw(struct maker *m, int end)       /* 0..end - 1 */
{
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (int)(m->state >> 33) % end;
}

static int parameter(struct maker *m, struct shape s)
{
    return graph_parameter(m->g, s, arena_printf(m->a, "p%d", m->g->parameter_count));
}

static int widened(struct maker *m, int node) { return graph_convert(m->g, node, DTYPE_F32); }

/* an array on some of the dimensions of `s`, spread over the others, as f32 */
static int spread(struct maker *m, const struct shape *s, uint32_t mask)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16};
    struct shape own = {.dtype = types[draw(m, 2)]}, wide = *s;
    int dims[GRAPH_RANK_MAX], node;

    for (int d = 0; d < s->rank; d++)
        if (mask >> d & 1) {
            dims[own.rank] = d;
            own.dim[own.rank++] = s->dim[d];
        }
    wide.dtype = DTYPE_F32;
    node = widened(m, parameter(m, own));
    return own.rank == s->rank ? node : graph_broadcast(m->g, node, wide, dims);
}

static int clamped(struct maker *m, int x, double most)
{
    return graph_binary(m->g, HLO_MINIMUM,
                        graph_binary(m->g, HLO_MAXIMUM, x, graph_splat(m->g, x, -most)),
                        graph_splat(m->g, x, most));
}

/* one more operation on x, with an array on random dimensions or a mask */
static int worked(struct maker *m, int x)
{
    struct shape s = m->g->node[x].shape, mask = s;
    uint32_t all = (1u << s.rank) - 1;

    switch (draw(m, 4)) {
    case 0:
        mask.dtype = DTYPE_PRED;
        return graph_select(m->g, parameter(m, mask), x, graph_splat(m->g, x, 0));
    case 1:
        return clamped(m, graph_binary(m->g, HLO_MULTIPLY, x,
                                       spread(m, &s, 1u + (uint32_t)draw(m, (int)all))), 100);
    case 2:
        return graph_binary(m->g, HLO_ADD, x,
                            spread(m, &s, 1u + (uint32_t)draw(m, (int)all)));
    default:
        return graph_binary(m->g, HLO_MAXIMUM, x, graph_splat(m->g, x, -3));
    }
}

static int operand(struct maker *m, struct shape s, bool is_bf16)
{
    int x, count = draw(m, 4);

    s.dtype = draw(m, 2) ? DTYPE_BF16 : DTYPE_F32;
    x = widened(m, parameter(m, s));
    for (int i = 0; i < count; i++)
        x = worked(m, x);
    if (count)
        x = clamped(m, x, 16);
    return is_bf16 ? graph_convert(m->g, x, DTYPE_BF16) : x;
}

/* results of some work on the product: itself, sums, largest values over some dimensions */
static void put_results(struct maker *m, int x)
{
    struct shape s = m->g->node[x].shape;
    int count = draw(m, 4);
    bool has_result = m->has_blocks || draw(m, 3) > 0;

    x = widened(m, x);
    for (int i = 0; i < count; i++)
        x = worked(m, x);
    if (has_result)
        graph_output(m->g, draw(m, 2) ? graph_convert(m->g, x, DTYPE_BF16) : x, "y", -1);
    if (has_result && draw(m, m->has_blocks ? 5 : 3))
        return;
    for (int d = 0; d < s.rank; d++) {
        int small = graph_reduce(m->g, REDUCE_ADD, clamped(m, x, 8), 1u << d);

        if (draw(m, 2))
            small = graph_reduce(m->g, REDUCE_MAX, x, 1u << d);
        if (d == s.rank - 1 || draw(m, 2))
            graph_output(m->g, draw(m, 2) ? graph_convert(m->g, small, DTYPE_BF16) : small,
                         "sum", -1);
    }
}

static struct shape matrices(int64_t outer, int64_t rows, int64_t columns)
{
    if (outer == 0)
        return shape_make(DTYPE_F32, 2, (int64_t[]){rows, columns});
    return shape_make(DTYPE_F32, 3, (int64_t[]){outer, rows, columns});
}

struct sizes { int64_t outer, m, k, n; bool is_batch; };

static void build(struct maker *m, const struct sizes *z)
{
    bool lhs_transposed = draw(m, 4) == 0 && z->is_batch == (z->outer > 0);
    bool rhs_transposed = draw(m, 3) == 0;
    bool is_bf16 = draw(m, 2);
    int rank = z->outer ? 3 : 2, rhs_rank = z->is_batch ? 3 : 2, x, y;
    struct graph_dot dot = {.batch_count = z->is_batch, .contract_count = 1,
                            .lhs_contract = {lhs_transposed ? rank - 2 : rank - 1},
                            .rhs_contract = {rhs_transposed ? rhs_rank - 1 : rhs_rank - 2}};

    x = operand(m, lhs_transposed ? matrices(z->outer, z->k, z->m) : matrices(z->outer, z->m, z->k),
                is_bf16);
    y = operand(m, rhs_transposed ? matrices(z->is_batch ? z->outer : 0, z->n, z->k)
                              : matrices(z->is_batch ? z->outer : 0, z->k, z->n), is_bf16);
    put_results(m, graph_dot_general(m->g, x, y, &dot, draw(m, 3) ? DTYPE_F32 : DTYPE_BF16,
                                     PRECISION_DEFAULT));
}

static int run(const char *chip, const struct sizes *z, const struct tiling *t, uint64_t seed,
               bool may_refuse)
{
    struct kernel_rig r = {.chip = chip, .spoils_padding = true, .any_zero = true, .tiling = t,
                           .may_refuse = may_refuse, .values = RIG_WHOLE,
                           .operands_in_vmem = seed % 5 == 1 ? 3 : 0};
    struct arena a;
    struct graph g;
    struct maker m = {.g = &g, .a = &a, .state = seed * 77777 + 1, .has_blocks = t != NULL};
    int ran;

    arena_init(&a);
    graph_init(&g, &a, "staged");
    build(&m, z);
    kernel_rig_open(&r, &g);
    ran = !r.refusal[0];
    if (getenv("STAGE_VERBOSE"))
        printf("%s %lld: %lldx%lldx%lldx%lld %s\n", chip, (long long)seed, (long long)z->outer,
               (long long)z->m, (long long)z->k, (long long)z->n, r.refusal);
    if (ran)
        kernel_rig_check(&r, seed);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
    return ran;
}

static const char *const chips[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

static void test_random_stages(void **state)
{
    static const int64_t sizes[] = {1, 7, 8, 9, 32, 127, 128, 129, 256, 300};
    int ran = 0, count = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 70; seed++) {
        struct maker m = {.state = seed + 99};
        struct sizes z = {.outer = draw(&m, 2) ? 1 + draw(&m, 4) : 0,
                          .m = sizes[draw(&m, COUNT_OF(sizes))],
                          .k = sizes[draw(&m, COUNT_OF(sizes))],
                          .n = sizes[draw(&m, COUNT_OF(sizes))]};

        z.is_batch = z.outer && draw(&m, 2);
        ran += run(chips[seed % COUNT_OF(chips)], &z, NULL, seed, true);
        count++;
    }
    printf("%d of %d compiled\n", ran, count);
    assert_true(ran * 10 > count * 9);
}

/* blocks smaller than the arrays: masks that rows share, rows of several batches in a block */
static void test_blocks(void **state)
{
    static const struct sizes sizes[] = {{0, 256, 384, 512, false}, {4, 64, 256, 256, false},
                                         {3, 128, 256, 384, true}};
    static const int64_t blocks[][3] = {{64, 128, 128}, {128, 256, 256}, {64, 256, 128},
                                        {128, 128, 384}};
    int ran = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 48; seed++) {
        const struct sizes *z = &sizes[seed % 3];
        const int64_t *b = blocks[seed / 3 % 4];
        struct tiling t = {.count = 3, .size = {b[0], b[1], b[2]}};

        ran += run(seed % 2 ? "v3" : "v6e", z, &t, seed, true);
    }
    printf("%d of 48 compiled\n", ran);
    assert_true(ran > 24);
}

/* rows of several batches that end inside a block: 4 x 96 rows in blocks of 128 */
static void test_blocks_across_batches(void **state)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    struct tiling t = {.count = 3, .size = {128, 256, 256}};
    struct kernel_rig r = {.chip = "v3", .tiling = &t, .spoils_padding = true, .ulp = 8,
                           .absolute = 1e-6};
    struct arena a;
    struct graph g;
    int x, y;

    (void)state;
    arena_init(&a);
    graph_init(&g, &a, "across");
    x = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){4, 96, 256}), "x");
    y = graph_parameter(&g, shape_make(DTYPE_BF16, 2, (int64_t[]){256, 256}), "y");
    x = graph_dot_general(&g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
    y = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){4, 96, 256}), "z");
    x = graph_binary(&g, HLO_MULTIPLY, x, graph_convert(&g, y, DTYPE_F32));
    graph_output(&g, graph_convert(&g, x, DTYPE_BF16), "narrow", -1);
    graph_output(&g, graph_reduce(&g, REDUCE_ADD, x, 3), "sum", -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 1);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* many small matrices, several of which a step takes at once */
static void test_batches(void **state)
{
    static const struct sizes sizes[] = {{24, 32, 32, 32, true}, {20, 100, 40, 72, true},
                                         {12, 128, 64, 256, true}, {9, 40, 328, 33, true}};
    int ran = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++)
        ran += run(chips[seed % COUNT_OF(chips)], &sizes[seed % 4], NULL, 200 + seed, true);
    printf("%d of 24 compiled\n", ran);
    assert_true(ran >= 22);
}

/* an operand less its maxima, plus its sums, along what is contracted, as a softmax has them */
static void test_sums_before(void **state)
{
    static const int64_t sizes[][4] = {{24, 32, 32, 32}, {12, 32, 328, 328}, {6, 64, 200, 130},
                                       {3, 300, 129, 40}};
    int refused = 0;

    (void)state;
    for (int at = 0; at < 56; at++) {
        const int64_t *z = sizes[at % 4];
        int is_rows = at / 4 % 2, kept[] = {0, 2 - is_rows}, dim = 1 + is_rows;
        struct graph_dot dot = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                                .contract_count = 1, .lhs_contract = {dim}, .rhs_contract = {1}};
        struct kernel_rig r = {.chip = chips[at % (int)COUNT_OF(chips)], .spoils_padding = true,
                               .may_refuse = true, .any_zero = true, .values = RIG_WHOLE};
        struct arena a;
        struct graph g;
        struct maker m = {.g = &g, .a = &a};
        int x, y, high, sum;

        arena_init(&a);
        graph_init(&g, &a, "weights");
        x = parameter(&m, shape_make(at % 3 ? DTYPE_BF16 : DTYPE_F32, 3,
                                     (int64_t[]){z[0], is_rows ? z[1] : z[2], is_rows ? z[2] : z[1]}));
        x = widened(&m, x);
        high = graph_reduce(&g, REDUCE_MAX, x, 1u << dim);
        x = graph_binary(&g, HLO_SUBTRACT, x, graph_broadcast(&g, high, g.node[x].shape, kept));
        sum = clamped(&m, graph_reduce(&g, REDUCE_ADD, x, 1u << dim), 8);
        x = graph_binary(&g, HLO_ADD, x, graph_broadcast(&g, sum, g.node[x].shape, kept));
        y = parameter(&m, shape_make(DTYPE_BF16, 3, (int64_t[]){z[0], z[2], z[3]}));
        x = graph_dot_general(&g, graph_convert(&g, x, DTYPE_BF16), y, &dot, DTYPE_F32,
                              PRECISION_DEFAULT);
        graph_output(&g, x, "y", -1);
        kernel_rig_open(&r, &g);
        if (!r.refusal[0])
            kernel_rig_check(&r, (uint64_t)at);
        refused += r.refusal[0] != '\0';
        kernel_rig_close(&r);
        graph_fini(&g);
        arena_fini(&a);
    }
    assert_int_equal(refused, 0);
}

/* batches of two dimensions are one to the grid: each step copies its own of a factor, no more */
static void test_factor_is_read_once(void **state)
{
    static const int64_t lhs[] = {4, 4, 64, 128}, rhs[] = {4, 4, 128, 128};
    static const struct graph_dot dot = {
        .batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .contract_count = 1,
        .lhs_contract = {3}, .rhs_contract = {2}};
    struct tiling one = {.count = 3, .size = {64, 128, 128}};
    struct kernel_rig r = {.chip = "v3", .tiling = &one};
    int64_t bytes = 0;
    struct arena a;
    struct graph g;
    int x, y, factor;

    (void)state;
    arena_init(&a);
    graph_init(&g, &a, "product");
    x = graph_convert(&g, graph_parameter(&g, shape_make(DTYPE_BF16, 4, lhs), "x"), DTYPE_F32);
    factor = graph_parameter(&g, shape_make(DTYPE_F32, 4, lhs), "factor");
    x = graph_convert(&g, graph_binary(&g, HLO_MULTIPLY, x, factor), DTYPE_BF16);
    y = graph_parameter(&g, shape_make(DTYPE_BF16, 4, rhs), "y");
    graph_output(&g, graph_dot_general(&g, x, y, &dot, DTYPE_BF16, PRECISION_DEFAULT), "z", -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 1);
    for (int i = 0; i < g.parameter_count; i++)
        bytes += r.operand[i].bytes;
    assert_int_equal(r.segment.cost.hbm_bytes, bytes + r.result_array[0].bytes);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* [256,128] x [128,640] and what is reduced over its columns, in blocks of 256 columns */
static void run_overlapping(const char *chip, enum graph_reduce kind, bool is_refused)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    struct tiling t = {.count = 3, .size = {128, 128, 256}};
    struct kernel_rig r = {.chip = chip, .tiling = &t, .spoils_padding = true, .may_refuse = true,
                           .values = RIG_WHOLE};
    struct arena a;
    struct graph g;
    int x, y;

    arena_init(&a);
    graph_init(&g, &a, "overlapping");
    x = graph_parameter(&g, shape_make(DTYPE_BF16, 2, (int64_t[]){256, 128}), "x");
    y = graph_parameter(&g, shape_make(DTYPE_BF16, 2, (int64_t[]){128, 640}), "y");
    x = graph_dot_general(&g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
    graph_output(&g, graph_convert(&g, x, DTYPE_BF16), "narrow", -1);
    graph_output(&g, graph_reduce(&g, kind, x, 2), "reduced", -1);
    kernel_rig_open(&r, &g);
    assert_int_equal(r.refusal[0] != '\0', is_refused);
    if (!is_refused)
        kernel_rig_check(&r, 3);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* five tiles of columns by two: the last block begins a tile early, which only sums mind */
static void test_blocks_that_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        run_overlapping(chips[i], REDUCE_MAX, false);
        run_overlapping(chips[i], REDUCE_MIN, false);
        run_overlapping(chips[i], REDUCE_ADD, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_stages),
                                       cmocka_unit_test(test_sums_before),
                                       cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_blocks_across_batches),
                                       cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_factor_is_read_once),
                                       cmocka_unit_test(test_blocks_that_overlap)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
