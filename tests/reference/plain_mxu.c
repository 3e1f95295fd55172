#include "tests/reference/plain_mxu.h"

#include "base/floats.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"

#include <math.h>
#include <stdarg.h>

#define RESULT_ROW 16384                /* results lie behind the operands in VMEM */

/* bits: sign, exponent, fraction; gradual underflow; no special values */
static double small_float(uint32_t code, int exponent_bits, int fraction_bits, int bias)
{
    uint32_t exponent = code >> fraction_bits & ((1u << exponent_bits) - 1);
    double fraction = code & ((1u << fraction_bits) - 1);
    double sign = code >> (exponent_bits + fraction_bits) ? -1 : 1;

    fraction /= 1 << fraction_bits;
    if (exponent == 0)
        return sign * fraction * pow(2, 1 - bias);
    return sign * (1 + fraction) * pow(2, (int)exponent - bias);
}

double plain_value(enum matrix_type type, uint32_t code)
{
    switch (type) {
    case MATRIX_F32: return (double)f32_from_bits(code);
    case MATRIX_BF16: return small_float(code, 8, 7, 127);
    case MATRIX_S8: return code < 128 ? (double)code : (double)code - 256;
    case MATRIX_S4: return code < 8 ? (double)code : (double)code - 16;
    case MATRIX_U8: case MATRIX_U4: return code;
    case MATRIX_F8E5M2:
        if ((code & 0x7f) == 0x7c)
            return code & 0x80 ? -INFINITY : INFINITY;
        return (code & 0x7f) > 0x7c ? NAN : small_float(code, 5, 2, 15);
    case MATRIX_F8E4M3B11FNUZ: return code == 0x80 ? NAN : small_float(code, 4, 3, 11);
    case MATRIX_F8E4M3FN: return (code & 0x7f) == 0x7f ? NAN : small_float(code, 4, 3, 7);
    default: fail_msg("type %d", (int)type); return 0;
    }
}

uint32_t plain_bits(enum matrix_type type, uint32_t code)
{
    double value = type == MATRIX_F32 || type == MATRIX_BF16 ? 0 : plain_value(type, code);

    if (type == MATRIX_F32)
        return (uint32_t)reference_bf16(code) << 16;
    if (type == MATRIX_BF16)
        return code << 16;
    return isnan(value) ? 0x7fc00000 : f32_bits((float)value);
}

static uint32_t random_code(enum matrix_type type, struct rng *r)
{
    float integer = (float)rng_below(r, 33) - 16;
    uint32_t code;
    double size;

    switch (type) {
    case MATRIX_F32: return f32_bits(integer);
    case MATRIX_BF16: return f32_bits(integer) >> 16;
    case MATRIX_S8: case MATRIX_U8: return rng_below(r, 256);
    case MATRIX_S4: case MATRIX_U4: return rng_below(r, 16);
    default:
        do {
            code = rng_below(r, 256);
            size = fabs(plain_value(type, code));
        } while (!(size == 0 || (size >= 0.25 && size < 8)));
        return code;
    }
}

void plain_pack(struct plain_tile *t)
{
    int rows = matrix_rows(t->type), per_word = rows / 8;

    memset(t->word, 0, sizeof(t->word));
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < 128; j++) {
            t->word[r / per_word * 128 + j] |= t->code[r][j] << (r % per_word * (32 / per_word));
            t->value[r][j] = plain_value(t->type, t->code[r][j]);
        }
}

void plain_random(struct plain_tile *t, enum matrix_type type, struct rng *r)
{
    t->type = type;
    for (int i = 0; i < matrix_rows(type); i++)
        for (int j = 0; j < 128; j++)
            t->code[i][j] = random_code(type, r);
    plain_pack(t);
}

void plain_open(struct plain *m, const char *chip, const char *set, const char *simd)
{
    struct rig_options options = {.set = {set}, .simd = simd};

    rig_open(&m->rig, chip, &options);
    rng_init(&m->rng, 77);
    m->size = (int)m->rig.chip.mxu_size;
    plain_begin(m);
}

