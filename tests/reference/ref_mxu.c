/*
 * The matrix units: docs/mxu.md. A register is a matrix of floats that shifts
 * element by element.
 */
#include "sim/lanes/f32_exact.h"
#include "tests/reference/ref_impl.h"
#include "tests/reference/ref_pack.h"
#include "tests/test.h"

#define ROWS_MAX 64                     /* of a tile of 4-bit values */

/* the rows of a tile as values of bf16 */
struct rows {
    int count;
    float value[ROWS_MAX][LANES];
};

static int64_t by_type(enum matrix_type t, const int64_t cycles[5])
{
    switch (t) {
    case MATRIX_F32: return cycles[0];
    case MATRIX_BF16: return cycles[1];
    case MATRIX_S8: case MATRIX_U8: return cycles[2];
    case MATRIX_S4: case MATRIX_U4: return cycles[3];
    default: return cycles[4];
    }
}

static int64_t cycles_of_type(const struct chip *c, const struct matrix_op *m)
{
    const int64_t push[] = {c->mxu_push_f32_cycles, c->mxu_push_bf16_cycles,
                            c->mxu_push_int8_cycles, c->mxu_push_int4_cycles,
                            c->mxu_push_fp8_cycles};
    const int64_t rows[] = {c->mxu_matmul_f32_cycles, c->mxu_matmul_bf16_cycles,
                            c->mxu_matmul_int8_cycles, c->mxu_matmul_int4_cycles,
                            c->mxu_matmul_fp8_cycles};

    return by_type(m->type, m->kind == MATRIX_PUSH ? push : rows);
}

/* a prep takes one of the cycles of the operation that takes it; that one keeps at least one */
int ref_matrix_cycles(const struct chip *chip, const struct matrix_op *m)
{
    int64_t cycles = cycles_of_type(chip, m);

    if (m->kind == MATRIX_PREP_WEIGHTS || m->kind == MATRIX_PREP_ROWS)
        return 1;
    if (m->is_xpose)
        cycles *= chip->mxu_push_xpose_factor;
    return (int)(m->uses_prep && cycles > 1 ? cycles - 1 : cycles);
}

void ref_mxu_reset(struct ref_mxu *u, const struct chip *chip)
{
    u->array_free_at = u->port_free_at = u->staged_at[0] = u->staged_at[1] = 0;
    u->weights.is_full = u->rows.is_full = false;
    u->result.count = 0;
    for (int i = 0; i < 2; i++) {
        if (u->staging[i]->is_touched)
            memset(u->staging[i], 0, sizeof(*u->staging[i]));
        u->staging[i]->kind = u->gain[i]->kind = WEIGHTS_NONE;
    }
    for (int i = 0; i < chip->mxu_accumulators; i++) {
        u->accumulator[i].has_sum = false;
        u->accumulator[i].popped = 0;
    }
}

/* subnormals are zeros */
static float value_of(enum matrix_type type, uint32_t code)
{
    switch (type) {
    case MATRIX_F32: return f32_flush(f32_round_to_bf16(f32_from_bits(code)));
    case MATRIX_BF16: return f32_flush(f32_from_bits(code << 16));
    case MATRIX_S8: return (float)code - (code < 128 ? 0 : 256);
    case MATRIX_S4: return (float)code - (code < 8 ? 0 : 16);
    case MATRIX_U8: case MATRIX_U4: return (float)code;
    default: return f32_from_bits(ref_f32_from_fp8((int)type - MATRIX_F8E5M2, code));
    }
}

static void read_rows(enum matrix_type type, const uint32_t (*tile)[LANES], struct rows *r)
{
    int bits = 32 / matrix_values_per_word(type);

    r->count = matrix_rows(type);
    for (int i = 0; i < r->count; i++)
        for (int j = 0; j < LANES; j++)
            r->value[i][j] = value_of(type, ref_packed(tile, bits, i, j));
}

/* the tile of an operation, +0 where its mask does not hold */
static void read_operand(struct ref_op *x, const struct matrix_op *m, ref_tile tile)
{
    bool by_halves = m->takes_type_of_push || m->type != MATRIX_F32;

    memcpy(tile, ref_v(x, m->is_masked ? 1 : 0), sizeof(ref_tile));
    if (!m->is_masked)
        return;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++) {
            const struct ref_mask *mask = ref_m(x, 0);
            bool low = mask->half[0][i][j], high = by_halves ? mask->half[1][i][j] : low;

            tile[i][j] &= (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
        }
}

