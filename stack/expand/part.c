/* Parts along one dimension, which expansions of windows are made of. */
#include "stack/expand/expand.h"

#include <string.h>

int expand_part(struct graph *g, int x, int dim, int64_t begin, int64_t size, int64_t stride)
{
    int64_t first[GRAPH_RANK_MAX] = {0}, end[GRAPH_RANK_MAX], step[GRAPH_RANK_MAX];

    if (begin == 0 && size == g->node[x].shape.dim[dim] && stride == 1)
        return x;
    memcpy(end, g->node[x].shape.dim, sizeof(end));
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        step[d] = 1;
    first[dim] = begin;
    end[dim] = begin + (size - 1) * stride + 1;
    step[dim] = stride;
    return graph_slice(g, x, first, end, step);
}

int expand_widened(struct graph *g, int x, int dim, int64_t low, int64_t high, int64_t interior)
{
    int64_t before[GRAPH_RANK_MAX] = {0}, behind[GRAPH_RANK_MAX] = {0}, between[GRAPH_RANK_MAX] = {0};

    if (!low && !high && !interior)
        return x;
    before[dim] = low;
    behind[dim] = high;
    between[dim] = interior;
    return graph_pad(g, x, graph_constant(g, shape_scalar(g->node[x].shape.dtype), 0), before, behind,
                     between);
}
