/*
 * The table from which the program of a collective (stack/collective/collective_code.h) reads a core's
 * operations: pages of rows, one per operation. The first two stand in SMEM when the
 * program begins, the others come from HBM while it works.
 */
#ifndef STACK_COLLECTIVE_TABLE_H
#define STACK_COLLECTIVE_TABLE_H
#include "stack/collective/collective_code.h"

#define WORD_NUMBER (ROW_WORDS - 1)     /* of an operation in its list, in rows that are one */

/* What is added to the addresses and flags of all operations, and where the pages lie in SMEM. */
struct collective_base {
    int64_t hbm, vmem, smem;            /* bytes; vmem: whole rows of 512 */
    int flag;
};

struct collective_table {
    struct collective_lists lists;      /* its flag_count: without the one of the pages */
    struct collective_code code;
    struct collective_base base;
    const int *cut;                     /* a row that ends a part stands before each of these */
    int cut_count;                      /* operations, which ascend; the same for all cores */
};

int collective_table_page_bytes(const struct collective_table *t);
int collective_table_pages(const struct collective_table *t, int core);
/* of a page in HBM, behind lists.table_address */
int64_t collective_table_address(const struct collective_table *t, int page);
/* where the row stands in SMEM that ends the part before cut `cut` */
int64_t collective_table_cut_row(const struct collective_table *t, int cut);
/* page_bytes of it */
void collective_table_page(const struct collective_table *t, int core, int page, int32_t *to);
#endif