/* one element, where shifts go along k, or along n with .xpose */
static float *element(struct ref_matrix *w, bool is_xpose, int along, int across)
{
    return is_xpose ? &w->value[across][along] : &w->value[along][across];
}

/*
 * Lanes across..across + 127 shift by the rows of the tile between `along` and
 * `end`; the rows (NULL: zeros) fill what falls free.
 */
static void shift(struct ref_matrix *w, bool is_xpose, int along, int end, int across, int count,
                  const struct rows *in)
{
    for (int i = end - 1; i >= along + count; i--)
        for (int j = across; j < across + LANES; j++)
            *element(w, is_xpose, i, j) = *element(w, is_xpose, i - count, j);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < LANES; j++)
            *element(w, is_xpose, along + i, across + j) = in ? in->value[i][j] : 0;
}

static void clear(struct ref_matrix *w, int k, int n)
{
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++)
            w->value[k + i][n + j] = 0;
}

static void push_weights(struct ref_matrix *w, const struct matrix_op *m, int size,
                         const struct rows *lower, const struct rows *upper)
{
    bool is_xpose = m->is_xpose;
    int count = lower->count;

    w->is_touched = true;
    if (m->mode < 2) {
        shift(w, is_xpose, 0, size, 0, count, lower);
        if (size > LANES)
            shift(w, is_xpose, 0, size, LANES, count, upper);
    } else if (m->mode == 2) {
        shift(w, is_xpose, 0, LANES, 0, count, lower);
        shift(w, is_xpose, LANES, size, 0, count, upper);
        shift(w, is_xpose, 0, LANES, LANES, count, NULL);
        shift(w, is_xpose, LANES, size, LANES, count, NULL);
    } else {
        shift(w, is_xpose, 0, LANES, 0, count, lower);
        shift(w, is_xpose, LANES, size, LANES, count, upper);
        clear(w, 0, LANES);
        clear(w, LANES, 0);
    }
}

static void fill_prep(struct ref_op *x, const struct matrix_op *m, struct ref_prep *p)
{
    if (p->is_full)
        ref_fault(x->c, x->at, FAULT_OPERATION, "a prep register is filled twice");
    p->is_full = true;
    p->takes_type_of_push = m->takes_type_of_push;
    p->type = m->type;
    read_operand(x, m, p->tile);
}

static void take_prep(struct ref_op *x, const struct matrix_op *m, struct ref_prep *p,
                      struct rows *rows)
{
    if (!p->is_full)
        ref_fault(x->c, x->at, FAULT_OPERATION, "a prep register is empty");
    else if (!p->takes_type_of_push && p->type != m->type)
        ref_fault(x->c, x->at, FAULT_OPERATION, "a prep register holds another type");
    p->is_full = false;
    read_rows(m->type, (const uint32_t (*)[LANES])p->tile, rows);
}

static enum ref_weights kind_of(enum matrix_type t)
{
    return matrix_is_integer(t) ? WEIGHTS_INTEGERS : WEIGHTS_FLOATS;
}

static void weights(struct ref_op *x)
{
    struct matrix_op m = matrix_op_of_isa(x->op);
    struct ref_mxu *u = &x->c->mxu[x->op->unit_index];
    cycle_t start = later(x->at, u->port_free_at);
    struct rows lower, upper = {.count = 0};
    ref_tile tile;

    u->port_free_at = start + ref_matrix_cycles(&x->c->m->chip, &m);
    ref_occupy(x->c, x->op, start, u->port_free_at);
    if (m.kind == MATRIX_PREP_WEIGHTS) {
        fill_prep(x, &m, &u->weights);
        return;
    }
    memset(&upper, 0, sizeof(upper));
    if (m.uses_prep)
        take_prep(x, &m, &u->weights, &upper);
    read_operand(x, &m, tile);
    read_rows(m.type, (const uint32_t (*)[LANES])tile, &lower);
    push_weights(u->staging[m.staging], &m, (int)x->c->m->chip.mxu_size, &lower, &upper);
    u->staging[m.staging]->kind = kind_of(m.type);
    u->staged_at[m.staging] = u->port_free_at;
}

