/*
 * Operations that reach outside the core: sync flags and DMA. They leave a
 * request in the outbox; what blocks has been settled before the bundle issued.
 */
#include "sim/core.h"

void core_post(struct core *c, cycle_t at, const struct event *e)
{
    struct event posted = *e;

    posted.at = clock_edge_ps(c->clock_mhz, at);
    posted.core = (uint16_t)c->number;
    posted.sequence = c->sequence++;
    event_append(&c->outbox, &posted);
}

bool core_check_flag(struct core *c, const struct decoded_op *o, int32_t flag)
{
    if (flag >= 0 && flag < c->chip->sync_flags)
        return true;
    core_fault(c, FAULT_ADDRESS, "sync flag %d out of 0..%d in %s", (int)flag,
               (int)c->chip->sync_flags - 1, isa_info(o->code)->mnemonic);
    return false;
}

static bool check_core(struct core *c, const struct decoded_op *o, int32_t number)
{
    if (number >= 0 && number < c->core_count)
        return true;
    core_fault(c, FAULT_ADDRESS, "core %d out of 0..%d in %s", (int)number, c->core_count - 1,
               isa_info(o->code)->mnemonic);
    return false;
}

void exec_VSYNCADD(struct core *c, const struct decoded_op *o)
{
    int32_t flag = c->s[o->o[0]];

    if (core_check_flag(c, o, flag))
        core_post(c, c->issue_at, &(struct event){.kind = EVENT_ADD, .cause = CAUSE_CORE,
                                                  .target = c->number, .flag = flag,
                                                  .value = c->s[o->o[1]]});
}

void exec_VSYNCADD_R(struct core *c, const struct decoded_op *o)
{
    int32_t flag = c->s[o->o[0]], target = c->s[o->o[2]];

    if (core_check_flag(c, o, flag) && check_core(c, o, target))
        core_post(c, c->issue_at, &(struct event){.kind = EVENT_REMOTE_ADD, .target = target,
                                                  .flag = flag, .value = c->s[o->o[1]]});
}

void exec_VSYNCMOV(struct core *c, const struct decoded_op *o)
{
    c->s[o->o[0]] = c->read_value[o->o[0]];
}

/* These take effect in time order, before their bundle issues: sim/serial.c. */
#define SETTLED(id) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        (void)c; \
        (void)o; \
    }

SETTLED(VSYNCSET)
SETTLED(VSYNCPA)
SETTLED(VWAIT_EQ)
SETTLED(VWAIT_NE)
SETTLED(VWAIT_GE)
SETTLED(VWAIT_GT)
SETTLED(VWAIT_LT)
SETTLED(DMA_DONE)
SETTLED(VDELAY)                         /* all of it is time: sim/timing.c */
SETTLED(SFENCE)

void exec_VTRACE(struct core *c, const struct decoded_op *o)
{
    if (c->is_traced)
        core_trace(c, &(struct trace_event){.start = c->issue_at, .end = c->issue_at + 1,
                                            .bundle = c->pc, .code = OP_VTRACE,
                                            .track = TRACK_MISC, .bytes = c->s[o->o[0]]});
}

void exec_VPUSH(struct core *c, const struct decoded_op *o)
{
    words_write(&c->v2s, c->tile[o->o[0]][0]);
}

/* all of the runs of one side lie within the memory; in granules nothing can overflow */
static bool check_range(struct core *c, const struct decoded_op *o, const struct dma *d,
                        const char *memory, bool is_source, int64_t limit_bytes)
{
    int64_t granule = c->chip->dma_granule_bytes;
    int64_t first = (is_source ? d->source : d->destination) / granule;
    int64_t stride = (is_source ? d->source_stride : d->destination_stride) / granule;
    int64_t run = d->run_bytes / granule, size = d->bytes / granule;
    int64_t full = size / run, rest = size % run;       /* runs; granules of a shorter last one */
    int64_t last_full = first + (full - 1) * stride, last = rest ? last_full + stride : last_full;
    int64_t lowest = first < last ? first : last;
    int64_t end = (first < last_full ? last_full : first) + run;

    if (last + rest > end)
        end = last + rest;

    if (lowest >= 0 && end <= limit_bytes / granule)
        return true;
    core_fault(c, FAULT_ADDRESS, "%s %s granules %lld..%lld out of 0..%lld in %s", memory,
               is_source ? "source" : "destination", (long long)lowest, (long long)end - 1,
               (long long)(limit_bytes / granule) - 1, isa_info(o->code)->mnemonic);
    return false;
}

