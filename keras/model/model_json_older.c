/*
 * Keras JSON of older versions: fields and classes of Keras 1 and 2 are given the names that Keras
 * 3 has for them, and layers made of cells become the layers that compute the same, so that the
 * rest of the reader knows one spelling.
 */
#include "keras/model/model_json.h"

#include <string.h>

#include "base/units.h"

#define DEPTH_MAX 32                    /* of models and layers inside each other */

/* class NULL: of every one that no row before has; the same name twice: there it stays */
static const struct { const char *class, *old, *name; } spellings[] = {
    {"Embedding", "init", "embeddings_initializer"},
    {"Embedding", "W_regularizer", "embeddings_regularizer"},
    {"Embedding", "W_constraint", "embeddings_constraint"},
    {"Embedding", "output_dim", "output_dim"},
    {"BatchNormalization", "gamma_init", "gamma_initializer"},
    {"BatchNormalization", "beta_init", "beta_initializer"},
    {"ThresholdedReLU", "theta", "threshold"},
    {"LeakyReLU", "alpha", "negative_slope"},
    {"PReLU", "init", "alpha_initializer"},
    {"UpSampling1D", "length", "size"},
    {NULL, "nb_filter", "filters"}, {NULL, "output_dim", "units"},
    {NULL, "filter_length", "kernel_size"}, {NULL, "subsample_length", "strides"},
    {NULL, "subsample", "strides"}, {NULL, "border_mode", "padding"},
    {NULL, "dim_ordering", "data_format"}, {NULL, "init", "kernel_initializer"},
    {NULL, "inner_init", "recurrent_initializer"},
    {NULL, "inner_activation", "recurrent_activation"},
    {NULL, "W_regularizer", "kernel_regularizer"}, {NULL, "U_regularizer", "recurrent_regularizer"},
    {NULL, "b_regularizer", "bias_regularizer"}, {NULL, "W_constraint", "kernel_constraint"},
    {NULL, "U_constraint", "recurrent_constraint"}, {NULL, "b_constraint", "bias_constraint"},
    {NULL, "bias", "use_bias"}, {NULL, "p", "rate"}, {NULL, "dropout_W", "dropout"},
    {NULL, "dropout_U", "recurrent_dropout"}, {NULL, "pool_length", "pool_size"},
    {NULL, "stride", "strides"}, {NULL, "atrous_rate", "dilation_rate"}, {NULL, "sigma", "stddev"},
    {NULL, "input_dtype", "dtype"},
};

/* fields that say what the rest of the file says, too, or how another program would compute */
static const char *const dropped[] = {"consume_less", "forget_bias_init"};

static const char *text_of(const json_t *object, const char *field)
{
    const char *text = json_string_value(json_object_get(object, field));

    return text ? text : "";
}

static bool is_class(const json_t *layer, const char *class)
{
    return strcmp(text_of(layer, "class_name"), class) == 0;
}

static void rename_field(json_t *config, const char *old, const char *name)
{
    if (strcmp(old, name) == 0)
        return;
    if (!json_object_get(config, name))
        json_object_set(config, name, json_object_get(config, old));
    json_object_del(config, old);
}

/* Keras 1 has {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.01} for L1L2 */
static void name_regularizers(json_t *config)
{
    static const char *const fields[] = {"kernel_regularizer", "recurrent_regularizer",
                                         "bias_regularizer", "embeddings_regularizer",
                                         "activity_regularizer"};

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        json_t *v = json_object_get(config, fields[i]), *now;
        const char *name = text_of(v, "name");

        if (json_object_get(v, "class_name") ||
            (strcmp(name, "WeightRegularizer") != 0 && strcmp(name, "ActivityRegularizer") != 0))
            continue;
        now = json_copy(v);
        json_object_del(now, "name");
        json_object_set_new(config, fields[i],
                            json_pack("{s:s, s:o}", "class_name", "L1L2", "config", now));
    }
}

static void rename_fields(const json_t *layer, json_t *config)
{
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        bool is_first = true;

        for (size_t k = 0; k < i; k++)
            is_first = is_first && !(strcmp(spellings[k].old, spellings[i].old) == 0 &&
                                     is_class(layer, spellings[k].class ? spellings[k].class : ""));
        if (is_first && json_object_get(config, spellings[i].old) &&
            (!spellings[i].class || is_class(layer, spellings[i].class)))
            rename_field(config, spellings[i].old, spellings[i].name);
    }
    for (size_t i = 0; i < COUNT_OF(dropped); i++)
        json_object_del(config, dropped[i]);
    name_regularizers(config);
    if (is_class(layer, "Embedding") && json_is_number(json_object_get(config, "dropout")) &&
        json_number_value(json_object_get(config, "dropout")) == 0.0)
        json_object_del(config, "dropout");
    if (!is_class(layer, "InputLayer") && !json_is_op(layer) &&
        strstr(text_of(config, "dtype"), "int"))
        json_object_del(config, "dtype");       /* of the first layer's input, as of an Embedding's */
}

