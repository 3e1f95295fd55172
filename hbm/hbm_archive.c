/* Saves and loads what a launch changes in the timing of a memory, for snapshots. */
#include "hbm/hbm_impl.h"

#include "base/arena.h"

static const struct field hbm_fields[] = {
    SAVED(hbm, stats), SAVED_TIME(hbm, last_at),
    APART(hbm, config), APART(hbm, piece_bytes), APART(hbm, burst_shift), APART(hbm, piece_shift),
    APART(hbm, has_plain_channels), APART(hbm, may_append), APART(hbm, derived),
    APART(hbm, cursor), APART(hbm, channels), APART(hbm, banks),
    APART(hbm, past), APART(hbm, watch), APART(hbm, watch_context)};

static const struct field channel_fields[] = {
    SAVED_BOOL(hbm_channel, is_used),
    APART(hbm_channel, taken), APART(hbm_channel, taken_count), APART(hbm_channel, taken_capacity),
    APART(hbm_channel, activate), APART(hbm_channel, activate_count),
    APART(hbm_channel, activate_capacity), SAVED_TIME(hbm_channel, crowd),
    SAVED_TIME(hbm_channel, floor_at),
    APART(hbm_channel, queue), APART(hbm_channel, write), APART(hbm_channel, write_count),
    APART(hbm_channel, write_capacity), APART(hbm_channel, held_bursts),
    SAVED(hbm_channel, held_banks), SAVED_TIME(hbm_channel, held_at),
    SAVED(hbm_channel, read_bank), SAVED(hbm_channel, read_row),
    SAVED_TIME(hbm_channel, reads_gone_at), SAVED_TIME(hbm_channel, drained_at)};

static const struct field bank_fields[] = {
    SAVED(hbm_bank, open_row), SAVED_TIME(hbm_bank, column_at), SAVED_TIME(hbm_bank, precharge_at),
    SAVED_TIME(hbm_bank, epoch), SAVED_TIME(hbm_bank, issued_at), SAVED(hbm_bank, issued_bursts),
    SAVED(hbm_bank, older_count), SAVED(hbm_bank, last_row),
    SAVED_TIME(hbm_bank, last_precharge_at)};

static const struct field past_fields[] = {
    SAVED_TIME(hbm_bank_past, last_column_at), SAVED_TIME(hbm_bank_past, issued_at),
    SAVED(hbm_bank_past, issued_bursts), SAVED(hbm_bank_past, next)};

static const struct field taken_fields[] = {
    SAVED_TIME(hbm_taken, start), SAVED_TIME(hbm_taken, end), SAVED(hbm_taken, group),
    SAVED_BOOL(hbm_taken, is_write)};

static const struct field activate_fields[] = {SAVED_TIME(hbm_activate, at),
                                               SAVED(hbm_activate, group)};

static const struct field write_fields[] = {
    SAVED(hbm_write, row), SAVED_TIME(hbm_write, column), SAVED_TIME(hbm_write, bursts),
    SAVED_TIME(hbm_write, bytes), SAVED(hbm_write, bank)};

/* A growing array of at most `most`: what is loaded has room for what is there. */
static void *archive_list(struct archive *a, void *items, size_t *count, size_t *capacity,
                          size_t most, size_t item_bytes, const struct field *field,
                          size_t field_count)
{
    size_t n = archive_count(a, *count, 1);

    archive_check(a, n <= most, "the snapshot has a list of an HBM channel that is too long");
    if (archive_is_loading(a)) {
        *count = 0;
        if (a->is_failed)
            return items;
        if (n > 0)
            items = mem_grow(items, capacity, n, item_bytes);
        *count = n;
    }
    for (size_t i = 0; i < n; i++)
        archive_fields(a, field, field_count, (char *)items + i * item_bytes);
    if (archive_is_loading(a) && a->is_failed)
        *count = 0;
    return items;
}

