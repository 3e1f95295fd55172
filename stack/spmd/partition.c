/*
 * GSPMD's propagation: carries shardings from annotated nodes to their users in one walk, and
 * emits each node in parts.
 */
#include "stack/spmd/partition_impl.h"

#include <assert.h>
#include <string.h>

#include "stack/hlo/rewrite.h"

/* ----- notes */

static int take_note(struct partition *p, const struct sharding_note *note)
{
    const struct graph_node *n = &p->from->node[note->node];

    if (sharding_check(p->mesh, &n->shape, &note->sharding, n->name, p->e))
        return -1;
    if (n->tuple_count)
        return err_set(p->e, "%s has several results: cut those", n->name);
    p->part[note->node].wanted = note->sharding;
    p->part[note->node].is_fixed = true;
    return 0;
}

/* those of this graph; a loop's parameters lie as its state does */
static int take_notes(struct partition *p)
{
    const struct graph *own = p->is_body ? p->from : NULL;

    for (int i = 0; i < p->from->parameter_count && !p->is_body; i++)
        p->part[p->from->parameter[i]].is_fixed = true;
    for (int i = 0; i < p->note_count; i++)
        if (p->note[i].body == own && take_note(p, &p->note[i]))
            return -1;
    return 0;
}

/* ----- what a node's operands should be like */

static struct sharding wanted_operand(const struct partition *p, const struct graph_node *n, int k,
                                      const struct sharding *made)
{
    struct sharding s = {{0}};

    for (int d = 0; d < n->shape.rank; d++) {
        int dim = made->axis[d] ? partition_link_operand_dim(p->from, n, k, d) : -1;

        if (dim >= 0)
            s.axis[dim] = made->axis[d];
    }
    return s;
}

/* the axis that may cut a pair of contracted dimensions: one that cuts an operand already */
static int contracted_axis(const struct partition *p, const struct graph_node *n, int lhs, int rhs)
{
    int axis = p->part[n->operand[0]].made.axis[lhs];

    if (axis == 0 && rhs >= 0)
        axis = p->part[n->operand[1]].made.axis[rhs];
    return axis;
}

/* cuts contracted dimensions of the wanted operands; the axes to sum over */
static uint32_t cut_contracted(const struct partition *p, const struct graph_node *n,
                               struct sharding *lhs, struct sharding *rhs)
{
    uint32_t mask = 0;
    int a, b;

    for (int i = 0; partition_link_contraction(p->from, n, i, &a, &b); i++) {
        int axis = contracted_axis(p, n, a, b);
        uint32_t used = sharding_axes(lhs) | (b >= 0 ? sharding_axes(rhs) : 0);

        if (axis == 0 || used >> axis & 1)
            continue;
        lhs->axis[a] = (int8_t)axis;
        if (b >= 0)
            rhs->axis[b] = (int8_t)axis;
        mask |= 1u << axis;
    }
    return mask;
}

/* what the operation itself can make of what is wanted */
static struct sharding can_make(const struct partition *p, const struct graph_node *n,
                                const struct sharding *wanted)
{
    struct sharding s = {{0}};

    for (int d = 0; d < n->shape.rank; d++)
        if (wanted->axis[d] && partition_link_may_cut(p->from, n, d))
            s.axis[d] = wanted->axis[d];
    return s;
}

/*
 * A dimension that is to be cut along an axis that both operands are contracted along already: the
 * sum takes it, and a reduce-scatter cuts it.
 */
static void leave_to_sum(const struct partition *p, const struct graph_node *n,
                         struct sharding *made)
{
    int a, b;

    for (int i = 0; partition_link_contraction(p->from, n, i, &a, &b); i++) {
        int axis = p->part[n->operand[0]].made.axis[a];

        if (axis == 0 || (b >= 0 && p->part[n->operand[1]].made.axis[b] != axis))
            continue;
        for (int d = 0; d < n->shape.rank && d < GRAPH_RANK_MAX; d++)
            if (made->axis[d] == axis)
                made->axis[d] = 0;
    }
}

/* ----- attributes that tell sizes */

