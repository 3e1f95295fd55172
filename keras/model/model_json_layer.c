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
    "key_shape", "value_shape", "unroll", "zero_output_for_mask", "implementation", "time_major"
};
/* of Keras 2's DepthwiseConv2D, which has its base class's parameters too */
static const char *const depthwise_neutral[] = {
    "groups", "filters", "kernel_initializer", "kernel_regularizer"
};

static bool is_listed(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* ---- values ---- */

static int read_number(struct model_json_reader *r, const json_t *v, const char *field, double *to)
{
    if (!json_is_number(v))
        return model_json_fail(r, "\"%s\" must be a number", field);
    *to = json_number_value(v);
    return 0;
}

static int read_whole(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    if (!json_is_integer(v))
        return model_json_fail(r, "\"%s\" must be a whole number", field);
    *to = json_integer_value(v);
    return 0;
}

/* n, or [height, width] */
static int read_pair(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    if (json_is_integer(v)) {
        to[0] = to[1] = json_integer_value(v);
        return 0;
    }
    if (json_array_size(v) != 2)
        return model_json_fail(r, "\"%s\" must be a whole number or a list of two", field);
    return read_whole(r, json_array_get(v, 0), field, &to[0]) ||
                   read_whole(r, json_array_get(v, 1), field, &to[1])
               ? -1 : 0;
}

/* n, or [n], along the steps of a sequence */
static int read_one(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    to[1] = 1;
    return read_whole(r, json_array_size(v) == 1 ? json_array_get(v, 0) : v, field, &to[0]);
}

/* n, or [before, after], of a sequence */
static int read_ends(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    to[2] = to[3] = 0;
    return read_pair(r, v, field, to);
}

/* n, [rows, columns], or [[top, bottom], [left, right]] */
static int read_pads(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    if (json_is_integer(v))
        return read_pair(r, v, field, to) || read_pair(r, v, field, to + 2) ? -1 : 0;
    if (json_array_size(v) != 2)
        return model_json_fail(r, "\"%s\" must be a whole number or a list of two", field);
    return read_pair(r, json_array_get(v, 0), field, to) ||
                   read_pair(r, json_array_get(v, 1), field, to + 2)
               ? -1 : 0;
}

static int read_axis(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    if (json_array_size(v) == 1)
        v = json_array_get(v, 0);
    return read_whole(r, v, field, to);
}

/* "relu", or {"class_name": "function", "config": "relu"} */
static int read_activation(struct model_json_reader *r, const json_t *v, const char *field,
                           struct activation *to)
{
    const char *name = json_string_value(json_is_object(v) ? json_object_get(v, "config") : v);
    enum activation_kind kind;
    struct err e;

    if (!name)
        return model_json_fail(r, "\"%s\" must be the name of an activation", field);
    if (activation_find(name, &kind, &e) != 0)
        return model_json_fail(r, "\"%s\": %s", field, e.msg);
    *to = activation_standard(kind);
    return 0;
}

/* one of a few names, any spelling of case; its number, or -1 with all of them */
static int read_choice(struct model_json_reader *r, const json_t *v, const char *field,
                       const char *const *names, size_t count)
{
    const char *name = json_string_value(v);
    char all[160] = "";

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(all);

        if (name && strcasecmp(name, names[i]) == 0)
            return (int)i;
        snprintf(all + used, sizeof(all) - used, "%s\"%s\"",
                 i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
    }
    return model_json_fail(r, "\"%s\" is %s%s%s; it must be %s", field, name ? "\"" : "",
                           name ? name : "not a name", name ? "\"" : "", all);
}

/* causal: of Conv1D alone */
static int read_padding(struct model_json_reader *r, const json_t *v, const struct layer_field *f,
                        enum nn_padding *to)
{
    static const char *const names[] = {"valid", "same", "causal"};
    static const enum nn_padding paddings[] = {NN_VALID, NN_SAME, NN_CAUSAL};
    int which = read_choice(r, v, f->name, names, f->kind == LAYER_CONV1D ? 3 : 2);

    if (which < 0)
        return -1;
    *to = paddings[which];
    return 0;
}

static int read_interpolation(struct model_json_reader *r, const json_t *v, const char *field,
                              enum layer_interpolation *to)
{
    static const char *const names[] = {"nearest", "bilinear"};
    int which = read_choice(r, v, field, names, COUNT_OF(names));

    if (which < 0)
        return -1;
    *to = (enum layer_interpolation)which;
    return 0;
}

static int read_initializer(struct model_json_reader *r, const json_t *v, const char *field,
                            struct initializer *to)
{
    struct err e;

    return initializer_from_json(to, v, &e) ? model_json_fail(r, "\"%s\": %s", field, e.msg) : 0;
}

/* outputs have a batch in front, over which an orthogonal one would go */
static int read_regularizer(struct model_json_reader *r, const json_t *v, const char *field,
                            struct regularizer *to)
{
    struct err e;

    if (regularizer_from_json(to, v, &e))
        return model_json_fail(r, "\"%s\" %s", field, e.msg);
    if (to->orthogonal != 0 && strcmp(field, "activity_regularizer") == 0)
        return model_json_fail(r, "\"%s\" is OrthogonalRegularizer; it is for weights", field);
    return 0;
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

/* all numbers of v, nested in lists as they may be; -1: there is something else */
static int64_t flatten_reals(const json_t *v, double *to, int depth)
{
    int64_t count = 0;

    if (json_is_number(v)) {
        if (to)
            *to = json_number_value(v);
        return 1;
    }
    if (!json_is_array(v) || depth == 0)
        return -1;
    for (size_t i = 0; i < json_array_size(v); i++) {
        int64_t more = flatten_reals(json_array_get(v, i), to ? to + count : NULL, depth - 1);

        if (more < 0)
            return -1;
        count += more;
    }
    return count;
}

static int read_reals(struct model_json_reader *r, const json_t *v, const char *field,
                      struct layer_reals *to)
{
    int64_t count = flatten_reals(v, NULL, GRAPH_RANK_MAX);
    double *value;

    if (count < 1)
        return model_json_fail(r, "\"%s\" must be a number or a list of numbers", field);
    value = arena_array(r->arena, (size_t)count, sizeof(*value));
    flatten_reals(v, value, GRAPH_RANK_MAX);
    *to = (struct layer_reals){value, count};
    return 0;
}

static int read_list(struct model_json_reader *r, const json_t *v, const char *field,
                     struct layer_config *c)
{
    size_t size = json_array_size(v);

    if (!json_is_array(v) || size < 1 || size > 6)
        return model_json_fail(r, "\"%s\" must be a list of 1..6 whole numbers", field);
    c->shape_count = (int64_t)size;
    for (size_t i = 0; i < size; i++) {
        const json_t *d = json_array_get(v, i);

        c->shape[i] = -1;               /* null: whatever it is */
        if (!json_is_null(d) && read_whole(r, d, field, &c->shape[i]) != 0)
            return -1;
    }
    return 0;
}

static int read_field(struct model_json_reader *r, const struct layer_field *f, const json_t *v,
                      struct layer_config *c)
{
    void *to = (char *)c + f->offset;

    switch (f->type) {
    case FIELD_INT:
    case FIELD_OPT_INT: return read_whole(r, v, f->name, to);
    case FIELD_REAL:
    case FIELD_OPT_REAL: return read_number(r, v, f->name, to);
    case FIELD_PAIR:
    case FIELD_OPT_PAIR: return read_pair(r, v, f->name, to);
    case FIELD_ONE:
    case FIELD_OPT_ONE: return read_one(r, v, f->name, to);
    case FIELD_ENDS: return read_ends(r, v, f->name, to);
    case FIELD_PADS: return read_pads(r, v, f->name, to);
    case FIELD_AXIS: return read_axis(r, v, f->name, to);
    case FIELD_PADDING: return read_padding(r, v, f, to);
    case FIELD_INTERPOLATION: return read_interpolation(r, v, f->name, to);
    case FIELD_ACTIVATION: return read_activation(r, v, f->name, to);
    case FIELD_INITIALIZER: return read_initializer(r, v, f->name, to);
    case FIELD_REGULARIZER: return read_regularizer(r, v, f->name, to);
    case FIELD_SHAPE: return read_list(r, v, f->name, c);
    case FIELD_REALS: return read_reals(r, v, f->name, to);
    case FIELD_BOOL: break;
    }
    if (!json_is_boolean(v))
        return model_json_fail(r, "\"%s\" must be true or false", f->name);
    *(bool *)to = json_is_true(v);
    return 0;
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
    /* Keras 2's names of what Keras 3 calls otherwise */
    if (kind == LAYER_LEAKY_RELU && strcmp(name, "alpha") == 0)
        name = "negative_slope";
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
    char near[160];

    for (size_t i = 0; i < layer_field_count && count < COUNT_OF(names); i++)
        if (layer_fields[i].kind == kind)
            names[count++] = layer_fields[i].name;
    return model_json_fail(r, "%s has no \"%s\" here%s; it must be null or missing",
                           layer_class(kind), name,
                           text_did_you_mean(name, names, count, near, sizeof(near)));
}

/* What stands beside a switch that is off says nothing, whatever it is. */
static bool is_switched_off(const json_t *config, const char *name)
{
    static const struct { const char *name, *by; } switched[] = {
        {"renorm_clipping", "renorm"}, {"renorm_momentum", "renorm"},
        {"fill_mode", "pad_to_aspect_ratio"}, {"fill_value", "pad_to_aspect_ratio"},
    };

    for (size_t i = 0; i < COUNT_OF(switched); i++)
        if (strcmp(switched[i].name, name) == 0)
            return !json_is_true(json_object_get(config, switched[i].by));
    return false;
}

/* what is in the file but in no table */
static int check_other(struct model_json_reader *r, enum layer_kind kind, const char *name,
                       const json_t *v)
{
    const char *text = json_string_value(v);

    if (json_is_false(v) || is_listed(name, neutral, COUNT_OF(neutral)))
        return 0;
    if (kind == LAYER_DEPTHWISE_CONV2D &&
        is_listed(name, depthwise_neutral, COUNT_OF(depthwise_neutral)))
        return 0;
    if (strcmp(name, "data_format") == 0) {
        if (text && strcmp(text, "channels_last") == 0)
            return 0;
        return model_json_fail(r, "\"data_format\" is %s; it must be \"channels_last\"",
                               text ? text : "not a name");
    }
    if (strcmp(name, "attention_axes") == 0 && json_array_size(v) == 1 &&
        json_integer_value(json_array_get(v, 0)) == 1)
        return 0;
    return unknown_field(r, kind, name);
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
    if (keras_policy_find(name, &p, &e) != 0)
        return model_json_fail(r, "%s", e.msg);
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
        if (f ? read_field(r, f, v, &l->c) : check_other(r, l->kind, key, v))
            return -1;
    }
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

/* ---- layers around layers ---- */

static const char *class_of(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));

    return class ? class : "";
}

