/* Lowers operations between devices. A device's number is its partition's, or its replica's. */
#include "import/lower/lower_impl.h"

#include <string.h>

static int devices_of(const struct lower *l)
{
    return l->settings && l->settings->device_count > 0 ? l->settings->device_count : 1;
}

/*
 * What numbers of an operation stand for in a program of replicas and partitions: `each` groups
 * for one, number `id` of which is device id x step + k x shift; a group has `spread` devices for
 * an id. A device's number is replica x partitions + partition.
 */
struct numbering { int count, step, each, shift, spread; };

static struct numbering numbering_of(const struct lower_scope *s)
{
    int replicas = (int)s->l->module->replica_count, partitions = (int)s->l->module->partition_count;
    const struct hlo_groups *g = hlo_detail(s->now)->groups;
    bool is_sum = s->now->op == OPCODE_ALL_REDUCE || s->now->op == OPCODE_ALL_GATHER ||
                  s->now->op == OPCODE_REDUCE_SCATTER;

    if (replicas <= 1 || partitions <= 1 || (g && g->channel_id > 0 && is_sum && g->use_global_ids))
        return (struct numbering){devices_of(s->l), 1, 1, 0, 1};
    if (!g || g->channel_id == 0)
        return (struct numbering){replicas, partitions, partitions, 1, 1};
    if (is_sum)                         /* replicas with all of their partitions */
        return (struct numbering){replicas, partitions, 1, 0, partitions};
    return (struct numbering){partitions, 1, replicas, partitions, 1};
}

/* the devices of group `group` of the program: as many groups as the numbering has for one */
static int32_t *add_members(const struct numbering *n, const struct hlo_groups *from, int first,
                            int size, int32_t *member)
{
    for (int k = 0; k < n->each; k++)
        for (int p = 0; p < n->spread; p++)
            for (int i = 0; i < size; i++) {
                int id = from && from->size.count ? (int)from->id.item[first + i] : i;

                *member++ = (int32_t)(id * n->step + k * n->shift + p);
            }
    return member;
}

/* of equal sizes, as the graph has them; NULL: refused */
static const struct graph_groups *groups_of(struct lower_scope *s)
{
    const struct hlo_groups *from = hlo_detail(s->now)->groups;
    struct graph_groups *g = arena_alloc(s->l->arena, sizeof(*g));
    struct numbering n = numbering_of(s);
    bool has_list = from && from->size.count > 0;
    int count = has_list ? from->size.count : 1, size = has_list ? (int)from->size.item[0] : n.count;
    int32_t *member, *next;

    *g = (struct graph_groups){.count = 1, .size = devices_of(s->l)};
    if (size * n.spread == devices_of(s->l) && !has_list)
        return g;
    for (int k = 1; k < count; k++)
        if (from->size.item[k] != from->size.item[0]) {
            lower_refuse(s, "groups of different sizes");
            return NULL;
        }
    next = member = arena_array(s->l->arena, (size_t)(count * size * n.each * n.spread) + 1,
                                sizeof(*member));
    for (int k = 0; k < count; k++)
        next = add_members(&n, from, k * size, size, next);
    *g = (struct graph_groups){.count = count * n.each, .size = size * n.spread,
                               .member = member};
    return g;
}

/* each device by itself: the operands are the result */
static bool is_alone(struct lower_scope *s, const struct graph_groups *g)
{
    if (g->size != 1)
        return false;
    if (s->now->operand_count == 1)
        lower_same(s, s->now, HLO_COPY);
    else
        lower_tuple(s, s->now, HLO_TUPLE);
    return true;
}

static enum graph_reduce kind_of(struct lower_scope *s)
{
    enum graph_reduce kind = REDUCE_ADD;
    enum hlo_opcode combines =
        structure_combines(s->l->module, hlo_detail(s->now)->computation[0], 0);
    const struct hlo_type *t = s->c->instruction[s->now->operand[0]].type;

    if (combines == OPCODE_PARAMETER ||
        !lower_reduce_kind(combines, t->element == ELEMENT_PRED, &kind))
        lower_refuse(s, "devices do not combine by this computation");
    return kind;
}

