/* Colours: read well, told apart by every eye, each with a meaning. */
#include "tests/test.h"

#include <math.h>

#include "viz/draw/theme.h"

struct named {
    const char *name;
    rgba_t color;
};

static double linear(rgba_t c, int shift)
{
    double v = (c >> shift & 0xff) / 255.0;

    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double luminance(rgba_t c)
{
    return 0.2126 * linear(c, 24) + 0.7152 * linear(c, 16) + 0.0722 * linear(c, 8);
}

/* as the Web Content Accessibility Guidelines define it */
static double contrast(rgba_t a, rgba_t b)
{
    double x = luminance(a), y = luminance(b);

    return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

/* how eyes without one kind of cone see linear light (Machado, Oliveira, Fernandes 2009) */
static const double eyes[3][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}}};

static double lab_part(double t)
{
    return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

static void to_lab(rgba_t c, const double eye[3][3], double lab[3])
{
    double in[3] = {linear(c, 24), linear(c, 16), linear(c, 8)}, out[3], x, y, z;
    int i;

    for (i = 0; i < 3; i++)
        out[i] = fmin(fmax(eye[i][0] * in[0] + eye[i][1] * in[1] + eye[i][2] * in[2], 0), 1);
    x = lab_part((0.4124 * out[0] + 0.3576 * out[1] + 0.1805 * out[2]) / 0.9505);
    y = lab_part(0.2126 * out[0] + 0.7152 * out[1] + 0.0722 * out[2]);
    z = lab_part((0.0193 * out[0] + 0.1192 * out[1] + 0.9505 * out[2]) / 1.089);
    lab[0] = 116 * y - 16;
    lab[1] = 500 * (x - y);
    lab[2] = 200 * (y - z);
}

/* CIE 1976; 2.3 is just noticeable */
static double difference(rgba_t a, rgba_t b, int eye)
{
    double p[3], q[3];

    to_lab(a, eyes[eye], p);
    to_lab(b, eyes[eye], q);
    return sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2));
}

static size_t all_fills(enum theme t, struct named *to)
{
    size_t count = 0;
    int i;

    for (i = COLOR_ISSUE; i < COLOR_ROLE_COUNT; i++)
        to[count++] = (struct named){theme_meaning((enum color_role)i),
                                     theme_color(t, (enum color_role)i)};
    for (i = 0; i < STALL_COUNT; i++)
        to[count++] = (struct named){stall_name((enum stall_reason)i),
                                     theme_stall_color(t, (enum stall_reason)i)};
    return count;
}

TEST(texts_read_well_on_every_background)
{
    int t, i;

    for (t = 0; t < THEME_COUNT; t++)
        for (i = COLOR_BACKGROUND; i <= COLOR_PANEL; i++) {
            rgba_t on = theme_color((enum theme)t, (enum color_role)i);

            assert_true(contrast(on, theme_color((enum theme)t, COLOR_TEXT)) >= 7);
            assert_true(contrast(on, theme_color((enum theme)t, COLOR_DIM_TEXT)) >= 4.5);
            assert_true(contrast(on, theme_color((enum theme)t, COLOR_WARNING)) >= 4.5);
            assert_true(contrast(on, theme_color((enum theme)t, COLOR_ACCENT)) >= 4.5);
        }
}

TEST(names_read_well_on_every_bar)
{
    struct named fill[64];
    size_t count, i;
    int t;

    for (t = 0; t < THEME_COUNT; t++) {
        count = all_fills((enum theme)t, fill);
        for (i = 0; i < count; i++)
            if (contrast(fill[i].color, theme_text_on(fill[i].color)) < 4.0)
                fail_msg("%s: %.1f", fill[i].name,
                         contrast(fill[i].color, theme_text_on(fill[i].color)));
        for (i = 0; i < 30; i++)
            assert_true(contrast(theme_op_color((enum theme)t, (uint32_t)i),
                                 theme_text_on(theme_op_color((enum theme)t, (uint32_t)i))) >= 4);
    }
}

