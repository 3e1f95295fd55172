/*
 * Products of many tiny matrices, rotations of points, 3x3 by 3x3, and of long thin ones, colours
 * [8, 224, 224, 3] by three weights. A matrix unit takes each pair of matrices, or each row, by
 * itself, most of its array empty. Vectors hold one of each batch, or of each row, in a lane; they
 * multiply and add up in f32.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#define SIZE_MAX_TINY 16                /* of a matrix that is one of many */
#define DEPTH_MAX 64
#define BATCH_MIN 16
#define THIN_ROWS_MIN 4096              /* of a thin matrix, by at most so many others: */
#define THIN_COLUMNS_MAX 16
#define THIN_DEPTH_MAX 24
#define THIN_PRODUCTS_MAX 100           /* of a row */
/* what decides, on v5e: of kernels, of a vector of products; of a pair of matrices by the unit, of
 * each row of it, and of a pair in several passes */
#define START_CYCLES 1200
#define VECTOR_CYCLES 5
#define PAIR_CYCLES 10
#define ROW_CYCLES 3
#define PASSES_PAIR_CYCLES 400

struct sizes { int64_t batch, rows, columns, depth; };

static bool is_float(enum graph_dtype t) { return t == DTYPE_F32 || t == DTYPE_BF16; }

static struct sizes sizes_of(const struct graph *g, const struct graph_node *n)
{
    const struct shape *x = &g->node[n->operand[0]].shape, *y = &g->node[n->operand[1]].shape;
    struct sizes s = {.batch = 1, .depth = 1};

    for (int i = 0; i < n->dot.batch_count; i++)
        s.batch *= x->dim[n->dot.lhs_batch[i]];
    for (int i = 0; i < n->dot.contract_count; i++)
        s.depth *= x->dim[n->dot.lhs_contract[i]];
    if (s.batch * s.depth > 0) {
        s.rows = shape_elems(x) / (s.batch * s.depth);
        s.columns = shape_elems(y) / (s.batch * s.depth);
    }
    return s;
}

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

static bool are_many(const struct sizes *s, bool is_one_pass)
{
    int64_t vectors = s->batch * s->rows * s->columns * s->depth / (8 * ARRAY_LANES) + 1;
    int64_t pair = is_one_pass ? PAIR_CYCLES + ROW_CYCLES * s->rows : PASSES_PAIR_CYCLES;

    return s->batch >= BATCH_MIN && larger(s->rows, s->columns) <= SIZE_MAX_TINY &&
           s->depth <= DEPTH_MAX && START_CYCLES + vectors * VECTOR_CYCLES < s->batch * pair;
}

static bool is_thin(const struct sizes *s)
{
    int64_t long_side = larger(s->rows, s->columns), other = smaller(s->rows, s->columns);

    return s->batch == 1 && long_side >= THIN_ROWS_MIN && other <= THIN_COLUMNS_MAX &&
           s->depth <= THIN_DEPTH_MAX && s->depth * other <= THIN_PRODUCTS_MAX;
}

/* one operand in f32 where all products are, [batch, rows, columns, contracted] */
static int spread(struct graph *g, int x, const int *batch, const int *contract,
                  const struct graph_dot *d, const struct shape *all, int free_at)
{
    int order[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < d->batch_count; i++, count++) {
        order[count] = batch[i];
        dims[count] = i;
    }
    for (int i = 0; i < g->node[x].shape.rank; i++)
        if (!graph_dims_have(batch, d->batch_count, i) &&
            !graph_dims_have(contract, d->contract_count, i)) {
            order[count] = i;
            dims[count++] = free_at++;
        }
    for (int i = 0; i < d->contract_count; i++, count++) {
        order[count] = contract[i];
        dims[count] = all->rank - d->contract_count + i;
    }
    return graph_broadcast(g, graph_convert(g, graph_transpose(g, x, order), DTYPE_F32), *all, dims);
}

int expand_tiny(struct graph *g, const struct graph_node *n)
{
    const struct graph_dot *d = &n->dot;
    struct shape all = n->shape;
    struct sizes s;
    uint32_t mask = 0;
    int lhs, rhs, lhs_free;

    if (n->op != HLO_DOT || d->has_order || !is_float(n->shape.dtype)
        || !is_float(g->node[n->operand[0]].shape.dtype)
        || !is_float(g->node[n->operand[1]].shape.dtype)
        || n->shape.rank + d->contract_count > GRAPH_RANK_MAX)
        return NODE_NONE;
    s = sizes_of(g, n);
    if (!are_many(&s, n->precision == PRECISION_DEFAULT) && !is_thin(&s))
        return NODE_NONE;
    all.dtype = DTYPE_F32;
    lhs_free = g->node[n->operand[0]].shape.rank - d->batch_count - d->contract_count;
    for (int i = 0; i < d->contract_count; i++) {
        mask |= 1u << all.rank;
        all.dim[all.rank++] = g->node[n->operand[0]].shape.dim[d->lhs_contract[i]];
    }
    lhs = spread(g, n->operand[0], d->lhs_batch, d->lhs_contract, d, &all, d->batch_count);
    rhs = spread(g, n->operand[1], d->rhs_batch, d->rhs_contract, d, &all,
                 d->batch_count + lhs_free);
    return graph_convert(g, graph_reduce(g, REDUCE_ADD, graph_binary(g, HLO_MULTIPLY, lhs, rhs), mask),
                         n->shape.dtype);
}
