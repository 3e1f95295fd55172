/* How near to the busiest unit do overlapping loops come on a simulated core? */
#include "tests/test.h"

#include "base/units.h"
#include "isa/matrix.h"
#include "sim/chip/limits.h"
#include "sim/machine/machine.h"
#include "stack/backend/vcode.h"
#include "tests/rigs/whole_program.h"

#define ROUNDS 64
#define REGION_ROWS 2048

/* the code of one round; bases s1, s2, s3 go on by a tile */
typedef void body_fn(struct vcode *c, const int *pinned, int halves);

static int load(struct vcode *c, int base, int tile)
{
    int v = vcode_vreg(c);
    struct isa_operand o[] = {operand_reg(v), operand_reg(base), operand_imm(8 * tile),
                              operand_imm(1), operand_imm(0xff)};

    vcode_emit(c, OP_VLD, 5, o)->region = base;
    return v;
}

static void store(struct vcode *c, int base, int v)
{
    struct isa_operand o[] = {operand_reg(base), operand_imm(0), operand_imm(1), operand_imm(0xff),
                              operand_reg(v)};

    vcode_emit(c, OP_VST, 5, o)->region = base;
}

static int op2(struct vcode *c, enum isa_opcode code, int x, struct isa_operand y)
{
    int v = vcode_vreg(c);

    vcode_emit(c, code, 3, (struct isa_operand[]){operand_reg(v), operand_reg(x), y});
    return v;
}

static int op1(struct vcode *c, enum isa_opcode code, int x)
{
    int v = vcode_vreg(c);

    vcode_emit(c, code, 2, (struct isa_operand[]){operand_reg(v), operand_reg(x)});
    return v;
}

static int through(struct vcode *c, enum isa_opcode push, enum isa_opcode pop, int x)
{
    int v = vcode_vreg(c);

    vcode_emit(c, push, 1, (struct isa_operand[]){operand_reg(x)});
    vcode_emit(c, pop, 1, (struct isa_operand[]){operand_reg(v)});
    return v;
}

static void add_f32(struct vcode *c, const int *pinned, int halves)
{
    int x = load(c, 1, 0), y = load(c, 2, 0);

    (void)pinned, (void)halves;
    store(c, 3, op2(c, OP_VADD_F32, x, operand_reg(y)));
}

static void add_bf16(struct vcode *c, const int *pinned, int halves)
{
    int x = load(c, 1, 0), y = load(c, 2, 0), low, high;

    (void)pinned, (void)halves;
    low = op1(c, OP_VUNPACK_C_L, x);
    low = op2(c, OP_VADD_F32, low, operand_reg(op1(c, OP_VUNPACK_C_L, y)));
    high = op1(c, OP_VUNPACK_C_H, x);
    high = op2(c, OP_VADD_F32, high, operand_reg(op1(c, OP_VUNPACK_C_H, y)));
    store(c, 3, op2(c, OP_VPACK_C_BF16, high, operand_reg(low)));
}

static void exponential(struct vcode *c, const int *pinned, int halves)
{
    int x = op2(c, OP_VMUL_F32, load(c, 1, 0), operand_imm(0x3fb8aa3b));

    (void)pinned, (void)halves;
    store(c, 3, through(c, OP_VPOW2, OP_VPOP_EUP, x));
}

static void sigmoid(struct vcode *c, const int *pinned, int halves)
{
    int x = op2(c, OP_VMUL_F32, load(c, 1, 0), operand_imm((int32_t)0xbfb8aa3b));

    (void)pinned, (void)halves;
    x = op2(c, OP_VADD_F32, through(c, OP_VPOW2, OP_VPOP_EUP, x), operand_imm(0x3f800000));
    store(c, 3, through(c, OP_VRCP, OP_VPOP_EUP, x));
}

