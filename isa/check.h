/*
 * What a program may use on a given chip, and the check before it runs.
 */
#ifndef ISA_CHECK_H
#define ISA_CHECK_H
#include "base/err.h"
#include "isa/slots.h"

struct isa_limits {
    struct isa_slots slots;
    int vreg_count, mxu_count, xlu_count, flag_count;
    int64_t imem_bundles;
    int branch_delay_bundles;
};

/*
 * Slots per bundle, register and unit numbers, operand kinds, branch targets,
 * immediate ranges, two writes of one register in a bundle, a branch in the
 * delay bundles of another. The first violation, with line, or 0.
 */
int isa_check(const struct isa_program *p, const struct isa_limits *limits, struct err *e);
#endif
