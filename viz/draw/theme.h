/*
 * Colours and what they mean: the same thing has the same colour in every
 * panel, and the legend lists it. Two palettes, dark and light, both told apart
 * by colour-blind eyes (Okabe and Ito's colours for the groups, lightness for
 * the members of one).
 */
#ifndef VIZ_THEME_H
#define VIZ_THEME_H
#include "sim/machine/machine.h"
#include "viz/draw/draw.h"

enum theme { THEME_DARK, THEME_LIGHT, THEME_COUNT };

enum color_role {                       /* viz/draw/colors.def says what they mean */
#define COLOR(role, dark, light, meaning) COLOR_##role,
#include "viz/draw/colors.def"
    COLOR_ROLE_COUNT
};
rgba_t theme_color(enum theme t, enum color_role role);
const char *theme_meaning(enum color_role role);        /* for the legend */
const char *theme_stall_meaning(enum stall_reason reason);
rgba_t theme_stall_color(enum theme t, enum stall_reason reason);
rgba_t theme_unit_color(enum theme t, const char *unit_name);
/* 0..1: from cold to hot, for heat maps; lightness goes steadily away from the background's */
rgba_t theme_heat(enum theme t, double value);
/* from a (0) to b (1) */
rgba_t theme_mix(rgba_t a, rgba_t b, double share);
/* source operations by number, neighbours told apart */
rgba_t theme_op_color(enum theme t, uint32_t note);
/* black or white, whichever is read better on it */
rgba_t theme_text_on(rgba_t background);
#endif
