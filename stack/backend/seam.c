/*
 * Two loops of one schedule, one behind the other: an attention's blocks of keys, of which each has
 * weights of its own. The rounds of the second begin while the last of the first end, as if they were
 * rounds of one loop, some IIs later: so slots, units, FIFOs and registers suffice as they do within a
 * loop, where registers take turns from where the first loop has left them. Between the two stands
 * straight code that loads the second one's weights into staging registers and sets its addresses. It
 * goes into what the two leave free, in its order; how many IIs later the second begins is what its
 * weights need.
 *
 * What is asked for: the same operations at the same times; addresses in the same registers, which
 * then go on and are set back behind the seam; accesses that meet in the order of the source. The code
 * between loads, computes and pushes weights, and nothing else; its vectors take registers that the
 * loops do not have.
 */
#include "stack/backend/modulo.h"

#include "isa/op_make.h"
#include "sim/chip/limits.h"

#include <stdlib.h>
#include <string.h>

#define IIS_MAX 64                      /* that the second loop begins later, at most */
#define ROWS 8

struct placed { struct isa_op op; int bundle, number; };

struct seam {
    const struct vcode *c;
    const struct chip *chip;
    const struct seam_loop *first;
    struct seam_loop *second;
    struct arena *a;
    struct isa_slots slots;
    struct arena trial;                 /* of the second as it is tried */
    struct modulo_body body[2];
    struct modulo_ends end, begin;      /* of the first, of the second */
    struct isa_program program;         /* the second */
    int begin_at;                       /* bundle of the second one's first */
    const struct isa_op *moved_base[ISA_SREG_COUNT];    /* by step: what sets it between; dropped */
    uint64_t v_free;                    /* registers for the code between */
    uint32_t m_free;
    int (*used)[SLOT_COUNT];
    size_t used_capacity;
    struct placed *item;
    size_t count, capacity;
    int bundle_count;
};

/* ----- are they two of a kind */

static int64_t rounds_of(const struct seam *m, const struct seam_loop *l)
{
    return m->c->block[l->block].loop_count;
}

static bool same_ints(const int *a, const int *b, int count)
{
    return !count || !memcmp(a, b, (size_t)count * sizeof(*a));
}

static bool is_alike(const struct seam *m)
{
    const struct modulo_result *a = m->first->result, *b = m->second->result;
    const struct code_block *x = m->first->body, *y = m->second->body;
    bool has_latches = false;

    if (a->ii != b->ii || a->stages != b->stages || a->unroll != b->unroll ||
        a->op_count != b->op_count || a->v_count != b->v_count || a->m_count != b->m_count ||
        x->op_count != y->op_count || !same_ints(a->time, b->time, a->op_count) ||
        !same_ints(a->v_register, b->v_register, a->v_count * a->unroll) ||
        !same_ints(a->m_register, b->m_register, a->m_count * a->unroll))
        return false;
    for (int i = 0; i < x->op_count; i++) {
        const struct isa_op *p = &x->op[i].op, *q = &y->op[i].op;

        if (p->code != q->code || p->unit_index != q->unit_index || p->pred != q->pred)
            return false;
        for (int k = 0; k < p->operand_count; k++)
            if (p->operand[k].kind != q->operand[k].kind ||
                (p->operand[k].kind == OPERAND_REG &&
                 isa_role_file(isa_info(p->code)->role[k]) != STATE_S &&
                 p->operand[k].value != q->operand[k].value))
                return false;
        has_latches |= y->op[i].region == VCODE_LATCHES && p->code == OP_VMATMUL;
    }
    for (int i = 0; i < x->v_count; i++)
        if (x->v_fixed[i] >= 0 || y->v_fixed[i] >= 0)
            return false;
    return has_latches;
}

static bool look_again(const struct seam *m, const struct seam_loop *l, struct modulo_body *body)
{
    const struct vcode_block *from = &m->c->block[l->block];

    return modulo_body_init(body, l->body, from->step_count, from->counter_sreg, from->loop_count,
                            m->chip, m->a);
}

