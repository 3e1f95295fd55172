/*
 * The body of a loop as a graph over rounds.
 *
 * The body is written down twice, virtual registers of the second copy under
 * new names, and looked at as a straight block: what the first copy's
 * operations are to each other is an edge of distance 0, what they are to the
 * second copy's one of distance 1. Pinned, scalar and predicate registers keep
 * their names in both, so that carried values and the reuse of a register show
 * as such edges. Two things are added here: accesses that meet after more than
 * one round, by the steps of their addresses, and the order at FIFOs.
 */
#include "stack/backend/modulo.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"

#define ROWS 8
#define UNIT_COUNT (2 * DEPEND_FIFO_COUNT + ISA_UNIT_MAX)  /* FIFOs by push, by pop, ports */
#define ROUNDS_APART_MAX 512            /* rounds that may be under way together */

static void modulo_edge_add(struct modulo_body *l, int from, int to, int delay, int distance)
{
    struct modulo_edge *e;

    l->edge = mem_grow(l->edge, &l->edge_capacity, l->edge_count + 1, sizeof(*l->edge));
    e = &l->edge[l->edge_count];
    *e = (struct modulo_edge){from, to, delay, distance, l->first_out[from], l->first_in[to]};
    l->first_out[from] = l->first_in[to] = (int)l->edge_count++;
}

static bool is_access(const struct isa_op *op)
{
    return isa_touches(op->code) & ISA_VMEM && isa_info(op->code)->slot != SLOT_DMA;
}

static const struct isa_operand *address_of(const struct isa_op *op)
{
    return &op->operand[isa_info(op->code)->unit == UNIT_LOAD ? 1 : 0];
}

static bool is_base_of_access(const struct isa_op *op, int sreg)
{
    const struct isa_operand *address = is_access(op) ? address_of(op) : NULL;

    if (!address || address[0].kind != OPERAND_REG || address[0].value != sreg ||
        address[1].kind != OPERAND_IMM)
        return false;
    for (int k = 0; k < op->operand_count; k++)
        if (&op->operand[k] != address && op->operand[k].kind == OPERAND_REG &&
            op->operand[k].value == sreg && isa_role_file(isa_info(op->code)->role[k]) == STATE_S)
            return false;
    return true;
}

/* an offset can make up for the step where the register is a base of loads and stores alone */
static bool can_correct(const struct code_block *b, int step, int body_end)
{
    int sreg = b->op[step].op.operand[0].value;
    uint32_t bit = 1u << sreg;

    for (int i = 0; i < b->op_count; i++) {
        if (i == step)
            continue;
        if (b->regs[i].s_write & bit)
            return false;
        if (b->regs[i].s_read & bit && (i >= body_end || !is_base_of_access(&b->op[i].op, sreg)))
            return false;
    }
    return true;
}

/* nothing may overlap with those; the DRF and CRF fifos have no order kept here */
static bool may_overlap_rounds(const struct code_block *b, int counter)
{
    for (int i = 0; i < b->op_count; i++) {
        enum isa_opcode code = (enum isa_opcode)b->op[i].op.code;

        if (op_is_outside(code) || isa_touches(code) & (ISA_DRF | ISA_CRF))
            return false;
        if ((b->regs[i].p_read | b->regs[i].p_write) & 1 ||
            (b->regs[i].s_read | b->regs[i].s_write) >> counter & 1)
            return false;
    }
    return true;
}

/* keep[]: operations of the body, then steps that are ordinary operations; then the others */
static int sort_steps(struct modulo_body *l, const struct code_block *b, int step_count, int *order)
{
    int body_end = b->op_count - step_count, count = 0, corrected = b->op_count;

    for (int i = 0; i < b->op_count; i++) {
        if (i < body_end || !can_correct(b, i, body_end)) {
            order[count++] = i;
            continue;
        }
        order[--corrected] = i;
        l->step[l->step_count++] = (struct modulo_step){b->op[i].op.operand[0].value,
                                                        b->op[i].op.operand[2].value};
    }
    return count;
}

static void rename_virtual(struct isa_op *op, const int *v_fixed, int v_add, int m_add)
{
    const struct isa_info *info = isa_info(op->code);

    for (int k = 0; k < op->operand_count; k++) {
        struct isa_operand *o = &op->operand[k];

        if (o->kind != OPERAND_REG)
            continue;
        if (isa_role_file(info->role[k]) == STATE_V && v_fixed[o->value] < 0)
            o->value += v_add;
        else if (isa_role_file(info->role[k]) == STATE_M)
            o->value += m_add;
    }
}

