/*
 * `systole debug`: opens a paused machine and runs the debugger's commands from scripts, arguments
 * or the terminal.
 */
#include "cli/commands/cli.h"

#include "cli/debug/debug.h"
#include "cli/common/run_setup.h"

#include <argp.h>
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

enum { KEY_COMMAND = 256, KEY_RESUME };

static const struct argp_option options[] = {
    {"resume", KEY_RESUME, "FILE", 0, "begin at a snapshot, instead of PROGRAM", 4},
    {"script", 'x', "FILE", 0, "run the commands in FILE; may be repeated", 6},
    {"command", KEY_COMMAND, "COMMAND", 0, "run a command; may be repeated", 6},
    {0}};

static void add_script(struct arguments *args, const char *text, bool is_file,
                       struct argp_state *state)
{
    if (args->script_count == SCRIPT_MAX)
        argp_error(state, "at most %d scripts and commands may be given", SCRIPT_MAX);
    args->script[args->script_count++] = (struct script){text, is_file};
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->run;
        return 0;
    case 'x': add_script(args, arg, true, state); return 0;
    case KEY_RESUME: args->run.resume = arg; return 0;
    case KEY_COMMAND: add_script(args, arg, false, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_run_argp, 0, NULL, 0}, {0}};

static const struct argp parser = {
    options, parse_option, "PROGRAM\n--from-dump=FILE\n--resume=FILE",
    "Step through a program on simulated TPU cores and look at everything.\v"
    "Commands come from --script and --command, then from the terminal; from standard input "
    "where that is none and neither is given. \"help\" lists them, docs/debug.md has a session.\n\n"
    "Exit status: 1 when a command of a script is wrong or an assertion false.\n\n"
    "Example, what the third bundle of the loop waits for:\n"
    "  systole debug examples/03_double_buffered_matmul.tasm --command 'break op vmatmul' \\\n"
    "      --command continue --command where --command 'info stalls'",
    children, NULL, NULL};

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

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    args.run.engine.no_memo = true;     /* every iteration can be stopped in */
    if (run_setup_read(&s, &args.run) || run_setup_open(&s, &e) || run_setup_load(&s, &e))
        status = s.is_told ? EXIT_USER_ERROR : cli_fail(&e);
    else
        status = debug(&s, &args);
    run_setup_fini(&s);
    return status;
}