static bool write_again(const struct seam_loop *l, const struct modulo_body *body, int phase,
                        struct arena *a, struct isa_program *program, struct modulo_ends *ends)
{
    const struct modulo_result *r = l->result;
    struct modulo_schedule s = {.ii = r->ii, .stages = r->stages, .unroll = r->unroll,
                                .time = r->time, .v_register = r->v_register,
                                .m_register = r->m_register, .phase = phase};

    return modulo_write(body, &s, a, program, ends) && ends->done > 0;
}

/* ----- the code between */

static bool is_let_through(const struct isa_op *op)
{
    const struct isa_info *info = isa_info(op->code);

    if (op->pred != ISA_PRED_ALWAYS || op_is_outside((enum isa_opcode)op->code))
        return false;
    if (schedule_is_weight_push(op) || info->unit == UNIT_LOAD)
        return true;
    return info->slot == SLOT_VALU || op->code == OP_SLD ||
           (info->slot == SLOT_SCALAR && !(isa_touches(op->code) & ~(uint32_t)ISA_SMEM) &&
            op->code != OP_SST);
}

static bool is_straight(const struct vcode_block *b)
{
    return !b->is_loop_start && !b->is_loop_end && !b->bundles && !b->skip_to;
}

/* the last operation before the loop's block that writes the register; NULL: none that says enough */
static const struct isa_op *set_before(const struct vcode *c, int block, int sreg)
{
    for (int b = block - 1; b >= 0 && is_straight(&c->block[b]); b--)
        for (size_t i = c->block[b].op_count; i-- > 0;) {
            const struct isa_op *op = &c->block[b].op[i].op;
            struct depend_regs r;

            depend_regs_read(op, &r);
            if (op->code == OP_SST)
                return NULL;
            if (r.s_write >> sreg & 1)
                return (op->code == OP_SLD || op->code == OP_SMOV) && !r.s_read ? op : NULL;
        }
    return NULL;
}

static bool same_op(const struct isa_op *a, const struct isa_op *b)
{
    if (a->code != b->code || a->operand_count != b->operand_count)
        return false;
    for (int k = 0; k < a->operand_count; k++)
        if (a->operand[k].kind != b->operand[k].kind || a->operand[k].value != b->operand[k].value)
            return false;
    return true;
}

/* the operation between the loops that alone touches the register; NULL: there is no such */
static const struct isa_op *sets_alone(const struct seam *m, int sreg)
{
    const struct isa_op *found = NULL;

    for (int b = m->first->block + 1; b < m->second->block; b++)
        for (size_t i = 0; i < m->c->block[b].op_count; i++) {
            struct depend_regs r;

            depend_regs_read(&m->c->block[b].op[i].op, &r);
            if (r.s_read >> sreg & 1 || (r.s_write >> sreg & 1 && found))
                return NULL;
            if (r.s_write >> sreg & 1)
                found = &m->c->block[b].op[i].op;
        }
    return found;
}

/* bases begin alike in both loops: they go on, and what sets them again goes */
static bool find_bases(struct seam *m)
{
    if (m->end.step_count != m->begin.step_count)
        return false;
    for (int k = 0; k < m->end.step_count; k++) {
        const struct modulo_step *a = &m->end.step[k], *b = &m->begin.step[k];
        const struct isa_op *x = set_before(m->c, m->first->block, a->sreg);
        const struct isa_op *y = set_before(m->c, m->second->block, b->sreg);

        m->moved_base[k] = sets_alone(m, a->sreg);
        if (a->sreg != b->sreg || a->step != b->step || !x || !y || !same_op(x, y) ||
            m->moved_base[k] != y)
            return false;
    }
    return true;
}

static bool is_dropped(const struct seam *m, const struct isa_op *op)
{
    for (int k = 0; k < m->end.step_count; k++)
        if (m->moved_base[k] == op)
            return true;
    return false;
}

