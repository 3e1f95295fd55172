/*
 * Which nodes share a kernel.
 *
 * Nodes are visited from the last to the first. A node all of whose readers are
 * in one group joins it, if a kernel makes the larger group; one that costs
 * little and reads at most one array is computed again in each reader's group;
 * any other begins a group of its own. So a group has one root at first, and
 * nothing can wait in a circle. Then groups that read the same arrays are
 * merged (stack/passes/fusion_merge.c). Of a program that is kept the units are the groups, as far
 * as kernels make them (stack/passes/fusion_kept.c).
 *
 * What a kernel takes is asked of it; here is only what pays:
 *   - elementwise work goes behind the product or window that makes its
 *     operand rather than before one that reads it;
 *   - before a product goes what reads arrays that are there anyway;
 *   - a conversion to a narrower type belongs to the kernel that computes the value, not to a
 *     product that reads it: half of the bytes between them;
 *   - work on a smaller array that is spread over a larger one stays apart, as
 *     it would be done over and over, unless it is of one element.
 */
#include "stack/passes/fusion.h"

#include "stack/hlo/array.h"
#include "stack/hlo/bitcast.h"

#define CHEAP_OPS_MAX 8                 /* a chain computed again is no longer than this */
#define BLOCK_SIDE 1024                 /* rows and columns of a product's step: accuracy.md */

static void find_users(struct fusion *f)
{
    const struct graph *g = f->g;

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            f->node[g->node[i].operand[k]].user_count++;
    for (int i = 0; i < g->node_count; i++) {
        f->node[i].user = arena_array(&f->arena, (size_t)f->node[i].user_count, sizeof(int));
        f->node[i].user_count = 0;
        f->node[i].owner = -1;
    }
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++) {
            struct fusion_node *x = &f->node[g->node[i].operand[k]];

            x->user[x->user_count++] = i;
        }
    for (int i = 0; i < g->output_count; i++)
        f->is_output[g->output[i].node] = true;
}

/* what no kernel has to do, or does alone because it has several results already */
static bool stands_alone(const struct graph *g, const struct graph_node *n)
{
    if (n->tuple_count > 0 || graph_op_kind(n->op) == KIND_COLLECTIVE ||
        graph_op_kind(n->op) == KIND_MESSAGE)
        return true;
    switch (n->op) {
    case HLO_PARAMETER:
    case HLO_PARTITION_ID:
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_WHILE:
    case HLO_CONDITIONAL:
    case HLO_FUSION:
    case HLO_CUSTOM_CALL:
    case HLO_MOSAIC:
        return true;
    case HLO_CONSTANT:
        return n->literal != NULL;
    case HLO_RESHAPE:
        return array_is_bitcast(&g->node[n->operand[0]].shape, &n->shape);
    case HLO_DOT:
        return n->dot.is_alone;
    default:
        return false;
    }
}

/* whatever is made of it is made where it is: read once, or by work on arrays like it alone */
static bool stays_local(const struct fusion *f, int node)
{
    const struct fusion_node *p = &f->node[node];

    if (f->is_free[node] || f->is_output[node])
        return false;
    for (int i = 0; i < p->user_count && p->user_count > 1; i++) {
        const struct graph_node *user = &f->g->node[p->user[i]];

        if (!fusion_is_simple(user) || !shape_same_dims(&user->shape, &f->g->node[node].shape))
            return false;
    }
    return true;
}

/* of an elementwise node: the last hero whose value it takes where nobody else reads that */
static int followed_hero(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];
    int last = NODE_NONE;

    for (int k = 0; k < n->operand_count; k++) {
        int a = n->operand[k];
        const struct graph_node *operand = &f->g->node[a];
        int hero = fusion_is_hero(operand) ? a : f->hero_of[a];

        if (hero != NODE_NONE && stays_local(f, a) &&
            shape_same_dims(&operand->shape, &n->shape) && hero > last)
            last = hero;
    }
    return last;
}

/* an operation whose value is needed once per element of a smaller array */
static bool would_repeat(const struct fusion *f, const struct fusion_group *p, int node)
{
    const struct graph_node *n = &f->g->node[node];
    int64_t elems = shape_elems(&n->shape);

    return graph_op_kind(n->op) != KIND_SOURCE && n->op != HLO_BROADCAST &&
           n->op != HLO_CONVERT && n->op != HLO_REDUCE && !fusion_is_hero(n) && elems > 1 &&
           elems * 8 <= p->elems;
}

