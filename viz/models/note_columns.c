/*
 * A cache of the source operations with most cycles in each column of time, in tiles like
 * viz/models/columns.h.
 */
#include "viz/models/note_columns.h"

#include <string.h>

#include "base/arena.h"
#include "viz/view/view.h"

#define TILE_MAX 256

struct tile {
    int core, level;
    int64_t number, used_at;
    struct note_column column[NOTE_TILE_COLUMNS];
};

struct note_columns {
    struct ntrace *run;
    struct tile tile[TILE_MAX];
    int tile_count, budget;
    int64_t late_ns;
    bool is_partial, has_made;
    int64_t uses;
    int64_t *cycles;                    /* by note */
    size_t capacity;
};

struct note_columns *note_columns_create(struct ntrace *run)
{
    struct note_columns *c = mem_alloc(sizeof(*c));

    c->run = run;
    c->budget = -1;
    return c;
}

void note_columns_destroy(struct note_columns *c)
{
    if (!c)
        return;
    mem_free(c->cycles);
    mem_free(c);
}

void note_columns_forget(struct note_columns *c)
{
    c->tile_count = 0;
}

void note_columns_set_budget(struct note_columns *c, int tiles)
{
    c->budget = tiles;
    c->late_ns = 0;
    c->is_partial = c->has_made = false;
}

void note_columns_set_late(struct note_columns *c, int64_t late_ns)
{
    c->late_ns = late_ns;
}

bool note_columns_is_partial(const struct note_columns *c)
{
    return c->is_partial;
}

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

static void make_tile(struct note_columns *c, struct tile *t)
{
    const struct isa_program *p = ntrace_program(c->run, t->core);
    uint32_t count = p ? p->note_count : 0;
    cycle_t width = (cycle_t)1 << t->level, from = t->number * NOTE_TILE_COLUMNS * width;

    c->cycles = mem_grow(c->cycles, &c->capacity, count + 1, sizeof(*c->cycles));
    for (int i = 0; i < NOTE_TILE_COLUMNS; i++, from += width) {
        memset(c->cycles, 0, sizeof(*c->cycles) * (count + 1));
        ntrace_note_cycles(c->run, t->core, from, from + width, c->cycles);
        take_top(c->cycles, count, width, &t->column[i]);
    }
}

const struct note_column *note_columns_tile(struct note_columns *c, int core, int level,
                                            int64_t number)
{
    struct tile *t = NULL, *oldest = &c->tile[0];

    for (int i = 0; i < c->tile_count && !t; i++) {
        struct tile *one = &c->tile[i];

        if (one->number == number && one->level == level && one->core == core)
            t = one;
        if (one->used_at < oldest->used_at)
            oldest = one;
    }
    if (!t && (!c->budget || (c->has_made && view_is_late(c->late_ns)))) {
        c->is_partial = true;
        return NULL;
    }
    if (!t) {
        c->budget -= c->budget > 0;
        c->has_made = true;
        t = c->tile_count < TILE_MAX ? &c->tile[c->tile_count++] : oldest;
        *t = (struct tile){.core = core, .level = level, .number = number};
        make_tile(c, t);
    }
    t->used_at = ++c->uses;
    return t->column;
}
