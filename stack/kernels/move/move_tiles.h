/*
 * The slow and right way to make an array: tile by tile, row by row, run by
 * run, each run's elements from move_gather_node or from a function of the caller.
 *
 * Operands and result are brought into VMEM whole as far as there is room,
 * smallest first. Of the others, rows are fetched and tiles sent one by one.
 */
#ifndef STACK_MOVE_TILES_H
#define STACK_MOVE_TILES_H
#include "stack/kernels/move/move_gather.h"

#define MOVE_OPERANDS_MAX 64

struct move_tiles {
    const struct kernel_job *job;
    struct vcode code;
    struct move_gather g;
    struct move_gather_array operand[MOVE_OPERANDS_MAX], result;
    int64_t spill_row, spill_tiles;
    int64_t extra_row;                  /* of the caller */
};

/* VMEM rows that are needed at least, with `extra_rows` of the caller's */
int64_t move_tiles_least_rows(const struct kernel_job *job, int64_t extra_rows);

/* places everything and emits the copies in; t->code is begun */
int move_tiles_begin(struct move_tiles *t, const struct kernel_job *job, int64_t extra_rows,
                     struct arena *a, struct err *e);

/*
 * All tiles of `to`. value() gives the elements of one run, as move_gather_node
 * does, and may begin blocks.
 */
typedef int tiles_value(struct move_tiles *t, struct move_gather_place *place, void *user);
void move_tiles_make(struct move_tiles *t, const struct move_gather_array *to, tiles_value *value,
                     void *user);

/* copies out; finishes the segment */
int move_tiles_end(struct move_tiles *t, struct arena *a, struct segment *out, struct err *e);
#endif
