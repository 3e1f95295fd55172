/* Measured rows: are programs rebuilt with the arrays and FLOPs that the rows tell? */
#include "tests/test.h"

#include "base/csv.h"
#include "base/units.h"
#include "cli/hardware/hardware.h"

#include <math.h>
#include <stdlib.h>

static struct arena arena;

static struct graph *rebuild(const char *hlo, const char *category, double flops,
                             const char **why_not)
{
    struct graph *g = hardware_rebuild(hlo, category, flops, 0, &arena, why_not);
    struct err e;

    if (g)
        assert_int_equal(graph_verify(g, &e), 0);
    return g;
}

static const struct graph_node *only(const struct graph *g, enum graph_op op)
{
    const struct graph_node *found = NULL;

    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op == op) {
            assert_null(found);
            found = &g->node[i];
        }
    assert_non_null(found);
    return found;
}

static void assert_result(const struct graph *g, int output, const char *shape)
{
    char text[64];

    assert_true(output < g->output_count);
    shape_print(&g->node[g->output[output].node].shape, text, sizeof(text));
    assert_string_equal(text, shape);
}

/* [24,96] x [96,40]: the contracted dimension is the one that the result lacks */
static void product_with_epilogue(void **state)
{
    const char *why;
    struct graph *g = rebuild(
        "%fusion.1 = (bf16[40]{0:T(256)(128)(2,1)}, bf16[24,40]{1,0:T(8,128)(2,1)}) fusion("
        "f32[24,96]{1,0:T(8,128)} %a.1, bf16[96,40]{1,0:T(8,128)(2,1)} %b.2, "
        "/*index=2*/f32[24,40]{1,0:T(8,128)} %c), kind=kOutput, calls=%f.1",
        "convolution fusion", 2.0 * 24 * 96 * 40 + 24 * 40, &why);
    const struct graph_node *dot;

    (void)state;
    assert_non_null(g);
    dot = only(g, HLO_DOT);
    assert_int_equal(dot->dot.contract_count, 1);
    assert_int_equal(dot->dot.lhs_contract[0], 1);
    assert_int_equal(dot->dot.rhs_contract[0], 0);
    assert_int_equal(g->parameter_count, 3);
    assert_int_equal(g->output_count, 1);       /* the sums of 80 bytes are left out */
    assert_result(g, 0, "bf16[24,40]");
}

/* batches, and layouts: dimensions as they lie in memory */
static void batched_product(void **state)
{
    const char *why;
    struct graph *g = rebuild(
        "%fusion.2 = bf16[6,4,32,48]{2,3,1,0:T(8,128)(2,1)} fusion("
        "bf16[6,32,4,16]{1,3,2,0:T(8,128)(2,1)} %q, bf16[6,48,4,16]{1,3,2,0:T(8,128)(2,1)} %k), "
        "kind=kOutput, calls=%f", "convolution fusion", 2.0 * 6 * 4 * 32 * 48 * 16, &why);
    const struct graph_node *dot;

    (void)state;
    assert_non_null(g);
    dot = only(g, HLO_DOT);
    assert_int_equal(dot->dot.batch_count, 2);
    assert_int_equal(dot->dot.contract_count, 1);
    assert_true(g->node[dot->operand[0]].shape.dim[dot->dot.lhs_contract[0]] == 16);
    only(g, HLO_TRANSPOSE);
    assert_result(g, 0, "bf16[6,4,48,32]");
}

/* sizes leave a choice: which of the two 16 is contracted, and which is which in the result */
/* of three arrays of equal sizes the bf16 ones are multiplied, and f32 is what they are added to */
static void product_added_to_a_sum(void **state)
{
    const char *why = NULL;
    struct graph *g = rebuild(
        "%f = f32[64,27,64]{2,1,0} fusion(f32[64,27,64]{2,1,0} %sum, bf16[64,27,27]{2,1,0} %a, "
        "bf16[64,27,64]{2,0,1} %b), kind=kOutput", "convolution fusion",
        2.0 * 64 * 27 * 27 * 64 + 64 * 27 * 64, &why);
    const struct graph_node *dot;

    (void)state;
    assert_null(why);
    dot = only(g, HLO_DOT);
    for (int k = 0; k < 2; k++)
        assert_int_equal(g->node[dot->operand[k]].op, HLO_PARAMETER);
    assert_int_equal(dot->dot.rhs_batch[0], 1);
}

