/* Plans of collectives: do all ranks get what they should, in any order of events? */
#include "tests/test.h"

#include <math.h>

#include "base/units.h"
#include "tests/rigs/collective_rig.h"

/*
 * n values summed in any order differ from their sum by at most (n - 1) eps of
 * the sum of magnitudes, to first order; the factor 1.01 covers the others.
 */
static void check_sum(const struct collective_bench *b, const struct collective_outcome *o,
                      const int *members, int count, int64_t at, const uint8_t *result)
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

static void check_core(const struct collective_bench *b, const struct collective_outcome *o,
                       int core)
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

static void check_runs(struct collective_bench *b, int seeds)
{
    for (int seed = 1; seed <= seeds; seed++) {
        struct collective_outcome o = run_bench(b, (uint64_t)seed);

        for (int core = 0; core < b->slice.core_count; core++)
            check_core(b, &o, core);
    }
}

static const enum collective_algo ring_algos[] = {COLLECTIVE_RING, COLLECTIVE_BIRING,
                                                  COLLECTIVE_TORUS};
static const enum collective_kind ring_kinds[] = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                                  COLLECTIVE_ALL_GATHER};

/* `block_bytes` of each rank, over chips and over cores, with a VMEM that holds it or does not */
static void check_ring_plans(int64_t block_bytes, int64_t vmem_bytes)
{
    for (size_t g = 0; g < (size_t)collective_grid_count; g++)
        for (size_t i = 0; i < COUNT_OF(ring_kinds) * COUNT_OF(ring_algos) * 2; i++) {
            struct collective_bench b;

            open_bench(&b, &collective_grids[g], ring_kinds[i / 2 % 3], ring_algos[i / 6], 0);
            b.request.over_chips = i % 2 == 0;
            b.request.type = (g + i) % 3 == 0 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
            b.request.bytes = block_bytes * b.slice.chip_count *
                              (b.request.over_chips ? 1 : collective_grids[g].cores_per_chip);
            b.chip.vmem_bytes = vmem_bytes;
            make_plan(&b);
            assert_true(collective_vmem_bytes(b.plan) <= vmem_bytes);
            check_runs(&b, b.slice.core_count < 16 ? 2 : 1);
            close_bench(&b);
        }
}

static const int32_t across[] = {0, 2, 4, 6, 1, 3, 5, 7};
static const int32_t mixed[] = {7, 0, 2, 5, 6, 1}, backwards[] = {7, 6, 5, 4, 3, 2, 1, 0};
static const struct { const int32_t *group; int count, size; } lists[] = {
    {across, 2, 4}, {across, 4, 2}, {across, 1, 8}, {mixed, 2, 3}, {mixed, 1, 5}, {mixed, 3, 1},
    {backwards, 1, 8}};

/* of 2x2 chips of two cores, whatever the lists are; cores in none do nothing */
static void check_list(size_t list, enum collective_kind kind, enum collective_algo algo,
                       int64_t block_bytes)
{
    struct collective_bench b;

    open_bench(&b, &(struct collective_grid){2, 2, 1, "", 2}, kind, algo,
               block_bytes * lists[list].size);
    b.request.group = lists[list].group;
    b.request.group_count = lists[list].count;
    b.request.group_size = lists[list].size;
    b.request.type = list % 2 ? COLLECTIVE_F32 : COLLECTIVE_BF16;
    b.request.shift = lists[list].size > 1;
    b.request.root = lists[list].size - 1;
    make_plan(&b);
    for (int seed = 1; seed < 3; seed++) {
        struct collective_outcome o = run_bench(&b, (uint64_t)seed);
        int parts = 0;

        for (int core = 0; core < b.slice.core_count; core++) {
            if (collective_rank_of(b.plan, core) < 0) {
                assert_int_equal(collective_op_count(b.plan, core), 0);
                continue;
            }
            check_core(&b, &o, core);
            parts++;
        }
        assert_int_equal(parts, lists[list].count * lists[list].size);
    }
    close_bench(&b);
}

