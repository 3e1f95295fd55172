/*
 * The programs behind measured rows, as graphs of basic operations: what a
 * model written in JAX gives to the compiler.
 */
#include "cli/graphs/hardware_graphs.h"

#include "cli/graphs/conv_graph.h"
#include "stack/hlo/array.h"
#include "stack/hlo/rewrite.h"
#include "stack/nn/nn.h"

#include <string.h>

enum { FAR_GAIN_MIN = 2 };              /* as stack/passes/pass_layout.c asks before it turns an array */

struct shape hardware_in_order(const struct shape *s, const int *order)
{
    struct shape out = *s;

    for (int i = 0; i < s->rank; i++)
        out.dim[i] = s->dim[order[i]];
    return out;
}

static int64_t bytes_in_order(const struct shape *s, const struct hardware_order *o)
{
    struct shape laid = hardware_in_order(s, o->dim);
    struct array a;

    array_init(&a, "", &laid, NULL);
    return a.bytes;
}

/* all orders of the dimensions from `from` on; the first of the smallest is kept */
static void try_orders(const struct shape *s, struct hardware_order *now, int from,
                       struct hardware_order *best)
{
    for (int i = from; i < s->rank; i++) {
        int taken = now->dim[i];

        memmove(&now->dim[from + 1], &now->dim[from], (size_t)(i - from) * sizeof(taken));
        now->dim[from] = taken;
        try_orders(s, now, from + 1, best);
        memmove(&now->dim[from], &now->dim[from + 1], (size_t)(i - from) * sizeof(taken));
        now->dim[i] = taken;
    }
    if (from == s->rank && bytes_in_order(s, now) < bytes_in_order(s, best))
        *best = *now;
}

struct hardware_order hardware_compact_order(const struct shape *s)
{
    struct hardware_order plain, near, far;

    for (int i = 0; i < s->rank; i++)
        plain.dim[i] = i;
    near = far = plain;
    try_orders(s, &plain, s->rank > 2 ? s->rank - 2 : 0, &near);
    try_orders(s, &plain, 0, &far);
    return FAR_GAIN_MIN * bytes_in_order(s, &far) <= bytes_in_order(s, &near) ? far : near;
}

static struct graph *begin(const char *name, struct arena *a)
{
    struct graph *g = arena_alloc(a, sizeof(*g));

    graph_init(g, a, name);
    return g;
}

/* all of it the arena's */
static struct graph *done(struct graph *g)
{
    graph_freeze(g);
    return g;
}

static struct shape shape2(enum graph_dtype t, int64_t rows, int64_t columns)
{
    return shape_make(t, 2, (int64_t[]){rows, columns});
}

static struct shape shape3(enum graph_dtype t, int64_t x, int64_t y, int64_t z)
{
    return shape_make(t, 3, (int64_t[]){x, y, z});
}

/* [m,k] x [k,n] */
static int product(struct graph *g, int a, int b, enum graph_dtype type)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};

    return graph_dot_general(g, a, b, &dot, type, PRECISION_DEFAULT);
}

/* batches along dimension 0; contracts these dimensions */
static int batched(struct graph *g, int a, int b, int a_dim, int b_dim, enum graph_dtype type)
{
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {a_dim},
                            .rhs_contract = {b_dim}};

    return graph_dot_general(g, a, b, &dot, type, PRECISION_DEFAULT);
}

/* a reduction of the last dimension, spread over it again */
static int over_columns(struct graph *g, enum graph_reduce kind, int a)
{
    struct shape s = g->node[a].shape;
    int dims[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++)
        dims[i] = i;
    return graph_broadcast(g, graph_reduce(g, kind, a, 1u << (s.rank - 1)), s, dims);
}

static int softmax(struct graph *g, int a)
{
    int shifted = graph_binary(g, HLO_SUBTRACT, a, over_columns(g, REDUCE_MAX, a));
    int power = graph_unary(g, HLO_EXP, shifted);

    return graph_binary(g, HLO_DIVIDE, power, over_columns(g, REDUCE_ADD, power));
}

