/*
 * Contents of the matrix units (docs/mxu.md). A staging register shifts with
 * every push: each quadrant of 128 x 128 is a ring of 16 groups of 8 rows or
 * columns, whichever the last push gave, and a push moves its top. Where a
 * shift goes over both halves, the groups that fall out of the lower quadrant
 * move into the upper one. A change between rows and columns rewrites a
 * quadrant once.
 */
#include "sim/lanes/matrix_tile.h"
#include "sim/lanes/quad4.h"
#include "sim/core/vregs.h"

#include <string.h>

/* what its mnemonic chooses is all that tells an operation from the others of its kind */
#define HANDLER(id, function) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        function(c, o); \
    }

#define GROUP_WORDS MATRIX_GROUP_WORDS
#define GROUPS_MAX (MATRIX_ROWS_MAX / 8)

static size_t quadrant_count(const struct chip *chip)
{
    return (size_t)(chip_mxu_halves(chip) * chip_mxu_halves(chip));
}

/* where results are deferred, two more than gain registers */
static size_t array_count(const struct chip *chip)
{
    return chip_mxu_halves(chip) == 1 ? 4 : 2 * quadrant_count(chip);
}

size_t mxu_bytes(const struct chip *chip)
{
    const struct mxu *m = NULL;

    return array_count(chip) * sizeof(*m->array) +
           2 * quadrant_count(chip) * sizeof(*m->staging[0]) +
           (size_t)chip->mxu_accumulators * sizeof(*m->sum);
}

void mxu_init(struct mxu *m, const struct chip *chip, unsigned char *memory, struct arena *a)
{
    size_t quadrants = quadrant_count(chip), accumulators = (size_t)chip->mxu_accumulators;

    m->array = (void *)memory;
    memory += array_count(chip) * sizeof(*m->array);
    for (int i = 0; i < 2; i++) {
        m->gain[i] = m->array + (size_t)i * quadrants;
        m->old_array[i] = 2 + i;
    }
    m->sum = (void *)memory;
    memory += accumulators * sizeof(*m->sum);
    for (int i = 0; i < 2; i++) {
        m->staging[i] = (void *)memory;
        memory += quadrants * sizeof(*m->staging[i]);
    }
    m->accumulator = arena_array(a, accumulators, sizeof(*m->accumulator));
    m->deferred = arena_array(a, m->result.mask + 1, sizeof(*m->deferred));
}

/* all zeros, whatever stands there; its memory is not touched before a push is */
static void clear_quadrant(struct quadrant *q)
{
    q->filled = 0;
    q->is_columns = false;
    q->top = 0;
}

void mxu_reset(struct mxu *m, const struct chip *chip)
{
    int quadrants = (int)quadrant_count(chip);

    m->array_free_at = m->port_free_at = m->staged_at[0] = m->staged_at[1] = 0;
    m->weights_prepared.is_full = m->rows_prepared.is_full = false;
    for (int i = 0; i < 2; i++)
        m->staged[i] = m->gain_loaded[i] = LOADED_NOTHING;
    memset(m->deferred, 0, m->result.mask + 1);
    memset(m->is_finite, 0, sizeof(m->is_finite));
    for (int i = 0; i < 2 * quadrants; i++)
        clear_quadrant(&m->staging[i / quadrants][i % quadrants]);
    for (int i = 0; i < chip->mxu_accumulators; i++) {
        struct accumulator *a = &m->accumulator[i];

        a->has_sum = false;
        a->popped = a->written = a->read = 0;
    }
}

/* the quadrant as 64 pairs of rows, 128 wide */
static void quadrant_read(const struct quadrant *q, uint32_t array[SIMD_ARRAY_PAIRS][128])
{
    memset(array, 0, q->filled < 16 ? sizeof(array[0]) * SIMD_ARRAY_PAIRS : 0);
    for (int group = 0; group < (int)q->filled; group++) {
        const uint32_t *from = &q->pair[(q->top + (uint32_t)group) % 16 * GROUP_WORDS];

        if (!q->is_columns) {
            memcpy(array[4 * group], from, GROUP_WORDS * sizeof(*from));
            continue;
        }
        for (int p = 0; p < SIMD_ARRAY_PAIRS; p++)
            memcpy(&array[p][8 * group], from + 8 * p, 8 * sizeof(*from));
    }
}

