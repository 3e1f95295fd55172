/* Tiles of vectors: their layouts, pulling them. */
#include "stack/kernels/mosaic/tile.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define DEPTH_MAX 400                   /* operations one under another */

static const struct { tile_make *make; } makers[MOSAIC_UNKNOWN] = {
#define LOWER(id, run, tile, op) [MOSAIC_##id] = {tile_##tile},
#include "stack/kernels/mosaic/lower.def"
};

bool tile_fail(struct tiler *t, const struct mosaic_op *op, const char *fmt, ...)
{
    char message[200];
    va_list args;

    va_start(args, fmt);
    text_print_args(message, sizeof(message), fmt, args);
    va_end(args);
    t->is_failed = true;
    pallas_fail(t->l, op, "%s", message);
    return false;
}

bool tile_none(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    (void)at;
    (void)out;
    return tile_fail(t, op, "its result is taken by what cannot take it");
}

/* ----- layouts */

static struct tile_layout native(const struct mosaic_type *t)
{
    return (struct tile_layout){t->rank >= 2 ? t->rank - 2 : -1, t->rank - 1, false};
}

static bool is_elementwise(const struct mosaic_op *op)
{
    return op->code >= MOSAIC_ADDI && op->code <= MOSAIC_ASSUME_MULTIPLE;
}

/* Dimensions along rows and lanes where others of size 1 go or come. */
static struct tile_layout reshaped(const struct mosaic_type *from, struct tile_layout layout,
                                   const struct mosaic_type *to)
{
    struct tile_layout own = native(to);
    int at = 0;

    if (layout.lane_dim >= 0)
        return own;
    own = (struct tile_layout){-1, -1, false};
    for (int d = 0; d < to->rank; d++) {
        while (at < from->rank && from->dim[at] != to->dim[d] && from->dim[at] == 1)
            at++;
        if (at < from->rank && from->dim[at] == to->dim[d]) {
            if (at == layout.row_dim)
                own.row_dim = d;
            at++;
        }
    }
    /* rows that are not the last dimension any more: those behind them are of size 1 */
    if (own.row_dim >= 0 && own.row_dim == to->rank - 2)
        own.lane_dim = to->rank - 1;
    return own;
}

struct tile_layout tile_layout_of(const struct lower *l, const struct mosaic_value *v)
{
    const struct place *p = &l->place[v->id];
    const struct mosaic_op *op = v->op;

    if (p->is_there)
        return (struct tile_layout){p->t.row_dim, p->t.lane_dim, false};
    if (!op || v->type.kind != MOSAIC_VECTOR || l->range[v->id].is_there)
        return native(&v->type);
    switch (op->code) {
    case MOSAIC_CONSTANT: {
        struct tile_layout free = native(&v->type);

        free.is_free = true;
        return free;
    }
    case MOSAIC_MULTI_REDUCTION:
        if (tile_outer_reduced(op) >= 0)
            return native(&v->type);
        return (struct tile_layout){v->type.rank - 1, -1, false};
    case MOSAIC_REDUCE_INDEX:
        return (struct tile_layout){v->type.rank - 1, -1, false};
    case MOSAIC_BROADCAST:
        if (op->operand[0]->type.kind == MOSAIC_SCALAR)
            return (struct tile_layout){native(&v->type).row_dim, native(&v->type).lane_dim, true};
        return native(&v->type);
    case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE:
        return reshaped(&op->operand[0]->type, tile_layout_of(l, op->operand[0]), &v->type);
    default: break;
    }
    for (int i = 0; is_elementwise(op) && i < op->operand_count; i++) {
        struct tile_layout o = tile_layout_of(l, op->operand[i]);

        if (op->operand[i]->type.kind == MOSAIC_VECTOR && !o.is_free)
            return o;
    }
    return native(&v->type);
}

int64_t tile_row_count(const struct lower *l, const struct mosaic_value *v)
{
    int d = tile_layout_of(l, v).row_dim;

    return d < 0 ? 1 : v->type.dim[d];
}

int64_t tile_lane_count(const struct lower *l, const struct mosaic_value *v)
{
    int d = tile_layout_of(l, v).lane_dim;

    return d < 0 ? 1 : v->type.dim[d];
}

