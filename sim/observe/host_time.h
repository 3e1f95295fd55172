/*
 * Where the host's time goes while a machine works: a table by request, free when off.
 *
 * Time is that of all host threads together, so the parts add up to the time that has gone by
 * times the number of threads. On x86 it is read from the processor's counter, once where one
 * part follows another, a few times per bundle; what that takes is a part of its own.
 */
#ifndef SIM_HOST_TIME_H
#define SIM_HOST_TIME_H
#include "sim/machine/machine.h"

enum host_part {
    HOST_MXU,                           /* pushes, products, results of matrix units */
    HOST_VECTOR,                        /* other arithmetic on vectors and masks */
    HOST_MEMORY,                        /* loads and stores of VMEM and CMEM */
    HOST_COPY,                          /* contents of copies */
    HOST_COLLECTIVE,                    /* all of these in bundles of collective kernels */
    HOST_ENGINE,                        /* issue, scalar operations, and all that is timing */
    HOST_TRANSFER,                      /* between launches: upload and download */
    HOST_AROUND,                        /* what the host does else: its own program */
    HOST_MEASURING,                     /* this table */
    HOST_WAITING,                       /* threads without work */
    HOST_PART_COUNT
};

struct host_times {
    double seconds[HOST_PART_COUNT];
    double all_seconds;                 /* their sum: elapsed x threads */
    double elapsed_seconds;
    int thread_count;
    int64_t launches, repeats;          /* of them, those that were not simulated */
    int64_t kernels;                    /* in these, that another core worked out: docs/engine.md */
};

/*
 * Between launches, once: time counts from now on. is_collective tells kernels from the note of
 * a bundle (NULL or a text); it may be NULL.
 */
void machine_watch_host(struct machine *m, bool (*is_collective)(const char *note));
/* all zero where nobody watches */
void machine_host_times(const struct machine *m, struct host_times *t);

/* "matrix units", …; and in some words what counts there */
const char *host_part_name(enum host_part part);
const char *host_part_meaning(enum host_part part);
#endif