/* in f32, whatever the type of `a` */
static int layer_norm(struct graph *g, int a, int gain, int bias)
{
    enum graph_dtype type = g->node[a].shape.dtype;
    int x = graph_convert(g, a, DTYPE_F32), centred, variance, y;
    double share = 1.0 / (double)g->node[a].shape.dim[g->node[a].shape.rank - 1];

    centred = graph_binary(g, HLO_SUBTRACT, x, nn_scale(g, over_columns(g, REDUCE_ADD, x), share));
    variance = nn_scale(g, over_columns(g, REDUCE_ADD, nn_multiply(g, centred, centred)), share);
    variance = nn_add(g, variance, graph_splat(g, variance, 1e-5));
    y = nn_multiply(g, centred, graph_unary(g, HLO_RSQRT, variance));
    y = nn_multiply(g, y, nn_spread(g, graph_convert(g, gain, DTYPE_F32), y));
    y = nn_add(g, y, nn_spread(g, graph_convert(g, bias, DTYPE_F32), y));
    return graph_convert(g, y, type);
}

static int parameter(struct graph *g, struct shape shape, const char *name)
{
    return graph_parameter(g, shape, arena_printf(g->arena, "%s.%d", name, g->parameter_count));
}

int hardware_compact_parameter(struct graph *g, struct shape shape, const char *name)
{
    struct hardware_order order = hardware_compact_order(&shape);
    int back[GRAPH_RANK_MAX];

    for (int i = 0; i < shape.rank; i++)
        back[order.dim[i]] = i;
    return graph_transpose(g, parameter(g, hardware_in_order(&shape, order.dim), name), back);
}

void hardware_compact_output(struct graph *g, int node, const char *name)
{
    struct hardware_order order = hardware_compact_order(&g->node[node].shape);

    graph_output(g, graph_transpose(g, node, order.dim), name, -1);
}

static int vector(struct graph *g, int64_t length, const char *name)
{
    return parameter(g, shape_make(DTYPE_BF16, 1, &length), name);
}

struct graph *hardware_gemm(int64_t m, int64_t k, int64_t n, struct arena *a)
{
    struct graph *g = begin("gemm", a);
    int x = parameter(g, shape2(DTYPE_BF16, m, k), "a");
    int y = parameter(g, shape2(DTYPE_BF16, k, n), "b");

    graph_output(g, product(g, x, y, DTYPE_BF16), "c", -1);
    return done(g);
}

struct graph *hardware_batched_dot(int64_t batch, int64_t m, int64_t k, int64_t n,
                                   struct arena *a)
{
    struct graph *g = begin("batched_gemm", a);
    int x = parameter(g, shape3(DTYPE_BF16, batch, m, k), "a");
    int y = parameter(g, shape3(DTYPE_BF16, batch, k, n), "b");

    graph_output(g, batched(g, x, y, 2, 1, DTYPE_BF16), "c", -1);
    return done(g);
}

/* one product with [hidden, 2 inter], silu of its one half times the other, one back */
struct graph *hardware_ffn_gated(int64_t rows, int64_t hidden, int64_t inter, struct arena *a)
{
    struct graph *g = begin("ffn_gated", a);
    int x = parameter(g, shape2(DTYPE_BF16, rows, hidden), "x");
    int up = parameter(g, shape2(DTYPE_BF16, hidden, 2 * inter), "gate_up");
    int down = parameter(g, shape2(DTYPE_BF16, inter, hidden), "down");
    int both = product(g, x, up, DTYPE_BF16);
    int gate = graph_slice(g, both, (int64_t[]){0, 0}, (int64_t[]){rows, inter}, NULL);
    int value = graph_slice(g, both, (int64_t[]){0, inter}, (int64_t[]){rows, 2 * inter}, NULL);

    graph_output(g, product(g, nn_multiply(g, nn_silu(g, gate), value), down, DTYPE_BF16), "y",
                 -1);
    return done(g);
}

