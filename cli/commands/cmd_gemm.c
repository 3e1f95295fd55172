/* systole gemm: a product of matrices as the compiler makes it, timed and held against OpenBLAS. */
#include "cli/commands/cli.h"

#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/operation/op_run.h"
#include "cli/validate/gemm_values.h"
#include "stack/hlo/rewrite.h"

#include <stdlib.h>
#include <string.h>

#define SIDE_MAX (1 << 20)

enum result_type { OUT_F32, OUT_BF16, OUT_AS_OPERANDS };

struct arguments {
    struct op_options run;
    struct gemm_values values;
    int64_t bare[3];                    /* M, N and K as three numbers */
    int bare_count;
    bool is_f32;                        /* operands */
    enum result_type out;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"m", 'm', "ROWS", "rows of A and C", 1, CLI_WHOLE, AT(values.x.m), .lo = 1, .hi = SIDE_MAX},
    {"n", 'n', "COLUMNS", "columns of B and C", 1, CLI_WHOLE, AT(values.x.n), .lo = 1,
     .hi = SIDE_MAX},
    {"k", 'k', "DEPTH", "columns of A, rows of B", 1, CLI_WHOLE, AT(values.x.k), .lo = 1,
     .hi = SIDE_MAX},
    {"dtype", 'd', "TYPE", "of the operands: bf16 (default) or f32", 1, CLI_CHOICE, AT(is_f32),
     .words = "bf16|f32"},
    {"out-type", 0, "TYPE", "of the result: bf16 or f32 (default: as the operands)", 1, CLI_CHOICE,
     AT(out), .words = "f32|bf16"},
    {"a", 0, "FILE", "A from a .npy of f32, rounded to bf16 (default: random)", 2, CLI_TEXT,
     AT(values.a)},
    {"b", 0, "FILE", "B likewise", 2, CLI_TEXT, AT(values.b)},
    CLI_ROW_SEED(struct arguments, values.seed, 2, "of random operands"),
    {"out-npy", 0, "FILE", "write C to a .npy of f32", 2, CLI_TEXT, AT(values.c)},
    {"asm", 0, "FILE", "write the program as assembly", 2, CLI_TEXT, AT(run.assembly)},
    {0}};

static int side(const char *name, const char *text, int64_t *to, struct err *e)
{
    if (text_parse_int(text, 1, SIDE_MAX, to) == 0)
        return 0;
    return err_set(e, "%s is \"%s\", allowed are whole numbers in 1..%d", name, text, SIDE_MAX);
}

/* "2048x1024x512" */
static int parse_sides(struct gemm_operands *x, const char *text, struct err *e)
{
    int64_t *const sides[] = {&x->m, &x->n, &x->k};
    size_t count = 0, bytes = strlen(text) + 1;
    char *copy = memcpy(mem_alloc_unset(bytes), text, bytes), *rest = copy, *word = NULL;
    int status = 0;

    while (status == 0 && (word = strtok_r(rest, "x", &rest)) != NULL &&
           count < COUNT_OF(sides))
        status = side("a side of MxNxK", word, sides[count++], e);
    if (status == 0 && (count != COUNT_OF(sides) || word || text[strlen(text) - 1] == 'x'))
        status = err_set(e, "\"%s\"; MxNxK is needed, e.g. 2048x2048x2048", text);
    mem_free(copy);
    return status;
}

/* MxNxK, or three numbers, or one of a cube */
static int take_sides(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;
    const struct gemm_operands *x = &args->values.x;

    if (!strchr(text, 'x') && args->bare_count < 3)
        return side("a side", text, &args->bare[args->bare_count++], e);
    if (!strchr(text, 'x'))
        return err_set(e, "M, N and K are three numbers, \"%s\" is one more", text);
    if (x->m || x->n || x->k)
        return err_set(e, "the sizes are given twice; write MxNxK once, or --m, --n and --k");
    return parse_sides(&args->values.x, text, e);
}

static int take_bare_sides(struct arguments *args, struct err *e)
{
    struct gemm_operands *x = &args->values.x;

    if (args->bare_count == 0)
        return 0;
    if (x->m || x->n || x->k)
        return err_set(e, "the sizes are given twice; write MxNxK once, or M N K, or --m, --n and "
                       "--k");
    if (args->bare_count == 2)
        return err_set(e, "M, N and K are three numbers, or one for all");
    x->m = args->bare[0];
    x->n = args->bare[args->bare_count > 1 ? 1 : 0];
    x->k = args->bare[args->bare_count > 1 ? 2 : 0];
    return 0;
}

