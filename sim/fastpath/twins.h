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
 * list: the first, and twins_next_waiter of each, NO_CORE at the end.
 */
#ifndef SIM_TWINS_H
#define SIM_TWINS_H
#include "sim/fastpath/kernel_log.h"
#include "sim/machine/ready_cores.h"

struct twins;

struct twins *twins_create(int core_count);
void twins_destroy(struct twins *t);

/* logs of a launch are complete; `late`: copies to SMEM that count are compared as they arrive */
struct twin_input {
    const struct decoded_program *program;      /* NULL: the core has no part in it */
    const struct kernel_log *log;               /* must stay until the next prepare */
    const struct origins *origins;
};
void twins_prepare(struct twins *t, const struct twin_input *core);

void twins_begin(struct twins *t);              /* a repeated launch */
void twins_end(struct twins *t, bool is_broken);

enum twin_way {
    TWIN_RUNS,                          /* the core works the kernel out */
    TWIN_LEADS,                         /* and says so with twins_done at its last answer */
    TWIN_TAKES,                         /* its results are there: the kernel is to be left out */
    TWIN_WAITS                          /* for the leader: to ask again after twins_wait */
};
struct twin_run {
    struct kernel_run run;
    const struct kernel_effect *effect;
};
/* `c` is in front of a kernel that its list says stands alone; of it, where it leads or takes */
enum twin_way twins_enter(struct twins *t, const struct core *c, struct twin_run *out);
int twins_done(struct twins *t, const struct core *c);
/* a core that leads, or did, stops for a copy that another one has not issued yet; it goes on */
int twins_stop(struct twins *t, int core);
void twins_go_on(struct twins *t, int core);
/* false: it need not wait any more; else it is somebody's list's from here on */
bool twins_wait(struct twins *t, int core);
int twins_next_waiter(const struct twins *t, int core);

/* kernels left out in launches that were not broken */
int64_t twins_count(const struct twins *t);
#endif
