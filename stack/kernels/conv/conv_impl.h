/*
 * Inside the kernel of convolutions; docs/conv.md tells the whole.
 *
 *   conv_shape.c     the operation in one form: three spatial dimensions, phases
 *   conv_body.c      what is fused with it
 *   conv_plan.c      a tiling of it: blocks, passes; conv_windows.c: windows
 *   conv_cost.c      candidates and their cycles
 *   conv_code.c      straight code, values, loops
 *   conv_copy.c      windows in and out
 *   conv_make.c      input and kernel, where they are computed of what has been copied
 *   conv_prep.c      weights, made ready in VMEM
 *   conv_transpose.c transposed rows, likewise; conv_pixels.c: rows in lines
 *   conv_nest.c      the loops of both
 *   conv_passes.c    the matrix units' work; conv_round.c, conv_levels.c
 *   conv_epilogue.c  sums to results; conv_totals.c: what is summed per feature
 *   kernel_conv.c    the steps around them, the kernel's face
 */
#ifndef STACK_CONV_IMPL_H
#define STACK_CONV_IMPL_H
#include "stack/backend/bundler.h"
#include "stack/kernels/conv/conv.h"
#include "stack/kernels/pipeline/kernel.h"

#define CONV_SPATIAL 3                  /* dimensions, the outermost first; missing ones are 1 */
#define CONV_PHASES_MAX 16              /* of a dimension */
#define CONV_EXTRA_MAX 8                /* operands of the epilogue */
#define CONV_MAKERS_MAX 12              /* operands that input and kernel are made of */
#define CONV_OUT_MAX 6
#define CONV_TOTALS_MAX 4               /* sums per feature */
#define CONV_DELAY_MAX 6
#define CONV_TRANSPOSES_MAX 64          /* in straight code */

struct conv_phase { int64_t first, count, offset; };

/*
 * A spatial dimension. Outputs q * phases + r, r fixed, are phase r: they meet
 * the taps first + i * tap_step, i < count, of the window, at the inputs
 * q * step + offset + i * tap_stride.
 */
struct conv_dim {
    int64_t in, taps, out;
    int64_t stride, pad, dilation, tap_dilation;
    bool is_reversed;                   /* tap t is element taps - 1 - t of the kernel */
    int64_t phases, step, tap_step, tap_stride;
    struct conv_phase phase[CONV_PHASES_MAX];
    int64_t lowest;                     /* offset of all phases */
};

enum conv_role { CONV_LHS, CONV_RHS, CONV_RESULT, CONV_ROLES };
enum conv_mode {
    CONV_ROWS,                          /* rows of the array are batch, or pixels; lanes features */
    CONV_TRANSPOSED                     /* the other way round */
};

struct conv_shape {
    const struct graph_node *node;
    struct conv_dim dim[CONV_SPATIAL];
    int spatial_dim[CONV_ROLES][CONV_SPATIAL];  /* of the array; -1: missing */
    int batch_dim[CONV_ROLES];          /* of the kernel: its input features */
    int feature_dim[CONV_ROLES];        /* of the kernel: its output features */
    int64_t batch, features, out_features;      /* features of all groups */
    int64_t feature_groups, batch_groups;
    bool is_depthwise;
    enum conv_mode mode;
    /*
     * Rows are the pixels of the last dimension, for small batches: it is the `batch` here, and
     * the real batch is dimension 0. Dimension 2 has the taps alone: one output, one input.
     */
    bool is_pixels;
    int64_t width, width_pad, width_stride;     /* of the last dimension, input */
};

/* -1 where the operation is beyond CONV_PHASES_MAX */
int conv_shape_of(const struct graph_node *n, const struct shape *lhs, const struct shape *rhs,
                  struct conv_shape *out, struct err *e);

/* once it is known how the input lies: whether rows are pixels */
void conv_shape_resolve(struct conv_shape *s, const struct array *lhs);
bool conv_may_be_dense(const struct conv_shape *s);    /* resolved; where that may leave rows out */

