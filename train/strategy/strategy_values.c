/* Writes first values of variables, and reads, writes and compares values. */
#include "train/strategy/strategy_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* of what a replica holds */
static size_t local_elems(const struct strategy *s, int variable)
{
    return (size_t)shape_elems(&s->place[variable]->local);
}

static size_t all_elems(const struct strategy *s, int variable)
{
    return (size_t)shape_elems(&strategy_variable(s, variable)->shape);
}

static bool has_values(const struct strategy *s)
{
    return !s->options.machine || machine_mode(s->options.machine) != MODE_TIMING;
}

/* ----- what one device holds */

static int write_packed(struct strategy *s, int device, const struct array *a, const void *tiles,
                        struct err *e)
{
    return machine_hbm_write(s->options.machine, s->core[device], a->address, tiles, a->bytes, e);
}

static int write_device(struct strategy *s, int device, int variable, const void *from,
                        struct err *e)
{
    const struct array *a = &s->place[variable]->array;
    void *tiles;
    int status;

    if (!s->options.machine) {
        memcpy(s->place[variable]->value[device], from, strategy_device_bytes(s, variable));
        return 0;
    }
    tiles = mem_alloc((size_t)a->bytes);
    array_pack(a, from, tiles);
    status = write_packed(s, device, a, tiles, e);
    mem_free(tiles);
    return status;
}

/* now, or with `k` as it was then */
static int read_packed(struct strategy *s, const struct strategy_snapshot *k, int device,
                       int variable, void *tiles, struct err *e)
{
    const struct array *a = &s->place[variable]->array;

    if (!k)
        return machine_hbm_read(s->options.machine, s->core[device], a->address, tiles, a->bytes,
                                e);
    hbm_hold_read(k->hold[strategy_snapshot_at(k, device, variable)], 0, tiles, (size_t)a->bytes);
    return 0;
}

static int read_device(struct strategy *s, const struct strategy_snapshot *k, int device,
                       int variable, void *to, struct err *e)
{
    const struct array *a = &s->place[variable]->array;
    void *tiles;
    int status;

    if (!s->options.machine) {
        memcpy(to, k ? k->value[strategy_snapshot_at(k, device, variable)]
                     : s->place[variable]->value[device], strategy_device_bytes(s, variable));
        return 0;
    }
    tiles = mem_alloc((size_t)a->bytes);
    status = read_packed(s, k, device, variable, tiles, e);
    if (status == 0)
        array_unpack(a, tiles, to);
    mem_free(tiles);
    return status;
}

/* ----- what one replica holds: on its devices, each all of it or a part */

static struct program_end end_of(const struct strategy *s, int variable)
{
    return (struct program_end){s->place[variable]->local,
                                strategy_variable(s, variable)->sharding};
}

static int check_replica(const struct strategy *s, int replica, struct err *e)
{
    if (replica < 0 || replica >= s->replica_count)
        return err_set(e, "replica %d does not exist, allowed are 0..%d", replica,
                       s->replica_count - 1);
    return 0;
}

int strategy_read_local(struct strategy *s, int replica, int variable, void *to, struct err *e)
{
    return strategy_snapshot_read(s, NULL, replica, variable, to, e);
}

int strategy_snapshot_read(struct strategy *s, const struct strategy_snapshot *k, int replica,
                           int variable, void *to, struct err *e)
{
    struct program_end end;
    void *part;
    int status = 0, first;

    if (strategy_place_variables(s, e) || check_replica(s, replica, e))
        return -1;
    end = end_of(s, variable);
    first = strategy_teller(s, replica, variable);
    if (sharding_is_whole(&end.sharding))
        return read_device(s, k, first, variable, to, e);
    part = mem_alloc((size_t)s->place[variable]->array.bytes);
    for (int d = first; d < first + strategy_stage_devices(s) && status == 0; d++) {
        status = read_device(s, k, d, variable, part, e);
        if (status == 0)
            sharding_put(&s->mesh, &end.shape, &end.sharding, d, part, to);
    }
    mem_free(part);
    return status;
}

/* a device's part of its replica's value */
static int write_of_replica(struct strategy *s, int device, int variable, const void *from,
                            struct err *e)
{
    struct program_end end = end_of(s, variable);
    const void *part = strategy_take(s, &end, device, from);
    int status = write_device(s, device, variable, part, e);

