/* Computes the sizes of text from the font's fixed proportions, and decodes UTF-8. */
#include "viz/draw/font.h"

static const int pixels_at_100[TEXT_SIZE_COUNT] = {
    [TEXT_SMALL] = 11, [TEXT_NORMAL] = 13, [TEXT_TITLE] = 17};

const char font_extra[] = "…µ×·–—≤≥≠≈→←↑↓▸▾◂▴●○■□▪°²³±∞√Σ÷′″│─┼█▌░▒▓◆◇✓✗";

int font_pixels(enum text_size size, int scale_percent)
{
    return (pixels_at_100[size] * scale_percent + 50) / 100;
}

int font_char_width(int pixels)
{
    return (pixels * 1233 + 1024) / 2048;
}

/* the face's own 2384 of 2048 units, and a little air */
int font_line_height(int pixels)
{
    return (pixels * 2500 + 2047) / 2048;
}

uint32_t font_next(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    int length = *p < 0x80 ? 0 : *p >= 0xf0 && *p < 0xf8 ? 3 : *p >= 0xe0 && *p < 0xf0 ? 2
                 : *p >= 0xc2 && *p < 0xe0 ? 1 : -1;
    uint32_t value = length < 0 ? 0xfffd : length == 0 ? *p : *p & (0x3fu >> length);

    if (!*p)
        return 0;
    for (int i = 1; i <= length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *text += i;
            return 0xfffd;
        }
        value = value << 6 | (p[i] & 0x3fu);
    }
    *text += length < 0 ? 1 : length + 1;
    return value;
}

size_t font_length(const char *text)
{
    size_t count = 0;

    while (font_next(&text))
        count++;
    return count;
}
