/*
 * The program that carries out lists of operations on simulated cores: a ring
 * written out by hand against double sums, costs against measured cycles, the
 * same cycles whatever the engine does, and what a fault says.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "base/sanitized.h"
#include "base/units.h"
#include "stack/collective/collective_program.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <math.h>

/* ----- lists by hand */

struct hand {
    struct collective_op *op[16];
    int count[16];
    size_t capacity[16];
};

static int hand_count(const void *context, int core)
{
    return core < 16 ? ((const struct hand *)context)->count[core] : 0;
}

static void hand_op(const void *context, int core, int index, struct collective_op *out)
{
    *out = ((const struct hand *)context)->op[core][index];
}

static void put(struct hand *h, int core, struct collective_op op)
{
    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        if (op.level[i].count == 0)
            op.level[i].count = 1;
    if (op.run_bytes == 0)
        op.run_bytes = op.bytes;
    h->op[core] = mem_grow(h->op[core], &h->capacity[core], (size_t)h->count[core] + 1,
                           sizeof(op));
    h->op[core][h->count[core]++] = op;
}

static void hand_fini(struct hand *h)
{
    for (int i = 0; i < 16; i++)
        mem_free(h->op[i]);
}

static void put_wait(struct hand *h, int core, int flag, int64_t value)
{
    put(h, core, (struct collective_op){.kind = COLLECTIVE_WAIT, .flag = flag,
                                        .value = (int32_t)value});
}

static void put_copy(struct hand *h, int core, int from_space, int64_t from, int64_t to,
                     int64_t bytes, int flag)
{
    put(h, core, (struct collective_op){
        .kind = COLLECTIVE_COPY, .from_space = (uint8_t)from_space,
        .to_space = (uint8_t)!from_space, .from = from, .to = to, .bytes = bytes, .flag = flag});
    put_wait(h, core, flag, bytes / 32);
}

/* ----- a ring all-reduce, in place in HBM from address 0 on */

enum {
    LOADED, ARRIVED, ARRIVED_ODD, SENT, CREDIT, STORED,
    GATHERED,                           /* and up, a step each: who sends may be steps ahead */
    FLAG_COUNT = GATHERED + 8
};

struct ring { int n; int64_t block; };

static int64_t block_at(const struct ring *r, int number)
{
    return (number % r->n + r->n) % r->n * r->block;
}

static int64_t own_at(const struct ring *r, int step) { return step % 2 * r->block; }
static int64_t slot_at(const struct ring *r, int step) { return (2 + step % 2) * r->block; }

static void put_send(struct hand *h, const struct ring *r, int core, int space, int64_t from,
                     int64_t to, int flag)
{
    put(h, core, (struct collective_op){
        .kind = COLLECTIVE_SEND, .from_space = (uint8_t)space, .to_space = (uint8_t)space,
        .from = from, .to = to, .bytes = r->block, .flag = flag, .source_flag = SENT,
        .peer = (core + 1) % r->n});
    put_wait(h, core, SENT, r->block / 32);
}

static void reduce_scatter(struct hand *h, const struct ring *r, int core)
{
    int last = r->n - 1;

    for (int step = 0; step <= last; step++) {
        put_copy(h, core, COLLECTIVE_HBM, block_at(r, core - step), own_at(r, step), r->block,
                 LOADED);
        if (step > 0) {
            put_wait(h, core, ARRIVED + (step - 1) % 2, r->block / 32);
            put(h, core, (struct collective_op){
                .kind = COLLECTIVE_ADD, .from = slot_at(r, step - 1), .to = own_at(r, step),
                .bytes = r->block});
            put(h, core, (struct collective_op){
                .kind = COLLECTIVE_SIGNAL, .flag = CREDIT, .value = 1,
                .peer = (core + last) % r->n});
        }
        if (step >= 2 && step < last)
            put_wait(h, core, CREDIT, 1);
        if (step < last)
            put_send(h, r, core, COLLECTIVE_VMEM, own_at(r, step), slot_at(r, step),
                     ARRIVED + step % 2);
    }
    put_wait(h, core, CREDIT, r->n > 2 ? 2 : 1);
    put_copy(h, core, COLLECTIVE_VMEM, own_at(r, last), block_at(r, core - last), r->block,
             STORED);
}

static void all_gather(struct hand *h, const struct ring *r, int core)
{
    for (int step = 0; step < r->n - 1; step++) {
        int64_t at = block_at(r, core + 1 - step);

        put_send(h, r, core, COLLECTIVE_HBM, at, at, GATHERED + step);
        put_wait(h, core, GATHERED + step, r->block / 32);
    }
}

