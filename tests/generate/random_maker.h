/*
 * Inside the generator of random programs: one core's program while it grows,
 * and what is known of the core's state at the point reached.
 *
 *   random_bundle.c   bundles, operands, operations that are always legal
 *   random_scalar.c   scalar registers with known bounds, addresses
 *   random_control.c  scopes: loops and branches, and what they leave as it was
 *   random_fifo.c     results that wait in FIFOs
 *   random_vector.c   loads and stores, EUP, XLU, words to the scalar unit
 *   random_matrix.c   matrix units
 *   random_copy.c     memory zones, copies
 *   random_flag.c     sync flags
 *   random_cores.c    messages between cores
 *   random_program.c  the whole, and contents of memories
 *
 * A make_ function adds one operation to the bundle at hand, or none where none
 * would be legal or the slots are taken.
 */
#ifndef TESTS_RANDOM_MAKER_H
#define TESTS_RANDOM_MAKER_H
#include "base/rng.h"
#include "isa/check.h"
#include "sim/chip/limits.h"
#include "tests/generate/random_program.h"

#define DEPTH_MAX 3                     /* loops and branches inside each other */
#define COUNTER_FIRST (ISA_SREG_COUNT - DEPTH_MAX - 1)  /* scalars from here count loops */
#define CONDITION_FIRST (ISA_PRED_COUNT - DEPTH_MAX - 1) /* predicates from here end them */
#define ZONE_COUNT 16                   /* of each memory; a copy keeps whole zones busy */
#define USES_MAX 12                     /* sync flags in use */
#define PHASE_MAX 4

/* Guards as one number: predicate, and 16 if negated. */
#define GUARD_NONE ISA_PRED_ALWAYS
#define GUARD_NEGATED 16

/* What kinds of operations are drawn from, by weights. */
enum category {
    MAKE_SCALAR, MAKE_BOUNDED, MAKE_VECTOR, MAKE_MISC, MAKE_MEMORY, MAKE_WORD, MAKE_EUP, MAKE_XLU,
    MAKE_MATRIX, MAKE_COPY, MAKE_FLAG, CATEGORY_COUNT
};

struct character {
    const char *name;
    uint8_t weight[CATEGORY_COUNT];
    uint8_t tries;                      /* operations tried per bundle, at most */
    uint8_t loop_percent, branch_percent, guard_percent;
    uint16_t trips_max;
};

/* A FIFO, or a prep register, which is one of depth 1. */
enum {
    FIFO_EUP, FIFO_CRF, FIFO_V2S, FIFO_DRF, FIFO_XLU,
    FIFO_RESULT = FIFO_XLU + ISA_UNIT_MAX,
    FIFO_WEIGHTS = FIFO_RESULT + ISA_UNIT_MAX,
    FIFO_ROWS = FIFO_WEIGHTS + ISA_UNIT_MAX,
    FIFO_COUNT = FIFO_ROWS + ISA_UNIT_MAX
};
struct queued {
    uint16_t kind;                      /* XLU: what pops it; results: 1 for s32; prep: type */
    uint8_t guard;                      /* of the push, so also of the pop */
};
/* inside a loop a FIFO is left as found: empty, or with as many of the one kind it holds */
enum fifo_rule { FIFO_FREE, FIFO_ONE_KIND, FIFO_FROZEN };
struct ref_fifo {
    int depth, count;
    int fresh;                          /* of them, pushed in the bundle at hand */
    enum fifo_rule rule;
    int target;                         /* entries when the scope ends */
    struct queued entry[256];
};

/* What is known of a scalar register. */
struct bounds {
    bool is_known;
    bool is_aligned;                    /* a multiple of 4 */
    int depth;                          /* of the scope that made it; deeper ones keep it */
    int64_t lo, hi;
};

enum gain { GAIN_NONE, GAIN_FLOATS, GAIN_INTEGERS };
struct accumulator_use {
    bool is_used, is_integer, is_fresh;
    int popped, depth;
    uint8_t guard;
};
struct matrix_unit {
    bool is_integer[2];                 /* what goes into staging A, B: one kind per program */
    enum gain gain[2];
    bool keeps_gain;                    /* inside a loop that reuses what was loaded outside */
    bool has_multiplied, has_pushed;    /* in the bundle at hand */
    struct accumulator_use accumulator[ISA_ACCUMULATOR_MAX];
};

