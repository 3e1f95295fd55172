/*
 * Parses the options that say how the simulator itself works: mode, threads, SIMD, memoised time,
 * checks.
 */
#include "cli/common/engine_options.h"

#define AT(member) CLI_AT(struct machine_options, member)

static const struct cli_option rows[] = {
    {.kind = CLI_HEADING, .doc = "Engine:", .group = 8},
    {"mode", 0, "MODE",
     "both (default); timing: the same cycles without lane arithmetic; functional: the same "
     "values without cycles", 8, CLI_CHOICE, AT(mode), .words = CLI_MODES},
    CLI_ROW_THREADS(struct machine_options, thread_count, 8),
    CLI_ROW_SIMD(struct machine_options, simd, 8),
    {"no-memo", 0, NULL,
     "simulate every iteration of every loop; never changes a cycle or counter", 8, CLI_FLAG,
     AT(no_memo)},
    {"check-races", 0, NULL, "stop at an access to a range that a copy under way touches",
     8, CLI_FLAG, AT(check_races)},
    {0}};

static const struct cli_option unwritten_rows[] = {
    {"check-unwritten", 0, NULL,
     "stop at a read of VMEM that nothing has written since the start", 8, CLI_FLAG,
     AT(check_unwritten)},
    {0}};

const struct cli_options cli_engine_options = {.row = rows};
const struct cli_options cli_unwritten_options = {.row = unwritten_rows};
