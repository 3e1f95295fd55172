/*
 * A run folder as a struct report_view: what view.h says of a machine that has
 * just run, read back from stats.json and config.ini. There is no program.
 */
#ifndef REPORT_FOLDER_VIEW_H
#define REPORT_FOLDER_VIEW_H
#include "report/run_folder.h"
#include "report/view.h"

/*
 * All that *v points to is in `a`. -1: a run on the host or in functional mode,
 * which has no cycles; no config.ini; numbers that contradict one another.
 */
int folder_view(const struct run_folder *r, struct arena *a, struct report_view *v,
                struct err *e);
/* the same out of a stats.json by itself, of file `path`, and a known chip, which is not copied */
int stats_view(const json_t *stats, const char *path, const struct chip *chip, struct arena *a,
               struct report_view *v, struct err *e);
#endif
