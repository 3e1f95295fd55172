/* Do pipelines bring the right boxes to the steps and take results away, as fast as they tell? */
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "sim/machine/machine.h"
#include "stack/kernels/pipeline/pipeline.h"
#include "stack/backend/emitters.h"
#include "tests/rigs/whole_program.h"

#define LEVELS 4                        /* dimensions of an array of tiles */
#define PAIRS 3
#define TILE_WORDS 1024
#define VMEM_ARRAYS_ROW 12288

/* pair i: result = operand, tile by tile; the result has its dimensions in another order */
struct pair {
    int levels, grid[LEVELS];           /* which grid dimension moves along a level */
    int64_t size[LEVELS], box[LEVELS];
    int64_t in_stride[LEVELS], out_stride[LEVELS], tiles;
    int64_t first;                      /* tiles of both arrays before what is copied */
    int sublanes;
    bool is_short;                      /* its last box along the last level, not moved back */
    struct array in, out;
    uint32_t *from, *to, *expected;
};

struct bench {
    struct chip chip;
    struct slice slice;
    struct machine *m;
    struct arena arena;
    struct kernel_job job;
    struct pipeline pipeline;
    struct pair pair[PAIRS];
    int pairs;
    int cores;                          /* that share the work; 0: one */
    struct isa_program program[2];
};

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void open_bench(struct bench *b, const char *chip)
{
    struct err e;

    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    must(slice_parse(&b->slice, chip, &e), &e);
    must(chip_load_builtin(&b->chip, b->slice.chip_name, NULL, NULL, &e), &e);
    b->job = (struct kernel_job){.chip = &b->chip, .name = "copy", .vmem_row = 64,
                                 .vmem_rows = VMEM_ARRAYS_ROW - 64, .first_flag = 3,
                                 .flag_count = 40, .smem = 64, .smem_bytes = 4096};
    b->pipeline.job = &b->job;
}

static void close_bench(struct bench *b)
{
    machine_destroy(b->m);
    arena_fini(&b->arena);
}

static void array_of_tiles(struct array *a, int64_t tiles, enum array_space space,
                           int64_t address)
{
    struct shape s = {DTYPE_F32, 2, {tiles * 8, 128}};

    array_init(a, "a", &s, NULL);
    a->space = space;
    a->address = address;
}

/* row-major strides, the dimensions rotated by `turn` */
static void strides_of(const struct pair *p, int turn, int64_t *stride)
{
    int64_t next = 1;

    for (int i = 0; i < p->levels; i++) {
        int k = (i + turn) % p->levels;

        stride[k] = next;
        next *= p->size[k];
    }
}

static void random_pair(struct bench *b, struct pair *p, struct rng *r)
{
    p->levels = 1 + (int)rng_below(r, LEVELS);
    p->tiles = 1;
    p->first = rng_below(r, 2) ? rng_below(r, 9) : 0;
    p->sublanes = rng_below(r, 4) == 0 && p->levels < 3 ? 1 + (int)rng_below(r, 7) : 0;
    for (int i = 0; i < p->levels; i++) {
        int64_t count;

        p->grid[i] = (int)rng_below(r, (uint32_t)b->pipeline.dims);
        for (int k = 0; k < i; k++)
            if (p->grid[k] == p->grid[i])
                p->grid[i] = -1;
        count = p->grid[i] < 0 ? 1 : b->pipeline.count[p->grid[i]];
        p->box[i] = 1 + rng_below(r, p->levels < 4 ? 3 : 2);
        p->size[i] = p->box[i] * count;
        if (count > 1 && rng_below(r, 3) == 0)
            p->size[i] -= rng_below(r, (uint32_t)p->box[i]);
        p->tiles *= p->size[i];
    }
    p->is_short = rng_below(r, 2);
    strides_of(p, 0, p->in_stride);
    strides_of(p, 1, p->out_stride);
}

static struct pipeline_window window_of(const struct bench *b, const struct pair *p, bool is_result)
{
    const int64_t *stride = is_result ? p->out_stride : p->in_stride;
    struct pipeline_window w = {.array = is_result ? &p->out : &p->in, .is_result = is_result,
                                .first = p->first, .box_dims = p->levels,
                                .valid_sublanes = p->sublanes};

