/* Types of products, reductions, windows and other operations on whole dimensions. */
#include "import/program/infer_impl.h"

#include <inttypes.h>

/* ---- products ---- */

static bool contains(struct hlo_ints list, int64_t value)
{
    for (int n = 0; n < list.count; n++) {
        if (list.item[n] == value)
            return true;
    }
    return false;
}

static int check_pairs(struct infer *x, const char *what, struct hlo_ints left,
                       struct hlo_ints right)
{
    const struct hlo_type *a = infer_operand(x, 0), *b = infer_operand(x, 1);

    if (left.count != right.count)
        return infer_fail(x, "%d and %d %s", left.count, right.count, what);
    if (infer_check_dims(x, what, left, a->rank) || infer_check_dims(x, what, right, b->rank))
        return -1;
    for (int n = 0; n < left.count; n++) {
        if (!infer_dim_agrees(a->dim[left.item[n]], b->dim[right.item[n]]))
            return infer_fail(x, "%s are of %" PRId64 " and %" PRId64 " elements", what,
                              a->dim[left.item[n]], b->dim[right.item[n]]);
    }
    return 0;
}

static int add_free(struct infer *x, struct infer_dims *d, const struct hlo_type *t,
                    struct hlo_ints batch, struct hlo_ints contract)
{
    for (int k = 0; k < t->rank; k++) {
        if (!contains(batch, k) && !contains(contract, k) && infer_copy_dim(x, d, t, k))
            return -1;
    }
    return 0;
}

/* Sums may be of a wider type than the factors: what is written, else the wider of the two. */
static enum hlo_element product_element(const struct infer *x)
{
    const struct hlo_type *a = infer_operand(x, 0), *b = infer_operand(x, 1);

    if (infer_has_type(x))
        return x->i->type->element;
    return hlo_element_bits(b->element) > hlo_element_bits(a->element) ? b->element : a->element;
}

int infer_dot(struct infer *x)
{
    const struct hlo_type *a = infer_operand(x, 0), *b = infer_operand(x, 1);
    const struct hlo_dot *dot = hlo_detail(x->i)->dot;
    struct infer_dims d = {0};

    if (check_pairs(x, "contracting dimensions", dot->lhs_contract, dot->rhs_contract)
        || check_pairs(x, "batch dimensions", dot->lhs_batch, dot->rhs_batch))
        return -1;
    for (int n = 0; n < dot->lhs_batch.count; n++) {
        if (contains(dot->lhs_contract, dot->lhs_batch.item[n])
            || contains(dot->rhs_contract, dot->rhs_batch.item[n]))
            return infer_fail(x, "a batch dimension is contracted");
        if (infer_copy_dim(x, &d, a, (int)dot->lhs_batch.item[n]))
            return -1;
    }
    if (add_free(x, &d, a, dot->lhs_batch, dot->lhs_contract)
        || add_free(x, &d, b, dot->rhs_batch, dot->rhs_contract))
        return -1;
    *x->t = infer_make(x, &d, product_element(x));
    return 0;
}

static int check_labels(struct infer *x, const char *what, int64_t first, int64_t second,
                        struct hlo_ints spatial, int rank)
{
    int64_t all[INFER_RANK_MAX + 2] = {first, second};
    int count = 2;

    if (spatial.count != rank - 2 || rank > INFER_RANK_MAX)
        return infer_fail(x, "the labels of %s are of %d dimensions, and it has %d", what,
                          spatial.count + 2, rank);
    for (int n = 0; n < spatial.count; n++)
        all[count++] = spatial.item[n];
    return infer_check_dims(x, "labels", (struct hlo_ints){count, all}, rank);
}

