/*
 * The roofline panel: its points against the run folder's and against every
 * single operation, its counting in pieces, and how it is drawn.
 */
#include <string.h>

#include "viz/models/model_roofline.h"

#include "report/folder/report.h"
#include "tests/rigs/panel_rig.h"
#include "tests/test.h"
#include "tests/rigs/toy.h"
#include "viz/panels/roofline_draw.h"

#include "base/rng.h"
#include "sim/chip/limits.h"

#include <math.h>

static struct panel_rig r;

/* copies to the next core of the ring, a loop that is not simulated but for some iterations, whose
 * store executes in none of them, matrix products, and bundles without a note */
static const char program[] =
    ".note send\n"
    "{ dma.vmem_to_vmem.remote 0x2000, 64, 0x3000, [sflag:3], [sflag:4], s9 }\n"
    "{ dma.done.wait [sflag:3], 64 }\n{ vsyncadd [sflag:3], -64 }\n"
    "{ dma.done.wait [sflag:4], 64 }\n{ vsyncadd [sflag:4], -64 }\n"
    ".note spin\n"
    "{ s0 = smov 20000 }\n"
    "spin:\n"
    "{ s0 = ssub.s32 s0, 1 ;; v1 = vld [vmem:0] ;; p1 = scmp.lt.s32.totalorder s0, 0 }\n"
    "{ p0 = scmp.gt.s32.totalorder s0, 0 ;; vst (p1) [vmem:4096] v1 }\n"
    "{ sbr.rel (p0) target = spin }\n"
    "{ vdelay 3 }\n";

/* on the first `cores` cores of the slice */
static void open(const char *slice, int cores)
{
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = TRACE_BUNDLE, .title = "test.tasm"};
    static char text[16384];

    rig_open(&r.rig, slice, &options);
    for (int i = 0; i < cores; i++) {
        snprintf(text, sizeof(text), "{ s9 = smov %d }\n%s%s",
                 (i + (cores > 2 ? 2 : 1)) % cores, program, panel_program);
        rig_load(&r.rig, i, text);
    }
    tee_open(&r.tee, r.rig.m, &so);
    if (rig_run(&r.rig))
        fail_msg("%s", r.rig.err.msg);
    r.run = tee_read(&r.tee);
}

static void count(struct roofline_model *m, int core, cycle_t from, cycle_t end)
{
    roofline_model_restart(m, r.run, core, from, end);
    assert_true(roofline_model_advance(m, INT64_MAX));
}

static void assert_near(double x, double expected)
{
    if (fabs(x - expected) > 1e-9 * fabs(expected))
        fail_msg("%.17g instead of %.17g", x, expected);
}

static void assert_point(const struct roofline_point *p, const struct roofline_point *expected)
{
    assert_near(p->seconds, expected->seconds);
    assert_near(p->share, expected->share);
    assert_true(p->flops == expected->flops);
    for (int i = 0; i < ROOF_MEMORY_COUNT; i++) {
        assert_true(p->bytes[i] == expected->bytes[i]);
        assert_near(p->use[i], expected->use[i]);
    }
    assert_near(p->use[ROOF_COMPUTE], expected->use[ROOF_COMPUTE]);
    assert_int_equal(p->bound, expected->bound);
    assert_int_equal(p->memory, expected->memory);
    assert_near(p->intensity, expected->intensity);
    assert_near(p->rate, expected->rate);
}

static const struct roofline_point *find_op(const struct roofline_model *m, const char *name)
{
    for (size_t i = 0; i < m->op_count; i++)
        if (strcmp(m->op[i].name, name) == 0)
            return &m->op[i];
    fail_msg("no source operation %s", name);
    return NULL;
}

