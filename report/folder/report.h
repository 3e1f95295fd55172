/*
 * What a run leaves behind: tables for people, files for programs.
 *
 * A run folder holds config.ini (every parameter with its origin, the command
 * line), report.txt, stats.json, stats.txt, CSV files (report/tables/columns.def) and,
 * if asked for, a trace. Units stand in every column name; host times are apart
 * from the deterministic part. Files are written to a temporary name and
 * renamed, so that none is ever half-written.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H
#include "base/err.h"
#include "report/view/command.h"
#include "sim/observe/inspect.h"
#include "sim/machine/machine.h"

#include <stdio.h>

/* One resolved option of the run that is not a chip parameter. */
struct report_option {
    const char *section, *key, *value;
    const char *origin;                 /* "default", "command line", "model file" */
};

/* What the caller knows of a source operation that bundles are marked with. */
struct report_source {
    const char *name;                   /* as the program's notes have it */
    const char *text;                   /* "dot f32[64,512]; maximum f32[64,512]" */
    int64_t product_flops;              /* 2MNK of its products, padding not counted */
};

/* A layer takes the source operations that have `scope` as a part of their path. */
struct report_layer {
    const char *name, *scope;           /* scope NULL: all operations */
    int64_t product_flops;              /* 0: those of its source operations */
};

/* A buffer that the compiler placed in the memory of every core. */
struct report_buffer {
    enum memory memory;
    const char *name;
    const char *inside;                 /* name of a buffer it is a part of, or NULL */
    int64_t offset_bytes, bytes, padded_bytes;
    uint32_t first_bundle, last_bundle; /* it is live from.. to, in program order */
};

/* One training step or one program, as the machine's last launch left it. */
struct report_step {
    const char *title;                  /* "one step", "vector_add.tasm" */
    const struct machine *machine;
    const struct isa_program *program;  /* of every core that ran; its notes name the source */
    int64_t model_flops;                /* per core: 2MNK and so on, padding not counted */
    int64_t parameter_bytes;            /* all-reduced gradient bytes per core; 0 if none */
    int64_t input_bytes;                /* that the host sends before each launch, all cores */
    /* what follows is borrowed, and may be missing */
    int64_t issued_flops;               /* that matmuls of every core must come to; 0: not known */
    const struct report_source *source;
    const struct report_layer *layer;
    const struct report_buffer *buffer;
    size_t source_count, layer_count, buffer_count;
};

struct report_epoch {
    int epoch;                          /* from 1 */
    double loss, train_accuracy, test_accuracy;     /* accuracies 0..1 */
    int64_t steps;
    cycle_t launch_cycles;              /* of all its launches */
    cycle_t step_cycles;                /* of a step of them, rounded down */
    double step_us;                     /* step_cycles at the chip's clock */
    double samples_per_second;          /* simulated */
    double host_seconds;
};

struct report_step_row {                /* one line of steps.csv: a launch */
    int64_t step, step_count;           /* its last one, from 1; how many it does */
    int epoch;
    double loss, accuracy;              /* means over its batches */
    cycle_t launch_cycles;
};

struct report_run {
    struct command command;             /* name NULL: not known */
    const struct chip_origin *chip_origins;         /* chip_param_count entries */
    const struct report_option *option;
    size_t option_count;
    const struct report_epoch *epoch;
    size_t epoch_count;
    const struct report_step_row *row;
    size_t row_count;
    struct report_step step;            /* machine is NULL for the host interpreter */
    double host_seconds;
};

/*
 * Before any work is done: prove that the folder (whose parent exists) can be
 * made and written, and the trace, which may lie in it. Leaves nothing behind;
 * NULL = not wanted.
 */
int report_check_outputs(const char *folder, const char *trace, struct err *e);

/* parents exist; fine when it is there */
int report_make_folder(const char *path, struct err *e);

/* Where the cycles of one step went, utilisation, FLOPs, bytes, and what bounds it. */
void report_print_step(const struct report_step *s, FILE *to);

/* stats.json as a string, to keep in a trace; free() it. NULL when memory ran out. */
char *report_stats_json(const struct report_run *r);

/* All files of the folder but the trace, of a run that ended without a fault. What must hold of
 * its numbers is asserted: report/tables/identities.h. */
int report_write_folder(const struct report_run *r, const char *path, struct err *e);
#endif
