/*
 * What the readers of measurements share: fields of a row, rows of a file. A field that is no number
 * makes the row bad, and says so once.
 */
#ifndef CLI_HARDWARE_READ_H
#define CLI_HARDWARE_READ_H
#include "base/csv.h"
#include "cli/hardware/hardware.h"

struct fields {
    const struct csv *csv;
    int row;
    struct err *e;
    bool is_bad;                        /* some field was, and e tells which */
};

const char *fields_text(const struct fields *f, const char *column);
double fields_number(struct fields *f, const char *column);     /* NAN: empty */
int64_t fields_size(struct fields *f, const char *column);      /* a whole number of at least 1 */

struct hardware_row *hardware_add_row(struct hardware_file *f, int line);
void hardware_set_graph(struct hardware_row *r, struct graph *g);
void hardware_leave_out(struct hardware_row *r, const char *why_not);

/* hardware_read_kernels.c, hardware_read_plain.c: all rows of a file */
int hardware_read_kernels(struct hardware_file *file, const struct csv *c, struct arena *a,
                          struct err *e);
int hardware_read_plain(struct hardware_file *file, const struct csv *c, struct arena *a,
                        struct err *e);

/* hardware_read_sums.c: of a profile's operation; false: it is no all-reduce that is known here */
bool hardware_read_all_reduce(const char *hlo, struct hardware_collective *to);
#endif
