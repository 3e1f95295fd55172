/*
 * Convolutions of planes, by sums of the shifted image: do values stay, and does it take few cycles?
 *
 * test_planes [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/expand/expand.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static void shuffle(int *list, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int k = (int)below(i + 1), kept = list[i];

        list[i] = list[k];
        list[k] = kept;
    }
}

/* a convolution of few channels each by itself, with labels in any order; its result in `dtype` */
static int convolution(int64_t batch, int64_t channels, const int64_t *size,
                       const struct graph_window *w, enum graph_dtype dtype)
{
    struct graph_conv c = {.spatial_count = 2, .feature_groups = channels, .batch_groups = 1};
    struct shape x = {.dtype = dtype, .rank = 4}, k = x;
    int in[4] = {0, 1, 2, 3}, kernel[4] = {0, 1, 2, 3}, out[4] = {0, 1, 2, 3};

    shuffle(in, 4);
    shuffle(kernel, 4);
    shuffle(out, 4);
    c.in_batch = in[0];
    c.in_feature = in[1];
    c.kernel_in = kernel[0];
    c.kernel_out = kernel[1];
    c.out_batch = out[0];
    c.out_feature = out[1];
    x.dim[in[0]] = batch;
    x.dim[in[1]] = k.dim[kernel[1]] = channels;
    k.dim[kernel[0]] = 1;
    for (int i = 0; i < 2; i++) {
        c.in_spatial[i] = in[2 + i];
        c.kernel_spatial[i] = kernel[2 + i];
        c.out_spatial[i] = out[2 + i];
        x.dim[in[2 + i]] = size[i];
        k.dim[kernel[2 + i]] = w[i].size;
    }
    return graph_convolution(&g, graph_parameter(&g, x, "x"), graph_parameter(&g, k, "k"), w, &c,
                             dtype, PRECISION_HIGHEST);
}

TEST(any_planes_stay_what_they_are)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(30), taken = 0;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.megacore = false};
        struct graph_window w[2];
        int64_t size[2], channels;
        struct graph_node n;
        int node;

        rng_init(&rng, seeds_at(i));
        r.slice = slices[below(COUNT_OF(slices))];
        channels = below(2) ? 1 : 1 + below(6);
        for (int d = 0; d < 2; d++) {
            int64_t reach;

            w[d] = (struct graph_window){.size = 1 + below(6), .stride = 1, .base_dilation = 1,
                                         .window_dilation = below(3) ? 1 : 1 + below(3),
                                         .is_reversed = below(3) == 0};
            reach = (w[d].size - 1) * w[d].window_dilation + 1;
            size[d] = reach + 3 + below(60);
            w[d].pad_low = below(reach) - (below(4) == 0);
            w[d].pad_high = below(reach) - (below(4) == 0);
        }
        node = convolution(1 + below(5), channels, size, w, below(3) ? DTYPE_F32 : DTYPE_BF16);
        n = g.node[node];
        taken += expand_planes(&g, &n) != NODE_NONE;
        graph_output(&g, graph_unary(&g, HLO_NEGATE, node), "made", -1);
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    assert_in_range(taken, count / 4, count);
}

/* edges of an image, jax.scipy.signal.convolve2d(x, k, mode="same") */
TEST(edges_of_an_image)
{
    static const int64_t size[] = {256, 256};
    struct graph_window w[2] = {{.size = 3, .stride = 1, .pad_low = 1, .pad_high = 1,
                                 .base_dilation = 1, .window_dilation = 1}};
    struct module_rig r = {.slice = "v5e"};

    w[1] = w[0];
    rng_init(&rng, 1);
    g.name = "edges";
    graph_output(&g, convolution(1, 1, size, w, DTYPE_F32), "made", -1);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 16000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_planes_stay_what_they_are), RUN(edges_of_an_image),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
