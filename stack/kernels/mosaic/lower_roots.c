/*
 * Roots: what makes tiles of vectors be computed. Roots over the same rows wait for each other and
 * become one loop, whose iterations the back end overlaps.
 *
 * A load stands for its memory until somebody writes there: before a store, a copy, a region, values
 * that are read later and come out of that memory are roots themselves (root_save). Two roots are in
 * one loop where neither writes what the other reads, but for the same tile in the same iteration.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/lower_keep.h"
#include "stack/kernels/mosaic/product.h"

#define TREE_MAX 4096                   /* values that a root is made of */

/* ----- what a value is made of */

static bool begins_at_zero(const struct mosaic_op *op)
{
    const struct mosaic_attr *offsets = mosaic_attr(op, "offsets");

    for (int d = 0; offsets && d < offsets->count; d++)
        if (offsets->ints[d])
            return false;
    return true;
}

/*
 * Rows of the result are made of the same rows of the operands; and, where `by_tile`, each of its tiles
 * of their tiles at the same lanes.
 */
static bool is_local(const struct lower *l, const struct mosaic_op *op, bool by_tile)
{
    switch (op->code) {
    case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE: return tile_is_plain(l, op);
    case MOSAIC_STRIDED_SLICE:
        return tile_is_plain(l, op) && (!by_tile || begins_at_zero(op)) &&
               (op->result[0]->type.rank < 2 ||
                op->result[0]->type.dim[op->result[0]->type.rank - 2] ==
                    op->operand[0]->type.dim[op->operand[0]->type.rank - 2]);
    case MOSAIC_CONCATENATE:
        return !by_tile && tile_is_plain(l, op) &&
               mosaic_int(op, "dimension", 0) == op->result[0]->type.rank - 1;
    case MOSAIC_REPEAT: case MOSAIC_ROTATE: case MOSAIC_DYNAMIC_ROTATE: case MOSAIC_GATHER:
    case MOSAIC_DYNAMIC_GATHER: case MOSAIC_EXTRACT: case MOSAIC_STRIDED_LOAD:
        return false;
    case MOSAIC_MULTI_REDUCTION: return tile_outer_reduced(op) < 0;
    default: return true;
    }
}

/* every value of memory under v, and those that are pulled; true: `visit` has found what it wants */
static bool walk(struct walk *w, const struct mosaic_value *v, bool local)
{
    uint8_t seen = local && !w->is_once ? 1 : 2;

    if (v->type.kind != MOSAIC_VECTOR || w->is_seen[v->id] & (seen | 2) || w->count++ > TREE_MAX)
        return false;
    w->is_seen[v->id] |= seen;
    if (w->visit(w, v, local))
        return true;
    if (w->l->place[v->id].is_there || !v->op)
        return false;
    for (int i = 0; i < v->op->operand_count; i++) {
        const struct mosaic_value *o = v->op->operand[i];
        bool is_weights = v->op->code == MOSAIC_MATMUL && i == 1;
        bool same_rows = o->type.kind != MOSAIC_VECTOR ||
                         (!is_weights && tile_rows_down(w->l, o) == tile_rows_down(w->l, v));

        if (walk(w, o, local && same_rows && is_local(w->l, v->op, w->by_tile)))
            return true;
    }
    return false;
}

bool value_find(struct lower *l, const struct mosaic_value *v, walk_visit *visit, const void *user)
{
    struct walk w = {.l = l, .visit = visit, .user = user,
                     .is_seen = mem_alloc((size_t)l->k->value_count + 1)};
    bool found = walk(&w, v, true);

    mem_free(w.is_seen);
    return found;
}

static bool is_of_buffer(struct walk *w, const struct mosaic_value *v, bool local)
{
    const struct place *p = &w->l->place[v->id];
    int buffer = *(const int *)w->user;

    (void)local;
    return p->is_there && p->buffer >= 0 && (buffer < 0 || p->buffer == buffer);
}

static bool is_of_region(struct walk *w, const struct mosaic_value *v, bool local)
{
    const struct place *p = &w->l->place[v->id];

    (void)local;
    return p->is_there && p->region == *(const int *)w->user;
}

