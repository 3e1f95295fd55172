/*
 * Input and kernel of a convolution made in their windows (stack/kernels/conv/conv_make.c): does it
 * compute what the interpreter does, with borders, in many steps, as a result too; and is what it cannot
 * make refused by name?
 */
#include "tests/test.h"

#include "tests/rigs/conv_rig.h"

enum part { INPUT, KERNEL, BOTH };

struct made {
    enum part part;
    bool is_result;                     /* the input goes out, too */
    int rate;                           /* what is added: zeros become something else */
    bool is_dense;                      /* whole tiles, units of 128: all that is read was written */
};

/* min(max(x * scale + second + rate, -8), 8), with scale along `lane`, in the type of x */
static int make(struct graph *g, int x, int lane, int rate)
{
    struct shape own = g->node[x].shape, wide = own;
    struct shape vector = shape_make(DTYPE_F32, 1, &wide.dim[lane]);
    int y = graph_convert(g, x, DTYPE_F32);

    wide.dtype = DTYPE_F32;
    y = graph_binary(g, HLO_MULTIPLY, y,
                     graph_broadcast(g, graph_parameter(g, vector, "scale"), wide, &lane));
    y = graph_binary(g, HLO_ADD, y, graph_convert(g, graph_parameter(g, own, "second"), DTYPE_F32));
    y = graph_binary(g, HLO_ADD, y, graph_splat(g, y, rate));
    y = graph_binary(g, HLO_MAXIMUM, y, graph_splat(g, y, -8));
    y = graph_binary(g, HLO_MINIMUM, y, graph_splat(g, y, 8));
    return own.dtype == DTYPE_F32 ? y : graph_convert(g, y, own.dtype);
}

/* input, kernel or both made, convolved; y: doubled */
static int build(struct graph *g, const struct conv_case *c, const struct conv_layouts *l,
                 const struct made *m)
{
    int x = graph_parameter(g, c->lhs, "x"), w = graph_parameter(g, c->rhs, "w"), conv, y = x;

    if (m->part != KERNEL)
        y = make(g, x, l->lhs[0], m->rate);
    if (m->part != INPUT)
        w = make(g, w, l->rhs[0], m->rate);
    conv = graph_convolution(g, y, w, c->window, &c->conv, c->result, PRECISION_DEFAULT);
    graph_output(g, graph_binary(g, HLO_ADD, conv, conv), "y", -1);
    if (m->is_result)
        graph_output(g, y, "made", -1);
    return conv;
}

static void check(const char *chip, const char *text, int64_t vmem_rows, struct made m)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .checks_accesses = m.is_dense,
                           .codegen = CODEGEN_BEST};
    struct conv_case c;
    struct conv_layouts l;
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, text);
    conv_case_parse(&c, text);
    conv_layouts(&g, conv_case_graph(&c, &g), NULL, &l);
    graph_fini(&g);
    graph_init(&g, &a, text);
    build(&g, &c, &l, &m);
    r.operand_order[0] = r.operand_order[3] = r.result_order[1] = l.lhs;
    r.operand_order[1] = l.rhs;
    r.operand_order[m.part == BOTH ? 5 : 3] = m.part == INPUT ? l.lhs : l.rhs;
    r.result_order[0] = l.result;
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 3);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

static const char *const chips[] = {"v3", "v5e", "v6e", "v7x", "v4"};

static const char *const whole[] = {
    "b01f_01io->b01f 16x6x6x20 3x3x20x150 pad=1_1x1_1 bf16 out=bf16",
    "b01f_01io->b01f 32x5x7x200 1x1x200x300 bf16 out=bf16",
    "b01f_01io->b01f 13x6x6x40 3x3x40x30 pad=1_1x1_1",
    "b01f_01io->b01f 16x9x8x130 5x3x130x20 pad=2_2x1_1 bf16",
    "b01f_01io->b01f 16x6x6x20 1x2x20x30 pad=0_0x1_1 lhs_dilate=1x2 bf16",
    "b01f_01io->b01f 16x6x8x140 1x2x140x40 stride=1x2 bf16 out=bf16",
    "b01f_01io->b01f 16x6x8x40 3x4x40x40 pad=1_1x1_1 stride=1x2 bf16"};

static const char *const parts[] = {
    "b01f_01io->b01f 16x9x9x40 3x3x40x30 pad=1_1x1_1 stride=2x2 bf16 out=bf16",
    "b01f_01io->b01f 20x6x6x20 3x3x20x30 pad=2_1x-1_1 bf16",
    "b01f_01io->b01f 3x6x28x20 3x3x20x150 pad=1_1x1_1 bf16",
    "b01f_01io->b01f 25x6x6x130 3x3x130x140 bf16 out=bf16",
    "b01f_01oi->b01f 16x4x4x20 3x3x150x20 pad=1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x1 bf16",
    "b01f_01io->b01f 9x6x6x16 3x3x4x16 pad=1_1x1_1 fgc=4 bf16",
    "f01b_i01o->01bf 40x6x6x20 40x6x6x30 pad=1_1x1_1 bf16",
    "b01f_01io->b01f 64x9x9x3 4x4x3x16 bf16"};

