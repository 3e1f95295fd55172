/*
 * Groups of devices: lists, "{{0,1},{2,3}}"; a counted up array that is turned and cut,
 * "[2,4]<=[4,2]T(1,0)"; axes of a mesh along which devices are together, "mesh['x'=2,'y'=4] {'y'}".
 */
#include "import/hlo_text/reader.h"

#include "import/program/sharding.h"

#include <inttypes.h>

#define DIMS_MAX 32

/* a product that stays within what devices there can be */
static int multiply(struct hlo_reader *r, int64_t *product, int64_t by)
{
    *product = by > 0 && *product <= HLO_DEVICES_MAX / by ? *product * by : 0;
    return *product ? 0 : hlo_scan_error(&r->scan, r->scan.at, "there can be 1 to %d devices",
                                         HLO_DEVICES_MAX);
}

static int read_lists(struct hlo_reader *r, struct hlo_groups *g)
{
    struct hlo_scan *s = &r->scan;
    int64_t *size = NULL;
    size_t capacity = 0;
    int count = 0, ids = 0, status = hlo_scan_want(s, '{');

    while (status == 0 && !hlo_scan_take(s, '}')) {
        int before = ids;

        status = (count > 0 && hlo_scan_want(s, ',')) || hlo_scan_want(s, '{') ? -1 : 0;
        while (status == 0 && !hlo_scan_take(s, '}')) {
            int64_t id = 0;

            status = (ids > before && hlo_scan_want(s, ',')) || hlo_scan_int(s, 0, INT32_MAX, &id);
            *hlo_read_add_int(r, &ids) = id;
        }
        MEM_ADD(size, count, capacity) = ids - before;
    }
    if (status == 0) {
        g->size = hlo_read_keep_ints(r, size, count);
        g->id = hlo_read_keep_ints(r, r->ints, ids);
    }
    mem_free(size);
    return status ? -1 : 0;
}

/* "[4,2]T(1,0)": 0, 1, .. in these dimensions, which are then permuted */
static int read_iota(struct hlo_reader *r, int64_t devices, struct hlo_ints *id)
{
    struct hlo_ints dim, turn = {0, NULL};
    int64_t stride[DIMS_MAX], at[DIMS_MAX] = {0}, product = 1, *item;
    bool is_met[DIMS_MAX] = {false};

    if (hlo_read_ints(r, '[', ']', &dim)
        || (hlo_scan_take(&r->scan, 'T') && hlo_read_ints(r, '(', ')', &turn)))
        return -1;
    if (dim.count > DIMS_MAX || (turn.count && turn.count != dim.count))
        return hlo_scan_error(&r->scan, r->scan.at, "this permutes %d dimensions as if they were "
                              "%d", dim.count, turn.count);
    for (int d = dim.count - 1; d >= 0; d--) {
        stride[d] = product;
        if (multiply(r, &product, dim.item[d]))
            return -1;
    }
    for (int d = 0; d < turn.count; d++) {
        if (turn.item[d] < 0 || turn.item[d] >= dim.count || is_met[turn.item[d]])
            return hlo_scan_error(&r->scan, r->scan.at, "this is no permutation of dimensions");
        is_met[turn.item[d]] = true;
    }
    if (product != devices)
        return hlo_scan_error(&r->scan, r->scan.at, "%" PRId64 " devices are counted for groups of "
                              "%" PRId64 " in all", product, devices);
    item = hlo_pool_alloc(&r->pool, (size_t)devices * sizeof(*item));
    for (int64_t n = 0; n < devices; n++) {
        for (int d = 0; d < dim.count; d++)
            item[n] += at[d] * stride[turn.count ? turn.item[d] : d];
        for (int d = dim.count - 1; d >= 0; d--) {
            if (++at[d] < dim.item[turn.count ? turn.item[d] : d])
                break;
            at[d] = 0;
        }
    }
    *id = (struct hlo_ints){(int)devices, item};
    return 0;
}

