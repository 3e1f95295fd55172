/*
 * Advances a model of three overlapping activities, input, transfer and dispatch, by one execution
 * at a time.
 */
#include "train/fit/host_loop.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

static double later_of(double a, double b) { return a > b ? a : b; }

struct host_loop_options host_loop_standard(const struct chip *c, int chip_count)
{
    return (struct host_loop_options){
        .prepare_gbps = c->host_prepare_gbps, .pcie_gbps = c->host_pcie_gbps,
        .latency_us = (double)c->host_latency_ns * 1e-3, .chip_count = chip_count,
        .dispatch_us = (double)c->host_dispatch_us, .loop_us = (double)c->host_loop_us,
        .buffers = 2};
}

void host_loop_init(struct host_loop *h, const struct host_loop_options *o)
{
    assert(o->buffers > 0 && o->buffers <= HOST_LOOP_BUFFERS_MAX && o->chip_count > 0);
    memset(h, 0, sizeof(*h));
    h->options = *o;
}

/* when the batches of this execution are on the chips */
static double bring(struct host_loop *h, int64_t bytes)
{
    const struct host_loop_options *o = &h->options;
    int buffer = (int)(h->executions % o->buffers);
    double link_us = o->latency_us + (double)bytes / o->chip_count / o->pcie_gbps * 1e-3;
    double prepare_us = (double)bytes / o->prepare_gbps * 1e-3;

    if (bytes == 0)
        return 0;
    h->prepare_us += prepare_us;
    h->link_us += link_us;
    h->pipeline_free += prepare_us;
    /* the buffer is free when the execution that used it last has ended */
    h->link_free = later_of(later_of(h->pipeline_free, h->link_free), h->ended[buffer]) + link_us;
    /* and the pipeline goes on when it has handed over its batch */
    h->pipeline_free = later_of(h->pipeline_free, h->link_free - link_us);
    return h->link_free;
}

void host_loop_execute(struct host_loop *h, int64_t steps, double device_us, int64_t bytes)
{
    const struct host_loop_options *o = &h->options;
    double arrived = bring(h, bytes), dispatched = h->loop_free + o->dispatch_us;
    double start = later_of(later_of(arrived, dispatched), h->device_free);
    double infeed = later_of(0, arrived - h->device_free);

    h->infeed_us += infeed;
    h->dispatch_us += start - h->device_free - infeed;
    h->device_free = start + device_us;
    h->loop_free = h->device_free + o->loop_us;
    h->ended[h->executions % o->buffers] = h->device_free;
    h->device_us += device_us;
    h->input_bytes += bytes;
    h->executions++;
    h->steps += steps;
    h->wall_us = later_of(h->loop_free, h->device_free);
}

double host_loop_step_us(const struct host_loop *h)
{
    return h->steps ? h->wall_us / (double)h->steps : 0;
}

void host_loop_print(const struct host_loop *h, FILE *to)
{
    double steps = (double)h->steps;

    if (h->steps == 0)
        return;
    text_print_file(to, "wall time  %.3f ms per step by the host model (docs/training.md): device "
                    "%.3f, waiting for batches %.3f, for the loop %.3f; %.0f step%s per "
                    "execution\n", host_loop_step_us(h) * 1e-3, h->device_us / steps * 1e-3,
                    h->infeed_us / steps * 1e-3,
                    (h->wall_us - h->device_us - h->infeed_us) / steps * 1e-3,
                    steps / (double)h->executions, h->steps == h->executions ? "" : "s");
}
