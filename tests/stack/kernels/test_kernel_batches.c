/* Do products in batches come out right, bit for bit, whatever their dimensions and their order? */
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"

/* [2,3,m,k] x [2,3,k,n] or x [k,n], and contracted over the batch too: [b,m,k] x [b,m,n] */
static int build_general(struct graph *g, struct arena *a, int form)
{
    static const struct graph_dot dots[] = {
        {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .contract_count = 1,
         .lhs_contract = {3}, .rhs_contract = {2}},
        {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .contract_count = 1,
         .lhs_contract = {3}, .rhs_contract = {3}},
        {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}},
        {.contract_count = 2, .lhs_contract = {0, 1}, .rhs_contract = {0, 1}},
        {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}},
    };
    static const int64_t lhs[][4] = {{2, 3, 40, 72}, {2, 3, 40, 128}, {3, 48, 256}, {2, 48, 136},
                                     {3, 20, 256}};
    static const int64_t rhs[][4] = {{2, 3, 72, 24}, {2, 3, 56, 128}, {256, 384}, {2, 48, 200},
                                     {256, 384}};
    int rank = form < 2 ? 4 : 3, rhs_rank = form == 2 || form == 4 ? 2 : rank, x, y;

    graph_init(g, a, "product");
    x = graph_parameter(g, shape_make(DTYPE_BF16, rank, lhs[form]), "x");
    y = graph_parameter(g, shape_make(DTYPE_BF16, rhs_rank, rhs[form]), "y");
    return graph_dot_general(g, x, y, &dots[form], form % 2 ? DTYPE_F32 : DTYPE_BF16,
                             PRECISION_DEFAULT);
}

static void test_batches(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e"};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (int form = 0; form < 5; form++) {
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true};
            struct arena a;
            struct graph g;

            arena_init(&a);
            graph_output(&g, build_general(&g, &a, form), "out", -1);
            kernel_rig_open(&r, &g);
            kernel_rig_check(&r, 1);
            kernel_rig_close(&r);
            graph_fini(&g);
            arena_fini(&a);
        }
}

/* ----- rows, columns and contraction of several dimensions, in any order */

enum { SIDES = 4, DIMS_MAX = 8 };       /* batch, rows, columns, contraction */

struct many {
    int side[DIMS_MAX], count;          /* the first of a side is the one that tiles have */
    int64_t size[DIMS_MAX];
};

static struct many pick_dims(struct rng *state)
{
    static const int64_t inner[] = {1, 8, 9, 16, 24, 40, 64, 100, 128, 129, 200, 256};
    struct many d = {.count = 0};

    for (int side = 0; side < SIDES; side++)
        for (uint32_t more = rng_below(state, 2) + (side > 0); more > 0; more--) {
            bool is_first = side > 0 && (d.count == 0 || d.side[d.count - 1] != side);

            d.side[d.count] = side;
            d.size[d.count++] = is_first ? inner[rng_below(state, COUNT_OF(inner))]
                                         : 2 + rng_below(state, 2);
        }
    return d;
}

static int first_of(const struct many *d, int side)
{
    int i = 0;

    while (d->side[i] != side)
        i++;
    return i;
}

/* an array of the dimensions of all sides but one: outer ones in any order, then the tiled pair */
static struct shape pick_array(const struct many *d, int without, enum graph_dtype dtype, int *dims,
                               struct rng *state)
{
    struct shape s = {.dtype = dtype};
    int inner[2], count = 0;

    for (int side = 1; side < SIDES; side++)
        if (side != without)
            inner[count++] = first_of(d, side);
    for (int i = 0; i < d->count; i++) {
        uint32_t at;

        if (d->side[i] == without || i == inner[0] || i == inner[1])
            continue;
        at = rng_below(state, (uint32_t)s.rank + 1);
        dims[s.rank++] = dims[at];
        dims[at] = i;
    }
    count = (int)rng_below(state, 2);
    dims[s.rank++] = inner[count];
    dims[s.rank++] = inner[!count];
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = d->size[dims[i]];
    return s;
}