/* the node, and the constant that it spreads: a kernel knows what to do with both at once */
static bool insert_with_scalar(struct fusion *f, struct fusion_group *p, int node)
{
    const struct graph_node *n = &f->g->node[node];
    int scalar = n->op == HLO_BROADCAST ? n->operand[0] : NODE_NONE;

    if (scalar != NODE_NONE && (f->g->node[scalar].op != HLO_CONSTANT || f->is_free[scalar] ||
                                fusion_has(p, scalar)))
        scalar = NODE_NONE;
    fusion_insert(f, p, node);
    if (scalar != NODE_NONE)
        fusion_insert(f, p, scalar);
    if (fusion_is_taken(f, p))
        return true;
    fusion_remove(f, p, node);
    if (scalar != NODE_NONE)
        fusion_remove(f, p, scalar);
    return false;
}

static bool is_expensive(const struct graph_node *n)
{
    return (graph_op_traits(n->op) & TRAIT_EXPENSIVE) != 0;
}

/* rounds what a kernel computes: whoever reads it again reads the narrow array, not the wide one */
static bool narrows(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node], *from = &f->g->node[n->operand[0]];

    return n->op == HLO_CONVERT && n->shape.rank > 0 && !f->is_free[n->operand[0]] &&
           array_element_bytes(n->shape.dtype) < array_element_bytes(from->shape.dtype);
}

/* made of an array of values as wide, by operations on arrays like it: of f32 scores, say */
static bool is_of_wide_values(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    for (int depth = 0; fusion_is_simple(n) && depth < CHEAP_OPS_MAX; depth++) {
        int next = NODE_NONE;

        for (int k = 0; k < n->operand_count && next == NODE_NONE; k++)
            if (f->g->node[n->operand[k]].op != HLO_BROADCAST &&
                shape_equal(&f->g->node[n->operand[k]].shape, &n->shape))
                next = n->operand[k];
        if (next == NODE_NONE)
            return false;
        n = &f->g->node[next];
    }
    return n->shape.dtype == DTYPE_F32;
}

/*
 * A function whose values are summed and go into a product. Of f32 scores XLA stores those and has
 * it computed again as the product reads them (docs/accuracy.md, What peak memory tells). Scores
 * of bf16 are half of the bytes, and what is computed of them is narrow when it is stored.
 */
static bool is_computed_again(const struct fusion *f, int node)
{
    const struct fusion_node *p = &f->node[node];
    bool is_summed = false;

    for (int i = 0; i < p->user_count; i++)
        is_summed |= f->g->node[p->user[i]].op == HLO_REDUCE;
    return is_expensive(&f->g->node[node]) && p->user_count == 2 && is_summed &&
           is_of_wide_values(f, node);
}

/* what is less than its maximum, its share of its sum, and either of those two spread */
static bool takes_sums(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    if (n->op == HLO_BROADCAST) {
        for (int i = 0; i < f->node[node].user_count; i++)
            if (is_of_wide_values(f, f->node[node].user[i]))
                return true;
        return false;
    }
    return is_of_wide_values(f, narrows(f, node) ? n->operand[0] : node);
}

/* Reads at most one array of its own size, and is done in few operations. */
static bool is_cheap(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];
    int64_t elems = shape_elems(&n->shape);
    int large = 0;

    if (fusion_is_offset(f, node))
        return true;
    if (!fusion_is_simple(n) || is_expensive(n))
        return false;
    for (int k = 0; k < n->operand_count; k++)
        large += shape_elems(&f->g->node[n->operand[k]].shape) * 8 > elems &&
                 !(f->g->node[n->operand[k]].op == HLO_BROADCAST);
    return large <= 1;
}

/* whether member number `of` needs the node, through members */
static bool is_needed(const struct fusion *f, const struct fusion_group *p, int of, int node)
{
    bool is_needed_too[FUSION_NODES_MAX + 1] = {false};

    is_needed_too[of] = true;
    for (int i = of; i >= 0; i--) {
        const struct graph_node *n = &f->g->node[p->member[i]];

        for (int k = 0; is_needed_too[i] && k < n->operand_count; k++) {
            if (n->operand[k] == node)
                return true;
            for (int j = 0; j < i; j++)
                is_needed_too[j] |= p->member[j] == n->operand[k];
        }
    }
    return false;
}

