/*
 * Scalar temporaries of a block under new names.
 *
 * Kernels compute addresses and counts in a few scalar registers that they use
 * again and again. That makes operations wait for others that only happen to
 * share a register: the next group's address for the last group's store. So a
 * block's scalars are numbered by value (what was computed before is not
 * computed again), what nobody reads is left out, and values get registers anew,
 * always the one that has been free for longest. Registers that somebody
 * behind the block reads get their last value where it was; those with a
 * guarded write stay as they are. A block for which that does not work out is
 * left alone.
 */
#include "stack/backend/backend.h"

#include <string.h>

#define AT_END INT32_MAX
#define UNUSED (-1)

struct value {
    int def, reg;                       /* operation, UNUSED: there at the entry; its register */
    int last_use, use_count;
    int assigned;                       /* register that it gets */
    bool is_final;                      /* must be in `reg` at the end */
    bool is_fixed;                      /* of a register that is left alone */
};

struct renaming {
    struct code_block *b;
    uint32_t live_out, fixed;
    int step_first;                     /* operations from here on stay */
    int *last_def;                      /* by register */
    struct value *value;
    int value_count;
    int now[ISA_SREG_COUNT];            /* value that a register holds */
    int (*read)[ISA_OPERAND_MAX];       /* values by operation and operand, UNUSED: no scalar */
    int *written;                       /* by operation, UNUSED: none, or the same as before */
    bool *is_dropped;
    int *table, table_mask;             /* of operations whose value may be taken again */
};

static bool is_scalar_read(const struct isa_op *op, int k)
{
    return op->operand[k].kind == OPERAND_REG && isa_scalar_operands(op->code) >> k & 1;
}

static bool is_pure(const struct isa_op *op)
{
    switch (op->code) {
    case OP_SMOV: case OP_SADD: case OP_SSUB: case OP_SMUL: case OP_SAND: case OP_SOR:
    case OP_SXOR: case OP_SSHLL: case OP_SSHRL: case OP_SSHRA: case OP_SLEA_VMEM:
    case OP_SLEA_HBM: case OP_SLEA_SMEM: case OP_SLEA_SFLAG:
        return op->pred == ISA_PRED_ALWAYS;
    default: return false;
    }
}

static int new_value(struct renaming *n, int def, int reg)
{
    n->value[n->value_count] = (struct value){
        .def = def, .reg = reg, .last_use = UNUSED, .assigned = reg,
        .is_fixed = n->fixed >> reg & 1,
        .is_final = n->live_out >> reg & 1 && n->last_def[reg] == def};
    return n->value_count++;
}

static void find_fixed(struct renaming *n)
{
    for (int r = 0; r < ISA_SREG_COUNT; r++)
        n->last_def[r] = UNUSED;
    for (int i = 0; i < n->b->op_count; i++)
        for (int r = 0; r < ISA_SREG_COUNT; r++)
            if (n->b->regs[i].s_write >> r & 1) {
                n->last_def[r] = i;
                if (n->b->op[i].op.pred != ISA_PRED_ALWAYS)
                    n->fixed |= 1u << r;
            }
}

static uint32_t hash_of(const struct renaming *n, int i)
{
    const struct isa_op *op = &n->b->op[i].op;
    uint32_t h = op->code;

    for (int k = 1; k < op->operand_count; k++)
        h = (h ^ (uint32_t)(n->read[i][k] >= 0 ? n->read[i][k] : op->operand[k].value))
            * 0x9e3779b1u + (uint32_t)(n->read[i][k] >= 0);
    return h ^ h >> 15;
}

static bool computes_same(const struct renaming *n, int i, int k)
{
    const struct isa_op *x = &n->b->op[i].op, *y = &n->b->op[k].op;

    if (x->code != y->code)
        return false;
    for (int o = 1; o < x->operand_count; o++)
        if (n->read[i][o] != n->read[k][o] ||
            (n->read[i][o] < 0 && x->operand[o].value != y->operand[o].value))
            return false;
    return true;
}

