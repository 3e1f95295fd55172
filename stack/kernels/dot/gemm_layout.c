/*
 * Dense matrices of the host to tiles and back (stack/kernels/dot/gemm.h).
 */
#include "stack/kernels/dot/gemm.h"

#include <string.h>

#include "base/floats.h"

#define COLUMNS 128

/* element (row, column) of packed tiles: word [row / 2 % 8][column % 128], half row % 2 */
static size_t packed_index(int64_t row, int64_t column, int64_t columns)
{
    int64_t tile = row / 16 * (columns / COLUMNS) + column / COLUMNS;

    return (size_t)(tile * 2048 + (row % 16 / 2 * COLUMNS + column % COLUMNS) * 2 + row % 2);
}

static size_t f32_index(int64_t row, int64_t column, int64_t columns)
{
    int64_t tile = row / 8 * (columns / COLUMNS) + column / COLUMNS;

    return (size_t)(tile * 1024 + row % 8 * COLUMNS + column % COLUMNS);
}

void gemm_pack(const float *dense, int64_t dense_rows, int64_t dense_columns, int64_t rows,
               int64_t columns, uint16_t *tiles)
{
    memset(tiles, 0, (size_t)(rows * columns) * sizeof(*tiles));
    for (int64_t i = 0; i < dense_rows; i++)
        for (int64_t j = 0; j < dense_columns; j++)
            tiles[packed_index(i, j, columns)] = bf16_from_f32(dense[i * dense_columns + j]);
}

void gemm_unpack_f32(const float *tiles, int64_t columns, int64_t dense_rows,
                     int64_t dense_columns, float *dense)
{
    for (int64_t i = 0; i < dense_rows; i++)
        for (int64_t j = 0; j < dense_columns; j++)
            dense[i * dense_columns + j] = tiles[f32_index(i, j, columns)];
}

void gemm_unpack_bf16(const uint16_t *tiles, int64_t columns, int64_t dense_rows,
                      int64_t dense_columns, float *dense)
{
    for (int64_t i = 0; i < dense_rows; i++)
        for (int64_t j = 0; j < dense_columns; j++)
            dense[i * dense_columns + j] =
                f32_from_bf16(tiles[packed_index(i, j, columns)]);
}
