/*
 * Lets a row's worth of reads in at once, with the same times as if each had been asked for by
 * itself.
 */
#include "hbm/hbm_stream.h"

#include "hbm/hbm_append.h"

/* Hits in one row, one right behind the other. */
struct span {
    struct hbm_channel *ch;
    struct hbm_bank *bank;
    size_t bank_index;
    struct hbm_epoch epoch;
    struct hbm_taken *last;             /* reservation of the bus, which they prolong */
    ps_t front_to_data_ps;
    int64_t depth;                      /* of the bank's queue, as far as it remembers */
    int64_t older_count;                /* the first so many wait for what was issued before: */
    ps_t older_at[BANK_RECENT];         /* lets read k into that queue */
    ps_t latest_older_at;               /* the latest of them */
};

/* Only reads of an open row behind reads; what else there may be is hbm_access's. */
static bool begin(struct hbm *h, struct span *t, const struct hbm_cursor *p,
                  ps_t at)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[p->channel];
    const size_t bank = hbm_bank_index(h, p->channel, p->bank);
    struct hbm_bank *b = &h->banks[bank];
    ps_t earliest;

    if (ch->write_count > 0 || ch->drained_at > at ||
        ch->taken_count == 0 || b->open_row != p->row + 1)
        return false;
    t->ch = ch;
    t->bank = b;
    t->bank_index = bank;
    t->epoch = hbm_epoch_of(h, p->bank, b->epoch);
    t->last = &ch->taken[ch->taken_count - 1];
    t->front_to_data_ps = c->front_ps + c->tcl_ps;
    t->depth = c->bank_queue < BANK_RECENT ? c->bank_queue : BANK_RECENT;
    earliest = later(at + c->front_ps, b->column_at) + c->tcl_ps;
    return !t->last->is_write && earliest > t->last->start - c->burst_ps &&
           b->column_at + c->tcl_ps <= t->last->end;
}

/* read k finds k bursts of this span in the bank's queue and, below them, older ones */
static void find_older(const struct hbm *h, struct span *t)
{
    const struct hbm_bank *b = t->bank;
    const struct hbm_bank_past *past = &h->past[t->bank_index];
    int64_t bursts = 1, k = t->depth - 1;

    for (int i = 0; i < BANK_RECENT && k >= 0; i++) {
        ps_t at = 0;

        if (i == 0) {
            bursts += b->issued_bursts;
            at = b->issued_at;
        } else if (i <= b->older_count) {
            bursts += past->issued_bursts[hbm_older(past, i - 1)];
            at = past->issued_at[hbm_older(past, i - 1)];
        }
        while (k >= 0 && (k + bursts > h->config.bank_queue || k + i == BANK_RECENT - 1))
            t->older_at[k--] = at;
    }
}

/* when the bank's queue has room for read k, whose data begin at `data_at` */
static inline ps_t bank_room_at(const struct hbm_config *c, const struct span *t, int64_t k,
                                ps_t data_at)
{
    return k < t->older_count ? t->older_at[k] : data_at - t->depth * c->burst_ps - c->tcl_ps;
}

/* What was issued for the burst in front of the span comes to the same as for its own ones. */
static void count_older(const struct hbm_config *c, struct span *t)
{
    t->older_count = t->depth;
    t->latest_older_at = INT64_MIN;
    while (t->older_count > 0 &&
           t->older_at[t->older_count - 1] ==
               bank_room_at(c, t, t->depth, t->last->end + (t->older_count - 1) * c->burst_ps))
        t->older_count--;
    for (int64_t k = 0; k < t->older_count; k++)
        t->latest_older_at = later(t->latest_older_at, t->older_at[k]);
}

/* The first edge from `edge` on at which the channel's queue has room */
static ps_t room_in_queue(const struct hbm_config *c, struct hbm_queue *q, ps_t edge,
                          ps_t cycle_ps)
{
    ps_t room_at = hbm_queue_room_at(q, c->read_queue, edge);

    while (room_at > edge && room_at <= edge + 4 * cycle_ps)    /* divisions are dear */
        edge += cycle_ps;
    return room_at > edge ? round_up(room_at, cycle_ps) : edge;
}

