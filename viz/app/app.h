/*
 * The window without a window: what is on it, and what keys and pointer do. Only
 * viz/sdl/sdl_app.c has a real one; tests and pictures drive this.
 */
#ifndef VIZ_APP_H
#define VIZ_APP_H
#include "viz/app/live.h"
#include "viz/panels/panel.h"
#include "viz/models/search.h"

#include <stdio.h>

enum action {
#define ACTION(id, keys, name, help) ACTION_##id,
#include "viz/app/actions.def"
    ACTION_COUNT
};
const char *action_keys(enum action a);
const char *action_name(enum action a);
const char *action_help(enum action a);
void action_print_table(FILE *to);      /* Markdown */
/* for a key as in the table ("Shift+n"); ACTION_COUNT: none */
enum action action_of_key(const char *key);

enum app_mode { APP_PLAIN, APP_HELP, APP_PALETTE, APP_SEARCH, APP_COMMAND, APP_MODE_COUNT };

struct app {
    struct view *view;                  /* borrowed */
    struct live *live;                  /* the run that the window drives, borrowed; or NULL */
    int live_core;                      /* that its commands speak of */
    int width, height;                  /* pixels */
    enum panel_id panel;                /* whose tab is open, or that has the pointer */
    bool is_tiled;
    void *state[PANEL_COUNT];
    double cycles_per_second[PANEL_COUNT];      /* of playback, where it was chosen; 0 else */
    enum app_mode mode;
    char entry[128];                    /* being typed, in search, palette and commands */
    int choice;                         /* in the palette */
    char message[256];                  /* the line below, until the next key */
    int pointer_x, pointer_y;           /* -1: not in the window */
    int pressed;                        /* button, 0 none */
    int pressed_panel;                  /* that gets what is dragged */
    struct search *search;              /* NULL: nothing was searched for */
    char pattern[128];
    bool wants_quit, wants_picture;     /* for the window to do, and to take back */
};

void app_init(struct app *a, struct view *v, enum panel_id panel);
void app_fini(struct app *a);
/* true: draw again */
bool app_input(struct app *a, const struct input *i);
bool app_act(struct app *a, enum action what, int times);
/* time passes, in seconds; true: draw again */
bool app_tick(struct app *a, double seconds);
/* of playback in the panel looked at: chosen with < and >, else what suits the panel */
double app_cycles_per_second(const struct app *a);
void app_draw(struct app *a, struct draw_list *d);
void app_say(struct app *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- places ---- */
/* of panel `id`; w 0 where it is not shown */
struct rect app_panel_area(const struct app *a, enum panel_id id);
/* of its tab; w 0 in tiles */
struct rect app_tab_area(const struct app *a, enum panel_id id);
/* actions that the palette lists for what was typed, best first; returns how many */
int app_palette(const struct app *a, enum action to[ACTION_COUNT]);
#endif
