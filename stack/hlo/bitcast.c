#include "stack/hlo/bitcast.h"

#include "stack/hlo/array.h"

/*
 * Counting elements in row-major order, an array is a number of digits, minor
 * first: each has a size and says how many bytes one step of it moves. Digits
 * whose steps continue the one before are one digit. A dimension that does not
 * fill its tiles is a digit of its own kind, as its steps are uneven.
 */
enum digit_kind { EVEN, UNEVEN_LANES, UNEVEN_ROWS };

struct digit {
    enum digit_kind kind;
    int64_t size, step_bytes;
};

struct digits {
    int count;
    struct digit digit[GRAPH_RANK_MAX + 4];
};

static void add(struct digits *d, enum digit_kind kind, int64_t size, int64_t step_bytes)
{
    struct digit *last = d->count ? &d->digit[d->count - 1] : NULL;

    if (size == 1)
        return;
    if (last && kind == EVEN && last->kind == EVEN && last->size * last->step_bytes == step_bytes)
        last->size *= size;
    else
        d->digit[d->count++] = (struct digit){kind, size, step_bytes};
}

static void add_lanes(struct digits *d, int64_t lanes)
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

static void add_rows(struct digits *d, const struct array *a)
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
static void add_linear(struct digits *d, struct array *a)
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

static struct digits digits_of(const struct shape *s)
{
    struct digits d = {0};
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
    struct digits a = digits_of(from), b = digits_of(to);

    if (from->dtype != to->dtype || a.count != b.count)
        return false;
    for (int i = 0; i < a.count; i++)
        if (a.digit[i].kind != b.digit[i].kind || a.digit[i].size != b.digit[i].size ||
            a.digit[i].step_bytes != b.digit[i].step_bytes)
            return false;
    return true;
}
