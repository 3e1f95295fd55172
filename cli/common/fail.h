/* Ends a command that cannot go on: prints its message and gives its exit status. */
#ifndef CLI_FAIL_H
#define CLI_FAIL_H
#include "base/err.h"

#define EXIT_USER_ERROR 1
#define EXIT_USAGE 2

int cli_fail(const struct err *e);      /* prints "systole: file:line:col: msg", returns 1 */
#endif
