/*
 * Does the reader of compiler listings understand what it reads, place what
 * the listing needs, and say where it does not understand?
 */
#include "isa/listing.h"
#include "sim/chip.h"
#include "sim/limits.h"
#include "sim/machine.h"
#include "tests/test.h"

struct bench {
    struct arena arena;
    struct chip chip;
    struct listing listing;
    struct isa_errors errors;
    struct err err;
};

static void open_bench(struct bench *b, const char *chip)
{
    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    assert_int_equal(chip_load_builtin(&b->chip, chip, NULL, &b->arena, &b->err), 0);
}

static void close_bench(struct bench *b)
{
    arena_fini(&b->arena);
}

static int scan(struct bench *b, const char *text)
{
    return listing_scan(text, strlen(text), "x.txt", &b->arena, &b->listing, &b->errors);
}

static int place(struct bench *b)
{
    struct listing_memory memory = {1 << 30, b->chip.vmem_bytes, b->chip.smem_bytes,
                                    (int)b->chip.sync_flags};

    return listing_place(&b->listing, &memory, &b->err);
}

static void assemble(struct bench *b)
{
    struct isa_limits limits;

    chip_isa_limits(&b->chip, &limits);
    listing_assemble(&b->listing, &limits);
}

/* scan, place, assemble on a v6e; nothing may be wrong */
static void read_all(struct bench *b, const char *text)
{
    open_bench(b, "v6e");
    if (scan(b, text) != 0)
        fail_msg("%d:%d: %s", b->errors.err[0].line, b->errors.err[0].col, b->errors.err[0].msg);
    if (place(b) != 0)
        fail_msg("%s", b->err.msg);
    assemble(b);
}

static const struct listing_op *op_at(const struct bench *b, const char *mnemonic)
{
    for (uint32_t i = 0; i < b->listing.op_count; i++)
        if (strcmp(b->listing.op[i].mnemonic, mnemonic) == 0)
            return &b->listing.op[i];
    fail_msg("no %s", mnemonic);
    return NULL;
}

static const struct listing_allocation *allocation(const struct bench *b, const char *name)
{
    for (uint32_t i = 0; i < b->listing.allocation_count; i++)
        if (strcmp(b->listing.allocation[i].name, name) == 0)
            return &b->listing.allocation[i];
    fail_msg("no %s", name);
    return NULL;
}

/* ---- structure ---- */

TEST(bundles_have_their_numbers_lines_and_marks)
{
    struct bench b;

    read_all(&b, "= control target key start\nLB: loop body\n= control target key end\n\n"
                 "     0   :  { %s1_s0 = smov 3 }\n"
                 "   0x1 LB: > { %s2_s1 = smov 4  ;;  %s3_s2 = smov 5 }\n"
                 "   0x4 PF: >> {  }\n"
                 "  0x1d   : > { %5 = vst [vmem:$0x8] sm:$0xff\n"
                 "      /*vst_source=*/%v1_v2 }\n");
    assert_int_equal(b.listing.bundle_count, 4);
    assert_int_equal(b.listing.bundle_number[2], 4);
    assert_int_equal(b.listing.bundle_number[3], 0x1d);
    assert_int_equal(b.listing.bundle_line[3], 8);
    assert_int_equal(b.listing.op_count, 4);
    assert_int_equal(b.listing.unknown_count, 0);
    assert_int_equal(b.listing.op[2].bundle, 1);
    assert_string_equal(b.listing.op[3].text, "%5 = vst [vmem:$0x8] sm:$0xff %v1_v2");
    /* and a bundle with shalt behind the last */
    assert_int_equal(b.listing.program.bundle_count, 5);
    assert_int_equal(b.listing.program.op[4].code, OP_SHALT);
    assert_int_equal(b.listing.program.bundle[1].op_count, 2);
    assert_int_equal(b.listing.program.bundle[3].line, 8);
    close_bench(&b);
}

TEST(the_entry_is_named_by_its_comment)
{
    struct bench b;

    read_all(&b, "0 : { } /* entry bundle: %add.3 = fusion(%a, %b) */\n");
    assert_string_equal(b.listing.entry, "%add.3 = fusion(%a, %b)");
    close_bench(&b);
}

TEST(comments_nest_as_bounds_checks_print_them)
{
    struct bench b;

    read_all(&b, "0 : { %9 = shalt.err (!%p1_p4) /* BoundsCheck 0 for %13 = dma.hbm_to_vmem "
                 "/*hbm=*/%s0, /*size=*/512 /* \nbounds: (4, 1)\n */\nhlo: add\n */  ;;  "
                 "%s1_s1 = smov 7 /* materialized */ }\n");
    assert_int_equal(b.listing.op_count, 2);
    assert_int_equal(b.listing.unknown_count, 0);
    assert_int_equal(b.listing.op[1].line, 5);
    close_bench(&b);
}

