/* MLIR text as a tree: what each form says, and what is said where a text is wrong. */
#include "import/mlir/mlir.h"
#include "tests/test.h"

struct reading {
    struct arena arena;
    struct mlir_tree tree;
    struct err err;
    int status;
};

static struct reading *begin(const char *text)
{
    static struct reading r;

    memset(&r, 0, sizeof(r));
    arena_init(&r.arena);
    mlir_tree_init(&r.tree, &r.arena, "t.mlir");
    r.status = mlir_read_text(&r.tree, text, strlen(text), &r.err);
    return &r;
}

static void end(struct reading *r)
{
    arena_fini(&r->arena);
}

/* operation number n of the first function, or of the module if it has none */
static const struct mlir_op *op_of(const struct reading *r, int n)
{
    if (r->status)
        fail_msg("%d:%d %s", r->err.line, r->err.col, r->err.msg);
    const struct mlir_block *b = &r->tree.module[0]->region[0].block[0];
    if (!strcmp(b->op[0]->name, "func.func"))
        b = &b->op[0]->region[0].block[0];
    assert_true(n < b->op_count);
    return b->op[n];
}

static void is_refused(const char *text, int line, int col, const char *words)
{
    struct reading *r = begin(text);

    assert_int_equal(r->status, -1);
    if (!strstr(r->err.msg, words) || r->err.line != line || r->err.col != col)
        fail_msg("%d:%d: %s", r->err.line, r->err.col, r->err.msg);
    end(r);
}

TEST(attributes_of_each_kind_are_read)
{
    struct reading *r = begin(
        "\"a.b\"() {u, t = true, i = -3 : i8, d = 1.5, f = 0x7F800000 : f32, s = \"a\\22\\5C\\n\\00z\","
        " y = @m::@f, l = [1, {k = unit}], n = array<i64: 1, -2>, e = #stablehlo<precision HIGH>,"
        " g = #stablehlo.gather<offset_dims = [1, 2], index_vector_dim = 1>, ty = tensor<?x2xf32>,"
        " x = #foo.bar<[a -> b], \">\">, z = array<i1: true, false>} : () -> ()\n");
    const struct mlir_op *op = op_of(r, 0);

    assert_int_equal(mlir_op_attr(op, "u")->kind, MLIR_UNIT);
    assert_int_equal(mlir_op_attr(op, "t")->integer, 1);
    assert_int_equal(mlir_op_attr(op, "i")->integer, -3);
    assert_int_equal(mlir_op_attr(op, "i")->type->element, ELEMENT_S8);
    assert_true(mlir_op_attr(op, "d")->number == 1.5);
    assert_true(mlir_op_attr(op, "f")->number > 1e300);
    assert_int_equal(mlir_op_attr(op, "s")->text.bytes, 6);
    assert_memory_equal(mlir_op_attr(op, "s")->text.data, "a\"\\\n\0z", 6);
    assert_string_equal(mlir_op_attr(op, "y")->text.data, "m::f");
    assert_int_equal(mlir_op_attr(op, "l")->item[1]->named[0].attr->kind, MLIR_UNIT);
    assert_int_equal(mlir_op_attr(op, "n")->ints[1], -2);
    assert_string_equal(mlir_op_attr(op, "e")->name, "stablehlo.precision");
    assert_string_equal(mlir_op_attr(op, "e")->text.data, "HIGH");
    assert_int_equal(mlir_attr_find(mlir_op_attr(op, "g"), "offset_dims")->ints[1], 2);
    assert_int_equal(mlir_op_attr(op, "ty")->type->dim[0], HLO_UNBOUNDED);
    assert_string_equal(mlir_op_attr(op, "x")->text.data, "[a -> b], \">\"");
    assert_int_equal(mlir_op_attr(op, "z")->ints[0], 1);
    assert_null(mlir_op_attr(op, "no"));
    end(r);
}