static int check_groups(struct infer *x, const struct hlo_type *in, const struct hlo_type *kernel)
{
    const struct hlo_conv *c = hlo_detail(x->i)->conv;
    int64_t features = in->dim[c->in_feature], batch = in->dim[c->in_batch];
    int64_t kernel_in = kernel->dim[c->kernel_in], kernel_out = kernel->dim[c->kernel_out];

    if (c->feature_groups < 1 || c->batch_groups < 1
        || (c->feature_groups > 1 && c->batch_groups > 1))
        return infer_fail(x, "features or batches are in at least one group, not both in several");
    if (features == HLO_UNBOUNDED || batch == HLO_UNBOUNDED)
        return 0;
    if (features % c->feature_groups || kernel_out % c->feature_groups
        || features / c->feature_groups != kernel_in)
        return infer_fail(x, "%" PRId64 " features in %" PRId64 " groups for a kernel of %" PRId64
                          " in and %" PRId64 " out", features, c->feature_groups, kernel_in,
                          kernel_out);
    if (batch % c->batch_groups || kernel_out % c->batch_groups)
        return infer_fail(x, "a batch of %" PRId64 " is not made of %" PRId64 " groups", batch,
                          c->batch_groups);
    return 0;
}

int infer_window_size(struct infer *x, const struct hlo_window *w, int64_t size, int64_t *made)
{
    int64_t base, reach;

    if (w->size < 1 || w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1)
        return infer_fail(x, "sizes, strides and dilations of windows are at least 1");
    if (size == HLO_UNBOUNDED) {
        *made = HLO_UNBOUNDED;
        return 0;
    }
    if (__builtin_mul_overflow(size > 0 ? size - 1 : 0, w->base_dilation, &base)
        || __builtin_add_overflow(base, size > 0, &base)
        || __builtin_add_overflow(base, w->pad_low, &base)
        || __builtin_add_overflow(base, w->pad_high, &base)
        || __builtin_mul_overflow(w->size - 1, w->window_dilation, &reach) || reach == INT64_MAX)
        return infer_fail(x, "a window reaches too far");
    reach++;
    *made = base < reach ? 0 : (base - reach) / w->stride + 1;
    return 0;
}

int infer_convolution(struct infer *x)
{
    const struct hlo_type *in = infer_operand(x, 0), *kernel = infer_operand(x, 1);
    const struct hlo_conv *c = hlo_detail(x->i)->conv;
    struct infer_dims d = {.rank = in->rank};
    int spatial = in->rank - 2;

    if (check_labels(x, "the input", c->in_batch, c->in_feature, c->in_spatial, in->rank)
        || check_labels(x, "the kernel", c->kernel_in, c->kernel_out, c->kernel_spatial,
                        kernel->rank)
        || check_labels(x, "the result", c->out_batch, c->out_feature, c->out_spatial, in->rank)
        || check_groups(x, in, kernel))
        return -1;
    if (hlo_detail(x->i)->window_count != spatial)
        return infer_fail(x, "the window has %d dimensions, and there are %d",
                          hlo_detail(x->i)->window_count, spatial);
    d.dim[c->out_batch] = in->dim[c->in_batch] == HLO_UNBOUNDED
                              ? HLO_UNBOUNDED
                              : in->dim[c->in_batch] / c->batch_groups;
    d.is_bounded[c->out_batch] = in->is_bounded && in->is_bounded[c->in_batch];
    d.dim[c->out_feature] = kernel->dim[c->kernel_out];
    for (int n = 0; n < spatial; n++) {
        const struct hlo_window *w = &hlo_detail(x->i)->window[n];
        int64_t at = c->in_spatial.item[n], out = c->out_spatial.item[n];

        if (!infer_dim_agrees(kernel->dim[c->kernel_spatial.item[n]], w->size))
            return infer_fail(x, "the window is %" PRId64 " wide, and the kernel %" PRId64, w->size,
                              kernel->dim[c->kernel_spatial.item[n]]);
        if (infer_window_size(x, w, in->dim[at], &d.dim[out]))
            return -1;
        d.is_bounded[out] = in->is_bounded && in->is_bounded[at];
    }
    *x->t = infer_make(x, &d, product_element(x));
    return 0;
}

