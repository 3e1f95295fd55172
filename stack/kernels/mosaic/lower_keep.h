/*
 * Inside the kernels of Pallas: what is kept in VMEM because it would be computed again and again.
 * Nobody but roots and reductions asks.
 */
#ifndef STACK_KERNELS_MOSAIC_LOWER_KEEP_H
#define STACK_KERNELS_MOSAIC_LOWER_KEEP_H
#include "stack/kernels/mosaic/lower.h"

/* Of the roots that wait: values in them that are costly, or long in the making, and are read again
 * later are roots of the same loop. */
void keep_costly(struct lower *l);
/* Of the roots that wait: costly rows that are spread over many row tiles are made before their loop. */
int keep_rows(struct lower *l);
/* The same of a value that a loop is about to reduce; no root waits. */
int keep_under(struct lower *l, const struct mosaic_value *v);

/*
 * lower_roots.c: every value of memory under one, and those that are pulled; `local`: rows of it are made
 * of the same rows of that one. A visit that returns true has found what it wants.
 */
struct walk;
typedef bool walk_visit(struct walk *w, const struct mosaic_value *v, bool local);
struct walk {
    struct lower *l;
    walk_visit *visit;
    bool by_tile;
    bool is_once;                       /* local or not is no matter: each value once */
    const void *user;
    uint8_t *is_seen;                   /* by value: local, and not: bits */
    int count;
};
bool value_find(struct lower *l, const struct mosaic_value *v, walk_visit *visit, const void *user);

/* the loop of the roots that wait; nothing in it is looked at for what to keep, and no
 * memory is released */
int root_emit(struct lower *l);
/* both in one loop, for neither writes what the other reads */
bool root_go_together(struct lower *l, const struct root *a, const struct root *b);
bool root_is_waiting(const struct lower *l, const struct mosaic_value *v);
/* memory for a value that is a root; `is_whole`: not as bf16 either, though those who read it later are
 * products, for what waits reads it, too */
struct place root_place(struct lower *l, const struct mosaic_value *v, bool is_whole);
#endif
