/* Writes the loop over blocks of rows, and the places of its rounds. */
#include "stack/passes/moves/move_blocks.h"

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#define BLOCK_ROWS_MAX 1024             /* an odd number of f32 has no other */
#define BLOCK_ROWS_MIN 64               /* of fewer the copies in and out would be most of a round */

static int64_t tile_elements(const struct shape *s)
{
    return ARRAY_TILE_BYTES / array_element_bytes(s->dtype);
}

int64_t move_block_rows(const struct shape *s)
{
    int64_t row = shape_elems(s) / s->dim[0], rows = 1;

    while (rows * row % tile_elements(s) != 0 && rows <= BLOCK_ROWS_MAX)
        rows *= 2;
    while (rows < BLOCK_ROWS_MIN)
        rows *= 2;
    return rows <= BLOCK_ROWS_MAX ? rows : 0;
}

/* the first `count` along the first dimension */
static int first_of(struct graph *g, int x, int64_t count)
{
    struct shape s = g->node[x].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++)
        limit[d] = s.dim[d];
    limit[0] = count;
    return count < s.dim[0] ? graph_slice(g, x, start, limit, NULL) : x;
}

int move_blocks_of_rows(struct graph *g, int rows, int64_t blocks)
{
    struct shape from = g->node[rows].shape, to = {.dtype = from.dtype, .rank = from.rank + 1};

    to.dim[0] = blocks;
    to.dim[1] = move_block_rows(&from);
    for (int d = 1; d < from.rank; d++)
        to.dim[d + 1] = from.dim[d];
    return graph_reshape(g, first_of(g, rows, blocks * to.dim[1]), to);
}

struct shape move_block_vectors(const struct shape *rows, int64_t blocks)
{
    int64_t elements = move_block_rows(rows) * (shape_elems(rows) / rows->dim[0]);

    return shape_make(rows->dtype, 3, (int64_t[]){blocks, elements / ARRAY_LANES, ARRAY_LANES});
}

int move_blocks_of_vector(struct graph *g, int vector, const struct shape *rows, int64_t blocks)
{
    struct shape to = move_block_vectors(rows, blocks);

    return graph_reshape(g, first_of(g, vector, shape_elems(&to)), to);
}

/* starts of block number i in round i */
static void place(struct graph *body, int node)
{
    struct graph_trips *t = arena_alloc(body->arena, sizeof(*t));

    t->known = 1;
    t->step[0][0] = 1;
    body->node[node].trips = t;
}

static void begins(struct graph *body, int rank, int *start)
{
    int zero = graph_constant(body, shape_scalar(DTYPE_S32), 0);

    for (int d = 0; d < rank; d++)
        start[d] = zero;
}

static int block_of(struct graph *body, int all)
{
    struct shape s = body->node[all].shape, block = {.dtype = s.dtype, .rank = s.rank - 1};
    int start[GRAPH_RANK_MAX], one;

    begins(body, s.rank, start);
    for (int d = 1; d < s.rank; d++)
        block.dim[d - 1] = s.dim[d];
    s.dim[0] = 1;
    one = graph_dynamic_slice(body, all, start, s.dim);
    place(body, one);
    return graph_reshape(body, one, block);
}

static int put_block(struct graph *body, int all, int block)
{
    struct shape s = body->node[all].shape;
    int start[GRAPH_RANK_MAX], changed;

    begins(body, s.rank, start);
    s.dim[0] = 1;
    changed = graph_dynamic_update_slice(body, all, graph_reshape(body, block, s), start);
    place(body, changed);
    return changed;
}

int move_blocks_make(struct graph *g, int in, const struct shape *out,
                     int (*make)(struct graph *body, int block, const void *user), const void *user)
{
    struct graph *body = arena_alloc(g->arena, sizeof(*body));
    int zero = graph_constant(g, shape_scalar(out->dtype), 0), state[2], all[2];

    graph_init(body, g->arena, "blocks");
    all[0] = graph_parameter(body, g->node[in].shape, "from");
    all[1] = graph_parameter(body, *out, "to");
    graph_output(body, all[0], "from", -1);
    graph_output(body, put_block(body, all[1], make(body, block_of(body, all[0]), user)), "to", -1);
    graph_freeze(body);
    state[0] = in;
    state[1] = graph_broadcast(g, zero, *out, NULL);
    return graph_tuple_element(g, graph_while(g, state, 2, body, out->dim[0]), 1);
}
