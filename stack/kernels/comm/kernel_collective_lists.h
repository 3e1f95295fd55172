/* Lists what a collective of a graph does, core by core; private to kernel_collective*.c. */
#ifndef STACK_KERNEL_COLLECTIVE_LISTS_H
#define STACK_KERNEL_COLLECTIVE_LISTS_H
#include "stack/collective/collective_program.h"
#include "stack/kernels/comm/kernel_collective.h"
#include "stack/kernels/comm/kernel_collective_spread.h"

/*
 * Addresses count from the bucket. The copies of operands' blocks to the plan's array come before
 * its operations, those to results behind them; a permute has no plan.
 */
struct kernel_collective_work {
    enum graph_op op;
    enum collective_type type;
    int64_t bucket_bytes, *operand_at, *result_at;
    bool operands_inside, results_inside;       /* of the bucket; else they are where they are */
    const struct collective_plan *plan; /* NULL: permute, or spread */
    struct kernel_collective_spread *spread;
    int ranks;
    int64_t block;                      /* bytes of a rank's blocks of all arrays; all-reduce: of */
                                        /* all arrays */
    bool is_direct;                     /* the arrays are the plan's own, moved by these: */
    int64_t in_shift, out_shift;
    struct collective_op *before, *after;
    int before_count, after_count, copy_flag;
    /* of a permute */
    const int32_t *source, *target;     /* by core: a core, or -1 */
    int64_t bytes, zeros_at;
    bool needs_zeros;
    int flag_count;
};

/* NULL with *e set; all of it is `a`'s */
struct kernel_collective_work *
kernel_collective_work_of(const struct kernel_collective_room_need *need, struct arena *a,
                          struct err *e);
/* addresses from the bucket of all that is not inside, anew; and what depends on them */
void kernel_collective_work_resolve(struct kernel_collective_work *w,
                                    const struct kernel_collective_room_need *need,
                                    struct arena *a);
void kernel_collective_work_lists(const struct kernel_collective_work *w, int64_t table_address,
                                  struct collective_lists *out);
double kernel_collective_work_seconds(const struct kernel_collective_work *w,
                                      const struct chip *chip, const struct slice *slice);
#endif
