/*
 * systole debug: a launch under control, command by command.
 *
 * A debugger stands at a pause of the launch (sim/machine/machine.h): every core has
 * issued its bundles before `cycle` and none after. Commands move that point,
 * look at the machine, or say where to stop; none changes what the program
 * computes or when. cli/debug/debug_commands.def is the table of commands,
 * debug_command.c finds and runs one, docs/debug.md shows a session.
 */
#ifndef CLI_DEBUG_H
#define CLI_DEBUG_H
#include "base/err.h"
#include "sim/observe/inspect.h"

#include <stdio.h>

#define DEBUG_LINE_MAX 1000             /* characters of a command */
#define DEBUG_WORD_MAX 128
#define DEBUG_DISPLAY_MAX 16

struct debug_stops;                     /* breakpoints and watches: debug_stops.c */
struct debug_history;                   /* snapshots on the way: debug_history.c */
struct debugger;
struct trace_gate;

struct debug_options {
    FILE *out;
    bool has_colour;
    bool repeats;                       /* an empty line runs the last step again */
    bool has_files;                     /* save and restore may be used */
    bool is_started;                    /* the machine stands at a pause already */
    const char *title;                  /* of the program; the caller's */
    struct trace_gate *gate;             /* of the trace that the machine writes; NULL: none */
    void (*progress)(void *context, struct debugger *d);    /* now and then while it runs; NULL */
    void *progress_context;
};

struct debugger {
    struct debug_options options;
    FILE *out;
    struct machine *m;                  /* the caller's */
    int core_count;
    int core;                           /* that commands speak of */
    cycle_t cycle;                      /* everything before it has happened */
    enum machine_status status;
    struct debug_stops *stops;
    struct debug_history *history;
    char display[DEBUG_DISPLAY_MAX][DEBUG_LINE_MAX];    /* print commands; "" is free */
    cycle_t (*stalls_at_stop)[STALL_COUNT];             /* by core, when the last command began */
    cycle_t cycle_at_stop;
    char last_step[DEBUG_LINE_MAX];
    bool quits;
};

/* The machine is loaded; release with debug_close, the machine afterwards. */
void debug_open(struct debugger *d, struct machine *m, const struct debug_options *options);
void debug_close(struct debugger *d);
/* one command; -1 with *e set when it is wrong or an assertion is false */
int debug_execute(struct debugger *d, const char *line, struct err *e);
/* what is loaded, where it stands, how to get help */
void debug_print_welcome(struct debugger *d);
/* Each line of a file, up to the first that is wrong, which is told on stderr; the exit status. */
int debug_run_file(struct debugger *d, FILE *from, const char *name);
/* with a prompt: mistakes are told and do not end it */
void debug_run_terminal(struct debugger *d, FILE *from);
/* from a signal handler: a command that runs the launch stops soon */
void debug_interrupt(void);

/* ---- what the parts share ---- */

/* What a command finds behind its name: "print/f32/full v3" has flags "f32/full". */
struct debug_args {
    const char *flags, *text;           /* "" where there is nothing */
};
typedef int debug_command_fn(struct debugger *d, const struct debug_args *args, struct err *e);

/* debug_words.c: the next word of *at, which moves behind it; false at the end */
bool debug_next_word(const char **at, char word[DEBUG_WORD_MAX]);
const char *debug_skip_space(const char *at);
/* nothing but blanks may follow */
int debug_expect_end(const char *at, struct err *e);
/* a whole number, 0x… too, in lo..hi; `what` names it in the message */
int debug_parse_number(const char *word, const char *what, int64_t lo, int64_t hi, int64_t *value,
                       struct err *e);
/* the rest of `text` as one number or, where it is empty, as `value` was */
int debug_parse_only_number(const char *text, const char *what, int64_t lo, int64_t hi,
                            int64_t *value, struct err *e);
/* The one name that `word` begins, or is: its index; -1 with *e naming what is near. */
int debug_find_name(const char *word, const char *what, const char *const *names, size_t count,
                    struct err *e);
/* values of lanes are worked out: not in --mode timing */
int debug_expect_lanes(const struct machine *m, struct err *e);
int debug_parse_core(const struct debugger *d, const char *word, int *core, struct err *e);
/* a memory, an address in its own units, perhaps a count; checked against its size */
struct debug_range {
    enum memory memory;
    int64_t first, count;               /* in units of unit_bytes */
    int64_t unit_bytes;                 /* rows of 512 in VMEM and CMEM, else words of 4 */
};
int debug_parse_range(const struct debugger *d, const char **at, int64_t default_count,
                      struct debug_range *range, struct err *e);

/* debug_place.c */
int debug_find_bundle(const struct debugger *d, int core, const char *word, uint32_t *bundle,
                      struct err *e);
