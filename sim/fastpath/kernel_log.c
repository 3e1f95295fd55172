/*
 * Follows each run of a kernel in a simulated launch, and decides whether it depends on its own
 * HBM alone.
 */
#include "sim/fastpath/kernel_log.h"

#include "sim/fastpath/origins.h"

#include <string.h>

#define RUNS_MAX (1 << 20)              /* per core */
#define EFFECTS_MAX (1 << 16)           /* per core */
#define RANGES_MAX 256                  /* that a kernel reads, and that it writes, */
#define RANGES_BETWEEN_MAX 1024         /* and while it has not yet filled all gaps */

/* Other copies than the kernel's: what they touch of its core's memories. */
struct others {
    struct ranges read, written;        /* HBM */
    bool reach_smem;
};

/* The run that has been entered last. */
struct kernel_under_way {
    const struct decoded_kernel *kernel;        /* NULL: none, or it has been judged */
    uint32_t number;                    /* its */
    struct kernel_run run;
    struct ranges read, written;
    bool is_local;                      /* all its copies are ones that may be left out */
    uint32_t copies, answers, done, done_in_time;
    int64_t smem_pieces;
    struct others fresh, inside;        /* since the last answer; before answers of the kernel */
    uint32_t *last;                     /* by kernel: 1 + its last effect; 0: none so far */
    uint32_t last_count;
};

static void others_clear(struct others *o)
{
    o->read.count = o->written.count = 0;
    o->reach_smem = false;
}

static void others_fini(struct others *o)
{
    ranges_fini(&o->read);
    ranges_fini(&o->written);
}

static void drop_effects(struct kernel_log *l)
{
    for (size_t i = 0; i < l->effect_count; i++)
        mem_free(l->effect[i].range);
    l->effect_count = 0;
}

void kernel_log_begin(struct kernel_log *l, const struct decoded_program *p)
{
    struct kernel_under_way *now = l->now;

    drop_effects(l);
    l->run_count = 0;
    l->is_lost = !p || p->kernel_count == 0;
    if (l->is_lost)
        return;
    if (!now)
        now = l->now = mem_alloc(sizeof(*now));
    others_clear(&now->fresh);
    others_clear(&now->inside);
    now->kernel = NULL;
    mem_free(now->last);
    now->last_count = p->kernel_count;
    now->last = mem_alloc(now->last_count * sizeof(*now->last));
}

void kernel_log_fini(struct kernel_log *l)
{
    drop_effects(l);
    mem_free(l->run);
    mem_free(l->effect);
    if (l->now) {
        ranges_fini(&l->now->read);
        ranges_fini(&l->now->written);
        others_fini(&l->now->fresh);
        others_fini(&l->now->inside);
        mem_free(l->now->last);
    }
    mem_free(l->now);
    *l = (struct kernel_log){.run = NULL};
}

static bool overlap(const struct ranges *a, const struct ranges *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (ranges_find(b, a->item[i].first, a->item[i].end))
            return true;
    return false;
}

static bool stands_alone(const struct kernel_under_way *now)
{
    return now->is_local && now->copies > 0 && now->answers > 0
           && now->done_in_time == now->copies && now->read.count <= RANGES_MAX
           && now->written.count <= RANGES_MAX && !now->inside.reach_smem
           && !overlap(&now->inside.written, &now->read)
           && !overlap(&now->inside.written, &now->written)
           && !overlap(&now->inside.read, &now->written);
}

bool kernel_effect_equal(const struct kernel_effect *a, const struct kernel_effect *b)
{
    return a->kernel == b->kernel && a->reads == b->reads && a->writes == b->writes
           && a->copies == b->copies && a->answers == b->answers
           && a->smem_pieces == b->smem_pieces
           && memcmp(a->range, b->range, (a->reads + a->writes) * sizeof(*a->range)) == 0;
}

int64_t kernel_effect_bytes(const struct kernel_effect *e)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < e->reads + e->writes; i++)
        bytes += e->range[i].end - e->range[i].first;
    return bytes;
}

/* the same kernel mostly does the same again */
static uint32_t effect_of(struct kernel_log *l, uint32_t number)
{
    const struct kernel_under_way *now = l->now;
    uint32_t *last = &l->now->last[number];
    struct kernel_effect e = {.kernel = number, .reads = (uint32_t)now->read.count,
                              .writes = (uint32_t)now->written.count, .copies = now->copies,
                              .answers = now->answers, .smem_pieces = now->smem_pieces};

    e.range = mem_alloc((e.reads + e.writes + 1) * sizeof(*e.range));
    if (e.reads)
        memcpy(e.range, now->read.item, e.reads * sizeof(*e.range));
    if (e.writes)
        memcpy(e.range + e.reads, now->written.item, e.writes * sizeof(*e.range));
    if (*last && kernel_effect_equal(&l->effect[*last - 1], &e)) {
        mem_free(e.range);
        return *last - 1;
    }
    MEM_ADD(l->effect, l->effect_count, l->effect_capacity) = e;
    *last = (uint32_t)l->effect_count;
    l->is_lost |= l->effect_count > EFFECTS_MAX;
    return *last - 1;
}

