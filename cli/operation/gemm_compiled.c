/* `systole gemm M K N`: builds the graph of one product and lets the compiler make its kernel. */
#include "cli/operation/gemm_compiled.h"

#include "base/text.h"
#include "cli/graphs/op_graph.h"
#include "cli/operation/op_run.h"
#include "stack/kernels/dot/gemm.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
    struct op_options run;
    int64_t side[3];                    /* M, K, N */
    int count;
    bool is_f32;
};

static const struct cli_option options[] = {
    {"dtype", 0, "TYPE", "of operands and result: bf16 (default) or f32", 1, CLI_CHOICE,
     CLI_AT(struct arguments, is_f32), .words = "bf16|f32"},
    {0}};

static int take_side(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->count == 3)
        return err_set(e, "M, K and N are three numbers, \"%s\" is one more", text);
    if (text_parse_int(text, 1, GEMM_SIDE_MAX, &args->side[args->count++]))
        return err_set(e, "a side is \"%s\", allowed are whole numbers in 1..%d", text,
                       GEMM_SIDE_MAX);
    return 0;
}

static const struct cli_part parts[] = {
    {&cli_op_options, offsetof(struct arguments, run)}, {0}};

static const struct cli_syntax syntax = {
    .own = {.row = options, .part = parts}, .argument = take_side, .args_doc = "M K N",
    .doc =
    "Time C[M][N] = A[M][K] x B[K][N] as the compiler makes it, on one simulated core, or on "
    "both of a v4 or v5p, which are one device (docs/parallel.md): how well its units are used, "
    "what bounds it, and where it lies under the roof.\v"
    "Operands and result lie in HBM. --codegen xla does what XLA is seen to do (docs/accuracy.md), "
    "best what we think is best. `systole gemm MxNxK` is another program, with values; its sides "
    "stand in another order.\n\n"
    "Examples:\n"
    "  systole gemm 4096 4096 4096 --tpu v6e\n"
    "  systole gemm 2048 2048 2048 --tpu v3 --codegen best\n"
    "  systole gemm 128 1000 513 --dtype f32 --tpu v5e"};

bool gemm_is_compiled(int argc, char **argv)
{
    int64_t number;

    for (int i = 1; i <= 3; i++)
        if (i >= argc || text_parse_int(argv[i], INT64_MIN, INT64_MAX, &number))
            return false;
    return true;
}

static int make(const void *values, struct arena *a, struct graph **g, const char **title,
                struct err *e)
{
    const struct arguments *args = values;
    const int64_t *side = args->side;
    enum graph_dtype type = args->is_f32 ? DTYPE_F32 : DTYPE_BF16;
    const struct op_request request = {
        .name = "dot", .shape_count = 2, .dtype = type, .to = type,
        .shape = {{.rank = 2, .dim = {side[0], side[1]}}, {.rank = 2, .dim = {side[1], side[2]}}}};

    *title = arena_printf(a, "gemm %lld %lld %lld", (long long)side[0], (long long)side[1],
                          (long long)side[2]);
    return op_graph(&request, a, g, e);
}

int gemm_compiled(int argc, char **argv)
{
    static const struct op_command command = {&syntax, make};
    struct arguments args = {.run = OP_OPTIONS_DEFAULT};

    args.run.target.tpu = "v3";
    return op_command_run(&command, argc, argv, &args, &args.run);
}
