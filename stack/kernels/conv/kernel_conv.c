/*
 * The kernel of convolutions: the steps of its grid, each copies, preparation,
 * passes, epilogue. docs/conv.md tells the whole.
 */
#include <string.h>

#include "stack/kernels/conv/conv_body.h"
#include "stack/kernels/conv/conv_emit.h"

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    struct conv_body b;
    struct conv_shape s;
    const struct graph_node *n;

    (void)chip;
    if (conv_body_of(body, &b, e))
        return -1;
    n = &body->node[b.conv];
    return conv_shape_of(n, &body->node[n->operand[0]].shape, &body->node[n->operand[1]].shape,
                         &s, e) ||
                   conv_check_made_shape(&s, &b, e) ? -1 : 0;
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    struct conv_plan *p = mem_alloc(sizeof(*p));
    struct err e;
    bool is_possible = conv_check_job(job, &e) == 0;    /* else emit says why not */
    int failed = is_possible && conv_plan_make(p, job, t, &e);

    memset(out, 0, sizeof(*out));
    if (is_possible && !failed) {
        conv_plan_cost(p, out);
        out->flops = graph_flops(job->body);
    }
    mem_free(p);
    return failed;
}

/* ----- indices of the grid */

static void advance(struct conv_gen *g, bool is_fetch)
{
    const struct conv_plan *p = g->p;
    int done = conv_label(g);

    for (int i = GRID_DIMS - 1; i >= 0; i--) {
        int grid = p->order[i];
        int64_t at = conv_index_word(g, is_fetch, grid);
        struct conv_value index;

        if (p->count[grid] == 1)
            continue;
        conv_begin(g, NULL);
        index = conv_add(g, conv_load_word(g, at), conv_known(1));
        bundler_add(&g->b, isa_scmp_eq(P_TEMP, conv_operand(index), I(p->count[grid])));
        bundler_add(&g->b, isa_if(P_TEMP, isa_smov((conv_operand(index)).value, I(0))));
        conv_store_word(g, at, index);
        conv_end_branch(g, done, P_TEMP, true);
    }
    conv_here(g, done);
}

/* word -= 1; whether it is still above 0 */
static void count_down(struct conv_gen *g, int word, int pred)
{
    struct conv_value left = conv_sub(g, conv_load_word(g, conv_word(g, word)), conv_known(1));

    conv_store_word(g, conv_word(g, word), left);
    bundler_add(&g->b, isa_scmp_gt(pred, conv_operand(left), I(0)));
}

static void fetch_step(struct conv_gen *g)
{
    for (int i = 0; i < WINDOW_COUNT; i++)
        if (g->p->is_used[i] && (i < WINDOW_OUT || i >= WINDOW_EXTRA))
            conv_fetch(g, i);
    advance(g, true);
}

static void begin(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    int64_t steps = 1;

    conv_begin(g, "start");
    for (int i = 0; i < GRID_DIMS; i++) {
        steps *= p->count[i];
        conv_store_word(g, conv_index_word(g, true, i), conv_known(0));
        conv_store_word(g, conv_index_word(g, false, i), conv_known(0));
    }
    conv_store_word(g, conv_word(g, CONV_STEPS_LEFT), conv_known(steps));
    conv_store_word(g, conv_word(g, CONV_FETCHES_LEFT), conv_known(steps));
    for (int i = 0; i < WINDOW_COUNT; i++) {
        if (!p->is_used[i])
            continue;
        conv_store_word(g, p->window[i].smem + 4 * WORD_FETCH_BUFFER, conv_known(0));
        conv_store_word(g, p->window[i].smem + 4 * WORD_BUFFER, conv_known(1));
        conv_store_word(g, p->window[i].smem + 4 * WORD_GRANULES, conv_known(0));
        conv_store_word(g, p->window[i].smem + 4 * WORD_GRANULES_2, conv_known(0));
    }
    conv_end(g);
    conv_clear_borders(g);
    if (p->shape.is_pixels)
        conv_clear_lines(g);
    fetch_step(g);
}

/* the copies for the next step, if there is one */
static void fetch_next(struct conv_gen *g)
{
    int skip = conv_label(g);

    conv_begin(g, "next step");
    count_down(g, CONV_FETCHES_LEFT, P_TEMP);
    conv_end_branch(g, skip, P_TEMP, true);
    fetch_step(g);
    conv_here(g, skip);
}

