/* Types of what only moves elements: broadcasts, slices, pads, gathers and scatters. */
#include "import/program/infer_impl.h"

#include <inttypes.h>

int infer_broadcast(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0), *to = x->i->type;

    if (infer_want_type(x) || infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, to->rank))
        return -1;
    if (hlo_detail(x->i)->dims.count != from->rank)
        return infer_fail(x, "%d dimensions are named for an operand of %d",
                          hlo_detail(x->i)->dims.count, from->rank);
    for (int d = 0; d < from->rank; d++) {
        int64_t at = hlo_detail(x->i)->dims.item[d];

        if (!infer_dim_agrees(from->dim[d], to->dim[at]))
            return infer_fail(x, "dimension %d of the operand is %" PRId64 ", and %" PRId64
                              " of the result, where it goes, is %" PRId64, d, from->dim[d], at,
                              to->dim[at]);
    }
    *x->t = *to;
    x->t->element = from->element;
    return 0;
}

int infer_reshape(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0), *to = x->i->type;

    if (infer_want_type(x) || infer_check_operands(x, 1, -1))
        return -1;
    for (int d = 0; d < from->rank + to->rank; d++) {
        if ((d < from->rank ? from->dim[d] : to->dim[d - from->rank]) == HLO_UNBOUNDED) {
            *x->t = *to;
            return 0;
        }
    }
    if (hlo_type_elements(from) != hlo_type_elements(to))
        return infer_fail(x, "%" PRId64 " elements become %" PRId64, hlo_type_elements(from),
                          hlo_type_elements(to));
    *x->t = *to;
    x->t->element = from->element;
    return 0;
}

static int64_t bits_of(const struct hlo_type *t)
{
    return hlo_type_elements(t)
           * (t->element == ELEMENT_PRED ? 8 : hlo_element_bits(t->element));
}

/* The same bytes seen as something else: what that is, layouts say. XLA's own may cut padding. */
int infer_bitcast(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0);

    if (infer_given(x))
        return -1;
    if (hlo_type_is_tuple(from) || hlo_type_is_tuple(x->t) || x->m->is_scheduled
        || bits_of(from) == bits_of(x->t))
        return 0;
    return infer_fail(x, "the operand has %" PRId64 " bits, and the result %" PRId64,
                      bits_of(from), bits_of(x->t));
}

int infer_transpose(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0);
    struct infer_dims d = {0};

    if (infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, from->rank))
        return -1;
    if (hlo_detail(x->i)->dims.count != from->rank)
        return infer_fail(x, "%d dimensions are permuted, and there are %d",
                          hlo_detail(x->i)->dims.count, from->rank);
    for (int k = 0; k < from->rank; k++) {
        if (infer_copy_dim(x, &d, from, (int)hlo_detail(x->i)->dims.item[k]))
            return -1;
    }
    *x->t = infer_make(x, &d, from->element);
    return 0;
}

int infer_reverse(struct infer *x)
{
    return infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, infer_operand(x, 0)->rank)
               ? -1
               : infer_same(x);
}

int infer_concatenate(struct infer *x)
{
    const struct hlo_type *first;
    struct infer_dims d = {0};
    int64_t sum = 0;

    if (infer_check_operands(x, 1, -1))
        return -1;
    first = infer_operand(x, 0);
    if (infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, first->rank))
        return -1;
    if (hlo_detail(x->i)->dims.count != 1)
        return infer_fail(x, "it needs one dimension");
    for (int k = 0; k < first->rank; k++) {
        if (infer_copy_dim(x, &d, first, k))
            return -1;
    }
    for (int n = 0; n < x->i->operand_count; n++) {
        const struct hlo_type *t = infer_operand(x, n);
        bool agree = t->rank == first->rank && infer_elements_agree(x, t, first);
        int64_t along = hlo_detail(x->i)->dims.item[0];

        for (int k = 0; agree && k < t->rank; k++)
            agree = k == along || infer_dim_agrees(t->dim[k], first->dim[k]);
        if (!agree)
            return infer_fail(x, "operand %d has another type or size than the first", n);
        sum = t->dim[along] == HLO_UNBOUNDED || sum == HLO_UNBOUNDED ? HLO_UNBOUNDED
                                                                     : sum + t->dim[along];
        d.is_bounded[along] |= t->is_bounded && t->is_bounded[along];
    }
    d.dim[hlo_detail(x->i)->dims.item[0]] = sum;
    *x->t = infer_make(x, &d, first->element);
    return 0;
}

