/* Cycles of core 0 by source operation, the largest first. */
#include "report/step_table.h"

#include "base/text.h"

#include <stdlib.h>

#define NOTE_LINES 20                   /* the rest is summed in one line */

struct total {
    cycle_t cycles;
    uint32_t note;                      /* 0 = none */
};

static int compare_totals(const void *x, const void *y)
{
    const struct total *a = x, *b = y;

    if (a->cycles != b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return a->note < b->note ? -1 : a->note > b->note;
}

static void print_total(const struct report_view *v, const char *name, cycle_t cycles, FILE *to)
{
    char number[32];

    fprintf(to, "  %-48.48s %14s %6.1f %%\n", name,
            text_thousands(cycles, number, sizeof(number)),
            view_percent((double)cycles, (double)v->cycles));
}

void step_notes_print(const struct report_view *v, FILE *to)
{
    struct arena a;
    struct total *total;
    cycle_t rest = 0;

    if (!v->note_cycles)
        return;
    arena_init(&a);
    total = arena_array(&a, (size_t)v->program->note_count + 1, sizeof(*total));
    for (uint32_t n = 0; n <= v->program->note_count; n++)
        total[n] = (struct total){v->note_cycles[n], n};
    qsort(total, (size_t)v->program->note_count + 1, sizeof(*total), compare_totals);
    fprintf(to, "\ncycles of core 0 by source operation\n");
    for (uint32_t n = 0; n <= v->program->note_count; n++) {
        if (n >= NOTE_LINES)
            rest += total[n].cycles;
        else if (total[n].cycles > 0)
            print_total(v, total[n].note ? v->program->note[total[n].note - 1] : "(none)",
                        total[n].cycles, to);
    }
    if (rest > 0)
        print_total(v, "(all others)", rest, to);
    arena_fini(&a);
}
