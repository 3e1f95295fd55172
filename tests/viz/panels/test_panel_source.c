/*
 * The panel of a kernel's source: its sums against the machine's own, what is made of a line, the
 * buffers that the VMEM panel has in lanes, and how both are drawn.
 */
#include "viz/models/model_source.h"
#include "viz/models/model_vmem.h"

#include <math.h>
#include <string.h>

#include "sim/observe/inspect.h"
#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

enum { LINES = 4 };                     /* none, and three of the source */

static struct panel_rig r;
static struct source_model m;

static const struct ntrace_source_line lines[LINES] = {
    {"", 0, "steps of the grid"}, {"kernel.py", 12, "o = acc"}, {"kernel.py", 7, "w = w_ref[...]"},
    {"helper.py", 99, ""}};
static const struct ntrace_llo_line llo[] = {
    {"  loop s2 = 128 rounds {", 0}, {"    %v3 = vld [vmem:s2]", 2}, {"    vmatmul %v3", 1},
    {"    %v4 = vpop", 1}, {"  }", 0}};
static const struct ntrace_buffer buffers[] = {
    {"x_ref", "window", 2, 0, 0x80000}, {"w_ref", "window", 1, 0x200000, 0x10000},
    {"sums", "vector", 1, 0x210000, 0x10000}, {"room for spilled registers", "spills", 1, 0x220000, 0x8000}};

/* operations of the program by turns for no line and each of the three */
static void open(enum trace_level level)
{
    struct ntrace_listing listing = {
        .line = lines, .line_count = LINES, .llo = llo, .llo_count = COUNT_OF(llo),
        .buffer = buffers, .buffer_count = COUNT_OF(buffers)};
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = level, .title = "kernel.py"};
    int line_of_op[200];

    rig_open(&r.rig, "v3", &options);
    rig_load(&r.rig, 0, panel_program);
    tee_open(&r.tee, r.rig.m, &so);
    listing.op_count = machine_program(r.rig.m, 0)->op_count;
    assert_true(listing.op_count < COUNT_OF(line_of_op));
    for (size_t i = 0; i < listing.op_count; i++)
        line_of_op[i] = (int)(i % LINES);
    listing.line_of_op = line_of_op;
    ntrace_writer_put_listing(r.tee.writer, &listing);
    if (rig_run(&r.rig))
        fail_msg("%s", r.rig.err.msg);
    r.run = tee_read(&r.tee);
}

static void close_all(void)
{
    source_model_fini(&m);
    panel_rig_close(&r);
}

static void count_all(struct code_counts *c)
{
    code_counts_init(c, ntrace_program(r.run, 0)->bundle_count);
    code_counts_restart(c, 0, ntrace_info(r.run)->cycles);
    while (!code_counts_advance(c, r.run, 0, 1000000))
        ;
}

TEST(a_listing_comes_back_as_it_was_written)
{
    const struct ntrace_listing *l;

    open(TRACE_BUNDLE);
    l = ntrace_info(r.run)->listing;
    assert_non_null(l);
    assert_int_equal(l->line_count, LINES);
    assert_string_equal(l->line[2].text, "w = w_ref[...]");
    assert_int_equal(l->line[2].number, 7);
    assert_int_equal(l->op_count, ntrace_program(r.run, 0)->op_count);
    assert_int_equal(l->line_of_op[7], 3);
    assert_int_equal(l->llo_count, COUNT_OF(llo));
    assert_string_equal(l->llo[3].text, "    %v4 = vpop");
    assert_int_equal(l->buffer_count, COUNT_OF(buffers));
    assert_int_equal(l->buffer[0].copies, 2);
    assert_int_equal(l->buffer[3].address, 0x220000);
    close_all();
}

TEST(what_is_out_of_range_in_a_listing_is_for_no_line)
{
    static const char text[] =
        "{\"lines\": [{\"number\": 1}, 5], \"line_of_operation\": [1, 2, -1, \"x\", 99999999999],"
        " \"llo\": [[\"a\", 7], 3], \"buffers\": [{\"name\": \"b\", \"copies\": 0, \"bytes\": 9}]}";
    struct ntrace_listing l;
    struct arena a;

    arena_init(&a);
    assert_int_equal(ntrace_listing_parse(text, strlen(text), &a, &l), 0);
    assert_int_equal(l.line_count, 2);
    assert_int_equal(l.op_count, 5);
    assert_int_equal(l.line_of_op[0], 1);
    for (int i = 1; i < 5; i++)
        assert_int_equal(l.line_of_op[i], 0);
    assert_int_equal(l.llo[0].line, 0);
    assert_int_equal(l.buffer_count, 0);
    assert_int_equal(ntrace_listing_parse("{\"lines\": []}", 13, &a, &l), -1);
    assert_int_equal(ntrace_listing_parse("{\"lines", 7, &a, &l), -1);
    arena_fini(&a);
}

TEST(lines_share_out_all_cycles)
{
    struct code_counts c;
    double issued = 0, waited = 0;

    open(TRACE_BUNDLE);
    count_all(&c);
    assert_true(source_model_init(&m, r.run, 0));
    source_model_sum(&m, &c);
    for (int i = 0; i < LINES; i++) {
        issued += m.sums[i].issued;
        waited += m.sums[i].waited;
    }
    assert_true(fabs(issued - (double)c.issue_cycles) < 1e-6 * (double)c.issue_cycles);
    assert_true(fabs(waited - (double)c.wait_cycles) < 1e-6 * (double)c.wait_cycles);
    assert_int_equal(m.order[0], 3);            /* helper.py, then kernel.py by number, none last */
    assert_int_equal(m.order[1], 2);
    assert_int_equal(m.order[2], 1);
    assert_int_equal(m.order[3], 0);
    code_counts_fini(&c);
    close_all();
}

