/*
 * Keeps a bit for each unit of VMEM and SMEM that has been written, and passes each access on to
 * the search for races.
 */
#include "sim/check/checks.h"

#include <string.h>

struct checks *checks_create(const struct machine_options *options, const struct chip *chip,
                             const ps_t *now_ps)
{
    struct checks *k;

    if (!options->check_races && !options->check_unwritten)
        return NULL;
    k = mem_alloc(sizeof(*k));
    if (options->check_races)
        k->race = race_create(now_ps);
    k->is_unwritten_checked = options->check_unwritten;
    k->vmem_words = div_up(chip->vmem_bytes / ROW_BYTES, 64);
    k->smem_words = div_up(chip->smem_bytes / 4, 64);
    k->vmem_written = mem_alloc((size_t)k->vmem_words * sizeof(*k->vmem_written));
    k->smem_written = mem_alloc((size_t)k->smem_words * sizeof(*k->smem_written));
    k->is_vmem_of_host = true;
    return k;
}

void checks_destroy(struct checks *k)
{
    if (!k)
        return;
    race_destroy(k->race);
    mem_free(k->vmem_written);
    mem_free(k->smem_written);
    mem_free(k);
}

static void forget_vmem(struct checks *k)
{
    memset(k->vmem_written, 0, (size_t)k->vmem_words * sizeof(*k->vmem_written));
}

/* what the host has put into VMEM since the last launch counts, what that one left does not */
void checks_launch(struct checks *k, bool is_logged)
{
    if (!k->is_vmem_of_host)
        forget_vmem(k);
    k->is_vmem_of_host = false;
    if (k->race)
        race_launch(k->race, is_logged);
}

void checks_finish(struct checks *k)
{
    forget_vmem(k);
    k->is_vmem_of_host = true;
}

/* ---- unwritten ---- */

/* the map of a memory and the bytes per bit; NULL for memories that are zero until written */
static uint64_t *map_of(const struct checks *k, enum memory_space space, int64_t *unit_bytes)
{
    *unit_bytes = space == SPACE_VMEM ? ROW_BYTES : 4;
    return space == SPACE_VMEM ? k->vmem_written : space == SPACE_SMEM ? k->smem_written : NULL;
}

static void mark(struct checks *k, enum memory_space space, int64_t first, int64_t bytes)
{
    int64_t unit;
    uint64_t *map = map_of(k, space, &unit);

    for (int64_t i = first / unit; map && i <= (first + bytes - 1) / unit; i++)
        map[i / 64] |= (uint64_t)1 << i % 64;
}

/* the first unit of the range that nothing has written, as its first byte, or -1 */
static int64_t first_unwritten(const struct checks *k, enum memory_space space, int64_t first,
                               int64_t bytes)
{
    int64_t unit;
    const uint64_t *map = map_of(k, space, &unit);

    for (int64_t i = first / unit; map && i <= (first + bytes - 1) / unit; i++)
        if (!(map[i / 64] >> i % 64 & 1u))
            return i * unit;
    return -1;
}

static bool check_written(struct core *c, const struct decoded_op *o, enum memory_space space,
                          int64_t first, int64_t bytes)
{
    int64_t at = first_unwritten(c->checks, space, first, bytes);
    char name[ISA_NAME_MAX];

    if (at < 0)
        return true;
    isa_print_op_mnemonic(&c->program->source->op[o->source], name, sizeof(name));
    if (space == SPACE_VMEM)
        core_fault(c, FAULT_UNWRITTEN, "%s reads vmem row %lld (granule %lld), which nothing has "
                   "written in this launch", name, (long long)(at / ROW_BYTES),
                   (long long)(at / c->chip->dma_granule_bytes));
    else
        core_fault(c, FAULT_UNWRITTEN, "%s reads smem address %lld, which nothing has written",
                   name, (long long)at);
    return false;
}

bool checks_touch(struct core *c, const struct decoded_op *o, enum memory_space space,
                  int64_t first, int64_t bytes, bool is_write)
{
    struct checks *k = c->checks;

    if (k->race && !race_touch(c, o, space, first, bytes, is_write))
        return false;
    if (is_write)
        mark(k, space, first, bytes);
    return is_write || !k->is_unwritten_checked || check_written(c, o, space, first, bytes);
}

/* words of SMEM that only fill up a granule may be copied; VMEM goes by rows anyway */
static bool check_source(struct core *c, const struct decoded_op *o, const struct dma *d)
{
    struct dma_piece p;

    if (d->source_space != SPACE_VMEM)
        return true;
    for (int64_t done = 0; done < d->bytes; done += p.bytes) {
        p = dma_piece(d, false, done, d->bytes - done);
        if (!check_written(c, o, SPACE_VMEM, p.address, p.bytes))
            return false;
    }
    return true;
}

bool checks_issue(struct core *c, const struct decoded_op *o, struct dma *d)
{
    struct checks *k = c->checks;

    if (k->race && !race_issue(c, d))
        return false;
    return !k->is_unwritten_checked || check_source(c, o, d);
}

void checks_arrived(struct core *c, const struct dma *d)
{
    struct dma_piece p;

    for (int64_t done = 0; done < d->bytes; done += p.bytes) {
        p = dma_piece(d, true, done, d->bytes - done);
        mark(c->checks, d->destination_space, p.address, p.bytes);
    }
}

void checks_host_write(struct checks *k, enum memory_space space, int64_t first, int64_t bytes)
{
    if (bytes > 0)
        mark(k, space, first, bytes);
}