int64_t tile_down(const struct lower *l, const struct mosaic_value *v)
{
    return div_up(tile_row_count(l, v), TILE_ROWS);
}

int64_t tile_rows_down(const struct lower *l, const struct mosaic_value *v)
{
    struct tile_layout layout = tile_layout_of(l, v);
    int64_t outer = 1;

    for (int d = 0; d < v->type.rank; d++)
        if (d != layout.row_dim && d != layout.lane_dim)
            outer *= v->type.dim[d];
    return outer * tile_down(l, v);
}

int64_t tile_lanes_across(const struct lower *l, const struct mosaic_value *v)
{
    return div_up(tile_lane_count(l, v), TILE_LANES);
}

/* ----- what a loop asks for */

void tile_limit(struct tiler *t, int64_t run)
{
    int64_t a = t->run;

    while (run) {
        int64_t r = a % run;

        a = run;
        run = r;
    }
    t->run = a;
}

int tile_unit(struct tiler *t)
{
    int unit = t->next_unit;

    t->next_unit = (unit + 1) % (int)t->l->chip->xlu_count;
    return unit;
}

static struct tile_pointer *find_pointer(struct tiler *t, const struct tile_pointer *p)
{
    for (int i = 0; i < t->pointer_count; i++)
        if (t->pointer[i].has_offset == p->has_offset && t->pointer[i].smem == p->smem &&
            t->pointer[i].step == p->step && t->pointer[i].value == p->value &&
            t->pointer[i].is_number == p->is_number)
            return &t->pointer[i];
    return NULL;
}

static struct isa_operand add_pointer(struct tiler *t, struct tile_pointer *p)
{
    p->reg = t->pointer_count;
    t->pointer[t->pointer_count++] = *p;
    return R(p->reg);
}

/*
 * The loop has more addresses than registers: this one is read in every iteration, and what has been
 * gone on by is added to it, which all that go on by as much share.
 */
static struct isa_operand read_address(struct tiler *t, const struct tile_pointer *p)
{
    struct isa_operand gone = I(0);
    int reg;

    if (p->step) {
        struct tile_pointer way = {.step = p->step, .is_number = true}, *found = find_pointer(t, &way);

        if (!found && t->pointer_count == TILE_POINTERS_MAX) {
            tile_fail(t, NULL, "a loop over tiles goes on by more than %d different steps",
                      TILE_POINTERS_MAX - CROWDED_POINTERS_MAX);
            return NONE;
        }
        gone = found ? R(found->reg) : add_pointer(t, &way);
    }
    if (!p->has_offset) {
        reg = scalar_register(t->l);
        emit_sadd(t->c, reg, gone, I(p->value));
        return R(reg);
    }
    reg = scalar_register(t->l);
    emit_sld(t->c, reg, NONE, I(p->smem));
    if (p->step)
        emit_sadd(t->c, reg, R(reg), gone);
    return R(reg);
}

/*
 * What loads and stores alone read goes on by offsets of theirs where rounds overlap; a number that an
 * operation reads, too, has to be added to, and who shared its register would wait for that.
 */
static struct isa_operand pointer_of(struct tiler *t, bool has_offset, struct scalar offset,
                                     int64_t step, bool is_number)
{
    struct tile_pointer p = {.has_offset = has_offset && !offset.is_known,
                             .smem = offset.smem, .step = t->is_moving ? step : 0}, *found;

    if (!p.has_offset)
        p.smem = 0;
    p.value = has_offset && offset.is_known ? offset.value : 0;
    if (!p.has_offset && !p.step)
        return p.value ? I(p.value) : NONE;
    p.is_number = is_number && p.step;
    found = find_pointer(t, &p);
    if (found)
        return R(found->reg);
    if (t->is_crowded && t->pointer_count >= CROWDED_POINTERS_MAX)
        return read_address(t, &p);
    if (t->pointer_count == TILE_POINTERS_MAX) {
        t->is_too_small = true;         /* once more, crowded */
        return NONE;
    }
    return add_pointer(t, &p);
}

