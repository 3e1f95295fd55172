/*
 * Products of one row with each of many matrices, as a step of decoding has them: a query against all
 * keys that are kept, its weights against all values. The matrices, [batch, positions, heads, 64],
 * are not where a product wants them; a copy of them takes longer than all of the arithmetic. So
 * vectors multiply and add them up as they lie, in f32, read once.
 */
#include "stack/expand/expand.h"

#include "sim/chip/chip.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#define MANY_BYTES_MIN (1 << 20)
#define VECTOR_ELEMENTS (8 * ARRAY_LANES)
#define MULTIPLY_CYCLES 4               /* of a vector: read, widened, multiplied, added */
#define LOADS_MIN 2                     /* slots: with one, vectors wait for what they multiply */
#define COPY_TIMES 2                    /* the memory's time for a copy: read and written */

struct side { int node; const int *batch, *contract; };

static bool is_float(enum graph_dtype t) { return t == DTYPE_F32 || t == DTYPE_BF16; }

static bool is_free(const struct side *s, const struct graph_dot *d, int dim)
{
    return !graph_dims_have(s->batch, d->batch_count, dim)
           && !graph_dims_have(s->contract, d->contract_count, dim);
}

static bool is_row(const struct graph *g, const struct side *s, const struct graph_dot *d)
{
    const struct shape *shape = &g->node[s->node].shape;

    for (int i = 0; i < shape->rank; i++)
        if (is_free(s, d, i) && shape->dim[i] != 1)
            return false;
    return true;
}

/* the matrices follow each other, and a product takes them as they lie */
static bool lies_well(const struct side *many, const struct graph_dot *d)
{
    for (int i = 0; i < d->batch_count; i++)
        if (many->batch[i] >= d->batch_count)
            return false;
    return true;
}

/* against a copy of the matrices and its product */
static bool is_worth_it(const struct graph *g, const struct side *many, const struct graph_dot *d,
                        const struct chip *chip)
{
    const struct shape *s = &g->node[many->node].shape;
    int64_t elements = shape_elems(s), bytes = elements * array_element_bytes(s->dtype);
    double memory = (double)bytes / (chip->dma_core_gbps * 1e3 / (double)chip->chip_clock_mhz);
    double vector = MULTIPLY_CYCLES;

    if (bytes < MANY_BYTES_MIN || chip->slots_load < LOADS_MIN)
        return false;
    if (graph_dims_have(many->contract, d->contract_count, s->rank - 1))
        vector += (double)chip->xlu_issue_cycles / (double)chip->xlu_count;
    vector *= (double)elements / VECTOR_ELEMENTS;
    return (vector > memory ? vector : memory) < (1 + COPY_TIMES) * memory;
}

/* the row's elements, in f32, where the matrices have theirs */
static int spread_row(struct graph *g, const struct side *row, const struct side *many,
                      const struct graph_dot *d, const struct shape *like)
{
    struct shape from = g->node[row->node].shape, small = {.dtype = DTYPE_F32};
    int order[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX], count = 0, at = 0, x;

    for (int m = 0; m < like->rank; m++)
        for (int i = 0; i < d->batch_count + d->contract_count; i++) {
            bool is_batch = i < d->batch_count;
            int k = is_batch ? i : i - d->batch_count;

            if ((is_batch ? many->batch : many->contract)[k] != m)
                continue;
            order[count] = (is_batch ? row->batch : row->contract)[k];
            dims[count] = m;
            small.dim[count++] = like->dim[m];
        }
    small.rank = at = count;
    for (int i = 0; i < from.rank; i++)
        if (is_free(row, d, i))
            order[at++] = i;
    x = graph_transpose(g, graph_convert(g, row->node, DTYPE_F32), order);
    return graph_broadcast(g, graph_reshape(g, x, small), *like, dims);
}

/* where the dot's result has the batch and free dimensions that the sum has left, without ones */
static int in_order(struct graph *g, int sum, const struct side *many, const struct graph_dot *d)
{
    int kept[GRAPH_RANK_MAX], order[GRAPH_RANK_MAX], count = 0, at = 0;

    for (int i = 0; i < g->node[many->node].shape.rank; i++)
        if (!graph_dims_have(many->contract, d->contract_count, i))
            kept[count++] = i;
    for (int i = 0; i < d->batch_count; i++)
        for (int k = 0; k < count; k++)
            if (kept[k] == many->batch[i])
                order[at++] = k;
    for (int k = 0; k < count; k++)
        if (is_free(many, d, kept[k]))
            order[at++] = k;
    return graph_transpose(g, sum, order);
}

int expand_row(struct graph *g, const struct graph_node *n, const struct chip *chip)
{
    const struct graph_dot *d = &n->dot;
    struct side side[2], *row, *many;
    struct shape all;
    uint32_t mask = 0;
    int y;

    if (n->op != HLO_DOT || d->has_order || d->batch_count == 0 || !is_float(n->shape.dtype)
        || n->precision != PRECISION_DEFAULT || !is_float(g->node[n->operand[0]].shape.dtype)
        || !is_float(g->node[n->operand[1]].shape.dtype))
        return NODE_NONE;
    side[0] = (struct side){n->operand[0], d->lhs_batch, d->lhs_contract};
    side[1] = (struct side){n->operand[1], d->rhs_batch, d->rhs_contract};
    row = is_row(g, &side[0], d) ? &side[0] : &side[1];
    many = row == &side[0] ? &side[1] : &side[0];
    if (!is_row(g, row, d) || lies_well(many, d) || !is_worth_it(g, many, d, chip))
        return NODE_NONE;
    all = g->node[many->node].shape;
    all.dtype = DTYPE_F32;
    y = graph_convert(g, many->node, DTYPE_F32);
    y = graph_binary(g, HLO_MULTIPLY, y, spread_row(g, row, many, d, &all));
    for (int i = 0; i < d->contract_count; i++)
        mask |= 1u << many->contract[i];
    y = in_order(g, graph_reduce(g, REDUCE_ADD, y, mask), many, d);
    return graph_reshape(g, graph_convert(g, y, n->shape.dtype), n->shape);
}
