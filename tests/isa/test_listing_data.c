/*
 * Are operands and allocations of a listing found, laid out and placed?
 */
#include "isa/listing/listing_internal.h"
#include "tests/rigs/listing_bench.h"
#include "tests/test.h"

/* ---- operands ---- */

TEST(operands_are_read_with_shape_memory_and_kind)
{
    struct listing_bench b;
    const struct listing_operand *o;

    bench_read(&b, "0 : { %s164_s0 = inlined_call_operand.vmem [shape: f32[8,128], index: 0, kind: "
                 "input, shape index: {}] /* operand 0 */ ;; %s165_s3 = inlined_call_operand.<no "
                 "memory space> [shape: u32[], index: 1, kind: input, shape index: {}] ;; "
                 "%s166_s2 = inlined_call_operand.smem [shape: s32[4], index: 2, kind: input] ;; "
                 "%s167_s31 = inlined_call_operand.hbm [shape: bf16[2,16,256], index: 3, kind: "
                 "output, shape index: {1}] }\n");
    o = b.listing.operand;
    assert_int_equal(b.listing.operand_count, 4);
    assert_int_equal(o[0].space, SPACE_VMEM);
    assert_int_equal(o[0].shape.rank, 2);
    assert_int_equal(o[0].shape.side[1], 128);
    assert_true(o[0].is_input && !o[0].is_output);
    assert_int_equal(o[1].space, SPACE_VALUE);
    assert_int_equal(o[1].shape.rank, 0);
    assert_int_equal(o[1].reg, 3);
    assert_int_equal(o[2].space, SPACE_SMEM);
    assert_string_equal(o[3].shape.type, "bf16");
    assert_int_equal(o[3].reg, 31);
    assert_true(o[3].is_output && !o[3].is_input);
    assert_int_equal(o[3].layout.bytes, 2 * 16 * 256 * 2);
    bench_close(&b);
}

TEST(hbm_pointers_count_what_their_use_says)
{
    struct listing_bench b;

    /* the first goes into a copy as it is, the second is shifted to granules */
    bench_read(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: "
                 "input] ;; %s2_s1 = inlined_call_operand.hbm [shape: f32[8,128], index: 1, kind: "
                 "input] ;; %s3_s2 = inlined_call_operand.hbm [shape: f32[8,128], index: 2, kind: "
                 "input] }\n"
                 "0x1 : { %s4_s4 = sshll.u32 %s2_s1, 4 ;; %s5_s4 = int_to_ptr.hbm %s4_s4 }\n"
                 "0x2 : { %7 = dma.hbm_to_vmem /*hbm=*/%s1_s0, 128, %s9_s9, [#allocation1] }\n"
                 "0x3 : { %8 = dma.hbm_to_vmem /*hbm=*/%s5_s4, 128, %s9_s9, [#allocation1] }\n");
    assert_int_equal(b.listing.operand[1].address, 4096);
    assert_int_equal(b.listing.operand[0].value, 0);
    assert_int_equal(b.listing.operand[1].value, 4096 / 512);
    /* one without a use counts like the one that goes into a copy */
    assert_int_equal(b.listing.operand[2].value, 8192 / 32);
    bench_close(&b);
}

TEST(a_type_that_is_not_known_takes_what_is_reached)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: token[], index: 0, kind: input]"
                   " ;; %s2_s1 = inlined_call_operand.hbm [shape: f32[8], index: 1, kind: input] }"
                   "\n0x1 : { %3 = dma.hbm_to_vmem %s1_s0, 512, %s9_s9, [#allocation1] }\n");
    assert_int_equal(b.listing.operand[0].shape.elem_bits, 0);
    assert_int_equal(b.listing.operand[1].address, 16384);
    bench_close(&b);
}

