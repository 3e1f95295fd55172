/* Axes into tiles of devices, tiles into text, and the steps into a manual region. */
#include "import/program/sharding_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int64_t mesh_devices(const struct hlo_mesh *mesh)
{
    int64_t n = 1;

    for (int i = 0; i < mesh->axis_count && n <= HLO_DEVICES_MAX; i++)
        n *= mesh->size[i];
    return n;
}

static int64_t axes_size(const struct sharding_axes *axes)
{
    int64_t n = 1;

    for (int i = 0; i < axes->count && n <= HLO_DEVICES_MAX; i++)
        n *= axes->item[i].size;
    return n;
}

/* which of the parts that axes make device number `at` of the mesh has */
static int64_t axes_index(const struct hlo_mesh *mesh, const struct sharding_axes *axes, int64_t at)
{
    int64_t coordinate[SHARDING_DIMS_MAX], index = 0;

    for (int i = mesh->axis_count - 1; i >= 0; i--) {
        coordinate[i] = at % mesh->size[i];
        at /= mesh->size[i];
    }
    for (int i = 0; i < axes->count; i++) {
        const struct sharding_axis *a = &axes->item[i];
        int64_t behind = mesh->size[a->axis] / (a->before * a->size);

        index = index * a->size + coordinate[a->axis] / behind % a->size;
    }
    return index;
}

/* devices of equal index in all that is said are copies of each other, in the mesh's order */
static struct hlo_ints order_devices(struct arena *arena, const struct sharding_named *n,
                                     int64_t devices, int64_t copies)
{
    int64_t *id = arena_array(arena, (size_t)devices, sizeof(*id));
    int64_t *met = mem_alloc((size_t)(devices / copies) * sizeof(*met));

    for (int64_t at = 0; at < devices; at++) {
        int64_t key = 0;

        for (int d = 0; d < n->rank; d++)
            key = key * axes_size(&n->dim[d]) + axes_index(&n->mesh, &n->dim[d], at);
        key = key * axes_size(&n->manual) + axes_index(&n->mesh, &n->manual, at);
        key = key * axes_size(&n->unreduced) + axes_index(&n->mesh, &n->unreduced, at);
        id[key * copies + met[key]++] = n->mesh.device.count ? n->mesh.device.item[at] : at;
    }
    mem_free(met);
    return (struct hlo_ints){(int)devices, id};
}

/* each axis, or part of one, stands once */
static int check_axes(struct sharding_reader *r, const struct sharding_named *n)
{
    const struct sharding_axes *list[SHARDING_DIMS_MAX + 2];
    const struct sharding_axis *met[SHARDING_DIMS_MAX];
    int lists = 0, count = 0;

    for (int d = 0; d < n->rank; d++)
        list[lists++] = &n->dim[d];
    list[lists++] = &n->manual;
    list[lists++] = &n->unreduced;
    for (int l = 0; l < lists; l++)
        for (int i = 0; i < list[l]->count; i++) {
            const struct sharding_axis *a = &list[l]->item[i];

            for (int k = 0; k < count; k++)
                if (met[k]->axis == a->axis && met[k]->before < a->before * a->size &&
                    a->before < met[k]->before * met[k]->size)
                    return sharding_fail(r, "an axis is used twice");
            if (count == SHARDING_DIMS_MAX)
                return sharding_fail(r, "too many axes");
            met[count++] = a;
        }
    return 0;
}

static struct hlo_ints open_dims(struct arena *a, const struct sharding_named *n)
{
    int64_t open[SHARDING_DIMS_MAX];
    int count = 0;

    for (int d = 0; d < n->rank; d++)
        if (n->is_open[d])
            open[count++] = d;
    return hlo_ints_copy(a, open, count);
}

static void add_group(struct hlo_sharding *s, int64_t *tile, int64_t *kind, int64_t size,
                      enum hlo_sharding_kind of)
{
    if (size == 1)
        return;
    tile[s->tile.count++] = size;
    kind[s->subgroup.count++] = of;
}

int sharding_of_names(struct sharding_reader *r, const struct sharding_named *n,
                      struct hlo_sharding *s)
{
    struct arena *a = r->module->arena;
    int64_t tile[SHARDING_DIMS_MAX + 3], kind[3], parts = 1, copies;
    int64_t devices = mesh_devices(&n->mesh);
    int64_t manual = axes_size(&n->manual), unreduced = axes_size(&n->unreduced);

