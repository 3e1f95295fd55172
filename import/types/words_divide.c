/*
 * Quotients of pairs of words: a bit of the quotient a time, as by hand, in a loop of 64 rounds.
 * Divisors are compared with the remainder so far, which is one bit longer than 64 bits can hold
 * only where it has outgrown every divisor.
 */
#include "import/expand/loop.h"
#include "import/types/words.h"

enum { STATE_LOW, STATE_HIGH, STATE_REST_LOW, STATE_REST_HIGH, STATE_BY_LOW, STATE_BY_HIGH,
       STATE_COUNT };

/* moves the top bit of the dividend into the rest, a bit of the quotient into its lowest */
static void divide_round(struct hlo_builder *b, int *x, int round, const void *user)
{
    struct repr_value number = words_make(x[STATE_LOW], x[STATE_HIGH]);
    struct repr_value rest = words_make(x[STATE_REST_LOW], x[STATE_REST_HIGH]);
    struct repr_value by = words_make(x[STATE_BY_LOW], x[STATE_BY_HIGH]), less;
    int top = ar_shri(b, number.part[1], 31), overflow = words_is_negative(b, rest), fits;

    (void)round;
    (void)user;
    rest = words_shift_left(b, rest, 1);
    rest.part[0] = ar_or(b, rest.part[0], top);
    fits = ar_or(b, overflow, words_compare(b, HLO_GE, rest, by, false));
    less = words_subtract(b, rest, by);
    rest = words_select(b, fits, less, rest);
    number = words_shift_left(b, number, 1);
    number.part[0] = ar_or(b, number.part[0], hlo_convert(b, fits, ELEMENT_U32));
    x[STATE_LOW] = number.part[0];
    x[STATE_HIGH] = number.part[1];
    x[STATE_REST_LOW] = rest.part[0];
    x[STATE_REST_HIGH] = rest.part[1];
}

static void divide_unsigned(struct hlo_builder *b, struct repr_value x, struct repr_value y,
                            struct repr_value *quotient, struct repr_value *remainder)
{
    int zero = ar_int(b, x.part[0], 0);
    struct expand_loop loop = {.count = STATE_COUNT, .rounds = 64, .body = divide_round,
                               .state = {x.part[0], x.part[1], zero, zero, y.part[0], y.part[1]}};

    expand_loop(b, &loop);
    *quotient = words_make(loop.state[STATE_LOW], loop.state[STATE_HIGH]);
    *remainder = words_make(loop.state[STATE_REST_LOW], loop.state[STATE_REST_HIGH]);
}

void words_divide(struct hlo_builder *b, struct repr_value x, struct repr_value y, bool is_signed,
                  struct repr_value *quotient, struct repr_value *remainder)
{
    int x_negative, differ, is_zero;
    struct repr_value size, ones;

    if (!is_signed) {
        divide_unsigned(b, x, y, quotient, remainder);
        return;
    }
    x_negative = words_is_negative(b, x);
    differ = ar_xor(b, x_negative, words_is_negative(b, y));
    size = words_abs(b, x);
    divide_unsigned(b, size, words_abs(b, y), quotient, remainder);
    *quotient = words_select(b, differ, words_negate(b, *quotient), *quotient);
    *remainder = words_select(b, x_negative, words_negate(b, *remainder), *remainder);
    is_zero = words_compare(b, HLO_EQ, y, words_constant(b, y.part[0], 0), false);
    ones = words_constant(b, y.part[0], UINT64_MAX);
    *quotient = words_select(b, is_zero, ones, *quotient);
}
