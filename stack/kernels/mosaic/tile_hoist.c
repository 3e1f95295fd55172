/*
 * What is the same in all iterations of a loop over row tiles is computed before it: the lanes' numbers,
 * where a mask begins. Each such value keeps a register for as long as the loop runs, so they are few;
 * in the loop it would keep one for every iteration under way that is between its first and its last
 * reader. Those that wait long so come first.
 */
#include "stack/kernels/mosaic/tile.h"

#include <string.h>

#include "base/arena.h"

/* of what waits long in each iteration one register in eight; of all else few */
enum { FEW = 4, REGISTERS_PER_LONG = 8, HOISTED_MAX = ISA_VREG_MAX / REGISTERS_PER_LONG };

struct hoist {
    struct tiler *t;
    size_t loop;                        /* number of the loop's block */
    bool *is_same;                      /* by vector register: the same in all iterations */
    int *pinned;                        /* by vector register: what it is before the loop; -1 */
    size_t *first_read, *last_read;     /* by vector register: operations of the body */
    int count;
};

static struct vcode_block *body_of(const struct hoist *h) { return &h->t->c->block[h->loop]; }

/* It is set before the loop and stays; what a crowded loop reads in every iteration is not there yet. */
static bool stays(const struct tiler *t, int sreg)
{
    for (int i = 0; i < t->pointer_count; i++)
        if (t->pointer[i].reg == sreg)
            return !t->pointer[i].step;
    return false;
}

/* an operation on registers alone, that are the same in all iterations */
static bool is_same_op(const struct hoist *h, const struct isa_op *op)
{
    const struct isa_info *info = isa_info(op->code);
    bool makes = false;

    if ((info->unit != UNIT_VALU && op->code != OP_VSTV && op->code != OP_VLANESEQ) ||
        info->reads || info->writes || op->pred != ISA_PRED_ALWAYS)
        return false;
    for (int k = 0; k < op->operand_count; k++) {
        const struct isa_operand *o = &op->operand[k];

        if (o->kind != OPERAND_REG)
            continue;
        switch (isa_role_file(info->role[k])) {
        case STATE_V:
            if (h->t->c->is_pinned[o->value])
                return false;
            makes |= info->role[k] == 'd';
            if (info->role[k] != 'd' && !h->is_same[o->value])
                return false;
            break;
        case STATE_S:
            if (op->code != OP_VSTV || !stays(h->t, o->value))
                return false;
            break;
        default: return false;
        }
    }
    return makes;
}

static int made_by(const struct isa_op *op)
{
    const struct isa_info *info = isa_info(op->code);

    for (int k = 0; k < op->operand_count; k++)
        if (info->role[k] == 'd' && op->operand[k].kind == OPERAND_REG)
            return op->operand[k].value;
    return -1;
}

static void find_same(struct hoist *h)
{
    const struct vcode_block *b = body_of(h);

    for (size_t i = 0; i < b->op_count; i++)
        if (is_same_op(h, &b->op[i].op))
            h->is_same[made_by(&b->op[i].op)] = true;
}

static void note_reads(struct hoist *h)
{
    const struct vcode_block *b = body_of(h);

    for (size_t i = 0; i < b->op_count; i++) {
        const struct isa_op *op = &b->op[i].op;
        const struct isa_info *info = isa_info(op->code);

        for (int k = 0; k < op->operand_count; k++) {
            int v = op->operand[k].value;

            if (op->operand[k].kind != OPERAND_REG || isa_role_file(info->role[k]) != STATE_V ||
                info->role[k] == 'd')
                continue;
            if (!h->last_read[v])
                h->first_read[v] = i;
            h->last_read[v] = i;
        }
    }
}

/* what an iteration would keep from one part of its work to another, in a register for each under way */
static bool waits_long(const struct hoist *h, int v)
{
    return (h->last_read[v] - h->first_read[v]) * 4 >= body_of(h)->op_count;
}

