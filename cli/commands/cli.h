/*
 * Shared by the commands: entry points and how errors are shown.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "base/err.h"

#define COMMAND(name, summary) int cmd_##name(int argc, char **argv);
#include "cli/commands/commands.def"

#define EXIT_USER_ERROR 1
#define EXIT_USAGE 2

int cli_fail(const struct err *e);      /* prints "systole: file:line:col: msg", returns 1 */
#endif
