/*
 * Programs made ready for the issue loop: decoded once, shared by all cores
 * that run them.
 *
 * Each operation carries its handler and operands as plain indices: registers
 * first, then temporaries, then constants, so that an immediate reads like a
 * register. Per bundle there are lists of the registers to wait for, of the
 * registers written with their latency, and of the operations that need more
 * than that (units, FIFOs, memory, flags).
 *
 * Operations of a bundle are put into an order in which every read comes
 * before the write of the same thing; where no order does that (an exchange of
 * two registers) the result goes through a temporary.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include "isa/matrix.h"
#include "isa/overlay.h"
#include "sim/chip/chip.h"
#include "sim/results/results.h"
#include "sim/results/tracks.h"

struct core;
struct decoded_op;

typedef void exec_fn(struct core *c, const struct decoded_op *o);

/* Every register has a "ready at" under one number. */
enum { REG_S = 0, REG_P = 32, REG_M = 48, REG_V = 64, REG_COUNT = 128, REG_NONE = REG_COUNT };

/* Where temporaries and constants begin in the register arrays of a core. */
enum {
    TEMP_COUNT = ISA_BUNDLE_OP_MAX,
    S_TEMP = ISA_SREG_COUNT, S_CONST = S_TEMP + TEMP_COUNT,
    P_TEMP = 16, P_COUNT = P_TEMP + TEMP_COUNT,
    M_TEMP = ISA_MASK_COUNT, M_FALSE = M_TEMP + TEMP_COUNT, M_TRUE, M_COUNT,
    V_TEMP = ISA_VREG_MAX, V_CONST = V_TEMP + TEMP_COUNT
};

/* What an operation needs beside its registers. */
enum timing_kind {
    TIMING_NONE, TIMING_LOAD, TIMING_STORE, TIMING_LOAD_IAR, TIMING_STORE_IAR, TIMING_CLD,
    TIMING_POP,                         /* a result FIFO's head */
    TIMING_EUP, TIMING_REDUCE, TIMING_PERMUTE, TIMING_XPOSE, TIMING_XPOSE_END,
    TIMING_MATPUSH, TIMING_MATMUL, TIMING_POP_ACCUMULATOR, TIMING_VDWG, TIMING_VPUSH, TIMING_SPOP,
    TIMING_DIVIDE, TIMING_POP_DRF, TIMING_SST, TIMING_FENCE, TIMING_DELAY, TIMING_DMA,
    TIMING_WAIT                         /* waits, flag reads, flag sets: settled in time order */
};

/* the FIFOs of results of a core: EUP, CMEM, xlu0.., mxu0.. */
enum {
    RESULT_EUP, RESULT_CRF, RESULT_XLU, RESULT_MXU = RESULT_XLU + ISA_UNIT_MAX,
    RESULT_FIFO_COUNT = RESULT_MXU + ISA_UNIT_MAX
};

#define RESULT_TILE_MAX 16              /* 64 rows of two halves */

/* An operation of a matrix unit, with all that the chip says about it. */
struct decoded_matrix {
    uint16_t code;
    int32_t choice[ISA_OPERAND_MAX];    /* of its mnemonic, then 0: they and the code say all */
    struct matrix_op op;
    bool is_integer;
    uint16_t cycles;                    /* on its port or array */
    uint16_t enter_cycles;              /* from issue to its rows in the array: latching */
    uint16_t result_key;                /* timing_pop_key of its results */
    int tile_count;                     /* results, */
    int halves;                         /* of so many columns of 128 each */
    uint32_t result_cycles[RESULT_TILE_MAX];    /* of each, from when its rows enter the array */
};

/* What pops a FIFO, and what its wait is charged to. */
struct decoded_pop {
    uint16_t key;                       /* timing_pop_key */
    uint8_t fifo, reason;               /* RESULT_EUP.., enum stall_reason */
};

struct decoded_op {
    exec_fn *exec;                      /* NULL where the mode does not work it out */
    int32_t o[ISA_OPERAND_MAX];         /* in format order; predicate reads: 2 * number + negated */
    union {                             /* by timing */
        const struct decoded_matrix *matrix;
        struct decoded_pop pop;
        int64_t reach_rows;             /* a load or store: from its first row to its last */
    };
    uint32_t source;                    /* index into isa_program.op */
    uint16_t code;                      /* enum isa_opcode; OP_COUNT: copy out of a temporary */
    uint16_t latency;                   /* cycles from issue to use of the result */
    uint8_t timing;                     /* enum timing_kind */
    uint8_t unit;                       /* which MXU or XLU */
    uint8_t track;
    uint8_t reg;                        /* "ready at" number of the result, REG_NONE if none */
    uint8_t guard, guard_is_negated;    /* predicate; meaningful where is_guarded */
    bool is_guarded;
    uint8_t bank_extra;                 /* cycles a strided access adds */
};
_Static_assert(sizeof(struct decoded_op) == 64, "an operation is one line of the host's cache");

