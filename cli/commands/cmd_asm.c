/* systole asm and systole disasm: programs as text and as object files. */
#include "cli/commands/cli.h"

#include "base/outfile.h"
#include "cli/common/options.h"
#include "cli/common/program.h"
#include "isa/disasm.h"
#include "isa/doc.h"
#include "isa/object.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *input, *output;
    bool print_doc;
};

#define AT(member) CLI_AT(struct arguments, member)

/* the program of a command, then what the command does with it */
static int with_program(const struct arguments *args,
                        int (*use)(const struct isa_program *program, const struct arguments *args,
                                   struct arena *a, struct err *e))
{
    struct isa_program program;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    status = cli_load_program(args->input, &a, &program);
    if (status == 0 && use(&program, args, &a, &e))
        status = cli_fail(&e);
    arena_fini(&a);
    return status;
}

/* ----- asm */

static const struct cli_option asm_rows[] = {
    {"output", 'o', "FILE", "object file to write (default: PROGRAM with .syso)", 1, CLI_TEXT,
     AT(output)},
    {"isa-doc", 0, NULL, "print the instruction set as Markdown instead", 1, CLI_FLAG,
     AT(print_doc)},
    {0}};

static int check_asm(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->input || args->print_doc ? 0 : err_set(e, "which program?");
}

static const struct cli_syntax asm_syntax = {
    .own = {.row = asm_rows, .check = check_asm}, .noun = "program",
    .noun_at = offsetof(struct arguments, input), .args_doc = "PROGRAM.tasm",
    .doc = "Assemble a program to an object file.\v"
           "Up to 20 errors are shown, each with its line and a caret.\n\n"
           "Example:\n  systole asm examples/01_vector_add.tasm -o add.syso"};

/* "dir/prog.tasm" -> "dir/prog.syso" */
static const char *default_output(const char *input, struct arena *a)
{
    const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : input) ? (size_t)(dot - input) : strlen(input);

    return arena_printf(a, "%.*s.syso", (int)stem, input);
}

static int write_object(const struct isa_program *program, const struct arguments *args,
                        struct arena *a, struct err *e)
{
    const char *output = args->output ? args->output : default_output(args->input, a);

    if (isa_object_write(program, output, e))
        return -1;
    printf("%s: %u bundles, %u operations\n", output, program->bundle_count, program->op_count);
    return 0;
}

int cmd_asm(int argc, char **argv)
{
    struct arguments args = {0};

    cli_parse(&asm_syntax, argc, argv, &args);
    if (!args.print_doc)
        return with_program(&args, write_object);
    isa_print_markdown(stdout);
    return 0;
}

/* ----- disasm */

static const struct cli_option disasm_rows[] = {
    {"output", 'o', "FILE", "text file to write (default: standard output)", 1, CLI_TEXT,
     AT(output)},
    {0}};

static const struct cli_syntax disasm_syntax = {
    .own.row = disasm_rows, .noun = "program", .noun_at = offsetof(struct arguments, input),
    .noun_hint = "", .args_doc = "PROGRAM",
    .doc = "Print an object file as assembly.\v"
           "Assembling what is printed gives the same program. PROGRAM may also be assembly text, "
           "which comes out in standard form.\n\n"
           "Example:\n  systole disasm add.syso -o add.tasm"};

static int write_text(const struct isa_program *program, const struct arguments *args,
                      struct arena *a, struct err *e)
{
    struct outfile f = {.to = stdout};

    (void)a;
    if (args->output && outfile_begin(&f, args->output, e))
        return -1;
    isa_print_program(program, f.to);
    return args->output ? outfile_commit(&f, e) : 0;
}

int cmd_disasm(int argc, char **argv)
{
    struct arguments args = {0};

    cli_parse(&disasm_syntax, argc, argv, &args);
    return with_program(&args, write_text);
}
