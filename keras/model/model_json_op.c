/*
 * Keras JSON: operations of keras.ops among layers (x * 2, ops.relu(x)), each as the layer that
 * does the same.
 */
#include "keras/model/model_json.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

static const struct {
    const char *class;
    enum activation_kind activation;
} functions[] = {
    {"Relu", ACTIVATION_RELU}, {"Relu6", ACTIVATION_RELU6}, {"Sigmoid", ACTIVATION_SIGMOID},
    {"Tanh", ACTIVATION_TANH}, {"Softmax", ACTIVATION_SOFTMAX}, {"Silu", ACTIVATION_SILU},
    {"Gelu", ACTIVATION_GELU}, {"Elu", ACTIVATION_ELU}, {"Selu", ACTIVATION_SELU},
    {"Celu", ACTIVATION_CELU}, {"Softplus", ACTIVATION_SOFTPLUS},
    {"Softsign", ACTIVATION_SOFTSIGN}, {"Mish", ACTIVATION_MISH},
    {"HardSigmoid", ACTIVATION_HARD_SIGMOID}, {"HardSilu", ACTIVATION_HARD_SILU},
    {"HardSwish", ACTIVATION_HARD_SILU}, {"HardTanh", ACTIVATION_HARD_TANH},
    {"LogSigmoid", ACTIVATION_LOG_SIGMOID}, {"LogSoftmax", ACTIVATION_LOG_SOFTMAX},
    {"Exp", ACTIVATION_EXPONENTIAL},
};

/* of two arrays, or of an array and a number: then the number goes into scale or offset */
static const struct {
    const char *class;
    enum layer_kind kind;
} merges[] = {
    {"Add", LAYER_ADD}, {"Subtract", LAYER_SUBTRACT}, {"Multiply", LAYER_MULTIPLY},
    {"Maximum", LAYER_MAXIMUM}, {"Minimum", LAYER_MINIMUM}, {"TrueDivide", LAYER_COUNT},
    {"Divide", LAYER_COUNT},
};

static const char *const others[] = {"Reshape", "Concatenate", "Negative", "Transpose", "Mean",
                                     "Max", "Identity", "GetItem"};

bool json_is_op(const json_t *layer)
{
    const char *module = json_string_value(json_object_get(layer, "module"));

    return module && (strncmp(module, "keras.src.ops.", 14) == 0 ||
                      strncmp(module, "keras.ops.", 10) == 0);
}

bool json_is_mask_op(const json_t *layer)
{
    static const char *const classes[] = {"NotEqual", "Any", "LogicalOr", "LogicalAnd", "OnesLike",
                                          "ZerosLike"};
    const char *class = json_string_value(json_object_get(layer, "class_name"));

    for (size_t i = 0; i < COUNT_OF(classes) && class && json_is_op(layer); i++)
        if (strcmp(class, classes[i]) == 0)
            return true;
    return false;
}

bool json_op_takes_numbers(const struct layer *l)
{
    return l->kind == LAYER_RESCALING;
}

static int unknown_op(struct model_json_reader *r, const char *class)
{
    const char *names[COUNT_OF(functions) + COUNT_OF(merges) + COUNT_OF(others)];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(functions); i++)
        names[count++] = functions[i].class;
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        names[count++] = merges[i].class;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        names[count++] = others[i];
    return model_json_fail(r,
                           "operation %s of keras.ops is not supported%s; docs/keras.md lists them",
                           class, text_did_you_mean(class, names, count).text);
}

static struct layer *rescaling(struct model_json_reader *r, const char *name, double scale,
                               double offset)
{
    struct layer *l = model_layer(r->model, LAYER_RESCALING, name);
    double *v = arena_array(r->arena, 2, sizeof(*v));

    v[0] = scale;
    v[1] = offset;
    l->c.scale = (struct layer_reals){&v[0], 1};
    l->c.offset = (struct layer_reals){&v[1], 1};
    return l;
}

