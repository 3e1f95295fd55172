/* Paints a draw list by SDL: rectangles in batches, text from one texture of glyphs per size. */
#include "viz/sdl/sdl_paint.h"

#include <SDL2/SDL_ttf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "viz/draw/font.h"

#define ATLAS_MAX 12                    /* sizes in use at a time */
#define GLYPH_MAX 192
#define BATCH 512
#define ASCII_FIRST 32
#define ASCII_END 127

struct atlas {                          /* glyphs side by side, 16 in a row */
    int pixels;
    SDL_Texture *texture;
};

struct painter {
    SDL_Renderer *to;
    const char *font_path;
    uint32_t glyph[GLYPH_MAX];          /* characters that there are, in the order of the atlas */
    int glyph_count, unknown;           /* unknown: the place of '?' */
    struct atlas atlas[ATLAS_MAX];
    int atlas_count;
    SDL_Rect batch[BATCH];              /* rectangles of one colour */
    int batch_count;
    rgba_t batch_color;
};

const char *painter_font_path(void)
{
    static const char *const places[] = {
        "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
        "/usr/share/fonts/dejavu/DejaVuSansMono.ttf",
        "/usr/share/fonts/dejavu-sans-mono-fonts/DejaVuSansMono.ttf",
        "/usr/share/fonts/TTF/DejaVuSansMono.ttf"};
    const char *own = getenv("SYSTOLE_FONT");

    if (own && *own)
        return own;
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

static void list_glyphs(struct painter *p)
{
    const char *extra = font_extra;
    uint32_t c;

    for (c = ASCII_FIRST; c < ASCII_END; c++)
        p->glyph[p->glyph_count++] = c;
    p->unknown = '?' - ASCII_FIRST;
    while ((c = font_next(&extra)) != 0 && p->glyph_count < GLYPH_MAX)
        p->glyph[p->glyph_count++] = c;
}

struct painter *painter_create(SDL_Renderer *to, struct err *e)
{
    const char *path = painter_font_path();
    struct painter *p;
    TTF_Font *font;

    if (!path) {
        err_set(e, "the font DejaVu Sans Mono is missing: install fonts-dejavu-core, or name a "
                   "monospaced .ttf in SYSTOLE_FONT");
        return NULL;
    }
    if (!TTF_WasInit() && TTF_Init()) {
        err_set(e, "SDL_ttf does not start: %s", TTF_GetError());
        return NULL;
    }
    font = TTF_OpenFont(path, 13);
    if (!font) {
        err_set(e, "the font %s cannot be read: %s", path, TTF_GetError());
        return NULL;
    }
    TTF_CloseFont(font);
    p = mem_alloc(sizeof(*p));
    p->to = to;
    p->font_path = path;
    list_glyphs(p);
    return p;
}

static void drop_atlases(struct painter *p)
{
    while (p->atlas_count)
        SDL_DestroyTexture(p->atlas[--p->atlas_count].texture);
}

void painter_destroy(struct painter *p)
{
    if (!p)
        return;
    drop_atlases(p);
    mem_free(p);
}

/* white on nothing; the colour comes with each use */
static SDL_Surface *draw_glyphs(const struct painter *p, int pixels)
{
    int w = font_char_width(pixels), h = font_line_height(pixels);
    SDL_Surface *all = SDL_CreateRGBSurfaceWithFormat(0, 16 * w, (GLYPH_MAX / 16) * h, 32,
                                                      SDL_PIXELFORMAT_ARGB8888);
    TTF_Font *font = TTF_OpenFont(p->font_path, pixels);
    SDL_Color white = {255, 255, 255, 255};

    for (int i = 0; all && font && i < p->glyph_count; i++) {
        SDL_Surface *one = TTF_RenderGlyph32_Blended(font, p->glyph[i], white);
        SDL_Rect place = {i % 16 * w, i / 16 * h, w, h};
        SDL_Rect part = {0, 0, w, h};

        if (!one)
            continue;
        SDL_SetSurfaceBlendMode(one, SDL_BLENDMODE_NONE);
        SDL_BlitSurface(one, &part, all, &place);
        SDL_FreeSurface(one);
    }
    if (font)
        TTF_CloseFont(font);
    return all;
}

static SDL_Texture *atlas_of(struct painter *p, int pixels)
{
    SDL_Surface *glyphs;
    struct atlas *a;

    for (int i = 0; i < p->atlas_count; i++)
        if (p->atlas[i].pixels == pixels)
            return p->atlas[i].texture;
    if (p->atlas_count == ATLAS_MAX)
        drop_atlases(p);
    a = &p->atlas[p->atlas_count++];
    glyphs = draw_glyphs(p, pixels);
    a->pixels = pixels;
    a->texture = glyphs ? SDL_CreateTextureFromSurface(p->to, glyphs) : NULL;
    SDL_FreeSurface(glyphs);
    if (a->texture)
        SDL_SetTextureBlendMode(a->texture, SDL_BLENDMODE_BLEND);
    return a->texture;
}

void painter_prepare(struct painter *p, int scale_percent)
{
    for (int size = 0; size < TEXT_SIZE_COUNT; size++)
        atlas_of(p, font_pixels((enum text_size)size, scale_percent));
}

static void set_color(struct painter *p, rgba_t c)
{
    SDL_SetRenderDrawBlendMode(p->to, (c & 0xff) == 0xff ? SDL_BLENDMODE_NONE
                                                         : SDL_BLENDMODE_BLEND);
    SDL_SetRenderDrawColor(p->to, (Uint8)(c >> 24), (Uint8)(c >> 16), (Uint8)(c >> 8), (Uint8)c);
}

static void flush(struct painter *p)
{
    if (!p->batch_count)
        return;
    set_color(p, p->batch_color);
    SDL_RenderFillRects(p->to, p->batch, p->batch_count);
    p->batch_count = 0;
}

static void add_rect(struct painter *p, struct rect r, rgba_t color)
{
    if (p->batch_count == BATCH || (p->batch_count && p->batch_color != color))
        flush(p);
    p->batch_color = color;
    p->batch[p->batch_count++] = (SDL_Rect){r.x, r.y, r.w, r.h};
}

static void paint_text(struct painter *p, const struct draw_command *c, int scale_percent)
{
    int pixels = font_pixels(c->size, scale_percent);
    int w = font_char_width(pixels), h = font_line_height(pixels), i;
    SDL_Texture *t = atlas_of(p, pixels);
    SDL_Rect to = {c->r.x, c->r.y, w, h};
    const char *text = c->text;
    uint32_t one;

    if (!t)
        return;
    SDL_SetTextureColorMod(t, (Uint8)(c->color >> 24), (Uint8)(c->color >> 16),
                           (Uint8)(c->color >> 8));
    SDL_SetTextureAlphaMod(t, (Uint8)c->color);
    for (; (one = font_next(&text)) != 0; to.x += w) {
        SDL_Rect from = {0, 0, w, h};

        if (one == ' ')
            continue;
        for (i = one < ASCII_END ? (int)one - ASCII_FIRST : ASCII_END - ASCII_FIRST;
             i >= 0 && i < p->glyph_count && p->glyph[i] != one; i++)
            ;
        if (i < 0 || i == p->glyph_count)
            i = p->unknown;
        from.x = i % 16 * w;
        from.y = i / 16 * h;
        SDL_RenderCopy(p->to, t, &from, &to);
    }
}

static SDL_Vertex vertex(double x, double y, rgba_t c)
{
    return (SDL_Vertex){.position = {(float)x, (float)y},
                        .color = {(Uint8)(c >> 24), (Uint8)(c >> 16), (Uint8)(c >> 8), (Uint8)c}};
}

static void paint_line(struct painter *p, const struct draw_command *c)
{
    static const int corners[] = {0, 1, 2, 1, 2, 3};
    double length = sqrt((double)c->r.w * c->r.w + (double)c->r.h * c->r.h);
    double ox = -c->r.h / length * c->line_width / 2, oy = c->r.w / length * c->line_width / 2;
    double x1 = c->r.x + 0.5, y1 = c->r.y + 0.5, x2 = x1 + c->r.w, y2 = y1 + c->r.h;
    SDL_Vertex v[4] = {vertex(x1 + ox, y1 + oy, c->color), vertex(x1 - ox, y1 - oy, c->color),
                       vertex(x2 + ox, y2 + oy, c->color), vertex(x2 - ox, y2 - oy, c->color)};

    if (c->line_width <= 1 || (!c->r.w && !c->r.h)) {
        set_color(p, c->color);
        SDL_RenderDrawLine(p->to, c->r.x, c->r.y, c->r.x + c->r.w, c->r.y + c->r.h);
        return;
    }
    SDL_SetRenderDrawBlendMode(p->to, SDL_BLENDMODE_BLEND);
    SDL_RenderGeometry(p->to, NULL, v, 4, corners, 6);
}

/* how much of pixel x, y (centre) lies in a circle: all, nothing, or the share along its edge */
static void paint_disc(struct painter *p, const struct draw_command *c)
{
    double radius = c->r.w / 2.0;

    for (int y = 0; y < c->r.h; y++) {
        double dy = y + 0.5 - radius;

        for (int x = 0; x < c->r.w; x++) {
            double dx = x + 0.5 - radius, share = radius - sqrt(dx * dx + dy * dy) + 0.5;
            rgba_t alpha = c->color & 0xff;

            if (share <= 0)
                continue;
            alpha = share >= 1 ? alpha : (rgba_t)(alpha * share);
            set_color(p, (c->color & ~0xffu) | alpha);
            SDL_RenderDrawPoint(p->to, c->r.x + x, c->r.y + y);
        }
    }
}

void painter_paint(struct painter *p, const struct draw_list *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct draw_command *c = &d->command[i];

        if (c->kind == DRAW_RECT) {
            add_rect(p, c->r, c->color);
            continue;
        }
        flush(p);
        if (c->kind == DRAW_LINE)
            paint_line(p, c);
        else if (c->kind == DRAW_DISC)
            paint_disc(p, c);
        else if (c->kind == DRAW_TEXT)
            paint_text(p, c, d->scale_percent);
        else
            SDL_RenderSetClipRect(p->to, &(SDL_Rect){c->r.x, c->r.y, c->r.w, c->r.h});
    }
    flush(p);
    SDL_RenderSetClipRect(p->to, NULL);
}
