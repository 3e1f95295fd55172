/* Writes the loop over blocks of rows, and the places of its rounds. */
#include "stack/passes/move_blocks.h"

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#define BLOCK_ROWS_MAX 1024             /* an odd number of f32 has no other */
#define BLOCK_ROWS_MIN 64               /* of fewer the copies in and out would be most of a round */

static int64_t tile_elements(const struct shape *s)
{
    return ARRAY_TILE_BYTES / array_element_bytes(s->dtype);
}

int64_t move_block_rows(const struct shape *from)
{
    int64_t row = shape_elems(from) / from->dim[0], rows = 1;

    while (rows * row % tile_elements(from) != 0 && rows <= BLOCK_ROWS_MAX)
        rows *= 2;
    while (rows < BLOCK_ROWS_MIN)
        rows *= 2;
    return rows <= BLOCK_ROWS_MAX ? rows : 0;
}

/* [blocks, rows of a block, ...] of the rows that are in whole blocks */
static int apart(struct graph *g, int operand, int64_t blocks)
{
    struct shape from = g->node[operand].shape, to = {.dtype = from.dtype, .rank = from.rank + 1};
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX], rows = move_block_rows(&from);

    to.dim[0] = blocks;
    to.dim[1] = rows;
    for (int d = 1; d < from.rank; d++)
        limit[d] = to.dim[d + 1] = from.dim[d];
    limit[0] = blocks * rows;
    if (limit[0] < from.dim[0])
        operand = graph_slice(g, operand, start, limit, NULL);
    return graph_reshape(g, operand, to);
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
    struct shape s = body->node[all].shape, rows = {.dtype = s.dtype, .rank = s.rank - 1};
    int start[GRAPH_RANK_MAX], one;

    begins(body, s.rank, start);
    for (int d = 1; d < s.rank; d++)
        rows.dim[d - 1] = s.dim[d];
    s.dim[0] = 1;
    one = graph_dynamic_slice(body, all, start, s.dim);
    place(body, one);
    return graph_reshape(body, one, rows);
}

static int put_block(struct graph *body, int all, int vector)
{
    struct shape s = body->node[all].shape;
    int start[GRAPH_RANK_MAX], changed;

    begins(body, s.rank, start);
    s.dim[0] = 1;
    changed = graph_dynamic_update_slice(body, all, graph_reshape(body, vector, s), start);
    place(body, changed);
    return changed;
}

int move_blocks_make(struct graph *g, int operand, int64_t blocks,
                     int (*join)(struct graph *body, int rows, const void *user), const void *user)
{
    int rows = apart(g, operand, blocks), in[2], loop;
    struct shape from = g->node[rows].shape, to = {.dtype = from.dtype, .rank = 3};
    int64_t elements = shape_elems(&from);
    struct graph *body = arena_alloc(g->arena, sizeof(*body));

    to.dim[0] = blocks;                 /* as tiles of a vector lie */
    to.dim[1] = elements / blocks / ARRAY_LANES;
    to.dim[2] = ARRAY_LANES;
    graph_init(body, g->arena, "blocks");
    in[0] = graph_parameter(body, from, "rows");
    in[1] = graph_parameter(body, to, "vector");
    graph_output(body, in[0], "rows", -1);
    graph_output(body, put_block(body, in[1], join(body, block_of(body, in[0]), user)), "vector",
                 -1);
    graph_freeze(body);
    in[0] = rows;
    in[1] = graph_broadcast(g, graph_constant(g, shape_scalar(from.dtype), 0), to, NULL);
    loop = graph_tuple_element(g, graph_while(g, in, 2, body, blocks), 1);
    return graph_reshape(g, loop, shape_make(from.dtype, 1, &elements));
}
