#include "stack/model.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define UNITS_MAX 65536
#define INPUT_ELEMS_MAX (1 << 20)
#define LAYERS_MAX 1000
#define NAME_CHARS_MAX 100
#define DIMS_MAX 5

static const char *const layer_classes[] = {"InputLayer", "Flatten", "Dense", "Activation"};
enum { CLASS_INPUT, CLASS_FLATTEN, CLASS_DENSE, CLASS_ACTIVATION };

static const struct {
    const char *name;
    enum model_activation activation;
} activations[] = {
    {"linear", ACTIVATION_LINEAR}, {"relu", ACTIVATION_RELU}, {"tanh", ACTIVATION_TANH},
    {"sigmoid", ACTIVATION_SIGMOID}, {"silu", ACTIVATION_SILU}, {"softmax", ACTIVATION_SOFTMAX},
    {"swish", ACTIVATION_SILU}
};

/* Fields of a layer that must be null or missing: each changes what is trained. */
static const char *const must_be_null[] = {
    "kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint",
    "bias_constraint", "lora_rank", "quantization_config"
};

/* Reading goes down the chain of layers; `dim` is the shape of a sample so far. */
struct reader {
    const char *path;
    struct arena *arena;
    struct err *err;
    struct model *model;
    bool is_functional;
    const char *name;                   /* of the layer being read */
    const char *previous;               /* of the layer before; NULL at the first */
    int rank;                           /* -1: not known yet */
    int64_t dim[DIMS_MAX];
};

const char *activation_name(enum model_activation a)
{
    for (size_t i = 0; i < COUNT_OF(activations); i++)
        if (activations[i].activation == a)
            return activations[i].name;
    return "?";
}

/* an error about the current layer */
#define FAIL(r, ...) fail(r, arena_printf((r)->arena, __VA_ARGS__))

static int fail(struct reader *r, const char *message)
{
    if (!r->name)
        return err_at(r->err, r->path, 0, 0, "%s", message);
    return err_at(r->err, r->path, 0, 0, "layer \"%s\": %s", r->name, message);
}

static const char *names_listed(struct reader *r, const char *const *name, size_t count)
{
    const char *list = name[0];

    for (size_t i = 1; i < count; i++)
        list = arena_printf(r->arena, "%s, %s", list, name[i]);
    return list;
}

static bool is_given(const json_t *v)
{
    return v && !json_is_null(v);
}

static const char *shape_text(struct reader *r, const int64_t *dim, int rank)
{
    const char *text = "[";

    for (int i = 0; i < rank; i++)
        text = arena_printf(r->arena, "%s%s%" PRId64, text, i ? ", " : "", dim[i]);
    return arena_printf(r->arena, "%s]", text);
}

/* [null, d1, d2, ...]: batch, then the shape of a sample */
static int read_shape(struct reader *r, const json_t *shape, const char *field, int64_t *dim,
                      int *rank)
{
    size_t size = json_array_size(shape);
    int64_t elems = 1;

    if (!json_is_array(shape) || size < 2 || size > DIMS_MAX + 1)
        return FAIL(r, "\"%s\" must be a list of the batch (null) and 1..%d dimensions", field,
                    DIMS_MAX);
    if (!json_is_null(json_array_get(shape, 0)))
        return FAIL(r, "\"%s\" fixes the batch size; it must be null there", field);
    for (size_t i = 1; i < size; i++) {
        const json_t *d = json_array_get(shape, i);
        json_int_t value = json_integer_value(d);

        if (!json_is_integer(d) || value < 1 || value > INPUT_ELEMS_MAX / elems)
            return FAIL(r, "dimension %zu of \"%s\" must be an integer of at least 1, and the "
                        "product at most %d", i, field, INPUT_ELEMS_MAX);
        dim[i - 1] = value;
        elems *= value;
    }
    *rank = (int)size - 1;
    return 0;
}

/* a shape stated in the file: taken if none is known yet, else it must be the same */
static int check_shape(struct reader *r, const json_t *shape, const char *field)
{
    int64_t dim[DIMS_MAX] = {0};
    int rank = 0;

    if (!is_given(shape))
        return 0;
    if (read_shape(r, shape, field, dim, &rank) != 0)
        return -1;
    if (r->rank < 0) {
        r->rank = rank;
        memcpy(r->dim, dim, sizeof(dim));
        r->model->input_elems = 1;
        for (int i = 0; i < rank; i++)
            r->model->input_elems *= dim[i];
        return 0;
    }
    if (rank != r->rank || memcmp(dim, r->dim, (size_t)rank * sizeof(*dim)) != 0)
        return FAIL(r, "\"%s\" says samples of shape %s, but %s%s%s gives %s", field,
                    shape_text(r, dim, rank), r->previous ? "\"" : "",
                    r->previous ? r->previous : "the input", r->previous ? "\"" : "",
                    shape_text(r, r->dim, r->rank));
    return 0;
}

