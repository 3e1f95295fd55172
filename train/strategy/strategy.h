/*
 * The strategy: where variables live, and how traced steps run on all replicas.
 *
 * On a machine every replica is a core. A variable has one place in HBM for the strategy's whole
 * life, the same on every core; all programs find it there. Without a machine the same traces run
 * on the host's reference interpreter (stack/interp/interp.h).
 *
 * Values that the host gives or gets are dense and row-major, 4 bytes an element: float of f32
 * and bf16, int32_t of s32 and pred, uint32_t of u32.
 */
#ifndef TRAIN_STRATEGY_H
#define TRAIN_STRATEGY_H
#include "keras/trace/trace.h"
#include "sim/machine/machine.h"
#include "stack/interp/interp.h"
#include "stack/module/module.h"

struct strategy;
struct strategy_program;

/*
 * Each replica's step in stages on different cores, one behind the other (docs/parallel.md): device
 * replica * count + stage, or of a mesh with n logical devices n of them from (replica * count +
 * stage) * n on. stage_of tells from the
 * name of a variable, or what a node comes from ("dense/kernel"), whose stage it is; -1: of all.
 */
struct strategy_stages {
    int count;
    int (*stage_of)(const void *user, const char *name);
    const void *user;
};

struct strategy_options {
    struct machine *machine;            /* NULL: the host */
    int replica_count;                  /* 0: one per core, or one on the host */
    /*
     * Logical devices of each replica: axis 0 is the replicas, of replica_count's size. NULL: one.
     * Copied. Devices are numbered replica by replica.
     */
    const struct mesh *mesh;
    /* Copied, NULL: none. A mesh is that of each stage then; on the host they change nothing. */
    const struct strategy_stages *stages;
    /*
     * The first of the strategies on this machine, NULL before there is one. All that are given
     * the same list keep off each other's variables. NULL: this is the only one.
     */
    struct strategy **list;
    const int *core;                    /* by device, copied; NULL: device d is core d */
    struct variable_set *set;
    uint64_t seed;                      /* of initialisers */
    enum interp_dot reference_dot;      /* products on the host */
    bool checks_replicas;               /* mirrored variables after each run, as DEBUG=1 does */
    /* told before each stage of compiling, for progress; may be NULL */
    void (*on_stage)(void *user, const char *stage, int done, int count);
    void *user;
};

/*
 * Variables of the set get their first values at once, those added later when a program first
 * names them. Machine and set must outlive it. Cores that are no device idle. NULL with *e set:
 * more devices than cores, a core twice or out of range, variables larger than HBM.
 */
struct strategy *strategy_create(const struct strategy_options *o, struct err *e);
void strategy_destroy(struct strategy *s);      /* NULL is fine */

int strategy_replica_count(const struct strategy *s);
int strategy_device_count(const struct strategy *s);
const struct mesh *strategy_mesh(const struct strategy *s);     /* of one axis if none was given */
/*
 * What is whose from now on, of variables that are not there yet; the same number of stages
 * (asserted). On the host nothing happens.
 */
void strategy_set_stages(struct strategy *s, const struct strategy_stages *stages);
int strategy_stage_count(const struct strategy *s);             /* on the host 1 */
struct machine *strategy_machine(const struct strategy *s);     /* NULL on the host */
struct variable_set *strategy_variables(const struct strategy *s);
/* what variables take in each core's HBM, tiles and all, of the fullest stage; 0 on the host */
int64_t strategy_variable_bytes(const struct strategy *s);

/* 0 if `batch` divides evenly; else -1, naming the nearest sizes that do */
int strategy_check_batch(int64_t batch, int replica_count, struct err *e);

/* ----- programs */

/*
 * Compiles a finished trace of this strategy's variables and number of replicas. What the trace's
 * arena holds must outlive the strategy; the trace itself may go. The strategy owns the program.
 * NULL with *e set: what the compiler refuses, or too large beside the variables.
 */
struct strategy_program *strategy_compile(struct strategy *s, const struct trace *t,
                                          struct err *e);

/* A user's step: reads inputs (nodes) and variables, leaves results. -1 with *e set. */
typedef int (*strategy_step)(struct trace *t, const int *input, int count, void *context,
                             struct err *e);
/*
 * The program of `step` for inputs of these shapes, per replica. It is traced and compiled at the
 * first call with this step, context, shapes and is_training; later calls get the same program.
 */
struct strategy_program *strategy_function(struct strategy *s, const char *name,
                                           strategy_step step, void *context, bool is_training,
                                           const struct shape *shape, int count, struct err *e);

