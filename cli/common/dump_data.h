/*
 * The contents of a listing's operands: from .npy files or from a seed, into
 * the memories of core 0 before the run, and out of them after it.
 *
 *   f32 <f4, s32 <i4, u32 <u4, f16 <f2, s16 <i2, u16 <u2, s8 |i1, u8 |u1,
 *   pred |b1, f8… |u1 (bits), s4 |i1 and u4 |u1 (one element per byte),
 *   bf16 <u2 (bits) or <f4 (rounded to nearest even); results of bf16 are <f4
 */
#ifndef CLI_DUMP_DATA_H
#define CLI_DUMP_DATA_H
#include "isa/listing/listing.h"
#include "sim/machine/machine.h"

/*
 * Fills the operand's memory, or, for one without memory, its value. `path`
 * NULL: generated, in [-1, 1) for floats and 0..15 for integers; operands of
 * more than 2^26 elements stay zero. Outputs that are no inputs stay zero.
 */
int dump_data_fill(struct machine *m, const struct listing *l, struct listing_operand *o,
                   const char *path, int64_t seed, struct err *e);

/* before the run: the operand can be a result */
int dump_data_check_result(const struct listing *l, const struct listing_operand *o,
                           const char *path, struct err *e);
int dump_data_write_result(struct machine *m, const struct listing_operand *o, const char *path,
                           struct err *e);
#endif
