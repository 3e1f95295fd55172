/* Operations of keras.ops: right values and gradients, the same on a core? */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "keras/layers/layer_operation.h"
#include "tests/rigs/keras_rig.h"

static struct keras_rig k;
KRIG_SETUP(k)

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

static struct layer *operation(enum operation_kind kind)
{
    struct layer *l = model_layer(&k.m, LAYER_OPERATION, NULL);

    l->c.operation = (int)kind;
    return l;
}

static struct layer *along(enum operation_kind kind, int64_t axis)
{
    struct layer *l = operation(kind);

    l->c.shape[0] = axis;
    l->c.shape_count = 1;
    return l;
}

static void expect_shape(int node, int rank, const int64_t *dim)
{
    struct shape want = shape_make(DTYPE_F32, rank, dim);

    assert_true(shape_same_dims(&k.m.node[node].shape, &want));
}

static void expect(const double *is, double want)
{
    assert_true(fabs(*is - want) < 1e-6 + 1e-6 * fabs(want));
}

/* ---- element by element ---- */

/* logarithms, roots and powers take what is above 0, inverse functions what these give */
static double in_domain(enum operation_kind kind, double size)
{
    if (kind == OPERATION_ARCSIN || kind == OPERATION_ARCCOS || kind == OPERATION_ARCTANH)
        return 0.13 + fmod(size, 0.6);
    return (kind == OPERATION_ARCCOSH ? 1.2 : 0.13) + size;
}

/* of operands that keep away from where a function has no slope */
static void check_element(enum operation_kind kind)
{
    int count = operation_info((int)kind)->operands;
    int x[3] = {krig_input(&k, DTYPE_F32, DIMS(2, 3)), krig_input(&k, DTYPE_F32, DIMS(2, 3)),
                krig_input(&k, DTYPE_F32, DIMS(2, 1))};
    struct layer *l = operation(kind);
    double *value;

    l->c.alpha = kind == OPERATION_CLIP ? -0.3 : 0.2;
    l->c.threshold = 0.4;
    for (int i = count; i < 3; i++)
        krig_call(&k, model_layer(&k.m, LAYER_IDENTITY, NULL), 1, &x[i]);
    model_output(&k.m, krig_call(&k, l, count, x));
    for (int i = count; i < 3; i++)
        model_output(&k.m, 3 + i - count);
    krig_trace(&k);
    value = krig_value(&k, "input_layer");
    for (int i = 0; i < 12; i++)
        value[i] = in_domain(kind, fabs(value[i]));
    value = krig_value(&k, "input_layer_1");
    for (int i = 0; i < 12; i++)
        value[i] = 0.37 + fabs(value[i]);
    krig_check_gradients(&k);
}

TEST(every_elementwise_operation_has_its_gradient)
{
    for (int i = 0; i < OPERATION_COUNT; i++) {
        if (operation_info(i)->form != &operation_elements || i == OPERATION_STOP_GRADIENT)
            continue;
        krig_fini(&k);
        krig_init(&k);
        check_element((enum operation_kind)i);
    }
}

static double of_two(enum operation_kind kind, double a, double b)
{
    int x[2];

    krig_fini(&k);
    krig_init(&k);
    x[0] = krig_input(&k, DTYPE_F32, DIMS(2));
    x[1] = krig_input(&k, DTYPE_F32, DIMS(2));
    krig_call(&k, operation(kind), 2, x);
    krig_trace(&k);
    *krig_value(&k, "input_layer") = a;
    *krig_value(&k, "input_layer_1") = b;
    return *krig_output(&k);
}

TEST(operations_of_two_arrays_are_numpys)
{
    assert_true(of_two(OPERATION_FLOOR_DIVIDE, -0.7, 0.2) == -4);
    assert_true(fabs(of_two(OPERATION_MOD, -0.7, 0.2) - 0.1) < 1e-6);
    assert_true(fabs(of_two(OPERATION_POWER, 0.5, -2) - 4) < 1e-6);
    assert_true(of_two(OPERATION_DIVIDE_NO_NAN, 3, 0) == 0);
    assert_true(of_two(OPERATION_GREATER, 1, 1) == 0);
    assert_true(of_two(OPERATION_GREATER_EQUAL, 1, 1) == 1);
    assert_true(of_two(OPERATION_LOGICAL_AND, 2, 0) == 0);
    assert_true(of_two(OPERATION_LOGICAL_OR, 2, 0) == 1);
    assert_true(fabs(of_two(OPERATION_ARCTAN2, -1, -1) + 2.3561945) < 1e-6);
}

