/*
 * Fetching elements by their logical index: what the general paths of moves
 * and windows are made of.
 *
 * An element of a body's node is found by following its index through the
 * operations down to a parameter: scalar arithmetic, as the program runs. One
 * fetch brings a *run*, elements that follow each other along the lanes of the
 * result and of the operand: their count comes out in `run`.
 *
 * Values are the bits of the element in the low part of a word.
 */
#ifndef STACK_MOVE_GATHER_H
#define STACK_MOVE_GATHER_H
#include "stack/kernels/pipeline/kernel.h"
#include "stack/backend/builder.h"

struct gather_array {                   /* where an operand is while the kernel works */
    const struct array *array;
    bool is_resident;                   /* all of it from VMEM row `row` on; else a row of tiles, */
    int64_t row;                        /* 512 bytes, is fetched there for each run */
};

struct gather {
    struct builder m;
    const struct graph *body;
    const struct gather_array *operand;
    int flag;                           /* for rows fetched from HBM */
    int64_t smem, smem_end;             /* bytes: indices rest there, scalar registers being few */
    struct isa_operand lane;            /* of the result tile, at which the run begins */
};

struct gather_place {
    int rank;
    struct isa_operand index[GRAPH_RANK_MAX];
    int mark;                           /* scalar registers from here on are this place's */
    int varying;                        /* the dimension that grows with the lane; -1: none */
    struct isa_operand run;             /* so many elements at most */
};

/* The index moves down to registers from place->mark on; those behind it are free again. */
void gather_resolve(struct gather *g, struct gather_place *place);

/* a register that lives on below the mark */
struct isa_operand gather_reserve(struct gather *g, struct gather_place *place);

/* the index to SMEM, which stays taken until gather_drop; gather_recall reads it back */
int64_t gather_save(struct gather *g, const struct gather_place *place);
void gather_recall(struct gather *g, int64_t saved, struct gather_place *place);
void gather_drop(struct gather *g, int64_t saved);

/* 0 if gather_node can follow this node to parameters, else -1 with the reason */
int gather_check_supported(const struct graph *body, int node, struct err *e);

/*
 * Vector register with elements from place->index on at lane g->lane, the same
 * in every sublane; place->run becomes their number. Uses up the place.
 */
int gather_node(struct gather *g, int node, struct gather_place *place);

/* the same of an array that is no operand of the body */
int gather_array_run(struct gather *g, const struct gather_array *a, struct gather_place *place);

/* bits of an element in the low part of a word <-> f32 or s32 */
int gather_widen(struct builder *m, enum graph_dtype dtype, int v);
int gather_narrow(struct builder *m, enum graph_dtype dtype, int v);

/* bits of one element of a constant */
uint32_t gather_constant_bits(enum graph_dtype dtype, double value);

/*
 * The place in an operand dilated by `dilation` and padded in front, of extent
 * `size` along `dim`: index[dim] becomes the operand's, 0 where there is
 * padding. Returns 1 or 0: an element or padding.
 */
struct isa_operand gather_padded(struct gather *g, struct gather_place *place, int dim,
                                 int64_t size, int64_t low, int64_t dilation);
#endif
