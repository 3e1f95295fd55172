#include "tests/generate/random_hlo.h"

#include "tests/generate/random_hlo_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 4                     /* of parameters, and their bytes */

bool rh_fits(enum graph_dtype t, double bound)
{
    switch (t) {
    case DTYPE_F32: return bound <= RH_EXACT;
    case DTYPE_BF16: return bound <= RH_EXACT_BF16;
    default: return true;               /* integers wrap the same everywhere */
    }
}

void rh_add(struct rh *m, int node, double bound)
{
    enum graph_dtype t = m->g->node[node].shape.dtype;

    if (t == DTYPE_PRED || t == DTYPE_U8 || t == DTYPE_S8)
        bound = t == DTYPE_PRED ? 1 : bound < 255 ? bound : 255;
    assert(m->count < RH_POOL_MAX && rh_fits(t, bound));
    m->pool[m->count++] = (struct rh_pick){node, bound};
}

int64_t rh_size(struct rh *m, int64_t most)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 64, 127, 128, 129, 130,
                                    131, 257};
    int64_t size = sizes[rh_below(m, (int)COUNT_OF(sizes))];

    while (size > most)
        size = size > 130 ? 129 : size > 16 ? 9 : size - 1;
    return size;
}

/* the last dimensions first: they are the interesting ones */
struct shape rh_random_shape(struct rh *m, enum graph_dtype t, int rank)
{
    struct shape s = {.dtype = t, .rank = rank};
    int64_t left = m->elems_max;

    for (int i = rank - 1; i >= 0; i--) {
        s.dim[i] = rh_size(m, i < rank - 2 && left > 5 ? 5 : left);
        left /= s.dim[i];
    }
    return s;
}

enum graph_dtype rh_type(struct rh *m, unsigned types)
{
    enum graph_dtype allowed[DTYPE_COUNT];
    int count = 0;

    for (int t = 0; t < DTYPE_COUNT; t++)
        if (types & m->dtypes & RH_TYPE(t))
            allowed[count++] = (enum graph_dtype)t;
    return count ? allowed[rh_below(m, count)] : DTYPE_COUNT;
}

double rh_parameter_bound(enum graph_dtype t)
{
    return t == DTYPE_PRED ? 1 : t == DTYPE_U32 || t == DTYPE_U8 ? 2 * VALUE_MAX : VALUE_MAX;
}

struct rh_pick rh_parameter(struct rh *m, struct shape s)
{
    double bound = rh_parameter_bound(s.dtype);
    char name[32];

    snprintf(name, sizeof(name), "value%d", m->g->parameter_count);
    rh_add(m, graph_parameter(m->g, s, name), bound);
    return m->pool[m->count - 1];
}

int rh_index(struct rh *m, int rank, const int64_t *dim, int64_t bound)
{
    char name[48];

    snprintf(name, sizeof(name), RH_INDEX_PREFIX "%d_%lld", m->g->parameter_count,
             (long long)bound);
    return graph_parameter(m->g, shape_make(DTYPE_S32, rank, dim), name);
}

/* DTYPE_COUNT as a type must not get here */
struct rh_pick rh_find(struct rh *m, unsigned types, int lowest, int highest)
{
    int rank;

    for (int i = 0; i < 20 && m->count > 0; i++) {
        struct rh_pick p = m->pool[rh_below(m, m->count)];
        struct shape s = rh_shape(m, p.node);

        if ((types & m->dtypes & RH_TYPE(s.dtype)) && s.rank >= lowest && s.rank <= highest)
            return p;
    }
    rank = lowest + rh_below(m, highest - lowest + 1);
    return rh_parameter(m, rh_random_shape(m, rh_type(m, types), rank));
}

struct rh_pick rh_like(struct rh *m, struct shape s)
{
    for (int i = 0; i < 20 && m->count > 0; i++) {
        struct rh_pick p = m->pool[rh_below(m, m->count)];

        if (shape_equal(&m->g->node[p.node].shape, &s))
            return p;
    }
    return rh_parameter(m, s);
}

void rh_permute(struct rh *m, int *order, int count)
{
    for (int i = 0; i < count; i++) {
        int k = rh_below(m, i + 1);

        order[i] = order[k];
        order[k] = i;
    }
}

