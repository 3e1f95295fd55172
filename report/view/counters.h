/*
 * The counters of cores, units, memories and links one by one (report/view/counters.def), for who
 * writes or reads all of them.
 */
#ifndef REPORT_COUNTERS_H
#define REPORT_COUNTERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* what has them: struct core_counters (its first ones, then its traffic), unit_counters, … */
enum counter_owner { COUNTER_CORE, COUNTER_TRAFFIC, COUNTER_UNIT, COUNTER_HBM, COUNTER_LINK };

struct counter {
    enum counter_owner owner;
    const char *key, *unit, *meaning;
    size_t at;                          /* an int64_t of the owner's struct */
    bool is_timed;                      /* functional mode does not count it */
    bool may_lack;                      /* in folders of old */
};
/* the first of an owner, or the next one after `last`; NULL: no more */
const struct counter *counter_next(enum counter_owner owner, const struct counter *last);
int64_t *counter_in(const struct counter *c, void *owner);
int64_t counter_value(const struct counter *c, const void *owner);
#endif
