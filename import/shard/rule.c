/* Rules of operations whose dimensions stand one by one, and the table of all rules. */
#include "import/shard/rule.h"

#include <string.h>

int shard_add_factor(struct shard_rule *r, int64_t size)
{
    if ((size_t)r->factor_count == r->factor_room) {
        struct shard_factor *more = arena_array(r->arena, r->factor_room * 2 + 8, sizeof(*more));

        if (r->factor_count)
            memcpy(more, r->factor, (size_t)r->factor_count * sizeof(*more));
        r->factor_room = r->factor_room * 2 + 8;
        r->factor = more;
    }
    r->factor[r->factor_count] = (struct shard_factor){.size = size};
    return r->factor_count++;
}

void shard_tie(struct shard_rule *r, int tensor, int dim, int factor)
{
    struct shard_dim *d = &r->tensor[tensor].dim[dim];
    short *more = arena_array(r->arena, (size_t)d->count + 1, sizeof(*more));

    if (d->count)
        memcpy(more, d->factor, (size_t)d->count * sizeof(*more));
    more[d->count++] = (short)factor;
    d->factor = more;
}

void shard_tie_window(struct shard_rule *r, int tensor, int dim, int factor, struct shard_window w)
{
    struct shard_factor *f = &r->factor[factor];
    int64_t size = r->tensor[tensor].type->dim[dim];

    shard_tie(r, tensor, dim, factor);
    r->tensor[tensor].dim[dim].window = arena_copy(r->arena, &w, 1, sizeof(w));
    f->is_window = true;
    f->size = size < f->size ? size : f->size;  /* no device is to be without a part of either */
}

/* ----- dimensions that pass through unless an attribute speaks of them */

typedef bool is_free_dim(const struct shard_made *m, int dim);

static const struct hlo_type *operand_type(const struct shard_made *m, int k)
{
    return m->rule->tensor[k].type;
}

static const struct hlo_type *result_type(const struct shard_made *m)
{
    return m->rule->tensor[m->rule->operand_count].type;
}

static bool stands_in(struct hlo_ints list, int64_t dim)
{
    for (int i = 0; i < list.count; i++)
        if (list.item[i] == dim)
            return true;
    return false;
}

/* of all arrays that have as many dimensions as the first result, and are no scalars */
static void pass_where(struct shard_made *m, is_free_dim *is_free)
{
    struct shard_rule *r = m->rule;
    int rank = result_type(m)->rank;

    for (int d = 0; d < rank; d++) {
        int f;

        if (!is_free(m, d))
            continue;
        f = shard_add_factor(r, result_type(m)->dim[d]);
        for (int t = 0; t < r->tensor_count; t++)
            if (r->tensor[t].type->rank == rank && r->tensor[t].type->dim[d] == r->factor[f].size)
                shard_tie(r, t, d, f);
    }
}

static bool always(const struct shard_made *m, int dim) { (void)m; (void)dim; return true; }
static bool is_not_listed(const struct shard_made *m, int dim)
{
    return !stands_in(hlo_detail(m->i)->dims, dim);
}
static bool is_same_size(const struct shard_made *m, int dim)
{
    return operand_type(m, 0)->dim[dim] == result_type(m)->dim[dim];
}
static bool is_update_whole(const struct shard_made *m, int dim)
{
    return operand_type(m, 0)->dim[dim] == operand_type(m, 1)->dim[dim];
}
static bool is_pointwise_window(const struct shard_made *m, int dim)
{
    const struct hlo_window *w = &hlo_detail(m->i)->window[dim];

    return w->size == 1 && w->stride == 1 && !w->pad_low && !w->pad_high &&
           w->base_dilation == 1;
}
static bool is_before_fft(const struct shard_made *m, int dim)
{
    return dim < result_type(m)->rank - hlo_detail(m->i)->sizes.count;
}
static bool is_batch(const struct shard_made *m, int dim)
{
    return dim < result_type(m)->rank - 2;
}
static bool is_before_last(const struct shard_made *m, int dim)
{
    return dim < result_type(m)->rank - 1;
}
static bool is_not_exchanged(const struct shard_made *m, int dim)
{
    return hlo_detail(m->i)->dims.count < 2 ||
           (hlo_detail(m->i)->dims.item[0] != dim && hlo_detail(m->i)->dims.item[1] != dim);
}

static void elementwise(struct shard_made *m) { m->rule->is_plain = true; pass_where(m, always); }
static void unlisted(struct shard_made *m) { pass_where(m, is_not_listed); }
static void same_size(struct shard_made *m) { pass_where(m, is_same_size); }
static void update_slice(struct shard_made *m) { pass_where(m, is_update_whole); }
static void pointwise(struct shard_made *m) { pass_where(m, is_pointwise_window); }
static void fft(struct shard_made *m) { pass_where(m, is_before_fft); }
static void matrices(struct shard_made *m) { pass_where(m, is_batch); }
static void top_k(struct shard_made *m) { pass_where(m, is_before_last); }
static void exchange(struct shard_made *m) { pass_where(m, is_not_exchanged); }

