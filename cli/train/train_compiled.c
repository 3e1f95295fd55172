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

/* "age=" before what is of one output of several */
static const char *list_text(const json_t *v, const char *of, const char *text, struct arena *a)
{
    const char *one;
    json_t *item;
    size_t i;

    if (json_is_array(v)) {
        json_array_foreach(v, i, item)
            text = list_text(item, of, text, a);
        return text;
    }
    one = json_is_number(v) ? value_text(v, a) : call_text(v, a);
    return one ? arena_printf(a, "%s%s%s%s", text, *text ? "," : "", of, one) : text;
}

/* one for all outputs, a list in their order, or an object by their names */
static const char *outputs_text(struct train_run *t, const json_t *v, const char *none)
{
    bool is_by_name = json_is_object(v) && !json_object_get(v, "class_name");
    const char *text = "";

    if (t->model.output_count == 1 && !is_by_name)
        return list_text(v, "", "", &t->arena);
    for (int i = 0; i < t->model.output_count; i++) {
        const char *name = train_output_name(t, i);
        const json_t *own = is_by_name         ? json_object_get(v, name)
                            : json_is_array(v) ? json_array_get(v, (size_t)i) : v;
        const char *of = arena_printf(&t->arena, "%s=", name);

        if (own && !json_is_null(own))
            text = list_text(own, of, text, &t->arena);
        else if (none)
            text = arena_printf(&t->arena, "%s%s%s%s", text, *text ? "," : "", of, none);
    }
    return text;
}

void train_read_compiled(struct train_run *t)
{
    const char *text = t->file.training ? t->file.training : t->file.config;
    json_t *root = json_loads(text, 0, NULL);
    const json_t *how = t->file.training ? root : json_object_get(root, "compile_config");
    const json_t *loss = json_object_get(how, "loss"), *weights = json_object_get(how, "loss_weights");

    if (loss && !json_is_null(loss)) {
        t->compiled_loss = outputs_text(t, loss, "None");
        t->compiled_metrics = outputs_text(t, json_object_get(how, "metrics"), NULL);
        t->compiled_weights = outputs_text(t, weights, NULL);
    }
    json_decref(root);
}
