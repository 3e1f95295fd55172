/*
 * A program evaluated whole on one device, and cut for several in lock step: do they agree?
 * Inputs are random; indices stay small.
 */
#ifndef TESTS_SHARD_RIG_H
#define TESTS_SHARD_RIG_H
#include <math.h>

#include "base/rng.h"
#include "import/eval/eval.h"
#include "import/hlo_text/hlo_text.h"
#include "import/shard/count.h"
#include "import/shard/shard.h"
#include "import/shard/slices.h"
#include "tests/test.h"

struct shard_rig {
    struct arena arena;
    struct hlo_module *whole, part;
    struct shard_boundary boundary;
    struct shard_count count;
    struct err e;
};

static inline void rig_read(struct shard_rig *r, const char *text)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    r->whole = hlo_text_read(text, strlen(text), "test.hlo", &r->arena, &r->e);
    if (!r->whole)
        fail_msg("%d:%d: %s in\n%s", r->e.line, r->e.col, r->e.msg, text);
}

/* 0, or -1 with r->e */
static inline int rig_cut(struct shard_rig *r)
{
    if (shard_program(r->whole, &(struct shard_options){0}, &r->part, &r->arena, &r->boundary,
                      &r->e))
        return -1;
    r->count = shard_count_collectives(&r->part, &r->arena);
    return hlo_verify(&r->part, &r->e);
}

static inline void rig_end(struct shard_rig *r)
{
    if (r->part.arena)
        hlo_module_fini(&r->part);
    hlo_text_fini(r->whole);
    arena_fini(&r->arena);
}

static inline void rig_fill(struct rng *rng, const struct hlo_type *t, void *data)
{
    size_t bytes = hlo_element_bytes(t->element);

    for (int64_t i = 0; i < hlo_type_elements(t); i++) {
        void *to = (char *)data + (size_t)i * bytes;

        if (hlo_element_is_float(t->element) || hlo_element_is_complex(t->element))
            hlo_element_store(t->element, (double)rng_uniform(rng, -2, 2), to);
        else if (t->element == ELEMENT_PRED)
            hlo_element_store_int(t->element, (int64_t)rng_below(rng, 2), to);
        else
            hlo_element_store_int(t->element, (int64_t)rng_below(rng, 7), to);
    }
}

/* inputs of the whole program, one array a leaf */
static inline struct eval_array *rig_inputs(struct shard_rig *r, uint64_t seed)
{
    int count = eval_input_count(r->whole);
    struct eval_array *input = arena_array(&r->arena, (size_t)count + 1, sizeof(*input));
    struct rng rng;

    rng_init(&rng, seed);
    for (int i = 0; i < count; i++) {
        input[i].type = *eval_input_type(r->whole, i);
        input[i].data = arena_alloc(&r->arena, hlo_type_bytes(&input[i].type) + 1);
        rig_fill(&rng, &input[i].type, input[i].data);
    }
    return input;
}

static inline struct eval_array *rig_run_whole(struct shard_rig *r, const struct eval_array *input)
{
    struct eval_array *output =
        arena_array(&r->arena, (size_t)eval_output_count(r->whole) + 1, sizeof(*output));
    struct eval_report report;

    if (eval_run(r->whole, &(struct eval_settings){0}, &input, &output, &r->arena, &report, &r->e))
        fail_msg("whole: %d: %s", r->e.line, r->e.msg);
    return output;
}

static inline struct eval_array *rig_take(struct shard_rig *r, const struct eval_array *input,
                                          int64_t device)
{
    const struct shard_boundary *b = &r->boundary;
    struct eval_array *own = arena_array(&r->arena, (size_t)b->parameter_count + 1, sizeof(*own));

    for (int i = 0; i < b->parameter_count; i++) {
        const struct shard_leaf *leaf = &b->parameter[i];
        struct shard_slice s = shard_slice_of(&leaf->sharding, &leaf->whole,
                                              device % b->partitions);

        own[i].type = leaf->part;
        own[i].data = arena_alloc(&r->arena, hlo_type_bytes(&leaf->part) + 1);
        shard_slice_take(&s, &leaf->whole, input[i].data, own[i].data);
    }
    return own;
}

/* the results of all devices joined; of the first replica */
static inline struct eval_array *rig_run_part(struct shard_rig *r, const struct eval_array *input)
{
    const struct shard_boundary *b = &r->boundary;
    int64_t devices = b->partitions * r->part.replica_count;
    const struct eval_array **in = arena_array(&r->arena, (size_t)devices, sizeof(*in));
    struct eval_array **out = arena_array(&r->arena, (size_t)devices, sizeof(*out));
    struct eval_array *joined = arena_array(&r->arena, (size_t)b->result_count + 1, sizeof(*joined));
    struct eval_settings settings = {.partition_count = b->partitions,
                                     .replica_count = r->part.replica_count};
    struct eval_report report;

    for (int64_t d = 0; d < devices; d++) {
        in[d] = rig_take(r, input, d);
        out[d] = arena_array(&r->arena, (size_t)b->result_count + 1, sizeof(**out));
    }
    if (eval_run(&r->part, &settings, in, out, &r->arena, &report, &r->e))
        fail_msg("part: %d: %s", r->e.line, r->e.msg);
    for (int i = 0; i < b->result_count; i++) {
        const struct shard_leaf *leaf = &b->result[i];

        joined[i].type = leaf->whole;
        joined[i].data = arena_alloc(&r->arena, hlo_type_bytes(&leaf->whole) + 1);
        for (int64_t d = b->partitions - 1; d >= 0; d--) {
            struct shard_slice s = shard_slice_of(&leaf->sharding, &leaf->whole, d);

            shard_slice_put(&s, &leaf->whole, out[d][i].data, joined[i].data);
        }
    }
    return joined;
}

/* the largest difference, relative to the largest magnitude; integers must be equal */
static inline double rig_distance(const struct eval_array *a, const struct eval_array *b)
{
    double most = 0, apart = 0;
    size_t bytes = hlo_element_bytes(a->type.element);

    for (int64_t i = 0; i < hlo_type_elements(&a->type); i++) {
        double x = hlo_element_load(a->type.element, (const char *)a->data + (size_t)i * bytes);
        double y = hlo_element_load(a->type.element, (const char *)b->data + (size_t)i * bytes);

        if (isnan(x) != isnan(y) || isinf(x) != isinf(y))
            return INFINITY;
        if (!isfinite(x))
            continue;
        most = fmax(most, fabs(x));
        apart = fmax(apart, fabs(x - y));
    }
    if (!hlo_element_is_float(a->type.element) && !hlo_element_is_complex(a->type.element))
        return apart;
    return apart / fmax(most, 1e-3);
}

/* reads, cuts, runs both ways; fails where they differ by more than `bound` */
static inline void rig_check(struct shard_rig *r, const char *text, uint64_t seed, double bound)
{
    struct eval_array *input, *whole, *part;

    rig_read(r, text);
    if (rig_cut(r))
        fail_msg("seed %llu: %s in\n%s", (unsigned long long)seed, r->e.msg, text);
    input = rig_inputs(r, seed);
    whole = rig_run_whole(r, input);
    part = rig_run_part(r, input);
    for (int i = 0; i < r->boundary.result_count; i++)
        if (!(rig_distance(&whole[i], &part[i]) <= bound))
            fail_msg("seed %llu: result %d differs by %g in\n%s", (unsigned long long)seed, i,
                     rig_distance(&whole[i], &part[i]), text);
}
#endif
