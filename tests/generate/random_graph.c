#include "tests/generate/random_graph.h"

#include "base/rng.h"
#include "base/units.h"

#include <assert.h>
#include <string.h>

#define POOL_MAX 400
#define EXACT (1 << 22)                 /* integers up to here in f32, */
#define EXACT_BF16 256                  /* and in bf16: what is rounded may be rounded later, as
                                         * excess precision allows (docs/compiler.md) */
#define ELEMS_MAX 100000
#define UNIT_PREFIX "unit"

struct pick {
    int node;
    double bound;                       /* of the absolute value */
    bool is_column;                     /* rank 1 and along the rows */
};

struct maker {
    struct graph *g;
    struct rng rng;
    struct pick pool[POOL_MAX];
    int count;
    int64_t dim[3];
    int replica_count;
};

static int below(struct maker *m, int end)
{
    return (int)rng_below(&m->rng, (uint32_t)end);
}

static const struct shape *shape_of(const struct maker *m, int node)
{
    return &m->g->node[node].shape;
}

static bool is_float(enum graph_dtype t)
{
    return t == DTYPE_F32 || t == DTYPE_BF16;
}

static struct pick add(struct maker *m, int node, double bound, bool is_column)
{
    struct pick p = {node, bound, is_column};

    assert(m->count < POOL_MAX);
    m->pool[m->count++] = p;
    return p;
}

static struct pick new_parameter(struct maker *m, struct shape s, bool is_unit)
{
    char name[32];

    snprintf(name, sizeof(name), "%s%d", is_unit ? UNIT_PREFIX : "p", m->g->parameter_count);
    return add(m, graph_parameter(m->g, s, name),
               is_unit || s.dtype == DTYPE_PRED ? 1 : s.dtype == DTYPE_S32 ? 9 : 3, false);
}

static enum graph_dtype random_type(struct maker *m)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_F32,  DTYPE_F32, DTYPE_F32,
                                             DTYPE_F32, DTYPE_BF16, DTYPE_BF16, DTYPE_S32,
                                             DTYPE_S32, DTYPE_PRED};

    return types[below(m, (int)COUNT_OF(types))];
}

static struct shape random_shape(struct maker *m, enum graph_dtype dtype)
{
    int64_t rows = m->dim[below(m, 3)], columns = m->dim[below(m, 3)];

    if (rows * columns > ELEMS_MAX)
        rows = 9;
    switch (below(m, 8)) {
    case 0:
        return shape_scalar(dtype);
    case 1:
        return shape_make(dtype, 1, &columns);
    case 2:
        columns = 1;
        break;
    case 3:
        rows = 1;
        break;
    default:
        break;
    }
    return shape_make(dtype, 2, (int64_t[]){rows, columns});
}

/* types: a bit each; ranks likewise; NULL when a few tries find none */
static const struct pick *find(struct maker *m, unsigned types, unsigned ranks)
{
    for (int i = 0; i < 30 && m->count > 0; i++) {
        const struct pick *p = &m->pool[below(m, m->count)];
        const struct shape *s = shape_of(m, p->node);

        if ((types >> s->dtype & 1) && (ranks >> s->rank & 1))
            return p;
    }
    return NULL;
}

#define FLOATS (1u << DTYPE_F32 | 1u << DTYPE_BF16)
#define NUMBERS (FLOATS | 1u << DTYPE_S32)
#define PREDS (1u << DTYPE_PRED)

static struct pick find_or_make(struct maker *m, unsigned types, unsigned ranks)
{
    const struct pick *p = find(m, types, ranks);

    while (!p) {
        struct shape s = random_shape(m, random_type(m));

        if ((types >> s.dtype & 1) && (ranks >> s.rank & 1))
            return new_parameter(m, s, false);
    }
    return *p;
}

static struct pick constant_like(struct maker *m, struct pick like)
{
    int value = shape_of(m, like.node)->dtype == DTYPE_PRED ? below(m, 2) : below(m, 7) - 3;

    return add(m, graph_splat(m->g, like.node, value), 3, like.is_column);
}