bool value_reads(struct lower *l, const struct mosaic_value *v, int region)
{
    return value_find(l, v, is_of_region, &region);
}

bool root_same_place(const struct place *a, const struct place *b)
{
    return a->base == b->base && a->has_offset == b->has_offset &&
           (!a->has_offset || (a->offset.is_known == b->offset.is_known &&
                               a->offset.value == b->offset.value &&
                               a->offset.smem == b->offset.smem)) &&
           a->t.row_step == b->t.row_step && a->t.lane_step == b->t.lane_step &&
           a->t.rows == b->t.rows && a->sublane == b->sublane && a->lane == b->lane &&
           a->stride == b->stride && a->has_late_row == b->has_late_row &&
           (!a->has_late_row || a->late_row.smem == b->late_row.smem) &&
           a->has_late_lane == b->has_late_lane &&
           (!a->has_late_lane || a->late_lane.smem == b->late_lane.smem);
}

/* read here and written there, not tile by tile */
static bool collides(struct walk *w, const struct mosaic_value *v, bool local)
{
    const struct place *p = &w->l->place[v->id], *to = w->user;

    return p->is_there && p->region == to->region && !(local && root_same_place(p, to));
}

/* a place that the value is made of, at other rows or lanes than those that go there */
bool value_moves_within(struct lower *l, const struct mosaic_value *v, const struct place *to)
{
    struct walk w = {.l = l, .visit = collides, .by_tile = true, .user = to,
                     .is_seen = mem_alloc((size_t)l->k->value_count + 1)};
    bool found = walk(&w, v, true);

    mem_free(w.is_seen);
    return found;
}

/* ----- products that a loop multiplies */

static bool add_units(struct walk *w, const struct mosaic_value *v, bool local)
{
    const struct pulled *p = w->l->place[v->id].is_there ? NULL : w->l->pulled[v->id];

    (void)local;
    if (p)
        *(int *)(uintptr_t)w->user += pulled_units(w->l->chip, &p->p);
    return false;
}

int root_units(struct lower *l, const struct mosaic_value *v, bool with_roots)
{
    int units = 0;
    struct walk w = {.l = l, .visit = add_units, .user = &units, .is_once = true,
                     .is_seen = mem_alloc((size_t)l->k->value_count + 1)};

    walk(&w, v, true);
    for (int i = 0; with_roots && i < l->root_count; i++)
        walk(&w, l->root[i].value, true);
    mem_free(w.is_seen);
    return units;
}

static bool is_pulled_product(struct walk *w, const struct mosaic_value *v, bool local)
{
    (void)local;
    if (w->l->place[v->id].is_there || !w->l->pulled[v->id])
        return false;
    *(const struct mosaic_value **)(uintptr_t)w->user = v;
    return true;
}

int root_settle_products(struct lower *l, const struct mosaic_value *v)
{
    const struct mosaic_value *product;
    struct place p;

    while (value_find(l, v, is_pulled_product, &product))
        if (root_materialize(l, product, &p))
            return -1;
    return 0;
}

struct inner { const struct mosaic_value *around, *found; };

static bool is_inner_product(struct walk *w, const struct mosaic_value *v, bool local)
{
    struct inner *i = (struct inner *)(uintptr_t)w->user;

    (void)local;
    if (v == i->around || w->l->place[v->id].is_there || !w->l->pulled[v->id])
        return false;
    i->found = v;
    return true;
}

/* A value of more products than the units hold weights for: some of them stand in memory first. */
static int settle_surplus(struct lower *l, const struct mosaic_value *v)
{
    struct inner i = {.around = v};
    struct place ignored;

    while (root_units(l, v, false) > l->chip->mxu_count && value_find(l, v, is_inner_product, &i))
        if (root_materialize(l, i.found, &ignored))
            return -1;
    return 0;
}

/* ----- adding roots */