void plain_close(struct plain *m)
{
    rig_close(&m->rig);
}

void plain_begin(struct plain *m)
{
    memset(m->staging, 0, sizeof(m->staging));
    memset(m->gain, 0, sizeof(m->gain));
    m->length = 0;
    m->tile_count = m->result_count = 0;
}

void plain_add(struct plain *m, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    m->length += (size_t)vsnprintf(m->text + m->length, sizeof(m->text) - m->length, fmt, ap);
    va_end(ap);
    assert_true(m->length < sizeof(m->text));
}

void plain_load(struct plain *m, int vreg, const uint32_t *word)
{
    struct err e;
    int row = 8 * m->tile_count++;

    assert_true(row + 8 <= RESULT_ROW);
    assert_int_equal(machine_vmem_write(m->rig.m, 0, 512L * row, word, 4096, &e), 0);
    plain_add(m, "{ v%d = vld [vmem:%d] }\n", vreg, row);
}

/* one element, with rows and columns exchanged for columns that are pushed */
static double *at(struct plain *m, int staging, bool is_xpose, int along, int across)
{
    return is_xpose ? &m->staging[staging][across][along] : &m->staging[staging][along][across];
}

/* shift lines first..end-1 of `across` by the rows of the tile within along..along_end-1 */
static void shift(struct plain *m, int staging, bool is_xpose, const int along[2],
                  const int across[2], const struct plain_tile *in, int rows)
{
    for (int c = across[0]; c < across[1]; c++) {
        for (int a = along[1] - 1; a >= along[0] + rows; a--)
            *at(m, staging, is_xpose, a, c) = *at(m, staging, is_xpose, a - rows, c);
        for (int a = 0; a < rows; a++)
            *at(m, staging, is_xpose, along[0] + a, c) = in ? in->value[a][c % 128] : 0;
    }
}

static void clear(struct plain *m, int staging, int k, int n)
{
    for (int i = 0; i < 128; i++)
        for (int j = 0; j < 128; j++)
            m->staging[staging][128 * k + i][128 * n + j] = 0;
}

void plain_push(struct plain *m, int staging, int mode, bool is_xpose,
                const struct plain_tile *lower, const struct plain_tile *upper)
{
    const int all[] = {0, m->size}, low[] = {0, 128}, high[] = {128, 256};
    int rows = matrix_rows(lower->type);

    if (mode < 2) {
        shift(m, staging, is_xpose, all, low, lower, rows);
        if (m->size > 128)
            shift(m, staging, is_xpose, all, high, upper, rows);
    } else if (mode == 2) {
        shift(m, staging, is_xpose, low, low, lower, rows);
        shift(m, staging, is_xpose, high, low, upper, rows);
        shift(m, staging, is_xpose, low, high, NULL, rows);
        shift(m, staging, is_xpose, high, high, NULL, rows);
    } else {
        shift(m, staging, is_xpose, low, low, lower, rows);
        shift(m, staging, is_xpose, high, high, upper, rows);
        clear(m, staging, 0, 1);
        clear(m, staging, 1, 0);
    }
}

void plain_pop(struct plain *m, const char *pop, int count)
{
    for (int i = 0; i < count; i++, m->result_count++)
        plain_add(m, "{ v30 = %s.mxu0 }\n{ vst [vmem:%d] v30 }\n", pop,
                  RESULT_ROW + 8 * m->result_count);
}

void plain_run(struct plain *m)
{
    plain_add(m, "{ shalt }\n");
    rig_cycles(&m->rig, m->text);
}

void plain_result(struct plain *m, int index, uint32_t word[1024])
{
    struct err e;

    assert_int_equal(machine_vmem_read(m->rig.m, 0, 512L * (RESULT_ROW + 8 * index), word, 4096,
                                       &e), 0);
}
