/* Appends answers, arrivals and issues to a core's log while a launch is simulated. */
#include "sim/fastpath/launch_log.h"

#define LOG_MAX (1 << 22)               /* answers, and copies, of a core */

void launch_log_begin(struct launch_log *l, const struct core *c)
{
    l->answer_count = l->arrival_count = 0;
    l->is_lost = c->is_listing;
    kernel_log_begin(&l->kernels, c->program);
}

void launch_log_end(struct launch_log *l)
{
    kernel_log_end(&l->kernels);
}

void launch_log_fini(struct launch_log *l)
{
    mem_free(l->answer);
    mem_free(l->arrival);
    kernel_log_fini(&l->kernels);
}

void launch_log_read(struct launch_log *l, int32_t value)
{
    l->value = value;
}

void launch_log_answer(struct launch_log *l, const struct core *c)
{
    l->is_lost |= l->answer_count == LOG_MAX;
    if (l->is_lost)
        return;
    MEM_ADD(l->answer, l->answer_count, l->answer_capacity) = (struct launch_answer){
        (uint32_t)l->arrival_count, l->value};
    kernel_log_answer(&l->kernels, c);
}

void launch_log_done(struct launch_log *l, int from, int to, const struct dma *d)
{
    l->is_lost |= l->arrival_count == LOG_MAX;
    if (l->is_lost)
        return;
    MEM_ADD(l->arrival, l->arrival_count, l->arrival_capacity) = (struct launch_arrival){
        (uint32_t)from, d->number};
    kernel_log_done(&l->kernels, from, to, d);
}

void launch_log_issue(struct launch_log *l, const struct core *c, const struct dma *d)
{
    kernel_log_issue(&l->kernels, c, d);
}

void launch_log_kernel(struct launch_log *l, const struct core *c,
                       const struct decoded_kernel *kernel)
{
    kernel_log_enter(&l->kernels, c, kernel, (uint32_t)l->answer_count);
}
