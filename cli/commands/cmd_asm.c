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

#define KEY_ISA_DOC 256

static const struct argp_option options[] = {
    { "output", 'o', "FILE", 0, "object file to write (default: PROGRAM with .syso)", 0 },
    { "isa-doc", KEY_ISA_DOC, NULL, 0, "print the instruction set as Markdown instead", 0 },
    { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 'o':
        args->output = arg;
        return 0;
    case KEY_ISA_DOC:
        args->print_doc = true;
        return 0;
    default:
        return cli_parse_program(&args->input, args->print_doc, key, arg, state);
    }
}

static const struct argp parser = {
    options, parse_option, "PROGRAM.tasm",
    "Assemble a program to an object file.\v"
    "Up to 20 errors are shown, each with its line and a caret.\n\n"
    "Example:\n  systole asm examples/01_vector_add.tasm -o add.syso",
    NULL, NULL, NULL
};

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

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    if (args.print_doc) {
        isa_print_markdown(stdout);
        return 0;
    }
    return assemble(&args);
}
