/*
 * One launch in all the ways that must give the same: host threads, SIMD paths,
 * trace, pauses, a second launch, memoised or not, races checked, timing and
 * functional mode.
 */
#ifndef TESTS_ALIKE_H
#define TESTS_ALIKE_H
#include "tests/rigs/outcome.h"

/* Programs and contents, to be put into machines made for them. */
struct scene {
    const char *name;                   /* for messages: how to see it again */
    const struct slice *slice;
    const struct chip *chip;
    void (*load)(const struct scene *s, struct machine *m);
    const void *context;                /* load's */
    struct outcome_range range[MEMORY_COUNT];
    int range_count;
    bool has_races;                     /* values depend on times: functional mode may differ */
    bool needs_lanes;                   /* lanes reach scalar registers: nothing for timing mode */
    bool is_large;                      /* seconds on the plain C path: in long tests only */
    uint64_t seed;                      /* of the pauses */
    const char *only_way;               /* that with this name alone, NULL: all */
};

/*
 * Runs the scene plainly and in every way that the host has. True if all are
 * alike, and the plain launch ended without a fault; else `what` says which way
 * differs and where first.
 */
bool alike(const struct scene *s, char *what, size_t what_bytes);
#endif
