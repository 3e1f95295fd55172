#include "keras/model/from_text.h"

#include "base/text.h"
#include "keras/call/call.h"
#include "keras/layers/layer_fields.h"
#include "keras/model/model_json.h"

#include <string.h>

#define NAMES_MAX 40

/* ----- arguments by name */

/* -1 naming the first argument that is none of these, NULL-terminated, and the nearest */
static int check_names(const json_t *call, const char *const *names, struct err *e)
{
    json_t *config = json_object_get(call, "config"), *value;
    const char *key;
    size_t count = 0;

    while (names[count])
        count++;
    json_object_foreach(config, key, value) {
        size_t i = 0;
        char near[96];

        while (i < count && strcmp(names[i], key) != 0)
            i++;
        if (i == count)
            return err_set(e, "%s has no argument %s%s",
                           json_string_value(json_object_get(call, "class_name")), key,
                           text_did_you_mean(key, names, count, near, sizeof(near)));
    }
    return 0;
}

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

/* ----- layers */

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

    if (!json_is_given(v))
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
    struct json_reader r = {.model = m, .arena = m->arena, .path = "", .err = e, .name = class};
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
    if (call_name_args(call, positional, e) || check_names(call, allowed, e) ||
        read_input_shape(json_object_get(config, "input_shape"), kind, input, e))
        return NULL;
    json_object_foreach(config, key, value)
        if (name_inner(value, e))
            return NULL;
    name = json_string_value(json_object_get(config, "name"));
    l = json_make_layer(&r, config, kind, name ? arena_strdup(m->arena, name) : NULL);
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

/* ----- losses */

static int read_number(const json_t *config, const char *name, double low, double high,
                       double *to, struct err *e)
{
    const json_t *v = json_object_get(config, name);

    if (!json_is_given(v))
        return 0;
    if (!json_is_number(v) || json_number_value(v) < low || json_number_value(v) > high)
        return err_set(e, "%s must be a number in %g..%g", name, low, high);
    *to = json_number_value(v);
    return 0;
}

static int read_loss(struct loss *l, json_t *call, struct err *e)
{
    static const char *const entropies[] = {"from_logits", "label_smoothing", NULL};
    static const char *const huber[] = {"delta", NULL}, *const none[] = {NULL};
    json_t *config = json_object_get(call, "config");
    const char *const *names;
    enum loss_kind kind;

    if (loss_find(json_string_value(json_object_get(call, "class_name")), &kind, e))
        return -1;
    *l = loss_standard(kind);
    names = kind == LOSS_HUBER ? huber
            : kind == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY ||
              kind == LOSS_CATEGORICAL_CROSSENTROPY || kind == LOSS_BINARY_CROSSENTROPY
                ? entropies : none;
    if (call_name_args(call, names, e) || check_names(call, names, e) ||
        read_number(config, "label_smoothing", 0, 1, &l->label_smoothing, e) ||
        read_number(config, "delta", 1e-30, 1e30, &l->delta, e))
        return -1;
    l->from_logits = json_is_true(json_object_get(config, "from_logits"));
    if (l->label_smoothing > 0 && kind == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY)
        return err_set(e, "label_smoothing needs CategoricalCrossentropy: sparse labels cannot be "
                       "smoothed");
    return 0;
}

int loss_from_text(struct loss *l, const char *text, struct err *e)
{
    json_t *call;
    int status;

    if (call_parse(text, &call, e))
        return -1;
    status = read_loss(l, call, e);
    json_decref(call);
    return status;
}

/* ----- metrics */

/* what a metric's number is called, and its bounds */
static const struct { enum metric_kind kind; const char *name; double low, high; } numbers[] = {
    {METRIC_BINARY_ACCURACY, "threshold", 0, 1}, {METRIC_SPARSE_TOP_K, "k", 1, 1000000},
    {METRIC_TOP_K, "k", 1, 1000000}, {METRIC_PRECISION, "thresholds", 0, 1},
    {METRIC_RECALL, "thresholds", 0, 1}, {METRIC_AUC, "num_thresholds", 2, 100000},
    {METRIC_MEAN_IOU, "num_classes", 1, 100000},
};

static int read_metric(struct metric *m, json_t *call, struct arena *a, struct err *e)
{
    json_t *config = json_object_get(call, "config");
    const char *names[4] = {NULL}, *name;
    int number = -1, count = 0;
    enum metric_kind kind;

    if (metric_find(json_string_value(json_object_get(call, "class_name")), &kind, e))
        return -1;
    *m = metric_standard(kind);
    for (int i = 0; i < (int)(sizeof(numbers) / sizeof(numbers[0])); i++)
        number = numbers[i].kind == kind ? i : number;
    if (number >= 0)
        names[count++] = numbers[number].name;
    names[count++] = "name";
    names[count++] = "from_logits";
    if (call_name_args(call, names, e) || check_names(call, names, e) ||
        (number >= 0 && read_number(config, numbers[number].name, numbers[number].low,
                                    numbers[number].high, &m->number, e)))
        return -1;
    m->from_logits = json_is_true(json_object_get(config, "from_logits"));
    name = json_string_value(json_object_get(config, "name"));
    if (name)
        m->name = arena_strdup(a, name);
    return 0;
}

int metric_from_text(struct metric *m, const char *text, struct arena *a, struct err *e)
{
    json_t *call;
    int status;

    if (call_parse(text, &call, e))
        return -1;
    status = read_metric(m, call, a, e);
    json_decref(call);
    return status;
}
