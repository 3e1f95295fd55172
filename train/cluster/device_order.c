/* Orders the cores of a box as a ring of neighbours where its sides allow one, else row by row. */
#include "train/cluster/device_order.h"

#include <assert.h>

struct path {
    int (*place)[TOPOLOGY_RANK];
    int count, cores;
};

static void add_chip(struct path *p, int x, int y, int z)
{
    for (int core = 0; core < p->cores; core++) {
        int *to = p->place[p->count++];

        to[TOPOLOGY_X] = x;
        to[TOPOLOGY_Y] = y;
        to[TOPOLOGY_Z] = z;
        to[TOPOLOGY_CORE] = core;
    }
}

/* ----- the ring of one plane: chip number k of it, 0 is the corner */

static bool plane_has_ring(int x, int y)
{
    return x * y <= 2 || (x > 1 && y > 1 && (x * y) % 2 == 0);
}

/* of `rows` rows, an even number, of `columns` */
static void ring_chip(int columns, int rows, int k, int *column, int *row)
{
    int inner = columns - 1, behind = k - columns;

    if (k < columns) {
        *column = k;
        *row = 0;
    } else if (behind < inner * (rows - 1)) {
        int turn = behind / inner, along = behind % inner;

        *row = 1 + turn;
        *column = turn % 2 == 0 ? inner - along : 1 + along;
    } else {
        *column = 0;
        *row = columns * rows - k;
    }
}

static void add_ring_chip(struct path *p, const int shape[TOPOLOGY_RANK], int k, int z)
{
    int columns = shape[TOPOLOGY_X], rows = shape[TOPOLOGY_Y], x, y;

    if (columns * rows <= 2)
        add_chip(p, columns == 2 ? k : 0, rows == 2 ? k : 0, z);
    else if (rows % 2 == 0) {
        ring_chip(columns, rows, k, &x, &y);
        add_chip(p, x, y, z);
    } else {
        ring_chip(rows, columns, k, &y, &x);
        add_chip(p, x, y, z);
    }
}

static void fill_ring(struct path *p, const int shape[TOPOLOGY_RANK])
{
    int chips = shape[TOPOLOGY_X] * shape[TOPOLOGY_Y], planes = shape[TOPOLOGY_Z];

    add_ring_chip(p, shape, 0, 0);
    for (int z = 0; z < planes; z++)
        for (int k = 1; k < chips; k++)
            add_ring_chip(p, shape, z % 2 == 0 ? k : chips - k, z);
    for (int z = planes - 1; z > 0; z--)
        add_ring_chip(p, shape, 0, z);
}

static bool has_ring(const int shape[TOPOLOGY_RANK])
{
    int chips = shape[TOPOLOGY_X] * shape[TOPOLOGY_Y];

    if (chips == 1)
        return shape[TOPOLOGY_Z] <= 2;
    return plane_has_ring(shape[TOPOLOGY_X], shape[TOPOLOGY_Y]);
}

int device_order_fill(int (*place)[TOPOLOGY_RANK], const int shape[TOPOLOGY_RANK],
                      enum device_order order, struct err *e)
{
    struct path p = {place, 0, shape[TOPOLOGY_CORE]};

    if (order == DEVICE_ORDER_RING && !has_ring(shape))
        return err_set(e, "no ring goes through %d x %d x %d chips: x times y must be even, and "
                       "neither 1 unless the other is at most 2",
                       shape[0], shape[1], shape[2]);
    if (order != DEVICE_ORDER_MESH && has_ring(shape)) {
        fill_ring(&p, shape);
    } else {
        for (int z = 0; z < shape[TOPOLOGY_Z]; z++)
            for (int y = 0; y < shape[TOPOLOGY_Y]; y++)
                for (int x = 0; x < shape[TOPOLOGY_X]; x++)
                    add_chip(&p, x, y, z);
    }
    assert(p.count == shape[0] * shape[1] * shape[2] * shape[3]);
    return 0;
}
