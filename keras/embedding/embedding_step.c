/* Writes the lookup of embeddings and the updates of their tables into a step's graph. */
#include "base/units.h"
#include "keras/trace/choose.h"
#include "keras/embedding/embedding.h"
#include "stack/nn/nn.h"

#include <assert.h>

static int binary(struct embedding_step *s, enum graph_op op, int a, int b)
{
    return graph_binary(&s->trace->graph, op, a, b);
}

static int compare(struct embedding_step *s, enum graph_compare way, int a, int64_t value)
{
    struct graph *g = &s->trace->graph;

    return graph_compare(g, way, a, graph_splat(g, a, (double)value));
}

static int reshape(struct embedding_step *s, int a, int rank, const int64_t *dim)
{
    struct graph *g = &s->trace->graph;

    return graph_reshape(g, a, shape_make(g->node[a].shape.dtype, rank, dim));
}

/* `a`, of the first dimensions of the shape, along the others */
static int spread_first(struct embedding_step *s, int a, int rank, const int64_t *dim)
{
    struct graph *g = &s->trace->graph;
    int dims[GRAPH_RANK_MAX];

    for (int d = 0; d < g->node[a].shape.rank; d++)
        dims[d] = d;
    return graph_broadcast(g, a, shape_make(g->node[a].shape.dtype, rank, dim), dims);
}

static void source(struct embedding_step *s, int table, const char *what)
{
    trace_source(s->trace, s->m->set->variable[s->m->variable[table]].name, what);
}

void embedding_begin(struct embedding_step *s, struct trace *t, const struct embedding *m)
{
    assert(t->replica_count == m->replica_count);
    s->trace = t;
    s->m = m;
    s->looked = arena_array(t->arena, (size_t)m->feature_count + 1, sizeof(*s->looked));
}

/* ----- what each replica does with its own ids */

/* pred: which ids are rows */
static int is_row(struct embedding_step *s, int ids, int64_t vocabulary_size)
{
    int is_below = compare(s, COMPARE_LT, ids, vocabulary_size);

    return binary(s, HLO_AND, compare(s, COMPARE_GE, ids, 0), is_below);
}

/* 1 / what the combiner divides by, 0 where that is 0; f32 [samples] */
static int divisor(struct embedding_step *s, enum embedding_combiner combiner, int weight)
{
    struct graph *g = &s->trace->graph;
    int sum = combiner == COMBINER_SQRTN ? nn_multiply(g, weight, weight) : weight;
    int is_none;

    sum = graph_reduce(g, REDUCE_ADD, sum, 2);
    is_none = compare(s, COMPARE_EQ, sum, 0);
    sum = combiner == COMBINER_SQRTN ? graph_unary(g, HLO_RSQRT, sum)
                                     : binary(s, HLO_DIVIDE, graph_splat(g, sum, 1), sum);
    return graph_select(g, is_none, graph_splat(g, sum, 0), sum);
}

/* of each id what its row is multiplied by */
static int weigh(struct embedding_step *s, const struct embedding_feature *f, int ids, int weights)
{
    struct graph *g = &s->trace->graph;
    const struct embedding_table *t = &s->m->table[f->table];
    struct shape shape = g->node[ids].shape;
    int weight = weights;

    if (weights == NODE_NONE) {
        shape.dtype = DTYPE_F32;
        weight = graph_broadcast(g, graph_constant(g, shape_scalar(DTYPE_F32), 1), shape, NULL);
    }
    int nothing = graph_splat(g, weight, 0);
    weight = graph_select(g, is_row(s, ids, t->vocabulary_size), weight, nothing);
    if (f->is_sequence || t->combiner == COMBINER_SUM)
        return weight;
    return nn_multiply(g, weight, spread_first(s, divisor(s, t->combiner, weight), 2, shape.dim));
}

/* ----- what each device does for all */

/* ids and weights of all replicas in one exchange, as 32 bits each */
static void gather_all(struct embedding_step *s, int *ids, int *weight)
{
    struct graph *g = &s->trace->graph;
    struct graph_groups all = {1, s->m->replica_count, NULL};
    int operand[2] = {*ids, graph_bitcast_convert(g, *weight, DTYPE_S32)}, both;

    if (s->m->replica_count == 1)
        return;
    both = graph_all_gather(g, operand, 2, 0, &all);
    *ids = graph_tuple_element(g, both, 0);
    *weight = graph_bitcast_convert(g, graph_tuple_element(g, both, 1), DTYPE_F32);
}

