/*
 * What the errors of measured rows were the last time that somebody recorded them, so that none
 * gets worse unnoticed. Two CSV files stand in the repository: FILE.csv has a line for each group,
 * with the best mean and median that were ever recorded, FILE_rows.csv the error of each row. They
 * hold no measured time.
 *
 * A group is worse when its mean or median lies more than HARDWARE_MARGIN points above its best, or
 * when fewer of its rows are scored. Recording such a mean or median needs a reason, which the
 * group's line then keeps; fewer rows are never recorded.
 */
#ifndef CLI_HARDWARE_RECORD_H
#define CLI_HARDWARE_RECORD_H
#include "cli/hardware/hardware.h"

#define HARDWARE_MARGIN 0.5             /* points */

struct hardware_record_group {
    const char *file, *group, *set;     /* set: "all" rows, or "part": what `make check` runs */
    int rows, scored;
    /* in %, but the ratio; NAN: none */
    double mean, median, second_mean, weighted, ratio, covered, memory_mean, memory_median;
    double best_mean, best_median;
    const char *reason;                 /* why the best was raised; "": it never was */
};

struct hardware_record_row {
    const char *file, *name;
    const char *group;                  /* NULL of rows that were read */
    int line;
    double error_percent;               /* NAN: not scored */
    double memory_percent;              /* likewise, of peak memory */
};

struct hardware_record {
    struct hardware_record_group *group;
    int group_count;
    size_t group_capacity;
    struct hardware_record_row *row;
    int row_count;
    size_t row_capacity;
};

/* strings live in `a`; hardware_record_free frees the rest */
int hardware_record_read(struct hardware_record *r, const char *path, struct arena *a,
                         struct err *e);
/* of what was simulated just now */
void hardware_record_make(struct hardware_record *r, const struct hardware_file *files, int count,
                          struct arena *a);
void hardware_record_free(struct hardware_record *r);

/*
 * Takes the best of `old` over, and all of it that is about other files; -1: a group of `now` is
 * worse and there is no `reason` for it (NULL), or fewer rows are scored.
 */
int hardware_record_join(struct hardware_record *now, const struct hardware_record *old,
                         const char *reason, struct err *e);
int hardware_record_write(const struct hardware_record *r, const char *path, struct err *e);

/* prints each group of the set that is worse, and the rows that did it; how many they are */
int hardware_record_compare(const struct hardware_record *now, const struct hardware_record *old,
                            const char *set, FILE *to);

/* hardware_table.c: the tables of docs/accuracy.md, in Markdown */
void hardware_print_tables(const struct hardware_record *r, FILE *to);
#endif
