/*
 * Copies, HBM and links on their way into the file: records, and sums in cells.
 * Each stream tells what it tells in an order of its own, by which what is told
 * again after a snapshot was taken up is known.
 */
#include "report/native_trace/ntrace_records.h"
#include "report/native_trace/ntrace_writer_impl.h"
#include "sim/time/clock.h"

void ntrace_other_out_init(struct ntrace_other_out *o, enum ntrace_chunk_kind kind, int stream)
{
    static const struct {
        enum ntrace_chunk_kind records, cells;
        int member_count;
    } kinds[] = {{CHUNK_DMAS, CHUNK_DMA_CELLS, DMA_CELL_COUNT},
                 {CHUNK_HBM, CHUNK_HBM_CELLS, NTRACE_HBM_COUNT},
                 {CHUNK_LINKS, CHUNK_LINK_CELLS, NTRACE_LINK_COUNT}};

    *o = (struct ntrace_other_out){.told_until = -1};
    o->records.head = (struct ntrace_chunk_head){.kind = (uint8_t)kind, .stream = (uint32_t)stream};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].records == kind)
            ntrace_spread_out_init(&o->cells, kinds[i].cells, (uint32_t)stream,
                                   kinds[i].member_count);
}

void ntrace_other_out_fini(struct ntrace_other_out *o)
{
    mem_free(o->records.buf.data);
    mem_free(o->covered);
    ntrace_spread_out_fini(&o->cells);
}

/* true for what is new */
static bool is_news(const struct ntrace_writer *w, struct ntrace_other_out *o, int64_t at)
{
    if (w->is_told_again && at <= o->told_until)
        return false;
    o->told_until = at;
    return true;
}

/* the record is kept, in a chunk that has room for it */
static bool take(struct ntrace_writer *w, struct ntrace_other_out *o, enum trace_level least,
                 cycle_t at, cycle_t end)
{
    if (w->options.level < least) {
        o->quota.left_out++;
        return false;
    }
    if (!ntrace_quota_take(&o->quota, w, at))
        return false;
    if (o->records.buf.size >= CHUNK_PAYLOAD_BYTES)
        ntrace_stream_flush(&o->records, &w->out);
    if (o->records.head.count == 0)
        memset(&o->before, 0, sizeof(o->before));
    ntrace_stream_note(&o->records, at, end);
    return true;
}

/* ---- copies ---- */

static void add_copy_part(struct ntrace_writer *w, struct ntrace_other_out *o, int member,
                          int64_t value, cycle_t start, cycle_t end)
{
    if (start < end)
        ntrace_spread_out_add(&o->cells, &w->out,
                              &(struct ntrace_spread){start, end, 1, {member}, {value}});
}

/* Times with any copy under way: what no copy before has covered is added, and covered now. */
static void cover(struct ntrace_writer *w, struct ntrace_other_out *o, cycle_t start, cycle_t end)
{
    cycle_t (*c)[2], first = start, last = end, at = start;
    size_t i = 0, behind;

    if (!o->covered)
        o->covered = mem_alloc((COVERED_MOST + 1) * sizeof(*o->covered));
    c = o->covered;
    while (i < o->covered_count && c[i][1] < start)
        i++;
    for (behind = i; behind < o->covered_count && c[behind][0] <= end; behind++) {
        add_copy_part(w, o, DMA_CELL_BUSY, c[behind][0] - at, at, c[behind][0]);
        at = later(at, c[behind][1]);
        first = first < c[behind][0] ? first : c[behind][0];
        last = later(last, c[behind][1]);
    }
    add_copy_part(w, o, DMA_CELL_BUSY, end - at, at, end);
    memmove(c + i + 1, c + behind, (o->covered_count - behind) * sizeof(*c));
    c[i][0] = first;
    c[i][1] = last;
    o->covered_count += 1 - (behind - i);
    if (o->covered_count > COVERED_MOST) {      /* so long ago that no copy lasts since then */
        c[1][0] = c[0][0];
        memmove(c, c + 1, --o->covered_count * sizeof(*c));
    }
}

