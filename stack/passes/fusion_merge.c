/* Merges groups into ones with several roots, so that the same arrays are read less often. */
#include "stack/passes/fusion.h"

#include <assert.h>
#include <string.h>

#define SMALL_ELEMS_MAX 2048
#define SMALL_LISTS 256
/* a group is tried with so many others: pieces of an operation are thousands, and full ones take none */
#define SMALL_TRIES_MAX 64

/* A unit is a group, or a free node: what happens as a whole. Groups come first. */
static int unit_of(const struct fusion *f, int node)
{
    return f->node[node].owner >= 0 ? f->node[node].owner : f->group_count + node;
}

struct search {
    const struct fusion *f;
    int target, direct;                 /* looked for; reader whose own reads of it do not count */
    int *seen, now;                     /* by unit: the search that was there last; this one */
};

static bool reaches(struct search *s, int unit);

static bool node_reaches(struct search *s, int unit, int node)
{
    const struct graph_node *n = &s->f->g->node[node];

    for (int k = 0; k < n->operand_count; k++) {
        int from;

        if (unit < s->f->group_count && fusion_has(&s->f->group[unit], n->operand[k]))
            continue;
        from = unit_of(s->f, n->operand[k]);
        if (from == s->target) {
            if (unit != s->direct)
                return true;
        } else if (reaches(s, from)) {
            return true;
        }
    }
    return false;
}

/* whether `unit` needs the target, through others */
static bool reaches(struct search *s, int unit)
{
    const struct fusion_group *p;

    if (s->seen[unit] == s->now || s->f->turn[unit] < s->f->turn[s->target])
        return false;
    s->seen[unit] = s->now;
    if (unit >= s->f->group_count)
        return node_reaches(s, unit, unit - s->f->group_count);
    p = &s->f->group[unit];
    for (int i = 0; i < p->member_count; i++)
        if (node_reaches(s, unit, p->member[i]))
            return true;
    return false;
}

static void take_turn(struct fusion *f, int unit, int *next);

static void take_turns_before(struct fusion *f, int unit, int node, int *next)
{
    const struct graph_node *n = &f->g->node[node];

    for (int k = 0; k < n->operand_count; k++)
        if (unit >= f->group_count || !fusion_has(&f->group[unit], n->operand[k]))
            take_turn(f, unit_of(f, n->operand[k]), next);
}

static void take_turn(struct fusion *f, int unit, int *next)
{
    if (f->turn[unit] >= 0)
        return;
    f->turn[unit] = 0;
    if (unit >= f->group_count)
        take_turns_before(f, unit, unit - f->group_count, next);
    else
        for (int i = 0; i < f->group[unit].member_count; i++)
            take_turns_before(f, unit, f->group[unit].member[i], next);
    f->at_turn[*next] = unit;
    f->turn[unit] = (*next)++;
}

/*
 * An order in which the units can run; what comes before a unit does not need it. The numbers of
 * nodes say nothing of that: a group of several roots may stand before nodes below its last one.
 */
static void order_units(struct fusion *f)
{
    int units = f->group_count + f->g->node_count, next = 0;

    for (int i = 0; i < units; i++)
        f->turn[i] = -1;
    for (int i = 0; i < units; i++)
        if (i < f->group_count || f->node[i - f->group_count].owner < 0)
            take_turn(f, i, &next);
}

/*
 * The same after two units became one: only what stands between them may have to move, and what
 * stands outside keeps its turn. One of the two is empty now.
 */
static void order_between(struct fusion *f, int a, int b)
{
    int first = f->turn[a] < f->turn[b] ? f->turn[a] : f->turn[b];
    int end = f->turn[a] + f->turn[b] - first + 1, next = first;
    int *unit = mem_alloc((size_t)(end - first) * sizeof(*unit));

    memcpy(unit, f->at_turn + first, (size_t)(end - first) * sizeof(*unit));
    for (int i = first; i < end; i++)
        f->turn[f->at_turn[i]] = -1;
    for (int i = 0; i < end - first; i++)
        take_turn(f, unit[i], &next);
    assert(next == end);
    mem_free(unit);
}

