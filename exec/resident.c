/* Takes arrays out of simulated memories as pages, and puts them into others. */
#include "exec/resident.h"

#include "base/arena.h"
#include "hbm/hbm.h"

#include <string.h>

#define PAGE_BYTES INT64_C(65536)

_Static_assert(PAGE_BYTES == HBM_STORE_PAGE_BYTES, "the pages that are shared");

struct resident {
    struct array array;                 /* without its name */
    int64_t head_bytes, whole_bytes;    /* up to its first whole page; all of these */
    struct hbm_hold *whole;
    unsigned char *edges;               /* what stands before them, and behind */
};

bool resident_pays(const struct array *a)
{
    return a->space == SPACE_HBM && a->element_bytes == 4 && a->bytes >= 4 * PAGE_BYTES;
}

static int64_t tail_bytes(const struct resident *r)
{
    return r->array.bytes - r->head_bytes - r->whole_bytes;
}

struct resident *resident_take(struct machine *m, int core, const struct array *a, struct err *e)
{
    struct resident *r = mem_alloc(sizeof(*r));
    int64_t whole;

    r->array = *a;
    r->array.name = "";
    r->head_bytes = -a->address & (PAGE_BYTES - 1);
    r->whole_bytes = (a->bytes - r->head_bytes) / PAGE_BYTES * PAGE_BYTES;
    r->edges = mem_alloc_unset((size_t)(r->head_bytes + tail_bytes(r)) + 1);
    whole = a->address + r->head_bytes;
    if (machine_hbm_read(m, core, a->address, r->edges, r->head_bytes, e) ||
        machine_hbm_read(m, core, whole + r->whole_bytes, r->edges + r->head_bytes, tail_bytes(r),
                         e)) {
        resident_free(r);
        return NULL;
    }
    r->whole = machine_hbm_hold(m, core, whole, r->whole_bytes);
    return r;
}

void resident_free(struct resident *r)
{
    if (!r)
        return;
    hbm_hold_free(r->whole);
    mem_free(r->edges);
    mem_free(r);
}

bool resident_is_like(const struct resident *r, const struct array *a)
{
    bool is_like = a->space == SPACE_HBM && a->bytes == r->array.bytes &&
                   a->shape.dtype == r->array.shape.dtype && a->shape.rank == r->array.shape.rank &&
                   a->is_linear == r->array.is_linear && a->tile_rows == r->array.tile_rows;

    for (int d = 0; is_like && d < a->shape.rank; d++)
        is_like = a->shape.dim[d] == r->array.shape.dim[d] && a->order[d] == r->array.order[d];
    return is_like;
}

static void read_tiles(const struct resident *r, unsigned char *to)
{
    memcpy(to, r->edges, (size_t)r->head_bytes);
    hbm_hold_read(r->whole, 0, to + r->head_bytes, (size_t)r->whole_bytes);
    memcpy(to + r->head_bytes + r->whole_bytes, r->edges + r->head_bytes, (size_t)tail_bytes(r));
}

static int write_tiles(const struct resident *r, struct machine *m, int core, int64_t address,
                       struct err *e)
{
    unsigned char *tiles = mem_alloc_unset((size_t)r->array.bytes);
    int status;

    read_tiles(r, tiles);
    status = machine_hbm_write(m, core, address, tiles, r->array.bytes, e);
    mem_free(tiles);
    return status;
}

int resident_put(const struct resident *r, struct machine *m, int core, int64_t address,
                 struct err *e)
{
    int64_t whole = address + r->head_bytes;

    if (whole % PAGE_BYTES != 0)        /* pages begin elsewhere in it */
        return write_tiles(r, m, core, address, e);
    return machine_hbm_write(m, core, address, r->edges, r->head_bytes, e) ||
           machine_hbm_put(m, core, whole, r->whole, r->whole_bytes, e) ||
           machine_hbm_write(m, core, whole + r->whole_bytes, r->edges + r->head_bytes,
                             tail_bytes(r), e) ? -1 : 0;
}

void resident_unpack(const struct resident *r, void *dense)
{
    unsigned char *tiles = mem_alloc_unset((size_t)r->array.bytes);

    read_tiles(r, tiles);
    array_unpack(&r->array, tiles, dense);
    mem_free(tiles);
}
