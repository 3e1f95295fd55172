/*
 * Where things lie: vectors and buffers in rows of VMEM, references to parts of arrays.
 *
 * Arrays lie as the compiler's own do (stack/hlo/array.h): tiles of 8, 16 or 32 rows by 128 lanes in
 * row-major order of (outer dimensions, rows, lanes), in HBM and in VMEM alike; one dimension lies
 * in rows of 128 elements.
 */
#include "stack/kernels/mosaic/lower.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

static int64_t limit_of(const struct lower *l)
{
    int64_t rows = l->job->vmem_rows;

    if (l->k->vmem_limit_bytes && l->k->vmem_limit_bytes / ARRAY_ROW_BYTES < rows)
        rows = l->k->vmem_limit_bytes / ARRAY_ROW_BYTES;
    return l->job->vmem_row + rows;
}

void pallas_take_for(struct lower *l, const struct mosaic_value *v)
{
    l->until = v ? l->needed_until[v->id] : FOREVER;
}

void pallas_release(struct lower *l)
{
    int kept = 0;

    for (int i = 0; i < l->taken_count; i++)
        if (l->taken[i].until >= l->at)
            l->taken[kept++] = l->taken[i];
    l->taken_count = kept;
}

/* ----- what was taken, for tables of memory */

static void note_buffer(struct lower *l, const struct mosaic_op *op, const char *what, int64_t row,
                        int64_t rows)
{
    MEM_ADD(l->buffer, l->buffer_count, l->buffer_capacity) = (struct kernel_buffer){
        .kind = BUFFER_VECTOR, .name = what, .copies = 1, .row = row, .rows = rows,
        .origin = op ? op->number : 0};
}

void pallas_buffer_is(struct lower *l, enum kernel_buffer_kind kind, const char *name, int copies)
{
    struct kernel_buffer *b = &l->buffer[l->buffer_count - 1];

    b->kind = kind;
    b->name = name;
    b->copies = copies;
}

static int64_t kib(int64_t rows)
{
    return rows * ARRAY_ROW_BYTES / 1024;
}

/* All that stands there for the whole kernel, buffer by buffer, and what finds no room. */
static void refuse_rows(struct lower *l, const struct mosaic_op *op, int64_t left, int64_t limit)
{
    struct kernel_buffer *last = &l->buffer[l->buffer_count - 1];
    char taken[160] = "";
    size_t at = 0;
    int64_t others = 0;

    last->does_not_fit = true;
    for (int i = 0; i < l->buffer_count - 1; i++) {
        const struct kernel_buffer *b = &l->buffer[i];
        char one[64];

        if (b->kind == BUFFER_VECTOR) {
            continue;
        } else if (b->copies > 1) {
            text_print(one, sizeof(one), "%s%s %d x %lld", at ? ", " : "", b->name, b->copies,
                       (long long)kib(b->rows / b->copies));
        } else {
            text_print(one, sizeof(one), "%s%s %lld", at ? ", " : "", b->name,
                       (long long)kib(b->rows));
        }
        if (at + strlen(one) + 24 < sizeof(taken))
            at += (size_t)text_print(taken + at, sizeof(taken) - at, "%s", one);
        else
            others += b->rows;
    }
    if (others)
        text_print(taken + at, sizeof(taken) - at, ", others %lld", (long long)kib(others));
    pallas_fail(l, op, "%s takes %lld KiB of VMEM, of which %lld KiB are left of %lld KiB%s%s",
                last->name, (long long)kib(last->rows), (long long)kib(left),
                (long long)kib(limit), taken[0] ? "; KiB taken: " : "", taken);
}

/* the first room between what is taken: its row; *at: of what is taken, what comes behind it */
static int64_t find_room(const struct lower *l, int64_t rows, int *at)
{
    int64_t first = l->job->vmem_row + l->spill_tiles * TILE_ROWS;

    for (*at = 0; *at < l->taken_count && l->taken[*at].row < first + rows; ++*at)
        first = l->taken[*at].row + l->taken[*at].rows;
    return first;
}

