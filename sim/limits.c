#include "sim/limits.h"

void chip_isa_limits(const struct chip *c, struct isa_limits *limits)
{
    *limits = (struct isa_limits){
        .slot_count = {
            [SLOT_SCALAR] = (int)c->slots_scalar,
            [SLOT_VALU] = (int)c->slots_valu,
            [SLOT_EUP] = (int)c->slots_eup,
            [SLOT_LOAD] = (int)c->slots_load,
            [SLOT_STORE] = (int)c->slots_store,
            [SLOT_PUSH] = (int)c->slots_push,
            [SLOT_POP] = (int)c->slots_pop,
            [SLOT_MISC] = (int)c->slots_misc,
        },
        .vreg_count = (int)c->core_vregs,
        .mxu_count = (int)c->mxu_count,
        .xlu_count = (int)c->xlu_count,
        .flag_count = (int)c->sync_flags,
        .imem_bundles = c->core_imem_bundles,
        .branch_delay_bundles = (int)c->core_branch_delay_bundles,
    };
}
