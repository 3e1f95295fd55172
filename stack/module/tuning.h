/*
 * Tilings found by measurement: a text file that later compilations read.
 *
 *   systole tuning 1
 *   CHIP CODEGEN KIND HASH CYCLES TILING...
 *
 * HASH stands for the kernel's body, the layouts and spaces of its arrays and
 * the VMEM it has; addresses do not count, so that a kernel is measured once
 * wherever it occurs. Lines are sorted, and the file is the same whatever the order of trials.
 */
#ifndef STACK_TUNING_H
#define STACK_TUNING_H
#include "stack/kernels/pipeline/kernel.h"

struct tuning;

struct tuning *tuning_create(void);     /* empty */
void tuning_destroy(struct tuning *t);

/* Adds what the file has; a file that does not exist adds nothing. -1: cannot be read as such. */
int tuning_load(struct tuning *t, const char *path, struct err *e);
int tuning_save(const struct tuning *t, const char *path, struct err *e);

/* the best known tiling for such a kernel, or NULL; NULL of no tuning */
const struct tiling *tuning_find(const struct tuning *t, const struct kernel_job *job);
/* kept if it is the first or faster than the one there; of equals the one there stays */
void tuning_add(struct tuning *t, const struct kernel_job *job, const struct tiling *tiling,
                int64_t cycles);
#endif
