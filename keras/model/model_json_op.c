/*
 * Keras JSON: operations of keras.ops among layers (x * 2, ops.relu(x)), each as the layer that
 * does the same.
 */
#include "keras/model/model_json.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/layers/layer_operation.h"

/* number: what its alpha is called there; NULL: it has none */
static const struct {
    const char *class;
    enum activation_kind activation;
    const char *number;
} functions[] = {
    {"Relu", ACTIVATION_RELU, NULL}, {"Relu6", ACTIVATION_RELU6, NULL},
    {"Sigmoid", ACTIVATION_SIGMOID, NULL}, {"Tanh", ACTIVATION_TANH, NULL},
    {"Softmax", ACTIVATION_SOFTMAX, NULL}, {"Silu", ACTIVATION_SILU, NULL},
    {"Gelu", ACTIVATION_GELU, NULL}, {"Elu", ACTIVATION_ELU, "alpha"},
    {"Selu", ACTIVATION_SELU, NULL}, {"Celu", ACTIVATION_CELU, "alpha"},
    {"LeakyRelu", ACTIVATION_LEAKY_RELU, "negative_slope"},
    {"Softplus", ACTIVATION_SOFTPLUS, NULL}, {"Softsign", ACTIVATION_SOFTSIGN, NULL},
    {"Mish", ACTIVATION_MISH, NULL}, {"HardSigmoid", ACTIVATION_HARD_SIGMOID, NULL},
    {"HardSilu", ACTIVATION_HARD_SILU, NULL}, {"HardSwish", ACTIVATION_HARD_SILU, NULL},
    {"HardTanh", ACTIVATION_HARD_TANH, NULL}, {"LogSigmoid", ACTIVATION_LOG_SIGMOID, NULL},
    {"LogSoftmax", ACTIVATION_LOG_SOFTMAX, NULL}, {"Exp", ACTIVATION_EXPONENTIAL, NULL},
    {"TanhShrink", ACTIVATION_TANH_SHRINK, NULL},
    {"SoftShrink", ACTIVATION_SOFT_SHRINK, "threshold"},
    {"HardShrink", ACTIVATION_HARD_SHRINK, "threshold"},
    {"SparsePlus", ACTIVATION_SPARSE_PLUS, NULL},
    {"SparseSigmoid", ACTIVATION_SPARSE_SIGMOID, NULL},
    {"Sparsemax", ACTIVATION_SPARSEMAX, NULL},
    {"Squareplus", ACTIVATION_SQUAREPLUS, "b"},
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

static const char *const others[] = {"Reshape", "Concatenate", "Negative", "Transpose", "Identity",
                                     "GetItem", "Hstack", "Resize"};

static bool is_merge(const char *class)
{
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        if (strcmp(merges[i].class, class) == 0)
            return true;
    return false;
}

static bool is_known(const char *class)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (strcmp(functions[i].class, class) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(others[i], class) == 0)
            return true;
    return operation_find(class) >= 0;
}

/* An .h5 of Keras 3 names no modules: no layer is called so, or it is called on two arrays, where
   the layer of this name is on a list of them. */
static bool is_nameless_op(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));
    const json_t *node = json_array_get(json_object_get(layer, "inbound_nodes"), 0);
    const json_t *args = json_object_get(node, "args");
    enum layer_kind kind;
    struct err e;

    if (!class || !args || json_object_get(json_object_get(layer, "config"), "trainable"))
        return false;
    if (is_merge(class))
        return json_array_size(args) > 1;
    return is_known(class) && (layer_find(class, &kind, &e) != 0 ||
                               json_object_get(json_object_get(layer, "config"), "newshape"));
}

bool json_is_op(const json_t *layer)
{
    const char *module = json_string_value(json_object_get(layer, "module"));

    if (!json_object_get(layer, "module"))
        return is_nameless_op(layer);
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
    return l->kind == LAYER_RESCALING || l->kind == LAYER_OPERATION;
}