TEST(a_comment_that_opens_another_ends_before_the_next_bundle)
{
    struct bench b;

    read_all(&b, "0 : { %s1_s1 = smov 7 /* loc(\"/tmp/*.py\":3) */ }\n"
                 "0x1 : { %s1_s2 = smov 8 /* plain */ }\n");
    assert_int_equal(b.listing.bundle_count, 2);
    assert_int_equal(b.listing.op_count, 2);
    close_bench(&b);
}

TEST(pointer_casts_and_phis_are_no_operations)
{
    struct bench b;

    read_all(&b, "0 : { %s2_s1 = sshll.u32 %s1_s0, 4  ;;  %s3_s1 = int_to_ptr.vmem "
                 "[resolvable:$true] %s2_s1  ;;  %s4_s2 = sphi %s1_s0, %s2_s1  ;;  "
                 "%v1_v1 = vphi %v2_v2, %v3_v3  ;;  %p1_p1 = pphi %p2_p2, %p3_p3  ;;  "
                 "%vm1_vm1 = vmphi %vm2_vm2, %vm3_vm3 }\n");
    assert_int_equal(b.listing.unknown_count, 0);
    assert_int_equal(b.listing.program.bundle[0].op_count, 1);
    close_bench(&b);
}

TEST(branches_go_to_the_bundle_with_that_number)
{
    struct bench b;
    const struct listing_op *op;

    read_all(&b, "0 : { }\n0x10 : { }\n"
                 "0x11 : { %9 = sbr.rel (!%p1_p0) target bundleno = 16 (0x10), region = 3 }\n"
                 "0x12 : { %10 = sbr.rel target bundleno = 99 (0x63), region = 4 }\n");
    op = &b.listing.op[0];
    assert_int_equal(op->code, OP_SBR);
    assert_int_equal(b.listing.program.op[op->op].operand[0].value, 1);
    assert_int_equal(b.listing.program.op[op->op].pred, 0);
    assert_true(b.listing.program.op[op->op].pred_is_negated);
    assert_string_equal(b.listing.op[1].reason, "no bundle 99 in the listing");
    close_bench(&b);
}

/* ---- errors ---- */

