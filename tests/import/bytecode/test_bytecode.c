/*
 * Portable artifacts are the programs that their text says, whatever version they are of; broken
 * ones are refused.
 */
#include "import/bytecode/bytecode.h"
#include "import/bytecode/stream.h"
#include "import/mlir/mlir.h"
#include "tests/rigs/broken_bytes.h"
#include "tests/rigs/mlir_same.h"
#include "tests/rigs/program_files.h"
#include "tests/test.h"

static const struct mlir_op *first_named(const struct mlir_op *op, const char *name)
{
    if (strcmp(op->name, name) == 0)
        return op;
    for (int r = 0; r < op->region_count; r++) {
        for (int b = 0; b < op->region[r].block_count; b++) {
            for (int i = 0; i < op->region[r].block[b].op_count; i++) {
                const struct mlir_op *found = first_named(op->region[r].block[b].op[i], name);

                if (found)
                    return found;
            }
        }
    }
    return NULL;
}

/* ---- whole programs */

static void check_against_text(const char *path)
{
    struct mlir_tree text, artifact;
    struct err e = {.msg = ""};
    struct arena a;
    size_t bytes, text_bytes;
    char *data = program_file_read(path, &bytes), buf[1000];
    char *said = program_file_read_beside(path, ".mlirbc", ".mlir", &text_bytes);

    assert_non_null(said);
    arena_init(&a);
    mlir_tree_init(&text, &a, path);
    mlir_tree_init(&artifact, &a, path);
    if (mlir_read_text(&text, said, text_bytes, &e) ||
        mlir_read_bytecode(&artifact, data, bytes, &e))
        fail_msg("%s: %s", path, err_format(&e, buf, sizeof(buf)));
    if (mlir_difference(&text, &artifact, buf, sizeof(buf)))
        fail_msg("%s: %s", path, buf);
    arena_fini(&a);
    free(data);
    free(said);
}

TEST(artifacts_of_all_versions_are_what_their_text_says)
{
    struct program_files f;
    int count = 0;

    program_files_own(&f, "*.mlirbc");
    for (size_t i = 0; i < f.count; i++) {
        if (strstr(f.path[i], "raw"))
            continue;
        check_against_text(f.path[i]);
        count++;
    }
    program_files_end(&f);
    assert_int_equal(count, 7);
}

/* Every section, attribute and property is read to its last byte, or it is an error. */
TEST(samples_are_read_to_their_last_byte)
{
    struct program_files f;
    char buf[1000];

    program_files_samples(&f, "programs/*/*/program.mlirbc");
    if (f.count == 0)
        SKIP("no samples of programs");
    for (size_t i = 0; i < f.count; i++) {
        size_t bytes;
        char *data = program_file_read(f.path[i], &bytes);
        struct err e = {.msg = ""};
        struct mlir_tree t;
        struct arena a;

        arena_init(&a);
        mlir_tree_init(&t, &a, f.path[i]);
        if (mlir_read_bytecode(&t, data, bytes, &e))
            fail_msg("%s", err_format(&e, buf, sizeof(buf)));
        assert_non_null(first_named(t.module[0], "func.func"));
        assert_true(a.used_bytes < 64 * bytes + (1 << 20));
        arena_fini(&a);
        free(data);
    }
    program_files_end(&f);
}

static int read_bytes(const void *data, size_t bytes, struct err *e)
{
    struct mlir_tree t;
    struct arena a;
    int status;

    *e = (struct err){.msg = ""};
    arena_init(&a);
    mlir_tree_init(&t, &a, "input");
    status = mlir_read_bytecode(&t, data, bytes, e);
    arena_fini(&a);
    return status;
}

TEST(bytecode_that_is_no_artifact_says_what_would_be_one)
{
    size_t bytes;
    char *data = program_file_read("tests/import/data/raw.mlirbc", &bytes);
    struct err e;

    assert_non_null(data);
    assert_int_equal(read_bytes(data, bytes, &e), -1);
    assert_non_null(strstr(e.msg, "portable artifact"));
    free(data);
}

/* ---- broken ones */

TEST(a_cut_artifact_is_refused_wherever_it_ends)
{
    check_cut_files(read_bytes, "tests/import/data/train_step.mlirbc", true);
}

TEST(changed_bytes_give_a_program_or_an_error)
{
    static const char *const path[] = {"tests/import/data/train_step.mlirbc", "tests/import/data/control.mlirbc",
                                        "tests/import/data/devices.mlirbc", "tests/import/data/kinds.mlirbc"};

    check_changed_files(read_bytes, path, 4, 4000);
}

/* ---- files made by hand: a section is an id, a size, bytes; numbers below 64 are 2n + 1 */

