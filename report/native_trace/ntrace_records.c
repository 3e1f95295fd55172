/*
 * Codes records as differences from what the record before leads to expect: variable-length
 * integers, most of a byte or two.
 */
#include "report/native_trace/ntrace_records.h"

#include "sim/observe/inspect.h"

static void put_general(struct ntrace_buf *b, const struct ntrace_core_coder *c,
                        const struct trace_record *r)
{
    ntrace_put_byte(b, TAG_GENERAL + r->kind);
    ntrace_put_signed(b, r->at - c->at);
    ntrace_put_signed(b, (int32_t)(r->bundle - c->bundle));
    ntrace_put_signed(b, r->value);
    if (r->kind == TRACE_STALL)
        ntrace_put_byte(b, r->reason);
    if (r->kind != TRACE_ACCESS)
        return;
    ntrace_put_byte(b, r->op);
    ntrace_put_byte(b, r->mask);
    ntrace_put_signed(b, r->stride);
}

static void follow(struct ntrace_core_coder *c, const struct trace_record *r)
{
    switch (r->kind) {
    case TRACE_RUN:
        c->at = r->at + r->value;
        c->bundle = r->bundle + (uint32_t)r->value;
        break;
    case TRACE_STALL:
    case RECORD_NOTE:
        c->at = r->at + r->value;
        c->bundle = r->bundle;
        break;
    case TRACE_LIVE:
        c->bundle = r->bundle;
        break;
    case TRACE_HALT:
        c->at = r->at;
        break;
    default:
        break;
    }
}

void ntrace_put_core_record_long(struct ntrace_buf *b, struct ntrace_core_coder *c,
                                 const struct trace_record *r, uint32_t bundle)
{
    struct trace_record numbered = *r;

    numbered.bundle = bundle;
    put_general(b, c, &numbered);
    follow(c, &numbered);
}

static void put_sums(struct ntrace_buf *b, const int64_t *value, int count)
{
    int gap = 0, i, held = 0;

    for (i = 0; i < count; i++)
        held += value[i] != 0;
    ntrace_put_varint(b, (uint64_t)held);
    for (i = 0; i < count; i++, gap++) {
        if (value[i] == 0)
            continue;
        ntrace_put_varint(b, (uint64_t)gap);
        ntrace_put_varint(b, (uint64_t)value[i]);
        gap = -1;
    }
}

static void get_sums(struct ntrace_cursor *c, int64_t *value, int count)
{
    uint64_t held = ntrace_get_varint(c);
    int at = 0;

    for (; held && !c->is_bad; held--, at++) {
        at += (int)ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, count);
        if (at >= count) {
            c->is_bad = true;
            return;
        }
        value[at] = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, NTRACE_TIME_MOST);
    }
}

void ntrace_put_repeat(struct ntrace_buf *b, struct ntrace_core_coder *c,
                       const struct trace_repeat *r)
{
    ntrace_buf_reserve(b, CORE_RECORD_MAX
                   + 2 * VARINT_MAX * (4 + (size_t)STALL_COUNT + MACHINE_UNIT_MAX));
    ntrace_put_byte(b, TAG_GENERAL + RECORD_REPEAT);
    ntrace_put_signed(b, r->at - c->at);
    ntrace_put_varint(b, (uint64_t)r->period);
    ntrace_put_varint(b, (uint64_t)r->count);
    ntrace_put_varint(b, (uint64_t)r->issue_cycles);
    put_sums(b, r->stall_cycles, STALL_COUNT);
    put_sums(b, r->busy_cycles, MACHINE_UNIT_MAX);
    c->at = r->at + r->period * r->count;
}

