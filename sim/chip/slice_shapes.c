/*
 * The slices of a chip: slice.grids of its file. In chips whose slices are named by cores, 1 and
 * 2 are one core and one chip, which Cloud does not rent out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interconnect/net.h"
#include "sim/chip/slice_impl.h"

#define CHIPS_MAX (1 << 20)

bool slice_read_grid(const char *text, int dim[3])
{
    for (int axis = 0; axis < 3; axis++) {
        char *end;
        long value = strtol(text, &end, 10);

        if (*text < '1' || *text > '9' || value < 1 || value > NET_AXIS_MAX)
            return false;
        dim[axis] = (int)value;
        if (*end == '\0' || *end == ' ') {
            for (axis++; axis < 3; axis++)
                dim[axis] = 1;
            return true;
        }
        if (*end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

const char *slice_read_grids(const char *text, struct slice_shape shapes[SLICE_MAX], const char **word)
{
    int count = 0, chips = 0;

    for (*word = text; **word; *word += strspn(*word, " ")) {
        struct slice_shape *shape = &shapes[count];
        size_t length = strcspn(*word, " ");
        int64_t size;

        if (count == SLICE_MAX - 2)
            return "expected fewer grids";
        if (!memchr(*word, 'x', length) || !slice_read_grid(*word, shape->dim))
            return "expected grids of chips like 4x4 or 4x4x8";
        size = (int64_t)shape->dim[0] * shape->dim[1] * shape->dim[2];
        if (count == 0 && size != 1)
            return "expected one chip first, 1x1";
        if (size <= chips || size > CHIPS_MAX)
            return size > CHIPS_MAX ? "expected fewer chips" : "expected more chips than before";
        shape->size = chips = (int)size;
        count++;
        *word += length;
    }
    shapes[count] = (struct slice_shape){.size = 0};
    return count ? NULL : "expected grids of chips like 4x4 or 4x4x8";
}

void slice_shapes(const struct chip *c, struct slice_shape shapes[SLICE_MAX])
{
    const int cores = c->chip_names_count_cores ? (int)c->chip_cores : 1;
    const char *word;

    if (slice_read_grids(c->slice_grids, shapes, &word)) {      /* no chip of a file */
        shapes[0].size = 0;
        return;
    }
    for (struct slice_shape *shape = shapes; shape->size; shape++)
        shape->size *= cores;
    if (cores == 1)
        return;
    memmove(shapes + 1, shapes, (SLICE_MAX - 1) * sizeof(*shapes));
    shapes[0].size = 1;                 /* one core of shapes[1], which is one chip */
}

bool slice_find_misfit(const struct chip *c, char *word, size_t word_bytes, const char **reason)
{
    struct slice_shape shapes[SLICE_MAX];

    slice_shapes(c, shapes);
    for (const struct slice_shape *shape = shapes; shape->size; shape++) {
        snprintf(word, word_bytes, "%dx%dx%d", shape->dim[0], shape->dim[1], shape->dim[2]);
        *reason = "has chips along three axes, ici.dims is 2";
        if (shape->dim[2] > 1 && c->ici_dims < 3)
            return true;
        *reason = "has more chips along an axis than ici.max_axis";
        for (int i = 0; i < 3; i++)
            if (shape->dim[i] > c->ici_max_axis)
                return true;
    }
    return false;
}