static int take_inputs(struct conv_gen *g, struct err *e)
{
    const struct conv_plan *p = g->p;
    int same_lhs = conv_label(g), same_rhs = conv_label(g);

    conv_take(g, WINDOW_LHS, same_lhs);
    if (p->is_made[CONV_LHS] && conv_make(g, CONV_LHS, e))
        return -1;
    if (p->shape.mode == CONV_TRANSPOSED)
        conv_transpose_rows(g);
    if (conv_has_lines(p))
        conv_prepare_lines(g);
    conv_here(g, same_lhs);
    conv_take(g, WINDOW_RHS, same_rhs);
    if (p->is_made[CONV_RHS] && conv_make(g, CONV_RHS, e))
        return -1;
    if (!p->is_vector)
        conv_prepare_weights(g);
    conv_here(g, same_rhs);
    for (int i = WINDOW_EXTRA; i < WINDOW_MAKER; i++)
        if (p->is_used[i]) {
            int same = conv_label(g);

            conv_take(g, i, same);
            conv_here(g, same);
        }
    return 0;
}

/* branches to `label` unless this is the last step of its sums */
static void skip_unless_last(struct conv_gen *g, int label)
{
    for (int grid = 0; grid < GRID_DIMS; grid++) {
        struct conv_value index;

        if (!(GRID_K_MASK >> grid & 1) || g->p->count[grid] == 1)
            continue;
        conv_begin(g, NULL);
        index = conv_load_word(g, conv_index_word(g, false, grid));
        bundler_add(&g->b, isa_scmp_eq(P_TEMP, conv_operand(index), I(g->p->count[grid] - 1)));
        conv_end_branch(g, label, P_TEMP, true);
    }
}

static int finish_block(struct conv_gen *g, struct err *e)
{
    const struct conv_plan *p = g->p;
    int later = conv_label(g);

    skip_unless_last(g, later);
    for (int i = 0; i < p->out_count; i++)
        if (conv_is_block(p, i))
            conv_room(g, WINDOW_OUT + i);
    if (conv_epilogue(g, e))
        return -1;
    for (int i = 0; i < p->out_count; i++)
        if (conv_is_block(p, i))
            conv_send(g, WINDOW_OUT + i);
    conv_here(g, later);
    return 0;
}

static int step(struct conv_gen *g, struct err *e)
{
    int again = conv_label(g);

    conv_here(g, again);
    fetch_next(g);
    if (take_inputs(g, e))
        return -1;
    if (!g->p->is_vector)
        conv_passes(g);
    if (finish_block(g, e))
        return -1;
    advance(g, false);
    conv_begin(g, NULL);
    count_down(g, CONV_STEPS_LEFT, P_TEMP);
    conv_end_branch(g, again, P_TEMP, false);
    if (conv_finish_totals(g, e))
        return -1;
    for (int i = 0; i < g->p->out_count; i++)
        if (g->p->is_of_features[i])
            conv_send(g, WINDOW_OUT + i);
    for (int i = 0; i < g->p->out_count; i++)
        conv_wait_sent(g, WINDOW_OUT + i);
    return 0;
}

static int generate(struct conv_gen *g, struct segment *out, struct err *e)
{
    const struct kernel_job *job = g->p->job;
    int failed;

    bundler_init(&g->b, g->chip);
    if (!g->p->is_vector)
        conv_passes_init(g);
    begin(g);
    failed = conv_clear_totals(g, e) || step(g, e);
    if (!failed) {
        bundler_finish(&g->b, job->name, g->a, &out->program);
        failed = isa_check(&out->program, &g->b.limits, e);
        if (!failed)
            kernel_print_bundles(job, &out->program);
        out->stats = g->stats;
        out->stats.bundle_count = out->program.bundle_count;
        out->stats.op_count = out->program.op_count;
    }
    bundler_fini(&g->b);
    return failed;
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    struct conv_plan *p = arena_alloc(a, sizeof(*p));
    struct conv_body *b = arena_alloc(a, sizeof(*b));
    struct conv_gen g = {.p = p, .body = b, .chip = job->chip, .a = a};

    if (conv_check_job(job, e) || conv_plan_make(p, job, t, e) || conv_body_of(job->body, b, e))
        return -1;
    if (4 * (p->smem_words + CONV_WORDS) > job->smem_bytes)
        return err_set(e, "needs %lld bytes of SMEM, has %lld",
                       (long long)(4 * (p->smem_words + CONV_WORDS)), (long long)job->smem_bytes);
    return generate(&g, out, e);
}

const struct kernel_kind kernel_conv = {
    .name = "conv", .category = "convolution fusion",
    .check_supported = check_supported, .tilings = conv_tilings,
    .cost = cost, .emit = emit, .is_for_one_core = true,
    .takes_cmem = true};
