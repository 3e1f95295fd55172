/*
 * The panel that compares two runs: its lists against the machines' counters,
 * against systole diff and against every interval of a source operation; what
 * keys and pointer do; how it is drawn.
 */
#include <string.h>

#include "tests/test.h"

#include "base/rng.h"
#include "report/diff/diff.h"
#include "report/folder/report.h"
#include "tests/rigs/draw_rig.h"
#include "tests/rigs/panel_rig.h"
#include "tests/rigs/toy.h"
#include "viz/panels/compare_draw.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct panel_rig a, b;

/* panel_program with a wait in front and a source operation that the other has not */
static char longer[16384];

static void open_run(struct panel_rig *r, const char *set, const char *const *text, int launches,
                     int cores)
{
    struct rig_options options = {.mode = MODE_TIMING, .set = {set}};
    struct ntrace_options so = {.level = TRACE_BUNDLE, .title = "test.tasm"};

    rig_open(&r->rig, "v3", &options);
    tee_open(&r->tee, r->rig.m, &so);
    for (int i = 0; i < launches; i++) {
        for (int core = 0; core < cores; core++)
            rig_load(&r->rig, core, text[i]);
        if (rig_run(&r->rig))
            fail_msg("%s", r->rig.err.msg);
    }
    r->run = tee_read(&r->tee);
}

/* A is shorter; both have two launches, the last one of B on one core */
static void open_both(const char *set)
{
    const char *first[2] = {longer, panel_program}, *second[2] = {panel_program, longer};

    snprintf(longer, sizeof(longer), ".note wait\n{ vdelay 7000 }\n{ v3 = vrot.slane v1, 1 }\n%s",
             panel_program);
    open_run(&a, NULL, first, 2, 2);
    open_run(&b, set, second, 2, 1);
}

static void close_both(void)
{
    panel_rig_close(&a);
    panel_rig_close(&b);
}

static void load_last(struct compare_model *m, int core)
{
    memset(m, 0, sizeof(*m));
    compare_model_load(m, a.run, 1, b.run, 1, core);
}

static void assert_near(double x, double expected)
{
    if (fabs(x - expected) > 1e-9 * fabs(expected) + 1e-12)
        fail_msg("%.17g instead of %.17g", x, expected);
}

static const struct compare_row *find_row(const struct compare_model *m, enum compare_list list,
                                          const char *name)
{
    for (size_t i = 0; i < m->count[list]; i++)
        if (strcmp(m->row[list][i].name, name) == 0)
            return &m->row[list][i];
    return NULL;
}

static void assert_adds_up(const struct compare_model *m)
{
    for (int list = 0; list < COMPARE_LIST_COUNT; list++) {
        cycle_t cycles[2] = {0, 0};
        double sum = 0, before = INFINITY;

        for (size_t i = 0; i < m->count[list]; i++) {
            const struct compare_row *r = &m->row[list][i];

            cycles[0] += r->cycles[0];
            cycles[1] += r->cycles[1];
            sum += r->difference;
            assert_true(fabs(r->difference) <= before);
            before = fabs(r->difference);
        }
        assert_int_equal(cycles[0], m->side[0].cycles);
        assert_int_equal(cycles[1], m->side[1].cycles);
        assert_near(sum, m->difference);
        if (!m->has_two_clocks)
            assert_true(sum == m->difference);
    }
}

TEST(lists_are_the_counters_and_add_up)
{
    struct compare_model m;

    open_both(NULL);
    load_last(&m, 0);
    assert_false(m.has_two_clocks);
    assert_true(m.difference
                == (double)(machine_cycles(b.rig.m) - machine_cycles(a.rig.m)));
    assert_true(m.difference > 6000);
    for (int i = 0; i < STALL_COUNT; i++) {
        const struct compare_row *r = find_row(&m, COMPARE_REASONS,
                                               stall_name((enum stall_reason)i));
        const cycle_t in_a = machine_counters(a.rig.m, 0)->stall_cycles[i];
        const cycle_t in_b = machine_counters(b.rig.m, 0)->stall_cycles[i];

        assert_true(!r == (in_a == 0 && in_b == 0));
        assert_true(!r || (r->cycles[0] == in_a && r->cycles[1] == in_b));
    }
    assert_adds_up(&m);
    assert_string_equal(m.row[COMPARE_OPS][0].name, "wait");
    assert_int_equal(m.row[COMPARE_OPS][0].cycles[0], 0);
    compare_model_fini(&m);
    load_last(&m, 1);                   /* idle in B: it had no program in the last launch… */
    assert_adds_up(&m);
    compare_model_fini(&m);
    close_both();
}

