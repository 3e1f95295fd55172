/* Normalisations, embeddings, attention, dropout, layers of functions, against plain loops. */
#include "tests/rigs/keras_rig.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

static struct keras_rig k;

KRIG_SETUP(k)

#define CLOSE 1e-12

static struct layer *layer_of(enum layer_kind kind)
{
    return model_layer(&k.m, kind, NULL);
}

/* ---- batch normalisation ---- */

enum { BATCH = 3, PLACES = 4, FEATURES = 5, ROWS = BATCH * PLACES };

static void on_images(struct layer *l)
{
    k.batch = BATCH;
    krig_on(&k, l, DIMS(2, 2, FEATURES));
}

struct statistics {
    double mean[FEATURES], variance[FEATURES];
};

static struct statistics statistics_of(const double *x)
{
    struct statistics s = {{0}, {0}};

    for (int i = 0; i < ROWS * FEATURES; i++)
        s.mean[i % FEATURES] += x[i] / ROWS;
    for (int i = 0; i < ROWS * FEATURES; i++)
        s.variance[i % FEATURES] += pow(x[i] - s.mean[i % FEATURES], 2) / ROWS;
    return s;
}

static void expect_normal(const double *is, const double *x, const struct statistics *s,
                          const double *gamma, const double *beta)
{
    for (int i = 0; i < ROWS * FEATURES; i++) {
        int f = i % FEATURES;
        double want = (x[i] - s->mean[f]) / sqrt(s->variance[f] + 1e-3) * (gamma ? gamma[f] : 1) +
                      (beta ? beta[f] : 0);

        assert_true(fabs(is[i] - want) < 1e-10);
    }
}

TEST(batch_normalization_trains_by_its_batch)
{
    const double *is, *x;
    struct statistics s;

    k.is_training = true;
    on_images(layer_of(LAYER_BATCH_NORMALIZATION));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    s = statistics_of(x);
    expect_normal(is, x, &s, krig_value(&k, "batch_normalization/gamma"),
                  krig_value(&k, "batch_normalization/beta"));
}

TEST(batch_normalization_moves_its_averages_by_a_hundredth)
{
    struct statistics s;
    const double *mean, *variance, *is;

    k.is_training = true;
    on_images(layer_of(LAYER_BATCH_NORMALIZATION));
    krig_trace(&k);
    s = statistics_of(krig_value(&k, "input_layer"));
    mean = krig_value(&k, "batch_normalization/moving_mean");
    variance = krig_value(&k, "batch_normalization/moving_variance");
    is = krig_node(&k, trace_read(&k.t, 2));
    for (int f = 0; f < FEATURES; f++)
        assert_true(fabs(is[f] - (0.99 * mean[f] + 0.01 * s.mean[f])) < CLOSE);
    is = krig_node(&k, trace_read(&k.t, 3));
    for (int f = 0; f < FEATURES; f++)
        assert_true(fabs(is[f] - (0.99 * variance[f] + 0.01 * s.variance[f])) < CLOSE);
    assert_true(k.t.variable[2].is_assigned && k.t.variable[3].is_assigned);
}

TEST(batch_normalization_evaluates_by_its_averages)
{
    struct statistics s;
    const double *is;

    on_images(layer_of(LAYER_BATCH_NORMALIZATION));
    is = krig_output(&k);
    memcpy(s.mean, krig_value(&k, "batch_normalization/moving_mean"), sizeof(s.mean));
    memcpy(s.variance, krig_value(&k, "batch_normalization/moving_variance"), sizeof(s.variance));
    expect_normal(is, krig_value(&k, "input_layer"), &s,
                  krig_value(&k, "batch_normalization/gamma"),
                  krig_value(&k, "batch_normalization/beta"));
    assert_false(k.t.variable[2].is_assigned);
}