/* both copies, one after the other, each with its steps behind it */
static void write_twice(struct code_block *two, const struct code_block *b, const int *order,
                        struct arena *a)
{
    int n = b->op_count;

    *two = *b;
    two->arena = a;
    two->branch_tail_cycles = 0;
    two->op = arena_array(a, (size_t)n * 2, sizeof(*two->op));
    two->regs = arena_array(a, (size_t)n * 2, sizeof(*two->regs));
    two->v_fixed = arena_array(a, (size_t)b->v_count * 2 + 1, sizeof(int));
    two->op_count = 2 * n;
    two->v_count = 2 * b->v_count;
    two->m_count = 2 * b->m_count;
    for (int v = 0; v < b->v_count; v++)
        two->v_fixed[v] = two->v_fixed[v + b->v_count] = b->v_fixed[v];
    for (int i = 0; i < 2 * n; i++) {
        two->op[i] = b->op[order[i % n]];
        if (i >= n)
            rename_virtual(&two->op[i].op, b->v_fixed, b->v_count, b->m_count);
        depend_regs_read(&two->op[i].op, &two->regs[i]);
    }
}

static void take_edges(struct modulo_body *l, const struct depend *d, int n, int copy)
{
    for (int i = 0; i < n; i++)
        for (int k = d->first_edge[i]; k >= 0; k = d->edge[k].next) {
            int to = d->edge[k].to;

            if (to % copy < n)
                modulo_edge_add(l, i, to % copy, d->edge[k].delay, to / copy);
        }
}

/* rows of an access relative to its base */
static int rows_of(const struct isa_op *op, int64_t row[ROWS])
{
    const struct isa_operand *address = address_of(op);
    int count = 0;

    for (int k = 0; k < ROWS; k++)
        if (address[3].value >> k & 1)
            row[count++] = address[1].value + (int64_t)k * address[2].value;
    return count;
}

/* the least number of rounds, 2 or more, after which y touches a row that x touches; 0: none */
static int rounds_to_meet(const struct isa_op *x, const struct isa_op *y, int64_t step)
{
    int64_t rows_x[ROWS], rows_y[ROWS], least = 0;
    int x_count = rows_of(x, rows_x), y_count = rows_of(y, rows_y);

    for (int i = 0; i < x_count; i++)
        for (int k = 0; k < y_count; k++) {
            int64_t apart = rows_x[i] - rows_y[k], rounds = apart / step;

            if (apart % step == 0 && rounds >= 2 && (!least || rounds < least))
                least = rounds;
        }
    return least <= ROUNDS_APART_MAX ? (int)least : 0;
}

static bool is_store(const struct isa_op *op)
{
    return isa_info(op->code)->unit == UNIT_STORE;
}

/* an address that changes from round to round in a way that offsets do not tell */
static bool is_wandering(const struct modulo_body *l, uint32_t s_written, int i)
{
    const struct isa_operand *address = address_of(&l->block->op[i].op);

    return (address[0].kind == OPERAND_REG && s_written >> address[0].value & 1) ||
           (address[1].kind == OPERAND_REG && s_written >> address[1].value & 1);
}

static void add_distant_edge(struct modulo_body *l, uint32_t s_written, int i, int k)
{
    const struct vcode_op *x = &l->block->op[i], *y = &l->block->op[k];
    int delay = is_store(&x->op) && !is_store(&y->op) ? (int)l->chip->vmem_store_to_load_cycles : 1;
    int rounds = 0;

    if (x->region != y->region || (!is_store(&x->op) && !is_store(&y->op)))
        return;
    if (is_wandering(l, s_written, i) || is_wandering(l, s_written, k))
        rounds = 1;
    else if (l->step_of[i] >= 0 && l->step_of[i] == l->step_of[k] &&
             l->step[l->step_of[i]].step)
        rounds = rounds_to_meet(&x->op, &y->op, l->step[l->step_of[i]].step);
    if (rounds)
        modulo_edge_add(l, i, k, delay, rounds);
}

static void add_distant_edges(struct modulo_body *l)
{
    uint32_t s_written = 0;

    for (int i = 0; i < l->block->op_count; i++)
        s_written |= l->block->regs[i].s_write;
    for (int i = 0; i < l->block->op_count; i++)
        for (int k = 0; k < l->block->op_count && is_access(&l->block->op[i].op); k++)
            if (is_access(&l->block->op[k].op))
                add_distant_edge(l, s_written, i, k);
}

