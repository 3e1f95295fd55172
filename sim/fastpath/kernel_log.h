/*
 * What the kernels of a program did to HBM while a launch was simulated.
 *
 * A program may come with a list of its kernels (machine_set_kernels). Some of them stand alone: no
 * register, FIFO, word of SMEM or row of VMEM carries anything into such a kernel or out of it, so
 * that the bytes that it writes to HBM follow from those that it reads there. The list says so;
 * what its code and its copies show is checked: every copy stays in the core and is complete when
 * the kernel has its last answer, and no other copy meanwhile touches what it works on. A kernel of
 * which that is not true is logged as one without an effect.
 */
#ifndef SIM_KERNEL_LOG_H
#define SIM_KERNEL_LOG_H
#include "sim/core/core.h"

/* What one run of a kernel has read and written, and what it has asked for. */
struct kernel_effect {
    uint32_t kernel;                    /* number */
    uint32_t reads, writes;             /* ranges of HBM, */
    struct range *range;                /* those that it reads first; bytes that it only reads back
                                           count as read, too */
    uint32_t copies, answers;           /* of the questions about flags */
    int64_t smem_pieces;                /* of copies, that came to SMEM */
};

#define NO_EFFECT UINT32_MAX            /* it does not stand alone, this time */

struct kernel_run {
    uint32_t effect;                    /* of the log, or NO_EFFECT */
    uint32_t first_copy, first_answer;  /* of the core's in the launch */
    int64_t first_piece;                /* that comes to SMEM */
};

struct kernel_log {
    struct kernel_run *run;             /* of kernels that the list says stand alone, in order */
    size_t run_count, run_capacity;
    struct kernel_effect *effect;       /* that differ */
    size_t effect_count, effect_capacity;
    bool is_lost;                       /* there was too much: no use */
    struct kernel_under_way *now;
};

/* zeroed before; its memory goes with fini, and stays for the next launch with begin */
void kernel_log_begin(struct kernel_log *l, const struct decoded_program *p);
void kernel_log_fini(struct kernel_log *l);
/* no kernel is under way any more */
void kernel_log_end(struct kernel_log *l);

/* the marker in front of a kernel, `answers` questions being settled; NULL: not of the list */
void kernel_log_enter(struct kernel_log *l, const struct core *c,
                      const struct decoded_kernel *kernel, uint32_t answers);
void kernel_log_issue(struct kernel_log *l, const struct core *c, const struct dma *d);
void kernel_log_answer(struct kernel_log *l, const struct core *c);
/* a copy of core `from` to core `to`, whose log this is, is complete */
void kernel_log_done(struct kernel_log *l, int from, int to, const struct dma *d);

bool kernel_effect_equal(const struct kernel_effect *a, const struct kernel_effect *b);
int64_t kernel_effect_bytes(const struct kernel_effect *e);
#endif
