/*
 * The state of a core in a snapshot. Every field of a struct stands in its
 * table, those that are walked by hand or not saved as APART
 * (tests/cli/snapshot_fields.sh looks after that).
 */
#include "sim/snapshot/snapshot_impl.h"
#include "sim/core/timing.h"

#include <string.h>

static const struct field fault_fields[] = {
    SAVED(fault, kind), SAVED(fault, core), SAVED_TIME(fault, cycle), SAVED(fault, bundle),
    SAVED(fault, line), SAVED(fault, msg)};

static const struct field stand_in_fields[] = {
    SAVED_BOOL(stand_in_site, is_met), SAVED_TIME(stand_in_site, cycle),
    SAVED(stand_in_site, bundle), SAVED(stand_in_site, bundles),
    SAVED(stand_in_site, operations)};

static const struct field store_fields[] = {SAVED_TIME(store_record, at),
                                            APART(store_record, rows)};

static const struct field rows_fields[] = {
    SAVED_BOOL(access_rows, is_scattered), SAVED_TIME(access_rows, first),
    SAVED(access_rows, stride), SAVED(access_rows, sublanes)};

static const struct field pending_fields[] = {SAVED_TIME(issue_time, at),
                                              SAVED(issue_time, reason)};

static const struct field mask_fields[] = {SAVED(mask, low), SAVED(mask, high),
                                           SAVED_BOOL(mask, is_split)};

static const struct field core_fields[] = {
    SAVED_TIME(core, now), SAVED_TIME(core, issue_at), SAVED_TIME(core, delay_until),
    SAVED(core, overlay_held), SAVED_TIME(core, overlay_ready_at), SAVED(core, overlay_half),
    SAVED_TIME(core, overlay_free_at),
    SAVED_TIME(core, dma_issue_at), SAVED(core, pc), SAVED(core, branch_target),
    SAVED(core, branch_in), SAVED(core, state), SAVED_BOOL(core, halts), SAVED(core, live),
    SAVED(core, bank_extra), SAVED(core, entry_s), SAVED_BOOL(core, p),
    SAVED_TIME(core, ready_at), SAVED_TIME(core, stall_cycles), SAVED_TIME(core, waiting_cycles),
    SAVED_TIME(core, busy_cycles), SAVED_TIME(core, busy_until), SAVED(core, store_count),
    SAVED_TIME(core, last_store_at), SAVED_TIME(core, last_sst_at), SAVED_TIME(core, eup_free_at),
    SAVED_TIME(core, cmem_free_at), SAVED(core, iar), SAVED_BOOL(core, iar_is_unknown),
    SAVED(core, rng_seed),
    SAVED(core, rng_draw), SAVED(core, trace_mask), SAVED(core, sync_done),
    SAVED_BOOL(core, is_resumed), SAVED(core, wait_code), SAVED(core, wait_flag),
    SAVED(core, wait_value), SAVED_BOOL(core, is_waiting), SAVED(core, read_value),
    SAVED_TIME(core, resume_cycles), SAVED(core, sequence), SAVED(core, serial_sequence),
    SAVED(core, dma_active), SAVED_TIME(core, dma_busy_from), SAVED_TIME(core, halted_at),
    SAVED(core, dma_issued), SAVED(core, dma_count), SAVED(core, hbm_read_bytes),
    SAVED(core, hbm_write_bytes),
    SAVED(core, ici_sent_bytes), SAVED(core, ici_received_bytes), SAVED(core, cmem_read_bytes),
    SAVED(core, cmem_write_bytes), SAVED_TIME(core, dma_staging_ps),
    SAVED(core, host_read_bytes), SAVED(core, host_write_bytes),
    SAVED(core, peer_sent_bytes), SAVED_TIME(core, peer_busy_ps),

    /* below, and in snapshot_units.c and snapshot_dma.c */
    APART(core, bundle_count), APART(core, bundle_stall), APART(core, bundle_copies),
    APART(core, guarded_count),
    APART(core, s), APART(core, registers), APART(core, own), APART(core, m), APART(core, vmem),
    APART(core, vmem_touched),
    APART(core, smem),
    APART(core, smem_end),
    APART(core, hbm), APART(core, unknown_hbm), APART(core, shares_hbm), APART(core, host),
    APART(core, unknown_host), APART(core, cmem), APART(core, flag),
    APART(core, store), APART(core, eup), APART(core, crf), APART(core, v2s),
    APART(core, store_at), APART(core, wide_store_at), APART(core, drf), APART(core, xlu),
    APART(core, mxu), APART(core, mxu_memory), APART(core, lanes), APART(core, lane_bytes),
    APART(core, pending), APART(core, outbox), APART(core, dma), APART(core, dma_free),
    APART(core, dma_free_count), APART(core, copy), APART(core, copy_count),
    APART(core, copy_visible), APART(core, fault), APART(core, late_fault), APART(core, checks),
    APART(core, stand_in),
    APART(core, vreg), APART(core, vreg_by_rows), APART(core, vreg_by_entry), APART(core, borrows),
    APART(core, ahead), APART(core, ahead_next),

    /* the fingerprint compares them */
    APART(core, program), APART(core, chip), APART(core, mode), APART(core, is_listing),
    APART(core, branch_delay_bundles),

    /* the machine's own, or made by machine_create, machine_load, machine_advance */
    APART(core, simd), APART(core, fifo), APART(core, store_gap_cycles), APART(core, limit),
    APART(core, stop_at), APART(core, tile),
    APART(core, vmem_rows), APART(core, hbm_bytes), APART(core, cmem_bytes),
    APART(core, sums_quads), APART(core, number), APART(core, core_count), APART(core, clock_mhz),
    APART(core, copy_capacity), APART(core, memo), APART(core, recorder), APART(core, hbm_log),
    APART(core, log), APART(core, origins), APART(core, replay), APART(core, watch),
    APART(core, hooks), APART(core, tells_accesses),

    APART(core, counters)               /* summed up by machine_finish */
};

