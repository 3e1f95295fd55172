/*
 * A traced run for tests of the exporters: eight cores of four chips, two
 * launches, copies to and from HBM, between cores and chips, matrix products,
 * guards and markers. And what a format shows of it, summed, to hold against
 * the machine's counters.
 */
#ifndef TESTS_EXPORT_RIG_H
#define TESTS_EXPORT_RIG_H
#include "report/export/export.h"
#include "tests/rigs/rig.h"

#define EXPORT_CORES 8
#define EXPORT_CHIPS 4
#define EXPORT_LAUNCHES 2
#define EXPORT_MARKER 7                 /* of core 7, once per launch */

/* What happened in all launches together; times in cycles. */
struct export_sums {
    int64_t busy[EXPORT_CORES][MACHINE_UNIT_MAX], stalls[EXPORT_CORES][STALL_COUNT];
    int64_t bundles[EXPORT_CORES], copies[EXPORT_CORES], markers[EXPORT_CORES];
    int64_t steps[EXPORT_CORES];        /* launches */
    int64_t hbm_bytes[EXPORT_CHIPS];
    int64_t link_bytes;                 /* payload */
};

struct export_rig {
    struct rig rig;
    char folder[200], path[300];        /* of the .strace */
    struct ntrace *t;
    struct export_sums sums;            /* of the machine */
};

void export_rig_open(struct export_rig *x, enum trace_level level);
void export_rig_close(struct export_rig *x);

/* exports to "t" and the format's suffix in the folder, which must work; returns the path */
char *export_rig_write(struct export_rig *x, const char *format, const struct export_options *o,
                       struct export_result *result, char *path, size_t path_bytes);
/* everything at level bundle, of all cores, without a limit */
extern const struct export_options export_everything;

/* picoseconds or microseconds as cycles of the rig's chip */
int64_t export_rig_cycles(const struct export_rig *x, double ps);

/*
 * Adds a slice as our own track names tell it: process "core 3 (chip 1)" and
 * track "mxu0", "valu #1", "stalls", "bundles"… `end` == `start` is a marker.
 */
void export_sums_add(struct export_sums *s, const struct export_rig *x, const char *process,
                     const char *track, const char *name, int64_t cycles, int64_t bytes);
void export_sums_assert(const struct export_sums *seen, const struct export_sums *wanted);
#endif
