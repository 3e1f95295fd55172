#include "sim/chip/chip.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "interconnect/net.h"
#include "sim/chip/slice_impl.h"

/*
 * The slices of each chip: the number in the name and the grid of chips. v2 and
 * v3: the sizes Cloud offers, as near to square as can be; v4 to v7x: the sizes
 * and topologies of Cloud's tables, with the whole pods of v4 and v5p. 1 and 2
 * of the chips whose names count cores are one core and one chip, which Cloud
 * does not rent out.
 */
#define SLICE_MAX 24
static const struct {
    const char *chip_name;
    struct slice_shape shapes[SLICE_MAX]; /* ended by size 0 */
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

/* " (nearest: v3-8)" where a number was asked for */
static void print_nearest(const char *suffix, const char *chip_name,
                          const struct slice_shape *shapes, char *buf, size_t buf_bytes)
{
    int64_t size = 0, best = INT64_MAX;

    buf[0] = '\0';
    if (text_parse_int(suffix, 1, INT32_MAX, &size))
        return;
    for (; shapes->size; shapes++) {
        int64_t away = shapes->size > size ? shapes->size - size : size - shapes->size;

        if (away < best)
            snprintf(buf, buf_bytes, " (nearest: %s-%d)", chip_name, shapes->size);
        best = away < best ? away : best;
    }
}

static int no_such_slice(struct err *e, const char *name, const char *suffix,
                         const char *chip_name, const struct slice_shape *shapes)
{
    char list[384], nearest[48];
    size_t length = (size_t)snprintf(list, sizeof(list), "%s", chip_name);

    print_nearest(suffix, chip_name, shapes, nearest, sizeof(nearest));
    for (; shapes->size; shapes++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, ", %s-%d", chip_name,
                                   shapes->size);
    assert(length < sizeof(list));
    return err_set(e, "no slice \"%s\"%s; there are %s", name, nearest, list);
}

static bool is_made_of_wrap_units(const struct slice *s, const struct chip *c)
{
    for (int i = 0; i < 3; i++)
        if (s->dim[i] % c->ici_wrap_multiple)
            return false;
    return true;
}

static bool closes(const struct slice *s, const struct chip *c, int axis)
{
    return s->dim[axis] > 2 && s->dim[axis] >= c->ici_wrap_min && is_made_of_wrap_units(s, c);
}

bool slice_can_twist(const struct slice *s, const struct chip *c)
{
    return c->ici_dims == 3 && net_can_twist(s->dim) && closes(s, c, 0) && closes(s, c, 1)
           && closes(s, c, 2);
}

/* short axes no longer lead back to where they began */
static int twist(struct slice *s, const struct chip *c, struct err *e)
{
    char nearest[64];

    if (c->ici_dims < 3)
        return err_set(e, "no slice \"%s\": there are none of %s, whose chips do not make tori of "
                       "three axes", s->name, s->chip_name);
    if (!slice_can_twist(s, c))
        return err_set(e, "no slice \"%s\"%s: twisted are grids of k x k x 2k and k x 2k x 2k "
                       "chips all of whose axes close", s->name,
                       slice_print_nearest_twisted(s, c, nearest, sizeof(nearest)));
    for (int i = 0; i < 3; i++)
        s->is_ring[i] = s->dim[i] > s->dim[0];
    return 0;
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
                           c->ici_max_axis, s->name, slice_print_grid(s, grid, sizeof(grid)));
    for (int i = 0; i < 3; i++)
        s->is_ring[i] = closes(s, c, i);
    return s->is_twisted ? twist(s, c, e) : 0;
}

static int make_slice(struct slice *s, const char *name, const char *chip_name,
                      const struct chip *c, const struct slice_shape *shape, bool is_twisted,
                      struct err *e)
{
    struct slice new = {.is_twisted = is_twisted};
    int cores = (int)c->chip_cores;