TEST(operands_that_may_alias_share_their_buffer)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: "
                   "input, shape index: {}] ;; %s2_s1 = inlined_call_operand.hbm [shape: f32[8,128]"
                   ", index: 1, kind: input, shape index: {}, may-alias: {1,2}] ;; %s3_s2 = "
                   "inlined_call_operand.hbm [shape: f32[8,128], index: 2, kind: output, shape "
                   "index: {}, may-alias: {1,2}] }\n");
    assert_int_equal(b.listing.operand[1].address, 4096);
    assert_int_equal(b.listing.operand[2].address, 4096);
    assert_int_equal(b.listing.operand[2].value, b.listing.operand[1].value);
    bench_close(&b);
}

TEST(an_operand_that_does_not_fit_is_told)
{
    struct listing_bench b;

    bench_open(&b, "v6e");
    assert_int_equal(bench_scan(&b, "0 : { %s1_s0 = inlined_call_operand.vmem [shape: f32[65536,1024], "
                              "index: 0, kind: input] }\n"), 0);
    assert_int_equal(bench_place(&b), -1);
    assert_string_equal(b.err.msg, "the operand takes 268435456 bytes of vmem; 134217728 of "
                        "134217728 are free");
    bench_close(&b);
}

TEST(an_operand_whose_index_is_beyond_all_others_is_not_another_one)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: "
                   "input] ;; %s2_s1 = inlined_call_operand.hbm [shape: f32[8,128], index: "
                   "4294967296, kind: input] ;; %s3_s2 = inlined_call_operand.hbm [shape: "
                   "f32[8,128], index: 99999999999999999999, kind: input] }\n");
    assert_int_equal(b.listing.operand_count, 1);
    bench_close(&b);
}

TEST(shapes_that_cannot_be_counted_are_none)
{
    static const char *const shapes[] = {
        "f32[17179869184,2]", "f32[0,17179869184,17179869184]", "f32[17179869185]",
        "f32[131072,131072,2]"};
    struct listing_shape s;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        assert_false(listing_parse_shape(shapes[i], shapes[i] + strlen(shapes[i]), &s));
}

/* ---- layouts ---- */

static void shape_of(struct listing_bench *b, const char *shape, int granules)
{
    char text[400];

    snprintf(text, sizeof(text), "0 : { %%s1_s0 = inlined_call_operand.hbm [shape: %s, index: 0, "
             "kind: input] }\n0x1 : { %%2 = dma.hbm_to_vmem %%s1_s0, %d, %%s2_s1, [#allocation1] }"
             "\n", shape, granules);
    bench_read(b, text);
}

static const char *print(const struct listing_bench *b, char *buf, size_t bytes)
{
    const struct listing_operand *o = &b->listing.operand[0];

    return listing_print_shape(&o->shape, &o->layout, buf, bytes);
}

TEST(a_copy_of_the_whole_tells_the_layout)
{
    static const struct { const char *shape; int granules; const char *layout; } cases[] = {
        {"f32[8,128]", 128, "f32[8,128]{1,0:T(8,128)}"},
        {"f32[64,32]", 512, "f32[64,32]{0,1:T(8,128)}"},
        {"f32[64,32]", 1024, "f32[64,32]{1,0:T(8,128)}"},
        {"f32[64,32]", 64, "f32[64,32]{1,0:T(8,128)}"},         /* a part: the likeliest */
        {"u32[3,2]", 32, "u32[3,2]{0,1:T(2,128)}"},
        {"u32[3,2]", 64, "u32[3,2]{1,0:T(4,128)}"},
        {"f32[2,128]", 128, "f32[2,128]{1,0:T(8,128)}"},
        {"f32[64,32]{0,1:T(8,128)}", 64, "f32[64,32]{0,1:T(8,128)}"},
        {"f32[72,128]{1,0:T(1,128)}", 64, "f32[72,128]{1,0:T(1,128)}"},
        {"bf16[16,128]{1,0:T(8,128)(2,1)}", 128, "bf16[16,128]{1,0:T(8,128)(2,1)}"},
        {"s8[64,128]", 256, "s8[64,128]{1,0:T(8,128)(4,1)}"},
        {"f32[4,8,128]{2,0,1:T(8,128)}", 64, "f32[4,8,128]{2,0,1:T(8,128)}"},
        {"f32[5]", 16, "f32[5]"},
    };
    char buf[100];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct listing_bench b;

        shape_of(&b, cases[i].shape, cases[i].granules);
        assert_string_equal(print(&b, buf, sizeof(buf)), cases[i].layout);
        bench_close(&b);
    }
}

