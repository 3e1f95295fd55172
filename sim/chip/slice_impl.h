/*
 * Inside the names of slices: sizes (slice.c), topologies (slice_grid.c), text (slice_print.c).
 */
#ifndef SIM_SLICE_IMPL_H
#define SIM_SLICE_IMPL_H
#include "sim/chip/chip.h"

/* The number in a name and the grid of chips. */
struct slice_shape {
    int size, dim[3];
};
/* of a built-in chip, ended by size 0 */
const struct slice_shape *slice_shapes(const char *chip_name);

/* the shape of a topology "4x4x8"; `name` is the whole name, for the message */
int slice_find_grid(struct slice_shape *out, const char *grid, const char *name,
                    const char *chip_name, const struct chip *c, struct err *e);
/* " (nearest: v4-256_twisted)", or "" where the chip has none; returns buf */
char *slice_print_nearest_twisted(const struct slice *s, const struct chip *c, char *buf,
                                  size_t buf_bytes);
/* "4x4", "2x2x1" where the chip's grid has three axes; returns buf */
char *slice_print_grid(const struct slice *s, char *buf, size_t buf_bytes);
#endif