/* straight, nobody jumps there, and nothing but weights, addresses and what they take */
static bool may_go_between(const struct seam *m)
{
    for (int b = m->first->block + 1; b < m->second->block; b++)
        if (!is_straight(&m->c->block[b]))
            return false;
    for (size_t b = 0; b < m->c->block_count; b++) {
        size_t to = m->c->block[b].skip_to;

        if (to > (size_t)m->first->block && to <= (size_t)m->second->block)
            return false;
    }
    for (int b = m->first->block + 1; b < m->second->block; b++)
        for (size_t i = 0; i < m->c->block[b].op_count && !m->c->block[b].is_latch; i++)
            if (!is_let_through(&m->c->block[b].op[i].op))
                return false;
    return true;
}

/* some of the loads between reads what the end of one loop or the begin of the other stores */
static bool reads_what_is_stored(const struct seam *m, const struct modulo_item *item, int count)
{
    for (int b = m->first->block + 1; b < m->second->block; b++)
        for (size_t i = 0; i < m->c->block[b].op_count; i++) {
            const struct vcode_op *load = &m->c->block[b].op[i];

            if (isa_info(load->op.code)->unit != UNIT_LOAD)
                continue;
            for (int k = 0; k < count; k++)
                if (isa_info(item[k].op.code)->unit == UNIT_STORE &&
                    (item[k].region == load->region || load->region < 0 || item[k].region < 0))
                    return true;
        }
    return false;
}

/* ----- registers of the code between */

static void find_free(struct seam *m)
{
    const struct modulo_result *r = m->second->result;

    m->v_free = m->second->body->v_free;
    m->m_free = (1u << ISA_MASK_COUNT) - 1;
    for (int i = 0; i < r->v_count * r->unroll; i++)
        m->v_free &= ~(1ull << r->v_register[i]);
    for (int i = 0; i < r->m_count * r->unroll; i++)
        m->m_free &= ~(1u << r->m_register[i]);
}

/* a register of the file: the bundle behind its last reader, and the operation that is that */
struct shelf { int free_at[ISA_VREG_MAX]; size_t last[ISA_VREG_MAX]; };

/* the code between as it is placed: by virtual register its own, and when that is there */
struct renaming {
    struct shelf shelf[2];              /* vectors, masks */
    int *now[2], *ready[2];
    int s_ready[ISA_SREG_COUNT], s_free[ISA_SREG_COUNT];
    int port[ISA_UNIT_MAX];             /* when a unit's staging port is free */
};

static bool is_written(char role) { return role == 'd' || role == 'm'; }

/* the last operation of the block that reads register `number` of the file, from i on */
static size_t last_reader(const struct vcode_block *b, size_t i, enum isa_state file, int number)
{
    size_t last = i;

    for (size_t k = i + 1; k < b->op_count; k++) {
        const struct isa_op *op = &b->op[k].op;

        for (int n = 0; n < op->operand_count; n++)
            if (op->operand[n].kind == OPERAND_REG && op->operand[n].value == number &&
                isa_role_file(isa_info(op->code)->role[n]) == file)
                last = k;
    }
    return last;
}

/* a register for what operation i of the block writes; -1: all are taken */
static int take_register(struct shelf *s, uint64_t free, size_t i)
{
    int best = -1;

    for (int n = 0; n < ISA_VREG_MAX; n++)
        if (free >> n & 1 && s->last[n] <= i && (best < 0 || s->free_at[n] < s->free_at[best]))
            best = n;
    return best;
}

static void raise_to(int *least, int to)
{
    if (*least < to)
        *least = to;
}

/*
 * Operation i of the block with registers of its own; *least is raised to the bundle in which it may
 * stand. False: too few registers.
 */
static bool rename_op(struct seam *m, const struct vcode_block *b, size_t i, struct renaming *r,
                      struct isa_op *op, int *least)
{
    const struct isa_info *info;

