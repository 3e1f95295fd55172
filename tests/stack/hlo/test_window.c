/* Do windows combine what lies under them, for all forms of windows and layouts? */
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "stack/kernels/window/kernel_window.h"
#include "stack/hlo/window.h"
#include "tests/rigs/kernel_rig.h"
#include "stack/kernels/registry.h"

struct random_window {
    struct arena arena;
    struct graph body;
    int order[GRAPH_RANK_MAX];
};

static int below(struct rng *r, int end) { return (int)rng_below(r, (uint32_t)end); }

static void shuffle(struct rng *r, int *list, int count)
{
    for (int i = 0; i < count; i++)
        list[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = below(r, i + 1), kept = list[i];

        list[i] = list[j];
        list[j] = kept;
    }
}

static int64_t a_size(struct rng *r, int64_t room)
{
    static const int sizes[] = {1, 2, 3, 5, 7, 8, 9, 12, 17, 40, 127, 128, 130};
    int64_t size;

    do {
        size = sizes[below(r, COUNT_OF(sizes))];
    } while (size > room);
    return size;
}

/* windows that fit, along half of the dimensions */
static bool a_window(struct rng *r, const struct shape *s, bool is_scatter,
                     struct graph_window *w)
{
    int64_t taps = 1;

    for (int d = 0; d < s->rank; d++) {
        int64_t reach, room;

        w[d] = (struct graph_window){1, 1, 0, 0, 1, 1, false};
        if (below(r, 2))
            continue;
        w[d].size = 1 + below(r, 4);
        w[d].stride = 1 + below(r, 3);
        w[d].pad_low = below(r, (int)w[d].size);
        w[d].pad_high = below(r, (int)w[d].size);
        if (!is_scatter && below(r, 3) == 0) {
            w[d].base_dilation = 1 + below(r, 3);
            w[d].window_dilation = 1 + below(r, 2);
        }
        reach = (w[d].size - 1) * w[d].window_dilation + 1;
        room = (s->dim[d] - 1) * w[d].base_dilation + 1 + w[d].pad_low + w[d].pad_high;
        taps *= w[d].size;
        if (reach > room)
            return false;
    }
    return taps > 1 && taps < 40;
}

static struct shape places_of(const struct shape *s, const struct graph_window *w)
{
    struct shape to = *s;

    for (int d = 0; d < s->rank; d++)
        to.dim[d] = ((s->dim[d] - 1) * w[d].base_dilation + 1 + w[d].pad_low + w[d].pad_high -
                     (w[d].size - 1) * w[d].window_dilation - 1) / w[d].stride + 1;
    return to;
}

static void make(struct random_window *m, uint64_t seed, int64_t elements)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32};
    static const enum graph_reduce kinds[] = {REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};
    struct graph_window w[GRAPH_RANK_MAX];
    struct shape s, places;
    struct rng r;
    int x, y;
    bool is_scatter;

    memset(m, 0, sizeof(*m));
    rng_init(&r, seed);
    arena_init(&m->arena);
    graph_init(&m->body, &m->arena, "random window");
    do {
        int64_t room = elements;

        is_scatter = !below(&r, 3);
        s = (struct shape){.dtype = types[below(&r, 3)], .rank = 1 + below(&r, 4)};
        for (int d = 0; d < s.rank; d++) {
            s.dim[d] = a_size(&r, room);
            room /= s.dim[d];
        }
    } while (!a_window(&r, &s, is_scatter, w));
    shuffle(&r, m->order, s.rank);
    x = graph_parameter(&m->body, s, "x");
    if (is_scatter) {
        places = places_of(&s, w);
        y = graph_parameter(&m->body, places, "source");
        y = graph_select_and_scatter(&m->body, below(&r, 2) ? COMPARE_GE : COMPARE_LE, x, y, w);
    } else {
        y = graph_reduce_window(&m->body, kinds[below(&r, 3)], x, w);
    }
    graph_output(&m->body, y, "y", -1);
}

/* the code for either core of a chip, one behind the other on one core */
static void split_over_cores(struct kernel_rig *r, struct segment *segment)
{
    struct link_item item[2];
    struct err e = {0};

    for (int core = 0; core < 2; core++) {
        struct kernel_job job = r->job;

        job.core = core;
        job.core_count = 2;
        if (kernel_compile(&job, &r->arena, &segment[core], &e))
            fail_msg("%s", e.msg);
        item[core] = (struct link_item){.kind = LINK_SEGMENT, .segment = &segment[core],
                                        .note = "core"};
    }
    if (link_program(item, 2, &r->machine_chip, "both", &r->arena, &r->linked, &e))
        fail_msg("%s", e.msg);
}

static void random_windows(const struct kernel_rig *like, uint64_t seed, int count,
                           int64_t elements, int way)
{
    for (int i = 0; i < count; i++) {
        struct tiling t = {.count = 1, .size = {way}};
        struct kernel_rig r = *like;
        struct segment segment[2];
        struct random_window m;
        char name[40];

        r.tiling = way < 0 ? NULL : &t;
        make(&m, seed + (uint64_t)i, elements);
        snprintf(name, sizeof(name), "seed %d", (int)seed + i);
        m.body.name = name;
        for (int k = 0; k < m.body.parameter_count; k++)
            r.operand_order[k] = m.order;
        r.result_order[0] = m.order;
        kernel_rig_open(&r, &m.body);
        if (!strcmp(r.chip, "v4"))
            split_over_cores(&r, segment);
        kernel_rig_check(&r, 1);
        kernel_rig_close(&r);
        graph_fini(&m.body);
        arena_fini(&m.arena);
    }
}

