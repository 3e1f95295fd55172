/*
 * Makes and resets a chip's HBM timing model, and derives from its configuration what every access
 * needs.
 */
#include "hbm/hbm.h"
#include "hbm/hbm_impl.h"

#include <assert.h>

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
        .piece_bursts = hbm_map_piece_bursts(&c->map),
        .front_ps = c->front_ps, .burst_ps = c->burst_ps, .trcd_ps = c->trcd_ps,
        .trp_ps = c->trp_ps, .tras_ps = c->tras_ps, .bank_queue = c->bank_queue};
}

struct hbm *hbm_create(const struct hbm_config *config)
{
    struct hbm *h = mem_alloc(sizeof(*h));
    size_t channel_count = (size_t)config->channel_count;
    size_t bank_count = channel_count * (size_t)config->bank_count;
    const char *key;

    assert(!hbm_config_fault(config, &key));
    h->config = *config;
    h->burst_shift = shift_of(config->burst_bytes);
    h->piece_bytes = hbm_map_piece_bursts(&config->map) * config->burst_bytes;
    h->piece_shift = shift_of(h->piece_bytes);
    h->derived = derive(config);
    h->has_plain_channels = has_plain_channels(&config->map);
    h->channels = mem_alloc_lazy(channel_count * sizeof(*h->channels));
    h->banks = mem_alloc_lazy(bank_count * sizeof(*h->banks));
    h->past = mem_alloc_lazy(bank_count * sizeof(*h->past));
    h->may_append = config->tccd_l_ps <= config->burst_ps;
    h->cursor.piece = -1;
    return h;
}

void hbm_free_channel(struct hbm_channel *ch)
{
    mem_free(ch->taken);
    mem_free(ch->activate);
    mem_free(ch->write);
    hbm_queue_free(&ch->queue[0]);
    hbm_queue_free(&ch->queue[1]);
    *ch = (struct hbm_channel){.is_used = false};
}

void hbm_destroy(struct hbm *h)
{
    if (!h)
        return;
    for (int i = 0; i < h->config.channel_count; i++)
        if (h->channels[i].is_used)
            hbm_free_channel(&h->channels[i]);
    mem_free_lazy(h->channels);
    mem_free_lazy(h->banks);
    mem_free_lazy(h->past);
    mem_free(h);
}

void hbm_reset_channel(struct hbm *h, int channel)
{
    struct hbm_channel *ch = &h->channels[channel], before = *ch;

    hbm_queue_clear(&before.queue[0]);
    hbm_queue_clear(&before.queue[1]);
    *ch = (struct hbm_channel){
        .is_used = true, .taken = before.taken, .taken_capacity = before.taken_capacity,
        .activate = before.activate, .activate_capacity = before.activate_capacity,
        .write = before.write, .write_capacity = before.write_capacity,
        .queue = {before.queue[0], before.queue[1]}};
    for (int i = 0; i < h->config.bank_count; i++) {
        size_t bank = hbm_bank_index(h, channel, i);

        h->banks[bank] = (struct hbm_bank){.open_row = 0};
        h->past[bank] = (struct hbm_bank_past){.next = 0};
    }
}

void hbm_reset(struct hbm *h)
{
    for (int i = 0; i < h->config.channel_count; i++)
        if (h->channels[i].is_used)
            hbm_reset_channel(h, i);
    h->stats = (struct hbm_stats){0};
    h->last_at = 0;
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
    h->may_append = !fn && h->config.tccd_l_ps <= h->config.burst_ps;
}
