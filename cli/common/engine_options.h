/*
 * The options of the engine, the same for every command that runs a machine:
 * --mode, --threads, --simd, --no-memo, --check-races, --check-unwritten.
 *
 * A command lists cli_engine_argp among the children of its argp and, at
 * ARGP_KEY_INIT, sets the child's input to the machine_options to fill in.
 * Only what is given on the command line changes there.
 */
#ifndef CLI_ENGINE_OPTIONS_H
#define CLI_ENGINE_OPTIONS_H
#include "sim/machine/machine.h"

#include <argp.h>

extern const struct argp cli_engine_argp;
#endif
