/* The kernel of products, with what is computed of their results. */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_inside.h"
#include "stack/kernels/dot/kernel_dot_epilogue.h"
#include "stack/kernels/dot/kernel_dot_prepare.h"
#include "stack/kernels/pipeline/vector_rows.h"

#define TILE_ROWS 8                     /* of VMEM */
#define SPILL_TILES 64
#define PIPELINE_SREGS 0xffff0000u

/* of a tiling that tells blocks only, the width and order that cost least */
static struct tiling completed(const struct dot_problem *p, const struct kernel_job *job,
                               const struct tiling *t)
{
    struct tiling best = *t;
    int64_t least = INT64_MAX;

    if (t->count > DOT_WIDTH)
        return best;
    for (int share = SHARE_COLUMNS; share <= SHARE_ROWS; share++)
        for (int width = 1; width <= DOT_WIDTH_MAX; width++) {
            struct tiling one = {.count = DOT_SIZES, .size = {t->size[DOT_BM], t->size[DOT_BK],
                                                              t->size[DOT_BN], width, share,
                                                              0, 1}};
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
    struct dot_fused_loops s;
    struct dot_grid g;
    struct err e;
    int status = -1;

    for (int choice = 0; choice < CHOICE_COUNT && status; choice++) {
        status = dot_open(&s, job, (enum dot_choice)choice, &e);
        if (status == 0) {
            struct tiling whole = completed(&s.problem, job, t);

            status = dot_grid_make(&g, &s.problem, job, &whole, &e);
        }
        if (status == 0)
            dot_grid_cost(&g, out);
        dot_close(&s);
    }
    return status;
}

static struct dot_box box_at(const struct dot_grid *g, bool is_rhs, int depth_dim)
{
    const struct dot_block *b = is_rhs ? &g->rhs_block : &g->lhs_block;
    int window = is_rhs ? g->rhs_window : g->lhs_window;

    if (b->fused)
        return (struct dot_box){.base = -1, .row = pipeline_scratch_row(&g->pipeline) + b->row,
                                .depth_step = TILE_ROWS * (depth_dim ? b->lanes : 1),
                                .side_step = TILE_ROWS * (depth_dim ? 1 : b->lanes)};
    return (struct dot_box){.base = pipeline_base(&g->pipeline, window),
                            .row = pipeline_row(&g->pipeline, window),
                            .depth_step = pipeline_stride(&g->pipeline, window, depth_dim),
                            .side_step = pipeline_stride(&g->pipeline, window, !depth_dim)};
}

/*
 * `p` as bundles that do it where predicate `pred` is true: a branch to the end
 * stands before it.
 */
static struct isa_program *guarded(const struct isa_program *p, int pred, const struct chip *chip,
                                   struct arena *a)
{
    uint32_t delay = (uint32_t)chip->core_branch_delay_bundles, before = 1 + delay;
    struct isa_program *out = arena_alloc(a, sizeof(*out));

    *out = (struct isa_program){.name = p->name, .op_count = p->op_count + 1,
                                .bundle_count = before + p->bundle_count + 1};
    out->op = arena_array(a, out->op_count, sizeof(*out->op));
    out->bundle = arena_array(a, out->bundle_count, sizeof(*out->bundle));
    out->op[0] = isa_unless(pred, isa_sbr((int)(before + p->bundle_count)));
    out->bundle[0].op_count = 1;
    for (uint32_t i = 0; i < p->op_count; i++) {
        out->op[i + 1] = p->op[i];
        if (p->op[i].code == OP_SBR)
            out->op[i + 1].operand[0].value += (int32_t)before;
    }
    for (uint32_t i = 1; i < before; i++)
        out->bundle[i].first_op = 1;
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        out->bundle[before + i] = p->bundle[i];
        out->bundle[before + i].first_op++;
        out->bundle[before + i].note = 0;
    }
    out->bundle[before + p->bundle_count].first_op = out->op_count;
    return out;
}

/* a fused loop, where predicate `pred` is true; -1: always */
static int put_fused(struct dot_grid *g, struct dot_block *b, int pred, struct vcode *c,
                     struct arena *a, struct err *e)
{
    struct isa_program *code = arena_alloc(a, sizeof(*code));
    struct loop_plan *p = b->fused ? &b->fused->plan : NULL;
    struct vcode_stats stats;
    struct vcode alone;
    int status;

