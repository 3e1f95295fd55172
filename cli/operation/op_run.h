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
#include "stack/module/module.h"

#include <argp.h>

struct op_device {                      /* that runs the program: a core, or both of a chip */
    const struct module *module;
    struct machine *machine;
    int core, number;
};

/* what is done with each device's values before the run and behind it; in timing mode nothing */
struct op_values {
    void *user;
    int (*write)(void *user, const struct op_device *d, struct err *e);
    int (*read)(void *user, const struct op_device *d, struct err *e);
};

struct op_options {
    const char *tpu;
    enum codegen codegen;
    struct machine_options engine;
    struct trace_options trace;
    bool no_megacore;                   /* one core where the compiler would take both */
    const char *assume_index;           /* uniform, zipf, or a file: where gathers read */
    const char *assembly;               /* the program is written there, or NULL */
    bool takes_slice;                   /* on all cores of a slice, not on its first alone */
    const struct op_values *values;     /* NULL: of what memory holds */
    struct cli_list set;
    struct out_folder out;
};
#define OP_OPTIONS_DEFAULT \
    {.tpu = "v5e", .assume_index = "uniform", .engine = {.thread_count = 1, .mode = MODE_TIMING}, \
     .trace = TRACE_OPTIONS_DEFAULT}

/* --tpu, --set, --codegen, --out, options of the engine and of traces; input: op_options */
extern const struct argp cli_op_argp;

/* The chip that the options name, its texts in `a`, and how many devices of its slice run it. */
int op_devices(const struct op_options *o, struct chip *chip, int *count, struct arena *a,
               struct err *e);

/* Compiles, runs, prints. `title` says what: "conv 64x28x28x128 …". */
int op_run(struct op_options *o, const struct graph *g, const char *title, struct err *e);
#endif
