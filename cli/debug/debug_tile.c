/*
 * Tiles and masks as text: a corner and what all values have in common, a
 * region, or everything.
 */
#include "cli/debug/debug.h"

#include "base/floats.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 128
#define CORNER_ROWS 4
#define CORNER_LANES 8
#define VALUES_PER_LINE 8

static const char *const format_names[] = {"f32", "bf16", "s32", "u32", "hex", "full", "tile"};

int debug_parse_flags(const char *text, struct debug_flags *flags, struct err *e)
{
    char word[16];

    while (*text) {
        size_t length = strcspn(text, "/");
        int found;

        snprintf(word, sizeof(word), "%.*s", (int)(length < 15 ? length : 15), text);
        found = debug_find_name(word, "format", format_names, COUNT_OF(format_names), e);
        if (found < 0)
            return -1;
        if (found < FORMAT_COUNT) {
            flags->format = (enum debug_format)found;
            flags->has_format = true;
        }
        flags->is_full = flags->is_full || found == FORMAT_COUNT;
        flags->is_tile = flags->is_tile || found == FORMAT_COUNT + 1;
        text += length + (text[length] == '/');
    }
    return 0;
}

int debug_tile_rows(enum debug_format format)
{
    return format == FORMAT_BF16 ? 16 : 8;
}

/* "3", "2:5", ":5", "2:", ":"; a single one may be a register */
static int parse_bounds(const char **at, int end, int *first, int *behind, const char *what,
                        struct err *e)
{
    char *stop;
    long value = strtol(*at, &stop, 10);
    bool is_given = stop != *at;

    *first = is_given ? (int)(value < 0 || value > end ? end + 1 : value) : 0;
    *behind = *first + 1;
    *at = debug_skip_space(stop);
    if (**at == ':') {
        ++*at;
        value = strtol(*at, &stop, 10);
        *behind = stop == *at ? end : (int)(value < 0 || value > end ? end + 1 : value);
        *at = debug_skip_space(stop);
    } else if (!is_given) {
        return err_set(e, "%s are needed, 2 or 2:5, at \"%.20s\"", what, *at);
    }
    if (*first >= *behind || *behind > end)
        return err_set(e, "%s out of 0:%d, or none", what, end);
    return 0;
}

int debug_parse_region(const char **at, int rows, struct debug_region *r, struct err *e)
{
    *r = (struct debug_region){.row_end = rows, .column_end = LANES};
    if (**at != '[')
        return 0;
    ++*at;
    r->is_given = true;
    if (parse_bounds(at, rows, &r->row, &r->row_end, "rows", e))
        return -1;
    if (**at == ',') {
        ++*at;
        if (parse_bounds(at, LANES, &r->column, &r->column_end, "lanes", e))
            return -1;
    }
    if (**at != ']')
        return err_set(e, "\"]\" is needed at \"%.20s\"", *at);
    ++*at;
    return 0;
}

/* ---- values ---- */

/* rows of a packed tile lie as vpack.c.bf16 puts them: 2i and 2i + 1 in the words of sublane i */
static uint32_t word_of(const uint32_t *tile, enum debug_format format, int row, int lane)
{
    if (format != FORMAT_BF16)
        return tile[LANES * row + lane];
    return tile[LANES * (row / 2) + lane] >> (row % 2 ? 16 : 0) & 0xffff;
}

static double value_of(uint32_t word, enum debug_format format)
{
    switch (format) {
    case FORMAT_F32: return (double)f32_from_bits(word);
    case FORMAT_BF16: return (double)f32_from_bf16((uint16_t)word);
    case FORMAT_S32: return (int32_t)word;
    default: return word;
    }
}

static int print_value(char *buf, size_t size, uint32_t word, enum debug_format format)
{
    switch (format) {
    case FORMAT_HEX: return snprintf(buf, size, "0x%08x", (unsigned)word);
    case FORMAT_S32: return snprintf(buf, size, "%d", (int)(int32_t)word);
    case FORMAT_U32: return snprintf(buf, size, "%u", (unsigned)word);
    case FORMAT_BF16:
        return snprintf(buf, size, "%.4g", (double)f32_from_bf16((uint16_t)word));
    default: return snprintf(buf, size, "%.7g", (double)f32_from_bits(word));
    }
}

void debug_print_word(FILE *to, uint32_t word, enum debug_format format)
{
    char text[32];

    print_value(text, sizeof(text), word, format);
    fprintf(to, "%*s", format == FORMAT_BF16 ? 10 : 13, text);
}

void debug_print_tile_summary(FILE *to, const uint32_t *tile, enum debug_format format)
{
    double least = INFINITY, most = -INFINITY, sum = 0;
    int rows = debug_tile_rows(format), nans = 0, zeros = 0, i, j;

    for (i = 0; i < rows; i++)
        for (j = 0; j < LANES; j++) {
            double value = value_of(word_of(tile, format, i, j), format);

            if (isnan(value)) {
                nans++;
                continue;
            }
            zeros += value == 0;
            least = value < least ? value : least;
            most = value > most ? value : most;
            sum += value;
        }
    if (nans == rows * LANES)
        fputs("all NaN\n", to);
    else if (nans == 0 && least == most)
        fprintf(to, "all %.7g\n", least);
    else
        fprintf(to, "min %.7g, max %.7g, mean %.7g, %d zero, %d NaN\n", least, most,
                sum / (rows * LANES - nans), zeros, nans);
}

static void print_lanes(FILE *to, const uint32_t *tile, enum debug_format format, int row,
                        int first, int end)
{
    for (int j = first; j < end; j++) {
        if ((j - first) % VALUES_PER_LINE == 0)
            fprintf(to, "%s  [%2d,%3d]", j > first ? "\n" : "", row, j);
        debug_print_word(to, word_of(tile, format, row, j), format);
    }
}

void debug_print_tile(FILE *to, const uint32_t *tile, enum debug_format format,
                      const struct debug_region *r)
{
    bool is_corner = !r->is_given && !r->is_full;
    int row_end = is_corner && r->row_end > CORNER_ROWS ? CORNER_ROWS : r->row_end;
    int column_end = is_corner ? CORNER_LANES : r->column_end;

    for (int i = r->row; i < row_end; i++) {
        print_lanes(to, tile, format, i, r->column, column_end);
        fputs(is_corner ? " …\n" : "\n", to);
    }
    if (is_corner)
        fputs("  …  ", to);
    if (!r->is_given) {
        fputs(is_corner ? "" : "  ", to);
        debug_print_tile_summary(to, tile, format);
    }
}

/* a character for an element: nothing, its low half, its high half, both */
void debug_print_mask(FILE *to, const struct mask_view *mask)
{
    int count = 0;

    for (int i = 0; i < 8; i++) {
        fprintf(to, "  [%d] ", i);
        for (int j = 0; j < LANES; j++) {
            int low = mask->low[8 * i + j / 16] >> j % 16 & 1;
            int high = mask->high[8 * i + j / 16] >> j % 16 & 1;

            fputc(".lh#"[low + 2 * high], to);
            count += low | high;
        }
        fputc('\n', to);
    }
    fprintf(to, "  %d of 1024 elements\n", count);
}
