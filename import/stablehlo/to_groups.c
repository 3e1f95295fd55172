/* Attributes of several fields: dimension numbers, windows, devices, algorithms. */
#include "import/stablehlo/to.h"

#include "import/stablehlo/fields.h"

#include <stdio.h>
#include <string.h>

struct named_list {
    struct mlir_named item[16];
    int count;
};

static void add_list(struct to *t, struct named_list *l, const char *name, struct hlo_ints ints)
{
    if (ints.count)
        l->item[l->count++] = (struct mlir_named){ name, to_ints(t, ints) };
}

static void add(struct named_list *l, const char *name, const struct mlir_attr *a)
{
    l->item[l->count++] = (struct mlir_named){ name, a };
}

static const struct mlir_attr *dialect(struct to *t, const char *name, const struct named_list *l)
{
    return mlir_dialect(t->arena, name, "", 0, l->count, l->item);
}

static void to_gather(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    const struct hlo_gather *g = hlo_detail(i)->gather;
    bool is_scatter = i->op == OPCODE_SCATTER;
    struct named_list l = { .count = 0 };

    add_list(t, &l, is_scatter ? "update_window_dims" : "offset_dims", g->offset_dims);
    add_list(t, &l, is_scatter ? "inserted_window_dims" : "collapsed_slice_dims", g->collapsed_dims);
    add_list(t, &l, is_scatter ? "input_batching_dims" : "operand_batching_dims",
             g->operand_batching);
    add_list(t, &l, is_scatter ? "scatter_indices_batching_dims" : "start_indices_batching_dims",
             g->indices_batching);
    add_list(t, &l, is_scatter ? "scatter_dims_to_operand_dims" : "start_index_map",
             g->start_index_map);
    add(&l, "index_vector_dim", to_i64(t, g->index_vector_dim));
    to_attr(o, is_scatter ? "scatter_dimension_numbers" : "dimension_numbers",
            dialect(t, is_scatter ? "stablehlo.scatter" : "stablehlo.gather", &l));
    to_attr(o, "indices_are_sorted", mlir_bool(t->arena, g->is_sorted));
    if (is_scatter)
        to_attr(o, "unique_indices", mlir_bool(t->arena, g->is_unique));
}

static const struct mlir_attr *type_attr(struct to *t, const char *name, size_t length)
{
    bool is_f8 = length == 6 && !memcmp(name, "any_f8", 6);
    const struct mlir_type *type = is_f8 ? mlir_scalar_type(t->arena, "f8E4M3FN", 8)
                                         : mlir_scalar_type(t->arena, name, length);
    return mlir_type_attr(t->arena, type);
}

/* the length of the type at the front of "bf16_f32_x3" */
static size_t type_length(const char *s)
{
    return !strncmp(s, "any_f8", 6) ? 6 : strcspn(s, "_");
}

/* "dot_bf16_bf16_f32_x3" in its parts; false: it is no such name */
static bool to_algorithm(struct to *t, const char *name, struct to_op *o)
{
    static const char *const keys[] = { "lhs_precision_type", "rhs_precision_type",
                                        "accumulation_type" };
    struct named_list l = { .count = 0 };
    long long operations = 1;
    const char *at = strncmp(name, "dot_", 4) ? "" : name + 4;

    for (int k = 0; k < 3; k++) {
        size_t n = type_length(at);
        if (n == 0)
            return false;
        add(&l, keys[k], type_attr(t, at, n));
        at += n + (at[n] == '_');
    }
    if (*at == 'x' && sscanf(at, "x%lld", &operations) != 1)
        return false;
    bool is_fast = strstr(at, "fast_accum") != NULL;
    add(&l, "lhs_component_count", to_i64(t, 1));
    add(&l, "rhs_component_count", to_i64(t, 1));
    add(&l, "num_primitive_operations", to_i64(t, operations));
    add(&l, "allow_imprecise_accumulation", mlir_bool(t->arena, is_fast));
    to_attr(o, "algorithm", dialect(t, "stablehlo.dot_algorithm", &l));
    return true;
}