    strategy_free_taken(part, from);
    return status;
}

static int write_local(struct strategy *s, int replica, int variable, const void *from,
                       struct err *e)
{
    for (int d = replica * s->logical_count; d < (replica + 1) * s->logical_count; d++)
        if (strategy_holds(s, d, variable) && write_of_replica(s, d, variable, from, e))
            return -1;
    return 0;
}

int strategy_write_local(struct strategy *s, int replica, int variable, const void *from,
                         struct err *e)
{
    if (strategy_place_variables(s, e) || check_replica(s, replica, e))
        return -1;
    return has_values(s) ? write_local(s, replica, variable, from, e) : 0;
}

/* ----- parts of a sharded variable: [outer, dim, inner] with dim cut into replicas */

struct cut { size_t outer, run_bytes; };    /* per part */

static struct cut cut_of(const struct strategy *s, int variable)
{
    const struct variable *v = strategy_variable(s, variable);
    struct cut c = {.outer = 1, .run_bytes = 4};

    for (int d = 0; d < v->shape.rank; d++)
        if (d < v->shard_dim)
            c.outer *= (size_t)v->shape.dim[d];
        else
            c.run_bytes *= (size_t)s->place[variable]->local.dim[d];
    return c;
}

/* one replica's part out of the whole, or into it */
static void copy_part(const struct strategy *s, int variable, int replica, char *whole, char *part,
                      bool is_out)
{
    struct cut c = cut_of(s, variable);

    for (size_t i = 0; i < c.outer; i++) {
        char *at = whole + (i * (size_t)s->replica_count + (size_t)replica) * c.run_bytes;

        memcpy(is_out ? part + i * c.run_bytes : at, is_out ? at : part + i * c.run_bytes,
               c.run_bytes);
    }
}

/* ----- writing all of it */

struct writing {
    struct strategy *strategy;
    int variable;
    const void *from;                   /* all of it */
    const void *tiles;                  /* of what every device gets alike, or NULL */
};

static int write_part(void *context, int device, struct err *e)
{
    const struct writing *w = context;
    struct strategy *s = w->strategy;
    const struct variable *v = strategy_variable(s, w->variable);
    int replica = strategy_replica_of(s, device), status;
    void *part;

    if (!strategy_holds(s, device, w->variable))
        return 0;
    if (w->tiles)
        return write_packed(s, device, &s->place[w->variable]->array, w->tiles, e);
    part = mem_alloc(local_elems(s, w->variable) * 4);
    if (v->shard_dim >= 0)
        copy_part(s, w->variable, replica, (char *)w->from, part, true);
    else if (v->sync == SYNC_ON_WRITE || v->aggregation != AGGREGATION_SUM || replica == 0)
        memcpy(part, w->from, local_elems(s, w->variable) * 4);
    status = write_of_replica(s, device, w->variable, part, e);
    mem_free(part);
    return status;
}

static bool is_alike(const struct variable *v)
{
    return v->shard_dim < 0 && sharding_is_whole(&v->sharding) &&
           (v->sync == SYNC_ON_WRITE || v->aggregation != AGGREGATION_SUM);
}

static int write_machine(struct strategy *s, int variable, const void *from, struct err *e)
{
    const struct array *a = &s->place[variable]->array;
    struct writing w = {.strategy = s, .variable = variable, .from = from};
    void *tiles = NULL;
    int status;

    if (is_alike(strategy_variable(s, variable))) {
        w.tiles = tiles = mem_alloc((size_t)a->bytes);
        array_pack(a, from, tiles);
    }
    status = strategy_each_device(s, write_part, &w, e);
    mem_free(tiles);
    return status;
}

static int write_all(struct strategy *s, int variable, const void *from, struct err *e)
{
    struct writing w = {.strategy = s, .variable = variable, .from = from};

    if (!has_values(s))
        return 0;
    if (s->options.machine)
        return write_machine(s, variable, from, e);
    for (int d = 0; d < s->device_count; d++)
        if (write_part(&w, d, e))
            return -1;
    return 0;
}

int strategy_write(struct strategy *s, int variable, const void *from, struct err *e)
{
    return strategy_place_variables(s, e) ? -1 : write_all(s, variable, from, e);
}

