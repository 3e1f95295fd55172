/*
 * Copies: docs/engine.md ("DMA"), docs/memory.md.
 */
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

#include "base/arena.h"

#define GRANULE 32

/* NULL for what is one array */
static struct ref_sparse *sparse_of(struct ref_core *c, enum memory memory)
{
    return memory == MEMORY_HBM ? &c->hbm : memory == MEMORY_HOST ? &c->host : NULL;
}

static unsigned char *array_of(const struct ref_core *c, enum memory memory)
{
    return memory == MEMORY_VMEM ? c->vmem : memory == MEMORY_SMEM ? c->smem : c->cmem;
}

int64_t ref_memory_bytes(const struct ref_core *c, enum memory memory)
{
    switch (memory) {
    case MEMORY_HBM: return c->m->share_bytes;
    case MEMORY_VMEM: return c->m->chip.vmem_bytes;
    case MEMORY_SMEM: return c->m->chip.smem_bytes;
    case MEMORY_HOST: return c->m->chip.host_window_bytes;
    default: return c->m->cmem_bytes;
    }
}

void ref_memory_read(const struct ref_core *c, enum memory memory, int64_t at, void *to,
                     int64_t bytes)
{
    assert_true(at >= 0 && bytes >= 0 && at + bytes <= ref_memory_bytes(c, memory));
    if (memory == MEMORY_HBM || memory == MEMORY_HOST)
        hbm_store_read(memory == MEMORY_HBM ? c->hbm.store : c->host.store, at, to,
                       (size_t)bytes);
    else
        memcpy(to, array_of(c, memory) + at, (size_t)bytes);
}

static void touch_page(struct ref_sparse *s, int64_t page)
{
    if (s->is_touched[page])
        return;
    s->is_touched[page] = true;
    s->page = mem_grow(s->page, &s->page_capacity, s->page_count + 1, sizeof(*s->page));
    s->page[s->page_count++] = page;
}

void ref_memory_write(struct ref_core *c, enum memory memory, int64_t at, const void *from,
                      int64_t bytes)
{
    struct ref_sparse *s = sparse_of(c, memory);

    assert_true(at >= 0 && bytes >= 0 && at + bytes <= ref_memory_bytes(c, memory));
    if (!s) {
        memcpy(array_of(c, memory) + at, from, (size_t)bytes);
        return;
    }
    hbm_store_write(s->store, at, from, (size_t)bytes);
    for (int64_t page = at / REF_PAGE_BYTES; page * REF_PAGE_BYTES < at + bytes; page++)
        touch_page(s, page);
}

/* where granule `i` of the copy lies */
static int64_t granule_at(const struct ref_copy *d, bool is_destination, int64_t i)
{
    int64_t at = (is_destination ? d->destination_at : d->source_at) + i % d->run;

    i /= d->run;
    for (int k = 0; k < 3; k++) {
        at += i % d->level[k].count * (is_destination ? d->level[k].destination_stride
                                                      : d->level[k].source_stride);
        i /= d->level[k].count;
    }
    return at;
}

static void read_source(const struct ref_core *c, const struct ref_copy *d, unsigned char *data)
{
    for (int64_t i = 0; i < d->size; i++)
        ref_memory_read(c, d->source, granule_at(d, false, i) * GRANULE, data + i * GRANULE,
                        GRANULE);
}

static void write_destination(struct ref_core *c, const struct ref_copy *d,
                              const unsigned char *data)
{
    for (int64_t i = 0; i < d->size; i++)
        ref_memory_write(c, d->destination, granule_at(d, true, i) * GRANULE, data + i * GRANULE,
                         GRANULE);
}

/* In the order in which they completed. A copy inside the core reads its source only now. */
void ref_move_complete(struct ref_core *c)
{
    for (size_t i = 0; i < c->complete_count; i++) {
        struct ref_copy *d = &c->complete[i];

        if (!d->is_remote) {
            d->data = mem_alloc((size_t)(d->size * GRANULE));
            read_source(c, d, d->data);
        }
        write_destination(c, d, d->data);
        mem_free(d->data);
    }
    c->complete_count = 0;
}

