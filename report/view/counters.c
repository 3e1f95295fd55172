/* Walks over the counters of report/view/counters.def and reads their values. */
#include "report/view/counters.h"

#include "base/units.h"
#include "hbm/hbm.h"
#include "interconnect/net.h"
#include "sim/results/results.h"

#define STRUCT_CORE struct core_counters
#define STRUCT_TRAFFIC struct core_counters
#define STRUCT_UNIT struct unit_counters
#define STRUCT_HBM struct hbm_stats
#define STRUCT_LINK struct net_link_stats

enum when { ALWAYS, TIMED, LATER, LATER_TIMED };

static const struct counter counters[] = {
#define COUNTER(of, member, key, unit, when, meaning) \
    {COUNTER_##of, key, unit, meaning, offsetof(STRUCT_##of, member), \
     when == TIMED || when == LATER_TIMED, when == LATER || when == LATER_TIMED},
#include "report/view/counters.def"
};

const struct counter *counter_next(enum counter_owner owner, const struct counter *last)
{
    const struct counter *c = last ? last + 1 : counters;

    for (; c < counters + COUNT_OF(counters); c++)
        if (c->owner == owner)
            return c;
    return NULL;
}

int64_t *counter_in(const struct counter *c, void *owner)
{
    return (int64_t *)(void *)((char *)owner + c->at);
}

int64_t counter_value(const struct counter *c, const void *owner)
{
    return *(const int64_t *)(const void *)((const char *)owner + c->at);
}
