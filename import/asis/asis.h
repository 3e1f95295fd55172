/*
 * A scheduled program, as XLA:TPU prints it after optimization, in a form that keeps what its
 * compiler has decided (stack/hlo/kept.h): fusions are still inlined, but each instruction knows
 * the kernel it comes from (place.unit), and what a kernel leaves to others goes through an
 * opt-barrier with the number of its edge (place.edge).
 *
 * Scheduled are the entry and the bodies that control flow of scheduled computations calls. What
 * is no work has no unit: parameters, constants, tuples, bitcasts. A pair of copy-start and
 * copy-done is a unit where it starts and one where it is waited for; other asynchronous pairs
 * are a unit where they start, and are noted: nothing runs beside them.
 */
#ifndef IMPORT_ASIS_H
#define IMPORT_ASIS_H
#include "import/program/build.h"
#include "stack/hlo/kept.h"

/*
 * `made` is uninitialised, `old` verified; both live as long as `a`. -1 with a message where the
 * program is not scheduled. Without `has_values`, for timing alone, constants of the entry whose
 * elements the file leaves out are parameters behind the others.
 */
int asis_program(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                 bool has_values, struct kept_program *kept, struct err *e);

/* asis_config.c: estimated cycles and window bounds of a backend_config, as far as they are there */
void asis_read_config(const char *config, struct arena *a, struct kept_unit *u);
#endif