    if (!p)
        return 0;
    p->pipeline = g->pipeline;
    p->sink = NULL;
    p->array[b->fused->own].own_row = b == &g->result_block
                                          ? g->step.sum_row
                                          : pipeline_scratch_row(&g->pipeline) + b->row;
    for (int i = 0; i < p->array_count; i++)
        if (p->array[i].window >= 0)
            p->array[i].window += b->first_window;
    if (b == &g->rhs_block && g->is_inside) {
        p->sink = dot_inside_sink(g, a);
        if (!loop_has_scalars_together(p)) {
            p->sink = NULL;
            g->is_inside = false;
        }
    }
    vcode_init(&alone, a);
    alone.note = c->note;
    alone.memo = c->memo;
    alone.kept_sregs = PIPELINE_SREGS;
    status = loop_emit_step(p, &alone, e)
             || vcode_compile_segment(&alone, g->step.chip, pipeline_spill_row(&g->pipeline),
                                      SPILL_TILES, a, code, &stats, e) ? -1 : 0;
    vcode_fini(&alone);
    if (status == 0)
        vcode_bundles(c, pred < 0 ? code : guarded(code, pred, g->step.chip, a));
    return status;
}

/* an operand's copy into the form that passes take, wherever its window is new */
static int prepare(struct dot_grid *g, bool is_rhs, int is_new, int64_t to_row, struct vcode *c,
                   struct arena *a, struct dot_box *box, struct err *e)
{
    struct isa_program *code = arena_alloc(a, sizeof(*code));
    struct vcode_stats stats;
    struct vcode alone;
    int status;

    if (!dot_prepares(g, is_rhs))
        return 0;
    vcode_init(&alone, a);
    alone.memo = c->memo;
    alone.kept_sregs = PIPELINE_SREGS;
    status = dot_prepare(g, is_rhs, to_row, &alone, box)
             || vcode_compile_segment(&alone, g->step.chip, 0, 0, a, code, &stats, e) ? -1 : 0;
    vcode_fini(&alone);
    if (status == 0)
        vcode_bundles(c, is_new < 0 ? code : guarded(code, is_new, g->step.chip, a));
    return status;
}

/* zeros behind the end of the contraction, in its last step */
static int put_tail(struct dot_grid *g, bool is_rhs, struct vcode *c, struct arena *a, struct err *e)
{
    struct isa_program *code = arena_alloc(a, sizeof(*code));
    struct vcode_stats stats;
    struct vcode alone;
    int status;

    if (!dot_masks_tail(g, is_rhs))
        return 0;
    vcode_init(&alone, a);
    alone.memo = c->memo;
    alone.kept_sregs = PIPELINE_SREGS;
    dot_mask_tail(g, is_rhs, &alone);
    status = vcode_compile_segment(&alone, g->step.chip, 0, 0, a, code, &stats, e);
    vcode_fini(&alone);
    if (status == 0)
        vcode_bundles(c, guarded(code, g->is_tail, g->step.chip, a));
    return status;
}

/* predicate: the box of a window is new in this step; -1: it always is */
static int is_new(struct dot_grid *g, bool is_rhs)
{
    const struct dot_block *b = is_rhs ? &g->rhs_block : &g->lhs_block;
    uint32_t inside = dot_grid_inside(g, is_rhs);

    return (b->fused || dot_prepares(g, is_rhs)) && inside
               ? pipeline_is_first(&g->pipeline, inside) : -1;
}

/* how operands go on from column to column and from unit to unit */
static void set_strides(struct dot_grid *g)
{
    const struct dot_problem *p = g->p;
    struct dot_step *s = &g->step;
    int64_t at_once = g->share == SHARE_BATCHES ? s->units : 1;
    int64_t lhs = dot_batch_stride(g, g->lhs_window, &p->lhs);
    int64_t rhs = dot_batch_stride(g, g->rhs_window, &p->rhs);

    if (dot_prepares(g, false) && g->batches > 1)
        lhs = lhs ? dot_prepared_rows(g, false) / g->batches : 0;
    s->lhs_column_step = at_once * lhs;
    s->rhs_column_step = at_once * rhs;
    if (g->batches == 1)
        s->rhs_column_step = s->width * s->rhs.side_step
                             * (p->is_rhs_transposed ? ARRAY_LANES / matrix_rows(s->rhs_type) : 1);
    s->rhs_unit_step = g->share == SHARE_BATCHES ? rhs : 0;
    s->lhs_unit_step = g->share == SHARE_BATCHES
                           ? lhs
                           : s->rounds * (s->group_rows / matrix_rows(s->lhs_type))
                                 * s->lhs.side_step;
}

