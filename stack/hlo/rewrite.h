/*
 * Rewriting a graph: a pass reads one graph node by node and builds another.
 *
 * rewrite_begin copies the parameters. The pass then visits the other nodes in
 * order and sets moved[] of each: a copy (rewrite_copy), or whatever node of
 * `to` stands for it. rewrite_end gives the new graph the outputs, removes what
 * nothing needs any more and puts it in the place of the old one, in the same arena.
 */
#ifndef STACK_REWRITE_H
#define STACK_REWRITE_H
#include "stack/hlo/graph.h"

struct rewrite {
    struct graph *from;
    struct graph to;
    int *moved;                         /* by node of `from`: its stand-in in `to` */
};

void rewrite_begin(struct rewrite *w, struct graph *g);
/* Node `node` of `from` with the operands that stand for its own; operands lie in the arena. */
struct graph_node rewrite_node(struct rewrite *w, int node);
/* The same added to `to`; sets moved[node]. */
int rewrite_copy(struct rewrite *w, int node);
void rewrite_end(struct rewrite *w);
/*
 * All of this where a node's stand-in depends on it alone: `change` gets each node that is no
 * parameter as rewrite_node makes it, which it may alter, and gives its stand-in, or NODE_NONE for
 * a copy. Node `node` of `from` is what it was. Whether any had a stand-in.
 */
bool rewrite_each(struct graph *g, int (*change)(struct rewrite *w, int node,
                                                 struct graph_node *n, const void *user),
                  const void *user);

/* Adds a node like `n`, source and all; its operands are nodes of `g`. */
int rewrite_add(struct graph *g, const struct graph_node *n);

/* A copy of all of `g` in arena `a`; its outputs and parameters keep their order. */
void graph_copy(const struct graph *g, struct arena *a, struct graph *out);

/* Its arrays move into its arena: nobody need free it, and nothing may be added any more. */
void graph_freeze(struct graph *g);

/*
 * What each fusion (or, of control flow, each loop and conditional) calls, which other graphs may
 * have too, becomes a copy of its own, and `change` is called on it; what that calls is the
 * business of `change`. Stops where `change` does not return 0, and returns that.
 */
int rewrite_fusions(struct graph *g,
                    int (*change)(struct graph *body, const void *user, struct err *e),
                    const void *user, struct err *e);
int rewrite_flow(struct graph *g,
                 int (*change)(struct graph *body, const void *user, struct err *e),
                 const void *user, struct err *e);

#endif
