#include "tests/reference/plain_dram.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BANKS_MAX = 64, QUEUE_MAX = 128, HITS_MAX = 4 };

struct request {
    int64_t burst, added_at;
    int bank;
    int64_t row;
    bool is_write;
};

struct line {                           /* of requests */
    struct request item[QUEUE_MAX];
    int count, limit;
};

struct plain_bank {
    int64_t open_row, hits;             /* open_row -1: closed; hits since the activate */
    int64_t read_at, write_at, activate_at, precharge_at;       /* not before */
    int64_t refreshes_due;              /* of banks that are refreshed one by one */
    struct line queue;
};

struct plain_channel {
    struct plain_bank bank[BANKS_MAX];
    struct line reads, writes;
    int64_t activated_at[4];            /* the last four, the oldest first */
    int draining, turn;
    bool refresh_is_due;
};

struct timing {
    int64_t burst, ccd_l, rcd, rp, ras, cl, cwl, rrd, rrd_l, faw, wtr, wtr_l, rtw, wr, rtp;
    int64_t refi, rfc;
};

struct plain_dram {
    struct hbm_config config;
    struct timing t;
    struct plain_channel *channel;
    int64_t now, done_at;               /* done_at: of the latest read */
    int64_t waiting;                    /* reads that have not been issued */
    struct plain_result result;
};

static int64_t cycles_of(ps_t ps, ps_t clock_ps)
{
    return (ps + clock_ps - 1) / clock_ps;
}

struct plain_dram *plain_dram_create(const struct hbm_config *c, ps_t clock_ps)
{
    struct plain_dram *d = calloc(1, sizeof(*d));

    assert(d && c->bank_count <= BANKS_MAX && c->read_queue <= QUEUE_MAX &&
           c->write_queue <= QUEUE_MAX && c->bank_queue <= QUEUE_MAX);
    d->config = *c;
    d->t = (struct timing){
        cycles_of(c->burst_ps, clock_ps), cycles_of(later(c->burst_ps, c->tccd_l_ps), clock_ps),
        cycles_of(c->trcd_ps, clock_ps), cycles_of(c->trp_ps, clock_ps),
        cycles_of(c->tras_ps, clock_ps), cycles_of(c->tcl_ps, clock_ps),
        cycles_of(c->tcwl_ps, clock_ps), cycles_of(c->trrd_ps, clock_ps),
        cycles_of(c->trrd_l_ps, clock_ps), cycles_of(c->tfaw_ps, clock_ps),
        cycles_of(c->twtr_ps, clock_ps), cycles_of(c->twtr_l_ps, clock_ps),
        cycles_of(c->trtw_ps, clock_ps), cycles_of(c->twr_ps, clock_ps),
        cycles_of(c->trtp_ps, clock_ps), cycles_of(c->trefi_ps, clock_ps),
        cycles_of(hbm_refresh_ps(c), clock_ps)};
    d->channel = calloc((size_t)c->channel_count, sizeof(*d->channel));
    assert(d->channel);
    for (int i = 0; i < c->channel_count; i++) {
        struct plain_channel *ch = &d->channel[i];

        ch->reads.limit = c->read_queue;
        ch->writes.limit = c->write_queue;
        for (int k = 0; k < 4; k++)
            ch->activated_at[k] = -d->t.faw;
        for (int b = 0; b < c->bank_count; b++) {
            ch->bank[b].open_row = -1;
            ch->bank[b].queue.limit = c->bank_queue;
        }
    }
    return d;
}

void plain_dram_destroy(struct plain_dram *d)
{
    free(d->channel);
    free(d);
}

static void append(struct line *l, const struct request *q)
{
    assert(l->count < l->limit);
    l->item[l->count++] = *q;
}

static void take_out(struct line *l, int index)
{
    memmove(&l->item[index], &l->item[index + 1],
            (size_t)(--l->count - index) * sizeof(*l->item));
}

static int find_burst(const struct line *l, int64_t burst, bool is_write)
{
    for (int i = 0; i < l->count; i++)
        if (l->item[i].burst == burst && l->item[i].is_write == is_write)
            return i;
    return -1;
}

bool plain_dram_offer(struct plain_dram *d, int64_t address, bool is_write)
{
    struct hbm_place p = hbm_map_place(&d->config.map, d->config.bank_groups,
                                       address / d->config.burst_bytes);
    struct plain_channel *ch = &d->channel[p.channel];
    struct request q = {.burst = address / d->config.burst_bytes, .added_at = d->now,
                        .bank = p.bank, .row = p.row, .is_write = is_write};
    struct line *l = is_write ? &ch->writes : &ch->reads;
    bool is_buffered = find_burst(&ch->writes, q.burst, true) >= 0 ||
                       find_burst(&ch->bank[p.bank].queue, q.burst, true) >= 0;

    if (l->count == l->limit)
        return false;
    d->result.reads += !is_write;
    d->result.writes += is_write;
    if (is_buffered && !is_write) {     /* the read gets what waits to be written */
        d->result.latency_cycles++;
        d->done_at = later(d->done_at, d->now + 1);
    } else if (!is_buffered) {          /* a second write joins the first */
        append(l, &q);
        d->waiting += !is_write;
    }
    return true;
}

