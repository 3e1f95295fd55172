/* Has one function for each row of viz/app/actions.def, act_ID(app, times). */
#include "viz/app/app_actions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/view/quantity.h"

#define SCALE_LEAST 50
#define SCALE_MOST 400
#define STALL_PIXELS 3
#define HIT_PIXELS 3                    /* as wide as a hit is shown, at least */

#define ACTION(id, keys, name, help) static void act_##id(struct app *a, int times);
#include "viz/app/actions.def"

static double middle(const struct view *v)
{
    return v->cursor >= v->from && v->cursor < v->end ? v->cursor : (v->from + v->end) / 2;
}

static cycle_t run_cycles(const struct app *a)
{
    return ntrace_info(a->view->run)->cycles;
}

static void act_ZOOM_IN(struct app *a, int times)
{
    view_zoom(a->view, times > 1 ? 0.1 : 0.7, middle(a->view));
}

static void act_ZOOM_OUT(struct app *a, int times)
{
    view_zoom(a->view, times > 1 ? 10 : 1 / 0.7, middle(a->view));
}

static void act_PAN_LEFT(struct app *a, int times)
{
    view_pan(a->view, -0.125 * times);
}

static void act_PAN_RIGHT(struct app *a, int times)
{
    view_pan(a->view, 0.125 * times);
}

static void act_SHOW_ALL(struct app *a, int times)
{
    (void)times;
    view_show(a->view, 0, (double)run_cycles(a));
}

static void act_SHOW_END(struct app *a, int times)
{
    double all = (double)run_cycles(a);

    (void)times;
    view_show(a->view, all - (a->view->end - a->view->from), all);
}

static void act_ZOOM_RANGE(struct app *a, int times)
{
    const struct ntrace_info *i = ntrace_info(a->view->run);
    struct view *v = a->view;

    (void)times;
    if (v->has_selection) {
        view_show(v, v->selection_from, v->selection_end);
        return;
    }
    for (size_t k = 0; k < i->launch_count; k++) {
        const struct ntrace_launch *l = &i->launch[k];

        if ((double)l->start <= middle(v) && middle(v) < (double)(l->start + l->cycles))
            view_show(v, (double)l->start, (double)(l->start + l->cycles));
    }
}

static void act_TOOL_SELECT(struct app *a, int times) { (void)times; a->view->tool = VIEW_SELECT; }
static void act_TOOL_PAN(struct app *a, int times) { (void)times; a->view->tool = VIEW_PAN; }
static void act_TOOL_ZOOM(struct app *a, int times) { (void)times; a->view->tool = VIEW_ZOOM; }
static void act_TOOL_MEASURE(struct app *a, int times)
{
    (void)times;
    a->view->tool = VIEW_MEASURE;
}

static void act_MARK(struct app *a, int times)
{
    int n;

    (void)times;
    for (n = 0; n < VIEW_BOOKMARKS && a->view->bookmark[n] >= 0; n++)
        ;
    if (n == VIEW_BOOKMARKS) {
        app_say(a, "all bookmarks are set: Ctrl and a digit sets one anew");
        return;
    }
    a->view->bookmark[n] = middle(a->view);
    app_say(a, "bookmark %d is cycle %.0f: Shift+%d comes back", n, a->view->bookmark[n], n);
}

/* ---- finding ---- */

/* in the middle, at this zoom, or nearer or further so that it can be seen */
static void show_hit(struct app *a, cycle_t at, cycle_t end)
{
    struct view *v = a->view;
    double least = (double)(end - at) * 4, most = (double)(end - at) * a->width / HIT_PIXELS;
    double width = fmin(fmax(v->end - v->from, least), most), half = width / 2;

    view_show(v, (double)(at + end) / 2 - half, (double)(at + end) / 2 + half);
    v->cursor = (double)at;
    v->has_selection = true;
    v->selection_from = (double)at;
    v->selection_end = (double)end;
}

