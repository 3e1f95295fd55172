/* Looks colours up by role, stall, unit or operation, and mixes shades for shares. */
#include "viz/draw/theme.h"

#include <string.h>

static const rgba_t roles[COLOR_ROLE_COUNT][THEME_COUNT] = {
#define COLOR(role, dark, light, meaning) {dark, light},
#include "viz/draw/colors.def"
};

static const char *const meanings[COLOR_ROLE_COUNT] = {
#define COLOR(role, dark, light, meaning) meaning,
#include "viz/draw/colors.def"
};

static const rgba_t stalls[STALL_COUNT][THEME_COUNT] = {
#define STALL_COLOR(reason, dark, light) [STALL_##reason] = {dark, light},
#include "viz/draw/colors.def"
};

rgba_t theme_color(enum theme t, enum color_role role)
{
    return roles[role][t];
}

const char *theme_meaning(enum color_role role)
{
    return meanings[role];
}

rgba_t theme_stall_color(enum theme t, enum stall_reason reason)
{
    return stalls[reason][t];
}

const char *theme_stall_meaning(enum stall_reason reason)
{
    static const char *const reasons[STALL_COUNT] = {
#define STALL(id, name, meaning) [STALL_##id] = meaning,
#include "sim/results/stalls.def"
    };

    return reasons[reason];
}

static enum color_role unit_role(const char *unit_name)
{
    static const struct {
        const char *prefix;
        enum color_role role;
    } units[] = {{"scalar", COLOR_SCALAR}, {"valu", COLOR_VALU}, {"eup", COLOR_EUP},
                 {"load", COLOR_LOAD}, {"store", COLOR_STORE}, {"dma", COLOR_DMA},
                 {"xlu", COLOR_XLU}, {"mxu", COLOR_MXU}};

    if (strstr(unit_name, ".push"))
        return COLOR_MXU_PUSH;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strncmp(unit_name, units[i].prefix, strlen(units[i].prefix)) == 0)
            return units[i].role;
    return COLOR_MISC;
}

rgba_t theme_unit_color(enum theme t, const char *unit_name)
{
    return theme_color(t, unit_role(unit_name));
}

rgba_t theme_mix(rgba_t a, rgba_t b, double share)
{
    rgba_t mixed = 0;

    share = share < 0 ? 0 : share > 1 ? 1 : share;
    for (int shift = 0; shift < 32; shift += 8) {
        double from = a >> shift & 0xff, to = b >> shift & 0xff;

        mixed |= (rgba_t)(from + (to - from) * share + 0.5) << shift;
    }
    return mixed;
}

rgba_t theme_heat(enum theme t, double value)
{
    static const rgba_t stops[THEME_COUNT][5] = {
        {0x23304fff, 0x3c5c8fff, 0x8d7f8cff, 0xd9a15cff, 0xffe28aff},
        {0xe4e9f2ff, 0xb3c7e4ff, 0x9f9bb3ff, 0xa8653cff, 0x6b2a00ff}};
    int last = (int)COUNT_OF(stops[0]) - 1, i;

    value = value > 0 ? value < 1 ? value : 1 : 0;
    i = (int)(value * last);
    if (i == last)
        i--;
    return theme_mix(stops[t][i], stops[t][i + 1], value * last - i);
}

/* twelve hues, so ordered that neighbours are far apart in hue and in lightness */
rgba_t theme_op_color(enum theme t, uint32_t note)
{
    static const rgba_t colors[THEME_COUNT][12] = {
        {0x5b8fd0ff, 0xd9b65aff, 0x4f9d7eff, 0xd39ac0ff, 0x7d78c8ff, 0xa9c97aff, 0xc07a52ff,
         0x8fd0e0ff, 0x94687fff, 0xe0c9a0ff, 0x5f7f9fff, 0xe09a8aff},
        {0x2f6db5ff, 0xc79a2fff, 0x2f8563ff, 0xc27aaaff, 0x5d57b0ff, 0x8bb04fff, 0xa9592fff,
         0x5fb2c7ff, 0x7d4a66ff, 0xc4a56aff, 0x3f6486ff, 0xcf7463ff}};

    return note ? colors[t][(note - 1) % COUNT_OF(colors[t])] : theme_color(t, COLOR_MISC);
}

/* squares are near enough to how light adds up, for a choice of two */
rgba_t theme_text_on(rgba_t background)
{
    unsigned red = background >> 24, green = background >> 16 & 0xff, blue = background >> 8 & 0xff;
    unsigned luminance = 2126 * red * red + 7152 * green * green + 722 * blue * blue;

    return luminance > 2150u * 255 * 255 ? 0x0b0d10ff : 0xffffffff;
}