TEST(damage_is_told_with_its_place)
{
    static const struct { const char *text, *message; int line, col; } cases[] = {
        {"", "no bundles in the text: not a listing", 1, 1},
        {"1. Hello {\nworld }\n", "no bundles in the text: not a listing", 1, 1},
        {"0 : { %s1_s1 = smov 3\n0x1 : { }\n", "the bundle opened here is not closed", 1, 5},
        {"0 : { %s1_s1 = smov 3", "the bundle opened here is not closed", 1, 5},
        {"0 : { %s1_s1 = smov 3  ;;  }\n", "expected an operation", 1, 28},
        {"0 : { }\n0x1 : { %v1 = }\n", "expected an operation", 2, 14},
        {"0 : { = 5 }\n", "expected an operation", 1, 7},
        {"0 : { }\n0xg : { }\n", "expected a bundle's number such as 31 or 0x1f, found \"0\"",
         2, 1},
        {"0 : { }\n0x1 { }\n", "expected \":\" behind the bundle's number, found \"{\"", 2, 5},
        {"0 : { }\n0x1 : smov\n", "expected \"{\", found \"s\"", 2, 7},
        {"0 : { }\n0x1 :\n", "expected \"{\", found the end of the line", 2, 6},
        {"0x5 : { }\n0x5 : { }\n", "bundle 0x5 behind bundle 0x5; one program with ascending "
         "numbers is needed", 2, 1},
        {"0 : { }\nx ;; y\n", "expected a bundle's number such as 31 or 0x1f, found \"x\"", 2, 1},
        {"0 : { } }\n", "expected a bundle's number such as 31 or 0x1f, found \"}\"", 1, 9},
        {"0 : { }\n /* open\n", "the comment that begins here is not closed", 2, 2},
        {"0 : { %s1_s0 = inlined_call_operand.moon [shape: f32[8]] }\n",
         "an operand in a memory that is not known", 1, 7},
        {"0 : { %s1_s0 = inlined_call_operand.hbm [shape: what] }\n",
         "operand %s1_s0 without a shape such as", 1, 7},
        {"0 : { %s1_s0 = inlined_call_operand.hbm [index: 0] }\n",
         "operand %s1_s0 without a shape such as", 1, 7},
        {"0 : { %v1_v0 = inlined_call_operand.hbm [shape: f32[8]] }\n",
         "operand \"%v1_v0\" names no scalar register (s0..s31)", 1, 7},
        {"0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[8], index: 0]\n  ;; %s2_s1 = "
         "inlined_call_operand.hbm [shape: f32[8], index: 0] }\n",
         "operand 0 is already declared in line 1", 2, 6},
        {"#allocation1 [shape = 'f32[8]', space=moon, size = 8]\n0 : { }\n",
         "allocation allocation1 in a memory that is not known", 1, 1},
        {"#allocation1 [shape = 'f32[8]', space=vmem, size = -8]\n0 : { }\n",
         "expected an allocation such as", 1, 1},
        {"#a [space=vmem, size = 8]\n#a [space=vmem, size = 8]\n0 : { }\n",
         "allocation a is already declared in line 1", 2, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;

        open_bench(&b, "v6e");
        assert_int_equal(scan(&b, cases[i].text), -1);
        if (strncmp(b.errors.err[0].msg, cases[i].message, strlen(cases[i].message)) != 0 ||
            b.errors.err[0].line != cases[i].line || b.errors.err[0].col != cases[i].col)
            fail_msg("case %zu: %d:%d: %s", i, b.errors.err[0].line, b.errors.err[0].col,
                     b.errors.err[0].msg);
        close_bench(&b);
    }
}

TEST(all_errors_are_gathered_up_to_the_most)
{
    struct bench b;
    char text[1200] = "0 : { }\n";

    for (int i = 0; i < 40; i++)
        strcat(text, "0x1 { }\n");
    open_bench(&b, "v6e");
    assert_int_equal(scan(&b, text), -1);
    assert_int_equal(b.errors.count, ISA_ERROR_MAX);
    assert_int_equal(b.errors.err[7].line, 9);
    close_bench(&b);
}

TEST(every_cut_of_a_listing_is_read_or_refused)
{
    static const char text[] =
        "#allocation0 [shape = 'u32[8,128]', space=vmem, size = 0x1000]\n"
        "0 : { %s1_s0 = inlined_call_operand.hbm [shape: bf16[8,16]{1,0:T(8,128)(2,1)}, index: 0, "
        "kind: input, shape index: {}] /* operand 0 */ ;; %3 = vsyncpa [#allocation1], 0 }\n"
        "0x1 LB: > { %4 = dma.hbm_to_vmem [thread:$0] %s1_s0, 128, %s2_s1, [#allocation1] /* /*x*/"
        " */ ;; %v1_v0 = vld [vmem:[#allocation0 + $0x8] ss:$2 sm:$0x3] }\n"
        "0x2 : { %v2_v1 = vfoo.f32.xlu1 %v1_v0, [1/2] (short) 3  ;; %5 = sbr.rel (!%p1_p0) target "
        "bundleno = 1 (0x1), region = 2 }\n";

    for (size_t length = 0; length < sizeof(text); length++) {
        struct bench b;
        char *cut = malloc(length + 1);         /* so that a sanitizer sees reads beyond it */

        memcpy(cut, text, length);
        open_bench(&b, "v6e");
        if (listing_scan(cut, length, "x", &b.arena, &b.listing, &b.errors) == 0) {
            assert_int_equal(place(&b), 0);
            assemble(&b);
        } else {
            assert_true(b.errors.count > 0);
        }
        close_bench(&b);
        free(cut);
    }
}

/* ---- operands ---- */

TEST(operands_are_read_with_shape_memory_and_kind)
{
    struct bench b;
    const struct listing_operand *o;

    read_all(&b, "0 : { %s164_s0 = inlined_call_operand.vmem [shape: f32[8,128], index: 0, kind: "
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
    close_bench(&b);
}

TEST(hbm_pointers_count_what_their_use_says)
{
    struct bench b;

    /* the first goes into a copy as it is, the second is shifted to granules */
    read_all(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: "
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
    close_bench(&b);
}

TEST(a_type_that_is_not_known_is_told)
{
    struct bench b;

    open_bench(&b, "v6e");
    assert_int_equal(scan(&b, "0 : { %s1_s0 = inlined_call_operand.hbm [shape: token[], index: 0, "
                              "kind: input] }\n"), 0);
    assert_int_equal(place(&b), -1);
    assert_string_equal(b.err.msg, "operand 0 is token[], a type that is not known");
    assert_int_equal(b.err.col, 7);
    close_bench(&b);
}

TEST(an_operand_that_does_not_fit_is_told)
{
    struct bench b;

    open_bench(&b, "v6e");
    assert_int_equal(scan(&b, "0 : { %s1_s0 = inlined_call_operand.vmem [shape: f32[65536,1024], "
                              "index: 0, kind: input] }\n"), 0);
    assert_int_equal(place(&b), -1);
    assert_string_equal(b.err.msg, "the operand takes 268435456 bytes of vmem; 134217728 of "
                        "134217728 are free");
    close_bench(&b);
}

/* ---- layouts ---- */

static void shape_of(struct bench *b, const char *shape, int granules)
{
    char text[400];

    snprintf(text, sizeof(text), "0 : { %%s1_s0 = inlined_call_operand.hbm [shape: %s, index: 0, "
             "kind: input] }\n0x1 : { %%2 = dma.hbm_to_vmem %%s1_s0, %d, %%s2_s1, [#allocation1] }"
             "\n", shape, granules);
    read_all(b, text);
}

static const char *print(const struct bench *b, char *buf, size_t bytes)
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
        struct bench b;

        shape_of(&b, cases[i].shape, cases[i].granules);
        assert_string_equal(print(&b, buf, sizeof(buf)), cases[i].layout);
        close_bench(&b);
    }
}

static int64_t bit_of(const struct bench *b, int64_t index)
{
    const struct listing_operand *o = &b->listing.operand[0];

    return listing_element_bit(&o->layout, &o->shape, index);
}

/* the formula for tiles of 8x128 words, written out for each case by hand */
TEST(elements_lie_in_tiles)
{
    struct bench b;

    shape_of(&b, "f32[16,200]", 512);
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 200; j++)
            assert_int_equal(bit_of(&b, i * 200 + j), 32 * ((i / 8 * 2 + j / 128) * 1024 +
                                                            i % 8 * 128 + j % 128));
    close_bench(&b);
    shape_of(&b, "f32[200,16]{0,1:T(8,128)}", 512);
    for (int64_t i = 0; i < 200; i++)
        for (int64_t j = 0; j < 16; j++)
            assert_int_equal(bit_of(&b, i * 16 + j), 32 * ((j / 8 * 2 + i / 128) * 1024 +
                                                           j % 8 * 128 + i % 128));
    close_bench(&b);
    shape_of(&b, "bf16[16,128]{1,0:T(8,128)(2,1)}", 128);
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 128; j++)
            assert_int_equal(bit_of(&b, i * 128 + j), 32 * (i / 8 * 512 + i % 8 / 2 * 128 + j) +
                                                      16 * (i % 2));
    close_bench(&b);
    shape_of(&b, "u32[300]", 48);
    for (int64_t i = 0; i < 300; i++)
        assert_int_equal(bit_of(&b, i), 32 * i);
    assert_int_equal(b.listing.operand[0].layout.bytes, 3 * 512);
    close_bench(&b);
}

