/*
 * The buffers of a compiled module for a report: its parameters and results, arrays as its
 * kernels touch them, and the windows of each kernel.
 */
#ifndef CLI_MODULE_TABLES_H
#define CLI_MODULE_TABLES_H
#include "report/view/run.h"
#include "stack/module/module.h"

/* into `step`, in `a`; the names are the module's */
void module_list_buffers(const struct module *m, struct arena *a, struct report_step *step);
#endif