static void make_rows(struct quadrant *q)
{
    uint32_t array[SIMD_ARRAY_PAIRS][128];

    quadrant_read(q, array);
    memcpy(q->pair, array, sizeof(array));
}

static void make_columns(struct quadrant *q)
{
    uint32_t array[SIMD_ARRAY_PAIRS][128];

    quadrant_read(q, array);
    for (int group = 0; group < 16; group++)
        for (int p = 0; p < SIMD_ARRAY_PAIRS; p++)
            memcpy(&q->pair[group * GROUP_WORDS + 8 * p], &array[p][8 * group],
                   8 * sizeof(**array));
}

static void set_kind(struct quadrant *q, bool is_columns)
{
    if (q->is_columns == is_columns)
        return;
    if (q->filled && is_columns)
        make_columns(q);
    else if (q->filled)
        make_rows(q);
    q->filled = q->filled ? 16 : 0;
    q->is_columns = is_columns;
    q->top = 0;
}

/* `count` groups in at the top (NULL: zeros); those that fall out go to `fallen`, if wanted */
static void shift_in(struct quadrant *q, bool is_columns, const uint32_t *groups, int count,
                     uint32_t *fallen)
{
    const size_t bytes = GROUP_WORDS * sizeof(*groups);

    if (!q->filled && !groups) {
        if (fallen)
            memset(fallen, 0, (size_t)count * bytes);
        return;
    }
    set_kind(q, is_columns);
    q->top = (q->top + 16 - (uint32_t)count) % 16;
    for (int group = 0; group < count; group++) {
        uint32_t *slot = &q->pair[(q->top + (uint32_t)group) % 16 * GROUP_WORDS];

        if (fallen && (uint32_t)(16 - count + group) < q->filled)
            memcpy(fallen + group * GROUP_WORDS, slot, bytes);
        else if (fallen)
            memset(fallen + group * GROUP_WORDS, 0, bytes);
        if (groups)
            memcpy(slot, groups + group * GROUP_WORDS, bytes);
        else
            memset(slot, 0, bytes);
    }
    q->filled = q->filled + (uint32_t)count < 16 ? q->filled + (uint32_t)count : 16;
}

/* What a push does: groups of the operand and of the prep register, NULL = zeros. */
struct push {
    struct quadrant *quadrant;
    const struct matrix_op *op;
    const uint32_t *lower, *upper;
    int count;                          /* groups in a tile */
};

/* the quadrant `along` the shift and `across` it: shifts of columns go along n */
static struct quadrant *quadrant_at(const struct push *p, int along, int across)
{
    return &p->quadrant[p->op->is_xpose ? 2 * across + along : 2 * along + across];
}

static void shift_chain(const struct push *p, int across, const uint32_t *groups)
{
    uint32_t fallen[GROUPS_MAX * GROUP_WORDS];

    shift_in(quadrant_at(p, 0, across), p->op->is_xpose, groups, p->count, fallen);
    shift_in(quadrant_at(p, 1, across), p->op->is_xpose, fallen, p->count, NULL);
}

static void shift_one(const struct push *p, int along, int across, const uint32_t *groups)
{
    shift_in(quadrant_at(p, along, across), p->op->is_xpose, groups, p->count, NULL);
}

static void push_256(const struct push *p)
{
    switch (p->op->mode) {
    case 0: case 1:
        shift_chain(p, 0, p->lower);
        shift_chain(p, 1, p->upper);
        break;
    case 2:
        shift_one(p, 0, 0, p->lower);
        shift_one(p, 1, 0, p->upper);
        shift_one(p, 0, 1, NULL);
        shift_one(p, 1, 1, NULL);
        break;
    default:
        shift_one(p, 0, 0, p->lower);
        shift_one(p, 1, 1, p->upper);
        clear_quadrant(quadrant_at(p, 0, 1));
        clear_quadrant(quadrant_at(p, 1, 0));
        break;
    }
}