static void find(struct app *a, bool is_forward, double from)
{
    struct search_hit hit;

    if (!a->search) {
        app_say(a, "nothing was searched for: / begins a search");
        return;
    }
    if (is_forward ? search_next(a->search, (cycle_t)from, &hit)
                   : search_last(a->search, (cycle_t)from, &hit)) {
        show_hit(a, hit.at, hit.end);
        a->view->has_bundle = true;
        a->view->bundle = hit.bundle;
        app_say(a, "%s, at %s  (n: next, N: previous)", hit.text,
                quantity_cycles((double)hit.at).text);
    } else {
        app_say(a, "\"%s\" is in %u of the program's bundles, none of them runs %s", a->pattern,
                search_bundle_count(a->search), is_forward ? "after this" : "before this");
    }
}

void app_search(struct app *a, const char *pattern)
{
    struct err e = {.line = 0};
    struct search *s;

    if (!*pattern)
        return;
    s = search_create(a->view->run, a->view->core, pattern, &e);
    if (!s) {
        app_say(a, "%s", e.msg);
        return;
    }
    search_destroy(a->search);
    a->search = s;
    snprintf(a->pattern, sizeof(a->pattern), "%s", pattern);
    a->view->search = a->pattern;
    if (search_bundle_count(s))
        find(a, true, a->view->from - 1);
    else
        app_say(a, "\"%s\" is nowhere in the program of core %d", pattern, a->view->core);
}

static void act_SEARCH(struct app *a, int times)
{
    (void)times;
    a->mode = APP_SEARCH;
    a->entry[0] = '\0';
}

static void act_NEXT_MATCH(struct app *a, int times)
{
    (void)times;
    find(a, true, a->view->has_selection ? a->view->selection_from : middle(a->view));
}

static void act_LAST_MATCH(struct app *a, int times)
{
    (void)times;
    find(a, false, a->view->has_selection ? a->view->selection_from : middle(a->view));
}

static void find_stall(struct app *a, bool is_forward)
{
    struct view *v = a->view;
    cycle_t from = (cycle_t)(v->has_selection ? v->selection_from : is_forward ? v->from - 1
                                                                               : v->end);
    cycle_t least = (cycle_t)ceil(STALL_PIXELS * view_cycles_per_pixel(v, a->width));
    struct trace_record r;

    if (is_forward ? search_next_stall(v->run, v->core, from, least, v->hidden_stalls, &r)
                   : search_last_stall(v->run, v->core, from, least, v->hidden_stalls, &r)) {
        show_hit(a, r.at, r.at + r.value);
        app_say(a, "%s, %s", stall_name((enum stall_reason)r.reason),
                quantity_cycles((double)r.value).text);
    } else {
        app_say(a, "no stall of at least %s %s", quantity_cycles((double)least).text,
                is_forward ? "after this: zoom in for shorter ones" : "before this");
    }
}

static void act_NEXT_STALL(struct app *a, int times) { (void)times; find_stall(a, true); }
static void act_LAST_STALL(struct app *a, int times) { (void)times; find_stall(a, false); }

/* ---- the cursor ---- */

static void say_speed(struct app *a)
{
    app_say(a, "plays %s per second: > is faster, < slower",
            quantity_cycles(app_cycles_per_second(a)).text);
}

static void act_PLAY(struct app *a, int times)
{
    struct view *v = a->view;

    (void)times;
    v->is_playing = !v->is_playing;
    if (v->is_playing)
        say_speed(a);
    if (v->cursor < v->from || v->cursor >= v->end)
        v->cursor = v->from;
}

static void step(struct app *a, double by)
{
    struct view *v = a->view;
    double all = (double)run_cycles(a), half = (v->end - v->from) / 2;

    v->is_playing = false;
    v->cursor = floor(middle(v)) + by;
    v->cursor = v->cursor < 0 ? 0 : v->cursor > all ? all : v->cursor;
    if (v->cursor < v->from || v->cursor > v->end)
        view_show(v, v->cursor - half, v->cursor + half);
}

static void act_STEP_ON(struct app *a, int times) { step(a, times); }
static void act_STEP_BACK(struct app *a, int times) { step(a, -times); }

static void play_at(struct app *a, double factor)
{
    a->cycles_per_second[a->panel] = fmin(fmax(app_cycles_per_second(a) * factor, 0.5), 1e12);
    say_speed(a);
}

static void act_FASTER(struct app *a, int times) { (void)times; play_at(a, 2); }
static void act_SLOWER(struct app *a, int times) { (void)times; play_at(a, 0.5); }

/* ---- panels and looks ---- */