static int dense(struct graph *g, int x, int64_t in, int64_t out, const char *name)
{
    int weight = parameter(g, shape2(DTYPE_BF16, in, out), name);
    int y = product(g, x, weight, DTYPE_BF16);

    return nn_add(g, y, nn_spread(g, vector(g, out, "bias"), y));
}

struct graph *hardware_ffn_erf(int64_t rows, int64_t hidden, int64_t inter, struct arena *a)
{
    struct graph *g = begin("ffn_erf", a);
    int x = parameter(g, shape2(DTYPE_BF16, rows, hidden), "x");

    x = nn_gelu(g, dense(g, x, hidden, inter, "up"), false);
    graph_output(g, dense(g, x, inter, hidden, "down"), "y", -1);
    return done(g);
}

/* scores are written out: [heads, q_len, kv_len] */
static int attention(struct graph *g, int q, int k, int v, int64_t head_dim)
{
    double scale = head_dim == 64 ? 0.125 : head_dim == 32 ? 0.1767767 : 0.0883883;
    int scores = batched(g, q, k, 2, 2, DTYPE_BF16);

    return batched(g, softmax(g, nn_scale(g, scores, scale)), v, 2, 1, DTYPE_BF16);
}

struct graph *hardware_encoder_attention(int64_t heads, int64_t q_len, int64_t kv_len,
                                         int64_t head_dim, struct arena *a)
{
    struct graph *g = begin("attention", a);
    int q = hardware_compact_parameter(g, shape3(DTYPE_BF16, heads, q_len, head_dim), "q");
    int k = hardware_compact_parameter(g, shape3(DTYPE_BF16, heads, kv_len, head_dim), "k");
    int v = hardware_compact_parameter(g, shape3(DTYPE_BF16, heads, kv_len, head_dim), "v");

    hardware_compact_output(g, attention(g, q, k, v, head_dim), "o");
    return done(g);
}

/* [sequence, hidden] -> [heads, sequence, head_dim] */
static int split_heads(struct graph *g, int x, int64_t heads)
{
    struct shape s = g->node[x].shape;

    x = graph_reshape(g, x, shape3(s.dtype, s.dim[0], heads, s.dim[1] / heads));
    return graph_transpose(g, x, (int[]){1, 0, 2});
}

static int merge_heads(struct graph *g, int x)
{
    struct shape s = g->node[x].shape;

    x = graph_transpose(g, x, (int[]){1, 0, 2});
    return graph_reshape(g, x, shape2(s.dtype, s.dim[1], s.dim[0] * s.dim[2]));
}

static int self_attention(struct graph *g, int x, int64_t hidden, int64_t heads)
{
    int q = split_heads(g, dense(g, x, hidden, hidden, "query"), heads);
    int k = split_heads(g, dense(g, x, hidden, hidden, "key"), heads);
    int v = split_heads(g, dense(g, x, hidden, hidden, "value"), heads);

    return dense(g, merge_heads(g, attention(g, q, k, v, hidden / heads)), hidden, hidden, "out");
}

struct graph *hardware_self_attention(int64_t heads, int64_t sequence, int64_t hidden,
                                      struct arena *a)
{
    struct graph *g = begin("self_attention", a);
    int x = parameter(g, shape2(DTYPE_BF16, sequence, hidden), "x");

    graph_output(g, self_attention(g, x, hidden, heads), "y", -1);
    return done(g);
}

/* BERT's: attention, add and norm, products of 4 hidden with GELU between, add and norm */
struct graph *hardware_encoder_block(int64_t sequence, int64_t hidden, int64_t heads,
                                     struct arena *a)
{
    struct graph *g = begin("encoder_block", a);
    int x = parameter(g, shape2(DTYPE_BF16, sequence, hidden), "x"), y;

    y = nn_add(g, x, self_attention(g, x, hidden, heads));
    int fourth_2 = vector(g, hidden, "bias");
    x = layer_norm(g, y, vector(g, hidden, "gain"), fourth_2);
    y = nn_gelu(g, dense(g, x, hidden, 4 * hidden, "up"), false);
    y = dense(g, y, 4 * hidden, hidden, "down");
    y = nn_add(g, x, y);
    int fourth = vector(g, hidden, "bias");
    graph_output(g, layer_norm(g, y, vector(g, hidden, "gain"), fourth), "y",
                 -1);
    return done(g);
}

