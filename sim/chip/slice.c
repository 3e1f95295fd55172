/*
 * Finds the grid of chips behind a slice's name, and decides which axes close and which are
 * twisted.
 */
#include "sim/chip/chip.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "interconnect/net.h"
#include "sim/chip/slice_impl.h"

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
    char list[800], nearest[48];
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

bool slice_of_chip(struct slice *s, const char *chip_name, int index)
{
    struct slice_shape shapes[SLICE_MAX];
    const struct slice_shape *shape = shapes;
    char name[32];
    struct chip c;
    struct err e;
    int status = chip_load_builtin(&c, chip_name, NULL, NULL, &e);

    assert(status == 0);
    slice_shapes(&c, shapes);
    for (int i = 0; i < index && shape->size; i++)
        shape++;
    if (!shape->size)
        return false;
    snprintf(name, sizeof(name), "%s-%d", chip_name, shape->size);
    status = make_slice(s, name, chip_name, &c, shape, false, &e);
    assert(status == 0);                /* slices of chip files fit: slice_find_misfit */
    return true;
}

/* "v4-256" or "v4" without suffix */
static const struct slice_shape *find_size(const char *suffix, const struct slice_shape *shapes,
                                     const struct chip *c)
{
    int alone = c->chip_names_count_cores ? (int)c->chip_cores : 1;
    char number[16];

    for (const struct slice_shape *shape = shapes; shape->size; shape++) {
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

/* "v5litepod" becomes "v5e", whose slice.alias it is */
static void resolve_alias(char *chip_name, size_t bytes)
{
    const char *const *names;
    struct chip c;
    struct err e;
    size_t count;

    names = chip_names(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], chip_name) == 0)
            return;
    for (size_t i = 0; i < count; i++) {
        if (chip_load_builtin(&c, names[i], NULL, NULL, &e)
            || strcmp(c.slice_alias, chip_name) != 0)
            continue;
        snprintf(chip_name, bytes, "%s", names[i]);
        return;
    }
}

int slice_parse(struct slice *s, const char *name, struct err *e)
{
    char chip_name[16], suffix[32];
    struct slice_shape shapes[SLICE_MAX];
    const struct slice_shape *shape;
    struct slice_shape grid;
    struct chip c;
    size_t length = strcspn(name, "-");
    bool is_twisted;

    snprintf(suffix, sizeof(suffix), "%s", name + length);
    if (length >= sizeof(chip_name))
        length = sizeof(chip_name) - 1;
    snprintf(chip_name, sizeof(chip_name), "%.*s", (int)length, name);
    resolve_alias(chip_name, sizeof(chip_name));
    if (chip_load_builtin(&c, chip_name, NULL, NULL, e))
        return -1;
    slice_shapes(&c, shapes);
    is_twisted = cut_twisted(suffix);
    shape = find_size(suffix, shapes, &c);
    if (!shape && strchr(suffix, 'x')) {
        if (slice_find_grid(&grid, suffix + 1, name, chip_name, &c, e))
            return -1;
        shape = &grid;
    }
    if (!shape)
        return no_such_slice(e, name, suffix[0] ? suffix + 1 : suffix, chip_name, shapes);
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
