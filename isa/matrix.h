/*
 * Operations of the matrix units (docs/mxu.md): what the choices in their
 * mnemonics say, and the operands that make them.
 */
#ifndef ISA_MATRIX_H
#define ISA_MATRIX_H
#include "isa/isa.h"

/* in the order of the choices in ops.def */
enum matrix_type {
    MATRIX_F32, MATRIX_BF16, MATRIX_S8, MATRIX_U8, MATRIX_S4, MATRIX_U4,
    MATRIX_F8E5M2, MATRIX_F8E4M3B11FNUZ, MATRIX_F8E4M3FN,
    MATRIX_TYPE_COUNT
};

/* positions among the choices of vmatpush and vmatmul */
enum matrix_push_choice { PUSH_MODE, PUSH_TYPE, PUSH_XPOSE, PUSH_STAGING, PUSH_CHOICES };
enum matrix_multiply_choice {
    MULTIPLY_PREP, MULTIPLY_TYPE, MULTIPLY_LATCH, MULTIPLY_GAIN, MULTIPLY_CHOICES
};

enum matrix_kind {
    MATRIX_NONE, MATRIX_PUSH, MATRIX_PREP_WEIGHTS, MATRIX_PREP_ROWS, MATRIX_MULTIPLY,
    MATRIX_POP, MATRIX_GIVE_UP
};

/* One such operation. Fields that its kind does not have are 0, staging and accumulator -1. */
struct matrix_op {
    enum matrix_kind kind;
    enum matrix_type type;              /* of a pop: F32, or S8 for s32 */
    bool takes_type_of_push;            /* a vmatprep.subr without a type */
    bool is_masked, is_xpose;
    bool uses_prep;                     /* takes the prep register out */
    int mode;                           /* of a push: the digit behind vmatpush, 0 for none */
    int staging;                        /* pushed into; or copied into the gain register first */
    int gain;
    int accumulator;                    /* the first; -1: results go to the FIFO */
};

/* `operand` in the order of isa_op.operand: their values */
struct matrix_op matrix_op_of(enum isa_opcode code, const int32_t *operand);
struct matrix_op matrix_op_of_isa(const struct isa_op *op);

int matrix_values_per_word(enum matrix_type t);          /* 1, 2, 4, 8 */
static inline int matrix_rows(enum matrix_type t) { return 8 * matrix_values_per_word(t); }
bool matrix_is_integer(enum matrix_type t);
const char *matrix_type_name(enum matrix_type t);        /* "f32", "bf16", … */
#endif
