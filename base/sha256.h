/*
 * SHA-256 (FIPS 180-4): for keys that stand for long inputs, which nobody will find twice.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;                     /* taken so far */
    unsigned char block[64];            /* what is not a whole block yet */
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *from, size_t bytes);
void sha256_end(struct sha256 *s, unsigned char digest[SHA256_BYTES]);
#endif
