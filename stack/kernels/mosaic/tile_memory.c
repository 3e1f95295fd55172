/*
 * Tiles out of memory and into it.
 *
 * A place may begin anywhere in a tile, at a row or lane that is known or that is computed (struct
 * place). Then a tile of the vector is made of two tiles of memory, or four: of 32 bits rows are
 * taken from the address on that they have, of narrow types they are rotated; lanes are rotated. What
 * is stored to some of the elements of a packed tile is put together with what stands there.
 */
#include "stack/kernels/mosaic/tile.h"

#include <string.h>

#include "base/units.h"

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

/* row tiles within a tile of memory; of 32 bits 1 */
static int64_t packed_of(const struct place *p) { return p->t.rows / TILE_ROWS; }

/* it lies in rows of 128 elements that follow each other: element 0 of row `lane` */
static struct isa_rows linear_row(struct tiler *t, const struct place *p, int64_t lane, int stride,
                                  int sublanes, int64_t *part)
{
    int64_t packed = packed_of(p), row = lane + p->lane / TILE_LANES, offset;
    struct isa_operand base = tile_address(t, p->has_offset, p->offset, 0);

    *part = row % packed;
    offset = p->base + row / packed;
    if (base.kind == OPERAND_IMM) {
        offset += base.value;
        base = NONE;
    }
    return isa_rows_of(base, offset, stride, sublanes);
}

/* where a tile is to be found; from a row on that is known as the kernel runs, where `is_late` */
struct where { bool is_late; int64_t more; int stride, sublanes; };

/* address of a tile, `more` rows further on; *part: which of the row tiles in it */
static struct isa_rows rows_of(struct tiler *t, const struct place *p, const struct tile_at *at,
                               const struct where *w, int64_t *part)
{
    int64_t down = tile_down_of(p), packed = packed_of(p), row = at->row, offset;
    int64_t outer = row / down, apart = p->stride ? p->stride : 1;
    bool is_fixed = down == 1 && outer_rows(&p->t, 1) == 0 && at->row == 0 && at->all_rows;
    struct isa_operand base;

    if (p->t.is_linear)
        return linear_row(t, p, at->lane, w->stride, w->sublanes, part);
    row = row % down + p->sublane / TILE_ROWS;
    if (!is_fixed && !is_even(&p->t, down))
        tile_limit(t, down);
    if (packed > t->parts)
        t->parts = (int)packed;
    *part = row % packed;
    offset = p->base + outer_rows(&p->t, outer) + row / packed * p->t.row_step * apart +
             (at->lane + p->lane / TILE_LANES) * p->t.lane_step + w->more;
    base = tile_address(t, p->has_offset, w->is_late ? p->row_offset : p->offset,
                        is_fixed || at->all_rows ? 0 : t->step / packed * p->t.row_step * apart);
    if (base.kind == OPERAND_IMM) {
        offset += base.value;
        base = NONE;
    }
    return isa_rows_of(base, offset, (int)(w->stride * apart), w->sublanes);
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

void tile_forget_region(struct tiler *t, int region)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->loaded_count; i++)
        if (t->loaded[i].key[0] != region)
            t->loaded[kept++] = t->loaded[i];
    t->loaded_count = kept;
}

static enum graph_dtype dtype_of(enum mosaic_element e)
{
    switch (e) {
    case MOSAIC_F32: return DTYPE_F32;
    case MOSAIC_BF16: return DTYPE_BF16;
    case MOSAIC_I8: return DTYPE_S8;
    case MOSAIC_F8E5M2: case MOSAIC_F8E4M3FN: case MOSAIC_F8E4M3B11FNUZ: return DTYPE_U8;
    case MOSAIC_I32: return DTYPE_S32;
    default: return DTYPE_COUNT;
    }
}

/* type of the unit that unpacks bytes */
static enum isa_vunpack_c_8_x1 byte_type(enum mosaic_element e)
{
    switch (e) {
    case MOSAIC_F8E5M2: return VUNPACK_C_8_F8E5M2;
    case MOSAIC_F8E4M3FN: return VUNPACK_C_8_F8E4M3FN;
    case MOSAIC_F8E4M3B11FNUZ: return VUNPACK_C_8_F8E4M3B11FNUZ;
    default: return VUNPACK_C_8_S8;
    }
}

