/* Layers against formulas computed here in double. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/units.h"
#include "stack/nn/nn.h"

#include <math.h>

static struct graph_rig r;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
enum { ROWS = 6, COLUMNS = 5, COUNT = ROWS * COLUMNS };

static int random_rows(uint64_t seed)
{
    return grig_random(&r, DTYPE_F32, DIMS(ROWS, COLUMNS), seed, -2, 2);
}

static int random_vector(int64_t count, uint64_t seed)
{
    return grig_random(&r, DTYPE_F32, 1, &count, seed, 0.5, 1.5);
}

TEST(activations)
{
    int x = random_rows(1);
    double *erf_form = grig_run(&r, nn_gelu(&r.g, x, false));
    double *tanh_form = grig_run(&r, nn_gelu(&r.g, x, true));
    double *silu = grig_run(&r, nn_silu(&r.g, x)), *relu = grig_run(&r, nn_relu(&r.g, x));

    for (int i = 0; i < COUNT; i++) {
        double v = r.value[0][i], t = tanh(0.7978845608 * (v + 0.044715 * v * v * v));

        assert_true(fabs(erf_form[i] - v * 0.5 * erfc(-v / sqrt(2.0))) < 1e-6);
        assert_true(fabs(tanh_form[i] - 0.5 * v * (1 + t)) < 1e-6);
        assert_true(fabs(silu[i] - v / (1 + exp(-v))) < 1e-6);
        assert_true(relu[i] == (v > 0 ? v : 0));
    }
}

TEST(softmax_and_its_logarithm)
{
    int x = random_rows(2);
    double *y = grig_run(&r, nn_softmax(&r.g, x)), *l = grig_run(&r, nn_log_softmax(&r.g, x));

    for (int row = 0; row < ROWS; row++) {
        double sum = 0;

        for (int c = 0; c < COLUMNS; c++)
            sum += exp(r.value[0][row * COLUMNS + c]);
        for (int c = 0; c < COLUMNS; c++) {
            int i = row * COLUMNS + c;

            assert_true(fabs(y[i] - exp(r.value[0][i]) / sum) < 1e-6);
            assert_true(fabs(l[i] - (r.value[0][i] - log(sum))) < 1e-6);
        }
    }
}

static void moments(const double *x, int count, int step, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < count; i++)
        sum += x[i * step];
    *mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += (x[i * step] - *mean) * (x[i * step] - *mean);
    *variance = squares / count;
}

TEST(layer_norm)
{
    int x = random_rows(3), scale = random_vector(COLUMNS, 4), offset = random_vector(COLUMNS, 5);
    double *y = grig_run(&r, nn_layer_norm(&r.g, x, scale, offset, 1e-3)), mean, variance;

    for (int i = 0; i < COUNT; i++) {
        int c = i % COLUMNS;

        moments(&r.value[0][i - c], COLUMNS, 1, &mean, &variance);
        assert_true(fabs(y[i] - ((r.value[0][i] - mean) / sqrt(variance + 1e-3) * r.value[1][c] +
                                 r.value[2][c])) < 1e-5);
    }
}

TEST(batch_norm_in_training_and_inference)
{
    int x = grig_random(&r, DTYPE_F32, DIMS(2, 3, 1, COLUMNS), 6, -2, 2);
    int scale = random_vector(COLUMNS, 7), offset = random_vector(COLUMNS, 8);
    struct nn_batch_norm own = nn_batch_norm_training(&r.g, x, scale, offset, 1e-3, false, 1);
    struct nn_batch_norm both = nn_batch_norm_training(&r.g, x, scale, offset, 1e-3, true, 1);
    int moving = nn_moving_average(&r.g, offset, own.mean, 0.9);
    double *y = grig_run(&r, own.y), *synchronised = grig_run(&r, both.y);
    double *average = grig_run(&r, moving);
    double *z = grig_run(&r, nn_batch_norm_inference(&r.g, x, scale, offset, scale, offset, 1e-3));

    for (int i = 0; i < COUNT; i++) {
        int c = i % COLUMNS;
        double mean, variance, s = r.value[1][c], o = r.value[2][c], v = r.value[0][i];

        moments(&r.value[0][c], ROWS, COLUMNS, &mean, &variance);
        assert_true(fabs(y[i] - ((v - mean) / sqrt(variance + 1e-3) * s + o)) < 1e-5);
        assert_true(synchronised[i] == y[i]);
        assert_true(fabs(z[i] - ((v - s) / sqrt(o + 1e-3) * s + o)) < 1e-5);
        assert_true(fabs(average[c] - (0.9 * o + 0.1 * mean)) < 1e-6);
    }
}

TEST(statistics_over_replicas_are_exchanged)
{
    int x = random_rows(6), scale = random_vector(COLUMNS, 7), reduces = 0;

    nn_batch_norm_training(&r.g, x, scale, scale, 1e-3, true, 8);
    for (int i = 0; i < r.g.node_count; i++)
        reduces += r.g.node[i].op == HLO_ALL_REDUCE;
    assert_int_equal(reduces, 2);
}

TEST(losses_from_integer_labels)
{
    int x = random_rows(9), labels = grig_parameter(&r, DTYPE_S32, DIMS(ROWS),
                                                    RIG_VALUES(0, 4, 2, 2, 1, 3));
    double *loss = grig_run(&r, nn_cross_entropy(&r.g, x, labels));
    double *right = grig_run(&r, nn_accuracy(&r.g, x, labels)), expected = 0, hits = 0;
    double *hot = grig_run(&r, nn_one_hot(&r.g, labels, COLUMNS, DTYPE_BF16));

    for (int row = 0; row < ROWS; row++) {
        const double *v = &r.value[0][row * COLUMNS];
        int label = (int)r.value[1][row], best = 0;
        double sum = 0;

        for (int c = 0; c < COLUMNS; c++) {
            sum += exp(v[c]);
            best = v[c] > v[best] ? c : best;
            assert_true(hot[row * COLUMNS + c] == (c == label));
        }
        expected += log(sum) - v[label];
        hits += best == label;
    }
    assert_true(fabs(*loss - expected / ROWS) < 1e-6);
    assert_true(fabs(*right - hits / ROWS) < 1e-6);
}

TEST(dropout_keeps_its_share_and_scales_it)
{
    enum { ELEMS = 40 * 300 };
    int x = grig_random(&r, DTYPE_F32, DIMS(40, 300), 10, 1, 2), kept = 0;
    int seed = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(5));
    double *y = grig_run(&r, nn_dropout(&r.g, x, 0.25, seed, 0));
    double *other = grig_run(&r, nn_dropout(&r.g, x, 0.25, seed, 1));
    int differs = 0;

    for (int i = 0; i < ELEMS; i++) {
        assert_true(y[i] == 0 || fabs(y[i] - r.value[0][i] / 0.75) < 1e-5);
        kept += y[i] != 0;
        differs += (y[i] != 0) != (other[i] != 0);
    }
    assert_true(abs(kept - ELEMS * 3 / 4) < 5 * 48);        /* 48: one sigma */
    assert_true(abs(differs - ELEMS * 3 / 8) < 5 * 54);
    assert_int_equal(nn_dropout(&r.g, x, 0.0, seed, 0), x);
}

