/*
 * `systole debug`: opens a paused machine and runs the debugger's commands from scripts, arguments
 * or the terminal.
 */
#include "cli/commands/cli.h"

#include "cli/debug/debug.h"
#include "cli/common/run_setup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SCRIPT_MAX 32

/* where commands come from, in the order given */
struct script {
    const char *text;                   /* a file's name, or the command itself */
    bool is_file;
};

struct arguments {
    struct run_options run;
    struct script script[SCRIPT_MAX];
    int script_count;
};

static int add_script(struct arguments *args, const char *text, bool is_file, struct err *e)
{
    if (args->script_count == SCRIPT_MAX)
        return err_set(e, "at most %d scripts and commands", SCRIPT_MAX);
    args->script[args->script_count++] = (struct script){text, is_file};
    return 0;
}

static int add_file(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    (void)o;
    return add_script(values, text, true, e);
}

static int add_command(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    (void)o;
    return add_script(values, text, false, e);
}

static const struct cli_option options[] = {
    {"script", 'x', "FILE", "run the commands in FILE; may be repeated", 6, CLI_OTHER,
     .parse = add_file},
    {"command", 0, "COMMAND", "run a command; may be repeated", 6, CLI_OTHER,
     .parse = add_command},
    {0}};

static const struct cli_part parts[] = {
    {&cli_run_options, offsetof(struct arguments, run)}, {0}};

static const struct cli_syntax syntax = {
    .own = {.row = options, .part = parts}, .noun = "program",
    .noun_at = offsetof(struct arguments, run.program),
    .args_doc = "PROGRAM\n--from-dump=FILE\n--resume=FILE",
    .doc =
    "Step through a program on simulated TPU cores and look at everything.\v"
    "Commands come from --script and --command, then from the terminal; from standard input "
    "where that is none and neither is given. \"help\" lists them, docs/debug.md has a session.\n\n"
    "Exit status: 1 when a command of a script is wrong or an assertion false.\n\n"
    "Example, what the third bundle of the loop waits for:\n"
    "  systole debug examples/03_double_buffered_matmul.tasm --command 'break op vmatmul' \\\n"
    "      --command continue --command where --command 'info stalls'"};

static int run_script(struct debugger *d, const struct script *s)
{
    struct err e;
    FILE *from;
    int status;

    if (!s->is_file) {
        if (debug_execute(d, s->text, &e) == 0)
            return 0;
        fflush(d->out);
        fprintf(stderr, "systole: %s: %s\n", s->text, e.msg);
        return EXIT_USER_ERROR;
    }
    from = fopen(s->text, "r");
    if (!from) {
        err_set(&e, "%s: %s", s->text, strerror(errno));
        return cli_fail(&e);
    }
    status = debug_run_file(d, from, s->text);
    fclose(from);
    return status;
}

static void on_interrupt(int signal)
{
    (void)signal;
    debug_interrupt();
}

static int run_commands(struct debugger *d, const struct arguments *args)
{
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    int status = 0;

    if (is_terminal)
        sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    for (int i = 0; i < args->script_count && status == 0 && !d->quits; i++)
        status = run_script(d, &args->script[i]);
    if (status == 0 && is_terminal)
        debug_run_terminal(d, stdin);
    else if (status == 0 && args->script_count == 0)
        status = debug_run_file(d, stdin, "stdin");
    return status;
}

static int debug(struct run_setup *s, const struct arguments *args)
{
    struct debug_options o = {.out = stdout, .has_colour = isatty(STDOUT_FILENO),
                              .has_files = true, .is_started = args->run.resume != NULL,
                              .title = run_setup_title(s)};
    struct debugger *d = arena_alloc(&s->arena, sizeof(*d));
    int status;

    if (args->run.from.path)
        from_dump_print_header(&s->dump, stdout);
    debug_open(d, s->m, &o);
    debug_print_welcome(d);
    status = run_commands(d, args);
    debug_close(d);
    return status;
}

int cmd_debug(int argc, char **argv)
{
    struct arguments args = {.run = RUN_OPTIONS_DEFAULT};
    struct run_setup s;
    int status = 0;
    struct err e;

    cli_parse(&syntax, argc, argv, &args);
    args.run.engine.no_memo = true;     /* every iteration can be stopped in */
    if (run_setup_read(&s, &args.run) || run_setup_open(&s, &e) || run_setup_load(&s, &e))
        status = s.is_told ? EXIT_USER_ERROR : cli_fail(&e);
    else
        status = debug(&s, &args);
    run_setup_fini(&s);
    return status;
}
