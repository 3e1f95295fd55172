/*
 * Runs whose commands and data come behind all that is reserved on their
 * channel, as nearly all of a stream do: what hbm_serve comes to for them,
 * without a search. For hbm_channel.c, and inlined once more where reads of
 * streams come by.
 */
#ifndef HBM_HBM_APPEND_H
#define HBM_HBM_APPEND_H
#include "hbm/hbm_impl.h"

/* run i of those before the latest one, 0 the youngest */
static inline int hbm_older(const struct hbm_bank_past *past, int64_t i)
{
    int64_t k = past->next - 1 - i;

    return (int)(k < 0 ? k + BANK_RECENT - 1 : k);
}

/* when the queue of the bank takes `bursts` more, of what is planned so far */
static inline ps_t hbm_bank_room_at(const struct hbm *h, size_t bank, int64_t bursts)
{
    const struct hbm_bank *b = &h->banks[bank];
    const struct hbm_bank_past *past = &h->past[bank];

    bursts += b->issued_bursts;
    if (bursts > h->derived.bank_queue)
        return b->issued_at;
    for (int i = 0; i < b->older_count; i++) {
        int k = hbm_older(past, i);

        bursts += past->issued_bursts[k];
        if (bursts > h->derived.bank_queue || i == BANK_RECENT - 2)
            return past->issued_at[k];
    }
    return 0;
}

/* A run that fills the queue of its bank lets all older ones be forgotten. */
static inline void hbm_issue(struct hbm *h, size_t bank, ps_t at, int64_t bursts)
{
    struct hbm_bank *b = &h->banks[bank];

    if (bursts >= h->derived.bank_queue) {
        bursts = h->derived.bank_queue;
        b->older_count = 0;
    } else {
        struct hbm_bank_past *past = &h->past[bank];

        past->issued_at[past->next] = b->issued_at;
        past->issued_bursts[past->next] = b->issued_bursts;
        past->next = past->next < BANK_RECENT - 2 ? past->next + 1 : 0;
        b->older_count += b->older_count < BANK_RECENT - 1;
    }
    b->issued_at = at;
    b->issued_bursts = (int32_t)bursts;
}

static inline void hbm_open_row(struct hbm *h, size_t bank, int64_t row, ps_t activate_at)
{
    struct hbm_bank *b = &h->banks[bank];

    h->past[bank].last_column_at = b->column_at;
    b->last_row = b->open_row;
    b->last_precharge_at = activate_at - h->derived.trp_ps;
    b->open_row = row + 1;
    b->column_at = activate_at + h->derived.trcd_ps;
    b->precharge_at = activate_at + h->derived.tras_ps;
}

/* for the queue of the bank, and for the statistics */
static inline void hbm_count_run(struct hbm *h, size_t bank, enum hbm_row kind, ps_t end_at,
                                 int64_t bursts, bool is_write)
{
    hbm_issue(h, bank, end_at - h->derived.burst_ps - h->derived.latency_ps[is_write], bursts);
    h->stats.run_count++;
    h->stats.row_hits += kind == HBM_ROW_HIT;
    h->stats.row_closed += kind == HBM_ROW_CLOSED;
    h->stats.row_conflicts += kind == HBM_ROW_CONFLICT;
    h->stats.busy_ps += bursts * h->derived.burst_ps;
}

/* The activate of a run that is planned behind all others, long after them; -1: it is not. */
static inline ps_t hbm_activate_last(const struct hbm *h, const struct hbm_channel *ch,
                                     const struct hbm_bank *b, int64_t row, ps_t earliest)
{
    ps_t at = b->open_row == 0 ? earliest : later(earliest, b->precharge_at) + h->derived.trp_ps;

    if (b->last_row == row + 1 || ch->crowd > CROWD_MAX / 2 || at < ch->floor_at ||
        ch->activate_count == ch->activate_capacity ||
        (ch->activate_count > 0 && at < ch->activate[ch->activate_count - 1].at +
                                            h->derived.window_ps))
        return -1;
    return at;
}

/*
 * The epoch for commands from `earliest` on, to banks that are refreshed together: what older
 * epochs left in the bank is closed.
 */
static inline struct hbm_epoch hbm_next_epoch(const struct hbm *h, struct hbm_bank *b, int bank,
                                              struct hbm_epoch last, ps_t earliest)
{
    const ps_t refi_ps = h->config.trefi_ps;

    b->epoch += 1 + (earliest - last.end < refi_ps ? 0 : (earliest - last.end) / refi_ps);
    b->open_row = b->last_row = 0;
    return hbm_epoch_of(h, bank, b->epoch);
}

/*
 * False: it is none of them, and what hbm_serve returns is as it was. *gone_at is when it left
 * its queue. The channel has been used.
 */
static inline bool hbm_append(struct hbm *h, struct hbm_channel *ch, const struct hbm_request *q,
                              ps_t *gone_at, ps_t *end_at)
{
    const struct hbm_derived *d = &h->derived;
    const size_t bank = hbm_bank_index(h, q->channel, q->bank);
    struct hbm_bank *b = &h->banks[bank];
    ps_t gone = later(q->at, hbm_bank_room_at(h, bank, q->bursts)), earliest = gone + d->front_ps;
    ps_t activate_at = 0, ready_at, data_at, data_end_at, closed_at;
    struct hbm_epoch epoch = hbm_epoch_of(h, q->bank, b->epoch);
    struct hbm_taken *last;
    enum hbm_row kind = HBM_ROW_HIT;
    bool is_held;

    if (!h->may_append || ch->taken_count == 0 || ch->taken_count == ch->taken_capacity)
        return false;
    if (earliest >= epoch.due) {
        if (epoch.due < epoch.end)      /* the bank may have been idle */
            return false;
        epoch = hbm_next_epoch(h, b, q->bank, epoch, earliest);
    }
    is_held = earliest < epoch.start;
    earliest = is_held ? epoch.start : earliest;
    ready_at = later(earliest, b->column_at);
    if (b->open_row != q->row + 1) {
        kind = b->open_row == 0 ? HBM_ROW_CLOSED : HBM_ROW_CONFLICT;
        activate_at = hbm_activate_last(h, ch, b, q->row, earliest);
        if (activate_at < 0 || activate_at + d->tras_ps > epoch.end)
            return false;
        ready_at = activate_at + d->trcd_ps;
    }
    ready_at += d->latency_ps[q->is_write];
    last = &ch->taken[ch->taken_count - 1];
    data_at = later(ready_at, last->end + hbm_turn_ps(&h->config, last, q->is_write, q->group));
    data_end_at = data_at + q->bursts * d->burst_ps;
    closed_at = data_end_at - d->burst_ps + d->closing_ps[q->is_write];
    if (ready_at < last->start || ready_at < ch->floor_at || closed_at > epoch.end)
        return false;
    if (kind != HBM_ROW_HIT) {
        ch->crowd -= ch->crowd > 0;
        ch->activate[ch->activate_count++] = (struct hbm_activate){activate_at, q->group};
        hbm_open_row(h, bank, q->row, activate_at);
    }
    b->precharge_at = later(b->precharge_at, closed_at);
    if (data_at == last->end && last->is_write == q->is_write) {
        last->end = data_end_at;
        last->group = last->group == q->group ? last->group : -1;
    } else {
        last[1] = (struct hbm_taken){data_at, data_end_at, q->group, q->is_write};
        ch->taken_count++;
    }
    hbm_count_run(h, bank, kind, data_end_at, q->bursts, q->is_write);
    h->stats.refresh_waits += is_held;
    *gone_at = gone;
    *end_at = data_end_at;
    return true;
}
#endif