TEST(frozen_batch_normalization_trains_by_its_averages)
{
    struct layer *l = layer_of(LAYER_BATCH_NORMALIZATION);

    l->is_trainable = false;
    k.is_training = true;
    on_images(l);
    krig_trace(&k);
    assert_false(k.t.variable[2].is_assigned);
    assert_int_equal(model_parameter_count(&k.m, true), 0);
}

/* it learns gamma and beta, by its averages, which stay */
TEST(batch_normalization_that_never_trains_is_normal_by_its_averages)
{
    struct layer *l = layer_of(LAYER_BATCH_NORMALIZATION);

    l->never_trains = true;
    k.is_training = true;
    on_images(l);
    krig_trace(&k);
    assert_false(k.t.variable[2].is_assigned);
    assert_true(model_parameter_count(&k.m, true) > 0);
}

TEST(batch_normalization_without_scale_and_centre)
{
    struct layer *l = layer_of(LAYER_BATCH_NORMALIZATION);
    const double *is, *x;
    struct statistics s;

    l->c.is_scaled = l->c.is_centered = false;
    k.is_training = true;
    on_images(l);
    assert_int_equal(k.set.count, 0);
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    s = statistics_of(x);
    expect_normal(is, x, &s, NULL, NULL);
    assert_int_equal(k.set.count, 2);
}

TEST(synchronized_batch_normalization_sums_over_replicas)
{
    struct layer *l = layer_of(LAYER_BATCH_NORMALIZATION);
    int sums = 0;

    l->c.is_synchronized = true;
    k.is_training = true;
    k.replica_count = 2;
    on_images(l);
    krig_trace(&k);
    for (int i = 0; i < k.graph.g.node_count; i++)
        sums += k.graph.g.node[i].op == HLO_ALL_REDUCE;
    assert_int_equal(sums, 2);
}

TEST(batch_normalization_has_right_gradients)
{
    k.is_training = true;
    on_images(layer_of(LAYER_BATCH_NORMALIZATION));
    krig_trace(&k);
    krig_check_gradients(&k);
}

TEST(batch_normalization_runs_on_the_core)
{
    k.is_training = true;
    k.batch = 4;
    krig_on(&k, layer_of(LAYER_BATCH_NORMALIZATION), DIMS(4, 4, 16));
    krig_trace(&k);
    krig_check_core(&k, 2e-3);
}

/* ---- layer normalisation ---- */

TEST(layer_normalization_is_over_the_last_dimension)
{
    const double *is, *x, *gamma, *beta;

    krig_on(&k, layer_of(LAYER_LAYER_NORMALIZATION), DIMS(3, FEATURES));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    gamma = krig_value(&k, "layer_normalization/gamma");
    beta = krig_value(&k, "layer_normalization/beta");
    for (int row = 0; row < 6; row++) {
        const double *r = x + row * FEATURES;
        double mean = 0, variance = 0;

        for (int f = 0; f < FEATURES; f++)
            mean += r[f] / FEATURES;
        for (int f = 0; f < FEATURES; f++)
            variance += pow(r[f] - mean, 2) / FEATURES;
        for (int f = 0; f < FEATURES; f++)
            assert_true(fabs(is[row * FEATURES + f] - ((r[f] - mean) / sqrt(variance + 1e-3) *
                                                       gamma[f] + beta[f])) < CLOSE);
    }
    krig_check_gradients(&k);
}

TEST(layer_normalization_may_be_over_several_dimensions_at_once)
{
    struct layer *l = layer_of(LAYER_LAYER_NORMALIZATION);
    const double *is, *x, *gamma, *beta;
    double mean = 0, variance = 0;
    int64_t axes[] = {1, -1};

    memcpy(l->c.shape, axes, sizeof(axes));
    l->c.shape_count = 2;
    krig_on(&k, l, DIMS(3, FEATURES));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    gamma = krig_value(&k, "layer_normalization/gamma");
    beta = krig_value(&k, "layer_normalization/beta");
    for (int i = 0; i < 3 * FEATURES; i++)
        mean += x[i] / (3 * FEATURES);
    for (int i = 0; i < 3 * FEATURES; i++)
        variance += pow(x[i] - mean, 2) / (3 * FEATURES);
    for (int i = 0; i < 3 * FEATURES; i++)
        assert_true(fabs(is[i] - ((x[i] - mean) / sqrt(variance + 1e-3) * gamma[i] + beta[i])) <
                    CLOSE);
    krig_check_gradients(&k);
}

