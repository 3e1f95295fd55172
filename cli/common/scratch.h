/* Makes a folder for what other runs of the program leave and nobody keeps. */
#ifndef CLI_SCRATCH_H
#define CLI_SCRATCH_H
#include "base/arena.h"
#include "base/err.h"

/* environment: a run of the program that has this writes only below the folder it names */
#define CLI_WRITES_BELOW "SYSTOLE_WRITES_BELOW"

/* new and empty, in TMPDIR or /tmp; absolute, in arena `a`; NULL with *e set on failure */
const char *scratch_make(struct arena *a, struct err *e);
void scratch_remove(const char *folder);        /* with all that is in it */
#endif
