/*
 * The matrix unit once more, slow and obvious: matrices of doubles that shift
 * as docs/mxu.md says, dot products of exact sums. And programs for the
 * simulated one, written down step by step beside it.
 */
#ifndef TESTS_PLAIN_MXU_H
#define TESTS_PLAIN_MXU_H
#include "base/rng.h"
#include "isa/matrix.h"
#include "tests/rigs/rig.h"

#define PLAIN_ROWS 64                   /* of a tile at most */

/* rows of a tile: codes as they stand in memory, and what they mean */
struct plain_tile {
    enum matrix_type type;
    uint32_t code[PLAIN_ROWS][128];
    double value[PLAIN_ROWS][128];
    uint32_t word[1024];                /* packed */
};

/* what a code means, by the definition of its type */
double plain_value(enum matrix_type type, uint32_t code);

/* what a code is as a bf16 in the upper half of an f32; subnormals of f32 and bf16 as they are */
uint32_t plain_bits(enum matrix_type type, uint32_t code);

/* random, such that sums of 256 products are exact in f32 in any order */
void plain_random(struct plain_tile *t, enum matrix_type type, struct rng *r);
void plain_pack(struct plain_tile *t);  /* codes to words */

struct plain {
    struct rig rig;
    struct rng rng;
    int size;                           /* of the array */
    double staging[2][256][256], gain[2][256][256];
    char text[1 << 16];
    size_t length;
    int tile_count;                     /* tiles of operands in VMEM */
    int result_count;
};

/* one chip by its name, with one parameter changed (or NULL), on a SIMD path (or "auto") */
void plain_open(struct plain *m, const char *chip, const char *set, const char *simd);
void plain_close(struct plain *m);
void plain_begin(struct plain *m);      /* a new program, all registers empty */
void plain_add(struct plain *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* put a tile into VMEM and load it into a vector register */
void plain_load(struct plain *m, int vreg, const uint32_t *word);

/* shift one tile (upper NULL: no prep register) into a staging register of the model */
void plain_push(struct plain *m, int staging, int mode, bool is_xpose,
                const struct plain_tile *lower, const struct plain_tile *upper);

/* pop `count` results in f32 or s32 into VMEM */
void plain_pop(struct plain *m, const char *pop, int count);
void plain_run(struct plain *m);
void plain_result(struct plain *m, int index, uint32_t word[1024]);
#endif
