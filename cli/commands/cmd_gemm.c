/*
 * `systole gemm MxNxK`: generates a matrix product for every core, runs it, checks the result
 * against OpenBLAS and reports its rate.
 */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "cli/common/engine_options.h"
#include "cli/validate/gemm_check.h"
#include "cli/operation/gemm_compiled.h"
#include "cli/common/options.h"
#include "cli/common/out_folder.h"
#include "base/progress.h"
#include "cli/commands/swept.h"
#include "cli/common/trace_options.h"
#include "data/npy.h"
#include "isa/disasm.h"
#include "isa/file.h"
#include "report/folder/report.h"
#include "sim/machine/machine.h"
#include "stack/kernels/dot/gemm.h"

#include "base/floats.h"
#include "base/outfile.h"
#include "base/rng.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *tpu, *assembly, *a, *b, *c;
    int64_t m, n, k, seed;
    bool is_bf16;
    struct machine_options engine;
    struct trace_options trace;
    struct cli_list set;
    struct out_folder out;
};

static const char default_tpu[] = "v3";

#define VMEM_ROW_BYTES 512              /* buffers of a plan are in these */
#define ELEMENTS_MAX (1 << 27)          /* of a matrix with values */

enum { KEY_SET = 256, KEY_ASM, KEY_A, KEY_B, KEY_C, KEY_OUT, KEY_TYPE, KEY_SEED };

static const struct argp_option options[] = {
    {"tpu", 't', "NAME", 0, "chip or slice to run on (default: v3); a chip: one core of it", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"m", 'm', "ROWS", 0, "rows of A and C", 2},
    {"n", 'n', "COLUMNS", 0, "columns of B and C", 2},
    {"k", 'k', "DEPTH", 0, "columns of A, rows of B", 2},
    {"out-type", KEY_TYPE, "TYPE", 0, "f32 (default) or bf16", 2},
    {"a", KEY_A, "FILE", 0, "take A from a .npy of f32, rounded to bf16 (default: random)", 3},
    {"b", KEY_B, "FILE", 0, "take B from one, likewise", 3},
    {"seed", KEY_SEED, "N", 0, "seed of random operands (default: 1)", 3},
    {"out-npy", KEY_C, "FILE", 0, "write C to a .npy of f32", 3},
    {"out", KEY_OUT, "DIR", 0, "leave a report, statistics and tables in this folder", 4},
    {"asm", KEY_ASM, "FILE", 0, "write the program as assembly", 4},
    {0}};

static int64_t side(const char *name, const char *text, struct argp_state *state)
{
    int64_t value = 0;

    if (text_parse_int(text, 1, GEMM_SIDE_MAX, &value) != 0)
        argp_error(state, "%s is \"%s\", allowed are whole numbers in 1..%d", name, text,
                   GEMM_SIDE_MAX);
    return value;
}

/* "2048x1024x512" */
static void parse_sides(struct arguments *args, const char *text, struct argp_state *state)
{
    int64_t *const sides[] = {&args->m, &args->n, &args->k};
    char *copy = strdup(text), *rest = copy, *word;
    size_t count = 0;

    if (args->m || args->n || args->k)
        argp_error(state, "the sizes are given twice; write MxNxK once, or --m, --n and --k");
    while (copy && (word = strtok_r(rest, "x", &rest)) != NULL && count < COUNT_OF(sides))
        *sides[count++] = side("a side of MxNxK", word, state);
    if (count != COUNT_OF(sides) || word != NULL || text[strlen(text) - 1] == 'x')
        argp_error(state, "\"%s\"; MxNxK is needed, e.g. 2048x2048x2048", text);
    free(copy);
}