/* what is packed: of 8-bit floats their codes */
static opnd code_of(struct tiler *t, enum mosaic_element e, opnd v)
{
    if (!mosaic_is_fp8(e))
        return v;
    return R(emit_vcvt_fp8_f32(t->c, R(vcode_in_register(t->c, v)),
                               e == MOSAIC_F8E5M2     ? VCVT_FP8_F32_F8E5M2
                               : e == MOSAIC_F8E4M3FN ? VCVT_FP8_F32_F8E4M3FN
                                                      : VCVT_FP8_F32_F8E4M3B11FNUZ));
}

/* and back, of a word's low byte */
static opnd of_code(struct tiler *t, enum mosaic_element e, opnd word)
{
    if (!mosaic_is_fp8(e))
        return word;
    return R(emit_vcvt_f32_fp8(t->c, word,
                               e == MOSAIC_F8E5M2     ? VCVT_F32_FP8_F8E5M2
                               : e == MOSAIC_F8E4M3FN ? VCVT_F32_FP8_F8E4M3FN
                                                      : VCVT_F32_FP8_F8E4M3B11FNUZ));
}

opnd tile_round_fp8(struct tiler *t, enum mosaic_element e, opnd x)
{
    return of_code(t, e, code_of(t, e, x));
}

/* one row tile out of a packed tile */
static opnd unpacked(struct tiler *t, const struct place *p, int tile, int64_t part)
{
    switch (p->t.element) {
    case MOSAIC_BF16: return R(part ? emit_vunpack_c_h(t->c, R(tile)) : emit_vunpack_c_l(t->c, R(tile)));
    case MOSAIC_I8: case MOSAIC_F8E5M2: case MOSAIC_F8E4M3FN: case MOSAIC_F8E4M3B11FNUZ:
        return R(emit_vunpack_c_8(t->c, R(tile), (enum isa_vunpack_c_8_x0)part,
                                  byte_type(p->t.element)));
    default: return R(tile);
    }
}

/* one row of those that stand in each word of a tile: number `part`, or that of a register's words */
static opnd unpacked_row(struct tiler *t, const struct place *p, int tile, int64_t part, opnd *late)
{
    opnd word = R(tile);

    if (p->t.rows == TILE_ROWS)
        return word;
    if (p->t.element == MOSAIC_BF16 && !late)
        return R(emit_vunpack_i_bf16(t->c, word, part ? VUNPACK_I_BF16_H : VUNPACK_I_BF16_L));
    if (p->t.element == MOSAIC_BF16)    /* the upper half, or the lower one shifted up */
        return bit_and(t->c, left(t->c, word, left(t->c, isub(t->c, R(emit_vmov(t->c, I(1))), *late),
                                                   I(4))), I((int32_t)0xffff0000));
    if (late)
        word = left(t->c, word, left(t->c, isub(t->c, R(emit_vmov(t->c, I(3))), *late), I(3)));
    else if (part < 3)
        word = left(t->c, word, I(24 - 8 * part));
    return of_code(t, p->t.element, R(emit_vshra_s32(t->c, word, I(24))));
}

/* ----- rows */

static int64_t row_count(const struct place *p)
{
    return p->t.row_dim < 0 ? 1 : p->t.dim[p->t.row_dim];
}

/* rows of the vector in the tile at `row`, up to 8 */
static int64_t rows_here(const struct place *p, int64_t row)
{
    int64_t left_over = row_count(p) - row % tile_down_of(p) * TILE_ROWS;

    return left_over < TILE_ROWS ? left_over : TILE_ROWS;
}

/* a scalar in all elements of a register */
static opnd spread(struct tiler *t, struct scalar s)
{
    opnd x = tile_scalar(t, s);

    return R(x.kind == OPERAND_IMM ? emit_vmov(t->c, x) : emit_vstv(t->c, x.value));
}

