/* Inside the strategy: what strategy*.c share. */
#ifndef TRAIN_STRATEGY_IMPL_H
#define TRAIN_STRATEGY_IMPL_H
#include "train/strategy.h"

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

struct strategy_program {
    const char *name;
    struct graph graph;                 /* of a device; common nodes made one */
    struct trace_parameter *parameter;  /* by the graph's parameter */
    int *input_parameter;               /* by input: the graph's parameter */
    struct program_end *input, *result;
    int input_count, result_count;
    struct module module;               /* on a machine */
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
    int *core;                          /* by device */
    struct strategy_place **place;      /* by variable, as far as placed_count */
    size_t place_capacity;
    int placed_count;
    int64_t lowest, end;                /* variables lie between them; on the host both are 0 */
    int64_t highest;                    /* of all programs, which begin at 0 */
    struct strategy_program *program;   /* all of them */
    struct strategy_cached *cached;
    const struct strategy_program *loaded;      /* what the cores hold */
};

static inline const struct variable *strategy_variable(const struct strategy *s, int variable)
{
    return &s->set->variable[variable];
}

/* gives places and first values to variables that have none yet */
int strategy_place_variables(struct strategy *s, struct err *e);

static inline int strategy_replica_of(const struct strategy *s, int device)
{
    return device / s->logical_count;
}

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

int strategy_device_place(struct strategy *s, int variable, struct err *e);
int strategy_device_compile(struct strategy *s, struct strategy_program *p, struct err *e);
int strategy_device_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                        void *const *result, struct strategy_run *run, struct err *e);

void strategy_host_place(struct strategy *s, int variable);
int strategy_host_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                      void *const *result, struct err *e);
#endif