static void make_ring(struct hand *h, const struct ring *r)
{
    for (int core = 0; core < r->n; core++) {
        reduce_scatter(h, r, core);
        all_gather(h, r, core);
    }
}

/* ----- data */

static size_t element_bytes(enum collective_type type) { return type == COLLECTIVE_F32 ? 4 : 2; }

static void random_array(void *to, size_t count, enum collective_type type, struct rng *random)
{
    for (size_t i = 0; i < count; i++) {
        float x = ((float)rng_below(random, 2000001) - 1000000) / 999983;

        if (type == COLLECTIVE_F32)
            ((float *)to)[i] = x;
        else
            ((uint16_t *)to)[i] = (uint16_t)(f32_bits(f32_round_to_bf16(x)) >> 16);
    }
}

static double element(const void *array, size_t i, enum collective_type type)
{
    return type == COLLECTIVE_F32
           ? (double)((const float *)array)[i]
           : (double)f32_from_bits((uint32_t)((const uint16_t *)array)[i] << 16);
}

/* any order of n - 1 additions, each rounded once (of bf16: to f32, then to bf16) */
static double bound(int n, double magnitudes, enum collective_type type)
{
    double u = type == COLLECTIVE_F32 ? ldexp(1, -24) : ldexp(1, -8) * 1.0001;

    return (n - 1) * u / (1 - (n - 1) * u) * magnitudes;
}

static void check_sums(struct rig *r, const struct ring *ring, enum collective_type type,
                       unsigned char *const in[])
{
    size_t bytes = (size_t)(ring->n * ring->block), count = bytes / element_bytes(type);
    unsigned char *first = mem_alloc(bytes), *out = mem_alloc(bytes);

    for (int core = 0; core < ring->n; core++) {
        assert_int_equal(machine_hbm_read(r->m, core, 0, core ? out : first, (int64_t)bytes,
                                          &r->err), 0);
        if (core > 0)
            assert_memory_equal(first, out, bytes);
    }
    for (size_t i = 0; i < count; i++) {
        double sum = 0, magnitudes = 0;

        for (int core = 0; core < ring->n; core++) {
            sum += element(in[core], i, type);
            magnitudes += fabs(element(in[core], i, type));
        }
        if (fabs(element(first, i, type) - sum) > bound(ring->n, magnitudes, type))
            fail_msg("%s element %zu is %.9g, not %.9g", r->slice.name, i,
                     element(first, i, type), sum);
    }
    mem_free(first);
    mem_free(out);
}

static struct collective_program *load(struct rig *r, const struct hand *h,
                                       enum collective_type type, int64_t table)
{
    struct collective_lists lists = {.type = type, .flag_count = FLAG_COUNT,
                                     .table_address = table, .count = hand_count, .op = hand_op,
                                     .context = h};
    struct collective_program *p = collective_program_of_lists(&lists, r->m, &r->arena, &r->err);

    if (!p)
        fail_msg("%s", r->err.msg);
    return p;
}

static void run(struct rig *r, struct collective_program *p)
{
    if (collective_program_run(p, &r->err))
        fail_msg("%s: %s", r->slice.name, r->err.msg);
    rig_check(r);
}

static void check_ring(const char *slice, int n, int64_t block, enum collective_type type,
                       const char *set)
{
    struct rig_options options = {.check_races = true, .check_unwritten = true,
                                  .cycle_limit = 100000000, .set = {set}};
    struct ring ring = {n, block};
    struct hand h = {.count = {0}};
    unsigned char *in[16];
    struct rng random;
    struct rig r;

    rng_init(&random, 7);
    rig_open(&r, slice, &options);
    make_ring(&h, &ring);
    for (int core = 0; core < n; core++) {
        in[core] = mem_alloc((size_t)(n * block));
        random_array(in[core], (size_t)(n * block) / element_bytes(type), type, &random);
        machine_hbm_write(r.m, core, 0, in[core], n * block, &r.err);
    }
    run(&r, load(&r, &h, type, n * block));
    check_sums(&r, &ring, type, in);
    for (int core = 0; core < n; core++)
        mem_free(in[core]);
    hand_fini(&h);
    rig_close(&r);
}

