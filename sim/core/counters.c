/*
 * Where cycles went: waits and occupancy while a core runs, everything that
 * follows from how often each bundle issued when it is done.
 */
#include "sim/core/core.h"
#include "sim/chip/limits.h"

#include <assert.h>
#include <string.h>

/*
 * A unit waits where a stalled bundle holds an operation for it and it is not busy itself. Those
 * that are never busy beyond a cycle follow from how long each bundle has waited: count_ops.
 */
void core_count_wait(struct core *c, const struct decoded_bundle *b, cycle_t from, cycle_t to)
{
    uint32_t tracks = b->tracks & ~(1u << TRACK_DMA | TRACKS_SIMPLE);

    for (; tracks; tracks &= tracks - 1) {
        int track = __builtin_ctz(tracks);
        cycle_t busy_until = c->busy_until[track];

        if (busy_until < to)
            c->waiting_cycles[track] += to - (busy_until > from ? busy_until : from);
    }
}

/* multiplications and additions of the whole array; integers and fp8 count like bf16 */
static void count_matmul(struct core *c, const struct decoded_op *o, int64_t executed)
{
    struct matrix_op m = matrix_op_of(o->code, o->o);

    if (m.kind != MATRIX_MULTIPLY)
        return;
    c->counters.matmul_cycles += executed * chip_matmul_cycles(c->chip, m.type);
    c->counters.matmul_flops += executed * 2 * matrix_rows(m.type) * c->chip->mxu_size *
                                c->chip->mxu_size;
}

static void count_ops(struct core *c)
{
    const struct decoded_program *p = c->program;

    for (uint32_t i = 0; i < p->bundle_count; i++) {
        const struct decoded_bundle *b = &p->bundle[i];
        int64_t times = (int64_t)c->bundle_count[i];

        c->counters.issue_cycles += times;
        for (uint32_t tracks = b->busy_tracks; tracks; tracks &= tracks - 1)
            c->busy_cycles[__builtin_ctz(tracks)] += times;
        for (uint32_t tracks = b->tracks & TRACKS_SIMPLE; tracks; tracks &= tracks - 1)
            c->waiting_cycles[__builtin_ctz(tracks)] += c->bundle_stall[i];
        for (uint32_t j = 0; j < b->op_count; j++) {
            const struct decoded_op *o = &p->op[b->first_op + j];
            int64_t executed = o->is_guarded ? (int64_t)c->guarded_count[o->source] : times;

            if (o->code == OP_COUNT)
                continue;
            c->counters.op_count[o->code] += executed;
            if (o->timing == TIMING_MATMUL)
                count_matmul(c, o, executed);
            c->counters.unit[o->track].op_count += executed;
        }
    }
}

static int64_t slots_of(const struct chip *chip, int track)
{
    switch (track) {
    case TRACK_SCALAR: return chip->slots_scalar;
    case TRACK_VALU: return chip->slots_valu;
    case TRACK_EUP: return chip->slots_eup;
    case TRACK_LOAD: return chip->slots_load + chip->slots_misc_load
                            + chip->slots_cmem_load;
    case TRACK_STORE: return chip->slots_store + chip->slots_misc_store;
    case TRACK_MISC: return chip->slots_misc;
    default: return 1;
    }
}

/* what a unit still does after the launch is over does not count */
static void finish_unit(struct core *c, int track, cycle_t cycles)
{
    struct unit_counters *u = &c->counters.unit[track];

    u->name = track_name(c->chip, track);
    u->idle_cycles = cycles;
    if (c->mode == MODE_FUNCTIONAL)
        return;                         /* nothing is timed */
    u->busy_cycles = c->busy_cycles[track];
    if (c->busy_until[track] > cycles)
        u->busy_cycles -= c->busy_until[track] - cycles;
    u->waiting_cycles = c->waiting_cycles[track];
    u->idle_cycles = cycles - u->busy_cycles - u->waiting_cycles;
    u->slot_cycles = cycles * slots_of(c->chip, track);
}

static void check_identities(const struct core *c)
{
    const struct core_counters *k = &c->counters;
    cycle_t sum = k->issue_cycles + k->idle_cycles;

    for (int i = 0; i < STALL_COUNT; i++)
        sum += k->stall_cycles[i];
    assert(sum == k->cycles);
    assert(c->state == CORE_EMPTY || k->idle_cycles == k->cycles - c->halted_at);
    for (int i = 0; i < k->unit_count; i++)
        assert(k->unit[i].idle_cycles >= 0);
}

void core_finish_counters(struct core *c, cycle_t cycles, bool is_complete)
{
    struct core_counters *k = &c->counters;

    memset(k, 0, sizeof(*k));
    k->cycles = cycles;
    k->unit_count = track_count(c->chip);
    assert(k->unit_count <= MACHINE_UNIT_MAX);
    memcpy(k->stall_cycles, c->stall_cycles, sizeof(k->stall_cycles));
    if (c->program)
        count_ops(c);
    k->idle_cycles = cycles - k->issue_cycles;
    for (int i = 0; i < STALL_COUNT; i++)
        k->idle_cycles -= k->stall_cycles[i];
    for (int i = 0; i < k->unit_count; i++)
        finish_unit(c, i, cycles);
    k->hbm_read_bytes = c->hbm_read_bytes;
    k->hbm_write_bytes = c->hbm_write_bytes;
    k->ici_sent_bytes = c->ici_sent_bytes;
    k->ici_received_bytes = c->ici_received_bytes;
    k->cmem_read_bytes = c->cmem_read_bytes;
    k->cmem_write_bytes = c->cmem_write_bytes;
    k->host_read_bytes = c->host_read_bytes;
    k->host_write_bytes = c->host_write_bytes;
    k->peer_sent_bytes = c->peer_sent_bytes;
    k->peer_busy_cycles = clock_cycle_at(c->clock_mhz, c->peer_busy_ps);
    k->dma_count = c->dma_count;
    k->dma_staging_cycles = clock_cycle_at(c->clock_mhz, c->dma_staging_ps);
    if (is_complete)
        check_identities(c);
}