static void set_local(struct partition *p, const struct graph_node *n, const struct sharding *made,
                      struct graph_node *local)
{
    local->shape = n->tuple_count ? n->shape : sharding_local(p->mesh, &n->shape, made);
    for (int d = 0; d < n->shape.rank; d++) {
        if (n->op == HLO_SLICE && made->axis[d])
            local->limit[d] = local->shape.dim[d];
        if (n->op == HLO_DYNAMIC_SLICE)
            local->sizes[d] = local->shape.dim[d];
    }
    if (n->op == HLO_GATHER) {
        struct graph_gather *gather = arena_alloc(p->to->arena, sizeof(*gather));

        *gather = *n->gather;
        for (int d = 0; d < n->shape.rank; d++) {
            int dim = made->axis[d] ? partition_link_operand_dim(p->from, n, 0, d) : -1;

            if (dim >= 0)
                gather->slice_sizes[dim] = local->shape.dim[d];
        }
        local->gather = gather;
    }
}

/* an index along a cut dimension begins where the device's part does */
static int shift_iota(struct partition *p, const struct graph_node *n, int node,
                      const struct sharding *made)
{
    struct graph *g = p->to;
    int axis = made->axis[n->dim], first;
    struct shape shape = g->node[node].shape;

    if (axis == 0)
        return node;
    int fourth = graph_constant(g, shape_scalar(DTYPE_S32), (double)shape.dim[n->dim]);
    first = graph_binary(g, HLO_MULTIPLY, partition_coordinate(p, axis), fourth);
    first = graph_broadcast(g, graph_convert(g, first, shape.dtype), shape, NULL);
    return graph_binary(g, HLO_ADD, node, first);
}

/* ----- between replicas */

static int make_groups(struct partition *p, const struct graph_node *n, struct graph_node *local)
{
    struct graph_groups *groups;

    if (n->groups && (n->groups->count != 1 || n->groups->size != p->mesh->axis[0].size))
        return err_set(p->e, "%s: in a step for logical devices collectives are of all %d "
                       "replicas", n->name, p->mesh->axis[0].size);
    groups = arena_alloc(p->to->arena, sizeof(*groups));
    *groups = mesh_groups(p->mesh, 1, p->to->arena);
    local->groups = groups;
    return 0;
}

/*
 * Random bits of a whole array must be the same on all logical devices: those of the first one go
 * to the others as two halves in f32, which sums with zeros leave as they are.
 */
static int share_bits(struct partition *p, int bits)
{
    struct graph *g = p->to;
    int zero = graph_constant(g, shape_scalar(DTYPE_S32), 0.0), half[2], is_first = NODE_NONE;
    struct shape shape = g->node[bits].shape;
    struct graph_groups groups = mesh_groups(p->mesh, ~1u, g->arena);

    for (int axis = 1; axis < p->mesh->axis_count; axis++) {
        int here = graph_compare(g, COMPARE_EQ, partition_coordinate(p, axis), zero);

        is_first = is_first == NODE_NONE ? here : graph_binary(g, HLO_AND, is_first, here);
    }
    half[0] = graph_binary(g, HLO_AND, bits, graph_splat(g, bits, 65535.0));
    half[1] = graph_binary(g, HLO_SHIFT_RIGHT_LOGICAL, bits, graph_splat(g, bits, 16.0));
    for (int i = 0; i < 2; i++) {
        half[i] = graph_convert(g, graph_convert(g, half[i], DTYPE_S32), DTYPE_F32);
        half[i] = graph_select(g, is_first, half[i], graph_splat(g, half[i], 0.0));
        half[i] = graph_all_reduce_groups(g, &half[i], 1, &groups);
        half[i] = graph_convert(g, graph_convert(g, half[i], DTYPE_S32), shape.dtype);
    }
    half[1] = graph_binary(g, HLO_SHIFT_LEFT, half[1], graph_splat(g, half[1], 16.0));
    return graph_binary(g, HLO_OR, half[0], half[1]);
}

/* ----- a node */

static void make_parameter(struct partition *p, int i)
{
    struct partition_part *part = &p->part[i];
    const struct graph_node *n = &p->from->node[i];

    part->made = part->wanted;
    part->node = graph_parameter(p->to, sharding_local(p->mesh, &n->shape, &part->made), n->name);
}

/* a collective's results lie as its operands do, a loop's as its state */
static struct sharding tuple_element(const struct partition *p, const struct graph_node *n)
{
    const struct graph_node *tuple = &p->from->node[n->operand[0]];
    struct sharding whole = {{0}};

    if (p->part[n->operand[0]].state)
        return p->part[n->operand[0]].state[n->dim];
    return graph_op_kind(tuple->op) == KIND_COLLECTIVE ? p->part[tuple->operand[n->dim]].made
                                                       : whole;
}

