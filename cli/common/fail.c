/* Prints a mistake with the program's name and returns the exit status of a user's error. */
#include "cli/common/fail.h"

#include <ctype.h>
#include <stdio.h>

int cli_fail(const struct err *e)
{
    char text[sizeof(e->file) + sizeof(e->msg) + 32];

    fflush(stdout);
    err_format(e, text, sizeof(text));
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';                   /* of a name the user gave; one message is one line */
    fprintf(stderr, "systole: %s\n", text);
    return EXIT_USER_ERROR;
}