/*
 * a * b + sum, rounded once. The product of two bf16 is exact in a double. The
 * sum in a double rounds to the same f32 as the exact one, unless it lies half
 * way between two or is tiny; then the careful way is taken.
 */
static float add_product(float a, float b, float sum)
{
    double near = (double)a * (double)b + (double)sum;
    uint64_t bits;

    if (isnan(near))
        return f32_nan();
    memcpy(&bits, &near, sizeof(bits));
    if ((bits & 0x1fffffff) == 0x10000000 || (near != 0 && fabs(near) < 0x1p-120))
        return f32_fma(a, b, sum);
    return (float)near;
}

/*
 * 128 sums: the chain over k = 1, 0, 3, 2, 5, 4, … from +0. Where all weights of
 * k are zeros, and so the products, only a sum of -0 can change.
 */
static void chain(const float *row, const struct ref_matrix *w, int size, int first_column,
                  float sum[LANES])
{
    for (int n = 0; n < LANES; n++)
        sum[n] = 0;
    for (int i = 0; i < size; i++) {
        int k = i ^ 1;
        bool is_zero = w->is_zero_row[k] && isfinite(row[k]);

        for (int n = 0; n < LANES; n++)
            if (!is_zero || f32_bits(sum[n]) == 0x80000000u)
                sum[n] = add_product(row[k], w->value[k][first_column + n], sum[n]);
    }
}

/* group g of 8 rows, half h of the columns */
static void multiply(const struct chip *chip, float row[ROWS_MAX][256],
                     const struct ref_matrix *w, bool is_integer, int g, int h, ref_tile tile)
{
    float sum[LANES];

    for (int i = 0; i < 8; i++) {
        chain(row[8 * g + i], w, (int)chip->mxu_size, LANES * h, sum);
        for (int j = 0; j < LANES; j++)
            tile[i][j] = is_integer ? (uint32_t)f32_to_s32(sum[j]) : f32_bits(sum[j]);
    }
}

static void accumulate(struct ref_op *x, struct ref_accumulator *a, int half, bool is_integer,
                       cycle_t ready_at, const ref_tile tile)
{
    bool is_last = half + 1 == chip_mxu_halves(&x->c->m->chip);

    if (a->popped > 0)
        ref_fault(x->c, x->at, FAULT_OPERATION, "an accumulator is half popped");
    else if (a->has_sum && a->is_integer != is_integer)
        ref_fault(x->c, x->at, FAULT_OPERATION, "an accumulator of another type");
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++) {
            uint32_t old = a->has_sum ? a->sum[half][i][j] : 0, *sum = &a->sum[half][i][j];

            *sum = is_integer ? old + tile[i][j]
                              : f32_bits(f32_add(f32_from_bits(old), f32_from_bits(tile[i][j])));
        }
    a->ready_at[half] = ready_at;
    if (is_last) {
        a->has_sum = true;
        a->is_integer = is_integer;
    }
}

static void find_zero_rows(struct ref_matrix *w)
{
    for (int k = 0; k < 256; k++) {
        w->is_zero_row[k] = true;
        for (int n = 0; n < 256; n++)
            w->is_zero_row[k] &= w->value[k][n] == 0;
    }
}

static void load_gain(struct ref_op *x, const struct matrix_op *m, struct ref_mxu *u)
{
    struct ref_matrix *gain = u->gain[m->gain];

    if (m->staging >= 0) {
        *gain = *u->staging[m->staging];
        memset(u->staging[m->staging]->value, 0, sizeof(gain->value));
        u->staging[m->staging]->is_touched = false;
        find_zero_rows(gain);
        if (gain->kind == WEIGHTS_NONE)         /* zeros are of any kind */
            gain->kind = kind_of(m->type);
    }
    if (gain->kind != kind_of(m->type))
        ref_fault(x->c, x->at, FAULT_OPERATION, "weights of another kind, or none");
}

static void read_left(struct ref_op *x, const struct matrix_op *m, struct ref_mxu *u,
                      float row[ROWS_MAX][256])
{
    struct rows lower, upper;
    ref_tile tile;

    memset(&upper, 0, sizeof(upper));
    if (m->uses_prep)
        take_prep(x, m, &u->rows, &upper);
    read_operand(x, m, tile);
    read_rows(m->type, (const uint32_t (*)[LANES])tile, &lower);
    for (int i = 0; i < lower.count; i++)
        for (int j = 0; j < LANES; j++) {
            row[i][j] = lower.value[i][j];
            row[i][LANES + j] = upper.value[i][j];
        }
}

