/*
 * Inside the plans: where a rank stands, templates of operations, and the
 * builder that algorithms write their templates with.
 *
 * All ranks of a group share their lists. An operation of a template names
 * blocks and peers relative to the rank that carries it out, so a core's
 * operation is the template's with its own place put in.
 */
#ifndef STACK_COLLECTIVE_IMPL_H
#define STACK_COLLECTIVE_IMPL_H
#include "stack/collective/collective.h"

#define PLAN_DIMS 4                     /* core of the chip, x, y, z; or one ring of all ranks */
#define PLAN_GRANULE_BYTES 32
#define PLAN_ROW_BYTES 512              /* of VMEM: what additions begin at */
#define PLAN_LAYOUTS 16
#define PLAN_OPS_MAX (1 << 21)
#define PLAN_SEGMENTS 20

/*
 * One direction to count ranks along. A ring visits the coordinates in the
 * order of `place`; `closes` where all its steps are single hops in natural
 * order, so that all ranks see the same network.
 */
struct plan_dim {
    int count, rank_stride;
    bool closes, is_chip_inside;
    const int *place, *position;        /* ring position to coordinate, and back */
    const int *core;                    /* what a coordinate adds to the core number */
};

/* where block (c0, c1, ...) of an array stands: base + sum of c x stride */
struct plan_layout {
    int64_t base, stride[PLAN_DIMS];
};

/* layouts that every plan has; those of algorithms follow */
enum { LAYOUT_SLOT, LAYOUT_IN, LAYOUT_OUT, LAYOUT_VMEM };

struct plan_shape {
    int64_t run_bytes;
    struct { int64_t count, from_stride, to_stride; } level[COLLECTIVE_LEVELS];
};

/*
 * Shifts are distances along the rings of all dims, packed by plan_shift.
 * An address is that of its layout's block whose coordinates along the dims of
 * the mask `fixed` are the rank's, shifted; along the others they are 0.
 */
struct plan_op {
    uint8_t kind, from_space, to_space, from_layout, to_layout, from_fixed, to_fixed;
    int32_t flag, source_flag, value, shape, from_shift, to_shift, peer_shift;
    int64_t from, to;
};

/* A run of template operations: the whole list of some cores. */
struct plan_segment {
    int first, count;
};

/* in place of a shift: the root of the group, wherever the rank stands */
#define PLAN_TO_ROOT (-1)

struct collective_plan {
    struct collective_request request;
    struct slice slice;                 /* request.slice points here, */
    struct chip chip;                   /* and request.chip here */
    double predicted_ns[COLLECTIVE_ALGO_COUNT];     /* AUTO: of those that can; 0: others */
    int cores_per_chip, rank_count;
    int axis_count[PLAN_DIMS];          /* ranks along core, x, y, z: 1 where not of the group */
    int axis_stride[PLAN_DIMS];         /* of core numbers */
    struct plan_dim dim[PLAN_DIMS];
    const int32_t *place_of;            /* by core, in request.group; -1: in none. NULL: axes */
    struct collective_arrays arrays;
    int64_t block_bytes, vmem_bytes;
    int flag_count;
    bool is_symmetric, is_uniform;      /* as collective_is_symmetric, collective_is_uniform */
    struct plan_layout layout[PLAN_LAYOUTS];
    struct plan_op *op;
    struct plan_shape *shape;
    struct plan_segment *segment;
    int op_count, shape_count, segment_count;
    /*
     * All cores have segment 0, or, where there are roles, the one of the first
     * dim along which a core is off the root; the root has segment 0.
     */
    const int *role[PLAN_DIMS];         /* segment by coordinate */
    int root_coordinate[PLAN_DIMS];
};

/* Where a core stands in its group. */
struct plan_rank {
    int rank, base_core;                /* rank -1: no part. base_core of a list: its first */
    int coordinate[PLAN_DIMS], position[PLAN_DIMS];
};

/* collective_groups.c: groups that are lists of cores */
int plan_check_groups(const struct collective_request *r, struct err *e);
void plan_set_groups(struct collective_plan *p, struct arena *a);
bool plan_locate_in_list(const struct collective_plan *p, int core, struct plan_rank *out);
void plan_order_list(const struct collective_plan *p, int *place);      /* ranks of a ring */

/* collective_ranks.c: the dims of a plan, and places in them */
void plan_count_ranks(struct collective_plan *p, struct arena *a);
void plan_set_axes(struct collective_plan *p, bool folds, struct arena *a);
void plan_set_ring(struct collective_plan *p, bool in_rank_order, struct arena *a);
void plan_locate(const struct collective_plan *p, int core, struct plan_rank *out);
bool plan_closes(const struct collective_plan *p);      /* all dims that join chips */
int plan_shift_along(const struct collective_plan *p, int dim, int distance);
int plan_peer(const struct collective_plan *p, const struct plan_rank *r, int shift);
int64_t plan_address(const struct collective_plan *p, const struct plan_rank *r, int layout,
                     uint8_t fixed, int shift);

/* collective_plan.c: collective_op for those who keep the places of cores */
void plan_op_of(const struct collective_plan *p, const struct plan_rank *r, int index,
                struct collective_op *out);

