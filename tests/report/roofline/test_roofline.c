/* Rooflines of a run made by hand, against roofs and uses worked out here. */
#include "tests/test.h"

#include "report/roofline/roofline.h"
#include "tests/rigs/toy.h"

#include <math.h>

struct made {
    char folder[200];
    struct run_folder run;
    struct arena arena;
    struct roofline roofline;
};

/* one v3 core; 940 cycles = 1 us; ops: FLOP with HBM, FLOP with VMEM alone, none of either */
static const char stats[] =
    "{\"format\": \"systole-stats\", \"version\": 1, \"step_cycles\": 9400, \"step_us\": 10.0,"
    " \"chip\": {\"name\": \"TPU v3\", \"clock_mhz\": 940},"
    " \"slice\": {\"name\": \"v3\", \"chips\": 1, \"cores\": 2},"
    " \"cores\": [{\"issue\": 500, \"matmul_flops\": 33554432, \"matmul_cycles\": 1880,"
    "   \"hbm_read_bytes\": 1000000, \"hbm_write_bytes\": 500000, \"ici_sent_bytes\": 0,"
    "   \"units\": {\"load\": {\"ops\": 100}, \"store\": {\"ops\": 50}}}, {\"issue\": 0}],"
    " \"tables\": {\"ops\": ["
    "  {\"framework_op\": \"quiet\", \"cycles\": 940, \"issued_flop\": 0, \"hbm_bytes\": 0},"
    "  {\"framework_op\": \"dot <1> & \\\"2\\\"\", \"cycles\": 4700, \"issued_flop\": 30000000,"
    "   \"bf16_normalized_flop_rate_gflops\": 6000, \"hbm_bytes\": 1500000,"
    "   \"vmem_read_bytes\": 409600, \"vmem_write_bytes\": 0, \"ici_bytes\": 0},"
    "  {\"framework_op\": \"inside\", \"cycles\": 1880, \"issued_flop\": 3554432,"
    "   \"bf16_normalized_flop_rate_gflops\": 1777.216, \"hbm_bytes\": 0,"
    "   \"vmem_read_bytes\": 0, \"vmem_write_bytes\": 4096000}]}}";

static void begin(struct made *m, const char *text, const char *config)
{
    char path[300];
    struct err e;
    FILE *f;

    memset(m, 0, sizeof(*m));
    arena_init(&m->arena);
    toy_make_folder(m->folder, sizeof(m->folder));
    snprintf(path, sizeof(path), "%s/stats.json", m->folder);
    f = fopen(path, "w");
    assert_true(fputs(text, f) >= 0);
    fclose(f);
    snprintf(path, sizeof(path), "%s/config.ini", m->folder);
    f = fopen(path, "w");
    assert_true(fputs(config, f) >= 0);
    fclose(f);
    if (run_folder_open(&m->run, m->folder, &m->arena, &e))
        fail_msg("%s: %s", e.file, e.msg);
}

static void make(struct made *m, const char *text, const char *config)
{
    struct err e;

    begin(m, text, config);
    if (roofline_make(&m->roofline, &m->run, &m->arena, &e))
        fail_msg("%s: %s", e.file, e.msg);
}

static void end(struct made *m)
{
    run_folder_close(&m->run);
    toy_remove_folder(m->folder);
    arena_fini(&m->arena);
}

static bool near(double x, double expected)
{
    return fabs(x - expected) <= 1e-9 * fabs(expected);
}

TEST(roofs_are_those_of_one_core_of_the_run_s_chip)
{
    struct made m;
    const struct roofline_roofs *r;

    make(&m, stats, "[chip]\nclock_mhz = 470 ; --set\n[mxu]\ncount = 4 ; --set\n");
    r = &m.roofline.roofs;
    /* four arrays of 128 x 128, a row a cycle, at half the clock */
    assert_true(near(r->flops[0], 4 * 2 * 128.0 * 128 * 470e6));
    assert_true(r->flops[1] == 0.0 && r->flops[2] == 0.0 && r->flops[3] == 0.0);
    /* 64 channels of 32 B in 2276 ps for two cores; one load and one store slot; 4 links */
    assert_true(near(r->bytes[ROOF_HBM], 64 * 32 / 2276e-12 / 2));
    assert_true(near(r->bytes[ROOF_VMEM_READ], 4096 * 470e6));
    assert_true(near(r->bytes[ROOF_VMEM_WRITE], 4096 * 470e6));
    assert_true(near(r->bytes[ROOF_ICI], 4 * 82e9 / 2));
    end(&m);
}

