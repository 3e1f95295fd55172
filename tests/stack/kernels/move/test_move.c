/* Do kernels that move data put every element in its place? */
#include "tests/test.h"

#include "stack/kernels/move/kernel_move.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/generate/random_move.h"
#include "stack/kernels/registry.h"

static void set_orders(struct kernel_rig *r, const struct random_move *m)
{
    int count = m->body.parameter_count;

    for (int i = 0; i < count; i++)
        r->operand_order[i] = m->order[i];
    r->result_order[0] = m->order[count];
}

/* the largest array's, in its layout: a few elements of rank 8 may take many */
static int64_t most_tiles(const struct random_move *m)
{
    const struct graph *g = &m->body;
    int64_t most = 0;

    for (int i = 0; i <= g->parameter_count; i++) {
        int node = i < g->parameter_count ? g->parameter[i] : g->output[0].node;
        struct array a;

        array_init(&a, "a", &g->node[node].shape, m->order[i]);
        most = a.tile_count > most ? a.tile_count : most;
    }
    return most;
}

/* way: index into move_ways, or -1 for the cheapest */
/* the kernel's code for either core of a chip, one behind the other on one core */
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

static bool on_two_cores;

static void random_moves(const struct kernel_rig *like, uint64_t seed, int count,
                         int64_t elements, int way)
{
    for (int i = 0; i < count; i++) {
        struct tiling t = {.count = 1, .size = {way}};
        struct kernel_rig r = *like;
        struct segment segment[2];
        struct random_move m;
        char name[40];

        r.values = RIG_HARD;
        r.tiling = way < 0 ? NULL : &t;
        random_move_make(&m, seed + (uint64_t)i, elements, 1 + i % 3);
        snprintf(name, sizeof(name), "seed %d", (int)seed + i);
        m.body.name = name;
        set_orders(&r, &m);
        if (most_tiles(&m) < 400) {
            kernel_rig_open(&r, &m.body);
            if (on_two_cores)
                split_over_cores(&r, segment);
            kernel_rig_check(&r, 1);
            kernel_rig_close(&r);
        }
        random_move_free(&m);
    }
}

TEST(random_moves_the_cheapest_way)
{
    static const char *const chips[] = {"v3", "v2", "v5e", "v6e", "v7x"};

    for (int i = 0; i < 5; i++)
        random_moves(&(struct kernel_rig){.chip = chips[i], .operands_in_vmem = i == 1,
                                          .results_in_vmem = i == 2},
                     1000 * (uint64_t)(i + 1), 20, 20000, -1);
}

TEST(random_moves_the_general_way)
{
    random_moves(&(struct kernel_rig){.chip = "v3"}, 1000,
                 40, 700, 0);
    random_moves(&(struct kernel_rig){.chip = "v5e", .operands_in_vmem = 1,
                                      .results_in_vmem = 1}, 2000, 10, 700, 0);
    random_moves(&(struct kernel_rig){.chip = "v2", .vmem_rows = 300}, 3000, 10, 700, 0);
}

TEST(random_moves_shared_by_two_cores)
{
    on_two_cores = true;
    random_moves(&(struct kernel_rig){.chip = "v4"}, 7000, 15, 20000, -1);
    on_two_cores = false;
}