/* what a replica sends to another goes from each of its devices to the one in the same place */
static void make_pairs(const struct partition *p, const struct graph_node *n,
                       struct graph_node *local)
{
    int devices = mesh_stride(p->mesh, 0);
    struct graph_pair *pair = arena_array(p->to->arena, (size_t)n->count * (size_t)devices + 1,
                                          sizeof(*pair));

    for (int64_t i = 0; i < n->count * devices; i++) {
        const struct graph_pair *of = &n->pair[i / devices];
        int32_t device = (int32_t)(i % devices);

        pair[i] = (struct graph_pair){of->source * devices + device, of->target * devices + device};
    }
    local->pair = pair;
    local->count = n->count * devices;
}

static int make_collective(struct partition *p, const struct graph_node *n,
                           struct graph_node *local, int *operand, struct sharding *made)
{
    if (n->op == HLO_COLLECTIVE_PERMUTE) {
        *made = p->part[n->operand[0]].made;
        operand[0] = partition_part(p, n->operand[0], made);
        make_pairs(p, n, local);
        return 0;
    }
    for (int k = 0; k < n->operand_count; k++) {
        struct sharding s = p->part[n->operand[k]].made;

        if (n->op != HLO_ALL_REDUCE)
            s.axis[n->dim] = 0;
        operand[k] = partition_part(p, n->operand[k], &s);
        *made = s;
    }
    return make_groups(p, n, local);
}

/* operands as the operation wants them to make *made; the axes to sum over */
static uint32_t make_operands(struct partition *p, const struct graph_node *n, int *operand,
                              const struct sharding *made)
{
    struct sharding of[2] = {{{0}}, {{0}}};
    uint32_t sums;

    for (int k = 0; k < n->operand_count && k < 2; k++)
        of[k] = wanted_operand(p, n, k, made);
    sums = cut_contracted(p, n, &of[0], &of[1]);
    for (int k = 0; k < n->operand_count; k++) {
        struct sharding s = k < 2 ? of[k] : wanted_operand(p, n, k, made);

        operand[k] = partition_part(p, n->operand[k], &s);
    }
    return sums;
}

/* what depends on the device behind the operation itself */
static int finish_node(struct partition *p, const struct graph_node *n, int node,
                       const struct sharding *made)
{
    if (n->op == HLO_IOTA)
        return shift_iota(p, n, node, made);
    if (n->op == HLO_RNG_BITS && mesh_stride(p->mesh, 0) > 1)
        return share_bits(p, node);
    return node;
}

static int make_nodes(struct partition *p);

