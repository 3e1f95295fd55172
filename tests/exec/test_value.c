/* Values that stay in a simulated memory from launch to launch, beside those that come from the host. */
#include "exec/executable.h"
#include "exec/resident.h"
#include "tests/test.h"

#include <string.h>

enum { ROWS = 500, COLUMNS = 200, COUNT = ROWS * COLUMNS };     /* neither fills its tiles */

/* the second takes the array as the first left it, the third in another order; the last is of words */
static const char more[] =
    "HloModule more, input_output_alias={ {}: (0, {}, may-alias) }\n"
    "ENTRY e { p = f32[500,200] parameter(0) c = f32[] constant(1) b = f32[500,200] broadcast(c), "
    "dimensions={} ROOT r = f32[500,200] add(p, b) }\n";
static const char halves[] =
    "HloModule halves\nENTRY e { x = f32[64,64] parameter(0) p = f32[500,200] parameter(1) "
    "c = f32[] constant(0.5) b = f32[500,200] broadcast(c), dimensions={} "
    "m = f32[500,200] multiply(p, b) ROOT r = (f32[500,200], f32[64,64]) tuple(m, x) }\n";
static const char words[] = "HloModule words\nENTRY e { p = f32[500,200] parameter(0) "
                            "ROOT r = s32[500,200] convert(p) }\n";

struct bench {
    struct arena arena;
    struct slice slice;
    struct chip chip;
};

static void make(struct executable *x, const char *text, struct bench *b)
{
    struct executable_settings settings = {.slice = &b->slice, .chip = &b->chip,
                                           .engine = {.mode = MODE_BOTH, .thread_count = 1}};
    enum executable_stage stage;
    struct err e = {0};

    if (executable_make(x, &settings, text, strlen(text), "m", &stage, &e))
        fail_msg("%s", e.msg);
}

static void open_bench(struct bench *b)
{
    struct err e = {0};

    arena_init(&b->arena);
    if (slice_parse(&b->slice, "v5e", &e) || chip_load_builtin(&b->chip, "v5e", NULL, &b->arena, &e)
        || slice_fit(&b->slice, &b->chip, &e))
        fail_msg("%s", e.msg);
}

static void launch(struct executable *x, struct value **in, struct value **out)
{
    struct value *const *const argument[] = {in}, *const *const result[] = {out};
    struct err e = {0};

    if (executable_launch(x, NULL, argument, result, &e))
        fail_msg("%s", e.msg);
}

static float *filled(struct value *v, size_t count)
{
    float *data;

    value_init(v, count * sizeof(*data));
    data = value_room(v);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)i / 8;
    return data;
}

TEST(results_stay_on_the_device_and_are_read_there)
{
    struct executable add, half, convert;
    struct value v[4], small, out[2], integers;
    struct bench b;
    const float *got;

    open_bench(&b);
    make(&add, more, &b);
    make(&half, halves, &b);
    make(&convert, words, &b);
    filled(&v[0], COUNT);
    filled(&small, 64 * 64);
    for (int i = 0; i < 3; i++) {
        value_init(&v[i + 1], COUNT * 4);
        launch(&add, (struct value *[]){&v[i]}, (struct value *[]){&v[i + 1]});
        assert_non_null(v[i + 1].resident);
        assert_null(v[i + 1].data);
    }
    value_init(&out[0], COUNT * 4);
    value_init(&out[1], 64 * 64 * 4);
    value_init(&integers, COUNT * 4);
    launch(&half, (struct value *[]){&small, &v[3]}, (struct value *[]){&out[0], &out[1]});
    launch(&convert, (struct value *[]){&out[0]}, (struct value *[]){&integers});
    assert_null(out[1].resident);       /* a page would be more than it has */
    executable_fini(&add);              /* what was left outlives machine and program */
    executable_fini(&half);
    executable_fini(&convert);
    for (int k = 1; k < 4; k++) {
        got = value_data(&v[k]);
        for (int i = 0; i < COUNT; i++)
            assert_true(got[i] == (float)i / 8 + (float)k);
    }
    got = value_data(&out[0]);
    for (int i = 0; i < COUNT; i++) {
        assert_true(got[i] == ((float)i / 8 + 3) / 2);
        assert_int_equal(((const int32_t *)value_data(&integers))[i], (int32_t)got[i]);
    }
    assert_memory_equal(value_data(&out[1]), value_data(&small), 64 * 64 * 4);
    for (int k = 0; k < 4; k++)
        value_fini(&v[k]);
    value_fini(&small);
    value_fini(&out[0]);
    value_fini(&out[1]);
    value_fini(&integers);
    arena_fini(&b.arena);
}

/* wherever it stood in its pages, and wherever it goes */
TEST(pages_go_to_other_addresses)
{
    const struct machine_options options = {.mode = MODE_BOTH, .thread_count = 1};
    const int64_t from = 3 * 4096, to[] = {(1 << 24) + 3 * 4096, (1 << 24) + 5 * 4096};
    const struct shape shape = {.dtype = DTYPE_F32, .rank = 2, .dim = {ROWS, COLUMNS}};
    struct array array;
    struct machine *m;
    struct resident *r;
    struct bench b;
    struct err e = {0};
    unsigned char *tiles, *got;
    float *dense;

    open_bench(&b);
    m = machine_create(&b.slice, &b.chip, &options, &e);
    array_init(&array, "a", &shape, NULL);
    array.address = from;
    tiles = arena_alloc(&b.arena, (size_t)array.bytes);
    got = arena_alloc(&b.arena, (size_t)array.bytes);
    dense = arena_alloc(&b.arena, COUNT * 4);
    for (int64_t i = 0; i < array.bytes; i++)
        tiles[i] = (unsigned char)(i * 7 + i / 4096);
    assert_int_equal(machine_hbm_write(m, 0, from, tiles, array.bytes, &e), 0);
    r = resident_take(m, 0, &array, &e);
    assert_non_null(r);
    memset(got, 0, (size_t)array.bytes);
    assert_int_equal(machine_hbm_write(m, 0, from, got, array.bytes, &e), 0);   /* its own is kept */
    for (int k = 0; k < 2; k++) {
        assert_int_equal(resident_put(r, m, 0, to[k], &e), 0);
        assert_int_equal(machine_hbm_read(m, 0, to[k], got, array.bytes, &e), 0);
        assert_memory_equal(got, tiles, (size_t)array.bytes);
    }
    resident_unpack(r, dense);
    array_pack(&array, dense, got);
    array_unpack(&array, got, dense);
    assert_memory_equal(dense, tiles, 128 * 4);
    resident_free(r);
    machine_destroy(m);
    arena_fini(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_stay_on_the_device_and_are_read_there),
        cmocka_unit_test(pages_go_to_other_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
