/*
 * Copies. Each memory is cut into zones; while a copy is under
 * way nothing writes the zones it reads and nothing touches those it writes.
 * What was stored since the last fence is not copied before another one.
 */
#include "tests/generate/random_maker.h"

#include "base/units.h"
#include "tests/test.h"

#define GRANULE 32
#define FIXED_ZONES 2                   /* the last ones of SMEM hold descriptors */
#define SCALAR_ZONES 6                  /* of HBM, that no lane ever reaches: for timing */
#define DESCRIPTOR_BYTES 64

void zones_setup(struct maker *m)
{
    for (int i = ZONE_COUNT - FIXED_ZONES; i < ZONE_COUNT; i++)
        m->zone[IN_SMEM][i].is_fixed = true;
}

void zones_touch(struct maker *m, const struct zones *z, bool is_store)
{
    for (int i = z->first; i < z->first + z->count; i++) {
        struct zone *zone = &m->zone[z->space][i];

        zone->touched = m->bundle_count + 1;
        if (is_store) {
            zone->stored = m->bundle_count + 1;
            zone->is_dirty = true;
        }
    }
}

bool zones_take_load(const struct maker *m, const struct zones *z)
{
    for (int i = z->first; i < z->first + z->count; i++) {
        const struct zone *zone = &m->zone[z->space][i];

        if ((zone->is_inbox || zone->writers > 0) && !m->r->options.races)
            return false;
    }
    return true;
}

/* of two stores of one bundle to the same place nobody says which remains */
bool zones_take_store(const struct maker *m, const struct zones *z)
{
    for (int i = z->first; i < z->first + z->count; i++) {
        const struct zone *zone = &m->zone[z->space][i];

        if (zone->is_inbox || zone->is_fixed || zone->writers > 0 || zone->readers > 0
            || zone->stored == m->bundle_count + 1)
            return false;
    }
    return true;
}

bool zones_take_copy(const struct maker *m, const struct zones *z, bool is_destination)
{
    for (int i = z->first; i < z->first + z->count; i++) {
        const struct zone *zone = &m->zone[z->space][i];

        if (zone->is_inbox || zone->writers > 0 || zone->touched == m->bundle_count + 1)
            return false;
        if (is_destination && (zone->is_fixed || zone->readers > 0))
            return false;
    }
    return true;
}

void zones_all_dirty(struct maker *m)
{
    for (int space = 0; space < SPACES; space++)
        for (int i = 0; i < ZONE_COUNT; i++)
            m->zone[space][i].is_dirty = true;
}

static bool is_dirty(const struct maker *m, const struct zones *z)
{
    for (int i = z->first; i < z->first + z->count; i++)
        if (m->zone[z->space][i].is_dirty)
            return true;
    return false;
}

/* what was stored to the zones is in memory in the next bundle, and nothing touches them in it */
void fence(struct maker *m, const struct zones *a, const struct zones *b)
{
    struct isa_op op;

    if (is_dirty(m, a) || is_dirty(m, b)) {
        end_bundle(m);
        emit_surely(m, fresh_op(m, &op, OP_SFENCE));
        for (int space = 0; space < SPACES; space++)
            for (int i = 0; i < ZONE_COUNT; i++)
                m->zone[space][i].is_dirty = false;
        end_bundle(m);
    }
}

static void count_copy(struct maker *m, const struct random_copy *c, int by)
{
    for (int i = c->from.first; i < c->from.first + c->from.count; i++)
        m->zone[c->from.space][i].readers += by;
    for (int i = c->to.first; !c->is_pushed && i < c->to.first + c->to.count; i++)
        m->zone[c->to.space][i].writers += by;
}

void release_done(struct maker *m)
{
    for (int i = 0; i < m->done_count; i++)
        count_copy(m, &m->done[i], -1);
    m->done_count = 0;
}

/* Where copies go, from their mnemonics: "dma.hbm_to_vmem", "dma.vmem_to_vmem.remote". */
struct way {
    enum isa_opcode code;
    enum space from, to;
};

static enum space space_of_name(const char *name)
{
    static const char *const names[SPACES] = {"hbm", "vmem", "smem", "cmem", "host"};