/* rank in its group of the device that runs: a table by device */
static int rank_of_device(struct lower_scope *s, const struct graph_groups *g)
{
    int devices = g->count * g->size;
    int32_t *rank = arena_array(s->l->arena, (size_t)devices, sizeof(*rank));

    for (int k = 0; k < devices; k++)
        rank[g->member ? g->member[k] : k] = k % g->size;
    return lower_add(s, &(struct graph_node){.op = HLO_PARTITION_ID, .literal = rank,
                                             .count = devices,
                                             .shape = shape_scalar(DTYPE_S32)}, NULL, 0);
}

/* the machine's collectives add these; everything else is gathered and combined on each device */
static bool is_added_on_the_way(enum graph_reduce kind, enum graph_dtype dtype)
{
    return kind == REDUCE_ADD && (dtype == DTYPE_F32 || dtype == DTYPE_BF16);
}

/* operand k of all devices, with a dimension of their own in front, combined along it */
static int combine_gathered(struct lower_scope *s, int operand, const struct graph_node *n)
{
    struct shape shape = s->g->node[operand].shape, apart = {.dtype = shape.dtype};
    struct graph_node gather = {.op = HLO_ALL_GATHER, .dim = 0, .groups = n->groups};
    struct graph_node reduce = {.op = HLO_REDUCE, .reduce_kind = n->reduce_kind, .reduce_mask = 1};
    int start[GRAPH_RANK_MAX], node, rank;

    if (shape.rank == GRAPH_RANK_MAX)
        return lower_refuse(s, "%d dimensions, combined otherwise than by adding floats",
                            shape.rank);
    apart.rank = shape.rank + 1;
    apart.dim[0] = 1;
    for (int d = 0; d < shape.rank; d++)
        apart.dim[1 + d] = shape.dim[d];
    node = lower_add(s, &gather, (int[]){graph_reshape(s->g, operand, apart)}, 1);
    node = lower_add(s, &reduce, &node, 1);
    if (n->op == HLO_ALL_REDUCE)
        return node;
    shape.dim[n->dim] /= n->groups->size;       /* REDUCE_SCATTER: the block of this rank */
    for (int d = 0; d < shape.rank; d++)
        start[d] = graph_constant(s->g, shape_scalar(DTYPE_S32), 0);
    rank = rank_of_device(s, n->groups);
    start[n->dim] = graph_binary(s->g, HLO_MULTIPLY, rank,
                                 graph_constant(s->g, shape_scalar(DTYPE_S32),
                                                (double)shape.dim[n->dim]));
    return graph_dynamic_slice(s->g, node, start, shape.dim);
}

static void combine_all(struct lower_scope *s, const struct graph_node *n)
{
    int count = s->now->operand_count, *node = arena_array(s->l->arena, (size_t)count, sizeof(*node));

    for (int k = 0; k < count; k++) {
        node[k] = lower_operand(s, k);
        if (node[k] != NODE_NONE)
            node[k] = combine_gathered(s, node[k], n);
    }
    lower_set_leaves(s, count, node);
}

/* ----- groups of different sizes: what all devices have is gathered, and others' do not count */

static bool are_uneven(const struct hlo_instruction *i)
{
    const struct hlo_groups *g = hlo_detail(i)->groups;

    for (int k = 1; g && k < g->size.count; k++)
        if (g->size.item[k] != g->size.item[0])
            return true;
    return false;
}

/* the number of each device's group, by device */
static int32_t *group_numbers(struct lower_scope *s)
{
    const struct hlo_groups *from = hlo_detail(s->now)->groups;
    struct numbering n = numbering_of(s);
    int devices = devices_of(s->l), first = 0, number = 0;
    int32_t *of = arena_array(s->l->arena, (size_t)devices, sizeof(*of));
    int32_t *member = arena_array(s->l->arena, (size_t)devices, sizeof(*member));

    for (int k = 0; k < from->size.count; k++) {
        int size = (int)from->size.item[k], each = size * n.spread;

        add_members(&n, from, first, size, member);
        for (int i = 0; i < each * n.each; i++)
            of[member[i]] = number + i / each;
        number += n.each;
        first += size;
    }
    return of;
}

