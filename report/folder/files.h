/*
 * What stands in the files of a run folder: docs/report.md. `v` is NULL when no
 * machine ran (host interpreter). The writers only print; folder.c opens,
 * checks and renames.
 */
#ifndef REPORT_FILES_H
#define REPORT_FILES_H
#include "report/tables/table.h"
#include "report/view/view.h"

#include <stdio.h>

void csv_print_steps(const struct report_run *r, FILE *to);
void config_print(const struct report_run *r, const struct report_view *v, FILE *to);
/* `t` holds all tables (report/tables/tables.h); -1 when memory or `to` ran out */
int json_print_stats(const struct report_run *r, const struct report_view *v,
                     const struct table *t, FILE *to);
void stats_txt_print(const struct report_run *r, const struct report_view *v, FILE *to);
void run_text_print(const struct report_run *r, const struct report_view *v, FILE *to);
#endif