struct isa_operand tile_address(struct tiler *t, bool has_offset, struct scalar offset, int64_t step)
{
    return pointer_of(t, has_offset, offset, step, false);
}

opnd tile_scalar(struct tiler *t, struct scalar s)
{
    if (s.is_known)
        return I(s.value);
    return tile_address(t, true, s, 0);
}

opnd tile_counter(struct tiler *t, struct scalar from, int64_t step)
{
    opnd p = pointer_of(t, true, from, t->step * step, true);

    return p.kind == OPERAND_NONE ? I(0) : p;
}

/* the row tile of the iteration, times 8: what rows of the loop's first iteration are further on */
static opnd row_offset(struct tiler *t)
{
    return pointer_of(t, false, scalar_known(0), t->step * TILE_ROWS, true);
}

/* the region of memory that a value is a load of, in whatever shape; -1: it is computed */
static int region_loaded(const struct lower *l, const struct mosaic_value *v)
{
    while (!l->place[v->id].is_there && v->op && v->op->code == MOSAIC_SHAPE_CAST)
        v = v->op->operand[0];
    return l->place[v->id].is_there && v->type.element != MOSAIC_I1 ? l->place[v->id].region : -1;
}

static bool is_written(const struct lower *l, int region)
{
    for (int i = 0; i < l->root_count; i++)
        if (l->root[i].to.region == region && !l->root[i].is_pulled_only)
            return true;
    return false;
}

enum {
    WIDE_ROW = 16,                      /* tiles of a row that are too many to wait in registers, */
    CHEAP_WORK = 3, DEAR_WORK = 100,    /* where they are made again of loads by so many operations */
};

/* operations that make a tile of v again; loads and what stands in all lanes are there */
static int work_again(const struct lower *l, const struct mosaic_value *v)
{
    int work = 1;

    if (region_loaded(l, v) >= 0)
        return is_written(l, region_loaded(l, v)) ? DEAR_WORK : 0;
    switch (v->op ? v->op->code : MOSAIC_UNKNOWN) {
    case MOSAIC_CONSTANT: case MOSAIC_BROADCAST: return 0;
    case MOSAIC_EXTF: case MOSAIC_TPU_EXTF: case MOSAIC_EXTSI: case MOSAIC_EXTUI:
    case MOSAIC_ADDF: case MOSAIC_SUBF: case MOSAIC_MULF:
        for (int i = 0; i < v->op->operand_count && work < DEAR_WORK; i++)
            work += work_again(l, v->op->operand[i]);
        return work;
    default: return DEAR_WORK;
    }
}

static bool is_forgotten(const struct lower *l, const struct mosaic_value *v, bool is_wide)
{
    int region = v ? region_loaded(l, v) : -1;

    if (region >= 0)
        return !is_written(l, region);
    return v && is_wide && v->op && v->op->code != MOSAIC_CONSTANT &&
           v->op->code != MOSAIC_BROADCAST && work_again(l, v) <= CHEAP_WORK;
}

void tile_forget_loads(struct tiler *t, int64_t tiles)
{
    bool is_wide = tiles * t->parts >= WIDE_ROW;
    size_t kept = 0;

    for (size_t i = 0; i < t->memo_count; i++)
        if (!is_forgotten(t->l, t->memo[i].value, is_wide))
            t->memo[kept++] = t->memo[i];
    t->memo_count = kept;
    kept = 0;
    for (size_t i = 0; i < t->loaded_count; i++)
        if (is_written(t->l, (int)t->loaded[i].key[0]))
            t->loaded[kept++] = t->loaded[i];
    t->loaded_count = kept;
}

/* ----- pulling */

static bool same_at(const struct tile_at *a, const struct tile_at *b)
{
    return a->row == b->row && a->lane == b->lane && a->all_rows == b->all_rows &&
           a->all_lanes == b->all_lanes;
}

