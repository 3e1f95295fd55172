/*
 * Kernels as programs of their own: a segment, and the shalt that link_program would put behind.
 */
#ifndef TESTS_WHOLE_PROGRAM_H
#define TESTS_WHOLE_PROGRAM_H
#include "stack/backend/vcode.h"

/* as vcode_compile_segment; all scalar registers are kept */
int whole_program(const struct vcode *c, const struct chip *chip, int64_t spill_base_row,
                  int64_t spill_tiles, struct arena *a, struct isa_program *program,
                  struct vcode_stats *stats, struct err *e);
#endif
