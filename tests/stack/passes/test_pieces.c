/*
 * Operations in pieces (stack/passes/pieces/pieces.h) against the whole ones, by the interpreter: each
 * dimension cut by itself, all of them at once, and plainer forms; sorts over blocks.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/interp/interp.h"
#include "stack/passes/pieces/pieces.h"
#include "tests/rigs/conv_rig.h"
#include "tests/test.h"

struct whole {
    struct arena a;
    struct graph g;                     /* parameters, then the operation */
    int node;
};

static void begin(struct whole *w)
{
    arena_init(&w->a);
    graph_init(&w->g, &w->a, "whole");
}

static void end(struct whole *w)
{
    graph_fini(&w->g);
    arena_fini(&w->a);
}

static int parameter(struct whole *w, enum graph_dtype type, int rank, const int64_t *dim)
{
    return graph_parameter(&w->g, shape_make(type, rank, dim),
                           arena_printf(&w->a, "operand.%d", w->g.parameter_count));
}

/* whole numbers of which no sum is rounded; indices of few rows */
static const float *run(struct whole *w, struct graph *g)
{
    struct interp_value input[4], output;
    struct rng r;
    struct err e;

    rng_init(&r, 7);
    for (int i = 0; i < g->parameter_count; i++) {
        const struct shape *s = &g->node[g->parameter[i]].shape;
        float *x = arena_array(&w->a, (size_t)shape_elems(s), sizeof(*x));

        for (int64_t k = 0; k < shape_elems(s); k++)
            if (s->dtype == DTYPE_S32)
                ((int32_t *)x)[k] = (int32_t)rng_below(&r, 5);
            else
                x[k] = (float)rng_below(&r, 5) - 2;
        input[i].data = x;
    }
    if (graph_verify(g, &e) || interp_run(g, INTERP_DOT_F32, input, &output, &w->a, &e))
        fail_msg("%s", e.msg);
    return output.data;
}

/* the same parameters, and `made` of them in place of the operation */
static void compare(struct whole *w, const float *want, struct graph *g, int made)
{
    int64_t count = shape_elems(&w->g.node[w->node].shape);
    const float *got;

    assert_true(shape_equal(&g->node[made].shape, &w->g.node[w->node].shape));
    graph_output(g, made, "pieces", -1);
    got = run(w, g);
    for (int64_t i = 0; i < count; i++)
        if (got[i] != want[i])
            fail_msg("%s: element %lld is %g instead of %g", graph_op_name(w->g.node[w->node].op),
                     (long long)i, (double)got[i], (double)want[i]);
    graph_fini(g);
}

static void copy_parameters(struct whole *w, struct graph *g)
{
    graph_init(g, &w->a, "pieces");
    for (int i = 0; i < w->g.parameter_count; i++)
        graph_parameter(g, w->g.node[w->g.parameter[i]].shape,
                        arena_printf(&w->a, "operand.%d", i));
}

static const float *whole_value(struct whole *w)
{
    const float *value;
    struct graph g;

    graph_copy(&w->g, &w->a, &g);
    graph_output(&g, w->node, "whole", -1);
    value = run(w, &g);
    graph_fini(&g);
    return value;
}

static void check_sizes(struct whole *w, const float *want, const struct pieces *p,
                        const int64_t *size)
{
    struct graph g;

    copy_parameters(w, &g);
    compare(w, want, &g, pieces_join(&g, &w->g.node[w->node], p, size));
}

static void check(struct whole *w)
{
    const float *want = whole_value(w);
    int64_t all[PIECE_DIMS_MAX], size[PIECE_DIMS_MAX], cuts = 0;
    struct pieces p;

    assert_true(pieces_of(&w->g, &w->g.node[w->node], &p));
    for (int d = 0; d < p.count; d++)
        all[d] = p.dim[d].extent;
    for (int d = 0; d < p.count; d++) {
        memcpy(size, all, sizeof(size));
        size[d] = div_up(all[d], 2);
        if (size[d] == all[d])
            continue;
        cuts++;
        check_sizes(w, want, &p, size);
        size[d] = 1;
        check_sizes(w, want, &p, size);
    }
    assert_true(cuts > 0);
    for (int d = 0; d < p.count; d++)
        size[d] = div_up(all[d], 2);
    check_sizes(w, want, &p, size);
    end(w);
}

static void begin_convolution(struct whole *w, const char *text)
{
    struct conv_case c;

    begin(w);
    conv_case_parse(&c, text);
    w->node = conv_case_graph(&c, &w->g);
}

