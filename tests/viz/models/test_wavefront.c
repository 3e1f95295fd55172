/*
 * The picture of a matrix unit, against a walk over all its PEs and against the
 * machine's own FIFO.
 */
#include "viz/models/model_wavefront.h"

#include "isa/matrix.h"
#include "sim/observe/inspect.h"
#include "sim/chip/limits.h"
#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

static struct rig rig;
static struct wavefront w;
static struct wave_frame f;
static const struct isa_program *program;

static void use(const char *chip, const char *text)
{
    rig_open(&rig, chip, NULL);
    program = rig_assemble(&rig, text);
    wavefront_init(&w, &rig.chip, program, 0);
    wavefront_restart(&w, 0, true);
}

static void done(void)
{
    wavefront_fini(&w);
    rig_close(&rig);
}

/* operation `op` of the program occupies its unit */
static void feed(uint32_t op, cycle_t start, cycle_t end)
{
    struct trace_event e = {.start = start, .end = end, .op = op + 1};

    while (e.bundle + 1 < program->bundle_count && program->bundle[e.bundle + 1].first_op <= op)
        e.bundle++;
    e.code = program->op[op].code;
    wavefront_feed(&w, &e);
}

/* products and active PEs of all cycles */
static int64_t sum_products(cycle_t end, int64_t *active)
{
    int64_t products = 0;
    cycle_t t;

    *active = 0;
    for (t = 0; t < end; t++) {
        wavefront_frame(&w, t, &f);
        products += f.products;
        *active += f.active;
    }
    return products;
}

#define ROWS_OF(type) "{ vmatmul." type "vlgmr.msra.gmra.mxu0 v0 }\n{ shalt }\n"