/* ----- first values */

static int write_first(struct strategy *s, int variable, struct err *e)
{
    const struct variable *v = strategy_variable(s, variable);
    void *dense;
    int status;

    if (!has_values(s))
        return 0;
    dense = mem_alloc(all_elems(s, variable) * 4);
    initializer_fill(&v->initializer, &v->shape, s->options.seed, (uint64_t)variable, dense);
    status = write_all(s, variable, dense, e);
    mem_free(dense);
    return status;
}

static int check_shard(const struct strategy *s, const struct variable *v, struct err *e)
{
    char shape[96];

    if (v->shard_dim < 0 || v->shape.dim[v->shard_dim] % s->replica_count == 0)
        return 0;
    return err_set(e, "variable %s %s cannot be sharded over %d replicas: dimension %d is %" PRId64,
                   v->name, shape_print(&v->shape, shape, sizeof(shape)), s->replica_count,
                   v->shard_dim, v->shape.dim[v->shard_dim]);
}

/* what replicas and devices hold */
static int choose_shapes(struct strategy *s, int variable, struct err *e)
{
    const struct variable *v = strategy_variable(s, variable);
    struct strategy_place *place = s->place[variable];
    struct shape part;

    place->local = variable_local_shape(v, s->replica_count);
    if (sharding_check(&s->mesh, &place->local, &v->sharding, v->name, e))
        return -1;
    part = variable_memory_shape(v, s->replica_count);
    part = sharding_local(&s->mesh, &part, &v->sharding);
    array_init(&place->array, v->name, &part, NULL);
    return 0;
}

int strategy_place_variables(struct strategy *s, struct err *e)
{
    while (s->placed_count < s->set->count) {
        int v = s->placed_count;

        if (check_shard(s, strategy_variable(s, v), e))
            return -1;
        s->place = mem_grow(s->place, &s->place_capacity, (size_t)v + 1, sizeof(*s->place));
        s->place[v] = arena_alloc(&s->arena, sizeof(*s->place[v]));
        if (choose_shapes(s, v, e))
            return -1;
        if (!s->options.machine)
            strategy_host_place(s, v);
        else if (strategy_device_place(s, v, e))
            return -1;
        s->placed_count++;
        if (write_first(s, v, e))
            return -1;
    }
    return 0;
}

int strategy_reset(struct strategy *s, int variable, struct err *e)
{
    return strategy_place_variables(s, e) ? -1 : write_first(s, variable, e);
}

/* ----- reading all of it */

/* to += or the like; in the order of replicas */
static void add_replica(const struct strategy *s, int variable, const void *from, void *to)
{
    size_t count = local_elems(s, variable);

    if (strategy_variable(s, variable)->shape.dtype == DTYPE_F32)
        for (size_t i = 0; i < count; i++)
            ((float *)to)[i] += ((const float *)from)[i];
    else
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)to)[i] += ((const uint32_t *)from)[i];
}

static void divide(const struct strategy *s, int variable, int by, void *to)
{
    size_t count = local_elems(s, variable);

    if (strategy_variable(s, variable)->shape.dtype == DTYPE_F32)
        for (size_t i = 0; i < count; i++)
            ((float *)to)[i] /= (float)by;
    else
        for (size_t i = 0; i < count; i++)
            ((int32_t *)to)[i] /= by;
}

static bool reads_all_replicas(const struct variable *v)
{
    return v->shard_dim >= 0 ||
           (v->sync == SYNC_ON_READ &&
            (v->aggregation == AGGREGATION_SUM || v->aggregation == AGGREGATION_MEAN));
}

int strategy_read(struct strategy *s, int variable, void *to, struct err *e)
{
    const struct variable *v = strategy_variable(s, variable);
    void *part;
    int status = 0;

    if (strategy_place_variables(s, e))
        return -1;
    if (!reads_all_replicas(v))
        return strategy_read_local(s, 0, variable, to, e);
    part = mem_alloc(local_elems(s, variable) * 4);
    memset(to, 0, all_elems(s, variable) * 4);
    for (int r = 0; r < s->replica_count && status == 0; r++) {
        status = strategy_read_local(s, r, variable, part, e);
        if (status == 0 && v->shard_dim >= 0)
            copy_part(s, variable, r, to, part, false);
        else if (status == 0)
            add_replica(s, variable, part, to);
    }
    if (v->shard_dim < 0 && v->aggregation == AGGREGATION_MEAN)
        divide(s, variable, s->replica_count, to);
    mem_free(part);
    return status;
}

