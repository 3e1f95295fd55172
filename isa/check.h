/* Says what a program may use on a given chip, and checks it before it runs. */
#ifndef ISA_CHECK_H
#define ISA_CHECK_H
#include "base/err.h"
#include "isa/matrix.h"
#include "isa/slots.h"

/* What not every chip has; bits of isa_limits.features. */
enum isa_feature {
    ISA_FEATURE_CMEM = 1,
    ISA_FEATURE_PACKED_BF16 = 2         /* in the vector unit */
};

struct isa_limits {
    uint32_t features;
    struct isa_slots slots;
    int vreg_count, mxu_count, xlu_count, flag_count;
    int branch_delay_bundles;
    int mxu_size;                       /* 128 or 256 */
    int accumulator_count;              /* of a matrix unit; 0: it has a FIFO */
    bool takes_weights[MATRIX_TYPE_COUNT], takes_rows[MATRIX_TYPE_COUNT];
    bool is_lenient;                    /* a compiler's listing: slots, double writes and
                                         * the place of branches are as the compiler left them */
};

/*
 * Slots per bundle, register and unit numbers, operand kinds, branch targets,
 * immediate ranges, types and halves of matrix units, two writes of one
 * register in a bundle, a branch in the delay bundles of another. The first
 * violation, with line, or 0.
 */
int isa_check(const struct isa_program *p, const struct isa_limits *limits, struct err *e);

/* One operation alone; of the program only name and bundle_count (for branches) are used. */
int isa_check_op(const struct isa_program *p, const struct isa_op *op,
                 const struct isa_limits *limits, struct err *e);
/* One bundle's slots. */
int isa_check_slots(const struct isa_program *p, uint32_t bundle,
                    const struct isa_limits *limits, struct err *e);
#endif
