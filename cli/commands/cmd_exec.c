/* systole exec: a program of JAX, TensorFlow or PyTorch/XLA, with its values. */
#include "cli/commands/cli.h"

#include "base/text.h"
#include "cli/exec/exec.h"

#define AT(member) CLI_AT(struct exec_options, member)

static int parse_tolerance(const struct cli_option *o, const char *text, void *values,
                           struct err *e)
{
    (void)o;
    if (text_parse_double(text, 0, 1e30, &((struct exec_options *)values)->tolerance))
        return err_set(e, "--tolerance is \"%s\", allowed are numbers from 0 on", text);
    return 0;
}

static const struct cli_option options[] = {
    {"input", 'i', "N=WHAT", "parameter N: a .npy file, random, zeros, ones or iota; may be "
     "repeated (default: random)", 1, CLI_LIST, AT(input)},
    {"inputs", 0, "FILE", "parameters from a .safetensors, named by their numbers", 1, CLI_TEXT,
     AT(inputs)},
    {"infeed", 0, "N=WHAT", "what infeeds and receives from the host take, number N: the same, a "
     ".npy having an entry for each use; may be repeated", 1, CLI_LIST, AT(infeed)},
    {"queue-entries", 0, "N", "entries of queues that loops use whose ends are computed (default: "
     "64)", 1, CLI_WHOLE, AT(queue_entries), .lo = 1, .hi = 1000000000},
    CLI_ROW_SEED(struct exec_options, seed, 1, "of random inputs"),
    {"expect", 0, "FILE", "hold the results against a .safetensors; exit status 1 where one is "
     "further off than --tolerance", 2, CLI_TEXT, AT(expect)},
    {"tolerance", 0, "R", "largest difference over largest magnitude (default: 2e-5); integers "
     "must be equal", 2, CLI_OTHER, .parse = parse_tolerance},
    {"compare", 0, NULL, "run on cores and on the host, and hold both against each other", 2,
     CLI_FLAG, AT(compare)},
    {"backend", 0, "NAME", "cores (default) or host: evaluated without a simulated core", 2,
     CLI_CHOICE, AT(backend), .words = "cores|host"},
    {"precision", 0, "NAME", "of f32 products: program (default): as it says, default being one "
     "pass of bf16; highest: six passes, and a small program exactly; exact: functions and sums "
     "rounded once or twice, too (docs/numerics.md)", 2, CLI_CHOICE, AT(precision),
     .words = "program|highest|exact"},
    {"as-is", 0, NULL, "of a scheduled program: the kernels, order, places and copies of its own "
     "compiler (systole compile --as-is compares them)", 2, CLI_FLAG, AT(is_kept)},
    {"steps", 0, "N", "run it N times (default: 1)", 3, CLI_WHOLE, AT(steps), .lo = 1,
     .hi = 1000000000},
    {"carry", 0, "RANGES", "results that are parameters of the next step: 0-9, or 1-10:0-9 where "
     "their numbers differ", 3, CLI_TEXT, AT(carry)},
    {"assume-trips", 0, "N", "in timing mode: how often loops run that end by a computed "
     "condition", 3, CLI_WHOLE, AT(run.assume_trips), .lo = 1, .hi = INT32_MAX},
    {"assume-branch", 0, "WHICH", "likewise: which computation a conditional takes; of "
     "numbered ones true is the first, false the last", 3, CLI_CHOICE,
     AT(run.assume_branch), .words = "none|true|false"},
    {"assume-constants", 0, NULL, "likewise: others stand for elements of constants that the file "
     "leaves out", 3, CLI_FLAG, AT(assumes_constants)},
    {0}};

static const struct cli_part parts[] = {
    {&cli_op_options, offsetof(struct exec_options, run)}, {0}};

