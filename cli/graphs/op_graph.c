/*
 * Builds the graph of one operation by a table of functions, one for each kind, out of sizes and
 * options.
 */
#include "cli/graphs/op_graph.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/graphs/hardware_graphs.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#include <string.h>

#define NAMES_MAX 160

struct building {
    const struct op_request *r;
    struct graph *g;
    struct err *e;
};

/* operand `i` of the request's type, unless `type` says otherwise */
static int operand_of(struct building *b, int i, enum graph_dtype type)
{
    struct shape s = b->r->shape[i];

    s.dtype = type;
    return graph_parameter(b->g, s, arena_printf(b->g->arena, "operand.%d", i));
}

static int operand(struct building *b, int i) { return operand_of(b, i, b->r->dtype); }

static int last_dim(const struct building *b) { return b->r->shape[0].rank - 1; }

/* --dims, checked against the first shape; `fallback` where there are none */
static int dims_mask(struct building *b, uint32_t fallback, uint32_t *mask)
{
    *mask = b->r->dim_count ? 0 : fallback;
    for (int i = 0; i < b->r->dim_count; i++) {
        if (b->r->dims[i] < 0 || b->r->dims[i] > last_dim(b))
            return err_set(b->e, "--dims has %d; dimensions here are 0..%d", b->r->dims[i],
                           last_dim(b));
        *mask |= 1u << b->r->dims[i];
    }
    return 0;
}

typedef int build(struct building *b, int *out);

static int reduce(struct building *b, enum graph_reduce kind, int *out)
{
    uint32_t mask;

    if (b->r->shape[0].rank == 0 || dims_mask(b, 1u << last_dim(b), &mask))
        return -1;
    *out = graph_reduce(b->g, kind, operand(b, 0), mask);
    return 0;
}

static int build_reduce_add(struct building *b, int *out) { return reduce(b, REDUCE_ADD, out); }
static int build_reduce_max(struct building *b, int *out) { return reduce(b, REDUCE_MAX, out); }
static int build_argmax(struct building *b, int *out) { return reduce(b, REDUCE_ARGMAX, out); }

static int build_transpose(struct building *b, int *out)
{
    int dims[GRAPH_RANK_MAX], rank = b->r->shape[0].rank;
    uint32_t mask;

    for (int i = 0; i < rank; i++)
        dims[i] = b->r->dim_count ? b->r->dims[i] : rank - 1 - i;
    if (dims_mask(b, (1u << rank) - 1, &mask))
        return -1;
    if (mask != (1u << rank) - 1)
        return err_set(b->e, "--dims must name each of the %d dimensions once", rank);
    *out = graph_transpose(b->g, operand(b, 0), dims);
    return 0;
}

static int build_reshape(struct building *b, int *out)
{
    struct shape to = b->r->shape[1];

    to.dtype = b->r->dtype;
    if (shape_elems(&to) != shape_elems(&b->r->shape[0]))
        return err_set(b->e, "shapes of %lld and %lld elements; a reshape keeps their number",
                       (long long)shape_elems(&b->r->shape[0]), (long long)shape_elems(&to));
    *out = graph_reshape(b->g, operand(b, 0), to);
    return 0;
}

static int build_broadcast(struct building *b, int *out)
{
    struct shape to = b->r->shape[1];
    int rank = b->r->shape[0].rank, dims[GRAPH_RANK_MAX];

    to.dtype = b->r->dtype;
    for (int i = 0; i < rank; i++) {
        dims[i] = b->r->dim_count > i ? b->r->dims[i] : to.rank - rank + i;
        if (dims[i] < 0 || dims[i] >= to.rank || to.dim[dims[i]] != b->r->shape[0].dim[i] ||
            (i && dims[i] <= dims[i - 1]))
            return err_set(b->e, "dimension %d does not go to dimension %d of the result (--dims)",
                           i, dims[i]);
    }
    *out = graph_broadcast(b->g, operand(b, 0), to, dims);
    return 0;
}