/* pops take results in the order of pushes, one result each, and no transpose is among them */
static bool can_interleave(const struct depend_fifo_use *u, int number)
{
    if (number < DEPEND_FIFO_XLU || number == DEPEND_FIFO_V2S || u->pop_count != u->push_count)
        return false;
    for (int i = 0; i < u->push_count; i++)
        if (u->push_results[i] != 1 || u->pushed_by[i] != u->push[i])
            return false;
    return true;
}

/* a push waits for the pop that makes room for its last result, as a rule of a round before */
static void add_room_edge(struct modulo_body *l, const struct depend_fifo_use *u, int push,
                          int results)
{
    int pop = results - u->depth - 1, rounds = 0;

    for (; pop < 0; pop += u->pop_count)
        rounds++;
    for (; pop >= u->pop_count; pop -= u->pop_count)
        rounds--;
    modulo_edge_add(l, u->pop[pop], push, 1, rounds);
}

static void keep_order(struct modulo_body *l, const struct depend_fifo_use *u)
{
    int results = 0;

    for (int i = 0; i < u->push_count; i++) {
        int next = (i + 1) % u->push_count;

        modulo_edge_add(l, u->push[i], u->push[next], u->push_cycles[i], next <= i);
        results += u->push_results[i];
        if (u->push_results[i])
            add_room_edge(l, u, u->push[i], results);
    }
    for (int i = 0; i < u->pop_count; i++)
        modulo_edge_add(l, u->pop[i], u->pop[(i + 1) % u->pop_count], 1,
                        i + 1 == u->pop_count);
}

static void add_fifo(struct modulo_body *l, const struct depend_fifo_use *u, int number)
{
    struct modulo_fifo *f = &l->fifo[l->fifo_count];

    for (int i = 0; i < u->push_count; i++)
        l->use[u->push[i]] = (struct modulo_use){number, u->push_cycles[i]};
    for (int i = 0; i < u->pop_count; i++)
        l->use[u->pop[i]] = (struct modulo_use){DEPEND_FIFO_COUNT + number, 1};
    if (!can_interleave(u, number)) {
        keep_order(l, u);
        return;
    }
    *f = (struct modulo_fifo){.depth = u->depth, .count = u->push_count, .push = u->push,
                              .pop = u->pop};
    for (int i = 0; i < u->push_count; i++) {
        l->fifo_of[u->push[i]] = l->fifo_of[u->pop[i]] = l->fifo_count;
        l->result_of[u->push[i]] = l->result_of[u->pop[i]] = i;
    }
    l->fifo_count++;
}

/*
 * An accumulator is named by its operations: it must be popped before the next round adds to it.
 * Those that take turns are others in the next round (modulo_assign.c).
 */
static void add_accumulators(struct modulo_body *l)
{
    const struct code_block *b = l->block;

    for (int i = 0; i < b->op_count; i++) {
        if (b->op[i].op.code != OP_VPOP_MRB || b->accumulators[b->op[i].op.unit_index])
            continue;
        for (int k = 0; k < b->op_count; k++)
            if ((b->op[k].op.code == OP_VMATMUL_ACC || b->op[k].op.code == OP_VMATMUL_ACC_MSK) &&
                b->op[k].op.unit_index == b->op[i].op.unit_index)
                modulo_edge_add(l, i, k, 1, 1);
    }
}

static void add_weight_ports(struct modulo_body *l)
{
    for (int i = 0; i < l->block->op_count; i++) {
        const struct isa_op *op = &l->block->op[i].op;

        if (schedule_is_weight_push(op))
            l->use[i] = (struct modulo_use){2 * DEPEND_FIFO_COUNT + op->unit_index,
                                            schedule_weight_push_cycles(l->chip, op)};
    }
}

/* slots of `ii` bundles together */
static bool slots_fit(const struct chip *chip, const int *ops, int ii)
{
    struct isa_slots slots;
    int all = 0;

    chip_slots(chip, &slots);
    slots.misc_load *= ii;
    slots.misc_store *= ii;
    for (int k = 0; k < SLOT_COUNT; k++) {
        slots.count[k] *= ii;
        all += ops[k];
    }
    return all <= ISA_BUNDLE_OP_MAX * ii && isa_slots_fit(&slots, ops);
}

/* numbers without gaps */
static void number_units(struct modulo_body *l)
{
    int number[UNIT_COUNT] = {0};

    for (int i = 0; i < l->block->op_count; i++) {
        int *unit = &l->use[i].unit;

        if (*unit < 0)
            continue;
        if (!number[*unit])
            number[*unit] = ++l->unit_count;
        *unit = number[*unit] - 1;
    }
}

