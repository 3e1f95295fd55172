/* Arithmetic of rectangles: intersections, insets, and strips cut from a side. */
#include "viz/draw/draw.h"

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

bool rect_has(struct rect r, int x, int y)
{
    return x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
}

struct rect rect_inset(struct rect r, int by)
{
    return (struct rect){r.x + by, r.y + by, most(r.w - 2 * by, 0), most(r.h - 2 * by, 0)};
}

struct rect rect_meet(struct rect a, struct rect b)
{
    int x = most(a.x, b.x), y = most(a.y, b.y);
    int right = least(a.x + a.w, b.x + b.w), bottom = least(a.y + a.h, b.y + b.h);

    return (struct rect){x, y, most(right - x, 0), most(bottom - y, 0)};
}

bool rect_is_seen(struct rect r)
{
    return r.w > 0 && r.h > 0;
}

bool rect_covers(struct rect a, struct rect b)
{
    return b.x >= a.x && b.y >= a.y && b.x + b.w <= a.x + a.w && b.y + b.h <= a.y + a.h;
}

struct rect rect_cut_top(struct rect *r, int size)
{
    struct rect strip = {r->x, r->y, r->w, most(least(size, r->h), 0)};

    r->y += strip.h;
    r->h -= strip.h;
    return strip;
}

struct rect rect_cut_bottom(struct rect *r, int size)
{
    struct rect strip = {r->x, r->y, r->w, most(least(size, r->h), 0)};

    r->h -= strip.h;
    strip.y += r->h;
    return strip;
}

struct rect rect_cut_left(struct rect *r, int size)
{
    struct rect strip = {r->x, r->y, most(least(size, r->w), 0), r->h};

    r->x += strip.w;
    r->w -= strip.w;
    return strip;
}

struct rect rect_cut_right(struct rect *r, int size)
{
    struct rect strip = {r->x, r->y, most(least(size, r->w), 0), r->h};

    r->w -= strip.w;
    strip.x += r->w;
    return strip;
}
