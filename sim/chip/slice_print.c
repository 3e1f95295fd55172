/* Prints a slice: its grid, its cores, and the axes that close. */
#include <stdio.h>
#include <string.h>

#include "interconnect/net.h"
#include "sim/chip/slice_impl.h"

char *slice_print_grid(const struct slice *s, char *buf, size_t buf_bytes)
{
    if (s->dims == 2)
        snprintf(buf, buf_bytes, "%dx%d", s->dim[0], s->dim[1]);
    else
        snprintf(buf, buf_bytes, "%dx%dx%d", s->dim[0], s->dim[1], s->dim[2]);
    return buf;
}

static const char *topology(const struct slice *s)
{
    static const char *const names[8] = {       /* bit 0: x closes, 1: y, 2: z */
        "mesh", "ring along x", "ring along y", "rings along x and y", "ring along z",
        "rings along x and z", "rings along y and z", "torus",
    };
    int axes = 0, rings = 0;

    for (int i = 0; i < 3; i++) {
        axes += s->dim[i] > 1;
        rings += s->is_ring[i];
    }
    if (s->is_twisted)
        return "twisted torus";
    if (rings == 0)
        return "mesh";
    if (rings == axes)
        return "torus";
    return names[s->is_ring[0] + 2 * s->is_ring[1] + 4 * s->is_ring[2]];
}

struct slice_text slice_print(const struct slice *s)
{
    const char *cores = s->core_count == 1 ? "core" : "cores";
    struct slice_text to;
    char grid[48];

    if (s->chip_count == 1)
        snprintf(to.text, sizeof(to.text), "%s: 1 chip, %d %s", s->name, s->core_count, cores);
    else
        snprintf(to.text, sizeof(to.text), "%s: %s chips, %d %s, %s", s->name,
                 slice_print_grid(s, grid, sizeof(grid)), s->core_count, cores, topology(s));
    return to;
}

/* "x", "x and y", "x, y and z" of the axes for which is_in holds; returns how many */
static int print_axes(const bool is_in[3], char *buf, size_t buf_bytes)
{
    int count = is_in[0] + is_in[1] + is_in[2], told = 0;
    size_t length = 0;

    buf[0] = '\0';
    for (int i = 0; i < 3; i++)
        if (is_in[i])
            length += (size_t)snprintf(buf + length, buf_bytes - length, "%s%c",
                                       told++ == 0 ? "" : told == count ? " and " : ", ",
                                       'x' + i);
    return count;
}

char *slice_print_closing(const struct slice *s, char *buf, size_t buf_bytes)
{
    bool is_short[3];
    char rings[16], others[16];
    int count = print_axes(s->is_ring, rings, sizeof(rings));

    if (!s->is_twisted) {
        if (count == 0)
            snprintf(buf, buf_bytes, "no axis closes");
        else
            snprintf(buf, buf_bytes, "%s close%s to %s", rings, count == 1 ? "s" : "",
                     count == 1 ? "a ring" : "rings");
        return buf;
    }
    for (int i = 0; i < 3; i++)
        is_short[i] = !s->is_ring[i];
    snprintf(buf, buf_bytes, "%s close%s %d chips further along %s; %s close%s to %s",
             others, print_axes(is_short, others, sizeof(others)) == 1 ? "s" : "", s->dim[0],
             rings, rings, count == 1 ? "s" : "", count == 1 ? "a ring" : "rings");
    return buf;
}
