#include "tests/rigs/outcome.h"

#include "base/arena.h"
#include "base/units.h"
#include "tests/test.h"

#include <inttypes.h>

/* An array of numbers with a name. */
struct outcome_section {
    int parts;
    char label[48];
    size_t elem_bytes, first, count;    /* from byte `first` on */
};

static void *add(struct outcome *o, int part, int core, const char *name, size_t elem_bytes,
                 size_t count)
{
    struct outcome_section *s;
    size_t bytes = (elem_bytes * count + 7) / 8 * 8;    /* so that what follows is aligned */

    o->section = mem_grow(o->section, &o->section_capacity, o->section_count + 1, sizeof(*s));
    s = &o->section[o->section_count++];
    *s = (struct outcome_section){.parts = part, .elem_bytes = elem_bytes, .first = o->bytes,
                                  .count = count};
    if (core < 0)
        snprintf(s->label, sizeof(s->label), "%s", name);
    else
        snprintf(s->label, sizeof(s->label), "core %d %s", core, name);
    o->data = mem_grow(o->data, &o->capacity, o->bytes + bytes, 1);
    o->bytes += bytes;
    return o->data + s->first;
}

static void put(struct outcome *o, int part, int core, const char *name, const void *from,
                size_t elem_bytes, size_t count)
{
    if (count > 0)
        memcpy(add(o, part, core, name, elem_bytes, count), from, elem_bytes * count);
}

static void put_number(struct outcome *o, int part, int core, const char *name, int64_t value)
{
    put(o, part, core, name, &value, sizeof(value), 1);
}

static void take_fault(struct outcome *o, const struct machine *m)
{
    const struct fault *f = machine_fault(m);

    put_number(o, OUTCOME_FAULT, -1, "kind of fault", f->kind);
    if (f->kind == FAULT_NONE)
        return;
    put_number(o, OUTCOME_FAULT, -1, "core of the fault", f->core);
    put_number(o, OUTCOME_FAULT, -1, "cycle of the fault", f->cycle);
    put_number(o, OUTCOME_FAULT, -1, "bundle of the fault", f->bundle);
    put(o, OUTCOME_FAULT, -1, "message of the fault", f->msg, 1, strlen(f->msg));
    snprintf(o->fault, sizeof(o->fault), "%s", f->msg);
}

static void take_units(struct outcome *o, const struct core_counters *k, int core)
{
    for (int i = 0; i < k->unit_count; i++) {
        const struct unit_counters *u = &k->unit[i];
        const int64_t times[] = {u->busy_cycles, u->waiting_cycles, u->idle_cycles,
                                 u->slot_cycles};
        char name[40];

        snprintf(name, sizeof(name), "%s busy, waiting, idle, slots", u->name);
        put(o, OUTCOME_TIMES, core, name, times, sizeof(times[0]), COUNT_OF(times));
        snprintf(name, sizeof(name), "%s operations", u->name);
        put_number(o, OUTCOME_COUNTS, core, name, u->op_count);
    }
}

static void take_counters(struct outcome *o, const struct machine *m, int core)
{
    const struct core_counters *k = machine_counters(m, core);
    const int64_t times[] = {k->cycles, k->issue_cycles, k->idle_cycles, k->dma_staging_cycles,
                             k->peer_busy_cycles};
    const int64_t counts[] = {k->issue_cycles, k->matmul_cycles, k->matmul_flops,
                              k->hbm_read_bytes, k->hbm_write_bytes, k->ici_sent_bytes,
                              k->ici_received_bytes, k->cmem_read_bytes, k->cmem_write_bytes,
                              k->host_read_bytes, k->host_write_bytes,
                              k->peer_sent_bytes, k->dma_count};

    put(o, OUTCOME_TIMES, core, "cycles, issue, idle, staging, peer", times, sizeof(times[0]),
        COUNT_OF(times));
    put(o, OUTCOME_TIMES, core, "stalls", k->stall_cycles, sizeof(k->stall_cycles[0]),
        STALL_COUNT);
    put(o, OUTCOME_COUNTS, core, "bundles, matmul, bytes, copies", counts, sizeof(counts[0]),
        COUNT_OF(counts));
    put(o, OUTCOME_COUNTS, core, "executed operations", k->op_count, sizeof(k->op_count[0]),
        OP_COUNT);
    take_units(o, k, core);
}

