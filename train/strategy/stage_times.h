/*
 * Where the cycles of a step in stages went: what each stage worked, and what a pipeline of such
 * stages would take if messages and sums cost nothing.
 */
#ifndef TRAIN_STAGE_TIMES_H
#define TRAIN_STAGE_TIMES_H
#include "train/strategy/strategy.h"

struct stage_cycles {                   /* of a core; together a launch's cycles */
    cycle_t passes, rest;               /* kernels of the passes; behind them, the update */
    cycle_t messages, sums;             /* sending, receiving, waiting; between replicas */
    cycle_t idle;                       /* it has halted, others have not */
};

struct stage_times {
    int stage_count, micro_batches;     /* of a step */
    int64_t rounds;                     /* steps of the launch */
    cycle_t cycles;                     /* of the launch */
    struct stage_cycles *stage;         /* the mean of the replicas' cores */
    double theory;                      /* bubble of equal stages: (S - 1) / (M + S - 1) */
    double bubble;                      /* share of time that cores of a pipeline of stages as */
                                        /* long as these do not work, communication left out */
    double measured;                    /* share in which they do not work */
    cycle_t ideal;                      /* cycles of that pipeline, for as many steps */
};

/*
 * Of the last launch, which was one of this program, with cycles, of a strategy with stages. What
 * is in `out` is `a`'s.
 */
void stage_times_of(const struct strategy *s, const struct strategy_program *p, struct arena *a,
                    struct stage_times *out);
#endif
