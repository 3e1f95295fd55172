/*
 * Order of memory operations: VMEM loads and stores by what they touch, and
 * everything that talks to the world outside the core (DMA, flags, SMEM).
 */
#include "stack/backend/depend.h"

#include <string.h>

#define ROW_COUNT 8                     /* sublane rows of a tile */
#define UNKNOWN_ROOT (-1)

/*
 * An address base whose value is known up to a constant: two bases with the
 * same root differ by the difference of their deltas. Root 0 is the number 0.
 */
struct base {
    int root;
    int64_t delta;
};

struct access {
    int op, region, root;
    int64_t row[ROW_COUNT];             /* relative to the root */
    int64_t first, last;
    int row_count;
};

struct access_list {
    struct access *item;
    size_t count, capacity;
};

struct memory_state {
    struct depend *d;
    const struct code_block *b;
    const struct chip *chip;
    struct base base[ISA_SREG_COUNT];
    int root_count;
    struct access_list load, store;     /* since the last barrier */
    int barrier;                        /* last operation that all memory waits for, -1 */
    int outside, smem_outside;          /* last misc operation, and that may reach SMEM, -1 */
    int other;                          /* last that touched other state, -1: random numbers,
                                           the scalar unit's FIFOs */
    struct smem_list { int *op; size_t count, capacity; } smem_load, smem_store;   /* since then */
};

static struct base fresh_base(struct memory_state *st)
{
    return (struct base){.root = st->root_count++, .delta = 0};
}

static struct base address_base(const struct memory_state *st, const struct isa_operand *o)
{
    if (o->kind == OPERAND_REG)
        return st->base[o->value];
    return (struct base){.root = 0, .delta = o->kind == OPERAND_IMM ? o->value : 0};
}

/* follow copies and additions of constants, so that advancing a pointer does not blind us */
static void track_bases(struct memory_state *st, int i)
{
    const struct isa_op *op = &st->b->op[i].op;
    uint32_t written = st->b->regs[i].s_write;
    struct base result;

    if (!written)
        return;
    result = fresh_base(st);
    if (op->pred == ISA_PRED_ALWAYS && op->code == OP_SMOV)
        result = address_base(st, &op->operand[1]);
    if (op->pred == ISA_PRED_ALWAYS && (op->code == OP_SADD || op->code == OP_SSUB) &&
        op->operand[2].kind == OPERAND_IMM) {
        result = address_base(st, &op->operand[1]);
        result.delta += op->code == OP_SADD ? op->operand[2].value
                                            : -(int64_t)op->operand[2].value;
    }
    for (int k = 0; k < ISA_SREG_COUNT; k++)
        if (written >> k & 1)
            st->base[k] = result;
}

static struct access read_access(const struct memory_state *st, int i)
{
    const struct isa_op *op = &st->b->op[i].op;
    const struct isa_operand *address = &op->operand[isa_info(op->code)->unit == UNIT_LOAD ? 1 : 0];
    struct base base = address_base(st, address);
    struct access x = {.op = i, .region = st->b->op[i].region, .root = base.root};

    if (isa_info(op->code)->reads & ISA_IAR || address[1].kind != OPERAND_IMM) {
        x.root = UNKNOWN_ROOT;          /* its rows stand in a register */
        x.row_count = 1;
        return x;
    }
    for (int k = 0; k < ROW_COUNT; k++) {
        int64_t row = base.delta + address[1].value + (int64_t)k * address[2].value;

        if (!(address[3].value >> k & 1))
            continue;
        x.first = !x.row_count || row < x.first ? row : x.first;
        x.last = !x.row_count || row > x.last ? row : x.last;
        x.row[x.row_count++] = row;
    }
    return x;
}

static bool has_row(const struct access *x, int64_t row)
{
    for (int i = 0; i < x->row_count; i++)
        if (x->row[i] == row)
            return true;
    return false;
}

static bool may_overlap(const struct access *x, const struct access *y)
{
    if (x->region == VCODE_REGION_ANY || y->region == VCODE_REGION_ANY)
        return true;
    if (x->region != y->region)
        return false;
    if (x->root != y->root || x->root == UNKNOWN_ROOT)
        return true;
    if (x->last < y->first || y->last < x->first)
        return false;
    for (int i = 0; i < x->row_count; i++)
        if (has_row(y, x->row[i]))
            return true;
    return false;
}

/* whatever has to wait for y has to wait for x too */
static bool covers(const struct access *x, const struct access *y)
{
    if (x->region == VCODE_REGION_ANY)
        return true;
    if (x->region != y->region || x->root != y->root || x->root == UNKNOWN_ROOT)
        return false;
    for (int i = 0; i < y->row_count; i++)
        if (!has_row(x, y->row[i]))
            return false;
    return true;
}

/* order x behind the list; a store x then speaks for those it covers */
static void order_behind(struct memory_state *st, struct access_list *list,
                         const struct access *x, int delay, bool is_store)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        bool is_conflict = may_overlap(x, &list->item[i]);

        if (is_conflict)
            depend_add(st->d, list->item[i].op, x->op, delay);
        if (!(is_conflict && is_store && covers(x, &list->item[i])))
            list->item[kept++] = list->item[i];
    }
    list->count = kept;
}

