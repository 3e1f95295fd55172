/*
 * Inside the names of slices: the list in the chip file (slice_shapes.c), sizes (slice.c),
 * topologies (slice_grid.c), text (slice_print.c).
 */
#ifndef SIM_SLICE_IMPL_H
#define SIM_SLICE_IMPL_H
#include "sim/chip/chip.h"

/* The number in a name and the grid of chips. */
struct slice_shape {
    int size, dim[3];
};
#define SLICE_MAX 32                    /* shapes of a chip, with that of one core and the end */

/* the slices of a chip, least first, ended by size 0 */
void slice_shapes(const struct chip *c, struct slice_shape shapes[SLICE_MAX]);
/* "4x4x8" -> 4, 4, 8; "4x4" -> 4, 4, 1; the end of the text or a blank ends it */
bool slice_read_grid(const char *text, int dim[3]);
/*
 * "1x1 2x2" -> shapes whose size is that in chips: NULL, or what was expected where *word begins
 * in `text`.
 */
const char *slice_read_grids(const char *text, struct slice_shape shapes[SLICE_MAX], const char **word);
/* whether a slice of the list is beyond the chip's axes: which, and why */
bool slice_find_misfit(const struct chip *c, char *word, size_t word_bytes, const char **reason);

/* the shape of a topology "4x4x8"; `name` is the whole name, for the message */
int slice_find_grid(struct slice_shape *out, const char *grid, const char *name,
                    const char *chip_name, const struct chip *c, struct err *e);
/* " (nearest: v4-256_twisted)", or "" where the chip has none; returns buf */
char *slice_print_nearest_twisted(const struct slice *s, const struct chip *c, char *buf,
                                  size_t buf_bytes);
/* "4x4", "2x2x1" where the chip's grid has three axes; returns buf */
char *slice_print_grid(const struct slice *s, char *buf, size_t buf_bytes);
#endif
