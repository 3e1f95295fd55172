/*
 * Values of a program's parameters and results, as the host has them and as the graph has them.
 *
 * The host's are dense row-major elements of hlo_element_bytes each (import/eval, files); the
 * graph's are dense row-major elements of 4 bytes (stack/interp/interp.h, stack/module/module_run.h),
 * one array for each part of the leaf.
 */
#ifndef IMPORT_LOWER_VALUES_H
#define IMPORT_LOWER_VALUES_H
#include "import/lower/lower.h"

/* whether the elements of the host are the words of the leaf's only array */
bool lowered_is_same(const struct lowered_leaf *leaf);

/*
 * The arrays of a leaf, leaf->count of them, from `a`; `from` itself where that is one. size: how much of each bounded dimension is
 * there, in the order of dimensions; NULL: all of it.
 */
void **lowered_pack(const struct lowered_leaf *leaf, const void *from, const int64_t *size,
                    struct arena *a);

/* The elements of a leaf from its arrays, from `a` or one of these; size[rank], unless NULL, gets what is there of each. */
void *lowered_unpack(const struct lowered_leaf *leaf, void *const *word, int64_t *size,
                     struct arena *a);
#endif