/* "relu", {"class_name": "function", "config": "relu", ...} or null */
static int read_activation(struct reader *r, const json_t *v, enum model_activation *to)
{
    const char *names[COUNT_OF(activations)], *name;
    char hint[160];

    *to = ACTIVATION_LINEAR;
    if (!is_given(v))
        return 0;
    name = json_string_value(json_is_object(v) ? json_object_get(v, "config") : v);
    if (!name)
        return FAIL(r, "\"activation\" must be the name of an activation");
    for (size_t i = 0; i < COUNT_OF(activations); i++) {
        names[i] = activations[i].name;
        if (strcmp(name, names[i]) != 0)
            continue;
        *to = activations[i].activation;
        return 0;
    }
    return FAIL(r, "activation \"%s\" is not supported%s; supported are %s", name,
                text_did_you_mean(name, names, COUNT_OF(names), hint, sizeof(hint)),
                names_listed(r, names, COUNT_OF(names)));
}

/* The run's --policy decides the arithmetic; a type beyond its reach is an error. */
static int check_dtype(struct reader *r, const json_t *v)
{
    const char *name;

    if (!is_given(v))
        return 0;
    if (json_is_object(v))
        v = json_object_get(json_object_get(v, "config"), "name");
    name = json_string_value(v);
    if (!name || (strcmp(name, "float32") != 0 && strcmp(name, "mixed_bfloat16") != 0))
        return FAIL(r, "dtype %s is not supported; it must be float32 or mixed_bfloat16",
                    name ? name : "without a name");
    return 0;
}

static int check_initializer(struct reader *r, const json_t *config, const char *field,
                             const char *class, const char *function)
{
    const json_t *v = json_object_get(config, field);
    const char *name;

    if (!is_given(v))
        return 0;
    name = json_string_value(json_is_object(v) ? json_object_get(v, "class_name") : v);
    if (!name || (strcmp(name, class) != 0 && strcmp(name, function) != 0))
        return FAIL(r, "%s %s is not supported yet; it must be %s", field,
                    name ? name : "without a name", class);
    return 0;
}

static int check_common(struct reader *r, const json_t *config)
{
    for (size_t i = 0; i < COUNT_OF(must_be_null); i++)
        if (is_given(json_object_get(config, must_be_null[i])))
            return FAIL(r, "\"%s\" is not supported yet; it must be null", must_be_null[i]);
    if (json_is_false(json_object_get(config, "trainable")))
        return FAIL(r, "frozen layers are not supported yet; \"trainable\" must be true");
    return check_dtype(r, json_object_get(config, "dtype"));
}

static int read_bias_flag(struct reader *r, const json_t *v, bool *to)
{
    *to = true;
    if (!v)
        return 0;
    if (!json_is_boolean(v))
        return FAIL(r, "\"use_bias\" must be true or false");
    *to = json_is_true(v);
    return 0;
}

static int read_dense(struct reader *r, const json_t *config)
{
    struct model_layer *l = &r->model->layer[r->model->layer_count];
    const json_t *units = json_object_get(config, "units");

    if (!units)
        return FAIL(r, "missing field \"units\"");
    if (!json_is_integer(units) || json_integer_value(units) < 1 ||
        json_integer_value(units) > UNITS_MAX)
        return FAIL(r, "\"units\" must be an integer in 1..%d", UNITS_MAX);
    if (r->rank < 0)
        return FAIL(r, "the shape of its input is stated nowhere: add an InputLayer or "
                    "\"build_input_shape\"");
    if (r->rank != 1)
        return FAIL(r, "its input has shape %s, but Dense takes a vector; add a Flatten",
                    shape_text(r, r->dim, r->rank));
    l->name = r->name;
    l->inputs = r->dim[0];
    l->units = json_integer_value(units);
    if (read_bias_flag(r, json_object_get(config, "use_bias"), &l->use_bias) != 0 ||
        read_activation(r, json_object_get(config, "activation"), &l->activation) != 0 ||
        check_initializer(r, config, "kernel_initializer", "GlorotUniform", "glorot_uniform") ||
        check_initializer(r, config, "bias_initializer", "Zeros", "zeros"))
        return -1;
    r->dim[0] = l->units;
    r->model->parameter_elems += l->inputs * l->units + (l->use_bias ? l->units : 0);
    r->model->layer_count++;
    return 0;
}

