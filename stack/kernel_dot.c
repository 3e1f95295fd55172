/*
 * The kernel kind "dot": products, with what is computed of their results.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernel_dot_epilogue.h"
#include "stack/kernel_dot_grid.h"

/* of a tiling that tells blocks only, the width and order that cost least */
static struct tiling completed(const struct dot_problem *p, const struct kernel_job *job,
                               const struct tiling *t)
{
    struct tiling best = *t;
    int64_t least = INT64_MAX;

    if (t->count > DOT_WIDTH)
        return best;
    for (int by_rows = 0; by_rows < 2; by_rows++)
        for (int width = 1; width <= DOT_WIDTH_MAX; width++) {
            struct tiling one = {.count = DOT_SIZES, .size = {t->size[DOT_BM], t->size[DOT_BK],
                                                               t->size[DOT_BN], width, by_rows}};
            struct kernel_cost cost;
            struct dot_grid g;
            struct err e;

            if (dot_grid_make(&g, p, job, &one, &e))
                continue;
            dot_grid_cost(&g, &cost);
            if (cost.compute_cycles < least) {
                least = cost.compute_cycles;
                best = one;
            }
        }
    return best;
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    struct dot_problem p;
    struct dot_grid g;
    struct tiling whole;
    struct err e;

    if (dot_problem_read(&p, job, &e))
        return -1;
    whole = completed(&p, job, t);
    if (dot_grid_make(&g, &p, job, &whole, &e))
        return -1;
    dot_grid_cost(&g, out);
    return 0;
}

static struct dot_box box_at(const struct dot_grid *g, int window, int depth_dim)
{
    return (struct dot_box){.base = frame_base(&g->frame, window),
                            .row = frame_row(&g->frame, window),
                            .depth_step = frame_stride(&g->frame, window, depth_dim),
                            .side_step = frame_stride(&g->frame, window, !depth_dim)};
}

static int put_step(struct dot_grid *g, struct vcode *c, struct arena *a, struct err *e)
{
    struct isa_program *code = arena_alloc(a, sizeof(*code));
    struct dot_epilogue epilogue;
    int is_last = -1;

    if (g->frame.count[g->dim[DIM_K]] > 1) {
        g->step.first_step = frame_is_first(&g->frame, 1u << g->dim[DIM_K]);
        is_last = frame_is_last(&g->frame, 1u << g->dim[DIM_K]);
        vcode_begin_block(c);
    }
    g->step.lhs = box_at(g, g->lhs_window, 0);
    g->step.rhs = box_at(g, g->rhs_window, g->p->is_rhs_transposed ? 0 : 1);
    g->step.sum_row = frame_scratch_row(&g->frame);
    if (dot_epilogue_make(&epilogue, g, a, e))
        return -1;
    g->step.epilogue = &epilogue;
    if (dot_step_code(&g->step, is_last, a, code, e))
        return -1;
    vcode_bundles(c, code);
    return 0;
}

static int compile(struct dot_grid *g, const struct kernel_job *job, struct arena *a,
                   struct segment *out, struct err *e)
{
    struct vcode c;
    int status;

    vcode_init(&c, a);
    c.note = job->name;
    status = frame_begin(&g->frame, &c, a, e) || put_step(g, &c, a, e) ? -1 : 0;
    if (status == 0) {
        frame_end(&g->frame, &c);
        status = vcode_compile_segment(&c, job->chip, frame_spill_row(&g->frame), 0, a,
                                       &out->program, &out->stats, e);
    }
    vcode_fini(&c);
    return status;
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    struct dot_problem p;
    struct dot_grid g;
    struct tiling whole;

    if (dot_problem_read(&p, job, e))
        return -1;
    whole = completed(&p, job, t);
    if (dot_grid_make(&g, &p, job, &whole, e))
        return -1;
    out->tiling = whole;
    return compile(&g, job, a, out, e);
}

static int takes(const struct graph *body, const struct chip *chip, struct err *e)
{
    return dot_body_check(body, chip, e);
}

const struct kernel_kind kernel_dot = {
    .name = "dot", .category = "convolution fusion", .takes = takes, .tilings = dot_tilings,
    .cost = cost, .emit = emit};
