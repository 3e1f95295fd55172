/*
 * Runs, bursts of one row of one bank: where they find room, what they leave.
 *
 * Between two refreshes lies an epoch. At its end all banks are closed for
 * tRP + tRFC; a run is planned within an epoch, and what of it does not fit
 * comes in the next one, where it finds its row closed.
 */
#include "hbm/hbm_impl.h"

/* Where the commands and data of a run fall. */
struct plan {
    enum hbm_row kind;
    bool is_of_last_row;                /* before the precharge that is planned already */
    ps_t activate_at;                   /* not for a hit */
    ps_t data_at;
    size_t activate_place, data_place;
};

static ps_t epoch_start_ps(const struct hbm_config *c, int64_t epoch)
{
    return epoch > 0 ? epoch * c->trefi_ps + c->trp_ps + c->trfc_ps : 0;
}

static ps_t epoch_end_ps(const struct hbm_config *c, int64_t epoch)
{
    return c->trefi_ps > 0 ? (epoch + 1) * c->trefi_ps : INT64_MAX;
}

/* the bank may be closed so long after the last burst's data have begun */
static ps_t closing_ps(const struct hbm_config *c, bool is_write)
{
    return is_write ? c->burst_ps + c->twr_ps : c->trtp_ps - c->tcl_ps;
}

static ps_t find_data(const struct hbm_config *c, const struct hbm_channel *ch,
                      const struct hbm_request *q, ps_t command_at, int64_t bursts, size_t *place)
{
    return hbm_bus_find(c, ch, command_at + (q->is_write ? c->tcwl_ps : c->tcl_ps),
                        bursts * c->burst_ps, q->is_write, q->group, place);
}

/* A row that is open until a precharge that is planned: hits that come before it go before it. */
static bool fits_last_row(const struct hbm_config *c, const struct hbm_channel *ch,
                          const struct hbm_bank *b, const struct hbm_request *q, ps_t earliest,
                          int64_t bursts, struct plan *p)
{
    if (b->last_row != q->row + 1 || earliest >= b->last_precharge_at)
        return false;
    p->data_at = find_data(c, ch, q, later(earliest, b->last_column_at), bursts, &p->data_place);
    return p->data_at + (bursts - 1) * c->burst_ps + closing_ps(c, q->is_write) <=
           b->last_precharge_at;
}

static struct plan plan_run(const struct hbm_config *c, struct hbm_channel *ch,
                            const struct hbm_bank *b, const struct hbm_request *q, ps_t earliest,
                            int64_t bursts)
{
    struct plan p = {.kind = HBM_ROW_HIT};

    if (b->open_row == q->row + 1) {
        p.data_at = find_data(c, ch, q, later(earliest, b->column_at), bursts, &p.data_place);
        return p;
    }
    p.is_of_last_row = fits_last_row(c, ch, b, q, earliest, bursts, &p);
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
static int64_t count_fitting(const struct hbm_config *c, const struct plan *p, int64_t bursts,
                             bool is_write, ps_t due_at)
{
    ps_t closed_at = p->data_at + closing_ps(c, is_write);

    if (closed_at > due_at ||
        (p->kind != HBM_ROW_HIT && p->activate_at + c->tras_ps > due_at))
        return 0;
    if (closed_at + (bursts - 1) * c->burst_ps <= due_at)
        return bursts;
    return (due_at - closed_at) / c->burst_ps + 1;
}

/* Make the plan happen for `bursts` bursts; returns the end of the last one. */
static ps_t commit_run(struct hbm *h, struct hbm_channel *ch, struct hbm_bank *b,
                       const struct plan *p, const struct hbm_request *q, int64_t bursts)
{
    const struct hbm_config *c = &h->config;
    ps_t busy_ps = bursts * c->burst_ps, end_at = p->data_at + busy_ps;

    if (p->kind != HBM_ROW_HIT) {
        hbm_activate_take(ch, p->activate_place, p->activate_at, q->group);
        b->last_row = b->open_row;
        b->last_column_at = b->column_at;
        b->last_precharge_at = p->activate_at - c->trp_ps;
        b->open_row = q->row + 1;
        b->column_at = p->activate_at + c->trcd_ps;
        b->precharge_at = p->activate_at + c->tras_ps;
    }
    if (!p->is_of_last_row)
        b->precharge_at = later(b->precharge_at,
                                end_at - c->burst_ps + closing_ps(c, q->is_write));
    hbm_bus_take(ch, p->data_place, p->data_at, end_at, q->is_write, q->group,
                 c->tccd_l_ps <= c->burst_ps);
    b->recent = (b->recent + 1) % BANK_RECENT;
    b->issued[b->recent] = (struct hbm_issued){
        end_at - c->burst_ps - (q->is_write ? c->tcwl_ps : c->tcl_ps), bursts};

    h->stats.run_count++;
    h->stats.row_hits += p->kind == HBM_ROW_HIT;
    h->stats.row_closed += p->kind == HBM_ROW_CLOSED;
    h->stats.row_conflicts += p->kind == HBM_ROW_CONFLICT;
    h->stats.busy_ps += busy_ps;
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

/* when the queue of the bank takes `bursts` more, of what is planned so far */
static ps_t bank_room_at(const struct hbm_config *c, const struct hbm_bank *b, int64_t bursts)
{
    for (int64_t i = 0; i < BANK_RECENT; i++) {
        int64_t k = (b->recent + BANK_RECENT - i) % BANK_RECENT;

        bursts += b->issued[k].bursts;
        if (bursts > c->bank_queue)
            return b->issued[k].at;
    }
    return b->issued[(b->recent + 1) % BANK_RECENT].at;
}

ps_t hbm_serve(struct hbm *h, struct hbm_request *q, ps_t *gone_at)
{
    const struct hbm_config *c = &h->config;
    struct hbm_channel *ch = &h->channels[q->channel];
    struct hbm_bank *b = &h->banks[q->channel * c->bank_count + q->bank];
    const int64_t most = c->tccd_l_ps > c->burst_ps ? 1 : INT64_MAX;
    int64_t bursts = q->bursts, epoch = b->epoch;
    ps_t earliest, end_at = q->at;
    bool is_held;

    *gone_at = later(q->at, bank_room_at(c, b, bursts));
    earliest = *gone_at + c->front_ps;
    if (earliest >= epoch_end_ps(c, epoch))
        epoch = earliest / c->trefi_ps;
    is_held = earliest < epoch_start_ps(c, epoch);
    hbm_bus_forget(c, ch, h->last_at);
    while (bursts > 0) {
        int64_t wanted = bursts < most ? bursts : most, fitting;
        struct plan p;

        if (b->epoch != epoch) {
            b->epoch = epoch;
            b->open_row = b->last_row = 0;
        }
        p = plan_run(c, ch, b, q, later(earliest, epoch_start_ps(c, epoch)), wanted);
        fitting = count_fitting(c, &p, wanted, q->is_write, epoch_end_ps(c, epoch));
        is_held |= fitting < wanted;
        if (fitting > 0)
            end_at = later(end_at, commit_run(h, ch, b, &p, q, fitting));
        if (fitting > 0 && h->watch)
            tell(h, q, &p, fitting, end_at, is_held && fitting == bursts);
        bursts -= fitting;
        epoch += fitting < wanted;
    }
    h->stats.refresh_waits += is_held;
    return end_at;
}
