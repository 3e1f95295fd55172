/*
 * Reduce-scatters and all-gathers beside other kernels: are the sums those of the order that is
 * told, does everyone gather the same, and does it take less time than waiting for them?
 */
#include "stack/nn/nn.h"
#include "tests/rigs/sums_rig.h"
#include "tests/test.h"

#define SIDE 128
#define LAYERS 3
#define OUTPUTS 3                       /* of a layer: a gradient, its part of the sum, all parts */

static int parameter(const char *name, int64_t rows, int64_t columns)
{
    return graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){rows, columns}), name);
}

struct layers {
    const char *slice, *set;
    int replicas;
    int64_t rows, columns;              /* of gradients, */
    int dim;                            /* of which this one is cut */
    bool has_two;                       /* of them at once in each collective */
    int more;                           /* products beside the last sums */
    int64_t bucket_bytes, stage_bytes;
    enum codegen codegen;
};

static int dot(int a, int b, int along_a, int along_b)
{
    return graph_dot(&g, a, b, along_a, along_b, PRECISION_DEFAULT);
}

/* a gradient is summed in parts, "updated" (negated), and gathered */
static void add_update(const struct layers *l, int dw, const struct graph_groups *all)
{
    int two[2] = {dw, graph_unary(&g, HLO_NEGATE, dw)}, count = 1 + l->has_two, part, whole;

    part = graph_reduce_scatter(&g, two, count, l->dim, all);
    for (int k = 0; k < count; k++)
        two[k] = graph_unary(&g, HLO_NEGATE, l->has_two ? graph_tuple_element(&g, part, k) : part);
    whole = graph_all_gather(&g, two, count, l->dim, all);
    graph_output(&g, dw, "gradient", -1);
    graph_output(&g, l->has_two ? graph_tuple_element(&g, part, 0) : part, "part", -1);
    graph_output(&g, l->has_two ? graph_tuple_element(&g, whole, 0) : whole, "whole", -1);
}

/* products forward, gradients backward, and products beside the last update */
static void build(const struct layers *l)
{
    const struct graph_groups all = {1, l->replicas, NULL};
    int w[LAYERS], x[LAYERS + 1], wide, dy, more;

    x[0] = parameter("x", SIDE, l->columns);
    wide = parameter("wide", SIDE, l->rows);
    for (int i = 0; i < LAYERS; i++)
        w[i] = parameter(arena_printf(&arena, "w%d", i), l->columns, l->columns);
    for (int i = 0; i < LAYERS; i++)
        x[i + 1] = graph_unary(&g, HLO_TANH, dot(x[i], w[i], 1, 0));
    dy = x[LAYERS];
    for (int i = LAYERS - 1; i >= 0; i--) {
        add_update(l, dot(wide, graph_binary(&g, HLO_MULTIPLY, x[i], dy), 0, 0), &all);
        dy = dot(dy, w[i], 1, 1);
    }
    more = dot(wide, dy, 0, 0);
    for (int i = 0; i < l->more; i++)
        more = graph_binary(&g, HLO_ADD, more, dot(wide, nn_scale(&g, dy, i + 2), 0, 0));
    graph_output(&g, more, "more", -1);
}

static void check_element(const struct layers *l, void **out, int layer, int64_t row, int64_t col)
{
    int64_t rows = l->dim ? l->rows : l->rows / l->replicas;
    int64_t cols = l->dim ? l->columns / l->replicas : l->columns;
    int owner = (int)(l->dim ? col / cols : row / rows);
    float want = sums_in_order(out, l->replicas, layer * OUTPUTS,
                               row * l->columns + col, owner);

    assert_true(sums_element(out, owner, layer * OUTPUTS + 1,
                             row % rows * cols + col % cols) == want);
    for (int r = 0; r < l->replicas; r++)
        assert_true(sums_element(out, r, layer * OUTPUTS + 2, row * l->columns + col) == -want);
}

/*
 * Values; fewer cycles than with nothing beside, and the same on two threads. Links are fast and
 * hops are long, so that all of them are spread: no ring adds in the order that is told.
 */
static struct graph_run check(const struct layers *l)
{
    struct graph_run run = {.slice = l->slice, .set = l->set, .bucket_bytes = l->bucket_bytes,
                            .stage_bytes = l->stage_bytes, .codegen = l->codegen};
    void **out;

    build(l);
    out = sums_run(&run, l->replicas);
    for (int i = 0; i < LAYERS; i++)
        for (int64_t row = 0; row < l->rows; row++)
            for (int64_t col = 0; col < l->columns; col++)
                check_element(l, out, i, row, col);
    sums_check_cycles(&run, l->replicas);
    one_graph_again();
    return run;
}

#define FAST "ici.link_gbps=1000 ici.hop_ns=1000"

/* arrays whose blocks are in order are sent from where they are, and to where they shall be */
TEST(blocks_in_order_are_scattered_and_gathered_beside_kernels)
{
    int64_t bytes = 1024 * SIDE * 4;

    check(&(struct layers){"v3-8", FAST, 8, 1024, SIDE, 0, false, 10, .bucket_bytes = bytes});
    check(&(struct layers){"v2-8", FAST, 8, 1024, SIDE, 0, false, 10, .bucket_bytes = bytes});
    check(&(struct layers){"v5e-4", FAST, 4, 1024, SIDE, 0, false, 10, .bucket_bytes = bytes});
}

/* columns of 128, and two arrays at once, go through the bucket */
TEST(others_go_through_the_bucket)
{
    int64_t bytes = 1024 * SIDE * 4;

    check(&(struct layers){"v3-8", FAST, 8, SIDE, 1024, 1, false, 10, .bucket_bytes = bytes});
    check(&(struct layers){"v3-8", FAST, 8, 1024, SIDE, 0, true, 40, .bucket_bytes = 2 * bytes});
}

/*
 * Blocks in one piece and in three, the last one smaller: the same sums. With --codegen best, where
 * results do not have places of their own from the start, the stage decides how much memory is used.
 */
TEST(pieces_have_a_smaller_stage)
{
    int64_t bytes = 2048 * SIDE * 4, stage = bytes * 7 / 8, whole = 0;

    for (int pieces = 1; pieces <= 3; pieces += 2) {
        struct graph_run run = check(&(struct layers){
            "v3-8", FAST, 8, 2048, SIDE, 0, false, 20, .bucket_bytes = bytes,
            .stage_bytes = stage / pieces + 512, .codegen = CODEGEN_BEST});

        if (pieces == 1)
            whole = run.hbm_used_bytes;
        else
            assert_true(run.hbm_used_bytes < whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(blocks_in_order_are_scattered_and_gathered_beside_kernels),
        RUN(others_go_through_the_bucket),
        RUN(pieces_have_a_smaller_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