TEST(points_lie_where_flop_bytes_and_time_put_them)
{
    struct made m;
    const struct roofline_point *p;

    make(&m, stats, "");
    assert_int_equal(m.roofline.op_count, 3);
    p = &m.roofline.op[0];
    assert_string_equal(p->name, "dot <1> & \"2\"");
    assert_true(near(p->seconds, 5e-6) && near(p->share, 0.5));
    assert_true(near(p->intensity, 20.0) && near(p->rate, 6e12));
    assert_int_equal(p->memory, ROOF_HBM);
    assert_true(near(p->use[ROOF_HBM], 1.5e6 / 5e-6 / (64 * 32 / 2276e-12 / 2)));
    assert_int_equal(p->bound, ROOF_HBM);
    p = &m.roofline.op[1];                      /* 4.096e6 B in 2 us, of 3.85 TB/s */
    assert_string_equal(p->name, "inside");
    assert_int_equal(p->memory, ROOF_VMEM_WRITE);
    assert_int_equal(p->bound, ROOF_VMEM_WRITE);
    assert_true(near(p->use[ROOF_VMEM_WRITE], 4.096e6 / 2e-6 / (4096 * 940e6)));
    assert_true(near(p->use[ROOF_COMPUTE], 1777.216e9 / m.roofline.roofs.flops[0]));
    p = &m.roofline.op[2];                      /* no FLOP: no point */
    assert_true(p->rate == 0.0 && p->intensity == 0.0);
    end(&m);
}

TEST(the_whole_step_is_the_mean_of_the_cores_that_ran)
{
    struct made m;
    const struct roofline_point *p = &m.roofline.step;

    make(&m, stats, "");
    assert_true(near(p->flops, 33554432.0) && near(p->bytes[ROOF_HBM], 1.5e6));
    assert_true(near(p->bytes[ROOF_VMEM_READ], 409600.0));
    assert_true(near(p->rate, 33554432.0 / 10e-6));
    assert_true(near(p->use[ROOF_COMPUTE], 1880.0 / (2 * 9400.0)));
    assert_true(near(p->intensity, 33554432.0 / 1.5e6));
    end(&m);
}

TEST(no_point_lies_above_its_roof)
{
    struct made m;

    make(&m, stats, "");
    for (size_t i = 0; i < m.roofline.op_count; i++) {
        const struct roofline_point *p = &m.roofline.op[i];

        assert_true(p->rate <= p->intensity * m.roofline.roofs.bytes[p->memory]);
        assert_true(p->rate <= m.roofline.roofs.flops[0]);
    }
    end(&m);
}

static char *print(const struct made *m,
                   void (*fn)(const struct roofline *, size_t, FILE *))
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    fn(&m->roofline, 1, to);
    fclose(to);
    return text;
}

TEST(the_frame_and_the_drawing_hold_every_point_and_escape_names)
{
    struct made m;
    struct roofline_frame f;
    char *svg;
    int circles = 0, depth = 0;

    make(&m, stats, "");
    roofline_frame_find(&m.roofline, 1, &f);
    assert_true(f.x0 == floor(f.x0) && f.y1 == floor(f.y1));
    for (size_t i = 0; i < 2; i++) {
        const struct roofline_point *p = &m.roofline.op[i];

        assert_true(log10(p->intensity) >= f.x0 && log10(p->intensity) <= f.x1);
        assert_true(log10(p->rate) >= f.y0 && log10(p->rate) <= f.y1);
    }
    svg = print(&m, roofline_print_svg);
    assert_non_null(strstr(svg, "dot &lt;1&gt; &amp;"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf<"));
    for (const char *c = svg; *c; c++) {
        circles += strncmp(c, "<circle", 7) == 0;
        depth += *c == '<' ? 1 : *c == '>' ? -1 : 0;
        assert_in_range(depth, 0, 1);
    }
    assert_int_equal(circles, 3);               /* the step, one operation, the legend */
    free(svg);
    end(&m);
}

TEST(csv_has_a_line_per_point_and_one_number_of_columns)
{
    struct made m;
    char *csv;
    int lines = 0, commas = 0, header = 0;
    bool is_quoted = false;

    make(&m, stats, "");
    csv = print(&m, roofline_print_csv);
    for (const char *c = csv; *c; c++) {
        is_quoted ^= *c == '"';
        commas += *c == ',' && !is_quoted;
        if (*c != '\n')
            continue;
        header = lines++ ? header : commas;
        assert_int_equal(commas, header);
        commas = 0;
    }
    assert_int_equal(lines, 5);
    free(csv);
    end(&m);
}

TEST(runs_without_cycles_or_with_an_unknown_chip_are_errors)
{
    static const struct { const char *text, *message; } bad[] = {
        {"{\"format\": \"systole-stats\"}", "has no cycles"},
        {"{\"format\": \"systole-stats\", \"step_cycles\": 1, \"step_us\": 1.0}",
         "has no chip: its stats.json names no slice"},
    };

    for (int i = 0; i < 2; i++) {
        struct made m;
        struct err e;

        begin(&m, bad[i].text, "");
        assert_int_equal(roofline_make(&m.roofline, &m.run, &m.arena, &e), -1);
        assert_non_null(strstr(e.msg, bad[i].message));
        end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofs_are_those_of_one_core_of_the_run_s_chip),
        cmocka_unit_test(points_lie_where_flop_bytes_and_time_put_them),
        cmocka_unit_test(the_whole_step_is_the_mean_of_the_cores_that_ran),
        cmocka_unit_test(no_point_lies_above_its_roof),
        cmocka_unit_test(the_frame_and_the_drawing_hold_every_point_and_escape_names),
        cmocka_unit_test(csv_has_a_line_per_point_and_one_number_of_columns),
        cmocka_unit_test(runs_without_cycles_or_with_an_unknown_chip_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
