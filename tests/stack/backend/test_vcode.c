/* Does compiled code do what the virtual-register code says, and how fast? */
#include "tests/test.h"

#include <time.h>


#include "isa/check.h"
#include "isa/matrix.h"
#include "sim/chip/limits.h"
#include "stack/backend/emitters.h"
#include "stack/backend/vcode.h"
#include "tests/generate/hand_vcode.h"
#include "tests/generate/random_vcode.h"
#include "tests/reference/symbolic.h"
#include "tests/rigs/whole_program.h"

#define SPILL_TILES ((SYMBOLIC_ROWS - SYMBOLIC_SPILL_ROW) / 8)

struct compiled {
    struct arena arena;
    struct isa_program program;
    struct vcode_stats stats;
};

static void compile(struct compiled *p, const struct vcode *c, const struct chip *chip)
{
    struct isa_limits limits;
    struct err e;

    arena_init(&p->arena);
    chip_isa_limits(chip, &limits);
    if (whole_program(c, chip, SYMBOLIC_SPILL_ROW, SPILL_TILES, &p->arena, &p->program,
                      &p->stats, &e) || isa_check(&p->program, &limits, &e))
        fail_msg("%s", e.msg);
}

static void assert_same_effect(const struct vcode *c, const struct chip *chip,
                               const struct isa_program *p)
{
    struct symbolic x, y;

    symbolic_init(&x, chip, c->vreg_count + 1, c->mask_count + 1);
    symbolic_init(&y, chip, ISA_VREG_MAX, ISA_MASK_COUNT);
    symbolic_run_vcode(&x, c);
    symbolic_run_program(&y, p);
    symbolic_assert_equal(&x, &y);
    symbolic_fini(&x);
    symbolic_fini(&y);
}

static int64_t check_random(const struct random_vcode *r, const struct chip *units,
                            const struct chip *chip)
{
    struct arena arena;
    struct vcode c;
    struct compiled p;
    int64_t spills;

    arena_init(&arena);
    vcode_init(&c, &arena);
    random_vcode_emit(&c, units, r);
    compile(&p, &c, chip);
    assert_same_effect(&c, chip, &p.program);
    spills = p.stats.spill_count;
    assert_in_range(p.stats.vreg_peak, 1, chip->core_vregs);
    arena_fini(&p.arena);
    vcode_fini(&c);
    arena_fini(&arena);
    return spills;
}

TEST(random_blocks_keep_their_meaning_on_any_chip)
{
    struct chip plain = hand_chip(), wide = hand_wide_chip();
    int64_t plain_spills = 0, narrow_spills = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random_vcode r = {.seed = seed, .op_count = 10 + (int)(seed * 7 % 150),
                                 .reach = 4 + (int)(seed % 30), .has_outside = true};
        struct chip narrow = hand_narrow_chip(8 + (int)(seed % 5));

        plain_spills += check_random(&r, &plain, &plain);
        narrow_spills += check_random(&r, &narrow, &narrow);
        check_random(&r, &wide, &wide);
    }
    assert_true(narrow_spills > 1000);
    assert_true(plain_spills < narrow_spills);
}

TEST(same_code_compiles_to_the_same_bundles)
{
    struct random_vcode r = {.seed = 5, .op_count = 200, .reach = 30, .has_outside = true};
    struct chip chip = hand_chip();
    struct arena arena;
    struct vcode c;
    struct compiled p, q;

    arena_init(&arena);
    vcode_init(&c, &arena);
    random_vcode_emit(&c, &chip, &r);
    compile(&p, &c, &chip);
    compile(&q, &c, &chip);
    assert_int_equal(p.program.op_count, q.program.op_count);
    assert_int_equal(p.program.bundle_count, q.program.bundle_count);
    assert_memory_equal(p.program.op, q.program.op,
                        p.program.op_count * sizeof(*p.program.op));
    arena_fini(&p.arena);
    arena_fini(&q.arena);
    vcode_fini(&c);
    arena_fini(&arena);
}

