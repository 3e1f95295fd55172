/*
 * systole-view --bench: how long a run takes to open, and a frame to draw, with
 * the software renderer: panning and zooming from the whole run to single cycles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "viz/app/app.h"
#include "viz/sdl/sdl_app.h"
#include "viz/sdl/sdl_paint.h"

#define FRAME_MAX 4096
#define PANS 12                         /* frames at each zoom, at each place */

struct times {
    double ms[FRAME_MAX], cpu_ms[FRAME_MAX], cycles_per_pixel[FRAME_MAX];
    int count;
};

static double now_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void frame(struct app *a, struct picture *p, struct draw_list *d, struct times *t)
{
    double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);

    app_draw(a, d);
    painter_paint(p->painter, d);
    SDL_RenderPresent(p->renderer);
    if (t->count == FRAME_MAX)
        return;
    t->ms[t->count] = now_ms(CLOCK_MONOTONIC) - wall;
    t->cpu_ms[t->count] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    t->cycles_per_pixel[t->count++] = view_cycles_per_pixel(a->view, a->width);
}

/* in from the whole run around one place, panning at every step, and out again */
static void tour(struct app *a, struct picture *p, struct draw_list *d, double place,
                 struct times *t)
{
    struct view *v = a->view;
    double all = (double)ntrace_info(v->run)->cycles;

    view_show(v, 0, all);
    for (;;) {
        double width = v->end - v->from;

        frame(a, p, d, t);
        for (int i = 0; i < PANS; i++) {
            view_pan(v, i < PANS / 2 ? 0.04 : -0.11);
            frame(a, p, d, t);
        }
        view_zoom(v, 0.45, all * place);
        if (v->end - v->from >= width)
            break;
    }
    while (v->end - v->from < all) {
        view_zoom(v, 3, all * place);
        frame(a, p, d, t);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_times(const char *name, double *ms, int count)
{
    qsort(ms, (size_t)count, sizeof(*ms), compare);
    printf("%-22s median %6.2f ms   99th percentile %6.2f ms   worst %6.2f ms\n", name,
           ms[count / 2], ms[count * 99 / 100], ms[count - 1]);
}

static int print_open(const struct view_options *o, struct err *e)
{
    struct arena a;
    struct ntrace *t;
    double before = now_ms(CLOCK_MONOTONIC);

    arena_init(&a);
    t = ntrace_open(view_trace_path(o->path, &a, e), e);
    if (t) {
        printf("open                   %6.2f ms\n", now_ms(CLOCK_MONOTONIC) - before);
        ntrace_close(t);
    }
    arena_fini(&a);
    return t ? 0 : -1;
}

int app_bench(const struct view_options *o, struct view *v, struct err *e)
{
    static struct times t;
    static const double places[] = {0.1, 0.37, 0.5, 0.83};
    struct picture p;
    struct draw_list d;
    struct app a;
    int worst = 0;

    if (print_open(o, e) || picture_open(&p, o->width, o->height, e))
        return -1;
    painter_prepare(p.painter, v->scale_percent);
    draw_init(&d, v->scale_percent);
    app_init(&a, v, o->panel);
    v->is_hurried = true;
    a.width = o->width;
    a.height = o->height;
    for (size_t i = 0; i < COUNT_OF(places); i++)
        tour(&a, &p, &d, places[i], &t);
    for (int k = 0; k < t.count; k++)
        worst = t.cpu_ms[k] > t.cpu_ms[worst] ? k : worst;
    printf("run of %lld cycles, %lld records\n", (long long)ntrace_info(v->run)->cycles,
           (long long)ntrace_info(v->run)->record_count);
    printf("%d frames of %dx%d pixels, software renderer; the worst at %.4g cycles per pixel\n",
           t.count, o->width, o->height, t.cycles_per_pixel[worst]);
    print_times("frame, wall time", t.ms, t.count);
    print_times("frame, processor time", t.cpu_ms, t.count);
    app_fini(&a);
    draw_fini(&d);
    picture_close(&p);
    return 0;
}
