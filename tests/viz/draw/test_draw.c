/* Draw lists: measures, clips, texts that fit, texts that overlap. */
#include "tests/test.h"

#include "base/units.h"
#include "tests/rigs/draw_rig.h"
#include "viz/draw/draw.h"
#include "viz/draw/font.h"

static struct draw_list list(int scale_percent)
{
    struct draw_list d;

    draw_init(&d, scale_percent);
    return d;
}

TEST(cut_strips_and_the_rest_make_up_the_rectangle)
{
    struct rect r = {10, 20, 100, 50}, top, left, bottom, right;

    top = rect_cut_top(&r, 5);
    left = rect_cut_left(&r, 30);
    bottom = rect_cut_bottom(&r, 7);
    right = rect_cut_right(&r, 11);
    assert_memory_equal(&top, &((struct rect){10, 20, 100, 5}), sizeof(r));
    assert_memory_equal(&left, &((struct rect){10, 25, 30, 45}), sizeof(r));
    assert_memory_equal(&bottom, &((struct rect){40, 63, 70, 7}), sizeof(r));
    assert_memory_equal(&right, &((struct rect){99, 25, 11, 38}), sizeof(r));
    assert_memory_equal(&r, &((struct rect){40, 25, 59, 38}), sizeof(r));
    top = rect_cut_top(&r, 1000);       /* more than there is */
    assert_int_equal(top.h, 38);
    assert_int_equal(r.h, 0);
    assert_false(rect_has(r, 40, 63));
}

TEST(utf8_characters_are_counted_and_broken_ones_do_not_run_away)
{
    const char *text = "a\xc2\xb5\xe2\x80\xa6\xf0\x9f\x98\x80z", *broken = "\xe2\x80", *p;

    assert_int_equal(font_length("12 \xc2\xb5s"), 5);
    assert_int_equal(font_length(text), 5);
    p = text + 1;
    assert_int_equal(font_next(&p), 0xb5);
    assert_int_equal(font_next(&p), 0x2026);
    assert_int_equal(font_next(&p), 0x1f600);
    assert_string_equal(p, "z");
    p = broken;
    assert_int_equal(font_next(&p), 0xfffd);
    assert_int_equal(font_next(&p), 0);
    assert_int_equal(font_length("\xff\xff"), 2);
}

TEST(text_that_does_not_fit_ends_with_an_ellipsis_inside_its_box)
{
    int scales[] = {100, 150, 200};
    size_t i;
    int width;

    for (i = 0; i < COUNT_OF(scales); i++) {
        struct draw_list d = list(scales[i]);
        int one = draw_char_width(&d, TEXT_NORMAL);

        for (width = 0; width < 12 * one; width += 3) {
            draw_clear(&d);
            draw_text_fit(&d, (struct rect){7, 7, width, 100}, TEXT_NORMAL, ~0u, "multiply");
            assert_int_equal(d.count, width >= 2 * one);
            if (d.count) {
                assert_true(d.command[0].r.w <= width);
                assert_int_equal(strcmp(d.command[0].text, "multiply") == 0, width >= 8 * one);
                if (width < 8 * one)
                    assert_non_null(strstr(d.command[0].text, "\xe2\x80\xa6"));
            }
        }
        draw_clear(&d);                 /* not high enough */
        draw_text_fit(&d, (struct rect){0, 0, 1000, 5}, TEXT_NORMAL, ~0u, "multiply");
        assert_int_equal(d.count, 0);
        draw_fini(&d);
    }
}

TEST(nested_clips_show_what_all_of_them_show)
{
    struct draw_list d = list(100);

    draw_clip(&d, (struct rect){0, 0, 100, 100});
    draw_clip(&d, (struct rect){50, 50, 100, 100});
    draw_clip_end(&d);
    draw_clip_end(&d);
    assert_int_equal(d.count, 4);
    assert_memory_equal(&d.command[1].r, &((struct rect){50, 50, 50, 50}), sizeof(struct rect));
    assert_memory_equal(&d.command[2].r, &((struct rect){0, 0, 100, 100}), sizeof(struct rect));
    assert_true(rect_has(d.command[3].r, 5000, 5000));
    draw_fini(&d);
}

TEST(overlap_is_found_where_both_texts_can_be_seen)
{
    struct draw_list d = list(100);
    const struct draw_command *a, *b;
    int w = draw_char_width(&d, TEXT_NORMAL), h = draw_line_height(&d, TEXT_NORMAL);

    draw_text(&d, 0, 0, TEXT_NORMAL, ~0u, "abc");
    draw_text(&d, 3 * w, 0, TEXT_NORMAL, ~0u, "next");
    draw_text(&d, 0, h, TEXT_NORMAL, ~0u, "below");
    assert_false(draw_rig_find_overlap(&d, &a, &b));
    draw_text(&d, 3 * w - 1, h - 1, TEXT_NORMAL, ~0u, "x");
    assert_true(draw_rig_find_overlap(&d, &a, &b));
    assert_string_equal(b->text, "x");

    draw_clear(&d);                     /* the clip hides the second */
    draw_text(&d, 0, 0, TEXT_NORMAL, ~0u, "abc");
    draw_clip(&d, (struct rect){0, h, 100, 100});
    draw_text(&d, 0, 0, TEXT_NORMAL, ~0u, "abc");
    draw_clip_end(&d);
    assert_false(draw_rig_find_overlap(&d, &a, &b));
    draw_text(&d, 0, 0, TEXT_NORMAL, ~0u, "abc");
    assert_true(draw_rig_find_overlap(&d, &a, &b));

    draw_clear(&d);                     /* a card is painted over the first */
    draw_text(&d, 5, 5, TEXT_NORMAL, ~0u, "abc");
    draw_rect(&d, (struct rect){0, 0, 200, 200}, 0x000000ff);
    draw_text(&d, 5, 5, TEXT_NORMAL, ~0u, "def");
    assert_false(draw_rig_find_overlap(&d, &a, &b));
    draw_clear(&d);                     /* through a translucent one both are seen */
    draw_text(&d, 5, 5, TEXT_NORMAL, ~0u, "abc");
    draw_rect(&d, (struct rect){0, 0, 200, 200}, 0x00000080);
    draw_text(&d, 5, 5, TEXT_NORMAL, ~0u, "def");
    assert_true(draw_rig_find_overlap(&d, &a, &b));
    draw_fini(&d);
}

TEST(hash_changes_with_everything_that_is_seen)
{
    struct draw_list d = list(100);
    uint64_t hash[6];
    int i, j;

    for (i = 0; i < 6; i++) {
        draw_clear(&d);
        draw_rect(&d, (struct rect){i == 1, 0, 10, 10}, i == 2 ? 0x111111ff : 0x222222ff);
        draw_text(&d, 20, 0, i == 3 ? TEXT_SMALL : TEXT_NORMAL, ~0u, i == 4 ? "b" : "a");
        draw_line(&d, 0, 0, 5, 5, i == 5 ? 2 : 1, ~0u);
        hash[i] = draw_rig_hash(&d);
        for (j = 0; j < i; j++)
            assert_true(hash[i] != hash[j]);
    }
    draw_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_strips_and_the_rest_make_up_the_rectangle),
        cmocka_unit_test(utf8_characters_are_counted_and_broken_ones_do_not_run_away),
        cmocka_unit_test(text_that_does_not_fit_ends_with_an_ellipsis_inside_its_box),
        cmocka_unit_test(nested_clips_show_what_all_of_them_show),
        cmocka_unit_test(overlap_is_found_where_both_texts_can_be_seen),
        cmocka_unit_test(hash_changes_with_everything_that_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
