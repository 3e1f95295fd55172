/*
 * What each source operation of a program came to: cycles, FLOP, bytes. A source
 * operation is what the notes of bundles name; bundles without a note are one
 * of their own. Gathered from how often each bundle issued and waited
 * (report_view.bundle), so no trace is needed.
 */
#ifndef REPORT_OP_STATS_H
#define REPORT_OP_STATS_H
#include "report/tables/table.h"
#include "report/view/view.h"

struct op_stat {
    uint32_t note;                      /* 0: none; else 1 + index into isa_program.note */
    const char *name;                   /* "(none)" for note 0 */
    const struct report_source *source; /* what the caller knows of it, or NULL */
    uint32_t bundles;
    int64_t occurrences;                /* times the first bundle of each of its intervals issued */
    cycle_t cycles, issue_cycles, stall_cycles, dma_stall_cycles;
    int64_t issued_flops;
    cycle_t matmul_cycles;              /* that its matmuls hold arrays, of all units together */
    int64_t hbm_bytes, ici_bytes, vmem_read_bytes, vmem_write_bytes;
    bool has_matmul, has_vector, has_transpose, has_branch;     /* of what was executed */
    bool has_copy, has_remote_copy, reads_hbm;
};

/* Of core v->ops_core, note by note, those without bundles too; count is note_count + 1. */
struct op_stat *op_stats_gather(const struct report_view *v, struct arena *a, size_t *count);

/* named as in HLO profiles: "convolution fusion", "loop fusion", "copy", "all-reduce"… */
const char *op_stat_category(const struct op_stat *s);

/*
 * What it used the largest share of, of all that the core could have done in its cycles: "Compute",
 * "HBM", "VMEM Read", "VMEM Write", or "latency" where that is below 30 %. *use: the share, 0..1.
 */
const char *op_stat_bound(const struct report_view *v, const struct op_stat *s, double *use);

/* FLOP that all arrays of a core do in a cycle: in the types of `flops`, else bf16 */
double op_peak_flops_per_cycle(const struct chip *chip, int64_t flops, cycle_t matmul_cycles);

/* rows of TABLE_OPS, those of most cycles first; of TABLE_LAYERS, in the order of v->layer */
void op_stats_fill_table(const struct report_view *v, struct table *ops);
void op_stats_fill_layers(const struct report_view *v, struct table *layers);
#endif