struct graph *hardware_conv(int64_t batch, int64_t height, int64_t width, int64_t in,
                            int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                            struct arena *a)
{
    struct graph *g = begin("conv", a);
    struct graph_window w = {.size = kernel, .stride = stride, .pad_low = pad, .pad_high = pad,
                             .base_dilation = 1, .window_dilation = 1};
    struct conv_graph c = {.type = DTYPE_BF16, .in = {batch, height, width, in},
                           .kernel = {kernel, kernel, in, out}, .window = {w, w}, .groups = 1};
    struct err e;
    int x, k, y;

    conv_graph_add(g, &c, &x, &k, &y, &e);      /* no gradient that could fail */
    graph_output(g, y, "y", -1);
    return done(g);
}

struct graph *hardware_softmax(int64_t outer, int64_t rows, int64_t columns,
                               enum graph_dtype dtype, struct arena *a)
{
    struct graph *g = begin("softmax", a);
    int x = parameter(g, outer > 1 ? shape3(dtype, outer, rows, columns)
                                   : shape2(dtype, rows, columns), "x");

    graph_output(g, softmax(g, x), "y", -1);
    return done(g);
}

struct graph *hardware_layer_norm(int64_t rows, int64_t columns, enum graph_dtype dtype,
                                  struct arena *a)
{
    struct graph *g = begin("layer_norm", a);
    int x = parameter(g, shape2(dtype, rows, columns), "x");
    int gain = parameter(g, shape_make(dtype, 1, &columns), "gain");
    int bias = parameter(g, shape_make(dtype, 1, &columns), "bias");

    graph_output(g, layer_norm(g, x, gain, bias), "y", -1);
    return done(g);
}

struct graph *hardware_map(const char *op, int64_t elements, struct arena *a)
{
    struct graph *g = begin(op, a);
    struct shape shape = shape_make(DTYPE_BF16, 1, &elements);
    int x = parameter(g, shape, "x"), y;

    if (strcmp(op, "add") == 0)
        y = nn_add(g, x, parameter(g, shape, "y"));
    else if (strcmp(op, "exp") == 0)
        y = graph_unary(g, HLO_EXP, x);
    else
        y = graph_reduce(g, REDUCE_ADD, graph_convert(g, x, DTYPE_F32), 1);
    graph_output(g, y, "z", -1);
    return done(g);
}

/* `trips` times x = op(x, y), as a scan: what stays the same is carried along */
struct graph *hardware_chain(const char *op, int64_t elements, int64_t trips, struct arena *a)
{
    struct graph *g = begin("chain", a), *body = begin(op, a);
    struct shape shape = shape_make(DTYPE_BF16, 1, &elements);
    bool is_add = strcmp(op, "add") == 0;
    int count = is_add ? 2 : 1, inside[2], outside[2], loop;

    for (int i = 0; i < count; i++) {
        inside[i] = parameter(body, shape, "x");
        outside[i] = parameter(g, shape, "x");
    }
    graph_output(body, is_add ? graph_binary(body, HLO_ADD, inside[0], inside[1])
                              : graph_unary(body, HLO_EXP, inside[0]), "x", -1);
    if (is_add)
        graph_output(body, inside[1], "y", -1);
    loop = graph_while(g, outside, count, done(body), trips);
    graph_output(g, is_add ? graph_tuple_element(g, loop, 0) : loop, "z", -1);
    return done(g);
}

static double bytes_of(const struct graph *g, int node)
{
    const struct shape *s = &g->node[node].shape;

    return (double)shape_elems(s) * array_element_bytes(s->dtype);
}

double hardware_graph_bytes(const struct graph *g)
{
    double bytes = 0;

    for (int i = 0; i < g->parameter_count; i++)
        bytes += bytes_of(g, g->parameter[i]);
    for (int i = 0; i < g->output_count; i++)
        bytes += bytes_of(g, g->output[i].node);
    return bytes;
}
