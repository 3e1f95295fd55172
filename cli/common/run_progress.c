/* Shows how far a launch is that takes long. */
#include "cli/common/run_progress.h"

#include "stack/module/module.h"

#define SHARE_MAX 0.99                  /* predictions err: it is over when it is over */

static void tell(void *context, cycle_t now)
{
    struct run_progress *r = context;
    double share = r->expected_cycles > 0 ? (double)now / r->expected_cycles : 0;

    if (r->expected_cycles > 0)
        progress_fraction(&r->progress, r->what, share < SHARE_MAX ? share : SHARE_MAX);
    else
        progress_say(&r->progress, "cycle", now);
}

void run_progress_begin(struct run_progress *r, struct machine *m, const char *what,
                        double expected_cycles)
{
    *r = (struct run_progress){.machine = m, .what = what, .expected_cycles = expected_cycles};
    progress_begin(&r->progress, 0);
    machine_set_progress(m, tell, r);
}

double run_progress_expected(const struct module *m)
{
    double sum = 0;

    for (int i = 0; i < m->kernel_count; i++)
        sum += (double)(m->kernel[i].segment->cost.total_cycles * m->kernel[i].times);
    return sum;
}

void run_progress_end(struct run_progress *r)
{
    machine_set_progress(r->machine, NULL, NULL);
    progress_wipe(&r->progress);
}
