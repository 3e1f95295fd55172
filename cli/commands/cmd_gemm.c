/* systole gemm: a product of matrices as the compiler makes it, timed and held against OpenBLAS. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/commands/swept.h"
#include "cli/operation/op_run.h"
#include "cli/validate/gemm_values.h"
#include "stack/hlo/rewrite.h"

#include <stdlib.h>
#include <string.h>

#define SIDE_MAX (1 << 20)

struct arguments {
    struct op_options run;
    struct gemm_values values;
    int64_t bare[3];                    /* M, N and K as three numbers */
    int bare_count;
    enum graph_dtype dtype, out;        /* DTYPE_COUNT: as the operands */
};

enum { KEY_ASM = 300, KEY_A, KEY_B, KEY_C, KEY_TYPE, KEY_SEED };

static const struct argp_option options[] = {
    {"m", 'm', "ROWS", 0, "rows of A and C", 1},
    {"n", 'n', "COLUMNS", 0, "columns of B and C", 1},
    {"k", 'k', "DEPTH", 0, "columns of A, rows of B", 1},
    {"dtype", 'd', "TYPE", 0, "of the operands: bf16 (default) or f32", 1},
    {"out-type", KEY_TYPE, "TYPE", 0, "of the result: bf16 or f32 (default: as the operands)", 1},
    {"a", KEY_A, "FILE", 0, "A from a .npy of f32, rounded to bf16 (default: random)", 2},
    {"b", KEY_B, "FILE", 0, "B likewise", 2},
    {"seed", KEY_SEED, "N", 0, "of random operands (default: 1)", 2},
    {"out-npy", KEY_C, "FILE", 0, "write C to a .npy of f32", 2},
    {"asm", KEY_ASM, "FILE", 0, "write the program as assembly", 2},
    {0}};

static int64_t side(const char *name, const char *text, struct argp_state *state)
{
    int64_t value = 0;

    if (text_parse_int(text, 1, SIDE_MAX, &value) != 0)
        argp_error(state, "%s is \"%s\", allowed are whole numbers in 1..%d", name, text, SIDE_MAX);
    return value;
}

/* "2048x1024x512", or three numbers */
static void parse_sides(struct arguments *args, const char *text, struct argp_state *state)
{
    struct gemm_operands *x = &args->values.x;
    int64_t *const sides[] = {&x->m, &x->n, &x->k};
    char *copy, *rest, *word;
    size_t count = 0;

    if (!strchr(text, 'x') && args->bare_count < 3) {
        args->bare[args->bare_count++] = side("a side", text, state);
        return;
    }
    if (!strchr(text, 'x'))
        argp_error(state, "M, N and K are three numbers, \"%s\" is one more", text);
    if (x->m || x->n || x->k)
        argp_error(state, "MxNxK once, or --m, --n and --k, not both");
    rest = copy = strdup(text);
    while (copy && (word = strtok_r(rest, "x", &rest)) != NULL && count < COUNT_OF(sides))
        *sides[count++] = side("a side of MxNxK", word, state);
    if (count != COUNT_OF(sides) || word != NULL || text[strlen(text) - 1] == 'x')
        argp_error(state, "\"%s\"; MxNxK is needed, e.g. 2048x2048x2048", text);
    free(copy);
}

static void take_bare_sides(struct arguments *args, struct argp_state *state)
{
    struct gemm_operands *x = &args->values.x;

    if (args->bare_count == 0)
        return;
    if (x->m || x->n || x->k)
        argp_error(state, "MxNxK once, or M, N and K, or --m, --n and --k");
    if (args->bare_count < 3)
        argp_error(state, "M, N and K are three numbers");
    x->m = args->bare[0];
    x->n = args->bare[1];
    x->k = args->bare[2];
}

static void check_together(struct arguments *args, struct argp_state *state)
{
    const struct gemm_values *v = &args->values;
    struct err e;

    take_bare_sides(args, state);
    if (!v->x.m || !v->x.n || !v->x.k)
        argp_error(state, "which sizes? MxNxK, or --m, --n and --k");
    if (args->run.engine.mode == MODE_TIMING && (v->a || v->b || v->c))
        argp_error(state, "--a, --b and --out-npy are about values, which --mode timing does not "
                   "have");
    if (trace_options_check_mode(&args->run.trace, args->run.engine.mode, &e))
        argp_error(state, "%s", e.msg);
    if (args->out == DTYPE_COUNT)
        args->out = args->dtype;
}

static enum graph_dtype type_of(const char *name, const char *text, struct argp_state *state)
{
    if (strcmp(text, "f32") != 0 && strcmp(text, "bf16") != 0)
        argp_error(state, "%s is \"%s\", allowed are f32, bf16", name, text);
    return strcmp(text, "f32") == 0 ? DTYPE_F32 : DTYPE_BF16;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    struct gemm_values *v = &args->values;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case 'm': v->x.m = side("--m", arg, state); return 0;
    case 'n': v->x.n = side("--n", arg, state); return 0;
    case 'k': v->x.k = side("--k", arg, state); return 0;
    case 'd': args->dtype = type_of("--dtype", arg, state); return 0;
    case KEY_TYPE: args->out = type_of("--out-type", arg, state); return 0;
    case KEY_ASM: args->run.assembly = arg; return 0;
    case KEY_A: v->a = arg; return 0;
    case KEY_B: v->b = arg; return 0;
    case KEY_C: v->c = arg; return 0;
    case KEY_SEED:
        if (text_parse_int(arg, 0, INT64_MAX, &v->seed) != 0)
            argp_error(state, "--seed is \"%s\", allowed are whole numbers from 0 on", arg);
        return 0;
    case ARGP_KEY_ARG: parse_sides(args, arg, state); return 0;
    case ARGP_KEY_END: check_together(args, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_op_argp, 0, NULL, 3}, {0}};