/* ---- reductions ---- */

/* Arrays of equal sizes, and as many scalars behind them; -1: they are not. */
static int check_arrays(struct infer *x, int *count)
{
    *count = x->i->operand_count / 2;
    if (x->i->operand_count % 2 || *count < 1 || *count > INFER_RANK_MAX)
        return infer_fail(x, "it needs arrays and as many initial values");
    for (int n = 0; n < *count; n++) {
        if (infer_check_scalar(x, *count + n))
            return -1;
        if (!infer_dims_agree(infer_operand(x, n), infer_operand(x, 0)))
            return infer_fail(x, "operand %d has another size than the first", n);
        if (!infer_elements_mix(infer_operand(x, n), infer_operand(x, *count + n)))
            return infer_fail(x, "initial value %d has another type than its array", n);
    }
    return 0;
}

/* For each array what its dimensions have become, of the elements that the reducer gives. */
static int join_results(struct infer *x, const struct infer_dims *d, int count)
{
    struct hlo_type part[INFER_RANK_MAX];

    if (infer_check_reducer(x, 0, count))
        return -1;
    for (int n = 0; n < count; n++)
        part[n] = infer_make(x, d, infer_part(infer_callee_result(x, 0), n)->element);
    *x->t = infer_join(x, part, count);
    return 0;
}

int infer_reduce(struct infer *x)
{
    struct infer_dims d = {0};
    const struct hlo_type *first;
    int count;

    if (check_arrays(x, &count))
        return -1;
    first = infer_operand(x, 0);
    if (infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, first->rank))
        return -1;
    for (int k = 0; k < first->rank; k++) {
        if (!contains(hlo_detail(x->i)->dims, k) && infer_copy_dim(x, &d, first, k))
            return -1;
    }
    return join_results(x, &d, count);
}

int infer_window(struct infer *x, const struct hlo_type *t, struct infer_dims *d)
{
    if (hlo_detail(x->i)->window_count != t->rank)
        return infer_fail(x, "the window has %d dimensions, and the array %d",
                          hlo_detail(x->i)->window_count, t->rank);
    for (int k = 0; k < t->rank; k++) {
        int64_t size;

        if (infer_window_size(x, &hlo_detail(x->i)->window[k], t->dim[k], &size)
            || infer_add_dim(x, d, size, t->is_bounded && t->is_bounded[k]))
            return -1;
    }
    return 0;
}

int infer_reduce_window(struct infer *x)
{
    struct infer_dims d = {0};
    int count;

    if (check_arrays(x, &count) || infer_window(x, infer_operand(x, 0), &d))
        return -1;
    return join_results(x, &d, count);
}

int infer_select_and_scatter(struct infer *x)
{
    const struct hlo_type *whole = infer_operand(x, 0), *source = infer_operand(x, 1), *select;
    struct infer_dims d = {0};
    struct hlo_type windows;

    if (infer_window(x, whole, &d) || infer_check_scalar(x, 2))
        return -1;
    windows = infer_make(x, &d, whole->element);
    if (!infer_dims_agree(&windows, source))
        return infer_fail(x, "the source must have an element for each window");
    select = infer_callee_result(x, 0);
    if (infer_check_parameters(x, 0, 2) || select->rank || select->element != ELEMENT_PRED)
        return infer_fail(x, "select must compare two scalars");
    return infer_check_reducer(x, 1, 1) ? -1 : infer_same(x);
}

