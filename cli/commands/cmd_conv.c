/* `systole conv` times one convolution, forward or a gradient. */
#include "cli/commands/cli.h"

#include "cli/graphs/conv_request.h"
#include "cli/operation/op_run.h"
#include "stack/hlo/rewrite.h"

static const char *const way_titles[CONV_WAYS] = {
    "", ", gradient by input", ", gradient by kernel", ", a layer's training step"};

struct arguments {
    struct op_options run;
    struct conv_request conv;
};

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->conv.shape_count == 2 ? 0 : err_set(e, "which sizes? an input and a kernel, e.g. "
                                           "64x28x28x128 3x3x128x128");
}

static int take_shape(void *values, const char *text, struct err *e)
{
    return conv_request_take_shape(&((struct arguments *)values)->conv, text, e);
}

static const struct cli_part parts[] = {
    {&conv_request_options, offsetof(struct arguments, conv)},
    {&cli_op_options, offsetof(struct arguments, run)}, {0}};

static const struct cli_syntax syntax = {
    .own = {NULL, parts, check}, .argument = take_shape, .args_doc = "NxHxWxC KHxKWxCxO",
    .doc =
    "Time one convolution on a simulated core, or one of its gradients: kernels, utilisation of "
    "the matrix units, what bounds it, and the roof.\v"
    "Input [batch, height, width, features], kernel [height, width, features of a group, output "
    "features].\n\n"
    "Examples:\n"
    "  systole conv 64x28x28x128 3x3x128x128 --pad 1 --tpu v3 --codegen best\n"
    "  systole conv 128x224x224x3 7x7x3x64 --stride 2 --pad 3 --tpu v5e\n"
    "  systole conv 128x56x56x64 3x3x64x64 --pad same --grad kernel --tpu v4\n"
    "  systole conv 32x56x56x144 3x3x1x144 --pad same --groups 144"};

static const char *title_of(const struct arguments *args, struct arena *a)
{
    const int64_t *i = args->conv.input, *k = args->conv.kernel;

    return arena_printf(a, "conv %lldx%lldx%lldx%lld by %lldx%lldx%lldx%lld%s",
                        (long long)i[0], (long long)i[1], (long long)i[2], (long long)i[3],
                        (long long)k[0], (long long)k[1], (long long)k[2], (long long)k[3],
                        way_titles[args->conv.way]);
}

static int make(const void *values, struct arena *a, struct graph **g, const char **title,
                struct err *e)
{
    const struct arguments *args = values;
    int status;

    *title = title_of(args, a);
    *g = arena_alloc(a, sizeof(**g));
    graph_init(*g, a, "conv");
    status = conv_request_graph(&args->conv, *g, e);
    graph_freeze(*g);
    return status;
}

int cmd_conv(int argc, char **argv)
{
    static const struct op_command command = {&syntax, make};
    struct arguments args = {.run = OP_OPTIONS_DEFAULT,
                             .conv = CONV_REQUEST_DEFAULT};

    return op_command_run(&command, argc, argv, &args, &args.run);
}
