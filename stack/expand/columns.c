/*
 * Gathers and scatters of columns, as those of rows, and of several short rows as those of a long one.
 * x[:, k] and the lower triangles x[:, i, j] of a batch of matrices take arrays that are whole along
 * some dimensions, but not along lanes: the kernel of elements (kernels/index) would move each
 * element by itself, where one copy moves a row. So the operand is transposed, and the result back,
 * by moves that stream; layouts often leave nothing of them. A gather of windows whose rows are short
 * (a cache by beams, images by rows) takes fewer copies when more of their dimensions lie along lanes.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

/*
 * What decides between them, in cycles: an element that the kernel of elements moves, a row that the
 * kernel of rows does and each 512 bytes of it (docs/kernels.md), and a kilobyte through a move.
 */
#define ELEMENT_CYCLES 12
#define ROW_CYCLES 25
#define RUN_CYCLES 2
#define KILOBYTE_CYCLES 2
#define MOVES 4                         /* of the operand and of the result, read and written */
#define LENGTH_MAX 16384                /* of a row: kernels hold sixteen */

struct columns {
    int order[GRAPH_RANK_MAX];          /* of the operand: dimensions of which an index takes one */
    int front, kept;                    /* element; those that it takes whole, of which the last */
    int64_t places, kept_size, length;  /* make rows; and elements of each of the three */
    int64_t queries;
    int indices_rank;                   /* dimensions of the indices but that of their numbers, */
    int64_t indices_size[GRAPH_RANK_MAX];
    int rows_dim[GRAPH_RANK_MAX];       /* and where the rows have these, then the whole ones */
};

/* the rows' size along the operand's dimension d, which is not of a batch; `at` counts offsets */
static int64_t window_size(const struct graph_gather *w, const struct shape *rows, int d, int *at)
{
    if (graph_dims_have(w->collapsed_dims, w->collapsed_count, d) ||
        graph_dims_have(w->operand_batching, w->batching_count, d))
        return 1;
    return rows->dim[w->offset_dims[(*at)++]];
}

/* the last of the whole dimensions, as many as a row may hold, run along lanes */
static void choose_length(const struct shape *operand, const int *whole, int wholes,
                          struct columns *c)
{
    c->kept = wholes - 1;
    c->length = operand->dim[whole[c->kept]];
    while (c->kept > 0 && c->length * operand->dim[whole[c->kept - 1]] <= LENGTH_MAX)
        c->length *= operand->dim[whole[--c->kept]];
    c->kept_size = 1;
    for (int i = 0; i < c->kept; i++)
        c->kept_size *= operand->dim[whole[i]];
}

static bool order_operand(const struct shape *operand, const struct shape *rows,
                          const struct graph_gather *w, struct columns *c)
{
    int whole[GRAPH_RANK_MAX], wholes = 0, at = 0, offset[GRAPH_RANK_MAX];

    c->places = 1;
    for (int d = 0; d < operand->rank; d++) {
        int64_t size = window_size(w, rows, d, &at);

        if (size == operand->dim[d] && size > 1 &&
            !graph_dims_have(w->start_index_map, w->map_count, d)) {
            offset[wholes] = w->offset_dims[at - 1];
            whole[wholes++] = d;
        } else if (size == 1) {
            c->order[c->front++] = d;
            c->places *= operand->dim[d];
        } else {
            return false;
        }
    }
    if (wholes == 0)
        return false;
    choose_length(operand, whole, wholes, c);
    for (int i = 0; i < wholes; i++) {
        c->order[c->front + i] = whole[i];
        c->rows_dim[c->indices_rank + i] = offset[i];
    }
    return true;
}

static void order_indices(const struct shape *indices, const struct graph_gather *w,
                          struct columns *c)
{
    int to = 0;

    c->queries = 1;
    for (int i = 0; i < indices->rank; i++) {
        if (i == w->index_vector_dim)
            continue;
        while (graph_dims_have(w->offset_dims, w->offset_count, to))
            to++;
        c->queries *= indices->dim[i];
        c->rows_dim[c->indices_rank] = to++;
        c->indices_size[c->indices_rank++] = indices->dim[i];
    }
}

static int64_t cycles_of_rows(int64_t rows, int64_t length)
{
    return rows * (ROW_CYCLES + RUN_CYCLES * div_up(length, ARRAY_LANES));
}

/*
 * As rows that are moved there and back, against the kernel of elements, or of rows as they lie. A
 * scatter into whole rows may be in its place.
 */
static bool pays(const struct shape *operand, const struct columns *c, bool is_gather)
{
    int64_t rows = c->queries * c->kept_size, last = operand->dim[operand->rank - 1];
    int64_t runs = (c->places * c->kept_size + rows) * div_up(c->length, ARRAY_LANES);
    bool has_rows = c->order[operand->rank - 1] == operand->rank - 1;
    int64_t now = has_rows ? cycles_of_rows(rows * c->length / last, last)
                           : ELEMENT_CYCLES * rows * c->length;

    return (is_gather || !has_rows) &&
           now > cycles_of_rows(rows, c->length) + KILOBYTE_CYCLES * (MOVES * runs / 2);
}

