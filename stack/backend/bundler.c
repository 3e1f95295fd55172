/*
 * List scheduling one operation at a time: each goes into the first bundle with a free slot in
 * which its registers are ready.
 */
#include "stack/backend/bundler.h"

#include <assert.h>
#include <string.h>

#include "sim/chip/limits.h"
#include "stack/backend/backend.h"

void bundler_init(struct bundler *b, const struct chip *chip)
{
    *b = (struct bundler){.chip = chip};
    chip_isa_limits(chip, &b->limits);
    for (int i = 0; i < BUNDLER_LABEL_MAX; i++)
        b->label[i].bundle = -1;
}

void bundler_fini(struct bundler *b)
{
    mem_free(b->op);
    mem_free(b->bundle);
    mem_free(b->placed);
    mem_free(b->row);
}

static void forget(struct bundler_register *r, int count)
{
    for (int i = 0; i < count; i++)
        r[i] = (struct bundler_register){-1, -1, -1, -1};
}

static uint32_t note_number(struct bundler *b, const char *note)
{
    for (uint32_t i = 0; i < b->note_count; i++)
        if (strcmp(b->note[i], note) == 0)
            return i + 1;
    assert(b->note_count < BUNDLER_LABEL_MAX);
    b->note[b->note_count++] = note;
    return b->note_count;
}

void bundler_begin(struct bundler *b, const char *note, int ii)
{
    b->placed_count = 0;
    b->length = b->ii = ii;
    b->is_too_long = false;
    b->current_note = note ? note_number(b, note) : b->current_note;
    if (b->row)
        memset(b->row, 0, b->row_capacity * sizeof(*b->row));
    forget(b->v, ISA_VREG_MAX);
    forget(b->s, ISA_SREG_COUNT);
    forget(b->p, ISA_PRED_ALWAYS + 1);
    forget(b->m, ISA_MASK_COUNT);
    b->first_eup_push = b->last_eup_push = b->first_eup_pop = b->last_eup_pop = -1;
    b->eup_push_count = b->eup_pop_count = b->eup_held = 0;
    for (int i = 0; i < ISA_UNIT_MAX; i++)
        for (int kind = 0; kind < 2; kind++)
            b->last_push[kind][i] = b->last_pop[kind][i] = b->first_pop[kind][i] = -1;
}

static bool has_room(struct bundler *b, const struct isa_op *op, int at)
{
    size_t row = (size_t)(b->ii ? at % b->ii : at);
    enum isa_slot slot = isa_info((enum isa_opcode)op->code)->slot;
    int ops[SLOT_COUNT], count = 1;

    b->row = mem_grow(b->row, &b->row_capacity, row + 1, sizeof(*b->row));
    memcpy(ops, b->row[row], sizeof(ops));
    ops[slot]++;
    for (int i = 0; i < SLOT_COUNT; i++)
        count += b->row[row][i];
    return count <= ISA_BUNDLE_OP_MAX && isa_slots_fit(&b->limits.slots, ops);
}

void bundler_add_at(struct bundler *b, int at, struct isa_op op)
{
    int row = b->ii ? at % b->ii : at;
    bool fits = has_room(b, &op, at); /* makes the row */

    assert(fits);
    (void)fits;
    b->row[row][isa_info((enum isa_opcode)op.code)->slot]++;
    MEM_ADD(b->placed, b->placed_count, b->placed_capacity) = (struct bundler_placed){op, row};
    if (row >= b->length)
        b->length = row + 1;
}

static void raise_to(int *at, int least)
{
    if (least > *at)
        *at = least;
}

/* the first time at which a register may be read, or written once more */
static void wait_for(const struct bundler_register *r, bool is_write, int *at)
{
    raise_to(at, r->ready);
    if (is_write) {
        raise_to(at, r->read);
        raise_to(at, r->written + 1);
    }
}

static void touch(struct bundler *b, struct bundler_register *r, bool is_write, int at, int latency)
{
    if (is_write) {
        if (r->first_written < 0)
            r->first_written = at;
        r->written = at;
        r->ready = at + latency;
        return;
    }
    raise_to(&r->read, at);
    if (b->ii && r->first_written >= 0 && at - r->first_written > b->ii)
        b->is_too_long = true;
}

/* all registers of an operation: waits for them, or notes that it touches them at *at */
static void visit(struct bundler *b, const struct isa_op *op, int *at, bool is_placed)
{
    int latency = chip_latency_cycles(b->chip, isa_info((enum isa_opcode)op->code)->latency_class);
    struct depend_regs regs;

    depend_regs_read(op, &regs);
#define VISIT(r, is_write) \
    (is_placed ? touch(b, r, is_write, *at, latency) : wait_for(r, is_write, at))
    for (int i = 0; i < regs.v_read_count; i++)
        VISIT(&b->v[regs.v_read[i]], false);
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        if (regs.s_read >> i & 1)
            VISIT(&b->s[i], false);
    for (int i = 0; i < ISA_PRED_ALWAYS; i++)
        if (regs.p_read >> i & 1)
            VISIT(&b->p[i], false);
    for (int i = 0; i < regs.m_read_count; i++)
        VISIT(&b->m[regs.m_read[i]], false);
    if (regs.v_write >= 0)
        VISIT(&b->v[regs.v_write], true);
    if (regs.m_write >= 0)
        VISIT(&b->m[regs.m_write], true);
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        if (regs.s_write >> i & 1)
            VISIT(&b->s[i], true);
    for (int i = 0; i < ISA_PRED_ALWAYS; i++)
        if (regs.p_write >> i & 1)
            VISIT(&b->p[i], true);
#undef VISIT
}

