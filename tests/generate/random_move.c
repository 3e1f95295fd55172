#include "tests/generate/random_move.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static int below(struct rng *r, int end) { return (int)rng_below(r, (uint32_t)end); }

static bool is_float(enum graph_dtype d) { return d == DTYPE_F32 || d == DTYPE_BF16; }

static int64_t a_size(struct rng *r, int64_t room)
{
    static const int sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32, 40, 64, 127, 128, 129,
                                200, 256, 257, 384, 1000};
    int64_t size;

    do {
        size = sizes[below(r, COUNT_OF(sizes))];
    } while (size > room);
    return size;
}

static void shuffle(struct rng *r, int *list, int count)
{
    for (int i = 0; i < count; i++)
        list[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = below(r, i + 1), kept = list[i];

        list[i] = list[j];
        list[j] = kept;
    }
}

static struct shape a_shape(struct rng *r, int64_t elements)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_BF16,
                                             DTYPE_S32, DTYPE_U32, DTYPE_S8, DTYPE_U8, DTYPE_PRED};
    struct shape s = {.dtype = types[below(r, COUNT_OF(types))]};
    int places[GRAPH_RANK_MAX];

    s.rank = 1 + below(r, below(r, 6) ? 4 : GRAPH_RANK_MAX);
    shuffle(r, places, s.rank);
    for (int i = 0; i < s.rank; i++) {
        s.dim[places[i]] = a_size(r, elements);
        elements /= s.dim[places[i]];
    }
    return s;
}

static int reshaped(struct graph *g, int x, struct rng *r)
{
    const struct shape *s = &g->node[x].shape;
    struct shape to = {.dtype = s->dtype};
    int64_t left = shape_elems(s);

    while (to.rank < 5 && (left > 1 || !to.rank)) {
        int64_t part = left, take = below(r, 4);

        for (int64_t f = 2; f <= left && take; f++)
            if (left % f == 0 && !below(r, 3)) {
                part = f;
                take--;
            }
        to.dim[to.rank++] = part;
        left /= part;
    }
    if (left > 1 || !to.rank)
        to.dim[to.rank++] = left;
    return graph_reshape(g, x, to);
}

static int sliced(struct graph *g, int x, struct rng *r)
{
    struct shape s = g->node[x].shape;
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++) {
        start[d] = below(r, 2) ? below(r, (int)s.dim[d]) : 0;
        limit[d] = start[d] + 1 + below(r, (int)(s.dim[d] - start[d]));
        stride[d] = below(r, 4) ? 1 : 1 + below(r, 3);
    }
    return graph_slice(g, x, start, limit, stride);
}

static int padded(struct graph *g, int x, struct rng *r)
{
    struct shape s = g->node[x].shape;
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0}, interior[GRAPH_RANK_MAX] = {0};
    int value = below(r, 2) ? graph_constant(g, shape_scalar(s.dtype), 3.0)
                            : graph_parameter(g, shape_scalar(s.dtype), "value");

    for (int k = 0; k < 2; k++) {
        int d = below(r, s.rank);

        if (s.dim[d] > 300)
            continue;
        interior[d] = below(r, 4) ? 0 : below(r, 3);
        low[d] = below(r, 20) - (below(r, 3) ? 0 : (int)(s.dim[d] < 20 ? 0 : 19));
        high[d] = below(r, 20);
    }
    return graph_pad(g, x, value, low, high, interior);
}

static int concatenated(struct graph *g, int x, struct rng *r)
{
    struct shape s = g->node[x].shape;
    int list[4] = {x}, count = 1 + below(r, 3), dim = below(r, s.rank), at = below(r, count + 1);

    for (int k = 0; k <= count; k++) {
        s.dim[dim] = 1 + below(r, 40);
        list[k] = k == at ? x : graph_parameter(g, s, "other");
    }
    return graph_concatenate(g, list, count + 1, dim);
}

static int step(struct graph *g, int x, struct rng *r)
{
    int rank = g->node[x].shape.rank, list[GRAPH_RANK_MAX];

    shuffle(r, list, rank);
    switch (below(r, 8)) {
    case 0: case 1:
        return rank ? graph_transpose(g, x, list) : x;
    case 2: case 3:
        return reshaped(g, x, r);
    case 4:
        return rank ? graph_reverse(g, x, list, 1 + below(r, rank)) : x;
    case 5:
        return rank ? sliced(g, x, r) : x;
    case 6:
        return rank ? padded(g, x, r) : x;
    default:
        return rank ? concatenated(g, x, r) : x;
    }
}

void random_move_make(struct random_move *m, uint64_t seed, int64_t elements, int steps)
{
    struct graph *g = &m->body;
    struct rng r;
    int x;

    memset(m, 0, sizeof(*m));
    rng_init(&r, seed);
    arena_init(&m->arena);
    graph_init(g, &m->arena, "random move");
    x = graph_parameter(g, a_shape(&r, elements), "x");
    for (int i = 0; i < steps; i++)
        x = step(g, x, &r);
    if (g->node[x].op == HLO_PARAMETER)
        x = graph_unary(g, HLO_COPY, x);
    if (is_float(g->node[x].shape.dtype) && !below(&r, 4))
        x = graph_convert(g, x, g->node[x].shape.dtype == DTYPE_F32 ? DTYPE_BF16 : DTYPE_F32);
    graph_output(g, x, "y", -1);
    for (int i = 0; i < g->parameter_count; i++)
        shuffle(&r, m->order[i], g->node[g->parameter[i]].shape.rank);
    shuffle(&r, m->order[g->parameter_count], g->node[x].shape.rank);
}

void random_move_free(struct random_move *m)
{
    graph_fini(&m->body);
    arena_fini(&m->arena);
}
