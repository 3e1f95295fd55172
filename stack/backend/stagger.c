/*
 * Chains of transcendental functions, in an order in which they overlap.
 *
 * The EUP answers in the order in which it is asked. A kernel that writes chain after chain
 * (exponential, sum, reciprocal of one register, then of the next) has each wait for the one
 * before. Here they are staggered: while one batch of registers is at its second function, the
 * next is at its first. An operation's stage is how many answers of the EUP stand before it on its
 * way; operations are sorted by batch + stage, and keep their order where those are equal.
 */
#include "stack/backend/backend.h"

#include <string.h>

#include "sim/chip/limits.h"

#define TILE_ROWS 8

struct stagger {
    struct vcode_op *op;
    int count;
    int *stage, *key;                   /* by operation */
    int *v_stage, *m_stage;             /* by register: of who reads it */
    int last_key;
    bool has_chain;                     /* a function of a function */
};

static bool is_push(const struct isa_op *op)
{
    return isa_info(op->code)->writes & ISA_EUP;
}

static bool is_pop(const struct isa_op *op)
{
    return isa_info(op->code)->reads & ISA_EUP;
}

static int larger(int a, int b) { return a > b ? a : b; }

/* -1: it changes what this order cannot keep: scalars, flags, registers written twice */
static int note_op(struct stagger *s, int i)
{
    const struct isa_op *op = &s->op[i].op;
    enum isa_slot slot = isa_info(op->code)->slot;
    struct depend_regs r;
    int stage = 0;

    depend_regs_read(op, &r);
    if (r.s_write || r.p_write || op->pred != ISA_PRED_ALWAYS || slot == SLOT_DMA
        || slot == SLOT_MISC || slot == SLOT_SCALAR || slot == SLOT_PUSH)
        return -1;
    for (int k = 0; k < r.v_read_count; k++)
        stage = larger(stage, s->v_stage[r.v_read[k]]);
    for (int k = 0; k < r.m_read_count; k++)
        stage = larger(stage, s->m_stage[r.m_read[k]]);
    if (is_pop(op))                     /* right behind its push */
        stage = i > 0 ? s->stage[i - 1] : 0;
    if (is_pop(op) && (i == 0 || !is_push(&s->op[i - 1].op)))
        return -1;
    s->stage[i] = stage;
    s->has_chain |= is_push(op) && stage > 0;
    if (r.v_write >= 0)
        s->v_stage[r.v_write] = stage + is_pop(op);
    if (r.m_write >= 0)
        s->m_stage[r.m_write] = stage;
    return 0;
}

static bool is_store(const struct isa_op *op) { return isa_info(op->code)->slot == SLOT_STORE; }

static bool is_access(const struct isa_op *op)
{
    return is_store(op) || isa_info(op->code)->slot == SLOT_LOAD;
}

/* accesses that may meet: of one region, unless they are tiles apart behind the same register */
static bool may_meet(const struct vcode_op *a, const struct vcode_op *b)
{
    const struct isa_operand *x = &a->op.operand[!is_store(&a->op)];
    const struct isa_operand *y = &b->op.operand[!is_store(&b->op)];
    int64_t apart = (int64_t)x[1].value - y[1].value;

    if (a->region != b->region && a->region != VCODE_REGION_ANY && b->region != VCODE_REGION_ANY)
        return false;
    return (a->op.code != OP_VLD && a->op.code != OP_VST)
           || (b->op.code != OP_VLD && b->op.code != OP_VST) || x[0].kind != y[0].kind
           || x[0].value != y[0].value || x[1].kind != OPERAND_IMM || y[1].kind != OPERAND_IMM
           || (apart > -TILE_ROWS && apart < TILE_ROWS);
}

/* two accesses that may meet, one of them a store, would change places */
static bool is_unsafe(const struct stagger *s)
{
    for (int i = 0; i < s->count; i++)
        for (int k = i + 1; k < s->count && is_access(&s->op[i].op); k++)
            if (s->key[k] < s->key[i] && is_access(&s->op[k].op)
                && (is_store(&s->op[i].op) || is_store(&s->op[k].op))
                && may_meet(&s->op[i], &s->op[k]))
                return true;
    return false;
}

/* a batch has so many first functions that the unit is busy until the first of them answers */
static void find_keys(struct stagger *s, const struct chip *chip)
{
    int64_t width = chip->eup_latency_cycles / chip->eup_issue_cycles + 2, pushes = 0;

    for (int i = 0; i < s->count; i++) {
        s->key[i] = is_pop(&s->op[i].op) ? s->key[i - 1] : s->stage[i] + (int)(pushes / width);
        pushes += is_push(&s->op[i].op) && s->stage[i] == 0;
        s->last_key = larger(s->last_key, s->key[i]);
    }
}

