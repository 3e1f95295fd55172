/*
 * Loop fusions: how a body is laid out in axes, phases and windows. docs/kernels.md.
 *
 * The *space* is the largest shape of the body. Its *axes* are counted in units: axis 0 in tiles
 * of 128 lanes, axis 1 in groups of 8, 16 or 32 rows, the others in indices, the innermost first.
 * Each value lives on some of the axes (a mask); broadcasts add axes, reductions take them away.
 * A *phase* makes all values of one mask that need equally many reductions before them.
 */
#ifndef STACK_LOOP_PLAN_H
#define STACK_LOOP_PLAN_H
#include "stack/kernels/pipeline/pipeline.h"
#include "stack/kernels/loop/fused.h"

#define LOOP_AXIS_MAX (GRAPH_RANK_MAX + 1)
#define LOOP_ARRAY_MAX PIPELINE_WINDOW_MAX
#define AXIS_LANES 0
#define AXIS_ROWS 1

struct loop_axis {
    int64_t units, elements;            /* of the whole space; logical size of its dimension */
    int64_t unit_elements;              /* 128, 8 to 32, 1 */
    int64_t box, count;                 /* units of a step, steps along it */
    int grid_dim;                       /* of the pipeline, -1: one step */
    int64_t first;                      /* units before the part in hand: loop_plan_enter */
};

/* what is read of an operand, all of it or a slice, or a result */
struct loop_array {
    const struct array *array;
    struct shape shape;                 /* of the slice; else the array's */
    int slice;                          /* node of the job's body, or -1 */
    int64_t first;                      /* tiles before a slice */
    int64_t first_element;              /* elements before one of a vector that is spread */
    bool is_result;
    uint32_t mask;
    int axis_of_dim[GRAPH_RANK_MAX];    /* of its own dimensions */
    bool is_tiled;                      /* its rows and lanes run along axes 1 and 0 */
    int lane_axis, row_axis;            /* of arrays that are not; -1: none */
    int64_t unit_rows[LOOP_AXIS_MAX];   /* VMEM rows per unit of an axis, as the window has it */
    int64_t part_rows;                  /* from a tile of a group to the next */
    int64_t outer_rows[LOOP_AXIS_MAX];  /* not tiled: rows per index along its outer dimensions */
    int64_t missing;                    /* tiles that the last group of rows has too few, */
    int64_t missing_at_end;             /* in the part in hand, and at the end of all rows */
    int window;
    int64_t image_row;                  /* packed results that are not tiled: their 32-bit image */
    int64_t smem;                       /* of a single value: its place in scalar memory; or -1 */
    bool is_own;                        /* no window: a box that lies dense in VMEM */
    int64_t own_row;                    /* from here on */
};

struct loop_nest;

/* takes the tiles of a result where phases go together (loop_emit.c), in place of their stores */
struct loop_sink {
    void *user;
    void (*take)(void *user, struct loop_nest *n, int tile);   /* of the unit in hand */
    void (*end)(void *user, struct loop_nest *n);       /* behind the units of a block */
};

struct loop_plan {
    const struct kernel_job *job;
    struct arena *arena;
    struct graph body;                  /* a node for each use on other axes */
    uint32_t *mask;                     /* by node of it: axes */
    int *level;                         /* reductions before it */
    int *array_of;                      /* by node: parameter's array; -1 */
    int *view_of;                       /* by node of the job's body: its array; -1 */
    int64_t *kept_row, *sum_row;        /* by node: scratch of values for other phases, of sums */
    bool *is_kept;
    bool *is_finished;                  /* a sum over lanes, whole where its phase stores it */
    bool *is_lifted;                    /* a value of rows in all lanes of a tile: loop_lift.c */
    bool has_lifted;
    int level_count;
    int axis_count;
    struct loop_axis axis[LOOP_AXIS_MAX];
    uint32_t full_mask, reduced_mask;   /* axes of the space; those that any reduction takes */
    uint32_t once_mask;                 /* those of which a reduction must meet each element once */
    uint32_t whole_mask;                /* axes that must not be cut */
    bool is_linear, is_scalar;          /* of rank 0 or 1: axis 1 goes on where 0 ends; of 0 */
    int64_t linear_elements;
    int axis_of_dim[GRAPH_RANK_MAX];
    int group_rows, parts;
    struct loop_array array[LOOP_ARRAY_MAX];    /* what is read of operands, then results */
    int array_count, operand_count;     /* of those two lists together, of the first */
    bool may_part;                      /* the last group of rows may be a part by itself */
    const struct loop_sink *sink;       /* or NULL: results are stored */
    bool is_alone;                      /* a kernel by itself, not a part of another's step */
    int scalar_count;                   /* operands in scalar memory */
    int part_count;                     /* 2: it is */
    int64_t all_row_units, all_rows, all_linear;        /* of axis 1, however it is parted */
    struct pipeline pipeline;
    int64_t scratch_row;                /* its own, behind the pipeline's first row of scratch */
    struct loop_phase {
        uint32_t mask;
        double cycles;                  /* of a unit */
        int latency;                    /* at its end */
        int64_t block_units;            /* of a block that ends before the next begins; 0: none */
        int block_latency;              /* from the first load of such a block to the last store */
    } *phase;
    int phase_count;
};

