/*
 * What a run leaves behind: tables for people, files for programs.
 *
 * A run folder holds config.ini (every parameter with its origin, the command
 * line), report.txt, stats.json, stats.txt, CSV files (report/tables/columns.def) and,
 * if asked for, a trace. Units stand in every column name; host times are apart
 * from the deterministic part. Files are written to a temporary name and
 * renamed, so that none is ever half-written.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H
#include "base/err.h"
#include "report/view/run.h"

#include <stdio.h>

/*
 * Before any work is done: prove that the folder (whose parent exists) can be
 * made and written, and the trace, which may lie in it. Leaves nothing behind;
 * NULL = not wanted.
 */
int report_check_outputs(const char *folder, const char *trace, struct err *e);

/* parents exist; fine when it is there */
int report_make_folder(const char *path, struct err *e);

/*
 * Takes away what an earlier run left in the folder: its results, trace.strace and what was exported
 * from it, before the first file of another run comes there. Files of other names stay.
 */
void report_clear_folder(const char *path);

/* Where the cycles of one step went, utilisation, FLOPs, bytes, and what bounds it. */
void report_print_step(const struct report_step *s, FILE *to);

/* stats.json as a string, to keep in a trace; free() it. NULL when memory ran out. */
char *report_stats_json(const struct report_run *r);

/* All files of the folder but the trace, of a run that ended without a fault. What must hold of
 * its numbers is asserted: report/tables/identities.h. */
int report_write_folder(const struct report_run *r, const char *path, struct err *e);
#endif
