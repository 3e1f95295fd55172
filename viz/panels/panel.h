/*
 * Panels. viz/panels/panels.def lists them: name, title, and one line that says what it
 * shows. A panel's numbers come from viz/models/model_NAME.c, which knows neither
 * pixels nor SDL; viz/panels/panel_NAME.c draws them and defines panel_NAME.
 */
#ifndef VIZ_PANEL_H
#define VIZ_PANEL_H
#include "viz/view/input.h"
#include "viz/view/view.h"

enum panel_id {
#define PANEL(id, name, title, definition) PANEL_##id,
#include "viz/panels/panels.def"
    PANEL_COUNT
};

/*
 * What a panel does. `state` is what it keeps from frame to frame (a cache, where it is scrolled
 * to); create and destroy are NULL for a panel that keeps nothing, and state is then NULL.
 */
struct panel_class {
    void *(*create)(void);
    void (*destroy)(void *state);
    void (*draw)(void *state, const struct view *v, struct draw_list *d, struct rect area);
    /* true: used up, and something changed; NULL: takes no input */
    bool (*input)(void *state, struct view *v, const struct input *i, struct rect area);
    /* lines of text about what is at x, y, for the hover card; "" none; from the arena; NULL */
    const char *(*hover)(void *state, const struct view *v, struct rect area, int x, int y,
                         struct arena *a);
};

/* one for each row of the table: panel_timeline, … */
#define PANEL(id, name, title, definition) extern const struct panel_class panel_##name;
#include "viz/panels/panels.def"

const struct panel_class *panel_class(enum panel_id id);
const char *panel_name(enum panel_id id);
const char *panel_title(enum panel_id id);
const char *panel_definition(enum panel_id id);
/* by name; PANEL_COUNT with *e set, naming the nearest, where there is none */
enum panel_id panel_parse(const char *name, struct err *e);
#endif