/* what systole roofline reads, written by the machine's counters */
static void assert_agrees_with_folder(const struct roofline_model *m)
{
    struct report_run run = {.host_seconds = 1,
                             .step = {.title = "test", .machine = r.rig.m,
                                      .program = ntrace_program(r.run, 0)}};
    struct run_folder folder;
    struct roofline known;
    struct arena a;
    char path[200];
    size_t ops = 0;
    struct err e;

    arena_init(&a);
    toy_make_folder(path, sizeof(path));
    if (report_write_folder(&run, path, &e) || run_folder_open(&folder, path, &a, &e)
        || roofline_make(&known, &folder, &a, &e))
        fail_msg("%s", e.msg);
    assert_true(m->has_step);
    assert_string_equal(m->step.name, known.step.name);
    assert_point(&m->step, &known.step);
    assert_memory_equal(&m->roofs, &known.roofs, sizeof(m->roofs));
    assert_true(known.op_count >= 5);
    for (size_t i = 0; i < known.op_count; i++)
        if (strcmp(known.op[i].name, "IDLE") != 0) {
            assert_point(find_op(m, known.op[i].name), &known.op[i]);
            ops++;
        }
    assert_int_equal(m->op_count, ops);
    run_folder_close(&folder);
    toy_remove_folder(path);
    arena_fini(&a);
}

TEST(a_launch_has_the_very_points_of_its_run_folder)
{
    static const struct {
        const char *slice;
        int cores;
    } runs[] = {{"v3-8", 8}, {"v3", 2}, {"v3-8", 5}};
    struct roofline_model m;

    memset(&m, 0, sizeof(m));
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        open(runs[i].slice, runs[i].cores);
        count(&m, 0, 0, ntrace_info(r.run)->cycles);
        assert_true(m.step.bytes[ROOF_ICI] > 0 || i == 1);
        assert_true(find_op(&m, "send")->bytes[ROOF_ICI] > 0 || i == 1);
        assert_agrees_with_folder(&m);
        panel_rig_close(&r);
    }
    roofline_model_fini(&m);
}

struct all {
    const struct isa_program *program;
    const struct chip *chip;
    int64_t flops[64], loads[64], stores[64];
};

static bool add_event(void *context, const struct trace_event *e)
{
    struct all *all = context;
    const struct isa_op *op;
    struct matrix_op m;
    uint32_t note;

    if (e->op == 0)
        return true;
    op = &all->program->op[e->op - 1];
    note = all->program->bundle[e->bundle].note;
    all->loads[note] += isa_info((enum isa_opcode)op->code)->slot == SLOT_LOAD;
    all->stores[note] += isa_info((enum isa_opcode)op->code)->slot == SLOT_STORE;
    if (isa_info((enum isa_opcode)op->code)->unit != UNIT_MXU)
        return true;
    m = matrix_op_of_isa(op);
    if (m.kind == MATRIX_MULTIPLY)
        all->flops[note] += 2 * matrix_rows(m.type) * 128 * 128;
    return true;
}

TEST(flop_loads_and_stores_are_those_of_every_single_operation)
{
    struct all all = {0};
    struct roofline_model m;
    cycle_t end;

    open("v3", 2);
    end = ntrace_info(r.run)->cycles;
    all.program = ntrace_program(r.run, 1);
    ntrace_walk_core(r.run, 1, 0, end, false, true, add_event, &all);
    memset(&m, 0, sizeof(m));
    count(&m, 1, 0, end);
    assert_true(all.flops[4] + all.flops[5] > 0 && all.loads[2] == 20000 && all.stores[2] == 0);
    for (size_t i = 0; i < m.op_count; i++) {
        const uint32_t note = m.note[i];

        assert_true(m.op[i].flops == (double)all.flops[note]);
        assert_true(m.op[i].bytes[ROOF_VMEM_READ] == 4096.0 * (double)all.loads[note]);
        assert_true(m.op[i].bytes[ROOF_VMEM_WRITE] == 4096.0 * (double)all.stores[note]);
    }
    roofline_model_fini(&m);
    panel_rig_close(&r);
}

static void add_up(double sum[3 + ROOF_MEMORY_COUNT], const struct roofline_model *m)
{
    for (size_t i = 0; i < m->op_count; i++) {
        sum[0] += m->op[i].seconds;
        sum[1] += m->op[i].flops;
        for (int k = 0; k < ROOF_MEMORY_COUNT; k++)
            sum[2 + k] += m->op[i].bytes[k];
    }
}