static void append(struct access_list *list, const struct access *x)
{
    MEM_ADD(list->item, list->count, list->capacity) = *x;
}

static void order_access(struct memory_state *st, int i)
{
    bool is_store = isa_info(st->b->op[i].op.code)->unit == UNIT_STORE;
    struct access x = read_access(st, i);

    if (!x.row_count)
        return;                         /* an empty sublane mask touches nothing */
    depend_add(st->d, st->barrier, i, 1);
    order_behind(st, &st->store, &x, is_store ? 1 : (int)st->chip->vmem_store_to_load_cycles,
                 is_store);
    if (is_store)
        order_behind(st, &st->load, &x, 1, true);
    append(is_store ? &st->store : &st->load, &x);
}

/* the word that an sld or sst touches, where it stands in the operation; -1: a register says */
static int64_t word_of(const struct isa_op *op)
{
    const struct isa_operand *address = &op->operand[op->code == OP_SLD ? 1 : 0];

    return (op->code == OP_SLD || op->code == OP_SST) && address[0].kind == OPERAND_NONE &&
                   address[1].kind == OPERAND_IMM
               ? address[1].value : -1;
}

/* operation i behind those of the list that may touch what it touches */
static void order_words(struct memory_state *st, const struct smem_list *list, int i)
{
    int64_t word = word_of(&st->b->op[i].op);

    for (size_t k = 0; k < list->count; k++) {
        int64_t other = word_of(&st->b->op[list->op[k]].op);

        if (word < 0 || other < 0 || word == other)
            depend_add(st->d, list->op[k], i, 1);
    }
}

/* SMEM is written by DMA, so that sld and sst keep their place among misc operations */
static void order_smem(struct memory_state *st, int i)
{
    bool is_store = isa_info(st->b->op[i].op.code)->writes & ISA_SMEM;
    struct smem_list *to = is_store ? &st->smem_store : &st->smem_load;

    depend_add(st->d, st->smem_outside, i, 1);
    order_words(st, &st->smem_store, i);
    if (is_store)
        order_words(st, &st->smem_load, i);
    MEM_ADD(to->op, to->count, to->capacity) = i;
}

static void order_all(struct memory_state *st, struct smem_list *list, int i)
{
    for (size_t k = 0; k < list->count; k++)
        depend_add(st->d, list->op[k], i, 1);
    list->count = 0;
}

/* flags, by which copies of SMEM are waited for, and what copies it; a copy elsewhere does not */
static bool may_reach_smem(const struct isa_op *op)
{
    return isa_info(op->code)->slot != SLOT_DMA || isa_touches((enum isa_opcode)op->code) & ISA_SMEM;
}

static void order_outside(struct memory_state *st, int i)
{
    for (size_t k = 0; k < st->load.count; k++)
        depend_add(st->d, st->load.item[k].op, i, 1);
    for (size_t k = 0; k < st->store.count; k++)
        depend_add(st->d, st->store.item[k].op, i, 1);
    if (may_reach_smem(&st->b->op[i].op)) {
        order_all(st, &st->smem_load, i);
        order_all(st, &st->smem_store, i);
        st->smem_outside = i;
    }
    depend_add(st->d, st->outside, i, 1);
    st->load.count = st->store.count = 0;
    st->outside = st->barrier = i;
}

bool op_is_outside(enum isa_opcode code)
{
    return isa_touches(code) & (ISA_FLAGS | ISA_MARKS | ISA_TIME | ISA_HALT) ||
           isa_info(code)->writes & ISA_IAR;
}

void depend_memory(struct depend *d, const struct code_block *b, const struct chip *chip)
{
    struct memory_state st = {.d = d, .b = b, .chip = chip, .root_count = 1,
                              .barrier = -1, .outside = -1, .smem_outside = -1,
                              .other = -1};

    for (int k = 0; k < ISA_SREG_COUNT; k++)
        st.base[k] = fresh_base(&st);
    for (int i = 0; i < b->op_count; i++) {
        enum isa_opcode code = (enum isa_opcode)b->op[i].op.code;

        if (isa_info(code)->unit == UNIT_LOAD || isa_info(code)->unit == UNIT_STORE)
            order_access(&st, i);
        else if (op_is_outside(code))
            order_outside(&st, i);
        else if (isa_touches(code) & ISA_SMEM)
            order_smem(&st, i);
        if (isa_touches(code) & (uint32_t)((ISA_CORE_STATES & ~ISA_IAR) | ISA_DRF | ISA_CRF) &&
            !op_is_outside(code)) {
            depend_add(d, st.other, i, 1);
            st.other = i;
        }
        track_bases(&st, i);
    }
    mem_free(st.load.item);
    mem_free(st.store.item);
    mem_free(st.smem_load.op);
    mem_free(st.smem_store.op);
}
