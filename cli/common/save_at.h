/*
 * systole run --save-at CYCLE=FILE: snapshots on the way. What goes wrong with
 * one is told when the run is over.
 */
#ifndef CLI_SAVE_AT_H
#define CLI_SAVE_AT_H
#include "cli/common/options.h"
#include "sim/machine/machine.h"

#include <stdio.h>

struct save_point {
    cycle_t cycle;
    const char *path;
};

struct save_points {
    struct save_point point[CLI_LIST_MAX];      /* by cycle */
    int count, done;
    bool is_failed;
    struct err err;                     /* of the first that could not be written */
};

int save_points_parse(struct save_points *s, const struct cli_list *list, struct err *e);
/* on a machine that goes on from a snapshot: none lies before it */
int save_points_check(const struct save_points *s, const struct machine *m, struct err *e);
/* to the end of a launch that has been started */
void save_points_run(struct save_points *s, struct machine *m, const char *title);
void save_points_print(const struct save_points *s, FILE *to);
/* after the run: -1 if one could not be written, or the run ended before it */
int save_points_end(const struct save_points *s, const struct machine *m, struct err *e);
#endif