/* features that interact: the only array but for a mask */
static void product_of_one_array(void **state)
{
    const char *why = NULL;
    struct graph *g = rebuild(
        "%f = bf16[64,27,27]{2,1,0} fusion(pred[64,27,27]{2,1,0} %mask, bf16[64,27,128]{2,1,0} "
        "%x), kind=kOutput", "convolution fusion", 2.0 * 64 * 27 * 27 * 128 + 64 * 27 * 27, &why);
    const struct graph_node *dot;

    (void)state;
    assert_null(why);
    dot = only(g, HLO_DOT);
    assert_int_equal(dot->operand[0], dot->operand[1]);
}

static void product_of_heads(void **state)
{
    const char *why;
    struct graph *g = rebuild(
        "%fusion.4 = bf16[16,64,256]{2,1,0} fusion(bf16[16,16,64,32]{3,2,1,0} %dy, "
        "bf16[16,32,256]{2,1,0} %x), kind=kOutput, calls=%f",
        "convolution fusion", 2.0 * 16 * 16 * 64 * 32 * 256, &why);
    const struct graph_node *dot, *turn;

    (void)state;
    assert_non_null(g);
    dot = only(g, HLO_DOT);
    assert_int_equal(dot->dot.contract_count, 2);
    assert_int_equal(dot->dot.lhs_contract[0], 0);
    assert_int_equal(dot->dot.lhs_contract[1], 3);
    assert_result(g, 0, "bf16[16,64,256]");
    g = rebuild("%fusion.5 = bf16[16,16,64,256]{3,2,1,0} fusion(bf16[16,64,128]{2,1,0} %w, "
                "bf16[16,256,128]{2,1,0} %x), kind=kOutput, calls=%f",
                "convolution fusion", 2.0 * 16 * 16 * 64 * 256 * 128, &why);
    assert_non_null(g);
    turn = only(g, HLO_TRANSPOSE);      /* [h,d,b,s] to [b,h,d,s] */
    assert_int_equal(turn->dims[0], 2);
    assert_int_equal(turn->dims[1], 0);
    assert_int_equal(turn->dims[2], 1);
}

/* of two operands with which the FLOPs are right the larger one is the product's, not the mask */
static void product_beside_a_mask(void **state)
{
    const char *why;
    struct graph *g = rebuild(
        "%fusion.6 = bf16[4,16,8,32]{3,2,1,0} fusion(pred[4,32,32]{2,1,0} %mask, "
        "bf16[4,16,8,32]{3,2,1,0} %v, bf16[4,16,32,32]{3,2,1,0} %scores), kind=kOutput, calls=%f",
        "convolution fusion", 2.0 * 4 * 16 * 8 * 32 * 32, &why);
    const struct graph_node *dot;

    (void)state;
    assert_non_null(g);
    dot = only(g, HLO_DOT);
    assert_int_equal(dot->dot.batch_count, 2);
    assert_int_equal(g->parameter_count, 3);
}

static void loop_with_broadcast_and_sum(void **state)
{
    const char *why;
    struct graph *g = rebuild(
        "%fusion.3 = (f32[512,64]{1,0:T(8,128)}, f32[64]{0:T(256)}, pred[512,64]{1,0:T(8,128)(4,1)})"
        " fusion(f32[512,64]{1,0:T(8,128)} %x, f32[]{:T(256)S(5)} %rate, "
        "bf16[512]{0:T(512)(128)(2,1)} %scale), kind=kLoop, calls=%f",
        "loop fusion", 512.0 * 64 * 7, &why);

    (void)state;
    assert_non_null(g);
    assert_int_equal(g->parameter_count, 3);
    assert_result(g, 0, "f32[512,64]");
    assert_result(g, 1, "f32[64]");
    assert_result(g, 2, "pred[512,64]");
    only(g, HLO_REDUCE);
    assert_true((double)graph_flops(g) >= 512.0 * 64 * 7);
    assert_true((double)graph_flops(g) <= 512.0 * 64 * 12);
}

