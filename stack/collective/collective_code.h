/*
 * The program that carries out collectives, and the rows it reads: made once
 * for a chip and an element type, the same for all cores.
 *
 * A row is 24 words: a descriptor for dma.general (docs/memory.md), then what
 * kind of row it is and up to three values for it. Rows follow each other in a
 * page of SMEM; the last of a page says where the next page is.
 */
#ifndef STACK_COLLECTIVE_CODE_H
#define STACK_COLLECTIVE_CODE_H
#include "stack/backend/bundler.h"
#include "stack/collective/collective_program.h"

#define ROW_WORDS 24
#define ROW_BYTES_OF_TABLE (ROW_WORDS * 4)
#define PAGE_ROWS_MAX 64

enum collective_row {
    ROW_COPY, ROW_WAIT, ROW_SIGNAL,
    ROW_SPECIAL                         /* addition, page or end: by the word ROUNDS */
};

/* Words behind the descriptor. Of a row that has none, descriptor words are not looked at. */
enum collective_row_word {
    WORD_KIND = 16,
    WORD_A, WORD_B, WORD_C,
    /* wait: flag, value, -value; signal: flag, value, core; addition: rows from, to, rounds */
    WORD_REST,                          /* of an addition: VMEM rows behind the rounds */
    /* of a page (A: granules of the next page to wait for, B: -A): */
    WORD_FLAG = WORD_REST, WORD_NEXT,   /* flag of pages; address of the row before the next */
    WORD_FETCH, WORD_FETCH_TO           /* HBM and SMEM granule of a page to fetch, -1: none */
};
#define ROUNDS_PAGE (-1)                /* in place of an addition's rounds */
#define ROUNDS_END (-2)

struct collective_code {
    struct isa_program program;
    struct collective_overheads costs;
    int page_rows;                      /* with the last one, which is never read as a row */
    int round_tiles;                    /* of the adding loop */
    cycle_t setup_cycles;               /* of a special row, before it is told which */
};

/* As a part of a larger program: pages of SMEM, and where the first of the table come from. */
struct collective_place {
    int64_t smem, smem_bytes;           /* room for two pages, byte address */
    int64_t table;                      /* address in HBM of two pages at least */
    int page_flag;
    int64_t resume_row;                 /* address in SMEM of the row that ended the part before */
                                        /* this one; 0: it begins with the first pages */
};

/*
 * -1 when the chip cannot hold it: SMEM too small for two pages, too few slots.
 * place NULL: a program of its own, whose first two pages stand at the beginning
 * of SMEM. Else a segment (stack/kernels/pipeline/kernel.h), which fetches them while it waits
 * launch.collective_ns, or goes on where another one has ended.
 */
int collective_code_make(const struct chip *chip, enum collective_type type,
                         const struct collective_place *place, struct arena *a,
                         struct collective_code *out, struct err *e);

/* ----- between the parts of the generator */

enum { S_ROW, S_KIND, S_A, S_B, S_C, S_FROM, S_TO, S_COUNT, S_REST, S_TEMP };
enum {
    P_COPY, P_WAIT, P_SIGNAL, P_SPECIAL, P_SLOW, P_ONCE, P_AGAIN, P_WHOLE,
    P_REST                              /* and up: a bit of the rest each */
};
enum {
    LABEL_NEXT, LABEL_ROW, LABEL_ADD, LABEL_DRAIN, LABEL_REST, LABEL_SLOW, LABEL_END
};

cycle_t collective_bundles_since(const struct bundler *b, size_t *from);   /* moves *from on */

/*
 * From the row's values in S_A, S_B, S_C to the jump to LABEL_NEXT: the adding
 * loop and what is behind its rounds; fills in the costs of additions from the
 * section on. 0, or -1 when no loop can be made.
 */
int collective_adder(struct bundler *b, enum collective_type type, struct collective_code *code);
#endif
