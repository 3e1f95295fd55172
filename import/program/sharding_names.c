/* Shardings by names of axes, of HLO (mesh['x'=2]) and of Shardy (@mesh), made into tiles. */
#include "import/program/sharding_impl.h"

#include <ctype.h>
#include <string.h>

/* "x" or 'x' */
static int read_name(struct sharding_reader *r, const char **name, size_t *length)
{
    char quote;

    if (!sharding_accept(r, "\"") && !sharding_accept(r, "'"))
        return sharding_fail(r, "a quoted name is wanted");
    quote = r->at[-1];
    *name = r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\\')
        r->at++;
    *length = (size_t)(r->at - *name);
    return sharding_expect(r, (char[]){quote, 0});
}

static int find_axis(const struct hlo_mesh *mesh, const char *name, size_t length)
{
    for (int i = 0; i < mesh->axis_count; i++)
        if (strlen(mesh->axis[i]) == length && !memcmp(mesh->axis[i], name, length))
            return i;
    return -1;
}

int sharding_read_name(struct sharding_reader *r, const char **name)
{
    const char *text;
    size_t length;

    if (read_name(r, &text, &length))
        return -1;
    *name = arena_printf(r->module->arena, "%.*s", (int)length, text);
    return 0;
}

int sharding_read_axis(struct sharding_reader *r, const struct hlo_mesh *mesh, const char *part,
                       struct sharding_axis *a)
{
    const char *name;
    size_t length;

    if (read_name(r, &name, &length))
        return -1;
    a->axis = find_axis(mesh, name, length);
    if (a->axis < 0)
        return sharding_fail(r, "the mesh has no such axis");
    a->before = 1;
    a->size = mesh->size[a->axis];
    if (!sharding_accept(r, part))
        return 0;
    if (sharding_read_int(r, &a->before) || sharding_expect(r, ")") ||
        sharding_read_int(r, &a->size))
        return -1;
    if (a->before < 1 || a->size < 1 || mesh->size[a->axis] % (a->before * a->size))
        return sharding_fail(r, "the axis has no such part");
    return 0;
}

int sharding_read_axes(struct sharding_reader *r, const struct hlo_mesh *mesh, const char *close,
                       struct sharding_axes *axes, bool *is_open)
{
    while (!sharding_accept(r, close)) {
        if (is_open && sharding_accept(r, "?")) {
            *is_open = true;
        } else {
            if (axes->count == SHARDING_DIMS_MAX)
                return sharding_fail(r, "too many axes");
            if (sharding_read_axis(r, mesh, ":(", &axes->item[axes->count]))
                return -1;
            axes->count++;
        }
        sharding_accept(r, ",");
    }
    return 0;
}

static int read_dims(struct sharding_reader *r, struct sharding_named *n)
{
    int64_t priority;

    if (sharding_expect(r, "["))
        return -1;
    while (!sharding_accept(r, "]")) {
        if (n->rank == SHARDING_DIMS_MAX)
            return sharding_fail(r, "too many dimensions");
        if (sharding_expect(r, "{") ||
            sharding_read_axes(r, &n->mesh, "}", &n->dim[n->rank], &n->is_open[n->rank]))
            return -1;
        n->rank++;
        if (sharding_accept(r, "p") && sharding_read_int(r, &priority))
            return -1;
        sharding_accept(r, ",");
    }
    return 0;
}

static int read_device_ids(struct sharding_reader *r, const char *open, const char *close,
                           struct hlo_ints *ids)
{
    struct hlo_ints shape = {0};

    if (sharding_expect(r, open))
        return -1;
    if (!sharding_accept(r, "["))
        return sharding_read_ints(r, close, ids);
    if (sharding_read_ints(r, "]", &shape))
        return -1;
    if (sharding_accept(r, close)) {
        *ids = shape;
        return 0;
    }
    return sharding_read_iota(r, ids) || sharding_expect(r, close) ? -1 : 0;
}

/* what stands between the brackets of a mesh: 'x'=2, .. */
static int read_mesh_axes(struct sharding_reader *r, struct hlo_mesh *mesh)
{
    const char *name[SHARDING_DIMS_MAX];
    int64_t size[SHARDING_DIMS_MAX];
    struct arena *a = r->module->arena;

    while (!sharding_accept(r, "]")) {
        int i = mesh->axis_count;

        if (i == SHARDING_DIMS_MAX)
            return sharding_fail(r, "too many axes");
        if (sharding_read_name(r, &name[i]) || sharding_expect(r, "=") ||
            sharding_read_int(r, &size[i]))
            return -1;
        mesh->axis_count++;
        sharding_accept(r, ",");
    }
    mesh->axis = arena_copy(a, name, (size_t)mesh->axis_count, sizeof(*name));
    mesh->size = arena_copy(a, size, (size_t)mesh->axis_count, sizeof(*size));
    return 0;
}

static const struct hlo_mesh *find_mesh(const struct hlo_module *m, const char *name, size_t length)
{
    for (int i = 0; i < m->mesh_count; i++)
        if (strlen(m->mesh[i].name) == length && !memcmp(m->mesh[i].name, name, length))
            return &m->mesh[i];
    return NULL;
}

static size_t name_length(const char *at, const char *end)
{
    size_t n = 0;

    while (at + n < end && at[n] && (isalnum((unsigned char)at[n]) || strchr("_.$-", at[n])))
        n++;
    return n;
}

