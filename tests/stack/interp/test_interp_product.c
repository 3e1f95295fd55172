/* Dots and convolutions of the reference interpreter against sums written out by index. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/units.h"

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

/* value of parameter p at an index of its shape */
static double at(int p, const int64_t *index)
{
    const struct shape *s = &r.g.node[r.g.parameter[p]].shape;
    int64_t offset = 0;

    for (int i = 0; i < s->rank; i++)
        offset = offset * s->dim[i] + index[i];
    return r.value[p][offset];
}

TEST(batched_dot)
{
    enum { B = 3, M = 4, N = 5, K = 6 };
    int a = grig_parameter(&r, DTYPE_F32, DIMS(M, B, K), NULL);
    int b = grig_parameter(&r, DTYPE_F32, DIMS(B, N, K), NULL);
    struct graph_dot d = {.batch_count = 1, .lhs_batch = {1}, .rhs_batch = {0},
                          .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    double *is = grig_run(&r, graph_dot_general(&r.g, a, b, &d, DTYPE_F32, PRECISION_HIGHEST));

    for (int64_t i = 0; i < B * M * N; i++) {
        int64_t batch = i / (M * N), m = i / N % M, n = i % N;
        double sum = 0;

        for (int64_t k = 0; k < K; k++)
            sum += at(0, (int64_t[]){m, batch, k}) * at(1, (int64_t[]){batch, n, k});
        assert_true(is[i] == sum);
    }
}

TEST(dot_over_two_dimensions_with_two_free_ones)
{
    int a = grig_parameter(&r, DTYPE_BF16, DIMS(2, 3, 4, 5), NULL);
    int b = grig_parameter(&r, DTYPE_BF16, DIMS(5, 3, 7), NULL);
    struct graph_dot d = {.contract_count = 2, .lhs_contract = {1, 3}, .rhs_contract = {1, 0}};
    int dot = graph_dot_general(&r.g, a, b, &d, DTYPE_BF16, PRECISION_DEFAULT);
    double *is = grig_run(&r, dot);

    assert_int_equal(r.g.node[dot].shape.rank, 3);
    assert_int_equal(r.g.node[dot].shape.dtype, DTYPE_BF16);
    for (int64_t i = 0; i < 2 * 4 * 7; i++) {
        double sum = 0;

        for (int64_t p = 0; p < 3; p++)
            for (int64_t q = 0; q < 5; q++)
                sum += at(0, (int64_t[]){i / 28, p, i / 7 % 4, q}) *
                       at(1, (int64_t[]){q, p, i % 7});
        assert_true(is[i] == sum);      /* at most 15 * 16: exact in bf16 */
    }
}

TEST(outer_products_and_bytes)
{
    int a = grig_parameter(&r, DTYPE_S8, DIMS(2, 3), RIG_VALUES(-128, 127, 1, 2, 3, 4));
    int b = grig_parameter(&r, DTYPE_S8, DIMS(3, 1), RIG_VALUES(-128, 127, 5));
    int c = grig_parameter(&r, DTYPE_F32, DIMS(2), RIG_VALUES(3, 4));
    struct graph_dot none = {0};
    double *is = grig_run(&r, graph_dot(&r.g, a, b, 1, 0, PRECISION_DEFAULT));

    grig_expect(is, RIG_VALUES(16384 + 16129 + 5, -256 + 381 + 20), 2, 0.0);
    is = grig_run(&r, graph_dot_general(&r.g, c, c, &none, DTYPE_F32, PRECISION_DEFAULT));
    grig_expect(is, RIG_VALUES(9, 12, 12, 16), 4, 0.0);
}

/* ---- convolutions in two dimensions, any labels ---- */

struct direct {
    const struct shape *a, *k, *out;
    const struct graph_window *w;
    const struct graph_conv *c;
};

static double tap(const struct direct *d, const int64_t *place, const int64_t *tap_at)
{
    int64_t a[4], k[4], groups, group, in = d->k->dim[d->c->kernel_in];
    double sum = 0;

    groups = d->c->feature_groups * d->c->batch_groups;
    group = place[d->c->out_feature] / (d->out->dim[d->c->out_feature] / groups);
    a[d->c->in_batch] = place[d->c->out_batch] +
                        (d->c->batch_groups > 1 ? group * d->out->dim[d->c->out_batch] : 0);
    k[d->c->kernel_out] = place[d->c->out_feature];
    for (int i = 0; i < 2; i++) {
        const struct graph_window *w = &d->w[i];
        int64_t x = place[d->c->out_spatial[i]] * w->stride + tap_at[i] * w->window_dilation -
                    w->pad_low;

        if (x < 0 || x % w->base_dilation || x / w->base_dilation >= d->a->dim[d->c->in_spatial[i]])
            return 0;
        a[d->c->in_spatial[i]] = x / w->base_dilation;
        k[d->c->kernel_spatial[i]] = w->is_reversed ? w->size - 1 - tap_at[i] : tap_at[i];
    }
    for (int64_t f = 0; f < in; f++) {
        a[d->c->in_feature] = f + (d->c->feature_groups > 1 ? group * in : 0);
        k[d->c->kernel_in] = f;
        sum += at(0, a) * at(1, k);
    }
    return sum;
}

static void check_convolution(const struct shape *a, const struct shape *k,
                              const struct graph_window *w, const struct graph_conv *c)
{
    int x = grig_parameter(&r, DTYPE_F32, 4, a->dim, NULL);
    int y = grig_parameter(&r, DTYPE_F32, 4, k->dim, NULL);
    int conv = graph_convolution(&r.g, x, y, w, c, DTYPE_F32, PRECISION_HIGHEST);
    struct direct d = {a, k, &r.g.node[conv].shape, w, c};
    int64_t elems = shape_elems(d.out);
    double *is = grig_run(&r, conv);

    for (int64_t i = 0; i < elems; i++) {
        int64_t place[4], rest = i, t[2];
        double sum = 0;

        for (int n = 3; n >= 0; n--) {
            place[n] = rest % d.out->dim[n];
            rest /= d.out->dim[n];
        }
        for (t[0] = 0; t[0] < w[0].size; t[0]++)
            for (t[1] = 0; t[1] < w[1].size; t[1]++)
                sum += tap(&d, place, t);
        if (is[i] != sum)
            fail_msg("element %d is %g, expected %g", (int)i, is[i], sum);
    }
}

/* b01f_01io->b01f */
static const struct graph_conv nhwc = {
    .spatial_count = 2, .in_batch = 0, .in_feature = 3, .in_spatial = {1, 2}, .kernel_in = 2,
    .kernel_out = 3, .kernel_spatial = {0, 1}, .out_batch = 0, .out_feature = 3,
    .out_spatial = {1, 2}, .feature_groups = 1, .batch_groups = 1};

static struct graph_window window(int64_t size, int64_t stride, int64_t low, int64_t high)
{
    return (struct graph_window){.size = size, .stride = stride, .pad_low = low,
                                 .pad_high = high, .base_dilation = 1, .window_dilation = 1};
}

static struct shape f32(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return shape_make(DTYPE_F32, 4, (int64_t[]){a, b, c, d});
}

TEST(convolution_with_strides_and_padding)
{
    struct graph_window w[] = {window(3, 2, 1, 1), window(2, 1, 0, 1)};
    struct shape a = f32(2, 7, 6, 3), k = f32(3, 2, 3, 5);

    check_convolution(&a, &k, w, &nhwc);
}

TEST(convolution_with_dilations_reversed)
{
    struct graph_window w[] = {window(2, 1, 1, 2), window(3, 2, -1, 4)};
    struct shape a = f32(1, 5, 6, 2), k = f32(2, 3, 2, 4);

    w[0].base_dilation = 2;
    w[0].is_reversed = true;
    w[1].window_dilation = 2;
    check_convolution(&a, &k, w, &nhwc);
}

TEST(convolution_in_groups_of_features)
{
    struct graph_window w[] = {window(3, 1, 1, 1), window(1, 1, 0, 0)};
    struct graph_conv c = nhwc;
    struct shape a = f32(2, 4, 4, 6), k = f32(3, 1, 2, 6);

    c.feature_groups = 3;
    check_convolution(&a, &k, w, &c);
}

TEST(convolution_in_groups_of_the_batch)
{
    struct graph_window w[] = {window(3, 1, 0, 0), window(2, 1, 0, 0)};
    struct graph_conv c = nhwc;
    struct shape a = f32(6, 4, 4, 2), k = f32(3, 2, 2, 9);

    c.batch_groups = 3;
    check_convolution(&a, &k, w, &c);
}

/* f01b_i01o->01bf: how the gradient of a kernel is written */
TEST(convolution_with_other_labels)
{
    struct graph_window w[] = {window(4, 1, 1, 1), window(3, 1, 0, 0)};
    struct graph_conv c = {.spatial_count = 2, .in_batch = 3, .in_feature = 0,
                           .in_spatial = {1, 2}, .kernel_in = 0, .kernel_out = 3,
                           .kernel_spatial = {1, 2}, .out_batch = 2, .out_feature = 3,
                           .out_spatial = {0, 1}, .feature_groups = 1, .batch_groups = 1};
    struct shape a = f32(3, 5, 5, 2), k = f32(3, 4, 3, 7);

    check_convolution(&a, &k, w, &c);
}

TEST(convolution_without_spatial_dimensions_is_a_product)
{
    struct graph_conv c = {.in_batch = 1, .in_feature = 0, .kernel_in = 0, .kernel_out = 1,
                           .out_batch = 0, .out_feature = 1, .feature_groups = 1,
                           .batch_groups = 1};
    int a = grig_parameter(&r, DTYPE_F32, DIMS(2, 3), RIG_VALUES(1, 2, 3, 4, 5, 6));
    int k = grig_parameter(&r, DTYPE_F32, DIMS(2, 2), RIG_VALUES(1, 10, 100, 1000));
    double *is = grig_run(&r, graph_convolution(&r.g, a, k, NULL, &c, DTYPE_F32,
                                                PRECISION_HIGHEST));

    grig_expect(is, RIG_VALUES(401, 4010, 502, 5020, 603, 6030), 6, 0.0);
}

TEST(operands_are_rounded_where_precision_is_default)
{
    double x = 1.00390625;              /* 1 + 2^-8: a tie, to even: 1 */
    int a = grig_parameter(&r, DTYPE_F32, DIMS(1, 1, 1), &x);
    struct graph_dot d = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                          .rhs_contract = {2}};
    int dot = graph_dot_general(&r.g, a, a, &d, DTYPE_F32, PRECISION_DEFAULT);

    r.mode = INTERP_DOT_BF16;
    assert_true(grig_run(&r, dot)[0] == 1.0);
    r.mode = INTERP_DOT_F32;
    assert_true(grig_output(&r, 0)[0] == x * x);
    r.mode = INTERP_WIDE;
    assert_true(grig_output(&r, 0)[0] == x * x);
}

TEST(flops_of_convolutions_leave_out_padding)
{
    struct graph_window w[] = {window(3, 1, 1, 1), window(1, 1, 0, 0)};
    int x = grig_parameter(&r, DTYPE_F32, DIMS(2, 4, 5, 3), NULL);
    int k = grig_parameter(&r, DTYPE_F32, DIMS(3, 1, 3, 7), NULL);
    int conv = graph_convolution(&r.g, x, k, w, &nhwc, DTYPE_F32, PRECISION_DEFAULT);

    /* 4 places of 3 taps but for the two that lie outside */
    assert_int_equal(graph_node_flops(&r.g, conv), 2 * 2 * 7 * 3 * (4 * 3 - 2) * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(batched_dot), UNIT(dot_over_two_dimensions_with_two_free_ones),
        UNIT(outer_products_and_bytes), UNIT(convolution_with_strides_and_padding),
        UNIT(convolution_with_dilations_reversed), UNIT(convolution_in_groups_of_features),
        UNIT(convolution_in_groups_of_the_batch), UNIT(convolution_with_other_labels),
        UNIT(convolution_without_spatial_dimensions_is_a_product),
        UNIT(operands_are_rounded_where_precision_is_default),
        UNIT(flops_of_convolutions_leave_out_padding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
