/*
 * Every panel draws: the same as before, no text over another at any scale and
 * size, nothing outside its area, whatever the view shows and the pointer does.
 */
#include "tests/test.h"
#include "tests/rigs/draw_rig.h"
#include "tests/rigs/view_rig.h"

#include "base/rng.h"
#include "viz/app/app.h"

static struct view_rig rig, second;          /* the latter to compare with */

static int open_rig(void **state)
{
    (void)state;
    view_rig_open(&rig, "v3-8", "examples/03_double_buffered_matmul.tasm", NULL);
    view_rig_open(&second, "v3", "examples/04_pipelined_matmul_v3.tasm", NULL);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    view_rig_close(&rig);
    view_rig_close(&second);
    return 0;
}

static void *create(enum panel_id id)
{
    return panel_create(id);
}

static void destroy(enum panel_id id, void *state)
{
    panel_destroy(id, state);
}

static struct view fresh_view(void)
{
    struct view v;

    view_init(&v, rig.run);
    v.path = "run";
    v.other = second.run;
    v.other_path = "other";
    return v;
}

static const struct {
    double from, end;
} shown[] = {{0, 1e9}, {1000, 3000}, {1200, 1260}, {700, 708}};

/* of all scales, themes and ranges, one after another */
static uint64_t hash_of(enum panel_id id)
{
    static const int scales[] = {100, 150, 200};
    uint64_t hash = 0;
    size_t s, k;
    int t;

    for (s = 0; s < COUNT_OF(scales); s++)
        for (t = 0; t < THEME_COUNT; t++) {
            void *state = create(id);

            for (k = 0; k < COUNT_OF(shown); k++) {
                struct view v = fresh_view();
                struct draw_list d;

                v.scale_percent = scales[s];
                v.theme = (enum theme)t;
                view_show(&v, shown[k].from, shown[k].end);
                draw_init(&d, scales[s]);
                panel_draw(id, state, &v, &d, (struct rect){0, 0, 1280, 720});
                hash = hash * 31 + draw_rig_hash(&d);
                draw_fini(&d);
            }
            destroy(id, state);
        }
    return hash;
}

static uint64_t known_hash(const char *name)
{
    static const struct {
        const char *panel;
        uint64_t hash;
    } known[] = {
#define HASH(panel, hash) {#panel, hash##u},
#include "tests/viz/panels/panel_hashes.def"
    };
    size_t i;

    for (i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].panel, name) == 0)
            return known[i].hash;
    return 0;
}

TEST(every_panel_draws_what_it_drew)
{
    int i, changed = 0;

    for (i = 0; i < PANEL_COUNT; i++) {
        const char *name = panel_name((enum panel_id)i);
        uint64_t hash = hash_of((enum panel_id)i);

        if (hash == known_hash(name))
            continue;
        printf("%s draws something else; when that is meant, tests/viz/panels/panel_hashes.def has\n"
               "HASH(%s, 0x%llx)\n", name, name, (unsigned long long)hash);
        changed++;
    }
    assert_int_equal(changed, 0);
}

/* what is drawn stays in the area, clips considered, but for lines and discs at its border */
static void assert_inside(const struct draw_list *d, struct rect area)
{
    struct rect clip = {-100000, -100000, 200000, 200000};
    size_t i;

    for (i = 0; i < d->count; i++) {
        const struct draw_command *c = &d->command[i];
        struct rect seen = rect_meet(c->r, clip);

        if (c->kind == DRAW_CLIP)
            clip = c->r;
        else if ((c->kind == DRAW_RECT || c->kind == DRAW_TEXT) && rect_is_seen(seen)
                 && !rect_covers(area, seen))
            fail_msg("\"%s\" at %d,%d %dx%d is outside", c->text, c->r.x, c->r.y, c->r.w,
                     c->r.h);
    }
}

static void assert_no_overlap(const struct draw_list *d, const char *what, int w, int h, int scale)
{
    const struct draw_command *a, *b;

    if (draw_rig_find_overlap(d, &a, &b))
        fail_msg("%s, %dx%d at %d %%: \"%s\" at %d,%d and \"%s\" at %d,%d", what, w, h, scale,
                 a->text, a->r.x, a->r.y, b->text, b->r.x, b->r.y);
}

static const struct {
    int w, h;
} sizes[] = {{1280, 720}, {640, 360}, {1920, 1080}, {800, 1000}};
static const int scales[] = {100, 150, 200};

TEST(texts_do_not_overlap_at_any_scale_and_size)
{
    size_t s, k, z;
    int i;

    for (i = 0; i < PANEL_COUNT; i++)
        for (s = 0; s < COUNT_OF(scales); s++)
            for (z = 0; z < COUNT_OF(sizes); z++)
                for (k = 0; k < COUNT_OF(shown); k++) {
                    struct rect area = {7, 11, sizes[z].w, sizes[z].h};
                    void *panel = create((enum panel_id)i);
                    struct view v = fresh_view();
                    struct draw_list d;

                    v.scale_percent = scales[s];
                    view_show(&v, shown[k].from, shown[k].end);
                    draw_init(&d, scales[s]);
                    panel_draw((enum panel_id)i, panel, &v, &d, area);
                    assert_no_overlap(&d, panel_name((enum panel_id)i), area.w, area.h, scales[s]);
                    assert_inside(&d, area);
                    assert_int_equal(d.clip_count, 0);
                    draw_fini(&d);
                    destroy((enum panel_id)i, panel);
                }
}

