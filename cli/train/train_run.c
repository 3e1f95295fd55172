/* Runs a training, an evaluation or a prediction from its command line to its end. */
#include "cli/train/train.h"

#include "cli/common/fail.h"

static int train(struct train_run *t, struct err *e)
{
    train_print_header(t);
    /* weights are left before the report, which takes one more step */
    if (train_loop(t, e) || train_save(t, e))
        return -1;
    return train_report(t, e);
}

static int (*const tasks[])(struct train_run *t, struct err *e) = {
    [TASK_TRAIN] = train, [TASK_EVALUATE] = train_evaluate, [TASK_PREDICT] = train_predict};

/* returns the exit status */
static int run(const struct train_options *o)
{
    struct train_run t = {.options = o, .began_s = progress_seconds()};
    struct err e;
    int status;

    arena_init(&t.arena);
    status = train_setup(&t, &e) || train_check_memory(&t, &e) ? -1 : 0;
    if (!status)
        status = tasks[o->task](&t, &e);
    if (status) {
        status = cli_fail(&e);
        if (t.machine)
            machine_print_deadlock(t.machine, stderr);
    }
    train_fini(&t);
    return status ? status : train_was_interrupted();
}

int train_run(int argc, char **argv, enum train_task task)
{
    struct train_options o;
    struct arena texts;
    struct err e;
    int status;

    arena_init(&texts);
    if (train_options_read(&o, task, &texts, argc, argv, &e))
        status = cli_fail(&e);
    else
        status = run(&o);
    arena_fini(&texts);
    return status;
}