/* a small value that a reduction in this program makes, as a softmax divides by */
static bool is_from_reduction(const struct fusion *f, int node, int depth)
{
    const struct graph_node *n = &f->g->node[node];

    if (n->op == HLO_REDUCE)
        return true;
    if (f->is_free[node] || !fusion_is_simple(n) || depth == CHEAP_OPS_MAX)
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (is_from_reduction(f, n->operand[k], depth + 1))
            return true;
    return false;
}

/*
 * Computed from arrays that are there anyway, and from small ones, by operations of its own. What
 * is reduced goes on in the loop that reduces it, unless the reader takes sums.
 */
static bool reads_arrays(const struct fusion *f, int node, bool takes_sums)
{
    const struct graph_node *n = &f->g->node[node];
    int64_t elems = shape_elems(&n->shape);

    for (int k = 0; k < n->operand_count; k++) {
        int a = n->operand[k];
        const struct graph_node *operand = &f->g->node[a];

        if (shape_elems(&operand->shape) * 8 <= elems) {
            if (!takes_sums && is_from_reduction(f, a, 0))
                return false;
            continue;
        }
        if (f->is_free[a] || f->is_output[a] || fusion_is_work(f, a))
            continue;
        if (!(fusion_is_simple(operand) || fusion_is_offset(f, a)) ||
            (f->node[a].user_count > 1 && !is_cheap(f, a) &&
             !(takes_sums && is_computed_again(f, a))) ||
            !reads_arrays(f, a, takes_sums))
            return false;
    }
    return true;
}

/* whether an operand of the product is read by several blocks of its other operand */
static bool is_read_again(const struct fusion *f, int dot, int node)
{
    const struct graph_node *n = &f->g->node[dot];
    const struct shape *lhs = &f->g->node[n->operand[0]].shape;
    int64_t deep = 1;

    for (int i = 0; i < n->dot.contract_count; i++)
        deep *= lhs->dim[n->dot.lhs_contract[i]];
    return shape_elems(&n->shape) * deep > shape_elems(&f->g->node[node].shape) * BLOCK_SIDE;
}

/*
 * Of a group with a product: an operand of it that would make others compute or store more, or
 * functions that would be computed again for each block.
 */
static bool costs_more(const struct fusion *f, const struct fusion_group *p, int node)
{
    const struct graph_node *n = &f->g->node[node];

    for (int i = p->member_count - 1; i >= 0; i--)
        if (f->g->node[p->member[i]].op == HLO_DOT && is_needed(f, p, i, node))
            return !(fusion_is_simple(n) || fusion_is_offset(f, node)) ||
                   !reads_arrays(f, node, fusion_stores_product(f, p->member[i]) &&
                                              takes_sums(f, node)) ||
                   (is_expensive(n) && is_read_again(f, p->member[i], node));
    return false;
}

/* reads less than it gives: the reader's business wherever it is */
static bool widens(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return n->op == HLO_CONVERT &&
           array_element_bytes(n->shape.dtype) >
               array_element_bytes(f->g->node[n->operand[0]].shape.dtype);
}

/* behind a hero, and read behind a later one, which will join the group: it goes with its own */
static bool is_before_another_hero(const struct fusion *f, const struct fusion_group *p, int node)
{
    for (int i = 0; i < f->node[node].user_count && f->behind_hero[node]; i++) {
        int user = f->node[node].user[i];

        if (f->hero_of[user] > f->hero_of[node] && fusion_has(p, user))
            return true;
    }
    return false;
}

/* of a program that is kept: kernels hold what one unit has, and what is nobody's */
static bool is_of_another(const struct fusion *f, const struct fusion_group *p, int node)
{
    int unit = f->g->node[node].unit;

    return f->context->kept && unit && unit != p->unit;
}

/*
 * What makes a convolution's input or kernel: it may go into its kernel later, all of it at once, if
 * that pays (fusion_make_inputs).
 */
static bool is_before_convolution(const struct fusion *f, const struct fusion_group *p, int node)
{
    for (int i = p->member_count - 1; i >= 0 && p->has_hero; i--)
        if (f->g->node[p->member[i]].op == HLO_CONVOLUTION)
            return is_needed(f, p, i, node);
    return false;
}