    for (int i = 0; i < SPACES; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return (enum space)i;
    fail_msg("\"%s\" is no memory", name);
    return IN_HBM;
}

static struct way way_of(enum isa_opcode code)
{
    const char *name = isa_info(code)->mnemonic;

    return (struct way){code, space_of_name(name + strlen("dma.")),
                        space_of_name(strstr(name, "_to_") + strlen("_to_"))};
}

static bool has_clean_zones(enum space space)
{
    return space == IN_HBM || space == IN_HOST;
}

/* lanes must not reach SMEM through copies: some zones of HBM and of the host keep clean */
static bool keeps_lanes_out(const struct maker *m, const struct zones *from, const struct zones *to)
{
    bool from_lanes = from->space == IN_VMEM || from->space == IN_CMEM
                      || (has_clean_zones(from->space) && from->first + from->count > SCALAR_ZONES);

    if (!m->r->options.for_timing || !from_lanes)
        return true;
    return to->space != IN_SMEM && !(has_clean_zones(to->space) && to->first < SCALAR_ZONES);
}

static struct zones any_zones(struct maker *m, enum space space)
{
    int count = 1 + below(m, chance(m, 20) ? 4 : 2);

    return (struct zones){space, below(m, ZONE_COUNT - count + 1), count};
}

static bool are_apart(const struct zones *a, const struct zones *b)
{
    return a->space != b->space || a->first + a->count <= b->first
           || b->first + b->count <= a->first;
}

static bool pick_zones(struct maker *m, enum space from, enum space to, struct random_copy *c)
{
    for (int tries = 0; tries < 10; tries++) {
        *c = (struct random_copy){.from = any_zones(m, from)};
        c->to = any_zones(m, to);
        if (are_apart(&c->from, &c->to) && zones_take_copy(m, &c->from, false)
            && zones_take_copy(m, &c->to, true) && keeps_lanes_out(m, &c->from, &c->to))
            return true;
    }
    return false;
}

/* Runs of one side: how far the copy reaches from its first granule, down and up. */
struct shape {
    int run, levels, count[3], stride[2][3];    /* stride[1]: of the destination */
    int below[2], above[2];             /* granules in front of the first, and from it on */
};

static void measure(struct shape *s)
{
    for (int side = 0; side < 2; side++) {
        s->below[side] = 0;
        s->above[side] = s->run;
        for (int i = 0; i < s->levels; i++) {
            int reach = (s->count[i] - 1) * s->stride[side][i];

            if (reach < 0)
                s->below[side] -= reach;
            else
                s->above[side] += reach;
        }
    }
}

/* runs of the destination never overlap: strides are beyond what the level inside covers */
static void draw_shape(struct maker *m, struct shape *s, int levels)
{
    int extent;

    *s = (struct shape){.run = 1 + below(m, chance(m, 50) ? 8 : 40), .levels = levels};
    extent = s->run;
    for (int i = 0; i < levels; i++) {
        s->count[i] = 1 + below(m, 5);
        s->stride[0][i] = below(m, 2 * s->run + 4) - (chance(m, 20) ? s->run : 0);
        s->stride[1][i] = (extent + below(m, 5)) * (chance(m, 15) ? -1 : 1);
        extent += (s->count[i] - 1) * abs(s->stride[1][i]);
    }
    measure(s);
}

static int granules_in(const struct maker *m, const struct zones *z)
{
    return z->count * units_of(m, z->space, GRANULE).zone_units;
}

/* one that fits; a plain run of all there is room for when none does */
static void fit_shape(struct maker *m, const struct random_copy *c, int levels, struct shape *s)
{
    int room[2] = {granules_in(m, &c->from), granules_in(m, &c->to)}, tries;

    for (tries = 0; tries < 12 && levels > 0; tries++) {
        draw_shape(m, s, levels);
        if (s->below[0] + s->above[0] <= room[0] && s->below[1] + s->above[1] <= room[1])
            return;
    }
    *s = (struct shape){.run = 1 + below(m, room[0] < room[1] ? room[0] : room[1])};
    measure(s);
}

/* the first granule of a side, with all its runs inside the zones */
static int32_t place(struct maker *m, const struct zones *z, const struct shape *s, int side)
{
    struct window_units w = units_of(m, z->space, GRANULE);
    int slack = granules_in(m, z) - s->below[side] - s->above[side];
    int64_t first = w.first + (int64_t)z->first * w.zone_units + s->below[side]
                    + below(m, slack + 1);

    return (int32_t)(uint32_t)first;
}

/*
 * A number for a copy: an immediate, a register that holds it already, or one
 * that the bundle at hand loads (then the copy is for the next).
 */
static struct isa_operand number_operand(struct maker *m, int32_t value, bool *is_late)
{
    int s = chance(m, 25) && !knows_enough(m) ? writable_sreg(m) : -1;
    struct isa_op op;

