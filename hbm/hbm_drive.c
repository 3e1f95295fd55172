/*
 * Pushes a pattern's accesses into a memory at the edges of a clock, as many in flight as are
 * allowed, and measures them.
 */
#include "hbm/hbm_drive.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "hbm/hbm_stream.h"

struct injector {
    struct hbm *h;
    const struct hbm_injection *how;
    ps_t at;                            /* an edge of the clock */
    int taken;                          /* of its per_cycle */
    ps_t *done_at;                      /* of the latest in_flight accesses */
    int slot;
    struct hbm_stream stream;
};

/* the first edge at which this access goes in */
static ps_t admit(struct injector *j, int64_t address, bool is_write)
{
    ps_t cycle_ps = j->how->cycle_ps, at = j->at, free_at;

    if (j->taken == j->how->per_cycle)
        at += cycle_ps;
    free_at = j->done_at ? later(at, j->done_at[j->slot]) : at;
    free_at = hbm_room_at(j->h, free_at, address, is_write);
    if (free_at > at)                   /* most are not held up, and divisions are dear */
        at = round_up(free_at, cycle_ps);
    j->taken = at > j->at ? 1 : j->taken + 1;
    j->at = at;
    return at;
}

static void finish(struct injector *j, ps_t done_at)
{
    if (!j->done_at)
        return;
    j->done_at[j->slot] = done_at;
    j->slot = j->slot + 1 == j->how->in_flight ? 0 : j->slot + 1;
}

/* the next accesses of a sequence of reads, as far as the memory serves them in one go */
static int64_t drive_stream(struct injector *j, struct hbm_walk *w, int64_t most,
                            struct hbm_driven *d)
{
    const struct hbm_pattern *p = w->pattern;
    struct hbm_stream *s = &j->stream;
    int64_t count;
    bool is_write;

    s->at = j->at;
    s->taken = j->taken;
    if (most > HBM_STREAM_MAX)
        most = HBM_STREAM_MAX;
    if (p->footprint_bytes - w->address < most * p->access_bytes)
        most = (p->footprint_bytes - w->address) / p->access_bytes;
    count = hbm_stream_reads(j->h, s, w->address, most);
    if (count == 0)
        return 0;
    hbm_walk_run(w, count, &count, &is_write);
    j->at = s->at;
    j->taken = s->taken;
    for (int i = 0; i < s->served_count; i++)
        histogram_add_steps(&d->read, s->served[i].latency_ps, s->served[i].step_ps,
                            s->served[i].count);
    d->end_ps = later(d->end_ps, s->end_at);
    return count;
}

static void drive_one(struct injector *j, struct hbm_walk *w, struct hbm_driven *d)
{
    bool is_write;
    int64_t address = hbm_walk_next(w, &is_write);
    ps_t at = admit(j, address, is_write);
    ps_t done_at = hbm_access(j->h, at, address, w->pattern->access_bytes, is_write);

    finish(j, done_at);
    histogram_add(is_write ? &d->write : &d->read, done_at - at, 1);
    d->end_ps = later(d->end_ps, done_at);
}

void hbm_drive(struct hbm *h, const struct hbm_pattern *p, const struct hbm_injection *injection,
               int64_t access_count, struct hbm_driven *d)
{
    struct injector j = {.h = h, .how = injection};
    bool may_stream = !injection->in_flight && p->kind == HBM_SEQUENTIAL && !p->is_write &&
                      hbm_stream_init(&j.stream, h, p->access_bytes, injection->cycle_ps,
                                      injection->per_cycle);
    struct hbm_walk w;

    assert(injection->cycle_ps > 0 && injection->per_cycle > 0 && injection->in_flight >= 0);
    memset(d, 0, sizeof(*d));
    hbm_reset(h);
    hbm_walk_init(&w, p);
    if (injection->in_flight)
        j.done_at = mem_alloc((size_t)injection->in_flight * sizeof(*j.done_at));
    while (w.index < access_count)
        if (!may_stream || drive_stream(&j, &w, access_count - w.index, d) == 0)
            drive_one(&j, &w, d);
    d->end_ps = later(d->end_ps, hbm_settle(h));        /* writes are in memory, too */
    d->access_count = access_count;
    d->stats = *hbm_get_stats(h);
    d->read_bytes = d->stats.read_bytes;
    d->write_bytes = d->stats.write_bytes;
    mem_free(j.done_at);
}

/* what the reads of one probe found, all of them */
static bool is_all(const struct hbm_stats *before, const struct hbm_stats *after,
                   enum hbm_row kind)
{
    const int64_t found[] = {
        [HBM_ROW_HIT] = after->row_hits - before->row_hits,
        [HBM_ROW_CLOSED] = after->row_closed - before->row_closed,
        [HBM_ROW_CONFLICT] = after->row_conflicts - before->row_conflicts};

    return found[kind] == after->run_count - before->run_count;
}

/* longer than anything that one access leaves behind */
static ps_t idle_gap(const struct hbm_config *c)
{
    return 4 * (c->front_ps + c->trcd_ps + c->trp_ps + c->tras_ps + c->tcl_ps + c->tcwl_ps +
                c->tfaw_ps + c->twr_ps + c->trtp_ps) + 1000 * c->burst_ps;
}

/* Without refreshes: one row after the other until a bank is met again. */
static void probe_rows(const struct hbm_config *config, int64_t access_bytes,
                       struct hbm_idle *idle)
{
    enum { PROBES = 1 << 17 };
    struct hbm_config c = *config;
    int64_t step = round_up(access_bytes, c.row_bytes), address = 0;
    ps_t at = 0, gap = idle_gap(config) + access_bytes * c.burst_ps;
    struct hbm *h;

    c.trefi_ps = 0;
    h = hbm_create(&c);
    idle->closed_ps = hbm_access(h, at, address, access_bytes, false) - at;
    at += gap;
    idle->hit_ps = hbm_access(h, at, address, access_bytes, false) - at;
    idle->conflict_ps = -1;
    for (int i = 0; i < PROBES && idle->conflict_ps < 0; i++) {
        struct hbm_stats before = *hbm_get_stats(h);
        ps_t end_at;

        address += step;
        at += gap;
        if (address > c.size_bytes - access_bytes)
            break;
        end_at = hbm_access(h, at, address, access_bytes, false);
        if (is_all(&before, hbm_get_stats(h), HBM_ROW_CONFLICT))
            idle->conflict_ps = end_at - at;
    }
    hbm_destroy(h);
}

void hbm_drive_idle(const struct hbm_config *config, int64_t access_bytes, struct hbm_idle *idle)
{
    enum { READS = 20000 };
    const struct hbm_injection one = {.cycle_ps = 1, .per_cycle = 1, .in_flight = 1};
    int64_t most = config->size_bytes < GIB ? config->size_bytes : GIB;
    const struct hbm_pattern random = {.kind = HBM_RANDOM, .access_bytes = access_bytes,
                                       .footprint_bytes = most - most % access_bytes};
    struct hbm_driven *d;
    struct hbm *h;

    probe_rows(config, access_bytes, idle);
    if (random.footprint_bytes == 0) {
        idle->random_ps = -1;
        return;
    }
    d = mem_alloc(sizeof(*d));
    h = hbm_create(config);
    hbm_drive(h, &random, &one, READS, d);
    idle->random_ps = histogram_mean(&d->read);
    hbm_destroy(h);
    mem_free(d);
}