/* ---- against systole diff ---- */

struct folders {
    char path[2][200];
    struct run_folder folder[2];
    struct arena arena;
    struct diff diff;
};

static void open_folders(struct folders *f)
{
    const struct panel_rig *const rig[2] = {&a, &b};
    struct err e;

    arena_init(&f->arena);
    for (int i = 0; i < 2; i++) {
        struct report_run run = {.host_seconds = 1,
                                 .step = {.title = "test", .machine = rig[i]->rig.m}};

        toy_make_folder(f->path[i], sizeof(f->path[i]));
        if (report_write_folder(&run, f->path[i], &e)
            || run_folder_open(&f->folder[i], f->path[i], &f->arena, &e))
            fail_msg("%s", e.msg);
    }
    if (diff_make(&f->diff, &f->folder[0], &f->folder[1], 0, &f->arena, &e))
        fail_msg("%s", e.msg);
}

static void close_folders(struct folders *f)
{
    diff_fini(&f->diff);
    for (int i = 0; i < 2; i++) {
        run_folder_close(&f->folder[i]);
        toy_remove_folder(f->path[i]);
    }
    arena_fini(&f->arena);
}

static void assert_agrees_with_diff(const char *set)
{
    struct compare_model m;
    struct folders f;
    int rows = 0;

    open_both(set);
    load_last(&m, 0);
    open_folders(&f);
    for (size_t i = 0; i < f.diff.row_count; i++) {
        const struct diff_row *known = &f.diff.row[i];
        const struct compare_row *r;

        if (known->section != DIFF_CYCLES || (known->a == 0 && known->b == 0))
            continue;
        r = find_row(&m, COMPARE_REASONS, known->name);
        assert_non_null(r);
        assert_true((double)r->cycles[0] == known->a && (double)r->cycles[1] == known->b);
        rows++;
    }
    assert_true(rows >= 4);
    assert_int_equal((size_t)rows + (set != NULL), m.count[COMPARE_REASONS]);
    if (set) {
        assert_near(m.difference, diff_step_us(&f.diff));
        for (int list = 0; list < COMPARE_LIST_COUNT; list++)
            assert_near(find_row(&m, (enum compare_list)list, "clock")->difference,
                        diff_clock_us(&f.diff));
    } else {
        assert_true(m.difference == diff_step_cycles(&f.diff));
    }
    assert_adds_up(&m);
    close_folders(&f);
    compare_model_fini(&m);
    close_both();
}

TEST(cycles_are_those_of_systole_diff)
{
    assert_agrees_with_diff(NULL);
}

TEST(other_clocks_are_a_row_of_their_own)
{
    assert_agrees_with_diff("chip.clock_mhz=470");
}

/* ---- source operations ---- */

struct intervals {
    const struct isa_program *program;
    const char *name;
    cycle_t cycles;
};

static bool add_interval(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    struct intervals *x = context;

    if (strcmp(note ? x->program->note[note - 1] : "(none)", x->name) == 0)
        x->cycles += end - start;
    return true;
}

TEST(source_operations_of_one_name_stand_beside_each_other)
{
    struct compare_model m;

    open_both(NULL);
    load_last(&m, 0);
    assert_int_equal(m.count[COMPARE_OPS], 5);
    for (size_t i = 0; i < m.count[COMPARE_OPS]; i++)
        for (int side = 0; side < 2; side++) {
            const struct compare_row *r = &m.row[COMPARE_OPS][i];
            const struct compare_side *s = &m.side[side];
            struct intervals x = {ntrace_program(s->run, 0), r->name, 0};

            ntrace_walk_ops(s->run, 0, s->start, s->start + s->cycles, add_interval, &x);
            assert_int_equal(x.cycles, r->cycles[side]);
        }
    for (int side = 0; side < 2; side++)        /* one name, one colour */
        for (uint32_t n = 1; n <= m.side[side].note_count; n++) {
            const char *name = ntrace_program(m.side[side].run, 0)->note[n - 1];
            const struct compare_row *r = find_row(&m, COMPARE_OPS, name);

            assert_true(!r || r->color == m.side[side].color[n]);
        }
    compare_model_fini(&m);
    close_both();
}