static void act_NEXT_PANEL(struct app *a, int times)
{
    (void)times;
    a->panel = (enum panel_id)((a->panel + 1) % PANEL_COUNT);
}

static void act_LAST_PANEL(struct app *a, int times)
{
    (void)times;
    a->panel = (enum panel_id)((a->panel + PANEL_COUNT - 1) % PANEL_COUNT);
}

static void act_TILES(struct app *a, int times)
{
    (void)times;
    a->is_tiled = !a->is_tiled;
}

static void go_to_core(struct app *a, int by)
{
    int count = ntrace_info(a->view->run)->core_count, core = a->view->core + by;

    a->view->core = core < 0 ? 0 : core >= count ? count - 1 : core;
    app_say(a, "core %d of %d", a->view->core, count);
}

static void act_NEXT_CORE(struct app *a, int times) { go_to_core(a, times); }
static void act_LAST_CORE(struct app *a, int times) { go_to_core(a, -times); }

static void act_ALL_STALLS(struct app *a, int times)
{
    (void)times;
    a->view->hidden_stalls = 0;
}

/* lanes are the timeline's own: it knows which one is under the pointer */
static bool tell_timeline(struct app *a, bool has_shift)
{
    const struct input i = {.kind = INPUT_KEY, .key = 'h', .has_shift = has_shift,
                            .x = a->pointer_x, .y = a->pointer_y};

    return panel_input(PANEL_TIMELINE, a->state[PANEL_TIMELINE], a->view, &i,
                                app_panel_area(a, PANEL_TIMELINE));
}

static void act_HIDE_LANE(struct app *a, int times)
{
    (void)times;
    if (!tell_timeline(a, false))
        app_say(a, "point at a lane of the timeline to hide it");
}

static void act_ALL_LANES(struct app *a, int times)
{
    (void)times;
    if (!tell_timeline(a, true))
        app_say(a, "no lane is hidden");
}

static void act_THEME(struct app *a, int times)
{
    (void)times;
    a->view->theme = a->view->theme == THEME_DARK ? THEME_LIGHT : THEME_DARK;
}

static void scale_by(struct app *a, int percent)
{
    int scale = a->view->scale_percent + percent;

    a->view->scale_percent = scale < SCALE_LEAST ? SCALE_LEAST
                             : scale > SCALE_MOST ? SCALE_MOST : scale;
    app_say(a, "%d %%", a->view->scale_percent);
}

static void act_BIGGER(struct app *a, int times) { scale_by(a, 10 * times); }
static void act_SMALLER(struct app *a, int times) { scale_by(a, -10 * times); }
static void act_PICTURE(struct app *a, int times) { (void)times; a->wants_picture = true; }

/* ---- a run that is driven ---- */

static void act_LIVE_GO(struct app *a, int times) { (void)times; app_live_go(a); }
static void act_LIVE_STEP(struct app *a, int times) { app_live_send(a, "step", times); }
static void act_LIVE_LOOK(struct app *a, int times) { (void)times; app_live_send(a, "op", 0); }
static void act_LIVE_SOURCE(struct app *a, int times)
{
    (void)times;
    app_live_send(a, "source", 0);
}

static void act_LIVE_BACK(struct app *a, int times) { app_live_send(a, "back", times); }
static void act_LIVE_BREAK(struct app *a, int times) { (void)times; app_live_break(a); }
static void act_LIVE_COMMAND(struct app *a, int times) { (void)times; app_live_command(a); }

static void act_PALETTE(struct app *a, int times)
{
    (void)times;
    a->mode = APP_PALETTE;
    a->entry[0] = '\0';
    a->choice = 0;
}

static void act_HELP(struct app *a, int times) { (void)times; a->mode = APP_HELP; }

static void act_CLOSE(struct app *a, int times)
{
    (void)times;
    a->view->has_selection = false;
    a->view->has_bundle = false;
}

static void act_QUIT(struct app *a, int times) { (void)times; a->wants_quit = true; }

bool app_act(struct app *a, enum action what, int times)
{
    static void (*const act[ACTION_COUNT])(struct app *, int) = {
#define ACTION(id, keys, name, help) act_##id,
#include "viz/app/actions.def"
    };

    act[what](a, times);
    return true;
}