    *op = b->op[i].op;
    info = isa_info(op->code);
    for (int pass = 0; pass < 2; pass++)        /* reads first */
        for (int k = 0; k < op->operand_count; k++) {
            enum isa_state file = isa_role_file(info->role[k]);
            int f = file == STATE_M, own;
            struct isa_operand *o = &op->operand[k];

            if (o->kind != OPERAND_REG || (file != STATE_V && file != STATE_M) ||
                is_written(info->role[k]) != (pass == 1))
                continue;
            if (pass == 0) {
                raise_to(least, r->ready[f][o->value]);
                o->value = r->now[f][o->value];
                continue;
            }
            own = take_register(&r->shelf[f], f ? m->m_free : m->v_free, i);
            if (own < 0)
                return false;
            raise_to(least, r->shelf[f].free_at[own]);
            r->shelf[f].last[own] = last_reader(b, i, file, o->value);
            r->now[f][o->value] = own;
            o->value = own;
        }
    return true;
}

/* scalars keep their registers */
static void await_scalars(const struct renaming *r, const struct isa_op *op, int *least)
{
    struct depend_regs regs;

    depend_regs_read(op, &regs);
    for (int k = 0; k < ISA_SREG_COUNT; k++) {
        if (regs.s_read >> k & 1)
            raise_to(least, r->s_ready[k]);
        if (regs.s_write >> k & 1)
            raise_to(least, r->s_free[k]);
    }
}

/* `before`: the operation with its virtual registers */
static void note_op(struct renaming *r, const struct isa_op *before, const struct isa_op *op,
                    int bundle)
{
    const struct isa_info *info = isa_info(op->code);
    struct depend_regs regs;

    for (int k = 0; k < op->operand_count; k++) {
        enum isa_state file = isa_role_file(info->role[k]);
        int f = file == STATE_M;

        if (op->operand[k].kind != OPERAND_REG || (file != STATE_V && file != STATE_M))
            continue;
        raise_to(&r->shelf[f].free_at[op->operand[k].value], bundle + 1);
        if (is_written(info->role[k]))
            r->ready[f][before->operand[k].value] = bundle + 1;
    }
    depend_regs_read(op, &regs);
    for (int k = 0; k < ISA_SREG_COUNT; k++) {
        if (regs.s_write >> k & 1)
            r->s_ready[k] = bundle + 1;
        if ((regs.s_read | regs.s_write) >> k & 1)
            raise_to(&r->s_free[k], bundle + 1);
    }
}

/* ----- slots */

static int *used_of(struct seam *m, int bundle)
{
    m->used = mem_grow(m->used, &m->used_capacity, (size_t)bundle + 1, sizeof(*m->used));
    return m->used[bundle];
}

static bool fits(struct seam *m, int bundle, const int *more)
{
    int ops[SLOT_COUNT], all = 0;

    memcpy(ops, used_of(m, bundle), sizeof(ops));
    for (int k = 0; k < SLOT_COUNT; k++) {
        ops[k] += more[k];
        all += ops[k];
    }
    return all <= ISA_BUNDLE_OP_MAX && isa_slots_fit(&m->slots, ops);
}

static void put(struct seam *m, const struct isa_op *op, int bundle)
{
    used_of(m, bundle)[isa_info(op->code)->slot]++;
    MEM_ADD(m->item, m->count, m->capacity) = (struct placed){*op, bundle, (int)m->count};
    if (bundle >= m->bundle_count)
        m->bundle_count = bundle + 1;
}

static bool put_fitting(struct seam *m, const struct isa_op *op, int bundle)
{
    int more[SLOT_COUNT] = {0};

    more[isa_info(op->code)->slot] = 1;
    if (!fits(m, bundle, more))
        return false;
    put(m, op, bundle);
    return true;
}

/* ----- accesses that meet */

static const struct isa_operand *address_of(const struct isa_op *op)
{
    return &op->operand[isa_info(op->code)->unit == UNIT_LOAD ? 1 : 0];
}

