/*
 * Derives a move's affine map by walking a body from its result to its parameters, cutting and
 * joining index dimensions.
 */
#include "stack/kernels/move/move_map.h"

#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "stack/kernels/move/move_work.h"

/* index dimensions of one source on the way down: "from" is the node that the walk has come to */
struct walk {
    const struct graph *g;
    struct move_map *map;
};

static int walk_node(struct walk *w, int node, struct move_source s);

static void drop_index_dim(struct move_source *s, int k)
{
    memmove(&s->index_dim[k], &s->index_dim[k + 1],
            (size_t)(s->index_dim_count - k - 1) * sizeof(s->index_dim[0]));
    s->index_dim_count--;
}

/* two index dimensions that count like one */
static void join_index_dims(struct move_source *s)
{
    for (int i = 0; i < s->index_dim_count; i++)
        for (int k = 0; k < s->index_dim_count; k++) {
            struct move_index_dim *low = &s->index_dim[i], *high = &s->index_dim[k];

            if (i == k || low->from_dim != high->from_dim || low->to_dim != high->to_dim ||
                high->from_scale != low->from_scale * low->count ||
                high->to_scale != low->to_scale * low->count)
                continue;
            low->count *= high->count;
            drop_index_dim(s, k);
            i = -1;
            break;
        }
}

static int add_source(struct walk *w, int parameter, struct move_source s)
{
    for (int k = s.index_dim_count - 1; k >= 0; k--)
        if (s.index_dim[k].count == 1)
            drop_index_dim(&s, k);
    join_index_dims(&s);
    if (w->map->source_count == MOVE_SOURCES_MAX)
        return -1;
    s.parameter = parameter;
    w->map->source[w->map->source_count++] = s;
    return 0;
}

static int walk_transpose(struct walk *w, const struct graph_node *n, struct move_source s)
{
    int64_t first[GRAPH_RANK_MAX] = {0};

    for (int d = 0; d < n->shape.rank; d++)
        first[n->dims[d]] = s.from_first[d];
    memcpy(s.from_first, first, sizeof(first));
    for (int k = 0; k < s.index_dim_count; k++)
        s.index_dim[k].from_dim = n->dims[s.index_dim[k].from_dim];
    return walk_node(w, n->operand[0], s);
}

static int walk_slice(struct walk *w, const struct graph_node *n, struct move_source s)
{
    for (int d = 0; d < n->shape.rank; d++)
        s.from_first[d] = s.from_first[d] * n->stride[d] + n->start[d];
    for (int k = 0; k < s.index_dim_count; k++)
        s.index_dim[k].from_scale *= n->stride[s.index_dim[k].from_dim];
    return walk_node(w, n->operand[0], s);
}

static int walk_reverse(struct walk *w, const struct graph_node *n, struct move_source s)
{
    for (int i = 0; i < n->dim; i++) {
        int d = n->dims[i];

        s.from_first[d] = n->shape.dim[d] - 1 - s.from_first[d];
        for (int k = 0; k < s.index_dim_count; k++)
            if (s.index_dim[k].from_dim == d)
                s.index_dim[k].from_scale = -s.index_dim[k].from_scale;
    }
    return walk_node(w, n->operand[0], s);
}

/* the only index dimension along dimension d, which goes up by 1; -2: there are others; -1: none */
static int lone_index_dim(const struct move_source *s, int d)
{
    int found = -1;

    for (int k = 0; k < s->index_dim_count; k++)
        if (s->index_dim[k].from_dim == d) {
            if (found >= 0 || s->index_dim[k].from_scale != 1)
                return -2;
            found = k;
        }
    return found;
}

/*
 * Keep of dimension d the indices low, low + gap, ... `size` of them, and count
 * them from 0. 1: none is left; -1: the index dimensions do not allow it.
 */
static int restrict_dim(struct move_source *s, int d, int64_t low, int64_t gap, int64_t size)
{
    int k = lone_index_dim(s, d);
    int64_t skip = 0, last;

    if (k == -2)
        return -1;
    if (s->from_first[d] < low)
        skip = low - s->from_first[d];
    else if ((s->from_first[d] - low) % gap)
        skip = gap - (s->from_first[d] - low) % gap;
    if (k < 0 && skip)
        return 1;
    last = (size - 1) * gap + low - s->from_first[d];
    if (k >= 0 && last > s->index_dim[k].count - 1)
        last = s->index_dim[k].count - 1;
    if (last < skip || size <= 0)
        return 1;
    s->from_first[d] = (s->from_first[d] + skip - low) / gap;
    if (k >= 0) {
        s->to_first[s->index_dim[k].to_dim] += skip * s->index_dim[k].to_scale;
        s->index_dim[k].to_scale *= gap;
        s->index_dim[k].count = (last - skip) / gap + 1;
    }
    return 0;
}

static int walk_pad(struct walk *w, const struct graph_node *n, struct move_source s)
{
    const struct graph_node *value = &w->g->node[n->operand[1]];
    const struct shape *from = &w->g->node[n->operand[0]].shape;

    if (value->op != HLO_CONSTANT || value->literal ||
        (w->map->has_fill && w->map->fill != value->value))
        return -1;
    w->map->has_fill = true;
    w->map->fill = value->value;
    for (int d = 0; d < n->shape.rank; d++) {
        int status = restrict_dim(&s, d, n->low[d], n->interior[d] + 1, from->dim[d]);

        if (status)
            return status < 0 ? -1 : 0;
    }
    return walk_node(w, n->operand[0], s);
}

