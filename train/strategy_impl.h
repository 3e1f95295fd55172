/* Inside the strategy: what strategy*.c share. */
#ifndef TRAIN_STRATEGY_IMPL_H
#define TRAIN_STRATEGY_IMPL_H
#include "train/strategy.h"

/* A variable's values. On a machine it is an array at one address, on the host memory. */
struct strategy_place {
    struct array array;                 /* of what a replica holds */
    void **local;                       /* host: by replica */
};

struct strategy_program {
    const char *name;
    struct graph graph;                 /* as traced, common nodes made one */
    struct trace_parameter *parameter;  /* by the graph's parameter */
    int *input_parameter;               /* by input: the graph's parameter */
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
    int replica_count;
    int *core;                          /* by replica */
    struct strategy_place **place;      /* by variable, as far as placed_count */
    size_t place_capacity;
    int placed_count;
    int64_t lowest;                     /* variables lie from here to the end of HBM; programs */
    int64_t highest;                    /* of all programs; they begin at 0 */
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

/* a machine's work per replica, on its threads; the first replica's error */
typedef int (*strategy_part)(void *context, int replica, struct err *e);
int strategy_each_replica(struct strategy *s, strategy_part part, void *context, struct err *e);

int strategy_device_place(struct strategy *s, int variable, struct err *e);
int strategy_device_compile(struct strategy *s, struct strategy_program *p, struct err *e);
int strategy_device_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                        void *const *result, struct strategy_run *run, struct err *e);

void strategy_host_place(struct strategy *s, int variable);
int strategy_host_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                      void *const *result, struct err *e);
#endif