TEST(layer_normalization_of_other_dimensions_is_refused)
{
    struct layer *l = layer_of(LAYER_LAYER_NORMALIZATION);
    int64_t axes[] = {1, 2};
    int x = krig_input(&k, DTYPE_F32, DIMS(3, 4, FEATURES));

    memcpy(l->c.shape, axes, sizeof(axes));
    l->c.shape_count = 2;
    assert_non_null(strstr(krig_refused(&k, l, 1, &x), "must be the last dimensions"));
}

TEST(layer_normalization_runs_on_the_core)
{
    krig_on(&k, layer_of(LAYER_LAYER_NORMALIZATION), DIMS(8, 24));
    krig_trace(&k);
    krig_check_core(&k, 2e-3);
}

/* ---- embeddings ---- */

/* few rows come by a product, more one by one: the same to the bit */
static void check_rows(int64_t rows)
{
    struct layer *l = layer_of(LAYER_EMBEDDING);
    int x = krig_input(&k, DTYPE_S32, DIMS(3));
    const double *is, *ids, *table;

    l->c.rows = rows, l->c.units = 5;
    krig_call(&k, l, 1, &x);
    is = krig_output(&k);
    ids = krig_value(&k, "input_layer");
    table = krig_value(&k, "embedding/embeddings");
    for (int i = 0; i < 30; i++)
        assert_true(is[i] == table[(int)ids[i / 5] * 5 + i % 5]);
    krig_check_gradients(&k);
}

TEST(embedding_takes_rows_of_a_small_table) { check_rows(4); }
TEST(embedding_takes_rows_of_a_large_table) { check_rows(129); }

TEST(position_embedding_gives_each_position_its_row)
{
    struct layer *l = layer_of(LAYER_POSITION_EMBEDDING);
    const double *is, *table;

    l->c.rows = 6;
    krig_on(&k, l, DIMS(4, 3));
    is = krig_output(&k);
    table = krig_value(&k, "position_embedding/embeddings");
    for (int i = 0; i < 24; i++)
        assert_true(is[i] == table[i % 12]);
    krig_check_gradients(&k);
}

static void check_on_the_core(int64_t rows)
{
    struct layer *words = layer_of(LAYER_EMBEDDING), *places = layer_of(LAYER_POSITION_EMBEDDING);
    struct layer *sum = layer_of(LAYER_ADD);
    int ids = krig_input(&k, DTYPE_S32, DIMS(16)), x[2];

    words->c.rows = rows, words->c.units = 24, places->c.rows = 20;
    x[0] = krig_call(&k, words, 1, &ids);
    x[1] = krig_call(&k, places, 1, &x[0]);
    krig_call(&k, sum, 2, x);
    krig_trace(&k);
    krig_check_core(&k, 1e-4);
}

TEST(embeddings_of_few_rows_run_on_the_core) { check_on_the_core(40); }
TEST(embeddings_of_many_rows_run_on_the_core) { check_on_the_core(140); }

TEST(a_position_too_many_is_refused)
{
    struct layer *l = layer_of(LAYER_POSITION_EMBEDDING);
    int x = krig_input(&k, DTYPE_F32, DIMS(7, 3));

    l->c.rows = 6;
    assert_string_equal(krig_refused(&k, l, 1, &x), "layer \"position_embedding\": its input has 7 "
                        "positions, but \"sequence_length\" is 6");
}

/* ---- attention ---- */

enum { HEADS = 2, KEY = 3, VALUE = 4, WIDTH = 5, QUERIES = 3, SEEN = 4 };

