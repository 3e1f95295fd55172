/*
 * List scheduling of one block.
 *
 * The clock advances cycle by cycle (or to the next operation that becomes
 * ready); in each cycle the ready operations with the longest path behind them
 * are taken as long as their slots are free. When registers run short,
 * operations that need none go first and otherwise the oldest one in source
 * order, because kernels keep the pressure low in their own order.
 */
#include "stack/backend/backend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"

#define QUEUE_COUNT (SLOT_COUNT + ISA_UNIT_MAX) /* one per slot, one per staging port */
#define SCAN_MAX 32                             /* candidates looked at under pressure */

/* How far the scheduler may reach. */
struct schedule_reach {
    int window;                         /* operations beyond the oldest one not yet placed */
    int width;                          /* operations per bundle */
};

bool schedule_is_weight_push(const struct isa_op *op)
{
    return op->code == OP_VMATPUSH || op->code == OP_VMATPREP_SUBR;
}

int schedule_weight_push_cycles(const struct chip *chip, const struct isa_op *op)
{
    struct matrix_op m = matrix_op_of_isa(op);

    return chip_matrix_cycles(chip, &m);
}

/* A heap of keys, least first. */
struct heap {
    int64_t *key;
    int count;
};

static void heap_add(struct heap *h, int64_t key)
{
    int i = h->count++;

    for (; i > 0 && key < h->key[(i - 1) / 2]; i = (i - 1) / 2)
        h->key[i] = h->key[(i - 1) / 2];
    h->key[i] = key;
}

static int64_t heap_pop(struct heap *h)
{
    int64_t least = h->key[0], key = h->key[--h->count];
    int i = 0;

    for (;;) {
        int child = 2 * i + 1;

        if (child >= h->count)
            break;
        if (child + 1 < h->count && h->key[child + 1] < h->key[child])
            child++;
        if (key <= h->key[child])
            break;
        h->key[i] = h->key[child];
        i = child;
    }
    h->key[i] = key;
    return least;
}

/* Registers of one file, as far as the scheduler counts them. */
struct pressure {
    int live, limit;
    int *use_count;                     /* reads not yet scheduled */
    bool *is_live;
};

struct list {
    const struct code_block *b;
    const struct depend *d;
    const struct chip *chip;
    struct schedule *out;
    struct schedule_reach reach;
    int64_t now, port_free_at[ISA_UNIT_MAX];
    struct isa_slots slots;
    int slot_ops[SLOT_COUNT], width_left;      /* of the bundle being filled */
    int *rank, *op_of_rank;             /* order of priority */
    int64_t *ready_at;
    int *wait_count;
    bool *is_ready, *is_placed;
    struct heap ready[QUEUE_COUNT];     /* by rank */
    struct heap pending;                /* by (ready_at, op) */
    struct heap beyond;                 /* ready, but outside the window; by op */
    int oldest, placed_count;
    struct pressure v, m;
};

static int queue_of(const struct list *l, int i)
{
    const struct isa_op *op = &l->b->op[i].op;

    if (schedule_is_weight_push(op))
        return SLOT_COUNT + op->unit_index;
    return (int)isa_info(op->code)->slot;
}

static int compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* longest path first, then source order */
static void rank_ops(struct list *l)
{
    int count = l->b->op_count;
    int64_t *key = arena_array(l->b->arena, (size_t)count, sizeof(*key));

    for (int i = 0; i < count; i++)
        key[i] = ((int64_t)(INT32_MAX - l->d->height[i]) << 32) | i;
    qsort(key, (size_t)count, sizeof(*key), compare_keys);
    for (int k = 0; k < count; k++) {
        l->op_of_rank[k] = (int)(key[k] & INT32_MAX);
        l->rank[l->op_of_rank[k]] = k;
    }
}