static int build_concatenate(struct building *b, int *out)
{
    int node[OP_SHAPES_MAX], dim = b->r->dim_count ? b->r->dims[0] : 0;
    uint32_t mask;

    if (dims_mask(b, 1, &mask))
        return -1;
    for (int i = 0; i < b->r->shape_count; i++) {
        struct shape s = b->r->shape[i];

        if (s.rank == b->r->shape[0].rank)
            s.dim[dim] = b->r->shape[0].dim[dim];
        if (!shape_same_dims(&s, &b->r->shape[0]))
            return err_set(b->e, "shapes differ in more than dimension %d (--dims)", dim);
        node[i] = operand(b, i);
    }
    *out = graph_concatenate(b->g, node, b->r->shape_count, dim);
    return 0;
}

static int build_reverse(struct building *b, int *out)
{
    int dims[GRAPH_RANK_MAX], count = 0;
    uint32_t mask;

    if (dims_mask(b, 1u << last_dim(b), &mask))
        return -1;
    for (int i = 0; i < b->r->shape[0].rank; i++)
        if (mask & (1u << i))
            dims[count++] = i;
    *out = graph_reverse(b->g, operand(b, 0), dims, count);
    return 0;
}

static int build_slice(struct building *b, int *out)
{
    const struct shape *from = &b->r->shape[0], *to = &b->r->shape[1];
    int64_t start[GRAPH_RANK_MAX] = {0};

    for (int i = 0; i < from->rank; i++)
        if (to->rank != from->rank || to->dim[i] > from->dim[i])
            return err_set(b->e, "a slice has as many dimensions, none longer");
    *out = graph_slice(b->g, operand(b, 0), start, to->dim, NULL);
    return 0;
}

static int build_pad(struct building *b, int *out)
{
    const struct shape *from = &b->r->shape[0], *to = &b->r->shape[1];
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0}, interior[GRAPH_RANK_MAX] = {0};

    for (int i = 0; i < from->rank; i++) {
        if (to->rank != from->rank || to->dim[i] < from->dim[i])
            return err_set(b->e, "a padded array has as many dimensions, none shorter");
        low[i] = (to->dim[i] - from->dim[i]) / 2;
        high[i] = to->dim[i] - from->dim[i] - low[i];
    }
    int third = graph_constant(b->g, shape_scalar(b->r->dtype), 0);
    *out = graph_pad(b->g, operand(b, 0), third, low,
                     high, interior);
    return 0;
}

static int build_convert(struct building *b, int *out)
{
    *out = graph_convert(b->g, operand(b, 0), b->r->to);
    return 0;
}

/* [m,k] x [k,n], or with batches in front */
static int build_dot(struct building *b, int *out)
{
    const struct shape *x = &b->r->shape[0], *y = &b->r->shape[1];
    struct graph_dot dot = {.batch_count = x->rank - 2, .contract_count = 1,
                            .lhs_contract = {x->rank - 1}, .rhs_contract = {y->rank - 2}};
    int rhs;

    if (x->rank < 2 || y->rank != x->rank || x->dim[x->rank - 1] != y->dim[y->rank - 2])
        return err_set(b->e, "a product needs [..,m,k] and [..,k,n], e.g. 128x768 768x3072");
    for (int i = 0; i < dot.batch_count; i++) {
        if (x->dim[i] != y->dim[i])
            return err_set(b->e, "batches of %lld and %lld", (long long)x->dim[i],
                           (long long)y->dim[i]);
        dot.lhs_batch[i] = dot.rhs_batch[i] = i;
    }
    rhs = operand(b, 1);
    *out = graph_dot_general(b->g, operand(b, 0), rhs, &dot, b->r->dtype,
                             PRECISION_DEFAULT);
    return 0;
}

static struct graph_gather rows_of(const struct shape *table)
{
    struct graph_gather rows = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                                .collapsed_dims = {0}, .map_count = 1, .start_index_map = {0},
                                .index_vector_dim = 1, .slice_sizes = {1, table->dim[1]}};

    return rows;
}

