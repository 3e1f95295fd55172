/*
 * Source operations from afar: for columns of time, those that had most of the
 * cycles. Asked of the run in tiles and kept, like viz/models/columns.h.
 */
#ifndef VIZ_NOTE_COLUMNS_H
#define VIZ_NOTE_COLUMNS_H
#include "report/native_trace/ntrace.h"

#define NOTE_COLUMN_TOP 3
#define NOTE_TILE_COLUMNS 16

struct note_column {
    uint32_t note[NOTE_COLUMN_TOP];     /* most cycles first, as ntrace_note_cycles numbers them;
                                         * 0: no more */
    float share[NOTE_COLUMN_TOP];       /* of the column's cycles */
};
struct note_columns;

struct note_columns *note_columns_create(struct ntrace *run);
void note_columns_destroy(struct note_columns *c);
void note_columns_forget(struct note_columns *c);               /* the run has grown */

/*
 * The columns number * NOTE_TILE_COLUMNS.. of 2^level cycles each. NULL: not made,
 * for the budget of note_columns_set_budget (-1: none) is used up.
 */
const struct note_column *note_columns_tile(struct note_columns *c, int core, int level,
                                            int64_t number);
void note_columns_set_budget(struct note_columns *c, int tiles);
void note_columns_set_late(struct note_columns *c, int64_t late_ns);     /* as columns_set_late */
bool note_columns_is_partial(const struct note_columns *c);
#endif