static void check_together(const struct arguments *args, struct argp_state *state)
{
    bool has_values = args->engine.mode != MODE_TIMING;
    struct err e;

    if (!args->m || !args->n || !args->k)
        argp_error(state, "which sizes? MxNxK, or --m, --n and --k");
    if (!has_values && (args->a || args->b || args->c))
        argp_error(state, "--a, --b and --out-npy are about values, which --mode timing does not "
                   "have");
    if (trace_options_check_mode(&args->trace, args->engine.mode, &e))
        argp_error(state, "%s", e.msg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->engine;
        state->child_inputs[1] = &args->trace;
        return 0;
    case 't': args->tpu = arg; return 0;
    case 'm': args->m = side("--m", arg, state); return 0;
    case 'n': args->n = side("--n", arg, state); return 0;
    case 'k': args->k = side("--k", arg, state); return 0;
    case KEY_SET: cli_list_add(&args->set, arg, state); return 0;
    case KEY_ASM: args->assembly = arg; return 0;
    case KEY_A: args->a = arg; return 0;
    case KEY_B: args->b = arg; return 0;
    case KEY_C: args->c = arg; return 0;
    case KEY_OUT:
        if (!*arg)
            argp_error(state, "--out is empty");
        args->out.path = arg;
        return 0;
    case KEY_TYPE:
        args->is_bf16 = strcmp(arg, "bf16") == 0;
        if (!args->is_bf16 && strcmp(arg, "f32") != 0)
            argp_error(state, "--out-type is \"%s\", allowed are f32, bf16", arg);
        return 0;
    case KEY_SEED:
        if (text_parse_int(arg, 0, INT64_MAX, &args->seed) != 0)
            argp_error(state, "--seed is \"%s\", allowed are whole numbers from 0 on", arg);
        return 0;
    case ARGP_KEY_ARG: parse_sides(args, arg, state); return 0;
    case ARGP_KEY_END: check_together(args, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_engine_argp, 0, "Engine:", 5},
                                             {&cli_trace_argp, 0, "Trace:", 6}, {0}};

static const struct argp parser = {
    options, parse_option, "MxNxK\nM K N",
    "Multiply matrices, C[M][N] = A[M][K] x B[K][N], in bf16 with f32 sums on simulated TPU "
    "cores, and show where the cycles went.\v"
    "The program is made for the chip (docs/gemm.md) and runs on one core; on a slice, e.g. v3-8, "
    "on all its cores, each with its share of the rows of A and all of B. In modes with values C "
    "is held against OpenBLAS on the operands as rounded to bf16.\n\n"
    "With M, K and N as three numbers the product is made by the compiler, as `systole op dot` "
    "makes it, and timed: `systole gemm 64 64 64 --help` tells its options.\n\n"
    "Examples:\n"
    "  systole gemm 2048x2048x2048\n"
    "  systole gemm 8192x8192x8192 --tpu v5e --mode timing\n"
    "  systole gemm 4096x1024x1024 --tpu v3-8 --threads 2\n"
    "  systole gemm 4096 4096 4096 --dtype bf16 --tpu v6e --codegen xla\n"
    "  systole gemm 1024x1024x1024 --trace gemm.pftrace\n"
    "  systole gemm 512x512x512 --a a.npy --b b.npy --out-npy c.npy --asm gemm.tasm",
    children, NULL, NULL};

const struct argp *cmd_gemm_parser(void)
{
    return &parser;
}

struct session {
    const struct arguments *args;
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct chip_origin *origins;
    struct machine *m;
    int cores;                          /* that share the rows */
    struct gemm_plan plan;
    struct isa_program program;
    struct gemm_operands x;
    struct trace_recording trace;
};

/* ----- before the run */

static int open_machine(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;
    const struct machine_options *mo = &args->engine;

    s->origins = arena_array(&s->arena, chip_param_count, sizeof(*s->origins));
    if (cli_load_slice(args->tpu, &args->set, &s->slice, &s->chip, s->origins, &s->arena, e))
        return -1;
    s->m = machine_create(&s->slice, &s->chip, mo, e);
    if (!s->m)
        return -1;
    s->cores = strchr(args->tpu, '-') ? machine_core_count(s->m) : 1;
    return 0;
}

static int make_program(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;
    struct gemm_problem problem = {.m = div_up(args->m, s->cores), .n = args->n, .k = args->k,
                                   .is_result_bf16 = args->is_bf16};

    if (gemm_plan(&s->plan, &problem, &s->chip, machine_hbm_share_bytes(s->m), e) ||
        gemm_program(&s->plan, &s->chip, &s->arena, &s->program, e))
        return cli_add_chip(args->tpu, e);
    for (int i = 0; i < s->cores; i++)
        if (machine_load(s->m, i, &s->program, e))
            return cli_add_chip(args->tpu, e);
    return 0;
}

static int read_operand(const char *path, int64_t rows, int64_t columns, struct arena *a,
                        const float **out, struct err *e)
{
    struct npy array;
    uint8_t *bytes;
    size_t size;

    if (isa_file_read(path, a, &bytes, &size, e) || npy_parse(bytes, size, path, &array, e))
        return -1;
    if (array.rank != 2 || array.rows != rows || array.columns != columns)
        return err_at(e, path, 0, 0, "a matrix of %lldx%lld is needed, this is one of %lldx%lld",
                      (long long)rows, (long long)columns, (long long)array.rows,
                      (long long)array.columns);
    *out = array.data;
    return 0;
}

/* what the host's memory may be asked for */
static int check_size(int64_t rows, int64_t columns, struct err *e)
{
    if (rows <= ELEMENTS_MAX / columns)
        return 0;
    return err_set(e, "a matrix of %lldx%lld elements; at most %d are possible, except "
                   "with --mode timing", (long long)rows, (long long)columns, ELEMENTS_MAX);
}

/* as the matrix units take it */
static void make_operand(float *to, const float *from, int64_t count, struct rng *r)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = f32_round_to_bf16(from ? from[i] : rng_uniform(r, -1, 1));
}