static const struct mlir_attr *dense(struct reading **r, const char *text)
{
    static char whole[400];

    snprintf(whole, sizeof(whole), "\"a.b\"() {v = %s} : () -> ()", text);
    *r = begin(whole);
    return mlir_op_attr(op_of(*r, 0), "v");
}

TEST(dense_elements_are_lists_or_one_or_digits)
{
    static const unsigned char bits[9] = {1, 1, 1, 1, 0, 0, 0, 0, 1};
    struct reading *r;
    const struct mlir_attr *a = dense(&r, "dense<[[1, -2], [0x7F, 255]]> : tensor<2x2xi8>");

    assert_memory_equal(a->data, "\1\xfe\x7f\xff", 4);
    end(r);
    a = dense(&r, "dense<0xFF80> : tensor<3xbf16>");
    assert_true(a->is_splat);
    assert_memory_equal(a->data, "\x80\xff", 2);
    end(r);
    a = dense(&r, "dense<\"0x0F01\"> : tensor<9xi1>");         /* eight to a byte */
    assert_memory_equal(a->data, bits, 9);
    end(r);
    a = dense(&r, "dense<\"0x010101010000000001\"> : tensor<9xi1>");
    assert_memory_equal(a->data, bits, 9);
    end(r);
    a = dense(&r, "dense<[(1.0, -1.0)]> : tensor<1xcomplex<f32>>");
    assert_memory_equal(a->data, "\0\0\x80\x3f\0\0\x80\xbf", 8);
    end(r);
    a = dense(&r, "dense<[-1, 7]> : tensor<2xi4>");
    assert_memory_equal(a->data, "\xff\7", 2);
    end(r);
    a = dense(&r, "dense<> : tensor<0x3xf32>");
    assert_true(a->is_splat);
    end(r);
    a = dense(&r, "dense_resource<none> : tensor<2xf32>");
    assert_null(a->data);
    end(r);
}

TEST(locations_say_name_and_place)
{
    struct reading *r = begin("\"a.b\"() : () -> () loc(#loc2)\n"
                              "#loc = loc(\"f.py\":3:4 to :9)\n"
                              "#loc1 = loc(callsite(\"body\"(#loc) at \"g.py\":7:1))\n"
                              "#loc2 = loc(\"mul:\"(\"jit(f)/mul\"(#loc1)))\n");
    struct hlo_place p;

    mlir_place_of(&r->arena, op_of(r, 0)->location, &p);
    assert_string_equal(p.op_type, "mul");
    assert_string_equal(p.op_name, "jit(f)/mul");
    assert_string_equal(p.file, "f.py");
    assert_int_equal(p.line, 3);
    assert_int_equal(p.end_line, 3);
    assert_int_equal(p.end_col, 9);
    end(r);
}

TEST(values_have_names_in_their_own_scope)
{
    struct reading *r = begin(
        "func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
        "  %0:2 = \"x.two\"(%a) ({\n  ^bb0(%b: tensor<f32>):\n    \"x.end\"(%a, %b) : (tensor<f32>, tensor<f32>) -> ()\n"
        "  }, {\n  ^bb0(%b: tensor<f32>):\n    \"x.end\"(%b) : (tensor<f32>) -> ()\n  }) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
        "  return %0#1 : tensor<f32>\n}\n");
    const struct mlir_op *two = op_of(r, 0), *last = op_of(r, 1);

    assert_ptr_equal(last->operand[0], &two->result[1]);
    assert_string_equal(last->name, "func.return");
    assert_ptr_equal(two->region[0].block[0].op[0]->operand[1], &two->region[0].block[0].argument[0]);
    assert_int_equal(two->line, 2);
    end(r);
}