static void push_back(int64_t *limit, int64_t at)
{
    *limit = later(*limit, at);
}

static void activate(struct plain_dram *d, struct plain_channel *ch, int b, int64_t row)
{
    const struct timing *t = &d->t;
    const int groups = d->config.bank_groups;
    struct plain_bank *bank = &ch->bank[b];

    bank->open_row = row;
    bank->hits = 0;
    push_back(&bank->read_at, d->now + t->rcd);
    push_back(&bank->write_at, d->now + t->rcd);
    push_back(&bank->precharge_at, d->now + t->ras);
    for (int i = 0; i < d->config.bank_count; i++)
        push_back(&ch->bank[i].activate_at,
                  d->now + (i % groups == b % groups ? t->rrd_l : t->rrd));
    memmove(ch->activated_at, ch->activated_at + 1, 3 * sizeof(*ch->activated_at));
    ch->activated_at[3] = d->now;
}

static void precharge(struct plain_dram *d, struct plain_bank *bank)
{
    bank->open_row = -1;
    push_back(&bank->activate_at, d->now + d->t.rp);
}

static void move_data(struct plain_dram *d, struct plain_channel *ch, const struct request *q)
{
    const struct timing *t = &d->t;
    const int groups = d->config.bank_groups;
    struct plain_bank *bank = &ch->bank[q->bank];
    int64_t latency = t->cl + t->burst + d->now - q->added_at;

    d->result.row_hits += bank->hits++ > 0;
    for (int i = 0; i < d->config.bank_count; i++) {
        bool is_near = i % groups == q->bank % groups;
        int64_t same = is_near ? t->ccd_l : t->burst;

        push_back(&ch->bank[i].read_at,
                  d->now + (q->is_write ? t->cwl + t->burst + (is_near ? t->wtr_l : t->wtr)
                                        : same));
        push_back(&ch->bank[i].write_at,
                  d->now + (q->is_write ? same : t->cl + t->burst + t->rtw - t->cwl));
    }
    push_back(&bank->precharge_at,
              d->now + (q->is_write ? t->cwl + t->burst + t->wr : t->rtp));
    if (!q->is_write) {
        d->waiting--;
        d->result.latency_cycles += latency;
        d->result.latency_max = later(d->result.latency_max, latency);
        d->done_at = later(d->done_at, d->now + t->cl + t->burst);
    }
}

/* The row is closed for the first of the queue only, once nobody hits it or enough have. */
static bool may_close(const struct plain_bank *bank, int index)
{
    if (index > 0)
        return false;
    if (bank->hits >= HITS_MAX)
        return true;
    for (int i = 0; i < bank->queue.count; i++)
        if (bank->queue.item[i].row == bank->open_row)
            return false;
    return true;
}

enum kind { NOTHING, ROW_COMMAND, COLUMN_COMMAND };

/* The first request of a bank that can get on, and how; what `not_this` says is passed over. */
static enum kind issue_of_bank(struct plain_dram *d, struct plain_channel *ch, int b,
                               enum kind not_this)
{
    struct plain_bank *bank = &ch->bank[b];

    for (int i = 0; i < bank->queue.count; i++) {
        struct request q = bank->queue.item[i];

        if (bank->open_row == q.row) {
            if (d->now < (q.is_write ? bank->write_at : bank->read_at))
                continue;
            if (not_this == COLUMN_COMMAND)
                return NOTHING;
            take_out(&bank->queue, i);
            move_data(d, ch, &q);
            return COLUMN_COMMAND;
        }
        if (bank->open_row < 0) {
            if (d->now < bank->activate_at || d->now < ch->activated_at[0] + d->t.faw)
                continue;
            if (not_this == ROW_COMMAND)
                return NOTHING;
            activate(d, ch, b, q.row);
            return ROW_COMMAND;
        }
        if (d->now < bank->precharge_at || !may_close(bank, i))
            continue;
        if (not_this == ROW_COMMAND)
            return NOTHING;
        precharge(d, bank);
        return ROW_COMMAND;
    }
    return NOTHING;
}