static int read_cut(struct hlo_reader *r, struct hlo_groups *g)
{
    struct hlo_ints dims;
    int64_t devices = 1, *size;

    if (hlo_read_ints(r, '[', ']', &dims))
        return -1;
    if (dims.count != 2)
        return hlo_scan_error(&r->scan, r->scan.at, "expected [groups,devices of each]");
    if (multiply(r, &devices, dims.item[0]) || multiply(r, &devices, dims.item[1]))
        return -1;
    if (!hlo_scan_take_text(&r->scan, "<="))
        return hlo_scan_unexpected(&r->scan, "\"<=\"");
    size = hlo_pool_alloc(&r->pool, (size_t)dims.item[0] * sizeof(*size));
    for (int64_t n = 0; n < dims.item[0]; n++)
        size[n] = dims.item[1];
    g->size = (struct hlo_ints){(int)dims.item[0], size};
    return read_iota(r, devices, &g->id);
}

struct axes {
    int count;
    struct hlo_span name[DIMS_MAX];
    int64_t size[DIMS_MAX], stride[DIMS_MAX];   /* stride: in the mesh's order of devices */
    struct hlo_ints device;                     /* none: 0, 1, .. */
    int64_t devices;
};

static int read_device_ids(struct hlo_reader *r, struct axes *mesh)
{
    struct hlo_scan *s = &r->scan;

    if (!hlo_scan_take(s, ','))
        return 0;
    if (!hlo_scan_take_word(s, "device_ids"))
        return hlo_scan_unexpected(s, "device_ids");
    if (hlo_scan_want(s, '='))
        return -1;
    if (hlo_scan_take_text(s, "([")) {  /* ([2,4]<=[..]T(..)): its own dimensions do not matter */
        s->at--;
        if (hlo_read_ints(r, '[', ']', &mesh->device))
            return -1;
        if (!hlo_scan_take_text(s, "<="))
            return hlo_scan_unexpected(s, "\"<=\"");
        return read_iota(r, mesh->devices, &mesh->device) || hlo_scan_want(s, ')') ? -1 : 0;
    }
    if (hlo_read_ints(r, '(', ')', &mesh->device))
        return -1;
    return mesh->device.count == mesh->devices
               ? 0
               : hlo_scan_error(s, s->at, "%d devices are listed for a mesh of %" PRId64,
                                mesh->device.count, mesh->devices);
}

static int read_mesh(struct hlo_reader *r, struct axes *mesh)
{
    struct hlo_scan *s = &r->scan;
    int64_t stride = 1;

    *mesh = (struct axes){.devices = 1};
    if (hlo_scan_want(s, '['))
        return -1;
    while (!hlo_scan_take(s, ']')) {
        int i = mesh->count++;

        if (i == DIMS_MAX)
            return hlo_scan_error(s, s->at, "more than %d axes", DIMS_MAX);
        if ((i > 0 && hlo_scan_want(s, ',')) || hlo_scan_string(s, &mesh->name[i])
            || hlo_scan_want(s, '=') || hlo_scan_int(s, 1, HLO_DEVICES_MAX, &mesh->size[i])
            || multiply(r, &mesh->devices, mesh->size[i]))
            return -1;
    }
    for (int i = mesh->count - 1; i >= 0; i--) {
        mesh->stride[i] = stride;
        stride *= mesh->size[i];
    }
    return read_device_ids(r, mesh);
}

static bool same_name(struct hlo_span a, struct hlo_span b)
{
    bool is_same = a.length == b.length;

    for (size_t k = 1; is_same && k + 1 < a.length; k++)       /* between quotes of either kind */
        is_same = a.at[k] == b.at[k];
    return is_same;
}

