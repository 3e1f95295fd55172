/*
 * Holds each access against the sorted ranges of the copies under way, and logs those that a copy
 * told later may still meet.
 */
#include "sim/check/race.h"

#include "sim/check/checks.h"
#include "sim/machine/machine_impl.h"
#include "sim/check/race_impl.h"

#include <stdio.h>
#include <string.h>

static const char *const space_name[SPACE_COUNT] = {"hbm", "vmem", "smem", "cmem", "host"};

struct race *race_create(const ps_t *now_ps)
{
    struct race *r = mem_alloc(sizeof(*r));

    r->now_ps = now_ps;
    return r;
}

static void drop_sides(struct copy *copy)
{
    for (int i = 0; i < copy->side_count; i++)
        mem_free(copy->side[i].piece);
}

static void drop_copies(struct race *r)
{
    for (size_t i = 0; i < r->copy_count; i++)
        drop_sides(&r->copy[i]);
    r->copy_count = 0;
}

void race_destroy(struct race *r)
{
    if (!r)
        return;
    drop_copies(r);
    mem_free(r->copy);
    mem_free(r->log);
    mem_free(r);
}

void race_launch(struct race *r, bool is_logged)
{
    drop_copies(r);
    r->log_count = 0;
    r->next_number = 0;
    r->is_logged = is_logged;
}

bool race_may_reach_others(const struct decoded_program *p)
{
    for (uint32_t i = 0; i < p->source->op_count; i++) {
        const struct isa_info *info = isa_info((enum isa_opcode)p->source->op[i].code);

        if (info->slot == SLOT_DMA && info->writes & ISA_REMOTE)
            return true;
    }
    return false;
}

#define TEXT_BYTES 320

static const char *name_of(const struct copy *copy)
{
    return isa_info((enum isa_opcode)copy->site.code)->mnemonic;
}

/* "vld reads vmem bytes 0..4095, and dma.hbm_to_vmem (core 0 ...), not waited for ..." */
static void print_race(char *text, const char *name, const struct extent *e, bool is_write,
                       const struct copy *copy, const struct side *s, const struct extent *piece)
{
    char place[80];

    core_print_site(copy->site.core, copy->site.at, copy->site.bundle, copy->site.line, place,
                    sizeof(place));
    snprintf(text, TEXT_BYTES, "race: %s %s %s bytes %lld..%lld while %s of %s %s %lld..%lld: "
             "no wait for its flag %d has covered it", name, is_write ? "writes" : "reads",
             space_name[s->space], (long long)e->first, (long long)e->end - 1, name_of(copy),
             place, s->is_write ? "writes" : "reads", (long long)piece->first,
             (long long)piece->end - 1, (int)copy->flag);
}

static uint32_t line_of(const struct core *c, uint32_t bundle)
{
    return c->program->source->bundle[bundle].line;
}

static const struct extent *touched_piece(const struct access *a, const struct side *s)
{
    if (a->space != s->space || (!a->is_write && !s->is_write))
        return NULL;
    return race_side_piece_in(s, &a->extent);
}

static bool access_meets(const struct core *c, const struct access *a, const struct copy *copy,
                         char *text)
{
    char name[ISA_NAME_MAX];

    for (int i = 0; i < copy->side_count; i++) {
        const struct extent *piece = touched_piece(a, &copy->side[i]);

        if (!piece)
            continue;
        isa_print_op_mnemonic(&c->program->source->op[a->op], name, sizeof(name));
        print_race(text, name, &a->extent, a->is_write, copy, &copy->side[i], piece);
        return true;
    }
    return false;
}

/* `later` is said to run into `earlier` */
static bool copies_meet(const struct copy *later, const struct copy *earlier, char *text)
{
    struct extent mine, theirs;

    for (int i = 0; i < later->side_count; i++)
        for (int j = 0; j < earlier->side_count; j++)
            if (race_sides_meet(&later->side[i], &earlier->side[j], &mine, &theirs)) {
                print_race(text, name_of(later), &mine, later->side[i].is_write, earlier,
                           &earlier->side[j], &theirs);
                return true;
            }
    return false;
}

/* ---- parallel phase ---- */

