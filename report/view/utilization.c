/* Computes what matrix units and memory reached of their peaks. */
#include "report/view/utilization.h"

static double mxu_peak(const struct report_view *v, double issued)
{
    double cycles = 0.0;

    for (int i = 0; i < v->core_count; i++)
        cycles += (double)v->core[i]->matmul_cycles;
    if (cycles == 0.0)
        return chip_peak_bf16_tflops(v->chip) / (double)v->chip->chip_cores * v->active_count;
    return issued / cycles * (double)v->chip->mxu_count * v->active_count *
           (double)v->chip->chip_clock_mhz * 1e6 / 1e12;
}

void utilization_find(const struct report_view *v, struct utilization *u)
{
    double seconds = view_seconds(v), bytes = 0.0;

    *u = (struct utilization){0};
    for (int i = 0; i < v->core_count; i++)
        u->issued_flops += (double)v->core[i]->matmul_flops;
    for (int i = 0; i < v->chip_count; i++)
        bytes += (double)(v->hbm[i]->read_bytes + v->hbm[i]->write_bytes);
    u->mxu_peak = mxu_peak(v, u->issued_flops);
    u->hbm_peak = chip_hbm_peak_bytes_per_second(v->chip) * v->active_chip_count;
    if (seconds > 0.0) {
        u->mxu_rate = u->issued_flops / seconds / 1e12;
        u->hbm_rate = bytes / seconds;
    }
}

double utilization_mxu_percent(const struct utilization *u)
{
    return view_percent(u->mxu_rate, u->mxu_peak);
}

double utilization_hbm_percent(const struct utilization *u)
{
    return view_percent(u->hbm_rate, u->hbm_peak);
}