TEST(groups_may_be_any_lists_of_cores)
{
    static const struct { enum collective_kind kind; enum collective_algo algo; } rows[] = {
        {COLLECTIVE_ALL_REDUCE, COLLECTIVE_RING}, {COLLECTIVE_ALL_REDUCE, COLLECTIVE_BIRING},
        {COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE}, {COLLECTIVE_ALL_REDUCE, COLLECTIVE_AUTO},
        {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_AUTO}, {COLLECTIVE_ALL_GATHER, COLLECTIVE_AUTO},
        {COLLECTIVE_ALL_GATHER, COLLECTIVE_RING}, {COLLECTIVE_ALL_TO_ALL, COLLECTIVE_DIRECT},
        {COLLECTIVE_BROADCAST, COLLECTIVE_DIRECT}, {COLLECTIVE_PERMUTE, COLLECTIVE_DIRECT}};

    for (size_t list = 0; list < COUNT_OF(lists); list++)
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            check_list(list, rows[i].kind, rows[i].algo, 512);
            check_list(list, rows[i].kind, rows[i].algo, 20 * KIB + 32);
        }
}

/* lists that axes make are found, with their ranks or without */
TEST(lists_that_are_axes)
{
    static const int32_t chips[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {0, 4, 1, 5, 2, 6, 3, 7};
    static const int32_t turned[] = {0, 4, 5, 1, 2, 6, 3, 7}, none[] = {0, 6, 1, 5, 2, 4, 3, 7};
    static const struct {
        const int32_t *group;
        int count, size;
        bool in_order, in_any, over_chips, x, y;
    } rows[] = {
        {chips, 1, 8, true, true, false, true, true}, {y, 4, 2, true, true, true, false, true},
        {across, 2, 4, true, true, true, true, true}, {chips, 2, 4, true, true, false, true, false},
        {backwards, 1, 8, false, true, false, true, true},
        {turned, 4, 2, false, true, true, false, true}, {none, 4, 2, false, false, 0, 0, 0},
        {chips, 1, 4, false, false, 0, 0, 0},
        {chips, 4, 2, true, true, false, false, false},     /* along z, which is one chip long */
    };
    struct collective_bench b;

    open_bench(&b, &(struct collective_grid){2, 2, 1, "", 2}, COLLECTIVE_ALL_REDUCE,
               COLLECTIVE_AUTO, 8192);
    for (size_t i = 0; i < COUNT_OF(rows) * 2; i++) {
        struct collective_request r = b.request;
        bool is_ordered = i % 2;

        r.group = rows[i / 2].group;
        r.group_count = rows[i / 2].count;
        r.group_size = rows[i / 2].size;
        assert_int_equal(collective_find_axes(&r, is_ordered),
                         is_ordered ? rows[i / 2].in_order : rows[i / 2].in_any);
        if (r.group)
            continue;
        assert_int_equal(r.over_chips, rows[i / 2].over_chips);
        assert_int_equal(r.axis[0], rows[i / 2].x);
        assert_int_equal(r.axis[1], rows[i / 2].y);
    }
    close_bench(&b);
}

static void refuse_list(const int32_t *group, int count, int size, enum collective_algo algo,
                        const char *text)
{
    struct collective_bench b;

    open_bench(&b, &(struct collective_grid){2, 2, 1, "", 2}, COLLECTIVE_ALL_REDUCE, algo, 8192);
    b.request.group = group;
    b.request.group_count = count;
    b.request.group_size = size;
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg, text);
    close_bench(&b);
}

TEST(lists_that_are_none)
{
    refuse_list(across, 3, 3, COLLECTIVE_RING, "3 groups of 3 cores, of the 8 that there are");
    refuse_list((int32_t[]){0, 8}, 1, 2, COLLECTIVE_RING,
                "core 8 as place 1 of the groups is not one of the 8 cores, or is there twice");
    refuse_list((int32_t[]){0, 3, 3, 1}, 2, 2, COLLECTIVE_RING,
                "core 3 as place 2 of the groups is not one of the 8 cores, or is there twice");
    refuse_list(across, 2, 4, COLLECTIVE_TORUS, "torus goes along axes, and the groups are lists "
                "of cores; take auto, ring or biring");
}

TEST(ring_algorithms_stay_in_vmem_where_the_arrays_fit)
{
    check_ring_plans(3584, 16 * MIB);
}

TEST(ring_algorithms_stream_what_vmem_does_not_hold)
{
    check_ring_plans(3584, 60 * KIB);
}

TEST(blocks_need_not_be_rows)
{
    check_ring_plans(32, 16 * MIB);
    check_ring_plans(1056, 16 * MIB);
}

