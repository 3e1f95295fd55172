/*
 * Operations of floats of different widths, which XLA leaves in programs that it has optimized.
 * Whoever computes with a program element by element asks for them first.
 */
#ifndef IMPORT_MIXED_H
#define IMPORT_MIXED_H
#include "import/program/program.h"

bool hlo_is_mixed(const struct hlo_module *m);

/*
 * The same with each of them done in the widest of its types, and what comes out rounded. `made` is
 * uninitialised and lives in `a`. 0, or -1 with a message.
 */
int hlo_widen_mixed(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e);
#endif