void ntrace_other_out_dma(struct ntrace_writer *w, struct ntrace_other_out *o,
                          const struct trace_dma *d)
{
    struct ntrace_spread bytes = ntrace_spread_of_bytes(d);

    if (!is_news(w, o, d->done_at))
        return;
    if (take(w, o, TRACE_OP, d->issued_at, d->done_at))
        ntrace_put_dma(&o->records.buf, &o->before.dma, d);
    if (w->options.level < TRACE_OP)
        return;
    add_copy_part(w, o, DMA_CELL_IN_FLIGHT, d->done_at - d->issued_at, d->issued_at, d->done_at);
    add_copy_part(w, o, DMA_CELL_BYTES, d->bytes, bytes.start, bytes.end);
    cover(w, o, d->issued_at, d->done_at);
}

/* ---- HBM and links ---- */

void ntrace_other_out_hbm(struct ntrace_writer *w, struct ntrace_other_out *o,
                          const struct trace_hbm *h)
{
    struct ntrace_spread data = ntrace_spread_of_hbm(h, w->clock_mhz),
                         row = ntrace_spread_of_row(h, data.start);

    if (!is_news(w, o, h->asked_at))
        return;
    if (take(w, o, TRACE_BUNDLE, ntrace_cycle_of_ps(w->clock_mhz, trace_hbm_begins_at(h)),
             clock_cycle_at(w->clock_mhz, h->end_at)))
        ntrace_put_hbm(&o->records.buf, &o->before.hbm, h);
    if (w->options.level < TRACE_OP)
        return;
    ntrace_spread_out_add(&o->cells, &w->out, &data);
    ntrace_spread_out_add(&o->cells, &w->out, &row);
}

void ntrace_other_out_link(struct ntrace_writer *w, struct ntrace_other_out *o,
                           const struct trace_link *l)
{
    struct ntrace_spread s = ntrace_spread_of_link(l, w->clock_mhz);

    if (!is_news(w, o, l->start))
        return;
    if (take(w, o, TRACE_BUNDLE, ntrace_cycle_of_ps(w->clock_mhz, l->start),
             clock_cycle_at(w->clock_mhz, l->end)))
        ntrace_put_link(&o->records.buf, &o->before.link, l);
    if (w->options.level >= TRACE_OP)
        ntrace_spread_out_add(&o->cells, &w->out, &s);
}

void ntrace_other_out_launch(struct ntrace_writer *w, const struct machine *m)
{
    cycle_t start = w->launch_start, end = start + machine_cycles(m);

    if (start == end)
        return;
    for (int i = 0; i < w->chip_count; i++) {
        const struct hbm_stats *k = machine_hbm_stats(m, i);
        const struct ntrace_spread s[] = {
            {start, end, 3, {NTRACE_HBM_READ_BYTES, NTRACE_HBM_WRITE_BYTES, NTRACE_HBM_BUSY_PS},
             {k->read_bytes, k->write_bytes, k->busy_ps}},
            {start, end, 4, {NTRACE_HBM_HITS, NTRACE_HBM_CLOSED, NTRACE_HBM_CONFLICTS,
                             NTRACE_HBM_REFRESHES},
             {k->row_hits, k->row_closed, k->row_conflicts, k->refresh_waits}}};

        for (size_t j = 0; j < COUNT_OF(s); j++)
            ntrace_spread_out_add(&w->hbm[i].cells, &w->out, &s[j]);
    }
    for (int i = 0; i < w->link_count; i++) {
        const struct net_link_stats *k = net_link(machine_net(m), i);

        ntrace_spread_out_add(&w->link[i].cells, &w->out, &(struct ntrace_spread){
            start, end, 3, {NTRACE_LINK_PAYLOAD_BYTES, NTRACE_LINK_WIRE_BYTES,
                            NTRACE_LINK_BUSY_PS},
            {k->payload_bytes, k->wire_bytes, k->busy_ps}});
    }
}

void ntrace_other_out_flush(struct ntrace_other_out *o, struct ntrace_out *out, bool is_end)
{
    ntrace_stream_flush(&o->records, out);
    ntrace_spread_out_flush(&o->cells, out, is_end);
}
