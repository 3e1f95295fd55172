/*
 * The mesh behind a program's shardings. Each of them says how an index of a tile moves the device's
 * number: in runs of equal strides. Where all runs begin and end, an axis does; between, the sizes
 * are taken apart into primes.
 */
#include "import/shard/lay.h"

#include <string.h>

#define RANK_MAX 64

struct run { int64_t size, stride; };           /* of one dimension of tiles, minor first */
struct runs { int count; struct run item[SHARD_AXES_MAX]; };

/* the device's number in the mesh at one place of the tiles */
static int64_t number_at(const struct shard_mesh *mesh, const struct hlo_sharding *s, int64_t at)
{
    return mesh->number[s->id.item[at]];
}

/* runs of the dimension whose neighbours are `step` places apart; false: it has none */
static bool find_runs(const struct shard_mesh *mesh, const struct hlo_sharding *s, int64_t size,
                      int64_t step, struct runs *runs)
{
    int64_t done = 1;

    runs->count = 0;
    while (done < size) {
        int64_t stride = number_at(mesh, s, done * step), n = 1;

        while (n * done < size && number_at(mesh, s, n * done * step) == n * stride)
            n++;
        if (n < 2 || size % (done * n) || stride <= 0 || runs->count == SHARD_AXES_MAX)
            return false;
        runs->item[runs->count++] = (struct run){n, stride};
        done *= n;
    }
    return true;
}

/* whether the runs of all dimensions together say where every tile is */
static bool runs_hold(const struct shard_mesh *mesh, const struct hlo_sharding *s,
                      const struct runs *runs)
{
    for (int64_t at = 0; at < s->id.count; at++) {
        int64_t rest = at, number = 0;

        for (int d = s->tile.count - 1; d >= 0; d--) {
            int64_t index = rest % s->tile.item[d];

            rest /= s->tile.item[d];
            for (int k = 0; k < runs[d].count; k++) {
                number += index % runs[d].item[k].size * runs[d].item[k].stride;
                index /= runs[d].item[k].size;
            }
        }
        if (number != number_at(mesh, s, at))
            return false;
    }
    return true;
}

static bool sharding_runs(const struct shard_mesh *mesh, const struct hlo_sharding *s,
                          struct runs *runs)
{
    int64_t step = 1;

    if (s->id.count != mesh->devices || s->tile.count > RANK_MAX || number_at(mesh, s, 0))
        return false;
    for (int d = s->tile.count - 1; d >= 0; d--) {
        if (!find_runs(mesh, s, s->tile.item[d], step, &runs[d]))
            return false;
        step *= s->tile.item[d];
    }
    return runs_hold(mesh, s, runs);
}

/* places where axes begin: rising, each divides the next, 1 and the number of devices among them */
struct borders { int count; int64_t item[64]; };

static bool add_border(struct borders *b, int64_t value)
{
    int at = 0;

    while (at < b->count && b->item[at] < value)
        at++;
    if (at < b->count && b->item[at] == value)
        return true;
    if (b->count == 64 || (at && value % b->item[at - 1]) ||
        (at < b->count && b->item[at] % value))
        return false;
    memmove(&b->item[at + 1], &b->item[at], (size_t)(b->count - at) * sizeof(*b->item));
    b->item[at] = value;
    b->count++;
    return true;
}

static void add_borders(struct borders *b, const struct shard_mesh *mesh,
                        const struct hlo_sharding *s)
{
    struct runs runs[RANK_MAX];
    struct borders tried = *b;

    if (s->kind != HLO_TILED || !sharding_runs(mesh, s, runs))
        return;
    for (int d = 0; d < s->tile.count; d++)
        for (int k = 0; k < runs[d].count; k++)
            if (!add_border(&tried, runs[d].item[k].stride) ||
                !add_border(&tried, runs[d].item[k].stride * runs[d].item[k].size))
                return;                 /* it does not go with those before it */
    *b = tried;
}

static void split_axes(struct shard_mesh *mesh, const struct borders *b)
{
    mesh->axis_count = 0;
    for (int i = b->count - 1; i > 0; i--) {
        int64_t stride = b->item[i];

        for (int64_t left = b->item[i] / b->item[i - 1], p = 2; left > 1; p++)
            for (; left % p == 0 && mesh->axis_count < SHARD_AXES_MAX; left /= p) {
                stride /= p;
                mesh->size[mesh->axis_count] = p;
                mesh->stride[mesh->axis_count++] = stride;
            }
    }
}

static void set_order(struct shard_mesh *mesh, struct arena *a, const int64_t *device)
{
    int64_t *own = arena_array(a, (size_t)mesh->devices, sizeof(*own));
    int64_t *number = arena_array(a, (size_t)mesh->devices, sizeof(*number));

    mesh->is_counting = true;
    for (int64_t i = 0; i < mesh->devices; i++) {
        own[i] = device ? device[i] : i;
        number[own[i]] = i;
        mesh->is_counting &= own[i] == i;
    }
    mesh->device = own;
    mesh->number = number;
}

typedef void visit_sharding(void *user, const struct hlo_sharding *s);

