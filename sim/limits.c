#include "sim/limits.h"

#include <assert.h>

int chip_slot_count(const struct chip *c, enum isa_slot slot)
{
    switch (slot) {
    case SLOT_SCALAR: return (int)c->slots_scalar;
    case SLOT_VALU: return (int)c->slots_valu;
    case SLOT_EUP: return (int)c->slots_eup;
    case SLOT_LOAD: return (int)c->slots_load;
    case SLOT_STORE: return (int)c->slots_store;
    case SLOT_PUSH: return (int)c->slots_push;
    case SLOT_POP: return (int)c->slots_pop;
    case SLOT_MISC: return (int)c->slots_misc;
    default: assert(0); return 0;
    }
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
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        limits->slot_count[slot] = chip_slot_count(c, (enum isa_slot)slot);
}

int chip_latency_cycles(const struct chip *c, enum isa_latency_class latency_class)
{
    switch (latency_class) {
    case CLASS_SALU: case CLASS_SYNC_RD: return (int)c->scalar_alu_cycles;
    case CLASS_SMUL: return (int)c->scalar_mul_cycles;
    case CLASS_SCMP: return (int)c->scalar_cmp_cycles;
    case CLASS_SLD: return (int)c->scalar_sld_cycles;
    case CLASS_VALU: return (int)c->valu_alu_cycles;
    case CLASS_VCMP: return (int)c->valu_cmp_cycles;
    case CLASS_VSEL: return (int)c->valu_sel_cycles;
    case CLASS_VLD: return (int)c->vmem_load_cycles;
    default: return 1;
    }
}
