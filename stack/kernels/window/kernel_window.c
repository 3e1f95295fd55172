/*
 * Windows: reduce-window and select-and-scatter. The general way goes through
 * the result run by run, as moves do, and for each run through the window.
 */
#include "stack/kernels/window/kernel_window.h"

#include <string.h>

#include "base/units.h"
#include "stack/kernels/move/move_tiles.h"
#include "stack/kernels/window/window_combine.h"

static const struct isa_operand zero = {.kind = OPERAND_IMM};
static const struct isa_operand one = {.kind = OPERAND_IMM, .value = 1};

struct window {
    const struct graph_node *node;
    const struct shape *from;           /* what the window runs over */
    const struct shape *places;         /* of select-and-scatter, where it stands */
    int64_t taps;
    struct move_gather_array selected;  /* s32 tap that each place has chosen, in VMEM */
    bool is_second;                     /* of select-and-scatter: adding up */
    int sum, best, chosen;              /* pinned registers */
};

static void window_init(struct window *w, const struct graph *body)
{
    *w = (struct window){.node = &body->node[body->output[0].node], .taps = 1};
    w->from = &body->node[w->node->operand[0]].shape;
    if (w->node->op == HLO_SELECT_AND_SCATTER)
        w->places = &body->node[w->node->operand[1]].shape;
    for (int d = 0; d < w->from->rank; d++)
        w->taps *= w->node->window[d].size;
}

/* runs along the lanes stay runs in the operand: its lane dimension knows no window */
static bool keeps_runs(const struct window *w, int dim)
{
    const struct graph_window *x = dim < 0 ? NULL : &w->node->window[dim];

    return x && x->size == 1 && x->stride == 1 && !x->pad_low && !x->pad_high &&
           x->base_dilation == 1;
}

/* index under the tap, dimension by dimension; 1 or 0: an element or padding */
static struct isa_operand under_tap(struct move_tiles *t, const struct window *w,
                                    struct move_gather_place *p, struct isa_operand tap)
{
    struct builder *m = &t->g.m;
    struct isa_operand valid = move_gather_reserve(&t->g, p), rest = move_gather_reserve(&t->g, p);

    builder_set(m, valid, one);
    builder_set(m, rest, tap);
    for (int d = w->from->rank - 1; d >= 0; d--) {
        const struct graph_window *x = &w->node->window[d];
        const struct shape *places = w->is_second ? w->places : w->from;
        struct isa_operand k = zero, is_inside;

        if (x->size > 1) {
            struct isa_operand next = builder_div(m, rest, x->size);

            k = builder_reg(m);
            builder_set(m, k,
                        builder_mul(m, builder_sub(m, rest, builder_mul(m, next, x->size)),
                                    x->window_dilation));
            builder_set(m, rest, next);
            m->next_sreg = k.value + 1;
        }
        if (w->is_second) {             /* the place whose window has this tap here */
            p->index[d] = builder_sub(m, builder_add(m, p->index[d], I(x->pad_low)), k);
            is_inside = move_gather_padded(&t->g, p, d, places->dim[d], 0, x->stride);
        } else {
            p->index[d] = builder_add(m, builder_mul(m, p->index[d], x->stride), k);
            is_inside = move_gather_padded(&t->g, p, d, places->dim[d], x->pad_low,
                                           x->base_dilation);
        }
        builder_set(m, valid, builder_if_equal(m, is_inside, zero, zero, valid));
        move_gather_resolve(&t->g, p);
    }
    return valid;
}

static int valid_mask(struct builder *m, struct isa_operand valid)
{
    return emit_vcmp_ne_s32(m->code, R(builder_splat(m, valid)), zero);
}

static void set_vector(struct builder *m, int to, uint32_t bits)
{
    vcode_put(m->code, isa_vmov(to, I(bits)));
}

