/*
 * The numerics contract once more, for tests: in integers only and without
 * any of the code it checks.
 */
#ifndef TESTS_F32_REFERENCE_H
#define TESTS_F32_REFERENCE_H
#include <stdint.h>

uint32_t reference_add(uint32_t a, uint32_t b);
uint32_t reference_mul(uint32_t a, uint32_t b);
uint32_t reference_fma(uint32_t a, uint32_t b, uint32_t c);
uint16_t reference_bf16(uint32_t a);
#endif
