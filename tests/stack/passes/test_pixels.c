/*
 * Arrays of few features with pixels side by side (stack/passes/pass_pixels.c): networks drawn at
 * random, with their gradients, compute what they computed before; what cannot lie so stays. And
 * gradients by kernels of one pixel (stack/expand/turned.c, pixel_product.h).
 */
#include "base/rng.h"
#include "tests/rigs/pass_rig.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static const struct graph_conv labels = {
    .spatial_count = 2, .in_batch = 0, .in_spatial = {1, 2}, .in_feature = 3,
    .kernel_spatial = {0, 1}, .kernel_in = 2, .kernel_out = 3,
    .out_batch = 0, .out_spatial = {1, 2}, .out_feature = 3,
    .feature_groups = 1, .batch_groups = 1};

static int64_t pick(struct rng *r, int64_t first, int64_t last)
{
    return first + rng_below(r, (uint32_t)(last - first + 1));
}

static int layer(int x, int64_t taps, int64_t low, int64_t high, int64_t features, const char *name)
{
    const struct shape s = graph.node[x].shape;
    const struct graph_window same = {taps, 1, low, high, 1, 1, false};
    const struct graph_window w[2] = {same, same};
    int k = graph_parameter(&graph, F32(taps, taps, s.dim[3], features), name);

    return graph_convolution(&graph, x, k, w, &labels, DTYPE_F32, PRECISION_DEFAULT);
}

/* x * scale per feature, cut to 0..3, so that sums of whole numbers are exact; x's sum goes out */
static int norm(int x, const char *name)
{
    const struct shape s = graph.node[x].shape;
    int y = graph_broadcast(&graph, graph_parameter(&graph, F32(s.dim[3]), name), s, DIMS(3));

    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, x, 7), name, -1);
    y = graph_binary(&graph, HLO_MULTIPLY, x, y);
    y = graph_binary(&graph, HLO_MAXIMUM, y, graph_splat(&graph, y, 0));
    return graph_binary(&graph, HLO_MINIMUM, y, graph_splat(&graph, y, 3));
}

/* a weighted sum per feature, and the gradients of it by every parameter */
static void finish(int y)
{
    int wrt[8], gradient[8], count = 0;
    struct err e;
    int loss = graph_reduce(&graph, REDUCE_ADD, y, 7);

    loss = graph_binary(&graph, HLO_MULTIPLY, loss,
                        graph_parameter(&graph, graph.node[loss].shape, "weight"));
    loss = graph_reduce(&graph, REDUCE_ADD, loss, 1);
    for (int i = 0; i < graph.parameter_count; i++)
        wrt[count++] = graph.parameter[i];
    assert_int_equal(graph_grad(&graph, loss, wrt, count, gradient, &e), 0);
    graph_output(&graph, loss, "loss", -1);
    for (int i = 0; i < count; i++)
        graph_output(&graph, gradient[i], graph.node[wrt[i]].name, -1);
}

/* convolutions of so many features of input and result, gradients by kernel among them */
static int count_features(int64_t in, int64_t out)
{
    int count = 0;

    for (int i = 0; i < graph.node_count; i++) {
        const struct graph_node *n = &graph.node[i];

        count += n->op == HLO_CONVOLUTION && graph.node[n->operand[0]].shape.dim[3] == in &&
                 n->shape.dim[3] == out;
    }
    return count;
}

/* pixels that fill a tile of lanes, of images that are large enough for so many */
static int64_t side_by_side(int64_t rows, int64_t width, int64_t features)
{
    int64_t pixels = 8;

    while (pixels * features > 128 || width % pixels != 0 || rows < 512 * pixels * pixels)
        pixels /= 2;
    return pixels;
}

