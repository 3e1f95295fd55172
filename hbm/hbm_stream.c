#include "hbm/hbm_stream.h"

#include "base/arena.h"
#include "hbm/hbm_impl.h"

#include <string.h>

/* Hits in one row, one right behind the other. */
struct stretch {
    struct hbm_channel *ch;
    struct hbm_bank *bank;
    struct hbm_epoch epoch;
    struct hbm_taken *last;             /* reservation of the bus, which they prolong */
    ps_t front_to_data_ps;
    int64_t depth;                      /* of the bank's queue, as far as it remembers */
    ps_t older_at[BANK_RECENT];         /* what was issued before lets read k into that queue */
};

/* Only reads of an open row behind reads; what else there may be is hbm_access's. */
static bool begin(struct hbm *h, struct stretch *t, struct hbm_place p, ps_t at)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[p.channel];
    struct hbm_bank *b = &h->banks[p.channel * c->bank_count + p.bank];
    ps_t earliest;

    if (ch->write_count > 0 || ch->drained_at > at ||
        ch->taken_count == 0 || b->open_row != p.row + 1)
        return false;
    t->ch = ch;
    t->bank = b;
    t->epoch = hbm_epoch_of(h, p.bank, b->epoch);
    t->last = &ch->taken[ch->taken_count - 1];
    t->front_to_data_ps = c->front_ps + c->tcl_ps;
    t->depth = c->bank_queue < BANK_RECENT ? c->bank_queue : BANK_RECENT;
    earliest = later(at + c->front_ps, b->column_at) + c->tcl_ps;
    return !t->last->is_write && earliest > t->last->start - c->burst_ps &&
           b->column_at + c->tcl_ps <= t->last->end;
}

/* read k finds k bursts of this stretch in the bank's queue and, below them, older ones */
static void find_older(const struct hbm_config *c, struct stretch *t)
{
    const struct hbm_bank *b = t->bank;
    int64_t bursts = 1, k = t->depth - 1;

    for (int64_t i = 0; i < BANK_RECENT && k >= 0; i++) {
        const struct hbm_issued *issued = &b->issued[(b->recent + BANK_RECENT - i) % BANK_RECENT];

        bursts += issued->bursts;
        while (k >= 0 && (k + bursts > c->bank_queue || k + i == BANK_RECENT - 1))
            t->older_at[k--] = issued->at;
    }
}

/* when the bank's queue has room for read k, whose data begin at `data_at` */
static inline ps_t bank_room_at(const struct hbm_config *c, const struct stretch *t, int64_t k,
                                ps_t data_at)
{
    return k < t->depth ? t->older_at[k] : data_at - t->depth * c->burst_ps - c->tcl_ps;
}

/* room at the end of the channel's queue for so many more */
static void make_room(struct hbm_queue *q, ps_t now, int64_t count)
{
    while (q->first < q->count && q->held[q->first].leave_at <= now)
        q->bursts -= q->held[q->first++].bursts;
    if (q->first > 0 && q->count + (size_t)count > q->capacity) {
        q->count -= q->first;
        memmove(q->held, q->held + q->first, q->count * sizeof(*q->held));
        q->first = 0;
    }
    q->held = mem_grow(q->held, &q->capacity, q->count + (size_t)count, sizeof(*q->held));
}

/* The driver's clock and the queue, on their way through a stretch. */
struct course {
    ps_t at;
    int taken;
    size_t held_count;
    int64_t bursts;                     /* in the queue, of which some may have left */
    ps_t tail_at;                       /* the last one leaves it */
};

/* the first edge from `edge` on at which the channel's queue has room */
static ps_t room_in_queue(const struct hbm_config *c, struct hbm_queue *q, struct course *k,
                          ps_t edge, ps_t cycle_ps)
{
    ps_t room_at;

    q->count = k->held_count;
    q->bursts = k->bursts;
    room_at = hbm_queue_room_at(q, c->read_queue, edge);
    k->held_count = q->count;
    k->bursts = q->bursts;
    return room_at > edge ? round_up(room_at, cycle_ps) : edge;
}