    if (s < 0 || m->s_next[s].is_known)     /* what is known may be an operand already */
        return known_number(m, value);
    fresh_op(m, &op, chance(m, 50) ? OP_SMOV : OP_SLEA_HBM);
    op.operand[0] = reg(s);
    op.operand[1] = imm(op.code == OP_SMOV ? value : (int32_t)((uint32_t)value - 3));
    if (op.code != OP_SMOV)
        op.operand[2] = imm(3);
    if (!emit(m, &op))
        return imm(value);
    know_s(m, s, value, value, value % 4 == 0);
    *is_late = true;
    return reg(s);
}

/* a copy with a flag of its own, or another on a flag that waits for copies anyway */
static struct flag_use *flag_of_copy(struct maker *m)
{
    uint8_t guard;
    int i;

    for (i = 0; i < m->use_count && chance(m, 30); i++) {
        struct flag_use *u = &m->use[i];

        if (u->depth == m->depth && !u->is_settled && u->copy_count < (int)COUNT_OF(u->copy)
            && u->flag < flags_kept(m))
            return u;
    }
    guard = lasting_guard(m);
    return use_flag(m, free_flag(m), guard);
}

static void start_copy(struct maker *m, struct flag_use *u, const struct random_copy *c,
                       int granules)
{
    u->is_settled = false;
    u->is_fresh = true;
    u->value += granules;
    u->copy[u->copy_count++] = *c;
    count_copy(m, c, 1);
}

static void emit_copy(struct maker *m, const struct isa_op *op, struct flag_use *u,
                      const struct random_copy *c, int granules, bool is_late)
{
    fence(m, &c->from, &c->to);
    if (is_late || !is_guard_stable(m, u->guard))
        end_bundle(m);
    if (!emit(m, op)) {
        end_bundle(m);
        if (!emit(m, op))
            fail_msg("no room for a copy");
    }
    start_copy(m, u, c, granules);
}

static int size_of(const struct shape *s)
{
    int size = s->run;

    for (int i = 0; i < s->levels; i++)
        size *= s->count[i];
    return size;
}

static void fill_strides(struct maker *m, struct isa_op *op, const struct shape *s, bool *is_late)
{
    if (s->levels == 0 && chance(m, 80))
        return;                         /* left out */
    op->operand[4] = number_operand(m, s->levels ? s->stride[0][0] : 5, is_late);
    op->operand[5] = number_operand(m, s->levels ? s->stride[1][0] : 7, is_late);
    op->operand[6] = number_operand(m, s->levels ? s->run : 0, is_late);
}

static void make_plain_copy(struct maker *m, enum isa_opcode code)
{
    struct way way = way_of(code);
    struct flag_use *u;
    bool is_late = false;
    struct shape s;
    struct random_copy c;
    struct isa_op op;

    fresh_op(m, &op, code);
    for (int i = 0; i < isa_info(code)->tail_first; i++)
        op.operand[i] = imm(1);
    if (!chip_has(m, &op) || !pick_zones(m, way.from, way.to, &c) || !(u = flag_of_copy(m)))
        return;
    fit_shape(m, &c, chance(m, 40), &s);
    op.operand[0] = number_operand(m, place(m, &c.from, &s, 0), &is_late);
    op.operand[1] = number_operand(m, size_of(&s), &is_late);
    op.operand[2] = number_operand(m, place(m, &c.to, &s, 1), &is_late);
    op.operand[3] = number_operand(m, u->flag, &is_late);
    fill_strides(m, &op, &s, &is_late);
    set_guard(&op, u->guard);
    emit_copy(m, &op, u, &c, size_of(&s), is_late);
}

void put_descriptor(unsigned char *to, const int32_t word[16])
{
    memcpy(to, word, DESCRIPTOR_BYTES);
}

static void describe(struct maker *m, const struct random_copy *c, const struct shape *s, int flag,
                     unsigned char *to)
{
    int from = place(m, &c->from, s, 0), at = place(m, &c->to, s, 1);
    int32_t word[16] = {(int32_t)c->from.space | (int32_t)c->to.space << 4, from, at, s->run,
                        1, 0, 0, 1, 0, 0, 1, 0, 0, flag, 0, 0};

    for (int i = 0; i < s->levels; i++) {
        word[4 + 3 * i] = s->count[i];
        word[5 + 3 * i] = s->stride[0][i];
        word[6 + 3 * i] = s->stride[1][i];
    }
    put_descriptor(to, word);
}

static enum space any_space(struct maker *m)
{
    enum space space;