    for (int i = 0; i < p->levels; i++) {
        w.box_count[i] = p->box[i];
        w.box_stride[i] = stride[i];
        if (p->grid[i] < 0)
            continue;
        w.step[p->grid[i]] = p->box[i] * stride[i];
        if (p->size[i] == p->box[i] * b->pipeline.count[p->grid[i]])
            continue;
        if (p->is_short && i == p->levels - 1) {
            w.short_dim = p->grid[i];
            w.short_count = p->box[i] * b->pipeline.count[p->grid[i]] - p->size[i];
        } else {
            w.limit[p->grid[i]] = (p->size[i] - p->box[i]) * stride[i];
        }
    }
    return w;
}

static void make_arrays(struct bench *b, struct pair *p, struct rng *r, int64_t *hbm,
                        int64_t *vmem)
{
    int64_t tiles = p->first + p->tiles;

    for (int i = 0; i < 2; i++) {
        bool is_in_place = rng_below(r, 4) == 0 && !(i == 1 && (p->is_short || b->cores));
        int64_t *next = is_in_place ? vmem : hbm;

        array_of_tiles(i ? &p->out : &p->in, tiles, is_in_place ? SPACE_VMEM : SPACE_HBM,
                       *next);
        *next += tiles * ARRAY_TILE_BYTES;
    }
    p->from = arena_array(&b->arena, (size_t)(tiles * TILE_WORDS), sizeof(*p->from));
    p->to = arena_array(&b->arena, (size_t)(tiles * TILE_WORDS), sizeof(*p->to));
    p->expected = arena_array(&b->arena, (size_t)(tiles * TILE_WORDS), sizeof(*p->to));
    for (int64_t i = 0; i < tiles * TILE_WORDS; i++)
        p->from[i] = (uint32_t)rng_next(r) >> 8;
}

/* what must come out: every element of the array, each at its other place */
static void expect(struct pair *p)
{
    int64_t n[LEVELS] = {0};

    for (int64_t t = 0; t < p->tiles; t++) {
        int64_t rest = t, in = 0, out = 0;
        int sublanes = p->sublanes ? p->sublanes : 8;

        for (int i = 0; i < p->levels; i++) {
            n[i] = rest % p->size[i];
            rest /= p->size[i];
            in += n[i] * p->in_stride[i];
            out += n[i] * p->out_stride[i];
        }
        memcpy(p->expected + (p->first + out) * TILE_WORDS,
               p->from + (p->first + in) * TILE_WORDS, (size_t)sublanes * 512);
    }
}

static void emit_copy(struct bench *b, struct vcode *c, const struct pair *p, int in)
{
    const struct pipeline *f = &b->pipeline;
    int64_t boxes = 1;

    for (int i = 0; i < p->levels; i++)
        boxes *= p->box[i];
    for (int64_t t = 0; t < boxes; t++) {
        int64_t rest = t, from = pipeline_row(f, in), to = pipeline_row(f, in + 1);
        int value;

        for (int i = 0; i < p->levels; i++) {
            from += rest % p->box[i] * pipeline_stride(f, in, i);
            to += rest % p->box[i] * pipeline_stride(f, in + 1, i);
            rest /= p->box[i];
        }
        value =
            emit_vld(c, isa_rows_at(operand_base(pipeline_base(f, in)), from), VCODE_REGION_ANY);
        emit_vst(c,
                 isa_rows_some(operand_base(pipeline_base(f, in + 1)), to,
                               p->sublanes ? (1 << p->sublanes) - 1 : 0xff),
                 value, VCODE_REGION_ANY);
    }
}

static void compile(struct bench *b, int core)
{
    struct vcode_stats stats;
    struct vcode c;
    struct err e;

    vcode_init(&c, &b->arena);
    vcode_begin_block(&c);
    pipeline_share(&b->pipeline, core);
    if (!b->pipeline.is_idle) {
        must(pipeline_begin(&b->pipeline, &c, &b->arena, &e), &e);
        for (int i = 0; i < b->pairs; i++)
            emit_copy(b, &c, &b->pair[i], 2 * i);
        pipeline_end(&b->pipeline, &c);
    }
    must(whole_program(&c, &b->chip, 0, 8, &b->arena, &b->program[core], &stats, &e), &e);
    vcode_fini(&c);
}

static void transfer(struct bench *b, const struct array *a, uint32_t *words, bool is_write)
{
    struct err e;
    int (*const write[])(struct machine *, int, int64_t, const void *, int64_t, struct err *) = {
        [SPACE_HBM] = machine_hbm_write, [SPACE_VMEM] = machine_vmem_write};
    int (*const read[])(struct machine *, int, int64_t, void *, int64_t, struct err *) = {
        [SPACE_HBM] = machine_hbm_read, [SPACE_VMEM] = machine_vmem_read};

    for (int core = 0; core == 0 || (core < b->cores && is_write); core++)
        must(is_write ? write[a->space](b->m, core, a->address, words, a->bytes, &e)
                      : read[a->space](b->m, core, a->address, words, a->bytes, &e), &e);
}

