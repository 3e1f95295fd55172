/*
 * Finds what index arithmetic counts. x[:, 1::2].add(y) comes as a scatter by 1 + 2 * iota, a
 * framed signal as a gather by 160 * i + j, the label of each row with the row's own number: all of
 * them sums of a number and of steps along dimensions. Comparisons that hold for every element, as
 * those by which negative indices count from the end, choose one side.
 */
#include "stack/expand/affine.h"

#include "stack/hlo/graph_shape.h"

#include <string.h>

enum { NODES_MAX = 256, LITERAL_MAX = 1 << 20, NO_DIM = -1 };

/* which part of a node is asked for: elements `at` along `dim`, or all of them */
struct part { int dim; int64_t at; };

/* sums of sums share operands: how many nodes may still be looked at */
struct search { const struct graph *g; int left; };

static bool affine_of(struct search *f, int node, struct part p, struct affine *out);

void affine_range(const struct affine *a, const struct shape *s, int64_t *low, int64_t *high)
{
    *low = *high = a->base;
    for (int d = 0; d < s->rank; d++)
        *(a->step[d] < 0 ? low : high) += a->step[d] * (s->dim[d] - 1);
}

static bool is_word(const struct affine *a, const struct shape *s)
{
    int64_t low, high;

    affine_range(a, s, &low, &high);
    return low >= INT32_MIN && high <= INT32_MAX;
}

static int64_t elements_behind(const struct shape *s, int dim)
{
    int64_t count = 1;

    for (int d = dim + 1; d < s->rank; d++)
        count *= s->dim[d];
    return count;
}

/* every element is what the first along each dimension foretell */
static bool of_literal(const struct graph_node *n, struct part p, struct affine *out)
{
    const int32_t *element = n->literal;
    int64_t count = shape_elems(&n->shape);
    int64_t first = p.dim == NO_DIM ? 0 : p.at * elements_behind(&n->shape, p.dim);

    if (count > LITERAL_MAX)
        return false;
    *out = (struct affine){.base = element[first]};
    for (int d = 0; d < n->shape.rank; d++)
        if (d != p.dim && n->shape.dim[d] > 1)
            out->step[d] = element[first + elements_behind(&n->shape, d)] - out->base;
    for (int64_t i = 0; i < count; i++) {
        int64_t foretold = out->base;

        for (int d = 0; d < n->shape.rank; d++)
            foretold += out->step[d] * (i / elements_behind(&n->shape, d) % n->shape.dim[d]);
        if (p.dim != NO_DIM && i / elements_behind(&n->shape, p.dim) % n->shape.dim[p.dim] != p.at)
            continue;
        if (element[i] != foretold)
            return false;
    }
    return true;
}

static bool of_constant(const struct graph_node *n, struct part p, struct affine *out)
{
    if (n->literal)
        return of_literal(n, p, out);
    *out = (struct affine){.base = (int64_t)n->value};
    return true;
}

static void of_iota(const struct graph_node *n, struct part p, struct affine *out)
{
    *out = (struct affine){.base = n->dim == p.dim ? p.at : 0};
    if (n->dim != p.dim && n->shape.dim[n->dim] > 1)
        out->step[n->dim] = 1;
}

static bool of_broadcast(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    const struct shape *from = &f->g->node[n->operand[0]].shape;
    struct part there = {.dim = NO_DIM};
    struct affine a;

    for (int d = 0; d < from->rank; d++)
        if (n->dims[d] == p.dim)
            there = (struct part){.dim = d, .at = p.at};
    if (!affine_of(f, n->operand[0], there, &a))
        return false;
    *out = (struct affine){.base = a.base};
    for (int d = 0; d < from->rank; d++)
        out->step[n->dims[d]] = a.step[d];
    return true;
}

static bool of_transpose(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    struct part there = {.dim = p.dim == NO_DIM ? NO_DIM : n->dims[p.dim], .at = p.at};
    struct affine a;

    if (!affine_of(f, n->operand[0], there, &a))
        return false;
    *out = (struct affine){.base = a.base};
    for (int d = 0; d < n->shape.rank; d++)
        out->step[d] = a.step[n->dims[d]];
    return true;
}

/* the dimension of the other shape that runs as this one does; NO_DIM: it is split or joined */
static int dim_of_other(const struct shape *s, int dim, const struct shape *other)
{
    for (int d = 0; d < other->rank; d++)
        if (other->dim[d] == s->dim[dim] && elements_behind(other, d) == elements_behind(s, dim))
            return d;
    return NO_DIM;
}

static bool of_reshape(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    const struct shape *from = &f->g->node[n->operand[0]].shape;
    struct part there = {.dim = NO_DIM};
    struct affine a;

    if (p.dim != NO_DIM && n->shape.dim[p.dim] > 1) {
        there = (struct part){.dim = dim_of_other(&n->shape, p.dim, from), .at = p.at};
        if (there.dim == NO_DIM)
            return false;
    }
    if (!affine_of(f, n->operand[0], there, &a))
        return false;
    *out = (struct affine){.base = a.base};
    for (int d = 0; d < from->rank; d++) {
        int to = from->dim[d] > 1 ? dim_of_other(from, d, &n->shape) : NO_DIM;

        if (a.step[d] && to == NO_DIM)
            return false;
        if (a.step[d])
            out->step[to] = a.step[d];
    }
    return true;
}

