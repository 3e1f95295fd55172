/* Prints the table of one step, for people. */
#ifndef REPORT_STEP_TABLE_H
#define REPORT_STEP_TABLE_H
#include "report/view/view.h"

#include <stdio.h>

void step_table_print(const struct report_view *v, FILE *to);

/* the same for functional mode: counts of operations and bytes, and that there are no cycles */
void counts_table_print(const struct report_view *v, FILE *to);
#endif