/* an array of all devices, of which those of other groups are what changes no sum */
static int mask_others(struct lower_scope *s, int all, const int32_t *group,
                       enum graph_reduce kind)
{
    struct shape shape = s->g->node[all].shape, at = shape_make(DTYPE_S32, 1, shape.dim);
    struct shape bound = shape;
    int own = lower_add(s, &(struct graph_node){.op = HLO_PARTITION_ID, .literal = group,
                                                .count = shape.dim[0],
                                                .shape = shape_scalar(DTYPE_S32)}, NULL, 0);
    int numbers = graph_literal(s->g, at, group), is_own;

    bound.dtype = DTYPE_PRED;
    is_own = graph_compare(s->g, COMPARE_EQ, numbers, graph_broadcast(s->g, own, at, NULL));
    is_own = graph_broadcast(s->g, is_own, bound, (int[]){0});
    return graph_select(s->g, is_own, all,
                        graph_constant(s->g, shape, graph_identity(kind, shape.dtype)));
}

static int combine_uneven(struct lower_scope *s, int operand, const int32_t *group,
                          enum graph_reduce kind)
{
    struct graph_groups everyone = {.count = 1, .size = devices_of(s->l)};
    struct graph_node gather = {.op = HLO_ALL_GATHER, .dim = 0,
                                .groups = arena_copy(s->l->arena, &everyone, 1, sizeof(everyone))};
    struct graph_node reduce = {.op = HLO_REDUCE, .reduce_kind = kind, .reduce_mask = 1};
    struct shape shape = s->g->node[operand].shape, apart = {.dtype = shape.dtype};
    int node;

    if (shape.rank == GRAPH_RANK_MAX)
        return lower_refuse(s, "%d dimensions, in groups of different sizes", shape.rank);
    apart.rank = shape.rank + 1;
    apart.dim[0] = 1;
    for (int d = 0; d < shape.rank; d++)
        apart.dim[1 + d] = shape.dim[d];
    node = lower_add(s, &gather, (int[]){graph_reshape(s->g, operand, apart)}, 1);
    node = mask_others(s, node, group, kind);
    return lower_add(s, &reduce, &node, 1);
}

static void combine_all_uneven(struct lower_scope *s)
{
    int count = s->now->operand_count, *node = arena_array(s->l->arena, (size_t)count, sizeof(*node));
    const int32_t *group = group_numbers(s);
    enum graph_reduce kind = kind_of(s);

    for (int k = 0; k < count; k++) {
        node[k] = lower_operand(s, k);
        if (node[k] != NODE_NONE)
            node[k] = combine_uneven(s, node[k], group, kind);
    }
    lower_set_leaves(s, count, node);
}

static bool are_added_on_the_way(struct lower_scope *s, const struct graph_node *n)
{
    for (int k = 0; k < s->now->operand_count; k++) {
        int operand = lower_operand(s, k);

        if (operand != NODE_NONE &&
            !is_added_on_the_way(n->reduce_kind, s->g->node[operand].shape.dtype))
            return false;
    }
    return true;
}

static void collect(struct lower_scope *s, struct graph_node *n)
{
    n->groups = groups_of(s);
    if (!n->groups || is_alone(s, n->groups))
        return;
    if (n->op != HLO_ALL_GATHER)
        n->reduce_kind = kind_of(s);
    if (n->op != HLO_ALL_GATHER && !are_added_on_the_way(s, n))
        combine_all(s, n);
    else
        lower_set_results(s, lower_add_operands(s, n), s->now->operand_count);
}

void lower_all_reduce(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    if (are_uneven(i))
        combine_all_uneven(s);
    else
        collect(s, &(struct graph_node){.op = (enum graph_op)op});
}

void lower_all_gather(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    collect(s,
            &(struct graph_node){.op = (enum graph_op)op, .dim = (int)hlo_detail(i)->dims.item[0]});
}

void lower_reduce_scatter(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    collect(s,
            &(struct graph_node){.op = (enum graph_op)op, .dim = (int)hlo_detail(i)->dims.item[0]});
}

void lower_collective_permute(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    int own = hlo_detail(i)->groups ? hlo_detail(i)->groups->pair.count / 2 : 0, count = 0;
    struct numbering n = numbering_of(s);
    struct graph_pair *pair = arena_array(s->l->arena, (size_t)own * (size_t)n.each + 1,
                                          sizeof(*pair));

    for (int k = 0; k < own * n.each; k++) {
        const int64_t *id = &hlo_detail(i)->groups->pair.item[2 * (k % own)];
        int64_t shift = (int64_t)(k / own) * n.shift;

        pair[count++] = (struct graph_pair){(int32_t)(id[0] * n.step + shift),
                                            (int32_t)(id[1] * n.step + shift)};
    }
    lower_set(s, lower_add_operands(s, &(struct graph_node){.op = (enum graph_op)op, .pair = pair,
                                                            .count = count}));
}