static int place_in(const int *dims, int rank, int dim)
{
    int i = 0;

    while (i < rank && dims[i] != dim)
        i++;
    return i;
}

static void build_many(struct graph *g, struct arena *a, struct rng *state)
{
    static const enum graph_dtype types[] = {DTYPE_BF16, DTYPE_F32};
    enum graph_dtype in = types[rng_below(state, 2)], out = types[rng_below(state, 2)];
    int l[DIMS_MAX], r[DIMS_MAX], to[DIMS_MAX], usual[DIMS_MAX], count = 0, dot;
    struct many d = pick_dims(state);
    struct shape lhs = pick_array(&d, 2, in, l, state), rhs = pick_array(&d, 1, in, r, state);
    struct shape result = pick_array(&d, 3, out, to, state);
    struct graph_dot x = {.has_order = 1};

    for (int i = 0; i < d.count; i++) {
        int *list[2][2] = {{x.lhs_batch, x.rhs_batch}, {x.lhs_contract, x.rhs_contract}};
        int is_deep = d.side[i] == 3, *at = is_deep ? &x.contract_count : &x.batch_count;

        if (d.side[i] != 0 && d.side[i] != 3)
            continue;
        if (d.side[i] == 0)
            usual[count++] = i;
        list[is_deep][0][*at] = place_in(l, lhs.rank, i);
        list[is_deep][1][(*at)++] = place_in(r, rhs.rank, i);
    }
    for (int i = 0; i < lhs.rank; i++)
        if (d.side[l[i]] == 1)
            usual[count++] = l[i];
    for (int i = 0; i < rhs.rank; i++)
        if (d.side[r[i]] == 2)
            usual[count++] = r[i];
    for (int i = 0; i < count; i++)
        x.order[i] = place_in(usual, count, to[i]);
    graph_init(g, a, "product");
    dot = graph_dot_general(g, graph_parameter(g, lhs, "x"), graph_parameter(g, rhs, "y"), &x, out,
                            PRECISION_DEFAULT);
    assert_true(shape_equal(&g->node[dot].shape, &result));
    graph_output(g, dot, "out", -1);
}

static void test_many_dimensions(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
    struct rng random;
    int refused = 0;

    (void)state;
    rng_init(&random, 7);
    for (int i = 0; i < 120; i++) {
        struct kernel_rig r = {.chip = chips[i % 4], .spoils_padding = true,
                               .operands_in_vmem = i % 8 > 5 ? 3 : 0, .may_refuse = i % 8 > 5};
        struct arena a;
        struct graph g;

        arena_init(&a);
        build_many(&g, &a, &random);
        kernel_rig_open(&r, &g);        /* at the end of the memory not all fit */
        if (r.refusal[0])
            refused++;
        else
            kernel_rig_check(&r, 1);
        kernel_rig_close(&r);
        graph_fini(&g);
        arena_fini(&a);
    }
    assert_true(refused < 25);         /* of 30 */
}

/* ----- many batches in a step */

struct heads {
    int64_t batches, m, k, n;
    enum graph_dtype in, out;
    int rhs_contract;                   /* 1: [b,k,n]; 2: [b,n,k] */
    bool has_epilogue;
};