TEST(whole_windows_have_no_text_over_another)
{
    static const enum app_mode modes[] = {APP_PLAIN, APP_HELP, APP_PALETTE, APP_SEARCH};
    size_t s, z, m;
    int tiled;

    for (s = 0; s < COUNT_OF(scales); s++)
        for (z = 0; z < COUNT_OF(sizes); z++)
            for (m = 0; m < COUNT_OF(modes); m++)
                for (tiled = 0; tiled < 2; tiled++) {
                    struct view v = fresh_view();
                    struct draw_list d;
                    struct app a;

                    v.scale_percent = scales[s];
                    v.has_selection = m == 0;
                    v.selection_from = 100;
                    v.selection_end = 900;
                    app_init(&a, &v, PANEL_TIMELINE);
                    a.width = sizes[z].w;
                    a.height = sizes[z].h;
                    a.mode = modes[m];
                    a.is_tiled = tiled;
                    a.pointer_x = a.width / 2;
                    a.pointer_y = a.height / 2;
                    draw_init(&d, scales[s]);
                    app_draw(&a, &d);
                    assert_no_overlap(&d, "window", a.width, a.height, scales[s]);
                    assert_int_equal(d.clip_count, 0);
                    draw_fini(&d);
                    app_fini(&a);
                }
}

TEST(hurried_frames_come_to_the_whole_picture)
{
    struct view v = fresh_view();
    struct draw_list whole, quick;
    void *panel = create(PANEL_TIMELINE);
    int i, frames = 0;
    size_t k;

    draw_init(&whole, 100);
    draw_init(&quick, 100);
    for (k = 0; k < COUNT_OF(shown); k++) {
        void *other = create(PANEL_TIMELINE);

        view_show(&v, shown[k].from, shown[k].end);
        v.is_hurried = true;
        for (i = 0; i < 100 && (i == 0 || quick.is_partial); i++, frames++) {
            draw_clear(&quick);
            panel_draw(PANEL_TIMELINE, panel, &v, &quick, (struct rect){0, 0, 1280, 720});
        }
        assert_false(quick.is_partial);
        v.is_hurried = false;
        draw_clear(&whole);
        panel_draw(PANEL_TIMELINE, other, &v, &whole, (struct rect){0, 0, 1280, 720});
        assert_false(whole.is_partial);
        assert_true(draw_rig_hash(&whole) == draw_rig_hash(&quick));
        destroy(PANEL_TIMELINE, other);
    }
    assert_true(frames > (int)COUNT_OF(shown));
    draw_fini(&whole);
    draw_fini(&quick);
    destroy(PANEL_TIMELINE, panel);
}

static void random_input(struct rng *rng, struct app *a)
{
    struct input i = {.kind = (enum input_kind)rng_below(rng, INPUT_KEY + 1),
                      .x = (int)rng_below(rng, 1300) - 10, .y = (int)rng_below(rng, 740) - 10,
                      .dx = (int)rng_below(rng, 200) - 100, .dy = (int)rng_below(rng, 9) - 4,
                      .button = 1 + (int)rng_below(rng, 3), .has_ctrl = rng_below(rng, 4) == 0,
                      .has_shift = rng_below(rng, 4) == 0};

    i.key = rng_below(rng, 3) ? 32 + rng_below(rng, 95) : KEY_LEFT + rng_below(rng, 12);
    app_input(a, &i);
    a->wants_quit = false;
}

TEST(no_keys_and_no_pointer_bring_the_view_out_of_the_run)
{
    struct view v = fresh_view();
    double all = (double)ntrace_info(rig.run)->cycles;
    struct draw_list d;
    struct rng rng;
    struct app a;
    int i;

    rng_init(&rng, 5);
    app_init(&a, &v, PANEL_TIMELINE);
    draw_init(&d, 100);
    for (i = 0; i < 400; i++) {
        random_input(&rng, &a);
        app_tick(&a, 0.02);
        assert_true(v.from >= 0 && v.end <= all && v.end - v.from >= 7.99);
        assert_true(v.core >= 0 && v.core < 8);
        if (i % 5 == 0) {
            a.width = 300 + (int)rng_below(&rng, 1000);
            a.height = 200 + (int)rng_below(&rng, 600);
            v.scale_percent = v.scale_percent > 200 ? 200 : v.scale_percent;
            app_draw(&a, &d);
            assert_int_equal(d.clip_count, 0);
        }
    }
    draw_fini(&d);
    app_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_panel_draws_what_it_drew),
        cmocka_unit_test(texts_do_not_overlap_at_any_scale_and_size),
        cmocka_unit_test(whole_windows_have_no_text_over_another),
        cmocka_unit_test(hurried_frames_come_to_the_whole_picture),
        cmocka_unit_test(no_keys_and_no_pointer_bring_the_view_out_of_the_run),
    };

    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