static void init_pressure(struct pressure *p, struct arena *a, int register_count, int limit)
{
    p->use_count = arena_array(a, (size_t)register_count, sizeof(int));
    p->is_live = arena_array(a, (size_t)register_count, sizeof(bool));
    p->live = 0;
    p->limit = limit - (limit >= 16 ? limit / 8 : limit / 5);
}

static void init_list(struct list *l)
{
    const struct code_block *b = l->b;
    size_t count = (size_t)b->op_count;
    int queued[QUEUE_COUNT] = {0};

    l->rank = arena_array(b->arena, count, sizeof(int));
    l->op_of_rank = arena_array(b->arena, count, sizeof(int));
    l->ready_at = arena_array(b->arena, count, sizeof(int64_t));
    l->wait_count = arena_array(b->arena, count, sizeof(int));
    l->is_ready = arena_array(b->arena, count, sizeof(bool));
    l->is_placed = arena_array(b->arena, count, sizeof(bool));
    l->pending.key = arena_array(b->arena, count, sizeof(int64_t));
    l->beyond.key = arena_array(b->arena, count, sizeof(int64_t));
    init_pressure(&l->v, b->arena, b->v_count, __builtin_popcountll(b->v_free));
    init_pressure(&l->m, b->arena, b->m_count, ISA_MASK_COUNT);
    for (int i = 0; i < b->op_count; i++) {
        for (int k = 0; k < b->regs[i].v_read_count; k++)
            l->v.use_count[b->regs[i].v_read[k]]++;
        for (int k = 0; k < b->regs[i].m_read_count; k++)
            l->m.use_count[b->regs[i].m_read[k]]++;
        l->wait_count[i] = l->d->pred_count[i];
        queued[queue_of(l, i)]++;
    }
    for (int q = 0; q < QUEUE_COUNT; q++)
        l->ready[q].key = arena_array(b->arena, (size_t)queued[q], sizeof(int64_t));
    rank_ops(l);
    for (int i = 0; i < b->op_count; i++)
        if (!l->wait_count[i])
            heap_add(&l->pending, i);
}

/* registers that placing the operation takes (or gives back, if negative) */
static int net_of(const struct pressure *p, const int *read, int read_count, int write,
                  const int *fixed)
{
    int net = 0;

    if (write >= 0 && !p->is_live[write] && !(fixed && fixed[write] >= 0))
        net += p->use_count[write] > 0;
    for (int i = 0; i < read_count; i++)
        if (p->is_live[read[i]] && p->use_count[read[i]] == 1 && read[i] != write)
            net--;
    return net;
}

static bool has_registers(const struct list *l, int i)
{
    const struct depend_regs *r = &l->b->regs[i];
    int v = net_of(&l->v, r->v_read, r->v_read_count, r->v_write, l->b->v_fixed);
    int m = net_of(&l->m, r->m_read, r->m_read_count, r->m_write, NULL);

    return (v <= 0 || l->v.live + v <= l->v.limit) && (m <= 0 || l->m.live + m <= l->m.limit);
}

static void count_registers(struct pressure *p, const int *read, int read_count, int write,
                            const int *fixed)
{
    for (int i = 0; i < read_count; i++)
        if (--p->use_count[read[i]] == 0 && p->is_live[read[i]] && read[i] != write) {
            p->is_live[read[i]] = false;
            p->live--;
        }
    if (write < 0 || (fixed && fixed[write] >= 0))
        return;
    if (!p->is_live[write] && p->use_count[write] > 0) {
        p->is_live[write] = true;
        p->live++;
    } else if (p->is_live[write] && p->use_count[write] == 0) {
        p->is_live[write] = false;
        p->live--;
    }
}

static void make_ready(struct list *l, int i)
{
    if (i >= l->oldest + l->reach.window) {
        heap_add(&l->beyond, i);
        return;
    }
    l->is_ready[i] = true;
    heap_add(&l->ready[queue_of(l, i)], l->rank[i]);
}

