/*
 * The time of the host around launches: what a training loop's wall time is made of.
 *
 * A model beside the machine. Three things go on at once: the input pipeline makes batches, the
 * link carries them to the chips, the user's loop dispatches executions and looks at their
 * results. An execution is one launch of one or several steps. It starts when its batches have
 * arrived, it has been dispatched, and the execution before has ended. Pipeline and link run
 * ahead by `buffers` executions, as prefetching does; the loop waits for the results of an
 * execution before it dispatches the next, as Keras does.
 */
#ifndef TRAIN_HOST_LOOP_H
#define TRAIN_HOST_LOOP_H
#include "sim/chip/chip.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HOST_LOOP_BUFFERS_MAX 16

struct host_loop_options {
    double prepare_gbps;                /* of the pipeline */
    double pcie_gbps, latency_us;       /* of each chip's link */
    int chip_count;                     /* that share a batch evenly */
    double dispatch_us;                 /* per execution, before it can start */
    double loop_us;                     /* per execution, after it has ended */
    int buffers;                        /* executions that may be ready ahead; at least 1 */
};

struct host_loop {
    struct host_loop_options options;
    int64_t executions, steps, input_bytes;
    double wall_us;                     /* from the first batch's making to the last result */
    double device_us;                   /* working; */
    double infeed_us, dispatch_us;      /* waiting for batches; for the loop, batches being there */
    double prepare_us, link_us;         /* at work, mostly hidden */
    /* when each is free again; when executions ended, by their number modulo buffers */
    double pipeline_free, link_free, loop_free, device_free;
    double ended[HOST_LOOP_BUFFERS_MAX];
};

/* as the chip's parameters host.* say, two buffers, results waited for */
struct host_loop_options host_loop_standard(const struct chip *c, int chip_count);
void host_loop_init(struct host_loop *h, const struct host_loop_options *o);

/* One more execution of `steps` steps that take `device_us` in all and `bytes` of batches. */
void host_loop_execute(struct host_loop *h, int64_t steps, double device_us, int64_t bytes);

/* wall time per step; 0 before the first */
double host_loop_step_us(const struct host_loop *h);
/* a line: "wall time 1.3 ms per step ...": what the device worked and waited for */
void host_loop_print(const struct host_loop *h, FILE *to);
#endif