/* operand k becomes result k, whatever their shapes */
static void one_by_one(struct shard_made *m)
{
    struct shard_rule *r = m->rule;

    for (int k = 0; k < r->operand_count && r->operand_count + k < r->tensor_count; k++) {
        const struct hlo_type *from = operand_type(m, k), *to = r->tensor[r->operand_count + k].type;

        for (int d = 0; d < to->rank && from->rank == to->rank; d++) {
            int f;

            if (from->dim[d] != to->dim[d] || stands_in(hlo_detail(m->i)->dims, d))
                continue;
            f = shard_add_factor(r, to->dim[d]);
            shard_tie(r, k, d, f);
            shard_tie(r, r->operand_count + k, d, f);
        }
    }
}

static bool is_target(const struct hlo_instruction *i, const char *name)
{
    return hlo_detail(i)->target && !strcmp(hlo_detail(i)->target, name);
}

bool shard_is_identity_call(const struct hlo_instruction *i)
{
    static const char *const identity[] = {
        "Sharding", "xla.sdy.FuncResultSharding", "local_xla.sdy.FuncResultSharding",
        "annotate_device_placement", "MoveToHost", "MoveToDevice", "Pin", "Unpin",
        "AwsNeuronTransferWithStaticRing", "LayoutConstraint",
    };

    if (i->op != OPCODE_CUSTOM_CALL || i->operand_count != 1)
        return false;
    for (size_t k = 0; k < sizeof(identity) / sizeof(*identity); k++)
        if (is_target(i, identity[k]))
            return true;
    return false;
}

static void custom_call(struct shard_made *m)
{
    if (shard_is_identity_call(m->i) && hlo_type_equal(operand_type(m, 0), result_type(m)))
        elementwise(m);
    else if (is_target(m->i, "TopK") || is_target(m->i, "mhlo.topk"))
        top_k(m);
}

static shard_rule_fn *const table[OPCODE_COUNT] = {
    [OPCODE_MAP] = elementwise, [OPCODE_BITCAST] = shard_rule_reshape,
    [OPCODE_BITCAST_CONVERT] = shard_rule_bitcast_convert,
    [OPCODE_BROADCAST] = shard_rule_broadcast, [OPCODE_RESHAPE] = shard_rule_reshape,
    [OPCODE_TRANSPOSE] = shard_rule_transpose, [OPCODE_REVERSE] = shard_rule_reverse,
    [OPCODE_CONCATENATE] = shard_rule_concatenate, [OPCODE_SLICE] = shard_rule_slice,
    [OPCODE_PAD] = shard_rule_pad,
    [OPCODE_DYNAMIC_SLICE] = same_size, [OPCODE_DYNAMIC_UPDATE_SLICE] = update_slice,
    [OPCODE_GATHER] = shard_rule_gather, [OPCODE_SCATTER] = shard_rule_scatter,
    [OPCODE_DOT] = shard_rule_dot, [OPCODE_CONVOLUTION] = shard_rule_convolution,
    [OPCODE_REDUCE] = shard_rule_reduce, [OPCODE_REDUCE_WINDOW] = shard_rule_windows,
    [OPCODE_SELECT_AND_SCATTER] = pointwise, [OPCODE_SORT] = unlisted, [OPCODE_TOPK] = top_k,
    [OPCODE_CHOLESKY] = matrices, [OPCODE_TRIANGULAR_SOLVE] = matrices, [OPCODE_FFT] = fft,
    [OPCODE_BATCH_NORM_TRAINING] = shard_rule_batch_norm,
    [OPCODE_BATCH_NORM_INFERENCE] = shard_rule_batch_norm,
    [OPCODE_BATCH_NORM_GRAD] = shard_rule_batch_norm,
    [OPCODE_ALL_REDUCE] = one_by_one, [OPCODE_ALL_GATHER] = one_by_one,
    [OPCODE_REDUCE_SCATTER] = one_by_one, [OPCODE_ALL_TO_ALL] = exchange,
    [OPCODE_COLLECTIVE_PERMUTE] = one_by_one, [OPCODE_COLLECTIVE_BROADCAST] = one_by_one,
    [OPCODE_CUSTOM_CALL] = custom_call,
};

static shard_rule_fn *find_rule(enum hlo_opcode op)
{
    if (table[op])
        return table[op];
    if ((op >= OPCODE_ABS && op <= OPCODE_SELECT) || (op >= OPCODE_BESSEL_I1E && op <= OPCODE_ZETA))
        return elementwise;
    return NULL;
}

