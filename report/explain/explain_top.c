/* Ranks the places that a cause's cycles come from. */
#include "report/explain/explain_impl.h"

#include <string.h>

bool explain_is_spill(const char *note)
{
    size_t length = strlen(note), suffix = strlen(EXPLAIN_SPILL_SUFFIX);

    return length >= suffix && strcmp(note + length - suffix, EXPLAIN_SPILL_SUFFIX) == 0;
}

/* rules 2 and 3 of docs/explain.md take issued bundles and waits for a busy array */
static bool counts_issue(enum cause c)
{
    return c == CAUSE_USEFUL || c == CAUSE_PASSES || c == CAUSE_PADDING || c == CAUSE_UNDERFILL ||
           c == CAUSE_VECTOR || c == CAUSE_ISSUE;
}

static bool counts_stall(enum cause c, enum stall_reason r)
{
    switch (r) {
    case STALL_HBM: return cause_info(c)->family == CAUSE_FAMILY_MEMORY && c != CAUSE_CMEM;
    case STALL_ICI: return cause_info(c)->family == CAUSE_FAMILY_NETWORK;
    case STALL_MXU: return c == CAUSE_USEFUL || c == CAUSE_PASSES || c == CAUSE_PADDING ||
                           c == CAUSE_UNDERFILL;
    default: return explain_stall_cause(r) == c;
    }
}

cycle_t explain_place_cycles(const struct explain_place *p, enum cause c)
{
    bool is_spill = explain_is_spill(p->note);
    cycle_t sum = counts_issue(c) || c == CAUSE_SPILLS ? p->issue_cycles : 0;

    if (is_spill != (c == CAUSE_SPILLS))
        return 0;
    for (int r = 0; r < STALL_COUNT; r++)
        if (is_spill || counts_stall(c, (enum stall_reason)r))
            sum += p->stall_cycles[r];
    return sum + (is_spill ? p->other_stall_cycles : 0);
}

size_t explain_top_places(const struct explain_input *in, enum cause c, bool bundles,
                          size_t index[], size_t count)
{
    size_t found = 0;

    for (size_t p = 0; p < in->place_count; p++) {
        cycle_t cycles = explain_place_cycles(&in->place[p], c);
        size_t i = found;

        if (in->place[p].is_bundle != bundles || cycles == 0)
            continue;
        while (i > 0 && explain_place_cycles(&in->place[index[i - 1]], c) < cycles) {
            if (i < count)
                index[i] = index[i - 1];
            i--;
        }
        if (i < count)
            index[i] = p;
        found += found < count;
    }
    return found;
}
