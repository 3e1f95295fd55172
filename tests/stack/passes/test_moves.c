/*
 * Chains of transposes and reshapes that nothing streams become several that stream: what networks
 * make of pictures, with drawn sizes, and drawn chains, all of which compute what they did.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "stack/passes/moves/move_steps.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

static struct rng rng;

static int between(int first, int last)
{
    return first + (int)rng_below(&rng, (uint32_t)(last - first + 1));
}

static struct pass_context context(void)
{
    return (struct pass_context){.chip = &v5e, .replica_count = 1,
                                 .vmem_rows = KERNEL_VMEM_BYTES / ARRAY_ROW_BYTES};
}

/* cycles of all moves of the graph, each a kernel; renaming is none */
static int64_t cycles_of_moves(void)
{
    struct pass_context all = context();
    struct move_machine c = {all.chip, all.codegen, all.vmem_rows};
    int64_t cycles = 0;

    for (int i = 0; i < graph.node_count; i++) {
        const struct graph_node *n = &graph.node[i];

        if (n->op == HLO_FUSION) {
            cycles += move_cycles(n->called[0], &c);
        } else if (n->op == HLO_TRANSPOSE || n->op == HLO_RESHAPE) {
            struct graph body;
            int x;

            graph_init(&body, &arena, "one");
            x = graph_parameter(&body, graph.node[n->operand[0]].shape, "x");
            graph_output(&body, graph_add(&body, n, &x, 1), "y", -1);
            cycles += move_cycles(&body, &c);
            graph_fini(&body);
        }
    }
    return cycles;
}

/* runs the pass over the graph of one parameter and one output, and holds its values */
static void run_moves(void)
{
    struct pass_context c = context();
    int64_t elems = shape_elems(&graph.node[graph.parameter[0]].shape);
    struct interp_value in = {arena_array(&arena, (size_t)elems + 1, 4)}, before, after;
    struct err e;

    for (int64_t i = 0; i < elems; i++)
        ((float *)in.data)[i] = (float)(i % 65521);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &before, &arena, &e), 0);
    assert_int_equal(pass_moves(&graph, &c, &e), 0);
    assert_int_equal(graph_verify(&graph, &e), 0);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &after, &arena, &e), 0);
    assert_memory_equal(after.data, before.data,
                        (size_t)shape_elems(&graph.node[graph.output[0].node].shape) * 4);
}

/* [n, down x size, across x size, channels] as [n, down x across, size x size x channels] */
static int patches(int x, const int64_t *d, int64_t size)
{
    x = graph_reshape(&graph, x, F32(d[0], d[1], size, d[2], size, d[3]));
    x = graph_transpose(&graph, x, DIMS(0, 1, 3, 2, 4, 5));
    return graph_reshape(&graph, x, F32(d[0], d[1] * d[2], size * size * d[3]));
}

static int pictures(int x, const int64_t *d, int64_t size)
{
    x = graph_reshape(&graph, x, F32(d[0], d[1], d[2], size, size, d[3]));
    x = graph_transpose(&graph, x, DIMS(0, 1, 3, 2, 4, 5));
    return graph_reshape(&graph, x, F32(d[0], d[1] * size, d[2] * size, d[3]));
}

static void check_patches(bool is_back)
{
    for (int seed = 0; seed < 6; seed++) {
        int64_t size, d[4], before;
        int x;

        rng_init(&rng, (uint64_t)seed);
        size = between(4, 16);
        d[0] = between(1, 6);
        d[1] = between(6, 14);
        d[2] = between(6, 14);
        d[3] = between(1, 4);
        if (is_back) {
            x = graph_parameter(&graph, F32(d[0], d[1] * d[2], size * size * d[3]), "x");
            x = graph_transpose(&graph, pictures(x, d, size), DIMS(0, 3, 1, 2));
        } else {
            x = graph_parameter(&graph, F32(d[0], d[3], d[1] * size, d[2] * size), "x");
            x = patches(graph_transpose(&graph, x, DIMS(0, 2, 3, 1)), d, size);
        }
        graph_output(&graph, x, "y", -1);
        before = cycles_of_moves();
        run_moves();
        assert_true(cycles_of_moves() * 4 < before);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

TEST(patches_of_pictures_stream) { check_patches(false); }
TEST(pictures_of_patches_stream) { check_patches(true); }

/* nothing becomes slower, whatever the chain */
TEST(drawn_chains_stay_what_they_compute)
{
    for (int seed = 0; seed < 150; seed++) {
        int64_t d[4], before;
        int x, order[4] = {0, 1, 2, 3}, steps;

        rng_init(&rng, (uint64_t)seed);
        for (int i = 0; i < 4; i++)
            d[i] = between(1, i == 3 ? 130 : 12);
        x = graph_parameter(&graph, shape_make(DTYPE_F32, 4, d), "x");
        steps = between(1, 4);
        for (int s = 0; s < steps; s++) {
            const struct shape *shape;

            for (int i = 3; i > 0; i--) {
                int k = between(0, i), t = order[i];

                order[i] = order[k];
                order[k] = t;
            }
            x = graph_transpose(&graph, x, order);
            shape = &graph.node[x].shape;
            x = graph_reshape(&graph, x, F32(shape->dim[0] * shape->dim[1],
                                             shape->dim[2] * shape->dim[3]));
            if (s + 1 < steps)
                x = graph_reshape(&graph, x, shape_make(DTYPE_F32, 4, d));
        }
        graph_output(&graph, x, "y", -1);
        before = cycles_of_moves();
        run_moves();
        assert_true(cycles_of_moves() <= before);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* columns of a product of two dimensions, rounded, side by side: where the pass makes its move */
static int moves_of_rounded_product(enum codegen codegen)
{
    struct pass_context c = context();
    struct graph_dot dot = {.batch_count = 1, .lhs_contract = {2}, .rhs_contract = {1},
                            .contract_count = 1};
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 3, (int64_t[]){2, 4096, 384}), "x");
    int w = graph_parameter(&graph, shape_make(DTYPE_BF16, 3, (int64_t[]){2, 384, 1536}), "w");
    struct err e;
    int y;

    c.codegen = codegen;
    y = graph_dot_general(&graph, x, w, &dot, DTYPE_F32, PRECISION_DEFAULT);
    y = graph_transpose(&graph, graph_convert(&graph, y, DTYPE_BF16), DIMS(1, 0, 2));
    y = graph_reshape(&graph, y, shape_make(DTYPE_BF16, 2, (int64_t[]){4096, 3072}));
    graph_output(&graph, y, "y", -1);
    assert_int_equal(pass_moves(&graph, &c, &e), 0);
    return count_of(&graph, HLO_FUSION);
}

/* XLA stores the product in f32 and rounds it in the move: no move of the rounded array is made */
TEST(rounding_stays_in_its_move)
{
    assert_int_equal(moves_of_rounded_product(CODEGEN_XLA), 0);
    pass_rig_teardown(NULL);
    pass_rig_setup(NULL);
    assert_int_equal(moves_of_rounded_product(CODEGEN_BEST), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(patches_of_pictures_stream),
        RUN(pictures_of_patches_stream),
        RUN(drawn_chains_stay_what_they_compute),
        RUN(rounding_stays_in_its_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
