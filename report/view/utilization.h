/*
 * The two numbers that people ask first: which share of the peak the matrix units reached, and
 * which share of its peak the memory moved; as XProf's overview has them.
 */
#ifndef REPORT_UTILIZATION_H
#define REPORT_UTILIZATION_H
#include "report/view/view.h"

struct utilization {
    double issued_flops;                /* of all cores, arrays counted whole */
    double mxu_rate, mxu_peak;          /* 10^12 per second, of the cores that ran; the peak is */
                                        /* that of the types that were multiplied, else bf16's */
    double hbm_rate, hbm_peak;          /* bytes per second, of the chips of these cores */
};

/* of a view with cycles, not of functional mode */
void utilization_find(const struct report_view *v, struct utilization *u);
double utilization_mxu_percent(const struct utilization *u);
double utilization_hbm_percent(const struct utilization *u);
#endif
