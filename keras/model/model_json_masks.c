/*
 * Keras JSON: which operations of a block only make masks. Keras 3 writes the masks that layers
 * hand on as operations of their own; here the layers make them, so what nothing else takes is
 * left out, and what a layer computes with is an operation like any other.
 */
#include "keras/model/model_json_block.h"

#include <string.h>

#define DEPTH_MAX 6                     /* of lists in arguments */

static const json_t *layer_at(const struct json_block *f, int i)
{
    return json_array_get(f->layers, (size_t)i);
}

static bool is_called(const json_t *layer, const char *name)
{
    const char *of_layer = json_string_value(json_object_get(layer, "name"));
    const char *of_config = json_string_value(json_object_get(json_object_get(layer, "config"),
                                                              "name"));

    return (of_layer && strcmp(of_layer, name) == 0) ||
           (of_config && strcmp(of_config, name) == 0);
}

/* an operation that makes a mask so far, of this name; -1 */
static int find_mask(const struct json_block *f, const char *name)
{
    for (int i = 0; i < f->layer_count; i++)
        if (f->is_mask[i] && is_called(layer_at(f, i), name))
            return i;
    return -1;
}

/* whether v refers to a mask; `is_value`: then these masks are values, and it says if there were any */
static bool refers(struct json_block *f, const json_t *v, bool is_value, int depth)
{
    const json_t *h = json_object_get(json_object_get(v, "config"), "keras_history");
    const char *name = json_string_value(json_array_get(h ? h : v, 0)), *key;
    int mask = name ? find_mask(f, name) : -1;
    bool found = mask >= 0;
    json_t *part;

    if (found && is_value)
        f->is_mask[mask] = false;
    if (h || name || depth == DEPTH_MAX)
        return found;
    for (size_t i = 0; i < json_array_size(v); i++)
        found = refers(f, json_array_get(v, i), is_value, depth + 1) || found;
    json_object_foreach((json_t *)(uintptr_t)v, key, part)
        found = refers(f, part, is_value, depth + 1) || found;
    return found;
}

/* what a call takes but for masks of its inputs: attention_mask is one of pairs, and an input */
static bool call_refers(struct json_block *f, const json_t *node, bool is_value)
{
    const char *key;
    json_t *v;
    bool found;

    if (!json_is_object(node))
        return refers(f, node, is_value, 0);
    found = refers(f, json_object_get(node, "args"), is_value, 0);
    json_object_foreach(json_object_get(node, "kwargs"), key, v)
        if (!strstr(key, "mask") || strcmp(key, "attention_mask") == 0)
            found = refers(f, v, is_value, 0) || found;
    return found;
}

static bool layer_refers(struct json_block *f, int i, bool is_value)
{
    const json_t *nodes = json_object_get(layer_at(f, i), "inbound_nodes");
    bool found = false;

    for (size_t k = 0; k < json_array_size(nodes); k++)
        found = call_refers(f, json_array_get(nodes, k), is_value) || found;
    return found;
}

void json_block_find_masks(struct json_block *f, const json_t *config)
{
    bool found = false;

    for (int i = 0; i < f->layer_count; i++) {
        const json_t *layer = layer_at(f, i);

        f->is_mask[i] = json_is_mask_op(layer) ||
                        (found && json_is_op(layer) && layer_refers(f, i, false));
        found = found || f->is_mask[i];
    }
    found = found && (refers(f, json_object_get(config, "output_layers"), true, 0) || found);
    while (found) {                     /* what a value is made of is a value */
        found = false;
        for (int i = 0; i < f->layer_count; i++)
            found = (!f->is_mask[i] && layer_refers(f, i, true)) || found;
    }
}
