/*
 * Draw lists on an SDL renderer: of a window, or of a picture in memory.
 * Texts come from one texture per size that holds every character once.
 */
#ifndef VIZ_SDL_PAINT_H
#define VIZ_SDL_PAINT_H
#include <SDL2/SDL.h>

#include "base/err.h"
#include "viz/draw/draw.h"

struct painter;

/* NULL with *e set: no font (it says which package has it). The renderer is borrowed. */
struct painter *painter_create(SDL_Renderer *to, struct err *e);
void painter_destroy(struct painter *p);
/* the characters of all sizes at this scale, so that the first picture does not wait for them */
void painter_prepare(struct painter *p, int scale_percent);
/* everything of the list, in order; the caller clears before and presents after */
void painter_paint(struct painter *p, const struct draw_list *d);

/* the file of the face: $SYSTOLE_FONT, or where distributions keep DejaVu Sans Mono; or NULL */
const char *painter_font_path(void);

/* A picture in memory with a renderer of its own; works without a display. */
struct picture {
    SDL_Surface *surface;
    SDL_Renderer *renderer;
    struct painter *painter;
};
int picture_open(struct picture *p, int width, int height, struct err *e);
void picture_close(struct picture *p);
/* the pixels of the surface as a PNG */
int picture_save(SDL_Surface *s, const char *path, struct err *e);
#endif
