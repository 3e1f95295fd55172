/*
 * Compiles a graph for one core or both of a chip, runs it, and prints kernels, rates and the roof
 * they lie under.
 */
#include "cli/operation/op_run.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/compile/compile.h"
#include "cli/common/engine_options.h"
#include "cli/graphs/hardware_graphs.h"
#include "base/progress.h"
#include "report/folder/report.h"
#include "stack/kernels/dot/gemm.h"
#include "stack/module/index_assume.h"
#include "stack/module/module_run.h"

#include <math.h>
#include <string.h>

enum { KEY_SET = 256, KEY_CODEGEN, KEY_OUT, KEY_INDEX, KEY_NO_MEGACORE };

static const struct argp_option options[] = {
    {"tpu", 't', "CHIP", 0,
     "chip to run on (default: v5e): one core of it, on v4 and v5p both as one device", 1},
    {"no-megacore", KEY_NO_MEGACORE, 0, 0, "use one core on v4 and v5p, too", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"codegen", KEY_CODEGEN, "POLICY", 0,
     "xla (default): as XLA would compile it; best: as well as we can", 1},
    {"assume-index", KEY_INDEX, "WHAT", 0,
     "rows that gathers and scatters ask for: uniform (default), zipf, or a file of numbers", 1},
    {"out", KEY_OUT, "DIR", 0, "leave a report, statistics and tables in this folder", 1},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct op_options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->engine;
        state->child_inputs[1] = &o->trace;
        return 0;
    case 't': o->tpu = arg; return 0;
    case KEY_SET: cli_list_add(&o->set, arg, state); return 0;
    case KEY_CODEGEN:
        o->codegen = strcmp(arg, "best") == 0 ? CODEGEN_BEST : CODEGEN_XLA;
        if (o->codegen == CODEGEN_XLA && strcmp(arg, "xla") != 0)
            argp_error(state, "--codegen is \"%s\", allowed are xla, best", arg);
        return 0;
    case KEY_INDEX: o->assume_index = arg; return 0;
    case KEY_NO_MEGACORE: o->no_megacore = true; return 0;
    case KEY_OUT:
        if (!*arg)
            argp_error(state, "--out is empty");
        o->out.path = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_engine_argp, 0, "Engine:", 8},
                                             {&cli_trace_argp, 0, "Trace:", 9}, {0}};
const struct argp cli_op_argp = {options, parse_option, NULL, NULL, children, NULL, NULL};

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
        cli_load_slice(o->tpu, &o->set, &s->slice, &s->chip, s->origins, &s->arena, e))
        return -1;
    settings.megacore = s->chip.chip_megacore && !o->no_megacore;
    o->engine.shared_hbm = settings.megacore;
    began_s = progress_seconds();
    if (module_compile(s->graph, &settings, &s->arena, &s->module, e))
        return cli_add_chip(o->tpu, e);
    s->compile_s = progress_seconds() - began_s;
    s->machine = machine_create(&s->slice, &s->chip, &o->engine, e);
    if (!s->machine || module_load(&s->module, s->machine, 0, e))
        return cli_add_chip(o->tpu, e);
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
    out_folder_add(&f, "machine", "tpu", s->o->tpu, true);
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
