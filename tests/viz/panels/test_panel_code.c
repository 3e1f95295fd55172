/*
 * The code panel: its counts against the machine's own, its lines, its search,
 * and how it is drawn.
 */
#include "viz/models/model_code.h"

#include "sim/observe/inspect.h"
#include "sim/chip/limits.h"
#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

static struct panel_rig r;

static void open(const char *text)
{
    panel_rig_open(&r, "v3", text, 1, TRACE_BUNDLE);
}

static void close_all(void)
{
    panel_rig_close(&r);
}

static void assert_counts(struct code_counts *c)
{
    uint32_t i;

    for (i = 0; i < c->bundle_count; i++) {
        assert_int_equal(c->issued[i], machine_bundle_count(r.rig.m, 0, i));
        assert_int_equal(code_waited(c, i), machine_bundle_stall(r.rig.m, 0, i));
    }
}

/* a loop whose iterations are not simulated but for some */
static const char long_loop[] =
    "{ s0 = smov 50000 }\n"
    "loop:\n"
    "{ s0 = ssub.s32 s0, 1 ;; v1 = vld [vmem:0] }\n"
    "{ p0 = scmp.gt.s32.totalorder s0, 0 ;; v2 = vrot.slane v1, 1 }\n"
    "{ sbr.rel (p0) target = loop }\n"
    "{ vdelay 3 }\n"
    "{ shalt }\n";

static const char *const programs[] = {panel_program, long_loop};

TEST(counts_are_those_of_the_machine)
{
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        struct code_counts c;
        cycle_t end;

        open(programs[i]);
        end = ntrace_info(r.run)->cycles;
        code_counts_init(&c, ntrace_program(r.run, 0)->bundle_count);
        code_counts_restart(&c, 0, end);
        while (!code_counts_advance(&c, r.run, 0, 100))
            ;
        assert_counts(&c);
        assert_int_equal(c.issue_cycles + c.wait_cycles, end);
        code_counts_fini(&c);
        close_all();
    }
}

TEST(stretches_add_up_wherever_they_meet)
{
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        struct code_counts part, whole;
        cycle_t end, at, next;
        uint32_t n, b;
        int reason;

        open(programs[i]);
        n = ntrace_program(r.run, 0)->bundle_count;
        end = ntrace_info(r.run)->cycles;
        code_counts_init(&part, n);
        code_counts_init(&whole, n);
        for (at = 0; at < end; at = next) {
            next = at + end / 7 + 13;
            next = next < end ? next : end;
            code_counts_restart(&part, at, next);
            code_counts_advance(&part, r.run, 0, INT64_MAX);
            assert_int_equal(part.issue_cycles + part.wait_cycles, next - at);
            for (b = 0; b < n; b++) {
                whole.issued[b] += part.issued[b];
                for (reason = 0; reason < STALL_COUNT; reason++)
                    whole.waited[b][reason] += part.waited[b][reason];
            }
        }
        assert_counts(&whole);
        code_counts_fini(&part);
        code_counts_fini(&whole);
        close_all();
    }
}

TEST(lines_have_notes_labels_and_every_bundle_once)
{
    const struct isa_program *p;
    struct code_lines l;
    char text[400];
    size_t i;
    uint32_t bundles = 0;

    open(panel_program);
    p = ntrace_program(r.run, 0);
    code_lines_init(&l, p);
    assert_int_equal(l.line[0].kind, CODE_NOTE);
    assert_string_equal(p->note[l.line[0].index], "copy in");
    for (i = 0; i < l.count; i++)
        if (l.line[i].kind == CODE_BUNDLE) {
            assert_int_equal(l.line[i].bundle, bundles);
            assert_int_equal(l.of_bundle[bundles], i);
            bundles++;
        }
    assert_int_equal(bundles, p->bundle_count);
    assert_int_equal(l.count, bundles + 4 + 2);
    assert_string_equal(code_print_bundle(p, 4, text, sizeof(text)),
                        "v0 = vld [vmem:s0] ;; p0 = scmp.gt.s32.totalorder s0, s1");
    code_print_bundle(p, 4, text, 10);                  /* cut, not overrun */
    assert_string_equal(text, "v0 = vld ");
    code_lines_fini(&l);
    close_all();
}