static int make_operands(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;
    const float *a = NULL, *b = NULL;
    struct gemm_operands *x = &s->x;
    struct rng r;

    if ((args->a && read_operand(args->a, args->m, args->k, &s->arena, &a, e)) ||
        (args->b && read_operand(args->b, args->k, args->n, &s->arena, &b, e)))
        return -1;
    *x = (struct gemm_operands){.m = args->m, .n = args->n, .k = args->k};
    x->a = arena_array(&s->arena, (size_t)(x->m * x->k), sizeof(float));
    x->b = arena_array(&s->arena, (size_t)(x->k * x->n), sizeof(float));
    x->c = arena_array(&s->arena, (size_t)(x->m * x->n), sizeof(float));
    rng_init(&r, (uint64_t)args->seed);
    make_operand(x->a, a, x->m * x->k, &r);
    make_operand(x->b, b, x->k * x->n, &r);
    return 0;
}

/* rows of the whole that core `core` has; *first is the first of them */
static int64_t rows_of(const struct session *s, int core, int64_t *first)
{
    int64_t share = s->plan.problem.m, left;

    *first = core * share;
    left = s->args->m - *first;
    return left < 0 ? 0 : left < share ? left : share;
}

static int write_operands(struct session *s, struct err *e)
{
    const struct gemm_plan *p = &s->plan;
    int64_t a_bytes = 2 * p->rows * p->depth, b_bytes = 2 * p->depth * p->columns;
    uint16_t *a = mem_alloc((size_t)a_bytes), *b = mem_alloc((size_t)b_bytes);
    int status = 0;

    gemm_pack(s->x.b, s->x.k, s->x.n, p->depth, p->columns, b);
    for (int core = 0; core < s->cores && status == 0; core++) {
        int64_t first, rows = rows_of(s, core, &first);

        gemm_pack(rows ? s->x.a + first * s->x.k : NULL, rows, s->x.k, p->rows, p->depth, a);
        status = machine_hbm_write(s->m, core, p->a_address, a, a_bytes, e);
        if (status == 0)
            status = machine_hbm_write(s->m, core, p->b_address, b, b_bytes, e);
    }
    mem_free(a);
    mem_free(b);
    return status;
}

static int write_assembly(const struct session *s, struct err *e)
{
    struct outfile f;

    if (!s->args->assembly)
        return 0;
    if (outfile_begin(&f, s->args->assembly, e))
        return -1;
    isa_print_program(&s->program, f.to);
    return outfile_commit(&f, e);
}

static int prepare(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;

    if (report_check_outputs(args->out.path, args->trace.path, e) ||
        (args->c && outfile_check(args->c, e)) ||
        open_machine(s, e) || make_program(s, e) || write_assembly(s, e))
        return -1;
    if (args->engine.mode == MODE_TIMING)
        return 0;
    if (check_size(args->m, args->k, e) || check_size(args->k, args->n, e) ||
        check_size(args->m, args->n, e))
        return -1;
    return make_operands(s, e) || write_operands(s, e) ? -1 : 0;
}

