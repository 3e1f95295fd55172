/*
 * Does every operation run on a simulated core with elements of every type it has a meaning for,
 * and give what the interpreter gives?
 *
 * test_module_types [slice [name of a case]] runs one chip, or one case.
 */
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <time.h>

#include <string.h>

#define TYPE(t) (1u << (t))
#define FLOATS (TYPE(DTYPE_F32) | TYPE(DTYPE_BF16))
#define INTEGERS (TYPE(DTYPE_S32) | TYPE(DTYPE_U32) | TYPE(DTYPE_S8) | TYPE(DTYPE_U8))
#define NUMBERS (FLOATS | INTEGERS)
#define ANY (NUMBERS | TYPE(DTYPE_PRED))

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                  (int64_t[]){__VA_ARGS__}

static int parameter(enum graph_dtype t, int rank, const int64_t *dim)
{
    return graph_parameter(&g, shape_make(t, rank, dim),
                           arena_printf(&arena, "p%d", g.parameter_count));
}

static void output(int node)
{
    graph_output(&g, node, arena_printf(&arena, "o%d", g.output_count), -1);
}

static int scalar(enum graph_dtype t, double value)
{
    return graph_constant(&g, shape_scalar(t), value);
}

/* an index that the cores compute */
static int index_scalar(void)
{
    return graph_binary(&g, HLO_ADD, parameter(DTYPE_S32, 0, NULL), scalar(DTYPE_S32, 2));
}

/* ----- moves */

static void build_moves(enum graph_dtype t, int kind)
{
    int64_t low[3] = {1, 0, 2}, high[3] = {0, 3, 1}, inner[3] = {0, 1, 2};
    int x = parameter(t, DIMS(3, 9, 20)), v = scalar(t, 1);

    (void)kind;
    output(graph_transpose(&g, x, (int[]){2, 0, 1}));
    output(graph_transpose(&g, x, (int[]){1, 0, 2}));
    output(graph_pad(&g, x, v, low, high, inner));
    output(graph_pad(&g, x, v, (int64_t[]){-1, 2, -3}, (int64_t[]){2, -4, 140}, (int64_t[]){0, 0, 0}));
    output(graph_reverse(&g, x, (int[]){0, 2}, 2));
    output(graph_reverse(&g, x, (int[]){1}, 1));
    output(graph_concatenate(&g, (int[]){x, x, parameter(t, DIMS(3, 9, 1))}, 3, 2));
    output(graph_concatenate(&g, (int[]){x, parameter(t, DIMS(3, 2, 20)), x}, 3, 1));
    output(graph_slice(&g, x, (int64_t[]){0, 1, 3}, (int64_t[]){3, 8, 19}, (int64_t[]){2, 3, 5}));
    output(graph_reshape(&g, x, shape_make(t, DIMS(27, 20))));
    output(graph_reshape(&g, x, shape_make(t, DIMS(540))));
    output(graph_reshape(&g, x, shape_make(t, DIMS(4, 5, 27))));
    output(graph_broadcast(&g, x, shape_make(t, DIMS(3, 2, 9, 20)), (int[]){0, 2, 3}));
    output(graph_broadcast(&g, parameter(t, DIMS(9)), shape_make(t, DIMS(9, 130)), (int[]){0}));
    output(graph_broadcast(&g, parameter(t, 0, NULL), shape_make(t, DIMS(5, 130)), NULL));
    output(graph_unary(&g, HLO_COPY, x));
}

static void build_scalars(enum graph_dtype t, int kind)
{
    int x = parameter(t, 0, NULL), y = parameter(t, 0, NULL);

    (void)kind;
    output(graph_dynamic_slice(&g, x, NULL, NULL));
    output(graph_dynamic_update_slice(&g, x, y, NULL));
    output(graph_select(&g, parameter(DTYPE_PRED, 0, NULL), x, y));
    output(graph_reshape(&g, x, shape_make(t, DIMS(1, 1, 1))));
    output(graph_pad(&g, graph_reshape(&g, x, shape_make(t, DIMS(1))), y, (int64_t[]){3},
                     (int64_t[]){140}, NULL));
    output(graph_concatenate(&g, (int[]){graph_reshape(&g, x, shape_make(t, DIMS(1))),
                                         graph_reshape(&g, y, shape_make(t, DIMS(1)))}, 2, 0));
    output(graph_reshape(&g, graph_slice(&g, parameter(t, DIMS(300)), (int64_t[]){131},
                                         (int64_t[]){132}, NULL), shape_scalar(t)));
    output(graph_compare(&g, COMPARE_LT, x, y));
}

