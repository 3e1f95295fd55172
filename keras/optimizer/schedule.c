/* Names learning-rate schedules and their arguments, checks them, and reads them from JSON. */
#include "keras/optimizer/schedule.h"

#include "base/text.h"
#include "base/units.h"
#include "keras/call/call.h"
#include "keras/call/number.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NEEDED NAN
#define NO NAN
#define ARGUMENTS_MAX 8
#define RATE_MAX 1e6
#define SHORTEST_RISE 1.01

static const struct hyperparameter numbers[SCHEDULE_NUMBER_COUNT] = {
#define NUMBER(id, name, kind, low, high) {name, kind, low, high, NULL},
#include "keras/optimizer/schedules.def"
};

static const char *const names[SCHEDULE_COUNT] = {
    [SCHEDULE_NONE] = "none",
#define SCHEDULE(id, name, meaning) [SCHEDULE_##id] = name,
#include "keras/optimizer/schedules.def"
};

static const char *const meanings[SCHEDULE_COUNT] = {
#define SCHEDULE(id, name, meaning) [SCHEDULE_##id] = meaning,
#include "keras/optimizer/schedules.def"
};

static const struct {
    enum schedule_kind kind;
    enum schedule_number number;
    double value;
} arguments[] = {
#define ARGUMENT(schedule, number, value) {SCHEDULE_##schedule, SCHEDULE_##number, value},
#include "keras/optimizer/schedules.def"
};

const char *schedule_name(enum schedule_kind kind)
{
    return names[kind];
}

int schedule_find(const char *name, enum schedule_kind *kind, struct err *e)
{
    for (int i = SCHEDULE_NONE + 1; i < SCHEDULE_COUNT; i++)
        if (number_same_name(name, names[i])) {
            *kind = (enum schedule_kind)i;
            return 0;
        }
    return err_set(e, "no schedule \"%.40s\"%s", name,
                   text_did_you_mean(name, names + 1, SCHEDULE_COUNT - 1).text);
}

void schedule_init(struct lr_schedule *s, enum schedule_kind kind)
{
    memset(s, 0, sizeof(*s));
    s->kind = kind;
    for (int i = 0; i < SCHEDULE_NUMBER_COUNT; i++)
        s->number[i] = NAN;
    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if (arguments[i].kind == kind)
            s->number[arguments[i].number] = arguments[i].value;
}

/* names of its arguments in order, NULL behind them */
static size_t list_arguments(enum schedule_kind kind, const char *list[ARGUMENTS_MAX + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if (arguments[i].kind == kind)
            list[count++] = numbers[arguments[i].number].name;
    if (kind == SCHEDULE_PIECEWISE_CONSTANT_DECAY) {
        list[count++] = "boundaries";
        list[count++] = "values";
    }
    assert(count <= ARGUMENTS_MAX);
    list[count] = NULL;
    return count;
}

/* -1: it takes none of this name */
static int find_argument(const struct lr_schedule *s, const char *name,
                         enum schedule_number *number, struct err *e)
{
    const char *list[ARGUMENTS_MAX + 1];

    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if (arguments[i].kind == s->kind &&
            strcmp(numbers[arguments[i].number].name, name) == 0) {
            *number = arguments[i].number;
            return 0;
        }
    return err_set(e, "%s has no \"%.40s\"%s", names[s->kind], name,
                   text_did_you_mean(name, list, list_arguments(s->kind, list)).text);
}

static int check_pieces(const struct lr_schedule *s, struct err *e)
{
    if (s->boundary_count < 1)
        return err_set(e, "%s: boundaries and values are needed", names[s->kind]);
    for (int i = 0; i < s->boundary_count; i++)
        if (s->boundary[i] <= (i ? s->boundary[i - 1] : -1) || s->boundary[i] == INT32_MAX)
            return err_set(e, "%s: boundaries are to rise from 0 to 2^31 - 2, number %d is %d",
                           names[s->kind], i + 1, s->boundary[i]);
    for (int i = 0; i <= s->boundary_count; i++)
        if (!(s->value[i] >= 0 && s->value[i] <= RATE_MAX))
            return err_set(e, "%s: value %d is %g, allowed are 0..%g", names[s->kind], i + 1,
                           s->value[i], RATE_MAX);
    return 0;
}

int schedule_check(const struct lr_schedule *s, struct err *e)
{
    double rise = s->number[SCHEDULE_T_MUL];

    if (s->kind == SCHEDULE_NONE)
        return 0;
    if (s->kind == SCHEDULE_PIECEWISE_CONSTANT_DECAY)
        return check_pieces(s, e);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        enum schedule_number n = arguments[i].number;

        if (arguments[i].kind != s->kind || (isnan(s->number[n]) && n == SCHEDULE_WARMUP_TARGET))
            continue;
        if (isnan(s->number[n]))
            return err_set(e, "%s: %s is needed", names[s->kind], numbers[n].name);
        if (number_check(&numbers[n], names[s->kind], s->number[n], e))
            return -1;
    }
    if (s->kind == SCHEDULE_COSINE_DECAY_RESTARTS && rise > 1 && rise < SHORTEST_RISE)
        return err_set(e, "%s: t_mul is %g, allowed are 1 and %g..1e6", names[s->kind], rise,
                       SHORTEST_RISE);
    return 0;
}

