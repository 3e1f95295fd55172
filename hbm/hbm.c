#include "hbm/hbm.h"
#include "hbm/hbm_queue.h"

#include <assert.h>

#include "base/arena.h"

enum { ACTIVATE_WINDOW = 4 };           /* tFAW counts this many */

struct bank {
    int64_t open_row;                   /* -1 = precharged */
    ps_t column_at;                     /* first read or write of the open row */
    ps_t precharge_at;                  /* earliest end of the open row */
    int64_t refresh_count;              /* of the channel when this was last right */
};

struct channel {
    ps_t data_end_at;                   /* the data bus is free from here on */
    bool last_is_write;
    int oldest_activate;                /* index into activate_at */
    ps_t activate_at[ACTIVATE_WINDOW];
    ps_t precharge_at;                  /* when every bank may be closed, for the next refresh */
    ps_t refresh_end_at;                /* of the refresh that came last */
    ps_t next_refresh_at;
    int64_t refresh_count;
    struct hbm_queue queue[2];          /* of reads, of writes */
};

/* A run that could be served: where its activate and its data would fall. */
struct plan {
    enum hbm_row kind;
    ps_t activate_at;                   /* not for a hit */
    ps_t data_at;
};

struct hbm {
    struct hbm_config config;
    struct hbm_stats stats;
    int burst_shift;
    int64_t piece_bytes;                /* consecutive ones in one row of one bank */
    ps_t last_at;                       /* of the latest access, for the check of their order */
    struct channel *channels;
    struct bank *banks;                 /* (channel, bank) */
    hbm_watch_fn *watch;                /* NULL: nobody */
    void *watch_context;
};

/* Bytes of one row that are asked for. */
struct request {
    ps_t at;
    int channel, bank;
    int64_t row, column, bytes;
    bool is_write;
};

/* log2 of a power of two */
static int shift_of(int64_t size)
{
    int shift = 0;

    assert(size > 0 && (size & (size - 1)) == 0);
    while (((int64_t)1 << shift) < size)
        shift++;
    return shift;
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
    h->channels = mem_alloc(channel_count * sizeof(*h->channels));
    h->banks = mem_alloc(channel_count * (size_t)config->bank_count * sizeof(*h->banks));
    hbm_reset(h);
    return h;
}

void hbm_destroy(struct hbm *h)
{
    if (!h)
        return;
    for (int i = 0; i < h->config.channel_count; i++) {
        hbm_queue_free(&h->channels[i].queue[0]);
        hbm_queue_free(&h->channels[i].queue[1]);
    }
    mem_free(h->channels);
    mem_free(h->banks);
    mem_free(h);
}

void hbm_reset(struct hbm *h)
{
    const struct hbm_config *c = &h->config;
    const ps_t long_ago = -(c->tfaw_ps + c->trrd_ps + c->trp_ps + c->twtr_l_ps + c->tcl_ps +
                            c->trtw_ps);

    for (int i = 0; i < c->channel_count; i++) {
        struct channel *ch = &h->channels[i];

        hbm_queue_clear(&ch->queue[0]);
        hbm_queue_clear(&ch->queue[1]);
        *ch = (struct channel){.data_end_at = long_ago, .precharge_at = long_ago,
                               .next_refresh_at = c->trefi_ps > 0 ? c->trefi_ps : INT64_MAX,
                               .queue = {ch->queue[0], ch->queue[1]}};
        for (int k = 0; k < ACTIVATE_WINDOW; k++)
            ch->activate_at[k] = long_ago;
    }
    for (int i = 0; i < c->channel_count * c->bank_count; i++)
        h->banks[i] = (struct bank){.open_row = -1};
    h->stats = (struct hbm_stats){0};
    h->last_at = 0;
}

/* The refresh due at `due_at`: it begins when all banks are precharged. */
static void refresh(const struct hbm_config *c, struct channel *ch, ps_t due_at)
{
    ch->refresh_end_at = later(due_at, ch->precharge_at + c->trp_ps) + c->trfc_ps;
    ch->next_refresh_at = due_at + c->trefi_ps;
    ch->refresh_count++;
}

/* When data of this direction may begin, as far as the data bus is concerned. */
static ps_t bus_ready_at(const struct hbm_config *c, const struct channel *ch, bool is_write)
{
    if (is_write == ch->last_is_write)
        return ch->data_end_at;
    if (is_write)
        return ch->data_end_at + c->trtw_ps;
    return ch->data_end_at + c->twtr_l_ps + c->tcl_ps;    /* tWTR ends at the read command */
}

/*
 * The activate is issued as early as its bank allows, while data of runs asked
 * for before still occupy the bus: that is what hides activates of a stream.
 */
