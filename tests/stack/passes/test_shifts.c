/*
 * Windows along any dimensions of arrays of any rank, and their gradients, on whole numbers of which
 * many are equal: whether kernels combine tiles or an array is combined with itself shifted, do values
 * stay, and does it take few cycles?
 *
 * test_shifts [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/expand/expand.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#define TAPS_MAX 32
#define ELEMENTS_MAX 20000
#define VMEM_ROWS 32768

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static struct shape draw_shape(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_S32};
    struct shape s = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 1 + (int)below(5)};
    int64_t room = ELEMENTS_MAX;

    for (int d = s.rank - 1; d >= 0; d--) {
        int64_t most = s.rank == 1 ? 3000 : s.rank == 2 ? 200 : 30;

        s.dim[d] = 1 + below(most < room ? most : room);
        room /= s.dim[d];
    }
    return s;
}

/* places of the windows along each dimension are in `places` */
static void draw_windows(const struct shape *s, bool is_gradient, struct graph_window *w,
                         struct shape *places)
{
    int64_t taps = TAPS_MAX;

    *places = *s;
    for (int d = 0; d < s->rank; d++) {
        int64_t most = s->dim[d] < taps ? s->dim[d] : taps, size = below(2) ? 1 + below(most) : 1;

        size = size > 5 && below(3) ? 2 + below(4) : size;
        w[d] = (struct graph_window){.size = size, .stride = 1 + below(size > 1 ? 3 : 1),
                                     .base_dilation = 1, .window_dilation = 1};
        if (!is_gradient && size > 1 && below(4) == 0 && 2 * (size - 1) < s->dim[d])
            w[d].window_dilation = 2;
        if (size > 1 && below(2)) {
            w[d].pad_low = below(size);
            w[d].pad_high = below(size);
        }
        taps /= size;
        places->dim[d] = (s->dim[d] + w[d].pad_low + w[d].pad_high -
                          ((size - 1) * w[d].window_dilation + 1)) / w[d].stride + 1;
    }
}

static int draw_node(void)
{
    static const enum graph_reduce kinds[] = {REDUCE_MAX, REDUCE_MIN, REDUCE_ADD};
    struct graph_window w[GRAPH_RANK_MAX];
    struct shape s = draw_shape(), places;
    bool is_gradient = below(2) && s.dtype != DTYPE_S32;
    int x = graph_parameter(&g, s, "x"), source;

    draw_windows(&s, is_gradient, w, &places);
    if (!is_gradient)
        return graph_reduce_window(&g, kinds[below(COUNT_OF(kinds))], x, w);
    source = graph_parameter(&g, places, "source");
    return graph_select_and_scatter(&g, below(2) ? COMPARE_GE : COMPARE_LE, x, source, w);
}

TEST(any_windows_combine_what_they_see)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(60), shifted = 0;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.megacore = false};
        struct graph_node n;
        int node;

        rng_init(&rng, seeds_at(i));
        r.slice = slices[below(COUNT_OF(slices))];
        node = draw_node();
        n = g.node[node];
        shifted += expand_shifts(&g, &n, VMEM_ROWS) != NODE_NONE;
        graph_output(&g, graph_unary(&g, HLO_NEGATE, node), "made", -1);
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    assert_in_range(shifted, count / 8, count);
}

static int64_t cycles_of(const char *name, int made)
{
    struct module_rig r = {.slice = "v5e"};

    g.name = name;
    graph_output(&g, made, "made", -1);
    module_rig_check(&r, &g, 1);
    return r.cycles;
}

static const struct graph_window none = {.size = 1, .stride = 1, .base_dilation = 1,
                                         .window_dilation = 1};

/* a dilation of images without channels: 9.8 billion cycles from element to element */
TEST(images_without_channels)
{
    struct graph_window five = none, w[3];

    five.size = 5;
    five.pad_low = five.pad_high = 2;
    w[0] = none;
    w[1] = w[2] = five;
    assert_in_range(cycles_of("dilation", graph_reduce_window(&g, REDUCE_MAX,
        graph_parameter(&g, shape_make(DTYPE_F32, 3, (int64_t[]){4, 128, 128}), "x"), w)), 1, 25000);
}

/* the gradient of pooling in a volume of few channels */
TEST(gradients_in_volumes)
{
    struct graph_window two = none, w[5];
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 5, (int64_t[]){2, 32, 32, 32, 8}), "x"), y;

    two.size = two.stride = 2;
    w[0] = w[4] = none;
    w[1] = w[2] = w[3] = two;
    y = graph_parameter(&g, shape_make(DTYPE_F32, 5, (int64_t[]){2, 16, 16, 16, 8}), "y");
    assert_in_range(cycles_of("gradient", graph_select_and_scatter(&g, COMPARE_GE, x, y, w)), 1,
                    900000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_windows_combine_what_they_see), RUN(images_without_channels),
        RUN(gradients_in_volumes),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