static void archive_lists(struct hbm *h, struct hbm_channel *ch, struct archive *a)
{
    ch->taken = archive_list(a, ch->taken, &ch->taken_count, &ch->taken_capacity,
                             RESERVATIONS_MAX, sizeof(*ch->taken), taken_fields,
                             COUNT_OF(taken_fields));
    ch->activate = archive_list(a, ch->activate, &ch->activate_count, &ch->activate_capacity,
                                RESERVATIONS_MAX, sizeof(*ch->activate), activate_fields,
                                COUNT_OF(activate_fields));
    ch->write = archive_list(a, ch->write, &ch->write_count, &ch->write_capacity,
                             (size_t)h->config.write_queue, sizeof(*ch->write), write_fields,
                             COUNT_OF(write_fields));
    ch->held_bursts = 0;
    for (size_t i = 0; i < ch->write_count; i++) {
        const struct hbm_write *w = &ch->write[i];

        archive_check(a, w->bank >= 0 && w->bank < h->config.bank_count && w->row >= 0 &&
                         w->bytes > 0 && w->column >= 0 && w->bytes <= h->config.row_bytes &&
                         w->column <= h->config.row_bytes - w->bytes &&
                         w->bursts == hbm_bursts_of(h, w->column, w->bytes),
                      "the snapshot has a write to HBM that cannot be");
        ch->held_bursts += w->bursts;
    }
    if (a->is_failed)
        ch->write_count = 0;
}

static void archive_bank(struct hbm *h, size_t bank, struct archive *a)
{
    struct hbm_bank *b = &h->banks[bank];
    struct hbm_bank_past *past = &h->past[bank];

    archive_fields(a, bank_fields, COUNT_OF(bank_fields), b);
    archive_fields(a, past_fields, COUNT_OF(past_fields), past);
    archive_check(a, past->next >= 0 && past->next < BANK_RECENT - 1 && b->epoch >= 0 &&
                     b->older_count >= 0 && b->older_count < BANK_RECENT,
                  "the snapshot has run %d of an HBM bank", (int)past->next);
    if (a->is_failed) {
        *b = (struct hbm_bank){.open_row = 0};
        *past = (struct hbm_bank_past){.next = 0};
    }
}

static void archive_channel(struct hbm *h, int channel, struct archive *a)
{
    struct hbm_channel *ch = &h->channels[channel];
    bool was_used = ch->is_used;

    if (archive_is_loading(a) && was_used)
        hbm_reset_channel(h, channel);
    archive_fields(a, channel_fields, COUNT_OF(channel_fields), ch);
    archive_check(a, ch->read_bank >= 0 && ch->read_bank < h->config.bank_count,
                  "the snapshot has a read of bank %lld of an HBM channel",
                  (long long)ch->read_bank);
    if (a->is_failed)
        ch->read_bank = 0;
    if (!ch->is_used && was_used)       /* what it grew is nobody's then */
        hbm_free_channel(ch);
    if (!ch->is_used)
        return;
    archive_lists(h, ch, a);
    hbm_queue_archive(&ch->queue[0], h->config.read_queue, h->last_at, a);
    hbm_queue_archive(&ch->queue[1], h->config.write_queue, h->last_at, a);
    for (int i = 0; i < h->config.bank_count; i++)
        archive_bank(h, hbm_bank_index(h, channel, i), a);
}

void hbm_archive(struct hbm *h, struct archive *a)
{
    archive_fields(a, hbm_fields, COUNT_OF(hbm_fields), h);
    for (int i = 0; i < h->config.channel_count && !a->is_failed; i++)
        archive_channel(h, i, a);
}

uint32_t hbm_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, hbm_fields, COUNT_OF(hbm_fields));
    crc = archive_table_crc(crc, channel_fields, COUNT_OF(channel_fields));
    crc = archive_table_crc(crc, taken_fields, COUNT_OF(taken_fields));
    crc = archive_table_crc(crc, activate_fields, COUNT_OF(activate_fields));
    crc = archive_table_crc(crc, write_fields, COUNT_OF(write_fields));
    crc = hbm_queue_crc(crc);
    crc = archive_table_crc(crc, past_fields, COUNT_OF(past_fields));
    return archive_table_crc(crc, bank_fields, COUNT_OF(bank_fields));
}
