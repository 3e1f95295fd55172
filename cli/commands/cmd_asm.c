/*
 * `systole asm`: assembles a text into an object file, or prints the document of the instruction
 * set.
 */
#include "cli/commands/cli.h"
#include "cli/common/options.h"
#include "cli/common/program.h"
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

static const struct cli_option rows[] = {
    {"output", 'o', "FILE", "object file to write (default: PROGRAM with .syso)", 1, CLI_TEXT,
     AT(output)},
    {"isa-doc", 0, NULL, "print the instruction set as Markdown instead", 1, CLI_FLAG,
     AT(print_doc)},
    {0}};

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->input || args->print_doc ? 0 : err_set(e, "which program?");
}

static const struct cli_syntax syntax = {
    .own = {.row = rows, .check = check}, .noun = "program",
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

static int assemble(const struct arguments *args)
{
    const char *output = args->output;
    struct isa_program program;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    status = cli_load_program(args->input, &a, &program);
    if (status == 0) {
        if (!output)
            output = default_output(args->input, &a);
        if (isa_object_write(&program, output, &e))
            status = cli_fail(&e);
        else
            printf("%s: %u bundles, %u operations\n", output, program.bundle_count,
                   program.op_count);
    }
    arena_fini(&a);
    return status;
}

int cmd_asm(int argc, char **argv)
{
    struct arguments args = { 0 };

    cli_parse(&syntax, argc, argv, &args);
    if (args.print_doc) {
        isa_print_markdown(stdout);
        return 0;
    }
    return assemble(&args);
}