/* x + [1, 2], whose batch is everybody's; [[[1], [2]]] as Keras writes x + c[None] is the same */
TEST(a_constant_is_spread_over_the_samples)
{
    static const double value[] = {1, 2};
    int x = krig_input(&k, DTYPE_F32, DIMS(3, 2));
    struct layer *l = operation(OPERATION_ADD);
    const double *is, *in;

    l->c.constant[1] = (struct layer_array){shape_make(DTYPE_F32, 1, (int64_t[]){2}), value};
    krig_call(&k, l, 1, &x);
    is = krig_output(&k);
    in = krig_value(&k, "input_layer");
    for (int i = 0; i < 12; i++)
        expect(&is[i], in[i] + value[i % 2]);
}

/* ---- along axes ---- */

TEST(sums_and_their_like_have_values_and_gradients)
{
    for (int i = 0; i < OPERATION_COUNT; i++) {
        struct layer *l;
        int x;

        if (operation_info(i)->form != &operation_sums)
            continue;
        krig_fini(&k);
        krig_init(&k);
        x = krig_input(&k, DTYPE_F32, DIMS(3, 4));
        l = along((enum operation_kind)i, -2);
        l->c.alpha = 2;
        l->c.threshold = 1e-7;
        x = krig_call(&k, l, 1, &x);
        if (i == OPERATION_CUMSUM || i == OPERATION_CUMPROD || i == OPERATION_NORMALIZE ||
            i == OPERATION_LAYER_NORM || i == OPERATION_RMS_NORM)
            expect_shape(x, DIMS(3, 4));
        else
            expect_shape(x, DIMS(4));
        krig_trace(&k);
        if (i != OPERATION_ARGMAX && i != OPERATION_ARGMIN)
            krig_check_gradients(&k);
    }
}

TEST(variance_is_over_all_of_several_axes)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(2, 3));
    struct layer *l = along(OPERATION_VAR, 1);
    double mean = 0, square = 0;
    const double *is, *in;

    l->c.shape[l->c.shape_count++] = 2;
    l->c.keeps_dims = true;
    expect_shape(krig_call(&k, l, 1, &x), DIMS(1, 1));
    is = krig_output(&k);
    in = krig_value(&k, "input_layer");
    for (int i = 0; i < 6; i++) {
        mean += in[i] / 6;
        square += in[i] * in[i] / 6;
    }
    expect(is, square - mean * mean);
}

/* ---- by size ---- */

static const double *ordered(struct layer *l, const double *in)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(5));

    krig_call(&k, l, 1, &x);
    krig_trace(&k);
    memcpy(krig_value(&k, "input_layer"), in, 5 * sizeof(*in));
    return krig_output(&k);
}

TEST(elements_come_in_order_and_the_first_of_equals_first)
{
    static const double in[] = {3, -1, 3, 2, -1}, sorted[] = {-1, -1, 2, 3, 3};
    static const double places[] = {1, 4, 3, 0, 2}, largest[] = {3, 3, 2};
    const double *is = ordered(along(OPERATION_SORT, -1), in);
    struct layer *l;

    for (int i = 0; i < 5; i++)
        expect(&is[i], sorted[i]);
    krig_fini(&k);
    krig_init(&k);
    is = ordered(along(OPERATION_ARGSORT, 1), in);
    for (int i = 0; i < 5; i++)
        expect(&is[i], places[i]);
    krig_fini(&k);
    krig_init(&k);
    l = operation(OPERATION_TOP_K);
    l->c.alpha = 3;
    is = ordered(l, in);
    for (int i = 0; i < 3; i++)
        expect(&is[i], largest[i]);
    krig_fini(&k);
    krig_init(&k);
    expect(ordered(along(OPERATION_MEDIAN, 1), in), 2);
}

