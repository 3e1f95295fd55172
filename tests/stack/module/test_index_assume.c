/* Do gathers run in timing mode, whoever makes their indices, and read the rows assumed? */
#include "tests/test.h"

#include "base/units.h"
#include "sim/machine/machine.h"
#include "stack/hlo/rewrite.h"
#include "stack/module/index_assume.h"
#include "stack/module/module_run.h"

#define ROWS 300
#define ASKED 40

struct bench {
    struct arena arena;
    struct graph g;
    struct slice slice;
    struct chip chip;
    struct module module;
    struct machine *m;
    struct err err;
};

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void open_bench(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    graph_init(&b->g, &b->arena, "test");
    must(slice_parse(&b->slice, "v5e", &b->err), &b->err);
    must(chip_load_builtin(&b->chip, "v5e", NULL, &b->arena, &b->err), &b->err);
}

static void close_bench(struct bench *b)
{
    machine_destroy(b->m);
    graph_fini(&b->g);
    arena_fini(&b->arena);
}

static struct shape shape2(enum graph_dtype t, int64_t rows, int64_t columns)
{
    return shape_make(t, 2, (int64_t[]){rows, columns});
}

/* rows of a table; `indices` [n] */
static int gather_rows(struct graph *g, int table, int indices)
{
    struct shape s = g->node[indices].shape;
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 1,
                             .slice_sizes = {1, g->node[table].shape.dim[1]}};

    s.dim[s.rank++] = 1;
    return graph_gather(g, table, graph_reshape(g, indices, s), &d);
}

static int run(struct bench *b, const struct graph *written)
{
    struct module_settings s = {.chip = &b->chip, .codegen = CODEGEN_XLA, .replica_count = 1,
                                .assume_branch = BRANCH_TRUE};
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct index_data data = {.kind = INDEX_UNIFORM};

    must(module_compile(&b->g, &s, &b->arena, &b->module, &b->err), &b->err);
    b->m = machine_create(&b->slice, &b->chip, &options, &b->err);
    assert_non_null(b->m);
    must(module_load(&b->module, b->m, 0, &b->err), &b->err);
    if (written)
        must(index_assume_write(written, &b->module, b->m, 0, &data, &b->err), &b->err);
    return machine_run(b->m, &b->err);
}

/* the rows asked for are where a row of a matrix is largest: a kernel finds them out */
static void make_computed(struct bench *b)
{
    int table = graph_parameter(&b->g, shape2(DTYPE_F32, ROWS, 128), "table");
    int x = graph_parameter(&b->g, shape2(DTYPE_F32, ASKED, ROWS), "x");
    int at = graph_reduce(&b->g, REDUCE_ARGMAX, x, 2);

    graph_output(&b->g, gather_rows(&b->g, table, at), "rows", -1);
}

TEST(computed_indices_are_not_known_in_timing_mode)
{
    struct bench b;

    open_bench(&b);
    make_computed(&b);
    assert_int_equal(run(&b, NULL), -1);
    assert_non_null(strstr(b.err.msg, "which timing mode does not work out"));
    close_bench(&b);
}

TEST(computed_indices_become_parameters_and_what_computes_them_stays)
{
    struct bench b;

    open_bench(&b);
    make_computed(&b);
    assert_int_equal(index_assume(&b.g), 1);
    assert_int_equal(b.g.parameter_count, 3);
    assert_int_equal(b.g.output_count, 2);
    assert_string_equal(b.g.output[0].name, "rows");
    must(run(&b, &b.g), &b.err);
    assert_int_equal(index_assume(&b.g), 0);
    close_bench(&b);
}

/* elements of a short table, by comparison: no scalar reads where they are, so timing mode runs */
TEST(indices_that_are_compared_may_be_what_a_kernel_made)
{
    struct shape vector = shape_make(DTYPE_S32, 1, (int64_t[]){3000}), one = vector;
    struct graph_gather d = {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1,
                             .slice_sizes = {1}};
    struct bench b;
    int table, at;

    open_bench(&b);
    table = graph_parameter(&b.g, shape_make(DTYPE_F32, 1, (int64_t[]){200}), "table");
    at = graph_parameter(&b.g, vector, "at");
    at = graph_binary(&b.g, HLO_ADD, at, at);
    one.dim[one.rank++] = 1;
    graph_output(&b.g, graph_gather(&b.g, table, graph_reshape(&b.g, at, one), &d), "o", -1);
    assert_int_equal(index_assume(&b.g), 0);
    assert_int_equal(run(&b, NULL), 0);
    close_bench(&b);
}

