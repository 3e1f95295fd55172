/* Private to strategy*.c: the state of a strategy, which its files share. */
#ifndef TRAIN_STRATEGY_IMPL_H
#define TRAIN_STRATEGY_IMPL_H
#include "train/strategy/strategy.h"

/* A variable's values. On a machine it is an array at one address, on the host memory. */
struct strategy_place {
    struct shape local;                 /* what a replica holds */
    struct array array;                 /* of what a device holds of that */
    void **value;                       /* host: by device */
};

/* An input or result: of a replica, and how it lies on its devices. */
struct program_end {
    struct shape shape;
    struct sharding sharding;
};

/*
 * What a stage's devices run, or a logical device's of a step that assigns arrays to them; there
 * is one for all otherwise.
 */
struct program_part {
    struct graph graph;                 /* of a device; common nodes made one */
    int *parameter;                     /* by its parameter: the whole step's */
    int *output;                        /* by its output: the whole step's; -1: none */
    int output_count;
    int *input_parameter;               /* by input: its parameter; -1: not read */
    int *result_output;                 /* by result: its output; -1: another part's */
    struct module module;               /* on a machine */
    int kept_most;
    int64_t sent_bytes;
};

struct strategy_program {
    const char *name;
    struct graph graph;                 /* of a device, with all parts */
    struct trace_parameter *parameter;  /* by the graph's parameter */
    struct program_part *part;          /* on a machine: one, or by device of a replica */
    int part_count, micro_batches;
    int64_t rounds;                     /* of a loop over micro_batches; else 1 */
    const struct strategy_program *round;       /* by itself: it adds up alike; or NULL */
    int message_flags;                  /* of a core, for messages between parts */
    struct program_end *input, *result;
    int input_count, result_count;
    cycle_t cycles;                     /* of every run; 0 before the first */
    struct strategy_program *next;
};

struct strategy_cached {                /* a function's program */
    strategy_step step;
    void *context;
    bool is_training;
    int count;
    struct shape *shape;
    struct strategy_program *program;
    struct strategy_cached *next;
};

struct strategy {
    struct strategy_options options;
    struct arena arena;
    struct variable_set *set;
    struct mesh mesh;                   /* axis 0: replicas */
    int replica_count;
    int device_count, logical_count;    /* in all; of each replica */
    struct strategy_stages stages;      /* count is 1 without; each has logical_count / count */
    int *core;                          /* by device */
    struct strategy_place **place;      /* by variable, as far as placed_count */
    size_t place_capacity;
    int placed_count;
    int64_t end;                        /* of HBM that is used; on the host 0, as the others */
    int64_t *lowest;                    /* by stage: its variables lie from here to the end */
    int64_t *highest;                   /* by stage, of all programs, which begin at 0 */
    int64_t messages, message_bytes;    /* where they arrive, on all cores */
    struct strategy_program *program;   /* all of them */
    struct strategy_cached *cached;
    const struct strategy_program *last;        /* that ran */
    struct strategy *next;              /* on the same machine */
};

/* values by device and variable; NULL: it is not on that device */
struct strategy_snapshot {
    int device_count, variable_count;
    struct hbm_hold **hold;             /* on a machine, */
    void **value;                       /* on the host */
};

static inline size_t strategy_snapshot_at(const struct strategy_snapshot *k, int device,
                                          int variable)
{
    return (size_t)device * (size_t)k->variable_count + (size_t)variable;
}

static inline const struct variable *strategy_variable(const struct strategy *s, int variable)
{
    return &s->set->variable[variable];
}

/* of what a device holds of it, on the host */
static inline size_t strategy_device_bytes(const struct strategy *s, int variable)
{
    return (size_t)shape_elems(&s->place[variable]->array.shape) * 4;
}

/* gives places and first values to variables that have none yet */
int strategy_place_variables(struct strategy *s, struct err *e);

static inline int strategy_replica_of(const struct strategy *s, int device)
{
    return device / s->logical_count;
}

/* devices of a stage, or of a replica without stages, among which the mesh cuts */
static inline int strategy_stage_devices(const struct strategy *s)
{
    return s->logical_count / s->stages.count;
}

static inline int strategy_stage_of(const struct strategy *s, int device)
{
    return device % s->logical_count / strategy_stage_devices(s);
}

/* a variable's; -1: all have it, and what it is stands on the last one */
int strategy_variable_stage(const struct strategy *s, int variable);
/* whether a device has it, and which one of a replica tells its value */
bool strategy_holds(const struct strategy *s, int device, int variable);
int strategy_teller(const struct strategy *s, int replica, int variable);

/* devices of a replica that run the same part */
static inline int strategy_part_devices(const struct strategy *s, const struct strategy_program *p)
{
    return s->logical_count / p->part_count;
}

static inline struct program_part *strategy_part_of(const struct strategy *s,
                                                    const struct strategy_program *p, int device)
{
    return &p->part[device % s->logical_count / strategy_part_devices(s, p)];
}

/* what a program does in every round of its loop, or all of it */
static inline const struct trace *strategy_step_of(const struct trace *t)
{
    return t->round ? t->round : t;
}

/* the parts of a traced step: one graph for all devices, or one for each of a replica */
int strategy_cut(struct strategy *s, struct strategy_program *p, const struct trace *t,
                 struct err *e);

/* a machine's work per device, on its threads; the first device's error */
typedef int (*strategy_part)(void *context, int device, struct err *e);
int strategy_each_device(struct strategy *s, strategy_part part, void *context, struct err *e);

/*
 * What device `device` gets of a replica's value, and where it puts its part: the value itself if
 * it is not cut. strategy_take's result is freed with strategy_free_taken.
 */
const void *strategy_take(const struct strategy *s, const struct program_end *end, int device,
                          const void *whole);
void strategy_free_taken(const void *taken, const void *whole);

/* from where on variables of any strategy lie in HBM, and where the programs of others end */
int64_t strategy_device_lowest(const struct strategy *s, int stage);
int64_t strategy_device_highest(const struct strategy *s, int stage);
void strategy_device_unload(struct strategy *s);
int strategy_device_place(struct strategy *s, int variable, struct err *e);
int strategy_device_compile(struct strategy *s, struct strategy_program *p, struct err *e);
int strategy_device_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                        void *const *result, struct strategy_run *run, struct err *e);

void strategy_host_place(struct strategy *s, int variable);
int strategy_host_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                      void *const *result, struct err *e);
#endif
