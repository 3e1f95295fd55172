/*
 * A small recorded run to look at, for tests of the viewer.
 */
#ifndef TESTS_VIEW_RIG_H
#define TESTS_VIEW_RIG_H
#include "tests/rigs/rig.h"
#include "viz/view/view.h"

struct view_rig {
    struct rig rig;
    char path[64];                      /* of the .strace */
    struct ntrace *run;
    struct view view;
};

/* `program`, a file of examples/, on all cores of `slice`, launched twice; fails on any error */
void view_rig_open(struct view_rig *r, const char *slice, const char *program,
                   const struct rig_options *options);
/* the same before its first launch: no run yet */
struct ntrace_writer *view_rig_start(struct view_rig *r, const char *slice, const char *program,
                                     const struct rig_options *options);
void view_rig_launch(struct view_rig *r, struct ntrace_writer *w, const char *name);
void view_rig_close(struct view_rig *r);
#endif