/* of each id the row here, or the one behind the last */
static int rows_here(struct embedding_step *s, int table, int ids)
{
    struct graph *g = &s->trace->graph;
    const struct embedding_table *t = &s->m->table[table];
    int64_t devices = s->m->replica_count, rows = div_up(t->vocabulary_size, devices);
    int is_here = is_row(s, ids, t->vocabulary_size), row = ids, me;

    if (devices > 1) {
        me = nn_spread(g, graph_convert(g, graph_replica_id(g), DTYPE_S32), ids);
        if (t->rows == ROWS_MOD) {
            row = binary(s, HLO_DIVIDE, ids, graph_splat(g, ids, (double)devices));
            is_here = binary(s, HLO_AND, is_here,
                             graph_compare(g, COMPARE_EQ, me,
                                           binary(s, HLO_SUBTRACT, ids,
                                                  nn_scale(g, row, (double)devices))));
        } else {
            row = binary(s, HLO_SUBTRACT, ids, nn_scale(g, me, (double)rows));
            is_here = binary(s, HLO_AND, is_here, is_row(s, row, rows));
        }
    }
    return graph_select(g, is_here, row, graph_splat(g, row, (double)rows));
}

/* A row that is not here is another one, times nothing: what it holds must not count. */
static int read_rows(struct embedding_step *s, int feature, int64_t samples)
{
    struct graph *g = &s->trace->graph;
    const struct embedding_looked *l = &s->looked[feature];
    const struct embedding_feature *f = &s->m->feature[feature];
    const struct embedding_table *t = &s->m->table[f->table];
    int64_t all[] = {samples, f->max_length, t->dim}, list[] = {samples * f->max_length, t->dim};
    int64_t rows = div_up(t->vocabulary_size, (int64_t)s->m->replica_count);
    int read = nn_embedding(g, trace_read(s->trace, s->m->variable[f->table]), l->index);
    int is_here = spread_first(s, compare(s, COMPARE_LT, l->index, rows), 2, list);

    read = graph_select(g, is_here, read, graph_splat(g, read, 0));
    read = reshape(s, read, 3, all);
    return nn_multiply(g, read, spread_first(s, l->weight, 3, all));
}

int embedding_lookup(struct embedding_step *s, int feature, int ids, int weights)
{
    struct graph *g = &s->trace->graph;
    const struct embedding_feature *f = &s->m->feature[feature];
    struct graph_groups all = {1, s->m->replica_count, NULL};
    struct embedding_looked *l = &s->looked[feature];
    int64_t samples = g->node[ids].shape.dim[0] * s->m->replica_count;
    int read;

    assert(g->node[ids].shape.rank == 2 && g->node[ids].shape.dim[1] == f->max_length);
    assert(l->samples == 0 && (weights == NODE_NONE || !f->is_sequence));
    source(s, f->table, f->name);
    l->samples = g->node[ids].shape.dim[0];
    l->weight = weigh(s, f, ids, weights);
    gather_all(s, &ids, &l->weight);
    ids = reshape(s, ids, 1, (int64_t[]){samples * f->max_length});
    l->index = rows_here(s, f->table, ids);
    read = read_rows(s, feature, samples);
    if (!f->is_sequence)
        read = graph_reduce(g, REDUCE_ADD, read, 2);
    l->out = s->m->replica_count == 1 ? read : graph_reduce_scatter(g, &read, 1, 0, &all);
    return l->out;
}

/* ----- going back */

/* of each id the gradient of its row, [all ids, dim] */
static int row_gradients(struct embedding_step *s, int feature, int gradient)
{
    struct graph *g = &s->trace->graph;
    const struct embedding_feature *f = &s->m->feature[feature];
    const struct embedding_looked *l = &s->looked[feature];
    struct graph_groups devices = {1, s->m->replica_count, NULL};
    int64_t samples = l->samples * s->m->replica_count, dim = s->m->table[f->table].dim;
    int64_t all[] = {samples, f->max_length, dim};

    gradient = graph_convert(g, gradient, DTYPE_F32);
    if (s->m->replica_count > 1)
        gradient = graph_all_gather(g, &gradient, 1, 0, &devices);
    if (!f->is_sequence)
        gradient = graph_broadcast(g, gradient, shape_make(DTYPE_F32, 3, all), (int[]){0, 2});
    gradient = nn_multiply(g, gradient, spread_first(s, l->weight, 3, all));
    return reshape(s, gradient, 2, (int64_t[]){samples * f->max_length, dim});
}

