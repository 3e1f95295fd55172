/*
 * systole check hardware: public measurements of real TPUs, row by row beside
 * what we simulate (docs/accuracy.md).
 *
 * A row becomes a graph, which is compiled as `systole compile` does and run
 * in timing mode on one core; a step of a whole model on all cores of its slice. The time counts
 * what the measurement counts:
 * the kernels alone, the launch of the program, or the host's dispatch too.
 */
#ifndef CLI_HARDWARE_H
#define CLI_HARDWARE_H
#include "base/csv.h"
#include "cli/common/options.h"
#include "cli/graphs/hardware_graphs.h"
#include "sim/chip/chip.h"
#include "stack/collective/collective.h"
#include "stack/hlo/graph.h"
#include "stack/kernels/pipeline/kernel.h"

#include <stdio.h>

enum hardware_time {
    TIME_KERNEL,                        /* from the first bundle to the last copy */
    TIME_DEVICE,                        /* with launch.program_ns */
    TIME_HOST                           /* with host.dispatch_us as well */
};

enum hardware_work {
    WORK_NONE,                          /* not simulated: `why_not` */
    WORK_GRAPH,                         /* the program of `graph` */
    WORK_BLOCKS,                        /* one product of a Pallas block size: `tiling` */
    WORK_CHAIN,                         /* one of many equal steps whose arrays stay in VMEM */
    WORK_COLLECTIVE,                    /* `collective`, on a slice of its own */
    WORK_STEP                           /* of `model` on `slice`, with all its cores */
};

/* of all cores of a slice, or of groups of devices of a mesh [2, 4], which number it row by row */
struct hardware_collective {
    enum collective_kind kind;
    enum collective_type type;
    int cores;                          /* of the slice; 0: of the mesh */
    int group;                          /* 2: along the first axis of the mesh, 4: the second */
    int64_t bytes;                      /* that a device has before */
};

struct hardware_row {
    int line;
    const char *workload, *group;       /* group: what rows of one file are summed up by */
    enum hardware_work work;
    const char *why_not;                /* not simulated, or not scored; NULL: scored */
    enum hardware_time time;
    bool all_cores;                     /* of the chip ran the same at the same time */
    bool has_layouts;                   /* its arrays lie as the graph has them, row-major */
    bool is_one_device;                 /* both cores of a chip with megacore have a half each */
    struct graph *graph;
    struct tiling tiling;               /* count 0: the compiler's */
    struct hardware_collective collective;
    const char *model, *slice;          /* of WORK_STEP: as stack/nn/zoo.h names it; v3-32 */
    const char *map;                    /* of WORK_CHAIN: add or exp, */
    int64_t elements;
    double measured_us, peer_error_percent;     /* NAN: none published */
    double occurrences;                 /* in the program that it is a part of; else 1 */
    double measured_memory_bytes;       /* at its peak; NAN: none published */
    bool is_in_part;                    /* `make check` runs it */
    double flops, bytes;                /* of operands and results, without padding */
    const char *dtype;                  /* "bf16 assumed" where the row does not tell */

    /* filled by hardware_simulate */
    double simulated_us[2];             /* by enum codegen; NAN: not simulated */
    double simulated_memory_bytes;      /* of arrays that live at once; NAN: likewise */
    double baseline_us;
    const char *error;                  /* why it could not be compiled or run */
    int kernel_count;
};

struct hardware_file {
    const char *name, *chip, *peer;     /* peer: whose errors its rows quote */
    const char *about;
    int every;                          /* of so many rows one is looked at, */
    bool is_all;                        /* or all, also those that take minutes */
    int part_step;                      /* every so many rows one is in the part; 0: none */
    const struct hardware_layout *layout;       /* of its columns */
    const char *heading;                /* first field of the heading, NULL: the first line */
    struct hardware_row *row;
    int row_count;
    size_t row_capacity;
};

/* The files that are known (hardware.def). Copies, for one run. */
int hardware_files(struct hardware_file **files, struct arena *a);

/* all rows of the file; -1: a column lacks, or a field is no number that can be */
int hardware_read(struct hardware_file *f, const struct csv *c, struct arena *a, struct err *e);

/*
 * hardware_rebuild.c: a fusion of a profile from its text, FLOPs and bytes (0: not known), or NULL
 * with the reason: arrays that cannot be told apart from their shapes.
 */
struct graph *hardware_rebuild(const char *hlo, const char *category, double flops, double bytes,
                               struct arena *a, const char **why_not);

/* hardware_run.c: fills the row's results; row->error, which is `a`'s, says why it failed */
struct hardware_target {
    const struct slice *slice;
    const struct chip *chip;
    enum codegen codegen;
    bool prints_kernels;
    struct cli_list set;                /* parameters of chips that are other than built in */
};
void hardware_simulate(struct hardware_row *row, const struct hardware_target *t,
                       struct arena *a);
/*
 * hardware_workers.c: the rows that are wanted[] of the file, in processes of their own, as many at
 * a time as there are processors: a row that aborts, or is not done in time, ends with an error.
 */
int hardware_simulate_all(struct hardware_file *f, const bool *wanted,
                          const struct hardware_target *t, bool with_best, struct arena *a,
                          struct err *e);
/* hardware_collective.c: cycles of one, on the cores of a mesh, of a slice step by step */
int hardware_simulate_collective(const struct hardware_row *row, const struct chip *chip,
                                 const char *chip_name, int64_t *cycles, struct err *e);
/* hardware_step.c: a step of a whole model, on the row's own slice */
int hardware_simulate_step(struct hardware_row *row, const struct hardware_target *t, double *us,
                           struct err *e);
double hardware_baseline_us(const struct hardware_row *row, const struct chip *chip);

/* hardware_print.c */
const char *hardware_short_name(const char *workload, char *buf, size_t buf_bytes);
void hardware_print_rows(const struct hardware_file *f, bool with_best, FILE *to);
void hardware_print_summary(const struct hardware_file *files, int count, bool with_best,
                            FILE *to);
/* by reason, each with its rows */
void hardware_print_unscored(const struct hardware_file *files, int count, FILE *to);
void hardware_print_csv(const struct hardware_file *files, int count, FILE *to);
#endif