static int unknown_op(struct model_json_reader *r, const char *class)
{
    const char *names[COUNT_OF(functions) + COUNT_OF(merges) + COUNT_OF(others) + OPERATION_COUNT];
    const char *const *classes;
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(functions); i++)
        names[count++] = functions[i].class;
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        names[count++] = merges[i].class;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        names[count++] = others[i];
    for (int i = 0; i < operation_classes(&classes); i++)
        names[count++] = classes[i];
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

/* x + n, n - x, x * n, x / n; NULL: another operation */
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
    return NULL;
}

/* as a layer that there is without operations, or NULL */
static struct layer *merge(struct model_json_reader *r, const json_t *layer, const char *class,
                           const char *name, enum layer_kind kind)
{
    const json_t *nodes = json_object_get(layer, "inbound_nodes");
    const json_t *args = json_object_get(json_array_get(nodes, 0), "args");
    const json_t *a = json_array_get(args, 0), *b = json_array_get(args, 1);

    if (json_is_number(a) || json_is_number(b))
        return with_number(r, class, name, json_number_value(json_is_number(a) ? a : b),
                           json_is_number(a));
    if (kind == LAYER_COUNT || json_is_constant(a) || json_is_constant(b))
        return NULL;
    return model_layer(r->model, kind, name);
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

static bool is_ellipsis(const json_t *v)
{
    const char *class = json_string_value(json_object_get(v, "class_name"));

    return class && strcmp(class, "__ellipsis__") == 0;
}

/* one index of x[...]: a whole number, None, ..., or {start, stop, step}, which Keras 3 wraps; -1 */
static int read_index(struct model_json_reader *r, const json_t *v, struct layer *l)
{
    const json_t *s = json_object_get(v, "config") ? json_object_get(v, "config") : v;
    const json_t *start = json_object_get(s, "start"), *stop = json_object_get(s, "stop");
    const json_t *step = json_object_get(s, "step");
    int64_t i = l->c.shape_count++;

    l->c.low[i] = l->c.high[i] = LAYER_OPEN;
    l->c.step[i] = 1;
    if (json_is_integer(v)) {
        l->c.low[i] = json_integer_value(v);
        l->c.taken |= 1u << i;
    } else if (json_is_null(v)) {
        l->c.added |= 1u << i;
    } else if (is_ellipsis(v)) {
        if (l->c.wide)
            return model_json_fail(r, "a part of an array has \"...\" twice");
        l->c.wide |= 1u << i;
    }
    if (json_is_integer(v) || json_is_null(v) || is_ellipsis(v))
        return 0;
    if (!json_is_object(v) ||
        (model_json_is_given(step) && (!json_is_integer(step) || json_integer_value(step) == 0)) ||
        (model_json_is_given(start) && !json_is_integer(start)) ||
        (model_json_is_given(stop) && !json_is_integer(stop)))
        return model_json_fail(r, "a part of an array must be given by whole numbers");
    l->c.low[i] = model_json_is_given(start) ? json_integer_value(start) : LAYER_OPEN;
    l->c.high[i] = model_json_is_given(stop) ? json_integer_value(stop) : LAYER_OPEN;
    l->c.step[i] = model_json_is_given(step) ? json_integer_value(step) : 1;
    return 0;
}

/* the batch whole, by its own index, or by "..." that is for what comes behind, too */
static bool is_batch(struct model_json_reader *r, const json_t *v)
{
    struct layer batch = {0};

    return is_ellipsis(v) || (!json_is_null(v) && read_index(r, v, &batch) == 0 &&
                              !batch.c.taken && batch.c.low[0] == LAYER_OPEN &&
                              batch.c.high[0] == LAYER_OPEN && batch.c.step[0] == 1);
}

/* x[:, 1:, 0] */
static struct layer *get_item(struct model_json_reader *r, const json_t *layer, const char *name)
{
    const json_t *args = json_object_get(json_array_get(json_object_get(layer, "inbound_nodes"), 0),
                                         "args");
    const json_t *list = json_array_get(args, 1);
    size_t count = json_is_array(list) ? json_array_size(list) : 1;
    const json_t *first = json_is_array(list) ? json_array_get(list, 0) : list;
    struct layer *l = model_layer(r->model, LAYER_GET_ITEM, name);

    if (count > GRAPH_RANK_MAX || !is_batch(r, first)) {
        model_json_fail(r, "a part of the batch, or of an array of more than %d dimensions, is not "
                        "supported", GRAPH_RANK_MAX - 1);
        return NULL;
    }
    for (size_t i = is_ellipsis(first) ? 0 : 1; i < count; i++)
        if (read_index(r, json_is_array(list) ? json_array_get(list, i) : list, l) != 0)
            return NULL;
    return l;
}

/* of images: the layer Resizing, which has its size as two numbers */
static struct layer *resize(struct model_json_reader *r, const json_t *config, const char *name)
{
    const json_t *size = json_object_get(config, "size");
    json_t *as_layer = json_copy((json_t *)(uintptr_t)config);
    struct layer *l;

    json_object_set(as_layer, "height", json_array_get(size, 0));
    json_object_set(as_layer, "width", json_array_get(size, 1));
    json_object_del(as_layer, "size");
    l = model_json_make_layer(r, as_layer, LAYER_RESIZING, name);
    json_decref(as_layer);
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
    if (strcmp(class, "Concatenate") == 0) {
        l = model_layer(r->model, LAYER_CONCATENATE, name);
        if (json_is_integer(json_object_get(config, "axis")))
            l->c.axis = json_integer_value(json_object_get(config, "axis"));
        return l;
    }
    if (strcmp(class, "Hstack") == 0) {
        l = model_layer(r->model, LAYER_CONCATENATE, name);
        l->c.axis = 1;
        return l;
    }
    if (strcmp(class, "Resize") == 0)
        return resize(r, config, name);
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

/* its number, and the axis of a softmax */
static struct layer *function(struct model_json_reader *r, const json_t *config, const char *name,
                              size_t i)
{
    struct layer *l = model_layer(r->model, LAYER_ACTIVATION, name);
    const json_t *axis = json_object_get(config, "axis");
    enum activation_kind kind = functions[i].activation;
    const json_t *number = functions[i].number ? json_object_get(config, functions[i].number) : NULL;

    if (kind == ACTIVATION_GELU && json_is_true(json_object_get(config, "approximate")))
        kind = ACTIVATION_GELU_TANH;
    l->c.activation = activation_standard(kind);
    if (json_is_number(number))
        l->c.activation.alpha = json_number_value(number);
    if (kind != ACTIVATION_SOFTMAX && kind != ACTIVATION_LOG_SOFTMAX)
        return l;
    if (!model_json_is_given(axis))
        return l;
    if (!json_is_integer(axis) || json_integer_value(axis) == 0) {
        model_json_fail(r, "\"axis\" must be a whole number, not the batch's, 0");
        return NULL;
    }
    l->features = json_integer_value(axis) == -1 ? 0 : json_integer_value(axis);
    return l;
}

static struct layer *make_layer(struct model_json_reader *r, const json_t *config,
                                const char *class, const char *name, const json_t *layer)
{
    struct layer *l = NULL;

    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (strcmp(class, functions[i].class) == 0)
            return function(r, config, name, i);
    for (size_t i = 0; i < COUNT_OF(merges) && !l; i++)
        if (strcmp(class, merges[i].class) == 0)
            l = merge(r, layer, class, name, merges[i].kind);
    if (l)
        return l;
    if (strcmp(class, "GetItem") == 0)
        return get_item(r, layer, name);
    return operation_find(class) >= 0 ? json_read_operation(r, layer, class, name)
                                      : other(r, config, class, name);
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
