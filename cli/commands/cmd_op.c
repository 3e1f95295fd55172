/* `systole op` times one operation. */
#include "cli/commands/cli.h"

#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"

#include <stdlib.h>

struct arguments {
    struct op_request request;
    const char *shape[OP_SHAPES_MAX];   /* as they were written */
    struct op_options run;
};

#define AT(member) CLI_AT(struct arguments, member)

static int list_operations(const struct cli_option *o, const char *text, void *values,
                           struct err *e)
{
    (void)o;
    (void)text;
    (void)values;
    (void)e;
    op_graph_list(stdout);
    exit(0);
}

static const struct cli_option options[] = {
    {"assume-index", 0, "WHAT",
     "rows that gathers and scatters ask for: uniform (default), zipf, or a file of numbers", 1,
     CLI_TEXT, AT(run.assume_index)},
    {"list", 0, NULL, "list the operations, and exit", 1, CLI_OTHER, .parse = list_operations},
    {0}};

static int take_word(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->request.name) {
        args->shape[args->request.shape_count % OP_SHAPES_MAX] = text;
        return op_request_take_shape(&args->request, text, e);
    }
    args->request.name = text;
    return 0;
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->request.name ? 0 : err_set(e, "which operation? e.g. softmax 512x512; --list "
                                            "tells all");
}

static const struct cli_part parts[] = {
    {&op_request_options, offsetof(struct arguments, request)},
    {&cli_op_options, offsetof(struct arguments, run)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .argument = take_word, .args_doc = "NAME SHAPE [SHAPE…]",
    .doc =
    "Time one operation on a simulated core: its kernels, how well its units are used, what bounds "
    "it, and where it lies under the roof.\v"
    "Shapes are sizes, e.g. 8x128x256. The operation is compiled as in a program of its own, with "
    "operands and results in HBM.\n\n"
    "Examples:\n"
    "  systole op softmax 512x512 --tpu v3\n"
    "  systole op transpose 16x256x1024 --dims 0,2,1 --tpu v5e\n"
    "  systole op dot 12x512x64 12x64x512 --tpu v6e --codegen best\n"
    "  systole op max-pool 32x112x112x64 --window 3x3 --stride 2 --tpu v4\n"
    "  systole op gather 30522x768 4096\n"
    "  systole op --list"};

static int make(const void *values, struct arena *a, struct graph **g, const char **title,
                struct err *e)
{
    const struct arguments *args = values;

    *title = args->request.name;
    for (int i = 0; i < args->request.shape_count; i++)
        *title = arena_printf(a, "%s %s", *title, args->shape[i]);
    return op_graph(&args->request, a, g, e);
}

int cmd_op(int argc, char **argv)
{
    static const struct op_command command = {&syntax, make};
    struct arguments args = {.request = OP_REQUEST_DEFAULT,
                             .run = OP_OPTIONS_DEFAULT};

    return op_command_run(&command, argc, argv, &args, &args.run);
}
