/* Pieces of a kernel, one behind the other. */
#include "stack/kernels/move/move_pieces.h"

#define STEP_SREGS 16                   /* that a pipeline leaves to its step */
#define STEP_CYCLES 50                  /* of the pipeline's own code */

int64_t move_piece_cycles(const struct move_pieces *w)
{
    struct move_step s = {.box = w->box, .is_counted = true};
    int64_t copies, exposed, steps;

    w->step(&s, w->user);
    if (s.is_refused)
        return INT64_MAX;
    copies = pipeline_copy_cycles(&w->box->pipeline, &exposed);
    steps = ((int64_t)s.cycles + STEP_CYCLES) * pipeline_total_steps(&w->box->pipeline);
    return (steps > copies ? steps : copies) + exposed;
}

int64_t move_pieces_cycles(const struct move_pieces *w)
{
    int64_t sum = 0;

    for (int i = 0; i < w->count; i++) {
        int64_t cycles = w->plan(w->user, i);

        if (cycles == INT64_MAX)
            return INT64_MAX;
        sum += cycles;
    }
    return sum;
}

static int emit_piece(const struct kernel_job *job, const struct move_pieces *w, int piece,
                      struct vcode *code, struct arena *a, struct err *e)
{
    struct move_step s = {.box = w->box};
    struct pipeline *f = &w->box->pipeline;

    w->plan(w->user, piece);
    pipeline_share(f, job->core);
    if (f->is_idle)
        return 0;
    vcode_begin_block(code);
    if (pipeline_begin(f, code, a, e))
        return -1;
    builder_init(&s.m, code, job->chip);
    s.m.sreg_end = STEP_SREGS;
    w->step(&s, w->user);
    pipeline_end(f, code);
    return 0;
}

int move_pieces_emit(const struct kernel_job *job, const struct move_pieces *w, struct arena *a,
                     struct segment *out, struct err *e)
{
    int64_t spill_row = job->vmem_row;
    struct vcode code;
    int status = 0;

    vcode_init(&code, a);
    code.note = job->name;
    for (int i = 0; i < w->count && !status; i++) {
        struct pipeline *f = &w->box->pipeline;

        status = emit_piece(job, w, i, &code, a, e);
        if (!status && f->state && pipeline_spill_row(f) > spill_row)
            spill_row = pipeline_spill_row(f);
    }
    if (!status)
        status = kernel_finish(job, &code, spill_row, MOVE_SPILL_TILES, a, out, e);
    vcode_fini(&code);
    return status;
}
