/* Names the reasons of stalls from stalls.def. */
#include "sim/results/results.h"

static const char *const names[STALL_COUNT] = {
#define STALL(id, name, meaning) name,
#include "sim/results/stalls.def"
};

const char *stall_name(enum stall_reason r)
{
    return names[r];
}