/* the last push to, or pop from, the operation's unit; NULL: it has no FIFO */
static int *last_of_unit(struct bundler *b, const struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    int kind = info->unit == UNIT_XLU;

    if (info->unit == UNIT_EUP)
        return info->slot == SLOT_POP ? &b->last_eup_pop : &b->last_eup_push;
    if (info->unit != UNIT_MXU && info->unit != UNIT_XLU)
        return NULL;
    return info->slot == SLOT_POP ? &b->last_pop[kind][op->unit_index]
                                  : &b->last_push[kind][op->unit_index];
}

/* a push waits for the pop that makes room for its result */
static int eup_room(const struct bundler *b)
{
    int depth = (int)b->chip->eup_fifo_depth, behind;

    if (depth > BUNDLER_EUP_MAX)
        depth = BUNDLER_EUP_MAX;
    behind = b->eup_under_way + b->eup_push_count - depth;
    if (b->ii)                          /* place_eup_pop counts what is under way */
        return 0;
    return behind >= 0 && behind < b->eup_pop_count
               ? b->eup_pop_at[behind % BUNDLER_EUP_MAX] + 1 : 0;
}

static int earliest(struct bundler *b, const struct isa_op *op, int not_before)
{
    int *last = last_of_unit(b, op), at = not_before;

    visit(b, op, &at, false);
    if (last)
        raise_to(&at, *last + 1);
    if (last == &b->last_eup_push)
        raise_to(&at, eup_room(b));
    if (last == &b->last_eup_pop)       /* popped right behind its push, in the order given */
        raise_to(&at, b->last_eup_push + (int)b->chip->eup_latency_cycles);
    return at;
}

/* in a loop a unit's results of a round are popped before those of the next one */
static void place_unit_pop(struct bundler *b, const struct isa_op *op, int at)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    int *first = &b->first_pop[info->unit == UNIT_XLU][op->unit_index];

    if (*first < 0)
        *first = at;
    if (b->ii && at - *first >= b->ii)
        b->is_too_long = true;
}

static void place_eup_push(struct bundler *b, int at)
{
    if (b->first_eup_push < 0)
        b->first_eup_push = at;
    if (b->ii && at - b->first_eup_push >= b->ii)
        b->is_too_long = true;
    b->eup_push_at[b->eup_push_count++ % BUNDLER_EUP_MAX] = at;
}

/*
 * In a loop pushes of a round come before those of the next one, and so do pops; results are under
 * way in as many rounds at once as the II goes into the time from push to pop, and have to find room.
 */
static void place_eup_pop(struct bundler *b, int at)
{
    int number = b->eup_pop_count++, depth = (int)b->chip->eup_fifo_depth;

    b->eup_pop_at[number % BUNDLER_EUP_MAX] = at;
    if (!b->ii)
        return;
    if (b->first_eup_pop < 0)
        b->first_eup_pop = at;
    b->eup_held += (at - b->eup_push_at[number % BUNDLER_EUP_MAX]) / b->ii + 1;
    if (at - b->first_eup_pop >= b->ii || b->eup_held > depth
        || b->eup_push_count - number > BUNDLER_EUP_MAX)
        b->is_too_long = true;
}

static void place(struct bundler *b, const struct isa_op *op, int at)
{
    int *last = last_of_unit(b, op);

    bundler_add_at(b, at, *op);
    visit(b, op, &at, true);
    if (last)
        *last = at;
    if (last == &b->last_eup_push)
        place_eup_push(b, at);
    else if (last == &b->last_eup_pop)
        place_eup_pop(b, at);
    else if (last && isa_info((enum isa_opcode)op->code)->slot == SLOT_POP)
        place_unit_pop(b, op, at);
}

int bundler_add_after(struct bundler *b, int not_before, struct isa_op op)
{
    int at = earliest(b, &op, not_before), tried = 0;

    while (!has_room(b, &op, at)) {
        at++;
        if (b->ii && ++tried == b->ii) {
            b->is_too_long = true;      /* no bundle of the body has room */
            return at;
        }
    }
    place(b, &op, at);
    return at;
}

int bundler_add(struct bundler *b, struct isa_op op)
{
    return bundler_add_after(b, 0, op);
}

