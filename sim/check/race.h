/*
 * Races: an access to a range that a copy under way touches.
 *
 * Per core there is a list of the copies that touch its memories and have not
 * been waited for, each with the sorted pieces it reads and writes there. The
 * core's accesses and copies are held against the list before they are made.
 * A copy from another core joins the list when its issue is committed; the
 * core may have run ahead by then, so its accesses since the last event are
 * kept in a log, and the copy is held against those at or after its issue.
 * docs/engine.md, "Races", says which waits take which copies off the list.
 */
#ifndef SIM_RACE_H
#define SIM_RACE_H
#include "sim/core/core.h"

struct machine;
struct race;

/* *now_ps: no event before it will be committed any more */
struct race *race_create(const ps_t *now_ps);
void race_destroy(struct race *r);
void race_launch(struct race *r, bool is_logged);
/* the program may copy into memories of other cores */
bool race_may_reach_others(const struct decoded_program *p);

/* parallel phase; both false after a fault */
bool race_touch(struct core *c, const struct decoded_op *o, enum memory_space space,
                int64_t first, int64_t bytes, bool is_write);
bool race_issue(struct core *c, struct dma *d);

/* serial phase: a remote copy is issued by `from` */
void race_arrive(struct machine *m, struct core *from, const struct dma *d);
/* the flag of the destination rises, or (is_sent) that of the source of a remote copy */
void race_complete(struct machine *m, const struct core *from, const struct dma *d, bool is_sent);
/* core `c` knows that its flag was at least `value`, at an instant when it is as it is now */
void race_learn(struct machine *m, struct core *c, int32_t flag, int64_t value);
/* the flag of core `c` is overwritten: what copies added to it is lost */
void race_overwrite(struct core *c, int32_t flag);
#endif