TEST(a_ring_adds_up_on_every_chip)
{
    static const struct { const char *slice; int n; } cases[] = {
        {"tiny-2", 2}, {"v2-8", 4}, {"v3-8", 8}, {"v4-8", 4}, {"v5e-4", 4}, {"v5p-8", 8},
        {"v6e-8", 8}, {"v7x-4", 8}};
    /* less than a round, rounds and a rest, whole rounds */
    static const int64_t rows[] = {3, 77, 128};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t j = 0; j < 2 * COUNT_OF(rows); j++)
            check_ring(cases[i].slice, cases[i].n, rows[j / 2]
                       * 512, j % 2 ? COLLECTIVE_BF16 : COLLECTIVE_F32, NULL);
}

/* ----- the same cycles */

static cycle_t ring_cycles(const char *slice, int n, int64_t block,
                           const struct rig_options *options, struct machine_memo_stats *memo)
{
    struct ring ring = {n, block};
    struct hand h = {.count = {0}};
    cycle_t cycles;
    struct rig r;

    rig_open(&r, slice, options);
    make_ring(&h, &ring);
    run(&r, load(&r, &h, COLLECTIVE_BF16, n * block));
    cycles = machine_cycles(r.m);
    if (memo)
        *memo = machine_memo_stats(r.m);
    hand_fini(&h);
    rig_close(&r);
    return cycles;
}

TEST(cycles_are_the_same_in_every_mode_and_with_the_adding_loop_skipped)
{
    static const struct rig_options ways[] = {
        {.cycle_limit = 100000000},
        {.cycle_limit = 100000000, .thread_count = 2},
        {.cycle_limit = 100000000, .mode = MODE_TIMING},
        {.cycle_limit = 100000000, .mode = MODE_TIMING, .thread_count = 2},
        {.cycle_limit = 100000000, .mode = MODE_TIMING, .no_memo = true}};
    static const char *const slices[] = {"v3-8", "v7x-4"};

    for (size_t s = 0; s < COUNT_OF(slices); s++) {
        cycle_t first = ring_cycles(slices[s], 8, 1024 * 1024, &ways[0], NULL);

        for (size_t i = 1; i < COUNT_OF(ways); i++) {
            struct machine_memo_stats memo;

            assert_int_equal(ring_cycles(slices[s], 8, 1024 * 1024, &ways[i], &memo), first);
            assert_true((memo.skips > 0) == (ways[i].mode == MODE_TIMING && !ways[i].no_memo));
        }
    }
}

/* ----- costs */

static cycle_t list_cycles(const char *chip, const struct hand *h, enum collective_type type)
{
    struct rig_options options = {.cycle_limit = 100000000};
    cycle_t cycles;
    struct rig r;

    rig_open(&r, chip, &options);
    run(&r, load(&r, h, type, 1 << 20));
    cycles = machine_counters(r.m, 0)->issue_cycles;
    for (int i = 0; i < STALL_COUNT; i++)
        cycles += rig_stall(&r, 0, (enum stall_reason)i);
    rig_close(&r);
    return cycles;
}

/* what `more` operations of a kind add to a list of `count` waits that hold at once */
static cycle_t added_cycles(const char *chip, const struct collective_op *op, int count, int more,
                            enum collective_type type)
{
    struct hand h = {.count = {0}};
    cycle_t before;

    for (int i = 0; i < count; i++)
        put_wait(&h, 0, LOADED, 0);
    before = list_cycles(chip, &h, type);
    for (int i = 0; i < more; i++)
        put(&h, 0, *op);
    before = list_cycles(chip, &h, type) - before;
    hand_fini(&h);
    return before;
}

static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

static void check_additions(const char *chip, enum collective_type type,
                            const struct collective_overheads *o)
{
    for (int64_t rows = 1; rows < 250; rows += 37) {
        struct collective_op add = {.kind = COLLECTIVE_ADD, .from = 128 * 1024,
                                    .bytes = rows * 512};

        assert_int_equal(added_cycles(chip, &add, 1, 1, type),
                         collective_add_cycles(o, rows * 512));
    }
}

