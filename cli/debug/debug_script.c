/* Reads the debugger's commands from files and from a terminal. */
#include "cli/debug/debug.h"

#include "cli/common/fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int debug_run_file(struct debugger *d, FILE *from, const char *name)
{
    size_t room = 0;
    char *line = NULL;
    int number = 0, status = 0;
    struct err e;

    while (status == 0 && !d->quits && getline(&line, &room, from) >= 0) {
        number++;
        if (debug_execute(d, line, &e)) {
            fflush(d->out);
            fprintf(stderr, "systole: %s:%d: %s\n", name, number, e.msg);
            status = EXIT_USER_ERROR;
        }
    }
    if (ferror(from) || (status == 0 && !d->quits && !feof(from))) {
        fprintf(stderr, "systole: %s: cannot be read: %s\n", name, strerror(errno ? errno : EIO));
        status = EXIT_USER_ERROR;
    }
    free(line);
    return status;
}

void debug_run_terminal(struct debugger *d, FILE *from)
{
    size_t room = 0;
    char *line = NULL;
    struct err e;

    d->options.repeats = true;
    while (!d->quits) {
        fprintf(d->out, "(core %d @%lld) ", d->core, (long long)d->cycle);
        fflush(d->out);
        if (getline(&line, &room, from) < 0) {
            fputc('\n', d->out);
            break;
        }
        if (debug_execute(d, line, &e))
            fprintf(d->out, "%s\n", e.msg);
    }
    free(line);
}