struct xlu_unit {
    bool is_open;                       /* a transpose */
    int type, rows, width;
    uint8_t guard;
};

enum space { IN_HBM, IN_VMEM, IN_SMEM, IN_CMEM, IN_HOST, SPACES };
struct zone {
    int readers, writers;               /* copies under way */
    bool is_inbox;                      /* kept for what another core sends */
    bool is_fixed;                      /* holds descriptors */
    bool is_dirty;                      /* stored to since the last fence */
    uint32_t touched, stored;           /* 1 + last bundle that loaded or stored, that stored */
};
struct zones {
    enum space space;
    int first, count;
};
struct random_copy {
    struct zones from, to;
    bool is_pushed;                     /* to another core: the destination is not ours */
};
/* A sync flag that is not simply 0. */
struct flag_use {
    int flag, depth;
    uint8_t guard;
    bool is_fresh;                      /* changed by the bundle at hand */
    bool is_settled;                    /* nothing on the way to it any more */
    int32_t value;                      /* once it is settled */
    int copy_count;
    struct random_copy copy[4];
};

/* One exchange between the cores: everybody sends to one and hears from one. */
enum phase_kind { PHASE_COPY, PHASE_ADD, PHASE_SET, PHASE_READ, PHASE_KINDS };
struct phase {
    enum phase_kind kind;
    int to[RANDOM_CORES_MAX], from[RANDOM_CORES_MAX];
    int code[RANDOM_CORES_MAX];         /* of the sender's copy; OP_DMA_GENERAL for a descriptor */
    int32_t value[RANDOM_CORES_MAX];    /* granules, or what the sender's flag operation says */
    bool to_hbm[RANDOM_CORES_MAX], from_hbm[RANDOM_CORES_MAX];
};
struct random_plan {
    int count;
    struct phase phase[PHASE_MAX];
};

struct maker {
    struct random_programs *r;
    const struct chip *chip;
    struct isa_limits limits;
    struct character character;
    const struct random_plan *plan;
    struct rng rng;
    int core;

    struct isa_op *op;
    struct isa_bundle *bundle;
    size_t op_capacity, bundle_capacity;
    uint32_t op_count, bundle_count;
    uint32_t first_op;                  /* of the bundle at hand */
    int slot_ops[SLOT_COUNT];
    uint32_t predicates_written;        /* by the bundle at hand */
    double executed, times;             /* bundles so far; how often one here is executed */

    int depth;
    /* what is named …_next holds from the next bundle on */
    struct bounds s[ISA_SREG_COUNT], s_next[ISA_SREG_COUNT];
    int pinned[ISA_PRED_COUNT];         /* entries under this guard that are still to be popped */
    bool is_false[ISA_PRED_COUNT], is_false_next[ISA_PRED_COUNT];
    bool is_index[ISA_VREG_MAX], is_index_next[ISA_VREG_MAX];  /* words within 0..ZONE_ROWS - 1 */
    struct ref_fifo fifo[FIFO_COUNT];
    struct matrix_unit mxu[ISA_UNIT_MAX];
    struct xlu_unit xlu[ISA_UNIT_MAX];
    struct zone zone[SPACES][ZONE_COUNT];
    struct flag_use use[USES_MAX];
    int use_count;
    struct random_copy done[8 * USES_MAX]; /* their zones are free from the next bundle on */
    int done_count;
    unsigned char descriptor[RANDOM_DESCRIPTOR_BYTES];  /* the fixed zones of SMEM */
    int descriptor_count;
};