TEST(a_wait_for_a_copy_is_of_the_line_that_waits)
{
    struct line_sums sums[LINES] = {{0}};
    struct bundle_sums of = {.issued = 4, .waited[STALL_HBM] = 100};
    const struct isa_program *p;
    uint32_t b = 0;
    int line_of_op[200] = {0};

    open(TRACE_BUNDLE);
    p = ntrace_program(r.run, 0);
    while (p->bundle[b].op_count != 2 || p->op[p->bundle[b].first_op].code != OP_DMA_DONE)
        b++;
    line_of_op[p->bundle[b].first_op] = 1;
    line_of_op[p->bundle[b].first_op + 1] = 2;
    line_share(p, line_of_op, b, &of, sums);
    assert_true(sums[1].issued == 2 && sums[2].issued == 2);
    assert_true(sums[1].stall[STALL_HBM] == 100 && sums[2].waited == 0);
    close_all();
}

TEST(a_line_has_its_operations_and_bundles)
{
    char text[400];

    open(TRACE_BUNDLE);
    assert_true(source_model_init(&m, r.run, 0));
    source_model_choose(&m, 1);
    assert_int_equal(m.llo_count, 2);
    assert_int_equal(m.llo[1], 3);
    assert_true(m.bundle_count > 0);
    for (size_t i = 0; i < m.bundle_count; i++)
        assert_string_not_equal(source_model_print(&m, m.bundle[i], 1, text, sizeof(text)), "");
    source_model_choose(&m, 2);
    assert_int_equal(m.llo_count, 1);
    close_all();
}

TEST(a_click_chooses_a_line_and_a_bundle)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel;
    struct draw_list d;
    struct view v;
    bool is_found = false;

    open(TRACE_BUNDLE);
    panel = panel_create(PANEL_SOURCE);
    view_init(&v, r.run);
    draw_init(&d, 100);
    assert_true(panel_input(PANEL_SOURCE, panel, &v, &(struct input){
        .kind = INPUT_PRESS, .button = 1, .x = 100, .y = 60}, area));
    panel_draw(PANEL_SOURCE, panel, &v, &d, area);
    for (size_t i = 0; i < d.count; i++)
        is_found |= d.command[i].kind == DRAW_TEXT && strstr(d.command[i].text, "helper.py:99 is");
    assert_true(is_found);
    assert_false(v.has_bundle);
    assert_true(panel_input(PANEL_SOURCE, panel, &v, &(struct input){
        .kind = INPUT_PRESS, .button = 1, .x = 1200, .y = 60}, area));
    assert_true(v.has_bundle);
    assert_true(panel_input(PANEL_SOURCE, panel, &v, &(struct input){
        .kind = INPUT_KEY, .key = KEY_DOWN}, area));
    draw_fini(&d);
    panel_destroy(PANEL_SOURCE, panel);
    close_all();
}

TEST(buffers_are_lanes_of_equal_height)
{
    const struct ntrace_listing *l;
    struct vmem_lane lane[8];
    int count;

    open(TRACE_OP);
    l = ntrace_info(r.run)->listing;
    count = vmem_lanes(l, lane, 8);
    assert_int_equal(count, 4);         /* two of x_ref, w_ref, values */
    assert_string_equal(lane[1].name, "x_ref [1]");
    assert_int_equal(lane[1].address, 0x40000);
    assert_string_equal(lane[3].name, "values of the kernel");
    assert_int_equal(lane[3].end, 0x228000);
    assert_true(vmem_lane_share(lane, count, 0x20000) == 0.125);
    assert_true(vmem_lane_share(lane, count, 0x100000) == 0.5);        /* between two buffers */
    for (int64_t address = 0x200000; address < 0x228000; address += 0x1000) {
        double share = vmem_lane_share(lane, count, (double)address);

        assert_in_range(vmem_lane_address(lane, count, share), address - 1, address + 1);
        assert_ptr_equal(vmem_lane_of(lane, count, address), &lane[address < 0x210000 ? 2 : 3]);
    }
    assert_int_equal(vmem_lanes(l, lane, 2), 2);        /* the last one has the rest */
    assert_int_equal(lane[1].end, 0x228000);
    assert_int_equal(vmem_lanes(NULL, lane, 8), 0);
    close_all();
}

TEST(texts_never_overlap)
{
    static const enum trace_level levels[] = {TRACE_OP, TRACE_BUNDLE, TRACE_SLOT};

    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        struct view v;

        open(levels[i]);
        view_init(&v, r.run);
        panel_check_drawing(PANEL_SOURCE, &v);
        panel_check_drawing(PANEL_VMEM, &v);
        v.has_bundle = true;
        v.bundle = 8;
        v.has_selection = true;
        v.selection_from = 300;
        v.selection_end = 700;
        panel_check_drawing(PANEL_SOURCE, &v);
        close_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_comes_back_as_it_was_written),
        cmocka_unit_test(what_is_out_of_range_in_a_listing_is_for_no_line),
        cmocka_unit_test(lines_share_out_all_cycles),
        cmocka_unit_test(a_wait_for_a_copy_is_of_the_line_that_waits),
        cmocka_unit_test(a_line_has_its_operations_and_bundles),
        cmocka_unit_test(a_click_chooses_a_line_and_a_bundle),
        cmocka_unit_test(buffers_are_lanes_of_equal_height),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