int strategy_program_input_count(const struct strategy_program *p);
int strategy_program_result_count(const struct strategy_program *p);
/* of one replica */
const struct shape *strategy_program_input_shape(const struct strategy_program *p, int input);
/* what they take in a core's HBM, tiles and all, of stages the mean; 0 on the host */
int64_t strategy_program_input_bytes(const struct strategy_program *p);
const struct shape *strategy_program_result_shape(const struct strategy_program *p, int result);
/* as traced, or as cut for logical devices */
const struct graph *strategy_program_graph(const struct strategy_program *p);
/* of a core; where a replica's cores run programs of their own, the mean of them */
int64_t strategy_program_flops(const struct strategy *s, const struct strategy_program *p);
const struct module *strategy_program_module(const struct strategy_program *p); /* NULL: host */
/* of a stage (0 without stages): its module, and what it is like */
struct strategy_part {
    const struct module *module;
    int64_t variable_bytes;             /* that its cores have, without what messages take */
    int kept_most;                      /* micro batches whose backward pass is to come, at most */
    int64_t sent_bytes;                 /* by a core and launch, to other stages */
};
struct strategy_part strategy_program_part(const struct strategy *s,
                                           const struct strategy_program *p, int stage);
/* programs that a replica's devices run: of stages, of devices that make arrays, else 1; host: 0 */
int strategy_program_part_count(const struct strategy_program *p);

struct strategy_run {
    cycle_t cycles;                     /* of the launch; 0 on the host and in functional mode */
    int64_t input_bytes, result_bytes;  /* dense, as they cross to all replicas and back */
};

/*
 * input[replica * input_count + i] and result[replica * result_count + i]: the caller's, of the
 * program's shapes; a result of NULL is not wanted, and in timing mode none is there to have. All
 * runs of a program take the same number of cycles (asserted), but where values say which rows of
 * an array are read or changed. After an error variables may be anything. `run` may be NULL.
 */
int strategy_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                 void *const *result, struct strategy_run *run, struct err *e);

/*
 * Once more, so that the machine's counters and trace are this program's again: strategy_run, and
 * with keeps_variables those that it assigns are put back. Not on the host (asserted).
 */
int strategy_replay(struct strategy *s, struct strategy_program *p, const void *const *input,
                    void *const *result, bool keeps_variables, struct strategy_run *run,
                    struct err *e);

/* that was run last on a machine; NULL: none yet, or it failed */
const struct strategy_program *strategy_last_program(const struct strategy *s);

/* ----- variables */

/*
 * All of a variable. Mirrored: replica 0's. SYNC_ON_READ: what its aggregation makes of the
 * replicas' values, in their order (NONE: replica 0's). Sharded: the parts put together.
 * Writing gives every replica the value, or its part; of an aggregation SUM replica 0 gets it and
 * the others 0, so that reading gives it back.
 */
int strategy_read(struct strategy *s, int variable, void *to, struct err *e);
int strategy_write(struct strategy *s, int variable, const void *from, struct err *e);
/*
 * A SYNC_ON_READ variable's values of `count` replicas, one behind the other: each replica its own;
 * of another number of replicas what the aggregation makes of them, written as above.
 */
int strategy_write_replicas(struct strategy *s, int variable, const void *from, int count,
                            struct err *e);
/* what one replica holds: variable_local_shape */
int strategy_read_local(struct strategy *s, int replica, int variable, void *to, struct err *e);
int strategy_write_local(struct strategy *s, int replica, int variable, const void *from,
                         struct err *e);
/*
 * What all variables, which get their first values if they have none, hold now. On a machine that
 * is next to nothing: pages of HBM are shared until somebody writes to them. Reading is what
 * strategy_read_local was then.
 */
struct strategy_snapshot;
struct strategy_snapshot *strategy_snapshot(struct strategy *s, struct err *e); /* NULL, *e set */
void strategy_snapshot_free(struct strategy_snapshot *k);                      /* NULL is fine */
int strategy_snapshot_read(struct strategy *s, const struct strategy_snapshot *k, int replica,
                           int variable, void *to, struct err *e);
/* Where a device has a variable, which gets a place if it has none yet. */
struct strategy_where {
    struct shape shape;                 /* of what lies there */
    int64_t address, bytes;             /* in the core's HBM, tiles and all; on the host 0, dense */
};
/* 1; 0: the device has nothing of it, another stage does; -1 as strategy_read */
int strategy_where(struct strategy *s, int variable, int device, struct strategy_where *out,
                   struct err *e);
int strategy_core(const struct strategy *s, int device);       /* on the host 0 */

/* back to what initialisers give: metrics at the start of an epoch */
int strategy_reset(struct strategy *s, int variable, struct err *e);

/*
 * 0 if mirrored variables are the same bit by bit on all replicas, and what is not cut on all of
 * a replica's devices, else -1 naming the first
 */
int strategy_check_replicas(struct strategy *s, struct err *e);
#endif
