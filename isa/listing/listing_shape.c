/* Parses shapes in listings, and computes where the elements of such an array lie. */
#include "isa/listing/listing_internal.h"

#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEM_COUNT_MAX (1LL << 34)
#define TILE_SIDE_MAX 4096
#define LANES 128
#define SUBLANES 8

static const struct element_type {
    const char *name;
    int bits;
} element_types[] = {
    { "f32", 32 }, { "s32", 32 }, { "u32", 32 }, { "bf16", 16 }, { "f16", 16 }, { "s16", 16 },
    { "u16", 16 }, { "s8", 8 }, { "u8", 8 }, { "pred", 8 }, { "f8e5m2", 8 }, { "f8e4m3fn", 8 },
    { "f8e4m3b11fnuz", 8 }, { "s4", 4 }, { "u4", 4 },
};

static int bits_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(element_types); i++)
        if (strcmp(name, element_types[i].name) == 0)
            return element_types[i].bits;
    return 0;
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

/* a decimal number at *at, which moves behind it; -1 if there is none or it is too large */
static int64_t number_at(const char **at, const char *end)
{
    int64_t value = 0;
    const char *start = *at = skip_blank(*at, end);

    for (; *at < end && isdigit((unsigned char)**at); (*at)++)
        if ((value = value * 10 + (**at - '0')) > ELEM_COUNT_MAX)
            return -1;
    return *at > start ? value : -1;
}

/* "8,128]": numbers up to `close`; their count, or -1 */
static int numbers_at(const char **at, const char *end, char close, int64_t *out, int most)
{
    int count = 0;

    *at = skip_blank(*at, end);
    while (*at < end && **at != close) {
        if (count == most || (out[count++] = number_at(at, end)) < 0)
            return -1;
        *at = skip_blank(*at, end);
        if (*at < end && **at == ',')
            (*at)++;
    }
    if (*at == end)
        return -1;
    (*at)++;
    return count;
}

/* "1,0:T(8,128)(2,1)}"; what goes beyond the first tile follows from the type */
static bool parse_layout(const char *at, const char *end, struct listing_shape *out)
{
    int64_t minor[LISTING_RANK_MAX], tile[2];
    const char *close = memchr(at, '}', (size_t)(end - at)), *colon;
    unsigned seen = 0;
    int count;

    if (!close)
        return false;
    colon = memchr(at, ':', (size_t)(close - at));
    end = close + 1;
    count = numbers_at(&at, colon ? colon + 1 : end, colon ? ':' : '}', minor, LISTING_RANK_MAX);
    if (count != out->rank)
        return false;
    for (int i = 0; i < count; i++) {
        if (minor[i] >= count || (seen >> minor[i] & 1u))
            return false;
        seen |= 1u << minor[i];
        out->minor[i] = (int)minor[i];
    }
    out->has_layout = true;
    at = colon ? listing_find(colon, end, "T(") : NULL;
    if (!at)
        return true;
    at += 2;
    count = numbers_at(&at, end, ')', tile, 2);
    if (count < 1 || tile[0] < 1 || tile[count - 1] < 1 || tile[0] > TILE_SIDE_MAX ||
        tile[count - 1] > TILE_SIDE_MAX)
        return false;
    out->tile_rows = count == 2 ? tile[0] : 1;
    out->tile_columns = tile[count - 1];
    return true;
}

/* also where a side is 0: planes and tiles are counted of the other sides */
static bool is_countable(const struct listing_shape *s)
{
    int64_t count = 1;

    for (int i = 0; i < s->rank; i++) {
        int64_t side = later(s->side[i], 1);

        if (count > ELEM_COUNT_MAX / side)
            return false;
        count *= side;
    }
    return true;
}

bool listing_parse_shape(const char *text, const char *end, struct listing_shape *out)
{
    const char *at = skip_blank(text, end), *start = at;
    size_t length;

    memset(out, 0, sizeof(*out));
    while (at < end && isalnum((unsigned char)*at))
        at++;
    length = (size_t)(at - start);
    if (length == 0 || at == end || *at != '[')
        return false;
    snprintf(out->type, sizeof(out->type), "%.*s", (int)(length < 15 ? length : 15), start);
    if (length < sizeof(out->type))
        out->elem_bits = bits_of(out->type);
    at++;
    out->rank = numbers_at(&at, end, ']', out->side, LISTING_RANK_MAX);
    if (out->rank < 0 || !is_countable(out))
        return false;
    at = skip_blank(at, end);
    return at == end || *at != '{' || parse_layout(at + 1, end, out);
}

int64_t listing_elem_count(const struct listing_shape *s)
{
    int64_t count = 1;

    for (int i = 0; i < s->rank; i++)
        count *= s->side[i];            /* the parser has seen to it that they are not too many */
    return count;
}

