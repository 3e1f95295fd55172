/* Bodies of kernels are read, printed and verified; what cannot be read is told in one message. */
#include <stdlib.h>
#include <string.h>

#include "import/mosaic/mosaic.h"
#include "stack/mosaic/mosaic_key.h"
#include "isa/file.h"
#include "tests/test.h"

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static uint8_t *body_of(const char *name, size_t *size)
{
    const char *path = arena_printf(&arena, "tests/corpus/mosaic/%s.mlirbc", name);
    struct err e = {.msg = ""};
    uint8_t *bytes;

    assert_int_equal(isa_file_read(path, &arena, &bytes, size, &e), 0);
    return bytes;
}

static struct mosaic_kernel *read_body(const char *name)
{
    struct err e = {.msg = ""};
    size_t size;
    uint8_t *bytes = body_of(name, &size);
    struct mosaic_kernel *k = mosaic_read_body(bytes, size, name, &arena, &e);

    assert_non_null(k);
    return k;
}

static void test_grid_and_windows(void **state)
{
    const struct mosaic_kernel *k = read_body("matmul");

    (void)state;
    assert_int_equal(k->grid_rank, 3);
    assert_int_equal(k->grid[0], 2);
    assert_int_equal(k->semantics[0], MOSAIC_PARALLEL);
    assert_int_equal(k->semantics[2], MOSAIC_ARBITRARY);
    assert_int_equal(k->operand_count, 3);
    assert_int_equal(k->scratch_count, 1);
    assert_int_equal(k->window[0].bound[0], 64);
    assert_int_equal(k->window[1].bound[1], 128);
}

static void test_prefetch(void **state)
{
    const struct mosaic_kernel *k = read_body("gather_blocks");

    (void)state;
    assert_int_equal(k->prefetch_count, 1);
    assert_int_equal(k->main->body->argument[1]->type.space, MOSAIC_SMEM);
}

static int count_of(const struct mosaic_block *b, enum mosaic_code code)
{
    int n = 0;

    for (int i = 0; i < b->op_count; i++) {
        n += b->op[i]->code == code;
        for (int r = 0; r < b->op[i]->region_count; r++)
            n += count_of(b->op[i]->region[r], code);
    }
    return n;
}

static void test_operations_have_places(void **state)
{
    const struct mosaic_kernel *k = read_body("copies");

    (void)state;
    assert_true(count_of(k->main->body, MOSAIC_ENQUEUE_DMA) >= 2);
    assert_int_equal(count_of(k->main->body, MOSAIC_UNKNOWN), 0);
    for (int i = 0; i < k->main->body->op_count; i++)
        if (k->main->body->op[i]->code == MOSAIC_FOR)
            assert_non_null(k->main->body->op[i]->place.file);
}

/* each number of the version's size made 19: one of them is the version */
static void test_newer_version(void **state)
{
    size_t size;
    uint8_t *bytes = body_of("add", &size);
    int version = read_body("add")->version, told = 0;

    (void)state;
    for (size_t i = 4; i < size; i++) {
        struct err e = {.msg = ""};
        uint8_t before = bytes[i];

        if (before != (uint8_t)(version * 4 + 1) && before != (uint8_t)(version * 2) &&
            before != (uint8_t)(version * 2 * 2 + 1))
            continue;
        bytes[i] = (uint8_t)(19 * 4 + 1);
        if (!mosaic_read_body(bytes, size, "add", &arena, &e))
            told += strstr(e.msg, "versions 1 to 18 are read") != NULL;
        bytes[i] = before;
    }
    assert_int_equal(told, 1);
}

static void test_broken_bodies(void **state)
{
    size_t size;
    uint8_t *bytes = body_of("masks", &size);

    (void)state;
    for (size_t cut = 0; cut < size; cut += 7) {
        struct err e = {.msg = ""};

        assert_null(mosaic_read_body(bytes, cut, "masks", &arena, &e));
        assert_true(e.msg[0] != '\0');
    }
}

static bool have_one_key(const struct mosaic_kernel *a, const struct mosaic_kernel *b)
{
    struct bytes one = {0}, other = {0};
    bool same;

    mosaic_key(a, &one);
    mosaic_key(b, &other);
    same = one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
    mem_free(one.data);
    mem_free(other.data);
    return same;
}

/* read twice they have one key, and none has that of another or of itself changed */
static void test_keys(void **state)
{
    static const char *const names[] = {"add", "gather_blocks", "matmul", "masks", "copies",
                                        "column_sums"};
    enum { COUNT = sizeof(names) / sizeof(*names) };

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        struct mosaic_kernel *k = read_body(names[i]), changed = *k;
        struct mosaic_op *op = k->main->body->op[0], was = *op;

        assert_true(have_one_key(k, read_body(names[i])));
        for (int j = 0; j < i; j++)
            assert_false(have_one_key(k, read_body(names[j])));
        changed.vmem_limit_bytes++;
        assert_false(have_one_key(k, &changed));
        op->place.line++;
        assert_false(have_one_key(k, read_body(names[i])));
        *op = was;
        if (k->operand_count && k->window[0].is_windowed) {
            struct mosaic_window *w = (struct mosaic_window *)(uintptr_t)k->window;

            w->bound[0]++;
            assert_false(have_one_key(k, read_body(names[i])));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_grid_and_windows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prefetch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_operations_have_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_newer_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