static void take_memory_stats(struct outcome *o, const struct machine *m)
{
    for (int chip = 0; chip < machine_slice(m)->chip_count; chip++) {
        const struct hbm_stats *s = machine_hbm_stats(m, chip);

        put(o, OUTCOME_TIMES, -1, "HBM statistics", s, 1, sizeof(*s));
    }
    for (int i = 0; machine_net(m) && i < net_link_count(machine_net(m)); i++) {
        const struct net_link_stats *s = net_link(machine_net(m), i);

        put(o, OUTCOME_TIMES, -1, "link statistics", s, 1, sizeof(*s));
    }
}

static void take_memory(struct outcome *o, struct machine *m, int core,
                        const struct outcome_range *r, int parts)
{
    int part = r->memory == MEMORY_SMEM ? OUTCOME_SCALARS : OUTCOME_VALUES;
    struct err e = {.line = 0};
    void *to;

    if (!(parts & part) || r->bytes == 0)
        return;
    to = add(o, part, core, memory_name(r->memory), 4, (size_t)r->bytes / 4);
    if (machine_memory_read(m, core, r->memory, r->first, to, r->bytes, &e))
        fail_msg("%s", e.msg);
}

static void take_scalars(struct outcome *o, const struct machine *m, int core)
{
    int64_t flags = machine_chip(m)->sync_flags;
    int32_t s[ISA_SREG_COUNT], *flag;
    uint8_t p[ISA_PRED_COUNT];

    for (int i = 0; i < ISA_SREG_COUNT; i++)
        s[i] = machine_scalar(m, core, i);
    for (int i = 0; i < ISA_PRED_COUNT; i++)
        p[i] = machine_predicate(m, core, i);
    put(o, OUTCOME_SCALARS, core, "s", s, sizeof(s[0]), COUNT_OF(s));
    put(o, OUTCOME_SCALARS, core, "p", p, sizeof(p[0]), COUNT_OF(p));
    flag = add(o, OUTCOME_SCALARS, core, "flags", sizeof(*flag), (size_t)flags);
    for (int i = 0; i < flags; i++)
        flag[i] = machine_flag(m, core, i);
}

static void take_lanes(struct outcome *o, const struct machine *m, int core)
{
    char name[16];

    for (int i = 0; i < machine_chip(m)->core_vregs; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        put(o, OUTCOME_VALUES, core, name, machine_vector(m, core, i), 4, 1024);
    }
    for (int i = 0; i < ISA_MASK_COUNT; i++) {
        struct mask_view view;

        machine_mask(m, core, i, &view);
        snprintf(name, sizeof(name), "vm%d", i);
        put(o, OUTCOME_VALUES, core, name, &view, 2, sizeof(view) / 2);
    }
    for (int i = 0; i < 2; i++)
        put(o, OUTCOME_VALUES, core, i ? "iar1" : "iar0", machine_index_rows(m, core, i), 4, 8);
}