/* The reads of a span that go in together, or one with each that leaves a full queue. */
struct group {
    int64_t count;
    ps_t edge;                          /* they go in: the first one */
    ps_t edge_step_ps;                  /* the others at the same edge, 0, or so much later each */
    ps_t gone_at;                       /* the first one leaves the queue; those that have to wait
                                           a burst one after the other */
};

/*
 * So many of the reads that go in from `edge` on, into a queue that is full with each, while one
 * leaves it with each burst.
 */
static int64_t count_paced(const struct hbm_config *c, const struct hbm_queue *q,
                           const struct hbm_stream *s, ps_t edge, int64_t count)
{
    const struct hbm_held *next;
    int64_t held;

    if (!s->has_edge_at_bursts || q->first == q->count)
        return 1;
    next = &q->held[q->first];
    if (next->bursts > 1 || (next->times > 1 && next->step_ps != c->burst_ps) ||
        next->leave_at <= edge + c->burst_ps - s->cycle_ps ||
        next->leave_at > edge + c->burst_ps)
        return 1;
    held = 1 + next->times;
    return held < count ? held : count;
}

/* The next ones from read i on, at most `count`. False: those are not of a span. */
static bool next_group(const struct hbm_config *c, const struct span *t,
                       const struct hbm_stream *s, int64_t i, int64_t count, struct group *g)
{
    struct hbm_queue *q = &t->ch->queue[0];
    const ps_t data_at = t->last->end + i * c->burst_ps;
    const bool is_full = q->bursts >= c->read_queue;
    int64_t most, room;

    *g = (struct group){.count = 1, .edge = s->at};
    if (s->taken == s->per_cycle)
        g->edge += s->cycle_ps;
    if (is_full)
        g->edge = room_in_queue(c, q, g->edge, s->cycle_ps);
    g->gone_at = later(g->edge, bank_room_at(c, t, i, data_at));
    if (g->gone_at + t->front_to_data_ps > data_at ||
        (g->gone_at > g->edge && g->gone_at < hbm_queue_end(q)))
        return false;
    if (is_full)
        hbm_queue_forget(q, g->edge);
    most = s->per_cycle - (g->edge > s->at ? 0 : s->taken);
    most = most < count ? most : count;
    if (i < t->older_count) {
        if (t->latest_older_at <= g->edge)
            g->count = most < t->older_count - i ? most : t->older_count - i;
    } else if (g->gone_at > g->edge) {
        room = c->read_queue - q->bursts;
        g->count = most < room ? most : room;
        if (room == 1) {
            g->count = count_paced(c, q, s, g->edge, count);
            g->edge_step_ps = c->burst_ps;
        }
    }
    return true;
}

static void add_served(struct hbm_stream *s, ps_t latency_ps, ps_t step_ps, int64_t count)
{
    s->served[s->served_count++] = (struct hbm_served){latency_ps, step_ps, count};
}

/* Lets in up to `count` reads, as far as they follow each other without a gap; how many. */
static int64_t let_in(struct hbm *h, const struct span *t, struct hbm_stream *s, int64_t count)
{
    const struct hbm_config *c = &h->config;
    const ps_t refreshed_at = t->epoch.start - c->front_ps;
    int64_t i = 0;
    struct group g;

    s->served_count = 0;
    while (i < count && next_group(c, t, s, i, count - i, &g)) {
        bool waits = g.gone_at > g.edge;
        ps_t gone_step_ps = waits ? c->burst_ps : 0;
        ps_t last_edge = g.edge + (g.count - 1) * g.edge_step_ps;

        add_served(s, t->last->end + (i + 1) * c->burst_ps - g.edge, c->burst_ps - g.edge_step_ps,
                   g.count);
        s->taken = last_edge > g.edge ? 1 : (int)g.count + (g.edge > s->at ? 0 : s->taken);
        s->at = last_edge;
        s->gone_at = g.gone_at + (g.count - 1) * gone_step_ps;
        for (int64_t k = 0; k < g.count && g.gone_at + k * gone_step_ps < refreshed_at; k++)
            h->stats.refresh_waits++;
        if (waits)
            hbm_queue_append(&t->ch->queue[0], g.gone_at, c->burst_ps, g.count);
        i += g.count;
    }
    return i;
}