static void get_repeat(struct ntrace_cursor *c, struct ntrace_core_coder *coder,
                       const struct ntrace_core_limits *limits, struct trace_repeat *r)
{
    int64_t stall[COUNT_OF(limits->stall)] = {0};

    memset(r, 0, sizeof(*r));
    r->at = ntrace_get_within(
        c,
        coder->at + ntrace_get_within(c, ntrace_get_signed(c), -NTRACE_TIME_MOST, NTRACE_TIME_MOST),
        1, NTRACE_TIME_MOST);
    r->period = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 1, r->at);
    r->count = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 1, NTRACE_TIME_MOST / r->period);
    r->issue_cycles = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, r->period);
    get_sums(c, stall, COUNT_OF(stall));
    for (size_t i = 0; i < COUNT_OF(stall); i++)
        if (stall[i] && limits->stall[i] >= 0)
            r->stall_cycles[limits->stall[i]] += stall[i];
    get_sums(c, r->busy_cycles, MACHINE_UNIT_MAX);
    ntrace_get_within(c, r->at + r->period * r->count, 1, NTRACE_TIME_MOST);
    coder->at = c->is_bad ? coder->at : r->at + r->period * r->count;
}

/* a mistake ends the chunk; a stall of a reason that only a newer version knows is left out */
static bool check(struct ntrace_cursor *c, const struct ntrace_core_limits *limits,
                  struct trace_record *r)
{
    uint32_t bundles = limits->bundle_count ? limits->bundle_count : UINT32_MAX;

    ntrace_get_within(c, r->at, 0, NTRACE_TIME_MOST);
    if (r->kind == TRACE_RUN || r->kind == TRACE_STALL || r->kind == RECORD_NOTE)
        ntrace_get_within(c, r->value, 1, NTRACE_TIME_MOST - (c->is_bad ? 0 : r->at));
    if (r->kind == TRACE_RUN)
        ntrace_get_within(c, r->value, 1, (int64_t)bundles - r->bundle);
    if (r->kind != TRACE_HALT)
        ntrace_get_within(c, r->bundle, 0, (int64_t)bundles - 1);
    if (r->kind == TRACE_STALL && !c->is_bad) {
        int reason = limits->stall[r->reason % COUNT_OF(limits->stall)];

        if (reason < 0)
            return false;
        r->reason = (uint8_t)reason;
    }
    return !c->is_bad;
}

static void get_general(struct ntrace_cursor *c, const struct ntrace_core_coder *coder,
                        struct trace_record *r)
{
    r->at =
        coder->at + ntrace_get_within(c, ntrace_get_signed(c), -NTRACE_TIME_MOST, NTRACE_TIME_MOST);
    r->bundle =
        coder->bundle + (uint32_t)ntrace_get_within(c, ntrace_get_signed(c), INT32_MIN, INT32_MAX);
    r->value = ntrace_get_signed(c);
    if (r->kind == TRACE_STALL)
        r->reason = (uint8_t)ntrace_get_byte(c);
    if (r->kind != TRACE_ACCESS)
        return;
    r->op = (uint8_t)ntrace_get_byte(c);
    r->mask = (uint8_t)ntrace_get_byte(c);
    r->stride = (int32_t)ntrace_get_within(c, ntrace_get_signed(c), INT32_MIN, INT32_MAX);
}

bool ntrace_get_core_record(struct ntrace_cursor *c, struct ntrace_core_coder *coder,
                            const struct ntrace_core_limits *limits, struct trace_record *r,
                            struct trace_repeat *repeat)
{
    bool is_taken = false;

    while (!is_taken && !c->is_bad && c->at != c->end) {
        unsigned tag = ntrace_get_byte(c);

        *r = (struct trace_record){.at = coder->at, .bundle = coder->bundle};
        if (tag >= TAG_RUN) {
            r->kind = TRACE_RUN;
            r->value = ntrace_get_within(c, (int64_t)tag - TAG_RUN + 1, 1, RUN_SHORT_MOST);
        } else if (tag < TAG_GENERAL) {
            r->kind = TRACE_STALL;
            r->reason = (uint8_t)tag;
            r->value = (int64_t)ntrace_get_varint(c);
        } else {
            r->kind = (uint8_t)ntrace_get_within(c, (int64_t)tag - TAG_GENERAL, 0, RECORD_REPEAT);
            if (r->kind == RECORD_REPEAT && !c->is_bad) {
                get_repeat(c, coder, limits, repeat);
                return !c->is_bad;
            }
            get_general(c, coder, r);
        }
        is_taken = check(c, limits, r);
        if (!c->is_bad)
            follow(coder, r);
    }
    return is_taken;
}