TEST(mistakes_are_told_with_their_place)
{
    is_refused("", 1, 1, "no module");
    is_refused("func.func @f() {\n  return %x : tensor<f32>\n}\n", 2, 10, "%x is not defined");
    is_refused("func.func @f(%a: tensor<f32>, %a: tensor<f32>) {\n return\n}\n", 1, 32, "defined twice");
    is_refused("\"a.b\"() {v = dense<[1, 2]> : tensor<3xi32>} : () -> ()", 1, 25, "2 elements in dimension 0, which has 3");
    is_refused("\"a.b\"() {v = dense<[1, 2, 300]> : tensor<3xi8>} : () -> ()", 1, 30, "300 does not fit");
    is_refused("\"a.b\"() {v = dense<\"0x00\"> : tensor<3xi32>} : () -> ()", 1, 20, "neither all");
    is_refused("\"a.b\"() {v = #x} : () -> ()", 1, 14, "no attribute is defined as #x");
    is_refused("\"a.b\"() : () -> tensor<2xq7>", 1, 26, "no type is named");
    is_refused("tensor.dim %x : t", 1, 1, "only the general form");
    is_refused("sdy.manual_computations %x", 1, 1, "sdy.manual_computation");
    is_refused("\"a.b\"() {s = \"x\\q\"} : () -> ()", 1, 16, "no escape");
    is_refused("#a = #a\n\"a.b\"() {v = #a} : () -> ()", 1, 1, "defined by itself");
    is_refused("%0 = stablehlo.reduce_precision %1, format = e5 : tensor<f32>", 1, 33, "%1 is not defined");
    is_refused("func.func @f(%a: tensor<f32>) {\n %0 = \"x.y\"(%a) : (tensor<2xf32>) -> tensor<f32>\n}", 2, 19, "another type");
    is_refused("func.func @f(%a: tensor<f32>) {\n %0:2 = stablehlo.add %a, %a : tensor<f32>\n}", 2, 9, "names for 2");
    is_refused("module {", 1, 9, "expected \"}\"");
}

/* also where a name, a string or a comment would end with it */
TEST(a_byte_of_value_0_is_no_text)
{
    static const char text[] = "module {\n // \0 }\n}\n";
    struct mlir_tree t;
    struct arena a;
    struct err e;

    arena_init(&a);
    mlir_tree_init(&t, &a, "zero");
    assert_int_equal(mlir_read_text(&t, text, sizeof(text) - 1, &e), -1);
    assert_non_null(strstr(e.msg, "a byte of value 0"));
    assert_int_equal(e.line, 2);
    assert_int_equal(e.col, 5);
    arena_fini(&a);
}

TEST(nothing_nests_without_end)
{
    char text[2000] = "\"a.b\"() {v = ";
    struct reading *r;

    for (int i = 0; i < 900; i++)
        strcat(text, "[");
    r = begin(text);
    assert_int_equal(r->status, -1);
    assert_non_null(strstr(r->err.msg, "nested"));
    end(r);
    text[0] = '\0';
    for (int i = 0; i < 200; i++)
        strcat(text, "module {");
    r = begin(text);
    assert_int_equal(r->status, -1);
    assert_non_null(strstr(r->err.msg, "nested"));
    end(r);
}

TEST(parts_of_a_file_have_names_of_their_own)
{
    struct reading *r = begin("#a = 1 : i64\n\"a.b\"() {v = #a} : () -> ()\n// -----\n#a = 2 : i64\n"
                              "module @m {\n  \"a.b\"() {v = #a} : () -> ()\n}\n");

    assert_int_equal(r->status, 0);
    assert_int_equal(r->tree.module_count, 2);
    assert_int_equal(mlir_op_attr(r->tree.module[1]->region[0].block[0].op[0], "v")->integer, 2);
    end(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_of_each_kind_are_read),
        cmocka_unit_test(dense_elements_are_lists_or_one_or_digits),
        cmocka_unit_test(locations_say_name_and_place),
        cmocka_unit_test(values_have_names_in_their_own_scope),
        cmocka_unit_test(a_byte_of_value_0_is_no_text),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(nothing_nests_without_end),
        cmocka_unit_test(parts_of_a_file_have_names_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
