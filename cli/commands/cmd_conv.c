/* `systole conv` times one convolution, forward or a gradient. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/graphs/conv_graph.h"
#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

enum way { WAY_FORWARD, WAY_INPUT, WAY_KERNEL };
static const char *const way_names[] = {"forward", "input", "kernel"};

struct arguments {
    struct op_options run;
    int64_t input[GRAPH_RANK_MAX], kernel[GRAPH_RANK_MAX];
    int input_rank, kernel_rank;
    int64_t stride[2], pad[2], dilation[2], groups;
    bool is_same, is_f32, is_row_major;
    enum way way;
};

enum { KEY_STRIDE = 300, KEY_PAD, KEY_DILATION, KEY_GROUPS, KEY_GRAD, KEY_DTYPE,
       KEY_ROW_MAJOR };

static const struct argp_option options[] = {
    {"stride", KEY_STRIDE, "HxW", 0, "steps of the window (default: 1)", 1},
    {"pad", KEY_PAD, "HxW", 0, "zeros on each side, or \"same\" (default: 0)", 1},
    {"dilation", KEY_DILATION, "HxW", 0, "distance of the kernel's elements (default: 1)", 1},
    {"groups", KEY_GROUPS, "N", 0, "groups of features; as many as input features: depthwise", 1},
    {"grad", KEY_GRAD, "OF", 0, "time the gradient by \"input\" or by \"kernel\" instead", 1},
    {"dtype", KEY_DTYPE, "TYPE", 0, "type of operands and result: bf16 (default) or f32", 1},
    {"row-major", KEY_ROW_MAJOR, 0, 0,
     "input and result as NxHxWxC in memory, as a program's parameters are, with transposes "
     "around the convolution (default: laid out as inside a network)", 1},
    {0}};

/* one number for both, or two */
static void parse_pair(const char *option, const char *text, int64_t least, int64_t *to,
                       struct argp_state *state)
{
    int64_t size[GRAPH_RANK_MAX];
    int count = 1;

    if (text_parse_int(text, least, 1 << 20, &size[0]))
        count = op_parse_sizes(text, size);
    if (count < 1 || count > 2 || size[0] < least || (count == 2 && size[1] < least))
        argp_error(state, "%s is \"%s\"; one or two whole numbers from %lld on are needed, "
                   "e.g. 2x2",
                   option, text, (long long)least);
    to[0] = size[0];
    to[1] = size[count - 1];
}

static void parse_shape(struct arguments *args, const char *text, struct argp_state *state)
{
    int64_t *to = args->input_rank ? args->kernel : args->input;
    int *rank = args->input_rank ? &args->kernel_rank : &args->input_rank;

    if (args->kernel_rank)
        argp_error(state, "an input and a kernel, not also \"%s\"", text);
    *rank = op_parse_sizes(text, to);
    if (*rank != 4)
        argp_error(state, "\"%s\": four sizes are needed, %s", text,
                   rank == &args->input_rank ? "batch x height x width x features"
                                             : "height x width x input features x features");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case KEY_STRIDE: parse_pair("--stride", arg, 1, args->stride, state); return 0;
    case KEY_DILATION: parse_pair("--dilation", arg, 1, args->dilation, state); return 0;
    case KEY_PAD:
        args->is_same = strcmp(arg, "same") == 0;
        if (!args->is_same)
            parse_pair("--pad", arg, 0, args->pad, state);
        return 0;
    case KEY_ROW_MAJOR: args->is_row_major = true; return 0;
    case KEY_GROUPS:
        if (text_parse_int(arg, 1, 1 << 20, &args->groups))
            argp_error(state, "--groups is \"%s\", allowed are whole numbers from 1 on", arg);
        return 0;
    case KEY_GRAD:
        args->way = strcmp(arg, "input") == 0 ? WAY_INPUT : WAY_KERNEL;
        if (args->way == WAY_KERNEL && strcmp(arg, "kernel") != 0)
            argp_error(state, "--grad is \"%s\", allowed are input, kernel", arg);
        return 0;
    case KEY_DTYPE:
        args->is_f32 = strcmp(arg, "f32") == 0;
        if (!args->is_f32 && strcmp(arg, "bf16") != 0)
            argp_error(state, "--dtype is \"%s\", allowed are bf16, f32", arg);
        return 0;
    case ARGP_KEY_ARG: parse_shape(args, arg, state); return 0;
    case ARGP_KEY_END:
        if (!args->kernel_rank)
            argp_error(state, "which sizes? an input and a kernel, e.g. 64x28x28x128 3x3x128x128");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_op_argp, 0, NULL, 2}, {0}};

static const struct argp parser = {
    options, parse_option, "NxHxWxC KHxKWxCxO",
    "Time one convolution on a simulated core, or one of its gradients: kernels, utilisation of "
    "the matrix units, what bounds it, and the roof.\v"
    "Input [batch, height, width, features], kernel [height, width, features of a group, output "
    "features].\n\n"
    "Examples:\n"
    "  systole conv 64x28x28x128 3x3x128x128 --pad 1 --tpu v3 --codegen best\n"
    "  systole conv 128x224x224x3 7x7x3x64 --stride 2 --pad 3 --tpu v5e\n"
    "  systole conv 128x56x56x64 3x3x64x64 --pad same --grad kernel --tpu v4\n"
    "  systole conv 32x56x56x144 3x3x1x144 --pad same --groups 144",
    children, NULL, NULL};

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
                        args->way ? ", gradient by " : "",
                        args->way ? way_names[args->way] : "");
}

int cmd_conv(int argc, char **argv)
{
    struct arguments args = {.run = OP_OPTIONS_DEFAULT, .stride = {1, 1}, .dilation = {1, 1},
                             .groups = 1};
    struct graph graph;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    args.run.out.command = command_of_argv(argc, argv, &a);
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    graph_init(&graph, &a, "conv");
    status = make_graph(&args, &graph, &e);
    if (status == 0)
        status = op_run(&args.run, &graph, title_of(&args, &a), &e);
    status = status ? cli_fail(&e) : 0;
    graph_fini(&graph);
    arena_fini(&a);
    return status;
}
