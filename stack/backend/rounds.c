/* Operations of rounds by number, placed by the bundler. */
#include "stack/backend/rounds.h"

#include <assert.h>

void rounds_init(struct rounds *r, struct bundler *b, int most, int64_t count, struct arena *a)
{
    *r = (struct rounds){.b = b, .most = most, .stages = 1, .end_stage = INT32_MAX, .count = count,
                         .stage = arena_array(a, (size_t)most, sizeof(int)),
                         .pushed_at = arena_array(a, (size_t)count, sizeof(int)),
                         .popped_at = arena_array(a, (size_t)count, sizeof(int))};
}

void rounds_open(struct rounds *r, const char *note, int ii)
{
    bundler_begin(r->b, note, ii);
    for (int64_t i = 0; i < r->count; i++)
        r->pushed_at[i] = r->popped_at[i] = -1;
}

void rounds_begin(struct rounds *r, int first_stage, int end_stage)
{
    r->ordinal = 0;
    r->first_stage = first_stage;
    r->end_stage = end_stage;
}

void rounds_begin_whole(struct rounds *r)
{
    rounds_begin(r, 0, INT32_MAX);
}

void rounds_count_stages(struct rounds *r)
{
    r->stages = 1;
    for (int i = 0; i < r->ordinal; i++)
        r->stages = r->stage[i] >= r->stages ? r->stage[i] + 1 : r->stages;
}

static bool is_wanted(const struct rounds *r, int ordinal)
{
    return r->stage[ordinal] >= r->first_stage && r->stage[ordinal] < r->end_stage;
}

int rounds_put(struct rounds *r, int not_before, struct isa_op op)
{
    int ordinal = r->ordinal++, at;

    assert(ordinal < r->most);
    if (!is_wanted(r, ordinal))
        return -1;
    at = bundler_add_after(r->b, not_before, op);
    if (r->b->ii)
        r->stage[ordinal] = at / r->b->ii;
    return at;
}

int rounds_put_pair(struct rounds *r, int not_before, const struct isa_op *first,
                    const struct isa_op *second)
{
    int ordinal = r->ordinal, at;

    if (!is_wanted(r, ordinal) || !is_wanted(r, ordinal + 1)) {
        rounds_put(r, not_before, *first);
        return rounds_put(r, not_before, *second);
    }
    at = bundler_put_pair(r->b, first, second, not_before);
    if (r->b->ii) {
        r->stage[ordinal] = at / r->b->ii;
        r->stage[ordinal + 1] = (at + 1) / r->b->ii;
    }
    r->ordinal += 2;
    return at + 1;
}

int rounds_room_at(const struct rounds *r, int64_t round, int64_t popping)
{
    int at = 0;

    if (r->b->ii)
        return 0;
    if (popping >= 0 && popping <= round)
        at = r->popped_at[popping] + 1;
    if (round > 0 && r->pushed_at[round - 1] >= at)
        at = r->pushed_at[round - 1] + 1;
    return at;
}