/* joins the dense layer before it */
static int read_activation_layer(struct reader *r, const json_t *config)
{
    struct model_layer *last = r->model->layer + r->model->layer_count - 1;
    enum model_activation a;

    if (!is_given(json_object_get(config, "activation")))
        return FAIL(r, "missing field \"activation\"");
    if (read_activation(r, json_object_get(config, "activation"), &a) != 0)
        return -1;
    if (a == ACTIVATION_LINEAR)
        return 0;
    if (r->model->layer_count == 0)
        return FAIL(r, "an activation before the first Dense is not supported yet");
    if (last->activation != ACTIVATION_LINEAR)
        return FAIL(r, "a second activation after %s of \"%s\" is not supported yet",
                    activation_name(last->activation), last->name);
    last->activation = a;
    return 0;
}

static int read_flatten(struct reader *r)
{
    int64_t elems = 1;

    if (r->rank < 0)
        return FAIL(r, "the shape of its input is stated nowhere: add an InputLayer or "
                    "\"build_input_shape\"");
    for (int i = 0; i < r->rank; i++)
        elems *= r->dim[i];
    r->rank = 1;
    r->dim[0] = elems;
    return 0;
}

/* the shape as Keras 3 or Keras 2 spell it */
static int read_declared_shapes(struct reader *r, const json_t *layer, const json_t *config)
{
    const json_t *built = json_object_get(json_object_get(layer, "build_config"), "input_shape");

    if (check_shape(r, json_object_get(config, "batch_shape"), "batch_shape") != 0 ||
        check_shape(r, json_object_get(config, "batch_input_shape"), "batch_input_shape") != 0)
        return -1;
    return check_shape(r, built, "build_config.input_shape");
}

static int read_input(struct reader *r, const json_t *config)
{
    if (r->previous)
        return FAIL(r, "an InputLayer must come first, and there can be only one");
    if (r->rank < 0)
        return FAIL(r, "missing field \"batch_shape\"");
    if (json_is_true(json_object_get(config, "sparse")) ||
        json_is_true(json_object_get(config, "ragged")))
        return FAIL(r, "sparse and ragged inputs are not supported");
    return 0;
}

/* the layer that an inbound node takes its one tensor from; NULL if it is not so */
static const char *inbound_name(const json_t *node)
{
    const json_t *tensor = json_is_object(node) ? json_object_get(node, "args") : node;

    if (json_array_size(tensor) == 0 || (json_is_object(node) && json_array_size(tensor) != 1))
        return NULL;
    if (json_is_string(json_array_get(tensor, 0)))      /* Keras 2: ["input", 0, 0, {}] */
        return json_string_value(json_array_get(tensor, 0));
    if (json_array_size(tensor) != 1)
        return NULL;
    tensor = json_array_get(tensor, 0);
    if (json_is_object(tensor))                         /* Keras 3 */
        tensor = json_object_get(json_object_get(tensor, "config"), "keras_history");
    return json_string_value(json_array_get(tensor, 0));
}

static int check_chain(struct reader *r, const json_t *layer)
{
    const json_t *nodes = json_object_get(layer, "inbound_nodes");
    const char *from;

    if (!r->is_functional)
        return 0;
    if (!r->previous)
        return json_array_size(nodes) == 0 ? 0 : FAIL(r, "the first layer must be the input");
    if (json_array_size(nodes) != 1)
        return FAIL(r, "it is called %zu times; only chains of layers are supported, each called "
                    "once", json_array_size(nodes));
    from = inbound_name(json_array_get(nodes, 0));
    if (!from)
        return FAIL(r, "it takes other than one tensor; only chains of layers are supported");
    if (strcmp(from, r->previous) != 0)
        return FAIL(r, "it takes its input from \"%s\", not from \"%s\" before it; only chains of "
                    "layers are supported", from, r->previous);
    return 0;
}

/* names go into dumps and messages */
static bool is_plain_name(const char *name)
{
    size_t length = strlen(name);

    for (const char *c = name; *c; c++)
        if (!isprint((unsigned char)*c) || *c == '"' || *c == '\\')
            return false;
    return length >= 1 && length <= NAME_CHARS_MAX;
}

static int read_name(struct reader *r, const json_t *layer, const json_t *config, size_t index)
{
    const char *name = json_string_value(json_object_get(config, "name"));

    if (!name)
        name = json_string_value(json_object_get(layer, "name"));
    if (!name)
        name = arena_printf(r->arena, "layer_%zu", index);
    r->name = arena_strdup(r->arena, name);
    if (!is_plain_name(name)) {
        r->name = NULL;
        return FAIL(r, "the name of layer %zu must be 1..%d printable characters without quotes "
                    "and backslashes", index, NAME_CHARS_MAX);
    }
    for (int i = 0; i < r->model->layer_count; i++)
        if (strcmp(r->model->layer[i].name, name) == 0)
            return FAIL(r, "two layers have this name");
    return 0;
}