/* 128 KiB of f32[512,64]: all of it when it lies transposed, half of it when it does not */
TEST(a_block_of_a_grid_says_nothing_of_the_layout)
{
    static const struct { const char *how; bool is_transposed; } cases[] = {
        {"%s8_s5 = smov %s1_s0", true},
        {"%s8_s5 = scalar_lea.hbm %s1_s0, %s7_s4", false},
        {"%s8_s5 = sadd.s32 %s7_s4, %s1_s0", false},
        {"%s8_s5 = scalar_select %p1_p0, %s1_s0, %s7_s4", false},
        {"%s8_s5 = sphi %s1_s0, %s9_s5", false},
        {"%2 = sst [smem:[#allocation9_spill]] %s1_s0 ;; %s8_s5 = sld [smem:[#allocation9_spill]]",
         true},
        {"%2 = sst [smem:[#allocation9_spill]] %s1_s0 ;; %s6_s5 = sld [smem:[#allocation9_spill]]"
         " ;; %s8_s5 = sadd.s32 %s6_s5, %s7_s4", false},
        {"%2 = sst [smem:[#allocation9_spill + $0x4]] %s1_s0 ;; %s8_s5 = sld "
         "[smem:[#allocation9_spill]]", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[700], buf[100];
        struct listing_bench b;

        snprintf(text, sizeof(text), "0 : { %%s1_s0 = inlined_call_operand.hbm [shape: f32[512,64]"
                 ", index: 0, kind: input] }\n1 : { %s }\n2 : { %%s9_s5 = sshll.u32 %%s8_s5, 4 }\n"
                 "3 : { %%2 = dma.hbm_to_vmem %%s9_s5, 4096, %%s2_s1, [#allocation1] }\n",
                 cases[i].how);
        bench_read(&b, text);
        if (strcmp(print(&b, buf, sizeof(buf)), cases[i].is_transposed ?
                   "f32[512,64]{0,1:T(8,128)}" : "f32[512,64]{1,0:T(8,128)}") != 0)
            fail_msg("%s: %s", cases[i].how, buf);
        bench_close(&b);
    }
}

TEST(a_strided_copy_says_nothing_of_the_layout)
{
    struct listing_bench b;
    char buf[100];

    bench_read(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[64,32], index: 0, kind: "
               "input] }\n1 : { %2 = dma.hbm_to_vmem %s1_s0, 512, %s2_s1, [#allocation1], 32, 16, "
               "16 }\n");
    assert_string_equal(print(&b, buf, sizeof(buf)), "f32[64,32]{1,0:T(8,128)}");
    bench_close(&b);
}

static int64_t bit_of(const struct listing_bench *b, int64_t index)
{
    const struct listing_operand *o = &b->listing.operand[0];

    return listing_element_bit(&o->layout, &o->shape, index);
}

/* the formula for tiles of 8x128 words, written out for each case by hand */
TEST(elements_lie_in_tiles)
{
    struct listing_bench b;

    shape_of(&b, "f32[16,200]", 512);
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 200; j++)
            assert_int_equal(bit_of(&b, i * 200 + j), 32 * ((i / 8 * 2 + j / 128) * 1024 +
                                                            i % 8 * 128 + j % 128));
    bench_close(&b);
    shape_of(&b, "f32[200,16]{0,1:T(8,128)}", 512);
    for (int64_t i = 0; i < 200; i++)
        for (int64_t j = 0; j < 16; j++)
            assert_int_equal(bit_of(&b, i * 16 + j), 32 * ((j / 8 * 2 + i / 128) * 1024 +
                                                           j % 8 * 128 + i % 128));
    bench_close(&b);
    shape_of(&b, "bf16[16,128]{1,0:T(8,128)(2,1)}", 128);
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 128; j++)
            assert_int_equal(bit_of(&b, i * 128 + j), 32 * (i / 8 * 512 + i % 8 / 2 * 128 + j) +
                                                      16 * (i % 2));
    bench_close(&b);
    shape_of(&b, "u32[300]", 48);
    for (int64_t i = 0; i < 300; i++)
        assert_int_equal(bit_of(&b, i), 32 * i);
    assert_int_equal(b.listing.operand[0].layout.bytes, 3 * 512);
    bench_close(&b);
}

