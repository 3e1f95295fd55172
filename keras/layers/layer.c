/*
 * What all kinds of layers share: names, messages, shapes, making variables, and reading them in a
 * call.
 */
#include "keras/layers/layer_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/layers/layer_fields.h"
#include "keras/layers/layer_operation.h"
#include "keras/layers/spectral.h"

static const struct {
    const char *class, *name;
    int least, most;
    const struct layer_functions *functions;
    enum layer_masking masking;
} kinds[] = {
#define LAYER(id, class, name, least, most, functions, masking, meaning) \
    {class, name, least, most, &layer_##functions, MASK_##masking},
#include "keras/layers/layers.def"
};

static const char *const policies[] = {"float32", "mixed_bfloat16", "bfloat16"};

const char *keras_policy_name(enum keras_policy p)
{
    return policies[p];
}

int keras_policy_find(const char *name, enum keras_policy *p, struct err *e)
{
    for (int i = 0; i < KERAS_POLICY_COUNT; i++)
        if (strcmp(name, policies[i]) == 0) {
            *p = (enum keras_policy)i;
            return 0;
        }
    return err_set(e, "unknown dtype policy \"%s\"; there are float32, mixed_bfloat16, bfloat16",
                   name);
}

int keras_policy_read(const char *name, enum keras_policy *p, struct err *e)
{
    static const struct { const char *name; enum keras_policy is; } others[] = {
        {"mixed_float16", KERAS_MIXED_BFLOAT16}, {"float16", KERAS_BFLOAT16},
        {"float64", KERAS_FLOAT32},
    };

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(name, others[i].name) == 0) {
            *p = others[i].is;
            return 0;
        }
    return keras_policy_find(name, p, e);
}

const struct layer_functions *layer_functions(enum layer_kind kind)
{
    return kinds[kind].functions;
}

enum layer_masking layer_masking(enum layer_kind kind)
{
    return kinds[kind].masking;
}

const char *layer_class(enum layer_kind kind)
{
    return kinds[kind].class;
}

/* TimeDistributed is around it; not around a model that it is a layer of */
static bool is_on_steps_itself(const struct layer *l)
{
    return l->is_distributed && l->wrapped[0] && l->c.both == LAYER_ONE_WAY &&
           l->c.power_iterations == 0;
}

const char *layer_whole_class(const struct layer *l)
{
    return l->operation ? l->operation
           : is_on_steps_itself(l) ? "TimeDistributed"
           : l->c.power_iterations > 0 ? "SpectralNormalization"
           : l->c.both != LAYER_ONE_WAY ? "Bidirectional"
           : l->cell                    ? "RNN"
           : l->kind == LAYER_GROUP_QUERY_ATTENTION ? "GroupedQueryAttention"
                                                    : layer_class(l->kind);
}

bool layer_is_around(const struct layer *l)
{
    return is_on_steps_itself(l) || (l->wrapped[0] && l->c.power_iterations > 0);
}

const char *layer_standard_name(enum layer_kind kind)
{
    return kinds[kind].name;
}

