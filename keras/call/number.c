/* Checks a number that has a name against its range, and words the message. */
#include "keras/call/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "keras/call/call.h"

#define NAMES_MAX 12

char *number_range(const struct hyperparameter *n, char *buf, size_t buf_bytes)
{
    if (n->kind == FLAG)
        snprintf(buf, buf_bytes, "0 and 1");
    else
        text_print(buf, buf_bytes, "%s%.10g..%.10g", n->kind == WHOLE ? "whole numbers in " : "",
                 n->low, n->high);
    return buf;
}

int number_check(const struct hyperparameter *n, const char *owner, double value, struct err *e)
{
    char range[64];

    if (value >= n->low && value <= n->high && (n->kind == REAL || value == floor(value)))
        return 0;
    return err_set(e, "%s: %s is %.10g, allowed are %s", owner, n->name, value,
                   number_range(n, range, sizeof(range)));
}

/* the place of a word among those of "a|b|c"; -1: it is none of them */
static int find_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (int i = 0; words; i++) {
        size_t is = strcspn(words, "|");

        if (is == length && strncmp(words, word, length) == 0)
            return i;
        words = words[is] ? words + is + 1 : NULL;
    }
    return -1;
}

static int read_choice(const struct hyperparameter *n, const char *owner, const json_t *json,
                       double *value, struct err *e)
{
    const char *word = json_string_value(json);
    int at = word ? find_word(n->meaning, word) : -1;

    *value = at;
    return at >= 0 ? 0 : err_set(e, "%s: %s is %s, allowed are %s", owner, n->name,
                                 word ? word : "no word", n->meaning);
}

int number_read(const struct hyperparameter *n, const char *owner, const json_t *json,
                double *value, struct err *e)
{
    if (n->kind == CHOICE)
        return read_choice(n, owner, json, value, e);
    if (json_is_boolean(json))
        *value = json_is_true(json);
    else if (json_is_number(json))
        *value = json_number_value(json);
    else
        return err_set(e, "%s: %s is no number", owner, n->name);
    return number_check(n, owner, *value, e);
}

void number_table_standard(const struct number_table *t, int kind, void *to)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->row[i].kind == kind)
            memcpy((char *)to + t->row[i].offset, &t->row[i].standard, sizeof(double));
}

const char *number_table_name(const json_t *v)
{
    return json_string_value(json_is_object(v) ? json_object_get(v, "class_name") : v);
}

/* names of the kind's arguments in order, NULL behind them */
static void list_names(const struct number_table *t, int kind, const char *names[NAMES_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < t->count; i++)
        if (t->row[i].kind == kind && count + 1 < NAMES_MAX)
            names[count++] = t->row[i].is.name;
    for (size_t i = 0; t->others && t->others[i] && count + 1 < NAMES_MAX; i++)
        names[count++] = t->others[i];
    names[count] = NULL;
}

static int read_call(const struct number_table *t, int kind, json_t *call, void *to,
                     struct err *e)
{
    const char *names[NAMES_MAX], *class = number_table_name(call);
    double value;

    list_names(t, kind, names);
    if (call_name_args(call, names, e) || call_check_names(call, names, e))
        return -1;
    for (size_t i = 0; i < t->count; i++) {
        const struct number_field *f = &t->row[i];
        const json_t *v = json_object_get(json_object_get(call, "config"), f->is.name);

        if (f->kind != kind || !v || json_is_null(v))
            continue;
        if (number_read(&f->is, class, v, &value, e))
            return -1;
        memcpy((char *)to + f->offset, &value, sizeof(value));
    }
    return 0;
}

int number_table_read(const struct number_table *t, int kind, const json_t *v, void *to,
                      struct err *e)
{
    json_t *call;
    int status;

    number_table_standard(t, kind, to);
    if (!json_is_object(v))
        return 0;
    call = json_deep_copy(v);
    if (!json_is_object(json_object_get(call, "config")))
        json_object_set_new(call, "config", json_object());
    status = read_call(t, kind, call, to, e);
    json_decref(call);
    return status;
}

int number_same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return 0;
    return *a == *b;
}