    snprintf(new.name, sizeof(new.name), "%s", name);
    snprintf(new.chip_name, sizeof(new.chip_name), "%s", chip_name);
    memcpy(new.dim, shape->dim, sizeof(new.dim));
    new.core_count = c->chip_names_count_cores ? shape->size : shape->size * cores;
    new.chip_count = new.dim[0] * new.dim[1] * new.dim[2];
    assert(new.chip_count == (new.core_count + cores - 1) / cores);
    if (slice_fit(&new, c, e))
        return -1;
    *s = new;
    return 0;
}

const struct slice_shape *slice_shapes(const char *chip_name)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++)
        if (strcmp(slices[i].chip_name, chip_name) == 0)
            return slices[i].shapes;
    assert(false && "a built-in chip without a row in the table of slices");
    return NULL;
}

bool slice_of_chip(struct slice *s, const char *chip_name, int index)
{
    const struct slice_shape *shape = slice_shapes(chip_name);
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
    status = make_slice(s, name, chip_name, &c, shape, false, &e);
    assert(status == 0);                /* the table's slices fit the chips as they are */
    return true;
}

/* "v4-256" or "v4" without suffix */
static const struct slice_shape *find_size(const char *suffix, const char *chip_name,
                                           const struct chip *c)
{
    int alone = c->chip_names_count_cores ? (int)c->chip_cores : 1;
    char number[16];

    for (const struct slice_shape *shape = slice_shapes(chip_name); shape->size; shape++) {
        snprintf(number, sizeof(number), "-%d", shape->size);
        if (strcmp(suffix, number) == 0 || (suffix[0] == '\0' && shape->size == alone))
            return shape;
    }
    return NULL;
}

/* what stands before "_twisted", if that is its end */
static bool cut_twisted(char *suffix)
{
    static const char twisted[] = "_twisted";
    size_t length = strlen(suffix), end = sizeof(twisted) - 1;

    if (length < end || strcmp(suffix + length - end, twisted) != 0)
        return false;
    suffix[length - end] = '\0';
    return true;
}

int slice_parse(struct slice *s, const char *name, struct err *e)
{
    char chip_name[16], suffix[32];
    const struct slice_shape *shape;
    struct slice_shape grid;
    struct chip c;
    size_t length = strcspn(name, "-");
    bool is_twisted;

    snprintf(suffix, sizeof(suffix), "%s", name + length);
    if (length >= sizeof(chip_name))
        length = sizeof(chip_name) - 1;
    snprintf(chip_name, sizeof(chip_name), "%.*s", (int)length, name);
    if (strcmp(chip_name, "v5litepod") == 0)
        snprintf(chip_name, sizeof(chip_name), "v5e");
    if (chip_load_builtin(&c, chip_name, NULL, NULL, e))
        return -1;
    is_twisted = cut_twisted(suffix);
    shape = find_size(suffix, chip_name, &c);
    if (!shape && strchr(suffix, 'x')) {
        if (slice_find_grid(&grid, suffix + 1, name, chip_name, &c, e))
            return -1;
        shape = &grid;
    }
    if (!shape)
        return no_such_slice(e, name, suffix[0] ? suffix + 1 : suffix, chip_name,
                             slice_shapes(chip_name));
    return make_slice(s, name, chip_name, &c, shape, is_twisted, e);
}

struct net_config slice_net_config(const struct slice *s, const struct chip *c)
{
    struct net_config config = {
        .link_gbps = c->ici_link_gbps, .packet_bytes = (int)c->ici_packet_bytes,
        .packet_overhead_bytes = (int)c->ici_packet_overhead_bytes,
        .flit_bytes = (int)c->ici_flit_bytes, .hop_ps = c->ici_hop_ns * PS_PER_NS,
        .routing = net_find_routing(c->ici_routing), .is_twisted = s->is_twisted};

    for (int i = 0; i < NET_DIM_MAX; i++) {
        config.dim[i] = s->dim[i];
        config.is_ring[i] = s->is_ring[i];
    }
    return config;
}