static int walk_concatenate(struct walk *w, const struct graph_node *n, struct move_source s)
{
    int64_t first = 0;

    for (int i = 0; i < n->operand_count; i++) {
        int64_t size = w->g->node[n->operand[i]].shape.dim[n->dim];
        struct move_source own = s;
        int status = restrict_dim(&own, n->dim, first, 1, size);

        if (status < 0 || (!status && walk_node(w, n->operand[i], own)))
            return -1;
        first += size;
    }
    return 0;
}

/*
 * Index dimension k, which goes up by `step` in row-major order, belongs to the dimension
 * whose own step is the largest not above; what does not fit there is one of its own.
 */
static int place_index_dim(struct move_source *s, int k, int64_t step, const struct shape *to)
{
    for (int64_t own = 1, d = to->rank - 1; d >= 0; own *= to->dim[d--]) {
        struct move_index_dim *x = &s->index_dim[k];
        int64_t scale = step / own, fit;

        if (to->dim[d] == 1 || step >= own * to->dim[d])
            continue;
        if (step % own)
            return -1;
        x->from_dim = (int)d;
        x->from_scale = scale;
        if (scale * (x->count - 1) < to->dim[d])
            return 0;
        fit = to->dim[d] / scale;
        if (to->dim[d] % scale || x->count % fit || s->index_dim_count == MOVE_INDEX_DIMS_MAX)
            return -1;
        s->index_dim[s->index_dim_count] = *x;
        s->index_dim[s->index_dim_count].count /= fit;
        s->index_dim[s->index_dim_count].to_scale *= fit;
        x->count = fit;
        return place_index_dim(s, s->index_dim_count++, step * fit, to);
    }
    return -1;
}

static int walk_reshape(struct walk *w, const struct graph_node *n, struct move_source s)
{
    const struct shape *to = &w->g->node[n->operand[0]].shape;
    int64_t stride[GRAPH_RANK_MAX], elements = 1, at = 0, end[GRAPH_RANK_MAX];
    int count;

    for (int k = s.index_dim_count - 1; k >= 0; k--)
        if (s.index_dim[k].count == 1)
            drop_index_dim(&s, k);
    count = s.index_dim_count;
    for (int d = n->shape.rank - 1; d >= 0; d--) {
        stride[d] = elements;
        at += s.from_first[d] * elements;
        elements *= n->shape.dim[d];
    }
    for (int k = 0; k < count; k++) {
        if (s.index_dim[k].from_scale < 0 ||
            place_index_dim(&s, k, s.index_dim[k].from_scale * stride[s.index_dim[k].from_dim], to))
            return -1;
    }
    memset(s.from_first, 0, sizeof(s.from_first));
    for (int d = to->rank - 1; d >= 0; at /= to->dim[d--])
        end[d] = s.from_first[d] = at % to->dim[d];
    for (int k = 0; k < s.index_dim_count; k++)
        end[s.index_dim[k].from_dim] += s.index_dim[k].from_scale * (s.index_dim[k].count - 1);
    for (int d = 0; d < to->rank; d++)
        if (end[d] >= to->dim[d])       /* a carry from one to the next */
            return -1;
    return walk_node(w, n->operand[0], s);
}

static int walk_work(struct walk *w, int node, struct move_source s)
{
    int parameter = move_work_parameter(w->g, node);

    if (parameter == NODE_NONE || w->map->has_fill)
        return -1;
    s.work = node;
    return add_source(w, w->g->node[parameter].parameter_index, s);
}

/* between f32 and bf16, once: a value rounded in between could not be told from one that is not */
static int walk_convert(struct walk *w, int node, struct move_source s)
{
    const struct graph_node *n = &w->g->node[node];
    enum graph_dtype from = w->g->node[n->operand[0]].shape.dtype;

    if (w->g->node[n->operand[0]].op != HLO_PARAMETER && move_work_parameter(w->g, node) >= 0)
        return walk_work(w, node, s);
    if (s.is_converted || !graph_dtype_is_float(from) || !graph_dtype_is_float(n->shape.dtype))
        return -1;
    s.is_converted = true;
    return walk_node(w, n->operand[0], s);
}

static int walk_node(struct walk *w, int node, struct move_source s)
{
    const struct graph_node *n = &w->g->node[node];

    switch (n->op) {
    case HLO_PARAMETER:   return add_source(w, n->parameter_index, s);
    case HLO_COPY:        return walk_node(w, n->operand[0], s);
    case HLO_CONVERT:     return walk_convert(w, node, s);
    case HLO_TRANSPOSE:   return walk_transpose(w, n, s);
    case HLO_SLICE:       return walk_slice(w, n, s);
    case HLO_REVERSE:     return walk_reverse(w, n, s);
    case HLO_PAD:         return walk_pad(w, n, s);
    case HLO_CONCATENATE: return walk_concatenate(w, n, s);
    case HLO_RESHAPE:     return walk_reshape(w, n, s);
    default:              return walk_work(w, node, s);
    }
}

int move_map_make(const struct graph *body, struct move_map *out)
{
    const struct graph_node *n = &body->node[body->output[0].node];
    struct walk w = {.g = body, .map = out};
    struct move_source s = {.index_dim_count = n->shape.rank, .work = NODE_NONE};

    memset(out, 0, sizeof(*out));
    for (int d = 0; d < n->shape.rank; d++)
        s.index_dim[d] = (struct move_index_dim){.count = n->shape.dim[d], .from_dim = d,
                                                 .to_dim = d, .from_scale = 1, .to_scale = 1};
    if (shape_elems(&n->shape) == 0)
        return -1;
    return walk_node(&w, body->output[0].node, s);
}
