/*
 * Runs, bursts of one row of one bank: where they find room, what they leave.
 *
 * Between two refreshes of a bank lies an epoch. At its end the bank is closed
 * for tRP + tRFC; a run is planned within an epoch, and what of it does not fit
 * comes in the next one, where it finds its row closed. Epochs of all banks are
 * the same. Where banks are refreshed one by one, each is due at its own time,
 * begins when its bank has nothing left to do, and at the latest when it cannot
 * be postponed any more, at the end of the epoch.
 */
#include "hbm/hbm_append.h"

/* Where the commands and data of a run fall. */
struct plan {
    enum hbm_row kind;
    bool is_of_last_row;                /* before the precharge that is planned already */
    ps_t activate_at;                   /* not for a hit */
    ps_t data_at;
    size_t activate_place, data_place;
};

static ps_t find_data(const struct hbm_config *c, const struct hbm_channel *ch,
                      const struct hbm_request *q, ps_t command_at, int64_t bursts, size_t *place)
{
    return hbm_bus_find(c, ch, command_at + (q->is_write ? c->tcwl_ps : c->tcl_ps),
                        bursts * c->burst_ps, q->is_write, q->group, place);
}

/* A row that is open until a precharge that is planned: hits that come before it go before it. */
static bool fits_last_row(const struct hbm *h, const struct hbm_channel *ch, size_t bank,
                          const struct hbm_request *q, ps_t earliest, int64_t bursts,
                          struct plan *p)
{
    const struct hbm_config *c = &h->config;
    const struct hbm_bank *b = &h->banks[bank];

    if (b->last_row != q->row + 1 || earliest >= b->last_precharge_at)
        return false;
    p->data_at = find_data(c, ch, q, later(earliest, h->past[bank].last_column_at), bursts,
                           &p->data_place);
    return p->data_at + (bursts - 1) * c->burst_ps + h->derived.closing_ps[q->is_write] <=
           b->last_precharge_at;
}

static struct plan plan_run(const struct hbm *h, struct hbm_channel *ch, size_t bank,
                            const struct hbm_request *q, ps_t earliest, int64_t bursts)
{
    const struct hbm_config *c = &h->config;
    const struct hbm_bank *b = &h->banks[bank];
    struct plan p = {.kind = HBM_ROW_HIT};

    if (b->open_row == q->row + 1) {
        p.data_at = find_data(c, ch, q, later(earliest, b->column_at), bursts, &p.data_place);
        return p;
    }
    p.is_of_last_row = fits_last_row(h, ch, bank, q, earliest, bursts, &p);
    if (p.is_of_last_row)
        return p;
    p.kind = b->open_row == 0 ? HBM_ROW_CLOSED : HBM_ROW_CONFLICT;
    p.activate_at = p.kind == HBM_ROW_CLOSED ? earliest
                                             : later(earliest, b->precharge_at) + c->trp_ps;
    p.activate_at = hbm_activate_find(c, ch, p.activate_at, q->group,
                                      &p.activate_place);
    p.data_at = find_data(c, ch, q, p.activate_at + c->trcd_ps, bursts, &p.data_place);
    return p;
}

/* how many of the bursts let their bank be closed in time for the next refresh */
static int64_t count_fitting(const struct hbm *h, const struct plan *p, int64_t bursts,
                             bool is_write, ps_t due_at)
{
    const struct hbm_config *c = &h->config;
    ps_t closed_at = p->data_at + h->derived.closing_ps[is_write];

    if (closed_at > due_at ||
        (p->kind != HBM_ROW_HIT && p->activate_at + c->tras_ps > due_at))
        return 0;
    if (closed_at + (bursts - 1) * c->burst_ps <= due_at)
        return bursts;
    return (due_at - closed_at) / c->burst_ps + 1;
}

/* Make the plan happen for `bursts` bursts; returns the end of the last one. */
static ps_t commit_run(struct hbm *h, struct hbm_channel *ch, size_t bank,
                       const struct plan *p, const struct hbm_request *q, int64_t bursts)
{
    const struct hbm_config *c = &h->config;
    struct hbm_bank *b = &h->banks[bank];
    ps_t end_at = p->data_at + bursts * c->burst_ps;

    if (p->kind != HBM_ROW_HIT) {
        hbm_activate_take(ch, p->activate_place, p->activate_at, q->group);
        hbm_open_row(h, bank, q->row, p->activate_at);
    }
    if (!p->is_of_last_row)
        b->precharge_at = later(b->precharge_at,
                                end_at - c->burst_ps + h->derived.closing_ps[q->is_write]);
    hbm_bus_take(ch, p->data_place, p->data_at, end_at, q->is_write, q->group,
                 c->tccd_l_ps <= c->burst_ps);
    hbm_count_run(h, bank, p->kind, end_at, bursts, q->is_write);
    return end_at;
}