/* the kernel under way, if there is one, is over */
static void judge(struct kernel_log *l)
{
    struct kernel_under_way *now = l->now;

    if (!now->kernel)
        return;
    if (stands_alone(now))
        now->run.effect = effect_of(l, now->number);
    l->is_lost |= l->run_count == RUNS_MAX;
    MEM_ADD(l->run, l->run_count, l->run_capacity) = now->run;
    now->kernel = NULL;
}

void kernel_log_end(struct kernel_log *l)
{
    if (!l->is_lost)
        judge(l);
}

void kernel_log_enter(struct kernel_log *l, const struct core *c,
                      const struct decoded_kernel *kernel, uint32_t answers)
{
    struct kernel_under_way *now = l->now;

    if (l->is_lost)
        return;
    judge(l);
    if (!kernel || !kernel->is_alone || l->is_lost)
        return;
    now->kernel = kernel;
    now->number = (uint32_t)(kernel - c->program->kernel);
    now->run = (struct kernel_run){NO_EFFECT, c->dma_issued, answers,
                                   c->origins ? origins_arrivals(c->origins) : 0};
    now->read.count = now->written.count = 0;
    now->is_local = true;
    now->copies = now->answers = now->done = now->done_in_time = 0;
    now->smem_pieces = 0;
    others_clear(&now->inside);
}

/* bundles behind a kernel are not its own, up to the next marker */
static bool is_inside(struct kernel_log *l, const struct core *c)
{
    struct kernel_under_way *now = l->now;

    if (now->kernel && (c->pc < now->kernel->first || c->pc >= now->kernel->end))
        judge(l);
    return now->kernel != NULL;
}

static bool may_be_left_out(const struct dma *d)
{
    return !d->is_remote && d->source_space <= SPACE_SMEM && d->destination_space <= SPACE_SMEM;
}

/* false: too many ranges */
static bool note_side(struct ranges *r, const struct dma *d, bool is_destination)
{
    struct dma_piece piece;
    int64_t done;

    for (done = 0; done < d->bytes && r->count <= RANGES_BETWEEN_MAX; done += piece.bytes) {
        piece = dma_piece(d, is_destination, done, d->bytes - done);
        ranges_add(r, piece.address, piece.address + piece.bytes);
    }
    return done >= d->bytes;
}

/* as sim/fastpath/origins.c counts them */
static int64_t pieces_of(const struct dma *d)
{
    struct dma_piece from, to;
    int64_t done, count = 0;

    for (done = 0; done < d->bytes; done += to.bytes, count++) {
        from = dma_piece(d, false, done, d->bytes - done);
        to = dma_piece(d, true, done, from.bytes);
    }
    return count;
}

void kernel_log_issue(struct kernel_log *l, const struct core *c, const struct dma *d)
{
    struct kernel_under_way *now = l->now;

    if (l->is_lost || !is_inside(l, c))
        return;
    now->copies++;
    now->is_local = now->is_local && may_be_left_out(d);
    if (!now->is_local)
        return;
    if (d->source_space == SPACE_HBM)
        now->is_local = note_side(&now->read, d, false);
    if (d->destination_space == SPACE_HBM)
        now->is_local = now->is_local && note_side(&now->written, d, true);
    if (d->destination_space == SPACE_SMEM)
        now->smem_pieces += pieces_of(d);
}

static void add_all(struct ranges *to, const struct ranges *from)
{
    for (size_t i = 0; i < from->count; i++)
        ranges_add(to, from->item[i].first, from->item[i].end);
}

void kernel_log_answer(struct kernel_log *l, const struct core *c)
{
    struct kernel_under_way *now = l->now;

    if (l->is_lost)
        return;
    if (is_inside(l, c)) {
        now->answers++;
        now->done_in_time = now->done;
        add_all(&now->inside.read, &now->fresh.read);
        add_all(&now->inside.written, &now->fresh.written);
        now->inside.reach_smem |= now->fresh.reach_smem;
    }
    others_clear(&now->fresh);
}

/* from the lowest byte of a side to the highest */
static void note_hull(struct ranges *r, const struct dma *d, bool is_destination)
{
    int64_t first = is_destination ? d->destination : d->source, end = first + d->run_bytes;

    for (int i = 0; i < DMA_LEVEL_MAX; i++) {
        const struct dma_level *level = &d->level[i];
        int64_t reach = (level->count - 1)
                        * (is_destination ? level->destination_stride : level->source_stride);

        *(reach < 0 ? &first : &end) += reach;
    }
    ranges_add(r, first, end);
}

void kernel_log_done(struct kernel_log *l, int from, int to, const struct dma *d)
{
    struct kernel_under_way *now = l->now;

    if (l->is_lost)
        return;
    if (now->kernel && from == to && d->number >= now->run.first_copy) {
        now->done++;
        return;
    }
    if (!d->is_remote && d->source_space == SPACE_HBM)
        note_hull(&now->fresh.read, d, false);
    if (d->destination_space == SPACE_HBM)
        note_hull(&now->fresh.written, d, true);
    now->fresh.reach_smem |= d->destination_space == SPACE_SMEM;
}
