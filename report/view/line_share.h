/*
 * Cycles of bundles shared out among the lines of a source.
 *
 * Each operation is for a line, 0 for none. A bundle's issue cycles are shared by the lines of its
 * operations, its waits by those whose operations can wait for such a thing, where there are any; a
 * bundle without operations counts for the next. Line 0 has what no operation of a line is in.
 */
#ifndef REPORT_LINE_SHARE_H
#define REPORT_LINE_SHARE_H
#include "isa/isa.h"
#include "sim/results/results.h"

struct line_sums {
    double issued, waited, stall[STALL_COUNT];
    double bytes;                       /* of copies that it has started */
};

struct bundle_sums {
    double issued, bytes;
    double waited[STALL_COUNT];
};

/* adds the sums of bundle `number` to those of its lines; `line_of_op` by operation of the program */
void line_share(const struct isa_program *p, const int *line_of_op, uint32_t number,
                const struct bundle_sums *of, struct line_sums *to);
#endif
