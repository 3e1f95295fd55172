/*
 * The rules by which XProf makes its suggestions, with its thresholds, applied
 * to a simulated step. Where the simulator has no such thing there is no rule.
 */
#ifndef REPORT_EXPLAIN_RULES_H
#define REPORT_EXPLAIN_RULES_H
#include "report/explain/explain.h"

struct explain_rule {
    const char *name;                   /* "share of the step that waits for input" */
    double percent, threshold_percent;
    bool is_below;                      /* speaks below the threshold, else from it on, */
    bool is_silent;                     /* but not where its other condition is not met */
    const char *suggestion;             /* what it says when it speaks */
};

#define EXPLAIN_RULE_COUNT 9
void explain_rules(const struct explain *x, struct explain_rule rule[EXPLAIN_RULE_COUNT]);

static inline bool explain_rule_speaks(const struct explain_rule *r)
{
    if (r->is_silent)
        return false;
    return r->is_below ? r->percent < r->threshold_percent : r->percent >= r->threshold_percent;
}
#endif