    do {
        space = (enum space)below(m, SPACES);
    } while (space == IN_CMEM && m->r->cmem.bytes == 0);
    return space;
}

/* by a descriptor that stands in SMEM from the start; the last PHASE_MAX are kept for phases */
static void make_described_copy(struct maker *m)
{
    enum space from = any_space(m), to = any_space(m);
    int number = m->descriptor_count;
    struct flag_use *u;
    struct shape s;
    struct random_copy c;
    struct isa_op op;

    if (number >= FIXED_ZONES * 256 / DESCRIPTOR_BYTES - PHASE_MAX || !pick_zones(m, from, to, &c)
        || !(u = flag_of_copy(m)))
        return;
    m->descriptor_count++;
    fit_shape(m, &c, below(m, 4), &s);
    describe(m, &c, &s, u->flag, m->descriptor + number * DESCRIPTOR_BYTES);
    fresh_op(m, &op, OP_DMA_GENERAL);
    op.operand[1] = imm((int32_t)(m->r->smem.first + (ZONE_COUNT - FIXED_ZONES) * 256
                                  + number * DESCRIPTOR_BYTES));
    set_guard(&op, u->guard);
    emit_copy(m, &op, u, &c, size_of(&s), false);
}

static enum isa_opcode any_copy(struct maker *m)
{
    enum isa_opcode code;

    do {
        code = (enum isa_opcode)below(m, OP_COUNT);
    } while (isa_info(code)->format != ISA_FMT_DMA && isa_info(code)->format != ISA_FMT_DMA_DESC);
    return code;
}

void make_copy(struct maker *m)
{
    struct flag_use *u = some_use(m);
    enum isa_opcode code;

    if (u && chance(m, 50)) {
        if (u->is_settled)
            give_back(m, u);
        else
            wait_for(m, u);
        return;
    }
    if (m->use_count >= USES_MAX)
        return;
    code = any_copy(m);
    if (code == OP_DMA_GENERAL)
        make_described_copy(m);
    else
        make_plain_copy(m, code);
}

/* CMEM has no contents at the start but what the last program left: copy some there */
void fill_cmem(struct maker *m)
{
    struct zones all = {IN_CMEM, 0, ZONE_COUNT}, from = {IN_HBM, 0, ZONE_COUNT};
    struct random_copy c = {.from = from, .to = all};
    int granules = granules_in(m, &all);
    struct flag_use *u;
    struct isa_op op;

    if (m->r->cmem.bytes == 0)
        return;
    u = use_flag(m, 0, GUARD_NONE);
    fresh_op(m, &op, OP_DMA_HBM_CMEM);
    op.operand[0] = imm((int32_t)(uint32_t)units_of(m, IN_HBM, GRANULE).first);
    op.operand[1] = imm(granules);
    op.operand[2] = imm((int32_t)units_of(m, IN_CMEM, GRANULE).first);
    op.operand[3] = imm(u->flag);
    emit_copy(m, &op, u, &c, granules, false);
    wait_for(m, u);
    give_back(m, u);
}
