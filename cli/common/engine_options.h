/*
 * The options of the engine, the same for every command that runs a machine:
 * --mode, --threads, --simd, --no-memo, --check-races. A part of the command's own, of its struct
 * machine_options.
 */
#ifndef CLI_ENGINE_OPTIONS_H
#define CLI_ENGINE_OPTIONS_H
#include "cli/common/options.h"
#include "sim/machine/machine.h"

#define CLI_MODES "both|timing|functional"      /* in the order of enum run_mode */

extern const struct cli_options cli_engine_options;
/* --check-unwritten, a part likewise: for programs that others have written, not for compiled ones,
 * whose kernels read on beyond the ends of arrays and leave the results out. */
extern const struct cli_options cli_unwritten_options;
#endif