TEST(dense_layers_and_embeddings)
{
    int x = grig_parameter(&r, DTYPE_F32, DIMS(2, 2, 3), NULL);
    int k = grig_parameter(&r, DTYPE_F32, DIMS(2, 3, 4), NULL);
    int b = grig_parameter(&r, DTYPE_F32, DIMS(4), NULL);
    int ids = grig_parameter(&r, DTYPE_S32, DIMS(2, 1), RIG_VALUES(1, 0));
    int table = grig_parameter(&r, DTYPE_F32, DIMS(2, 2), RIG_VALUES(5, 6, 7, 8));
    double *y = grig_run(&r, nn_bias(&r.g, nn_dense(&r.g, x, k, 2), b));

    for (int i = 0; i < 8; i++) {
        double sum = r.value[2][i % 4];

        for (int c = 0; c < 6; c++)
            sum += r.value[0][i / 4 * 6 + c] * r.value[1][c * 4 + i % 4];
        assert_true(y[i] == sum);
    }
    grig_expect(grig_run(&r, nn_embedding(&r.g, table, ids)), RIG_VALUES(7, 8, 5, 6), 4, 0.0);
}

TEST(pooling_and_convolution_pad_like_same)
{
    int x = grig_parameter(&r, DTYPE_F32, DIMS(1, 3, 2, 1), RIG_VALUES(1, 2, 3, 4, 5, 6));
    int k = grig_parameter(&r, DTYPE_F32, DIMS(2, 1, 1, 1), RIG_VALUES(1, 10));
    struct nn_window w = {.size = {2, 2}, .stride = {2, 1}, .padding = NN_SAME};

    grig_expect(grig_run(&r, nn_max_pool(&r.g, x, &w)), RIG_VALUES(4, 4, 6, 6), 4, 0.0);
    grig_expect(grig_run(&r, nn_average_pool(&r.g, x, &w)), RIG_VALUES(2.5, 3, 5.5, 6), 4, 0.0);
    grig_expect(grig_run(&r, nn_conv2d(&r.g, x, k, &w)), RIG_VALUES(31, 42, 5, 6), 4, 0.0);
    w.padding = NN_VALID;
    grig_expect(grig_run(&r, nn_max_pool(&r.g, x, &w)), RIG_VALUES(4), 1, 0.0);
    grig_expect(grig_run(&r, nn_average_pool(&r.g, x, &w)), RIG_VALUES(2.5), 1, 0.0);
    w.padding = NN_EXPLICIT;
    w.pad[0] = 1;
    grig_expect(grig_run(&r, nn_conv2d(&r.g, x, k, &w)), RIG_VALUES(10, 20, 53, 64), 4, 0.0);
}