/* wide, narrow, narrow, wide: a residual block's three convolutions, forwards and backwards */
TEST(blocks_of_residual_networks_compute_the_same)
{
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < 4; i++) {
        int64_t features = pick(&r, 16, 20), wide = pick(&r, 65, 70), taps = pick(&r, 1, 4);
        int64_t low = pick(&r, 0, taps - 1), height = pick(&r, 3, 5), width = 2 * pick(&r, 24, 60);
        int64_t packed = features * side_by_side(16 * height * width, width, features);
        int x = graph_parameter(&graph, F32(16, height, width, wide), "x"), y;

        y = norm(layer(x, 1, 0, 0, features, "first"), "a");
        y = norm(layer(y, taps, low, taps - 1 - low, features, "middle"), "b");
        y = graph_binary(&graph, HLO_ADD, layer(y, 1, 0, 0, wide, "last"), x);
        finish(y);
        run_pass(pass_pixels);
        assert_int_equal(count_features(wide, packed), 3);
        assert_int_equal(count_features(packed, packed), 3);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* the width changes, padding is cut off, and a part of it all is not in pairs */
TEST(other_windows_compute_the_same)
{
    struct rng r;

    rng_init(&r, 6);
    for (int i = 0; i < 4; i++) {
        int64_t taps = pick(&r, 1, 3), low = pick(&r, -1, 2), width = 2 * pick(&r, 30, 60);
        int64_t high = 2 * pick(&r, 0, 1) + taps - 1 - low, wide = width + low + high - taps + 1;
        int64_t rows = 16 * (5 + low + high - taps + 1) * wide;
        int x = graph_parameter(&graph, F32(16, 5, width, 30), "x"), y;

        y = norm(layer(x, taps, low, high, 20, "first"), "a");
        y = layer(y, 2, 1, 0, 24, "second");
        finish(graph_binary(&graph, HLO_MAXIMUM, y, graph_splat(&graph, y, 0)));
        run_pass(pass_pixels);
        assert_true(count_features(20 * side_by_side(rows, wide, 20),
                                   24 * side_by_side(rows, wide, 24)) > 0);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* windows of 2 x 2 whose operand has so many features */
static int count_windows(int64_t features)
{
    int count = 0;

    for (int i = 0; i < graph.node_count; i++) {
        const struct graph_node *n = &graph.node[i];

        count += (n->op == HLO_REDUCE_WINDOW || n->op == HLO_SELECT_AND_SCATTER) &&
                 graph.node[n->operand[0]].shape.dim[3] == features;
    }
    return count;
}

static int pool(int x, int64_t size, int64_t stride, int64_t low, int64_t high)
{
    const struct graph_window plain = {1, 1, 0, 0, 1, 1, false};
    const struct graph_window w = {size, stride, low, high, 1, 1, false};
    const struct graph_window all[] = {plain, w, w, plain};

    return graph_reduce_window(&graph, REDUCE_MAX, x, all);
}

/* a first layer as it is expanded, of images that run along lanes, with its gradient by kernel */
static int first_layer(int images, int64_t height, int64_t width, int64_t taps, int64_t features)
{
    const struct graph_window plain = {taps, 1, 0, 0, 1, 1, false};
    const struct graph_window w[] = {plain, plain};
    struct graph_conv lanes = labels;
    int x = graph_parameter(&graph, F32(height, width, 3, images), "x");

    lanes.in_spatial[0] = 0;
    lanes.in_spatial[1] = 1;
    lanes.in_feature = 2;
    lanes.in_batch = 3;
    return graph_convolution(&graph, x, graph_parameter(&graph, F32(taps, taps, 3, features), "k"),
                             w, &lanes, DTYPE_F32, PRECISION_DEFAULT);
}

/* a window along the width wants the pixels of a pair apart: it has pairs of images */
TEST(pools_and_their_gradients_are_of_pairs_of_images)
{
    struct rng r;

    rng_init(&r, 8);
    for (int i = 0; i < 4; i++) {
        int64_t taps = pick(&r, 1, 3), size = pick(&r, 2, 3), features = pick(&r, 17, 20);
        int64_t height = 4 * pick(&r, 1, 2), width = 32 * pick(&r, 1, 2);
        int y = norm(first_layer(16, height + taps - 1, width + taps - 1, taps, features), "a");

        y = pool(y, size, 2, 0, size - 2);
        y = norm(layer(y, 3, 1, 1, 20, "next"), "b");
        finish(y);
        run_pass(pass_pixels);
        assert_int_equal(count_windows(features), 0);
        assert_int_equal(count_windows(2 * features), 2);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* what a pool makes may be of odd width, or go out: then it is no pairs, and the rest is */
TEST(pools_of_pairs_may_make_what_is_none)
{
    int x = graph_parameter(&graph, F32(16, 6, 22, 70), "x"), y;

    y = pool(norm(layer(x, 1, 0, 0, 20, "first"), "a"), 2, 2, 0, 0);
    y = layer(y, 1, 0, 0, 24, "second");
    finish(y);
    run_pass(pass_pixels);
    assert_int_equal(count_windows(40), 2);
    assert_int_equal(count_features(70, 40), 2);        /* forwards, and the gradient by kernel */
}

/* batches whose halves end inside tiles, and windows along features, keep all that meets them */
TEST(arrays_that_others_read_stay)
{
    const struct graph_window plain = {1, 1, 0, 0, 1, 1, false};
    struct graph_window w[4] = {plain, plain, plain, {2, 2, 0, 0, 1, 1, false}};

    for (int i = 0; i < 2; i++) {
        int x = graph_parameter(&graph, F32(i ? 24 : 16, 4, 34, 70), "x"), y;

        y = norm(layer(x, 1, 0, 0, 20, "first"), "a");
        graph_output(&graph, i ? pool(y, 2, 2, 0, 0)
                               : graph_reduce_window(&graph, REDUCE_MAX, y, w), "pool", -1);
        run_pass(pass_pixels);
        assert_int_equal(count_features(70, 20), 1);
        assert_int_equal(count_features(70, 40), 0);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* images of 20 features that the program itself has in pairs, and wants so: nothing is taken apart */
TEST(pairs_of_the_program_stay_pairs)
{
    const struct shape pixels = F32(16, 4, 34, 20), pairs = F32(16, 4, 17, 40);
    int x = graph_reshape(&graph, graph_parameter(&graph, pairs, "x"), pixels);
    int y = norm(layer(x, 3, 1, 1, 20, "k"), "a");

    y = graph_binary(&graph, HLO_ADD, y, x);
    graph_output(&graph, graph_reshape(&graph, y, pairs), "y", -1);
    run_pass(pass_pixels);
    assert_int_equal(count_features(40, 40), 1);
    assert_int_equal(count_features(20, 20), 0);
}

/*
 * Images that lie as a convolution wants them are read through a transpose that moves nothing, and
 * so is what is computed of them before it, and added behind it.
 */
TEST(what_is_computed_of_turned_images_is_not_turned)
{
    const struct shape lies = F32(4, 6, 32, 20), image = F32(32, 4, 6, 20);
    int turned[2], y;

    for (int i = 0; i < 2; i++) {
        int x = graph_parameter(&graph, lies, i ? "x" : "y");

        turned[i] = graph_transpose(&graph, x, DIMS(2, 0, 1, 3));
        turned[i] = graph_binary(&graph, HLO_MULTIPLY, turned[i], graph_splat(&graph, turned[i], 2));
    }
    assert_true(shape_equal(&graph.node[turned[0]].shape, &image));
    y = graph_binary(&graph, HLO_ADD, layer(turned[0], 3, 1, 1, 20, "k"), turned[1]);
    graph_output(&graph, graph_transpose(&graph, y, DIMS(1, 2, 0, 3)), "z", -1);
    run_pass(pass_layout);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

/* ----- networks drawn at random */

static struct graph_window window_of(struct rng *r, int64_t size, int64_t width)
{
    int64_t taps = pick(r, 1, size < 4 ? size : 4), low = pick(r, 0, taps - 1), stride = 1;
    int64_t dilation = pick(r, 0, 5) == 0 ? 2 : 1, high = taps - 1 - low;

    if (dilation == 1 && pick(r, 0, 2) == 0)
        stride = pick(r, 2, 3);
    if (dilation == 1 && width > 1 && pick(r, 0, 3) == 0)
        low -= pick(r, 0, 1);
    high += (stride - (size - 1) % stride - 1) % stride + (dilation == 2);
    return (struct graph_window){taps, stride, low, high, dilation, 1, pick(r, 0, 7) == 0};
}

/* a convolution of any window, features in groups now and then */
static int any_layer(struct rng *r, int x, const char *name)
{
    static const int64_t some[] = {16, 24, 32, 48, 64, 12, 96, 72};
    const struct shape s = graph.node[x].shape;
    int64_t in = s.dim[3], out = some[pick(r, 0, 7)], groups = 1;
    struct graph_window w[2] = {window_of(r, s.dim[1], 1), window_of(r, s.dim[2], s.dim[2])};
    struct graph_conv c = labels;

    if (pick(r, 0, 2) == 0) {
        groups = pick(r, 0, 1) ? in : 4;
        out = in * pick(r, 1, in > 48 ? 1 : 2);
    }
    c.feature_groups = groups;
    return graph_convolution(&graph, x,
                             graph_parameter(&graph, F32(w[0].size, w[1].size, in / groups, out), name),
                             w, &c, DTYPE_F32, PRECISION_DEFAULT);
}

/* x scaled by what is summed of each image and feature, as squeeze and excite have it */
static int excite(int x)
{
    const struct shape s = graph.node[x].shape;
    int y = graph_reduce(&graph, REDUCE_MAX, x, 6);

    return graph_binary(&graph, HLO_MINIMUM, x, graph_broadcast(&graph, y, s, DIMS(0, 3)));
}

static bool pools_fit(struct shape s) { return s.dim[1] > 1 && s.dim[2] > 1; }

static void draw_network(struct rng *r)
{
    static const char *const names[] = {"k0", "k1", "k2", "k3"}, *const norms[] = {"a0", "a1", "a2", "a3"};
    int64_t batch = pick(r, 0, 2) > 0 ? 16 * pick(r, 1, 3) : pick(r, 1, 5);
    int64_t rows = 512 << pick(r, 2, 5), height = pick(r, 1, 4);
    int64_t width = 4 * (rows / (4 * batch * height) + pick(r, 1, 4)), count = pick(r, 2, 3);
    int y = graph_parameter(&graph, F32(batch, height, width, 8 * pick(r, 1, 9)), "x");

    for (int64_t i = 0; i < count; i++) {
        y = norm(any_layer(r, y, names[i]), norms[i]);
        if (pick(r, 0, 4) == 0)
            y = excite(y);
        if (pick(r, 0, 3) == 0 && pools_fit(graph.node[y].shape))
            y = pool(y, 2, pick(r, 1, 2), 0, 1);
    }
    finish(y);
}

/* of the shapes of all convolutions: another where one of them is of groups of pixels */
static int64_t convolution_elements(void)
{
    int64_t sum = 0;

    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_CONVOLUTION)
            sum += graph.node[i].shape.dim[2] * 7 + graph.node[i].shape.dim[3];
    return sum;
}

TEST(drawn_networks_compute_the_same)
{
    int count = seeds_count(12), packed = 0;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct rng r;
        int64_t before;

        rng_init(&r, seeds_at(i));
        draw_network(&r);
        before = convolution_elements();
        run_pass(pass_pixels);
        packed += convolution_elements() != before;
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
    assert_true(packed > count / 4 || count < 12);
}

/* 300 features are three tiles of lanes, 20 one: those are turned, and then the result */
TEST(gradients_by_one_pixel_change_places_where_less_is_turned)
{
    static const int64_t out[] = {20, 130, 300};

    for (int i = 0; i < 3; i++) {
        int x = graph_parameter(&graph, F32(4, 3, 5, 300), "x");

        finish(norm(layer(x, 1, 0, 0, out[i], "k"), "a"));
        run_pass(pass_expand);
        assert_int_equal(count_of(&graph, HLO_TRANSPOSE), i == 2 ? 0 : 1);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* batches that fill tiles of rows are contracted in one run with the pixels; others stay */
TEST(gradients_by_one_pixel_are_products)
{
    static const struct { int64_t batch, taps; int dots; } rows[] = {
        {32, 1, 1}, {64, 1, 1}, {4, 1, 0}, {32, 3, 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int x = graph_parameter(&graph, F32(rows[i].batch, 3, 5, 20), "x");

        finish(norm(layer(x, rows[i].taps, 0, 0, 30, "k"), "a"));
        run_pass(pass_layout);
        assert_int_equal(count_of(&graph, HLO_DOT), rows[i].dots);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(blocks_of_residual_networks_compute_the_same),
        RUN(other_windows_compute_the_same),
        RUN(pools_and_their_gradients_are_of_pairs_of_images),
        RUN(pools_of_pairs_may_make_what_is_none),
        RUN(arrays_that_others_read_stay),
        RUN(pairs_of_the_program_stay_pairs),
        RUN(what_is_computed_of_turned_images_is_not_turned),
        RUN(gradients_by_one_pixel_change_places_where_less_is_turned),
        RUN(gradients_by_one_pixel_are_products),
        RUN(drawn_networks_compute_the_same),
    };

    seeds_read(argc, argv);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
