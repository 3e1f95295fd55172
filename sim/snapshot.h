/*
 * Snapshots: the whole state of a machine at a pause of machine_advance.
 *
 * In memory: machine_save appends it to a byte string, machine_restore puts it
 * back, any number of times, into the same machine or into another one with
 * the same chip, slice, mode, checks and programs. What follows is the same to
 * the bit as without the pause, whatever the host threads, the SIMD path and
 * memoisation of either machine. A trace goes along where both keep one.
 *
 * Not part of it: machine_options other than those named, and counters until
 * machine_finish sums them up. Memory that is zero takes no room.
 */
#ifndef SIM_SNAPSHOT_H
#define SIM_SNAPSHOT_H
#include "base/archive.h"
#include "base/err.h"
#include "sim/machine.h"

/* between machine_start and machine_finish, outside machine_advance; out->data is the caller's */
void machine_save(const struct machine *m, struct bytes *out);

/*
 * -1 with *e naming what differs: the machine is as before. -1 because the
 * bytes are no whole snapshot: its launch is as machine_start leaves it, and
 * contents of memories are unspecified.
 */
int machine_restore(struct machine *m, const void *snapshot, size_t size, struct err *e);
#endif
