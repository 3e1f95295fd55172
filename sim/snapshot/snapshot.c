/* Saves a machine as a byte string, what it must agree with and then its state, and restores it. */
#include "sim/snapshot/snapshot.h"

#include "sim/launch/launch.h"
#include "sim/observe/tracing.h"
#include "sim/snapshot/snapshot_impl.h"

#include <string.h>

static const struct field machine_fields[] = {
    SAVED_TIME(machine, now_ps), SAVED_BOOL(machine, is_complete), SAVED_TIME(machine, cycles),

    /* below */
    APART(machine, core), APART(machine, ports), APART(machine, hbm), APART(machine, cmem),
    APART(machine, host),
    APART(machine, net), APART(machine, queue), APART(machine, fault),

    /* the fingerprint compares them */
    APART(machine, slice), APART(machine, chip), APART(machine, options),
    APART(machine, core_count), APART(machine, chip_count), APART(machine, share_bytes),
    APART(machine, contents), APART(machine, contents_count),
    APART(machine, program), APART(machine, program_count), APART(machine, program_capacity),

    /* the machine's own, or made by machine_advance */
    APART(machine, arena), APART(machine, simd), APART(machine, horizon_ps),
    APART(machine, stop_ps), APART(machine, runnable), APART(machine, runnable_count),
    APART(machine, rounds), APART(machine, launch_memo), APART(machine, replay),
    APART(machine, tell_progress), APART(machine, progress_context),
    APART(machine, watch), APART(machine, tracing)};

static const struct field cmem_fields[] = {SAVED_TIME(cmem_port, free_at)};
static const struct field host_fields[] = {SAVED_TIME(host_link, free_at)};

/* What a bundle's program is to a core. */
struct loaded_program {
    uint64_t hash;
    uint32_t bundle_count, op_count, is_listing, branch_delay_bundles;
};

static uint32_t layout_crc(void)
{
    uint32_t crc = archive_table_crc(OP_COUNT, machine_fields, COUNT_OF(machine_fields));

    crc = archive_table_crc(crc, cmem_fields, COUNT_OF(cmem_fields));
    crc = archive_table_crc(crc, host_fields, COUNT_OF(host_fields));
    crc = snapshot_core_archive_crc(crc);
    crc = snapshot_units_archive_crc(crc);
    crc = snapshot_copies_archive_crc(crc);
    crc = snapshot_checks_archive_crc(crc);
    crc = hbm_archive_crc(crc);
    return net_archive_crc(crc);
}

static void compare_layout(struct archive *a)
{
    uint32_t crc = layout_crc(), saved = crc;

    archive_bytes(a, &saved, sizeof(saved));
    archive_check(a, saved == crc, "the snapshot comes from another version of systole");
}

static void compare_chips(const struct machine *m, struct archive *a)
{
    char here[64], there[64];
    struct chip saved = m->chip;

    for (size_t i = 0; i < chip_param_count && !a->is_failed; i++) {
        const struct chip_param *p = &chip_params[i];
        size_t bytes = p->kind == CHIP_WORD ? sizeof(m->chip.chip_name) : sizeof(int64_t);
        char *field = (char *)&saved + p->offset;

        archive_bytes(a, field, bytes);
        if (p->kind == CHIP_WORD)
            field[bytes - 1] = '\0';
        chip_print_param(&m->chip, i, here, sizeof(here));
        chip_print_param(&saved, i, there, sizeof(there));
        archive_check(a, memcmp((const char *)&m->chip + p->offset, field, bytes) == 0,
                      "the snapshot is of a chip with %s.%s %s; this machine has %s", p->section,
                      p->key, there, here);
    }
}

static void compare_slices(const struct machine *m, struct archive *a)
{
    struct slice saved = m->slice;

    archive_bytes(a, saved.name, sizeof(saved.name));
    archive_bytes(a, saved.chip_name, sizeof(saved.chip_name));
    archive_bytes(a, saved.dim, sizeof(saved.dim));
    saved.name[sizeof(saved.name) - 1] = '\0';
    archive_check(a, memcmp(saved.chip_name, m->slice.chip_name, sizeof(saved.chip_name)) == 0
                     && memcmp(saved.dim, m->slice.dim, sizeof(saved.dim)) == 0,
                  "the snapshot is of a %s; this machine is a %s", saved.name, m->slice.name);
    for (int i = 0; i < (int)COUNT_OF(saved.is_ring); i++) {
        uint8_t is_ring = m->slice.is_ring[i];

        archive_bytes(a, &is_ring, sizeof(is_ring));
        archive_check(a, is_ring == m->slice.is_ring[i],
                      "axis %d of the snapshot's slice is %s ring", i, is_ring ? "a" : "no");
    }
}

static void compare_twist(const struct machine *m, struct archive *a)
{
    uint8_t is_twisted = m->slice.is_twisted;

    archive_bytes(a, &is_twisted, sizeof(is_twisted));
    archive_check(a, is_twisted == m->slice.is_twisted, "the snapshot's slice is %s torus",
                  is_twisted ? "a twisted" : "no twisted");
}

