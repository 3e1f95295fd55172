/* Reads a layer from a Python call and adds it to a model. */
#include "keras/model/layer_from_text.h"

#include "keras/call/call.h"
#include "keras/layers/layer_fields.h"
#include "keras/model/model_json.h"

#include <string.h>

#define NAMES_MAX 40

/* "L2(1e-4)", "RandomNormal(0, 0.1)": objects inside a layer's arguments get their names, too */
static int name_inner(json_t *value, struct err *e)
{
    static const struct { const char *class, *name[4]; } inner[] = {
        {"L1", {"l1"}}, {"L2", {"l2"}}, {"L1L2", {"l1", "l2"}}, {"l1", {"l1"}}, {"l2", {"l2"}},
        {"Constant", {"value"}}, {"Identity", {"gain"}}, {"Orthogonal", {"gain"}},
        {"RandomUniform", {"minval", "maxval"}}, {"RandomNormal", {"mean", "stddev"}},
        {"TruncatedNormal", {"mean", "stddev"}},
    };
    static const char *const none[] = {NULL};
    const char *class = json_string_value(json_object_get(value, "class_name"));
    const char *const *names = none;

    for (size_t i = 0; class && i < sizeof(inner) / sizeof(inner[0]); i++)
        if (strcmp(inner[i].class, class) == 0)
            names = inner[i].name;
    return class ? call_name_args(value, names, e) : 0;
}

static void list_fields(enum layer_kind kind, const char *const *others, const char **names)
{
    int count = 0;

    for (size_t i = 0; i < layer_field_count; i++)
        if (layer_fields[i].kind == kind)
            names[count++] = layer_fields[i].name;
    while (*others)
        names[count++] = *others++;
    names[count] = NULL;
}

static int read_input_shape(const json_t *v, enum layer_kind kind, struct shape *input,
                            struct err *e)
{
    size_t rank = json_array_size(v);

    if (!model_json_is_given(v))
        return 0;
    if (!json_is_array(v) || rank == 0 || rank >= GRAPH_RANK_MAX)
        return err_set(e, "input_shape must be a tuple of 1..%d sizes", GRAPH_RANK_MAX - 1);
    *input = (struct shape){.dtype = kind == LAYER_EMBEDDING ? DTYPE_S32 : DTYPE_F32,
                            .rank = (int)rank};
    for (size_t d = 0; d < rank; d++) {
        input->dim[d] = json_integer_value(json_array_get(v, d));
        if (input->dim[d] < 1 || input->dim[d] > INT32_MAX)
            return err_set(e, "input_shape: dimension %zu must be a whole number from 1 up", d);
    }
    return 0;
}

static struct layer *read_layer(struct model *m, json_t *call, struct shape *input, struct err *e)
{
    static const char *const others[] = {"name", "trainable", "dtype", "input_shape", NULL};
    static const char *const none[] = {NULL};
    const char *class = json_string_value(json_object_get(call, "class_name"));
    json_t *config = json_object_get(call, "config"), *value;
    const char *allowed[NAMES_MAX], *positional[NAMES_MAX], *key, *name;
    struct model_json_reader r = {
        .model = m, .arena = m->arena, .path = "", .err = e, .name = class, .prefix = ""};
    enum layer_kind kind;
    struct layer *l;

    if (layer_find(class, &kind, e))
        return NULL;
    if (kind == LAYER_INPUT) {
        err_set(e, "an InputLayer is no layer to add: say input_shape, or add an input");
        return NULL;
    }
    list_fields(kind, none, positional);
    list_fields(kind, others, allowed);
    if (call_name_args(call, positional, e) || call_check_names(call, allowed, e) ||
        read_input_shape(json_object_get(config, "input_shape"), kind, input, e))
        return NULL;
    json_object_foreach(config, key, value)
        if (name_inner(value, e))
            return NULL;
    name = json_string_value(json_object_get(config, "name"));
    l = model_json_make_layer(&r, config, kind, name ? arena_strdup(m->arena, name) : NULL);
    if (l && !json_object_get(config, "dtype"))
        l->policy = -1;                 /* the model's; in a file every layer says its own */
    return l;
}

struct layer *model_layer_from_text(struct model *m, const char *text, struct shape *input,
                                    struct err *e)
{
    struct layer *l;
    json_t *call;

    *input = (struct shape){.rank = 0};
    if (call_parse(text, &call, e))
        return NULL;
    l = read_layer(m, call, input, e);
    json_decref(call);
    return l;
}
