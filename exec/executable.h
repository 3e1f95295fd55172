/*
 * A program of a framework from its bytes to launches, in a process that goes on: read, verified,
 * cut for its devices, compiled once, launched as often as wanted on arrays that the caller has.
 *
 * Arrays are values (exec/value.h), elements of hlo_element_bytes each; those of a program that was
 * cut are the parts of each device. Devices are numbered replica * partitions + partition.
 */
#ifndef EXEC_EXECUTABLE_H
#define EXEC_EXECUTABLE_H
#include "exec/loaded.h"
#include "exec/machines.h"
#include "exec/program_graph.h"
#include "exec/value.h"

struct executable_settings {
    const struct slice *slice;
    const struct chip *chip;
    enum codegen codegen;
    bool has_megacore;
    bool is_host;                       /* evaluated on the host: values, no cycles */
    bool is_highest;                    /* every product as if it asked for the highest precision */
    struct machine_options engine;
    int64_t assume_trips;               /* as in struct module_settings */
    enum assumed_branch assume_branch;  /* likewise */
    int64_t queue_entries;              /* as in struct lower_settings */
    int64_t replicas, partitions;       /* 0: as the program says */
    struct disk_cache *cache;           /* of programs compiled before; NULL: without */
    const int32_t *core;                /* by device: the first of its cores; NULL: in order */
};

struct executable;

/*
 * The host's end of a program that sends to it and receives from it while it runs (callbacks). Each
 * is called once for each entry, in the program's order; `size` bytes of elements. -1 with the
 * error: the launch fails.
 */
struct executable_host {
    void *user;
    int (*send)(void *user, int device, int64_t channel, const void *bytes, size_t size,
                struct err *e);
    int (*receive)(void *user, int device, int64_t channel, void *bytes, size_t size,
                   struct err *e);
};

/* how far it came before it failed */
enum executable_stage {
    EXECUTABLE_READ, EXECUTABLE_CUT, EXECUTABLE_LOWER, EXECUTABLE_COMPILE, EXECUTABLE_FIT,
    EXECUTABLE_DONE
};

/* who is told of launches on cores: before the machine runs, and behind it */
struct executable_watch {
    void (*begin)(void *watcher, struct executable *x);
    void (*end)(void *watcher, struct executable *x, bool is_done);
};

struct executable {
    struct arena arena;                 /* of all here */
    struct executable_settings settings;
    struct slice slice;
    struct chip chip;
    struct program_graph graph;
    struct loaded loaded;
    bool is_alone;                      /* replicas that exchange nothing: it is one of them, and */
                                        /* each launch is of one device */
    int parameter_count, result_count;  /* leaves */
    const struct hlo_type **parameter, **result;        /* by leaf, of each device */
    struct structure_queues queues;     /* between it and its host */
    int64_t launches, cycles;           /* so far; of the last */
    struct machines_entry kept_machine;
    const struct executable_watch *watch;       /* NULL: nobody; the caller's to set */
    void *watcher;
};

/* 0, or -1 with where it ended; executable_fini is the caller's in any case */
int executable_make(struct executable *x, const struct executable_settings *s, const void *bytes,
                    size_t size, const char *name, enum executable_stage *stage, struct err *e);
/*
 * argument[device][leaf], result[device][leaf]: values, those of results to be filled. host: of a
 * program with queues (executable_has_queues), else NULL.
 */
int executable_launch(struct executable *x, const struct executable_host *host,
                      struct value *const *const *argument, struct value *const *const *result,
                      struct err *e);
/*
 * What the compiler has made of the program of a device, as a program again: an instruction for each
 * kernel, fusions with what they compute, loops with their bodies. Its entry has the program's parameters
 * and results; where cores have others, it calls the graph's, and custom calls split and join. Where nothing was compiled (is_host) the program
 * itself. In the arena; hlo_module_fini is the caller's, but of the program itself. NULL: a mistake.
 */
const struct hlo_module *executable_optimized(const struct executable *x, struct arena *a,
                                              struct err *e);
bool executable_has_queues(const struct executable *x);
/* behind a launch that was broken off in the middle: its machine is given up, not freed */
void executable_abandon_machine(struct executable *x);
void executable_fini(struct executable *x);
#endif