/* `count` single bursts, the first one's column command at `first_at` */
static void issue(struct hbm *h, const struct span *t, ps_t first_at, int64_t count)
{
    const ps_t burst_ps = h->config.burst_ps;
    struct hbm_bank_past *past = &h->past[t->bank_index];

    if (count < BANK_RECENT) {
        for (int64_t k = 0; k < count; k++)
            hbm_issue(h, t->bank_index, first_at + k * burst_ps, 1);
        return;
    }
    first_at += (count - BANK_RECENT) * burst_ps;       /* all before are forgotten */
    for (int k = 0; k < BANK_RECENT - 1; k++) {
        past->issued_at[k] = first_at + k * burst_ps;
        past->issued_bursts[k] = 1;
    }
    past->next = 0;
    t->bank->older_count = BANK_RECENT - 1;
    t->bank->issued_at = first_at + (BANK_RECENT - 1) * burst_ps;
    t->bank->issued_bursts = 1;
}

/* what they leave: of the bank the last ones issued, of the bus a longer reservation */
static void leave(struct hbm *h, struct span *t, const struct hbm_stream *s, int64_t count,
                  const struct hbm_cursor *p)
{
    const struct hbm_config *c = &h->config;
    struct hbm_bank *b = t->bank;
    ps_t end_at = t->last->end + count * c->burst_ps;

    issue(h, t, t->last->end - c->tcl_ps, count);
    b->precharge_at = later(b->precharge_at, end_at - c->burst_ps + h->derived.closing_ps[0]);
    if (s->gone_at >= t->ch->reads_gone_at) {
        t->ch->reads_gone_at = s->gone_at;
        t->ch->read_bank = p->bank;
        t->ch->read_row = p->row;
    }
    t->last->end = end_at;
    if (t->last->group != p->group)
        t->last->group = -1;
    h->last_at = s->at;
    h->stats.read_bytes += count * c->burst_bytes;
    h->stats.run_count += count;
    h->stats.row_hits += count;
    h->stats.busy_ps += count * c->burst_ps;
}

/* so many bursts have data early enough before the next refresh */
static int64_t count_before_refresh(const struct hbm *h, const struct span *t, int64_t most)
{
    const struct hbm_config *c = &h->config;
    const ps_t due_at = t->epoch.due;
    ps_t closed_at = t->last->end + h->derived.closing_ps[0];

    if (closed_at + (most - 1) * c->burst_ps <= due_at)
        return most;
    return closed_at > due_at ? 0 : (due_at - closed_at) / c->burst_ps + 1;
}

bool hbm_stream_init(struct hbm_stream *s, const struct hbm *h, int64_t access_bytes,
                     ps_t cycle_ps, int per_cycle)
{
    const struct hbm_config *c = &h->config;

    s->cycle_ps = cycle_ps;
    s->per_cycle = per_cycle;
    s->has_edge_at_bursts = c->burst_ps % cycle_ps == 0;
    return access_bytes == c->burst_bytes && c->tccd_l_ps <= c->burst_ps && !h->watch;
}

int64_t hbm_stream_reads(struct hbm *h, struct hbm_stream *s, int64_t address, int64_t count)
{
    int64_t offset = address & (h->piece_bytes - 1);
    int64_t left = (h->piece_bytes - offset) >> h->burst_shift;
    const struct hbm_cursor *p;
    struct span t;

    if (offset == 0)
        return 0;                       /* a piece begins with a row that is not open */
    p = hbm_seek(h, address);
    if (!begin(h, &t, p, s->at))
        return 0;
    count = count < left ? count : left;
    count = count_before_refresh(h, &t, count < HBM_STREAM_MAX ? count : HBM_STREAM_MAX);
    if (count == 0)
        return 0;
    find_older(h, &t);
    count_older(&h->config, &t);
    count = let_in(h, &t, s, count);
    if (count == 0)
        return 0;
    leave(h, &t, s, count, p);
    s->end_at = t.last->end;
    return count;
}
