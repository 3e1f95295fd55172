/*
 * The reference machine: making it, and a launch from edge to edge of the clock.
 */
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

#include "base/arena.h"
#include "hbm/hbm.h"

static struct net *create_net(const struct chip *c, const struct slice *s)
{
    struct net_config config = {
        .link_gbps = c->ici_link_gbps, .packet_bytes = (int)c->ici_packet_bytes,
        .packet_overhead_bytes = (int)c->ici_packet_overhead_bytes,
        .flit_bytes = (int)c->ici_flit_bytes, .hop_ps = c->ici_hop_ns * PS_PER_NS,
        .routing = net_find_routing(c->ici_routing), .is_twisted = s->is_twisted};

    for (int i = 0; i < 3; i++) {
        config.dim[i] = s->dim[i];
        config.is_ring[i] = s->is_ring[i];
    }
    return net_create(&config);
}

static void create_fifo(struct ref_fifo *f, int64_t depth)
{
    f->depth = (int)depth;
    f->item = mem_alloc_lazy((size_t)(depth > 0 ? depth : 1) * sizeof(*f->item));
}

static void create_units(struct ref_core *c, const struct chip *chip)
{
    create_fifo(&c->eup, chip->eup_fifo_depth);
    create_fifo(&c->crf, chip->cmem_fifo_depth);
    c->v2s.depth = (int)chip->scalar_v2s_depth;
    c->drf.depth = 2 * (int)chip->scalar_div_depth;
    for (int i = 0; i < chip->xlu_count; i++)
        create_fifo(&c->xlu[i].result, chip->xlu_fifo_depth);
    for (int i = 0; i < chip->mxu_count; i++) {
        struct ref_mxu *u = &c->mxu[i];

        create_fifo(&u->result, chip->mxu_fifo_depth);
        u->accumulator = mem_alloc_lazy((size_t)(chip->mxu_accumulators + 1)
                                        * sizeof(*u->accumulator));
        for (int j = 0; j < 2; j++) {
            u->staging[j] = mem_alloc_lazy(sizeof(*u->staging[j]));
            u->gain[j] = mem_alloc_lazy(sizeof(*u->gain[j]));
        }
    }
}

static void create_sparse(struct ref_sparse *s, int64_t bytes)
{
    s->store = hbm_store_create(bytes);
    s->is_touched = mem_alloc_lazy((size_t)div_up(bytes, REF_PAGE_BYTES));
}

static void destroy_sparse(struct ref_sparse *s)
{
    hbm_store_destroy(s->store);
    mem_free_lazy(s->is_touched);
    mem_free(s->page);
}

static void create_core(struct ref_machine *m, int number)
{
    struct ref_core *c = &m->core[number];
    size_t depth = (size_t)m->chip.dma_queue_depth;

    c->m = m;
    c->number = number;
    arena_init(&c->overlay_arena);
    c->vmem = mem_alloc_lazy((size_t)m->chip.vmem_bytes);
    c->smem = mem_alloc((size_t)m->chip.smem_bytes);
    c->cmem = m->cmem_bytes > 0 ? mem_alloc_lazy((size_t)m->cmem_bytes) : NULL;
    create_sparse(&c->hbm, m->share_bytes);
    create_sparse(&c->host, m->chip.host_window_bytes);
    c->flag = mem_alloc((size_t)m->chip.sync_flags * sizeof(*c->flag));
    c->copy = mem_alloc(depth * sizeof(*c->copy));
    for (int i = 0; i < REF_PORT_COUNT; i++)
        c->port[i].copy = mem_alloc(depth * sizeof(*c->port[i].copy));
    create_units(c, &m->chip);
}

struct ref_machine *ref_create(const struct slice *slice, const struct chip *chip)
{
    struct ref_machine *m = mem_alloc(sizeof(*m));
    int64_t bytes = (int64_t)(chip->hbm_gib * (double)GIB);
    struct hbm_config config;

