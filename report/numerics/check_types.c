/*
 * Types that matrix units take: what a code means, by the definition of the
 * type, and what the chip says of it.
 */
#include "report/numerics/check_internal.h"

#include "base/floats.h"
#include "base/units.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static double value_f32(uint32_t code) { return (double)f32_from_bits(code); }
static double value_bf16(uint32_t code) { return (double)f32_from_bits(code << 16); }
static double value_s8(uint32_t code) { return code < 128 ? code : (double)code - 256; }
static double value_s4(uint32_t code) { return code < 8 ? code : (double)code - 16; }
static double value_unsigned(uint32_t code) { return code; }

/* sign, exponent and fraction; the highest exponent as any other */
static double minifloat(uint32_t code, int exponent_bits, int bias)
{
    int fraction_bits = 7 - exponent_bits;
    int exponent = (int)(code >> fraction_bits) & ((1 << exponent_bits) - 1);
    double fraction = (double)(code & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
    double size = exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias);

    return code & 0x80 ? -size : size;
}

static double value_f8e5m2(uint32_t code)
{
    return (code & 0x7f) >= 0x7c ? NAN : minifloat(code, 5, 15);        /* infinities left out */
}

static double value_f8e4m3fn(uint32_t code)
{
    return (code & 0x7f) == 0x7f ? NAN : minifloat(code, 4, 7);
}

static double value_f8e4m3b11fnuz(uint32_t code)
{
    return code == 0x80 ? NAN : minifloat(code, 4, 11);
}

#define CYCLES(type) offsetof(struct chip, mxu_matmul_##type##_cycles)

const struct check_type check_types[] = {
    {"f32", 1, false, value_f32, CYCLES(f32), NULL},
    {"bf16", 2, false, value_bf16, CYCLES(bf16), NULL},
    {"s8", 4, true, value_s8, CYCLES(int8), NULL},
    {"u8", 4, true, value_unsigned, CYCLES(int8), NULL},
    {"s4", 8, true, value_s4, CYCLES(int4), NULL},
    {"u4", 8, true, value_unsigned, CYCLES(int4), NULL},
    {"f8e5m2", 4, false, value_f8e5m2, CYCLES(fp8), NULL},
    {"f8e4m3fn", 4, false, value_f8e4m3fn, CYCLES(fp8), "fn"},
    {"f8e4m3b11fnuz", 4, false, value_f8e4m3b11fnuz, CYCLES(fp8), "b11fnuz"},
};

const size_t check_type_count = COUNT_OF(check_types);

const struct check_type *check_find_type(const char *name)
{
    for (size_t i = 0; i < check_type_count; i++)
        if (strcmp(check_types[i].name, name) == 0)
            return &check_types[i];
    return NULL;
}

bool check_takes_type(const struct chip *chip, const struct check_type *t)
{
    int64_t cycles;

    memcpy(&cycles, (const char *)chip + t->cycles_offset, sizeof(cycles));
    return cycles > 0 && (!t->fp8_e4m3 || strcmp(chip->mxu_fp8_e4m3, t->fp8_e4m3) == 0);
}
