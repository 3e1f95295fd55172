/*
 * Programs of HLO and StableHLO: read, verified, cut for the devices that they are for, made graphs.
 */
#ifndef EXEC_PROGRAM_GRAPH_H
#define EXEC_PROGRAM_GRAPH_H
#include "import/asis/asis.h"
#include "import/lower/lower.h"
#include "import/shard/shard.h"

struct program_graph {
    struct hlo_module *module;          /* as it was read */
    const struct hlo_module *device;    /* of one device: `module`, or, where it was made, `cut` */
    struct hlo_module cut;
    bool is_made;                       /* from `module`, for program_graph_fini */
    bool is_cut;                        /* then `boundary` says where parts lie in whole arrays */
    struct shard_boundary boundary;
    int devices;                        /* replicas times partitions */
    int assumed;                        /* constants that program_graph_assume has filled, */
    const char *first_assumed;          /* and one of them */
    enum exact_form exact;              /* for program_graph_lower */
    struct hlo_module scheduled;        /* of program_graph_keep: `device` for its kernels */
    struct kept_program kept;
    bool is_kept;
    struct lowered lowered;             /* of program_graph_lower */
    bool is_lowered;
    int64_t queue_entries;              /* as in struct lower_settings, */
    const struct lower_known *known;    /* and this */
};

/*
 * Reads and verifies a file. `is_highest`: every product as if it asked for the highest precision.
 * What is left on the way is freed by program_graph_fini, whatever the status, before the arena.
 */
int program_graph_read(struct program_graph *p, const char *path, bool is_highest, struct arena *a,
                       struct err *e);
/* The same of bytes; `name` stands for the file in messages and must outlive the arena. */
int program_graph_read_bytes(struct program_graph *p, const void *bytes, size_t size,
                             const char *name, bool is_highest, struct arena *a, struct err *e);
/* what a user is told of them */
#define PROGRAM_ASSUMED \
    "constants: the file leaves out the elements of %d, first %s: others stand for them\n"
/* For timing alone: any elements for constants whose own the file leaves out. */
void program_graph_assume(struct program_graph *p, struct arena *a);
/* Cuts it for its devices, where it is for several. */
int program_graph_cut(struct program_graph *p, struct arena *a, struct err *e);
/* Of a scheduled program: kernels, places and copies as it has them, behind program_graph_cut.
 * Without `has_values` for timing alone. */
int program_graph_keep(struct program_graph *p, bool has_values, struct arena *a, struct err *e);
/* The graph of one device, behind program_graph_cut. */
int program_graph_lower(struct program_graph *p, struct arena *a, struct err *e);
void program_graph_fini(struct program_graph *p);
#endif
