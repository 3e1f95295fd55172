/*
 * Digits drawn by the program: strokes through points, bent, slanted, shifted,
 * with a pen of random width and a noisy background. Only +, -, *, / and sqrt
 * are used, so that the pixels are the same on every host.
 */
#include "data/images.h"

#include "base/rng.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

#define SIDE 28
#define POINT_MAX 10
#define STROKE_MAX 3
#define PIECES 5                        /* straight pieces between two points of a stroke */
#define FAR 1e9f

/* The pen goes smoothly through these points: x, y in percent of the glyph's box, y downwards. */
struct stroke {
    int point_count;
    float point[POINT_MAX][2];
};

struct glyph {
    int digit, stroke_count;
    struct stroke stroke[STROKE_MAX];
};

static const struct glyph glyphs[] = {
    {0, 1, {{9, {{50, 0}, {18, 12}, {4, 45}, {14, 84}, {48, 100}, {84, 86}, {96, 50}, {82, 12},
                 {50, 0}}}}},
    {0, 1, {{7, {{60, 2}, {22, 20}, {12, 66}, {42, 98}, {80, 76}, {86, 26}, {54, 0}}}}},
    {1, 1, {{2, {{52, 0}, {50, 100}}}}},
    {1, 2, {{3, {{24, 24}, {40, 14}, {54, 0}}}, {2, {{54, 0}, {52, 100}}}}},
    {2, 2, {{7, {{8, 24}, {28, 4}, {62, 0}, {88, 20}, {78, 48}, {40, 76}, {6, 98}}},
            {2, {{6, 98}, {96, 97}}}}},
    {2, 1, {{9, {{12, 18}, {46, 0}, {84, 18}, {66, 54}, {26, 88}, {10, 92}, {26, 82}, {56, 94},
                 {98, 92}}}}},
    {3, 2, {{5, {{8, 14}, {42, 0}, {82, 16}, {74, 40}, {36, 48}}},
            {5, {{36, 48}, {80, 56}, {90, 80}, {50, 100}, {4, 86}}}}},
    {3, 3, {{2, {{10, 2}, {88, 2}}}, {2, {{88, 2}, {40, 40}}},
            {6, {{40, 40}, {78, 46}, {92, 70}, {74, 94}, {40, 100}, {6, 88}}}}},
    {4, 3, {{2, {{66, 0}, {4, 66}}}, {2, {{4, 66}, {98, 66}}}, {2, {{68, 2}, {68, 100}}}}},
    {4, 2, {{4, {{14, 0}, {8, 50}, {40, 58}, {86, 50}}}, {3, {{88, 0}, {84, 50}, {80, 100}}}}},
    {5, 3, {{2, {{88, 2}, {22, 2}}}, {2, {{22, 2}, {14, 44}}},
            {6, {{14, 44}, {52, 36}, {90, 56}, {86, 86}, {50, 100}, {6, 88}}}}},
    {5, 2, {{6, {{26, 4}, {20, 42}, {58, 44}, {84, 66}, {64, 96}, {10, 94}}},
            {2, {{26, 4}, {92, 0}}}}},
    {6, 1, {{9, {{74, 0}, {36, 20}, {10, 58}, {20, 92}, {56, 100}, {88, 82}, {78, 54}, {42, 50},
                 {14, 70}}}}},
    {6, 1, {{8, {{46, 0}, {16, 38}, {12, 80}, {44, 100}, {80, 84}, {76, 58}, {44, 54},
                 {16, 72}}}}},
    {7, 2, {{2, {{4, 3}, {94, 3}}}, {3, {{94, 3}, {60, 46}, {34, 100}}}}},
    {7, 3, {{2, {{10, 5}, {90, 2}}}, {3, {{90, 2}, {64, 48}, {50, 100}}},
            {2, {{34, 50}, {84, 48}}}}},
    {8, 2, {{7, {{50, 0}, {16, 12}, {24, 38}, {74, 56}, {88, 82}, {52, 100}, {34, 98}}},
            {7, {{34, 98}, {8, 82}, {24, 56}, {72, 38}, {86, 16}, {62, 0}, {50, 0}}}}},
    {8, 2, {{7, {{50, 0}, {16, 20}, {34, 44}, {66, 44}, {84, 20}, {62, 2}, {50, 0}}},
            {7, {{50, 45}, {14, 66}, {24, 96}, {74, 97}, {88, 68}, {64, 47}, {50, 45}}}}},
    {9, 1, {{9, {{86, 30}, {62, 46}, {22, 44}, {12, 16}, {44, 0}, {78, 8}, {88, 34}, {82, 70},
                 {60, 100}}}}},
    {9, 2, {{6, {{84, 22}, {50, 2}, {16, 18}, {26, 46}, {64, 46}, {84, 22}}},
            {3, {{84, 22}, {80, 60}, {74, 100}}}}},
};

/* Where a drawing puts the glyph's box, and what pen it uses. */
struct hand {
    float xx, xy, yx, yy, x0, y0;       /* pixel = matrix x (percent - 50) + centre */
    float radius, edge;                 /* of the pen, in pixels; width of its soft rim */
    float ink, wobble;                  /* 0..1; how far points stray, in percent */
};

