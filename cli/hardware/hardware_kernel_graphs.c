/* Writes the graphs of library kernels: attention, gated units, cross entropy, norms, ragged dots. */
#include "cli/hardware/hardware_kernels.h"

#include "cli/graphs/hardware_graphs.h"

#include "stack/hlo/rewrite.h"
#include "stack/nn/nn.h"

#include <math.h>

static struct graph *begin(const char *name, struct arena *a)
{
    struct graph *g = arena_alloc(a, sizeof(*g));

    graph_init(g, a, name);
    return g;
}

static struct graph *done(struct graph *g)
{
    graph_freeze(g);
    return g;
}

static int parameter(struct graph *g, struct shape shape, const char *name)
{
    return graph_parameter(g, shape, arena_printf(g->arena, "%s.%d", name, g->parameter_count));
}

static struct shape shape4(enum graph_dtype t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return shape_make(t, 4, (int64_t[]){a, b, c, d});
}

/* what is kept of x over dimension `dim` of `like`, one after the other of the others */
static int spread(struct graph *g, int x, int like, int dim)
{
    struct shape s = g->node[like].shape;
    int dims[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < s.rank; i++)
        if (i != dim)
            dims[count++] = i;
    s.dtype = g->node[x].shape.dtype;
    return graph_broadcast(g, x, s, dims);
}

/* ----- attention */

/* heads of keys and values, each for as many heads of queries: jnp.repeat */
static int repeated(struct graph *g, int x, int64_t heads)
{
    struct shape s = g->node[x].shape, wide = {.dtype = s.dtype, .rank = 5};

    if (s.dim[2] == heads)
        return x;
    for (int i = 0; i < 3; i++)
        wide.dim[i] = s.dim[i];
    wide.dim[3] = heads / s.dim[2];
    wide.dim[4] = s.dim[3];
    x = graph_broadcast(g, x, wide, (int[]){0, 1, 2, 4});
    s.dim[2] = heads;
    return graph_reshape(g, x, s);
}

/* [b,i,h,d] by [b,j,h,d] -> [b,h,i,j], over d */
static int scores_of(struct graph *g, int x, int y)
{
    struct graph_dot dot = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};

    return graph_dot_general(g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
}

/* [b,h,i,j] by [b,j,h,d] -> [b,i,h,d], over j; over i and [b,j,h,d] where it is turned */
static int weighted(struct graph *g, int weights, int y, bool is_turned, enum graph_dtype type)
{
    struct graph_dot dot = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {is_turned ? 2 : 3},
                            .rhs_contract = {1}};
    int z = graph_dot_general(g, graph_convert(g, weights, g->node[y].shape.dtype), y, &dot,
                              DTYPE_F32, PRECISION_DEFAULT);

    return graph_convert(g, graph_transpose(g, z, (int[]){0, 2, 1, 3}), type);
}

struct attention_parameters { int q, k, v, bias, mask; };

static struct attention_parameters read_parameters(struct graph *g, const struct library_attention *x)
{
    struct attention_parameters p = {.bias = NODE_NONE, .mask = NODE_NONE};

    p.q = hardware_compact_parameter(g, x->q, "q");
    p.k = hardware_compact_parameter(g, x->k, "k");
    p.v = hardware_compact_parameter(g, x->v, "v");
    if (x->has_bias)
        p.bias = parameter(g, shape_make(x->q.dtype, 3, (int64_t[]){x->q.dim[2], x->q.dim[1],
                                                                    x->k.dim[1]}), "bias");
    if (x->has_mask)
        p.mask = parameter(g, shape_make(DTYPE_PRED, 2, (int64_t[]){x->q.dim[0], x->k.dim[1]}),
                           "mask");
    return p;
}

/* f32 [batch, heads, q, k], with scale, bias and mask */
static int logits_of(struct graph *g, const struct library_attention *x,
                     const struct attention_parameters *p, int k)
{
    int logits = nn_scale(g, scores_of(g, p->q, k), x->scale), visible = NODE_NONE;
    struct shape s = g->node[logits].shape;

    if (x->has_bias)
        logits = nn_add(g, logits, graph_broadcast(g, graph_convert(g, p->bias, DTYPE_F32), s,
                                                   (int[]){1, 2, 3}));
    if (x->is_causal) {
        struct shape plane = shape_make(DTYPE_S32, 2, (int64_t[]){s.dim[2], s.dim[3]});

        visible = graph_iota(g, plane, 0);
        visible = graph_compare(g, COMPARE_GE, visible, graph_iota(g, plane, 1));
        s.dtype = DTYPE_PRED;
        visible = graph_broadcast(g, visible, s, (int[]){2, 3});
    } else if (x->has_mask) {
        s.dtype = DTYPE_PRED;
        visible = graph_broadcast(g, p->mask, s, (int[]){0, 3});
    }
    if (visible != NODE_NONE)
        logits = graph_select(g, visible, logits, graph_splat(g, logits, -3.4e38));
    return logits;
}

