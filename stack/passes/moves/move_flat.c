/* Finds the array between two shapes, and the parts that are joined first. */
#include "stack/passes/moves/move_flat.h"

#include "base/units.h"
#include "stack/hlo/bitcast.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/move/move_map.h"
#include "stack/passes/moves/move_blocks.h"

#define PARTS_MAX 16
#define PART_ROWS 8                     /* a part begins with a tile of rows */

static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

/* rows `first` .. `first` + `count` - 1 along the outermost dimension, as `to` */
static struct graph *reshape_body(const struct shape *from, int64_t first, int64_t count,
                                  const struct shape *to, struct arena *a)
{
    struct graph *body = arena_alloc(a, sizeof(*body));
    int64_t start[GRAPH_RANK_MAX] = {first}, limit[GRAPH_RANK_MAX] = {first + count};
    int node;

    graph_init(body, a, "move");
    node = graph_parameter(body, *from, "operand");
    for (int d = 1; d < from->rank; d++)
        limit[d] = from->dim[d];
    if (count < from->dim[0])
        node = graph_slice(body, node, start, limit, NULL);
    graph_output(body, graph_reshape(body, node, *to), "result", -1);
    graph_freeze(body);
    return body;
}

static struct graph *whole_body(const struct shape *from, const struct shape *to, struct arena *a)
{
    return reshape_body(from, 0, from->rank ? from->dim[0] : 1, to, a);
}

static bool has_map(const struct shape *from, const struct shape *to)
{
    struct move_map *map = mem_alloc(sizeof(*map));
    struct arena a;
    bool is_made;

    arena_init(&a);
    is_made = !move_map_make(whole_body(from, to, &a), map);
    arena_fini(&a);
    mem_free(map);
    return is_made;
}

static int64_t cycles_of(const struct shape *from, int64_t rows, const struct shape *to,
                         const struct move_machine *c, bool is_streamed)
{
    int64_t cycles;
    struct arena a;

    arena_init(&a);
    cycles = (is_streamed ? move_streamed_cycles : move_cycles)(reshape_body(from, 0, rows, to, &a), c);
    arena_fini(&a);
    return cycles;
}

/* ----- parts of a vector */

static int64_t row_elements(const struct shape *s) { return shape_elems(s) / s->dim[0]; }

static struct shape part_shape(const struct shape *from, int64_t rows)
{
    return shape_make(from->dtype, 1, (int64_t[]){rows * row_elements(from)});
}

static int64_t join_cycles(const struct shape *from, int64_t rows, const struct move_machine *c)
{
    int64_t cycles;
    int part[PARTS_MAX], count = 0;
    struct graph body;
    struct arena a;

    arena_init(&a);
    graph_init(&body, &a, "move");
    for (int64_t first = 0; first < from->dim[0]; first += rows) {
        struct shape s = part_shape(from, smaller(rows, from->dim[0] - first));

        part[count++] = graph_parameter(&body, s, "part");
    }
    graph_output(&body, graph_concatenate(&body, part, count, 0), "result", -1);
    graph_freeze(&body);
    cycles = move_streamed_cycles(&body, c);
    arena_fini(&a);
    return cycles;
}

/* of the first move of `f`, and its parts; INT64_MAX: it streams in no parts */
static int64_t parts_cycles(struct move_flat *f, const struct move_machine *c)
{
    for (int64_t parts = 2; f->flat.rank == 1 && parts <= PARTS_MAX; parts++) {
        int64_t rows = round_up(div_up(f->from.dim[0], parts), PART_ROWS), part, join;
        struct shape s = part_shape(&f->from, rows);

        if (rows >= f->from.dim[0])
            continue;
        part = cycles_of(&f->from, rows, &s, c, true);
        join = part < INT64_MAX ? join_cycles(&f->from, rows, c) : INT64_MAX;
        f->part_rows = rows;
        if (join < INT64_MAX)
            return part * parts + join;
    }
    return INT64_MAX;
}

static int64_t first_cycles(struct move_flat *f, const struct move_machine *c);

static struct shape some_rows(const struct shape *from, int64_t rows)
{
    struct shape s = *from;

    s.dim[0] = rows;
    return s;
}

/* of so many rows as a vector; *part_rows: in parts of how many */
static int64_t some_cycles(const struct move_flat *f, int64_t rows, const struct move_machine *c,
                           int64_t *part_rows)
{
    struct move_flat some = {.from = some_rows(&f->from, rows), .flat = part_shape(&f->from, rows)};
    int64_t cycles = rows > 0 ? first_cycles(&some, c) : 0;

    *part_rows = some.part_rows;
    if (cycles == INT64_MAX) {          /* few rows, element by element */
        *part_rows = rows;
        cycles = cycles_of(&some.from, rows, &some.flat, c, false);
    }
    return cycles;
}

/* likewise of blocks of rows, in a loop, and of the rows behind them */
static int64_t blocks_cycles(struct move_flat *f, const struct move_machine *c)
{
    int64_t rows = f->flat.rank == 1 ? move_block_rows(&f->from) : 0, block, rest;

    if (rows == 0 || f->from.dim[0] < 2 * rows)
        return INT64_MAX;
    block = some_cycles(f, rows, c, &f->part_rows);
    rest = some_cycles(f, f->from.dim[0] % rows, c, &f->rest_part_rows);
    if (block == INT64_MAX || rest == INT64_MAX)
        return INT64_MAX;
    f->blocks = f->from.dim[0] / rows;
    return f->blocks * block + rest;
}

