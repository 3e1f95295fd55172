/*
 * Chains through cross-lane, transcendental and matrix units, in an order in which they overlap.
 *
 * Such units answer in the order in which they are asked, so a block keeps that of its source there. One
 * that has a row tile's maximum, exponentials, sum and product behind each other, then the next row
 * tile's, waits for each answer with nothing else to do. Here operations are sorted by batch + stage:
 * while some row tiles are at their second answer, the next ones are at their first. An operation's stage
 * is how many answers stand before it on its way; a batch has `width` first questions. The order of
 * everything else that depends on each other stays.
 */
#include "stack/backend/depend.h"

#include <string.h>

struct interleave {
    const struct code_block *b;
    struct depend_fifo_use *use;        /* DEPEND_FIFO_COUNT */
    int count, *key;                    /* by operation */
    int *fifo;                          /* that it pushes to or pops from, -1 */
    int *pushed_by;                     /* the push whose answer it pops, -1 */
};

static int larger(int a, int b) { return a > b ? a : b; }

/* each push has one answer, of which the sorted order is that of the pushes again */
static bool may_interleave(const struct depend_fifo_use *u, int fifo)
{
    if (fifo < DEPEND_FIFO_XLU || fifo > DEPEND_FIFO_EUP)
        return false;
    for (int i = 0; i < u->push_count; i++)
        if (u->push_results[i] != 1)
            return false;
    return true;
}

static void note_fifos(struct interleave *s)
{
    for (int i = 0; i < s->count; i++)
        s->fifo[i] = s->pushed_by[i] = -1;
    for (int f = 0; f < DEPEND_FIFO_COUNT; f++) {
        for (int i = 0; i < s->use[f].push_count; i++)
            s->fifo[s->use[f].push[i]] = f;
        for (int i = 0; i < s->use[f].pop_count; i++) {
            s->fifo[s->use[f].pop[i]] = f;
            s->pushed_by[s->use[f].pop[i]] = s->use[f].pushed_by[i];
        }
    }
}

/* in source order, each operation behind what it waits for; false: an answer would change places */
static bool find_keys(struct interleave *s, const struct depend *d, int width)
{
    int last[DEPEND_FIFO_COUNT] = {0}, firsts = 0;
    int *stage = arena_array(s->b->arena, (size_t)s->count + 1, sizeof(int));
    bool is_kept[DEPEND_FIFO_COUNT];

    memset(s->key, 0, (size_t)s->count * sizeof(int));
    for (int f = 0; f < DEPEND_FIFO_COUNT; f++)
        is_kept[f] = !may_interleave(&s->use[f], f);
    for (int i = 0; i < s->count; i++) {
        int f = s->fifo[i], step = s->pushed_by[i] >= 0;

        if (step && !is_kept[f]) {
            if (s->key[i] > s->key[s->pushed_by[i]])
                return false;
            s->key[i] = s->key[s->pushed_by[i]];
        } else {
            s->key[i] = larger(s->key[i], firsts / width + stage[i]);
        }
        if (f >= 0 && is_kept[f])
            s->key[i] = last[f] = larger(s->key[i], last[f]);
        firsts += f >= 0 && !step && stage[i] == 0;
        for (int k = d->first_edge[i]; k >= 0; k = d->edge[k].next) {
            int to = d->edge[k].to;

            s->key[to] = larger(s->key[to], s->key[i] + step);
            stage[to] = larger(stage[to], stage[i] + step);
        }
    }
    return firsts > width;
}

static void sort(const struct interleave *s, struct code_block *out)
{
    int most = 0, *first, n = s->count;

    for (int i = 0; i < n; i++)
        most = larger(most, s->key[i]);
    first = arena_array(s->b->arena, (size_t)most + 2, sizeof(int));
    for (int i = 0; i < n; i++)
        first[s->key[i] + 1]++;
    for (int k = 0; k < most; k++)
        first[k + 1] += first[k];
    for (int i = 0; i < n; i++) {
        int at = first[s->key[i]]++;

        out->op[at] = s->b->op[i];
        out->regs[at] = s->b->regs[i];
    }
}

static bool keys_of(struct interleave *s, const struct chip *chip, int width)
{
    struct err e;
    struct depend d;
    bool is_fine;

    depend_init(&d, s->b);
    depend_registers(&d, s->b, chip);
    depend_memory(&d, s->b, chip);
    is_fine = !depend_fifos(&d, s->b, chip, s->use, s->b->op_count, &e);
    if (is_fine) {
        note_fifos(s);
        is_fine = find_keys(s, &d, width);
    }
    depend_fini(&d);
    return is_fine;
}

bool interleave_chains(const struct code_block *b, int tail, int width, const struct chip *chip,
                       struct code_block *out)
{
    struct depend_fifo_use use[DEPEND_FIFO_COUNT];
    size_t n = (size_t)b->op_count + 1;
    struct interleave s = {.b = b, .use = use, .count = b->op_count - tail};

    s.key = arena_array(b->arena, n, sizeof(int));
    s.fifo = arena_array(b->arena, n, sizeof(int));
    s.pushed_by = arena_array(b->arena, n, sizeof(int));
    if (!keys_of(&s, chip, width))
        return false;
    *out = *b;
    out->op = arena_copy(b->arena, b->op, n - 1, sizeof(*b->op));
    out->regs = arena_copy(b->arena, b->regs, n - 1, sizeof(*b->regs));
    sort(&s, out);
    return true;
}