static int unit_mii(const struct modulo_body *l)
{
    int busy[UNIT_COUNT] = {0}, least = 1;

    for (int i = 0; i < l->block->op_count; i++)
        if (l->use[i].unit >= 0)
            busy[l->use[i].unit] += l->use[i].busy;
    for (int u = 0; u < l->unit_count; u++)
        least = busy[u] > least ? busy[u] : least;
    return least;
}

/* cycles that results are at least in the FIFO, over its depth */
static int fifo_mii(const struct modulo_body *l)
{
    int least = 1;

    for (int f = 0; f < l->fifo_count; f++) {
        int64_t cycles = 0;

        for (int i = 0; i < l->fifo[f].count; i++) {
            int delay = 0;

            for (int k = l->first_out[l->fifo[f].push[i]]; k >= 0; k = l->edge[k].next_out)
                if (l->edge[k].to == l->fifo[f].pop[i] && l->edge[k].delay > delay)
                    delay = l->edge[k].delay;
            cycles += delay + 1;
        }
        cycles = div_up(cycles, l->fifo[f].depth);
        least = cycles > least ? (int)cycles : least;
    }
    return least;
}

static void find_res_mii(struct modulo_body *l)
{
    int ops[SLOT_COUNT] = {0}, units = unit_mii(l), depths = fifo_mii(l);

    for (int i = 0; i < l->block->op_count; i++)
        ops[isa_info(l->block->op[i].op.code)->slot]++;
    l->res_mii = units > depths ? units : depths;
    while (!slots_fit(l->chip, ops, l->res_mii))
        l->res_mii++;
}

static void init_arrays(struct modulo_body *l, int n, struct arena *a)
{
    l->first_out = arena_array(a, (size_t)n, sizeof(int));
    l->first_in = arena_array(a, (size_t)n, sizeof(int));
    l->step_of = arena_array(a, (size_t)n, sizeof(int));
    l->use = arena_array(a, (size_t)n, sizeof(*l->use));
    l->fifo_of = arena_array(a, (size_t)n, sizeof(int));
    l->result_of = arena_array(a, (size_t)n, sizeof(int));
    for (int i = 0; i < n; i++) {
        l->first_out[i] = l->first_in[i] = l->step_of[i] = -1;
        l->fifo_of[i] = l->result_of[i] = l->use[i].unit = -1;
    }
}

/* the body without the steps that offsets make up for */
static void take_body(struct modulo_body *l, const struct code_block *two,
                      const struct code_block *b,
                      int n, struct arena *a)
{
    l->block = arena_alloc(a, sizeof(*l->block));
    *l->block = *two;
    l->block->op_count = n;
    l->block->v_count = b->v_count;
    l->block->m_count = b->m_count;
    init_arrays(l, n, a);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < l->step_count; k++)
            if (l->block->regs[i].s_read >> l->step[k].sreg & 1)
                l->step_of[i] = k;
}

bool modulo_body_init(struct modulo_body *l, const struct code_block *b, int step_count,
                      int counter, int64_t count, const struct chip *chip, struct arena *a)
{
    int *order = arena_array(a, (size_t)b->op_count + 1, sizeof(int));
    struct depend_fifo_use use[DEPEND_FIFO_COUNT];
    struct code_block two;
    struct depend d;
    struct err e;
    bool is_fine;
    int n;

    *l = (struct modulo_body){.chip = chip, .counter = counter, .count = count};
    if (!may_overlap_rounds(b, counter))
        return false;
    n = sort_steps(l, b, step_count, order);
    write_twice(&two, b, order, a);
    take_body(l, &two, b, n, a);
    depend_init(&d, &two);
    depend_registers(&d, &two, chip);
    depend_memory(&d, &two, chip);
    is_fine = n > 0 && !depend_fifos(&d, &two, chip, use, n, &e);
    if (is_fine) {
        take_edges(l, &d, n, b->op_count);
        add_distant_edges(l);
        add_weight_ports(l);
        for (int f = 0; f < DEPEND_FIFO_COUNT; f++)
            if (use[f].push_count)
                add_fifo(l, &use[f], f);
        add_accumulators(l);
        number_units(l);
        find_res_mii(l);
    }
    depend_fini(&d);
    return is_fine;
}

void modulo_body_fini(struct modulo_body *l)
{
    mem_free(l->edge);
    l->edge = NULL;
}