/* so much less a scalar, in all elements */
static opnd less(struct tiler *t, int64_t from, struct scalar s)
{
    int all = emit_vmov(t->c, I(from));

    return isub(t->c, R(all), spread(t, s));
}

/* true of rows (lanes) whose number is below `end` */
static int rows_below(struct tiler *t, opnd end)
{
    return emit_vcmp_lt_s32(t->c, right(t->c, R(emit_vlaneseq(t->c)), I(7)), end);
}

static int lanes_below(struct tiler *t, opnd end)
{
    return emit_vcmp_lt_s32(t->c, bit_and(t->c, R(emit_vlaneseq(t->c)), I(TILE_LANES - 1)), end);
}

/* the vector has one row, or one is wanted: in all sublanes */
static opnd load_row(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    int64_t packed = packed_of(p), part;
    struct where w = {.is_late = p->has_late_row, .sublanes = ISA_ALL_SUBLANES,
                      .more = p->sublane % p->t.rows / packed};
    struct isa_rows rows;
    struct place from = *p;

    from.sublane = 0;
    if (p->t.is_linear) {
        rows = linear_row(t, p, at->lane, 0, ISA_ALL_SUBLANES, &part);
        return unpacked_row(t, p, load_once(t, p, rows), part, NULL);
    }
    rows = rows_of(t, &from, at, &w, &part);
    if (p->has_late_row && packed > 1) {
        opnd late = spread(t, p->late_word);

        return unpacked_row(t, p, load_once(t, p, rows), 0, &late);
    }
    return unpacked_row(t, p, load_once(t, p, rows), p->sublane % packed, NULL);
}

/* a row tile of memory that begins with a tile's first row, `further` row tiles on */
static opnd load_part(struct tiler *t, const struct place *p, const struct tile_at *at,
                      int64_t further)
{
    struct where w = {.stride = 1, .sublanes = ISA_ALL_SUBLANES};
    struct place from = *p;
    struct isa_rows rows;
    int64_t part;

    from.sublane = (p->sublane / TILE_ROWS + further) * TILE_ROWS;
    rows = rows_of(t, &from, at, &w, &part);
    return unpacked(t, p, load_once(t, p, rows), part);
}

/* 8 rows of 32 bits that begin within a tile: those of this one, then those of the next */
static opnd load_across_words(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    int64_t first = p->sublane % TILE_ROWS, next = p->t.row_step - TILE_ROWS, part;
    struct where w = {.is_late = p->has_late_row, .more = first, .stride = 1,
                      .sublanes = ISA_ALL_SUBLANES};
    opnd a, b;

    if (!p->has_late_row && first + rows_here(p, at->row) <= TILE_ROWS)
        return R(load_once(t, p, rows_of(t, p, at, &w, &part)));
    if (p->has_late_row) {
        a = R(load_once(t, p, rows_of(t, p, at, &w, &part)));
        w.more += next;
        b = R(load_once(t, p, rows_of(t, p, at, &w, &part)));
        return choose(t->c, rows_below(t, less(t, TILE_ROWS, p->late_row)), a, b);
    }
    w.sublanes = (1 << (TILE_ROWS - first)) - 1;
    a = R(load_once(t, p, rows_of(t, p, at, &w, &part)));
    w.sublanes ^= ISA_ALL_SUBLANES;
    w.more += next;
    b = R(load_once(t, p, rows_of(t, p, at, &w, &part)));
    return bit_or(t->c, a, b);
}