bool root_go_together(struct lower *l, const struct root *a, const struct root *b)
{
    if (tile_rows_down(l, a->value) != tile_rows_down(l, b->value) ||
        tile_down(l, a->value) != tile_down(l, b->value))
        return false;
    if (a->to.region == b->to.region && !root_same_place(&a->to, &b->to))
        return false;
    return !value_find(l, b->value, collides, &a->to) && !value_find(l, a->value, collides, &b->to) &&
           !(b->mask && value_find(l, b->mask, collides, &a->to));
}

int root_add(struct lower *l, const struct root *r)
{
    bool fits;

    if (settle_surplus(l, r->value))
        return -1;
    fits = l->root_count < ROOTS_MAX;
    for (int i = 0; i < l->root_count && fits; i++)
        fits = root_go_together(l, &l->root[i], r);
    fits = fits && root_units(l, r->value, true) <= l->chip->mxu_count;
    if (!fits && root_flush(l))
        return -1;
    l->root[l->root_count++] = *r;
    same_note_write(l, r->to.region);
    return 0;
}

bool root_is_waiting(const struct lower *l, const struct mosaic_value *v)
{
    for (int i = 0; i < l->root_count; i++)
        if (l->root[i].value == v && l->root[i].is_value)
            return true;
    return false;
}

/* products read bf16 of every f32 operand: a value that only they will read is kept so */
static bool is_for_products(const struct mosaic_value *v, const struct lower *l)
{
    return v->type.element == MOSAIC_F32 && l->read_whole[v->id] < l->at;
}

/* the value stands in every lane of its row; its rows are dimension `row_dim`, or there is one */
static struct place place_for_rows(struct lower *l, const struct mosaic_type *t, int row_dim,
                                   const struct mosaic_op *op)
{
    struct mosaic_type with_lanes = *t;
    struct place p;
    int at = 0;

    for (int d = 0; d < t->rank; d++)
        if (d != row_dim)
            with_lanes.dim[at++] = t->dim[d];
    if (row_dim >= 0)
        with_lanes.dim[at++] = t->dim[row_dim];
    with_lanes.dim[at++] = 1;
    with_lanes.rank = at;
    p = place_new(l, &with_lanes, op, "a vector");
    for (int d = t->rank - 1, from = at - (row_dim >= 0 ? 3 : 2); d >= 0; d--) {
        p.t.dim[d] = t->dim[d];
        if (d != row_dim)
            p.t.outer_step[d] = from == at - 2 ? 0 : p.t.outer_step[from];
        from -= d != row_dim;
    }
    p.t.rank = t->rank;
    p.t.row_dim = row_dim;
    p.t.lane_dim = -1;
    p.is_spread = true;
    return p;
}

struct place root_place(struct lower *l, const struct mosaic_value *v, bool is_whole)
{
    struct mosaic_type t = v->type;
    struct tile_layout layout = tile_layout_of(l, v);
    struct place p;

    pallas_take_for(l, v);
    if (!is_whole && is_for_products(v, l))
        t.element = MOSAIC_BF16;
    if (layout.lane_dim < 0 && t.rank < MOSAIC_RANK_MAX) {
        p = place_for_rows(l, &t, layout.row_dim, v->op);
        pallas_take_for(l, NULL);
        return p;
    }
    p = place_new(l, &t, v->op, "a vector");
    pallas_take_for(l, NULL);
    p.is_spread = place_is_column(&p);
    return p;
}

static int save(struct lower *l, const struct mosaic_value *v)
{
    if (root_is_waiting(l, v))
        return 0;
    return root_add(l, &(struct root){.value = v, .to = root_place(l, v, false), .is_value = true});
}

int root_save(struct lower *l, int buffer)
{
    for (int i = 0; i < l->live_count; i++) {
        const struct mosaic_value *v = l->live[i];

        if (l->last_use[v->id] <= l->at) {
            l->live[i--] = l->live[--l->live_count];
            continue;
        }
        if (value_find(l, v, is_of_buffer, &buffer) && save(l, v))
            return -1;
    }
    return 0;
}

static bool is_the_one(struct walk *w, const struct mosaic_value *v, bool local)
{
    (void)local;
    return v == w->user;
}