static int check(void *values, struct err *e)
{
    struct arguments *args = values;
    const struct gemm_values *v = &args->values;

    if (take_bare_sides(args, e))
        return -1;
    if (!v->x.m || !v->x.n || !v->x.k)
        return err_set(e, "which sizes? MxNxK, or --m, --n and --k");
    if (args->run.engine.mode == MODE_TIMING && (v->a || v->b || v->c))
        return err_set(e, "--a, --b and --out-npy are about values, which --mode timing does not "
                       "have");
    if (args->out == OUT_AS_OPERANDS)
        args->out = args->is_f32 ? OUT_F32 : OUT_BF16;
    return trace_options_check_mode(&args->run.trace, args->run.engine.mode, e);
}

static const struct cli_part parts[] = {
    {&cli_op_options, offsetof(struct arguments, run)}, {0}};

const struct cli_options cmd_gemm_options = {options, parts, check};

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .argument = take_sides, .args_doc = "MxNxK\nM N K\nSIZE",
    .doc =
    "Multiply matrices, C[M][N] = A[M][K] x B[K][N], with f32 sums on a simulated TPU core, and "
    "show how well its units are used, what bounds it, and where it lies under the roof.\v"
    "The product is made by the compiler (docs/gemm.md) from and to HBM. A chip: one core of it, "
    "or both of a v4 or v5p, which are one device (docs/parallel.md). A slice, e.g. v3-8: all its "
    "cores, each with its share of the rows of A and all of B. In modes with values C is held "
    "against OpenBLAS on the operands as rounded to bf16.\n\n"
    "Examples:\n"
    "  systole gemm 2048x2048x2048\n"
    "  systole gemm 8192 8192 8192 --tpu v5e --mode timing\n"
    "  systole gemm 4096x1024x1024 --tpu v3-8 --threads 2\n"
    "  systole gemm 4096x4096x4096 --tpu v6e --codegen xla --mode timing\n"
    "  systole gemm 1024x1024x1024 --trace gemm.pftrace\n"
    "  systole gemm 512x512x512 --a a.npy --b b.npy --out-npy c.npy --asm gemm.tasm"};

static struct graph *make_graph(const struct arguments *args, struct arena *a)
{
    const struct gemm_operands *x = &args->values.x;
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    enum graph_dtype type = args->is_f32 ? DTYPE_F32 : DTYPE_BF16;
    enum graph_dtype out = args->out == OUT_F32 ? DTYPE_F32 : DTYPE_BF16;
    struct graph *g = arena_alloc(a, sizeof(*g));
    int lhs, rhs;

    graph_init(g, a, "gemm");
    lhs = graph_parameter(g, shape_make(type, 2, (int64_t[]){args->values.share, x->k}),
                          "A");
    rhs = graph_parameter(g, shape_make(type, 2, (int64_t[]){x->k, x->n}), "B");
    graph_output(g, graph_dot_general(g, lhs, rhs, &dot, out, PRECISION_DEFAULT), "C", -1);
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
    out_folder_add(f, "gemm", "dtype", args->is_f32 ? "f32" : "bf16", args->is_f32);
    out_folder_add(f, "gemm", "out-type", args->out == OUT_F32 ? "f32" : "bf16",
                   args->is_f32 != (args->out == OUT_F32));
    out_folder_add(f, "gemm", "a", v->a, true);
    out_folder_add(f, "gemm", "b", v->b, true);
    out_folder_add(f, "gemm", "seed", arena_printf(a, "%lld", (long long)v->seed), v->seed != 1);
}

static int run(struct arguments *args, struct arena *a, struct err *e)
{
    struct gemm_values *v = &args->values;
    const struct op_values hooks = {.user = v, .write = gemm_values_write,
                                    .read = gemm_values_read};
    const struct gemm_operands *x = &v->x;
    bool has_values = args->run.engine.mode != MODE_TIMING;
    const char *title = arena_printf(a, "gemm %lldx%lldx%lld", (long long)x->m, (long long)x->n,
                                     (long long)x->k);
    struct chip chip;
    int devices;

    if (op_devices(&args->run, &chip, &devices, a, e))
        return -1;
    v->share = div_up(x->m, devices);
    v->is_result_bf16 = args->out == OUT_BF16;
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
                             .out = OUT_AS_OPERANDS};
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    args.run.target.tpu = "v3";
    args.run.codegen = CODEGEN_BEST;
    args.run.engine.mode = MODE_BOTH;
    args.run.takes_slice = true;
    args.run.out.command = command_of_argv(argc, argv, &a);
    cli_parse(&syntax, argc, argv, &args);
    status = run(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