static bool is_behind(struct fusion *f, int target, int reader)
{
    struct search s = {.f = f, .target = target, .direct = reader, .seen = f->seen,
                       .now = ++f->searches};

    return reaches(&s, reader);
}

/* whether `unit` needs the target, directly or through others */
static bool needs(struct fusion *f, int unit, int target)
{
    struct search s = {.f = f, .target = target, .direct = NODE_NONE, .seen = f->seen,
                       .now = ++f->searches};

    return reaches(&s, unit);
}

/* merging the two leaves nothing that waits in a circle */
static bool may_merge(struct fusion *f, int a, int b)
{
    return !is_behind(f, a, b) && !is_behind(f, b, a);
}

static void undo(struct fusion *f, int into, int from, const int *added, int count)
{
    for (int i = 0; i < count; i++)
        fusion_remove(f, &f->group[into], added[i]);
    for (int i = 0; i < f->group[from].member_count; i++) {
        struct fusion_node *x = &f->node[f->group[from].member[i]];

        if (x->owner == into && !fusion_has(&f->group[into], f->group[from].member[i]))
            x->owner = from;
    }
}

/*
 * Moves all members of `from`; those that both have stay `into`'s if they were. Not where that takes
 * `most` cycles; INT64_MAX: whatever it takes.
 */
static bool merge_within(struct fusion *f, int into, int from, int64_t most)
{
    struct fusion_group *p = &f->group[into], *q = &f->group[from];
    int *added = mem_alloc((size_t)q->member_count * sizeof(*added)), count = 0;
    int *shared = mem_alloc((size_t)q->member_count * sizeof(*shared)), shared_count = 0;
    bool is_taken;

    for (int i = 0; i < q->member_count; i++) {
        int node = q->member[i];

        if (fusion_has(p, node)) {
            if (f->node[node].owner == from) {
                f->node[node].owner = into;
                shared[shared_count++] = node;
            }
            continue;
        }
        fusion_insert(f, p, node);
        if (f->node[node].owner == from)
            f->node[node].owner = into;
        added[count++] = node;
    }
    is_taken = fusion_is_taken(f, p) && (most == INT64_MAX || fusion_cycles(f, p) < most);
    if (is_taken) {
        while (q->member_count > 0)
            fusion_remove(f, q, q->member[q->member_count - 1]);
        q->is_gone = true;
        order_between(f, into, from);
    } else {
        undo(f, into, from, added, count);
        for (int i = 0; i < shared_count; i++)
            f->node[shared[i]].owner = from;
    }
    mem_free(added);
    mem_free(shared);
    return is_taken;
}

static bool try_merge(struct fusion *f, int into, int from)
{
    return merge_within(f, into, from, INT64_MAX);
}

/* a member of one spreads a sum that the other makes of a product that is stored */
static bool would_spread_sums(const struct fusion *f, const struct fusion_group *p,
                              const struct fusion_group *q)
{
    return (fusion_has_stored_product(f, p) || fusion_has_stored_product(f, q)) &&
           (fusion_spreads_sums_of(f, p, q) || fusion_spreads_sums_of(f, q, p) ||
            fusion_spreads_sums_of(f, p, p) || fusion_spreads_sums_of(f, q, q));
}

/* others read it, who belong to neither group */
static bool is_stored(const struct fusion *f, int a, int b, int node)
{
    const struct fusion_node *x = &f->node[node];

    if (x->owner != a && x->owner != b)
        return false;
    if (f->is_output[node])
        return true;
    for (int i = 0; i < x->user_count; i++) {
        const struct fusion_node *user = &f->node[x->user[i]];

        if (user->in_count == 0)
            return true;
        for (int k = 0; k < user->in_count; k++)
            if (user->in[k] != a && user->in[k] != b && !fusion_has(&f->group[user->in[k]], node))
                return true;
    }
    return false;
}