/* a scalar in all elements, or 0 and 1 of a truth as words */
static bool pull_scalar(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at,
                        opnd *out)
{
    opnd s, a, b;

    if (t->l->is_late[v->id] && cell_pull(t, v, out))
        return true;
    if (t->l->is_late[v->id]) {
        if (!tile_pull(t, v->op->operand[0], at, &a) ||
            !tile_pull(t, v->op->operand[v->op->operand_count - 1], at, &b))
            return false;
        *out = tile_arithmetic(t->c, v->op, R(vcode_in_register(t->c, a)), b);
        return true;
    }
    s = tile_scalar(t, t->l->scalar[v->id]);
    *out = s.kind == OPERAND_IMM ? s : R(emit_vstv(t->c, s.value));
    return true;
}

static bool is_mask(const struct tile_memo *m)
{
    return m->value && m->value->type.element == MOSAIC_I1;
}

bool tile_remembers(const struct tiler *t, int id, const struct tile_at *at, opnd *out)
{
    for (size_t i = 0; i < t->memo_count; i++)
        if (t->memo[i].id == id && same_at(&t->memo[i].at, at) &&
            !(is_mask(&t->memo[i]) && tile_lives_far(t->memo[i].wanted_at, t->wanted_at))) {
            *out = t->memo[i].out;
            return true;
        }
    return false;
}

void tile_remember(struct tiler *t, int id, const struct tile_at *at, opnd v)
{
    MEM_ADD(t->memo, t->memo_count, t->memo_capacity) = (struct tile_memo){id, *at, v, NULL, 0};
}

#define MASKS_KEPT 8                     /* of a core's mask registers, none of which can be spilled */

/*
 * Of masks the last ones made are remembered: others are compared again where they are asked for, and
 * so is one that is wanted again much later in the iteration, behind a reduction or a product. A
 * softmax that masks scores and weights would keep a mask for each tile of its rows between them, and
 * iterations could not overlap.
 */
static void remember_pulled(struct tiler *t, const struct mosaic_value *v,
                            const struct tile_at *at, opnd out)
{
    size_t oldest = t->memo_count;
    int masks = 0;

    for (size_t i = t->memo_count; v->type.element == MOSAIC_I1 && i-- > 0;)
        if (is_mask(&t->memo[i])) {
            masks++;
            oldest = i;
        }
    if (masks >= MASKS_KEPT) {
        memmove(t->memo + oldest, t->memo + oldest + 1,
                (t->memo_count - oldest - 1) * sizeof(*t->memo));
        t->memo_count--;
    }
    MEM_ADD(t->memo, t->memo_count, t->memo_capacity) = (struct tile_memo){v->id, *at, out, v,
                                                                               t->wanted_at};
}

static bool pull_place(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at,
                       opnd *out)
{
    *out = tile_load(t, &t->l->place[v->id], at);
    if (v->type.element == MOSAIC_I1)
        *out = R(emit_vcmp_ne_s32(t->c, *out, I(0)));
    return !t->is_failed;
}

bool tile_pull(struct tiler *t, const struct mosaic_value *v, const struct tile_at *where, opnd *out)
{
    unsigned depends = tile_depends(t->l, v);
    struct tile_at one = *where, *at = &one;
    bool is_right;
    uint16_t before;

    if (v->type.kind == MOSAIC_SCALAR && v->type.element != MOSAIC_I1)
        return pull_scalar(t, v, at, out);
    if (!(depends & TILE_ROWS_DIFFER))
        one.row = 0;
    if (!(depends & TILE_LANES_DIFFER))
        one.lane = 0;
    if (tile_remembers(t, v->id, at, out))
        return true;
    before = pallas_origin(t->c, v->op);
    if (v->type.kind == MOSAIC_SCALAR) {
        opnd s = tile_scalar(t, t->l->scalar[v->id]);
        opnd word = s.kind == OPERAND_IMM ? R(emit_vmov(t->c, s)) : R(emit_vstv(t->c, s.value));

        *out = R(emit_vcmp_ne_s32(t->c, word, I(0)));
        is_right = true;
    } else if (t->l->place[v->id].is_there) {
        is_right = pull_place(t, v, at, out);
    } else if (t->l->range[v->id].is_there) {
        is_right = tile_moved(t, v->op, at, out);
    } else if (!v->op || v->op->code == MOSAIC_UNKNOWN || !makers[v->op->code].make) {
        return tile_fail(t, v->op, "cores do not carry this operation out");
    } else if (t->depth >= DEPTH_MAX) {
        return tile_fail(t, v->op, "operations one under another, more than %d", DEPTH_MAX);
    } else {
        t->depth++;
        is_right = makers[v->op->code].make(t, v->op, at, out);
        t->depth--;
    }
    t->c->origin = before;
    if (is_right)
        remember_pulled(t, v, at, *out);
    return is_right && !t->is_failed;
}