    s->open = open_dims(a, n);
    if (!n->mesh.axis_count && n->mesh.device.count == 1) {
        s->kind = HLO_MAXIMAL;
        s->device = n->mesh.device.item[0];
        return 0;
    }
    if (devices < 1 || devices > HLO_DEVICES_MAX ||
        (n->mesh.device.count && n->mesh.device.count != devices))
        return sharding_fail(r, "the mesh has another number of devices than its axes say");
    if (check_axes(r, n))
        return -1;
    for (int d = 0; d < n->rank; d++)
        parts *= tile[d] = axes_size(&n->dim[d]);
    s->kind = parts > 1 || unreduced > 1 ? HLO_TILED : manual == 1 ? HLO_REPLICATED :
              manual == devices ? HLO_MANUAL : HLO_TILED;
    if (s->kind != HLO_TILED)
        return 0;
    copies = devices / (parts * manual * unreduced);
    s->tile.count = n->rank;
    add_group(s, tile, kind, manual, HLO_MANUAL);
    add_group(s, tile, kind, unreduced, HLO_UNREDUCED);
    add_group(s, tile, kind, copies, HLO_REPLICATED);
    s->tile = hlo_ints_copy(a, tile, s->tile.count);
    s->subgroup = hlo_ints_copy(a, kind, s->subgroup.count);
    s->id = order_devices(a, n, devices, copies);
    return 0;
}

static const char *const kind_name[] = {
    [HLO_REPLICATED] = "replicated", [HLO_MANUAL] = "manual", [HLO_UNKNOWN] = "unknown",
    [HLO_UNREDUCED] = "unreduced",
};

static void print_ints(FILE *to, struct hlo_ints list)
{
    for (int i = 0; i < list.count; i++)
        fprintf(to, "%s%lld", i ? "," : "", (long long)list.item[i]);
}

static void print_tiles(FILE *to, const struct hlo_sharding *s)
{
    bool is_counting = true;

    for (int i = 0; i < s->id.count; i++)
        is_counting &= s->id.item[i] == i;
    fprintf(to, "{devices=[");
    print_ints(to, s->tile);
    fprintf(to, "]");
    if (is_counting)
        fprintf(to, "<=[%d]", s->id.count);
    else
        print_ints(to, s->id);
    if (s->subgroup.count == 1 && s->subgroup.item[0] == HLO_REPLICATED) {
        fprintf(to, " last_tile_dim_replicate");
    } else if (s->subgroup.count) {
        fprintf(to, " last_tile_dims={");
        for (int i = 0; i < s->subgroup.count; i++)
            fprintf(to, "%s%s", i ? ", " : "", kind_name[s->subgroup.item[i]]);
        fprintf(to, "}");
    }
    fprintf(to, "}");
}

const char *hlo_sharding_text(struct arena *a, const struct hlo_sharding *s)
{
    char *text, *kept;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);

    if (s->kind == HLO_TILED)
        print_tiles(to, s);
    else if (s->kind == HLO_MAXIMAL)
        fprintf(to, "{maximal device=%lld}", (long long)s->device);
    else
        fprintf(to, "{%s}", kind_name[s->kind]);
    text_memory_end(to, &text);
    kept = arena_strdup(a, text);
    free(text);
    return kept;
}

static int step(struct hlo_builder *b, int x, const char *target, const struct hlo_sharding *s,
                const struct hlo_type *type)
{
    struct hlo_instruction i = {
        .op = OPCODE_CUSTOM_CALL,
        .type = type,
        .operand_count = 1,
        .operand = &x,
        .place = b->place,
        .line = b->line,
        .col = hlo_column(b->col),
        .detail = &(struct hlo_detail){.target = target,
                                       .target_bytes = strlen(target),
                                       .sharding_count = 1,
                                       .sharding = arena_copy(b->module->arena, s, 1, sizeof(*s))}};

    return hlo_add(b->module, b->computation, &i);
}

int hlo_enter_manual(struct hlo_builder *b, int x, const struct hlo_sharding *cut,
                     const struct hlo_sharding *manual, const struct hlo_type *local)
{
    struct hlo_type whole = *hlo_type_of(b, x);

    return step(b, step(b, x, "Sharding", cut, &whole), "SPMDFullToShardShape", manual, local);
}

int hlo_leave_manual(struct hlo_builder *b, int x, const struct hlo_sharding *cut,
                     const struct hlo_sharding *manual, const struct hlo_type *whole)
{
    struct hlo_type local = *hlo_type_of(b, x);

    return step(b, step(b, x, "Sharding", manual, &local), "SPMDShardToFullShape", cut, whole);
}