static bool is_access(const struct isa_op *op)
{
    return isa_info(op->code)->unit == UNIT_LOAD || isa_info(op->code)->unit == UNIT_STORE;
}

struct rows { int base; int64_t first, end; };  /* of what the base is at the loops' begin */

/* base: the step's number, -1 of rows that are known, -2 of another register */
static struct rows rows_of(const struct modulo_ends *e, const struct modulo_item *x, int64_t rounds)
{
    const struct isa_operand *address = address_of(&x->op);
    int64_t stride = address[2].kind == OPERAND_IMM ? address[2].value : 0, first;

    first = address[1].kind == OPERAND_IMM ? address[1].value : 0;
    if (x->step >= 0)
        first += rounds * e->step[x->step].step;
    return (struct rows){x->step >= 0 ? x->step : address[0].kind == OPERAND_REG ? -2 : -1, first,
                         first + ROWS * (stride > 1 ? stride : 1)};
}

static bool may_meet(const struct modulo_item *x, const struct rows *a, const struct modulo_item *y,
                     const struct rows *b)
{
    if (a->base == b->base && a->base != -2)
        return a->first < b->end && b->first < a->end;
    return x->region == y->region || x->region < 0 || y->region < 0;
}

/* what the first loop reads or writes and the second writes, or the other way round, stays in order */
static bool keeps_accesses_in_order(const struct seam *m)
{
    for (int i = 0; i < m->end.post_count; i++) {
        const struct modulo_item *x = &m->end.post[i];
        struct rows a;

        if (!is_access(&x->op))
            continue;
        a = rows_of(&m->end, x, m->end.done);
        for (int k = 0; k < m->begin.pre_count; k++) {
            const struct modulo_item *y = &m->begin.pre[k];
            struct rows b;

            if (!is_access(&y->op) || m->begin_at + y->bundle > x->bundle ||
                (isa_info(x->op.code)->unit == UNIT_LOAD && isa_info(y->op.code)->unit == UNIT_LOAD))
                continue;
            b = rows_of(&m->begin, y, 0);
            if (may_meet(x, &a, y, &b))
                return false;
        }
    }
    return true;
}

/* ----- scalars that the code between sets, beside bases */

static bool keeps_scalar(const struct seam *m, int sreg, int bundle)
{
    for (int i = 0; i < m->end.post_count; i++) {
        struct depend_regs r;

        depend_regs_read(&m->end.post[i].op, &r);
        if ((r.s_read | r.s_write) >> sreg & 1 && m->end.post[i].bundle >= bundle)
            return false;
    }
    for (int i = 0; i < m->begin.pre_count; i++) {
        struct depend_regs r;

        depend_regs_read(&m->begin.pre[i].op, &r);
        if ((r.s_read | r.s_write) >> sreg & 1 &&
            m->begin_at + m->begin.pre[i].bundle <= bundle)
            return false;
    }
    return true;
}

static bool keeps_scalars(const struct seam *m, const struct isa_op *op, int bundle)
{
    struct depend_regs r;

    depend_regs_read(op, &r);
    for (int k = 0; k < ISA_SREG_COUNT; k++)
        if (r.s_write >> k & 1 && !keeps_scalar(m, k, bundle))
            return false;
    return r.p_write == 0;
}

/* ----- laying one over the other */

/* both loops' bundles; the second one's bases are where the first has left them */
static bool put_loops(struct seam *m)
{
    for (int i = 0; i < m->end.post_count; i++)
        put(m, &m->end.post[i].op, m->end.post[i].bundle);
    for (int i = 0; i < m->begin.pre_count; i++) {
        struct modulo_item x = m->begin.pre[i];

        if (x.step >= 0) {
            struct isa_operand *offset =
                &x.op.operand[isa_info(x.op.code)->unit == UNIT_LOAD ? 2 : 1];

            offset->value -= (int32_t)(m->end.done * m->begin.step[x.step].step);
        }
        if (!put_fitting(m, &x.op, m->begin_at + x.bundle))
            return false;
    }
    if (m->bundle_count < m->begin_at + m->begin.pre_bundles)
        m->bundle_count = m->begin_at + m->begin.pre_bundles;
    return true;
}

