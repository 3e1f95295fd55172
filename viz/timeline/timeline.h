/*
 * Inside viz/timeline/timeline_*.c and viz/panels/panel_timeline.c: lanes, where they are, and
 * what the panel keeps.
 */
#ifndef VIZ_TIMELINE_H
#define VIZ_TIMELINE_H
#include "viz/models/columns.h"
#include "viz/models/note_columns.h"
#include "viz/models/spans.h"
#include "viz/view/axis.h"
#include "viz/view/input.h"

/* below this many cycles per pixel, single events are drawn instead of shares */
#define TIMELINE_EVENTS_BELOW 8.0

enum lane_kind {
    LANE_CORE,                          /* name of a core; folded: where its cycles went */
    LANE_OPS, LANE_BUNDLES, LANE_STALLS, LANE_UNIT, LANE_DMA,
    LANE_CHIP,                          /* name of a chip's memory and links; folded: bandwidth */
    LANE_HBM, LANE_LINK,
    LANE_KIND_COUNT
};

struct lane {
    enum lane_kind kind;
    int index;                          /* core, chip or link */
    int unit;                           /* of LANE_UNIT */
    int y, h;                           /* from the first lane on, in pixels */
};

/* places in the panel */
struct timeline_places {
    struct rect minimap, ruler, steps, lanes, legend;   /* without the names at the left */
    struct rect names;                  /* beside the lanes */
    int gutter;                         /* width of all names */
};

#define TIMELINE_COPIES 48              /* more than this many in view get no arrows */

struct timeline_copy {
    cycle_t issued_at, done_at;
    int core, y;                        /* y: of its bar, in the window */
    bool is_own;                        /* its flag is the core's own */
};

/* an interval of a core's time that has more operations, or copies, than can be drawn */
struct timeline_dense {
    bool is_known;
    int core;
    double from, end;
};

enum timeline_drag { DRAG_NONE, DRAG_PAN, DRAG_SELECT, DRAG_MINIMAP };

struct timeline {
    struct ntrace *run;
    int generation;                     /* of the view that the caches are of */
    struct tiles *columns, *spans, *notes;
    bool *is_open;                      /* by core, then by chip: shows all its lanes */
    int core_opened;                    /* for view.core */
    struct lane *hidden;                /* kind, index and unit of each */
    size_t hidden_count, hidden_capacity;
    int scroll;                         /* pixels of lanes above the first that is seen */
    struct lane *lane;
    size_t lane_count, lane_capacity;
    float *mean;                        /* of one core, chip or link for each pixel */
    size_t mean_capacity;
    float *cover;                       /* share of each pixel that narrow events cover, by lane */
    size_t cover_capacity;
    struct timeline_copy copy[TIMELINE_COPIES];         /* drawn in this frame */
    int copy_count;
    struct timeline_dense dense_ops, dense_dmas;
    enum timeline_drag drag;
    double drag_cycle;                  /* where it began */
};

/* ---- timeline_lanes.c ---- */
void timeline_bind(struct timeline *t, const struct view *v);   /* caches of the run looked at */
void timeline_lay_out(struct timeline *t, const struct draw_list *d);
struct timeline_places timeline_places(const struct view *v, const struct draw_list *d,
                                       struct rect area);
bool timeline_hide(struct timeline *t, const struct lane *l);   /* NULL: false */
bool timeline_show_all(struct timeline *t);                     /* false: none was hidden */
void timeline_lane_name(const struct timeline *t, const struct lane *l, char *buf, size_t bytes);
rgba_t timeline_lane_color(const struct timeline *t, const struct view *v, const struct lane *l);
const struct lane *timeline_lane_at(const struct timeline *t, const struct timeline_places *p,
                                    int y);
int timeline_height(const struct timeline *t);                  /* of all lanes */
/* index of the last launch that begins at or before `at` */
size_t timeline_launch_at(const struct ntrace_info *i, double at);
/* bars of events instead of columns of shares */
bool timeline_is_near(const struct view *v, int width);

/* ---- drawing ---- */
/* a row of columns, one per pixel: share[i * stride] of the height, from the bottom */
void timeline_draw_shares(struct draw_list *d, struct rect r, const float *share, int stride,
                          rgba_t color);
/* issue, stalls by reason and idle on top of each other: the full height is all cycles */
void timeline_draw_stack(struct draw_list *d, const struct view *v, struct rect r,
                         const float *mean, int stride, bool has_issue);
void timeline_draw_columns(struct timeline *t, const struct view *v, struct draw_list *d,
                           const struct lane *l, struct rect r);
void timeline_draw_events(struct timeline *t, const struct view *v, struct draw_list *d,
                          const struct lane *first, size_t count, struct rect area);
void timeline_draw_ops(struct timeline *t, const struct view *v, struct draw_list *d,
                       const struct lane *l, struct rect r);
void timeline_draw_dmas(struct timeline *t, const struct view *v, struct draw_list *d,
                        const struct lane *l, struct rect r);
void timeline_draw_repeats(struct timeline *t, const struct view *v, struct draw_list *d,
                           const struct lane *head, struct rect r);
/* from the bundle that issues a copy to the copy, and from its end to the wait that ends with it */
void timeline_draw_arrows(struct timeline *t, const struct view *v, struct draw_list *d,
                          const struct lane *first, size_t count, struct rect area);
void timeline_draw_minimap(struct timeline *t, const struct view *v, struct draw_list *d,
                           struct rect r);
void timeline_draw_steps(const struct view *v, struct draw_list *d, struct rect r);
void timeline_draw_legend(const struct timeline *t, const struct view *v, struct draw_list *d,
                          struct rect area);
int timeline_legend_height(const struct view *v, const struct draw_list *d, int width);
/* the reason whose entry in the legend is at x, y, or STALL_COUNT */
enum stall_reason timeline_legend_at(const struct view *v, const struct draw_list *d,
                                     struct rect area, int x, int y);
/* one bar, with its name where there is room */
void timeline_draw_bar(struct draw_list *d, struct rect r, rgba_t color, const char *name);

/* ---- timeline_input.c ---- */
bool timeline_input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                    struct rect area);

/* ---- timeline_hover.c ---- */
const char *timeline_hover(struct timeline *t, const struct view *v, const struct draw_list *d,
                           struct rect area, int x, int y, struct arena *a);
#endif