static cycle_t run(struct bench *b, const struct machine_options *options)
{
    struct err e;

    b->m = machine_create(&b->slice, &b->chip, options, &e);
    if (!b->m)
        fail_msg("%s", e.msg);
    for (int i = 0; i < b->pairs && options->mode == MODE_BOTH; i++) {
        transfer(b, &b->pair[i].in, b->pair[i].from, true);
        transfer(b, &b->pair[i].out, b->pair[i].to, true);
    }
    for (int core = 0; core == 0 || core < b->cores; core++)
        must(machine_load(b->m, core, &b->program[core], &e), &e);
    must(machine_run(b->m, &e), &e);
    return machine_cycles(b->m);
}

/* `cores`: 0 for a job of one core, 2: each takes a part; nothing orders them */
static void check_random_pipeline(const char *chip, int cores, uint64_t seed)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto", .check_races = true,
                                      .shared_hbm = cores > 0, .cycle_limit = 10000000};
    int64_t hbm = 1 << 16, vmem = VMEM_ARRAYS_ROW * ARRAY_ROW_BYTES;
    struct bench b;
    struct rng r;

    rng_init(&r, seed);
    open_bench(&b, chip);
    b.cores = b.job.core_count = cores;
    b.pipeline.dims = 1 + (int)rng_below(&r, 4);
    for (int d = 0; d < b.pipeline.dims; d++)
        b.pipeline.count[d] = 1 + rng_below(&r, b.pipeline.dims > 2 ? 3 : 6);
    b.pairs = 1 + (int)rng_below(&r, PAIRS);
    for (int i = 0; i < b.pairs; i++) {
        random_pair(&b, &b.pair[i], &r);
        for (int k = 0; k < b.pair[i].levels; k++)  /* boxes that overlap race, for equal values */
            if (b.pair[i].grid[k] >= 0 && b.pair[i].size[k] % b.pair[i].box[k]
                && !(b.pair[i].is_short && k == b.pair[i].levels - 1))
                options.check_races = false;
        make_arrays(&b, &b.pair[i], &r, &hbm, &vmem);
        expect(&b.pair[i]);
        b.pipeline.window[b.pipeline.window_count++] = window_of(&b, &b.pair[i], false);
        b.pipeline.window[b.pipeline.window_count++] = window_of(&b, &b.pair[i], true);
    }
    assert_true(pipeline_vmem_rows(&b.pipeline) <= b.job.vmem_rows);
    for (int core = 0; core == 0 || core < cores; core++)
        compile(&b, core);
    run(&b, &options);
    for (int i = 0; i < b.pairs; i++) {
        transfer(&b, &b.pair[i].out, b.pair[i].to, false);
        if (memcmp(b.pair[i].to, b.pair[i].expected,
                   (size_t)((b.pair[i].first + b.pair[i].tiles) * TILE_WORDS) * 4))
            fail_msg("%s, seed %llu: pair %d is not copied", chip, (unsigned long long)seed, i);
    }
    close_bench(&b);
}

TEST(random_pipelines_copy_every_tile_to_its_place)
{
    static const char *const chips[] = {"v3-2", "v5e-1", "v6e-1", "v2-2"};

    for (uint64_t seed = 1; seed <= 160; seed++)
        check_random_pipeline(chips[seed % 4], 0, seed);
}

TEST(two_cores_copy_every_tile_between_them)
{
    for (uint64_t seed = 1; seed <= 120; seed++)
        check_random_pipeline(seed % 2 ? "v4-2" : "v5p-2", 2, seed);
}