static void check_costs(const char *chip, enum collective_type type)
{
    const struct collective_op wait = {.kind = COLLECTIVE_WAIT, .flag = LOADED};
    struct collective_overheads o;
    struct hand none = {.count = {0}};
    struct rig r;

    rig_open(&r, chip, NULL);
    collective_program_overheads(&r.chip, type, &o);
    rig_close(&r);
    for (int kind = 0; kind < COLLECTIVE_OP_KIND_COUNT; kind++)
        assert_true(o.op_cycles[kind] > 0 && o.op_cycles[kind] <= 34);
    assert_int_equal(added_cycles(chip, &wait, 0, 10, type), 10 * o.op_cycles[COLLECTIVE_WAIT]);
    assert_int_equal(added_cycles(chip, &wait, o.page_ops - 3, 10, type),
                     10 * o.op_cycles[COLLECTIVE_WAIT] + o.page_cycles);
    /* the end costs what a page costs, up to where it is told which: never more */
    assert_true(list_cycles(chip, &none, type) > o.start_cycles);
    assert_true(list_cycles(chip, &none, type) < o.start_cycles + o.page_cycles);
    check_additions(chip, type, &o);
}

TEST(operations_cost_what_the_overheads_say)
{
    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        check_costs(chips[i], COLLECTIVE_F32);
        check_costs(chips[i], COLLECTIVE_BF16);
    }
}

/* f32: as fast as the slots for loads and stores allow, two loads and a store per tile */
TEST(the_adding_loop_keeps_the_load_slots_busy)
{
    static const struct { const char *chip; double tile_cycles; } cases[] = {
        {"v3", 2}, {"v5e", 1}, {"v6e", 0.75}, {"v7x", 0.75}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct collective_overheads o;
        struct rig r;

        rig_open(&r, cases[i].chip, NULL);
        collective_program_overheads(&r.chip, COLLECTIVE_F32, &o);
        assert_true((double)o.add_round_cycles * 4096 / (double)o.add_round_bytes
                    == cases[i].tile_cycles);
        rig_close(&r);
    }
}

/* ----- long lists */

/* thousands of operations: pages go through SMEM, one copy in ten has its bytes looked at */
static void check_long_list(const char *chip, int count)
{
    struct rig_options options = {.check_races = true, .check_unwritten = true,
                                  .cycle_limit = 100000000};
    struct hand h = {.count = {0}};
    int32_t word;
    struct rig r;

    rig_open(&r, chip, &options);
    for (int i = 0; i < count; i++) {
        put_copy(&h, 0, COLLECTIVE_HBM, 32 * i, 32 * (i % 1000), 32, LOADED);
        put_copy(&h, 0, COLLECTIVE_VMEM, 32 * (i % 1000), 1 << 19 | 32 * i, 32, STORED);
        machine_hbm_write(r.m, 0, 32 * i, &i, sizeof(i), &r.err);
    }
    run(&r, load(&r, &h, COLLECTIVE_F32, 1 << 20));
    for (int i = 0; i < count; i += 10) {
        machine_hbm_read(r.m, 0, 1 << 19 | 32 * i, &word, sizeof(word), &r.err);
        assert_int_equal(word, i);
    }
    hand_fini(&h);
    rig_close(&r);
}

TEST(lists_of_any_length_are_carried_out)
{
    struct collective_overheads o;
    struct rig r;

    rig_open(&r, "tiny", NULL);
    collective_program_overheads(&r.chip, COLLECTIVE_F32, &o);
    rig_close(&r);
    for (int count = 0; count <= 4 * o.page_ops; count++)
        check_long_list("tiny", count);
    check_long_list("v3", 2000);
    check_long_list("v7x", 2000);
}

TEST(a_list_is_carried_out_again_at_the_next_launch)
{
    struct rig_options options = {.cycle_limit = 100000000};
    struct hand h = {.count = {0}};
    struct collective_program *p;
    cycle_t cycles;
    struct rig r;

    rig_open(&r, "v3", &options);
    for (int i = 0; i < 500; i++)
        put_copy(&h, 0, COLLECTIVE_HBM, 32 * i, 0, 32, LOADED);
    p = load(&r, &h, COLLECTIVE_F32, 1 << 20);
    run(&r, p);
    cycles = machine_cycles(r.m);
    run(&r, p);
    assert_int_equal(machine_cycles(r.m), cycles);
    hand_fini(&h);
    rig_close(&r);
}

/* ----- mistakes */

static void check_fault(struct hand *h, const char *first, const char *second)
{
    struct rig_options options = {.cycle_limit = 100000000};
    struct rig r;

    rig_open(&r, "v3", &options);
    assert_int_equal(collective_program_run(load(&r, h, COLLECTIVE_F32, 1 << 20), &r.err), -1);
    if (!strstr(r.err.msg, first) || !strstr(r.err.msg, second))
        fail_msg("\"%s\" has no \"%s\" or no \"%s\"", r.err.msg, first, second);
    hand_fini(h);
    rig_close(&r);
}

