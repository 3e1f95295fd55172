/*
 * Measures of DejaVu Sans Mono, without opening it: every character is 1233 of
 * 2048 units of an em wide, so places of text are known where no font is. A
 * test holds them against the font itself.
 */
#ifndef VIZ_FONT_H
#define VIZ_FONT_H
#include "viz/draw/draw.h"

int font_pixels(enum text_size size, int scale_percent);        /* of an em */
int font_char_width(int pixels);
int font_line_height(int pixels);

/* UTF-8: the next character, moving *text behind it; 0 at the end, U+FFFD for a broken one */
uint32_t font_next(const char **text);
size_t font_length(const char *text);   /* in characters */

/*
 * The characters beyond ASCII that panels may use; a back end need not have others,
 * which it shows as a question mark.
 */
extern const char font_extra[];
#endif
