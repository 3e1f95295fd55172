/* Times accesses, each cut into pieces that lie in one row. */
#include "hbm/hbm_append.h"

#include <assert.h>

static void locate(struct hbm *h, int64_t piece)
{
    const struct hbm_config *c = &h->config;
    struct hbm_place p = hbm_map_place(&c->map, c->bank_groups,
                                       piece << (h->piece_shift - h->burst_shift));

    h->cursor = (struct hbm_cursor){
        .piece = piece, .channel = p.channel, .bank = p.bank, .row = p.row,
        .group = hbm_group_of(c, p.bank), .column = p.column << h->burst_shift,
        .alike = h->has_plain_channels ? c->channel_count - piece % c->channel_count : 1};
}

/* Accesses ask for the same piece again or for the one behind it. */
static inline const struct hbm_cursor *seek(struct hbm *h, int64_t address)
{
    struct hbm_cursor *at = &h->cursor;
    int64_t piece = address >> h->piece_shift;

    if (piece == at->piece)
        return at;
    if (piece == at->piece + 1 && at->alike > 1) {
        at->piece = piece;
        at->alike--;
        at->channel = at->channel + 1 < h->config.channel_count ? at->channel + 1 : 0;
    } else {
        locate(h, piece);
    }
    return at;
}

const struct hbm_cursor *hbm_seek(struct hbm *h, int64_t address)
{
    return seek(h, address);
}

/* Read from the buffer of writes: a hit that takes no time of the data bus. */
static ps_t forward(struct hbm *h, const struct hbm_request *q)
{
    ps_t at = q->at + h->config.front_ps;

    h->stats.run_count++;
    h->stats.row_hits++;
    if (h->watch)
        h->watch(h->watch_context, &(struct hbm_run){
            .asked_at = h->last_at, .data_at = at, .end_at = at, .channel = q->channel,
            .bank = q->bank, .row = HBM_ROW_HIT, .bytes = q->bytes});
    return at;
}

/* the read that left its queue at `gone_at` */
static inline void leave_queue(struct hbm *h, struct hbm_channel *ch, const struct hbm_request *q,
                               ps_t at, ps_t gone_at)
{
    if (gone_at > at)
        hbm_queue_add(&ch->queue[0], h->config.read_queue, at, gone_at, q->bursts);
    if (gone_at >= ch->reads_gone_at) {
        ch->reads_gone_at = gone_at;
        ch->read_bank = q->bank;
        ch->read_row = q->row;
    }
}

static ps_t hbm_read(struct hbm *h, struct hbm_request q)
{
    struct hbm_channel *ch = &h->channels[q.channel];
    ps_t at = q.at, gone_at, end_at;

    if (ch->held_banks != 0) {
        hbm_write_idle(h, q.channel, at);
        if (hbm_write_has(h, &q))
            return forward(h, &q);
    }
    q.at = later(at, ch->drained_at);
    end_at = hbm_serve(h, &q, &gone_at);
    leave_queue(h, ch, &q, at, gone_at);
    return end_at;
}

/* most reads of a stream; false: it is none of them */
static inline bool read_behind(struct hbm *h, const struct hbm_request *q, ps_t *end_at)
{
    struct hbm_channel *ch = &h->channels[q->channel];
    ps_t gone_at;

    if (ch->held_banks != 0 || ch->drained_at > q->at ||
        ch->taken_count + ch->activate_count >= FORGET_FROM ||
        !hbm_append(h, ch, q, &gone_at, end_at))
        return false;
    leave_queue(h, ch, q, q->at, gone_at);
    return true;
}

static ps_t any_piece(struct hbm *h, struct hbm_request q)
{
    h->channels[q.channel].is_used = true;
    return q.is_write ? hbm_write(h, &q) : hbm_read(h, q);
}

ps_t hbm_access(struct hbm *h, ps_t at, int64_t address, int64_t bytes, bool is_write)
{
    ps_t last_at = at, end_at;

    assert(address >= 0 && bytes >= 0 && address <= h->config.size_bytes - bytes);
    assert(at >= h->last_at);
    h->last_at = at;
    *(is_write ? &h->stats.write_bytes : &h->stats.read_bytes) += bytes;
    while (bytes > 0) {
        const struct hbm_cursor *p = seek(h, address);
        int64_t offset = address & (h->piece_bytes - 1), piece = h->piece_bytes - offset;
        struct hbm_request q = {.at = at, .channel = p->channel, .bank = p->bank,
                                .group = p->group, .row = p->row, .column = p->column + offset,
                                .bytes = piece < bytes ? piece : bytes, .is_write = is_write};

        q.bursts = q.bytes == h->piece_bytes ? h->derived.piece_bursts
                                             : hbm_bursts_of(h, q.column, q.bytes);
        bytes -= q.bytes;
        address += q.bytes;
        if (is_write || !read_behind(h, &q, &end_at))
            end_at = any_piece(h, q);
        last_at = later(last_at, end_at);
    }
    return last_at;
}

ps_t hbm_room_at(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    int channel = seek(h, address)->channel;
    struct hbm_channel *ch = &h->channels[channel];

    if (ch->held_bursts > 0)
        hbm_write_idle(h, channel, at);
    return hbm_queue_room_at(&ch->queue[is_write],
                             is_write ? h->config.write_queue - ch->held_bursts
                                      : h->config.read_queue, at);
}
