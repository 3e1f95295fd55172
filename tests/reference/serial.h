/*
 * The dullest compiler: one operation per bundle, in source order, registers
 * by first fit. What the real back end makes is compared with it.
 */
#ifndef TESTS_SERIAL_H
#define TESTS_SERIAL_H
#include "base/arena.h"
#include "stack/backend/vcode.h"

/* for a chip with 64 vector registers; fails the test when they do not do */
void serial_compile(const struct vcode *c, int branch_delay_bundles, struct arena *a,
                    struct isa_program *p);
#endif
