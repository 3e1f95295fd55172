/*
 * Compiles a graph for one core or both of a chip, runs it, and prints kernels, rates and the roof
 * they lie under.
 */
#include "cli/operation/op_run.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "exec/module_tables.h"
#include "cli/common/run_progress.h"
#include "cli/compile/compile.h"
#include "cli/common/engine_options.h"
#include "cli/common/host_memory.h"
#include "cli/common/fail.h"
#include "cli/graphs/hardware_graphs.h"
#include "base/progress.h"
#include "isa/disasm.h"
#include "report/folder/report.h"
#include "stack/hlo/rewrite.h"
#include "stack/module/index_assume.h"
#include "stack/module/module_run.h"

#include <math.h>
#include <string.h>

#define AT(member) CLI_AT(struct op_options, member)

static const struct cli_option rows[] = {
    {"no-megacore", 0, NULL,
     "one core on v4 and v5p, too, where the compiler would take both as one device", 1, CLI_FLAG,
     AT(no_megacore)},
    CLI_ROW_CODEGEN(struct op_options, codegen, 1),
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
    struct loaded loaded;
    int devices;
    double bytes, compile_s;
};

/* time, rates, and their shares of the peaks and of the roof over this intensity */
static void print_rates(const struct session *s)
{
    double cycles = (double)machine_cycles(s->loaded.machine), mhz = (double)s->chip.chip_clock_mhz;
    double us = cycles / mhz, flops = (double)s->loaded.module.flops * s->devices;
    int cores = s->loaded.module.core_count * s->devices;
    double peak = 1e-6 * chip_core_flops_per_cycle(&s->chip) * mhz * cores;     /* TFLOP/s */
    double gbps = chip_hbm_peak_bytes_per_second(&s->chip) * 1e-9 / (double)s->chip.chip_cores
                  * cores;
    double bytes = s->bytes * s->devices, intensity = bytes > 0 ? flops / bytes : 0;
    double roof = fmin(peak, intensity * gbps * 1e-3);

    printf("%s cycles = %.2f us\n", text_thousands(machine_cycles(s->loaded.machine)).text, us);
    printf("  %.3f TFLOP/s = %.1f %% of the matrix units' peak of %.1f%s\n", flops / us * 1e-6,
           100 * flops / us * 1e-6 / peak, peak,
           s->devices > 1 ? ", all cores" : cores > 1 ? ", both cores" : "");
    printf("  %.1f GB/s of operands and results = %.1f %% of %.0f, %s HBM\n", bytes / us * 1e-3,
           100 * bytes / us * 1e-3 / gbps, gbps,
           s->devices > 1 ? "all cores'" : cores > 1 ? "the chip's" : "a core's share of the");
    if (flops > 0)
        printf("  roof: %.2f FLOP/byte, bound by %s at %.3f TFLOP/s; %.1f %% of it reached\n",
               intensity, roof < peak ? "HBM" : "the matrix units", roof,
               100 * flops / us * 1e-6 / roof);
    printf("  with the launch (launch.program_ns) %.2f us\n\n",
           us + 1e-3 * (double)s->chip.launch_program_ns);
}

static int write_assembly(const struct session *s, struct err *e)
{
    struct outfile f;

    if (!s->o->assembly)
        return 0;
    if (outfile_begin(&f, s->o->assembly, e))
        return -1;
    isa_print_program(&s->loaded.module.linked[0].program, f.to);
    return outfile_commit(&f, e);
}

static bool has_values(const struct session *s)
{
    return s->o->values && s->o->engine.mode != MODE_TIMING;
}

/* values of all devices; in timing mode there are none */
static int check_memory(const struct session *s, struct err *e)
{
    double each = (double)s->loaded.module.hbm_bytes
                  + (double)(s->chip.vmem_bytes * s->loaded.module.core_count);

    if (s->o->engine.mode == MODE_TIMING)
        return 0;
    return host_memory_check(each * s->devices, "--mode timing, or a smaller size", e);
}

