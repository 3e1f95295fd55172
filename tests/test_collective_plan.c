/* Plans of collectives: do all ranks get what they should, in any order of events? */
#include "tests/test.h"

#include <math.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/collective_host.h"

/* A grid of chips; letters of `rings`: axes that close. */
struct grid {
    int x, y, z;
    const char *rings;
    int cores_per_chip;
};

struct bench {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct collective_request request;
    struct collective_plan *plan;
    struct collective_host *host;
    struct err err;
};

static void open_bench(struct bench *b, const struct grid *g, enum collective_kind kind,
                       enum collective_algo algo, int64_t bytes)
{
    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    assert_int_equal(chip_load_builtin(&b->chip, "v4", NULL, NULL, &b->err), 0);
    b->slice = (struct slice){.name = "grid", .chip_name = "v4", .dims = 3,
                              .dim = {g->x, g->y, g->z}, .chip_count = g->x * g->y * g->z};
    b->slice.core_count = b->slice.chip_count * g->cores_per_chip;
    for (int i = 0; i < 3; i++)
        b->slice.is_ring[i] = strchr(g->rings, "xyz"[i]) != NULL;
    b->request = (struct collective_request){.kind = kind, .algo = algo, .bytes = bytes,
        .over_chips = true, .axis = {true, true, true}, .slice = &b->slice, .chip = &b->chip};
}

static void close_bench(struct bench *b)
{
    if (b->host)
        host_destroy(b->host);
    arena_fini(&b->arena);
}

static void make_plan(struct bench *b)
{
    b->plan = collective_plan_create(&b->request, &b->arena, &b->err);
    if (!b->plan)
        fail_msg("%s", b->err.msg);
    b->host = host_create(b->plan);
}

/* the cores of one core's group, in rank order: worked out anew, from the contract's words */
static int group_of(const struct bench *b, int core, int *members)
{
    const struct slice *s = &b->slice;
    int inside = s->core_count / s->chip_count, count = 0;

    for (int other = 0; other < s->core_count; other++) {
        int a = core / inside, c = other / inside;
        bool is_member = !b->request.over_chips || core % inside == other % inside;

        for (int i = 0; i < 3; i++) {
            is_member &= b->request.axis[i] || a % s->dim[i] == c % s->dim[i];
            a /= s->dim[i];
            c /= s->dim[i];
        }
        if (is_member)
            members[count++] = other;
    }
    return count;
}

static int64_t elem_bytes(const struct bench *b)
{
    return b->request.type == COLLECTIVE_F32 ? 4 : 2;
}

static double read_elem(const struct bench *b, const uint8_t *at)
{
    float value;
    uint16_t half;

    if (b->request.type == COLLECTIVE_F32)
        memcpy(&value, at, sizeof(value));
    else {
        memcpy(&half, at, sizeof(half));
        value = host_bf16_to_f32(half);
    }
    return (double)value;
}

static void fill(const struct bench *b, uint8_t *to, int64_t bytes, struct rng *r)
{
    for (int64_t i = 0; i < bytes; i += elem_bytes(b)) {
        float value = rng_uniform(r, -1, 1);
        uint16_t half = host_f32_to_bf16(value);

        memcpy(to + i, b->request.type == COLLECTIVE_F32 ? (void *)&value : (void *)&half,
               (size_t)elem_bytes(b));
    }
}

/* One run: what went in of every core, and what came out. */
struct outcome {
    struct collective_arrays arrays;
    uint8_t **in, **out;
};

static struct outcome run(struct bench *b, uint64_t seed)
{
    struct outcome o = {.arrays = collective_arrays_of(b->plan)};
    size_t cores = (size_t)b->slice.core_count;
    const char *wrong;
    struct rng r;

    rng_init(&r, seed);
    o.in = arena_array(&b->arena, cores, sizeof(*o.in));
    o.out = arena_array(&b->arena, cores, sizeof(*o.out));
    for (size_t i = 0; i < cores; i++) {
        uint8_t *in = host_hbm(b->host, (int)i) + o.arrays.in;

        fill(b, in, o.arrays.in_bytes, &r);
        o.in[i] = arena_alloc(&b->arena, (size_t)o.arrays.in_bytes);
        memcpy(o.in[i], in, (size_t)o.arrays.in_bytes);
    }
    wrong = host_run(b->host, seed);
    if (wrong)
        fail_msg("%s", wrong);
    assert_true(host_most_in_flight(b->host) <= b->chip.dma_queue_depth);
    for (size_t i = 0; i < cores; i++)
        o.out[i] = host_hbm(b->host, (int)i) + o.arrays.out;
    return o;
}

/*
 * n values summed in any order differ from their sum by at most (n - 1) eps of
 * the sum of magnitudes, to first order; the factor 1.01 covers the others.
 */