/* a row, a column or a scalar spread to the shape of matrix `like` */
static struct pick spread_like(struct maker *m, struct pick like)
{
    struct shape to = *shape_of(m, like.node);

    for (int i = 0; i < 30; i++) {
        const struct pick *p = &m->pool[below(m, m->count)];
        const struct shape *s = shape_of(m, p->node);
        int dim = p->is_column ? 0 : 1;
        struct pick from = *p;

        if (s->dtype != to.dtype || s->rank > 1 || (s->rank == 1 && s->dim[0] != to.dim[dim]))
            continue;
        return add(m, graph_broadcast(m->g, from.node, to, &dim), from.bound, false);
    }
    return constant_like(m, like);
}

static struct pick iota_like(struct maker *m, struct pick like)
{
    struct shape s = *shape_of(m, like.node);
    int dim = below(m, s.rank);

    return add(m, graph_iota(m->g, s, dim), (double)s.dim[dim], false);
}

/* another value of the same shape and direction */
static struct pick partner(struct maker *m, struct pick like)
{
    const struct shape *s = shape_of(m, like.node);
    int choice = below(m, 8);

    if (choice == 0)
        return constant_like(m, like);
    if (choice <= 2 && s->rank == 2)
        return spread_like(m, like);
    if (choice == 3 && s->rank > 0 && !like.is_column &&
        (s->dtype == DTYPE_F32 || s->dtype == DTYPE_S32))
        return iota_like(m, like);
    for (int i = 0; i < 30 && choice != 4; i++) {
        struct pick p = m->pool[below(m, m->count)];

        if (shape_equal(shape_of(m, p.node), s) && p.is_column == like.is_column)
            return p;
    }
    return like.is_column ? constant_like(m, like) : new_parameter(m, *s, false);
}

static struct pick clamp(struct maker *m, struct pick p, double limit)
{
    int node;

    if (p.bound <= limit)
        return p;
    node = graph_binary(m->g, HLO_MINIMUM, p.node, graph_splat(m->g, p.node, limit));
    node = graph_binary(m->g, HLO_MAXIMUM, graph_splat(m->g, p.node, -limit), node);
    return add(m, node, limit, p.is_column);
}

static double exact_of(enum graph_dtype type)
{
    return type == DTYPE_BF16 ? EXACT_BF16 : EXACT;
}

static void make_unary(struct maker *m)
{
    struct pick a = find_or_make(m, NUMBERS, 7);
    enum graph_op op = below(m, 2) ? HLO_NEGATE : HLO_ABS;

    add(m, graph_unary(m->g, op, a.node), a.bound, a.is_column);
}

static void make_binary(struct maker *m)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_MAXIMUM,
                                        HLO_MINIMUM};
    enum graph_op op = ops[below(m, (int)COUNT_OF(ops))];
    struct pick a = find_or_make(m, NUMBERS, 7), b = partner(m, a), swap;
    double bound = op == HLO_MULTIPLY ? a.bound * b.bound : a.bound + b.bound;

    if (below(m, 2)) {
        swap = a;
        a = b;
        b = swap;
    }
    if (op == HLO_MAXIMUM || op == HLO_MINIMUM || bound > exact_of(shape_of(m, a.node)->dtype)) {
        op = op == HLO_MAXIMUM ? op : HLO_MINIMUM;
        bound = a.bound > b.bound ? a.bound : b.bound;
    }
    add(m, graph_binary(m->g, op, a.node, b.node), bound, a.is_column);
}

/* by one: exact, but infinity or NaN where the divisor is padding */
static void make_divide(struct maker *m)
{
    struct pick a = find_or_make(m, FLOATS, 7);
    struct shape s = *shape_of(m, a.node);

    if (!a.is_column)
        add(m, graph_binary(m->g, HLO_DIVIDE, a.node, new_parameter(m, s, true).node), a.bound,
            false);
}

static void make_compare(struct maker *m)
{
    struct pick a = find_or_make(m, NUMBERS, 7), b = partner(m, a);
    enum graph_compare direction = (enum graph_compare)below(m, COMPARE_GE + 1);

    add(m, graph_compare(m->g, direction, a.node, b.node), 1, a.is_column);
}

