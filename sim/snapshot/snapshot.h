/*
 * Snapshots: the whole state of a machine at a pause of machine_advance.
 *
 * In memory: machine_save appends it to a byte string, machine_restore puts it
 * back, any number of times, into the same machine or into another one with
 * the same chip, slice, mode, checks and programs. What follows is the same to
 * the bit as without the pause, whatever the host threads, the SIMD path and
 * memoisation of either machine. What is traced begins there: sim/observe/trace.h.
 *
 * Not part of it: machine_options other than those named, and counters until
 * machine_finish sums them up. Memory that is zero takes no room.
 */
#ifndef SIM_SNAPSHOT_H
#define SIM_SNAPSHOT_H
#include "base/archive.h"
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include "sim/machine/machine.h"

/* between machine_start and machine_finish, outside machine_advance; out->data is the caller's */
void machine_save(const struct machine *m, struct bytes *out);

/*
 * -1 with *e naming what differs: the machine is as before. -1 because the
 * bytes are no whole snapshot: its launch is as machine_start leaves it, and
 * contents of memories are unspecified.
 */
int machine_restore(struct machine *m, const void *snapshot, size_t size, struct err *e);

/*
 * As a file, docs/snapshot.md: with the chip, slice, options and programs that
 * the state belongs to, so that it needs nothing else. `title` is what reports
 * call the run. Written whole or not at all.
 */
#define SNAPSHOT_VERSION 3u
#define SNAPSHOT_SIZE_AT 8
#define SNAPSHOT_CRC_AT 24
#define SNAPSHOT_HEADER_BYTES 28

int snapshot_write(const struct machine *m, const char *title, const char *path, struct err *e);
/* the file's bytes; level 0 (no compression) to 9 of zlib */
void snapshot_bytes(const struct machine *m, const char *title, int level, struct bytes *out);

struct snapshot_core {
    uint32_t program;                   /* 1 + index into snapshot.program; 0: none */
    uint32_t is_listing, branch_delay_bundles;
};

/* What a file holds; everything lives in the arena given. */
struct snapshot {
    const char *title;
    struct slice slice;
    struct chip chip;
    struct machine_options options;     /* mode, checks and cycle limit; the rest is 0 */
    struct isa_program *program;        /* different ones */
    size_t program_count;
    struct snapshot_core *core;
    int core_count;
    const void *state;                  /* for machine_restore */
    size_t state_bytes;
};

/* Any byte string gives a snapshot or an error message; `file` is its name in messages. */
int snapshot_parse(const void *bytes, size_t size, const char *file, struct arena *a,
                   struct snapshot *s, struct err *e);
int snapshot_read(const char *path, struct arena *a, struct snapshot *s, struct err *e);

/*
 * A machine at the pause, with these options of its own; mode, checks and a
 * cycle limit that are 0 there come from the snapshot, whose programs must
 * outlive the machine. NULL with *e set when it cannot be.
 */
struct machine *snapshot_open(const struct snapshot *s, const struct machine_options *options,
                              struct err *e);
#endif