/* likewise of narrow types, whose rows are rotated */
static opnd load_across_parts(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    int64_t first = p->sublane % TILE_ROWS, parts = packed_of(p);
    opnd a = load_part(t, p, at, 0), b = load_part(t, p, at, 1), by = I(first), end;

    if (!p->has_late_row) {
        a = R(emit_vrot_slane(t->c, vcode_in_register(t->c, a), by));
        if (first + rows_here(p, at->row) <= TILE_ROWS)
            return a;
        b = R(emit_vrot_slane(t->c, vcode_in_register(t->c, b), by));
        return choose(t->c, rows_below(t, I(TILE_ROWS - first)), a, b);
    }
    for (int64_t i = 1; i < parts; i++) {       /* which of the row tiles in a tile it begins in */
        int is_there = emit_vcmp_ge_s32(t->c, spread(t, p->late_part), I(i));

        a = choose(t->c, is_there, load_part(t, p, at, i), a);
        b = choose(t->c, is_there, load_part(t, p, at, i + 1), b);
    }
    by = tile_scalar(t, p->late_sublane);
    end = less(t, TILE_ROWS, p->late_sublane);
    a = R(emit_vrot_slane(t->c, vcode_in_register(t->c, a), by));
    b = R(emit_vrot_slane(t->c, vcode_in_register(t->c, b), by));
    return choose(t->c, rows_below(t, end), a, b);
}

static bool splits_rows(const struct place *p)
{
    return (p->sublane % p->t.rows || p->has_late_row) && !p->t.is_linear;
}

static opnd load_rows(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    if (at->all_rows || p->t.is_linear || (splits_rows(p) && row_count(p) == 1))
        return load_row(t, p, at);
    if (!splits_rows(p))
        return load_part(t, p, at, 0);
    return packed_of(p) == 1 ? load_across_words(t, p, at) : load_across_parts(t, p, at);
}

/* ----- lanes */

bool place_is_plain(const struct place *p)
{
    return !p->sublane && !p->has_late_row && !p->lane && !p->has_late_lane && p->stride <= 1 &&
           (!p->t.is_linear || p->t.rows == TILE_ROWS);
}

/* lanes from `from` on, of what follows b too */
static opnd turn_lanes(struct tiler *t, opnd x, opnd by)
{
    return R(emit_vrot_lane(t->c, tile_unit(t), vcode_in_register(t->c, x), by));
}

static int64_t lane_count(const struct place *p)
{
    return p->t.lane_dim < 0 ? 1 : p->t.dim[p->t.lane_dim];
}

static opnd load_lanes(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    int64_t first = p->lane % TILE_LANES, here = lane_count(p) - at->lane * TILE_LANES;
    struct tile_at next = *at;
    opnd a = load_rows(t, p, at), b, by, end;

    if (!first && !p->has_late_lane)
        return a;
    by = p->has_late_lane ? tile_scalar(t, p->lane_turn) : I(TILE_LANES - first);
    a = turn_lanes(t, a, by);
    if (!p->has_late_lane && first + (here < TILE_LANES ? here : TILE_LANES) <= TILE_LANES)
        return a;
    next.lane++;
    end = p->has_late_lane ? spread(t, p->lane_turn) : I(TILE_LANES - first);
    b = turn_lanes(t, load_rows(t, p, &next), by);
    return choose(t->c, lanes_below(t, end), a, b);
}

opnd tile_load(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    bool spreads = at->all_lanes && p->t.lane_dim >= 0 && !p->is_spread;
    opnd v;

    if (p->t.rows > TILE_ROWS && dtype_of(p->t.element) == DTYPE_COUNT) {
        tile_fail(t, NULL, "memory of %s", mosaic_element_name(p->t.element));
        return I(0);
    }
    v = load_lanes(t, p, at);
    return spreads ? R(emit_vbcast_lane(t->c, tile_unit(t), vcode_in_register(t->c, v), 0)) : v;
}

int tile_load_packed(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    struct where w = {.stride = 1, .sublanes = ISA_ALL_SUBLANES};
    int64_t part;

    return load_once(t, p, rows_of(t, p, at, &w, &part));
}

/* ----- stores */

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

/* what of a tile is written; mask -1: all of its rows and lanes */
struct part { int64_t rows, lanes; int mask; };

static int joined_mask(struct tiler *t, int a, int b)
{
    return a < 0 ? b : b < 0 ? a : emit_vmand(t->c, a, b);
}