static int load(struct session *s, struct err *e)
{
    if (check_memory(s, e))
        return -1;
    return loaded_put(&s->loaded, e) ? cli_add_chip(&s->o->target, e) : 0;
}

static int write_values(struct session *s, struct err *e)
{
    for (int i = 0; has_values(s) && i < s->devices; i++) {
        struct loaded_device d = loaded_device(&s->loaded, i);

        if (s->o->values->write(s->o->values->user, &d, e))
            return -1;
    }
    return 0;
}

static int read_values(struct session *s, struct err *e)
{
    for (int i = 0; has_values(s) && i < s->devices; i++) {
        struct loaded_device d = loaded_device(&s->loaded, i);

        if (s->o->values->read(s->o->values->user, &d, e))
            return -1;
    }
    return 0;
}

static bool runs_again(const struct session *s)
{
    return has_values(s) && s->o->values->again && s->o->values->again(s->o->values->user);
}

static bool is_megacore(const struct op_options *o, const struct chip *chip)
{
    return chip->chip_megacore && !o->no_megacore;
}

static int count_devices(const struct op_options *o, const struct slice *slice,
                         const struct chip *chip)
{
    if (o->replicas)
        return o->replicas;
    if (!o->takes_slice || !strchr(o->target.tpu, '-'))
        return 1;
    return slice->core_count / (is_megacore(o, chip) ? (int)chip->chip_cores : 1);
}

int op_devices(const struct op_options *o, struct chip *chip, int *count, struct arena *a,
               struct err *e)
{
    struct slice slice;

    if (cli_load_slice(&o->target, &slice, chip, NULL, a, e))
        return -1;
    *count = count_devices(o, &slice, chip);
    return 0;
}

/* in timing mode, which has no others, indices that kernels compute are assumed, too */
static void assume_indices(struct session *s)
{
    struct graph *assuming = arena_alloc(&s->arena, sizeof(*assuming));

    if (s->o->engine.mode != MODE_TIMING)
        return;
    graph_copy(s->graph, &s->arena, assuming);
    if (index_assume(assuming) > 0)
        s->graph = assuming;
    graph_freeze(assuming);
}

static int write_indices(struct session *s, struct err *e)
{
    struct index_data data;

    index_data_parse(&data, s->o->assume_index);
    for (int i = 0; i < s->devices; i++)
        if (index_assume_write(s->graph, &s->loaded.module, s->loaded.machine, s->loaded.core[i], &data, e))
            return -1;
    return 0;
}