TEST(no_two_elements_share_a_place_in_any_layout)
{
    static const char *const shapes[] = {
        "f32[3,5,7]", "bf16[2,9,130]{1,2,0:T(8,128)(2,1)}", "s8[37,129]", "s4[10,140]",
        "u32[]", "f32[2,3,4]{0,1,2:T(2,128)}", "bf16[300]", "pred[1,1]", "f32[1025]{0:T(1024)}",
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct listing_operand *o;
        struct bench b;
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
        close_bench(&b);
    }
}

/* ---- allocations ---- */

TEST(allocations_lie_where_their_uses_say)
{
    struct bench b;

    read_all(&b, "0 : { %1 = vsyncpa [#allocation4], 0 ;; %s1_s0 = smov [#allocation2] ;; "
                 "%s2_s1 = sld [smem:[#allocation7 + $0x10]] ;; %s8_s8 = smov [#allocation9] }\n"
                 "0x1 : { %s3_s2 = sshll.u32 %s1_s0, 4 ;; %s4_s2 = int_to_ptr.vmem %s3_s2 ;; "
                 "%s9_s9 = scalar_lea.sflag %s8_s8, 3 }\n"
                 "0x2 : { %5 = dma.hbm_to_vmem %s20_s20, 4096, %s4_s2, [#allocation5] ;; "
                 "%v1_v1 = vld [vmem:[#allocation3 + $0x1000] sm:$0xff] }\n"
                 "0x3 : { %6 = dma.done.wait [#allocation5], 4096 }\n");
    assert_int_equal(allocation(&b, "allocation4")->space, SPACE_SFLAG);
    assert_int_equal(allocation(&b, "allocation5")->space, SPACE_SFLAG);
    assert_int_equal(allocation(&b, "allocation9")->space, SPACE_SFLAG);
    assert_int_equal(allocation(&b, "allocation7")->space, SPACE_SMEM);
    assert_int_equal(allocation(&b, "allocation2")->space, SPACE_VMEM);
    assert_int_equal(allocation(&b, "allocation3")->space, SPACE_VMEM);
    /* one flag each, room behind the one that is counted from */
    assert_int_equal(allocation(&b, "allocation4")->value, 0);
    assert_int_equal(allocation(&b, "allocation9")->value, 1);
    assert_int_equal(allocation(&b, "allocation5")->value, 17);
    /* half of VMEM each, in rows */
    assert_int_equal(allocation(&b, "allocation2")->bytes, b.chip.vmem_bytes / 2);
    assert_int_equal(allocation(&b, "allocation3")->value, b.chip.vmem_bytes / 2 / 512);
    close_bench(&b);
}