static enum kind issue(struct plain_dram *d, struct plain_channel *ch, enum kind not_this)
{
    for (int i = 0; i < d->config.bank_count; i++) {
        enum kind kind;

        ch->turn = (ch->turn + 1) % d->config.bank_count;
        kind = issue_of_bank(d, ch, ch->turn, not_this);
        if (kind != NOTHING)
            return kind;
    }
    return NOTHING;
}

/* All banks closed one by one, then all refreshed; nothing else meanwhile. */
static void get_on_with_refresh(struct plain_dram *d, struct plain_channel *ch)
{
    for (int b = 0; b < d->config.bank_count; b++) {
        struct plain_bank *bank = &ch->bank[b];

        if (bank->open_row >= 0) {
            if (d->now >= bank->precharge_at)
                precharge(d, bank);
            return;
        }
    }
    for (int b = 0; b < d->config.bank_count; b++)
        if (d->now < ch->bank[b].activate_at)
            return;
    for (int b = 0; b < d->config.bank_count; b++)
        push_back(&ch->bank[b].activate_at, d->now + d->t.rfc);
    ch->refresh_is_due = false;
}

/* One bank by itself, once nothing waits for it or it cannot be postponed: closed, refreshed. */
static void get_on_with_bank(struct plain_dram *d, struct plain_bank *bank)
{
    enum { POSTPONED_MAX = 8 };

    if (bank->refreshes_due == 0 ||
        (bank->queue.count > 0 && bank->refreshes_due <= POSTPONED_MAX))
        return;
    if (bank->open_row >= 0 && d->now >= bank->precharge_at)
        precharge(d, bank);
    if (bank->open_row >= 0 || d->now < bank->activate_at)
        return;
    push_back(&bank->activate_at, d->now + d->t.rfc);
    bank->refreshes_due--;
}

static void refresh(struct plain_dram *d, struct plain_channel *ch)
{
    const int64_t step = d->t.refi / d->config.bank_count;

    if (!d->config.refreshes_single_banks) {
        ch->refresh_is_due |= d->now > 0 && d->now % d->t.refi == 0;
        return;
    }
    for (int b = 0; b < d->config.bank_count; b++) {
        int64_t since = d->now + b * step;      /* the highest bank is the first */

        ch->bank[b].refreshes_due += since >= d->t.refi && since % d->t.refi == 0;
        get_on_with_bank(d, &ch->bank[b]);
    }
}

/* One request goes to the queue of its bank: the first for which there is room. */
static void hand_over(struct plain_dram *d, struct plain_channel *ch)
{
    struct line *from;

    if (ch->draining == 0 && (ch->writes.count == ch->writes.limit ||
                              (ch->reads.count == 0 && ch->writes.count >= d->config.write_low)))
        ch->draining = ch->writes.count;
    from = ch->draining > 0 ? &ch->writes : &ch->reads;
    for (int i = 0; i < from->count; i++) {
        struct request q = from->item[i];
        struct line *to = &ch->bank[q.bank].queue;

        if (to->count == to->limit)
            continue;
        if (q.is_write && (find_burst(&ch->reads, q.burst, false) >= 0 ||
                           find_burst(to, q.burst, false) >= 0)) {
            ch->draining = 0;           /* what was asked for before is read before */
            return;
        }
        ch->draining -= q.is_write;
        append(to, &q);
        take_out(from, i);
        return;
    }
}

void plain_dram_tick(struct plain_dram *d)
{
    for (int i = 0; i < d->config.channel_count; i++) {
        struct plain_channel *ch = &d->channel[i];

        if (d->t.refi > 0)
            refresh(d, ch);
        if (ch->refresh_is_due) {
            get_on_with_refresh(d, ch);
        } else {
            enum kind first = issue(d, ch, NOTHING);

            if (first != NOTHING)
                issue(d, ch, first);
        }
        hand_over(d, ch);
    }
    d->now++;
}

bool plain_dram_is_waiting(const struct plain_dram *d)
{
    return d->waiting > 0;
}

const struct plain_result *plain_dram_result(const struct plain_dram *d)
{
    return &d->result;
}

struct plain_result plain_dram_run(const struct hbm_config *config, ps_t clock_ps,
                                   plain_access_fn *fn, void *context, int64_t count,
                                   int per_cycle)
{
    struct plain_dram *d = plain_dram_create(config, clock_ps);
    struct plain_result r;
    int64_t next = 0;

    while (next < count || plain_dram_is_waiting(d)) {
        for (int i = 0; i < per_cycle && next < count; i++, next++) {
            struct plain_access a = fn(context, next);

            if (!plain_dram_offer(d, a.address, a.is_write))
                break;
        }
        plain_dram_tick(d);
    }
    r = *plain_dram_result(d);
    r.cycles = later(d->now, d->done_at);
    plain_dram_destroy(d);
    return r;
}