static void compare_option(struct archive *a, const char *name, int here)
{
    int32_t saved = here;

    archive_bytes(a, &saved, sizeof(saved));
    archive_check(a, saved == here, "the snapshot was taken with %s %d; this machine has %d", name,
                  (int)saved, here);
}

static void compare_modes(const struct machine *m, struct archive *a)
{
    static const char *const names[] = {[MODE_BOTH] = "both", [MODE_TIMING] = "timing",
                                        [MODE_FUNCTIONAL] = "functional"};
    uint32_t saved = m->options.mode;

    archive_bytes(a, &saved, sizeof(saved));
    archive_check(a, saved == (uint32_t)m->options.mode,
                  "the snapshot was taken in mode %s; this machine is in mode %s",
                  saved < COUNT_OF(names) ? names[saved] : "unknown", names[m->options.mode]);
    compare_option(a, "check_races", m->options.check_races);
    compare_option(a, "check_unwritten", m->options.check_unwritten);
    compare_option(a, "shared_hbm", m->options.shared_hbm);
}

static struct loaded_program program_of(const struct core *c)
{
    if (!c->program)
        return (struct loaded_program){0};
    return (struct loaded_program){c->program->hash, c->program->bundle_count,
                                   c->program->source->op_count, c->is_listing,
                                   (uint32_t)c->branch_delay_bundles};
}

static void compare_programs(const struct machine *m, struct archive *a)
{
    for (int i = 0; i < m->core_count; i++) {
        struct loaded_program here = program_of(&m->core[i]), saved = here;

        archive_bytes(a, &saved, sizeof(saved));
        archive_check(a, (saved.bundle_count == 0) == (here.bundle_count == 0),
                      "core %d has %s program, in the snapshot it has %s", i,
                      here.bundle_count ? "a" : "no", here.bundle_count ? "none" : "one");
        archive_check(a, saved.hash == here.hash && saved.bundle_count == here.bundle_count
                         && saved.op_count == here.op_count,
                      "core %d has another program than in the snapshot", i);
        archive_check(a, saved.is_listing == here.is_listing
                         && saved.branch_delay_bundles == here.branch_delay_bundles,
                      "core %d runs its program as %s with %u delay bundles, in the snapshot as %s"
                      " with %u", i, here.is_listing ? "a listing" : "a program",
                      (unsigned)here.branch_delay_bundles,
                      saved.is_listing ? "a listing" : "a program",
                      (unsigned)saved.branch_delay_bundles);
    }
}

static void compare(const struct machine *m, struct archive *a)
{
    compare_layout(a);
    compare_slices(m, a);
    compare_twist(m, a);
    compare_chips(m, a);
    compare_modes(m, a);
    compare_programs(m, a);
}

static void archive_state(struct machine *m, struct archive *a)
{
    WALK(a, machine_fields, m);
    snapshot_fault_archive(&m->fault, a);
    for (int i = 0; i < m->chip_count; i++) {
        hbm_archive(m->hbm[i], a);
        WALK(a, cmem_fields, &m->cmem[i]);
        WALK(a, host_fields, &m->host[i]);
    }
    if (m->net)
        net_archive(m->net, a);
    for (int i = 0; i < m->core_count && !a->is_failed; i++) {
        snapshot_core_archive(&m->core[i], a);
        snapshot_ports_archive(&m->chip, &m->ports[i], a);
    }
    snapshot_events_archive(m, &m->queue, a);
}

/* saving changes nothing: both directions go by the same functions */
void machine_save(const struct machine *m, struct bytes *out)
{
    struct archive a = {.out = out};

    compare(m, &a);
    archive_state((struct machine *)m, &a);
}

/* the core that is least far goes on there; with all at their end, copies may */
static cycle_t resumed_at(const struct machine *m)
{
    cycle_t first = CYCLE_NEVER;

    for (int i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->state >= CORE_RUNNING && c->state <= CORE_BLOCKED && c->now < first)
            first = c->now;
    }
    if (first == CYCLE_NEVER)
        return clock_cycle_at(m->chip.chip_clock_mhz, m->now_ps);
    return first;
}

int machine_restore(struct machine *m, const void *snapshot, size_t size, struct err *e)
{
    const unsigned char *at = snapshot;
    struct archive a = {.at = at, .end = at + size, .e = e};

    compare(m, &a);
    if (a.is_failed)
        return -1;
    launch_reset(m);
    archive_state(m, &a);
    archive_check(&a, a.at == a.end, "the snapshot has %zu bytes too many",
                  (size_t)(a.end - a.at));
    if (a.is_failed)
        launch_reset(m);
    tracing_reset(m, a.is_failed ? 0 : resumed_at(m));
    return a.is_failed ? -1 : 0;
}
