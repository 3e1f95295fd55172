/*
 * A slice of simulated TPU chips that runs programs.
 *
 * Every core has its own program, VMEM, SMEM, sync flags and share of its
 * chip's HBM; HBM addresses are relative to that share. With shared_hbm the cores
 * of a chip have all of its HBM in common, at the same addresses. A launch starts
 * quiesced (banks precharged, refresh phase zero, queues and flags empty,
 * registers zero) at cycle 0 of all cores and ends when all have halted; HBM
 * contents stay, VMEM contents stay but are unspecified for programs.
 *
 * Results and cycles are the same for any number of host threads, any SIMD
 * path, with or without trace: docs/engine.md.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H
#include "base/err.h"
#include "base/units.h"
#include "hbm/hbm.h"
#include "interconnect/net.h"
#include "isa/isa.h"
#include "sim/chip/chip.h"
#include "sim/results/results.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct machine_options {
    enum run_mode mode;
    bool no_memo;                       /* simulate every iteration and launch by itself */
    bool no_dedup;                      /* each core works out all of its kernels: docs/engine.md */
    bool check_races;                   /* touching what a copy under way touches is a fault */
    bool check_unwritten;               /* so is reading VMEM that this launch has not written */
    bool shared_hbm;                    /* cores of a chip see all of its HBM: docs/parallel.md */
    bool one_chip;                      /* timing mode: the first chip stands for all. Only its
                                           cores have programs; what they send to another chip
                                           comes to the core of that place on their own, from as
                                           far. Exact with axes that are rings or at most two
                                           chips long, a mean on lines (interconnect/net.h); not
                                           of a twisted torus */
    int thread_count;                   /* host threads, at least 1 */
    const char *simd;                   /* "auto" (or NULL), "c", "avx2", "avx512", "avx512bf16" */
    cycle_t cycle_limit;                /* 0 = none; a launch that reaches it faults */
};

/* What the last simulated launch left out because it could be told beforehand: docs/engine.md. */
struct machine_memo_stats {
    int64_t looks;                      /* loops that were looked at */
    int64_t skips;                      /* times that one went on elsewhere */
    int64_t iterations, bundles;        /* that were added, not simulated */
    int64_t launches;                   /* since the machine was made, that were not simulated */
    int64_t kernels;                    /* in those, of which a core took another one's results */
};

struct machine;

/*
 * Slice, chip and options are copied; release with machine_destroy. NULL with
 * *e set when they do not go together or the SIMD path cannot be used.
 */
struct machine *machine_create(const struct slice *slice, const struct chip *chip,
                               const struct machine_options *options, struct err *e);
void machine_destroy(struct machine *m);
int machine_core_count(const struct machine *m);
const struct chip *machine_chip(const struct machine *m);
const struct slice *machine_slice(const struct machine *m);
enum run_mode machine_mode(const struct machine *m);
int64_t machine_hbm_share_bytes(const struct machine *m);       /* that a core sees */
bool machine_shares_hbm(const struct machine *m);               /* the option shared_hbm */
bool machine_is_one_chip(const struct machine *m);              /* the option one_chip */

/*
 * Give core `core` a program, which must outlive its use. Checks what can be
 * checked before running: slots per bundle, register numbers, branch targets,
 * operands. A program longer than the instruction memory runs in overlays
 * (sim/core/overlay.h). The same program may be loaded on many cores (decoded once).
 */
int machine_load(struct machine *m, int core, const struct isa_program *program, struct err *e);
/*
 * Where the kernels of the core's program are, by the number that a marker (vtrace) in the bundle
 * in front of one has. One that stands alone reads nothing but what it brings from the core's HBM
 * and leaves nothing but what it puts there: what registers, VMEM and SMEM hold behind it is
 * nobody's business. Where several cores run such a kernel on the same bytes, a repeated launch may
 * work it out once (docs/engine.md). The list is copied, and goes with the program. -1: a kernel
 * that is not a part of the program, or no program.
 */
struct machine_kernel {
    uint32_t first_bundle, end_bundle;
    bool is_alone;
};
int machine_set_kernels(struct machine *m, int core, const struct machine_kernel *kernel, int count,
                        struct err *e);
/* the core has no program any more, and no part in a launch */
void machine_unload(struct machine *m, int core);

/*
 * The same for a compiler's listing: its length, slots, double writes of a
 * register and branches in delay bundles are as they are, result FIFOs grow,
 * and flags need not be 0 when it halts. Its branches have the delay bundles
 * of the chip, at most branch_delay_most of them (-1: no bound).
 */
int machine_load_listing(struct machine *m, int core, const struct isa_program *program,
                         int branch_delay_most, struct err *e);

/* A sync flag as the last launch left it, flag in 0..sync.flags - 1. */
int32_t machine_flag(const struct machine *m, int core, int flag);

