/* Lists the commands that systole sweep runs, and their options. */
#ifndef CLI_SWEPT_H
#define CLI_SWEPT_H
#include "cli/common/options.h"
#include "cli/sweep/sweep.h"

extern const struct sweep_command swept_commands[];
extern const size_t swept_count;

extern const struct cli_options cmd_gemm_options, cmd_run_options;
#endif