/* the operand, +0 where its mask does not hold */
static const uint32_t *operand_tile(struct core *c, const struct decoded_op *o,
                                    const struct matrix_op *m, tile_t room)
{
    if (!m->is_masked)
        return vreg_read(c, o->o[0]);
    mask_tile(c->simd, room, &c->m[o->o[0]], vreg_read(c, o->o[1]),
              m->takes_type_of_push || m->type != MATRIX_F32);
    return room;
}

/*
 * Rows of bf16 that were unpacked to f32 only to become bf16 here again. The
 * unpacking flushes nothing and a multiplication takes bf16 subnormals as
 * zeros and any NaN alike, so they may go in as they lie in VMEM.
 */
static bool is_unpacked_rows(const struct core *c, const struct decoded_op *o,
                             const struct matrix_op *m)
{
    return !m->is_masked && m->type == MATRIX_F32 && o->o[0] < ISA_VREG_MAX
           && c->vreg[o->o[0]].form == VREG_UNPACKED;
}

/* weights of an operand, in groups; in `room` or `masked` unless they lie somewhere like that */
static const uint32_t *groups_of_operand(struct core *c, const struct decoded_op *o,
                                         const struct matrix_op *m,
                                         uint32_t room[GROUPS_MAX * GROUP_WORDS], tile_t masked)
{
    uint32_t row[8][64];

    if (!is_unpacked_rows(c, o, m))
        return matrix_groups_of_tile(c->simd, m->type, m->is_xpose, operand_tile(c, o, m, masked),
                                     room);
    if (!m->is_xpose)
        return vregs_row(c, c->vreg[o->o[0]].row);
    c->simd->rows_of_bf16(row, vregs_row(c, c->vreg[o->o[0]].row));
    c->simd->row_columns((uint32_t (*)[8])room, (const uint32_t (*)[64])row);
    return room;
}

static void exec_push(struct core *c, const struct decoded_op *o)
{
    struct matrix_op m = matrix_op_of(o->code, o->o);
    struct mxu *unit = &c->mxu[o->unit];
    uint32_t room[2][GROUPS_MAX * GROUP_WORDS];
    _Alignas(64) tile_t masked;
    struct push p = {.quadrant = unit->staging[m.staging], .op = &m,
                     .count = matrix_rows(m.type) / 8};

    p.lower = groups_of_operand(c, o, &m, room[0], masked);
    if (chip_mxu_halves(c->chip) == 1) {
        shift_in(p.quadrant, m.is_xpose, p.lower, p.count, NULL);
        return;
    }
    if (m.uses_prep)
        p.upper = matrix_groups_of_tile(c->simd, m.type, m.is_xpose, unit->weights_prep, room[1]);
    push_256(&p);
}

HANDLER(VMATPUSH, exec_push)
HANDLER(VMATPUSH_MSK, exec_push)

static void exec_prep(struct core *c, const struct decoded_op *o)
{
    struct matrix_op m = matrix_op_of(o->code, o->o);
    struct mxu *unit = &c->mxu[o->unit];
    uint32_t *to = m.kind == MATRIX_PREP_WEIGHTS ? unit->weights_prep : unit->rows_prep;
    _Alignas(64) tile_t masked;

    memcpy(to, operand_tile(c, o, &m, masked), TILE_BYTES);
}

HANDLER(VMATPREP_SUBR, exec_prep)
HANDLER(VMATPREP_SUBR_MSK, exec_prep)
HANDLER(VMATPREP_MUBR, exec_prep)
HANDLER(VMATPREP_MUBR_MSK, exec_prep)

/* Left-hand rows of a multiplication, by halves of k. */
struct left_hand {
    uint32_t row[2][MATRIX_ROWS_MAX][64];
};

static void rows_of_operand(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                            uint32_t row[][64])
{
    _Alignas(64) tile_t masked;

    if (is_unpacked_rows(c, o, m))
        c->simd->rows_of_bf16(row, vregs_row(c, c->vreg[o->o[0]].row));
    else
        matrix_rows_of_tile(c->simd, m->type, operand_tile(c, o, m, masked), row);
}