struct made {
    unsigned char data[2000];
    size_t count;
};

static void put(struct made *m, int byte) { m->data[m->count++] = (unsigned char)byte; }
static void put_number(struct made *m, int n) { put(m, 2 * n + 1); }

static void put_section(struct made *m, int id, const struct made *from)
{
    put(m, id);
    put(m, (int)(from->count << 2 & 0xff) | 2);         /* two bytes: up to 16383 */
    put(m, (int)(from->count >> 6));
    memcpy(m->data + m->count, from->data, from->count);
    m->count += from->count;
}

static void put_strings(struct made *to, const char *const *string, int count)
{
    struct made s = {.count = 0};

    put_number(&s, count);
    for (int i = count; i-- > 0;)
        put_number(&s, (int)strlen(string[i]) + 1);
    for (int i = 0; i < count; i++) {
        memcpy(s.data + s.count, string[i], strlen(string[i]) + 1);
        s.count += strlen(string[i]) + 1;
    }
    put_section(to, 0, &s);
}

/*
 * A file of version 0 with dialects builtin and vhlo, operations builtin.module and vhlo.`op`, the
 * attributes given (as bodies of the builtin dialect), and operations.
 */
static struct made make_file(const char *op, const struct made *attr, int attrs,
                             const struct made *ir)
{
    const char *string[] = {"builtin", "vhlo", "module", op};
    struct made f = {.count = 0}, s = {.count = 0}, sizes = {.count = 0}, bodies = {.count = 0};

    memcpy(f.data, "ML\xefR\1test", 10);
    f.count = 10;
    put_number(&s, 2);
    put_number(&s, 0);
    put_number(&s, 1);
    for (int d = 0; d < 2; d++) {       /* a group of one operation each */
        put_number(&s, d);
        put_number(&s, 1);
        put_number(&s, 2 + d);
    }
    put_section(&f, 1, &s);
    put_number(&sizes, attrs);
    put_number(&sizes, 0);
    put_number(&sizes, 0);
    put_number(&sizes, attrs);
    for (int i = 0; i < attrs; i++) {
        put_number(&sizes, (int)attr[i].count * 2 + 1);
        memcpy(bodies.data + bodies.count, attr[i].data, attr[i].count);
        bodies.count += attr[i].count;
    }
    put_section(&f, 2, &bodies);
    put_section(&f, 3, &sizes);
    put_section(&f, 4, ir);
    put_strings(&f, string, 4);
    return f;
}

static struct made bytes_of(int count, const int *byte)
{
    struct made m = {.count = 0};

    for (int i = 0; i < count; i++)
        put(&m, byte[i]);
    return m;
}
#define BYTES(...) \
    bytes_of((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})
#define N(n) (2 * (n) + 1)

/* a module with one operation in it: name, mask, location; then what the mask says */
static struct made module_with(struct made op)
{
    struct made ir = BYTES(N(2), N(0), 0x10, N(0), N(3), N(1), N(0), N(2));

    memcpy(ir.data + ir.count, op.data, op.count);
    ir.count += op.count;
    return ir;
}

static void expect(struct made f, const char *what)
{
    struct err e;
    int status = read_bytes(f.data, f.count, &e);

    if (!what && status)
        fail_msg("%s", e.msg);
    if (what && (!status || !strstr(e.msg, what)))
        fail_msg("\"%s\" is not in \"%s\"", what, e.msg);
}

static const int unknown_location = N(15);

TEST(an_operation_that_nobody_knows_is_named)
{
    struct made location = BYTES(unknown_location), ir = module_with(BYTES(N(1), 0, N(0)));

    expect(make_file("add_v1", &location, 1, &ir), NULL);
    expect(make_file("add_v77", &location, 1, &ir), "operation \"vhlo.add_v77\" is not known");
    expect(make_file("create_tokem_v1", &location, 1, &ir), "did you mean \"vhlo.create_token_v1\"");
}

TEST(attributes_that_hold_themselves_are_refused)
{
    struct made attr[3] = {BYTES(unknown_location), BYTES(N(0), N(1), N(2)),
                           BYTES(N(0), N(2), N(0), N(1))};
    struct made ir = module_with(BYTES(N(1), 0, N(0)));

    expect(make_file("add_v1", attr, 3, &ir), "made of itself");
    attr[2] = BYTES(N(0), N(2), N(0), N(0));
    expect(make_file("add_v1", attr, 3, &ir), NULL);
    attr[2] = BYTES(N(0), N(1), N(3));
    expect(make_file("add_v1", attr, 3, &ir), "attribute number 3 of 3");
    attr[2] = BYTES(N(0), N(1), N(0), N(0));
    expect(make_file("add_v1", attr, 3, &ir), "1 more bytes");
    attr[2] = BYTES(N(40));
    expect(make_file("add_v1", attr, 3, &ir), "attribute code 40");
}