TEST(every_row_meets_every_pe_once)
{
    static const struct {
        const char *chip, *type;
        int rows, cycles, rows_a_cycle;
    } cases[] = {
        {"v2", "f32.", 8, 8, 1}, {"v3", "f32.", 8, 8, 1}, {"v5e", "bf16.", 16, 16, 1},
        {"v5e", "s8.", 32, 16, 2}, {"v5e", "u4.", 64, 16, 4}, {"v6e", "bf16.", 16, 8, 2},
        {"v6e", "s4.", 64, 8, 8}, {"v5p", "f8e5m2.", 32, 32, 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[128];
        int64_t active, pes;

        snprintf(text, sizeof(text), ROWS_OF("%s"), cases[i].type);
        use(cases[i].chip, text);
        feed(0, 10, 10 + w.latch_cycles + cases[i].cycles);
        pes = (int64_t)w.size * w.size;
        assert_int_equal(sum_products(1000, &active), cases[i].rows * pes);
        assert_int_equal(active, cases[i].rows / cases[i].rows_a_cycle * pes);
        done();
    }
}

TEST(on_v3_a_row_is_a_diagonal_that_moves_one_pe_a_cycle)
{
    const int64_t first_row = 21;       /* issued at 20, one cycle to latch */
    cycle_t t;
    int k, n;

    use("v3", ROWS_OF("f32."));
    feed(0, 20, 29);
    for (t = 0; t < 320; t += 7) {
        wavefront_frame(&w, t, &f);
        for (k = 0; k < 128; k += 9)
            for (n = 0; n < 128; n += 5) {
                const struct wave_diagonal *d = &f.diagonal[k + n];
                int64_t row = t - first_row - k - n;
                bool expected = row >= 0 && row < 8;

                assert_int_equal(d->op != NULL, expected);
                if (expected)
                    assert_int_equal(d->row, row);
            }
    }
    done();
}

TEST(active_pes_are_counted_as_a_walk_over_the_array_counts_them)
{
    cycle_t t;

    use("v6e", "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0 v0 }\n{ vmatmul.bf16.gmra.mxu0 v1 }\n"
               "{ vmatmul.bf16.gmra.mxu0 v1 }\n{ shalt }\n");
    feed(0, 5, 14);
    feed(1, 14, 22);
    feed(2, 60, 68);
    for (t = 0; t < 300; t += 13) {
        int k, n, active = 0;

        wavefront_frame(&w, t, &f);
        for (k = 0; k < 256; k++)
            for (n = 0; n < 256; n++)
                active += f.diagonal[k + n].op != NULL;
        assert_int_equal(f.active, active);
    }
    done();
}

/* a vmatmul of 8 f32 rows at its issue, and the machine's FIFO then */
static void assert_results_as_machine(const char *chip, const char *type, int tiles)
{
    char text[256], pops[192] = "";
    struct fifo_view fifo;
    int i, number = -1;

    for (i = 0; i < tiles; i++)
        strcat(pops, strstr(type, "s8") ? "{ v1 = vpop.s32.mrf.mxu0 }\n"
                                        : "{ v1 = vpop.f32.mrf.mxu0 }\n");
    snprintf(text, sizeof(text), "{ vmatmul.%svlgmr.msra.gmra.mxu0 v0 }\n%.180s{ shalt }\n", type,
             pops);
    use(chip, text);
    rig_load(&rig, 0, text);
    machine_start(rig.m);
    machine_advance(rig.m, 2);
    for (i = 0; i < machine_fifo_count(rig.m); i++) {
        machine_fifo(rig.m, 0, i, &fifo);
        if (strcmp(fifo.name, "mxu0") == 0)
            number = i;
    }
    machine_fifo(rig.m, 0, number, &fifo);
    assert_int_equal(fifo.count, tiles);
    for (i = 0; i < machine_unit_count(rig.m); i++) {
        struct unit_view unit;

        machine_unit(rig.m, 0, i, &unit);
        if (strcmp(unit.name, "mxu0") == 0)
            feed(0, 0, unit.free_at);
    }
    assert_int_equal(wavefront_result_tiles(&w, &w.op[0]), tiles);
    for (i = 0; i < tiles; i++) {
        struct fifo_entry entry;

        machine_fifo_entry(rig.m, 0, number, (uint32_t)i, &entry);
        assert_int_equal(wavefront_result_ready(&w, &w.op[0], i), entry.ready_at);
        wavefront_frame(&w, entry.ready_at - 1, &f);
        assert_int_equal(f.ready, i);
        wavefront_frame(&w, entry.ready_at, &f);
        assert_int_equal(f.ready, i + 1);
        assert_int_equal(f.leaving, 1);
        assert_int_equal(f.under_way, tiles - 1 - i);
    }
    machine_finish(rig.m);
    done();
}

TEST(results_are_ready_when_the_fifo_of_the_machine_says_so)
{
    assert_results_as_machine("v2", "f32.", 1);
    assert_results_as_machine("v3", "f32.", 1);
    assert_results_as_machine("v5e", "bf16.", 2);
    assert_results_as_machine("v5e", "s8.", 4);
    assert_results_as_machine("v6e", "f32.", 2);
    assert_results_as_machine("v6e", "bf16.", 4);
}

TEST(the_last_pe_is_done_with_eight_rows_before_their_sums_are_ready)
{
    static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        int last, type;

        use(chips[i], ROWS_OF("f32."));
        last = wavefront_delay(&w, 2 * w.size - 2);
        for (type = 0; type < MATRIX_TYPE_COUNT; type++) {
            int rows = matrix_rows((enum matrix_type)type), row;
            struct wave_op o = {.kind = WAVE_MULTIPLY, .rows = rows};

            o.end = o.tile_cycles = chip_matmul_cycles(&rig.chip, (enum matrix_type)type);
            for (row = 7; o.end > 0 && row < rows; row += 8)
                assert_true(o.enters + (cycle_t)o.tile_cycles * row / rows + last <
                            wavefront_result_ready(&w, &o, row / 8 * w.tiles_per_group));
        }
        done();
    }
    use("v3", ROWS_OF("f32."));
    assert_int_equal(w.span_cycles, 254);               /* one PE a cycle, as docs/timing.md */
    done();
}

TEST(with_a_prep_rows_enter_without_a_gap)
{
    int64_t active;
    cycle_t t;

    use("v6e", "{ vmatprep.mubr.bf16.mxu0 v0 }\n{ vmatmul.mubr.bf16.gmra.mxu0 v0 }\n{ shalt }\n");
    for (t = 0; t < 10; t++) {          /* one cycle of prep, seven of push: 16 rows in 8 cycles */
        feed(0, 8 * t, 8 * t + 1);
        feed(1, 8 * t + 1, 8 * t + 8);
    }
    assert_int_equal(w.op[0].tile_cycles, 8);
    assert_int_equal(sum_products(1000, &active), 160 * 256 * 256);
    assert_int_equal(active, 80 * 256 * 256);
    for (t = 1; t < 80; t++) {
        wavefront_frame(&w, t, &f);
        assert_int_equal(f.diagonal[0].rows, 2);
        assert_non_null(f.entering);
    }
    done();
}

