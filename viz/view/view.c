/* Shows, zooms and pans a range of cycles, and says when a frame has taken too long. */
#include "viz/view/view.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define HURRY_NS 4000000                /* of the 16 ms of a frame; painting takes most */
#define LEAST_CYCLES 8                  /* shown: fewer is nothing to look at */

static double run_cycles(const struct view *v)
{
    double cycles = (double)ntrace_info(v->run)->cycles;

    return cycles < LEAST_CYCLES ? LEAST_CYCLES : cycles;
}

void view_init(struct view *v, struct ntrace *run)
{
    memset(v, 0, sizeof(*v));
    v->run = run;
    v->path = v->other_path = v->search = "";
    v->cursor = -1;
    v->theme = THEME_DARK;
    v->scale_percent = 100;
    for (int i = 0; i < VIEW_BOOKMARKS; i++)
        v->bookmark[i] = -1;
    v->end = run_cycles(v);
}

void view_show(struct view *v, double from, double end)
{
    double all = run_cycles(v), width = end - from;

    if (!(width >= LEAST_CYCLES)) {     /* not a number, too */
        from = from + width / 2 - LEAST_CYCLES / 2.0;
        width = LEAST_CYCLES;
    }
    if (width > all)
        width = all;
    if (!(from >= 0))
        from = 0;
    if (from + width > all)
        from = all - width;
    v->from = from;
    v->end = from + width;
}

void view_zoom(struct view *v, double factor, double around)
{
    double width = v->end - v->from, share = (around - v->from) / width;
    double wanted = width * factor, all = run_cycles(v);

    wanted = wanted < LEAST_CYCLES ? LEAST_CYCLES : wanted > all ? all : wanted;
    view_show(v, around - share * wanted, around + (1 - share) * wanted);
}

void view_pan(struct view *v, double share)
{
    double by = (v->end - v->from) * share;

    view_show(v, v->from + by, v->end + by);
}

double view_cycles_per_pixel(const struct view *v, int width)
{
    return (v->end - v->from) / (width > 0 ? width : 1);
}

static int64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void view_begin_frame(struct view *v)
{
    v->late_ns = v->is_hurried ? clock_ns() + HURRY_NS : 0;
}

bool view_is_late(int64_t late_ns)
{
    return late_ns && clock_ns() > late_ns;
}

bool view_shown_changes(struct view_shown *s, const struct view *v, int index, int columns)
{
    const struct view_shown now = {.run = v->run, .generation = v->generation, .index = index,
                                   .columns = columns, .from = (cycle_t)v->from,
                                   .end = (cycle_t)ceil(v->end)};

    if (s->run == now.run && s->generation == now.generation && s->index == index &&
        s->columns == columns && s->from == now.from && s->end == now.end)
        return false;
    *s = now;
    return true;
}

bool view_follow(struct view *v)
{
    bool shows_all = v->from <= 0 && v->end >= run_cycles(v);
    struct err e;

    if (ntrace_info(v->run)->is_complete || ntrace_refresh(v->run, &e) != 1)
        return false;
    v->generation++;
    if (shows_all)
        view_show(v, 0, run_cycles(v));
    return true;
}