static int check_rows(struct building *b)
{
    if (b->r->shape[0].rank == 2 && b->r->shape[1].rank == 1)
        return 0;
    return err_set(b->e, "needs ROWSxCOLUMNS of the table and the number of indices, e.g. "
                   "30522x768 4096");
}

static int build_gather(struct building *b, int *out)
{
    struct graph_gather rows = rows_of(&b->r->shape[0]);
    int indices;

    if (check_rows(b))
        return -1;
    indices = operand_of(b, 1, DTYPE_S32);
    *out = graph_gather(b->g, operand(b, 0), indices, &rows);
    return 0;
}

static int build_scatter(struct building *b, int *out)
{
    struct graph_gather rows = rows_of(&b->r->shape[0]);
    struct shape update = b->r->shape[0];
    int table, indices;

    if (check_rows(b))
        return -1;
    update.dim[0] = b->r->shape[1].dim[0];
    update.dtype = b->r->dtype;
    table = operand(b, 0);
    indices = operand_of(b, 1, DTYPE_S32);
    *out = graph_scatter(b->g, REDUCE_ADD, table, indices,
                         graph_parameter(b->g, update, "updates"), &rows);
    return 0;
}

static int build_sort(struct building *b, int *out)
{
    int node = operand(b, 0);

    *out = graph_sort(b->g, &node, 1, last_dim(b), COMPARE_LT);
    return 0;
}

static int build_top_k(struct building *b, int *out)
{
    int64_t length = b->r->shape[0].dim[last_dim(b)];

    if (b->r->k < 1 || b->r->k > length)
        return err_set(b->e, "--count is %lld, allowed are 1..%lld, the last dimension",
                       (long long)b->r->k, (long long)length);
    *out = graph_tuple_element(b->g, graph_top_k(b->g, operand(b, 0), b->r->k), 0);
    return 0;
}

/* number `at` of an option that takes one for both or two */
static int64_t pair_of(const int64_t *given, int count, int at, int64_t fallback)
{
    return count > at ? given[at] : count ? given[0] : fallback;
}

/* as many windows as strides, and what lies beside the image in equal shares */
static void pad_same(struct graph_window *w, int64_t in)
{
    int64_t both = (div_up(in, w->stride) - 1) * w->stride + w->size - in;

    if (both > 0) {
        w->pad_low = both / 2;
        w->pad_high = both - both / 2;
    }
}

static int pool_windows(struct building *b, struct graph_window *w)
{
    int rank = b->r->shape[0].rank;

    if (rank != 4)
        return err_set(b->e, "pooling needs [batch,height,width,channels], e.g. 32x112x112x64");
    for (int i = 0; i < rank; i++) {
        bool is_spatial = i == 1 || i == 2;
        int at = i - 1;

        w[i] = (struct graph_window){.size = 1, .stride = 1, .base_dilation = 1,
                                     .window_dilation = 1};
        if (!is_spatial)
            continue;
        w[i].size = pair_of(b->r->window, b->r->window_count, at, 2);
        w[i].stride = pair_of(b->r->stride, b->r->stride_count, at, w[i].size);
        if (b->r->is_same)
            pad_same(&w[i], b->r->shape[0].dim[i]);
        if (w[i].size > b->r->shape[0].dim[i] + w[i].pad_low + w[i].pad_high)
            return err_set(b->e, "a window of %lld over %lld", (long long)w[i].size,
                           (long long)b->r->shape[0].dim[i]);
    }
    return 0;
}

static int pool(struct building *b, enum graph_reduce kind, int *out)
{
    struct graph_window w[GRAPH_RANK_MAX];

    if (pool_windows(b, w))
        return -1;
    *out = graph_reduce_window(b->g, kind, operand(b, 0), w);
    return 0;
}

static int pool_gradient(struct building *b, enum graph_reduce kind, int *out)
{
    struct graph_window w[GRAPH_RANK_MAX];
    int x, y;

    if (pool_windows(b, w))
        return -1;
    x = operand(b, 0);
    y = graph_reduce_window(b->g, kind, x, w);
    return graph_backward(b->g, y, graph_parameter(b->g, b->g->node[y].shape, "gradient"), &x, 1,
                          out, b->e);
}