TEST(weights_go_down_row_by_row)
{
    char text[1024] = "";
    int i;

    for (i = 0; i < 17; i++)
        strcat(text, "{ vmatpush.msrb.mxu0 v0 }\n");
    strcat(text, "{ shalt }\n");
    use("v3", text);
    for (i = 0; i < 17; i++)
        feed((uint32_t)i, 100 + 8 * i, 108 + 8 * i);
    wavefront_frame(&w, 100, &f);
    assert_int_equal(f.staging[1].filled, 1);
    assert_ptr_equal(f.staging[1].filling, &w.op[0]);
    assert_int_equal(f.staging[0].filled, 0);
    wavefront_frame(&w, 110, &f);
    assert_int_equal(f.staging[1].filled, 11);
    assert_ptr_equal(f.staging[1].push[2], &w.op[1]);
    assert_ptr_equal(f.staging[1].push[3], &w.op[0]);
    wavefront_frame(&w, 100 + 8 * 16 - 1, &f);          /* the last cycle of the 16th */
    assert_int_equal(f.staging[1].filled, 128);
    for (i = 0; i < 128; i++)
        assert_ptr_equal(f.staging[1].push[i], &w.op[15 - i / 8]);
    wavefront_frame(&w, 1000, &f);                      /* the first tile fell out */
    assert_int_equal(f.staging[1].filled, 128);
    assert_int_equal(f.staging[1].fresh, 128);
    assert_ptr_equal(f.staging[1].push[127], &w.op[1]);
    assert_null(f.staging[1].filling);
    done();
}

TEST(rows_that_were_latched_are_not_new_any_more)
{
    use("v3", "{ vmatpush.msra.mxu0 v0 }\n{ vmatpush.msrb.mxu0 v0 }\n"
              "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ vmatpush.msra.mxu0 v0 }\n{ shalt }\n");
    feed(0, 0, 8);
    feed(1, 8, 16);
    wavefront_frame(&w, 15, &f);
    assert_int_equal(f.staging[0].fresh, 8);
    feed(2, 16, 25);
    wavefront_frame(&w, 16, &f);
    assert_int_equal(f.staging[0].fresh, 0);
    assert_int_equal(f.staging[0].filled, 8);
    assert_int_equal(f.staging[1].fresh, 8);            /* the other one was not latched */
    feed(3, 20, 28);
    wavefront_frame(&w, 22, &f);
    assert_int_equal(f.staging[0].fresh, 3);
    assert_int_equal(f.staging[0].filled, 11);
    done();
}

TEST(transposed_weights_fill_columns_and_halves_shift_by_themselves)
{
    use("v6e", "{ vmatprep.subr.bf16.mxu0 v0 }\n{ vmatpush3.bf16.msra.mxu0 v0 }\n"
               "{ vmatpush.bf16.xpose.msrb.mxu0 v0 }\n{ shalt }\n");
    feed(0, 0, 1);
    feed(1, 1, 4);
    feed(2, 4, 12);
    wavefront_frame(&w, 50, &f);
    assert_int_equal(w.count, 2);                       /* a prep moves no row */
    assert_false(f.staging[0].is_columns);
    assert_ptr_equal(f.staging[0].push[15], &w.op[0]);
    assert_null(f.staging[0].push[16]);
    assert_ptr_equal(f.staging[0].push[128 + 15], &w.op[0]);
    assert_true(f.staging[1].is_columns);
    assert_int_equal(f.staging[1].filled, 16);
    done();
}

TEST(gain_registers_are_loaded_at_once_and_rows_keep_theirs)
{
    use("v3", "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ vmatmul.f32.vlgmr.msrb.gmrb.mxu0 v0 }\n"
              "{ vmatmul.f32.gmrb.mxu0 v0 }\n{ shalt }\n");
    feed(0, 0, 9);
    feed(1, 9, 18);
    feed(2, 18, 26);
    assert_int_equal(w.op[1].rows_before, 0);
    assert_int_equal(w.op[2].rows_before, 8);
    wavefront_frame(&w, 9, &f);         /* the second latches */
    assert_ptr_equal(f.gain[0], &w.op[0]);
    assert_null(f.gain[1]);
    assert_ptr_equal(f.entering, &w.op[1]);
    assert_int_equal(f.entering_row, -1);
    wavefront_frame(&w, 60, &f);
    assert_ptr_equal(f.gain[1], &w.op[1]);
    assert_int_equal(f.diagonal[50].op->weights, 2);    /* its rows entered at 10 to 17 */
    assert_int_equal(f.diagonal[43].op->weights, 2);
    assert_ptr_equal(f.diagonal[42].op, &w.op[2]);
    assert_null(f.diagonal[51].op);                     /* the cycle of latching */
    assert_int_equal(f.diagonal[52].op->weights, 1);
    assert_null(f.entering);
    done();
}

