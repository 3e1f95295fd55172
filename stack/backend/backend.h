/*
 * Inside the back end: what its files share.
 *
 * A block is compiled by itself: emit.c copies it into a code_block with its
 * vector and mask registers numbered from 0, spill.c makes it fit the register
 * file in source order, depend.c says which operation has to wait for which,
 * schedule.c puts operations into bundles, registers.c names the physical
 * registers, emit.c writes the bundles. pins.c comes before all blocks.
 * docs/backend.md tells why it is done in this order.
 */
#ifndef STACK_BACKEND_H
#define STACK_BACKEND_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include "isa/matrix.h"
#include "sim/chip/chip.h"
#include "stack/backend/vcode.h"

#include <stdbool.h>
#include <stdint.h>

#define BACKEND_REGION_SPILL (-2)       /* the spill area, a region of its own */
#define BACKEND_PINNED_MAX 8
#define BACKEND_LOOP_PRED 0             /* p0 belongs to loop ends */
#define BACKEND_VREG_MIN 4              /* three operands of one operation and a reload */

/* Registers of one operation. A guarded operation also reads what it writes. */
struct depend_regs {
    int v_read[4], v_read_count, v_write;       /* each register once; v_write -1 = none */
    int m_read[4], m_read_count, m_write;
    uint32_t s_read, s_write;                   /* one bit per physical register */
    uint16_t p_read, p_write;
};

struct code_block {
    struct arena *arena;                /* scratch: all of the block's arrays */
    const char *note;                   /* for messages; "" = none */
    struct vcode_op *op;
    struct depend_regs *regs;
    int op_count;
    int v_count, m_count;               /* registers the block names */
    int *v_fixed;                       /* physical register of a pinned one, else -1 */
    uint64_t v_free;                    /* physical registers for those not pinned */
    int branch_tail_cycles;             /* from the loop's compare to the end of the block */
    int accumulators[ISA_UNIT_MAX];     /* that take turns as a FIFO would, by matrix unit */
};

/*
 * accumulators.c: matrix units with accumulators in place of a FIFO (v7x). Code that pushes rows and
 * pops results in order takes them in turn: the first results of a block go to number 0.
 */
void accumulators_take(struct code_block *b, const struct chip *chip);
/* of an operation that has one: `turn` blocks like this one on; false: it has none */
bool accumulators_turn(const struct code_block *b, struct isa_op *op, int turn);
/* the push whose result operation i pops, -1: it pops none of these */
int accumulators_push(const struct code_block *b, int i);

/* to may issue `delay` cycles after from; 0 = may stand in the same bundle */
struct depend_edge {
    int to, delay, next;                /* next edge of the same operation, -1 = last */
};

struct depend {
    struct depend_edge *edge;
    size_t edge_count, edge_capacity;
    int *first_edge;                    /* by operation, -1 = none */
    int *pred_count;                    /* edges into each operation */
    int *height;                        /* cycles of the longest path behind it */
};

struct schedule {
    int *bundle;                        /* of each operation */
    int bundle_count;
    int64_t cycles;                     /* by the scheduler's own clock */
};

/* depend.c */
void depend_regs_read(const struct isa_op *op, struct depend_regs *r);
int depend_build(struct depend *d, const struct code_block *b, const struct chip *chip,
                 struct err *e);
void depend_fini(struct depend *d);

/* depend_memory.c: flags, delays, DMA; all memory operations keep their place before or behind */
bool op_is_outside(enum isa_opcode code);

/* schedule.c */
bool schedule_is_weight_push(const struct isa_op *op);  /* takes a staging port, for so long: */
int schedule_weight_push_cycles(const struct chip *chip, const struct isa_op *op);

/* the best schedule that fits the registers; there always is one after registers_spill */
void schedule_choose(struct schedule *s, const struct code_block *b, const struct depend *d,
                     const struct chip *chip);

/*
 * interleave.c: the block with its chains through units that answer in order side by side, `width` of
 * them at a time; the last `tail` operations stay. False: there are no more than that, or an answer
 * would come in another one's place.
 */
bool interleave_chains(const struct code_block *b, int tail, int width, const struct chip *chip,
                       struct code_block *out);

/* registers.c */
int registers_peak(const struct code_block *b, const struct schedule *s, int *m_peak);
void registers_assign(struct code_block *b, const struct schedule *s);

/* spill.c */
struct spill_area {
    int64_t base_row, tile_count;
    int spill_count;                    /* out: tiles stored, */
    int used_tiles;                     /* at most so many at once */
};
int registers_spill(struct code_block *b, const struct chip *chip, struct spill_area *area,
                    struct err *e);

/* modulo.c */
struct modulo_result {
    int ii, stages, unroll, v_used;
    /* the schedule, to write the loop again: by operation, by virtual register and turn */
    int op_count, v_count, m_count;     /* the latter two times unroll */
    int *time, *v_register, *m_register;
    int post_first;                     /* bundle where its epilogue begins; 0: it is straight code */
};

/*
 * A loop of `count` rounds over the block (whose last operations are its
 * `step_count` steps; without loop control), rounds overlapping. False when it
 * cannot be done in less than limit_cycles.
 */
bool modulo_loop(const struct code_block *b, int step_count, int counter, int64_t count,
                 int64_t limit_cycles, const struct chip *chip, struct isa_program *out,
                 struct modulo_result *result);
/* arrays of the result into the arena */
void modulo_keep_result(struct modulo_result *r, struct arena *a);
/* the same, looked up in `memo` first; NULL: there is none. *out then lives as long as it. */
bool modulo_loop_once(const struct code_block *b, int step_count, int counter, int64_t count,
                      int64_t limit_cycles, const struct chip *chip, struct memo *memo,
                      struct isa_program *out, struct modulo_result *result);

/*
 * seam.c: the end of a loop that overlaps and the beginning of the next one, laid over each other.
 * What the loops are, of the emitter's block: */
struct seam_loop {
    const struct code_block *body;      /* without loop control */
    int block;                          /* of the code */
    int phase;                          /* turn of its first round */
    int post_first;                     /* bundle of its program where its epilogue begins */
    const struct modulo_result *result;
};

/*
 * The second loop with the end of the first in front of it, and what stood between the two; its phase
 * and post_first are those of *out then. False: they do not go together.
 */
bool seam_join(const struct vcode *c, const struct seam_loop *first, struct seam_loop *second,
               const struct chip *chip, struct arena *a, struct isa_program *out);

/*
 * scalars.c: by block, the scalar registers that are read behind it before they
 * are written; at the end of the code those of `at_end`. And new registers for
 * what is not: op, regs and op_count of a block without loop control, whose last
 * step_count operations stay.
 */
uint32_t *scalars_live_out(const struct vcode *c, uint32_t at_end, struct arena *a);
void scalars_rename(struct code_block *b, int step_count, uint32_t live_out);

/* pins.c: the block where the loop begins that ends with block `end` */
int pins_loop_start(const struct vcode *c, int end);
struct pin_range {
    int first, last;                    /* blocks; first -1 = never named */
    bool is_carried;                    /* first named by a read (or a guarded write) */
};
/* of all pinned registers that are named, for mem_free */
struct pin_range *pins_ranges(const struct vcode *c, int *count);
/* pins.c: physical[v] of every pinned register and, by block, the bits taken */
int registers_pin(const struct vcode *c, const struct chip *chip, struct arena *a,
                  int *physical, uint64_t *taken, struct err *e);
#endif
