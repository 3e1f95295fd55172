/*
 * DMA operations: from operands or a descriptor to a copy that starts. Every
 * address is checked here, so that later stages need not.
 */
#include "sim/core/hooks.h"
#include "sim/core/known.h"

#include <string.h>

static const char *const space_name[SPACE_COUNT] = {"hbm", "vmem", "smem", "cmem", "host"};

static const struct dma_way {
    uint8_t source, destination;
    bool is_remote;
} ways[OP_COUNT] = {
    [OP_DMA_HBM_VMEM] = {SPACE_HBM, SPACE_VMEM, false},
    [OP_DMA_VMEM_HBM] = {SPACE_VMEM, SPACE_HBM, false},
    [OP_DMA_HBM_SMEM] = {SPACE_HBM, SPACE_SMEM, false},
    [OP_DMA_SMEM_HBM] = {SPACE_SMEM, SPACE_HBM, false},
    [OP_DMA_VMEM_SMEM] = {SPACE_VMEM, SPACE_SMEM, false},
    [OP_DMA_SMEM_VMEM] = {SPACE_SMEM, SPACE_VMEM, false},
    [OP_DMA_VMEM_VMEM] = {SPACE_VMEM, SPACE_VMEM, false},
    [OP_DMA_HBM_HBM] = {SPACE_HBM, SPACE_HBM, false},
    [OP_DMA_HBM_CMEM] = {SPACE_HBM, SPACE_CMEM, false},
    [OP_DMA_CMEM_HBM] = {SPACE_CMEM, SPACE_HBM, false},
    [OP_DMA_VMEM_CMEM] = {SPACE_VMEM, SPACE_CMEM, false},
    [OP_DMA_CMEM_VMEM] = {SPACE_CMEM, SPACE_VMEM, false},
    [OP_DMA_HBM_HOST] = {SPACE_HBM, SPACE_HOST, false},
    [OP_DMA_HOST_HBM] = {SPACE_HOST, SPACE_HBM, false},
    [OP_DMA_VMEM_HOST] = {SPACE_VMEM, SPACE_HOST, false},
    [OP_DMA_HOST_VMEM] = {SPACE_HOST, SPACE_VMEM, false},
    [OP_DMA_VMEM_REMOTE] = {SPACE_VMEM, SPACE_VMEM, true},
    [OP_DMA_VMEM_HBM_REMOTE] = {SPACE_VMEM, SPACE_HBM, true},
    [OP_DMA_HBM_VMEM_REMOTE] = {SPACE_HBM, SPACE_VMEM, true},
    [OP_DMA_HBM_HBM_REMOTE] = {SPACE_HBM, SPACE_HBM, true},
};

/* The words of a descriptor in SMEM: docs/memory.md. */
enum {
    WORD_SPACES, WORD_SOURCE, WORD_DESTINATION, WORD_RUN, WORD_LEVELS,
    WORD_FLAG = WORD_LEVELS + 3 * DMA_LEVEL_MAX, WORD_SOURCE_FLAG, WORD_CORE, WORD_COUNT
};
#define SPACES_REMOTE 0x100u

static int64_t space_bytes(const struct core *c, int space)
{
    switch (space) {
    case SPACE_HBM: return c->hbm_bytes;
    case SPACE_VMEM: return c->chip->vmem_bytes;
    case SPACE_SMEM: return c->chip->smem_bytes;
    case SPACE_HOST: return c->chip->host_window_bytes;
    default: return c->cmem_bytes;
    }
}

/* a granule number; those of HBM and host have no sign, so that they may have 128 GiB */
static int64_t granules_of(int space, int32_t word)
{
    return space == SPACE_HBM || space == SPACE_HOST ? (int64_t)(uint32_t)word : word;
}

struct span {
    int64_t first, end;                 /* granules from the lowest to behind the highest */
};

static void widen(struct span *s, int64_t first, int64_t end)
{
    s->first = first < s->first ? first : s->first;
    s->end = end > s->end ? end : s->end;
}

