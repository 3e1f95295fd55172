/* Values of attributes that stand for themselves: numbers, lists, words, windows, paddings. */
#include "import/hlo_text/reader.h"

#include "base/text.h"

#include <string.h>

int64_t *hlo_read_add_int(struct hlo_reader *r, int *count)
{
    r->ints = mem_grow(r->ints, &r->ints_capacity, (size_t)*count + 1, sizeof(*r->ints));
    return &r->ints[(*count)++];
}

struct hlo_ints hlo_read_keep_ints(struct hlo_reader *r, const int64_t *item, int count)
{
    if (count == 0)
        return (struct hlo_ints){0, NULL};
    return (struct hlo_ints){count, hlo_pool_copy(&r->pool, item, (size_t)count, sizeof(*item))};
}

const char *hlo_read_keep(struct hlo_reader *r, struct hlo_span span)
{
    return hlo_texts_keep(&r->texts, &r->pool, span.at, span.length);
}

int hlo_read_ints(struct hlo_reader *r, char open, char close, struct hlo_ints *list)
{
    struct hlo_scan *s = &r->scan;
    int count = 0;

    if (hlo_scan_want(s, open))
        return -1;
    while (!hlo_scan_take(s, close)) {
        int64_t value;

        if ((count > 0 && hlo_scan_want(s, ',')) || hlo_scan_int(s, INT64_MIN, INT64_MAX, &value))
            return -1;
        *hlo_read_add_int(r, &count) = value;
    }
    *list = hlo_read_keep_ints(r, r->ints, count);
    return 0;
}

int hlo_read_kind_int(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_scan_int(&r->scan, INT64_MIN, INT64_MAX, field);
}

int hlo_read_kind_count(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_scan_int(&r->scan, 1, INT64_MAX, field);
}

int hlo_read_kind_bits(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    int64_t value;

    (void)g;
    if (hlo_scan_int(&r->scan, 0, 64, &value))
        return -1;
    *(int *)field = (int)value;
    return 0;
}

int hlo_read_kind_bool(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_scan_bool(&r->scan, field);
}

int hlo_read_kind_number(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_scan_double(&r->scan, field);
}

int hlo_read_kind_word(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_span ident;

    (void)g;
    if (!hlo_scan_take_ident(&r->scan, &ident))
        return hlo_scan_unexpected(&r->scan, "a word");
    *(const char **)field = hlo_read_keep(r, ident);
    return 0;
}

int hlo_read_kind_list(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_read_ints(r, '{', '}', field);
}

/* Three lists of equal length from a run of numbers, three by three. */
static void keep_triples(struct hlo_reader *r, int count, struct hlo_ints *list[3])
{
    int64_t *item[3];

    for (int k = 0; k < 3; k++) {
        item[k] = hlo_pool_alloc(&r->pool, (size_t)(count / 3) * sizeof(**item));
        for (int i = 0; i < count / 3; i++)
            item[k][i] = r->ints[3 * i + k];
        *list[k] = (struct hlo_ints){count / 3, item[k]};
    }
}

int hlo_read_kind_ranges(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_ints *list[3] = {field, &g->f.d.limit, &g->f.d.stride};
    struct hlo_scan *s = &r->scan;
    int count = 0;

    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        int64_t start, limit, stride = 1;

        if ((count > 0 && hlo_scan_want(s, ',')) || hlo_scan_want(s, '[')
            || hlo_scan_int(s, 0, INT64_MAX, &start) || hlo_scan_want(s, ':')
            || hlo_scan_int(s, 0, INT64_MAX, &limit)
            || (hlo_scan_take(s, ':') && hlo_scan_int(s, 1, INT64_MAX, &stride))
            || hlo_scan_want(s, ']'))
            return -1;
        *hlo_read_add_int(r, &count) = start;
        *hlo_read_add_int(r, &count) = limit;
        *hlo_read_add_int(r, &count) = stride;
    }
    keep_triples(r, count, list);
    return 0;
}

