/* The map as a picture: PNG, eight bits of red, green and blue, zlib's own compression. */
#include "cli/tune/tune.h"

#include <ctype.h>
#include <string.h>
#include <zlib.h>

#include "base/outfile.h"
#include "base/text.h"

enum { CELL_WIDTH = 110, CELL_HEIGHT = 56, SCALE = 2, GLYPH = 4 * SCALE, LINE = 7 * SCALE,
       MARGIN = 12 };

struct picture { int width, height; uint8_t *pixel; };  /* rows, each with the filter's byte before */

static void fill(struct picture *p, int x, int y, int width, int height, uint32_t rgb)
{
    for (int i = y; i < y + height && i < p->height; i++)
        for (int j = x; j < x + width && j < p->width; j++) {
            uint8_t *to = p->pixel + (size_t)i * ((size_t)p->width * 3 + 1) + 1 + (size_t)j * 3;

            to[0] = (uint8_t)(rgb >> 16);
            to[1] = (uint8_t)(rgb >> 8);
            to[2] = (uint8_t)rgb;
        }
}

/* glyphs of 3 by 5 points: five rows of three bits each, the first row in the highest bits */
static const struct { char name; uint16_t rows; } glyphs[] = {
    {'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711}, {'5', 074717},
    {'6', 074757}, {'7', 071111}, {'8', 075757}, {'9', 075717}, {'A', 025755}, {'B', 065656},
    {'C', 034443}, {'D', 065556}, {'E', 074647}, {'F', 074644}, {'G', 034553}, {'H', 055755},
    {'I', 072227}, {'J', 011152}, {'K', 055655}, {'L', 044447}, {'M', 057755}, {'N', 065555},
    {'O', 025552}, {'P', 065644}, {'Q', 025563}, {'R', 065655}, {'S', 034216}, {'T', 072222},
    {'U', 055557}, {'V', 055552}, {'W', 055775}, {'X', 055255}, {'Y', 055222}, {'Z', 071247},
    {'_', 000007}, {'-', 000700}, {'.', 000002}, {',', 000024}, {'*', 005250}, {'(', 012221},
    {')', 042224}, {'=', 007070}, {':', 002020}, {'/', 011244}, {'%', 051245}, {'+', 002720}};

static void draw_glyph(struct picture *p, int x, int y, char c, uint32_t rgb)
{
    for (size_t g = 0; g < sizeof(glyphs) / sizeof(glyphs[0]); g++)
        for (int bit = 0; glyphs[g].name == toupper((unsigned char)c) && bit < 15; bit++)
            if (glyphs[g].rows >> (14 - bit) & 1)
                fill(p, x + bit % 3 * SCALE, y + bit / 3 * SCALE, SCALE, SCALE, rgb);
}

static void draw_text(struct picture *p, int x, int y, const char *text, uint32_t rgb)
{
    for (; *text; text++, x += GLYPH)
        draw_glyph(p, x, y, *text, rgb);
}

static uint32_t mix(uint32_t a, uint32_t b, double part)
{
    uint32_t rgb = 0;

    for (int shift = 0; shift < 24; shift += 8)
        rgb |= (uint32_t)((a >> shift & 255) * (1 - part) + (b >> shift & 255) * part) << shift;
    return rgb;
}

/* green, yellow, red */
static uint32_t colour_of(double heat)
{
    const uint32_t green = 0x1a9850, yellow = 0xfee08b, red = 0xd73027;

    return heat < 0.5 ? mix(green, yellow, 2 * heat) : mix(yellow, red, 2 * heat - 1);
}

static void draw_cell(struct picture *p, const struct tune *t, const struct tune_variant *v, int x,
                      int y)
{
    bool is_best = v && t->best >= 0 && v == &t->variant[t->best];
    char text[40];

    if (!v)
        return;
    fill(p, x, y, CELL_WIDTH - 2, CELL_HEIGHT - 2,
         v->result.is_done ? colour_of(tune_heat(t, v)) : 0xb8b8b8);
    if (is_best) {
        fill(p, x, y, CELL_WIDTH - 2, 3, 0);
        fill(p, x, y + CELL_HEIGHT - 5, CELL_WIDTH - 2, 3, 0);
    }
    if (!v->result.is_done) {
        text_print(text, sizeof(text), "(%c)", 'a' + tune_reason(t, v) % 26);
        draw_text(p, x + 8, y + 20, text, 0x404040);
        return;
    }
    text_print(text, sizeof(text), "%s%s", text_thousands(v->result.cycles).text,
               is_best ? "*" : "");
    draw_text(p, x + 8, y + 14, text, 0);
    text_print(text, sizeof(text), "%.1f MIB", (double)v->result.vmem_bytes / 1048576.0);
    draw_text(p, x + 8, y + 14 + LINE + 6, text, 0);
}

static int label_width(const struct tune *t)
{
    size_t longest = t->rows < 0 ? 0 : strlen(t->axis[t->rows].name);

    for (int r = 0; t->rows >= 0 && r < t->axis[t->rows].count; r++)
        if (strlen(t->axis[t->rows].value[r]) > longest)
            longest = strlen(t->axis[t->rows].value[r]);
    return (int)longest * GLYPH + 2 * MARGIN;
}

static void draw(struct picture *p, const struct tune *t)
{
    int left = label_width(t), top = MARGIN + 3 * LINE + 8;
    int rows = t->rows < 0 ? 1 : t->axis[t->rows].count;

    fill(p, 0, 0, p->width, p->height, 0xffffff);
    draw_text(p, left, MARGIN, t->axis[t->columns].name, 0);
    if (t->rows >= 0)
        draw_text(p, MARGIN, MARGIN + LINE + 6, t->axis[t->rows].name, 0);
    for (int c = 0; c < t->axis[t->columns].count; c++)
        draw_text(p, left + c * CELL_WIDTH, MARGIN + LINE + 6, t->axis[t->columns].value[c], 0);
    for (int r = 0; r < rows; r++) {
        if (t->rows >= 0)
            draw_text(p, MARGIN, top + r * CELL_HEIGHT + 20, t->axis[t->rows].value[r], 0);
        for (int c = 0; c < t->axis[t->columns].count; c++)
            draw_cell(p, t, tune_at(t, r, c), left + c * CELL_WIDTH, top + r * CELL_HEIGHT);
    }
}

/* ----- the file */

static void put_word(FILE *to, uint32_t word)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        fputc((int)(word >> shift & 255), to);
}

