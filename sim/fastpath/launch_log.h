/*
 * What a core was told in a launch that was simulated: for every question that it put about a flag,
 * which copies were complete for it by then, in their order, and what it read. sim/fastpath/replay.h repeats
 * the launch by it.
 */
#ifndef SIM_LAUNCH_LOG_H
#define SIM_LAUNCH_LOG_H
#include "sim/fastpath/kernel_log.h"

struct launch_log {
    struct launch_answer {
        uint32_t arrived;               /* copies complete by then */
        int32_t value;                  /* of a flag that was read */
    } *answer;
    struct launch_arrival {
        uint32_t from, number;          /* core, and of its copies */
    } *arrival;                         /* in the order in which they were complete */
    size_t answer_count, answer_capacity, arrival_count, arrival_capacity;
    int32_t value;                      /* that was read last */
    bool is_lost;                       /* it was too much, or there is none of such a launch */
    struct kernel_log kernels;
};

/* zeroed before; a launch of `c` begins, with its program if it has one */
void launch_log_begin(struct launch_log *l, const struct core *c);
void launch_log_end(struct launch_log *l);
void launch_log_fini(struct launch_log *l);

void launch_log_read(struct launch_log *l, int32_t value);      /* of a flag: the next answer's */
void launch_log_answer(struct launch_log *l, const struct core *c);     /* a question is settled */
/* a copy of core `from` to core `to`, whose log this is, is complete */
void launch_log_done(struct launch_log *l, int from, int to, const struct dma *d);
void launch_log_issue(struct launch_log *l, const struct core *c, const struct dma *d);
/* the marker in front of a kernel of the program's list; NULL: another marker */
void launch_log_kernel(struct launch_log *l, const struct core *c,
                       const struct decoded_kernel *kernel);
#endif