/* x + n, n - x, x * n, x / n; NULL: no such operation */
static struct layer *with_number(struct model_json_reader *r, const char *class, const char *name,
                                 double n, bool is_first)
{
    if (strcmp(class, "Add") == 0)
        return rescaling(r, name, 1, n);
    if (strcmp(class, "Subtract") == 0)
        return is_first ? rescaling(r, name, -1, n) : rescaling(r, name, 1, -n);
    if (strcmp(class, "Multiply") == 0)
        return rescaling(r, name, n, 0);
    if (strstr(class, "Divide") && !is_first && n != 0.0)
        return rescaling(r, name, 1.0 / n, 0);
    model_json_fail(r, "operation %s of an array and a number is not supported", class);
    return NULL;
}

static struct layer *merge(struct model_json_reader *r, const json_t *layer, const char *class,
                           const char *name, enum layer_kind kind)
{
    const json_t *nodes = json_object_get(layer, "inbound_nodes");
    const json_t *args = json_object_get(json_array_get(nodes, 0), "args");
    const json_t *a = json_array_get(args, 0), *b = json_array_get(args, 1);

    if (json_is_number(a) || json_is_number(b))
        return with_number(r, class, name, json_number_value(json_is_number(a) ? a : b),
                           json_is_number(a));
    if (kind != LAYER_COUNT)
        return model_layer(r->model, kind, name);
    model_json_fail(r, "operation %s of two arrays is not supported", class);
    return NULL;
}

/* numbers of a list behind the one of the batch; -1: they are not */
static int read_list(struct model_json_reader *r, const json_t *v, const char *field,
                     struct layer *l)
{
    size_t size = json_array_size(v);

    if (size < 2 || size > GRAPH_RANK_MAX)
        return model_json_fail(r, "\"%s\" must be a list of the batch and 1..%d whole numbers",
                               field, GRAPH_RANK_MAX - 1);
    l->c.shape_count = (int64_t)size - 1;
    for (size_t i = 1; i < size; i++) {
        if (!json_is_integer(json_array_get(v, i)))
            return model_json_fail(r, "\"%s\" must be a list of whole numbers", field);
        l->c.shape[i - 1] = json_integer_value(json_array_get(v, i));
    }
    return 0;
}

/* over height and width, or over the steps of a sequence */
static struct layer *pool(struct model_json_reader *r, const json_t *config, const char *name,
                          bool is_max)
{
    const json_t *axis = json_object_get(config, "axis");
    bool has_one = json_integer_value(json_array_size(axis) ? json_array_get(axis, 0) : axis) == 1;
    struct layer *l = NULL;

    if (has_one && json_array_size(axis) == 2 && json_integer_value(json_array_get(axis, 1)) == 2)
        l = model_layer(r->model, is_max ? LAYER_GLOBAL_MAX_POOLING2D
                                         : LAYER_GLOBAL_AVERAGE_POOLING2D, name);
    else if (has_one && json_array_size(axis) < 2)
        l = model_layer(r->model, is_max ? LAYER_GLOBAL_MAX_POOLING1D
                                         : LAYER_GLOBAL_AVERAGE_POOLING1D, name);
    else
        model_json_fail(r,
                        "\"axis\" must be 1, or [1, 2]: other means and maxima are not supported");
    if (l)
        l->c.keeps_dims = json_is_true(json_object_get(config, "keepdims"));
    return l;
}

/* one index of x[...]: a whole number, or {start, stop, step}, which Keras 3 wraps; -1: neither */
static int read_index(struct model_json_reader *r, const json_t *v, struct layer *l)
{
    const json_t *s = json_object_get(v, "config") ? json_object_get(v, "config") : v;
    const json_t *start = json_object_get(s, "start"), *stop = json_object_get(s, "stop");
    const json_t *step = json_object_get(s, "step");
    int64_t d = l->c.shape_count++;

    if (json_is_integer(v)) {
        l->c.low[d] = json_integer_value(v);
        l->c.taken |= 1u << d;
        return 0;
    }
    if (!json_is_object(v) || (model_json_is_given(step) && json_integer_value(step) != 1) ||
        (model_json_is_given(start) && !json_is_integer(start)) ||
        (model_json_is_given(stop) && !json_is_integer(stop)))
        return model_json_fail(r, "a part of an array must be given by whole numbers, one behind the "
                               "other");
    l->c.low[d] = model_json_is_given(start) ? json_integer_value(start) : LAYER_OPEN;
    l->c.high[d] = model_json_is_given(stop) ? json_integer_value(stop) : LAYER_OPEN;
    return 0;
}

