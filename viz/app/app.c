/* Turns keys, pointer and typed text into actions, and passes input on to panels. */
#include "viz/app/app.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "viz/app/app_actions.h"

#define PLAY_SECONDS 20

static const struct {
    const char *keys, *name, *help;
} actions[ACTION_COUNT] = {
#define ACTION(id, keys, name, help) {keys, name, help},
#include "viz/app/actions.def"
};

const char *action_keys(enum action a) { return actions[a].keys; }
const char *action_name(enum action a) { return actions[a].name; }
const char *action_help(enum action a) { return actions[a].help; }

void action_print_table(FILE *to)
{
    fprintf(to, "| key | what | more |\n|---|---|---|\n");
    for (int i = 0; i < ACTION_COUNT; i++) {
        const char *at = actions[i].keys;

        fprintf(to, "| ");
        while (*at) {
            size_t one = strcspn(at, " ");

            fprintf(to, "`%.*s` ", (int)one, at);
            at += one + (at[one] == ' ');
        }
        fprintf(to, "| %s | %s |\n", actions[i].name, actions[i].help);
    }
}

enum action action_of_key(const char *key)
{
    size_t length = strlen(key);

    for (int i = 0; length && i < ACTION_COUNT; i++) {
        const char *at = actions[i].keys;

        while (*at) {
            size_t one = strcspn(at, " ");

            if (one == length && strncmp(at, key, length) == 0)
                return (enum action)i;
            at += one + (at[one] == ' ');
        }
    }
    return ACTION_COUNT;
}

/* the key of an input as viz/app/actions.def writes it; buf of 32 bytes */
static const char *key_name(const struct input *i, char *buf)
{
    static const char *const named[] = {"Left", "Right", "Up", "Down", "Home", "End", "Enter",
                                        "Escape", "Tab", "Backspace", "PageUp", "PageDown"};
    char one[12] = "";
    bool is_letter = i->key < 128 && isalpha((int)i->key);
    /* the shift that makes a ? is not named; that of a letter, a digit or Tab is */
    bool has_shift = i->has_shift && (i->key >= 128 || isalnum((int)i->key));

    if (i->key == ' ')
        snprintf(one, sizeof(one), "Space");
    else if (i->key > ' ' && i->key < 127)
        snprintf(one, sizeof(one), "%c", is_letter ? tolower((int)i->key) : (int)i->key);
    else if (i->key >= KEY_LEFT && i->key < KEY_LEFT + COUNT_OF(named))
        snprintf(one, sizeof(one), "%s", named[i->key - KEY_LEFT]);
    snprintf(buf, 32, "%s%s%s", i->has_ctrl ? "Ctrl+" : "", has_shift ? "Shift+" : "", one);
    return buf;
}

void app_init(struct app *a, struct view *v, enum panel_id panel)
{
    memset(a, 0, sizeof(*a));
    a->view = v;
    a->width = 1280;
    a->height = 720;
    a->panel = panel;
    a->pointer_x = a->pointer_y = -1;
    for (int i = 0; i < PANEL_COUNT; i++)
        a->state[i] = panel_create((enum panel_id)i);
}

void app_fini(struct app *a)
{
    for (int i = 0; i < PANEL_COUNT; i++)
        panel_destroy((enum panel_id)i, a->state[i]);
    search_destroy(a->search);
}

void app_say(struct app *a, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(a->message, sizeof(a->message), format, args);
    va_end(args);
}

/* ---- typing ---- */

static void type(struct app *a, const struct input *i)
{
    size_t length = strlen(a->entry);

    if (i->key == KEY_BACKSPACE && length)
        a->entry[length - 1] = '\0';
    else if (i->key >= ' ' && i->key < 127 && !i->has_ctrl && length + 1 < sizeof(a->entry))
        snprintf(&a->entry[length], sizeof(a->entry) - length, "%c", (int)i->key);
    else if (i->key == KEY_DOWN)
        a->choice++;
    else if (i->key == KEY_UP && a->choice > 0)
        a->choice--;
    if (i->key < 127 || i->key == KEY_BACKSPACE)
        a->choice = 0;
}

/* names that begin with what was typed, then those that have it */
int app_palette(const struct app *a, enum action to[ACTION_COUNT])
{
    size_t length = strlen(a->entry);
    int count = 0, pass;

    for (pass = 0; pass < 2; pass++)
        for (int i = 0; i < ACTION_COUNT; i++) {
            const char *name = actions[i].name;
            bool begins = strncasecmp(name, a->entry, length) == 0, has = false;

            for (size_t k = 0; !begins && k + length <= strlen(name); k++)
                has = has || strncasecmp(name + k, a->entry, length) == 0;
            if (pass ? has : begins)
                to[count++] = (enum action)i;
        }
    return count;
}

static void enter(struct app *a)
{
    enum action found[ACTION_COUNT];
    enum app_mode mode = a->mode;
    int count = app_palette(a, found), choice = a->choice;

    a->mode = APP_PLAIN;
    if (mode == APP_SEARCH)
        app_search(a, a->entry);
    else if (mode == APP_COMMAND && *a->entry)
        app_live_send(a, a->entry, 0);
    else if (mode == APP_PALETTE && count)
        app_act(a, found[choice < count ? choice : count - 1], 1);
}

