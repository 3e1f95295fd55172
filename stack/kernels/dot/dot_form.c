/*
 * Decides whether a product's operands can be taken as they lie, by how full its tiles and passes
 * would be.
 */
#include "stack/kernels/dot/dot_form.h"

#include "stack/hlo/graph_shape.h"
#include "stack/kernels/dot/kernel_dot_body.h"

#include <string.h>

#define TILE 128
#define ROWS_FILLED 32                  /* a multiple of any tile's rows */
#define ROWS_MIN 64                     /* of a pass, where a plain product has more */
#define EMPTY_MAX 1.25                  /* elements of tiles, by those that are used */

bool dot_is_plain(const struct graph *g, const struct graph_node *n)
{
    const struct graph_dot *dot = &n->dot;
    int rank = dot->batch_count + 2;

    return dot->batch_count <= 1 && dot->contract_count == 1 &&
           g->node[n->operand[0]].shape.rank == rank &&
           g->node[n->operand[1]].shape.rank == rank &&
           (!dot->batch_count || (!dot->lhs_batch[0] && !dot->rhs_batch[0]));
}

/* ----- operands */

struct operand {
    const struct shape *shape;
    const int *batch, *contract;
    const struct graph_dot *dot;
    int free_dim, contract_dim;         /* the tiled ones */
};

static bool is_contracted(const struct operand *o, int dim)
{
    return graph_dims_have(o->contract, o->dot->contract_count, dim);
}

static bool is_batch(const struct operand *o, int dim)
{
    return graph_dims_have(o->batch, o->dot->batch_count, dim);
}

static bool read_operand(struct operand *o, const struct graph *g, int node,
                         const struct graph_dot *dot, bool is_rhs)
{
    int rank = g->node[node].shape.rank;

    *o = (struct operand){.shape = &g->node[node].shape, .dot = dot,
                          .batch = is_rhs ? dot->rhs_batch : dot->lhs_batch,
                          .contract = is_rhs ? dot->rhs_contract : dot->lhs_contract};
    for (int i = 0; i < rank; i++)
        if (o->shape->dim[i] == 1)
            return false;
    if (rank < 2 || is_batch(o, rank - 1) || is_batch(o, rank - 2)
        || is_contracted(o, rank - 1) == is_contracted(o, rank - 2))
        return false;
    o->contract_dim = is_contracted(o, rank - 1) ? rank - 1 : rank - 2;
    o->free_dim = 2 * rank - 3 - o->contract_dim;
    return true;
}

static bool is_row(const struct operand *o, int dim) { return dim == o->shape->rank - 2; }

/* the tiled dimension with those of its kind that go on where it ends */
static int64_t run_of(const struct operand *o, int dim)
{
    int64_t size = o->shape->dim[dim];
    bool wanted = is_contracted(o, dim);

    for (int i = dim - 1; is_row(o, dim) && o->shape->dim[dim] % ROWS_FILLED == 0 && i >= 0
                          && !is_batch(o, i) && is_contracted(o, i) == wanted; i--)
        size *= o->shape->dim[i];
    return size;
}

static int64_t all_of(const struct operand *o, bool wants_contracted)
{
    int64_t size = 1;

    for (int i = 0; i < o->shape->rank; i++)
        if (!is_batch(o, i) && is_contracted(o, i) == wants_contracted)
            size *= o->shape->dim[i];
    return size;
}

/* tiles along lanes, or of the contraction, are filled about as well as a plain product's */
static bool is_full(int64_t size, int64_t all)
{
    return size == all || (double)((size + TILE - 1) / TILE * TILE) <= EMPTY_MAX * (double)size;
}

static bool is_pair(const struct graph_dot *dot, int lhs, int rhs)
{
    for (int i = 0; i < dot->contract_count; i++)
        if (dot->lhs_contract[i] == lhs)
            return dot->rhs_contract[i] == rhs;
    return false;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* either operand may become the one whose rows go through the units */
static bool has_rows(const struct operand *o)
{
    int64_t rows = run_of(o, o->free_dim), all = all_of(o, false);

    return rows == all || rows >= ROWS_MIN;
}

bool dot_is_taken(const struct graph *g, int lhs, int rhs, const struct graph_dot *dot)
{
    struct operand a, b;
    int64_t depth;

    if (!read_operand(&a, g, lhs, dot, false) || !read_operand(&b, g, rhs, dot, true) ||
        !is_pair(dot, a.contract_dim, b.contract_dim))
        return false;
    depth = smaller(run_of(&a, a.contract_dim), run_of(&b, b.contract_dim));
    return is_full(depth, all_of(&a, true)) && has_rows(&a) && has_rows(&b) &&
           (is_full(a.shape->dim[a.free_dim], all_of(&a, false)) ||
            is_full(b.shape->dim[b.free_dim], all_of(&b, false)));
}

/* ----- the order of the result */

static bool is_output(const struct graph *g, int node)
{
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == node)
            return true;
    return false;
}

