/*
 * The HBM of a chip over an interval of time: bytes, how busy its channels are,
 * and, where the interval is short enough, every run of bursts on every bank.
 *
 * Columns begin at multiples of their width, a power of two cycles, so that a
 * view that moves keeps most of them. Where they are wider than the cells of the
 * file they are made of those; else of the runs themselves, a run's bytes lying
 * evenly over the time that it takes the data bus.
 */
#ifndef VIZ_MODEL_HBM_H
#define VIZ_MODEL_HBM_H
#include "report/native_trace/ntrace.h"

#define HBM_RUN_MOST 8000               /* runs kept; more in sight: only sums */

struct hbm_column {
    double read_bytes, write_bytes, busy_ps;            /* of all channels */
    double hits, closed, conflicts, refreshes;          /* runs that begin in it */
};

struct hbm_model {
    const struct ntrace *run_of;        /* the columns are of, */
    int chip, channel_count, bank_count;
    cycle_t from, width_cycles;         /* of a column */
    size_t count;
    struct hbm_column *column, total;   /* total: of the interval alone */
    cycle_t total_cycles;
    double *channel_busy_ps;            /* [column * channel_count + channel] */
    double ps_per_cycle;
    double peak_bytes_per_second;
    bool is_exact;                      /* made of runs */
    bool has_runs;                      /* `run` holds every run that touches the interval */
    struct trace_hbm *run;              /* in the order asked */
    size_t run_count, run_capacity;
};
/* all zero, a model is empty */
void hbm_model_fini(struct hbm_model *m);
/* of cycles from..end - 1, in at most `columns` columns and one; chip in range */
void hbm_model_load(struct hbm_model *m, struct ntrace *run, int chip, cycle_t from, cycle_t end,
                    size_t columns);
/* bytes per second, of so many bytes in so many cycles */
double hbm_model_rate(const struct hbm_model *m, double bytes, cycle_t cycles);
/* 0..1: share of a column's time in which the channel's data bus is taken */
double hbm_model_channel_share(const struct hbm_model *m, size_t column, int channel);
/* the first refresh at or after `cycle`, counted from the beginning of its launch, in cycles */
double hbm_model_refresh(const struct ntrace_info *info, double cycle);
/* between refreshes */
double hbm_model_refresh_cycles(const struct ntrace_info *info);
#endif