/* the granules that any run touches, from the lowest to the highest */
static void find_span(const struct ref_copy *d, bool is_destination, int64_t *first, int64_t *last)
{
    int64_t runs = div_up(d->size, d->run), rest = d->size - (runs - 1) * d->run;
    int64_t n[3] = {d->level[0].count, d->level[1].count, d->level[2].count};

    *first = INT64_MAX;
    *last = INT64_MIN;
    for (int corner = 0; corner < 27; corner++) {       /* 0: first; 1: last but one; 2: last */
        int64_t at = is_destination ? d->destination_at : d->source_at, run = 0, length;

        for (int k = 2, digit = corner; k >= 0; k--, digit /= 3) {
            int64_t i = digit % 3 == 0 ? 0 : n[k] - (digit % 3 == 1 ? 2 : 1);

            i = i < 0 ? 0 : i;
            at += i * (is_destination ? d->level[k].destination_stride
                                      : d->level[k].source_stride);
            run = run * n[k] + i;
        }
        length = run == runs - 1 ? rest : d->run;
        *first = at < *first ? at : *first;
        *last = at + length - 1 > *last ? at + length - 1 : *last;
    }
}

static bool check_ranges(struct ref_op *x, const struct ref_copy *d)
{
    struct ref_core *c = x->c;
    int64_t from, from_last, to, to_last;

    find_span(d, false, &from, &from_last);
    find_span(d, true, &to, &to_last);
    if (from < 0 || to < 0 || from_last >= ref_memory_bytes(c, d->source) / GRANULE
        || to_last >= ref_memory_bytes(c, d->destination) / GRANULE)
        ref_fault(c, x->at, FAULT_ADDRESS, "a copy beyond its memory");
    else if (d->source == d->destination && d->target == c->number && from <= to_last
             && to <= from_last)
        ref_fault(c, x->at, FAULT_ADDRESS, "a copy onto its own source");
    return c->state != REF_FAULTED;
}

static void begin(struct ref_op *x, struct ref_copy *d)
{
    struct ref_core *c = x->c;
    int index = 0;

    d->issued_at = x->at;
    d->stalled_from = c->arrived_at;
    d->is_used = true;
    if (!ref_check_flag(c, x->at, d->flag) || !ref_check_flag(c, x->at, d->source_flag)
        || !ref_check_core(c, x->at, d->target) || !check_ranges(x, d))
        return;
    if (d->is_remote) {
        d->data = mem_alloc((size_t)(d->size * GRANULE));
        read_source(c, d, d->data);
    }
    while (c->copy[index].is_used)
        index++;
    c->copy[index] = *d;
    c->copies_queued++;
    c->dma_free_at = x->at + c->m->chip.dma_issue_cycles;
    ref_post(c, x->at, (struct ref_event){.kind = REF_COPY_BEGINS, .index = index});
}

/* granules of HBM and host have no sign */
static int64_t address_of(enum memory memory, int32_t word)
{
    return memory == MEMORY_HBM || memory == MEMORY_HOST ? (int64_t)(uint32_t)word : word;
}

static void copy(struct ref_op *x, enum memory source, enum memory destination, bool is_remote)
{
    int64_t size = ref_s(x, 1), run = is_remote ? 0 : ref_s(x, 6);
    struct ref_copy d = {.source = source, .destination = destination, .is_remote = is_remote,
                         .source_at = address_of(source, ref_s(x, 0)), .size = size,
                         .destination_at = address_of(destination, ref_s(x, 2)),
                         .flag = ref_s(x, 3), .target = x->c->number,
                         .level = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}};

    if (size < 1 || run < 0) {
        ref_fault(x->c, x->at, FAULT_OPERATION, "a copy of nothing");
        return;
    }
    if (is_remote) {
        d.source_flag = ref_s(x, 4);
        d.target = ref_s(x, 5);
    }
    d.run = run == 0 || run > size ? size : run;
    if (!is_remote && d.run < size) {
        d.level[0].count = div_up(size, run);
        d.level[0].source_stride = ref_s(x, 4);
        d.level[0].destination_stride = ref_s(x, 5);
    }
    begin(x, &d);
}

