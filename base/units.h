/*
 * Units of time and size shared by every module.
 *
 * The core counts core cycles; hbm/ and interconnect/ count picoseconds. The
 * two meet only in sim/ (see sim/time/clock.h), which rounds a completion up to the
 * first core edge at or after it.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H
#include <stdint.h>

typedef int64_t cycle_t;                /* core cycles since launch */
typedef int64_t ps_t;                   /* picoseconds since launch */

#define CYCLE_NEVER INT64_MAX
#define PS_NEVER INT64_MAX
#define PS_PER_NS 1000

#define KIB (1024LL)
#define MIB (1024LL * KIB)
#define GIB (1024LL * MIB)

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* of b > 0, however near a is to INT64_MAX */
static inline int64_t div_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }
static inline int64_t round_up(int64_t a, int64_t b) { return div_up(a, b) * b; }

/* of two instants in one unit */
static inline int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }
#endif