static void check_sum(const struct bench *b, const struct outcome *o, const int *members,
                      int count, int64_t at, const uint8_t *result)
{
    double sum = 0, magnitude = 0, eps = b->request.type == COLLECTIVE_F32 ? 0x1p-24 : 0x1p-8;

    for (int i = 0; i < count; i++) {
        double value = read_elem(b, o->in[members[i]] + at);

        sum += value;
        magnitude += fabs(value);
    }
    if (fabs(read_elem(b, result) - sum) > 1.01 * (count - 1) * eps * magnitude)
        fail_msg("byte %lld: %.9g instead of %.9g", (long long)at, read_elem(b, result), sum);
}

static void check_core(const struct bench *b, const struct outcome *o, int core)
{
    int members[512], count = group_of(b, core, members), rank = 0;
    int64_t block = b->request.bytes / count;

    while (members[rank] != core)
        rank++;
    assert_int_equal(collective_rank_of(b->plan, core), rank);
    assert_int_equal(collective_rank_count(b->plan), count);
    switch (b->request.kind) {
    case COLLECTIVE_ALL_REDUCE:
        assert_memory_equal(o->out[core], o->out[members[0]], (size_t)b->request.bytes);
        for (int64_t i = 0; rank == 0 && i < b->request.bytes; i += elem_bytes(b))
            check_sum(b, o, members, count, i, o->out[core] + i);
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        for (int64_t i = 0; i < block; i += elem_bytes(b))
            check_sum(b, o, members, count, rank * block + i, o->out[core] + i);
        break;
    case COLLECTIVE_ALL_GATHER:
        for (int i = 0; i < count; i++)
            assert_memory_equal(o->out[core] + i * block, o->in[members[i]], (size_t)block);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        for (int i = 0; i < count; i++)
            assert_memory_equal(o->out[core] + i * block, o->in[members[i]] + rank * block,
                                (size_t)block);
        break;
    case COLLECTIVE_BROADCAST:
        assert_memory_equal(o->out[core], o->in[members[b->request.root]],
                            (size_t)b->request.bytes);
        break;
    case COLLECTIVE_PERMUTE:
        rank = ((rank - b->request.shift) % count + count) % count;
        assert_memory_equal(o->out[core], o->in[members[rank]], (size_t)b->request.bytes);
        break;
    default:
        break;
    }
}

static void check_runs(struct bench *b, int seeds)
{
    for (int seed = 1; seed <= seeds; seed++) {
        struct outcome o = run(b, (uint64_t)seed);

        for (int core = 0; core < b->slice.core_count; core++)
            check_core(b, &o, core);
    }
}

static const struct grid grids[] = {
    {2, 1, 1, "", 1}, {3, 1, 1, "", 1}, {4, 1, 1, "x", 1}, {5, 1, 1, "x", 1}, {1, 7, 1, "", 2},
    {2, 2, 1, "", 2}, {3, 2, 1, "", 1}, {3, 3, 1, "", 1}, {4, 3, 1, "x", 1}, {4, 4, 1, "xy", 2},
    {2, 2, 2, "", 2}, {2, 3, 4, "z", 1}, {4, 4, 4, "xyz", 1}, {3, 5, 2, "y", 1}, {1, 1, 4, "z", 2},
    {1, 1, 1, "", 2},
};
static const enum collective_algo ring_algos[] = {COLLECTIVE_RING, COLLECTIVE_BIRING,
                                                  COLLECTIVE_TORUS};
static const enum collective_kind ring_kinds[] = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                                  COLLECTIVE_ALL_GATHER};

/* `block_bytes` of each rank, over chips and over cores, with a VMEM that holds it or does not */
static void check_ring_plans(int64_t block_bytes, int64_t vmem_bytes)
{
    for (size_t g = 0; g < COUNT_OF(grids); g++)
        for (size_t i = 0; i < COUNT_OF(ring_kinds) * COUNT_OF(ring_algos) * 2; i++) {
            struct bench b;

            open_bench(&b, &grids[g], ring_kinds[i / 2 % 3], ring_algos[i / 6], 0);
            b.request.over_chips = i % 2 == 0;
            b.request.type = (g + i) % 3 == 0 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
            b.request.bytes = block_bytes * b.slice.chip_count *
                              (b.request.over_chips ? 1 : grids[g].cores_per_chip);
            b.chip.vmem_bytes = vmem_bytes;
            make_plan(&b);
            assert_true(collective_vmem_bytes(b.plan) <= vmem_bytes);
            check_runs(&b, b.slice.core_count < 32 ? 2 : 1);
            close_bench(&b);
        }
}

TEST(ring_algorithms_stay_in_vmem_where_the_arrays_fit)
{
    check_ring_plans(3584, 16 * MIB);
}

TEST(ring_algorithms_stream_what_vmem_does_not_hold)
{
    check_ring_plans(3584, 60 * KIB);
}

TEST(algorithms_that_do_not_do_a_kind_are_refused)
{
    struct bench b;

    open_bench(&b, &grids[9], COLLECTIVE_ALL_GATHER, COLLECTIVE_TREE, 16 * KIB);
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg, "tree does not do all-gather; take auto, ring, biring, torus");
    close_bench(&b);
}

