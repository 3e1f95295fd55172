/*
 * A recorded run for tests of panels and their models, and what holds of every
 * panel's drawing.
 */
#ifndef TESTS_PANEL_RIG_H
#define TESTS_PANEL_RIG_H
#include "tests/rigs/ntrace_rig.h"
#include "tests/rigs/rig.h"
#include "viz/panels/panel.h"

struct panel_rig {
    struct rig rig;
    struct tee tee;
    struct ntrace *run;
};
/* text on all cores of the slice that are in the mask `cores`, recorded at `level` */
void panel_rig_open(struct panel_rig *r, const char *slice, const char *text, unsigned cores,
                    enum trace_level level);
void panel_rig_close(struct panel_rig *r);

/* a program with copies in and out, loads, stores, a matrix unit at work, and a loop */
extern const char panel_program[];

/*
 * Draws the panel at 100, 150, 200 %, in both themes and several sizes, each with a new
 * state: no texts overlap, none leaves the area, and drawing twice gives the same. Returns one hash
 * of it all.
 */
uint64_t panel_check_drawing(enum panel_id id, const struct view *like);
#endif