TEST(pieces_of_a_convolution_are_the_whole)
{
    static const char *const text[] = {
        "b01f_01io->b01f 3x5x6x5 3x3x5x7 pad=1_1x1_1",
        "b01f_01io->b01f 2x8x7x3 3x2x3x4 pad=1_2x0_1 stride=2x3 bf16 out=bf16",
        "b01f_01oi->b01f 2x4x5x3 3x3x2x3 pad=1_2x2_1 lhs_dilate=2x3 rhs_reversal=1x1",
        "b01f_01io->b01f 2x4x5x3 3x2x3x5 pad=1_2x2_1 lhs_dilate=3x2 rhs_dilate=1x3 stride=2x1",
        "f01b_i01o->01bf 4x8x8x5 4x8x8x7 pad=1_1x-1_1",
        "b01f_01io->b01f 3x5x5x8 3x3x2x12 pad=1_1x1_1 fgc=4",
        "b01f_01io->b01f 6x5x4x3 3x3x3x9 pad=1_0x1_1 bgc=3",
        "b012f_012io->b012f 2x3x4x5x2 2x2x3x2x3 pad=1_0x0_1x1_1", "bf_io->bf 10x4 4x3"};

    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct whole w;

        begin_convolution(&w, text[i]);
        check(&w);
    }
}

TEST(plainer_convolutions_are_the_same)
{
    static const struct { const char *text; bool is_last; } forms[] = {
        {"b01f_01io->b01f 8x3x4x3 3x2x3x96 pad=1_0x1_1 bgc=2", false},      /* 48 of 128 columns */
        {"b01f_01io->b01f 4x3x4x3 3x2x3x300 bgc=2", false},     /* 150 */
        {"b01f_01io->b01f 2x3x1x3 4x1x3x5 pad=1_2x0_0 lhs_dilate=40x1", false},
        {"b01f_01oi->b01f 2x4x5x3 3x3x2x3 pad=1_2x2_1 lhs_dilate=2x3 rhs_reversal=1x1", true}};

    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const float *want;
        struct graph g;
        struct whole w;
        int made;

        begin_convolution(&w, forms[i].text);
        want = whole_value(&w);
        copy_parameters(&w, &g);
        made = pieces_plain_form(&g, &w.g.node[w.node], forms[i].is_last);
        if (i == 0) {
            assert_int_equal(made, NODE_NONE);
            graph_fini(&g);
        } else {
            assert_int_not_equal(made, NODE_NONE);
            compare(&w, want, &g, made);
        }
        end(&w);
    }
}

TEST(pieces_of_a_product_are_the_whole)
{
    const struct graph_dot dots[] = {
        {.batch_count = 1, .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {1}},
        {.batch_count = 1, .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {1},
         .has_order = 1, .order = {2, 0, 1}},
        {.batch_count = 0, .contract_count = 2, .lhs_contract = {0, 2}, .rhs_contract = {0, 1}}};

    for (size_t i = 0; i < COUNT_OF(dots); i++) {
        struct whole w;
        int x, y;

        begin(&w);
        x = parameter(&w, DTYPE_BF16, 3, (const int64_t[]){3, 5, 7});
        y = parameter(&w, DTYPE_BF16, 3, (const int64_t[]){3, 7, 4});
        w.node = graph_dot_general(&w.g, x, y, &dots[i], DTYPE_BF16, PRECISION_DEFAULT);
        check(&w);
    }
}

static void check_window(enum graph_reduce kind, bool is_gradient)
{
    const struct graph_window plain = {1, 1, 0, 0, 1, 1, false};
    const struct graph_window w3 = {3, 2, 1, 1, 1, 1, false}, w2 = {2, 2, 0, 1, 1, 1, false};
    const struct graph_window window[] = {plain, w3, w2, plain};
    struct whole w;
    int x;

    begin(&w);
    x = parameter(&w, DTYPE_F32, 4, (const int64_t[]){3, 9, 7, 5});
    if (is_gradient)
        w.node = graph_select_and_scatter(&w.g, COMPARE_GE, x,
                                          parameter(&w, DTYPE_F32, 4,
                                                    (const int64_t[]){3, 5, 4, 5}), window);
    else
        w.node = graph_reduce_window(&w.g, kind, x, window);
    check(&w);
}

