/*
 * Attention kernels: blocks of keys with a running softmax, scores never in HBM.
 *
 * o = softmax(q k^T / sqrt(128)) v in bf16 with f32 sums, for each head; heads
 * of q share those of k and v in groups (GQA). Three forms:
 *
 *   FLASH   q, o [heads_q, q_len, 128], k, v [heads_kv, kv_len, 128]; a step is
 *           block_q rows of a head by block_kv keys. Causal: row r sees keys up
 *           to r + kv_len - q_len, and blocks of which it sees none are left out.
 *   PAGED   one query for each sequence; keys in pages [heads_kv, pages,
 *           page_tokens, 128] found through a table [sequences, pages of one]
 *           of s32; a step is pages_per_block pages of one head.
 *   RAGGED  as PAGED with q_len queries, the last ones of the sequence, and
 *           pages [pages, page_tokens, 2 heads_kv, 128], keys and values of a
 *           head next to each other; a step has all heads of its pages.
 *
 * q and o of PAGED and RAGGED: [sequences, heads_kv, group, q_len, 128], with
 * group x q_len (of a step) filled up to 16 rows. Everything in HBM in bf16
 * tiles; arrays are as array_init lays these shapes out row-major.
 *
 * Values: products in the order of the matrix unit, base-2 exponentials, the
 * sum of a block's exponentials and its product with v added to the running
 * ones after these are scaled. Not here: chips with accumulators (v7x), heads
 * other than 128 wide, dropout, biases.
 */
#ifndef STACK_ATTENTION_H
#define STACK_ATTENTION_H
#include "stack/kernels/pipeline/kernel.h"

#define ATTENTION_DEPTH 128             /* of a head */

enum attention_form { ATTENTION_FLASH, ATTENTION_PAGED, ATTENTION_RAGGED };

struct attention {
    enum attention_form form;
    int64_t sequences, heads_q, heads_kv;       /* heads of one sequence */
    int64_t q_len, kv_len;
    int64_t block_q, block_kv;          /* FLASH, RAGGED; 0: a default */
    int64_t page_tokens, pages_per_block;       /* PAGED, RAGGED: block_kv is their product */
    bool is_causal;                     /* FLASH */
    int64_t q, k, v, o, table;          /* HBM, bytes; RAGGED: k are the pages of both */
};

/* fills in defaults, lays the arrays out from `hbm` on; *end: behind them. -1: sizes not made */
int attention_plan(struct attention *p, const struct chip *chip, int64_t hbm, int64_t *end,
                   struct err *e);

/* PAGED, RAGGED: a table whose pages lie apart; entries: s32, whole blocks for each sequence */
int64_t attention_table_entries(const struct attention *p);
void attention_fill_table(const struct attention *p, int32_t *entry);

/* the kernel; of `job` it takes chip, name, VMEM, flags and SMEM */
int attention_emit(const struct attention *p, const struct kernel_job *job, struct arena *a,
                   struct segment *out, struct err *e);

/* nanoseconds from the first bundle to the last copy, on a machine in timing mode */
int attention_time(const struct attention *p, const struct slice *slice,
                   const struct chip *chip, double *ns, struct err *e);
#endif
