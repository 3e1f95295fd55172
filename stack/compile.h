/*
 * From a graph to one program per core, the buffers it uses and their places.
 *
 * Passes, in order: fuse (elementwise groups), place (HBM and VMEM buffers with
 * lifetimes), lower (kernels in virtual-register code), then vcode_compile.
 * All replicas run the same program; what differs (its number, its neighbours
 * in the all-reduce ring) is read from SMEM words that the launcher sets.
 */
#ifndef STACK_COMPILE_H
#define STACK_COMPILE_H
#include "sim/chip.h"
#include "stack/abi.h"
#include "stack/graph.h"
#include "stack/layout.h"
#include "stack/vcode.h"

struct compile_options {
    const struct chip *chip;
    int replica_count;                  /* 1: all-reduce is the identity */
    /* parameters of equal name and shape use its HBM addresses, new buffers follow; or NULL */
    const struct compiled *share;
    const char *dump_after;             /* pass name, or NULL */
    FILE *dump_to;
};

struct compiled_buffer {
    const char *name;
    struct shape shape;
    struct layout layout;
    int64_t hbm_address;                /* bytes, in each core's share */
};

/* A buffer in VMEM, for reports. Kernel k begins where the program marks it: vtrace k. */
struct compiled_range {
    const char *name, *inside;          /* inside: a buffer that it is a part of, or NULL */
    int64_t address, bytes, padded_bytes;
    int first_kernel, last_kernel;      /* inclusive; below 0: from the start, kernel_count: to the
                                         * end */
};

struct compiled {
    struct isa_program program;
    struct compiled_buffer *parameter;  /* by parameter index */
    struct compiled_buffer *output;     /* by output index; aliases share the parameter's address */
    int parameter_count, output_count;
    struct compiled_range *vmem;
    int vmem_count, kernel_count;
    int64_t hbm_bytes, vmem_peak_bytes; /* per core */
    int64_t flops;                      /* of one core's graph */
    struct vcode_stats stats;
};

/*
 * `a` holds all of the result. -1 with a message when the graph uses an
 * operation or shape that has no kernel yet, or does not fit VMEM, HBM or the
 * instruction memory (what was asked, what there is).
 */
int compile_graph(const struct graph *g, const struct compile_options *options, struct arena *a,
                  struct compiled *out, struct err *e);
#endif