/* two chips for each convolution, in turn; all of them in a long run */
static void check_on_chips(const char *text, size_t index, struct made m)
{
    for (size_t k = 0; k < COUNT_OF(chips); k++)
        if (test_is_long() || (index + k) % COUNT_OF(chips) < 2)
            check(chips[k], text, 0, m);
}

TEST(inputs_are_made_where_they_are_read)
{
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        check_on_chips(whole[i], i, (struct made){INPUT, false, 3, false});
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        check_on_chips(parts[i], i, (struct made){INPUT, false, 3, false});
}

/* forwards, and as gradients by kernel have them, whose kernel is an image */
TEST(kernels_are_made_where_they_are_read)
{
    for (int part = KERNEL; part <= BOTH; part++) {
        struct made m = {(enum part)part, false, 3, false};

        for (size_t i = 0; i < COUNT_OF(parts); i++)
            check_on_chips(parts[i], i + 1, m);
        for (int k = 0; k < 4; k++) {
            check(chips[k], "f01b_i01o->01bf 140x16x14x40 140x16x14x30 pad=1_1x1_1 bf16", 0, m);
            check(chips[k], "f01b_i01o->01bf 128x19x18x12 128x16x16x140 bf16", 2 * 6000, m);
        }
    }
}

TEST(inputs_that_are_made_may_be_results_too)
{
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        check_on_chips(whole[i], i + 2, (struct made){INPUT, true, 3, false});
}

/* many steps: boxes with borders of their own, of some features, that come while others are read */
TEST(inputs_are_made_box_by_box)
{
    for (int64_t kib = 3200; kib <= 5600; kib += 1200)
        for (int k = 0; k < 4; k++) {
            if (!test_is_long() && (kib / 1200 + k) % 2 != 0)
                continue;
            check(chips[k], "b01f_01io->b01f 32x20x19x130 3x3x130x100 pad=1_1x1_1 bf16 out=bf16",
                  2 * kib, (struct made){INPUT, true, 3, false});
            check(chips[k], "b01f_01io->b01f 48x16x16x260 1x1x260x300 bf16 out=bf16",
                  2 * kib, (struct made){INPUT, true, 3, false});
            check(chips[k], "b01f_01io->b01f 32x16x16x128 3x3x128x128 pad=1_1x1_1 bf16 out=bf16",
                  2 * kib, (struct made){INPUT, true, 3, k < 2});
            check(chips[k], "b01f_01io->b01f 32x16x16x256 1x1x256x128 bf16 out=bf16",
                  2 * kib, (struct made){INPUT, true, 3, k < 2});
            check(chips[k], "b01f_01io->b01f 48x19x16x140 3x3x140x30 pad=1_1x1_1 stride=2x1 bf16",
                  2 * kib, (struct made){INPUT, false, -2, false});
        }
}

static void refuse(const char *text, struct made m, const char *part)
{
    struct kernel_rig r = {.chip = "v3", .may_refuse = true};
    struct conv_case c;
    struct conv_layouts l;
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, text);
    conv_case_parse(&c, text);
    conv_layouts(&g, conv_case_graph(&c, &g), NULL, &l);
    graph_fini(&g);
    graph_init(&g, &a, text);
    build(&g, &c, &l, &m);
    r.operand_order[0] = r.operand_order[3] = r.result_order[1] = l.lhs;
    r.operand_order[1] = l.rhs;
    r.operand_order[m.part == BOTH ? 5 : 3] = m.part == INPUT ? l.lhs : l.rhs;
    r.result_order[0] = l.result;
    kernel_rig_open(&r, &g);
    if (!strstr(r.refusal, part))
        fail_msg("%s: refused with \"%s\"", text, r.refusal);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(inputs_that_no_window_holds_once_are_refused_as_results)
{
    refuse("b01f_01io->b01f 16x9x9x40 3x3x40x30 pad=1_1x1_1 stride=2x2 bf16",
           (struct made){INPUT, true, 3, false}, "moves over all of it");
    refuse("b01f_01io->b01f 16x6x6x256 3x3x1x256 pad=1_1x1_1 fgc=256 bf16",
           (struct made){INPUT, false, 3, false}, "depthwise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_made_where_they_are_read),
        cmocka_unit_test(kernels_are_made_where_they_are_read),
        cmocka_unit_test(inputs_that_are_made_may_be_results_too),
        cmocka_unit_test(inputs_are_made_box_by_box),
        cmocka_unit_test(inputs_that_no_window_holds_once_are_refused_as_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