/* overlapping, apart, beside the array; sums of sources that are rounded, whose order shows */
TEST(pieces_of_drawn_selections_are_the_whole)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        int64_t size[4], places[4];
        struct graph_window window[4];
        struct whole w;
        struct rng r;
        int x;

        rng_init(&r, seed);
        for (int d = 0; d < 4; d++) {
            struct graph_window *v = &window[d];

            size[d] = 2 + rng_below(&r, 7);
            *v = (struct graph_window){1, 1, 0, 0, 1, 1, false};
            if (d % 3) {
                v->size = 1 + rng_below(&r, 4);
                v->stride = 1 + rng_below(&r, 4);
                v->pad_low = rng_below(&r, (uint32_t)v->size);
                v->pad_high = rng_below(&r, (uint32_t)v->size) +
                              (size[d] + v->pad_low < v->size ? v->size : 0);
            }
            places[d] = (size[d] + v->pad_low + v->pad_high - v->size) / v->stride + 1;
        }
        begin(&w);
        x = parameter(&w, seed % 2 ? DTYPE_F32 : DTYPE_BF16, 4, size);
        w.node = graph_select_and_scatter(&w.g, seed % 3 ? COMPARE_GE : COMPARE_LE, x,
                                          parameter(&w, w.g.node[x].shape.dtype, 4, places),
                                          window);
        check(&w);
    }
}

TEST(pieces_of_windows_are_the_whole)
{
    check_window(REDUCE_MAX, false);
    check_window(REDUCE_ADD, false);
    check_window(REDUCE_ADD, true);
}

TEST(pieces_of_reductions_are_the_whole)
{
    static const enum graph_reduce kinds[] = {REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct whole w;

        begin(&w);
        w.node = graph_reduce(&w.g, kinds[i], parameter(&w, DTYPE_F32, 4,
                                                        (const int64_t[]){4, 3, 6, 5}), 5);
        check(&w);
    }
}

TEST(pieces_of_what_goes_element_by_element_are_the_whole)
{
    static const int order[] = {2, 0, 1}, dims[] = {0, 2};
    const int64_t size[] = {3, 4, 5};
    struct whole w;
    int x;

    begin(&w);
    x = parameter(&w, DTYPE_F32, 3, size);
    w.node = graph_binary(&w.g, HLO_ADD, x, parameter(&w, DTYPE_F32, 3, size));
    check(&w);
    begin(&w);
    w.node = graph_transpose(&w.g, parameter(&w, DTYPE_F32, 3, size), order);
    check(&w);
    begin(&w);
    x = parameter(&w, DTYPE_F32, 3, size);
    w.node = graph_sort(&w.g, &x, 1, 1, COMPARE_LT);
    check(&w);
    begin(&w);
    w.node = graph_broadcast(&w.g, parameter(&w, DTYPE_F32, 2, (const int64_t[]){3, 5}),
                             shape_make(DTYPE_F32, 3, size), dims);
    check(&w);
}

TEST(pieces_of_a_gather_are_the_whole)
{
    const struct graph_gather rows = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                                      .collapsed_dims = {0}, .map_count = 1,
                                      .index_vector_dim = 1, .slice_sizes = {1, 6}};
    struct graph_gather elements = rows;
    struct whole w;
    int table, indices;

    elements.slice_sizes[1] = 1;
    begin(&w);
    table = parameter(&w, DTYPE_F32, 2, (const int64_t[]){9, 6});
    indices = parameter(&w, DTYPE_S32, 1, (const int64_t[]){7});
    w.node = graph_gather(&w.g, table, indices, &rows);
    check(&w);
    begin(&w);                          /* by indices, where slices are of one element */
    table = parameter(&w, DTYPE_F32, 2, (const int64_t[]){9, 1});
    indices = parameter(&w, DTYPE_S32, 1, (const int64_t[]){7});
    w.node = graph_gather(&w.g, table, indices, &elements);
    check(&w);
}

TEST(pieces_of_a_scatter_are_the_whole)
{
    const struct graph_gather rows = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                                      .collapsed_dims = {0}, .map_count = 1,
                                      .index_vector_dim = 1};
    struct whole w;
    int table, indices;

    begin(&w);
    table = parameter(&w, DTYPE_F32, 2, (const int64_t[]){9, 6});
    indices = parameter(&w, DTYPE_S32, 1, (const int64_t[]){7});
    w.node = graph_scatter(&w.g, REDUCE_ADD, table, indices,
                           parameter(&w, DTYPE_F32, 2, (const int64_t[]){7, 6}), &rows);
    check(&w);
}

