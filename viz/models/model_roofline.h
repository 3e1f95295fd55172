/*
 * The roofline of an interval of a run (report/roofline/roofline.h): what one core could do,
 * what each of its source operations did, and what the mean of the cores that
 * ran did.
 *
 * Counted from the records: FLOP, loads and stores of the bundles that issued,
 * their guards considered; bytes of the copies that were issued. A launch comes
 * to the very numbers that its run folder has. Counting goes piece by piece, the
 * core looked at first, so that a panel stays quick while a long run is counted.
 */
#ifndef VIZ_MODEL_ROOFLINE_H
#define VIZ_MODEL_ROOFLINE_H
#include "report/roofline/roofline.h"
#include "report/native_trace/ntrace.h"

struct roof_work {
    int64_t cycles, matmul_cycles, flops, bytes[ROOF_MEMORY_COUNT];
};

struct roofline_model {
    struct ntrace *run;                 /* NULL: nothing is loaded */
    int core;
    cycle_t from, end;
    struct chip chip;
    struct roofline_roofs roofs;
    bool has_bundles;                   /* the trace tells which bundles issued */
    bool has_ops, has_step;             /* these are counted, op and step are there */
    struct roofline_point step;
    struct roofline_point *op;          /* with cycles, the longest first */
    uint32_t *note;                     /* of each, as ntrace_note_cycles numbers them */
    size_t op_count;
    int core_count;                     /* that ran, so far */
    /* counting */
    struct roof_work *by_note, sum;
    struct roof_work *of_bundle;        /* all operations of each bundle executed once */
    const struct isa_program *program;  /* that of_bundle is of */
    int turn;                           /* cores counted, the one looked at first */
    cycle_t done;
    cycle_t piece;                      /* cycles to count at once */
};
/* all zero, a model is empty */
void roofline_model_fini(struct roofline_model *m);
/* names in `op` are the run's */
void roofline_model_restart(struct roofline_model *m, struct ntrace *run, int core, cycle_t from,
                            cycle_t end);
/* goes on for about `budget` records and bundles, repeats aside; true when all are counted */
bool roofline_model_advance(struct roofline_model *m, int64_t budget);
/* the resource with the highest use, or "latency" where that is below 30 % */
const char *roofline_model_bound(const struct roofline_point *p);
#endif
