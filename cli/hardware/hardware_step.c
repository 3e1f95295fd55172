/*
 * Runs a step of a whole model on a slice: its program on each core, with sums of gradients over
 * all of them. Where all chips do the same, one stands for all.
 */
#include "cli/hardware/hardware.h"

#include "cli/compile/compile.h"
#include "stack/nn/zoo.h"

static int run(const struct graph *g, const struct compile_request *o,
               const struct hardware_target *on, struct hardware_row *row, int64_t *cycles,
               struct arena *a, struct err *e)
{
    struct module_settings settings = compile_settings(o, on->slice, on->chip);
    struct compile_launch launch = {.slice = on->slice, .chip = on->chip, .graph = g};
    struct compile_times times;
    struct module module;

    if (module_compile(g, &settings, a, &module, e))
        return -1;
    launch.one_chip = o->replica_count > 1 && compile_chips_are_alike(on->slice, &module);
    launch.cores = launch.one_chip ? (int)on->chip->chip_cores : o->replica_count;
    if (compile_run(&module, &launch, a, &times, e))
        return -1;
    row->kernel_count = module.kernel_count;
    *cycles = times.total_cycles;
    if (on->prints_kernels) {
        printf("%s, %.2f us measured\n", row->workload, row->measured_us);
        compile_print_kernels(&module, &times);
        compile_print_categories(&module, &times);
    }
    return 0;
}

int hardware_simulate_step(struct hardware_row *row, const struct hardware_target *t,
                           double *us, struct err *e)
{
    struct compile_request o = {.model = row->model, .codegen = t->codegen,
                                .target = {row->slice, t->set}};
    struct hardware_target on = *t;
    struct slice slice;
    struct chip chip;
    struct graph g;
    struct arena a;
    int64_t cycles = 0;
    int status;

    on.slice = &slice;
    on.chip = &chip;
    arena_init(&a);
    graph_init(&g, &a, "step");
    status = cli_load_slice(&o.target, &slice, &chip, NULL, &a, e);
    if (status == 0) {
        o.replica_count = compile_replicas_on(&slice);
        status = compile_make_graph(&o, &g, &a, e) || run(&g, &o, &on, row, &cycles, &a, e);
    }
    *us = status == 0 ? (double)cycles / (double)chip.chip_clock_mhz : 0;
    graph_fini(&g);
    arena_fini(&a);
    return status ? -1 : 0;
}
