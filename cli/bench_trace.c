/* systole bench: who listens to a traced launch. It only counts, so that recording is measured. */
#include "cli/bench.h"

static int64_t count;

static void count_core(void *context, int core, const struct trace_record *r, size_t records)
{
    (void)context;
    (void)core;
    (void)r;
    count += (int64_t)records;
}

static void count_repeat(void *context, int core, const struct trace_repeat *r)
{
    (void)context;
    (void)core;
    (void)r;
    count++;
}

static void count_dma(void *context, int core, const struct trace_dma *d)
{
    (void)context;
    (void)core;
    (void)d;
    count++;
}

static void count_hbm(void *context, int chip, const struct trace_hbm *h)
{
    (void)context;
    (void)chip;
    (void)h;
    count++;
}

static void count_link(void *context, int link, const struct trace_link *l)
{
    (void)context;
    (void)link;
    (void)l;
    count++;
}

const struct trace_sink bench_sink = {.core = count_core, .repeat = count_repeat,
                                      .dma = count_dma, .hbm = count_hbm, .link = count_link};
