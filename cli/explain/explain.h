/*
 * systole explain: what its files share. cmd_explain.c reads the command line,
 * explain_source.c a run, explain_verify.c runs it again with a change.
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H
#include "report/view/command.h"
#include "report/explain/explain_print.h"
#include "report/view/run_folder.h"
#include "report/native_trace/ntrace.h"

/* A run as it is explained; release with explain_source_close. */
struct explain_source {
    struct arena *arena;
    struct run_folder folder;
    struct report_view view;
    struct explain_input input;
    struct explain_product product;
    struct ntrace *trace;               /* NULL: none */
    bool has_command;                   /* whether the next is known */
    struct command command;
};

int explain_source_open(struct explain_source *s, const char *path, struct arena *a,
                        struct err *e);
void explain_source_close(struct explain_source *s);
bool explain_parse_sides(const char *text, int64_t side[3]);    /* "64x32x16", and nothing else */
/*
 * M N K, three numbers one behind the other, or one number as the first argument of all: the
 * argument that is the first, -1: there are none; `taken`: how many arguments they are
 */
int explain_bare_sides(const struct command *c, int64_t side[3], int *taken);

/*
 * Simulates the run again with each change that belongs to one of its first
 * `top` causes, as child processes that write to a temporary folder; progress
 * goes to stderr. verified[] has room for EXPLAIN_CHANGE_MAX; returns how many,
 * or -1 when the command is not known or no folder can be made.
 */
int explain_verify(const struct explain_source *s, const struct explain *x,
                   const struct explain_change *change, size_t change_count, size_t top,
                   struct explain_verified *verified, struct err *e);
#endif
