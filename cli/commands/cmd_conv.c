/* `systole conv` times one convolution, forward or a gradient. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/graphs/conv_request.h"
#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#include <string.h>

static const char *const way_titles[CONV_WAYS] = {
    "", ", gradient by input", ", gradient by kernel", ", a layer's training step"};

struct arguments {
    struct op_options run;
    struct conv_request conv;
    int input_rank, kernel_rank;
};

#define AT(member) CLI_AT(struct arguments, member)

/* one number for both, or two */
static int parse_pair(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    int64_t *to = (int64_t *)(void *)((char *)values + o->at);
    int64_t size[GRAPH_RANK_MAX];
    int count = 1;

    if (text_parse_int(text, o->lo, 1 << 20, &size[0]))
        count = op_parse_sizes(text, size);
    if (count < 1 || count > 2 || size[0] < o->lo || (count == 2 && size[1] < o->lo))
        return err_set(e, "--%s is \"%s\"; one or two whole numbers from %lld on are needed, "
                       "e.g. 2x2", o->name, text, (long long)o->lo);
    to[0] = size[0];
    to[1] = size[count - 1];
    return 0;
}

static int parse_pad(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    args->conv.is_same = strcmp(text, "same") == 0;
    return args->conv.is_same ? 0 : parse_pair(o, text, values, e);
}

static int take_shape(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;
    int64_t *to = args->input_rank ? args->conv.kernel : args->conv.input;
    int *rank = args->input_rank ? &args->kernel_rank : &args->input_rank;

    if (args->kernel_rank)
        return err_set(e, "an input and a kernel, not also \"%s\"", text);
    *rank = op_parse_sizes(text, to);
    return *rank == 4 ? 0 : err_set(
        e, "\"%s\": four sizes are needed, %s", text,
        rank == &args->input_rank ? "batch x height x width x features"
                                  : "height x width x input features x features");
}

static const struct cli_option options[] = {
    {"stride", 0, "HxW", "steps of the window (default: 1)", 1, CLI_OTHER, AT(conv.stride), .lo = 1,
     .parse = parse_pair},
    {"pad", 0, "HxW", "zeros on each side, or \"same\" (default: 0)", 1, CLI_OTHER, AT(conv.pad),
     .parse = parse_pad},
    {"dilation", 0, "HxW", "distance of the kernel's elements (default: 1)", 1, CLI_OTHER,
     AT(conv.dilation), .lo = 1, .parse = parse_pair},
    {"groups", 0, "N", "groups of features; as many as input features: depthwise", 1, CLI_WHOLE,
     AT(conv.groups), .lo = 1, .hi = 1 << 20},
    {"grad", 0, "OF", "time the gradient by input or by kernel instead; step: a layer "
     "with bias and relu, and all its gradients (default: none)", 1, CLI_CHOICE, AT(conv.way),
     .words = "none|input|kernel|step"},
    {"dtype", 0, "TYPE", "of operands and result: bf16 (default) or f32", 1, CLI_CHOICE,
     AT(conv.is_f32), .words = "bf16|f32"},
    {"row-major", 0, NULL,
     "input and result as NxHxWxC in memory, as a program's parameters are, with transposes "
     "around the convolution (default: laid out as inside a network)", 1, CLI_FLAG,
     AT(conv.is_row_major)},
    {0}};

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return args->kernel_rank ? 0 : err_set(e, "which sizes? an input and a kernel, e.g. "
                                           "64x28x28x128 3x3x128x128");
}

static const struct cli_part parts[] = {
    {&cli_op_options, offsetof(struct arguments, run)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .argument = take_shape, .args_doc = "NxHxWxC KHxKWxCxO",
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
                             .conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1}};

    return op_command_run(&command, argc, argv, &args, &args.run);
}