static void to_dot(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    const struct hlo_dot *d = hlo_detail(i)->dot;
    struct named_list l = { .count = 0 };

    if (d->lhs_batch.count) {
        add(&l, "lhs_batching_dimensions", to_ints(t, d->lhs_batch));
        add(&l, "rhs_batching_dimensions", to_ints(t, d->rhs_batch));
    }
    add(&l, "lhs_contracting_dimensions", to_ints(t, d->lhs_contract));
    add(&l, "rhs_contracting_dimensions", to_ints(t, d->rhs_contract));
    if (i->op == OPCODE_RAGGED_DOT) {
        add(&l, "lhs_ragged_dimensions", to_ints(t, d->lhs_ragged));
        add(&l, "rhs_group_dimensions", to_ints(t, d->rhs_group));
        to_attr(o, "ragged_dot_dimension_numbers", dialect(t, "chlo.ragged_dot", &l));
    } else {
        to_attr(o, "dot_dimension_numbers", dialect(t, "stablehlo.dot", &l));
    }
    if (d->algorithm)
        to_algorithm(t, d->algorithm, o);
}

static void to_precision(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    const struct mlir_attr *pair[2];

    if (!i->precision[0] && !i->precision[1])
        return;
    for (int k = 0; k < 2; k++)
        pair[k] = mlir_enum(t->arena, "stablehlo.precision",
                            field_word_of(FIELD_PRECISION, (int)i->precision[k])->word);
    to_attr(o, "precision_config", mlir_array(t->arena, 2, pair));
}

static void to_conv(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    const struct hlo_conv *c = hlo_detail(i)->conv;
    struct named_list l = { .count = 0 };

    add(&l, "input_batch_dimension", to_i64(t, c->in_batch));
    add(&l, "input_feature_dimension", to_i64(t, c->in_feature));
    add(&l, "input_spatial_dimensions", to_ints(t, c->in_spatial));
    add(&l, "kernel_input_feature_dimension", to_i64(t, c->kernel_in));
    add(&l, "kernel_output_feature_dimension", to_i64(t, c->kernel_out));
    add(&l, "kernel_spatial_dimensions", to_ints(t, c->kernel_spatial));
    add(&l, "output_batch_dimension", to_i64(t, c->out_batch));
    add(&l, "output_feature_dimension", to_i64(t, c->out_feature));
    add(&l, "output_spatial_dimensions", to_ints(t, c->out_spatial));
    to_attr(o, "dimension_numbers", dialect(t, "stablehlo.conv", &l));
    to_attr(o, "batch_group_count", to_i64(t, c->batch_groups));
    to_attr(o, "feature_group_count", to_i64(t, c->feature_groups));
}

/* one number of each dimension of a window, unless all are what stands for none */
static void window_ints(struct to *t, const struct hlo_instruction *i, struct to_op *o,
                        const char *name, size_t offset, int64_t absent)
{
    int64_t *item = arena_array(t->arena, (size_t)hlo_detail(i)->window_count + 1, sizeof(*item));
    bool is_said = absent == INT64_MIN;

    for (int k = 0; k < hlo_detail(i)->window_count; k++) {
        item[k] = *(const int64_t *)((const char *)&hlo_detail(i)->window[k] + offset);
        is_said = is_said || item[k] != absent;
    }
    if (is_said)
        to_attr(o, name, to_ints(t, (struct hlo_ints){ hlo_detail(i)->window_count, item }));
}

static void window_padding(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    int64_t *item =
        arena_array(t->arena, 2 * (size_t)hlo_detail(i)->window_count + 1, sizeof(*item));
    const int64_t dim[2] = { hlo_detail(i)->window_count, 2 };
    bool is_said = false;

    for (int k = 0; k < hlo_detail(i)->window_count; k++) {
        item[2 * k] = hlo_detail(i)->window[k].pad_low;
        item[2 * k + 1] = hlo_detail(i)->window[k].pad_high;
        is_said = is_said || hlo_detail(i)->window[k].pad_low || hlo_detail(i)->window[k].pad_high;
    }
    const struct mlir_type *i64 = mlir_scalar_type(t->arena, "i64", 3);
    if (is_said)
        to_attr(o, "padding",
                mlir_dense(t->arena, mlir_tensor_type(t->arena, i64, 2, dim, NULL), item, false));
}