bool shard_is_structure(enum hlo_opcode op)
{
    return op == OPCODE_TUPLE || op == OPCODE_GET_TUPLE_ELEMENT || op == OPCODE_WHILE ||
           op == OPCODE_CONDITIONAL || op == OPCODE_OPT_BARRIER || op == OPCODE_DOMAIN ||
           op == OPCODE_ADD_DEPENDENCY;
}

static bool add_tensors(struct shard_rule *r, const struct hlo_computation *c,
                        const struct hlo_instruction *i)
{
    int leaves = hlo_type_leaves(i->type);

    r->operand_count = i->operand_count;
    r->tensor_count = i->operand_count + leaves;
    r->tensor = arena_array(r->arena, (size_t)r->tensor_count, sizeof(*r->tensor));
    for (int t = 0; t < r->tensor_count; t++) {
        struct shard_tensor *to = &r->tensor[t];

        to->type = t < i->operand_count ? c->instruction[i->operand[t]].type :
                                          hlo_type_leaf(i->type, t - i->operand_count);
        if (hlo_type_is_tuple(to->type) || hlo_type_is_dynamic(to->type))
            return false;
        to->dim = arena_array(r->arena, (size_t)to->type->rank, sizeof(*to->dim));
    }
    return leaves > 0;
}

/* parts of a dimension that has several, or more than its factor, must be equal */
static void find_exact(struct shard_rule *r)
{
    for (int t = 0; t < r->tensor_count; t++)
        for (int d = 0; d < r->tensor[t].type->rank; d++) {
            const struct shard_dim *dim = &r->tensor[t].dim[d];

            for (int k = 0; k < dim->count; k++)
                if (dim->count > 1 || (!dim->window && !r->factor[dim->factor[k]].is_window &&
                                       r->factor[dim->factor[k]].size != r->tensor[t].type->dim[d]))
                    r->factor[dim->factor[k]].is_exact = true;
        }
}

const struct shard_rule *shard_rule_make(const struct hlo_module *m,
                                         const struct hlo_computation *c,
                                         const struct hlo_instruction *i, struct arena *a)
{
    shard_rule_fn *make = find_rule(i->op);
    struct shard_rule *r = arena_alloc(a, sizeof(*r));
    struct shard_made made = {r, m, i};

    r->arena = a;
    r->sum = OPCODE_COUNT;
    if (!make || !add_tensors(r, c, i))
        return NULL;
    make(&made);
    find_exact(r);
    return r->factor_count && r->factor_count <= SHARD_FACTORS_MAX ? r : NULL;
}

static void project_dim(const struct shard_mesh *mesh, const struct shard_rule *r,
                        const struct shard_dim *dim, const struct shard_axes *axes, bool *is_all,
                        struct shard_axes *of_factor)
{
    int at = 0;

    for (int k = 0; k < dim->count && at < axes->count; k++) {
        const struct shard_factor *f = &r->factor[dim->factor[k]];
        struct shard_axes *to = &of_factor[dim->factor[k]];
        int64_t parts = 1;

        for (; at < axes->count && parts < f->size; at++) {
            int64_t more = parts * mesh->size[axes->axis[at]];

            if (f->is_exact ? f->size % more != 0 : more > f->size)
                break;
            parts = more;
            to->axis[to->count++] = axes->axis[at];
        }
        if (parts != f->size)
            break;
    }
    *is_all &= at == axes->count;
}

bool shard_rule_project(const struct shard_mesh *mesh, const struct shard_rule *r, int tensor,
                        const struct shard_lay *lay, struct shard_axes *of_factor)
{
    const struct shard_tensor *t = &r->tensor[tensor];
    bool is_all = true;

    for (int f = 0; f < r->factor_count; f++)
        of_factor[f].count = 0;
    for (int d = 0; d < t->type->rank && lay->count; d++) {
        struct shard_axes axes = shard_lay_axes(lay, d);

        if (axes.count)
            project_dim(mesh, r, &t->dim[d], &axes, &is_all, of_factor);
    }
    return is_all;
}

struct shard_lay shard_rule_lay(const struct shard_rule *r, int tensor,
                                const struct shard_axes *of_factor)
{
    const struct shard_tensor *t = &r->tensor[tensor];
    struct shard_lay lay = {0};

    for (int d = 0; d < t->type->rank; d++)
        for (int k = 0; k < t->dim[d].count; k++) {
            const struct shard_axes *axes = &of_factor[t->dim[d].factor[k]];

            for (int i = 0; i < axes->count; i++)
                shard_lay_add(&lay, d, axes->axis[i]);
        }
    return lay;
}