/* "bundle 12 (line 40, loop+2)" */
void debug_print_place(const struct debugger *d, int core, uint32_t bundle, FILE *to);
/* its operations, from column `indent` on, on as many lines as it takes */
void debug_print_bundle(const struct isa_program *p, uint32_t bundle, int indent, FILE *to);
/* what the core does next: "issues at 1,240 after 6 cycles of operand" */
void debug_print_doing(const struct debugger *d, int core, FILE *to);
void debug_print_stop(struct debugger *d);
/* the bundle has an operation whose mnemonic begins so */
bool debug_has_op(const struct isa_program *p, uint32_t bundle, const char *name);
bool debug_is_op_name(const char *name, struct err *e);

/* debug_run.c: how far to go; stops and the end of the launch come first */
struct debug_goal {
    bool (*is_reached)(const struct debugger *d, struct debug_goal *goal);
    cycle_t until;                      /* in any case; CYCLE_NEVER */
    bool ignores_stops;
    int core;
    int64_t issued;                     /* what the functions compare with */
    uint32_t first, last;
    const char *name;
    uint64_t signature;
    void (*report)(struct debugger *d, const void *context);    /* after every advance; NULL */
    const void *context;
};
void debug_go(struct debugger *d, struct debug_goal *goal);
/* one bundle of the core (debug_step.c) */
int debug_step_bundle(struct debugger *d, void (*report)(struct debugger *d, const void *context),
                      const void *context, struct err *e);
int debug_expect_running(const struct debugger *d, struct err *e);
bool debug_has_ended(const struct debugger *d);
void debug_print_end(struct debugger *d);       /* how it has ended, if it has */
/* start the launch: every core in front of its first bundle */
void debug_start(struct debugger *d);
/* the machine has been put elsewhere: know where that is */
void debug_settle(struct debugger *d, cycle_t cycle);

/* debug_stops.c */
struct debug_stops *debug_stops_create(const struct debugger *d);
void debug_stops_destroy(struct debug_stops *s);
bool debug_stops_need_steps(const struct debugger *d);          /* cycle by cycle */
cycle_t debug_stops_next_cycle(const struct debugger *d);       /* of breakpoints on cycles */
/* around one advance; debug_stops_after prints what was hit and says whether to stop */
void debug_stops_before(struct debugger *d);
bool debug_stops_after(struct debugger *d);
/* forget what was: the launch stands somewhere else; arrivals there count if `is_fresh` */
void debug_stops_settle(struct debugger *d, bool is_fresh);

/* debug_access.c: what a bundle would read and write in VMEM, CMEM and SMEM, guards regarded */
struct debug_access {
    enum memory memory;
    bool is_write;
    uint32_t op;                        /* index in the program */
    int count;                          /* pieces */
    int64_t first[8];                   /* bytes */
    int64_t bytes;                      /* of each piece */
};
#define DEBUG_ACCESS_MAX ISA_BUNDLE_OP_MAX
int debug_accesses(const struct debugger *d, int core, uint32_t bundle,
                   struct debug_access access[DEBUG_ACCESS_MAX]);
bool debug_guard_holds(const struct debugger *d, int core, const struct isa_op *op);
void debug_print_access(const struct debug_access *a, FILE *to);

/* debug_tile.c */
enum debug_format { FORMAT_F32, FORMAT_BF16, FORMAT_S32, FORMAT_U32, FORMAT_HEX, FORMAT_COUNT };
struct debug_region {
    bool is_given;                      /* else a corner and a summary, or all of it if is_full */
    bool is_full;
    int row, row_end, column, column_end;
};
/* "f32/full/tile"; formats not given stay as they are */
struct debug_flags {
    enum debug_format format;
    bool has_format, is_full, is_tile;
};
int debug_parse_flags(const char *text, struct debug_flags *flags, struct err *e);
/* rows of a tile in this format: 8, packed bf16 16 */
int debug_tile_rows(enum debug_format format);
/* behind a name: "[0:2,0:16]"; leaves *at behind it; nothing there: is_given false */
int debug_parse_region(const char **at, int rows, struct debug_region *region, struct err *e);
void debug_print_tile(FILE *to, const uint32_t *tile, enum debug_format format,
                      const struct debug_region *region);
void debug_print_tile_summary(FILE *to, const uint32_t *tile, enum debug_format format);
void debug_print_mask(FILE *to, const struct mask_view *mask);
void debug_print_word(FILE *to, uint32_t word, enum debug_format format);

/* debug_history.c: back to earlier cycles */
struct debug_history *debug_history_create(void);
void debug_history_destroy(struct debug_history *h);
void debug_history_note(struct debugger *d);    /* perhaps keep a snapshot of here */
void debug_history_start(struct debugger *d);   /* of a launch that begins */

#define COMMAND(name, brief, function, arguments, group, is_step, summary, help) \
    debug_command_fn debug_command_##function;
#include "cli/debug/debug_commands.def"

/* info breaks, in debug_stops.c; the others are in debug_info.c */
int debug_info_breaks(struct debugger *d, const char *text, struct err *e);
#endif