static void build_chosen(enum graph_dtype t, int kind)
{
    int x = parameter(t, DIMS(9, 130)), y = parameter(t, DIMS(9, 130));

    (void)kind;
    output(graph_select(&g, parameter(DTYPE_PRED, DIMS(9, 130)), x, y));
    output(graph_select(&g, parameter(DTYPE_PRED, 0, NULL), x, y));
    for (int d = COMPARE_EQ; d <= COMPARE_GE; d++)
        output(graph_compare(&g, (enum graph_compare)d, x, y));
    for (int to = 0; to < DTYPE_COUNT; to++)
        if (to != (int)t)
            output(graph_convert(&g, x, (enum graph_dtype)to));
    if (t != DTYPE_PRED) {
        output(graph_clamp(&g, scalar(t, 0), x, scalar(t, 2)));
        output(graph_clamp(&g, y, x, parameter(t, 0, NULL)));
        output(graph_iota(&g, shape_make(t, DIMS(5, 3, 20)), 1));
        output(graph_iota(&g, shape_make(t, DIMS(300)), 0));
    }
}

/* ----- indices */

static void build_dynamic(enum graph_dtype t, int rank)
{
    static const int64_t dims[4] = {7, 3, 9, 140}, part[4] = {3, 2, 4, 70};
    int64_t dim[4], size[4];
    int start[4], x, u;

    for (int i = 0; i < rank; i++) {
        dim[i] = dims[4 - rank + i];
        size[i] = part[4 - rank + i];
        start[i] = index_scalar();
    }
    x = parameter(t, rank, dim);
    u = parameter(t, rank, size);
    output(graph_dynamic_slice(&g, x, start, size));
    output(graph_dynamic_update_slice(&g, x, u, start));
    size[rank - 1] = 1;
    output(graph_dynamic_slice(&g, x, start, size));
    size[rank - 1] = dim[rank - 1];
    for (int i = 0; i + 1 < rank; i++)
        size[i] = 1;
    output(graph_dynamic_slice(&g, x, start, size));
    output(graph_dynamic_update_slice(&g, x, parameter(t, rank, size), start));
}

/* the operands and indices of gathers and scatters in several forms */
struct indexed { int a, indices, updates; struct graph_gather d; };
enum index_form { ROWS, COLUMNS, ELEMENTS, WINDOWS, BATCHES, POINTS, WHOLE, FORMS };

static struct indexed indexed_of(enum graph_dtype t, enum index_form form)
{
    struct indexed x = {.d = {.index_vector_dim = 1, .map_count = 1, .collapsed_count = 1,
                              .offset_count = 1, .offset_dims = {1}, .slice_sizes = {1, 140}}};

    switch (form) {
    case ROWS:                          /* an embedding */
        x.a = parameter(t, DIMS(9, 140));
        x.indices = parameter(DTYPE_S32, DIMS(11, 1));
        x.updates = parameter(t, DIMS(11, 140));
        break;
    case COLUMNS:
        x.a = parameter(t, DIMS(9, 140));
        x.indices = parameter(DTYPE_S32, DIMS(11));
        x.updates = parameter(t, DIMS(9, 11));
        x.d.start_index_map[0] = x.d.collapsed_dims[0] = 1;
        x.d.offset_dims[0] = 0;
        x.d.slice_sizes[0] = 9;
        x.d.slice_sizes[1] = 1;
        break;
    case ELEMENTS:                      /* take of a vector */
        x.a = parameter(t, DIMS(300));
        x.indices = parameter(DTYPE_U32, DIMS(5, 13, 1));
        x.updates = parameter(t, DIMS(5, 13));
        x.d.index_vector_dim = 2;
        x.d.offset_count = 0;
        x.d.offset_dims[0] = 0;
        x.d.slice_sizes[1] = 0;
        break;
    case WINDOWS:                       /* nothing collapsed, of two indices */
        x.a = parameter(t, DIMS(9, 140));
        x.indices = parameter(DTYPE_S32, DIMS(4, 2));
        x.updates = parameter(t, DIMS(4, 3, 20));
        x.d.map_count = x.d.offset_count = 2;
        x.d.start_index_map[1] = 1;
        x.d.collapsed_count = 0;
        x.d.offset_dims[1] = 2;
        x.d.slice_sizes[0] = 3;
        x.d.slice_sizes[1] = 20;
        break;
    case BATCHES:                       /* take_along_axis */
        x.a = parameter(t, DIMS(6, 9, 20));
        x.indices = parameter(DTYPE_S32, DIMS(6, 4, 1));
        x.updates = parameter(t, DIMS(6, 4, 20));
        x.d = (struct graph_gather){.index_vector_dim = 2, .map_count = 1, .start_index_map = {1},
                                    .collapsed_count = 1, .collapsed_dims = {1},
                                    .batching_count = 1, .offset_count = 1, .offset_dims = {2},
                                    .slice_sizes = {1, 1, 20}};
        break;
    case POINTS:                        /* an element by two indices */
        x.a = parameter(t, DIMS(9, 140));
        x.indices = parameter(DTYPE_S32, DIMS(2, 7));
        x.updates = parameter(t, DIMS(7));
        x.d = (struct graph_gather){.index_vector_dim = 0, .map_count = 2, .start_index_map = {1, 0},
                                    .collapsed_count = 2, .collapsed_dims = {0, 1},
                                    .slice_sizes = {1, 1}};
        break;
    default:                            /* one slice, as x[i] or x.at[i].set has it */
        x.a = parameter(t, DIMS(5, 9, 20));
        x.indices = parameter(DTYPE_S32, DIMS(1));
        x.updates = parameter(t, DIMS(9, 20));
        x.d = (struct graph_gather){.index_vector_dim = 0, .map_count = 1, .collapsed_count = 1,
                                    .offset_count = 2, .offset_dims = {0, 1},
                                    .slice_sizes = {1, 9, 20}};
    }
    return x;
}