TEST(random_windows_the_general_way)
{
    random_windows(&(struct kernel_rig){.chip = "v3"}, 1, 60, 500, 0);
    random_windows(&(struct kernel_rig){.chip = "v6e", .operands_in_vmem = 1}, 1000, 10, 500, 0);
}

TEST(random_windows_the_cheapest_way)
{
    static const char *const chips[] = {"v3", "v2", "v5e", "v7x", "v4"};

    for (int i = 0; i < 5; i++)
        random_windows(&(struct kernel_rig){.chip = chips[i], .operands_in_vmem = i == 1,
                                            .results_in_vmem = i == 2},
                       1000 * (uint64_t)(i + 1), 25, 3000, -1);
}

/* pooling of images with channels along lanes, and its gradient */
static void pool_in(const int *order, const char *chip, enum graph_dtype dtype, int64_t size,
                    int64_t stride, int64_t dilation, bool is_gradient)
{
    struct graph_window w[4] = {{1, 1, 0, 0, 1, 1, false}, {size, stride, 1, 1, dilation, 1, false},
                                {size, stride, 0, 1, dilation, 1, false},
                                {1, 1, 0, 0, 1, 1, false}};
    struct shape s = shape_make(dtype, 4, (const int64_t[]){17, 29, 23, 20});
    struct kernel_rig r = {.chip = chip, .operand_order = {order, order}, .result_order = {order}};
    struct arena a;
    struct graph g;
    int x, y;

    arena_init(&a);
    graph_init(&g, &a, "pool");
    x = graph_parameter(&g, s, "x");
    if (is_gradient)
        y = graph_select_and_scatter(&g, COMPARE_GE, x,
                                     graph_parameter(&g, places_of(&s, w), "source"), w);
    else
        y = graph_reduce_window(&g, REDUCE_ADD, x, w);
    graph_output(&g, y, "y", -1);
    kernel_rig_open(&r, &g);
    assert_int_not_equal(r.segment.tiling.size[0], 0);          /* not the general way */
    kernel_rig_check(&r, 3);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

static void pool(const char *chip, enum graph_dtype dtype, int64_t size, int64_t stride,
                 int64_t dilation, bool is_gradient)
{
    static const int batch_along_rows[] = {3, 0, 2, 1};

    pool_in(batch_along_rows, chip, dtype, size, stride, dilation, is_gradient);
}

TEST(images_are_pooled_by_lines)
{
    static const int pixels_along_rows[] = {3, 2, 1, 0};

    pool_in(pixels_along_rows, "v3", DTYPE_BF16, 3, 2, 1, false);
    pool_in(pixels_along_rows, "v5e", DTYPE_F32, 2, 2, 1, false);
    pool_in(pixels_along_rows, "v2", DTYPE_F32, 4, 3, 1, false);
    pool_in(pixels_along_rows, "v4", DTYPE_BF16, 3, 1, 1, false);
}

TEST(images_are_pooled_by_tiles)
{
    pool("v3", DTYPE_BF16, 3, 2, 1, false);
    pool("v5e", DTYPE_F32, 2, 2, 1, false);
    pool("v3", DTYPE_F32, 3, 1, 2, false);
    pool("v6e", DTYPE_BF16, 3, 1, 3, false);
}

TEST(gradients_of_pooled_images_are_scattered_by_tiles)
{
    pool("v3", DTYPE_BF16, 3, 2, 1, true);
    pool("v5e", DTYPE_F32, 2, 2, 1, true);
    pool("v3", DTYPE_F32, 3, 1, 1, true);
    pool("v7x", DTYPE_BF16, 3, 3, 1, true);
}

/* the first places stand beyond the first element: no step takes places before them */
TEST(a_scatter_may_leave_out_the_first_elements)
{
    static const int order[] = {2, 1, 0};
    struct graph_window w[3] = {{4, 1, -1, 2, 1, 1, false}, {1, 1, 0, 0, 1, 1, false},
                                {1, 1, 0, 0, 1, 1, false}};
    struct shape s = shape_make(DTYPE_BF16, 3, (const int64_t[]){131, 9, 5});
    struct kernel_rig r = {.chip = "v5e", .operand_order = {order, order},
                           .result_order = {order}};
    struct arena a;
    struct graph g;
    int x;

    arena_init(&a);
    graph_init(&g, &a, "pool");
    x = graph_parameter(&g, s, "x");
    graph_output(&g, graph_select_and_scatter(&g, COMPARE_LE, x,
                                              graph_parameter(&g, places_of(&s, w), "source"), w),
                 "y", -1);
    kernel_rig_open(&r, &g);
    assert_int_not_equal(r.segment.tiling.size[0], 0);          /* not the general way */
    kernel_rig_check(&r, 3);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(channels_and_batch_are_the_tiles_that_windows_like)
{
    struct shape s = shape_make(DTYPE_BF16, 4, (const int64_t[]){32, 112, 112, 64});
    struct graph_window w[4] = {{1, 1, 0, 0, 1, 1, false}, {3, 2, 0, 1, 1, 1, false},
                                {3, 2, 0, 1, 1, 1, false}, {1, 1, 0, 0, 1, 1, false}};
    static const int expected[] = {3, 0, 2, 1};
    int order[4];

    assert_true(window_order(&s, w, order));
    assert_memory_equal(order, expected, sizeof(order));
    w[0] = w[1];
    assert_false(window_order(&s, w, order));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_windows_the_general_way),
        cmocka_unit_test(random_windows_the_cheapest_way),
        cmocka_unit_test(channels_and_batch_are_the_tiles_that_windows_like),
        cmocka_unit_test(images_are_pooled_by_lines),
        cmocka_unit_test(images_are_pooled_by_tiles),
        cmocka_unit_test(gradients_of_pooled_images_are_scattered_by_tiles),
        cmocka_unit_test(a_scatter_may_leave_out_the_first_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