bool pallas_has_room(const struct lower *l, int64_t rows)
{
    int at;

    rows = round_up(rows, TILE_ROWS);
    return find_room(l, rows, &at) + rows <= limit_of(l);
}

int64_t pallas_rows(struct lower *l, int64_t rows, const struct mosaic_op *op, const char *what)
{
    int64_t limit = limit_of(l), first, left;
    int at;

    rows = round_up(rows, TILE_ROWS);
    first = find_room(l, rows, &at);
    left = limit - first > 0 ? limit - first : 0;
    note_buffer(l, op, what, first, rows);
    if (rows > left)
        refuse_rows(l, op, left, limit - l->job->vmem_row);
    MEM_ADD(l->taken, l->taken_count, l->taken_capacity) = (struct taken){0, 0, 0};
    for (int i = l->taken_count - 1; i > at; i--)
        l->taken[i] = l->taken[i - 1];
    l->taken[at] = (struct taken){first, rows, l->until};
    if (first + rows > l->peak_rows)
        l->peak_rows = first + rows;
    return first;
}

int64_t pallas_rows_of(struct lower *l, int region, int64_t rows, const struct mosaic_op *op,
                       const char *what)
{
    int64_t row = pallas_rows(l, rows, op, what);

    while (l->room_count <= region)
        MEM_ADD(l->room, l->room_count, l->room_capacity) = (struct vcode_room){0, 0};
    l->room[region] = (struct vcode_room){row, rows};
    return row;
}

static int tile_rows_of(enum mosaic_element e)
{
    int bits = mosaic_element_bits(e);

    return bits >= 32 ? TILE_ROWS : TILE_ROWS * 32 / bits;
}

void tiles_of(struct tiles *t, const struct mosaic_type *type)
{
    int64_t rows, down, across, step;

    *t = (struct tiles){.element = type->element, .rank = type->rank,
                        .row_dim = type->rank - 2, .lane_dim = type->rank - 1,
                        .rows = tile_rows_of(type->element)};
    for (int d = 0; d < type->rank; d++)
        t->dim[d] = type->dim[d];
    if (type->rank < 2)
        t->row_dim = -1;
    if (type->rank < 1)
        t->lane_dim = -1;
    rows = t->row_dim >= 0 ? t->dim[t->row_dim] : 1;
    down = div_up(rows, t->rows);
    across = t->lane_dim >= 0 ? div_up(t->dim[t->lane_dim], TILE_LANES) : 1;
    t->lane_step = TILE_ROWS;
    t->row_step = across * TILE_ROWS;
    step = down * t->row_step;
    for (int d = type->rank - 3; d >= 0; d--) {
        t->outer_step[d] = step;
        step *= t->dim[d];
    }
}

/* memory of one dimension, as it lies in HBM and, so that blocks are one copy, in VMEM */
void tiles_linear(struct tiles *t)
{
    if (t->rank != 1)
        return;
    t->is_linear = true;
    t->lane_step = 1;
}

int64_t tiles_rows(const struct tiles *t)
{
    int64_t rows = t->row_dim >= 0 ? t->dim[t->row_dim] : 1;
    int64_t lanes = t->lane_dim >= 0 ? t->dim[t->lane_dim] : 1, outer = 1;

    if (t->is_linear)
        return div_up(lanes, TILE_LANES * t->rows / TILE_ROWS);
    for (int d = 0; d < t->rank; d++)
        if (d != t->row_dim && d != t->lane_dim)
            outer *= t->dim[d];
    return outer * div_up(rows, t->rows) * div_up(lanes, TILE_LANES) * TILE_ROWS;
}

struct place place_new(struct lower *l, const struct mosaic_type *type, const struct mosaic_op *op,
                       const char *what)
{
    struct place p = {.is_there = true, .space = MOSAIC_VMEM, .buffer = -1,
                      .region = l->next_region++, .covers_rows = true, .covers_lanes = true};
    struct mosaic_type wide = *type;

    if (wide.element == MOSAIC_I1)      /* truths are kept as words */
        wide.element = MOSAIC_I32;
    tiles_of(&p.t, &wide);
    p.base = pallas_rows_of(l, p.region, tiles_rows(&p.t), op, what);
    return p;
}