/* the index in layer_classes, or -1 */
static int read_class(struct reader *r, const json_t *layer)
{
    const char *name = json_string_value(json_object_get(layer, "class_name"));
    char hint[160];

    if (!name)
        return FAIL(r, "missing field \"class_name\"");
    for (size_t i = 0; i < COUNT_OF(layer_classes); i++)
        if (strcmp(name, layer_classes[i]) == 0)
            return (int)i;
    return FAIL(r, "layer class %s is not supported yet%s; supported are %s", name,
                text_did_you_mean(name, layer_classes, COUNT_OF(layer_classes), hint,
                                  sizeof(hint)),
                names_listed(r, layer_classes, COUNT_OF(layer_classes)));
}

static int read_layer(struct reader *r, const json_t *layer, size_t index)
{
    const json_t *config = json_object_get(layer, "config");
    int class, result = -1;

    r->name = NULL;
    if (read_name(r, layer, config, index) != 0)
        return -1;
    class = read_class(r, layer);
    if (class < 0)
        return -1;
    if (!json_is_object(config))
        return FAIL(r, "missing field \"config\"");
    if (check_chain(r, layer) != 0 || check_common(r, config) != 0 ||
        read_declared_shapes(r, layer, config) != 0)
        return -1;
    switch (class) {
    case CLASS_INPUT:
        result = read_input(r, config);
        break;
    case CLASS_FLATTEN:
        result = read_flatten(r);
        break;
    case CLASS_DENSE:
        result = read_dense(r, config);
        break;
    case CLASS_ACTIVATION:
        result = read_activation_layer(r, config);
        break;
    }
    r->previous = r->name;
    return result;
}

static int check_ends(struct reader *r, const json_t *config)
{
    const struct model *m = r->model;
    const json_t *ends = json_object_get(config, "output_layers");
    enum model_activation last;
    const char *end;

    r->name = NULL;
    if (m->layer_count == 0)
        return FAIL(r, "the model has no Dense layer");
    for (int i = 0; i + 1 < m->layer_count; i++) {
        r->name = m->layer[i].name;
        if (m->layer[i].activation == ACTIVATION_SOFTMAX)
            return FAIL(r, "softmax is supported as the model's last activation only");
    }
    r->name = m->layer[m->layer_count - 1].name;
    last = m->layer[m->layer_count - 1].activation;
    if (last != ACTIVATION_SOFTMAX && last != ACTIVATION_LINEAR)
        return FAIL(r, "the model's last activation must be softmax, or linear for logits, not %s",
                    activation_name(last));
    r->name = NULL;
    if (!r->is_functional || !is_given(ends))
        return 0;
    end = inbound_name(ends);
    if (!end || strcmp(end, r->previous) != 0)
        return FAIL(r, "the model's one output must be its last layer, \"%s\"", r->previous);
    return 0;
}

static int read_model(struct reader *r, const json_t *root)
{
    const json_t *config = json_object_get(root, "config"), *layers;
    const char *class = json_string_value(json_object_get(root, "class_name"));
    const char *name = json_string_value(json_object_get(config, "name"));
    size_t count;

    if (!class)
        return FAIL(r, "missing field \"class_name\": not a Keras model");
    r->is_functional = strcmp(class, "Functional") == 0 || strcmp(class, "Model") == 0;
    if (!r->is_functional && strcmp(class, "Sequential") != 0)
        return FAIL(r, "model class %s is not supported; supported are Sequential, Functional, "
                    "Model", class);
    layers = json_is_array(config) ? config : json_object_get(config, "layers");
    count = json_array_size(layers);
    if (count < 1 || count > LAYERS_MAX)
        return FAIL(r, "\"layers\" must be a list of 1..%d layers", LAYERS_MAX);
    r->model->name = arena_strdup(r->arena, name && is_plain_name(name) ? name : "model");
    r->model->layer = arena_array(r->arena, count, sizeof(*r->model->layer));
    /* a Sequential without an InputLayer may state its input here, so look at it first */
    if (check_shape(r, json_object_get(config, "build_input_shape"), "build_input_shape") != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (read_layer(r, json_array_get(layers, i), i) != 0)
            return -1;
    return check_ends(r, config);
}

int model_load(struct model *m, const char *path, struct arena *a, struct err *e)
{
    struct reader r = {.path = path, .arena = a, .err = e, .model = m, .rank = -1};
    FILE *file = fopen(path, "rb");
    json_error_t broken;
    json_t *root;
    bool is_read;
    int result;

    memset(m, 0, sizeof(*m));
    if (!file)
        return err_at(e, path, 0, 0, "cannot open the model: %s", strerror(errno));
    root = json_loadf(file, JSON_REJECT_DUPLICATES, &broken);
    is_read = !ferror(file);
    fclose(file);
    if (!is_read && !root)
        return err_at(e, path, 0, 0, "cannot read the model; is it a folder?");
    if (!root)
        return err_at(e, path, broken.line, broken.column, "%s", broken.text);
    result = read_model(&r, root);
    json_decref(root);
    return result;
}