/* ---- the panel ---- */

static const struct rect area = {0, 0, 1280, 690};

static struct view view_of_both(void)
{
    struct view v;

    view_init(&v, a.run);
    v.other = b.run;
    v.path = "one";
    v.other_path = "two";
    return v;
}

static void draw(void *panel, const struct view *v, struct draw_list *d)
{
    draw_clear(d);
    panel_draw(PANEL_COMPARE, panel, v, d, area);
}

static bool has_text(const struct draw_list *d, const char *part)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->command[i].kind == DRAW_TEXT && strstr(d->command[i].text, part))
            return true;
    return false;
}

static void press(void *panel, struct view *v, struct rect r)
{
    assert_true(panel_input(PANEL_COMPARE, panel, v,
                            &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                              .x = r.x + 1, .y = r.y + 1}, area));
}

static void key(void *panel, struct view *v, uint32_t k)
{
    assert_true(panel_input(PANEL_COMPARE, panel, v,
                            &(struct input){.kind = INPUT_KEY, .key = k}, area));
}

TEST(keys_and_buttons_choose_launches)
{
    struct compare_panel *p = panel_create(PANEL_COMPARE);
    struct draw_list d;
    struct view v;

    open_both(NULL);
    v = view_of_both();
    draw_init(&d, 100);
    draw(p, &v, &d);
    assert_int_equal(p->model.side[0].launch, 1);       /* the last ones, as systole diff */
    assert_int_equal(p->model.side[1].launch, 1);
    assert_true(has_text(&d, "A: launch 2 of 2") && has_text(&d, "B: launch 2 of 2"));
    key(p, &v, '[');
    draw(p, &v, &d);
    assert_int_equal(p->model.side[0].launch, 0);
    assert_int_equal(p->model.side[1].launch, 0);
    assert_true(v.from == 0 && v.end == (double)p->model.side[0].cycles);
    press(p, &v, p->at.lanes[1].next);
    draw(p, &v, &d);
    assert_int_equal(p->model.side[0].launch, 0);
    assert_int_equal(p->model.side[1].launch, 1);
    press(p, &v, p->at.lanes[0].next);
    press(p, &v, p->at.lanes[1].last);
    draw(p, &v, &d);
    assert_int_equal(p->model.side[0].launch, 1);
    assert_int_equal(p->model.side[1].launch, 0);
    key(p, &v, ']');
    key(p, &v, ']');
    draw(p, &v, &d);
    assert_int_equal(p->model.side[0].launch, 1);
    assert_int_equal(p->model.side[1].launch, 1);
    draw_fini(&d);
    panel_destroy(PANEL_COMPARE, p);
    close_both();
}

TEST(launches_are_aligned_at_one_scale_of_time)
{
    static const char *const sets[] = {NULL, "chip.clock_mhz=470"};

    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        struct compare_panel *p = panel_create(PANEL_COMPARE);
        const struct compare_lanes *l = p->at.lanes;
        const struct compare_side *s = p->model.side;
        struct draw_list d;
        struct view v;

        open_both(sets[i]);
        v = view_of_both();
        draw_init(&d, 100);
        draw(p, &v, &d);
        for (int zoom = 0; zoom < 3; zoom++) {
            assert_near((l[0].from - (double)s[0].start) / s[0].mhz,
                        (l[1].from - (double)s[1].start) / s[1].mhz);
            assert_near(l[0].cycles_per_pixel / s[0].mhz, l[1].cycles_per_pixel / s[1].mhz);
            assert_int_equal(l[0].box.x, l[1].box.x);
            assert_int_equal(l[1].width, l[1].box.w);   /* the longer one fills its box */
            assert_true(zoom || (l[0].width < l[0].box.w && has_text(&d, "ends here")));
            assert_true(panel_input(PANEL_COMPARE, p, &v, &(struct input){
                .kind = INPUT_WHEEL, .dy = 3, .x = l[0].box.x + 200, .y = l[0].box.y + 5}, area));
            draw(p, &v, &d);
        }
        assert_true(v.end - v.from < (double)s[0].cycles / 2);
        assert_true(has_text(&d, i ? "B-A, µs" : "B-A"));
        assert_true(has_text(&d, "cycles by part"));
        draw_fini(&d);
        panel_destroy(PANEL_COMPARE, p);
        close_both();
    }
}

