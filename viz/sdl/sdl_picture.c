/* Makes an SDL surface with a software renderer, and PNG files of it. */
#include <png.h>
#include <string.h>

#include "base/outfile.h"
#include "viz/sdl/sdl_paint.h"

int picture_open(struct picture *p, int width, int height, struct err *e)
{
    memset(p, 0, sizeof(*p));
    p->surface = SDL_CreateRGBSurfaceWithFormat(0, width, height, 32, SDL_PIXELFORMAT_ARGB8888);
    if (p->surface)
        p->renderer = SDL_CreateSoftwareRenderer(p->surface);
    if (!p->renderer) {
        picture_close(p);
        return err_set(e, "no picture of %dx%d pixels: %s", width, height, SDL_GetError());
    }
    p->painter = painter_create(p->renderer, e);
    if (!p->painter) {
        picture_close(p);
        return -1;
    }
    return 0;
}

void picture_close(struct picture *p)
{
    painter_destroy(p->painter);
    if (p->renderer)
        SDL_DestroyRenderer(p->renderer);
    SDL_FreeSurface(p->surface);
    memset(p, 0, sizeof(*p));
}

int picture_save(SDL_Surface *s, const char *path, struct err *e)
{
    SDL_Surface *rgb = SDL_ConvertSurfaceFormat(s, SDL_PIXELFORMAT_RGB24, 0);
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    struct outfile f;

    if (!rgb)
        return err_set(e, "%s: no memory for the picture: %s", path, SDL_GetError());
    if (outfile_begin(&f, path, e)) {
        SDL_FreeSurface(rgb);
        return -1;
    }
    image.width = (png_uint_32)rgb->w;
    image.height = (png_uint_32)rgb->h;
    if (!png_image_write_to_stdio(&image, f.to, 0, rgb->pixels, rgb->pitch, NULL)) {
        outfile_abandon(&f);
        SDL_FreeSurface(rgb);
        return err_set(e, "%s: the picture cannot be written: %s", path, image.message);
    }
    SDL_FreeSurface(rgb);
    return outfile_commit(&f, e);
}