TEST(written_indices_lie_inside_the_smaller_table)
{
    struct bench b;
    int32_t *index, most = 0;
    int ids, small, large;

    open_bench(&b);
    ids = graph_parameter(&b.g, shape_make(DTYPE_S32, 1, (int64_t[]){1000}), "ids");
    small = graph_parameter(&b.g, shape2(DTYPE_F32, 7, 128), "small");
    large = graph_parameter(&b.g, shape2(DTYPE_F32, ROWS, 128), "large");
    graph_output(&b.g, gather_rows(&b.g, small, ids), "a", -1);
    graph_output(&b.g, gather_rows(&b.g, large, ids), "b", -1);
    graph_output(&b.g, ids, "ids", -1);
    assert_int_equal(index_assume(&b.g), 0);
    must(run(&b, &b.g), &b.err);
    index = arena_alloc(&b.arena, (size_t)b.module.parameter[0]->bytes);
    must(machine_hbm_read(b.m, 0, b.module.parameter[0]->address, index,
                          b.module.parameter[0]->bytes, &b.err), &b.err);
    for (int i = 0; i < 1000; i++) {
        assert_in_range(index[i], 0, 6);
        most = index[i] > most ? index[i] : most;
    }
    assert_int_equal(most, 6);
    close_bench(&b);
}

TEST(starts_of_dynamic_slices_are_indices_too)
{
    struct bench b;
    int x, start, zero;

    open_bench(&b);
    x = graph_parameter(&b.g, shape2(DTYPE_F32, ROWS, 128), "x");
    start = graph_reduce(&b.g, REDUCE_ARGMAX,
                         graph_parameter(&b.g, shape_make(DTYPE_F32, 1, (int64_t[]){50}), "w"), 1);
    zero = graph_constant(&b.g, shape_scalar(DTYPE_S32), 0);
    graph_output(&b.g, graph_dynamic_slice(&b.g, x, (int[]){start, zero},
                                           (int64_t[]){8, 128}), "part", -1);
    assert_int_equal(index_assume(&b.g), 1);
    must(run(&b, &b.g), &b.err);
    close_bench(&b);
}

/* it becomes a dynamic slice, by numbers that kernels would have to cut out */
TEST(an_index_of_several_numbers_is_assumed_number_by_number)
{
    const struct graph_gather d = {.collapsed_count = 2, .collapsed_dims = {0, 1}, .map_count = 2,
                                   .start_index_map = {0, 1}, .slice_sizes = {1, 1}};
    const char *const texts[] = {"computed", "given"};
    struct bench b;

    for (int given = 0; given < 2; given++) {
        int x, w, at;

        print_message("%s\n", texts[given]);
        open_bench(&b);
        x = graph_parameter(&b.g, shape2(DTYPE_F32, ROWS, 128), "x");
        w = graph_parameter(&b.g, shape2(given ? DTYPE_S32 : DTYPE_F32, 2, given ? 1 : 50), "w");
        at = given ? graph_reshape(&b.g, w, shape_make(DTYPE_S32, 1, (int64_t[]){2}))
                   : graph_reduce(&b.g, REDUCE_ARGMAX, w, 2);
        graph_output(&b.g, graph_gather(&b.g, x, at, &d), "element", -1);
        assert_int_equal(index_assume(&b.g), 2);
        must(run(&b, &b.g), &b.err);
        assert_int_equal(index_assume(&b.g), 0);
        close_bench(&b);
    }
}

static int s32_scalar(struct graph *g, double value)
{
    return graph_constant(g, shape_scalar(DTYPE_S32), value);
}

