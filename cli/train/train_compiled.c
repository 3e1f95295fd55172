/*
 * Reads with which loss and metrics Keras compiled a model, out of a .keras or an .h5, and writes
 * them as --loss and --metrics take them: "SparseCategoricalCrossentropy(from_logits=True)".
 */
#include "cli/train/train.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/units.h"

/* what says nothing of the values, or the same as leaving it out */
static bool is_idle(const char *key, const json_t *v)
{
    static const char *const names[] = {"name", "dtype", "fn", "reduction", "axis", "class_id",
                                        "sparse"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return json_is_null(v) || json_is_false(v) ||
           (strcmp(key, "label_smoothing") == 0 && json_number_value(v) == 0.0);
}

static const char *value_text(const json_t *v, struct arena *a)
{
    if (json_is_true(v))
        return "True";
    if (json_is_integer(v))
        return arena_printf(a, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    return json_is_number(v) ? arena_printf(a, "%.17g", json_number_value(v)) : "None";
}

/* an object of a class, or a name */
static const char *call_text(const json_t *v, struct arena *a)
{
    const char *class = json_string_value(json_object_get(v, "class_name")), *text, *key;
    json_t *config = json_object_get(v, "config"), *value;
    bool has_any = false;

    if (json_is_string(v))
        return arena_strdup(a, json_string_value(v));
    if (class && strcmp(class, "MeanMetricWrapper") == 0)       /* a function, of Keras 2 */
        return call_text(json_object_get(config, "fn"), a);
    if (json_is_string(config))
        return arena_strdup(a, json_string_value(config));
    if (!class)
        return NULL;
    text = arena_printf(a, "%s(", class);
    json_object_foreach(config, key, value)
        if (!is_idle(key, value)) {
            text = arena_printf(a, "%s%s%s=%s", text, has_any ? ", " : "", key,
                                value_text(value, a));
            has_any = true;
        }
    return arena_printf(a, "%s)", text);
}

/* lists in lists, one for each output: of models of one output all are the same */
static const char *list_text(const json_t *v, const char *text, struct arena *a)
{
    const char *one;
    json_t *item;
    size_t i;

    if (json_is_array(v)) {
        json_array_foreach(v, i, item)
            text = list_text(item, text, a);
        return text;
    }
    one = call_text(v, a);
    return one ? arena_printf(a, "%s%s%s", text, *text ? "," : "", one) : text;
}

void train_read_compiled(struct train_run *t)
{
    const char *text = t->file.training ? t->file.training : t->file.config;
    json_t *root = json_loads(text, 0, NULL);
    const json_t *how = t->file.training ? root : json_object_get(root, "compile_config");
    const json_t *loss = json_object_get(how, "loss");
    const char *metrics = list_text(json_object_get(how, "metrics"), "", &t->arena);

    if (json_is_array(loss) && json_array_size(loss) == 1)
        loss = json_array_get(loss, 0);
    if (how && loss) {
        t->compiled_loss = call_text(loss, &t->arena);
        t->compiled_metrics = metrics;
    }
    json_decref(root);
}
