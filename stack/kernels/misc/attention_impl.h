/*
 * Inside the kernels of kind "attention": kernel_attention.c reads the node and streams whole heads
 * (flash), attention_paged.c finds keys through a table of pages; a step of both is
 * attention_core.h. docs/kernels.md.
 */
#ifndef STACK_ATTENTION_IMPL_H
#define STACK_ATTENTION_IMPL_H
#include "stack/backend/builder.h"
#include "stack/kernels/misc/attention_core.h"
#include "stack/kernels/pipeline/kernel.h"

#define ATTENTION_PACKED_ROWS 16        /* of a tile of bf16 */
#define ATTENTION_TILE_GRANULES (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)
#define ATTENTION_ROW_GRANULES (ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES)

struct attention_work {
    const struct kernel_job *job;
    const struct graph_attention *a;
    int64_t group, q_blocks;            /* heads of q to one of k; blocks of queries */
    int64_t head_rows;                  /* of q in a step, for one head of k */
    int64_t table_pages;                /* of a sequence, in whole blocks of keys */
    const struct array *q, *k, *v, *table, *o;  /* RAGGED: k has v, too */
    struct attention_core core;
    struct vcode code;
    struct builder m;
};

/* the step's arrays, from VMEM row `row` on: the row behind them; nothing is emitted */
int64_t attention_place_core(struct attention_work *w, int64_t row, int64_t heads,
                             int64_t members, int64_t groups);

/* rows of VMEM that PAGED and RAGGED take; and their code */
int64_t attention_paged_rows(struct attention_work *w);
int attention_paged_emit(struct attention_work *w, struct err *e);
#endif
