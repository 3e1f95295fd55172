/*
 * Walks a grid of chips to and fro so that neighbours in the ring are neighbours in the network (a
 * Hamiltonian cycle where there is one).
 */
#include "stack/collective/ring.h"

#include <assert.h>
#include <stdbool.h>

/*
 * The grid as two paths, each of neighbours: along its first long axis, and to
 * and fro over the others. `axis` holds the axes, the long ones first.
 */
struct grid {
    const struct slice *slice;
    int axis[3];
    int long_steps, wide_steps;         /* chips along the two paths */
};

static void init_grid(struct grid *g, const struct slice *slice)
{
    int used = 0;

    g->slice = slice;
    for (int want_long = 1; want_long >= 0; want_long--)
        for (int d = 0; d < 3; d++)
            if ((slice->dim[d] > 1) == want_long)
                g->axis[used++] = d;
    g->long_steps = slice->dim[g->axis[0]];
    g->wide_steps = slice->dim[g->axis[1]] * slice->dim[g->axis[2]];
}

/* The chip at step `l` of the long path and step `w` of the wide one. */
static int chip_at(const struct grid *g, int l, int w)
{
    const int *dim = g->slice->dim;
    int inner = dim[g->axis[1]];
    int position[3];

    position[g->axis[0]] = l;
    position[g->axis[1]] = w / inner % 2 ? inner - 1 - w % inner : w % inner;
    position[g->axis[2]] = w / inner;
    return position[0] + dim[0] * (position[1] + dim[1] * position[2]);
}

/*
 * To and fro over a `rows` x `columns` grid of steps. With an even number of
 * rows, column 0 is kept for the way back, which closes the ring.
 */
static void walk(const struct grid *g, int rows, int columns, bool rows_are_wide, int *chip)
{
    int first = rows % 2 == 0 && columns > 1 && rows > 1;
    int count = 0;

    for (int row = 0; row < rows; row++) {
        int begin = row == 0 ? 0 : first;

        for (int i = begin; i < columns; i++) {
            int column = row % 2 ? columns - 1 - (i - begin) : i;

            chip[count++] = rows_are_wide ? chip_at(g, column, row) : chip_at(g, row, column);
        }
    }
    if (first)
        for (int row = rows - 1; row > 0; row--)
            chip[count++] = rows_are_wide ? chip_at(g, 0, row) : chip_at(g, row, 0);
    assert(count == rows * columns);
}

void ring_order(const struct slice *slice, int *core)
{
    int per_chip = slice->core_count / slice->chip_count;
    struct grid g;

    init_grid(&g, slice);
    if (g.long_steps % 2 == 0 && g.wide_steps % 2 == 1 && g.wide_steps > 1)
        walk(&g, g.long_steps, g.wide_steps, false, core);
    else
        walk(&g, g.wide_steps, g.long_steps, true, core);

    /* core[0..chip_count) holds chips: spread them from the end */
    for (int i = slice->chip_count - 1; i >= 0; i--) {
        int chip = core[i];

        for (int j = per_chip - 1; j >= 0; j--)
            core[i * per_chip + j] = chip * per_chip + j;
    }
}