static int build_heads(struct graph *g, struct arena *a, const struct heads *h)
{
    struct graph_dot dot = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                            .contract_count = 1, .lhs_contract = {2},
                            .rhs_contract = {h->rhs_contract}};
    int64_t lhs[3] = {h->batches, h->m, h->k}, rhs[3] = {h->batches, h->k, h->n};
    enum graph_dtype sum = h->in == DTYPE_S8 ? DTYPE_S32 : h->has_epilogue ? DTYPE_F32 : h->out;
    static const int columns[] = {2};
    int x, y, out, bias, residual;
    struct shape s;

    if (h->rhs_contract == 2) {
        rhs[1] = h->n;
        rhs[2] = h->k;
    }
    graph_init(g, a, "product");
    x = graph_parameter(g, shape_make(h->in, 3, lhs), "x");
    y = graph_parameter(g, shape_make(h->in, 3, rhs), "y");
    out = graph_dot_general(g, x, y, &dot, sum, PRECISION_DEFAULT);
    if (!h->has_epilogue || h->in == DTYPE_S8)
        return out;
    s = g->node[out].shape;
    bias = graph_parameter(g, shape_make(DTYPE_F32, 1, &h->n), "bias");
    residual = graph_parameter(g, shape_make(DTYPE_BF16, 3, s.dim), "residual");
    out = graph_binary(g, HLO_ADD, out, graph_broadcast(g, bias, s, columns));
    out = graph_binary(g, HLO_MAXIMUM, out, graph_convert(g, residual, DTYPE_F32));
    return graph_convert(g, out, h->out);
}

static void check_heads(struct kernel_rig *r, const struct heads *h, uint64_t seed)
{
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_output(&g, build_heads(&g, &a, h), "out", -1);
    kernel_rig_open(r, &g);
    if (!r->refusal[0])
        kernel_rig_check(r, seed);
    kernel_rig_close(r);
    graph_fini(&g);
    arena_fini(&a);
}

static void test_heads(void **state)
{
    static const char *const chips[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};
    static const int64_t sizes[] = {32, 1, 64, 7, 48, 8, 128, 9, 33, 16, 100, 65, 31, 129, 72};
    static const enum graph_dtype types[] = {DTYPE_BF16, DTYPE_F32, DTYPE_BF16, DTYPE_S8};
    size_t at = 0;

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (int64_t batches = 1; batches <= 40; batches++, at++) {
            struct heads h = {batches, sizes[at % 15], sizes[at / 3 % 15], sizes[at * 7 % 15],
                              types[at % 4], at % 3 ? DTYPE_BF16 : DTYPE_F32,
                              1 + (int)(at / 2 % 2), at % 5 < 2};
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true,
                                   .codegen = at % 2 ? CODEGEN_BEST : CODEGEN_XLA,
                                   .operands_in_vmem = c < 3 ? 0 : (uint32_t)(at / 5 % 4),
                                   .results_in_vmem = c < 3 ? 0 : (uint32_t)(at / 3 % 2)};

            if (h.in == DTYPE_S8 && (c < 3 || c == 6))
                h.in = DTYPE_F32;
            check_heads(&r, &h, at);
        }
}

/* whoever shares what, and however many batches a step has: the same bits */
static void test_head_tilings(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
    static const struct heads heads[] = {
        {12, 40, 300, 32, DTYPE_BF16, DTYPE_BF16, 1, false},
        {12, 64, 32, 200, DTYPE_BF16, DTYPE_F32, 2, true},
        {12, 264, 72, 40, DTYPE_F32, DTYPE_F32, 1, false},
        {13, 424, 300, 200, DTYPE_BF16, DTYPE_BF16, 1, true},
    };
    int made = 0, all = 0;

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(heads); i++)
            for (int64_t batches = 2; batches <= 12; batches += 5)
                for (int64_t share = 0; share <= 2; share += 2) {
                    const struct heads *h = &heads[i];
                    int64_t width = h->n > 128 && c >= (share ? 2 : 0) ? 2 : 1;
                    struct tiling t = {.count = 7, .size = {round_up(h->m, 16),
                                                            round_up(h->k, 128), width * 128,
                                                            width, share, 0, batches}};
                    struct kernel_rig r = {.chip = chips[c], .tiling = &t,
                                           .may_refuse = true, .spoils_padding = true};

                    check_heads(&r, h, i);
                    made += r.refusal[0] == 0;
                    all++;
                }
    assert_true(made >= all / 2);   /* others do not fit columns, units or accumulators */
}

struct turned { int64_t batches, m, k, n; };