static bool of_slice(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    struct part there = p;

    if (p.dim != NO_DIM)
        there.at = n->start[p.dim] + p.at * n->stride[p.dim];
    if (!affine_of(f, n->operand[0], there, out))
        return false;
    for (int d = 0; d < n->shape.rank; d++) {
        if (d != p.dim)
            out->base += out->step[d] * n->start[d];
        out->step[d] = n->shape.dim[d] > 1 ? out->step[d] * n->stride[d] : 0;
    }
    return true;
}

/* of the part that has the elements asked for */
static bool of_concatenation(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    if (n->dim != p.dim)
        return false;
    for (int k = 0; k < n->operand_count; k++) {
        int64_t size = f->g->node[n->operand[k]].shape.dim[n->dim];

        if (p.at < size)
            return affine_of(f, n->operand[k], p, out);
        p.at -= size;
    }
    return false;
}

/* an operand of elementwise work, or a scalar beside it */
static bool of_operand(struct search *f, const struct graph_node *n, int k, struct part p,
                       struct affine *out)
{
    if (f->g->node[n->operand[k]].shape.rank == 0)
        p.dim = NO_DIM;
    return affine_of(f, n->operand[k], p, out);
}

static struct affine scaled(const struct affine *a, int64_t by)
{
    struct affine made = {.base = a->base * by};

    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        made.step[d] = a->step[d] * by;
    return made;
}

static struct affine sum_of(const struct affine *a, const struct affine *b)
{
    struct affine made = {.base = a->base + b->base};

    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        made.step[d] = a->step[d] + b->step[d];
    return made;
}

static bool is_constant(const struct affine *a)
{
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        if (a->step[d])
            return false;
    return true;
}

/* 1, 0: the comparison holds for every element, or for none; -1: some */
static int holds(struct search *f, const struct graph_node *n, struct part p)
{
    struct affine a, b, difference;
    int64_t low, high;

    if (n->op != HLO_COMPARE || f->g->node[n->operand[0]].shape.dtype != DTYPE_S32 ||
        !of_operand(f, n, 0, p, &a) || !of_operand(f, n, 1, p, &b))
        return -1;
    b = scaled(&b, -1);
    difference = sum_of(&a, &b);
    affine_range(&difference, &n->shape, &low, &high);
    switch (n->direction) {
    case COMPARE_LT: return high < 0 ? 1 : low >= 0 ? 0 : -1;
    case COMPARE_LE: return high <= 0 ? 1 : low > 0 ? 0 : -1;
    case COMPARE_GT: return low > 0 ? 1 : high <= 0 ? 0 : -1;
    case COMPARE_GE: return low >= 0 ? 1 : high < 0 ? 0 : -1;
    default: return -1;
    }
}

static bool of_select(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    int which = holds(f, &f->g->node[n->operand[0]], p);

    return which >= 0 && of_operand(f, n, which ? 1 : 2, p, out);
}

/* of the two the one that is never less than the other, or never more */
static bool of_extreme(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    struct affine a, b, back, difference;
    int64_t low, high;

    if (!of_operand(f, n, 0, p, &a) || !of_operand(f, n, 1, p, &b))
        return false;
    back = scaled(&b, -1);
    difference = sum_of(&a, &back);
    affine_range(&difference, &n->shape, &low, &high);
    if (low < 0 && high > 0)
        return false;
    *out = (low >= 0) == (n->op == HLO_MAXIMUM) ? a : b;
    return true;
}

static bool of_arithmetic(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    struct affine a, b;

    if (!of_operand(f, n, 0, p, &a) || !of_operand(f, n, 1, p, &b))
        return false;
    switch (n->op) {
    case HLO_ADD: *out = sum_of(&a, &b); return true;
    case HLO_SUBTRACT:
        b = scaled(&b, -1);
        *out = sum_of(&a, &b);
        return true;
    default:
        *out = is_constant(&b) ? scaled(&a, b.base) : scaled(&b, a.base);
        return is_constant(&a) || is_constant(&b);
    }
}

static bool of_node(struct search *f, const struct graph_node *n, struct part p, struct affine *out)
{
    switch (n->op) {
    case HLO_CONSTANT: return of_constant(n, p, out);
    case HLO_IOTA: of_iota(n, p, out); return true;
    case HLO_BROADCAST: return of_broadcast(f, n, p, out);
    case HLO_TRANSPOSE: return of_transpose(f, n, p, out);
    case HLO_RESHAPE: return of_reshape(f, n, p, out);
    case HLO_SLICE: return of_slice(f, n, p, out);
    case HLO_CONCATENATE: return of_concatenation(f, n, p, out);
    case HLO_SELECT: return of_select(f, n, p, out);
    case HLO_MAXIMUM:
    case HLO_MINIMUM: return of_extreme(f, n, p, out);
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY: return of_arithmetic(f, n, p, out);
    default: return false;
    }
}

/* Steps times sizes stay far inside 64 bits because every node's elements are words. */
static bool affine_of(struct search *f, int node, struct part p, struct affine *out)
{
    const struct graph_node *n = &f->g->node[node];

    return f->left-- > 0 && n->shape.dtype == DTYPE_S32 && of_node(f, n, p, out) &&
           is_word(out, &n->shape);
}

bool affine_component(const struct graph *g, int indices, int vector_dim, int k, struct affine *out)
{
    struct part p = {.dim = vector_dim < g->node[indices].shape.rank ? vector_dim : NO_DIM, .at = k};

    return affine_of(&(struct search){.g = g, .left = NODES_MAX}, indices, p, out);
}