/* all that a step's code depends on */
static struct memo_key key_of(const struct dot_step *s, int is_last)
{
    static const char kind[] = "step";
    struct memo_key k = {0};
    struct dot_step step;

    memcpy(&step, s, sizeof(step));     /* padding and all */
    step.epilogue = NULL;
    memo_key_add(&k, kind, sizeof(kind));
    memo_key_add(&k, &is_last, sizeof(is_last));
    memo_key_add(&k, &step, sizeof(step));
    if (s->epilogue) {
        struct dot_epilogue x;
        size_t count = (size_t)s->epilogue->op_count;

        memcpy(&x, s->epilogue, sizeof(x));
        x.op = NULL;
        x.is_edge = x.is_late = NULL;
        memo_key_add(&k, &x, sizeof(x));
        memo_key_add(&k, s->epilogue->op, count * sizeof(*s->epilogue->op));
        memo_key_add(&k, s->epilogue->is_edge, count * sizeof(*s->epilogue->is_edge));
        if (s->epilogue->is_late)
            memo_key_add(&k, s->epilogue->is_late, count * sizeof(*s->epilogue->is_late));
    }
    return k;
}

/* dot_step_code, once for all equal steps */
static int step_code(const struct dot_step *s, int is_last, struct memo *memo, struct arena *a,
                     struct isa_program *code, struct err *e)
{
    struct isa_program *known;
    struct memo_key k;
    int status = 0;

    if (!memo)
        return dot_step_code(s, is_last, a, code, e);
    k = key_of(s, is_last);
    known = memo_find(memo, &k);
    if (!known) {
        known = arena_alloc(&memo->arena, sizeof(*known));
        status = dot_step_code(s, is_last, &memo->arena, known, e);
        if (status == 0)
            memo_keep(memo, &k, known);
    }
    memo_key_fini(&k);
    *code = *known;
    return status;
}

static void unpack_columns(const struct dot_grid *g, struct vcode *c)
{
    for (int i = 0; i < g->p->extra_count; i++)
        if (g->columns_row[i] >= 0)
            vector_rows_unpack(g->p->extra[i].matrix.array,
                               pipeline_row(&g->pipeline, g->window[i]), dot_columns_row(g, i), c);
}

static int put_step(struct dot_grid *g, struct vcode *c, struct arena *a, struct err *e)
{
    struct isa_program *code = arena_alloc(a, sizeof(*code));
    struct dot_epilogue epilogue;
    int64_t lhs_row;
    int is_last = -1, lhs_is_new, rhs_is_new;

    if (g->contraction) {
        g->step.first_step = pipeline_is_first(&g->pipeline, g->contraction);
        is_last = pipeline_is_last(&g->pipeline, g->contraction);
    }
    if (dot_masks_tail(g, false))
        g->is_tail = pipeline_is_last(&g->pipeline, 1u << g->dim[DIM_K]);
    lhs_is_new = is_new(g, false);
    rhs_is_new = is_new(g, true);
    if (g->step.parts.count)
        g->step.parts.is_first = pipeline_is_first(&g->pipeline, (1u << g->pipeline.dims) - 1);
    vcode_begin_block(c);
    g->step.lhs = box_at(g, false, 0);
    g->step.rhs = box_at(g, true, g->p->is_rhs_transposed ? 0 : 1);
    g->step.sum_row = pipeline_scratch_row(&g->pipeline);
    lhs_row = g->step.sum_row + g->sum_rows;
    dot_set_transpose(g, lhs_is_new);
    if (put_fused(g, &g->lhs_block, lhs_is_new, c, a, e)
        || put_fused(g, &g->rhs_block, rhs_is_new, c, a, e)
        || put_tail(g, false, c, a, e) || put_tail(g, true, c, a, e)
        || prepare(g, false, lhs_is_new, lhs_row, c, a, &g->step.lhs, e)
        || prepare(g, true, rhs_is_new, lhs_row + dot_prepared_rows(g, false), c, a,
                   &g->step.rhs, e))
        return -1;
    if (g->is_inside)
        return 0;
    if (!g->result_block.fused)
        unpack_columns(g, c);
    set_strides(g);
    if (!g->result_block.fused && dot_epilogue_make(&epilogue, g, a, e))
        return -1;
    g->step.epilogue = g->result_block.fused ? NULL : &epilogue;
    if (step_code(&g->step, g->result_block.fused ? -1 : is_last, c->memo, a, code, e))
        return -1;
    vcode_bundles(c, code);
    return put_fused(g, &g->result_block, is_last, c, a, e);
}