/* a sigmoid of each of `count` tiles from row 0 on, stored `shift` rows further */
static void emit_sigmoids(struct vcode *c, int count, int shift, int store_region)
{
    for (int i = 0; i < count; i++) {
        int x = emit_vld(c, isa_rows_at(NONE, 8 * i), 0);

        x = emit_vpow2(c, vcode_in_register(c, R(x)));
        x = emit_vrcp(c, vcode_in_register(c, R(emit_vadd_f32(c, R(x), F(1)))));
        emit_vst(c, isa_rows_at(NONE, 8 * i + shift), x, store_region);
    }
}

static bool is_staggered(int shift, int store_region)
{
    struct chip chip = hand_chip();
    struct vcode plain, staggered;
    struct compiled p;
    struct arena arena;
    bool is_other;

    arena_init(&arena);
    vcode_init(&plain, &arena);
    vcode_init(&staggered, &arena);
    emit_sigmoids(&plain, 40, shift, store_region);
    emit_sigmoids(&staggered, 40, shift, store_region);
    vcode_stagger(&staggered, 0, &chip);
    is_other = memcmp(plain.block[0].op, staggered.block[0].op,
                      plain.block[0].op_count * sizeof(struct vcode_op)) != 0;
    compile(&p, &staggered, &chip);
    assert_same_effect(&plain, &chip, &p.program);
    arena_fini(&p.arena);
    vcode_fini(&plain);
    vcode_fini(&staggered);
    arena_fini(&arena);
    return is_other;
}

TEST(chains_of_functions_are_staggered_where_nothing_changes)
{
    assert_true(is_staggered(1024, 1));     /* elsewhere, as the regions say */
    assert_true(is_staggered(0, 0));        /* in place: tile by tile */
    assert_false(is_staggered(4, 0));       /* over the next tile's first rows */
    assert_false(is_staggered(3, VCODE_REGION_ANY));
}

static int64_t count_ops(const struct isa_program *p, enum isa_opcode code)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < p->op_count; i++)
        count += p->op[i].code == code;
    return count;
}

/*
 * Cycles of a program without loops on a machine that interlocks: a bundle
 * issues one cycle after the last one at the earliest, when its vector
 * operands are there and the MXU ports it needs are free.
 */
static int64_t straight_cycles(const struct isa_program *p, const struct chip *chip)
{
    int64_t now = 0, ready[ISA_VREG_MAX] = {0}, weights[8] = {0}, rows[8] = {0};
    int64_t result[8][512], last_push[8] = {0};
    int pushed[8] = {0}, popped[8] = {0};

    for (uint32_t b = 0; b < p->bundle_count; b++, now++) {
        const struct isa_op *op = &p->op[p->bundle[b].first_op];

        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < p->bundle[b].op_count; i++) {
                const struct isa_info *info = isa_info(op[i].code);
                bool is_weights = info->latency_class == CLASS_MATPUSH;
                bool is_rows = info->latency_class == CLASS_MATMUL;
                bool is_latch = is_rows && op[i].operand[1 + MULTIPLY_LATCH].value > 0;
                int u = op[i].unit_index;
                int64_t need = now;

                for (int k = 0; k < op[i].operand_count; k++)
                    if (op[i].operand[k].kind == OPERAND_REG && strchr("vV", info->role[k]) &&
                        ready[op[i].operand[k].value] > need)
                        need = ready[op[i].operand[k].value];
                if (is_weights && weights[u] > need)
                    need = weights[u];
                if (is_rows && rows[u] > need)
                    need = rows[u];
                if (is_latch && last_push[u] > need)
                    need = last_push[u];
                if (op[i].code == OP_VPOP_MRF && result[u][popped[u]] > need)
                    need = result[u][popped[u]];
                if (pass == 0) {
                    now = need;
                    continue;
                }
                if (is_weights)
                    last_push[u] = weights[u] = now + chip->mxu_push_f32_cycles;
                if (is_rows) {
                    rows[u] = now + chip->mxu_matmul_f32_cycles;
                    result[u][pushed[u]++] = now + chip->mxu_latency_cycles;
                }
                popped[u] += op[i].code == OP_VPOP_MRF;
                if (op[i].operand_count && info->role[0] == 'd')
                    ready[op[i].operand[0].value] =
                        now + (info->latency_class == CLASS_VALU ? chip->valu_alu_cycles : 1);
            }
    }
    return now;
}