/* what is earlier than every event to come can meet no copy any more */
static void forget_settled(struct race *r, const struct core *c)
{
    size_t settled = 0;

    while (settled < r->log_count
           && clock_edge_ps(c->clock_mhz, r->log[settled].at) < *r->now_ps)
        settled++;
    if (settled == 0)
        return;
    r->log_count -= settled;
    memmove(r->log, r->log + settled, r->log_count * sizeof(*r->log));
}

static void log_access(struct race *r, const struct core *c, const struct access *a)
{
    if (!r->is_logged && r->log_count > 0 && r->log[r->log_count - 1].at != a->at)
        r->log_count = 0;
    if (r->log_count == r->log_capacity) {
        forget_settled(r, c);
        if (r->log_count >= r->log_capacity / 2)
            r->log = mem_grow(r->log, &r->log_capacity, r->log_capacity + 1, sizeof(*r->log));
    }
    r->log[r->log_count++] = *a;
}

bool race_touch(struct core *c, const struct decoded_op *o, enum memory_space space,
                int64_t first, int64_t bytes, bool is_write)
{
    struct race *r = c->checks->race;
    struct access a = {.at = c->issue_at, .extent = {first, first + bytes}, .bundle = c->pc,
                       .op = o->source, .space = space, .is_write = is_write};
    char text[TEXT_BYTES];

    for (size_t i = 0; i < r->copy_count; i++)
        if (access_meets(c, &a, &r->copy[i], text)) {
            core_fault(c, FAULT_RACE, "%s", text);
            return false;
        }
    log_access(r, c, &a);
    return true;
}

static void put_copy(struct race *r, const struct copy *copy)
{
    MEM_ADD(r->copy, r->copy_count, r->copy_capacity) = *copy;
}

static struct copy copy_of(const struct core *c, const struct dma *d, enum role role)
{
    struct copy copy = {
        .site = {c->number, d->issued_at, d->bundle, line_of(c, d->bundle),
                 (uint32_t)d->code},
        .role = role, .number = d->number, .target = d->target,
        .flag = role == ROLE_SOURCE ? d->source_flag : d->flag,
        .granules = d->bytes / c->chip->dma_granule_bytes, .followed_from = UINT32_MAX};

    if (role != ROLE_DESTINATION)
        copy.side[copy.side_count++] = race_side_of(d, false);
    if (role != ROLE_SOURCE)
        copy.side[copy.side_count++] = race_side_of(d, true);
    return copy;
}

/* accesses of the bundle that issues the copy count as at the same time */
bool race_issue(struct core *c, struct dma *d)
{
    struct race *r = c->checks->race;
    struct copy copy;
    char text[TEXT_BYTES];
    bool is_race = false;

    r->next_number = d->number + 1;
    copy = copy_of(c, d, d->is_remote ? ROLE_SOURCE : ROLE_LOCAL);
    for (size_t i = 0; i < r->copy_count && !is_race; i++)
        is_race = copies_meet(&copy, &r->copy[i], text);
    for (size_t i = r->log_count; i > 0 && r->log[i - 1].at == c->issue_at && !is_race; i--)
        is_race = access_meets(c, &r->log[i - 1], &copy, text);
    if (is_race) {
        core_fault(c, FAULT_RACE, "%s", text);
        drop_sides(&copy);
        return false;
    }
    put_copy(r, &copy);
    return true;
}

/* ---- serial phase ---- */

static struct race *race_of(const struct core *c)
{
    return c->checks ? c->checks->race : NULL;
}

static struct copy *find_copy(struct race *r, int issuer, uint32_t number, enum role role)
{
    for (size_t i = 0; i < r->copy_count; i++)
        if (r->copy[i].site.core == issuer && r->copy[i].number == number
            && r->copy[i].role == role)
            return &r->copy[i];
    return NULL;
}

/* the first access at or after the copy's issue that touches it */
static void hold_against_log(struct core *owner, const struct copy *copy)
{
    struct race *r = owner->checks->race;
    char text[TEXT_BYTES];

    for (size_t i = 0; i < r->log_count; i++) {
        const struct access *a = &r->log[i];

        if (a->at < copy->site.at || !access_meets(owner, a, copy, text))
            continue;
        core_late_fault(owner, FAULT_RACE, a->at, a->bundle, "%s", text);
        return;
    }
}

