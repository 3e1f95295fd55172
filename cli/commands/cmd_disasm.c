/* `systole disasm`: prints a program as assembly text that assembles to the same program. */
#include "cli/commands/cli.h"

#include "base/outfile.h"
#include "cli/common/options.h"
#include "cli/common/program.h"
#include "isa/disasm.h"

#include <stdio.h>

struct arguments {
    const char *input, *output;
};

static const struct argp_option options[] = {
    { "output", 'o', "FILE", 0, "text file to write (default: standard output)", 0 },
    { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 'o':
        args->output = arg;
        return 0;
    default:
        return cli_parse_program(&args->input, false, key, arg, state);
    }
}

static const struct argp parser = {
    options, parse_option, "PROGRAM",
    "Print an object file as assembly.\v"
    "Assembling what is printed gives the same program. PROGRAM may also be assembly text, "
    "which comes out in standard form.\n\n"
    "Example:\n  systole disasm add.syso -o add.tasm",
    NULL, NULL, NULL
};

static int print_to_file(const struct isa_program *program, const char *path)
{
    struct outfile f;
    struct err e;

    if (outfile_begin(&f, path, &e))
        return cli_fail(&e);
    isa_print_program(program, f.to);
    return outfile_commit(&f, &e) ? cli_fail(&e) : 0;
}

int cmd_disasm(int argc, char **argv)
{
    struct arguments args = { 0 };
    struct isa_program program;
    struct arena a;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    status = cli_load_program(args.input, &a, &program);
    if (status == 0 && args.output)
        status = print_to_file(&program, args.output);
    else if (status == 0)
        isa_print_program(&program, stdout);
    arena_fini(&a);
    return status;
}
