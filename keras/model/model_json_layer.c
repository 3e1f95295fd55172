/* Reads one layer from Keras JSON, by the table of its parameters. */
#include "keras/model/model_json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/layers/layer_fields.h"
#include "keras/layers/layer_impl.h"

/* what else stands in a config and changes nothing here; others must be null or false */
static const char *const neutral[] = {
    "name", "trainable", "dtype", "batch_shape", "batch_input_shape", "input_shape", "seed",
    "autocast", "input_length", "supports_masking", "fused", "_self_extracted", "query_shape",
    "key_shape", "value_shape", "unroll", "implementation", "time_major", "input_dim",
    "rng_type", JSON_CELL_FIELD
};
/* the same of one kind: in Keras 2 some have their base class's parameters, too */
static const struct { enum layer_kind kind; const char *name; } neutral_there[] = {
    {LAYER_DEPTHWISE_CONV2D, "groups"}, {LAYER_DEPTHWISE_CONV2D, "filters"},
    {LAYER_DEPTHWISE_CONV2D, "kernel_initializer"}, {LAYER_DEPTHWISE_CONV2D, "kernel_regularizer"},
    {LAYER_DEPTHWISE_CONV1D, "groups"}, {LAYER_DEPTHWISE_CONV1D, "filters"},
    {LAYER_DEPTHWISE_CONV1D, "kernel_initializer"}, {LAYER_DEPTHWISE_CONV1D, "kernel_regularizer"},
    {LAYER_SEPARABLE_CONV2D, "kernel_initializer"}, {LAYER_SEPARABLE_CONV2D, "kernel_regularizer"},
    {LAYER_SEPARABLE_CONV1D, "kernel_initializer"}, {LAYER_SEPARABLE_CONV1D, "kernel_regularizer"},
    {LAYER_DISCRETIZATION, "num_bins"}, {LAYER_DISCRETIZATION, "epsilon"},
    {LAYER_INTEGER_LOOKUP, "oov_token"}, {LAYER_INTEGER_LOOKUP, "vocabulary_dtype"},
    {LAYER_INTEGER_LOOKUP, "vocabulary_size"}, {LAYER_INTEGER_LOOKUP, "max_tokens"},
    {LAYER_INTEGER_LOOKUP, "oov_method"},
    {LAYER_MULTI_HEAD_ATTENTION, "flash_attention"},
    {LAYER_GROUP_QUERY_ATTENTION, "flash_attention"},
};

static bool is_listed(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* "kernel_constraint", which stands wherever "kernel_regularizer" does */
static int read_constraint(struct model_json_reader *r, const struct layer_field *beside,
                           const json_t *v, const char *field, struct layer_config *c)
{
    struct regularizer *to = (struct regularizer *)(void *)((char *)c + beside->offset);
    struct err e;

    return constraint_from_json(&to->constraint, v, &e)
               ? model_json_fail(r, "\"%s\": %s", field, e.msg) : 0;
}

/* ---- the layer ---- */

int model_json_read_name(struct model_json_reader *r, const json_t *layer, size_t index,
                         const char **name)
{
    const char *given = json_string_value(json_object_get(json_object_get(layer, "config"),
                                                          "name"));

    if (!given)
        given = json_string_value(json_object_get(layer, "name"));
    if (!given)
        given = arena_printf(r->arena, "layer_%zu", index);
    r->name = NULL;
    if (!model_is_plain_name(given))
        return model_json_fail(r,
                               "the name of layer %zu must be 1..%d printable characters without "
                               "quotes and backslashes",
                               index, MODEL_NAME_CHARS_MAX);
    *name = arena_printf(r->arena, "%s%s", r->prefix, given);
    if (strlen(*name) > MODEL_NAME_CHARS_MAX)
        return model_json_fail(r,
                               "layer %zu's name \"%s\" is longer than %d characters with those of "
                               "the models around it",
                               index, *name, MODEL_NAME_CHARS_MAX);
    if (model_find_layer(r->model, *name)) {
        r->name = *name;
        return model_json_fail(r, "two layers have this name");
    }
    return 0;
}

int model_json_read_class(struct model_json_reader *r, const json_t *layer, enum layer_kind *kind)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));
    struct err e;

    if (!class)
        return model_json_fail(r, "missing field \"class_name\"");
    if (layer_find(class, kind, &e) != 0)
        return model_json_fail(r, "%s", e.msg);
    if (!json_is_object(json_object_get(layer, "config")))
        return model_json_fail(r, "missing field \"config\"");
    return 0;
}