static void put_words(struct tiler *t, const struct place *p, struct isa_rows rows, int mask, int tile)
{
    if (mask < 0)
        emit_vst(t->c, rows, tile, p->region);
    else
        emit_vst_msk(t->c, rows, mask, tile, p->region);
}

/* 32 bits: rows up to the end of a tile, then those that the next one has */
static void store_words(struct tiler *t, const struct place *p, const struct tile_at *at, int tile,
                        const struct part *part)
{
    int64_t first = splits_rows(p) ? p->sublane % TILE_ROWS : 0, unused;
    int all = (1 << part->rows) - 1, here = (1 << (TILE_ROWS - first)) - 1;
    struct where w = {.is_late = p->has_late_row, .more = first, .stride = 1,
                      .sublanes = all & here};
    int below, mask;

    if (!p->has_late_row) {
        put_words(t, p, rows_of(t, p, at, &w, &unused), part->mask, tile);
        w.sublanes = all & ~here;
        w.more += p->t.row_step - TILE_ROWS;
        if (w.sublanes)
            put_words(t, p, rows_of(t, p, at, &w, &unused), part->mask, tile);
        return;
    }
    w.sublanes = all;
    if (part->rows == 1) {
        put_words(t, p, rows_of(t, p, at, &w, &unused), part->mask, tile);
        return;
    }
    below = rows_below(t, less(t, TILE_ROWS, p->late_row));
    mask = joined_mask(t, part->mask, below);
    put_words(t, p, rows_of(t, p, at, &w, &unused), mask, tile);
    w.more += p->t.row_step - TILE_ROWS;
    mask = joined_mask(t, part->mask, emit_vmneg(t->c, below));
    put_words(t, p, rows_of(t, p, at, &w, &unused), mask, tile);
}

/* Row tile number `k` of a packed tile is exchanged where the mask says so. */
static void exchange(struct tiler *t, const struct place *p, struct isa_rows rows, int64_t k,
                     int mask, opnd v)
{
    struct fused_value all = {.is_mask = false};
    int tile = load_once(t, p, rows);

    for (int64_t i = 0; i < packed_of(p); i++)
        all.part[i] = unpacked(t, p, tile, i);
    all.part[k] = mask < 0 ? v : choose(t->c, mask, v, all.part[k]);
    for (int64_t i = 0; i < packed_of(p); i++)
        all.part[i] = code_of(t, p->t.element, all.part[i]);
    emit_vst(t->c, rows, fused_pack(t->c, t->l->chip, dtype_of(p->t.element), &all), p->region);
    tile_forget_region(t, p->region);
}

/* one row of a packed array that lies in rows: it stands in the words of one sublane */
static void exchange_row(struct tiler *t, const struct place *p, const struct tile_at *at, int mask,
                         opnd v)
{
    int64_t packed = packed_of(p), k;
    struct isa_rows rows = linear_row(t, p, at->lane, 0, ISA_ALL_SUBLANES, &k);
    opnd all[4], word = I(0);
    int tile = load_once(t, p, rows), bits = 32 / (int)packed;

    for (int64_t i = 0; i < packed; i++) {
        all[i] = unpacked_row(t, p, tile, i, NULL);
        if (i == k)
            all[i] = mask < 0 ? v : choose(t->c, mask, v, all[i]);
        all[i] = code_of(t, p->t.element, all[i]);
    }
    if (p->t.element == MOSAIC_BF16) {
        word = R(emit_vpack_i_bf16(t->c, all[1], all[0]));
    } else {
        word = bit_and(t->c, all[0], I(255));
        for (int64_t i = 1; i < packed; i++)
            word = bit_or(t->c, word, left(t->c, bit_and(t->c, all[i], I(255)), I(bits * i)));
    }
    rows.stride = 1;
    rows.sublanes = 1;
    emit_vst(t->c, rows, vcode_in_register(t->c, word), p->region);
    tile_forget_region(t, p->region);
}