static bool try_join(struct fusion *f, int group, int node)
{
    struct fusion_group *p = &f->group[group];

    if (fusion_has(p, node))
        return true;
    if (is_of_another(f, p, node))
        return false;
    if (p->is_whole)
        return !f->is_free[node] && insert_with_scalar(f, p, node);
    if (fusion_skips_padding(f, p, node) || fusion_works_before_move(f, p, node))
        return true;
    if (f->is_free[node] || would_repeat(f, p, node) ||
        (fusion_is_work(f, node) && (p->has_hero || f->context->heroes_alone ||
                                     fusion_spreads_sums(f, p) ||
                                     (fusion_stores_product(f, node) &&
                                      fusion_spreads_sums_of(f, p, p)))) ||
        (is_before_another_hero(f, p, node) && !widens(f, node)) ||
        (p->has_hero && (f->context->heroes_alone || (f->behind_hero[node] && !widens(f, node)) ||
                         costs_more(f, p, node))) ||
        (is_before_convolution(f, p, node) && !widens(f, node)))
        return false;
    return insert_with_scalar(f, p, node);
}

/* groups of all readers; -1 if one of them is in none, or too many */
static int groups_of_users(const struct fusion *f, int node, int *list, int max)
{
    int count = 0;

    for (int i = 0; i < f->node[node].user_count; i++) {
        const struct fusion_node *user = &f->node[f->node[node].user[i]];

        if (user->in_count == 0)
            return -1;
        for (int k = 0; k < user->in_count; k++) {
            bool is_new = true;

            for (int j = 0; j < count; j++)
                is_new &= list[j] != user->in[k];
            if (is_new && count == max)
                return -1;
            if (is_new)
                list[count++] = user->in[k];
        }
    }
    return count;
}

/* of what is computed again, all of it: a chain of cheap nodes must not grow without end */
static int source_depth(const struct fusion *f, int node)
{
    int depth = 0;

    while (depth <= CHEAP_OPS_MAX && f->g->node[node].operand_count == 1 &&
           fusion_is_simple(&f->g->node[node])) {
        node = f->g->node[node].operand[0];
        depth++;
    }
    return depth;
}

int fusion_new_group(struct fusion *f, int node)
{
    struct fusion_group *p = &f->group[f->group_count];

    p->unit = f->g->node[node].unit;
    fusion_insert(f, p, node);
    f->node[node].owner = f->group_count;
    return f->group_count++;
}

/* constants and the like cost nothing again, even where the value is stored for others, too */
static bool join_all(struct fusion *f, int node, const int *list, int count)
{
    int joined = 0;

    while (joined < count && try_join(f, list[joined], node))
        joined++;
    if (joined == count)
        return true;
    while (joined-- > 0)
        fusion_remove(f, &f->group[list[joined]], node);
    return false;
}

static bool is_source(const struct graph_node *n)
{
    return n->op == HLO_CONSTANT || n->op == HLO_IOTA || n->op == HLO_BROADCAST;
}

/* of a source that is stored for somebody: those groups that can make it themselves, do */
static void join_some(struct fusion *f, int node)
{
    for (int i = 0; i < f->node[node].user_count; i++) {
        const struct fusion_node *user = &f->node[f->node[node].user[i]];

        for (int k = 0; k < user->in_count; k++)
            try_join(f, user->in[k], node);
    }
}

static bool is_scalar_constant(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return n->op == HLO_BROADCAST && f->g->node[n->operand[0]].op == HLO_CONSTANT;
}

/* what a hero makes, times or plus constants, converted */
static bool is_scaled(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    while (f->behind_hero[node]) {
        if (n->operand_count > 2 ||
            (n->operand_count == 2 && !is_scalar_constant(f, n->operand[1])))
            return false;
        node = n->operand[0];
        n = &f->g->node[node];
    }
    return fusion_is_work(f, node);
}

static bool has_reduction(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (f->g->node[p->member[i]].op == HLO_REDUCE)
            return true;
    return false;
}

/* scales a product for a kernel that the product cannot join: it is free behind the product */
static bool stays_behind_hero(const struct fusion *f, int node, int group)
{
    const struct graph_node *n = &f->g->node[node];

    return f->behind_hero[node] && !f->group[group].has_hero && !f->context->heroes_alone
           && has_reduction(f, &f->group[group]) && is_scaled(f, node)
           && array_element_bytes(n->shape.dtype)
                  <= array_element_bytes(f->g->node[n->operand[0]].shape.dtype);
}

