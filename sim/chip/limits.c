/* Translates a chip's parameters into the limits of isa/check.h and the latencies of operations. */
#include "sim/chip/limits.h"

#include <string.h>

void chip_slots(const struct chip *c, struct isa_slots *slots)
{
    *slots = (struct isa_slots){
        .count = {
            [SLOT_SCALAR] = (int)c->slots_scalar,
            [SLOT_VALU] = (int)c->slots_valu,
            [SLOT_EUP] = (int)c->slots_eup,
            [SLOT_LOAD] = (int)c->slots_load,
            [SLOT_STORE] = (int)c->slots_store,
            [SLOT_PUSH] = (int)c->slots_push,
            [SLOT_POP] = (int)c->slots_pop,
            [SLOT_MISC] = (int)c->slots_misc,
            [SLOT_DMA] = (int)c->slots_dma,
            [SLOT_CMEM] = (int)c->slots_cmem_load,
        },
        .dma_scalar = (int)c->slots_dma_scalar,
        .dma_misc = (int)c->slots_dma_misc,
        .misc_load = (int)c->slots_misc_load,
        .misc_store = (int)c->slots_misc_store,
    };
}

void chip_isa_limits(const struct chip *c, struct isa_limits *limits)
{
    *limits = (struct isa_limits){
        .features = (c->cmem_bytes > 0 ? ISA_FEATURE_CMEM : 0u) |
                    (c->valu_bf16 ? ISA_FEATURE_PACKED_BF16 : 0u),
        .vreg_count = (int)c->core_vregs,
        .mxu_count = (int)c->mxu_count,
        .xlu_count = (int)c->xlu_count,
        .flag_count = (int)c->sync_flags,
        .branch_delay_bundles = (int)c->core_branch_delay_bundles,
        .mxu_size = (int)c->mxu_size,
        .accumulator_count = (int)c->mxu_accumulators,
    };
    chip_slots(c, &limits->slots);
    for (int t = 0; t < MATRIX_TYPE_COUNT; t++) {
        limits->takes_weights[t] = chip_push_cycles(c, (enum matrix_type)t) > 0;
        limits->takes_rows[t] = chip_matmul_cycles(c, (enum matrix_type)t) > 0;
    }
}

int chip_latency_cycles(const struct chip *c, enum isa_latency_class latency_class)
{
    switch (latency_class) {
    case CLASS_SALU: case CLASS_SYNC_RD: return (int)c->scalar_alu_cycles;
    case CLASS_SMUL: return (int)c->scalar_mul_cycles;
    case CLASS_SF32: return (int)c->scalar_f32_cycles;
    case CLASS_SCMP: return (int)c->scalar_cmp_cycles;
    case CLASS_SLD: return (int)c->scalar_sld_cycles;
    case CLASS_VALU: return (int)c->valu_alu_cycles;
    case CLASS_VCMP: return (int)c->valu_cmp_cycles;
    case CLASS_VSEL: return (int)c->valu_sel_cycles;
    case CLASS_VLD: return (int)c->vmem_load_cycles;
    default: return 1;
    }
}

/* of the two fp8 with four bits of exponent a generation has one */
static bool takes_fp8(const struct chip *c, enum matrix_type t)
{
    const char *name = t == MATRIX_F8E4M3B11FNUZ ? "b11fnuz" : "fn";

    return t == MATRIX_F8E5M2 || strcmp(c->mxu_fp8_e4m3, name) == 0;
}

/* A chip file has one number for each width of integer and one for fp8. */
struct type_cycles {
    int64_t f32, bf16, int8, int4, fp8;
};

static int cycles_of(const struct chip *c, const struct type_cycles *cycles, enum matrix_type t)
{
    switch (t) {
    case MATRIX_F32: return (int)cycles->f32;
    case MATRIX_BF16: return (int)cycles->bf16;
    case MATRIX_S8: case MATRIX_U8: return (int)cycles->int8;
    case MATRIX_S4: case MATRIX_U4: return (int)cycles->int4;
    default: return takes_fp8(c, t) ? (int)cycles->fp8 : 0;
    }
}

int chip_matmul_cycles(const struct chip *c, enum matrix_type t)
{
    const struct type_cycles cycles = {c->mxu_matmul_f32_cycles, c->mxu_matmul_bf16_cycles,
                                       c->mxu_matmul_int8_cycles, c->mxu_matmul_int4_cycles,
                                       c->mxu_matmul_fp8_cycles};

    return cycles_of(c, &cycles, t);
}

int chip_push_cycles(const struct chip *c, enum matrix_type t)
{
    const struct type_cycles cycles = {c->mxu_push_f32_cycles, c->mxu_push_bf16_cycles,
                                       c->mxu_push_int8_cycles, c->mxu_push_int4_cycles,
                                       c->mxu_push_fp8_cycles};

    return cycles_of(c, &cycles, t);
}

int chip_matrix_cycles(const struct chip *c, const struct matrix_op *m)
{
    int factor = m->is_xpose ? (int)c->mxu_push_xpose_factor : 1, cycles;

    switch (m->kind) {
    case MATRIX_PUSH: cycles = chip_push_cycles(c, m->type) * factor; break;
    case MATRIX_MULTIPLY: cycles = chip_matmul_cycles(c, m->type); break;
    case MATRIX_PREP_WEIGHTS: case MATRIX_PREP_ROWS: return 1;
    default: return 0;
    }
    return m->uses_prep && cycles > 1 ? cycles - 1 : cycles;    /* the prep was one of them */
}

int chip_xpose_issue_cycles(const struct chip *c, int32_t type)
{
    return (int)(type == 0 ? c->xlu_xpose_issue_cycles : c->xlu_xpose_packed_issue_cycles);
}