static void hold_against_copies(struct machine *m, struct race *r, const struct copy *copy)
{
    char text[TEXT_BYTES];

    for (size_t i = 0; i < r->copy_count; i++) {
        const struct copy *other = &r->copy[i];
        const struct copy *later = other->site.at > copy->site.at ? other : copy;

        if (other->is_seen && copy->site.core != other->site.core)
            continue;                   /* what has arrived elsewhere has been read here */
        if (!copies_meet(later, later == copy ? other : copy, text))
            continue;
        core_late_fault(&m->core[later->site.core], FAULT_RACE, later->site.at,
                        later->site.bundle, "%s", text);
        return;
    }
}

void race_arrive(struct machine *m, struct core *from, const struct dma *d)
{
    struct core *owner = &m->core[d->target];
    struct race *r = race_of(owner);
    struct copy copy;

    if (!r)
        return;
    copy = copy_of(from, d, ROLE_DESTINATION);
    if (owner->program)
        hold_against_log(owner, &copy);
    hold_against_copies(m, r, &copy);
    put_copy(r, &copy);
}

void race_complete(struct machine *m, const struct core *from, const struct dma *d, bool is_sent)
{
    struct race *r = race_of(is_sent ? from : &m->core[d->target]);
    struct copy *copy;

    if (!r)
        return;
    copy = find_copy(r, from->number, d->number,
                     is_sent ? ROLE_SOURCE : d->is_remote ? ROLE_DESTINATION : ROLE_LOCAL);
    if (copy)
        copy->is_done = true;
}

/*
 * What the same core sends to the same VMEM after it knew that the source had
 * been read takes the same way behind it, and cannot be there before it.
 */
static bool comes_after(const struct copy *later, const struct copy *copy)
{
    return later->role == ROLE_DESTINATION && copy->role == ROLE_DESTINATION
           && later->site.core == copy->site.core && later->number >= copy->followed_from
           && later->side[0].space == SPACE_VMEM && copy->side[0].space == SPACE_VMEM;
}

/* what the flag can come to without this copy and those that come after it */
static int64_t most_without(const struct race *r, const struct copy *copy, int64_t most)
{
    most -= copy->granules;
    if (copy->followed_from == UINT32_MAX)
        return most;
    for (size_t i = 0; i < r->copy_count; i++)
        if (&r->copy[i] != copy && r->copy[i].flag == copy->flag
            && comes_after(&r->copy[i], copy))
            most -= r->copy[i].granules;
    return most;
}

/* what the wait of one side of a remote copy says of the other side */
static void tell_other_side(struct machine *m, const struct copy *copy, uint32_t next_number)
{
    bool is_source = copy->role == ROLE_SOURCE;
    int core = is_source ? copy->target : copy->site.core;
    struct copy *other = find_copy(race_of(&m->core[core]), copy->site.core, copy->number,
                                   is_source ? ROLE_DESTINATION : ROLE_SOURCE);

    if (other && is_source)
        other->followed_from = next_number;
    else if (other)
        other->is_seen = true;
}

void race_learn(struct machine *m, struct core *c, int32_t flag, int64_t value)
{
    struct race *r = race_of(c);
    int64_t most = c->flag[flag];
    size_t kept = 0;

    if (!r)
        return;
    for (size_t i = 0; i < r->copy_count; i++)
        if (r->copy[i].flag == flag && !r->copy[i].is_done)
            most += r->copy[i].granules;
    for (size_t i = 0; i < r->copy_count; i++)
        r->copy[i].is_known = r->copy[i].flag == flag && r->copy[i].is_done
                              && most_without(r, &r->copy[i], most) < value;
    for (size_t i = 0; i < r->copy_count; i++) {
        struct copy copy = r->copy[i];

        if (!copy.is_known) {
            r->copy[kept++] = copy;
            continue;
        }
        if (copy.role != ROLE_LOCAL)
            tell_other_side(m, &copy, r->next_number);
        drop_sides(&copy);
    }
    r->copy_count = kept;
}

void race_overwrite(struct core *c, int32_t flag)
{
    struct race *r = race_of(c);

    for (size_t i = 0; r && i < r->copy_count; i++)
        if (r->copy[i].flag == flag && r->copy[i].is_done)
            r->copy[i].granules = 0;
}
