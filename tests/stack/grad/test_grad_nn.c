/* Gradients of whole layers against central differences, in doubles. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/units.h"
#include "stack/nn/nn.h"

static struct graph_rig r;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    r.mode = INTERP_WIDE;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define INPUT(...) grig_distinct(&r, DIMS(__VA_ARGS__))

TEST(of_gelu_both_ways)
{
    int x = INPUT(3, 4);

    grig_check_gradients(&r, nn_add(&r.g, nn_gelu(&r.g, x, true), nn_gelu(&r.g, x, false)));
}

/* a function of one array gives that one slope, unless something else goes on from its inside */
TEST(of_functions_whose_inside_is_read)
{
    int x = INPUT(3, 4), y = INPUT(3, 4), inner = graph_unary(&r.g, HLO_TANH, x);
    int whole = nn_multiply(&r.g, x, inner);

    grig_check_gradients(&r, nn_add(&r.g, whole, nn_multiply(&r.g, inner, y)));
}

TEST(of_functions_of_functions)
{
    int x = INPUT(3, 4), y = nn_silu(&r.g, nn_scale(&r.g, nn_gelu(&r.g, x, false), 1.5));

    grig_check_gradients(&r, graph_binary(&r.g, HLO_DIVIDE, nn_add(&r.g, y, x),
                                          nn_shift(&r.g, nn_multiply(&r.g, y, y), 1.0)));
}

/* products by the gradient `dy` of what makes the gradient of x */
static int products_by(int dy)
{
    int count = 0;

    for (int i = 0; i < r.g.node_count; i++)
        for (int k = 0; k < r.g.node[i].operand_count; k++)
            count += r.g.node[i].op == HLO_MULTIPLY && r.g.node[i].operand[k] == dy;
    return count;
}

TEST(of_a_gelu_is_its_slope_times_one_gradient)
{
    int x = INPUT(3, 4), dy = INPUT(3, 4), y = nn_gelu(&r.g, x, false), dx;
    struct err e;

    assert_int_equal(graph_backward(&r.g, y, dy, &x, 1, &dx, &e), 0);
    assert_int_equal(products_by(dy), 1);
}

/* asked for a gradient in the middle, it goes back node by node */
TEST(of_the_middle_of_a_gelu)
{
    int x = INPUT(3, 4), dy = INPUT(3, 4), h = nn_scale(&r.g, x, 0.5);
    int y = nn_multiply(&r.g, h, nn_shift(&r.g, graph_unary(&r.g, HLO_ERF, x), 1.0));
    int wrt[] = {x, h}, gradient[2];
    struct err e;

    assert_int_equal(graph_backward(&r.g, y, dy, wrt, 2, gradient, &e), 0);
    assert_int_equal(products_by(dy), 2);
    grig_check_gradients(&r, nn_multiply(&r.g, y, dy));
}

TEST(of_softmax)
{
    grig_check_gradients(&r, nn_softmax(&r.g, INPUT(3, 4)));
}

static int readers_of(enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < r.g.node_count; i++)
        for (int k = 0; k < r.g.node[i].operand_count; k++)
            count += r.g.node[r.g.node[i].operand[k]].op == op;
    return count;
}

/* of narrow values the rounded shares are what the gradient is made of, not those before they were */
TEST(of_a_narrow_softmax_is_made_of_its_result)
{
    static const enum graph_dtype types[] = {DTYPE_BF16, DTYPE_F32};

    for (int wide = 0; wide < 2; wide++) {
        int x = graph_parameter(&r.g, shape_make(types[wide], DIMS(3, 4)), "x");
        int dy = graph_parameter(&r.g, shape_make(types[wide], DIMS(3, 4)), "dy");
        int before = readers_of(HLO_DIVIDE), y = nn_softmax(&r.g, x), dx;
        struct err e;

        assert_int_equal(graph_backward(&r.g, y, dy, &x, 1, &dx, &e), 0);
        assert_int_equal(r.g.node[dx].shape.dtype, types[wide]);
        assert_int_equal(readers_of(HLO_DIVIDE) - before, wide ? 2 : 1);
    }
}

TEST(of_layer_norm)
{
    int x = INPUT(3, 5), scale = INPUT(5), offset = INPUT(5);

    grig_check_gradients(&r, nn_layer_norm(&r.g, x, scale, offset, 1e-3));
}

TEST(of_silu)
{
    grig_check_gradients(&r, nn_silu(&r.g, INPUT(3, 5)));
}

TEST(of_batch_norm_over_replicas)
{
    int x = INPUT(2, 2, 3, 4), scale = INPUT(4), offset = INPUT(4);

    grig_check_gradients(&r, nn_batch_norm_training(&r.g, x, scale, offset, 1e-3, true, 1).y);
}