static void softmax(struct vcode *c, const int *pinned, int halves)
{
    int x = load(c, 1, 0), e, sum;

    (void)pinned, (void)halves;
    x = op2(c, OP_VSUB_F32, x, operand_reg(through(c, OP_VMAX_XLANE, OP_VPOP_XLANE, x)));
    e = through(c, OP_VPOW2, OP_VPOP_EUP, op2(c, OP_VMUL_F32, x, operand_imm(0x3fb8aa3b)));
    sum = through(c, OP_VRCP, OP_VPOP_EUP, through(c, OP_VADD_XLANE, OP_VPOP_XLANE, e));
    store(c, 3, op2(c, OP_VMUL_F32, e, operand_reg(sum)));
}

static void reduce(struct vcode *c, const int *pinned, int halves)
{
    (void)halves;
    for (int i = 0; i < 4; i++)
        vcode_emit(c, OP_VADD_F32, 3, (struct isa_operand[]){
            operand_reg(pinned[i]), operand_reg(pinned[i]), operand_reg(load(c, 1, i))});
}

static void stream(struct vcode *c, const int *pinned, int halves)
{
    int x = load(c, 1, 0);
    struct isa_operand push[] = {operand_reg(x), operand_imm(0), operand_imm(MATRIX_F32),
                                 operand_imm(0), operand_imm(0)};

    (void)pinned;
    vcode_emit(c, OP_VMATMUL, 5, push);
    for (int i = 0; i < halves; i++) {
        int v = vcode_vreg(c);

        vcode_emit(c, OP_VPOP_MRF, 2, (struct isa_operand[]){operand_reg(v), operand_imm(0)});
        if (i == 0)
            store(c, 3, v);
    }
}

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void emit_gains(struct vcode *c, int halves)
{
    int v = vcode_vreg(c);
    struct isa_operand push[] = {operand_reg(v), operand_imm(0), operand_imm(MATRIX_F32),
                                 operand_imm(0), operand_imm(0)};
    struct isa_operand multiply[] = {operand_reg(v), operand_imm(0), operand_imm(MATRIX_F32),
                                     operand_imm(1), operand_imm(0)};

    vcode_emit(c, OP_VMOV, 2, (struct isa_operand[]){operand_reg(v), operand_imm(0)});
    for (int i = 0; i < 16 * halves; i++)
        vcode_emit(c, OP_VMATPUSH, 5, push);
    vcode_emit(c, OP_VMATMUL, 5, multiply);
    for (int i = 0; i < halves; i++)
        vcode_emit(c, OP_VPOP_MRF, 2,
                   (struct isa_operand[]){operand_reg(vcode_vreg(c)), operand_imm(0)});
}

static void emit_program(struct vcode *c, body_fn *body, int64_t rounds, int halves)
{
    int pinned[4];

    for (int i = 0; i < 4; i++) {
        pinned[i] = vcode_pinned_vreg(c);
        vcode_emit(c, OP_VMOV, 2, (struct isa_operand[]){operand_reg(pinned[i]), operand_imm(0)});
    }
    if (body == stream)
        emit_gains(c, halves);
    for (int i = 1; i <= 3; i++)
        vcode_emit(c, OP_SMOV, 2, (struct isa_operand[]){operand_reg(i),
                                                         operand_imm(i * REGION_ROWS)});
    vcode_loop_begin(c, 10, rounds);
    for (int i = 1; i <= 3; i++)
        vcode_loop_step(c, i, 8);
    body(c, pinned, halves);
    vcode_loop_end(c, 10);
    for (int i = 0; i < 4; i++)
        store(c, 3, pinned[i]);
}

static cycle_t cycles_of(const char *name, const struct chip *chip, body_fn *body, int64_t rounds,
                         int *overlapped)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1, .simd = "auto",
                                      .cycle_limit = 1000000};
    struct isa_program p;
    struct vcode_stats stats;
    struct slice slice;
    struct machine *m;
    struct arena a;
    struct vcode c;
    struct err e;
    cycle_t cycles;

    arena_init(&a);
    vcode_init(&c, &a);
    emit_program(&c, body, rounds, chip_mxu_halves(chip));
    must(whole_program(&c, chip, 0, 64, &a, &p, &stats, &e), &e);
    must(slice_parse(&slice, name, &e), &e);
    m = machine_create(&slice, chip, &options, &e);
    must(m ? 0 : -1, &e);
    must(machine_load(m, 0, &p, &e), &e);
    must(machine_run(m, &e), &e);
    cycles = machine_cycles(m);
    *overlapped = stats.overlapped_loops;
    machine_destroy(m);
    vcode_fini(&c);
    arena_fini(&a);
    return cycles;
}