/* "0_1x-1_0_2": low, high and interior of each dimension, behind what is in r->ints */
static int read_paddings(struct hlo_reader *r, int *count)
{
    struct hlo_scan *s = &r->scan;

    do {
        int64_t low, high, interior = 0;

        if (hlo_scan_int(s, -INT64_MAX, INT64_MAX, &low) || hlo_scan_want(s, '_')
            || hlo_scan_int(s, -INT64_MAX, INT64_MAX, &high)
            || (hlo_scan_take_close(s, '_') && hlo_scan_int(s, 0, INT64_MAX, &interior)))
            return -1;
        *hlo_read_add_int(r, count) = low;
        *hlo_read_add_int(r, count) = high;
        *hlo_read_add_int(r, count) = interior;
    } while (hlo_scan_take_close(s, 'x'));     /* a name on the next line may begin so */
    return 0;
}

/* Of a scalar there is nothing between `padding=` and the comma behind it. */
int hlo_read_kind_padding(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_ints *list[3] = {field, &g->f.d.high, &g->f.d.interior};
    int count = 0;

    if (hlo_scan_see_int(&r->scan) && read_paddings(r, &count))
        return -1;
    keep_triples(r, count, list);
    return 0;
}

/* One field of a window behind its `=`: "3x3", or paddings; as many triples or numbers in r->ints. */
static int read_window_numbers(struct hlo_reader *r, bool is_padding, int *count)
{
    struct hlo_scan *s = &r->scan;

    *count = 0;
    if (is_padding)
        return read_paddings(r, count);
    do {
        int64_t value;

        if (hlo_scan_int(s, 0, INT64_MAX, &value))
            return -1;
        *hlo_read_add_int(r, count) = value;
    } while (hlo_scan_take(s, 'x'));
    return 0;
}

enum { FIELD_SIZE, FIELD_STRIDE, FIELD_PAD, FIELD_BASE, FIELD_WINDOW, FIELD_REVERSAL, FIELD_COUNT };

static void set_window(struct hlo_window *w, int field, const int64_t *value)
{
    switch (field) {
    case FIELD_SIZE: w->size = value[0]; break;
    case FIELD_STRIDE: w->stride = value[0]; break;
    case FIELD_PAD: w->pad_low = value[0]; w->pad_high = value[1]; break;
    case FIELD_BASE: w->base_dilation = value[0]; break;
    case FIELD_WINDOW: w->window_dilation = value[0]; break;
    default: w->is_reversed = value[0] != 0; break;
    }
}

int hlo_read_kind_window(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    static const char *const names[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate",
                                        "rhs_reversal"};
    struct hlo_scan *s = &r->scan;
    struct hlo_window *window = NULL;
    struct hlo_span name;
    int rank = -1, count, dims;

    (void)field;
    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        int which = 0;

        if (!hlo_scan_take_ident(s, &name))
            return hlo_scan_unexpected(s, "a field of a window");
        while (which < FIELD_COUNT && !hlo_span_is(name, names[which]))
            which++;
        if (which == FIELD_COUNT)
            return hlo_scan_error(s, name.at, "\"%.*s\" is no field of a window, which are size, "
                                  "stride, pad, lhs_dilate, rhs_dilate and rhs_reversal",
                                  name.length < 40 ? (int)name.length : 40, name.at);
        if (hlo_scan_want(s, '=') || read_window_numbers(r, which == FIELD_PAD, &count))
            return -1;
        dims = which == FIELD_PAD ? count / 3 : count;
        if (rank >= 0 && dims != rank)
            return hlo_scan_error(s, name.at, "the window has %d dimensions, but %s has %d", rank,
                                  names[which], dims);
        if (rank < 0) {
            rank = dims;
            window = hlo_pool_alloc(&r->pool, (size_t)rank * sizeof(*window));
            for (int d = 0; d < rank; d++)
                window[d] = (struct hlo_window){1, 1, 0, 0, 1, 1, false};
        }
        for (int d = 0; d < rank; d++)
            set_window(&window[d], which, &r->ints[which == FIELD_PAD ? 3 * d : d]);
    }
    g->f.d.window = window;
    g->f.d.window_count = rank < 0 ? 0 : rank;
    return 0;
}

