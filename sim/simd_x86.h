/*
 * What both x86 paths need on registers of 256 bit.
 */
#ifndef SIM_SIMD_X86_H
#define SIM_SIMD_X86_H
#include <immintrin.h>
#include <stdint.h>

/* column[p] of the 8x8 words whose rows are given, p = 0..7, stored 8 words apart */
static inline void x86_store_transposed(uint32_t *column, const __m256i row[8])
{
    __m256i pairs[8], quads[8];

    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = _mm256_unpacklo_epi32(row[2 * i], row[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(row[2 * i], row[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        __m256i low = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20);
        __m256i high = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31);

        _mm256_storeu_si256((__m256i *)(void *)(column + 8 * i), low);
        _mm256_storeu_si256((__m256i *)(void *)(column + 8 * i + 32), high);
    }
}
#endif
