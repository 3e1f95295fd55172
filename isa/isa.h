/*
 * The instruction set: operations, bundles, programs.
 *
 * Everything here is generated from isa/ops.def and isa/formats.def. A program
 * is a list of VLIW bundles for one core; all operations of a bundle read
 * their registers before any of them writes. Registers are named by number:
 * v0.. vector, s0..s31 scalar, p0..p13 predicate, vm0..vm15 mask.
 *
 * Not here: what operations compute (sim/), how long they take (sim/), the
 * binary form (isa/object.h), the text form (isa/asm.h, isa/disasm.h).
 */
#ifndef ISA_ISA_H
#define ISA_ISA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum isa_format {
#define FMT(name, template) ISA_FMT_##name,
#include "isa/formats.def"
    ISA_FMT_COUNT
};

enum isa_slot {
    SLOT_SCALAR, SLOT_VALU, SLOT_EUP, SLOT_LOAD, SLOT_STORE, SLOT_PUSH, SLOT_POP, SLOT_MISC,
    SLOT_DMA, SLOT_CMEM,
    SLOT_COUNT                          /* slots share room: isa/slots.h */
};

enum isa_unit {
    UNIT_SCALAR, UNIT_VALU, UNIT_EUP, UNIT_LOAD, UNIT_STORE, UNIT_XLU, UNIT_MXU, UNIT_MISC,
    UNIT_DMA, UNIT_COUNT
};

enum isa_latency_class {
    CLASS_SALU, CLASS_SMUL, CLASS_SF32, CLASS_SDIV, CLASS_SCMP, CLASS_SLD, CLASS_SST, CLASS_FENCE,
    CLASS_SBR, CLASS_SPOP,
    CLASS_VALU, CLASS_VCMP, CLASS_VSEL, CLASS_EUP, CLASS_POP, CLASS_VLD, CLASS_VST, CLASS_CLD,
    CLASS_XRED, CLASS_XPERM, CLASS_XPOSE, CLASS_XPOSE_END, CLASS_MATPUSH,
    CLASS_MATMUL, CLASS_VDWG, CLASS_SYNC, CLASS_SYNC_RD, CLASS_DELAY, CLASS_MISC, CLASS_VPUSH,
    CLASS_DMA,
    CLASS_COUNT
};

enum isa_state {
#define STATE(id, name, kind, meaning) STATE_##id,
#include "isa/states.def"
    STATE_COUNT
};

enum isa_state_kind {
    STATES_REGISTER, STATES_MEMORY, STATES_SYNC,
    STATES_FIFO,                        /* a read takes out of it */
    STATES_UNIT,                        /* registers of a matrix unit */
    STATES_CORE                         /* what a core has beside all these */
};

enum {                                  /* sets of them: of one, and all of a kind */
#define STATE(id, name, kind, meaning) ISA_##id = 1 << STATE_##id,
#include "isa/states.def"
    ISA_FIFOS = 0
#define STATE(id, name, kind, meaning) | (STATES_##kind == STATES_FIFO) << STATE_##id
#include "isa/states.def"
    , ISA_CORE_STATES = 0
#define STATE(id, name, kind, meaning) | (STATES_##kind == STATES_CORE) << STATE_##id
#include "isa/states.def"
};

enum isa_opcode {
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) OP_##id,
#include "isa/ops.def"
    OP_COUNT
};

#define ISA_OPERAND_MAX 8
#define ISA_CHOICE_MAX 5                /* choices in one mnemonic */
#define ISA_MNEMONIC_MAX 64
#define ISA_NAME_MAX (ISA_MNEMONIC_MAX + 32)     /* with the numbers of unit and accumulator */
#define ISA_PATTERN_MAX 192             /* all mnemonics of one operation, braces and all */
#define ISA_BUNDLE_OP_MAX 16            /* more than any chip's slots together */
#define ISA_PRED_ALWAYS 15              /* guard of an unguarded operation */
#define ISA_PRED_COUNT 14               /* p0..p13 */
#define ISA_MASK_COUNT 16
#define ISA_SREG_COUNT 32
#define ISA_VREG_MAX 64                 /* the chip file says how many exist */
#define ISA_SUBLANES_IN_ORDER 0x76543210   /* pattern of a load that moves no sublane */
#define ISA_UNIT_MAX 8                  /* mxu0..mxu7, xlu0..xlu7 */
#define ISA_ACCUMULATOR_MAX 1024        /* mrb[0].. of one unit */

enum isa_operand_kind {
    OPERAND_NONE,                       /* absent: base register of an address, optional tail */
    OPERAND_REG,                        /* value = register number */
    OPERAND_IMM                         /* value = the 32 bits; of an f32 its bit pattern */
};

struct isa_operand {
    int32_t value;
    uint8_t kind;                       /* enum isa_operand_kind */
    uint8_t is_negated;                 /* predicate operands only */
};

/*
 * Operands stand in the order of the format's template (isa/formats.def), then
 * one immediate per choice that the mnemonic makes: its index among the choices.
 */
