/*
 * Do kernels as the compiler writes them for v5e run to the last bit? A sum of
 * all lanes, a product of matrices, and a grid with double buffers in a loop.
 */
#include "base/floats.h"
#include "sim/chip/limits.h"
#include "tests/reference/f32_reference.h"
#include "tests/rigs/listing_bench.h"
#include "tests/test.h"

/* Text that grows bundle by bundle, as the compiler prints it. */
struct writer {
    char text[1 << 16];
    size_t length;
    int bundle;
};

static void bundle(struct writer *w, const char *mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void bundle(struct writer *w, const char *mark, const char *fmt, ...)
{
    va_list ap;

    w->length += (size_t)sprintf(w->text + w->length, "  0x%x %s { ", w->bundle++, mark);
    va_start(ap, fmt);
    w->length += (size_t)vsprintf(w->text + w->length, fmt, ap);
    va_end(ap);
    w->length += (size_t)sprintf(w->text + w->length, " }\n");
}

static const char plain[] = "  :  ", loop[] = "  : >";

static void begin(struct writer *w, const char *in, const char *in2, const char *out)
{
    *w = (struct writer){ .length = 0 };
    w->length = (size_t)sprintf(w->text, "= control target key start\nLH: loop header\n"
                                "= control target key end\n\n");
    bundle(w, plain, "%%s100_s0 = inlined_call_operand.hbm [shape: %s, index: 0, kind: input, "
           "shape index: {}] /* operand 0 */  ;;  %%s101_s1 = inlined_call_operand.%s, index: 1, "
           "kind: input, shape index: {}] /* operand 1 */  ;;  %%s102_s2 = "
           "inlined_call_operand.hbm [shape: %s, index: 2, kind: output, shape index: {}]", in, in2, out);
}

/* copies a whole operand between HBM and VMEM, and waits for it */
static void move(struct writer *w, bool is_in, int operand, const char *allocation, int granules)
{
    bundle(w, plain, "%%s110_s10 = sshll.u32 %%s10%d_s%d, 4  ;;  %%s111_s11 = smov %s /* "
           "materialized constant */", operand, operand, allocation);
    bundle(w, plain, "%%s112_s11 = sshll.u32 %%s111_s11, 4  ;;  %%s113_s10 = int_to_ptr.hbm "
           "[resolvable:$true] %%s110_s10");
    if (is_in)
        bundle(w, plain, "%%20 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%%s113_s10, "
               "/*size_in_granules=*/%d, /*vmem=*/%%s112_s11, /*dst_syncflagno=*/[#allocation9] "
               "/* \nbase_bounds: (1, 1)\n */", granules);
    else
        bundle(w, plain, "%%20 = dma.vmem_to_hbm [thread:$0]  /*vmem=*/%%s112_s11, "
               "/*size_in_granules=*/%d, /*hbm=*/%%s113_s10, /*dst_syncflagno=*/[#allocation9]",
               granules);
    bundle(w, plain, "%%21 = dma.done.wait [#allocation9], %d /* pipeline-emitter-dma-wait */",
           granules);
    bundle(w, plain, "%%22 = vsyncadd [#allocation9], %u", (unsigned)-granules);
}

struct kernel {
    struct listing_bench bench;
    struct machine *m;
};

static void run(struct kernel *k, const struct writer *w, const float *in, const float *in2,
                int64_t in_bytes)
{
    struct listing_bench *b = &k->bench;

    bench_open(b, "v5e");
    if (bench_scan(b, w->text) != 0)
        fail_msg("%d:%d: %s", b->errors.err[0].line, b->errors.err[0].col, b->errors.err[0].msg);
    assert_int_equal(bench_place(b), 0);
    bench_assemble(b);
    for (uint32_t i = 0; i < b->listing.op_count; i++)
        if (b->listing.op[i].reason)
            fail_msg("%s: %s", b->listing.op[i].text, b->listing.op[i].reason);
    k->m = bench_machine(b, "v5e", 1000000);
    machine_hbm_write(k->m, 0, b->listing.operand[0].address, in, in_bytes, &b->err);
    if (in2)
        machine_hbm_write(k->m, 0, b->listing.operand[1].address, in2, in_bytes, &b->err);
    if (machine_run(k->m, &b->err) != 0)
        fail_msg("%s", b->err.msg);
}

static void result(struct kernel *k, void *out, int64_t bytes)
{
    struct listing_bench *b = &k->bench;

    assert_int_equal(machine_hbm_read(k->m, 0, b->listing.operand[2].address, out, bytes, &b->err),
                     0);
    machine_destroy(k->m);
    bench_close(b);
}

static float input(int i)
{
    return (float)((int)((uint32_t)i * 2654435761u >> 8) % 20011 - 10005) * 0.000173f;
}

static float add(float a, float b)
{
    return f32_from_bits(reference_add(f32_bits(a), f32_bits(b)));
}

/* ---- a sum of 1024 values ---- */

static void write_reduction(struct writer *w)
{
    begin(w, "f32[1024]", "<no memory space> [shape: f32[]", "f32[1,1]");
    move(w, true, 0, "[#allocation2]", 128);
    bundle(w, plain, "%%v1_v0 = vld [vmem:[#allocation2] sm:$0xff]  ;;  %%vm1_vm0 = vcmask 0");
    for (int shift = 4; shift; shift /= 2) {
        bundle(w, plain, "%%v2_v1 = vrot.slane %%v1_v0, %d", shift);
        bundle(w, plain, "%%v1_v0 = vadd.f32 %%v2_v1, %%v1_v0");
    }
    bundle(w, plain, "%%30 = vxpose.xlu0.b32.start.end [1/1] (short) /*vx=*/%%v1_v0, "
           "/*width=*/128");
    bundle(w, plain, "%%v3_v2 = vpop.trf.xlu0");
    for (int i = 1; i < 16; i++) {
        bundle(w, plain, "%%v4_v3 = vpop.trf.xlu0");
        bundle(w, plain, "%%v3_v2 = vadd.f32 %%v3_v2, %%v4_v3");
    }
    for (int shift = 4; shift; shift /= 2) {
        bundle(w, plain, "%%v5_v4 = vrot.slane %%v3_v2, %d", shift);
        bundle(w, plain, "%%v3_v2 = vadd.f32 %%v5_v4, %%v3_v2");
    }
    bundle(w, plain, "%%31 = vst.msk [vmem:[#allocation5] sm:$0x1] /*vm=*/%%vm1_vm0, "
           "/*vst_source=*/%%v3_v2");
    move(w, false, 2, "[#allocation5]", 16);
}

TEST(a_sum_over_all_lanes_is_exact)
{
    static struct writer w;
    struct kernel k;
    float in[1024], row[8][128], lane[128], part[8], out;

    write_reduction(&w);
    for (int i = 0; i < 1024; i++)
        in[i] = input(i);
    run(&k, &w, in, NULL, sizeof(in));
    result(&k, &out, 4);

    memcpy(row, in, sizeof(row));
    for (int j = 0; j < 128; j++) {     /* ((0+4) + (2+6)) + ((1+5) + (3+7)) */
        float even = add(add(row[4][j], row[0][j]), add(row[6][j], row[2][j]));
        float odd = add(add(row[5][j], row[1][j]), add(row[7][j], row[3][j]));

        lane[j] = add(even, odd);
    }
    for (int i = 0; i < 8; i++) {
        part[i] = lane[i];
        for (int t = 1; t < 16; t++)
            part[i] = add(part[i], lane[8 * t + i]);
    }
    assert_int_equal(f32_bits(out), f32_bits(add(add(add(part[4], part[0]), add(part[6], part[2])),
                                                 add(add(part[5], part[1]),
                                                     add(part[7], part[3])))));
}

/* ---- a product of matrices of 128 x 128 ---- */

/* Pushes come one per bundle and pops last: the unit waits, and 16 results are on their way. */
static void write_product(struct writer *w)
{
    begin(w, "f32[128,128]", "hbm [shape: f32[128,128]", "f32[128,128]");
    move(w, true, 0, "[#allocation2]", 2048);
    move(w, true, 1, "[#allocation3]", 2048);
    for (int i = 15; i >= 0; i--) {
        bundle(w, plain, "%%v1_v%d = vld [vmem:[#allocation3 + $0x%x] sm:$0xff]", i, 8 * i);
        bundle(w, plain, "%%40 = vmatpush.msra.mxu1 %%v1_v%d", i);
    }
    for (int i = 0; i < 16; i++)
        bundle(w, plain, "%%v2_v%d = vld [vmem:[#allocation2 + $0x%x] sm:$0xff]", 16 + i, 8 * i);
    for (int i = 0; i < 16; i++)
        bundle(w, plain, "%%41 = vmatmul.f32.%sgmra.mxu1 %%v2_v%d", i ? "" : "vlgmr.msra.", 16 + i);
    for (int i = 0; i < 16; i++) {
        bundle(w, plain, "%%v3_v%d = vpop.f32.mrf.mxu1", i);
        bundle(w, plain, "%%42 = vst [vmem:[#allocation5 + $0x%x] sm:$0xff] /*vst_source=*/"
               "%%v3_v%d", 8 * i, i);
    }
    move(w, false, 2, "[#allocation5]", 2048);
}

static uint32_t as_bf16(float x)
{
    return (uint32_t)reference_bf16(f32_bits(x)) << 16;
}

TEST(a_product_of_matrices_is_exact)
{
    static struct writer w;
    static float x[128][128], y[128][128], out[128][128];
    struct kernel k;

    write_product(&w);
    for (int i = 0; i < 128 * 128; i++) {
        x[i / 128][i % 128] = input(i);
        y[i / 128][i % 128] = input(i + 77777);
    }
    run(&k, &w, x[0], y[0], sizeof(x));
    result(&k, out, sizeof(out));
    for (int r = 0; r < 128; r++)
        for (int n = r % 5; n < 128; n += 5) {
            uint32_t sum = 0;

            for (int i = 0; i < 128; i++)       /* k = 1, 0, 3, 2… */
                sum = reference_fma(as_bf16(x[r][i ^ 1]), as_bf16(y[i ^ 1][n]), sum);
            assert_int_equal(f32_bits(out[r][n]), sum);
        }
}

/* ---- a grid in a loop with two buffers each way ---- */

enum { STEPS = 6 };

/* what starts the copy in of step %s60_s4 into buffer (step and 1), guarded by p2 */
static void copy_in(struct writer *w)
{
    bundle(w, loop, "%%s61_s5 = sand.u32 (%%p9_p2), 1, %%s60_s4  ;;  %%s62_s6 = sshll.u32 "
           "(%%p9_p2), %%s60_s4, 3");
    bundle(w, loop, "%%s63_s7 = sshll.u32 (%%p9_p2), %%s61_s5, 3  ;;  %%s64_s8 = scalar_lea.sflag "
           "(%%p9_p2), [#allocation3], %%s61_s5");
    bundle(w, loop, "%%s65_s6 = scalar_lea.hbm (%%p9_p2), %%s100_s0, %%s62_s6  ;;  %%s66_s7 = "
           "scalar_lea.vmem (%%p9_p2), [#allocation2], %%s63_s7");
    bundle(w, loop, "%%s67_s6 = sshll.u32 (%%p9_p2), %%s65_s6, 4  ;;  %%s68_s7 = sshll.u32 "
           "(%%p9_p2), %%s66_s7, 4  ;;  %%s69_s6 = int_to_ptr.hbm [resolvable:$true] %%s67_s6");
    bundle(w, loop, "%%70 = dma.hbm_to_vmem [thread:$0]  (%%p9_p2), %%s69_s6, 128, %%s68_s7, "
           "%%s64_s8");
}

static void write_body(struct writer *w)
{
    bundle(w, loop, "%%s60_s4 = sadd.s32 1, %%s50_s3  ;;  %%p8_p1 = scmp.ge.s32.totalorder "
           "%%s50_s3, 2");
    bundle(w, loop, "%%p9_p2 = scmp.lt.s32.totalorder %%s60_s4, %d  ;;  %%s71_s12 = sand.u32 1, "
           "%%s50_s3", STEPS);
    copy_in(w);
    bundle(w, loop, "%%s72_s13 = scalar_lea.sflag [#allocation3], %%s71_s12  ;;  %%s73_s14 = "
           "scalar_lea.sflag [#allocation6], %%s71_s12");
    bundle(w, loop, "%%74 = dma.done.wait %%s72_s13, 128  ;;  %%s75_s15 = sshll.u32 %%s71_s12, 3");
    bundle(w, loop, "%%76 = vsyncadd %%s72_s13, 4294967168  ;;  %%s77_s16 = scalar_lea.vmem "
           "[#allocation2], %%s75_s15");
    bundle(w, loop, "%%78 = dma.done.wait (%%p8_p1), %%s73_s14, 128  ;;  %%s79_s17 = smov "
           "[#allocation5]");
    bundle(w, loop, "%%80 = vsyncadd (%%p8_p1), %%s73_s14, 4294967168");
    bundle(w, loop, "%%v81_v0 = vld [vmem:[%%s77_s16] sm:$0xff]");
    bundle(w, loop, "%%v82_v1 = vmul.f32 %%v81_v0, 3.0");
    bundle(w, loop, "%%v83_v2 = vadd.f32 1.0, %%v82_v1");
    bundle(w, loop, "%%84 = vst [vmem:[%%s79_s17 + %%s75_s15] sm:$0xff] /*vst_source=*/%%v83_v2");
    bundle(w, loop, "%%s85_s18 = sshll.u32 %%s50_s3, 3  ;;  %%s86_s19 = sadd.s32 %%s79_s17, "
           "%%s75_s15");
    bundle(w, loop, "%%s87_s18 = scalar_lea.hbm %%s102_s2, %%s85_s18  ;;  %%s88_s19 = sshll.u32 "
           "%%s86_s19, 4  ;;  %%s89_s19 = int_to_ptr.vmem [resolvable:$true] %%s88_s19");
    bundle(w, loop, "%%s90_s18 = sshll.u32 %%s87_s18, 4  ;;  %%s91_s18 = int_to_ptr.hbm "
           "[resolvable:$true] %%s90_s18");
    bundle(w, loop, "%%92 = dma.vmem_to_hbm [thread:$0]  %%s89_s19, 128, %%s91_s18, %%s73_s14");
}

static void write_grid(struct writer *w, int delay)
{
    int head;

    begin(w, "f32[48,128]", "<no memory space> [shape: f32[]", "f32[48,128]");
    bundle(w, plain, "%%1 = vsyncpa [#allocation3], 0  ;;  %%s60_s4 = smov 0  ;;  "
           "%%p9_p2 = pmov 1");
    bundle(w, plain, "%%2 = vsyncpa [#allocation3 + $0x1], 0  ;;  %%s49_s3 = smov 0");
    bundle(w, plain, "%%3 = vsyncpa [#allocation6], 0");
    bundle(w, plain, "%%4 = vsyncpa [#allocation6 + $0x1], 0");
    copy_in(w);
    head = w->bundle;
    bundle(w, "LB: >", "%%s50_s3 = sphi %%s49_s3, %%s95_s3");
    write_body(w);
    bundle(w, loop, "%%s95_s3 = sadd.s32 1, %%s50_s3");
    bundle(w, loop, "%%p96_p3 = scmp.ge.s32.totalorder %%s95_s3, %d", STEPS);
    bundle(w, loop, "%%97 = sbr.rel (!%%p96_p3) target bundleno = %d (0x%x), region = 20", head,
           head);
    for (int i = 0; i < delay; i++)
        bundle(w, loop, "%s", "");
    for (int i = 0; i < 2; i++) {
        const char *flag = i ? "[#allocation6 + $0x1]" : "[#allocation6]";

        bundle(w, i ? plain : "LE:", "%%98 = dma.done.wait %s, 128", flag);
        bundle(w, plain, "%%99 = vsyncadd %s, 4294967168", flag);
    }
    bundle(w, plain, "%%99 = vsyncpa [#allocation3], 1");
}

static void check_grid(int delay)
{
    static struct writer w;
    static float in[STEPS * 1024], out[STEPS * 1024];
    struct kernel k;

    write_grid(&w, delay);
    for (int i = 0; i < STEPS * 1024; i++)
        in[i] = input(i);
    run(&k, &w, in, NULL, sizeof(in));
    for (int32_t f = 0; f < 8; f++)
        assert_int_equal(machine_flag(k.m, 0, f), 0);
    result(&k, out, sizeof(out));
    for (int i = 0; i < STEPS * 1024; i++)
        assert_int_equal(f32_bits(out[i]), reference_add(reference_mul(f32_bits(in[i]),
                                                         f32_bits(3.0f)), f32_bits(1.0f)));
}

TEST(a_grid_with_double_buffers_is_exact)
{
    check_grid(4);
}

/* what a chip file does not know of its chip, the text of a loop tells */
TEST(a_loop_without_room_for_the_chips_delay_bundles_has_fewer)
{
    check_grid(1);
    check_grid(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_over_all_lanes_is_exact),
        cmocka_unit_test(a_product_of_matrices_is_exact),
        cmocka_unit_test(a_grid_with_double_buffers_is_exact),
        cmocka_unit_test(a_loop_without_room_for_the_chips_delay_bundles_has_fewer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
