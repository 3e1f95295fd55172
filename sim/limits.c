#include "sim/limits.h"

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
        .vreg_count = (int)c->core_vregs,
        .mxu_count = (int)c->mxu_count,
        .xlu_count = (int)c->xlu_count,
        .flag_count = (int)c->sync_flags,
        .imem_bundles = c->core_imem_bundles,
        .branch_delay_bundles = (int)c->core_branch_delay_bundles,
    };
    chip_slots(c, &limits->slots);
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