static bool fill_sizes(struct core *c, const struct decoded_op *o, struct dma *d)
{
    int64_t granule = c->chip->dma_granule_bytes;
    int64_t size = c->s[o->o[1]], run = size;
    bool is_strided = o->code == OP_DMA_HBM_VMEM_STR || o->code == OP_DMA_VMEM_HBM_STR;

    if (is_strided)
        run = c->s[o->o[6]];
    if (size < 1 || run < 1) {
        core_fault(c, FAULT_OPERATION, "%s of %lld granules in runs of %lld; at least 1 is needed",
                   isa_info(o->code)->mnemonic, (long long)size, (long long)run);
        return false;
    }
    *d = (struct dma){.code = o->code, .source = c->s[o->o[0]] * granule,
                      .destination = c->s[o->o[2]] * granule, .bytes = size * granule,
                      .run_bytes = (run < size ? run : size) * granule,
                      .flag = c->s[o->o[3]], .target = c->number,
                      .issued_at = c->issue_at, .stalled_from = c->now, .bundle = c->pc};
    d->source_stride = is_strided ? c->s[o->o[4]] * granule : d->run_bytes;
    d->destination_stride = is_strided ? c->s[o->o[5]] * granule : d->run_bytes;
    return core_check_flag(c, o, d->flag);
}

static void start_dma(struct core *c, const struct dma *d)
{
    int slot = c->dma_free[--c->dma_free_count];

    c->dma[slot] = *d;
    core_post(c, c->issue_at, &(struct event){.kind = EVENT_DMA, .slot = slot});
}

#define LOCAL_DMA(id, source_name, source_limit, destination_name, destination_limit) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        struct dma d; \
        if (fill_sizes(c, o, &d) && check_range(c, o, &d, source_name, true, source_limit) \
            && check_range(c, o, &d, destination_name, false, destination_limit)) \
            start_dma(c, &d); \
    }

LOCAL_DMA(DMA_HBM_VMEM, "hbm", c->hbm_bytes, "vmem", c->chip->vmem_bytes)
LOCAL_DMA(DMA_VMEM_HBM, "vmem", c->chip->vmem_bytes, "hbm", c->hbm_bytes)
LOCAL_DMA(DMA_HBM_SMEM, "hbm", c->hbm_bytes, "smem", c->chip->smem_bytes)
LOCAL_DMA(DMA_VMEM_SMEM, "vmem", c->chip->vmem_bytes, "smem", c->chip->smem_bytes)
LOCAL_DMA(DMA_HBM_VMEM_STR, "hbm", c->hbm_bytes, "vmem", c->chip->vmem_bytes)
LOCAL_DMA(DMA_VMEM_HBM_STR, "vmem", c->chip->vmem_bytes, "hbm", c->hbm_bytes)

void exec_DMA_VMEM_REMOTE(struct core *c, const struct decoded_op *o)
{
    struct dma d;

    if (!fill_sizes(c, o, &d))
        return;
    d.source_flag = c->s[o->o[4]];
    d.target = c->s[o->o[5]];
    if (core_check_flag(c, o, d.source_flag) && check_core(c, o, d.target)
        && check_range(c, o, &d, "vmem", true, c->chip->vmem_bytes)
        && check_range(c, o, &d, "vmem", false, c->chip->vmem_bytes))
        start_dma(c, &d);
}
