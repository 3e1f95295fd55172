/*
 * A run that this window drives: keys become commands of the debugger, and a
 * strip above the line below says where the run stands and what it answered.
 */
#include "viz/app/app_actions.h"
#include "viz/view/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STRIP_LINES 8                   /* of answers */
#define CURSOR_SHARE 0.8                /* of the width, where the cursor is put when it had left */

static bool has_live(struct app *a)
{
    if (!a->live)
        app_say(a, "this run is recorded; systole run PROGRAM --view starts one to drive");
    return a->live != NULL;
}

void app_live_send(struct app *a, const char *command, int times)
{
    char line[LIVE_COMMAND_MAX];
    struct err e;

    if (!has_live(a))
        return;
    if (times > 0)
        snprintf(line, sizeof(line), "%s %d", command, times);
    else
        snprintf(line, sizeof(line), "%s", command);
    if (a->live_core != a->view->core && live_state(a->live)->core_count > 1) {
        char select[32];

        snprintf(select, sizeof(select), "core %d", a->view->core);
        if (live_send(a->live, select, &e) == 0)
            a->live_core = a->view->core;
    }
    if (live_send(a->live, line, &e))
        app_say(a, "%s", e.msg);
}

void app_live_go(struct app *a)
{
    if (has_live(a))
        app_live_send(a, live_is_waiting(a->live) ? "pause" : "continue", 0);
}

void app_live_break(struct app *a)
{
    char command[40];

    if (!has_live(a))
        return;
    if (!a->view->has_bundle) {
        app_say(a, "choose a bundle first, in the code or by a click on the timeline");
        return;
    }
    snprintf(command, sizeof(command), "break %" PRIu32, a->view->bundle);
    app_live_send(a, command, 0);
}

void app_live_command(struct app *a)
{
    if (!has_live(a))
        return;
    a->mode = APP_COMMAND;
    a->entry[0] = '\0';
}

/* ---- what has come ---- */

/* the cursor goes with the run, and so does what is shown where it would leave */
static void follow(struct app *a)
{
    const struct live_state *s = live_state(a->live);
    struct view *v = a->view;
    double width;

    view_follow(v);
    width = v->end - v->from;
    v->cursor = (double)s->cycle;
    if (v->cursor < v->from || v->cursor > v->end)
        view_show(v, v->cursor - CURSOR_SHARE * width, v->cursor + (1 - CURSOR_SHARE) * width);
    if (v->core < s->core_count && s->status != LIVE_RUNNING) {
        v->has_bundle = true;
        v->bundle = s->core[v->core].bundle;
    }
}

bool app_live_tick(struct app *a)
{
    struct err e;
    int news;

    if (!a->live)
        return false;
    news = live_poll(a->live, &e);
    if (news > 0)
        follow(a);
    if (news >= 0)
        return news > 0;
    app_say(a, "%s; what was recorded stays", e.msg);
    view_follow(a->view);
    a->live = NULL;
    return true;
}

/* ---- the strip ---- */

int app_live_height(const struct app *a)
{
    struct draw_list d = {.scale_percent = a->view->scale_percent};
    int lines = STRIP_LINES, line = draw_line_height(&d, TEXT_SMALL);

    if (!a->live)
        return 0;
    while (lines > 1 && (lines + 2) * line > a->height / 4)
        lines--;
    return (lines + 1) * line + draw_scaled(&d, 8);
}

static const char *state_text(const struct app *a, struct draw_list *d)
{
    static const char *const names[] = {[LIVE_PAUSED] = "paused", [LIVE_RUNNING] = "running",
                                        [LIVE_ENDED] = "ended", [LIVE_FAULTED] = "faulted"};
    const struct live_state *s = live_state(a->live);
    const struct live_core *c = a->view->core < s->core_count ? &s->core[a->view->core] : NULL;
    const char *text = arena_printf(&d->arena, "%s at %s", names[s->status],
                                    quantity_cycles((double)s->cycle).text);

    if (!c)
        return text;
    return arena_printf(&d->arena, "%s   core %d: bundle %" PRIu32 ", line %" PRIu32 ", %s%s, %"
                        PRId64 " bundles issued", text, a->view->core, c->bundle, c->line,
                        *c->reason ? "waits for " : c->activity, c->reason, c->issued);
}

static void draw_state(const struct app *a, struct draw_list *d, struct rect row)
{
    static const char hint[] = "g go/pause  o step  i look  e next operation  u back  b break  "
                               ": command";
    enum theme t = a->view->theme;
    const char *text = state_text(a, d);
    int one = draw_char_width(d, TEXT_SMALL), width = draw_text_width(d, TEXT_SMALL, hint);
    bool has_hint = draw_text_width(d, TEXT_SMALL, text) + 4 * one + width < row.w;
    struct rect right = has_hint ? rect_cut_right(&row, width) : row;

    draw_text_fit(d, row, TEXT_SMALL, theme_color(t, COLOR_ACCENT), text);
    if (has_hint)
        draw_text_fit(d, right, TEXT_SMALL, theme_color(t, COLOR_DIM_TEXT), hint);
}

void app_live_draw(struct app *a, struct draw_list *d, struct rect area)
{
    static const enum color_role role[] = {[LIVE_COMMAND] = COLOR_ACCENT, [LIVE_TEXT] = COLOR_TEXT,
                                           [LIVE_MISTAKE] = COLOR_WARNING};
    int line = draw_line_height(d, TEXT_SMALL);
    size_t count, shown, i;
    struct rect r;

    if (!a->live)
        return;
    draw_rect(d, area, theme_color(a->view->theme, COLOR_PANEL));
    r = rect_inset(area, draw_scaled(d, 4));
    draw_state(a, d, rect_cut_top(&r, line));
    count = live_line_count(a->live);
    shown = (size_t)(r.h / line) < count ? (size_t)(r.h / line) : count;
    for (i = count - shown; i < count; i++) {
        enum live_line_kind kind;
        const char *text = live_line(a->live, i, &kind);

        draw_text_fit(d, rect_cut_top(&r, line), TEXT_SMALL,
                      theme_color(a->view->theme, role[kind]),
                      kind == LIVE_COMMAND ? arena_printf(&d->arena, "> %s", text) : text);
    }
}