static void for_each_sharding(const struct hlo_module *m, visit_sharding *visit, void *user)
{
    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_instruction *n = &m->computation[c].instruction[i];

            for (int k = 0; k < hlo_detail(n)->sharding_count; k++)
                visit(user, &hlo_detail(n)->sharding[k]);
        }
}

struct finding {
    struct shard_mesh *mesh;
    struct borders borders;
    const struct hlo_sharding *turned;  /* the first whose devices are in an order of their own */
};

static void find_turned(void *user, const struct hlo_sharding *s)
{
    struct finding *f = user;
    struct runs runs[RANK_MAX];

    if (!f->turned && s->kind == HLO_TILED && s->id.count == f->mesh->devices &&
        !sharding_runs(f->mesh, s, runs))
        f->turned = s;
}

static void find_borders(void *user, const struct hlo_sharding *s)
{
    struct finding *f = user;

    add_borders(&f->borders, f->mesh, s);
}

static bool is_order(struct hlo_ints device, int64_t devices)
{
    bool *met = mem_alloc((size_t)devices * sizeof(*met));
    bool is_good = device.count == devices;

    for (int i = 0; i < device.count && is_good; i++) {
        is_good = device.item[i] >= 0 && device.item[i] < devices && !met[device.item[i]];
        if (is_good)
            met[device.item[i]] = true;
    }
    mem_free(met);
    return is_good;
}

void shard_mesh_find(struct shard_mesh *mesh, const struct hlo_module *m, int64_t devices)
{
    struct finding f = {.mesh = mesh, .borders = {1, {1}}};
    const int64_t *order = NULL;

    *mesh = (struct shard_mesh){.devices = devices};
    for (int i = 0; i < m->mesh_count && !order; i++)
        if (is_order(m->mesh[i].device, devices))
            order = m->mesh[i].device.item;
    set_order(mesh, m->arena, order);
    if (!order)
        for_each_sharding(m, find_turned, &f);
    if (f.turned)
        set_order(mesh, m->arena, f.turned->id.item);
    add_border(&f.borders, devices);
    for_each_sharding(m, find_borders, &f);
    split_axes(mesh, &f.borders);
}

/* the mesh's axes that a run goes over; false: it begins or ends inside one */
static bool add_run(const struct shard_mesh *mesh, struct run run, struct shard_axes *axes)
{
    int64_t size = 1;

    for (int i = mesh->axis_count - 1; i >= 0; i--) {
        if (mesh->stride[i] < run.stride || size == run.size)
            continue;
        if (mesh->stride[i] != run.stride * size)
            return false;
        size *= mesh->size[i];
        axes->axis[axes->count++] = (short)i;
    }
    return size == run.size;
}

bool shard_lay_read(const struct shard_mesh *mesh, const struct hlo_sharding *s, int rank,
                    struct shard_lay *lay, uint32_t *manual)
{
    struct runs runs[RANK_MAX];

    *lay = (struct shard_lay){0};
    *manual = s->kind == HLO_MANUAL ? (1u << mesh->axis_count) - 1 : 0;
    if (s->kind != HLO_TILED)
        return s->kind == HLO_REPLICATED || s->kind == HLO_MANUAL || s->kind == HLO_MAXIMAL;
    if (s->tile.count - s->subgroup.count != rank || !sharding_runs(mesh, s, runs))
        return false;
    for (int d = 0; d < s->tile.count; d++) {
        struct shard_axes axes = {0};

        for (int k = 0; k < runs[d].count; k++)         /* minor first */
            if (!add_run(mesh, runs[d].item[k], &axes))
                return false;
        if (d >= rank && s->subgroup.item[d - rank] == HLO_MANUAL)
            *manual |= shard_axes_mask(&axes);
        for (int k = axes.count - 1; d < rank && k >= 0; k--)
            shard_lay_add(lay, d, axes.axis[k]);
    }
    return true;
}

struct hlo_sharding shard_lay_write(const struct shard_mesh *mesh, const struct shard_lay *lay,
                                    int rank, struct arena *a)
{
    struct hlo_sharding s = {.kind = HLO_REPLICATED};
    int64_t tile[RANK_MAX + 1], kind = HLO_REPLICATED, *id, *met, parts = 1;

    if (!lay->count)
        return s;
    for (int d = 0; d < rank; d++)
        parts *= tile[d] = shard_lay_parts(mesh, lay, d);
    tile[rank] = mesh->devices / parts;
    s.kind = HLO_TILED;
    s.tile = hlo_ints_copy(a, tile, rank + (tile[rank] > 1));
    s.subgroup = hlo_ints_copy(a, &kind, tile[rank] > 1);
    id = arena_array(a, (size_t)mesh->devices, sizeof(*id));
    met = mem_alloc((size_t)parts * sizeof(*met));
    for (int64_t n = 0; n < mesh->devices; n++) {
        int64_t key = 0;

        for (int i = 0; i < lay->count; i++)
            key = key * mesh->size[lay->cut[i].axis] +
                  shard_coordinate(mesh, lay->cut[i].axis, n);
        id[key * tile[rank] + met[key]++] = mesh->device[n];
    }
    mem_free(met);
    s.id = (struct hlo_ints){(int)mesh->devices, id};
    return s;
}