static void build_gather(enum graph_dtype t, int form)
{
    struct indexed x = indexed_of(t, (enum index_form)form);

    output(graph_gather(&g, x.a, x.indices, &x.d));
}

static void scatter_as(enum graph_reduce kind, const struct indexed *x)
{
    struct graph_gather d = x->d;
    struct graph_node n = {.op = HLO_SCATTER, .reduce_kind = kind, .gather = &d, .name = "n"};
    struct shape s;
    struct err e;

    memset(d.slice_sizes, 0, sizeof(d.slice_sizes));
    n.operand = (int[]){x->a, x->indices, x->updates};
    n.operand_count = 3;
    if (graph_infer(&g, &n, &s, &e) == 0)
        output(graph_scatter(&g, kind, x->a, x->indices, x->updates, &d));
}

static void build_scatter(enum graph_dtype t, int number)
{
    static const enum graph_reduce kinds[] = {REDUCE_ADD, REDUCE_MAX, REDUCE_MIN, REDUCE_MUL,
                                              REDUCE_AND, REDUCE_OR, REDUCE_REPLACE};
    struct indexed x = indexed_of(t, (enum index_form)(number / 7));

    scatter_as(kinds[number % 7], &x);
}

/* ----- combinations */

static void build_reduce(enum graph_dtype t, int kind)
{
    static const uint32_t masks[] = {1, 2, 4, 3, 6, 5, 7};
    int x = parameter(t, DIMS(3, 9, 20)), row = parameter(t, DIMS(300));
    struct graph_node n = {.op = HLO_REDUCE, .reduce_kind = (enum graph_reduce)kind,
                           .reduce_mask = 1, .name = "n", .operand = &x, .operand_count = 1};
    bool is_arg = kind == REDUCE_ARGMAX || kind == REDUCE_ARGMIN;
    struct shape s;
    struct err e;

    if (graph_infer(&g, &n, &s, &e) != 0)
        return;
    for (int i = 0; i < (is_arg ? 3 : 7); i++)
        output(graph_reduce(&g, (enum graph_reduce)kind, x, masks[i]));
    output(graph_reduce(&g, (enum graph_reduce)kind, row, 1));
}

static struct graph_window window_of(int64_t size, int64_t stride, int64_t low, int64_t high)
{
    return (struct graph_window){.size = size, .stride = stride, .pad_low = low, .pad_high = high,
                                 .base_dilation = 1, .window_dilation = 1};
}

static void build_windows(enum graph_dtype t, int kind)
{
    struct graph_window pool[3] = {window_of(1, 1, 0, 0), window_of(3, 2, 0, 1), window_of(2, 2, 0, 0)};
    struct graph_window sums[2] = {window_of(9, 1, 8, 0), window_of(1, 1, 0, 0)};
    struct graph_window line[1] = {window_of(150, 1, 149, 0)};
    int x = parameter(t, DIMS(3, 9, 20)), y = parameter(t, DIMS(9, 20)), z = parameter(t, DIMS(150));
    struct graph_node n = {.op = HLO_REDUCE_WINDOW, .reduce_kind = (enum graph_reduce)kind,
                           .window = line, .name = "n", .operand = &z, .operand_count = 1};
    struct shape s;
    struct err e;

    if (graph_infer(&g, &n, &s, &e) != 0)
        return;
    output(graph_reduce_window(&g, (enum graph_reduce)kind, x, pool));
    output(graph_reduce_window(&g, (enum graph_reduce)kind, y, sums));
    if (kind != REDUCE_MUL)
        output(graph_reduce_window(&g, (enum graph_reduce)kind, z, line));
}

