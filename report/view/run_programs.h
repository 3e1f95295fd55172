/*
 * A folder of several programs' runs, as SYSTOLE_OUT leaves it (docs/jax.md): programs.csv names them,
 * and each has a folder of a run in it.
 */
#ifndef REPORT_RUN_PROGRAMS_H
#define REPORT_RUN_PROGRAMS_H
#include "base/arena.h"

/*
 * Of such a folder the one in it whose launches took the most cycles together; *note says so, for
 * whoever asked about the whole. Any other path is given back, *note being NULL. All in `a`.
 */
const char *run_programs_dearest(const char *path, struct arena *a, const char **note);
#endif
