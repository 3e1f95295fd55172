#include "cli/cli.h"

#include "base/text.h"
#include "cli/engine_options.h"
#include "cli/from_dump.h"
#include "cli/hbm_data.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/progress.h"
#include "report/report.h"
#include "sim/machine.h"
#include "stack/compile.h"
#include "stack/ring.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    const char *program, *tpu, *trace;
    bool all_cores;
    int64_t limit;                      /* of cycles, 0: not given */
    struct machine_options engine;
    struct cli_list set, load, dump, save;
    struct dump_options from;
};

#define LIMIT_MAX (INT64_MAX / 4)

enum { KEY_ALL = 256, KEY_HBM, KEY_DUMP, KEY_SAVE, KEY_SET, KEY_TRACE,
       KEY_LIMIT, KEY_FROM, KEY_OPERAND, KEY_SEED, KEY_RESULT, KEY_UTILIZATION };

static const struct argp_option options[] = {
    {"tpu", 't', "NAME", 0, "chip or slice to run on (default: v3)", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"all-cores", KEY_ALL, NULL, 0,
     "run the program on every core of the slice, with its place in the ring in SMEM words "
     "0, 4, 8, 12 (number, count, next core, previous core); default: on core 0 alone", 1},
    {"hbm", KEY_HBM, "ADDR=FILE", 0,
     "before the run, put a file into HBM at byte ADDR: a .npy of f32 or s32 (two dimensions "
     "as 8x128 tiles), any other file as it is", 2},
    {"dump", KEY_DUMP, "ADDR:ROWSxCOLS", 0, "after the run, print the f32 matrix at byte ADDR", 2},
    {"out-npy", KEY_SAVE, "ADDR:ROWSxCOLS=FILE", 0, "after the run, write it to a .npy file", 2},
    {"from-dump", KEY_FROM, "FILE", 0,
     "run a listing of final bundles that the XLA:TPU compiler dumped, instead of PROGRAM", 3},
    {"operand", KEY_OPERAND, "N=FILE", 0,
     "put a .npy into operand N of the listing (default: generated values)", 3},
    {"operand-seed", KEY_SEED, "N", 0, "of the generated values (default: 1)", 3},
    {"result", KEY_RESULT, "N=FILE", 0, "after the run, write output operand N to a .npy", 3},
    {"utilization", KEY_UTILIZATION, "FILE", 0,
     "write the units that each bundle of the listing uses, in the compiler's format", 3},
    {"trace", KEY_TRACE, "FILE", 0, "write a Chrome trace of the run (.json or .json.gz)", 4},
    {"cycle-limit", KEY_LIMIT, "N", 0,
     "stop a program that runs longer (default: 10^10, a listing: 10^9)", 4},
    {0}};

/* a listing is one core's kernel, and some options are for listings alone */
static void check_together(const struct arguments *args, struct argp_state *state)
{
    const struct dump_options *from = &args->from;

    if (from->path && (args->program || args->all_cores))
        argp_error(state, "--from-dump goes with neither PROGRAM nor --all-cores");
    if (!from->path && (from->operand.count || from->result.count || from->utilization))
        argp_error(state, "--operand, --result and --utilization go with --from-dump");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->engine;
        return 0;
    case 't': args->tpu = arg; return 0;
    case KEY_TRACE: args->trace = arg; return 0;
    case KEY_ALL: args->all_cores = true; return 0;
    case KEY_SET: cli_list_add(&args->set, arg, state); return 0;
    case KEY_HBM: cli_list_add(&args->load, arg, state); return 0;
    case KEY_DUMP: cli_list_add(&args->dump, arg, state); return 0;
    case KEY_SAVE: cli_list_add(&args->save, arg, state); return 0;
    case KEY_FROM: args->from.path = arg; return 0;
    case KEY_OPERAND: cli_list_add(&args->from.operand, arg, state); return 0;
    case KEY_RESULT: cli_list_add(&args->from.result, arg, state); return 0;
    case KEY_UTILIZATION: args->from.utilization = arg; return 0;
    case KEY_SEED:
        if (text_parse_int(arg, 0, INT32_MAX, &args->from.seed) != 0)
            argp_error(state, "--operand-seed is \"%s\", allowed are whole numbers in 0..%d", arg,
                       INT32_MAX);
        return 0;
    case KEY_LIMIT:
        if (text_parse_int(arg, 1, LIMIT_MAX, &args->limit) != 0)
            argp_error(state, "--cycle-limit is \"%s\", allowed are whole numbers in 1..%lld", arg,
                       (long long)LIMIT_MAX);
        return 0;
    case ARGP_KEY_END:
        check_together(args, state);
        /* fall through */
    default:
        return cli_parse_program(&args->program, args->from.path != NULL, key, arg, state);
    }
}

static const struct argp_child children[] = {{&cli_engine_argp, 0, "Engine:", 5}, {0}};

static const struct argp parser = {
    options, parse_option, "PROGRAM\n--from-dump=FILE",
    "Run a program on simulated TPU cores and show where its cycles went.\v"
    "PROGRAM is assembly text or an object file.\n\n"
    "Example, the sum of two arrays:\n"
    "  systole run examples/01_vector_add.tasm --hbm 0=a.npy --hbm 0x10000=b.npy \\\n"
    "      --dump 0x20000:32x128\n"
    "A kernel as the compiler dumped it (docs/listings.md):\n"
    "  systole run --from-dump fusion.final_bundles.txt --tpu v6e \\\n"
    "      --operand 0=x.npy --result 3=y.npy --utilization units.txt",
    children, NULL, NULL};

