/*
 * Filters, convolutions along one dimension with one feature in and out: whatever their taps, paddings
 * and order of dimensions, do their values stay, and do they take the lanes?
 *
 * test_filter [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"


static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

struct filter { int64_t batch, size, taps, pad_low, pad_high; bool is_reversed, has_features_first; };

static void add_filter(const struct filter *f, enum graph_precision precision)
{
    bool first = f->has_features_first;
    struct graph_conv c = {.spatial_count = 1, .in_feature = first ? 1 : 2,
                           .in_spatial = {first ? 2 : 1}, .kernel_in = first ? 1 : 2,
                           .kernel_out = first ? 0 : 1, .kernel_spatial = {first ? 2 : 0},
                           .out_feature = first ? 1 : 2, .out_spatial = {first ? 2 : 1},
                           .feature_groups = 1, .batch_groups = 1};
    struct graph_window w = {.size = f->taps, .stride = 1, .pad_low = f->pad_low,
                             .pad_high = f->pad_high, .base_dilation = 1, .window_dilation = 1,
                             .is_reversed = f->is_reversed};
    struct shape x = shape_make(DTYPE_F32, 3, (int64_t[]){f->batch, 1, 1}), k = shape_make(DTYPE_F32, 3, (int64_t[]){1, 1, 1});
    int lhs, rhs;

    x.dim[c.in_spatial[0]] = f->size;
    k.dim[c.kernel_spatial[0]] = f->taps;
    lhs = graph_parameter(&g, x, "x");
    rhs = graph_parameter(&g, k, "taps");
    graph_output(&g, graph_convolution(&g, lhs, rhs, &w, &c, DTYPE_F32, precision), "y", -1);
}

static void draw_filter(struct filter *f)
{
    f->taps = 1 + below(below(2) ? 12 : 200);
    f->size = f->taps + below(below(2) ? 400 : 5000);
    f->batch = below(3) ? 1 : 1 + below(below(2) ? 9 : 140);
    if (f->batch > 9)
        f->size = f->taps + f->size % 100;
    f->pad_low = below(2) ? f->taps - 1 : below(f->taps);
    f->pad_high = below(2) ? f->taps - 1 : below(f->taps);
    if (below(6) == 0 && f->size > f->taps + 2)
        f->pad_low = -1;
    f->is_reversed = below(2);
    f->has_features_first = below(2);
}

TEST(any_filter_keeps_its_values)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e"};
    int count = seeds_count(40);

    for (int i = 0; i < count; i++) {
        struct module_rig r = {.slice = slices[i % 3]};
        struct filter f;

        rng_init(&rng, seeds_at(i));
        draw_filter(&f);
        add_filter(&f, below(3) ? PRECISION_DEFAULT : PRECISION_HIGHEST);
        g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    seeds_print(count);
}

/* a lane for each segment: in one lane 2.3 million cycles */
TEST(a_long_filter_takes_the_lanes)
{
    struct module_rig r = {.slice = "v5e"};

    add_filter(&(struct filter){1, 20000, 101, 100, 100, true, true}, PRECISION_DEFAULT);
    g.name = "long filter";
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 100000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_filter_keeps_its_values), RUN(a_long_filter_takes_the_lanes),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