static int prepare(struct session *s, struct err *e)
{
    struct op_options *o = s->o;
    struct module_settings settings = {.codegen = o->codegen, .replica_count = 1,
                                       .chip = &s->chip};
    double began_s;
    int cores;

    s->origins = arena_array(&s->arena, chip_param_count, sizeof(*s->origins));
    if (report_check_outputs(o->out.path, o->trace.path, e) ||
        (o->assembly && outfile_check(o->assembly, e)) ||
        cli_load_slice(&o->target, &s->slice, &s->chip, s->origins, &s->arena, e))
        return -1;
    s->devices = count_devices(o, &s->slice, &s->chip);
    settings.megacore = is_megacore(o, &s->chip);
    settings.assume_trips = o->assume_trips;
    settings.assume_branch = o->assume_branch;
    settings.kept = o->kept;
    settings.keeps_roundings = o->keeps_roundings;
    settings.notes_are_sources = o->tells_sources;
    settings.notes_are_lines = settings.is_entry_given = o->tells_lines;
    cores = s->devices * loaded_cores_each(&s->chip, settings.megacore);
    if (cores > s->slice.core_count)
        return cli_refuse_devices(&o->target, s->devices,
                                  s->slice.core_count / (cores / s->devices),
                                  cores / s->devices, e);
    if (o->replicas > 1)
        settings.replica_count = o->replicas;
    assume_indices(s);
    began_s = progress_seconds();
    if (loaded_compile(s->graph, &settings, s->devices, NULL, &s->slice, &s->arena, &s->loaded, e))
        return cli_add_chip(&o->target, e);
    s->compile_s = progress_seconds() - began_s;
    if (loaded_make_machine(&s->loaded, &s->slice, &s->chip, &o->engine, e) ||
        write_assembly(s, e))
        return cli_add_chip(&o->target, e);
    return load(s, e) || write_indices(s, e) ? -1 : 0;
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

static void print_run(struct session *s, const struct report_step *step, double seconds,
                      bool is_done)
{
    printf("%s on %s of %s, --codegen %s: %d kernel%s, %u bundles\n\n", s->title,
           s->devices > 1 ? arena_printf(&s->arena, "%d cores", s->devices * s->loaded.module.core_count)
           : s->loaded.module.core_count > 1 ? "both cores (megacore)" : "one core", s->chip.chip_name,
           s->o->codegen == CODEGEN_BEST ? "best" : "xla",
           s->loaded.module.kernel_count, s->loaded.module.kernel_count == 1 ? "" : "s",
           s->loaded.module.linked[0].program.bundle_count);
    compile_print_kernels(&s->loaded.module, NULL);
    if (is_done && s->o->engine.mode != MODE_FUNCTIONAL)
        print_rates(s);
    report_print_step(step, stdout);
    printf("\ncompiled in %.3f s, simulated in %.3f s\n", s->compile_s, seconds);
}

static int put_listing(struct session *s, struct ntrace_writer *w, struct err *e)
{
    struct ntrace_listing listing = {0};

    if (s->o->teller->list(s->o->teller->user, &s->loaded, &listing, e))
        return -1;
    if (listing.line_count > 0)
        ntrace_writer_put_listing(w, &listing);
    return 0;
}

static int run(struct session *s, struct err *e)
{
    struct report_step step = {.title = s->title, .machine = s->loaded.machine,
                               .program = &s->loaded.module.linked[0].program,
                               .model_flops = s->loaded.module.flops};
    struct report_layer layer = {.name = s->title, .product_flops = s->loaded.module.flops};
    struct trace_recording trace;
    struct run_progress shown;
    double began_s = progress_seconds(), seconds;
    struct err fault;
    int status;

    if (s->loaded.module.kernel_count == 1 && s->loaded.module.core_count == 1)
        step.issued_flops = s->loaded.module.kernel[0].segment->cost.issued_flops;
    step.layer = &layer;
    step.layer_count = 1;
    if (s->o->tells_sources)
        module_list_sources(&s->loaded.module, &s->arena, &step);
    module_list_buffers(&s->loaded.module, &s->arena, &step);
    if (s->o->teller && s->o->teller->begin(s->o->teller->user, &s->loaded, e))
        return -1;
    if (trace_recording_begin(&trace, &s->o->trace, s->o->out.path, s->loaded.machine, s->title,
                              &s->o->out.command, e))
        return -1;
    do {
        status = write_values(s, &fault);
        if (!s->o->is_quiet)
            run_progress_begin(&shown, s->loaded.machine, s->title, run_progress_expected(&s->loaded.module));
        status = status || machine_run(s->loaded.machine, &fault) ? -1 : 0;
        if (!s->o->is_quiet)
            run_progress_end(&shown);
    } while (status == 0 && (status = read_values(s, &fault)) == 0 && runs_again(s));
    seconds = progress_seconds() - began_s;
    if (s->o->teller && status != 0)
        s->o->teller->failed(s->o->teller->user, &s->loaded, &fault);
    if (s->o->teller && status == 0)
        status = s->o->teller->end(s->o->teller->user, &s->loaded, &step, seconds, &fault);
    else if (!s->o->is_quiet && !s->o->teller)
        print_run(s, &step, seconds, status == 0);
    if (s->o->teller && status == 0 && trace.writer)
        status = put_listing(s, trace.writer, &fault);
    s->o->cycles = machine_cycles(s->loaded.machine);
    s->o->kernels = s->loaded.module.kernel_count;
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
    machine_destroy(s.loaded.machine);
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