/* @name, @"name", or mesh<["x"=2], device_ids=[0, 1]> */
int sharding_read_mesh(struct sharding_reader *r, struct hlo_mesh *mesh)
{
    const struct hlo_mesh *found;
    const char *name;
    size_t length;

    if (sharding_accept(r, "mesh<[")) {
        if (read_mesh_axes(r, mesh))
            return -1;
        if (sharding_accept(r, ", device_ids=") || sharding_accept(r, ",device_ids="))
            if (read_device_ids(r, "[", "]", &mesh->device))
                return -1;
        return sharding_expect(r, ">");
    }
    if (sharding_expect(r, "@"))
        return -1;
    if (r->at < r->end && (*r->at == '"' || *r->at == '\\')) {
        if (read_name(r, &name, &length))
            return -1;
    } else {
        name = r->at;
        length = name_length(r->at, r->end);
        r->at += length;
    }
    found = find_mesh(r->module, name, length);
    if (!found)
        return sharding_fail(r, "the module has no such mesh");
    *mesh = *found;
    return 0;
}

int hlo_meshes_parse(struct hlo_module *m, const char *text, size_t length, struct err *e)
{
    struct sharding_reader r = {m, text, text, text + length, e};

    sharding_accept(&r, "\"");
    if (sharding_expect(&r, "{"))
        return -1;
    while (!sharding_accept(&r, "}")) {
        struct hlo_mesh mesh = {0};
        size_t name = name_length(r.at, r.end);

        mesh.name = arena_printf(m->arena, "%.*s", (int)name, r.at);
        r.at += name;
        if (sharding_expect(&r, "=") || sharding_expect(&r, "#sdy.mesh<[") || read_mesh_axes(&r, &mesh))
            return -1;
        if (sharding_accept(&r, ", device_ids=") &&
            read_device_ids(&r, "[", "]", &mesh.device))
            return -1;
        if (sharding_expect(&r, ">"))
            return -1;
        MEM_ADD(m->mesh, m->mesh_count, m->mesh_capacity) = mesh;
        sharding_accept(&r, ",");
    }
    return 0;
}

static int read_meanings(struct sharding_reader *r, struct sharding_named *n)
{
    struct sharding_axes replicated = {0};

    while (sharding_accept(r, ",")) {
        struct sharding_axes *to = sharding_accept(r, "replicated=") ? &replicated :
                                   sharding_accept(r, "unreduced=") ? &n->unreduced :
                                   sharding_accept(r, "manual=") ? &n->manual : NULL;

        if (!to)
            return sharding_fail(r, "replicated=, unreduced= or manual= is wanted");
        if (sharding_expect(r, "{") || sharding_read_axes(r, &n->mesh, "}", to, NULL))
            return -1;
    }
    return 0;
}

static int read_hlo_names(struct sharding_reader *r, struct sharding_named *n)
{
    if (sharding_expect(r, "mesh[") || read_mesh_axes(r, &n->mesh))
        return -1;
    if (sharding_accept(r, ", device_ids=") || sharding_accept(r, ",device_ids="))
        if (read_device_ids(r, "(", ")", &n->mesh.device))
            return -1;
    sharding_accept(r, ",");
    return read_dims(r, n) || read_meanings(r, n) ? -1 : 0;
}

static int read_shardy_names(struct sharding_reader *r, struct sharding_named *n)
{
    bool is_old_form = sharding_accept(r, "#sdy<sharding");

    if (!is_old_form)
        sharding_accept(r, "#sdy.sharding");
    if (sharding_expect(r, "<") || sharding_read_mesh(r, &n->mesh) || sharding_expect(r, ",") ||
        read_dims(r, n) || read_meanings(r, n) || sharding_expect(r, ">"))
        return -1;
    return is_old_form ? sharding_expect(r, ">") : 0;
}

int sharding_read_named(struct sharding_reader *r, struct hlo_sharding *s)
{
    struct sharding_named n = {0};
    bool is_shardy = r->at < r->end && (*r->at == '<' || *r->at == '#');

    if (is_shardy ? read_shardy_names(r, &n) : read_hlo_names(r, &n))
        return -1;
    return sharding_of_names(r, &n, s);
}

int hlo_sharding_parse_manual(const struct hlo_module *m, const struct hlo_mesh *mesh,
                              const char *axes, size_t length, int rank,
                              struct hlo_sharding *sharding, struct err *e)
{
    struct sharding_reader r = {m, axes, axes, axes + length, e};
    struct sharding_named n = {.mesh = *mesh, .rank = rank};
    bool is_old_form = sharding_accept(&r, "#sdy<manual_axes");

    if (rank > SHARDING_DIMS_MAX)
        return sharding_fail(&r, "too many dimensions");
    if (!is_old_form)
        sharding_accept(&r, "#sdy.manual_axes");
    if (sharding_expect(&r, "{") || sharding_read_axes(&r, mesh, "}", &n.manual, NULL))
        return -1;
    *sharding = (struct hlo_sharding){0};
    return sharding_of_names(&r, &n, sharding);
}

const struct hlo_mesh *hlo_sharding_mesh(const struct hlo_module *m, const char *text,
                                         size_t length)
{
    const char *at = length ? memchr(text, '@', length) : NULL;    /* of nothing it may be NULL */

    if (!at)
        return NULL;
    for (at++; at < text + length && (*at == '"' || *at == '\\'); )
        at++;
    return find_mesh(m, at, name_length(at, text + length));
}