static void read_rows(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                      struct left_hand *l)
{
    rows_of_operand(c, o, m, l->row[0]);
    if (m->uses_prep)
        matrix_rows_of_tile(c->simd, m->type, c->mxu[o->unit].rows_prep, l->row[1]);
    else if (chip_mxu_halves(c->chip) > 1)
        memset(l->row[1], 0, sizeof(l->row[1]));
}

/* columns of half n of 8 rows: one chain over both halves of k */
static void multiply_group(const struct core *c, const struct decoded_op *o, int gain,
                           const struct left_hand *l, int group, int n, uint32_t *out)
{
    simd_matmul_fn *matmul = c->sums_quads ? quad4_matmul : c->simd->matmul;
    int halves = chip_mxu_halves(c->chip);

    for (int k = 0; k < halves; k++)
        matmul(out, k ? out : NULL, (const uint32_t (*)[64])&l->row[k][8 * group],
               (const uint32_t (*)[128])c->mxu[o->unit].gain[gain][halves * k + n]);
}

/* the first use of an accumulator adds to +0 */
static void accumulate(const struct core *c, struct mxu *unit, int number, int n, bool is_integer,
                       const uint32_t *addend)
{
    struct accumulator *a = &unit->accumulator[number];
    uint32_t *sum = unit->sum[number][n];

    if (!(a->written >> n & 1))
        memset(sum, 0, TILE_BYTES);
    a->written |= 1 << n;
    c->simd->binary[is_integer ? BIN_ADD_S32 : BIN_ADD_F32](sum, sum, addend);
}

/* where the next result goes */
static uint32_t *result_entry(struct core *c, struct fifo *f)
{
    if (c->vreg_by_entry)
        vregs_settle_entry(c, f->tile[f->written & f->mask]);
    return fifo_write(f);
}

static const uint32_t (*weights_of(const struct mxu *unit, int array))[128]
{
    return (const uint32_t (*)[128])unit->array[array];
}

/* the product of rows that have waited */
static void multiply_deferred(struct core *c, const struct mxu *unit, int array,
                              const uint32_t *rows, uint32_t *to)
{
    c->simd->matmul_add(to, NULL, (const uint32_t (*)[64])rows, weights_of(unit, array),
                        unit->is_finite[array], c->ahead);
}

/* the results on their way that still want weights of an array, or of any: -1 */
static void finish_results(struct core *c, struct mxu *unit, int array)
{
    const struct fifo *f = &unit->result;
    uint32_t row[8][64];

    for (uint32_t i = f->read; i != f->written; i++) {
        uint8_t *deferred = &unit->deferred[i & f->mask];
        uint32_t *entry = f->tile[i & f->mask];

        if (!*deferred || (array >= 0 && *deferred != 1 + array))
            continue;
        memcpy(row, entry, sizeof(row));
        multiply_deferred(c, unit, *deferred - 1, row[0], entry);
        *deferred = 0;
    }
}

void mxu_finish_results(struct core *c)
{
    for (int i = 0; i < c->chip->mxu_count; i++)
        finish_results(c, &c->mxu[i], -1);
}

/* another array becomes the gain register, as results may still want what it holds */
static void change_array(struct core *c, struct mxu *unit, int gain)
{
    int *old = &unit->old_array[unit->next_old], new = *old;

    unit->next_old ^= 1;
    *old = (int)(unit->gain[gain] - unit->array);
    unit->gain[gain] = unit->array + new;
    if (c->vreg_by_entry)
        vregs_settle_products(c, weights_of(unit, new));
    finish_results(c, unit, new);
}

static void load_gain(struct core *c, struct mxu *unit, const struct matrix_op *m)
{
    int quadrants = (int)quadrant_count(c->chip), i;

    if (c->borrows && quadrants == 1)
        change_array(c, unit, m->gain);
    for (i = 0; i < quadrants; i++)
        quadrant_read(&unit->staging[m->staging][i], unit->gain[m->gain][i]);
    for (i = 0; i < quadrants; i++)
        clear_quadrant(&unit->staging[m->staging][i]);
    if (c->borrows && quadrants == 1) {
        i = (int)(unit->gain[m->gain] - unit->array);
        unit->is_finite[i] = c->simd->are_finite(weights_of(unit, i));
    }
}