struct scalar place_row(struct lower *l, const struct place *p)
{
    struct scalar base = scalar_known(p->base);

    return p->has_offset ? scalar_add(l, p->offset, base) : base;
}

/* ----- parts of an array */

static void move_base(struct lower *l, struct place *p, struct scalar index, int64_t step)
{
    if (index.is_known) {
        p->base += (int64_t)index.value * step;
        return;
    }
    index = scalar_mul(l, index, step);
    p->offset = p->has_offset ? scalar_add(l, p->offset, index) : index;
    p->has_offset = true;
}

struct scalar place_shifted(struct lower *l, struct scalar s, int by)
{
    struct isa_operand x;
    int to;

    if (s.is_known || by == 0)
        return by ? scalar_known((uint32_t)s.value >> by) : s;
    x = scalar_use(l, s);
    to = scalar_register(l);
    emit_sshrl(&l->code, to, x, I(by));
    return scalar_keep(l, R(to));
}

struct scalar place_masked(struct lower *l, struct scalar s, int64_t mask)
{
    struct isa_operand x;
    int to;

    if (s.is_known)
        return scalar_known(s.value & mask);
    x = scalar_use(l, s);
    to = scalar_register(l);
    emit_sand(&l->code, to, x, I(mask));
    return scalar_keep(l, R(to));
}

static int log2_of(int64_t n) { return __builtin_ctz((unsigned)n); }

/* from a row on that is computed, anywhere in a tile */
static void move_late_rows(struct lower *l, struct place *p, struct scalar index, int64_t multiple)
{
    int64_t words = p->t.rows / TILE_ROWS, before = p->has_late_row ? p->late_multiple : p->t.rows;
    struct scalar from = p->has_late_row ? p->late_row : scalar_known(p->sublane);

    p->late_multiple = p->t.rows;       /* the largest power of two that all are of */
    while (multiple % p->late_multiple || before % p->late_multiple || p->sublane % p->late_multiple)
        p->late_multiple /= 2;

    index = scalar_add(l, index, from);
    move_base(l, p, place_shifted(l, index, log2_of(p->t.rows)), p->t.row_step);
    p->sublane = 0;
    p->has_late_row = true;
    p->late_row = place_masked(l, index, p->t.rows - 1);
    p->late_word = place_masked(l, p->late_row, words - 1);
    p->late_part = place_shifted(l, p->late_row, log2_of(TILE_ROWS));
    p->late_sublane = place_masked(l, p->late_row, TILE_ROWS - 1);
    p->late_back = scalar_sub(l, scalar_known(TILE_ROWS), p->late_sublane);
}

static int refuse_part(struct lower *l, const struct mosaic_op *op, const char *what, int unit)
{
    return pallas_fail(l, op, "%s from an index on that is no multiple of %d for certain "
                       "(pl.multiple_of says that it is)", what, unit);
}

/* along rows: whole tiles, or, of 32 bits with one tile across, any row; of VMEM any row at all */
static int move_rows(struct lower *l, const struct mosaic_op *op, struct place *p,
                     struct scalar index, int64_t multiple)
{
    if (p->stride > 1)
        return pallas_fail(l, op, "a part of memory that is taken with a stride");
    if (p->t.rows == TILE_ROWS && p->t.row_step == TILE_ROWS) {
        move_base(l, p, index, 1);
        return 0;
    }
    if (multiple % p->t.rows == 0) {
        if (index.is_known) {
            p->base += index.value / p->t.rows * p->t.row_step;
            return 0;
        }
        if (p->t.row_step % p->t.rows == 0) {
            move_base(l, p, index, p->t.row_step / p->t.rows);
            return 0;
        }
        move_base(l, p, place_shifted(l, index, log2_of(p->t.rows)), p->t.row_step);
        return 0;
    }
    if (p->space != MOSAIC_VMEM && multiple % (p->t.rows / TILE_ROWS))
        return refuse_part(l, op, "rows", p->t.rows / TILE_ROWS);
    if (index.is_known && !p->has_late_row) {
        int64_t row = p->sublane + index.value;

        p->base += row / p->t.rows * p->t.row_step;
        p->sublane = row % p->t.rows;
        return 0;
    }
    move_late_rows(l, p, index, multiple);
    return 0;
}