/* Row tile `v` goes into the row tiles of memory that have a part of it, `i` of them further on. */
static void store_packed_part(struct tiler *t, const struct place *p, const struct tile_at *at,
                              opnd v, const struct part *part)
{
    int64_t most = !splits_rows(p) ? 0 : p->has_late_row ? packed_of(p) : 1, k;
    int64_t first = splits_rows(p) ? p->sublane % TILE_ROWS : 0;
    int given = part->mask;
    struct where w = {.stride = 1, .sublanes = ISA_ALL_SUBLANES};
    opnd by = p->has_late_row ? spread(t, p->late_row) : I(first), row, turned = v;
    struct isa_rows rows;

    if (splits_rows(p)) {               /* rows go down by so many: they come from 8 less */
        opnd back = p->has_late_row ? tile_scalar(t, p->late_back) : I(TILE_ROWS - first);

        turned = R(emit_vrot_slane(t->c, vcode_in_register(t->c, v), back));
        if (given >= 0) {               /* the mask goes with its elements */
            int ones = vcode_in_register(t->c, choose(t->c, given, I(1), I(0)));

            given = emit_vcmp_ne_s32(t->c, R(emit_vrot_slane(t->c, ones, back)), I(0));
        }
    }
    for (int64_t i = 0; i <= most; i++) {
        struct place to = *p;
        int own = -1;

        if (!p->has_late_row && i * TILE_ROWS >= first + part->rows)
            break;
        to.sublane = (p->sublane / TILE_ROWS + i) * TILE_ROWS;
        if (splits_rows(p) || part->rows < TILE_ROWS) { /* its number among the rows of v */
            row = iadd(t->c, right(t->c, R(emit_vlaneseq(t->c)), I(7)), I(i * TILE_ROWS));
            row = isub(t->c, row, by);
            own = emit_vcmp_ge_s32(t->c, row, I(0));
            own = emit_vmand(t->c, own, emit_vcmp_lt_s32(t->c, row, I(part->rows)));
        }
        rows = rows_of(t, &to, at, &w, &k);
        exchange(t, p, rows, k, joined_mask(t, given, own), turned);
    }
}

/* lanes of a tile that begins within one of memory: those of this one, then those of the next */
static void store_lanes(struct tiler *t, const struct place *p, const struct tile_at *at, opnd v,
                        struct part part,
                        void (*put)(struct tiler *, const struct place *, const struct tile_at *,
                                    opnd, const struct part *))
{
    int64_t first = p->lane % TILE_LANES;
    struct tile_at next = *at;
    opnd from, index, last;
    int here, all;

    if (!first && !p->has_late_lane) {
        if (part.lanes < TILE_LANES)
            part.mask = joined_mask(t, part.mask, tile_lane_mask(t, part.lanes));
        put(t, p, at, v, &part);
        return;
    }
    from = p->has_late_lane ? spread(t, p->late_lane) : R(emit_vmov(t->c, I(first)));
    v = turn_lanes(t, v, p->has_late_lane ? tile_scalar(t, p->late_lane) : I(first));
    if (part.mask >= 0) {               /* the mask goes with its elements */
        opnd ones = choose(t->c, part.mask, I(1), I(0));

        ones = turn_lanes(t, ones, p->has_late_lane ? tile_scalar(t, p->late_lane) : I(first));
        part.mask = emit_vcmp_ne_s32(t->c, ones, I(0));
    }
    index = isub(t->c, bit_and(t->c, R(emit_vlaneseq(t->c)), I(TILE_LANES - 1)), from);
    last = I(part.lanes);
    here = emit_vcmp_ge_s32(t->c, index, I(0));
    all = part.mask;
    part.mask = joined_mask(t, all, emit_vmand(t->c, here, emit_vcmp_lt_s32(t->c, index, last)));
    put(t, p, at, v, &part);
    if (!p->has_late_lane && first + part.lanes <= TILE_LANES)
        return;
    next.lane++;
    index = iadd(t->c, index, I(TILE_LANES));
    part.mask = joined_mask(t, all, emit_vcmp_lt_s32(t->c, index, last));
    put(t, p, &next, v, &part);
}

