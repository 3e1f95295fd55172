/*
 * Source operations from afar: for columns of time, those that had most of the
 * cycles. Asked of the run in tiles and kept, like viz/models/columns.h.
 */
#ifndef VIZ_NOTE_COLUMNS_H
#define VIZ_NOTE_COLUMNS_H
#include "viz/models/tiles.h"

#define NOTE_COLUMN_TOP 3
#define NOTE_TILE_COLUMNS 16
enum { NOTE_COLUMNS_TILES_MAX = 256 };  /* for tiles_create */

struct note_column {
    uint32_t note[NOTE_COLUMN_TOP];     /* most cycles first, as ntrace_note_cycles numbers them;
                                         * 0: no more */
    float share[NOTE_COLUMN_TOP];       /* of the column's cycles */
};

/*
 * The columns number * NOTE_TILE_COLUMNS.. of 2^level cycles each. NULL: not made, for the budget
 * is used up.
 */
const struct note_column *note_columns_tile(struct tiles *c, int core, int level, int64_t number);
#endif
