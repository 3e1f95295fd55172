/* `systole op` times one operation. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"
#include "stack/hlo/graph_shape.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    struct op_request request;
    struct op_options run;
    const char *to;
};

enum { KEY_DTYPE = 300, KEY_TO, KEY_DIMS, KEY_WINDOW, KEY_STRIDE, KEY_LIST };

static const struct argp_option options[] = {
    {"dtype", KEY_DTYPE, "TYPE", 0, "type of the operands: f32, bf16 (default), s32, u32, s8, u8, "
     "pred", 1},
    {"dims", KEY_DIMS, "D,D…", 0, "dimensions that it works along, from 0 on", 1},
    {"window", KEY_WINDOW, "HxW", 0, "window of pooling (default: 2)", 1},
    {"stride", KEY_STRIDE, "HxW", 0, "stride of pooling (default: the window)", 1},
    {NULL, 'k', "N", 0, "how many, of topk", 1},
    {"to", KEY_TO, "TYPE", 0, "type of convert's result (default: f32)", 1},
    {"list", KEY_LIST, 0, 0, "list the operations, and exit", 1},
    {0}};

static enum graph_dtype parse_type(const char *option, const char *text, struct argp_state *state)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        struct shape s = shape_scalar((enum graph_dtype)i);
        char name[32];

        shape_print(&s, name, sizeof(name));
        name[strlen(name) - 2] = '\0';          /* without "[]" */
        if (strcmp(name, text) == 0)
            return (enum graph_dtype)i;
    }
    argp_error(state, "%s is \"%s\", allowed are f32, bf16, s32, u32, s8, u8, pred", option, text);
    return DTYPE_F32;
}

static int parse_dims(const char *text, int *to, struct argp_state *state)
{
    int count = 0;

    while (*text) {
        char *end;
        long value = strtol(text, &end, 10);

        if (end == text || value < 0 || value >= GRAPH_RANK_MAX || count == GRAPH_RANK_MAX ||
            (*end && *end != ','))
            argp_error(state, "--dims is \"%s\"; whole numbers in 0..%d are needed, e.g. 0,2,1",
                       text, GRAPH_RANK_MAX - 1);
        to[count++] = (int)value;
        text = *end ? end + 1 : end;
    }
    return count;
}

static int parse_sizes(const char *option, const char *text, int64_t *to,
                       struct argp_state *state)
{
    int count = op_parse_sizes(text, to);

    if (count < 0)
        argp_error(state, "%s is \"%s\"; sizes from 1 on are needed, e.g. 3x3", option, text);
    return count;
}

static void add_shape(struct op_request *r, const char *text, struct argp_state *state)
{
    struct shape *s = &r->shape[r->shape_count];
    int64_t elements = 1;

    if (r->shape_count == OP_SHAPES_MAX)
        argp_error(state, "at most %d shapes may be given", OP_SHAPES_MAX);
    s->rank = op_parse_sizes(text, s->dim);
    if (s->rank < 0)
        argp_error(state, "\"%s\" is no shape; up to %d sizes from 1 on are needed, e.g. 8x128x256",
                   text, GRAPH_RANK_MAX);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] > SHAPE_ELEMS_MAX / elements)
            argp_error(state, "%s has more than %lld elements", text, SHAPE_ELEMS_MAX);
        elements *= s->dim[i];
    }
    r->shape_count++;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    struct op_request *r = &args->request;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case KEY_DTYPE: r->dtype = parse_type("--dtype", arg, state); return 0;
    case KEY_TO: r->to = parse_type("--to", arg, state); return 0;
    case KEY_DIMS: r->dim_count = parse_dims(arg, r->dims, state); return 0;
    case KEY_WINDOW: r->window_count = parse_sizes("--window", arg, r->window, state); return 0;
    case KEY_STRIDE: r->stride_count = parse_sizes("--stride", arg, r->stride, state); return 0;
    case 'k':
        if (text_parse_int(arg, 1, SHAPE_ELEMS_MAX, &r->k))
            argp_error(state, "-k is \"%s\", allowed are whole numbers from 1 on", arg);
        return 0;
    case KEY_LIST:
        op_graph_list(stdout);
        exit(0);
    case ARGP_KEY_ARG:
        if (!r->name)
            r->name = arg;
        else
            add_shape(r, arg, state);
        return 0;
    case ARGP_KEY_END:
        if (!r->name)
            argp_error(state, "which operation? e.g. softmax 512x512; --list tells all");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_op_argp, 0, NULL, 2}, {0}};

static const struct argp parser = {
    options, parse_option, "NAME SHAPE [SHAPE…]",
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
    "  systole op --list",
    children, NULL, NULL};

static const char *title_of(int argc, char **argv, struct arena *a)
{
    const char *title = "op";

    for (int i = 1; i < argc && argv[i][0] != '-'; i++)
        title = arena_printf(a, "%s%s%s", i == 1 ? "" : title, i == 1 ? "" : " ", argv[i]);
    return title;
}

int cmd_op(int argc, char **argv)
{
    struct arguments args = {.request = {.dtype = DTYPE_BF16, .to = DTYPE_F32},
                             .run = OP_OPTIONS_DEFAULT};
    struct graph *graph;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    args.run.out.command = command_of_argv(argc, argv, &a);
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    status = op_graph(&args.request, &a, &graph, &e);
    if (status == 0)
        status = op_run(&args.run, graph, title_of(argc, argv, &a), &e);
    status = status ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
