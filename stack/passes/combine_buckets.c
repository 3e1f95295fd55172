/*
 * More buckets begin earlier, beside more of the backward pass, and each takes the core for its
 * parts. Nothing but updates of other buckets' variables hides the last one. Sizes of half, a
 * quarter and so on of the one that uses the links well are tried on a line of time: gradients are
 * there when products before them may be done, sums follow each other on the links, and updates
 * of variables take what they move of HBM.
 */
#include "stack/passes/combine_buckets.h"

#include "stack/kernels/comm/kernel_collective_spread.h"

#include <math.h>

#define LEAST_BYTES 1024
#define WORSE_MOST 2                    /* sizes in a row, and no smaller one is tried */
#define NOBODY -1
#define SEVERAL -2
#define PATIENCE 0.02                   /* of the next kernel, as module_overlap.c waits */

int combine_buckets_end(const struct bucket_member *m, int count, int first, int64_t bucket_bytes)
{
    int64_t bytes = m[first].bytes, rest = 0;
    int end = first + 1;

    if (bucket_bytes <= 0)
        return count;
    while (end < count && bytes < bucket_bytes)
        bytes += m[end++].bytes;
    for (int i = end; i < count; i++)
        rest += m[i].bytes;
    return rest < bucket_bytes / 8 ? count : end;
}

struct choice {
    const struct pass_context *context;
    const struct graph *g;
    const struct bucket_member *member;
    int count;
    double *ready_ns, *update_ns;       /* by member: its gradient is known; its variable changed */
    double *step_ns;                    /* ends of products, between which parts can run */
    int step_count;
    struct arena arena;
};

static int64_t bytes_of(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    int64_t bytes = 0;

    for (int i = 0; i < n->tuple_count; i++)
        bytes += shape_elems(&n->tuple[i]) * array_element_bytes(n->tuple[i].dtype);
    return n->tuple_count ? bytes : shape_elems(&n->shape) * array_element_bytes(n->shape.dtype);
}

/* What its product's units or its arrays take. What may join another kernel counts as nothing. */
static double node_ns(const struct choice *c, int node)
{
    const struct graph_node *n = &c->g->node[node];
    const struct chip *chip = c->context->chip;
    double flops_per_ns = 1e3 * chip_peak_bf16_tflops(chip) / (double)chip->chip_cores;
    enum graph_op_kind kind = graph_op_kind(n->op);
    int64_t bytes = bytes_of(c->g, node);

    if (kind != KIND_DOT && kind != KIND_CONV && kind != KIND_CALL)
        return 0;
    for (int i = 0; i < n->operand_count; i++)
        bytes += bytes_of(c->g, n->operand[i]);
    return fmax((double)graph_node_flops(c->g, node) / flops_per_ns,
                (double)bytes / (double)chip->dma_core_gbps);
}

static void find_ready(struct choice *c)
{
    double now_ns = 0;
    int next = 0;

    for (int i = 0; i < c->g->node_count && next < c->count; i++) {
        double ns = node_ns(c, i);

        now_ns += ns;
        if (ns > 0)
            c->step_ns[c->step_count++] = now_ns;
        while (next < c->count && c->member[next].operand == i)
            c->ready_ns[next++] = now_ns;
    }
}

/* the member without whose sum each node cannot be */
static void find_owners(const struct choice *c, int *owner)
{
    for (int i = 0; i < c->g->node_count; i++) {
        const struct graph_node *n = &c->g->node[i];

        owner[i] = NOBODY;
        for (int k = 0; k < n->operand_count; k++) {
            int of = owner[n->operand[k]];

            if (of != NOBODY)
                owner[i] = owner[i] == NOBODY || owner[i] == of ? of : SEVERAL;
        }
        for (int k = 0; k < c->count; k++)
            if (c->member[k].node == i)
                owner[i] = k;
    }
}

