#include "hbm/hbm.h"
#include "hbm/hbm_impl.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"

/* log2 of a power of two */
static int shift_of(int64_t size)
{
    int shift = 0;

    assert(size > 0 && (size & (size - 1)) == 0);
    while (((int64_t)1 << shift) < size)
        shift++;
    return shift;
}

/* Columns, then all channels: pieces one behind the other differ by their channel. */
static bool has_plain_channels(const struct hbm_map *m)
{
    int i = 0;

    while (i < m->step_count && m->step[i].field == HBM_COLUMN)
        i++;
    return i < m->step_count && m->step[i].field == HBM_CHANNEL &&
           m->step[i].spread != HBM_XORED &&
           m->step[i].count == hbm_map_count(m, HBM_CHANNEL);
}

/*
 * Banks refreshed one by one: the highest first, evenly over tREFI. Streams go up the banks, so
 * they meet a refresh now and then; on their own way they would follow one from bank to bank.
 */
static struct hbm_derived derive(const struct hbm_config *c)
{
    return (struct hbm_derived){
        .refresh_ps = c->trp_ps + hbm_refresh_ps(c),
        .first_refresh_ps = c->trefi_ps > 0 ? c->trefi_ps : INT64_MAX,
        .postponed_ps = c->refreshes_single_banks ? POSTPONED_MAX * c->trefi_ps : 0,
        .next_bank_ps = c->refreshes_single_banks ? -c->trefi_ps / c->bank_count : 0,
        .latency_ps = {c->tcl_ps, c->tcwl_ps},
        .closing_ps = {c->trtp_ps - c->tcl_ps, c->burst_ps + c->twr_ps},
        .window_ps = later(c->trrd_l_ps, c->tfaw_ps),
        .piece_bursts = hbm_map_piece_bursts(&c->map)};
}

struct hbm *hbm_create(const struct hbm_config *config)
{
    struct hbm *h = mem_alloc(sizeof(*h));
    size_t channel_count = (size_t)config->channel_count;
    const char *key;

    assert(!hbm_config_fault(config, &key));
    h->config = *config;
    h->burst_shift = shift_of(config->burst_bytes);
    h->piece_bytes = hbm_map_piece_bursts(&config->map) * config->burst_bytes;
    h->piece_shift = shift_of(h->piece_bytes);
    h->derived = derive(config);
    h->has_plain_channels = has_plain_channels(&config->map);
    h->channels = mem_alloc_lazy(channel_count * sizeof(*h->channels));
    h->banks = mem_alloc_lazy(channel_count * (size_t)config->bank_count * sizeof(*h->banks));
    return h;
}

static void free_channel(struct hbm_channel *ch)
{
    mem_free(ch->taken);
    mem_free(ch->activate);
    mem_free(ch->write);
    hbm_queue_free(&ch->queue[0]);
    hbm_queue_free(&ch->queue[1]);
}

void hbm_destroy(struct hbm *h)
{
    if (!h)
        return;
    for (int i = 0; i < h->config.channel_count; i++)
        if (h->channels[i].is_used)
            free_channel(&h->channels[i]);
    mem_free_lazy(h->channels);
    mem_free_lazy(h->banks);
    mem_free(h);
}

void hbm_reset_channel(struct hbm *h, int channel)
{
    struct hbm_channel *ch = &h->channels[channel], before = *ch;
    size_t bank_count = (size_t)h->config.bank_count;

    hbm_queue_clear(&before.queue[0]);
    hbm_queue_clear(&before.queue[1]);
    *ch = (struct hbm_channel){
        .is_used = true, .taken = before.taken, .taken_capacity = before.taken_capacity,
        .activate = before.activate, .activate_capacity = before.activate_capacity,
        .write = before.write, .write_capacity = before.write_capacity,
        .queue = {before.queue[0], before.queue[1]}};
    memset(&h->banks[(size_t)channel * bank_count], 0, bank_count * sizeof(*h->banks));
}

