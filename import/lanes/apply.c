/* Widens, computes, rounds and narrows, block by block. */
#include "import/lanes/apply.h"

#include <string.h>

/* which operations without a kernel of their own go elementwise all the same */
static bool is_plain(enum hlo_opcode op)
{
    return op == OPCODE_CONVERT || op == OPCODE_BITCAST_CONVERT || op == OPCODE_REDUCE_PRECISION ||
           op == OPCODE_CLAMP;
}

bool apply_init(struct apply *a, const struct hlo_instruction *i, enum hlo_element from)
{
    enum lane l = lane_of(from);

    *a = (struct apply){ .op = i->op, .operand_count = i->operand_count, .from = from,
                         .to = i->type->element, .exponent_bits = hlo_detail(i)->exponent_bits,
                         .mantissa_bits = hlo_detail(i)->mantissa_bits, .direction = i->direction,
                         .is_total = i->comparison == HLO_COMPARE_TOTAL };
    a->from_bytes = l == LANE_COUNT ? 0 : lane_bytes(l);
    a->to_bytes = lane_of(a->to) == LANE_COUNT ? 0 : lane_bytes(lane_of(a->to));
    a->is_small = lane_is_narrow(a->from);
    a->is_rounded = lane_is_narrow(a->to);
    if (l == LANE_COUNT || i->operand_count > APPLY_OPERANDS_MAX || i->operand_count < 1)
        return false;
    if (i->op == OPCODE_COMPARE)
        a->k = kernel_compare(i->direction, a->is_total, l);
    else if (i->op == OPCODE_SELECT)
        a->k = kernel_select(lane_bytes(lane_of(a->to)));
    else if (!is_plain(i->op))
        a->k = kernel_of(i->op, l);
    if (i->op == OPCODE_REDUCE_PRECISION)
        return lane_is_float(l);
    if (i->op == OPCODE_CLAMP)
        return !lane_is_complex(l);
    if (i->op == OPCODE_BITCAST_CONVERT)
        return hlo_element_bits(a->from) == hlo_element_bits(a->to);
    return a->k || is_plain(i->op);
}

bool apply_equal(const struct apply *a, const struct apply *b)
{
    return a->op == b->op && a->k == b->k && a->operand_count == b->operand_count &&
           a->from == b->from && a->to == b->to && a->exponent_bits == b->exponent_bits &&
           a->mantissa_bits == b->mantissa_bits;
}

static bool sees_bits(enum hlo_opcode op)
{
    return op == OPCODE_SHIFT_RIGHT_LOGICAL || op == OPCODE_POPCNT ||
           op == OPCODE_COUNT_LEADING_ZEROS;
}

/* signed numbers of a few bits stand extended in a byte: their bits alone */
static void only_bits(enum hlo_element e, uint8_t *to, const uint8_t *from, int64_t n)
{
    uint8_t mask = (uint8_t)((1u << hlo_element_bits(e)) - 1);

    for (int64_t i = 0; i < n; i++)
        to[i] = from[i] & mask;
}

static void apply_bits(const struct apply *a, void *to, const void *const *from, int64_t n)
{
    uint8_t bare[APPLY_BLOCK], *z = to;
    int spare = 8 - hlo_element_bits(a->from);

    only_bits(a->from, bare, from[0], n);
    a->k(to, bare, a->operand_count > 1 ? from[1] : NULL, NULL, n);
    for (int64_t i = 0; i < n && a->op == OPCODE_COUNT_LEADING_ZEROS; i++)
        z[i] = (uint8_t)(z[i] - spare);
}

/* the next value of a float type that is narrower than its lane, by its code of sign and size */
static void next_after(const struct apply *a, float *to, const float *x, const float *y, int64_t n)
{
    int bits = hlo_element_bits(a->to), bytes = (int)hlo_element_bytes(a->to);
    uint16_t sign = (uint16_t)(1u << (bits - 1));

    for (int64_t i = 0; i < n; i++) {
        uint16_t code = 0;

        if (x[i] != x[i] || y[i] != y[i] || x[i] == y[i]) {
            to[i] = x[i] == y[i] ? y[i] : x[i] + y[i];
            continue;
        }
        lane_narrow(a->to, &code, &x[i], 1);
        if (x[i] == 0)
            code = (uint16_t)(y[i] < 0 ? sign | 1 : 1);
        else
            code = (uint16_t)((x[i] < y[i]) == (x[i] > 0) ? code + 1 : code - 1);
        if (bytes == 1)
            code &= 0xff;
        lane_widen(a->to, &to[i], &code, 1);
    }
}