int bundler_put_pair(struct bundler *b, const struct isa_op *first, const struct isa_op *second,
                     int not_before)
{
    int at = earliest(b, first, not_before), tried = 0;

    raise_to(&at, earliest(b, second, at + 1) - 1);
    while (!has_room(b, first, at) || !has_room(b, second, at + 1)) {
        at++;
        if (b->ii && ++tried == b->ii) {
            b->is_too_long = true;
            return at;
        }
    }
    place(b, first, at);
    place(b, second, at + 1);
    return at;
}

struct isa_op *bundler_last(struct bundler *b)
{
    return &b->placed[b->placed_count - 1].op;
}

/* operations of a bundle, a list from `first` on in the order in which they were given */
static void write_bundle(struct bundler *b, int first, const int *next)
{
    struct isa_bundle *bundle = &MEM_ADD(b->bundle, b->bundle_count, b->bundle_capacity);

    *bundle = (struct isa_bundle){.first_op = (uint32_t)b->op_count, .note = b->current_note};
    for (int i = first; i >= 0; i = next[i]) {
        MEM_ADD(b->op, b->op_count, b->op_capacity) = b->placed[i].op;
        bundle->op_count++;
    }
}

void bundler_end(struct bundler *b)
{
    int *first = mem_alloc((size_t)(b->length + 1) * sizeof(*first));
    int *next = mem_alloc((b->placed_count + 1) * sizeof(*next));

    for (int row = 0; row < b->length; row++)
        first[row] = -1;
    for (int i = (int)b->placed_count - 1; i >= 0; i--) {
        next[i] = first[b->placed[i].at];
        first[b->placed[i].at] = i;
    }
    for (int row = 0; row < b->length; row++)
        write_bundle(b, first[row], next);
    mem_free(first);
    mem_free(next);
    b->eup_under_way += b->eup_push_count - b->eup_pop_count;
    bundler_drop(b);
}

void bundler_drop(struct bundler *b)
{
    b->placed_count = 0;
    b->length = 0;
}

void bundler_end_branch(struct bundler *b, int label, int pred, bool is_negated)
{
    struct isa_op branch = isa_sbr(label);
    int delay = b->limits.branch_delay_bundles, at = b->length - 1 - delay;

    branch.pred = (uint8_t)pred;
    branch.pred_is_negated = is_negated;
    if (b->ii) {
        bundler_add_at(b, at, branch);
    } else {
        at = bundler_add_after(b, at > 0 ? at : 0, branch);
        raise_to(&b->length, at + 1 + delay);
    }
    bundler_end(b);
}

/* the target of a finished branch is kept below all labels */
static int32_t finished_target(int64_t bundle) { return (int32_t)(-1 - bundle); }

void bundler_append(struct bundler *b, const struct isa_program *p)
{
    size_t first = b->bundle_count;

    for (uint32_t i = 0; i < p->bundle_count; i++) {
        const struct isa_bundle *from = &p->bundle[i];

        MEM_ADD(b->bundle, b->bundle_count, b->bundle_capacity) = (struct isa_bundle){
            .first_op = (uint32_t)b->op_count, .op_count = from->op_count,
            .note = b->current_note};
        for (uint32_t k = 0; k < from->op_count; k++) {
            struct isa_op op = p->op[from->first_op + k];

            if (op.code == OP_SBR)
                op.operand[0].value = finished_target((int64_t)first + op.operand[0].value);
            MEM_ADD(b->op, b->op_count, b->op_capacity) = op;
        }
    }
}

void bundler_label(struct bundler *b, int label, const char *name)
{
    b->label[label].name = name;
    b->label[label].bundle = (int64_t)b->bundle_count;
}

/* symbols stand in the order of their bundles */
static void make_symbols(const struct bundler *b, struct arena *a, struct isa_program *out)
{
    out->symbol = arena_array(a, BUNDLER_LABEL_MAX, sizeof(*out->symbol));
    for (size_t bundle = 0; bundle < b->bundle_count; bundle++)
        for (int i = 0; i < BUNDLER_LABEL_MAX; i++)
            if (b->label[i].bundle == (int64_t)bundle)
                out->symbol[out->symbol_count++] =
                    (struct isa_symbol){arena_strdup(a, b->label[i].name), (uint32_t)bundle};
}

void bundler_finish(struct bundler *b, const char *name, struct arena *a, struct isa_program *out)
{
    *out = (struct isa_program){
        .name = arena_strdup(a, name), .op_count = (uint32_t)b->op_count,
        .bundle_count = (uint32_t)b->bundle_count, .note_count = b->note_count,
        .op = arena_copy(a, b->op, b->op_count, sizeof(*b->op)),
        .bundle = arena_copy(a, b->bundle, b->bundle_count, sizeof(*b->bundle)),
        .note = arena_copy(a, b->note, b->note_count, sizeof(*b->note))};
    for (size_t i = 0; i < b->op_count; i++)
        if (out->op[i].code == OP_SBR) {
            int32_t label = out->op[i].operand[0].value;
            int64_t target = label < 0 ? -1 - (int64_t)label : b->label[label].bundle;

            assert(target >= 0);
            out->op[i].operand[0].value = (int32_t)target;
        }
    make_symbols(b, a, out);
}
