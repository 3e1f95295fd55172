/*
 * What a caller tells the reports of a run: options, epochs, launches, and of one step the
 * machine, its program, and what the compiler knows of its operations and buffers.
 *
 * Only what was told is in here; report/view/view.h gathers numbers from it, and
 * report/folder/report.h writes files of them. Everything is borrowed.
 */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H
#include "report/view/command.h"
#include "sim/observe/inspect.h"
#include "sim/machine/machine.h"

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
    double loss, train_accuracy, test_accuracy;     /* accuracies 0..1; NaN: not known */
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
#endif