/* Labels of one array: dimension number d is the label's d-th character; `two` are its letters. */
static int read_labels(struct hlo_reader *r, const char two[2], int64_t *first, int64_t *second,
                       struct hlo_ints *spatial)
{
    struct hlo_scan *s = &r->scan;
    const char *start = s->at;
    int64_t place[10];
    int count = 0, named = 0;

    *first = *second = -1;
    for (int k = 0; k < 10; k++)
        place[k] = -1;
    for (; s->at < s->end; s->at++, named++) {
        char c = *s->at;
        int64_t *to = c == two[0] ? first : c == two[1] ? second
                      : c >= '0' && c <= '9'            ? &place[c - '0']
                                                        : NULL;

        if (!to)
            break;
        if (*to >= 0)
            return hlo_scan_error(s, s->at, "the label '%c' stands twice", c);
        *to = named;
    }
    while (count < 10 && place[count] >= 0)
        count++;
    if (*first < 0 || *second < 0 || count + 2 != named)
        return hlo_scan_error(s, start, "expected labels of dimensions: '%c', '%c' and numbers "
                              "from 0 on", two[0], two[1]);
    *spatial = hlo_read_keep_ints(r, place, count);
    return 0;
}

int hlo_read_kind_labels(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_conv *c = field;

    (void)g;
    hlo_scan_blank(s);
    if (read_labels(r, "bf", &c->in_batch, &c->in_feature, &c->in_spatial) || hlo_scan_want(s, '_')
        || read_labels(r, "io", &c->kernel_in, &c->kernel_out, &c->kernel_spatial))
        return -1;
    if (!hlo_scan_take_text(s, "->"))
        return hlo_scan_unexpected(s, "\"->\"");
    return read_labels(r, "bf", &c->out_batch, &c->out_feature, &c->out_spatial);
}

/* The value of a word; -1 with an error that lists the words. */
static int read_word(struct hlo_reader *r, const char *const *words, int *value)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span ident;
    char all[160] = "";
    size_t used = 0;

    if (!hlo_scan_take_ident(s, &ident))
        return hlo_scan_unexpected(s, "a word");
    for (*value = 0; words[*value]; ++*value) {
        if (hlo_span_is(ident, words[*value]))
            return 0;
        if (words[*value][0])
            used += (size_t)text_print(all + used, sizeof(all) - used, "%s%s", used ? ", " : "",
                                       words[*value]);
    }
    return hlo_scan_error(s, ident.at, "\"%.*s\" is none of %s",
                          ident.length < 40 ? (int)ident.length : 40, ident.at, all);
}

/* Enumerations: the words' order is that of the values. */
#define ENUM_KIND(id, type) \
    int hlo_read_kind_##id(struct hlo_reader *r, struct hlo_reading *g, void *field) \
    { \
        int value; \
        (void)g; \
        if (read_word(r, hlo_words_##id, &value)) \
            return -1; \
        *(type *)field = (type)value; \
        return 0; \
    }
ENUM_KIND(direction, enum hlo_direction)
ENUM_KIND(comparison, enum hlo_comparison)
ENUM_KIND(solve, enum hlo_solve)
ENUM_KIND(fft, enum hlo_fft)
ENUM_KIND(random, enum hlo_random)
ENUM_KIND(fusion, enum hlo_fusion)

/* Of operations with more operands than two the others' precision says nothing more. */
int hlo_read_kind_precision(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_scan *s = &r->scan;
    enum hlo_precision *precision = field;
    int count = 0, value;

    (void)g;
    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        if ((count > 0 && hlo_scan_want(s, ',')) || read_word(r, hlo_words_precision, &value))
            return -1;
        if (count < 2)
            precision[count] = (enum hlo_precision)value;
        count++;
    }
    return 0;
}