/* every grid, over chips and over cores; a block of 32 bytes per rank where there are blocks */
static void check_everywhere(enum collective_kind kind, enum collective_algo algo, int64_t bytes,
                             int64_t vmem_bytes)
{
    for (size_t g = 0; g < (size_t)collective_grid_count * 2; g++) {
        struct collective_bench b;

        open_bench(&b, &collective_grids[g / 2], kind, algo, bytes);
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
    for (size_t g = 0; g < (size_t)collective_grid_count; g++) {
        struct collective_bench b;

        open_bench(&b, &collective_grids[g], COLLECTIVE_BARRIER, COLLECTIVE_EXCHANGE, 0);
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
    static const struct collective_grid grid = {4, 3, 2, "x", 2};
    static const enum collective_algo algos[] = {COLLECTIVE_RING, COLLECTIVE_BIRING,
        COLLECTIVE_TORUS, COLLECTIVE_TREE, COLLECTIVE_EXCHANGE};

    for (size_t i = 0; i < 6 * COUNT_OF(algos) * 2; i++) {
        struct collective_bench b;

        open_bench(&b, &grid, COLLECTIVE_ALL_REDUCE, algos[i / 12], 96 * KIB);
        b.request.over_chips = i % 2;
        for (int axis = 0; axis < 3; axis++)
            b.request.axis[axis] = (i / 2 % 6 + 1) >> axis & 1;
        make_plan(&b);
        check_runs(&b, 1);
        close_bench(&b);
    }
}

/* ----- sizes, choices, messages */

TEST(only_whole_tori_are_symmetric)
{
    for (size_t g = 0; g < (size_t)collective_grid_count; g++)
        for (int algo = COLLECTIVE_RING; algo <= COLLECTIVE_EXCHANGE; algo++) {
            const char *rings = collective_grids[g].rings;
            bool is_torus = true, is_line;
            struct collective_bench b;

            open_bench(&b, &collective_grids[g], COLLECTIVE_ALL_REDUCE,
                       (enum collective_algo)algo, 0);
            b.request.bytes = 1024 * rank_count(&b);
            make_plan(&b);
            for (int i = 0; i < 3; i++)
                is_torus &= b.slice.dim[i] == 1 || strchr(rings, "xyz"[i]);
            is_line = strlen(rings) < 2;
            if (b.slice.chip_count > 1)
                assert_int_equal(collective_is_symmetric(b.plan),
                                 is_torus && algo != COLLECTIVE_TREE &&
                                 (is_line || algo >= COLLECTIVE_TORUS));
            if (b.slice.chip_count > 1 && !is_line)
                assert_int_equal(collective_is_uniform(b.plan),
                                 algo == COLLECTIVE_TORUS || algo == COLLECTIVE_EXCHANGE);
            close_bench(&b);
        }
}

static void assert_auto(int64_t bytes, enum collective_kind kind, enum collective_algo algo)
{
    struct collective_bench b;

    open_bench(&b, &(struct collective_grid){8, 8, 8, "xyz", 2}, kind, COLLECTIVE_AUTO, bytes);
    b.plan = collective_plan_create(&b.request, &b.arena, &b.err);
    assert_non_null(b.plan);
    assert_string_equal(collective_algo_name(collective_plan_request(b.plan)->algo),
                        collective_algo_name(algo));
    close_bench(&b);
}

TEST(auto_takes_few_steps_for_small_arrays_and_all_links_for_large_ones)
{
    assert_auto(4096, COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE);
    assert_auto(8 * MIB, COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS);
    assert_auto(8 * MIB + 32, COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE);
    assert_auto(8 * MIB, COLLECTIVE_ALL_GATHER, COLLECTIVE_TORUS);
    assert_auto(8 * MIB, COLLECTIVE_BROADCAST, COLLECTIVE_TREE);
    assert_auto(8 * MIB, COLLECTIVE_ALL_TO_ALL, COLLECTIVE_DIRECT);
    assert_auto(0, COLLECTIVE_BARRIER, COLLECTIVE_EXCHANGE);
}

static const struct refusal {
    enum collective_kind kind;
    enum collective_algo algo;
    int64_t bytes, chunk_bytes;
    int root, shift, no_z;
    const char *message;
} refusals[] = {
    {COLLECTIVE_ALL_GATHER, COLLECTIVE_TREE, 4096, 0, 0, 0, 0,
     "tree does not do all-gather; take auto, ring, biring, torus"},
    {COLLECTIVE_BARRIER, COLLECTIVE_RING, 0, 0, 0, 0, 0,
     "ring does not do barrier; take auto, exchange"},
    {COLLECTIVE_BARRIER, COLLECTIVE_EXCHANGE, 64, 0, 0, 0, 0,
     "a barrier moves no bytes; leave the bytes out"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_AUTO, 0, 0, 0, 0, 0,
     "0 bytes are nothing to move; the least is 32"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, 0, 0, 0, 0, 0,
     "0 bytes are nothing to move; the least is 256"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, 128, 0, 0, 0, 0,
     "128 bytes are less than the 32 bytes for each of 8 ranks that all-reduce needs; the least "
     "is 256"},
    {COLLECTIVE_ALL_GATHER, COLLECTIVE_AUTO, 1000, 0, 0, 0, 0,
     "1000 bytes are not a multiple of 256, 32 for each rank; the nearest are 768 and 1024"},
    {COLLECTIVE_PERMUTE, COLLECTIVE_DIRECT, 100, 0, 0, 1, 0,
     "100 bytes are not a multiple of 32; the nearest are 96 and 128"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, 16 * GIB + 256, 0, 0, 0, 0,
     "17179869440 bytes do not fit the 32 GiB of HBM of a chip, which its 2 cores share, with all "
     "that all-reduce needs; at most 17179869184"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, MIB, 1000, 0, 0, 0,
     "chunks of 1000 bytes are not whole rows of 512 bytes; the nearest are 512 and 1024"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, MIB, 32, 0, 0, 0,
     "chunks of 32 bytes are less than a row of VMEM; the least is 512"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, 64 * MIB, 64 * MIB, 0, 0, 0,
     "chunks of 67108864 bytes do not fit VMEM with 3 channels; at most 1223168 bytes"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE, 64 * MIB, 64 * MIB, 0, 0, 0,
     "chunks of 67108864 bytes do not fit VMEM; at most 1048576 bytes"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE, MIB, 512, 0, 0, 0,
     "exchange does not cut arrays into chunks; leave the chunk out"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE, 4 * MIB, 0, 0, 0, 0,
     "exchange keeps 6 whole arrays in VMEM, which does not hold them; at most 2796032 bytes, or "
     "take torus"},
    {COLLECTIVE_BROADCAST, COLLECTIVE_TREE, 64, 0, 8, 0, 0,
     "no rank 8 to be the root; ranks are 0 to 7"},
    {COLLECTIVE_PERMUTE, COLLECTIVE_DIRECT, 64, 0, 0, -8, 0,
     "no rank is -8 ranks away; 8 ranks can be shifted by -7 to 7"},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, 256, 0, 0, 0, 1,
     "slice grid has no axis z; its axes are x and y"},
};

TEST(what_cannot_be_is_refused_with_what_can)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct collective_bench b;

        open_bench(&b, &(struct collective_grid){2, 2, 2, "", 2}, r->kind, r->algo, r->bytes);
        b.request.chunk_bytes = r->chunk_bytes;
        b.request.root = r->root;
        b.request.shift = r->shift;
        if (r->no_z)
            b.slice.dims = 2;
        assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
        assert_string_equal(b.err.msg, r->message);
        close_bench(&b);
    }
}