/* of an array that lies in rows of 128, whose words have several rows each */
static int move_linear(struct lower *l, const struct mosaic_op *op, struct place *p,
                       struct scalar index, int64_t multiple)
{
    int64_t unit = TILE_LANES * p->t.rows / TILE_ROWS, lane;

    if (index.is_known && !p->has_late_lane) {
        lane = p->lane + index.value;
        p->base += lane / unit;
        p->lane = lane % unit;
        if (p->lane && p->space != MOSAIC_VMEM)
            return refuse_part(l, op, "elements", (int)unit);
        return 0;
    }
    if (multiple % unit && (p->space != MOSAIC_VMEM || unit > TILE_LANES))
        return refuse_part(l, op, "elements", (int)unit);
    index = scalar_add(l, index, p->has_late_lane ? p->late_lane : scalar_known(p->lane));
    move_base(l, p, place_shifted(l, index, log2_of(unit)), 1);
    if (multiple % unit == 0 && !p->has_late_lane && !p->lane)
        return 0;
    if (unit > TILE_LANES)
        return refuse_part(l, op, "elements", (int)unit);
    p->lane = 0;
    p->has_late_lane = true;
    p->late_lane = place_masked(l, index, TILE_LANES - 1);
    p->lane_turn = scalar_sub(l, scalar_known(TILE_LANES), p->late_lane);
    return 0;
}

static int move_lanes(struct lower *l, const struct mosaic_op *op, struct place *p,
                      struct scalar index, int64_t multiple)
{
    bool is_whole = multiple % TILE_LANES == 0;

    if (p->t.is_linear)
        return move_linear(l, op, p, index, multiple);
    if (!is_whole && p->space != MOSAIC_VMEM)
        return refuse_part(l, op, "lanes", TILE_LANES);
    if (index.is_known && !p->has_late_lane) {
        int64_t lane = p->lane + index.value;

        p->base += lane / TILE_LANES * p->t.lane_step;
        p->lane = lane % TILE_LANES;
        return 0;
    }
    if (is_whole && !p->has_late_lane && !p->lane && p->t.lane_step == TILE_ROWS) {
        move_base(l, p, place_shifted(l, index, 4), 1);       /* 128 lanes are 8 rows */
        return 0;
    }
    index = scalar_add(l, index, p->has_late_lane ? p->late_lane : scalar_known(p->lane));
    move_base(l, p, place_shifted(l, index, log2_of(TILE_LANES)), p->t.lane_step);
    p->lane = 0;
    p->has_late_lane = true;
    p->late_lane = place_masked(l, index, TILE_LANES - 1);
    p->lane_turn = scalar_sub(l, scalar_known(TILE_LANES), p->late_lane);
    return 0;
}

/* words of SMEM: element by element, as tiles of 32 bits lie or in one row */
static void move_words(struct lower *l, struct place *p, int d, struct scalar index)
{
    move_base(l, p, index, p->t.outer_step[d] * 4);
}

int place_move(struct lower *l, const struct mosaic_op *op, struct place *p, int dim,
               struct scalar index, int64_t multiple)
{
    int status = 0;

    if (p->space == MOSAIC_SMEM)
        move_words(l, p, dim, index);
    else if (dim == p->t.row_dim)
        status = move_rows(l, op, p, index, multiple);
    else if (dim == p->t.lane_dim)
        status = move_lanes(l, op, p, index, multiple);
    else
        move_base(l, p, index, p->t.outer_step[dim]);
    if (p->has_late_row)
        p->row_offset = scalar_add(l, p->offset,
                                   place_shifted(l, p->late_row, log2_of(p->t.rows / TILE_ROWS)));
    return status;
}

