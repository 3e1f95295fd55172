/*
 * Computes roofs from a chip's peaks, and the point of each source operation from its FLOP, bytes
 * and time.
 */
#include "report/roofline/roofline.h"

#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE_BYTES 4096                 /* of one vector load or store */

static const char *const names[ROOF_RESOURCE_COUNT] = {
    [ROOF_HBM] = "HBM", [ROOF_VMEM_READ] = "VMEM load", [ROOF_VMEM_WRITE] = "VMEM store",
    [ROOF_ICI] = "ICI", [ROOF_COMPUTE] = "MXU",
};

const char *roofline_roof_name(enum roofline_resource r)
{
    return names[r];
}

const char *roofline_type_name(int type)
{
    static const char *const types[ROOF_TYPE_COUNT] = {"bf16", "int8", "int4", "fp8"};

    return types[type];
}

struct roofline_roofs roofline_roofs_of_chip(const struct chip *c)
{
    double cores = (double)c->chip_cores, hz = (double)c->chip_clock_mhz * 1e6;

    return (struct roofline_roofs){
        .flops = {chip_peak_bf16_tflops(c) * 1e12 / cores, chip_peak_int8_tops(c) * 1e12 / cores,
                  chip_peak_int4_tops(c) * 1e12 / cores, chip_peak_fp8_tflops(c) * 1e12 / cores},
        .bytes = {[ROOF_HBM] = chip_hbm_peak_bytes_per_second(c) / cores,
                  [ROOF_VMEM_READ] = (double)(c->slots_load + c->slots_misc_load) * TILE_BYTES * hz,
                  [ROOF_VMEM_WRITE] =
                      (double)(c->slots_store + c->slots_misc_store) * TILE_BYTES * hz,
                  [ROOF_ICI] = (double)c->ici_links * c->ici_link_gbps * 1e9 / cores}};
}

void roofline_point_place(struct roofline_point *p, const struct roofline_roofs *roofs)
{
    p->bound = ROOF_COMPUTE;
    p->memory = ROOF_HBM;
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++) {
        p->use[m] = roofs->bytes[m] > 0.0 && p->seconds > 0.0
                        ? fmin(1.0, p->bytes[m] / p->seconds / roofs->bytes[m]) : 0.0;
        if (p->use[m] > p->use[p->memory])
            p->memory = (enum roofline_resource)m;
    }
    if (p->use[p->memory] > p->use[ROOF_COMPUTE])
        p->bound = p->memory;
    p->intensity = p->rate = 0.0;
    if (p->flops > 0.0 && p->bytes[p->memory] > 0.0 && p->seconds > 0.0) {
        p->intensity = p->flops / p->bytes[p->memory];
        p->rate = p->flops / p->seconds;
    }
}

/* ---- reading a run ---- */

static void read_step(struct roofline *r)
{
    const json_t *stats = r->run->stats;
    double matmul_cycles = 0.0, cores = 0.0;
    struct roofline_point *p = &r->step;
    const json_t *vmem;
    json_t *core;
    size_t i;

    json_array_foreach(json_object_get(stats, "cores"), i, core) {
        if (run_int(core, "issue") == 0)
            continue;
        cores++;
        matmul_cycles += run_real(core, "matmul_cycles");
        p->flops += run_real(core, "matmul_flops");
        p->bytes[ROOF_HBM] += run_real(core, "hbm_read_bytes") + run_real(core, "hbm_write_bytes");
        p->bytes[ROOF_ICI] += run_real(core, "ici_sent_bytes");
        vmem = json_object_get(core, "units");
        p->bytes[ROOF_VMEM_READ] += TILE_BYTES * run_real(json_object_get(vmem, "load"), "ops");
        p->bytes[ROOF_VMEM_WRITE] += TILE_BYTES * run_real(json_object_get(vmem, "store"), "ops");
    }
    cores = cores > 0.0 ? cores : 1.0;
    p->name = "whole step";
    p->seconds = run_real(stats, "step_us") * 1e-6;
    p->share = 1.0;
    p->flops /= cores;
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++)
        p->bytes[m] /= cores;
    p->use[ROOF_COMPUTE] = matmul_cycles / cores / (double)r->chip.mxu_count /
                           run_real(stats, "step_cycles");
    roofline_point_place(p, &r->roofs);
}

