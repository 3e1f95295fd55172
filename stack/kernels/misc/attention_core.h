/*
 * A step of attention in VMEM: a block of keys and values of one or more heads
 * against rows of queries. docs/kernels.md.
 *
 * Rows come in groups of 8. The scores of a head are [groups][vectors] tiles,
 * heads one behind the other, and so are the running maximum, the running sum,
 * the factor that scales what was before, and the sum of v.
 */
#ifndef STACK_ATTENTION_CORE_H
#define STACK_ATTENTION_CORE_H
#include "stack/backend/vcode.h"

enum {                                  /* scalar registers of a step */
    SREG_Q, SREG_KEYS, SREG_VALUES,     /* VMEM rows of the first head; kept */
    SREG_LIMIT,                         /* key that row 0 may see at most, in the block; kept */
    SREG_CORE                           /* up to SREG_CORE_END: not kept */
};
#define SREG_CORE_END 16

struct attention_core {
    struct vcode *c;
    const struct chip *chip;
    int64_t heads, members, groups;     /* groups of rows of a head: members x the same tokens */
    int64_t keys;                       /* a multiple of 128 */
    bool is_masked;                     /* rows do not see every key of the block: SREG_LIMIT */
    bool is_causal;                     /* row r of a member sees r keys more than row 0 */
    float scale;                        /* of the scores, log2(e) included */
    int64_t q_head_rows;                /* VMEM rows from a head to the next: q */
    int64_t key_head_rows;
    int64_t token_rows;                 /* 0: keys in packed tiles of 16; else interleaved, a
                                         * token each so many rows, k low and v high */
    int64_t s_row, m_row, l_row, alpha_row, acc_row;    /* VMEM */
};

int64_t core_score_rows(const struct attention_core *k);        /* VMEM rows of the scores */
int64_t core_state_rows(const struct attention_core *k);        /* of each of m, l, alpha, acc */

void core_begin(struct attention_core *k);      /* no key has been seen */
void core_step(struct attention_core *k);
/* results, bf16 tiles of 16 rows, from VMEM row S[SREG_Q] on as q lies there */
void core_end(struct attention_core *k);
#endif
