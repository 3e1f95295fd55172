/* Groups of devices that StableHLO names by axes of a mesh, made into lists of devices. */
#include "import/program/sharding_impl.h"

/* `#stablehlo.word<`, of which a printer may leave out what stands before `<` */
static int open_attribute(struct sharding_reader *r, const char *word)
{
    if (sharding_accept(r, "#stablehlo.") && sharding_expect(r, word))
        return -1;
    return sharding_expect(r, "<");
}

/* what stands between the brackets of a mesh: #stablehlo.mesh_axis<name = "x", size = 2>, .. */
static int read_mesh_axes(struct sharding_reader *r, struct hlo_mesh *mesh)
{
    struct arena *a = r->module->arena;
    const char *name[SHARDING_DIMS_MAX];
    int64_t size[SHARDING_DIMS_MAX];

    while (!sharding_accept(r, "]")) {
        int i = mesh->axis_count;

        if (i == SHARDING_DIMS_MAX)
            return sharding_fail(r, "too many axes");
        if (open_attribute(r, "mesh_axis") || sharding_expect(r, "name =") ||
            sharding_read_name(r, &name[i]) || sharding_expect(r, ", size =") ||
            sharding_read_int(r, &size[i]) || sharding_expect(r, ">"))
            return -1;
        mesh->axis_count++;
        sharding_accept(r, ",");
    }
    mesh->axis = arena_copy(a, name, (size_t)mesh->axis_count, sizeof(*name));
    mesh->size = arena_copy(a, size, (size_t)mesh->axis_count, sizeof(*size));
    return 0;
}

/* @name of the module, or #stablehlo.mesh<axes = [..], device_ids = [..]> */
static int read_mesh(struct sharding_reader *r, struct hlo_mesh *mesh)
{
    if (!sharding_accept(r, "#stablehlo.mesh<"))
        return sharding_read_mesh(r, mesh);
    if (sharding_expect(r, "axes =") || sharding_expect(r, "[") || read_mesh_axes(r, mesh))
        return -1;
    if (sharding_accept(r, ", device_ids =") &&
        (sharding_expect(r, "[") || sharding_read_ints(r, "]", &mesh->device)))
        return -1;
    return sharding_expect(r, ">");
}

/* #stablehlo.axis_ref<name = "x", sub_axis_info = (2)4>, .. */
static int read_axes(struct sharding_reader *r, const struct hlo_mesh *mesh,
                     struct sharding_axes *axes)
{
    while (!sharding_accept(r, "]")) {
        if (axes->count == SHARDING_DIMS_MAX)
            return sharding_fail(r, "too many axes");
        if (open_attribute(r, "axis_ref") || sharding_expect(r, "name =") ||
            sharding_read_axis(r, mesh, ", sub_axis_info = (", &axes->item[axes->count]) ||
            sharding_expect(r, ">"))
            return -1;
        axes->count++;
        sharding_accept(r, ",");
    }
    return 0;
}

/*
 * Along the axes a dimension would lie in as many parts, each on devices that are copies of each
 * other: a group has one device of each part, the first group the first copies.
 */
static void group_parts(struct arena *a, const struct hlo_sharding *cut, int64_t devices,
                        struct hlo_groups *g)
{
    int64_t parts = cut->kind == HLO_TILED ? cut->tile.item[0] : 1, copies = devices / parts;
    int64_t *size = arena_array(a, (size_t)copies, sizeof(*size));
    int64_t *id = arena_array(a, (size_t)devices, sizeof(*id));

    for (int64_t c = 0; c < copies; c++) {
        size[c] = parts;
        for (int64_t p = 0; p < parts; p++) {
            int64_t at = p * copies + c;

            id[c * parts + p] = cut->id.count ? cut->id.item[at] : at;
        }
    }
    g->size = (struct hlo_ints){(int)copies, size};
    g->id = (struct hlo_ints){(int)devices, id};
}

int hlo_groups_parse_axes(const struct hlo_module *m, const char *text, size_t length,
                          struct hlo_groups *g, struct err *e)
{
    struct sharding_reader r = {m, text, text, text + length, e};
    struct sharding_named along = {.rank = 1};
    struct hlo_sharding cut = {0};
    int64_t devices = 1;

    if (sharding_expect(&r, "mesh =") || read_mesh(&r, &along.mesh) ||
        sharding_expect(&r, ", axes =") || sharding_expect(&r, "[") ||
        read_axes(&r, &along.mesh, &along.dim[0]) || sharding_of_names(&r, &along, &cut))
        return -1;
    if (cut.kind == HLO_MAXIMAL)
        return sharding_fail(&r, "a mesh of one device has no axes");
    for (int i = 0; i < along.mesh.axis_count; i++)
        devices *= along.mesh.size[i];
    group_parts(m->arena, &cut, devices, g);
    return 0;
}