/* One array in `size` blocks along `split`, block r for the device of rank r, and what has come
 * joined along `join`: blocks are entries of a dimension of their own in front meanwhile. */
static int exchange(struct lower_scope *s, int a, const struct graph_groups *g, int split,
                    int join)
{
    struct graph_node all = {.op = HLO_ALL_TO_ALL, .groups = g};
    struct shape shape = s->g->node[a].shape, apart = {.dtype = shape.dtype}, whole = shape;
    int dims[GRAPH_RANK_MAX], node;

    if (shape.rank + 1 > GRAPH_RANK_MAX || shape.dim[split] % g->size)
        return lower_refuse(s, "blocks of dimension %d, which has %lld elements", split,
                            (long long)shape.dim[split]);
    apart.rank = shape.rank + 1;        /* [.., block, within the block, ..] */
    for (int d = 0; d < shape.rank; d++)
        apart.dim[d + (d > split)] = shape.dim[d];
    apart.dim[split] = g->size;
    apart.dim[split + 1] = shape.dim[split] / g->size;
    for (int d = 0; d < apart.rank; d++)        /* the block in front */
        dims[d] = d == 0 ? split : d <= split ? d - 1 : d;
    node = graph_transpose(s->g, graph_reshape(s->g, a, apart), dims);
    node = lower_add(s, &all, &node, 1);
    for (int d = 0; d < apart.rank; d++)        /* the device in front of `join` */
        dims[d] = d < join ? d + 1 : d == join ? 0 : d;
    node = graph_transpose(s->g, node, dims);
    whole.dim[split] /= g->size;
    whole.dim[join] *= g->size;
    return graph_reshape(s->g, node, whole);
}

/* operand k is for the device of rank k, and result k has come from it */
static void exchange_arrays(struct lower_scope *s, const struct graph_groups *g)
{
    int *node = arena_array(s->l->arena, (size_t)g->size, sizeof(*node)), all;
    int64_t start[GRAPH_RANK_MAX] = {0};
    struct shape shape, one = {0};

    for (int k = 0; k < g->size; k++) {
        node[k] = lower_operand(s, k);
        if (node[k] == NODE_NONE)
            return;
        shape = s->g->node[node[k]].shape;
        if (shape.rank == GRAPH_RANK_MAX) {
            lower_refuse(s, "%d dimensions", shape.rank);
            return;
        }
        one = (struct shape){.dtype = shape.dtype, .rank = shape.rank + 1, .dim = {1}};
        for (int d = 0; d < shape.rank; d++)
            one.dim[1 + d] = shape.dim[d];
        node[k] = graph_reshape(s->g, node[k], one);
    }
    all = exchange(s, graph_concatenate(s->g, node, g->size, 0), g, 0, 0);
    for (int k = 0; k < g->size; k++) {
        struct shape limit = one;

        start[0] = k;
        limit.dim[0] = k + 1;
        node[k] = graph_reshape(s->g, graph_slice(s->g, all, start, limit.dim, NULL), shape);
    }
    lower_set_leaves(s, g->size, node);
}

/* one array in blocks, or an array for each device */
void lower_all_to_all(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct graph_groups *g = groups_of(s);
    int split = hlo_detail(i)->dims.count > 0 ? (int)hlo_detail(i)->dims.item[0] : 0;
    int join = hlo_detail(i)->dims.count > 1 ? (int)hlo_detail(i)->dims.item[1] : split;

    (void)op;
    if (!g || is_alone(s, g))
        return;
    if (i->operand_count == 1 && lower_operand(s, 0) != NODE_NONE)
        lower_set(s, exchange(s, lower_operand(s, 0), g, split, join));
    else if (i->operand_count == g->size)
        exchange_arrays(s, g);
    else
        lower_refuse(s, "%d arrays for groups of %d devices", i->operand_count, g->size);
}
