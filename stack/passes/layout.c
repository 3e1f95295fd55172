/* Packs a dense matrix into tiles of 8 rows by 128 columns, and unpacks it. */
#include "stack/passes/layout.h"

#include "base/units.h"

#include <string.h>

#define ELEM_BYTES 4

struct layout layout_of(const struct shape *s)
{
    struct layout l = {.rows = 1, .columns = s->rank ? s->dim[s->rank - 1] : 1};

    for (int i = 0; i + 1 < s->rank; i++)
        l.rows *= s->dim[i];
    l.tile_rows = div_up(l.rows, TILE_ROWS);
    l.tile_columns = div_up(l.columns, TILE_COLUMNS);
    l.bytes = l.tile_rows * l.tile_columns * TILE_BYTES;
    return l;
}

/* where column 128 * tile_column of row `row` lies in the tiles */
static int64_t tile_offset(const struct layout *l, int64_t row, int64_t tile_column)
{
    int64_t tile = row / TILE_ROWS * l->tile_columns + tile_column;

    return tile * TILE_BYTES + row % TILE_ROWS * TILE_COLUMNS * ELEM_BYTES;
}

/* bytes of row data in one tile: 128 columns, fewer in the last tile */
static size_t piece_bytes(const struct layout *l, int64_t tile_column)
{
    int64_t left = l->columns - tile_column * TILE_COLUMNS;

    return (size_t)(left < TILE_COLUMNS ? left : TILE_COLUMNS) * ELEM_BYTES;
}

void layout_pack(const struct layout *l, const void *dense, void *tiles)
{
    const char *from = dense;
    char *to = tiles;

    memset(to, 0, (size_t)l->bytes);
    for (int64_t row = 0; row < l->rows; row++) {
        for (int64_t t = 0; t < l->tile_columns; t++) {
            size_t bytes = piece_bytes(l, t);

            memcpy(to + tile_offset(l, row, t), from, bytes);
            from += bytes;
        }
    }
}

void layout_unpack(const struct layout *l, const void *tiles, void *dense)
{
    const char *from = tiles;
    char *to = dense;

    for (int64_t row = 0; row < l->rows; row++) {
        for (int64_t t = 0; t < l->tile_columns; t++) {
            size_t bytes = piece_bytes(l, t);

            memcpy(to, from + tile_offset(l, row, t), bytes);
            to += bytes;
        }
    }
}