/* forward, by input and by kernel; strides and padding follow from the sizes */
static void convolutions(void **state)
{
    static const struct { const char *hlo; double flops; int64_t stride, low, high, base, window; }
    cases[] = {
        {"%f.1 = (f32[32]{0}, bf16[16,14,14,32]{3,0,2,1}) fusion(bf16[16,28,28,24]{3,0,2,1} %x, "
         "f32[3,3,24,32]{3,2,1,0} %k, f32[24]{0} %m)", 2.0 * 16 * 14 * 14 * 32 * 9 * 24,
         2, 0, 1, 1, 1},
        {"%f.2 = bf16[16,28,28,24]{3,0,2,1} fusion(bf16[16,14,14,32]{3,0,2,1} %dy, "
         "bf16[3,3,24,32]{3,2,1,0} %k)", 2.0 * 16 * 14 * 14 * 32 * 9 * 24, 1, 2, 1, 2, 1},
        {"%f.3 = bf16[3,3,24,32]{3,2,1,0} fusion(bf16[16,28,28,24]{3,0,2,1} %x, "
         "bf16[16,14,14,32]{3,0,2,1} %dy)", 2.0 * 16 * 14 * 14 * 32 * 9 * 24, 1, 0, 1, 1, 2},
        {"%f.4 = bf16[16,14,14,32]{3,0,2,1} fusion(bf16[28,28,3,16]{3,2,1,0} %x, "
         "f32[7,7,3,32]{3,2,1,0} %k)", 2.0 * 16 * 14 * 14 * 32 * 49 * 3, 2, 2, 3, 1, 1},
        {"%f.5 = bf16[16,14,14,64]{3,0,2,1} fusion(bf16[16,28,28,32]{3,0,2,1} %x, "
         "f32[1,1,32,64]{3,2,1,0} %k)", 2.0 * 16 * 14 * 14 * 32 * 64, 2, 0, -1, 1, 1},
        {"%f.6 = bf16[16,14,14,256]{3,0,2,1} fusion(bf16[16,14,14,128]{3,0,2,1} %x, "
         "f32[1,1,128,256]{3,2,1,0} %k)", 2.0 * 16 * 14 * 14 * 128 * 256, 1, 0, 0, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *why = NULL;
        struct graph *g = rebuild(cases[i].hlo, "convolution fusion", cases[i].flops, &why);
        const struct graph_node *conv;

        assert_null(why);
        conv = only(g, HLO_CONVOLUTION);
        for (int k = 0; k < 2; k++) {
            const struct graph_window *w = &conv->window[k];

            assert_int_equal(w->stride, cases[i].stride);
            assert_int_equal(w->pad_low, cases[i].low);
            assert_int_equal(w->pad_high, cases[i].high);
            assert_int_equal(w->base_dilation, cases[i].base);
            assert_int_equal(w->window_dilation, cases[i].window);
        }
        assert_true((double)graph_flops(g) >= 0.7 * cases[i].flops);
    }
}

/* whose features fill half a tile, with the batch along lanes instead: pixels in twos */
static void images_in_pairs(void **state)
{
    const char *why = NULL;
    struct graph *g = rebuild(
        "%f = bf16[16,8,6,32]{0,3,2,1} fusion(bf16[16,8,6,32]{0,3,2,1} %x, f32[3,3,32,32]{3,2,1,0} "
        "%k, bf16[16,8,6,32]{0,3,2,1} %y)", "convolution fusion", 2.0 * 16 * 8 * 6 * 32 * 9 * 32,
        &why);

    (void)state;
    assert_null(why);
    only(g, HLO_CONVOLUTION);
    assert_result(g, 0, "bf16[8,3,16,64]");
    g = rebuild(
        "%f = bf16[1,1,32,32]{3,2,1,0} fusion(bf16[16,8,6,32]{3,0,2,1} %x, bf16[16,8,6,32]{3,0,2,1} "
        "%y)", "convolution fusion", 2.0 * 16 * 8 * 6 * 32 * 32, &why);
    assert_null(why);
    assert_int_equal(g->parameter_count, 2);
    assert_true(shape_elems(&g->node[g->output[0].node].shape) == 32 * 32);
    /* a first layer, whose images have lines of pixels along rows */
    g = rebuild(
        "%f = bf16[16,8,6,32]{0,3,2,1} fusion(bf16[16,12,3,16]{3,2,1,0} %x, f32[7,7,3,32]{3,2,1,0} "
        "%k)", "convolution fusion", 2.0 * 16 * 8 * 6 * 32 * 49 * 3, &why);
    assert_null(why);
    assert_int_equal(only(g, HLO_CONVOLUTION)->window[0].stride, 2);
    assert_result(g, 0, "bf16[8,3,16,64]");
    assert_int_equal(g->node[g->parameter[0]].shape.dim[1], 3);
}

/* of arrays that are alike, what stands behind the second operand is multiplied into that */
static void factor_of_the_second(void **state)
{
    const char *why = NULL;
    struct graph *g = rebuild(
        "%f = f32[3,3,32,32]{3,2,1,0} fusion(bf16[16,8,6,32]{3,0,2,1} %x, bf16[16,8,6,32]{3,0,2,1} "
        "%dy, bf16[16,8,6,32]{3,0,2,1} %y)", "convolution fusion", 2.0 * 16 * 8 * 6 * 32 * 9 * 32,
        &why);
    const struct graph_node *conv;

    (void)state;
    assert_null(why);
    conv = only(g, HLO_CONVOLUTION);
    assert_int_equal(g->node[conv->operand[0]].op, HLO_PARAMETER);
    assert_int_not_equal(g->node[conv->operand[1]].op, HLO_PARAMETER);
}

/* the text alone says what moves, and in which layouts */
static void what_moves(void **state)
{
    static const struct { const char *hlo, *category, *result; enum graph_op op; } cases[] = {
        {"%c = bf16[8,27,16]{2,1,0} copy(bf16[8,27,16]{0,2,1} %x)", "data formatting",
         "bf16[8,27,16]", HLO_TRANSPOSE},
        {"%s = f32[8,3,16]{2,1,0} slice(f32[8,9,16]{2,1,0} %x), slice={[0:8], [6:9], [0:16]}",
         "slice", "f32[8,3,16]", HLO_SLICE},
        {"%c = f32[8,12]{0,1} concatenate(f32[8,4]{0,1} %x, f32[8,8]{0,1} %y), dimensions={1}",
         "concatenate", "f32[12,8]", HLO_CONCATENATE},
        {"%r = f32[64]{0} reduce(f32[64,32]{1,0} %x, f32[] %z), dimensions={1}, to_apply=%add",
         "reduce", "f32[64]", HLO_REDUCE},
        {"%g = f32[40,128]{1,0} fusion(f32[512,128]{1,0} %t, s32[48]{0} %i), kind=kCustom",
         "gather fusion", "f32[40,128]", HLO_GATHER},
        {"%g = f32[512,128]{1,0} fusion(s32[40]{0} %i, f32[40,128]{1,0} %t, f32[] %z), kind=kCustom",
         "custom fusion", "f32[512,128]", HLO_SCATTER},
        {"%s = bf16[8,8,8,16]{3,0,2,1} select-and-scatter(bf16[8,8,8,16]{3,0,2,1} %x, "
         "bf16[8,4,4,16]{3,0,2,1} %y, bf16[] %z), window={size=1x3x3x1 stride=1x2x2x1 "
         "pad=0_0x0_1x0_1x0_0}, select=%ge", "select-and-scatter", "bf16[8,8,8,16]",
         HLO_SELECT_AND_SCATTER},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *why = NULL;
        struct graph *g = rebuild(cases[i].hlo, cases[i].category, 0, &why);

        assert_null(why);
        only(g, cases[i].op);
        assert_result(g, 0, cases[i].result);
    }
}

/* where the bytes tell that most of an array stays as it is, only the rest is read and written */
static void update_in_place(void **state)
{
    const char *why = NULL;
    struct graph *g = hardware_rebuild(
        "%f = f32[1000,8,128]{2,1,0} fusion(f32[1000,8,128]{2,1,0} %x, s32[] %at, f32[8,128]{1,0} "
        "%y)", "loop fusion", 1024, 2 * 4096, &arena, &why);

    (void)state;
    assert_null(why);
    assert_int_equal(g->parameter_count, 1);
    assert_result(g, 0, "f32[1,8,128]");
}

static void what_shapes_do_not_tell(void **state)
{
    static const struct { const char *hlo, *category; double flops; const char *why; } cases[] = {
        {"%a = f32[64,64]{1,0} fusion(f32[64,96]{1,0} %x, f32[80,64]{1,0} %y)",
         "convolution fusion", 2e6, "no two operands make a result with these FLOPs"},
        {"%a = f32[64,32]{1,0} fusion(f32[128,32]{1,0} %x)", "loop fusion", 0,
         "no FLOPs: it moves data in a way that shapes do not tell"},
        {"%a = f32[64,32]{1,0} fusion(f32[24,32]{1,0} %x)", "loop fusion", 2048,
         "an operand's dimensions are not among the largest array's"},
        {"%a = c64[64]{0} fusion(c64[64]{0} %x)", "loop fusion", 64,
         "the text of the operation is cut or has types that are not known here"},
        {"%a = f32[64,32]{1,0} fusion(f32[64,3", "loop fusion", 64,
         "the text of the operation is cut or has types that are not known here"},
        {"%a = f32[8,0]{1,0} fusion(f32[8,0]{1,0} %x)", "loop fusion", 64,
         "the text of the operation is cut or has types that are not known here"},
        {"%a = f32[8,8]{1,9} fusion(f32[8,8]{1,0} %x)", "loop fusion", 64,
         "the text of the operation is cut or has types that are not known here"},
        {"%a = f32[] all-reduce(f32[] %x)", "all-reduce", 1, "not a loop fusion or a product"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *why;

        assert_null(rebuild(cases[i].hlo, cases[i].category, cases[i].flops, &why));
        assert_string_equal(why, cases[i].why);
    }
}

/* FLOPs of the programs, from first principles */
static void programs_of_rows(void **state)
{
    struct graph *g = hardware_ffn_gated(32, 64, 96, &arena);
    struct err e;

    (void)state;
    assert_int_equal(graph_verify(g, &e), 0);
    assert_true((double)graph_flops(g) >= 2.0 * 32 * 64 * 96 * 3);
    assert_true(hardware_graph_bytes(g) == 2.0 * (2 * 32 * 64 + 64 * 192 + 96 * 64));
    g = hardware_encoder_block(64, 96, 3, &arena);
    assert_int_equal(graph_verify(g, &e), 0);
    assert_true((double)graph_flops(g) >= 2.0 * 64 * 96 * 96 * 12 + 4.0 * 64 * 64 * 96);
    g = hardware_conv(2, 9, 9, 16, 24, 3, 1, 1, &arena);
    assert_int_equal(graph_verify(g, &e), 0);
    assert_result(g, 0, "bf16[2,9,9,24]");   /* a small batch: pixels along rows */
}

static const struct hardware_file *file_named(struct hardware_file *files, int count,
                                              const char *part)
{
    for (int i = 0; i < count; i++)
        if (strstr(files[i].name, part))
            return &files[i];
    return NULL;
}

static void rows_of_a_file(void **state)
{
    struct hardware_file *files, f;
    struct csv c;
    struct err e;
    int count = hardware_files(&files, &arena);
    char *text = arena_strdup(&arena,
        "op,workload,M,K,N,clock_mhz_assumed,measured_value,measured_unit,peer_abs_pct_err,"
        "batch,heads,seq,head_dim\n"
        "gemm,\"g, small\",8,16,32,940,940,cycles,12.5,,,,\n"
        "dance,x,,,,940,1,cycles,,,,,\n"
        "model,resnet50,,,,940,1,cycles,,2,,,\n"
        "attention,a,,,,940,1,cycles,,,3,16,8\n");

    (void)state;
    f = *file_named(files, count, "pytorchsim_tpuv3");
    assert_int_equal(csv_parse(&c, "t.csv", text, NULL, &arena, &e), 0);
    assert_int_equal(hardware_read(&f, &c, &arena, &e), 0);
    assert_int_equal(f.row_count, 4);
    assert_true(fabs(f.row[0].measured_us - 1) < 1e-9);
    assert_true(f.row[0].peer_error_percent == 12.5);
    assert_true(f.row[0].flops == 2.0 * 8 * 16 * 32);
    assert_int_equal(f.row[1].work, WORK_NONE);
    assert_true(fabs(f.row[2].flops / (2 * 2 * 4.09e9) - 1) < 0.05);    /* two images, forward */
    assert_true(f.row[3].bytes == 4 * 3 * 16 * 8 * 2);                  /* q, k, v, o in bf16 */
    mem_free(f.row);
}

static void mistakes_in_a_file(void **state)
{
    static const struct { const char *text, *why; int line; } cases[] = {
        {"op,workload,measured_value\n", "no column \"measured_unit\" in the heading (did you mean \"measured_value\"?)", 1},
        {"op,workload,measured_value,measured_unit,M,K,N\ngemm,x,1,us,8,-2,8\n",
         "K: expected a whole number in 1..1e+09, found \"-2\"", 2},
        {"op,workload,measured_value,measured_unit,M,K,N\n\ngemm,x,fast,us,8,2,8\n",
         "measured_value: expected a number in -1e+15..1e+15, found \"fast\"", 3},
    };
    struct hardware_file *files, f;
    int count = hardware_files(&files, &arena);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct csv c;
        struct err e;

        f = *file_named(files, count, "v6e_ops");
        assert_int_equal(csv_parse(&c, "t.csv", arena_strdup(&arena, cases[i].text), NULL, &arena,
                                   &e), 0);
        assert_int_equal(hardware_read(&f, &c, &arena, &e), -1);
        assert_string_equal(e.msg, cases[i].why);
        assert_int_equal(e.line, cases[i].line);
        mem_free(f.row);
    }
}

/* what a loop only reads lies in VMEM, too: a step takes less than its bytes would at HBM's rate */
static void chain_in_vector_memory(void **state)
{
    struct slice slice;
    struct chip chip;
    struct hardware_target t = {.slice = &slice, .chip = &chip, .codegen = CODEGEN_XLA};
    struct hardware_row row = {.work = WORK_CHAIN, .map = "add", .elements = 1 << 20,
                               .time = TIME_KERNEL};
    struct err e;
    double bytes = 2.0 * (1 << 20), hbm_us;

    (void)state;
    assert_int_equal(slice_parse(&slice, "v6e", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), 0);
    assert_int_equal(slice_fit(&slice, &chip, &e), 0);
    hbm_us = bytes / (chip_hbm_peak_bytes_per_second(&chip) * 1e-6);
    hardware_simulate(&row, &t, &arena);
    assert_null(row.error);
    assert_true(row.simulated_us[CODEGEN_XLA] < hbm_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_in_vector_memory),
        cmocka_unit_test(product_with_epilogue),
        cmocka_unit_test(batched_product),
        cmocka_unit_test(product_added_to_a_sum),
        cmocka_unit_test(product_of_one_array),
        cmocka_unit_test(product_of_heads),
        cmocka_unit_test(product_beside_a_mask),
        cmocka_unit_test(loop_with_broadcast_and_sum),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(images_in_pairs),
        cmocka_unit_test(factor_of_the_second),
        cmocka_unit_test(what_moves),
        cmocka_unit_test(update_in_place),
        cmocka_unit_test(what_shapes_do_not_tell),
        cmocka_unit_test(programs_of_rows),
        cmocka_unit_test(rows_of_a_file),
        cmocka_unit_test(mistakes_in_a_file),
    };
    int failed;

    arena_init(&arena);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_fini(&arena);
    return failed;
}