/* "nb_row" and "nb_col", or a volume's three, as one list */
static void join_sizes(json_t *config)
{
    static const char *const names[2][3] = {{"nb_row", "nb_col", NULL},
                                            {"kernel_dim1", "kernel_dim2", "kernel_dim3"}};

    for (int i = 0; i < 2; i++) {
        json_t *size;

        if (!json_object_get(config, names[i][0]) || json_object_get(config, "kernel_size"))
            continue;
        size = json_array();
        for (int k = 0; k < 3 && names[i][k]; k++) {
            json_array_append(size, json_object_get(config, names[i][k]));
            json_object_del(config, names[i][k]);
        }
        json_object_set_new(config, "kernel_size", size);
    }
}

static void replace_text(json_t *config, const char *field, const char *old, const char *now)
{
    if (strcmp(text_of(config, field), old) == 0)
        json_object_set_new(config, field, json_string(now));
}

/* Keras 1's Merge as the class of its mode */
static int split_merge(struct model_json_reader *r, json_t *layer, json_t *config)
{
    static const struct { const char *mode, *class, *axis; } modes[] = {
        {"sum", "Add", NULL}, {"mul", "Multiply", NULL}, {"ave", "Average", NULL},
        {"max", "Maximum", NULL}, {"concat", "Concatenate", "concat_axis"},
        {"dot", "Dot", "dot_axes"}, {"cos", "Dot", "dot_axes"},
    };
    json_t *now = json_object();
    const char *mode = text_of(config, "mode");

    r->name = text_of(config, "name");
    if (json_object_get(config, "layers")) {
        json_decref(now);
        return model_json_fail(r, "Merge with layers of its own is not supported: a model of "
                               "several inputs is a Model");
    }
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        if (strcmp(mode, modes[i].mode) != 0)
            continue;
        json_object_set(now, "name", json_object_get(config, "name"));
        if (modes[i].axis)
            json_object_set(now, i == 4 ? "axis" : "axes",
                            json_object_get(config, modes[i].axis));
        if (strcmp(mode, "cos") == 0)
            json_object_set_new(now, "normalize", json_true());
        json_object_set_new(layer, "class_name", json_string(modes[i].class));
        json_object_set_new(layer, "config", now);
        return 0;
    }
    json_decref(now);
    return model_json_fail(r, "Merge of mode \"%s\" is not supported; there are sum, mul, ave, max, "
                           "concat, dot and cos", mode);
}

/* ---- layers made of cells ---- */

/* what RNN says beside its cell, for each of the layers that take its place */
static const char *const of_rnn[] = {"trainable", "go_backwards", "stateful", "unroll",
                                     "zero_output_for_mask", "activity_regularizer"};

/* the layer of this cell: of the steps of all if it is not the last; NULL: another cell */
static json_t *layer_of_cell(const json_t *rnn, const json_t *cell, const char *name, bool is_last)
{
    static const struct { const char *cell, *class; } cells[] = {
        {"LSTMCell", "LSTM"}, {"GRUCell", "GRU"}, {"SimpleRNNCell", "SimpleRNN"}};
    json_t *config, *layer;

    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        if (!is_class(cell, cells[i].cell))
            continue;
        config = json_copy(json_object_get(cell, "config"));
        for (size_t k = 0; k < COUNT_OF(of_rnn); k++)
            if (json_object_get(rnn, of_rnn[k]) && (is_last || strcmp(of_rnn[k], "go_backwards")))
                json_object_set(config, of_rnn[k], json_object_get(rnn, of_rnn[k]));
        for (int k = 0; k < 2; k++) {
            const char *field = k ? "return_state" : "return_sequences";

            if (is_last && json_object_get(rnn, field))
                json_object_set(config, field, json_object_get(rnn, field));
        }
        if (!is_last)
            json_object_set_new(config, "return_sequences", json_true());
        json_object_set_new(config, "name", json_string(name));
        layer = json_object();
        json_object_set_new(layer, "class_name", json_string(cells[i].class));
        json_object_set_new(layer, "config", config);
        return layer;
    }
    return NULL;
}

