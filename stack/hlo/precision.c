/*
 * Lists the passes of bf16 products that each precision of an f32 product takes, and bounds their
 * error.
 */
#include "stack/hlo/precision.h"

#include "base/floats.h"
#include "base/units.h"
#include "sim/lanes/f32_exact.h"

#define UNIT_ROUNDOFF 0x1p-24
/* of |x|, at most: the parts after hi, and the part after hi and mid */
#define AFTER_HI 0x1p-8
#define AFTER_MID 0x1p-17

static const struct precision_pass passes[] = {
    {PART_LO, PART_HI},  {PART_HI, PART_LO}, {PART_MID, PART_MID},
    {PART_MID, PART_HI}, {PART_HI, PART_MID}, {PART_HI, PART_HI},
};

/* the last passes of the one list; `dropped` is derived in docs/numerics.md */
static const struct precision_passes table[] = {
    [PRECISION_DEFAULT] = {1, 1, passes + 5, 2 * AFTER_HI + AFTER_HI * AFTER_HI},
    [PRECISION_HIGH] = {2, 3, passes + 3, AFTER_HI * AFTER_HI + 2 * AFTER_MID * (1 + AFTER_HI)},
    [PRECISION_HIGHEST] = {3, 6, passes, 2 * AFTER_HI * AFTER_MID + AFTER_MID * AFTER_MID},
};

const struct precision_passes *precision_passes(enum graph_precision precision)
{
    return &table[precision];
}

double precision_error_bound(enum graph_precision precision, int64_t length,
                             int64_t block_length)
{
    const struct precision_passes *p = &table[precision];
    int64_t blocks = div_up(length, block_length);
    int64_t steps = (length < block_length ? length : block_length) + p->pass_count * blocks - 1;
    double size = 1 + 2 * AFTER_HI + AFTER_MID; /* |hi| + |mid| + |lo| over |x| */
    double rounding = (double)steps * UNIT_ROUNDOFF;

    return p->dropped + size * size * rounding / (1 - rounding);
}
