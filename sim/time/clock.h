/*
 * Core cycles and picoseconds: the one place where they meet.
 *
 * Edge n of a core clock of f MHz stands at n * 1e6 / f picoseconds. A
 * completion at instant t is seen at the first edge at or after t. Both
 * functions are exact for any clock: no drift over a run.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H
#include "base/units.h"

#define CLOCK_PS_PER_US 1000000LL

/* edge `cycle`, rounded down to a whole picosecond, so that t <= edge stays exact for whole t */
static inline ps_t clock_edge_ps(int64_t clock_mhz, cycle_t cycle)
{
    return cycle / clock_mhz * CLOCK_PS_PER_US + cycle % clock_mhz * CLOCK_PS_PER_US / clock_mhz;
}

/* the first edge at or after `at` */
static inline cycle_t clock_cycle_at(int64_t clock_mhz, ps_t at)
{
    return at / CLOCK_PS_PER_US * clock_mhz
           + div_up(at % CLOCK_PS_PER_US * clock_mhz, CLOCK_PS_PER_US);
}
#endif