/* What scalar register `number` holds at the start of every launch from now on; 0 at first. */
int machine_set_scalar(struct machine *m, int core, int number, int32_t value, struct err *e);

/*
 * Host access to a core's HBM share and SMEM, between launches, in bytes; ranges are checked.
 * In timing mode, reading HBM that a launch has written from vectors is an error.
 */
int machine_hbm_write(struct machine *m, int core, int64_t address, const void *from,
                      int64_t bytes, struct err *e);
int machine_hbm_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                     struct err *e);
/*
 * What a range, which is there (asserted), holds now, without a copy of it: hbm_hold_read of
 * hbm/hbm.h reads it, hbm_hold_free ends it. In timing mode what vectors have written is not in it.
 */
struct hbm_hold *machine_hbm_hold(const struct machine *m, int core, int64_t address,
                                  int64_t bytes);
/* as machine_hbm_write of what was held, of `bytes`, without a copy of whole pages: an address that
 * is the same modulo HBM_STORE_PAGE_BYTES as where it was held */
int machine_hbm_put(struct machine *m, int core, int64_t address, const struct hbm_hold *from,
                    int64_t bytes, struct err *e);
/* the same of the core's window of host memory, host.window_bytes that copies reach */
int machine_host_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                      struct err *e);
/*
 * In timing mode: nobody will look at these bytes, as if vectors had written them, so that copies
 * of them move nothing. In other modes, nothing.
 */
int machine_hbm_set_unknown(struct machine *m, int core, int64_t address, int64_t bytes,
                            struct err *e);
int machine_smem_write(struct machine *m, int core, int64_t address, const void *from,
                       int64_t bytes, struct err *e);
int machine_smem_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                      struct err *e);
/* the same for VMEM, for tests, debuggers and examples; nothing to read in timing mode */
int machine_vmem_read(struct machine *m, int core, int64_t address, void *to, int64_t bytes,
                      struct err *e);
int machine_vmem_write(struct machine *m, int core, int64_t address, const void *from,
                       int64_t bytes, struct err *e);

/*
 * Run all loaded cores until they halt. 0, or -1 after a fault, which
 * machine_fault tells; counters stay readable. A sync flag that is
 * not 0 when all have halted is a fault too: nobody waited for it. Asserts that
 * every cycle is counted once: the sums stated at struct core_counters.
 */
int machine_run(struct machine *m, struct err *e);

/*
 * While machine_run or machine_advance_to_end is at work, `tell` is called some ten times a second of the host's with the
 * cycle that the launch has come to; it changes neither a result nor a cycle. NULL: nobody is told.
 */
typedef void machine_progress_fn(void *context, cycle_t now);
void machine_set_progress(struct machine *m, machine_progress_fn *tell, void *context);

/*
 * The same in parts, for debuggers: start, advance as often as wanted, finish.
 * Between two calls of machine_advance every core has issued all its bundles
 * before `until` and none after; pausing changes neither a result nor a cycle.
 */
enum machine_status { MACHINE_PAUSED, MACHINE_HALTED, MACHINE_FAULTED };
void machine_start(struct machine *m);
enum machine_status machine_advance(struct machine *m, cycle_t until);
void machine_advance_to_end(struct machine *m);
/* no bundle issues and nothing else happens before this cycle; CYCLE_NEVER at the end */
cycle_t machine_next_cycle(const struct machine *m);
/* sums up the counters; a launch may be finished at any pause and not advanced afterwards */
void machine_finish(struct machine *m);

/*
 * fn(context, index) for index 0..count - 1 on the machine's host threads, between
 * launches, for host work that falls into parts: one per core, say.
 */
void machine_parallel(struct machine *m, int count, void (*fn)(void *context, int index),
                      void *context);

/* Of the last launch; what is pointed to is the machine's and changes with the next. */
cycle_t machine_cycles(const struct machine *m);
const struct core_counters *machine_counters(const struct machine *m, int core);
const struct fault *machine_fault(const struct machine *m);     /* kind NONE if none */
struct machine_memo_stats machine_memo_stats(const struct machine *m);  /* of all cores */
/*
 * After a deadlock, below its message: for each waiting core the operations
 * that could still change its flag, and why they do not come (best effort, from
 * the text of the programs and from what registers hold), and a cycle of cores
 * that wait for each other. At most 16 cores and 4 others for each; nothing
 * after another end.
 */
void machine_print_deadlock(const struct machine *m, FILE *to);
const struct stand_in_site *machine_stand_in(const struct machine *m, int core);
const struct hbm_stats *machine_hbm_stats(const struct machine *m, int chip);
const struct net *machine_net(const struct machine *m);         /* NULL for a single chip */
#endif