static int build_max_pool(struct building *b, int *out) { return pool(b, REDUCE_MAX, out); }
static int build_sum_pool(struct building *b, int *out) { return pool(b, REDUCE_ADD, out); }

static int build_max_pool_gradient(struct building *b, int *out)
{
    return pool_gradient(b, REDUCE_MAX, out);
}

static int build_sum_pool_gradient(struct building *b, int *out)
{
    return pool_gradient(b, REDUCE_ADD, out);
}

static int build_iota(struct building *b, int *out)
{
    struct shape s = b->r->shape[0];

    s.dtype = DTYPE_S32;
    *out = graph_iota(b->g, s, last_dim(b));
    return 0;
}

static int build_random(struct building *b, int *out)
{
    struct shape s = b->r->shape[0];
    int seed = graph_parameter(b->g, shape_scalar(DTYPE_S32), "seed");

    s.dtype = DTYPE_U32;
    *out = graph_rng_bits(b->g, s, seed, 0);
    return 0;
}

/* of operands; what is built element by element asks graph_infer */
#define BIT(type) (1u << DTYPE_##type)
#define FLOATS (BIT(F32) | BIT(BF16))
#define FACTORS (FLOATS | BIT(S8) | BIT(U8))
#define NUMBERS (FACTORS | BIT(S32) | BIT(U32))
#define ANY (NUMBERS | BIT(PRED))

static const struct {
    const char *name, *usage, *what;
    int shapes_min, shapes_max;
    build *build;
    unsigned types;
} composed[] = {
    {"reduce-add", "SHAPE", "sum over --dims (default: the last)", 1, 1, build_reduce_add, NUMBERS},
    {"reduce-max", "SHAPE", "maximum over --dims", 1, 1, build_reduce_max, NUMBERS},
    {"argmax", "SHAPE", "where the maximum over --dims is", 1, 1, build_argmax, NUMBERS},
    {"transpose", "SHAPE", "dimensions in the order of --dims (default: reversed)", 1, 1,
     build_transpose, ANY},
    {"reshape", "SHAPE TO", "the same elements in another shape", 2, 2, build_reshape, ANY},
    {"broadcast", "SHAPE TO", "dimensions become those of --dims (default: the last ones)", 2, 2,
     build_broadcast, ANY},
    {"concatenate", "SHAPE SHAPE…", "along --dims (default: 0)", 2, OP_SHAPES_MAX,
     build_concatenate, ANY},
    {"reverse", "SHAPE", "--dims backwards (default: the last)", 1, 1, build_reverse, ANY},
    {"slice", "SHAPE TO", "the first elements", 2, 2, build_slice, ANY},
    {"pad", "SHAPE TO", "zeros on both sides", 2, 2, build_pad, ANY},
    {"convert", "SHAPE", "--dtype to --to", 1, 1, build_convert, ANY},
    {"dot", "SHAPE SHAPE", "[..,m,k] by [..,k,n]", 2, 2, build_dot, FACTORS},
    {"gather", "TABLE N", "N rows of a table (embedding)", 2, 2, build_gather, ANY},
    {"scatter", "TABLE N", "N rows added to a table", 2, 2, build_scatter, NUMBERS},
    {"sort", "SHAPE", "along the last dimension, rising", 1, 1, build_sort, NUMBERS},
    {"topk", "SHAPE", "the --count largest of the last dimension", 1, 1, build_top_k, NUMBERS},
    {"max-pool", "NxHxWxC", "maximum over --window in steps of --stride", 1, 1, build_max_pool,
     NUMBERS},
    {"sum-pool", "NxHxWxC", "sum over --window in steps of --stride", 1, 1, build_sum_pool,
     NUMBERS},
    {"max-pool-gradient", "NxHxWxC", "of max-pool, by its input", 1, 1, build_max_pool_gradient,
     FLOATS},
    {"sum-pool-gradient", "NxHxWxC", "of sum-pool, by its input", 1, 1, build_sum_pool_gradient,
     FLOATS},
    {"iota", "SHAPE", "index along the last dimension", 1, 1, build_iota, ANY},
    {"random", "SHAPE", "random bits", 1, 1, build_random, ANY},
};

