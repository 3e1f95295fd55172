/*
 * The VMEM map: what it says is touched, against every copy and access in
 * memory; and how it is drawn.
 */
#include <string.h>

#include "viz/models/model_vmem.h"

#include "sim/observe/inspect.h"
#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

static struct panel_rig r;
static struct vmem_model m;

/* bits of every tile in cycles from..end - 1, told by the log of one core */
static uint8_t *touched_by_log(cycle_t from, cycle_t end)
{
    const struct log_core *c = &r.tee.log.core[0];
    const struct isa_program *p = ntrace_program(r.run, 0);
    uint8_t *bits = mem_alloc(m.tile_count);

    for (size_t i = 0; i < c->dma_count; i++) {
        const struct trace_dma *d = &c->dma[i];
        const int64_t address = d->destination_space == MEMORY_VMEM ? d->destination_address
                                                                    : d->source_address;

        if (d->started_at < end && d->done_at > from)
            for (int64_t b = address; b < address + d->bytes; b += 32)
                bits[b / VMEM_TILE_BYTES] |= VMEM_COPIED;
    }
    for (size_t i = 0; i < c->count; i++) {
        const struct trace_record *a = &c->record[i];
        uint16_t code;

        if (a->kind != TRACE_ACCESS || a->at < from || a->at >= end)
            continue;
        code = p->op[p->bundle[a->bundle].first_op + a->op].code;
        for (int s = 0; s < 8; s++)
            if (a->mask >> s & 1u)
                bits[(a->value + s * a->stride) * 512 / VMEM_TILE_BYTES] |=
                    code == OP_VST ? VMEM_STORED : VMEM_LOADED;
    }
    return bits;
}

static void assert_columns(cycle_t from, cycle_t end, size_t columns)
{
    vmem_model_load(&m, r.run, 0, from, end, columns);
    assert_true(m.has_accesses);
    for (size_t i = 0; i < m.count; i++) {
        const cycle_t begin = from + (cycle_t)i * m.width_cycles, last = begin + m.width_cycles;
        uint8_t *bits = touched_by_log(begin, last < end ? last : end);
        int64_t used = 0;

        for (size_t tile = 0; tile < m.tile_count; tile++)
            used += bits[tile] ? VMEM_TILE_BYTES : 0;
        assert_memory_equal(bits, m.touched + i * m.tile_count, m.tile_count);
        assert_int_equal(m.used_bytes[i], used);
        mem_free(bits);
    }
}

static void open(const char *text)
{
    panel_rig_open(&r, "v3", text, 1, TRACE_SLOT);
    memset(&m, 0, sizeof(m));
}

static void close_all(void)
{
    vmem_model_fini(&m);
    panel_rig_close(&r);
}

TEST(every_tile_that_is_touched_is_in_its_column)
{
    cycle_t end;

    open(panel_program);
    end = ntrace_info(r.run)->cycles;
    assert_columns(0, end, 37);
    assert_columns(end / 3, end / 3 + 150, 100);
    assert_int_equal(m.vmem_bytes, 16777216);
    close_all();
}

/* its iterations are told once, and repeated: the same rows in all of them */
static const char loop[] =
    "{ s0 = smov 3000 ;; s1 = smov 64 }\n"
    "loop:\n"
    "{ s0 = ssub.s32 s0, 1 ;; v1 = vld [vmem:s1] }\n"
    "{ p0 = scmp.gt.s32.totalorder s0, 0 ;; vst [vmem:s1 + 0x100] v1 }\n"
    "{ sbr.rel (p0) target = loop }\n"
    "{ vdelay 3 }\n"
    "{ shalt }\n";

TEST(iterations_that_were_not_simulated_touch_what_the_others_touch)
{
    open(loop);
    assert_columns(0, ntrace_info(r.run)->cycles, 11);
    assert_columns(9001, 9101, 100);
    close_all();
}

