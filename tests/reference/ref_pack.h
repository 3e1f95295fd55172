/*
 * Packed tiles and fp8 for the reference.
 */
#ifndef TESTS_REF_PACK_H
#define TESTS_REF_PACK_H
#include "tests/reference/ref_impl.h"

/* the value of `bits` bits in row `row` of a packed tile */
uint32_t ref_packed(const uint32_t (*tile)[LANES], int bits, int row, int lane);

/* type: f8e5m2, f8e4m3b11fnuz, f8e4m3fn; f32 as bits */
uint32_t ref_f32_from_fp8(int type, uint32_t code);
uint32_t ref_fp8_from_f32(int type, uint32_t bits);
#endif
