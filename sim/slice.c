#include "sim/chip.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/*
 * The slices of each chip, by the number in their name; 1 is one core of a
 * chip. v2 and v3: the sizes Cloud offers. A power of two makes a grid as
 * near to square as can be, the shorter side along x.
 */
static const struct {
    const char *chip_name;
    int sizes[12];                      /* ended by 0 */
} slices[] = {
    {"tiny", {1, 2, 4, 8, 16, 32}},
    {"v2", {1, 2, 8, 32, 128, 256, 512}},
    {"v3", {1, 2, 8, 32, 64, 128, 256, 512, 1024, 2048}},
};

static int no_such_slice(struct err *e, const char *name, const char *chip_name, const int *sizes)
{
    char list[256];
    size_t length = (size_t)snprintf(list, sizeof(list), "%s", chip_name);

    for (; *sizes; sizes++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, ", %s-%d", chip_name,
                                   *sizes);
    assert(length < sizeof(list));
    return err_set(e, "no slice \"%s\"; there are %s", name, list);
}

/* Chips along x and y: the split of a power of two, x <= y. */
static void lay_out(struct slice *s)
{
    s->dim[0] = s->dim[1] = s->dim[2] = 1;
    for (int side = 1; s->dim[0] * s->dim[1] < s->chip_count; side = !side)
        s->dim[side] *= 2;
    assert(s->dim[0] * s->dim[1] == s->chip_count);
}

int slice_fit(struct slice *s, const struct chip *c, struct err *e)
{
    if (s->core_count > 1 && s->chip_count * c->chip_cores != s->core_count)
        return err_set(e, "chip.cores = %" PRId64 " contradicts slice %s, whose %d chip%s %d cores "
                       "together", c->chip_cores, s->name, s->chip_count,
                       s->chip_count == 1 ? " has" : "s have", s->core_count);
    for (int i = 0; i < 3; i++)
        if (s->dim[i] > c->ici_max_axis)
            return err_set(e, "ici.max_axis = %" PRId64 " contradicts slice %s of %dx%dx%d chips",
                           c->ici_max_axis, s->name, s->dim[0], s->dim[1], s->dim[2]);
    for (int i = 0; i < 3; i++)
        s->is_ring[i] = s->dim[i] > 2 && s->dim[i] >= c->ici_wrap_min;
    return 0;
}

static void make_slice(struct slice *s, const char *name, const char *chip_name,
                       const struct chip *c, int size)
{
    int cores = (int)c->chip_cores, status;
    struct err e;

    memset(s, 0, sizeof(*s));
    snprintf(s->name, sizeof(s->name), "%s", name);
    snprintf(s->chip_name, sizeof(s->chip_name), "%s", chip_name);
    s->core_count = c->chip_names_count_cores ? size : size * cores;
    s->chip_count = (s->core_count + cores - 1) / cores;
    lay_out(s);
    status = slice_fit(s, c, &e);
    assert(status == 0);                /* the table's slices fit the chips as they are */
}

int slice_parse(struct slice *s, const char *name, struct err *e)
{
    char chip_name[16], candidate[32];
    struct chip c;
    size_t length = strcspn(name, "-");

    if (length >= sizeof(chip_name))
        length = sizeof(chip_name) - 1;
    snprintf(chip_name, sizeof(chip_name), "%.*s", (int)length, name);
    if (chip_load_builtin(&c, chip_name, NULL, NULL, e))
        return -1;
    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        if (strcmp(slices[i].chip_name, chip_name) != 0)
            continue;
        if (strcmp(name, chip_name) == 0) {
            make_slice(s, name, chip_name, &c, c.chip_names_count_cores ? (int)c.chip_cores : 1);
            return 0;
        }
        for (const int *size = slices[i].sizes; *size; size++) {
            snprintf(candidate, sizeof(candidate), "%s-%d", chip_name, *size);
            if (strcmp(candidate, name) == 0) {
                make_slice(s, name, chip_name, &c, *size);
                return 0;
            }
        }
        return no_such_slice(e, name, chip_name, slices[i].sizes);
    }
    assert(false && "a built-in chip without a row in the table of slices");
    return -1;
}

static const char *topology(const struct slice *s)
{
    int axes = 0, rings = 0;

    for (int i = 0; i < 3; i++) {
        axes += s->dim[i] > 1;
        rings += s->is_ring[i];
    }
    if (rings == 0)
        return "mesh";
    if (rings == axes)
        return "torus";
    return s->is_ring[0] ? "ring along x" : s->is_ring[1] ? "ring along y" : "ring along z";
}

char *slice_print(const struct slice *s, char *buf, size_t buf_bytes)
{
    const char *cores = s->core_count == 1 ? "core" : "cores";

    if (s->chip_count == 1)
        snprintf(buf, buf_bytes, "%s: 1 chip, %d %s", s->name, s->core_count, cores);
    else if (s->dim[2] == 1)
        snprintf(buf, buf_bytes, "%s: %dx%d chips, %d %s, %s", s->name, s->dim[0], s->dim[1],
                 s->core_count, cores, topology(s));
    else
        snprintf(buf, buf_bytes, "%s: %dx%dx%d chips, %d %s, %s", s->name, s->dim[0], s->dim[1],
                 s->dim[2], s->core_count, cores, topology(s));
    return buf;
}
