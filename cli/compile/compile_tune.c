/* `systole compile --tune` times each kernel by itself with each of its tilings, in timing mode. */
#include "cli/compile/compile.h"

#include "base/progress.h"
#include "stack/kernels/registry.h"

#define TILINGS_MAX 12                  /* tried of a kernel: the first by its cost model */

static void tune_kernel(const struct kernel_job *job, const struct slice *slice,
                        struct tuning *t)
{
    const struct kernel_kind *kind = kernel_kind_of(job->body);
    struct tiling list[TILINGS_MAX];
    int count = kind ? kind->tilings(job, list, TILINGS_MAX) : 0;

    for (int i = 0; count > 1 && i < count; i++) {
        int64_t cycles = compile_time_kernel(job, &list[i], slice);

        if (cycles >= 0)
            tuning_add(t, job, &list[i], cycles);
    }
}

void compile_tune(const struct module *m, const struct slice *slice, struct tuning *t)
{
    struct progress p;

    progress_begin(&p, m->kernel_count);
    for (int i = 0; i < m->kernel_count; i++) {
        struct kernel_job job = m->kernel[i].job;

        progress_fraction(&p, "trying tilings", (double)i / (double)m->kernel_count);
        if (tuning_find(t, &job))
            continue;
        job.tiling = NULL;
        tune_kernel(&job, slice, t);
    }
    progress_wipe(&p);
}