static bool key_while_typing(struct app *a, const struct input *i)
{
    if (i->key == KEY_ESCAPE)
        a->mode = APP_PLAIN;
    else if (i->key == KEY_ENTER)
        enter(a);
    else
        type(a, i);
    return true;
}

/* Ctrl and a digit sets a bookmark, Shift and a digit goes there */
static bool bookmark_key(struct app *a, const struct input *i)
{
    struct view *v = a->view;
    double half = (v->end - v->from) / 2;
    int n = (int)i->key - '0';

    if (i->key < '0' || i->key > '9' || (!i->has_ctrl && !i->has_shift))
        return false;
    if (i->has_ctrl) {
        v->bookmark[n] = v->cursor >= 0 ? v->cursor : v->from + half;
        app_say(a, "bookmark %d is cycle %.0f: Shift+%d comes back", n, v->bookmark[n], n);
    } else if (v->bookmark[n] < 0) {
        app_say(a, "bookmark %d is not set: Ctrl+%d sets it", n, n);
    } else {
        view_show(v, v->bookmark[n] - half, v->bookmark[n] + half);
        v->cursor = v->bookmark[n];
    }
    return true;
}

static bool key(struct app *a, const struct input *i)
{
    struct input plain = *i;
    enum action what;
    char name[32];
    int times = 1;

    plain.x = a->pointer_x;
    plain.y = a->pointer_y;
    if (a->mode == APP_PALETTE || a->mode == APP_SEARCH || a->mode == APP_COMMAND)
        return key_while_typing(a, i);
    a->message[0] = '\0';
    if (a->mode == APP_HELP && i->key != 'p') {
        a->mode = APP_PLAIN;
        return true;
    }
    if (bookmark_key(a, i))
        return true;
    if (panel_input(a->panel, a->state[a->panel], a->view, &plain, app_panel_area(a, a->panel)))
        return true;                    /* it knows better what up, or a cycle on, means there */
    what = action_of_key(key_name(i, name));
    if (what == ACTION_COUNT && i->has_shift) {
        plain.has_shift = false;
        what = action_of_key(key_name(&plain, name));
        times = 10;
    }
    return what < ACTION_COUNT && app_act(a, what, times);
}

/* ---- the pointer ---- */

static int panel_at(const struct app *a, int x, int y)
{
    for (int i = 0; i < PANEL_COUNT; i++)
        if (rect_has(app_panel_area(a, (enum panel_id)i), x, y))
            return i;
    return PANEL_COUNT;
}

static bool press_tab(struct app *a, const struct input *i)
{
    for (int k = 0; k < PANEL_COUNT; k++)
        if (rect_has(app_tab_area(a, (enum panel_id)k), i->x, i->y)) {
            a->panel = (enum panel_id)k;
            return true;
        }
    return false;
}

static bool pointer(struct app *a, const struct input *i)
{
    int under = a->pressed ? a->pressed_panel : panel_at(a, i->x, i->y);
    bool changed = i->kind == INPUT_MOVE;       /* the card moves */

    a->pointer_x = i->x;
    a->pointer_y = i->y;
    if (a->mode != APP_PLAIN) {
        if (i->kind == INPUT_PRESS)
            a->mode = APP_PLAIN;
        return i->kind == INPUT_PRESS;
    }
    if (i->kind == INPUT_PRESS && press_tab(a, i))
        return true;
    if (i->kind == INPUT_PRESS && under < PANEL_COUNT) {
        a->pressed = i->button;
        a->pressed_panel = under;
        a->panel = (enum panel_id)under;
    }
    if (i->kind == INPUT_RELEASE)
        a->pressed = 0;
    if (under >= PANEL_COUNT)
        return changed;
    return panel_input((enum panel_id)under, a->state[under], a->view, i,
                       app_panel_area(a, (enum panel_id)under)) || changed;
}

bool app_input(struct app *a, const struct input *i)
{
    return i->kind == INPUT_KEY ? key(a, i) : pointer(a, i);
}

double app_cycles_per_second(const struct app *a)
{
    /* where single cycles are to be seen; elsewhere what is shown passes in PLAY_SECONDS */
    static const double cycles[PANEL_COUNT] = {[PANEL_WAVEFRONT] = 4, [PANEL_CODE] = 4};

    if (a->cycles_per_second[a->panel] > 0)
        return a->cycles_per_second[a->panel];
    return cycles[a->panel] > 0 ? cycles[a->panel]
                                : fmax(1, (a->view->end - a->view->from) / PLAY_SECONDS);
}

bool app_tick(struct app *a, double seconds)
{
    struct view *v = a->view;
    double all, width;
    bool has_news = app_live_tick(a);

    if (!v->is_playing)
        return has_news;
    all = (double)ntrace_info(v->run)->cycles;
    width = v->end - v->from;
    v->cursor = (v->cursor < 0 ? v->from : v->cursor) + seconds * app_cycles_per_second(a);
    if (v->cursor >= all) {
        v->cursor = all;
        v->is_playing = false;
    }
    if (v->cursor > v->end)
        view_show(v, v->cursor - 0.1 * width, v->cursor + 0.9 * width);
    return true;
}