static bool find_columns(const struct graph *g, const struct graph_node *n, struct columns *c)
{
    const struct shape *operand = &g->node[n->operand[0]].shape;
    bool is_gather = n->op == HLO_GATHER;
    const struct shape *rows = is_gather ? &n->shape : &g->node[n->operand[2]].shape;

    memset(c, 0, sizeof(*c));
    if (expand_is_single(g, n))
        return false;
    order_indices(&g->node[n->operand[1]].shape, n->gather, c);
    return c->indices_rank + operand->rank < GRAPH_RANK_MAX &&
           order_operand(operand, rows, n->gather, c) && pays(operand, c, is_gather);
}

static int place_in(const int *order, int dim)
{
    int at = 0;

    while (order[at] != dim)
        at++;
    return at;
}

/* the numbers of the operand [front dimensions, kept ones, length] */
static struct graph_gather row_numbers(const struct shape *operand, const struct graph_gather *w,
                                       const struct columns *c)
{
    struct graph_gather d = {.map_count = w->map_count, .batching_count = w->batching_count,
                             .index_vector_dim = w->index_vector_dim};

    for (int i = 0; i <= c->kept; i++)
        d.offset_dims[d.offset_count++] = c->indices_rank + i;
    for (int k = 0; k < w->map_count; k++)
        d.start_index_map[k] = place_in(c->order, w->start_index_map[k]);
    for (int k = 0; k < w->batching_count; k++) {
        d.operand_batching[k] = place_in(c->order, w->operand_batching[k]);
        d.indices_batching[k] = w->indices_batching[k];
    }
    for (int i = 0; i < c->front; i++) {
        d.slice_sizes[i] = 1;
        if (!graph_dims_have(d.operand_batching, d.batching_count, i))
            d.collapsed_dims[d.collapsed_count++] = i;
    }
    for (int i = 0; i < c->kept; i++)
        d.slice_sizes[c->front + i] = operand->dim[c->order[c->front + i]];
    d.slice_sizes[c->front + c->kept] = c->length;
    return d;
}

/* [front dimensions, kept ones, length] of the operand */
static int as_rows(struct graph *g, int x, const struct columns *c)
{
    struct shape s = g->node[x].shape, rows = {.dtype = s.dtype};

    while (rows.rank < c->front + c->kept) {
        rows.dim[rows.rank] = s.dim[c->order[rows.rank]];
        rows.rank++;
    }
    rows.dim[rows.rank++] = c->length;
    return graph_reshape(g, graph_transpose(g, x, c->order), rows);
}

static int from_rows(struct graph *g, int x, const struct shape *operand, const struct columns *c)
{
    struct shape turned = *operand;
    int back[GRAPH_RANK_MAX];

    for (int i = 0; i < operand->rank; i++) {
        turned.dim[i] = operand->dim[c->order[i]];
        back[c->order[i]] = i;
    }
    return graph_transpose(g, graph_reshape(g, x, turned), back);
}

/* [dimensions of the indices, whole ones]: what the rows have in the order of c->rows_dim */
static struct shape ordered_rows(const struct shape *operand, const struct columns *c)
{
    struct shape s = {.dtype = operand->dtype, .rank = c->indices_rank};

    memcpy(s.dim, c->indices_size, sizeof(c->indices_size));
    for (int i = c->front; i < operand->rank; i++)
        s.dim[s.rank++] = operand->dim[c->order[i]];
    return s;
}

/* where each of these dimensions is among them, in the rows' own order */
static void rows_order(const struct columns *c, int rank, int *order)
{
    for (int i = 0; i < rank; i++) {
        int at = 0;

        for (int k = 0; k < rank; k++)
            at += c->rows_dim[k] < c->rows_dim[i];
        order[at] = i;
    }
}

static int columns_gather(struct graph *g, const struct graph_node *n, const struct columns *c)
{
    struct shape operand = g->node[n->operand[0]].shape, s = ordered_rows(&operand, c);
    struct graph_gather d = row_numbers(&operand, n->gather, c);
    int order[GRAPH_RANK_MAX];
    int made = graph_gather(g, as_rows(g, n->operand[0], c), n->operand[1], &d);

    rows_order(c, s.rank, order);
    return graph_reshape(g, graph_transpose(g, graph_reshape(g, made, s), order), n->shape);
}

static int columns_scatter(struct graph *g, const struct graph_node *n, const struct columns *c)
{
    struct shape operand = g->node[n->operand[0]].shape, s = ordered_rows(&operand, c), turned = s;
    struct shape rows = s;
    struct graph_gather d = row_numbers(&operand, n->gather, c);
    int order[GRAPH_RANK_MAX], back[GRAPH_RANK_MAX], updates;

    rows_order(c, s.rank, order);
    for (int i = 0; i < s.rank; i++) {
        turned.dim[i] = s.dim[order[i]];
        back[order[i]] = i;
    }
    rows.rank = c->indices_rank + c->kept;
    rows.dim[rows.rank++] = c->length;
    updates = graph_transpose(g, graph_reshape(g, n->operand[2], turned), back);
    updates = graph_reshape(g, updates, rows);
    memset(d.slice_sizes, 0, sizeof(d.slice_sizes));
    return from_rows(g, graph_scatter(g, n->reduce_kind, as_rows(g, n->operand[0], c),
                                      n->operand[1], updates, &d), &operand, c);
}

int expand_columns(struct graph *g, const struct graph_node *n)
{
    struct columns c;

    if ((n->op != HLO_GATHER && n->op != HLO_SCATTER) || n->shape.dtype == DTYPE_PRED ||
        !find_columns(g, n, &c))
        return NODE_NONE;
    return n->op == HLO_GATHER ? columns_gather(g, n, &c) : columns_scatter(g, n, &c);
}
