/*
 * Random legal programs for the cores of a slice, from a seed.
 *
 * They use every operation of the table that the chip has, in all slots, with
 * guards, counted loops, forward branches, copies, and messages between cores.
 * They end, do not fault, leave all sync flags 0, and no core touches what a
 * copy under way touches, so that what they compute does not depend on times.
 * The same seed and options give the same programs on every host.
 *
 * The generator knows what it wrote, not what it means: which FIFO holds how
 * many results of which kind, which memory is in use by a copy, which scalar
 * registers hold numbers within known bounds (random_maker.h). Where the value
 * of a register matters for legality, the bounds are made by masks.
 */
#ifndef TESTS_RANDOM_PROGRAM_H
#define TESTS_RANDOM_PROGRAM_H
#include "base/arena.h"
#include "sim/machine/machine.h"

#include <stdio.h>

#define RANDOM_CORES_MAX 8
#define RANDOM_DESCRIPTOR_BYTES 512     /* of dma.general: the end of the window of SMEM */

struct random_options {
    bool races;                         /* also load what a copy is writing, read moving flags:
                                         * the same on every path, but a matter of times */
    bool for_timing;                    /* nothing that lanes compute reaches a scalar register */
    bool no_stand_ins;                  /* no stand_in.* */
    int bundles;                        /* that a core executes, about; 0: 400 */
};

/* One of the memories, and the part of it that the programs use. */
struct random_window {
    int64_t first, bytes;
};

struct random_programs {
    uint64_t seed;
    struct random_options options;
    struct slice slice;
    struct chip chip;
    const char *character;              /* "mxu", "loops", …: which weights the seed chose */
    int core_count;                     /* of the slice; those beyond busy_count just halt */
    int busy_count;
    struct isa_program program[RANDOM_CORES_MAX];
    struct random_window hbm, vmem, smem, cmem, host;       /* the same on every core; cmem may be
                                                             * empty */
    int32_t entry_s[RANDOM_CORES_MAX][ISA_SREG_COUNT];
    unsigned char descriptor[RANDOM_CORES_MAX][RANDOM_DESCRIPTOR_BYTES];
    struct arena arena;
};

/*
 * Programs for a slice of at most RANDOM_CORES_MAX cores of the chip (a built-in
 * name, with a VMEM and CMEM that are quickly compared), its size from the seed.
 * Fails the test when they are not legal.
 */
void random_programs_make(struct random_programs *r, const char *chip, uint64_t seed,
                          const struct random_options *options);
void random_programs_free(struct random_programs *r);

/* contents of a core's memories before it starts; `bytes` of its window */
enum random_memory { RANDOM_HBM, RANDOM_VMEM, RANDOM_SMEM, RANDOM_HOST, RANDOM_MEMORY_COUNT };
void random_contents(const struct random_programs *r, int core, enum random_memory memory,
                     unsigned char *to);

/* programs, contents and scalar registers into a machine of that slice */
void random_programs_load(const struct random_programs *r, struct machine *m);

/* "seed 17, v3-8, mxu, 5 of 8 cores, no races": what makes them again; returns buf */
char *random_programs_name(const struct random_programs *r, char *buf, size_t buf_bytes);
/* assembly text of every core, with that name on top */
void random_programs_print(const struct random_programs *r, FILE *to);

/*
 * Drop operations as long as `differs` still holds of what is left; it must
 * hold of the programs as they are, and not of programs that fault.
 */
typedef bool random_differs_fn(const struct random_programs *r, void *context);
void random_programs_shrink(struct random_programs *r, random_differs_fn *differs, void *context);

/*
 * Sweeps over seeds: how many, usually or with SYSTOLE_LONG=1, and which is number
 * `index`. SYSTOLE_PROGRAMS=n asks for n, SYSTOLE_SEED=n for that one alone.
 */
uint64_t random_seed_count(uint64_t usual, uint64_t in_long_test);
uint64_t random_seed(uint64_t index);
void random_progress(uint64_t done, uint64_t total);    /* on a terminal, in a line of its own */
#endif
