/*
 * Says which nodes may be fused, keeps the members of groups sorted, and makes a group's body as a
 * graph of its own.
 */
#include "stack/passes/fusion.h"
#include "stack/backend/abi.h"
#include "stack/kernels/loop/loop_plan.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/registry.h"

#include <stdio.h>
#include <string.h>

bool fusion_is_simple(const struct graph_node *n)
{
    return graph_op_is_elementwise(n->op) || n->op == HLO_BROADCAST || n->op == HLO_IOTA ||
           (n->op == HLO_CONSTANT && !n->literal);
}

bool fusion_is_hero(const struct graph_node *n)
{
    return !fusion_is_simple(n) && n->op != HLO_REDUCE;
}

bool fusion_is_offset(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return n->op == HLO_SLICE && !f->context->heroes_alone &&
           loop_can_fuse_slice(&f->g->node[n->operand[0]].shape, n);
}

bool fusion_is_work(const struct fusion *f, int node)
{
    return fusion_is_hero(&f->g->node[node]) && !fusion_is_offset(f, node);
}

static bool is_along_lanes(const struct fusion *f, const struct graph_node *reduce)
{
    int rank = f->g->node[reduce->operand[0]].shape.rank;

    return rank > 0 && (reduce->reduce_mask >> (rank - 1) & 1);
}

int fusion_sum_of(const struct fusion *f, int node, bool along_any)
{
    const struct graph_node *n = &f->g->node[node];

    if (n->op != HLO_BROADCAST)
        return NODE_NONE;
    while (n->op == HLO_BROADCAST || n->op == HLO_CONVERT) {
        node = n->operand[0];
        n = &f->g->node[node];
    }
    if (n->op != HLO_REDUCE || (!along_any && !is_along_lanes(f, n)))
        return NODE_NONE;
    return node;
}

bool fusion_spreads_sums_of(const struct fusion *f, const struct fusion_group *p,
                            const struct fusion_group *of)
{
    for (int i = 0; i < p->member_count; i++) {
        int sum = fusion_sum_of(f, p->member[i], true);

        if (sum != NODE_NONE && fusion_has(of, sum))
            return true;
    }
    return false;
}

bool fusion_spreads_sums(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++) {
        int sum = fusion_sum_of(f, p->member[i], false);

        if (sum != NODE_NONE && fusion_has(p, sum))
            return true;
    }
    return false;
}

bool fusion_stores_product(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return f->context->codegen == CODEGEN_XLA && n->op == HLO_DOT && n->dot.batch_count > 0;
}

bool fusion_has_stored_product(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (fusion_stores_product(f, p->member[i]))
            return true;
    return false;
}

