/*
 * Kernels that several cores of a repeated launch run on the same bytes (docs/engine.md).
 *
 * The first core that comes to such a kernel leads: what it reads is held as it is then, what it
 * has written as it is behind the kernel. Another one that finds the same in its own HBM takes the
 * results and leaves the kernel out; while the leader is not through, it waits for that. One that
 * finds anything else works the kernel out. A leader that has to wait itself, for a copy of another
 * core, wakes those that wait for it: the first of them leads from then on.
 *
 * Which kernels are tried at all follows from the launches before: in the first that is repeated,
 * each core takes a sample of what its kernels read. Where no two cores agree, the kernel is never
 * looked at again; where nobody has taken anything twice in a row, neither.
 *
 * Calls that name a core are made by the thread that runs it. Cores that may go on come back as a
 * list: the first, and dedup_next_waiter of each, NO_CORE at the end.
 */
#ifndef SIM_DEDUP_H
#define SIM_DEDUP_H
#include "sim/fastpath/kernel_log.h"
#include "sim/machine/ready_cores.h"

struct dedup;

struct dedup *dedup_create(int core_count);
void dedup_destroy(struct dedup *t);

/* logs of a launch are complete; `late`: copies to SMEM that count are compared as they arrive */
struct dedup_input {
    const struct decoded_program *program;      /* NULL: the core has no part in it */
    const struct kernel_log *log;               /* must stay until the next prepare */
    const struct origins *origins;
};
void dedup_prepare(struct dedup *t, const struct dedup_input *core);

void dedup_begin(struct dedup *t);              /* a repeated launch */
void dedup_end(struct dedup *t, bool is_broken);

enum dedup_way {
    DEDUP_RUNS,                         /* the core works the kernel out */
    DEDUP_LEADS,                        /* and says so with dedup_done at its last answer */
    DEDUP_TAKES,                        /* its results are there: the kernel is to be left out */
    DEDUP_WAITS                         /* for the leader: to ask again after dedup_wait */
};
struct dedup_run {
    struct kernel_run run;
    const struct kernel_effect *effect;
};
/* `c` is in front of a kernel that its list says stands alone; of it, where it leads or takes */
enum dedup_way dedup_enter(struct dedup *t, const struct core *c, struct dedup_run *out);
int dedup_done(struct dedup *t, const struct core *c);
/* a core that leads, or did, stops for a copy that another one has not issued yet; it goes on */
int dedup_stop(struct dedup *t, int core);
void dedup_go_on(struct dedup *t, int core);
/* false: it need not wait any more; else it is somebody's list's from here on */
bool dedup_wait(struct dedup *t, int core);
int dedup_next_waiter(const struct dedup *t, int core);

/* kernels left out in launches that were not broken */
int64_t dedup_count(const struct dedup *t);
#endif