/* x [positions, in] by kernel [in, HEADS, width] and bias [HEADS, width] */
static double projected(const double *x, int in, const double *kernel, const double *bias,
                        int width, int position, int head, int at)
{
    double sum = bias[head * width + at];

    for (int i = 0; i < in; i++)
        sum += x[position * in + i] * kernel[(i * HEADS + head) * width + at];
    return sum;
}

static const double *variable(const char *name)
{
    return krig_value(&k, arena_printf(&k.arena, "multi_head_attention/%s", name));
}

struct sequences {
    const double *query, *value, *key;  /* of one sample */
    int seen, value_in, key_in;
    bool is_causal;
};

static double score(const struct sequences *s, int q, int h, int p)
{
    double sum = 0;

    if (s->is_causal && p > q)
        return -INFINITY;
    for (int i = 0; i < KEY; i++)
        sum += projected(s->query, WIDTH, variable("query/kernel"), variable("query/bias"), KEY,
                         q, h, i) *
               projected(s->key, s->key_in, variable("key/kernel"), variable("key/bias"), KEY, p, h,
                         i);
    return sum / sqrt(KEY);
}

static double attended(const struct sequences *s, int q, int o)
{
    double out = variable("attention_output/bias")[o];

    for (int h = 0; h < HEADS; h++) {
        double total = 0, mix[VALUE] = {0};

        for (int p = 0; p < s->seen; p++) {
            double weight = exp(score(s, q, h, p));

            total += weight;
            for (int i = 0; i < VALUE; i++)
                mix[i] += weight * projected(s->value, s->value_in, variable("value/kernel"),
                                             variable("value/bias"), VALUE, p, h, i);
        }
        for (int i = 0; i < VALUE; i++)
            out += mix[i] / total * variable("attention_output/kernel")[(h * VALUE + i) * WIDTH +
                                                                        o];
    }
    return out;
}

static struct layer *attention_layer(void)
{
    struct layer *l = layer_of(LAYER_MULTI_HEAD_ATTENTION);

    l->c.heads = HEADS, l->c.units = KEY, l->c.value_units = VALUE;
    return l;
}

TEST(attention_of_query_value_and_key)
{
    int in[3] = {krig_input(&k, DTYPE_F32, DIMS(QUERIES, WIDTH)),
                 krig_input(&k, DTYPE_F32, DIMS(SEEN, 6)),
                 krig_input(&k, DTYPE_F32, DIMS(SEEN, 7))};
    const double *is;

    krig_call(&k, attention_layer(), 3, in);
    is = krig_output(&k);
    for (int i = 0; i < 2 * QUERIES * WIDTH; i++) {
        int b = i / QUERIES / WIDTH;
        struct sequences s = {krig_value(&k, "input_layer") + b * QUERIES * WIDTH,
                              krig_value(&k, "input_layer_1") + b * SEEN * 6,
                              krig_value(&k, "input_layer_2") + b * SEEN * 7, SEEN, 6, 7, false};

        assert_true(fabs(is[i] - attended(&s, i / WIDTH % QUERIES, i % WIDTH)) < CLOSE);
    }
}

TEST(causal_self_attention)
{
    struct layer *l = attention_layer();
    const double *is;

    l->c.is_causal = true;
    krig_on(&k, l, DIMS(SEEN, WIDTH));
    is = krig_output(&k);
    for (int i = 0; i < 2 * SEEN * WIDTH; i++) {
        const double *x = krig_value(&k, "input_layer") + i / SEEN / WIDTH * SEEN * WIDTH;
        struct sequences s = {x, x, x, SEEN, WIDTH, WIDTH, true};

        assert_true(fabs(is[i] - attended(&s, i / WIDTH % SEEN, i % WIDTH)) < CLOSE);
    }
}

