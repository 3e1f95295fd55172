/*
 * Parts that need some of their neighbours': which elements a device's part of a window operation is
 * made of, and how it gets them.
 */
#ifndef IMPORT_SHARD_WINDOW_H
#define IMPORT_SHARD_WINDOW_H
#include "import/shard/emit.h"

/* What device i of `parts` along a dimension needs of it: [first + i * step, + count), of which only
 * those in [0, size) are there; `part` elements lie with each device. */
struct shard_range {
    int64_t parts, size, part, first, step, count;
    int64_t low, high;                  /* holes before the first and behind the last */
};

/* of a dimension of `size` elements, of which `extent` indices of a factor are made, cut by parts;
 * count 0: holes fall otherwise on each device */
struct shard_range shard_range_of(const struct shard_window *w, int64_t size, int64_t extent,
                                  int64_t parts);
/* into so many parts the factor can be cut as far as its windows go: holes fall alike on each device,
 * and no window reaches beyond the neighbours */
bool shard_windows_fit(const struct shard_rule *r, int factor, int64_t parts);
/* indices that the factor has: its size is the least of its dimensions' */
int64_t shard_factor_extent(const struct shard_rule *r, int factor);

/*
 * These elements of `x`, which lies cut by the axes (or whole, is_whole) along `dim`: by
 * collective-permutes of what is needed, or gathered where that is less. `fill`, a scalar, stands
 * where none is; -1: anything may.
 */
int shard_fetch(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes,
                const struct shard_range *r, bool is_whole, int fill);

/* an operation along whose windows it is cut: its part, operands as bring_operands leaves them */
bool shard_is_window_cut(const struct shard_cutting *c);
int shard_emit_window(struct shard_emitter *e, struct shard_cutting *c, struct hlo_instruction *i);
#endif
