/* The source operations with most cycles in each column of time. */
#include "viz/models/note_columns.h"

#include <string.h>

#include "base/arena.h"

static void take_top(const int64_t *cycles, uint32_t note_count, cycle_t width,
                     struct note_column *to)
{
    int64_t most[NOTE_COLUMN_TOP] = {0};

    for (uint32_t note = 1; note <= note_count; note++)
        for (int i = 0; i < NOTE_COLUMN_TOP; i++)
            if (cycles[note] > most[i]) {
                for (int k = NOTE_COLUMN_TOP - 1; k > i; k--) {
                    most[k] = most[k - 1];
                    to->note[k] = to->note[k - 1];
                }
                most[i] = cycles[note];
                to->note[i] = note;
                break;
            }
    for (int i = 0; i < NOTE_COLUMN_TOP; i++)
        to->share[i] = (float)most[i] / (float)width;
}

static void make_tile(struct tiles *c, struct tile *t)
{
    const struct isa_program *p = ntrace_program(c->run, t->key.index);
    uint32_t count = p ? p->note_count : 0;
    cycle_t width = (cycle_t)1 << t->key.level, from = t->key.number * NOTE_TILE_COLUMNS * width;
    struct note_column *column = mem_alloc(sizeof(*column) * NOTE_TILE_COLUMNS);
    int64_t *cycles = mem_alloc(sizeof(*cycles) * (count + 1));         /* by note */

    t->content = column;
    for (int i = 0; i < NOTE_TILE_COLUMNS; i++, from += width) {
        memset(cycles, 0, sizeof(*cycles) * (count + 1));
        ntrace_note_cycles(c->run, t->key.index, from, from + width, cycles);
        take_top(cycles, count, width, &column[i]);
    }
    mem_free(cycles);
}

const struct note_column *note_columns_tile(struct tiles *c, int core, int level, int64_t number)
{
    bool is_new;
    struct tile *t = tiles_take(c, (struct tile_key){NTRACE_CORE, core, level, number}, &is_new);

    if (t && is_new)
        make_tile(c, t);
    return t ? t->content : NULL;
}