/* operands whose first boxes come in parts, and the first ones on their way */
static void start_parts(struct dot_grid *g, struct vcode *c, struct arena *a)
{
    const int window[] = {g->lhs_window, g->rhs_window};
    const struct chip *chip = g->step.chip;
    struct dot_parts *p = &g->step.parts;
    struct isa_program *code = arena_alloc(a, sizeof(*code));
    int64_t granules = 0;

    *p = (struct dot_parts){.flag = pipeline_part_flag(&g->pipeline)};
    for (int i = 0; i < 2; i++)
        if (window[i] >= 0 && g->pipeline.window[window[i]].parts) {
            p->count = g->pipeline.window[window[i]].parts;
            pipeline_part(&g->pipeline, window[i], &p->operand[p->operands]);
            granules += p->operand[p->operands++].granules;
        }
    if (p->count == 0)
        return;
    p->pace_cycles = granules * ARRAY_GRANULE_BYTES * chip->chip_clock_mhz
                     / ((int64_t)chip->dma_core_gbps * 1000);
    p->under_way = (int)(2 + chip->dma_read_ns * chip->chip_clock_mhz / 1000
                                 / (p->pace_cycles + 1));
    if (p->under_way > p->count)
        p->under_way = p->count;
    vcode_begin_block(c);
    dot_first_parts(p, chip, a, code);
    vcode_bundles(c, code);
}

static int compile(struct dot_grid *g, const struct kernel_job *job, struct arena *a,
                   struct segment *out, struct err *e)
{
    struct vcode c;
    int status;

    vcode_init(&c, a);
    c.note = job->name;
    c.memo = job->memo;
    start_parts(g, &c, a);
    status = pipeline_begin(&g->pipeline, &c, a, e) || put_step(g, &c, a, e) ? -1 : 0;
    if (status == 0) {
        pipeline_finish(&g->pipeline, &c);
        if (g->result_block.fused)
            loop_emit_last(&g->result_block.fused->plan, &c);
        pipeline_end(&g->pipeline, &c);
        status = kernel_finish(job, &c, pipeline_spill_row(&g->pipeline), 0, a, out, e);
    }
    vcode_fini(&c);
    return status;
}

/* fewer results at a time leave more registers to what is computed of them; false: none are */
static bool narrow(struct tiling *t)
{
    int64_t tiles = t->size[DOT_BN] / ARRAY_LANES, width = t->size[DOT_WIDTH];

    if (width == 1)
        return false;
    do
        width--;
    while (tiles % width);
    t->size[DOT_WIDTH] = width;
    t->size[DOT_SHARE] = SHARE_COLUMNS;
    if (t->size[DOT_BATCHES] > 1)       /* of which each has one column */
        t->size[DOT_BN] = width * ARRAY_LANES;
    return true;
}

static int emit_with(struct dot_fused_loops *s, const struct kernel_job *job,
                     const struct tiling *t, struct arena *a, struct segment *out, struct err *e)
{
    struct tiling whole = completed(&s->problem, job, t);
    struct dot_grid g;
    struct err ignored;

    if (dot_grid_make(&g, &s->problem, job, &whole, e))
        return -1;
    while (compile(&g, job, a, out, e)) {
        /* whose registers may be what lacks */
        bool had_transposes = g.step.transpose.passes_before || g.step.transpose.span_columns;

        if ((!had_transposes && !narrow(&whole))
            || dot_grid_make(&g, &s->problem, job, &whole, &ignored))
            return -1;
        g.transposes_first = had_transposes;
    }
    out->tiling = whole;
    return 0;
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    struct dot_fused_loops s;
    struct err ignored;
    int status = -1;

    for (int choice = 0; choice < CHOICE_COUNT && status; choice++) {   /* registers may lack */
        status = dot_open(&s, job, (enum dot_choice)choice, choice ? &ignored : e)
                 || emit_with(&s, job, t, a, out, choice ? &ignored : e) ? -1 : 0;
        dot_close(&s);
    }
    return status;
}

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    return dot_fused_check(body, chip, e);
}

const struct kernel_kind kernel_dot = {
    .name = "dot", .category = "convolution fusion",
    .check_supported = check_supported, .tilings = dot_tilings,
    .cost = cost, .emit = emit, .takes_cmem = true};
