/* Converts tiles of every matrix type to bf16, by tables of all codes where values are narrow. */
#include "sim/lanes/matrix_tile.h"

#include <pthread.h>

#include "base/fp8.h"

/* at most 5 bits of exponent and 8 of a number: the f32 is a bf16 too */
static float float_of(enum matrix_type type, unsigned bits)
{
    switch (type) {
    case MATRIX_S8: return (float)(int8_t)bits;
    case MATRIX_U8: return (float)bits;
    case MATRIX_S4: return (float)((int)(bits ^ 8u) - 8);
    case MATRIX_U4: return (float)bits;
    case MATRIX_F8E5M2: return f32_from_bits(fp8_to_f32_bits(fp8_e5m2, bits));
    case MATRIX_F8E4M3FN: return f32_from_bits(fp8_to_f32_bits(fp8_e4m3fn, bits));
    default: return f32_from_bits(fp8_to_f32_bits(fp8_e4m3b11fnuz, bits));
    }
}

/* by type and code; four bits use the first 16 */
static uint16_t tables[MATRIX_TYPE_COUNT][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    for (int t = MATRIX_S8; t < MATRIX_TYPE_COUNT; t++) {
        unsigned count = matrix_values_per_word((enum matrix_type)t) == 8 ? 16 : 256;

        for (unsigned code = 0; code < count; code++)
            tables[t][code] = bf16_from_f32(float_of((enum matrix_type)t, code));
    }
}

static const uint16_t *table_of(enum matrix_type type)
{
    pthread_once(&tables_once, fill_tables);
    return tables[type];
}

/* words of narrow values into rows: row r of them in bits r x width of their sublane */
static void rows_of_narrow(enum matrix_type type, const uint32_t *tile, uint32_t row[][64])
{
    const uint16_t *table = table_of(type);
    int per_word = matrix_values_per_word(type), width = 32 / per_word;
    uint32_t mask = (1u << width) - 1;

    for (int r = 0; r < 8 * per_word; r++) {
        const uint32_t *word = tile + 128 * (r / per_word);
        int shift = r % per_word * width;

        for (int p = 0; p < 64; p++) {
            uint32_t even = table[word[2 * p] >> shift & mask];
            uint32_t odd = table[word[2 * p + 1] >> shift & mask];

            row[r][p] = even | odd << 16;
        }
    }
}

/* the same as pairs of rows: rows 2p and 2p+1 are neighbours in a word */
static void pairs_of_narrow(enum matrix_type type, const uint32_t *tile, uint32_t *pair)
{
    const uint16_t *table = table_of(type);
    int per_word = matrix_values_per_word(type), width = 32 / per_word;
    uint32_t mask = (1u << width) - 1;

    for (int p = 0; p < 4 * per_word; p++, pair += 128) {
        const uint32_t *word = tile + 128 * (2 * p / per_word);
        int shift = 2 * p % per_word * width;

        for (int n = 0; n < 128; n++) {
            uint32_t low = table[word[n] >> shift & mask];
            uint32_t high = table[word[n] >> shift >> width & mask];

            pair[n] = low | high << 16;
        }
    }
}

void matrix_rows_of_tile(const struct simd_path *simd, enum matrix_type type,
                         const uint32_t *tile, uint32_t row[MATRIX_ROWS_MAX][64])
{
    if (type == MATRIX_F32)
        simd->rows_of_f32(row, tile);
    else if (type != MATRIX_BF16)
        rows_of_narrow(type, tile, row);
    for (int i = 0; type == MATRIX_BF16 && i < 2; i++)
        simd->rows_of_bf16(row + 8 * i, tile + 512 * i);
}

const uint32_t *matrix_groups_of_tile(const struct simd_path *simd, enum matrix_type type,
                                      bool is_columns, const uint32_t *tile,
                                      uint32_t room[MATRIX_ROWS_MAX / 8 * MATRIX_GROUP_WORDS])
{
    uint32_t row[MATRIX_ROWS_MAX][64];

    if (is_columns) {
        matrix_rows_of_tile(simd, type, tile, row);
        for (int r = 0; r < matrix_rows(type); r += 8)
            simd->row_columns((uint32_t (*)[8])(room + 64 * r), (const uint32_t (*)[64])&row[r]);
    } else if (type == MATRIX_F32) {
        simd->pack_rows((uint32_t (*)[128])room, tile);
    } else if (type == MATRIX_BF16) {
        return tile;                    /* a packed tile is made of such pairs */
    } else {
        pairs_of_narrow(type, tile, room);
    }
    return room;
}
