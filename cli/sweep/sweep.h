/*
 * systole sweep: one command over a grid of options and chip parameters, a
 * process and a folder per point.
 *
 * sweep_vary.c reads --vary, sweep_keys.c holds keys against the command and
 * the chip, sweep_store.c knows which points a folder has already,
 * sweep_run.c runs the others, sweep_table.c shows the results.
 *
 * A point is known by a hash of the whole command, the files it names, the
 * built-in chips and the point's values: its folder's name. A point counts as
 * done once point.json lies in its folder, so a killed sweep loses only what
 * was running.
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H
#include "base/arena.h"
#include "base/err.h"
#include "base/outfile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SWEEP_AXIS_MAX 16
#define SWEEP_POINT_MAX 10000
#define SWEEP_JOBS_MAX 64

struct sweep_axis {
    const char *key;                    /* "mxu.count", or "batch" of --batch */
    bool is_chip;
    const char **value;
    size_t count;
};

enum sweep_state { SWEEP_WAITING, SWEEP_RUNNING, SWEEP_DONE, SWEEP_FAILED };

struct sweep_point {
    const char **value;                 /* by axis */
    const char *folder;                 /* OUT/points/HASH */
    enum sweep_state state;
    const char *message;                /* of a failure */
};

typedef void (*sweep_option)(void *context, const char *name, const char *arg);

/* a command that can be swept: tells the options that it takes, arg NULL of one without */
struct sweep_command {
    const char *name;
    void (*list)(sweep_option tell, void *context);
};

struct sweep {
    struct arena arena;
    const struct sweep_command *known;  /* those that can be swept */
    size_t known_count;
    const char *out, *best;             /* folder; name of the column that ranks, or NULL */
    int jobs;
    char **command;                     /* its name, then its arguments */
    int command_count;
    struct sweep_axis axis[SWEEP_AXIS_MAX];
    int axis_count;
    struct sweep_point *point;          /* the last axis varies fastest */
    size_t point_count;
    struct outfile_lock lock;           /* keeps other sweeps out of the folder */
};

/* "mxu.count=1,2,4", "batch=64..1024x2", "lr=0.1..0.5+0.1" */
int sweep_parse_vary(struct sweep *s, const char *text, struct err *e);
int sweep_make_points(struct sweep *s, struct err *e);

/* the command is one that can be swept, and every key and value means something to it */
int sweep_check_keys(const struct sweep *s, struct err *e);
/* whether the command takes --name */
bool sweep_command_takes(const struct sweep *s, const char *name);

/*
 * Makes the folder or goes on in it: names the points' folders, marks those
 * that are done. Refuses the folder of another command.
 */
int sweep_open(struct sweep *s, struct err *e);
int sweep_keep(struct sweep *s, const struct sweep_point *p, struct err *e);    /* it is done */
void sweep_close(struct sweep *s);

/*
 * Runs all points that wait. An interrupt ends the children and returns 1 with
 * the rest still waiting; -1 is an error of the sweep, not of a point.
 */
int sweep_run(struct sweep *s, struct err *e);

/* "mxu.count=2 batch=64" */
char *sweep_print_point(const struct sweep *s, const struct sweep_point *p, char *buf,
                        size_t buf_bytes);
/* sweep.csv in the folder, then the table; of points that are done or failed */
int sweep_print_results(struct sweep *s, FILE *to, struct err *e);
int sweep_check_best(const struct sweep *s, struct err *e);
#endif
