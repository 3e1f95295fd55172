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

struct move_gather_array {              /* where an operand is while the kernel works */
    const struct array *array;
    bool is_resident;                   /* all of it from VMEM row `row` on; else a row of tiles, */
    int64_t row;                        /* 512 bytes, is fetched there for each run */
};

struct move_gather {
    struct builder m;
    const struct graph *body;
    const struct move_gather_array *operand;
    int flag;                           /* for rows fetched from HBM */
    int64_t smem, smem_end;             /* bytes: indices rest there, scalar registers being few */
    struct isa_operand lane;            /* of the result tile, at which the run begins */
};

struct move_gather_place {
    int rank;
    struct isa_operand index[GRAPH_RANK_MAX];
    int mark;                           /* scalar registers from here on are this place's */
    int varying;                        /* the dimension that grows with the lane; -1: none */
    struct isa_operand run;             /* so many elements at most */
};

/* The index moves down to registers from place->mark on; those behind it are free again. */
void move_gather_resolve(struct move_gather *g, struct move_gather_place *place);

/* a register that lives on below the mark */
struct isa_operand move_gather_reserve(struct move_gather *g, struct move_gather_place *place);

/* the index to SMEM, which stays taken until move_gather_drop; move_gather_recall reads it back */
int64_t move_gather_save(struct move_gather *g, const struct move_gather_place *place);
void move_gather_recall(struct move_gather *g, int64_t saved, struct move_gather_place *place);
void move_gather_drop(struct move_gather *g, int64_t saved);

/* 0 if move_gather_node can follow this node to parameters, else -1 with the reason */
int move_gather_check_supported(const struct graph *body, int node, struct err *e);

/*
 * Vector register with elements from place->index on at lane g->lane, the same
 * in every sublane; place->run becomes their number. Uses up the place.
 */
int move_gather_node(struct move_gather *g, int node, struct move_gather_place *place);

/* the same of an array that is no operand of the body */
int move_gather_array_run(struct move_gather *g, const struct move_gather_array *a,
                          struct move_gather_place *place);

/* bits of an element in the low part of a word <-> f32 or s32 */
int move_gather_widen(struct builder *m, enum graph_dtype dtype, int v);
int move_gather_narrow(struct builder *m, enum graph_dtype dtype, int v);

/* bits of one element of a constant */
uint32_t move_gather_constant_bits(enum graph_dtype dtype, double value);

/*
 * The place in an operand dilated by `dilation` and padded in front, of extent
 * `size` along `dim`: index[dim] becomes the operand's, 0 where there is
 * padding. Returns 1 or 0: an element or padding.
 */
struct isa_operand move_gather_padded(struct move_gather *g, struct move_gather_place *place,
                                      int dim, int64_t size, int64_t low, int64_t dilation);
#endif