static const struct layer_field *find_field(enum layer_kind kind, const char *name)
{
    for (size_t i = 0; i < layer_field_count; i++)
        if (layer_fields[i].kind == kind && strcmp(layer_fields[i].name, name) == 0)
            return &layer_fields[i];
    return NULL;
}

/* the regularizer beside a constraint; NULL: it is none */
static const struct layer_field *find_constrained(enum layer_kind kind, const char *name)
{
    size_t length = strlen(name), end = strlen("_constraint");
    char beside[80];

    if (length <= end || length > 60 || strcmp(name + length - end, "_constraint") != 0)
        return NULL;
    snprintf(beside, sizeof(beside), "%.*s_regularizer", (int)(length - end), name);
    return find_field(kind, beside);
}

static int unknown_field(struct model_json_reader *r, enum layer_kind kind, const char *name)
{
    const char *names[32];
    size_t count = 0;

    for (size_t i = 0; i < layer_field_count && count < COUNT_OF(names); i++)
        if (layer_fields[i].kind == kind)
            names[count++] = layer_fields[i].name;
    return model_json_fail(r, "%s has no \"%s\" here%s; it must be null or missing",
                           layer_class(kind), name, text_did_you_mean(name, names, count).text);
}

/* What stands beside a switch that is off says nothing, whatever it is. */
static bool is_switched_off(const json_t *config, const char *name)
{
    static const struct { const char *name, *by; bool is_on; } switched[] = {
        {"renorm_clipping", "renorm", false}, {"renorm_momentum", "renorm", false},
        {"fill_mode", "pad_to_aspect_ratio", true}, {"fill_value", "pad_to_aspect_ratio", true},
        {"bias_initializer", "use_bias", true}, {"bias_regularizer", "use_bias", true},
        {"bias_constraint", "use_bias", true}, {"unit_forget_bias", "use_bias", true},
        {"beta_initializer", "center", true}, {"beta_regularizer", "center", true},
        {"beta_constraint", "center", true}, {"gamma_initializer", "scale", true},
        {"gamma_regularizer", "scale", true}, {"gamma_constraint", "scale", true},
    };

    for (size_t i = 0; i < COUNT_OF(switched); i++) {
        const json_t *by = json_object_get(config, switched[i].by);

        if (strcmp(switched[i].name, name) == 0)
            return switched[i].is_on ? json_is_false(by) : !json_is_true(by);
    }
    return false;
}

/* channels in front are moved to the end and back; of a ConvLSTM they stand behind the steps */
static int read_data_format(struct model_json_reader *r, const json_t *v, struct layer *l)
{
    static const char *const names[] = {"channels_last", "channels_first"};
    int which = model_json_choice(r, v, "data_format", names, COUNT_OF(names));

    if (which == 1 && layer_functions(l->kind) == &layer_conv_lstm)
        return model_json_fail(r, "\"data_format\" channels_first of %s is not supported",
                               layer_class(l->kind));
    l->features = which;
    return which < 0 ? -1 : 0;
}