/* the only node that reads it; NODE_NONE if there are others or none */
static int only_reader(const struct graph *g, int node)
{
    int found = NODE_NONE;

    if (is_output(g, node))
        return NODE_NONE;
    for (int i = node + 1; i < g->node_count; i++)
        if (graph_dims_have(g->node[i].operand, g->node[i].operand_count, node)) {
            if (found != NODE_NONE)
                return NODE_NONE;
            found = i;
        }
    return found;
}

/* elementwise, of the value of `node` and of what has any order */
static bool goes_along(const struct graph *g, const struct graph_node *n, int node)
{
    if (!graph_op_is_elementwise(n->op))
        return false;
    for (int k = 0; k < n->operand_count; k++) {
        const struct graph_node *o = &g->node[n->operand[k]];

        if (n->operand[k] != node && o->op != HLO_BROADCAST && o->op != HLO_CONSTANT)
            return false;
    }
    return true;
}

/* what a transpose behind it asks for */
static bool wanted_order(const struct graph *g, int node, int *order)
{
    int reader = only_reader(g, node);

    while (reader != NODE_NONE && goes_along(g, &g->node[reader], node)) {
        node = reader;
        reader = only_reader(g, node);
    }
    if (reader == NODE_NONE || g->node[reader].op != HLO_TRANSPOSE)
        return false;
    memcpy(order, g->node[reader].dims, sizeof(g->node[reader].dims));
    return true;
}

/* of the product `n` alone */
static bool product_is_made(const struct graph *g, struct graph_node n, const struct chip *chip)
{
    const struct array *list[3];
    struct kernel_job job = {.chip = chip, .operand_count = 2, .result_count = 1, .operand = list,
                             .result = list + 2};
    struct array array[3];
    struct dot_problem p;
    struct graph body;
    struct arena a;
    struct err e;
    bool is_taken;

    arena_init(&a);
    graph_init(&body, &a, "product");
    for (int i = 0; i < 2; i++) {
        array_init(&array[i], "", &g->node[n.operand[i]].shape, NULL);
        graph_parameter(&body, g->node[n.operand[i]].shape, "operand");
    }
    graph_output(&body, graph_add(&body, &n, (int[]){0, 1}, 2), "result", -1);
    array_init(&array[2], "", &body.node[2].shape, NULL);
    for (int i = 0; i < 3; i++)
        list[i] = &array[i];
    job.body = &body;
    is_taken = dot_problem_read(&p, &job, false, &e) == 0;
    graph_fini(&body);
    arena_fini(&a);
    return is_taken;
}

bool dot_is_made(const struct graph *g, int node, const struct chip *chip)
{
    return product_is_made(g, g->node[node], chip);
}

static bool is_made(const struct graph *g, int node, const struct chip *chip, const int *order)
{
    struct graph_node n = g->node[node];

    n.dot.has_order = 1;
    memcpy(n.dot.order, order, sizeof(n.dot.order));
    return product_is_made(g, n, chip);
}

/*
 * [batches, outer columns, rows, columns] of a result [batches, rows, outer columns, columns]: the
 * right operand's outer dimensions are counted, and rows and columns tiled.
 */
static bool outer_columns_first(const struct graph *g, const struct graph_node *n, int *order)
{
    const struct graph_dot *d = &n->dot;
    int rows = g->node[n->operand[0]].shape.rank - d->batch_count - d->contract_count;
    int count = 0, columns = n->shape.rank - d->batch_count - rows;

    if (rows < 1 || columns < 2)
        return false;
    for (int i = 0; i < d->batch_count; i++)
        order[count++] = i;
    for (int i = 0; i < columns - 1; i++)
        order[count++] = d->batch_count + rows + i;
    for (int i = 0; i < rows; i++)
        order[count++] = d->batch_count + i;
    order[count] = n->shape.rank - 1;
    return true;
}

bool dot_result_order(const struct graph *g, int node, const struct chip *chip,
                      enum codegen codegen, int *order)
{
    const struct graph_node *n = &g->node[node];
    bool is_kept = dot_is_plain(g, n) ||
                   dot_is_taken(g, n->operand[0], n->operand[1], &n->dot);

    if (n->dot.has_order || !is_kept)
        return false;
    if (wanted_order(g, node, order) && is_made(g, node, chip, order))
        return true;
    for (int i = 0; i < GRAPH_RANK_MAX; i++)
        order[i] = i;
    if (dot_is_plain(g, n) || is_made(g, node, chip, order))
        return true;
    return codegen == CODEGEN_XLA && outer_columns_first(g, n, order) &&
           is_made(g, node, chip, order);
}