static void make_logic(struct maker *m)
{
    struct pick a = find_or_make(m, PREDS, 7);
    int with;

    if (below(m, 3) == 0) {
        add(m, graph_unary(m->g, HLO_NOT, a.node), 1, a.is_column);
        return;
    }
    with = partner(m, a).node;
    add(m, graph_binary(m->g, below(m, 2) ? HLO_AND : HLO_OR, a.node, with), 1, a.is_column);
}

static void make_select(struct maker *m)
{
    struct pick a = find_or_make(m, NUMBERS, 7), b = partner(m, a);
    struct shape s = *shape_of(m, a.node);
    int pred = -1;

    s.dtype = DTYPE_PRED;
    for (int i = 0; i < 30 && pred < 0; i++) {
        const struct pick *p = &m->pool[below(m, m->count)];

        if (shape_equal(shape_of(m, p->node), &s) && p->is_column == a.is_column)
            pred = p->node;
    }
    if (pred < 0)
        pred = graph_compare(m->g, COMPARE_LT, a.node, b.node);
    add(m, graph_select(m->g, pred, a.node, b.node), a.bound > b.bound ? a.bound : b.bound,
        a.is_column);
}

static void make_convert(struct maker *m)
{
    struct pick a = find_or_make(m, 15, 7);
    enum graph_dtype to = (enum graph_dtype)below(m, DTYPE_PRED);
    int node;

    if (to == DTYPE_BF16 && shape_of(m, a.node)->dtype != DTYPE_PRED)
        a = clamp(m, a, EXACT_BF16);
    node = graph_convert(m->g, a.node, to);
    if (node != a.node)
        add(m, node, a.bound, a.is_column);
}

static void make_reduce(struct maker *m)
{
    struct pick a = find_or_make(m, FLOATS, 6);
    struct shape s = *shape_of(m, a.node);
    uint32_t mask = s.rank == 1 ? 1 : 1 + (uint32_t)below(m, 3);
    bool is_constant = m->g->node[a.node].op == HLO_BROADCAST;
    double terms = 1;
    int kind = below(m, 3);

    for (int i = 0; i < s.rank; i++)
        terms *= mask >> i & 1 ? (double)s.dim[i] : 1;
    if (terms * a.bound > exact_of(s.dtype) && kind == REDUCE_ADD)
        kind = REDUCE_MAX;
    if (is_constant)
        return;
    add(m, graph_reduce(m->g, (enum graph_reduce)kind, a.node, mask),
        kind == REDUCE_ADD ? terms * a.bound : a.bound, s.rank == 2 && mask == 2);
}

static void make_reshape(struct maker *m)
{
    struct pick a = find_or_make(m, 15, 7);
    struct shape s = *shape_of(m, a.node), to = s;
    bool is_column = false;

    if (s.rank == 1) {
        to = shape_make(s.dtype, 2, (int64_t[]){a.is_column ? s.dim[0] : 1,
                                               a.is_column ? 1 : s.dim[0]});
    } else if (s.rank == 0) {
        to = shape_make(s.dtype, 1 + below(m, 2), (int64_t[]){1, 1});
    } else if (s.dim[0] == 1 || s.dim[1] == 1) {
        is_column = s.dim[1] == 1 && s.dim[0] != 1;
        to = shape_make(s.dtype, 1, (int64_t[]){is_column ? s.dim[0] : s.dim[1]});
        if (shape_elems(&s) == 1 && below(m, 2))
            to = shape_scalar(s.dtype);
    } else {
        return;
    }
    add(m, graph_reshape(m->g, a.node, to), a.bound, is_column);
}

static void make_broadcast(struct maker *m)
{
    struct pick a = find_or_make(m, 15, 3);
    struct shape s = *shape_of(m, a.node), to = random_shape(m, s.dtype);
    int dim = a.is_column ? 0 : 1;

    if (to.rank == 2 && s.rank == 1)
        to.dim[dim] = s.dim[0];
    if (to.rank >= s.rank && (to.rank == 2 || s.rank == 0) && shape_elems(&to) <= ELEMS_MAX)
        add(m, graph_broadcast(m->g, a.node, to, &dim), a.bound, false);
}

