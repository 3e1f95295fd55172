/*
 * What a program may use on a chip, from the chip's parameters.
 */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H
#include "isa/check.h"
#include "sim/chip.h"

void chip_isa_limits(const struct chip *c, struct isa_limits *limits);
#endif
