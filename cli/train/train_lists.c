/*
 * Reads lists of the options of `systole train`: texts that commas part, callbacks, weights of
 * classes.
 */
#include <string.h>

#include "base/text.h"
#include "cli/train/train.h"

#define CLASSES_MAX 65536

char *train_cut_text(char **text)
{
    char *at, quote = 0;
    int depth = 0;

    *text += strspn(*text, ", \t\n");
    for (at = *text; *at && (depth > 0 || !strchr(", \t\n", *at)); at++) {
        if (quote)
            quote = *at == quote ? 0 : quote;
        else if (depth > 0 && strchr("'\"", *at))
            quote = *at;
        else
            depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
    }
    if (at == *text)
        return NULL;
    if (*at)
        *at++ = '\0';
    return at;
}

/* "3=0.5" */
static int read_weight(struct train_run *t, char *text, struct err *e)
{
    char *equals = strchr(text, '=');
    int64_t class;
    double weight;

    if (equals)
        *equals = '\0';
    if (!equals || text_parse_int(text, 0, CLASSES_MAX - 1, &class) ||
        text_parse_double(equals + 1, -1e30, 1e30, &weight))
        return err_set(e, "--class-weight \"%s%s%s\" is no CLASS=WEIGHT; classes are 0..%d", text,
                       equals ? "=" : "", equals ? equals + 1 : "", CLASSES_MAX - 1);
    for (; t->class_count <= class; t->class_count++)
        t->class_weight[t->class_count] = 1.0;
    t->class_weight[class] = weight;
    return 0;
}

/* numbers of an array, one for each class */
static int read_file(struct train_run *t, const char *path, struct err *e)
{
    struct data_element *x = train_read_npy(&path, 1, e);
    int status = 0;

    if (!x)
        return -1;
    if (x->tensor[0].spec.rank != 1 || x->tensor[0].spec.dtype != DATA_F32 ||
        x->tensor[0].spec.dim[0] > CLASSES_MAX)
        status = err_at(e, path, 0, 0, "is no list of at most %d floats, one for each class",
                        CLASSES_MAX);
    for (int64_t i = 0; status == 0 && i < x->tensor[0].spec.dim[0]; i++)
        t->class_weight[t->class_count++] = (double)((const float *)x->tensor[0].data)[i];
    element_release(x);
    return status;
}

int train_read_class_weights(struct train_run *t, struct err *e)
{
    char *text = arena_strdup(&t->arena, train_value(t, OPT_CLASS_WEIGHT)->text), *rest;
    size_t length = strlen(text);

    if (!length)
        return 0;
    t->class_weight = arena_array(&t->arena, CLASSES_MAX, sizeof(*t->class_weight));
    if (length > 4 && strcmp(text + length - 4, ".npy") == 0)
        return read_file(t, text, e);
    for (; (rest = train_cut_text(&text)) != NULL; text = rest)
        if (read_weight(t, text, e))
            return -1;
    return 0;
}

int train_read_callbacks(struct train_run *t, struct err *e)
{
    char *text = arena_strdup(&t->arena, train_value(t, OPT_CALLBACKS)->text), *rest;
    struct err why;

    t->callbacks.callback = arena_array(&t->arena, strlen(text) + 1,
                                        sizeof(*t->callbacks.callback));
    for (; (rest = train_cut_text(&text)) != NULL; text = rest)
        if (callback_from_text(&t->callbacks, text, &t->arena, &why))
            return err_set(e, "--callbacks %s: %s", text, why.msg);
    return 0;
}