/* All runs of one side. In granules nothing can overflow: there are at most 2^31 of them. */
static struct span span_of(const struct dma *d, bool is_destination, int64_t granule)
{
    int64_t start = (is_destination ? d->destination : d->source) / granule;
    int64_t run = d->run_bytes / granule, rest = d->bytes % d->run_bytes / granule;
    int64_t below = 0, above = 0;
    struct span s = {start, start + run};

    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        const struct dma_level *l = &d->level[i];
        int64_t stride = (is_destination ? l->destination_stride : l->source_stride) / granule;
        int64_t reach = (l->count - 1 - (i == 0 && rest)) * stride;

        below += reach < 0 ? reach : 0;
        above += reach > 0 ? reach : 0;
        if (i == 0 && rest)             /* a shorter run comes last; other levels have one round */
            widen(&s, start + reach + stride, start + reach + stride + rest);
    }
    widen(&s, start + below, start + above + run);
    return s;
}

static bool check_span(struct core *c, const struct dma *d, bool is_destination,
                       const struct span *s)
{
    int space = is_destination ? d->destination_space : d->source_space;
    int64_t count = space_bytes(c, space) / c->chip->dma_granule_bytes;
    const char *name = isa_info((enum isa_opcode)d->code)->mnemonic;

    if (s->first >= 0 && s->end <= count)
        return true;
    if (count == 0)
        core_fault(c, FAULT_ADDRESS, "%s: the chip has no %s", name, space_name[space]);
    else
        core_fault(c, FAULT_ADDRESS, "%s %s granules %lld..%lld out of 0..%lld in %s",
                   space_name[space], is_destination ? "destination" : "source",
                   (long long)s->first, (long long)s->end - 1, (long long)count - 1, name);
    return false;
}

bool dma_is_possible(const struct core *c, const struct dma *d)
{
    int64_t granule = c->chip->dma_granule_bytes, runs = 1;
    bool is_flat = d->level[1].count == 1 && d->level[2].count == 1, is_whole = true;

    if (d->bytes < 1 || d->run_bytes < 1 || d->bytes / granule > INT32_MAX
        || (d->bytes % d->run_bytes != 0 && !is_flat))
        return false;
    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        const struct dma_level *l = &d->level[i];

        if (l->count < 1 || l->count > INT32_MAX || (runs *= l->count) > INT32_MAX
            || l->source_stride / granule != (int32_t)(l->source_stride / granule)
            || l->destination_stride / granule != (int32_t)(l->destination_stride / granule))
            return false;
        is_whole &= l->source_stride % granule == 0 && l->destination_stride % granule == 0;
    }
    for (int side = 0; side < 2; side++) {
        int space = side ? d->destination_space : d->source_space;
        int64_t start = side ? d->destination : d->source;
        struct span s;

        if (space >= SPACE_COUNT || start < 0 || start > space_bytes(c, space))
            return false;
        s = span_of(d, side, granule);
        if (s.first < 0 || s.end > space_bytes(c, space) / granule || start % granule != 0)
            return false;
    }
    return is_whole && runs == div_up(d->bytes, d->run_bytes) && d->bytes % granule == 0
           && d->run_bytes % granule == 0;
}

/* of a copy between memories of one kind */
static bool is_same_memory(const struct core *c, const struct dma *d)
{
    int64_t cores = c->chip->chip_cores;

    return d->target == c->number
           || (c->shares_hbm && d->source_space == SPACE_HBM
               && d->target / cores == c->number / cores);
}

static bool check_ranges(struct core *c, const struct dma *d)
{
    struct span from = span_of(d, false, c->chip->dma_granule_bytes);
    struct span to = span_of(d, true, c->chip->dma_granule_bytes);

    if (!check_span(c, d, false, &from) || !check_span(c, d, true, &to))
        return false;
    if (d->source_space != d->destination_space || !is_same_memory(c, d)
        || from.end <= to.first || to.end <= from.first)
        return true;
    core_fault(c, FAULT_ADDRESS, "%s source granules %lld..%lld overlap the destination %lld..%lld"
               " in %s", space_name[d->source_space], (long long)from.first,
               (long long)from.end - 1, (long long)to.first, (long long)to.end - 1,
               isa_info((enum isa_opcode)d->code)->mnemonic);
    return false;
}

