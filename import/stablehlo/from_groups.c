/* Attributes of several fields: dimension numbers of gather, scatter and dot, devices. */
#include "import/stablehlo/from.h"

#include "import/program/sharding.h"
#include "import/stablehlo/fields.h"

#include <stdio.h>
#include <string.h>

/* a list within the dimension numbers, or flat beside them */
static int list(struct from *f, const struct mlir_op *op, const char *outer, const char *name,
                struct hlo_ints *to)
{
    return from_ints(f, op, name, from_nested(op, outer, name), to);
}

int from_gather(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    struct hlo_gather *g = arena_alloc(f->scratch, sizeof(*g));
    bool is_scatter = i->op == OPCODE_SCATTER;
    const char *outer = is_scatter ? "scatter_dimension_numbers" : "dimension_numbers";
    const char *names[5] = { "offset_dims", "collapsed_slice_dims", "start_index_map",
                             "operand_batching_dims", "start_indices_batching_dims" };
    const char *scatter_names[5] = { "update_window_dims", "inserted_window_dims",
                                     "scatter_dims_to_operand_dims", "input_batching_dims",
                                     "scatter_indices_batching_dims" };
    struct hlo_ints *const to[5] = { &g->offset_dims, &g->collapsed_dims, &g->start_index_map,
                                     &g->operand_batching, &g->indices_batching };

    for (int n = 0; n < 5; n++) {
        if (list(f, op, outer, is_scatter ? scatter_names[n] : names[n], to[n]))
            return -1;
    }
    if (from_int(f, op, "index_vector_dim", from_nested(op, outer, "index_vector_dim"), 0,
                 &g->index_vector_dim))
        return -1;
    g->is_sorted = from_bool(mlir_op_attr(op, "indices_are_sorted"), false);
    g->is_unique = from_bool(mlir_op_attr(op, "unique_indices"), false);
    i->detail->gather = g;
    return 0;
}

/* the name of a type of an algorithm: "bf16", "any_f8"; NULL: there is none */
static const char *algorithm_type(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = from_nested(op, "algorithm", name);

    if (!a || a->kind != MLIR_TYPE || a->type->kind != MLIR_SCALAR)
        return NULL;
    return a->type->text.data[0] == 'f' && a->type->text.data[1] == '8' && a->type->text.bytes > 3
               ? "any_f8" : a->type->text.data;
}

/* "dot_bf16_bf16_f32_x3" of its parts */
static int algorithm(struct from *f, const struct mlir_op *op, struct hlo_dot *d)
{
    const char *lhs = algorithm_type(op, "lhs_precision_type");
    const char *rhs = algorithm_type(op, "rhs_precision_type");
    const char *sum = algorithm_type(op, "accumulation_type");
    int64_t operations;

    if (!lhs || !rhs || !sum)
        return 0;
    if (from_int(f, op, "num_primitive_operations",
                 from_nested(op, "algorithm", "num_primitive_operations"), 1, &operations))
        return -1;
    bool is_fast = from_bool(from_nested(op, "algorithm", "allow_imprecise_accumulation"), false);
    const char *times = operations > 1 ? arena_printf(f->arena, "_x%lld", (long long)operations) : "";
    d->algorithm = arena_printf(f->arena, "dot_%s_%s_%s%s%s", lhs, rhs, sum, times,
                                is_fast ? "_fast_accum" : "");
    return 0;
}

int from_dot(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    struct hlo_dot *d = arena_alloc(f->scratch, sizeof(*d));
    const char *outer = i->op == OPCODE_RAGGED_DOT ? "ragged_dot_dimension_numbers"
                                                   : "dot_dimension_numbers";

    if (list(f, op, outer, "lhs_ragged_dimensions", &d->lhs_ragged) ||
        list(f, op, outer, "rhs_group_dimensions", &d->rhs_group) ||
        list(f, op, outer, "lhs_batching_dimensions", &d->lhs_batch) ||
        list(f, op, outer, "rhs_batching_dimensions", &d->rhs_batch) ||
        list(f, op, outer, "lhs_contracting_dimensions", &d->lhs_contract) ||
        list(f, op, outer, "rhs_contracting_dimensions", &d->rhs_contract) || algorithm(f, op, d))
        return -1;
    i->detail->dot = d;
    return 0;
}