static void window_reversal(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    int64_t *item = arena_array(t->arena, (size_t)hlo_detail(i)->window_count + 1, sizeof(*item));
    bool is_said = false;

    for (int k = 0; k < hlo_detail(i)->window_count; k++) {
        item[k] = hlo_detail(i)->window[k].is_reversed;
        is_said = is_said || hlo_detail(i)->window[k].is_reversed;
    }
    if (is_said)
        to_attr(o, "window_reversal", mlir_ints(t->arena, hlo_detail(i)->window_count, item,
                                                mlir_scalar_type(t->arena, "i1", 2)));
}

static void to_window(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    bool is_conv = i->op == OPCODE_CONVOLUTION;

#define OF(field) offsetof(struct hlo_window, field)
    if (!is_conv)
        window_ints(t, i, o, "window_dimensions", OF(size), INT64_MIN);
    window_ints(t, i, o, "window_strides", OF(stride), 1);
    window_padding(t, i, o);
    window_ints(t, i, o, is_conv ? "lhs_dilation" : "base_dilations", OF(base_dilation), 1);
    window_ints(t, i, o, is_conv ? "rhs_dilation" : "window_dilations", OF(window_dilation), 1);
    window_reversal(t, i, o);
#undef OF
}

/* integers as a dense table */
static const struct mlir_attr *table(struct to *t, int64_t rows, int64_t cols, const int64_t *item)
{
    const int64_t dim[2] = { rows, cols };
    const struct mlir_type *i64 = mlir_scalar_type(t->arena, "i64", 3);
    return mlir_dense(t->arena, mlir_tensor_type(t->arena, i64, 2, dim, NULL), item, false);
}

static const struct mlir_attr *group_table(struct to *t, const struct hlo_groups *g)
{
    int64_t longest = 0;
    int next = 0;

    for (int r = 0; r < g->size.count; r++)
        longest = g->size.item[r] > longest ? g->size.item[r] : longest;
    size_t all = (size_t)g->size.count * (size_t)longest;
    int64_t *item = arena_array(t->arena, all + 1, sizeof(*item));
    for (int r = 0; r < g->size.count; r++) {
        for (int64_t k = 0; k < longest; k++)
            item[r * longest + k] = k < g->size.item[r] ? g->id.item[next++] : -1;
    }
    return table(t, g->size.count, longest, item);
}

const struct mlir_attr *to_devices_told(struct to *t, const struct hlo_groups *g)
{
    struct mlir_named told[2];
    int count = 0;

    if (g->channel_id)
        told[count++] = (struct mlir_named){"channel_id", to_i64(t, g->channel_id)};
    told[count++] = (struct mlir_named){"replica_groups", group_table(t, g)};
    return mlir_dictionary(t->arena, count, told);
}

/* between devices, to the host or from it */
static int64_t channel_type(enum hlo_opcode op, const struct hlo_groups *g)
{
    if (!g->is_host_transfer)
        return 1;
    return op == OPCODE_SEND ? 2 : 3;
}

void to_devices(struct to *t, const struct hlo_groups *g, struct to_op *o)
{
    bool is_permute = o->from->op == OPCODE_COLLECTIVE_PERMUTE;
    struct named_list channel = { .count = 0 };

    if (is_permute || g->pair.count)
        to_attr(o, "source_target_pairs", table(t, g->pair.count / 2, 2, g->pair.item));
    else if (o->from->op != OPCODE_SEND && o->from->op != OPCODE_RECV)
        to_attr(o, "replica_groups", group_table(t, g));
    if (g->channel_id) {
        add(&channel, "handle", to_i64(t, g->channel_id));
        add(&channel, "type", to_i64(t, channel_type(o->from->op, g)));
        to_attr(o, "channel_handle", dialect(t, "stablehlo.channel_handle", &channel));
    }
    if (g->use_global_ids)
        to_attr(o, "use_global_device_ids", mlir_unit(t->arena));
    if (g->is_host_transfer)
        to_attr(o, "is_host_transfer", mlir_bool(t->arena, true));
}

void to_groups(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    if (hlo_detail(i)->gather)
        to_gather(t, i, o);
    if (hlo_detail(i)->dot)
        to_dot(t, i, o);
    to_precision(t, i, o);
    if (hlo_detail(i)->conv)
        to_conv(t, i, o);
    if (hlo_detail(i)->window)
        to_window(t, i, o);
    if (hlo_detail(i)->groups && i->op != OPCODE_RAGGED_ALL_TO_ALL)     /* in its configuration */
        to_devices(t, hlo_detail(i)->groups, o);
}