    m->slice = *slice;
    m->chip = *chip;
    m->chip_count = slice->chip_count;
    m->core_count = m->chip_count * (int)chip->chip_cores;
    m->share_bytes = bytes / chip->chip_cores / chip->hbm_row_bytes * chip->hbm_row_bytes;
    m->cmem_bytes = chip->cmem_bytes / chip->chip_cores / 512 * 512;
    config = chip_hbm_config(chip, m->share_bytes * chip->chip_cores);
    m->core = mem_alloc_lazy((size_t)m->core_count * sizeof(*m->core));
    m->op = mem_alloc_lazy(ISA_BUNDLE_OP_MAX * sizeof(*m->op));
    m->hbm = mem_alloc((size_t)m->chip_count * sizeof(struct hbm *));
    m->cmem_free_at = mem_alloc((size_t)m->chip_count * sizeof(*m->cmem_free_at));
    m->host_free_at = mem_alloc((size_t)m->chip_count * sizeof(*m->host_free_at));
    for (int i = 0; i < m->chip_count; i++)
        m->hbm[i] = hbm_create(&config);
    if (m->chip_count > 1)
        m->net = create_net(chip, slice);
    for (int i = 0; i < m->core_count; i++)
        create_core(m, i);
    return m;
}

static void destroy_units(struct ref_core *c)
{
    mem_free_lazy(c->eup.item);
    mem_free_lazy(c->crf.item);
    for (int i = 0; i < c->m->chip.xlu_count; i++)
        mem_free_lazy(c->xlu[i].result.item);
    for (int i = 0; i < c->m->chip.mxu_count; i++) {
        mem_free_lazy(c->mxu[i].result.item);
        mem_free_lazy(c->mxu[i].accumulator);
        for (int j = 0; j < 2; j++) {
            mem_free_lazy(c->mxu[i].staging[j]);
            mem_free_lazy(c->mxu[i].gain[j]);
        }
    }
}

static void drop_copies(struct ref_core *c)
{
    for (int i = 0; i < c->m->chip.dma_queue_depth; i++) {
        mem_free(c->copy[i].data);
        c->copy[i] = (struct ref_copy){.is_used = false};
    }
    for (size_t i = 0; i < c->complete_count; i++)
        mem_free(c->complete[i].data);
    c->complete_count = 0;
    c->copies_queued = c->copies_running = 0;
}

void ref_destroy(struct ref_machine *m)
{
    for (int i = 0; i < m->core_count; i++) {
        struct ref_core *c = &m->core[i];

        drop_copies(c);
        destroy_units(c);
        mem_free_lazy(c->vmem);
        mem_free(c->smem);
        mem_free_lazy(c->cmem);
        destroy_sparse(&c->hbm);
        destroy_sparse(&c->host);
        mem_free(c->flag);
        mem_free(c->copy);
        for (int j = 0; j < REF_PORT_COUNT; j++)
            mem_free(c->port[j].copy);
        for (int j = 0; j < REF_PORT_COUNT; j++)
            mem_free(c->port[j].staged);
        mem_free(c->sender.staged);
        mem_free(c->store);
        mem_free(c->complete);
        arena_fini(&c->overlay_arena);
    }
    for (int i = 0; i < m->chip_count; i++)
        hbm_destroy(m->hbm[i]);
    if (m->net)
        net_destroy(m->net);
    mem_free(m->hbm);
    mem_free(m->cmem_free_at);
    mem_free(m->host_free_at);
    mem_free_lazy(m->op);
    mem_free(m->event);
    mem_free_lazy(m->core);
    mem_free(m);
}

void ref_load(struct ref_machine *m, int core, const struct isa_program *program)
{
    struct ref_core *c = &m->core[core];

    c->program = program;
    arena_fini(&c->overlay_arena);
    isa_overlays(program, m->chip.core_imem_bundles, (int)m->chip.core_branch_delay_bundles,
                 &c->overlay_arena, &c->overlays);
}

void ref_set_scalar(struct ref_machine *m, int core, int number, int32_t value)
{
    m->core[core].entry_s[number] = value;
}

void ref_write(struct ref_machine *m, int core, enum memory memory, int64_t address,
               const void *from, int64_t bytes)
{
    ref_memory_write(&m->core[core], memory, address, from, bytes);
}

void ref_read(const struct ref_machine *m, int core, enum memory memory, int64_t address, void *to,
              int64_t bytes)
{
    ref_memory_read(&m->core[core], memory, address, to, bytes);
}

void ref_fault(struct ref_core *c, cycle_t at, enum fault_kind kind, const char *why)
{
    if (c->state == REF_FAULTED)
        return;
    c->state = REF_FAULTED;
    c->fault = (struct ref_fault){.kind = kind, .core = c->number, .cycle = at, .bundle = c->pc};
    snprintf(c->fault.msg, sizeof(c->fault.msg), "core %d cycle %lld bundle %u: %s", c->number,
             (long long)at, (unsigned)c->pc, why);
}