/* ----- behind it */

static int read_result(struct session *s, struct err *e)
{
    const struct gemm_plan *p = &s->plan;
    int64_t bytes = p->rows * p->columns * (s->args->is_bf16 ? 2 : 4);
    void *tiles = mem_alloc((size_t)bytes);
    int status = 0;

    for (int core = 0; core < s->cores && status == 0; core++) {
        int64_t first, rows = rows_of(s, core, &first);

        status = machine_hbm_read(s->m, core, p->c_address, tiles, bytes, e);
        if (status != 0 || rows == 0)
            continue;
        if (s->args->is_bf16)
            gemm_unpack_bf16(tiles, p->columns, rows, s->x.n, s->x.c + first * s->x.n);
        else
            gemm_unpack_f32(tiles, p->columns, rows, s->x.n, s->x.c + first * s->x.n);
    }
    mem_free(tiles);
    return status;
}

static void print_plan(const struct session *s)
{
    const struct gemm_plan *p = &s->plan;

    printf("%lldx%lldx%lld, %d core%s: blocks of %lldx%lld, k in chunks of %lld; %u bundles\n",
           (long long)s->args->m, (long long)s->args->n, (long long)s->args->k, s->cores,
           s->cores == 1 ? "" : "s", (long long)p->block_rows, (long long)p->block_columns,
           (long long)p->chunk_depth, s->program.bundle_count);
}

static void print_rate(const struct session *s)
{
    double flops = 2.0 * (double)s->args->m * (double)s->args->n * (double)s->args->k;
    double cycles = (double)machine_cycles(s->m), mhz = (double)s->chip.chip_clock_mhz;
    double peak = 2.0 * (double)gemm_peak_per_cycle(&s->chip) * s->cores;
    char text[28];

    printf("%s cycles = %.1f us; %.2f TFLOP/s = %.1f %% of the peak of %.2f TFLOP/s\n\n",
           text_thousands(machine_cycles(s->m), text, sizeof(text)), cycles / mhz,
           flops / cycles * mhz * 1e-6, 100 * flops / cycles / peak, peak * mhz * 1e-6);
}

static int show_values(struct session *s, struct err *e)
{
    if (s->args->engine.mode == MODE_TIMING)
        return 0;
    if (read_result(s, e) ||
        (s->args->c && npy_write(s->args->c, s->x.c, s->x.m, s->x.n, e)))
        return -1;
    return gemm_check(&s->x, &s->plan, &s->arena, e);
}

static struct report_buffer buffer_of(enum memory memory, const char *name, int64_t offset,
                                      int64_t bytes, int64_t padded)
{
    return (struct report_buffer){.memory = memory, .name = name, .offset_bytes = offset,
                                  .bytes = bytes, .padded_bytes = padded};
}

/* operands and result, and two buffers for a part of each */
static void list_buffers(struct session *s, struct report_step *step)
{
    const struct gemm_plan *p = &s->plan;
    const struct gemm_problem *q = &p->problem;
    int64_t elem = s->args->is_bf16 ? 2 : 4;
    struct report_buffer *b = arena_array(&s->arena, 9, sizeof(*b));
    size_t count = 0;

    b[count++] = buffer_of(MEMORY_HBM, "A", p->a_address, 2 * q->m * q->k, 2 * p->rows * p->depth);
    b[count++] = buffer_of(MEMORY_HBM, "B", p->b_address, 2 * q->k * q->n,
                           2 * p->depth * p->columns);
    b[count++] = buffer_of(MEMORY_HBM, "C", p->c_address, elem * q->m * q->n,
                           elem * p->rows * p->columns);
    for (int i = 0; i < 2; i++) {
        int64_t a = 2 * p->block_rows * p->chunk_depth, k = 2 * p->chunk_depth * p->block_columns;
        int64_t c = 4 * p->block_rows * p->block_columns;       /* sums are f32 */

        b[count++] = buffer_of(MEMORY_VMEM, i ? "A, next chunk" : "A, chunk",
                               p->a_row[i] * VMEM_ROW_BYTES, a, a);
        b[count++] = buffer_of(MEMORY_VMEM, i ? "B, next chunk" : "B, chunk",
                               p->b_row[i] * VMEM_ROW_BYTES, k, k);
        b[count++] = buffer_of(MEMORY_VMEM, i ? "C, next block" : "C, block",
                               p->c_row[i] * VMEM_ROW_BYTES, c, c);
    }
    for (size_t i = 0; i < count; i++)
        b[i].last_bundle = s->program.bundle_count - 1;
    step->buffer = b;
    step->buffer_count = count;
}