/* `op` last: which of two alike operations of a bundle does not matter */
static int compare_events(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    for (int i = 0; i < 8; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static void take_events(struct outcome *o, const struct machine *m, const struct trace_log *t,
                        int core)
{
    struct log_events events;
    int64_t (*row)[8];

    trace_log_expand(t, m, core, true, &events);
    row = add(o, OUTCOME_TRACE, core, "trace", 8, 8 * events.count);
    for (size_t i = 0; i < events.count; i++) {
        const struct trace_event *e = &events.event[i];

        row[i][0] = e->start;
        row[i][1] = e->end;
        row[i][2] = e->bundle;
        row[i][3] = e->code;
        row[i][4] = e->track;
        row[i][5] = e->stall;
        row[i][6] = e->op;
        row[i][7] = e->bytes;
    }
    if (events.count > 0)
        qsort(row, events.count, sizeof(*row), compare_events);
    mem_free(events.event);
}

static void take_copies(struct outcome *o, const struct trace_log *t, int core)
{
    const struct log_core *c = &t->core[core];
    int64_t (*row)[12] = add(o, OUTCOME_TRACE, core, "copies", 8, 12 * c->dma_count);

    for (size_t i = 0; i < c->dma_count; i++) {
        const struct trace_dma *d = &c->dma[i];

        row[i][0] = d->number;
        row[i][1] = d->issued_at;
        row[i][2] = d->started_at;
        row[i][3] = d->done_at;
        row[i][4] = d->source_space;
        row[i][5] = d->destination_space;
        row[i][6] = d->target;
        row[i][7] = d->source_address;
        row[i][8] = d->destination_address;
        row[i][9] = d->bytes;
        row[i][10] = d->run_bytes;
        row[i][11] = d->flag;
    }
}

static void take_traffic(struct outcome *o, const struct trace_log *t)
{
    int64_t (*row)[9] = add(o, OUTCOME_TRACE, -1, "accesses of HBM", 8, 9 * t->hbm_count);
    int64_t (*use)[7];

    for (size_t i = 0; i < t->hbm_count; i++) {
        const struct trace_hbm *h = &t->hbm[i].h;

        row[i][0] = t->hbm[i].chip;
        row[i][1] = h->asked_at;
        row[i][2] = h->data_at;
        row[i][3] = h->end_at;
        row[i][4] = h->channel;
        row[i][5] = h->bank;
        row[i][6] = h->row;
        row[i][7] = h->is_write + 2 * h->has_met_refresh;
        row[i][8] = h->bytes;
    }
    use = add(o, OUTCOME_TRACE, -1, "uses of links", 8, 7 * t->link_count);
    for (size_t i = 0; i < t->link_count; i++) {
        const struct trace_link *l = &t->link[i].l;

        use[i][0] = t->link[i].link;
        use[i][1] = l->start;
        use[i][2] = l->end;
        use[i][3] = l->payload_bytes;
        use[i][4] = l->wire_bytes;
        use[i][5] = l->core;
        use[i][6] = l->dma;
    }
}

void outcome_take(struct outcome *o, struct machine *m, const struct trace_log *t, int parts,
                  const struct outcome_range *range, int range_count)
{
    memset(o, 0, sizeof(*o));
    take_fault(o, m);
    take_memory_stats(o, m);
    for (int core = 0; core < machine_core_count(m); core++) {
        take_counters(o, m, core);
        take_scalars(o, m, core);
        if (parts & OUTCOME_VALUES)
            take_lanes(o, m, core);
        for (int i = 0; i < range_count; i++)
            take_memory(o, m, core, &range[i], parts);
        if (parts & OUTCOME_TRACE) {
            take_events(o, m, t, core);
            take_copies(o, t, core);
        }
    }
    if (parts & OUTCOME_TRACE)
        take_traffic(o, t);
}

void outcome_free(struct outcome *o)
{
    mem_free(o->section);
    mem_free(o->data);
}

static uint64_t element(const struct outcome *o, const struct outcome_section *s, size_t i)
{
    uint64_t value = 0;

    memcpy(&value, o->data + s->first + i * s->elem_bytes, s->elem_bytes);
    return value;
}

/* the next section of one of the parts from *i on, or NULL */
static const struct outcome_section *next(const struct outcome *o, int parts, size_t *i)
{
    while (*i < o->section_count) {
        const struct outcome_section *s = &o->section[(*i)++];

        if (s->parts & parts)
            return s;
    }
    return NULL;
}

static bool same_section(const struct outcome *a, const struct outcome_section *s,
                         const struct outcome *b, const struct outcome_section *t, char *what,
                         size_t what_bytes)
{
    size_t i, count = s->count < t->count ? s->count : t->count;

    if (strcmp(s->label, t->label) != 0) {
        snprintf(what, what_bytes, "%s here, %s there", s->label, t->label);
        return false;
    }
    if (s->count == t->count
        && memcmp(a->data + s->first, b->data + t->first, count * s->elem_bytes) == 0)
        return true;
    for (i = 0; i < count && element(a, s, i) == element(b, t, i); i++)
        ;
    if (i == count)
        snprintf(what, what_bytes, "%s: %zu entries and %zu", s->label, s->count, t->count);
    else
        snprintf(what, what_bytes, "%s [%zu]: 0x%" PRIx64 " and 0x%" PRIx64, s->label, i,
                 element(a, s, i), element(b, t, i));
    return false;
}

bool outcome_same(const struct outcome *a, const struct outcome *b, int parts, char *what,
                  size_t what_bytes)
{
    const struct outcome_section *s, *t;
    size_t i = 0, j = 0;

    for (;;) {
        s = next(a, parts, &i);
        t = next(b, parts, &j);
        if (!s && !t)
            return true;
        if (!s || !t) {
            snprintf(what, what_bytes, "%s is there once only", s ? s->label : t->label);
            return false;
        }
        if (!same_section(a, s, b, t, what, what_bytes))
            return false;
    }
}