/* the i-th tile leaves i x matmul cycles / tiles after the first */
static void send(struct ref_op *x, const struct matrix_op *m, struct ref_mxu *u,
                 float row[ROWS_MAX][256], cycle_t first_at)
{
    const struct chip *chip = &x->c->m->chip;
    struct matrix_op whole = {.kind = MATRIX_MULTIPLY, .type = m->type};
    int halves = chip_mxu_halves(chip), tiles = halves * matrix_rows(m->type) / 8;
    bool is_integer = matrix_is_integer(m->type);
    ref_tile tile;

    if (strcmp(chip->mxu_sum, "chain") != 0)
        fail_msg("the reference does not know sums of %s", chip->mxu_sum);
    for (int i = 0; i < tiles && x->c->state != REF_FAULTED; i++) {
        cycle_t ready_at = first_at + i * ref_matrix_cycles(chip, &whole) / tiles;

        multiply(chip, row, u->gain[m->gain], is_integer, i / halves, i % halves, tile);
        if (m->accumulator < 0)
            ref_push(x, &u->result, ready_at, OP_VPOP_MRF, is_integer,
                     (const uint32_t (*)[LANES])tile);
        else
            accumulate(x, &u->accumulator[m->accumulator + i / halves], i % halves, is_integer,
                       ready_at, (const uint32_t (*)[LANES])tile);
    }
}

static void rows(struct ref_op *x)
{
    struct matrix_op m = matrix_op_of_isa(x->op);
    const struct chip *chip = &x->c->m->chip;
    struct ref_mxu *u = &x->c->mxu[x->op->unit_index];
    cycle_t start = later(x->at, u->array_free_at);
    cycle_t enters = start + (m.kind == MATRIX_MULTIPLY && m.staging >= 0 ? chip->mxu_latch_cycles
                                                                          : 0);
    float row[ROWS_MAX][256];

    u->array_free_at = enters + ref_matrix_cycles(chip, &m);
    ref_occupy(x->c, x->op, start, u->array_free_at);
    if (m.kind == MATRIX_PREP_ROWS) {
        fill_prep(x, &m, &u->rows);
        return;
    }
    read_left(x, &m, u, row);
    load_gain(x, &m, u);
    if (x->c->state != REF_FAULTED)
        send(x, &m, u, row, enters + chip->mxu_latency_cycles);
}

void ref_VMATPUSH(struct ref_op *x) { weights(x); }
void ref_VMATPUSH_MSK(struct ref_op *x) { weights(x); }
void ref_VMATPREP_SUBR(struct ref_op *x) { weights(x); }
void ref_VMATPREP_SUBR_MSK(struct ref_op *x) { weights(x); }
void ref_VMATPREP_MUBR(struct ref_op *x) { rows(x); }
void ref_VMATPREP_MUBR_MSK(struct ref_op *x) { rows(x); }
void ref_VMATMUL(struct ref_op *x) { rows(x); }
void ref_VMATMUL_MSK(struct ref_op *x) { rows(x); }
void ref_VMATMUL_ACC(struct ref_op *x) { rows(x); }
void ref_VMATMUL_ACC_MSK(struct ref_op *x) { rows(x); }

void ref_VPOP_MRF(struct ref_op *x) { ref_pop(x, &x->c->mxu[x->op->unit_index].result); }

void ref_VPOP_MRB(struct ref_op *x)
{
    struct matrix_op m = matrix_op_of_isa(x->op);
    struct ref_accumulator *a = &x->c->mxu[x->op->unit_index].accumulator[m.accumulator];

    memcpy(x->tile, a->sum[a->popped], sizeof(x->tile));
    if (++a->popped == chip_mxu_halves(&x->c->m->chip)) {
        a->popped = 0;
        a->has_sum = false;
    }
}

void ref_VDWG(struct ref_op *x)
{
    struct ref_mxu *u = &x->c->mxu[x->op->unit_index];

    u->gain[0]->kind = u->gain[1]->kind = WEIGHTS_NONE;
}