void ref_DMA_HBM_VMEM(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_VMEM, false); }
void ref_DMA_VMEM_HBM(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_HBM, false); }
void ref_DMA_HBM_SMEM(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_SMEM, false); }
void ref_DMA_SMEM_HBM(struct ref_op *x) { copy(x, MEMORY_SMEM, MEMORY_HBM, false); }
void ref_DMA_VMEM_SMEM(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_SMEM, false); }
void ref_DMA_SMEM_VMEM(struct ref_op *x) { copy(x, MEMORY_SMEM, MEMORY_VMEM, false); }
void ref_DMA_VMEM_VMEM(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_VMEM, false); }
void ref_DMA_HBM_HBM(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_HBM, false); }
void ref_DMA_HBM_CMEM(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_CMEM, false); }
void ref_DMA_CMEM_HBM(struct ref_op *x) { copy(x, MEMORY_CMEM, MEMORY_HBM, false); }
void ref_DMA_VMEM_CMEM(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_CMEM, false); }
void ref_DMA_CMEM_VMEM(struct ref_op *x) { copy(x, MEMORY_CMEM, MEMORY_VMEM, false); }
void ref_DMA_HBM_HOST(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_HOST, false); }
void ref_DMA_HOST_HBM(struct ref_op *x) { copy(x, MEMORY_HOST, MEMORY_HBM, false); }
void ref_DMA_VMEM_HOST(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_HOST, false); }
void ref_DMA_HOST_VMEM(struct ref_op *x) { copy(x, MEMORY_HOST, MEMORY_VMEM, false); }
void ref_DMA_VMEM_REMOTE(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_VMEM, true); }
void ref_DMA_VMEM_HBM_REMOTE(struct ref_op *x) { copy(x, MEMORY_VMEM, MEMORY_HBM, true); }
void ref_DMA_HBM_VMEM_REMOTE(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_VMEM, true); }
void ref_DMA_HBM_HBM_REMOTE(struct ref_op *x) { copy(x, MEMORY_HBM, MEMORY_HBM, true); }

static bool is_good_descriptor(const int32_t w[16])
{
    int source = w[0] & 15, destination = w[0] >> 4 & 15;
    bool is_remote = w[0] & 256;
    int64_t size = w[3];

    if (source > 4 || destination > 4 || (uint32_t)w[0] >> 9)
        return false;
    if (is_remote ? source > 1 || destination > 1 : w[14] != 0 || w[15] != 0)
        return false;
    for (int k = 0; k < 3; k++) {
        if (size < 1 || size > INT32_MAX || w[4 + 3 * k] < 1)
            return false;
        size *= w[4 + 3 * k];
    }
    return size <= INT32_MAX;
}

void ref_DMA_GENERAL(struct ref_op *x)
{
    int64_t at = (int64_t)ref_s(x, 0) + ref_s(x, 1);
    struct ref_copy d = {.target = x->c->number};
    int32_t w[16];

    if (at < 0 || at + 64 > x->c->m->chip.smem_bytes || at % 4 != 0) {
        ref_fault(x->c, x->at, FAULT_ADDRESS, "a descriptor outside SMEM");
        return;
    }
    memcpy(w, x->c->smem + at, sizeof(w));
    if (!is_good_descriptor(w)) {
        ref_fault(x->c, x->at, FAULT_OPERATION, "a descriptor with a bad field");
        return;
    }
    d.source = (enum memory)(w[0] & 15);
    d.destination = (enum memory)(w[0] >> 4 & 15);
    d.is_remote = (w[0] & 256) != 0;
    d.source_at = address_of(d.source, w[1]);
    d.destination_at = address_of(d.destination, w[2]);
    d.run = d.size = w[3];
    for (int k = 0; k < 3; k++) {
        d.level[k].count = w[4 + 3 * k];
        d.level[k].source_stride = w[5 + 3 * k];
        d.level[k].destination_stride = w[6 + 3 * k];
        d.size *= d.level[k].count;
    }
    d.flag = w[13];
    d.source_flag = w[14];
    if (d.is_remote)
        d.target = w[15];
    begin(x, &d);
}

