/* Modules as trees and text of StableHLO. */
#include "import/stablehlo/to.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mlir_attr *i32_attr(struct to *t, int64_t v)
{
    return mlir_integer(t->arena, v, mlir_scalar_type(t->arena, "i32", 3));
}

static const struct mlir_attr *alias_attr(struct to *t, const struct hlo_alias *a)
{
    const char *kind = a->is_must ? "must_alias" : "may_alias";
    const struct mlir_named inner[3] = {
        { "kind", mlir_string(t->arena, kind, strlen(kind)) },
        { "parameter_index", to_ints(t, a->parameter_path) },
        { "parameter_number", to_i64(t, a->parameter) }
    };
    const struct mlir_named outer[2] = { { "alias", mlir_dictionary(t->arena, 3, inner) },
                                         { "output_index", to_ints(t, a->output) } };
    return mlir_dictionary(t->arena, 2, outer);
}

static const struct mlir_attr *aliases_attr(struct to *t)
{
    const struct mlir_attr **item =
        arena_array(t->arena, (size_t)t->m->alias_count + 1, sizeof(*item));
    for (int k = 0; k < t->m->alias_count; k++)
        item[k] = alias_attr(t, &t->m->alias[k]);
    return mlir_array(t->arena, t->m->alias_count, item);
}

static void module_attributes(struct to *t, struct to_op *o)
{
    const struct hlo_module *m = t->m;
    struct mlir_named *pair = arena_array(t->arena, (size_t)m->frontend.count + 1, sizeof(*pair));

    to_attr(o, "sym_name", mlir_string(t->arena, m->name, strlen(m->name)));
    for (int k = 0; k < m->frontend.count; k++)
        pair[k] = (struct mlir_named){ m->frontend.item[k].key,
                                       to_kept(t, m->frontend.item[k].value) };
    if (m->frontend.count)
        to_attr(o, "mhlo.frontend_attributes", mlir_dictionary(t->arena, m->frontend.count, pair));
    if (m->alias_count)
        to_attr(o, "mhlo.input_output_alias", aliases_attr(t));
    to_attr(o, "mhlo.num_partitions", i32_attr(t, m->partition_count));
    to_attr(o, "mhlo.num_replicas", i32_attr(t, m->replica_count));
    for (int k = 0; k < m->other.count && o->attr_count < 40; k++)
        to_attr(o, m->other.item[k].key, to_kept(t, m->other.item[k].value));
}

/* `["x"=2, "y"=4], device_ids=[..]` */
static const struct mlir_attr *mesh_attr(struct to *t, const struct hlo_mesh *m)
{
    char *text;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);

    fputc('[', to);
    for (int k = 0; k < m->axis_count; k++)
        fprintf(to, "%s\"%s\"=%lld", k ? ", " : "", m->axis[k], (long long)m->size[k]);
    fputc(']', to);
    for (int k = 0; k < m->device.count; k++)
        fprintf(to, "%s%lld", k ? ", " : ", device_ids=[", (long long)m->device.item[k]);
    if (m->device.count)
        fputc(']', to);
    text_memory_end(to, &text);
    const struct mlir_attr *a = mlir_dialect(t->arena, "sdy.mesh", text, bytes, 0, NULL);
    free(text);
    return a;
}

static struct mlir_op *mesh_op(struct to *t, const struct hlo_mesh *m)
{
    struct mlir_op *op = arena_alloc(t->arena, sizeof(*op));
    struct mlir_named *attr = arena_array(t->arena, 2, sizeof(*attr));

    attr[0] = (struct mlir_named){ "mesh", mesh_attr(t, m) };
    attr[1] = (struct mlir_named){ "sym_name", mlir_string(t->arena, m->name, strlen(m->name)) };
    *op = (struct mlir_op){ .name = "sdy.mesh", .attr = attr, .attr_count = 2 };
    return op;
}

/* Is it a function: the entry, called by name, or by nobody? */
static void find_functions(const struct hlo_module *m, bool *is_function)
{
    bool *is_used = mem_alloc((size_t)m->computation_count + 1);

    for (int c = 0; c < m->computation_count; c++) {
        for (int k = 0; k < m->computation[c].count; k++) {
            const struct hlo_instruction *i = &m->computation[c].instruction[k];
            for (int n = 0; n < hlo_detail(i)->computation_count; n++) {
                is_used[hlo_detail(i)->computation[n]] = true;
                if (i->op == OPCODE_CALL || i->op == OPCODE_CUSTOM_CALL)
                    is_function[hlo_detail(i)->computation[n]] = true;
            }
        }
    }
    for (int c = 0; c < m->computation_count; c++)
        is_function[c] = is_function[c] || !is_used[c];
    mem_free(is_used);
}

static int module_ops(struct to *t, struct mlir_block *b)
{
    bool *is_function = mem_alloc((size_t)t->m->computation_count + 1);
    int status = 0;

    find_functions(t->m, is_function);
    b->op = arena_array(t->arena, (size_t)(t->m->computation_count + t->m->mesh_count) + 1,
                        sizeof(*b->op));
    for (int k = 0; k < t->m->mesh_count; k++)
        b->op[b->op_count++] = mesh_op(t, &t->m->mesh[k]);
    for (int c = 0; c < t->m->computation_count && !status; c++) {
        if (is_function[c])
            status = to_function(t, c, &b->op[b->op_count++]);
    }
    mem_free(is_function);
    return status;
}

int stablehlo_from_program(struct mlir_tree *tree, struct arena *a, const struct hlo_module *m,
                           struct err *e)
{
    struct to t = { .m = m, .tree = tree, .arena = a, .err = e };
    struct to_op o = { .name = "builtin.module" };
    struct mlir_region *g = arena_alloc(a, sizeof(*g));
    struct mlir_op *op = arena_alloc(a, sizeof(*op));

    mlir_tree_init(tree, a, m->file ? m->file : "");
    module_attributes(&t, &o);
    *g = (struct mlir_region){ 1, arena_alloc(a, sizeof(*g->block)) };
    *op = (struct mlir_op){ .name = o.name, .region_count = 1, .region = g,
                            .attr_count = o.attr_count };
    op->attr = arena_copy(a, o.attr, (size_t)o.attr_count, sizeof(*o.attr));
    tree->module_count = 1;
    tree->module = arena_copy(a, &op, 1, sizeof(op));
    return module_ops(&t, g->block);
}

int stablehlo_print(const struct hlo_module *m, FILE *to, const struct mlir_print_options *o,
                    struct err *e)
{
    struct arena a;
    struct mlir_tree t;

    arena_init(&a);
    int status = stablehlo_from_program(&t, &a, m, e);
    if (!status)
        mlir_print(&t, to, o);
    arena_fini(&a);
    return status;
}
