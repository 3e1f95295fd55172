/*
 * Making a block fit the vector registers in its source order.
 *
 * One walk over the operations: when a value needs a register and none is
 * free, the resident value whose next use is furthest away goes to the spill
 * area, and is loaded under a new name before that use. Afterwards the source
 * order fits, and the scheduler has at least one order to fall back to.
 */
#include "isa/op_make.h"
#include "stack/backend/backend.h"

#include <assert.h>
#include <string.h>

#define NEVER INT32_MAX
#define TILE_ROWS 8

struct value {
    int name;                           /* register that holds it now, -1 = spilled or unknown */
    int slot;                           /* in the spill area, -1 = none */
    bool is_stored;                     /* the slot holds its present contents */
    int next_use;                       /* operation, or NEVER */
};

struct spiller {
    struct code_block *b;
    struct spill_area *area;
    int limit;
    struct value *value;
    int *resident, resident_count;      /* values with a register */
    int *free_slot, free_count, slot_count;
    int *use_first, *use_next, *use_op; /* operations that read each value, in order */
    struct vcode_op *out;
    size_t out_count, out_capacity;
    int v_count;
};

/* values alive behind each operation, at most; a result nobody reads counts there */
static int source_peak(const struct code_block *b, bool is_mask)
{
    int count = is_mask ? b->m_count : b->v_count, live = 0, peak = 0;
    int *last = arena_array(b->arena, (size_t)count, sizeof(int));
    bool *is_live = arena_array(b->arena, (size_t)count, sizeof(bool));

    for (int i = 0; i < b->op_count; i++) {
        const struct depend_regs *r = &b->regs[i];

        for (int k = 0; k < (is_mask ? r->m_read_count : r->v_read_count); k++)
            last[is_mask ? r->m_read[k] : r->v_read[k]] = i;
    }
    for (int i = 0; i < b->op_count; i++) {
        const struct depend_regs *r = &b->regs[i];
        const int *read = is_mask ? r->m_read : r->v_read;
        int read_count = is_mask ? r->m_read_count : r->v_read_count;
        int write = is_mask ? r->m_write : r->v_write;

        for (int k = 0; k < read_count; k++)
            if (last[read[k]] == i && is_live[read[k]]) {
                is_live[read[k]] = false;
                live--;
            }
        if (write < 0 || (!is_mask && b->v_fixed[write] >= 0))
            continue;
        peak = !is_live[write] && live + 1 > peak ? live + 1 : peak;
        if (last[write] > i && !is_live[write]) {
            is_live[write] = true;
            live++;
        }
    }
    return peak;
}

static void append(struct spiller *s, const struct vcode_op *op)
{
    MEM_ADD(s->out, s->out_count, s->out_capacity) = *op;
}

static void append_transfer(struct spiller *s, bool is_store, int name, int slot)
{
    struct isa_rows rows = isa_rows_at(NONE, s->area->base_row + (int64_t)slot * TILE_ROWS);
    struct vcode_op op = {.op = is_store ? isa_vst(rows, name) : isa_vld(name, rows),
                          .region = BACKEND_REGION_SPILL};

    append(s, &op);
}

static void remove_resident(struct spiller *s, int v)
{
    for (int i = 0; i < s->resident_count; i++)
        if (s->resident[i] == v) {
            s->resident[i] = s->resident[--s->resident_count];
            return;
        }
}

static void spill(struct spiller *s, int v)
{
    struct value *x = &s->value[v];

    if (!x->is_stored) {
        if (x->slot < 0)
            x->slot = s->free_count ? s->free_slot[--s->free_count] : s->slot_count++;
        append_transfer(s, true, x->name, x->slot);
        x->is_stored = true;
        s->area->spill_count++;
    }
    remove_resident(s, v);
    x->name = -1;
}

static bool is_read(const struct depend_regs *r, int v)
{
    for (int i = 0; i < r->v_read_count; i++)
        if (r->v_read[i] == v)
            return true;
    return false;
}

/* free a register; values in `keep` (may be NULL) stay */
static void make_room(struct spiller *s, const struct depend_regs *keep)
{
    int furthest = -1;

    if (s->resident_count < s->limit)
        return;
    for (int i = 0; i < s->resident_count; i++) {
        int v = s->resident[i];

        if ((!keep || !is_read(keep, v)) &&
            (furthest < 0 || s->value[v].next_use > s->value[furthest].next_use))
            furthest = v;
    }
    assert(furthest >= 0);              /* limit >= BACKEND_VREG_MIN */
    spill(s, furthest);
}

static void load_operands(struct spiller *s, const struct depend_regs *r)
{
    for (int k = 0; k < r->v_read_count; k++) {
        struct value *x = &s->value[r->v_read[k]];

        if (s->b->v_fixed[r->v_read[k]] >= 0 || x->name >= 0 || x->slot < 0)
            continue;
        make_room(s, r);
        x->name = s->v_count++;
        append_transfer(s, false, x->name, x->slot);
        s->resident[s->resident_count++] = r->v_read[k];
    }
}

static void drop(struct spiller *s, int v)
{
    struct value *x = &s->value[v];

    remove_resident(s, v);
    if (x->slot >= 0)
        s->free_slot[s->free_count++] = x->slot;
    x->name = x->slot = -1;
}

