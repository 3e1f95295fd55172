/*
 * Reads the weights that a training starts from, or that are evaluated, and leaves those that a
 * training ends with.
 */
#include "cli/train/train.h"

#include "base/text.h"
#include "files/weights.h"

int train_load_weights(struct train_run *t, struct err *e)
{
    bool is_own = !train_value(t, OPT_WEIGHTS)->is_given;
    const char *path = is_own ? t->options->model_path : train_value(t, OPT_WEIGHTS)->text;
    struct weights_value *value;
    struct arena a;
    struct err why;
    int count, status;

    if (is_own && t->options->task == TASK_TRAIN)
        return 0;                       /* a training begins anew unless told otherwise */
    arena_init(&a);
    if (is_own && weights_list(&t->model, &a, &value) == 0) {
        arena_fini(&a);                 /* there are none that the file could lack */
        return 0;
    }
    status = weights_read(path, &t->model, &a, &value, &count, e);
    for (int i = 0; i < count && status == 0; i++)
        status = strategy_write(fit_strategy(t->fit), value[i].variable, value[i].value, e);
    arena_fini(&a);
    if (status && is_own) {
        why = *e;
        err_at(e, why.file, why.line, why.col, "%s; --weights FILE takes others", why.msg);
    }
    return status;
}

int train_save(struct train_run *t, struct err *e)
{
    const char *path = train_value(t, OPT_SAVE)->text;
    struct weights_value *value;
    struct arena a;
    int count, status = 0;

    if (!*path)
        return 0;
    arena_init(&a);
    count = weights_list(&t->model, &a, &value);
    for (int i = 0; i < count && status == 0; i++) {
        const struct shape *s = &t->variables.variable[value[i].variable].shape;
        float *to = arena_array(&a, (size_t)shape_elems(s), sizeof(*to));

        value[i].value = to;
        status = strategy_read(fit_strategy(t->fit), value[i].variable, to, e);
    }
    if (status == 0)
        status = weights_write(path, &t->model, t->file.config, value, count, e);
    arena_fini(&a);
    if (status == 0)
        printf("weights in %s\n", path);
    return status;
}