/* Dimensions of the grid of steps */
enum conv_grid {
    GRID_F, GRID_B, GRID_O0, GRID_O1, GRID_O2, GRID_C, GRID_T0, GRID_T1, GRID_T2, GRID_DIMS
};
#define GRID_K_MASK (1u << GRID_C | 1u << GRID_T0 | 1u << GRID_T1 | 1u << GRID_T2)

/* Dimensions of a box: spatial ones, rows and lanes in tiles */
enum { BOX_ROWS = CONV_SPATIAL, BOX_LANES, BOX_DIMS };

/* What lies of an array in VMEM: a box of tiles, dense, the last dimension innermost. */
struct conv_window {
    const struct array *array;
    int64_t size[BOX_DIMS], stride[BOX_DIMS];   /* of the array, in tiles */
    int64_t box[BOX_DIMS], pitch[BOX_DIMS];
    int64_t origin[BOX_DIMS];           /* of the first step; may be negative: zeros there */
    int64_t move[BOX_DIMS][GRID_DIMS];  /* per step of the grid */
    int64_t tiles;
    int buffers;                        /* 1 or 2, one behind the other */
    int64_t row;                        /* the first, in VMEM */
    int flag;                           /* of the first */
    int64_t smem;                       /* words of its own: enum conv_word */
};

/* SMEM words of a window */
enum conv_word {
    WORD_FETCH_BUFFER, WORD_BUFFER,     /* 0 or 1: filled next; in use */
    WORD_GRANULES, WORD_GRANULES_2,     /* under way to or from each */
    WORD_DESCRIPTOR,
    WINDOW_WORDS = WORD_DESCRIPTOR + 16
};

enum conv_window_number {
    WINDOW_LHS, WINDOW_RHS, WINDOW_OUT, WINDOW_EXTRA = WINDOW_OUT + CONV_OUT_MAX,
    WINDOW_MAKER = WINDOW_EXTRA + CONV_EXTRA_MAX, WINDOW_COUNT = WINDOW_MAKER + CONV_MAKERS_MAX
};
#define STREAM_TOTALS WINDOW_COUNT      /* what the epilogue goes through beside windows */
#define STREAM_COUNT (WINDOW_COUNT + 1)

/* How rows are walked: tiles from one to the next, of the source of rows and how many */
#define WALK_LEVELS 4                   /* batch groups, then spatial dimensions from the last */
struct conv_walk { int64_t count, stride; };

struct conv_plan {
    struct conv_shape shape;
    const struct kernel_job *job;
    const struct chip *chip;
    struct tiling tiling;

    /* the machine */
    int units, unit_columns, unit_rows; /* units = columns x rows */
    int halves;                         /* of 128 columns that a unit has */
    int slots;                          /* of 128 of k that a pass has */
    bool is_packed;                     /* the units take bf16, not only f32 */
    bool has_accumulators;

    /* the block of a step */
    int64_t q[CONV_SPATIAL];            /* outputs of a phase */
    int64_t taps[CONV_SPATIAL];         /* of the window */
    int64_t batch_tiles;                /* rows: groups; transposed: lane tiles */
    int64_t column_groups;              /* of unit_columns x halves tiles each */
    int64_t contracted;                 /* tiles of input features, lanes or rows */
    int64_t count[GRID_DIMS];           /* steps */
    int order[GRID_DIMS];               /* outermost first */

    /*
     * Groups: features (rows) or elements of the batch (transposed) of a group, columns of one.
     * Diagonal: groups lie inside of tiles, so that a tile of columns meets one of features.
     */
    bool is_grouped, is_diagonal;
    int64_t group_inputs, group_columns;
    bool is_vector;                     /* a feature a group: on the vector unit */
    int64_t features_here;              /* of a step */

    /*
     * Rows: a batch that ends inside a group leaves nothing out in VMEM, the images of a pixel
     * follow those of the pixel before. A line of pixels is walked as one piece, as in is_pixels.
     */
    bool is_dense;

    bool is_rhs_swapped;                /* kernel: input features along lanes */
    bool is_lhs_bf16;
    int group_rows, subs;               /* rows of a group: 8 or 16; tiles of sums */
    int parts;                          /* tiles of rows of a group */
    int64_t groups, out_groups;         /* of the block's batch, or of a line; of the result's */

