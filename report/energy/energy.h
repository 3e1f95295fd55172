/*
 * Energy of what a program did, out of published figures per operation and per
 * byte (report/energy/energy.def): docs/energy.md says what is in it, what is not, and
 * how far to trust it. Leakage, clocks, idle links, refresh and losses of the
 * supply are not in it.
 *
 * Whole femtojoules, rounded once per kind of operation, so sums are exact:
 * components add up to the total, source operations to their core. Good for
 * 9,000 J a launch.
 */
#ifndef REPORT_ENERGY_H
#define REPORT_ENERGY_H
#include "base/arena.h"
#include "isa/isa.h"
#include "sim/machine/machine.h"

enum energy_constant {
#define ENERGY(id, name, at_45nm, at_7nm, source) ENERGY_##id,
#include "report/energy/energy.def"
    ENERGY_CONSTANT_COUNT
};

enum energy_component {
    ENERGY_OF_MXU_BF16, ENERGY_OF_MXU_INT8, ENERGY_OF_MXU_INT4, ENERGY_OF_MXU_FP8,
    ENERGY_OF_MXU_DATA,                 /* weights pushed, results popped */
    ENERGY_OF_VPU, ENERGY_OF_EUP, ENERGY_OF_XLU, ENERGY_OF_VREG, ENERGY_OF_VMEM, ENERGY_OF_CMEM,
    ENERGY_OF_SCALAR, ENERGY_OF_FETCH, ENERGY_OF_HBM, ENERGY_OF_ICI,
    ENERGY_COMPONENT_COUNT
};

struct energy {
    int64_t fj[ENERGY_COMPONENT_COUNT];
};

/* What a chip's process makes of the table. */
struct energy_costs {
    double node_nm;
    bool is_node_assumed;               /* not published */
    int64_t fj[ENERGY_CONSTANT_COUNT];
    int64_t bundle_bytes;               /* of instruction memory, fetched per bundle */
    double tdp_w;                       /* published, per chip; 0 = none */
    const char *measured;               /* published measurements of power, or "" */
};

/* by the chip's section [energy]; `measured` lies in the chip */
void energy_costs_of(const struct chip *chip, struct energy_costs *c);

/* of executing one operation once; copies have none, their bytes do */
struct energy energy_of_op(const struct energy_costs *c, const struct chip *chip,
                           const struct isa_op *op);
/* of bundles fetched; of bytes that copies moved, of an HBM, over links */
void energy_add_fetch(const struct energy_costs *c, int64_t bundles, struct energy *sum);
void energy_add_copies(const struct energy_costs *c, int64_t vmem_bytes, int64_t cmem_bytes,
                       int64_t hbm_bytes, int64_t ici_bytes, struct energy *sum);
/* sum += count times one */
void energy_add(const struct energy *one, int64_t count, struct energy *sum);
int64_t energy_total_fj(const struct energy *e);

/* of the machine's last launch: all cores, memories and links */
struct energy energy_of_launch(const struct energy_costs *c, const struct machine *m);

const char *energy_component_name(enum energy_component c);     /* "MXU bf16" */
const char *energy_component_key(enum energy_component c);      /* "mxu_bf16" */
const char *energy_component_meaning(enum energy_component c);  /* what is counted */
#endif