static const struct argp parser = {
    options, parse_option, "MxNxK\nM N K",
    "Multiply matrices, C[M][N] = A[M][K] x B[K][N], with f32 sums on a simulated TPU core, and "
    "show how well its units are used, what bounds it, and where it lies under the roof.\v"
    "The product is made by the compiler (docs/gemm.md) from and to HBM. A chip: one core of it, "
    "or both of a v4 or v5p, which are one device (docs/megacore.md). A slice, e.g. v3-8: all its "
    "cores, each with its share of the rows of A and all of B. In modes with values C is held "
    "against OpenBLAS on the operands as rounded to bf16.\n\n"
    "Examples:\n"
    "  systole gemm 2048x2048x2048\n"
    "  systole gemm 8192 8192 8192 --tpu v5e --mode timing\n"
    "  systole gemm 4096x1024x1024 --tpu v3-8 --threads 2\n"
    "  systole gemm 4096x4096x4096 --tpu v6e --codegen xla --mode timing\n"
    "  systole gemm 1024x1024x1024 --trace gemm.pftrace\n"
    "  systole gemm 512x512x512 --a a.npy --b b.npy --out-npy c.npy --asm gemm.tasm",
    children, NULL, NULL};

const struct argp *cmd_gemm_parser(void)
{
    return &parser;
}

static struct graph *make_graph(const struct arguments *args, struct arena *a)
{
    const struct gemm_operands *x = &args->values.x;
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    struct graph *g = arena_alloc(a, sizeof(*g));
    int lhs, rhs;

    graph_init(g, a, "gemm");
    lhs = graph_parameter(g, shape_make(args->dtype, 2, (int64_t[]){args->values.share, x->k}),
                          "A");
    rhs = graph_parameter(g, shape_make(args->dtype, 2, (int64_t[]){x->k, x->n}), "B");
    graph_output(g, graph_dot_general(g, lhs, rhs, &dot, args->out, PRECISION_DEFAULT), "C", -1);
    graph_freeze(g);
    return g;
}

static void add_options(struct arguments *args, struct arena *a)
{
    const struct gemm_values *v = &args->values;
    struct out_folder *f = &args->run.out;

    out_folder_add(f, "gemm", "m", arena_printf(a, "%lld", (long long)v->x.m), true);
    out_folder_add(f, "gemm", "n", arena_printf(a, "%lld", (long long)v->x.n), true);
    out_folder_add(f, "gemm", "k", arena_printf(a, "%lld", (long long)v->x.k), true);
    out_folder_add(f, "gemm", "dtype", args->dtype == DTYPE_F32 ? "f32" : "bf16",
                   args->dtype == DTYPE_F32);
    out_folder_add(f, "gemm", "out-type", args->out == DTYPE_F32 ? "f32" : "bf16",
                   args->out != args->dtype);
    out_folder_add(f, "gemm", "a", v->a, true);
    out_folder_add(f, "gemm", "b", v->b, true);
    out_folder_add(f, "gemm", "seed", arena_printf(a, "%lld", (long long)v->seed), v->seed != 1);
}

static int run(struct arguments *args, struct arena *a, struct err *e)
{
    struct gemm_values *v = &args->values;
    const struct op_values hooks = {v, gemm_values_write, gemm_values_read};
    const struct gemm_operands *x = &v->x;
    bool has_values = args->run.engine.mode != MODE_TIMING;
    const char *title = arena_printf(a, "gemm %lldx%lldx%lld", (long long)x->m, (long long)x->n,
                                     (long long)x->k);
    struct chip chip;
    int devices;

    if (op_devices(&args->run, &chip, &devices, a, e))
        return -1;
    v->share = div_up(x->m, devices);
    v->is_result_bf16 = args->out == DTYPE_BF16;
    if (has_values && gemm_values_make(v, a, e))
        return -1;
    args->run.values = &hooks;
    add_options(args, a);
    if (op_run(&args->run, make_graph(args, a), title, e))
        return -1;
    return has_values ? gemm_values_check(v, &chip, a, e) : 0;
}

int cmd_gemm(int argc, char **argv)
{
    struct arguments args = {.run = OP_OPTIONS_DEFAULT, .values = {.seed = 1},
                             .dtype = DTYPE_BF16, .out = DTYPE_COUNT};
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    args.run.tpu = "v3";
    args.run.codegen = CODEGEN_BEST;
    args.run.engine.mode = MODE_BOTH;
    args.run.takes_slice = true;
    args.run.out.command = command_of_argv(argc, argv, &a);
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    status = run(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