static void count_start(struct core *c, const struct dma *d)
{
    struct bundle_copies *to = &c->bundle_copies[d->bundle];
    int64_t cores = c->chip->chip_cores;

    to->bytes += d->bytes;
    to->hbm_bytes += d->bytes * ((d->source_space == SPACE_HBM)
                                 + (d->destination_space == SPACE_HBM));
    if (c->number / cores != d->target / cores)
        to->ici_bytes += d->bytes;
}

/* `d` in granules from its fields up to the levels; checks, turns to bytes and starts it */
static void start_dma(struct core *c, const struct decoded_op *o, struct dma *d)
{
    int64_t granule = c->chip->dma_granule_bytes;
    int slot;

    d->code = o->code;
    d->source *= granule;
    d->destination *= granule;
    d->bytes *= granule;
    d->run_bytes *= granule;
    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        d->level[i].source_stride *= granule;
        d->level[i].destination_stride *= granule;
    }
    d->issued_at = c->issue_at;
    d->stalled_from = c->now;
    d->bundle = c->pc;
    d->number = c->dma_issued;
    if (!core_check_flag(c, o, d->flag) || !core_check_flag(c, o, d->source_flag)
        || !core_check_core(c, o, d->target) || !check_ranges(c, d)
        || (c->mode == MODE_TIMING && !known_check_start(c, d)))
        return;
    d->source_piece_bytes = dma_piece_bytes(d, false);
    d->destination_piece_bytes = dma_piece_bytes(d, true);
    if (c->checks && !c->hooks->checks.issue(c, o, d))
        return;
    c->dma_issued++;
    if (c->log)
        c->hooks->log.issue(c->log, c, d);
    if (c->replay) {
        copy_issued(c, d);
        c->hooks->replay.issue(c, d);
        return;
    }
    slot = c->dma_free[--c->dma_free_count];
    copy_issued(c, d);
    c->dma[slot] = *d;
    count_start(c, d);
    core_post(c, c->issue_at, &(struct event){.kind = EVENT_DMA, .slot = slot});
}

/* operands source, size, destination, flag; strides, or flag and core of a remote copy */
static void exec_dma(struct core *c, const struct decoded_op *o)
{
    const struct dma_way *w = &ways[o->code];
    int64_t size = c->s[o->o[1]], run = w->is_remote ? 0 : c->s[o->o[6]];
    struct dma d = {.source_space = w->source, .destination_space = w->destination,
                    .is_remote = w->is_remote, .target = c->number, .bytes = size,
                    .source = granules_of(w->source, c->s[o->o[0]]),
                    .destination = granules_of(w->destination, c->s[o->o[2]]),
                    .flag = c->s[o->o[3]], .level = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}};

    if (size < 1 || run < 0) {
        core_fault(c, FAULT_OPERATION, "%s of %lld granules in runs of %lld; at least 1 is needed",
                   isa_info(o->code)->mnemonic, (long long)size, (long long)run);
        return;
    }
    if (w->is_remote) {
        d.source_flag = c->s[o->o[4]];
        d.target = c->s[o->o[5]];
    }
    d.run_bytes = run == 0 || run > size ? size : run;
    if (d.run_bytes < size)
        d.level[0] = (struct dma_level){div_up(size, run), c->s[o->o[4]], c->s[o->o[5]]};
    start_dma(c, o, &d);
}

#define DMA(id) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        exec_dma(c, o); \
    }

DMA(DMA_HBM_VMEM)
DMA(DMA_VMEM_HBM)
DMA(DMA_HBM_SMEM)
DMA(DMA_SMEM_HBM)
DMA(DMA_VMEM_SMEM)
DMA(DMA_SMEM_VMEM)
DMA(DMA_VMEM_VMEM)
DMA(DMA_HBM_HBM)
DMA(DMA_HBM_CMEM)
DMA(DMA_CMEM_HBM)
DMA(DMA_VMEM_CMEM)
DMA(DMA_CMEM_VMEM)
DMA(DMA_HBM_HOST)
DMA(DMA_HOST_HBM)
DMA(DMA_VMEM_HOST)
DMA(DMA_HOST_VMEM)
DMA(DMA_VMEM_REMOTE)
DMA(DMA_VMEM_HBM_REMOTE)
DMA(DMA_HBM_VMEM_REMOTE)
DMA(DMA_HBM_HBM_REMOTE)

