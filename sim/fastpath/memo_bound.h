/*
 * For how many iterations of a loop something stays as it is, where values
 * change by a constant per iteration. Part of sim/fastpath/memo.h.
 *
 * Iterations count from the one that comes next, 0. The one before it, -1, has
 * been seen: what holds "for n iterations" holds in -1, 0 … n - 1, and 0 means
 * that not even iteration 0 can be told from what was seen.
 */
#ifndef SIM_MEMO_BOUND_H
#define SIM_MEMO_BOUND_H
#include <stdbool.h>
#include <stdint.h>

#define MEMO_FOREVER (INT64_C(1) << 28)
#define MEMO_VALUE_MAX (INT64_C(1) << 61)       /* beyond every value and difference */

/* now + j * step in iteration j */
struct memo_affine {
    int64_t now, step;
};

static inline struct memo_affine memo_affine_difference(struct memo_affine x, struct memo_affine y)
{
    return (struct memo_affine){x.now - y.now, x.step - y.step};
}

/* iterations with low <= x <= high */
static inline int64_t memo_while_within(struct memo_affine x, int64_t low, int64_t high)
{
    int64_t seen = x.now - x.step, n;

    if (x.now < low || x.now > high || seen < low || seen > high)
        return 0;
    if (x.step == 0)
        return MEMO_FOREVER;
    n = (x.step > 0 ? (high - x.now) / x.step : (x.now - low) / -x.step) + 1;
    return n < MEMO_FOREVER ? n : MEMO_FOREVER;
}

/* the same, `known` at most; divides only where that is less, as it seldom is */
static inline int64_t memo_hold_within(int64_t known, struct memo_affine x, int64_t low,
                                       int64_t high)
{
    int64_t last = x.now + x.step * (known > 0 ? known - 1 : 0), n;

    if (x.now >= low && x.now <= high && last >= low && last <= high && x.now - x.step >= low
        && x.now - x.step <= high)
        return known;
    n = memo_while_within(x, low, high);
    return n < known ? n : known;
}

/* in the order of the choices of scmp.{…}.u32 */
enum memo_relation {
    MEMO_EQ, MEMO_NE, MEMO_LT, MEMO_LE, MEMO_GT, MEMO_GE
};

/* iterations in which x and y compare alike; for eq and ne at least, not more than that */
static inline int64_t memo_while_compared(enum memo_relation r, struct memo_affine x,
                                          struct memo_affine y)
{
    struct memo_affine d = memo_affine_difference(x, y);
    bool is_equality = r == MEMO_EQ || r == MEMO_NE;
    int64_t threshold = r == MEMO_LE || r == MEMO_GT ? 1 : 0;

    if (is_equality && d.now == 0)
        return memo_while_within(d, 0, 0);
    if (is_equality && d.now > 0)
        return memo_while_within(d, 1, MEMO_VALUE_MAX);
    if (d.now < threshold)
        return memo_while_within(d, -MEMO_VALUE_MAX, threshold - 1);
    return memo_while_within(d, threshold, MEMO_VALUE_MAX);
}

/* iterations in which `low`..`high` stays apart from `other_low`..`other_high`, all of one step */
static inline int64_t memo_while_apart(struct memo_affine low, int64_t extent,
                                       struct memo_affine other_low, int64_t other_extent)
{
    struct memo_affine above = memo_affine_difference(low, other_low);
    struct memo_affine below = memo_affine_difference(other_low, low);

    above.now -= other_extent;
    below.now -= extent;
    return above.now > 0 ? memo_while_within(above, 1, MEMO_VALUE_MAX)
                         : memo_while_within(below, 1, MEMO_VALUE_MAX);
}
#endif