/* what matmuls of every core come to: whole blocks, and arrays that are full */
static int64_t issued_flops(const struct gemm_plan *p)
{
    return 2 * p->rows * p->columns * p->depth;
}

static int write_folder(struct session *s, const struct report_step *step, double seconds,
                        struct err *e)
{
    struct out_folder f = s->args->out;
    const struct arguments *args = s->args;

    f.chip_origins = s->origins;
    out_folder_add(&f, "gemm", "m", arena_printf(&s->arena, "%lld", (long long)args->m), true);
    out_folder_add(&f, "gemm", "n", arena_printf(&s->arena, "%lld", (long long)args->n), true);
    out_folder_add(&f, "gemm", "k", arena_printf(&s->arena, "%lld", (long long)args->k), true);
    out_folder_add(&f, "gemm", "out-type", args->is_bf16 ? "bf16" : "f32", args->is_bf16);
    out_folder_add(&f, "gemm", "a", args->a, true);
    out_folder_add(&f, "gemm", "b", args->b, true);
    out_folder_add(&f, "gemm", "seed", arena_printf(&s->arena, "%lld", (long long)args->seed),
                   args->seed != 1);
    out_folder_add(&f, "machine", "tpu", args->tpu, args->tpu != default_tpu);
    out_folder_add_engine(&f, &args->engine, &s->arena);
    return out_folder_write(&f, step, seconds, e);
}

static int run(struct session *s, struct err *e)
{
    struct report_step step = {
        .title = s->program.name, .machine = s->m, .program = &s->program,
        .model_flops = 2 * s->plan.problem.m * s->args->n * s->args->k};
    struct report_layer layer = {.name = step.title, .product_flops = step.model_flops};
    double began_s = progress_seconds(), seconds;
    struct err fault;
    int status;

    step.issued_flops = issued_flops(&s->plan);
    step.layer = &layer;
    step.layer_count = 1;
    list_buffers(s, &step);
    if (trace_recording_begin(&s->trace, &s->args->trace, s->args->out.path, s->m, s->program.name,
                              &s->args->out.command, e))
        return -1;
    status = machine_run(s->m, &fault);
    seconds = progress_seconds() - began_s;
    print_plan(s);
    if (status == 0 && s->args->engine.mode != MODE_FUNCTIONAL)
        print_rate(s);
    report_print_step(&step, stdout);
    printf("\nhost time %.3f s\n", seconds);
    if (trace_recording_end(&s->trace, &step, stdout, e) && status == 0)
        return -1;
    if (status != 0) {
        *e = fault;
        return -1;
    }
    return show_values(s, e) || write_folder(s, &step, seconds, e) ? -1 : 0;
}

int cmd_gemm(int argc, char **argv)
{
    struct arguments args = {.tpu = default_tpu, .engine = {.thread_count = 1}, .seed = 1,
                             .trace = TRACE_OPTIONS_DEFAULT};
    struct session s = {.args = &args};
    struct err e;
    int status;

    if (gemm_is_compiled(argc, argv))
        return gemm_compiled(argc, argv);
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    if (trace_options_for_folder(&args.trace, args.out.path, args.engine.mode, &e))
        return cli_fail(&e);
    arena_init(&s.arena);
    args.out.command = command_of_argv(argc, argv, &s.arena);
    status = prepare(&s, &e) || run(&s, &e) ? cli_fail(&e) : 0;
    machine_destroy(s.m);
    arena_fini(&s.arena);
    return status;
}
