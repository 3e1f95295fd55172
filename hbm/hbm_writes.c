/*
 * The write buffer of a channel. A write is done, for who asks, when there is
 * room for it; it moves when the buffer is full, or when no read waits and
 * write_low bursts have come together. Then all of them move, those of one row
 * one behind the other, and reads that come meanwhile come after.
 */
#include "hbm/hbm_impl.h"

#include <string.h>

#include "base/arena.h"

static void serve_write(struct hbm *h, int channel, const struct hbm_write *w, ps_t at)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[channel];
    struct hbm_request q = {.at = at, .channel = channel, .bank = (int)w->bank,
                            .group = hbm_group_of(c, (int)w->bank), .row = w->row,
                            .column = w->column, .bytes = w->bytes, .bursts = w->bursts,
                            .is_write = true};
    ps_t gone_at;

    hbm_serve(h, &q, &gone_at);
    hbm_queue_add(&ch->queue[1], c->write_queue, h->last_at, gone_at, w->bursts);
    ch->drained_at = later(ch->drained_at, gone_at);
}

/*
 * Reads that wait when writes begin to move would wait until those are on their
 * way, and find their row closed if a write closed it. Theirs are planned
 * already, so they go first and the writes after; but they hold their places in
 * the queue as long as if they had waited.
 */
static void keep_reads_waiting(struct hbm *h, int channel, ps_t at)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[channel];
    const struct hbm_bank *b = &h->banks[hbm_bank_index(h, channel, ch->read_bank)];
    ps_t until = ch->drained_at;

    if (b->open_row != ch->read_row + 1)
        until = later(until, b->precharge_at + c->trp_ps + c->trcd_ps);
    if (until > ch->reads_gone_at) {
        hbm_queue_delay(&ch->queue[0], at, until - ch->reads_gone_at);
        ch->reads_gone_at = until;
    }
}

void hbm_write_all(struct hbm *h, int channel, ps_t at)
{
    struct hbm_channel *ch = &h->channels[channel];

    if (ch->reads_gone_at > at)
        at = later(at, ch->drained_at);
    while (ch->write_count > 0) {
        struct hbm_write first = ch->write[0];
        size_t kept = 0;

        for (size_t i = 0; i < ch->write_count; i++) {
            struct hbm_write *w = &ch->write[i];

            if (w->bank == first.bank && w->row == first.row)
                serve_write(h, channel, w, at);
            else
                ch->write[kept++] = *w;
        }
        ch->write_count = kept;
    }
    ch->held_bursts = 0;
    ch->held_banks = 0;
    if (ch->reads_gone_at > at)
        keep_reads_waiting(h, channel, at);
}

void hbm_write_idle(struct hbm *h, int channel, ps_t now)
{
    struct hbm_channel *ch = &h->channels[channel];
    ps_t idle_at = later(ch->held_at, later(ch->reads_gone_at, ch->drained_at));

    if (ch->held_bursts >= h->config.write_low && idle_at < now)
        hbm_write_all(h, channel, idle_at);
}

ps_t hbm_write(struct hbm *h, const struct hbm_request *q)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[q->channel];
    ps_t accepted_at;

    hbm_write_idle(h, q->channel, q->at);
    if (ch->held_bursts > 0 && ch->held_bursts + q->bursts > c->write_queue)
        hbm_write_all(h, q->channel, q->at);
    accepted_at = hbm_queue_room_at(&ch->queue[1],
                                    later(1, c->write_queue - ch->held_bursts - q->bursts + 1),
                                    q->at);
    MEM_ADD(ch->write, ch->write_count, ch->write_capacity) = (struct hbm_write){
        .row = q->row, .column = q->column, .bursts = q->bursts, .bytes = q->bytes,
        .bank = q->bank};
    ch->held_bursts += q->bursts;
    ch->held_at = accepted_at;
    ch->held_banks |= (uint64_t)1 << (q->bank & 63);
    if (ch->held_bursts >= c->write_queue ||
        (ch->reads_gone_at <= accepted_at &&
         (ch->held_bursts >= c->write_low || ch->drained_at > accepted_at)))
        hbm_write_all(h, q->channel, accepted_at);
    return accepted_at;
}

bool hbm_write_has(struct hbm *h, const struct hbm_request *q)
{
    struct hbm_channel *ch = &h->channels[q->channel];

    if (!(ch->held_banks >> (q->bank & 63) & 1))
        return false;
    for (size_t i = 0; i < ch->write_count; i++) {
        const struct hbm_write *w = &ch->write[i];

        if (w->bank == q->bank && w->row == q->row && w->column < q->column + q->bytes &&
            q->column < w->column + w->bytes) {
            if (w->column <= q->column && q->column + q->bytes <= w->column + w->bytes)
                return true;
            hbm_write_all(h, q->channel, q->at);        /* part of it: it is written first */
            return false;
        }
    }
    return false;
}
