/*
 * The table of host time (sim/observe/host_time.h), for people and as host_profile.csv in a run folder.
 * It is no table of report/tables/tables.h: the host's time is another in every run.
 */
#ifndef REPORT_HOST_TABLE_H
#define REPORT_HOST_TABLE_H
#include "base/err.h"
#include "sim/observe/host_time.h"

#include <stdio.h>

/* for machine_watch_host */
bool host_table_is_collective(const char *note);

void host_table_print(const struct host_times *t, FILE *to);
int host_table_write(const struct host_times *t, const char *folder, struct err *e);
#endif
