/* Products along named dimensions: EinsumDense's by an equation, Dot's of two inputs. */
#include "keras/layers/layer_impl.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define NORM_MIN 1e-12                  /* Keras: a sum of squares below which it does not divide */

/* ---- by an equation ---- */

/* "ab...x,xy->ab...y": the letters of each operand; those of an ellipsis are upper-case ones */
struct equation {
    char in[GRAPH_RANK_MAX + 1], kernel[GRAPH_RANK_MAX + 1], out[GRAPH_RANK_MAX + 1];
    int64_t size[128];                  /* by letter; 0: not known */
};

/* letters up to the character `end`, an ellipsis as `wide` of them; behind `end`, or NULL */
static const char *read_letters(const char *text, char end, int wide, char *to)
{
    int count = 0;

    for (; text && *text != end; text++) {
        bool is_wide = strncmp(text, "...", 3) == 0;
        int more = is_wide ? wide : *text == ' ' ? 0 : 1;

        if (!(is_wide || *text == ' ' || islower((unsigned char)*text)) ||
            count + more > GRAPH_RANK_MAX)
            return NULL;
        for (int i = 0; i < more; i++)
            to[count++] = is_wide ? (char)('A' + i) : *text;
        text += is_wide ? 2 : 0;
    }
    to[count] = '\0';
    return text && *text ? text + 1 : text;
}

static bool parse(const char *text, int rank, struct equation *q)
{
    int letters = 0, wide;

    memset(q, 0, sizeof(*q));
    for (const char *c = text; *c && *c != ','; c++)
        letters += islower((unsigned char)*c) != 0;
    wide = strstr(text, "...") ? rank - letters : 0;
    if (wide < 0 || wide > GRAPH_RANK_MAX)
        return false;
    text = read_letters(text, ',', wide, q->in);
    text = read_letters(text, '-', wide, q->kernel);
    if (!text || *text != '>')
        return false;
    return read_letters(text + 1, '\0', wide, q->out) && (int)strlen(q->in) == rank;
}

static bool has(const char *letters, char c)
{
    return strchr(letters, c) != NULL;
}

/* every letter must be in two operands, once in each */
static bool is_product(const struct equation *q)
{
    const char *const part[] = {q->in, q->kernel, q->out};

    for (int i = 0; i < 3; i++)
        for (const char *c = part[i]; *c; c++)
            if (strchr(c + 1, *c) || has(part[0], *c) + has(part[1], *c) + has(part[2], *c) < 2)
                return false;
    return q->in[0] == q->out[0] && !has(q->kernel, q->in[0]) && q->kernel[0];
}

/* sizes of all letters: of the input, then of "output_shape", which has neither batch nor ellipsis */
static int size_letters(const struct layer *l, const struct shape *in, struct equation *q,
                        struct err *e)
{
    int64_t given = 0;

    for (int i = 0; i < in->rank; i++)
        q->size[(int)q->in[1 + i]] = in->dim[i];
    for (const char *c = q->out + 1; *c; c++) {
        int64_t size;

        if (isupper((unsigned char)*c))
            continue;
        size = given < l->c.shape_count ? l->c.shape[given] : -1;
        given++;
        if (!q->size[(int)*c])
            q->size[(int)*c] = size;
        if (q->size[(int)*c] < 1 || (size > 0 && size != q->size[(int)*c]))
            return layer_fail(l, e, "dimension \"%c\" of \"output_shape\" is %" PRId64 ", which "
                              "does not go with its input", *c, size);
    }
    if (given == l->c.shape_count)
        return 0;
    return layer_fail(l, e, "\"output_shape\" has %" PRId64 " dimensions; without the batch the "
                      "equation's output has %" PRId64, l->c.shape_count, given);
}

static int read_equation(const struct layer *l, const struct shape *in, struct equation *q,
                         struct err *e)
{
    if (!parse(l->c.equation, in->rank + 1, q) || !is_product(q))
        return layer_fail(l, e, "\"equation\" is \"%s\"; for samples of %d dimensions it must be a "
                          "product like \"abc,cd->abd\", the batch in front", l->c.equation,
                          in->rank);
    for (const char *c = l->c.bias_axes; c && *c; c++)
        if (!has(q->out + 1, *c))
            return layer_fail(l, e, "\"bias_axes\" names \"%c\", which is no dimension of the "
                              "output's samples", *c);
    return size_letters(l, in, q, e);
}

static int shape_einsum(const struct layer *l, const struct shape *in, int count,
                        struct shape *out, struct err *e)
{
    struct equation q;

    (void)count;
    if (read_equation(l, in, &q, e) != 0)
        return -1;
    *out = (struct shape){.dtype = DTYPE_F32};
    for (const char *c = q.out + 1; *c; c++)
        out->dim[out->rank++] = q.size[(int)*c];
    return 0;
}

static void build_einsum(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    int64_t dim[GRAPH_RANK_MAX];
    struct equation q;
    struct err e;
    int rank = 0;

    read_equation(b->layer, &b->layer->input[0], &q, &e);       /* checked when it was called */
    for (const char *k = q.kernel; *k; k++)
        dim[rank++] = q.size[(int)*k];
    layer_add_weight(b, "kernel", rank, dim, &c->kernel_initializer, &c->kernel_regularizer);
    if (!c->bias_axes)
        return;
    rank = 0;                           /* from its first axis on, others are 1 */
    for (const char *k = q.out; *k; k++)
        if (rank > 0 || has(c->bias_axes, *k))
            dim[rank++] = has(c->bias_axes, *k) ? q.size[(int)*k] : 1;
    layer_add_weight(b, "bias", rank, dim, &c->bias_initializer, &c->bias_regularizer);
}

