/*
 * The tables of a run (report/tables/columns.def), filled from a view: what the CSV
 * files hold, what stands under "tables" in stats.json, what systole report
 * shows.
 */
#ifndef REPORT_TABLES_H
#define REPORT_TABLES_H
#include "report/tables/table.h"
#include "report/view/view.h"

/* `v` is NULL when no machine ran. Tables about time are empty in functional mode. */
void tables_fill(const struct report_run *r, const struct report_view *v, struct arena *a,
                 struct table t[TABLE_COUNT]);

/* of them, those of units, stalls, HBM and links; of any counters, `v` not NULL */
void tables_fill_sums(const struct report_view *v, struct table t[TABLE_COUNT]);
/* one each, `v` not NULL (memory_table.c, counter_table.c) */
void table_fill_memory(const struct report_view *v, struct table *t);
void table_fill_counters(const struct report_view *v, struct table *t);
#endif