static int64_t first_cycles(struct move_flat *f, const struct move_machine *c)
{
    int64_t cycles;

    f->part_rows = f->from.dim[0];
    f->blocks = 0;
    cycles = cycles_of(&f->from, f->part_rows, &f->flat, c, true);
    if (cycles == INT64_MAX)
        cycles = parts_cycles(f, c);
    return cycles == INT64_MAX ? blocks_cycles(f, c) : cycles;
}

/* ----- the array between */

/* the outer `kept` dimensions, which both shapes have, and all elements behind them as one */
static struct shape flat_behind(const struct shape *s, int kept)
{
    struct shape flat = {.dtype = s->dtype, .rank = kept + 1};
    int64_t outer = 1;

    for (int d = 0; d < kept; d++)
        outer *= flat.dim[d] = s->dim[d];
    flat.dim[kept] = shape_elems(s) / outer;
    return flat;
}

static int common_dims(const struct shape *x, const struct shape *y)
{
    int count = 0;

    while (count < x->rank - 1 && count < y->rank - 1 && x->dim[count] == y->dim[count])
        count++;
    return count;
}

static void try_through(struct move_flat *f, int kept, const struct move_machine *c)
{
    struct move_flat other = {.from = f->from, .to = f->to, .flat = flat_behind(&f->from, kept)};
    int64_t first = first_cycles(&other, c), second;

    if (first >= f->cycles)
        return;
    second = cycles_of(&other.flat, other.flat.dim[0], &other.to, c, true);
    other.cycles = second < INT64_MAX ? first + second : INT64_MAX;
    if (other.cycles < f->cycles)
        *f = other;
}

bool move_flat_find(const struct shape *from, const struct shape *to, const struct move_machine *c,
                    struct move_flat *out)
{
    int64_t as_it_is;

    if (from->rank == 0 || to->rank == 0 || shape_elems(to) == 0 || array_is_bitcast(from, to))
        return false;
    *out = (struct move_flat){.from = *from, .flat = *to, .to = *to};
    if (from->rank == 1 && to->rank > 1)
        return move_split_find(from, to, c, &out->split);
    if (has_map(from, to)) {
        if (to->rank > 1 || cycles_of(from, from->dim[0], to, c, true) < INT64_MAX)
            return false;
        out->cycles = first_cycles(out, c);
        return out->cycles < cycles_of(from, from->dim[0], to, c, false);
    }
    out->cycles = as_it_is = cycles_of(from, from->dim[0], to, c, false);
    for (int kept = common_dims(from, to); kept >= 0; kept--)
        try_through(out, kept, c);
    return out->cycles < as_it_is;
}

static int add_body(struct graph *g, int operand, int64_t first, int64_t rows,
                    const struct shape *to)
{
    return graph_fusion(g, &operand, 1,
                        reshape_body(&g->node[operand].shape, first, rows, to, g->arena));
}

/* rows from `first` on as a vector, behind `made` if that is a node: `part_rows` of them at a time */
static int join_parts(struct graph *g, int operand, int64_t first, int64_t part_rows, int made)
{
    struct shape from = g->node[operand].shape;
    int part[PARTS_MAX + 2], count = 0;

    if (made != NODE_NONE)
        part[count++] = made;
    for (; first < from.dim[0]; first += part_rows) {
        int64_t size = smaller(part_rows, from.dim[0] - first);
        struct shape s = part_shape(&from, size);

        part[count++] = add_body(g, operand, first, size, &s);
    }
    return count > 1 ? graph_concatenate(g, part, count, 0) : part[0];
}

static int join_block(struct graph *body, int rows, const void *user)
{
    const struct move_flat *f = user;

    return join_parts(body, rows, 0, f->part_rows, NODE_NONE);
}

static int join_blocks(struct graph *g, int operand, const struct move_flat *f)
{
    int64_t rows = f->blocks * move_block_rows(&f->from);
    struct shape blocks = move_block_vectors(&f->from, f->blocks);
    int made = move_blocks_make(g, move_blocks_of_rows(g, operand, f->blocks), &blocks, join_block, f);

    made = graph_reshape(g, made, part_shape(&f->from, rows));
    return join_parts(g, operand, rows, f->rest_part_rows, made);
}

int move_flat_make(struct graph *g, int operand, const struct move_flat *f)
{
    int64_t rows = f->from.dim[0];
    int flat;

    if (f->split.part_rows > 0)
        return move_split_make(g, operand, &f->to, &f->split);
    flat = f->blocks > 0         ? join_blocks(g, operand, f)
           : f->part_rows < rows ? join_parts(g, operand, 0, f->part_rows, NODE_NONE)
                                 : add_body(g, operand, 0, rows, &f->flat);
    return shape_equal(&f->flat, &f->to) ? flat : add_body(g, flat, 0, f->flat.dim[0], &f->to);
}