/* 41 pushes into unit 0, 40 into unit 1, which waits for each */
static const char pipelined[] =
    ".equ N, 40\n"
    "{ vmatpush.msra.mxu0 v0 }\n{ vmatpush.msra.mxu0 v0 }\n"
    "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 ;; s0 = smov 0 }\n"
    "{ v1 = vpop.f32.mrf.mxu0 }\n"
    "loop:\n"
    "{ vmatmul.f32.gmra.mxu0 v0 ;; s0 = sadd.s32 s0, 1 }\n"
    "{ p0 = scmp.lt.s32.totalorder s0, N }\n"
    "{ v1 = vpop.f32.mrf.mxu0 }\n"
    "{ vmatmul.f32.vlgmr.msra.gmra.mxu1 v0 }\n"
    "{ v1 = vpop.f32.mrf.mxu1 }\n"
    "{ sbr.rel (p0) target = loop }\n"
    "{ vdelay 1 }\n"
    "{ shalt }\n";

TEST(a_run_of_the_machine_leaves_no_result_behind)
{
    struct rig_options options = {.trace = true};
    const struct log_events *events;
    int64_t products = 0, pops = 0;
    cycle_t t, end;
    size_t i;

    rig_open(&rig, "v3", &options);
    program = rig_assemble(&rig, pipelined);
    wavefront_init(&w, &rig.chip, program, 0);
    wavefront_restart(&w, 0, true);
    end = rig_cycles(&rig, pipelined);
    events = rig_events(&rig, 0);
    for (i = 0; i < events->count; i++)
        wavefront_feed(&w, &events->event[i]);
    for (t = 0; t < end; t++) {
        wavefront_frame(&w, t, &f);
        products += f.products;
        pops += f.popped;
        assert_true(f.ready >= 0);
        if (f.popped)                   /* a pop waits for its result, here: it is just ready */
            assert_int_equal(f.leaving, 1);
    }
    assert_int_equal(products, 41 * 8 * 128 * 128);
    assert_int_equal(2 * products * 81 / 41, machine_counters(rig.m, 0)->matmul_flops);
    assert_int_equal(pops, 41);
    assert_int_equal(f.ready, 0);
    assert_int_equal(w.older_results, 0);
    done();
}

TEST(from_the_middle_of_a_run_pops_tell_what_the_fifo_held)
{
    use("v3", "{ vmatmul.f32.gmra.mxu0 v0 }\n{ v1 = vpop.f32.mrf.mxu0 }\n{ shalt }\n");
    wavefront_restart(&w, 1000, false);
    feed(1, 1000, 1000);
    feed(1, 1001, 1001);
    feed(0, 1002, 1010);
    wavefront_frame(&w, 1000, &f);
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.popped, 1);
    wavefront_frame(&w, 1002, &f);
    assert_int_equal(f.ready, 0);
    assert_int_equal(f.under_way, 1);
    done();
}

TEST(accumulators_hold_sums_until_both_halves_are_popped)
{
    use("v7x", "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0.mrb[3] v0 }\n"
               "{ v1 = vpop.f32.mrb[3].mxu0 }\n{ shalt }\n");
    feed(0, 0, 9);
    feed(1, 300, 300);
    feed(1, 302, 302);
    wavefront_frame(&w, 299, &f);
    assert_int_equal(f.sums, 2);
    wavefront_frame(&w, 301, &f);
    assert_int_equal(f.sums, 2);
    wavefront_frame(&w, 302, &f);
    assert_int_equal(f.sums, 1);
    done();
}

