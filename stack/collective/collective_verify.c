/*
 * Fills a collective's inputs by a hash of place and core, and checks results: sums within their
 * rounding bound, the rest bit for bit.
 */
#include "stack/collective/collective_verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/floats.h"
#include "base/units.h"

#define PIECE 16384                     /* elements at a time */

struct verify {
    const struct collective_plan *plan;
    const struct collective_request *r;
    struct collective_arrays arrays;
    struct machine *m;
    uint64_t seed;
    struct collective_verdict *out;
    int count;                          /* ranks of a group, */
    int *member;                        /* its cores by rank */
    void *bytes, *same;                 /* a piece of results, and of those of rank 0 */
};

static int64_t element_bytes(const struct verify *v)
{
    return v->r->type == COLLECTIVE_F32 ? 4 : 2;
}

/* element `i` of a core's input: a hash of all three, by Stafford's variant of splitmix64 */
static float value_at(const struct verify *v, int core, int64_t i)
{
    uint64_t x = v->seed + ((uint64_t)core << 44) + (uint64_t)i * 0x9e3779b97f4a7c15u;
    float value;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    value = (float)((int32_t)(x >> 40) - (1 << 23)) / (float)(1 << 23);
    return v->r->type == COLLECTIVE_F32 ? value : f32_round_to_bf16(value);
}

static void put_value(const struct verify *v, void *to, int64_t i, float value)
{
    if (v->r->type == COLLECTIVE_F32)
        ((float *)to)[i] = value;
    else
        ((uint16_t *)to)[i] = (uint16_t)(f32_bits(value) >> 16);
}

static float get_value(const struct verify *v, const void *from, int64_t i)
{
    return v->r->type == COLLECTIVE_F32
           ? ((const float *)from)[i]
           : f32_from_bits((uint32_t)((const uint16_t *)from)[i] << 16);
}

/* ----- groups */

/* what cores of one group have in common: place on the axes that take no part, and in the chip */
static int64_t group_of(const struct verify *v, int core)
{
    const struct slice *s = v->r->slice;
    int inside = s->core_count / s->chip_count, chip = core / inside;
    int64_t key = v->r->over_chips ? core % inside : 0;

    for (int i = 0; v->r->group && i < v->r->group_count * v->r->group_size; i++)
        if (v->r->group[i] == core)
            return i / v->r->group_size;
    for (int i = 0; i < 3; i++) {
        key = key * s->dim[i] + (v->r->axis[i] ? 0 : chip % s->dim[i]);
        chip /= s->dim[i];
    }
    return key;
}

static void find_members(struct verify *v, int core)
{
    int64_t group = group_of(v, core);

    for (int other = 0; other < machine_core_count(v->m); other++) {
        int rank = collective_rank_of(v->plan, other);

        if (rank >= 0 && group_of(v, other) == group)
            v->member[rank] = other;
    }
}

/* ----- what a result must be */

/* the rank whose input is there, and the element of it; -1: the sum of all */
static int source_of(const struct verify *v, int rank, int64_t i, int64_t *at)
{
    int64_t block = v->r->bytes / v->count / element_bytes(v);

    *at = i;
    switch (v->r->kind) {
    case COLLECTIVE_REDUCE_SCATTER:
        *at = rank * block + i;
        return -1;
    case COLLECTIVE_ALL_GATHER:
        *at = i % block;
        return (int)(i / block);
    case COLLECTIVE_ALL_TO_ALL:
        *at = rank * block + i % block;
        return (int)(i / block);
    case COLLECTIVE_BROADCAST:
        return v->r->root;
    case COLLECTIVE_PERMUTE:
        return ((rank - v->r->shift) % v->count + v->count) % v->count;
    default:
        return -1;
    }
}

static void note_wrong(struct verify *v, int core, int64_t i, double is, double wanted)
{
    if (v->out->wrong++ == 0)
        snprintf(v->out->first, sizeof(v->out->first), "core %d, element %lld: %.9g instead of "
                 "%.9g", core, (long long)i, is, wanted);
}

/* of n values, in any order: to first order n - 1 roundings of the sum of magnitudes */
static void check_sum(struct verify *v, int core, int64_t i, int64_t at, double is)
{
    double sum = 0, magnitude = 0, unit = v->r->type == COLLECTIVE_F32 ? 0x1p-24 : 0x1.01p-8;
    double roundings = (v->count - 1) * unit, bound;

    for (int rank = 0; rank < v->count; rank++) {
        double value = (double)value_at(v, v->member[rank], at);

        sum += value;
        magnitude += fabs(value);
    }
    bound = roundings < 0.5 ? roundings / (1 - roundings) * magnitude : magnitude;
    if (!(fabs(is - sum) <= bound))
        note_wrong(v, core, i, is, sum);
    else if (bound > 0 && fabs(is - sum) / bound > v->out->worst)
        v->out->worst = fabs(is - sum) / bound;
}