static struct plan plan_run(const struct hbm_config *c, const struct channel *ch,
                            const struct bank *b, ps_t at, int64_t row, bool is_write)
{
    int newest = (ch->oldest_activate + ACTIVATE_WINDOW - 1) % ACTIVATE_WINDOW;
    ps_t earliest = later(at, ch->refresh_end_at), column_at;
    struct plan p = {.kind = HBM_ROW_HIT};

    if (b->open_row == row) {
        column_at = later(earliest, b->column_at);
    } else {
        p.kind = b->open_row < 0 ? HBM_ROW_CLOSED : HBM_ROW_CONFLICT;
        p.activate_at = p.kind == HBM_ROW_CLOSED ? earliest
                                             : later(earliest, b->precharge_at) + c->trp_ps;
        p.activate_at = later(p.activate_at, ch->activate_at[newest] + c->trrd_ps);
        p.activate_at = later(p.activate_at, ch->activate_at[ch->oldest_activate] + c->tfaw_ps);
        column_at = p.activate_at + c->trcd_ps;
    }
    p.data_at = later(column_at + (is_write ? c->tcwl_ps : c->tcl_ps),
                      bus_ready_at(c, ch, is_write));
    return p;
}

/* Make the plan happen for `bursts` bursts; returns the end of the last one. */
static ps_t commit_run(struct hbm *h, struct channel *ch, struct bank *b, const struct plan *p,
                       int64_t row, int64_t bursts, bool is_write)
{
    const struct hbm_config *c = &h->config;
    ps_t busy_ps = bursts * c->burst_ps, end_at = p->data_at + busy_ps;

    if (p->kind != HBM_ROW_HIT) {
        ch->activate_at[ch->oldest_activate] = p->activate_at;
        ch->oldest_activate = (ch->oldest_activate + 1) % ACTIVATE_WINDOW;
        b->open_row = row;
        b->column_at = p->activate_at + c->trcd_ps;
        b->precharge_at = p->activate_at + c->tras_ps;
    }
    if (is_write)
        b->precharge_at = later(b->precharge_at, end_at + c->twr_ps);
    else
        b->precharge_at = later(b->precharge_at, end_at - c->burst_ps - c->tcl_ps + c->trtp_ps);
    ch->precharge_at = later(ch->precharge_at, b->precharge_at);
    ch->data_end_at = end_at;
    ch->last_is_write = is_write;

    h->stats.run_count++;
    h->stats.row_hits += p->kind == HBM_ROW_HIT;
    h->stats.row_closed += p->kind == HBM_ROW_CLOSED;
    h->stats.row_conflicts += p->kind == HBM_ROW_CONFLICT;
    h->stats.busy_ps += busy_ps;
    return end_at;
}

/* the first `bursts` bursts of what is left of a request */
static void tell(struct hbm *h, struct request *q, const struct plan *p, int64_t bursts,
                 ps_t end_at, bool has_met_refresh)
{
    int64_t end = ((q->column >> h->burst_shift) + bursts) << h->burst_shift;
    int64_t bytes = end - q->column < q->bytes ? end - q->column : q->bytes;

    h->watch(h->watch_context, &(struct hbm_run){
        .asked_at = q->at, .data_at = p->data_at, .end_at = end_at, .channel = q->channel,
        .bank = q->bank, .row = p->kind, .is_write = q->is_write,
        .has_met_refresh = has_met_refresh, .bytes = bytes});
    q->column = end;
    q->bytes -= bytes;
}

/*
 * Bursts of one row. What does not fit before the next refresh comes after it,
 * as a run of its own that finds the row closed.
 */
static ps_t serve(struct hbm *h, struct request q)
{
    const struct hbm_config *c = &h->config;
    struct channel *ch = &h->channels[q.channel];
    struct bank *b = &h->banks[q.channel * c->bank_count + q.bank];
    int64_t bursts = ((q.column + q.bytes - 1) >> h->burst_shift) - (q.column >> h->burst_shift)
                     + 1;
    ps_t at = q.at, end_at = at;
    bool is_held;

    if (at >= ch->next_refresh_at)
        refresh(c, ch, at - at % c->trefi_ps);
    is_held = at < ch->refresh_end_at;
    while (bursts > 0) {
        struct plan p;
        int64_t fitting;

        if (b->refresh_count != ch->refresh_count)
            *b = (struct bank){.open_row = -1, .refresh_count = ch->refresh_count};
        p = plan_run(c, ch, b, at, q.row, q.is_write);
        fitting = bursts;
        if (p.data_at + bursts * c->burst_ps > ch->next_refresh_at) {
            fitting = p.data_at < ch->next_refresh_at
                          ? (ch->next_refresh_at - p.data_at) / c->burst_ps : 0;
            is_held = true;
        }
        if (fitting > 0)
            end_at = commit_run(h, ch, b, &p, q.row, fitting, q.is_write);
        if (fitting > 0)
            hbm_queue_add(&ch->queue[q.is_write], q.is_write ? c->write_queue : c->read_queue,
                          at, p.data_at, fitting);
        if (fitting > 0 && h->watch)
            tell(h, &q, &p, fitting, end_at, is_held && fitting == bursts);
        bursts -= fitting;
        if (bursts > 0)
            refresh(c, ch, ch->next_refresh_at);
    }
    h->stats.refresh_waits += is_held;
    return end_at;
}