TEST(a_sentence_says_what_is_seen)
{
    char text[600];

    use("v3", "{ vmatpush.msra.mxu0 v0 }\n{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n"
              "{ vmatmul.f32.gmra.mxu0 v0 ;; vmatpush.msra.mxu0 v0 }\n{ shalt }\n");
    wavefront_frame(&w, 0, &f);
    assert_string_equal(wavefront_explain(&w, &f, text, sizeof(text)),
                        "Cycle 0: all 16,384 PEs are idle.");
    feed(0, 0, 8);
    feed(1, 8, 17);
    feed(2, 17, 25);
    feed(3, 17, 25);
    wavefront_frame(&w, 8, &f);
    assert_string_equal(wavefront_explain(&w, &f, text, sizeof(text)),
                        "Cycle 8: all PEs take the weights of staging register A for "
                        "vmatmul.f32.vlgmr.msra.gmra.mxu0 at bundle 1 (test.tasm:2); all 16,384 "
                        "PEs are idle.");
    wavefront_frame(&w, 19, &f);
    assert_string_equal(wavefront_explain(&w, &f, text, sizeof(text)),
                        "Cycle 19: row 10 of these weights enters, of vmatmul.f32.gmra.mxu0 at "
                        "bundle 2 (test.tasm:3); 66 of 16,384 PEs multiply; weights come into "
                        "staging register A: 3 of its 128 rows are new.");
    wavefront_frame(&w, 9 + 266, &f);
    assert_string_equal(wavefront_explain(&w, &f, text, sizeof(text)),
                        "Cycle 275: 10 of 16,384 PEs multiply; the sums of 8 rows leave as a result "
                        "tile.");
    wavefront_explain(&w, &f, text, 20);                /* cut, not overrun */
    assert_int_equal(strlen(text), 19);
    done();
}

static struct panel_rig p;

TEST(a_frame_from_a_trace_is_the_frame_from_the_machine)
{
    static struct wave_frame other;
    struct wavefront far;
    const struct log_events *events;
    struct log_events log;
    cycle_t t, end;
    size_t i;

    panel_rig_open(&p, "v3", panel_program, 1, TRACE_BUNDLE);
    end = ntrace_info(p.run)->cycles;
    wavefront_init(&w, &p.rig.chip, ntrace_program(p.run, 0), 0);
    wavefront_restart(&w, 0, true);
    trace_log_expand(&p.tee.log, p.rig.m, 0, true, &log);
    events = &log;
    for (i = 0; i < events->count; i++)
        wavefront_feed(&w, &events->event[i]);
    wavefront_init(&far, &p.rig.chip, ntrace_program(p.run, 0), 0);
    for (t = 0; t < end; t += 37) {
        wavefront_gather(&far, p.run, 0, t, t + 100);
        wavefront_frame(&w, t, &f);
        wavefront_frame(&far, t, &other);
        assert_int_equal(f.active, other.active);
        assert_int_equal(f.ready, other.ready);
        assert_int_equal(f.under_way, other.under_way);
        assert_int_equal(f.staging[0].filled, other.staging[0].filled);
        assert_int_equal(f.entering_row, other.entering_row);
    }
    mem_free(log.event);
    wavefront_fini(&far);
    wavefront_fini(&w);
    panel_rig_close(&p);
}

TEST(without_a_cursor_the_panel_shows_rows_in_the_array)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_WAVEFRONT);
    struct draw_list d;
    struct view v;
    bool is_told = false;

    panel_rig_open(&p, "v3", panel_program, 1, TRACE_BUNDLE);
    view_init(&v, p.run);
    draw_init(&d, 100);
    panel_draw(PANEL_WAVEFRONT, panel, &v, &d, area);
    for (size_t i = 0; i < d.count; i++)
        if (d.command[i].kind == DRAW_TEXT)
            is_told |= strstr(d.command[i].text, "PEs multiply") != NULL &&
                       strncmp(d.command[i].text, "Cycle ", 6) == 0;
    assert_true(is_told);
    draw_fini(&d);
    panel_destroy(PANEL_WAVEFRONT, panel);
    panel_rig_close(&p);
}

