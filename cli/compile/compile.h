/*
 * Inside `systole compile`: what its files share.
 *
 * compile_graph.c makes the graph, compile_fit.c finds batches that fit, compile_time.c runs it and
 * tells how long each kernel took, compile_tune.c tries tilings, compile_print.c and
 * compile_categories.c print, compile_kept.c what --as-is has kept.
 */
#ifndef CLI_COMPILE_H
#define CLI_COMPILE_H
#include "cli/common/options.h"
#include "report/annotate/annotate.h"
#include "sim/machine/machine.h"
#include "stack/hlo/kept.h"
#include "stack/kernels/index/index_data.h"
#include "stack/module/module.h"
#include "stack/module/tuning.h"
#include "train/fit/fit.h"

enum compile_emit { EMIT_GRAPH, EMIT_LLO, EMIT_BUNDLES, EMIT_LISTING, EMIT_NOTHING };

struct compile_request {
    const char *model, *folder, *dump_after, *tune_cache;
    const char *input_sizes;            /* that the model's file leaves open, or NULL */
    const char *assume_index;           /* uniform, zipf, or a file: where gathers read */
    struct cli_target target;
    enum codegen codegen;
    enum compile_emit emit;
    int policy_given;                   /* -1: not; float32, mixed_bfloat16 */
    enum keras_policy policy;           /* of a Keras model */
    enum optimizer_rule optimizer;
    bool has_optimizer;
    int64_t batch;                      /* of a replica; 0: only a program of HLO knows it */
    int replica_count;                  /* one on each core, where a slice has several chips */
    int64_t bucket_bytes;               /* of gradients; 0: chosen */
    bool sums_wait, all_chips;
    int64_t assume_trips;               /* as in struct module_settings */
    enum assumed_branch assume_branch;
    bool is_run, is_tuned, is_inference, no_megacore;
    bool assumes_constants;             /* program_graph_assume */
    bool is_kept, is_json;              /* --as-is; --json: of that the table alone */
    struct kept_program *kept;          /* what is kept of the program, with its notes; or NULL */
    struct machine_options engine;
};

/* the graph of a Keras model's step, or of a named model, into g (graph_init done) */
/* and its batch, where the model's name tells it */
int compile_make_graph(struct compile_request *o, struct graph *g, struct arena *a,
                       struct err *e);

/* one replica on each core of a slice of several chips */
int compile_replicas_on(const struct slice *slice);
/* whether no chip is special, by its place or by what the program has it do: one stands for all */
bool compile_chips_are_alike(const struct slice *slice, const struct module *m);
/* of a request whose replicas are known */
struct module_settings compile_settings(const struct compile_request *o, const struct slice *slice,
                                        const struct chip *chip);
/*
 * After a step was refused for its memory: a smaller batch that fits, the largest of multiples of
 * 8 where the batch is more than that; 0: none. The other one says so behind the message.
 */
int64_t compile_largest_batch(const struct compile_request *o, const struct module_settings *s,
                              const struct module *refused);
void compile_add_largest_batch(const struct compile_request *o, const struct module_settings *s,
                               const struct module *refused, struct err *e);

/* a JSON file, not a model by name */
bool compile_is_file(const char *model);

/* What one launch spent where. */
struct compile_times {
    /*
     * By core, then by kernel: of all times that it ran, without the wait for the other core
     * behind it. Core 1's only where the module is for both cores.
     */
    int64_t *kernel_cycles[2], barrier_cycles[2];
    struct annotate_counts counts;      /* by bundle of core 0, where asked for */
    int64_t total_cycles;
};

/* Timing mode: values are unknown. A module for both cores of a chip runs on the first two. */
struct compile_launch {
    const struct slice *slice;
    const struct chip *chip;
    int cores;                          /* the first ones, at once, each for itself; times are
                                         * those of the first */
    bool one_chip;                      /* the first chip stands for all */
    bool shows_progress;
    bool per_bundle;                    /* every round of every loop is simulated, slower */
    const struct graph *graph;          /* of which the module was made: its indices are written */
    struct index_data indices;
};
int compile_run(const struct module *m, const struct compile_launch *l, struct arena *a,
                struct compile_times *out, struct err *e);

/* Cycles of one kernel alone with a tiling; -1 where that does not compile or does not run. */
int64_t compile_time_kernel(const struct kernel_job *job, const struct tiling *t,
                            const struct slice *slice);

/* tries the tilings of every kernel of the module that `t` does not know yet */
void compile_tune(const struct module *m, const struct slice *slice, struct tuning *t);

/* a table of kernels; `times` may be NULL */
void compile_print_kernels(const struct module *m, const struct compile_times *times);
/* kernels, bytes and cycles by category, where there are many kernels */
void compile_print_categories(const struct module *m, const struct compile_times *times);
void compile_print_summary(const struct module *m, const struct compile_request *o,
                           const struct slice *slice, const struct chip *chip,
                           const struct compile_times *times);
/* compile_kept.c: units of a kept program beside its own compiler's estimates; as text behind the
 * summary, or as JSON alone */
void compile_print_kept(const struct module *m, const struct kept_program *k,
                        const struct compile_times *times);
void compile_print_kept_json(const struct module *m, const struct kept_program *k,
                             const struct compile_times *times);
void compile_print_listing(const struct module *m, const struct compile_times *times, FILE *to);
#endif