struct session {
    const struct arguments *args;
    struct isa_program program;
    struct arena arena;
    struct machine *m;
    struct hbm_matrix matrix[2 * CLI_LIST_MAX];
    int matrix_count;
    int last_core;                      /* cores 0..last_core run the program */
    struct from_dump dump;
    bool is_told;                       /* what is wrong has been printed */
};

static int open_machine(struct session *s, struct err *e)
{
    const char *from = s->args->from.path;
    cycle_t limit = s->args->limit;
    struct machine_options mo = s->args->engine;
    struct slice slice;
    struct chip chip;

    mo.trace = s->args->trace != NULL;
    mo.cycle_limit = limit ? limit : from ? 1000000000 : 10000000000;
    if (cli_load_slice(s->args->tpu, &s->args->set, &slice, &chip, NULL, &s->arena, e))
        return -1;
    s->m = machine_create(&slice, &chip, &mo, e);
    if (!s->m)
        return -1;
    s->last_core = s->args->all_cores ? machine_core_count(s->m) - 1 : 0;
    return 0;
}

/* what a program reads about its place among the others */
static int write_places(struct session *s, struct err *e)
{
    struct slice slice = *machine_slice(s->m);
    int count = s->last_core + 1, i;
    int *core;

    slice.core_count = machine_core_count(s->m);
    core = arena_array(&s->arena, (size_t)slice.core_count, sizeof(*core));
    if (s->args->all_cores)
        ring_order(&slice, core);
    for (i = 0; i < count; i++) {
        int32_t word[SMEM_ABI_BYTES / 4] = {
            [SMEM_REPLICA / 4] = i, [SMEM_REPLICA_COUNT / 4] = count,
            [SMEM_RING_NEXT / 4] = core[(i + 1) % count],
            [SMEM_RING_PREVIOUS / 4] = core[(i + count - 1) % count]};

        if (machine_smem_write(s->m, core[i], 0, word, sizeof(word), e))
            return -1;
    }
    return 0;
}

static int parse_matrices(struct session *s, const struct cli_list *list, bool with_path,
                          struct err *e)
{
    for (int i = 0; i < list->count; i++)
        if (hbm_matrix_parse(list->item[i], with_path, &s->matrix[s->matrix_count++], e))
            return -1;
    return 0;
}

static int prepare_dump(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;

    if (from_dump_prepare(&s->dump, &args->from, s->m, &s->arena, &s->is_told, e))
        return -1;
    s->program = s->dump.listing.program;
    for (int i = 0; i < s->matrix_count; i++)
        if (hbm_matrix_check(s->m, &s->matrix[i], e))
            return -1;
    for (int i = 0; i < args->load.count; i++)
        if (hbm_data_load(s->m, 0, 0, args->load.item[i], e))
            return -1;
    return 0;
}

/* arguments that can be wrong are looked at before anything runs */
static int prepare(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;
    int i;

    if (parse_matrices(s, &args->dump, false, e) || parse_matrices(s, &args->save, true, e))
        return -1;
    if (report_check_outputs(NULL, args->trace, e) || open_machine(s, e))
        return -1;
    if (args->from.path)
        return prepare_dump(s, e);
    if (write_places(s, e))
        return -1;
    for (i = 0; i < s->matrix_count; i++)
        if (hbm_matrix_check(s->m, &s->matrix[i], e))
            return -1;
    for (i = 0; i <= s->last_core; i++)
        if (machine_load(s->m, i, &s->program, e))
            return cli_add_chip(args->tpu, e);
    for (i = 0; i < args->load.count; i++)
        if (hbm_data_load(s->m, 0, s->last_core, args->load.item[i], e))
            return -1;
    return 0;
}

static int write_trace(const struct session *s, const struct report_step *step, struct err *e)
{
    size_t left_out;

    if (!s->args->trace)
        return 0;
    if (report_write_trace(step, s->args->trace, 0, &left_out, e))
        return -1;
    printf("trace written to %s\n", s->args->trace);
    return 0;
}

static int run(struct session *s, struct err *e)
{
    const char *path = s->args->from.path;
    struct report_step step = {.title = path ? path : s->args->program, .machine = s->m,
                               .program = &s->program};
    double began_s = progress_seconds(), seconds;
    struct err fault;
    int status, i;

    if (path)
        from_dump_print_header(&s->dump, stdout);
    status = machine_run(s->m, &fault);
    seconds = progress_seconds() - began_s;
    report_print_step(&step, stdout);
    if (path)
        from_dump_print_end(&s->dump, stdout);
    printf("\nhost time %.3f s\n", seconds);
    if (write_trace(s, &step, e) && status == 0)
        return -1;
    if (status != 0) {
        *e = fault;                     /* even where it left no trace to write */
        return -1;
    }
    for (i = 0; i < s->matrix_count; i++)
        if (hbm_matrix_show(s->m, 0, &s->matrix[i], e))
            return -1;
    return path ? from_dump_write_results(&s->dump, e) : 0;
}

int cmd_run(int argc, char **argv)
{
    struct arguments args = {.tpu = "v3", .engine = {.thread_count = 1}, .from.seed = 1};
    struct session s = {.args = &args};
    struct err e;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&s.arena);
    status = args.from.path ? 0 : cli_load_program(args.program, &s.arena, &s.program);
    if (status == 0 && (prepare(&s, &e) || run(&s, &e)))
        status = s.is_told ? EXIT_USER_ERROR : cli_fail(&e);
    machine_destroy(s.m);
    arena_fini(&s.arena);
    return status;
}