int place_slice(struct lower *l, const struct mosaic_op *op, const struct place *p,
                const struct mosaic_value *const *index, const int64_t *size, struct place *to)
{
    struct place made = *p;

    for (int d = 0; d < p->t.rank; d++) {
        struct scalar s = scalar_of(l, index[d]);
        int64_t last = size ? size[d] : 1;

        if (s.is_known && last >= 0 && (s.value < 0 || s.value + last > p->t.dim[d]))
            return pallas_fail(l, op, "elements %d to %lld of dimension %d, which has %lld", s.value,
                              (long long)(s.value + last - 1), d, (long long)p->t.dim[d]);
        if (size && size[d] != p->t.dim[d]) {
            made.t.dim[d] = size[d] < 0 ? p->t.dim[d] : size[d];
            made.covers_rows = made.covers_rows && d != p->t.row_dim;
            made.covers_lanes = made.covers_lanes && d != p->t.lane_dim;
        }
        if (s.is_known && s.value == 0)
            continue;
        if (place_move(l, op, &made, d, s, scalar_multiple(l, index[d])))
            return -1;
    }
    *to = made;
    return 0;
}

/* dimensions of size 1 go or come; what is left keeps its order */
static int squeeze(const struct place *p, const struct mosaic_type *type, struct place *to)
{
    struct place made = *p;
    int at = 0;

    made.t.rank = type->rank;
    made.t.row_dim = made.t.lane_dim = -1;
    for (int d = 0; d < type->rank; d++) {
        while (at < p->t.rank && p->t.dim[at] != type->dim[d] && p->t.dim[at] == 1)
            at++;
        made.t.dim[d] = type->dim[d] == MOSAIC_DYNAMIC && at < p->t.rank ? p->t.dim[at]
                                                                        : type->dim[d];
        if (at < p->t.rank && p->t.dim[at] == made.t.dim[d]) {
            made.t.outer_step[d] = p->t.outer_step[at];
            if (at == p->t.row_dim)
                made.t.row_dim = d;
            if (at == p->t.lane_dim)
                made.t.lane_dim = d;
            at++;
        } else if (type->dim[d] == 1) {
            made.t.outer_step[d] = 0;
        } else {
            return -1;
        }
    }
    for (; at < p->t.rank; at++)
        if (p->t.dim[at] != 1)
            return -1;
    *to = made;
    return 0;
}

/* another list of outer dimensions and rows of the same lanes, where whole tiles follow each other */
static int regroup(const struct place *p, const struct mosaic_type *type, struct place *to)
{
    struct tiles whole;
    struct mosaic_type own = {.kind = MOSAIC_REF, .element = p->t.element, .rank = p->t.rank};
    struct mosaic_type other = *type;   /* what only products read is kept narrower than its type */
    struct tiles now;

    for (int d = 0; d < p->t.rank; d++)
        own.dim[d] = p->t.dim[d];
    other.element = p->t.element;
    tiles_of(&now, &own);
    tiles_of(&whole, &other);
    if (p->t.rank < 2 || type->rank < 2 || p->t.row_dim != p->t.rank - 2 ||
        p->t.dim[p->t.rank - 1] != type->dim[type->rank - 1] || now.row_step != p->t.row_step ||
        (p->t.rank > 2 && now.outer_step[0] != p->t.outer_step[0]) ||
        p->t.dim[p->t.rank - 2] % p->t.rows || type->dim[type->rank - 2] % p->t.rows)
        return -1;
    *to = *p;
    to->t = whole;
    return 0;
}

bool place_reshape(const struct place *p, const struct mosaic_type *type, struct place *to)
{
    struct place from = *p;

    return !squeeze(&from, type, to) || dense_reshape(&from, type, to) || !regroup(&from, type, to);
}

int pallas_memref_squeeze(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const struct place *p = &l->place[op->operand[0]->id];
    struct place *to = &l->place[op->result[0]->id];

    if (t->element != p->t.element)
        return pallas_fail(l, op, "memory of one type seen as another");
    if (!place_reshape(p, t, to))
        return pallas_fail(l, op, "other dimensions than its rows and lanes have");
    return 0;
}

