/* The last step of every kernel: its code becomes a segment, and is printed if asked for. */
#include "stack/kernels/pipeline/kernel.h"

int kernel_finish(const struct kernel_job *job, const struct vcode *c, int64_t spill_row,
                  int64_t spill_tiles, struct arena *a, struct segment *out, struct err *e)
{
    struct vcode code = *c;

    code.memo = job->memo;
    if (vcode_compile_segment(&code, job->chip, spill_row, spill_tiles, a, &out->program,
                              &out->stats, e))
        return -1;
    if (job->llo)
        vcode_print(c, job->llo);
    return 0;
}

void kernel_print_bundles(const struct kernel_job *job, const struct isa_program *p)
{
    struct arena a;
    struct vcode c;

    if (!job->llo)
        return;
    arena_init(&a);
    vcode_init(&c, &a);
    vcode_bundles(&c, p);
    vcode_print(&c, job->llo);
    vcode_fini(&c);
    arena_fini(&a);
}
