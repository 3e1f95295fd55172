#include "sim/chip.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/*
 * The slices of each chip: the number in the name and the grid of chips. v2 and
 * v3: the sizes Cloud offers, as near to square as can be; v4 to v7x: the sizes
 * and topologies of Cloud's tables, with the whole pods of v4 and v5p. 1 and 2
 * of the chips whose names count cores are one core and one chip, which Cloud
 * does not rent out.
 */
#define SLICE_MAX 24
struct shape {
    int size, dim[3];
};
static const struct {
    const char *chip_name;
    struct shape shapes[SLICE_MAX];     /* ended by size 0 */
} slices[] = {
    {"tiny", {{1, {1, 1, 1}}, {2, {1, 1, 1}}, {4, {1, 2, 1}}, {8, {2, 2, 1}}, {16, {2, 4, 1}},
              {32, {4, 4, 1}}}},
    {"v2", {{1, {1, 1, 1}}, {2, {1, 1, 1}}, {8, {2, 2, 1}}, {32, {4, 4, 1}}, {128, {8, 8, 1}},
            {256, {8, 16, 1}}, {512, {16, 16, 1}}}},
    {"v3", {{1, {1, 1, 1}}, {2, {1, 1, 1}}, {8, {2, 2, 1}}, {32, {4, 4, 1}}, {64, {4, 8, 1}},
            {128, {8, 8, 1}}, {256, {8, 16, 1}}, {512, {16, 16, 1}}, {1024, {16, 32, 1}},
            {2048, {32, 32, 1}}}},
    {"v4", {{1, {1, 1, 1}}, {2, {1, 1, 1}}, {8, {2, 2, 1}}, {16, {2, 2, 2}}, {32, {2, 2, 4}},
            {64, {2, 4, 4}}, {128, {4, 4, 4}}, {256, {4, 4, 8}}, {384, {4, 4, 12}},
            {512, {4, 8, 8}}, {768, {4, 8, 12}}, {1024, {8, 8, 8}}, {1536, {8, 8, 12}},
            {2048, {8, 8, 16}}, {3072, {8, 12, 16}}, {4096, {8, 16, 16}}, {6144, {12, 16, 16}},
            {8192, {16, 16, 16}}}},
    {"v5e", {{1, {1, 1, 1}}, {4, {2, 2, 1}}, {8, {2, 4, 1}}, {16, {4, 4, 1}}, {32, {4, 8, 1}},
             {64, {8, 8, 1}}, {128, {8, 16, 1}}, {256, {16, 16, 1}}}},
    {"v5p", {{1, {1, 1, 1}}, {2, {1, 1, 1}}, {8, {2, 2, 1}}, {16, {2, 2, 2}}, {32, {2, 2, 4}},
             {64, {2, 4, 4}}, {128, {4, 4, 4}}, {256, {4, 4, 8}}, {384, {4, 4, 12}},
             {512, {4, 8, 8}}, {768, {4, 8, 12}}, {1024, {8, 8, 8}}, {1536, {8, 8, 12}},
             {2048, {8, 8, 16}}, {3072, {8, 12, 16}}, {4096, {8, 16, 16}}, {6144, {12, 16, 16}},
             {8192, {16, 16, 16}}, {12288, {16, 16, 24}}, {17920, {16, 20, 28}}}},
    {"v6e", {{1, {1, 1, 1}}, {4, {2, 2, 1}}, {8, {2, 4, 1}}, {16, {4, 4, 1}}, {32, {4, 8, 1}},
             {64, {8, 8, 1}}, {128, {8, 16, 1}}, {256, {16, 16, 1}}}},
    {"v7x", {{1, {1, 1, 1}}, {4, {2, 2, 1}}, {8, {2, 2, 2}}, {16, {2, 2, 4}}, {32, {2, 4, 4}},
             {64, {4, 4, 4}}, {128, {4, 4, 8}}, {256, {4, 8, 8}}, {512, {8, 8, 8}},
             {1024, {8, 8, 16}}, {2048, {8, 16, 16}}, {4096, {16, 16, 16}},
             {9216, {16, 24, 24}}}},
};

static int no_such_slice(struct err *e, const char *name, const char *chip_name,
                         const struct shape *shapes)
{
    char list[384];
    size_t length = (size_t)snprintf(list, sizeof(list), "%s", chip_name);

    for (; shapes->size; shapes++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, ", %s-%d", chip_name,
                                   shapes->size);
    assert(length < sizeof(list));
    return err_set(e, "no slice \"%s\"; there are %s", name, list);
}

/* "4x4", "2x2x1" where the chip's grid has three axes */
static char *print_grid(const struct slice *s, char *buf, size_t buf_bytes)
{
    if (s->dims == 2)
        snprintf(buf, buf_bytes, "%dx%d", s->dim[0], s->dim[1]);
    else
        snprintf(buf, buf_bytes, "%dx%dx%d", s->dim[0], s->dim[1], s->dim[2]);
    return buf;
}

