/*
 * Inside program decoding: an operation by itself, what it touches, and the
 * order of the operations of a bundle.
 */
#ifndef SIM_DECODE_H
#define SIM_DECODE_H
#include "sim/core/program.h"

/* Things beside registers that one operation of a bundle may read and another write, by state. */
#define THING(state) (REG_COUNT + (state) * 2 * ISA_UNIT_MAX)
#define STATE_OF(thing) (((thing) - REG_COUNT) / (2 * ISA_UNIT_MAX))

/* Finds constants again by value: open addressing over the pool. */
struct decode_pool {
    uint32_t *slot;                     /* 1 + index of a constant */
    uint32_t mask;
};

struct decoder {
    const struct chip *chip;
    enum run_mode mode;
    struct decoded_program *program;
    struct decode_pool scalars, tiles;
    const struct decoded_matrix *matrix[64];    /* lately made, by a hash of its choices */
    bool is_slow[REG_COUNT + 1];        /* some operation's result takes more than a cycle */
};

struct touched {
    uint16_t read[ISA_OPERAND_MAX + 2], write[2];
    int read_count, write_count;
};

/* sim/core/exec_timing.c: what executes `code` in timing mode; NULL for nothing */
exec_fn *decode_timing_exec(enum isa_opcode code, exec_fn *exec);

/* sim/core/decode_constants.c: the index behind registers and temporaries */
void decode_constants_init(struct decoder *d, const struct isa_program *p);
int32_t decode_scalar(struct decoder *d, int32_t value);
int32_t decode_tile(struct decoder *d, int32_t value);
/* the word of an immediate vector operand: packed logic repeats it for each value */
int32_t decode_vector_immediate(const struct isa_op *op, int index);

/* sim/core/decode_op.c */
void decode_op(struct decoder *d, const struct isa_program *p, uint32_t index,
               struct decoded_op *out, struct touched *touched);

/* sim/core/decode_ready.c: drop the checks of registers that are always ready, and their times */
void decode_ready(struct decoded_program *p, const struct chip *chip);

/* sim/core/decode_live.c: what is read behind each bundle, and by whom last */
void decode_live(struct decoded_program *p, const struct chip *chip);

void decode_touched(const struct isa_op *op, struct touched *t);

/*
 * Put the operations `in` of a bundle into an order in which reads come before
 * writes; copies out of temporaries come last. `out` has room for twice as
 * many. Returns how many there are.
 */
int decode_order(const struct decoded_op *in, const struct touched *touched, int count,
                 struct decoded_op *out);
#endif
