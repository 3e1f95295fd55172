/*
 * Lowering: kernels of the plan to virtual-register code. Private to stack/.
 *
 * Scalar registers are assigned by hand, one meaning each for the whole
 * program, so that kernels can be read and combined.
 */
#ifndef STACK_LOWER_H
#define STACK_LOWER_H
#include "stack/plan.h"

enum lower_sreg {
    SREG_COUNTER,                       /* innermost loop */
    SREG_MATRIX,                        /* row offset into matrix buffers in a loop over tiles */
    SREG_COLUMN,                        /* the same for column vectors */
    SREG_FIRST_ROW,                     /* logical index of the first row of this round */
    SREG_OUTER_COUNTER,
    SREG_RHS, SREG_OUT, SREG_LHS,       /* row offsets of a dot's loops */
    SREG_ROWS_COUNTER,                  /* its outermost, over rows */
    SREG_RANK, SREG_NEXT_CORE, SREG_PREVIOUS_CORE,      /* all-reduce */
    SREG_SEND, SREG_RECEIVE,            /* row offsets of the chunks in the bucket */
    SREG_ARRIVAL,                       /* row offset of this step's arrivals */
    SREG_TEMP_A, SREG_TEMP_B, SREG_TEMP_C
};

/* predicate registers: the back end keeps p0 for loop ends */
enum lower_preg { PREG_LOOP, PREG_TEMP };

struct lower {
    struct plan *plan;
    struct vcode *code;
    const struct chip *chip;
    int next_xlu;                       /* cross-lane units take turns */
    int first_ring_flag;                /* sync flags of the all-reduce */
};

/* a vld/vst address: rows = S[base] + row, base -1 = none */
struct address {
    int base;
    int64_t row;
    int region;                         /* for the alias analysis */
};

/* one-line emitters; vector results are new virtual registers */
int lower_load(struct lower *l, struct address a, int sublane_stride);
void lower_store(struct lower *l, struct address a, int vreg);
int lower_op2(struct lower *l, enum isa_opcode code, int a, struct isa_operand b);
int lower_op1(struct lower *l, enum isa_opcode code, struct isa_operand a);
int lower_index(struct lower *l);                       /* vlaneseq */
int lower_compare(struct lower *l, enum isa_opcode code, int a, struct isa_operand b); /* mask */
int lower_select(struct lower *l, int mask, struct isa_operand a, struct isa_operand b);
int lower_eup(struct lower *l, enum isa_opcode code, int a);
int lower_xlane(struct lower *l, enum isa_opcode code, int a);
int lower_broadcast_lane(struct lower *l, int a, int lane);
int lower_round_bf16(struct lower *l, int a);           /* bf16 value in f32 */
int lower_sublanes(struct lower *l, enum isa_opcode code, int a);  /* combine sublanes: 4, 2, 1 */
void lower_scalar(struct lower *l, enum isa_opcode code, int d, int a, struct isa_operand b);
void lower_scalar_set(struct lower *l, int d, int64_t value);

/* a sync or DMA operation: all operands immediates or scalar registers */
void lower_misc(struct lower *l, enum isa_opcode code, int count, const struct isa_operand *o);

/*
 * An elementwise node on registers: operand[k] holds vector registers,
 * immediates or, for predicates, mask registers. Returns a vector register, or
 * a mask register for nodes of type pred.
 */
int lower_elementwise(struct lower *l, const struct graph_node *n, enum graph_dtype operand_dtype,
                      const struct isa_operand *operand);

/* the bits of a constant of this type, as an immediate */
struct isa_operand lower_constant(enum graph_dtype dtype, double value);

void lower_loop_kernel(struct lower *l, const struct kernel *k, int kernel);
int lower_dot_kernel(struct lower *l, const struct kernel *k, struct err *e);
void lower_transpose_kernel(struct lower *l, const struct kernel *k);
void lower_all_reduce_kernel(struct lower *l, const struct kernel *k);
#endif
