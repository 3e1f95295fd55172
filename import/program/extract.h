/*
 * Parts of a program as programs of their own: a computation, or what a fusion or call does, to be
 * printed, evaluated or compiled alone.
 */
#ifndef IMPORT_PROGRAM_EXTRACT_H
#define IMPORT_PROGRAM_EXTRACT_H
#include "import/program/program.h"

/*
 * The computation or instruction of that name, with all that it calls; with `%` or without. Of an
 * instruction: the operation alone, operands being parameters; constants and iotas that it takes
 * come along. `made` is a new module in the arena, for hlo_module_fini; what it has is m's, and m
 * must outlive it. -1: m has neither, the error says which names are near.
 */
int hlo_extract(const struct hlo_module *m, const char *name, struct arena *a,
                struct hlo_module *made, struct err *e);
#endif