static void advance_window(struct list *l)
{
    while (l->oldest < l->b->op_count && l->is_placed[l->oldest])
        l->oldest++;
    while (l->beyond.count && l->beyond.key[0] < l->oldest + l->reach.window)
        make_ready(l, (int)heap_pop(&l->beyond));
}

static void wake_ops(struct list *l)
{
    while (l->pending.count && l->pending.key[0] >> 32 <= l->now)
        make_ready(l, (int)(heap_pop(&l->pending) & INT32_MAX));
}

static bool is_queue_open(const struct list *l, int q)
{
    int slot = q < SLOT_COUNT ? q : SLOT_PUSH, ops[SLOT_COUNT];

    if (q >= SLOT_COUNT && l->port_free_at[q - SLOT_COUNT] > l->now)
        return false;
    memcpy(ops, l->slot_ops, sizeof(ops));
    ops[slot]++;
    return isa_slots_fit(&l->slots, ops);
}

/* best rank of the queue that has registers, or -1 */
static int best_of_queue(struct list *l, struct heap *h)
{
    int best = -1;

    while (h->count && l->is_placed[l->op_of_rank[h->key[0]]])
        heap_pop(h);
    for (int k = 0; k < h->count && k < SCAN_MAX; k++) {
        int rank = (int)h->key[k], i = l->op_of_rank[rank];

        if (l->is_placed[i] || (best >= 0 && rank > best) || !has_registers(l, i))
            continue;
        best = rank;
        if (k == 0)
            break;
    }
    return best;
}

static int pick(struct list *l)
{
    int best = -1;

    if (!l->width_left)
        return -1;
    for (int q = 0; q < QUEUE_COUNT; q++) {
        int rank = l->ready[q].count && is_queue_open(l, q) ? best_of_queue(l, &l->ready[q]) : -1;

        if (rank >= 0 && (best < 0 || rank < best))
            best = rank;
    }
    if (best >= 0)
        return l->op_of_rank[best];
    if (l->oldest < l->b->op_count && l->is_ready[l->oldest] &&
        is_queue_open(l, queue_of(l, l->oldest)))
        return l->oldest;
    return -1;
}

static void place(struct list *l, int i)
{
    const struct isa_op *op = &l->b->op[i].op;
    const struct depend_regs *r = &l->b->regs[i];

    l->out->bundle[i] = l->out->bundle_count;
    l->is_placed[i] = true;
    l->placed_count++;
    l->width_left--;
    l->slot_ops[isa_info(op->code)->slot]++;
    if (schedule_is_weight_push(op))
        l->port_free_at[op->unit_index] = l->now + schedule_weight_push_cycles(l->chip, op);
    count_registers(&l->v, r->v_read, r->v_read_count, r->v_write, l->b->v_fixed);
    count_registers(&l->m, r->m_read, r->m_read_count, r->m_write, NULL);
    for (int k = l->d->first_edge[i]; k >= 0; k = l->d->edge[k].next) {
        const struct depend_edge *edge = &l->d->edge[k];

        if (l->now + edge->delay > l->ready_at[edge->to])
            l->ready_at[edge->to] = l->now + edge->delay;
        if (--l->wait_count[edge->to] == 0)
            heap_add(&l->pending, (l->ready_at[edge->to] << 32) | edge->to);
    }
    advance_window(l);
    wake_ops(l);
}

static void fill_bundle(struct list *l)
{
    int before = l->placed_count, i;

    memset(l->slot_ops, 0, sizeof(l->slot_ops));
    l->width_left = l->reach.width;
    while ((i = pick(l)) >= 0)
        place(l, i);
    if (l->placed_count > before)
        l->out->bundle_count++;
}

static bool is_any_ready(const struct list *l)
{
    for (int q = 0; q < QUEUE_COUNT; q++)
        if (l->ready[q].count)
            return true;
    return false;
}

static void schedule_block(struct schedule *s, const struct code_block *b,
                           const struct depend *d, const struct chip *chip,
                           struct schedule_reach reach)
{
    struct list l = {.b = b, .d = d, .chip = chip, .out = s, .reach = reach};