/* by unit and staging register: the bundle in which the second loop takes its weights out */
static int latched_at(const struct seam *m, int unit, int staging)
{
    int at = -1;

    for (int i = 0; i < m->begin.pre_count; i++) {
        const struct modulo_item *x = &m->begin.pre[i];
        struct matrix_op o = matrix_op_of_isa(&x->op);

        if (o.kind == MATRIX_MULTIPLY && x->op.unit_index == unit && o.staging == staging &&
            (at < 0 || x->bundle < at))
            at = x->bundle;
    }
    return at < 0 ? INT32_MAX : m->begin_at + at;
}

/* the operation in the first bundle from `least` on that has room */
static int find_room(struct seam *m, const struct isa_op *op, int least)
{
    int more[SLOT_COUNT] = {0}, at = least;

    more[isa_info(op->code)->slot] = 1;
    while (at < m->bundle_count && !fits(m, at, more))
        at++;
    return at;
}

static bool put_weight_push(struct seam *m, struct renaming *r, const struct isa_op *op, int at)
{
    struct matrix_op o = matrix_op_of_isa(op);

    r->port[op->unit_index] = at + schedule_weight_push_cycles(m->chip, op);
    return o.kind != MATRIX_PUSH ||
           latched_at(m, op->unit_index, o.staging) >= r->port[op->unit_index];
}

static bool put_op_between(struct seam *m, const struct vcode_block *b, size_t i, struct renaming *r)
{
    struct isa_op op;
    int at = 0;

    if (is_dropped(m, &b->op[i].op))
        return true;
    if (!rename_op(m, b, i, r, &op, &at))
        return false;
    await_scalars(r, &op, &at);
    if (schedule_is_weight_push(&op))
        raise_to(&at, r->port[op.unit_index]);
    at = find_room(m, &op, at);
    if (!keeps_scalars(m, &op, at) ||
        (schedule_is_weight_push(&op) && !put_weight_push(m, r, &op, at)))
        return false;
    put(m, &op, at);
    note_op(r, &b->op[i].op, &op, at);
    return true;
}

static bool put_between(struct seam *m)
{
    struct renaming r = {.port = {0}};
    const int count[2] = {m->c->vreg_count, m->c->mask_count};

    for (int f = 0; f < 2; f++) {
        r.now[f] = arena_array(&m->trial, (size_t)count[f] + 1, sizeof(int));
        r.ready[f] = arena_array(&m->trial, (size_t)count[f] + 1, sizeof(int));
    }
    for (int k = m->first->block + 1; k < m->second->block; k++) {
        const struct vcode_block *b = &m->c->block[k];

        for (int f = 0; f < 2; f++)
            memset(r.shelf[f].last, 0, sizeof(r.shelf[f].last));
        for (size_t i = 0; i < b->op_count && !b->is_latch; i++)
            if (!put_op_between(m, b, i, &r))
                return false;
    }
    return true;
}

/* behind all of it bases stand where the second loop begins, as its kernel counts on */
static void set_back_bases(struct seam *m)
{
    for (int k = 0; k < m->begin.step_count; k++) {
        const struct modulo_step *s = &m->begin.step[k];
        struct isa_op op = isa_sadd(s->sreg, R(s->sreg), I(-m->end.done * s->step));
        int at = m->bundle_count - 1;

        if (!put_fitting(m, &op, at))
            put(m, &op, at + 1);
    }
}

