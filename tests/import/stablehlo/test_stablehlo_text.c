/*
 * What StableHLO's operations become in a program, and what is said of those that no program has.
 */
#include "base/text.h"
#include "import/hlo_text/hlo_text.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/test.h"

/* the program of a text, as HLO text without what each line says beside */
static char *hlo_of(const char *text)
{
    const struct hlo_text_options o = {.is_short = true, .no_metadata = true};
    struct err e = {.msg = ""};
    struct arena a;
    char *printed;
    size_t bytes;

    arena_init(&a);
    struct hlo_module *m = stablehlo_read_text(text, strlen(text), "t.mlir", &a, &e);
    if (!m)
        fail_msg("%d:%d %s", e.line, e.col, e.msg);
    if (hlo_verify(m, &e))
        fail_msg("%d:%d %s", e.line, e.col, e.msg);
    FILE *to = text_memory(&printed, &bytes);
    hlo_text_print(m, to, &o);
    text_memory_end(to, &printed);
    hlo_module_fini(m);
    arena_fini(&a);
    return printed;
}

/* body: of a function of %x: f32[2,3] and %n: s32[] that returns f32[2,3] */
static void becomes(const char *body, const char *wanted)
{
    char text[4000];

    snprintf(text, sizeof(text),
             "func.func @main(%%x: tensor<2x3xf32>, %%n: tensor<i32>) -> tensor<2x3xf32> {\n%s\n"
             "  return %%r : tensor<2x3xf32>\n}\n"
             "func.func private @half(%%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
             "  return %%x : tensor<2x3xf32>\n}\n", body);
    char *hlo = hlo_of(text);
    if (!strstr(hlo, wanted))
        fail_msg("no %s in %s", wanted, hlo);
    free(hlo);
}

static void is_refused(const char *body, int line, const char *words)
{
    char text[2000];
    struct err e = {.msg = ""};
    struct arena a;

    snprintf(text, sizeof(text), "func.func @main(%%x: tensor<2x3xf32>, %%n: tensor<i32>) {\n%s\n  return\n}\n",
             body);
    arena_init(&a);
    assert_null(stablehlo_read_text(text, strlen(text), "t.mlir", &a, &e));
    if (!strstr(e.msg, words) || e.line != line)
        fail_msg("%d:%d: %s", e.line, e.col, e.msg);
    arena_fini(&a);
}

