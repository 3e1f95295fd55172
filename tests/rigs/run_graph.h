/*
 * Compiles a graph, runs it on a simulated slice and brings results back
 * dense, for tests that compare with the host reference interpreter.
 */
#ifndef TESTS_RUN_GRAPH_H
#define TESTS_RUN_GRAPH_H
#include "sim/machine/machine.h"
#include "stack/module/module.h"

struct graph_run {
    const char *slice;                  /* "v3", "v3-8"; one replica per core */
    const char *set;                    /* "section.key=value", several with spaces, or NULL */
    int device_count;                   /* replicas, 0 = one per core */
    const int32_t *device_core;         /* NULL: each on the core of its number */
    int thread_count;                   /* 0 = 1 */
    const char *simd;                   /* NULL = "auto" */
    int launch_count;                   /* 0 = 1; the outputs are those of the last */
    enum codegen codegen;
    int64_t hbm_bytes;                  /* of a core; 0: its share of the chip */
    int64_t bucket_bytes, stage_bytes;  /* as in module_settings */
    bool sums_wait;
    bool is_restored;                   /* what runs was saved and restored */
    bool may_refuse;                    /* not compiling is no failure: see refusal */
    cycle_t cycles;                     /* out */
    int kernel_count;                   /* out */
    int64_t hbm_used_bytes;             /* out: of a core, the highest address in use */
    char refusal[512];                  /* out: the compiler's message, "" = it ran */
};

/*
 * input[replica * parameter_count + i] is the dense data of parameter i; the
 * outputs are allocated from `a` likewise. Fails the test on any error, except
 * that a compiler that refuses may be forgiven: then there are no outputs.
 */
void run_graph(struct graph_run *run, const struct graph *g, const void *const *input,
               void **output, struct arena *a);

/* a dense f32 array of uniform numbers */
float *random_floats(struct arena *a, int64_t count, float lo, float hi, uint64_t seed);
#endif