/* cells on each other are layers on each other, each of all steps: a Sequential */
static int unstack(struct model_json_reader *r, json_t *layer, const json_t *rnn,
                   const json_t *stack)
{
    const json_t *cells = json_object_get(json_object_get(stack, "config"), "cells");
    const char *outer = text_of(json_object_get(stack, "config"), "name");
    json_t *config = json_object(), *layers = json_array();
    size_t count = json_array_size(cells);

    json_object_set(config, "name", json_object_get(rnn, "name"));
    json_object_set_new(config, "layers", layers);
    for (size_t i = 0; i < count; i++) {
        const json_t *cell = json_array_get(cells, i);
        const char *name = arena_printf(r->arena, "%s/%s", outer,
                                        text_of(json_object_get(cell, "config"), "name"));
        json_t *one = layer_of_cell(rnn, cell, name, i + 1 == count);

        if (!one) {
            json_decref(config);
            return model_json_fail(r, "RNN of a cell of class %s is not supported",
                                   text_of(cell, "class_name"));
        }
        /* the first one runs backwards, and the others over what it gives, in that order */
        if (i == 0 && json_object_get(rnn, "go_backwards"))
            json_object_set(json_object_get(one, "config"), "go_backwards",
                            json_object_get(rnn, "go_backwards"));
        if (i > 0)
            json_object_del(json_object_get(one, "config"), "go_backwards");
        json_object_set_new(json_object_get(one, "config"), JSON_CELL_FIELD, json_string(""));
        json_array_append_new(layers, one);
    }
    json_object_set_new(config, JSON_STACK_FIELD, json_true());
    json_object_set_new(layer, "class_name", json_string("Sequential"));
    json_object_set_new(layer, "config", config);
    return 0;
}

/* RNN of a cell as the layer that computes the same */
static int unwrap_rnn(struct model_json_reader *r, json_t *layer, const json_t *config)
{
    const json_t *cell = json_object_get(config, "cell"), *inner;
    const char *name = text_of(config, "name");
    json_t *one, *rnn;
    int status;

    r->name = name;
    if (is_class(cell, "StackedRNNCells") && json_is_true(json_object_get(config, "return_state")))
        return model_json_fail(r, "\"return_state\" of RNN with StackedRNNCells is not supported");
    rnn = json_deep_copy(config);       /* the layer's own is replaced */
    cell = json_object_get(rnn, "cell");
    inner = json_object_get(cell, "config");
    if (is_class(cell, "StackedRNNCells")) {
        status = unstack(r, layer, rnn, cell);
        json_decref(rnn);
        return status;
    }
    one = layer_of_cell(rnn, cell, name, true);
    if (!one) {
        status = model_json_fail(r, "RNN of a cell of class %s is not supported",
                                 text_of(cell, "class_name"));
        json_decref(rnn);
        return status;
    }
    if (json_object_get(inner, "name"))
        json_object_set(json_object_get(one, "config"), JSON_CELL_FIELD,
                        json_object_get(inner, "name"));
    json_object_update(layer, one);
    json_decref(one);
    json_decref(rnn);
    return 0;
}

/* ---- the tree ---- */

static int modernize(struct model_json_reader *r, json_t *layer, int depth);

static int modernize_all(struct model_json_reader *r, json_t *list, int depth)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (modernize(r, json_array_get(list, i), depth) != 0)
            return -1;
    return 0;
}

static int modernize(struct model_json_reader *r, json_t *layer, int depth)
{
    json_t *config = json_object_get(layer, "config");

    if (depth > DEPTH_MAX)
        return model_json_fail(r, "models and layers stand inside each other more than %d deep",
                               DEPTH_MAX);
    if (json_is_array(config) && json_is_model(layer))
        return modernize_all(r, config, depth + 1);
    if (!json_is_object(config))
        return 0;
    if (json_is_model(layer)) {
        if (modernize_all(r, json_object_get(config, "layers"), depth + 1) != 0)
            return -1;
        json_put_batch_first(json_object_get(config, "layers"),
                             json_object_get(config, "output_layers"));
        return 0;
    }
    if (is_class(layer, "Merge"))
        return split_merge(r, layer, config);
    if (json_is_tf_operation(layer))
        return json_turn_tf_operation(r, layer, config);
    rename_fields(layer, config);
    join_sizes(config);
    replace_text(config, "data_format", "tf", "channels_last");
    replace_text(config, "data_format", "default", "channels_last");
    replace_text(config, "data_format", "th", "channels_first");
    if (is_class(layer, "BatchNormalization") &&
        json_integer_value(json_object_get(config, "mode")) == 0)
        json_object_del(config, "mode");
    if (is_class(layer, "Normalization") && json_is_null(json_object_get(config, "axis")))
        json_object_set_new(config, "axis", json_array());
    if (is_class(layer, "TimeDistributedDense"))
        json_object_set_new(layer, "class_name", json_string("Dense"));
    if (modernize(r, json_object_get(config, "layer"), depth + 1) != 0 ||
        modernize(r, json_object_get(config, "backward_layer"), depth + 1) != 0)
        return -1;
    return is_class(layer, "RNN") ? unwrap_rnn(r, layer, config) : 0;
}

int json_modernize(struct model_json_reader *r, json_t *model)
{
    int status = modernize(r, model, 0);

    if (status == 0)
        r->name = NULL;
    return status;
}