TEST(the_pointer_tells_lanes_and_rows)
{
    struct compare_panel *p = panel_create(PANEL_COMPARE);
    const struct compare_lanes *l = p->at.lanes;
    struct draw_list d;
    struct view v;
    const char *text;

    open_both(NULL);
    v = view_of_both();
    draw_init(&d, 100);
    draw(p, &v, &d);
    text = panel_hover(PANEL_COMPARE, p, &v, area, l[1].box.x + 30, l[1].cores.y + 2, &d.arena);
    assert_non_null(strstr(text, "B, core 0\n"));
    assert_non_null(strstr(text, "most here: wait\n"));
    assert_non_null(strstr(text, "delay"));
    assert_string_equal(panel_hover(PANEL_COMPARE, p, &v, area, l[0].box.x + l[0].box.w - 3,
                                            l[0].cores.y + 2, &d.arena), "");
    text = panel_hover(PANEL_COMPARE, p, &v, area, p->at.tables.x + 2,
                               p->at.tables.y + 2 * draw_line_height(&d, TEXT_SMALL), &d.arena);
    assert_non_null(strstr(text, p->model.row[COMPARE_PARTS][0].name));
    assert_non_null(strstr(text, "% of the difference"));
    draw_fini(&d);
    panel_destroy(PANEL_COMPARE, p);
    close_both();
}

TEST(what_cannot_be_compared_is_said)
{
    struct compare_panel *p = panel_create(PANEL_COMPARE);
    const char *text[1] = {panel_program};
    struct draw_list d;
    struct view v;

    open_run(&a, NULL, text, 1, 1);
    panel_rig_open(&b, "v3", panel_program, 1, TRACE_STEP);
    draw_init(&d, 100);
    v = view_of_both();
    draw(p, &v, &d);
    assert_true(has_text(&d, "The second run has only launches"));
    v.other = NULL;
    draw(p, &v, &d);
    assert_true(has_text(&d, "One run is open"));
    assert_false(panel_input(PANEL_COMPARE, p, &v,
                             &(struct input){.kind = INPUT_KEY, .key = ']'}, area));
    assert_string_equal(panel_hover(PANEL_COMPARE, p, &v, area, 300, 300, &d.arena), "");
    panel_rig_close(&a);
    panel_rig_close(&b);
    panel_rig_open(&a, "v3-8", panel_program, 0xff, TRACE_BUNDLE);
    panel_rig_open(&b, "v3", panel_program, 1, TRACE_BUNDLE);
    v = view_of_both();
    v.core = 5;
    draw(p, &v, &d);
    assert_true(has_text(&d, "The second run has no core 5, only 0 to 1"));
    v.core = 1;
    draw(p, &v, &d);
    assert_true(has_text(&d, "Core 1 of both"));
    draw_fini(&d);
    panel_destroy(PANEL_COMPARE, p);
    close_both();
}

static struct ntrace *open_cut(const char *path, size_t bytes, char cut[64])
{
    char *text = mem_alloc(bytes + 1);
    FILE *from = fopen(path, "rb"), *to;
    struct ntrace *t;
    struct err e;

    snprintf(cut, 64, "/tmp/systole_compare_XXXXXX");
    to = fdopen(mkstemp(cut), "wb");
    bytes = fread(text, 1, bytes, from);
    assert_int_equal(fwrite(text, 1, bytes, to), bytes);
    fclose(from);
    fclose(to);
    t = ntrace_open(cut, &e);
    unlink(cut);
    mem_free(text);
    return t;
}

