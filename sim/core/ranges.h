/*
 * A set of byte ranges: sorted, apart from each other, joined where they touch.
 * Adding in order costs nothing to speak of; anywhere else the ranges behind
 * are moved.
 */
#ifndef SIM_RANGES_H
#define SIM_RANGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    int64_t first, end;                 /* end is behind the last byte */
};

/* All zero is the empty set. */
struct ranges {
    struct range *item;
    size_t count, capacity;
};

void ranges_fini(struct ranges *r);
void ranges_add(struct ranges *r, int64_t first, int64_t end);
void ranges_remove(struct ranges *r, int64_t first, int64_t end);

/* the first of the set that has bytes in first..end; NULL if none has */
const struct range *ranges_find(const struct ranges *r, int64_t first, int64_t end);

/* whether all of first..end is in the set */
bool ranges_cover(const struct ranges *r, int64_t first, int64_t end);

/*
 * Make to_first.. of `to` what first..end of `from` is; the sets may be one and the same where
 * the two places do not overlap.
 */
void ranges_copy(const struct ranges *from, int64_t first, int64_t end, struct ranges *to,
                 int64_t to_first);
#endif