/* the same everywhere, so that it may lie in any way */
static bool is_splat(const struct graph *g, int node)
{
    while (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONSTANT && !g->node[node].literal;
}

/*
 * State lies in each round as the operand does, but what begins as a constant, such as a sum,
 * which lies as the body makes it.
 */
static void find_state(const struct partition *outer, const struct graph_node *n,
                       struct partition *p, struct sharding *state)
{
    for (int k = 0; k < n->operand_count; k++) {
        struct partition_part *part = &p->part[p->from->parameter[k]];

        part->wanted = outer->part[n->operand[k]].made;
        part->is_fixed = !is_splat(outer->from, n->operand[k]);
    }
    partition_spread(p);
    for (int k = 0; k < n->operand_count; k++) {
        struct partition_part *part = &p->part[p->from->parameter[k]];

        part->is_fixed = true;
        state[k] = part->wanted;
    }
}

/* the body of a loop, cut as its state lies */
static int make_loop(struct partition *outer, const struct graph_node *n, struct sharding *state,
                     struct graph *to)
{
    const struct graph *body = n->called[0];
    struct partition p = {.from = body, .to = to, .mesh = outer->mesh, .note = outer->note,
                          .note_count = outer->note_count, .is_body = true, .e = outer->e};
    int status;

    if (n->op != HLO_WHILE || n->called[1])
        return err_set(outer->e, "%s: a %s cannot be cut for logical devices", n->name,
                       n->op == HLO_WHILE ? "loop with a condition" : graph_op_name(n->op));
    p.part = mem_alloc((size_t)(body->node_count + 1) * sizeof(*p.part));
    for (int i = 0; i < MESH_AXES_MAX; i++)
        p.coordinate[i] = NODE_NONE;
    graph_init(to, outer->to->arena, body->name);
    status = take_notes(&p);
    if (!status) {
        find_state(outer, n, &p, state);
        status = make_nodes(&p);
    }
    for (int k = 0; k < body->output_count && !status; k++)
        graph_output(to, partition_part(&p, body->output[k].node, &state[k]),
                     body->output[k].name, -1);
    graph_freeze(to);
    mem_free(p.part);
    return status;
}

/* a loop and what it takes: operands as the state lies, the body of a device */
static int make_call(struct partition *p, int i, struct graph_node *local, int *operand,
                     struct sharding *made)
{
    const struct graph_node *n = &p->from->node[i];
    struct sharding *state = arena_array(p->to->arena, (size_t)n->operand_count + 1,
                                         sizeof(*state));
    struct graph *body = arena_alloc(p->to->arena, sizeof(*body));

    if (make_loop(p, n, state, body))
        return -1;
    local->called[0] = body;
    for (int k = 0; k < n->operand_count; k++)
        operand[k] = partition_part(p, n->operand[k], &state[k]);
    p->part[i].state = state;
    *made = state[0];
    return 0;
}

/* the node itself, its parts not yet summed up over the axes in *sums */
static int add_node(struct partition *p, int i, struct sharding *made, uint32_t *sums)
{
    const struct graph_node *n = &p->from->node[i];
    struct graph_node local = *n;
    int *operand = arena_array(p->to->arena, (size_t)n->operand_count + 1, sizeof(*operand));

    *sums = 0;
    if (n->op == HLO_WHILE) {
        if (make_call(p, i, &local, operand, made))
            return -1;
    } else if (graph_op_kind(n->op) == KIND_COLLECTIVE) {
        if (make_collective(p, n, &local, operand, made))
            return -1;
    } else if (n->op == HLO_GET_TUPLE_ELEMENT) {
        operand[0] = p->part[n->operand[0]].node;
        *made = tuple_element(p, n);
    } else {
        leave_to_sum(p, n, made);
        *sums = make_operands(p, n, operand, made);
    }
    set_local(p, n, made, &local);
    p->to->source = n->source;
    p->part[i].node = finish_node(p, n, graph_add(p->to, &local, operand, n->operand_count), made);
    return 0;
}

static int make_node(struct partition *p, int i)
{
    const struct graph_node *n = &p->from->node[i];
    struct partition_part *part = &p->part[i];
    uint32_t sums;

    p->to->source = n->source;
    part->made = can_make(p, n, &part->wanted);
    if (n->op == HLO_PARTITION_ID || n->op == HLO_REPLICA_ID) {
        part->node = graph_convert(p->to, partition_coordinate(p, 0), DTYPE_U32);
        return 0;
    }
    if (add_node(p, i, &part->made, &sums))
        return -1;
    if (sums)
        part->node = partition_sum(p, part->node, sums, &part->made, &part->wanted);
    if (part->is_fixed) {
        part->node = partition_move(p, part->node, &part->made, &part->wanted, &n->shape);
        part->made = part->wanted;
    }
    return 0;
}

static int make_nodes(struct partition *p)
{
    const struct graph *g = p->from;
    int status = 0;

    for (int i = 0; i < g->parameter_count; i++)
        make_parameter(p, g->parameter[i]);
    for (int i = 0; i < g->node_count && !status; i++)
        if (g->node[i].op != HLO_PARAMETER)
            status = make_node(p, i);
    return status;
}

static void make_outputs(struct partition *p)
{
    const struct graph *g = p->from;

    for (int i = 0; i < g->output_count; i++) {
        const struct graph_output *o = &g->output[i];
        int like = o->alias_parameter >= 0 ? g->parameter[o->alias_parameter] : o->node;
        struct sharding s = {{0}};

        if (p->part[like].is_fixed)
            s = p->part[like].wanted;
        graph_output(p->to, partition_part(p, o->node, &s), o->name, o->alias_parameter);
    }
}

int graph_partition(const struct graph *g, const struct mesh *mesh,
                    const struct sharding_note *note, int note_count, struct graph *out,
                    struct err *e)
{
    struct partition p = {.from = g, .to = out, .mesh = mesh, .note = note,
                          .note_count = note_count, .e = e};
    int status;

    p.part = mem_alloc((size_t)(g->node_count + 1) * sizeof(*p.part));
    for (int i = 0; i < MESH_AXES_MAX; i++)
        p.coordinate[i] = NODE_NONE;
    status = take_notes(&p);
    if (!status)
        partition_spread(&p);
    if (!status)
        status = make_nodes(&p);
    if (!status)
        make_outputs(&p);
    mem_free(p.part);
    return status;
}