/* collective_build.c */
struct plan_builder {
    struct collective_plan *plan;
    struct arena *arena;
    struct plan_op *op;
    struct plan_shape *shape;
    struct plan_segment segment[PLAN_SEGMENTS];
    int segment_count;
    size_t op_capacity, shape_capacity;
    int op_count, shape_count, flag_count;
    int64_t *pending;                   /* by flag: what its own operations will add */
    size_t pending_capacity;
    int64_t vmem_bytes;                 /* taken so far */
    bool is_full;                       /* more than PLAN_OPS_MAX operations */
};

/* where the bytes of a copy stand: a layout's block, and an offset from it */
struct plan_where {
    uint8_t space, layout, fixed;
    int shift;
    int64_t offset;
};

void plan_build_begin(struct plan_builder *b, struct collective_plan *p, struct arena *a);
/* from here on the operations are segment `number`'s, which come in order; 0 is begun already */
void plan_build_segment(struct plan_builder *b, int number);
/* the templates become the plan's */
int plan_build_end(struct plan_builder *b, struct err *e);
void plan_build_set_root(struct collective_plan *p);            /* from the request's rank */
int plan_build_flags(struct plan_builder *b, int count);        /* the first of them */
int64_t plan_build_vmem(struct plan_builder *b, int64_t bytes); /* whole rows */
int64_t plan_shape_bytes(const struct plan_shape *s);
struct plan_shape plan_shape_of_run(int64_t bytes);
void plan_build_copy(struct plan_builder *b, const struct plan_where *from,
                     const struct plan_where *to, const struct plan_shape *s, int flag);
void plan_build_send(struct plan_builder *b, const struct plan_where *from,
                     const struct plan_where *to, const struct plan_shape *s, int peer_shift,
                     int flag, int source_flag);
void plan_build_wait(struct plan_builder *b, int flag, int64_t value);
/* for all that own operations have added to the flag and nobody has waited for */
void plan_build_wait_pending(struct plan_builder *b, int flag);
void plan_build_add(struct plan_builder *b, const struct plan_where *from,
                    const struct plan_where *to, int64_t bytes);
void plan_build_signal(struct plan_builder *b, int peer_shift, int flag, int value);

/* collective_box.c: what travels in a step, cut into chunks */
struct plan_box {
    int dim_count, dim[PLAN_DIMS];      /* outermost first */
    int64_t run_bytes;                  /* of every block */
    int level;                          /* along which it is cut: dim_count is the run */
    int64_t outer, per_outer, items;    /* chunks: outer x per_outer */
};
struct plan_chunk {
    int64_t low[PLAN_DIMS], count[PLAN_DIMS];
    int64_t run_low, run_bytes, bytes;
};
int64_t plan_box_bytes(const struct collective_plan *p, const struct plan_box *x);
void plan_box_cut(const struct collective_plan *p, struct plan_box *x, int64_t chunk_bytes);
int64_t plan_box_chunk_count(const struct plan_box *x);
void plan_box_chunk(const struct collective_plan *p, const struct plan_box *x, int64_t index,
                    struct plan_chunk *out);
/* LAYOUT_SLOT: the chunk's pieces one after the other */
int64_t plan_chunk_offset(const struct collective_plan *p, const struct plan_box *x,
                          const struct plan_chunk *c, int layout);
void plan_chunk_shape(const struct collective_plan *p, const struct plan_box *x,
                      const struct plan_chunk *c, int from_layout, int to_layout,
                      struct plan_shape *out);

/* collective_check.c */
bool plan_can(enum collective_kind kind, enum collective_algo algo);
bool plan_is_in_place(enum collective_kind kind);                       /* one array, in and out */
int plan_check_slice(const struct collective_request *r, struct err *e);        /* axes */
int plan_check(const struct collective_request *r, struct err *e);      /* AUTO is resolved */
/* of a rank to those of a device, which messages count */
int64_t plan_device_bytes(const struct collective_request *r, int64_t bytes);
bool plan_suits(const struct collective_plan *p);       /* the algorithm does bytes and chunks */
enum collective_algo plan_usual(const struct collective_request *r);    /* whose message to give */

/* collective_cost.c: of the request's algorithm; dims need not be set yet */
double plan_predict_ns(const struct collective_plan *p);
double plan_step_ns(const struct collective_plan *p);   /* of a message of next to nothing */
double plan_link_ns(const struct collective_plan *p, int64_t bytes);    /* of all cores of a chip */
/* collective_exchange.c: the most bytes whose slots VMEM holds */
int64_t plan_exchange_most(const struct collective_plan *p);

/* The algorithms: each fills the plan by a builder of its own; 0 or -1 with *e. */
int plan_ring(struct collective_plan *p, struct arena *a, struct err *e);       /* biring too */
/* one rank: what comes out is what went in */
int plan_alone(struct collective_plan *p, struct arena *a, struct err *e);
int plan_torus(struct collective_plan *p, struct arena *a, struct err *e);
int plan_exchange(struct collective_plan *p, struct arena *a, struct err *e);
int plan_tree(struct collective_plan *p, struct arena *a, struct err *e);
int plan_direct(struct collective_plan *p, struct arena *a, struct err *e);
/* collective_exchange.c: nobody goes on before all have come here; dims in natural order */
void plan_build_barrier(struct plan_builder *b);
#endif
