/* Makes pictures and measurements without a display, by SDL's software renderer. */
#include <stdio.h>
#include <string.h>

#include "viz/view/card.h"
#include "viz/app/frame.h"
#include "viz/sdl/sdl_app.h"
#include "viz/sdl/sdl_paint.h"

/* the panel by itself, below a line that says what run this is */
static void draw_picture(const struct view_options *o, struct view *v, struct draw_list *d)
{
    void *state = panel_create(o->panel);
    struct rect area = {0, 0, o->width, o->height};

    draw_rect(d, area, theme_color(v->theme, COLOR_BACKGROUND));
    frame_draw_title(v, d, rect_cut_top(&area, frame_title_height(d)), o->panel);
    area = rect_inset(area, draw_scaled(d, 2));
    panel_draw(o->panel, state, v, d, area);
    if (o->pointer_x >= 0)
        card_draw(v, d, area, o->pointer_x, o->pointer_y,
                  panel_hover(o->panel, state, v, area, o->pointer_x, o->pointer_y, &d->arena));
    panel_destroy(o->panel, state);
}

int app_picture(const struct view_options *o, struct view *v, struct err *e)
{
    struct picture p;
    struct draw_list d;
    int status;

    if (picture_open(&p, o->width, o->height, e))
        return -1;
    draw_init(&d, v->scale_percent);
    draw_picture(o, v, &d);
    painter_paint(p.painter, &d);
    SDL_RenderPresent(p.renderer);
    status = picture_save(p.surface, o->png, e);
    draw_fini(&d);
    picture_close(&p);
    if (!status)
        printf("%s: the panel %s of %s, %dx%d pixels\n", o->png, panel_name(o->panel), o->path,
               o->width, o->height);
    return status;
}
