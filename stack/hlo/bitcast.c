/* Compares two layouts as lists of strided dimensions, joined where one continues another. */
#include "stack/hlo/bitcast.h"

#include "stack/hlo/array.h"

/*
 * Counting elements in row-major order, an array is a list of strided dimensions,
 * minor first: each has a size and says how many bytes one step of it moves. Those
 * whose steps continue the one before are one with it. A dimension that does not
 * fill its tiles is of its own kind, as its steps are uneven.
 */
enum strided_dim_kind { EVEN, UNEVEN_LANES, UNEVEN_ROWS };

struct strided_dim {
    enum strided_dim_kind kind;
    int64_t size, step_bytes;
};

struct strided_dims {
    int count;
    struct strided_dim dim[GRAPH_RANK_MAX + 4];
};

static void add(struct strided_dims *d, enum strided_dim_kind kind, int64_t size,
                int64_t step_bytes)
{
    struct strided_dim *last = d->count ? &d->dim[d->count - 1] : NULL;

    if (size == 1)
        return;
    if (last && kind == EVEN && last->kind == EVEN && last->size * last->step_bytes == step_bytes)
        last->size *= size;
    else
        d->dim[d->count++] = (struct strided_dim){kind, size, step_bytes};
}

static void add_lanes(struct strided_dims *d, int64_t lanes)
{
    if (lanes <= ARRAY_LANES) {
        add(d, EVEN, lanes, 4);
    } else if (lanes % ARRAY_LANES == 0) {
        add(d, EVEN, ARRAY_LANES, 4);
        add(d, EVEN, lanes / ARRAY_LANES, ARRAY_TILE_BYTES);
    } else {
        add(d, UNEVEN_LANES, lanes, 4);
    }
}

static void add_rows(struct strided_dims *d, const struct array *a)
{
    int pack = 4 / a->element_bytes;
    int64_t tile_row_bytes = a->tiles_across * ARRAY_TILE_BYTES;

    if (a->rows > a->tile_rows && a->rows % a->tile_rows != 0) {
        add(d, UNEVEN_ROWS, a->rows, tile_row_bytes);
        return;
    }
    if (a->rows <= pack) {
        add(d, EVEN, a->rows, a->element_bytes);
    } else if (a->rows % pack == 0) {
        add(d, EVEN, pack, a->element_bytes);
        add(d, EVEN, (a->rows < a->tile_rows ? a->rows : a->tile_rows) / pack, ARRAY_ROW_BYTES);
    } else {
        add(d, UNEVEN_ROWS, a->rows, ARRAY_ROW_BYTES);
    }
    add(d, EVEN, a->rows < a->tile_rows ? 1 : a->rows / a->tile_rows, tile_row_bytes);
}

/* element i in row i / 128, lane i % 128 of one column of tiles */
static void add_linear(struct strided_dims *d, struct array *a)
{
    int64_t elems = shape_elems(&a->shape);

    add_lanes(d, elems < ARRAY_LANES ? elems : ARRAY_LANES);
    if (elems <= ARRAY_LANES)
        return;
    if (elems % ARRAY_LANES != 0)
        add(d, UNEVEN_ROWS, elems, 0);
    else
        add_rows(d, a);
}

static struct strided_dims strided_dims_of(const struct shape *s)
{
    struct strided_dims d = {0};
    struct array a;

    array_init(&a, "", s, NULL);
    if (a.is_linear) {
        add_linear(&d, &a);
        return d;
    }
    add_lanes(&d, a.lanes);
    add_rows(&d, &a);
    for (int i = a.outer_count - 1; i >= 0; i--)
        add(&d, EVEN, s->dim[a.outer_dim[i]], array_outer_stride(&a, a.outer_dim[i])
                                              * ARRAY_TILE_BYTES);
    return d;
}

bool array_is_bitcast(const struct shape *from, const struct shape *to)
{
    struct strided_dims a = strided_dims_of(from), b = strided_dims_of(to);

    if (from->dtype != to->dtype || a.count != b.count)
        return false;
    for (int i = 0; i < a.count; i++)
        if (a.dim[i].kind != b.dim[i].kind || a.dim[i].size != b.dim[i].size ||
            a.dim[i].step_bytes != b.dim[i].step_bytes)
            return false;
    return true;
}
