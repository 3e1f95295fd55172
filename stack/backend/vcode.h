/*
 * Virtual-register code: what the kernels emit and the back end turns into
 * bundles.
 *
 * A list of blocks. Inside a block, operations stand in program order with
 * vector and mask registers virtual (numbers from vcode_vreg / vcode_mask, each
 * written once per block); scalar and predicate registers are physical. The
 * scheduler may reorder inside a block as long as registers, VMEM contents and
 * the order of each FIFO (MXU, XLU, EUP) are kept; it never moves code across
 * blocks. Every FIFO must be empty again at the end of a block.
 *
 * A virtual vector register lives inside one block, unless it is pinned.
 */
#ifndef STACK_VCODE_H
#define STACK_VCODE_H
#include "base/arena.h"
#include "base/err.h"
#include "base/memo.h"
#include "isa/operand.h"
#include "sim/chip/chip.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * What a vld or vst touches, for the alias analysis: accesses of different
 * regions never overlap; accesses of one region overlap unless both have the
 * same base register (value) and disjoint offsets.
 */
#define VCODE_REGION_ANY (-1)           /* may overlap everything */
#define VCODE_LATCHES 1                 /* in place of a region, of a vmatmul: vcode_latch_begin */
#define SUBLANES_APART 256              /* of the lane that vbcast.lane takes: sublane i, lane l + i */

struct vcode_op {
    struct isa_op op;                   /* v and vm register numbers are virtual */
    int region;                         /* of vld, vst; of vmatmul 0 or VCODE_LATCHES */
};

struct vcode_block {
    struct vcode_op *op;
    size_t op_count, op_capacity;
    bool is_loop_start;                 /* label: the loop's branch comes back here */
    bool is_latch;                      /* vcode_latch_begin */
    bool is_loop_end;                   /* ends with counter--, branch to start while > 0 */
    int counter_sreg;                   /* of is_loop_start and is_loop_end blocks */
    int64_t loop_count;                 /* of is_loop_start: rounds */
    int skip_pred;                      /* where it holds the block goes on at block skip_to */
    size_t skip_to;                     /* 0: it goes on behind itself */
    int step_count;                     /* of is_loop_end: its last operations, vcode_loop_step's */
    const struct isa_program *bundles;  /* finished code in place of operations, else NULL; */
    uint16_t bundles_origin;            /* of its operations that have none themselves */
    const char *note;                   /* source operation, for reports; may be NULL */
};

/* what a register of an open loop advances by */
struct vcode_step { int counter_sreg, sreg; int32_t step; };

struct vcode {
    struct arena *arena;
    struct vcode_block *block;
    size_t block_count, block_capacity;
    int vreg_count, mask_count;         /* virtual registers handed out */
    bool *is_pinned;                    /* by virtual vector register */
    size_t pinned_capacity;
    struct vcode_step *step;            /* of loops that have not ended */
    size_t step_count, step_capacity;
    int *open_loop;                     /* their counters, outermost first */
    size_t open_count, open_capacity;
    const char *note;                   /* given to blocks begun from now on */
    uint16_t origin;                    /* given to operations put from now on: struct isa_op */
    struct vcode_remark *remark;
    size_t remark_count, remark_capacity;
    uint32_t kept_sregs;                /* of a segment: who comes behind it reads these */
    struct memo *memo;                  /* of schedules found before, or NULL */
};

