/* Declares what the commands share: their entry points, and how errors are shown. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "cli/common/fail.h"

#define COMMAND(name, summary) int cmd_##name(int argc, char **argv);
#include "cli/commands/commands.def"
#endif