/* The first of the ports that it has. */
static int port_of(const struct ref_copy *d)
{
    if (d->source == MEMORY_HOST)
        return REF_FROM_HOST;
    if (d->destination == MEMORY_HOST)
        return REF_TO_HOST;
    if (d->source == MEMORY_HBM)
        return REF_FROM_HBM;
    if (d->destination == MEMORY_HBM)
        return REF_TO_HBM;
    if (d->source == MEMORY_CMEM)
        return REF_FROM_CMEM;
    return d->destination == MEMORY_CMEM ? REF_TO_CMEM : REF_LOCAL;
}

static ps_t time_of(int64_t bytes, double gbps)
{
    return (ps_t)((double)bytes * PS_PER_NS / gbps + 0.5);
}

/* the unit is busy while any copy is under way, and waited if it was not */
static void count_begin(struct ref_core *c, const struct ref_copy *d)
{
    struct ref_unit *u = &c->unit[REF_DMA];

    c->counters.dma_count++;
    if (c->copies_running++ > 0)
        return;
    u->waiting_cycles += later(0, d->issued_at - later(d->stalled_from, u->busy_until));
    u->last_single_at = later(d->issued_at, u->busy_until);     /* busy from then on */
}

static void count_end(struct ref_core *c, cycle_t at)
{
    struct ref_unit *u = &c->unit[REF_DMA];

    if (--c->copies_running > 0)
        return;
    u->busy_cycles += at - u->last_single_at;
    u->busy_until = at;
}

static int64_t chunk_of(const struct ref_machine *m, const struct ref_copy *d)
{
    int64_t most = m->chip.dma_chunk_bytes / GRANULE, left = d->size - d->done;

    return left < most ? left : most;
}

/* of all chunks that the port has taken, those still on their way at `at` */
static int64_t staged_bytes(const struct ref_port *p, ps_t at)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < p->staged_count; i++)
        bytes += p->staged[i].leaves_at > at ? p->staged[i].bytes : 0;
    return bytes;
}

/* the first instant from `at` on at which no more than `most` bytes are on their way */
static ps_t room_from(const struct ref_port *p, ps_t at, int64_t most)
{
    for (size_t i = 0; staged_bytes(p, at) > most; i++) {
        while (p->staged[i].leaves_at <= at)
            i++;
        at = p->staged[i].leaves_at;
    }
    return at;
}

/* the first instant at which the port is free and what it has staged leaves room for a chunk */
static void plan_turn(struct ref_core *c, int number)
{
    struct ref_port *p = &c->port[number];
    bool is_host = number == REF_FROM_HOST || number == REF_TO_HOST;
    int64_t most = (is_host ? c->m->chip.host_staging_bytes : c->m->chip.dma_staging_bytes)
                   - chunk_of(c->m, &c->copy[p->copy[0]]) * GRANULE;
    ps_t free_at = later(c->m->now_ps, p->free_at), at = room_from(p, free_at, most);

    c->staging_ps += at - free_at;
    ref_follow(c, at, (struct ref_event){.kind = REF_PORT_TURN, .index = number});
    p->is_waiting = true;
}

static void stage(struct ref_port *p, ps_t leaves_at, int64_t bytes)
{
    size_t n = p->staged_count;

    p->staged = mem_grow(p->staged, &p->staged_capacity, n + 1, sizeof(*p->staged));
    p->staged[n].leaves_at = n ? later(p->staged[n - 1].leaves_at, leaves_at) : leaves_at;
    p->staged[n].bytes = bytes;
    p->staged_count++;
}

void ref_copy_begins(struct ref_machine *m, struct ref_core *c, int index)
{
    struct ref_copy *d = &c->copy[index];
    int number = port_of(d);
    struct ref_port *p = &c->port[number];

    count_begin(c, d);
    if (d->is_remote) {
        ref_follow(c, m->now_ps + m->chip.dma_local_ns * PS_PER_NS,
                   (struct ref_event){.kind = REF_SEND_CHUNK, .index = index});
        return;
    }
    p->copy[p->count++] = index;
    if (!p->is_waiting)
        plan_turn(c, number);
}