TEST(stretches_add_up_wherever_they_meet)
{
    double whole[3 + ROOF_MEMORY_COUNT] = {0}, parts[3 + ROOF_MEMORY_COUNT] = {0};
    struct roofline_model m;
    struct rng rng;
    cycle_t end, at, next;

    open("v3-8", 8);
    rng_init(&rng, 3);
    memset(&m, 0, sizeof(m));
    end = ntrace_info(r.run)->cycles;
    count(&m, 3, 0, end);
    add_up(whole, &m);
    for (at = 0; at < end; at = next) {
        next = at + 1 + (cycle_t)rng_below(&rng, (uint32_t)(end / 4));
        next = next < end ? next : end;
        count(&m, 3, at, next);
        assert_string_equal(m.step.name, "all of it");
        add_up(parts, &m);
    }
    for (int i = 1; i < 2 + ROOF_MEMORY_COUNT; i++)
        assert_true(whole[i] == parts[i]);
    assert_near(parts[0], whole[0]);
    roofline_model_fini(&m);
    panel_rig_close(&r);
}

TEST(counting_in_pieces_comes_to_the_same)
{
    struct roofline_model pieces, whole;
    cycle_t end;
    int frames = 1;

    open("v3-8", 8);
    end = ntrace_info(r.run)->cycles;
    memset(&pieces, 0, sizeof(pieces));
    memset(&whole, 0, sizeof(whole));
    count(&whole, 5, 0, end);
    roofline_model_restart(&pieces, r.run, 5, 0, end);
    pieces.piece = 64;
    while (!roofline_model_advance(&pieces, 50))
        frames++;
    assert_true(frames > 20);
    assert_int_equal(pieces.op_count, whole.op_count);
    assert_point(&pieces.step, &whole.step);
    for (size_t i = 0; i < whole.op_count; i++)
        assert_point(&pieces.op[i], &whole.op[i]);
    roofline_model_fini(&pieces);
    roofline_model_fini(&whole);
    panel_rig_close(&r);
}

/* ---- drawing ---- */

static const struct draw_command *find_text(const struct draw_list *d, const char *part)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->command[i].kind == DRAW_TEXT && strstr(d->command[i].text, part))
            return &d->command[i];
    return NULL;
}

TEST(a_click_chooses_a_point_and_the_pointer_tells_all_of_it)
{
    const struct rect area = {0, 0, 1600, 900};
    void *panel = panel_create(PANEL_ROOFLINE);
    const struct draw_command *row;
    struct arena a;
    struct draw_list d;
    struct view v;
    const char *text;

    open("v3-8", 8);
    arena_init(&a);
    view_init(&v, r.run);
    draw_init(&d, 100);
    panel_draw(PANEL_ROOFLINE, panel, &v, &d, area);
    assert_non_null(find_text(&d, "HBM 449.9 GB/s"));
    assert_non_null(find_text(&d, "bf16 61.6 TFLOP/s, from 136.9 FLOP/B of HBM on"));
    assert_non_null(find_text(&d, "core 0 did in cycles 0 to "));
    row = find_text(&d, "whole step");
    assert_non_null(row);
    for (size_t i = 0; i < d.count; i++)                /* the one in the list, at the right */
        if (d.command[i].kind == DRAW_TEXT && strcmp(d.command[i].text, "copy out") == 0)
            row = &d.command[i];
    text = panel_hover(PANEL_ROOFLINE, panel, &v, area, row->r.x, row->r.y, &a);
    assert_non_null(strstr(text, "copy out\n"));
    assert_non_null(strstr(text, "no matrix products: no point"));
    assert_string_equal(panel_hover(PANEL_ROOFLINE, panel, &v, area, 3, 3, &a), "");
    assert_true(panel_input(PANEL_ROOFLINE, panel, &v,
                            &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                                .x = row->r.x, .y = row->r.y},
                                     area));
    draw_clear(&d);
    panel_draw(PANEL_ROOFLINE, panel, &v, &d, area);
    draw_fini(&d);
    arena_fini(&a);
    panel_destroy(PANEL_ROOFLINE, panel);
    panel_rig_close(&r);
}

