/*
 * Listings of final bundles, as the XLA:TPU compiler dumps them.
 *
 * listing_scan reads the text: bundles, operations, what the text declares or
 * tells about the kernel's operands and allocations. listing_place decides
 * where they lie in a core's memories, listing_assemble then makes a program.
 * An operation that is not known, or whose operands are not, becomes a
 * stand-in of its slot (stand_in.* in isa/ops.def) and is told; it never stops
 * the reader. A text whose structure is damaged is an error with its place.
 *
 * Not here: the contents of operands (cli/common/dump_data.h), what a stand-in costs
 * (sim/), the units that the compiler counts (isa/listing/utilization.h).
 */
#ifndef ISA_LISTING_H
#define ISA_LISTING_H
#include "isa/asm.h"
#include "isa/check.h"

#define LISTING_RANK_MAX 8
#define LISTING_OPERAND_MAX 1024        /* of one kernel, far above what its registers hold */

enum listing_space {
    SPACE_UNKNOWN, SPACE_HBM, SPACE_VMEM, SPACE_SMEM, SPACE_SFLAG,
    SPACE_VALUE                         /* no memory: the register holds the scalar itself */
};

/* "f32[8,128]{1,0:T(8,128)}"; without a layout has_layout is false and the rest is open */
struct listing_shape {
    char type[16];
    int elem_bits;                      /* 0: a type that is not known */
    int rank;
    int64_t side[LISTING_RANK_MAX];
    bool has_layout;
    int minor[LISTING_RANK_MAX];        /* dimensions, the one that varies fastest first */
    int64_t tile_rows, tile_columns;    /* 0: not told; of one dimension: tile_columns */
};

/*
 * How an array lies in memory: the dimension minor[0] along columns, minor[1]
 * along rows, the others fold into planes; tiles of tile_rows x tile_columns
 * stand in row-major order. `pack` consecutive rows share a 32-bit word, the
 * first in its low bits. An array of one dimension is rows of 128.
 */
struct listing_layout {
    int64_t planes, rows, columns;
    int minor[LISTING_RANK_MAX];
    int64_t tile_rows, tile_columns, pack;
    int64_t bytes;
};

struct listing_operand {
    const char *name;                   /* "%s128_s0" */
    int number;                         /* "index: 2"; -1 where the compiler passes a table */
    enum listing_space space;
    struct listing_shape shape;
    bool is_input, is_output;
    int reg;                            /* scalar register that holds it at entry */
    bool counts_granules;               /* an HBM pointer in granules of 32 B, not rows of 512 B */
    int32_t alias;                      /* operand whose buffer it shares, -1 for none */
    int64_t reached_bytes;              /* by copies and constant offsets; 0 = not known */
    bool is_reached_further;            /* at offsets that only the run knows */
    int line, col;
    struct listing_layout layout;       /* from here on set by listing_place */
    int64_t address;                    /* bytes, in its space */
    int32_t value;                      /* of the register; SPACE_VALUE: set by the caller */
};

struct listing_allocation {
    const char *name;                   /* "allocation2" */
    enum listing_space space;
    bool is_declared, is_fixed;         /* fixed: at a given address */
    int64_t bytes;                      /* declared, or reached as above; flags: their number */
    int line, col;
    int64_t address;                    /* set by listing_place: bytes, or the flag's number */
    int32_t value;                      /* what "[#name]" stands for */
};

struct listing_op {
    uint32_t bundle;
    int line, col;
    const char *text;                   /* without comments, one blank between words */
    size_t at, end;                     /* in the listing's text */
    const char *mnemonic, *result;      /* "" where there is no result */
    uint8_t slot, unit, unit_index;     /* enum isa_slot, enum isa_unit */
    bool is_nothing;                    /* int_to_ptr and the like: no operation of the machine */
    int32_t code;                       /* enum isa_opcode; -1: not known */
    uint32_t op;                        /* index in program.op */
    const char *reason;                 /* why a stand-in takes its place; NULL: it does not */
};

struct listing {
    const char *file, *entry;           /* entry: "%fusion.2 = fusion(…)", "" if not told */
    const char *text;                   /* comments blanked, same length and lines */
    size_t bytes;
    struct arena *arena;                /* the caller's; holds all of this */
    struct isa_program program;         /* set by listing_assemble */
    struct listing_op *op;
    struct listing_operand *operand;
    struct listing_allocation *allocation;
    int64_t *bundle_number;             /* as printed, ascending */
    int *bundle_line;
    uint8_t *bundle_depth;              /* loops around it: the number of '>' */
    bool *bundle_is_exit;               /* marked LE: the loop before it ends here */
    int branch_delay_most;              /* delay bundles its branches leave room for; -1: any */
    uint32_t op_count, operand_count, allocation_count, bundle_count, unknown_count;
};

/* 0, or -1 with at least one error. `text` need not end in NUL. */
int listing_scan(const char *text, size_t bytes, const char *file, struct arena *a,
                 struct listing *out, struct isa_errors *errors);

struct listing_memory {
    int64_t hbm_bytes, vmem_bytes, smem_bytes;
    int flag_count;
};

/* Where operands and allocations lie. An operand or a need that does not fit is an error. */
int listing_place(struct listing *l, const struct listing_memory *memory, struct err *e);

/* The program, every operation checked against the chip; it ends in a bundle with shalt. */
void listing_assemble(struct listing *l, const struct isa_limits *limits);

/* "f32[8,128]", with `layout` as "f32[8,128]{1,0:T(8,128)}"; returns buf */
char *listing_print_shape(const struct listing_shape *s, const struct listing_layout *layout,
                          char *buf, size_t buf_bytes);
const char *listing_space_name(enum listing_space s);

/* Element `index`, counted row-major: where it lies in the array's memory, in bits. */
int64_t listing_element_bit(const struct listing_layout *l, const struct listing_shape *s,
                            int64_t index);
int64_t listing_elem_count(const struct listing_shape *s);
#endif
