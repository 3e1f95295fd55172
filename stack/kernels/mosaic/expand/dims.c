/*
 * A product of anything but two matrices, or of one batch of them: its operands as such.
 *
 * Free dimensions become one, so do batch dimensions; an operand of one dimension is a matrix of one
 * row. Where the right one is, the operands change places: a row by a matrix has its result along
 * lanes, as the vector that is wanted has. A left operand that lies with what is contracted along its
 * rows is transposed in a batch: the units' feed turns matrices, but one at a time.
 */
#include "stack/kernels/mosaic/expand/expand_impl.h"

#include <string.h>

enum { BATCH, FREE, DEPTH, GROUPS };

/* an operand's dimensions by what they are for */
struct side {
    int count[GROUPS], dim[GROUPS][MOSAIC_RANK_MAX];
};

static struct side side_of(const int *batch, int batch_count, const int *free, int free_count,
                           int depth)
{
    struct side s = {.count = {batch_count, free_count, 1}};

    memcpy(s.dim[BATCH], batch, (size_t)batch_count * sizeof(*batch));
    memcpy(s.dim[FREE], free, (size_t)free_count * sizeof(*free));
    s.dim[DEPTH][0] = depth;
    return s;
}

static int64_t size_of(const struct mosaic_type *t, const struct side *s, int group)
{
    int64_t n = 1;

    for (int i = 0; i < s->count[group]; i++)
        n *= t->dim[s->dim[group][i]];
    return n;
}

/* what is contracted stands in front of all free dimensions, or behind them */
static bool has_depth_first(const struct side *s)
{
    return s->count[FREE] > 0 && s->dim[DEPTH][0] < s->dim[FREE][0];
}

/* batch, free dimensions and the contraction in order, or with the last two exchanged */
static int order_of(const struct side *s, bool depth_first, int64_t *order)
{
    const int groups[] = {BATCH, depth_first ? DEPTH : FREE, depth_first ? FREE : DEPTH};
    int n = 0;

    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < s->count[groups[g]]; i++)
            order[n++] = s->dim[groups[g]][i];
    return n;
}

static expanded reshaped(struct expand *e, expanded x, const struct mosaic_type *t)
{
    bool is_same = x->type.rank == t->rank &&
                   !memcmp(x->type.dim, t->dim, (size_t)t->rank * sizeof(*t->dim));

    return is_same ? x : expand_op1(e, MOSAIC_SHAPE_CAST, t, x);
}

/* [batch, rows, columns]; without the first where nothing is in it */
static struct mosaic_type matrix(const struct mosaic_type *like, int64_t batch, int64_t rows,
                                 int64_t columns)
{
    struct mosaic_type t = *like;

    t.rank = 0;
    if (batch)
        t.dim[t.rank++] = batch;
    t.dim[t.rank++] = rows;
    t.dim[t.rank++] = columns;
    return t;
}

static expanded as_matrix(struct expand *e, expanded x, const struct side *s, bool depth_first)
{
    int64_t order[MOSAIC_RANK_MAX] = {0}, depth = size_of(&x->type, s, DEPTH);
    int64_t rows = size_of(&x->type, s, FREE);
    int64_t batch = s->count[BATCH] ? size_of(&x->type, s, BATCH) : 0;
    struct mosaic_type t = matrix(&x->type, batch, depth_first ? depth : rows,
                                  depth_first ? rows : depth);

    order_of(s, depth_first, order);
    return reshaped(e, expand_transposed(e, x, order), &t);
}

/* a batch of matrices by one, the contraction behind the rows on the left */
static bool is_plain(const struct mosaic_op *op, const struct mosaic_dot *d)
{
    int rank = op->operand[0]->type.rank;
    bool leads = !d->batch_count || (!d->lhs_batch[0] && !d->rhs_batch[0]);

    return d->lhs_free_count == 1 && d->rhs_free_count == 1 && d->batch_count <= 1 && leads &&
           (!d->batch_count || d->lhs_contract == rank - 1);
}

/* the product of the sides as matrices, into dot */
static void set_matrices(struct expand *e, const struct mosaic_op *op, const struct side *l,
                         const struct side *r, struct expand_dot *dot)
{
    int64_t rows = size_of(&dot->lhs->type, l, FREE), columns = size_of(&dot->rhs->type, r, FREE);
    int64_t batch = l->count[BATCH] ? size_of(&dot->lhs->type, l, BATCH) : 0;
    struct mosaic_type t = matrix(&dot->sum->type, batch, rows, columns);
    bool turns_rhs = !has_depth_first(r);
    int lead = batch > 0;

    dot->lhs = as_matrix(e, dot->lhs, l, false);
    dot->rhs = as_matrix(e, dot->rhs, r, !turns_rhs);
    dot->sum = mosaic_is_zero(op->operand[2]) ? expand_constant(e, &t, 0)
                                              : reshaped(e, dot->sum, &t);
    dot->d = (struct mosaic_dot){.is_exact = dot->d.is_exact, .batch_count = lead,
                                 .lhs_free_count = 1, .rhs_free_count = 1, .lhs_free = {lead},
                                 .rhs_free = {lead + !turns_rhs}, .lhs_contract = lead + 1,
                                 .rhs_contract = lead + turns_rhs};
    dot->numbers = arena_printf(e->a, lead ? "<[2], [%d], [1], [%d], [0, 0, 0, 1, 1, %d], [0], [0]>"
                                           : "<[1], [%d], [0], [%d], [0, 0, 1, %d], [], []>",
                                dot->d.rhs_contract, dot->d.rhs_free[0], dot->d.rhs_free[0]);
}

bool expand_dims(struct expand *e, const struct mosaic_op *op, const struct mosaic_dot *d,
                 struct expand_dot *dot)
{
    struct side l = side_of(d->lhs_batch, d->batch_count, d->lhs_free, d->lhs_free_count,
                            d->lhs_contract);
    struct side r = side_of(d->rhs_batch, d->batch_count, d->rhs_free, d->rhs_free_count,
                            d->rhs_contract);
    bool swaps = !r.count[FREE];
    expanded x = expand_operand(e, op, swaps), y = expand_operand(e, op, !swaps);

    *dot = (struct expand_dot){.lhs = x, .rhs = y, .sum = expand_operand(e, op, 2), .d = *d};
    if (is_plain(op, d) || !(l.count[BATCH] + l.count[FREE] + r.count[FREE])) {
        dot->lhs = expand_operand(e, op, 0);
        dot->rhs = expand_operand(e, op, 1);
        return false;
    }
    set_matrices(e, op, swaps ? &r : &l, swaps ? &l : &r, dot);
    return true;
}

expanded expand_undo_dims(struct expand *e, const struct mosaic_op *op, expanded result)
{
    return reshaped(e, result, &op->result[0]->type);
}