TEST(attention_has_right_gradients)
{
    struct layer *l = attention_layer();

    l->c.is_causal = true;
    krig_on(&k, l, DIMS(SEEN, WIDTH));
    krig_trace(&k);
    krig_check_gradients(&k);
}

TEST(attention_runs_on_the_core)
{
    struct layer *l = layer_of(LAYER_MULTI_HEAD_ATTENTION);

    l->c.heads = 2, l->c.units = 8, l->c.is_causal = true;
    k.m.precision = PRECISION_HIGHEST;
    krig_on(&k, l, DIMS(12, 16));
    krig_trace(&k);
    krig_check_core(&k, 1e-3);
}

TEST(attention_refuses_keys_and_values_of_different_lengths)
{
    int in[3] = {krig_input(&k, DTYPE_F32, DIMS(QUERIES, WIDTH)),
                 krig_input(&k, DTYPE_F32, DIMS(4, 6)), krig_input(&k, DTYPE_F32, DIMS(5, 6))};

    assert_string_equal(krig_refused(&k, attention_layer(), 3, in), "layer "
                        "\"multi_head_attention\": its value has 4 positions, its key 5; they must "
                        "be equal");
}

/* ---- dropout ---- */

enum { DROPPED = 4000 };

static void count_dropped(const double *is, const double *x, int *zeros)
{
    *zeros = 0;
    for (int i = 0; i < 2 * DROPPED; i++) {
        *zeros += is[i] == 0;
        assert_true(is[i] == 0 || fabs(is[i] - x[i] / 0.7) < CLOSE);
    }
}

TEST(dropout_drops_its_share_and_scales_the_rest)
{
    struct layer *l = layer_of(LAYER_DROPOUT);
    int zeros, again, seed;
    double first[2 * DROPPED];
    const double *is;

    l->c.rate = 0.3;
    k.is_training = true;
    krig_on(&k, l, DIMS(DROPPED));
    is = krig_output(&k);
    memcpy(first, is, sizeof(first));
    count_dropped(is, krig_value(&k, "input_layer"), &zeros);
    /* 8000 draws of 0.3: deviation 41 */
    assert_true(abs(zeros - 2400) < 210);
    seed = k.m.seed_variable;
    assert_string_equal(k.set.variable[seed].name, "seed_generator/seed_generator_state");
    assert_true(*krig_node(&k, trace_read(&k.t, seed)) ==
                *krig_value(&k, "seed_generator/seed_generator_state") + 1);
    *krig_value(&k, "seed_generator/seed_generator_state") += 1;
    is = krig_node(&k, k.result.value);
    assert_memory_not_equal(is, first, sizeof(first));
    count_dropped(is, krig_value(&k, "input_layer"), &again);
}

TEST(dropout_does_nothing_outside_of_training)
{
    struct layer *l = layer_of(LAYER_DROPOUT);

    l->c.rate = 0.5;
    krig_on(&k, l, DIMS(20));
    krig_trace(&k);
    assert_int_equal(k.result.value, k.graph.g.parameter[0]);
    assert_int_equal(k.m.variable_count, 1);
}

TEST(two_dropouts_draw_different_numbers)
{
    struct layer *a = layer_of(LAYER_DROPOUT), *b = layer_of(LAYER_DROPOUT);
    struct layer *both = layer_of(LAYER_SUBTRACT);
    int x = krig_input(&k, DTYPE_F32, DIMS(100)), y[2], differ = 0;
    const double *is;

    a->c.rate = b->c.rate = 0.5;
    k.is_training = true;
    y[0] = krig_call(&k, a, 1, &x);
    y[1] = krig_call(&k, b, 1, &x);
    krig_call(&k, both, 2, y);
    is = krig_output(&k);
    for (int i = 0; i < 200; i++)
        differ += is[i] != 0;
    assert_true(differ > 60 && differ < 140);
}

TEST(dropout_runs_on_the_core)
{
    struct layer *l = layer_of(LAYER_DROPOUT);

    l->c.rate = 0.25;
    k.is_training = true;
    k.m.policy = KERAS_MIXED_BFLOAT16;
    krig_on(&k, l, DIMS(8, 130));
    krig_trace(&k);
    krig_check_core(&k, 0.02);
}