int root_save_over(struct lower *l, const struct mosaic_value *v)
{
    for (int i = 0; i < l->live_count; i++) {
        const struct mosaic_value *w = l->live[i];

        if (w != v && l->last_use[w->id] > l->at && !l->place[w->id].is_there &&
            value_find(l, w, is_the_one, v) && save(l, w))
            return -1;
    }
    return 0;
}

static bool reads_buffer(struct lower *l, int buffer)
{
    for (int i = 0; i < l->root_count; i++)
        if (value_find(l, l->root[i].value, is_of_buffer, &buffer))
            return true;
    for (int i = 0; i < l->live_count; i++)
        if (l->last_use[l->live[i]->id] > l->at && value_find(l, l->live[i], is_of_buffer, &buffer))
            return true;
    return false;
}

static bool is_zeros(const struct mosaic_value *v)
{
    return mosaic_is_zero(v->op && v->op->code == MOSAIC_BROADCAST ? v->op->operand[0] : v);
}

bool root_take_zeros(struct lower *l, const struct place *to, struct root *zeros)
{
    for (int i = 0; i < l->root_count; i++) {
        const struct root *r = &l->root[i];

        if (r->op && !r->mask && !r->adds && r->to.region == to->region && root_same_place(&r->to, to) &&
            r->to.t.dim[0] == to->t.dim[0] && r->to.t.dim[1] == to->t.dim[1] &&
            is_zeros(r->value) && !reads_buffer(l, to->buffer)) {
            *zeros = *r;
            memmove(&l->root[i], &l->root[i + 1],
                    (size_t)(l->root_count - i - 1) * sizeof(*l->root));
            l->root_count--;
            return true;
        }
    }
    return false;
}

/*
 * The value of another shape in the same memory: its rows and lanes are rows and lanes there. Where a
 * reshape leaves them out, as [n, 1, 128] made [n, 128] does, each of its rows is a tile of its own.
 */
static bool is_same_memory(const struct place *from, const struct mosaic_type *type, struct place *to)
{
    return place_reshape(from, type, to) && (from->t.row_dim < 0 || to->t.row_dim >= 0) &&
           (from->t.lane_dim < 0 || to->t.lane_dim >= 0);
}

bool root_is_settled(struct lower *l, const struct mosaic_value *v, struct place *p)
{
    if (v->op && (v->op->code == MOSAIC_SHAPE_CAST || v->op->code == MOSAIC_TPU_RESHAPE) &&
        !l->place[v->id].is_there) {
        struct place from;

        if (!root_is_settled(l, v->op->operand[0], &from) || !is_same_memory(&from, &v->type, p))
            return false;
        l->place[v->id] = *p;
        return true;
    }
    if (!l->place[v->id].is_there || root_is_waiting(l, v) || !place_is_plain(&l->place[v->id]))
        return false;
    for (int i = 0; i < l->root_count; i++)
        if (l->root[i].to.region == l->place[v->id].region)
            return false;
    *p = l->place[v->id];
    return true;
}

int root_keep(struct lower *l, const struct mosaic_value *v)
{
    if (save(l, v))
        return -1;
    for (int i = 0; i < l->root_count; i++)
        l->root[i].is_wanted |= l->root[i].value == v;
    return 0;
}

int root_own(struct lower *l, const struct mosaic_value *v)
{
    return root_keep(l, v) || root_flush(l) ? -1 : 0;
}

int root_materialize(struct lower *l, const struct mosaic_value *v, struct place *p)
{
    if (l->place[v->id].is_there && !root_is_waiting(l, v) && place_is_plain(&l->place[v->id])) {
        if (root_flush(l))
            return -1;
        *p = l->place[v->id];
        return 0;
    }
    /* another shape of the same rows and lanes is the same memory */
    if (v->op && (v->op->code == MOSAIC_SHAPE_CAST || v->op->code == MOSAIC_TPU_RESHAPE) &&
        !l->place[v->id].is_there && v->type.element != MOSAIC_I1 && v->type.rank >= 2 &&
        v->op->operand[0]->type.rank >= 2 && !root_is_waiting(l, v)) {
        struct place from;

        if (root_materialize(l, v->op->operand[0], &from))
            return -1;
        if (is_same_memory(&from, &v->type, p)) {
            l->place[v->id] = *p;
            return 0;
        }
    }
    if (root_own(l, v))
        return -1;
    *p = l->place[v->id];
    return 0;
}