/* one tap's elements join what has been combined so far */
static void take_tap(struct move_tiles *t, struct window *w, struct move_gather_place *p,
                     struct isa_operand tap)
{
    struct builder *m = &t->g.m;
    enum graph_dtype dtype = w->from->dtype;
    struct isa_operand valid = under_tap(t, w, p, tap);
    struct move_gather_place again = *p;
    int v, is_valid;

    if (w->is_second) {
        int64_t saved = move_gather_save(&t->g, p);
        int tap_of, mask;

        v = move_gather_widen(m, dtype, move_gather_node(&t->g, w->node->operand[1], p));
        move_gather_recall(&t->g, saved, &again);
        move_gather_drop(&t->g, saved);
        tap_of = move_gather_array_run(&t->g, &w->selected, &again);
        mask = emit_vcmp_eq_s32(m->code, R(tap_of), R(builder_splat(m, tap)));
        mask = emit_vmand(m->code, valid_mask(m, valid), mask);
        window_combine(m, REDUCE_ADD, dtype, w->sum, w->sum,
                       R(emit_vsel(m->code, mask, R(v), zero)));
        return;
    }
    v = move_gather_widen(m, dtype, move_gather_node(&t->g, w->node->operand[0], p));
    is_valid = valid_mask(m, valid);
    if (w->node->op == HLO_REDUCE_WINDOW) {
        uint32_t identity = window_identity(w->node->reduce_kind, dtype);

        v = emit_vsel(m->code, is_valid, R(v), I(identity));
        window_combine(m, w->node->reduce_kind, dtype, w->sum, w->sum, R(v));
    } else {
        int takes = window_takes_over(m, w->node->direction, dtype, w->best, v), mask;
        int first = emit_vcmp_lt_s32(m->code, R(w->chosen), zero);

        mask = emit_vmand(m->code, emit_vmor(m->code, takes, first), is_valid);
        vcode_put(m->code, isa_vsel(w->best, mask, R(v), R(w->best)));
        vcode_put(m->code, isa_vsel(w->chosen, mask, R(builder_splat(m, tap)), R(w->chosen)));
    }
}

/* the taps one after the other, the second time the last one first: the order of places */
static int window_run(struct move_tiles *t, struct move_gather_place *place, void *user)
{
    struct window *w = user;
    struct builder *m = &t->g.m;
    struct isa_operand tap = move_gather_reserve(&t->g, place), rounds;
    struct move_gather_place p = *place;
    int64_t saved;
    int kept;

    if (!keeps_runs(w, place->varying)) {
        builder_set(m, place->run, one);
        p.varying = -1;
    }
    saved = move_gather_save(&t->g, &p);
    set_vector(m, w->sum, w->is_second ? 0 : window_identity(w->node->op == HLO_REDUCE_WINDOW
                                                             ? w->node->reduce_kind : REDUCE_ADD,
                                                             w->from->dtype));
    if (w->chosen >= 0 && !w->is_second) {
        set_vector(m, w->best, 0);
        set_vector(m, w->chosen, UINT32_MAX);
    }
    builder_set(m, tap, I(w->is_second ? w->taps - 1 : 0));
    m->next_sreg = place->mark;
    rounds = builder_loop_begin(m, w->taps);
    p.mark = m->next_sreg;
    move_gather_recall(&t->g, saved, &p);
    take_tap(t, w, &p, tap);
    m->next_sreg = rounds.value + 1;
    kept = m->next_sreg;
    builder_set(m, tap, builder_add(m, tap, I(w->is_second ? -1 : 1)));
    m->next_sreg = kept;
    vcode_begin_block(m->code);
    builder_loop_end(m, rounds);
    move_gather_drop(&t->g, saved);
    if (w->chosen >= 0 && !w->is_second)
        return emit_vmov(m->code, R(w->chosen));
    return move_gather_narrow(m, w->from->dtype, w->sum);
}

/* where the taps of select-and-scatter are kept between its halves */
static void selected_array(const struct graph *body, const struct kernel_job *job, struct array *a)
{
    const struct graph_node *source = &body->node[body->node[body->output[0].node].operand[1]];
    struct shape s = source->shape;

    s.dtype = DTYPE_S32;
    array_init(a, "selected", &s, job->operand[source->parameter_index]->order);
}