static bool lay_over(struct seam *m, int iis)
{
    const struct modulo_result *r = m->second->result;
    int64_t rounds = rounds_of(m, m->first);

    m->second->phase = (int)((m->first->phase + rounds + iis) % r->unroll);
    m->begin_at = iis * r->ii;
    m->count = 0;
    m->bundle_count = m->end.post_bundles;
    if (m->used)
        memset(m->used, 0, m->used_capacity * sizeof(*m->used));
    arena_fini(&m->trial);
    if (!write_again(m->second, &m->body[1], m->second->phase, &m->trial, &m->program, &m->begin) ||
        !keeps_accesses_in_order(m) || !put_loops(m) || !put_between(m))
        return false;
    set_back_bases(m);
    return true;
}

/* ----- the program */

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int slot_x = (int)isa_info(x->op.code)->slot, slot_y = (int)isa_info(y->op.code)->slot;

    if (x->bundle != y->bundle)
        return x->bundle < y->bundle ? -1 : 1;
    if (slot_x != slot_y)
        return slot_x < slot_y ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* the seam in place of the second loop's prologue */
static void take_program(struct seam *m, struct isa_program *out)
{
    const struct isa_program *p = &m->program;
    uint32_t skipped = (uint32_t)m->begin.pre_bundles, first = (uint32_t)m->bundle_count;
    uint32_t rest = p->bundle_count - skipped, ops = 0;

    for (uint32_t i = 0; i < skipped; i++)
        ops += p->bundle[i].op_count;
    qsort(m->item, m->count, sizeof(*m->item), compare_placed);
    *out = (struct isa_program){
        .name = "loop", .op_count = (uint32_t)m->count + p->op_count - ops,
        .bundle_count = first + rest};
    out->op = arena_array(m->a, out->op_count + 1, sizeof(*out->op));
    out->bundle = arena_array(m->a, out->bundle_count + 1, sizeof(*out->bundle));
    for (size_t i = 0; i < m->count; i++) {
        struct isa_bundle *b = &out->bundle[m->item[i].bundle];

        if (!b->op_count)
            b->first_op = (uint32_t)i;
        b->op_count++;
        out->op[i] = m->item[i].op;
    }
    for (uint32_t i = 0; i < rest; i++) {
        out->bundle[first + i] = p->bundle[skipped + i];
        if (p->bundle[skipped + i].op_count)
            out->bundle[first + i].first_op += (uint32_t)m->count - ops;
    }
    for (uint32_t i = ops; i < p->op_count; i++) {
        struct isa_op *op = &out->op[m->count + i - ops];

        *op = p->op[i];
        if (op->code == OP_SBR)
            op->operand[0].value += (int32_t)first - (int32_t)skipped;
    }
}

bool seam_join(const struct vcode *c, const struct seam_loop *first, struct seam_loop *second,
               const struct chip *chip, struct arena *a, struct isa_program *out)
{
    struct seam m = {.c = c, .chip = chip, .first = first, .second = second, .a = a};
    struct isa_program unused;
    bool is_joined = false;

    chip_slots(chip, &m.slots);
    arena_init(&m.trial);
    if (is_alike(&m) && may_go_between(&m) && look_again(&m, first, &m.body[0]) &&
        look_again(&m, second, &m.body[1]) &&
        write_again(first, &m.body[0], first->phase, a, &unused, &m.end) &&
        write_again(second, &m.body[1], 0, &m.trial, &m.program, &m.begin) && find_bases(&m) &&
        !reads_what_is_stored(&m, m.end.post, m.end.post_count) &&
        !reads_what_is_stored(&m, m.begin.pre, m.begin.pre_count)) {
        find_free(&m);
        for (int iis = 0; iis < IIS_MAX && !is_joined &&
                          iis * second->result->ii < m.end.post_bundles; iis++)
            is_joined = lay_over(&m, iis);
    }
    if (is_joined) {
        take_program(&m, out);
        second->post_first = m.bundle_count + m.begin.kernel_bundles;
    }
    for (int i = 0; i < 2; i++)
        modulo_body_fini(&m.body[i]);
    arena_fini(&m.trial);
    mem_free(m.used);
    mem_free(m.item);
    return is_joined;
}
