/* Types of elements: names, widths, and one number to and from the bytes of an element. */
#include "import/program/program.h"

#include "base/floats.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *mlir;
    enum hlo_element_kind kind;
    int bits;
    size_t bytes;
} elements[ELEMENT_COUNT] = {
#define ELEMENT(id, name, mlir, kind, bits, bytes) \
    [ELEMENT_##id] = { name, mlir, ELEMENT_KIND_##kind, bits, bytes },
#include "import/program/elements.def"
};

/* What follows the largest number of a float format */
enum beyond { BEYOND_IEEE, BEYOND_NAN, BEYOND_SATURATES };

/* A float format that is not the host's, by its code: sign, exponent, mantissa */
struct float_format {
    int exponent_bits, mantissa_bits, bias;
    enum beyond beyond;                 /* NAN: the code of all ones only */
    bool is_fnuz;                       /* no -0: its code is the one NaN */
};

static const struct float_format formats[ELEMENT_COUNT] = {
    [ELEMENT_F4E2M1FN] = { 2, 1, 1, BEYOND_SATURATES, false },
    [ELEMENT_F6E2M3FN] = { 2, 3, 1, BEYOND_SATURATES, false },
    [ELEMENT_F6E3M2FN] = { 3, 2, 3, BEYOND_SATURATES, false },
    [ELEMENT_F8E3M4] = { 3, 4, 3, BEYOND_IEEE, false },
    [ELEMENT_F8E4M3] = { 4, 3, 7, BEYOND_IEEE, false },
    [ELEMENT_F8E4M3FN] = { 4, 3, 7, BEYOND_NAN, false },
    [ELEMENT_F8E4M3B11FNUZ] = { 4, 3, 11, BEYOND_NAN, true },
    [ELEMENT_F8E4M3FNUZ] = { 4, 3, 8, BEYOND_NAN, true },
    [ELEMENT_F8E5M2] = { 5, 2, 15, BEYOND_IEEE, false },
    [ELEMENT_F8E5M2FNUZ] = { 5, 2, 16, BEYOND_NAN, true },
    [ELEMENT_F16] = { 5, 10, 15, BEYOND_IEEE, false },
    [ELEMENT_BF16] = { 8, 7, 127, BEYOND_IEEE, false },
};

const char *hlo_element_name(enum hlo_element e) { return elements[e].name; }
const char *hlo_element_mlir_name(enum hlo_element e) { return elements[e].mlir; }
enum hlo_element_kind hlo_element_kind(enum hlo_element e) { return elements[e].kind; }
int hlo_element_bits(enum hlo_element e) { return elements[e].bits; }
size_t hlo_element_bytes(enum hlo_element e) { return elements[e].bytes; }

bool hlo_element_is_float(enum hlo_element e) { return elements[e].kind == ELEMENT_KIND_FLOAT; }
bool hlo_element_is_complex(enum hlo_element e) { return elements[e].kind == ELEMENT_KIND_COMPLEX; }

bool hlo_element_is_integer(enum hlo_element e)
{
    return elements[e].kind == ELEMENT_KIND_SIGNED || elements[e].kind == ELEMENT_KIND_UNSIGNED;
}

static bool is_name(const char *candidate, const char *name, size_t length)
{
    return candidate && strlen(candidate) == length && memcmp(candidate, name, length) == 0;
}

enum hlo_element hlo_element_find(const char *name, size_t length)
{
    int e = 0;

    while (e < ELEMENT_COUNT && !is_name(elements[e].name, name, length))
        e++;
    return (enum hlo_element)e;
}

enum hlo_element hlo_element_find_mlir(const char *name, size_t length)
{
    int e = 0;

    while (e < ELEMENT_COUNT && !is_name(elements[e].mlir, name, length))
        e++;
    return (enum hlo_element)e;
}

static unsigned nan_code(const struct float_format *f)
{
    unsigned sign = 1u << (f->exponent_bits + f->mantissa_bits);

    if (f->is_fnuz)
        return sign;
    if (f->beyond == BEYOND_IEEE)       /* a quiet one */
        return (sign - 1) & ~((1u << (f->mantissa_bits - 1)) - 1);
    return f->beyond == BEYOND_NAN ? sign - 1 : sign;
}

/* the code of the largest number */
static unsigned largest_code(const struct float_format *f)
{
    unsigned codes = 1u << (f->exponent_bits + f->mantissa_bits);

    if (f->beyond == BEYOND_IEEE)
        return codes - (1u << f->mantissa_bits) - 1;
    return codes - (f->beyond == BEYOND_NAN && !f->is_fnuz ? 2 : 1);
}

static unsigned code_beyond(const struct float_format *f)
{
    if (f->beyond == BEYOND_IEEE)
        return largest_code(f) + 1;
    return f->beyond == BEYOND_NAN ? nan_code(f) : largest_code(f);
}

/* to nearest, ties to even */
static unsigned encode(const struct float_format *f, double value)
{
    unsigned sign = signbit(value) ? 1u << (f->exponent_bits + f->mantissa_bits) : 0, code;
    double size = fabs(value);
    int exponent;

    if (isnan(value))
        return nan_code(f) | (f->is_fnuz || f->beyond == BEYOND_SATURATES ? 0 : sign);
    if (isinf(value)) {
        code = code_beyond(f);
    } else {
        frexp(size, &exponent);
        exponent -= 1;
        if (size == 0 || exponent < 1 - f->bias)
            exponent = 1 - f->bias;     /* below the normal numbers: the same steps */
        /* the mantissa's leading one, where there is one, counts as 1 in the exponent's place */
        size = nearbyint(ldexp(size, f->mantissa_bits - exponent)) +
               ldexp(exponent + f->bias - 1, f->mantissa_bits);
        code = size > largest_code(f) ? code_beyond(f) : (unsigned)size;
    }
    if (f->is_fnuz && (code == 0 || code == nan_code(f)))
        return code;
    return code | sign;
}

static double decode(const struct float_format *f, unsigned code)
{
    unsigned sign = 1u << (f->exponent_bits + f->mantissa_bits), size = code & (sign - 1);
    int exponent = (int)(size >> f->mantissa_bits);
    double fraction = size & ((1u << f->mantissa_bits) - 1), value;

    if (size > largest_code(f) || (f->is_fnuz && code == sign))
        return f->beyond == BEYOND_IEEE && size == largest_code(f) + 1
                   ? (code & sign ? -(double)INFINITY : (double)INFINITY)
                   : copysign((double)NAN, code & sign ? -1.0 : 1.0);
    value = exponent ? ldexp(fraction + (1 << f->mantissa_bits), exponent - f->bias - f->mantissa_bits)
                     : ldexp(fraction, 1 - f->bias - f->mantissa_bits);
    return code & sign ? -value : value;
}

/* f8e8m0fnu: a power of two without sign and zero; 255 is NaN */
static unsigned encode_scale(double value)
{
    int exponent;
    double fraction;

    if (!(value > 0) || isinf(value))
        return isnan(value) || value < 0 || value > 0 ? 255 : 0;
    fraction = frexp(value, &exponent);         /* 0.5 .. 1: half of what rounds */
    exponent += 126 + (fraction > 0.75 || (fraction == 0.75 && (exponent + 126) % 2 != 0));
    return exponent < 0 ? 0 : exponent > 254 ? 255 : (unsigned)exponent;
}

static void store_float(enum hlo_element e, double value, void *to)
{
    float narrow = (float)value;
    unsigned code;

    if (e == ELEMENT_F64 || e == ELEMENT_C128)
        memcpy(to, &value, sizeof(value));
    else if (e == ELEMENT_F32 || e == ELEMENT_C64)
        memcpy(to, &narrow, sizeof(narrow));
    else {
        code = e == ELEMENT_F8E8M0FNU ? encode_scale(value) : encode(&formats[e], value);
        if (elements[e].bytes == 2)
            memcpy(to, &(uint16_t){ (uint16_t)code }, 2);
        else
            memcpy(to, &(uint8_t){ (uint8_t)code }, 1);
    }
}

/* truncated, and held within the type, as XLA converts */
static int64_t integer_of(enum hlo_element e, double value)
{
    int bits = elements[e].bits;
    double low = elements[e].kind == ELEMENT_KIND_SIGNED ? -ldexp(1, bits - 1) : 0;
    double beyond = ldexp(1, elements[e].kind == ELEMENT_KIND_SIGNED ? bits - 1 : bits);

    if (isnan(value))
        return 0;
    if (value <= low)
        return elements[e].kind != ELEMENT_KIND_SIGNED ? 0 :
               bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
    if (value >= beyond)
        return elements[e].kind == ELEMENT_KIND_SIGNED ? (int64_t)(~(uint64_t)0 >> (65 - bits))
                                                       : (int64_t)(~(uint64_t)0 >> (64 - bits));
    return value < 0x1p63 ? (int64_t)value : (int64_t)(uint64_t)value;
}

void hlo_element_store(enum hlo_element e, double value, void *to)
{
    if (elements[e].kind == ELEMENT_KIND_PREDICATE)
        *(uint8_t *)to = value != 0;
    else if (hlo_element_is_integer(e))
        hlo_element_store_int(e, integer_of(e, value), to);
    else if (elements[e].bytes) {
        memset(to, 0, elements[e].bytes);
        store_float(e, value, to);
    }
}

double hlo_element_load(enum hlo_element e, const void *from)
{
    float narrow;
    double wide;
    uint16_t half;

    if (!hlo_element_is_float(e) && !hlo_element_is_complex(e))
        return e == ELEMENT_U64 ? (double)(uint64_t)hlo_element_load_int(e, from)
                                : (double)hlo_element_load_int(e, from);
    if (e == ELEMENT_F64 || e == ELEMENT_C128)
        return memcpy(&wide, from, sizeof(wide)), wide;
    if (e == ELEMENT_F32 || e == ELEMENT_C64)
        return memcpy(&narrow, from, sizeof(narrow)), narrow;
    if (elements[e].bytes == 2)
        return memcpy(&half, from, sizeof(half)), decode(&formats[e], half);
    if (e == ELEMENT_F8E8M0FNU)
        return *(const uint8_t *)from == 255 ? (double)NAN : ldexp(1, *(const uint8_t *)from - 127);
    return decode(&formats[e], *(const uint8_t *)from);
}

/* the low bits of `value`, extended by the sign where the type has one */
static int64_t wrap(enum hlo_element e, int64_t value)
{
    int away = 64 - elements[e].bits;

    if (elements[e].kind == ELEMENT_KIND_SIGNED)
        return (int64_t)((uint64_t)value << away) >> away;
    return (int64_t)((uint64_t)value << away >> away);
}

void hlo_element_store_int(enum hlo_element e, int64_t value, void *to)
{
    if (elements[e].kind == ELEMENT_KIND_PREDICATE) {
        *(uint8_t *)to = value != 0;
    } else if (hlo_element_is_integer(e)) {
        value = wrap(e, value);
        switch (elements[e].bytes) {
        case 1: memcpy(to, &(uint8_t){ (uint8_t)value }, 1); break;
        case 2: memcpy(to, &(uint16_t){ (uint16_t)value }, 2); break;
        case 4: memcpy(to, &(uint32_t){ (uint32_t)value }, 4); break;
        default: memcpy(to, &value, 8); break;
        }
    } else {
        hlo_element_store(e, (double)value, to);
    }
}

int64_t hlo_element_load_int(enum hlo_element e, const void *from)
{
    uint64_t bits = 0;

    if (elements[e].kind == ELEMENT_KIND_PREDICATE)
        return *(const uint8_t *)from != 0;
    if (!hlo_element_is_integer(e))
        return integer_of(ELEMENT_S64, hlo_element_load(e, from));
    switch (elements[e].bytes) {
    case 1: bits = *(const uint8_t *)from; break;
    case 2: { uint16_t x; memcpy(&x, from, 2); bits = x; break; }
    case 4: { uint32_t x; memcpy(&x, from, 4); bits = x; break; }
    default: memcpy(&bits, from, 8); break;
    }
    return wrap(e, (int64_t)bits);
}
