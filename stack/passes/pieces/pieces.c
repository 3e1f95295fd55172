/* Operations in pieces: how each may be cut, and how its pieces become the whole again. */
#include "stack/passes/pieces/pieces.h"

#include "base/units.h"

#include <string.h>

#define LANES 128
#define ROWS 8
#define TOGETHER_MAX 16                 /* parts that one concatenation takes */

int pieces_slice(struct graph *g, int a, int dim, int64_t start, int64_t limit)
{
    const struct shape *s = &g->node[a].shape;
    int64_t from[GRAPH_RANK_MAX] = {0}, to[GRAPH_RANK_MAX];

    if (start == 0 && limit == s->dim[dim])
        return a;
    memcpy(to, s->dim, sizeof(to));
    from[dim] = start;
    to[dim] = limit;
    return graph_slice(g, a, from, to, NULL);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static int64_t within(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

void pieces_window(struct graph_window *w, int64_t in, int64_t from_out, int64_t out,
                   int64_t from_tap, int64_t taps, int64_t *start, int64_t *limit)
{
    int64_t hole = w->base_dilation, reach = (taps - 1) * w->window_dilation + 1;
    int64_t low = from_out * w->stride - w->pad_low + from_tap * w->window_dilation;
    int64_t span = (out - 1) * w->stride + reach;

    /* at least one element, be it beside the window: padding is negative then */
    *start = within(-floor_div(-low, hole), 0, in - 1);
    *limit = within(floor_div(low + span - 1, hole) + 1, *start + 1, in);
    w->size = taps;
    w->pad_low = *start * hole - low;
    w->pad_high = span - w->pad_low - ((*limit - *start - 1) * hole + 1);
}

/* ----- how it may be cut */

static void add_dim(struct pieces *p, int64_t extent, int64_t unit, int result_dim)
{
    p->dim[p->count++] = (struct piece_dim){extent, unit, result_dim};
}

static int64_t unit_of(const struct shape *s, int dim)
{
    return dim == s->rank - 1 ? LANES : dim == s->rank - 2 ? ROWS : 1;
}

/* free dimensions of one operand of a product, in order */
static int free_dims(const struct shape *s, const int *batch, int batches, const int *contract,
                     int contracted, int *list)
{
    int count = 0;

    for (int d = 0; d < s->rank; d++) {
        bool is_free = true;

        for (int i = 0; i < batches; i++)
            is_free &= batch[i] != d;
        for (int i = 0; i < contracted; i++)
            is_free &= contract[i] != d;
        if (is_free)
            list[count++] = d;
    }
    return count;
}

static int place_in_result(const struct graph_dot *d, int dim, int rank)
{
    for (int i = 0; i < rank && d->has_order; i++)
        if (d->order[i] == dim)
            return i;
    return dim;
}

/* dimensions of a product in the order of `pieces`: batches, rows, columns, contracted ones */
struct product {
    int lhs[PIECE_DIMS_MAX], rhs[PIECE_DIMS_MAX], count;        /* -1: not of this operand */
};

static void product_dims(const struct graph *g, const struct graph_node *n, struct product *p)
{
    const struct graph_dot *d = &n->dot;
    const struct shape *x = &g->node[n->operand[0]].shape, *y = &g->node[n->operand[1]].shape;
    int list[GRAPH_RANK_MAX], count;

    p->count = 0;
    for (int i = 0; i < d->batch_count; i++, p->count++) {
        p->lhs[p->count] = d->lhs_batch[i];
        p->rhs[p->count] = d->rhs_batch[i];
    }
    count = free_dims(x, d->lhs_batch, d->batch_count, d->lhs_contract, d->contract_count, list);
    for (int i = 0; i < count; i++, p->count++) {
        p->lhs[p->count] = list[i];
        p->rhs[p->count] = -1;
    }
    count = free_dims(y, d->rhs_batch, d->batch_count, d->rhs_contract, d->contract_count, list);
    for (int i = 0; i < count; i++, p->count++) {
        p->lhs[p->count] = -1;
        p->rhs[p->count] = list[i];
    }
    for (int i = 0; i < d->contract_count; i++, p->count++) {
        p->lhs[p->count] = d->lhs_contract[i];
        p->rhs[p->count] = d->rhs_contract[i];
    }
}

static bool of_product(const struct graph *g, const struct graph_node *n, struct pieces *out)
{
    const struct shape *x = &g->node[n->operand[0]].shape, *y = &g->node[n->operand[1]].shape;
    struct product p;

    product_dims(g, n, &p);
    if (p.count > PIECE_DIMS_MAX)
        return false;
    out->combine = HLO_ADD;
    for (int i = 0; i < p.count; i++) {
        bool is_sum = i >= n->shape.rank;
        int64_t extent = p.lhs[i] >= 0 ? x->dim[p.lhs[i]] : y->dim[p.rhs[i]];
        int64_t unit = p.lhs[i] >= 0 ? unit_of(x, p.lhs[i]) : unit_of(y, p.rhs[i]);

        add_dim(out, extent, unit, is_sum ? -1 : place_in_result(&n->dot, i, n->shape.rank));
    }
    return true;
}

static enum graph_op combining(enum graph_reduce kind)
{
    switch (kind) {
    case REDUCE_ADD: return HLO_ADD;
    case REDUCE_MAX: return HLO_MAXIMUM;
    case REDUCE_MIN: return HLO_MINIMUM;
    case REDUCE_MUL: return HLO_MULTIPLY;
    case REDUCE_AND: return HLO_AND;
    case REDUCE_OR: return HLO_OR;
    default: return HLO_COUNT;
    }
}

/*
 * Dimensions that are left first, then those that are reduced: not of bf16, whose sums would be
 * rounded more than once.
 */
static bool of_reduction(const struct graph *g, const struct graph_node *n, struct pieces *out)
{
    const struct shape *from = &g->node[n->operand[0]].shape;
    int left = 0;

    out->combine = n->shape.dtype == DTYPE_BF16 ? HLO_COUNT : combining(n->reduce_kind);
    for (int d = 0; d < from->rank; d++)
        if (!(n->reduce_mask >> d & 1))
            add_dim(out, from->dim[d], unit_of(from, d), left++);
    for (int d = 0; d < from->rank; d++)
        if (n->reduce_mask >> d & 1)
            add_dim(out, out->combine == HLO_COUNT ? 1 : from->dim[d], unit_of(from, d), -1);
    return true;
}

bool pieces_of(const struct graph *g, const struct graph_node *n, struct pieces *out)
{
    *out = (struct pieces){.combine = HLO_COUNT};
    if (n->tuple_count > 0)
        return false;
    switch (n->op) {
    case HLO_CONVOLUTION: return pieces_of_convolution(g, n, out);
    case HLO_DOT: return of_product(g, n, out);
    case HLO_REDUCE: return of_reduction(g, n, out);
    default: break;
    }
    for (int d = 0; d < n->shape.rank; d++) {
        bool is_cut = true;

        if (n->op == HLO_GATHER || n->op == HLO_SCATTER)
            is_cut = pieces_can_cut_index(g, n, d);
        else if (n->op == HLO_SORT)
            is_cut = d != n->dim;
        else if (n->op != HLO_REDUCE_WINDOW && n->op != HLO_SELECT_AND_SCATTER &&
                 n->op != HLO_BROADCAST && n->op != HLO_TRANSPOSE &&
                 !graph_op_is_elementwise(n->op))
            return false;
        add_dim(out, is_cut ? n->shape.dim[d] : 1, unit_of(&n->shape, d), d);
    }
    return true;
}

/* ----- a piece */

static int of_part(struct graph *g, int a, int dim, const struct piece_part *p, int d)
{
    return pieces_slice(g, a, dim, p->from[d], p->from[d] + p->count[d]);
}

static int make_product(struct graph *g, const struct graph_node *n, const struct piece_part *part,
                        enum graph_dtype dtype)
{
    struct product p;
    struct graph_node copy = *n;
    int operand[2] = {n->operand[0], n->operand[1]};

    product_dims(g, n, &p);
    for (int i = 0; i < p.count; i++) {
        if (p.lhs[i] >= 0)
            operand[0] = of_part(g, operand[0], p.lhs[i], part, i);
        if (p.rhs[i] >= 0)
            operand[1] = of_part(g, operand[1], p.rhs[i], part, i);
    }
    copy.shape.dtype = dtype;
    return graph_add(g, &copy, operand, 2);
}

static int make_reduction(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    struct graph_node copy = *n;
    int rank = g->node[n->operand[0]].shape.rank, a = n->operand[0];
    int left = 0, reduced = n->shape.rank;

    for (int d = 0; d < rank; d++)
        if (!(n->reduce_mask >> d & 1))
            a = of_part(g, a, d, p, left++);
        else if (n->shape.dtype != DTYPE_BF16 && combining(n->reduce_kind) != HLO_COUNT)
            a = of_part(g, a, d, p, reduced++);
    return graph_add(g, &copy, &a, 1);
}

static int make_window(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    struct graph_window w[GRAPH_RANK_MAX];
    struct graph_node copy = *n;
    int a = n->operand[0];

    memcpy(w, n->window, (size_t)n->shape.rank * sizeof(*w));
    for (int d = 0; d < n->shape.rank; d++)
        if (pieces_is_cut(p, d)) {
            int64_t start, limit;

            pieces_window(&w[d], g->node[a].shape.dim[d], p->from[d], p->count[d], 0, w[d].size,
                          &start, &limit);
            a = pieces_slice(g, a, d, start, limit);
        }
    return graph_reduce_window(g, copy.reduce_kind, a, w);
}

static int make_broadcast(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    struct shape to = n->shape;
    int a = n->operand[0], rank = g->node[a].shape.rank;

    for (int i = 0; i < rank; i++)
        a = of_part(g, a, i, p, n->dims[i]);
    for (int d = 0; d < to.rank; d++)
        to.dim[d] = p->count[d];
    return graph_broadcast(g, a, to, n->dims);
}

/* dimension `d` of a result is dimension `d` of its operands, those of rank 0 aside */
static int make_like(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    int *operand = arena_array(g->arena, (size_t)n->operand_count + 1, sizeof(*operand));
    struct graph_node copy = *n;

    for (int k = 0; k < n->operand_count; k++) {
        operand[k] = n->operand[k];
        for (int d = 0; d < n->shape.rank && g->node[operand[k]].shape.rank == n->shape.rank; d++) {
            int from = n->op == HLO_TRANSPOSE ? n->dims[d] : d;

            if (pieces_is_cut(p, d))
                operand[k] = of_part(g, operand[k], from, p, d);
        }
    }
    for (int d = 0; d < n->shape.rank; d++)
        copy.shape.dim[d] = pieces_is_cut(p, d) ? p->count[d] : n->shape.dim[d];
    return graph_add(g, &copy, operand, n->operand_count);
}

/* where parts are combined, the sum is rounded once, at the end */
static enum graph_dtype part_type(const struct graph_node *n, const struct pieces *p,
                                  const int64_t *count)
{
    bool is_sum = false;

    for (int d = 0; d < p->count; d++)
        is_sum |= p->dim[d].result_dim < 0 && count[d] < p->dim[d].extent;
    return is_sum && n->shape.dtype == DTYPE_BF16 && graph_op_kind(n->op) != KIND_REDUCE
               ? DTYPE_F32 : n->shape.dtype;
}

int pieces_make(struct graph *g, const struct graph_node *n, const struct pieces *p,
                const int64_t *from, const int64_t *count)
{
    const struct piece_part part = {p, from, count};

    switch (n->op) {
    case HLO_CONVOLUTION:
        return pieces_make_convolution(g, n, part_type(n, p, count), from, count);
    case HLO_DOT: return make_product(g, n, &part, part_type(n, p, count));
    case HLO_REDUCE: return make_reduction(g, n, &part);
    case HLO_REDUCE_WINDOW: return make_window(g, n, &part);
    case HLO_BROADCAST: return make_broadcast(g, n, &part);
    case HLO_GATHER: return pieces_make_gather(g, n, &part);
    case HLO_SCATTER: return pieces_make_scatter(g, n, &part);
    case HLO_SELECT_AND_SCATTER: return pieces_make_selection(g, n, &part);
    default: return make_like(g, n, &part);
    }
}

/* ----- the whole */

struct joining {
    struct graph *g;
    const struct graph_node *n;
    const struct pieces *p;
    const int64_t *size;
    int64_t from[PIECE_DIMS_MAX], count[PIECE_DIMS_MAX];
};

static int join(struct joining *j, int d);

static int combine_parts(struct joining *j, int d)
{
    int64_t extent = j->p->dim[d].extent;
    int sum = NODE_NONE;

    for (int64_t at = 0; at < extent; at += j->size[d]) {
        int part;

        j->from[d] = at;
        j->count[d] = extent - at < j->size[d] ? extent - at : j->size[d];
        part = join(j, d + 1);
        sum = sum == NODE_NONE ? part : graph_binary(j->g, j->p->combine, sum, part);
    }
    return sum;
}

static int concatenate_parts(struct joining *j, int d)
{
    int64_t extent = j->p->dim[d].extent;
    int part[TOGETHER_MAX], count = 0;

    for (int64_t at = 0; at < extent; at += j->size[d]) {
        if (count == TOGETHER_MAX) {
            part[0] = graph_concatenate(j->g, part, count, j->p->dim[d].result_dim);
            count = 1;
        }
        j->from[d] = at;
        j->count[d] = extent - at < j->size[d] ? extent - at : j->size[d];
        part[count++] = join(j, d + 1);
    }
    return graph_concatenate(j->g, part, count, j->p->dim[d].result_dim);
}

static int join(struct joining *j, int d)
{
    bool is_first_sum = d < j->p->count && j->p->dim[d].result_dim < 0 &&
                        (d == 0 || j->p->dim[d - 1].result_dim >= 0);
    int node;

    if (d == j->p->count)
        return pieces_make(j->g, j->n, j->p, j->from, j->count);
    j->from[d] = 0;
    j->count[d] = j->p->dim[d].extent;
    if (j->size[d] >= j->p->dim[d].extent)
        node = join(j, d + 1);
    else if (j->p->dim[d].result_dim < 0)
        node = combine_parts(j, d);
    else
        node = concatenate_parts(j, d);
    return is_first_sum ? graph_convert(j->g, node, j->n->shape.dtype) : node;
}

int pieces_join(struct graph *g, const struct graph_node *n, const struct pieces *p,
                const int64_t *size)
{
    struct joining j = {.g = g, .n = n, .p = p, .size = size};

    return join(&j, 0);
}