struct decoded_def {
    uint8_t reg;
    uint16_t latency;
};

/*
 * The lists of a bundle. `check` and the lists of operations are bytes, one
 * behind the other from first_list on: registers that must be ready, operations
 * that may have to wait, that take something when they issue, that are executed,
 * and that have a guard.
 */
struct decoded_bundle {
    uint32_t first_op, first_list, first_def, first_special;
    uint32_t first_step;                /* timing mode: in the program's stream */
    uint8_t check_count, wait_count, take_count, exec_count, guarded_count;
    uint8_t op_count, def_count, special_count;
    uint8_t bank_extra;                 /* of its accesses without a guard */
    bool has_guard, has_sync, has_branch;
    bool is_end;                        /* behind the last bundle */
    bool is_entry;                      /* may be reached from another overlay */
    uint32_t tracks;                    /* bit per track with an operation */
    uint32_t busy_tracks;               /* simple tracks with an unguarded operation */
    /* not in timing mode: vector registers that are read behind it; those of them that a guard
       will overwrite before, where it holds */
    uint64_t live_vectors, live_unless;
    uint8_t unless_predicate, unless_is_negated;
};

/* A kernel of machine_set_kernels: bundles that a marker with its number stands in front of. */
struct decoded_kernel {
    uint32_t first, end;
    bool is_alone;                      /* so it says, and its code does not contradict */
};

struct decoded_program {
    const struct isa_program *source;
    uint64_t hash;                      /* of the source's contents */
    int user_count;                     /* cores that hold it */
    struct arena arena;
    struct decoded_bundle *bundle;      /* and an end behind the last */
    struct decoded_op *op;
    uint8_t *list;                      /* operations by index within the bundle */
    struct stream_step *step;           /* timing mode: sim/core/stream.h */
    struct decoded_def *def;            /* registers written without a guard */
    uint16_t *special;                  /* operations with a timing_kind, index within the bundle */
    uint32_t bundle_count, op_count, list_count, def_count, special_count;
    struct isa_overlays overlays;
    struct decoded_kernel *kernel;      /* by number; they may be none */
    uint32_t kernel_count;
    int32_t *scalar;                    /* constants */
    uint32_t (*tile)[1024];
    uint32_t scalar_count, tile_count;
};

/* the lists of a bundle, check_count, wait_count, … entries each */
static inline const uint8_t *decoded_checks(const struct decoded_program *p,
                                            const struct decoded_bundle *b)
{
    return &p->list[b->first_list];
}

static inline const uint8_t *decoded_waits(const struct decoded_program *p,
                                           const struct decoded_bundle *b)
{
    return decoded_checks(p, b) + b->check_count;
}

static inline const uint8_t *decoded_takes(const struct decoded_program *p,
                                           const struct decoded_bundle *b)
{
    return decoded_waits(p, b) + b->wait_count;
}

static inline const uint8_t *decoded_execs(const struct decoded_program *p,
                                           const struct decoded_bundle *b)
{
    return decoded_takes(p, b) + b->take_count;
}

static inline const uint8_t *decoded_guarded(const struct decoded_program *p,
                                             const struct decoded_bundle *b)
{
    return decoded_execs(p, b) + b->exec_count;
}

/* cycles that an access to these rows takes beyond those of eight consecutive ones */
int decode_bank_extra_cycles(const struct chip *chip, const int64_t row[8], uint32_t sublanes);

uint64_t program_hash(const struct isa_program *p);

/* The program must have passed isa_check. */
struct decoded_program *program_decode(const struct isa_program *p, const struct chip *chip,
                                       enum run_mode mode);
void program_destroy(struct decoded_program *p);

/* sim/core/program_kernels.c: copied; -1 with a message where one is not a part of the program */
int program_set_kernels(struct decoded_program *p, const struct decoded_kernel *kernel, int count,
                        struct err *e);

/* the kernel behind the marker `number` in bundle `at`; NULL: none that is known */
static inline const struct decoded_kernel *decoded_kernel_at(const struct decoded_program *p,
                                                             int32_t number, uint32_t at)
{
    const struct decoded_kernel *k;

    if (number < 0 || (uint32_t)number >= p->kernel_count)
        return NULL;
    k = &p->kernel[number];
    return k->first == at + 1 ? k : NULL;
}
#endif