static void build_arithmetic(enum graph_dtype t, int op)
{
    int x = parameter(t, DIMS(9, 140)), y = parameter(t, DIMS(9, 140));

    if (graph_op_types((enum graph_op)op) & TYPE(t)) {
        output(graph_binary(&g, (enum graph_op)op, x, y));
        output(graph_binary(&g, (enum graph_op)op, parameter(t, 0, NULL), parameter(t, 0, NULL)));
    }
}

static void build_sorts(enum graph_dtype t, int dim)
{
    int x = parameter(t, DIMS(5, 9, 20)), y = parameter(DTYPE_PRED, DIMS(5, 9, 20));
    int z = parameter(DTYPE_S32, DIMS(5, 9, 20)), w = parameter(DTYPE_U8, DIMS(5, 9, 20)), all;

    output(graph_sort(&g, &x, 1, dim, COMPARE_GT));
    all = graph_sort(&g, (int[]){x, z, y, w}, 4, dim, COMPARE_LT);
    for (int i = 0; i < 4; i++)
        output(graph_tuple_element(&g, all, i));
    all = graph_top_k(&g, x, 3);
    output(graph_tuple_element(&g, all, 0));
    output(graph_tuple_element(&g, all, 1));
}

/* as operations of more than one kernel carry them */
static void build_products(enum graph_dtype t, int form)
{
    static const struct { int lhs_rank, rhs_rank; int64_t lhs[3], rhs[3]; struct graph_dot d; }
    forms[] = {
        {2, 2, {9, 20}, {20, 17}, {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}}},
        {3, 3, {4, 9, 20}, {4, 17, 20}, {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                                         .rhs_contract = {2}}},
        {1, 1, {140}, {140}, {.contract_count = 1}},
        {2, 1, {9, 140}, {140}, {.contract_count = 1, .lhs_contract = {1}}},
        {1, 1, {9}, {140}, {.contract_count = 0}},
        {0, 1, {0}, {140}, {.contract_count = 0}},
        {2, 2, {9, 20}, {9, 20}, {.contract_count = 2, .lhs_contract = {0, 1},
                                  .rhs_contract = {0, 1}}},
        {3, 3, {70, 2, 140}, {2, 140, 30}, {.batch_count = 1, .contract_count = 1,
                                            .lhs_batch = {1}, .lhs_contract = {2},
                                            .rhs_contract = {1}}},
    };
    int x = parameter(t, forms[form].lhs_rank, forms[form].lhs);
    int y = parameter(t, forms[form].rhs_rank, forms[form].rhs);
    bool is_word = t == DTYPE_S32 || t == DTYPE_U32;
    enum graph_dtype to = t == DTYPE_S8 || t == DTYPE_U8 ? DTYPE_S32 : t;

    if (is_word)                        /* beyond what their products may be */
        x = graph_binary(&g, HLO_MULTIPLY, x, graph_splat(&g, x, 123456789));
    if (is_word)
        y = graph_binary(&g, HLO_MULTIPLY, y, graph_splat(&g, y, 1987654321));
    output(graph_dot_general(&g, x, y, &forms[form].d, to == DTYPE_BF16 ? DTYPE_F32 : to,
                             PRECISION_HIGHEST));
}

/* ----- the table */

struct row {
    const char *name;
    void (*build)(enum graph_dtype t, int number);
    int first, count;                   /* numbers */
    unsigned types;
    double relative;                    /* of floats */
};

static const struct row rows[] = {
    {"moves", build_moves, 0, 1, ANY, 0},
    {"scalars", build_scalars, 0, 1, ANY, 0},
    {"chosen", build_chosen, 0, 1, ANY, 0},
    {"dynamic", build_dynamic, 1, 4, ANY, 0},
    {"gather", build_gather, 0, FORMS, ANY, 0},
    {"scatter", build_scatter, 0, 7 * FORMS, ANY, 0},
    {"reduce", build_reduce, 0, REDUCE_ARGMIN + 1, ANY, 0},
    {"windows", build_windows, 0, REDUCE_OR + 1, ANY, 0},
    {"arithmetic", build_arithmetic, HLO_ADD, HLO_SHIFT_RIGHT_ARITHMETIC - HLO_ADD + 1, ANY, 1e-5},
    {"sorts", build_sorts, 0, 3, NUMBERS, 0},
    {"products", build_products, 0, 8, ANY & ~TYPE(DTYPE_PRED), 0},
};

