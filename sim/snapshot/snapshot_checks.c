/*
 * What the checks of a run know, in a snapshot: what has been written, copies
 * that nobody has waited for, accesses that one of another core could still meet.
 */
#include "sim/check/checks.h"
#include "sim/check/race_impl.h"
#include "sim/snapshot/snapshot_impl.h"

static const struct field site_fields[] = {SAVED(site, core), SAVED_TIME(site, at),
                                           SAVED(site, bundle), SAVED(site, line),
                                           SAVED(site, code)};
static const struct field extent_fields[] = {SAVED_TIME(extent, first), SAVED_TIME(extent, end)};
static const struct field side_fields[] = {SAVED(side, space), SAVED_BOOL(side, is_write),
                                           APART(side, piece), APART(side, count),
                                           APART(side, capacity)};
static const struct field copy_fields[] = {
    SAVED(copy, role), SAVED(copy, number), SAVED(copy, target), SAVED(copy, flag),
    SAVED_TIME(copy, granules), SAVED_BOOL(copy, is_done), SAVED(copy, followed_from),
    SAVED_BOOL(copy, is_seen), APART(copy, is_known), APART(copy, site), APART(copy, side),
    APART(copy, side_count)};
static const struct field access_fields[] = {
    SAVED_TIME(access, at), SAVED(access, bundle), SAVED(access, op), SAVED(access, space),
    SAVED_BOOL(access, is_write), APART(access, extent)};
static const struct field race_fields[] = {
    SAVED(race, next_number), APART(race, now_ps), APART(race, is_logged), APART(race, copy),
    APART(race, copy_count), APART(race, copy_capacity), APART(race, log),
    APART(race, log_count), APART(race, log_capacity)};

static void archive_side(struct side *s, struct archive *a)
{
    size_t count = archive_count(a, s->count, sizeof(*s->piece));
    int64_t end = -1;

    WALK(a, side_fields, s);
    if (archive_is_loading(a))
        s->piece = mem_grow(NULL, &s->capacity, count + 1, sizeof(*s->piece));
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        WALK(a, extent_fields, &s->piece[i]);
        archive_check(a, s->piece[i].first > end && s->piece[i].end > s->piece[i].first,
                      "the snapshot has impossible pieces of a copy");
        end = s->piece[i].end;
    }
    archive_check(a, count > 0 && (unsigned)s->space < SPACE_COUNT,
                  "the snapshot has a copy of nothing");
}

static void archive_copy(struct copy *copy, const struct core *c, struct archive *a)
{
    unsigned count = (unsigned)c->core_count;

    WALK(a, copy_fields, copy);
    WALK(a, site_fields, &copy->site);
    archive_check(a, copy->role <= ROLE_DESTINATION && copy->site.code < OP_COUNT
                     && (unsigned)copy->site.core < count && (unsigned)copy->target < count,
                  "the snapshot has an impossible copy under way");
    copy->side_count = copy->role == ROLE_LOCAL ? 2 : 1;
    for (int i = 0; i < copy->side_count; i++)
        archive_side(&copy->side[i], a);
}

static void archive_access(struct access *x, const struct core *c, struct archive *a)
{
    WALK(a, access_fields, x);
    WALK(a, extent_fields, &x->extent);
    archive_check(a, (unsigned)x->space < SPACE_COUNT && c->program
                     && x->op < c->program->source->op_count
                     && x->bundle < c->program->bundle_count,
                  "the snapshot has an impossible access");
}

static void archive_race(struct race *r, const struct core *c, struct archive *a)
{
    size_t copies = archive_count(a, r->copy_count, 1);
    size_t accesses = archive_count(a, r->log_count, 1);

    WALK(a, race_fields, r);
    if (archive_is_loading(a)) {
        r->copy = mem_grow(r->copy, &r->copy_capacity, copies, sizeof(*r->copy));
        r->log = mem_grow(r->log, &r->log_capacity, accesses, sizeof(*r->log));
    }
    for (size_t i = 0; i < copies && !a->is_failed; i++) {
        if (archive_is_loading(a))
            r->copy[r->copy_count++] = (struct copy){.side_count = 0};
        archive_copy(&r->copy[i], c, a);
    }
    for (size_t i = 0; i < accesses && !a->is_failed; i++)
        archive_access(&r->log[i], c, a);
    r->log_count = a->is_failed ? 0 : accesses;
}

/* machine_start has emptied them when a snapshot is loaded */
void snapshot_checks_archive(struct core *c, struct archive *a)
{
    struct checks *k = c->checks;

    if (!k)
        return;
    archive_sparse(a, k->vmem_written, (size_t)k->vmem_words * sizeof(*k->vmem_written));
    archive_sparse(a, k->smem_written, (size_t)k->smem_words * sizeof(*k->smem_written));
    if (k->race)
        archive_race(k->race, c, a);
}

static const struct field checks_fields[] = {
    APART(checks, vmem_written), APART(checks, smem_written), APART(checks, race),
    APART(checks, is_unwritten_checked), APART(checks, is_vmem_of_host),
    APART(checks, vmem_words), APART(checks, smem_words)};

uint32_t snapshot_checks_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, checks_fields, COUNT_OF(checks_fields));
    crc = archive_table_crc(crc, site_fields, COUNT_OF(site_fields));
    crc = archive_table_crc(crc, extent_fields, COUNT_OF(extent_fields));
    crc = archive_table_crc(crc, side_fields, COUNT_OF(side_fields));
    crc = archive_table_crc(crc, copy_fields, COUNT_OF(copy_fields));
    crc = archive_table_crc(crc, access_fields, COUNT_OF(access_fields));
    return archive_table_crc(crc, race_fields, COUNT_OF(race_fields));
}
