#include "tests/rigs/draw_rig.h"

#include <string.h>

#define EVERYWHERE ((struct rect){-(1 << 20), -(1 << 20), 1 << 21, 1 << 21})

static uint64_t mix(uint64_t hash, const void *from, size_t bytes)
{
    const unsigned char *p = from;

    while (bytes--)
        hash = (hash ^ *p++) * 0x100000001b3u;          /* FNV-1a */
    return hash;
}

uint64_t draw_rig_hash(const struct draw_list *d)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t i;

    for (i = 0; i < d->count; i++) {
        const struct draw_command *c = &d->command[i];
        int32_t number[7] = {(int32_t)c->kind, c->r.x, c->r.y, c->r.w, c->r.h, c->line_width,
                             (int32_t)c->size};

        hash = mix(hash, number, sizeof(number));
        hash = mix(hash, &c->color, sizeof(c->color));
        hash = mix(hash, c->text, strlen(c->text) + 1);
    }
    return hash;
}

/* something opaque between the texts hides what they share of the first */
static bool is_hidden(const struct draw_list *d, size_t first, size_t second, struct rect shared)
{
    struct rect clip = EVERYWHERE;
    size_t i;

    for (i = 0; i < second; i++) {
        const struct draw_command *c = &d->command[i];

        if (c->kind == DRAW_CLIP)
            clip = c->r;
        else if (i > first && c->kind == DRAW_RECT && (c->color & 0xff) == 0xff
                 && rect_covers(rect_meet(c->r, clip), shared))
            return true;
    }
    return false;
}

bool draw_rig_find_overlap(const struct draw_list *d, const struct draw_command **a,
                           const struct draw_command **b)
{
    struct { size_t index; struct rect shown; } *text = NULL;
    struct rect clip = EVERYWHERE;
    size_t count = 0, capacity = 0, i, j;
    bool found = false;

    for (i = 0; i < d->count && !found; i++) {
        const struct draw_command *c = &d->command[i];
        struct rect r = rect_meet(c->r, clip);

        if (c->kind == DRAW_CLIP)
            clip = c->r;
        if (c->kind != DRAW_TEXT || !rect_is_seen(r))
            continue;
        for (j = 0; j < count && !found; j++) {
            struct rect shared = rect_meet(r, text[j].shown);

            if (!rect_is_seen(shared) || is_hidden(d, text[j].index, i, shared))
                continue;
            *a = &d->command[text[j].index];
            *b = c;
            found = true;
        }
        text = mem_grow(text, &capacity, count + 1, sizeof(*text));
        text[count].index = i;
        text[count++].shown = r;
    }
    mem_free(text);
    return found;
}