TEST(declared_allocations_get_what_they_declare)
{
    struct bench b;

    read_all(&b, "#allocation0 [shape = 'u32[]', space=smem, size = 0x4, offset = 0x4, fixed_abs, "
                 "tag = 'x']\n"
                 "#allocation1 [shape = 'u32[72,128]{1,0:T(1,128)}', space=vmem, size = 0x9000, "
                 "scoped, tag = 'internal scratch']\n"
                 "#allocation2 [shape = 's32[2]', space=sflag, size = 0x8, scoped]\n"
                 "#allocation3 [shape = 's32[1]', space=sflag, size = 0x4, scoped]\n"
                 "#allocation4 [shape = 'f32[8,128]', space=hbm, size = 0x1000]\n"
                 "0 : { %v1_v1 = vld [vmem:[#allocation5] sm:$0xff] }\n");
    assert_int_equal(allocation(&b, "allocation1")->bytes, 0x9000);
    assert_int_equal(allocation(&b, "allocation5")->address, 0x9000);
    assert_int_equal(allocation(&b, "allocation5")->bytes, b.chip.vmem_bytes - 0x9000);
    assert_int_equal(allocation(&b, "allocation3")->value, 2);
    assert_int_equal(allocation(&b, "allocation4")->space, SPACE_HBM);
    close_bench(&b);
}

TEST(an_allocation_gets_at_least_what_is_reached)
{
    struct bench b;

    /* 128 MiB: one reaches 100 MiB, the other two share the rest */
    read_all(&b, "0 : { %v1_v1 = vld [vmem:[#allocation1 + $0x31ff8] sm:$0xff] ;; "
                 "%v2_v2 = vld [vmem:[#allocation2] sm:$0xff] }\n"
                 "0x1 : { %v3_v3 = vld [vmem:[#allocation3] sm:$0xff] }\n");
    assert_int_equal(allocation(&b, "allocation1")->bytes, 0x32000 * 512);
    assert_int_equal(allocation(&b, "allocation2")->bytes, 14 << 20);
    assert_int_equal(allocation(&b, "allocation3")->bytes, 14 << 20);
    close_bench(&b);
}

TEST(allocations_that_do_not_fit_are_told)
{
    struct bench b;

    open_bench(&b, "v6e");
    assert_int_equal(scan(&b, "0 : { %v1_v1 = vld [vmem:[#allocation1 + $0x40000] sm:$0xff] }\n"),
                     0);
    assert_int_equal(place(&b), -1);
    assert_string_equal(b.err.msg, "allocation1 takes 134221824 bytes of vmem; 134217728 of "
                        "134217728 are free");
    assert_int_equal(b.err.line, 1);
    close_bench(&b);
}

/* ---- operations that are not known ---- */

TEST(unknown_operations_become_stand_ins_of_their_slot)
{
    static const struct { const char *text; int code; } cases[] = {
        {"%s1_s1 = sfoo.s32 %s2_s2, 5", OP_STAND_IN_SCALAR},
        {"%p1_p1 = pfoo %p2_p2", OP_STAND_IN_SCALAR},
        {"setfoo %s1_s1", OP_STAND_IN_SCALAR},
        {"%v1_v1 = vfoo.f32 %v2_v2, %v3_v3", OP_STAND_IN_VALU},
        {"%v1_v1 = vstfoo %v2_v2", OP_STAND_IN_VALU},
        {"%v1_v1 = vadd.f32 %v2_v2", OP_STAND_IN_VALU},          /* an operand too few */
        {"%v1_v1 = vadd.f32 %v2_v2, %v3_v3, %v4_v4", OP_STAND_IN_VALU},
        {"%v1_v1 = vadd.f32 %v2_v99, %v3_v3", OP_STAND_IN_VALU},
        {"%5 = vsigmoid.f32 %v2_v2", OP_STAND_IN_EUP},
        {"%v1_v1 = vld.foo [vmem:%s1_s1]", OP_STAND_IN_LOAD},
        {"%5 = vst.foo [vmem:%s1_s1] %v1_v1", OP_STAND_IN_STORE},
        {"%5 = vfoo.xlu1 %v2_v2", OP_STAND_IN_PUSH},
        {"%5 = vmatfoo.mxu0 %v2_v2", OP_STAND_IN_PUSH},
        {"%v1_v1 = vpop.foo.xlu1 %5", OP_STAND_IN_POP},
        {"%5 = vsyncfoo [#allocation1], 3", OP_STAND_IN_MISC},
        {"%5 = dma.moon_to_vmem %s1_s1, 128, %s2_s2, [#allocation1]", OP_STAND_IN_DMA},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        struct bench b;

        snprintf(text, sizeof(text), "0 : { %s }\n", cases[i].text);
        read_all(&b, text);
        assert_int_equal(b.listing.unknown_count, 1);
        if (b.listing.program.op[0].code != cases[i].code || !b.listing.op[0].reason)
            fail_msg("%s becomes %s", cases[i].text,
                     isa_info(b.listing.program.op[0].code)->mnemonic);
        close_bench(&b);
    }
}

TEST(pops_of_an_unknown_push_are_stand_ins_too)
{
    struct bench b;

    read_all(&b, "0 : { %5 = vfoo.xlu0 %v1_v1 ;; %6 = vrot.lane.b32.xlu0 %v1_v1, %s1_s1 }\n"
                 "0x1 : { %7 = vrcp.f32 %v1_v1 }\n"
                 "0x2 : { %v2_v2 = vpop.permute.xlu0 %5 ;; %v3_v3 = vpop.foo.eup %7 }\n"
                 "0x3 : { %v4_v4 = vpop.permute.xlu0 %6 }\n");
    assert_string_equal(op_at(&b, "vpop.permute.xlu0")->reason, "belongs to vfoo.xlu0 in line 1");
    assert_non_null(op_at(&b, "vrcp.f32")->reason);
    assert_null(op_at(&b, "vrot.lane.b32.xlu0")->reason);
    assert_int_equal(b.listing.unknown_count, 4);
    close_bench(&b);
}

