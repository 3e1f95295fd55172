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
 * to), zero at first but for what init sets; NULL members are not called. `d` of input and hover is
 * empty: it measures texts, so that places are those of the picture.
 */
struct panel_class {
    size_t state_bytes;
    void (*init)(void *state);
    void (*fini)(void *state);
    void (*draw)(void *state, const struct view *v, struct draw_list *d, struct rect area);
    /* true: used up, and something changed */
    bool (*input)(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area);
    /* lines of text about what is at x, y, for the hover card; "" none; from the arena */
    const char *(*hover)(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a);
};

/* one for each row of the table: panel_timeline, … */
#define PANEL(id, name, title, definition) extern const struct panel_class panel_##name;
#include "viz/panels/panels.def"

void *panel_create(enum panel_id id);
void panel_destroy(enum panel_id id, void *state);
void panel_draw(enum panel_id id, void *state, const struct view *v, struct draw_list *d,
                struct rect area);
bool panel_input(enum panel_id id, void *state, struct view *v, const struct input *i,
                 struct rect area);
const char *panel_hover(enum panel_id id, void *state, const struct view *v, struct rect area, int x,
                        int y, struct arena *a);
const char *panel_name(enum panel_id id);
const char *panel_title(enum panel_id id);
const char *panel_definition(enum panel_id id);
/* by name; PANEL_COUNT with *e set, naming the nearest, where there is none */
enum panel_id panel_parse(const char *name, struct err *e);
#endif