TEST(keys_step_and_the_wheel_zooms)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_WAVEFRONT);
    struct draw_list d;
    struct arena a;
    struct view v;
    int i;

    panel_rig_open(&p, "v3", panel_program, 1, TRACE_BUNDLE);
    view_init(&v, p.run);
    v.cursor = 3000;
    assert_true(panel_input(PANEL_WAVEFRONT, panel, &v,
                            &(struct input){.kind = INPUT_KEY, .key = '.'},
                                      area));
    assert_true(v.cursor == 3001);
    panel_input(PANEL_WAVEFRONT, panel, &v, &(struct input){.kind = INPUT_KEY, .key = ',',
                                                     .has_shift = true}, area);
    assert_true(v.cursor == 2991);
    v.cursor = -1;                      /* playing begins where the panel's own choice is */
    assert_false(panel_input(PANEL_WAVEFRONT, panel, &v,
                             &(struct input){.kind = INPUT_KEY, .key = ' '},
                                       area));
    assert_true(v.cursor > 1000);
    for (i = 0; i < 12; i++)
        assert_true(panel_input(PANEL_WAVEFRONT, panel, &v, &(struct input){
            .kind = INPUT_WHEEL, .dy = 1, .x = 600, .y = 200}, area));
    draw_init(&d, 100);
    panel_draw(PANEL_WAVEFRONT, panel, &v, &d, area);
    arena_init(&a);
    assert_non_null(strstr(panel_hover(PANEL_WAVEFRONT, panel, &v,
                                       area, 600, 200, &a), "PE of row "));
    for (i = 0; i < 12; i++)
        panel_input(PANEL_WAVEFRONT, panel, &v,
                    &(struct input){.kind = INPUT_WHEEL, .dy = -1, .x = 600,
                                                         .y = 200}, area);
    panel_draw(PANEL_WAVEFRONT, panel, &v, &d, area);
    arena_fini(&a);
    draw_fini(&d);
    panel_destroy(PANEL_WAVEFRONT, panel);
    panel_rig_close(&p);
}

TEST(texts_never_overlap)
{
    static const char *const slices[] = {"v3", "v6e", "v7x"};
    struct view v;
    cycle_t t;

    panel_rig_open(&p, "v3", panel_program, 1, TRACE_BUNDLE);
    view_init(&v, p.run);
    panel_check_drawing(PANEL_WAVEFRONT, &v);
    for (t = 1300; t < 5000; t += 1100) {
        v.cursor = (double)t;
        panel_check_drawing(PANEL_WAVEFRONT, &v);
    }
    v.core = 1;
    panel_check_drawing(PANEL_WAVEFRONT, &v);
    panel_rig_close(&p);
    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        const bool has_accumulators = i == 2, is_wide = i > 0;

        panel_rig_open(&p, slices[i], has_accumulators
                       ? "{ vmatmul.f32.vlgmr.msra.gmra.mxu0.mrb[3] v0 }\n"
                         "{ v1 = vpop.f32.mrb[3].mxu0 }\n{ v1 = vpop.f32.mrb[3].mxu0 }\n{ shalt }\n"
                       : is_wide ? "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n"
                         "{ v1 = vpop.f32.mrf.mxu0 }\n{ v1 = vpop.f32.mrf.mxu0 }\n{ shalt }\n"
                       : "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ v1 = vpop.f32.mrf.mxu0 }\n"
                         "{ shalt }\n", 1, TRACE_SLOT);
        view_init(&v, p.run);
        panel_check_drawing(PANEL_WAVEFRONT, &v);
        panel_rig_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_meets_every_pe_once),
        cmocka_unit_test(on_v3_a_row_is_a_diagonal_that_moves_one_pe_a_cycle),
        cmocka_unit_test(active_pes_are_counted_as_a_walk_over_the_array_counts_them),
        cmocka_unit_test(results_are_ready_when_the_fifo_of_the_machine_says_so),
        cmocka_unit_test(the_last_pe_is_done_with_eight_rows_before_their_sums_are_ready),
        cmocka_unit_test(with_a_prep_rows_enter_without_a_gap),
        cmocka_unit_test(weights_go_down_row_by_row),
        cmocka_unit_test(rows_that_were_latched_are_not_new_any_more),
        cmocka_unit_test(transposed_weights_fill_columns_and_halves_shift_by_themselves),
        cmocka_unit_test(gain_registers_are_loaded_at_once_and_rows_keep_theirs),
        cmocka_unit_test(a_run_of_the_machine_leaves_no_result_behind),
        cmocka_unit_test(from_the_middle_of_a_run_pops_tell_what_the_fifo_held),
        cmocka_unit_test(accumulators_hold_sums_until_both_halves_are_popped),
        cmocka_unit_test(a_sentence_says_what_is_seen),
        cmocka_unit_test(a_frame_from_a_trace_is_the_frame_from_the_machine),
        cmocka_unit_test(without_a_cursor_the_panel_shows_rows_in_the_array),
        cmocka_unit_test(keys_step_and_the_wheel_zooms),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