static void put_part(struct tiler *t, const struct place *p, const struct tile_at *at, opnd v,
                     const struct part *part)
{
    if (p->t.rows == TILE_ROWS)
        store_words(t, p, at, stored(t, v), part);
    else if (p->t.is_linear)
        exchange_row(t, p, at, part->mask, v);
    else
        store_packed_part(t, p, at, v, part);
}

/* Its last tile is not full: a loop that comes to it there writes by the number of each row. */
static bool ends_within(const struct place *p)
{
    return row_count(p) > p->t.rows && row_count(p) % p->t.rows != 0;
}

static int mask_of_rows(struct tiler *t, const struct place *p, const struct tile_at *at)
{
    int64_t down = tile_down_of(p);

    if (t->all > down)
        tile_limit(t, down);            /* rows are counted anew in each matrix */
    return emit_vcmp_lt_s32(t->c, tile_row_index(t), I(row_count(p) - at->row % down * TILE_ROWS));
}

/* all of a packed tile, or more than that of what only this kernel has */
static bool covers_tile(const struct tiler *t, const struct place *p, const struct tile_at *at, int parts, const int *mask)
{
    bool is_part = p->buffer >= 0;      /* memory of the program's: others may own the rest */
    int64_t down = tile_down_of(p), first = at->row % down;
    bool is_all = first % packed_of(p) == 0 && (parts == packed_of(p) || first + parts == down);
    int64_t rows = parts * TILE_ROWS - TILE_ROWS + rows_here(p, at->row + parts - 1);
    bool all_rows = is_all && (!is_part || p->covers_rows ||
                               (rows == p->t.rows && !(t->is_moving && ends_within(p))));
    bool all_lanes = !is_part || p->covers_lanes || p->t.lane_dim < 0 ||
                     (at->lane + 1) * TILE_LANES <= p->t.dim[p->t.lane_dim];

    return p->t.rows > TILE_ROWS && !p->t.is_linear && !mask && !splits_rows(p) && !p->lane &&
           !p->has_late_lane && all_rows && all_lanes;
}

bool tile_store(struct tiler *t, const struct mosaic_op *op, const struct place *p,
                const struct tile_at *at, const opnd *value, int parts, const int *mask)
{
    enum graph_dtype dtype = dtype_of(p->t.element);
    bool is_part = p->buffer >= 0;
    struct fused_value packed = {.is_mask = false};
    struct where w = {.stride = 1, .sublanes = ISA_ALL_SUBLANES};
    struct isa_rows rows;
    int64_t unused;

    if (p->t.rows > TILE_ROWS && dtype == DTYPE_COUNT)
        return tile_fail(t, op, "memory of %s", mosaic_element_name(p->t.element));
    if (covers_tile(t, p, at, parts, mask)) {
        for (int i = 0; i < p->t.rows / TILE_ROWS; i++)
            packed.part[i] = code_of(t, p->t.element, R(stored(t, value[i < parts ? i : parts - 1])));
        rows = rows_of(t, p, at, &w, &unused);
        emit_vst(t->c, rows, fused_pack(t->c, t->l->chip, dtype, &packed), p->region);
        tile_forget_region(t, p->region);
        return true;
    }
    for (int i = 0; i < parts; i++) {
        struct tile_at there = *at;
        struct part one = {.rows = TILE_ROWS, .lanes = TILE_LANES, .mask = mask ? mask[i] : -1};

        there.row += i;
        if ((is_part && !p->covers_rows) || splits_rows(p) || p->t.is_linear)
            one.rows = rows_here(p, there.row);
        if (one.rows == TILE_ROWS && is_part && !p->covers_rows && t->is_moving && ends_within(p))
            one.mask = joined_mask(t, one.mask, mask_of_rows(t, p, &there));
        if (p->t.lane_dim >= 0 && is_part && !p->covers_lanes)
            one.lanes = p->t.dim[p->t.lane_dim] - there.lane * TILE_LANES;
        if (one.lanes > TILE_LANES)
            one.lanes = TILE_LANES;
        store_lanes(t, p, &there, value[i], one, put_part);
    }
    tile_forget_region(t, p->region);
    return true;
}
