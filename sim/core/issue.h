/*
 * Declares the parts of the issue loop (sim/core/core_run.c) that the stream of timing mode
 * (sim/core/run_stream.c) shares.
 */
#ifndef SIM_ISSUE_H
#define SIM_ISSUE_H
#include "sim/core/core.h"

uint32_t issue_guards_that_hold(const struct core *c, const struct decoded_bundle *b);
/* a bundle whose wait is over at *t, or not before: its questions, its issue, or a pause */
void issue_finish(struct core *c, const struct decoded_bundle *b, const struct issue_time *t);
/* the wait from now to `at` to its reason */
void issue_charge(struct core *c, const struct decoded_bundle *b, const struct issue_time *t,
                  cycle_t at);
/* false after a fault */
bool issue_execute(struct core *c, const struct decoded_bundle *b, cycle_t at);
void issue_commit_guarded(struct core *c, const struct decoded_bundle *b, cycle_t at);
/* behind a branch that has come into effect: pc becomes its target */
void issue_jump(struct core *c);
#endif