int infer_slice(struct infer *x)
{
    const struct hlo_instruction *i = x->i;
    const struct hlo_type *from = infer_operand(x, 0);
    struct infer_dims d = {0};

    if (hlo_detail(i)->start.count != from->rank || hlo_detail(i)->limit.count != from->rank
        || (hlo_detail(i)->stride.count && hlo_detail(i)->stride.count != from->rank))
        return infer_fail(x, "%d ranges are given for %d dimensions", hlo_detail(i)->start.count,
                          from->rank);
    for (int k = 0; k < from->rank; k++) {
        int64_t start = hlo_detail(i)->start.item[k], limit = hlo_detail(i)->limit.item[k];
        int64_t stride = hlo_detail(i)->stride.count ? hlo_detail(i)->stride.item[k] : 1;

        if (start < 0 || start > limit || stride < 1
            || (from->dim[k] != HLO_UNBOUNDED && limit > from->dim[k]))
            return infer_fail(x, "the range [%" PRId64 ":%" PRId64 ":%" PRId64 "] is none of %"
                              PRId64 " elements", start, limit, stride, from->dim[k]);
        if (infer_add_dim(x, &d, (limit - start) / stride + ((limit - start) % stride != 0),
                          from->is_bounded && from->is_bounded[k] && start == 0
                              && limit == from->dim[k]))
            return -1;
    }
    *x->t = infer_make(x, &d, from->element);
    return 0;
}

/* size with `interior` between elements and `low` and `high` around them; -1: not to be counted */
static int64_t padded(int64_t size, int64_t low, int64_t high, int64_t interior)
{
    int64_t made = 0;

    if (__builtin_mul_overflow(size > 0 ? size - 1 : 0, interior, &made)
        || __builtin_add_overflow(made, size, &made) || __builtin_add_overflow(made, low, &made)
        || __builtin_add_overflow(made, high, &made))
        return -1;
    return made;
}

int infer_pad(struct infer *x)
{
    const struct hlo_instruction *i = x->i;
    const struct hlo_type *from = infer_operand(x, 0);
    struct infer_dims d = {0};

    if (infer_check_scalar(x, 1))
        return -1;
    if (!infer_elements_agree(x, infer_operand(x, 1), from))
        return infer_fail(x, "the value has another type than the elements");
    if (hlo_detail(i)->low.count != from->rank || hlo_detail(i)->high.count != from->rank
        || (hlo_detail(i)->interior.count && hlo_detail(i)->interior.count != from->rank))
        return infer_fail(x, "%d dimensions are padded, and there are %d", hlo_detail(i)->low.count,
                          from->rank);
    for (int k = 0; k < from->rank; k++) {
        int64_t interior = hlo_detail(i)->interior.count ? hlo_detail(i)->interior.item[k] : 0;
        int64_t size = from->dim[k] == HLO_UNBOUNDED
                           ? HLO_UNBOUNDED
                           : padded(from->dim[k], hlo_detail(i)->low.item[k],
                                    hlo_detail(i)->high.item[k], interior);

        if (interior < 0 || (size < 0 && size != HLO_UNBOUNDED))
            return infer_fail(x,
                              "dimension %d cannot be padded by %" PRId64 "_%" PRId64 "_%" PRId64,
                              k, hlo_detail(i)->low.item[k], hlo_detail(i)->high.item[k], interior);
        if (infer_add_dim(x, &d, size, from->is_bounded && from->is_bounded[k]))
            return -1;
    }
    *x->t = infer_make(x, &d, from->element);
    return 0;
}

/* Starts behind operand `first`: a scalar for each dimension, or all in one array. */
static int check_starts(struct infer *x, int first, int rank)
{
    int count = x->i->operand_count - first;

    if (count == 1 && infer_operand(x, first)->rank == 1) {
        if (infer_dim_agrees(infer_operand(x, first)->dim[0], rank)
            && hlo_element_is_integer(infer_operand(x, first)->element))
            return 0;
    } else if (count == rank) {
        for (int n = first; n < x->i->operand_count; n++) {
            if (infer_check_scalar(x, n))
                return -1;
            if (!hlo_element_is_integer(infer_operand(x, n)->element))
                return infer_fail(x, "operand %d is no integer", n);
        }
        return 0;
    }
    return infer_fail(x, "it has %d starts for %d dimensions", count, rank);
}