bool tile_mask(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at, int *mask)
{
    opnd m;

    if (!tile_pull(t, v, at, &m))
        return false;
    *mask = m.value;
    return true;
}

bool tile_mask_beside(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at,
                      const opnd *a, const opnd *b, int *mask)
{
    int before = t->wanted_at;
    bool is_right;

    t->wanted_at = tile_lives_ready(t, a, b);
    is_right = tile_mask(t, v, at, mask);
    t->wanted_at = before;
    return is_right;
}

/* ----- masks of edges */

int tile_lane_mask(struct tiler *t, int64_t count)
{
    opnd lane = bit_and(t->c, R(emit_vlaneseq(t->c)), I(TILE_LANES - 1));

    return emit_vcmp_lt_s32(t->c, lane, I(count));
}

int tile_row_mask(struct tiler *t, int64_t count)
{
    return emit_vcmp_lt_s32(t->c, R(emit_vlaneseq(t->c)), I(count * TILE_LANES));
}

/* ----- indices */

/* of an iteration once: the lane of each element, */
static opnd lane_index(struct tiler *t)
{
    if (t->lane_index < 0)
        t->lane_index = bit_and(t->c, R(emit_vlaneseq(t->c)), I(TILE_LANES - 1)).value;
    return R(t->lane_index);
}

opnd tile_row_index(struct tiler *t)
{
    opnd moved;

    if (t->row_index >= 0)
        return R(t->row_index);
    t->row_index = right(t->c, R(emit_vlaneseq(t->c)), I(7)).value;
    moved = t->is_moving ? row_offset(t) : I(0);
    if (moved.kind == OPERAND_REG)
        t->row_index = iadd(t->c, R(t->row_index), R(emit_vstv(t->c, moved.value))).value;
    return R(t->row_index);
}

static opnd joined(struct tiler *t, opnd a, opnd b)
{
    return a.kind == OPERAND_IMM && a.value == 0 ? b : iadd(t->c, a, b);
}

bool tile_iota(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    const struct mosaic_type *type = &op->result[0]->type;
    const struct mosaic_attr *dims = mosaic_attr(op, "dimensions");
    int64_t down = tile_down(t->l, op->result[0]);
    struct tile_layout layout = tile_layout_of(t->l, op->result[0]);
    opnd sum = I(0);
    int64_t known = 0, outer = at->row / down, scale = 1;

    if (!dims || dims->kind != MOSAIC_ATTR_INTS)
        return tile_fail(t, op, "it names no dimensions");
    if (tile_rows_down(t->l, op->result[0]) != down)
        tile_limit(t, down);
    for (int i = dims->count - 1; i >= 0; i--) {
        int d = (int)dims->ints[i];
        int64_t inside = 1;
        opnd x;

        if (d == layout.lane_dim) {
            known += at->lane * TILE_LANES * scale;
            x = lane_index(t);
            sum = joined(t, sum, scale == 1 ? x : imul(t->c, x, I(scale)));
        } else if (d == layout.row_dim) {
            known += at->row % down * TILE_ROWS * scale;
            x = at->all_rows ? I(0) : tile_row_index(t);
            sum = joined(t, sum, scale == 1 ? x : imul(t->c, x, I(scale)));
        } else {
            for (int e = d + 1; e < type->rank; e++)
                if (e != layout.row_dim && e != layout.lane_dim)
                    inside *= type->dim[e];
            known += outer / inside % type->dim[d] * scale;
        }
        scale *= type->dim[d];
    }
    *out = known || sum.kind == OPERAND_IMM ? iadd(t->c, R(vcode_in_register(t->c, sum)), I(known))
                                             : sum;
    return true;
}