TEST(blocks_need_not_be_rows)
{
    check_ring_plans(32, 16 * MIB);
    check_ring_plans(1056, 16 * MIB);
}

static int rank_count(const struct bench *b)
{
    return b->slice.chip_count * (b->request.over_chips ? 1 : b->slice.core_count /
                                                              b->slice.chip_count);
}

/* every grid, over chips and over cores; a block of 32 bytes per rank where there are blocks */
static void check_everywhere(enum collective_kind kind, enum collective_algo algo, int64_t bytes,
                             int64_t vmem_bytes)
{
    for (size_t g = 0; g < COUNT_OF(grids) * 2; g++) {
        struct bench b;

        open_bench(&b, &grids[g / 2], kind, algo, bytes);
        b.request.over_chips = g % 2 == 0;
        b.request.type = g % 3 == 0 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
        b.request.root = (int)(g * 7) % rank_count(&b);
        b.request.shift = (int)(g * 5) % rank_count(&b) * (g % 4 < 2 ? 1 : -1);
        if (kind == COLLECTIVE_ALL_TO_ALL)
            b.request.bytes *= rank_count(&b);
        b.chip.vmem_bytes = vmem_bytes;
        make_plan(&b);
        assert_true(collective_vmem_bytes(b.plan) <= vmem_bytes);
        check_runs(&b, 2);
        close_bench(&b);
    }
}

TEST(exchange_gives_all_ranks_the_sum)
{
    check_everywhere(COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE, 32, MIB);
    check_everywhere(COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE, 1056, MIB);
}

TEST(tree_gives_all_ranks_the_sum)
{
    check_everywhere(COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE, 2080, MIB);
    check_everywhere(COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE, 9728, 24 * KIB);
    check_everywhere(COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE, 6176, 32 * KIB);
}

TEST(broadcast_gives_all_ranks_what_the_root_has)
{
    check_everywhere(COLLECTIVE_BROADCAST, COLLECTIVE_TREE, 1056, MIB);
    check_everywhere(COLLECTIVE_BROADCAST, COLLECTIVE_TREE, 9728, 24 * KIB);
    check_everywhere(COLLECTIVE_BROADCAST, COLLECTIVE_DIRECT, 1056, MIB);
}

TEST(all_to_all_and_permute_bring_each_block_to_its_rank)
{
    check_everywhere(COLLECTIVE_ALL_TO_ALL, COLLECTIVE_DIRECT, 96, MIB);
    check_everywhere(COLLECTIVE_PERMUTE, COLLECTIVE_DIRECT, 1056, MIB);
}

TEST(nobody_leaves_a_barrier_before_all_have_come)
{
    for (size_t g = 0; g < COUNT_OF(grids); g++) {
        struct bench b;

        open_bench(&b, &grids[g], COLLECTIVE_BARRIER, COLLECTIVE_EXCHANGE, 0);
        b.request.over_chips = false;
        make_plan(&b);
        check_runs(&b, 2);
        for (int core = 0; core < b.slice.core_count; core += 3) {
            host_destroy(b.host);
            b.host = host_create(b.plan);
            assert_int_equal(host_finish_without(b.host, core), 0);
        }
        close_bench(&b);
    }
}

TEST(groups_along_some_axes_stand_side_by_side)
{
    static const struct grid grid = {4, 3, 2, "x", 2};
    static const enum collective_algo algos[] = {COLLECTIVE_RING, COLLECTIVE_BIRING,
        COLLECTIVE_TORUS, COLLECTIVE_TREE, COLLECTIVE_EXCHANGE};

    for (size_t i = 0; i < 6 * COUNT_OF(algos) * 2; i++) {
        struct bench b;

        open_bench(&b, &grid, COLLECTIVE_ALL_REDUCE, algos[i / 12], 96 * KIB);
        b.request.over_chips = i % 2;
        for (int axis = 0; axis < 3; axis++)
            b.request.axis[axis] = (i / 2 % 6 + 1) >> axis & 1;
        make_plan(&b);
        check_runs(&b, 1);
        close_bench(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_algorithms_stay_in_vmem_where_the_arrays_fit),
        cmocka_unit_test(ring_algorithms_stream_what_vmem_does_not_hold),
        cmocka_unit_test(algorithms_that_do_not_do_a_kind_are_refused),
        cmocka_unit_test(blocks_need_not_be_rows),
        cmocka_unit_test(exchange_gives_all_ranks_the_sum),
        cmocka_unit_test(tree_gives_all_ranks_the_sum),
        cmocka_unit_test(broadcast_gives_all_ranks_what_the_root_has),
        cmocka_unit_test(all_to_all_and_permute_bring_each_block_to_its_rank),
        cmocka_unit_test(nobody_leaves_a_barrier_before_all_have_come),
        cmocka_unit_test(groups_along_some_axes_stand_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