/* the only reader, a conversion to a narrower type in a product's group; or NODE_NONE */
static int narrowed_by(const struct fusion *f, int node)
{
    int user = f->node[node].user_count == 1 && !f->is_output[node] ? f->node[node].user[0]
                                                                    : NODE_NONE;
    const struct graph_node *n;

    if (user == NODE_NONE || f->node[user].in_count != 1)
        return NODE_NONE;
    n = &f->g->node[user];
    return n->op == HLO_CONVERT && f->group[f->node[user].in[0]].has_hero
                   && array_element_bytes(n->shape.dtype)
                          < array_element_bytes(f->g->node[node].shape.dtype)
               ? user : NODE_NONE;
}

/* what a product does not compute itself is narrowed before it is stored */
static bool take_back(struct fusion *f, int node)
{
    int user = narrowed_by(f, node), group;

    if (user == NODE_NONE || f->behind_hero[user])
        return false;
    fusion_remove(f, &f->group[f->node[user].in[0]], user);
    group = fusion_new_group(f, user);
    if (!try_join(f, group, node))
        fusion_new_group(f, node);
    else
        f->node[node].owner = group;
    return true;
}

/* such a function, of one group with a product of those that XLA stores */
static bool is_read_by_product(const struct fusion *f, int node, const int *list, int count)
{
    if (!is_computed_again(f, node))
        return false;
    for (int i = 0; i < count; i++)
        if (fusion_has_stored_product(f, &f->group[list[i]]))
            return true;
    return false;
}

#define USER_GROUPS_MAX 64

static void visit(struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];
    int list[USER_GROUPS_MAX], count;

    if (f->is_free[node])
        return;
    count = f->is_output[node] ? -1 : groups_of_users(f, node, list, USER_GROUPS_MAX);
    if (count == 0 || fusion_works_before_reshape(f, node))
        return;                         /* nobody needs it, or it has joined */
    if (count == 1 && !stays_behind_hero(f, node, list[0]) && try_join(f, list[0], node)) {
        f->node[node].owner = list[0];
        return;
    }
    if (count > 1 && (is_cheap(f, node) || is_read_by_product(f, node, list, count)) && !narrows(f, node) &&
        source_depth(f, node) <= CHEAP_OPS_MAX && join_all(f, node, list, count)) {
        f->node[node].owner = list[0];
        return;
    }
    if (is_source(n))
        join_some(f, node);
    if (!take_back(f, node))
        fusion_new_group(f, node);
}

static void init(struct fusion *f, struct graph *g)
{
    size_t count = (size_t)g->node_count;

    arena_init(&f->arena);
    f->g = g;
    f->node_count = g->node_count;
    f->node = arena_array(&f->arena, count, sizeof(*f->node));
    f->is_output = arena_array(&f->arena, count, sizeof(bool));
    f->is_free = arena_array(&f->arena, count, sizeof(bool));
    f->behind_hero = arena_array(&f->arena, count, sizeof(bool));
    f->hero_of = arena_array(&f->arena, count, sizeof(int));
    f->moved = arena_array(&f->arena, count, sizeof(int));
    f->group = mem_alloc(count * sizeof(*f->group));
    find_users(f);
    for (int i = 0; i < g->node_count; i++) {
        f->is_free[i] = stands_alone(g, &g->node[i]);
        f->moved[i] = NODE_NONE;
    }
    for (int i = 0; i < g->node_count; i++) {
        f->hero_of[i] = fusion_is_simple(&g->node[i]) ? followed_hero(f, i) : NODE_NONE;
        f->behind_hero[i] = f->hero_of[i] != NODE_NONE;
    }
}

static void fini(struct fusion *f)
{
    for (int i = 0; i < f->group_count; i++)
        mem_free(f->group[i].member);
    for (int i = 0; i < f->node_count; i++)
        mem_free(f->node[i].in);
    mem_free(f->group);
    arena_fini(&f->arena);
}

int pass_fusion(struct graph *g, const struct pass_context *c, struct err *e)
{
    struct fusion f = {.context = c, .in_vmem = NODE_NONE};

    (void)e;
    init(&f, g);
    if (c->kept)
        fusion_keep_units(&f);
    for (int i = g->node_count - 1; i >= 0; i--)
        if (f.node[i].owner < 0)
            visit(&f, i);
    if (!c->kept) {
        fusion_merge_groups(&f);
        fusion_make_inputs(&f);
        fusion_make_softmaxes(&f);
        fusion_make_operands(&f);
        fusion_recompute(&f);
    }
    fusion_emit(&f);
    fini(&f);
    return 0;
}