/* scores of q and k with their size along rows; `most`: cycles at most, or 0 */
static void check_turned(const char *chip, enum codegen policy, const struct turned *z, uint64_t seed,
                         cycle_t most)
{
    struct graph_dot dot = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                            .contract_count = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    struct kernel_rig r = {.chip = chip, .spoils_padding = true, .codegen = policy,
                           .results_in_vmem = most > 0};
    struct arena a;
    struct graph g;
    int x, y;

    arena_init(&a);
    graph_init(&g, &a, "scores");
    x = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){z->batches, z->k, z->m}), "k");
    y = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){z->batches, z->k, z->n}), "q");
    graph_output(&g, graph_dot_general(&g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT), "scores", -1);
    kernel_rig_open(&r, &g);
    if (most) {
        kernel_rig_time(&r);
        print_message("%lld cycles\n", (long long)r.cycles);
        assert_in_range(r.cycles, 1, most);
    } else {
        kernel_rig_check(&r, seed);
    }
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/*
 * Many heads, q and k with their size along rows: squares of k go through the cross-lane unit beside
 * the passes of heads before theirs, wherever a step ends and whoever shares what.
 */
static void test_turned_heads(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
    static const struct turned sizes[] = {
        {24, 328, 32, 328}, {32, 128, 64, 128}, {12, 256, 64, 200}, {20, 200, 128, 72},
        {18, 328, 16, 40}, {9, 300, 48, 128}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            for (int policy = 0; policy < 2; policy++)
                check_turned(chips[c], policy ? CODEGEN_BEST : CODEGEN_XLA, &sizes[i], i, 0);
}

static void test_drawn_turned_heads(void **state)
{
    static const char *const chips[] = {"v6e", "v5e", "v6e", "v3"};
    const int count = seeds_count(32);

    (void)state;
    for (int i = 0; i < count; i++) {
        struct rng random;
        struct turned z;

        rng_init(&random, seeds_at(i));
        z.batches = 2 + (int64_t)rng_below(&random, 40);
        z.m = 17 + (int64_t)rng_below(&random, 400);
        z.k = 1 + (int64_t)rng_below(&random, i % 3 ? 128 : 300);
        z.n = 1 + (int64_t)rng_below(&random, 400);
        print_message("%llu: %lld times %lldx%lldx%lld on %s\n", (unsigned long long)seeds_at(i),
                      (long long)z.batches, (long long)z.m, (long long)z.k, (long long)z.n,
                      chips[i % 4]);
        check_turned(chips[i % 4], i % 5 ? CODEGEN_XLA : CODEGEN_BEST, &z, seeds_at(i), 0);
    }
}

/* squares of 128 keys take the two units 32 cycles each, passes 40: both are beside each other */
static void test_squares_come_just_before_their_passes(void **state)
{
    (void)state;
    check_turned("v6e", CODEGEN_XLA, &(struct turned){96, 128, 64, 128}, 0, 8600);
    check_turned("v6e", CODEGEN_XLA, &(struct turned){12, 256, 64, 256}, 0, 3600);
}

/* heads as in BERT, whose rows enter the units a period of the loop after they are loaded */
static void test_long_heads(void **state)
{
    (void)state;
    for (int64_t batches = 2; batches <= 3; batches++)
        for (int form = 0; form < 4; form++) {
            struct heads h = {batches, 512, 64, 256, form < 3 ? DTYPE_BF16 : DTYPE_F32,
                              form == 1 ? DTYPE_BF16 : DTYPE_F32, 2, form == 2};
            struct tiling t = {.count = 7, .size = {512, 128, 256, 2, 0, 0, batches}};
            struct kernel_rig r = {.chip = "v3", .tiling = &t, .spoils_padding = true};

            check_heads(&r, &h, 1);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_many_dimensions),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_head_tilings),
        cmocka_unit_test(test_turned_heads),
        cmocka_unit_test(test_drawn_turned_heads),
        cmocka_unit_test(test_squares_come_just_before_their_passes),
        cmocka_unit_test(test_long_heads),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
