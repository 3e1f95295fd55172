/*
 * The command line of a run, kept so that the run can be repeated: in config.ini
 * as a section [command] with the folder it was given in and its arguments, each
 * on a line; in a trace as one line, quoted for a shell, without that folder.
 */
#ifndef REPORT_COMMAND_H
#define REPORT_COMMAND_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct command {
    const char *name;                   /* "train" */
    const char *directory;              /* relative paths are seen from here */
    int argument_count;
    const char *const *argument;        /* behind the name, as typed */
};

/* argv of a command, argv[0] being "systole NAME"; borrows its strings */
struct command command_of_argv(int argc, char **argv, struct arena *a);

void command_print(const struct command *c, FILE *to);          /* the section */
/* The other way, out of FOLDER/config.ini; everything is the arena's. */
int command_read(const char *folder, struct arena *a, struct command *c, struct err *e);
/* "systole train model.json --batch 64", quoted for a shell where needed; the arena's */
const char *command_text(const struct command *c, struct arena *a);
/*
 * The other way; the directory becomes ".", everything is the arena's. Knows
 * words, '...' and \ before a character, but nothing else of a shell. false: no
 * "systole NAME", or a quotation without an end.
 */
bool command_parse(const char *text, struct arena *a, struct command *c);
#endif
