/* Lowers operations on elements, and arrays that are made of nothing. */
#include "import/lower/lower_impl.h"

#include <string.h>

/* of predicates the graph knows logic only */
static int logic_of(int op)
{
    switch (op) {
    case HLO_ADD: case HLO_MAXIMUM: return HLO_OR;
    case HLO_MULTIPLY: case HLO_MINIMUM: return HLO_AND;
    case HLO_SUBTRACT: return HLO_XOR;
    default: return op;
    }
}

void lower_elementwise(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    if (i->type->element == ELEMENT_PRED)
        op = logic_of(op);
    lower_set(s, lower_add_operands(s, &(struct graph_node){.op = (enum graph_op)op}));
}

void lower_same(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct lower_value *v = lower_leaves(s, 0);

    (void)i;
    (void)op;
    lower_set_leaves(s, v->count, v->node);
}

/* of a program that is kept as it is (import/asis) a kernel; else nothing */
void lower_copy(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    if (hlo_place_more(hlo_place_of(i))->edge && !hlo_type_is_tuple(i->type))
        lower_set(s, graph_unary(s->g, HLO_COPY, lower_operand(s, 0)));
    else
        lower_same(s, i, op);
}

/* what a kernel of such a program leaves to others; else nothing */
void lower_barrier(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct lower_value *v = lower_leaves(s, 0);
    const struct kept_program *kept = s->l->settings->kept;
    struct graph_node n = {.op = HLO_ADD_DEPENDENCY};
    int *node = arena_array(s->l->arena, (size_t)v->count + 1, sizeof(*node));

    if (!kept || hlo_place_more(hlo_place_of(i))->edge < 1) {
        lower_same(s, i, op);
        return;
    }
    n.edge = &kept->edge[hlo_place_more(hlo_place_of(i))->edge];
    for (int k = 0; k < v->count; k++)
        node[k] = v->node[k] == NODE_NONE
                      ? NODE_NONE
                      : graph_add(s->g, &n, (int[]){v->node[k], v->node[k]}, 2);
    lower_set_leaves(s, v->count, node);
}

void lower_convert(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct shape shape = lower_shape(s, i->type);
    int a = lower_operand(s, 0);

    if (a != NODE_NONE && s->g->node[a].shape.dtype == shape.dtype) {
        lower_set(s, a);
        return;
    }
    shape = shape_scalar(shape.dtype);
    lower_set(s, lower_add_operands(s, &(struct graph_node){.op = (enum graph_op)op,
                                                            .shape = shape}));
}

void lower_compare(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    static const enum graph_compare directions[] = {
        [HLO_EQ] = COMPARE_EQ, [HLO_NE] = COMPARE_NE, [HLO_LT] = COMPARE_LT,
        [HLO_LE] = COMPARE_LE, [HLO_GT] = COMPARE_GT, [HLO_GE] = COMPARE_GE};
    const struct graph_node n = {.op = (enum graph_op)op, .direction = directions[i->direction]};

    lower_set(s, lower_add_operands(s, &n));
}

/* elements of the host as the graph's literals have them, 4 bytes each */
static void *words_of(struct arena *a, const struct hlo_literal *l, int64_t count)
{
    enum hlo_element e = l->type.element;
    uint32_t *word = arena_array(a, (size_t)count, sizeof(*word));

    for (int64_t i = 0; i < count; i++) {
        const void *from = hlo_literal_at(l, i);

        if (hlo_element_is_float(e)) {
            float value = (float)hlo_element_load(e, from);

            memcpy(&word[i], &value, sizeof(value));
        } else {
            word[i] = (uint32_t)hlo_element_load_int(e, from);
        }
    }
    return word;
}

/* f32 keeps its bits, those of a NaN too */
static void *dense_words(struct arena *a, const struct hlo_literal *l, int64_t count)
{
    if (hlo_element_bytes(l->type.element) == 4 && !l->is_splat)
        return arena_copy(a, l->data, (size_t)count, 4);
    return words_of(a, l, count);
}

static bool is_number(const struct hlo_literal *l)
{
    return l->is_splat || hlo_type_elements(&l->type) == 1;
}

void lower_constant(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct hlo_literal *l = i->literal;
    struct shape shape;

    (void)op;
    if (!l || !l->data || hlo_type_is_tuple(i->type)) {
        lower_refuse(s, HLO_ELIDED);
        return;
    }
    shape = lower_shape(s, i->type);
    if (shape.rank != i->type->rank)
        return;
    if (is_number(l) && hlo_element_is_float(i->type->element))
        lower_set(s, graph_constant(s->g, shape, hlo_element_load(i->type->element, l->data)));
    else if (is_number(l))
        lower_set(s, graph_constant(s->g, shape,
                                    (double)hlo_element_load_int(i->type->element, l->data)));
    else
        lower_set(s, lower_add(s, &(struct graph_node){
            .op = HLO_CONSTANT, .shape = shape,
            .literal = dense_words(s->l->arena, l, shape_elems(&shape))}, NULL, 0));
}

