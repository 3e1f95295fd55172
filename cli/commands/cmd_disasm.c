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

static const struct cli_option rows[] = {
    {"output", 'o', "FILE", "text file to write (default: standard output)", 1, CLI_TEXT,
     CLI_AT(struct arguments, output)},
    {0}};

static const struct cli_syntax syntax = {
    .own.row = rows, .noun = "program", .noun_at = offsetof(struct arguments, input),
    .noun_hint = "", .args_doc = "PROGRAM",
    .doc = "Print an object file as assembly.\v"
           "Assembling what is printed gives the same program. PROGRAM may also be assembly text, "
           "which comes out in standard form.\n\n"
           "Example:\n  systole disasm add.syso -o add.tasm"};

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

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = cli_load_program(args.input, &a, &program);
    if (status == 0 && args.output)
        status = print_to_file(&program, args.output);
    else if (status == 0)
        isa_print_program(&program, stdout);
    arena_fini(&a);
    return status;
}