/* the first `bursts` bursts of what is left of a request */
static void tell(struct hbm *h, struct hbm_request *q, const struct plan *p, int64_t bursts,
                 ps_t end_at, bool has_met_refresh)
{
    int64_t end = ((q->column >> h->burst_shift) + bursts) << h->burst_shift;
    int64_t bytes = end - q->column < q->bytes ? end - q->column : q->bytes;

    h->watch(h->watch_context, &(struct hbm_run){
        .asked_at = h->last_at, .data_at = p->data_at, .end_at = end_at, .channel = q->channel,
        .bank = q->bank, .row = p->kind, .is_write = q->is_write,
        .has_met_refresh = has_met_refresh, .bytes = bytes});
    q->column = end;
    q->bytes -= bytes;
}

/*
 * The refreshes that a bank refreshed alone began before a run at `earliest`: once they were due
 * and it was idle. Returns when the run may begin.
 */
static ps_t refresh_idle_bank(const struct hbm *h, struct hbm_bank *b, int bank, ps_t earliest)
{
    const ps_t refi_ps = h->config.trefi_ps, refresh_ps = h->derived.refresh_ps;
    ps_t idle_at = b->precharge_at, due_at = hbm_epoch_of(h, bank, b->epoch).due;

    while (earliest > later(idle_at, due_at)) {
        int64_t count = 1;              /* the one that waits, or all of a time without work */

        if (idle_at <= due_at)
            count = (earliest - due_at + refi_ps - 1) / refi_ps;
        idle_at = later(idle_at, due_at + (count - 1) * refi_ps) + refresh_ps;
        due_at += count * refi_ps;
        b->epoch += count;
        b->open_row = b->last_row = 0;
        b->precharge_at = idle_at;
    }
    return b->open_row == 0 ? later(earliest, b->precharge_at) : earliest;
}

ps_t hbm_serve(struct hbm *h, struct hbm_request *q, ps_t *gone_at)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[q->channel];
    const size_t bank = hbm_bank_index(h, q->channel, q->bank);
    struct hbm_bank *b = &h->banks[bank];
    const int64_t most = c->tccd_l_ps > c->burst_ps ? 1 : INT64_MAX;
    int64_t bursts = q->bursts, number;
    struct hbm_epoch epoch;
    ps_t earliest, begin_at, end_at = q->at;
    bool is_held;

    if (ch->taken_count + ch->activate_count >= FORGET_FROM)
        hbm_bus_forget(c, ch, h->last_at);
    if (hbm_append(h, ch, q, gone_at, &end_at))
        return end_at;
    number = b->epoch;
    epoch = hbm_epoch_of(h, q->bank, number);
    *gone_at = later(q->at, hbm_bank_room_at(h, bank, bursts));
    begin_at = earliest = *gone_at + c->front_ps;
    if (earliest >= epoch.due && epoch.due < epoch.end) {
        begin_at = refresh_idle_bank(h, b, q->bank, earliest);
        number = b->epoch;
        epoch = hbm_epoch_of(h, q->bank, number);
    }
    if (begin_at >= epoch.end) {
        number += 1 + (begin_at - epoch.end) / c->trefi_ps;
        epoch = hbm_epoch_of(h, q->bank, number);
        begin_at = later(begin_at, epoch.end - c->trefi_ps + h->derived.refresh_ps);
    }
    begin_at = later(begin_at, epoch.start);
    is_held = begin_at > earliest;
    while (bursts > 0) {
        int64_t wanted = bursts < most ? bursts : most, fitting;
        struct plan p;

        if (b->epoch != number) {
            b->epoch = number;
            b->open_row = b->last_row = 0;
            epoch = hbm_epoch_of(h, q->bank, number);
        }
        p = plan_run(h, ch, bank, q, begin_at, wanted);
        fitting = count_fitting(h, &p, wanted, q->is_write, epoch.end);
        is_held |= fitting < wanted;
        if (fitting > 0)
            end_at = later(end_at, commit_run(h, ch, bank, &p, q, fitting));
        if (fitting > 0 && h->watch)
            tell(h, q, &p, fitting, end_at, is_held && fitting == bursts);
        bursts -= fitting;
        if (fitting < wanted) {
            number++;
            begin_at = later(begin_at, epoch.end + h->derived.refresh_ps);
        }
    }
    h->stats.refresh_waits += is_held;
    return end_at;
}
