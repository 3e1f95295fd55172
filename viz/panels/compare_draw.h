/*
 * Inside viz/panels/compare_*.c and viz/panels/panel_compare.c: lanes of both runs, and tables
 * of what differs.
 */
#ifndef VIZ_COMPARE_DRAW_H
#define VIZ_COMPARE_DRAW_H
#include "viz/models/columns.h"
#include "viz/models/model_compare.h"
#include "viz/models/note_columns.h"
#include "viz/view/view.h"

/* What is kept of one run. */
struct compare_cache {
    struct ntrace *run;
    struct tiles *columns, *notes;
};

/* Where the lanes of one run are, and what of its time they show. */
struct compare_lanes {
    struct rect header, last, next;     /* with two buttons */
    struct rect names, box;             /* of all lanes */
    struct rect cores, ops, hbm, links; /* h 0: not shown */
    int core_count, core_height;        /* of those that have room */
    double from, cycles_per_pixel;      /* at box.x, in cycles of the file */
    int width;                          /* pixels up to the end of the launch */
};

struct compare_places {
    struct rect words, ruler, legend, tables;
    struct compare_lanes lanes[2];
    double from_us, span_us;            /* from the beginning of the launches on */
};

struct compare_panel {
    struct compare_cache cache[2];
    struct compare_model model;
    int generation;
    size_t other_launch;                /* chosen for B; SIZE_MAX: as in A */
    struct compare_places at;           /* as drawn last */
    bool is_drawn;
    float *mean;
    size_t mean_capacity;
};

void compare_draw_ruler(const struct compare_panel *p, const struct view *v,
                        struct draw_list *d);
void compare_draw_lanes(struct compare_panel *p, const struct view *v, struct draw_list *d,
                        int side);
/* the card for a place in the lanes of that side; from the arena */
const char *compare_lane_text(struct compare_panel *p, int side, int x, int y, struct arena *a);

void compare_draw_tables(const struct compare_panel *p, const struct view *v,
                         struct draw_list *d);
const char *compare_table_text(const struct compare_panel *p, const struct draw_list *d, int x,
                               int y, struct arena *a);
#endif