TEST(a_selection_is_counted_alone)
{
    void *panel = panel_create(PANEL_ROOFLINE);
    struct draw_list d;
    struct view v;

    open("v3", 2);
    view_init(&v, r.run);
    v.has_selection = true;
    v.selection_from = 100;
    v.selection_end = 5000;
    draw_init(&d, 100);
    panel_draw(PANEL_ROOFLINE, panel, &v, &d, (struct rect){0, 0, 1600, 900});
    assert_non_null(find_text(&d, "in cycles 100 to 5,000 of the run"));
    draw_fini(&d);
    panel_destroy(PANEL_ROOFLINE, panel);
    panel_rig_close(&r);
}

TEST(a_trace_without_bundles_says_what_to_record)
{
    void *panel = panel_create(PANEL_ROOFLINE);
    struct draw_list d;
    struct view v;

    panel_rig_open(&r, "v3", panel_program, 1, TRACE_OP);
    view_init(&v, r.run);
    draw_init(&d, 100);
    panel_draw(PANEL_ROOFLINE, panel, &v, &d, (struct rect){0, 0, 900, 500});
    assert_non_null(find_text(&d, "--trace-level bundle"));
    assert_string_equal(panel_hover(PANEL_ROOFLINE, panel, &v,
                                    (struct rect){0, 0, 900, 500}, 450, 250,
                                             &d.arena), "");
    draw_fini(&d);
    panel_destroy(PANEL_ROOFLINE, panel);
    panel_rig_close(&r);
}

TEST(texts_never_overlap)
{
    struct view v;

    open("v3-8", 8);
    view_init(&v, r.run);
    panel_check_drawing(PANEL_ROOFLINE, &v);
    v.core = 7;
    view_show(&v, 60000, 62000);
    panel_check_drawing(PANEL_ROOFLINE, &v);
    panel_rig_close(&r);
}

/* points upon each other: the largest has its name, others are counted */
TEST(names_without_room_are_counted)
{
    struct roofline_point op[40];
    struct roofline_model m = {.op = op, .op_count = COUNT_OF(op)};
    struct roofline_plot plot;
    struct draw_list d;
    struct chip chip;
    struct err e;
    struct view v = {.scale_percent = 100};

    assert_int_equal(chip_load_builtin(&chip, "v3", NULL, NULL, &e), 0);
    m.roofs = roofline_roofs_of_chip(&chip);
    for (size_t i = 0; i < COUNT_OF(op); i++) {
        op[i] = (struct roofline_point){.name = i ? "some" : "the largest", .seconds = 1e-6,
                                        .share = i ? 0.01 : 0.6, .flops = 1e6 + (double)i,
                                        .bytes = {[ROOF_HBM] = 2e5}};
        roofline_point_place(&op[i], &m.roofs);
    }
    draw_init(&d, 100);
    roofline_draw_plot(&plot, &m, &v, &d, (struct rect){0, 0, 900, 600}, ROOF_NO_POINT);
    assert_int_equal(plot.mark_count, COUNT_OF(op));
    assert_true(plot.named_count >= 1 && plot.named_count < (int)COUNT_OF(op));
    assert_non_null(find_text(&d, "the largest"));
    draw_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_has_the_very_points_of_its_run_folder),
        cmocka_unit_test(flop_loads_and_stores_are_those_of_every_single_operation),
        cmocka_unit_test(stretches_add_up_wherever_they_meet),
        cmocka_unit_test(counting_in_pieces_comes_to_the_same),
        cmocka_unit_test(a_click_chooses_a_point_and_the_pointer_tells_all_of_it),
        cmocka_unit_test(a_selection_is_counted_alone),
        cmocka_unit_test(a_trace_without_bundles_says_what_to_record),
        cmocka_unit_test(texts_never_overlap),
        cmocka_unit_test(names_without_room_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
