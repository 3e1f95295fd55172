/*
 * The window: SDL's events to viz/app/app.h, its draw list to the screen, only when
 * something changed.
 */
#include "viz/sdl/sdl_app.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "viz/app/app.h"
#include "viz/sdl/sdl_paint.h"

#define PLAY_MS 16
#define IDLE_MS 500                     /* asks whether a run that is written has grown */
#define LIVE_MS 30                      /* or what a run that is driven says */

struct window {
    SDL_Window *window;
    SDL_Renderer *renderer;
    struct painter *painter;
    struct draw_list list;
    struct app app;
};

static uint32_t key_of(SDL_Keycode k)
{
    static const struct { SDL_Keycode sdl; uint32_t key; } keys[] = {
        {SDLK_LEFT, KEY_LEFT}, {SDLK_RIGHT, KEY_RIGHT}, {SDLK_UP, KEY_UP}, {SDLK_DOWN, KEY_DOWN},
        {SDLK_HOME, KEY_HOME}, {SDLK_END, KEY_END}, {SDLK_RETURN, KEY_ENTER},
        {SDLK_KP_ENTER, KEY_ENTER}, {SDLK_ESCAPE, KEY_ESCAPE}, {SDLK_TAB, KEY_TAB},
        {SDLK_BACKSPACE, KEY_BACKSPACE}, {SDLK_PAGEUP, KEY_PAGE_UP},
        {SDLK_PAGEDOWN, KEY_PAGE_DOWN}};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (keys[i].sdl == k)
            return keys[i].key;
    return 0;
}

static bool send(struct window *w, struct input i)
{
    SDL_Keymod m = SDL_GetModState();

    i.has_shift = (m & KMOD_SHIFT) != 0;
    i.has_ctrl = (m & KMOD_CTRL) != 0;
    return app_input(&w->app, &i);
}

/* text comes as text events, so that layouts of keyboards do not matter; the rest as keys */
static bool key_event(struct window *w, const SDL_KeyboardEvent *e)
{
    SDL_Keycode k = e->keysym.sym;
    bool has_ctrl = (e->keysym.mod & KMOD_CTRL) != 0, has_shift = (e->keysym.mod & KMOD_SHIFT) != 0;
    bool is_digit = k >= SDLK_0 && k <= SDLK_9;

    if (key_of(k))
        return send(w, (struct input){.kind = INPUT_KEY, .key = key_of(k)});
    if (has_ctrl && k > 0 && k < 127)
        return send(w, (struct input){.kind = INPUT_KEY, .key = (uint32_t)k});
    if (has_shift && is_digit && w->app.mode == APP_PLAIN)
        return send(w, (struct input){.kind = INPUT_KEY, .key = (uint32_t)k});
    return false;
}

static bool text_event(struct window *w, const char *text)
{
    static const char above_digits[] = ")!@#$%^&*(";
    bool changed = false, is_plain = w->app.mode == APP_PLAIN;

    for (; *text; text++)
        if (*text > 0 && !(is_plain && strchr(above_digits, *text)))
            changed |= send(w, (struct input){.kind = INPUT_KEY, .key = (uint32_t)*text});
    return changed;
}

static bool resize(struct window *w)
{
    SDL_GetRendererOutputSize(w->renderer, &w->app.width, &w->app.height);
    return true;
}

static bool handle(struct window *w, const SDL_Event *e)
{
    struct input i = {.kind = INPUT_MOVE};

    switch (e->type) {
    case SDL_QUIT: w->app.wants_quit = true; return false;
    case SDL_KEYDOWN: return key_event(w, &e->key);
    case SDL_TEXTINPUT: return text_event(w, e->text.text);
    case SDL_WINDOWEVENT:
        if (e->window.event == SDL_WINDOWEVENT_LEAVE)
            w->app.pointer_x = -1;
        return resize(w);
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
        i = (struct input){.kind = e->type == SDL_MOUSEBUTTONDOWN ? INPUT_PRESS : INPUT_RELEASE,
                           .x = e->button.x, .y = e->button.y, .button = e->button.button};
        return send(w, i);
    case SDL_MOUSEMOTION:
        i = (struct input){.kind = w->app.pressed ? INPUT_DRAG : INPUT_MOVE, .x = e->motion.x,
                           .y = e->motion.y, .dx = e->motion.xrel, .dy = e->motion.yrel,
                           .button = w->app.pressed};
        return send(w, i);
    case SDL_MOUSEWHEEL:
        i = (struct input){.kind = INPUT_WHEEL, .x = w->app.pointer_x, .y = w->app.pointer_y,
                           .dx = e->wheel.x, .dy = e->wheel.y};
        return send(w, i);
    default:
        return false;
    }
}