/* [batch letters, free of the input, free of the kernel] as the output has them */
static int contract(struct layer_call *c, const struct equation *q, int kernel)
{
    struct graph_dot dot = {.batch_count = 0};
    struct graph *g = &c->t->graph;
    char order[GRAPH_RANK_MAX + 1] = "";
    int count = 0, dims[GRAPH_RANK_MAX], x;

    for (int i = 0; q->in[i]; i++) {
        const char *at = strchr(q->kernel, q->in[i]);

        if (at && has(q->out, *at)) {
            dot.lhs_batch[dot.batch_count] = i;
            dot.rhs_batch[dot.batch_count++] = (int)(at - q->kernel);
            order[count++] = *at;
        } else if (at) {
            dot.lhs_contract[dot.contract_count] = i;
            dot.rhs_contract[dot.contract_count++] = (int)(at - q->kernel);
        }
    }
    for (const char *p = q->in; *p; p++)
        if (!has(q->kernel, *p))
            order[count++] = *p;
    for (const char *p = q->kernel; *p; p++)
        if (!has(q->in, *p))
            order[count++] = *p;
    x = graph_dot_general(g, c->input[0], kernel, &dot, c->dtype, c->precision);
    for (int i = 0; i < count; i++)
        dims[i] = (int)(strchr(order, q->out[i]) - order);
    return strcmp(order, q->out) == 0 ? x : graph_transpose(g, x, dims);
}

/* a bias that is 1 along some of the last dimensions of x */
static int add_spread(struct graph *g, int x, int bias)
{
    struct shape to = g->node[x].shape, s = g->node[bias].shape, few = s;
    int dims[GRAPH_RANK_MAX];

    few.rank = 0;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] == to.dim[to.rank - s.rank + i]) {
            dims[few.rank] = to.rank - s.rank + i;
            few.dim[few.rank++] = s.dim[i];
        }
    return nn_add(g, x, graph_broadcast(g, graph_reshape(g, bias, few), to, dims));
}

static int call_einsum(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape sample = g->node[c->input[0]].shape;
    int kernel = layer_read_cast(c, 0), x;
    struct equation q;
    struct err e;

    sample.rank--;
    for (int d = 0; d < sample.rank; d++)
        sample.dim[d] = sample.dim[d + 1];
    read_equation(c->layer, &sample, &q, &e);
    layer_source(c, "Einsum");
    x = contract(c, &q, kernel);
    if (c->layer->c.bias_axes) {
        int bias = layer_read_cast(c, 1);

        layer_source(c, "BiasAdd");
        x = add_spread(g, x, bias);
    }
    return layer_activate(c, x);
}

const struct layer_functions layer_einsum = {shape_einsum, build_einsum, call_einsum};

/* ---- of two inputs ---- */

/* counted with the batch; -1: samples have no such dimension */
static int dot_axis(const struct layer *l, int which, int sample_rank)
{
    int64_t axis = l->c.axes[which] < 0 ? sample_rank + 1 + l->c.axes[which] : l->c.axes[which];

    return axis < 1 || axis > sample_rank ? -1 : (int)axis;
}

static int shape_dot(const struct layer *l, const struct shape *in, int count,
                     struct shape *out, struct err *e)
{
    int axis[2] = {dot_axis(l, 0, in[0].rank), dot_axis(l, 1, in[1].rank)};
    char first[160], other[160];

    (void)count;
    if (axis[0] < 0 || axis[1] < 0 || in[0].dim[axis[0] - 1] != in[1].dim[axis[1] - 1] ||
        in[0].rank + in[1].rank - 2 >= GRAPH_RANK_MAX)
        return layer_fail(l, e, "\"axes\" are %" PRId64 " and %" PRId64 "; samples of shapes %s "
                          "and %s must be equally long there, the batch being 0", l->c.axes[0],
                          l->c.axes[1], layer_shape_text(&in[0], first, sizeof(first)),
                          layer_shape_text(&in[1], other, sizeof(other)));
    *out = (struct shape){.dtype = DTYPE_F32};
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < in[i].rank; d++)
            if (d != axis[i] - 1)
                out->dim[out->rank++] = in[i].dim[d];
    if (out->rank == 0)
        out->dim[out->rank++] = 1;
    return 0;
}

/* by its length along `axis` */
static int normalized(struct graph *g, int x, int axis)
{
    struct shape s = g->node[x].shape;
    int sum = graph_reduce(g, REDUCE_ADD, nn_multiply(g, x, x), 1u << axis), dims[GRAPH_RANK_MAX];

    for (int i = 0, count = 0; i < s.rank; i++)
        if (i != axis)
            dims[count++] = i;
    sum = graph_unary(g, HLO_RSQRT, graph_binary(g, HLO_MAXIMUM, sum, graph_splat(g, sum, NORM_MIN)));
    return nn_multiply(g, x, graph_broadcast(g, sum, s, dims));
}

static int call_dot(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x[2];
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1};

    layer_source(c, "Dot");
    for (int i = 0; i < 2; i++) {
        int axis = dot_axis(c->layer, i, g->node[c->input[i]].shape.rank - 1);

        x[i] = c->input[i];
        if (c->layer->c.is_scaled)
            x[i] = graph_convert(g, normalized(g, graph_convert(g, x[i], DTYPE_F32), axis),
                                 c->dtype);
        *(i ? &dot.rhs_contract[0] : &dot.lhs_contract[0]) = axis;
    }
    x[0] = graph_dot_general(g, x[0], x[1], &dot, c->dtype, c->precision);
    if (g->node[x[0]].shape.rank == 1)
        x[0] = graph_reshape(g, x[0], shape_make(c->dtype, 2,
                                                 (int64_t[]){g->node[x[0]].shape.dim[0], 1}));
    return x[0];
}

const struct layer_functions layer_dot = {shape_dot, NULL, call_dot};