/* Small arrays get tiles of as few rows as hold them, powers of two (XLA's rule). */
static int64_t natural_tile_rows(int64_t rows, int64_t pack)
{
    int64_t tile = pack;

    while (tile < rows && tile < SUBLANES)
        tile *= 2;
    return tile;
}

static void finish(struct listing_layout *l)
{
    if (l->tile_rows < l->pack)
        l->tile_rows = l->pack;
    l->tile_rows = div_up(l->tile_rows, l->pack) * l->pack;
    l->bytes = l->planes * div_up(l->rows, l->tile_rows) * div_up(l->columns, l->tile_columns) *
               l->tile_rows / l->pack * l->tile_columns * 4;
}

/* with minor[] given; tile_rows 0: the natural one */
static struct listing_layout make_layout(const struct listing_shape *s, const int *minor,
                                         int64_t tile_rows)
{
    struct listing_layout l = { .planes = 1, .pack = 32 / s->elem_bits, .tile_columns = LANES };

    memcpy(l.minor, minor, sizeof(l.minor));
    if (s->rank < 2) {
        l.rows = div_up(listing_elem_count(s), LANES);
        l.columns = LANES;
        l.tile_rows = s->tile_columns ? div_up(s->tile_columns, LANES) : 1;
    } else {
        l.columns = s->side[minor[0]];
        l.rows = s->side[minor[1]];
        for (int i = 2; i < s->rank; i++)
            l.planes *= s->side[minor[i]];
        l.tile_rows = tile_rows ? tile_rows : natural_tile_rows(l.rows, l.pack);
        if (s->tile_rows) {
            l.tile_rows = s->tile_rows;
            l.tile_columns = s->tile_columns;
        }
    }
    finish(&l);
    return l;
}

int listing_layouts(const struct listing_shape *s, struct listing_layout out[LAYOUT_MAX])
{
    int minor[LISTING_RANK_MAX] = { 0 }, count = 0;

    for (int i = 0; i < s->rank; i++)
        minor[i] = s->has_layout ? s->minor[i] : s->rank - 1 - i;
    for (int swapped = 0; swapped < 2; swapped++) {
        out[count++] = make_layout(s, minor, 0);
        if (s->rank < 2 || s->tile_rows)
            break;
        out[count++] = make_layout(s, minor, SUBLANES);
        out[count++] = make_layout(s, minor, 1);
        if (s->has_layout)
            break;
        minor[0] = s->rank - 2;
        minor[1] = s->rank - 1;
    }
    return count;
}

int64_t listing_element_bit(const struct listing_layout *l, const struct listing_shape *s,
                            int64_t index)
{
    int64_t at[LISTING_RANK_MAX] = { 0 }, plane = 0, row, column, tile, word;

    if (s->rank < 2) {
        row = index / LANES;
        column = index % LANES;
    } else {
        for (int i = s->rank - 1; i >= 0; i--) {
            at[i] = index % s->side[i];
            index /= s->side[i];
        }
        for (int i = s->rank - 1; i >= 2; i--)
            plane = plane * s->side[l->minor[i]] + at[l->minor[i]];
        row = at[l->minor[1]];
        column = at[l->minor[0]];
    }
    tile = (plane * div_up(l->rows, l->tile_rows) + row / l->tile_rows) *
               div_up(l->columns, l->tile_columns) + column / l->tile_columns;
    word = (tile * (l->tile_rows / l->pack) + row % l->tile_rows / l->pack) * l->tile_columns +
           column % l->tile_columns;
    return word * 32 + row % l->pack * s->elem_bits;
}

static size_t append(char *buf, size_t buf_bytes, size_t used, const char *before, int64_t value)
{
    int length = used < buf_bytes ? snprintf(buf + used, buf_bytes - used, "%s%lld", before,
                                             (long long)value) : 0;

    return used + (size_t)length;
}

char *listing_print_shape(const struct listing_shape *s, const struct listing_layout *layout,
                          char *buf, size_t buf_bytes)
{
    size_t used = (size_t)snprintf(buf, buf_bytes, "%s[", s->type);

    for (int i = 0; i < s->rank; i++)
        used = append(buf, buf_bytes, used, i ? "," : "", s->side[i]);
    if (used < buf_bytes)
        used += (size_t)snprintf(buf + used, buf_bytes - used, "]");
    if (!layout || s->rank < 2)
        return buf;
    for (int i = 0; i < s->rank; i++)
        used = append(buf, buf_bytes, used, i ? "," : "{", layout->minor[i]);
    used = append(buf, buf_bytes, used, ":T(", layout->tile_rows);
    used = append(buf, buf_bytes, used, ",", layout->tile_columns);
    if (layout->pack > 1)
        used = append(buf, buf_bytes, used, ")(", layout->pack);
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "%s", layout->pack > 1 ? ",1)}" : ")}");
    return buf;
}

const char *listing_space_name(enum listing_space s)
{
    static const char *const names[] = { "unknown memory", "hbm", "vmem", "smem", "sflag",
                                         "register" };

    return names[s];
}