struct graph *library_attention(const struct library_attention *x, struct arena *a)
{
    struct graph *g = begin("dot_product_attention", a);
    struct attention_parameters p = read_parameters(g, x);
    int k = repeated(g, p.k, x->q.dim[2]), v = repeated(g, p.v, x->q.dim[2]);
    int logits = logits_of(g, x, &p, k);
    int high = graph_reduce(g, REDUCE_MAX, logits, 1u << 3);
    int power = graph_unary(g, HLO_EXP, graph_binary(g, HLO_SUBTRACT, logits,
                                                     spread(g, high, logits, 3)));
    int sum = graph_reduce(g, REDUCE_ADD, power, 1u << 3);
    int weights = graph_binary(g, HLO_DIVIDE, power, spread(g, sum, power, 3));

    hardware_compact_output(g, weighted(g, weights, v, false, x->q.dtype), "o");
    if (x->has_residuals) {
        graph_output(g, high, "maximum", -1);
        graph_output(g, sum, "sum", -1);
    }
    return done(g);
}

struct graph *library_attention_gradient(const struct library_attention *x, struct arena *a)
{
    struct graph *g = begin("dot_product_attention_vjp", a);
    struct attention_parameters p = read_parameters(g, x);
    struct shape rows = shape_make(DTYPE_F32, 3, (int64_t[]){x->q.dim[0], x->q.dim[2],
                                                             x->q.dim[1]});
    int high = parameter(g, rows, "maximum"), sum = parameter(g, rows, "sum");
    int dout = hardware_compact_parameter(g, shape4(x->q.dtype, x->q.dim[0], x->q.dim[1],
                                                    x->q.dim[2], x->v.dim[3]), "dout");
    int logits = logits_of(g, x, &p, p.k);
    int power = graph_unary(g, HLO_EXP, graph_binary(g, HLO_SUBTRACT, logits,
                                                     spread(g, high, logits, 3)));
    int weights = graph_binary(g, HLO_DIVIDE, power, spread(g, sum, power, 3));
    int slope = scores_of(g, dout, p.v);
    int mean = graph_reduce(g, REDUCE_ADD, nn_multiply(g, weights, slope), 1u << 3);
    int ds = nn_multiply(g, weights, graph_binary(g, HLO_SUBTRACT, slope,
                                                  spread(g, mean, slope, 3)));
    int scaled = nn_scale(g, ds, x->scale);

    hardware_compact_output(g, weighted(g, scaled, p.k, false, x->q.dtype), "dq");
    hardware_compact_output(g, weighted(g, scaled, p.q, true, x->k.dtype), "dk");
    hardware_compact_output(g, weighted(g, weights, dout, true, x->v.dtype), "dv");
    if (x->has_bias)
        graph_output(g, graph_convert(g, graph_reduce(g, REDUCE_ADD, ds, 1u << 0), x->q.dtype),
                     "dbias", -1);
    return done(g);
}

/* ----- products with something after them */

static int as_bf16(struct graph *g, int x)
{
    return graph_convert(g, x, DTYPE_BF16);
}

struct graph *library_gated_unit(struct shape x_shape, struct shape w_shape,
                                enum graph_op activation, struct arena *a)
{
    struct graph *g = begin("gated_linear_unit", a);
    int last = x_shape.rank - 1;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX], n = w_shape.dim[2];
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {last}, .rhs_contract = {0}};
    int x = hardware_compact_parameter(g, x_shape, "x");
    int w = hardware_compact_parameter(g, w_shape, "w"), y, gate, up;
    struct shape flat = x_shape;

    x = as_bf16(g, x);
    y = graph_dot_general(g, x, as_bf16(g, w), &dot, DTYPE_F32, PRECISION_DEFAULT);
    y = graph_convert(g, y, x_shape.dtype);
    flat.dim[last] = 2 * n;
    y = graph_convert(g, graph_reshape(g, y, flat), DTYPE_F32);
    for (int i = 0; i <= last; i++)
        limit[i] = flat.dim[i];
    limit[last] = n;
    gate = graph_slice(g, y, start, limit, NULL);
    start[last] = n;
    limit[last] = 2 * n;
    up = graph_slice(g, y, start, limit, NULL);
    gate = activation == HLO_LOGISTIC ? graph_unary(g, HLO_LOGISTIC, gate) : nn_silu(g, gate);
    graph_output(g, graph_convert(g, nn_multiply(g, gate, up), x_shape.dtype), "y", -1);
    return done(g);
}