/* names that Keras 1, 2 and 3 take for the same class */
static const struct { const char *alias, *class; } aliases[] = {
    {"Convolution1D", "Conv1D"}, {"Convolution2D", "Conv2D"}, {"Convolution3D", "Conv3D"},
    {"Convolution1DTranspose", "Conv1DTranspose"}, {"Convolution2DTranspose", "Conv2DTranspose"},
    {"Convolution3DTranspose", "Conv3DTranspose"},
    {"Deconvolution2D", "Conv2DTranspose"}, {"Deconvolution3D", "Conv3DTranspose"},
    {"AtrousConvolution1D", "Conv1D"}, {"AtrousConvolution2D", "Conv2D"},
    {"SeparableConvolution1D", "SeparableConv1D"}, {"SeparableConvolution2D", "SeparableConv2D"},
    {"MaxPool1D", "MaxPooling1D"}, {"MaxPool2D", "MaxPooling2D"}, {"MaxPool3D", "MaxPooling3D"},
    {"AvgPool1D", "AveragePooling1D"}, {"AvgPool2D", "AveragePooling2D"},
    {"AvgPool3D", "AveragePooling3D"},
    {"GlobalMaxPool1D", "GlobalMaxPooling1D"}, {"GlobalMaxPool2D", "GlobalMaxPooling2D"},
    {"GlobalMaxPool3D", "GlobalMaxPooling3D"},
    {"GlobalAvgPool1D", "GlobalAveragePooling1D"}, {"GlobalAvgPool2D", "GlobalAveragePooling2D"},
    {"GlobalAvgPool3D", "GlobalAveragePooling3D"},
    {"GroupedQueryAttention", "GroupQueryAttention"}, {"CuDNNLSTM", "LSTM"}, {"CuDNNGRU", "GRU"},
    {"ThresholdedReLU", "ReLU"}, {"LSTMV1", "LSTM"}, {"GRUV1", "GRU"}, {"LSTMV2", "LSTM"},
    {"GRUV2", "GRU"},
    {"BatchNormalizationV1", "BatchNormalization"}, {"BatchNormalizationV2", "BatchNormalization"},
    {"SyncBatchNormalization", "BatchNormalization"},
};

int layer_find(const char *class, enum layer_kind *kind, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i;

    for (size_t a = 0; a < COUNT_OF(aliases); a++)
        if (strcmp(class, aliases[a].alias) == 0)
            class = aliases[a].class;
    i = text_find(class, &kinds[0].class, sizeof(*kinds), COUNT_OF(kinds), near);
    if (i < 0)
        return err_set(e, "unknown layer class %s%s; docs/keras.md lists them", class, near);
    *kind = (enum layer_kind)i;
    return 0;
}

/* ---- messages ---- */

int layer_fail(const struct layer *l, struct err *e, const char *fmt, ...)
{
    char text[sizeof(e->msg)];
    va_list args;

    va_start(args, fmt);
    text_print_args(text, sizeof(text), fmt, args);
    va_end(args);
    return err_set(e, "layer \"%s\": %s", l->name, text);
}

char *layer_shape_text(const struct shape *s, char *buf, size_t buf_bytes)
{
    size_t used = (size_t)snprintf(buf, buf_bytes, "[");

    for (int i = 0; i < s->rank && used < buf_bytes; i++)
        used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%" PRId64, i ? ", " : "",
                                 s->dim[i]);
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "]");
    return buf;
}

int layer_expect_rank(const struct layer *l, const struct shape *in, int rank,
                      const char *wanted, struct err *e)
{
    char text[160];

    if (in->rank == rank)
        return 0;
    return layer_fail(l, e, "its input's samples have shape %s, but %s takes %s",
                      layer_shape_text(in, text, sizeof(text)), layer_class(l->kind), wanted);
}

int layer_expect_last_axis(const struct layer *l, const struct shape *in, struct err *e)
{
    char text[160];

    if (l->c.axis == -1 || l->c.axis == in->rank)
        return 0;
    return layer_fail(l, e, "\"axis\" is %" PRId64 "; for samples of shape %s it must be the last "
                      "one, -1 or %d", l->c.axis, layer_shape_text(in, text, sizeof(text)),
                      in->rank);
}

int layer_check_reals(const struct layer *l, const char *field, const struct layer_reals *given,
                      int64_t features, struct err *e)
{
    if (given->count <= 1 || given->count == features)
        return 0;
    return layer_fail(l, e, "\"%s\" has %" PRId64 " numbers; it must have 1 or %" PRId64
                      ", a number for each feature", field, given->count, features);
}

/* ---- shapes ---- */

