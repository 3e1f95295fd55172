/*
 * `systole run`: loads data into a machine, launches a program on it, and shows or writes what
 * comes out.
 */
#include "cli/commands/cli.h"

#include "cli/common/hbm_data.h"
#include "cli/common/out_folder.h"
#include "base/progress.h"
#include "cli/common/run_setup.h"
#include "cli/live/run_view.h"
#include "cli/common/run_progress.h"
#include "cli/common/save_at.h"
#include "cli/commands/swept.h"
#include "cli/common/trace_options.h"
#include "import/read/read.h"
#include "report/folder/report.h"

#include <stdio.h>

struct arguments {
    struct run_options run;
    struct trace_options trace;
    struct out_folder out;
    bool has_view;
    const char *view_socket;            /* --view=SOCKET; NULL: a viewer is started */
    struct cli_list dump, save, save_at;
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_view(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    (void)o;
    (void)e;
    args->has_view = true;
    args->view_socket = *text ? text : NULL;
    return 0;
}

static const struct cli_option options[] = {
    {"dump", 0, "ADDR:ROWSxCOLS", "after the run, print the f32 matrix at byte ADDR", 2, CLI_LIST,
     AT(dump)},
    {"out-npy", 0, "ADDR:ROWSxCOLS=FILE", "after the run, write it to a .npy file", 2, CLI_LIST,
     AT(save)},
    {"result", 0, "N=FILE", "after the run, write output operand N to a .npy", 3, CLI_LIST,
     AT(run.from.result)},
    {"utilization", 0, "FILE",
     "write the units that each bundle of the listing uses, in the compiler's format", 3, CLI_TEXT,
     AT(run.from.utilization)},
    {"save-at", 0, "CYCLE=FILE",
     "write a snapshot of the whole machine at CYCLE, and go on; may be repeated", 4, CLI_LIST,
     AT(save_at)},
    {"view", 0, "SOCKET",
     "stop before the first bundle and let systole-view drive; with SOCKET, wait for one there", 4,
     CLI_OTHER, .parse = parse_view, .is_arg_optional = true},
    CLI_ROW_OUT(struct arguments, out.path, 4),
    {0}};

/* what shows values or cycles goes with a mode that has them */
static int check(void *values, struct err *e)
{
    const struct arguments *args = values;
    enum run_mode mode = args->run.engine.mode;

    if (mode == MODE_TIMING
        && (args->dump.count || args->save.count || args->run.from.result.count))
        return err_set(e, "--dump, --out-npy and --result show values, which --mode timing does "
                       "not work out");
    if (args->has_view && mode == MODE_FUNCTIONAL)
        return err_set(e, "--view shows cycles, which --mode functional does not work out");
    if (args->has_view && (args->trace.path || args->save_at.count || args->run.resume))
        return err_set(e, "--view records a trace of its own from the beginning (--out DIR keeps "
                       "it) and does not go with --trace, --save-at and --resume");
    return trace_options_check_mode(&args->trace, mode, e);
}

static const struct cli_part parts[] = {
    {&cli_run_options, offsetof(struct arguments, run)},
    {&cli_trace_options, offsetof(struct arguments, trace)}, {0}};

const struct cli_options cmd_run_options = {options, parts, check};

static const char doc[] =
    "Run a program on simulated TPU cores and show where its cycles went.\v"
    "PROGRAM is assembly text or an object file.\n\n"
    "Example, the sum of two arrays:\n"
    "  systole run examples/01_vector_add.tasm --hbm 0=a.npy --hbm 0x10000=b.npy \\\n"
    "      --dump 0x20000:32x128\n"
    "A kernel as the compiler dumped it (docs/listings.md):\n"
    "  systole run --from-dump fusion.final_bundles.txt --tpu v6e \\\n"
    "      --operand 0=x.npy --result 3=y.npy --utilization units.txt\n"
    "Every cycle of every unit, for Perfetto (docs/traces.md):\n"
    "  systole run examples/03_double_buffered_matmul.tasm --trace out.pftrace\n"
    "Step through it, bundle by bundle, and back, in a window (docs/viewer.md):\n"
    "  systole run examples/03_double_buffered_matmul.tasm --view\n"
    "The same run in two parts (docs/snapshot.md):\n"
    "  systole run examples/02_mxu_tile.tasm --save-at 500=half.snap\n"
    "  systole run --resume half.snap";

struct session {
    const struct arguments *args;
    struct run_setup setup;
    struct hbm_matrix matrix[2 * CLI_LIST_MAX];
    int matrix_count;
    struct save_points points;
    struct trace_recording trace;
    struct run_view *view;              /* NULL where nobody drives */
};

static int parse_matrices(struct session *s, const struct cli_list *list, bool with_path,
                          struct err *e)
{
    for (int i = 0; i < list->count; i++)
        if (hbm_matrix_parse(list->item[i], with_path, &s->matrix[s->matrix_count++], e))
            return -1;
    return 0;
}

static int start(struct session *s)
{
    machine_start(s->setup.m);
    return 0;
}

static void run_with_progress(struct session *s, const char *title)
{
    struct run_progress shown;

    run_progress_begin(&shown, s->setup.m, title, 0);
    save_points_run(&s->points, s->setup.m, title);
    run_progress_end(&shown);
}

static int open_view(struct session *s, struct err *e)
{
    const char *folder = s->args->out.path;

    if (folder && report_make_folder(folder, e))
        return -1;
    s->view = run_view_open(s->setup.m, folder, s->args->view_socket, run_setup_title(&s->setup),
                            e);
    return s->view ? 0 : -1;
}

/* arguments that can be wrong are looked at before anything runs */
static int prepare(struct session *s, struct err *e)
{
    const struct arguments *args = s->args;

    if (parse_matrices(s, &args->dump, false, e) || parse_matrices(s, &args->save, true, e))
        return -1;
    if (save_points_parse(&s->points, &args->save_at, e))
        return -1;
    if (report_check_outputs(args->out.path, args->trace.path, e) || run_setup_open(&s->setup, e)
        || trace_recording_begin(&s->trace, &args->trace, args->out.path, s->setup.m,
                                 run_setup_title(&s->setup), &args->out.command, e))
        return -1;
    for (int i = 0; i < s->matrix_count; i++)
        if (hbm_matrix_check(s->setup.m, &s->matrix[i], e))
            return -1;
    if (run_setup_load(&s->setup, e))
        return -1;
    if (args->run.resume)
        return save_points_check(&s->points, s->setup.m, e);
    return args->has_view ? open_view(s, e) : start(s);
}

static int write_folder(struct session *s, const struct report_step *step, double seconds,
                        struct err *e)
{
    struct out_folder f = s->args->out;
    const struct run_options *o = &s->args->run;
    struct arena *a = &s->setup.arena;