/* bytes in and out at the core's share of the memory bound it from below, twice that from above */
TEST(a_copy_to_another_layout_costs_its_bytes)
{
    static const int columns[] = {0, 1};
    struct kernel_rig r = {.chip = "v3", .result_order = {columns}};
    double least = 2.0 * 2048 * 4096 * 4 / 450e9 * 940e6;
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, "turned");
    graph_output(&g, graph_unary(&g, HLO_COPY, graph_parameter(
        &g, shape_make(DTYPE_F32, 2, (const int64_t[]){2048, 4096}), "x")), "y", -1);
    kernel_rig_open(&r, &g);
    assert_in_range(kernel_rig_time(&r), (int64_t)least, (int64_t)(2 * least));
    assert_in_range(r.segment.cost.total_cycles, (int64_t)least, (int64_t)(2 * least));
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* a row of the reference: 33708 divides by no tile, yet no path is slow */
TEST(sizes_that_nothing_divides_stay_fast)
{
    static const int order[] = {0, 1};
    int64_t bytes = (int64_t)33712 * 1024 * 4 + (int64_t)33792 * 1024 * 4;
    struct kernel_rig r = {.chip = "v3", .result_order = {order}};
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, "ragged");
    graph_output(&g, graph_unary(&g, HLO_COPY, graph_parameter(
        &g, shape_make(DTYPE_F32, 2, (const int64_t[]){33708, 1024}), "x")), "y", -1);
    kernel_rig_open(&r, &g);
    assert_in_range((int64_t)kernel_rig_time(&r), 0,
                    (int64_t)(1.2 * (double)bytes / 450e9 * 940e6));
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* padded along outer dimensions, in VMEM too small for a plane of the result */
static void pad_image(enum graph_dtype dtype)
{
    static const int order[] = {3, 0, 2, 1};
    static const int64_t low[] = {0, 2, 1, 0}, high[] = {0, 0, 3, 0}, interior[] = {0, 0, 0, 0};
    struct kernel_rig r = {.chip = "v3", .operand_order = {order}, .result_order = {order},
                           .vmem_rows = 1500};
    struct arena a;
    struct graph g;
    int x;

    arena_init(&a);
    graph_init(&g, &a, "pad");
    x = graph_parameter(&g, shape_make(dtype, 4, (const int64_t[]){33, 17, 20, 140}), "x");
    graph_output(&g, graph_pad(&g, x, graph_constant(&g, shape_scalar(dtype), -3), low, high,
                               interior), "y", -1);
    kernel_rig_open(&r, &g);
    assert_int_equal(r.segment.tiling.size[0], 1);              /* streamed */
    kernel_rig_check(&r, 5);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(padding_along_outer_dimensions_is_made_in_regions)
{
    pad_image(DTYPE_F32);
    pad_image(DTYPE_BF16);
    pad_image(DTYPE_S8);
}

/* f32 that a move has computed on its way lies in vector memory as it is: nothing is packed */
TEST(what_is_computed_and_turned_into_vector_memory_streams)
{
    static const int order[] = {0, 1};

    for (int i = 0; i < 2; i++) {
        struct kernel_rig r = {.chip = "v6e", .result_order = {order}, .results_in_vmem = 1};
        struct arena a;
        struct graph g;
        int x;

        arena_init(&a);
        graph_init(&g, &a, "widened");
        x = graph_parameter(&g, shape_make(i ? DTYPE_F32 : DTYPE_BF16, 2,
                                           (const int64_t[]){256, 384}), "x");
        graph_output(&g, graph_unary(&g, HLO_COPY,
                                     i ? graph_unary(&g, HLO_NEGATE, x)
                                       : graph_convert(&g, x, DTYPE_F32)), "y", -1);
        kernel_rig_open(&r, &g);
        assert_int_equal(r.segment.tiling.size[0], 1);          /* streamed */
        kernel_rig_check(&r, 5);
        kernel_rig_close(&r);
        graph_fini(&g);
        arena_fini(&a);
    }
}

TEST(random_moves_in_little_vmem)
{
    random_moves(&(struct kernel_rig){.chip = "v3", .vmem_rows = 700}, 9000, 20, 20000, -1);
}

/* a move of x, f32[rows, lanes]: the cycles that its kernel takes; its values are checked */
static int64_t cycles_of_move(int64_t rows, int64_t lanes, int (*move)(struct graph *g, int x))
{
    struct kernel_rig r = {.chip = "v5e"};
    struct arena a;
    struct graph g;
    int64_t cycles;
    int x;

    arena_init(&a);
    graph_init(&g, &a, "lanes");
    x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (const int64_t[]){rows, lanes}), "x");
    graph_output(&g, move(&g, x), "y", -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 4);
    cycles = (int64_t)kernel_rig_time(&r);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
    return cycles;
}

static int reverse_lanes(struct graph *g, int x)
{
    return graph_reverse(g, x, (const int[]){1}, 1);
}

static int third_lanes(struct graph *g, int x)
{
    return graph_slice(g, x, (const int64_t[]){0, 2}, (const int64_t[]){600, 700},
                       (const int64_t[]){1, 3});
}

static int spread_lanes(struct graph *g, int x)
{
    return graph_pad(g, x, graph_constant(g, shape_scalar(DTYPE_F32), 7),
                     (const int64_t[]){0, 1}, (const int64_t[]){0, 2}, (const int64_t[]){0, 1});
}

/* A word moved by scalar arithmetic takes some hundred cycles; these are 420,000 and more. */
TEST(lanes_in_another_order_or_distance_are_permuted)
{
    assert_in_range(cycles_of_move(600, 700, reverse_lanes), 0, 40000);
    assert_in_range(cycles_of_move(600, 700, third_lanes), 0, 40000);
    assert_in_range(cycles_of_move(600, 700, spread_lanes), 0, 40000);
}

