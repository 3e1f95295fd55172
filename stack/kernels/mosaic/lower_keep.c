/*
 * What is kept in VMEM, since values are pulled: whoever reads one computes it, with all that it is
 * made of. Three things would be computed over and over:
 *
 * - what is costly by itself (a logarithm, a sum along lanes) and is read again later;
 * - what is long in the making and is read again later: of a state that goes on from step to step of an
 *   unrolled loop, each step would compute all steps before it;
 * - a costly row that is spread over many row tiles: each of them would compute it.
 */
#include "stack/kernels/mosaic/lower_keep.h"

#include <limits.h>
#include <string.h>

#include "base/arena.h"
#include "stack/kernels/mosaic/tile.h"

enum {
    LONG_WORK = 16,                     /* operations on a tile: more than its way to VMEM and back */
    COSTLY_WORK = 6,
    MOVED_WORK = 3,                     /* through a cross-lane unit */
    SPREAD_ROWS = 4,                    /* row tiles that a row is spread over, at least */
    ROWS_KEPT = 16,                     /* of one loop */
};

static bool is_costly(const struct mosaic_op *op)
{
    switch (op->code) {
    case MOSAIC_EXP: case MOSAIC_EXP2: case MOSAIC_MATH_LOG: case MOSAIC_LOG2: case MOSAIC_LOG1P:
    case MOSAIC_DIVF: case MOSAIC_TANH: case MOSAIC_RSQRT: case MOSAIC_SQRT: case MOSAIC_ERF:
    case MOSAIC_SIN: case MOSAIC_COS: case MOSAIC_POWF: case MOSAIC_RECIPROCAL:
    case MOSAIC_MULTI_REDUCTION: case MOSAIC_MATMUL: case MOSAIC_REDUCE_INDEX:
    case MOSAIC_DYNAMIC_GATHER:
        return true;
    default: return false;
    }
}

/* it is computed by whoever reads it */
static bool is_pulled(const struct lower *l, const struct mosaic_value *v)
{
    return v->type.kind == MOSAIC_VECTOR && v->op && !l->place[v->id].is_there &&
           !root_is_waiting(l, v);
}

/* ----- the work of a value */

struct work {
    const struct lower *l;
    uint8_t *is_seen;                   /* by value */
    int work, most;
    bool is_costly;
};

static int work_of(const struct lower *l, const struct mosaic_op *op)
{
    if (is_costly(op))
        return COSTLY_WORK;
    switch (op->code) {
    case MOSAIC_CONSTANT: case MOSAIC_IOTA: case MOSAIC_BROADCAST: return 0;
    case MOSAIC_STRIDED_SLICE: case MOSAIC_ROTATE: case MOSAIC_GATHER: return MOVED_WORK;
    case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE: return tile_is_plain(l, op) ? 0 : MOVED_WORK;
    default: return 1;
    }
}

static void add_work(struct work *w, const struct mosaic_value *v)
{
    if (w->work >= w->most || w->is_seen[v->id] || !is_pulled(w->l, v))
        return;
    w->is_seen[v->id] = 1;
    w->work += work_of(w->l, v->op);
    w->is_costly |= is_costly(v->op);
    for (int i = 0; i < v->op->operand_count; i++)
        add_work(w, v->op->operand[i]);
}

/* of a tile, `most` or less */
static struct work work_under(const struct lower *l, const struct mosaic_value *v, int most)
{
    struct work w = {.l = l, .most = most,
                     .is_seen = mem_alloc((size_t)l->k->value_count + 1)};

    add_work(&w, v);
    mem_free(w.is_seen);
    w.is_seen = NULL;
    return w;
}

static bool is_long(const struct lower *l, const struct mosaic_value *v)
{
    return work_under(l, v, LONG_WORK).work >= LONG_WORK;
}

/* ----- what is read again later */

static bool is_read_again(const struct lower *l, const struct mosaic_value *v, bool local)
{
    return local && is_pulled(l, v) && l->last_use[v->id] > l->at;
}

