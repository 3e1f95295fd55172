#include "cli/operation/gemm_compiled.h"

#include "base/text.h"
#include "cli/common/fail.h"
#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"
#include "stack/kernels/dot/gemm.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    struct op_options run;
    int64_t side[3];                    /* M, K, N */
    int count;
    enum graph_dtype dtype;
};

static const struct argp_option options[] = {
    {"dtype", 'd', "TYPE", 0, "of operands and result: bf16 (default) or f32", 1}, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case 'd':
        args->dtype = strcmp(arg, "f32") == 0 ? DTYPE_F32 : DTYPE_BF16;
        if (args->dtype != DTYPE_F32 && strcmp(arg, "bf16") != 0)
            argp_error(state, "--dtype is \"%s\", allowed are f32, bf16", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (args->count == 3)
            argp_error(state, "M, K and N are three numbers, \"%s\" is one more", arg);
        if (text_parse_int(arg, 1, GEMM_SIDE_MAX, &args->side[args->count]))
            argp_error(state, "a side is \"%s\", allowed are whole numbers in 1..%d", arg,
                       GEMM_SIDE_MAX);
        args->count++;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_op_argp, 0, NULL, 2}, {0}};

static const struct argp parser = {
    options, parse_option, "M K N",
    "Time C[M][N] = A[M][K] x B[K][N] as the compiler makes it, on one simulated core, or on "
    "both of a v4 or v5p, which are one device (docs/parallel.md): how well its units are used, "
    "what bounds it, and where it lies under the roof.\v"
    "Operands and result lie in HBM. --codegen xla does what XLA is seen to do (docs/accuracy.md), "
    "best what we think is best. `systole gemm MxNxK` is another program, with values; its sides "
    "stand in another order.\n\n"
    "Examples:\n"
    "  systole gemm 4096 4096 4096 --tpu v6e\n"
    "  systole gemm 2048 2048 2048 --tpu v3 --codegen best\n"
    "  systole gemm 128 1000 513 --dtype f32 --tpu v5e",
    children, NULL, NULL};

bool gemm_is_compiled(int argc, char **argv)
{
    int64_t number;

    for (int i = 1; i <= 3; i++)
        if (i >= argc || text_parse_int(argv[i], INT64_MIN, INT64_MAX, &number))
            return false;
    return true;
}

int gemm_compiled(int argc, char **argv)
{
    struct arguments args = {.run = OP_OPTIONS_DEFAULT, .dtype = DTYPE_BF16};
    struct op_request request = {.name = "dot", .shape_count = 2, .has_dtype = true};
    struct graph *graph;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    args.run.tpu = "v3";
    args.run.out.command = command_of_argv(argc, argv, &a);
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    request.dtype = request.to = args.dtype;
    request.shape[0] = (struct shape){.rank = 2, .dim = {args.side[0], args.side[1]}};
    request.shape[1] = (struct shape){.rank = 2, .dim = {args.side[1], args.side[2]}};
    status = op_graph(&request, &a, &graph, &e);
    if (status == 0)
        status = op_run(&args.run, graph,
                        arena_printf(&a, "gemm %lld %lld %lld", (long long)args.side[0],
                                     (long long)args.side[1], (long long)args.side[2]), &e);
    status = status ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