static void take_hand(struct hand *h, struct rng *r)
{
    float width = rng_uniform(r, 11.0f, 15.0f) / 100.0f;
    float height = rng_uniform(r, 17.0f, 20.5f) / 100.0f;
    float slant = rng_uniform(r, -0.3f, 0.2f);
    float half = rng_uniform(r, -0.1f, 0.1f);         /* tangent of half the angle */
    float cosine = (1.0f - half * half) / (1.0f + half * half);
    float sine = 2.0f * half / (1.0f + half * half);

    h->xx = cosine * width;
    h->yx = sine * width;
    h->xy = (cosine * slant - sine) * height;
    h->yy = (sine * slant + cosine) * height;
    h->x0 = 13.5f + rng_uniform(r, -1.75f, 1.75f);
    h->y0 = 13.5f + rng_uniform(r, -1.75f, 1.75f);
    h->radius = rng_uniform(r, 0.55f, 1.7f);
    h->edge = rng_uniform(r, 0.8f, 1.6f);
    h->ink = rng_uniform(r, 0.65f, 1.0f);
    h->wobble = 5.0f;
}

static int clamp_pixel(float x)
{
    return x < 0.0f ? 0 : x > (float)(SIDE - 1) ? SIDE - 1 : (int)x;
}

/* Lowers every pixel's squared distance to the pen's path by the piece from a to b. */
static void draw_piece(float *distance2, const float *a, const float *b, float reach)
{
    float dx = b[0] - a[0], dy = b[1] - a[1];
    float length2 = dx * dx + dy * dy;
    int x_first = clamp_pixel((a[0] < b[0] ? a[0] : b[0]) - reach);
    int x_last = clamp_pixel((a[0] < b[0] ? b[0] : a[0]) + reach + 1.0f);
    int y_first = clamp_pixel((a[1] < b[1] ? a[1] : b[1]) - reach);
    int y_last = clamp_pixel((a[1] < b[1] ? b[1] : a[1]) + reach + 1.0f);

    for (int y = y_first; y <= y_last; y++)
        for (int x = x_first; x <= x_last; x++) {
            float px = (float)x - a[0], py = (float)y - a[1];
            float along = length2 > 0.0f ? (px * dx + py * dy) / length2 : 0.0f;
            float d2;

            along = along < 0.0f ? 0.0f : along > 1.0f ? 1.0f : along;
            px -= along * dx;
            py -= along * dy;
            d2 = px * px + py * py;
            if (d2 < distance2[y * SIDE + x])
                distance2[y * SIDE + x] = d2;
        }
}

/* A Catmull-Rom curve through the points, its ends doubled. */
static void draw_stroke(float *distance2, const struct stroke *s, const struct hand *h,
                        struct rng *r)
{
    float p[POINT_MAX][2], last[2], reach = h->radius + h->edge;

    for (int i = 0; i < s->point_count; i++) {
        float x = s->point[i][0] - 50.0f + rng_uniform(r, -h->wobble, h->wobble);
        float y = s->point[i][1] - 50.0f + rng_uniform(r, -h->wobble, h->wobble);

        p[i][0] = h->xx * x + h->xy * y + h->x0;
        p[i][1] = h->yx * x + h->yy * y + h->y0;
    }
    memcpy(last, p[0], sizeof(last));
    for (int i = 0; i + 1 < s->point_count; i++) {
        const float *before = p[i > 0 ? i - 1 : 0];
        const float *after = p[i + 2 < s->point_count ? i + 2 : i + 1];

        for (int k = 1; k <= PIECES; k++) {
            float t = (float)k / (float)PIECES, next[2];

            for (int c = 0; c < 2; c++) {
                float a = p[i][c], b = p[i + 1][c];
                float from = 0.5f * (b - before[c]), to = 0.5f * (after[c] - a);

                next[c] = a + t * (from + t * (3.0f * (b - a) - 2.0f * from - to +
                                               t * (2.0f * (a - b) + from + to)));
            }
            draw_piece(distance2, last, next, reach);
            memcpy(last, next, sizeof(last));
        }
    }
}

static void draw_digit(uint8_t *pixel, const struct glyph *g, struct rng *r)
{
    float distance2[SIDE * SIDE], noise = rng_uniform(r, 0.0f, 0.12f);
    struct hand h;

    take_hand(&h, r);
    for (int i = 0; i < SIDE * SIDE; i++)
        distance2[i] = FAR;
    for (int i = 0; i < g->stroke_count; i++)
        draw_stroke(distance2, &g->stroke[i], &h, r);
    for (int i = 0; i < SIDE * SIDE; i++) {
        float value = distance2[i] < FAR ? 0.5f + (h.radius - sqrtf(distance2[i])) / h.edge : 0.0f;

        value = h.ink * (value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value);
        value += noise * rng_uniform(r, -1.0f, 1.0f);
        pixel[i] = (uint8_t)(value < 0.0f ? 0.0f : value > 1.0f ? 255.0f : 255.0f * value);
    }
}

/* Classes take turns; order does not matter, since epochs are shuffled. */
static void make_set(struct image_set *d, int64_t count, struct rng *r, struct arena *a)
{
    int glyph_count = (int)COUNT_OF(glyphs);

    *d = (struct image_set){.count = count, .elems = SIDE * SIDE, .rows = SIDE, .columns = SIDE,
                          .classes = 10};
    d->pixel = arena_array(a, (size_t)count, (size_t)d->elems);
    d->label = arena_array(a, (size_t)count, 1);
    for (int64_t i = 0; i < count; i++) {
        int digit = (int)(i % d->classes), glyph;

        do
            glyph = (int)rng_below(r, (uint32_t)glyph_count);
        while (glyphs[glyph].digit != digit);
        draw_digit(d->pixel + i * d->elems, &glyphs[glyph], r);
        d->label[i] = (uint8_t)digit;
    }
}

void data_make_digits(struct image_set *train, struct image_set *test, int64_t train_count,
                      int64_t test_count, uint64_t seed, struct arena *a)
{
    struct rng r;

    rng_init(&r, seed);
    make_set(train, train_count, &r, a);
    make_set(test, test_count, &r, a);
}
