/* Reads losses and metrics with their arguments from Python calls. */
#include "keras/loss/loss_from_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "keras/call/call.h"

static int read_loss(struct loss *l, json_t *call, struct arena *a, struct err *e)
{
    enum loss_kind kind;
    const char *name;

    if (loss_find(json_string_value(json_object_get(call, "class_name")), &kind, e))
        return -1;
    *l = loss_standard(kind);
    return arguments_read(&l->with, loss_arguments(), (int)kind, call, &name, a, e);
}

int loss_from_text(struct loss *l, const char *text, struct arena *a, struct err *e)
{
    json_t *call;
    int status;

    if (call_parse(text, &call, e))
        return -1;
    status = read_loss(l, call, a, e);
    json_decref(call);
    return status;
}

static int read_metric(struct metric *m, json_t *call, struct arena *a, struct err *e)
{
    enum metric_kind kind;
    const char *name;

    if (metric_find(json_string_value(json_object_get(call, "class_name")), &kind, e))
        return -1;
    *m = metric_standard(kind);
    if (arguments_read(&m->with, metric_arguments(), (int)kind, call, &name, a, e))
        return -1;
    m->name = name ? name : m->name;
    return 0;
}

int metric_from_text(struct metric *m, const char *text, const struct shape *label,
                     const struct shape *prediction, struct arena *a, struct err *e)
{
    json_t *call;
    int status;

    if (strcasecmp(text, "accuracy") == 0 || strcasecmp(text, "acc") == 0) {
        *m = metric_standard(metric_accuracy(label, prediction));
        m->name = arena_strdup(a, text);
        return 0;
    }
    if (call_parse(text, &call, e))
        return -1;
    status = read_metric(m, call, a, e);
    json_decref(call);
    if (status == 0 && islower((unsigned char)text[0]) && !strchr(text, '('))
        m->name = arena_strdup(a, text);        /* as it was written, as Keras has it */
    return status;
}

void metric_set_weighted(struct metric *list, int i, struct arena *a)
{
    list[i].is_weighted = true;
    for (int k = 0; k < i; k++)
        if (strcmp(list[k].name, list[i].name) == 0) {
            list[i].name = arena_printf(a, "weighted_%s", list[i].name);
            return;
        }
}