static void make_transpose(struct maker *m)
{
    struct pick a = find_or_make(m, 15, 4);

    add(m, graph_transpose(m->g, a.node, (int[]){1, 0}), a.bound, false);
}

/* operands as large as the passes of this precision take without loss */
static void make_dot(struct maker *m)
{
    struct pick a = find_or_make(m, FLOATS, 4), b = {.node = -1};
    struct shape s = *shape_of(m, a.node);
    enum graph_precision precision = (enum graph_precision)below(m, 3);
    int lhs = below(m, 2), rhs = below(m, 2);
    int64_t k = s.dim[lhs];

    for (int i = 0; i < 30 && b.node < 0; i++) {
        const struct pick *p = &m->pool[below(m, m->count)];
        const struct shape *t = shape_of(m, p->node);

        if (t->rank == 2 && t->dtype == s.dtype && t->dim[rhs] == k &&
            s.dim[1 - lhs] * t->dim[1 - rhs] <= ELEMS_MAX)
            b = *p;
    }
    if (b.node < 0) {
        int64_t n = m->dim[1 + below(m, 2)], dims[2] = {rhs == 0 ? k : n, rhs == 0 ? n : k};

        if (n * k > ELEMS_MAX || n * s.dim[1 - lhs] > ELEMS_MAX)
            return;
        b = new_parameter(m, shape_make(s.dtype, 2, dims), false);
    }
    a = clamp(m, a, precision == PRECISION_HIGHEST ? 1000 : 200);
    b = clamp(m, b, precision == PRECISION_DEFAULT ? 200 : 1000);
    if (a.bound * b.bound * (double)k > EXACT) {
        a = clamp(m, a, 4);
        b = clamp(m, b, 200);
    }
    add(m, graph_dot(m->g, a.node, b.node, lhs, rhs, precision), a.bound * b.bound * (double)k,
        false);
}

/* of a value that nothing else uses */
static void make_all_reduce(struct maker *m)
{
    struct pick a = find_or_make(m, 1u << DTYPE_F32, 7);
    int own;

    if (m->replica_count == 1)
        return;
    a = clamp(m, a, 10000);
    own = graph_unary(m->g, HLO_NEGATE, a.node);
    add(m, graph_all_reduce(m->g, own), a.bound * m->replica_count, a.is_column);
}

static void (*const make[])(struct maker *m) = {
    make_unary,   make_binary,  make_binary,    make_binary, make_divide,    make_compare,
    make_logic,   make_select,  make_convert,   make_reduce, make_reduce,    make_reshape,
    make_reshape, make_broadcast, make_transpose, make_dot,  make_dot,       make_all_reduce};

