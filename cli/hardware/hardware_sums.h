/*
 * Errors of the rows of `systole check hardware` summed up by group: what is printed, recorded
 * (hardware_record.h) and held against the record.
 *
 * The mean and the median count scored rows. A second mean also has the rows that should have been
 * scored, but whose program has no kernel or could not be run: each counts as 100 % off, so that
 * nothing gets better by being left out.
 */
#ifndef CLI_HARDWARE_SUMS_H
#define CLI_HARDWARE_SUMS_H
#include "cli/hardware/hardware.h"

struct hardware_errors {                /* absolute, in % of the measured value */
    double *value;
    int count;
    size_t capacity;
};

struct hardware_group {
    const char *name;
    int row_count;
    struct hardware_errors ours, baseline, peer, best;  /* best: time in % of that with xla */
    int failed;                         /* of rows without a kernel, or that could not be run */
    double measured_us, simulated_us, off_us;   /* of scored rows, each as often as it ran; */
    double all_us;                      /* measured, of all rows */
    struct hardware_errors memory;      /* of peak memory, where rows tell it */
};

enum { HARDWARE_GROUPS_MAX = 32 };
#define HARDWARE_ALL_ROWS "all rows"   /* the group of all rows of a file */

struct hardware_groups {
    int count;
    struct hardware_group item[HARDWARE_GROUPS_MAX + 1];    /* [0]: all rows of the file */
};

/* of rows in the part that `make check` runs, or of all */
void hardware_groups_sum(struct hardware_groups *groups, const struct hardware_file *f,
                         bool only_part);
void hardware_groups_free(struct hardware_groups *groups);

/* NAN of none */
double hardware_mean(const struct hardware_errors *x);
double hardware_median(struct hardware_errors *x);
double hardware_second_mean(const struct hardware_group *g);
double hardware_weighted(const struct hardware_group *g);   /* sum of |error| in us / sum of us, % */
double hardware_ratio(const struct hardware_group *g);      /* sum of simulated / of measured us */
double hardware_covered(const struct hardware_group *g);    /* of the measured time, % */

/* of one row, in %, with its sign */
double hardware_error_percent(double simulated_us, double measured_us);
bool hardware_is_scored(const struct hardware_row *r);
/* it should have been scored, but there is nothing to score: 100 % off in the second mean */
bool hardware_is_failed(const struct hardware_row *r);
#endif