static void paint(struct window *w)
{
    app_draw(&w->app, &w->list);
    painter_paint(w->painter, &w->list);
    SDL_RenderPresent(w->renderer);
}

/* the first systole-view-N.png that is not there */
static void save_picture(struct window *w)
{
    SDL_Surface *s = SDL_CreateRGBSurfaceWithFormat(0, w->app.width, w->app.height, 32,
                                                    SDL_PIXELFORMAT_ARGB8888);
    struct err e = {.line = 0};
    char path[64];
    int n = 1;

    w->app.wants_picture = false;
    w->app.view->is_hurried = false;    /* the picture is complete */
    do {
        snprintf(path, sizeof(path), "systole-view-%d.png", n++);
    } while (n < 10000 && access(path, F_OK) == 0);
    app_draw(&w->app, &w->list);
    painter_paint(w->painter, &w->list);
    w->app.view->is_hurried = true;
    if (!s || SDL_RenderReadPixels(w->renderer, NULL, s->format->format, s->pixels, s->pitch))
        app_say(&w->app, "no picture: %s", SDL_GetError());
    else if (picture_save(s, path, &e))
        app_say(&w->app, "%s", e.msg);
    else
        app_say(&w->app, "saved as %s", path);
    SDL_FreeSurface(s);
}

static int wait_ms(const struct window *w)
{
    if (w->list.is_partial)
        return 1;
    if (w->app.view->is_playing)
        return PLAY_MS;
    return w->app.live ? LIVE_MS : IDLE_MS;
}

static void loop(struct window *w)
{
    uint64_t before = SDL_GetPerformanceCounter(), now;
    uint32_t followed = SDL_GetTicks();
    bool changed = true;
    SDL_Event e;

    while (!w->app.wants_quit) {
        double seconds;

        if (changed)
            paint(w);
        changed = SDL_WaitEventTimeout(&e, wait_ms(w))
                  && handle(w, &e);
        changed |= w->list.is_partial;
        if (SDL_GetTicks() - followed > IDLE_MS) {
            changed |= view_follow(w->app.view);
            followed = SDL_GetTicks();
        }
        while (SDL_PollEvent(&e))       /* all that came meanwhile, before the next picture */
            changed |= handle(w, &e);
        now = SDL_GetPerformanceCounter();
        seconds = (double)(now - before) / (double)SDL_GetPerformanceFrequency();
        before = now;
        changed |= app_tick(&w->app, seconds < 0.1 ? seconds : 0.1);
        if (w->app.wants_picture) {
            save_picture(w);
            changed = true;
        }
    }
}

/* SDL may pick a driver that shows nothing where there is no display; nobody could close that */
static bool is_invisible(void)
{
    const char *driver = SDL_GetCurrentVideoDriver();

    return driver && (strcmp(driver, "offscreen") == 0 || strcmp(driver, "dummy") == 0
                      || strcmp(driver, "evdev") == 0);
}

static int open_window(struct window *w, const struct view_options *o, struct err *e)
{
    char title[300];

    if (SDL_Init(SDL_INIT_VIDEO))
        return err_set(e, "no window can be opened (%s): --png FILE draws without one",
                       SDL_GetError());
    if (is_invisible())
        return err_set(e, "no window can be opened (there is no display): --png FILE draws "
                          "without one");
    snprintf(title, sizeof(title), "%.250s: systole-view", o->live ? o->live : o->path);
    w->window = SDL_CreateWindow(title, SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, o->width,
                                 o->height, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (w->window)
        w->renderer = SDL_CreateRenderer(w->window, -1, SDL_RENDERER_PRESENTVSYNC);
    if (w->window && !w->renderer)
        w->renderer = SDL_CreateRenderer(w->window, -1, SDL_RENDERER_SOFTWARE);
    if (!w->renderer)
        return err_set(e, "no window can be opened (%s): --png FILE draws without one",
                       SDL_GetError());
    w->painter = painter_create(w->renderer, e);
    return w->painter ? 0 : -1;
}

int app_window(const struct view_options *o, struct view *v, struct live *live, struct err *e)
{
    struct window w = {.window = NULL};
    int status = open_window(&w, o, e);

    if (!status) {
        draw_init(&w.list, v->scale_percent);
        app_init(&w.app, v, o->panel);
        w.app.live = live;
        v->is_hurried = true;
        painter_prepare(w.painter, v->scale_percent);
        resize(&w);
        SDL_StartTextInput();
        loop(&w);
        app_fini(&w.app);
        draw_fini(&w.list);
    }
    painter_destroy(w.painter);
    if (w.renderer)
        SDL_DestroyRenderer(w.renderer);
    if (w.window)
        SDL_DestroyWindow(w.window);
    SDL_Quit();
    return status;
}