/* a field that is out of its range */
static bool bad_field(struct core *c, const char *field, int64_t value, const char *needed)
{
    core_fault(c, FAULT_OPERATION, "dma.general: %s is %lld; %s is needed", field,
               (long long)value, needed);
    return false;
}

static bool read_spaces(struct core *c, const int32_t *word, struct dma *d)
{
    uint32_t spaces = (uint32_t)word[WORD_SPACES];

    d->source_space = spaces & 15;
    d->destination_space = spaces >> 4 & 15;
    d->is_remote = (spaces & SPACES_REMOTE) != 0;
    if (d->source_space >= SPACE_COUNT)
        return bad_field(c, "the source space", d->source_space, "0..4");
    if (d->destination_space >= SPACE_COUNT)
        return bad_field(c, "the destination space", d->destination_space, "0..4");
    if (spaces >> 9)
        return bad_field(c, "the rest of word 0", spaces >> 9, "0");
    if (d->is_remote && (d->source_space > SPACE_VMEM || d->destination_space > SPACE_VMEM))
        return bad_field(c, "a space of a remote copy",
                         d->source_space > SPACE_VMEM ? d->source_space : d->destination_space,
                         "0 or 1");
    if (!d->is_remote && word[WORD_SOURCE_FLAG] != 0)
        return bad_field(c, "the source flag of a copy that is not remote",
                         word[WORD_SOURCE_FLAG], "0");
    if (!d->is_remote && word[WORD_CORE] != 0)
        return bad_field(c, "the core of a copy that is not remote", word[WORD_CORE], "0");
    return true;
}

static bool read_levels(struct core *c, const int32_t *word, struct dma *d)
{
    static const char *const names[] = {"the count of level 1", "the count of level 2",
                                        "the count of level 3"};

    if (word[WORD_RUN] < 1)
        return bad_field(c, "the run", word[WORD_RUN], "at least 1");
    d->run_bytes = d->bytes = word[WORD_RUN];
    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        const int32_t *level = word + WORD_LEVELS + 3 * i;

        if (level[0] < 1)
            return bad_field(c, names[i], level[0], "at least 1");
        d->level[i] = (struct dma_level){level[0], level[1], level[2]};
        d->bytes *= level[0];
        if (d->bytes > INT32_MAX)
            return bad_field(c, "the size up to a level", d->bytes, "at most 2147483647 granules");
    }
    return true;
}

void exec_DMA_GENERAL(struct core *c, const struct decoded_op *o)
{
    int64_t address = (int64_t)c->s[o->o[0]] + c->s[o->o[1]];
    int32_t word[WORD_COUNT];
    struct dma d = {.target = c->number};

    if (address < 0 || address > c->chip->smem_bytes - (int64_t)sizeof(word) || address % 4 != 0) {
        core_fault(c, FAULT_ADDRESS, "smem address %lld of a descriptor out of 0..%lld,"
                   " multiples of 4, in dma.general", (long long)address,
                   (long long)(c->chip->smem_bytes - (int64_t)sizeof(word)));
        return;
    }
    if (c->checks && !c->hooks->checks.touch(c, o, SPACE_SMEM, address, sizeof(word), false))
        return;
    memcpy(word, c->smem + address, sizeof(word));
    if (!read_spaces(c, word, &d) || !read_levels(c, word, &d))
        return;
    d.source = granules_of(d.source_space, word[WORD_SOURCE]);
    d.destination = granules_of(d.destination_space, word[WORD_DESTINATION]);
    d.flag = word[WORD_FLAG];
    if (d.is_remote) {
        d.source_flag = word[WORD_SOURCE_FLAG];
        d.target = word[WORD_CORE];
    }
    start_dma(c, o, &d);
}
