/*
 * Small emitters for kernels that compute addresses as they run: scalar
 * expressions, vector operations and copies, one function each.
 *
 * A scalar value is an operand: an immediate, or a scalar register taken from
 * the next free one. Registers are given back all at once: keep next_sreg and
 * restore it. Expressions of constants cost nothing.
 */
#ifndef STACK_MOVE_CODE_H
#define STACK_MOVE_CODE_H
#include "stack/hlo/array.h"
#include "stack/backend/vcode.h"

struct move_code {
    struct vcode *code;
    const struct chip *chip;
    int next_sreg, sreg_end;            /* free scalar registers */
    bool is_exhausted;                  /* there were not enough: the code is of no use */
    int next_pred;                      /* p1.. take turns */
};

void move_code_init(struct move_code *m, struct vcode *code, const struct chip *chip);

/* scalar expressions; s32 */
struct isa_operand move_reg(struct move_code *m);                       /* a free register */
void move_set(struct move_code *m, struct isa_operand to, struct isa_operand from);
struct isa_operand move_add(struct move_code *m, struct isa_operand a, struct isa_operand b);
struct isa_operand move_sub(struct move_code *m, struct isa_operand a, struct isa_operand b);
struct isa_operand move_mul(struct move_code *m, struct isa_operand a, int64_t by);
/* sum + a by; a register of `sum` may be written again */
struct isa_operand move_add_product(struct move_code *m, struct isa_operand sum,
                                    struct isa_operand a, int64_t by);
struct isa_operand move_and(struct move_code *m, struct isa_operand a, int32_t bits);
/* left < 0: to the right */
struct isa_operand move_shift(struct move_code *m, struct isa_operand a, int left);
struct isa_operand move_min(struct move_code *m, struct isa_operand a, struct isa_operand b);
struct isa_operand move_max(struct move_code *m, struct isa_operand a, struct isa_operand b);
/* of 0 <= a < 2^31 by a constant */
struct isa_operand move_div(struct move_code *m, struct isa_operand a, int64_t by);
struct isa_operand move_mod(struct move_code *m, struct isa_operand a, int64_t by);
/* a < b ? x : y, and the same for equality */
struct isa_operand move_if_less(struct move_code *m, struct isa_operand a, struct isa_operand b,
                                struct isa_operand x, struct isa_operand y);
struct isa_operand move_if_equal(struct move_code *m, struct isa_operand a, struct isa_operand b,
                                 struct isa_operand x, struct isa_operand y);

static inline struct isa_operand move_imm(int64_t value) { return operand_imm((int32_t)value); }

/* vectors: results are new virtual registers */
int move_v1(struct move_code *m, enum isa_opcode code, struct isa_operand a);
int move_v2(struct move_code *m, enum isa_opcode code, int a, struct isa_operand b);
/* the same for a mnemonic that makes a choice */
int move_v1_choice(struct move_code *m, enum isa_opcode code, int a, int choice);
int move_v2_choice(struct move_code *m, enum isa_opcode code, int a, struct isa_operand b,
                   int count, const int32_t *choice);
int move_splat(struct move_code *m, struct isa_operand a);              /* in every element */
int move_compare(struct move_code *m, enum isa_opcode code, int a, struct isa_operand b);
int move_mask_and(struct move_code *m, int a, int b);
int move_select(struct move_code *m, int mask, struct isa_operand a, struct isa_operand b);
void move_select_into(struct move_code *m, int to, int mask, struct isa_operand a,
                      struct isa_operand b);
int move_lane_index(struct move_code *m);
int move_sublane_index(struct move_code *m);
int move_rotate_lanes(struct move_code *m, int a, struct isa_operand up);
/* row: operand plus a constant */
int move_load(struct move_code *m, struct isa_operand row, int64_t offset, int stride);
void move_store(struct move_code *m, struct isa_operand row, int64_t offset, int stride, int v);

/* copies; addresses and sizes in granules */
void move_copy(struct move_code *m, enum isa_opcode code, struct isa_operand from,
               struct isa_operand to, int64_t granules, int flag);
void move_wait(struct move_code *m, int flag, int64_t granules);

/*
 * A loop that goes on while `left` says so: rounds are counted by a register
 * that move_while_end sets to 2 where a < b and to 1 where not.
 */
struct isa_operand move_loop_begin(struct move_code *m, int64_t count);
void move_loop_end(struct move_code *m, struct isa_operand counter);
void move_while_end(struct move_code *m, struct isa_operand counter, struct isa_operand a,
                    struct isa_operand b);
#endif
