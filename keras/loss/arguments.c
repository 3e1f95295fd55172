/* Finds kinds of losses and metrics by name, and reads their arguments by the one table of them. */
#include "keras/loss/arguments.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/call/call.h"
#include "keras/call/number.h"

#define NAMES_MAX 16

static const struct {
    struct hyperparameter is;
    size_t offset;
    bool is_list;
} rows[ARGUMENT_COUNT] = {
#define ARGUMENT(id, name, kind, low, high, words) \
    {{#name, kind, low, high, words}, offsetof(struct loss_arguments, name), false},
#define LIST(id, name, kind, low, high) \
    {{#name, kind, low, high, NULL}, offsetof(struct loss_arguments, name), true},
#include "keras/loss/arguments.def"
};

int kind_find(const struct kind_table *t, const char *name, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, &t->alias[0].name, sizeof(*t->alias), t->alias_count, near);

    if (i >= 0)
        return t->alias[i].kind;
    i = text_find(name, &t->first->class, t->stride, t->count, near);
    if (i < 0)
        i = text_find(name, &t->first->name, t->stride, t->count, near);
    return i < 0 ? err_set(e, "unknown %s \"%s\"%s; docs/keras.md lists them", t->what, name, near)
                 : i;
}

static double *number_of(struct loss_arguments *with, enum argument a)
{
    return (double *)((char *)with + rows[a].offset);
}

static struct number_list *list_of(struct loss_arguments *with, enum argument a)
{
    return (struct number_list *)((char *)with + rows[a].offset);
}

void arguments_standard(struct loss_arguments *with, struct taken_list t, int kind)
{
    memset(with, 0, sizeof(*with));
    for (int a = 0; a < ARGUMENT_COUNT; a++)
        if (!rows[a].is_list && rows[a].is.kind == WHOLE)
            *number_of(with, (enum argument)a) = NAN;
    for (int i = 0; i < t.count; i++) {
        enum argument a = t.row[i].argument;

        if (t.row[i].kind == kind && !rows[a].is_list)
            *number_of(with, a) = t.row[i].value;
        else if (t.row[i].kind == kind && isfinite(t.row[i].value))
            *list_of(with, a) = (struct number_list){1, &t.row[i].value};
    }
}

int arguments_check(const struct loss_arguments *with, struct taken_list t, int kind, const char *owner,
                    struct err *e)
{
    struct loss_arguments copy = *with;

    for (int i = 0; i < t.count; i++) {
        enum argument a = t.row[i].argument;
        struct number_list one = {1, number_of(&copy, a)};
        const struct number_list *list = rows[a].is_list ? list_of(&copy, a) : &one;

        if (t.row[i].kind != kind)
            continue;
        if (isinf(t.row[i].value) && (list->count == 0 || isinf(list->value[0])))
            return err_set(e, "%s: %s is needed", owner, rows[a].is.name);
        for (int k = 0; k < list->count; k++)
            if (!isnan(list->value[k]) && number_check(&rows[a].is, owner, list->value[k], e))
                return -1;
    }
    return 0;
}

/* names of the kind's arguments in order, NULL behind them */
static void list_names(struct taken_list t, int kind, const char *names[NAMES_MAX])
{
    int count = 0;

    for (int i = 0; i < t.count; i++)
        if (t.row[i].kind == kind)
            names[count++] = rows[t.row[i].argument].is.name;
    names[count] = "name";
    names[count + 1] = "dtype";
    names[count + 2] = NULL;
}

static int read_list(struct number_list *to, enum argument a, const char *owner, const json_t *v,
                     struct arena *arena, struct err *e)
{
    size_t count = json_is_array(v) ? json_array_size(v) : 1;
    double *value = arena_array(arena, count + 1, sizeof(*value));

    for (size_t i = 0; i < count; i++)
        if (number_read(&rows[a].is, owner, json_is_array(v) ? json_array_get(v, i) : v, &value[i],
                        e))
            return -1;
    *to = (struct number_list){(int)count, value};
    return 0;
}

static int read_one(struct loss_arguments *with, const struct taken *t, const char *owner,
                    const json_t *v, struct arena *arena, struct err *e)
{
    enum argument a = t->argument;

    if (!v)
        return 0;
    if (json_is_null(v)) {
        bool may_be = isnan(t->value) || a == ARGUMENT_CLASS_AGGREGATION;

        if (!rows[a].is_list && !may_be)
            return err_set(e, "%s: %s is None; it must be said", owner, rows[a].is.name);
        if (rows[a].is_list)
            *list_of(with, a) = (struct number_list){0, NULL};
        else
            *number_of(with, a) = NAN;
        return 0;
    }
    return rows[a].is_list ? read_list(list_of(with, a), a, owner, v, arena, e)
                           : number_read(&rows[a].is, owner, v, number_of(with, a), e);
}

/* everything is computed in f32 */
static int check_dtype(const char *owner, const json_t *v, struct err *e)
{
    const char *dtype = json_string_value(v);

    if (!v || json_is_null(v) || json_is_object(v) || (dtype && strcmp(dtype, "float32") == 0))
        return 0;
    return err_set(e, "%s: dtype is %s; it is computed in float32", owner,
                   dtype ? dtype : "no name");
}

int arguments_read(struct loss_arguments *with, struct taken_list t, int kind, json_t *call,
                   const char **name, struct arena *a, struct err *e)
{
    const char *owner = json_string_value(json_object_get(call, "class_name"));
    json_t *config = json_object_get(call, "config");
    const char *names[NAMES_MAX];

    list_names(t, kind, names);
    if (call_name_args(call, names, e) || call_check_names(call, names, e) ||
        check_dtype(owner, json_object_get(config, "dtype"), e))
        return -1;
    for (int i = 0; i < t.count; i++)
        if (t.row[i].kind == kind &&
            read_one(with, &t.row[i], owner,
                     json_object_get(config, rows[t.row[i].argument].is.name), a, e))
            return -1;
    *name = json_string_value(json_object_get(config, "name"));
    if (*name)
        *name = arena_strdup(a, *name);
    return arguments_check(with, t, kind, owner, e);
}