/* a scan: rows by the counter of a loop, which is known (pass_trips.c), one of two of which adds another that it computes */
static void make_scan(struct bench *b)
{
    struct graph *body = arena_alloc(&b->arena, sizeof(*body));
    struct graph *branch[2], *same;
    int rows, sum, i, row, all, zero, at;

    for (int k = 0; k < 2; k++) {
        branch[k] = arena_alloc(&b->arena, sizeof(*branch[k]));
        graph_init(branch[k], &b->arena, "branch");
        rows = graph_parameter(branch[k], shape2(DTYPE_F32, ROWS, 128), "rows");
        row = graph_parameter(branch[k], shape2(DTYPE_F32, 1, 128), "row");
        if (k == 0) {
            at = graph_reshape(branch[k], graph_reduce(branch[k], REDUCE_ARGMAX, row, 2),
                               shape_scalar(DTYPE_S32));
            row = graph_dynamic_slice(branch[k], rows, (int[]){at, s32_scalar(branch[k], 0)},
                                      (int64_t[]){1, 128});
        }
        graph_output(branch[k], row, "row", -1);
        graph_freeze(branch[k]);
    }
    graph_init(body, &b->arena, "body");
    rows = graph_parameter(body, shape2(DTYPE_F32, ROWS, 128), "rows");
    sum = graph_parameter(body, shape2(DTYPE_F32, 1, 128), "sum");
    i = graph_parameter(body, shape_scalar(DTYPE_S32), "i");
    zero = s32_scalar(body, 0);
    row = graph_dynamic_slice(body, rows, (int[]){i, zero}, (int64_t[]){1, 128});
    row = graph_conditional(body, graph_compare(body, COMPARE_LT, i, s32_scalar(body, 2)),
                            (int[]){rows, row}, 2, branch[0], branch[1]);
    graph_output(body, rows, "rows", -1);
    graph_output(body, graph_binary(body, HLO_ADD, sum, row), "sum", -1);
    graph_output(body, graph_binary(body, HLO_ADD, i, s32_scalar(body, 1)), "i", -1);
    graph_freeze(body);
    rows = graph_parameter(&b->g, shape2(DTYPE_F32, ROWS, 128), "rows");
    sum = graph_parameter(&b->g, shape2(DTYPE_F32, 1, 128), "sum");
    all = graph_while(&b->g, (int[]){rows, sum, s32_scalar(&b->g, 0)}, 3, body, 5);
    graph_output(&b->g, graph_tuple_element(&b->g, all, 1), "sum", -1);
    same = arena_alloc(&b->arena, sizeof(*same));       /* a loop of one array, which becomes two */
    graph_init(same, &b->arena, "same");
    i = graph_parameter(same, shape2(DTYPE_F32, 8, 128), "x");
    at = graph_reshape(same, graph_slice(same, graph_reduce(same, REDUCE_ARGMAX, i, 2),
                                         (int64_t[]){0}, (int64_t[]){1}, NULL),
                       shape_scalar(DTYPE_S32));
    row = graph_dynamic_slice(same, i, (int[]){at, s32_scalar(same, 0)}, (int64_t[]){1, 128});
    graph_output(same, graph_dynamic_update_slice(same, i, row, (int[]){s32_scalar(same, 3), at}),
                 "x", -1);
    graph_freeze(same);
    i = graph_parameter(&b->g, shape2(DTYPE_F32, 8, 128), "x");
    graph_output(&b->g, graph_while(&b->g, &i, 1, same, 2), "x", 2);
}

TEST(loops_and_branches_are_given_indices)
{
    struct err e;
    struct bench b;

    open_bench(&b);
    make_scan(&b);
    assert_int_equal(index_assume(&b.g), 3);
    must(graph_verify(&b.g, &e), &e);
    assert_int_equal(b.g.output_count, 2);
    assert_string_equal(b.g.output[1].name, "x");
    must(run(&b, &b.g), &b.err);
    assert_int_equal(index_assume(&b.g), 0);
    close_bench(&b);
}

TEST(a_table_of_pages_has_each_page_once)
{
    struct index_data data = {.kind = INDEX_PAGES};
    static const int64_t ends[] = {1, 64, 1000, 7919, 7907};
    struct err e;

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        int32_t *page = mem_alloc((size_t)ends[i] * sizeof(*page));
        bool *seen = mem_alloc((size_t)ends[i]);

        assert_int_equal(index_data_fill(&data, ends[i], 1, page, ends[i], &e), 0);
        for (int64_t k = 0; k < ends[i]; k++) {
            assert_in_range(page[k], 0, ends[i] - 1);
            assert_false(seen[page[k]]);
            seen[page[k]] = true;
        }
        mem_free(page);
        mem_free(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computed_indices_are_not_known_in_timing_mode),
        cmocka_unit_test(computed_indices_become_parameters_and_what_computes_them_stays),
        cmocka_unit_test(indices_that_are_compared_may_be_what_a_kernel_made),
        cmocka_unit_test(written_indices_lie_inside_the_smaller_table),
        cmocka_unit_test(starts_of_dynamic_slices_are_indices_too),
        cmocka_unit_test(an_index_of_several_numbers_is_assumed_number_by_number),
        cmocka_unit_test(loops_and_branches_are_given_indices),
        cmocka_unit_test(a_table_of_pages_has_each_page_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