static int64_t extra_rows(const struct kernel_job *job)
{
    struct array a;

    if (job->body->node[job->body->output[0].node].op == HLO_REDUCE_WINDOW)
        return 0;
    selected_array(job->body, job, &a);
    return a.tile_count * 8;
}

static int emit_nothing(const struct kernel_job *job, struct arena *a, struct segment *out,
                        struct err *e)
{
    struct vcode code;
    int status;

    vcode_init(&code, a);
    vcode_begin_block(&code);
    status = kernel_finish(job, &code, job->vmem_row, 1, a, out, e);
    vcode_fini(&code);
    return status;
}

static int emit_general(const struct kernel_job *job, struct arena *a, struct segment *out,
                        struct err *e)
{
    struct kernel_job whole = *job;
    struct array selected;
    struct window w;
    struct move_tiles t;

    window_init(&w, job->body);
    if (w.node->op == HLO_SELECT_AND_SCATTER && job->core_count > 1) {
        if (job->core)                  /* what places chose lies in one core's VMEM */
            return emit_nothing(job, a, out, e);
        whole.core_count = 1;
        job = &whole;
    }
    if (move_tiles_begin(&t, job, extra_rows(job), a, e))
        return -1;
    w.sum = vcode_pinned_vreg(&t.code);
    w.best = w.chosen = -1;
    if (w.node->op == HLO_SELECT_AND_SCATTER) {
        selected_array(job->body, job, &selected);
        w.selected = (struct move_gather_array){&selected, true, t.extra_row};
        w.best = vcode_pinned_vreg(&t.code);
        w.chosen = vcode_pinned_vreg(&t.code);
        move_tiles_make(&t, &w.selected, window_run, &w);
        w.is_second = true;
    }
    move_tiles_make(&t, &t.result, window_run, &w);
    return move_tiles_end(&t, a, out, e);
}

static int64_t cost_general(const struct kernel_job *job)
{
    struct window w;

    if (move_tiles_least_rows(job, extra_rows(job)) > job->vmem_rows)
        return INT64_MAX;
    window_init(&w, job->body);
    return job->result[0]->tile_count * job->result[0]->tile_rows * w.taps *
           (job->chip->xlu_permute_cycles + 150) * 4;
}

const struct move_way window_general = {cost_general, emit_general};

/* ---- the kind ---- */

static const struct move_way *const ways[] = {&window_general, &window_outer, &window_lines,
                                              &window_scatter};

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *n = &body->node[body->output[0].node];

    (void)chip;
    if (body->output_count != 1)
        return err_set(e, "a window of %d results (exactly 1)", body->output_count);
    if (n->op != HLO_REDUCE_WINDOW && n->op != HLO_SELECT_AND_SCATTER)
        return err_set(e, "%s behind a window", graph_op_name(n->op));
    if (n->op == HLO_REDUCE_WINDOW && !window_combines(n->reduce_kind, n->shape.dtype))
        return err_set(e, "%s: a window does not combine so", n->name);
    for (int i = 0; i < n->operand_count; i++)
        if (move_gather_check_supported(body, n->operand[i], e))
            return -1;
    if (n->op == HLO_SELECT_AND_SCATTER && body->node[n->operand[1]].op != HLO_PARAMETER)
        return err_set(e, "%s: its source is not an operand", n->name);
    return 0;
}

static int tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    return move_ways_list(ways, (int)COUNT_OF(ways), job, list, max);
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    return move_way_cost(ways[t->size[0]], job, out);
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    *out = (struct segment){.tiling = *t};
    cost(job, t, &out->cost);
    return ways[t->size[0]]->emit(job, a, out, e);
}

const struct kernel_kind kernel_window = {
    .name = "window", .category = "reduce-window",
    .check_supported = check_supported, .tilings = tilings, .cost = cost,
    .emit = emit};
