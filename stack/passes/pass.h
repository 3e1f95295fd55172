/*
 * The passes: what all of them are given. The list is stack/passes/passes.def.
 *
 * A pass changes the graph in place (mostly through stack/hlo/rewrite.h) and keeps
 * its parameters and outputs. Bodies of while loops are graphs of their own, on
 * which each pass runs by itself, inner ones first.
 */
#ifndef STACK_PASS_H
#define STACK_PASS_H
#include "stack/kernels/pipeline/kernel.h"

struct module_settings;                 /* stack/module/module.h */

struct pass_context {
    const struct chip *chip;
    enum codegen codegen;
    int replica_count;
    int64_t vmem_rows;                  /* that kernels have for windows and scratch */
    int64_t bucket_bytes;               /* of gradients added up together, about; 0: all */
    /*
     * What an all-reduce of so many bytes over all replicas takes, for `settings`; it returns
     * NULL for one that does not run beside kernels. With it fewer gradients together may be
     * found to be better; without (NULL) bucket_bytes is as said.
     */
    const struct kernel_spread_times *(*sum_times)(const struct module_settings *settings,
                                                   int64_t bytes, struct arena *a);
    const struct module_settings *settings;
    struct kept_program *kept;          /* kernels are these, stack/hlo/kept.h; NULL: chosen */
    bool keeps_roundings;               /* pass_excess: it does nothing */
    bool heroes_alone;                  /* pass_fusion: products, windows, moves stay alone */
    /* whether some kernel makes a body, for pass_fusion; NULL: what the kinds of kernels say */
    int (*check_supported)(const struct graph *body, const struct chip *chip, struct err *e);
};

/* stack/passes/passes.def names some of them more than once */
int pass_devices(struct graph *g, const struct pass_context *c, struct err *e);
int pass_vectors(struct graph *g, const struct pass_context *c, struct err *e);
int pass_trips(struct graph *g, const struct pass_context *c, struct err *e);
int pass_pixels(struct graph *g, const struct pass_context *c, struct err *e);
int pass_heads(struct graph *g, const struct pass_context *c, struct err *e);
int pass_simplify(struct graph *g, const struct pass_context *c, struct err *e);
int pass_expand(struct graph *g, const struct pass_context *c, struct err *e);
int pass_upcast(struct graph *g, const struct pass_context *c, struct err *e);
int pass_states(struct graph *g, const struct pass_context *c, struct err *e);
int pass_layout(struct graph *g, const struct pass_context *c, struct err *e);
int pass_tables(struct graph *g, const struct pass_context *c, struct err *e);
int pass_moves(struct graph *g, const struct pass_context *c, struct err *e);
int pass_combine(struct graph *g, const struct pass_context *c, struct err *e);
int pass_fusion(struct graph *g, const struct pass_context *c, struct err *e);
int pass_excess(struct graph *g, const struct pass_context *c, struct err *e);
int pass_readers(struct graph *g, const struct pass_context *c, struct err *e);
#endif