/* what is in the file but in no table */
static int check_other(struct model_json_reader *r, struct layer *l, const char *name,
                       const json_t *v)
{
    if (json_is_false(v) || is_listed(name, neutral, COUNT_OF(neutral)))
        return 0;
    for (size_t i = 0; i < COUNT_OF(neutral_there); i++)
        if (neutral_there[i].kind == l->kind && strcmp(neutral_there[i].name, name) == 0)
            return 0;
    if (strcmp(name, "data_format") == 0)
        return read_data_format(r, v, l);
    if (strcmp(name, "groups") == 0 && json_integer_value(v) == 1)
        return 0;                       /* where there are no others */
    if (strcmp(name, "stateful") == 0)
        return model_json_fail(r, "\"stateful\" is not supported: states begin anew with each batch");
    return unknown_field(r, l->kind, name);
}

static int read_policy(struct model_json_reader *r, const json_t *config, int *policy)
{
    const json_t *v = json_object_get(config, "dtype");
    const char *name = model_json_dtype_name(v);
    enum keras_policy p;
    struct err e;

    *policy = KERAS_FLOAT32;
    if (!model_json_is_given(v))
        return 0;
    if (!name)
        return model_json_fail(r, "\"dtype\" must be the name of a policy");
    if (keras_policy_read(name, &p, &e) != 0)
        return model_json_fail(r, "%s", e.msg);
    if (strcmp(name, keras_policy_name(p)) != 0)
        r->model->file_policy = arena_strdup(r->arena, name);
    *policy = (int)p;
    return 0;
}

static int check_required(struct model_json_reader *r, enum layer_kind kind, const json_t *config)
{
    for (size_t i = 0; i < layer_field_count; i++)
        if (layer_fields[i].kind == kind && layer_field_is_required(&layer_fields[i]) &&
            !model_json_is_given(json_object_get(config, layer_fields[i].name)))
            return model_json_fail(r, "missing field \"%s\"", layer_fields[i].name);
    return 0;
}

static int read_fields(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    const char *key;
    json_t *v;

    /* the macro takes a table that it does not change */
    json_object_foreach((json_t *)(uintptr_t)config, key, v) {
        const struct layer_field *f = find_field(l->kind, key);
        const struct layer_field *constrained = f ? NULL : find_constrained(l->kind, key);

        if (json_is_null(v) || is_switched_off(config, key))
            continue;
        if (constrained) {
            if (read_constraint(r, constrained, v, key, &l->c))
                return -1;
            continue;
        }
        if (f ? model_json_read_field(r, f, v, l) : check_other(r, l, key, v))
            return -1;
    }
    return 0;
}

/* the name of an RNN's cell, which variables have in theirs; empty: they have not */
static int read_cell(struct model_json_reader *r, const json_t *v, const char **cell)
{
    const char *name = json_string_value(v);

    if (!v)
        return 0;
    if (!name || (*name && !model_is_plain_name(name)))
        return model_json_fail(r, "the name of its cell must be 1..%d printable characters without "
                               "quotes and backslashes", MODEL_NAME_CHARS_MAX);
    *cell = arena_strdup(r->arena, name);
    return 0;
}

struct layer *model_json_make_layer(struct model_json_reader *r, const json_t *config,
                                    enum layer_kind kind, const char *name)
{
    struct layer *l;

    if (check_required(r, kind, config) != 0)
        return NULL;
    l = model_layer(r->model, kind, name);
    l->is_trainable = !json_is_false(json_object_get(config, "trainable"));
    if (read_cell(r, json_object_get(config, JSON_CELL_FIELD), &l->cell) != 0)
        return NULL;
    if (read_policy(r, config, &l->policy) != 0 || read_fields(r, config, l) != 0)
        return NULL;
    return l;
}

struct layer *model_json_read_layer(struct model_json_reader *r, const json_t *layer, size_t index)
{
    const char *name;
    enum layer_kind kind;

    if (model_json_read_name(r, layer, index, &name) != 0)
        return NULL;
    r->name = name;
    if (model_json_read_class(r, layer, &kind) != 0)
        return NULL;
    return model_json_make_layer(r, json_object_get(layer, "config"), kind, name);
}
