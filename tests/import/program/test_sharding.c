/* Shardings as text: do all forms say the same tiles, and are broken ones refused? */
#include "tests/test.h"

#include <string.h>

#include "import/program/sharding.h"

static const char *const axis_name[] = {"x", "y", "z"};

struct rig {
    struct arena arena;
    struct hlo_module module;
    struct hlo_mesh mesh[2];
};

static void setup(struct rig *r)
{
    static const int64_t size[] = {2, 4, 1}, turned[] = {0, 2, 4, 6, 1, 3, 5, 7};

    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    hlo_module_init(&r->module, &r->arena, "test");
    r->mesh[0] = (struct hlo_mesh){.name = "mesh", .axis_count = 3, .axis = axis_name, .size = size};
    r->mesh[1] = r->mesh[0];
    r->mesh[1].name = "turned";
    r->mesh[1].device = (struct hlo_ints){8, turned};
    r->module.mesh = r->mesh;
    r->module.mesh_count = 2;
}

static void teardown(struct rig *r)
{
    r->module.mesh = NULL;
    hlo_module_fini(&r->module);
    arena_fini(&r->arena);
}

/* the shardings of a text, printed; a message where it is refused */
static const char *read(struct rig *r, const char *text)
{
    const struct hlo_sharding *s;
    struct err e;
    const char *all = "";
    int count;

    if (hlo_sharding_parse(&r->module, text, strlen(text), &count, &s, &e))
        return arena_printf(&r->arena, "! %s", e.msg);
    for (int i = 0; i < count; i++)
        all = arena_printf(&r->arena, "%s%s", all, hlo_sharding_text(&r->arena, &s[i]));
    return all;
}

static const char *const forms[][2] = {
    {"{replicated}", "{replicated}"},
    {"replicated", "{replicated}"},
    {"{manual}", "{manual}"},
    {"{unreduced}", "{unreduced}"},
    {"{maximal device=3 metadata={op_type=\"a}\" op_name=\"b\"}}", "{maximal device=3}"},
    {"{devices=[2,1]0,1}", "{devices=[2,1]<=[2]}"},
    {"{devices=[2,2]0,2,1,3}", "{devices=[2,2]0,2,1,3}"},
    {"{devices=[4,2]<=[2,4]T(1,0)}", "{devices=[4,2]0,4,1,5,2,6,3,7}"},
    {"{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
     "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
    {"{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}",
     "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"},
    {"{devices=[2]<=[2], shard_as 3}", "{devices=[2]<=[2]}"},
    {"{{replicated}, /*index=1*/{devices=[2]0,1}}", "{replicated}{devices=[2]<=[2]}"},
    {"{}", ""},
    {"{mesh['a'=2,'b'=2], [{'b'}, {}], replicated={'a'}}",
     "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}"},
    {"mesh['a'=8], [{'a':(2)2,?}]",
     "{devices=[2,4]0,1,4,5,2,3,6,7 last_tile_dim_replicate}"},
    {"mesh['a'=4], device_ids=(3,2,1,0), [{'a'}]", "{devices=[4]3,2,1,0}"},
    {"mesh['a'=2,'b'=2], [{}, {}], manual={'a'}",
     "{devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated}}"},
    {"#sdy.sharding<@mesh, [{\"y\"}, {}]>", "{devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}"},
    {"<@mesh, [{\"x\", \"y\"}p1, {?}], replicated={}>", "{devices=[8,1]<=[8]}"},
    {"<@mesh, [{\\\"y\\\", \\\"x\\\"}]>", "{devices=[8]0,4,1,5,2,6,3,7}"},
    {"<@turned, [{\"x\", \"y\"}]>", "{devices=[8]0,2,4,6,1,3,5,7}"},
    {"<@mesh, [{\"z\"}, {}]>", "{replicated}"},
    {"<@mesh, []>", "{replicated}"},
    {"#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>, <@mesh, [{}]>]>",
     "{devices=[2,4]<=[8] last_tile_dim_replicate}{replicated}"},
    {"[<@mesh, [{}]>, <@mesh, [{\"x\"}]>]",
     "{replicated}{devices=[2,4]<=[8] last_tile_dim_replicate}"},
    {"#sdy.sharding<mesh<[\"a\"=2]>, [{\"a\"}]>", "{devices=[2]<=[2]}"},
    {"#sdy.sharding<mesh<[], device_ids=[5]>, []>", "{maximal device=5}"},
};

TEST(all_forms_of_shardings_are_read)
{
    struct rig r;

    setup(&r);
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        assert_string_equal(read(&r, forms[i][0]), forms[i][1]);
    teardown(&r);
}

TEST(printed_shardings_are_read_as_they_were)
{
    struct rig r;

    setup(&r);
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        const char *text = forms[i][1];

        if (text[0] && !strstr(text, "}{"))
            assert_string_equal(read(&r, text), text);
    }
    teardown(&r);
}