/* few values, and of floats zeros of both signs and NaN, too: what is equal keeps its order */
static uint32_t *draw_values(struct whole *w, enum graph_dtype type, int64_t count, struct rng *r)
{
    static const uint32_t floats[] = {0, 0x80000000u, 0x7fc00000u, 0x3f800000u, 0xbf800000u,
                                      0x7f800000u, 0xff800000u, 0x40490000u};
    uint32_t *x = arena_array(&w->a, (size_t)count, sizeof(*x));

    for (int64_t i = 0; i < count; i++)
        switch (type) {
        case DTYPE_F32: case DTYPE_BF16: x[i] = floats[rng_below(r, COUNT_OF(floats))]; break;
        case DTYPE_PRED: x[i] = rng_below(r, 2); break;
        case DTYPE_U32: x[i] = rng_below(r, 4) << 30; break;
        case DTYPE_U8: x[i] = rng_below(r, 9) * 30; break;
        default: x[i] = rng_below(r, 9) - 4; break;
        }
    return x;
}

static void check_long_sort(enum graph_dtype type, int arrays, int64_t k, enum graph_compare way,
                            uint64_t seed)
{
    const int64_t size[3] = {2, 3, 40 + 700 * (int64_t)(seed % 3)};
    int dim = k ? 2 : (int)(seed % 3), list[3], results[3], sorted, count = k ? 2 : arrays;
    struct interp_value input[3], want[3], got[3];
    struct whole w;
    struct graph g;
    struct rng r;
    struct err e;

    begin(&w);
    rng_init(&r, seed);
    for (int i = 0; i < arrays; i++) {
        enum graph_dtype t = i ? DTYPE_S32 : type;

        list[i] = parameter(&w, t, 3, (const int64_t[]){size[(5 - dim) % 3], size[(6 - dim) % 3],
                                                        size[(7 - dim) % 3]});
        input[i].data = draw_values(&w, t, size[0] * size[1] * size[2], &r);
    }
    copy_parameters(&w, &g);
    sorted = k ? graph_top_k(&w.g, list[0], k) : graph_sort(&w.g, list, arrays, dim, way);
    for (int i = 0; i < count; i++)
        graph_output(&w.g, count > 1 ? graph_tuple_element(&w.g, sorted, i) : sorted,
                     arena_printf(&w.a, "whole.%d", i), -1);
    assert_int_equal(pieces_sort(&g, &w.g.node[sorted], 16, results), count);
    for (int i = 0; i < count; i++)
        graph_output(&g, results[i], arena_printf(&w.a, "blocks.%d", i), -1);
    if (graph_verify(&g, &e) || interp_run(&w.g, INTERP_DOT_F32, input, want, &w.a, &e) ||
        interp_run(&g, INTERP_DOT_F32, input, got, &w.a, &e))
        fail_msg("%s", e.msg);
    for (int i = 0; i < count; i++) {
        const struct shape *s = &g.node[results[i]].shape;

        assert_true(shape_equal(s, &w.g.node[w.g.output[i].node].shape));
        if (memcmp(got[i].data, want[i].data, (size_t)shape_elems(s) * 4) != 0)
            fail_msg("%s of %s, seed %d: result %d differs", k ? "top-k" : "sort",
                     graph_dtype_name(type), (int)seed, i);
    }
    graph_fini(&g);
    end(&w);
}

TEST(long_sorts_are_exact_and_stable)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_U32, DTYPE_S8,
                                             DTYPE_U8};

    for (size_t i = 0; i < COUNT_OF(types); i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_long_sort(types[i], 1, 0, COMPARE_LT, seed);
            check_long_sort(types[i], 3, 0, COMPARE_GT, seed);
            check_long_sort(types[i], 2, 0, COMPARE_LT, seed + 3);
            check_long_sort(types[i], 1, 1 + (int64_t)seed * 19, COMPARE_GT, seed);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_a_convolution_are_the_whole),
        cmocka_unit_test(plainer_convolutions_are_the_same),
        cmocka_unit_test(pieces_of_a_product_are_the_whole),
        cmocka_unit_test(pieces_of_windows_are_the_whole),
        cmocka_unit_test(pieces_of_reductions_are_the_whole),
        cmocka_unit_test(pieces_of_what_goes_element_by_element_are_the_whole),
        cmocka_unit_test(pieces_of_drawn_selections_are_the_whole),
        cmocka_unit_test(pieces_of_a_gather_are_the_whole),
        cmocka_unit_test(pieces_of_a_scatter_are_the_whole),
        cmocka_unit_test(long_sorts_are_exact_and_stable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
