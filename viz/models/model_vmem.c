/* Gathers the copies and accesses that touch a core's VMEM, as boxes of time and address. */
#include "viz/models/model_vmem.h"

#include "sim/observe/inspect.h"

#include <string.h>

void vmem_model_fini(struct vmem_model *m)
{
    mem_free(m->copy);
    mem_free(m->touched);
    mem_free(m->used_bytes);
    memset(m, 0, sizeof(*m));
}

/* ---- copies ---- */

struct gathering {
    struct vmem_model *m;
    int core;                           /* whose copies are walked */
};

/* what the copy does to this core's VMEM; false: nothing */
static bool way_of(const struct gathering *g, const struct trace_dma *d, struct vmem_copy *c)
{
    const bool is_own = g->core == g->m->core, stays = d->target == g->core;
    const bool comes = d->destination_space == MEMORY_VMEM && d->target == g->m->core;
    const bool leaves = d->source_space == MEMORY_VMEM && is_own;

    if (!comes && !leaves)
        return false;
    c->address = comes ? d->destination_address : d->source_address;
    if (comes && !is_own)
        c->way = VMEM_FROM_CORE;
    else if (leaves && !stays)
        c->way = VMEM_TO_CORE;
    else if (comes && d->source_space == MEMORY_HBM)
        c->way = VMEM_FROM_HBM;
    else if (leaves && d->destination_space == MEMORY_HBM)
        c->way = VMEM_TO_HBM;
    else
        c->way = VMEM_OTHER;
    return true;
}

static bool take_copy(void *context, const struct trace_dma *d)
{
    const struct gathering *g = context;
    struct vmem_model *m = g->m;
    struct vmem_copy c = {.core = g->core, .dma = *d, .bytes = d->bytes};

    m->has_more = ++m->looked_at > VMEM_WALK_MOST;
    if (m->has_more || !way_of(g, d, &c))
        return !m->has_more;
    m->has_more = m->copy_count == VMEM_COPY_MOST;
    if (m->has_more)
        return false;
    MEM_ADD(m->copy, m->copy_count, m->copy_capacity) = c;
    if (c.address + c.bytes > m->highest_byte)
        m->highest_byte = c.address + c.bytes;
    return true;
}

/* own copies, then those of other cores, which may arrive here */
static void gather_copies(struct vmem_model *m, struct ntrace *run, cycle_t from, cycle_t end)
{
    struct gathering g = {.m = m, .core = m->core};

    ntrace_walk_dmas(run, m->core, from, end, take_copy, &g);
    for (int core = 0; core < ntrace_info(run)->core_count && !m->has_more; core++)
        if (core != m->core) {
            g.core = core;
            ntrace_walk_dmas(run, core, from, end, take_copy, &g);
        }
}

/* ---- loads and stores ---- */

static void touch(struct vmem_model *m, size_t column, int64_t byte, uint8_t how)
{
    const int64_t tile = byte / VMEM_TILE_BYTES;

    if (byte >= 0 && tile < (int64_t)m->tile_count)
        m->touched[column * m->tile_count + (size_t)tile] |= how;
}

/* Accesses of an interval, `later_by` cycles after they were told. */
struct accesses {
    struct vmem_model *m;
    struct ntrace *run;
    const struct isa_program *program;
    cycle_t from, end, later_by;
};

static void walk_accesses(struct accesses *a);

static void take_access(const struct accesses *a, const struct trace_record *r)
{
    const struct isa_bundle *b = r->bundle < a->program->bundle_count
                                 ? &a->program->bundle[r->bundle] : NULL;
    struct vmem_model *m = a->m;
    const cycle_t column = (r->at + a->later_by - m->from) / m->width_cycles;
    enum isa_unit unit;

    if (!b || r->op >= b->op_count || column < 0 || column >= (cycle_t)m->count)
        return;
    unit = isa_info((enum isa_opcode)a->program->op[b->first_op + r->op].code)->unit;
    for (int i = 0; i < 8; i++) {
        const int64_t byte = (r->value + (int64_t)i * r->stride) * VMEM_ROW_BYTES;

        if (!(r->mask >> i & 1u))
            continue;
        touch(m, (size_t)column, byte, unit == UNIT_STORE ? VMEM_STORED : VMEM_LOADED);
        if (byte + VMEM_ROW_BYTES > m->highest_byte && byte + VMEM_ROW_BYTES <= m->vmem_bytes)
            m->highest_byte = byte + VMEM_ROW_BYTES;
    }
}

