/* Checks a request for a collective, and words what is wrong with one. */
#include "stack/collective/collective_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define BIT(algo) (1U << (algo))
#define RINGS (BIT(COLLECTIVE_RING) | BIT(COLLECTIVE_BIRING) | BIT(COLLECTIVE_TORUS))

#define CHUNKED (RINGS | BIT(COLLECTIVE_TREE))

/* the algorithms that do a kind */
static const unsigned algos_of[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_ALL_REDUCE] = RINGS | BIT(COLLECTIVE_TREE) | BIT(COLLECTIVE_EXCHANGE),
    [COLLECTIVE_REDUCE_SCATTER] = RINGS,
    [COLLECTIVE_ALL_GATHER] = RINGS,
    [COLLECTIVE_ALL_TO_ALL] = BIT(COLLECTIVE_DIRECT),
    [COLLECTIVE_BROADCAST] = BIT(COLLECTIVE_TREE) | BIT(COLLECTIVE_DIRECT),
    [COLLECTIVE_PERMUTE] = BIT(COLLECTIVE_DIRECT),
    [COLLECTIVE_BARRIER] = BIT(COLLECTIVE_EXCHANGE),
};

bool plan_can(enum collective_kind kind, enum collective_algo algo)
{
    return algos_of[kind] & BIT(algo);
}

bool collective_does(enum collective_kind kind, enum collective_algo algo)
{
    return plan_can(kind, algo);
}

enum collective_algo plan_usual(const struct collective_request *r)
{
    enum collective_kind kind = r->kind;

    for (int i = r->group ? COLLECTIVE_BIRING : COLLECTIVE_TORUS; i > 0; i--)
        if (plan_can(kind, (enum collective_algo)i))
            return (enum collective_algo)i;
    return kind == COLLECTIVE_BARRIER ? COLLECTIVE_EXCHANGE : COLLECTIVE_DIRECT;
}

/* lists of cores have no axes to go along */
static bool has_way(const struct collective_request *r)
{
    return !r->group || (r->algo != COLLECTIVE_TORUS && r->algo != COLLECTIVE_TREE);
}

bool plan_suits(const struct collective_plan *p)
{
    const struct collective_request *r = &p->request;

    if (!has_way(r) || (r->is_alike && r->algo == COLLECTIVE_TREE))
        return false;
    if (r->bytes % collective_unit(r) || (r->chunk_bytes && !(CHUNKED & BIT(r->algo))))
        return false;
    return r->algo != COLLECTIVE_EXCHANGE || r->bytes <= plan_exchange_most(p);
}

bool plan_is_in_place(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_BROADCAST;
}

static int refuse_algo(const struct collective_request *r, struct err *e)
{
    char list[128] = "";
    size_t length = 0;

    for (int i = COLLECTIVE_AUTO + 1; i < COLLECTIVE_ALGO_COUNT; i++)
        if (plan_can(r->kind, (enum collective_algo)i))
            length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
                                       length ? ", " : "",
                                       collective_algo_name((enum collective_algo)i));
    return err_set(e, "%s does not do %s; take auto, %s", collective_algo_name(r->algo),
                   collective_kind_name(r->kind), list);
}

static int ranks_of(const struct collective_request *r)
{
    int count = r->over_chips ? 1 : r->slice->core_count / r->slice->chip_count;

    if (r->group)
        return r->group_size;
    for (int i = 0; i < 3; i++)
        count *= r->axis[i] ? r->slice->dim[i] : 1;
    return count;
}

/* Kinds that deal in blocks need one of whole granules for each rank. */
int64_t collective_unit(const struct collective_request *r)
{
    bool has_blocks = r->kind == COLLECTIVE_REDUCE_SCATTER || r->kind == COLLECTIVE_ALL_GATHER ||
                      r->kind == COLLECTIVE_ALL_TO_ALL ||
                      (r->kind == COLLECTIVE_ALL_REDUCE && (RINGS & BIT(r->algo)));

    return has_blocks ? (int64_t)ranks_of(r) * PLAN_GRANULE_BYTES : PLAN_GRANULE_BYTES;
}

int plan_check_slice(const struct collective_request *r, struct err *e)
{
    int has_chips = 0;

    if (r->group)
        return plan_check_groups(r, e);
    for (int i = 0; i < 3; i++) {
        if (r->axis[i] && i >= r->slice->dims)
            return err_set(e, "slice %s has no axis z; its axes are x and y", r->slice->name);
        has_chips |= r->axis[i];
    }
    if (!has_chips)
        return err_set(e, "no axis takes part; name some of %s",
                       r->slice->dims == 2 ? "xy" : "xyz");
    return 0;
}

