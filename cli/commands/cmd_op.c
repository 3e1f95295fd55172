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
    const char *shape[OP_SHAPES_MAX];   /* as they were written */
    struct op_options run;
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_type(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    enum graph_dtype *to = (enum graph_dtype *)(void *)((char *)values + o->at);

    for (int i = 0; i < DTYPE_COUNT; i++) {
        struct shape s = shape_scalar((enum graph_dtype)i);
        char name[32];

        shape_print(&s, name, sizeof(name));
        name[strlen(name) - 2] = '\0';          /* without "[]" */
        if (strcmp(name, text) == 0) {
            *to = (enum graph_dtype)i;
            return 0;
        }
    }
    return err_set(e, "--%s is \"%s\", allowed are f32, bf16, s32, u32, s8, u8, pred", o->name,
                   text);
}

static int parse_dims(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct op_request *r = &((struct arguments *)values)->request;
    const char *at = text;

    for (r->dim_count = 0; *at;) {
        char *end;
        long value = strtol(at, &end, 10);

        if (end == at || value < 0 || value >= GRAPH_RANK_MAX || r->dim_count == GRAPH_RANK_MAX ||
            (*end && *end != ','))
            return err_set(e, "--%s is \"%s\"; whole numbers in 0..%d are needed, e.g. 0,2,1",
                           o->name, at, GRAPH_RANK_MAX - 1);
        r->dims[r->dim_count++] = (int)value;
        at = *end ? end + 1 : end;
    }
    return 0;
}

static int parse_sizes(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct op_request *r = &((struct arguments *)values)->request;
    bool is_window = o->at == offsetof(struct arguments, request.window);
    int count = op_parse_sizes(text, is_window ? r->window : r->stride);

    *(is_window ? &r->window_count : &r->stride_count) = count;
    return count > 0 ? 0 : err_set(e, "--%s is \"%s\"; sizes from 1 on are needed, e.g. 3x3",
                                   o->name, text);
}

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
    {"dtype", 0, "TYPE", "of the operands: f32, bf16 (default), s32, u32, s8, u8, pred", 1,
     CLI_OTHER, AT(request.dtype), .parse = parse_type},
    {"dims", 0, "D,D…", "dimensions, counted from 0", 1, CLI_OTHER, .parse = parse_dims},
    {"window", 0, "HxW", "of pooling (default: 2)", 1, CLI_OTHER, AT(request.window),
     .parse = parse_sizes},
    {"stride", 0, "HxW", "of pooling (default: the window)", 1, CLI_OTHER, AT(request.stride),
     .parse = parse_sizes},
    {"pad", 0, "same", "of pooling: zeros beside the image, a window for every stride", 1,
     CLI_CHOICE, AT(request.is_same), .words = "none|same"},
    {NULL, 'k', "N", "how many, of topk", 1, CLI_WHOLE, AT(request.k), .lo = 1,
     .hi = SHAPE_ELEMS_MAX},
    {"to", 0, "TYPE", "of convert's result (default: f32)", 1, CLI_OTHER, AT(request.to),
     .parse = parse_type},
    {"assume-index", 0, "WHAT",
     "rows that gathers and scatters ask for: uniform (default), zipf, or a file of numbers", 1,
     CLI_TEXT, AT(run.assume_index)},
    {"list", 0, NULL, "list the operations, and exit", 1, CLI_OTHER, .parse = list_operations},
    {0}};

static int add_shape(struct arguments *args, const char *text, struct err *e)
{
    struct op_request *r = &args->request;
    struct shape *s = &r->shape[r->shape_count];
    int64_t elements = 1;

    if (r->shape_count == OP_SHAPES_MAX)
        return err_set(e, "%d shapes are the most", OP_SHAPES_MAX);
    s->rank = op_parse_sizes(text, s->dim);
    if (s->rank < 0)
        return err_set(e, "\"%s\" is no shape; up to %d sizes from 1 on are needed, e.g. "
                       "8x128x256", text, GRAPH_RANK_MAX);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] > SHAPE_ELEMS_MAX / elements)
            return err_set(e, "%s has more than %lld elements", text, SHAPE_ELEMS_MAX);
        elements *= s->dim[i];
    }
    args->shape[r->shape_count++] = text;
    return 0;
}

static int take_word(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->request.name)
        return add_shape(args, text, e);
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
    struct arguments args = {.request = {.dtype = DTYPE_BF16, .to = DTYPE_F32},
                             .run = OP_OPTIONS_DEFAULT};

    return op_command_run(&command, argc, argv, &args, &args.run);
}