bool json_is_wrapper(const json_t *layer)
{
    return strcmp(class_of(layer), "Bidirectional") == 0 ||
           strcmp(class_of(layer), "TimeDistributed") == 0;
}

static int make_two_way(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    static const char *const names[] = {"concat", "sum", "mul", "ave"};
    static const enum layer_merge modes[] = {LAYER_CONCATENATED, LAYER_SUMMED, LAYER_MULTIPLIED,
                                             LAYER_AVERAGED};
    const json_t *mode = json_object_get(config, "merge_mode");
    int which = mode ? read_choice(r, mode, "merge_mode", names, COUNT_OF(names)) : 0;

    if (which < 0)
        return -1;
    if (l->kind != LAYER_LSTM && l->kind != LAYER_GRU && l->kind != LAYER_SIMPLE_RNN)
        return model_json_fail(r, "Bidirectional is of SimpleRNN, LSTM or GRU, not of %s",
                               layer_class(l->kind));
    if (l->c.goes_backward)
        return model_json_fail(r, "Bidirectional's layer must not go backwards by itself");
    l->c.both = modes[which];
    return 0;
}

/* as the file has it, or by its class: Keras 2 does not say the backward one's */
static const char *inner_name(struct model_json_reader *r, const json_t *layer,
                              const char *direction, const struct layer *l)
{
    const char *name = json_string_value(json_object_get(json_object_get(layer, "config"),
                                                         "name"));

    if (name && model_is_plain_name(name))
        return arena_strdup(r->arena, name);
    return arena_printf(r->arena, "%s_%s", direction, layer_standard_name(l->kind));
}

