#include "cli/cli.h"

#include <stdio.h>

int cli_fail(const struct err *e)
{
    char text[sizeof(e->file) + sizeof(e->msg) + 32];

    fflush(stdout);
    fprintf(stderr, "systole: %s\n", err_format(e, text, sizeof(text)));
    return EXIT_USER_ERROR;
}