/* a line for readers of vcode_print, before the code that follows it */
struct vcode_remark { size_t block; const char *text; };
void vcode_remark(struct vcode *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * As text, for readers: virtual registers are %v1 and %vm1, loops are indented,
 * finished bundles stand in braces. docs/compiler.md tells what a line means.
 */
void vcode_print(const struct vcode *c, FILE *to);

void vcode_init(struct vcode *c, struct arena *a);
void vcode_fini(struct vcode *c);

int vcode_vreg(struct vcode *c);        /* a new virtual vector register */
int vcode_mask(struct vcode *c);        /* a new virtual mask register */

/*
 * Pinned registers keep one physical register from the first block that names
 * them to the last (and over every loop into which they carry a value) and may
 * be written more than once: for loop-carried accumulators. At most 8 at a time.
 */
int vcode_pinned_vreg(struct vcode *c);

/* start a new block; the first call is made by vcode_init */
void vcode_begin_block(struct vcode *c);

/* a counted loop of `count` > 0 rounds over the blocks between; they nest by different sregs */
void vcode_loop_begin(struct vcode *c, int counter_sreg, int64_t count);
void vcode_loop_end(struct vcode *c, int counter_sreg);

/*
 * Anywhere in the innermost open loop: `sreg` advances by `step` at the end of
 * each round (the addition is made by vcode_loop_end). Addresses of loads and
 * stores may use it. Where the loop's body is one block, the back end may then
 * software-pipeline it (modulo scheduling), correcting their offsets.
 */
void vcode_loop_step(struct vcode *c, int sreg, int64_t step);

/*
 * A new block, right before a loop of one block, that takes weights out of their staging registers by
 * multiplications of which nobody wants the results. Where the loop is software-pipelined it is left
 * out: the first round's operations that are marked VCODE_LATCHES do it.
 */
void vcode_latch_begin(struct vcode *c);

/*
 * Code that is left out where predicate `pred` holds: it ends the block, whose number vcode_skip_end
 * takes. Skips nest with loops and with one another.
 */
size_t vcode_skip_begin(struct vcode *c, int pred);
void vcode_skip_end(struct vcode *c, size_t skip);

/*
 * All blocks that run one behind the other become one, as far as they may (join.c); no loop and no skip
 * is open. `room`: by region the rows of VMEM that it is part of, for regions that may share some; none
 * of the others do.
 */
struct vcode_room { int64_t row, rows; };
void vcode_join_blocks(struct vcode *c, const struct vcode_room *room, int room_count);

/*
 * Finished bundles in the place of a block: physical registers, branches inside
 * only, targets counting from its first bundle. No virtual register but pinned
 * ones lives across it. `p` must outlive `c`.
 */
void vcode_bundles(struct vcode *c, const struct isa_program *p);

/*
 * Append an operation to the current block. The functions of stack/backend/emitters.h, one for each
 * operation, do this and return the register that they take for the result.
 */
struct vcode_op *vcode_put(struct vcode *c, struct isa_op op);

/* push, and pop the answer of the push's unit into a new register */
int vcode_answer(struct vcode *c, struct isa_op push);

/* an immediate in a new register; a register as it is */
int vcode_in_register(struct vcode *c, struct isa_operand a);

/* until the flag has risen by so many granules, which are taken off; where `pred` holds, if >= 0 */
void vcode_await(struct vcode *c, struct isa_operand flag, int64_t granules, int pred);

/* the same as vcode_put for operands in format order */
struct vcode_op *vcode_emit(struct vcode *c, enum isa_opcode code, int operand_count,
                            const struct isa_operand *operand);

/*
 * Operations of the current block from number `first` on into an order in which chains of
 * transcendental functions overlap, if there are such and nothing is in the way (stagger.c).
 */
void vcode_stagger(struct vcode *c, size_t first, const struct chip *chip);

/*
 * The longest chain of the last block's vector operations, each waiting for the one before; the
 * EUP's answers are waited for once, as others hide the rest.
 */
int vcode_chain_cycles(const struct vcode *c, const struct chip *chip);

/*
 * Behind the note of a bundle that only stores and reloads registers for which
 * there was no room, so that reports can tell what spills cost.
 */
#define VCODE_SPILL_SUFFIX " (spills)"

/* What the back end did, for reports. */
struct vcode_stats {
    int64_t op_count, bundle_count;
    int spill_count;                    /* vector registers stored and reloaded, */
    int spill_tiles;                    /* at most so many at once */
    int vreg_peak;
    int overlapped_loops;               /* software-pipelined */
};

/*
 * A segment of a program (stack/module/link.h joins them, and cuts long ones into overlays): spill
 * where the source order needs it, schedule, allocate registers, emit: docs/backend.md.
 * `spill_base_row` is a free VMEM area for spilled tiles (row units of 512 bytes), of spill_tiles
 * tiles. -1 when the spill area is too small for it.
 */
int vcode_compile_segment(const struct vcode *c, const struct chip *chip, int64_t spill_base_row,
                          int64_t spill_tiles, struct arena *a, struct isa_program *program,
                          struct vcode_stats *stats, struct err *e);
#endif