/* `count` granules from granule `from` of the copy on, each contiguous piece by itself */
static ps_t ask_hbm(struct ref_core *c, const struct ref_copy *d, bool is_destination,
                    int64_t from, int64_t count)
{
    struct ref_machine *m = c->m;
    int64_t cores = m->chip.chip_cores, share = c->number % cores * m->share_bytes;
    ps_t last = later(c->hbm_free_at, m->now_ps) + time_of(count * GRANULE, m->chip.dma_core_gbps);
    int64_t length;

    c->hbm_free_at = last;
    for (int64_t i = from; i < from + count; i += length) {
        int64_t at = granule_at(d, is_destination, i);

        for (length = 1; i + length < from + count; length++)
            if (granule_at(d, is_destination, i + length) != at + length)
                break;
        last = later(last, hbm_access(m->hbm[c->number / cores], m->now_ps, share + at * GRANULE,
                                      length * GRANULE, is_destination));
    }
    *(is_destination ? &c->counters.hbm_write_bytes : &c->counters.hbm_read_bytes) +=
        count * GRANULE;
    return last;
}

static ps_t ask_cmem(struct ref_core *c, bool is_destination, int64_t bytes)
{
    struct ref_machine *m = c->m;
    ps_t *free_at = &m->cmem_free_at[c->number / m->chip.chip_cores][is_destination];

    *(is_destination ? &c->counters.cmem_write_bytes : &c->counters.cmem_read_bytes) += bytes;
    *free_at = later(*free_at, m->now_ps)
               + time_of(bytes, is_destination ? m->chip.cmem_write_gbps : m->chip.cmem_read_gbps);
    return *free_at;
}

static ps_t ask_host(struct ref_core *c, bool is_destination, int64_t bytes)
{
    struct ref_machine *m = c->m;
    ps_t *free_at = &m->host_free_at[c->number / m->chip.chip_cores][is_destination];

    *(is_destination ? &c->counters.host_write_bytes : &c->counters.host_read_bytes) += bytes;
    *free_at = later(*free_at, m->now_ps) + time_of(bytes, m->chip.host_pcie_gbps);
    return *free_at;
}

static ps_t ask_side(struct ref_core *c, const struct ref_copy *d, bool is_destination,
                     int64_t count)
{
    switch (is_destination ? d->destination : d->source) {
    case MEMORY_HBM: return ask_hbm(c, d, is_destination, d->done, count);
    case MEMORY_CMEM: return ask_cmem(c, is_destination, count * GRANULE);
    case MEMORY_HOST: return ask_host(c, is_destination, count * GRANULE);
    default: return c->m->now_ps;
    }
}

/* what the end of a copy inside a core comes after its last byte */
static ps_t fixed_ps(const struct chip *chip, const struct ref_copy *d)
{
    int64_t ns = 0;

    if (d->source == MEMORY_HBM)
        ns += chip->dma_read_ns;
    if (d->destination == MEMORY_HBM)
        ns += chip->dma_write_ns;
    if (d->source == MEMORY_HOST)
        ns += chip->host_latency_ns;
    if (d->destination == MEMORY_HOST)
        ns += chip->host_latency_ns;
    if (d->source != MEMORY_HBM && d->destination != MEMORY_HBM && d->source != MEMORY_HOST
        && d->destination != MEMORY_HOST)
        ns = d->source == MEMORY_CMEM || d->destination == MEMORY_CMEM ? chip->cmem_latency_ns
                                                                       : chip->dma_local_ns;
    return ns * PS_PER_NS;
}

/* One vector after the other: it ends where it is full or the next granule lies elsewhere. */
static int64_t vector_count(const struct ref_machine *m, const struct ref_copy *d,
                            bool is_destination, int64_t count)
{
    int64_t vectors = 0, filled = 0;

    for (int64_t i = d->done; i < d->done + count; i++) {
        if (i == d->done || filled == m->chip.dma_vector_bytes
            || granule_at(d, is_destination, i) != granule_at(d, is_destination, i - 1) + 1) {
            vectors++;
            filled = 0;
        }
        filled += GRANULE;
    }
    return vectors;
}

