/* Private to stages*.c: the state of a cut into stages, which its files share. */
#ifndef STACK_STAGES_IMPL_H
#define STACK_STAGES_IMPL_H
#include "stack/spmd/stages.h"

#define STAGE_ANY (-1)                  /* a node that every stage makes for itself */

struct stages_cut {
    const struct stages_request *r;
    struct arena *arena;
    const struct graph *g;
    struct stages *out;
    bool *is_live;
    int *stage_of;                      /* by node: its stage, or STAGE_ANY */
    int *phase;                         /* by node; scalars that go between stages behind all */
    int batches;                        /* passes are of one more batch, if there are such */
    int *highest, *lowest;              /* by node: stages that need its value */
    int passes;                         /* of each micro batch: forward, and backward if any */
    int64_t forward_bytes, backward_bytes;      /* of a message, at most */
};

static inline bool stages_go_up(const struct stages_cut *c, int node, int micro, int from)
{
    return c->phase[node] == phase_forward(micro) && c->is_live[node] &&
           c->stage_of[node] >= 0 && c->stage_of[node] <= from && c->highest[node] > from;
}

/* of either pass: the backward pass may read what only a higher stage has */
static inline bool stages_go_down(const struct stages_cut *c, int node, int micro, int from)
{
    int phase = c->phase[node];

    return (phase == phase_forward(micro) || phase == phase_backward(micro)) &&
           c->is_live[node] && c->stage_of[node] >= from && c->lowest[node] < from;
}

/* stages_assign.c: who makes what, and who needs it */
int stages_assign(struct stages_cut *c, struct err *e);
/* stages_emit.c: the graph of a stage */
int stages_emit(struct stages_cut *c, int stage, struct err *e);
#endif