struct isa_op {
    uint16_t code;                      /* enum isa_opcode */
    uint8_t pred;                       /* guard: predicate number or ISA_PRED_ALWAYS */
    uint8_t pred_is_negated;
    uint8_t unit_index;                 /* which MXU or XLU; 0 elsewhere */
    uint8_t operand_count;
    uint16_t origin;                    /* of kernels that a program brings: number of their own */
                                        /* operation that it is for; 0: none. Not kept in files */
    struct isa_operand operand[ISA_OPERAND_MAX];
};

#define ISA_XPOSE_TYPE 2                /* operand of a vxpose: b32, b16, b8, c.b16, c.b8 */
/* Rows of a tile that vxpose takes and gives, by that operand: 8, 16 or 32. */
static inline int isa_xpose_rows(int32_t type) { return 8 << (type < 3 ? type : type - 2); }

struct isa_bundle {
    uint32_t first_op;                  /* index into isa_program.op */
    uint16_t op_count;
    uint32_t line;                      /* source line, 0 = unknown */
    uint32_t note;                      /* 0, or 1 + index into isa_program.note: its origin */
};

struct isa_symbol {
    const char *name;
    uint32_t bundle;                    /* label of this bundle */
};

/*
 * A program owns nothing: the caller's arena holds all it points to.
 * Branch operands hold the absolute index of the target bundle.
 */
struct isa_program {
    const char *name;                   /* source file or entry name */
    struct isa_op *op;
    struct isa_bundle *bundle;
    struct isa_symbol *symbol;          /* in the order of their bundles */
    const char **note;                  /* source operations, e.g. HLO names, for reports */
    uint32_t op_count, bundle_count, symbol_count, note_count;
};

/* What the table says of one operation. */
struct isa_info {
    const char *mnemonic;               /* without unit suffix, every choice at its first */
    const char *pattern;                /* as the table has it */
    enum isa_slot slot;
    enum isa_format format;
    enum isa_unit unit;
    enum isa_latency_class latency_class;
    const char *reads_text, *writes_text, *effect, *meaning;
    uint32_t reads, writes;             /* state that is in no operand: ISA_… */
    uint8_t operand_count;              /* derived from the template and the mnemonic */
    uint8_t tail_first;                 /* operands from here on may be absent, all of them */
    uint8_t choice_first;               /* operands from here on are choices */
    uint8_t choice_count;
    uint8_t alternative_count[ISA_CHOICE_MAX];  /* 0: any number, an accumulator's */
    char role[ISA_OPERAND_MAX];         /* template letter; $A gives 'B', 'O'; choices are 'x' */
};

const struct isa_info *isa_info(enum isa_opcode code);   /* never NULL for code < OP_COUNT */
static inline uint32_t isa_touches(enum isa_opcode code)
{
    return isa_info(code)->reads | isa_info(code)->writes;
}
/* The operation that takes out of the FIFO which `push` puts into, the first of them. */
enum isa_opcode isa_pop_of(enum isa_opcode push);
/* A bit per operand that is a scalar, register or not, which the operation reads. */
uint8_t isa_scalar_operands(enum isa_opcode code);
const char *isa_format_template(enum isa_format format);
const char *isa_slot_name(enum isa_slot slot);           /* "scalar", "valu", … */

/*
 * The table row whose mnemonic is the `length` characters at `name`, without
 * unit suffix and with '#' for the number of an accumulator, or -1. The
 * choices that the name makes go to choice[] (0 for the accumulator).
 */
int isa_find(const char *name, size_t length, int32_t choice[ISA_CHOICE_MAX]);

/* Every mnemonic with every choice, sorted; *count of them. */
const char *const *isa_mnemonics(size_t *count);

/* What an operand of a role may be: kinds, register numbers, negation. */
bool isa_role_allows(char role, const struct isa_operand *operand);
const char *isa_role_meaning(char role);                 /* "vector register", … */

/* The file that registers of a role are of, STATE_COUNT: none; and whether they are written. */
enum isa_state isa_role_file(char role);
bool isa_role_is_written(char role);
const char *isa_register_prefix(enum isa_state file);    /* "v", "vm", "s", "p" */

/* The same for operand `index` of an operation, choices included. */
bool isa_operand_allowed(enum isa_opcode code, int index, const struct isa_operand *operand);

/* Operand `index` is an index register and no base register stands before it. */
bool isa_lacks_base(const struct isa_op *op, int index);

/*
 * The mnemonic as written, with ".mxuN" or ".xluN" where the operation has a
 * unit number; choice may be NULL for the first of each. Both return buf.
 * isa_unit_suffix is "mxu", "xlu" or NULL.
 */
char *isa_print_mnemonic(enum isa_opcode code, int unit_index, const int32_t *choice, char *buf,
                         size_t buf_bytes);
char *isa_print_op_mnemonic(const struct isa_op *op, char *buf, size_t buf_bytes);
const char *isa_unit_suffix(enum isa_opcode code);

/*
 * All mnemonics of the operation in one, as the table has it: choices in
 * braces, "[N]" for an accumulator. `unit`, which may be "", stands where the
 * text has the number of the unit. Returns buf; ISA_PATTERN_MAX bytes hold any.
 */
char *isa_print_pattern(enum isa_opcode code, const char *unit, char *buf, size_t buf_bytes);
#endif
