/* Lists the commands that systole sweep runs, and their options. */
#ifndef CLI_SWEPT_H
#define CLI_SWEPT_H
#include "cli/sweep/sweep.h"

#include <argp.h>

extern const struct sweep_command swept_commands[];
extern const size_t swept_count;

/* how the commands read their options */
const struct argp *cmd_gemm_parser(void);
const struct argp *cmd_run_parser(void);
#endif
