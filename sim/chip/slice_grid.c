/*
 * Slices named by their topology, and the nearest of those that exist.
 *
 * Chips whose optical switches join cubes (ici.wrap_multiple above 1) make any
 * grid of whole cubes; all chips make the grids of slice.grids.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "interconnect/net.h"
#include "sim/chip/slice_impl.h"

static int64_t chips_of(const int dim[3])
{
    return (int64_t)dim[0] * dim[1] * dim[2];
}

static int64_t most_chips(const struct slice_shape *shapes)
{
    int64_t most = 0;

    for (; shapes->size; shapes++)
        most = later(most, chips_of(shapes->dim));
    return most;
}

static bool is_in_table(const int dim[3], const struct slice_shape *shapes)
{
    for (; shapes->size; shapes++)
        if (memcmp(shapes->dim, dim, sizeof(shapes->dim)) == 0)
            return true;
    return false;
}

static bool is_made_of_cubes(const int dim[3], const struct chip *c,
                             const struct slice_shape *shapes)
{
    for (int i = 0; i < 3; i++)
        if (dim[i] % c->ici_wrap_multiple != 0 || dim[i] > c->ici_max_axis)
            return false;
    return c->ici_wrap_multiple > 1 && dim[0] <= dim[1] && dim[1] <= dim[2]
           && chips_of(dim) <= most_chips(shapes);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* grids of as many chips along each axis are near, 4 and 8 as far apart as 8 and 16 */
static double distance(const int a[3], const int b[3])
{
    double sum = 0;

    for (int i = 0; i < 3; i++)
        sum += fabs(log2((double)a[i] / b[i]));
    return sum;
}

static void round_to_cubes(int dim[3], const struct chip *c)
{
    int cube = (int)c->ici_wrap_multiple, most = (int)c->ici_max_axis / cube * cube;

    for (int i = 0; i < 3; i++) {
        dim[i] = (dim[i] + cube / 2) / cube * cube;
        dim[i] = dim[i] < cube ? cube : dim[i] > most ? most : dim[i];
    }
}

static void find_nearest(const int wanted[3], const struct chip *c,
                         const struct slice_shape *shapes, int nearest[3])
{
    int sorted[3], cubes[3];

    memcpy(sorted, wanted, sizeof(sorted));
    if (c->ici_dims == 3)
        qsort(sorted, 3, sizeof(*sorted), ascending);
    memcpy(cubes, sorted, sizeof(cubes));
    round_to_cubes(cubes, c);
    memcpy(nearest, shapes->dim, sizeof(shapes->dim));
    if (is_made_of_cubes(cubes, c, shapes))
        memcpy(nearest, cubes, sizeof(cubes));
    for (; shapes->size; shapes++)
        if (distance(shapes->dim, sorted) < distance(nearest, sorted))
            memcpy(nearest, shapes->dim, sizeof(shapes->dim));
}

static size_t print_dim(const int dim[3], const struct chip *c, char *buf, size_t buf_bytes)
{
    const struct slice s = {.dims = (int)c->ici_dims, .dim = {dim[0], dim[1], dim[2]}};

    return strlen(slice_print_grid(&s, buf, buf_bytes));
}

/* "1x1, 2x2, 4x4"; of chips that make grids of cubes, the others and then what cubes make */
static void print_possible(const struct chip *c, const struct slice_shape *shapes, char *buf,
                           size_t buf_bytes)
{
    const struct slice_shape *before = NULL, *first = shapes;
    size_t length = 0;

    for (; shapes->size; before = shapes++) {
        if (is_made_of_cubes(shapes->dim, c, first)
            || (before && memcmp(before->dim, shapes->dim, sizeof(shapes->dim)) == 0))
            continue;
        length += (size_t)snprintf(buf + length, buf_bytes - length, "%s", length ? ", " : "");
        length += print_dim(shapes->dim, c, buf + length, buf_bytes - length);
    }
    if (c->ici_wrap_multiple > 1)
        snprintf(buf + length, buf_bytes - length, ", and AxBxC of multiples of %" PRId64
                 " up to %" PRId64 ", A <= B <= C, of at most %" PRId64 " chips",
                 c->ici_wrap_multiple, c->ici_max_axis, most_chips(first));
}

int slice_find_grid(struct slice_shape *out, const char *grid, const char *name,
                    const char *chip_name, const struct chip *c, struct err *e)
{
    struct slice_shape shapes[SLICE_MAX];
    int nearest[3];
    char text[48], possible[512];

    slice_shapes(c, shapes);
    if (!slice_read_grid(grid, out->dim))
        return err_set(e, "no slice \"%s\"; a topology is written %s-%s", name, chip_name,
                       c->ici_dims == 2 ? "4x4" : "4x4x8");
    if (!is_in_table(out->dim, shapes) && !is_made_of_cubes(out->dim, c, shapes)) {
        find_nearest(out->dim, c, shapes, nearest);
        print_dim(nearest, c, text, sizeof(text));
        print_possible(c, shapes, possible, sizeof(possible));
        return err_set(e, "no slice \"%s\" (nearest: %s-%s); %s has %s", name, chip_name, text,
                       chip_name, possible);
    }
    out->size = (int)(chips_of(out->dim) * (c->chip_names_count_cores ? c->chip_cores : 1));
    return 0;
}

char *slice_print_nearest_twisted(const struct slice *s, const struct chip *c, char *buf,
                                  size_t buf_bytes)
{
    struct slice_shape shapes[SLICE_MAX];
    double best = INFINITY;

    buf[0] = '\0';
    slice_shapes(c, shapes);
    for (const struct slice_shape *shape = shapes; shape->size; shape++) {
        struct slice other = *s;

        memcpy(other.dim, shape->dim, sizeof(other.dim));
        if (!slice_can_twist(&other, c) || distance(other.dim, s->dim) >= best)
            continue;
        best = distance(other.dim, s->dim);
        snprintf(buf, buf_bytes, " (nearest: %s-%d_twisted)", s->chip_name, shape->size);
    }
    return buf;
}