/* the most a rank's array may have, in whole units */
static int64_t most_bytes(const struct collective_request *r)
{
    int64_t share = (int64_t)(r->chip->hbm_gib * (double)GIB) / r->chip->chip_cores;
    int64_t unit = collective_unit(r), ranks = ranks_of(r), room;

    if (plan_is_in_place(r->kind))
        room = share;
    else if (r->kind == COLLECTIVE_REDUCE_SCATTER || r->kind == COLLECTIVE_ALL_GATHER)
        room = share / (ranks + 1) * ranks - PLAN_ROW_BYTES;
    else
        room = share / 2 - PLAN_ROW_BYTES;
    return room / unit * unit;
}

int64_t plan_device_bytes(const struct collective_request *r, int64_t bytes)
{
    return bytes * (r->device_ranks ? r->device_ranks : 1);
}

static int refuse_size(const struct collective_request *r, int64_t most, struct err *e)
{
    char shared[64] = "";

    if (r->device_ranks < 2 && r->chip->chip_cores > 1)
        snprintf(shared, sizeof(shared), ", which its %lld cores share",
                 (long long)r->chip->chip_cores);
    return err_set(e, "%" PRId64 " bytes do not fit the %s of HBM of a chip%s, with all that %s "
                   "needs; at most %" PRId64, plan_device_bytes(r, r->bytes),
                   text_bytes((int64_t)(r->chip->hbm_gib * (double)GIB)).text, shared,
                   collective_kind_name(r->kind), most);
}

static int check_bytes(const struct collective_request *r, struct err *e)
{
    int64_t bytes = plan_device_bytes(r, r->bytes), most = plan_device_bytes(r, most_bytes(r));
    int64_t unit = plan_device_bytes(r, collective_unit(r));

    if (r->kind == COLLECTIVE_BARRIER)
        return r->bytes == 0 ? 0 : err_set(e, "a barrier moves no bytes; leave the bytes out");
    if (bytes <= 0)
        return err_set(e, "%" PRId64 " bytes are nothing to move; the least is %" PRId64, bytes,
                       unit);
    if (bytes > most)
        return refuse_size(r, most, e);
    if (bytes % unit == 0)
        return 0;
    if (bytes < unit)
        return err_set(e, "%" PRId64 " bytes are less than the %d bytes for each of %d ranks that "
                       "%s needs; the least is %" PRId64, bytes, PLAN_GRANULE_BYTES,
                       ranks_of(r), collective_kind_name(r->kind), unit);
    return err_set(e, "%" PRId64 " bytes are not a multiple of %" PRId64 "%s; the nearest are "
                   "%" PRId64 " and %" PRId64, bytes, unit,
                   collective_unit(r) > PLAN_GRANULE_BYTES ? ", 32 for each rank" : "",
                   bytes / unit * unit, (bytes / unit + 1) * unit);
}

static int check_root_and_shift(const struct collective_request *r, struct err *e)
{
    int ranks = ranks_of(r);

    if ((r->kind == COLLECTIVE_BROADCAST || r->algo == COLLECTIVE_TREE) &&
        (r->root < 0 || r->root >= ranks))
        return err_set(e, "no rank %d to be the root; ranks are 0 to %d", r->root, ranks - 1);
    if (r->kind == COLLECTIVE_PERMUTE && (r->shift <= -ranks || r->shift >= ranks))
        return err_set(e, "no rank is %d ranks away; %d ranks can be shifted by %d to %d", r->shift,
                       ranks, -(ranks - 1), ranks - 1);
    return 0;
}

/* Steps are cut into equal pieces that are no larger. */
static int check_chunk(const struct collective_request *r, struct err *e)
{
    int64_t rows = r->chunk_bytes / PLAN_ROW_BYTES;

    if (r->chunk_bytes == 0)
        return 0;
    if (!(CHUNKED & BIT(r->algo)))
        return err_set(e, "%s does not cut arrays into chunks; leave the chunk out",
                       collective_algo_name(r->algo));
    if (r->chunk_bytes < PLAN_ROW_BYTES)
        return err_set(e, "chunks of %" PRId64 " bytes are less than a row of VMEM; the least is "
                       "%d", r->chunk_bytes, PLAN_ROW_BYTES);
    if (r->chunk_bytes % PLAN_ROW_BYTES)
        return err_set(e, "chunks of %" PRId64 " bytes are not whole rows of %d bytes; the nearest "
                       "are %" PRId64 " and %" PRId64, r->chunk_bytes, PLAN_ROW_BYTES,
                       rows * PLAN_ROW_BYTES, (rows + 1) * PLAN_ROW_BYTES);
    return 0;
}

int plan_check(const struct collective_request *r, struct err *e)
{
    if (!plan_can(r->kind, r->algo))
        return refuse_algo(r, e);
    if (!has_way(r))
        return err_set(e, "%s goes along axes, and the groups are lists of cores; take auto, ring "
                       "or biring", collective_algo_name(r->algo));
    if (check_root_and_shift(r, e) || check_bytes(r, e))
        return -1;
    return check_chunk(r, e);
}