TEST(no_two_elements_share_a_place_in_any_layout)
{
    static const char *const shapes[] = {
        "f32[3,5,7]", "bf16[2,9,130]{1,2,0:T(8,128)(2,1)}", "s8[37,129]", "s4[10,140]",
        "u32[]", "f32[2,3,4]{0,1,2:T(2,128)}", "bf16[300]", "pred[1,1]", "f32[1025]{0:T(1024)}",
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct listing_operand *o;
        struct listing_bench b;
        char *seen;

        shape_of(&b, shapes[i], 1);
        o = &b.listing.operand[0];
        seen = calloc((size_t)o->layout.bytes * 8, 1);
        for (int64_t j = 0; j < listing_elem_count(&o->shape); j++) {
            int64_t bit = bit_of(&b, j);

            assert_true(bit >= 0 && bit % o->shape.elem_bits == 0);
            assert_true(bit + o->shape.elem_bits <= 8 * o->layout.bytes);
            assert_int_equal(seen[bit], 0);
            seen[bit] = 1;
        }
        free(seen);
        bench_close(&b);
    }
}

/* ---- allocations ---- */

TEST(allocations_lie_where_their_uses_say)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %1 = vsyncpa [#allocation4], 0 ;; %s1_s0 = smov [#allocation2] ;; "
                 "%s2_s1 = sld [smem:[#allocation7 + $0x10]] ;; %s8_s8 = smov [#allocation9] }\n"
                 "0x1 : { %s3_s2 = sshll.u32 %s1_s0, 4 ;; %s4_s2 = int_to_ptr.vmem %s3_s2 ;; "
                 "%s9_s9 = scalar_lea.sflag %s8_s8, 3 }\n"
                 "0x2 : { %5 = dma.hbm_to_vmem %s20_s20, 4096, %s4_s2, [#allocation5] ;; "
                 "%v1_v1 = vld [vmem:[#allocation3 + $0x1000] sm:$0xff] }\n"
                 "0x3 : { %6 = dma.done.wait [#allocation5], 4096 }\n");
    assert_int_equal(bench_allocation(&b, "allocation4")->space, SPACE_SFLAG);
    assert_int_equal(bench_allocation(&b, "allocation5")->space, SPACE_SFLAG);
    assert_int_equal(bench_allocation(&b, "allocation9")->space, SPACE_SFLAG);
    assert_int_equal(bench_allocation(&b, "allocation7")->space, SPACE_SMEM);
    assert_int_equal(bench_allocation(&b, "allocation2")->space, SPACE_VMEM);
    assert_int_equal(bench_allocation(&b, "allocation3")->space, SPACE_VMEM);
    /* one flag each, room behind the one that is counted from */
    assert_int_equal(bench_allocation(&b, "allocation4")->value, 0);
    assert_int_equal(bench_allocation(&b, "allocation9")->value, 1);
    assert_int_equal(bench_allocation(&b, "allocation5")->value, 17);
    /* half of VMEM each, in rows */
    assert_int_equal(bench_allocation(&b, "allocation2")->bytes, b.chip.vmem_bytes / 2);
    assert_int_equal(bench_allocation(&b, "allocation3")->value, b.chip.vmem_bytes / 2 / 512);
    bench_close(&b);
}