void snapshot_fault_archive(struct fault *f, struct archive *a)
{
    WALK(a, fault_fields, f);
    archive_check(a, f->kind <= FAULT_UNKNOWN, "the snapshot has a fault of kind %d",
                  (int)f->kind);
    archive_check(a, memchr(f->msg, '\0', sizeof(f->msg)) != NULL,
                  "the snapshot has a fault whose message does not end");
}

static void archive_program_state(struct core *c, struct archive *a)
{
    if (!c->program)
        return;
    archive_bytes(a, c->s, S_CONST * sizeof(*c->s));
    archive_sparse(a, c->bundle_count, c->program->bundle_count * sizeof(*c->bundle_count));
    archive_sparse(a, c->bundle_stall, c->program->bundle_count * sizeof(*c->bundle_stall));
    archive_sparse(a, c->bundle_copies, c->program->bundle_count * sizeof(*c->bundle_copies));
    archive_sparse(a, c->guarded_count, c->program->source->op_count * sizeof(*c->guarded_count));
}

static void archive_memories(struct core *c, struct archive *a)
{
    archive_sparse(a, c->registers, V_CONST * sizeof(*c->registers));
    archive_sparse(a, c->vmem, (size_t)c->chip->vmem_bytes);
    archive_sparse(a, c->smem, (size_t)c->chip->smem_bytes);
    if (archive_is_loading(a)) {
        c->smem_end = c->chip->smem_bytes;
        core_note_vmem(c, 0, c->vmem_rows);
    }
    archive_sparse(a, c->flag, (size_t)c->chip->sync_flags * sizeof(*c->flag));
    if (c->cmem)
        archive_sparse(a, c->cmem, (size_t)c->cmem_bytes);
    if (!c->shares_hbm || c->number % c->chip->chip_cores == 0) {
        hbm_store_archive(c->hbm, a);
        snapshot_ranges_archive(c->unknown_hbm, c->hbm_bytes, a);
    }
    hbm_store_archive(c->host, a);
    snapshot_ranges_archive(&c->unknown_host, c->chip->host_window_bytes, a);
}

/* the newest ones: the ring has overwritten the others */
static void archive_stores(struct core *c, struct archive *a)
{
    uint32_t count = c->store_count < STORE_RING ? c->store_count : STORE_RING;

    for (uint32_t i = 1; i <= count; i++) {
        struct store_record *s = &c->store[(c->store_count - i) % STORE_RING];

        WALK(a, store_fields, s);
        WALK(a, rows_fields, &s->rows);
    }
    if (archive_is_loading(a) && !a->is_failed)
        timing_note_all_stores(c);
}

static void check_core(const struct core *c, struct archive *a)
{
    uint32_t bundles = c->program ? c->program->bundle_count : 0;
    bool is_blocked = c->state == CORE_BLOCKED;

    archive_check(a, c->state <= CORE_FAULTED && (c->state == CORE_EMPTY) == (c->program == NULL),
                  "core %d of the snapshot is in state %d", c->number, (int)c->state);
    archive_check(a, c->state == CORE_EMPTY || c->state == CORE_FAULTED || c->pc < bundles
                     || !(is_blocked || c->is_resumed || c->state == CORE_HALTED),
                  "core %d of the snapshot is at bundle %u of %u", c->number, (unsigned)c->pc,
                  (unsigned)bundles);
    archive_check(a, !c->program || ((unsigned)c->overlay_half < 2
                     && c->overlay_held[0] < c->program->overlays.count
                     && c->overlay_held[1] < c->program->overlays.count),
                  "core %d of the snapshot runs in an overlay that there is not", c->number);
    archive_check(a, (unsigned)c->pending.reason <= STALL_COUNT && c->branch_in >= 0
                     && (unsigned)c->bank_extra <= UINT8_MAX && c->sync_done >= 0,
                  "core %d of the snapshot waits for nothing that there is", c->number);
    archive_check(a, !is_blocked || ((unsigned)c->wait_code < OP_COUNT
                                     && (unsigned)c->wait_flag < c->chip->sync_flags),
                  "core %d of the snapshot waits for flag %d of %lld", c->number,
                  (int)c->wait_flag, (long long)c->chip->sync_flags);
}

void snapshot_core_archive(struct core *c, struct archive *a)
{
    WALK(a, core_fields, c);
    WALK(a, pending_fields, &c->pending);
    snapshot_fault_archive(&c->fault, a);
    snapshot_fault_archive(&c->late_fault, a);
    WALK(a, stand_in_fields, &c->stand_in);
    for (int i = 0; i < M_COUNT; i++)
        WALK(a, mask_fields, &c->m[i]);
    archive_program_state(c, a);
    archive_memories(c, a);
    archive_stores(c, a);
    snapshot_units_archive(c, a);
    snapshot_copies_archive(c, a);
    snapshot_checks_archive(c, a);
    check_core(c, a);
}

uint32_t snapshot_core_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, fault_fields, COUNT_OF(fault_fields));
    crc = archive_table_crc(crc, stand_in_fields, COUNT_OF(stand_in_fields));
    crc = archive_table_crc(crc, store_fields, COUNT_OF(store_fields));
    crc = archive_table_crc(crc, rows_fields, COUNT_OF(rows_fields));
    crc = archive_table_crc(crc, pending_fields, COUNT_OF(pending_fields));
    crc = archive_table_crc(crc, mask_fields, COUNT_OF(mask_fields));
    return archive_table_crc(crc, core_fields, COUNT_OF(core_fields));
}