TEST(matmul_tiles_are_bound_by_the_weight_port)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;
    int64_t busiest = 4 * 16 * chip.mxu_push_f32_cycles, cycles;

    hand_init(&k);
    for (int tile = 0; tile < 4; tile++)
        for (int mxu = 0; mxu < 2; mxu++) {
            for (int i = 0; i < 16; i++)
                hand_push(&k, hand_load(&k, 0, 8 * (16 * (2 * tile + mxu) + i)), mxu, tile % 2);
            for (int i = 0; i < 8; i++)
                hand_multiply(&k, hand_load(&k, 1, 8 * (200 + 8 * tile + i)), mxu,
                              i ? 0 : 1 + tile % 2);
            for (int i = 0; i < 8; i++) {
                int v = vcode_vreg(&k.c);

                hand_pop(&k, v, mxu);
                hand_store(&k, 2, 8 * (300 + 8 * (2 * tile + mxu) + i), v);
            }
        }
    compile(&p, &k.c, &chip);
    cycles = straight_cycles(&p.program, &chip);
    assert_in_range(cycles, busiest, busiest * 115 / 100 + chip.mxu_latency_cycles);
    assert_int_equal(p.stats.spill_count, 0);
    assert_same_effect(&k.c, &chip, &p.program);
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(independent_streams_fill_both_vector_slots)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;
    int64_t valu_ops = 0;

    hand_init(&k);
    for (int round = 0; round < 8; round++)
        for (int stream = 0; stream < 4; stream++) {
            int v = hand_load(&k, stream, 8 * (4 * round + stream));

            for (int i = 0; i < 6; i++, valu_ops++) {
                int w = vcode_vreg(&k.c);

                hand_emit3(&k, i % 2 ? OP_VMUL_F32 : OP_VADD_F32, w, R(v), R(v));
                v = w;
            }
            hand_store(&k, stream, 8 * (4 * round + stream), v);
        }
    compile(&p, &k.c, &chip);
    assert_true(2 * valu_ops >= 3 * straight_cycles(&p.program, &chip));
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(advanced_pointers_do_not_hide_disjoint_tiles)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;

    hand_init(&k);
    hand_emit2(&k, OP_SMOV, R(2), R(1));
    for (int i = 0; i < 32; i++) {      /* load, change, store; both pointers move on */
        int v = vcode_vreg(&k.c), w = vcode_vreg(&k.c);
        struct isa_operand ld[] = {R(v), R(1), I(0), I(1), I(0xff)};
        struct isa_operand st[] = {R(2), I(0), I(1), I(0xff), R(w)};

        vcode_emit(&k.c, OP_VLD, 5, ld)->region = 0;
        hand_emit3(&k, OP_SADD, 1, R(1), I(8));
        hand_emit3(&k, OP_VADD_F32, w, R(v), R(v));
        vcode_emit(&k.c, OP_VST, 5, st)->region = 0;
        hand_emit3(&k, OP_SADD, 2, R(2), I(8));
    }
    compile(&p, &k.c, &chip);
    assert_in_range(p.program.bundle_count, 32, 32 + 8);
    assert_same_effect(&k.c, &chip, &p.program);
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(loop_fills_its_delay_bundles)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct symbolic x;
    struct hand k;

    hand_init(&k);
    vcode_loop_begin(&k.c, 9, 5);
    hand_store(&k, 0, 8, hand_load(&k, 1, 16));
    hand_store(&k, 0, 24, hand_load(&k, 1, 32));
    hand_store(&k, 0, 40, hand_load(&k, 1, 48));
    hand_store(&k, 0, 56, hand_load(&k, 1, 64));
    vcode_loop_end(&k.c, 9);
    compile(&p, &k.c, &chip);
    for (uint32_t b = 0; b < p.program.bundle_count; b++)
        assert_true(p.program.bundle[b].op_count > 0);
    symbolic_init(&x, &chip, ISA_VREG_MAX, ISA_MASK_COUNT);
    symbolic_run_program(&x, &p.program);
    assert_int_equal(x.bundles_run, 1 + 5 * (p.program.bundle_count - 2) + 1);
    assert_int_equal(x.s[9], 0);
    symbolic_fini(&x);
    assert_same_effect(&k.c, &chip, &p.program);
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(empty_loop_counts_down_and_ends)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;

    hand_init(&k);
    vcode_loop_begin(&k.c, 4, 3);
    vcode_loop_begin(&k.c, 5, 2);
    vcode_loop_end(&k.c, 5);
    vcode_loop_end(&k.c, 4);
    compile(&p, &k.c, &chip);
    assert_int_equal(count_ops(&p.program, OP_SBR), 2);
    assert_same_effect(&k.c, &chip, &p.program);
    arena_fini(&p.arena);
    hand_fini(&k);
}