TEST(declared_allocations_get_what_they_declare)
{
    struct listing_bench b;

    bench_read(&b, "#allocation0 [shape = 'u32[]', space=smem, size = 0x4, offset = 0x4, fixed_abs, "
                 "tag = 'x']\n"
                 "#allocation1 [shape = 'u32[72,128]{1,0:T(1,128)}', space=vmem, size = 0x9000, "
                 "scoped, tag = 'internal scratch']\n"
                 "#allocation2 [shape = 's32[2]', space=sflag, size = 0x8, scoped]\n"
                 "#allocation3 [shape = 's32[1]', space=sflag, size = 0x4, scoped]\n"
                 "#allocation4 [shape = 'f32[8,128]', space=hbm, size = 0x1000]\n"
                 "0 : { %v1_v1 = vld [vmem:[#allocation5] sm:$0xff] }\n");
    assert_int_equal(bench_allocation(&b, "allocation1")->bytes, 0x9000);
    assert_int_equal(bench_allocation(&b, "allocation5")->address, 0x9000);
    assert_int_equal(bench_allocation(&b, "allocation5")->bytes, b.chip.vmem_bytes - 0x9000);
    assert_int_equal(bench_allocation(&b, "allocation3")->value, 2);
    assert_int_equal(bench_allocation(&b, "allocation0")->value, 4);        /* as the dump fixes it */
    assert_int_equal(bench_allocation(&b, "allocation4")->space, SPACE_HBM);
    bench_close(&b);
}

TEST(an_allocation_gets_at_least_what_is_reached)
{
    struct listing_bench b;

    /* 128 MiB: one reaches 100 MiB, the other two share the rest */
    bench_read(&b, "0 : { %v1_v1 = vld [vmem:[#allocation1 + $0x31ff8] sm:$0xff] ;; "
                 "%v2_v2 = vld [vmem:[#allocation2] sm:$0xff] }\n"
                 "0x1 : { %v3_v3 = vld [vmem:[#allocation3] sm:$0xff] }\n");
    assert_int_equal(bench_allocation(&b, "allocation1")->bytes, 0x32000 * 512);
    assert_int_equal(bench_allocation(&b, "allocation2")->bytes, 14 << 20);
    assert_int_equal(bench_allocation(&b, "allocation3")->bytes, 14 << 20);
    bench_close(&b);
}

TEST(allocations_that_do_not_fit_are_told)
{
    struct listing_bench b;

    bench_open(&b, "v6e");
    assert_int_equal(bench_scan(&b, "0 : { %v1_v1 = vld [vmem:[#allocation1 + $0x40000] sm:$0xff] }\n"),
                     0);
    assert_int_equal(bench_place(&b), -1);
    assert_string_equal(b.err.msg, "allocation1 takes 134221824 bytes of vmem; 134217728 of "
                        "134217728 are free");
    assert_int_equal(b.err.line, 1);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_read_with_shape_memory_and_kind),
        cmocka_unit_test(hbm_pointers_count_what_their_use_says),
        cmocka_unit_test(a_type_that_is_not_known_takes_what_is_reached),
        cmocka_unit_test(operands_that_may_alias_share_their_buffer),
        cmocka_unit_test(an_operand_that_does_not_fit_is_told),
        cmocka_unit_test(an_operand_whose_index_is_beyond_all_others_is_not_another_one),
        cmocka_unit_test(shapes_that_cannot_be_counted_are_none),
        cmocka_unit_test(a_copy_of_the_whole_tells_the_layout),
        cmocka_unit_test(a_block_of_a_grid_says_nothing_of_the_layout),
        cmocka_unit_test(a_strided_copy_says_nothing_of_the_layout),
        cmocka_unit_test(elements_lie_in_tiles),
        cmocka_unit_test(no_two_elements_share_a_place_in_any_layout),
        cmocka_unit_test(allocations_lie_where_their_uses_say),
        cmocka_unit_test(declared_allocations_get_what_they_declare),
        cmocka_unit_test(an_allocation_gets_at_least_what_is_reached),
        cmocka_unit_test(allocations_that_do_not_fit_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