static void reset_registers(struct ref_core *c)
{
    memcpy(c->s, c->entry_s, sizeof(c->s));
    memset(c->p, 0, sizeof(c->p));
    memset(c->mask, 0, sizeof(c->mask));
    memset(c->v, 0, (size_t)c->m->chip.core_vregs * sizeof(c->v[0]));
    memset(c->s_ready, 0, sizeof(c->s_ready));
    memset(c->p_ready, 0, sizeof(c->p_ready));
    memset(c->mask_ready, 0, sizeof(c->mask_ready));
    memset(c->v_ready, 0, sizeof(c->v_ready));
    memset(c->flag, 0, (size_t)c->m->chip.sync_flags * sizeof(*c->flag));
    memset(c->iar, 0, sizeof(c->iar));
    c->rng_seed = c->rng_draw = 0;
}

static void reset_units(struct ref_core *c)
{
    c->eup.count = c->crf.count = c->v2s.count = c->drf.count = 0;
    c->eup_free_at = c->cld_free_at = c->dma_free_at = c->delay_until = 0;
    c->last_sst_at = c->last_vst_at = INT32_MIN;        /* long ago */
    c->store_count = 0;
    for (int i = 0; i < c->m->chip.xlu_count; i++) {
        struct ref_xlu *u = &c->xlu[i];

        u->free_at = u->next_xpose_at = 0;
        u->result.count = u->row_count = 0;
        u->is_open = false;
    }
    for (int i = 0; i < c->m->chip.mxu_count; i++)
        ref_mxu_reset(&c->mxu[i], &c->m->chip);
}

static void start_core(struct ref_core *c)
{
    drop_copies(c);
    for (int i = 0; i < REF_PORT_COUNT; i++) {
        c->port[i].free_at = 0;
        c->port[i].count = 0;
        c->port[i].staged_count = 0;
        c->port[i].is_waiting = false;
    }
    c->sender.free_at = 0;
    c->sender.staged_count = 0;
    c->staging_ps = c->hbm_free_at = 0;
    c->peer_free_at = c->peer_busy_ps = 0;
    reset_registers(c);
    reset_units(c);
    memset(c->unit, 0, sizeof(c->unit));
    for (int i = 0; i < REF_UNIT_COUNT; i++)
        c->unit[i].last_single_at = -1;
    memset(&c->counters, 0, sizeof(c->counters));
    memset(&c->fault, 0, sizeof(c->fault));
    c->pc = 0;
    c->branch_in = 0;
    c->halts = false;
    c->sequence = 0;
    c->settled = 0;
    c->arrived_at = c->look_at = c->resume_cycles = c->halted_at = 0;
    c->state = c->program ? REF_LOOKS : REF_EMPTY;
    if (c->program)
        ref_first_overlay(c);
}

static void start(struct ref_machine *m, cycle_t limit)
{
    m->now = m->now_ps = 0;
    m->limit = limit > 0 ? limit : CYCLE_NEVER;
    m->event_count = 0;
    m->later_sequence = 0;
    for (int i = 0; i < m->chip_count; i++) {
        hbm_reset(m->hbm[i]);
        m->cmem_free_at[i][0] = m->cmem_free_at[i][1] = 0;
        m->host_free_at[i][0] = m->host_free_at[i][1] = 0;
    }
    if (m->net)
        net_reset(m->net);
    for (int i = 0; i < m->core_count; i++)
        start_core(&m->core[i]);
}

static bool may_look(const struct ref_core *c)
{
    return c->state == REF_LOOKS || c->state == REF_SETTLES || c->state == REF_ISSUES;
}

/* the next edge at which anything can happen */
static cycle_t next_cycle(const struct ref_machine *m)
{
    cycle_t next = m->event_count > 0 ? ref_cycle_at(m, m->event[0].at) : CYCLE_NEVER;

    for (int i = 0; i < m->core_count; i++)
        if (may_look(&m->core[i]) && m->core[i].look_at < next)
            next = m->core[i].look_at;
    return next;
}

static void look_at_cores(struct ref_machine *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (may_look(&m->core[i]) && m->core[i].look_at <= m->now)
            ref_look(&m->core[i]);
}