TEST(colours_all_differ_and_stand_out_from_the_panel)
{
    struct named fill[64];
    size_t count, i, j;
    int t;

    for (t = 0; t < THEME_COUNT; t++) {
        count = all_fills((enum theme)t, fill);
        for (i = 0; i < count; i++) {
            if (contrast(fill[i].color, theme_color((enum theme)t, COLOR_PANEL)) < 1.7)
                fail_msg("%s is lost on the panel", fill[i].name);
            for (j = 0; j < i; j++)
                if (difference(fill[i].color, fill[j].color, 0) < 9)
                    fail_msg("%s and %s look alike in theme %d", fill[i].name, fill[j].name, t);
        }
    }
}

TEST(groups_are_told_apart_by_colour_blind_eyes)
{
    int t, eye, i, j, k;

    for (t = 0; t < THEME_COUNT; t++) {
        enum theme now = (enum theme)t;
        rgba_t group[2][6] = {
            {theme_color(now, COLOR_SCALAR), theme_color(now, COLOR_VALU),
             theme_color(now, COLOR_MXU), theme_color(now, COLOR_MXU_PUSH),
             theme_color(now, COLOR_HBM_READ), theme_color(now, COLOR_LINK)},
            {theme_color(now, COLOR_ISSUE), theme_color(now, COLOR_IDLE),
             theme_stall_color(now, STALL_OPERAND), theme_stall_color(now, STALL_MXU),
             theme_stall_color(now, STALL_HBM), theme_stall_color(now, STALL_ICI)}};

        for (eye = 0; eye < 3; eye++)
            for (k = 0; k < 2; k++)
                for (i = 0; i < 6; i++)
                    for (j = 0; j < i; j++)
                        assert_true(difference(group[k][i], group[k][j], eye) > 11);
    }
}

TEST(every_colour_has_a_meaning)
{
    int i, j;

    for (i = 0; i < COLOR_ROLE_COUNT; i++) {
        assert_true(strlen(theme_meaning((enum color_role)i)) > 8);
        for (j = 0; j < i; j++)
            assert_string_not_equal(theme_meaning((enum color_role)i),
                                    theme_meaning((enum color_role)j));
    }
    for (i = 0; i < STALL_COUNT; i++)
        assert_int_equal(theme_stall_color(THEME_DARK, (enum stall_reason)i) & 0xff, 0xff);
}

TEST(heat_goes_steadily_away_from_the_background)
{
    double before[THEME_COUNT] = {0, 2};
    int i;

    for (i = 0; i <= 100; i++) {
        double dark = luminance(theme_heat(THEME_DARK, i / 100.0));
        double light = luminance(theme_heat(THEME_LIGHT, i / 100.0));

        assert_true(dark > before[0] && light < before[1]);
        before[0] = dark;
        before[1] = light;
    }
    assert_int_equal(theme_heat(THEME_DARK, -1), theme_heat(THEME_DARK, 0));
    assert_int_equal(theme_heat(THEME_DARK, 7), theme_heat(THEME_DARK, 1));
}

TEST(neighbouring_operations_differ_for_every_eye)
{
    int t, eye;
    uint32_t i;

    for (t = 0; t < THEME_COUNT; t++)
        for (eye = 0; eye < 3; eye++)
            for (i = 0; i < 24; i++)
                assert_true(difference(theme_op_color((enum theme)t, i),
                                       theme_op_color((enum theme)t, i + 1), eye) > 11);
}

TEST(units_have_the_colour_of_their_kind)
{
    assert_int_equal(theme_unit_color(THEME_DARK, "mxu3"), theme_color(THEME_DARK, COLOR_MXU));
    assert_int_equal(theme_unit_color(THEME_DARK, "mxu3.push"),
                     theme_color(THEME_DARK, COLOR_MXU_PUSH));
    assert_int_equal(theme_unit_color(THEME_LIGHT, "xlu0"), theme_color(THEME_LIGHT, COLOR_XLU));
    assert_int_equal(theme_unit_color(THEME_LIGHT, "misc"), theme_color(THEME_LIGHT, COLOR_MISC));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_read_well_on_every_background),
        cmocka_unit_test(names_read_well_on_every_bar),
        cmocka_unit_test(colours_all_differ_and_stand_out_from_the_panel),
        cmocka_unit_test(groups_are_told_apart_by_colour_blind_eyes),
        cmocka_unit_test(every_colour_has_a_meaning),
        cmocka_unit_test(heat_goes_steadily_away_from_the_background),
        cmocka_unit_test(neighbouring_operations_differ_for_every_eye),
        cmocka_unit_test(units_have_the_colour_of_their_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