/* ---- functions as layers ---- */

TEST(relu_with_bound_slope_and_threshold)
{
    struct layer *l = layer_of(LAYER_RELU);
    const double *is, *x;

    l->c.max_value = 0.6, l->c.negative_slope = 0.25, l->c.threshold = 0.1;
    krig_on(&k, l, DIMS(12));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 24; i++)
        assert_true(fabs(is[i] - (x[i] >= 0.6 ? 0.6 : x[i] >= 0.1 ? x[i] : 0.25 * (x[i] - 0.1))) <
                    CLOSE);
    krig_check_gradients(&k);
}

TEST(leaky_relu_elu_and_softmax_as_layers)
{
    struct layer *leaky = layer_of(LAYER_LEAKY_RELU), *e = layer_of(LAYER_ELU);
    struct layer *soft = layer_of(LAYER_SOFTMAX);
    int x = krig_on(&k, leaky, DIMS(6));
    const double *is, *in;

    e->c.alpha = 0.5;
    x = krig_call(&k, e, 1, &x);
    krig_call(&k, soft, 1, &x);
    is = krig_output(&k);
    in = krig_value(&k, "input_layer");
    for (int row = 0; row < 2; row++) {
        double value[6], sum = 0;

        for (int i = 0; i < 6; i++) {
            double v = in[row * 6 + i] > 0 ? in[row * 6 + i] : 0.3 * in[row * 6 + i];

            value[i] = exp(v > 0 ? v : 0.5 * (exp(v) - 1));
            sum += value[i];
        }
        for (int i = 0; i < 6; i++)
            assert_true(fabs(is[row * 6 + i] - value[i] / sum) < CLOSE);
    }
    assert_int_equal(k.result.last, ACTIVATION_SOFTMAX);
    assert_int_not_equal(k.result.logits, NODE_NONE);
    krig_check_gradients(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(batch_normalization_trains_by_its_batch),
        UNIT(batch_normalization_moves_its_averages_by_a_hundredth),
        UNIT(batch_normalization_evaluates_by_its_averages),
        UNIT(frozen_batch_normalization_trains_by_its_averages),
        UNIT(batch_normalization_that_never_trains_is_normal_by_its_averages),
        UNIT(batch_normalization_without_scale_and_centre),
        UNIT(synchronized_batch_normalization_sums_over_replicas),
        UNIT(batch_normalization_has_right_gradients), UNIT(batch_normalization_runs_on_the_core),
        UNIT(layer_normalization_is_over_the_last_dimension),
        UNIT(layer_normalization_may_be_over_several_dimensions_at_once),
        UNIT(layer_normalization_of_other_dimensions_is_refused),
        UNIT(layer_normalization_runs_on_the_core), UNIT(embedding_takes_rows_of_a_small_table),
        UNIT(layer_normalization_runs_on_the_core), UNIT(embedding_takes_rows_of_a_large_table),
        UNIT(position_embedding_gives_each_position_its_row),
        UNIT(embeddings_of_few_rows_run_on_the_core),
        UNIT(embeddings_of_many_rows_run_on_the_core),
        UNIT(a_position_too_many_is_refused), UNIT(attention_of_query_value_and_key),
        UNIT(causal_self_attention), UNIT(attention_has_right_gradients),
        UNIT(attention_runs_on_the_core),
        UNIT(attention_refuses_keys_and_values_of_different_lengths),
        UNIT(dropout_drops_its_share_and_scales_the_rest),
        UNIT(dropout_does_nothing_outside_of_training), UNIT(two_dropouts_draw_different_numbers),
        UNIT(dropout_runs_on_the_core), UNIT(relu_with_bound_slope_and_threshold),
        UNIT(leaky_relu_elu_and_softmax_as_layers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
