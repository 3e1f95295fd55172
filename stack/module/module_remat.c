/*
 * Rematerialisation: what does not fit HBM is computed again.
 *
 * At the fullest moment, of the kernels whose results lie there unused one is taken: its results'
 * first life ends with the last reader before that moment, and a second step, just before the next
 * reader, makes them again. What it reads and what is there no more is made again before it, if it
 * is no more than a few kernels; what is small lives longer instead. First those are taken that
 * spare most and need no product, then those that spare most for their time.
 */
#include "stack/module/module_impl.h"

#include "stack/hlo/rewrite.h"
#include "stack/kernels/registry.h"

#include <string.h>

#define KERNELS_MAX 4                   /* made again for one */
#define SMALL_SHARE 8                   /* of what is spared: an operand that may live longer */

/* kernels that are made again before step `at`, in this order; the last one is what is asked for */
struct redo {
    int maker[KERNELS_MAX], count, at, full;
    int depth;                          /* of kernels that wait for their operands' */
    int64_t spared;                     /* bytes at the fullest moment */
    double seconds;
    bool with_products;
};

static bool reads(const struct module_plan *p, const struct module_step *s,
                  const struct module_buffer *b)
{
    for (int k = 0; k < s->operand_count; k++)
        if (module_plan_buffer(p, s->operand[k]) == b)
            return true;
    return false;
}

static bool writes(const struct module_plan *p, const struct module_step *s,
                   const struct module_buffer *b)
{
    for (int k = 0; k < s->result_count; k++)
        if (module_plan_buffer(p, s->result[k]) == b)
            return true;
    return false;
}

/* -1: none */
static int next_reader(const struct module_plan *p, const struct module_buffer *b, int behind)
{
    for (int i = behind + 1; i < p->step_count; i++)
        if (reads(p, &p->step[i], b))
            return i;
    return -1;
}

static bool has_loop_between(const struct module_plan *p, int first, int last)
{
    for (int i = first; i <= last; i++)
        if (p->step[i].kind != STEP_KERNEL)
            return true;
    return false;
}

static bool can_redo(const struct module_step *s, bool with_products)
{
    const struct kernel_kind *kind = s->kind == STEP_KERNEL ? kernel_kind_of(s->body) : NULL;

    if (!kind || s->sums || s->peers)
        return false;
    return strcmp(kind->name, "loop") == 0 || strcmp(kind->name, "move") == 0 ||
           (with_products && (strcmp(kind->name, "dot") == 0 || strcmp(kind->name, "conv") == 0));
}

static bool is_written_between(const struct module_plan *p, const struct module_buffer *b,
                               int first, int end)
{
    for (int i = first; i < end; i++)
        if (writes(p, &p->step[i], b))
            return true;
    return false;
}

/* at half of the peak, and all that the kernel reads and writes by its core's share of the HBM */
static double seconds_of(const struct module_plan *p, const struct module_step *s)
{
    const struct chip *c = p->settings->chip;
    double peak = chip_core_flops_per_cycle(c) * (double)c->chip_clock_mhz * 1e6;
    int64_t bytes = 0;

    for (int k = 0; k < s->operand_count; k++)
        bytes += s->operand[k]->array.bytes;
    for (int k = 0; k < s->result_count; k++)
        bytes += s->result[k]->array.bytes;
    return 2.0 * (double)graph_flops(s->body) / peak + (double)bytes * 1e-9 / c->dma_core_gbps;
}

static bool add_kernel(const struct module_plan *p, struct redo *x, int maker);

/* an operand of `maker` is there, lives longer, or is made again */
static bool add_operand(const struct module_plan *p, struct redo *x, int maker,
                        const struct module_buffer *b)
{
    if (is_written_between(p, b, maker, x->at))
        return false;
    if (b->last >= x->full || b->bytes <= x->spared / SMALL_SHARE) {
        x->spared -= b->last < x->full ? b->bytes : 0;
        return true;
    }
    return b->role == BUFFER_TEMPORARY && b->first >= 0 && writes(p, &p->step[b->first], b) &&
           !is_written_between(p, b, b->first + 1, x->at) && add_kernel(p, x, b->first);
}

static bool add_kernel(const struct module_plan *p, struct redo *x, int maker)
{
    const struct module_step *s = &p->step[maker];

    for (int i = 0; i < x->count; i++)
        if (x->maker[i] == maker)
            return true;
    if (x->count + x->depth == KERNELS_MAX || !can_redo(s, x->with_products) ||
        has_loop_between(p, maker, x->at))
        return false;
    x->depth++;
    for (int k = 0; k < s->operand_count; k++)
        if (!add_operand(p, x, maker, module_plan_buffer(p, s->operand[k])))
            return false;
    x->depth--;
    x->maker[x->count++] = maker;
    x->seconds += seconds_of(p, s);
    return true;
}

/* lies unused at the fullest moment, and is read behind it: by whom first; -1: not so */
static int reader_behind(const struct module_plan *p, const struct module_buffer *b, int full)
{
    if (!module_buffer_lives(b) || b->role != BUFFER_TEMPORARY || b->space != SPACE_HBM ||
        b->first >= full || b->last <= full || reads(p, &p->step[full], b))
        return -1;
    return next_reader(p, b, full);
}

