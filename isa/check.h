/*
 * What a program may use on a given chip, and the check before it runs.
 */
#ifndef ISA_CHECK_H
#define ISA_CHECK_H
#include "base/err.h"
#include "isa/matrix.h"
#include "isa/slots.h"

struct isa_limits {
    struct isa_slots slots;
    int vreg_count, mxu_count, xlu_count, flag_count;
    int64_t imem_bundles;
    int branch_delay_bundles;
    int mxu_size;                       /* 128 or 256 */
    int accumulator_count;              /* of a matrix unit; 0: it has a FIFO */
    bool takes_weights[MATRIX_TYPE_COUNT], takes_rows[MATRIX_TYPE_COUNT];
};

/*
 * Slots per bundle, register and unit numbers, operand kinds, branch targets,
 * immediate ranges, types and halves of matrix units, two writes of one register in a bundle, a branch in the
 * delay bundles of another. The first violation, with line, or 0.
 */
int isa_check(const struct isa_program *p, const struct isa_limits *limits, struct err *e);
#endif
