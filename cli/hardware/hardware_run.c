/* Runs one measured row on the simulator. */
#include "cli/hardware/hardware.h"

#include "cli/compile/compile.h"
#include "stack/module/module.h"

#include <math.h>
#include <string.h>

/* trips of the two chains whose difference is the time of a step */
enum { CHAIN_SHORT = 4, CHAIN_LONG = 12 };
/* the closed form that rows are held against: a roofline at shares of the peaks, a constant */
static const double flops_share = 0.85, hbm_share = 0.855, constant_us = 2.5;

/* a core's even share of its chip's memory */
static double core_gbps(const struct chip *chip)
{
    return chip_hbm_peak_bytes_per_second(chip) * 1e-9 / (double)chip->chip_cores;
}

/* both cores of the chip have a half of the row each */
static bool is_halved(const struct hardware_row *row, const struct chip *chip)
{
    return row->is_one_device && chip->chip_megacore;
}

double hardware_baseline_us(const struct hardware_row *row, const struct chip *chip)
{
    double cores = is_halved(row, chip) ? (double)chip->chip_cores : 1;
    double peak = chip_core_flops_per_cycle(chip) * (double)chip->chip_clock_mhz * cores;
    double gbps = core_gbps(chip) * cores;
    double flops_us = row->flops / (flops_share * peak);
    double bytes_us = row->bytes / (hbm_share * gbps * 1e3);
    double extra_us = row->time == TIME_HOST ? (double)chip->host_dispatch_us : 0;

    if (row->work == WORK_STEP || row->work == WORK_COLLECTIVE)
        return NAN;
    return fmax(flops_us, bytes_us) + constant_us + extra_us;
}

/* what a measurement counts beside the kernels */
static double around_us(const struct hardware_row *row, const struct chip *chip)
{
    double us = 0;

    if (row->time >= TIME_DEVICE)
        us += (double)chip->launch_program_ns * 1e-3;
    if (row->time >= TIME_HOST)
        us += (double)chip->host_dispatch_us;
    return us;
}

static int simulate_graph(struct hardware_row *row, const struct graph *g,
                          const struct hardware_target *t, int64_t *cycles, struct err *e)
{
    struct module_settings s = {.chip = t->chip, .codegen = t->codegen, .replica_count = 1,
                                .megacore = is_halved(row, t->chip),
                                .is_entry_given = row->has_layouts};
    struct compile_launch launch = {.slice = t->slice, .chip = t->chip, .graph = g,
                                    .cores = row->all_cores ? (int)t->chip->chip_cores : 1};
    struct compile_times times;
    struct module module;
    struct arena a;
    int status;

    arena_init(&a);
    status = module_compile(g, &s, &a, &module, e) ||
             compile_run(&module, &launch, &a, &times, e) ? -1 : 0;
    if (status == 0) {
        row->kernel_count = module.kernel_count;
        row->simulated_memory_bytes = (double)module.hbm_bytes;
        *cycles = times.total_cycles;
        if (t->prints_kernels) {
            printf("%s, %.2f us measured\n", row->workload, row->measured_us);
            compile_print_kernels(&module, &times);
        }
    }
    arena_fini(&a);
    if (status == 0 && row->kernel_count == 0)
        status = err_set(e, "the program that it is rebuilt to has no kernel");
    return status;
}

/* cycles of one step of a chain, times CHAIN_LONG - CHAIN_SHORT */
static int simulate_chain(struct hardware_row *row, const struct hardware_target *t,
                          int64_t *cycles, struct err *e)
{
    static const int trips[2] = {CHAIN_SHORT, CHAIN_LONG};
    int64_t both[2] = {0, 0};
    struct arena a;
    int status = 0;

    arena_init(&a);
    for (int i = 0; i < 2 && status == 0; i++)
        status = simulate_graph(row, hardware_chain(row->map, row->elements, trips[i], &a), t,
                                &both[i], e);
    *cycles = both[1] - both[0];
    arena_fini(&a);
    return status;
}

/* a Pallas kernel of given blocks: arrays in HBM, and every step fetches its boxes */
static int simulate_blocks(const struct hardware_row *row, const struct hardware_target *t,
                           int64_t *cycles, struct err *e)
{
    struct module_settings s = {.chip = t->chip, .codegen = CODEGEN_BEST, .replica_count = 1};
    struct kernel_job job;
    struct module module;
    struct arena a;
    int status;

    arena_init(&a);
    status = module_compile(row->graph, &s, &a, &module, e);
    if (!status) {
        job = module.kernel[0].job;
        job.operand = module.parameter;
        job.result = module.output;
        job.vmem_rows = t->chip->vmem_bytes / ARRAY_ROW_BYTES;
        *cycles = compile_time_kernel(&job, &row->tiling, t->slice);
        if (*cycles < 0)
            status = err_set(e, "the product does not go with its blocks");
    }
    arena_fini(&a);
    return status;
}

void hardware_simulate(struct hardware_row *row, const struct hardware_target *t,
                       struct arena *a)
{
    double mhz = (double)t->chip->chip_clock_mhz, us = 0;
    int64_t cycles = 0;
    struct err e;
    int status = 0;

    row->baseline_us = hardware_baseline_us(row, t->chip);
    switch (row->work) {
    case WORK_NONE:
        return;
    case WORK_GRAPH:
        status = simulate_graph(row, row->graph, t, &cycles, &e);
        us = (double)cycles / mhz;
        break;
    case WORK_CHAIN:
        status = simulate_chain(row, t, &cycles, &e);
        us = (double)cycles / mhz / (CHAIN_LONG - CHAIN_SHORT);
        break;
    case WORK_COLLECTIVE:
        status = hardware_simulate_collective(row, t->chip, t->slice->chip_name, &cycles, &e);
        us = (double)cycles / mhz;
        break;
    case WORK_STEP:
        status = hardware_simulate_step(row, t, &us, &e);
        break;
    case WORK_BLOCKS:
        status = simulate_blocks(row, t, &cycles, &e);
        us = (double)cycles / mhz;
        break;
    }
    if (status != 0)
        row->error = arena_strdup(a, e.msg);
    else
        row->simulated_us[t->codegen] = us + around_us(row, t->chip);
}
