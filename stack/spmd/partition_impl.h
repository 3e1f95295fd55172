/*
 * Inside graph_partition: partition_links.c says which dimensions belong together,
 * partition_spread.c how arrays lie, partition_move.c moves them, partition.c builds.
 */
#ifndef STACK_PARTITION_IMPL_H
#define STACK_PARTITION_IMPL_H
#include "stack/spmd/partition.h"

struct partition_moved {                /* an array that lies otherwise than it was made */
    struct sharding sharding;
    int node;
    const struct partition_moved *next;
};

struct partition_part {                 /* by node of the whole graph */
    struct sharding wanted;             /* what spreading has found; fixed: what a note says */
    bool is_fixed;
    int node;                           /* of the new graph */
    struct sharding made;               /* how that one lies */
    const struct partition_moved *moved;
    const struct sharding *state;       /* of a loop: how its results lie */
};

struct partition {
    const struct graph *from;
    struct graph *to;
    const struct mesh *mesh;
    const struct sharding_note *note;   /* of this graph and of others */
    int note_count;
    bool is_body;                       /* of a loop */
    struct partition_part *part;
    int coordinate[MESH_AXES_MAX];      /* nodes of the new graph, made when first needed */
    struct err *e;
};

/*
 * The dimension of operand k whose indices are those of dimension d of node n's result, one by
 * one; -1: none, or not over its whole length.
 */
int partition_link_operand_dim(const struct graph *g, const struct graph_node *n, int k, int d);
/* Pair number i of dimensions that n sums over; *rhs -1: n has one operand. False: no such pair. */
bool partition_link_contraction(const struct graph *g, const struct graph_node *n, int i, int *lhs,
                                int *rhs);
/* dimension d of n's result may be cut at all */
bool partition_link_may_cut(const struct graph *g, const struct graph_node *n, int d);

/* fills part[].wanted */
void partition_spread(struct partition *p);

/*
 * Array `node` of the new graph, which lies as *made says and is `whole` altogether, moved until
 * it lies as *to says: gathered, then cut.
 */
int partition_move(struct partition *p, int node, const struct sharding *made,
                   const struct sharding *to, const struct shape *whole);
/* node `node` of the whole graph as *to says; moved once for each way to lie */
int partition_part(struct partition *p, int node, const struct sharding *to);
/*
 * Sums parts over the axes in `mask`; along an axis that *to cuts a dimension with and *made does
 * not, each device keeps its part of the sum. *made becomes how the result lies.
 */
int partition_sum(struct partition *p, int node, uint32_t mask, struct sharding *made,
                  const struct sharding *to);
/* s32 scalar: this device's place along an axis */
int partition_coordinate(struct partition *p, int axis);
#endif