void hbm_reset(struct hbm *h)
{
    for (int i = 0; i < h->config.channel_count; i++)
        if (h->channels[i].is_used)
            hbm_reset_channel(h, i);
    h->stats = (struct hbm_stats){0};
    h->last_at = 0;
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

static ps_t hbm_read(struct hbm *h, struct hbm_request *q, ps_t at)
{
    struct hbm_channel *ch = &h->channels[q->channel];
    ps_t gone_at, end_at;

    q->at = at;
    if (ch->held_banks != 0) {
        hbm_write_idle(h, q->channel, at);
        if (hbm_write_has(h, q))
            return forward(h, q);
    }
    q->at = later(at, ch->drained_at);
    end_at = hbm_serve(h, q, &gone_at);
    hbm_queue_add(&ch->queue[0], h->config.read_queue, at, gone_at, q->bursts);
    if (gone_at >= ch->reads_gone_at) {
        ch->reads_gone_at = gone_at;
        ch->read_bank = q->bank;
        ch->read_row = q->row;
    }
    return end_at;
}

ps_t hbm_access(struct hbm *h, ps_t at, int64_t address, int64_t bytes, bool is_write)
{
    const struct hbm_config *c = &h->config;
    struct hbm_place p = {.channel = 0};
    int64_t alike = 0;                  /* pieces from here on whose places differ by the channel */
    struct hbm_request q;
    ps_t last_at = at;

    assert(address >= 0 && bytes >= 0 && address <= c->size_bytes - bytes);
    assert(at >= h->last_at);
    h->last_at = at;
    *(is_write ? &h->stats.write_bytes : &h->stats.read_bytes) += bytes;
    q.at = at;
    q.is_write = is_write;
    while (bytes > 0) {
        int64_t piece = h->piece_bytes - (address & (h->piece_bytes - 1));

        if (alike == 0) {
            p = hbm_map_place(&c->map, c->bank_groups, address >> h->burst_shift);
            alike = h->has_plain_channels
                        ? c->channel_count - (address >> h->piece_shift) % c->channel_count : 1;
            q.bank = p.bank;
            q.group = hbm_group_of(c, p.bank);
            q.row = p.row;
        }
        q.channel = p.channel;
        q.column = (p.column << h->burst_shift) + (address & (c->burst_bytes - 1));
        q.bytes = piece < bytes ? piece : bytes;
        bytes -= q.bytes;
        address += q.bytes;
        q.bursts = q.bytes == h->piece_bytes ? h->derived.piece_bursts
                                             : hbm_bursts_of(h, q.column, q.bytes);
        h->channels[p.channel].is_used = true;
        last_at = later(last_at, is_write ? hbm_write(h, &q) : hbm_read(h, &q, at));
        if (--alike > 0) {              /* the same but for the channel, and from its start on */
            p.channel = p.channel + 1 < c->channel_count ? p.channel + 1 : 0;
            p.column &= ~(h->derived.piece_bursts - 1);
        }
    }
    return last_at;
}

ps_t hbm_room_at(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    const struct hbm_config *c = &h->config;
    int channel = hbm_map_place(&c->map, c->bank_groups, address >> h->burst_shift).channel;
    struct hbm_channel *ch = &h->channels[channel];

    hbm_write_idle(h, channel, at);
    return hbm_queue_room_at(&ch->queue[is_write],
                             is_write ? c->write_queue - ch->held_bursts : c->read_queue, at);
}

bool hbm_has_room(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    return hbm_room_at(h, at, address, is_write) == at;
}

ps_t hbm_settle(struct hbm *h)
{
    ps_t end_at = 0;

    for (int i = 0; i < h->config.channel_count; i++) {
        const struct hbm_channel *ch = &h->channels[i];

        if (!ch->is_used)
            continue;
        hbm_write_all(h, i, h->last_at);
        if (ch->taken_count > 0)
            end_at = later(end_at, ch->taken[ch->taken_count - 1].end);
    }
    return end_at;
}

const struct hbm_stats *hbm_get_stats(const struct hbm *h)
{
    return &h->stats;
}

void hbm_watch(struct hbm *h, hbm_watch_fn *fn, void *context)
{
    h->watch = fn;
    h->watch_context = context;
}