/* The copy whose turn it is moves a chunk, and goes to the end of the line. */
/* a copy with bytes left comes behind the others that take turns */
static void queue_again(const struct chip *chip, struct ref_port *p, int index)
{
    int at = (int)chip->dma_turn_copies - 1;

    at = at < p->count ? at : p->count;
    memmove(p->copy + at + 1, p->copy + at, (size_t)(p->count++ - at) * sizeof(*p->copy));
    p->copy[at] = index;
}

void ref_port_turn(struct ref_machine *m, struct ref_core *c, int port)
{
    const double gbps[] = {m->chip.dma_core_gbps, m->chip.dma_core_gbps, m->chip.cmem_read_gbps,
                           m->chip.cmem_write_gbps, m->chip.host_pcie_gbps, m->chip.host_pcie_gbps,
                           m->chip.dma_local_gbps};
    struct ref_port *p = &c->port[port];
    int index = p->copy[0];
    struct ref_copy *d = &c->copy[index];
    int64_t count = chunk_of(m, d);
    int64_t in = vector_count(m, d, false, count), out = vector_count(m, d, true, count);
    int64_t vectors = d->source == MEMORY_HBM && d->destination == MEMORY_HBM ? in + out
                                                                            : later(in, out);
    ps_t end;

    memmove(p->copy, p->copy + 1, (size_t)--p->count * sizeof(*p->copy));
    p->free_at = m->now_ps + time_of(vectors * m->chip.dma_vector_bytes, gbps[port]);
    end = later(p->free_at, ask_side(c, d, false, count));
    end = later(end, ask_side(c, d, true, count));
    stage(p, end + fixed_ps(&m->chip, d), count * GRANULE);
    d->last_ps = later(d->last_ps, end);
    d->done += count;
    if (d->done < d->size)
        queue_again(&m->chip, p, index);
    else
        ref_follow(c, d->last_ps + fixed_ps(&m->chip, d),
                   (struct ref_event){.kind = REF_COPY_DONE, .index = index});
    p->is_waiting = false;
    if (p->count > 0)
        plan_turn(c, port);
}

/* All of a chunk is over there: into the HBM, or, once every granule is, the copy is done. */
static void chunk_is_over(struct ref_core *c, const struct ref_event *e, ps_t at)
{
    struct ref_machine *m = c->m;
    struct ref_copy *d = &c->copy[e->index];

    d->last_ps = later(d->last_ps, at);
    if (d->destination == MEMORY_HBM) {
        ref_follow(c, d->last_ps, (struct ref_event){.kind = REF_CHUNK_ARRIVES, .first = e->first,
                                                     .index = e->index, .value = e->value});
        return;
    }
    d->arrived += e->value;
    if (d->arrived == d->size)
        ref_follow(c, d->last_ps + m->chip.dma_local_ns * PS_PER_NS,
                   (struct ref_event){.kind = REF_COPY_DONE, .index = e->index});
}

/* takes the link that is next, and returns when its last byte has left */
ps_t ref_chunk_on_link(struct ref_machine *m, struct ref_core *c, const struct ref_event *e)
{
    struct ref_event chunk = *e;
    struct net_hop hop = net_take(m->net, m->now_ps, e->chip, &chunk.way, e->value * GRANULE);

    chunk.chip = hop.next;
    if (net_is_there(chunk.way))
        chunk_is_over(c, &chunk, later(chunk.not_before, hop.there_at));
    else
        ref_follow(c, hop.head_at, chunk);
    return hop.free_at;
}

/* `bytes` bytes for core `to` of the same chip are there, if all of them are here at not_before */
ps_t ref_cross_chip(struct ref_core *c, int to, int64_t bytes, ps_t not_before)
{
    ps_t takes = time_of(bytes, c->m->chip.dma_peer_gbps);

    if (to == c->number)
        return not_before;
    c->counters.peer_sent_bytes += bytes;
    c->peer_busy_ps += takes;
    c->peer_free_at = takes + later(c->m->now_ps, c->peer_free_at);
    return later(not_before, c->peer_free_at) + c->m->chip.dma_peer_ns * PS_PER_NS;
}

