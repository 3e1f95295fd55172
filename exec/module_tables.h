/*
 * What a report tells of a compiled module: its buffers, which are parameters and results, arrays as
 * its kernels touch them, and the windows of each kernel; and what its kernels are made of.
 */
#ifndef EXEC_MODULE_TABLES_H
#define EXEC_MODULE_TABLES_H
#include "report/view/run.h"
#include "stack/module/module.h"

/* into `step`, in `a`; the names are the module's */
void module_list_buffers(const struct module *m, struct arena *a, struct report_step *step);

/* likewise: of each source the operations that its kernels carry out, by their author's names */
void module_list_sources(const struct module *m, struct arena *a, struct report_step *step);
#endif
