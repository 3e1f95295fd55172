/* Tiles of vectors: their layouts, pulling them, loading and storing them. */
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
    if (!op || v->type.kind != MOSAIC_VECTOR)
        return native(&v->type);
    switch (op->code) {
    case MOSAIC_CONSTANT: {
        struct tile_layout free = native(&v->type);

        free.is_free = true;
        return free;
    }
    case MOSAIC_MULTI_REDUCTION:
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

/* the register that begins with the offset and goes on by `step`; one that is asked for again is the
 * same */
static struct isa_operand pointer(struct tiler *t, bool has_offset, struct scalar offset,
                                  int64_t step)
{
    struct tile_pointer p = {.has_offset = has_offset && !offset.is_known,
                             .smem = offset.smem, .step = t->is_moving ? step : 0};

    if (!p.has_offset)
        p.smem = 0;
    p.value = has_offset && offset.is_known ? offset.value : 0;
    if (!p.has_offset && !p.step)
        return p.value ? I(p.value) : NONE;
    for (int i = 0; i < t->pointer_count; i++)
        if (t->pointer[i].has_offset == p.has_offset && t->pointer[i].smem == p.smem &&
            t->pointer[i].step == p.step && t->pointer[i].value == p.value)
            return R(t->pointer[i].reg);
    if (t->pointer_count == TILE_POINTERS_MAX) {
        tile_fail(t, NULL, "a loop over tiles needs more than %d addresses", TILE_POINTERS_MAX);
        return NONE;
    }
    p.reg = t->pointer_count;
    t->pointer[t->pointer_count++] = p;
    return R(p.reg);
}

opnd tile_scalar(struct tiler *t, struct scalar s)
{
    if (s.is_known)
        return I(s.value);
    return pointer(t, true, s, 0);
}

opnd tile_counter(struct tiler *t, struct scalar from, int64_t step)
{
    opnd p = pointer(t, true, from, t->step * step);

    return p.kind == OPERAND_NONE ? I(0) : p;
}

/* the row tile of the iteration, times 8: what rows of the loop's first iteration are further on */
static opnd row_offset(struct tiler *t)
{
    return pointer(t, false, scalar_known(0), t->step * TILE_ROWS);
}

/* ----- loads and stores */

static int64_t outer_rows(const struct tiles *t, int64_t outer)
{
    int64_t rows = 0;

    for (int d = t->rank - 1; d >= 0; d--) {
        if (d == t->row_dim || d == t->lane_dim)
            continue;
        rows += outer % t->dim[d] * t->outer_step[d];
        outer /= t->dim[d];
    }
    return rows;
}

int64_t tile_down_of(const struct place *p)
{
    return p->t.row_dim < 0 ? 1 : div_up(p->t.dim[p->t.row_dim], TILE_ROWS);
}

/* row tiles go on evenly from one outer index to the next */
static bool is_even(const struct tiles *t, int64_t down)
{
    int64_t packed = t->rows / TILE_ROWS, step = down / packed * t->row_step;

    if (down % packed)
        return false;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (d == t->row_dim || d == t->lane_dim || t->dim[d] == 1)
            continue;
        if (t->outer_step[d] != step)
            return false;
        step *= t->dim[d];
    }
    return true;
}

/* address of a tile; *part: which of the row tiles in it */
static struct isa_rows rows_of(struct tiler *t, const struct place *p, const struct tile_at *at,
                               int stride, int sublanes, int64_t *part)
{
    int64_t down = tile_down_of(p);
    int64_t packed = p->t.rows / TILE_ROWS, row = at->row, outer = row / down, offset;
    bool is_fixed = down == 1 && outer_rows(&p->t, 1) == 0 && at->row == 0 && at->all_rows;
    struct isa_operand base;

    row %= down;
    if (!is_fixed && !is_even(&p->t, down))
        tile_limit(t, down);
    if (packed > t->parts)
        t->parts = (int)packed;
    *part = row % packed;
    offset = p->base + outer_rows(&p->t, outer) + row / packed * p->t.row_step +
             at->lane * p->t.lane_step + p->sublane;
    base = pointer(t, p->has_offset, p->offset,
                   is_fixed || at->all_rows ? 0 : t->step / packed * p->t.row_step);
    if (base.kind == OPERAND_IMM) {
        offset += base.value;
        base = NONE;
    }
    return isa_rows_of(base, offset, stride, sublanes);
}