TEST(attention_is_a_weighted_mean_of_the_values_seen)
{
    enum { T = 4, H = 2, D = 3 };
    int q = grig_random(&r, DTYPE_F32, DIMS(1, T, H, D), 11, -2, 2);
    int k = grig_random(&r, DTYPE_F32, DIMS(1, T, H, D), 12, -2, 2);
    int v = grig_random(&r, DTYPE_F32, DIMS(1, T, H, D), 13, -2, 2);
    double *causal = grig_run(&r, nn_attention(&r.g, q, k, v, true));
    double *all = grig_run(&r, nn_attention(&r.g, q, k, v, false));

#define AT(p, t, h, d) r.value[p][((t) * H + (h)) * D + (d)]
    for (int is_causal = 0; is_causal < 2; is_causal++)
        for (int t = 0; t < T; t++)
            for (int h = 0; h < H; h++) {
                double weight[T], sum = 0;

                for (int s = 0; s < T; s++) {
                    double dot = 0;

                    for (int d = 0; d < D; d++)
                        dot += AT(0, t, h, d) * AT(1, s, h, d);
                    weight[s] = is_causal && s > t ? 0 : exp(dot / sqrt(D));
                    sum += weight[s];
                }
                for (int d = 0; d < D; d++) {
                    double y = 0;

                    for (int s = 0; s < T; s++)
                        y += weight[s] / sum * AT(2, s, h, d);
                    assert_true(fabs((is_causal ? causal : all)[(t * H + h) * D + d] - y) < 1e-5);
                }
            }
#undef AT
}

TEST(optimizers)
{
    int w = random_vector(3, 15), d = random_vector(3, 16), m = random_vector(3, 17);
    int v = random_vector(3, 18), rate = grig_parameter(&r, DTYPE_F32, 0, NULL, RIG_VALUES(0.1));
    int step = grig_parameter(&r, DTYPE_F32, 0, NULL, RIG_VALUES(3)), new_w, new_m;
    const struct nn_adam adam = {0.9, 0.99, 1e-4, 0.01, .is_part = false};
    int moment[2] = {m, v};
    double *sgd, *slot, *other;

    nn_sgd_momentum(&r.g, w, d, m, rate, 0.9, 0.01, &new_w, &new_m);
    sgd = grig_run(&r, new_w);
    slot = grig_run(&r, new_m);
    other = grig_run(&r, nn_adam(&r.g, &adam, w, d, rate, step, moment));
    for (int i = 0; i < 3; i++) {
        double g = r.value[1][i], s = 0.9 * r.value[2][i] + g + 0.01 * r.value[0][i];
        double a = 0.9 * r.value[2][i] + 0.1 * g, b = 0.99 * r.value[3][i] + 0.01 * g * g;
        double change = a / (1 - pow(0.9, 3)) / (sqrt(b / (1 - pow(0.99, 3))) + 1e-4);

        assert_true(fabs(slot[i] - s) < 1e-5);
        assert_true(fabs(sgd[i] - (r.value[0][i] - 0.1 * s)) < 1e-5);
        assert_true(fabs(other[i] - (r.value[0][i] - 0.1 * (change + 0.01 * r.value[0][i]))) <
                    1e-5);
    }
}

TEST(bf16_comes_back_as_bf16)
{
    int x = grig_random(&r, DTYPE_BF16, DIMS(1, 4, 2, 6), 19, -2, 2);
    int scale = random_vector(6, 20);
    int nodes[] = {
        nn_layer_norm(&r.g, x, scale, scale, 1e-3), nn_softmax(&r.g, x), nn_gelu(&r.g, x, true),
        nn_attention(&r.g, x, x, x, true),
        nn_batch_norm_training(&r.g, x, scale, scale, 1e-3, false, 1).y};

    for (size_t i = 0; i < COUNT_OF(nodes); i++) {
        assert_true(shape_equal(&r.g.node[nodes[i]].shape, &r.g.node[x].shape));
        grig_run(&r, nodes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(activations), UNIT(softmax_and_its_logarithm), UNIT(layer_norm),
        UNIT(batch_norm_in_training_and_inference), UNIT(statistics_over_replicas_are_exchanged),
        UNIT(losses_from_integer_labels), UNIT(dropout_keeps_its_share_and_scales_it),
        UNIT(dense_layers_and_embeddings), UNIT(pooling_and_convolution_pad_like_same),
        UNIT(attention_is_a_weighted_mean_of_the_values_seen), UNIT(optimizers),
        UNIT(bf16_comes_back_as_bf16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
