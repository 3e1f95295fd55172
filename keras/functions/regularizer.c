/* Reads regularisers by name, and writes their sums into a graph. */
#include "keras/functions/regularizer.h"

#include <assert.h>
#include <stddef.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/call/number.h"
#include "stack/nn/nn.h"

enum kind { L1, L2, BOTH, ORTHOGONAL };

static const struct { const char *name; enum kind kind; } names[] = {
    {"L1", L1}, {"L2", L2}, {"L1L2", BOTH}, {"OrthogonalRegularizer", ORTHOGONAL}, {"l1", L1},
    {"l2", L2}, {"l1_l2", BOTH}, {"l1l2", BOTH}, {"orthogonal_regularizer", ORTHOGONAL},
};

#define NUMBER(kind, name, member, standard) \
    {kind, {name, REAL, 0, 1e30, NULL}, offsetof(struct regularizer, member), standard}
static const struct number_field fields[] = {
    NUMBER(L1, "l1", l1, 0.01), NUMBER(L2, "l2", l2, 0.01), NUMBER(BOTH, "l1", l1, 0),
    NUMBER(BOTH, "l2", l2, 0), NUMBER(ORTHOGONAL, "factor", orthogonal, 0.01),
    {ORTHOGONAL, {"mode", CHOICE, 0, 1, "rows|columns"}, offsetof(struct regularizer, by_columns),
     0},
};

bool regularizer_is_none(const struct regularizer *r)
{
    return r->l1 == 0.0 && r->l2 == 0.0 && r->orthogonal == 0.0;
}

int regularizer_from_json(struct regularizer *r, const json_t *v, struct err *e)
{
    static const struct number_table table = {fields, COUNT_OF(fields), NULL};
    const char *name = number_table_name(v);
    char near[TEXT_NEAR_BYTES] = "";
    int i = name ? text_find(name, &names[0].name, sizeof(*names), COUNT_OF(names), near) : -1;

    *r = (struct regularizer){.constraint = r->constraint};
    if (i < 0)
        return err_set(e, "is %s%s; it must be null, L1, L2, L1L2 or OrthogonalRegularizer",
                       name ? name : "without a name", near);
    return number_table_read(&table, (int)names[i].kind, v, r, e);
}

static int sum_of(struct graph *g, int x, double factor)
{
    return nn_scale(g, graph_reduce(g, REDUCE_ADD, x, (1u << g->node[x].shape.rank) - 1), factor);
}

/* rows as unit vectors, the sizes of their products with each other, but with themselves */
static int sum_of_pairs(struct graph *g, const struct regularizer *r, int x)
{
    const int turned[2] = {1, 0};
    struct shape s;
    double rows;
    int same, column;

    assert(g->node[x].shape.rank == 2);
    x = nn_unit_norm(g, r->by_columns != 0 ? graph_transpose(g, x, turned) : x);
    rows = (double)g->node[x].shape.dim[0];
    x = graph_unary(g, HLO_ABS, graph_dot(g, x, x, 1, 1, PRECISION_HIGHEST));
    s = g->node[x].shape;
    s.dtype = DTYPE_S32;
    column = graph_iota(g, s, 1);
    same = graph_compare(g, COMPARE_EQ, graph_iota(g, s, 0), column);
    x = graph_select(g, same, graph_splat(g, x, 0), x);
    return sum_of(g, x, rows > 1 ? r->orthogonal / (rows * (rows - 1)) : 0);
}

static int add(struct graph *g, int a, int b)
{
    return a == NODE_NONE ? b : nn_add(g, a, b);
}

int regularizer_sum(struct graph *g, const struct regularizer *r, int x)
{
    int sum = NODE_NONE;

    assert(!regularizer_is_none(r));
    x = graph_convert(g, x, DTYPE_F32);
    if (r->l1 != 0.0)
        sum = sum_of(g, graph_unary(g, HLO_ABS, x), r->l1);
    if (r->l2 != 0.0)
        sum = add(g, sum, sum_of(g, nn_multiply(g, x, x), r->l2));
    return r->orthogonal != 0.0 ? add(g, sum, sum_of_pairs(g, r, x)) : sum;
}