struct loop_case {
    const char *name;
    body_fn *body;
    int loads, stores, valu, eup, xlu, mxu, pops;
};

static const struct loop_case cases[] = {
    {"add f32", add_f32, 2, 1, 1, 0, 0, 0, 0},
    {"add bf16", add_bf16, 2, 1, 7, 0, 0, 0, 0},
    {"exp", exponential, 1, 1, 1, 1, 0, 0, 1},
    {"sigmoid", sigmoid, 1, 1, 2, 2, 0, 0, 2},
    {"softmax of 128", softmax, 1, 1, 3, 2, 2, 0, 4},
    {"sum into four", reduce, 4, 0, 4, 0, 0, 0, 0},
    {"rows through an MXU", stream, 1, 1, 0, 0, 0, 1, 1},
};

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* cycles that the busiest slot or unit needs for a round */
static int64_t bound_of(const struct loop_case *t, const struct chip *c)
{
    int halves = chip_mxu_halves(c), pops = t->pops + t->mxu * (halves - 1);
    int64_t bound = div_up(t->loads, c->slots_load + c->slots_misc_load);

    bound = most(bound, div_up(t->stores, c->slots_store));
    bound = most(bound, div_up(t->valu + t->eup, c->slots_valu));
    bound = most(bound, t->eup * c->eup_issue_cycles);
    bound = most(bound, t->xlu * c->xlu_issue_cycles);
    bound = most(bound, t->mxu * c->mxu_matmul_f32_cycles);
    bound = most(bound, div_up(t->eup + t->xlu + t->mxu, c->slots_push));
    return most(bound, div_up(pops, c->slots_pop));
}

/* A period is what more rounds take more, divided by them. */
static void check_case(const char *name, const struct chip *chip, const struct loop_case *t)
{
    int overlapped = 0;
    cycle_t few = cycles_of(name, chip, t->body, ROUNDS, &overlapped);
    cycle_t many = cycles_of(name, chip, t->body, 3 * ROUNDS, &overlapped);
    double period = (double)(many - few) / (2 * ROUNDS);
    int64_t bound = bound_of(t, chip);

    printf("%-4s %-20s %6.2f cycles a round, at least %d\n", name, t->name, period, (int)bound);
    assert_int_equal(overlapped, 1);
    assert_true(period >= (double)bound);
    assert_true(period <= (double)bound + 0.05);
}

TEST(loops_take_what_the_busiest_unit_needs)
{
    static const char *const names[] = {"v3", "v5e", "v6e"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct chip chip;
        struct arena a;
        struct err e;

        arena_init(&a);
        must(chip_load_builtin(&chip, names[i], NULL, &a, &e), &e);
        for (size_t k = 0; k < COUNT_OF(cases); k++)
            check_case(names[i], &chip, &cases[k]);
        arena_fini(&a);
    }
}

/* rows are pushed and popped as through a FIFO, which v7x has not: each round has its own accumulators */
TEST(accumulators_take_turns_in_rounds_that_overlap)
{
    struct chip chip;
    struct arena a;
    struct err e;

    arena_init(&a);
    must(chip_load_builtin(&chip, "v7x", NULL, &a, &e), &e);
    assert_true(chip.mxu_accumulators > 0);
    check_case("v7x", &chip, &cases[COUNT_OF(cases) - 1]);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulators_take_turns_in_rounds_that_overlap),
        cmocka_unit_test(loops_take_what_the_busiest_unit_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
