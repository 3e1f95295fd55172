/*
 * What must hold of the numbers of every run that ended without a fault. The
 * folder is not written when it does not: that is a mistake of the simulator or
 * of the reports, and so an assertion.
 */
#ifndef REPORT_IDENTITIES_H
#define REPORT_IDENTITIES_H
#include "report/tables/table.h"
#include "report/view/view.h"

#include <stdbool.h>

/* NULL when all hold; else the first that does not, in words, in buf */
const char *identities_broken(const struct report_run *r, const struct report_view *v,
                              const struct table *tables, char *buf, size_t buf_bytes);
#endif
