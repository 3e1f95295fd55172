/*
 * From a graph to the program of each core: the pass list (docs/compiler.md).
 *
 * module_compile copies the graph, runs the passes of passes.def over the copy,
 * each followed by graph_verify and, where asked for, a dump, gives every array
 * a layout and a place, compiles each kernel and links the program.
 */
#ifndef STACK_MODULE_H
#define STACK_MODULE_H
#include "stack/kernel.h"
#include "stack/link.h"

#include <stdio.h>

struct module_settings {
    const struct chip *chip;
    enum codegen codegen;
    int replica_count;                  /* of the slice; 1: all-reduce is the identity */
    int megacore;                       /* cores that share one operation, 1 or chip->cores */
    int64_t hbm_bytes;                  /* of one core; 0: its share of the chip */
    const char *dump_after;             /* name of a pass, "all", or NULL */
    FILE *dump_to;
    const struct tuning *tuning;        /* tilings found by measurement, or NULL (stack/tuning.h) */
};

struct module_kernel {                  /* in order of execution; marked by vtrace with its number */
    const char *name, *source, *category;
    int node;                           /* of the optimised graph */
    struct kernel_job job;
    struct segment segment;
    int64_t flops;
};

struct module {
    struct graph graph;                 /* after all passes; parameters and outputs as given */
    struct array *array;                /* by node; results of tuples: of each get-tuple-element */
    struct array *parameter, *output;   /* by index; an aliased output is its parameter's */
    struct module_kernel *kernel;
    struct link_item *item;
    int kernel_count, item_count;
    int core_count;                     /* programs: 1, or `megacore` */
    struct link_result *linked;         /* by core */
    int64_t hbm_bytes, vmem_peak_bytes;
    int64_t payload_bytes, padding_bytes;       /* of all arrays in HBM */
    int64_t flops, remat_count, prefetch_count;
};

/* `a` holds all of the result. -1 with a message: no kernel, does not fit. */
int module_compile(const struct graph *g, const struct module_settings *s, struct arena *a,
                   struct module *out, struct err *e);

/* tools/ and cli/: the optimised graph as HLO text with layouts and memory spaces */
void module_dump_graph(const struct module *m, FILE *to);
#endif