void ref_send_chunk(struct ref_machine *m, struct ref_core *c, const struct ref_event *e)
{
    struct ref_copy *d = &c->copy[e->index];
    int cores = (int)m->chip.chip_cores, from = c->number / cores, to = d->target / cores;
    struct ref_event chunk = {.kind = REF_ON_LINK, .then = REF_CHUNK_ARRIVES, .index = e->index,
                              .first = d->done, .value = chunk_of(m, d), .chip = from};
    ps_t read_at = m->now_ps, sent_at;
    int64_t vectors = later(vector_count(m, d, false, chunk.value),
                            vector_count(m, d, true, chunk.value));

    if (c->sender.free_at <= m->now_ps) {
        c->sender.free_at = room_from(&c->sender, m->now_ps,
                                      m->chip.dma_staging_bytes - chunk.value * GRANULE);
        c->staging_ps += c->sender.free_at - m->now_ps;
    }
    if (c->sender.free_at > m->now_ps) {                /* it keeps its place in the line */
        struct ref_event again = *e;

        again.at = c->sender.free_at;
        ref_add_event(m, &again);
        return;
    }
    if (d->source == MEMORY_HBM)
        read_at = ask_hbm(c, d, false, d->done, chunk.value) + m->chip.dma_read_ns * PS_PER_NS;
    sent_at = m->now_ps + time_of(vectors * m->chip.dma_vector_bytes,
                                  d->target == c->number ? m->chip.dma_local_gbps
                                                         : m->chip.dma_core_gbps);
    c->sender.free_at = sent_at;
    chunk.not_before = later(read_at, sent_at);
    d->done += chunk.value;
    if (from != to) {
        c->counters.ici_sent_bytes += chunk.value * GRANULE;
        m->core[d->target].counters.ici_received_bytes += chunk.value * GRANULE;
        chunk.way = net_route(m->net, from, to);
        sent_at = later(sent_at, ref_chunk_on_link(m, c, &chunk));
    } else {
        chunk_is_over(c, &chunk, ref_cross_chip(c, d->target, chunk.value * GRANULE,
                                                chunk.not_before));
        if (d->target != c->number)
            sent_at = later(sent_at, c->peer_free_at);
    }
    stage(&c->sender, later(sent_at, read_at), chunk.value * GRANULE);
    if (d->done < d->size)
        ref_follow(c, sent_at, (struct ref_event){.kind = REF_SEND_CHUNK, .index = e->index});
    else
        ref_follow(c, later(sent_at, read_at),
                   (struct ref_event){.kind = REF_COPY_SENT, .index = e->index});
}

void ref_chunk_arrives(struct ref_machine *m, struct ref_core *c, const struct ref_event *e)
{
    struct ref_copy *d = &c->copy[e->index];

    d->last_ps = later(d->last_ps, ask_hbm(&m->core[d->target], d, true, e->first, e->value));
    d->arrived += e->value;
    if (d->arrived == d->size)
        ref_follow(c, d->last_ps + (m->chip.dma_local_ns + m->chip.dma_write_ns) * PS_PER_NS,
                   (struct ref_event){.kind = REF_COPY_DONE, .index = e->index});
}

void ref_copy_sent(struct ref_core *c, int index)
{
    ref_raise_flag(c, c->copy[index].source_flag, c->copy[index].size, STALL_ICI);
}

static enum stall_reason cause_of(const struct ref_copy *d)
{
    if (d->is_remote)
        return STALL_ICI;
    if (d->source == MEMORY_HBM || d->destination == MEMORY_HBM)
        return STALL_HBM;
    return d->source == MEMORY_CMEM || d->destination == MEMORY_CMEM ? STALL_CMEM : STALL_SYNC;
}

void ref_copy_done(struct ref_machine *m, struct ref_core *c, int index)
{
    struct ref_copy d = c->copy[index];
    struct ref_core *to = &m->core[d.target];

    count_end(c, ref_cycle_at(m, m->now_ps));
    to->complete = mem_grow(to->complete, &to->complete_capacity, to->complete_count + 1,
                            sizeof(*to->complete));
    to->complete[to->complete_count++] = d;
    c->copy[index] = (struct ref_copy){.is_used = false};
    c->copies_queued--;
    ref_raise_flag(to, d.flag, d.size, cause_of(&d));
}
