/*
 * The compiler's plan of a graph: kernels in order of execution, the form of
 * every value and where it lives. Filled by the passes fuse and place, read by
 * lower. Private to stack/.
 */
#ifndef STACK_PLAN_H
#define STACK_PLAN_H
#include "stack/compile.h"

#define VMEM_ROW_BYTES 512              /* vld and vst count VMEM in these */

/* How a value's elements lie in its tiles. */
enum form {
    FORM_MATRIX,                        /* [R, C], T(8,128) */
    FORM_ROW,                           /* [C]: in sublane 0 of each tile, the rest unspecified */
    FORM_COLUMN,                        /* [R]: in every lane of its row */
    FORM_SCALAR,                        /* in every element of one tile */
    FORM_SPLAT                          /* any of these: the same value everywhere */
};

/*
 * A value as the kernels see it. `columns` of a COLUMN is 1, `rows` of a ROW
 * is 1. Parameters lie as the host writes them: only element 0,0 of a scalar,
 * lane 0 of [R,1], sublane 0 of [C] is valid.
 */
struct value {
    enum form form;
    int64_t rows, columns;              /* logical */
    int64_t tile_rows, tile_columns;
    bool is_inline;                     /* recomputed where it is used: no kernel, no memory */
    bool is_late;                       /* reduction finished after its kernel's loop */
    bool is_stored;                     /* has a VMEM buffer */
    bool needs_zero_pad;                /* a dot reads it: padding must be zero */
    int kernel;                         /* that computes it; -1 for parameters and inline values */
    int buffer;                         /* index into plan.buffer, -1 = none */
};

enum kernel_kind { KERNEL_LOOP, KERNEL_DOT, KERNEL_TRANSPOSE, KERNEL_ALL_REDUCE };

struct kernel {
    enum kernel_kind kind;
    int64_t rows, columns, tile_rows, tile_columns;     /* LOOP: iteration space */
    int *node;                          /* members in order */
    int node_count;
    size_t node_capacity;
    int scratch_buffer[3];              /* -1 = none: accumulators; transposed or split operands */
    const char *note;
};

/* A range of VMEM with a lifetime in kernel numbers. */
struct buffer {
    const char *name;
    int64_t tile_count;
    int first_kernel, last_kernel;      /* inclusive; -1 = start, kernel_count = end */
    int64_t row;                        /* address in rows of 512 bytes; the place pass sets it */
    int parent;                         /* lies inside this buffer from parent_tile on, or -1 */
    int64_t parent_tile;
    int input_parameter;                /* loaded from this parameter's HBM buffer, or -1 */
};

/* programs that do not fit the instruction memory are lowered again, with more loops */
#define CODE_LEVELS 4

struct plan {
    const struct graph *graph;
    const struct compile_options *options;
    struct arena *arena;
    struct value *value;                /* by node */
    struct kernel *kernel;
    int kernel_count;
    size_t kernel_capacity;
    struct buffer *buffer;
    int buffer_count;
    size_t buffer_capacity;
    int64_t vmem_peak_rows;             /* where the spill area begins */
    bool is_lean;                       /* inputs arrive and outputs leave next to their kernels */
    int code_level;                     /* below CODE_LEVELS: how short the program must be */
    int fetch_ahead;                    /* lean: kernels from the fetch of an input to its reader */
};

static inline int64_t plan_tile_row(const struct plan *p, int buffer, int64_t tile)
{
    return p->buffer[buffer].row + tile * TILE_ROWS;
}

/* the first kernel that reads `node`, through inline values; kernel_count = none */
int plan_first_reader(const struct plan *p, int node);

/* the kernel after which an output's copy starts: made, and what it overwrites in HBM fetched */
int plan_output_leaves(const struct plan *p, int output);

/* Forms and kernels. -1 for operations and shapes without a kernel. */
int pass_fuse(struct plan *p, struct err *e);

/* VMEM addresses of all buffers. -1 when they do not fit. */
int pass_place(struct plan *p, struct err *e);

/* The VMEM buffers as they are placed, into out->vmem. */
void place_describe(const struct plan *p, struct compiled *out);

/* HBM addresses of parameters and outputs. -1 when they do not fit. */
int place_hbm(const struct plan *p, struct compiled *out, struct err *e);

/* virtual-register code of the whole program */
int pass_lower(struct plan *p, const struct compiled *out, struct vcode *c, struct err *e);
#endif