TEST(a_second_run_that_was_cut_short_is_compared_as_far_as_it_goes)
{
    struct compare_panel *p = panel_create(PANEL_COMPARE);
    char path[64];
    int compared = 0, refused = 0;
    struct draw_list d;

    open_both(NULL);
    draw_init(&d, 100);
    for (size_t bytes = 200; bytes < 60000; bytes += 397) {
        struct view v = view_of_both();

        v.other = open_cut(b.tee.path, bytes, path);
        if (!v.other)
            continue;
        draw(p, &v, &d);
        if (p->is_drawn) {
            assert_adds_up(&p->model);
            assert_true(ntrace_info(v.other)->is_complete
                        || has_text(&d, "Of B only a part is there"));
            compared++;
        } else {
            assert_int_equal(ntrace_info(v.other)->launch_count, 0);
            assert_true(has_text(&d, "The second run has no launch"));
            refused++;
        }
        panel_destroy(PANEL_COMPARE, p);
        p = panel_create(PANEL_COMPARE);
        ntrace_close(v.other);
    }
    assert_true(compared > 10 && refused > 0);
    draw_fini(&d);
    panel_destroy(PANEL_COMPARE, p);
    close_both();
}

TEST(hurried_frames_come_to_the_whole_picture)
{
    struct compare_panel *quick = panel_create(PANEL_COMPARE), *slow = panel_create(PANEL_COMPARE);
    struct draw_list d, whole;
    struct view v;
    int frames = 0;

    open_both(NULL);
    v = view_of_both();
    draw_init(&d, 100);
    draw_init(&whole, 100);
    draw(slow, &v, &whole);
    assert_false(whole.is_partial);
    v.is_hurried = true;
    do
        draw(quick, &v, &d);
    while (d.is_partial && frames++ < 200);
    assert_true(frames > 1 && frames < 200);
    assert_true(draw_rig_hash(&d) == draw_rig_hash(&whole));
    draw_fini(&d);
    draw_fini(&whole);
    panel_destroy(PANEL_COMPARE, quick);
    panel_destroy(PANEL_COMPARE, slow);
    close_both();
}

TEST(texts_never_overlap)
{
    static const char *const sets[] = {NULL, "chip.clock_mhz=470"};

    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        struct view v;

        open_both(sets[i]);
        v = view_of_both();
        panel_check_drawing(PANEL_COMPARE, &v);
        view_show(&v, 100, 400);
        panel_check_drawing(PANEL_COMPARE, &v);
        close_both();
    }
}

TEST(no_input_brings_it_out_of_its_runs)
{
    struct compare_panel *p = panel_create(PANEL_COMPARE);
    struct draw_list d;
    struct view v;
    struct rng rng;

    open_both("chip.clock_mhz=470");
    v = view_of_both();
    rng_init(&rng, 9);
    draw_init(&d, 100);
    for (int i = 0; i < 300; i++) {
        const struct input in = {
            .kind = (enum input_kind)rng_below(&rng, INPUT_KEY + 1), .button = 1,
            .x = (int)rng_below(&rng, 1300) - 10, .y = (int)rng_below(&rng, 700) - 5,
            .dx = (int)rng_below(&rng, 400) - 200, .dy = (int)rng_below(&rng, 9) - 4,
            .key = rng_below(&rng, 2) ? '[' : ']'};

        v.is_hurried = rng_below(&rng, 2);
        panel_input(PANEL_COMPARE, p, &v, &in, area);
        draw(p, &v, &d);
        panel_hover(PANEL_COMPARE, p, &v, area, in.x, in.y, &d.arena);
        assert_true(p->model.side[0].launch < 2 && p->model.side[1].launch < 2);
        assert_true(p->at.lanes[0].width >= 0 && p->at.lanes[1].width <= p->at.lanes[1].box.w);
    }
    draw_fini(&d);
    panel_destroy(PANEL_COMPARE, p);
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_the_counters_and_add_up),
        cmocka_unit_test(cycles_are_those_of_systole_diff),
        cmocka_unit_test(other_clocks_are_a_row_of_their_own),
        cmocka_unit_test(source_operations_of_one_name_stand_beside_each_other),
        cmocka_unit_test(keys_and_buttons_choose_launches),
        cmocka_unit_test(launches_are_aligned_at_one_scale_of_time),
        cmocka_unit_test(the_pointer_tells_lanes_and_rows),
        cmocka_unit_test(what_cannot_be_compared_is_said),
        cmocka_unit_test(a_second_run_that_was_cut_short_is_compared_as_far_as_it_goes),
        cmocka_unit_test(hurried_frames_come_to_the_whole_picture),
        cmocka_unit_test(texts_never_overlap),
        cmocka_unit_test(no_input_brings_it_out_of_its_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
