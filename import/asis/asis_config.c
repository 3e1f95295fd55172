/* What XLA:TPU's backend_config tells of a kernel: JSON, its numbers written as strings. */
#include "import/asis/asis.h"

#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { CYCLES_NONE = -1 };

static const struct { const char *key, *label; } windows[] = {
    {"output_window_bounds", "out"}, {"input_window_bounds", "in"},
    {"kernel_window_bounds", "kernel"}, {"iteration_bounds", "times"}};

/* a number, or a string that is one */
static bool number_of(const json_t *value, int64_t *out)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    return json_is_string(value) &&
           text_parse_int(json_string_value(value), 0, INT64_MAX, out) == 0;
}

/* " in 32x16"; nothing of a list that is empty or no list of numbers */
static void add_bounds(char *text, size_t bytes, const char *label, const json_t *list)
{
    char sizes[120] = "";

    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t length = strlen(sizes);
        int64_t size;

        if (!number_of(json_array_get(list, i), &size))
            return;
        snprintf(sizes + length, sizeof(sizes) - length, "%s%lld", i ? "x" : "", (long long)size);
    }
    if (*sizes)
        snprintf(text + strlen(text), bytes - strlen(text), "%s%s %s", *text ? ", " : "", label,
                 sizes);
}

void asis_read_config(const char *config, struct arena *a, struct kept_unit *u)
{
    json_t *root = config && *config == '{' ? json_loads(config, 0, NULL) : NULL;
    const json_t *w = json_object_get(root, "window_config");
    char text[300] = "";

    u->estimated_cycles = CYCLES_NONE;
    u->windows = NULL;
    if (!number_of(json_object_get(w, "estimated_cycles"), &u->estimated_cycles) &&
        !number_of(json_object_get(root, "estimated_cycles"), &u->estimated_cycles))
        u->estimated_cycles = CYCLES_NONE;
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
        add_bounds(text, sizeof(text), windows[i].label, json_object_get(w, windows[i].key));
    if (*text)
        u->windows = arena_strdup(a, text);
    json_decref(root);
}