TEST(copies_have_their_way_and_are_found_by_place)
{
    const struct vmem_copy *c;

    open(panel_program);
    vmem_model_load(&m, r.run, 0, 0, ntrace_info(r.run)->cycles, 100);
    assert_int_equal(m.copy_count, 3);
    assert_int_equal(m.copy[0].way, VMEM_FROM_HBM);
    assert_int_equal(m.copy[0].address, 0);
    assert_int_equal(m.copy[0].bytes, 0x4000 * 32);
    assert_int_equal(m.copy[2].way, VMEM_TO_HBM);
    assert_int_equal(m.copy[2].address, 0x10000 * 32);
    c = vmem_model_at(&m, (double)m.copy[1].dma.started_at + 1, m.copy[1].address + 100);
    assert_ptr_equal(c, &m.copy[1]);
    assert_null(vmem_model_at(&m, (double)ntrace_info(r.run)->cycles, 100));
    close_all();
}

TEST(copies_between_cores_show_at_both)
{
    static const char sends[] =
        "{ s0 = smov 1 }\n"
        "{ dma.vmem_to_vmem.remote 0, 64, 0x100, [sflag:3], [sflag:4], s0 }\n"
        "{ dma.done.wait [sflag:4], 64 }\n{ vsyncadd [sflag:4], -64 }\n{ shalt }\n";
    static const char gets[] =
        "{ dma.done.wait [sflag:3], 64 }\n{ vsyncadd [sflag:3], -64 }\n{ shalt }\n";
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = TRACE_OP, .title = ""};

    rig_open(&r.rig, "v3", &options);
    rig_load(&r.rig, 0, sends);
    rig_load(&r.rig, 1, gets);
    tee_open(&r.tee, r.rig.m, &so);
    if (rig_run(&r.rig))
        fail_msg("%s", r.rig.err.msg);
    r.run = tee_read(&r.tee);
    memset(&m, 0, sizeof(m));
    vmem_model_load(&m, r.run, 0, 0, ntrace_info(r.run)->cycles, 10);
    assert_int_equal(m.copy_count, 1);
    assert_int_equal(m.copy[0].way, VMEM_TO_CORE);
    assert_int_equal(m.copy[0].address, 0);
    vmem_model_load(&m, r.run, 1, 0, ntrace_info(r.run)->cycles, 10);
    assert_int_equal(m.copy_count, 1);
    assert_int_equal(m.copy[0].way, VMEM_FROM_CORE);
    assert_int_equal(m.copy[0].address, 0x100 * 32);
    assert_int_equal(m.copy[0].core, 0);
    close_all();
}

TEST(a_click_on_a_copy_chooses_its_bundle)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_VMEM);
    struct draw_list d;
    struct view v;

    open(panel_program);
    view_init(&v, r.run);
    view_show(&v, 100, 900);
    draw_init(&d, 100);
    panel_draw(PANEL_VMEM, panel, &v, &d, area);
    assert_true(panel_input(PANEL_VMEM, panel, &v, &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                            .x = 700, .y = 120}, area));
    assert_true(v.has_bundle);
    assert_int_equal(v.bundle, 0);
    draw_fini(&d);
    panel_destroy(PANEL_VMEM, panel);
    close_all();
}

TEST(texts_never_overlap)
{
    static const enum trace_level levels[] = {TRACE_STEP, TRACE_OP, TRACE_SLOT};
    struct view v;

    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        panel_rig_open(&r, "v3", panel_program, 1, levels[i]);
        view_init(&v, r.run);
        v.cursor = 700;
        panel_check_drawing(PANEL_VMEM, &v);
        view_show(&v, 500, 900);
        panel_check_drawing(PANEL_VMEM, &v);
        panel_rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_that_is_touched_is_in_its_column),
        cmocka_unit_test(iterations_that_were_not_simulated_touch_what_the_others_touch),
        cmocka_unit_test(copies_have_their_way_and_are_found_by_place),
        cmocka_unit_test(copies_between_cores_show_at_both),
        cmocka_unit_test(a_click_on_a_copy_chooses_its_bundle),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