static const struct {
    unsigned group, types;              /* it needs one of these */
    void (*make)(struct rh *m);
} makers[] = {
    {RANDOM_ELEMENTWISE, RH_ANY, rh_elementwise},
    {RANDOM_MOVE, RH_ANY, rh_move},
    {RANDOM_DOT, RH_FLOATS | RH_BYTES, rh_dot},
    {RANDOM_CONV, RH_FLOATS | RH_BYTES, rh_conv},
    {RANDOM_REDUCE, RH_ANY, rh_reduce},
    {RANDOM_WINDOW, RH_NUMBERS, rh_window},
    {RANDOM_INDEX, RH_NUMBERS, rh_indexed},
    {RANDOM_SORT, RH_NUMBERS, rh_sorted},
    {RANDOM_BITS, RH_TYPE(DTYPE_U32), rh_bits},
    {RANDOM_LOOP, RH_FLOATS | RH_TYPE(DTYPE_S32), rh_loop},
    {RANDOM_FLOW, RH_ANY, rh_flow},     /* the last, so that graphs without are what they were */
};

void rh_make(struct rh *m)
{
    size_t count = COUNT_OF(makers) - (m->groups & RANDOM_FLOW ? 0 : 1);
    size_t i = (size_t)rh_below(m, (int)count);

    for (size_t tries = 0; tries < count; tries++, i++) {
        size_t k = i % count;

        if ((makers[k].group & m->groups) && (makers[k].types & m->dtypes)) {
            makers[k].make(m);
            return;
        }
    }
    assert(false && "no group has an operation of these types");
}

static void make_outputs(struct graph *g)
{
    bool *is_read = arena_array(g->arena, (size_t)g->node_count, sizeof(*is_read));
    char name[32];

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            is_read[g->node[i].operand[k]] = true;
    for (int i = 0; i < g->node_count; i++) {
        if (is_read[i] || g->node[i].op == HLO_PARAMETER || g->node[i].tuple_count > 0)
            continue;
        snprintf(name, sizeof(name), "out%d", g->output_count);
        graph_output(g, i, name, -1);
    }
}

void random_hlo_build(struct graph *g, const struct random_hlo *r)
{
    struct rh *m = arena_alloc(g->arena, sizeof(*m));
    int made = 0;

    m->g = g;
    m->groups = r->groups;
    m->dtypes = r->dtypes ? r->dtypes : RH_ANY;
    m->elems_max = r->elems_max ? r->elems_max : 20000;
    rng_init(&m->rng, r->seed);
    /* where a draw adds nothing try again, but not for ever */
    for (int tries = 0; made < r->op_count && tries < 50 * r->op_count &&
                        m->count < RH_POOL_MAX - 20; tries++) {
        int before = g->node_count, parameters = g->parameter_count;

        rh_make(m);
        made += g->node_count - before > g->parameter_count - parameters;
    }
    make_outputs(g);
    assert(g->output_count > 0);
}

void *random_hlo_input(const struct graph *g, int parameter, uint64_t seed, struct arena *a)
{
    const struct graph_node *n = &g->node[g->parameter[parameter]];
    int64_t elems = shape_elems(&n->shape);
    bool is_index = strncmp(n->name, RH_INDEX_PREFIX, strlen(RH_INDEX_PREFIX)) == 0;
    long long bound = is_index ? strtoll(strchr(n->name, '_') + 1, NULL, 10) : 0;
    void *data = arena_array(a, (size_t)elems, 4);
    struct rng rng;

    rng_init(&rng, seed * 1000 + (uint64_t)parameter);
    for (int64_t i = 0; i < elems; i++) {
        bool is_unsigned = n->shape.dtype == DTYPE_U32 || n->shape.dtype == DTYPE_U8;
        int value = is_index ? (int)rng_below(&rng, (uint32_t)bound + 4) - 2
                    : n->shape.dtype == DTYPE_PRED
                        ? (int)rng_below(&rng, 2)
                        : (int)rng_below(&rng, 2 * VALUE_MAX + 1) - (is_unsigned ? 0 : VALUE_MAX);

        if (graph_dtype_is_float(n->shape.dtype))
            ((float *)data)[i] = (float)value;
        else
            ((int32_t *)data)[i] = value;
    }
    return data;
}
