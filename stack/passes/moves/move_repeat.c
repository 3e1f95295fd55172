/* Recognises repeated elements, and makes the body of their move. */
#include "stack/passes/moves/move_repeat.h"

#include "stack/hlo/array.h"
#include "stack/hlo/bitcast.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#define TIMES_MAX 8
#define BROADCAST_TILE_CYCLES 2         /* of an array that is only spread */

/* how often the broadcast gives each element; 0: its dimensions change places */
static int64_t times_of(const struct graph *g, const struct graph_node *broadcast)
{
    const struct shape *from = &g->node[broadcast->operand[0]].shape;

    for (int d = 1; d < from->rank; d++)
        if (broadcast->dims[d] <= broadcast->dims[d - 1])
            return 0;
    return from->rank && shape_elems(from) ? shape_elems(&broadcast->shape) / shape_elems(from) : 0;
}

static struct graph *repeat_body(const struct graph *g, const struct graph_node *broadcast,
                                 const struct shape *to, struct arena *a)
{
    const struct shape *from = &g->node[broadcast->operand[0]].shape;
    struct graph *body = arena_alloc(a, sizeof(*body));
    struct shape apart = broadcast->shape;
    int node, part[TIMES_MAX];

    graph_init(body, a, "repeat");
    for (int d = 0; d < apart.rank; d++)
        if (!graph_dims_have(broadcast->dims, from->rank, d))
            apart.dim[d] = 1;
    node = graph_reshape(body, graph_parameter(body, *from, "operand"), apart);
    for (int d = 0; d < apart.rank; d++) {
        int64_t times = broadcast->shape.dim[d] / apart.dim[d];

        for (int i = 0; i < times; i++)
            part[i] = node;
        if (times > 1)
            node = graph_concatenate(body, part, (int)times, d);
    }
    graph_output(body, graph_reshape(body, node, *to), "result", -1);
    graph_freeze(body);
    return body;
}

static struct graph *reshape_alone(const struct shape *from, const struct shape *to, struct arena *a)
{
    struct graph *body = arena_alloc(a, sizeof(*body));

    graph_init(body, a, "reshape");
    graph_output(body, graph_reshape(body, graph_parameter(body, *from, "operand"), *to), "result",
                 -1);
    graph_freeze(body);
    return body;
}

/* of the broadcast, and of the reshape behind it */
static int64_t apart_cycles(const struct shape *spread, const struct shape *to,
                            const struct move_machine *c, struct arena *a)
{
    int64_t reshape = move_cycles(reshape_alone(spread, to, a), c);
    struct array all;

    array_init(&all, "", spread, NULL);
    return reshape == INT64_MAX ? reshape : reshape + all.tile_count * BROADCAST_TILE_CYCLES;
}

struct graph *move_repeat_find(const struct graph *g, int node, const struct move_machine *c,
                               struct arena *a)
{
    const struct graph_node *n = &g->node[node], *broadcast;
    struct graph *body;
    int64_t times;

    if (n->op != HLO_RESHAPE || g->node[n->operand[0]].op != HLO_BROADCAST)
        return NULL;
    broadcast = &g->node[n->operand[0]];
    times = times_of(g, broadcast);
    if (times < 2 || times > TIMES_MAX || array_is_bitcast(&broadcast->shape, &n->shape))
        return NULL;
    body = repeat_body(g, broadcast, &n->shape, a);
    return move_streamed_cycles(body, c) < apart_cycles(&broadcast->shape, &n->shape, c, a) ? body
                                                                                           : NULL;
}