int from_precision(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    const struct mlir_attr *a = mlir_op_attr(op, "precision_config");

    if (!a)
        return 0;
    if (a->kind != MLIR_ARRAY || a->count > 2)
        return from_fail(f, op, "precision_config is not a list of two");
    for (int n = 0; n < a->count; n++) {
        const struct field_word *w = a->item[n]->kind == MLIR_ENUM
                                         ? field_word_find(FIELD_PRECISION, a->item[n]->text.data)
                                         : NULL;
        if (!w)
            return from_fail(f, op, "precision_config is not of DEFAULT, HIGH and HIGHEST");
        i->precision[n] = (enum hlo_precision)w->value;
    }
    return 0;
}

static int groups_along(struct from *f, const struct mlir_op *op, const struct mlir_attr *a,
                        struct hlo_groups *g)
{
    struct err why = { 0 };

    if (hlo_groups_parse_axes(f->m, a->text.data, a->text.bytes, g, &why))
        return from_fail(f, op, "replica_groups: %s", why.msg);
    return 0;
}

/* rows of devices, of which a row that is shorter than others ends in -1; or axes of a mesh */
static int groups(struct from *f, const struct mlir_op *op, const struct mlir_attr *a,
                  struct hlo_groups *g)
{
    struct hlo_ints all;

    if (!a)
        return 0;
    if (a->kind == MLIR_DIALECT && !strcmp(a->name, "stablehlo.replica_group_mesh_axes"))
        return groups_along(f, op, a, g);
    if (a->kind != MLIR_DENSE || a->type->kind != MLIR_TENSOR || a->type->rank != 2)
        return from_fail(f, op, "replica_groups is not a table of devices");
    if (from_ints(f, op, "replica_groups", a, &all))
        return -1;
    int64_t rows = a->type->dim[0], cols = a->type->dim[1];
    if (all.count == 0)
        return 0;
    int64_t *size = arena_array(f->scratch, (size_t)rows, sizeof(*size));
    int64_t *id = arena_array(f->scratch, (size_t)all.count, sizeof(*id));
    int count = 0;
    for (int64_t k = 0; k < rows * cols; k++) {
        if (all.item[k] < 0)
            continue;
        size[k / cols]++;
        id[count++] = all.item[k];
    }
    g->size = (struct hlo_ints){ (int)rows, size };
    g->id = (struct hlo_ints){ count, id };
    return 0;
}

int from_devices_told(struct from *f, const struct mlir_op *op, const struct mlir_attr *config,
                      struct hlo_instruction *i)
{
    struct hlo_groups *g = arena_alloc(f->scratch, sizeof(*g));

    i->detail->groups = g;
    return groups(f, op, mlir_attr_find(config, "replica_groups"), g) ||
                   from_int(f, op, "channel_id", mlir_attr_find(config, "channel_id"), 0,
                            &g->channel_id)
               ? -1 : 0;
}

int from_devices(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    struct hlo_groups *g = arena_alloc(f->scratch, sizeof(*g));
    const struct mlir_attr *channel = from_nested(op, "channel_handle", "handle");

    if (!channel)
        channel = mlir_op_attr(op, "channel_id");
    if (groups(f, op, mlir_op_attr(op, "replica_groups"), g) ||
        from_ints(f, op, "source_target_pairs", mlir_op_attr(op, "source_target_pairs"), &g->pair) ||
        from_int(f, op, "channel_handle", channel, 0, &g->channel_id))
        return -1;
    if (g->pair.count % 2)
        return from_fail(f, op, "source_target_pairs are not pairs");
    g->use_global_ids = from_bool(mlir_op_attr(op, "use_global_device_ids"), false);
    g->is_host_transfer = from_bool(mlir_op_attr(op, "is_host_transfer"), false);
    i->detail->groups = g;
    return 0;
}