/* what comes of one sum alone is read before and written: a variable and the optimizer's slots */
static void find_updates(struct choice *c)
{
    int *owner = arena_array(&c->arena, (size_t)c->g->node_count + 1, sizeof(*owner));

    find_owners(c, owner);
    for (int i = 0; i < c->count; i++)
        c->update_ns[i] = 0;
    for (int i = 0; i < c->g->output_count; i++) {
        int node = c->g->output[i].node;

        if (owner[node] >= 0)
            c->update_ns[owner[node]] += 2 * (double)bytes_of(c->g, node) /
                                         (double)c->context->chip->dma_core_gbps;
    }
}

struct line {
    double core_ns;                     /* of the core, for parts: all else is later by it */
    double links_ns;                    /* when links are free */
    double update_ns;                   /* of variables whose sums are there */
};

/* when a part can run whose data come at that instant: not in the middle of a product */
static double part_ns(const struct choice *c, const struct line *l, double now_ns)
{
    double before = l->core_ns;

    for (int i = 0; i < c->step_count; before = c->step_ns[i++] + l->core_ns) {
        double end = c->step_ns[i] + l->core_ns;

        if (end >= now_ns)
            return now_ns <= before + PATIENCE * (end - before) ? now_ns : end;
    }
    return now_ns;
}

/* beside what is there: when its last part has run */
static double spread_ns(const struct choice *c, struct line *l, const struct kernel_spread_times *t,
                        double start_ns)
{
    double now = start_ns;

    for (int i = 0; i <= t->cuts; i++) {
        now += t->part_ns[i];
        l->core_ns += t->part_ns[i];
        if (i < t->cuts)
            now = part_ns(c, l, now + t->flight_ns[i]);
    }
    return now;
}

/* one more bucket: what sums add to the step if it is the last */
static double add_bucket(struct choice *c, struct line *l, int first, int end)
{
    double ready = c->ready_ns[end - 1] + l->core_ns, before = l->core_ns;
    double start = part_ns(c, l, fmax(l->links_ns, ready)), together;
    const struct kernel_spread_times *t;
    int64_t bytes = 0;

    for (int i = first; i < end; i++)
        bytes += c->member[i].bytes;
    t = c->context->sum_times(c->context->settings, bytes, &c->arena);
    if (!t)
        return INFINITY;
    together = before + start - ready + t->together_ns;
    l->links_ns = spread_ns(c, l, t, start);
    ready += l->core_ns - before + l->update_ns;
    for (int i = first; i < end; i++)
        l->update_ns += c->update_ns[i];
    return fmin(l->core_ns + fmax(0, l->links_ns - ready), together);
}

/* what sums add to the step; more than `best`: at least that */
static double cost_ns(struct choice *c, int64_t bucket_bytes, double best)
{
    struct line l = {.core_ns = 0};
    double cost = 0;

    for (int first = 0, end; first < c->count && l.core_ns <= best; first = end) {
        end = combine_buckets_end(c->member, c->count, first, bucket_bytes);
        cost = add_bucket(c, &l, first, end);
    }
    return fmax(cost, l.core_ns > best ? l.core_ns : 0);
}

int64_t combine_buckets_choose(const struct pass_context *context, const struct graph *g,
                               const struct bucket_member *m, int count)
{
    struct choice c = {.context = context, .g = g, .member = m, .count = count};
    int64_t chosen = context->bucket_bytes;
    double best;
    int worse = 0;                      /* sizes in a row */

    if (!context->sum_times || count < 2)
        return chosen;
    arena_init(&c.arena);
    c.ready_ns = arena_array(&c.arena, (size_t)count, sizeof(*c.ready_ns));
    c.step_ns = arena_array(&c.arena, (size_t)g->node_count + 1, sizeof(*c.step_ns));
    c.update_ns = arena_array(&c.arena, (size_t)count, sizeof(*c.update_ns));
    find_ready(&c);
    find_updates(&c);
    best = cost_ns(&c, chosen, INFINITY);
    for (int64_t bytes = chosen / 2; bytes >= LEAST_BYTES && worse < WORSE_MOST; bytes /= 2) {
        double ns = cost_ns(&c, bytes, best);

        worse = ns > best ? worse + 1 : 0;
        chosen = ns < best ? bytes : chosen;
        best = fmin(best, ns);
    }
    arena_fini(&c.arena);
    return chosen;
}