TEST(an_unknown_step_of_a_transpose_takes_the_whole_along)
{
    struct bench b;

    read_all(&b, "0 : { %5 = vxpose.xlu0.b32.start [1/2] (short) %v1_v1, 128 }\n"
                 "0x1 : { %6 = vxpose.xlu0.b32.foo [2/2] (short) %v1_v1, 128 }\n"
                 "0x2 : { %v2_v2 = vpop.trf.xlu0 }\n"
                 "0x3 : { %7 = vxpose.xlu1.b32.start.end [1/1] (short) %v1_v1, 128 }\n"
                 "0x4 : { %v2_v2 = vpop.trf.xlu1 }\n");
    assert_non_null(op_at(&b, "vxpose.xlu0.b32.start")->reason);
    assert_non_null(op_at(&b, "vpop.trf.xlu0")->reason);
    assert_null(op_at(&b, "vpop.trf.xlu1")->reason);
    close_bench(&b);
}

TEST(waits_for_an_unknown_copy_do_not_hold_the_run_up)
{
    struct bench b;

    read_all(&b, "0 : { %5 = dma.moon_to_vmem %s1_s1, 128, %s2_s2, [#allocation1] ;; "
                 "%6 = vsyncpa [#allocation1], 0 }\n"
                 "0x1 : { %7 = dma.done.wait [#allocation1], 128 }\n"
                 "0x2 : { %8 = vsyncadd [#allocation1], 4294967168 }\n"
                 "0x3 : { %9 = vsyncadd [#allocation2], 4294967168 }\n");
    assert_non_null(op_at(&b, "dma.done.wait")->reason);
    assert_non_null(b.listing.op[3].reason);
    assert_null(b.listing.op[4].reason);
    assert_null(op_at(&b, "vsyncpa")->reason);
    close_bench(&b);
}

/* ---- runs ---- */

static struct machine *machine_of(struct bench *b, const char *tpu, cycle_t limit)
{
    struct machine_options options = {.thread_count = 1, .cycle_limit = limit};
    struct slice slice;
    struct machine *m;

    assert_int_equal(slice_parse(&slice, tpu, &b->err), 0);
    m = machine_create(&slice, &b->chip, &options, &b->err);
    if (!m)
        fail_msg("%s", b->err.msg);
    for (uint32_t i = 0; i < b->listing.operand_count; i++)
        assert_int_equal(machine_set_scalar(m, 0, b->listing.operand[i].reg,
                                            b->listing.operand[i].value, &b->err), 0);
    if (machine_load_listing(m, 0, &b->listing.program, &b->err) != 0)
        fail_msg("%s", b->err.msg);
    return m;
}

/* a kernel such as the compiler writes: two inputs, one result, all in HBM */
TEST(a_listing_runs_on_its_operands)
{
    static const char text[] =
        "     0   :  { %9 = vsyncpa [#allocation3], 0  ;;  %s170_s0 = inlined_call_operand.hbm "
        "[shape: f32[8,128], index: 0, kind: input, shape index: {}]  ;;  %s171_s1 = "
        "inlined_call_operand.<no memory space> [shape: f32[], index: 1, kind: input, shape "
        "index: {}]  ;;  %s172_s2 = inlined_call_operand.hbm [shape: f32[8,128], index: 2, kind: "
        "output, shape index: {}] } /* entry bundle: %mul = fusion(%a, %b) */\n"
        "   0x1   :  { %s143_s12 = smov [#allocation2] /* materialized constant */  ;;  "
        "%s15_s11 = sshll.u32 %s170_s0, 4  ;;  %s16_s11 = int_to_ptr.hbm [resolvable:$true] "
        "%s15_s11 }\n"
        "   0x2   :  { %s17_s13 = sshll.u32 %s143_s12, 4  ;;  %s18_s13 = int_to_ptr.vmem "
        "[resolvable:$true] %s17_s13  ;;  %s51_s3 = sshll.u32 %s172_s2, 4 }\n"
        "   0x3   :  { %20 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s16_s11, "
        "/*size_in_granules=*/128, /*vmem=*/%s18_s13, /*dst_syncflagno=*/[#allocation3] /* \n"
        "base_bounds: (1, 1)\n */ }\n"
        "   0x4   :  { %137 = dma.done.wait [#allocation3], 128 }\n"
        "   0x5   :  { %138 = vsyncadd [#allocation3], 4294967168  ;;  %v40_v0 = vld "
        "[vmem:[#allocation2] sm:$0xff]  ;;  %v41_v1 = vstv %s171_s1 }\n"
        "   0x6   :  { %v42_v2 = vmul.f32 %v41_v1, %v40_v0 }\n"
        "   0x7   :  { %43 = vst [vmem:[#allocation2] sm:$0xff] /*vst_source=*/%v42_v2 }\n"
        "   0x8   :  { %54 = dma.vmem_to_hbm [thread:$0]  /*vmem=*/%s18_s13, "
        "/*size_in_granules=*/128, /*hbm=*/%s51_s3, /*dst_syncflagno=*/[#allocation3] }\n"
        "   0x9   :  { %141 = dma.done.wait [#allocation3], 128 }\n"
        "   0xa   :  { %59 = vsyncpa [#allocation3], 1 } /* exit bundle */\n";
    float in[1024], out[1024], factor = 3.25f;
    struct bench b;
    struct machine *m;

    open_bench(&b, "v5e");
    assert_int_equal(scan(&b, text), 0);
    assert_int_equal(place(&b), 0);
    memcpy(&b.listing.operand[1].value, &factor, sizeof(factor));
    assemble(&b);
    assert_int_equal(b.listing.unknown_count, 0);
    m = machine_of(&b, "v5e", 100000);
    for (int i = 0; i < 1024; i++)
        in[i] = 0.5f * (float)i - 100.0f;
    assert_int_equal(machine_hbm_write(m, 0, b.listing.operand[0].address, in, 4096, &b.err), 0);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    assert_int_equal(machine_hbm_read(m, 0, b.listing.operand[2].address, out, 4096, &b.err), 0);
    for (int i = 0; i < 1024; i++)
        assert_true(out[i] == in[i] * factor);
    assert_false(machine_stand_in(m, 0)->is_met);
    machine_destroy(m);
    close_bench(&b);
}

