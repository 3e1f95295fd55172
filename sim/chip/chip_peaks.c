/*
 * Computes a chip's peak rates from its units and clocks, and compares them with the published
 * ones.
 */
#include "sim/chip/chip.h"

#include <math.h>

#include "hbm/hbm.h"

#define TOLERANCE_PERCENT 1.0

/* 10^12 operations per second when every left-hand push holds `rows` rows; 0 cycles = not taken */
static double mxu_peak(const struct chip *c, int rows, int64_t cycles)
{
    double cells = (double)(c->chip_cores * c->mxu_count * c->mxu_size * c->mxu_size);

    if (cycles == 0)
        return 0;
    return cells * 2.0 * rows / (double)cycles * (double)c->chip_clock_mhz * 1e6 / 1e12;
}

double chip_peak_bf16_tflops(const struct chip *c)
{
    if (c->mxu_matmul_bf16_cycles)
        return mxu_peak(c, 16, c->mxu_matmul_bf16_cycles);
    return mxu_peak(c, 8, c->mxu_matmul_f32_cycles);    /* f32 rows are rounded to bf16 */
}

double chip_core_flops_per_cycle(const struct chip *c)
{
    return chip_peak_bf16_tflops(c) * 1e6 / (double)(c->chip_clock_mhz * c->chip_cores);
}

double chip_peak_int8_tops(const struct chip *c)
{
    return mxu_peak(c, 32, c->mxu_matmul_int8_cycles);
}

double chip_peak_int4_tops(const struct chip *c)
{
    return mxu_peak(c, 64, c->mxu_matmul_int4_cycles);
}

double chip_peak_fp8_tflops(const struct chip *c)
{
    return mxu_peak(c, 32, c->mxu_matmul_fp8_cycles);
}

double chip_hbm_peak_bytes_per_second(const struct chip *c)
{
    const struct hbm_config config = chip_hbm_config(c, 0);

    return hbm_peak_bytes_per_second(&config);
}

static void check_peak(struct chip_peak *p, double expected_percent)
{
    p->agrees = true;
    if (p->published <= 0)
        return;
    p->deviation_percent = 100 * (p->computed / p->published - 1);
    p->agrees = fabs(p->deviation_percent - expected_percent) <= TOLERANCE_PERCENT;
}

void chip_check_peaks(const struct chip *c, struct chip_peak peaks[CHIP_PEAK_COUNT])
{
    const struct chip_peak all[CHIP_PEAK_COUNT] = {
        {.name = "bf16", .unit = "TFLOP/s", .computed = chip_peak_bf16_tflops(c),
         .published = c->chip_peak_bf16_tflops},
        {.name = "int8", .unit = "TOP/s", .computed = chip_peak_int8_tops(c),
         .published = c->chip_peak_int8_tops},
        {.name = "int4", .unit = "TOP/s", .computed = chip_peak_int4_tops(c),
         .published = c->chip_peak_int4_tops},
        {.name = "fp8", .unit = "TFLOP/s", .computed = chip_peak_fp8_tflops(c),
         .published = c->chip_peak_fp8_tflops},
        {.name = "HBM", .unit = "GB/s", .computed = chip_hbm_peak_bytes_per_second(c) / 1e9,
         .published = c->hbm_peak_gbps},
    };

    for (int i = 0; i < CHIP_PEAK_COUNT; i++) {
        bool is_hbm = i == CHIP_PEAK_COUNT - 1;

        peaks[i] = all[i];
        check_peak(&peaks[i], is_hbm ? 0 : c->chip_peak_deviation_percent);
    }
}