TEST(a_fault_says_which_operation_it_was)
{
    struct hand wait = {.count = {0}}, copy = {.count = {0}}, add = {.count = {0}};

    for (int i = 0; i < 200; i++)
        put_wait(&wait, 0, LOADED, 0);
    put_wait(&wait, 0, CREDIT, 7);
    check_fault(&wait, "deadlock", "; core 0 was at operation 200 of its list, a wait (flag 4,"
                " core 0, value 7, 0 bytes)");
    put_copy(&copy, 0, COLLECTIVE_HBM, 1 << 20, 1 << 30, 32, LOADED);
    check_fault(&copy, "vmem destination granules", "operation 0 of its list, a copy (flag 0");
    put(&add, 0, (struct collective_op){.kind = COLLECTIVE_ADD, .from = 1 << 30, .bytes = 65536});
    check_fault(&add, "vmem address", "operation 0 of its list, an addition");
}

static void check_refused(const char *set, int flag_count, int64_t table, const char *message)
{
    struct rig_options options = {.set = {set}};
    struct hand h = {.count = {0}};
    struct collective_lists lists = {.flag_count = flag_count, .table_address = table,
                                     .count = hand_count, .op = hand_op, .context = &h};
    struct rig r;

    rig_open(&r, "v3", &options);
    put_wait(&h, 0, LOADED, 0);
    assert_null(collective_program_of_lists(&lists, r.m, &r.arena, &r.err));
    assert_string_equal(r.err.msg, message);
    hand_fini(&h);
    rig_close(&r);
}

TEST(what_does_not_fit_is_refused)
{
    check_refused(NULL, 1024, 0, "the collective needs 1025 sync flags; TPU v3 has 1024");
    check_refused(NULL, 1, (int64_t)16 << 30, "no room for the table of core 0: 1 operations take"
                  " 6144 bytes of HBM behind the arrays, which end at 17179869184 of 17179869184");
    check_refused("core.vregs=8", 1, 0,
                  "TPU v3 has too few vector registers to add two arrays; 16 are needed");
}

TEST(chips_with_other_slots_add_up_too)
{
    static const char *const sets[] = {"core.branch_delay_bundles=0", "core.branch_delay_bundles=8",
                                       "slots.valu=1", "core.vregs=16", "slots.load=4",
                                       "smem.bytes=1024", "scalar.sld_cycles=20",
                                       "vmem.load_cycles=9", "core.imem_bundles=64"};

    check_ring("v3-8", 4, 77 * 512, COLLECTIVE_F32, "slots.scalar=1");
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        check_ring("v3-8", 4, 77 * 512, COLLECTIVE_F32, sets[i]);
        check_ring("v3-8", 2, 200 * 512, COLLECTIVE_BF16, sets[i]);
        check_ring("v7x-4", 4, 77 * 512, COLLECTIVE_BF16, sets[i]);
    }
}

/* ----- many cores */

static int64_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size, resident = 0;

    if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * 4096;
}

/* whole pods must fit a host: nothing that holds lanes may be touched in timing mode */
TEST(a_core_takes_little_memory_in_timing_mode)
{
    struct rig_options options = {.mode = MODE_TIMING};
    struct hand h = {.count = {0}};
    int64_t before = resident_bytes();
    struct rig r;

#if SANITIZED_ADDRESS || SANITIZED_THREAD
    SKIP("sanitizers take memory of their own");
#endif
    if (before == 0)
        SKIP("this host does not tell how much memory is used");
    rig_open(&r, "v4-512", &options);
    put_wait(&h, 0, LOADED, 0);
    run(&r, load(&r, &h, COLLECTIVE_F32, 1 << 20));
    assert_in_range((resident_bytes() - before) / machine_core_count(r.m), 10 * KIB, 400 * KIB);
    hand_fini(&h);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_takes_little_memory_in_timing_mode),   /* while the heap is small */
        cmocka_unit_test(a_ring_adds_up_on_every_chip),
        cmocka_unit_test(cycles_are_the_same_in_every_mode_and_with_the_adding_loop_skipped),
        cmocka_unit_test(operations_cost_what_the_overheads_say),
        cmocka_unit_test(the_adding_loop_keeps_the_load_slots_busy),
        cmocka_unit_test(lists_of_any_length_are_carried_out),
        cmocka_unit_test(a_list_is_carried_out_again_at_the_next_launch),
        cmocka_unit_test(a_fault_says_which_operation_it_was),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(chips_with_other_slots_add_up_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