/* The two as one have few enough operands and results: told before the search, which takes longer. */
static bool fit_together(const struct fusion *f, int a, int b)
{
    int operand[FUSION_ARRAYS_MAX], operands = 0, results = 0;

    for (int side = 0; side < 2; side++) {
        const struct fusion_group *p = &f->group[side ? b : a];

        for (int i = 0; i < p->member_count; i++) {
            const struct graph_node *n = &f->g->node[p->member[i]];

            if (!side || !fusion_has(&f->group[a], p->member[i]))
                results += is_stored(f, a, b, p->member[i]);
            for (int k = 0; k < n->operand_count; k++) {
                int at = 0;

                if (fusion_has(&f->group[a], n->operand[k]) ||
                    fusion_has(&f->group[b], n->operand[k]))
                    continue;
                while (at < operands && operand[at] != n->operand[k])
                    at++;
                if (at < operands)
                    continue;
                if (operands == FUSION_ARRAYS_MAX)
                    return false;
                operand[operands++] = n->operand[k];
            }
            if (operands + results > FUSION_ARRAYS_MAX)
                return false;
        }
    }
    return true;
}

bool fusion_merge_two(struct fusion *f, int into, int from, int64_t most)
{
    const struct fusion_group *p = &f->group[into], *q = &f->group[from];

    return into != from && !p->is_gone && !q->is_gone &&
           p->member_count + q->member_count <= FUSION_NODES_MAX && fit_together(f, into, from) &&
           may_merge(f, into, from) && merge_within(f, into, from, most);
}

/* a group of single numbers, worked out of others */
static bool is_of_numbers(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (f->g->node[p->member[i]].operand_count > 0)
            return p->elems == 1;
    return false;
}

static bool waits_for(struct fusion *f, int unit, int a, int b)
{
    return unit != a && unit != b && (needs(f, unit, a) || needs(f, unit, b));
}

/* whether a unit that reads the node, others than a and b, needs one of the two */
static bool is_read_behind(struct fusion *f, int a, int b, int node)
{
    const struct fusion_node *x = &f->node[node];

    for (int i = 0; i < x->user_count; i++) {
        const struct fusion_node *user = &f->node[x->user[i]];

        if (user->in_count == 0 && waits_for(f, unit_of(f, x->user[i]), a, b))
            return true;
        for (int k = 0; k < user->in_count; k++)
            if (waits_for(f, user->in[k], a, b))
                return true;
    }
    return false;
}

/*
 * A number that a loop carries is changed in its place, behind all that read what it was. As part of
 * a larger group it could have to come before one of them, and would be copied.
 */
static bool keep_their_places(struct fusion *f, int a, int b)
{
    const struct graph *g = f->g;

    for (int k = 0; k < g->output_count && k < g->parameter_count; k++) {
        int owner = f->node[g->output[k].node].owner;

        if ((owner == a || owner == b) && is_read_behind(f, a, b, g->parameter[k]))
            return false;
    }
    return true;
}

static bool fit_by_size(struct fusion *f, int a, int b)
{
    const struct fusion_group *p = &f->group[a], *q = &f->group[b];

    if (p->elems != q->elems)
        return false;
    return p->elems > 1 ||
           (is_of_numbers(f, p) && is_of_numbers(f, q) && keep_their_places(f, a, b));
}

static bool is_candidate(struct fusion *f, int a, int b)
{
    const struct fusion_group *p = &f->group[a], *q = &f->group[b];

    if (f->context->heroes_alone && (p->has_hero || q->has_hero))
        return false;
    if (p->has_hero != q->has_hero &&
        (fusion_spreads_sums(f, p->has_hero ? q : p) || would_spread_sums(f, p, q)))
        return false;
    return a != b && !p->is_gone && !q->is_gone && !(p->has_hero && q->has_hero) &&
           fit_by_size(f, a, b) &&
           p->member_count + q->member_count <= FUSION_NODES_MAX && fit_together(f, a, b) &&
           may_merge(f, a, b);
}