/* e^(x / 4) of [3,20,5,70], rounded to bf16 where x is, with two dimensions exchanged */
static int worked_and_turned(struct graph *g, enum graph_dtype dtype)
{
    int x = graph_parameter(g, shape_make(dtype, 4, (const int64_t[]){3, 20, 5, 70}), "x");
    int quarter = graph_constant(g, shape_scalar(DTYPE_F32), 0.25), y;
    struct shape all = g->node[x].shape;

    all.dtype = DTYPE_F32;
    y = graph_binary(g, HLO_MULTIPLY, dtype == DTYPE_F32 ? x : graph_convert(g, x, DTYPE_F32),
                     graph_broadcast(g, quarter, all, NULL));
    y = graph_unary(g, HLO_EXP, y);
    y = dtype == DTYPE_F32 ? y : graph_convert(g, y, dtype);
    return graph_transpose(g, y, (const int[]){0, 2, 1, 3});
}

TEST(work_on_an_operand_is_done_as_it_is_unpacked)
{
    static const char *const chips[] = {"v3", "v5e", "v7x"};

    for (int i = 0; i < 12; i++) {
        struct tiling t = {.count = 1, .size = {i % 2}};        /* the general way, and streamed */
        struct kernel_rig r = {.chip = chips[i / 4], .tiling = &t, .ulp = 8};
        struct arena a;
        struct graph g;

        arena_init(&a);
        graph_init(&g, &a, "worked");
        graph_output(&g, worked_and_turned(&g, i / 2 % 2 ? DTYPE_BF16 : DTYPE_F32), "y", -1);
        kernel_rig_open(&r, &g);
        kernel_rig_check(&r, 3);
        kernel_rig_close(&r);
        graph_fini(&g);
        arena_fini(&a);
    }
}

static int heads_of(struct graph *g, int x)
{
    return graph_reshape(g, x, shape_make(DTYPE_F32, 5, (const int64_t[]){7, 33, 3, 1, 16}));
}

/* a box of five dimensions, of which three lie one behind the other in memory */
TEST(outer_dimensions_that_follow_on_each_other_are_one)
{
    assert_in_range(cycles_of_move(231, 48, heads_of), 0, 20000);
}

/* halves of rows of lanes that change places between two images, [h, w, 2 n, 2 x 64] */
static int halves_of_lanes(struct graph *g, enum graph_dtype dtype, int64_t n)
{
    int x = graph_parameter(g, shape_make(dtype, 4, (const int64_t[]){4, 14, 2 * n, 128}), "x");

    x = graph_reshape(g, x, shape_make(dtype, 6, (const int64_t[]){4, 14, 2, n, 2, 64}));
    x = graph_transpose(g, x, (const int[]){0, 1, 4, 3, 2, 5});
    return graph_reshape(g, x, shape_make(dtype, 4, (const int64_t[]){4, 28, n, 128}));
}

/* as bytes that are copied in and out: nothing is unpacked where rows of a word stay together */
TEST(rows_of_a_word_move_together)
{
    static const enum graph_dtype dtype[] = {DTYPE_BF16, DTYPE_S8, DTYPE_BF16, DTYPE_S8};
    static const int64_t rows[] = {64, 64, 9, 18};

    for (int i = 0; i < 4; i++) {
        struct kernel_rig r = {.chip = "v3", .values = RIG_HARD};
        struct arena a;
        struct graph g;

        arena_init(&a);
        graph_init(&g, &a, "halves");
        graph_output(&g, halves_of_lanes(&g, dtype[i], rows[i]), "y", -1);
        kernel_rig_open(&r, &g);
        kernel_rig_check(&r, 6);
        if (i < 2)
            assert_true((double)kernel_rig_time(&r) <
                        1.5 * 2 * (double)array_payload_bytes(&r.operand[0]) / 450e9 * 940e6 +
                        5000);
        kernel_rig_close(&r);
        graph_fini(&g);
        arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_moves_the_general_way),
        cmocka_unit_test(random_moves_the_cheapest_way),
        cmocka_unit_test(random_moves_shared_by_two_cores),
        cmocka_unit_test(what_is_computed_and_turned_into_vector_memory_streams),
        cmocka_unit_test(random_moves_in_little_vmem),
        cmocka_unit_test(padding_along_outer_dimensions_is_made_in_regions),
        cmocka_unit_test(a_copy_to_another_layout_costs_its_bytes),
        cmocka_unit_test(sizes_that_nothing_divides_stay_fast),
        cmocka_unit_test(work_on_an_operand_is_done_as_it_is_unpacked),
        cmocka_unit_test(outer_dimensions_that_follow_on_each_other_are_one),
        cmocka_unit_test(lanes_in_another_order_or_distance_are_permuted),
        cmocka_unit_test(rows_of_a_word_move_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