/* ---- copies, HBM, links ---- */

void ntrace_put_dma(struct ntrace_buf *b, struct trace_dma *before, const struct trace_dma *d)
{
    ntrace_buf_reserve(b, OTHER_RECORD_MAX);
    ntrace_put_signed(b, d->issued_at - before->issued_at);
    ntrace_put_signed(b, d->started_at - d->issued_at);
    ntrace_put_signed(b, d->done_at - d->issued_at);
    ntrace_put_signed(b, (int32_t)(d->bundle - before->bundle));
    ntrace_put_varint(b, d->code);
    ntrace_put_byte(b, d->source_space);
    ntrace_put_byte(b, d->destination_space);
    ntrace_put_signed(b, d->target);
    ntrace_put_signed(b, d->source_address - before->source_address);
    ntrace_put_signed(b, d->destination_address - before->destination_address);
    ntrace_put_varint(b, (uint64_t)d->bytes);
    ntrace_put_varint(b, (uint64_t)d->run_bytes);
    ntrace_put_signed(b, d->flag);
    ntrace_put_signed(b, (int32_t)(d->number - before->number));
    *before = *d;
}

static int64_t get_time(struct ntrace_cursor *c, int64_t base)
{
    int64_t step = ntrace_get_within(c, ntrace_get_signed(c), -NTRACE_TIME_MOST, NTRACE_TIME_MOST);

    return ntrace_get_within(c, base + step, 0, NTRACE_TIME_MOST);
}

static int64_t get_address(struct ntrace_cursor *c, int64_t base)
{
    int64_t step = ntrace_get_within(c, ntrace_get_signed(c), -NTRACE_TIME_MOST, NTRACE_TIME_MOST);

    return ntrace_get_within(c, base + step, -NTRACE_TIME_MOST, NTRACE_TIME_MOST);
}

bool ntrace_get_dma(struct ntrace_cursor *c, struct trace_dma *d)
{
    if (c->at == c->end || c->is_bad)
        return false;
    d->issued_at = get_time(c, d->issued_at);
    d->started_at = get_time(c, d->issued_at);
    d->done_at = get_time(c, d->issued_at);
    d->bundle += (uint32_t)ntrace_get_within(c, ntrace_get_signed(c), INT32_MIN, INT32_MAX);
    d->code = (uint16_t)ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, OP_COUNT - 1);
    d->source_space =
        (uint8_t)ntrace_get_within(c, (int64_t)ntrace_get_byte(c), 0, MEMORY_COUNT - 1);
    d->destination_space =
        (uint8_t)ntrace_get_within(c, (int64_t)ntrace_get_byte(c), 0, MEMORY_COUNT - 1);
    d->target = (int32_t)ntrace_get_within(c, ntrace_get_signed(c), 0, INT32_MAX);
    d->source_address = get_address(c, d->source_address);
    d->destination_address = get_address(c, d->destination_address);
    d->bytes = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, NTRACE_TIME_MOST);
    d->run_bytes = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, NTRACE_TIME_MOST);
    d->flag = (int32_t)ntrace_get_within(c, ntrace_get_signed(c), INT32_MIN, INT32_MAX);
    d->number += (uint32_t)ntrace_get_within(c, ntrace_get_signed(c), INT32_MIN, INT32_MAX);
    ntrace_get_within(c, d->done_at, d->issued_at, NTRACE_TIME_MOST);
    ntrace_get_within(c, d->started_at, d->issued_at, c->is_bad ? INT64_MAX : d->done_at);
    return !c->is_bad;
}

