/*
 * One measured row on the simulator.
 */
#include "cli/validate/hardware.h"

#include "cli/compile/compile.h"
#include "stack/kernels/misc/attention.h"
#include "stack/module/module.h"
#include "stack/module/op_bench.h"

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

double hardware_baseline_us(const struct hardware_row *row, const struct chip *chip)
{
    double peak = chip_core_flops_per_cycle(chip) * (double)chip->chip_clock_mhz;
    double gbps = core_gbps(chip);
    double flops_us = row->flops / (flops_share * peak);
    double bytes_us = row->bytes / (hbm_share * gbps * 1e3);
    double extra_us = row->time == TIME_HOST ? (double)chip->host_dispatch_us : 0;

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
    struct module_settings s = {.chip = t->chip, .codegen = t->codegen, .replica_count = 1};
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
        *cycles = times.total_cycles;
        if (t->prints_kernels) {
            printf("%s, %.2f us measured\n", row->workload, row->measured_us);
            compile_print_kernels(&module, &times);
        }
    }
    arena_fini(&a);
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

/* heads of a ragged row fold its sequences: models of the row's file have 8 heads of keys each */
enum { KEY_HEADS_OF_A_SEQUENCE = 8 };

static int simulate_attention(const struct hardware_row *row, const struct hardware_target *t,
                              double *us, struct err *e)
{
    const struct hardware_attention *x = &row->attention;
    struct attention p = {.sequences = x->sequences, .heads_q = x->heads_q,
                          .heads_kv = x->heads_kv, .q_len = x->q_len, .kv_len = x->kv_len,
                          .block_q = x->block_q, .block_kv = x->block_kv,
                          .page_tokens = x->page_tokens, .is_causal = x->is_causal,
                          .pages_per_block = x->pages_per_block};
    double ns = 0;

    p.form = row->work == WORK_FLASH ? ATTENTION_FLASH
             : x->page_tokens ? ATTENTION_PAGED : ATTENTION_RAGGED;
    if (p.form == ATTENTION_RAGGED && x->heads_kv % KEY_HEADS_OF_A_SEQUENCE == 0) {
        p.sequences = x->heads_kv / KEY_HEADS_OF_A_SEQUENCE;
        p.heads_q /= p.sequences;
        p.heads_kv /= p.sequences;
    }
    if (x->head_dim != ATTENTION_DEPTH)
        return err_set(e, "heads are %lld wide; the kernels take %d", (long long)x->head_dim,
                       ATTENTION_DEPTH);
    if (attention_time(&p, t->slice, t->chip, &ns, e))
        return -1;
    *us = ns * 1e-3;
    return 0;
}

/* a Pallas kernel of given blocks: every step fetches its boxes */
static int simulate_blocks(const struct hardware_row *row, const struct hardware_target *t,
                           double *us, struct err *e)
{
    const struct graph_node *dot = &row->graph->node[row->graph->output[0].node];
    const struct shape *a = &row->graph->node[dot->operand[0]].shape;
    int64_t cycles;

    if (op_bench_dot(a->dim[0], a->dim[1], dot->shape.dim[1], t->chip, &row->tiling, &cycles, e))
        return -1;
    *us = (double)cycles / (double)t->chip->chip_clock_mhz;
    return 0;
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
    case WORK_BLOCKS:
        status = simulate_blocks(row, t, &us, &e);
        break;
    case WORK_FLASH:
    case WORK_PAGED:
        status = simulate_attention(row, t, &us, &e);
        break;
    }
    if (status != 0)
        row->error = arena_strdup(a, e.msg);
    else
        row->simulated_us[t->codegen] = us + around_us(row, t->chip);
}