ps_t hbm_access(struct hbm *h, ps_t at, int64_t address, int64_t bytes, bool is_write)
{
    const struct hbm_config *c = &h->config;
    ps_t last_at = at;

    assert(address >= 0 && bytes >= 0 && address <= c->size_bytes - bytes);
    assert(at >= h->last_at);
    h->last_at = at;
    *(is_write ? &h->stats.write_bytes : &h->stats.read_bytes) += bytes;
    while (bytes > 0) {
        struct hbm_place p = hbm_map_place(&c->map, c->bank_groups, address >> h->burst_shift);
        int64_t piece = h->piece_bytes - (address & (h->piece_bytes - 1));

        piece = piece < bytes ? piece : bytes;
        last_at = later(last_at, serve(h, (struct request){
                                          .at = at, .channel = p.channel, .bank = p.bank,
                                          .row = p.row, .bytes = piece, .is_write = is_write,
                                          .column = (p.column << h->burst_shift) +
                                                    (address & (c->burst_bytes - 1))}));
        bytes -= piece;
        address += piece;
    }
    return last_at;
}

ps_t hbm_room_at(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    const struct hbm_config *c = &h->config;
    int channel = hbm_map_place(&c->map, c->bank_groups, address >> h->burst_shift).channel;

    return hbm_queue_room_at(&h->channels[channel].queue[is_write],
                             is_write ? c->write_queue : c->read_queue, at);
}

bool hbm_has_room(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    return hbm_room_at(h, at, address, is_write) == at;
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

static const struct field bank_fields[] = {
    SAVED(bank, open_row), SAVED_TIME(bank, column_at), SAVED_TIME(bank, precharge_at),
    SAVED(bank, refresh_count)};

static const struct field channel_fields[] = {
    SAVED_TIME(channel, data_end_at), SAVED_BOOL(channel, last_is_write),
    SAVED(channel, oldest_activate), SAVED_TIME(channel, activate_at),
    SAVED_TIME(channel, precharge_at), SAVED_TIME(channel, refresh_end_at),
    SAVED_TIME(channel, next_refresh_at), SAVED(channel, refresh_count),
    APART(channel, queue)};

static const struct field hbm_fields[] = {
    SAVED(hbm, stats), SAVED_TIME(hbm, last_at),
    APART(hbm, config), APART(hbm, piece_bytes), APART(hbm, burst_shift), APART(hbm, channels),
    APART(hbm, banks), APART(hbm, watch),
    APART(hbm, watch_context)};

void hbm_archive(struct hbm *h, struct archive *a)
{
    int channels = h->config.channel_count, banks = channels * h->config.bank_count, i;

    archive_fields(a, hbm_fields, COUNT_OF(hbm_fields), h);
    for (i = 0; i < channels; i++) {
        archive_fields(a, channel_fields, COUNT_OF(channel_fields), &h->channels[i]);
        archive_check(a, (unsigned)h->channels[i].oldest_activate < ACTIVATE_WINDOW,
                      "the snapshot has activate %d of an HBM channel",
                      h->channels[i].oldest_activate);
        if (a->is_failed)
            h->channels[i].oldest_activate = 0;
        hbm_queue_archive(&h->channels[i].queue[0], h->config.read_queue, a);
        hbm_queue_archive(&h->channels[i].queue[1], h->config.write_queue, a);
    }
    for (i = 0; i < banks; i++)
        archive_fields(a, bank_fields, COUNT_OF(bank_fields), &h->banks[i]);
}

uint32_t hbm_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, hbm_fields, COUNT_OF(hbm_fields));
    crc = archive_table_crc(crc, channel_fields, COUNT_OF(channel_fields));
    crc = hbm_queue_crc(crc);
    return archive_table_crc(crc, bank_fields, COUNT_OF(bank_fields));
}