static void put_chunk(FILE *to, const char name[4], const uint8_t *data, size_t bytes)
{
    uLong sum = crc32(crc32(0, NULL, 0), (const Bytef *)name, 4);

    if (bytes)
        sum = crc32(sum, data, (uInt)bytes);
    put_word(to, (uint32_t)bytes);
    fwrite(name, 1, 4, to);
    if (bytes)
        fwrite(data, 1, bytes, to);
    put_word(to, (uint32_t)sum);
}

static int write_file(const struct picture *p, FILE *to, struct err *e)
{
    uLong raw = (uLong)p->height * ((uLong)p->width * 3 + 1);
    uLongf packed = compressBound(raw);
    uint8_t *data = mem_alloc_unset(packed), head[13] = {0};

    for (int i = 0; i < 4; i++) {
        head[i] = (uint8_t)(p->width >> (24 - 8 * i));
        head[4 + i] = (uint8_t)(p->height >> (24 - 8 * i));
    }
    head[8] = 8;                        /* bits of each colour */
    head[9] = 2;                        /* red, green, blue */
    if (compress2(data, &packed, p->pixel, raw, 9) != Z_OK) {
        mem_free(data);
        return err_set(e, "the picture cannot be packed");
    }
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, to);
    put_chunk(to, "IHDR", head, sizeof(head));
    put_chunk(to, "IDAT", data, packed);
    put_chunk(to, "IEND", NULL, 0);
    mem_free(data);
    return 0;
}

int tune_write_png(const struct tune *t, struct err *e)
{
    int rows = t->rows < 0 ? 1 : t->axis[t->rows].count;
    struct picture p = {.width = label_width(t) + t->axis[t->columns].count * CELL_WIDTH + MARGIN,
                        .height = 2 * MARGIN + 3 * LINE + 8 + rows * CELL_HEIGHT};
    struct outfile f;
    int status;

    if (outfile_begin(&f, t->png, e))
        return -1;
    p.pixel = mem_alloc((size_t)p.height * ((size_t)p.width * 3 + 1));
    draw(&p, t);
    status = write_file(&p, f.to, e);
    mem_free(p.pixel);
    if (status) {
        outfile_abandon(&f);
        return -1;
    }
    return outfile_commit(&f, e);
}