/* all results of the kernel that lie unused then */
static bool find_redo(const struct module_plan *p, int maker, struct redo *x)
{
    const struct module_step *s = &p->step[maker];

    x->at = p->step_count;
    for (int k = 0; k < s->result_count; k++) {
        const struct module_buffer *b = module_plan_buffer(p, s->result[k]);
        int reader = reader_behind(p, b, x->full);

        if (reader < 0)
            continue;
        if (is_written_between(p, b, maker + 1, b->last + 1))
            return false;
        x->spared += b->bytes;
        x->at = reader < x->at ? reader : x->at;
    }
    return x->spared > 0 && add_kernel(p, x, maker) && x->spared > 0;
}

static bool is_better(const struct redo *x, const struct redo *best)
{
    if (!x->with_products)
        return x->spared > best->spared;
    return best->spared == 0 ||
           (double)x->spared * best->seconds > (double)best->spared * x->seconds;
}

/* ----- the kernels again */

/* a kernel with these results alone: what else the step makes, and reads for it, is left out */
static void keep_results(struct module_plan *p, struct module_step *s, const bool *is_kept)
{
    const struct graph *from = s->body;
    struct graph *body = arena_alloc(p->arena, sizeof(*body));
    bool *is_needed = mem_alloc((size_t)from->node_count);
    int *moved = mem_alloc((size_t)from->node_count * sizeof(*moved)), count = 0;
    struct module_value **operand =
        arena_array(p->arena, (size_t)s->operand_count + 1, sizeof(*operand));

    for (int k = 0; k < s->result_count; k++)
        is_needed[from->output[k].node] |= is_kept[k];
    for (int i = from->node_count - 1; i >= 0; i--)
        for (int k = 0; is_needed[i] && k < from->node[i].operand_count; k++)
            is_needed[from->node[i].operand[k]] = true;
    graph_init(body, p->arena, from->name);
    for (int i = 0; i < from->node_count; i++) {
        const struct graph_node *n = &from->node[i];
        int *list = arena_array(p->arena, (size_t)n->operand_count + 1, sizeof(*list));

        if (!is_needed[i])
            continue;
        graph_stand_for(body, n);
        for (int k = 0; k < n->operand_count; k++)
            list[k] = moved[n->operand[k]];
        if (n->op == HLO_PARAMETER) {
            moved[i] = graph_parameter(body, n->shape, n->name);
            operand[count++] = s->operand[n->parameter_index];
        } else {
            moved[i] = graph_add(body, n, list, n->operand_count);
        }
    }
    for (int k = 0; k < s->result_count; k++)
        if (is_kept[k])
            graph_output(body, moved[from->output[k].node], from->output[k].name, -1);
    graph_freeze(body);
    mem_free(moved);
    mem_free(is_needed);
    s->body = body;
    s->operand = operand;
    s->operand_count = count;
    s->is_fusion = false;
}

/* readers from step `at` on have the new value */
static void read_instead(struct module_plan *p, const struct module_value *old,
                         struct module_value *v, int at)
{
    const struct module_buffer *b = module_plan_buffer(p, old);

    for (int i = at; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++) {
            struct module_value **operand = &p->step[i].operand[k];

            if (module_plan_buffer(p, *operand) != b)
                continue;
            if (*operand != old) {              /* the same under another shape */
                struct module_value *other = arena_alloc(p->arena, sizeof(*other));

                *other = **operand;
                other->buffer = v->buffer;
                module_plan_keep_value(p, other);
                *operand = other;
            } else {
                *operand = v;
            }
        }
}

/* the same kernel before step `at`; results that are read behind it are in buffers of their own */
static void insert_again(struct module_plan *p, int maker, int at)
{
    struct module_step again = p->step[maker];
    const struct module_step *s = &p->step[maker];
    int count = 0, results = s->result_count;
    bool *is_kept = arena_array(p->arena, (size_t)results + 1, sizeof(*is_kept));
    struct module_value **result = arena_array(p->arena, (size_t)results + 1, sizeof(*result));
    struct module_value **old = again.result;

    for (int k = 0; k < results; k++) {
        const struct module_buffer *b = module_plan_buffer(p, old[k]);

        is_kept[k] = b->role == BUFFER_TEMPORARY && next_reader(p, b, at - 1) >= 0;
    }
    keep_results(p, &again, is_kept);
    for (int k = 0; k < results; k++) {
        struct module_value *v;

        if (!is_kept[k])
            continue;
        v = arena_alloc(p->arena, sizeof(*v));
        *v = *old[k];
        v->buffer = module_plan_add_buffer(p, BUFFER_TEMPORARY, old[k]->array.bytes);
        module_plan_keep_value(p, v);
        read_instead(p, old[k], v, at);
        result[count++] = v;
    }
    again.result = result;
    again.result_count = count;
    again.name = arena_printf(p->arena, "%s.remat", again.name);
    module_plan_insert_step(p, at, again);
}

static bool rematerialise(struct module_plan *p, bool with_products)
{
    int full = module_plan_fullest_step(p, NULL);
    struct redo best = {.full = full};

    for (int i = 0; i < full; i++) {
        struct redo x = {.full = full, .with_products = with_products};

        if (can_redo(&p->step[i], with_products) && find_redo(p, i, &x) && is_better(&x, &best))
            best = x;
    }
    for (int i = best.count - 1; i >= 0; i--)
        insert_again(p, best.maker[i], best.at);
    return best.count > 0;
}

bool module_plan_rematerialise(struct module_plan *p)
{
    return rematerialise(p, false) || rematerialise(p, true);
}
