/* `systole train`: reads the options and hands the run to cli/train/. */
#include "cli/commands/cli.h"
#include "cli/train/train.h"

/* returns the exit status */
static int train(const struct train_options *o)
{
    struct train_run t = {.options = o, .began_s = progress_seconds()};
    struct err e;
    int status;

    arena_init(&t.arena);
    status = train_setup(&t, &e) || train_check_memory(&t, &e) ? -1 : 0;
    if (!status) {
        train_print_header(&t);
        status = train_loop(&t, &e);
    }
    if (!status)
        status = train_save(&t, &e);    /* before the report, which takes one more step */
    if (!status)
        status = train_report(&t, &e);
    if (status) {
        status = cli_fail(&e);
        if (t.machine)
            machine_print_deadlock(t.machine, stderr);
    }
    train_fini(&t);
    return status ? status : train_was_interrupted();
}

int cmd_train(int argc, char **argv)
{
    struct train_options o;
    struct arena texts;
    struct err e;
    int status;

    arena_init(&texts);
    if (train_options_read(&o, &texts, argc, argv, &e))
        status = cli_fail(&e);
    else
        status = train(&o);
    arena_fini(&texts);
    return status;
}