TEST(messages_count_bytes_of_a_device)
{
    struct collective_bench b;

    open_bench(&b, &(struct collective_grid){2, 2, 2, "", 2}, COLLECTIVE_ALL_REDUCE,
               COLLECTIVE_EXCHANGE, 4 * MIB);
    b.request.device_ranks = 2;
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg, "exchange keeps 6 whole arrays in VMEM, which does not hold "
                        "them; at most 5592064 bytes, or take torus");
    b.request.bytes = 17 * GIB;
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg, "36507222016 bytes do not fit the 32 GiB of HBM of a chip, with "
                        "all that all-reduce needs; at most 34359738368");
    b.request.algo = COLLECTIVE_TORUS;
    b.request.bytes = 300;
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg, "600 bytes are not a multiple of 512, 32 for each rank; the "
                        "nearest are 512 and 1024");
    close_bench(&b);
}

TEST(a_chunk_larger_than_a_step_is_the_step)
{
    static const enum collective_algo algos[] = {COLLECTIVE_RING, COLLECTIVE_TREE};

    for (size_t i = 0; i < COUNT_OF(algos); i++) {
        struct collective_bench b;

        open_bench(&b, &(struct collective_grid){2, 2, 2, "", 2}, COLLECTIVE_ALL_REDUCE, algos[i],
                   8 * 4096);
        b.request.chunk_bytes = GIB;
        make_plan(&b);
        assert_int_equal(collective_plan_request(b.plan)->chunk_bytes,
                         algos[i] == COLLECTIVE_RING ? 4096 : 8 * 4096);
        check_runs(&b, 1);
        close_bench(&b);
    }
}