static int load_once(struct tiler *t, const struct place *p, struct isa_rows rows)
{
    int64_t key[6] = {p->region, rows.base.kind == OPERAND_REG ? rows.base.value : -1,
                      rows.offset.value, rows.stride, rows.sublanes, 0};

    for (size_t i = 0; i < t->loaded_count; i++)
        if (!memcmp(t->loaded[i].key, key, sizeof(key)))
            return t->loaded[i].reg;
    MEM_ADD(t->loaded, t->loaded_count, t->loaded_capacity) = (struct tile_loaded){
        .key = {key[0], key[1], key[2], key[3], key[4], 0}, .reg = emit_vld(t->c, rows, p->region)};
    return t->loaded[t->loaded_count - 1].reg;
}

static void forget_loads(struct tiler *t, int region)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->loaded_count; i++)
        if (t->loaded[i].key[0] != region)
            t->loaded[kept++] = t->loaded[i];
    t->loaded_count = kept;
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

void tile_forget_loads(struct tiler *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->memo_count; i++) {
        int region = t->memo[i].value ? region_loaded(t->l, t->memo[i].value) : -1;

        if (region < 0 || is_written(t->l, region))
            t->memo[kept++] = t->memo[i];
    }
    t->memo_count = kept;
    kept = 0;
    for (size_t i = 0; i < t->loaded_count; i++)
        if (is_written(t->l, (int)t->loaded[i].key[0]))
            t->loaded[kept++] = t->loaded[i];
    t->loaded_count = kept;
}

static enum graph_dtype dtype_of(enum mosaic_element e)
{
    switch (e) {
    case MOSAIC_F32: return DTYPE_F32;
    case MOSAIC_BF16: return DTYPE_BF16;
    case MOSAIC_I8: return DTYPE_S8;
    case MOSAIC_I32: return DTYPE_S32;
    default: return DTYPE_COUNT;
    }
}

/* one row tile out of a packed tile */
static opnd unpacked(struct tiler *t, const struct place *p, int tile, int64_t part, bool is_row)
{
    switch (p->t.element) {
    case MOSAIC_BF16:
        if (is_row)                     /* row 0 is the low half of sublane 0 */
            return R(emit_vunpack_i_bf16(t->c, R(tile), VUNPACK_I_BF16_L));
        return R(part ? emit_vunpack_c_h(t->c, R(tile)) : emit_vunpack_c_l(t->c, R(tile)));
    case MOSAIC_I8:
        if (is_row)
            return R(emit_vshra_s32(t->c, R(emit_vshll_u32(t->c, R(tile), I(24))), I(24)));
        return R(emit_vunpack_c_8(t->c, R(tile), (enum isa_vunpack_c_8_x0)part,
                                  VUNPACK_C_8_S8));
    default: return R(tile);
    }
}

opnd tile_load(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    bool spreads = at->all_lanes && p->t.lane_dim >= 0 && !p->is_spread;
    int64_t part;
    struct isa_rows rows = rows_of(t, p, at, at->all_rows ? 0 : 1, ISA_ALL_SUBLANES, &part);
    opnd v;

    if (p->t.rows > TILE_ROWS && dtype_of(p->t.element) == DTYPE_COUNT) {
        tile_fail(t, NULL, "memory of %s", mosaic_element_name(p->t.element));
        return I(0);
    }
    v = unpacked(t, p, load_once(t, p, rows), part, at->all_rows);
    return spreads ? R(emit_vbcast_lane(t->c, tile_unit(t), vcode_in_register(t->c, v), 0)) : v;
}

int tile_load_packed(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    int64_t part;

    return load_once(t, p, rows_of(t, p, at, 1, ISA_ALL_SUBLANES, &part));
}

