/*
 * A graph on one core, or on both that are one device: compiled as
 * `systole compile` does, run in timing mode (or with values that are zero),
 * told with its kernels, utilisation, what bounds it and where it lies under
 * the roof. systole op, conv and gemm.
 */
#ifndef CLI_OP_RUN_H
#define CLI_OP_RUN_H
#include "cli/common/options.h"
#include "cli/common/out_folder.h"
#include "cli/common/trace_options.h"
#include "exec/loaded.h"
#include "report/view/run.h"

/* what is done with each device's values before the run and behind it; in timing mode nothing */
struct op_values {
    void *user;
    int (*write)(void *user, const struct loaded_device *d, struct err *e);
    int (*read)(void *user, const struct loaded_device *d, struct err *e);
    /* after the last device was read: does the program run once more? NULL: once */
    bool (*again)(void *user);
};

/* Who tells of a run in place of op_run's own tables; `begin` before the launch is traced, `end` behind it. */
struct op_teller {
    void *user;
    int (*begin)(void *user, struct loaded *l, struct err *e);
    int (*end)(void *user, const struct loaded *l, const struct report_step *step, double seconds,
               struct err *e);
    /* the launch has failed: `e` may be said in other words */
    void (*failed)(void *user, const struct loaded *l, struct err *e);
    /* behind `end`, of a launch that is traced: what the program was made of */
    int (*list)(void *user, const struct loaded *l, struct ntrace_listing *to, struct err *e);
};

struct op_options {
    struct cli_target target;
    enum codegen codegen;
    struct machine_options engine;
    struct trace_options trace;
    bool no_megacore;                   /* one core where the compiler would take both */
    const char *assume_index;           /* uniform, zipf, or a file: where gathers read */
    const char *assembly;               /* the program is written there, or NULL */
    bool takes_slice;                   /* on all cores of a slice, not on its first alone */
    int replicas;                       /* devices that the graph's collectives go over; 0: none */
    int64_t assume_trips;               /* as in struct module_settings */
    enum assumed_branch assume_branch;
    struct kept_program *kept;          /* as in struct module_settings */
    bool keeps_roundings;               /* as in struct module_settings */
    const struct op_values *values;     /* NULL: of what memory holds */
    bool tells_sources;                 /* tables speak the names of the graph's author */
    bool tells_lines;                   /* as notes_are_lines in struct module_settings */
    bool is_quiet;                      /* nothing is printed */
    const struct op_teller *teller;     /* NULL: nobody but op_run */
    int64_t cycles;                     /* of the last launch: set by op_run */
    int kernels;                        /* of the program: likewise */
    struct out_folder out;
};
#define OP_OPTIONS_DEFAULT \
    {.target.tpu = "v5e", .assume_index = "uniform", \
     .engine = {.thread_count = 1, .mode = MODE_TIMING}, .trace = TRACE_OPTIONS_DEFAULT}

/* --tpu, --set, --codegen, --out, options of the engine and of traces; of a struct op_options */
extern const struct cli_options cli_op_options;

/* The chip that the options name, its texts in `a`, and how many devices of its slice run it. */
int op_devices(const struct op_options *o, struct chip *chip, int *count, struct arena *a,
               struct err *e);

/* Compiles, runs, prints. `title` says what: "conv 64x28x28x128 …". */
int op_run(struct op_options *o, const struct graph *g, const char *title, struct err *e);

/*
 * A command about one graph: reads its options into `values`, in which `o` lies, lets `make` say
 * the graph and its title, runs it. The exit status.
 */
struct op_command {
    const struct cli_syntax *syntax;
    int (*make)(const void *values, struct arena *a, struct graph **g, const char **title,
                struct err *e);
};
int op_command_run(const struct op_command *c, int argc, char **argv, void *values,
                   struct op_options *o);
#endif
