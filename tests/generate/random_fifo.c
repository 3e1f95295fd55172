/* What waits in FIFOs: a pop takes what an earlier bundle pushed, under the same guard. */
#include "tests/generate/random_maker.h"

#include "tests/test.h"

void fifo_setup(struct maker *m)
{
    const struct chip *c = m->chip;

    m->fifo[FIFO_EUP].depth = (int)c->eup_fifo_depth;
    m->fifo[FIFO_CRF].depth = (int)c->cmem_fifo_depth;
    m->fifo[FIFO_V2S].depth = (int)c->scalar_v2s_depth;
    m->fifo[FIFO_DRF].depth = (int)c->scalar_div_depth;
    for (int i = 0; i < ISA_UNIT_MAX; i++) {
        m->fifo[FIFO_XLU + i].depth = i < c->xlu_count ? (int)c->xlu_fifo_depth : 0;
        m->fifo[FIFO_RESULT + i].depth =
            i < c->mxu_count && !c->mxu_accumulators ? (int)c->mxu_fifo_depth : 0;
        m->fifo[FIFO_WEIGHTS + i].depth = m->fifo[FIFO_ROWS + i].depth =
            i < c->mxu_count && chip_mxu_halves(c) > 1;
    }
    for (int i = 0; i < FIFO_COUNT; i++)
        assert_true(m->fifo[i].depth <= (int)COUNT_OF(m->fifo[i].entry));
}

bool fifo_takes(const struct maker *m, int fifo, int kind, uint8_t guard, int count)
{
    const struct ref_fifo *f = &m->fifo[fifo];

    if (f->rule == FIFO_FROZEN || f->count + count > f->depth)
        return false;
    return f->rule == FIFO_FREE || (f->entry[0].kind == kind && f->entry[0].guard == guard);
}

void fifo_push(struct maker *m, int fifo, int kind, uint8_t guard, int count)
{
    struct ref_fifo *f = &m->fifo[fifo];

    assert_true(fifo_takes(m, fifo, kind, guard, count));
    for (int i = 0; i < count; i++)
        f->entry[f->count++] = (struct queued){(uint16_t)kind, guard};
    f->fresh += count;
    pin(m, guard, count);
}

const struct queued *fifo_head(const struct maker *m, int fifo)
{
    const struct ref_fifo *f = &m->fifo[fifo];

    return f->rule != FIFO_FROZEN && f->count > f->fresh ? &f->entry[0] : NULL;
}

/* entry[0] stays when it is the last: a FIFO of one kind is told by it */
void fifo_pop(struct maker *m, int fifo)
{
    struct ref_fifo *f = &m->fifo[fifo];

    pin(m, f->entry[0].guard, -1);
    f->count--;
    if (f->count > 0)
        memmove(f->entry, f->entry + 1, (size_t)f->count * sizeof(f->entry[0]));
}

uint8_t fifo_guard(struct maker *m, int fifo)
{
    const struct ref_fifo *f = &m->fifo[fifo];

    return f->rule == FIFO_ONE_KIND ? f->entry[0].guard : lasting_guard(m);
}