TEST(units_are_a_granule_or_one_for_each_rank)
{
    struct collective_bench b;

    open_bench(&b, &collective_grids[9], COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, 0);
    assert_int_equal(collective_unit(&b.request), 16 * 32);
    b.request.over_chips = false;
    assert_int_equal(collective_unit(&b.request), 32 * 32);
    b.request.axis[0] = false;
    assert_int_equal(collective_unit(&b.request), 8 * 32);
    b.request.algo = COLLECTIVE_EXCHANGE;
    assert_int_equal(collective_unit(&b.request), 32);
    close_bench(&b);
}

TEST(no_axis_and_too_many_operations_are_refused)
{
    struct collective_bench b;

    open_bench(&b, &collective_grids[9], COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, GIB);
    b.request.chunk_bytes = 512;
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg,
                        "a core would have more than 2097152 operations; take larger chunks");
    memset(b.request.axis, 0, sizeof(b.request.axis));
    assert_null(collective_plan_create(&b.request, &b.arena, &b.err));
    assert_string_equal(b.err.msg, "no axis takes part; name some of xyz");
    close_bench(&b);
}

TEST(names_are_found_and_others_told_the_nearest)
{
    enum collective_kind kind;
    enum collective_algo algo;
    struct err e;

    for (int i = 0; i < COLLECTIVE_KIND_COUNT; i++) {
        assert_int_equal(collective_find_kind(collective_kind_name((enum collective_kind)i), &kind,
                                              &e), 0);
        assert_int_equal(kind, i);
    }
    for (int i = 0; i < COLLECTIVE_ALGO_COUNT; i++) {
        assert_int_equal(collective_find_algo(collective_algo_name((enum collective_algo)i), &algo,
                                              &e), 0);
        assert_int_equal(algo, i);
    }
    assert_int_equal(collective_find_kind("allreduce", &kind, &e), -1);
    assert_string_equal(e.msg, "no collective \"allreduce\" (did you mean \"all-reduce\"?); there "
                        "are all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, "
                        "permute, barrier");
    assert_int_equal(collective_find_algo("rings", &algo, &e), -1);
    assert_string_equal(e.msg, "no algorithm \"rings\" (did you mean \"ring\"?); there are auto, "
                        "ring, biring, torus, tree, exchange, direct");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_may_be_any_lists_of_cores),
        cmocka_unit_test(lists_that_are_axes),
        cmocka_unit_test(lists_that_are_none),
        cmocka_unit_test(ring_algorithms_stay_in_vmem_where_the_arrays_fit),
        cmocka_unit_test(ring_algorithms_stream_what_vmem_does_not_hold),
        cmocka_unit_test(blocks_need_not_be_rows),
        cmocka_unit_test(exchange_gives_all_ranks_the_sum),
        cmocka_unit_test(tree_gives_all_ranks_the_sum),
        cmocka_unit_test(broadcast_gives_all_ranks_what_the_root_has),
        cmocka_unit_test(all_to_all_and_permute_bring_each_block_to_its_rank),
        cmocka_unit_test(nobody_leaves_a_barrier_before_all_have_come),
        cmocka_unit_test(groups_along_some_axes_stand_side_by_side),
        cmocka_unit_test(only_whole_tori_are_symmetric),
        cmocka_unit_test(auto_takes_few_steps_for_small_arrays_and_all_links_for_large_ones),
        cmocka_unit_test(what_cannot_be_is_refused_with_what_can),
        cmocka_unit_test(messages_count_bytes_of_a_device),
        cmocka_unit_test(a_chunk_larger_than_a_step_is_the_step),
        cmocka_unit_test(units_are_a_granule_or_one_for_each_rank),
        cmocka_unit_test(no_axis_and_too_many_operations_are_refused),
        cmocka_unit_test(names_are_found_and_others_told_the_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