/* random_bundle.c */
int below(struct maker *m, int end);
bool chance(struct maker *m, int percent);
int32_t random_word(struct rng *rng);           /* integers, floats, and what breaks them */
struct isa_operand none(void), reg(int number), imm(int32_t value);
struct isa_op *fresh_op(struct maker *m, struct isa_op *op, enum isa_opcode code);
bool chip_has(const struct maker *m, const struct isa_op *op);
bool emit(struct maker *m, const struct isa_op *op);
void end_bundle(struct maker *m);
/* like emit, in the next bundle where this one has no room */
void emit_surely(struct maker *m, const struct isa_op *op);
void set_guard(struct isa_op *op, uint8_t guard);
uint8_t guard_of(const struct isa_op *op);
void maybe_guard(struct maker *m, struct isa_op *op);   /* of an operation nobody has to follow */
uint8_t lasting_guard(struct maker *m);         /* of one that others under the same guard follow */
void pin(struct maker *m, uint8_t guard, int count);    /* negative: no longer */
int any_vreg(struct maker *m);
int any_sreg(struct maker *m);
int writable_sreg(struct maker *m);
int writable_predicate(struct maker *m);
int any_choice(struct maker *m, struct isa_op *op, int choice);
void make_plain(struct maker *m, enum category category);
bool is_plain(enum isa_opcode code);

/* random_scalar.c */
void make_bounded(struct maker *m);
bool knows_enough(const struct maker *m);
void know_s(struct maker *m, int number, int64_t lo, int64_t hi, bool is_aligned);
struct isa_operand known_number(struct maker *m, int32_t value);
struct window_units { int64_t first; int zone_units; };
struct window_units units_of(const struct maker *m, enum space space, int unit_bytes);
/* an address of `span` units that may be loaded (or stored to), as two operands */
bool pick_address(struct maker *m, enum space space, int unit_bytes, int span, bool is_store,
                  struct isa_operand operand[2]);

/* random_fifo.c */
void fifo_setup(struct maker *m);
bool fifo_takes(const struct maker *m, int fifo, int kind, uint8_t guard, int count);
void fifo_push(struct maker *m, int fifo, int kind, uint8_t guard, int count);
const struct queued *fifo_head(const struct maker *m, int fifo);
void fifo_pop(struct maker *m, int fifo);
uint8_t fifo_guard(struct maker *m, int fifo);  /* a guard that the FIFO takes */

/* random_control.c */
void make_block(struct maker *m, int bundles);
void settle(struct maker *m);                   /* everything of this scope is as it was found */
void make_bundle(struct maker *m);

/* random_vector.c */
void make_memory(struct maker *m);
void make_word(struct maker *m);
void make_eup(struct maker *m);
void make_xlu(struct maker *m);
void close_transposes(struct maker *m);
bool push_entry(struct maker *m, int fifo);     /* one more (or some more) of the kind it holds */
bool pop_entry(struct maker *m, int fifo);

/* random_matrix.c */
void matrix_setup(struct maker *m);
void make_matrix(struct maker *m);
bool matrix_push_entry(struct maker *m, int fifo);
bool matrix_pop_entry(struct maker *m, int fifo);
void pop_accumulators(struct maker *m);

/* random_copy.c */
void zones_setup(struct maker *m);
void zones_touch(struct maker *m, const struct zones *z, bool is_store);
bool zones_take_load(const struct maker *m, const struct zones *z);
bool zones_take_store(const struct maker *m, const struct zones *z);
bool zones_take_copy(const struct maker *m, const struct zones *z, bool is_destination);
void zones_all_dirty(struct maker *m);
void fence(struct maker *m, const struct zones *a, const struct zones *b);
void make_copy(struct maker *m);
void release_done(struct maker *m);
void fill_cmem(struct maker *m);
void put_descriptor(unsigned char *to, const int32_t word[16]);

/* random_flag.c */
void make_flag(struct maker *m);
int flags_kept(const struct maker *m);          /* from here on flags belong to the phases */
int free_flag(struct maker *m);
struct flag_use *use_flag(struct maker *m, int flag, uint8_t guard);
struct flag_use *some_use(struct maker *m);     /* one of this scope, or NULL */
/* the guard's predicate is what it was when the bundle began */
bool is_guard_stable(const struct maker *m, uint8_t guard);
void wait_for(struct maker *m, struct flag_use *u);
void give_back(struct maker *m, struct flag_use *u);
void settle_flags(struct maker *m);

/* random_cores.c */
void plan_phases(struct random_plan *p, struct rng *rng, const struct random_programs *r);
void keep_inboxes(struct maker *m);
void make_send(struct maker *m, int phase);
void make_receive(struct maker *m, int phase);
#endif