int infer_sort(struct infer *x)
{
    int count = x->i->operand_count;
    struct hlo_type *part = arena_array(x->arena, (size_t)count, sizeof(*part));
    const struct hlo_type *result;

    if (infer_check_operands(x, 1, -1)
        || infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, infer_operand(x, 0)->rank)
        || infer_check_parameters(x, 0, 2 * count))
        return -1;
    result = infer_callee_result(x, 0);
    if (hlo_detail(x->i)->dims.count > 1 || result->rank || result->element != ELEMENT_PRED)
        return infer_fail(x, "it needs one dimension and a computation that compares");
    for (int n = 0; n < count; n++) {
        const struct hlo_type *t = infer_operand(x, n);
        struct hlo_type scalar = hlo_scalar_type(t->element);

        if (!infer_dims_agree(t, infer_operand(x, 0)))
            return infer_fail(x, "operand %d has another size than the first", n);
        if (infer_check_parameter(x, 0, 2 * n, &scalar)
            || infer_check_parameter(x, 0, 2 * n + 1, &scalar))
            return -1;
        part[n] = *t;
        part[n].layout = NULL;
    }
    *x->t = infer_join(x, part, count);
    return 0;
}

int infer_topk(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0);
    struct infer_dims d = {0};
    struct hlo_type part[2];

    if (from->rank < 1 || x->i->index < 0
        || (from->dim[from->rank - 1] != HLO_UNBOUNDED
            && x->i->index > from->dim[from->rank - 1]))
        return infer_fail(x, "there are no %" PRId64 " elements in a row", x->i->index);
    for (int k = 0; k + 1 < from->rank; k++) {
        if (infer_copy_dim(x, &d, from, k))
            return -1;
    }
    if (infer_add_dim(x, &d, x->i->index, false))
        return -1;
    part[0] = infer_make(x, &d, from->element);
    part[1] = infer_make(x, &d, ELEMENT_S32);
    *x->t = hlo_tuple_type(x->arena, 2, part);
    return 0;
}

int infer_map(struct infer *x)
{
    int count = x->i->operand_count;

    if (infer_check_operands(x, 1, -1) || infer_check_parameters(x, 0, count))
        return -1;
    for (int n = 0; n < count; n++) {
        struct hlo_type scalar = hlo_scalar_type(infer_operand(x, n)->element);

        if (!infer_dims_agree(infer_operand(x, n), infer_operand(x, 0)))
            return infer_fail(x, "operand %d has another size than the first", n);
        if (infer_check_parameter(x, 0, n, &scalar))
            return -1;
    }
    if (infer_callee_result(x, 0)->rank || hlo_type_is_tuple(infer_callee_result(x, 0)))
        return infer_fail(x, "its computation must give one scalar");
    infer_same(x);
    x->t->element = infer_callee_result(x, 0)->element;
    return 0;
}

/* ---- normalization, linear algebra, transforms, random numbers ---- */

/* a vector with an element for each feature; operands from `first` on are such vectors */
static int check_features(struct infer *x, int first, int end, struct hlo_type *vector)
{
    const struct hlo_type *in = infer_operand(x, 0);
    struct infer_dims d = {0};

    if (x->i->index < 0 || x->i->index >= in->rank)
        return infer_fail(x, "feature_index is %" PRId64 ", and there are %d dimensions",
                          x->i->index, in->rank);
    if (infer_copy_dim(x, &d, in, (int)x->i->index))
        return -1;
    *vector = infer_make(x, &d, infer_operand(x, first)->element);
    for (int n = first; n < end; n++) {
        if (!infer_dims_agree(infer_operand(x, n), vector))
            return infer_fail(x, "operand %d must have an element for each feature", n);
    }
    return 0;
}

int infer_batch_norm_training(struct infer *x)
{
    struct hlo_type part[3];

    if (check_features(x, 1, 3, &part[1]))
        return -1;
    infer_same(x);
    part[0] = *x->t;
    part[2] = part[1];
    *x->t = hlo_tuple_type(x->arena, 3, part);
    return 0;
}

int infer_batch_norm_inference(struct infer *x)
{
    struct hlo_type vector;

    return check_features(x, 1, 5, &vector) ? -1 : infer_same(x);
}

