/*
 * Literals: "{{1, 2.5}, {-inf, nan}}", "(1, {2, 3})" of a tuple, "{...}" where the values were left
 * out. Numbers become elements of the type at once; memory is taken only for as many as the text
 * that is left can hold.
 */
#include "import/hlo_text/reader.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A literal's elements on their way: r->bytes[0 .. used) */
struct filling {
    struct hlo_reader *r;
    const struct hlo_type *type;
    enum hlo_element part;              /* f32 of c64 */
    size_t part_bytes, used;
};

/* an integer of 64 bits with its sign, whichever of the two the type has; -1: none stands here */
static int take_integer(struct hlo_scan *s, bool *is_negative, uint64_t *size)
{
    const char *p = s->at, *digits;

    *is_negative = p < s->end && *p == '-';
    digits = p += *is_negative;
    for (*size = 0; p < s->end && *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (*size > (UINT64_MAX - digit) / 10)
            return -1;
        *size = *size * 10 + digit;
    }
    if (p == digits || (p < s->end && (*p == '.' || *p == 'e' || *p == 'E')))
        return -1;
    s->at = p;
    return 0;
}

static int read_integer(struct filling *f, void *to)
{
    struct hlo_scan *s = &f->r->scan;
    int bits = hlo_element_bits(f->part);
    bool is_signed = hlo_element_kind(f->part) == ELEMENT_KIND_SIGNED, is_negative;
    const char *start = s->at;
    uint64_t size, limit = UINT64_MAX >> (64 - bits) >> is_signed;

    if (take_integer(s, &is_negative, &size))
        return hlo_scan_unexpected(s, "an integer");
    if (size > limit + (is_negative && is_signed) || (is_negative && !is_signed && size))
        return hlo_scan_error(s, start, "%.*s is no value of %s",
                              s->at - start < 40 ? (int)(s->at - start) : 40, start,
                              hlo_element_name(f->part));
    hlo_element_store_int(f->part, (int64_t)(is_negative ? 0 - size : size), to);
    return 0;
}

static int read_predicate(struct filling *f, void *to)
{
    struct hlo_scan *s = &f->r->scan;
    bool value;

    if (s->at < s->end && (*s->at == '0' || *s->at == '1'))
        value = *s->at++ == '1';
    else if (hlo_scan_bool(s, &value))
        return -1;
    *(uint8_t *)to = value;
    return 0;
}

/*
 * Digits with a point and a small exponent, exactly: up to 15 digits and powers of ten up to 22 are
 * doubles, and one operation on them is rounded once. False: somebody else must read it.
 */
static bool take_short_decimal(struct hlo_scan *s, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = s->at;
    bool is_negative = p < s->end && *p == '-', is_small = false;
    int64_t digits = 0;
    int count = 0, scale = 0, exponent = 0;

    for (p += is_negative; p < s->end && count < 16; p++) {
        if (*p >= '0' && *p <= '9') {
            digits = digits * 10 + (*p - '0');
            count += digits != 0;
            scale -= is_small;
        } else if (*p == '.' && !is_small) {
            is_small = true;
        } else {
            break;
        }
    }
    if (count > 15 || p == s->at + is_negative + is_small)
        return false;
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        bool is_down = p + 1 < s->end && p[1] == '-';

        for (p += 1 + (is_down || (p + 1 < s->end && p[1] == '+'));
             p < s->end && *p >= '0' && *p <= '9' && exponent < 100; p++)
            exponent = exponent * 10 + (*p - '0');
        scale += is_down ? -exponent : exponent;
    }
    if (scale < -22 || scale > 22 || (p < s->end && *p >= '0' && *p <= '9'))
        return false;
    *value = scale < 0 ? (double)digits / power[-scale] : (double)digits * power[scale];
    if (is_negative)
        *value = -*value;
    s->at = p;
    return true;
}