static int by_time(const void *x, const void *y)
{
    const struct roofline_point *a = x, *b = y;

    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void read_op(struct roofline *r, const json_t *row, struct roofline_point *p,
                    struct arena *a)
{
    double cycles = run_real(row, "cycles");
    double bf16 = run_real(row, "bf16_normalized_flop_rate_gflops") * 1e9;

    *p = (struct roofline_point){
        .name = arena_strdup(a, run_text(row, "framework_op")),
        .seconds = cycles / (double)r->chip.chip_clock_mhz * 1e-6,
        .share = cycles / run_real(r->run->stats, "step_cycles"),
        .flops = run_real(row, "issued_flop"),
        .bytes = {[ROOF_HBM] = run_real(row, "hbm_bytes"),
                  [ROOF_VMEM_READ] = run_real(row, "vmem_read_bytes"),
                  [ROOF_VMEM_WRITE] = run_real(row, "vmem_write_bytes"),
                  [ROOF_ICI] = run_real(row, "ici_bytes")},
        .use = {[ROOF_COMPUTE] = bf16 / r->roofs.flops[0]}};
    roofline_point_place(p, &r->roofs);
}

static void read_ops(struct roofline *r, struct arena *a)
{
    const json_t *list = json_object_get(json_object_get(r->run->stats, "tables"), "ops");
    json_t *row;
    size_t i;

    r->has_ops = json_array_size(list) > 0;
    r->op = arena_array(a, json_array_size(list) + 1, sizeof(*r->op));
    json_array_foreach(list, i, row)
        if (run_real(row, "cycles") > 0.0)
            read_op(r, row, &r->op[r->op_count++], a);
    qsort(r->op, r->op_count, sizeof(*r->op), by_time);
}

int roofline_make(struct roofline *r, const struct run_folder *run, struct arena *a,
                  struct err *e)
{
    *r = (struct roofline){.run = run};
    if (run_real(run->stats, "step_cycles") <= 0.0 || run_real(run->stats, "step_us") <= 0.0)
        return err_at(e, run->path, 0, 0, "has no cycles: a run on the host or in functional mode");
    if (run_folder_chip(run, a, &r->chip, e))
        return -1;
    r->roofs = roofline_roofs_of_chip(&r->chip);
    read_step(r);
    read_ops(r, a);
    return 0;
}

/* ---- the frame of a plot ---- */

static void take_in(struct roofline_frame *f, double x, double y)
{
    if (x > 0.0) {
        f->x0 = fmin(f->x0, floor(log10(x)));
        f->x1 = fmax(f->x1, ceil(log10(x)));
    }
    if (y > 0.0) {
        f->y0 = fmin(f->y0, floor(log10(y)));
        f->y1 = fmax(f->y1, ceil(log10(y * 1.05)));
    }
}

void roofline_frame_find(const struct roofline *r, size_t count, struct roofline_frame *f)
{
    *f = (struct roofline_frame){.x0 = 0, .x1 = 3, .y0 = 12, .y1 = 12};
    for (size_t i = 0; i < count; i++) {
        for (int t = 0; t < ROOF_TYPE_COUNT; t++) {
            take_in(f, 0.0, r[i].roofs.flops[t]);
            if (r[i].roofs.bytes[ROOF_HBM] > 0.0)       /* the ridge is in it */
                take_in(f, r[i].roofs.flops[t] / r[i].roofs.bytes[ROOF_HBM], 0.0);
        }
        take_in(f, r[i].step.intensity, r[i].step.rate);
        for (size_t p = 0; p < r[i].op_count; p++)
            take_in(f, r[i].op[p].intensity, r[i].op[p].rate);
    }
    if (f->y1 - f->y0 < 3)
        f->y0 = f->y1 - 3;
}
