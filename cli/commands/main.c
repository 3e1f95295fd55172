/* Finds the command that `systole COMMAND ...` names, and runs it. */
#include "commit.h"                    /* made by tools/commit.sh */

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/cli.h"
#include "cli/common/scratch.h"
#include "include/systole/status.h"
#include "sim/lanes/simd.h"

struct command {
    const char *name, *invocation, *summary;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
#define COMMAND(name, summary) {#name, "systole " #name, summary, cmd_##name},
#include "cli/commands/commands.def"
};

static void print_help(FILE *to)
{
    fputs("Usage: systole COMMAND [OPTION...]\n"
          "Simulates TPU cores, chips and slices, and trains networks on them.\n\n", to);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  systole COMMAND --help   options of a command, with an example\n"
          "  systole --version        print the version\n"
          "  systole --version --json commit and SIMD path, too\n\n"
          "Exit status: 0 done, 1 something is wrong with the input, 2 wrong usage.\n", to);
}

static int fail_unknown(const char *name)
{
    const char *names[COUNT_OF(commands)];

    for (size_t i = 0; i < COUNT_OF(commands); i++)
        names[i] = commands[i].name;
    fprintf(stderr, "systole: unknown %s \"%s\"%s; see systole --help\n",
            name[0] == '-' ? "option" : "command", name,
            text_did_you_mean(name, names, COUNT_OF(names)).text);
    return EXIT_USAGE;
}

static char help[] = "--help";

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "-h") == 0;
}

/* argv[0] is the command's name */
static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(argv[0], commands[i].name) == 0) {
            char invocation[32];

            snprintf(invocation, sizeof(invocation), "%s", commands[i].invocation);
            argv[0] = invocation;
            if (argc > 1 && strcmp(argv[1], "-h") == 0)
                argv[1] = help;
            return commands[i].run(argc, argv);
        }
    return fail_unknown(argv[0]);
}

static int print_version_json(void)
{
    struct err e;
    const struct simd_path *path = simd_select("auto", &e);

    if (!path)
        return cli_fail(&e);
    printf("{\"version\": \"%s\", \"commit\": \"%s\", \"simd\": \"%s\"}\n", SY_VERSION,
           SYSTOLE_COMMIT, path->name);
    return 0;
}

/* argv[0] is "--version" */
static int print_version(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--json") == 0)
        return print_version_json();
    if (argc > 1) {
        fprintf(stderr, "systole: %s takes --json or nothing, not \"%s\"\n", argv[0],
                argv[argc - 1]);
        return EXIT_USAGE;
    }
    puts("systole " SY_VERSION);
    return 0;
}

int main(int argc, char **argv)
{
    argp_err_exit_status = EXIT_USAGE;
    outfile_watch_stdout("systole");
    json_set_alloc_funcs(mem_alloc_unset, mem_free);    /* as for our own memory: none is the end */
    if (getenv(CLI_WRITES_BELOW))
        outfile_confine(getenv(CLI_WRITES_BELOW));
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (argc == 3 && strcmp(argv[1], "help") == 0)
        return run_command(2, (char *[]){argv[2], help, NULL});
    if (asks_for_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return print_version(argc - 1, argv + 1);
    return run_command(argc - 1, argv + 1);
}
