/*
 * One step function becoming a graph: reads and writes of variables, inputs, results.
 *
 * The graph is what one replica does. Reading a variable gives its value at this point of the
 * step: the parameter at first, then whatever was assigned last. trace_finish makes the last
 * values of assigned variables outputs in the place of their parameters, behind the results.
 * train/strategy/strategy.h compiles and runs it.
 */
#ifndef KERAS_TRACE_H
#define KERAS_TRACE_H
#include "keras/trace/variable.h"
#include "stack/spmd/partition.h"

enum trace_source_kind { TRACE_VARIABLE, TRACE_INPUT };
struct trace_parameter {
    enum trace_source_kind kind;
    int index;                          /* of the variable set, or of the inputs */
};

struct trace_variable {
    int value;                          /* node: now; NODE_NONE if not read yet */
    int whole;                          /* node: of that all parts; NODE_NONE if nobody has asked */
    int parameter;                      /* of the graph, or -1 */
    bool is_assigned;
};

struct trace_phase { int first_node, phase; };
struct trace_place { int node, device; };

struct trace {
    struct arena *arena;
    struct graph graph;
    struct variable_set *set;
    int replica_count;
    bool is_training;
    struct trace_parameter *parameter;  /* by the graph's parameter */
    size_t parameter_capacity;
    struct trace_variable *variable;    /* by variable, as far as known_count */
    size_t variable_capacity;
    int known_count;
    int input_count, result_count;
    const struct mesh *mesh;            /* of the logical devices; NULL: there is one per replica */
    struct sharding_note *note;         /* how arrays lie over them (stack/spmd/partition.h) */
    int note_count;
    size_t note_capacity;
    struct trace_place *place;          /* who makes nodes of logical devices (stack/spmd/assign.h) */
    int place_count;
    size_t place_capacity;
    struct trace_phase *phase;          /* where they begin (stack/spmd/stages.h); none: one pass */
    int phase_count;
    size_t phase_capacity;
    struct trace *round;                /* what all of it repeats (train/step/loop.h); NULL: no loop */
    int64_t round_count;
    bool is_finished;
};

/* `a` and `set` must outlive it; trace_fini frees what grows, also after an error, and its round */
void trace_init(struct trace *t, struct arena *a, const char *name, struct variable_set *set,
                int replica_count, bool is_training);
void trace_fini(struct trace *t);

/* nodes; of a sharded variable this replica's part */
int trace_read(struct trace *t, int variable);
/* all of it: of a sharded variable the replicas' parts, gathered once for each value it has */
int trace_read_whole(struct trace *t, int variable);
/* shape and type as trace_read gives them (asserted) */
void trace_assign(struct trace *t, int variable, int node);

/* a new input, per replica: a node */
int trace_input(struct trace *t, const char *name, const struct shape *shape);
/* the number of a new result */
int trace_result(struct trace *t, const char *name, int node);

/*
 * From this node on the array lies over the logical devices like this: all of it on each with no
 * dimension cut. -1: no such cut, naming `what` (sharding_check). Without a mesh nothing happens.
 */
int trace_shard(struct trace *t, int node, const struct sharding *s, const char *what,
                struct err *e);

/* how a node lies that is known to go, also one of a loop in the graph */
void trace_note(struct trace *t, const struct sharding_note *note);

/*
 * The node is made by this logical device of a replica; what it is made of, too, as far as nothing
 * else is said of it. *placed: the node, or a copy of it there if it is an input, a variable or on
 * another device. -1: no such device.
 */
int trace_place(struct trace *t, int node, int device, int *placed, struct err *e);
/* by node of its graph, in `a`: its device, -1 if none was said */
int *trace_devices(const struct trace *t, struct arena *a);

/* what nodes made from now on come from: "scope/what", or "what" if scope is NULL */
void trace_source(struct trace *t, const char *scope, const char *what);

/* nodes from now on are of this pass of a micro batch, or PHASE_REST: for stages */
void trace_begin_phase(struct trace *t, int phase);
/* by node of its graph, in `a`; their number of micro batches */
int trace_phases(const struct trace *t, struct arena *a, int **phase);

/* outputs: results in order, then assigned variables; once */
void trace_finish(struct trace *t);
#endif
