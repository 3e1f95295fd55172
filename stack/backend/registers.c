/*
 * Physical registers of a scheduled block: a scan over its bundles.
 *
 * A register is taken from the bundle that writes it to the last one that
 * reads it; that last bundle may already write another value into it, because
 * all reads of a bundle come first. In straight-line code the least free
 * register always does: the registers needed are exactly the values alive at
 * once, which the schedule was chosen for.
 */
#include "stack/backend/backend.h"

#include <assert.h>

/* Bundles in which each register of one file is written first and used last. */
struct life {
    int *first, *last;
};

static struct life new_life(struct arena *a, int count)
{
    struct life l = {arena_array(a, (size_t)count, sizeof(int)),
                     arena_array(a, (size_t)count, sizeof(int))};

    for (int i = 0; i < count; i++)
        l.first[i] = l.last[i] = -1;
    return l;
}

static void mark_life(struct life *l, const int *read, int read_count, int write, int bundle)
{
    for (int i = 0; i < read_count; i++)
        if (l->last[read[i]] < bundle)
            l->last[read[i]] = bundle;
    if (write < 0)
        return;
    if (l->first[write] < 0 || bundle < l->first[write])
        l->first[write] = bundle;
    if (l->last[write] < bundle + 1)
        l->last[write] = bundle + 1;    /* even a result nobody reads needs a place */
}

static void block_lives(const struct code_block *b, const struct schedule *s, struct life *v,
                        struct life *m)
{
    *v = new_life(b->arena, b->v_count);
    *m = new_life(b->arena, b->m_count);
    for (int i = 0; i < b->op_count; i++) {
        const struct depend_regs *r = &b->regs[i];

        mark_life(v, r->v_read, r->v_read_count, r->v_write, s->bundle[i]);
        mark_life(m, r->m_read, r->m_read_count, r->m_write, s->bundle[i]);
    }
}

static int peak_of(const struct life *l, int count, const int *fixed, const struct schedule *s,
                   struct arena *a)
{
    int *change = arena_array(a, (size_t)s->bundle_count + 2, sizeof(int));
    int live = 0, peak = 0;

    for (int i = 0; i < count; i++) {
        if (l->first[i] < 0 || (fixed && fixed[i] >= 0))
            continue;
        change[l->first[i]]++;
        change[l->last[i]]--;
    }
    for (int t = 0; t <= s->bundle_count; t++) {
        live += change[t];
        peak = live > peak ? live : peak;
    }
    return peak;
}

int registers_peak(const struct code_block *b, const struct schedule *s, int *m_peak)
{
    struct life v, m;

    block_lives(b, s, &v, &m);
    *m_peak = peak_of(&m, b->m_count, NULL, s, b->arena);
    return peak_of(&v, b->v_count, b->v_fixed, s, b->arena);
}

/* Registers by the bundle in which something begins or ends, as linked lists. */
static void chain_by_bundle(const int *bundle, int count, int bundle_count, int *head, int *next)
{
    for (int t = 0; t <= bundle_count + 1; t++)
        head[t] = -1;
    for (int i = count - 1; i >= 0; i--)
        if (bundle[i] >= 0) {
            next[i] = head[bundle[i]];
            head[bundle[i]] = i;
        }
}

static int *assign_file(const struct life *l, int count, const int *fixed, uint64_t available,
                        const struct schedule *s, struct arena *a)
{
    size_t head_count = (size_t)s->bundle_count + 2;
    int *physical = arena_array(a, (size_t)count, sizeof(int));
    int *begin = arena_array(a, head_count, sizeof(int));
    int *end = arena_array(a, head_count, sizeof(int));
    int *next_begin = arena_array(a, (size_t)count, sizeof(int));
    int *next_end = arena_array(a, (size_t)count, sizeof(int));

    chain_by_bundle(l->first, count, s->bundle_count, begin, next_begin);
    chain_by_bundle(l->last, count, s->bundle_count, end, next_end);
    for (int t = 0; t < s->bundle_count; t++) {
        for (int i = end[t]; i >= 0; i = next_end[i])
            if (!(fixed && fixed[i] >= 0))
                available |= 1ull << physical[i];
        for (int i = begin[t]; i >= 0; i = next_begin[i]) {
            if (fixed && fixed[i] >= 0)
                continue;
            assert(available);
            physical[i] = __builtin_ctzll(available);
            available &= available - 1;
        }
    }
    for (int i = 0; fixed && i < count; i++)
        if (fixed[i] >= 0)
            physical[i] = fixed[i];
    return physical;
}

void registers_assign(struct code_block *b, const struct schedule *s)
{
    struct life v, m;
    int *v_physical, *m_physical;

    block_lives(b, s, &v, &m);
    v_physical = assign_file(&v, b->v_count, b->v_fixed, b->v_free, s, b->arena);
    m_physical = assign_file(&m, b->m_count, NULL, (1u << ISA_MASK_COUNT) - 1, s, b->arena);
    for (int i = 0; i < b->op_count; i++) {
        struct isa_op *op = &b->op[i].op;
        const struct isa_info *info = isa_info(op->code);

        for (int k = 0; k < op->operand_count; k++) {
            char role = info->role[k];

            if (op->operand[k].kind != OPERAND_REG)
                continue;
            if (role == 'd' || role == 'v' || role == 'V')
                op->operand[k].value = v_physical[op->operand[k].value];
            else if (role == 'm' || role == 'n' || role == 'N')
                op->operand[k].value = m_physical[op->operand[k].value];
        }
    }
}
