/*
 * Registers of a software-pipelined loop.
 *
 * A value may live longer than an II: then the next round needs another
 * register for it (modulo variable expansion). The kernel is unrolled over
 * `unroll` rounds, and the lives of all values of these rounds are arcs on a
 * circle of unroll x II bundles, which get registers by best fit: the
 * register that has been free for the shortest time.
 */
#include "stack/backend/modulo.h"

#include <string.h>

#include "base/units.h"

struct arc { int name, first, length; };        /* name: register * unroll + round */

struct lives { int *first, *last; };

struct file {
    int count;                          /* virtual registers */
    const int *fixed;                   /* pinned ones, or NULL */
    uint64_t available;
    struct lives lives;
};

static void note_use(struct lives *l, int name, int time, bool is_write)
{
    if (is_write && (l->first[name] < 0 || time < l->first[name]))
        l->first[name] = time;
    if (l->last[name] < time + is_write)
        l->last[name] = time + is_write;
}

static void find_lives(const struct modulo_body *l, const struct modulo_schedule *s,
                       struct file *v, struct file *m, struct arena *a)
{
    v->lives.first = arena_array(a, (size_t)v->count + 1, sizeof(int));
    v->lives.last = arena_array(a, (size_t)v->count + 1, sizeof(int));
    m->lives.first = arena_array(a, (size_t)m->count + 1, sizeof(int));
    m->lives.last = arena_array(a, (size_t)m->count + 1, sizeof(int));
    for (int i = 0; i < v->count; i++)
        v->lives.first[i] = v->lives.last[i] = -1;
    for (int i = 0; i < m->count; i++)
        m->lives.first[i] = m->lives.last[i] = -1;
    for (int i = 0; i < l->block->op_count; i++) {
        const struct depend_regs *r = &l->block->regs[i];

        for (int k = 0; k < r->v_read_count; k++)
            note_use(&v->lives, r->v_read[k], s->time[i], false);
        for (int k = 0; k < r->m_read_count; k++)
            note_use(&m->lives, r->m_read[k], s->time[i], false);
        if (r->v_write >= 0)
            note_use(&v->lives, r->v_write, s->time[i], true);
        if (r->m_write >= 0)
            note_use(&m->lives, r->m_write, s->time[i], true);
    }
}

static bool has_register(const struct file *f, int i)
{
    return f->lives.first[i] >= 0 && !(f->fixed && f->fixed[i] >= 0);
}

/* registers that all lives together take at least, per II; rounds the longest one spans */
static int64_t sum_lives(const struct file *f, int ii, int *longest)
{
    int64_t sum = 0;

    for (int i = 0; i < f->count; i++) {
        int length = f->lives.last[i] - f->lives.first[i];

        if (!has_register(f, i))
            continue;
        sum += length;
        if (div_up(length, ii) > *longest)
            *longest = (int)div_up(length, ii);
    }
    return div_up(sum, ii);
}

/* arcs in the order of their beginnings on the circle, by counting */
static int list_arcs(const struct file *f, int ii, int unroll, struct arc *arc, struct arena *a)
{
    int around = ii * unroll, count = 0;
    int *begin = arena_array(a, (size_t)around + 1, sizeof(int));

    for (int i = 0; i < f->count; i++)
        for (int r = 0; r < unroll && has_register(f, i); r++)
            begin[(f->lives.first[i] + r * ii) % around + 1]++;
    for (int t = 0; t < around; t++)
        begin[t + 1] += begin[t];
    for (int i = 0; i < f->count; i++)
        for (int r = 0; r < unroll && has_register(f, i); r++) {
            int first = (f->lives.first[i] + r * ii) % around;

            arc[begin[first]++] = (struct arc){i * unroll + r, first,
                                               f->lives.last[i] - f->lives.first[i]};
            count++;
        }
    return count;
}

/*
 * Registers while arcs are handed out in the order of their beginnings. Arcs
 * over the end of the circle came first, each with a register of its own: it
 * is taken up to `free_at` and again from `limit` on.
 */
struct shelf { int free_at[ISA_VREG_MAX], limit[ISA_VREG_MAX]; };

static int take_over_end(struct shelf *s, const struct arc *arc, int around, uint64_t available)
{
    for (int r = 0; r < ISA_VREG_MAX; r++)
        if (available >> r & 1 && s->limit[r] == around && arc->length <= around) {
            s->free_at[r] = arc->first + arc->length - around;
            s->limit[r] = arc->first;
            return r;
        }
    return -1;
}