    f.chip_origins = o->resume ? out_folder_origins("snapshot", a) : s->setup.chip_origins;
    out_folder_add(&f, "run", "program", o->program, true);
    out_folder_add(&f, "run", "from-dump", o->from.path, true);
    out_folder_add(&f, "run", "resume", o->resume, true);
    out_folder_add(&f, "machine", "tpu", o->target.tpu, run_options_has_tpu(o));
    if (!o->resume)
        out_folder_add(&f, "machine", "all-cores", o->all_cores ? "yes" : "no", o->all_cores);
    if (o->limit)
        out_folder_add(&f, "machine", "cycle-limit",
                       arena_printf(a, "%lld", (long long)o->limit), true);
    out_folder_add_engine(&f, &o->engine, a);
    return out_folder_write(&f, step, seconds, e);
}

static int close_view(struct session *s, const struct report_step *step, struct err *e)
{
    struct run_view *view = s->view;

    s->view = NULL;
    return run_view_close(view, step, e);
}

static int run(struct session *s, struct err *e)
{
    struct machine *m = s->setup.m;
    bool is_dump = s->args->run.from.path != NULL;
    struct report_step step = {.title = run_setup_title(&s->setup), .machine = m,
                               .program = &s->setup.program};
    double began_s = progress_seconds(), seconds;
    const struct fault *fault = machine_fault(m);

    if (is_dump) {
        from_dump_list_buffers(&s->setup.dump, &step, &s->setup.arena);
        from_dump_print_header(&s->setup.dump, stdout);
    }
    if (s->view && run_view_drive(s->view, e))
        return -1;
    if (!s->view)
        run_with_progress(s, step.title);
    machine_finish(m);
    seconds = progress_seconds() - began_s;
    report_print_step(&step, stdout);
    if (is_dump)
        from_dump_print_end(&s->setup.dump, stdout);
    printf("\nhost time %.3f s\n", seconds);
    save_points_print(&s->points, stdout);
    if ((trace_recording_end(&s->trace, &step, stdout, e) || close_view(s, &step, e))
        && fault->kind == FAULT_NONE)
        return -1;
    if (fault->kind != FAULT_NONE)      /* even where it left no trace to write */
        return err_set(e, "%s", fault->msg);
    for (int i = 0; i < s->matrix_count; i++)
        if (hbm_matrix_show(m, 0, &s->matrix[i], e))
            return -1;
    if (is_dump && from_dump_write_results(&s->setup.dump, e))
        return -1;
    if (save_points_end(&s->points, m, e))
        return -1;
    return write_folder(s, &step, seconds, e);
}

/* HLO or StableHLO among the arguments: then the command is what systole exec is */
static bool is_program_of_others(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' && program_is_file(argv[i]))
            return true;
    }
    return false;
}

int cmd_run(int argc, char **argv)
{
    struct arguments args = {.run = RUN_OPTIONS_DEFAULT, .trace = TRACE_OPTIONS_DEFAULT};
    const struct cli_syntax syntax = {
        .own = cmd_run_options, .noun = "program",
        .noun_at = offsetof(struct arguments, run.program),
        .args_doc = "PROGRAM\n--from-dump=FILE\n--resume=FILE", .doc = doc};
    struct session s = {.args = &args};
    struct arena words;
    int status = 0;
    struct err e;

    if (is_program_of_others(argc, argv))
        return cmd_exec(argc, argv);
    cli_parse(&syntax, argc, argv, &args);
    if (args.has_view)
        args.run.engine.no_memo = true;                 /* every iteration can be stopped in */
    else if (trace_options_for_folder(&args.trace, args.out.path, args.run.engine.mode, &e))
        return cli_fail(&e);
    arena_init(&words);
    args.out.command = command_of_argv(argc, argv, &words);
    if (run_setup_read(&s.setup, &args.run) || prepare(&s, &e) || run(&s, &e)) {
        status = s.setup.is_told ? EXIT_USER_ERROR : cli_fail(&e);
        if (s.setup.m)
            machine_print_deadlock(s.setup.m, stderr);
    }
    trace_recording_abandon(&s.trace);
    run_view_close(s.view, NULL, &e);
    run_setup_fini(&s.setup);
    arena_fini(&words);
    return status;
}