struct layer *json_read_wrapper(struct model_json_reader *r, const json_t *layer, size_t index)
{
    const json_t *config = json_object_get(layer, "config");
    const json_t *inner = json_object_get(config, "layer");
    enum layer_kind kind;
    const char *name;
    struct layer *l;

    if (model_json_read_name(r, layer, index, &name) != 0)
        return NULL;
    r->name = name;
    if (model_json_read_class(r, inner, &kind) != 0)
        return NULL;
    if (kind == LAYER_INPUT) {
        model_json_fail(r, "an InputLayer is no layer to be wrapped");
        return NULL;
    }
    l = model_json_make_layer(r, json_object_get(inner, "config"), kind, name);
    if (!l)
        return NULL;
    l->is_trainable = l->is_trainable && !json_is_false(json_object_get(config, "trainable"));
    l->wrapped[0] = inner_name(r, inner, "forward", l);
    l->wrapped[1] = inner_name(r, json_object_get(config, "backward_layer"), "backward", l);
    if (strcmp(class_of(layer), "TimeDistributed") == 0)
        l->is_distributed = true;
    else if (make_two_way(r, config, l) != 0)
        return NULL;
    return l;
}

/* ---- inputs ---- */

const json_t *model_json_batch_shape(const json_t *config, const char **field)
{
    static const char *const names[] = {"batch_shape", "batch_input_shape"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (model_json_is_given(json_object_get(config, names[i]))) {
            *field = names[i];
            return json_object_get(config, names[i]);
        }
    return NULL;
}

/* whole numbers of any width come as s32, others as f32 */
static int read_input_dtype(struct model_json_reader *r, const json_t *v, enum graph_dtype *to)
{
    static const char *const whole[] = {"int32", "int64", "int16", "int8", "uint8", "uint16",
                                        "uint32"};
    static const char *const real[] = {"float32", "float16", "bfloat16", "float64",
                                       "mixed_bfloat16"};
    const char *name = model_json_is_given(v) ? model_json_dtype_name(v) : "float32";

    *to = DTYPE_F32;
    if (name && is_listed(name, whole, COUNT_OF(whole)))
        *to = DTYPE_S32;
    else if (!name || !is_listed(name, real, COUNT_OF(real)))
        return model_json_fail(r, "\"dtype\" is %s; an input must be of floats or whole numbers",
                               name ? name : "not a name");
    return 0;
}

int model_json_read_input(struct model_json_reader *r, const json_t *layer, size_t index)
{
    const json_t *config = json_object_get(layer, "config"), *v;
    const char *field, *name;
    struct shape sample;
    enum graph_dtype dtype;

    if (model_json_read_name(r, layer, index, &name) != 0)
        return -1;
    r->name = name;
    v = model_json_batch_shape(config, &field);
    if (!v)
        return model_json_fail(r, "missing field \"batch_shape\"");
    if (json_is_true(json_object_get(config, "sparse")) ||
        json_is_true(json_object_get(config, "ragged")))
        return model_json_fail(r, "sparse and ragged inputs are not supported");
    if (model_json_read_sample(r, v, field, &sample) != 0 ||
        read_input_dtype(r, json_object_get(config, "dtype"), &dtype) != 0)
        return -1;
    sample.dtype = dtype;
    return model_input(r->model, name, &sample);
}

/* only a plain list is of one input; others say the same in more words */
int model_json_check_built(struct model_json_reader *r, const json_t *layer, const struct layer *l)
{
    const json_t *v = json_object_get(json_object_get(layer, "build_config"), "input_shape");
    struct shape sample;
    char said[160], is[160];

    if (!json_is_array(v) || !json_is_null(json_array_get(v, 0)) || l->input_count != 1 ||
        l->is_distributed)
        return 0;
    if (model_json_read_sample(r, v, "build_config.input_shape", &sample) != 0)
        return -1;
    if (shape_same_dims(&sample, &l->input[0]))
        return 0;
    return model_json_fail(r,
                           "\"build_config.input_shape\" says samples of shape %s, but it is given "
                           "%s",
                           layer_shape_text(&sample, said, sizeof(said)),
                           layer_shape_text(&l->input[0], is, sizeof(is)));
}