static void check_element(struct verify *v, int rank, int64_t i, int64_t in_piece)
{
    int core = v->member[rank];
    float is = get_value(v, v->bytes, in_piece);
    int64_t at;
    int source = source_of(v, rank, i, &at);

    v->out->elements++;
    if (source >= 0) {
        float wanted = value_at(v, v->member[source], at);

        if (f32_bits(is) != f32_bits(wanted))
            note_wrong(v, core, i, (double)is, (double)wanted);
    } else if (v->r->kind == COLLECTIVE_ALL_REDUCE && rank > 0) {
        float first = get_value(v, v->same, in_piece);

        if (f32_bits(is) != f32_bits(first))
            note_wrong(v, core, i, (double)is, (double)first);
    } else {
        check_sum(v, core, i, at, (double)is);
    }
}

/* elements from `first` on, of all ranks of the group */
static int check_piece(struct verify *v, int64_t first, int64_t count, struct err *e)
{
    int64_t size = element_bytes(v);

    for (int rank = 0; rank < v->count; rank++) {
        if (machine_hbm_read(v->m, v->member[rank], v->arrays.out + first * size, v->bytes,
                             count * size, e))
            return -1;
        if (rank == 0)
            memcpy(v->same, v->bytes, (size_t)(count * size));
        for (int64_t i = 0; i < count; i++)
            check_element(v, rank, first + i, i);
    }
    return 0;
}

static int check_group(struct verify *v, struct err *e)
{
    int64_t count = v->arrays.out_bytes / element_bytes(v), piece;

    for (int64_t i = 0; i < count; i += piece) {
        piece = count - i < PIECE ? count - i : PIECE;
        if (check_piece(v, i, piece, e))
            return -1;
    }
    return 0;
}

/* ----- the whole */

static struct verify make(const struct collective_plan *p, struct machine *m, uint64_t seed)
{
    return (struct verify){.plan = p, .r = collective_plan_request(p), .m = m, .seed = seed,
                           .arrays = collective_arrays_of(p),
                           .count = collective_rank_count(p)};
}

static int fill_core(struct verify *v, int core, struct err *e)
{
    int64_t size = element_bytes(v), count = v->arrays.in_bytes / size, piece;

    for (int64_t i = 0; i < count; i += piece) {
        piece = count - i < PIECE ? count - i : PIECE;
        for (int64_t k = 0; k < piece; k++)
            put_value(v, v->bytes, k, value_at(v, core, i + k));
        if (machine_hbm_write(v->m, core, v->arrays.in + i * size, v->bytes, piece * size, e))
            return -1;
    }
    return 0;
}

int collective_fill(const struct collective_plan *p, struct machine *m, uint64_t seed,
                    struct err *e)
{
    struct verify v = make(p, m, seed);
    int failed = 0;

    v.bytes = mem_alloc(PIECE * sizeof(float));
    for (int core = 0; core < machine_core_count(m) && !failed; core++)
        if (collective_rank_of(p, core) >= 0)
            failed = fill_core(&v, core, e);
    mem_free(v.bytes);
    return failed;
}

int collective_leave_unknown(const struct collective_plan *p, struct machine *m, struct err *e)
{
    struct collective_arrays a = collective_arrays_of(p);

    for (int core = 0; core < machine_core_count(m); core++)
        if (machine_hbm_set_unknown(m, core, a.in, a.in_bytes, e)
            || machine_hbm_set_unknown(m, core, a.out, a.out_bytes, e))
            return -1;
    return 0;
}

int collective_verify(const struct collective_plan *p, struct machine *m, uint64_t seed,
                      struct collective_verdict *out, struct err *e)
{
    struct verify v = make(p, m, seed);
    int failed = 0;

    *out = (struct collective_verdict){.elements = 0};
    v.out = out;
    v.bytes = mem_alloc(PIECE * sizeof(float));
    v.same = mem_alloc(PIECE * sizeof(float));
    v.member = mem_alloc((size_t)v.count * sizeof(*v.member));
    for (int core = 0; core < machine_core_count(m) && !failed; core++)
        if (collective_rank_of(p, core) == 0) {
            find_members(&v, core);
            failed = check_group(&v, e);
        }
    mem_free(v.bytes);
    mem_free(v.same);
    mem_free(v.member);
    return failed;
}