TEST(values_and_regions_are_held_against_the_file)
{
    struct made location = BYTES(unknown_location);
    struct made ir = module_with(BYTES(N(1), 0x04, N(0), N(1), N(0)));

    expect(make_file("add_v1", &location, 1, &ir), "value number 0 of 0");
    ir = module_with(BYTES(N(1), 0x08, N(0), N(1), N(0)));
    expect(make_file("add_v1", &location, 1, &ir), "another block");
    ir = module_with(BYTES(N(1), 0x02, N(0), N(1), N(0)));
    expect(make_file("add_v1", &location, 1, &ir), "type number 0 of 0");
    ir = module_with(BYTES(N(1), 0x10, N(0), N(2), N(5)));
    expect(make_file("add_v1", &location, 1, &ir), "5 blocks");
    ir = BYTES(N(0));
    expect(make_file("add_v1", &location, 1, &ir), "no module");
    ir = module_with(BYTES(N(1), 0, N(0), N(0)));
    expect(make_file("add_v1", &location, 1, &ir), "more bytes");
}

TEST(regions_do_not_nest_without_end)
{
    struct made location = BYTES(unknown_location), ir = {.count = 0};

    put(&ir, N(2));
    for (int i = 0; i < 200; i++) {
        struct made step = BYTES(N(0), 0x10, N(0), N(3), N(1), N(0), N(2));

        memcpy(ir.data + ir.count, step.data, step.count);
        ir.count += step.count;
    }
    expect(make_file("add_v1", &location, 1, &ir), "regions within regions");
}

TEST(newer_containers_are_refused)
{
    expect(BYTES('M', 'L', 0xef, 'R', N(7), 'x', 0), "bytecode version 7");
    expect(BYTES('M', 'L', 'I', 'R'), "does not begin");
    expect(BYTES('M', 'L', 0xef, 'R', N(6), 'x'), "without an end");
}

/* ---- primitives */

TEST(numbers_have_as_many_bytes_as_their_first_byte_says)
{
    static const struct { unsigned char data[9]; size_t count; uint64_t value; } cases[] = {
        {{0x01}, 1, 0}, {{0xff}, 1, 127}, {{0x02, 0x02}, 2, 128}, {{0xfe, 0xff}, 2, 16383},
        {{0x04, 0x00, 0x02}, 3, 16384},
        {{0x80, 0, 0, 0, 0, 0, 0, 0x80}, 8, UINT64_C(1) << 55},
        {{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9, UINT64_MAX}
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err e;
        struct bytecode_fault fault = {.file = "", .err = &e};
        struct bytecode_stream s = {cases[i].data, cases[i].data, cases[i].data + cases[i].count,
                                    &fault};

        assert_true(bytecode_varint(&s) == cases[i].value);
        assert_int_equal(bytecode_left(&s), 0);
        assert_false(fault.is_failed);
        s = (struct bytecode_stream){cases[i].data, cases[i].data,
                                     cases[i].data + cases[i].count - 1, &fault};
        bytecode_varint(&s);
        assert_true(fault.is_failed);
    }
}

TEST(narrow_integers_are_extended_by_their_sign)
{
    static const unsigned char data[] = {0x0f, 0x80, 0xf4, 0xff, 0x0f};      /* the last zigzag of 65535 */
    struct err e;
    struct bytecode_fault fault = {.file = "", .err = &e};
    struct bytecode_stream s = {data, data, data + sizeof(data), &fault};

    assert_int_equal(bytecode_integer(&s, 4, true), -1);
    assert_int_equal(bytecode_integer(&s, 8, false), 128);
    assert_int_equal(bytecode_integer(&s, 16, true), -1);
    assert_false(fault.is_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(artifacts_of_all_versions_are_what_their_text_says),
        cmocka_unit_test(samples_are_read_to_their_last_byte),
        cmocka_unit_test(bytecode_that_is_no_artifact_says_what_would_be_one),
        cmocka_unit_test(a_cut_artifact_is_refused_wherever_it_ends),
        cmocka_unit_test(changed_bytes_give_a_program_or_an_error),
        cmocka_unit_test(an_operation_that_nobody_knows_is_named),
        cmocka_unit_test(attributes_that_hold_themselves_are_refused),
        cmocka_unit_test(values_and_regions_are_held_against_the_file),
        cmocka_unit_test(regions_do_not_nest_without_end),
        cmocka_unit_test(newer_containers_are_refused),
        cmocka_unit_test(numbers_have_as_many_bytes_as_their_first_byte_says),
        cmocka_unit_test(narrow_integers_are_extended_by_their_sign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