/* ----- a loop over row tiles */

/* Tiles of lanes, and rows of them, of the root whose value has the most. */
static int64_t work_of(struct lower *l)
{
    int64_t work = 0;

    for (int i = 0; i < l->root_count; i++)
        work += tile_lanes_across(l, l->root[i].value);
    return work;
}

/* of so many row tiles from `row` on, how many go into one packed tile */
static int64_t together(const struct lower *l, const struct root *r, int64_t row, int64_t most)
{
    int64_t packed = r->to.t.rows / TILE_ROWS, down = tile_down(l, r->value);
    int64_t at = row % down, here = packed - at % packed;

    if (here > down - at)
        here = down - at;
    return here < most ? here : most;
}

/* one root's tiles of an iteration, `parts` row tiles from `row` on */
static bool put_root(struct tiler *t, const struct root *r, int64_t row, int64_t parts)
{
    struct lower *l = t->l;
    int64_t across = tile_lanes_across(l, r->value);

    for (int64_t p = 0, here; p < parts; p += here) {
        here = together(l, r, row + p, parts - p);
        for (int64_t lane = 0; lane < across; lane++) {
            struct tile_at at = {.row = row + p, .lane = lane, .all_lanes = r->to.is_spread};
            opnd value[4];
            int mask[4];

            pallas_origin(t->c, r->op ? r->op : r->value->op);
            for (int64_t k = 0; k < here; k++) {
                struct tile_at part = at;

                part.row += k;
                if (!tile_pull(t, r->value, &part, &value[k]))
                    return false;
                if (r->mask && !tile_mask(t, r->mask, &part, &mask[k]))
                    return false;
                if (r->adds)
                    value[k] = tile_combine(t, "add", r->value->type.element, value[k],
                                            tile_load(t, &r->to, &part));
                if (r->value->type.element == MOSAIC_I1)
                    value[k] = choose(t->c, value[k].value, I(1), I(0));
            }
            if (!r->is_pulled_only &&
                !tile_store(t, r->op ? r->op : r->value->op, &r->to, &at, value, (int)here,
                            r->mask ? mask : NULL))
                return false;
        }
    }
    return true;
}

/* a value that was to be saved, and that only roots of this loop read: it need not be stored */
static bool is_done(const struct lower *l, const struct root *r)
{
    return r->is_value && !r->is_wanted && l->last_use[r->value->id] <= l->at &&
           l->needed_until[r->value->id] < l->at;
}

static bool put_roots(struct tiler *t, int64_t row, int64_t parts)
{
    for (int i = 0; i < t->l->root_count && !t->is_failed; i++)
        if (!put_root(t, &t->l->root[i], row, parts))
            return false;
    return !t->is_failed;
}

int root_emit(struct lower *l)
{
    struct tiler t = {.l = l, .c = &l->code, .body = put_roots, .hoists = true};
    uint16_t before;
    int status;

    for (int i = 0; i < l->root_count; i++)
        l->root[i].is_pulled_only = is_done(l, &l->root[i]);
    pallas_begin_block(l);
    before = l->code.origin;
    status = tile_loop(&t, tile_rows_down(l, l->root[0].value), work_of(l));
    l->code.origin = before;
    pallas_begin_block(l);
    mem_free(t.memo);
    mem_free(t.loaded);
    tile_lives_fini(&t);
    for (int i = 0; i < l->root_count; i++)
        if (l->root[i].is_value && !l->root[i].is_pulled_only)
            l->place[l->root[i].value->id] = l->root[i].to;
    l->root_count = 0;
    return l->is_failed ? -1 : status;
}

int root_flush(struct lower *l)
{
    int status;

    if (l->is_failed)
        return -1;
    if (l->root_count == 0)
        return 0;
    keep_costly(l);
    status = keep_rows(l) || root_emit(l);
    pallas_release(l);
    return status ? -1 : 0;
}