/* what the aggregation makes of the values of `count` replicas */
static void aggregate(const struct strategy *s, int variable, const char *from, int count,
                      void *to)
{
    const struct variable *v = strategy_variable(s, variable);
    size_t bytes = local_elems(s, variable) * 4;

    memcpy(to, from, bytes);
    if (!reads_all_replicas(v))
        return;
    for (int r = 1; r < count; r++)
        add_replica(s, variable, from + (size_t)r * bytes, to);
    if (v->aggregation == AGGREGATION_MEAN)
        divide(s, variable, count, to);
}

int strategy_write_replicas(struct strategy *s, int variable, const void *from, int count,
                            struct err *e)
{
    size_t bytes = local_elems(s, variable) * 4;
    void *all;
    int status = 0;

    assert(strategy_variable(s, variable)->sync == SYNC_ON_READ && count > 0);
    if (count == s->replica_count) {
        for (int r = 0; r < count && !status; r++)
            status = strategy_write_local(s, r, variable, (const char *)from + (size_t)r * bytes,
                                          e);
        return status;
    }
    all = mem_alloc(bytes);
    aggregate(s, variable, from, count, all);
    status = strategy_write(s, variable, all, e);
    mem_free(all);
    return status;
}

/* ----- are replicas the same? */

static int name_difference(const struct strategy *s, const struct variable *v, int device,
                           int from, const uint32_t *first, const uint32_t *other, struct err *e)
{
    const char *what = s->logical_count > 1 ? "device" : "replica";
    int64_t i = 0;
    float a, b;

    while (first[i] == other[i])
        i++;
    memcpy(&a, &first[i], sizeof(a));
    memcpy(&b, &other[i], sizeof(b));
    if (v->shape.dtype != DTYPE_F32)
        return err_set(e, "%ss differ: element %" PRId64 " of %s is %" PRIu32 " on %s %d and %"
                       PRIu32 " on %s %d", what, i, v->name, first[i], what, from,
                       other[i], what, device);
    return err_set(e, "%ss differ: element %" PRId64 " of %s is 0x%08" PRIx32 " (%.9g) on %s %d "
                   "and 0x%08" PRIx32 " (%.9g) on %s %d", what, i, v->name, first[i], (double)a,
                   what, from, other[i], (double)b, what, device);
}

/* devices of a stage that hold the same are `step` apart from `from` on */
static int check_devices(struct strategy *s, int variable, int from, int step, struct err *e)
{
    size_t bytes = strategy_device_bytes(s, variable);
    uint32_t *first = mem_alloc(bytes), *other = mem_alloc(bytes);
    int status = read_device(s, NULL, from, variable, first, e);

    for (int d = from + step; d < s->device_count && status == 0; d += step) {
        if (strategy_stage_of(s, d) != strategy_stage_of(s, from))
            continue;
        status = read_device(s, NULL, d, variable, other, e);
        if (status == 0 && memcmp(first, other, bytes) != 0)
            status = name_difference(s, strategy_variable(s, variable), d, from, first, other,
                                     e);
    }
    mem_free(first);
    mem_free(other);
    return status;
}

static int check_variable(struct strategy *s, int variable, struct err *e)
{
    const struct variable *v = strategy_variable(s, variable);
    int first = strategy_teller(s, 0, variable), each = strategy_stage_devices(s);

    if (sharding_is_whole(&v->sharding))
        return check_devices(s, variable, first, 1, e);
    for (int i = 0; i < each; i++)
        if (check_devices(s, variable, first + i, each, e))
            return -1;
    return 0;
}

int strategy_check_replicas(struct strategy *s, struct err *e)
{
    for (int v = 0; v < s->placed_count; v++)
        if (strategy_variable(s, v)->sync == SYNC_ON_WRITE &&
            strategy_variable(s, v)->shard_dim < 0 && check_variable(s, v, e))
            return -1;
    return 0;
}
