/*
 * A compiled module on a machine: programs and literals into a core, inputs in, outputs out.
 *
 * Values are dense row-major elements of 4 bytes, as the interpreter's
 * (stack/interp/interp.h). In timing mode literals of a tile are written, which may be starts and
 * predicates, others are not.
 */
#ifndef STACK_MODULE_RUN_H
#define STACK_MODULE_RUN_H
#include "sim/machine/machine.h"
#include "stack/module/module.h"

/*
 * Loads the program into `core` and writes literals and tables into its HBM. A module for both
 * cores of a chip goes into `core`, the chip's first, and the next one, and needs a machine whose
 * cores share their HBM (machine_options). -1 also in timing mode, where m->asks_values.
 */
int module_load(const struct module *m, struct machine *machine, int core, struct err *e);
int module_write(const struct module *m, struct machine *machine, int core, int parameter,
                 const void *dense, struct err *e);
int module_read(const struct module *m, struct machine *machine, int core, int output,
                void *dense, struct err *e);
#endif
