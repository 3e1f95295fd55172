#include "tests/rigs/draw_rig.h"
#include "tests/rigs/panel_rig.h"

#include "tests/test.h"

/* C[1024,128] = A[1024,128] x B[128,128] of one unit, results popped 34 tiles later */
const char panel_program[] =
    ".note copy in\n"
    "{ dma.hbm_to_vmem 0, 0x4000, 0, [sflag:0] }\n"
    "{ dma.hbm_to_vmem 0x4000, 0x800, 0x10000, [sflag:1] }\n"
    "{ dma.done.wait [sflag:1], 0x800 ;; s0 = smov 2168 }\n"
    "{ vsyncadd [sflag:1], -0x800 ;; s1 = smov 2048 }\n"
    ".note weights\n"
    "weights:\n"
    "{ v0 = vld [vmem:s0] ;; p0 = scmp.gt.s32.totalorder s0, s1 }\n"
    "{ vmatpush.msra.mxu0 v0 ;; sbr.rel (p0) target = weights }\n"
    "{ s0 = ssub.s32 s0, 8 }\n"
    "{ dma.done.wait [sflag:0], 0x4000 ;; s0 = smov 8 }\n"
    "{ vsyncadd [sflag:0], -0x4000 ;; s1 = smov 4096 }\n"
    "{ v0 = vld [vmem:0] ;; s2 = smov 0 }\n"
    "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 ;; s2 = smov 8 }\n"
    ".note multiply\n"
    "loop:\n"
    "{ v0 = vld [vmem:s2] ;; s2 = sadd.s32 s2, 8 }\n"
    "{ vmatmul.f32.gmra.mxu0 v0 ;; p0 = scmp.lt.s32.totalorder s2, 1024 }\n"
    "{ v1 = vpop.f32.mrf.mxu0 }\n"
    "{ vst [vmem:s1] v1 ;; sbr.rel (p0) target = loop }\n"
    "{ s1 = sadd.s32 s1, 8 }\n"
    "{ v1 = vpop.f32.mrf.mxu0 }\n"
    "{ vst [vmem:s1] v1 }\n"
    ".note copy out\n"
    "{ dma.vmem_to_hbm 0x10000, 0x4000, 0x8000, [sflag:2] }\n"
    "{ dma.done.wait [sflag:2], 0x4000 }\n"
    "{ vsyncadd [sflag:2], -0x4000 }\n"
    "{ shalt }\n";

void panel_rig_open(struct panel_rig *r, const char *slice, const char *text, unsigned cores,
                    enum trace_level level)
{
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = level, .title = "test.tasm"};
    int i;

    rig_open(&r->rig, slice, &options);
    for (i = 0; i < machine_core_count(r->rig.m); i++)
        if (i < 32 && cores >> i & 1u)
            rig_load(&r->rig, i, text);
    tee_open(&r->tee, r->rig.m, &so);
    if (rig_run(&r->rig))
        fail_msg("%s", r->rig.err.msg);
    r->run = tee_read(&r->tee);
}

void panel_rig_close(struct panel_rig *r)
{
    ntrace_close(r->run);
    tee_close(&r->tee);
    rig_close(&r->rig);
}

static const struct {
    int w, h;
} sizes[] = {{1920, 1050}, {1280, 690}, {900, 500}, {400, 300}, {120, 60}};

static void check_texts(const struct draw_list *d, struct rect area)
{
    const struct draw_command *a, *b;
    size_t i;

    if (draw_rig_find_overlap(d, &a, &b))
        fail_msg("\"%s\" and \"%s\" overlap in %dx%d at %d %%", a->text, b->text, area.w, area.h,
                 d->scale_percent);
    for (i = 0; i < d->count; i++)
        if (d->command[i].kind == DRAW_TEXT && !rect_covers(area, d->command[i].r))
            fail_msg("\"%s\" leaves %dx%d at %d %%", d->command[i].text, area.w, area.h,
                     d->scale_percent);
    assert_int_equal(d->clip_count, 0);
}

static uint64_t draw_with(enum panel_id id, const struct view *v, struct rect area)
{
    void *state = panel_create(id);
    uint64_t hash[2];
    struct draw_list d;
    int i;

    draw_init(&d, v->scale_percent);
    for (i = 0; i < 2; i++) {
        draw_clear(&d);
        panel_draw(id, state, v, &d, area);
        hash[i] = draw_rig_hash(&d);
        check_texts(&d, area);
    }
    assert_true(hash[0] == hash[1]);
    draw_fini(&d);
    panel_destroy(id, state);
    return hash[0];
}

uint64_t panel_check_drawing(enum panel_id id, const struct view *like)
{
    uint64_t all = 0;
    size_t i;
    int scale, t;

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (scale = 100; scale <= 200; scale += 50)
            for (t = 0; t < THEME_COUNT; t++) {
                struct view v = *like;

                v.scale_percent = scale;
                v.theme = (enum theme)t;
                all = (all * 31) ^ draw_with(id, &v, (struct rect){7, 23, sizes[i].w, sizes[i].h});
            }
    return all;
}
