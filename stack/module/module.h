/*
 * From a graph to the program of each core: the pass list (docs/compiler.md).
 *
 * module_compile copies the graph, runs the passes of passes.def over the copy,
 * each followed by graph_verify and, where asked for, a dump, gives every array
 * a place, compiles each kernel and links the program.
 */
#ifndef STACK_MODULE_H
#define STACK_MODULE_H
#include "stack/kernels/pipeline/kernel.h"
#include "stack/module/link.h"

#include <stdio.h>

struct kept_program;
struct tuning;
struct module;

/* which branch of each conditional runs, whatever its predicate is */
enum assumed_branch { BRANCH_NONE, BRANCH_TRUE, BRANCH_FALSE };

struct module_settings {
    const struct chip *chip;
    enum codegen codegen;
    int replica_count;                  /* devices; 1: all-reduce is the identity */
    const struct slice *slice;          /* that they are on; NULL with one */
    const int32_t *device_core;         /* by device, while it compiles; NULL: device d on core d */
    int64_t bucket_bytes;               /* of gradients summed together, about; 0: chosen */
    int64_t stage_bytes;                /* of blocks of a sum that wait to be added; 0: 32 MiB */
    bool sums_wait;                     /* no kernel runs beside a sum over replicas */
    /* a step by itself, of a program that loops over it: whichever of its sums run beside kernels,
       and so add up in another order, do so in every round; NULL: what is shortest */
    const struct module *sums_as;
    int message_flags;                  /* the last flags of a core, which messages meet by */
    bool megacore;                      /* for both cores of a chip: docs/parallel.md */
    int64_t hbm_bytes;                  /* that it may use; 0: its share of the chip */
    /* by parameter: where in HBM it lies, row-major, whatever this module does; -1: anywhere; */
    const int64_t *place;               /* or NULL. Outside hbm_bytes, so that all else is not */
    /* timing mode has no values: what decides there, and in other modes then, too */
    int64_t assume_trips;               /* of each loop that its condition ends; 0: nothing is */
    enum assumed_branch assume_branch;  /* assumed, and timing mode refuses such a program */
    /* a program whose kernels, places and copies are not chosen but kept; NULL: chosen. Notes are
       added to what could not be */
    struct kept_program *kept;
    bool keeps_roundings;               /* to bf16 within a kernel, too: stack/passes/pass_excess.c */
    bool is_plan;                       /* only as far as memory: is there enough? */
    bool notes_are_sources;             /* bundles tell the model's operation, not the kernel */
    bool notes_are_lines;               /* of kernels that a program brings: lines of their source */
    bool is_entry_given;                /* arrays of the entry lie row-major, as the graph has them */
    const char *dump_after;             /* name of a pass, "memory", "all", or NULL */
    FILE *dump_to;
    const struct tuning *tuning;        /* tilings found by measurement, or NULL (stack/module/tuning.h) */
    /* told before each stage, for progress; may be NULL */
    void (*on_stage)(void *user, const char *stage, int done, int count);
    void *user;
};

struct module_kernel {                  /* in the program's order; vtrace tells its number */
    const char *name, *source, *category;
    struct kernel_job job;
    const struct segment *segment;
    const struct segment *peer_segment; /* of core 1; NULL without megacore */
    int item;                           /* of the module's items */
    int64_t flops, payload_bytes;       /* elements of operands and results */
    int64_t times;                      /* that it runs in a launch: trips of the loops around it */
    int unit;                           /* of a program that is kept: whose it is; 0: nobody's */
};

struct module_constant {                /* a literal, to be put into HBM before the first launch */
    const struct array *array;
    const void *literal;                /* NULL: one for each device, */
    const int32_t *by_device;           /* known in timing mode too */
};

/* one core's page of a table that kernels between devices read; of a module that was restored
   (stack/module/module_archive.h), whose segments have no tables */
struct module_page {
    int core;
    int64_t address;                    /* in its HBM */
    const void *data;
    int64_t bytes;
};

struct module_sum {                     /* a sum, gather or scatter over devices */
    const char *source;
    enum graph_op op;
    int64_t bytes;                      /* of what goes in */
    bool is_spread;                     /* in parts between other kernels: its order is another */
};

struct module_stage { const char *name; double seconds; };      /* host time */

#define MODULE_STAGES_MAX 24

struct module {
    struct graph graph;                 /* after all passes; parameters and outputs as given; */
                                        /* parameter[i] says how one lies */
    const struct array **array;         /* by node; NULL: not in memory (tuples) */
    const struct array **parameter, **output;   /* by index; an aliased output is its parameter's */
    struct module_kernel *kernel;
    struct module_constant *constant;
    struct link_item *item;
    struct module_sum *sum;             /* in the order of a program without overlap */
    struct module_page *page;
    int kernel_count, item_count, constant_count, sum_count, page_count;
    const int32_t *core_device;         /* by core; NULL: the same number */
    int core_count;                     /* programs: 1, with megacore 2 */
    int64_t barrier_count;              /* in the text of each */
    bool asks_number;                   /* a kernel reads its device's number, in SMEM */
    bool chips_differ;                  /* a collective has some do other things than others, so */
                                        /* that none can stand for all */
    const char *asks_values;            /* the first loop or conditional whose way is known to */
                                        /* values alone; NULL: timing mode can run the program */
    struct link_result *linked;         /* by core */
    int64_t hbm_bytes, vmem_peak_bytes; /* highest address in use */
    int64_t alive_bytes;                /* in HBM at once: the least that any placing takes */
    int64_t hbm_limit;                  /* what there is of it; less than hbm_bytes: refused */
    int64_t payload_bytes, padding_bytes;       /* of all arrays in HBM */
    int64_t flops, remat_count, prefetch_count, resident_count, cmem_count;
    struct module_stage stage[MODULE_STAGES_MAX];
    int stage_count, stage_now;
};

/*
 * `a` holds all of the result, and `g` must live as long (attributes are shared).
 * -1 with a message: no kernel, does not fit.
 */
int module_compile(const struct graph *g, const struct module_settings *s, struct arena *a,
                   struct module *out, struct err *e);

/* whether `name` may stand in dump_after; the names are in *names */
bool module_is_stage(const char *name, const char *const **names, size_t *count);

/* tools/ and cli/: the optimised graph as HLO text with layouts and memory spaces */
void module_dump_graph(const struct module *m, FILE *to);
/* each kernel's code in virtual registers (vcode_print): kernels are compiled once more for it */
int module_dump_llo(const struct module *m, FILE *to, struct err *e);
#endif