    /* transposed: 128 of k are `members` taps along dimension `along`, `spread` apart */
    int along;
    int64_t members, member_rows, spread;

    /* rows of the passes */
    int64_t rows_row;                   /* where rows lie that are transposed or in lines */
    int64_t line_tiles;                 /* of a line of the input, with its borders */
    int64_t slot_stride;                /* tiles */
    int64_t base[CONV_SPATIAL];         /* tiles between neighbouring inputs */
    struct conv_walk walk[WALK_LEVELS]; /* of one row of units, innermost first */
    int split_level;                    /* which level the rows of units share out */
    int64_t split_stride;               /* tiles */
    int64_t rounds;                     /* groups of one row of units */
    int64_t pop_delay;                  /* rounds from a push to its pop, in a pass */
    int64_t delay;                      /* passes from a push to its pop, where they are short */

    /* k levels of a pass: blocks of features, then taps from the last dimension on */
    int64_t feature_blocks, feature_stride;
    int pair_level;                     /* taps of this dimension are paired in slots; -1 */
    int64_t passes;                     /* of all phases, for one column group */

    int phase_count;

    int out_count, extra_count, total_count;
    /*
     * Input and kernel may be made in their windows, of operands that lie like them: a window is the
     * first one's, and those of the others move with it. The result that is the input, if any (else
     * -1): it leaves from there.
     */
    int maker_count, made_out;
    bool is_maker_vector[CONV_MAKERS_MAX];      /* one value per lane of it, or a scalar */
    bool is_made[CONV_RESULT];                  /* by role */
    bool is_of_features[CONV_OUT_MAX];  /* results of totals, stored behind the last step */
    int first_out;                      /* the first result that is not */
    struct conv_window window[WINDOW_COUNT];
    bool is_used[WINDOW_COUNT];

    /* VMEM rows */
    int64_t weights_row, sums_row, totals_row, spill_row, vmem_rows;
    int64_t vector_row[WINDOW_COUNT];   /* of a vector: its window's, or where it is unpacked */
    int64_t smem_words;
};

/* -1: no tiling makes it: layouts, chip, epilogue */
int conv_check_job(const struct kernel_job *job, struct err *e);
/* result i is of a block's sums: neither one value per feature nor the input */
bool conv_is_block(const struct conv_plan *p, int i);
/* -1: it does not fit, or the arrays' layouts are others */
int conv_plan_make(struct conv_plan *p, const struct kernel_job *job, const struct tiling *t,
                   struct err *e);
/* rows are read from lines, of f32, that are made from the window: pixels, or dense ones */
bool conv_has_lines(const struct conv_plan *p);
int64_t conv_step_taps(const struct conv_plan *p, int dim, int64_t r);  /* of a step */
int64_t conv_level_count(const struct conv_plan *p, int dim, int64_t r); /* passes along it */
int64_t conv_phase_passes(const struct conv_plan *p, const int64_t *r);  /* of all dimensions */
int64_t conv_column_tiles(const struct conv_plan *p);   /* of a block */
int64_t conv_total_tiles(const struct conv_plan *p);    /* of a total: columns of all blocks */
bool conv_has_many_taps(const struct conv_plan *p);      /* in 128 of k */
int64_t conv_span(const struct conv_plan *p, int dim);  /* inputs of a block */
/* transposed: along a dimension the first members of k, and inputs from one to the next */
int64_t conv_places(const struct conv_plan *p, int dim);
int64_t conv_place_step(const struct conv_plan *p, int dim);
int64_t conv_lead_rows(const struct conv_plan *p);       /* pixels: zeros before a line */
int64_t conv_tile_count(const struct conv_plan *p);     /* of transposed rows */
int conv_vector_registers(const struct conv_plan *p);    /* of the passes */

/* parts of conv_plan_make: the walk over rows, passes and phases, when results are popped */
void conv_walk_rows(struct conv_plan *p);
void conv_count_passes(struct conv_plan *p);
void conv_choose_pop_delay(struct conv_plan *p);
void conv_plan_cost(const struct conv_plan *p, struct kernel_cost *out);

/* conv_cost.c: tilings that fit, cheapest first */
int conv_tilings(const struct kernel_job *job, struct tiling *list, int max);
#endif
