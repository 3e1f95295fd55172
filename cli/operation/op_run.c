/*
 * Compiles a graph for one core or both of a chip, runs it, and prints kernels, rates and the roof
 * they lie under.
 */
#include "cli/operation/op_run.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/compile/compile.h"
#include "cli/common/engine_options.h"
#include "cli/common/fail.h"
#include "cli/graphs/hardware_graphs.h"
#include "base/progress.h"
#include "report/folder/report.h"
#include "stack/kernels/dot/gemm.h"
#include "stack/module/index_assume.h"
#include "stack/module/module_run.h"

#include <math.h>

#define AT(member) CLI_AT(struct op_options, member)

static const struct cli_option rows[] = {
    {"no-megacore", 0, NULL,
     "one core on v4 and v5p, too, where the compiler would take both as one device", 1, CLI_FLAG,
     AT(no_megacore)},
    CLI_ROW_CODEGEN(struct op_options, codegen, 1),
    {"assume-index", 0, "WHAT",
     "rows that gathers and scatters ask for: uniform (default), zipf, or a file of numbers",
     1, CLI_TEXT, AT(assume_index)},
    CLI_ROW_OUT(struct op_options, out.path, 1),
    {0}};

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct op_options, target)},
    {&cli_engine_options, offsetof(struct op_options, engine)},
    {&cli_trace_options, offsetof(struct op_options, trace)}, {0}};

const struct cli_options cli_op_options = {.row = rows, .part = parts};

struct session {
    struct op_options *o;
    const struct graph *graph;
    const char *title;
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct chip_origin *origins;
    struct module module;
    struct machine *machine;
    double bytes, compile_s;
};

/* time, rates, and their shares of the peaks and of the roof over this intensity */
static void print_rates(const struct session *s)
{
    double cycles = (double)machine_cycles(s->machine), mhz = (double)s->chip.chip_clock_mhz;
    double us = cycles / mhz, flops = (double)s->module.flops;
    int cores = s->module.core_count;
    double peak = 2e-6 * (double)gemm_peak_per_cycle(&s->chip) * mhz * cores;   /* TFLOP/s */
    double gbps = chip_hbm_peak_bytes_per_second(&s->chip) * 1e-9 / (double)s->chip.chip_cores
                  * cores;
    double intensity = s->bytes > 0 ? flops / s->bytes : 0;
    double roof = fmin(peak, intensity * gbps * 1e-3);
    char text[28];

    printf("%s cycles = %.2f us\n", text_thousands(machine_cycles(s->machine), text, sizeof(text)),
           us);
    printf("  %.3f TFLOP/s = %.1f %% of the matrix units' peak of %.1f%s\n", flops / us * 1e-6,
           100 * flops / us * 1e-6 / peak, peak, cores > 1 ? ", both cores" : "");
    printf("  %.1f GB/s of operands and results = %.1f %% of %.0f, %s HBM\n", s->bytes / us * 1e-3,
           100 * s->bytes / us * 1e-3 / gbps, gbps,
           cores > 1 ? "the chip's" : "a core's share of the");
    if (flops > 0)
        printf("  roof: %.2f FLOP/byte, bound by %s at %.3f TFLOP/s; %.1f %% of it reached\n",
               intensity, roof < peak ? "HBM" : "the matrix units", roof,
               100 * flops / us * 1e-6 / roof);
    printf("  with the launch (launch.program_ns) %.2f us\n\n",
           us + 1e-3 * (double)s->chip.launch_program_ns);
}