static void sort(struct stagger *s, struct arena *a)
{
    struct vcode_op *sorted = arena_array(a, (size_t)s->count, sizeof(*sorted));
    int at = 0;

    for (int key = 0; key <= s->last_key; key++)
        for (int i = 0; i < s->count; i++)
            if (s->key[i] == key)
                sorted[at++] = s->op[i];
    memcpy(s->op, sorted, (size_t)s->count * sizeof(*sorted));
}

/* masks that are there at once in the order of the keys */
static int mask_peak(const struct stagger *s, int mask_count)
{
    int *reads = mem_alloc(((size_t)mask_count + 1) * sizeof(*reads)), live = 0, peak = 0;
    struct depend_regs r;

    for (int i = 0; i < s->count; i++) {
        depend_regs_read(&s->op[i].op, &r);
        for (int k = 0; k < r.m_read_count; k++)
            reads[r.m_read[k]]++;
    }
    for (int key = 0; key <= s->last_key; key++)
        for (int i = 0; i < s->count; i++) {
            if (s->key[i] != key)
                continue;
            depend_regs_read(&s->op[i].op, &r);
            for (int k = 0; k < r.m_read_count; k++)
                live -= --reads[r.m_read[k]] == 0;
            live += r.m_write >= 0 && reads[r.m_write] > 0;
            peak = larger(peak, live);
        }
    mem_free(reads);
    return peak;
}

/* there are few masks, and no room for others: they are made where they are read */
static void delay_masks(struct stagger *s, int mask_count)
{
    int *first = mem_alloc(((size_t)mask_count + 1) * sizeof(*first));
    struct depend_regs r;

    for (int m = 0; m < mask_count; m++)
        first[m] = s->last_key + 1;
    for (int i = s->count - 1; i >= 0; i--) {
        depend_regs_read(&s->op[i].op, &r);
        if (r.m_write >= 0 && first[r.m_write] <= s->last_key)
            s->key[i] = larger(s->key[i], first[r.m_write]);
        for (int k = 0; k < r.m_read_count; k++)
            if (s->key[i] < first[r.m_read[k]])
                first[r.m_read[k]] = s->key[i];
    }
    mem_free(first);
}

int vcode_chain_cycles(const struct vcode *c, const struct chip *chip)
{
    const struct vcode_block *b = &c->block[c->block_count - 1];
    int *v_ready = mem_alloc(((size_t)c->vreg_count + 1) * sizeof(int)), pushed = 0, most = 0;
    int64_t eup_cycles = 0;

    for (size_t i = 0; i < b->op_count; i++) {
        const struct isa_op *op = &b->op[i].op;
        struct depend_regs r;
        int at = 0, end;

        depend_regs_read(op, &r);
        for (int k = 0; k < r.v_read_count; k++)
            at = larger(at, v_ready[r.v_read[k]]);
        if (is_push(op)) {
            pushed = at;
            eup_cycles = chip->eup_latency_cycles;
        }
        if (is_pop(op))
            at = pushed;
        end = at + chip_latency_cycles(chip, isa_info(op->code)->latency_class);
        if (r.v_write >= 0)
            v_ready[r.v_write] = end;
        most = larger(most, end);
    }
    mem_free(v_ready);
    return most + (int)eup_cycles;
}

void vcode_stagger(struct vcode *c, size_t first, const struct chip *chip)
{
    struct vcode_block *b = &c->block[c->block_count - 1];
    struct stagger s = {.op = b->op + first, .count = (int)(b->op_count - first)};
    struct arena a;
    bool is_fine = b->op_count > first;

    arena_init(&a);
    s.stage = arena_array(&a, (size_t)s.count + 1, sizeof(int));
    s.key = arena_array(&a, (size_t)s.count + 1, sizeof(int));
    s.v_stage = arena_array(&a, (size_t)c->vreg_count + 1, sizeof(int));
    s.m_stage = arena_array(&a, (size_t)c->mask_count + 1, sizeof(int));
    for (int i = 0; i < s.count && is_fine; i++)
        is_fine = !note_op(&s, i);
    if (is_fine && s.has_chain) {
        find_keys(&s, chip);
        if (mask_peak(&s, c->mask_count) > ISA_MASK_COUNT)
            delay_masks(&s, c->mask_count);
        if (!is_unsafe(&s) && mask_peak(&s, c->mask_count) <= ISA_MASK_COUNT)
            sort(&s, &a);
    }
    arena_fini(&a);
}