/* the block that latches goes where the loop's first round does it, the loop's counter stays */
TEST(counter_of_a_loop_does_not_go_with_the_block_that_latches)
{
    struct chip chip = hand_chip();
    struct arena arena;
    struct vcode c;
    struct compiled p;
    bool is_counted = false;
    int zero;

    arena_init(&arena);
    vcode_init(&c, &arena);
    zero = emit_vmov(&c, I(0));
    for (int i = 0; i < 16; i++)
        emit_vmatpush(&c, 0, zero, 0, MATRIX_F32, 0, 0);
    vcode_latch_begin(&c);
    emit_vmatmul(&c, 0, emit_vmov(&c, I(0)), 0, MATRIX_F32, 1, 0);
    emit_vpop_mrf(&c, 0, 0);
    vcode_loop_begin(&c, 5, 96);
    vcode_put(&c, isa_vmatmul(0, emit_vld(&c, isa_rows_at(R(1), 0), 1), 0, MATRIX_F32, 0, 0))->region =
        VCODE_LATCHES;
    emit_vst(&c, isa_rows_at(R(1), 2048), emit_vpop_mrf(&c, 0, 0), 2);
    vcode_loop_step(&c, 1, 8);
    vcode_loop_end(&c, 5);
    compile(&p, &c, &chip);
    assert_int_equal(p.stats.overlapped_loops, 1);
    for (uint32_t i = 0; i < p.program.op_count; i++)
        is_counted |= p.program.op[i].code == OP_SMOV && p.program.op[i].operand[0].value == 5
                      && p.program.op[i].operand[1].value == 96;
    assert_true(is_counted);
    arena_fini(&p.arena);
    vcode_fini(&c);
    arena_fini(&arena);
}

TEST(pinned_registers_of_one_kernel_are_free_for_the_next)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;

    hand_init(&k);
    for (int kernel = 0; kernel < 5; kernel++) {
        int acc[6];

        for (int i = 0; i < 6; i++)
            hand_emit2(&k, OP_VMOV, R(acc[i] = vcode_pinned_vreg(&k.c)), I(i));
        vcode_loop_begin(&k.c, 3, 4);
        for (int i = 0; i < 6; i++)
            hand_emit3(&k, OP_VADD_F32, acc[i], R(acc[i]), R(hand_load(&k, 0, 8 * i)));
        vcode_loop_end(&k.c, 3);
        for (int i = 0; i < 6; i++)
            hand_store(&k, 0, 8 * i, acc[i]);
        vcode_begin_block(&k.c);
    }
    compile(&p, &k.c, &chip);
    assert_same_effect(&k.c, &chip, &p.program);
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(pinned_register_that_a_guard_sets_once_survives_the_rounds)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;
    int acc, other;

    hand_init(&k);
    acc = vcode_pinned_vreg(&k.c);
    other = vcode_pinned_vreg(&k.c);
    vcode_loop_begin(&k.c, 3, 3);
    hand_emit3(&k, OP_SCMP_GT, 1, R(3), I(2));
    hand_emit2(&k, OP_VMOV, R(acc), I(7));
    k.c.block[1].op[1].op.pred = 1;     /* in the first of three rounds */
    hand_emit3(&k, OP_VADD_F32, acc, R(acc), R(hand_load(&k, 0, 8)));
    hand_store(&k, 0, 16, acc);
    vcode_begin_block(&k.c);
    hand_emit2(&k, OP_VMOV, R(other), I(9));
    hand_emit3(&k, OP_VADD_F32, other, R(other), R(other));
    hand_store(&k, 0, 24, other);
    vcode_loop_end(&k.c, 3);
    compile(&p, &k.c, &chip);
    assert_same_effect(&k.c, &chip, &p.program);
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(notes_are_kept_once_and_reach_their_bundles)
{
    struct chip chip = hand_chip();
    struct compiled p;
    struct hand k;
    char name[16];

    hand_init(&k);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "dense.%d", i % 2);
        k.c.note = name;
        vcode_begin_block(&k.c);
        hand_store(&k, 0, 0, hand_load(&k, 0, 8));
    }
    compile(&p, &k.c, &chip);
    assert_int_equal(p.program.note_count, 2);
    assert_string_equal(p.program.note[0], "dense.0");
    assert_string_equal(p.program.note[1], "dense.1");
    assert_int_equal(p.program.bundle[0].note, 1);
    assert_int_equal(p.program.bundle[p.program.bundle_count - 2].note, 2);
    assert_int_equal(p.program.op[p.program.op_count - 1].code, OP_SHALT);
    arena_fini(&p.arena);
    hand_fini(&k);
}

