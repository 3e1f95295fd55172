/*
 * Energy in the report and the tables of a run (report/tables/columns.def): the whole
 * launch by component, one core by source operation. Nothing where
 * report_view.energy is NULL: in functional mode there are no bytes of memory.
 */
#ifndef REPORT_ENERGY_TABLE_H
#define REPORT_ENERGY_TABLE_H
#include "report/tables/table.h"
#include "report/view/view.h"

void energy_fill_table(const struct report_view *v, struct table *t);   /* ends with the total */
void energy_fill_ops(const struct report_view *v, struct table *t);     /* the most first */
double energy_average_w(const struct report_view *v, int64_t fj);       /* per chip that ran */
void energy_print(const struct report_view *v, FILE *to);
#endif