TEST(the_grid_shows_which_slots_are_taken)
{
    struct code_slot slot[SLOT_COUNT];
    struct isa_slots slots;
    int count, i, taken = 0;

    open(panel_program);
    chip_slots(&r.rig.chip, &slots);
    count = code_slots(ntrace_program(r.run, 0), 4, &slots, slot);
    for (i = 0; i < count; i++) {
        assert_true(slot[i].count > 0);
        taken += slot[i].taken;
        if (slot[i].slot == SLOT_SCALAR || slot[i].slot == SLOT_LOAD)
            assert_int_equal(slot[i].taken, 1);
    }
    assert_int_equal(taken, 2);
    close_all();
}

TEST(search_finds_operations_and_notes)
{
    const struct isa_program *p;
    struct err e;
    bool *hit;

    open(panel_program);
    p = ntrace_program(r.run, 0);
    hit = mem_alloc(p->bundle_count);
    assert_int_equal(code_search(p, "VMATPUSH", hit, &e), 1);
    assert_true(hit[5]);
    assert_int_equal(code_search(p, "^copy out$", hit, &e), 4);
    assert_int_equal(code_search(p, "no such thing", hit, &e), 0);
    assert_int_equal(code_search(p, "(", hit, &e), -1);
    assert_non_null(strstr(e.msg, "\"(\" is no regular expression"));
    mem_free(hit);
    close_all();
}

TEST(the_bundle_at_a_cycle_is_the_one_that_issues_or_waits)
{
    uint32_t bundle;

    open(panel_program);
    assert_true(code_bundle_at(r.run, 0, 0, &bundle));
    assert_int_equal(bundle, 0);
    assert_true(code_bundle_at(r.run, 0, 100, &bundle));        /* the first wait */
    assert_int_equal(bundle, 2);
    assert_false(code_bundle_at(r.run, 0, ntrace_info(r.run)->cycles + 5, &bundle));
    close_all();
}

TEST(a_click_chooses_a_bundle_and_keys_scroll)
{
    void *panel = panel_create(PANEL_CODE);
    const struct rect area = {0, 0, 1280, 300};
    struct draw_list d;
    struct view v;

    open(panel_program);
    view_init(&v, r.run);
    draw_init(&d, 100);
    panel_draw(PANEL_CODE, panel, &v, &d, area);
    assert_true(panel_input(PANEL_CODE, panel, &v, &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                            .x = 600, .y = 90}, area));
    assert_true(v.has_bundle);
    assert_int_equal(v.bundle, 1);
    v.search = "shalt";
    panel_draw(PANEL_CODE, panel, &v, &d, area);
    assert_true(panel_input(PANEL_CODE, panel, &v,
                            &(struct input){.kind = INPUT_KEY, .key = 'n'}, area));
    assert_int_equal(v.bundle, ntrace_program(r.run, 0)->bundle_count - 1);
    draw_fini(&d);
    panel_destroy(PANEL_CODE, panel);
    close_all();
}

TEST(texts_never_overlap)
{
    struct view v;

    open(panel_program);
    view_init(&v, r.run);
    v.has_bundle = true;
    v.bundle = 12;
    v.search = "vmatmul";
    v.cursor = 3000;
    panel_check_drawing(PANEL_CODE, &v);
    v.core = 1;                                         /* it had no program */
    panel_check_drawing(PANEL_CODE, &v);
    close_all();
    panel_rig_open(&r, "v3", panel_program, 1, TRACE_OP);
    view_init(&v, r.run);
    panel_check_drawing(PANEL_CODE, &v);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_machine),
        cmocka_unit_test(stretches_add_up_wherever_they_meet),
        cmocka_unit_test(lines_have_notes_labels_and_every_bundle_once),
        cmocka_unit_test(the_grid_shows_which_slots_are_taken),
        cmocka_unit_test(search_finds_operations_and_notes),
        cmocka_unit_test(the_bundle_at_a_cycle_is_the_one_that_issues_or_waits),
        cmocka_unit_test(a_click_chooses_a_bundle_and_keys_scroll),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
