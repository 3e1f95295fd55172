/* Parts of samples, as x[:, 1:-1, ::2, ::-1, ..., None, 0] takes them. */
#include <inttypes.h>

#include "keras/layers/layer_impl.h"

/* from the last element on, as a range forward whose last element is the part's first */
static bool range_backward(const struct layer_config *c, int i, int64_t size, int64_t *from,
                           int64_t *to)
{
    int64_t first = c->low[i], end = c->high[i], step = -c->step[i];

    first = first == LAYER_OPEN ? size - 1 : first < 0 ? first + size : first;
    first = first >= size ? size - 1 : first;
    end = end == LAYER_OPEN ? -1 : end < 0 ? end + size : end;
    end = end < -1 ? -1 : end;
    *from = first - (first - end - 1) / step * step;
    *to = first + 1;
    return first > end && first >= 0;
}

/* where the part begins and ends along a dimension of this size; false: nothing is left of it */
static bool range_of(const struct layer_config *c, int i, int64_t size, int64_t *from, int64_t *to)
{
    int64_t low = c->low[i], high = c->high[i];

    *from = low == LAYER_OPEN ? 0 : low < 0 ? low + size : low;
    *to = high == LAYER_OPEN ? size : high < 0 ? high + size : high;
    if (c->taken & (1u << i))
        return *to = *from + 1, *from >= 0 && *from < size;
    if (c->step[i] < 0)
        return range_backward(c, i, size, from, to);
    *from = *from < 0 ? 0 : *from;
    *to = *to > size ? size : *to;
    return *from < *to;
}

/* what is taken of samples; and the shape that it has in the end */
struct part {
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], step[GRAPH_RANK_MAX];
    int flipped[GRAPH_RANK_MAX], flipped_count;         /* dimensions that go backward */
    struct shape shape;
};

static void take_whole(struct part *p, int d, int64_t size)
{
    p->start[d] = 0;
    p->limit[d] = size;
    p->step[d] = 1;
    p->shape.dim[p->shape.rank++] = size;
}

/* the dimension that has no such part, or `rank` where there are too many indices; -1: all have */
static int find_part(const struct layer_config *c, const struct shape *in, struct part *p)
{
    int indexed = 0, d = 0;

    *p = (struct part){.shape = {.dtype = in->dtype}};
    for (int i = 0; i < c->shape_count; i++)
        indexed += !((c->added | c->wide) & (1u << i));
    for (int i = 0; i < c->shape_count; i++) {
        int last = c->wide & (1u << i) ? d + in->rank - indexed : d;

        for (; d < last; d++)
            take_whole(p, d, in->dim[d]);
        if (c->wide & (1u << i))
            continue;
        if (c->added & (1u << i)) {
            p->shape.dim[p->shape.rank++] = 1;
            continue;
        }
        if (d == in->rank || !range_of(c, i, in->dim[d], &p->start[d], &p->limit[d]))
            return d;
        p->step[d] = c->taken & (1u << i) ? 1 : c->step[i] < 0 ? -c->step[i] : c->step[i];
        if (c->step[i] < 0 && !(c->taken & (1u << i)))
            p->flipped[p->flipped_count++] = d + 1;
        if (!(c->taken & (1u << i)))
            p->shape.dim[p->shape.rank++] = (p->limit[d] - p->start[d] + p->step[d] - 1) /
                                            p->step[d];
        d++;
    }
    for (; d < in->rank; d++)
        take_whole(p, d, in->dim[d]);
    return -1;
}

static int shape_slice(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    char text[160];
    struct part p;
    int wrong, added = 0;

    (void)count;
    for (unsigned bits = l->c.added; bits; bits &= bits - 1)
        added++;
    if (in->rank + added + 1 > GRAPH_RANK_MAX)
        return layer_fail(l, e, "its part would have more than %d dimensions", GRAPH_RANK_MAX - 1);
    wrong = find_part(&l->c, in, &p);
    *out = p.shape;
    if (wrong == in->rank)
        return layer_fail(l, e, "it takes a part of more dimensions than samples %s have",
                          layer_shape_text(in, text, sizeof(text)));
    if (wrong >= 0)
        return layer_fail(l, e, "dimension %d of samples %s has no such part", wrong + 1,
                          layer_shape_text(in, text, sizeof(text)));
    return 0;
}

static int call_slice(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape, sample = s, to = s;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX] = {s.dim[0]};
    int64_t step[GRAPH_RANK_MAX] = {1};
    struct part p;
    int x;

    sample.rank--;
    for (int d = 0; d < sample.rank; d++)
        sample.dim[d] = s.dim[d + 1];
    find_part(&c->layer->c, &sample, &p);
    for (int d = 1; d < s.rank; d++) {
        start[d] = p.start[d - 1];
        limit[d] = p.limit[d - 1];
        step[d] = p.step[d - 1];
    }
    to.rank = p.shape.rank + 1;
    for (int d = 1; d < to.rank; d++)
        to.dim[d] = p.shape.dim[d - 1];
    layer_source(c, "Slice");
    x = graph_slice(g, c->input[0], start, limit, step);
    if (p.flipped_count > 0)
        x = graph_reverse(g, x, p.flipped, p.flipped_count);
    return graph_reshape(g, x, to);
}

const struct layer_functions layer_slice = {shape_slice, NULL, call_slice};