static int check_count(const struct layer *l, int count, struct err *e)
{
    int least = kinds[l->kind].least, most = kinds[l->kind].most;

    if (count >= least && count <= most)
        return 0;
    if (least == most)
        return layer_fail(l, e, "%s takes %d input%s, not %d", layer_class(l->kind), least,
                          least == 1 ? "" : "s", count);
    return layer_fail(l, e, "%s takes %d to %d inputs, not %d", layer_class(l->kind), least, most,
                      count);
}

static int check_size(const struct layer *l, const struct shape *s, struct err *e)
{
    int64_t elems = 1;
    char text[160];

    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 1 || s->dim[i] > ((int64_t)1 << 31) / elems)
            return layer_fail(l, e, "its output's samples would have shape %s; each dimension "
                              "must be at least 1, the product at most 2^31",
                              layer_shape_text(s, text, sizeof(text)));
        elems *= s->dim[i];
    }
    return 0;
}

int layer_shape(const struct layer *l, const struct shape *input, int input_count,
                struct shape *output, struct err *e)
{
    if (layer_check_fields(l, e) != 0 || check_count(l, input_count, e) != 0)
        return -1;
    if (kinds[l->kind].functions->shape(l, input, input_count, output, e) != 0)
        return -1;
    return check_size(l, output, e);
}

/* ---- more outputs ---- */

static bool is_recurrent(const struct layer *l)
{
    return kinds[l->kind].functions == &layer_recurrent ||
           kinds[l->kind].functions == &layer_conv_lstm;
}

int layer_output_count(const struct layer *l)
{
    if (is_recurrent(l))
        return 1 + (l->c.both == LAYER_APART) + (l->c.returns_state ? layer_state_count(l) : 0);
    if (l->kind == LAYER_OPERATION)
        return operation_output_count(l);
    return l->c.returns_scores ? 2 : 1;
}

struct shape layer_more_shape(const struct layer *l, const struct shape *input,
                              const struct shape *output, int which)
{
    struct shape s = *output;
    int64_t keys = input[l->input_count > 1 ? 1 : 0].dim[0];

    if (l->c.both == LAYER_APART && which == 1)
        return s;
    if (l->kind == LAYER_OPERATION)
        return operation_more_shape(l, input, output, which);
    if (!is_recurrent(l))               /* scores, of each head if there are several */
        return l->c.heads ? shape_make(DTYPE_F32, 3, (int64_t[]){l->c.heads, input[0].dim[0], keys})
                          : shape_make(DTYPE_F32, 2, (int64_t[]){input[0].dim[0], keys});
    if (l->c.returns_sequences) {       /* a state is one step */
        s.rank--;
        for (int d = 0; d < s.rank; d++)
            s.dim[d] = output->dim[d + 1];
    }
    s.dim[s.rank - 1] = l->c.units;
    return s;
}

/* ---- variables ---- */

static int add(struct layer_build *b, struct variable *v, const char *name, int rank,
               const int64_t *dim, const struct regularizer *r)
{
    struct layer *l = b->layer;

    assert(l->variable_count < LAYER_VARIABLES_MAX);
    v->name = layer_is_around(l) && strcmp(name, SPECTRAL_VECTOR) != 0
                  ? arena_printf(b->arena, "%s/%s/%s", l->name, l->wrapped[0], name)
                  : arena_printf(b->arena, "%s/%s", l->name, name);
    v->shape = shape_make(DTYPE_F32, rank, dim);
    v->of = v->shard_dim = -1;
    if (r)
        l->regularizer[l->variable_count] = *r;
    l->variable[l->variable_count] = variable_add(b->set, v);
    return l->variable_count++;
}

int layer_add_weight(struct layer_build *b, const char *name, int rank, const int64_t *dim,
                     const struct initializer *i, const struct regularizer *r)
{
    struct variable v = {.is_trainable = b->layer->is_trainable, .initializer = *i};

    if (r)
        v.constraint = r->constraint;
    return add(b, &v, name, rank, dim, r);
}

