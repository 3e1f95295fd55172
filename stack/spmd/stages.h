/*
 * A step cut into stages that run on different cores: docs/parallel.md.
 *
 * The graph is all of a replica's step: forward and backward pass of each micro batch, one after
 * the other, then what comes of their gradients. Each node is done by one stage; what another one
 * needs goes from stage to stage as messages. Nodes made of constants, inputs and variables alone
 * are made again wherever they are needed. A stage's graph has its part of all micro batches in
 * 1F1B order, which the order of its messages holds.
 */
#ifndef STACK_STAGES_H
#define STACK_STAGES_H
#include "stack/hlo/graph.h"

#define STAGE_MESSAGE_FLAGS 6           /* of each core */
#define STAGE_SLOTS 2                   /* messages of a kind that may have arrived unread */

/* of a node: in a pass of a micro batch, or behind all of them */
enum { PHASE_REST = -1 };
static inline int phase_forward(int micro) { return 2 * micro; }
static inline int phase_backward(int micro) { return 2 * micro + 1; }

struct stages_request {
    const struct graph *g;
    int stage_count, micro_batches;
    const int *stage;                   /* by node: whose layer it comes from; -1: of none */
#define STAGE_OF_ENDS (-2)              /* the last one's, if any stage's values are in it */
    const int *phase;                   /* by node */
    const int *parameter_stage;         /* by parameter: a variable's; -1: every stage has it */
    const bool *is_input;               /* by parameter */
    int replica_count;
    const int *core;                    /* [replica * stage_count + stage] */
    int first_flag;                     /* of STAGE_MESSAGE_FLAGS */
    bool is_round;                      /* of a loop: the graph is done again when it has ended */
};

struct stage_part {
    struct graph graph;                 /* to be finished with graph_fini */
    int *parameter;                     /* by its parameter: that of g */
    int *output;                        /* by its output: that of g; -1: nobody asks for it */
    int parameter_count, output_count;
    int kept_most;                      /* micro batches whose backward pass is to come, at most */
    int64_t sent_bytes;                 /* by all its messages */
};

struct stages {
    int64_t bytes;                      /* where messages arrive, in every core's HBM */
    struct stage_part *part;            /* by stage */
};

/*
 * Everything is `a`'s. -1 with *e set, naming what is in the way: a variable of one stage that
 * another one reads, values that go backwards in the forward pass, arrays of several stages behind
 * the passes (numbers may go up once, then down), in a round two stages between which messages go
 * one way only.
 */
int stages_cut(const struct stages_request *r, struct arena *a, struct stages *out, struct err *e);
/* messages of the graphs arrive from this address on, a multiple of a tile */
void stages_place(struct stages *s, int stage_count, int64_t address);
#endif
