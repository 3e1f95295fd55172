/*
 * Groups of nodes that become one kernel: private to pass_fusion.c and fusion_*.c.
 *
 * A group has one or more *roots*, members whose values others need. A node of
 * no group (is_free) is not fused: parameters, literals, tuples, reshapes that
 * only rename. Cheap nodes may be members of several groups, each
 * of which computes them again.
 */
#ifndef STACK_FUSION_H
#define STACK_FUSION_H
#include "stack/passes/pass.h"

#define FUSION_NODES_MAX 160            /* members: larger ones take registers and gain nothing */
#define FUSION_ARRAYS_MAX 20            /* operands and results; the pipeline has 24 windows */

struct fusion_group {
    int *member;                        /* node numbers, rising */
    int member_count;
    size_t member_capacity;
    bool has_hero;                      /* a node that is not elementwise nor a reduction */
    bool is_gone;                       /* merged into another */
    int64_t elems;                      /* of its iteration space: the largest member */
    int unit;                           /* all of its members are of it, or of none */
    bool is_whole;                      /* a unit of a program that is kept, of any size */
};

struct fusion {
    struct graph *g;
    const struct pass_context *context;
    struct arena arena;                 /* of this pass alone */
    struct fusion_group *group;
    int group_count;
    struct fusion_node {
        int *user;                      /* nodes that read it */
        int user_count;
        int *in;                        /* groups that it is a member of, */
        int in_count;
        size_t in_capacity;
        int owner;                      /* the one that stores it where others need it; -1: none */
    } *node;
    int node_count;                     /* of the graph as it was */
    bool *is_output, *is_free, *behind_hero;
    int *hero_of;                       /* the last that a node stands behind; or NODE_NONE */
    int *moved;                         /* by node, of the body being made; else NODE_NONE */
    int *turn;                          /* of merging: by unit (fusion_merge.c), in which they run, */
    int *at_turn;                       /* and the other way round */
    int *seen, searches;                /* by unit: the last search that was there */
    int in_vmem;                        /* fusion_cycles has this operand there; or NODE_NONE */
};

/* nodes that fusion may put into kernels with others */
bool fusion_is_simple(const struct graph_node *n);      /* elementwise, broadcast, iota, constant */
bool fusion_is_hero(const struct graph_node *n);
/* a slice that its reader may have as an offset: no work, whoever does it */
bool fusion_is_offset(const struct fusion *f, int node);
/* a hero that is work */
bool fusion_is_work(const struct fusion *f, int node);
/* the sum (or extreme) along lanes, or any, that a broadcast spreads, as in a softmax; or NODE_NONE */
int fusion_sum_of(const struct fusion *f, int node, bool along_any);
/* a member spreads a sum along lanes that is a member; any sum that is a member of `of` */
bool fusion_spreads_sums(const struct fusion *f, const struct fusion_group *p);
bool fusion_spreads_sums_of(const struct fusion *f, const struct fusion_group *p,
                            const struct fusion_group *of);
/*
 * A product of batches, attention's, whose scores XLA stores, with what is summed of them, for
 * others to read (docs/accuracy.md, What peak memory tells); and whether one is a member.
 */
bool fusion_stores_product(const struct fusion *f, int node);
bool fusion_has_stored_product(const struct fusion *f, const struct fusion_group *p);
bool fusion_has(const struct fusion_group *p, int node);
int fusion_place(const struct fusion_group *p, int node);       /* of the first member not below it */
void fusion_insert(struct fusion *f, struct fusion_group *p, int node);
void fusion_remove(struct fusion *f, struct fusion_group *p, int node);

/*
 * The body of a group as a graph in `a`: operand[] gets the nodes behind its
 * parameters, root[] those of its outputs. False when there are more than FUSION_ARRAYS_MAX.
 */
struct fusion_body {
    struct graph *graph;
    int operand[FUSION_ARRAYS_MAX], root[FUSION_ARRAYS_MAX];
    int operand_count, root_count;
};
bool fusion_make_body(const struct fusion *f, const struct fusion_group *p, struct arena *a,
                      struct fusion_body *out);

/* whether a kernel makes this group on this chip; the other one says why not, in a few words */
bool fusion_is_taken(const struct fusion *f, const struct fusion_group *p);
bool fusion_is_taken_or_why(const struct fusion *f, const struct fusion_group *p, struct err *why);

/* predicted cycles of the kernel that makes this group, arrays in HBM but f->in_vmem; INT64_MAX: none
   does */
int64_t fusion_cycles(const struct fusion *f, const struct fusion_group *p);

/* a move joins the moves that read it where its array would be mostly padding: they are one then */
bool fusion_skips_padding(struct fusion *f, struct fusion_group *p, int node);
/* work on one array joins the move that reads it, with the numbers that it is made of */
bool fusion_works_before_move(struct fusion *f, struct fusion_group *p, int node);
/* the same where a reshape that moves nothing stands between the two: it is a member then */
bool fusion_works_before_reshape(struct fusion *f, int node);

/* a group of one node */
int fusion_new_group(struct fusion *f, int node);
/* of a program that is kept (stack/hlo/kept.h): a group of each unit that one kernel makes */
void fusion_keep_units(struct fusion *f);

/* groups that read the same, or one of which reads the other, become one with several roots */
void fusion_merge_groups(struct fusion *f);

/* group `from` goes into another, if a kernel makes both in fewer cycles than `most`, and nothing waits
   in a circle then */
bool fusion_merge_two(struct fusion *f, int into, int from, int64_t most);

/* what makes a convolution's input goes into its kernel, where that takes less time than both */
void fusion_make_inputs(struct fusion *f);

/* a softmax goes into the kernel of the product that reads its weights */
void fusion_make_softmaxes(struct fusion *f);

/* work with functions goes into the kernel of the product that reads it, where that takes less time */
void fusion_make_operands(struct fusion *f);

/* fewer arrays between groups: readers compute again what costs less than to write and read it */
void fusion_recompute(struct fusion *f);

/* the graph with a fusion node for each group, in an order that runs */
void fusion_emit(struct fusion *f);
#endif