struct graph *library_cross_entropy(struct shape x_shape, struct shape w_shape, bool is_mean,
                                   bool has_residuals, struct arena *a)
{
    struct graph *g = begin("linear_softmax_cross_entropy_loss", a);
    int64_t rows = x_shape.dim[0], words = w_shape.dim[1];
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    int x = parameter(g, x_shape, "x");
    int labels = parameter(g, shape_make(DTYPE_S32, 1, &rows), "labels");
    int w = parameter(g, w_shape, "w");
    enum graph_dtype type = x_shape.dtype;
    int logits, high, shifted, sum, log_sum, hot, loss;

    x = as_bf16(g, x);
    logits = graph_dot_general(g, x, as_bf16(g, w), &dot, type, PRECISION_DEFAULT);
    logits = graph_convert(g, logits, DTYPE_F32);
    high = graph_reduce(g, REDUCE_MAX, logits, 1u << 1);
    shifted = graph_binary(g, HLO_SUBTRACT, logits, spread(g, high, logits, 1));
    sum = graph_reduce(g, REDUCE_ADD, graph_unary(g, HLO_EXP, shifted), 1u << 1);
    log_sum = graph_unary(g, HLO_LOG, sum);
    hot = nn_one_hot(g, labels, words, DTYPE_F32);
    loss = nn_multiply(g, hot, graph_binary(g, HLO_SUBTRACT, spread(g, log_sum, shifted, 1),
                                            shifted));
    loss = graph_reduce(g, REDUCE_ADD, loss, 3);
    graph_output(g, is_mean ? nn_scale(g, loss, 1.0 / (double)rows) : loss, "loss", -1);
    if (has_residuals)
        graph_output(g, nn_add(g, high, log_sum), "lse", -1);
    return done(g);
}

static int mean_over(struct graph *g, int x, int axis)
{
    double share = 1.0 / (double)g->node[x].shape.dim[axis];

    return nn_scale(g, graph_reduce(g, REDUCE_ADD, x, 1u << axis), share);
}

struct graph *library_normalization(struct shape x_shape, int axis, bool has_residuals,
                                   struct arena *a)
{
    struct graph *g = begin("normalization", a);
    struct shape along = shape_make(DTYPE_F32, 1, &x_shape.dim[axis]);
    int x = graph_convert(g, hardware_compact_parameter(g, x_shape, "x"), DTYPE_F32);
    int scale = parameter(g, along, "scale"), offset = parameter(g, along, "offset");
    struct shape s = g->node[x].shape;
    int mean = mean_over(g, x, axis), centred, variance, rate, y;

    centred = graph_binary(g, HLO_SUBTRACT, x, spread(g, mean, x, axis));
    variance = mean_over(g, nn_multiply(g, centred, centred), axis);
    rate = graph_unary(g, HLO_RSQRT, nn_shift(g, variance, 1e-6));
    y = nn_multiply(g, centred, spread(g, rate, x, axis));
    y = nn_multiply(g, y, graph_broadcast(g, scale, s, &axis));
    y = nn_add(g, y, graph_broadcast(g, offset, s, &axis));
    hardware_compact_output(g, graph_convert(g, y, x_shape.dtype), "y");
    if (has_residuals) {
        graph_output(g, mean, "mean", -1);
        graph_output(g, rate, "rate", -1);
    }
    return done(g);
}

struct graph *library_ragged_dot(const struct library_ragged *r, struct arena *a)
{
    struct graph *g = begin("ragged_dot", a);
    bool is_gradient = r->form == RAGGED_GRADIENT, is_transposed = r->form == RAGGED_TRANSPOSED;
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .is_alone = 1,
                            .lhs_contract = {is_gradient ? 1 : 2}, .rhs_contract = {1}};
    int64_t left[] = {r->groups, r->rows, r->k};
    int64_t right[] = {r->groups, is_gradient ? r->rows : is_transposed ? r->n : r->k,
                       is_transposed ? r->k : r->n};
    int64_t rest[] = {r->empty_groups, right[1], right[2]};
    int x = parameter(g, shape_make(DTYPE_BF16, 3, left), "lhs");
    int y = parameter(g, shape_make(DTYPE_BF16, 3, right), "rhs");

    if (r->empty_groups && !is_gradient)
        parameter(g, shape_make(DTYPE_BF16, 3, rest), "rhs of empty groups");
    if (is_transposed)
        y = graph_transpose(g, y, (int[]){0, 2, 1});
    y = graph_dot_general(g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
    y = graph_convert(g, y, DTYPE_BF16);
    graph_output(g, y, "y", -1);
    if (r->has_residuals)
        graph_output(g, y, "residuals", -1);
    return done(g);
}
