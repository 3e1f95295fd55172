/*
 * Stand-ins for operations that are not known: they do nothing, and the first
 * that a core meets is noted.
 */
#include "sim/core/core.h"

static void note(struct core *c)
{
    struct stand_in_site *site = &c->stand_in;

    if (site->is_met)
        return;
    *site = (struct stand_in_site){.is_met = true, .cycle = c->issue_at, .bundle = c->pc};
    for (uint32_t i = 0; i < c->program->bundle_count; i++) {
        site->bundles += (int64_t)c->bundle_count[i];
        site->operations += (int64_t)c->bundle_count[i] * c->program->source->bundle[i].op_count;
    }
}

#define STAND_IN(id) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        (void)o; \
        note(c); \
    }

STAND_IN(STAND_IN_SCALAR)
STAND_IN(STAND_IN_VALU)
STAND_IN(STAND_IN_EUP)
STAND_IN(STAND_IN_LOAD)
STAND_IN(STAND_IN_STORE)
STAND_IN(STAND_IN_PUSH)
STAND_IN(STAND_IN_POP)
STAND_IN(STAND_IN_MISC)
STAND_IN(STAND_IN_DMA)
