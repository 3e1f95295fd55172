/* What paints agrees with what measures; pictures without a display. */
#include "tests/test.h"

#include <SDL2/SDL_ttf.h>
#include <unistd.h>

#include "viz/draw/font.h"
#include "viz/sdl/sdl_paint.h"

TEST(measures_agree_with_the_font_at_every_size_and_scale)
{
    int size, scale, line, height, advance;
    const char *path = painter_font_path();

    if (!path)
        SKIP("DejaVu Sans Mono is not installed");
    assert_int_equal(TTF_Init(), 0);
    for (size = 0; size < TEXT_SIZE_COUNT; size++)
        for (scale = 50; scale <= 400; scale += 10) {
            int pixels = font_pixels((enum text_size)size, scale);
            TTF_Font *f = TTF_OpenFont(path, pixels);

            assert_non_null(f);
            assert_int_equal(TTF_GlyphMetrics32(f, 'M', NULL, NULL, NULL, NULL, &advance), 0);
            assert_int_equal(advance, font_char_width(pixels));
            height = TTF_FontHeight(f);
            line = font_line_height(pixels);
            assert_true(line >= height && line <= height + 2 + height / 8);
            TTF_CloseFont(f);
        }
}

TEST(font_has_every_character_that_panels_may_use)
{
    const char *path = painter_font_path(), *extra = font_extra;
    TTF_Font *f;
    uint32_t c;

    if (!path)
        SKIP("DejaVu Sans Mono is not installed");
    assert_int_equal(TTF_Init(), 0);
    f = TTF_OpenFont(path, 13);
    while ((c = font_next(&extra)) != 0)
        assert_true(TTF_GlyphIsProvided32(f, c));
    TTF_CloseFont(f);
}

static uint32_t pixel(const struct picture *p, int x, int y)
{
    const char *row = (const char *)p->surface->pixels + y * p->surface->pitch;
    uint32_t value;

    memcpy(&value, row + 4 * x, 4);
    return value & 0xffffff;
}

TEST(rectangles_texts_and_clips_reach_the_pixels_they_name)
{
    struct draw_list d;
    struct picture p;
    struct err e;
    int x, y, lit = 0;

    assert_int_equal(picture_open(&p, 100, 60, &e), 0);
    draw_init(&d, 100);
    draw_rect(&d, (struct rect){0, 0, 100, 60}, 0x102030ff);
    draw_clip(&d, (struct rect){0, 0, 50, 60});
    draw_rect(&d, (struct rect){40, 10, 20, 10}, 0xff0000ff);
    draw_clip_end(&d);
    draw_text(&d, 10, 30, TEXT_NORMAL, 0x00ff00ff, "M");
    draw_disc(&d, 80, 40, 5, 0x0000ffff);
    painter_paint(p.painter, &d);
    SDL_RenderPresent(p.renderer);
    assert_int_equal(pixel(&p, 45, 15), 0xff0000);
    assert_int_equal(pixel(&p, 39, 15), 0x102030);
    assert_int_equal(pixel(&p, 55, 15), 0x102030);
    assert_int_equal(pixel(&p, 80, 40), 0x0000ff);
    assert_int_equal(pixel(&p, 86, 40), 0x102030);
    for (y = 30; y < 30 + font_line_height(13); y++)
        for (x = 10; x < 10 + font_char_width(13); x++)
            lit += (pixel(&p, x, y) >> 8 & 0xff) > 0x80;
    assert_true(lit > 15);
    draw_fini(&d);
    picture_close(&p);
}

TEST(saved_picture_is_a_png)
{
    char path[] = "/tmp/systole_picture_XXXXXX", head[8] = "";
    struct picture p;
    struct err e;
    FILE *f;

    close(mkstemp(path));
    assert_int_equal(picture_open(&p, 20, 10, &e), 0);
    assert_int_equal(picture_save(p.surface, path, &e), 0);
    f = fopen(path, "rb");
    assert_int_equal(fread(head, 1, 8, f), 8);
    fclose(f);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
    unlink(path);
    assert_int_equal(picture_save(p.surface, "/nowhere/at/all.png", &e), -1);
    assert_non_null(strstr(e.msg, "/nowhere/at/all.png"));
    picture_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_agree_with_the_font_at_every_size_and_scale),
        cmocka_unit_test(font_has_every_character_that_panels_may_use),
        cmocka_unit_test(rectangles_texts_and_clips_reach_the_pixels_they_name),
        cmocka_unit_test(saved_picture_is_a_png),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