static int check(void *values, struct err *e)
{
    struct exec_options *o = values;

    if (o->carry && o->steps == 1)
        return err_set(e, "--carry says what the next step starts from: it needs --steps 2 or more");
    if (o->run.engine.mode == MODE_TIMING && (o->expect || o->compare))
        return err_set(e, "timing mode has no values: --expect and --compare need --mode both or "
                       "functional");
    if (o->is_kept && o->backend == EXEC_ON_HOST)
        return err_set(e, "--as-is is about kernels, and the host has none: it needs --backend cores");
    if ((o->run.assume_trips || o->run.assume_branch) && o->run.engine.mode != MODE_TIMING)
        return err_set(e, "--assume-trips and --assume-branch are for --mode timing; with values the "
                       "program's conditions say");
    if (o->assumes_constants && o->run.engine.mode != MODE_TIMING)
        return err_set(e, "--assume-constants is for --mode timing: values need the program's own");
    return 0;
}

static const char doc[] =
    "Run a program of JAX, TensorFlow or PyTorch/XLA as it is: HLO or StableHLO, as text or bytes. "
    "FILE may be HLO text, HloModuleProto, StableHLO text, a StableHLO artifact (jax.export, PJRT), "
    "or one of them gzipped.\v"
    "Parameters and results are counted from 0, tuples from left to right.\n\n"
    "Examples:\n"
    "  systole exec step.mlir --tpu v5e\n"
    "  systole exec step.mlir --inputs in.safetensors --expect out.safetensors --tolerance 1e-4\n"
    "  systole exec train.hlo --steps 20 --carry 1-10:0-9 --out run/\n"
    "  systole exec model.mlirbc --mode timing --tpu v6e";

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .noun = "file",
    .noun_at = offsetof(struct exec_options, file),
    .noun_hint = "(HLO or StableHLO, text or bytes)", .args_doc = "FILE", .doc = doc};

/* the graph of its cores; where the host alone runs it there is none */
static int lower(struct exec_options *o, struct exec_program *p, struct err *e)
{
    if (o->backend != EXEC_ON_CORES && !o->compare)
        return 0;
    if (o->is_kept && program_graph_keep(&p->graph, true, &p->arena, e))
        return -1;
    o->run.kept = o->is_kept ? &p->graph.kept : NULL;
    return program_graph_lower(&p->graph, &p->arena, e);
}

static int run(struct exec_options *o, struct exec_program *p, struct err *e)
{
    bool has_values = o->run.engine.mode != MODE_TIMING || o->backend == EXEC_ON_HOST;
    int failed = 0;

    if (report_check_outputs(o->run.out.path, o->run.trace.path, e) || exec_load(o, p, e) ||
        (has_values && exec_make_inputs(o, p, e)))
        return -1;
    p->graph.queue_entries = exec_queue_entries(o, p);
    if (lower(o, p, e))
        return -1;
    if (has_values)
        exec_tell_inputs(o, p);
    if (o->compare ? exec_compare_backends(o, p, &failed, e)
        : o->backend == EXEC_ON_HOST ? exec_on_host(o, p, e) : exec_on_cores(o, p, e))
        return -1;
    if (!has_values)
        return 0;
    printf("\n");
    exec_print_results(p);
    if ((o->run.out.path && o->backend == EXEC_ON_HOST && report_make_folder(o->run.out.path, e)) ||
        (o->run.out.path && exec_write_results(o->run.out.path, p, e)) ||
        (o->expect && exec_check_expected(o, p, &failed, e)))
        return -1;
    return failed ? 1 : 0;
}

int cmd_exec(int argc, char **argv)
{
    struct exec_options o = {.run = OP_OPTIONS_DEFAULT, .tolerance = 2e-5, .steps = 1, .seed = 1,
                             .queue_entries = LOWER_QUEUE_ENTRIES};
    struct exec_program p = {0};
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    o.run.engine.mode = MODE_BOTH;
    o.run.out.command = command_of_argv(argc, argv, &a);
    cli_parse(&syntax, argc, argv, &o);
    status = run(&o, &p, &e);
    if (status < 0)
        status = cli_fail(&e);
    exec_unload(&p);
    arena_fini(&a);
    return status;
}