TEST(operations_become_instructions)
{
    becomes("%r = stablehlo.abs %x : tensor<2x3xf32>", "abs(x)");
    becomes("%r = mhlo.add %x, %x : tensor<2x3xf32>", "add(x, x)");
    becomes("%r = stablehlo.custom_call @mhlo.erf(%x) {mhlo.version = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>", " erf(x)");
    becomes("%0 = stablehlo.slice %x [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>\n"
            "%r = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>",
            "dimensions={1}");              /* behind a reshape to f32[3] */
    becomes("%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
            "%1 = stablehlo.dot %x, %0, precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>\n"
            "%r = stablehlo.dot %1, %x : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
            "lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}");
    becomes("%r = stablehlo.composite \"chlo.x\" %x {composite_attributes = {k = 4 : i64}, decomposition = @half} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "to_apply=half");
    becomes("%v, %i = chlo.top_k(%x, k = 3) : tensor<2x3xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)\n"
            "%r = stablehlo.negate %v : tensor<2x3xf32>", "topk(x)");
}

/* HLO's receive has a context between data and token, which StableHLO's shardings do not count */
#define RAGGED "stablehlo.custom_call @ragged_all_to_all(%x, %x, %i, %i, %i, %i) {api_version = 4 : i32, " \
               "backend_config = {channel_id = 1 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}} : " \
               "(tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) " \
               "-> tensor<2x3xf32>"

/* as JAX writes it, and as it is printed again */
TEST(a_call_of_ragged_all_to_all_is_the_operation)
{
    static const char text[] = "func.func @main(%x: tensor<2x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {\n"
                               "  %r = " RAGGED "\n  return %r : tensor<2x3xf32>\n}\n";
    struct err e = {.msg = ""};
    struct arena a;
    char *hlo = hlo_of(text), *printed;
    size_t bytes;
    FILE *to = text_memory(&printed, &bytes);

    assert_non_null(strstr(hlo, "ragged-all-to-all(x, x, i, i, i, i), channel_id=1, replica_groups={{1,0}}"));
    arena_init(&a);
    struct hlo_module *m = stablehlo_read_text(text, strlen(text), "t.mlir", &a, &e);
    assert_int_equal(stablehlo_print(m, to, &(struct mlir_print_options){.no_locations = true}, &e), 0);
    text_memory_end(to, &printed);
    if (!strstr(printed, "@ragged_all_to_all(") || strstr(printed, "channel_handle"))
        fail_msg("%s", printed);
    hlo_module_fini(m);
    arena_fini(&a);
    free(printed);
    free(hlo);
}

TEST(a_receive_is_sharded_with_its_context)
{
    char *hlo = hlo_of(
        "module {\n sdy.mesh @one = <[], device_ids=[0]>\n"
        " func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %t = stablehlo.create_token : !stablehlo.token\n"
        "  %s = \"stablehlo.send\"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 2, "
        "type = 2>, is_host_transfer = true}> {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} "
        ": (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token\n"
        "  %r:2 = \"stablehlo.recv\"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 3, "
        "type = 3>, is_host_transfer = true}> {sdy.sharding = #sdy.sharding_per_value<[<@one, []>, "
        "<@one, []>]>} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)\n"
        "  return %r#0 : tensor<4xf32>\n }\n}\n");

    if (!strstr(hlo, "sharding={{maximal device=0}, {maximal device=0}, {maximal device=0}}"))
        fail_msg("%s", hlo);
    free(hlo);
}

/* an all-gather of two devices each on the mesh a=2, b=4, whose groups stand as in newer JAX */
static void groups_are(const char *mesh, const char *axes, const char *wanted)
{
    char text[1500];

    snprintf(text, sizeof(text),
             "module attributes {mhlo.num_partitions = 8 : i32} {\n"
             " sdy.mesh @m = <[\"a\"=2, \"b\"=4]>\n"
             " sdy.mesh @turned = <[\"a\"=2, \"b\"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>\n"
             " func.func @main(%%x: tensor<4xf32>) -> tensor<8xf32> {\n"
             "  %%r = \"stablehlo.all_gather\"(%%x) <{all_gather_dim = 0 : i64, channel_handle = "
             "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = "
             "#stablehlo.replica_group_mesh_axes<mesh = %s, axes = [%s]>, use_global_device_ids}> : "
             "(tensor<4xf32>) -> tensor<8xf32>\n"
             "  return %%r : tensor<8xf32>\n }\n}\n", mesh, axes);
    char *hlo = hlo_of(text);
    if (!strstr(hlo, wanted))
        fail_msg("no %s in %s", wanted, hlo);
    free(hlo);
}

TEST(groups_are_the_devices_along_axes_of_a_mesh)
{
    groups_are("@m", "#stablehlo.axis_ref<name = \"a\">", "replica_groups={{0,4},{1,5},{2,6},{3,7}}");
    groups_are("@turned", "<name = \"a\">", "replica_groups={{7,3},{6,2},{5,1},{4,0}}");
    groups_are("@m", "#stablehlo.axis_ref<name = \"b\", sub_axis_info = (1)2>",
               "replica_groups={{0,2},{1,3},{4,6},{5,7}}");
    groups_are("@m", "#stablehlo.axis_ref<name = \"b\", sub_axis_info = (2)2>",
               "replica_groups={{0,1},{2,3},{4,5},{6,7}}");
    groups_are("#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 4>, "
               "#stablehlo.mesh_axis<name = \"y\", size = 2>], device_ids = [0, 4, 1, 5, 2, 6, 3, 7]>",
               "#stablehlo.axis_ref<name = \"y\">", "replica_groups={{0,4},{1,5},{2,6},{3,7}}");
}

TEST(groups_along_axes_that_are_not_there_are_refused)
{
    static const char *const bad[][2] = {
        {"mesh = @m, axes = []", "replica_groups: sharding: the module has no such mesh"},
        {"axes = []", "'mesh =' is wanted"},
        {"mesh = #stablehlo.mesh<axes = [<name = \"x\", size = 2>]>, axes = [<name = \"y\">]",
         "the mesh has no such axis"},
        {"mesh = #stablehlo.mesh<axes = [<name = \"x\", size = 2>]>, axes = [<name = \"x\">, <name = \"x\">]",
         "an axis is used twice"},
        {"mesh = #stablehlo.mesh<axes = [<name = \"x\", size = 2>], device_ids = [3]>, axes = [<name = \"x\">]",
         "another number of devices"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char body[600];

        snprintf(body, sizeof(body), "%%r = \"stablehlo.all_to_all\"(%%x) <{concat_dimension = 0 : i64, "
                 "split_count = 2 : i64, split_dimension = 0 : i64, replica_groups = "
                 "#stablehlo.replica_group_mesh_axes<%s>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>",
                 bad[i][0]);
        is_refused(body, 2, bad[i][1]);
    }
}

TEST(regions_take_what_they_use_from_around_them)
{
    becomes("%c = stablehlo.constant dense<3> : tensor<i32>\n"
            "%0:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<2x3xf32>\n"
            "cond {\n"
            "  %1 = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            "  stablehlo.return %1 : tensor<i1>\n"
            "} do {\n"
            "  %1 = stablehlo.add %v, %x : tensor<2x3xf32>\n"
            "  %2 = stablehlo.add %i, %c : tensor<i32>\n"
            "  stablehlo.return %2, %1 : tensor<i32>, tensor<2x3xf32>\n"
            "}\n"
            "%r = stablehlo.negate %0#1 : tensor<2x3xf32>", "tuple(n, x, x)");
    becomes("%r = \"stablehlo.case\"(%n) ({\n"
            "  stablehlo.return %x : tensor<2x3xf32>\n"
            "}, {\n"
            "  %0 = call @half(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
            "  stablehlo.return %0 : tensor<2x3xf32>\n"
            "}) : (tensor<i32>) -> tensor<2x3xf32>", "conditional(n,");
}

TEST(shapes_that_constants_say_are_static)
{
    becomes("%s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>\n"
            "%r = stablehlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>", "reshape(x)");
    becomes("%a = stablehlo.constant dense<0> : tensor<2xi64>\n"
            "%b = stablehlo.constant dense<[2, 3]> : tensor<2xi64>\n"
            "%c = stablehlo.constant dense<1> : tensor<2xi64>\n"
            "%r = stablehlo.real_dynamic_slice %x, %a, %b, %c : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>",
            "slice={[0:2], [0:3]}");
}

TEST(arguments_say_what_they_share_with_results)
{
    char *hlo = hlo_of("module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
                       "  func.func public @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32, mhlo.sharding = \"{replicated}\"}) -> tensor<2xf32> {\n"
                       "    return %x : tensor<2xf32>\n  }\n}\n");
    assert_non_null(strstr(hlo, "input_output_alias={ {}: (0, {}, may-alias) }"));
    assert_non_null(strstr(hlo, "num_partitions=2"));
    assert_non_null(strstr(hlo, "sharding={replicated}"));
    free(hlo);
}

TEST(what_no_program_has_is_refused_by_name)
{
    is_refused("%0 = stablehlo.ads %x : tensor<2x3xf32>", 2, "did you mean \"stablehlo.abs\"");
    is_refused("%0 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.1>>", 2, "quantized types are not known");
    is_refused("%0 = \"stablehlo.transpose\"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>", 2, "the attribute permutation is missing");
    is_refused("%0 = call @nowhere(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>", 2, "no function is named @nowhere");
    is_refused("call @main(%x, %n) : (tensor<2x3xf32>, tensor<i32>) -> ()", 2, "@main calls itself");
    is_refused("%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>", 2, "1 numbers for rank 2");
    is_refused("%0 = stablehlo.dynamic_reshape %x, %n : (tensor<2x3xf32>, tensor<i32>) -> tensor<?xf32>", 2, "has no bound");
    is_refused("%0 = stablehlo.reduce(%x init: %n) across dimensions = [0] : (tensor<2x3xf32>, tensor<i32>) -> tensor<3xf32>\n"
               " reducer(%a: tensor<f32>, %b: tensor<f32>) {\n"
               "  %1 = stablehlo.negate %x : tensor<2x3xf32>\n"
               "  stablehlo.return %a : tensor<f32>\n}", 4, "from around it");
    is_refused("%0 = stablehlo.compare XX, %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>", 2, "comparison_direction");
}

TEST(what_is_said_of_an_argument_is_a_dictionary)
{
    static const char text[] =
        "\"builtin.module\"() ({\n"
        "  \"func.func\"() <{arg_attrs = [[1 : i32]], function_type = (tensor<f32>) -> (), "
        "sym_name = \"main\"}> ({\n"
        "  ^bb0(%a: tensor<f32>):\n    \"func.return\"() : () -> ()\n  }) : () -> ()\n"
        "}) : () -> ()\n";
    struct arena a;
    struct err e;

    arena_init(&a);
    assert_null(stablehlo_read_text(text, strlen(text), "text", &a, &e));
    assert_non_null(strstr(e.msg, "is no dictionary"));
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_become_instructions),
        cmocka_unit_test(a_call_of_ragged_all_to_all_is_the_operation),
        cmocka_unit_test(a_receive_is_sharded_with_its_context),
        cmocka_unit_test(groups_are_the_devices_along_axes_of_a_mesh),
        cmocka_unit_test(groups_along_axes_that_are_not_there_are_refused),
        cmocka_unit_test(what_is_said_of_an_argument_is_a_dictionary),
        cmocka_unit_test(regions_take_what_they_use_from_around_them),
        cmocka_unit_test(shapes_that_constants_say_are_static),
        cmocka_unit_test(arguments_say_what_they_share_with_results),
        cmocka_unit_test(what_no_program_has_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