/* Everything but boxes; -1: not a loop fusion of ours, with the reason. */
int loop_plan_init(struct loop_plan *p, const struct kernel_job *job, struct arena *a,
                   struct err *e);
/* loop_copy.c: p->body, and p->mask in dimensions of the space */
int loop_copy_body(struct loop_plan *p, const struct shape *space, struct err *e);
uint32_t loop_low_bits(int count);
/*
 * loop_lift.c: masks of values of the rows that are reduced from one tile of lanes and spread over
 * it again: all axes. Before levels are told.
 */
void loop_lift(struct loop_plan *p);
/* loop_sum.c: the cross-lane unit can reduce its operand over one tile of lanes */
bool loop_sums_lanes(const struct loop_plan *p, int reduce);
/* Only what can be told without layouts. */
int loop_plan_check_supported(const struct graph *body, struct err *e);
/* Elementwise work or sums of slices: a loop, not a move. */
bool loop_reads_slices(const struct graph *body);

/* loop_slice.c: a slice of an operand is a window of it that begins further on. */
/* whole tiles are left out before it, if the last two dimensions are rows and lanes */
bool loop_can_fuse_slice(const struct shape *from, const struct graph_node *slice);
/*
 * loop_scalar.c: single values that are spread go by scalar memory, in kernels of their own
 * pipeline: placed with the boxes, fetched before the first pipeline, awaited in each step,
 * forgotten last.
 */
void loop_place_scalars(struct loop_plan *p);
void loop_fetch_scalars(const struct loop_plan *p, struct vcode *c);
void loop_await_scalars(const struct loop_plan *p, struct vcode *c);
void loop_forget_scalars(const struct loop_plan *p, struct vcode *c);
/* entries of p->array for what the body reads; -1: they are too many */
int loop_list_operands(struct loop_plan *p, struct err *e);
/* a->first or first_element, and strides of outer dimensions; the roles of its axes are known */
int loop_place_slice(const struct loop_plan *p, struct loop_array *a, struct err *e);
void loop_plan_fini(struct loop_plan *p);

/* boxes, windows and scratch for box[axis]; false: does not fit. The first part is in hand. */
bool loop_plan_cut(struct loop_plan *p, const int64_t *box);
/*
 * Rows whose last group misses tiles of some array cannot be cut into boxes of groups: all but
 * that group are one part, the group is another, with a pipeline of its own. False: does not fit.
 */
bool loop_plan_enter(struct loop_plan *p, int part, const int64_t *box);
/*
 * The same as a part of another kernel's step, whose pipeline it is then: boxes and grid dimensions
 * of the axes are set already. False: an array's box has too many dimensions.
 */
bool loop_plan_place(struct loop_plan *p);
/* cycles of a step by what loop_measure has found */
double loop_step_cycles(const struct loop_plan *p);

/* elements from the start of axis `a` that are valid in its last unit; 0: all */
int64_t loop_edge(const struct loop_plan *p, int a);
/* units of axis 1 in 128 of its elements, if some array has those along its lanes; else 1 */
int64_t loop_chunk_units(const struct loop_plan *p);
/* every step begins at such a 128th element, or there are no such arrays */
bool loop_has_chunks(const struct loop_plan *p);
/* axes of a node's operand that it does not have itself */
uint32_t loop_reduced_axes(const struct loop_plan *p, int node);
/* what needs node in scratch: another mask or level */
static inline bool loop_is_arg(const struct graph_node *n)
{
    return n->op == HLO_REDUCE
           && (n->reduce_kind == REDUCE_ARGMAX || n->reduce_kind == REDUCE_ARGMIN);
}
/* registers of a value of this mask in a group: parts, or 1 without axis 1 */
static inline int loop_parts(const struct loop_plan *p, uint32_t mask)
{
    return mask >> AXIS_ROWS & 1 ? p->parts : 1;
}
/* where an array's box is: scalar register, or -1, and VMEM row to add */
static inline int loop_base(const struct loop_plan *p, const struct loop_array *a)
{
    return a->is_own ? -1 : pipeline_base(&p->pipeline, a->window);
}
static inline int64_t loop_row(const struct loop_plan *p, const struct loop_array *a)
{
    return a->is_own ? a->own_row : pipeline_row(&p->pipeline, a->window);
}
static inline int64_t loop_scratch_row(const struct loop_plan *p)
{
    return pipeline_scratch_row(&p->pipeline) + p->scratch_row;
}
/* VMEM rows that one unit of a value takes in scratch */
int64_t loop_kept_rows(const struct loop_plan *p, uint32_t mask);
/* code of one step: loop_emit.c */
int loop_emit_step(struct loop_plan *p, struct vcode *c, struct err *e);
void loop_emit_last(struct loop_plan *p, struct vcode *c);
/* phases are one nest of loops: sums over rows that stay in registers, and what is made of them */
bool loop_goes_together(const struct loop_plan *p);
/* whether scalar registers suffice for that; behind pipeline_begin */
bool loop_has_scalars_together(struct loop_plan *p);
/* fills in the phases, by code of a unit; boxes must be set */
int loop_measure(struct loop_plan *p, struct err *e);
/* operations of a unit, about */
int loop_unit_ops(const struct loop_plan *p);
#endif