static bool is_kept(struct walk *w, const struct mosaic_value *v, bool local)
{
    if (!is_read_again(w->l, v, local) ||
        !(is_costly(v->op) || (v->type.element != MOSAIC_I1 && is_long(w->l, v))))
        return false;
    *(const struct mosaic_value **)(uintptr_t)w->user = v;
    return true;
}

void keep_costly(struct lower *l)
{
    const struct mosaic_value *found = NULL;

    for (int i = 0; i < l->root_count && l->root_count < ROOTS_MAX; i++)
        while (l->root_count < ROOTS_MAX && value_find(l, l->root[i].value, is_kept, &found)) {
            struct root r = {.value = found, .to = root_place(l, found, false), .is_value = true};

            if (!root_go_together(l, &l->root[0], &r))
                break;
            memmove(&l->root[1], &l->root[0], (size_t)l->root_count * sizeof(r));
            l->root[0] = r;
            l->root_count++;
            i++;
        }
}

static bool is_long_again(struct walk *w, const struct mosaic_value *v, bool local)
{
    if (!is_read_again(w->l, v, local) || v->type.element == MOSAIC_I1 || !is_long(w->l, v))
        return false;
    *(const struct mosaic_value **)(uintptr_t)w->user = v;
    return true;
}

/* ----- rows that are spread */

struct rows { const struct mosaic_value *found[ROWS_KEPT]; int count; };

static bool is_there(const struct rows *r, const struct mosaic_value *v)
{
    for (int i = 0; i < r->count; i++)
        if (r->found[i] == v)
            return true;
    return false;
}

static bool has_product(struct walk *w, const struct mosaic_value *v, bool local)
{
    (void)local;
    return !w->l->place[v->id].is_there && v->op && v->op->code == MOSAIC_MATMUL;
}

static bool find_row(struct walk *w, const struct mosaic_value *v, bool local)
{
    struct rows *r = (struct rows *)(uintptr_t)w->user;
    const struct mosaic_value *row;

    (void)local;
    if (!is_pulled(w->l, v) || v->op->code != MOSAIC_BROADCAST)
        return false;
    row = v->op->operand[0];
    if (!is_pulled(w->l, row) || row->type.element == MOSAIC_I1 || is_there(r, row) ||
        tile_rows_down(w->l, row) != 1 || tile_row_count(w->l, row) != 1 ||
        tile_rows_down(w->l, v) < SPREAD_ROWS || !work_under(w->l, row, INT_MAX).is_costly ||
        value_find(w->l, row, has_product, NULL))
        return false;
    r->found[r->count++] = row;
    return r->count == ROWS_KEPT;
}

/* made now, for what waits to read it */
static void add_wanted(struct lower *l, const struct mosaic_value *v)
{
    l->root[l->root_count++] = (struct root){.value = v, .is_value = true, .is_wanted = true,
                                             .to = root_place(l, v, true)};
}

static int make_rows(struct lower *l, const struct rows *rows)
{
    for (int i = 0; i < rows->count; i++)
        add_wanted(l, rows->found[i]);
    return rows->count ? root_emit(l) : 0;
}

int keep_rows(struct lower *l)
{
    struct root waiting[ROOTS_MAX];
    struct rows rows = {.count = 0};
    int count = l->root_count, status;

    for (int i = 0; i < count; i++)
        if (value_find(l, l->root[i].value, find_row, &rows))
            break;
    if (!rows.count)
        return 0;
    memcpy(waiting, l->root, sizeof(waiting));
    l->root_count = 0;
    status = make_rows(l, &rows);
    memcpy(l->root, waiting, sizeof(waiting));
    l->root_count = count;
    return status;
}

int keep_under(struct lower *l, const struct mosaic_value *v)
{
    const struct mosaic_value *found = NULL;
    struct rows rows = {.count = 0};

    if (value_find(l, v, is_long_again, &found)) {
        add_wanted(l, found);
        if (root_flush(l))
            return -1;
    }
    value_find(l, v, find_row, &rows);
    return make_rows(l, &rows);
}