TEST(of_cross_entropy)
{
    int x = INPUT(4, 5), labels = grig_parameter(&r, DTYPE_S32, DIMS(4), RIG_VALUES(0, 4, 2, 2));

    grig_check_gradients(&r, nn_cross_entropy(&r.g, x, labels));
}

TEST(of_causal_attention)
{
    int q = INPUT(1, 3, 2, 4), k = INPUT(1, 3, 2, 4), v = INPUT(1, 3, 2, 4);

    grig_check_gradients(&r, nn_attention(&r.g, q, k, v, true));
}

/* through the computation that the call stands for, whatever kernel makes it */
TEST(of_attention_as_a_custom_call)
{
    struct graph_attention flash = {.form = ATTENTION_FLASH, .is_causal = true, .sequences = 1,
                                    .heads_q = 2, .heads_kv = 1, .depth = 4, .q_len = 2,
                                    .kv_len = 3, .block_q = 2, .block_kv = 3};
    struct graph_attention ragged = {.form = ATTENTION_RAGGED, .sequences = 2, .heads_q = 2,
                                     .heads_kv = 1, .depth = 4, .q_len = 2, .kv_len = 3,
                                     .block_q = 2, .block_kv = 4, .page_tokens = 2, .pages = 3};
    struct shape shape[4];
    int operand[4], sum;

    for (int i = 0; i < nn_attention_operands(&flash, shape); i++)
        operand[i] = grig_distinct(&r, shape[i].rank, shape[i].dim);
    for (int i = 0; i < 3; i++)
        operand[i] = graph_convert(&r.g, operand[i], DTYPE_BF16);
    sum = graph_reduce(&r.g, REDUCE_ADD, nn_silu(&r.g, nn_attention_call(&r.g, operand, &flash)),
                       7);
    nn_attention_operands(&ragged, shape);
    for (int i = 0; i < 2; i++)
        operand[i] = graph_convert(&r.g, grig_distinct(&r, shape[i].rank, shape[i].dim),
                                   DTYPE_BF16);
    operand[2] = grig_parameter(&r, DTYPE_S32, 1, shape[2].dim, RIG_VALUES(2, 0, 1, 2));
    grig_check_gradients(&r, nn_add(&r.g, sum, graph_reduce(
        &r.g, REDUCE_ADD, nn_silu(&r.g, nn_attention_call(&r.g, operand, &ragged)), 31)));
}

TEST(of_embedding_dense_and_dropout)
{
    int table = INPUT(5, 4), kernel = INPUT(4, 3), bias = INPUT(3);
    int ids = grig_parameter(&r, DTYPE_S32, DIMS(2, 3), RIG_VALUES(4, 0, 4, 1, 1, 2));
    int seed = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(8));
    int x = nn_dense(&r.g, nn_embedding(&r.g, table, ids), kernel, 1);

    grig_check_gradients(&r, nn_dropout(&r.g, nn_bias(&r.g, x, bias), 0.4, seed, 1));
}

TEST(of_convolution_and_both_poolings)
{
    struct nn_window w = {.size = {2, 3}, .stride = {1, 2}, .padding = NN_SAME};
    int x = INPUT(1, 5, 4, 2), kernel = INPUT(3, 2, 2, 3);

    x = nn_conv2d(&r.g, x, kernel, &w);
    grig_check_gradients(&r, nn_average_pool(&r.g, nn_max_pool(&r.g, x, &w), &w));
}

/* a gradient of a gradient: the step of an optimizer within the loss */
TEST(of_a_gradient)
{
    int x = INPUT(3, 4), loss = graph_reduce(&r.g, REDUCE_ADD, nn_gelu(&r.g, x, true), 3), slope;
    struct err e;

    assert_int_equal(graph_grad(&r.g, loss, &x, 1, &slope, &e), 0);
    grig_check_gradients(&r, slope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(of_gelu_both_ways), UNIT(of_softmax),
        UNIT(of_a_narrow_softmax_is_made_of_its_result), UNIT(of_layer_norm),
        UNIT(of_silu), UNIT(of_batch_norm_over_replicas), UNIT(of_cross_entropy),
        UNIT(of_causal_attention), UNIT(of_attention_as_a_custom_call),
        UNIT(of_embedding_dense_and_dropout),
        UNIT(of_convolution_and_both_poolings), UNIT(of_a_gradient),
        UNIT(of_functions_whose_inside_is_read), UNIT(of_functions_of_functions),
        UNIT(of_a_gelu_is_its_slope_times_one_gradient), UNIT(of_the_middle_of_a_gelu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