TEST(a_loop_runs_with_the_delay_bundles_of_its_chip)
{
    static const char text[] =
        "0 : { %s1_s0 = smov 0 }\n"
        "0x7 LB: > { %s2_s0 = sadd.s32 1, %s1_s0 }\n"
        "0x8 : > { %p1_p0 = scmp.lt.s32.totalorder %s2_s0, 5 }\n"
        "0x9 : > { %3 = sbr.rel (%p1_p0) target bundleno = 7 (0x7), region = 2 }\n"
        "0xa : > { }\n0xb : > { }\n0xc : > { }\n0xd : > { }\n"
        "0xe : { %4 = sst [smem:[#allocation1]] %s2_s0 }\n";
    struct bench b;
    struct machine *m;
    int32_t word;

    read_all(&b, text);
    m = machine_of(&b, "v6e", 100000);
    if (b.listing.unknown_count)
        fail_msg("%s", b.listing.op[4].reason);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    assert_int_equal(machine_smem_read(m, 0, allocation(&b, "allocation1")->address, &word, 4,
                                       &b.err), 0);
    assert_int_equal(word, 5);
    assert_int_equal(machine_counters(m, 0)->issue_cycles, 1 + 5 * 7 + 2);
    machine_destroy(m);
    close_bench(&b);
}

TEST(an_endless_loop_ends_at_the_cycle_limit)
{
    struct bench b;
    struct machine *m;

    read_all(&b, "0 : { %3 = sbr.rel target bundleno = 0 (0x0), region = 2 }\n"
                 "0x1 : { }\n0x2 : { }\n0x3 : { }\n0x4 : { }\n");
    m = machine_of(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), -1);
    assert_int_equal(machine_fault(m)->kind, FAULT_NO_HALT);
    assert_int_equal(machine_fault(m)->cycle, 1000);
    machine_destroy(m);
    close_bench(&b);
}

TEST(the_first_stand_in_that_runs_is_noted)
{
    struct bench b;
    struct machine *m;
    const struct stand_in_site *site;

    read_all(&b, "0 : { %s1_s0 = smov 3 ;; %s2_s1 = smov 4 }\n0x1 : { %s1_s2 = smov 3 }\n"
                 "0x2 : { %v1_v1 = vfoo %v2_v2 ;; %s1_s4 = smov 3 }\n"
                 "0x3 : { %v1_v1 = vfoo %v2_v2 }\n");
    m = machine_of(&b, "v6e", 1000);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    site = machine_stand_in(m, 0);
    assert_true(site->is_met);
    assert_int_equal(site->bundle, 2);
    assert_int_equal(site->cycle, 2);
    assert_int_equal(site->bundles, 2);
    assert_int_equal(site->operations, 3);
    assert_int_equal(machine_cycles(m), 5);
    machine_destroy(m);
    close_bench(&b);
}