    s->bundle = arena_array(b->arena, (size_t)b->op_count, sizeof(int));
    s->bundle_count = 0;
    chip_slots(chip, &l.slots);
    init_list(&l);
    while (l.placed_count < b->op_count) {
        wake_ops(&l);
        fill_bundle(&l);
        if (is_any_ready(&l) || !l.pending.count || l.pending.key[0] >> 32 <= l.now)
            l.now++;
        else
            l.now = l.pending.key[0] >> 32;
    }
    s->cycles = l.now;
}

/* no schedule is shorter than its longest path or its busiest slot or port */
static int64_t least_cycles(const struct code_block *b, const struct depend *d,
                            const struct chip *chip)
{
    const int64_t room[SLOT_COUNT] = {
        [SLOT_SCALAR] = chip->slots_scalar, [SLOT_VALU] = chip->slots_valu,
        [SLOT_EUP] = chip->slots_eup, [SLOT_LOAD] = chip->slots_load + chip->slots_misc_load,
        [SLOT_STORE] = chip->slots_store + chip->slots_misc_store,
        [SLOT_PUSH] = chip->slots_push, [SLOT_POP] = chip->slots_pop,
        [SLOT_MISC] = chip->slots_misc, [SLOT_DMA] = chip->slots_dma,
        [SLOT_CMEM] = chip->slots_cmem_load,
    };
    int64_t slot_ops[SLOT_COUNT] = {0}, port_cycles[ISA_UNIT_MAX] = {0}, least = 0;

    for (int i = 0; i < b->op_count; i++) {
        const struct isa_op *op = &b->op[i].op;
        enum isa_slot slot = isa_info(op->code)->slot;

        least = d->height[i] > least ? d->height[i] : least;
        slot_ops[slot]++;
        slot_ops[SLOT_VALU] += slot == SLOT_EUP;
        slot_ops[SLOT_MISC] += slot == SLOT_DMA ? chip->slots_dma_misc : 0;
        if (schedule_is_weight_push(op))
            port_cycles[op->unit_index] += schedule_weight_push_cycles(chip, op);
    }
    for (int k = 0; k < SLOT_COUNT; k++) {
        int64_t cycles = slot_ops[k] ? slot_ops[k] / room[k] : 0;  /* a chip may lack a slot */

        least = cycles > least ? cycles : least;
    }
    for (int k = 0; k < ISA_UNIT_MAX; k++)
        least = port_cycles[k] > least ? port_cycles[k] : least;
    return least;
}

void schedule_choose(struct schedule *s, const struct code_block *b, const struct depend *d,
                     const struct chip *chip)
{
    static const struct schedule_reach reach[] = {
        {INT32_MAX / 2, ISA_BUNDLE_OP_MAX}, {512, ISA_BUNDLE_OP_MAX}, {160, ISA_BUNDLE_OP_MAX},
        {48, ISA_BUNDLE_OP_MAX}, {16, ISA_BUNDLE_OP_MAX}, {1, ISA_BUNDLE_OP_MAX}, {1, 1},
    };
    int64_t least = least_cycles(b, d, chip);
    bool is_found = false;

    for (size_t i = 0; i < COUNT_OF(reach); i++) {
        struct schedule trial;
        int m_peak;

        if (is_found && (i + 1 == COUNT_OF(reach) ||
                         s->cycles <= least + least / 32 + 2))
            break;
        if (i && reach[i].window >= b->op_count)
            continue;
        schedule_block(&trial, b, d, chip, reach[i]);
        if (registers_peak(b, &trial, &m_peak) > __builtin_popcountll(b->v_free) ||
            m_peak > ISA_MASK_COUNT || (is_found && trial.cycles >= s->cycles))
            continue;
        *s = trial;
        is_found = true;
    }
    assert(is_found);                   /* source order fits: registers_spill */
}