/* registers that operations read which are not the same: those go before the loop */
static void find_wanted(struct hoist *h, int most, bool is_long)
{
    const struct vcode_block *b = body_of(h);

    for (size_t i = 0; i < b->op_count; i++) {
        const struct isa_op *op = &b->op[i].op;
        const struct isa_info *info = isa_info(op->code);
        int to = made_by(op);

        for (int k = 0; k < op->operand_count && (to < 0 || !h->is_same[to]); k++) {
            int v = op->operand[k].value;

            if (op->operand[k].kind == OPERAND_REG && isa_role_file(info->role[k]) == STATE_V &&
                info->role[k] != 'd' && h->is_same[v] && h->pinned[v] < 0 &&
                h->count < most && (!is_long || waits_long(h, v))) {
                h->pinned[v] = vcode_pinned_vreg(h->t->c);
                h->count++;
            }
        }
    }
}

static void append(struct vcode_block *b, const struct vcode_op *op)
{
    MEM_ADD(b->op, b->op_count, b->op_capacity) = *op;
}

/* before the loop: what makes the wanted registers, and what makes those, each once */
static void put_before(struct hoist *h)
{
    struct vcode_block *b = body_of(h), *before = &h->t->c->block[h->loop - 1];

    for (size_t i = 0; i < b->op_count; i++) {
        struct vcode_op copy = b->op[i];
        int to = made_by(&copy.op);

        if (to < 0 || !h->is_same[to])
            continue;
        append(before, &copy);
        if (h->pinned[to] >= 0)
            append(before, &(struct vcode_op){.op = isa_vmov(h->pinned[to], R(to))});
    }
}

static void rename_reads(struct hoist *h)
{
    struct vcode_block *b = body_of(h);

    for (size_t i = 0; i < b->op_count; i++) {
        struct isa_op *op = &b->op[i].op;
        const struct isa_info *info = isa_info(op->code);
        int to = made_by(op);

        for (int k = 0; k < op->operand_count && (to < 0 || !h->is_same[to]); k++)
            if (op->operand[k].kind == OPERAND_REG && isa_role_file(info->role[k]) == STATE_V &&
                info->role[k] != 'd' && h->pinned[op->operand[k].value] >= 0)
                op->operand[k].value = h->pinned[op->operand[k].value];
    }
}

static bool is_read(const struct vcode_block *b, int v)
{
    for (size_t i = 0; i < b->op_count; i++) {
        const struct isa_op *op = &b->op[i].op;
        const struct isa_info *info = isa_info(op->code);

        for (int k = 0; k < op->operand_count; k++)
            if (op->operand[k].kind == OPERAND_REG && op->operand[k].value == v &&
                isa_role_file(info->role[k]) == STATE_V && info->role[k] != 'd')
                return true;
    }
    return false;
}

/* what nobody in the loop reads any more; from the end on, so that chains go */
static void drop_unread(struct hoist *h)
{
    struct vcode_block *b = body_of(h);

    for (size_t i = b->op_count; i-- > 0;) {
        int to = made_by(&b->op[i].op);

        if (to < 0 || !h->is_same[to] || is_read(b, to))
            continue;
        memmove(&b->op[i], &b->op[i + 1], (b->op_count - i - 1) * sizeof(*b->op));
        b->op_count--;
    }
}

void tile_hoist(struct tiler *t, size_t loop)
{
    size_t registers = (size_t)t->c->vreg_count + HOISTED_MAX + 1;
    struct hoist h = {.t = t, .loop = loop, .is_same = mem_alloc(registers * sizeof(bool)),
                      .pinned = mem_alloc(registers * sizeof(int)),
                      .first_read = mem_alloc(registers * sizeof(size_t)),
                      .last_read = mem_alloc(registers * sizeof(size_t))};

    for (size_t i = 0; i < registers; i++)
        h.pinned[i] = -1;
    find_same(&h);
    note_reads(&h);
    find_wanted(&h, (int)t->l->chip->core_vregs / REGISTERS_PER_LONG, true);
    find_wanted(&h, FEW, false);
    if (h.count) {
        put_before(&h);
        rename_reads(&h);
        drop_unread(&h);
    }
    mem_free(h.is_same);
    mem_free(h.pinned);
    mem_free(h.first_read);
    mem_free(h.last_read);
}