TEST(stand_ins_write_nothing)
{
    struct bench b;
    struct machine *m;
    int32_t word;

    read_all(&b, "0 : { %s1_s0 = smov 3 }\n0x1 : { %s1_s0 = sfoo 9 }\n"
                 "0x2 : { %4 = sst [smem:[#allocation1]] %s1_s0 }\n");
    m = machine_of(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    machine_smem_read(m, 0, 0, &word, 4, &b.err);
    assert_int_equal(word, 3);
    machine_destroy(m);
    close_bench(&b);
}

TEST(an_operand_declared_late_arrives_where_it_stands)
{
    struct bench b;
    struct machine *m;
    int32_t word[2];

    read_all(&b, "0 : { %s1_s0 = smov 3 }\n0x1 : { %4 = sst [smem:[#allocation1]] %s1_s0 }\n"
                 "0x2 : { %s9_s0 = inlined_call_operand.hbm [shape: f32[8], index: 0, kind: input] "
                 ";; %s8_s1 = inlined_call_operand.hbm [shape: f32[8], index: 1, kind: input] }\n"
                 "0x3 : { %5 = sst [smem:[#allocation1 + $0x4]] %s8_s1 }\n");
    m = machine_of(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    machine_smem_read(m, 0, 0, word, 8, &b.err);
    assert_int_equal(word[0], 3);
    assert_int_equal(word[1], 4096 / 512);
    machine_destroy(m);
    close_bench(&b);
}

TEST(a_bundle_beyond_the_slots_runs_and_can_be_named)
{
    struct isa_limits limits;
    struct bench b;
    struct machine *m;

    read_all(&b, "0 : { %s1_s0 = smov 3 ;; %s1_s1 = smov 3 ;; %s1_s2 = smov 3 ;; %s1_s0 = smov 4 "
                 "}\n");
    chip_isa_limits(&b.chip, &limits);
    assert_int_equal(isa_check_slots(&b.listing.program, 0, &limits, &b.err), -1);
    assert_non_null(strstr(b.err.msg, "bundle 0: 4 operations for the scalar slot"));
    m = machine_of(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    assert_int_equal(machine_load(m, 0, &b.listing.program, &b.err), -1);
    machine_destroy(m);
    close_bench(&b);
}

TEST(operations_beyond_a_bundle_are_left_out_and_told)
{
    char text[1000] = "0 : { %s1_s0 = smov 1";
    struct bench b;

    for (int i = 0; i < ISA_BUNDLE_OP_MAX; i++)
        strcat(text, " ;; %s1_s1 = smov 2");
    strcat(text, " }\n");
    read_all(&b, text);
    assert_int_equal(b.listing.unknown_count, 1);
    assert_int_equal(b.listing.program.bundle[0].op_count, ISA_BUNDLE_OP_MAX);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bundles_have_their_numbers_lines_and_marks),
        cmocka_unit_test(the_entry_is_named_by_its_comment),
        cmocka_unit_test(comments_nest_as_bounds_checks_print_them),
        cmocka_unit_test(a_comment_that_opens_another_ends_before_the_next_bundle),
        cmocka_unit_test(pointer_casts_and_phis_are_no_operations),
        cmocka_unit_test(branches_go_to_the_bundle_with_that_number),
        cmocka_unit_test(damage_is_told_with_its_place),
        cmocka_unit_test(all_errors_are_gathered_up_to_the_most),
        cmocka_unit_test(every_cut_of_a_listing_is_read_or_refused),
        cmocka_unit_test(operands_are_read_with_shape_memory_and_kind),
        cmocka_unit_test(hbm_pointers_count_what_their_use_says),
        cmocka_unit_test(a_type_that_is_not_known_is_told),
        cmocka_unit_test(an_operand_that_does_not_fit_is_told),
        cmocka_unit_test(a_copy_of_the_whole_tells_the_layout),
        cmocka_unit_test(elements_lie_in_tiles),
        cmocka_unit_test(no_two_elements_share_a_place_in_any_layout),
        cmocka_unit_test(allocations_lie_where_their_uses_say),
        cmocka_unit_test(declared_allocations_get_what_they_declare),
        cmocka_unit_test(an_allocation_gets_at_least_what_is_reached),
        cmocka_unit_test(allocations_that_do_not_fit_are_told),
        cmocka_unit_test(unknown_operations_become_stand_ins_of_their_slot),
        cmocka_unit_test(pops_of_an_unknown_push_are_stand_ins_too),
        cmocka_unit_test(an_unknown_step_of_a_transpose_takes_the_whole_along),
        cmocka_unit_test(waits_for_an_unknown_copy_do_not_hold_the_run_up),
        cmocka_unit_test(a_listing_runs_on_its_operands),
        cmocka_unit_test(a_loop_runs_with_the_delay_bundles_of_its_chip),
        cmocka_unit_test(an_endless_loop_ends_at_the_cycle_limit),
        cmocka_unit_test(the_first_stand_in_that_runs_is_noted),
        cmocka_unit_test(stand_ins_write_nothing),
        cmocka_unit_test(an_operand_declared_late_arrives_where_it_stands),
        cmocka_unit_test(a_bundle_beyond_the_slots_runs_and_can_be_named),
        cmocka_unit_test(operations_beyond_a_bundle_are_left_out_and_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
