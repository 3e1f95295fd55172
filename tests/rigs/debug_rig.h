/*
 * A debugger on the bench: commands in, what it says out.
 */
#ifndef TESTS_DEBUG_RIG_H
#define TESTS_DEBUG_RIG_H
#include "cli/debug/debug.h"
#include "tests/rigs/rig.h"

struct debug_rig {
    struct rig rig;
    struct debugger d;
    FILE *out;
    char *said;                         /* by the last command */
    size_t said_bytes;
    struct err e;                       /* of the last command that was wrong */
};

/* a branch delay of one bundle, and copies from HBM that take their time */
extern const struct rig_options debug_rig_options;
/* four times round a loop; then a wait for a copy, and an operation of each kind of unit */
extern const char debug_rig_text[];

/* `text` on the first `cores` cores of a slice */
void debug_rig_open(struct debug_rig *r, const char *slice, const char *text, int cores);
void debug_rig_open_with(struct debug_rig *r, const char *slice, const char *text, int cores,
                         const struct rig_options *options);
void debug_rig_close(struct debug_rig *r);

int debug_rig_try(struct debug_rig *r, const char *command);    /* as debug_execute */
/* what a command says; it must be right */
const char *debug_rig_say(struct debug_rig *r, const char *command);
/* a command, and each of `parts` (up to NULL) that must be in what it says, in this order */
void assert_says(struct debug_rig *r, const char *command, const char *const *parts);
#define SAYS(r, command, ...) assert_says(r, command, (const char *const[]){__VA_ARGS__, NULL})
/* a command that is wrong, and what its message holds */
void assert_wrong(struct debug_rig *r, const char *command, const char *part);
cycle_t debug_rig_plain_cycles(void);   /* of debug_rig_text on "tiny" without a debugger */
int64_t debug_rig_value(struct debug_rig *r, const char *expression);
#endif
