/*
 * Keras JSON: parts of arrays whose batch is not in front. Attention written out by hand has
 * x = transpose(qkv, (2, 0, 3, 1, 4)); q, k, v = x[0], x[1], x[2]: the parts have their batch in
 * front again. They are read as parts of the array that keeps it there, x[:, 0] and so on.
 */
#include "keras/model/model_json.h"

#include <string.h>

static bool is_class(const json_t *layer, const char *class)
{
    const char *is = json_string_value(json_object_get(layer, "class_name"));

    return json_is_op(layer) && is && strcmp(is, class) == 0;
}

static const char *name_of(const json_t *layer)
{
    const char *name = json_string_value(json_object_get(layer, "name"));

    return name ? name
                : json_string_value(json_object_get(json_object_get(layer, "config"), "name"));
}

/* where the batch goes, or 0: it stays in front, or the axes are no such list */
static size_t place_of_batch(const json_t *axes)
{
    for (size_t i = 0; i < json_array_size(axes); i++)
        if (json_is_integer(json_array_get(axes, i)) && json_integer_value(json_array_get(axes, i)) == 0)
            return i;
    return 0;
}

static json_t *arguments(const json_t *layer)
{
    return json_object_get(json_array_get(json_object_get(layer, "inbound_nodes"), 0), "args");
}

/* whether v, or what is in it, is an output of this layer */
static bool refers(const json_t *v, const char *name, int depth)
{
    const json_t *h = json_object_get(json_object_get(v, "config"), "keras_history");
    const char *is = json_string_value(json_array_get(h ? h : v, 0));

    if (is)
        return strcmp(is, name) == 0;
    for (size_t i = 0; i < json_array_size(v) && depth < 4; i++)
        if (refers(json_array_get(v, i), name, depth + 1))
            return true;
    return false;
}

static bool is_whole_slice(const json_t *v)
{
    const json_t *s = json_object_get(v, "config") ? json_object_get(v, "config") : v;

    return json_is_object(v) && !model_json_is_given(json_object_get(s, "start")) &&
           !model_json_is_given(json_object_get(s, "stop")) &&
           !model_json_is_given(json_object_get(s, "step")) &&
           json_object_get(s, "start") != NULL;
}

/* all dimensions before the batch's become one element each, and the batch stays whole */
static bool brings_back(const json_t *user, size_t place)
{
    const json_t *index = json_array_get(arguments(user), 1);
    size_t count = json_is_array(index) ? json_array_size(index) : 1;

    if (!is_class(user, "GetItem") || json_array_size(json_object_get(user, "inbound_nodes")) != 1 ||
        count < place)
        return false;
    for (size_t i = 0; i < place; i++)
        if (!json_is_integer(json_is_array(index) ? json_array_get(index, i) : index))
            return false;
    return count == place || is_whole_slice(json_array_get(index, place));
}

/* x[0, 1] as x[:, 0, 1] */
static void turn_index(json_t *user, size_t place)
{
    json_t *args = arguments(user), *index = json_array_get(args, 1), *turned = json_array();

    json_array_append_new(turned, json_pack("{s:n,s:n,s:n}", "start", "stop", "step"));
    if (!json_is_array(index))
        json_array_append(turned, index);
    for (size_t i = 0; i < json_array_size(index); i++)
        if (i != place)
            json_array_append(turned, json_array_get(index, i));
    json_array_set_new(args, 1, turned);
}

static void put_first(json_t *layers, json_t *transpose, size_t place)
{
    json_t *config = json_object_get(transpose, "config"), *axes = json_object_get(config, "axes");
    json_t *turned = json_array();

    for (size_t i = 0; i < json_array_size(layers); i++)
        if (refers(arguments(json_array_get(layers, i)), name_of(transpose), 0))
            turn_index(json_array_get(layers, i), place);
    json_array_append_new(turned, json_integer(0));
    for (size_t i = 0; i < json_array_size(axes); i++)
        if (i != place)
            json_array_append(turned, json_array_get(axes, i));
    json_object_set_new(config, "axes", turned);
}

void json_put_batch_first(json_t *layers, const json_t *outputs)
{
    for (size_t i = 0; i < json_array_size(layers); i++) {
        json_t *layer = json_array_get(layers, i);
        size_t place = place_of_batch(json_object_get(json_object_get(layer, "config"), "axes"));
        bool can = is_class(layer, "Transpose") && place > 0 && name_of(layer) &&
                   !refers(outputs, name_of(layer), 0);

        for (size_t k = 0; k < json_array_size(layers) && can; k++)
            if (refers(arguments(json_array_get(layers, k)), name_of(layer), 0))
                can = brings_back(json_array_get(layers, k), place);
        if (can)
            put_first(layers, layer, place);
    }
}