/* rows of the vector's last tile that there are; 0: all 8 */
static int64_t short_rows(const struct place *p, int64_t row)
{
    int64_t count = p->t.row_dim < 0 ? 1 : p->t.dim[p->t.row_dim];
    int64_t down = div_up(count, TILE_ROWS);

    return row % down == down - 1 ? count % TILE_ROWS : 0;
}

/* What the store must leave as it is: lanes and rows of a tile that others have too. */
static bool store_part(struct tiler *t, const struct mosaic_op *op, const struct place *p,
                       struct isa_rows rows, int tile, int64_t lanes, int mask)
{
    if (lanes) {
        int own = tile_lane_mask(t, lanes);

        mask = mask < 0 ? own : emit_vmand(t->c, mask, own);
    }
    if (mask < 0) {
        emit_vst(t->c, rows, tile, p->region);
        return true;
    }
    if (p->t.rows > TILE_ROWS)
        return tile_fail(t, op, "a store of some of the elements of a packed tile");
    emit_vst_msk(t->c, rows, mask, tile, p->region);
    return true;
}

#define ID_OF_CONSTANTS (INT32_MIN + 2 * TILE_LANES)    /* the constant stands for a row */

/* a constant is in one register for all of an iteration's stores */
static int stored(struct tiler *t, opnd v)
{
    struct tile_at at = {.row = v.value};
    opnd kept;

    if (v.kind != OPERAND_IMM)
        return vcode_in_register(t->c, v);
    if (!tile_remembers(t, ID_OF_CONSTANTS, &at, &kept)) {
        kept = R(vcode_in_register(t->c, v));
        tile_remember(t, ID_OF_CONSTANTS, &at, kept);
    }
    return kept.value;
}

bool tile_store(struct tiler *t, const struct mosaic_op *op, const struct place *p,
                const struct tile_at *at, const opnd *value, int parts, const int *mask)
{
    struct fused_value packed = {.is_mask = false};
    enum graph_dtype dtype = dtype_of(p->t.element);
    bool is_part = p->buffer >= 0;      /* memory of the program's: others may own the rest */
    int64_t part, lanes = 0, here = is_part ? short_rows(p, at->row + parts - 1) : 0;
    struct isa_rows rows;
    int sublanes = ISA_ALL_SUBLANES, tile;

    if (p->t.lane_dim >= 0 && is_part && (at->lane + 1) * TILE_LANES > p->t.dim[p->t.lane_dim])
        lanes = p->t.dim[p->t.lane_dim] % TILE_LANES;
    if (p->covers_lanes)
        lanes = 0;
    if (here && !p->covers_rows) {
        if (p->t.rows > TILE_ROWS)
            return tile_fail(t, op, "a store of some rows of a packed tile");
        sublanes = (1 << here) - 1;
    }
    rows = rows_of(t, p, at, 1, sublanes, &part);
    if (p->t.rows == TILE_ROWS) {
        tile = stored(t, value[0]);
    } else {
        if (dtype == DTYPE_COUNT)
            return tile_fail(t, op, "memory of %s", mosaic_element_name(p->t.element));
        for (int i = 0; i < p->t.rows / TILE_ROWS; i++)
            packed.part[i] = R(stored(t, value[i < parts ? i : parts - 1]));
        tile = fused_pack(t->c, t->l->chip, dtype, &packed);
    }
    forget_loads(t, p->region);
    return store_part(t, op, p, rows, tile, lanes, mask ? mask[0] : -1);
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

bool tile_remembers(const struct tiler *t, int id, const struct tile_at *at, opnd *out)
{
    for (size_t i = 0; i < t->memo_count; i++)
        if (t->memo[i].id == id && same_at(&t->memo[i].at, at)) {
            *out = t->memo[i].out;
            return true;
        }
    return false;
}

void tile_remember(struct tiler *t, int id, const struct tile_at *at, opnd v)
{
    MEM_ADD(t->memo, t->memo_count, t->memo_capacity) = (struct tile_memo){id, *at, v, NULL};
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
        MEM_ADD(t->memo, t->memo_count, t->memo_capacity) = (struct tile_memo){v->id, *at, *out, v};
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

/* and its row, counted from the loop's first iteration */
static opnd row_index(struct tiler *t)
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
            x = at->all_rows ? I(0) : row_index(t);
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