static void bitcast_wide(const struct apply *a, void *to, const void *from, int64_t n)
{
    _Alignas(16) char code[APPLY_BLOCK * LANE_BYTES_MAX];

    lane_narrow(a->from, code, from, n);
    lane_widen(a->to, to, code, n);
}

static void clamp_wide(const struct apply *a, void *to, const void *const *from, int64_t n)
{
    enum lane l = lane_of(a->to);
    _Alignas(16) char room[APPLY_BLOCK * LANE_BYTES_MAX];

    kernel_of(OPCODE_MAXIMUM, l)(room, from[1], from[0], NULL, n);
    kernel_of(OPCODE_MINIMUM, l)(to, room, from[2], NULL, n);
}

static void apply_block(const struct apply *a, void *to, const void *const *from, int64_t n)
{
    const void *second = a->operand_count > 1 ? from[1] : NULL;
    const void *third = a->operand_count > 2 ? from[2] : NULL;
    bool is_small = a->is_small;

    if (a->op == OPCODE_CONVERT) {
        lane_convert_wide(a->to, to, a->from, from[0], n);
        return;
    }
    if (a->op == OPCODE_BITCAST_CONVERT) {
        bitcast_wide(a, to, from[0], n);
        return;
    }
    if (a->op == OPCODE_CLAMP) {
        clamp_wide(a, to, from, n);
        return;
    }
    if (a->op == OPCODE_REDUCE_PRECISION) {
        if (to != from[0])
            memcpy(to, from[0], (size_t)n * lane_bytes(lane_of(a->to)));
        kernel_reduce_precision(lane_of(a->to), to, a->exponent_bits, a->mantissa_bits, n);
    } else if (is_small && hlo_element_is_float(a->from) && a->op == OPCODE_NEXT_AFTER) {
        next_after(a, to, from[0], second, n);
        return;
    } else if (is_small && hlo_element_is_integer(a->from) && sees_bits(a->op)) {
        apply_bits(a, to, from, n);
    } else {
        a->k(to, from[0], second, third, n);
    }
    if (a->op != OPCODE_SELECT && a->is_rounded)
        lane_round(a->to, to, n);
}

void apply_wide(const struct apply *a, void *to, const void *const *from, int64_t n)
{
    const void *part[APPLY_OPERANDS_MAX];
    size_t to_bytes = a->to_bytes, from_bytes = a->from_bytes;
    int64_t block;

    if (n <= APPLY_BLOCK) {
        apply_block(a, to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        block = n - i < APPLY_BLOCK ? n - i : APPLY_BLOCK;
        for (int k = 0; k < a->operand_count; k++)
            part[k] = (const char *)from[k] +
                      (size_t)i * (a->op == OPCODE_SELECT && k == 0 ? 1 : from_bytes);
        apply_block(a, (char *)to + (size_t)i * to_bytes, part, block);
    }
}

kernel apply_kernel(const struct apply *a)
{
    if (a->op == OPCODE_SELECT)
        return kernel_select(hlo_element_bytes(a->to));
    return lane_is_narrow(a->from) || lane_is_narrow(a->to) ? NULL : a->k;
}

void apply_array(const struct apply *a, void *to, const void *const *from, int64_t n)
{
    _Alignas(64) char room[APPLY_OPERANDS_MAX + 1][APPLY_BLOCK * LANE_BYTES_MAX];
    size_t from_bytes = hlo_element_bytes(a->from), to_bytes = hlo_element_bytes(a->to);
    const void *wide[APPLY_OPERANDS_MAX];
    kernel direct = apply_kernel(a);
    int64_t block;

    if (direct) {
        direct(to, from[0], a->operand_count > 1 ? from[1] : NULL,
          a->operand_count > 2 ? from[2] : NULL, n);
        return;
    }
    if (a->op == OPCODE_CONVERT) {
        lane_convert(a->to, to, a->from, from[0], n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        block = n - i < APPLY_BLOCK ? n - i : APPLY_BLOCK;
        for (int k = 0; k < a->operand_count; k++) {
            wide[k] = room[k];
            lane_widen(a->from, room[k], (const char *)from[k] + (size_t)i * from_bytes, block);
        }
        apply_block(a, room[APPLY_OPERANDS_MAX], wide, block);
        lane_narrow(a->to, (char *)to + (size_t)i * to_bytes, room[APPLY_OPERANDS_MAX], block);
    }
}