/* places from the end are negative ones */
TEST(elements_are_taken_at_places_that_are_computed)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(3, 2)), krig_input(&k, DTYPE_F32, DIMS(2, 2))};
    static const double places[] = {2, 0, -1, 1};
    const double *is, *in;

    expect_shape(krig_call(&k, along(OPERATION_TAKE_ALONG_AXIS, 1), 2, x), DIMS(2, 2));
    krig_trace(&k);
    memcpy(krig_value(&k, "input_layer_1"), places, sizeof(places));
    in = krig_value(&k, "input_layer");
    is = krig_output(&k);
    expect(&is[0], in[4]);
    expect(&is[1], in[1]);
    expect(&is[2], in[4]);
    expect(&is[3], in[3]);
}

/* ---- windows ---- */

TEST(windows_of_images_have_values_and_gradients)
{
    static const enum operation_kind kinds[] = {OPERATION_MAX_POOL, OPERATION_AVERAGE_POOL,
                                                OPERATION_EXTRACT_PATCHES};
    static const double size = 2;

    for (int i = 0; i < 3; i++) {
        struct layer *l;
        int x;

        krig_fini(&k);
        krig_init(&k);
        x = krig_input(&k, DTYPE_F32, DIMS(3, 5, 2));
        l = operation(kinds[i]);
        l->c.list = (struct layer_reals){&size, 1};
        l->c.strides[0] = l->c.strides[1] = 2;
        l->c.padding = NN_SAME;
        x = krig_call(&k, l, 1, &x);
        expect_shape(x, DIMS(2, 3, kinds[i] == OPERATION_EXTRACT_PATCHES ? 8 : 2));
        krig_trace(&k);
        krig_check_gradients(&k);
    }
}

/* ---- moves ---- */

static const double *moved(struct layer *l, int rank, const int64_t *dim)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(2, 3));
    const double *is;

    expect_shape(krig_call(&k, l, 1, &x), rank, dim);
    krig_trace(&k);
    krig_check_gradients(&k);
    is = krig_output(&k);
    return is;
}

static void give_list(struct layer *l, const double *value, int count)
{
    l->c.list = (struct layer_reals){value, count};
}

TEST(a_dimension_is_put_in_and_taken_out)
{
    moved(along(OPERATION_EXPAND_DIMS, -1), DIMS(2, 3, 1));
    krig_fini(&k);
    krig_init(&k);
    moved(along(OPERATION_EXPAND_DIMS, 1), DIMS(1, 2, 3));
}

TEST(elements_are_repeated_and_all_of_them)
{
    struct layer *l = along(OPERATION_REPEAT, 2);
    static const double twice[] = {2}, tiles[] = {1, 2};
    const double *is, *in;

    give_list(l, twice, 1);
    is = moved(l, DIMS(2, 6));
    in = krig_value(&k, "input_layer");
    expect(&is[1], in[0]);
    expect(&is[2], in[1]);
    krig_fini(&k);
    krig_init(&k);
    l = operation(OPERATION_TILE);
    give_list(l, tiles, 2);
    is = moved(l, DIMS(2, 6));
    in = krig_value(&k, "input_layer");
    expect(&is[3], in[0]);
}

TEST(what_is_rolled_comes_in_in_front)
{
    struct layer *l = along(OPERATION_ROLL, -1);
    static const double by[] = {-1};
    const double *is, *in;

    give_list(l, by, 1);
    is = moved(l, DIMS(2, 3));
    in = krig_value(&k, "input_layer");
    expect(&is[0], in[1]);
    expect(&is[2], in[0]);
}

TEST(parts_of_a_split_are_outputs)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(2, 5)), first;
    struct layer *l = along(OPERATION_SPLIT, -1);
    static const double at[] = {1, 3};
    const double *in;

    give_list(l, at, 2);
    l->c.choice = 1;
    first = krig_call(&k, l, 1, &x);
    expect_shape(first, DIMS(2, 1));
    expect_shape(first + 1, DIMS(2, 2));
    expect_shape(first + 2, DIMS(2, 2));
    for (int i = 0; i < 3; i++)
        model_output(&k.m, first + i);
    krig_trace(&k);
    in = krig_value(&k, "input_layer");
    expect(krig_node(&k, k.results[2].value), in[3]);
}