/* ----- graphs that are made as models have them: several operations, or a custom call */

typedef int build_whole(const struct op_request *r, int form, struct arena *a, struct graph **out,
                        struct err *e);

static int build_norm(const struct op_request *r, int is_softmax, struct arena *a,
                      struct graph **out, struct err *e)
{
    const struct shape *s = &r->shape[0];
    int64_t rows = 1, columns = s->rank ? s->dim[s->rank - 1] : 1;

    (void)e;
    for (int i = 0; i + 1 < s->rank; i++)
        rows *= s->dim[i];
    *out = is_softmax ? hardware_softmax(1, rows, columns, r->dtype, a)
                      : hardware_layer_norm(rows, columns, r->dtype, a);
    return 0;
}

/* of one sequence [heads,queries,depth]; over pages there are several in front */
static int build_attention(const struct op_request *r, int form, struct arena *a,
                           struct graph **out, struct err *e)
{
    const struct shape *q = &r->shape[0], *k = &r->shape[1];
    int first = form == ATTENTION_FLASH ? 0 : 1;
    struct graph_attention request = {.form = (enum graph_attention_form)form, .is_causal = true};

    if (q->rank != 3 + first || k->rank != 3 || q->dim[first + 2] != k->dim[2])
        return err_set(e, "%s takes queries %sHEADSxQUERIESxDEPTH and keys of one sequence "
                       "HEADSxKEYSxDEPTH, e.g. %s32x%dx128 8x2048x128", r->name,
                       first ? "SEQUENCESx" : "", first ? "4x" : "", first ? 1 : 512);
    request.sequences = first ? q->dim[0] : 1;
    request.heads_q = q->dim[first];
    request.q_len = q->dim[first + 1];
    request.heads_kv = k->dim[0];
    request.kv_len = k->dim[1];
    request.depth = k->dim[2];
    return attention_graph(&request, a, out, e);
}

static const struct {
    const char *name, *usage, *what;
    int shapes;
    unsigned types;
    build_whole *build;
    int form;                           /* of attention; 1: a softmax */
} programs[] = {
    {"softmax", "SHAPE", "over the last dimension", 1, FLOATS, build_norm, 1},
    {"layer-norm", "SHAPE", "over the last dimension, with gain and bias", 1, FLOATS, build_norm,
     0},
    {"flash_attention", "Q K", "causal, scores in VMEM", 2, BIT(BF16), build_attention,
     ATTENTION_FLASH},
    {"paged_attention", "Q K", "keys in pages, one query of each sequence", 2, BIT(BF16),
     build_attention, ATTENTION_PAGED},
    {"ragged_paged_attention", "Q K", "keys and values of all heads in pages", 2, BIT(BF16),
     build_attention, ATTENTION_RAGGED},
};

static bool is_elementwise(enum graph_op op)
{
    enum graph_op_kind kind = graph_op_kind(op);

    return (kind == KIND_UNARY || kind == KIND_BINARY) && graph_op_attributes(op) == 0;
}

void op_graph_list(FILE *to)
{
    int column = 0;

    for (size_t i = 0; i < COUNT_OF(composed); i++)
        fprintf(to, "  %-22s %-14s %s\n", composed[i].name, composed[i].usage, composed[i].what);
    for (size_t i = 0; i < COUNT_OF(programs); i++)
        fprintf(to, "  %-22s %-14s %s\n", programs[i].name, programs[i].usage, programs[i].what);
    fprintf(to, "\nelement by element, each with one SHAPE:\n ");
    for (int op = 0; op < HLO_COUNT; op++) {
        if (!is_elementwise((enum graph_op)op))
            continue;
        if (column > 80)
            column = fprintf(to, "\n ") - 2;
        column += fprintf(to, " %s", graph_op_name((enum graph_op)op));
    }
    fputc('\n', to);
}

