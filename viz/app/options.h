/* Parses the command line of systole-view. */
#ifndef VIZ_OPTIONS_H
#define VIZ_OPTIONS_H
#include "viz/panels/panel.h"

struct view_options {
    const char *path, *other;           /* run; compared with, or NULL */
    const char *live;                   /* socket of a run to drive, instead of both */
    enum panel_id panel;
    bool has_panel;
    int width, height;
    double from, end;                   /* has_range */
    bool has_range;
    int64_t launch;                     /* has_launch; INT64_MAX: the last one */
    bool has_launch;
    double cursor;                      /* cycle that panels of an instant show; -1 none */
    int core, scale_percent;
    enum theme theme;
    const char *png;                    /* NULL: a window */
    int pointer_x, pointer_y;           /* of a picture: a card as if the pointer were there; -1 */
    double select_from, select_end;     /* has_selection */
    bool has_selection, bench;
};

/* Prints help and exits where that is asked for; a mistake: -1 with *e set. */
int view_options_parse(struct view_options *o, int argc, char **argv, struct err *e);
/* sets the view up as the options say; a core or range that the run does not have: -1 */
int view_options_apply(const struct view_options *o, struct view *v, struct err *e);
/*
 * RUN as a path of a .strace: the folder's trace.strace where it is a folder; from
 * the arena. NULL with *e set for a folder without one.
 */
const char *view_trace_path(const char *run, struct arena *a, struct err *e);
#endif
