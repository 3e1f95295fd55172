/*
 * systole run --view: the launch stands in front of its first bundle, and a
 * viewer drives it (docs/viewer.md).
 */
#ifndef CLI_RUN_VIEW_H
#define CLI_RUN_VIEW_H
#include "report/folder/report.h"

struct run_view;

/*
 * A trace in `folder` (NULL: a temporary one, which run_view_close removes)
 * and a socket at `socket`, or NULL for one beside the trace and a systole-view
 * that is started for it. The machine has not started yet. NULL with *e set.
 */
struct run_view *run_view_open(struct machine *m, const char *folder, const char *socket,
                               const char *title, struct err *e);
/*
 * Starts the launch, serves the viewer until it leaves, and brings the launch
 * to its end; machine_finish is the caller's. -1 with *e set when the viewer or
 * the trace fails; the launch has ended all the same.
 */
int run_view_drive(struct run_view *v, struct err *e);
/*
 * After machine_finish; the trace gets the statistics of `step` unless that is NULL. `v` may be
 * NULL.
 */
int run_view_close(struct run_view *v, const struct report_step *step, struct err *e);
#endif
