/*
 * What is looked at: one state that all panels share. A panel draws from it
 * and from the run; input changes it. Nothing here knows SDL.
 */
#ifndef VIZ_VIEW_H
#define VIZ_VIEW_H
#include "report/native_trace/ntrace.h"
#include "viz/draw/theme.h"

#define VIEW_BOOKMARKS 10

/* what a drag with the left button does; XProf's keys 1 to 4 */
enum view_tool { VIEW_SELECT, VIEW_PAN, VIEW_ZOOM, VIEW_MEASURE, VIEW_TOOL_COUNT };

struct view {
    struct ntrace *run;                 /* never NULL */
    struct ntrace *other;               /* the run compared with, or NULL */
    const char *path, *other_path;
    double from, end;                   /* cycles shown, from < end */
    double cursor;                      /* cycle under the pointer or of playback; < 0: none */
    int core;                           /* that panels of one core show */
    bool has_selection;
    double selection_from, selection_end;
    bool has_bundle;                    /* a bundle was chosen, in the timeline or the code */
    uint32_t bundle;
    uint32_t hidden_stalls;             /* bit by enum stall_reason: off in the legend */
    double bookmark[VIEW_BOOKMARKS];    /* cycle, < 0: not set */
    const char *search;                 /* regular expression, "" none */
    bool is_playing;
    int generation;                     /* grows with the run while it is still written: what was
                                         * kept of it is out of date */
    bool is_hurried;                    /* a frame must be quick: what is not ready may come with
                                         * the next one (draw_list.is_partial) */
    int64_t late_ns;                    /* of the clock: then this frame has asked the run enough;
                                         * 0 never */
    enum view_tool tool;
    enum theme theme;
    int scale_percent;
};

void view_init(struct view *v, struct ntrace *run);     /* everything, core 0, dark, 100 % */
/* keeps from < end within the run, at least some cycles wide */
void view_show(struct view *v, double from, double end);
void view_zoom(struct view *v, double factor, double around);   /* factor < 1 goes in */
void view_pan(struct view *v, double share);                    /* of what is shown */
/* Reads on in a run that is still written; all of it is shown where it was. True: it grew. */
bool view_follow(struct view *v);
/* A frame begins: what is hurried has some milliseconds to ask the run. */
void view_begin_frame(struct view *v);
/* They are over, late_ns being the view's: what is still missing comes with the next frame. */
bool view_is_late(int64_t late_ns);
double view_cycles_per_pixel(const struct view *v, int width);

/* What the numbers that a panel keeps are of; 0 at first. */
struct view_shown {
    const struct ntrace *run;
    int generation, index, columns;
    cycle_t from, end;                  /* whole cycles, from < end */
};
/*
 * Whether that is no longer what `v` shows of core or chip `index` (0 where all are
 * shown) in so many columns (0 where there are none): *s is then what it shows.
 */
bool view_shown_changes(struct view_shown *s, const struct view *v, int index, int columns);
#endif
