/* What the files of ranks.h share: an array seen as one of fewer dimensions. */
#ifndef EXPAND_RANKS_IMPL_H
#define EXPAND_RANKS_IMPL_H
#include "import/expand/ranks.h"
#include "import/expand/site.h"

/* dimensions in groups, each a dimension of the array as an operation sees it */
struct ranks_view {
    int rank;
    int64_t dim[RANKS_READ_MAX];
    int group[RANKS_READ_MAX];          /* of each dimension; -1: of size one, and gone */
};

enum { RANKS_ALONE = -1 };              /* a kind: a dimension that stands for itself */

/*
 * The dimensions of an array, without those of size one that are not alone; of more than RANKS_MAX,
 * neighbours of one kind are one.
 */
void ranks_group(struct ranks_view *v, int rank, const int64_t *dim, const int *kind);

bool ranks_is_deep(const struct hlo_type *t);           /* of more dimensions than there may be */
struct hlo_type ranks_type(struct arena *a, const struct hlo_type *t);  /* as it is kept */
struct hlo_ints ranks_ints(struct expand_site *s, int count, const int64_t *item);
/* x as an array of these dimensions; as it is kept that has the result's type, or type t */
int ranks_see(struct expand_site *s, int x, int rank, const int64_t *dim);
int ranks_keep(struct expand_site *s, int x, const struct hlo_type *t);
/* elements of the dimensions from .. to - 1 */
int64_t ranks_product(const int64_t *dim, int from, int to);
/* x, of these dimensions, in another order of them: result dimension k is number order[k] */
int ranks_transpose(struct expand_site *s, int x, int rank, const int64_t *dim,
                    const int64_t *order);
bool ranks_has(struct hlo_ints list, int64_t x);

/* a rule for each operation that tells dimensions apart */
expand_function ranks_broadcast, ranks_reduce, ranks_permute, ranks_slice, ranks_pad, ranks_reverse,
    ranks_along, ranks_top, ranks_iota, ranks_dot, ranks_dynamic_slice, ranks_dynamic_update, ranks_window,
    ranks_gather, ranks_scatter;
#endif
