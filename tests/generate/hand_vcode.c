#include "tests/generate/hand_vcode.h"

#include "isa/matrix.h"

struct chip hand_chip(void)
{
    return (struct chip){
        .core_vregs = 32, .core_imem_bundles = 65536, .core_branch_delay_bundles = 2,
        .slots_scalar = 2, .slots_valu = 2, .slots_eup = 1, .slots_load = 1, .slots_store = 1,
        .slots_push = 1, .slots_pop = 1, .slots_misc = 1, .slots_dma = 1, .slots_dma_misc = 1,
        .scalar_alu_cycles = 1, .scalar_mul_cycles = 3, .scalar_cmp_cycles = 2,
        .scalar_sld_cycles = 6, .scalar_v2s_cycles = 49, .scalar_v2s_depth = 4,
        .valu_alu_cycles = 2, .valu_cmp_cycles = 1, .valu_sel_cycles = 1,
        .eup_latency_cycles = 14, .eup_issue_cycles = 2, .eup_fifo_depth = 8,
        .xlu_count = 1, .xlu_issue_cycles = 8, .xlu_reduce_cycles = 136,
        .xlu_permute_cycles = 114, .xlu_xpose_issue_cycles = 9,
        .xlu_xpose_packed_issue_cycles = 17, .xlu_xpose_cycles = 144,
        .xlu_xpose_pop_cycles = 8, .xlu_fifo_depth = 16,
        .mxu_count = 2, .mxu_size = 128, .mxu_matmul_f32_cycles = 8, .mxu_latency_cycles = 266,
        .mxu_push_f32_cycles = 8, .mxu_push_xpose_factor = 2, .mxu_latch_cycles = 0,
        .mxu_fifo_depth = 64, .vmem_load_cycles = 1, .vmem_store_to_load_cycles = 7,
        .sync_flags = 16,
    };
}

struct chip hand_narrow_chip(int vregs)
{
    struct chip c = hand_chip();

    c.core_vregs = vregs;
    c.slots_scalar = c.slots_valu = 1;
    c.core_branch_delay_bundles = 0;
    return c;
}

struct chip hand_wide_chip(void)
{
    struct chip c = hand_chip();

    c.core_vregs = 64;
    c.core_branch_delay_bundles = 4;
    c.slots_scalar = 4;
    c.slots_valu = 8;
    c.slots_eup = c.slots_push = c.slots_pop = 4;
    c.slots_load = 2;
    c.slots_misc = 2;
    c.slots_misc_load = c.slots_misc_store = 1;
    c.slots_dma_misc = 0;
    c.slots_dma_scalar = 2;
    c.mxu_count = c.xlu_count = 4;
    return c;
}

void hand_init(struct hand *k)
{
    arena_init(&k->arena);
    vcode_init(&k->c, &k->arena);
}

void hand_fini(struct hand *k)
{
    vcode_fini(&k->c);
    arena_fini(&k->arena);
}

void hand_emit1(struct hand *k, enum isa_opcode code, int unit, struct isa_operand a)
{
    vcode_emit(&k->c, code, 1, &a)->op.unit_index = (uint8_t)unit;
}

void hand_push(struct hand *k, int v, int mxu, int staging)
{
    struct isa_operand o[] = {operand_reg(v), operand_imm(0), operand_imm(MATRIX_F32),
                              operand_imm(0), operand_imm(staging)};

    vcode_emit(&k->c, OP_VMATPUSH, 5, o)->op.unit_index = (uint8_t)mxu;
}

void hand_multiply(struct hand *k, int v, int mxu, int latch)
{
    struct isa_operand o[] = {operand_reg(v), operand_imm(0), operand_imm(MATRIX_F32),
                              operand_imm(latch), operand_imm(0)};

    vcode_emit(&k->c, OP_VMATMUL, 5, o)->op.unit_index = (uint8_t)mxu;
}

void hand_pop(struct hand *k, int to, int mxu)
{
    struct isa_operand o[] = {operand_reg(to), operand_imm(0)};

    vcode_emit(&k->c, OP_VPOP_MRF, 2, o)->op.unit_index = (uint8_t)mxu;
}

void hand_emit2(struct hand *k, enum isa_opcode code, struct isa_operand a,
                struct isa_operand b)
{
    struct isa_operand o[] = {a, b};

    vcode_emit(&k->c, code, 2, o);
}

void hand_emit3(struct hand *k, enum isa_opcode code, int to, struct isa_operand a,
                struct isa_operand b)
{
    struct isa_operand o[] = {operand_reg(to), a, b};

    vcode_emit(&k->c, code, 3, o);
}

int hand_load(struct hand *k, int region, int row)
{
    int v = vcode_vreg(&k->c);
    struct isa_operand o[] = {operand_reg(v), operand_none(), operand_imm(row), operand_imm(1),
                              operand_imm(0xff)};

    vcode_emit(&k->c, OP_VLD, 5, o)->region = region;
    return v;
}

void hand_store(struct hand *k, int region, int row, int v)
{
    struct isa_operand o[] = {operand_none(), operand_imm(row), operand_imm(1),
                              operand_imm(0xff), operand_reg(v)};

    vcode_emit(&k->c, OP_VST, 5, o)->region = region;
}
