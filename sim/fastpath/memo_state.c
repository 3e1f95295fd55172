/*
 * Everything that the times of the next bundles depend on, as one list of
 * words: times relative to now, those that have passed as 0, and what units
 * and FIFOs hold. Two visits with the same words go on alike.
 *
 * A field of struct core that sim/core/core_run.c or sim/core/timing*.c come to read
 * must be listed here.
 */
#include "sim/fastpath/memo.h"
#include "sim/core/timing.h"

#include "base/arena.h"

#include <assert.h>
#include <string.h>

/* either notes every time of a core in an anchor, or shifts those that still matter */
struct visitor {
    bool is_shift;
    cycle_t now, shift;
    struct memo_anchor *anchor;
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* make_room has been there */
ALWAYS_INLINE void put(struct memo_anchor *a, int64_t word)
{
    a->word[a->word_count++] = word;
}

/* a time that counts until `t + ahead` */
ALWAYS_INLINE void visit_ahead(const struct visitor *v, cycle_t *t, cycle_t ahead)
{
    cycle_t left = *t + ahead - v->now;

    if (!v->is_shift)
        put(v->anchor, left > 0 ? left : 0);
    else if (left > 0)
        *t += v->shift;
}

ALWAYS_INLINE void visit(const struct visitor *v, cycle_t *t)
{
    visit_ahead(v, t, 0);
}

ALWAYS_INLINE void visit_fifo(const struct visitor *v, struct fifo *f)
{
    for (uint32_t i = f->popped; i != f->pushed; i++)
        visit(v, &f->ready_at[i & f->mask]);
}

ALWAYS_INLINE void visit_mxu(const struct visitor *v, struct mxu *x, int64_t accumulators)
{
    visit(v, &x->array_free_at);
    visit(v, &x->port_free_at);
    visit(v, &x->staged_at[0]);
    visit(v, &x->staged_at[1]);
    visit_fifo(v, &x->result);
    for (int i = 0; i < accumulators; i++) {
        if (!x->accumulator[i].has_sum)
            continue;
        visit(v, &x->accumulator[i].ready_at[0]);
        visit(v, &x->accumulator[i].ready_at[1]);
    }
}

ALWAYS_INLINE void visit_times(const struct visitor *v, struct core *c)
{
    for (int i = 0; i < REG_COUNT; i++)
        visit(v, &c->ready_at[i]);
    for (int i = 0; i < track_count(c->chip); i++)
        visit(v, &c->busy_until[i]);
    visit(v, &c->delay_until);
    visit(v, &c->dma_issue_at);
    visit(v, &c->eup_free_at);
    visit(v, &c->cmem_free_at);
    visit_ahead(v, &c->last_store_at, c->chip->vmem_store_to_load_cycles);
    visit_ahead(v, &c->last_sst_at, c->chip->scalar_sld_cycles);
    visit_fifo(v, &c->eup);
    visit_fifo(v, &c->crf);
    visit_fifo(v, &c->v2s);
    visit_fifo(v, &c->drf);
    for (int i = 0; i < c->chip->xlu_count; i++) {
        visit(v, &c->xlu[i].free_at);
        visit(v, &c->xlu[i].next_xpose_at);
        visit_fifo(v, &c->xlu[i].result);
    }
    for (int i = 0; i < c->chip->mxu_count; i++)
        visit_mxu(v, &c->mxu[i], c->chip->mxu_accumulators);
}

/* for every word that could be put */
static void make_room(struct memo_anchor *a, const struct core *c)
{
    size_t most = 64 + REG_COUNT + MACHINE_UNIT_MAX + 3 * STORE_RING
                  + 2 * (c->eup.depth + c->crf.depth + c->v2s.depth + c->drf.depth);

    for (int i = 0; i < c->chip->xlu_count; i++)
        most += 8 + 2 * c->xlu[i].result.depth;
    for (int i = 0; i < c->chip->mxu_count; i++)
        most += 16 + 2 * c->mxu[i].result.depth + 3 * (size_t)c->chip->mxu_accumulators;
    a->word = mem_grow(a->word, &a->word_capacity, most, sizeof(*a->word));
    a->word_count = 0;
}

static void put_fifo(struct memo_anchor *a, const struct fifo *f)
{
    put(a, f->pushed - f->popped);
    for (uint32_t i = f->popped; i != f->pushed; i++)
        put(a, f->code[i & f->mask]);
}

static void put_prepared(struct memo_anchor *a, const struct prepared *p)
{
    put(a, p->is_full ? 1 + 2 * (int)p->type + (p->takes_type_of_push ? 1 : 0) : 0);
}

static void put_accumulator(struct memo_anchor *a, const struct accumulator *k)
{
    put(a, k->has_sum ? 1 + 2 * k->popped + (k->is_integer ? 1 : 0) : 0);
}

static void put_mxu(struct memo_anchor *a, const struct mxu *x, int64_t accumulators)
{
    put_fifo(a, &x->result);
    put_prepared(a, &x->weights_prepared);
    put_prepared(a, &x->rows_prepared);
    for (int i = 0; i < 2; i++) {
        put(a, x->staged[i]);
        put(a, x->gain_loaded[i]);
    }
    for (int i = 0; i < accumulators; i++)
        put_accumulator(a, &x->accumulator[i]);
}

static void put_contents(struct memo_anchor *a, const struct core *c)
{
    for (int i = 0; i < ISA_PRED_COUNT; i++)
        put(a, c->p[i]);
    put(a, c->trace_mask);
    put_fifo(a, &c->eup);
    put_fifo(a, &c->crf);
    put(a, c->v2s.pushed - c->v2s.popped);
    put(a, c->drf.pushed - c->drf.popped);
    for (int i = 0; i < c->chip->xlu_count; i++) {
        put_fifo(a, &c->xlu[i].result);
        put(a, c->xlu[i].is_open ? 1 + c->xlu[i].type : 0);
        put(a, c->xlu[i].pushed_rows);
    }
    for (int i = 0; i < c->chip->mxu_count; i++)
        put_mxu(a, &c->mxu[i], c->chip->mxu_accumulators);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15u;
}

uint64_t memo_occupancy(const struct core *c)
{
    uint64_t hash = 0, word;

    for (int i = 0; i < 16; i += 8) {       /* p15 holds always */
        memcpy(&word, c->p + i, 8);
        hash = mix(hash, word);
    }
    hash = mix(hash, (uint64_t)(c->eup.pushed - c->eup.popped) << 32
                     | (c->crf.pushed - c->crf.popped));
    for (int i = 0; i < c->chip->xlu_count; i++)
        hash = mix(hash, c->xlu[i].result.pushed - c->xlu[i].result.popped);
    for (int i = 0; i < c->chip->mxu_count; i++)
        hash = mix(hash, c->mxu[i].result.pushed - c->mxu[i].result.popped);
    return hash;
}

static int memo_recent_stores(const struct core *c)
{
    cycle_t gap = c->chip->vmem_store_to_load_cycles;
    int count = 0;

    while (count < STORE_RING && (uint32_t)count < c->store_count
           && memo_recent_store(c, count)->at + gap > c->now)
        count++;
    return count;
}

const struct store_record *memo_recent_store(const struct core *c, int i)
{
    return &c->store[(c->store_count - 1 - (uint32_t)i) % STORE_RING];
}

/* where they are is apart: it may move */
static void put_stores(struct memo_anchor *a, const struct core *c)
{
    a->store_count = memo_recent_stores(c);
    put(a, a->store_count);
    for (int i = 0; i < a->store_count; i++) {
        const struct store_record *s = memo_recent_store(c, i);

        a->store_first[i] = s->rows.first;
        put(a, s->at - c->now);
        put(a, s->rows.stride);
        put(a, (int64_t)s->rows.sublanes << 1 | (s->rows.is_scattered ? 1 : 0));
    }
}

static void note_bundles(struct memo_anchor *a, const struct core *c, uint32_t first,
                         uint32_t last)
{
    a->first = first;
    a->last = last;
    a->bundle_stall = mem_grow(a->bundle_stall, &a->bundle_capacity, last - first + 1,
                               sizeof(*a->bundle_stall));
    memcpy(a->bundle_stall, c->bundle_stall + first,
           (last - first + 1) * sizeof(*a->bundle_stall));
}

void memo_free_anchor(struct memo_anchor *a)
{
    if (!a)
        return;
    mem_free(a->word);
    mem_free(a->bundle_stall);
    mem_free(a);
}

/* what is held comes first: it says which times there are */
void memo_take_anchor(struct memo_anchor *a, struct core *c, uint32_t first, uint32_t last)
{
    const struct visitor v = {.is_shift = false, .now = c->now, .anchor = a};

    a->now = c->now;
    a->sequence = c->sequence;
    a->last_sst_at = c->last_sst_at;
    memcpy(a->s, c->s, sizeof(a->s));
    memcpy(a->stall_cycles, c->stall_cycles, sizeof(a->stall_cycles));
    memcpy(a->waiting_cycles, c->waiting_cycles, sizeof(a->waiting_cycles));
    memcpy(a->busy_cycles, c->busy_cycles, sizeof(a->busy_cycles));
    a->cmem_read_bytes = c->cmem_read_bytes;
    note_bundles(a, c, first, last);
    make_room(a, c);
    put_contents(a, c);
    put_stores(a, c);
    visit_times(&v, c);
    assert(a->word_count <= a->word_capacity);
}

void memo_shift_times(struct core *c, cycle_t cycles)
{
    const struct visitor v = {.is_shift = true, .now = c->now, .shift = cycles};
    int stores = memo_recent_stores(c);

    for (int i = 0; i < stores; i++)
        c->store[(c->store_count - 1 - (uint32_t)i) % STORE_RING].at += cycles;
    timing_note_all_stores(c);
    visit_times(&v, c);
    c->now += cycles;
    c->issue_at += cycles;
}