/* Lets in up to `count` reads, as far as they follow each other without a gap; how many. */
static int64_t let_in(struct hbm *h, const struct stretch *t, struct hbm_stream *s, int64_t count)
{
    const struct hbm_config *c = &h->config;
    struct hbm_queue *q = &t->ch->queue[0];
    const ps_t refreshed_at = t->epoch.start - c->front_ps;
    const ps_t first_data_at = t->last->end, burst_ps = c->burst_ps, cycle_ps = s->cycle_ps;
    const int64_t limit = c->read_queue;
    const int per_cycle = s->per_cycle;
    struct course now = {.at = s->at, .taken = s->taken, .held_count = q->count,
                         .bursts = q->bursts, .tail_at = INT64_MIN};
    int64_t i, held_up = 0;

    if (q->count > q->first)
        now.tail_at = q->held[q->count - 1].leave_at;
    for (i = 0; i < count; i++) {
        ps_t data_at = first_data_at + i * burst_ps, gone_at;
        ps_t edge = now.taken < per_cycle ? now.at : now.at + cycle_ps;

        if (now.bursts >= limit)
            edge = room_in_queue(c, q, &now, edge, cycle_ps);
        gone_at = later(edge, bank_room_at(c, t, i, data_at));
        if (gone_at + t->front_to_data_ps > data_at || (gone_at > edge && gone_at < now.tail_at))
            break;
        now.taken = edge > now.at ? 1 : now.taken + 1;
        now.at = edge;
        s->latency_ps[i] = data_at + burst_ps - edge;
        s->gone_at = gone_at;
        held_up += gone_at < refreshed_at;
        if (gone_at > edge) {
            now.tail_at = gone_at;
            q->held[now.held_count++] = (struct hbm_held){gone_at, 1};
            now.bursts++;
        }
    }
    s->at = now.at;
    s->taken = now.taken;
    q->count = now.held_count;
    q->bursts = now.bursts;
    h->stats.refresh_waits += held_up;
    return i;
}

/* what they leave: of the bank the last ones issued, of the bus a longer reservation */
static void leave(struct hbm *h, struct stretch *t, const struct hbm_stream *s, int64_t count,
                  struct hbm_place p)
{
    const struct hbm_config *c = &h->config;
    struct hbm_bank *b = t->bank;
    ps_t end_at = t->last->end + count * c->burst_ps;
    int64_t first = count > BANK_RECENT ? count - BANK_RECENT : 0;

    b->recent = (b->recent + first) % BANK_RECENT;
    for (int64_t k = first; k < count; k++) {
        b->recent = (b->recent + 1) % BANK_RECENT;
        b->issued[b->recent] = (struct hbm_issued){t->last->end + k * c->burst_ps - c->tcl_ps, 1};
    }
    b->precharge_at = later(b->precharge_at, end_at - c->burst_ps + h->derived.closing_ps[0]);
    if (s->gone_at >= t->ch->reads_gone_at) {
        t->ch->reads_gone_at = s->gone_at;
        t->ch->read_bank = p.bank;
        t->ch->read_row = p.row;
    }
    t->last->end = end_at;
    if (t->last->group != hbm_group_of(c, p.bank))
        t->last->group = -1;
    h->last_at = s->at;
    h->stats.read_bytes += count * c->burst_bytes;
    h->stats.run_count += count;
    h->stats.row_hits += count;
    h->stats.busy_ps += count * c->burst_ps;
}

/* so many bursts have data early enough before the next refresh */
static int64_t count_before_refresh(const struct hbm *h, const struct stretch *t, int64_t most)
{
    const struct hbm_config *c = &h->config;
    const ps_t due_at = t->epoch.due;
    ps_t closed_at = t->last->end + h->derived.closing_ps[0];

    if (closed_at + (most - 1) * c->burst_ps <= due_at)
        return most;
    return closed_at > due_at ? 0 : (due_at - closed_at) / c->burst_ps + 1;
}

bool hbm_stream_takes(const struct hbm *h, int64_t access_bytes)
{
    const struct hbm_config *c = &h->config;

    return access_bytes == c->burst_bytes && c->tccd_l_ps <= c->burst_ps && !h->watch;
}

int64_t hbm_stream_reads(struct hbm *h, struct hbm_stream *s, int64_t address, int64_t count)
{
    const struct hbm_config *c = &h->config;
    int64_t offset = address & (h->piece_bytes - 1);
    int64_t left = (h->piece_bytes - offset) >> h->burst_shift;
    struct hbm_place p;
    struct stretch t;

    if (offset == 0)
        return 0;                       /* a piece begins with a row that is not open */
    p = hbm_map_place(&c->map, c->bank_groups, address >> h->burst_shift);
    if (!begin(h, &t, p, s->at))
        return 0;
    count = count < left ? count : left;
    count = count_before_refresh(h, &t, count < HBM_STREAM_MAX ? count : HBM_STREAM_MAX);
    if (count == 0)
        return 0;
    find_older(c, &t);
    make_room(&t.ch->queue[0], s->at, count);
    count = let_in(h, &t, s, count);
    if (count == 0)
        return 0;
    leave(h, &t, s, count, p);
    s->end_at = t.last->end;
    return count;
}
