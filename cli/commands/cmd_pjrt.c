/* systole pjrt: the library that JAX and PyTorch/XLA load, its variables, and what is wrong. */
#include "cli/commands/cli.h"

#include "cli/common/options.h"
#include "cli/python/python.h"

#include <stdio.h>

struct arguments {
    bool wants_path, wants_env, wants_check;
    struct python_options options;
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_env(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    (void)o;
    (void)e;
    args->wants_env = true;
    args->options.tpu = *text ? text : NULL;
    return 0;
}

static const struct cli_option options[] = {
    {"path", 0, NULL, "print where the library is", 1, CLI_FLAG, AT(wants_path)},
    {"env", 0, "SLICE", "print the variables for a slice, for a shell's eval; without it print "
     "those for SYSTOLE_TPU, else for " PYTHON_TPU, 1, CLI_OTHER, .is_arg_optional = true,
     .parse = parse_env},
    {"check", 0, NULL, "load the library as JAX does, and say what is wrong: library, Python, JAX, "
     "interface, devices", 1, CLI_FLAG, AT(wants_check)},
    {"python", 0, "PROGRAM", "with --check: the Python that has your JAX (default: PYTHON in the "
     "environment, else python3)", 2, CLI_TEXT, AT(options.python)},
    {0}};

static int take_slice(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (!args->wants_env && !args->wants_check)
        return err_set(e, "no argument expected: %s", text);
    if (args->options.tpu)
        return err_set(e, "only one slice may be given, not %s and %s", args->options.tpu, text);
    args->options.tpu = text;
    return 0;
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    if (args->wants_path + args->wants_env + args->wants_check != 1)
        return err_set(e, "one of --path, --env and --check is needed");
    return 0;
}

static const struct cli_syntax syntax = {
    .own = {.row = options, .check = check}, .argument = take_slice, .args_doc = "[SLICE]",
    .doc =
    "Tell where the library is that JAX and PyTorch/XLA load, which variables have them load it, or "
    "what is wrong with one of them.\v"
    "Examples:\n"
    "  eval \"$(systole pjrt --env v5e-8)\" && python3 train.py\n"
    "  TPU_LIBRARY_PATH=$(systole pjrt --path) SYSTOLE_TPU=v2-8 JAX_PLATFORMS=tpu,cpu python3 train.py\n"
    "  systole pjrt --check --python ~/venv/bin/python"};

/* in quotes that a shell takes whole */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

static int print_env(const struct python_options *o, struct arena *a, struct err *e)
{
    struct python_variable v[PYTHON_VARIABLES_MAX];
    int count;

    if (python_variables(o, a, v, &count, e))
        return -1;
    for (int i = 0; i < count; i++) {
        printf("export %s=", v[i].name);
        print_quoted(v[i].value);
        putchar('\n');
    }
    return 0;
}

static int print_path(struct arena *a, struct err *e)
{
    const char *path = python_library(a, e);

    if (!path)
        return -1;
    puts(path);
    return 0;
}

int cmd_pjrt(int argc, char **argv)
{
    struct arguments args = {.options.mode = -1};
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = args.wants_path ? print_path(&a, &e)
           : args.wants_env ? print_env(&args.options, &a, &e) : python_check(&args.options, &e);
    arena_fini(&a);
    return status < 0 ? cli_fail(&e) : status > 0 ? EXIT_USER_ERROR : 0;
}