/* with a group that stores an array which `group` reads */
static bool merge_with_producer(struct fusion *f, int group)
{
    const struct fusion_group *p = &f->group[group];

    for (int i = 0; i < p->member_count; i++) {
        const struct graph_node *n = &f->g->node[p->member[i]];

        for (int k = 0; k < n->operand_count; k++) {
            int a = n->operand[k], owner = f->node[a].owner;

            if (fusion_has(p, a) || owner < 0 || owner == group ||
                shape_elems(&f->g->node[a].shape) < p->elems)
                continue;
            if (is_candidate(f, group, owner) && try_merge(f, owner, group))
                return true;
        }
    }
    return false;
}

/* with another group that reads one of the same large arrays */
static bool merge_with_sibling(struct fusion *f, int group)
{
    const struct fusion_group *p = &f->group[group];

    for (int i = 0; i < p->member_count; i++) {
        const struct graph_node *n = &f->g->node[p->member[i]];

        for (int k = 0; k < n->operand_count; k++) {
            const struct fusion_node *x = &f->node[n->operand[k]];

            if (fusion_has(p, n->operand[k]) ||
                shape_elems(&f->g->node[n->operand[k]].shape) < p->elems)
                continue;
            for (int u = 0; u < x->user_count; u++) {
                int other = f->node[x->user[u]].owner;

                if (other >= 0 && other != group && is_candidate(f, group, other) &&
                    !fusion_has(&f->group[other], n->operand[k]) && try_merge(f, other, group))
                    return true;
            }
        }
    }
    return false;
}

/* elementwise work on one or two tiles: starting its kernel takes longer than the work */
static bool is_small(const struct fusion *f, const struct fusion_group *p)
{
    if (p->is_gone || p->has_hero || p->elems > SMALL_ELEMS_MAX)
        return false;
    for (int i = 0; i < p->member_count; i++)
        if (f->g->node[p->member[i]].op == HLO_REDUCE)
            return false;
    return true;
}

static const struct shape *shape_of(const struct fusion *f, const struct fusion_group *p)
{
    return &f->g->node[p->member[p->member_count - 1]].shape;
}

/* Small groups by the sizes that they have, each with the one before it that may have the same. */
struct small_groups {
    int *before;                        /* by group; -1: none */
    int last[SMALL_LISTS];
};

static unsigned list_of(const struct shape *s)
{
    unsigned hash = 0;

    for (int d = 0; d < s->rank; d++)
        hash = hash * 31 + (unsigned)s->dim[d];
    return hash % SMALL_LISTS;
}

static void find_small(struct fusion *f, struct small_groups *all)
{
    all->before = arena_array(&f->arena, (size_t)f->group_count, sizeof(int));
    for (int i = 0; i < SMALL_LISTS; i++)
        all->last[i] = -1;
    for (int i = 0; i < f->group_count; i++)
        if (is_small(f, &f->group[i])) {
            int *last = &all->last[list_of(shape_of(f, &f->group[i]))];

            all->before[i] = *last;
            *last = i;
        }
}

/* updates of small variables that know nothing of each other, as many as a kernel has arrays for */
static void merge_small(struct fusion *f, const struct small_groups *all, int group)
{
    int tries = 0;

    if (!is_small(f, &f->group[group]))
        return;
    for (int other = all->before[group]; other >= 0 && tries < SMALL_TRIES_MAX;
         other = all->before[other])
        if (shape_same_dims(shape_of(f, &f->group[group]), shape_of(f, &f->group[other]))) {
            if (is_candidate(f, group, other) && try_merge(f, other, group))
                return;
            tries++;
        }
}

void fusion_merge_groups(struct fusion *f)
{
    size_t units = (size_t)(f->group_count + f->g->node_count);
    struct small_groups small;

    f->turn = arena_array(&f->arena, units, sizeof(int));
    f->at_turn = arena_array(&f->arena, units, sizeof(int));
    f->seen = arena_array(&f->arena, units, sizeof(int));
    order_units(f);
    for (int i = f->group_count - 1; i >= 0; i--)
        if (!f->group[i].is_gone && !f->group[i].has_hero && !merge_with_producer(f, i))
            merge_with_sibling(f, i);
    find_small(f, &small);
    for (int i = f->group_count - 1; i >= 0; i--)
        merge_small(f, &small, i);
}