/* memory of another width of elements, in the same tiles */
int pallas_memref_bitcast(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const struct place *p = &l->place[op->operand[0]->id];
    struct mosaic_type own = {.kind = MOSAIC_REF, .element = p->t.element, .rank = p->t.rank};
    struct place made = *p;
    struct tiles whole;

    if (t->element == p->t.element)
        return pallas_memref_squeeze(l, op);
    memcpy(own.dim, p->t.dim, sizeof(own.dim));
    tiles_of(&whole, &own);
    if (p->t.rank < 2 || t->rank != p->t.rank || !place_is_plain(p) ||
        p->t.dim[p->t.rank - 2] % p->t.rows || whole.row_step != p->t.row_step ||
        memcmp(whole.outer_step, p->t.outer_step, sizeof(whole.outer_step)) ||
        mosaic_element_bits(t->element) < 8)
        return pallas_fail(l, op, "memory of %s seen as %s in rows that are no whole tiles",
                           mosaic_element_name(p->t.element), mosaic_element_name(t->element));
    tiles_of(&made.t, t);
    l->place[op->result[0]->id] = made;
    return 0;
}

/* elements of a dimension that are a tile, of a vector of words a row of memory; 2^30 where a part
 * must be of a known size */
static int64_t unit_of(const struct place *p, int dim)
{
    if (dim == p->t.lane_dim && (p->t.lane_step == TILE_ROWS ||
                                 (p->t.is_linear && p->t.rank == 1 && p->t.rows == TILE_ROWS)))
        return TILE_LANES;
    return dim == p->t.row_dim ? p->t.rows : INT64_C(1) << 30;
}

/*
 * Of rows that are packed in twos Pallas rounds the last block of an array up to 8, half a tile: all
 * of that tile is copied. Behind it the array ends, or what it is read into is not read.
 */
static bool may_have_half(const struct place *p, int dim, int64_t multiple)
{
    return dim == p->t.row_dim && p->t.rows == 2 * TILE_ROWS && multiple % TILE_ROWS == 0;
}

/* a part that goes on to the end of the array's last tile ends with the array */
static int64_t known_size(const struct place *p, int dim, int64_t size)
{
    return size > p->t.dim[dim] && size <= round_up(p->t.dim[dim], unit_of(p, dim)) &&
                   unit_of(p, dim) <= TILE_LANES
               ? p->t.dim[dim] : size;
}

static struct scalar whole_tiles(struct lower *l, struct scalar size, int64_t unit)
{
    struct isa_operand x = scalar_use(l, scalar_add(l, size, scalar_known(unit - 1)));
    int to = scalar_register(l);

    emit_sand(&l->code, to, x, I(-unit));
    return scalar_keep(l, R(to));
}

/* of a part: the values that say its size along rows or lanes, and what those surely are of */
struct sizes { const struct mosaic_value *of_row, *of_lane; int64_t multiple; };

/* Notes a size that is known as the kernel runs; false: the part may end within a tile, or it is not
 * along the last two dimensions. */
static bool add_size(struct lower *l, const struct place *p, int dim, const struct mosaic_value *size,
                     struct sizes *sizes)
{
    int64_t multiple = scalar_multiple(l, size);

    if (multiple % unit_of(p, dim) && !may_have_half(p, dim, multiple))
        return false;
    if (dim == p->t.lane_dim) {
        sizes->of_lane = size;
    } else {
        sizes->of_row = size;
        sizes->multiple = multiple;
    }
    return true;
}

static void set_sizes(struct lower *l, struct place *to, const struct sizes *sizes)
{
    to->has_row_size = sizes->of_row != NULL;
    to->has_lane_size = sizes->of_lane != NULL;
    if (to->has_lane_size)
        to->lane_size = scalar_of(l, sizes->of_lane);
    if (!to->has_row_size)
        return;
    to->row_size = scalar_of(l, sizes->of_row);
    to->has_half = sizes->multiple % to->t.rows != 0;
    if (to->has_half)
        to->row_size = whole_tiles(l, to->row_size, to->t.rows);
}