/* "(0x7)" behind nan: bits of the fraction, in formats that have several NaNs */
static int read_payload(struct filling *f, bool is_negative, void *to)
{
    struct hlo_scan *s = &f->r->scan;
    int bits = hlo_element_bits(f->part);
    uint64_t payload = 0, infinity = 0, fraction, code;
    const char *start = s->at;
    int digit;

    if (!hlo_scan_take_text(s, "(0x"))
        return hlo_scan_unexpected(s, "(0x");
    for (; s->at < s->end && *s->at != ')'; s->at++) {
        digit = *s->at >= '0' && *s->at <= '9' ? *s->at - '0'
                : *s->at >= 'a' && *s->at <= 'f' ? *s->at - 'a' + 10 : -1;
        if (digit < 0 || payload >> 60)
            return hlo_scan_unexpected(s, "hexadecimal digits");
        payload = payload << 4 | (uint64_t)digit;
    }
    hlo_element_store(f->part, INFINITY, &infinity);
    fraction = infinity & (0 - infinity);       /* the exponent's lowest bit: it follows */
    if (isinf(hlo_element_load(f->part, &infinity)) == 0 || payload == 0 || payload >= fraction)
        return hlo_scan_error(s, start, "%s has no such NaN", hlo_element_name(f->part));
    code = infinity | payload | (is_negative ? (uint64_t)1 << (bits - 1) : 0);
    memcpy(to, &code, f->part_bytes);           /* little-endian hosts, as all of ours */
    return hlo_scan_want(s, ')');
}

static int read_float(struct filling *f, void *to)
{
    struct hlo_scan *s = &f->r->scan;
    const char *start = s->at;
    bool is_negative = start < s->end && *start == '-';
    double value;

    if (take_short_decimal(s, &value)) {
        hlo_element_store(f->part, value, to);
        return 0;
    }
    s->at += is_negative;
    if (hlo_scan_take_word(s, "nan")) {
        if (hlo_scan_see(s, '('))
            return read_payload(f, is_negative, to);
        value = copysign((double)NAN, is_negative ? -1 : 1);
    } else if (hlo_scan_take_word(s, "inf")) {
        value = is_negative ? -(double)INFINITY : (double)INFINITY;
    } else {
        s->at = start;
        if (hlo_scan_double(s, &value))
            return -1;
    }
    hlo_element_store(f->part, value, to);
    return 0;
}

static int read_part(struct filling *f, void *to)
{
    hlo_scan_blank(&f->r->scan);
    if (f->part == ELEMENT_PRED)
        return read_predicate(f, to);
    return hlo_element_is_float(f->part) ? read_float(f, to) : read_integer(f, to);
}

static int read_element(struct filling *f)
{
    struct hlo_scan *s = &f->r->scan;
    char *to = f->r->bytes + f->used;

    f->used += hlo_element_bytes(f->type->element);
    if (!hlo_element_is_complex(f->type->element))
        return read_part(f, to);
    if (!hlo_scan_take(s, '('))
        return read_part(f, to);        /* a real number */
    return read_part(f, to) || hlo_scan_want(s, ',') || read_part(f, to + f->part_bytes)
                   || hlo_scan_want(s, ')')
               ? -1
               : 0;
}

static int read_row(struct filling *f, int dim)
{
    struct hlo_scan *s = &f->r->scan;
    int64_t size;

    if (dim == f->type->rank)
        return read_element(f);
    size = f->type->dim[dim];
    if (hlo_scan_want(s, '{'))
        return -1;
    for (int64_t n = 0; n < size; n++) {
        if (n > 0 && !hlo_scan_see(s, ','))
            return hlo_scan_error(s, s->at, "dimension %d of the literal has %" PRId64 " elements, "
                                  "but its type has %" PRId64, dim, n, size);
        s->at += n > 0;
        if (read_row(f, dim + 1))
            return -1;
    }
    if (!hlo_scan_take(s, '}'))
        return hlo_scan_error(s, s->at, "dimension %d of the literal has more elements than its "
                              "type, which has %" PRId64, dim, size);
    return 0;
}