/* the operation with its registers under their present names */
static struct vcode_op rename_op(const struct spiller *s, int i)
{
    struct vcode_op op = s->b->op[i];
    const struct isa_info *info = isa_info(op.op.code);

    for (int k = 0; k < op.op.operand_count; k++) {
        struct isa_operand *o = &op.op.operand[k];
        char role = info->role[k];

        if (o->kind == OPERAND_REG && (role == 'd' || role == 'v' || role == 'V') &&
            s->b->v_fixed[o->value] < 0 && s->value[o->value].name >= 0)
            o->value = s->value[o->value].name;
    }
    return op;
}

static void pass_reads(struct spiller *s, const struct depend_regs *r)
{
    for (int k = 0; k < r->v_read_count; k++) {
        int v = r->v_read[k], use = s->use_first[v];

        if (s->b->v_fixed[v] >= 0)
            continue;
        s->use_first[v] = s->use_next[use];
        s->value[v].next_use = s->use_first[v] < 0 ? NEVER : s->use_op[s->use_first[v]];
        if (s->value[v].next_use == NEVER && v != r->v_write)
            drop(s, v);
    }
}

static void rewrite_op(struct spiller *s, int i)
{
    const struct depend_regs *r = &s->b->regs[i];
    int v = r->v_write;
    bool is_new = v >= 0 && s->b->v_fixed[v] < 0 && s->value[v].name < 0;
    struct vcode_op op;

    load_operands(s, r);
    is_new = is_new && s->value[v].name < 0;
    op = rename_op(s, i);
    pass_reads(s, r);
    if (is_new) {
        make_room(s, NULL);
        s->value[v].name = v;
        s->value[v].next_use = s->use_first[v] < 0 ? NEVER : s->use_op[s->use_first[v]];
        s->resident[s->resident_count++] = v;
    }
    append(s, &op);
    if (v < 0 || s->b->v_fixed[v] >= 0)
        return;
    s->value[v].is_stored = false;
    if (s->value[v].next_use == NEVER)
        drop(s, v);
}

/* lists of the operations that read each value */
static void chain_uses(struct spiller *s)
{
    const struct code_block *b = s->b;
    size_t most = (size_t)b->op_count * 4;
    int count = 0;

    s->use_first = arena_array(b->arena, (size_t)b->v_count, sizeof(int));
    s->use_next = arena_array(b->arena, most, sizeof(int));
    s->use_op = arena_array(b->arena, most, sizeof(int));
    for (int v = 0; v < b->v_count; v++)
        s->use_first[v] = -1;
    for (int i = b->op_count - 1; i >= 0; i--)
        for (int k = 0; k < b->regs[i].v_read_count; k++) {
            int v = b->regs[i].v_read[k];

            s->use_op[count] = i;
            s->use_next[count] = s->use_first[v];
            s->use_first[v] = count++;
        }
}

/* put the rewritten operations back into the block */
static void take_over(struct spiller *s)
{
    struct code_block *b = s->b;
    int *fixed = arena_array(b->arena, (size_t)s->v_count, sizeof(int));

    for (int v = 0; v < s->v_count; v++)
        fixed[v] = v < b->v_count ? b->v_fixed[v] : -1;
    b->v_fixed = fixed;
    b->v_count = s->v_count;
    b->op_count = (int)s->out_count;
    b->op = arena_take(b->arena, s->out, s->out_count, sizeof(*b->op));
    b->regs = arena_array(b->arena, s->out_count, sizeof(*b->regs));
    for (int i = 0; i < b->op_count; i++)
        depend_regs_read(&b->op[i].op, &b->regs[i]);
}

int registers_spill(struct code_block *b, const struct chip *chip, struct spill_area *area,
                    struct err *e)
{
    int limit = __builtin_popcountll(b->v_free), m_peak = source_peak(b, true);
    struct spiller s = {.b = b, .area = area, .limit = limit, .v_count = b->v_count};

    if (m_peak > ISA_MASK_COUNT)
        return err_set(e, "block \"%s\" needs %d mask registers at once, there are %d", b->note,
                       m_peak, ISA_MASK_COUNT);
    if (source_peak(b, false) <= limit)
        return 0;
    if (limit < BACKEND_VREG_MIN)
        return err_set(e, "block \"%s\" has %d vector registers beside its pinned ones "
                       "(%lld in all), at least %d are needed", b->note, limit,
                       (long long)chip->core_vregs, BACKEND_VREG_MIN);
    s.value = arena_array(b->arena, (size_t)b->v_count, sizeof(*s.value));
    for (int v = 0; v < b->v_count; v++)
        s.value[v] = (struct value){.name = -1, .slot = -1, .next_use = NEVER};
    s.resident = arena_array(b->arena, (size_t)limit, sizeof(int));
    s.free_slot = arena_array(b->arena, (size_t)b->v_count, sizeof(int));
    chain_uses(&s);
    for (int i = 0; i < b->op_count; i++)
        rewrite_op(&s, i);
    take_over(&s);
    if (s.slot_count > area->used_tiles)
        area->used_tiles = s.slot_count;
    if (s.slot_count > area->tile_count)
        return err_set(e, "block \"%s\" spills %d tiles at once, the spill area has %lld",
                       b->note, s.slot_count, (long long)area->tile_count);
    return 0;
}
