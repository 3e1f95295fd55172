/* What a module and its entry say of the whole program: devices, meshes, aliases. */
#include "import/stablehlo/from.h"

#include <ctype.h>
#include <string.h>

static void add_alias(struct from *f, struct hlo_alias alias)
{
    MEM_ADD(f->m->alias, f->m->alias_count, f->m->alias_capacity) = alias;
}

/* {alias = {kind = "may_alias", parameter_index = array<i64>, parameter_number = 2},
 *  output_index = array<i64: 1>} */
static int listed_alias(struct from *f, const struct mlir_op *op, const struct mlir_attr *a)
{
    const struct mlir_attr *inner = mlir_attr_find(a, "alias");
    const struct mlir_attr *kind = mlir_attr_find(inner, "kind");
    struct hlo_alias alias = { 0 };

    if (from_ints(f, op, "output_index", mlir_attr_find(a, "output_index"), &alias.output) ||
        from_ints(f, op, "parameter_index", mlir_attr_find(inner, "parameter_index"),
                  &alias.parameter_path) ||
        from_int(f, op, "parameter_number", mlir_attr_find(inner, "parameter_number"), 0,
                 &alias.parameter))
        return -1;
    alias.is_must = kind && mlir_text_is(kind->text, "must_alias");
    add_alias(f, alias);
    return 0;
}

int from_module_attributes(struct from *f, const struct mlir_op *op)
{
    for (int k = 0; k < op->attr_count; k++) {
        const char *name = op->attr[k].name;
        const struct mlir_attr *a = op->attr[k].attr;
        bool is_partitions = !strcmp(name, "mhlo.num_partitions");
        if (is_partitions || !strcmp(name, "mhlo.num_replicas")) {
            int64_t *to = is_partitions ? &f->m->partition_count : &f->m->replica_count;
            if (from_int(f, op, name, a, 1, to))
                return -1;
            *to = *to < 1 ? 1 : *to;
        } else if (!strcmp(name, "mhlo.input_output_alias") && a->kind == MLIR_ARRAY) {
            for (int n = 0; n < a->count; n++) {
                if (listed_alias(f, op, a->item[n]))
                    return -1;
            }
        } else if (!strcmp(name, "mhlo.frontend_attributes") && a->kind == MLIR_DICTIONARY) {
            for (int n = 0; n < a->count; n++)
                from_add_pair(f, &f->m->frontend, a->named[n].name,
                              mlir_attr_text(f->arena, a->named[n].attr));
        } else if (strcmp(name, "sym_name")) {
            from_add_pair(f, &f->m->other, name, mlir_attr_text(f->arena, a));
        }
    }
    return 0;
}

int from_aliases(struct from *f, const struct mlir_op *entry)
{
    const struct mlir_attr *dicts = from_function_attr(f, entry, "arg_attrs");
    const struct mlir_attr *t = from_function_attr(f, entry, "function_type");
    bool is_tuple = t && t->type && t->type->result_count != 1;

    for (int k = 0; dicts && k < dicts->count; k++) {
        const struct mlir_attr *a = mlir_attr_find(dicts->item[k], "tf.aliasing_output");
        struct hlo_alias alias = { .parameter = k };
        int64_t output;
        if (!a)
            continue;
        if (from_int(f, entry, "tf.aliasing_output", a, 0, &output))
            return -1;
        if (is_tuple)
            alias.output = hlo_ints_copy(f->arena, &output, 1);
        add_alias(f, alias);
    }
    return 0;
}

/* text of a mesh: `["x"=2, "y"=4], device_ids=[..]` */
struct mesh_text {
    const char *at, *end;
};

static bool accept(struct mesh_text *t, const char *word)
{
    size_t n = strlen(word);

    while (t->at < t->end && isspace((unsigned char)*t->at))
        t->at++;
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n))
        return false;
    t->at += n;
    return true;
}

static int64_t number(struct mesh_text *t)
{
    int64_t v = 0;

    accept(t, "");
    if (t->at >= t->end || !isdigit((unsigned char)*t->at))
        return -1;
    for (; t->at < t->end && isdigit((unsigned char)*t->at) && v < INT32_MAX; t->at++)
        v = 10 * v + (*t->at - '0');
    return v;
}

/* `"x"=2`; 0 or -1 */
static int read_axis(struct from *f, struct mesh_text *t, const char **name, int64_t *size)
{
    if (!accept(t, "\""))
        return -1;
    const char *close = memchr(t->at, '"', (size_t)(t->end - t->at));
    if (!close)
        return -1;
    *name = mlir_text_copy(f->arena, t->at, (size_t)(close - t->at)).data;
    t->at = close + 1;
    if (!accept(t, "="))
        return -1;
    *size = number(t);
    return *size < 1 ? -1 : 0;
}

#define LIST_MAX (1 << 20)

static int read_axes(struct from *f, struct mesh_text *t, struct hlo_mesh *m)
{
    const char *name[64];
    int64_t size[64];

    if (!accept(t, "["))
        return -1;
    while (!accept(t, "]")) {
        if (m->axis_count == 64 || (m->axis_count && !accept(t, ",")) ||
            read_axis(f, t, &name[m->axis_count], &size[m->axis_count]))
            return -1;
        m->axis_count++;
    }
    m->axis = arena_copy(f->arena, name, (size_t)m->axis_count, sizeof(*name));
    m->size = arena_copy(f->arena, size, (size_t)m->axis_count, sizeof(*size));
    return 0;
}

static int read_devices(struct from *f, struct mesh_text *t, struct hlo_mesh *m)
{
    int64_t *id = NULL;
    size_t room = 0;
    int count = 0, status = 0;

    if (!accept(t, "device_ids") || !accept(t, "=") || !accept(t, "["))
        return -1;
    while (!status && !accept(t, "]")) {
        int64_t device = count && !accept(t, ",") ? -1 : number(t);
        status = device < 0 || count == LIST_MAX ? -1 : 0;
        MEM_ADD(id, count, room) = device;
    }
    m->device = hlo_ints_copy(f->arena, id, count);
    mem_free(id);
    return status;
}

/* Is each of 0 .. n - 1 among the devices once? One device without axes is a mesh, too. */
static bool is_permutation(const struct hlo_mesh *m)
{
    bool *seen = mem_alloc((size_t)m->device.count + 1), is_good = true;

    for (int k = 0; is_good && k < m->device.count && m->axis_count; k++) {
        int64_t id = m->device.item[k];
        is_good = id >= 0 && id < m->device.count && !seen[id];
        if (is_good)
            seen[id] = true;
    }
    mem_free(seen);
    return is_good;
}

int from_mesh(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_op_attr(op, "mesh"), *name = mlir_op_attr(op, "sym_name");
    struct hlo_mesh mesh = { 0 };

    if (!a || a->kind != MLIR_DIALECT || !name || name->kind != MLIR_STRING)
        return from_fail(f, op, "a mesh has a name and axes");
    struct mesh_text t = { a->text.data, a->text.data + a->text.bytes };
    mesh.name = name->text.data;
    int status = read_axes(f, &t, &mesh);
    if (!status && accept(&t, ","))
        status = read_devices(f, &t, &mesh);
    if (status || (accept(&t, ""), t.at < t.end))
        return from_fail(f, op, "no mesh is written %s", a->text.data);
    if (!is_permutation(&mesh))
        return from_fail(f, op, "its devices are not each of 0 .. %d once", mesh.device.count - 1);
    MEM_ADD(f->m->mesh, f->m->mesh_count, f->m->mesh_capacity) = mesh;
    return 0;
}
