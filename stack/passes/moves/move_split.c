/* Finds the parts of a vector that become rows, and writes them. */
#include "stack/passes/moves/move_split.h"

#include "base/units.h"
#include "stack/hlo/bitcast.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/moves/move_blocks.h"

#define PARTS_MAX 16
#define PART_ROWS 32                    /* a part begins with a tile of rows of any type */

static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

static struct shape some_rows(const struct shape *s, int64_t rows)
{
    struct shape some = *s;

    some.dim[0] = rows;
    return some;
}

/* rows `first` .. `first` + `count` - 1 of those that a vector has */
static struct graph *part_body(const struct shape *vector, const struct shape *rows, int64_t first,
                               int64_t count, struct arena *a)
{
    struct graph *body = arena_alloc(a, sizeof(*body));
    int64_t row = shape_elems(rows) / rows->dim[0], start = first * row, limit = start + count * row;
    int node;

    graph_init(body, a, "move");
    node = graph_parameter(body, *vector, "operand");
    if (limit - start < vector->dim[0])
        node = graph_slice(body, node, &start, &limit, NULL);
    graph_output(body, graph_reshape(body, node, some_rows(rows, count)), "result", -1);
    graph_freeze(body);
    return body;
}

/* of the first `count` rows */
static int64_t cycles_of(const struct shape *vector, const struct shape *rows, int64_t count,
                         const struct move_machine *c, bool is_streamed)
{
    int64_t cycles;
    struct arena a;

    arena_init(&a);
    cycles = (is_streamed ? move_streamed_cycles
                          : move_cycles)(part_body(vector, rows, 0, count, &a), c);
    arena_fini(&a);
    return cycles;
}

/* of `count` rows, in as few parts as stream; INT64_MAX: none do */
static int64_t parts_cycles(const struct shape *vector, const struct shape *rows, int64_t count,
                            const struct move_machine *c, int64_t *part_rows)
{
    *part_rows = count;
    for (int64_t parts = 1; parts <= PARTS_MAX; parts++) {
        int64_t size = smaller(count, round_up(div_up(count, parts), PART_ROWS));
        int64_t one = cycles_of(vector, rows, size, c, true);

        *part_rows = size;
        if (one < INT64_MAX)
            return one * parts;
    }
    return INT64_MAX;
}

static int64_t blocks_cycles(const struct shape *vector, const struct shape *rows,
                             const struct move_machine *c, struct move_split *s)
{
    int64_t count = move_block_rows(rows), block, rest = 0;

    if (count == 0 || rows->dim[0] < 2 * count)
        return INT64_MAX;
    s->blocks = rows->dim[0] / count;
    block = parts_cycles(vector, rows, count, c, &s->part_rows);
    if (rows->dim[0] % count > 0)
        rest = parts_cycles(vector, rows, rows->dim[0] % count, c, &s->rest_part_rows);
    return block < INT64_MAX && rest < INT64_MAX ? s->blocks * block + rest : INT64_MAX;
}

bool move_split_find(const struct shape *vector, const struct shape *rows,
                     const struct move_machine *c, struct move_split *out)
{
    int64_t cycles;

    *out = (struct move_split){.part_rows = 0};
    if (shape_elems(rows) == 0 || array_is_bitcast(vector, rows) ||
        cycles_of(vector, rows, rows->dim[0], c, true) < INT64_MAX)
        return false;
    cycles = parts_cycles(vector, rows, rows->dim[0], c, &out->part_rows);
    if (cycles == INT64_MAX)
        cycles = blocks_cycles(vector, rows, c, out);
    if (cycles < cycles_of(vector, rows, rows->dim[0], c, false))
        return true;
    out->part_rows = 0;
    return false;
}

/* rows from `first` on, behind `made` if that is a node */
static int split_parts(struct graph *g, int vector, const struct shape *rows, int64_t first,
                       int64_t part_rows, int made)
{
    int part[PARTS_MAX + 2], count = 0;

    if (made != NODE_NONE)
        part[count++] = made;
    for (; first < rows->dim[0]; first += part_rows) {
        int64_t size = smaller(part_rows, rows->dim[0] - first);

        part[count++] = graph_fusion(
            g, &vector, 1, part_body(&g->node[vector].shape, rows, first, size, g->arena));
    }
    return count > 1 ? graph_concatenate(g, part, count, 0) : part[0];
}

struct block { const struct move_split *split; const struct shape *rows; };

static int split_block(struct graph *body, int block, const void *user)
{
    const struct block *b = user;
    struct shape rows = some_rows(b->rows, move_block_rows(b->rows));
    int64_t elements = shape_elems(&rows);
    int vector = graph_reshape(body, block, shape_make(rows.dtype, 1, &elements));

    return split_parts(body, vector, &rows, 0, b->split->part_rows, NODE_NONE);
}

static int split_blocks(struct graph *g, int vector, const struct shape *rows,
                        const struct move_split *s)
{
    struct shape out = {.dtype = rows->dtype, .rank = rows->rank + 1};
    int64_t count = move_block_rows(rows);
    int made;

    out.dim[0] = s->blocks;
    out.dim[1] = count;
    for (int d = 1; d < rows->rank; d++)
        out.dim[d + 1] = rows->dim[d];
    made = move_blocks_make(g, move_blocks_of_vector(g, vector, rows, s->blocks), &out, split_block,
                            &(struct block){s, rows});
    made = graph_reshape(g, made, some_rows(rows, s->blocks * count));
    return split_parts(g, vector, rows, s->blocks * count, s->rest_part_rows, made);
}

int move_split_make(struct graph *g, int vector, const struct shape *rows,
                    const struct move_split *s)
{
    return s->blocks > 0 ? split_blocks(g, vector, rows, s)
                         : split_parts(g, vector, rows, 0, s->part_rows, NODE_NONE);
}