TEST(block_of_four_thousand_operations_compiles_in_no_time)
{
    struct random_vcode r = {.seed = 3, .op_count = 4000, .reach = 20};
    struct chip chip = hand_chip();
    struct timespec start, end;
    struct arena arena;
    struct vcode c;
    struct compiled p;
    double seconds;
    int busy_blocks = 0;

    arena_init(&arena);
    vcode_init(&c, &arena);
    random_vcode_emit(&c, &chip, &r);
    for (size_t b = 0; b < c.block_count; b++)
        busy_blocks += c.block[b].op_count > 3000;
    assert_in_range(busy_blocks, 2, 6);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    compile(&p, &c, &chip);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("%.3f s for each of %d blocks\n", seconds / busy_blocks, busy_blocks);
    assert_true(seconds / busy_blocks < 1.0);
    arena_fini(&p.arena);
    vcode_fini(&c);
    arena_fini(&arena);
}

/* a load or a store of the spill area, told by its address */
static bool is_spill(const struct isa_op *op)
{
    const struct isa_operand *row = &op->operand[op->code == OP_VLD ? 2 : 1];

    return (op->code == OP_VLD || op->code == OP_VST) && row->kind == OPERAND_IMM &&
           row->value >= SYMBOLIC_SPILL_ROW;
}

TEST(bundles_of_nothing_but_spills_say_so)
{
    struct chip chip = hand_narrow_chip(8);
    int noted = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random_vcode r = {.seed = seed, .op_count = 60, .reach = 30};
        struct arena arena;
        struct vcode c;
        struct compiled p;

        arena_init(&arena);
        vcode_init(&c, &arena);
        random_vcode_emit(&c, &chip, &r);
        compile(&p, &c, &chip);
        for (uint32_t i = 0; i < p.program.bundle_count; i++) {
            const struct isa_bundle *b = &p.program.bundle[i];
            const char *note = b->note ? p.program.note[b->note - 1] : "";
            int spills = 0;

            for (int j = 0; j < b->op_count; j++)
                spills += is_spill(&p.program.op[b->first_op + (uint32_t)j]);
            assert_int_equal(strstr(note, VCODE_SPILL_SUFFIX) != NULL,
                             spills && spills == b->op_count);
            noted += spills && spills == b->op_count;
        }
        arena_fini(&p.arena);
        vcode_fini(&c);
        arena_fini(&arena);
    }
    assert_true(noted > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_keep_their_meaning_on_any_chip),
        cmocka_unit_test(bundles_of_nothing_but_spills_say_so),
        cmocka_unit_test(same_code_compiles_to_the_same_bundles),
        cmocka_unit_test(chains_of_functions_are_staggered_where_nothing_changes),
        cmocka_unit_test(matmul_tiles_are_bound_by_the_weight_port),
        cmocka_unit_test(independent_streams_fill_both_vector_slots),
        cmocka_unit_test(advanced_pointers_do_not_hide_disjoint_tiles),
        cmocka_unit_test(loop_fills_its_delay_bundles),
        cmocka_unit_test(empty_loop_counts_down_and_ends),
        cmocka_unit_test(counter_of_a_loop_does_not_go_with_the_block_that_latches),
        cmocka_unit_test(pinned_registers_of_one_kernel_are_free_for_the_next),
        cmocka_unit_test(pinned_register_that_a_guard_sets_once_survives_the_rounds),
        cmocka_unit_test(notes_are_kept_once_and_reach_their_bundles),
        cmocka_unit_test(block_of_four_thousand_operations_compiles_in_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