static void print_default(enum schedule_number n, double value, FILE *to)
{
    if (n == SCHEDULE_WARMUP_TARGET)
        fprintf(to, "=None");
    else if (numbers[n].kind == FLAG)
        fprintf(to, "=%s", value != 0 ? "True" : "False");
    else if (!isnan(value))
        fprintf(to, "=%.10g", value);
}

void schedule_print_list(FILE *to)
{
    for (int k = SCHEDULE_NONE + 1; k < SCHEDULE_COUNT; k++) {
        const char *list[ARGUMENTS_MAX + 1];
        size_t count = list_arguments((enum schedule_kind)k, list);
        struct lr_schedule s;

        schedule_init(&s, (enum schedule_kind)k);
        fprintf(to, "%s(", names[k]);
        for (size_t i = 0; i < count; i++) {
            enum schedule_number n = SCHEDULE_NUMBER_COUNT;
            struct err e;

            fprintf(to, "%s%s", i ? ", " : "", list[i]);
            if (k != SCHEDULE_PIECEWISE_CONSTANT_DECAY && find_argument(&s, list[i], &n, &e) == 0 &&
                n < SCHEDULE_NUMBER_COUNT)
                print_default(n, s.number[n], to);
        }
        fprintf(to, ")\n    %s\n", meanings[k]);
    }
}

/* ----- from JSON */

static int read_pieces(struct lr_schedule *s, const json_t *boundaries, const json_t *values,
                       struct arena *a, struct err *e)
{
    static const struct hyperparameter whole = {"boundaries", WHOLE, 0, INT32_MAX - 1, NULL};
    static const struct hyperparameter rate = {"values", REAL, 0, RATE_MAX, NULL};
    size_t count = json_array_size(boundaries);
    int32_t *boundary = arena_array(a, count + 1, sizeof(*boundary));
    double *value = arena_array(a, count + 1, sizeof(*value)), x = 0;

    if (count < 1 || json_array_size(values) != count + 1)
        return err_set(e, "%s: %zu boundaries need %zu values, not %zu", names[s->kind], count,
                       count + 1, json_array_size(values));
    for (size_t i = 0; i < count; i++) {
        if (number_read(&whole, names[s->kind], json_array_get(boundaries, i), &x, e))
            return -1;
        boundary[i] = (int32_t)x;
    }
    for (size_t i = 0; i <= count; i++)
        if (number_read(&rate, names[s->kind], json_array_get(values, i), &value[i], e))
            return -1;
    s->boundary = boundary;
    s->value = value;
    s->boundary_count = (int)count;
    return 0;
}

static int read_arguments(struct lr_schedule *s, json_t *config, struct err *e)
{
    bool has_pieces = s->kind == SCHEDULE_PIECEWISE_CONSTANT_DECAY;
    enum schedule_number n = SCHEDULE_INITIAL;
    const char *key;
    json_t *value;

    json_object_foreach(config, key, value) {
        if (strcmp(key, "name") == 0 ||
            (has_pieces && (strcmp(key, "boundaries") == 0 || strcmp(key, "values") == 0)))
            continue;
        if (find_argument(s, key, &n, e))
            return -1;
        if (json_is_null(value) && n == SCHEDULE_WARMUP_TARGET)
            continue;
        if (number_read(&numbers[n], names[s->kind], value, &s->number[n], e))
            return -1;
    }
    return 0;
}

static int read_config(struct lr_schedule *s, json_t *call, struct arena *a, struct err *e)
{
    const char *list[ARGUMENTS_MAX + 1];
    json_t *config = json_object_get(call, "config");

    list_arguments(s->kind, list);
    if (call_name_args(call, list, e) || read_arguments(s, config, e))
        return -1;
    if (s->kind == SCHEDULE_PIECEWISE_CONSTANT_DECAY &&
        read_pieces(s, json_object_get(config, "boundaries"), json_object_get(config, "values"),
                    a, e))
        return -1;
    return schedule_check(s, e);
}

int schedule_from_json(struct lr_schedule *s, const json_t *call, struct arena *a, struct err *e)
{
    const char *name = json_string_value(json_object_get(call, "class_name"));
    enum schedule_kind kind = SCHEDULE_NONE;
    json_t *copy;
    int status;

    if (!name || !json_is_object(json_object_get(call, "config")))
        return err_set(e, "a schedule needs \"class_name\" and \"config\"");
    if (schedule_find(name, &kind, e))
        return -1;
    schedule_init(s, kind);
    copy = json_deep_copy(call);
    status = read_config(s, copy, a, e);
    json_decref(copy);
    return status;
}