int layer_add_mean(struct layer_build *b, const char *name, int rank, const int64_t *dim,
                   const struct initializer *i)
{
    struct variable v = {.sync = SYNC_ON_READ, .aggregation = AGGREGATION_MEAN,
                         .initializer = *i};

    return add(b, &v, name, rank, dim, NULL);
}

/* ---- calls ---- */

void layer_source(struct layer_call *c, const char *what)
{
    trace_source(c->t, c->layer->name, what);
}

int layer_read(struct layer_call *c, int place)
{
    const char *source = c->t->graph.source;
    int node;

    layer_source(c, "ReadVariable");
    node = trace_read_whole(c->t, c->layer->variable[place]);
    if (place == 0 && c->layer->c.power_iterations > 0 && layer_trains(c))
        node = spectral_kernel(c, node);
    c->t->graph.source = source;
    return node;
}

int layer_read_cast(struct layer_call *c, int place)
{
    int node = layer_read(c, place);

    layer_source(c, "Cast");
    return graph_convert(&c->t->graph, node, c->dtype);
}

int layer_bias(struct layer_call *c, int x, int place)
{
    int bias = layer_read_cast(c, place);

    layer_source(c, "BiasAdd");
    return nn_bias(&c->t->graph, x, bias);
}

int layer_literal(struct layer_call *c, const struct layer_reals *given)
{
    struct graph *g = &c->t->graph;
    const struct shape *s = &g->node[c->input[0]].shape;
    int64_t features = s->dim[s->rank - 1];
    float *v = arena_array(g->arena, (size_t)features, sizeof(*v));

    for (int64_t i = 0; i < features; i++)
        v[i] = (float)given->value[given->count == 1 ? 0 : i];
    return graph_literal(g, shape_make(DTYPE_F32, 1, &features), v);
}

int layer_activate(struct layer_call *c, int x)
{
    const struct activation *a = &c->layer->c.activation;

    if (a->kind == ACTIVATION_SOFTMAX || a->kind == ACTIVATION_SIGMOID)
        c->logits = x;
    layer_source(c, activation_title(a->kind));
    return activation_apply(&c->t->graph, a, x);
}

bool layer_is_random(const struct layer *l)
{
    const struct layer_functions *f = kinds[l->kind].functions;

    return l->c.rate > 0.0 || l->c.recurrent_rate > 0.0 || l->c.stddev > 0.0 ||
           f == &layer_flip || f == &layer_warp || f == &layer_tone || f == &layer_random_crop;
}

bool layer_takes_whole(enum layer_kind kind)
{
    return kind == LAYER_EMBEDDING || kinds[kind].functions == &layer_encoding;
}

int layer_drop(struct layer_call *c, int x)
{
    return layer_drop_rate(c, x, c->layer->c.rate);
}

int layer_drop_rate(struct layer_call *c, int x, double rate)
{
    if (!layer_trains(c) || rate <= 0.0)
        return x;
    layer_source(c, "Dropout");
    return nn_dropout(&c->t->graph, x, rate, c->seed, (*c->stream)++);
}

int layer_drop_shared(struct layer_call *c, int x, uint32_t own)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape, few = {.dtype = s.dtype};
    int dims[GRAPH_RANK_MAX], ones, factor;

    for (int d = 0; d < s.rank; d++)
        if (own & (1u << d)) {
            dims[few.rank] = d;
            few.dim[few.rank++] = s.dim[d];
        }
    layer_source(c, "Dropout");
    ones = graph_constant(g, few, 1.0);
    factor = layer_drop(c, ones);
    if (factor == ones)
        return x;
    return graph_binary(g, HLO_MULTIPLY, x, graph_broadcast(g, factor, s, dims));
}

bool layer_trains(const struct layer_call *c)
{
    return c->t->is_training && !c->layer->never_trains;
}

bool layer_learns(const struct layer_call *c)
{
    return layer_trains(c) && c->layer->is_trainable;
}