int pallas_memref_slice(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const struct place *p = &l->place[op->operand[0]->id];
    struct place *to = &l->place[op->result[0]->id];
    struct sizes late = {0};
    int64_t size[MOSAIC_RANK_MAX] = {0};
    int sizes, count;

    if (t->rank != p->t.rank)
        return pallas_fail(l, op, "%d dimensions of %d", t->rank, p->t.rank);
    sizes = op->segment_count ? mosaic_group(op, 2, &count) : 1 + t->rank;
    for (int d = 0; d < t->rank; d++) {
        size[d] = t->dim[d];
        if (size[d] != MOSAIC_DYNAMIC)
            continue;
        if (sizes < op->operand_count && scalar_of(l, op->operand[sizes]).is_known) {
            size[d] = known_size(p, d, scalar_of(l, op->operand[sizes++]).value);
            continue;
        }
        if (sizes >= op->operand_count || !add_size(l, p, d, op->operand[sizes++], &late))
            return pallas_fail(l, op, "a part of a computed size that is no whole number of tiles for "
                               "certain (pl.multiple_of says that it is)");
        size[d] = -1;
    }
    if (place_slice(l, op, p, (const struct mosaic_value *const *)op->operand + 1, size, to))
        return -1;
    set_sizes(l, to, &late);
    return 0;
}

int pallas_dim(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[0]->id];
    struct scalar d = scalar_of(l, op->operand[1]);

    if (!d.is_known || d.value < 0 || d.value >= p->t.rank)
        return pallas_fail(l, op, "a dimension that is not known");
    l->scalar[op->result[0]->id] = scalar_known(p->t.dim[d.value]);
    return 0;
}

static int open_flags(struct lower *l, const struct mosaic_op *op, const struct mosaic_type *t,
                      struct place *p)
{
    int64_t count = mosaic_elements(t), end = l->job->first_flag + l->job->flag_count;

    p->t.row_dim = p->t.lane_dim = -1;
    words_steps(&p->t, 1);
    p->base = l->next_flag;
    if (count < 0 || count > end - l->next_flag)
        return pallas_fail(l, op, "%lld semaphores, %lld are left", (long long)count,
                          (long long)(end - l->next_flag));
    l->next_flag += (int)count;
    return 0;
}

/* A buffer of its own, in the space that its type names. */
int pallas_alloca(struct lower *l, const struct mosaic_op *op)
{
    return place_open(l, op, op->result[0], "a buffer of the kernel");
}

int pallas_sem_alloc(struct lower *l, const struct mosaic_op *op)
{
    return pallas_alloca(l, op);
}

bool place_is_column(const struct place *p)
{
    return p->is_there && p->t.lane_dim >= 0 && p->t.dim[p->t.lane_dim] == 1;
}

int place_open(struct lower *l, const struct mosaic_op *op, const struct mosaic_value *v,
               const char *what)
{
    const struct mosaic_type *t = &v->type;
    int64_t rows;
    struct place *p = &l->place[v->id];

    if (cell_can_be(l, v))
        return cell_open(l, op, v);
    *p = (struct place){.is_there = true, .space = t->space, .buffer = v->id,
                        .region = l->next_region++, .covers_rows = true, .covers_lanes = true};
    tiles_of(&p->t, t);
    tiles_linear(&p->t);
    switch (t->space) {
    case MOSAIC_SMEM: return words_open(l, op, t, p);
    case MOSAIC_SEMAPHORES: return open_flags(l, op, t, p);
    case MOSAIC_VMEM:
        rows = dense_can_be(l, v) ? dense_tiles(&p->t) : tiles_rows(&p->t);
        p->base = pallas_rows_of(l, p->region, rows, op, what);
        p->is_spread = place_is_column(p) && place_only_loops_use(l->k, v);
        pallas_buffer_is(l, BUFFER_SCRATCH, what, 1);
        return l->is_failed ? -1 : 0;
    default:
        return pallas_fail(l, op, "%s in %s; VMEM, SMEM and semaphores are made", what,
                          mosaic_space_name(t->space));
    }
}