/* iterations that were not simulated are those of the window before, moved */
static void take_repeat(const struct accesses *a, const struct trace_repeat *r)
{
    const cycle_t skip = a->from > r->at ? (a->from - r->at) / r->period : 0;
    cycle_t i;

    for (i = skip; i < r->count && r->at + i * r->period < a->end; i++) {
        const cycle_t by = (i + 1) * r->period, begin = r->at - r->period + by;
        struct accesses window = *a;

        window.from = later(a->from, begin) - by;
        window.end = (a->end < begin + r->period ? a->end : begin + r->period) - by;
        window.later_by = a->later_by + by;
        walk_accesses(&window);
    }
}

static bool take_record(void *context, const struct trace_record *r,
                        const struct trace_repeat *repeat)
{
    struct accesses *a = context;

    if (repeat)
        take_repeat(a, repeat);
    else if (r->kind == TRACE_ACCESS && r->at >= a->from && r->at < a->end)
        take_access(a, r);
    return true;
}

static void walk_accesses(struct accesses *a)
{
    if (a->end > a->from)
        ntrace_walk_records(a->run, a->m->core, a->from, a->end, take_record, a);
}

static void touch_by_copy(struct vmem_model *m, const struct vmem_copy *c)
{
    const cycle_t first = later(c->dma.started_at - m->from, 0) / m->width_cycles;
    const int64_t tile = later(c->address, 0) / VMEM_TILE_BYTES;
    cycle_t column, last = (c->dma.done_at - 1 - m->from) / m->width_cycles;
    int64_t end = div_up(c->address + c->bytes, VMEM_TILE_BYTES);

    last = last < (cycle_t)m->count ? last : (cycle_t)m->count - 1;
    end = end < (int64_t)m->tile_count ? end : (int64_t)m->tile_count;
    for (column = first; column <= last; column++) {
        uint8_t *touched = m->touched + (size_t)column * m->tile_count;

        for (int64_t i = tile; i < end; i++)
            touched[i] |= VMEM_COPIED;
    }
}

static int64_t touched_tiles(const struct vmem_model *m, size_t column)
{
    const uint8_t *touched = m->touched + column * m->tile_count;
    int64_t count = 0;

    for (size_t i = 0; i < m->tile_count; i++)
        count += touched[i] != 0;
    return count;
}

static void reserve(struct vmem_model *m, size_t columns)
{
    mem_free(m->touched);
    mem_free(m->used_bytes);
    m->count = columns;
    m->tile_count = (size_t)div_up(m->vmem_bytes, VMEM_TILE_BYTES);
    m->touched = mem_alloc(columns * m->tile_count + 1);
    m->used_bytes = mem_alloc((columns + 1) * sizeof(*m->used_bytes));
    m->copy_count = 0;
    m->looked_at = 0;
    m->has_more = false;
    m->highest_byte = 0;
}

void vmem_model_load(struct vmem_model *m, struct ntrace *run, int core, cycle_t from,
                     cycle_t end, size_t columns)
{
    const struct ntrace_info *info = ntrace_info(run);
    const cycle_t cycles = end > from ? end - from : 1;
    struct accesses a = {.m = m, .run = run, .program = ntrace_program(run, core), .from = from,
                         .end = end};

    m->core = core;
    m->from = from;
    m->width_cycles = div_up(cycles, (int64_t)(columns > 0 ? columns : 1));
    m->vmem_bytes = info->chip->vmem_bytes;
    reserve(m, (size_t)div_up(cycles, m->width_cycles));
    gather_copies(m, run, from, end);
    m->has_accesses = info->level >= TRACE_SLOT && cycles <= VMEM_ACCESS_CYCLES && a.program;
    if (m->has_accesses)
        walk_accesses(&a);
    for (size_t i = 0; i < m->copy_count; i++)
        touch_by_copy(m, &m->copy[i]);
    for (size_t i = 0; i < m->count; i++)
        m->used_bytes[i] = VMEM_TILE_BYTES * touched_tiles(m, i);
}

const struct vmem_copy *vmem_model_at(const struct vmem_model *m, double cycle, int64_t address)
{
    const struct vmem_copy *found = NULL;

    for (size_t i = 0; i < m->copy_count; i++) {
        const struct vmem_copy *c = &m->copy[i];

        if ((double)c->dma.issued_at <= cycle && cycle < (double)c->dma.done_at &&
            c->address <= address && address < c->address + c->bytes &&
            (!found || c->dma.issued_at >= found->dma.issued_at))
            found = c;
    }
    return found;
}