int infer_dynamic_slice(struct infer *x)
{
    const struct hlo_type *from;
    struct infer_dims d = {0};

    if (infer_check_operands(x, 1, -1))
        return -1;
    from = infer_operand(x, 0);
    if (hlo_detail(x->i)->sizes.count != from->rank)
        return infer_fail(x, "%d sizes are given for %d dimensions", hlo_detail(x->i)->sizes.count,
                          from->rank);
    for (int k = 0; k < from->rank; k++) {
        int64_t size = hlo_detail(x->i)->sizes.item[k];

        if (size < 0 || (from->dim[k] != HLO_UNBOUNDED && size > from->dim[k]))
            return infer_fail(x, "%" PRId64 " elements are taken of %" PRId64, size, from->dim[k]);
        if (infer_add_dim(x, &d, size,
                          from->is_bounded && from->is_bounded[k] && size == from->dim[k]))
            return -1;
    }
    *x->t = infer_make(x, &d, from->element);
    return check_starts(x, 1, from->rank);
}

int infer_dynamic_update_slice(struct infer *x)
{
    const struct hlo_type *whole, *update;

    if (infer_check_operands(x, 2, -1))
        return -1;
    whole = infer_operand(x, 0);
    update = infer_operand(x, 1);
    if (update->rank != whole->rank || !infer_elements_mix(update, whole))
        return infer_fail(x, "the update has another type or rank than what it goes into");
    for (int k = 0; k < whole->rank; k++) {
        if (whole->dim[k] != HLO_UNBOUNDED && update->dim[k] > whole->dim[k])
            return infer_fail(x, "dimension %d of the update is larger than what it goes into", k);
    }
    return check_starts(x, 2, whole->rank) ? -1 : infer_same(x);
}

static bool contains(struct hlo_ints list, int64_t value)
{
    for (int n = 0; n < list.count; n++) {
        if (list.item[n] == value)
            return true;
    }
    return false;
}

/* What holds for gathers and scatters: which dimensions of the indices count windows. */
static int check_indices(struct infer *x, const struct hlo_type *whole,
                         const struct hlo_type *indices)
{
    const struct hlo_gather *g = hlo_detail(x->i)->gather;
    int64_t depth;

    if (!hlo_element_is_integer(indices->element))
        return infer_fail(x, "the indices are no integers");
    if (g->index_vector_dim < 0 || g->index_vector_dim > indices->rank)
        return infer_fail(x, "index_vector_dim is %" PRId64 ", and the indices have %d dimensions",
                          g->index_vector_dim, indices->rank);
    depth = g->index_vector_dim == indices->rank ? 1 : indices->dim[g->index_vector_dim];
    if (!infer_dim_agrees(depth, g->start_index_map.count))
        return infer_fail(x, "each index has %" PRId64 " numbers, and is for %d dimensions", depth,
                          g->start_index_map.count);
    if (g->operand_batching.count != g->indices_batching.count)
        return infer_fail(x, "%d and %d batching dimensions", g->operand_batching.count,
                          g->indices_batching.count);
    for (int n = 0; n < g->operand_batching.count; n++) {
        if (contains(g->collapsed_dims, g->operand_batching.item[n])
            || contains(g->start_index_map, g->operand_batching.item[n])
            || g->indices_batching.item[n] == g->index_vector_dim)
            return infer_fail(x, "a batching dimension has another role, too");
    }
    return infer_check_dims(x, "start_index_map", g->start_index_map, whole->rank)
           || infer_check_dims(x, "collapsed dimensions", g->collapsed_dims, whole->rank)
           || infer_check_dims(x, "batching dimensions", g->operand_batching, whole->rank)
           || infer_check_dims(x, "batching dimensions of the indices", g->indices_batching,
                               indices->rank);
}

/* dimensions of the operand that a window keeps */
static int window_rank(const struct hlo_gather *g, const struct hlo_type *whole)
{
    return whole->rank - g->collapsed_dims.count - g->operand_batching.count;
}

/* the next dimension of the indices that counts windows, from `at` on */
static int next_count_dim(const struct hlo_gather *g, int at)
{
    return at + (at == g->index_vector_dim);
}

/* the next dimension of the operand that windows keep */
static int next_kept_dim(const struct hlo_gather *g, int at)
{
    while (contains(g->collapsed_dims, at) || contains(g->operand_batching, at))
        at++;
    return at;
}

