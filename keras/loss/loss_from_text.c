/* Reads losses and metrics with their arguments from Python calls. */
#include "keras/loss/loss_from_text.h"

#include "keras/call/call.h"
#include "keras/model/model_json.h"

/* ----- losses */

static int read_number(const json_t *config, const char *name, double low, double high,
                       double *to, struct err *e)
{
    const json_t *v = json_object_get(config, name);

    if (!model_json_is_given(v))
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
    if (call_name_args(call, names, e) || call_check_names(call, names, e) ||
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
    if (call_name_args(call, names, e) || call_check_names(call, names, e) ||
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
