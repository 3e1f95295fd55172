/* Declares what diff.c (settings, the step) and diff_counts.c (what both runs did) share. */
#ifndef REPORT_DIFF_INTERNAL_H
#define REPORT_DIFF_INTERNAL_H
#include "report/diff/diff.h"

/* a row that is in both runs; `name` is copied, `unit` is not */
struct diff_row *diff_add(struct diff *d, enum diff_section section, const char *name,
                          const char *unit, double a, double b);
/* a row per member of either object, in their order; those of one run only are marked */
void diff_add_members(struct diff *d, enum diff_section section, const char *unit,
                      const json_t *a, const json_t *b);
/* rows from `first` on by the size of their difference */
void diff_rank(struct diff *d, size_t first);

void diff_add_counts(struct diff *d);   /* sections DIFF_SOURCE to DIFF_RESULTS */
#endif
