/*
 * Inputs that find errors. Pinned: the same seed gives the same bits on every
 * host, so only exact operations of the host are used here.
 */
#include "report/numerics/check_internal.h"

#include "base/floats.h"
#include "base/units.h"

#include <math.h>

static const char *const names[INPUTS_COUNT] = {"heavy", "wide", "cancel", "edges", "bits"};

const char *check_inputs_name(enum check_inputs inputs) { return names[inputs]; }

static const uint32_t float_edges[] = {
    0, 1, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000, 0x1f800000, 0x20000000,
    0x33800000, 0x33800001, 0x3effffff, 0x3f000000, 0x3f008000, 0x3f7f8000, 0x3f7fffff,
    0x3f800000, 0x3f800001, 0x3f808000, 0x3f818000, 0x40490fdb, 0x42fe0000, 0x42ffffff,
    0x43000000, 0x4b000001, 0x4b7fffff, 0x4effffff, 0x4f000000, 0x7f000000, 0x7f7fffff,
    0x7f800000, 0x7fc12345,
};

static const uint32_t integer_edges[] = {
    0, 1, 2, 3, 7, 8, 15, 16, 23, 24, 30, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768,
    65535, 65536, 0x00ffffff, 0x01000001, 0x01000003, 0x3fffffff, 0x40000000, 0x7fffffbf,
    0x7ffffffe, 0x7fffffff,
};

#define EDGE_COUNT (2 * COUNT_OF(float_edges))          /* both signs, or negated */

static uint32_t edge(const struct check_op *op, size_t at)
{
    uint32_t bits = op->is_integer ? integer_edges[at / 2] : float_edges[at / 2];

    if (at % 2 == 0)
        return bits;
    return op->is_integer ? 0 - bits : bits ^ 0x80000000u;
}

/* the sum of twelve uniforms, less 6, over the root of another: tails fall as t^-2 */
float check_heavy(struct rng *r)
{
    double sum = -6.0, uniform = (double)((rng_next(r) >> 11) + 1) * 0x1p-53;

    for (int i = 0; i < 12; i++)
        sum += (double)(rng_next(r) >> 11) * 0x1p-53;
    return (float)(sum / sqrt(uniform));
}

float check_exponents(struct rng *r, int first, int last)
{
    uint32_t exponent = (uint32_t)(127 + first) + rng_below(r, (uint32_t)(last - first + 1));

    return f32_from_bits(((uint32_t)rng_next(r) & 0x807fffffu) | exponent << 23);
}

/* 1 + 2^-k of any sign and size, or its negative */
static uint32_t close_to_one(struct rng *r)
{
    double off = (double)check_exponents(r, -24, -2);

    return f32_bits((float)(rng_below(r, 2) ? 1 + off : -1 - off));
}

static void fill_pair(enum check_inputs inputs, struct rng *r, uint32_t *a, uint32_t *b)
{
    switch (inputs) {
    case INPUTS_HEAVY:
        *a = f32_bits(check_heavy(r));
        *b = f32_bits(check_heavy(r));
        break;
    case INPUTS_WIDE:
        *a = f32_bits(check_exponents(r, -127, 127));
        *b = f32_bits(check_exponents(r, -127, 127));
        break;
    case INPUTS_CANCEL:
        *a = f32_bits(check_exponents(r, -60, 60));
        *b = (*a ^ (uint32_t)rng_next(r) << 31) + rng_below(r, 33) - 16;
        break;
    default:
        *a = (uint32_t)rng_next(r);
        *b = (uint32_t)rng_next(r);
    }
}

void check_fill(enum check_inputs inputs, const struct check_op *op, struct rng *r, uint32_t *a,
                uint32_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (inputs == INPUTS_EDGES) {
            a[i] = edge(op, (size_t)i % EDGE_COUNT);
            b[i] = edge(op, (size_t)i / EDGE_COUNT % EDGE_COUNT);
        } else {
            fill_pair(inputs, r, &a[i], &b[i]);
        }
        if (inputs == INPUTS_CANCEL && op->arity == 1)
            a[i] = close_to_one(r);
    }
}