/* x[:, 1:, 0], the batch whole */
static struct layer *get_item(struct model_json_reader *r, const json_t *layer, const char *name)
{
    const json_t *args = json_object_get(json_array_get(json_object_get(layer, "inbound_nodes"), 0),
                                         "args");
    const json_t *list = json_array_get(args, 1);
    size_t count = json_is_array(list) ? json_array_size(list) : 1;
    struct layer *l = model_layer(r->model, LAYER_GET_ITEM, name), batch = {0};

    if (count > GRAPH_RANK_MAX ||
        read_index(r, json_is_array(list) ? json_array_get(list, 0) : list, &batch) != 0 ||
        batch.c.taken || batch.c.low[0] != LAYER_OPEN || batch.c.high[0] != LAYER_OPEN) {
        model_json_fail(r, "a part of the batch, or of an array of more than %d dimensions, is not "
                        "supported", GRAPH_RANK_MAX - 1);
        return NULL;
    }
    for (size_t i = 1; i < count; i++)
        if (read_index(r, json_array_get(list, i), l) != 0)
            return NULL;
    return l;
}

static struct layer *other(struct model_json_reader *r, const json_t *config, const char *class,
                           const char *name)
{
    struct layer *l;

    if (strcmp(class, "Negative") == 0)
        return rescaling(r, name, -1, 0);
    if (strcmp(class, "Identity") == 0)
        return model_layer(r->model, LAYER_IDENTITY, name);
    if (strcmp(class, "Mean") == 0 || strcmp(class, "Max") == 0)
        return pool(r, config, name, class[1] == 'a');
    if (strcmp(class, "Concatenate") == 0) {
        l = model_layer(r->model, LAYER_CONCATENATE, name);
        if (json_is_integer(json_object_get(config, "axis")))
            l->c.axis = json_integer_value(json_object_get(config, "axis"));
        return l;
    }
    if (strcmp(class, "Reshape") == 0) {
        l = model_layer(r->model, LAYER_RESHAPE, name);
        return read_list(r, json_object_get(config, "newshape"), "newshape", l) ? NULL : l;
    }
    if (strcmp(class, "Transpose") == 0) {
        l = model_layer(r->model, LAYER_PERMUTE, name);
        return read_list(r, json_object_get(config, "axes"), "axes", l) ? NULL : l;
    }
    unknown_op(r, class);
    return NULL;
}

static struct layer *make_layer(struct model_json_reader *r, const json_t *config,
                                const char *class, const char *name, const json_t *layer)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (strcmp(class, functions[i].class) == 0) {
            struct layer *l = model_layer(r->model, LAYER_ACTIVATION, name);

            l->c.activation = activation_standard(functions[i].activation);
            return l;
        }
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        if (strcmp(class, merges[i].class) == 0)
            return merge(r, layer, class, name, merges[i].kind);
    if (strcmp(class, "GetItem") == 0)
        return get_item(r, layer, name);
    return other(r, config, class, name);
}

struct layer *json_read_op(struct model_json_reader *r, const json_t *layer, size_t index)
{
    const char *class = json_string_value(json_object_get(layer, "class_name")), *name;
    struct layer *l;

    if (model_json_read_name(r, layer, index, &name) != 0)
        return NULL;
    r->name = name;
    if (!class) {
        model_json_fail(r, "missing field \"class_name\"");
        return NULL;
    }
    l = make_layer(r, json_object_get(layer, "config"), class, name, layer);
    if (l)
        l->operation = arena_strdup(r->arena, class);
    return l;
}