TEST(broken_shardings_are_refused)
{
    static const char *const broken[] = {
        "", "{", "{replicated", "{replicated} x", "{devices=[2,2]0,1}", "{devices=[2]0,2}",
        "{devices=[2]0,0}", "{devices=[2]<=[3]}", "{devices=[4]<=[2,2]T(0,0)}",
        "{devices=[4]<=[2,2]T(1)}", "{devices=[99999999]<=[99999999]}", "{devices=[0]<=[0]}",
        "{devices=[2]<=[2] last_tile_dims={wrong}}", "{maximal device=}", "{{replicated}",
        "<@mesh, [{\"w\"}]>", "<@nothing, [{}]>", "<@mesh, [{\"x\"}, {\"x\"}]>",
        "<@mesh, [{\"y\":(2)3}]>", "<@mesh, [{\"y\":(0)2}]>", "mesh['a'=2", "mesh['a'=2], [{'a'",
        "mesh['a'=1000,'b'=100000], [{'a'}]", "#sdy.sharding_per_value<[<@mesh, [{}]>",
    };
    struct rig r;

    setup(&r);
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
        if (read(&r, broken[i])[0] != '!')
            fail_msg("'%s' is read as '%s'", broken[i], read(&r, broken[i]));
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)         /* cut anywhere: no crash */
        for (size_t n = 0; n < strlen(forms[i][0]); n++)
            read(&r, arena_printf(&r.arena, "%.*s", (int)n, forms[i][0]));
    teardown(&r);
}

TEST(manual_axes_are_a_subgroup)
{
    struct hlo_sharding s;
    struct err e;
    struct rig r;

    setup(&r);
    assert_int_equal(hlo_sharding_parse_manual(&r.module, r.mesh, "#sdy<manual_axes{\"y\"}>", 24, 2,
                                               &s, &e), 0);
    assert_string_equal(hlo_sharding_text(&r.arena, &s),
                        "{devices=[1,1,4,2]0,4,1,5,2,6,3,7 last_tile_dims={manual, replicated}}");
    assert_int_equal(hlo_sharding_parse_manual(&r.module, r.mesh, "{\"x\", \"y\"}", 10, 2, &s, &e),
                     0);
    assert_int_equal(s.kind, HLO_MANUAL);
    assert_ptr_equal(hlo_sharding_mesh(&r.module, "<@turned, [{}]>", 15), &r.mesh[1]);
    teardown(&r);
}

TEST(meshes_of_a_header_are_read)
{
    static const char text[] = "{first = #sdy.mesh<[\"a\"=2, \"b\"=3]>, "
                               "other = #sdy.mesh<[\"c\"=2], device_ids=[1, 0]>}";
    struct hlo_module m;
    struct arena arena;
    struct err e;

    arena_init(&arena);
    hlo_module_init(&m, &arena, "test");
    assert_int_equal(hlo_meshes_parse(&m, text, sizeof(text) - 1, &e), 0);
    assert_int_equal(m.mesh_count, 2);
    assert_int_equal(m.mesh[0].size[1], 3);
    assert_string_equal(m.mesh[1].axis[0], "c");
    assert_int_equal(m.mesh[1].device.item[0], 1);
    assert_int_equal(hlo_meshes_parse(&m, text, 30, &e), -1);
    hlo_module_fini(&m);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_of_shardings_are_read),
        cmocka_unit_test(printed_shardings_are_read_as_they_were),
        cmocka_unit_test(broken_shardings_are_refused),
        cmocka_unit_test(manual_axes_are_a_subgroup),
        cmocka_unit_test(meshes_of_a_header_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