TEST(elements_are_taken_by_a_list_of_places)
{
    struct layer *l = along(OPERATION_TAKE, 2);
    static const double at[] = {-1, 0};
    const double *is, *in;

    l->c.constant[1] = (struct layer_array){shape_make(DTYPE_F32, 1, (int64_t[]){2}), at};
    is = moved(l, DIMS(2, 2));
    in = krig_value(&k, "input_layer");
    expect(&is[0], in[2]);
    expect(&is[1], in[0]);
}

TEST(axes_change_places_or_go_elsewhere)
{
    struct layer *l = operation(OPERATION_MOVEAXIS);
    int x = krig_input(&k, DTYPE_F32, DIMS(2, 3, 4));

    l->c.alpha = 1;
    l->c.threshold = -1;
    expect_shape(krig_call(&k, l, 1, &x), DIMS(3, 4, 2));
    l = operation(OPERATION_SWAPAXES);
    l->c.alpha = 1;
    l->c.threshold = -1;
    expect_shape(krig_call(&k, l, 1, &x), DIMS(4, 3, 2));
}

/* ---- products ---- */

static void check_product(struct layer *l, int count, const int *x, int rank, const int64_t *dim)
{
    expect_shape(krig_call(&k, l, count, x), rank, dim);
    krig_trace(&k);
    krig_check_core(&k, 2e-2);
}

TEST(products_are_of_what_their_letters_say)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(4, 6)), krig_input(&k, DTYPE_F32, DIMS(5, 6))};
    struct layer *l = operation(OPERATION_EINSUM);

    l->c.equation = "bij,bkj->bki";
    check_product(l, 2, x, DIMS(5, 4));
}

TEST(matrices_of_each_sample_are_multiplied)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(3, 4, 6)), krig_input(&k, DTYPE_F32, DIMS(3, 6, 5))};

    check_product(operation(OPERATION_MATMUL), 2, x, DIMS(3, 4, 5));
}

/* ---- mistakes ---- */

static void expect_refused(struct layer *l, int count, const int *x, const char *what)
{
    assert_non_null(strstr(krig_refused(&k, l, count, x), what));
}

TEST(what_does_not_go_is_told)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(4, 6)), krig_input(&k, DTYPE_F32, DIMS(5, 7))};
    static const double five[] = {5};
    struct layer *l = operation(OPERATION_EINSUM);

    expect_refused(operation(OPERATION_SUM), 1, x, "it must say \"axis\"");
    expect_refused(along(OPERATION_MEAN, 0), 1, x, "\"axis\" names 0");
    expect_refused(along(OPERATION_MAX, 3), 1, x, "\"axis\" names 3");
    expect_refused(operation(OPERATION_DIVIDE), 2, x, "its arrays have shapes [4, 6] and [5, 7]");
    expect_refused(operation(OPERATION_DIVIDE), 1, x, "takes 2 arrays, not 1");
    expect_refused(operation(OPERATION_MATMUL), 2, x, "Matmul of samples [4, 6] and [5, 7]");
    l->c.equation = "bij,bkj->ik";
    expect_refused(l, 2, x, "by bij,bkj->ik is not supported");
    l = along(OPERATION_SPLIT, 1);
    give_list(l, five, 1);
    expect_refused(l, 1, x, "4 elements are no 5 equal parts");
    expect_refused(along(OPERATION_STACK, 1), 2, x, "arrays of several shapes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(every_elementwise_operation_has_its_gradient),
        UNIT(operations_of_two_arrays_are_numpys), UNIT(a_constant_is_spread_over_the_samples),
        UNIT(sums_and_their_like_have_values_and_gradients),
        UNIT(variance_is_over_all_of_several_axes), UNIT(a_dimension_is_put_in_and_taken_out),
        UNIT(elements_come_in_order_and_the_first_of_equals_first),
        UNIT(elements_are_taken_at_places_that_are_computed),
        UNIT(windows_of_images_have_values_and_gradients),
        UNIT(elements_are_repeated_and_all_of_them), UNIT(what_is_rolled_comes_in_in_front),
        UNIT(parts_of_a_split_are_outputs), UNIT(elements_are_taken_by_a_list_of_places),
        UNIT(axes_change_places_or_go_elsewhere), UNIT(products_are_of_what_their_letters_say),
        UNIT(matrices_of_each_sample_are_multiplied), UNIT(what_does_not_go_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