static const char *only_slice, *only_row;

static int check_case(const struct row *row, int number, enum graph_dtype t, const char *slice)
{
    struct module_rig r = {.slice = slice, .may_refuse = true, .relative = row->relative,
                           .absolute = row->relative};

    row->build(t, number);
    g.name = arena_printf(&arena, "%s %d of %s", row->name, number, graph_dtype_name(t));
    if (g.output_count)
        module_rig_check(&r, &g, 1 + (uint64_t)number);
    if (r.refusal[0])
        print_message("%s on %s: %s\n", g.name, slice, r.refusal);
    one_graph_again();
    return r.refusal[0] != '\0';
}

/*
 * All cases take minutes: make check-long has them. Else one in so many, another one each time:
 * the number that is printed, as SYSTOLE_FIRST_CASE, draws the same again.
 */
enum { CASES_APART = 20 };
static int first_case;

static bool is_drawn(int number)
{
    return test_is_long() || only_slice || number % CASES_APART == first_case % CASES_APART;
}

TEST(every_operation_takes_every_type)
{
    static const char *const slices[] = {"v5e", "v3-1", "v2", "v6e"};
    int refused = 0, number = 0;

    if (!test_is_long() && !only_slice)
        print_message("every %dth case from %d on\n", CASES_APART, first_case % CASES_APART);

    for (size_t s = 0; s < COUNT_OF(slices); s++)
        for (size_t i = 0; i < COUNT_OF(rows); i++)
            for (int k = rows[i].first; k < rows[i].first + rows[i].count; k++)
                for (int t = 0; t < DTYPE_COUNT; t++)
                    if ((rows[i].types & TYPE(t)) &&
                        (!only_slice || strcmp(only_slice, slices[s]) == 0) &&
                        (!only_row || strcmp(only_row, rows[i].name) == 0) && is_drawn(number++))
                        refused += check_case(&rows[i], k, (enum graph_dtype)t, slices[s]);
    if (refused)
        fail_msg("%d refused", refused);
}

/* each tile's power has masks that live across its chain of functions: there are 16 of them */
TEST(powers_of_many_tiles_are_one_kernel)
{
    struct module_rig r = {.relative = 1e-4, .absolute = 1e-5, .uses_fractions = true};
    struct shape shape = shape_make(DTYPE_F32, 3, (int64_t[]){4, 64, 300});
    int x = graph_parameter(&g, shape, "x"), y = graph_parameter(&g, shape, "y");

    graph_output(&g, graph_binary(&g, HLO_POWER, graph_unary(&g, HLO_ABS, x), y), "power", -1);
    module_rig_check(&r, &g, 7);
    assert_int_equal(r.kernel_count, 1);
}

/* a predicate's tile has four of the sums' tiles, a bf16 one two: not in one kernel */
TEST(convolutions_of_bf16_beside_predicates)
{
    struct graph_window w[2] = {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}};
    struct graph_conv c = {.spatial_count = 2, .in_spatial = {0, 1}, .in_batch = 2,
                           .in_feature = 3, .kernel_spatial = {0, 1}, .kernel_in = 2,
                           .kernel_out = 3, .out_spatial = {0, 1}, .out_batch = 2,
                           .out_feature = 3, .feature_groups = 8, .batch_groups = 1};
    int64_t dim[4] = {8, 8, 2, 8}, taps[4] = {3, 3, 1, 8};
    struct module_rig r = {.slice = "v6e"};
    int x = graph_parameter(&g, shape_make(DTYPE_BF16, 4, dim), "x");
    int k = graph_parameter(&g, shape_make(DTYPE_BF16, 4, taps), "k");
    int p = graph_parameter(&g, shape_make(DTYPE_PRED, 4, dim), "p");
    int y = graph_convolution(&g, x, k, w, &c, DTYPE_F32, PRECISION_DEFAULT);

    y = graph_select(&g, p, y, graph_splat(&g, y, 0.0));
    graph_output(&g, y, "f32", -1);
    graph_output(&g, graph_convert(&g, y, DTYPE_BF16), "bf16", -1);
    module_rig_check(&r, &g, 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {RUN(every_operation_takes_every_type),
                                       RUN(powers_of_many_tiles_are_one_kernel),
                                       RUN(convolutions_of_bf16_beside_predicates)};

    const char *first = getenv("SYSTOLE_FIRST_CASE");

    only_slice = argc > 1 ? argv[1] : NULL;
    only_row = argc > 2 ? argv[2] : NULL;
    first_case = first ? atoi(first) : (int)(time(NULL) % CASES_APART);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