static int prepare(struct session *s, struct err *e)
{
    struct op_options *o = s->o;
    struct module_settings settings = {.codegen = o->codegen, .replica_count = 1,
                                       .chip = &s->chip};
    struct index_data data;
    double began_s;

    s->origins = arena_array(&s->arena, chip_param_count, sizeof(*s->origins));
    if (report_check_outputs(o->out.path, o->trace.path, e) ||
        cli_load_slice(&o->target, &s->slice, &s->chip, s->origins, &s->arena, e))
        return -1;
    settings.megacore = s->chip.chip_megacore && !o->no_megacore;
    o->engine.shared_hbm = settings.megacore;
    began_s = progress_seconds();
    if (module_compile(s->graph, &settings, &s->arena, &s->module, e))
        return cli_add_chip(&o->target, e);
    s->compile_s = progress_seconds() - began_s;
    s->machine = machine_create(&s->slice, &s->chip, &o->engine, e);
    if (!s->machine || module_load(&s->module, s->machine, 0, e))
        return cli_add_chip(&o->target, e);
    index_data_parse(&data, o->assume_index);
    return index_assume_write(s->graph, &s->module, s->machine, 0, &data, e);
}

static int write_folder(struct session *s, const struct report_step *step, double seconds,
                        struct err *e)
{
    struct out_folder f = s->o->out;

    f.chip_origins = s->origins;
    out_folder_add(&f, "op", "program", s->title, true);
    out_folder_add(&f, "op", "codegen", s->o->codegen == CODEGEN_BEST ? "best" : "xla",
                   s->o->codegen == CODEGEN_BEST);
    out_folder_add(&f, "machine", "tpu", s->o->target.tpu, true);
    out_folder_add_engine(&f, &s->o->engine, &s->arena);
    return out_folder_write(&f, step, seconds, e);
}

static int run(struct session *s, struct err *e)
{
    struct report_step step = {.title = s->title, .machine = s->machine,
                               .program = &s->module.linked[0].program,
                               .model_flops = s->module.flops};
    struct report_layer layer = {.name = s->title, .product_flops = s->module.flops};
    struct trace_recording trace;
    double began_s = progress_seconds(), seconds;
    struct err fault;
    int status;

    step.layer = &layer;
    step.layer_count = 1;
    if (trace_recording_begin(&trace, &s->o->trace, s->o->out.path, s->machine, s->title,
                              &s->o->out.command, e))
        return -1;
    status = machine_run(s->machine, &fault);
    seconds = progress_seconds() - began_s;
    printf("%s on %s of %s, --codegen %s: %d kernel%s, %u bundles\n\n", s->title,
           s->module.core_count > 1 ? "both cores (megacore)" : "one core", s->chip.chip_name,
           s->o->codegen == CODEGEN_BEST ? "best" : "xla",
           s->module.kernel_count, s->module.kernel_count == 1 ? "" : "s",
           s->module.linked[0].program.bundle_count);
    compile_print_kernels(&s->module, NULL);
    if (status == 0 && s->o->engine.mode != MODE_FUNCTIONAL)
        print_rates(s);
    report_print_step(&step, stdout);
    printf("\ncompiled in %.3f s, simulated in %.3f s\n", s->compile_s, seconds);
    if (trace_recording_end(&trace, &step, stdout, e) && status == 0)
        return -1;
    if (status != 0) {
        *e = fault;
        return -1;
    }
    return write_folder(s, &step, seconds, e);
}

int op_run(struct op_options *o, const struct graph *g, const char *title, struct err *e)
{
    struct session s = {.o = o, .graph = g, .title = title, .bytes = hardware_graph_bytes(g)};
    int status;

    if (trace_options_for_folder(&o->trace, o->out.path, o->engine.mode, e))
        return -1;
    arena_init(&s.arena);
    status = prepare(&s, e) || run(&s, e) ? -1 : 0;
    machine_destroy(s.machine);
    arena_fini(&s.arena);
    return status;
}

int op_command_run(const struct op_command *c, int argc, char **argv, void *values,
                   struct op_options *o)
{
    const char *title;
    struct graph *graph;
    struct arena a;
    struct err e;
    int status;

    arena_init(&a);
    o->out.command = command_of_argv(argc, argv, &a);
    cli_parse(c->syntax, argc, argv, values);
    status = c->make(values, &a, &graph, &title, &e) || op_run(o, graph, title, &e) ? cli_fail(&e)
                                                                                  : 0;
    arena_fini(&a);
    return status;
}