int infer_gather(struct infer *x)
{
    const struct hlo_type *whole = infer_operand(x, 0), *indices = infer_operand(x, 1);
    const struct hlo_gather *g = hlo_detail(x->i)->gather;
    struct hlo_ints sizes = hlo_detail(x->i)->sizes;
    struct infer_dims d = {0};
    int rank, counted = 0, kept = 0;

    if (check_indices(x, whole, indices))
        return -1;
    if (sizes.count != whole->rank)
        return infer_fail(x, "%d slice sizes are given for %d dimensions", sizes.count,
                          whole->rank);
    for (int k = 0; k < whole->rank; k++) {
        bool is_one = contains(g->collapsed_dims, k) || contains(g->operand_batching, k);

        if (sizes.item[k] < 0 || (whole->dim[k] != HLO_UNBOUNDED && sizes.item[k] > whole->dim[k])
            || (is_one && sizes.item[k] > 1))
            return infer_fail(x, "the slice size %" PRId64 " does not fit dimension %d",
                              sizes.item[k], k);
    }
    rank = indices->rank - (g->index_vector_dim < indices->rank) + g->offset_dims.count;
    if (g->offset_dims.count != window_rank(g, whole))
        return infer_fail(x, "%d offset dimensions, and windows have %d", g->offset_dims.count,
                          window_rank(g, whole));
    if (infer_check_dims(x, "offset dimensions", g->offset_dims, rank))
        return -1;
    for (int k = 0; k < rank; k++) {
        if (contains(g->offset_dims, k)) {
            kept = next_kept_dim(g, kept);
            if (infer_add_dim(x, &d, sizes.item[kept++], false))
                return -1;
        } else {
            counted = next_count_dim(g, counted);
            if (infer_copy_dim(x, &d, indices, counted++))
                return -1;
        }
    }
    *x->t = infer_make(x, &d, whole->element);
    return 0;
}

static int check_updates(struct infer *x, const struct hlo_type *whole,
                         const struct hlo_type *indices, const struct hlo_type *updates)
{
    const struct hlo_gather *g = hlo_detail(x->i)->gather;
    int rank = indices->rank - (g->index_vector_dim < indices->rank) + g->offset_dims.count;
    int counted = 0, kept = 0;

    if (updates->rank != rank || !infer_elements_mix(updates, whole))
        return infer_fail(x, "the updates have %d dimensions, and need %d", updates->rank, rank);
    for (int k = 0; k < rank; k++) {
        if (contains(g->offset_dims, k)) {
            kept = next_kept_dim(g, kept);
            if (whole->dim[kept] != HLO_UNBOUNDED && updates->dim[k] > whole->dim[kept])
                return infer_fail(x, "dimension %d of the updates is larger than the operand", k);
            kept++;
        } else {
            counted = next_count_dim(g, counted);
            if (!infer_dim_agrees(updates->dim[k], indices->dim[counted]))
                return infer_fail(x, "dimension %d of the updates is %" PRId64 ", and there are %"
                                  PRId64 " indices", k, updates->dim[k], indices->dim[counted]);
            counted++;
        }
    }
    return 0;
}

int infer_scatter(struct infer *x)
{
    const struct hlo_gather *g = hlo_detail(x->i)->gather;
    int count = x->i->operand_count / 2;
    struct hlo_type part[INFER_RANK_MAX];
    const struct hlo_type *indices;

    if (x->i->operand_count % 2 == 0 || count < 1 || count > INFER_RANK_MAX)
        return infer_fail(x, "it needs arrays, indices and as many updates as arrays");
    indices = infer_operand(x, count);
    for (int n = 0; n < count; n++) {
        const struct hlo_type *whole = infer_operand(x, n);
        const struct hlo_type *updates = infer_operand(x, count + 1 + n);

        if (check_indices(x, whole, indices))
            return -1;
        if (g->offset_dims.count != window_rank(g, whole))
            return infer_fail(x, "%d window dimensions, and windows have %d", g->offset_dims.count,
                              window_rank(g, whole));
        if (infer_check_dims(x, "window dimensions", g->offset_dims, updates->rank)
            || check_updates(x, whole, indices, updates))
            return -1;
        part[n] = *whole;
        part[n].layout = NULL;
    }
    *x->t = infer_join(x, part, count);
    return infer_check_reducer(x, 0, count);
}

static int check_one_dim(struct infer *x)
{
    if (hlo_detail(x->i)->dims.count != 1)
        return infer_fail(x, "it needs one dimension");
    return infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, infer_operand(x, 0)->rank);
}

int infer_get_dimension_size(struct infer *x)
{
    *x->t = hlo_scalar_type(ELEMENT_S32);
    return check_one_dim(x);
}

/* The result is bounded there, by what the operand has. */
int infer_set_dimension_size(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0);
    struct infer_dims d = {0};

    if (check_one_dim(x) || infer_check_scalar(x, 1))
        return -1;
    for (int k = 0; k < from->rank; k++) {
        if (infer_copy_dim(x, &d, from, k))
            return -1;
    }
    d.is_bounded[hlo_detail(x->i)->dims.item[0]] = true;
    *x->t = infer_make(x, &d, from->element);
    return 0;
}
