/*
 * Products of many tiny matrices, and of long thin ones, by vectors: are they right, and do they take
 * few cycles?
 *
 * test_tiny [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/expand/expand.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static enum graph_dtype dtype;

/* an operand whose dimensions lie in any order: batch, free and contracted ones of these sizes */
static int drawn_operand(const char *name, const struct shape *batch, const struct shape *free_dims,
                         const struct shape *contracted, int *batch_at, int *contracted_at)
{
    int rank = batch->rank + free_dims->rank + contracted->rank, order[GRAPH_RANK_MAX];
    struct shape s = {.dtype = dtype, .rank = rank};

    for (int i = 0; i < rank; i++)
        order[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = (int)below(i + 1), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
    for (int d = 0; d < rank; d++) {
        int i = order[d];

        if (i < batch->rank) {
            s.dim[d] = batch->dim[i];
            batch_at[i] = d;
        } else if (i < batch->rank + free_dims->rank) {
            s.dim[d] = free_dims->dim[i - batch->rank];
        } else {
            s.dim[d] = contracted->dim[i - batch->rank - free_dims->rank];
            contracted_at[i - batch->rank - free_dims->rank] = d;
        }
    }
    return graph_parameter(&g, s, name);
}

static struct shape drawn_sizes(int rank, int64_t most)
{
    struct shape s = {.rank = rank};

    for (int d = 0; d < rank; d++)
        s.dim[d] = 1 + below(most);
    return s;
}

static int draw_product(void)
{
    static const enum graph_precision precisions[] = {PRECISION_DEFAULT, PRECISION_HIGH,
                                                      PRECISION_HIGHEST};
    bool is_thin = below(3) == 0;
    struct shape batch = drawn_sizes(is_thin ? 0 : 1 + (int)below(2), 60);
    struct shape rows = drawn_sizes((int)below(3), 4), columns = drawn_sizes((int)below(2), 12);
    struct shape depth = drawn_sizes(1 + (int)below(2), 6);
    struct graph_dot d = {.batch_count = batch.rank, .contract_count = depth.rank};
    int lhs, rhs;

    dtype = below(3) ? DTYPE_F32 : DTYPE_BF16;
    if (is_thin) {
        rows = drawn_sizes(1 + (int)below(2), 3);
        rows.dim[0] = 4096 + below(3000);
    }
    lhs = drawn_operand("x", &batch, &rows, &depth, d.lhs_batch, d.lhs_contract);
    rhs = drawn_operand("y", &batch, &columns, &depth, d.rhs_batch, d.rhs_contract);
    return graph_dot_general(&g, lhs, rhs, &d, below(3) ? DTYPE_F32 : DTYPE_BF16,
                             precisions[below(COUNT_OF(precisions))]);
}

TEST(any_tiny_product_is_right)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(40), taken = 0;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.relative = 0x1p-7};     /* a result may be bf16 */
        struct graph_node n;
        int node;

        rng_init(&rng, seeds_at(i));
        r.slice = slices[below(COUNT_OF(slices))];
        node = draw_product();
        n = g.node[node];
        taken += expand_tiny(&g, &n) != NODE_NONE;
        graph_output(&g, graph_unary(&g, HLO_NEGATE, node), "made", -1);
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    assert_in_range(taken, count / 4, count);
}

#define SIZES(...) (const int64_t[]){__VA_ARGS__}

static void check_cycles(struct shape x, struct shape y, const struct graph_dot *d, int64_t most)
{
    struct module_rig r = {.slice = "v5e"};
    int lhs = graph_parameter(&g, x, "x"), rhs = graph_parameter(&g, y, "y");

    g.name = "product";
    graph_output(&g, graph_dot_general(&g, lhs, rhs, d, DTYPE_F32, PRECISION_HIGHEST), "made", -1);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, most);
    one_graph_again();
}

/* 410,457 cycles once */
TEST(many_rotations_are_not_done_one_by_one)
{
    const struct graph_dot d = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                                .rhs_contract = {1}};
    struct shape s = shape_make(DTYPE_F32, 3, SIZES(500, 3, 3));

    check_cycles(s, s, &d, 3000);
}

/* 2,368,708 cycles once */
TEST(pixels_by_weights_of_colours)
{
    const struct graph_dot d = {.contract_count = 1, .lhs_contract = {3}};

    check_cycles(shape_make(DTYPE_F32, 4, SIZES(8, 224, 224, 3)), shape_make(DTYPE_F32, 1, SIZES(3)),
                 &d, 30000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_tiny_product_is_right), RUN(many_rotations_are_not_done_one_by_one),
        RUN(pixels_by_weights_of_colours),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