/* zeros of `shape` and what `updates` add to its rows; those behind the last are left out */
static int add_by_row(struct embedding_step *s, const struct shape *shape, int index, int updates)
{
    struct graph *g = &s->trace->graph;
    int zero = graph_constant(g, shape_scalar(DTYPE_F32), 0);
    int64_t count = g->node[index].shape.dim[0];
    struct graph_gather d = {.offset_count = shape->rank - 1, .offset_dims = {1},
                             .collapsed_count = 1, .map_count = 1, .index_vector_dim = 1};

    index = reshape(s, index, 2, (int64_t[]){count, 1});
    return graph_scatter(g, REDUCE_ADD, graph_broadcast(g, zero, *shape, NULL), index, updates,
                         &d);
}

/* u32 [rows, dim]: all bits of rows that somebody asked for; NODE_NONE: it does not matter */
static int asked_rows(struct embedding_step *s, int table, const struct shape *shape, int index)
{
    struct graph *g = &s->trace->graph;
    struct shape list = {DTYPE_F32, 2, {shape->dim[0], 1}}, ones = list;
    int one, bits;

    if (!s->m->moves_all[table])
        return NODE_NONE;
    ones.dim[0] = g->node[index].shape.dim[0];
    one = graph_broadcast(g, graph_constant(g, shape_scalar(DTYPE_F32), 1), ones, NULL);
    bits = choose_bits(g, compare(s, COMPARE_GT, add_by_row(s, &list, index, one), 0));
    bits = reshape(s, bits, 1, shape->dim);
    return spread_first(s, bits, 2, shape->dim);
}

static void assign_rows(struct embedding_step *s, int variable, int asked, int old)
{
    struct graph *g = &s->trace->graph;

    if (asked != NODE_NONE)
        trace_assign(s->trace, variable,
                     choose_value(g, asked, trace_read(s->trace, variable), old));
}

static void update_table(struct embedding_step *s, int table, int index, int updates)
{
    const struct optimizer *o = &s->m->optimizer[table];
    int variable = s->m->variable[table], value = trace_read(s->trace, variable);
    struct shape shape = s->trace->graph.node[value].shape;
    int gradient = add_by_row(s, &shape, index, updates);
    int asked = asked_rows(s, table, &shape, index), old[OPTIMIZER_SLOTS_MAX] = {0};
    struct optimizer_step step;

    for (int k = 0; k < OPTIMIZER_SLOTS_MAX; k++)
        if (o->of[0].slot[k] >= 0)
            old[k] = trace_read(s->trace, o->of[0].slot[k]);
    optimizer_begin(&step, s->trace, o, &gradient);
    trace_assign(s->trace, variable, optimizer_update_one(&step, 0, value, gradient));
    assign_rows(s, variable, asked, value);
    for (int k = 0; k < OPTIMIZER_SLOTS_MAX; k++)
        if (o->of[0].slot[k] >= 0)
            assign_rows(s, o->of[0].slot[k], asked, old[k]);
    optimizer_end(&step);
}

void embedding_apply(struct embedding_step *s, const int *gradient)
{
    struct graph *g = &s->trace->graph;
    size_t most = (size_t)s->m->feature_count + 1;
    int *updates = arena_array(s->trace->arena, most, sizeof(*updates));
    int *index = arena_array(s->trace->arena, most, sizeof(*index));

    for (int t = 0; t < s->m->table_count; t++) {
        int count = 0;

        for (int f = 0; f < s->m->feature_count; f++)
            if (s->m->feature[f].table == t && s->looked[f].samples) {
                source(s, t, "gradient");
                updates[count] = row_gradients(s, f, gradient[f]);
                index[count++] = s->looked[f].index;
            }
        if (count > 1) {
            updates[0] = graph_concatenate(g, updates, count, 0);
            index[0] = graph_concatenate(g, index, count, 0);
        }
        if (count > 0)
            update_table(s, t, index[0], updates[0]);
    }
}