static bool has_user(const struct graph *g, int node)
{
    for (int i = node + 1; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            if (g->node[i].operand[k] == node)
                return true;
    return false;
}

/* a parameter of the same shape that nothing overwrites yet, or -1 */
static int find_alias(struct maker *m, const struct shape *s)
{
    const struct graph *g = m->g;

    for (int i = 0; i < 10 && g->parameter_count; i++) {
        int parameter = below(m, g->parameter_count);
        bool is_taken = false;

        for (int o = 0; o < g->output_count; o++)
            is_taken = is_taken || g->output[o].alias_parameter == parameter;
        if (!is_taken && shape_equal(&g->node[g->parameter[parameter]].shape, s))
            return parameter;
    }
    return -1;
}

static void make_outputs(struct maker *m)
{
    int nodes = m->count;

    for (int i = 0; i < nodes; i++) {
        struct pick p = m->pool[i];
        const struct shape *s = shape_of(m, p.node);
        int node = p.node;
        char name[16];

        if (m->g->node[node].op == HLO_PARAMETER || (has_user(m->g, node) && below(m, 6)))
            continue;
        if (p.is_column)
            node = graph_reshape(m->g, node,
                                 shape_make(s->dtype, 2, (int64_t[]){s->dim[0], 1}));
        snprintf(name, sizeof(name), "o%d", m->g->output_count);
        graph_output(m->g, node, name, below(m, 2) ? find_alias(m, shape_of(m, node)) : -1);
    }
}

void random_graph_build(struct graph *g, const struct random_graph *r)
{
    static const int64_t small[] = {1, 7, 8, 9, 10, 64, 127, 128, 129, 130};
    static const int64_t large[] = {1, 8, 10, 128, 130, 257, 300, 520, 1000, 1031};
    struct maker m = {.g = g, .replica_count = r->replica_count};

    rng_init(&m.rng, r->seed);
    for (int i = 0; i < 3; i++)
        m.dim[i] = i > 0 || r->is_small ? small[below(&m, (int)COUNT_OF(small))]
                                        : large[below(&m, (int)COUNT_OF(large))];
    new_parameter(&m, shape_make(DTYPE_F32, 2, (int64_t[]){m.dim[0], m.dim[1]}), false);
    for (int i = 0; i < r->op_count; i++)
        make[below(&m, (int)COUNT_OF(make))](&m);
    make_unary(&m);                     /* a graph has an output */
    make_outputs(&m);
}

void *random_graph_input(const struct graph *g, int parameter, uint64_t seed, struct arena *a)
{
    const struct graph_node *n = &g->node[g->parameter[parameter]];
    int64_t elems = shape_elems(&n->shape);
    bool is_unit = strncmp(n->name, UNIT_PREFIX, strlen(UNIT_PREFIX)) == 0;
    int range = n->shape.dtype == DTYPE_S32 ? 9 : 3;
    void *data = arena_array(a, (size_t)elems, 4);
    struct rng rng;

    rng_init(&rng, seed * 1000 + (uint64_t)parameter);
    for (int64_t i = 0; i < elems; i++) {
        int value = is_unit ? (rng_below(&rng, 2) ? 1 : -1)
                    : n->shape.dtype == DTYPE_PRED
                        ? (int)rng_below(&rng, 2)
                        : (int)rng_below(&rng, 2 * (uint32_t)range + 1) - range;

        if (is_float(n->shape.dtype))
            ((float *)data)[i] = (float)value;
        else
            ((int32_t *)data)[i] = value;
    }
    return data;
}

static int sum_replicas(struct graph *to, const int *copy, int stride, int replica_count)
{
    int sum = copy[0];

    for (int r = 1; r < replica_count; r++)
        sum = graph_binary(to, HLO_ADD, sum, copy[r * stride]);
    return sum;
}

void random_graph_replicate(const struct graph *g, int replica_count, struct graph *to)
{
    int *copy = arena_array(to->arena, (size_t)(g->node_count * replica_count), sizeof(*copy));
    int operand[3];
    char name[48];

    for (int r = 0; r < replica_count; r++)
        for (int i = 0; i < g->parameter_count; i++) {
            const struct graph_node *n = &g->node[g->parameter[i]];

            snprintf(name, sizeof(name), "%s.%d", n->name, r);
            copy[r * g->node_count + g->parameter[i]] = graph_parameter(to, n->shape, name);
        }
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int r = 0; r < replica_count && n->op != HLO_PARAMETER; r++) {
            for (int k = 0; k < n->operand_count; k++)
                operand[k] = copy[r * g->node_count + n->operand[k]];
            copy[r * g->node_count + i] =
                n->op != HLO_ALL_REDUCE ? graph_add(to, n, operand, n->operand_count)
                : r > 0 ? copy[i]
                        : sum_replicas(to, &copy[n->operand[0]], g->node_count, replica_count);
        }
    }
    for (int r = 0; r < replica_count; r++)
        for (int o = 0; o < g->output_count; o++) {
            snprintf(name, sizeof(name), "%s.%d", g->output[o].name, r);
            graph_output(to, copy[r * g->node_count + g->output[o].node], name, -1);
        }
}