/* the one that has been free for the shortest time */
static int take_best(struct shelf *s, const struct arc *arc, uint64_t available)
{
    int best = -1, end = arc->first + arc->length;

    for (int r = 0; r < ISA_VREG_MAX; r++)
        if (available >> r & 1 && s->free_at[r] <= arc->first && end <= s->limit[r] &&
            (best < 0 || s->free_at[r] > s->free_at[best]))
            best = r;
    if (best >= 0)
        s->free_at[best] = end;
    return best;
}

static bool take_registers(const struct file *f, const struct arc *arc, int count, int around,
                           int *number, uint64_t *named)
{
    struct shelf s;

    for (int r = 0; r < ISA_VREG_MAX; r++) {
        s.free_at[r] = 0;
        s.limit[r] = around;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            bool is_over_end = arc[i].first + arc[i].length > around;
            int r;

            if (is_over_end != (pass == 0))
                continue;
            r = is_over_end ? take_over_end(&s, &arc[i], around, f->available)
                            : take_best(&s, &arc[i], f->available);
            if (r < 0)
                return false;
            number[arc[i].name] = r;
            *named |= 1ull << r;
        }
    return true;
}

static int *assign_file(const struct file *f, int ii, int unroll, int *used, struct arena *a)
{
    int around = ii * unroll;
    size_t most = (size_t)(f->count * unroll) + 1;
    struct arc *arc = arena_array(a, most, sizeof(*arc));
    int *number = arena_array(a, most, sizeof(int));
    int count = list_arcs(f, ii, unroll, arc, a);
    uint64_t named = 0;

    if (!take_registers(f, arc, count, around, number, &named))
        return NULL;
    for (int i = 0; i < f->count * unroll; i++)
        if (f->fixed && f->fixed[i / unroll] >= 0)
            number[i] = f->fixed[i / unroll];
    *used = __builtin_popcountll(named);
    return number;
}

/* rounds that have accumulators of their own at a time: from a push until its results are popped */
static int accumulator_rounds(const struct modulo_body *l, const struct modulo_schedule *s)
{
    int most = 1;

    for (int i = 0; i < l->block->op_count; i++) {
        int push = accumulators_push(l->block, i);
        int rounds = push < 0 ? 1 : (int)div_up(s->time[i] + 1 - s->time[push], s->ii);

        if (rounds > most)
            most = rounds;
    }
    return most;
}

static bool has_accumulators(const struct modulo_body *l, int rounds)
{
    for (int unit = 0; unit < ISA_UNIT_MAX; unit++)
        if (l->block->accumulators[unit] * (int64_t)rounds > l->chip->mxu_accumulators)
            return false;
    return true;
}

int modulo_least_unroll(const struct modulo_body *l, const struct modulo_schedule *s,
                        struct arena *a)
{
    struct file v = {.count = l->block->v_count, .fixed = l->block->v_fixed};
    struct file m = {.count = l->block->m_count};
    int control = (int)(l->chip->core_branch_delay_bundles + l->chip->scalar_cmp_cycles + 1);
    int least = (int)div_up(control, s->ii);

    find_lives(l, s, &v, &m, a);
    if (sum_lives(&v, s->ii, &least) > __builtin_popcountll(l->block->v_free) ||
        sum_lives(&m, s->ii, &least) > ISA_MASK_COUNT)
        return 0;
    if (accumulator_rounds(l, s) > least)
        least = accumulator_rounds(l, s);
    return has_accumulators(l, least) ? least : 0;
}

bool modulo_assign(const struct modulo_body *l, struct modulo_schedule *s, struct arena *a)
{
    const struct code_block *b = l->block;
    struct file v = {.count = b->v_count, .fixed = b->v_fixed, .available = b->v_free};
    struct file m = {.count = b->m_count, .available = (1u << ISA_MASK_COUNT) - 1};
    int m_used;

    if (!has_accumulators(l, s->unroll))
        return false;
    find_lives(l, s, &v, &m, a);
    s->v_register = assign_file(&v, s->ii, s->unroll, &s->v_used, a);
    s->m_register = s->v_register ? assign_file(&m, s->ii, s->unroll, &m_used, a) : NULL;
    return s->m_register != NULL;
}