/* operand and result share memory; the last box overlaps the one before; every step adds 1 */
TEST(an_array_updated_in_place_is_updated_once_per_box)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto",
                                      .cycle_limit = 10000000};
    struct bench b;
    struct pair *p = &b.pair[0];
    struct vcode_stats stats;
    struct vcode c;
    struct err e;

    open_bench(&b, "v3-2");
    *p = (struct pair){.levels = 1, .size = {29}, .box = {4}, .in_stride = {1},
                       .out_stride = {1}, .tiles = 29};
    b.pairs = 1;
    b.pipeline.dims = 1;
    b.pipeline.count[0] = 8;
    array_of_tiles(&p->in, 29, SPACE_HBM, 4096);
    array_of_tiles(&p->out, 29, SPACE_HBM, 4096);
    p->from = p->to = arena_alloc(&b.arena, 29 * 4096);
    b.pipeline.window[0] = window_of(&b, p, false);
    b.pipeline.window[1] = window_of(&b, p, true);
    b.pipeline.window_count = 2;
    vcode_init(&c, &b.arena);
    must(pipeline_begin(&b.pipeline, &c, &b.arena, &e), &e);
    for (int t = 0; t < 4; t++) {
        int v = emit_vld(&c,
                         isa_rows_at(operand_base(pipeline_base(&b.pipeline, 0)),
                                     pipeline_row(&b.pipeline, 0) + 8 * t),
                         0);

        v = emit_vadd_s32(&c, R(v), I(1));
        emit_vst(&c,
                 isa_rows_at(operand_base(pipeline_base(&b.pipeline, 1)),
                             pipeline_row(&b.pipeline, 1) + 8 * t),
                 v, 1);
    }
    pipeline_end(&b.pipeline, &c);
    must(whole_program(&c, &b.chip, 0, 8, &b.arena, &b.program[0], &stats, &e), &e);
    vcode_fini(&c);
    run(&b, &options);
    transfer(&b, &p->out, p->to, false);
    for (int i = 0; i < 29 * TILE_WORDS; i++)
        assert_int_equal(p->to[i], 1);
    close_bench(&b);
}

/* copies alone, `count` boxes of `tiles` tiles in and out */
static void check_copy_cycles(const char *chip, int64_t count, int64_t tiles)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto", .mode = MODE_TIMING};
    int64_t exposed, told;
    struct bench b;
    struct pair *p = &b.pair[0];
    cycle_t cycles;

    open_bench(&b, chip);
    *p = (struct pair){.levels = 1, .size = {count * tiles}, .box = {tiles}, .in_stride = {1},
                       .out_stride = {1}, .tiles = count * tiles};
    b.pairs = 1;
    b.pipeline.dims = 1;
    b.pipeline.count[0] = count;
    array_of_tiles(&p->in, p->tiles, SPACE_HBM, 0);
    array_of_tiles(&p->out, p->tiles, SPACE_HBM, p->tiles * 4096);
    b.pipeline.window[0] = window_of(&b, p, false);
    b.pipeline.window[1] = window_of(&b, p, true);
    b.pipeline.window_count = 2;
    compile(&b, 0);
    cycles = run(&b, &options);
    told = pipeline_copy_cycles(&b.pipeline, &exposed);
    assert_int_equal(pipeline_copy_bytes(&b.pipeline), 2 * count * tiles * 4096);
    print_message("%s, %lld x %lld tiles: told %lld + %lld, simulated %lld (%.1f %%)\n", chip,
                  (long long)count, (long long)tiles, (long long)told,
                  (long long)exposed, (long long)cycles,
                  100.0 * (double)(told - cycles) / (double)cycles);
    assert_in_range(told, cycles * 7 / 8, cycles * 9 / 8);
    close_bench(&b);
}

TEST(copy_cycles_are_told_within_an_eighth)
{
    static const char *const chips[] = {"v2-2", "v3-2", "v4-2", "v5e-1", "v5p-2", "v6e-1",
                                        "v7x-1"};

    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        check_copy_cycles(chips[i], 32, 256);
        check_copy_cycles(chips[i], 64, 64);
        check_copy_cycles(chips[i], 200, 4);
    }
}

TEST(too_few_flags_or_registers_are_told)
{
    struct vcode c;
    struct bench b;
    struct err e;

    open_bench(&b, "v3-2");
    b.pipeline.dims = 3;
    b.pipeline.count[0] = b.pipeline.count[1] = b.pipeline.count[2] = 2;
    b.job.flag_count = 13;
    vcode_init(&c, &b.arena);
    assert_int_equal(pipeline_begin(&b.pipeline, &c, &b.arena, &e), -1);
    assert_non_null(strstr(e.msg, "needs 14 sync flags, it has 13"));
    vcode_fini(&c);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pipelines_copy_every_tile_to_its_place),
        cmocka_unit_test(two_cores_copy_every_tile_between_them),
        cmocka_unit_test(an_array_updated_in_place_is_updated_once_per_box),
        cmocka_unit_test(copy_cycles_are_told_within_an_eighth),
        cmocka_unit_test(too_few_flags_or_registers_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