int infer_batch_norm_grad(struct infer *x)
{
    struct hlo_type part[3];

    if (check_features(x, 1, 4, &part[1]))
        return -1;
    if (!infer_dims_agree(infer_operand(x, 4), infer_operand(x, 0)))
        return infer_fail(x, "the gradient has another size than the operand");
    infer_same(x);
    part[0] = *x->t;
    part[2] = part[1];
    *x->t = hlo_tuple_type(x->arena, 3, part);
    return 0;
}

static int check_square(struct infer *x)
{
    const struct hlo_type *t = infer_operand(x, 0);

    if (t->rank < 2 || !infer_dim_agrees(t->dim[t->rank - 1], t->dim[t->rank - 2]))
        return infer_fail(x, "operand 0 must be square matrices");
    return 0;
}

int infer_cholesky(struct infer *x) { return check_square(x) ? -1 : infer_same(x); }

int infer_triangular_solve(struct infer *x)
{
    const struct hlo_type *a = infer_operand(x, 0), *b = infer_operand(x, 1);
    bool agree = a->rank == b->rank && infer_elements_agree(x, a, b);

    if (check_square(x))
        return -1;
    for (int k = 0; agree && k + 2 < a->rank; k++)
        agree = infer_dim_agrees(a->dim[k], b->dim[k]);
    if (!agree || !infer_dim_agrees(b->dim[b->rank - (hlo_detail(x->i)->is_left ? 2 : 1)],
                                    a->dim[a->rank - 1]))
        return infer_fail(x, "operand 1 does not fit the matrices");
    *x->t = *b;
    x->t->layout = NULL;
    return 0;
}

int infer_fft(struct infer *x)
{
    const struct hlo_type *from = infer_operand(x, 0);
    bool is_forward = hlo_detail(x->i)->fft == HLO_RFFT,
         is_back = hlo_detail(x->i)->fft == HLO_IRFFT;
    bool is_wide = from->element == ELEMENT_F64 || from->element == ELEMENT_C128;
    struct infer_dims d = {0};
    int first = from->rank - hlo_detail(x->i)->sizes.count;

    if (hlo_detail(x->i)->sizes.count < 1 || first < 0)
        return infer_fail(x, "%d lengths for %d dimensions", hlo_detail(x->i)->sizes.count,
                          from->rank);
    if (hlo_element_is_complex(from->element) == is_forward)
        return infer_fail(x, "its operand must be %s", is_forward ? "real" : "complex");
    for (int k = 0; k < from->rank; k++) {
        int64_t length = k < first ? 0 : hlo_detail(x->i)->sizes.item[k - first],
                half = length / 2 + 1;
        bool is_last = k + 1 == from->rank;

        if (k >= first && (length < 0
                           || !infer_dim_agrees(from->dim[k],
                                                is_last && is_back && length ? half : length)))
            return infer_fail(x, "dimension %d is of %" PRId64 " elements, and the length %" PRId64,
                              k, from->dim[k], length);
        if (!is_last || !(is_forward || is_back) ? infer_copy_dim(x, &d, from, k)
            : infer_add_dim(x, &d, is_back ? length : length ? half : 0, false))
            return -1;
    }
    *x->t = infer_make(x, &d, is_back ? (is_wide ? ELEMENT_F64 : ELEMENT_F32)
                                      : is_wide ? ELEMENT_C128 : ELEMENT_C64);
    return 0;
}

int infer_rng(struct infer *x)
{
    for (int n = 0; n < 2; n++) {
        if (infer_check_scalar(x, n))
            return -1;
    }
    if (infer_want_type(x))
        return -1;
    *x->t = *x->i->type;
    x->t->element = infer_operand(x, 0)->element;
    return 0;
}

/* The state goes on; older programs have random bits without it. */
int infer_rng_bit_generator(struct infer *x)
{
    if (infer_given(x) || !hlo_type_is_tuple(x->t))
        return x->t->element == ELEMENT_COUNT ? -1 : 0;
    if (x->t->part_count != 2 || !hlo_types_agree(x->m, &x->t->part[0], infer_operand(x, 0)))
        return infer_fail(x, "its result must be the next state and the bits");
    return 0;
}