int fusion_place(const struct fusion_group *p, int node)
{
    int low = 0, high = p->member_count;

    while (low < high) {
        int middle = (low + high) / 2;

        if (p->member[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool fusion_has(const struct fusion_group *p, int node)
{
    int at = fusion_place(p, node);

    return at < p->member_count && p->member[at] == node;
}

static int64_t iteration_elems(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return shape_elems(n->op == HLO_REDUCE ? &f->g->node[n->operand[0]].shape : &n->shape);
}

static void recount(struct fusion *f, struct fusion_group *p)
{
    p->elems = 0;
    p->has_hero = false;
    for (int i = 0; i < p->member_count; i++) {
        int64_t elems = iteration_elems(f, p->member[i]);

        p->elems = elems > p->elems ? elems : p->elems;
        p->has_hero |= fusion_is_work(f, p->member[i]);
    }
}

void fusion_insert(struct fusion *f, struct fusion_group *p, int node)
{
    struct fusion_node *x = &f->node[node];
    int at = fusion_place(p, node);

    if (at < p->member_count && p->member[at] == node)
        return;
    p->member = mem_grow(p->member, &p->member_capacity, (size_t)p->member_count + 1,
                         sizeof(*p->member));
    memmove(p->member + at + 1, p->member + at,
            (size_t)(p->member_count - at) * sizeof(*p->member));
    p->member[at] = node;
    p->member_count++;
    x->in = mem_grow(x->in, &x->in_capacity, (size_t)x->in_count + 1, sizeof(*x->in));
    x->in[x->in_count++] = (int)(p - f->group);
    recount(f, p);
}

void fusion_remove(struct fusion *f, struct fusion_group *p, int node)
{
    struct fusion_node *x = &f->node[node];
    int at = fusion_place(p, node);

    p->member_count--;
    memmove(p->member + at, p->member + at + 1,
            (size_t)(p->member_count - at) * sizeof(*p->member));
    for (int i = 0; i < x->in_count; i++)
        if (x->in[i] == (int)(p - f->group))
            x->in[i--] = x->in[--x->in_count];
    recount(f, p);
}

/* somebody reads the value that this group stores, who does not compute it again */
static bool is_root(const struct fusion *f, const struct fusion_group *p, int node)
{
    const struct fusion_node *x = &f->node[node];

    if (x->owner != (int)(p - f->group))
        return false;
    if (f->is_output[node])
        return true;
    for (int i = 0; i < x->user_count; i++) {
        const struct fusion_node *user = &f->node[x->user[i]];

        if (user->in_count == 0)
            return true;
        for (int k = 0; k < user->in_count; k++)
            if (!fusion_has(&f->group[user->in[k]], node))
                return true;
    }
    return false;
}

static int parameter_of(struct fusion_body *b, const struct fusion *f, int node)
{
    char name[24];

    snprintf(name, sizeof(name), "param_%d", b->operand_count);
    b->operand[b->operand_count++] = node;
    graph_stand_for(b->graph, &f->g->node[node]);
    return graph_parameter(b->graph, f->g->node[node].shape, name);
}

/* operands that are not members become parameters, before all members */
static bool add_parameters(const struct fusion *f, const struct fusion_group *p, int *moved,
                           struct fusion_body *b)
{
    for (int i = 0; i < p->member_count; i++) {
        const struct graph_node *n = &f->g->node[p->member[i]];

        for (int k = 0; k < n->operand_count; k++) {
            if (moved[n->operand[k]] != NODE_NONE || fusion_has(p, n->operand[k]))
                continue;
            if (b->operand_count == FUSION_ARRAYS_MAX)
                return false;
            moved[n->operand[k]] = parameter_of(b, f, n->operand[k]);
        }
    }
    return true;
}

static void add_member(const struct fusion *f, int node, int *moved, struct graph *body)
{
    const struct graph_node *n = &f->g->node[node];
    int *operand = arena_array(body->arena, (size_t)n->operand_count, sizeof(*operand));

    for (int k = 0; k < n->operand_count; k++)
        operand[k] = moved[n->operand[k]];
    graph_stand_for(body, n);
    moved[node] = graph_add(body, n, operand, n->operand_count);
}

static bool add_roots(const struct fusion *f, const struct fusion_group *p, const int *moved,
                      struct fusion_body *b)
{
    for (int i = 0; i < p->member_count; i++) {
        if (!is_root(f, p, p->member[i]))
            continue;
        if (b->operand_count + b->root_count == FUSION_ARRAYS_MAX)
            return false;
        b->root[b->root_count++] = p->member[i];
        graph_output(b->graph, moved[p->member[i]], f->g->node[p->member[i]].name, -1);
    }
    return true;
}

bool fusion_make_body(const struct fusion *f, const struct fusion_group *p, struct arena *a,
                      struct fusion_body *out)
{
    int *moved = f->moved;
    bool fits;

    *out = (struct fusion_body){.graph = arena_alloc(a, sizeof(*out->graph))};
    graph_init(out->graph, a, "fused_computation");
    fits = add_parameters(f, p, moved, out);
    for (int i = 0; fits && i < p->member_count; i++)
        add_member(f, p->member[i], moved, out->graph);
    fits = fits && add_roots(f, p, moved, out);
    for (int i = 0; i < out->operand_count; i++)
        moved[out->operand[i]] = NODE_NONE;
    for (int i = 0; i < p->member_count; i++)
        moved[p->member[i]] = NODE_NONE;
    graph_freeze(out->graph);
    return fits;
}

/*
 * The best of `max` tilings, with all arrays in HBM but that of parameter `in_vmem` (-1: none); false:
 * none fits, the body is one that only looks like a kernel's. Of one any is as good.
 */
static bool find_tiling(const struct kernel_kind *kind, const struct graph *body,
                        const struct pass_context *c, int in_vmem, struct tiling *t, int max)
{
    struct array array[2 * FUSION_ARRAYS_MAX];
    const struct array *list[2 * FUSION_ARRAYS_MAX];
    struct kernel_job job = {
        .chip = c->chip, .codegen = c->codegen, .name = body->name, .source = "", .body = body,
        .operand_count = body->parameter_count, .result_count = body->output_count,
        .operand = list, .result = list + body->parameter_count,
        .vmem_rows = c->vmem_rows, .first_flag = 1, .flag_count = (int)c->chip->sync_flags - 1,
        .smem = LINK_SMEM_END, .smem_bytes = c->chip->smem_bytes - LINK_SMEM_END,
        .core_count = 1};
    int64_t address = 0;

    for (int i = 0; i < job.operand_count + job.result_count; i++) {
        int node = i < job.operand_count ? body->parameter[i]
                                         : body->output[i - job.operand_count].node;

        array_init(&array[i], body->node[node].name, &body->node[node].shape, NULL);
        array[i].address = address;
        address += array[i].bytes;
        list[i] = &array[i];
    }
    if (in_vmem >= 0) {
        array[in_vmem].space = SPACE_VMEM;
        array[in_vmem].address = c->chip->vmem_bytes - array[in_vmem].bytes;
    }
    return kind->tilings(&job, t, max) > 0;
}

static bool has_tiling(const struct kernel_kind *kind, const struct graph *body,
                       const struct pass_context *c)
{
    struct tiling t;

    return find_tiling(kind, body, c, -1, &t, 1);
}

/* moves and windows go at the memory's pace alone, element by element with anything else */
static bool is_slow(const struct kernel_kind *kind, const struct graph *body)
{
    int work = 0;

    for (int i = 0; i < body->node_count; i++)
        work += body->node[i].op != HLO_PARAMETER && body->node[i].op != HLO_CONSTANT;
    return work > 1 && (strcmp(kind->name, "move") == 0 || strcmp(kind->name, "window") == 0);
}

/* two nodes that are each a kernel's whole business */
static int tell_heroes(const struct graph *body, struct err *why)
{
    int heroes = 0;
    char names[160] = "";

    for (int i = 0; i < body->node_count; i++) {
        const struct graph_node *n = &body->node[i];

        if (n->op == HLO_PARAMETER || !fusion_is_hero(n))
            continue;
        if (heroes++ < 4)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                     heroes > 1 ? ", " : "", graph_op_name(n->op));
    }
    if (heroes > 1)
        return err_set(why, "no kernel makes %d such together: %s%s", heroes, names,
                       heroes > 4 ? ", .." : "");
    return err_set(why, "no kernel makes %s with what is around it",
                   heroes ? names : "such work");
}

static int check_fused(const struct pass_context *c, const struct graph *body, bool may_be_slow,
                       struct err *why)
{
    const struct kernel_kind *kind = c->check_supported ? NULL : kernel_kind_of(body);

    if (c->check_supported)
        return c->check_supported(body, c->chip, why);
    if (!kind)
        return tell_heroes(body, why);
    if (!may_be_slow && is_slow(kind, body))
        return err_set(why, "element by element, at a move's pace");
    if (kind->check_supported(body, c->chip, why))
        return -1;
    return has_tiling(kind, body, c)
               ? 0 : err_set(why, "no blocks of it fit into the VMEM that kernels have");
}

bool fusion_is_taken_or_why(const struct fusion *f, const struct fusion_group *p, struct err *why)
{
    struct fusion_body body;
    struct arena a;
    int status;

    if (p->member_count > FUSION_NODES_MAX && !p->is_whole)
        return err_set(why, "more than %d operations", FUSION_NODES_MAX) == 0;
    arena_init(&a);
    if (fusion_make_body(f, p, &a, &body))
        status = body.root_count > 0 ? check_fused(f->context, body.graph, p->is_whole, why)
                                     : err_set(why, "nobody reads it");
    else
        status = err_set(why, "more than %d operands and results", FUSION_ARRAYS_MAX);
    arena_fini(&a);
    return status == 0;
}

bool fusion_is_taken(const struct fusion *f, const struct fusion_group *p)
{
    struct err why;

    return fusion_is_taken_or_why(f, p, &why);
}

int64_t fusion_cycles(const struct fusion *f, const struct fusion_group *p)
{
    const struct kernel_kind *kind;
    struct fusion_body body;
    struct tiling best[2];
    int64_t cycles = INT64_MAX;
    struct arena a;

    arena_init(&a);
    if (fusion_make_body(f, p, &a, &body) && body.root_count > 0) {
        int in_vmem = body.operand_count - 1;

        while (in_vmem >= 0 && body.operand[in_vmem] != f->in_vmem)
            in_vmem--;
        kind = kernel_kind_of(body.graph);
        if (kind && find_tiling(kind, body.graph, f->context, in_vmem, best, 2))
            cycles = best[0].predicted_cycles;
    }
    arena_fini(&a);
    return cycles;
}