/* the value that an earlier operation computed in the same way, or UNUSED; else i is noted */
static int find_same(struct renaming *n, int i, bool may_be_taken)
{
    uint32_t at = hash_of(n, i) & (uint32_t)n->table_mask;

    for (; n->table[at]; at = (at + 1) & (uint32_t)n->table_mask)
        if (computes_same(n, i, n->table[at] - 1))
            return n->written[n->table[at] - 1];
    if (may_be_taken)
        n->table[at] = i + 1;
    return UNUSED;
}

static void number_op(struct renaming *n, int i)
{
    const struct isa_op *op = &n->b->op[i].op;
    int reg = UNUSED, same = UNUSED;
    bool is_kept;

    n->written[i] = UNUSED;
    for (int k = 0; k < op->operand_count; k++) {
        n->read[i][k] = is_scalar_read(op, k) ? n->now[op->operand[k].value] : UNUSED;
        if (op->operand[k].kind == OPERAND_REG && isa_info(op->code)->role[k] == 'e')
            reg = op->operand[k].value;
    }
    if (reg < 0)
        return;
    is_kept = i >= n->step_first || n->fixed >> reg & 1 ||
              (n->live_out >> reg & 1 && n->last_def[reg] == i);
    if (is_pure(op)) {
        bool is_fixed = n->fixed >> reg & 1;

        n->written[i] = n->value_count;         /* as find_same notes it */
        same = find_same(n, i, !is_fixed);
    }
    if (same >= 0 && !is_kept) {
        n->is_dropped[i] = true;
        n->now[reg] = same;
        n->written[i] = UNUSED;
        return;
    }
    n->written[i] = new_value(n, i, reg);
    n->now[reg] = n->written[i];
}

static void count_uses(struct renaming *n)
{
    for (int i = 0; i < n->b->op_count; i++)
        for (int k = 0; k < ISA_OPERAND_MAX && !n->is_dropped[i]; k++)
            if (k < n->b->op[i].op.operand_count && n->read[i][k] >= 0)
                n->value[n->read[i][k]].use_count++;
    for (int i = n->b->op_count - 1; i >= 0; i--) {
        const struct isa_op *op = &n->b->op[i].op;
        int v = n->written[i];

        if (v < 0 || i >= n->step_first || !is_pure(op) || n->value[v].use_count ||
            n->value[v].is_final || n->value[v].is_fixed)
            continue;
        n->is_dropped[i] = true;
        for (int k = 0; k < op->operand_count; k++)
            if (n->read[i][k] >= 0)
                n->value[n->read[i][k]].use_count--;
    }
    for (int i = 0; i < n->b->op_count; i++)
        for (int k = 0; k < n->b->op[i].op.operand_count && !n->is_dropped[i]; k++)
            if (n->read[i][k] >= 0)
                n->value[n->read[i][k]].last_use = i;
}

/* a register that is free from operation i to the value's last use, for longest; or UNUSED */
static int take_register(const struct renaming *n, const struct value *v, const int *busy_to)
{
    int best = UNUSED;

    for (int r = 0; r < ISA_SREG_COUNT; r++) {
        bool is_set_later = n->live_out >> r & 1 && n->last_def[r] > v->def;

        if (n->fixed >> r & 1 || busy_to[r] > v->def ||
            (is_set_later && n->last_def[r] < v->last_use))
            continue;
        if (best < 0 || busy_to[r] < busy_to[best])
            best = r;
    }
    return best;
}

static bool assign(struct renaming *n)
{
    int busy_to[ISA_SREG_COUNT];        /* last use of what a register holds */

    for (int r = 0; r < ISA_SREG_COUNT; r++) {
        bool stays = n->live_out >> r & 1 && n->last_def[r] < 0;

        busy_to[r] = n->fixed >> r & 1 || stays ? AT_END : n->value[r].last_use;
    }
    for (int i = 0; i < n->b->op_count; i++) {
        struct value *v = n->written[i] >= 0 ? &n->value[n->written[i]] : NULL;

        if (!v || n->is_dropped[i] || v->is_fixed)
            continue;
        if (v->is_final || i >= n->step_first) {
            if (busy_to[v->reg] > i)
                return false;
            busy_to[v->reg] = v->is_final ? AT_END : v->last_use;
            continue;
        }
        v->assigned = take_register(n, v, busy_to);
        if (v->assigned < 0)
            return false;
        busy_to[v->assigned] = v->last_use > i ? v->last_use : i + 1;
    }
    return true;
}