/* Equal elements are kept once. */
static void keep(struct filling *f, struct hlo_literal *l)
{
    size_t bytes = hlo_element_bytes(f->type->element);

    l->is_splat = f->used > bytes && memcmp(f->r->bytes, f->r->bytes + bytes, f->used - bytes) == 0;
    l->data = hlo_pool_copy(&f->r->pool, f->r->bytes, l->is_splat ? bytes : f->used, 1);
}

/* "{...}": nothing is known of the values. */
static bool take_elided(struct hlo_scan *s)
{
    const char *start = s->at;

    if (hlo_scan_take(s, '{') && hlo_scan_take_text(s, "...") && hlo_scan_take(s, '}'))
        return true;
    s->at = start;
    return false;
}

static int read_array(struct hlo_reader *r, struct hlo_literal *l)
{
    struct hlo_scan *s = &r->scan;
    struct filling f = {r, &l->type, l->type.element, 0, 0};
    int64_t count = hlo_type_elements(&l->type);

    l->type.layout = NULL;
    if (hlo_type_is_dynamic(&l->type))
        return hlo_scan_error(s, s->at, "a literal cannot have a size that is not known");
    if (take_elided(s))
        return 0;
    if (hlo_element_kind(l->type.element) == ELEMENT_KIND_NONE)
        return hlo_scan_error(s, s->at, "there are no literals of %s",
                              hlo_element_name(l->type.element));
    if (hlo_element_is_complex(f.part))
        f.part = f.part == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;
    f.part_bytes = hlo_element_bytes(f.part);
    if (l->type.rank > 0 && !hlo_scan_see(s, '{'))
        return hlo_scan_unexpected(s, "'{'");
    if (count > (s->end - s->at) / 2 + 1)       /* of each a character and a comma */
        return hlo_scan_error(s, s->at, "the type has %" PRId64 " elements, more than the text "
                              "behind it can hold", count);
    r->bytes = mem_grow(r->bytes, &r->bytes_capacity,
                        (size_t)count * hlo_element_bytes(l->type.element) + 1, 1);
    memset(r->bytes, 0, (size_t)count * hlo_element_bytes(l->type.element));
    if (read_row(&f, 0))
        return -1;
    keep(&f, l);
    return 0;
}

/* Parts without values, in any depth: types say how many. */
static void elide(struct hlo_reader *r, struct hlo_literal *l)
{
    struct hlo_literal *part;

    if (l->type.element != ELEMENT_TUPLE)
        return;
    part = hlo_pool_alloc(&r->pool, (size_t)l->type.part_count * sizeof(*part));
    for (int p = 0; p < l->type.part_count; p++) {
        part[p].type = l->type.part[p];
        elide(r, &part[p]);
    }
    l->part = part;
}

static int read_value(struct hlo_reader *r, struct hlo_literal *l)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_literal *part;

    if (l->type.element != ELEMENT_TUPLE)
        return read_array(r, l);
    if (take_elided(s)) {
        elide(r, l);
        return 0;
    }
    if (hlo_scan_want(s, '('))
        return -1;
    part = hlo_pool_alloc(&r->pool, (size_t)l->type.part_count * sizeof(*part));
    for (int p = 0; p < l->type.part_count; p++) {
        part[p].type = l->type.part[p];
        if ((p > 0 && hlo_scan_want(s, ',')) || read_value(r, &part[p]))
            return -1;
    }
    l->part = part;
    return hlo_scan_want(s, ')');
}

int hlo_read_literal(struct hlo_reader *r, const struct hlo_type *t,
                     const struct hlo_literal **literal)
{
    struct hlo_literal *l = hlo_pool_alloc(&r->pool, sizeof(*l));

    l->type = *t;
    *literal = l;
    return read_value(r, l);
}