static int unknown_name(const struct op_request *r, struct err *e)
{
    const char *names[NAMES_MAX];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(composed); i++)
        names[count++] = composed[i].name;
    for (size_t i = 0; i < COUNT_OF(programs); i++)
        names[count++] = programs[i].name;
    for (int op = 0; op < HLO_COUNT && count < NAMES_MAX; op++)
        if (is_elementwise((enum graph_op)op))
            names[count++] = graph_op_name((enum graph_op)op);
    return err_set(e, "unknown operation \"%s\"%s; systole op --list tells all", r->name,
                   text_did_you_mean(r->name, names, count).text);
}

static int build_elementwise(struct building *b, enum graph_op op, int *out)
{
    enum graph_op_kind kind = graph_op_kind(op);
    struct graph_node n = {.op = op, .operand_count = kind == KIND_UNARY ? 1 : 2};
    int operands[2] = {operand(b, 0), NODE_NONE};
    struct shape result;

    if (kind == KIND_BINARY)
        operands[1] = graph_parameter(b->g, b->g->node[operands[0]].shape, "operand.1");
    n.operand = operands;
    n.name = b->r->name;
    if (graph_infer(b->g, &n, &result, b->e))   /* types that it does not take */
        return -1;
    *out = kind == KIND_UNARY ? graph_unary(b->g, op, operands[0])
                              : graph_binary(b->g, op, operands[0], operands[1]);
    return 0;
}

static int check_shapes(const struct op_request *r, const char *usage, int least, int most,
                        struct err *e)
{
    if (r->shape_count >= least && r->shape_count <= most)
        return 0;
    return err_set(e, "%s takes %s, e.g. 1024x768; %d given", r->name, usage, r->shape_count);
}

static int check_type(const struct op_request *r, unsigned types, struct err *e)
{
    char all[64] = "";

    if (types >> r->dtype & 1)
        return 0;
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (types >> t & 1)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", *all ? ", " : "",
                     graph_dtype_name((enum graph_dtype)t));
    return err_set(e, "%s takes %s, not %s (--dtype)", r->name, all, graph_dtype_name(r->dtype));
}

static int build_named(struct building *b, int *out)
{
    const struct op_request *r = b->r;

    for (size_t i = 0; i < COUNT_OF(composed); i++)
        if (strcmp(composed[i].name, r->name) == 0)
            return check_shapes(r, composed[i].usage, composed[i].shapes_min,
                                composed[i].shapes_max, b->e)
                   || check_type(r, composed[i].types, b->e)
                   || composed[i].build(b, out) ? -1 : 0;
    for (int op = 0; op < HLO_COUNT; op++)
        if (is_elementwise((enum graph_op)op) &&
            strcmp(graph_op_name((enum graph_op)op), r->name) == 0)
            return check_shapes(r, "one SHAPE", 1, 1, b->e)
                   || build_elementwise(b, (enum graph_op)op, out) ? -1 : 0;
    return unknown_name(r, b->e);
}

int op_graph(const struct op_request *r, struct arena *a, struct graph **out, struct err *e)
{
    struct building b = {.r = r, .e = e};
    int node = NODE_NONE, status;

    for (size_t i = 0; i < COUNT_OF(programs); i++)
        if (strcmp(programs[i].name, r->name) == 0)
            return check_shapes(r, programs[i].usage, programs[i].shapes, programs[i].shapes, e)
                   || check_type(r, programs[i].types, e)
                   || programs[i].build(r, programs[i].form, a, out, e) ? -1 : 0;
    b.g = arena_alloc(a, sizeof(*b.g));
    graph_init(b.g, a, r->name);
    status = build_named(&b, &node);
    if (status == 0)
        graph_output(b.g, node, "result", -1);
    graph_freeze(b.g);
    *out = b.g;
    return status ? -1 : graph_verify(b.g, e);
}