/* rows wait in the FIFO for whoever wants their product: sim/core/vregs.h */
static bool is_deferred(const struct core *c, const struct decoded_op *o)
{
    return c->borrows && o->matrix->halves == 1 && !o->matrix->is_integer
           && o->matrix->op.accumulator < 0 && !c->sums_quads;
}

static uint32_t *defer(struct core *c, struct mxu *unit, int gain)
{
    uint32_t place = unit->result.written & unit->result.mask;

    unit->deferred[place] = (uint8_t)(1 + (unit->gain[gain] - unit->array));
    return result_entry(c, &unit->result);
}

/* a tile of 8 rows goes into the FIFO as it is read */
static void defer_rows(struct core *c, const struct decoded_op *o)
{
    const struct matrix_op *m = &o->matrix->op;
    struct left_hand l;

    if (o->matrix->tile_count == 1) {
        rows_of_operand(c, o, m, (uint32_t (*)[64])defer(c, &c->mxu[o->unit], m->gain));
        return;
    }
    rows_of_operand(c, o, m, l.row[0]);
    for (int i = 0; i < o->matrix->tile_count; i++)
        memcpy(defer(c, &c->mxu[o->unit], m->gain), l.row[0][8 * i], 8 * sizeof(l.row[0][0]));
}

static void exec_multiply(struct core *c, const struct decoded_op *o)
{
    const struct matrix_op m = o->matrix->op;
    struct mxu *unit = &c->mxu[o->unit];
    int halves = o->matrix->halves;
    struct left_hand l;
    _Alignas(64) tile_t sum;

    if (m.staging >= 0)
        load_gain(c, unit, &m);
    if (is_deferred(c, o)) {
        defer_rows(c, o);
        return;
    }
    read_rows(c, o, &m, &l);
    for (int i = 0; i < o->matrix->tile_count; i++) {
        uint32_t *out = m.accumulator < 0 ? result_entry(c, &unit->result) : sum;

        multiply_group(c, o, m.gain, &l, i / halves, i % halves, out);
        if (o->matrix->is_integer)
            c->simd->unary[UN_S32_FROM_F32](out, out);
        if (m.accumulator >= 0)
            accumulate(c, unit, m.accumulator + i / halves, i % halves, o->matrix->is_integer,
                       sum);
    }
}

HANDLER(VMATMUL, exec_multiply)
HANDLER(VMATMUL_MSK, exec_multiply)
HANDLER(VMATMUL_ACC, exec_multiply)
HANDLER(VMATMUL_ACC_MSK, exec_multiply)

void exec_VPOP_MRF(struct core *c, const struct decoded_op *o)
{
    struct mxu *unit = &c->mxu[o->unit];
    uint8_t *deferred = &unit->deferred[unit->result.read & unit->result.mask];
    int array = *deferred - 1;          /* -1: the product is there */
    uint32_t *entry = fifo_read(&unit->result), *to;

    *deferred = 0;
    if (vreg_may_borrow(c, o->o[0])) {
        vreg_borrow_entry(c, o->o[0], entry, array < 0 ? NULL : weights_of(unit, array),
                          array >= 0 && unit->is_finite[array]);
        return;
    }
    to = vreg_write(c, o->o[0]);
    if (array >= 0)
        multiply_deferred(c, unit, array, entry, to);
    else
        memcpy(to, entry, TILE_BYTES);
}

void exec_VPOP_MRB(struct core *c, const struct decoded_op *o)
{
    struct matrix_op m = matrix_op_of(o->code, o->o);
    struct mxu *unit = &c->mxu[o->unit];
    struct accumulator *a = &unit->accumulator[m.accumulator];

    memcpy(vreg_write(c, o->o[0]), unit->sum[m.accumulator][a->read++], TILE_BYTES);
    if (a->read == chip_mxu_halves(c->chip))
        a->read = a->written = 0;
}

/* only a matter of what may be used: sim/core/timing_mxu.c */
void exec_VDWG(struct core *c, const struct decoded_op *o)
{
    (void)c;
    (void)o;
}