static void rewrite(struct renaming *n)
{
    int kept = 0;

    for (int i = 0; i < n->b->op_count; i++) {
        struct vcode_op *op = &n->b->op[i];

        if (n->is_dropped[i])
            continue;
        for (int k = 0; k < op->op.operand_count; k++) {
            struct isa_operand *o = &op->op.operand[k];

            if (n->read[i][k] >= 0)
                o->value = n->value[n->read[i][k]].assigned;
            else if (o->kind == OPERAND_REG && isa_info(op->op.code)->role[k] == 'e')
                o->value = n->value[n->written[i]].assigned;
        }
        n->b->op[kept++] = *op;
    }
    n->b->op_count = kept;
}

void scalars_rename(struct code_block *b, int step_count, uint32_t live_out)
{
    struct renaming n = {.b = b, .live_out = live_out, .step_first = b->op_count - step_count};
    size_t count = (size_t)b->op_count + 1;
    int size = 4;

    while (size < 2 * b->op_count)
        size *= 2;
    for (int i = 0; i < b->op_count; i++)
        depend_regs_read(&b->op[i].op, &b->regs[i]);
    n.last_def = arena_array(b->arena, ISA_SREG_COUNT, sizeof(int));
    n.value = arena_array(b->arena, count + ISA_SREG_COUNT, sizeof(*n.value));
    n.read = arena_array(b->arena, count, sizeof(*n.read));
    n.written = arena_array(b->arena, count, sizeof(int));
    n.is_dropped = arena_array(b->arena, count, sizeof(bool));
    n.table = arena_array(b->arena, (size_t)size, sizeof(int));
    n.table_mask = size - 1;
    find_fixed(&n);
    for (int r = 0; r < ISA_SREG_COUNT; r++)
        n.now[r] = new_value(&n, UNUSED, r);
    for (int i = 0; i < b->op_count; i++)
        number_op(&n, i);
    count_uses(&n);
    if (assign(&n))
        rewrite(&n);
}

/* Registers read before they are written, and those written for certain. */
static void block_uses(const struct vcode_block *b, uint32_t *use, uint32_t *def)
{
    const struct isa_program *p = b->bundles;
    struct depend_regs r;

    *use = *def = 0;
    for (size_t i = 0; i < b->op_count; i++) {
        depend_regs_read(&b->op[i].op, &r);
        *use |= r.s_read & ~*def;
        *def |= b->op[i].op.pred == ISA_PRED_ALWAYS ? r.s_write : 0;
    }
    for (uint32_t i = 0; p && i < p->op_count; i++) {
        depend_regs_read(&p->op[i], &r);
        *use |= r.s_read;               /* in whatever order it branches */
    }
    if (b->is_loop_end)
        *use |= (1u << b->counter_sreg) & ~*def;
}

uint32_t *scalars_live_out(const struct vcode *c, uint32_t at_end, struct arena *a)
{
    size_t count = c->block_count;
    uint32_t *live = arena_array(a, count + 1, sizeof(*live));
    uint32_t *live_in = arena_array(a, count + 1, sizeof(*live_in));
    bool is_changed = true;

    live_in[count] = at_end;
    while (is_changed) {
        is_changed = false;
        for (size_t b = count; b-- > 0;) {
            uint32_t use, def, out = live_in[b + 1], in;

            if (c->block[b].is_loop_end)
                out |= live_in[pins_loop_start(c, (int)b)] | 1u << c->block[b].counter_sreg;
            if (c->block[b].skip_to)
                out |= live_in[c->block[b].skip_to];
            block_uses(&c->block[b], &use, &def);
            in = use | (out & ~def);
            is_changed |= in != live_in[b] || out != live[b];
            live_in[b] = in;
            live[b] = out;
        }
    }
    return live;
}