void lower_iota(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    lower_set(s, lower_add(s, &(struct graph_node){.op = (enum graph_op)op,
                                                   .shape = lower_shape(s, i->type),
                                                   .dim = (int)i->index}, NULL, 0));
}

void lower_device(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const struct hlo_module *m = s->l->module;
    bool is_replica = op == HLO_REPLICA_ID;
    int64_t own = is_replica ? m->replica_count : m->partition_count;
    struct shape shape = lower_shape(s, i->type);
    int number;

    if (own <= 1) {                     /* all devices are of the other kind, or there is one */
        lower_set(s, graph_constant(s->g, shape, 0.0));
        return;
    }
    number = lower_add(s, &(struct graph_node){.op = (enum graph_op)op, .shape = shape}, NULL, 0);
    if (m->replica_count > 1 && m->partition_count > 1)         /* replica by replica */
        number = graph_binary(s->g, is_replica ? HLO_DIVIDE : HLO_REMAINDER, number,
                              graph_constant(s->g, shape, (double)m->partition_count));
    lower_set(s, number);
}

/* u32 bits -> 24 of them as a number in [0, 1) */
static int fraction(struct lower_scope *s, int bits)
{
    struct graph *g = s->g;
    int high = graph_binary(g, HLO_SHIFT_RIGHT_LOGICAL, bits, graph_splat(g, bits, 8.0));
    int number = graph_convert(g, graph_bitcast_convert(g, high, DTYPE_S32), DTYPE_F32);

    return graph_binary(g, HLO_MULTIPLY, number, graph_splat(g, number, 0x1p-24));
}

static int draw(struct lower_scope *s, const struct shape *shape)
{
    int seed = graph_constant(s->g, shape_scalar(DTYPE_S32), 0.0);

    return graph_rng_bits(s->g, *shape, seed, s->l->random_streams++);
}

static int spread(struct lower_scope *s, int a, const struct shape *shape)
{
    struct shape as = *shape;

    as.dtype = s->g->node[a].shape.dtype;
    return s->g->node[a].shape.rank == shape->rank ? a : graph_broadcast(s->g, a, as, NULL);
}

/* low + fraction (high - low), of integers rounded down */
static int uniform(struct lower_scope *s, const struct shape *shape, int low, int high)
{
    struct graph *g = s->g;
    int from = spread(s, graph_convert(g, low, DTYPE_F32), shape);
    int to = spread(s, graph_convert(g, high, DTYPE_F32), shape);
    int part = fraction(s, draw(s, shape));
    int number = graph_binary(g, HLO_ADD, from,
                              graph_binary(g, HLO_MULTIPLY, part,
                                           graph_binary(g, HLO_SUBTRACT, to, from)));

    if (shape->dtype != DTYPE_F32 && shape->dtype != DTYPE_BF16)
        number = graph_unary(g, HLO_FLOOR, number);
    return graph_convert(g, number, shape->dtype);
}

/* mean + deviation sqrt(-2 log(1 - u)) cos(2 pi v): Box and Muller */
static int normal(struct lower_scope *s, const struct shape *shape, int mean, int deviation)
{
    struct graph *g = s->g;
    int u = fraction(s, draw(s, shape)), v = fraction(s, draw(s, shape));
    int log = graph_unary(g, HLO_LOG1P, graph_unary(g, HLO_NEGATE, u));
    int radius = graph_unary(g, HLO_SQRT, graph_binary(g, HLO_MULTIPLY, log,
                                                       graph_splat(g, log, -2.0)));
    int angle = graph_binary(g, HLO_MULTIPLY, v, graph_splat(g, v, 6.283185307179586));
    int number = graph_binary(g, HLO_MULTIPLY, radius, graph_unary(g, HLO_COSINE, angle));
    int scale = spread(s, graph_convert(g, deviation, DTYPE_F32), shape);
    int offset = spread(s, graph_convert(g, mean, DTYPE_F32), shape);

    number = graph_binary(g, HLO_ADD, graph_binary(g, HLO_MULTIPLY, number, scale), offset);
    return graph_convert(g, number, shape->dtype);
}

void lower_rng(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct shape shape = lower_shape(s, i->type);
    int a = lower_operand(s, 0), b = lower_operand(s, 1);

    (void)op;
    if (a == NODE_NONE || b == NODE_NONE || s->g->node[a].shape.rank || s->g->node[b].shape.rank)
        lower_refuse(s, "its bounds are no scalars");
    else if (hlo_detail(i)->random == HLO_RNG_NORMAL)
        lower_set(s, normal(s, &shape, a, b));
    else
        lower_set(s, uniform(s, &shape, a, b));
}
