/*
 * Panels. viz/panels/panels.def lists them: name, title, and one line that says what it
 * shows. A panel's numbers come from viz/model_NAME.c, which knows neither
 * pixels nor SDL; viz/panel_NAME.c draws them and defines panel_NAME.
 */
#ifndef VIZ_PANEL_H
#define VIZ_PANEL_H
#include "viz/view/view.h"

enum panel_id {
#define PANEL(id, name, title, definition) PANEL_##id,
#include "viz/panels/panels.def"
    PANEL_COUNT
};

enum input_kind { INPUT_MOVE, INPUT_PRESS, INPUT_RELEASE, INPUT_DRAG, INPUT_WHEEL, INPUT_KEY };

struct input {
    enum input_kind kind;
    int x, y;                           /* of the pointer, window pixels */
    int dx, dy;                         /* of a drag or the wheel */
    int button;                         /* 1 left, 2 middle, 3 right */
    uint32_t key;                       /* a character, or enum input_key */
    bool has_shift, has_ctrl;
};
enum input_key {
    KEY_LEFT = 0x110000, KEY_RIGHT, KEY_UP, KEY_DOWN, KEY_HOME, KEY_END, KEY_ENTER, KEY_ESCAPE,
    KEY_TAB, KEY_BACKSPACE, KEY_PAGE_UP, KEY_PAGE_DOWN
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