static bool is_made_of_wrap_units(const struct slice *s, const struct chip *c)
{
    for (int i = 0; i < 3; i++)
        if (s->dim[i] % c->ici_wrap_multiple)
            return false;
    return true;
}

int slice_fit(struct slice *s, const struct chip *c, struct err *e)
{
    char grid[48];

    if (s->core_count > 1 && s->chip_count * c->chip_cores != s->core_count)
        return err_set(e, "chip.cores = %" PRId64 " contradicts slice %s, whose %d chip%s %d cores "
                       "together", c->chip_cores, s->name, s->chip_count,
                       s->chip_count == 1 ? " has" : "s have", s->core_count);
    if (s->dim[2] > 1 && c->ici_dims < 3)
        return err_set(e, "ici.dims = %" PRId64 " contradicts slice %s of %dx%dx%d chips",
                       c->ici_dims, s->name, s->dim[0], s->dim[1], s->dim[2]);
    s->dims = (int)c->ici_dims;
    for (int i = 0; i < 3; i++)
        if (s->dim[i] > c->ici_max_axis)
            return err_set(e, "ici.max_axis = %" PRId64 " contradicts slice %s of %s chips",
                           c->ici_max_axis, s->name, print_grid(s, grid, sizeof(grid)));
    for (int i = 0; i < 3; i++)
        s->is_ring[i] = s->dim[i] > 2 && s->dim[i] >= c->ici_wrap_min &&
                        is_made_of_wrap_units(s, c);
    return 0;
}

static void make_slice(struct slice *s, const char *name, const char *chip_name,
                       const struct chip *c, const struct shape *shape)
{
    int cores = (int)c->chip_cores, status;
    struct err e;

    memset(s, 0, sizeof(*s));
    snprintf(s->name, sizeof(s->name), "%s", name);
    snprintf(s->chip_name, sizeof(s->chip_name), "%s", chip_name);
    memcpy(s->dim, shape->dim, sizeof(s->dim));
    s->core_count = c->chip_names_count_cores ? shape->size : shape->size * cores;
    s->chip_count = s->dim[0] * s->dim[1] * s->dim[2];
    assert(s->chip_count == (s->core_count + cores - 1) / cores);
    status = slice_fit(s, c, &e);
    assert(status == 0);                /* the table's slices fit the chips as they are */
}

static const struct shape *shapes_of(const char *chip_name)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++)
        if (strcmp(slices[i].chip_name, chip_name) == 0)
            return slices[i].shapes;
    assert(false && "a built-in chip without a row in the table of slices");
    return NULL;
}

bool slice_of_chip(struct slice *s, const char *chip_name, int index)
{
    const struct shape *shape = shapes_of(chip_name);
    char name[32];
    struct chip c;
    struct err e;
    int status;

    for (int i = 0; i < index && shape->size; i++)
        shape++;
    if (!shape->size)
        return false;
    status = chip_load_builtin(&c, chip_name, NULL, NULL, &e);
    assert(status == 0);
    snprintf(name, sizeof(name), "%s-%d", chip_name, shape->size);
    make_slice(s, name, chip_name, &c, shape);
    return true;
}

int slice_parse(struct slice *s, const char *name, struct err *e)
{
    char chip_name[16], suffix[16];
    struct chip c;
    size_t length = strcspn(name, "-");
    int alone;

    if (length >= sizeof(chip_name))
        length = sizeof(chip_name) - 1;
    snprintf(chip_name, sizeof(chip_name), "%.*s", (int)length, name);
    if (strcmp(chip_name, "v5litepod") == 0)
        snprintf(chip_name, sizeof(chip_name), "v5e");
    if (chip_load_builtin(&c, chip_name, NULL, NULL, e))
        return -1;
    alone = c.chip_names_count_cores ? (int)c.chip_cores : 1;
    for (const struct shape *shape = shapes_of(chip_name); shape->size; shape++) {
        snprintf(suffix, sizeof(suffix), "-%d", shape->size);
        if (strcmp(name + length, suffix) == 0 ||
            (name[length] == '\0' && shape->size == alone)) {
            make_slice(s, name, chip_name, &c, shape);
            return 0;
        }
    }
    return no_such_slice(e, name, chip_name, shapes_of(chip_name));
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
    if (rings == 0)
        return "mesh";
    if (rings == axes)
        return "torus";
    return names[s->is_ring[0] + 2 * s->is_ring[1] + 4 * s->is_ring[2]];
}

char *slice_print(const struct slice *s, char *buf, size_t buf_bytes)
{
    const char *cores = s->core_count == 1 ? "core" : "cores";
    char grid[48];

    if (s->chip_count == 1)
        snprintf(buf, buf_bytes, "%s: 1 chip, %d %s", s->name, s->core_count, cores);
    else
        snprintf(buf, buf_bytes, "%s: %s chips, %d %s, %s", s->name,
                 print_grid(s, grid, sizeof(grid)), s->core_count, cores, topology(s));
    return buf;
}
