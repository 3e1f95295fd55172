/* systole conv: one convolution, forward or a gradient, timed. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/graphs/conv_graph.h"
#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#include <string.h>

enum way { WAY_INPUT, WAY_KERNEL, WAY_FORWARD };
static const char *const way_names[] = {"input", "kernel", "forward"};

struct arguments {
    struct op_options run;
    int64_t input[GRAPH_RANK_MAX], kernel[GRAPH_RANK_MAX];
    int input_rank, kernel_rank;
    int64_t stride[2], pad[2], dilation[2], groups;
    bool is_same, is_f32, is_row_major;
    enum way way;
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

    args->is_same = strcmp(text, "same") == 0;
    return args->is_same ? 0 : parse_pair(o, text, values, e);
}

static int take_shape(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;
    int64_t *to = args->input_rank ? args->kernel : args->input;
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
    {"stride", 0, "HxW", "steps of the window (default: 1)", 1, CLI_OTHER, AT(stride), .lo = 1,
     .parse = parse_pair},
    {"pad", 0, "HxW", "zeros on each side, or \"same\" (default: 0)", 1, CLI_OTHER, AT(pad),
     .parse = parse_pad},
    {"dilation", 0, "HxW", "distance of the kernel's elements (default: 1)", 1, CLI_OTHER,
     AT(dilation), .lo = 1, .parse = parse_pair},
    {"groups", 0, "N", "groups of features; as many as input features: depthwise", 1, CLI_WHOLE,
     AT(groups), .lo = 1, .hi = 1 << 20},
    {"grad", 0, "OF", "time the gradient by \"input\" or by \"kernel\" instead", 1, CLI_CHOICE,
     AT(way), .words = "input|kernel"},
    {"dtype", 0, "TYPE", "of operands and result: bf16 (default) or f32", 1, CLI_CHOICE,
     AT(is_f32), .words = "bf16|f32"},
    {"row-major", 0, NULL,
     "input and result as NxHxWxC in memory, as a program's parameters are, with transposes "
     "around the convolution (default: laid out as inside a network)", 1, CLI_FLAG,
     AT(is_row_major)},
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

static int check_sizes(const struct arguments *args, struct err *e)
{
    double elements = 1;

    for (int i = 0; i < 4; i++)
        elements *= (double)args->input[i];
    if (elements > (double)SHAPE_ELEMS_MAX)
        return err_set(e, "the input has more than %lld elements", SHAPE_ELEMS_MAX);
    if (args->kernel[2] * args->groups != args->input[3])
        return err_set(e, "%lld input features in %lld group%s need a kernel of %lld, not %lld",
                       (long long)args->input[3], (long long)args->groups,
                       args->groups == 1 ? "" : "s",
                       (long long)(args->input[3] / args->groups), (long long)args->kernel[2]);
    if (args->kernel[3] % args->groups)
        return err_set(e, "%lld output features do not divide into %lld groups",
                       (long long)args->kernel[3], (long long)args->groups);
    return 0;
}

static int make_windows(const struct arguments *args, struct graph_window w[2], struct err *e)
{
    for (int i = 0; i < 2; i++) {
        int64_t reach = (args->kernel[i] - 1) * args->dilation[i] + 1, in = args->input[1 + i];
        int64_t both = 2 * args->pad[i];

        if (args->is_same) {
            both = (div_up(in, args->stride[i]) - 1) * args->stride[i] + reach - in;
            both = both < 0 ? 0 : both;
        }
        w[i] = (struct graph_window){.size = args->kernel[i], .stride = args->stride[i],
                                     .pad_low = both / 2, .pad_high = both - both / 2,
                                     .base_dilation = 1, .window_dilation = args->dilation[i]};
        if (in + both < reach)
            return err_set(e, "a window of %lld over %lld with %lld of padding",
                           (long long)reach, (long long)in, (long long)both);
    }
    return 0;
}

static int make_graph(const struct arguments *args, struct graph *g, struct err *e)
{
    struct conv_graph c = {.type = args->is_f32 ? DTYPE_F32 : DTYPE_BF16, .groups = args->groups,
                           .is_row_major = args->is_row_major,
                           .is_training = args->way == WAY_KERNEL};
    int x, k, y, wrt, gradient;

    if (check_sizes(args, e) || make_windows(args, c.window, e))
        return -1;
    memcpy(c.in, args->input, sizeof(c.in));
    memcpy(c.kernel, args->kernel, sizeof(c.kernel));
    if (conv_graph_add(g, &c, &x, &k, &y, e))
        return -1;
    if (args->way == WAY_FORWARD) {
        graph_output(g, y, "output", -1);
        return graph_verify(g, e);
    }
    wrt = args->way == WAY_INPUT ? x : k;
    if (graph_backward(g, y, graph_parameter(g, g->node[y].shape, "output.gradient"), &wrt, 1,
                       &gradient, e))
        return -1;
    graph_output(g, gradient, "gradient", -1);
    graph_eliminate_dead(g);
    return graph_verify(g, e);
}

static const char *title_of(const struct arguments *args, struct arena *a)
{
    const int64_t *i = args->input, *k = args->kernel;

    return arena_printf(a, "conv %lldx%lldx%lldx%lld by %lldx%lldx%lldx%lld%s%s",
                        (long long)i[0], (long long)i[1], (long long)i[2], (long long)i[3],
                        (long long)k[0], (long long)k[1], (long long)k[2], (long long)k[3],
                        args->way != WAY_FORWARD ? ", gradient by " : "",
                        args->way != WAY_FORWARD ? way_names[args->way] : "");
}

static int make(const void *values, struct arena *a, struct graph **g, const char **title,
                struct err *e)
{
    int status;

    *title = title_of(values, a);
    *g = arena_alloc(a, sizeof(**g));
    graph_init(*g, a, "conv");
    status = make_graph(values, *g, e);
    graph_freeze(*g);
    return status;
}

int cmd_conv(int argc, char **argv)
{
    static const struct op_command command = {&syntax, make};
    struct arguments args = {.run = OP_OPTIONS_DEFAULT, .stride = {1, 1}, .dilation = {1, 1},
                             .groups = 1, .way = WAY_FORWARD};

    return op_command_run(&command, argc, argv, &args, &args.run);
}