enum { HBM_IS_WRITE = 4, HBM_HAS_MET_REFRESH = 8 };

void ntrace_put_hbm(struct ntrace_buf *b, struct trace_hbm *before, const struct trace_hbm *h)
{
    ntrace_buf_reserve(b, OTHER_RECORD_MAX);
    ntrace_put_byte(b, h->row | (h->is_write ? HBM_IS_WRITE : 0u)
                | (h->has_met_refresh ? HBM_HAS_MET_REFRESH : 0u));
    ntrace_put_signed(b, h->asked_at - before->asked_at);
    ntrace_put_signed(b, h->data_at - h->asked_at);
    ntrace_put_signed(b, h->end_at - h->data_at);
    ntrace_put_signed(b, h->channel - before->channel);
    ntrace_put_signed(b, h->bank - before->bank);
    ntrace_put_varint(b, (uint64_t)h->bytes);
    *before = *h;
}

bool ntrace_get_hbm(struct ntrace_cursor *c, struct trace_hbm *h)
{
    unsigned flags;

    if (c->at == c->end || c->is_bad)
        return false;
    flags = ntrace_get_byte(c);
    h->row = (uint8_t)ntrace_get_within(c, flags & 3, 0, TRACE_ROW_CONFLICT);
    h->is_write = (flags & HBM_IS_WRITE) != 0;
    h->has_met_refresh = (flags & HBM_HAS_MET_REFRESH) != 0;
    h->asked_at = get_time(c, h->asked_at);
    h->data_at = get_time(c, h->asked_at);
    h->end_at = get_time(c, h->data_at);
    h->channel = (int16_t)(h->channel + ntrace_get_within(c, ntrace_get_signed(c), -h->channel,
                                                          INT16_MAX - h->channel));
    h->bank = (int16_t)(h->bank +
                        ntrace_get_within(c, ntrace_get_signed(c), -h->bank, INT16_MAX - h->bank));
    h->bytes = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, NTRACE_TIME_MOST);
    ntrace_get_within(c, h->end_at, h->data_at, NTRACE_TIME_MOST);
    return !c->is_bad;
}

void ntrace_put_link(struct ntrace_buf *b, struct trace_link *before, const struct trace_link *l)
{
    ntrace_buf_reserve(b, OTHER_RECORD_MAX);
    ntrace_put_signed(b, l->start - before->start);
    ntrace_put_signed(b, l->end - l->start);
    ntrace_put_varint(b, (uint64_t)l->payload_bytes);
    ntrace_put_signed(b, l->wire_bytes - l->payload_bytes);
    ntrace_put_signed(b, l->core - before->core);
    ntrace_put_varint(b, l->dma == UINT32_MAX ? 0 : (uint64_t)l->dma + 1);
    *before = *l;
}

bool ntrace_get_link(struct ntrace_cursor *c, struct trace_link *l)
{
    uint64_t dma;

    if (c->at == c->end || c->is_bad)
        return false;
    l->start = get_time(c, l->start);
    l->end = get_time(c, l->start);
    l->payload_bytes = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, NTRACE_TIME_MOST);
    l->wire_bytes = get_time(c, l->payload_bytes);
    l->core = (int32_t)ntrace_get_within(
        c, l->core + ntrace_get_within(c, ntrace_get_signed(c), INT32_MIN, INT32_MAX), 0,
        INT32_MAX);
    dma = ntrace_get_varint(c);
    ntrace_get_within(c, (int64_t)dma, 0, UINT32_MAX);
    l->dma = dma == 0 ? UINT32_MAX : (uint32_t)(dma - 1);
    ntrace_get_within(c, l->end, l->start, NTRACE_TIME_MOST);
    return !c->is_bad;
}
