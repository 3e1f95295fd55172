/*
 * Races between devices, whatever the order in which they happened to run.
 *
 * Each device counts its own time, and knows of the others' as much as semaphores have told it: who
 * raises one passes on what it knows, who waits for it learns that. A copy to another device's memory
 * is a race where that device has used the memory at a time of which the sender does not know.
 * (Vector clocks, as in Lamport's and Fidge's papers; of uses the last one is kept, as FastTrack does.)
 */
#include "stack/mosaic/watch_impl.h"

void watch_use(const struct mosaic_run *r, const struct mosaic_buffer *b, int64_t word)
{
    if (b->marks.used)
        b->marks.used[word] = r->clock[r->number];
}

void watch_use_all(const struct mosaic_run *r, const struct mosaic_view *v)
{
    int64_t index[MOSAIC_RANK_MAX] = {0};

    if (!v->buffer->marks.used)
        return;
    do
        watch_use(r, v->buffer, v->offset + mosaic_at(index, v->stride, v->rank));
    while (mosaic_next(index, v->dim, v->rank));
}

void watch_reach(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_view *to,
                 const struct mosaic_run *there)
{
    const uint32_t *used = to->buffer->marks.used;
    int64_t index[MOSAIC_RANK_MAX] = {0};

    if (!used)
        return;
    do
        if (used[to->offset + mosaic_at(index, to->stride, to->rank)] > r->clock[there->number]) {
            watch_found(r, MOSAIC_RACE, op, "it writes memory of device %d, which uses it: no "
                        "semaphore has told device %d that it is free", there->s->device,
                        r->s->device);
            return;
        }
    while (mosaic_next(index, to->dim, to->rank));
}

void watch_tell(struct mosaic_run *r, const struct mosaic_buffer *semaphore, int64_t word)
{
    int count = team_count(r);
    uint32_t *told = semaphore->marks.told;

    for (int i = 0; told && i < count; i++)
        if (told[word * count + i] < r->clock[i])
            told[word * count + i] = r->clock[i];
    if (told)
        r->clock[r->number]++;
}

void watch_learn(struct mosaic_run *r, const struct mosaic_buffer *semaphore, int64_t word)
{
    int count = team_count(r);
    const uint32_t *told = semaphore->marks.told;

    for (int i = 0; told && i < count; i++)
        if (r->clock[i] < told[word * count + i])
            r->clock[i] = told[word * count + i];
}