static void commit_first(struct ref_machine *m)
{
    struct ref_event e = m->event[0];

    memmove(m->event, m->event + 1, --m->event_count * sizeof(*m->event));
    ref_commit(m, &e);
}

/* of several faults at one cycle that of the lowest core */
static const struct ref_fault *find_fault(const struct ref_machine *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (m->core[i].state == REF_FAULTED)
            return &m->core[i].fault;
    return NULL;
}

/*
 * At an edge: what happened before it; the cores; what happens at that instant,
 * all that is there for it before the cores that it wakes go on.
 */
static void step(struct ref_machine *m)
{
    ps_t edge_ps = ref_edge_ps(m, m->now);

    while (m->event_count > 0 && m->event[0].at < edge_ps)
        commit_first(m);
    m->now_ps = edge_ps;
    look_at_cores(m);
    while (m->event_count > 0 && m->event[0].at == edge_ps) {
        while (m->event_count > 0 && m->event[0].at == edge_ps)
            commit_first(m);
        look_at_cores(m);
    }
}

static const struct ref_fault *find_deadlock(struct ref_machine *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (m->core[i].state == REF_ASKS) {
            cycle_t asked_at = m->core[i].look_at;

            ref_fault(&m->core[i], asked_at, FAULT_DEADLOCK, "a deadlock");
            return &m->core[i].fault;
        }
    return NULL;
}

static const struct ref_fault *find_open_flag(struct ref_machine *m)
{
    for (int i = 0; i < m->core_count; i++) {
        struct ref_core *c = &m->core[i];

        for (int flag = 0; c->program && flag < m->chip.sync_flags; flag++)
            if (c->flag[flag] != 0) {
                ref_fault(c, c->halted_at - 1, FAULT_FLAG, "a sync flag that is not 0 at halt");
                return &c->fault;
            }
    }
    return NULL;
}

/* What a unit does after the end of the launch does not count. */
static void finish_units(struct ref_core *c)
{
    struct core_counters *k = &c->counters;

    k->unit_count = REF_XLU + (int)c->m->chip.xlu_count + 2 * (int)c->m->chip.mxu_count;
    for (int i = 0; i < k->unit_count; i++) {
        const struct ref_unit *u = &c->unit[i];

        k->unit[i].busy_cycles = u->busy_cycles - later(0, u->busy_until - k->cycles);
        k->unit[i].waiting_cycles = u->waiting_cycles;
        k->unit[i].idle_cycles = k->cycles - k->unit[i].busy_cycles - u->waiting_cycles;
        k->unit[i].op_count = u->op_count;
    }
}

static void finish(struct ref_machine *m)
{
    m->cycles = 0;
    for (int i = 0; i < m->chip_count; i++)
        hbm_settle(m->hbm[i]);
    for (int i = 0; i < m->core_count; i++) {
        ref_move_complete(&m->core[i]);
        m->cycles = later(m->cycles, m->core[i].halted_at);
    }
    for (int i = 0; i < m->core_count; i++) {
        m->core[i].counters.cycles = m->cycles;
        m->core[i].counters.idle_cycles = m->cycles - m->core[i].halted_at;
        m->core[i].counters.dma_staging_cycles = ref_cycle_at(m, m->core[i].staging_ps);
        m->core[i].counters.peer_busy_cycles = ref_cycle_at(m, m->core[i].peer_busy_ps);
        finish_units(&m->core[i]);
    }
}

int ref_run(struct ref_machine *m, cycle_t cycle_limit, struct ref_fault *fault)
{
    const struct ref_fault *first = NULL;
    cycle_t next;

    start(m, cycle_limit);
    while (!first && (next = next_cycle(m)) != CYCLE_NEVER) {
        m->now = next;
        step(m);
        first = find_fault(m);
    }
    if (!first)
        first = find_deadlock(m);
    if (!first)
        first = find_open_flag(m);
    finish(m);
    m->fault = first ? *first : (struct ref_fault){.kind = FAULT_NONE};
    *fault = m->fault;
    return first ? -1 : 0;
}

cycle_t ref_cycles(const struct ref_machine *m)
{
    return m->cycles;
}

const struct core_counters *ref_counters(const struct ref_machine *m, int core)
{
    return &m->core[core].counters;
}