/* "'x'", or "'x':(2)4": the part of size 4 behind the first 2 */
static int read_axis(struct hlo_reader *r, const struct axes *mesh, int64_t *size, int64_t *stride)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span name;
    int64_t before = 1;
    int i = 0;

    if (hlo_scan_string(s, &name))
        return -1;
    while (i < mesh->count && !same_name(mesh->name[i], name))
        i++;
    if (i == mesh->count)
        return hlo_scan_error(s, name.at, "the mesh has no axis %.*s",
                              name.length < 40 ? (int)name.length : 40, name.at);
    *size = mesh->size[i];
    if (hlo_scan_take(s, ':')
        && (hlo_scan_want(s, '(') || hlo_scan_int(s, 1, mesh->size[i], &before)
            || hlo_scan_want(s, ')') || hlo_scan_int(s, 1, mesh->size[i], size)))
        return -1;
    if (mesh->size[i] % (before * *size))
        return hlo_scan_error(s, name.at, "an axis of %" PRId64 " has no such part",
                              mesh->size[i]);
    *stride = mesh->stride[i] * (mesh->size[i] / (before * *size));
    return 0;
}

/* Devices that differ in these axes only are a group, in the axes' order; first devices count up. */
static void group_along(struct hlo_reader *r, const struct axes *mesh, int count,
                        const int64_t *axis_size, const int64_t *stride, int64_t together,
                        struct hlo_groups *g)
{
    int64_t *id = hlo_pool_alloc(&r->pool, (size_t)mesh->devices * sizeof(*id));
    int64_t *size = hlo_pool_alloc(&r->pool, (size_t)(mesh->devices / together) * sizeof(*size));
    int64_t groups = 0;

    for (int64_t first = 0; first < mesh->devices; first++) {
        bool is_first = true;

        for (int i = 0; i < count; i++)
            is_first &= first / stride[i] % axis_size[i] == 0;
        if (!is_first)
            continue;
        for (int64_t n = 0; n < together; n++) {
            int64_t at = first, rest = n;

            for (int i = count - 1; i >= 0; rest /= axis_size[i--])
                at += rest % axis_size[i] * stride[i];
            id[groups * together + n] = mesh->device.count ? mesh->device.item[at] : at;
        }
        size[groups++] = together;
    }
    g->size = (struct hlo_ints){(int)groups, size};
    g->id = (struct hlo_ints){(int)(groups * together), id};
}

static int read_along(struct hlo_reader *r, struct hlo_groups *g)
{
    struct hlo_scan *s = &r->scan;
    struct axes mesh;
    int64_t size[DIMS_MAX], stride[DIMS_MAX], together = 1;
    int count = 0;

    if (read_mesh(r, &mesh) || hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        if (count == DIMS_MAX)
            return hlo_scan_error(s, s->at, "more than %d axes", DIMS_MAX);
        if ((count > 0 && hlo_scan_want(s, ','))
            || read_axis(r, &mesh, &size[count], &stride[count])
            || multiply(r, &together, size[count]))
            return -1;
        for (int i = 0; i < count; i++) {
            if (stride[i] < stride[count] * size[count] && stride[count] < stride[i] * size[i])
                return hlo_scan_error(s, s->at, "an axis is named twice");
        }
        count++;
    }
    group_along(r, &mesh, count, size, stride, together, g);
    return 0;
}

int hlo_read_kind_groups(struct hlo_reader *r, struct hlo_reading *reading, void *field)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_groups *g = field;
    const char *start;
    int status;

    (void)reading;
    hlo_scan_blank(s);
    start = s->at;
    if (hlo_scan_see(s, '{'))
        return read_lists(r, g);
    if (hlo_scan_take_word(s, "mesh"))
        status = read_along(r, g);
    else
        status = read_cut(r, g);
    if (status == 0)
        g->text = hlo_read_keep(r, (struct hlo_span){start, (size_t)(s->at - start)});
    return status;
}

int hlo_read_kind_links(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_scan *s = &r->scan;
    int count = 0;

    (void)g;
    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        int64_t from, to;

        if ((count > 0 && hlo_scan_want(s, ',')) || hlo_scan_want(s, '{')
            || hlo_scan_int(s, 0, INT32_MAX, &from) || hlo_scan_want(s, ',')
            || hlo_scan_int(s, 0, INT32_MAX, &to) || hlo_scan_want(s, '}'))
            return -1;
        *hlo_read_add_int(r, &count) = from;
        *hlo_read_add_int(r, &count) = to;
    }
    *(struct hlo_ints *)field = hlo_read_keep_ints(r, r->ints, count);
    return 0;
}
